#include "config.h"

#include "tui/view-runs.h"
#include "base/clock.h"
#include "base/mem.h"
#include "tui/cursor.h"
#include "tui/input.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Runs: when each job ran, on a time axis; all jobs, a line each, or one job, a line each run. */

enum {
	ZOOM_ALL = 4, /* a minute a column */
	SCROLL_PART = 4
};

static void *runs_open(void)
{
	struct runs_view *v = xcalloc(1, sizeof(*v));

	v->stale = true;
	v->page = v->columns = 1;
	v->zoom_all = ZOOM_ALL;
	v->zoom_one = -1;
	v->end_us = TIME_UNKNOWN;
	return v;
}

static void runs_close(void *state)
{
	struct runs_view *v = state;

	chart_release(&v->chart);
	free(v->jobs);
	free(v->id);
	free(v);
}

static void add_job(struct runs_view *v, const struct row *row, const struct snapshot *snap,
	const struct row *listed, size_t at)
{
	if (!row || !snap || !singleton_is_job(row->s))
		return;
	MEM_GROW(v->jobs, v->n, v->cap);
	v->jobs[v->n++] = (struct runs_job){ .row = row, .snap = snap, .listed = listed, .at = at };
}

static void add_listed(struct runs_view *v, const struct model *m, size_t at)
{
	const struct listing_row *row = listing_at(m->listing, at);
	const struct role_view *role = listing_role(m->listing, row);
	size_t i;

	if (row->kind == LISTING_SINGLETON)
		add_job(v, row->row, listing_snapshot(m->listing, row), row->row, at);
	/* Where a role's witnesses are no rows of their own, they are found here. */
	for (i = 0; role && listing_joined(m->listing) && i < role->role->n_witnesses; i++)
		add_job(v, role->witnesses[i], role->sources[i], row->row, at);
}

/* Finds the job again that was chosen; else the one that the board's cursor is on. */
static void find_again(struct runs_view *v, const struct model *m)
{
	const char *id = v->id ? v->id : listing_tracked_id(m->listing);
	size_t i;

	for (i = 0; id && i < v->n; i++)
		if (strcmp(v->jobs[i].row->s->id, id) == 0 ||
			(!v->id && strcmp(v->jobs[i].listed->s->id, id) == 0))
			break;
	if (id && i < v->n)
		v->at = i;
	if (v->at >= v->n)
		v->at = v->n ? v->n - 1 : 0;
}

void runs_fill(struct runs_view *v, const struct model *m)
{
	size_t i, n = listing_count(m->listing);

	if (!v->stale)
		return;
	v->n = 0;
	v->stale = false;
	/* Most boards have none, and a listing may be long. */
	for (i = 0; m->board && m->board->n_jobs && i < n; i++)
		add_listed(v, m, i);
	find_again(v, m);
}

static void runs_sync(void *state, const struct model *m)
{
	struct runs_view *v = state;

	(void)m;
	v->stale = true;
	v->n = 0;
	chart_release(&v->chart);
}

const struct runs_job *runs_job(const struct runs_view *v)
{
	size_t i;

	if (!v->id)
		return v->at < v->n ? &v->jobs[v->at] : NULL;
	for (i = 0; i < v->n; i++)
		if (strcmp(v->jobs[i].row->s->id, v->id) == 0)
			return &v->jobs[i];
	return NULL;
}

static int fitted_zoom(const struct runs_view *v, const struct model *m)
{
	const struct runs_job *job = runs_job(v);

	return job ? chart_zoom_for(chart_span_us(job->row->s, m->now_us), v->columns) : ZOOM_ALL;
}

static int zoom_now(const struct runs_view *v, const struct model *m)
{
	if (!v->id)
		return v->zoom_all;
	return v->zoom_one >= 0 ? v->zoom_one : fitted_zoom(v, m);
}

int64_t runs_column_us(const struct runs_view *v, const struct model *m)
{
	return chart_zoom_us(zoom_now(v, m));
}

int64_t runs_end_us(const struct runs_view *v, const struct model *m)
{
	return v->end_us == TIME_UNKNOWN ? m->now_us : v->end_us;
}

void runs_make_chart(struct chart *chart, const struct model *m, const struct runs_job *job,
	const struct chart_axis *axis, int most_slots)
{
	bool read = !board_is_unread(job->snap);
	int64_t seen_us = m->now_us;

	if (!read && job->snap->picture_ms != TIME_UNKNOWN)
		seen_us -= (m->now_ms - job->snap->picture_ms) * 1000;
	chart_make(chart, job->row->s, axis->from_us, chart_axis_end(axis), seen_us, most_slots);
	if (!read)
		chart_doubt(chart);
}

void runs_chart(struct runs_view *v, const struct model *m, const struct chart_axis *axis)
{
	const struct runs_job *job = runs_job(v);
	size_t i;

	chart_release(&v->chart);
	if (!job)
		return;
	runs_make_chart(&v->chart, m, job, axis, CHART_SLOTS);
	if (!v->line_moved) {
		v->line = v->chart.n_lines ? v->chart.n_lines - 1 : 0;
		return;
	}
	for (i = 0; i + 1 < v->chart.n_lines && v->chart.lines[i].at_us < v->line_us; i++)
		;
	/* Of several with one time the cursor stays where it is. */
	if (v->line >= v->chart.n_lines || v->chart.lines[v->line].at_us != v->line_us)
		v->line = i;
}

static void zoom(struct runs_view *v, const struct model *m, int by)
{
	int to = zoom_now(v, m) + by;

	if (to < 0 || to >= chart_zooms())
		return;
	if (v->id)
		v->zoom_one = to;
	else
		v->zoom_all = to;
}

/* To earlier or later times; at now it goes with the time again. */
static void scroll(struct runs_view *v, const struct model *m, int by)
{
	int64_t step = runs_column_us(v, m) * (v->columns / SCROLL_PART + 1) * by;

	v->end_us = runs_end_us(v, m) + step;
	if (v->end_us >= m->now_us)
		v->end_us = TIME_UNKNOWN;
}

static bool time_act(struct runs_view *v, const struct model *m, enum action action)
{
	switch (action) {
	case ACTION_ZOOM_IN:
		zoom(v, m, -1);
		return true;
	case ACTION_ZOOM_OUT:
		zoom(v, m, 1);
		return true;
	case ACTION_LEFT:
		scroll(v, m, -1);
		return true;
	case ACTION_RIGHT:
		scroll(v, m, 1);
		return true;
	case ACTION_NOW:
		v->end_us = TIME_UNKNOWN;
		v->line_moved = false;
		return true;
	default:
		return false;
	}
}

static bool move_here(struct runs_view *v, enum action action)
{
	if (!v->id) {
		v->moved = true;
		return cursor_move(&v->at, v->n, v->page, action);
	}
	if (!cursor_move(&v->line, v->chart.n_lines, v->page, action))
		return false;
	v->line_moved = v->line + 1 < v->chart.n_lines;
	if (v->line < v->chart.n_lines)
		v->line_us = v->chart.lines[v->line].at_us;
	return true;
}

static void leave_job(struct runs_view *v)
{
	free(v->id);
	v->id = NULL;
	chart_release(&v->chart);
	v->end_us = TIME_UNKNOWN;
}

/* From all jobs to one, from there to everything that is known of it. */
static void enter(struct runs_view *v, struct view_reply *reply)
{
	const struct runs_job *job = runs_job(v);

	if (!job)
		return;
	if (v->id) {
		view_reply_set(reply, REPLY_OPEN, "%s", v->id);
		return;
	}
	v->id = xstrdup(job->row->s->id);
	v->zoom_one = -1;
	v->line_moved = false;
	v->line_top = 0;
	v->end_us = TIME_UNKNOWN;
}

static bool runs_act(
	void *state, const struct model *m, enum action action, struct view_reply *reply)
{
	struct runs_view *v = state;
	const struct runs_job *job;

	runs_fill(v, m);
	if (time_act(v, m, action))
		return true;
	switch (action) {
	case ACTION_OPEN:
		enter(v, reply);
		return true;
	case ACTION_BACK:
		leave_job(v);
		return true;
	case ACTION_COPY:
		job = runs_job(v);
		if (job && v->line < v->chart.n_lines && v->chart.lines[v->line].run)
			view_reply_set(reply, REPLY_COPY, "%s", v->chart.lines[v->line].run->name);
		else if (job)
			view_reply_set(reply, REPLY_COPY, "%s", job->row->s->id);
		return true;
	default:
		return move_here(v, action);
	}
}

static void runs_mouse(void *state, const struct model *m, const struct input_event *event,
	bool again, struct view_reply *reply)
{
	struct runs_view *v = state;
	size_t n, row;

	runs_fill(v, m);
	if (event->button == BUTTON_WHEEL_UP || event->button == BUTTON_WHEEL_DOWN) {
		move_here(v, event->button == BUTTON_WHEEL_UP ? ACTION_UP : ACTION_DOWN);
		return;
	}
	if (event->button != BUTTON_LEFT || event->y < v->list_y || event->y >= v->list_y + v->page)
		return;
	n = v->id ? v->chart.n_lines : v->n;
	row = (v->id ? v->line_top : v->top) + (size_t)(event->y - v->list_y);
	if (row >= n)
		return;
	if (v->id) {
		v->line = row;
		v->line_moved = row + 1 < n;
		v->line_us = v->chart.lines[row].at_us;
	} else {
		v->at = row;
	}
	if (again)
		enter(v, reply);
}

static const struct listing_row *runs_cursor(const void *state, const struct model *m)
{
	const struct runs_view *v = state;
	const struct runs_job *job = runs_job(v);
	const struct listing_row *row;

	if (v->stale || !job || job->at >= listing_count(m->listing))
		return NULL;
	row = listing_at(m->listing, job->at);
	return row->row == job->listed ? row : NULL;
}

static size_t runs_wanted(const void *state, const struct model *m, const char **ids, size_t max)
{
	const struct runs_view *v = state;
	size_t i, count = 0;

	(void)m;
	if (v->id) {
		const struct runs_job *job = runs_job(v);

		if (job && max)
			ids[count++] = job->row->s->id;
		return count;
	}
	for (i = v->top; i < v->n && i < v->top + (size_t)v->page && count < max; i++)
		ids[count++] = v->jobs[i].row->s->id;
	return count;
}

static bool runs_inside(const void *state)
{
	return ((const struct runs_view *)state)->id != NULL;
}

static void runs_status(const void *state, const struct model *m, struct str *out)
{
	const struct runs_view *v = state;
	char age[CLOCK_TEXT_MAX];

	clock_format_age(age, runs_column_us(v, m) / 1000);
	if (v->id)
		str_addf(out, "%zu/%zu", v->chart.n_lines ? v->line + 1 : 0, v->chart.n_lines);
	else
		str_addf(out, "%zu/%zu jobs", v->n ? v->at + 1 : 0, v->n);
	str_addf(out, "  a column is %s%s", age, v->end_us == TIME_UNKNOWN ? "" : ", not at now");
}

static const enum action runs_hints[] = { ACTION_OPEN, ACTION_ZOOM_IN, ACTION_ZOOM_OUT, ACTION_NOW,
	ACTION_FILTER, ACTION_BACK, ACTION_HELP, ACTION_QUIT, ACTION_NONE };

const struct view_ops view_runs_ops = {
	.name = "runs",
	.title = "runs",
	.least_h = 5,
	.least_w = 40,
	.hints = runs_hints,
	.lists = true,
	.open = runs_open,
	.close = runs_close,
	.sync = runs_sync,
	.draw = runs_draw,
	.act = runs_act,
	.mouse = runs_mouse,
	.cursor = runs_cursor,
	.wanted = runs_wanted,
	.inside = runs_inside,
	.status = runs_status,
};
