#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/zone.h"
#include "model/draft.h"
#include "model/schedule.h"
#include "tests/unit/unit.h"

/* A schedule with its zone: which zone counts, and what a schedule that can't be used says. */

static const int64_t minute_us = INT64_C(60) * 1000000;
static const int64_t noon_us = INT64_C(1790078400) * 1000000; /* 2026-09-22T12:00:00Z */

/* The zones of these tests need no files: UTC, and one that is two hours east of it. */
static int load(const char *name, struct zone **ret, struct err *err)
{
	/* A TZif file without data, whose footer tells all (RFC 9636, version 2). */
#define TZIF_HEAD   "TZif2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
#define TZIF_COUNTS "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\4"
	static const char east[] = TZIF_HEAD TZIF_COUNTS "\0\0\0\0\0\0EET\0" TZIF_HEAD TZIF_COUNTS
							 "\0\0\x1c\x20\0\0EET\0\nEET-2\n";

	if (strcmp(name, "UTC") == 0 || !*name)
		return zone_load("UTC", ret, err);
	if (strcmp(name, "Test/East") == 0)
		return zone_parse(name, east, sizeof(east) - 1, ret, err);
	return err_set(err, ERR_NOTFOUND, "there is no time zone \"%s\"", name);
}

static void the_field_counts(void **state)
{
	struct schedule *s = schedule_new("0 14 * * *", "Test/East", load);
	int64_t next;

	(void)state;
	assert_null(s->error);
	assert_string_equal(s->zone_name, "Test/East");
	assert_false(s->zone_in_text);
	assert_true(schedule_next(s, noon_us - minute_us, &next));
	assert_true(next == noon_us);
	schedule_unref(s);
}

static void without_a_zone_it_is_utc(void **state)
{
	struct schedule *s = schedule_new("0 12 * * *", NULL, load);
	int64_t next;

	(void)state;
	assert_null(s->zone_name);
	assert_ptr_equal(schedule_zone(s), zone_utc());
	assert_true(schedule_next(s, noon_us - minute_us, &next));
	assert_true(next == noon_us);
	schedule_unref(s);
}

/* The controller does not put spec.timeZone before a schedule that has TZ in it. */
static void the_text_beats_the_field(void **state)
{
	struct schedule *s = schedule_new("CRON_TZ=Test/East 0 14 * * *", "UTC", load);
	int64_t next;

	(void)state;
	assert_null(s->error);
	assert_true(s->zone_in_text);
	assert_string_equal(s->zone_name, "Test/East");
	assert_true(schedule_next(s, noon_us - minute_us, &next));
	assert_true(next == noon_us);
	schedule_unref(s);
}

static void what_can_not_be_used_has_no_slots(void **state)
{
	static const struct {
		const char *text, *zone;
		bool zone_unknown;
	} bad[] = {
		{ "0 12 * * *", "Nowhere/Here", true },
		{ "TZ=Nowhere/Here 0 12 * * *", NULL, true },
		/* An unknown field ends it too, though the text has a zone of its own. */
		{ "TZ=Test/East 0 12 * * *", "Nowhere/Here", true },
		{ "61 * * * *", NULL, false },
		{ "61 * * * *", "Test/East", false },
		{ "61 * * * *", "UTC", false },
		{ "", NULL, false },
	};
	struct cron_missed missed;
	int64_t at;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct schedule *s = schedule_new(bad[i].text, bad[i].zone, load);

		if (!s->error || schedule_zone_unknown(s) != bad[i].zone_unknown)
			fail_msg("%s %s: %s", bad[i].text, bad[i].zone ? bad[i].zone : "",
				s->error ? s->error : "no error");
		assert_false(schedule_next(s, noon_us, &at));
		assert_false(schedule_latest(s, 0, noon_us, &at));
		assert_int_equal(schedule_count(s, 0, noon_us, 10), 0);
		schedule_missed(s, 0, -1, noon_us, &missed);
		assert_int_equal(missed.kind, CRON_MISSED_NONE);
		assert_false(s->never);
		schedule_unref(s);
	}
}

static void none_at_all_has_no_slots(void **state)
{
	struct cron_missed missed = { .kind = CRON_MISSED_MANY };
	int64_t at;

	(void)state;
	assert_null(schedule_ref(NULL));
	schedule_unref(NULL);
	assert_false(schedule_next(NULL, noon_us, &at));
	assert_int_equal(schedule_count(NULL, 0, noon_us, 10), 0);
	schedule_missed(NULL, 0, -1, noon_us, &missed);
	assert_int_equal(missed.kind, CRON_MISSED_NONE);
}

static void never_is_told_from_wrong(void **state)
{
	struct schedule *never = schedule_new("0 0 30 2 *", NULL, load);
	struct schedule *seldom = schedule_new("0 0 29 2 *", NULL, load);

	(void)state;
	assert_true(never->never);
	assert_null(never->error);
	assert_false(seldom->never);
	schedule_unref(never);
	schedule_unref(seldom);
}

static void foreign_text_is_escaped(void **state)
{
	struct schedule *s = schedule_new("\x1b[2J * * * *", "\x07", zone_load);

	(void)state;
	assert_null(strchr(s->text, '\x1b'));
	assert_null(strchr(s->zone_name, '\x07'));
	assert_null(strchr(s->error, '\x07'));
	schedule_unref(s);
}

/* Rows share it, and the last that lets go frees it (the address sanitizer looks). */
static void it_is_shared_by_rows(void **state)
{
	struct schedule *s = schedule_new("@hourly", NULL, load);
	struct draft *d = draft_new();
	struct singleton *one, *two;
	int64_t next;

	(void)state;
	draft_begin(d, MECH_K8S_CRONJOB, "k", "cronjob/a/b", 11);
	draft_schedule(d, s);
	one = draft_finish(d);
	two = draft_finish(d);
	schedule_unref(s);
	draft_free(d);
	singleton_unref(one);
	assert_true(schedule_next(two->more->schedule, noon_us, &next));
	assert_true(next == noon_us + 60 * minute_us);
	singleton_unref(two);
}

static void the_controllers_count_passes_through(void **state)
{
	struct schedule *s = schedule_new("* * * * *", NULL, load);
	struct cron_missed missed;

	(void)state;
	schedule_missed(s, noon_us, -1, noon_us + 200 * minute_us, &missed);
	assert_int_equal(missed.kind, CRON_MISSED_MANY);
	assert_int_equal(missed.estimate, 200);
	assert_int_equal(missed.counted, CRON_MISSED_LIMIT + 1);
	schedule_missed(s, noon_us, 120, noon_us + 200 * minute_us, &missed);
	assert_int_equal(missed.kind, CRON_MISSED_FEW);
	schedule_unref(s);
}

static void a_slot_in_another_zone_is_told(void **state)
{
	struct schedule *s = schedule_new("0 9 * * *", NULL, load);

	(void)state;
	assert_true(schedule_slots_told(s, noon_us - 180 * minute_us));
	assert_true(schedule_slots_told(s, TIME_UNKNOWN));
	assert_true(schedule_slots_told(s, noon_us + 7 * minute_us));
	assert_false(schedule_slots_told(s, noon_us));
	assert_true(schedule_slots_told(NULL, noon_us));
	schedule_unref(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_field_counts),
		cmocka_unit_test(without_a_zone_it_is_utc),
		cmocka_unit_test(the_text_beats_the_field),
		cmocka_unit_test(what_can_not_be_used_has_no_slots),
		cmocka_unit_test(none_at_all_has_no_slots),
		cmocka_unit_test(never_is_told_from_wrong),
		cmocka_unit_test(foreign_text_is_escaped),
		cmocka_unit_test(it_is_shared_by_rows),
		cmocka_unit_test(the_controllers_count_passes_through),
		cmocka_unit_test(a_slot_in_another_zone_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
