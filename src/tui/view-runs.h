#ifndef TUI_VIEW_RUNS_H
#define TUI_VIEW_RUNS_H

#include "model/chart.h"
#include "tui/view.h"

/*
 * The state of the view "runs", shared by view-runs.c (what keys do) and view-runs-draw.c. Nobody
 * else includes this.
 */

/* A job of the list: its row, and the listed row that it stands in, its own or its role's. */
struct runs_job {
	const struct row *row; /* borrowed from the board */
	const struct snapshot *snap;
	const struct row *listed; /* to see whether the listing is still the same */
	size_t at;                /* in the listing */
};

struct runs_view {
	struct runs_job *jobs;
	size_t n, cap;
	bool stale; /* the board or the listing is another: jobs points nowhere */

	size_t at, top; /* the job under the cursor, the first one drawn */
	bool moved;
	int page, list_y, columns;

	char *id;              /* the one job whose chart is shown; NULL: all jobs */
	struct chart chart;    /* of that job, as it was drawn last; points into the board */
	size_t line, line_top; /* the line under the cursor */
	int64_t line_us;       /* its time: it is followed, whatever comes or goes */
	bool line_moved;       /* else the cursor stays on the newest */

	int zoom_all, zoom_one; /* -1: what fits the job */
	int64_t end_us;         /* the last moment shown; TIME_UNKNOWN: now, whatever it is */
};

/* Makes the list of jobs, when it is stale. */
void runs_fill(struct runs_view *v, const struct model *m);
/* The job whose chart is shown, or that is under the cursor; NULL when there is none. */
const struct runs_job *runs_job(const struct runs_view *v);
/* The length of a column. */
int64_t runs_column_us(const struct runs_view *v, const struct model *m);
int64_t runs_end_us(const struct runs_view *v, const struct model *m);
/* A job's chart; what was not read lately is not known to be so now. */
void runs_make_chart(struct chart *chart, const struct model *m, const struct runs_job *job,
	const struct chart_axis *axis, int most_slots);
/* Makes the chart of the one job for that axis, and finds its line again. */
void runs_chart(struct runs_view *v, const struct model *m, const struct chart_axis *axis);

void runs_draw(void *state, const struct model *m, struct canvas *c, struct area a);

#endif
