#include "config.h"

#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "tests/unit/unit.h"

static void formats_utc(void **state)
{
	static const struct {
		int64_t us;
		int digits;
		const char *want;
	} cases[] = {
		{ 0, 0, "1970-01-01T00:00:00Z" },
		{ 1767323045678901, 0, "2026-01-02T03:04:05Z" },
		{ 1767323045678901, 3, "2026-01-02T03:04:05.678Z" },
		{ 1767323045678901, 6, "2026-01-02T03:04:05.678901Z" },
		{ 1767323045000009, 6, "2026-01-02T03:04:05.000009Z" },
		{ -1, 6, "1969-12-31T23:59:59.999999Z" },
		{ -1000000, 3, "1969-12-31T23:59:59.000Z" },
		{ 951782400000000, 0, "2000-02-29T00:00:00Z" },
		{ 253402300799999999, 6, "9999-12-31T23:59:59.999999Z" },
	};
	char buf[CLOCK_TEXT_MAX];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		clock_format_utc(buf, cases[i].us, cases[i].digits);
		assert_string_equal(buf, cases[i].want);
	}
}

/* The ends of the type stay inside the buffer. */
static void formats_the_ends_of_time(void **state)
{
	char buf[CLOCK_TEXT_MAX + 1];

	(void)state;
	buf[CLOCK_TEXT_MAX] = 'x';
	clock_format_utc(buf, INT64_MAX, 6);
	assert_true(strlen(buf) < CLOCK_TEXT_MAX);
	clock_format_utc(buf, INT64_MIN, 6);
	assert_true(strlen(buf) < CLOCK_TEXT_MAX);
	clock_format_age(buf, INT64_MAX);
	assert_true(strlen(buf) < CLOCK_TEXT_MAX);
	clock_format_age(buf, INT64_MIN);
	assert_true(strlen(buf) < CLOCK_TEXT_MAX);
	assert_int_equal(buf[0], '-');
	assert_int_equal(buf[CLOCK_TEXT_MAX], 'x');
}

static void formats_ages(void **state)
{
	static const struct {
		int64_t ms;
		const char *want;
	} cases[] = {
		{ 0, "0s" },
		{ 999, "0s" },
		{ -999, "0s" },
		{ 1000, "1s" },
		{ 59999, "59s" },
		{ 60000, "1m" },
		{ 2460000, "41m" },
		{ 3599999, "59m" },
		{ 3600000, "1h" },
		{ 68220000, "18h57m" },
		{ 86399999, "23h59m" },
		{ 86400000, "1d" },
		{ 259200000, "3d" },
		{ -9000, "-9s" },
		{ -7200000, "-2h" },
	};
	char buf[CLOCK_TEXT_MAX];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		clock_format_age(buf, cases[i].ms);
		assert_string_equal(buf, cases[i].want);
	}
}

static void the_machines_clock_runs(void **state)
{
	int64_t mono = clock_mono_ms(&clock_system), wall = clock_wall_us(&clock_system);
	int64_t now = (int64_t)time(NULL);

	(void)state;
	assert_true(clock_mono_ms(&clock_system) >= mono);
	assert_true(wall / 1000000 >= now - 2 && wall / 1000000 <= now + 1);
}

static int64_t fixed(void *arg)
{
	return *(int64_t *)arg;
}

static void a_test_brings_its_own_clock(void **state)
{
	int64_t now = 42;
	const struct clock_source clock = { .mono_ms = fixed, .wall_us = fixed, .arg = &now };

	(void)state;
	assert_int_equal(clock_mono_ms(&clock), 42);
	now = 43;
	assert_int_equal(clock_wall_us(&clock), 43);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(formats_utc),
		cmocka_unit_test(formats_the_ends_of_time),
		cmocka_unit_test(formats_ages),
		cmocka_unit_test(the_machines_clock_runs),
		cmocka_unit_test(a_test_brings_its_own_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
