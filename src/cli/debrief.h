#ifndef CLI_DEBRIEF_H
#define CLI_DEBRIEF_H

#include "control/debrief.h"
#include "show/out.h"

/* The debrief as text, wrapped at so many columns. */
void debrief_text(struct out *out, const struct debrief *d, int columns, bool ascii);
/* The same as one JSON object; way and faults (a line each, "" for none) where it was played by a
 * script, else NULL. */
void debrief_json(struct out *out, const struct debrief *d, const char *way, const char *faults);

#endif
