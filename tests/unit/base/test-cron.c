#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cron.h"
#include "base/err.h"
#include "tests/unit/unit.h"

#define ZONEINFO TESTS_DIR "/oracle/cron/zoneinfo"

static struct cron parsed(const char *text)
{
	struct err err = { 0 };
	struct cron cron;

	if (cron_parse(text, &cron, &err) != 0)
		fail_msg("%s", err.text);
	return cron;
}

static struct zone *loaded(const char *name)
{
	struct err err = { 0 };
	struct zone *zone;

	setenv("TZDIR", ZONEINFO, 1);
	if (zone_load(name, &zone, &err) != 0)
		fail_msg("%s", err.text);
	return zone;
}

/* --- reading --- */

static uint64_t bits(int from, int to, int step)
{
	uint64_t sum = 0;

	for (int i = from; i <= to; i += step)
		sum |= UINT64_C(1) << i;
	return sum;
}

static void fields_are_sets_of_values(void **state)
{
	struct cron cron = parsed("*/15 8-17/3,20 1,15 jan-MAR,dec ?");

	(void)state;
	assert_true(cron.minutes == bits(0, 59, 15));
	assert_true(cron.hours == (bits(8, 17, 3) | bits(20, 20, 1)));
	assert_true(cron.days == (bits(1, 1, 1) | bits(15, 15, 1)));
	assert_true(cron.months == (bits(1, 3, 1) | bits(12, 12, 1)));
	assert_true(cron.weekdays == (bits(0, 6, 1) | CRON_STAR));
	assert_int_equal(cron.every_s, 0);
	assert_string_equal(cron.zone, "");
	cron = parsed("5/20 * * * Sun,sat");
	assert_true(cron.minutes == bits(5, 59, 20));
	assert_true(cron.hours == (bits(0, 23, 1) | CRON_STAR));
	assert_true(cron.weekdays == (bits(0, 0, 1) | bits(6, 6, 1)));
}

static void a_step_takes_the_star_away(void **state)
{
	(void)state;
	assert_true(parsed("* * */1 * *").days & CRON_STAR);
	assert_true(parsed("* * ?/1 * *").days & CRON_STAR);
	assert_true(parsed("* * 7,* * *").days & CRON_STAR);
	assert_false(parsed("* * */2 * *").days & CRON_STAR);
	assert_false(parsed("* * 1-31 * *").days & CRON_STAR);
}

static void the_librarys_oddities_are_kept(void **state)
{
	(void)state;
	assert_true(parsed("*-x * * * *").minutes == (bits(0, 59, 1) | CRON_STAR));
	assert_true(parsed("1,,2, * * * *").minutes == bits(1, 2, 1));
	assert_true(parsed(", * * * *").minutes == 0);
	assert_true(parsed("+5 * * * *").minutes == bits(5, 5, 1));
	assert_true(parsed("0 0 * * FR\xc4\xb0").weekdays == bits(5, 5, 1));
	assert_true(parsed("*/9223372036854775807 * * * *").minutes == 1);
}

static void words_stand_for_fields(void **state)
{
	static const char *const pairs[][2] = { { "@yearly", "0 0 1 1 *" },
		{ "@annually", "0 0 1 1 *" }, { "@monthly", "0 0 1 * *" },
		{ "@weekly", "0 0 * * 0" }, { "@daily", "0 0 * * *" }, { "@midnight", "0 0 * * *" },
		{ "@hourly", "0 * * * *" } };

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		struct cron word = parsed(pairs[i][0]), fields = parsed(pairs[i][1]);

		assert_memory_equal(&word, &fields, sizeof(word));
	}
}

static void every_takes_whole_seconds(void **state)
{
	(void)state;
	assert_int_equal(parsed("@every 1h30m").every_s, 5400);
	assert_int_equal(parsed("@every 1.5h").every_s, 5400);
	assert_int_equal(parsed("@every 2.999s").every_s, 2);
	assert_int_equal(parsed("@every 1ms").every_s, 1);
	assert_int_equal(parsed("@every 0").every_s, 1);
	assert_int_equal(parsed("@every -5h").every_s, 1);
	assert_int_equal(parsed("@every 3000000\xc2\xb5s").every_s, 3);
	assert_int_equal(parsed("@every 3000000\xce\xbcs").every_s, 3);
	assert_int_equal(parsed("@every 9223372036s").every_s, INT64_C(9223372036));
}

static void a_zone_may_stand_in_front(void **state)
{
	(void)state;
	assert_string_equal(parsed("TZ=Europe/Berlin 0 5 * * *").zone, "Europe/Berlin");
	assert_string_equal(parsed("CRON_TZ=Asia/Tokyo  @daily ").zone, "Asia/Tokyo");
	assert_string_equal(parsed("TZ=UTC @every 1h").zone, "UTC");
	assert_string_equal(parsed("TZ= 0 5 * * *").zone, "UTC");
	assert_string_equal(parsed("TZ=Local 0 5 * * *").zone, "");
	/* Not read here: zone_load refuses it. */
	assert_string_equal(parsed("TZ=../../etc 0 5 * * *").zone, "../../etc");
}

struct refusal {
	const char *schedule;
	const char *says[3];
};

static const struct refusal refusals[] = {
	{ "", { "is empty", "five fields", "@hourly" } },
	{ "* * * *", { "has 4 fields", "needs five", "day of week" } },
	{ "* * * * * *", { "has 6 fields" } },
	{ "   ", { "has 0 fields" } },
	{ "60 * * * *", { "the minute \"60\"", "above 59", "allowed is 0 to 59" } },
	{ "* 24 * * *", { "the hour \"24\"", "above 23", "0 to 23" } },
	{ "* 1-24 * * *", { "the hour \"1-24\"", "above 23" } },
	{ "* * 0 * *", { "the day of month \"0\"", "below 1", "1 to 31" } },
	{ "* * 32 * *", { "the day of month \"32\"", "above 31" } },
	{ "* * * 0 *", { "the month \"0\"", "below 1", "1 to 12 or jan to dec" } },
	{ "* * * 13 *", { "the month \"13\"", "above 12" } },
	{ "* * * * 7", { "the day of week \"7\"", "above 6", "0 (Sunday) to 6 (Saturday)" } },
	{ "x * * * *", { "the minute \"x\"", "not a number" } },
	{ "* * * smarch *", { "the month \"smarch\"", "neither a number nor a name" } },
	{ "* * * * 1,x,2", { "the day of week \"x\"", "neither" } },
	{ "*/x * * * *", { "the minute \"*/x\"", "step that is not a number" } },
	{ "*/-2 * * * *", { "the minute \"*/-2\"", "negative step" } },
	{ "*/0 * * * *", { "the minute \"*/0\"", "a step of 0" } },
	{ "5- * * * *", { "the minute \"5-\"", "not a number" } },
	{ "-5 * * * *", { "the minute \"-5\"", "not a number" } },
	{ "20-10 * * * *", { "the minute \"20-10\"", "ends before it begins" } },
	{ "1-2-3 * * * *", { "the minute \"1-2-3\"", "more than one hyphen" } },
	{ "1/2/3 * * * *", { "the minute \"1/2/3\"", "more than one slash" } },
	{ "99999999999999999999 * * * *", { "not a number" } },
	{ "@reboot", { "\"@reboot\"", "none of @yearly", "@every 1h30m" } },
	{ "@daily ", { "\"@daily \"" } },
	{ "@every", { "\"@every\"" } },
	{ "@every ", { "duration", "units ns, us, ms, s, m, h" } },
	{ "@every 5", { "duration" } },
	{ "@every 5d", { "duration" } },
	{ "@every .s", { "duration" } },
	{ "@every h", { "duration" } },
	{ "@every 3000000h", { "duration" } },
	{ "@every 99999999999999999999s", { "duration" } },
	{ "@every 9223372036854775808ns", { "duration" } },
	{ "@every 2562047h3000000m", { "duration" } },
	{ "TZ=UTC", { "after the time zone \"UTC\"", "missing" } },
	{ "CRON_TZ=", { "after the time zone \"\"", "missing" } },
	{ "TZ=UTC  ", { "has 0 fields" } },
	{ "\033[31m * * * *", { "\"\\x1b[31m\"" } },
	{ "@\xe2\x80\xae", { "\"@\\xe2\\x80\\xae\"" } },
};

static void each_refusal_names_the_field_and_what_is_allowed(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		const struct refusal *refusal = &refusals[i];
		struct cron cron = { .every_s = 42 };
		struct err err = { 0 };

		if (cron_parse(refusal->schedule, &cron, &err) != ERR_USAGE)
			fail_msg("\"%s\" is taken", refusal->schedule);
		assert_int_equal(err.code, ERR_USAGE);
		assert_int_equal(cron.every_s, 42);
		for (size_t n = 0; n < 3 && refusal->says[n]; n++)
			if (!strstr(err.text, refusal->says[n]))
				fail_msg("\"%s\": \"%s\" does not say \"%s\"", refusal->schedule,
					err.text, refusal->says[n]);
		assert_int_equal(cron_parse(refusal->schedule, &cron, NULL), ERR_USAGE);
	}
}

static void long_texts_are_cut_in_messages(void **state)
{
	char text[5000], zone[400];
	struct err err = { 0 };
	struct cron cron;

	(void)state;
	memset(text, '\x01', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	memcpy(text + sizeof(text) - 9, " * * * *", 9);
	assert_int_equal(cron_parse(text, &cron, &err), ERR_USAGE);
	assert_non_null(strstr(err.text, "allowed is 0 to 59"));
	snprintf(zone, sizeof(zone), "TZ=%0300d * * * * *", 0);
	assert_int_equal(cron_parse(zone, &cron, &err), ERR_USAGE);
	assert_non_null(strstr(err.text, "longer than any"));
	/* A long list is a good one. */
	for (size_t i = 0; i < sizeof(text) - 9; i++)
		text[i] = i % 2 ? ',' : '7';
	assert_int_equal(cron_parse(text, &cron, &err), 0);
	assert_true(cron.minutes == bits(7, 7, 1));
}

/* --- slots --- */

static int64_t utc_us(int year, int month, int day, int hour, int minute)
{
	struct civil civil = { year, month, day, hour, minute, 0, 0 };

	return civil_seconds(&civil) * 1000000;
}

static void next_is(const char *schedule, const char *zone_text, int64_t after_us, int64_t next_us)
{
	struct cron cron = parsed(schedule);
	struct zone *zone = loaded(zone_text);
	int64_t got = -1;

	if (!cron_next(&cron, zone, after_us, &got) || got != next_us)
		fail_msg("%s: %" PRId64 ", not %" PRId64, schedule, got, next_us);
	zone_free(zone);
}

static void the_next_slot_is_later(void **state)
{
	(void)state;
	next_is("0 * * * *", "UTC", utc_us(2026, 1, 2, 3, 0), utc_us(2026, 1, 2, 4, 0));
	next_is("0 * * * *", "UTC", utc_us(2026, 1, 2, 3, 0) - 1, utc_us(2026, 1, 2, 3, 0));
	next_is("0 * * * *", "UTC", utc_us(2026, 1, 2, 3, 0) + 1, utc_us(2026, 1, 2, 4, 0));
	next_is("0 0 29 2 *", "UTC", utc_us(2025, 1, 1, 0, 0), utc_us(2028, 2, 29, 0, 0));
	next_is("0 0 13 * 5", "UTC", utc_us(2026, 1, 10, 0, 0), utc_us(2026, 1, 13, 0, 0));
	next_is("0 0 13 * 5", "UTC", utc_us(2026, 1, 13, 0, 0), utc_us(2026, 1, 16, 0, 0));
	next_is("0 0 13 */1 ?", "UTC", utc_us(2026, 1, 13, 0, 0), utc_us(2026, 2, 13, 0, 0));
	next_is("30 2 * * *", "Europe/Berlin", utc_us(2026, 1, 2, 3, 0), utc_us(2026, 1, 3, 1, 30));
	next_is("0 0 1 1 *", "UTC", utc_us(1960, 5, 1, 0, 0), utc_us(1961, 1, 1, 0, 0));
}

static void a_skipped_slot_does_not_run_and_a_repeated_one_runs_twice(void **state)
{
	int64_t spring = utc_us(2024, 3, 30, 12, 0), autumn = utc_us(2024, 10, 27, 0, 0);

	(void)state;
	next_is("30 2 * * *", "Europe/Berlin", spring, utc_us(2024, 4, 1, 0, 30));
	next_is("30 2 * * *", "Europe/Berlin", autumn, utc_us(2024, 10, 27, 0, 30));
	next_is("30 2 * * *", "Europe/Berlin", utc_us(2024, 10, 27, 0, 30),
		utc_us(2024, 10, 27, 1, 30));
	next_is("30 2 * * *", "Europe/Berlin", utc_us(2024, 10, 27, 1, 30),
		utc_us(2024, 10, 28, 1, 30));
	/* Midnight is skipped: the day has no slot. */
	next_is("0 0 * * *", "America/Sao_Paulo", utc_us(2018, 11, 3, 12, 0),
		utc_us(2018, 11, 5, 2, 0));
}

static void every_counts_from_the_time_given(void **state)
{
	(void)state;
	next_is("@every 90s", "UTC", utc_us(2026, 1, 2, 3, 0) + 999999,
		utc_us(2026, 1, 2, 3, 0) + 90000000);
	next_is("@every 90s", "UTC", -1, 89000000);
}

static void has_no_next(const char *schedule, int64_t after_us)
{
	struct cron cron = parsed(schedule);
	int64_t untouched = 42;

	assert_false(cron_next(&cron, zone_utc(), after_us, &untouched));
	assert_int_equal(untouched, 42);
}

static void some_schedules_never_run(void **state)
{
	(void)state;
	has_no_next("0 0 30 2 *", utc_us(2026, 1, 1, 0, 0));
	has_no_next("0 0 31 4,6,9,11 *", utc_us(2026, 1, 1, 0, 0));
	has_no_next(", * * * *", 0);
	has_no_next("* , * * *", 0);
	has_no_next("* * , * *", 0);
	has_no_next("* * * , *", 0);
	has_no_next("* * * * ,", 0);
	has_no_next("* * , * ,", 0);
	/* 2100 has no 29 February, and 2104 is more than five years on. */
	has_no_next("0 0 29 2 *", utc_us(2096, 3, 1, 0, 0));
	next_is("0 0 29 2 *", "UTC", utc_us(2099, 1, 1, 0, 0), utc_us(2104, 2, 29, 0, 0));
	/* Beyond what microseconds hold. */
	has_no_next("0 0 1 1 *", INT64_MAX);
	has_no_next("@every 1h", INT64_MAX - 1);
	next_is("* * * * *", "UTC", INT64_MIN, -INT64_C(9223372036800) * 1000000);
}

/* Where the library hangs or goes back; ours goes on. */
static void searches_always_go_forward(void **state)
{
	(void)state;
	next_is("0 0 31 12 *", "Pacific/Apia", utc_us(2011, 12, 1, 0, 0),
		utc_us(2011, 12, 30, 10, 0));
	/* 02:53 in the second pass; 03:00 of that pass is the next on the wall. */
	next_is("* */3 * * *", "Pacific/Chatham", utc_us(2009, 4, 4, 14, 8),
		utc_us(2009, 4, 4, 14, 15));
}

/* --- looking back and counting --- */

static bool previous(
	const struct cron *cron, const struct zone *zone, int64_t before_us, int64_t *ret)
{
	return cron_before(cron, zone, before_us, INT64_MIN, ret, 1) == 1;
}

static void previous_is(const char *schedule, int64_t before_us, int64_t previous_us)
{
	struct cron cron = parsed(schedule);
	int64_t got = -1;

	if (!previous(&cron, zone_utc(), before_us, &got) || got != previous_us)
		fail_msg("%s: %" PRId64 ", not %" PRId64, schedule, got, previous_us);
}

static void the_previous_slot_is_earlier(void **state)
{
	struct cron cron = parsed("0 0 30 2 *");
	int64_t got = 42;

	(void)state;
	previous_is("0 * * * *", utc_us(2026, 1, 2, 3, 0), utc_us(2026, 1, 2, 2, 0));
	previous_is("0 * * * *", utc_us(2026, 1, 2, 3, 0) + 1, utc_us(2026, 1, 2, 3, 0));
	previous_is("* * * * *", 1, 0);
	previous_is("0 0 29 2 *", utc_us(2026, 1, 1, 0, 0), utc_us(2024, 2, 29, 0, 0));
	previous_is("0 0 29 2 *", utc_us(2104, 2, 29, 0, 0), utc_us(2096, 2, 29, 0, 0));
	assert_false(previous(&cron, zone_utc(), 0, &got));
	cron = parsed("@every 1h");
	assert_false(previous(&cron, zone_utc(), 0, &got));
	assert_int_equal(got, 42);
}

static void the_latest_slot_lies_between(void **state)
{
	struct cron cron = parsed("@every 90s"), hourly = parsed("@hourly");
	int64_t got = 42;

	(void)state;
	assert_false(cron_latest(&cron, zone_utc(), 0, 89999999, &got));
	assert_false(cron_latest(&cron, zone_utc(), 90000000, 0, &got));
	assert_int_equal(got, 42);
	assert_true(cron_latest(&cron, zone_utc(), 500000, 200000000, &got));
	assert_int_equal(got, 180000000);
	assert_true(cron_latest(&hourly, zone_utc(), 0, INT64_C(7200000000), &got));
	assert_int_equal(got, INT64_C(7200000000));
	assert_false(
		cron_latest(&hourly, zone_utc(), INT64_C(3600000000), INT64_C(7199999999), &got));
}

static void counting_stops_at_the_limit(void **state)
{
	struct cron cron = parsed("* * * * *"), every = parsed("@every 10s");

	(void)state;
	assert_int_equal(cron_count(&cron, zone_utc(), 0, INT64_C(3600000000), 1000), 60);
	assert_int_equal(cron_count(&cron, zone_utc(), 0, INT64_C(3600000000), 7), 7);
	assert_int_equal(cron_count(&cron, zone_utc(), 0, 59999999, 1000), 0);
	assert_int_equal(cron_count(&cron, zone_utc(), 60000000, 60000000, 1000), 0);
	assert_int_equal(cron_count(&cron, zone_utc(), 60000000, 0, 1000), 0);
	assert_int_equal(cron_count(&every, zone_utc(), 0, INT64_C(3600000000), 1000), 360);
	assert_int_equal(cron_count(&every, zone_utc(), 0, INT64_MAX, 1000), 1000);
}

/* --- missed slots --- */

static struct cron_missed missed(
	const char *schedule, int64_t since_us, int64_t deadline_s, int64_t now_us)
{
	struct cron cron = parsed(schedule);
	struct cron_missed ret;

	cron_missed(&cron, zone_utc(), since_us, deadline_s, now_us, &ret);
	return ret;
}

static void missed_slots_turn_many_after_a_hundred(void **state)
{
	int64_t since = utc_us(2026, 1, 2, 3, 0), minute = 60000000;
	struct cron_missed m = missed("* * * * *", since, -1, since + 59 * 1000000);

	(void)state;
	assert_true(m.kind == CRON_MISSED_NONE && !m.has_latest && m.counted == 0);
	/* One is due: it is started, and not counted as missed. */
	m = missed("* * * * *", since, -1, since + minute);
	assert_true(m.kind == CRON_MISSED_NONE && m.has_latest && m.latest_us == since + minute);
	assert_int_equal(m.counted, 1);
	assert_int_equal(m.estimate, 0);
	m = missed("* * * * *", since, -1, since + 100 * minute + 5);
	assert_true(m.kind == CRON_MISSED_FEW && m.latest_us == since + 100 * minute);
	assert_true(m.estimate == 100 && m.counted == 100);
	m = missed("* * * * *", since, -1, since + 101 * minute);
	assert_true(m.kind == CRON_MISSED_MANY && m.latest_us == since + 101 * minute);
	assert_true(m.estimate == 101 && m.counted == 101);
	m = missed("* * * * *", since, -1, since + 5000 * minute);
	assert_true(m.estimate == 5000 && m.counted == 101);
	/* A deadline: only what lies within it. */
	m = missed("* * * * *", since, 200, since + 5000 * minute);
	assert_true(m.kind == CRON_MISSED_FEW && m.counted == 4 && m.estimate == 4);
	m = missed("* * * * *", since, 0, since + 5000 * minute);
	assert_true(m.kind == CRON_MISSED_NONE && !m.has_latest && m.counted == 0);
	m = missed("* * * * *", since, INT64_MAX, since + 101 * minute);
	assert_true(m.kind == CRON_MISSED_MANY);
}

static void the_estimate_is_no_count(void **state)
{
	/* Friday 17:00 and Monday 9:00 are 64 hours apart: six weeks look like 16 slots. */
	int64_t friday = utc_us(2026, 1, 2, 16, 30), later = utc_us(2026, 2, 13, 16, 30);
	struct cron_missed m = missed("0 9-17 * * 1-5", friday, -1, later);

	(void)state;
	assert_true(m.kind == CRON_MISSED_FEW && m.estimate < 20);
	assert_int_equal(m.counted, 101);
	assert_int_equal(m.latest_us, utc_us(2026, 2, 13, 16, 0));
}

static void a_schedule_that_never_runs_is_said(void **state)
{
	struct cron_missed m = missed("0 0 30 2 *", 0, -1, utc_us(2026, 1, 1, 0, 0));

	(void)state;
	assert_true(m.kind == CRON_MISSED_NEVER && !m.has_latest && m.counted == 0);
	m = missed("0 0 29 2 *", utc_us(2096, 1, 1, 0, 0), -1, utc_us(2097, 1, 1, 0, 0));
	assert_true(m.kind == CRON_MISSED_NEVER && m.counted == 1);
}

static void extreme_times_do_no_harm(void **state)
{
	const int64_t times[] = { INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX - 1, INT64_MAX };
	struct cron crons[] = { parsed("0 0 1 1 *"), parsed("@every 2562047h"), parsed("@yearly") };

	(void)state;
	for (size_t i = 0; i < 7 * 7 * 3; i++) {
		const struct cron *cron = &crons[i % 3];
		int64_t a = times[i / 3 % 7], b = times[i / 21], got;
		struct cron_missed m;

		if (cron_next(cron, zone_utc(), a, &got))
			assert_true(got > a);
		if (previous(cron, zone_utc(), a, &got))
			assert_true(got < a);
		if (cron_latest(cron, zone_utc(), a, b, &got))
			assert_true(got > a && got <= b);
		assert_in_range(cron_count(cron, zone_utc(), a, b, 50), 0, 50);
		cron_missed(cron, zone_utc(), a, (int64_t)(i % 5) - 1, b, &m);
	}
}

/* --- laws, on schedules and times drawn at random --- */

static const char *const law_zones[] = { "UTC", "Europe/Berlin", "Europe/London",
	"America/New_York", "America/Havana", "America/Sao_Paulo", "America/St_Johns",
	"Australia/Lord_Howe", "Pacific/Chatham", "Asia/Tehran" };

enum {
	LAW_ZONES = sizeof(law_zones) / sizeof(law_zones[0]),
	LAW_ROUNDS = 3000
};

static void add_field(char *text, size_t size, uint64_t *seed, int min, int max)
{
	size_t span = (size_t)(max - min + 1), len = strlen(text);
	int low = min + (int)unit_pick(seed, span);
	int high = low + (int)unit_pick(seed, (size_t)(max - low + 1));

	text += len;
	size -= len;
	switch (unit_pick(seed, 5)) {
	case 0:
		snprintf(text, size, "%d ", low);
		break;
	case 1:
		snprintf(text, size, "%d-%d ", low, high);
		break;
	case 2:
		snprintf(text, size, "*/%d ", 1 + (int)unit_pick(seed, span / 2));
		break;
	default:
		snprintf(text, size, "* ");
	}
}

struct law {
	struct cron cron;
	struct zone *zone;
	int64_t after_us;
	char text[128];
};

static void draw(struct law *law, struct zone **zones, uint64_t *seed)
{
	law->text[0] = '\0';
	add_field(law->text, sizeof(law->text), seed, 0, 59);
	add_field(law->text, sizeof(law->text), seed, 0, 23);
	add_field(law->text, sizeof(law->text), seed, 1, 31);
	add_field(law->text, sizeof(law->text), seed, 1, 12);
	add_field(law->text, sizeof(law->text), seed, 0, 6);
	law->cron = parsed(law->text);
	law->zone = zones[unit_pick(seed, LAW_ZONES)];
	/* 2005 to 2055. */
	law->after_us = INT64_C(1104537600000000) +
			(int64_t)unit_pick(seed, (size_t)50 * 365 * 86400) * 1000000 +
			(int64_t)unit_pick(seed, 1000000);
}

static void for_laws(void (*check)(struct law *law, uint64_t *seed))
{
	struct zone *zones[LAW_ZONES];
	uint64_t seed = 2026;

	for (size_t i = 0; i < LAW_ZONES; i++)
		zones[i] = loaded(law_zones[i]);
	for (int i = 0; i < LAW_ROUNDS; i++) {
		struct law law;

		draw(&law, zones, &seed);
		check(&law, &seed);
	}
	for (size_t i = 0; i < LAW_ZONES; i++)
		zone_free(zones[i]);
}

static void broken(const struct law *law, const char *what, int64_t at_us)
{
	fail_msg("\"%s\" in %s after %" PRId64 ": %s (%" PRId64 ")", law->text,
		zone_name(law->zone), law->after_us, what, at_us);
}

/* The clock jumps within three hours of it, or the day began with a jump. */
static bool near_change(const struct zone *zone, int64_t us)
{
	struct zone_at before, after;

	zone_at(zone, us / 1000000 - 26 * 3600, &before);
	zone_at(zone, us / 1000000 + 3 * 3600, &after);
	return before.offset_s != after.offset_s;
}

static bool matches(const struct cron *cron, const struct civil *c)
{
	bool day = cron->days >> c->day & 1, weekday = cron->weekdays >> c->weekday & 1;
	bool star = (cron->days | cron->weekdays) & CRON_STAR;

	return c->second == 0 && (cron->minutes >> c->minute & 1) && (cron->hours >> c->hour & 1) &&
	       (cron->months >> c->month & 1) && (star ? day && weekday : day || weekday);
}

static void check_next(struct law *law, uint64_t *seed)
{
	struct civil civil;
	int64_t next;

	(void)seed;
	if (!cron_next(&law->cron, law->zone, law->after_us, &next))
		return;
	if (next <= law->after_us)
		broken(law, "not later", next);
	zone_civil(law->zone, next / 1000000, &civil);
	if (!matches(&law->cron, &civil) && !near_change(law->zone, next))
		broken(law, "does not match on the wall", next);
}

static void next_is_later_and_matches(void **state)
{
	(void)state;
	for_laws(check_next);
}

/* Minute by minute, no slot lies between. */
static void check_none_between(struct law *law, uint64_t *seed)
{
	int64_t next, s = law->after_us / 1000000 + 1;

	(void)seed;
	if (!cron_next(&law->cron, law->zone, law->after_us, &next))
		return;
	for (s += (60 - s % 60) % 60; s * 1000000 < next && s < law->after_us / 1000000 + 60000;
		s += 60) {
		struct civil civil;

		zone_civil(law->zone, s, &civil);
		if (matches(&law->cron, &civil) && !near_change(law->zone, s * 1000000))
			broken(law, "passes over a slot", s * 1000000);
	}
}

static void next_passes_over_no_slot(void **state)
{
	(void)state;
	for_laws(check_none_between);
}

static void check_monotone(struct law *law, uint64_t *seed)
{
	int64_t later = law->after_us + (int64_t)unit_pick(seed, (size_t)40 * 86400) * 1000000;
	int64_t first, second;
	bool has_first = cron_next(&law->cron, law->zone, law->after_us, &first);
	bool has_second = cron_next(&law->cron, law->zone, later, &second);

	if (has_first && has_second && second < first)
		broken(law, "a later start has an earlier slot", later);
	if (has_first && later < first && has_second && second != first &&
		!near_change(law->zone, first) && !near_change(law->zone, later))
		broken(law, "a start before the slot has another", later);
}

static void next_is_monotone(void **state)
{
	(void)state;
	for_laws(check_monotone);
}

static void check_inverse(struct law *law, uint64_t *seed)
{
	int64_t next, after, back;

	(void)seed;
	if (!cron_next(&law->cron, law->zone, law->after_us, &next) ||
		!cron_next(&law->cron, law->zone, next, &after) || near_change(law->zone, next) ||
		near_change(law->zone, after))
		return;
	if (!previous(&law->cron, law->zone, after, &back) || back != next)
		broken(law, "previous of next", back);
	if (!previous(&law->cron, law->zone, next + 1, &back) || back != next)
		broken(law, "previous of the time right after", back);
	if (!cron_latest(&law->cron, law->zone, law->after_us, after - 1, &back) || back != next)
		broken(law, "latest", back);
}

enum {
	WALK = 200
};

/* The same slots as on the way there, all of them and the newest of them. */
static void check_back(struct law *law, uint64_t *seed)
{
	int64_t there[WALK], back[WALK], at = law->after_us;
	size_t n = 0, i, got, max;

	while (n < WALK && cron_next(&law->cron, law->zone, at, &there[n]) &&
		!near_change(law->zone, there[n]))
		at = there[n++];
	if (!n || at - law->after_us > INT64_C(1000000) << 27 ||
		near_change(law->zone, law->after_us))
		return;
	max = 1 + unit_pick(seed, WALK);
	got = cron_before(&law->cron, law->zone, at + 1, law->after_us + 1, back, max);
	if (got != (n < max ? n : max))
		broken(law, "slots on the way back", (int64_t)got);
	for (i = 0; i < got; i++)
		if (back[i] != there[n - 1 - i])
			broken(law, "another slot on the way back", back[i]);
}

static void the_way_back_has_the_same_slots(void **state)
{
	(void)state;
	for_laws(check_back);
}

static void previous_is_the_inverse_of_next(void **state)
{
	(void)state;
	for_laws(check_inverse);
}

static void check_count(struct law *law, uint64_t *seed)
{
	int64_t until = law->after_us + (int64_t)unit_pick(seed, (size_t)3 * 86400) * 1000000;
	int64_t at = law->after_us, n = 0;

	while (n < 5000 && cron_next(&law->cron, law->zone, at, &at) && at <= until)
		n++;
	if (cron_count(&law->cron, law->zone, law->after_us, until, 5000) != n)
		broken(law, "count", n);
}

static void the_count_is_that_of_the_steps(void **state)
{
	(void)state;
	for_laws(check_count);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_are_sets_of_values),
		cmocka_unit_test(a_step_takes_the_star_away),
		cmocka_unit_test(the_librarys_oddities_are_kept),
		cmocka_unit_test(words_stand_for_fields),
		cmocka_unit_test(every_takes_whole_seconds),
		cmocka_unit_test(a_zone_may_stand_in_front),
		cmocka_unit_test(each_refusal_names_the_field_and_what_is_allowed),
		cmocka_unit_test(long_texts_are_cut_in_messages),
		cmocka_unit_test(the_next_slot_is_later),
		cmocka_unit_test(a_skipped_slot_does_not_run_and_a_repeated_one_runs_twice),
		cmocka_unit_test(every_counts_from_the_time_given),
		cmocka_unit_test(some_schedules_never_run),
		cmocka_unit_test(searches_always_go_forward),
		cmocka_unit_test(the_previous_slot_is_earlier),
		cmocka_unit_test(the_latest_slot_lies_between),
		cmocka_unit_test(counting_stops_at_the_limit),
		cmocka_unit_test(missed_slots_turn_many_after_a_hundred),
		cmocka_unit_test(the_estimate_is_no_count),
		cmocka_unit_test(a_schedule_that_never_runs_is_said),
		cmocka_unit_test(extreme_times_do_no_harm),
		cmocka_unit_test(next_is_later_and_matches),
		cmocka_unit_test(next_passes_over_no_slot),
		cmocka_unit_test(next_is_monotone),
		cmocka_unit_test(previous_is_the_inverse_of_next),
		cmocka_unit_test(the_way_back_has_the_same_slots),
		cmocka_unit_test(the_count_is_that_of_the_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
