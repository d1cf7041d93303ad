#include "config.h"

#include <string.h>

#include "base/mem.h"
#include "model/run.h"
#include "model/singleton.h"
#include "tests/unit/unit.h"

static void words_go_both_ways(void **state)
{
	int i;

	(void)state;
	for (i = RUN_UNKNOWN; i <= RUN_FAILED; i++)
		assert_int_equal(run_state_from_word(run_state_word((enum run_state)i)), i);
	assert_int_equal(run_state_from_word("Running"), -1);
	for (i = POD_PHASE_UNKNOWN; i <= POD_FAILED; i++)
		assert_int_equal(pod_phase_from_word(pod_phase_word((enum pod_phase)i)), i);
	assert_int_equal(pod_phase_from_word("Evicted"), POD_PHASE_UNKNOWN);
}

/* A process of a pod, from what the pod's object says. */
static void a_pod_lives_by_its_facts(void **state)
{
	static const struct {
		enum pod_phase phase;
		int32_t running;
		enum tristate ready;
		bool gone;
		enum tristate alive;
	} cases[] = {
		{ POD_PENDING, 0, TRI_UNKNOWN, false, TRI_NO },
		{ POD_PENDING, -1, TRI_UNKNOWN, false, TRI_NO },
		/* An init container works. */
		{ POD_PENDING, 1, TRI_YES, false, TRI_YES },
		{ POD_RUNNING, 1, TRI_YES, false, TRI_YES },
		{ POD_RUNNING, -1, TRI_UNKNOWN, false, TRI_YES },
		/* Between two attempts. */
		{ POD_RUNNING, 0, TRI_YES, false, TRI_NO },
		{ POD_SUCCEEDED, 0, TRI_YES, false, TRI_NO },
		{ POD_SUCCEEDED, 0, TRI_NO, true, TRI_NO },
		{ POD_FAILED, 0, TRI_YES, false, TRI_NO },
		/* The control plane gave it up; its kubelet did not say so. */
		{ POD_FAILED, 0, TRI_NO, false, TRI_UNKNOWN },
		{ POD_FAILED, 0, TRI_UNKNOWN, true, TRI_UNKNOWN },
		{ POD_RUNNING, 1, TRI_NO, false, TRI_UNKNOWN },
		{ POD_RUNNING, 1, TRI_UNKNOWN, true, TRI_UNKNOWN },
		{ POD_PENDING, 0, TRI_NO, false, TRI_UNKNOWN },
		{ POD_PHASE_UNKNOWN, -1, TRI_YES, false, TRI_UNKNOWN },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_LEN(cases); i++) {
		const struct pod pod = {
			.phase = cases[i].phase,
			.containers_running = cases[i].running,
			.node_ready = cases[i].ready,
			.node_gone = cases[i].gone,
			.deleted_us = TIME_UNKNOWN,
		};

		if (pod_alive(&pod) != cases[i].alive)
			fail_msg("case %zu is %d", i, pod_alive(&pod));
	}
}

static struct run run_of(enum run_state state, const struct pod *pods, uint32_t n)
{
	struct run run = { .state = state, .pods = pods, .n_pods = n, .deleted_us = TIME_UNKNOWN };

	run.alive = run_alive(&run);
	return run;
}

static void a_run_lives_by_its_pods(void **state)
{
	const struct pod dead = { .alive = TRI_NO }, lost = { .alive = TRI_UNKNOWN };
	const struct pod lives = { .alive = TRI_YES };
	const struct pod some[] = { dead, lost, lives }, few[] = { dead, lost }, none[] = { dead };

	(void)state;
	assert_int_equal(run_of(RUN_RUNNING, some, 3).alive, TRI_YES);
	assert_int_equal(run_of(RUN_RUNNING, few, 2).alive, TRI_UNKNOWN);
	/* The record says one thing, its pods another: the pods count. */
	assert_int_equal(run_of(RUN_RUNNING, none, 1).alive, TRI_NO);
	assert_int_equal(run_of(RUN_SUCCEEDED, some, 3).alive, TRI_YES);
	assert_int_equal(run_of(RUN_FAILED, few, 2).alive, TRI_UNKNOWN);
	/* Without pods its record tells, where it tells an end. */
	assert_int_equal(run_of(RUN_RUNNING, NULL, 0).alive, TRI_UNKNOWN);
	assert_int_equal(run_of(RUN_UNKNOWN, NULL, 0).alive, TRI_UNKNOWN);
	assert_int_equal(run_of(RUN_SUCCEEDED, NULL, 0).alive, TRI_NO);
	assert_int_equal(run_of(RUN_FAILED, NULL, 0).alive, TRI_NO);
}

static void a_run_is_open_until_both_say_it_is_over(void **state)
{
	const struct pod dead = { .alive = TRI_NO }, lost = { .alive = TRI_UNKNOWN };
	struct run run;

	(void)state;
	run = run_of(RUN_RUNNING, &dead, 1);
	assert_true(run_is_open(&run));
	run = run_of(RUN_UNKNOWN, &dead, 1);
	assert_false(run_is_open(&run));
	run = run_of(RUN_UNKNOWN, &lost, 1);
	assert_true(run_is_open(&run));
	run = run_of(RUN_UNKNOWN, NULL, 0);
	assert_true(run_is_open(&run));
	run = run_of(RUN_FAILED, &dead, 1);
	assert_false(run_is_open(&run));
	run = run_of(RUN_SUCCEEDED, NULL, 0);
	assert_false(run_is_open(&run));
	run = run_of(RUN_FAILED, &lost, 1);
	assert_true(run_is_open(&run));
}

/* Its record is over, and its pods are hidden: it may live, and is no sign that it works. */
static void a_run_that_is_unseen_may_live(void **state)
{
	struct run run = run_of(RUN_FAILED, NULL, 0);

	(void)state;
	run.unseen = true;
	run.alive = run_alive(&run);
	assert_int_equal(run.alive, TRI_UNKNOWN);
	assert_false(run_is_open(&run));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_go_both_ways),
		cmocka_unit_test(a_pod_lives_by_its_facts),
		cmocka_unit_test(a_run_lives_by_its_pods),
		cmocka_unit_test(a_run_is_open_until_both_say_it_is_over),
		cmocka_unit_test(a_run_that_is_unseen_may_live),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
