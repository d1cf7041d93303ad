#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/cron.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/zone-rule.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const int64_t instants[] = { INT64_MIN, -5000000000, -1, 0, 1, 1711846800, 1729987200,
	4102444800, 253402300800, INT64_MAX - 1 };

static void check_at(const struct zone_at *at, int64_t unix_s)
{
	if (unix_s < at->since_s || unix_s >= at->until_s || strlen(at->abbr) > ZONE_ABBR_MAX)
		abort();
}

/* Whatever the clock does, a search ends, and goes forward. */
static void check_slots(const struct zone *zone)
{
	static const char *const schedules[] = { "* * * * *", "30 2 * * *", "0 0 31 12 *",
		"59 23 29 2 1" };

	for (size_t i = 0; i < ARRAY_LEN(schedules); i++) {
		int64_t us = INT64_C(1711846800000000);
		struct cron cron;

		cron_parse(schedules[i], &cron, NULL);
		for (int n = 0; n < 4; n++) {
			int64_t before = us;

			if (cron_next(&cron, zone, before, &us) && us <= before)
				abort();
		}
	}
}

static void check_zone(const struct zone *zone)
{
	for (size_t i = 0; i < ARRAY_LEN(instants); i++) {
		struct zone_at at;
		struct civil civil;

		zone_at(zone, instants[i], &at);
		check_at(&at, instants[i]);
		zone_civil(zone, instants[i], &civil);
		zone_instant(zone, &civil);
	}
	check_slots(zone);
}

/* The input is a TZif file, and a POSIX TZ string. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct zone_rule rule;
	struct zone *zone;
	struct err err = { 0 };

	if (zone_parse("fuzz", data, size, &zone, &err) == 0) {
		check_zone(zone);
		zone_free(zone);
	} else if (err.code != ERR_PROTO || !err.text[0]) {
		abort();
	}
	if (zone_rule_parse((const char *)data, size, &rule) == 0)
		for (size_t i = 0; i < ARRAY_LEN(instants); i++) {
			struct zone_at at;

			zone_rule_at(&rule, instants[i], &at);
			check_at(&at, instants[i]);
		}
	return 0;
}
