#ifndef TUI_THEME_H
#define TUI_THEME_H

#include "tui/canvas.h"

struct err;

enum look_attr {
	LOOK_BOLD = 1,
	LOOK_DIM = 2,
	LOOK_REVERSE = 4,
	LOOK_UNDERLINE = 8,
	LOOK_ITALIC = 16
};

/* A colour in three depths. Each may be unsaid: the next better one is brought down then. */
struct color {
	int16_t c16;  /* 0 to 15; -1 the terminal's default; COLOR_UNSAID */
	int16_t c256; /* 0 to 255; COLOR_UNSAID */
	int32_t rgb;  /* 0xrrggbb; COLOR_UNSAID */
};

enum {
	COLOR_UNSAID = -2
};

struct theme_entry {
	struct color fg, bg;
	unsigned attrs;
	bool attrs_said;
	bool fg_said, bg_said;
};

/* A look for each style. Plain data: copied by assignment. */
struct theme {
	char name[64];
	char about[160];
	struct theme_entry entries[STYLE_COUNT];
};

/* A style as it is shown in a number of colours: fg and bg are -1 for the terminal's default. */
struct look {
	int32_t fg, bg;
	unsigned attrs;
};

/* The built-in theme: the terminal's own colours. */
void theme_builtin(struct theme *theme);

/*
 * Reads a theme file's text:
 *
 *	# a comment
 *	about = one line
 *	state.stale = fg:red/160/#d70000 bg:default bold
 *
 * A line names a style; a colour is up to three of a name (black red green yellow blue magenta cyan
 *white, bright-red ..., default), a number of the 256, and #rrggbb; attributes are bold dim reverse
 *underline italic, or plain for none. What a line does not say comes from the parent. A style that
 *this build doesn't know is left out (a newer theme works). Errors: ERR_CONFIG with the line and
 *what would be right; the theme is untouched.
 */
int theme_parse(
	struct theme *theme, const char *name, const char *text, size_t len, struct err *err);

/*
 * Finds NAME.theme: in the folder that BATON_THEMES names, in the user's baton/themes config
 * folder, among the installed ones. "builtin" is the one of the program itself. A name with a slash
 * is refused.
 */
int theme_load(struct theme *theme, const char *name, struct err *err);
/* The names of all themes that can be found, each once, one a line. */
void theme_names(struct str *out);

/* colors: 0 mono, 8, 16, 256, or 1 << 24. over: STYLE_TEXT for none. */
struct look theme_look(const struct theme *theme, enum style style, enum style over, int colors);

const char *style_name(enum style style);
/* -1 when there is none. */
int style_from_name(const char *name, size_t len);

#endif
