#include "config.h"

#include "sim/cluster.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The Job controller: syncJob of pkg/controller/job/job_controller.go, as of Kubernetes 1.31 and
 * newer: a Job that is to fail or to complete says so first (FailureTarget, SuccessCriteriaMet) and
 * is finished only when no pod of it is Terminating any more; with the default
 * podReplacementPolicy a Terminating pod counts as failed, and is replaced at once.
 */
enum {
	TOLD_MS = 20,
	NAME_MOST = 300,
	BACKOFF_MS = 10000, /* DefaultJobPodFailureBackOff */
	BACKOFF_MOST_MS = 600000
};

#define TRACKING   "batch.kubernetes.io/job-tracking"
#define FOREGROUND "foregroundDeletion"

static void job_due(struct world *w, void *who, int64_t a, int64_t b);

void cluster_job_wake(struct cluster_job *job, int64_t delay_ms)
{
	struct cluster *c = job->o.cluster;
	int64_t at = world_now_ms(c->world) + delay_ms;

	if (job->wake_ms > world_now_ms(c->world) && job->wake_ms <= at)
		return;
	job->wake_ms = at;
	world_at(c->world, at, job_due, c, job->o.serial, at);
}

void cluster_jobs_resume(struct cluster *c)
{
	struct cluster_object *o;

	for (o = c->first[CLUSTER_JOB]; o; o = o->next) {
		((struct cluster_job *)o)->wake_ms = 0;
		cluster_job_wake((struct cluster_job *)o, 0);
	}
}

struct cluster_cronjob *cluster_job_cron(const struct cluster_job *job)
{
	struct cluster_object *o;

	if (!job->owner_name)
		return NULL;
	o = cluster_get(job->o.cluster, CLUSTER_CRONJOB, job->o.ns, job->owner_name);
	return o && cluster_owns(o, job->owner_uid) ? (struct cluster_cronjob *)o : NULL;
}

static void told(struct cluster_job *job)
{
	struct cluster_cronjob *cron = cluster_job_cron(job);

	cluster_changed(&job->o);
	if (cron)
		cluster_cron_wake(cron, TOLD_MS);
}

/* ---- its life ---- */

static struct cluster_job *job_new(struct cluster *c, struct cluster_cronjob *cron, const char *ns,
	const char *name, int64_t slot_us, const struct cluster_work *work)
{
	struct cluster_job *job = xcalloc(1, sizeof(*job));

	job->slot_us = slot_us;
	job->manual = slot_us == TIME_UNKNOWN;
	if (cron) {
		job->owner_name = xstrdup(cron->o.name);
		memcpy(job->owner_uid, cron->o.uid, CLUSTER_UID_MAX);
	}
	cluster_work_copy(&job->work, work);
	job->start_us = job->end_us = job->condition_us = TIME_UNKNOWN;
	job->o.generation = 1;
	cluster_add(c, &job->o, CLUSTER_JOB, ns, name);
	return job;
}

struct cluster_job *cluster_job_new(struct cluster *c, struct cluster_cronjob *cron, const char *ns,
	const char *name, int64_t slot_us, const struct cluster_work *work)
{
	struct cluster_job *job = job_new(c, cron, ns, name, slot_us, work);

	world_tell(c->world, HAPPENING_RUN, NULL, cron ? cron->o.name : name, 0,
		"the run %s is started%s", name, job->manual ? " by hand" : "");
	cluster_job_wake(job, TOLD_MS);
	return job;
}

void cluster_job_past(struct cluster_cronjob *cron, int64_t slot_us, int64_t length_ms)
{
	struct cluster *c = cron->o.cluster;
	char name[NAME_MOST];
	struct cluster_job *job;

	snprintf(name, sizeof(name), "%.240s-%" PRId64, cron->o.name, slot_us / 60000000);
	job = job_new(c, cron, cron->o.ns, name, slot_us, &cron->work);
	job->o.created_us = job->start_us = slot_us;
	job->end_us = job->condition_us = slot_us + length_ms / 1000 * 1000000;
	job->met = job->complete = true;
	job->succeeded = 1;
	cluster_pod_past(job);
}

static bool is_pod_of(const struct cluster_object *pod, const char *job_uid)
{
	const struct cluster_pod *p = (const struct cluster_pod *)pod;

	return p->of_job && strcmp(p->owner_uid, job_uid) == 0;
}

static bool has_pods(const struct cluster_job *job)
{
	const struct cluster_object *o;

	for (o = job->o.cluster->last[CLUSTER_POD]; o; o = o->prev)
		if (is_pod_of(o, job->o.uid))
			return true;
	return false;
}

/* The garbage collector, and what the Job controller does for pods of a Job that goes. */
static void delete_pods(struct cluster *c, const char *uid)
{
	struct cluster_object *o, *next;

	for (o = c->first[CLUSTER_POD]; o; o = next) {
		next = o->next;
		if (!is_pod_of(o, uid))
			continue;
		cluster_finalizer(o, TRACKING, false);
		if (o->deleted_us == TIME_UNKNOWN)
			cluster_pod_delete((struct cluster_pod *)o, -1);
		else
			cluster_pod_remove((struct cluster_pod *)o);
	}
}

static void job_gone(struct cluster_job *job)
{
	struct cluster_cronjob *cron = cluster_job_cron(job);

	cluster_remove(&job->o);
	if (cron)
		cluster_cron_wake(cron, TOLD_MS);
}

void cluster_job_delete(struct cluster_job *job, bool foreground)
{
	struct cluster *c = job->o.cluster;
	char uid[CLUSTER_UID_MAX];

	memcpy(uid, job->o.uid, sizeof(uid));
	if (!foreground) {
		job_gone(job);
		delete_pods(c, uid);
		return;
	}
	if (job->o.deleted_us == TIME_UNKNOWN) {
		job->o.deleted_us = cluster_now_us(c) / 1000000 * 1000000;
		cluster_finalizer(&job->o, FOREGROUND, true);
		told(job);
	}
	cluster_job_wake(job, TOLD_MS);
}

bool cluster_job_finished(const struct cluster_job *job)
{
	return job->complete || job->why;
}

/* ---- a sync ---- */

struct counts {
	int32_t active, ready, terminating;
	int64_t last_failed_us;
	int32_t restarts;
};

/* A pod that has ended, or that is being deleted, is counted once; then its finalizer goes. */
static void count_pod(struct cluster_job *job, struct cluster_pod *pod)
{
	bool failed = pod->phase == POD_FAILED ||
		      (pod->o.deleted_us != TIME_UNKNOWN && pod->phase != POD_SUCCEEDED);

	if (pod->counted || !(failed || pod->phase == POD_SUCCEEDED))
		return;
	pod->counted = true;
	if (failed)
		job->failed++;
	else
		job->succeeded++;
}

static void look_pod(struct cluster_job *job, struct cluster_pod *pod, struct counts *n)
{
	count_pod(job, pod);
	if (pod->phase == POD_FAILED && pod->end_us > n->last_failed_us)
		n->last_failed_us = pod->end_us;
	if (cluster_pod_over(pod))
		return;
	if (pod->o.deleted_us != TIME_UNKNOWN) {
		n->terminating++;
		return;
	}
	n->active++;
	n->ready += pod->running > 0;
	n->restarts += pod->restarts;
}

static void count_pods(struct cluster_job *job, struct counts *n)
{
	struct cluster_object *o;

	*n = (struct counts){ .last_failed_us = TIME_UNKNOWN };
	for (o = job->o.cluster->first[CLUSTER_POD]; o; o = o->next)
		if (is_pod_of(o, job->o.uid))
			look_pod(job, (struct cluster_pod *)o, n);
}

static void release_counted(struct cluster_job *job)
{
	struct cluster_object *o, *next;

	for (o = job->o.cluster->first[CLUSTER_POD]; o; o = next) {
		struct cluster_pod *pod = (struct cluster_pod *)o;

		next = o->next;
		if (!is_pod_of(o, job->o.uid) || !pod->counted || !cluster_held_by(o, TRACKING))
			continue;
		cluster_finalizer(o, TRACKING, false);
		cluster_changed(o);
		cluster_pod_remove(pod);
	}
}

static const char *failure(const struct cluster_job *job, const struct counts *n)
{
	int64_t now_us = cluster_now_us(job->o.cluster);

	if (job->failed > job->work.backoff_limit)
		return "BackoffLimitExceeded";
	if (job->work.restarts && n->restarts &&
		(job->work.backoff_limit ? n->restarts >= job->work.backoff_limit : true))
		return "BackoffLimitExceeded";
	if (job->work.deadline_s != TIME_UNKNOWN &&
		now_us >= job->start_us + job->work.deadline_s * 1000000)
		return "DeadlineExceeded";
	return NULL;
}

static void end_active(struct cluster_job *job)
{
	struct cluster_object *o, *next;

	for (o = job->o.cluster->first[CLUSTER_POD]; o; o = next) {
		struct cluster_pod *pod = (struct cluster_pod *)o;

		next = o->next;
		if (!is_pod_of(o, job->o.uid) || cluster_pod_over(pod) ||
			o->deleted_us != TIME_UNKNOWN)
			continue;
		cluster_event(&job->o, "Normal", "SuccessfulDelete", "Deleted pod: %s", o->name);
		cluster_pod_delete(pod, -1);
	}
}

static void finish(struct cluster_job *job)
{
	struct cluster *c = job->o.cluster;

	job->condition_us = cluster_now_us(c) / 1000000 * 1000000;
	if (job->met) {
		job->complete = true;
		job->end_us = job->condition_us;
		cluster_event(&job->o, "Normal", "Completed", "Job completed");
	} else {
		job->why = job->target;
		cluster_event(&job->o, "Warning", job->why,
			strcmp(job->why, "DeadlineExceeded") == 0
				? "Job was active longer than specified deadline"
				: "Job has reached the specified backoff limit");
	}
	world_tell(c->world, HAPPENING_RUN, NULL, job->owner_name ? job->owner_name : job->o.name,
		0, "the run %s is over: %s", job->o.name, job->complete ? "Complete" : job->why);
}

/* Until another pod may be made: it waits longer with each failure. */
static int64_t backoff_left_ms(const struct cluster_job *job, const struct counts *n)
{
	int64_t wait_ms = BACKOFF_MS, gone_ms;
	int32_t i;

	if (!job->failed || n->last_failed_us == TIME_UNKNOWN)
		return 0;
	for (i = 1; i < job->failed && wait_ms < BACKOFF_MOST_MS; i++)
		wait_ms *= 2;
	if (wait_ms > BACKOFF_MOST_MS)
		wait_ms = BACKOFF_MOST_MS;
	gone_ms = (cluster_now_us(job->o.cluster) - n->last_failed_us) / 1000;
	return gone_ms < wait_ms ? wait_ms - gone_ms : 0;
}

static void make_pods(struct cluster_job *job, const struct counts *n)
{
	int32_t want = job->work.completions - job->succeeded, i;
	int64_t left_ms = backoff_left_ms(job, n);

	if (want > job->work.parallelism)
		want = job->work.parallelism;
	if (n->active >= want)
		return;
	if (left_ms > 0) {
		cluster_job_wake(job, left_ms);
		return;
	}
	for (i = n->active; i < want; i++) {
		struct cluster_pod *pod = cluster_pod_new(job);

		cluster_event(
			&job->o, "Normal", "SuccessfulCreate", "Created pod: %s", pod->o.name);
	}
	cluster_job_wake(job, TOLD_MS);
}

static void begin(struct cluster_job *job)
{
	if (job->start_us != TIME_UNKNOWN)
		return;
	job->start_us = cluster_now_us(job->o.cluster) / 1000000 * 1000000;
	if (job->work.deadline_s != TIME_UNKNOWN)
		job->retry_ms = world_now_ms(job->o.cluster->world) + job->work.deadline_s * 1000;
}

/* What of the status would be written. */
static bool differs(const struct cluster_job *job, const struct cluster_job *was)
{
	return job->active != was->active || job->ready != was->ready ||
	       job->succeeded != was->succeeded || job->failed != was->failed ||
	       job->terminating != was->terminating || job->target != was->target ||
	       job->why != was->why || job->met != was->met || job->complete != was->complete ||
	       job->start_us != was->start_us;
}

static void sync_open(struct cluster_job *job, const struct counts *n)
{
	if (!job->met && !job->target)
		job->target = failure(job, n);
	if (!job->met && !job->target && job->succeeded >= job->work.completions && !n->active)
		job->met = true;
	if (job->met || job->target)
		end_active(job);
	else if (job->o.deleted_us == TIME_UNKNOWN && !job->suspended)
		make_pods(job, n);
}

/* A Job that is being deleted in the foreground goes behind its pods. */
static bool job_goes(struct cluster_job *job)
{
	char uid[CLUSTER_UID_MAX];

	if (job->o.deleted_us == TIME_UNKNOWN)
		return false;
	memcpy(uid, job->o.uid, sizeof(uid));
	delete_pods(job->o.cluster, uid);
	if (has_pods(job))
		return false;
	job_gone(job);
	return true;
}

static void job_sync(struct cluster_job *job)
{
	struct cluster_job was = *job;
	struct counts n;

	if (job_goes(job))
		return;
	if (cluster_job_finished(job)) {
		release_counted(job);
		return;
	}
	begin(job);
	count_pods(job, &n);
	sync_open(job, &n);
	count_pods(job, &n);
	release_counted(job);
	count_pods(job, &n);
	job->active = n.active;
	job->ready = n.ready;
	job->terminating = n.terminating;
	if ((job->met || job->target) && !n.active && !n.terminating)
		finish(job);
	if (differs(job, &was))
		told(job);
	if (job->retry_ms > world_now_ms(job->o.cluster->world))
		cluster_job_wake(job, job->retry_ms - world_now_ms(job->o.cluster->world));
}

static void job_due(struct world *w, void *who, int64_t a, int64_t b)
{
	struct cluster *c = who;
	struct cluster_job *job = (struct cluster_job *)cluster_by_serial(c, a);

	(void)w;
	if (!job || job->wake_ms != b)
		return;
	job->wake_ms = 0;
	if (!cluster_managed(c) || c->trouble != CLUSTER_SERVES)
		cluster_job_wake(job, 1000);
	else
		job_sync(job);
}
