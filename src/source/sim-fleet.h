#ifndef SOURCE_SIM_FLEET_H
#define SOURCE_SIM_FLEET_H

#include "source/sim.h"

/*
 * The source `fleet`: what an operator sees and does outside the locks. It has a row for each
 * process and machine, and for whatever else parts want to show there: a server, a pod's
 * finalizer, a change request. The verbs are those of verbs.def that exist in the built-in fleet
 * only: ask, stop, start, restart, isolate, rejoin, fence.
 */

enum {
	SIM_FLEET_TEXT_MAX = 400
};

/* A verb on a row of a kind. The world is entered. Texts are one sentence. */
struct sim_fleet_act {
	enum verb verb;
	const char
		*request; /* what is done, in words, before the thing's name: "stop the process" */
	const char *further; /* and behind it; "" */
	/* Whether it can be done now; else why gets the reason. NULL: always. */
	bool (*can)(struct world *w, struct thing *t, char *why, size_t size);
	/* Does it; answer gets what came of it, or stays empty. */
	void (*act)(struct world *w, struct thing *t, char *answer, size_t size);
	/* Whether its effect is seen. NULL: at once. */
	bool (*done)(struct world *w, struct thing *t);
	/* As `can`, of what the row shows: see struct act_case. NULL: it never tells. */
	const char *(*hinders)(const struct singleton *s);
};

/* A kind of thing that has rows there. */
struct sim_fleet_kind {
	const struct thing_ops *ops; /* NULL ends the table */
	const char *word;            /* of the path: WORD/NAME */
	/* Whether it has a row; NULL: always. */
	bool (*shown)(const struct thing *t);
	/*
	 * Tells it, between draft_begin and draft_finish: a holder is what makes it HELD (it runs),
	 * none is FREE; details belong to the singleton as long as no claim was added.
	 */
	void (*tell)(struct world *w, struct thing *t, struct draft *d);
	/* What tells this life of it from the next: an act is bound to it. NULL: it has but one. */
	int64_t (*life)(const struct thing *t);
	const struct sim_fleet_act *acts;
	size_t n_acts;
};

/* What a process' owner answers who is asked how it is: the programs' sentences. */
void sim_fleet_answer(const struct world *w, const struct process *p, char *buf, size_t size);

/* The things that a scenario's source shows as {fleet: all}, {fleet: processes} (without servers
 * and the like) or {fleet: machines}; made for each world. */
void sim_fleet_make(struct world *w);

#endif
