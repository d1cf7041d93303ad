#include "config.h"

#include "tui/line.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "tui/input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void line_init(struct line *line)
{
	memset(line, 0, sizeof(*line));
}

void line_release(struct line *line)
{
	int i;

	for (i = 0; i < line->n_history; i++)
		free(line->history[i]);
	line_init(line);
}

static void line_set(struct line *line, const char *text)
{
	snprintf(line->text, LINE_MAX, "%s", text);
	line->len = line->at = strlen(line->text);
}

void line_begin(struct line *line, const char *text)
{
	line_set(line, text);
	line->browse = line->n_history;
}

void line_remember(struct line *line)
{
	if (!line->len ||
		(line->n_history && str_eq(line->history[line->n_history - 1], line->text)))
		return;
	if (line->n_history == LINE_HISTORY) {
		free(line->history[0]);
		memmove(line->history, line->history + 1,
			(LINE_HISTORY - 1) * sizeof(*line->history));
		line->n_history--;
	}
	line->history[line->n_history++] = xstrdup(line->text);
}

static size_t before(const struct line *line, size_t at)
{
	if (at == 0)
		return 0;
	at--;
	while (at > 0 && ((unsigned char)line->text[at] & 0xc0) == 0x80)
		at--;
	return at;
}

static size_t after(const struct line *line, size_t at)
{
	if (at >= line->len)
		return line->len;
	at++;
	while (at < line->len && ((unsigned char)line->text[at] & 0xc0) == 0x80)
		at++;
	return at;
}

static void line_cut(struct line *line, size_t from, size_t to)
{
	memmove(line->text + from, line->text + to, line->len - to + 1);
	line->len -= to - from;
	line->at = from;
}

static size_t word_before(const struct line *line)
{
	size_t at = line->at;

	while (at > 0 && line->text[at - 1] == ' ')
		at--;
	while (at > 0 && line->text[at - 1] != ' ')
		at--;
	return at;
}

static void line_browse(struct line *line, int step)
{
	int to = line->browse + step;

	if (to < 0 || to > line->n_history)
		return;
	line->browse = to;
	line_set(line, to == line->n_history ? "" : line->history[to]);
}

void line_insert(struct line *line, uint32_t cp)
{
	char bytes[4];
	size_t n = 0;

	if (cp < 0x20 || cp == 0x7f)
		cp = ' ';
	if (text_cp_width(cp) < 0)
		return;
	if (cp < 0x80) {
		bytes[n++] = (char)cp;
	} else if (cp < 0x800) {
		bytes[n++] = (char)(0xc0 | cp >> 6);
		bytes[n++] = (char)(0x80 | (cp & 0x3f));
	} else if (cp < 0x10000) {
		bytes[n++] = (char)(0xe0 | cp >> 12);
		bytes[n++] = (char)(0x80 | (cp >> 6 & 0x3f));
		bytes[n++] = (char)(0x80 | (cp & 0x3f));
	} else {
		bytes[n++] = (char)(0xf0 | cp >> 18);
		bytes[n++] = (char)(0x80 | (cp >> 12 & 0x3f));
		bytes[n++] = (char)(0x80 | (cp >> 6 & 0x3f));
		bytes[n++] = (char)(0x80 | (cp & 0x3f));
	}
	if (line->len + n >= LINE_MAX)
		return;
	memmove(line->text + line->at + n, line->text + line->at, line->len - line->at + 1);
	memcpy(line->text + line->at, bytes, n);
	line->len += n;
	line->at += n;
}

void line_replace_tail(struct line *line, size_t from, const char *text)
{
	if (from > line->len)
		return;
	snprintf(line->text + from, LINE_MAX - from, "%s", text);
	line->len = line->at = strlen(line->text);
}

enum {
	CTRL_A = 1,
	CTRL_D = 4,
	CTRL_E = 5,
	CTRL_H = 8,
	CTRL_K = 11,
	CTRL_N = 14,
	CTRL_P = 16,
	CTRL_U = 21,
	CTRL_W = 23
};

static bool line_move(struct line *line, uint32_t key)
{
	switch (key) {
	case INPUT_LEFT:
		line->at = before(line, line->at);
		return true;
	case INPUT_RIGHT:
		line->at = after(line, line->at);
		return true;
	case INPUT_HOME:
	case CTRL_A:
		line->at = 0;
		return true;
	case INPUT_END:
	case CTRL_E:
		line->at = line->len;
		return true;
	case INPUT_UP:
	case CTRL_P:
		line_browse(line, -1);
		return true;
	case INPUT_DOWN:
	case CTRL_N:
		line_browse(line, 1);
		return true;
	default:
		return false;
	}
}

bool line_key(struct line *line, uint32_t key)
{
	if (line_move(line, key))
		return true;
	switch (key) {
	case INPUT_BACKSPACE:
	case CTRL_H:
		line_cut(line, before(line, line->at), line->at);
		return true;
	case INPUT_DELETE:
	case CTRL_D:
		line_cut(line, line->at, after(line, line->at));
		return true;
	case CTRL_U:
		line_cut(line, 0, line->at);
		return true;
	case CTRL_K:
		line_cut(line, line->at, line->len);
		return true;
	case CTRL_W:
		line_cut(line, word_before(line), line->at);
		return true;
	default:
		if (key < 0x20 || key >= INPUT_SPECIAL)
			return false;
		line_insert(line, key);
		return true;
	}
}

void line_draw(const struct line *line, struct canvas *c, struct area a, int y, const char *prompt)
{
	int x = canvas_put(c, a, y, 0, STYLE_PROMPT, prompt), room, width;
	struct area part = area_sub(a, y, x, 1, a.w - x);
	char *head = xstrndup(line->text, line->at);
	const char *from = line->text;

	/* What does not fit left of the cursor is scrolled away. */
	room = part.w - 1;
	width = canvas_width(c, head);
	while (width > room && *from) {
		uint32_t cp;
		size_t n = text_decode(from, strlen(from), &cp);
		char one[5] = { 0 };

		n = n ? n : 1;
		memcpy(one, from, n);
		width -= canvas_width(c, one);
		from += n;
	}
	canvas_put(c, part, 0, 0, STYLE_TEXT, from);
	canvas_cursor(c, part, 0, width);
	free(head);
}
