#include "config.h"

#include "show/chart-row.h"
#include "base/civil.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "base/zone.h"
#include "model/schedule.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define DAY_US INT64_C(86400000000)

enum shape {
	SHAPE_BAR,
	SHAPE_OVERLAP,
	SHAPE_UNKNOWN,
	SHAPE_IDLE,
	SHAPE_NOW,
	SHAPE_ON, /* it goes on now */
	SHAPE_FAILED,
	SHAPE_MISSED,
	SHAPE_SUSPENDED,
	SHAPE_DUE,
};

/* The signs are a column wide in every terminal's reckoning, each with a stand-in. */
static const struct {
	uint32_t cp;
	char ascii;
} shapes[] = {
	[SHAPE_BAR] = { 0x2588, '=' },     /* full block */
	[SHAPE_OVERLAP] = { 0x2592, '#' }, /* medium shade */
	[SHAPE_UNKNOWN] = { '?', '?' },
	[SHAPE_IDLE] = { 0x2591, ':' }, /* light shade */
	[SHAPE_NOW] = { 0x2502, '|' },  /* vertical line */
	[SHAPE_ON] = { 0x25b6, '>' },   /* triangle to the right */
	[SHAPE_FAILED] = { '!', '!' },
	[SHAPE_MISSED] = { 'x', 'x' },
	[SHAPE_SUSPENDED] = { 'o', 'o' },
	[SHAPE_DUE] = { '.', '.' },
};

const char *chart_legend(bool ascii, int room)
{
	static const char *const wide[] = {
		"\xe2\x96\x88 at work  \xe2\x96\xb6 goes on  \xe2\x96\x92 two at once  ! failed  "
		"\xe2\x96\x91 no pod alive  ? not known  x missed  o suspended  . due",
		"= at work  > goes on  # two at once  ! failed  : no pod alive  ? not known  "
		"x missed  o suspended  . due"
	};
	static const char *const narrow[] = {
		"\xe2\x96\x88 run \xe2\x96\xb6 goes on \xe2\x96\x92 two at once ! failed "
		"\xe2\x96\x91 no pod ? not known x missed",
		"= run > goes on # two at once ! failed : no pod ? not known x missed"
	};

	if (room >= (int)text_width(wide[ascii]))
		return wide[ascii];
	return room >= (int)text_width(narrow[ascii]) ? narrow[ascii] : "";
}

static void row_begin(struct chart_row *row, const struct chart_axis *axis)
{
	row->columns = axis->columns < CHART_COLUMNS_MAX ? axis->columns : CHART_COLUMNS_MAX;
	row->label[0] = row->tail[0] = '\0';
	row->label_paint = row->tail_paint = CHART_PAINT_TEXT;
	row->tail_at = 0;
	memset(row->cells, 0, sizeof(row->cells[0]) * (size_t)row->columns);
}

static void put(struct chart_row *row, int column, uint32_t cp, enum chart_paint paint)
{
	if (column >= 0 && column < row->columns)
		row->cells[column] = (struct chart_cell){ cp, (uint8_t)paint };
}

static void put_shape(struct chart_row *row, int column, enum shape shape, enum chart_paint paint,
	const struct chart_pen *pen)
{
	put(row, column, pen->ascii ? (uint32_t)shapes[shape].ascii : shapes[shape].cp, paint);
}

static void put_now(
	struct chart_row *row, const struct chart_axis *axis, const struct chart_pen *pen)
{
	put_shape(row, chart_column(axis, pen->now_us), SHAPE_NOW, CHART_PAINT_AXIS, pen);
}

/* Fills from the column of one moment to that of another, at least one column where any of it is
 * in the window; returns the last column, -1 when nothing was drawn. */
static int put_span(struct chart_row *row, const struct chart_axis *axis, int64_t from_us,
	int64_t to_us, enum shape shape, enum chart_paint paint, const struct chart_pen *pen)
{
	/* What ends where a column begins does not reach into it. */
	int from = chart_column(axis, from_us),
	    to = chart_column(axis, to_us > from_us ? to_us - 1 : to_us), i;

	if (to < 0 || from >= row->columns)
		return -1;
	from = from < 0 ? 0 : from;
	to = to >= row->columns ? row->columns - 1 : to;
	for (i = from; i <= to; i++)
		put_shape(row, i, shape, paint, pen);
	return to;
}

/* The bar's last column tells eighths, where it can. */
static void put_part(struct chart_row *row, const struct chart_axis *axis, int64_t from_us,
	int64_t to_us, int last, enum chart_paint paint, const struct chart_pen *pen)
{
	int64_t begin = axis->from_us + last * axis->column_us, part = to_us - begin;
	uint32_t eighths = (uint32_t)(part * 8 / axis->column_us);

	if (pen->ascii || from_us > begin || part <= 0 || part >= axis->column_us)
		return;
	put(row, last, 0x2590 - (eighths ? eighths : 1), paint);
}

static enum chart_paint end_paint(enum chart_end end)
{
	static const enum chart_paint paints[] = {
		[CHART_OK] = CHART_PAINT_OK,
		[CHART_FAILED] = CHART_PAINT_FAILED,
		[CHART_ENDED] = CHART_PAINT_OK,
		[CHART_ALIVE] = CHART_PAINT_ALIVE,
		[CHART_IDLE] = CHART_PAINT_IDLE,
		[CHART_UNKNOWN] = CHART_PAINT_UNKNOWN,
	};

	return paints[end];
}

/* Draws a run's bar; returns its last column, -1 when it is not in the window. */
static int put_run(struct chart_row *row, const struct chart_axis *axis,
	const struct chart_line *line, const struct chart_pen *pen)
{
	enum chart_paint paint = end_paint(line->end);
	int last = -1, on;

	if (line->from_us == TIME_UNKNOWN)
		return -1;
	if (line->end == CHART_IDLE || line->from_us < line->to_us ||
		line->unknown_us == TIME_UNKNOWN)
		last = put_span(row, axis, line->from_us, line->to_us,
			line->end == CHART_IDLE ? SHAPE_IDLE : SHAPE_BAR, paint, pen);
	if (last >= 0 && line->end != CHART_IDLE && line->end != CHART_ALIVE)
		put_part(row, axis, line->from_us, line->to_us, last, paint, pen);
	if (line->unknown_us != TIME_UNKNOWN) {
		on = put_span(row, axis, line->unknown_us, pen->now_us, SHAPE_UNKNOWN,
			CHART_PAINT_UNKNOWN, pen);
		last = on > last ? on : last;
	}
	if (line->end == CHART_ALIVE && last >= 0 && last == chart_column(axis, pen->now_us))
		put_shape(row, last, SHAPE_ON, paint, pen);
	if (line->end == CHART_FAILED && last >= 0)
		put_shape(row, last, SHAPE_FAILED, paint, pen);
	return last;
}

static enum shape gap_shape(enum chart_gap gap)
{
	return gap == CHART_SUSPENDED    ? SHAPE_SUSPENDED
	       : gap == CHART_DUE        ? SHAPE_DUE
	       : gap == CHART_UNRECORDED ? SHAPE_UNKNOWN
					 : SHAPE_MISSED;
}

static enum chart_paint gap_paint(enum chart_gap gap)
{
	return gap == CHART_SUSPENDED || gap == CHART_DUE ? CHART_PAINT_AXIS
	       : gap == CHART_UNRECORDED                  ? CHART_PAINT_UNKNOWN
							  : CHART_PAINT_MISSED;
}

/* Of several slots in a row the first, the last and a line between. */
static int put_gap(struct chart_row *row, const struct chart_axis *axis,
	const struct chart_line *line, const struct chart_pen *pen)
{
	int first = chart_column(axis, line->at_us), last = chart_column(axis, line->last_us), i;

	for (i = first + 1; i < last; i++)
		put(row, i, '-', gap_paint(line->gap));
	put_shape(row, first, gap_shape(line->gap), gap_paint(line->gap), pen);
	put_shape(row, last, gap_shape(line->gap), gap_paint(line->gap), pen);
	return last >= row->columns ? row->columns - 1 : last;
}

/* Of the runs only what is at work takes part in an overlap; the sign that it goes on stays. */
static void put_overlaps(struct chart_row *row, const struct chart_axis *axis,
	const struct chart *chart, const struct chart_line *line, const struct chart_pen *pen)
{
	size_t i;

	if (line->from_us == TIME_UNKNOWN || line->end == CHART_IDLE)
		return;
	for (i = 0; i < chart->n_overlaps; i++) {
		const struct chart_overlap *o = &chart->overlaps[i];
		int64_t from = o->from_us > line->from_us ? o->from_us : line->from_us,
			to = o->to_us < line->to_us ? o->to_us : line->to_us;
		int last;

		if ((o->run && o->run != line->run) || from >= to)
			continue;
		last = put_span(row, axis, from, to, SHAPE_OVERLAP, CHART_PAINT_OVERLAP, pen);
		if (last < 0 || to != line->to_us)
			continue;
		/* How its end looks is not hidden. */
		if (line->end == CHART_ALIVE && last == chart_column(axis, pen->now_us))
			put_shape(row, last, SHAPE_ON, CHART_PAINT_OVERLAP, pen);
		if (line->end == CHART_FAILED)
			put_shape(row, last, SHAPE_FAILED, CHART_PAINT_OVERLAP, pen);
	}
}

static void clock_text(char *buf, size_t size, const struct zone *zone, int64_t at_us, bool date)
{
	struct civil c;

	zone_civil(zone, at_us / 1000000 - (at_us % 1000000 < 0), &c);
	if (date)
		snprintf(buf, size, "%02d-%02d %02d:%02d", c.month, c.day, c.hour, c.minute);
	else if (c.second)
		snprintf(buf, size, "%02d:%02d:%02d", c.hour, c.minute, c.second);
	else
		snprintf(buf, size, "%02d:%02d", c.hour, c.minute);
}

static void line_label(struct chart_row *row, const struct chart_axis *axis,
	const struct chart_line *line, const struct chart_pen *pen)
{
	bool old = clock_minus(pen->now_us, line->at_us) > DAY_US / 2 ||
		   chart_axis_end(axis) - axis->from_us > DAY_US;

	if (line->at_us == TIME_UNKNOWN)
		snprintf(row->label, sizeof(row->label), "?");
	else
		clock_text(row->label, sizeof(row->label), zone_utc(), line->at_us, old);
	row->label_paint = CHART_PAINT_AXIS;
}

/* The nodes where it is at work, or may be: "n3", "n3+n7". */
static void node_words(struct str *out, const struct run *run)
{
	uint32_t i, n = 0;

	for (i = 0; i < run->n_pods && n < 3; i++) {
		const struct pod *pod = &run->pods[i];

		if (pod->alive == TRI_NO || !pod->node)
			continue;
		str_addf(out, "%s%s", n++ ? "+" : "", pod->node);
	}
	if (n)
		str_add(out, "  ");
}

/* Why it does not go on or failed, in the API's words; NULL where nothing says. */
static const char *run_reason(const struct run *run)
{
	const struct detail *d = run_detail(run, DETAIL_JOB_REASON);
	uint32_t i;

	if (d && !d->hidden)
		return d->s;
	for (i = 0; i < run->n_pods; i++)
		if (run->pods[i].reason)
			return run->pods[i].reason;
	return NULL;
}

static void run_tail(struct str *out, const struct chart_line *line, const struct chart_pen *pen)
{
	static const char *const words[] = {
		[CHART_OK] = "ok",
		[CHART_FAILED] = "failed",
		[CHART_ENDED] = "over",
		[CHART_ALIVE] = "running",
		[CHART_IDLE] = "no pod alive",
		[CHART_UNKNOWN] = "alive?",
	};
	const struct run *run = line->run;
	const char *reason =
		line->end == CHART_OK || line->end == CHART_ALIVE ? NULL : run_reason(run);
	char age[CLOCK_TEXT_MAX];

	if (line->end == CHART_ALIVE || line->end == CHART_UNKNOWN)
		node_words(out, run);
	str_add(out, words[line->end]);
	if (line->from_us != TIME_UNKNOWN) {
		int64_t to = line->unknown_us != TIME_UNKNOWN ? pen->now_us : line->to_us;

		clock_format_age(age, clock_minus(to, line->from_us) / 1000);
		str_addf(out, " %s", age);
	}
	if (reason)
		str_addf(out, " (%s)", reason);
	if (line->end == CHART_ALIVE && run->end_us != TIME_UNKNOWN)
		str_addf(out, ", though its Job %s",
			run->state == RUN_FAILED ? "failed" : "is over");
	if (run->deleted_us != TIME_UNKNOWN)
		str_add(out, ", being deleted");
	if (run->manual)
		str_add(out, ", by hand");
	else if (run->slot_us == TIME_UNKNOWN)
		str_add(out, ", slot not known");
	if (run->attempts > 1)
		str_addf(out, ", try %" PRId32, run->attempts);
}

static void forbidden_tail(struct str *out, const struct run *because)
{
	char text[CLOCK_TEXT_MAX];

	if (because->slot_us == TIME_UNKNOWN) {
		str_addf(out, "skipped: Forbid, %s not over", because->name);
		return;
	}
	clock_text(text, sizeof(text), zone_utc(), because->slot_us, false);
	str_addf(out, "skipped: Forbid, %s not over", text);
}

static void gap_tail(struct str *out, const struct chart_line *line, const struct singleton *s,
	const struct chart_pen *pen)
{
	char text[CLOCK_TEXT_MAX];

	if (line->slots > 1)
		str_addf(out, "%" PRIu32 " ", line->slots);
	switch (line->gap) {
	case CHART_MISSED:
		str_add(out, "missed");
		break;
	case CHART_LATE:
		str_addf(out, "missed (deadline %" PRId64 "s)",
			singleton_int(s, DETAIL_STARTING_DEADLINE, 0));
		break;
	case CHART_FORBIDDEN:
		forbidden_tail(out, line->because);
		break;
	case CHART_SUSPENDED:
		str_add(out, "not started: suspended");
		break;
	case CHART_DUE:
		clock_format_age(text, (pen->now_us - line->at_us) / 1000);
		str_addf(out, "due for %s", text);
		break;
	default:
		str_add(out, "no Job kept");
		break;
	}
}

/* The tail stands behind the bar; where there is no room, before the line's first cell. */
static void tail_place(struct chart_row *row, const struct str *text, int last,
	enum chart_paint paint, const struct chart_pen *pen)
{
	int width = (int)text_width(text->s), first = 0, at = last + 2;

	snprintf(row->tail, sizeof(row->tail), "%s", text->s);
	row->tail_paint = (uint8_t)paint;
	while (first < row->columns && !row->cells[first].cp)
		first++;
	if (at + width > row->columns + pen->room && width + 1 <= first)
		at = first - width - 1;
	row->tail_at = at;
}

void chart_row_line(struct chart_row *row, const struct chart_axis *axis, const struct chart *chart,
	const struct chart_line *line, const struct singleton *s, const struct chart_pen *pen)
{
	struct str tail;
	int last;

	row_begin(row, axis);
	str_init(&tail, CHART_TAIL_MAX);
	line_label(row, axis, line, pen);
	if (line->run) {
		last = put_run(row, axis, line, pen);
		put_overlaps(row, axis, chart, line, pen);
		run_tail(&tail, line, pen);
		tail_place(row, &tail, last, end_paint(line->end), pen);
	} else {
		last = put_gap(row, axis, line, pen);
		gap_tail(&tail, line, s, pen);
		tail_place(row, &tail, last, gap_paint(line->gap), pen);
	}
	last = chart_column(axis, pen->now_us);
	if (last >= 0 && last < row->columns && !row->cells[last].cp)
		put_now(row, axis, pen);
	str_release(&tail);
}

void chart_row_axis(
	struct chart_row *row, const struct chart_axis *axis, const struct chart_pen *pen)
{
	struct chart_tick ticks[CHART_TICKS_MAX];
	size_t n = chart_ticks(axis, 8, ticks), i;
	int now = chart_column(axis, pen->now_us), x;

	row_begin(row, axis);
	snprintf(row->label, sizeof(row->label), "UTC");
	row->label_paint = CHART_PAINT_AXIS;
	for (i = 0; i < n; i++) {
		int w = (int)strlen(ticks[i].text);

		/* "now" needs its place. */
		if (now >= ticks[i].column - 4 && now <= ticks[i].column + w)
			continue;
		for (x = 0; x < w; x++)
			put(row, ticks[i].column + x, (unsigned char)ticks[i].text[x],
				CHART_PAINT_AXIS);
	}
	if (now < 0 || now >= row->columns)
		return;
	snprintf(row->tail, sizeof(row->tail), "now");
	row->tail_at = now;
	row->tail_paint = CHART_PAINT_TEXT;
}

static uint32_t most_at_once(const struct chart *chart, bool *ret_pods)
{
	uint32_t most = 0;
	size_t i;

	*ret_pods = true;
	for (i = 0; i < chart->n_overlaps; i++) {
		if (chart->overlaps[i].most > most)
			most = chart->overlaps[i].most;
		*ret_pods = *ret_pods && chart->overlaps[i].run;
	}
	return most;
}

static void overlap_words(struct str *out, const struct chart *chart)
{
	static const char *const counts[] = { "none", "one", "two", "three", "four", "five" };
	const struct chart_overlap *last = &chart->overlaps[chart->n_overlaps - 1];
	char age[CLOCK_TEXT_MAX];
	bool pods;
	uint32_t most = most_at_once(chart, &pods);

	clock_format_age(age, clock_minus(last->to_us, last->from_us) / 1000);
	str_addf(out, "%s  ", age);
	if (most < ARRAY_LEN(counts))
		str_add(out, counts[most]);
	else
		str_addf(out, "%" PRIu32, most);
	str_addf(out, "%s at once%s", pods ? " pods of one run" : "", last->now ? "" : ", over");
	if (chart->n_overlaps > 1)
		str_addf(out, " (%zu times)", chart->n_overlaps);
}

void chart_row_overlaps(struct chart_row *row, const struct chart_axis *axis,
	const struct chart *chart, const struct chart_pen *pen)
{
	struct str tail;
	int last = -1, end;
	size_t i;

	row_begin(row, axis);
	snprintf(row->label, sizeof(row->label), "overlap");
	row->label_paint = row->tail_paint = CHART_PAINT_OVERLAP;
	put_now(row, axis, pen);
	for (i = 0; i < chart->n_overlaps; i++) {
		end = put_span(row, axis, chart->overlaps[i].from_us, chart->overlaps[i].to_us,
			SHAPE_OVERLAP, CHART_PAINT_OVERLAP, pen);
		last = end > last ? end : last;
	}
	str_init(&tail, CHART_TAIL_MAX);
	if (chart->n_overlaps)
		overlap_words(&tail, chart);
	tail_place(row, &tail, last, CHART_PAINT_OVERLAP, pen);
	str_release(&tail);
}

static void put_forbidden(struct chart_row *row, const struct chart_axis *axis,
	const struct chart_line *line, const struct chart_pen *pen)
{
	int now = chart_column(axis, pen->now_us), first = chart_column(axis, line->at_us),
	    last = chart_column(axis, line->last_us);

	if (first != now)
		put_shape(row, first, SHAPE_MISSED, CHART_PAINT_MISSED, pen);
	if (last != now)
		put_shape(row, last, SHAPE_MISSED, CHART_PAINT_MISSED, pen);
}

void chart_row_job(struct chart_row *row, const struct chart_axis *axis, const struct chart *chart,
	const struct chart_pen *pen)
{
	size_t i;

	row_begin(row, axis);
	put_now(row, axis, pen);
	for (i = 0; i < chart->n_lines; i++)
		if (!chart->lines[i].run)
			put_gap(row, axis, &chart->lines[i], pen);
	/* The worst lies on top: what is over, what goes on, then overlaps. */
	for (i = 0; i < chart->n_lines; i++)
		if (chart->lines[i].run && chart->lines[i].end != CHART_ALIVE)
			put_run(row, axis, &chart->lines[i], pen);
	for (i = 0; i < chart->n_lines; i++)
		if (chart->lines[i].run && chart->lines[i].end == CHART_ALIVE)
			put_run(row, axis, &chart->lines[i], pen);
	for (i = 0; i < chart->n_lines; i++)
		if (chart->lines[i].run)
			put_overlaps(row, axis, chart, &chart->lines[i], pen);
	/* What a run kept from starting lies below its bar: the first and the last of it show. */
	for (i = 0; i < chart->n_lines; i++)
		if (chart->lines[i].gap == CHART_FORBIDDEN)
			put_forbidden(row, axis, &chart->lines[i], pen);
}

/* Copies a sanitised text as far as it goes, without half a character at its end. */
static void label_copy(struct chart_row *row, const char *text)
{
	size_t n = strlen(text), max = sizeof(row->label) - 1;

	if (n > max)
		for (n = max; n && ((unsigned char)text[n] & 0xc0) == 0x80; n--)
			;
	memcpy(row->label, text, n);
	row->label[n] = '\0';
}

void chart_row_holder(struct chart_row *row, const struct chart_axis *axis,
	const struct holding_row *holder, const struct chart_pen *pen)
{
	struct str tail;
	int last = -1, end;
	size_t i;

	row_begin(row, axis);
	label_copy(row, holder->identity);
	put_now(row, axis, pen);
	if (holder->waits && holder->waits_us != TIME_UNKNOWN)
		last = put_span(row, axis, holder->waits_us, pen->now_us, SHAPE_IDLE,
			CHART_PAINT_IDLE, pen);
	for (i = 0; i < holder->n; i++) {
		const struct holding_span *span = &holder->spans[i];
		bool on = holder->holds && i + 1 == holder->n;

		end = put_span(row, axis, span->from_us, span->to_us,
			span->doubt ? SHAPE_UNKNOWN : SHAPE_BAR,
			span->doubt ? CHART_PAINT_UNKNOWN
			: on        ? CHART_PAINT_ALIVE
				    : CHART_PAINT_OK,
			pen);
		if (end >= 0 && !span->doubt && !on)
			put_part(row, axis, span->from_us, span->to_us, end, CHART_PAINT_OK, pen);
		if (on && !span->doubt && end >= 0 && end == chart_column(axis, pen->now_us))
			put_shape(row, end, SHAPE_ON, CHART_PAINT_ALIVE, pen);
		last = end > last ? end : last;
	}
	str_init(&tail, CHART_TAIL_MAX);
	if (holder->waits)
		str_add(&tail, "waits");
	else if (holder->holds && holder->n && holder->spans[holder->n - 1].doubt)
		str_add(&tail, pen->thing ? "is there?" : "holds it?");
	else if (holder->holds)
		str_add(&tail, pen->thing ? "is there" : "holds it");
	tail_place(row, &tail, last < 0 ? row->columns - 1 : last, CHART_PAINT_TEXT, pen);
	str_release(&tail);
}

void chart_row_dark(struct chart_row *row, const struct chart_axis *axis,
	const struct holding *holding, const struct chart_pen *pen)
{
	size_t i;

	row_begin(row, axis);
	snprintf(row->label, sizeof(row->label), "not seen");
	row->label_paint = CHART_PAINT_UNKNOWN;
	put_now(row, axis, pen);
	for (i = 0; i < holding->n_dark; i++)
		put_span(row, axis, holding->dark[i].from_us, holding->dark[i].to_us, SHAPE_UNKNOWN,
			CHART_PAINT_UNKNOWN, pen);
}

static void next_words(struct str *out, const struct schedule *schedule, const struct zone *local,
	int64_t now_us, int64_t next_us)
{
	const struct zone *zone = schedule_zone(schedule);
	char text[CLOCK_TEXT_MAX];
	struct zone_at here, there;
	bool date = next_us - now_us > DAY_US / 2;

	zone_at(zone, next_us / 1000000, &there);
	zone_at(local, next_us / 1000000, &here);
	clock_text(text, sizeof(text), zone, next_us, date);
	str_addf(out, "next %s", text);
	if (here.offset_s != there.offset_s) {
		clock_text(text, sizeof(text), local, next_us, date);
		str_addf(out, " %s, %s %s", there.abbr, text, here.abbr);
	}
	clock_format_age(text, (next_us - now_us + 999999) / 1000);
	str_addf(out, " (in %s)", text);
}

void chart_schedule_words(struct str *out, const struct singleton *s, const struct zone *local,
	int64_t now_us, int64_t *ret_next_us)
{
	const struct schedule *schedule = s->more->schedule;
	const char *policy = singleton_text(s, DETAIL_POLICY, NULL);
	int64_t next;

	if (ret_next_us)
		*ret_next_us = TIME_UNKNOWN;
	if (!schedule)
		return;
	str_addf(out, "%s  %s", schedule->text,
		schedule->zone_name ? schedule->zone_name : "UTC (no zone said)");
	if (policy)
		str_addf(out, "  %s", policy);
	str_add(out, "  ");
	if (schedule->error)
		str_add(out, "no next slot: it can't be used");
	else if (singleton_int(s, DETAIL_SUSPENDED, 0))
		str_add(out, "suspended");
	else if (schedule->never || !schedule_next(schedule, now_us, &next))
		str_add(out, "never runs");
	else {
		next_words(out, schedule, local ? local : zone_utc(), now_us, next);
		if (ret_next_us)
			*ret_next_us = next;
	}
}
