#ifndef BASE_CRON_H
#define BASE_CRON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/zone.h"

struct err;

/*
 * Schedules of CronJobs. The language and every answer are those of ParseStandard and Next in
 * robfig/cron v3.0.1, which Kubernetes' CronJob controller uses (pkg/controller/cronjob), with its
 * habits at changes of the clock; tests/oracle/cron compares them. Everything here is pure: the
 * zone is given, and no clock is read. Times are microseconds since 1970-01-01T00:00:00Z; slots
 * fall on whole seconds.
 */
enum {
	CRON_ZONE_MAX = ZONE_NAME_MAX
};

struct cron {
	/* Bit n: the value n is meant. CRON_STAR beside them: written as * or ?. */
	uint64_t minutes, hours, days, months, weekdays;
	int64_t every_s; /* of "@every"; else 0, and the fields count */
	/* The zone that the text names in front; "" when it names none (or "Local", which means the
	 * same to the library: the controller's own). Kubernetes puts a CronJob's timeZone there
	 * itself, but not where "TZ" stands anywhere in the schedule. */
	char zone[CRON_ZONE_MAX + 1];
};

#define CRON_STAR (UINT64_C(1) << 63)

/*
 * Reads a schedule:
 * - five fields, minute, hour, day of month, month, day of week (0 is Sunday, 7 is refused): lists
 *   of numbers, names (jan, sun), ranges and steps; "?" is "*"; "N/S" is "from N on";
 * - @yearly @annually @monthly @weekly @daily @midnight @hourly, and "@every DURATION" in Go's
 *   syntax, whole seconds, at least one;
 * - either with "TZ=ZONE " or "CRON_TZ=ZONE " before it. The zone is not loaded: zone_load's
 *   refusal (an unknown name) is a refusal of the schedule too, ERR_CONFIG for both.
 *
 * Odd but the library's: a part that begins with * or ? may have anything after a hyphen ("*-x");
 * empty parts of a list are skipped, and a field of commas alone means no value, so that it never
 * runs.
 *
 * Returns 0, or ERR_USAGE with a sentence that names the field and what is allowed in it; the
 * foreign text in it is sanitised and cut.
 */
int cron_parse(const char *text, struct cron *ret, struct err *err);

/*
 * The first slot after a time. False, and ret_us untouched, when there is none until the end of the
 * fifth year after this one, where the library gives up: 30 February, and 29 February in the years
 * before a century without one (from 1 March 1896 and 2096 on).
 *
 * When the clock changes, a slot in the time that is skipped does not run that day, and one in the
 * time that is repeated runs in both passes, apart from what the library makes of its own steps
 * there (tests/oracle/cron has thousands). "@every" counts from after_us, by elapsed time.
 *
 * The answer is always later than after_us. The library's is not: near a day that the zone skips
 * (Pacific/Apia, 30 December 2011) some of its searches never end, and this goes on to the next
 * day; in a repeated time it may answer with a time gone by ("* *\/3 * * *" in Pacific/Chatham
 * every April), and this gives the next time that matches on the wall.
 */
bool cron_next(const struct cron *cron, const struct zone *zone, int64_t after_us, int64_t *ret_us);

/*
 * The last slots before a time and not before since_us, the newest first; at most max. Looks back
 * eight years and a half at most (which finds every 29 February). Returns how many; none for
 * "@every", which has no slots but those counted from a start: use cron_latest.
 */
size_t cron_before(const struct cron *cron, const struct zone *zone, int64_t before_us,
	int64_t since_us, int64_t *slots, size_t max);

/* The last slot after after_us and not after until_us, "@every" counted from after_us. */
bool cron_latest(const struct cron *cron, const struct zone *zone, int64_t after_us,
	int64_t until_us, int64_t *ret_us);

/*
 * The number of slots after after_us and not after until_us, counted one by one and no further
 * than max: max means "max or more".
 */
int64_t cron_count(const struct cron *cron, const struct zone *zone, int64_t after_us,
	int64_t until_us, int64_t max);

/* What the CronJob controller makes of the slots that passed without a start. */
enum cron_missed_kind {
	CRON_MISSED_NONE,
	CRON_MISSED_FEW,
	CRON_MISSED_MANY,  /* > 100: event TooManyMissedTimes; 1.20 and older start nothing more */
	CRON_MISSED_NEVER, /* "InvalidSchedule": no two slots lie a second apart */
};

enum {
	CRON_MISSED_LIMIT = 100
};

struct cron_missed {
	enum cron_missed_kind kind;
	/* The controller's number since 1.21: an estimate, the time since the first slot divided by
	 * the distance of the first two. 0 where one slot or none has passed: it takes no count of
	 * the one that is due. */
	int64_t estimate;
	/* The slot that it starts now, if the deadline lets it. */
	bool has_latest;
	int64_t latest_us;
	/* 1.20 and older count one by one, and give up at more than 100: then this is 101. */
	int64_t counted;
};

/*
 * since_us is status.lastScheduleTime, or the CronJob's creation where there is none; deadline_s is
 * startingDeadlineSeconds, or negative where there is none. The facts: mostRecentScheduleTime in
 * pkg/controller/cronjob/utils.go of Kubernetes 1.34, and getRecentUnmetScheduleTimes there up to
 * 1.20. With a deadline, only what lies within it counts.
 */
void cron_missed(const struct cron *cron, const struct zone *zone, int64_t since_us,
	int64_t deadline_s, int64_t now_us, struct cron_missed *ret);

#endif
