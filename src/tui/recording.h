#ifndef TUI_RECORDING_H
#define TUI_RECORDING_H

#include "base/err.h"
#include "control/audit-tail.h"
#include "show/recorder.h"

struct fleet;
struct settings;

/* A fleet that is recorded: `baton record`, and R in the console. */
struct recording {
	struct recorder *recorder; /* NULL: it does not record */
	struct audit_tail tail;
	uint64_t seq; /* of the last event that was taken */
	char *shown;  /* the file, sanitised */
};

/* Begins; options->program and thresholds are filled in here. path NULL: a name of its own in the
 * state folder. */
int recording_start(struct recording *rec, const struct settings *settings,
	const struct recorder_options *options, struct err *err);
/* Takes a board of that fleet, with the events that came up to it. */
void recording_take(struct recording *rec, struct fleet *fleet, const struct board *board);
/* Ends it. *ret_bytes (may be NULL): how many were written. Returns as recorder_stop. */
int recording_stop(struct recording *rec, int64_t *ret_bytes, struct err *err);

#endif
