#ifndef TUI_STORY_H
#define TUI_STORY_H

#include "tui/prose.h"
#include "tui/view.h"

/*
 * A row told in sentences: state and since when, harm and fencing, what was found with the advice,
 * who holds it and who waits, token and lease. `whole` adds everything else that is known: each
 * claim's details, the history, the witnesses.
 */
void story_tell(struct prose *p, const struct model *m, const struct listing_row *row, bool whole);

/* Why what an id names is not to be seen, as far as its source tells: "is not known: ...". */
const char *story_missing(enum witness_sight sight, const struct snapshot *snap);

/* A source told in sentences: health, cost, what can't be seen, what was found. */
void story_source(struct prose *p, const struct model *m, const struct snapshot *snap,
	const struct row *cross, bool whole);

#endif
