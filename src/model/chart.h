#ifndef MODEL_CHART_H
#define MODEL_CHART_H

#include "model/singleton.h"

/*
 * The runs of one job in time, as a chart shows them: which bars, which slots without a run and
 * why, which overlaps; and the axis that gives moments their columns. Pure geometry: no clock, no
 * screen. Times are wall clock, microseconds, as the cluster's machines wrote them.
 */

/* A window of time in columns of one length, each beginning at a whole multiple of it, so that the
 * picture moves by whole columns only. */
struct chart_axis {
	int64_t from_us; /* where column 0 begins */
	int64_t column_us;
	int columns;
};

/* The lengths of a column that one zooms through, from the finest: 0 to chart_zooms() - 1. */
int chart_zooms(void);
int64_t chart_zoom_us(int zoom);
/* The finest zoom at which so many columns hold so long a time, else the coarsest. */
int chart_zoom_for(int64_t span_us, int columns);

/* The axis whose last column is the one that holds last_us. */
struct chart_axis chart_axis(int64_t last_us, int64_t column_us, int columns);
int64_t chart_axis_end(const struct chart_axis *axis);
/* The column of a moment: -1 before the window, `columns` behind it. */
int chart_column(const struct chart_axis *axis, int64_t at_us);

enum {
	CHART_TICKS_MAX = 64,
	CHART_TICK_TEXT = 8
};

struct chart_tick {
	int column;
	char text[CHART_TICK_TEXT]; /* "13:40"; "Jan 02" where a day begins */
};

/* Round times in UTC on the axis, at least `gap` columns apart; returns how many. */
size_t chart_ticks(const struct chart_axis *axis, int gap, struct chart_tick ret[CHART_TICKS_MAX]);

/* How far a run has come. */
enum chart_end {
	CHART_OK,
	CHART_FAILED,
	CHART_ENDED,   /* it is over; how was not told */
	CHART_ALIVE,   /* it is at work now */
	CHART_IDLE,    /* it is not over, and nothing of it is at work */
	CHART_UNKNOWN, /* whether it is at work can't be told */
};

/* Why a slot has no run. */
enum chart_gap {
	CHART_NO_GAP,
	CHART_MISSED,     /* nothing was started for it */
	CHART_LATE,       /* the same, since startingDeadlineSeconds had passed */
	CHART_FORBIDDEN,  /* another run was not over, and the policy is Forbid */
	CHART_SUSPENDED,  /* the job is suspended */
	CHART_DUE,        /* not started yet: it still may be */
	CHART_UNRECORDED, /* no Job is kept: missed, or removed since */
};

/* A run, or slots in a row without one. */
struct chart_line {
	int64_t at_us;         /* its slot; of a run without one, when it started: the order */
	const struct run *run; /* NULL: slots without a run. Borrowed from the singleton */

	enum chart_end end;
	int64_t from_us;    /* when work began; TIME_UNKNOWN: not told, nothing can be drawn */
	int64_t to_us;      /* when it ended, or now */
	int64_t unknown_us; /* from there until now nobody knows; TIME_UNKNOWN */

	enum chart_gap gap;
	uint32_t slots;            /* how many, at_us the first */
	int64_t last_us;           /* the last of them */
	const struct run *because; /* CHART_FORBIDDEN: what was not over */
};

/* When more than one was at work. */
struct chart_overlap {
	int64_t from_us, to_us;
	uint32_t most;         /* at once */
	bool now;              /* it goes on */
	const struct run *run; /* its pods, of which there should be one; NULL: runs of the job */
};

struct chart {
	struct chart_line *lines; /* by at_us, the newest last */
	size_t n_lines, cap_lines;
	struct chart_overlap *overlaps; /* by from_us */
	size_t n_overlaps, cap_overlaps;
	bool slots_cut; /* more slots lie in the window than were looked at */
};

enum {
	CHART_SLOTS = 200 /* slots that a chart looks at, from now back */
};

/* Whether it can be told which slots passed without a run: the schedule can be used, its slots do
 * not hang on when it was last started (@every) or on a zone that is not said, and runs are seen.
 */
bool chart_slots_told(const struct singleton *s);

/*
 * What lies between two moments, for a job as it was seen; now_us is our wall clock. Unknown is
 * told from nothing: a slot from before the oldest kept run has no line. The chart points into the
 * singleton; chart_release frees it.
 */
void chart_make(struct chart *chart, const struct singleton *s, int64_t from_us, int64_t to_us,
	int64_t now_us, int most_slots);
/* The picture that it was made from, as of now_us, is old: what was at work then may be over. */
void chart_doubt(struct chart *chart);
void chart_release(struct chart *chart);

/*
 * How much of the past shows a job best: all that is known of its runs, but no more than some
 * thirty of its slots, and no less than six of them or an hour.
 */
int64_t chart_span_us(const struct singleton *s, int64_t now_us);

#endif
