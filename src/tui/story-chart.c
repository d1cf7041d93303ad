#include "config.h"

#include "tui/story-chart.h"
#include "base/mem.h"
#include "show/chart-row.h"
#include "tui/chart-put.h"
#include "tui/format.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MINUTE_US INT64_C(60000000)

enum {
	LABEL_LEAST = 11,
	LABEL_MOST = 22,
	COLUMNS_LEAST = 16,
	HOUR_MIN = 60,
	SHORT_MIN = 10, /* where all that is known lies within it */
	HANG = 4,
	HEAD_MAX = 48
};

/* When its source was read last; now, where that is well. */
static int64_t seen_us(const struct model *m, const struct snapshot *snap)
{
	if (!board_is_unread(snap) || snap->picture_ms == TIME_UNKNOWN)
		return m->now_us;
	return m->now_us - (m->now_ms - snap->picture_ms) * 1000;
}

/* What is left for the cells beside labels and tails; 0: too little. */
static int chart_columns(const struct prose *p, int label_w, int room)
{
	int columns = p->width - 2 - label_w - 1 - room;

	if (columns < COLUMNS_LEAST)
		return 0;
	return columns < CHART_COLUMNS_MAX ? columns : CHART_COLUMNS_MAX;
}

static void until_column(struct prose *p, const struct model *m, const struct chart_axis *axis)
{
	int64_t into = (m->now_us - axis->from_us) % axis->column_us,
		at = m->now_ms + (axis->column_us - into) / 1000 + 1;

	if (at < p->next_ms)
		p->next_ms = at;
}

static void chart_head(struct prose *p, const char *text, const struct chart_axis *axis)
{
	char age[CLOCK_TEXT_MAX];

	clock_format_age(age, axis->column_us / 1000);
	prose_rule(p);
	prose_add(p, STYLE_STRONG, "", 1, STYLE_STRONG, "%s", text);
	prose_tail(p, STYLE_DIM, "a column is %s, now at the right", age);
}

/* The events of one singleton, oldest first; the array is the caller's to free. */
static const struct event **events_of(const struct model *m, const char *id, size_t *ret_n)
{
	size_t i, n = m->journal ? m->journal->n : 0;
	const struct event **events = xcalloc(n + 1, sizeof(*events));

	*ret_n = 0;
	for (i = 0; i < n; i++) {
		const struct event *e = journal_at(m->journal, i);

		if (e->id && strcmp(e->id, id) == 0)
			events[(*ret_n)++] = e;
	}
	return events;
}

static int holder_label_w(const struct holding *h)
{
	int most = LABEL_LEAST;
	size_t i;

	for (i = 0; i < h->n; i++) {
		int width = (int)strlen(h->rows[i].identity);

		most = width > most ? width : most;
	}
	return most < LABEL_MOST ? most : LABEL_MOST;
}

/* A console that was opened a minute ago knows of that minute: in columns of an hour it would be
 * one, and of two holders the first could not be seen. */
static int minutes_to_draw(const struct holding *h, int64_t now_us)
{
	int64_t first_us = now_us;
	size_t i;

	for (i = 0; i < h->n; i++)
		if (h->rows[i].n && h->rows[i].spans[0].from_us < first_us)
			first_us = h->rows[i].spans[0].from_us;
	return clock_minus(now_us, first_us) < SHORT_MIN * MINUTE_US ? SHORT_MIN : HOUR_MIN;
}

static void holder_rows(struct prose *p, const struct model *m, const struct holding *h, bool thing,
	struct chart_row *row)
{
	int label_w = holder_label_w(h), columns = chart_columns(p, label_w, 10);
	struct chart_pen pen = {
		.ascii = p->ascii, .now_us = m->now_us, .room = 10, .thing = thing
	};
	int minutes = minutes_to_draw(h, m->now_us);
	struct chart_axis axis;
	char head[HEAD_MAX];
	int64_t zoom_us;
	size_t i;

	if (!columns)
		return;
	snprintf(head, sizeof(head), "%s over the last %s", thing ? "there" : "holder",
		minutes == HOUR_MIN ? "hour" : "ten minutes");
	zoom_us = chart_zoom_us(chart_zoom_for(minutes * MINUTE_US, columns));
	axis = chart_axis(m->now_us, zoom_us, (int)(minutes * MINUTE_US / zoom_us) + 1);
	chart_head(p, head, &axis);
	chart_row_axis(row, &axis, &pen);
	prose_chart(p, row, label_w);
	for (i = 0; i < h->n; i++) {
		chart_row_holder(row, &axis, &h->rows[i], &pen);
		prose_chart(p, row, label_w);
	}
	if (h->n_dark) {
		chart_row_dark(row, &axis, h, &pen);
		prose_chart(p, row, label_w);
	}
	if (h->untimed)
		prose_add(p, STYLE_DIM, "", HANG, STYLE_DIM,
			"Hand-overs of which no time is known stand in what happened, below.");
	until_column(p, m, &axis);
}

void story_holder_chart(
	struct prose *p, const struct model *m, const struct snapshot *snap, const struct row *row)
{
	const struct event **events;
	struct chart_row line;
	struct holding h;
	size_t n;

	if (!p->width || !snap)
		return;
	events = events_of(m, row->s->id, &n);
	holding_make(&h, events, n, row, m->now_us - HOUR_MIN * MINUTE_US, seen_us(m, snap),
		m->now_us, holding_lease_end_us(row, m->now_ms, m->now_us));
	if (h.n)
		holder_rows(p, m, &h, row->s->mechanism == MECH_PROCESS, &line);
	free(events);
}

void story_job_chart(
	struct prose *p, const struct model *m, const struct snapshot *snap, const struct row *row)
{
	int room = p->width / 4 + 6 > 44 ? 44 : p->width / 4 + 6,
	    columns = chart_columns(p, LABEL_LEAST, room);
	struct chart_pen pen = { .ascii = p->ascii, .now_us = m->now_us, .room = room };
	struct chart_axis axis;
	struct chart_row line;
	struct chart chart;
	size_t i;

	if (!p->width || !snap || !columns)
		return;
	axis = chart_axis(m->now_us,
		chart_zoom_us(chart_zoom_for(chart_span_us(row->s, m->now_us), columns)), columns);
	chart_make(
		&chart, row->s, axis.from_us, chart_axis_end(&axis), seen_us(m, snap), CHART_SLOTS);
	if (board_is_unread(snap))
		chart_doubt(&chart);
	chart_head(p, "runs", &axis);
	chart_row_axis(&line, &axis, &pen);
	prose_chart(p, &line, LABEL_LEAST);
	for (i = 0; i < chart.n_lines; i++) {
		chart_row_line(&line, &axis, &chart, &chart.lines[i], row->s, &pen);
		prose_chart(p, &line, LABEL_LEAST);
	}
	if (chart.n_overlaps) {
		chart_row_overlaps(&line, &axis, &chart, &pen);
		prose_chart(p, &line, LABEL_LEAST);
	}
	until_column(p, m, &axis);
	chart_release(&chart);
}
