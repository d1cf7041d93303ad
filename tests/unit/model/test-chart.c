#include "config.h"

#include "tests/unit/unit.h"

#include "base/mem.h"
#include "model/chart.h"
#include "model/draft.h"
#include "model/schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MINUTE_US INT64_C(60000000)
/* 2026-01-02T14:00:00Z */
#define NOON_US INT64_C(1767362400000000)

/* Minutes after that. */
static int64_t at(double minutes)
{
	return NOON_US + (int64_t)(minutes * (double)MINUTE_US);
}

/* A job under test; what a test does not say is every five minutes, Allow. */
struct job {
	struct draft *draft;
	struct singleton *s;
	struct chart chart;
	int n;
};

static void job_begin(struct job *j, const char *schedule, const char *policy)
{
	struct schedule *when = schedule_new(schedule, NULL, zone_load);

	*j = (struct job){ .draft = draft_new() };
	draft_begin(j->draft, MECH_K8S_CRONJOB, "kube", "cronjob/a/b", 11);
	draft_schedule(j->draft, when);
	schedule_unref(when);
	draft_text(j->draft, DETAIL_POLICY, policy);
	draft_int(j->draft, DETAIL_CREATED, at(-10000));
}

static struct run *run_of(
	struct job *j, struct run *run, double slot, double end, enum run_state state)
{
	static const char *const keys[] = { "a", "b", "c", "d", "e", "f", "g", "h" };

	*run = (struct run){ .name = keys[j->n],
		.key = keys[j->n],
		.state = state,
		.attempts = -1,
		.slot_us = at(slot),
		.created_us = at(slot),
		.start_us = at(slot),
		.end_us = state == RUN_RUNNING ? TIME_UNKNOWN : at(end),
		.deleted_us = TIME_UNKNOWN,
		.deadline_s = TIME_UNKNOWN,
		.parallelism = 1 };
	j->n++;
	return run;
}

static void pod(struct job *j, enum pod_phase phase, double start, double end)
{
	draft_pod(j->draft, &(struct pod){ .name = "p",
				    .key = "p",
				    .phase = phase,
				    .node_ready = TRI_YES,
				    .containers_running = phase == POD_RUNNING,
				    .restarts = -1,
				    .start_us = at(start),
				    .end_us = phase == POD_RUNNING ? TIME_UNKNOWN : at(end),
				    .deleted_us = TIME_UNKNOWN });
}

/* A run that is over, or that goes on with a pod of its own. */
static void add(struct job *j, double slot, double end, enum run_state state)
{
	struct run run;

	draft_run(j->draft, run_of(j, &run, slot, end, state));
	if (state == RUN_RUNNING)
		pod(j, POD_RUNNING, slot, 0);
}

/* The chart of the last hour and a half, as of `now`. */
static const struct chart *chart_of(struct job *j, double now)
{
	if (!j->s)
		j->s = draft_finish(j->draft);
	chart_release(&j->chart);
	chart_make(&j->chart, j->s, at(-90), at(now) + 1, at(now), CHART_SLOTS);
	return &j->chart;
}

static void job_end(struct job *j)
{
	chart_release(&j->chart);
	singleton_unref(j->s);
	draft_free(j->draft);
}

/* The chart in few words: "-60 ok, -55 missed x3, 0 alive; overlap -5 to 3 of 2". */
static void expect(struct job *j, double now, const char *wanted)
{
	static const char *const ends[] = { "ok", "failed", "over", "alive", "idle", "unknown" };
	static const char *const gaps[] = { "none", "missed", "late", "forbidden", "suspended",
		"due", "unrecorded" };
	const struct chart *c = chart_of(j, now);
	char text[1024] = "";
	size_t i, n = 0;

	for (i = 0; i < c->n_lines; i++) {
		const struct chart_line *l = &c->lines[i];

		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%g %s", i ? ", " : "",
			(double)(l->at_us - NOON_US) / (double)MINUTE_US,
			l->run ? ends[l->end] : gaps[l->gap]);
		if (l->slots > 1)
			n += (size_t)snprintf(text + n, sizeof(text) - n, " x%u", l->slots);
	}
	for (i = 0; i < c->n_overlaps; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "; %s %g to %g of %u%s",
			c->overlaps[i].run ? "pods" : "runs",
			(double)(c->overlaps[i].from_us - NOON_US) / (double)MINUTE_US,
			(double)(c->overlaps[i].to_us - NOON_US) / (double)MINUTE_US,
			c->overlaps[i].most, c->overlaps[i].now ? " now" : "");
	assert_string_equal(text, wanted);
}

static void test_axis(void **state)
{
	struct chart_axis a = chart_axis(at(3.5), MINUTE_US, 10);

	(void)state;
	/* The last column holds the last moment, and columns begin at whole minutes. */
	assert_int_equal(a.from_us, at(-6));
	assert_int_equal(chart_axis_end(&a), at(4));
	assert_int_equal(chart_column(&a, at(3.99)), 9);
	assert_int_equal(chart_column(&a, at(4)), 10);
	assert_int_equal(chart_column(&a, at(-6)), 0);
	assert_int_equal(chart_column(&a, at(-6) - 1), -1);
	assert_int_equal(chart_column(&a, INT64_MAX), 10);
	assert_int_equal(chart_column(&a, INT64_MIN), -1);
	/* Before 1970 too. */
	a = chart_axis(-1, MINUTE_US, 1);
	assert_int_equal(a.from_us, -MINUTE_US);
}

static void test_zooms(void **state)
{
	int i;

	(void)state;
	for (i = 1; i < chart_zooms(); i++)
		assert_true(chart_zoom_us(i) > chart_zoom_us(i - 1));
	/* Sixty columns hold 59 minutes for certain. */
	assert_int_equal(chart_zoom_us(chart_zoom_for(59 * MINUTE_US, 60)), MINUTE_US);
	assert_int_equal(chart_zoom_us(chart_zoom_for(60 * MINUTE_US, 60)), 2 * MINUTE_US);
	assert_int_equal(chart_zoom_for(INT64_MAX, 60), chart_zooms() - 1);
	assert_int_equal(chart_zoom_for(0, 1), 0);
}

static void test_ticks(void **state)
{
	struct chart_tick ticks[CHART_TICKS_MAX];
	struct chart_axis a = chart_axis(at(0), MINUTE_US, 30);

	(void)state;
	assert_int_equal(chart_ticks(&a, 8, ticks), 3);
	assert_string_equal(ticks[0].text, "13:40");
	assert_int_equal(ticks[0].column, 9);
	assert_string_equal(ticks[2].text, "14:00");
	assert_int_equal(ticks[2].column, 29);
	a = chart_axis(at(0), 60 * MINUTE_US, 48);
	assert_int_equal(chart_ticks(&a, 12, ticks), 4);
	assert_string_equal(ticks[0].text, "Jan 01");
	/* However fine or coarse: in the axis, and no more than there is room for. */
	a = chart_axis(at(0), 1000000, CHART_TICKS_MAX * 40);
	assert_true(chart_ticks(&a, 1, ticks) <= CHART_TICKS_MAX);
}

static void test_runs_and_overlap(void **state)
{
	struct job j;

	(void)state;
	job_begin(&j, "*/5 * * * *", "Allow");
	draft_int(j.draft, DETAIL_LAST_SCHEDULE, at(0));
	add(&j, 0, 0, RUN_RUNNING);
	add(&j, -5, 0, RUN_RUNNING);
	add(&j, -10, -5, RUN_FAILED);
	add(&j, -15, -5, RUN_SUCCEEDED);
	/* What ends when another begins does not overlap it. */
	expect(&j, 3,
		"-15 ok, -10 failed, -5 alive, 0 alive; runs -10 to -5 of 2; "
		"runs 0 to 3 of 2 now");
	job_end(&j);
}

static void test_what_nobody_sees_is_no_overlap(void **state)
{
	struct job j;
	struct run run;

	(void)state;
	job_begin(&j, "*/5 * * * *", "Allow");
	draft_int(j.draft, DETAIL_LAST_SCHEDULE, at(0));
	/* Its record says running, and no pod says so: not known. */
	draft_run(j.draft, run_of(&j, &run, 0, 0, RUN_RUNNING));
	add(&j, -5, 0, RUN_RUNNING);
	/* One whose only pod can't start is not at work. */
	draft_run(j.draft, run_of(&j, &run, -10, 0, RUN_RUNNING));
	pod(&j, POD_PENDING, -10, 0);
	expect(&j, 3, "-10 idle, -5 alive, 0 unknown");
	job_end(&j);
}

static void test_pods_of_one_run(void **state)
{
	struct job j;
	struct run run;

	(void)state;
	job_begin(&j, "*/5 * * * *", "Allow");
	draft_int(j.draft, DETAIL_LAST_SCHEDULE, at(0));
	draft_run(j.draft, run_of(&j, &run, 0, 0, RUN_RUNNING));
	pod(&j, POD_FAILED, 0, 1);
	pod(&j, POD_RUNNING, 1, 0);
	pod(&j, POD_RUNNING, 2, 0);
	/* A retry after its end is none. */
	expect(&j, 3, "0 alive; pods 2 to 3 of 2 now");
	job_end(&j);
	job_begin(&j, "*/5 * * * *", "Allow");
	run_of(&j, &run, 0, 0, RUN_RUNNING);
	run.parallelism = 2;
	draft_run(j.draft, &run);
	pod(&j, POD_RUNNING, 0, 0);
	pod(&j, POD_RUNNING, 0, 0);
	expect(&j, 3, "0 alive");
	job_end(&j);
}

static void test_forbidden(void **state)
{
	struct job j;
	struct run run;

	(void)state;
	job_begin(&j, "*/5 * * * *", "Forbid");
	draft_int(j.draft, DETAIL_LAST_SCHEDULE, at(-20));
	add(&j, -20, 0, RUN_RUNNING);
	add(&j, -25, -21, RUN_SUCCEEDED);
	expect(&j, 3, "-25 ok, -20 alive, -15 forbidden x4");
	assert_ptr_equal(chart_of(&j, 3)->lines[2].because, &j.s->more->runs[0]);
	job_end(&j);
	/* One that was started by hand blocks nothing. */
	job_begin(&j, "*/5 * * * *", "Forbid");
	draft_int(j.draft, DETAIL_LAST_SCHEDULE, at(-5));
	run_of(&j, &run, -4, 0, RUN_RUNNING);
	run.manual = true;
	draft_run(j.draft, &run);
	add(&j, -5, -4.5, RUN_SUCCEEDED);
	expect(&j, 3, "-5 ok, -4 unknown, 0 due");
	job_end(&j);
}

static void test_late_and_due(void **state)
{
	struct job j;

	(void)state;
	job_begin(&j, "*/5 * * * *", "Allow");
	draft_int(j.draft, DETAIL_LAST_SCHEDULE, at(-15));
	draft_int(j.draft, DETAIL_STARTING_DEADLINE, 120);
	add(&j, -15, -14, RUN_SUCCEEDED);
	expect(&j, 1, "-15 ok, -10 late x2, 0 due");
	expect(&j, 3, "-15 ok, -10 late x3");
	job_end(&j);
	/* Without a deadline the controller starts the last one alone. */
	job_begin(&j, "*/5 * * * *", "Allow");
	draft_int(j.draft, DETAIL_LAST_SCHEDULE, at(-15));
	add(&j, -15, -14, RUN_SUCCEEDED);
	expect(&j, 3, "-15 ok, -10 missed x2, 0 due");
	job_end(&j);
}

static void test_suspended(void **state)
{
	struct job j;

	(void)state;
	job_begin(&j, "*/5 * * * *", "Allow");
	draft_int(j.draft, DETAIL_LAST_SCHEDULE, at(-10));
	draft_int(j.draft, DETAIL_SUSPENDED, 1);
	add(&j, -10, -9, RUN_SUCCEEDED);
	expect(&j, 3, "-10 ok, -5 suspended x2");
	job_end(&j);
}

/* What is not kept is not said to have been missed. */
static void test_unrecorded(void **state)
{
	struct job j;

	(void)state;
	/* A failure of -10 may have been pushed out by that of -5. */
	job_begin(&j, "*/5 * * * *", "Allow");
	draft_int(j.draft, DETAIL_LAST_SCHEDULE, at(0));
	add(&j, 0, 1, RUN_SUCCEEDED);
	add(&j, -5, -4, RUN_FAILED);
	add(&j, -15, -14, RUN_SUCCEEDED);
	expect(&j, 3, "-15 ok, -10 unrecorded, -5 failed, 0 ok");
	job_end(&j);
	/* Without such a failure it would be kept. */
	job_begin(&j, "*/5 * * * *", "Allow");
	draft_int(j.draft, DETAIL_LAST_SCHEDULE, at(0));
	add(&j, 0, 1, RUN_SUCCEEDED);
	add(&j, -5, -4, RUN_SUCCEEDED);
	add(&j, -15, -14, RUN_SUCCEEDED);
	expect(&j, 3, "-15 ok, -10 missed, -5 ok, 0 ok");
	job_end(&j);
	/* Replace deletes what it replaces. */
	job_begin(&j, "*/5 * * * *", "Replace");
	draft_int(j.draft, DETAIL_LAST_SCHEDULE, at(0));
	add(&j, 0, 0, RUN_RUNNING);
	add(&j, -10, -9, RUN_SUCCEEDED);
	expect(&j, 3, "-10 ok, -5 unrecorded, 0 alive");
	job_end(&j);
	/* The controller says that it started 0; what came before the oldest run says nothing. */
	job_begin(&j, "*/5 * * * *", "Allow");
	draft_int(j.draft, DETAIL_LAST_SCHEDULE, at(0));
	add(&j, -5, -4, RUN_SUCCEEDED);
	expect(&j, 3, "-5 ok, 0 unrecorded");
	job_end(&j);
}

static void test_no_slots(void **state)
{
	struct job j;

	(void)state;
	/* Counted from a start, which nobody tells. */
	job_begin(&j, "@every 1m", "Allow");
	add(&j, -15, -14, RUN_SUCCEEDED);
	expect(&j, 3, "-15 ok");
	job_end(&j);
	job_begin(&j, "61 * * * *", "Allow");
	add(&j, -15, -14, RUN_SUCCEEDED);
	expect(&j, 3, "-15 ok");
	job_end(&j);
	/* In the zone of its controller, which nobody tells: 14:00 is none of its slots in UTC. */
	job_begin(&j, "0 9 * * *", "Allow");
	draft_int(j.draft, DETAIL_LAST_SCHEDULE, at(-3 * 1440));
	expect(&j, 3, "");
	assert_false(chart_slots_told(j.s));
	job_end(&j);
	/* Whose Jobs can't be seen says nothing of its slots. */
	job_begin(&j, "*/5 * * * *", "Allow");
	draft_int(j.draft, DETAIL_LAST_SCHEDULE, at(-15));
	draft_int(j.draft, DETAIL_RUNS_HIDDEN, 1);
	expect(&j, 3, "");
	job_end(&j);
}

static void test_bounds(void **state)
{
	struct job j;
	struct run run;

	(void)state;
	job_begin(&j, "* * * * *", "Allow");
	draft_int(j.draft, DETAIL_LAST_SCHEDULE, at(-80));
	/* A clock ahead of ours, an end before its start, times that nobody told. */
	run_of(&j, &run, -80, 0, RUN_RUNNING);
	run.start_us = at(500);
	draft_run(j.draft, &run);
	pod(&j, POD_RUNNING, 500, 0);
	run_of(&j, &run, -81, -500, RUN_FAILED);
	draft_run(j.draft, &run);
	run_of(&j, &run, 0, 0, RUN_SUCCEEDED);
	run.slot_us = run.start_us = run.created_us = run.end_us = TIME_UNKNOWN;
	draft_run(j.draft, &run);
	chart_of(&j, 3);
	assert_int_equal(j.chart.n_overlaps, 0);
	assert_int_equal(j.chart.lines[0].from_us, TIME_UNKNOWN);
	/* No more slots are looked at than asked for. */
	chart_release(&j.chart);
	chart_make(&j.chart, j.s, at(-90), at(3) + 1, at(3), 10);
	assert_true(j.chart.slots_cut);
	assert_int_equal(j.chart.n_lines, 5);
	assert_int_equal(j.chart.lines[3].slots, 9);
	job_end(&j);
}

static void test_doubt(void **state)
{
	struct job j;

	(void)state;
	job_begin(&j, "*/5 * * * *", "Allow");
	draft_int(j.draft, DETAIL_LAST_SCHEDULE, at(0));
	add(&j, 0, 0, RUN_RUNNING);
	add(&j, -5, -4, RUN_SUCCEEDED);
	chart_of(&j, 3);
	chart_doubt(&j.chart);
	assert_int_equal(j.chart.lines[0].end, CHART_OK);
	assert_int_equal(j.chart.lines[1].end, CHART_UNKNOWN);
	assert_int_equal(j.chart.lines[1].unknown_us, at(3));
	job_end(&j);
}

static void test_span(void **state)
{
	struct job j;

	(void)state;
	job_begin(&j, "*/5 * * * *", "Allow");
	add(&j, -60, -59, RUN_SUCCEEDED);
	chart_of(&j, 0);
	assert_int_equal(chart_span_us(j.s, at(0)), 60 * MINUTE_US);
	/* One old failure does not make the rest too small to see. */
	assert_int_equal(chart_span_us(j.s, at(100000)), 30 * 5 * MINUTE_US);
	assert_int_equal(chart_span_us(j.s, at(-59)), 6 * 5 * MINUTE_US);
	job_end(&j);
	/* A run of today is seen, though the next is due in a year. */
	job_begin(&j, "0 0 1 1 *", "Allow");
	add(&j, -5, -4, RUN_SUCCEEDED);
	chart_of(&j, 0);
	assert_int_equal(chart_span_us(j.s, at(0)), 60 * MINUTE_US);
	job_end(&j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_axis),
		cmocka_unit_test(test_zooms),
		cmocka_unit_test(test_ticks),
		cmocka_unit_test(test_runs_and_overlap),
		cmocka_unit_test(test_what_nobody_sees_is_no_overlap),
		cmocka_unit_test(test_pods_of_one_run),
		cmocka_unit_test(test_forbidden),
		cmocka_unit_test(test_late_and_due),
		cmocka_unit_test(test_suspended),
		cmocka_unit_test(test_unrecorded),
		cmocka_unit_test(test_no_slots),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_doubt),
		cmocka_unit_test(test_span),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
