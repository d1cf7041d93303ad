#ifndef MODEL_LISTING_H
#define MODEL_LISTING_H

#include "model/board.h"

struct err;

/*
 * The rows of a board as one sorted, filtered list. A new board costs in proportion to what changed
 * in it (chunks that both boards share are not looked at); a new order or filter costs one pass,
 * done in slices by listing_work, so that the screen never waits for it.
 *
 * One row for each singleton, but for the witnesses of a role, which are joined on the role's row
 * (listing_join); and one for each source that can't be read or needs a person, since what is wrong
 * with it changes the reading of all its rows.
 */
enum sort {
#define SORT(id, word, help) SORT_##id,
#include "model/sorts.def"
#undef SORT
	SORT_COUNT
};

const char *sort_name(enum sort sort);
const char *sort_help(enum sort sort);
/* -1 when there is none; may be cut short as far as it is unique. */
int sort_from_word(const char *word);

enum listing_kind {
	LISTING_SINGLETON,
	LISTING_ROLE,
	LISTING_SOURCE
};

struct listing_row {
	const struct row *row; /* never NULL; borrowed from the board, or the listing's own for a
				  source without facts */
	int64_t rank;          /* what the order is made by, with the direction in it */
	uint32_t snap;         /* index into the board's snapshots; of a role: LISTING_NO_SNAP */
	uint32_t kind : 2;
	uint32_t role : 30; /* index into the board's roles, for LISTING_ROLE */
};

enum {
	LISTING_NO_SNAP = UINT32_MAX
};

struct listing;

struct listing *listing_new(void);
void listing_free(struct listing *l);

/* The latest board; a reference of the listing's own is taken. */
void listing_update(struct listing *l, const struct board *board, int64_t now_ms, int64_t now_us);
const struct board *listing_board(const struct listing *l); /* NULL before the first */

void listing_sort(struct listing *l, enum sort sort, bool reverse);
enum sort listing_sorted(const struct listing *l, bool *ret_reverse);
/* Sets the filter; ERR_USAGE leaves the one that was. An empty text is no filter. */
int listing_filter(struct listing *l, const char *text, struct err *err);
const char *listing_filter_text(const struct listing *l);
/* Whether the witnesses of a role are joined on its row (so from the start), or stand as rows of
 * their own too. */
void listing_join(struct listing *l, bool join);
bool listing_joined(const struct listing *l);

/*
 * Goes on with a pass that a new filter, order or the time began, over at most max_rows rows (an
 * order is made in one go). Returns whether there is more to do. Until it is done the rows of
 * before stay listed.
 */
bool listing_work(struct listing *l, int64_t now_ms, int64_t now_us, size_t max_rows);
bool listing_busy(const struct listing *l);
/* When listing_work must be called though nothing changed, since rows age; INT64_MAX: never. */
int64_t listing_next_ms(const struct listing *l);

size_t listing_count(const struct listing *l); /* rows listed */
size_t listing_total(const struct listing *l); /* rows without a filter */
const struct listing_row *listing_at(const struct listing *l, size_t i);
const struct snapshot *listing_snapshot(const struct listing *l, const struct listing_row *row);
const struct role_view *listing_role(const struct listing *l, const struct listing_row *row);
/* The state as shown; meaningless for LISTING_SOURCE. */
enum state listing_state(const struct listing *l, const struct listing_row *row);
/* Whether what it shows is only what was last seen, or of a role, that its witnesses don't tell;
 * meaningless for LISTING_SOURCE. */
bool listing_is_unread(const struct listing *l, const struct listing_row *row);

/*
 * Follows one row by its id through all updates: O(log n) to ask for, one walk over all rows to
 * begin. NULL follows none.
 */
void listing_track(struct listing *l, const char *id);
/* Follows a row that is listed, without the walk. */
void listing_follow(struct listing *l, const struct listing_row *row);
/* The row that is followed, also when the filter hides it; NULL when it is gone (for now). */
const struct listing_row *listing_tracked(const struct listing *l);
const char *listing_tracked_id(const struct listing *l);
/* Its place in the list; SIZE_MAX when it is not listed. */
size_t listing_tracked_at(const struct listing *l);

#endif
