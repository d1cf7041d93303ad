#ifndef CONTROL_POLICY_H
#define CONTROL_POLICY_H

#include "control/gate.h"

/*
 * What may be done at all, and what confirms it: pure functions from facts. The gate is their only
 * caller, but for policy_is_prod: a screen shows as production what is handled so. That something
 * may be done here does not say that the server allows it.
 */
struct policy_facts {
	bool record;             /* it is a record that is shown */
	bool past;               /* what was looked at is a picture of the past (struct board) */
	bool read_only;          /* the config forbids every act */
	const char *source;      /* its name */
	bool protect;            /* the config forbids every act on it */
	enum source_state state; /* now */
	int64_t armed_ms;        /* what is left of the console's leave to act; 0: none */
	enum gate_way way;
	enum verb verb; /* one that only asks somebody changes nothing, and needs no leave */
};

/* Adds a sentence for each reason against any act on this source; none: it may be begun. */
void policy_check(const struct policy_facts *facts, struct plan_list *reasons);

/*
 * Whether an environment must be handled as production: it was not said or is blank, or its word
 * has prod, prd or live in it.
 */
bool policy_is_prod(const char *environment);

/*
 * Whether what a verb was to end is over: the row was DUPLICATE, STALE, ORPHAN or STUCK when it was
 * looked at, and is none of them now, though the same one holds it still. It renewed, it works
 * again, or the other one has ended: who takes it away now would hit one who does well. From one
 * such state to another it is no less wanted; and what is begun on a calm row rests on no state,
 * nor does what is about the row itself (suspend, trigger), or breaks things on purpose.
 */
bool policy_is_over(enum verb verb, enum state was, enum state now);
/* Whether that can come about: then it must be read how it is now. */
bool policy_may_be_over(enum verb verb, enum state was);

/* What confirms a verb there; has_holder: it is about somebody who has a name. */
enum gate_ask policy_ask(enum verb verb, const char *environment, bool has_holder);

/*
 * What must be typed for a name: printable ASCII as it is, each byte of
 * anything else as \xNN. The caller frees.
 */
char *policy_typed_form(const char *name);

#endif
