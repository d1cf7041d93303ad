#ifndef TUI_LESSON_PROSE_H
#define TUI_LESSON_PROSE_H

#include "control/debrief.h"
#include "tui/prose.h"

/* A lesson's texts and its debrief as paragraphs, for the console and for text alike. */

/* A text of several paragraphs, parted by blank lines. */
void prose_text(struct prose *p, int hang, enum style style, const char *text);
/* A rule and a head above what follows. */
void prose_head(struct prose *p, const char *text);
/* All of the debrief; p->width and p->ascii decide how the timeline is drawn. */
void prose_debrief(struct prose *p, const struct debrief *d);

#endif
