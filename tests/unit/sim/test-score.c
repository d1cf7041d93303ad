#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "sim/net.h"
#include "sim/score.h"
#include "tests/unit/unit.h"

/* Two workers of one duty on a resource that takes every write. */
struct play {
	struct world *w;
	struct process *a, *b;
	struct duty *settle;
	struct referee *referee;
};

static const char *const settle_names[] = { "settle" }, *const orders_names[] = { "orders" },
			 *const any_names[] = { "any" };
static const char *const what_words[] = { "stop", NULL }, *const why_words[] = { "hangs", NULL };
static const int hint_costs[] = { 5, 10 };

static const struct measure measures[] = {
	{ .kind = MEASURE_OVERLAP, .of = settle_names, .n_of = 1 },
	{ .kind = MEASURE_DOUBLES, .of = orders_names, .n_of = 1 },
	{ .kind = MEASURE_ACTS, .of = any_names, .n_of = 1, .on = "worker-b" },
};
static const struct goal goals[] = {
	{ .kind = GOAL_WORKERS, .duty = "settle", .least = 1, .most = 1 },
	{ .kind = GOAL_BY, .duty = "settle", .process = "worker-b" },
};
static const struct referee_rules rules = { .begins_ms = 10000,
	.counted_ms = 10000,
	.limit_ms = 100000,
	.for_ms = 5000,
	.goals = goals,
	.n_goals = ARRAY_LEN(goals),
	.measures = measures,
	.n_measures = ARRAY_LEN(measures) };
static const struct score_cost costs[] = {
	{ .measure = { .kind = MEASURE_OVERLAP },
		.text = "two settle at once",
		.per = 1000,
		.costs = 4,
		.most = 40 },
	{ .measure = { .kind = MEASURE_DOUBLES },
		.text = "settled twice",
		.free = 1,
		.per = 1,
		.costs = 3,
		.most = 20 },
	{ .measure = { .kind = MEASURE_ACTS },
		.text = "the healthy one was hit",
		.per = 1,
		.costs = 25,
		.most = 40 },
};
static const struct score_rules score_rules = { .n_causes = 3,
	.right = 1,
	.costs = costs,
	.n_costs = ARRAY_LEN(costs),
	.par_ms = 20000,
	.limit_ms = 100000,
	.hint_costs = hint_costs,
	.n_hints = 2,
	.what = what_words,
	.why = why_words };

static struct play begin(enum resource_kind kind)
{
	struct play p = { .w = world_new(1, 0) };
	struct resource *orders;

	p.a = process_new(p.w, "worker-a", machine_new(p.w, "node-1"), NULL);
	p.b = process_new(p.w, "worker-b", machine_new(p.w, "node-2"), NULL);
	process_start(p.w, p.a);
	process_start(p.w, p.b);
	orders = resource_new(p.w, "orders", kind);
	p.settle = duty_new(p.w, "settle", orders, 2000);
	p.referee = referee_new(p.w, &rules);
	duty_begin(p.w, p.settle, p.a, 0);
	world_run(p.w, 10000);
	return p;
}

static struct score end(struct play *p, int64_t until_ms)
{
	struct score score;

	world_run(p->w, until_ms);
	score_make(&score, &score_rules, p->w, referee_account(p->referee));
	return score;
}

static char stop[] = "stop", worker_a[] = "worker-a", worker_b[] = "worker-b", ask[] = "ask";
static char good[] = "stop worker-a since it hangs", poor[] = "now";
static char fleet_x[] = "fleet/x";

static void done(struct play *p, char *verb, char *who, char *reason)
{
	deed_add(p->w,
		&(struct deed){ .verb = verb, .id = fleet_x, .identity = who, .reason = reason });
}

static void test_the_safe_way_earns_all(void **state)
{
	struct play p = begin(RESOURCE_UNFENCED);
	struct score s;

	(void)state;
	referee_diagnose(p.referee, 1);
	world_run(p.w, 15000);
	process_end(p.w, p.a, PROCESS_END_STOPPED);
	done(&p, stop, worker_a, good);
	duty_begin(p.w, p.settle, p.b, 0);
	s = end(&p, 60000);
	assert_int_equal(s.total, 100);
	assert_int_equal(referee_account(p.referee)->end, ACCOUNT_RESTORED);
	assert_int_equal(referee_account(p.referee)->restored_ms, 15250);
	assert_int_equal(referee_account(p.referee)->end_ms, 20250);
	assert_false(s.capped);
	world_free(p.w);
}

/* Who only waits has restored nothing, but where waiting is right; a question is no act. */
static void test_what_comes_right_by_itself_earns_no_time(void **state)
{
	struct score_rules waiting = score_rules;
	struct play p = begin(RESOURCE_UNFENCED);
	struct score s;

	(void)state;
	waiting.waiting = true;
	world_run(p.w, 15000);
	deed_add(p.w, &(struct deed){ .verb = ask, .id = fleet_x, .asks = true });
	process_end(p.w, p.a, PROCESS_END_STOPPED);
	duty_begin(p.w, p.settle, p.b, 0);
	s = end(&p, 60000);
	assert_int_equal(referee_account(p.referee)->end, ACCOUNT_RESTORED);
	assert_int_equal(s.time, 0);
	score_make(&s, &waiting, p.w, referee_account(p.referee));
	assert_int_equal(s.time, SCORE_TIME);
	world_free(p.w);
}

static void test_two_at_once_cost_and_cap(void **state)
{
	struct play p = begin(RESOURCE_UNFENCED);
	struct score s;

	(void)state;
	referee_diagnose(p.referee, 1);
	duty_begin(p.w, p.settle, p.b, 0);
	world_run(p.w, 14000);
	process_end(p.w, p.a, PROCESS_END_STOPPED);
	done(&p, stop, worker_a, good);
	s = end(&p, 60000);
	/* 4 s, 4 points each; doubles of which one is free. */
	assert_true(s.safety <= 40 - 16);
	assert_true(s.capped);
	assert_int_equal(s.total, 30);
	world_free(p.w);

	p = begin(RESOURCE_IDEMPOTENT);
	referee_diagnose(p.referee, 1);
	duty_begin(p.w, p.settle, p.b, 0);
	world_run(p.w, 14000);
	process_end(p.w, p.a, PROCESS_END_STOPPED);
	done(&p, stop, worker_a, good);
	s = end(&p, 60000);
	assert_int_equal(s.safety, 40 - 16);
	assert_false(s.capped);
	assert_int_equal(s.total, 84);
	world_free(p.w);
}

static void test_doing_nothing_is_scored(void **state)
{
	struct play p = begin(RESOURCE_UNFENCED);
	struct score s = end(&p, 200000);

	(void)state;
	assert_int_equal(referee_account(p.referee)->end, ACCOUNT_LIMIT);
	assert_int_equal(referee_account(p.referee)->end_ms, 110000);
	assert_int_equal(s.diagnosis + s.time + s.communication, 0);
	assert_int_equal(s.total, 40);
	world_free(p.w);
}

/* What the diagnosis earns: picks, whether something was done before, and the points. */
static void test_the_diagnosis(void **state)
{
	static const struct {
		uint64_t early, late;
		int points;
	} rows[] = {
		{ 1, 0, 30 },
		{ 2, 0, 0 },
		{ 1 | 2, 0, 15 },
		{ 1 | 2 | 4, 0, 0 },
		{ 0, 1, 10 },
		{ 2, 1, 10 },
		{ 1, 2, 30 },
		{ 1 | 2, 1, 15 },
		{ 0, 1 | 2, 10 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_LEN(rows); i++) {
		struct play p = begin(RESOURCE_UNFENCED);
		struct score s;

		if (rows[i].early)
			referee_diagnose(p.referee, rows[i].early);
		done(&p, ask, worker_a, NULL);
		done(&p, stop, worker_a, good);
		if (rows[i].late)
			referee_diagnose(p.referee, rows[i].late);
		referee_finish(p.referee);
		s = end(&p, 11000);
		if (s.diagnosis != rows[i].points)
			fail_msg("row %zu: %d, not %d", i, s.diagnosis, rows[i].points);
		world_free(p.w);
	}
}

static const char *line_of(const struct score *s, const char *what)
{
	size_t i;

	for (i = 0; i < s->n_lines; i++)
		if (strcmp(s->lines[i].what, what) == 0)
			return s->lines[i].text;
	return "";
}

static void test_time_hints_and_words(void **state)
{
	struct play p = begin(RESOURCE_UNFENCED);
	struct score s;

	(void)state;
	referee_hint(p.referee, 0);
	referee_hint(p.referee, 0);
	referee_hint(p.referee, 1);
	referee_note(p.referee, "it hangs");
	world_run(p.w, 69750);
	process_end(p.w, p.a, PROCESS_END_STOPPED);
	done(&p, stop, worker_a, poor);
	done(&p, stop, worker_b, NULL);
	duty_begin(p.w, p.settle, p.b, 0);
	s = end(&p, 120000);
	/* 60 s of which 20 are par: 20 * 40 / 80 */
	assert_int_equal(s.time, 10);
	assert_int_equal(s.hints, 15);
	assert_int_equal(s.communication, SCORE_WHY);
	/* What was missing is told, so that the next reason says it. */
	assert_non_null(strstr(line_of(&s, "communication"), "what: not said, as by: "));
	assert_non_null(strstr(line_of(&s, "communication"), "; why: said"));
	assert_int_equal(s.safety, 40 - 25);
	assert_int_equal(s.total, 15 + 10 + 3 - 15);
	world_free(p.w);
}

/* Whoever leaves early earns nothing by it: only what is said and done later does not count. */
static void test_what_comes_too_late(void **state)
{
	struct play p = begin(RESOURCE_IDEMPOTENT);
	struct score s;

	(void)state;
	world_run(p.w, 12000);
	referee_finish(p.referee);
	referee_diagnose(p.referee, 1);
	referee_note(p.referee, "stop since it hangs");
	done(&p, stop, worker_b, good);
	world_run(p.w, 20000);
	duty_begin(p.w, p.settle, p.b, 0);
	s = end(&p, 30000);
	assert_int_equal(referee_account(p.referee)->end, ACCOUNT_OPEN);
	s = end(&p, 120000);
	assert_int_equal(referee_account(p.referee)->end, ACCOUNT_FINISHED);
	assert_int_equal(referee_account(p.referee)->end_ms, 110000);
	assert_int_equal(referee_account(p.referee)->deeds, 0);
	assert_int_equal(s.diagnosis + s.communication, 0);
	assert_int_equal(s.safety, 0);
	world_free(p.w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_safe_way_earns_all),
		cmocka_unit_test(test_what_comes_right_by_itself_earns_no_time),
		cmocka_unit_test(test_two_at_once_cost_and_cap),
		cmocka_unit_test(test_doing_nothing_is_scored),
		cmocka_unit_test(test_the_diagnosis),
		cmocka_unit_test(test_time_hints_and_words),
		cmocka_unit_test(test_what_comes_too_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
