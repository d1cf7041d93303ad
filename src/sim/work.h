#ifndef SIM_WORK_H
#define SIM_WORK_H

#include "sim/process.h"

/*
 * What the locks are for. A duty is work that only one process should do; the processes that
 * believe it is theirs do it, lock or no lock. A resource is what the work writes to, and may or
 * may not check tokens. Both count what truly happened.
 */
enum resource_kind {
	RESOURCE_UNFENCED,   /* takes every write */
	RESOURCE_FENCED,     /* refuses a token lower than the highest that it has seen */
	RESOURCE_IDEMPOTENT, /* a unique key: the same unit of work is done once, whoever asks */
	RESOURCE_KIND_COUNT
};

struct resource {
	struct thing thing;
	enum resource_kind kind;
	int64_t highest;     /* token that it accepted */
	int64_t newest_unit; /* highest unit written */
	uint64_t writes;     /* side effects that happened, doubles included */
	uint64_t doubles;    /* of these: of a unit that was done before */
	uint64_t stale_let;  /* of these: with a token lower than one that it had seen */
	uint64_t stale_refused, already;
	bool down;  /* takes nothing */
	void *done; /* units of late: work.c */
};

enum write_result {
	WRITE_DONE,
	WRITE_REFUSED, /* the token is old: who gets this should stop */
	WRITE_ALREADY, /* done before: nothing happened */
	WRITE_FAILED   /* not reached, or down */
};

enum {
	DUTY_WORKERS_MOST = 16
};

struct duty_worker {
	struct process *process;
	uint32_t life;
	int64_t token;
	int64_t began; /* the how manieth beginning of this duty */
	int64_t unit;  /* that it did last: a fast clock comes early, and once is enough */
	bool unheard;  /* its machine is cut off: nothing that it does gets out */
	bool at_work;  /* and neither paused nor unheard */
};

struct duty {
	struct thing thing;
	struct resource *resource; /* NULL: it writes nowhere */
	int64_t every_ms;          /* one unit of work; by the true clock, so that two workers do
				      the same units */
	bool yields_when_refused;  /* a worker whose token is refused stops */
	struct duty_worker workers[DUTY_WORKERS_MOST];
	size_t n_workers;
	size_t at_work; /* of them, now */
	/* counted, up to counted_ms */
	int64_t counted_ms;
	int64_t vacant_ms;  /* nobody at work */
	int64_t overlap_ms; /* more than one; of three at once twice */
	uint64_t takeovers; /* another process began than worked before */
	int64_t beginnings;
	struct process *last;
};

extern const struct thing_ops resource_ops, duty_ops;

/* The world frees it, as every thing. */
struct resource *resource_new(struct world *w, const char *name, enum resource_kind kind);
struct resource *resource_find(const struct world *w, const char *name);
int resource_kind_from_word(const char *word); /* -1: none */
/* One side effect, which does not get out of a machine that is cut off. unit: which piece of work,
 * > 0, or 0: each is its own. token 0: none. */
enum write_result resource_write(
	struct world *w, struct resource *r, struct process *p, int64_t token, int64_t unit);

/* resource NULL: its work writes nowhere. Who is refused stops (yields_when_refused) until its
 * maker says otherwise. */
struct duty *duty_new(
	struct world *w, const char *name, struct resource *resource, int64_t every_ms);
struct duty *duty_find(const struct world *w, const char *name);
/*
 * A process believes that the work is its own, with that token (0: none), and does it from now on;
 * or no longer. Beginning twice only changes the token. A process that ended no longer works.
 */
void duty_begin(struct world *w, struct duty *d, struct process *p, int64_t token);
void duty_end(struct world *w, struct duty *d, struct process *p);
bool duty_works(const struct duty *d, const struct process *p);
/* Brings the counts up to now. */
void duty_count(struct world *w, struct duty *d);
/* For process.c and net.c: it was paused, runs on, ended, or its machine was cut off or joined. */
void duties_look(struct world *w, struct process *p);
/* Whether it works on a duty, or was the last to begin one. */
bool duties_remember(const struct world *w, const struct process *p);

#endif
