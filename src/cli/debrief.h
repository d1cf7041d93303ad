#ifndef CLI_DEBRIEF_H
#define CLI_DEBRIEF_H

#include "control/debrief.h"
#include "show/json.h"
#include "show/out.h"

/* The debrief as text, wrapped at so many columns. */
void debrief_text(struct out *out, const struct debrief *d, int columns, bool ascii);
/* The same as one JSON object; way and faults (a line each, "" for none) where it was played by a
 * script, else NULL. */
void debrief_json(struct out *out, const struct debrief *d, const char *way, const char *faults);
/* A set of the lesson's causes by their ids: "causes": [...], in an object that is open. */
void debrief_json_causes(struct json_writer *j, const struct lesson *lesson, uint64_t causes);

#endif
