#include "config.h"

#include "../unit.h"
#include "base/str.h"
#include "base/text.h"
#include "model/journal.h"
#include "tui/format.h"
#include "tui/view.h"

#include <string.h>

#define NOW_MS INT64_C(1000000000)
#define NOW_US INT64_C(1767362570000000) /* 2026-01-02T14:02:50Z */

static const struct model model = { .now_ms = NOW_MS, .now_us = NOW_US };

/* Each text with the moment until which it is true: no earlier (that would write for nothing), and
 * no later. */
static void ages(void **state)
{
	static const struct {
		int64_t age_ms;
		const char *text;
		int64_t holds_ms;
	} cases[] = {
		{ 0, "0s", 1000 }, { 999, "0s", 1 }, { 59500, "59s", 500 }, { 60000, "1m", 60000 },
		{ 61000, "1m", 59000 }, { 3600000, "1h", 60000 }, { 3660000, "1h1m", 60000 },
		{ 86400000, "1d", 86400000 },
		{ -5000, "0s", 1000 }, /* another machine's clock is ahead */
	};
	char buf[CLOCK_TEXT_MAX];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int64_t next = INT64_MAX;

		format_since(buf, &model, NOW_US - cases[i].age_ms * 1000, &next);
		assert_string_equal(buf, cases[i].text);
		assert_int_equal(next, NOW_MS + cases[i].holds_ms);
	}
}

static void unknown_is_a_dash(void **state)
{
	const struct singleton s = { .lease_deadline_ms = TIME_UNKNOWN,
		.lease_granted_ms = TIME_UNKNOWN };
	int64_t next = INT64_MAX;
	char buf[CLOCK_TEXT_MAX];

	(void)state;
	format_since(buf, &model, TIME_UNKNOWN, &next);
	assert_string_equal(buf, "-");
	format_since_ms(buf, &model, TIME_UNKNOWN, &next);
	assert_string_equal(buf, "-");
	format_clock(buf, &model, TIME_UNKNOWN);
	assert_string_equal(buf, "-");
	assert_int_equal(format_lease(buf, &model, &s, &next), TIME_UNKNOWN);
	assert_string_equal(buf, "-");
	format_picture_age(buf, &model, TIME_UNKNOWN, &next);
	assert_string_equal(buf, "never");
	assert_int_equal(next, INT64_MAX);
}

static void pictures_age_in_steps(void **state)
{
	static const struct {
		int64_t age_ms;
		const char *text;
		int64_t holds_ms;
	} cases[] = { { 0, "<5s", 5000 }, { 4999, "<5s", 1 }, { 5000, "5s", 5000 },
		{ 12345, "10s", 2655 }, { 59999, "55s", 1 }, { 60000, "1m", 60000 } };
	char buf[CLOCK_TEXT_MAX];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int64_t next = INT64_MAX;

		format_picture_age(buf, &model, NOW_MS - cases[i].age_ms, &next);
		assert_string_equal(buf, cases[i].text);
		assert_int_equal(next, NOW_MS + cases[i].holds_ms);
	}
}

/* In the first half of its time in steps, rounded down; then to the second; past its end with a
 * minus. */
static void leases(void **state)
{
	static const struct {
		int64_t granted_ms, left_ms;
		const char *text;
		int64_t shown_ms;
	} cases[] = {
		{ 15000, 14900, "10s", 10000 },
		{ 15000, 10000, "10s", 10000 },
		{ 15000, 9999, "9s", 9000 },
		{ 15000, 500, "0s", 0 },
		{ 15000, -1, "-0s", -1 },
		{ 15000, -9000, "-9s", -9000 },
		{ 60000, 59000, "55s", 55000 },
		{ 60000, 29000, "29s", 29000 },
		{ 3600000, 3599000, "59m", 3540000 },
		{ TIME_UNKNOWN, 14900, "14s", 14000 },
	};
	char buf[CLOCK_TEXT_MAX];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct singleton s = { .lease_granted_ms = cases[i].granted_ms,
			.lease_deadline_ms = NOW_MS + cases[i].left_ms };
		int64_t next = INT64_MAX;

		assert_int_equal(format_lease(buf, &model, &s, &next), cases[i].shown_ms);
		assert_string_equal(buf, cases[i].text);
		assert_true(next > NOW_MS && next < INT64_MAX);
	}
}

/* A millisecond before the announced moment the text is still true; and without a renewal it never
 * shows more than before. */
static void announced_moments_are_exact(void **state)
{
	uint64_t seed = 7;
	int turn;

	(void)state;
	for (turn = 0; turn < 3000; turn++) {
		const struct singleton s = { .lease_granted_ms =
						     1000 + (int64_t)unit_pick(&seed, 200000),
			.lease_deadline_ms = NOW_MS - 5000 + (int64_t)unit_pick(&seed, 205000) };
		int64_t next = INT64_MAX, unused = INT64_MAX, shown, later;
		struct model m = model;
		char now[CLOCK_TEXT_MAX], then[CLOCK_TEXT_MAX];

		shown = format_lease(now, &m, &s, &next);
		m.now_ms = next - 1;
		format_lease(then, &m, &s, &unused);
		assert_string_equal(now, then);
		for (m.now_ms = NOW_MS; m.now_ms < NOW_MS + 20000; m.now_ms += 333, shown = later) {
			later = format_lease(then, &m, &s, &unused);
			assert_true(later <= shown);
		}
	}
}

static void clocks(void **state)
{
	char buf[CLOCK_TEXT_MAX];

	(void)state;
	format_clock(buf, &model, NOW_US - 9000000);
	assert_string_equal(buf, "14:02:41");
	format_clock(buf, &model, NOW_US - INT64_C(3) * 86400 * 1000000);
	assert_string_equal(buf, "Dec 30");
	format_clock(buf, &model, NOW_US - INT64_C(400) * 86400 * 1000000);
	assert_string_equal(buf, "2024-11");
	/* Who looks at midnight reads of the evening's runs: their date alone tells nothing. */
	format_when(buf, &model, NOW_US - 9000000);
	assert_string_equal(buf, "14:02:41");
	format_when(buf, &model, NOW_US - INT64_C(15) * 3600 * 1000000);
	assert_string_equal(buf, "Jan 01 23:02");
	format_when(buf, &model, NOW_US - INT64_C(400) * 86400 * 1000000);
	assert_string_equal(buf, "2024-11-28");
	format_when(buf, &model, TIME_UNKNOWN);
	assert_string_equal(buf, "-");
}

static void words(void **state)
{
	char buf[32];

	(void)state;
	format_env(buf, NULL);
	assert_string_equal(buf, "ENV NOT SET");
	assert_int_equal(style_of_env(NULL), STYLE_ENV_PROD);
	format_env(buf, " ");
	assert_string_equal(buf, "ENV NOT SET");
	/* What the gate asks the most for looks so, by whatever word. */
	assert_int_equal(style_of_env("Production"), STYLE_ENV_PROD);
	assert_int_equal(style_of_env("eu-prod"), STYLE_ENV_PROD);
	assert_int_equal(style_of_env("staging-live"), STYLE_ENV_PROD);
	assert_int_equal(style_of_env("PRD"), STYLE_ENV_PROD);
	assert_int_equal(style_of_env(""), STYLE_ENV_PROD);
	assert_int_equal(style_of_env("staging"), STYLE_ENV_STAGING);
	assert_int_equal(style_of_env("lab"), STYLE_ENV_LAB);
	assert_int_equal(style_of_env("dev"), STYLE_ENV);
	format_bytes(buf, sizeof(buf), 999);
	assert_string_equal(buf, "999 B");
	format_bytes(buf, sizeof(buf), 480000);
	assert_string_equal(buf, "480 kB");
	format_bytes(buf, sizeof(buf), 3100000);
	assert_string_equal(buf, "3.1 MB");
}

static void details(void **state)
{
	static const struct {
		struct detail detail;
		const char *text;
	} cases[] = {
		{ { .id = DETAIL_STATE, .hidden = true }, "hidden" },
		{ { .id = DETAIL_STATE, .s = "idle" }, "idle" },
		{ { .id = DETAIL_PID, .i = 4711 }, "4711" },
		{ { .id = DETAIL_LEASE, .i = 0x694d7f2a }, "694d7f2a" },
		{ { .id = DETAIL_LEASE, .i = -1 }, "ffffffffffffffff" },
		{ { .id = DETAIL_IN_RECOVERY, .i = 1 }, "yes" },
		{ { .id = DETAIL_STATE_CHANGE, .i = NOW_US - 41 * INT64_C(60000000) },
			"2026-01-02T13:21:50Z (41m ago)" },
		{ { .id = DETAIL_TTL_DEADLINE, .i = NOW_MS - 9000 }, "9s past its end" },
		{ { .id = DETAIL_TTL_DEADLINE, .i = NOW_MS + 7000 }, "7s left" },
		{ { .id = DETAIL_TTL_READ, .i = NOW_MS - 3000 }, "3s ago" },
		{ { .id = DETAIL_ROUND_TRIP, .i = 12 }, "12 ms" },
		{ { .id = DETAIL_KEEPALIVE_HORIZON, .i = 7875000 }, "2h11m" },
	};
	struct str out;
	size_t i;

	(void)state;
	str_init(&out, 4096);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int64_t next = INT64_MAX;

		str_clear(&out);
		format_detail(&out, &model, &cases[i].detail, &next);
		assert_string_equal(out.s, cases[i].text);
	}
	str_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ages),
		cmocka_unit_test(unknown_is_a_dash),
		cmocka_unit_test(pictures_age_in_steps),
		cmocka_unit_test(leases),
		cmocka_unit_test(announced_moments_are_exact),
		cmocka_unit_test(clocks),
		cmocka_unit_test(words),
		cmocka_unit_test(details),
	};

	text_init_locale();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
