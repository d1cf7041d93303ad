#ifndef TUI_PICK_H
#define TUI_PICK_H

#include "tui/canvas.h"

/* One line that may be chosen. The texts are the pick's own. */
struct pick_item {
	char *label;
	char *text;    /* what it is, or why it can't be chosen; NULL */
	bool hindered; /* it can't be chosen now; it stays listed, with the reason in its text */
	int value;     /* whatever it means to the caller */
};

/* A short list in a window, from which one line is chosen. */
struct pick {
	char *title;
	const char *hint; /* in the lower edge: which keys there are; a literal */
	struct pick_item *items;
	size_t n, cap, at, top;
};

/* A new, empty list; title is copied. */
void pick_begin(struct pick *p, const char *title, const char *hint);
void pick_release(struct pick *p);
/* Takes a line in; the texts are copied, text may be NULL. */
void pick_add(struct pick *p, const char *label, const char *text, bool hindered, int value);
/* Lines that can be chosen come first, each part in its order. */
void pick_sort(struct pick *p);

/* Moves the cursor by a key (input.h); returns whether it was one that moves. */
bool pick_key(struct pick *p, uint32_t key);
/* The line under the cursor; NULL when there is none. */
const struct pick_item *pick_at(const struct pick *p);

/* Draws the window into an area as large as it needs to be; see dialog_area. */
void pick_draw(struct pick *p, struct canvas *c, int keep_y);

/*
 * Where a window of h by w (its frame counted) stands on the canvas, below the header and above the
 * last line, so that the row at keep_y stays seen (-1: none). Where there is no room for both, the
 * row is drawn once more above the window.
 */
struct area dialog_area(struct canvas *c, int h, int w, int keep_y);

#endif
