#ifndef MODEL_BOARD_H
#define MODEL_BOARD_H

#include "model/memory.h"
#include "model/role.h"
#include "model/snapshot.h"

/*
 * All sources at one moment, and what only shows when they are looked at together: roles joined
 * over sources (dup-holder, no-mechanism), two writable servers with one system identifier.
 * Immutable, counted by references.
 */
struct board {
	int refs;
	bool past;       /* what was, shown once more: nothing may be begun on it (board_as_past) */
	bool sim;        /* of a built-in fleet: nothing in it is real */
	bool record;     /* from a record: what was */
	uint64_t seq;    /* rises with each board of a fleet */
	int64_t mono_ms; /* our clocks when it was composed */
	int64_t wall_us;
	struct snapshot **snapshots; /* one for each source, in the config's order */
	size_t n_snapshots;
	struct role_view *roles; /* one for each role of the config */
	size_t n_roles;
	/* For each source: findings that need another source to be seen; NULL when none.
	 * MECH_SOURCE rows. */
	struct row **cross;
	size_t n_attention; /* rows, sources and roles that need a person */
	size_t n_rows;
	size_t n_jobs; /* rows that are executed in runs */
	size_t by_state[STATE_COUNT];
};

/*
 * Composes a board; takes over the references in snapshots (the array itself is copied). previous
 * may be NULL; it makes finding the witnesses cheap. past: what is remembered of the roles, by
 * "role/NAME"; NULL: nothing. Pure: the clocks are given.
 */
struct board *board_compose(struct snapshot *const *snapshots, size_t n, const struct role *roles,
	size_t n_roles, const struct thresholds *thresholds, const struct board *previous,
	struct memory *past, int64_t mono_ms, int64_t wall_us);
struct board *board_ref(const struct board *board);
void board_unref(const struct board *board);
/* The same picture as one that is past, so that no act is ever bound to it. One reference. */
struct board *board_as_past(const struct board *board);

/*
 * For a board that nobody else has yet: puts what was judged before (a record has it) in place of
 * the verdict on role i, or across source i. Takes over the reference; NULL: there was none.
 */
void board_set_role(struct board *board, size_t i, struct row *row);
void board_set_cross(struct board *board, size_t i, struct row *row);

/* Notes in the memory which roles are held twice at once now, for the boards to come. */
void board_remember(const struct board *board, struct memory *past);

/* The row with that id and the snapshot it is in, or NULL. Borrowed. */
const struct row *board_find(
	const struct board *board, const char *id, const struct snapshot **ret_snapshot);

/* Whether its source can't be read now, or was not yet: its rows are what was last seen. */
bool board_is_unread(const struct snapshot *snap);
/*
 * A row's state as it must be shown: UNKNOWN when its source can't be read (failing, or never
 * answered), else its verdict's.
 */
enum state board_state(const struct snapshot *snap, const struct row *row);

#endif
