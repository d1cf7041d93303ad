#ifndef TUI_LINE_H
#define TUI_LINE_H

#include "tui/canvas.h"

enum {
	LINE_MAX = 1000,
	LINE_HISTORY = 50
};

/* A line that is typed: UTF-8, edited at a cursor, with the lines before it to go back to. */
struct line {
	char text[LINE_MAX + 4];
	size_t len, at;              /* bytes; at: the cursor */
	char *history[LINE_HISTORY]; /* the newest last; owned */
	int n_history, browse;       /* browse == n_history: the line itself */
};

void line_init(struct line *line);
void line_release(struct line *line);
/* Begins a new line with a text; the cursor is at its end. */
void line_begin(struct line *line, const char *text);
/* Remembers the line in the history, if it is not empty or the newest already. */
void line_remember(struct line *line);

/* A key (input.h) that edits: returns whether it was one. */
bool line_key(struct line *line, uint32_t key);
/* Typed or pasted text; control characters become blanks. */
void line_insert(struct line *line, uint32_t cp);
/* Replaces what stands from a byte on. */
void line_replace_tail(struct line *line, size_t from, const char *text);

/* Draws the prompt and the line into one row, so that the cursor is seen. */
void line_draw(const struct line *line, struct canvas *c, struct area a, int y, const char *prompt);

#endif
