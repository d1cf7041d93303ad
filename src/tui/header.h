#ifndef TUI_HEADER_H
#define TUI_HEADER_H

#include "tui/view.h"

/* The first two lines of every screen: program, view, environment, mode, how many need a person,
 * each source's age. */
enum {
	HEADER_LINES = 2
};

void header_draw(const struct model *m, const char *where, struct canvas *c);

#endif
