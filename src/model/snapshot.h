#ifndef MODEL_SNAPSHOT_H
#define MODEL_SNAPSHOT_H

#include "base/map.h"
#include "model/verdict.h"

enum source_state {
	SOURCE_CONNECTING,
	SOURCE_OK,
	SOURCE_DEGRADED,
	SOURCE_FAILING
};

/* "connecting", "ok", "degraded", "failing" */
const char *source_state_word(enum source_state state);

/* Something that this source may not see, and what would show it. */
struct hidden {
	const char *what;
	const char *remedy; /* a grant, a role, an option; NULL when nothing would */
	/*
	 * Where whole rows are hidden by it: how their paths begin, as in ids; a path stands with a
	 * slash behind it for this, so that "lease/a/" is all of a namespace and "a/b/" also the
	 * row a/b. "": any row; NULL: no row is. Those that begin as one of except are seen:
	 * it ends with a NULL; NULL: none.
	 */
	const char *rows;
	const char *const *except;
	bool chosen; /* by the config, which leaves it out: not told as something that is hidden */
	/* Mechanisms, a bit for each, of which everything is found wherever it is: a row that is
	 * known to be of one is seen. */
	unsigned found;
};

/* Whether a path, with a slash behind it, begins so. */
bool hidden_path_begins(const char *path, const char *start);

/* A copy, whose texts are its own; and their end. */
void hidden_copy(struct hidden *to, const struct hidden *from);
void hidden_release(struct hidden *hidden);

/* What polling costs, since the source was opened. */
struct source_cost {
	uint64_t requests;
	uint64_t bytes_in;
	uint64_t bytes_out;
	int64_t round_trip_ms; /* of the last poll; TIME_UNKNOWN */
};

enum {
	CHUNK_ROWS = 256
};

/* Up to CHUNK_ROWS rows; all but the last chunk of a snapshot are full. Immutable and shared
 * between snapshots. */
struct chunk {
	int refs;
	uint32_t n;
	uint32_t attention; /* of its rows, those that need a person */
	uint32_t jobs;      /* those that are executed in runs */
	size_t size;        /* bytes that it and its rows take */
	uint32_t by_state[STATE_COUNT];
	struct row *rows[CHUNK_ROWS];
};

/*
 * What one source showed at one moment: immutable, counted by references from any thread. A poll
 * that fails publishes the last rows again with another state, so the picture stays, with its age.
 *
 * Rows are in no order. Two snapshots of one source share the chunks in which nothing changed:
 * equal chunk pointers mean equal rows, which makes a difference cheap to find (snapshot_diff in
 * diff.h and the board's listing rest on that).
 */
struct snapshot {
	int refs;
	uint64_t seq; /* rises with each publication of this source */
	const char *source;
	const char *kind;
	const char *environment; /* NULL: not said, treated as prod */
	bool protect;
	bool live;   /* fed by a watch: the picture is as old as the last sign of life, not as the
			last change */
	bool behind; /* what was read beside it, after an act, is newer: the watch has not told of
			it yet */
	enum source_state state;
	int64_t picture_ms; /* our monotonic clock when the rows were last known to be true;
			       TIME_UNKNOWN: never */
	const char *error;  /* one sentence; NULL */
	int64_t error_since_us;
	const char *server; /* version text, sanitised; NULL while unknown */
	struct row *self;   /* MECH_SOURCE: server facts, members, and the findings about the source
			       itself; NULL */
	const struct hidden *hidden;
	size_t n_hidden;
	struct source_cost cost;
	size_t n_rows;
	size_t n_chunks;
	struct chunk **chunks;
};

struct snapshot *snapshot_ref(const struct snapshot *snap);
void snapshot_unref(const struct snapshot *snap);

/* Row i, 0 <= i < n_rows. Borrowed. */
const struct row *snapshot_row(const struct snapshot *snap, size_t i);
/* What hides a row of that id, if there is such a row; NULL: it would be seen. Borrowed. */
const struct hidden *snapshot_hides(const struct snapshot *snap, const char *id);
/* The same of a row that is known to have been of that mechanism. */
const struct hidden *snapshot_hides_of(
	const struct snapshot *snap, const char *id, enum mechanism mechanism);
/* The row with that id, or NULL. Walks all rows. Borrowed. */
const struct row *snapshot_find(const struct snapshot *snap, const char *id);

/*
 * The picture: the mutable table of one source, private to its thread, from which snapshots are
 * published. A slot holds the facts and the row judged from them; it is dirty until it was judged
 * again. What all slots are gone through for stands in arrays of its own.
 */
struct picture_slot {
	struct singleton *s;
	struct row *row; /* NULL until judged */
};

struct picture {
	struct picture_slot *slots;
	int64_t *next_ms; /* of each slot's verdict; INT64_MIN while it is dirty */
	bool *told;       /* since picture_begin */
	uint32_t *hashes; /* of the slots' ids; NULL as long as there is no index */
	size_t n, cap;    /* of these four */
	uint32_t *index;  /* an open hash table by id: slot number + 1; 0: free */
	size_t size;      /* of it: a power of two; 0: none, and the slots are in the ids' order */
	uint64_t seed[2];
	struct chunk **chunks;
	bool *chunk_dirty;
	size_t n_chunks, cap_chunks, cap_dirty;
	uint64_t seq;
};

void picture_init(struct picture *pic);
void picture_release(struct picture *pic);

/*
 * Puts a singleton in, or in place of the one with its id; takes over the reference. Equal facts
 * (by hash) leave the slot clean, but keep the newer facts' clocks. Returns true when the facts
 * differ or it is new.
 */
bool picture_put(struct picture *pic, struct singleton *s);
/* Takes a singleton out; returns whether it was there. */
bool picture_remove(struct picture *pic, const char *id);
/* The slot of an id, or NULL; valid until the next put or remove. */
struct picture_slot *picture_find(struct picture *pic, const char *id);
/* Whether a slot's facts have changed since it was judged. */
bool picture_is_dirty(const struct picture *pic, size_t slot);

/*
 * A full picture: what is not put between picture_begin and picture_end is gone. picture_end calls
 * gone (if not NULL) for each singleton before it is taken out.
 */
void picture_begin(struct picture *pic);
/* Keeps what has that id, as if it were put once more. */
void picture_keep(struct picture *pic, const char *id);
void picture_end(
	struct picture *pic, void (*gone)(void *arg, const struct singleton *s), void *arg);

/*
 * The number of the next slot, from *pos on, that must be judged: it is dirty, or its verdict's
 * next_ms is at or before now_ms. -1 at the end. Start with *pos = 0.
 */
ptrdiff_t picture_next_due(const struct picture *pic, size_t *pos, int64_t now_ms);
/* Makes every slot due now, though its facts are clean: what all verdicts rest on has changed. */
void picture_redo(struct picture *pic, int64_t now_ms);
/* Gives a slot its row, which time alone may change at next_ms (verdict_draft); takes over the
 * reference. */
void picture_judged(struct picture *pic, size_t slot, struct row *row, int64_t next_ms);
/* The earliest next_ms of all slots; INT64_MAX when none. */
int64_t picture_due_ms(const struct picture *pic);

/*
 * A snapshot of the rows that were judged; every slot must have a row. head gives all other fields:
 * its texts and hidden are copied, its self is referenced. One reference, the caller's.
 */
struct snapshot *picture_publish(struct picture *pic, const struct snapshot *head);

#endif
