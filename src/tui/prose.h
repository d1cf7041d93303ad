#ifndef TUI_PROSE_H
#define TUI_PROSE_H

#include "tui/canvas.h"

/* Paragraphs to be wrapped into an area: a mark at the left ("!", ">"), and text that hangs behind
 * it. */
struct chart_row;

struct paragraph {
	enum style mark_style, style;
	char mark[52];
	int hang;   /* columns before the text */
	bool rule;  /* a line across */
	char *text; /* owned */
	enum style tail_style;
	char *tail; /* owned; NULL: none. On the text's last line where it fits, else on the next */
	struct chart_row *chart; /* owned; a row of a chart instead of a text; NULL */
	int label_w;             /* of the chart */
};

struct prose {
	struct paragraph *at;
	size_t n, cap;
	int64_t next_ms; /* when the text is no longer true */
	int width;       /* columns that a chart may take; 0: no charts here */
	bool ascii;      /* of the charts */
};

void prose_init(struct prose *p);
void prose_release(struct prose *p);

/* Adds a paragraph; mark may be "". */
void prose_add(struct prose *p, enum style mark_style, const char *mark, int hang, enum style style,
	const char *fmt, ...) __attribute__((format(printf, 6, 7)));
/* Gives the last paragraph a tail in another style. */
void prose_tail(struct prose *p, enum style style, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void prose_rule(struct prose *p);
/* A row of a chart, copied; its label takes label_w columns. */
void prose_chart(struct prose *p, const struct chart_row *row, int label_w);

/*
 * Draws from line `skip` on; returns the lines that the whole takes. When it ends below the area,
 * `more` (may be NULL) stands in the last line.
 */
int prose_draw(const struct prose *p, struct canvas *c, struct area a, int skip, const char *more);
/* The lines that it takes at that width. */
int prose_height(const struct prose *p, const struct canvas *c, int w);

#endif
