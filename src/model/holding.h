#ifndef MODEL_HOLDING_H
#define MODEL_HOLDING_H

#include "model/journal.h"
#include "model/verdict.h"

/*
 * Who held one singleton when, as far as the journal and the picture tell: for a chart of its
 * holders. Pure. Times are our wall clock, microseconds.
 */
struct holding_span {
	int64_t from_us, to_us;
	bool doubt; /* it is recorded as the holder, and nobody knows whether it is */
};

enum {
	HOLDING_ROWS = 12,
	HOLDING_SPANS = 32
};

struct holding_row {
	const char *identity;                     /* borrowed from the events or the row */
	struct holding_span spans[HOLDING_SPANS]; /* the newest, oldest first */
	size_t n;
	bool holds;       /* now */
	bool waits;       /* now */
	int64_t waits_us; /* since when; TIME_UNKNOWN */
};

struct holding {
	struct holding_row rows[HOLDING_ROWS]; /* in the order in which they first held it */
	size_t n;
	struct holding_span dark[HOLDING_SPANS]; /* when nobody looked */
	size_t n_dark;
	bool untimed; /* there are hand-overs of which no time is known */
};

/*
 * events: those of this singleton, oldest first. row: as it was seen at seen_us, which is now_us
 * unless its source can't be read. lease_end_us: when the holder's lease ended without a renewal;
 * TIME_UNKNOWN: it did not.
 */
void holding_make(struct holding *h, const struct event *const *events, size_t n,
	const struct row *row, int64_t from_us, int64_t seen_us, int64_t now_us,
	int64_t lease_end_us);

/* When the recorded holder's lease ended, on our wall clock, where that makes the row STALE;
 * TIME_UNKNOWN: it did not. */
int64_t holding_lease_end_us(const struct row *row, int64_t now_ms, int64_t now_us);

#endif
