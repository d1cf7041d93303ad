#ifndef SOURCE_SIM_H
#define SOURCE_SIM_H

#include "base/vclock.h"
#include "sim/net.h"
#include "sim/work.h"
#include "source/act.h"
#include "source/source.h"

enum {
	SIM_PATIENCE_S = 5 /* a source's timeout, as real ones have it where nobody says */
};

/*
 * The built-in world as sources. One source shows one server of the world (an etcd, a PostgreSQL, a
 * cluster ...) to the same interface as the real kinds; all of them look into one world, which a
 * sim_host keeps, moves by the clock and guards by a mutex.
 *
 * A mechanism of the world is a part: a file sim-NAME.c with one const table, and a line in
 * sim-parts.def. What a scenario may write for it, how a picture is told and what can be done to it
 * stands there; how it behaves stands in src/sim/NAME.c.
 */
struct sim_host;
struct sim_source;

/*
 * Something that is made by one entry of a scenario's list under the word of `kind`: a server, a
 * resource. `name` is one of its options. Errors: err_set(err, ERR_CONFIG, ...) with a sentence;
 * the place is added by who calls.
 */
struct sim_thing {
	const char *word; /* the list's key under `world:` */
	const char *help;
	const struct option_def *options;
	int (*make)(struct world *w, const struct option_values *v, struct err *err);
};

/* A program that a process of a scenario may run: the key of its map, and what is in it. */
struct sim_program {
	const char *word; /* "etcd-election" */
	const char *help;
	const struct option_def *options;
	int (*make)(
		struct world *w, struct process *p, const struct option_values *v, struct err *err);
};

/*
 * A fault that a scenario may have at a moment, or an instructor may inject: the key of its map,
 * and what is in it. `apply` is called at its moment, and once at loading with `check` true, when
 * it only looks whether what it names is there.
 */
struct sim_fault {
	const char *word; /* "pause", "cut", "stall" */
	const char *help;
	const struct option_def *options;
	int (*apply)(struct world *w, const struct option_values *v, bool check, struct err *err);
};

/*
 * How a source shows a thing of one kind. `source` is the kind of source that a scenario's sources
 * get: its kind is the word of the real one, so that a screen reads the same; open, poll, wait and
 * close are SIM_SOURCE's, the acts are its own. A user's config can't name it: it is in no
 * sources.def.
 */
struct sim_view {
	struct source_ops source;    /* first */
	const struct thing_ops *ops; /* of the thing */
	/*
	 * Tells the whole picture at this moment: round_begin, round_put for each, round_self,
	 * round_end. Returns a negative code, with a sentence, when the server can't be read now
	 * (unreachable, hung, refusing): the sentences are those of the real kind. It is called
	 * when the thing's version rose, and every interval.
	 */
	int (*tell)(struct sim_source *s, struct round *r, struct err *err);
	/* What rises when the picture may have changed; NULL: the thing's own version. */
	uint64_t (*version)(const struct world *w, const struct thing *t);
	/* The process behind a claim or run of a row (key), for the verbs that break things on
	 * purpose; NULL: nobody. */
	struct process *(*behind)(
		struct sim_source *s, const struct singleton *row, const char *key);
	/* Frees what `tell` keeps in s->own, with the world entered; NULL: it keeps nothing. */
	void (*close)(struct sim_source *s);
};

struct sim_part {
	const char *word;               /* "etcd" */
	const struct sim_thing *things; /* each table is ended by a NULL word */
	const struct sim_program *programs;
	const struct sim_fault *faults;
	const struct sim_view *views;       /* ended by NULL ops */
	const struct sim_fleet_kind *fleet; /* rows of the source `fleet` (sim-fleet.h); NULL */
};

/* In the order of sim-parts.def; NULL ends the list. */
extern const struct sim_part *const sim_parts[];

/* For the parts: the thing that an option names. NULL, with ERR_CONFIG and a sentence that holds
 * the nearest right name, when there is none. */
struct thing *sim_find(const struct world *w, const struct thing_ops *ops,
	const struct option_values *v, const char *option, struct err *err);
/* That sentence alone, for a name that was looked for otherwise. Returns ERR_CONFIG. */
int sim_no_such(
	const struct world *w, const struct thing_ops *ops, const char *name, struct err *err);
/* 0 when the option `name` is said, and no thing of that kind has it yet; else ERR_CONFIG, with a
 * sentence. */
int sim_check_new(const struct world *w, const struct thing_ops *ops, const struct option_values *v,
	struct err *err);

/* The state of a source of the built-in world, which polls and acts get. */
struct sim_source {
	struct sim_host *host;
	const struct source_config *config;
	const struct sim_view *view;
	struct world *world; /* between sim_enter and sim_leave */
	struct thing *thing; /* what it shows */
	uint64_t told;       /* its version when it was told last */
	void *own;           /* the view's own; NULL at first */
};

/*
 * Every function of an act (act.h) begins and ends with these: they guard the world, and bring it
 * up to the clock. The moment stands still in between.
 */
struct sim_source *sim_enter(void *state);
void sim_leave(struct sim_source *s);

/* An operator's deed, for the true story: after it was done (HAPPENING_ACT). */
void sim_acted(struct sim_source *s, const struct order *order, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The callbacks that all kinds share (sim-host.c). */
int sim_open(const struct source_config *config, void **ret_state, struct err *err);
int sim_poll(void *state, struct round *r, struct err *err);
int sim_wait(void *state, struct round *r, struct err *err);
void sim_close(void *state);
#define SIM_SOURCE(word, text)                                                    \
	.kind = (word), .summary = (text), .interval_ms = 1000, .open = sim_open, \
	.poll = sim_poll, .wait = sim_wait, .close = sim_close

/*
 * The fleet's monotonic clock shows milliseconds since the world began, and its wall clock the
 * world's true time: world_now_ms and round_now_ms are the same while the world is entered.
 */

#endif
