#ifndef TUI_CANVAS_H
#define TUI_CANVAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct str;

/* What something on the screen is, for the theme to give it a look. */
enum style {
#define STYLE(id, name, spec, help) STYLE_##id,
#include "tui/styles.def"
#undef STYLE
	STYLE_COUNT
};

enum {
	CELL_MARKS = 2
};

/* One cell of the screen: a code point, and up to CELL_MARKS combining ones (more are dropped). */
struct cell {
	uint32_t cp;               /* 0: the right half of a wide character */
	uint32_t mark[CELL_MARKS]; /* 0: none */
	uint8_t style;             /* enum style */
	uint8_t over;  /* STYLE_TEXT, or one that lies over it: STYLE_CURSOR, STYLE_MARK */
	uint8_t width; /* 1 or 2; 0 with cp 0 */
	uint8_t pad;
};

/* A part of the canvas. Everything is drawn inside an area, in its coordinates, and cut at its
 * edges. */
struct area {
	int y, x, h, w;
};

/* Signs that have an ASCII stand-in. */
enum glyph {
	GLYPH_HLINE,
	GLYPH_HLINE_DOUBLE,
	GLYPH_HLINE_DASHED,
	GLYPH_VLINE,
	GLYPH_ELLIPSIS,
	GLYPH_CURSOR_LEFT,
	GLYPH_DOWN,
	GLYPH_UP,
	GLYPH_DOT,
	GLYPH_BLOCK,
	GLYPH_TOP_LEFT,
	GLYPH_TOP_RIGHT,
	GLYPH_BOTTOM_LEFT,
	GLYPH_BOTTOM_RIGHT,
	GLYPH_COUNT
};

/*
 * A grid of cells that views draw into. Knows no terminal. In ASCII mode every character beyond
 * ASCII is written as the escapes that ids use (\xNN for each byte), so that what stands there can
 * be typed.
 */
struct canvas {
	struct cell *cells;
	int h, w;
	bool ascii;
	bool doubled; /* rules and frames are double lines: what is shown is not what is now */
	int cursor_y, cursor_x; /* where the terminal's cursor is shown; -1: nowhere */
	int64_t next_ms; /* our monotonic clock when something drawn is no longer true; INT64_MAX */
};

void canvas_init(struct canvas *c, int h, int w, bool ascii);
void canvas_release(struct canvas *c);
/* Takes another size; the contents are lost. */
void canvas_resize(struct canvas *c, int h, int w);
/* Blanks all, hides the cursor, forgets next_ms. */
void canvas_clear(struct canvas *c);
struct area canvas_all(const struct canvas *c);

/* A part of an area, cut at its edges. */
struct area area_sub(struct area a, int y, int x, int h, int w);

/* Writes sanitised text at y, x of the area; returns the columns that it took. What does not fit is
 * cut. */
int canvas_put(struct canvas *c, struct area a, int y, int x, enum style style, const char *s);
int canvas_putf(struct canvas *c, struct area a, int y, int x, enum style style, const char *fmt,
	...) __attribute__((format(printf, 6, 7)));

enum fit {
	FIT_LEFT,
	FIT_RIGHT,
	FIT_MIDDLE
};
/*
 * Writes text into exactly w columns: a longer one is cut with an ellipsis, at its end (FIT_LEFT),
 * at its beginning (FIT_RIGHT, and a shorter one stands at the right), or in the middle, so that
 * its end stays (FIT_MIDDLE).
 */
void canvas_fit(struct canvas *c, struct area a, int y, int x, int w, enum style style,
	enum fit fit, const char *s);
/* One code point; its width must be one column. */
void canvas_cp(struct canvas *c, struct area a, int y, int x, enum style style, uint32_t cp);
void canvas_fill(
	struct canvas *c, struct area a, int y, int x, int w, enum style style, enum glyph glyph);
void canvas_glyph(
	struct canvas *c, struct area a, int y, int x, enum style style, enum glyph glyph);
/* A bar of w columns, filled to the part num / den of them. */
void canvas_bar(struct canvas *c, struct area a, int y, int x, int w, enum style style, int64_t num,
	int64_t den);
/* Lays a style over a part of a row that is drawn. */
void canvas_over(struct canvas *c, struct area a, int y, int x, int w, enum style over);
/* Gives a part of a row another style, whatever was drawn there. */
void canvas_restyle(struct canvas *c, struct area a, int y, int x, int w, enum style style);
/* Blanks an area, and draws a frame along its edges: what is drawn inside follows. */
void canvas_box(struct canvas *c, struct area a, enum style style);
/* Draws a row of the canvas once more in the place of another. */
void canvas_copy_row(struct canvas *c, int from_y, int to_y);
void canvas_cursor(struct canvas *c, struct area a, int y, int x);

/* What is drawn will be wrong at that moment of our monotonic clock. */
void canvas_until(struct canvas *c, int64_t mono_ms);

/* The columns that text takes on this canvas. */
int canvas_width(const struct canvas *c, const char *s);

/*
 * Writes text wrapped at words into the area from line y on; lines after the first begin at column
 * `hang`. Lines before `skip` are not drawn (scrolled away). Returns the number of lines that the
 * text takes.
 */
int canvas_wrap(
	struct canvas *c, struct area a, int y, int x, int hang, enum style style, const char *s);

/* The cells as text, a line for each row without the blanks at its end; for tests. */
void canvas_dump(const struct canvas *c, struct str *out);
/* The styles in the same shape: a letter for each cell, 'a' + style, '.' for plain text, upper case
 * under the cursor. */
void canvas_dump_styles(const struct canvas *c, struct str *out);

#endif
