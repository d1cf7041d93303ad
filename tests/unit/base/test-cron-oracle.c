#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cron.h"
#include "base/err.h"
#include "tests/unit/unit.h"

/*
 * Compares every line of the tables in tests/oracle/cron with what zone.c and cron.c answer. The
 * zones' files lie beside the tables.
 */
#define ORACLE_DIR TESTS_DIR "/oracle/cron/"

enum {
	ZONES_MAX = 64,
	SHOWN_MAX = 20, /* disagreements that are printed */
};

struct table {
	FILE *file;
	char *line;
	size_t cap;
	int number;
	int compared, wrong;
	int astray; /* lines in which the library hangs or goes back */
	struct zone *zones[ZONES_MAX];
	size_t n_zones;
	struct cron cron;
	struct zone *own; /* the schedule's own zone, or NULL */
	char *schedule;
};

static bool next_line(struct table *table)
{
	ssize_t len = getline(&table->line, &table->cap, table->file);

	if (len <= 0)
		return false;
	if (table->line[len - 1] == '\n')
		table->line[len - 1] = '\0';
	table->number++;
	return true;
}

static void open_table(struct table *table, const char *path)
{
	memset(table, 0, sizeof(*table));
	setenv("TZDIR", ORACLE_DIR "zoneinfo", 1);
	setenv("TZ", "UTC", 1);
	table->file = fopen(path, "r");
	if (!table->file)
		fail_msg("can't open %s", path);
}

static void close_table(struct table *table)
{
	for (size_t i = 0; i < table->n_zones; i++)
		zone_free(table->zones[i]);
	zone_free(table->own);
	free(table->schedule);
	free(table->line);
	fclose(table->file);
}

static void disagree(struct table *table, const char *ours)
{
	if (table->wrong++ < SHOWN_MAX)
		print_error("line %d: %s | schedule \"%s\" | ours: %s\n", table->number,
			table->line, table->schedule ? table->schedule : "", ours);
}

static void add_zone(struct table *table, const char *name)
{
	struct err err = { 0 };

	assert_true(table->n_zones < ZONES_MAX);
	if (zone_load(name, &table->zones[table->n_zones], &err) != 0)
		fail_msg("%s", err.text);
	table->n_zones++;
}

/* --- zones.txt --- */

static void compare_offset(struct table *table, const struct zone *zone)
{
	struct zone_at at;
	char abbr[ZONE_ABBR_MAX + 1], ours[96];
	int64_t instant;
	int offset;

	assert_int_equal(sscanf(table->line, "o %" SCNd64 " %d %31s", &instant, &offset, abbr), 3);
	zone_at(zone, instant, &at);
	table->compared++;
	snprintf(ours, sizeof(ours), "%d %s", at.offset_s, at.abbr);
	if (at.offset_s != offset || strcmp(at.abbr, abbr) != 0)
		disagree(table, ours);
	assert_true(at.since_s <= instant && instant < at.until_s);
}

static void compare_date(struct table *table, const struct zone *zone)
{
	struct civil civil = { 0 };
	int64_t instant, got;
	char ours[32];

	assert_int_equal(sscanf(table->line, "d %" SCNd64 " %d %d %d %d %d %" SCNd64, &civil.year,
				 &civil.month, &civil.day, &civil.hour, &civil.minute,
				 &civil.second, &instant),
		7);
	got = zone_instant(zone, &civil);
	table->compared++;
	snprintf(ours, sizeof(ours), "%" PRId64, got);
	if (got != instant)
		disagree(table, ours);
}

static void zones_answer_as_go_does(void **state)
{
	struct table table;

	(void)state;
	open_table(&table, ORACLE_DIR "zones.txt");
	while (next_line(&table)) {
		if (table.line[0] == 'z')
			add_zone(&table, table.line + 2);
		else if (table.line[0] == 'o')
			compare_offset(&table, table.zones[table.n_zones - 1]);
		else if (table.line[0] == 'd')
			compare_date(&table, table.zones[table.n_zones - 1]);
		else
			assert_int_equal(table.line[0], '#');
	}
	print_message("%d lines compared, %d zones\n", table.compared, (int)table.n_zones);
	assert_true(table.compared > 8000);
	assert_int_equal(table.wrong, 0);
	close_table(&table);
}

/* --- slots.txt --- */

static char *unescape(const char *text)
{
	char *out = malloc(strlen(text) + 1);
	size_t n = 0;

	for (unsigned byte; *text; text++) {
		if (sscanf(text, "\\x%2x", &byte) == 1) {
			out[n++] = (char)byte;
			text += 3;
		} else {
			out[n++] = *text;
		}
	}
	out[n] = '\0';
	return out;
}

/* An unknown zone in front is a refusal, as the header says. */
static void compare_parse(struct table *table)
{
	bool accepted = table->line[0] == '+';
	struct err err = { 0 };
	int rc;

	zone_free(table->own);
	table->own = NULL;
	free(table->schedule);
	table->schedule = unescape(table->line + 2);
	rc = cron_parse(table->schedule, &table->cron, &err);
	if (rc == 0 && table->cron.zone[0])
		rc = zone_load(table->cron.zone, &table->own, &err);
	table->compared++;
	if ((rc == 0) != accepted)
		disagree(table, rc == 0 ? "accepted" : err.text);
	if (rc != 0)
		assert_true(err.code == rc && strlen(err.text) > 20);
}

/* One slot of the line: false at its end, or where it disagrees. */
static bool compare_slot(struct table *table, const struct zone *zone, char **rest, int64_t *at_us)
{
	char *token = strsep(rest, " "), *unit, ours[64];
	int64_t got, distance;
	bool found;

	if (!token)
		return false;
	found = cron_next(&table->cron, zone, *at_us, &got);
	if (strchr("-~<", *token)) {
		/* Where the library hangs or goes back, anything that goes forward is right. */
		table->astray += *token != '-';
		if (found && (*token == '-' || got <= *at_us))
			disagree(table, "a slot");
		return false;
	}
	distance = strtoll(token, &unit, 10) * (*unit == 's' ? 1 : 60);
	*at_us = (*at_us / 1000000 - (*at_us % 1000000 < 0) + distance) * 1000000;
	if (found && got == *at_us)
		return true;
	snprintf(ours, sizeof(ours), "%" PRId64 " for %" PRId64, found ? got : -1, *at_us);
	disagree(table, ours);
	return false;
}

static void compare_slots(struct table *table)
{
	char *copy = strdup(table->line), *rest = copy, *end;
	const struct zone *zone;
	char *token = strsep(&rest, " ");
	size_t number = strtoul(token, NULL, 10);
	int64_t at_us;

	assert_true(number < table->n_zones);
	zone = table->own ? table->own : table->zones[number];
	at_us = strtoll(strsep(&rest, " "), &end, 10);
	if (*end != 'u')
		at_us *= 1000000;
	table->compared++;
	while (compare_slot(table, zone, &rest, &at_us))
		;
	free(copy);
}

static void schedules_answer_as_the_library_does(void **state)
{
	struct table table;

	(void)state;
	open_table(&table, ORACLE_DIR "slots.txt");
	while (next_line(&table)) {
		if (table.line[0] == 'z')
			add_zone(&table, strrchr(table.line, ' ') + 1);
		else if (table.line[0] == '+' || table.line[0] == '-')
			compare_parse(&table);
		else if (table.line[0] != '#')
			compare_slots(&table);
	}
	print_message("%d lines compared, the library hangs or goes back in %d\n", table.compared,
		table.astray);
	assert_true(table.compared > 14000);
	assert_int_equal(table.wrong, 0);
	close_table(&table);
}

/* --- missed.txt --- */

static const char *missed_word(enum cron_missed_kind kind)
{
	static const char *const words[] = { "0", "1", "2", "never" };

	return words[kind];
}

static struct zone *find_zone(struct table *table, const char *name)
{
	for (size_t i = 0; i < table->n_zones; i++)
		if (strcmp(zone_name(table->zones[i]), name) == 0)
			return table->zones[i];
	add_zone(table, name);
	return table->zones[table->n_zones - 1];
}

/* As the fixture has it: the kind, the slot that would be started, the slots counted. */
static void compare_missed(struct table *table)
{
	char *copy = strdup(table->line), *rest = copy, latest[32] = "-", ours[96];
	const struct zone *zone;
	struct cron_missed missed;
	struct err err = { 0 };
	int64_t since_s, deadline_s, now_us;

	if (cron_parse(strsep(&rest, "\t"), &table->cron, &err) != 0)
		fail_msg("%s", err.text);
	zone = find_zone(table, strsep(&rest, "\t"));
	since_s = strtoll(strsep(&rest, "\t"), NULL, 10);
	deadline_s = strtoll(strsep(&rest, "\t"), NULL, 10);
	now_us = strtoll(strsep(&rest, "\t"), NULL, 10);
	cron_missed(&table->cron, zone, since_s * 1000000, deadline_s, now_us, &missed);
	if (missed.has_latest)
		snprintf(latest, sizeof(latest), "%" PRId64, missed.latest_us / 1000000);
	snprintf(ours, sizeof(ours), "%s\t%s\t%" PRId64, missed_word(missed.kind), latest,
		missed.counted);
	table->compared++;
	if (strcmp(rest, ours) != 0)
		disagree(table, ours);
	free(copy);
}

static void missed_slots_are_the_controllers(void **state)
{
	struct table table;

	(void)state;
	open_table(&table, TESTS_DIR "/oracle/cronjob/missed.txt");
	while (next_line(&table))
		if (table.line[0] != '#' || table.line[1] != ' ')
			compare_missed(&table);
	print_message("%d lines compared\n", table.compared);
	assert_true(table.compared > 2000);
	assert_int_equal(table.wrong, 0);
	close_table(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(zones_answer_as_go_does),
		cmocka_unit_test(schedules_answer_as_the_library_does),
		cmocka_unit_test(missed_slots_are_the_controllers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
