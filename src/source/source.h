#ifndef SOURCE_SOURCE_H
#define SOURCE_SOURCE_H

#include "base/err.h"
#include "model/draft.h"
#include "model/snapshot.h"

struct clock_source;
struct yaml_node;
struct report;
struct act_case;
struct sim_host;

/*
 * The options of a kind of source, one row each: they make the config's parser (unknown keys and
 * wrong types are named with line and column), the manual baton-config(5), and `baton init`.
 */
enum option_type {
	OPTION_TEXT,
	OPTION_SECRET, /* as TEXT, and never shown */
	OPTION_PATH,   /* as TEXT; relative to the config's folder */
	OPTION_INT,
	OPTION_BOOL,
	OPTION_DURATION, /* 500ms, 10s, 5m, 2h, 1d; a bare number is seconds; kept in ms */
	OPTION_WORD,     /* one of `words`, separated by | */
	OPTION_LIST,     /* of TEXT; one TEXT alone is a list of one */
	OPTION_MAPS,     /* a list of maps, whose keys `fields` describes */
	/* For the config's own keys only, not for a source's: */
	OPTION_MAP,   /* one map, whose keys `fields` describes */
	OPTION_NAMED, /* a map from names of the operator's choice to maps, whose keys `fields`
			 describes */
	OPTION_RECIPE /* how a key is written: a text, or a map with exactly one of `fields` */
};

struct option_def {
	const char *name; /* NULL ends the table */
	enum option_type type;
	const char *fallback;            /* as it would be written; NULL: none */
	const char *help;                /* one or two sentences, for the manual */
	const char *words;               /* OPTION_WORD */
	const struct option_def *fields; /* OPTION_MAPS */
	bool required;
};

/* The values of a map that was checked against its table. */
struct option_values {
	const struct option_def *defs;
	const struct yaml_node *map; /* NULL: all by default */
};

/*
 * Typed access, with the table's fallback; a name that is not in the table is a bug and aborts.
 * option_value_set: whether it was written, be it the fallback's value. INT, BOOL (0 or 1),
 * DURATION in ms; INT64_MIN where it is not set and the table has no fallback. The items of a LIST
 * (texts) or MAPS (map nodes), the one MAP; NULL beyond the last.
 */
bool option_value_set(const struct option_values *v, const char *name);
const char *option_value_text(const struct option_values *v, const char *name);
int64_t option_value_int(const struct option_values *v, const char *name);
const char *option_value_item(const struct option_values *v, const char *name, size_t i);
const struct yaml_node *option_value_map(const struct option_values *v, const char *name, size_t i);

/* A name that the operator gave to a key: one entry of the config's `names:`, for the source that
 * it belongs to. */
struct key_name {
	const char *database; /* NULL: any database of the server */
	const char *recipe; /* "literal" (a path as in ids), "bigint", "pair", "hashtext", "crc32",
			       "md5" */
	const char *value;  /* the text that is hashed, the number, "7,-9" */
	const char *name;
};

/* One source of the config, checked: options holds known keys of the right types only. Borrowed by
 * the source. */
struct source_config {
	const struct source_ops *ops;
	const char *name;
	const char *environment; /* NULL: not said */
	bool protect;
	int64_t interval_ms;             /* between polls */
	int64_t timeout_ms;              /* the deadline of one poll, connecting included */
	const struct yaml_node *options; /* a map; NULL: all by default (discovered) */
	struct sim_host *sim;            /* of the built-in world: where it is (sim.h); else NULL */
	const char *shows;               /* of the built-in world: the thing's name; else NULL */
	const struct key_name *names;
	size_t n_names;
	const void
		*given; /* to a kind that no config names: what it reads from. Borrowed; else NULL
			 */
};

/* The same of a source's own options. */
bool source_option_set(const struct source_config *config, const char *name);
const char *source_option_text(const struct source_config *config, const char *name);
int64_t source_option_int(const struct source_config *config, const char *name);
const char *source_option_item(const struct source_config *config, const char *name, size_t i);
const struct yaml_node *source_option_map(
	const struct source_config *config, const char *name, size_t i);

/*
 * What a source is given for one poll, and where its answers go. Only the source's own thread uses
 * it.
 *
 * A source either tells everything each time (round_begin, round_put for each, round_end: what was
 * not put is gone) or, once it has told everything, only what changed (round_put, round_drop).
 */
struct round;

const struct clock_source *round_clock(const struct round *r);
int64_t round_now_ms(const struct round *r);      /* our monotonic clock, now */
int64_t round_deadline_ms(const struct round *r); /* no wait goes beyond it */
int round_wake_fd(const struct round
		*r); /* readable when the source must come back at once: add it to every wait */
bool round_cancelled(const struct round *r); /* we are stopping: return ERR_CANCELLED */
bool round_one_shot(const struct round *r);  /* one picture, then the end: no watch, no past but of
						what is wanted, spend the budget now */

/* A draft to build singletons with; the round's own, begun anew by draft_begin. */
struct draft *round_draft(struct round *r);

void round_begin(struct round *r);
/* Takes over the reference. */
void round_put(struct round *r, struct singleton *s);
/* The row is there no more. Where another server may answer by now, round_self tells so first: what
 * that one lacks, nobody let go of. */
void round_drop(struct round *r, const char *id);
/* The row can't be seen any more, by rights or for a cap: it goes, and nobody is said to have let
 * go of it. */
void round_hide(struct round *r, const char *id);
/*
 * In this poll the picture lacks rows that may be there all the same: a whole one that is told
 * hides what it does not have, and what earlier runs saw held is not said to be free.
 */
void round_partial(struct round *r);
/*
 * Whether a look after an act has seen what the picture does not show yet: its watch tells of it in
 * a moment. Holds until it is told otherwise.
 */
void round_behind(struct round *r, bool behind);
void round_end(struct round *r);
/*
 * For what was judged before (a record): the row as it stands in the picture, or NULL, borrowed;
 * and a row put in its place, with its verdict, which is not judged here. Takes over the reference.
 */
const struct row *round_row(const struct round *r, const char *id);
void round_put_judged(struct round *r, struct row *row);
/*
 * What such a source is, beside its rows: the snapshot is published with this state, error, age and
 * all else, instead of with those of this poll. Borrowed until the next poll, or the close.
 */
void round_head(struct round *r, const struct snapshot *head);
/* A whole picture that was begun will not be finished: forgets what was put of it, where there was
 * none before. */
void round_abandon(struct round *r);
/*
 * The source waits for its server and has nothing else to do: at most so many of the rows that were
 * put are judged now, and need not be at the end. Returns whether there are more.
 */
bool round_use_time(struct round *r, size_t most);

/* The source's own facts: a MECH_SOURCE singleton, path empty; members are CLAIM_MEMBER claims.
 * Takes over the reference. */
void round_self(struct round *r, struct singleton *s);
/* The server's version as text, raw bytes. */
void round_server(struct round *r, const char *text);
/* What can't be seen; told anew with each poll that tells everything (round_hidden_clear first).
 * remedy may be NULL. */
void round_hidden_clear(struct round *r);
void round_hidden(struct round *r, const char *what, const char *remedy);
/* The same where it hides whole rows: which, see struct hidden (snapshot.h). except may be NULL. */
void round_hidden_rows(struct round *r, const char *what, const char *remedy, const char *rows,
	const char *const *except);
/* Rows that the config leaves out, all but those that begin as one of except: nobody may be told
 * that they are free. Told behind what is hidden. found: see struct hidden. */
void round_unlooked(struct round *r, const char *what, const char *remedy,
	const char *const *except, unsigned found);
/* The picture is true, but something is wrong: the source is shown as degraded with this sentence.
 */
void round_degraded(struct round *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Adds to what polling costs; round_trip_ms may be TIME_UNKNOWN. */
void round_cost(struct round *r, uint64_t requests, uint64_t bytes_in, uint64_t bytes_out,
	int64_t round_trip_ms);
/*
 * Tells a past event of a singleton (or of the source: path NULL) for the timeline: path as it
 * stands in the id (escaped), at_us wall clock or TIME_UNKNOWN where the system kept no time, what
 * a short word ("took", "released", "gap"), text one sanitised sentence. Events that the session
 * sees itself, by comparing pictures, need not be told.
 */
void round_event(struct round *r, const char *path, int64_t at_us, int64_t token, const char *what,
	const char *text);
/*
 * Whether a singleton is on a screen now or was asked for by name: the source spends its budget of
 * requests on those first.
 */
bool round_wanted(const struct round *r, const char *id);
/* Calls each with all those ids, within a lock: it must be short, and call nothing of the round's.
 */
void round_each_wanted(const struct round *r, void (*each)(void *arg, const char *id), void *arg);

/*
 * A kind of source: facts and callbacks. Straight-line blocking calls, run in the source's own
 * thread, with a deadline on every wait; they may sleep only in poll(2) with the round's wake
 * descriptor among the descriptors.
 */
struct source_ops {
	const char *kind;    /* the word in the config */
	const char *summary; /* what it is, for --help and the manual */
	const struct option_def *options;
	int64_t interval_ms; /* between polls, by default */

	/* Makes the state; checks what can be checked without the network. config lives as long as
	 * the state. */
	int (*open)(const struct source_config *config, void **ret_state, struct err *err);

	/*
	 * Brings the picture up to date: connects when not connected, reads, tells the round. A
	 * failure leaves the state such that the next poll connects anew where needed; the session
	 * keeps the last picture and backs off.
	 */
	int (*poll)(void *state, struct round *r, struct err *err);

	/*
	 * Waits for a change until the deadline. Returns 1 when poll has something new to tell, 0
	 * when the time is over or the wake descriptor woke it, negative on failure. NULL: nothing
	 * can be waited for, the session sleeps.
	 */
	int (*wait)(void *state, struct round *r, struct err *err);

	/* For `baton doctor`: connection, version, privileges, what can't be seen and what would
	 * show it. */
	int (*examine)(void *state, struct round *r, struct report *report, struct err *err);

	void (*close)(void *state);

	/* What it can do (act.h): n_acts rows; NULL: it only looks. Called by the gate alone. */
	const struct act_case *acts;
	size_t n_acts;
};

/* The lines of `baton doctor` about one source (report.h keeps them). level: "ok", "note", "warn",
 * "fail". */
void report_add(struct report *report, const char *level, const char *what, const char *advice,
	const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* All kinds, in the order of sources.def; NULL ends the list. */
extern const struct source_ops *const source_kinds[];
const struct source_ops *source_kind(const char *kind);

#endif
