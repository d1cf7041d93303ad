#ifndef SOURCE_ACT_H
#define SOURCE_ACT_H

#include "model/plan.h"

struct round;
struct err;

/*
 * What a kind of source can do, and how: one row for each verb on a mechanism. The gate
 * (control/gate.h) is the only caller of the functions, in the source's own thread; it has checked
 * the policy, and it checks it again before `send`. doc/safety.md is made from the texts.
 */
struct act_case {
	enum mechanism mechanism;
	enum verb verb;
	const char *request; /* what is sent, in words */
	const char *guard;   /* what the server compares in the same request; NULL: nothing */
	const char *needs;   /* the privilege that it needs */

	/*
	 * Reads again, compares with the order, and says what would be sent and what it costs; it
	 * sends nothing that changes anything. Identity that differs is plan_changed; what is not
	 * possible or not allowed is plan_refuse. A negative code: it could not be read.
	 */
	int (*plan)(void *state, struct round *r, const struct order *order, struct plan *plan,
		struct err *err);

	/*
	 * Sends the one request, with the guard, once: never tried again, on no other connection.
	 * What became of it is in the effect. A negative code only together with EFFECT_UNSENT or
	 * EFFECT_UNKNOWN.
	 */
	int (*send)(void *state, struct round *r, const struct order *order,
		const struct plan *plan, struct effect *effect, struct err *err);

	/* Looks once at what is so now; the gate calls it until it is settled or a limit passed. A
	 * negative code: it could not be read. */
	int (*look)(void *state, struct round *r, const struct order *order,
		const struct plan *plan, struct sight *sight, struct err *err);

	/* Whether this row of the mechanism has the verb at all, by its facts. NULL: each has. */
	bool (*has)(const struct singleton *s, enum verb verb);

	/*
	 * For the menu, which asks no server: why it could not be done now, as far as the row shows
	 * it, in a sentence that lives as long as the row; NULL: nothing shows. An act is not held
	 * to it: it reads again, and may find it otherwise. NULL: the row never tells.
	 */
	const char *(*hinders)(const struct singleton *s, enum verb verb);
};

/* `hinders` of suspend, step-down and resume, for rows with DETAIL_SUSPENDED; else NULL. */
const char *act_suspend_hinders(const struct singleton *s, enum verb verb);

/* A row of such a table, for the .def files that a real kind and its built-in likeness share. */
#define ACT_CASE(mech, which, asks, compares, takes, plan_fn, send_fn, look_fn, hinders_fn)   \
	{                                                                                     \
		.mechanism = (mech), .verb = (which), .request = (asks), .guard = (compares), \
		.needs = (takes), .plan = (plan_fn), .send = (send_fn), .look = (look_fn),    \
		.hinders = (hinders_fn)                                                       \
	}

#endif
