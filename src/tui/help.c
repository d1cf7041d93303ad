#include "config.h"

#include "tui/help.h"
#include "model/filter.h"
#include "model/listing.h"
#include "tui/command.h"
#include "tui/format.h"
#include "tui/keymap.h"

#include <stdio.h>
#include <string.h>

struct help {
	struct canvas *c;
	struct area a;
	const char *search;
	int y; /* the next line; below 0: scrolled away */
	int lines;
	const char *section; /* of the line before */
};

static const char *const signs[][2] = {
	{ "orders <5s", "header: the source's picture is that old" },
	{ "ctl ~", "header: kept up to date by a watch" },
	{ "west! 4m", "header: can't be read; its rows are 4m old and shown as UNKNOWN" },
	{ "! SOURCE", "a source that can't be read, or about which something was found" },
	{ "H!HELD", "a state that is calm by itself, in a row that needs a person: its story says "
		    "why" },
	{ "!!  !  i", "findings: critical, warning, worth knowing;  > what to do" },
	{ "-", "there is none, or it is not known" },
	{ "TOKEN", "the fencing token: a number that only rises from holder to holder" },
	{ "AGE", "how long it is in this state, as far as baton saw" },
};

static const char *const editing[][2] = {
	{ "Enter, Esc", "take it; leave everything as it was" },
	{ "Tab", "complete the word" },
	{ "Up, Down", "the lines typed before" },
	{ "C-a C-e C-u C-k C-w", "begin, end, cut to the begin, to the end, the word" },
};

static char folded(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

static bool has(const char *hay, const char *needle)
{
	size_t n = strlen(needle), i;

	for (; *hay; hay++) {
		for (i = 0; i < n && folded(hay[i]) == folded(needle[i]); i++)
			;
		if (i == n)
			return true;
	}
	return n == 0;
}

static void help_section(struct help *h, const char *section)
{
	if (strcmp(h->section, section) == 0)
		return;
	if (*h->section) {
		h->y++;
		h->lines++;
	}
	h->section = section;
	if (h->y >= 0)
		canvas_put(h->c, h->a, h->y, 1, STYLE_TABLE_HEAD, section);
	h->y++;
	h->lines++;
}

static void help_line(
	struct help *h, const char *section, enum style style, const char *term, const char *text)
{
	enum {
		TERM_W = 24
	};
	struct area right = area_sub(h->a, 0, TERM_W + 2, h->a.h, h->a.w - TERM_W - 3);
	int n;

	if (!has(term, h->search) && !has(text, h->search) && !has(section, h->search))
		return;
	help_section(h, section);
	canvas_fit(h->c, h->a, h->y, 2, TERM_W - 1, style, FIT_LEFT, term);
	n = canvas_wrap(h->c, right, h->y, 0, 0, STYLE_KEY_HELP, text);
	h->y += n;
	h->lines += n;
}

static void help_keys(struct help *h)
{
	int i;

	for (i = ACTION_NONE + 1; i < ACTION_COUNT; i++)
		help_line(h, keymap_section((enum action)i), STYLE_KEY, keymap_keys((enum action)i),
			keymap_help((enum action)i));
	for (i = 0; i < (int)(sizeof(editing) / sizeof(editing[0])); i++)
		help_line(h, "Typing", STYLE_KEY, editing[i][0], editing[i][1]);
}

static void help_commands(struct help *h)
{
	const char *name, *text;
	char term[64];
	size_t f;
	int i;

	for (i = 0; i < COMMAND_COUNT; i++) {
		snprintf(term, sizeof(term), ":%s %s", command_word((enum command)i),
			command_argument((enum command)i));
		help_line(h, "Commands", STYLE_KEY, term, command_describe((enum command)i));
	}
	help_line(h, "Filter", STYLE_KEY, "text",
		"part of an id, a name, a role, a holder or a waiter");
	help_line(h, "Filter", STYLE_KEY, "!word",
		"the opposite of a word; words that stand side by side must all hold");
	for (f = 0; filter_field_help(f, &name, &text); f++)
		help_line(h, "Filter", STYLE_KEY, name, text);
	for (i = 0; i < SORT_COUNT; i++)
		help_line(h, "Orders", STYLE_KEY, sort_name((enum sort)i), sort_help((enum sort)i));
}

static void help_words(struct help *h)
{
	char term[64];
	size_t s;
	int i;

	for (i = 0; i < STATE_COUNT; i++) {
		const struct word *w = state_word((enum state)i);

		snprintf(term, sizeof(term), "%c %s", w->letter, w->word);
		help_line(h, "States", style_of_state((enum state)i), term, w->help);
	}
	for (i = 0; i < FINDING_COUNT; i++) {
		const struct word *w = finding_word((enum finding_code)i);

		help_line(h, "Findings", style_of_severity(w->severity), w->word, w->help);
	}
	for (s = 0; s < sizeof(signs) / sizeof(signs[0]); s++)
		help_line(h, "Signs", STYLE_KEY, signs[s][0], signs[s][1]);
}

int help_draw(struct canvas *c, struct area a, const char *search, int top)
{
	struct help h = { .c = c, .a = a, .search = search, .y = -top, .section = "" };

	help_keys(&h);
	help_commands(&h);
	help_words(&h);
	if (!h.lines)
		canvas_putf(c, a, 0, 1, STYLE_DIM, "Nothing in the help has \"%s\" in it.", search);
	return h.lines;
}
