#ifndef SHOW_CHART_ROW_H
#define SHOW_CHART_ROW_H

#include "model/chart.h"
#include "model/holding.h"

struct str;
struct zone;

/*
 * A line of a chart as cells, for whatever shows it: the console, or text. Shapes tell all that
 * colours tell, also in ASCII.
 */

/* What a part of a chart is, for a theme to give it a look. */
enum chart_paint {
	CHART_PAINT_TEXT,
	CHART_PAINT_AXIS,
	CHART_PAINT_OK,
	CHART_PAINT_FAILED,
	CHART_PAINT_ALIVE,
	CHART_PAINT_IDLE,
	CHART_PAINT_UNKNOWN,
	CHART_PAINT_OVERLAP,
	CHART_PAINT_MISSED,
	CHART_PAINT_COUNT
};

struct chart_cell {
	uint32_t cp; /* one column wide; 0: nothing */
	uint8_t paint;
};

enum {
	CHART_COLUMNS_MAX = 512,
	CHART_LABEL_MAX = 160,
	CHART_TAIL_MAX = 512
};

struct chart_row {
	int columns;
	char label[CHART_LABEL_MAX]; /* what stands before the cells */
	char tail[CHART_TAIL_MAX];   /* sanitised; what stands behind the bar: in column tail_at,
					and over the edge */
	int tail_at;
	uint8_t label_paint, tail_paint;
	struct chart_cell cells[CHART_COLUMNS_MAX];
};

/* How it is drawn. */
struct chart_pen {
	bool ascii;
	int64_t now_us;
	int room;   /* columns behind the axis that a tail may take */
	bool thing; /* who is shown is a thing that is there or not, and holds nothing */
};

/* The axis: round times, and "now". */
void chart_row_axis(
	struct chart_row *row, const struct chart_axis *axis, const struct chart_pen *pen);
/* One line of a job's chart, with the times at which more than one was at work marked in it. */
void chart_row_line(struct chart_row *row, const struct chart_axis *axis, const struct chart *chart,
	const struct chart_line *line, const struct singleton *s, const struct chart_pen *pen);
/* All overlaps of a job on one line. */
void chart_row_overlaps(struct chart_row *row, const struct chart_axis *axis,
	const struct chart *chart, const struct chart_pen *pen);
/* A whole job on one line. */
void chart_row_job(struct chart_row *row, const struct chart_axis *axis, const struct chart *chart,
	const struct chart_pen *pen);

/* One holder of a singleton; and the times of which nobody knows who held it. */
void chart_row_holder(struct chart_row *row, const struct chart_axis *axis,
	const struct holding_row *holder, const struct chart_pen *pen);
void chart_row_dark(struct chart_row *row, const struct chart_axis *axis,
	const struct holding *holding, const struct chart_pen *pen);

/* What the shapes mean, on one line of so many columns; "" where that is too narrow. */
const char *chart_legend(bool ascii, int room);

/*
 * A job's schedule in words: "*" "/5 * * * *  Europe/Zurich  Allow  next 15:05 Europe/Zurich, 14:05
 * UTC, in 57s". local: the operator's zone, UTC where NULL. next_us (may be NULL): the moment of
 * the next slot, TIME_UNKNOWN where there is none.
 */
void chart_schedule_words(struct str *out, const struct singleton *s, const struct zone *local,
	int64_t now_us, int64_t *ret_next_us);

#endif
