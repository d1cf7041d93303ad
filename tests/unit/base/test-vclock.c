#include "config.h"

#include "base/vclock.h"
#include "tests/unit/unit.h"

static int64_t hand_ms; /* the machine's time in these tests */

static int64_t hand_mono(void *arg)
{
	(void)arg;
	return hand_ms;
}

static const struct clock_source hand = { .mono_ms = hand_mono };

static void stands_still_until_it_is_set_or_runs(void **state)
{
	struct vclock v;

	(void)state;
	hand_ms = 1000;
	vclock_init(&v, &hand, 5000000, 7);
	hand_ms += 500;
	assert_int_equal(vclock_now_ms(&v), 7);
	assert_true(vclock_paused(&v));
	assert_int_equal(clock_wait_ms(&v.source, 8), -1);
	assert_int_equal(clock_wait_ms(&v.source, 7), 0);
	vclock_set(&v, 100);
	assert_int_equal(clock_mono_ms(&v.source), 100);
	assert_int_equal(clock_wall_us(&v.source), 5000000 + 100 * 1000);
	vclock_release(&v);
}

static void runs_at_a_speed_and_waits_accordingly(void **state)
{
	struct vclock v;

	(void)state;
	hand_ms = 1000;
	vclock_init(&v, &hand, 0, 0);
	vclock_speed(&v, 10000);
	hand_ms += 50;
	assert_int_equal(vclock_now_ms(&v), 500);
	assert_int_equal(clock_wait_ms(&v.source, 600), 10);
	/* A part of a millisecond is waited for. */
	assert_int_equal(clock_wait_ms(&v.source, 601), 11);
	vclock_pause(&v, true);
	hand_ms += 50;
	assert_int_equal(vclock_now_ms(&v), 500);
	assert_int_equal(clock_wait_ms(&v.source, 501), -1);
	assert_int_equal(vclock_speed_now(&v), 10000);
	vclock_pause(&v, false);
	hand_ms += 1;
	assert_int_equal(vclock_now_ms(&v), 510);
	vclock_speed(&v, 500);
	hand_ms += 3;
	assert_int_equal(vclock_now_ms(&v), 511);
	vclock_release(&v);
}

static void stops_at_the_moment_that_it_was_given(void **state)
{
	struct vclock v;

	(void)state;
	hand_ms = 0;
	vclock_init(&v, &hand, 0, 0);
	vclock_most(&v, 30);
	vclock_speed(&v, 1000);
	hand_ms = 100;
	assert_int_equal(vclock_now_ms(&v), 30);
	assert_int_equal(clock_wait_ms(&v.source, 31), -1);
	vclock_most(&v, 1000);
	hand_ms = 105;
	assert_int_equal(vclock_now_ms(&v), 35);
	assert_int_equal(clock_wait_ms(&v.source, INT64_MAX), -1);
	vclock_release(&v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stands_still_until_it_is_set_or_runs),
		cmocka_unit_test(runs_at_a_speed_and_waits_accordingly),
		cmocka_unit_test(stops_at_the_moment_that_it_was_given),
	};

	return cmocka_run_group_tests_name("vclock", tests, NULL, NULL);
}
