#include "config.h"

#include "sim/cluster.h"
#include "base/civil.h"
#include "base/clock.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The CronJob controller, version 2: syncCronJob and cleanupFinishedJobs of
 * pkg/controller/cronjob/cronjob_controllerv2.go, in its order, with its Events. Which slot is due
 * is base/cron's (mostRecentScheduleTime).
 */
enum {
	SLOT_DELAY_MS = 100, /* nextScheduleDelta */
	TOLD_MS = 20,        /* from a change to a sync */
	TIME_TEXT = 80
};

static void cron_due(struct world *w, void *who, int64_t a, int64_t b);

static struct cluster *cluster_of(const struct cluster_cronjob *cron)
{
	return cron->o.cluster;
}

void cluster_cron_wake(struct cluster_cronjob *cron, int64_t delay_ms)
{
	struct cluster *c = cluster_of(cron);
	int64_t at = world_now_ms(c->world) + delay_ms;

	if (cron->wake_ms > world_now_ms(c->world) && cron->wake_ms <= at)
		return;
	cron->wake_ms = at;
	world_at(c->world, at, cron_due, c, cron->o.serial, at);
}

void cluster_crons_resume(struct cluster *c)
{
	struct cluster_object *o;

	for (o = c->first[CLUSTER_CRONJOB]; o; o = o->next) {
		((struct cluster_cronjob *)o)->wake_ms = 0;
		cluster_cron_wake((struct cluster_cronjob *)o, 0);
	}
}

/* ---- its life ---- */

struct cluster_cronjob *cluster_cronjob_new(struct cluster *c, const char *ns, const char *name,
	const char *schedule, const char *zone, const struct cluster_work *work)
{
	struct cluster_cronjob *cron = xcalloc(1, sizeof(*cron));

	cron->text = xstrdup(schedule);
	cron->zone = zone ? xstrdup(zone) : NULL;
	cron->schedule = schedule_new(schedule, zone, c->zone_load);
	cron->deadline_s = -1;
	cron->keep_succeeded = 3;
	cron->keep_failed = 1;
	cron->last_schedule_us = cron->last_success_us = TIME_UNKNOWN;
	cron->told_slot_us = TIME_UNKNOWN;
	cluster_work_copy(&cron->work, work);
	cron->o.generation = 1;
	cluster_add(c, &cron->o, CLUSTER_CRONJOB, ns, name);
	cluster_cron_wake(cron, TOLD_MS);
	return cron;
}

void cluster_cronjob_edited(struct cluster_cronjob *cron)
{
	cron->o.generation++;
	cluster_changed(&cron->o);
	cron->wake_ms = 0;
	cluster_cron_wake(cron, TOLD_MS);
}

void cluster_cronjob_reschedule(
	struct cluster_cronjob *cron, const char *schedule, const char *zone)
{
	char *text = xstrdup(schedule), *in = zone ? xstrdup(zone) : NULL;

	free(cron->text);
	free(cron->zone);
	cron->text = text;
	cron->zone = in;
	schedule_unref(cron->schedule);
	cron->schedule = schedule_new(text, in, cluster_of(cron)->zone_load);
	cluster_cronjob_edited(cron);
}

/* ---- status.active ---- */

static size_t active_find(const struct cluster_cronjob *cron, const char *uid)
{
	size_t i;

	for (i = 0; i < cron->n_active && strcmp(cron->active[i].uid, uid) != 0; i++)
		continue;
	return i;
}

static bool active_named(const struct cluster_cronjob *cron, const char *name)
{
	size_t i;

	for (i = 0; i < cron->n_active; i++)
		if (strcmp(cron->active[i].name, name) == 0)
			return true;
	return false;
}

static void active_drop(struct cluster_cronjob *cron, size_t i)
{
	free(cron->active[i].name);
	memmove(&cron->active[i], &cron->active[i + 1],
		(cron->n_active - i - 1) * sizeof(*cron->active));
	cron->n_active--;
}

static void active_add(struct cluster_cronjob *cron, const struct cluster_job *job)
{
	MEM_GROW(cron->active, cron->n_active, cron->cap_active);
	memcpy(cron->active[cron->n_active].uid, job->o.uid, CLUSTER_UID_MAX);
	cron->active[cron->n_active++].name = xstrdup(job->o.name);
}

static bool is_child(const struct cluster_cronjob *cron, const struct cluster_object *o)
{
	return cluster_owns(&cron->o, ((const struct cluster_job *)o)->owner_uid);
}

/* One that has ended: whether the status changes. */
static bool sync_ended(struct cluster_cronjob *cron, const struct cluster_job *job, size_t at)
{
	bool changed = false;

	if (at < cron->n_active) {
		cluster_event(&cron->o, "Normal", "SawCompletedJob",
			"Saw completed job: %s, condition: %s", job->o.name,
			job->complete ? "Complete" : "Failed");
		active_drop(cron, at);
		changed = true;
	}
	if (job->complete &&
		(cron->last_success_us == TIME_UNKNOWN || job->end_us > cron->last_success_us)) {
		cron->last_success_us = job->end_us;
		changed = true;
	}
	return changed;
}

/* One Job of its own, those that were made by hand too: whether the status changes. */
static bool sync_child(struct cluster_cronjob *cron, const struct cluster_job *job)
{
	size_t at = active_find(cron, job->o.uid);

	if (cluster_job_finished(job))
		return sync_ended(cron, job, at);
	if (at == cron->n_active)
		cluster_event(&cron->o, "Warning", "UnexpectedJob",
			"Saw a job that the controller did not create or forgot: %s", job->o.name);
	return false;
}

static bool sync_children(struct cluster_cronjob *cron)
{
	struct cluster *c = cluster_of(cron);
	struct cluster_object *o;
	bool changed = false;
	size_t i;

	for (o = c->first[CLUSTER_JOB]; o; o = o->next)
		if (is_child(cron, o))
			changed = sync_child(cron, (struct cluster_job *)o) || changed;
	for (i = cron->n_active; i-- > 0;) {
		if (cluster_by_uid(c, CLUSTER_JOB, cron->active[i].uid))
			continue;
		cluster_event(&cron->o, "Normal", "MissingJob", "Active job went missing: %s",
			cron->active[i].name);
		active_drop(cron, i);
		changed = true;
	}
	return changed;
}

/* ---- history ---- */

/* Of those that ended so, the oldest begin goes while there are too many. */
static struct cluster_job *oldest(struct cluster_cronjob *cron, bool complete, int32_t keep)
{
	struct cluster_object *o;
	struct cluster_job *found = NULL;
	int32_t n = 0;

	for (o = cluster_of(cron)->first[CLUSTER_JOB]; o; o = o->next) {
		struct cluster_job *job = (struct cluster_job *)o;

		if (!is_child(cron, o) || job->o.deleted_us != TIME_UNKNOWN ||
			(complete ? !job->complete : !job->why))
			continue;
		n++;
		if (!found || job->start_us < found->start_us)
			found = job;
	}
	return n > keep ? found : NULL;
}

static bool delete_job(struct cluster_cronjob *cron, struct cluster_job *job)
{
	size_t at = active_find(cron, job->o.uid);
	bool listed = at < cron->n_active;

	if (listed)
		active_drop(cron, at);
	cluster_event(&cron->o, "Normal", "SuccessfulDelete", "Deleted job %s", job->o.name);
	cluster_job_delete(job, false);
	return listed;
}

static void clean_history(struct cluster_cronjob *cron)
{
	struct cluster_job *job;

	while ((job = oldest(cron, true, cron->keep_succeeded)) != NULL)
		delete_job(cron, job);
	while ((job = oldest(cron, false, cron->keep_failed)) != NULL)
		delete_job(cron, job);
}

/* ---- a slot ---- */

static void wake_at_next(struct cluster_cronjob *cron)
{
	struct cluster *c = cluster_of(cron);
	int64_t now_us = cluster_now_us(c), next_us;

	if (!schedule_next(cron->schedule, now_us, &next_us))
		return;
	/* By the controllers' clock, which the world's may not agree with. */
	cluster_cron_wake(cron, (next_us - now_us) / 1000 + SLOT_DELAY_MS);
}

/* "Tue, 03 Mar 2026 03:12:00 +0000", Go's RFC1123Z. */
static const char *go_time(char *buf, int64_t us)
{
	static const char days[][4] = { "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat" };
	static const char months[][4] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug",
		"Sep", "Oct", "Nov", "Dec" };
	struct civil c;

	civil_from_seconds(us / 1000000, &c);
	snprintf(buf, TIME_TEXT, "%s, %02d %s %04d %02d:%02d:%02d +0000", days[c.weekday % 7],
		c.day, months[(c.month - 1) % 12], (int)c.year, c.hour, c.minute, c.second);
	return buf;
}

static void tell_missed(struct cluster_cronjob *cron, int64_t slot_us, const char *why)
{
	char at[TIME_TEXT];

	if (cron->told_slot_us == slot_us)
		return;
	cron->told_slot_us = slot_us;
	clock_format_utc(at, slot_us, 0);
	world_tell(cluster_of(cron)->world, HAPPENING_MISSED, NULL, cron->o.name, 0,
		"the slot %s of %s passes without a run: %s", at, cron->o.name, why);
}

/* Whether that slot may be started now. */
static bool slot_free(struct cluster_cronjob *cron, int64_t slot_us, const char *name)
{
	int64_t now_us = cluster_now_us(cluster_of(cron));
	char at[TIME_TEXT];

	if (cron->deadline_s >= 0 && slot_us + cron->deadline_s * 1000000 < now_us) {
		cluster_event(&cron->o, "Warning", "MissSchedule",
			"Missed scheduled time to start a job: %s", go_time(at, slot_us));
		tell_missed(cron, slot_us, "its starting deadline is over");
		return false;
	}
	if (active_named(cron, name) || cron->last_schedule_us == slot_us)
		return false;
	if (cron->policy == CRON_FORBID && cron->n_active) {
		cluster_event(&cron->o, "Normal", "JobAlreadyActive",
			"Not starting job because prior execution is running and concurrency "
			"policy is Forbid");
		tell_missed(cron, slot_us, "another run is active, and the policy is Forbid");
		return false;
	}
	return true;
}

static void replace_active(struct cluster_cronjob *cron)
{
	while (cron->n_active) {
		struct cluster_job *job = (struct cluster_job *)cluster_by_uid(
			cluster_of(cron), CLUSTER_JOB, cron->active[0].uid);

		if (!job || !delete_job(cron, job))
			active_drop(cron, 0);
	}
}

/* One that is there already is the controller's own, of before it could write its status; or
 * somebody else's, who sees to it. NULL: that. */
static struct cluster_job *slot_job(struct cluster_cronjob *cron, int64_t slot_us, const char *name)
{
	struct cluster *c = cluster_of(cron);
	struct cluster_object *there = cluster_get(c, CLUSTER_JOB, cron->o.ns, name);
	struct cluster_job *job;

	if (there && (!is_child(cron, there) || active_find(cron, there->uid) < cron->n_active))
		return NULL;
	if (there)
		return (struct cluster_job *)there;
	job = cluster_job_new(c, cron, cron->o.ns, name, slot_us, &cron->work);
	cluster_event(&cron->o, "Normal", "SuccessfulCreate", "Created job %s", name);
	return job;
}

static void start_slot(struct cluster_cronjob *cron, int64_t slot_us, const char *name)
{
	struct cluster_job *job;

	if (cron->policy == CRON_REPLACE)
		replace_active(cron);
	job = slot_job(cron, slot_us, name);
	if (!job)
		return;
	active_add(cron, job);
	cron->last_schedule_us = slot_us;
	cluster_changed(&cron->o);
}

static void sync_slot(struct cluster_cronjob *cron)
{
	int64_t now_us = cluster_now_us(cluster_of(cron));
	int64_t since_us = cron->last_schedule_us == TIME_UNKNOWN ? cron->o.created_us
								  : cron->last_schedule_us;
	struct cron_missed missed;
	char name[300];

	schedule_missed(cron->schedule, since_us, cron->deadline_s, now_us, &missed);
	if (missed.kind == CRON_MISSED_NEVER) {
		cluster_event(&cron->o, "Warning", "InvalidSchedule",
			"invalid schedule: %s : time difference between two schedules is less than "
			"1 second",
			cron->text);
		return;
	}
	if (missed.kind == CRON_MISSED_MANY)
		cluster_event(&cron->o, "Warning", "TooManyMissedTimes",
			"too many missed start times. Set or decrease "
			".spec.startingDeadlineSeconds or check clock skew");
	if (missed.has_latest) {
		snprintf(name, sizeof(name), "%.240s-%" PRId64, cron->o.name,
			missed.latest_us / 60000000);
		if (slot_free(cron, missed.latest_us, name))
			start_slot(cron, missed.latest_us, name);
	}
	wake_at_next(cron);
}

static void cron_sync(struct cluster_cronjob *cron)
{
	/* What it writes itself is a change that it hears of. */
	if (sync_children(cron)) {
		cluster_changed(&cron->o);
		cluster_cron_wake(cron, TOLD_MS);
	}
	if (cron->schedule->error && schedule_zone_unknown(cron->schedule))
		cluster_event(&cron->o, "Warning", "UnknownTimeZone",
			"invalid timeZone: \"%s\": %s", cron->zone ? cron->zone : "",
			cron->schedule->error);
	else if (cron->suspended)
		cron->told_slot_us = TIME_UNKNOWN;
	else if (cron->schedule->error)
		cluster_event(&cron->o, "Warning", "UnparseableSchedule",
			"unparseable schedule: \"%s\" : %s", cron->text, cron->schedule->error);
	else
		sync_slot(cron);
	clean_history(cron);
}

static void cron_due(struct world *w, void *who, int64_t a, int64_t b)
{
	struct cluster *c = who;
	struct cluster_cronjob *cron = (struct cluster_cronjob *)cluster_by_serial(c, a);

	(void)w;
	if (!cron || cron->wake_ms != b)
		return;
	cron->wake_ms = 0;
	if (!cluster_managed(c) || c->trouble != CLUSTER_SERVES)
		cluster_cron_wake(cron, 1000); /* it comes back to it */
	else
		cron_sync(cron);
}
