#include "config.h"

#include "tui/console-state.h"
#include "base/err.h"
#include "base/mem.h"
#include "model/filter.h"
#include "tui/command.h"
#include "tui/header.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void console_type(struct console *k, enum mode mode)
{
	k->mode = mode;
	k->hint[0] = '\0';
	k->hint_error = false;
	k->message[0] = '\0';
	if (mode == MODE_FILTER) {
		free(k->filter_before);
		k->filter_before = xstrdup(console_filter_text(k));
		line_begin(&k->filter, k->filter_before);
	} else if (mode == MODE_COMMAND) {
		line_begin(&k->command, "");
	} else {
		line_begin(&k->search, "");
		k->help_top = 0;
	}
	k->dirty = true;
}

/* Puts in what all candidates share; with several they stand in the hint. */
static void complete_with(struct line *line, size_t from, bool verb, const struct str *words)
{
	const char *first = words->s, *s;
	size_t common = strcspn(first, "\n"), n = 0, i;
	char *text;

	for (s = words->s; *s; n++) {
		size_t len = strcspn(s, "\n");

		for (i = 0; i < common && i < len && s[i] == first[i]; i++)
			;
		common = i;
		s += len;
		s += *s == '\n';
	}
	if (!n)
		return;
	if (common > line->len - from || n == 1) {
		text = xmalloc(common + 2);
		memcpy(text, first, common);
		/* Behind a command's word its argument follows; an id must not get a blank. */
		text[common] = n == 1 && verb ? ' ' : '\0';
		text[common + 1] = '\0';
		line_replace_tail(line, from, text);
		free(text);
	}
}

static void candidates(struct console *k, struct line *line, bool apply)
{
	struct str words;
	int from = 0;
	size_t i;

	str_init(&words, 16 * 1024);
	if (k->mode == MODE_FILTER && console_view(k)->ops->filter) {
		/* Its words are any words. */
	} else if (k->mode == MODE_COMMAND) {
		command_complete(&k->model, line->text, &words, &from);
	} else {
		const char *blank = strrchr(line->text, ' ');

		from = blank ? (int)(blank + 1 - line->text) : 0;
		filter_complete(line->text + from, &words);
	}
	if (apply)
		complete_with(line, (size_t)from, k->mode == MODE_COMMAND && from == 0, &words);
	if (!k->hint_error) {
		for (i = 0; i < words.len; i++)
			if (words.s[i] == '\n')
				words.s[i] = ' ';
		snprintf(k->hint, sizeof(k->hint), "%s", words.s);
	}
	str_release(&words);
}

void console_type_filter(struct console *k, uint32_t key)
{
	if (key == INPUT_ENTER) {
		if (k->hint_error)
			return;
		line_remember(&k->filter);
		k->mode = MODE_VIEW;
	} else if (key == INPUT_ESC) {
		console_filter(k, k->filter_before);
		k->mode = MODE_VIEW;
	} else if (key == INPUT_TAB) {
		candidates(k, &k->filter, true);
		console_filter(k, k->filter.text);
	} else if (line_key(&k->filter, key)) {
		console_filter(k, k->filter.text);
		candidates(k, &k->filter, false);
	}
}

void console_type_command(struct console *k, uint32_t key)
{
	if (key == INPUT_ENTER) {
		k->mode = MODE_VIEW;
		line_remember(&k->command);
		console_run_command(k, &k->command);
		return;
	}
	if (key == INPUT_ESC || (key == INPUT_BACKSPACE && !k->command.len)) {
		k->mode = MODE_VIEW;
		return;
	}
	if (key == INPUT_TAB || line_key(&k->command, key))
		candidates(k, &k->command, key == INPUT_TAB);
}

void console_type_help(struct console *k, uint32_t key)
{
	int page = k->canvas.h - HEADER_LINES - 2;

	switch (key) {
	case INPUT_ESC:
	case INPUT_ENTER:
	case INPUT_F1:
		k->mode = MODE_VIEW;
		return;
	case INPUT_DOWN:
		k->help_top++;
		break;
	case INPUT_UP:
		k->help_top--;
		break;
	case INPUT_PAGE_DOWN:
		k->help_top += page;
		break;
	case INPUT_PAGE_UP:
		k->help_top -= page;
		break;
	default:
		if (line_key(&k->search, key))
			k->help_top = 0;
		break;
	}
	if (k->help_top > k->help_lines - page)
		k->help_top = k->help_lines - page;
	if (k->help_top < 0)
		k->help_top = 0;
}
