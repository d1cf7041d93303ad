#ifndef CONTROL_GATE_H
#define CONTROL_GATE_H

#include "model/board.h"
#include "model/forecast.h"

struct fleet;
struct err;

/*
 * The one way to act on a system. Every verb, from every way in, passes its six steps: read again,
 * forecast, confirm, send, verify, record. The policy is checked here and nowhere else, when the
 * act begins and again directly before it is sent.
 *
 * A gate is one act, or one set of acts that are confirmed together. Its work is done by the
 * sources' own threads, between their polls; whoever began it looks at it (gate_look) when the
 * fleet's descriptor becomes readable, and never waits. Nothing here knows a screen.
 *
 *	gate = gate_begin(fleet, board, &want, 1, &options);
 *	... poll(fleet_fd(fleet)), view = gate_look(gate) until view->phase != GATE_PHASE_READING
 *	... show view->forecasts and view->ask, take what is typed
 *	gate_confirm(gate, typed, reason, &err) or gate_cancel(gate)
 *	... gate_look until view->phase == GATE_PHASE_OVER
 *	gate_close(gate);
 */
struct gate;

/* The way in decides what lifts read only: the console must be armed, the command line says --yes.
 */
enum gate_way {
	GATE_WAY_CONSOLE,
	GATE_WAY_COMMAND
};

/* One thing that is wanted. The texts are copied. */
struct gate_want {
	enum verb verb;
	const char *id;     /* of the singleton, as it stands on the board */
	const char *key;    /* of the claim or run, exactly: what the console binds by; NULL */
	const char *expect; /* a key or an identity, as the operator wrote it (--expect); NULL. One
			       that several hold is refused, with their keys. Without key and expect
			       a verb about a claim means the only holder, or is refused. */
	bool has_token;     /* --expect-token: the singleton's token must be this one */
	int64_t token;
};

struct gate_options {
	enum gate_way way;
	/* Confirmed beforehand (--yes), for this reason, which is not empty: it does not ask. Only
	 * for GATE_WAY_COMMAND. NULL: it asks. */
	const char *agreed;
	bool forecast_only; /* it can't be confirmed: ends when the forecast is there */
	int64_t settle_ms;  /* how long to look for the effect after it was sent; 0: 10 s */
	int64_t read_ms;    /* the deadline of reading and of sending; 0: the source's timeout */
};

/*
 * Begins. board is the picture that was looked at when the verb was chosen: the order is bound to
 * its facts, by key. Never NULL: an act that can't even begin is one that is over, refused. Several
 * wants are a set: one forecast for all, one confirmation, then one by one, until the first
 * surprise. On a board of the past (board_as_past) every act is refused, and nothing is read.
 */
struct gate *gate_begin(struct fleet *fleet, const struct board *board,
	const struct gate_want *wants, size_t n, const struct gate_options *options);

/* Where an act is, for whoever shows it; the machine behind it has more states (gate-machine.h). */
enum gate_phase {
	GATE_PHASE_READING, /* reads again, makes the forecast */
	GATE_PHASE_ASKING,  /* the forecast is there; waits for gate_confirm or gate_cancel */
	GATE_PHASE_ACTING,  /* confirmed: reads again, records, sends, verifies. It can't be called
			       back any more. */
	GATE_PHASE_OVER     /* it has its outcome */
};

/* How an act ended. CANCELLED: by the operator, before anything was sent. */
enum gate_outcome {
	GATE_NONE, /* not over yet */
	GATE_DONE,
	GATE_REFUSED,
	GATE_CHANGED,
	GATE_UNKNOWN,
	GATE_PARTIAL,
	GATE_CANCELLED
};

/* What confirms it. Enter alone never does. */
enum gate_ask {
	GATE_ASK_YES,    /* "y" */
	GATE_ASK_HOLDER, /* the holder's name, typed */
	GATE_ASK_NAME    /* the singleton's id (or its name), typed, and a reason */
};

/* One step of it, as it happened. */
struct gate_step {
	const char *step; /* "read", "forecast", "confirm", "record", "send", "answer", "verify" */
	int64_t at_us;    /* our wall clock */
	const char *text; /* one sentence, sanitised */
	size_t item;      /* of the set, from 0 */
};

/* One of the set. */
struct gate_item {
	const struct forecast *forecast; /* NULL while it is being read */
	enum gate_outcome outcome;       /* GATE_NONE: not begun, or not over */
	const char *text;                /* why that outcome, one sentence or more; "" */
	const char *find_out;            /* how to find out what is not known; NULL */
	enum overlap overlap;            /* whether the one that was evicted was seen to stop */
	bool sent;                       /* something may have reached the server */
	bool absent;                     /* there is no such singleton, and none is remembered */
	const char *id, *key, *identity; /* key and identity may be NULL */
	enum verb verb;
	uint64_t n;        /* its number in the audit; 0: not recorded (nothing was to be sent) */
	int64_t over_ms;   /* our monotonic clock when it was looked at last, ... */
	uint64_t over_seq; /* ... and the snapshot of its source then (gate_item_precedes); 0 */
};

/*
 * A copy of how an act stands, immutable: what it points to lives until gate_view_free.
 */
struct gate_view {
	enum gate_phase phase;
	enum gate_outcome outcome; /* of the whole: PARTIAL when some of a set are done */
	const char *text;          /* why, in one sentence; "" */
	enum gate_ask ask;
	const char *to_type; /* what must be typed, in ASCII: "y", the holder's name, the id */
	const char *or_type; /* what is taken as well (the singleton's name); NULL */
	bool needs_reason;   /* a reason must be said */
	bool prod;           /* the environment is prod, or not said */
	bool forecast_only;  /* it can't be confirmed: it is over when the forecast is there */
	const struct gate_item *items;
	size_t n_items;
	const struct gate_step *steps; /* oldest first */
	size_t n_steps;
	int64_t settle_left_ms; /* while it verifies: until the limit; else TIME_UNKNOWN */
};

/* Never waits. Free it with gate_view_free. */
struct gate_view *gate_look(struct gate *gate);
void gate_view_free(struct gate_view *view);
/* Whether a snapshot of the item's source shows it as it is after the act: it was read since, and
 * holds what was seen then. True where nothing was sent. */
bool gate_item_precedes(const struct gate_item *item, const struct snapshot *snap);

/*
 * Confirms: typed must be what view->to_type (or or_type) says, and reason not empty where one is
 * needed. 0; ERR_USAGE with a sentence when the words differ (it still waits); ERR_UNSUPPORTED when
 * it does not wait for a confirmation. Returns at once. typed and reason are raw.
 */
int gate_confirm(struct gate *gate, const char *typed, const char *reason, struct err *err);
/* Ends it while nothing was sent; later it has no effect: what was sent can't be called back.
 * Returns whether it ended it. */
bool gate_cancel(struct gate *gate);
/* Gives it up and frees it, as soon as no thread works on it: what was confirmed is carried to its
 * end and recorded. */
void gate_close(struct gate *gate);

/*
 * Whether each verb could be begun on a set of rows, for the menu: nothing is asked of a server. Of
 * each want id and key count (key: of the claim or run under the cursor; NULL). why[verb] becomes
 * NULL, or the first reason why not that one of the rows gives, one sentence, which the caller
 * frees: what the row shows (act.h, `hinders`), the policy; a verb that the row can never have says
 * so. The rows are looked for once, in one pass.
 */
void gate_hinders(struct fleet *fleet, const struct board *board, const struct gate_want *wants,
	size_t n, enum gate_way way, char *why[VERB_COUNT]);

/* Whether the row of an id has that verb at all: its source does it, on rows like this one. */
bool gate_knows(struct fleet *fleet, const struct board *board, const char *id, enum verb verb);

/*
 * Lifts read only of the console for one source (NULL: all) for so long; INT64_MAX: until the end
 * (--write). It ends by itself. Refused (ERR_DENIED) where the config says read_only or the source
 * is protected.
 */
int gate_arm(struct fleet *fleet, const char *source, int64_t for_ms, struct err *err);
/* Ends it at once: for one source, or all (NULL). */
void gate_disarm(struct fleet *fleet, const char *source);
/* What is left of it: 0: read only; INT64_MAX: until the end. source NULL: the longest of all. */
int64_t gate_armed_ms(struct fleet *fleet, const char *source);

/* "done", "refused", "changed", "unknown", "partial", "cancelled"; "" for GATE_NONE. */
const char *gate_outcome_word(enum gate_outcome outcome);

#endif
