#include "config.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/moment.h"
#include "tests/unit/unit.h"

#include <inttypes.h>

/* 2026-01-02T22:00:00Z to three hours later. */
#define FIRST_S INT64_C(1767391200)

static const struct moment_span span = {
	.first_us = FIRST_S * 1000000,
	.last_us = (FIRST_S + 3 * 3600) * 1000000,
	.plus_us = FIRST_S * 1000000,
	.minus_us = (FIRST_S + 3 * 3600) * 1000000,
};

static void what_is_a_time(void **state)
{
	static const struct {
		const char *text;
		int64_t after_ms; /* the span's beginning */
	} good[] = {
		{ "start", 0 },
		{ "end", 3 * 3600000 },
		{ "+90s", 90000 },
		{ "90", 90000 },
		{ "5m", 300000 },
		{ "250ms", 250 },
		{ "-1h", 2 * 3600000 },
		{ "1d", 3 * 3600000 },
		{ "-9d", 0 },
		{ "2026-01-02T22:10:00Z", 600000 },
		{ "2026-01-02T22:10:00.125Z", 600125 },
		{ "2026-01-02T22:10:00.1234567Z", 600123 },
		{ "2026-01-03T00:10:00+01:30", 40 * 60000 },
		{ "2026-01-02 22:10", 600000 },
		{ "22:10", 600000 },
		{ "00:10:30", 2 * 3600000 + 630000 },
		{ "21:00", 3 * 3600000 },
		{ "1999-01-02T22:10:00Z", 0 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_LEN(good); i++) {
		struct err err = { 0 };
		int64_t at_us = 0, meant_us = 0;

		if (moment_parse(good[i].text, &span, &at_us, &err))
			fail_msg("\"%s\": %s", good[i].text, err.text);
		/* As it was meant it may lie outside. */
		if (moment_parse_meant(good[i].text, &span, &meant_us, &err) ||
			(meant_us != at_us && meant_us >= span.first_us &&
				meant_us <= span.last_us))
			fail_msg("\"%s\" means %" PRId64, good[i].text, meant_us);
		if ((at_us - span.first_us) / 1000 != good[i].after_ms)
			fail_msg("\"%s\" is %" PRId64 " ms after the beginning", good[i].text,
				(at_us - span.first_us) / 1000);
	}
}

/* Who looks back from now means the last 22:10, however long ago the first was. */
static void a_time_of_the_day_may_be_the_last(void **state)
{
	static const struct {
		const char *text;
		int64_t before_s; /* the span's end: 2026-01-03T01:00:00Z */
	} good[] = {
		{ "01:00", 0 },
		{ "00:59:59", 1 },
		{ "01:00:01", 86399 },
		{ "22:10", 3 * 3600 - 600 },
		{ "2026-01-02T22:10:00Z", 3 * 3600 - 600 },
		{ "start", 9 * 86400 },
	};
	struct moment_span days = span;
	size_t i;

	(void)state;
	days.first_us = days.last_us - INT64_C(9) * 86400 * 1000000;
	days.newest = true;
	for (i = 0; i < ARRAY_LEN(good); i++) {
		int64_t at_us = 0;

		assert_int_equal(moment_parse(good[i].text, &days, &at_us, NULL), 0);
		if ((days.last_us - at_us) / 1000000 != good[i].before_s)
			fail_msg("\"%s\" is %" PRId64 " s before the end", good[i].text,
				(days.last_us - at_us) / 1000000);
	}
}

static void what_is_none(void **state)
{
	static const char *const bad[] = { "", "x", "5x", "+", "-", "22:", "24:00", "22:60",
		"2026-02-30T00:00:00Z", "2026-13-01T00:00:00Z", "2026-01-02",
		"2026-01-02T22:10:00Q", "22:10 ", "5 m", "+-5m", "--5m", "2026-01-02T22:10:00+1" };
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_LEN(bad); i++) {
		struct err err = { 0 };
		int64_t at_us = 7;

		if (moment_parse(bad[i], &span, &at_us, &err) != ERR_USAGE)
			fail_msg("\"%s\" is a time", bad[i]);
		assert_int_equal(at_us, 7);
		assert_string_not_equal(err.text, "");
	}
}

static void durations(void **state)
{
	(void)state;
	assert_int_equal(moment_duration_ms("10"), 10000);
	assert_int_equal(moment_duration_ms("2h"), 7200000);
	assert_int_equal(moment_duration_ms("-2h"), -1);
	assert_int_equal(moment_duration_ms(""), -1);
	assert_true(moment_duration_ms("99999999999999999999999999d") > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_a_time),
		cmocka_unit_test(a_time_of_the_day_may_be_the_last),
		cmocka_unit_test(what_is_none),
		cmocka_unit_test(durations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
