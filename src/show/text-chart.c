#include "config.h"

#include "show/text-chart.h"
#include "base/clock.h"
#include "base/str.h"
#include "base/text.h"
#include "show/chart-row.h"

#include <stdio.h>
#include <string.h>

enum {
	INDENT = 2,
	LABEL_LEAST = 11,
	LABEL_MOST = 20,
	PLAIN_COLUMNS = 100, /* no terminal: as wide as the manual */
	ROOM = 30,
	HOLDER_ROOM = 12,
	LEAST_COLUMNS = 16,
	HOUR_MIN = 60
};

static const char *paint_color(enum chart_paint paint)
{
	static const char *const colors[CHART_PAINT_COUNT] = {
		[CHART_PAINT_AXIS] = "\033[2m",
		[CHART_PAINT_OK] = "\033[32m",
		[CHART_PAINT_FAILED] = "\033[1;31m",
		[CHART_PAINT_ALIVE] = "\033[1;36m",
		[CHART_PAINT_IDLE] = "\033[33m",
		[CHART_PAINT_UNKNOWN] = "\033[35m",
		[CHART_PAINT_OVERLAP] = "\033[1;31m",
		[CHART_PAINT_MISSED] = "\033[1;33m",
	};

	return colors[paint];
}

/* Changes the colour where it is another; returns the one that holds. */
static const char *paint_to(struct show *show, const char *now, enum chart_paint paint)
{
	const char *color = show->style.color ? paint_color(paint) : NULL;

	if (color == now)
		return now;
	if (now)
		out_text(show->out, "\033[0m");
	if (color)
		out_text(show->out, color);
	return color;
}

static void out_cp(struct out *out, uint32_t cp)
{
	if (cp < 0x80) {
		out_char(out, (char)cp);
	} else {
		/* Every sign of a chart lies below 0x10000, and above 0x7ff. */
		out_char(out, (char)(0xe0 | cp >> 12));
		out_char(out, (char)(0x80 | (cp >> 6 & 63)));
		out_char(out, (char)(0x80 | (cp & 63)));
	}
}

/* The column behind the last that has something in it. */
static int row_end(const struct chart_row *row)
{
	int end = row->columns;

	while (end > 0 && !row->cells[end - 1].cp)
		end--;
	return end;
}

static void print_cells(struct show *show, const struct chart_row *row, int from, int to)
{
	const char *color = NULL;
	int i;

	for (i = from; i < to; i++) {
		bool none = i >= row->columns || !row->cells[i].cp;

		color = paint_to(show, color, none ? CHART_PAINT_TEXT : row->cells[i].paint);
		out_cp(show->out, none ? ' ' : row->cells[i].cp);
	}
	paint_to(show, color, CHART_PAINT_TEXT);
}

static void print_row(struct show *show, const struct chart_row *row, int label_w)
{
	int width = (int)text_width(row->label), tail = (int)text_width(row->tail),
	    end = row_end(row);
	const char *color;

	out_spaces(show->out, INDENT);
	color = paint_to(show, NULL, row->label_paint);
	out_text(show->out, row->label);
	paint_to(show, color, CHART_PAINT_TEXT);
	if (!*row->tail && !end) {
		out_char(show->out, '\n');
		return;
	}
	out_spaces(show->out, width < label_w ? (size_t)(label_w - width) + 1 : 1);
	if (!*row->tail) {
		print_cells(show, row, 0, end);
	} else {
		print_cells(show, row, 0, row->tail_at);
		color = paint_to(show, NULL, row->tail_paint);
		out_text(show->out, row->tail);
		paint_to(show, color, CHART_PAINT_TEXT);
		print_cells(show, row, row->tail_at + tail, end);
	}
	out_char(show->out, '\n');
}

/* The columns of the chart's cells, beside labels and tails. */
static int cell_columns(const struct show *show, int label_w, int room)
{
	int columns = show->style.columns ? (int)show->style.columns : PLAIN_COLUMNS;

	columns -= INDENT + label_w + 1 + room;
	if (columns < LEAST_COLUMNS)
		return LEAST_COLUMNS;
	return columns < CHART_COLUMNS_MAX ? columns : CHART_COLUMNS_MAX;
}

/* When its source was read last; now, where that is well. */
static int64_t seen_us(const struct show *show, const struct snapshot *snap)
{
	if (!board_is_unread(snap) || snap->picture_ms == TIME_UNKNOWN)
		return show->now_us;
	return show->now_us - (show->now_ms - snap->picture_ms) * 1000;
}

static void print_head(struct show *show, const char *text, const struct chart_axis *axis)
{
	char age[CLOCK_TEXT_MAX];

	clock_format_age(age, axis->column_us / 1000);
	out_fmt(show->out, "%s (a column is %s)\n", text, age);
}

static const char *no_lines(const struct singleton *s)
{
	if (singleton_int(s, DETAIL_RUNS_HIDDEN, 0))
		return "its Jobs are hidden from us: whether it ran can't be told";
	return chart_slots_told(s) ? "no run is kept, and no slot went by without one"
				   : "no run is kept; slots can't be told";
}

static void print_job(struct show *show, const struct chart *chart, const struct chart_axis *axis,
	const struct singleton *s)
{
	struct chart_pen pen = { .ascii = !show->style.utf8, .now_us = show->now_us, .room = ROOM };
	struct chart_row row;
	size_t i;

	print_head(show, "runs", axis);
	chart_row_axis(&row, axis, &pen);
	print_row(show, &row, LABEL_LEAST);
	for (i = 0; i < chart->n_lines; i++) {
		chart_row_line(&row, axis, chart, &chart->lines[i], s, &pen);
		print_row(show, &row, LABEL_LEAST);
	}
	if (chart->n_overlaps) {
		chart_row_overlaps(&row, axis, chart, &pen);
		print_row(show, &row, LABEL_LEAST);
	}
	if (!chart->n_lines)
		out_fmt(show->out, "  %s\n", no_lines(s));
}

void text_job_chart(struct show *show, const struct snapshot *snap, const struct row *row)
{
	int columns = cell_columns(show, LABEL_LEAST, ROOM);
	int64_t column_us =
		chart_zoom_us(chart_zoom_for(chart_span_us(row->s, show->now_us), columns));
	struct chart_axis axis = chart_axis(show->now_us, column_us, columns);
	struct chart chart;
	struct str text;

	str_init(&text, 8192);
	chart_schedule_words(&text, row->s, show->style.local, show->now_us, NULL);
	if (text.len)
		out_fmt(show->out, "  %-8s%s\n", "slots", text.s);
	str_release(&text);
	chart_make(&chart, row->s, axis.from_us, chart_axis_end(&axis), seen_us(show, snap),
		CHART_SLOTS);
	if (board_is_unread(snap))
		chart_doubt(&chart);
	print_job(show, &chart, &axis, row->s);
	chart_release(&chart);
}

/* As wide as the longest identity, within bounds. */
static int holder_label_w(const struct holding *h)
{
	int most = LABEL_LEAST;
	size_t i;

	for (i = 0; i < h->n; i++) {
		int width = (int)text_width(h->rows[i].identity);

		most = width > most ? width : most;
	}
	return most < LABEL_MOST ? most : LABEL_MOST;
}

void text_holder_chart(struct show *show, const struct snapshot *snap, const struct row *row)
{
	struct chart_pen pen = {
		.ascii = !show->style.utf8,
		.now_us = show->now_us,
		.room = HOLDER_ROOM,
		.thing = row->s->mechanism == MECH_PROCESS,
	};
	const int64_t minute_us = 60000000;
	struct chart_axis axis;
	struct chart_row line;
	struct holding h;
	int label_w, columns;
	int64_t zoom_us;
	size_t i;

	holding_make(&h, (const struct event *const *)show->events, show->n_events, row,
		show->now_us - HOUR_MIN * minute_us, seen_us(show, snap), show->now_us,
		holding_lease_end_us(row, show->now_ms, show->now_us));
	if (!h.n)
		return;
	label_w = holder_label_w(&h);
	columns = cell_columns(show, label_w, HOLDER_ROOM);
	zoom_us = chart_zoom_us(chart_zoom_for(HOUR_MIN * minute_us, columns));
	axis = chart_axis(show->now_us, zoom_us, (int)(HOUR_MIN * minute_us / zoom_us) + 1);
	print_head(
		show, pen.thing ? "there over the last hour" : "holder over the last hour", &axis);
	chart_row_axis(&line, &axis, &pen);
	print_row(show, &line, label_w);
	for (i = 0; i < h.n; i++) {
		chart_row_holder(&line, &axis, &h.rows[i], &pen);
		print_row(show, &line, label_w);
	}
	if (h.n_dark) {
		chart_row_dark(&line, &axis, &h, &pen);
		print_row(show, &line, label_w);
	}
	if (h.untimed)
		out_text(show->out, "  earlier hand-overs have no time: see the history\n");
}
