#ifndef MODEL_PAST_H
#define MODEL_PAST_H

#include "model/board.h"

/*
 * Moments of the past: boards that were shown, kept to be looked at again. Snapshots of one source
 * share the chunks in which nothing changed, and rows are shared too, so that a moment costs what
 * is in it and not in the next one. That cost is reckoned from the sizes of chunks and the number
 * of rows in them that differ; the live picture itself is not counted.
 *
 * Of the last five minutes every change is kept (of mere facts, such as renewals, one a second), of
 * the last hour one moment in ten seconds, before that one a minute. Beyond the bound in bytes
 * those go first that tell least, and of these the ones that are close to others for their age. A
 * moment in which a critical finding appeared goes last.
 */
enum past_weight {
	PAST_CALM, /* facts changed, or nothing did: kept so that a time without news can be shown
		    */
	PAST_NEWS, /* a state, a holder, a finding, a source's state: something to see */
	PAST_CRIT, /* a critical finding appeared */
};

struct past_moment {
	struct board *board;  /* our reference */
	uint64_t journal_seq; /* of the newest event that was known then */
	size_t bytes;         /* of what is in it and not in the next moment */
	uint8_t weight;       /* enum past_weight */
	bool finding;         /* a warning or a critical finding appeared */
};

struct past {
	struct past_moment *at; /* oldest first, by mono_ms of their boards */
	size_t n, cap;
	size_t bytes, most_bytes;
	struct board *last; /* the newest that was shown, kept or not; our reference */
	uint8_t weight;     /* of what changed since the newest moment */
	bool finding;
	int64_t thinned_ms; /* mono_ms when the older moments were looked through */
};

/* most_bytes 0: nothing is kept. */
void past_init(struct past *past, size_t most_bytes);
void past_release(struct past *past);

/*
 * A board is shown; takes a reference if it is kept. Boards come in the order of their clocks: one
 * that is earlier than the one before (a record that is sought in) forgets all that was kept.
 */
void past_add(struct past *past, const struct board *board, uint64_t journal_seq);

/* The number of the newest moment at or before a time, by the monotonic and by the wall clock of
 * the boards; -1: there is none. */
ptrdiff_t past_at_ms(const struct past *past, int64_t mono_ms);
ptrdiff_t past_at_us(const struct past *past, int64_t wall_us);

/*
 * The moment that is one step before (on: after) a time of the monotonic clock: the nearest that
 * tells news, or is a minute away. finding: the nearest in which a warning or a critical finding
 * appeared. A moment without news beside the board `shown` is passed over. -1: there is none.
 */
ptrdiff_t past_step(
	const struct past *past, const struct board *shown, int64_t from_ms, bool on, bool finding);

/*
 * The same for one singleton: the nearest moment before (on: after) in which there is news of it
 * beside what `shown` shows of it: another state, holder, queue or finding, or it is not there. -1:
 * there is none, or it is not on `shown`.
 */
ptrdiff_t past_step_of(const struct past *past, const struct board *shown, const char *id,
	int64_t from_ms, bool on);

#endif
