#include "config.h"

#include <stdlib.h>
#include <time.h>

#include "base/civil.h"
#include "tests/unit/unit.h"

static void leap_years_are_gregorian(void **state)
{
	(void)state;
	assert_true(civil_is_leap(2024));
	assert_true(civil_is_leap(2000));
	assert_true(civil_is_leap(0));
	assert_true(civil_is_leap(-4));
	assert_false(civil_is_leap(1900));
	assert_false(civil_is_leap(2100));
	assert_false(civil_is_leap(2023));
	assert_int_equal(civil_month_days(2024, 2), 29);
	assert_int_equal(civil_month_days(2023, 2), 28);
	assert_int_equal(civil_month_days(2023, 12), 31);
	assert_int_equal(civil_month_days(2023, 9), 30);
}

static void days_count_from_1970(void **state)
{
	(void)state;
	assert_int_equal(civil_days(1970, 1, 1), 0);
	assert_int_equal(civil_days(1969, 12, 31), -1);
	assert_int_equal(civil_days(2000, 3, 1), 11017);
	assert_int_equal(civil_days(1, 1, 1), -719162);
	assert_int_equal(civil_days(0, 12, 31), -719163);
}

static void fields_out_of_range_carry_over(void **state)
{
	struct civil civil = { 2023, 12, 31, 23, 59, 60, 0 };

	(void)state;
	assert_int_equal(civil_days(2023, 10, 32), civil_days(2023, 11, 1));
	assert_int_equal(civil_days(2023, 13, 1), civil_days(2024, 1, 1));
	assert_int_equal(civil_days(2023, 0, 1), civil_days(2022, 12, 1));
	assert_int_equal(civil_days(2023, -11, 1), civil_days(2022, 1, 1));
	assert_int_equal(civil_days(2023, -12, 1), civil_days(2021, 12, 1));
	assert_int_equal(civil_days(2023, 25, 1), civil_days(2025, 1, 1));
	assert_int_equal(civil_days(2023, 3, 0), civil_days(2023, 2, 28));
	assert_int_equal(civil_seconds(&civil), civil_days(2024, 1, 1) * 86400);
	civil = (struct civil){ 1970, 1, 1, -1, -1, -1, 0 };
	assert_int_equal(civil_seconds(&civil), -3661);
}

static void agrees_with_gmtime(void **state)
{
	uint64_t seed = 7;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		/* Up to +-34,000 years. */
		int64_t s = (int64_t)unit_random(&seed) >> (23 + unit_pick(&seed, 20));
		time_t t = (time_t)s;
		struct civil civil;
		struct tm tm;

		gmtime_r(&t, &tm);
		civil_from_seconds(s, &civil);
		assert_int_equal(civil.year, tm.tm_year + 1900);
		assert_int_equal(civil.month, tm.tm_mon + 1);
		assert_int_equal(civil.day, tm.tm_mday);
		assert_int_equal(civil.hour, tm.tm_hour);
		assert_int_equal(civil.minute, tm.tm_min);
		assert_int_equal(civil.second, tm.tm_sec);
		assert_int_equal(civil.weekday, tm.tm_wday);
		assert_int_equal(civil_seconds(&civil), s);
	}
}

static void turns_of_years_and_centuries(void **state)
{
	(void)state;
	for (int64_t year = -1000; year <= 4000; year++) {
		int64_t s = civil_days(year, 1, 1) * 86400;
		struct civil civil;

		civil_from_seconds(s, &civil);
		assert_true(civil.year == year && civil.month == 1 && civil.day == 1);
		civil_from_seconds(s - 1, &civil);
		assert_true(civil.year == year - 1 && civil.month == 12 && civil.day == 31);
		assert_int_equal(civil_days(year, 3, 1) - civil_days(year, 2, 28),
			civil_is_leap(year) ? 2 : 1);
	}
}

static void the_ends_of_time_do_not_overflow(void **state)
{
	const int64_t ends[] = { INT64_MIN, INT64_MIN + 1, INT64_MAX - 1, INT64_MAX };
	struct civil civil = { INT64_MAX, INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX,
		0 };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		civil_from_seconds(ends[i], &civil);
		assert_true(llabs(civil.year) >= CIVIL_YEAR_MAX);
	}
	civil = (struct civil){ INT64_MAX, INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX,
		0 };
	assert_true(civil_seconds(&civil) > INT64_C(30000000000000000));
	civil = (struct civil){ INT64_MIN, INT32_MIN, INT32_MIN, INT32_MIN, INT32_MIN, INT32_MIN,
		0 };
	assert_true(civil_seconds(&civil) < -INT64_C(30000000000000000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leap_years_are_gregorian),
		cmocka_unit_test(days_count_from_1970),
		cmocka_unit_test(fields_out_of_range_carry_over),
		cmocka_unit_test(agrees_with_gmtime),
		cmocka_unit_test(turns_of_years_and_centuries),
		cmocka_unit_test(the_ends_of_time_do_not_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
