#ifndef TUI_PROSE_H
#define TUI_PROSE_H

#include "tui/canvas.h"

/* Paragraphs to be wrapped into an area: a mark at the left ("!", ">"), and text that hangs behind
 * it. */
struct paragraph {
	enum style mark_style, style;
	char mark[24];
	int hang;   /* columns before the text */
	bool rule;  /* a line across */
	char *text; /* owned */
	enum style tail_style;
	char *tail; /* owned; NULL: none. On the text's last line where it fits, else on the next */
};

struct prose {
	struct paragraph *at;
	size_t n, cap;
	int64_t next_ms; /* when the text is no longer true */
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

/*
 * Draws from line `skip` on; returns the lines that the whole takes. When it ends below the area,
 * `more` (may be NULL) stands in the last line.
 */
int prose_draw(const struct prose *p, struct canvas *c, struct area a, int skip, const char *more);
/* The lines that it takes at that width. */
int prose_height(const struct prose *p, const struct canvas *c, int w);

#endif
