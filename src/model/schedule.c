#include "config.h"

#include "model/schedule.h"
#include "model/singleton.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

enum {
	SCHEDULE_TEXT_MAX = 1024, /* what is shown of a schedule */
	ZONE_MOST = 28,           /* half hours that a zone is away from UTC at most */
};

static const char *schedule_escaped(const char *raw)
{
	struct str text;

	str_init(&text, SCHEDULE_TEXT_MAX);
	text_escape_cut(&text, raw, strlen(raw), SCHEDULE_TEXT_MAX / 4);
	return str_take(&text);
}

static void schedule_fail(struct schedule *s, const char *text)
{
	if (!s->error)
		s->error = xstrdup(text);
}

/* Loads the zone and remembers its name; an empty name is UTC, as in Go. */
static void schedule_load(struct schedule *s, const char *name, schedule_zone_load load)
{
	struct err err = { 0 };

	s->zone_name = schedule_escaped(*name ? name : "UTC");
	if (load(name, &s->zone, &err) != 0)
		schedule_fail(s, err.text);
}

static bool schedule_ever(const struct schedule *s)
{
	int64_t first;

	/* The library's own way to say never: it looks five years ahead. The span around a century
	 * without a leap day is not reached from here. */
	return cron_next(&s->cron, schedule_zone(s), 0, &first);
}

struct schedule *schedule_new(const char *text, const char *time_zone, schedule_zone_load load)
{
	struct schedule *s = xcalloc(1, sizeof(*s));
	struct err err = { 0 };

	s->refs = 1;
	s->text = schedule_escaped(text);
	/* The controller puts spec.timeZone in front, but not where TZ stands in the schedule
	 * (formatSchedule in pkg/controller/cronjob/cronjob_controllerv2.go). A zone that it can't
	 * load ends it either way. */
	if (time_zone)
		schedule_load(s, time_zone, load);
	if (cron_parse(text, &s->cron, &err) != 0) {
		schedule_fail(s, err.text);
		return s;
	}
	s->zone_in_text = strstr(text, "TZ") != NULL;
	if (s->zone_in_text && !s->error) {
		zone_free(s->zone);
		s->zone = NULL;
		free((char *)(uintptr_t)s->zone_name);
		schedule_load(s, s->cron.zone, load);
	}
	s->never = !s->error && !schedule_ever(s);
	return s;
}

struct schedule *schedule_ref(const struct schedule *s)
{
	/* The counter is the one part of an immutable thing that changes. */
	struct schedule *own = (struct schedule *)(uintptr_t)s;

	if (own)
		__atomic_add_fetch(&own->refs, 1, __ATOMIC_RELAXED);
	return own;
}

void schedule_unref(const struct schedule *s)
{
	struct schedule *own = (struct schedule *)(uintptr_t)s;

	if (!own || __atomic_sub_fetch(&own->refs, 1, __ATOMIC_ACQ_REL) != 0)
		return;
	zone_free(own->zone);
	free((char *)(uintptr_t)own->text);
	free((char *)(uintptr_t)own->zone_name);
	free((char *)(uintptr_t)own->error);
	free(own);
}

const struct zone *schedule_zone(const struct schedule *s)
{
	return s->zone ? s->zone : zone_utc();
}

bool schedule_zone_unknown(const struct schedule *s)
{
	return s->error && s->zone_name && !s->zone;
}

static bool schedule_good(const struct schedule *s)
{
	return s && !s->error;
}

bool schedule_next(const struct schedule *s, int64_t after_us, int64_t *ret_us)
{
	return schedule_good(s) && cron_next(&s->cron, schedule_zone(s), after_us, ret_us);
}

bool schedule_latest(const struct schedule *s, int64_t after_us, int64_t until_us, int64_t *ret_us)
{
	return schedule_good(s) &&
	       cron_latest(&s->cron, schedule_zone(s), after_us, until_us, ret_us);
}

int64_t schedule_count(const struct schedule *s, int64_t after_us, int64_t until_us, int64_t max)
{
	return schedule_good(s) ? cron_count(&s->cron, schedule_zone(s), after_us, until_us, max)
				: 0;
}

void schedule_missed(const struct schedule *s, int64_t since_us, int64_t deadline_s, int64_t now_us,
	struct cron_missed *ret)
{
	*ret = (struct cron_missed){ .kind = CRON_MISSED_NONE };
	if (schedule_good(s))
		cron_missed(&s->cron, schedule_zone(s), since_us, deadline_s, now_us, ret);
}

static bool is_slot(const struct schedule *s, int64_t at_us)
{
	int64_t slot;

	return schedule_next(s, clock_minus(at_us, 1000000), &slot) && slot == at_us;
}

bool schedule_slots_told(const struct schedule *s, int64_t last_us)
{
	int i;

	if (!s || s->error || s->never || s->zone_name || s->cron.every_s ||
		last_us == TIME_UNKNOWN || is_slot(s, last_us))
		return true;
	for (i = -ZONE_MOST; i <= ZONE_MOST; i++)
		if (is_slot(s, clock_minus(last_us, i * INT64_C(1800) * 1000000)))
			return false;
	return true;
}
