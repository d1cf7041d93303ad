#ifndef CLI_VERB_H
#define CLI_VERB_H

#include "cli/ids.h"
#include "control/gate.h"

/* What forecast and act have in common: a verb on an id, and the gate that it passes. */
struct verb_call {
	struct look look;
	struct board *board;
	const struct snapshot *snap; /* of the id; NULL */
	const struct row *row;       /* NULL: not on the board */
	char *id;                    /* as list prints it */
	struct gate *gate;
	enum verb verb;
	int signals; /* readable when we are asked to end; -1: that just ends us */
};

/*
 * From now on being asked to end (SIGINT, SIGTERM, SIGHUP) is read from call->signals, so that
 * what was sent gets its outcome recorded. Before verb_begin, which starts threads.
 */
void verb_hold_signals(struct verb_call *call);

/*
 * Opens the sources, looks, and begins. agreed: the reason that --yes was said with; NULL. Returns
 * 0, or an exit code after it said what is wrong; close it in either case.
 */
int verb_begin(
	struct verb_call *call, const struct cli *cli, bool forecast_only, const char *agreed);
/* Whether we were asked to end since the last question. */
bool verb_interrupted(const struct verb_call *call);
/* Waits until the gate is in that phase or beyond; the view is the caller's. */
struct gate_view *verb_wait(const struct verb_call *call, enum gate_phase phase);
void verb_close(struct verb_call *call);

#endif
