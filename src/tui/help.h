#ifndef TUI_HELP_H
#define TUI_HELP_H

#include "tui/canvas.h"

/*
 * The help: keys, commands, filter words, orders, states and findings, from the tables that the
 * program itself runs by. Draws the lines that hold `search` (all when it is empty) from line `top`
 * on; returns how many lines there are.
 */
int help_draw(struct canvas *c, struct area a, const char *search, int top);

#endif
