#ifndef MODEL_SCHEDULE_H
#define MODEL_SCHEDULE_H

#include "base/cron.h"

#include <stdbool.h>
#include <stdint.h>

struct err;

/*
 * When a job is meant to start: a schedule with its time zone, ready to be asked. Immutable,
 * counted by references from any thread; rows share it. A schedule that can't be used is one too:
 * it has no slots, and its error says why.
 */
struct schedule {
	int refs;
	const char *text;      /* as it was written, sanitised */
	const char *zone_name; /* the zone that counts, from the field or from the text; NULL: the
				  controller's own, which is not told: taken as UTC */
	const char *error;     /* why it has no slots: "unknown time zone"; NULL: it is good */
	bool zone_in_text;     /* by CRON_TZ= or TZ=, which Kubernetes does not support */
	bool never;            /* it is valid, and no day ever fits: 30 February */
	struct cron cron;
	struct zone *zone; /* owned; NULL: UTC */
};

/* Loads a zone by name: zone_load, or what a test puts in its place. */
typedef int (*schedule_zone_load)(const char *name, struct zone **ret, struct err *err);

/*
 * text: spec.schedule; time_zone: spec.timeZone, NULL where it is not set. Both raw. One reference,
 * the caller's. Never fails: see error.
 */
struct schedule *schedule_new(const char *text, const char *time_zone, schedule_zone_load load);
/* Both take NULL. Safe from any thread. */
struct schedule *schedule_ref(const struct schedule *s);
void schedule_unref(const struct schedule *s);

/* The zone to reckon with; never NULL. */
const struct zone *schedule_zone(const struct schedule *s);

/* Whether its error is that the zone which counts is not known, and not the text itself. */
bool schedule_zone_unknown(const struct schedule *s);

/* As cron_next, cron_latest and cron_count; a NULL schedule, and one with an error, has no slots.
 */
bool schedule_next(const struct schedule *s, int64_t after_us, int64_t *ret_us);
bool schedule_latest(const struct schedule *s, int64_t after_us, int64_t until_us, int64_t *ret_us);
int64_t schedule_count(const struct schedule *s, int64_t after_us, int64_t until_us, int64_t max);
/*
 * Whether the slots are those of the schedule as it is read here. Where no zone is said it is the
 * controller's own, which is not told and taken as UTC: a slot that was started (last_us, or
 * TIME_UNKNOWN), and is none in UTC but one some half hours away, shows that it is another. True
 * where there are no slots at all.
 */
bool schedule_slots_told(const struct schedule *s, int64_t last_us);
/* As cron_missed; CRON_MISSED_NONE where there are no slots. */
void schedule_missed(const struct schedule *s, int64_t since_us, int64_t deadline_s, int64_t now_us,
	struct cron_missed *ret);

#endif
