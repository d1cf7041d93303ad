#include "config.h"

#include "model/chart.h"
#include "base/civil.h"
#include "base/clock.h"
#include "base/mem.h"
#include "model/schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_US INT64_C(1000000)
#define MINUTE_US (60 * SECOND_US)
#define HOUR_US   (60 * MINUTE_US)
#define DAY_US    (24 * HOUR_US)

static const int64_t zooms[] = { 5 * SECOND_US, 10 * SECOND_US, 20 * SECOND_US, 30 * SECOND_US,
	MINUTE_US, 2 * MINUTE_US, 5 * MINUTE_US, 10 * MINUTE_US, 20 * MINUTE_US, 30 * MINUTE_US,
	HOUR_US, 2 * HOUR_US, 6 * HOUR_US, 12 * HOUR_US, DAY_US };

int chart_zooms(void)
{
	return (int)ARRAY_LEN(zooms);
}

int64_t chart_zoom_us(int zoom)
{
	return zooms[zoom];
}

int chart_zoom_for(int64_t span_us, int columns)
{
	int i;

	for (i = 0; i < (int)ARRAY_LEN(zooms) - 1; i++)
		if (zooms[i] * (columns - 1) >= span_us)
			break;
	return i;
}

static int64_t floor_to(int64_t at, int64_t step)
{
	int64_t rest = at % step;

	return at - (rest < 0 ? rest + step : rest);
}

struct chart_axis chart_axis(int64_t last_us, int64_t column_us, int columns)
{
	return (struct chart_axis){
		.from_us = floor_to(last_us, column_us) - (columns - 1) * column_us,
		.column_us = column_us,
		.columns = columns,
	};
}

int64_t chart_axis_end(const struct chart_axis *axis)
{
	return axis->from_us + axis->columns * axis->column_us;
}

int chart_column(const struct chart_axis *axis, int64_t at_us)
{
	if (at_us < axis->from_us)
		return -1;
	if (at_us >= chart_axis_end(axis))
		return axis->columns;
	return (int)((at_us - axis->from_us) / axis->column_us);
}

static void tick_text(char buf[CHART_TICK_TEXT], int64_t at_us)
{
	static const char months[12][4] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug",
		"Sep", "Oct", "Nov", "Dec" };
	struct civil civil;

	civil_from_seconds(floor_to(at_us, SECOND_US) / SECOND_US, &civil);
	if (at_us % DAY_US == 0)
		snprintf(buf, CHART_TICK_TEXT, "%s %02d", months[civil.month - 1], civil.day % 100);
	else if (at_us % MINUTE_US == 0)
		snprintf(buf, CHART_TICK_TEXT, "%02d:%02d", civil.hour % 100, civil.minute % 100);
	else
		snprintf(buf, CHART_TICK_TEXT, ":%02d", civil.second % 100);
}

size_t chart_ticks(const struct chart_axis *axis, int gap, struct chart_tick ret[CHART_TICKS_MAX])
{
	static const int64_t steps[] = { 10 * SECOND_US, 30 * SECOND_US, MINUTE_US, 2 * MINUTE_US,
		5 * MINUTE_US, 10 * MINUTE_US, 15 * MINUTE_US, 30 * MINUTE_US, HOUR_US, 2 * HOUR_US,
		3 * HOUR_US, 6 * HOUR_US, 12 * HOUR_US, DAY_US, 2 * DAY_US, 7 * DAY_US,
		14 * DAY_US };
	size_t i = 0, n = 0;
	int64_t at;

	while (i < ARRAY_LEN(steps) - 1 && steps[i] < gap * axis->column_us)
		i++;
	at = floor_to(axis->from_us + steps[i] - 1, steps[i]);
	for (; at < chart_axis_end(axis) && n < CHART_TICKS_MAX; at += steps[i], n++) {
		ret[n].column = chart_column(axis, at);
		tick_text(ret[n].text, at);
	}
	return n;
}

/* What is drawn of one job, while the chart is made. */
struct charting {
	struct chart *chart;
	const struct singleton *s;
	int64_t from_us, to_us, now_us;
	struct chart_line *runs; /* all that can be placed, also those outside the window */
	size_t n_runs;
	int64_t *slots; /* of the runs that were started for one, sorted */
	size_t n_slots;
	int64_t last_schedule_us, deadline_s;
	int64_t oldest_ok_us, newest_failed_us; /* slots; TIME_UNKNOWN */
	bool forbid, replace, suspended;
};

static int64_t first_known(const int64_t *times, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (times[i] != TIME_UNKNOWN)
			return times[i];
	return TIME_UNKNOWN;
}

static int64_t run_begin_us(const struct run *run)
{
	const int64_t times[] = { run->start_us, run->created_us, run->slot_us };

	return first_known(times, ARRAY_LEN(times));
}

/* When a run was over: by its record, else when its last pod ended. */
static int64_t run_over_us(const struct run *run)
{
	int64_t pods = TIME_UNKNOWN;
	uint32_t i;

	for (i = 0; i < run->n_pods; i++)
		if (run->pods[i].end_us > pods)
			pods = run->pods[i].end_us;
	if (run->end_us != TIME_UNKNOWN)
		return run->end_us;
	return pods != TIME_UNKNOWN ? pods : run->deleted_us;
}

static enum chart_end run_end(const struct run *run)
{
	if (run->alive == TRI_YES)
		return CHART_ALIVE;
	if (run->alive == TRI_UNKNOWN && !run->unseen)
		return CHART_UNKNOWN;
	if (run_is_open(run))
		return CHART_IDLE;
	return run->state == RUN_SUCCEEDED ? CHART_OK
	       : run->state == RUN_FAILED  ? CHART_FAILED
					   : CHART_ENDED;
}

static void place_run(struct chart_line *line, const struct run *run, int64_t now_us)
{
	int64_t over = run_over_us(run);

	*line = (struct chart_line){ .run = run,
		.end = run_end(run),
		.from_us = run_begin_us(run),
		.unknown_us = TIME_UNKNOWN };
	line->at_us = run->slot_us != TIME_UNKNOWN && !run->manual ? run->slot_us : line->from_us;
	if (line->from_us > now_us)
		line->from_us = now_us; /* the cluster's clock is ahead of ours */
	line->to_us = over == TIME_UNKNOWN || over < line->from_us ? line->from_us : over;
	if (line->to_us > now_us)
		line->to_us = now_us;
	if (line->end == CHART_ALIVE || line->end == CHART_IDLE)
		line->to_us = now_us;
	else if (line->end == CHART_UNKNOWN)
		line->unknown_us = line->to_us;
}

static int compare_times(const void *left, const void *right)
{
	int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

	return a < b ? -1 : a > b;
}

static int compare_lines(const void *left, const void *right)
{
	const struct chart_line *a = left, *b = right;

	if (a->at_us != b->at_us)
		return a->at_us < b->at_us ? -1 : 1;
	if (a->from_us != b->from_us)
		return a->from_us < b->from_us ? -1 : 1;
	return a->run && b->run ? strcmp(a->run->key, b->run->key) : 0;
}

static void note_slot(struct charting *k, const struct run *run)
{
	k->slots[k->n_slots++] = run->slot_us;
	if (run->state == RUN_SUCCEEDED &&
		(k->oldest_ok_us == TIME_UNKNOWN || run->slot_us < k->oldest_ok_us))
		k->oldest_ok_us = run->slot_us;
	if (run->state == RUN_FAILED && run->slot_us > k->newest_failed_us)
		k->newest_failed_us = run->slot_us;
}

static void place_runs(struct charting *k)
{
	uint32_t i;

	k->runs = xcalloc(k->s->more->n_runs + 1, sizeof(*k->runs));
	k->slots = xcalloc(k->s->more->n_runs + 1, sizeof(*k->slots));
	for (i = 0; i < k->s->more->n_runs; i++) {
		const struct run *run = &k->s->more->runs[i];

		place_run(&k->runs[k->n_runs++], run, k->now_us);
		if (run->slot_us != TIME_UNKNOWN && !run->manual)
			note_slot(k, run);
	}
	qsort(k->slots, k->n_slots, sizeof(*k->slots), compare_times);
}

static void add_line(struct charting *k, const struct chart_line *line)
{
	struct chart *c = k->chart;

	MEM_GROW(c->lines, c->n_lines, c->cap_lines);
	c->lines[c->n_lines++] = *line;
}

/* The runs that touch the window; one that can't be placed in time is in every window. */
static void add_runs(struct charting *k)
{
	size_t i;

	for (i = 0; i < k->n_runs; i++) {
		const struct chart_line *line = &k->runs[i];
		int64_t end = line->unknown_us != TIME_UNKNOWN ? k->now_us : line->to_us;

		if (line->from_us == TIME_UNKNOWN ||
			(line->from_us < k->to_us && end >= k->from_us))
			add_line(k, line);
	}
}

/* A moment at which one more is at work, or one less. */
struct edge {
	int64_t at_us;
	int by;
};

static int compare_edges(const void *left, const void *right)
{
	const struct edge *a = left, *b = right;

	if (a->at_us != b->at_us)
		return a->at_us < b->at_us ? -1 : 1;
	return a->by - b->by; /* who ends when another begins does not overlap it */
}

/* Adds the times at which more than one was at work. */
static void sweep(struct charting *k, struct edge *edges, size_t n, const struct run *run)
{
	struct chart *c = k->chart;
	struct chart_overlap over = { .run = run };
	int at_once = 0;
	size_t i;

	qsort(edges, n, sizeof(*edges), compare_edges);
	for (i = 0; i < n; i++) {
		at_once += edges[i].by;
		if (edges[i].by > 0 && at_once == 2)
			over = (struct chart_overlap){ .from_us = edges[i].at_us, .run = run };
		if (at_once > (int)over.most)
			over.most = (uint32_t)at_once;
		if (edges[i].by > 0 || at_once != 1)
			continue;
		over.to_us = edges[i].at_us;
		over.now = over.to_us >= k->now_us;
		if (over.from_us < k->to_us && over.to_us >= k->from_us &&
			over.from_us < over.to_us) {
			MEM_GROW(c->overlaps, c->n_overlaps, c->cap_overlaps);
			c->overlaps[c->n_overlaps++] = over;
		}
		over = (struct chart_overlap){ .run = run };
	}
}

/* Work that nobody can see is no evidence of an overlap. */
static void add_run_overlaps(struct charting *k)
{
	struct edge *edges = xcalloc(2 * k->n_runs + 1, sizeof(*edges));
	size_t i, n = 0;

	for (i = 0; i < k->n_runs; i++) {
		const struct chart_line *line = &k->runs[i];

		if (line->from_us == TIME_UNKNOWN || line->from_us >= line->to_us ||
			line->end == CHART_IDLE)
			continue;
		edges[n++] = (struct edge){ line->from_us, 1 };
		edges[n++] = (struct edge){ line->to_us, -1 };
	}
	sweep(k, edges, n, NULL);
	free(edges);
}

static void add_pod_overlaps(struct charting *k, const struct run *run)
{
	struct edge *edges = xcalloc(2 * run->n_pods + 1, sizeof(*edges));
	size_t n = 0;
	uint32_t i;

	for (i = 0; i < run->n_pods; i++) {
		const struct pod *pod = &run->pods[i];
		int64_t end = pod->alive == TRI_YES ? k->now_us : pod->end_us;

		if (pod->start_us == TIME_UNKNOWN || end == TIME_UNKNOWN || pod->start_us >= end)
			continue;
		edges[n++] = (struct edge){ pod->start_us, 1 };
		edges[n++] = (struct edge){ end, -1 };
	}
	sweep(k, edges, n, run);
	free(edges);
}

static int compare_overlaps(const void *left, const void *right)
{
	const struct chart_overlap *a = left, *b = right;

	return a->from_us < b->from_us ? -1 : a->from_us > b->from_us;
}

static void add_overlaps(struct charting *k)
{
	uint32_t i;

	add_run_overlaps(k);
	for (i = 0; i < k->s->more->n_runs; i++)
		if (k->s->more->runs[i].n_pods > 1 && k->s->more->runs[i].parallelism <= 1)
			add_pod_overlaps(k, &k->s->more->runs[i]);
	if (k->chart->n_overlaps)
		qsort(k->chart->overlaps, k->chart->n_overlaps, sizeof(*k->chart->overlaps),
			compare_overlaps);
}

static bool has_run(const struct charting *k, int64_t slot_us)
{
	return k->n_slots &&
	       bsearch(&slot_us, k->slots, k->n_slots, sizeof(*k->slots), compare_times);
}

/* The scheduled run that was not over at a slot; the controller counts no others. */
static const struct run *run_across(const struct charting *k, int64_t slot_us)
{
	size_t i;

	for (i = 0; i < k->n_runs; i++) {
		const struct chart_line *line = &k->runs[i];

		if (line->run->manual || line->from_us == TIME_UNKNOWN || line->from_us >= slot_us)
			continue;
		if (line->to_us > slot_us || line->unknown_us != TIME_UNKNOWN)
			return line->run;
	}
	return NULL;
}

/*
 * Why a slot that is behind the last one that was started has no run. What is kept proves a miss
 * only where an older success is kept still, and no later failure has pushed out a failed run:
 * the controller keeps the newest of each kind (successfulJobsHistoryLimit and
 * failedJobsHistoryLimit), and Replace deletes what it replaces.
 */
static enum chart_gap past_gap(const struct charting *k, int64_t slot_us)
{
	bool proved = k->oldest_ok_us != TIME_UNKNOWN && k->oldest_ok_us < slot_us &&
		      (k->newest_failed_us == TIME_UNKNOWN || k->newest_failed_us < slot_us);

	if (slot_us == k->last_schedule_us || k->replace || !proved)
		return CHART_UNRECORDED;
	return CHART_MISSED;
}

static struct chart_line gap_at(const struct charting *k, int64_t slot_us, bool latest)
{
	struct chart_line line = { .at_us = slot_us,
		.last_us = slot_us,
		.slots = 1,
		.from_us = TIME_UNKNOWN,
		.unknown_us = TIME_UNKNOWN };
	bool started = k->last_schedule_us != TIME_UNKNOWN && slot_us <= k->last_schedule_us;

	line.because = k->forbid ? run_across(k, slot_us) : NULL;
	if (line.because)
		line.gap = CHART_FORBIDDEN;
	else if (started)
		line.gap = past_gap(k, slot_us);
	else if (k->suspended)
		line.gap = CHART_SUSPENDED;
	else if (k->deadline_s >= 0 && clock_minus(k->now_us, slot_us) / SECOND_US > k->deadline_s)
		line.gap = CHART_LATE;
	else
		line.gap = latest ? CHART_DUE : CHART_MISSED;
	return line;
}

/* The first moment from which on a slot without a run says something. */
static int64_t slots_since(const struct charting *k)
{
	const int64_t since[] = { k->n_slots ? k->slots[0] : TIME_UNKNOWN, k->last_schedule_us,
		singleton_int(k->s, DETAIL_CREATED, TIME_UNKNOWN) };

	return first_known(since, ARRAY_LEN(since));
}

static bool same_gap(const struct chart_line *a, const struct chart_line *b)
{
	return !a->run && a->gap == b->gap && a->because == b->because;
}

bool chart_slots_told(const struct singleton *s)
{
	const struct schedule *schedule = s->more->schedule;

	return schedule && !schedule->error && !schedule->cron.every_s &&
	       !singleton_int(s, DETAIL_RUNS_HIDDEN, 0) &&
	       schedule_slots_told(schedule, singleton_int(s, DETAIL_LAST_SCHEDULE, TIME_UNKNOWN));
}

/* Neighbours of one kind become one line. */
static void add_gap(struct charting *k, struct chart_line *open, const struct chart_line *line)
{
	if (line->gap != CHART_NO_GAP && same_gap(open, line)) {
		open->at_us = line->at_us;
		open->slots++;
		return;
	}
	if (open->gap != CHART_NO_GAP)
		add_line(k, open);
	*open = *line;
}

/* From now back, at most so many slots. */
static void add_gaps(struct charting *k, int most)
{
	const struct schedule *schedule = k->s->more->schedule;
	int64_t since = slots_since(k), before = k->now_us + 1, *slots;
	struct chart_line open = { .gap = CHART_NO_GAP };
	size_t n, i, max = most > 0 ? (size_t)most : 0;
	bool in_past = k->to_us < before;

	if (!chart_slots_told(k->s) || since == TIME_UNKNOWN)
		return;
	since = since + 1 > k->from_us ? since + 1 : k->from_us;
	slots = xcalloc(max + 1, sizeof(*slots));
	n = cron_before(&schedule->cron, schedule_zone(schedule), in_past ? k->to_us : before,
		since, slots, max + 1);
	k->chart->slots_cut = n > max;
	for (i = 0; i < n && i < max; i++) {
		struct chart_line line = { .gap = CHART_NO_GAP };

		if (!has_run(k, slots[i]))
			line = gap_at(k, slots[i], i == 0 && !in_past);
		add_gap(k, &open, &line);
	}
	if (open.gap != CHART_NO_GAP)
		add_line(k, &open);
	free(slots);
}

void chart_make(struct chart *chart, const struct singleton *s, int64_t from_us, int64_t to_us,
	int64_t now_us, int most_slots)
{
	const char *policy = singleton_text(s, DETAIL_POLICY, "");
	struct charting k = { .chart = chart,
		.s = s,
		.from_us = from_us,
		.to_us = to_us,
		.now_us = now_us,
		.last_schedule_us = singleton_int(s, DETAIL_LAST_SCHEDULE, TIME_UNKNOWN),
		.deadline_s = singleton_int(s, DETAIL_STARTING_DEADLINE, -1),
		.oldest_ok_us = TIME_UNKNOWN,
		.newest_failed_us = TIME_UNKNOWN,
		.forbid = strcmp(policy, "Forbid") == 0,
		.replace = strcmp(policy, "Replace") == 0,
		.suspended = singleton_int(s, DETAIL_SUSPENDED, 0) != 0 };

	*chart = (struct chart){ 0 };
	place_runs(&k);
	add_runs(&k);
	add_gaps(&k, most_slots);
	add_overlaps(&k);
	if (chart->n_lines)
		qsort(chart->lines, chart->n_lines, sizeof(*chart->lines), compare_lines);
	free(k.runs);
	free(k.slots);
}

void chart_doubt(struct chart *chart)
{
	size_t i;

	for (i = 0; i < chart->n_lines; i++) {
		struct chart_line *line = &chart->lines[i];

		if (!line->run || (line->end != CHART_ALIVE && line->end != CHART_IDLE))
			continue;
		line->unknown_us = line->to_us;
		line->end = CHART_UNKNOWN;
	}
}

void chart_release(struct chart *chart)
{
	free(chart->lines);
	free(chart->overlaps);
	*chart = (struct chart){ 0 };
}

static int64_t first_run_us(const struct singleton *s, int64_t now_us)
{
	int64_t first = now_us;
	uint32_t i;

	for (i = 0; i < s->more->n_runs; i++) {
		int64_t begin = run_begin_us(&s->more->runs[i]);

		if (begin != TIME_UNKNOWN && begin < first)
			first = begin;
	}
	return first;
}

int64_t chart_span_us(const struct singleton *s, int64_t now_us)
{
	int64_t span = clock_minus(now_us, first_run_us(s, now_us)), next, after, period, least;

	if (!schedule_next(s->more->schedule, now_us, &next) ||
		!schedule_next(s->more->schedule, next, &after))
		return span > 10 * MINUTE_US ? span : 10 * MINUTE_US;
	period = after - next;
	if (span > 30 * period)
		return 30 * period;
	/* A run of today must not vanish since the next is due in a year. */
	least = 6 * period < HOUR_US ? 6 * period : HOUR_US;
	return span > least ? span : least;
}
