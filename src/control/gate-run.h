#ifndef CONTROL_GATE_RUN_H
#define CONTROL_GATE_RUN_H

#include "base/str.h"
#include "control/audit.h"
#include "control/gate-machine.h"
#include "control/session.h"
#include "source/act.h"

/*
 * Private to the gate: one act of a set. What stands under "guarded" is guarded by the gate's
 * mutex; the rest belongs to whoever works on the act: who begins it, then the source's thread.
 */
struct gate_slot {
	struct session_task task; /* first: the session hands it back */
	struct gate *gate;
	size_t index;

	/* What it is about, settled when it begins (gate-bind.c). */
	struct session *session;    /* NULL: there is no such source */
	const struct act_case *act; /* NULL: its kind has no such verb */
	enum verb verb;
	char *id, *key, *identity;
	const struct row *row;       /* the board's; NULL: not on it */
	const struct snapshot *snap; /* the board's; NULL */
	const struct row *cross;     /* the board's; NULL */
	const struct role *role;     /* the settings'; NULL */
	bool past;                   /* the board is one of the past */
	struct plan_list refusals;   /* what spoke against it when it began */
	bool differs;                /* they mean that it is not what was expected */
	bool prod;
	enum gate_ask ask;

	/* The worker's. */
	struct order order;
	struct plan plan;
	struct effect effect;
	struct audit_copy intent_copy;
	bool acting;             /* its thread has it for the second time: it was confirmed */
	int64_t settle_until_ms; /* of verifying; TIME_UNKNOWN before */
	int64_t linger_until_ms; /* settled, and looked on for the old holder's end */

	/* guarded */
	enum gate_state state;
	enum gate_outcome outcome;
	struct forecast *forecast;
	struct str text, find_out;
	enum overlap overlap;
	bool confirmed, absent, sent;
	bool arrived;           /* read, and its thread has left it */
	int64_t shown_until_ms; /* settle_until_ms, for who looks */
	uint64_t n;
	int64_t over_ms; /* when it was looked at last, and what its source had published by then */
	uint64_t over_seq;
};

struct gate {
	pthread_mutex_t mutex;
	struct fleet *fleet;
	struct board *board;
	struct gate_options options;
	struct gate_slot *slots;
	size_t n;

	/* guarded */
	int refs; /* of who began it, and of each posted task */
	enum gate_phase phase;
	enum gate_outcome outcome;
	char *reason;
	char *to_type, *or_type;
	enum gate_ask ask;
	bool prod;
	bool cancelled; /* wanted while it was read */
	struct gate_step *steps;
	size_t n_steps, cap_steps;
};

/* Where a singleton stands on a board; row NULL: it is not there. */
struct gate_place {
	const struct row *row;
	const struct snapshot *snap; /* of its source; NULL: there is no such source */
	const struct row *cross;
	bool past; /* the board is one of the past */
};

/* gate-find.c: the places of all wants, in one pass over the rows. */
void gate_find(const struct board *board, const struct gate_want *wants, size_t n,
	struct gate_place *places);
/* gate-bind.c: settles what a want is about; what is wrong goes to refusals. */
void gate_bind(struct gate_slot *slot, struct fleet *fleet, const struct gate_place *place,
	const struct gate_want *want);
void gate_slot_release(struct gate_slot *slot);
/* The policy's facts of a slot's source; state: as its thread has it, or as the board shows it. */
void gate_policy(const struct gate_slot *slot, struct fleet *fleet, enum source_state state,
	enum gate_way way, struct plan_list *reasons);

/* gate-work.c: what the source's thread does for a slot; a session_task's run. */
int64_t gate_work(struct session_task *task, struct session *session, bool stopping);

/* gate.c, for gate-work.c. Each takes the gate's mutex. */
void gate_step_add(struct gate_slot *slot, const char *step, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Moves a slot on by the table; an event that can't come there ends the program: it is a bug. */
enum gate_state gate_move(struct gate_slot *slot, enum gate_event event);
/* What the slot's outcome says; replaces what it said. */
void gate_say(struct gate_slot *slot, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A slot came to ASK or to OVER: sees what follows for the others. */
void gate_arrived(struct gate_slot *slot);
bool gate_is_cancelled(struct gate_slot *slot);
/* Makes whoever looks at the fleet look again. */
void gate_news(struct gate *gate);
/* Gives back a reference. */
void gate_unref(struct gate *gate);

#endif
