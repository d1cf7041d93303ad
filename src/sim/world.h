#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include "sim/random.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The built-in world: things (machines, processes, servers, resources) and events in an order that
 * depends on nothing but the seed and on what is done to it at which moment. It has no clock, no
 * I/O and no floating point; whoever owns it tells it how far to run. Not thread safe.
 *
 * Nothing in it may depend on an address in memory, or on the order of a map: things are walked in
 * the order in which they were made.
 */
struct world;
struct thing;

/* Something that happens at its time; who, a and b are whatever it was scheduled with. */
typedef void world_fn(struct world *w, void *who, int64_t a, int64_t b);

/* epoch_us: the wall clock at 0 ms of the world, microseconds since 1970. */
struct world *world_new(uint64_t seed, int64_t epoch_us);
/* Frees it with all its things. */
void world_free(struct world *w);

/* The true time: milliseconds since the world began. No process in it knows this one. */
int64_t world_now_ms(const struct world *w);
/* The same as a wall clock, microseconds since 1970. */
int64_t world_now_us(const struct world *w);
struct sim_random *world_random(struct world *w);

/* ---- events ---- */

/* Schedules an event, not before now; those of one moment happen in the order in which they were
 * scheduled. There is no way to take one back: let it find out that it is no longer wanted. */
void world_at(struct world *w, int64_t at_ms, world_fn *fn, void *who, int64_t a, int64_t b);
void world_after(struct world *w, int64_t delay_ms, world_fn *fn, void *who, int64_t a, int64_t b);
/* When the next one happens; INT64_MAX: never. */
int64_t world_next_ms(const struct world *w);
/* Lets all happen up to a moment, which then is now. */
void world_run(struct world *w, int64_t until_ms);
/* Goes to the next event and lets all of that moment happen; false when there is none. */
bool world_step(struct world *w);
/* How many have happened. */
uint64_t world_events(const struct world *w);

/* Memory for what is on its way (timers, calls): cheap, not zeroed, and given back with the world
 * at the latest. size as it was got with. */
void *world_get(struct world *w, size_t size);
void world_put(struct world *w, void *piece, size_t size);

/* ---- things ---- */

struct thing_ops {
	const char *kind; /* "machine", "process", "etcd": also the word in a scenario */
	void (*free)(struct thing *t);
};

/* What every thing begins with. */
struct thing {
	const struct thing_ops *ops;
	char *name;       /* unique among those of its kind */
	uint64_t version; /* rises with each change that a picture of it could show */
	struct thing *prev, *next;
};

/* Takes a thing in, under a copy of the name; the world frees it. Its fields must be zero or set
 * by its maker. */
void world_add(struct world *w, struct thing *t, const struct thing_ops *ops, const char *name);
/* Frees it before the world's end. Nobody may have a pointer to it any more, and no event be about
 * it. */
void world_remove(struct world *w, struct thing *t);
/* NULL when there is none. */
struct thing *world_find(const struct world *w, const struct thing_ops *ops, const char *name);
/* The first of that kind, or the next after one (in the order in which they were made); NULL. */
struct thing *world_each(const struct world *w, const struct thing_ops *ops, struct thing *after);
/* The sum of the versions of all of a kind, also of those that were removed: another number
 * whenever one of them changed. */
uint64_t world_versions(const struct world *w, const struct thing_ops *ops);
/* It changed in a way that a picture shows. */
void thing_changed(struct thing *t);

/* ---- what truly happened ---- */

enum happening_kind {
#define HAPPENING(id, word, help) HAPPENING_##id,
#include "sim/happenings.def"
#undef HAPPENING
	HAPPENING_COUNT
};

/* One line of the true story, for the debrief and for tests. */
struct happening {
	int64_t at_ms;
	enum happening_kind kind;
	char *who;     /* the process, machine or operator; "" */
	char *what;    /* the duty, lock, server or resource that it is about; "" */
	char *text;    /* one sentence */
	int64_t token; /* 0: none */
};

/* Adds a line; who and what may be NULL. At most HAPPENINGS_MOST are kept, later ones counted. */
enum {
	HAPPENINGS_MOST = 200000
};
void world_tell(struct world *w, enum happening_kind kind, const char *who, const char *what,
	int64_t token, const char *fmt, ...) __attribute__((format(printf, 6, 7)));
size_t world_told(const struct world *w);
/* Nobody will ask for the lines: they are only counted from now on. */
void world_keep_no_story(struct world *w);
/* How many were told in all, kept or not. */
uint64_t world_tellings(const struct world *w);
const struct happening *world_happening(const struct world *w, size_t i);
const char *happening_word(enum happening_kind kind);

/* A named count of what a score may ask for: "keys-destroyed", "sessions-killed". The name is a
 * literal of a part. */
void world_count(struct world *w, const char *name, int64_t n);
int64_t world_counted(const struct world *w, const char *name); /* 0: never counted */

#endif
