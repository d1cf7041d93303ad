#include "config.h"

#include "tui/view-runs.h"
#include "base/str.h"
#include "base/zone.h"
#include "model/schedule.h"
#include "tui/chart-put.h"
#include "tui/cursor.h"
#include "tui/format.h"
#include "tui/story-job.h"
#include "tui/story.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	LABEL_W = 8,
	LABEL_DATED_W = 11,
	NAME_LEAST = 18,
	SLOTS_EACH = 48, /* slots that are looked at for one of many jobs */
	FOOT_LEAST = 5
};

static struct chart_pen pen_of(const struct model *m, const struct canvas *c, int room)
{
	return (struct chart_pen){ .ascii = c->ascii, .now_us = m->now_us, .room = room };
}

/* The picture is true until something reaches the next column. */
static void until_column(const struct model *m, struct canvas *c, const struct chart_axis *axis)
{
	int64_t into = (m->now_us - axis->from_us) % axis->column_us;

	canvas_until(c, m->now_ms + (axis->column_us - into) / 1000 + 1);
}

static void draw_none(const struct model *m, struct canvas *c, struct area a)
{
	const char *text = "No source of this console has jobs: PostgreSQL and etcd have none, "
			   "Kubernetes has CronJobs. 4 shows the sources.";

	if (!m->board)
		text = "Nothing was read yet.";
	else if (m->board->n_jobs)
		text = "No job matches the filter. Esc ends it.";
	canvas_wrap(c, area_sub(a, 0, 1, a.h, a.w - 2), 0, 0, 0, STYLE_TEXT, text);
}

static void draw_cursor(struct canvas *c, struct area a, int y, int w)
{
	canvas_over(c, a, y, 0, w, STYLE_CURSOR);
	canvas_glyph(c, a, y, 0, STYLE_TEXT, GLYPH_CURSOR_LEFT);
}

static void draw_job(const struct model *m, struct canvas *c, struct area a, int y, int name_w,
	const struct chart_axis *axis, const struct runs_job *job)
{
	enum state state = board_state(job->snap, job->row);
	struct chart_pen pen = pen_of(m, c, 0);
	struct chart_row row;
	struct chart chart;
	char letter[] = { state_word(state)->letter, '\0' };

	runs_make_chart(&chart, m, job, axis, SLOTS_EACH);
	chart_row_job(&row, axis, &chart, &pen);
	chart_release(&chart);
	chart_put(c, a, y, 3, name_w, &row);
	canvas_put(c, a, y, 1, style_of_state(state), letter);
	canvas_fit(c, a, y, 3, name_w, state == STATE_UNKNOWN ? STYLE_STALE : STYLE_TEXT,
		FIT_MIDDLE, job->row->s->id);
}

static void draw_jobs(struct runs_view *v, const struct model *m, struct canvas *c, struct area a)
{
	int name_w = a.w * 2 / 5 > 48 ? 48 : a.w * 2 / 5, y;
	struct chart_axis axis;
	struct chart_row row;
	struct chart_pen pen = pen_of(m, c, 0);
	size_t i;

	name_w = name_w < NAME_LEAST ? NAME_LEAST : name_w;
	/* "now" stands below the axis' last column, and goes over it. */
	v->columns = a.w - name_w - 7 < 1 ? 1 : a.w - name_w - 7;
	v->columns = v->columns > CHART_COLUMNS_MAX ? CHART_COLUMNS_MAX : v->columns;
	axis = chart_axis(runs_end_us(v, m), runs_column_us(v, m), v->columns);
	chart_row_axis(&row, &axis, &pen);
	snprintf(row.label, sizeof(row.label), "JOB (times in UTC)");
	chart_put(c, a, 0, 3, name_w, &row);
	v->page = a.h - 1 > 0 ? a.h - 1 : 1;
	v->list_y = a.y + 1;
	v->top = cursor_top(v->top, v->at, v->n, v->page);
	for (i = v->top, y = 1; i < v->n && y < a.h; i++, y++) {
		draw_job(m, c, a, y, name_w, &axis, &v->jobs[i]);
		if (i == v->at)
			draw_cursor(c, a, y, 4 + name_w);
	}
	until_column(m, c, &axis);
}

static void draw_jobs_foot(
	struct runs_view *v, const struct model *m, struct canvas *c, struct area a)
{
	const struct runs_job *job = runs_job(v);
	struct str text;
	struct prose p;

	if (!job || job->at >= listing_count(m->listing))
		return;
	str_init(&text, 4096);
	prose_init(&p);
	/* A job's own story has it; that of a role does not. */
	if (job->listed != job->row)
		format_schedule(&text, m, job->row->s, &p.next_ms);
	if (text.len)
		prose_add(&p, STYLE_CHART_AXIS, "", 1, STYLE_TEXT, "%s", text.s);
	story_tell(&p, m, listing_at(m->listing, job->at), false);
	prose_draw(&p, c, a, 0, "  ... Enter shows its chart");
	prose_release(&p);
	str_release(&text);
}

static bool dated(const struct runs_view *v, const struct model *m, int64_t column_us)
{
	return column_us * v->columns > INT64_C(43200000000) ||
	       m->now_us - runs_end_us(v, m) > INT64_C(43200000000);
}

/* The axis and its columns for the one job, in so wide an area. */
static struct chart_axis one_axis(
	struct runs_view *v, const struct model *m, int w, int *ret_label_w, int *ret_room)
{
	int room = w / 4 + 6 > 44 ? 44 : w / 4 + 6, i;

	*ret_room = room;
	*ret_label_w = LABEL_W;
	/* Where the labels need a date they take some columns, which may take another zoom. */
	for (i = 0; i < 2; i++) {
		v->columns = w - *ret_label_w - 3 - room;
		v->columns = v->columns < 1                   ? 1
			     : v->columns > CHART_COLUMNS_MAX ? CHART_COLUMNS_MAX
							      : v->columns;
		*ret_label_w = dated(v, m, runs_column_us(v, m)) ? LABEL_DATED_W : LABEL_W;
	}
	return chart_axis(runs_end_us(v, m), runs_column_us(v, m), v->columns);
}

/* What ages in the lines of the chart. */
static void until_lines(const struct model *m, struct canvas *c, const struct chart *chart)
{
	size_t i;

	for (i = 0; i < chart->n_lines; i++) {
		const struct chart_line *l = &chart->lines[i];
		bool ages = l->run ? l->end == CHART_ALIVE || l->end == CHART_IDLE ||
					     l->unknown_us != TIME_UNKNOWN
				   : l->gap == CHART_DUE;

		if (ages && (l->from_us != TIME_UNKNOWN || !l->run))
			canvas_until(c,
				m->now_ms + chart_step_ms(clock_minus(m->now_us,
								  l->run ? l->from_us : l->at_us) /
							  1000));
	}
}

static void draw_no_lines(struct canvas *c, struct area a, const struct singleton *s)
{
	char text[1024];

	if (s->more->schedule && s->more->schedule->error)
		snprintf(text, sizeof(text), "Its schedule can't be used, so nothing starts it: %s",
			s->more->schedule->error);
	else if (singleton_int(s, DETAIL_RUNS_HIDDEN, 0))
		snprintf(text, sizeof(text),
			"Its Jobs are hidden from us: whether it ran can't be told.");
	else if (!chart_slots_told(s))
		snprintf(text, sizeof(text),
			"No run in this time; slots can't be told. - shows more of it.");
	else
		snprintf(text, sizeof(text), "%s",
			s->more->schedule && s->more->schedule->never
				? "No day ever fits its schedule, so nothing starts it."
				: "No run and no slot in this time; - shows more of it.");
	canvas_wrap(c, a, 0, 0, 0, STYLE_TEXT, text);
}

static int draw_lines(struct runs_view *v, const struct model *m, struct canvas *c, struct area a,
	const struct singleton *s)
{
	int label_w, room, y, x = 1;
	struct chart_axis axis = one_axis(v, m, a.w, &label_w, &room);
	struct chart_pen pen = pen_of(m, c, room);
	struct chart_row row;
	size_t i;

	runs_chart(v, m, &axis);
	chart_row_axis(&row, &axis, &pen);
	chart_put(c, a, 0, x, label_w, &row);
	v->page = a.h - 1 - (v->chart.n_overlaps > 0);
	v->page = v->page > 0 ? v->page : 1;
	v->list_y = a.y + 1;
	v->line_top = cursor_top(v->line_top, v->line, v->chart.n_lines, v->page);
	for (i = v->line_top, y = 1; i < v->chart.n_lines && y <= v->page; i++, y++) {
		chart_row_line(&row, &axis, &v->chart, &v->chart.lines[i], s, &pen);
		chart_put(c, a, y, x, label_w, &row);
		if (i == v->line)
			draw_cursor(c, a, y, x + label_w);
	}
	if (!v->chart.n_lines)
		draw_no_lines(c, area_sub(a, 2, x, a.h - 2, a.w - 2), s);
	if (v->chart.n_overlaps) {
		chart_row_overlaps(&row, &axis, &v->chart, &pen);
		chart_put(c, a, y, x, label_w, &row);
	}
	until_column(m, c, &axis);
	until_lines(m, c, &v->chart);
	return y;
}

/* A slot without a run, told at length. */
static void tell_gap(struct prose *p, const struct model *m, const struct chart_line *line)
{
	static const char *const texts[] = {
		[CHART_NO_GAP] = "",
		[CHART_MISSED] = "No run was started for it.",
		[CHART_LATE] = "No run was started for it before startingDeadlineSeconds had "
			       "passed: it will never run.",
		[CHART_FORBIDDEN] = "It was skipped: concurrencyPolicy is Forbid, and an earlier "
				    "run was not over.",
		[CHART_SUSPENDED] = "It was not started: the job is suspended.",
		[CHART_DUE] = "It is due and was not started yet; the controller may still do so.",
		[CHART_UNRECORDED] = "No Job is kept for it. It was missed, or its Job was removed "
				     "since (history limits, "
				     "Replace, by hand).",
	};
	char at[CLOCK_TEXT_MAX];

	format_when(at, m, line->at_us);
	if (line->slots > 1)
		prose_add(p, STYLE_STRONG, "", 1, STYLE_STRONG, "%" PRIu32 " slots from %s on",
			line->slots, at);
	else
		prose_add(p, STYLE_STRONG, "", 1, STYLE_STRONG, "slot %s", at);
	prose_add(p, STYLE_TEXT, "", 4, STYLE_TEXT, "%s%s%s", texts[line->gap],
		line->because ? " That was " : "", line->because ? line->because->name : "");
}

static void draw_line_foot(
	struct runs_view *v, const struct model *m, struct canvas *c, struct area a)
{
	struct prose p;

	if (v->line >= v->chart.n_lines)
		return;
	prose_init(&p);
	if (v->chart.lines[v->line].run)
		story_run(&p, m, v->chart.lines[v->line].run,
			v->chart.lines[v->line].end == CHART_UNKNOWN);
	else
		tell_gap(&p, m, &v->chart.lines[v->line]);
	prose_draw(&p, c, a, 0, "  ... Enter shows all of it");
	prose_release(&p);
}

static void draw_one(struct runs_view *v, const struct model *m, struct canvas *c, struct area a)
{
	const struct runs_job *job = runs_job(v);
	enum state state = job ? board_state(job->snap, job->row) : STATE_UNKNOWN;
	struct str text;
	int used;

	if (!job) {
		canvas_wrap(c, area_sub(a, 0, 1, a.h, a.w - 2), 0, 0, 0, STYLE_TEXT,
			"This job is not in the picture, or the filter hides it. Esc shows the "
			"others.");
		return;
	}
	str_init(&text, 8192);
	format_schedule(&text, m, job->row->s, &c->next_ms);
	used = canvas_put(c, a, 0, 1, STYLE_STRONG, job->row->s->id);
	canvas_put(c, a, 0, used + 3, style_of_state(state), state_word(state)->word);
	canvas_fit(c, a, 1, 1, a.w - 2, STYLE_TEXT, FIT_LEFT, text.s);
	str_release(&text);
	draw_lines(v, m, c, area_sub(a, 2, 0, a.h - 2, a.w), job->row->s);
	if (board_is_unread(job->snap))
		canvas_put(c, a, a.h - 1, 1, STYLE_STALE,
			"its source can't be read: this is what was last seen");
}

void runs_draw(void *state, const struct model *m, struct canvas *c, struct area a)
{
	struct runs_view *v = state;
	int foot = a.h < 14 ? 0 : a.h / 4 < FOOT_LEAST ? FOOT_LEAST : a.h / 4;
	struct area top = area_sub(a, 0, 0, foot ? a.h - foot - 1 : a.h, a.w),
		    below = area_sub(a, a.h - foot, 0, foot, a.w);

	runs_fill(v, m);
	if (!v->n && !v->id) {
		draw_none(m, c, a);
		return;
	}
	if (foot) {
		canvas_fill(c, a, a.h - foot - 1, 0, a.w, STYLE_FRAME, GLYPH_HLINE);
		canvas_put(c, a, a.h - foot - 1, 3, STYLE_FRAME, chart_legend(c->ascii, a.w - 6));
	}
	if (v->id) {
		draw_one(v, m, c, top);
		draw_line_foot(v, m, c, below);
	} else {
		draw_jobs(v, m, c, top);
		draw_jobs_foot(v, m, c, below);
	}
}
