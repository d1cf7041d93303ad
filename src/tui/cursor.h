#ifndef TUI_CURSOR_H
#define TUI_CURSOR_H

#include "tui/keymap.h"

#include <stddef.h>

/* The place of a cursor in a list of n, of which `page` rows are on the screen; for views. */

/* Moves it; false when the action is no move. */
bool cursor_move(size_t *at, size_t n, int page, enum action action);
/* The first row that is drawn, so that the cursor is in sight and no room is left below. */
size_t cursor_top(size_t top, size_t at, size_t n, int page);

#endif
