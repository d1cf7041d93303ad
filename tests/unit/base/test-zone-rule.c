#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/zone-rule.h"
#include "tests/unit/unit.h"

static struct zone_rule parsed(const char *text)
{
	struct zone_rule rule;

	if (zone_rule_parse(text, strlen(text), &rule) != 0)
		fail_msg("\"%s\" is refused", text);
	return rule;
}

static void offsets_are_east_of_greenwich(void **state)
{
	struct zone_rule rule = parsed("CET-1CEST,M3.5.0,M10.5.0/3");

	(void)state;
	assert_int_equal(rule.offset_s[0], 3600);
	assert_int_equal(rule.offset_s[1], 7200);
	assert_string_equal(rule.abbr[0], "CET");
	assert_string_equal(rule.abbr[1], "CEST");
	assert_int_equal(rule.start.time_s, 7200);
	assert_int_equal(rule.end.time_s, 10800);
	rule = parsed("<-0330>3:30:15");
	assert_int_equal(rule.offset_s[0], -12615);
	assert_string_equal(rule.abbr[0], "-0330");
	assert_false(rule.has_dst);
	rule = parsed("<-02>2<-01>,M3.5.0/-1,M10.5.0/0");
	assert_int_equal(rule.start.time_s, -3600);
	assert_int_equal(parsed("AAA+5").offset_s[0], -18000);
	/* Summer time of its own offset. */
	assert_int_equal(parsed("IST-1GMT0,M10.5.0,M3.5.0/1").offset_s[1], 0);
}

static void what_is_no_rule_is_refused(void **state)
{
	static const char *const bad[] = { "", "C", "CE-1", "CET", "CET-", "CET-x", "CET-168",
		"CET-1:60", "CET-1:", "CET-1:0:60", "CET-1:0:", "<CET-1", "<>-1", "<CE>-1",
		"<C T>-1", "C1T-1", "CET-1CEST,", "CET-1CEST,M3.5.0", "CET-1CEST,M3.5.0,",
		"CET-1CEST,M3.5.0,M10.5.0,", "CET-1CEST,M3.5.0,M10.5.0/3x",
		"CET-1CEST,M0.5.0,M10.5.0", "CET-1CEST,M13.5.0,M10.5.0", "CET-1CEST,M3.0.0,M10.5.0",
		"CET-1CEST,M3.6.0,M10.5.0", "CET-1CEST,M3.5.7,M10.5.0", "CET-1CEST,M3.5,M10.5.0",
		"CET-1CEST,M3,M10.5.0", "CET-1CEST,J0,J5", "CET-1CEST,J366,J5", "CET-1CEST,366,5",
		"CET-1CEST,x,5", "CET-1CEST,5,M", "CET-1CEST,5/168,6", "CET-1CEST,5/,6",
		"CET-1CE,5,6", "CET-1 ", "CET-1CEST-", "CET-99999999999999999999", ":CET-1",
		"Europe/Berlin", "ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFGH-1" };
	struct zone_rule rule;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (zone_rule_parse(bad[i], strlen(bad[i]), &rule) == 0)
			fail_msg("\"%s\" is taken", bad[i]);
	/* Only len bytes are read. */
	assert_int_equal(zone_rule_parse("CET-1xxx", 5, &rule), 0);
}

static void expect(const char *text, int64_t unix_s, int offset_s, const char *abbr)
{
	struct zone_rule rule = parsed(text);
	struct zone_at at;

	zone_rule_at(&rule, unix_s, &at);
	if (at.offset_s != offset_s || strcmp(at.abbr, abbr) != 0)
		fail_msg("%s at %lld: %d %s", text, (long long)unix_s, at.offset_s, at.abbr);
	assert_true(at.since_s <= unix_s && unix_s < at.until_s);
}

static int64_t utc(int year, int month, int day, int hour, int minute, int second)
{
	struct civil civil = { year, month, day, hour, minute, second, 0 };

	return civil_seconds(&civil);
}

static void changes_fall_on_the_second(void **state)
{
	const char *berlin = "CET-1CEST,M3.5.0,M10.5.0/3";
	const char *sydney = "AEST-10AEDT,M10.1.0,M4.1.0/3";

	(void)state;
	expect(berlin, utc(2040, 3, 25, 0, 59, 59), 3600, "CET");
	expect(berlin, utc(2040, 3, 25, 1, 0, 0), 7200, "CEST");
	expect(berlin, utc(2040, 10, 28, 0, 59, 59), 7200, "CEST");
	expect(berlin, utc(2040, 10, 28, 1, 0, 0), 3600, "CET");
	expect(sydney, utc(2040, 4, 1, 0, 0, 0) - 8 * 3600 - 1, 39600, "AEDT");
	expect(sydney, utc(2040, 4, 1, 0, 0, 0) - 8 * 3600, 36000, "AEST");
	expect(sydney, utc(2041, 1, 1, 0, 0, 0), 39600, "AEDT");
}

static void days_are_counted_in_three_ways(void **state)
{
	(void)state;
	/* J60 is 1 March in every year; 59 is 29 February in a leap year, else 1 March. */
	expect("AAA0BBB,J60/0,J300/0", utc(2024, 2, 29, 23, 59, 59), 0, "AAA");
	expect("AAA0BBB,J60/0,J300/0", utc(2024, 3, 1, 0, 0, 0), 3600, "BBB");
	expect("AAA0BBB,J60/0,J300/0", utc(2023, 3, 1, 0, 0, 0), 3600, "BBB");
	expect("AAA0BBB,J59/0,J300/0", utc(2024, 2, 28, 0, 0, 0), 3600, "BBB");
	expect("AAA0BBB,59/0,J300/0", utc(2024, 2, 29, 0, 0, 0), 3600, "BBB");
	expect("AAA0BBB,59/0,J300/0", utc(2023, 2, 28, 23, 59, 59), 0, "AAA");
	expect("AAA0BBB,59/0,J300/0", utc(2023, 3, 1, 0, 0, 0), 3600, "BBB");
	/* Week 5 is the last, be it the fourth. */
	expect("AAA0BBB,M2.5.0/0,J300/0", utc(2023, 2, 25, 23, 59, 59), 0, "AAA");
	expect("AAA0BBB,M2.5.0/0,J300/0", utc(2023, 2, 26, 0, 0, 0), 3600, "BBB");
	/* No dates: those of the United States. */
	expect("EST5EDT", utc(2024, 3, 10, 6, 59, 59), -18000, "EST");
	expect("EST5EDT", utc(2024, 3, 10, 7, 0, 0), -14400, "EDT");
	expect("EST5EDT", utc(2024, 11, 3, 6, 0, 0), -18000, "EST");
}

static void a_rule_may_reach_into_the_next_year(void **state)
{
	/* Summer time all year: its end falls on its start. */
	const char *always = "XXX3EDT4,0/0,J365/23";
	struct zone_rule rule = parsed(always);
	struct zone_at at;

	(void)state;
	for (int64_t s = utc(2039, 12, 20, 0, 0, 0); s < utc(2041, 1, 10, 0, 0, 0); s += 1800) {
		zone_rule_at(&rule, s, &at);
		assert_int_equal(at.offset_s, -14400);
	}
	/* Hour 167 of the last Sunday of December ends in January. */
	expect("AAA0BBB,M6.1.0,M12.5.0/167", utc(2024, 1, 6, 21, 59, 59), 3600, "BBB");
	expect("AAA0BBB,M6.1.0,M12.5.0/167", utc(2024, 1, 7, 0, 0, 0), 0, "AAA");
	/* Midnight of 1 January east of Greenwich is December in UTC. */
	expect("AAA-12BBB,1/0,J200/0", utc(2024, 1, 1, 11, 59, 59), 43200, "AAA");
	expect("AAA-12BBB,1/0,J200/0", utc(2024, 1, 1, 12, 0, 0), 46800, "BBB");
	expect("AAA-12BBB,0/0,J200/0", utc(2023, 12, 31, 12, 0, 0), 46800, "BBB");
}

static void the_ends_of_time_have_an_offset(void **state)
{
	(void)state;
	expect("CET-1CEST,M3.5.0,M10.5.0/3", INT64_MIN, 3600, "CET");
	expect("CET-1CEST,M3.5.0,M10.5.0/3", INT64_MAX - 1, 3600, "CET");
	expect("CET-1", INT64_MAX - 1, 3600, "CET");
}

/* glibc reads the same strings; it is asked between the years that it and we agree to know. */
static void agrees_with_libc(void **state)
{
	static const char *const rules[] = { "CET-1CEST,M3.5.0,M10.5.0/3", "EST5EDT,M3.2.0,M11.1.0",
		"AEST-10AEDT,M10.1.0,M4.1.0/3", "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0",
		"<-04>4<-03>,M9.1.6/24,M4.1.6/24", "EET-2EEST,M4.5.5/0,M10.5.4/24",
		"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "<+1245>-12:45<+1345>,M9.5.0/2:45,M4.1.0/3:45",
		"IST-1GMT0,M10.5.0,M3.5.0/1", "<+0545>-5:45", "AAA0BBB,J60,J300",
		"AAA3BBB,59,300" };
	uint64_t seed = 11;

	(void)state;
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		struct zone_rule rule = parsed(rules[i]);

		setenv("TZ", rules[i], 1);
		tzset();
		for (int n = 0; n < 3000; n++) {
			time_t t = utc(1970, 1, 2, 0, 0, 0) +
				   (time_t)unit_pick(&seed, (size_t)400 * 365 * 86400);
			struct zone_at at;
			struct tm tm;

			localtime_r(&t, &tm);
			zone_rule_at(&rule, t, &at);
			if (at.offset_s != tm.tm_gmtoff || strcmp(at.abbr, tm.tm_zone) != 0 ||
				at.dst != (tm.tm_isdst > 0))
				fail_msg("%s at %lld: %d %s, libc %ld %s", rules[i], (long long)t,
					at.offset_s, at.abbr, tm.tm_gmtoff, tm.tm_zone);
		}
	}
	unsetenv("TZ");
	tzset();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(offsets_are_east_of_greenwich),
		cmocka_unit_test(what_is_no_rule_is_refused),
		cmocka_unit_test(changes_fall_on_the_second),
		cmocka_unit_test(days_are_counted_in_three_ways),
		cmocka_unit_test(a_rule_may_reach_into_the_next_year),
		cmocka_unit_test(the_ends_of_time_have_an_offset),
		cmocka_unit_test(agrees_with_libc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
