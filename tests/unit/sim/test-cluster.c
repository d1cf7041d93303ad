#include "config.h"

#include "base/str.h"
#include "base/zone.h"
#include "sim/cluster.h"
#include "sim/lease-client.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 2026-03-03T03:12:00Z */
#define EPOCH_US INT64_C(1772507520000000)

struct bench {
	struct world *w;
	struct cluster *c;
	struct machine *api, *a, *b;
};

static struct bench bench_new(void)
{
	struct bench t = { .w = world_new(7, EPOCH_US) };

	t.api = machine_new(t.w, "api-1");
	t.a = machine_new(t.w, "node-a");
	t.b = machine_new(t.w, "node-b");
	t.c = cluster_new(t.w, "prod", t.api, zone_load);
	cluster_node_new(t.c, t.a);
	cluster_node_new(t.c, t.b);
	process_start(t.w, t.c->manager);
	return t;
}

static const struct lease_options lease_default = {
	.ns = "ops",
	.name = "operator",
	.duration_ms = 15000,
	.deadline_ms = 10000,
	.retry_ms = 2000,
	.exits = true,
};

static struct process *contender(
	struct bench *t, const char *name, struct machine *m, const struct lease_options *options)
{
	struct process *p = process_new(t->w, name, m, NULL);

	p->restart_after_ms = 5000;
	lease_client_new(t->c, p, options);
	return p;
}

/* The second begins at that time; both have run for a while at the end of the first minute. */
static void start_both(
	struct bench *t, struct process *first, struct process *second, int64_t second_ms)
{
	process_start(t->w, first);
	world_run(t->w, second_ms);
	process_start(t->w, second);
	world_run(t->w, 60000);
}

static const char *holder(const struct bench *t)
{
	const struct cluster_lease *lease =
		(const struct cluster_lease *)cluster_get(t->c, CLUSTER_LEASE, "ops", "operator");

	return cluster_identity_text(t->c, lease->record.holder);
}

static const struct lease_record *record(const struct bench *t)
{
	return &((const struct cluster_lease *)cluster_get(t->c, CLUSTER_LEASE, "ops", "operator"))
			->record;
}

/* leaderelection.go: a candidate takes a record LeaseDuration after it last saw it change, and
 * counts a transition. */
static void a_lease_is_taken_after_its_duration(void **state)
{
	struct bench t = bench_new();
	struct process *a = contender(&t, "a", t.a, &lease_default);
	struct process *b = contender(&t, "b", t.b, &lease_default);

	(void)state;
	start_both(&t, a, b, 1000);
	assert_string_equal(holder(&t), "a");
	assert_int_equal(record(&t)->transitions, 0);
	assert_true(world_now_us(t.w) - record(&t)->renew_us <= 2100000);
	a->restart_after_ms = -1;
	process_end(t.w, a, PROCESS_END_KILLED);
	world_run(t.w, 60000 + 12900);
	assert_string_equal(holder(&t), "a");
	world_run(t.w, 60000 + 15000 + 4500);
	assert_string_equal(holder(&t), "b");
	assert_int_equal(record(&t)->transitions, 1);
	world_free(t.w);
}

/* A leader that can't renew gives up RenewDeadline after its last try began; the others wait
 * LeaseDuration: nobody leads in between, and never two. */
static void a_leader_that_is_cut_off_gives_up_first(void **state)
{
	struct bench t = bench_new();
	struct duty *d = duty_new(t.w, "allocate", NULL, 1000);
	struct lease_options o = lease_default;
	struct process *a, *b;

	(void)state;
	o.duty = d;
	a = contender(&t, "a", t.a, &o);
	b = contender(&t, "b", t.b, &o);
	start_both(&t, a, b, 1000);
	net_cut(t.w, t.a, t.api);
	world_run(t.w, 120000);
	duty_count(t.w, d);
	assert_string_equal(holder(&t), "b");
	assert_int_equal(d->overlap_ms, 0);
	assert_int_equal(d->takeovers, 1);
	world_free(t.w);
}

/* The ghost: it never looks again whether it leads. */
static void who_believes_for_ever_works_on(void **state)
{
	struct bench t = bench_new();
	struct duty *d = duty_new(t.w, "allocate", NULL, 1000);
	struct lease_options o = lease_default;
	struct process *a, *b;

	(void)state;
	o.duty = d;
	b = contender(&t, "b", t.b, &o);
	o.believes = LEASE_FOREVER;
	o.exits = false;
	o.ends = true;
	a = contender(&t, "a", t.a, &o);
	start_both(&t, a, b, 1000);
	net_cut(t.w, t.a, t.api);
	world_run(t.w, 100000);
	net_join(t.w, t.a, t.api);
	world_run(t.w, 200000);
	duty_count(t.w, d);
	assert_string_equal(holder(&t), "b");
	assert_true(d->overlap_ms > 100000);
	assert_int_equal(a->restarts, 0);
	world_free(t.w);
}

/* leaderelection.go warns of it: whoever compares what another clock wrote with his own takes a
 * Lease that is renewed in time, and its holder works on until it gives up to renew. */
static void a_clock_that_is_ahead_takes_what_is_held(void **state)
{
	struct bench t = bench_new();
	struct duty *d = duty_new(t.w, "allocate", NULL, 1000);
	struct lease_options o = lease_default;
	struct process *a, *b;

	(void)state;
	o.duty = d;
	a = contender(&t, "a", t.a, &o);
	o.believes = LEASE_CLOCK;
	b = contender(&t, "b", t.b, &o);
	start_both(&t, a, b, 5000);
	assert_string_equal(holder(&t), "a");
	machine_skew(t.w, t.b, 60000);
	world_run(t.w, 90000);
	assert_string_equal(holder(&t), "b");
	duty_count(t.w, d);
	assert_in_range(d->overlap_ms, 8000, 13000);
	assert_true(a->restarts > 0);
	world_free(t.w);
}

static struct cluster_work work_of(int64_t ms)
{
	return (struct cluster_work){ .duration_ms = ms,
		.parallelism = 1,
		.completions = 1,
		.backoff_limit = 6,
		.deadline_s = TIME_UNKNOWN,
		.grace_s = 30 };
}

static size_t jobs(const struct bench *t)
{
	return t->c->n[CLUSTER_JOB];
}

static void a_run_starts_on_the_minute_and_completes(void **state)
{
	struct bench t = bench_new();
	struct cluster_work work = work_of(20000);
	struct cluster_cronjob *cron =
		cluster_cronjob_new(t.c, "billing", "close", "*/5 * * * *", NULL, &work);
	const struct cluster_job *job;
	const struct cluster_pod *pod;

	(void)state;
	/* 03:15:00 is 180 s away. */
	world_run(t.w, 179900);
	assert_int_equal(jobs(&t), 0);
	world_run(t.w, 185000);
	assert_int_equal(jobs(&t), 1);
	job = (const struct cluster_job *)t.c->first[CLUSTER_JOB];
	assert_string_equal(job->o.name, "close-29541795");
	assert_int_equal(job->active, 1);
	assert_int_equal(cron->n_active, 1);
	assert_true(cron->last_schedule_us == EPOCH_US + 180000000);
	pod = (const struct cluster_pod *)t.c->first[CLUSTER_POD];
	assert_int_equal(pod->phase, POD_RUNNING);
	assert_int_equal(pod->running, 1);
	world_run(t.w, 210000);
	assert_true(job->complete);
	assert_int_equal(job->succeeded, 1);
	assert_int_equal(job->active, 0);
	assert_int_equal(cron->n_active, 0);
	assert_true(cron->last_success_us != TIME_UNKNOWN);
	/* Three that succeeded are kept. */
	world_run(t.w, 3600000);
	assert_int_equal(jobs(&t), 3);
	assert_int_equal(t.c->n[CLUSTER_POD], 3);
	world_free(t.w);
}

/* ---- the CronJob controller (cronjob_controllerv2.go) ---- */

static struct cluster_job *job_at(const struct bench *t, size_t i)
{
	struct cluster_object *o = t->c->first[CLUSTER_JOB];

	while (o && i--)
		o = o->next;
	return (struct cluster_job *)o;
}

static struct cluster_pod *pod_at(const struct bench *t, size_t i)
{
	struct cluster_object *o = t->c->first[CLUSTER_POD];

	while (o && i--)
		o = o->next;
	return (struct cluster_pod *)o;
}

static int64_t events_of(const struct cluster_object *o, const char *reason)
{
	const struct cluster_event *e;
	int64_t n = 0;

	for (e = o->events; e; e = e->next)
		n += strcmp(e->reason, reason) == 0 ? e->count : 0;
	return n;
}

static struct cluster_cronjob *each_minute(
	struct bench *t, const struct cluster_work *work, enum cron_policy policy)
{
	struct cluster_cronjob *cron =
		cluster_cronjob_new(t->c, "billing", "close", "* * * * *", NULL, work);

	cron->policy = policy;
	return cron;
}

/* Forbid skips the slots while a run is active, and starts the last one missed when it is over. */
static void forbid_skips_and_catches_up(void **state)
{
	struct bench t = bench_new();
	struct cluster_work work = work_of(150000);
	struct cluster_cronjob *cron = each_minute(&t, &work, CRON_FORBID);

	(void)state;
	/* 03:13, 03:14 and 03:15 fall into one run. */
	world_run(t.w, 60000 + 150000);
	assert_int_equal(jobs(&t), 1);
	assert_true(events_of(&cron->o, "JobAlreadyActive") >= 2);
	/* It ends at 03:15:31; the slot 03:15 starts then. */
	world_run(t.w, 215000);
	assert_int_equal(jobs(&t), 2);
	assert_true(job_at(&t, 1)->slot_us == EPOCH_US + 180000000);
	assert_true(job_at(&t, 1)->start_us > EPOCH_US + 210000000);
	world_free(t.w);
}

static void a_starting_deadline_lets_no_late_slot_start(void **state)
{
	struct bench t = bench_new();
	struct cluster_work work = work_of(150000);
	struct cluster_cronjob *cron = each_minute(&t, &work, CRON_FORBID);

	(void)state;
	cron->deadline_s = 10;
	world_run(t.w, 215000);
	assert_int_equal(jobs(&t), 1);
	world_run(t.w, 245000);
	assert_int_equal(jobs(&t), 2);
	assert_true(job_at(&t, 1)->slot_us == EPOCH_US + 240000000);
	world_free(t.w);
}

/* Replace deletes the Job at once; its pod has its grace period, beside the new one. */
static void replace_runs_beside_the_pod_that_ends(void **state)
{
	struct bench t = bench_new();
	struct cluster_work work = work_of(600000);
	struct cluster_cronjob *cron;

	(void)state;
	work.stop_ms = 20000;
	cron = each_minute(&t, &work, CRON_REPLACE);
	world_run(t.w, 125000);
	assert_int_equal(jobs(&t), 1);
	assert_int_equal(t.c->n[CLUSTER_POD], 2);
	assert_true(pod_at(&t, 0)->o.deleted_us != TIME_UNKNOWN);
	assert_int_equal(pod_at(&t, 0)->running, 1);
	assert_int_equal(pod_at(&t, 1)->running, 1);
	assert_int_equal(events_of(&cron->o, "SuccessfulDelete"), 1);
	world_run(t.w, 145000);
	assert_int_equal(t.c->n[CLUSTER_POD], 1);
	world_free(t.w);
}

static void allow_runs_both_and_their_work_overlaps(void **state)
{
	struct bench t = bench_new();
	struct cluster_work work = work_of(90000);

	(void)state;
	work.duty = duty_new(t.w, "sending", NULL, 1000);
	each_minute(&t, &work, CRON_ALLOW);
	world_run(t.w, 300000);
	duty_count(t.w, work.duty);
	/* From the third minute on each run works 30 s beside the next. */
	assert_in_range(work.duty->overlap_ms, 80000, 92000);
	world_free(t.w);
}

/* A slot that was missed while it was suspended starts at once when it goes on. */
static void resume_starts_the_last_missed_slot(void **state)
{
	struct bench t = bench_new();
	struct cluster_work work = work_of(5000);
	struct cluster_cronjob *cron = each_minute(&t, &work, CRON_ALLOW);

	(void)state;
	cron->suspended = true;
	world_run(t.w, 310000);
	assert_int_equal(jobs(&t), 0);
	cron->suspended = false;
	cluster_cronjob_edited(cron);
	world_run(t.w, 312000);
	assert_int_equal(jobs(&t), 1);
	assert_true(job_at(&t, 0)->slot_us == EPOCH_US + 300000000);
	world_free(t.w);
}

/* Without controllers no slot starts; when they are back, the last one missed does. */
static void slots_pass_without_controllers(void **state)
{
	struct bench t = bench_new();
	struct cluster_work work = work_of(5000);

	(void)state;
	each_minute(&t, &work, CRON_ALLOW);
	world_run(t.w, 30000);
	process_end(t.w, t.c->manager, PROCESS_END_STOPPED);
	world_run(t.w, 250000);
	assert_int_equal(jobs(&t), 0);
	process_start(t.w, t.c->manager);
	world_run(t.w, 275000);
	assert_int_equal(jobs(&t), 1);
	assert_true(job_at(&t, 0)->slot_us == EPOCH_US + 240000000);
	world_free(t.w);
}

static bool next_field(char **rest, const char **ret)
{
	*ret = strsep(rest, "\t");
	return *ret != NULL;
}

/* The slot that a controller starts which finds a CronJob as the line has it; -1: none. */
static int64_t slot_started(
	const char *text, const char *zone, int64_t since_s, int64_t deadline_s, int64_t now_us)
{
	struct world *w = world_new(1, now_us);
	struct cluster *c = cluster_new(w, "prod", machine_new(w, "api-1"), zone_load);
	struct cluster_work work = work_of(1000);
	struct cluster_cronjob *cron = cluster_cronjob_new(c, "default", "x", text, zone, &work);
	int64_t slot_s = -1;

	cron->o.created_us = since_s * 1000000;
	cron->deadline_s = deadline_s;
	cron->wake_ms = 0;
	c->managed = true;
	cluster_cron_wake(cron, 0);
	world_run(w, 0);
	if (c->first[CLUSTER_JOB])
		slot_s = ((struct cluster_job *)c->first[CLUSTER_JOB])->slot_us / 1000000;
	world_free(w);
	return slot_s;
}

/* What Kubernetes' own controller makes of missed slots (tests/oracle/cronjob). */
static void missed_slots_start_as_the_controller_starts_them(void **state)
{
	FILE *in = fopen(TESTS_DIR "/oracle/cronjob/missed.txt", "re");
	const char *text, *zone, *since, *deadline, *now, *kind, *latest;
	char *line = NULL;
	size_t size = 0;
	int n = 0;

	(void)state;
	assert_non_null(in);
	while (getline(&line, &size, in) > 0) {
		char *rest = line;
		int64_t want;

		if (*line == '#' || !next_field(&rest, &text) || !next_field(&rest, &zone) ||
			!next_field(&rest, &since) || !next_field(&rest, &deadline) ||
			!next_field(&rest, &now) || !next_field(&rest, &kind) ||
			!next_field(&rest, &latest))
			continue;
		want = *latest == '-' ? -1 : strtoll(latest, NULL, 10);
		n++;
		if (slot_started(text, zone, strtoll(since, NULL, 10), strtoll(deadline, NULL, 10),
			    strtoll(now, NULL, 10)) != want)
			fail_msg("%s in %s at %s: not %s", text, zone, now, latest);
	}
	assert_true(n > 2000);
	free(line);
	fclose(in);
}

/* ---- the Job controller, pods and nodes ---- */

static void a_run_that_fails_is_tried_again_later_each_time(void **state)
{
	struct bench t = bench_new();
	struct cluster_work work = work_of(4000);
	struct resource *r = resource_new(t.w, "ledger", RESOURCE_UNFENCED);
	const struct cluster_job *job;

	(void)state;
	work.fails = -1;
	work.backoff_limit = 2;
	work.resource = r;
	work.writes = 1;
	cluster_cronjob_new(t.c, "billing", "close", "13 * * * *", NULL, &work);
	world_run(t.w, 65000);
	job = job_at(&t, 0);
	assert_int_equal(job->failed, 1);
	assert_int_equal(t.c->n[CLUSTER_POD], 1);
	/* 10 s after the failure, then 20 s. */
	world_run(t.w, 76000);
	assert_int_equal(t.c->n[CLUSTER_POD], 2);
	world_run(t.w, 110000);
	assert_int_equal(job->failed, 3);
	assert_string_equal(job->why, "BackoffLimitExceeded");
	/* One piece of work, done three times. */
	assert_int_equal(r->doubles, 2);
	world_free(t.w);
}

/* Its pod waits, and begins nothing; the Job waits with it until its deadline. */
static void an_image_that_can_not_be_pulled_begins_nothing(void **state)
{
	struct bench t = bench_new();
	struct cluster_work work = work_of(4000);
	const struct cluster_job *job;

	(void)state;
	work.bad_image = true;
	work.deadline_s = 120;
	cluster_cronjob_new(t.c, "billing", "close", "13 * * * *", NULL, &work);
	world_run(t.w, 65000);
	assert_int_equal(pod_at(&t, 0)->phase, POD_PENDING);
	assert_string_equal(pod_at(&t, 0)->reason, "ImagePullBackOff");
	assert_null(pod_at(&t, 0)->process);
	job = job_at(&t, 0);
	assert_int_equal(job->active, 1);
	assert_int_equal(job->failed, 0);
	world_run(t.w, 190000);
	assert_string_equal(job->why, "DeadlineExceeded");
	world_free(t.w);
}

/* On a lost node: the Job is past its deadline and not over, since its pod can't end; so Forbid
 * blocks. When the node is back it ends. */
static void a_lost_node_holds_a_run_and_forbid_for_ever(void **state)
{
	struct bench t = bench_new();
	struct cluster_work work = work_of(30000);
	struct cluster_cronjob *cron;
	const struct cluster_job *job;

	(void)state;
	work.deadline_s = 60;
	work.node = "node-a";
	cron = each_minute(&t, &work, CRON_FORBID);
	world_run(t.w, 65000);
	work.node = NULL;
	net_cut(t.w, t.a, t.api);
	world_run(t.w, 94000);
	assert_true(cluster_node_of(t.c, t.a)->ready == TRI_YES);
	world_run(t.w, 115000);
	assert_true(cluster_node_of(t.c, t.a)->ready == TRI_UNKNOWN);
	world_run(t.w, 900000);
	job = job_at(&t, 0);
	assert_int_equal(jobs(&t), 1);
	assert_string_equal(job->target, "DeadlineExceeded");
	assert_null(job->why);
	assert_int_equal(job->terminating, 1);
	assert_int_equal(cron->n_active, 1);
	assert_true(events_of(&cron->o, "JobAlreadyActive") > 10);
	/* The process has ended long ago; nobody could say so. */
	assert_false(process_lives(pod_at(&t, 0)->process));
	net_join(t.w, t.a, t.api);
	world_run(t.w, 915000);
	assert_string_equal(job->why, "DeadlineExceeded");
	assert_int_equal(cron->n_active, 1);
	assert_int_equal(jobs(&t), 2);
	world_free(t.w);
}

/* By force: the object is gone, and the process works on until its node hears of it. */
static void a_pod_deleted_by_force_works_on(void **state)
{
	struct bench t = bench_new();
	struct cluster_work work = work_of(3600000);
	struct process *p;

	(void)state;
	work.node = "node-a";
	cluster_cronjob_new(t.c, "billing", "close", "13 * * * *", NULL, &work);
	world_run(t.w, 65000);
	p = pod_at(&t, 0)->process;
	net_cut(t.w, t.a, t.api);
	world_run(t.w, 70000);
	cluster_pod_unhold(pod_at(&t, 0));
	cluster_pod_delete(pod_at(&t, 0), 0);
	world_run(t.w, 300000);
	assert_true(process_lives(p));
	assert_int_equal(t.c->n[CLUSTER_POD], 1);
	assert_true(pod_at(&t, 0)->process != p);
	net_join(t.w, t.a, t.api);
	world_run(t.w, 302000);
	assert_false(process_lives(p));
	world_free(t.w);
}

static size_t processes(const struct bench *t)
{
	struct thing *p = NULL;
	size_t n = 0;

	while ((p = world_each(t->w, &process_ops, p)) != NULL)
		n++;
	return n;
}

/* A fleet that lives for days keeps the processes of the pods that the history has, and no more. */
static void the_processes_of_pods_that_are_gone_go(void **state)
{
	struct bench t = bench_new();
	struct cluster_work work = work_of(20000);
	struct duty *d = duty_new(t.w, "close", NULL, 1000);
	uint64_t versions;
	size_t n;

	(void)state;
	work.duty = d;
	each_minute(&t, &work, CRON_FORBID);
	world_run(t.w, 600000);
	n = processes(&t);
	versions = world_versions(t.w, &process_ops);
	world_run(t.w, 6 * 3600000);
	assert_true(processes(&t) <= n);
	/* None is forgotten while a duty names it. */
	assert_true(duties_remember(t.w, d->last));
	assert_true(world_versions(t.w, &process_ops) > versions);
	world_free(t.w);
}

/* A pod of a Deployment that is deleted is replaced, under another name and another identity. */
static void a_deployments_pod_is_replaced(void **state)
{
	struct bench t = bench_new();
	struct process *p = process_new(t.w, "operator-a", t.a, NULL);
	char first[200];

	(void)state;
	cluster_pod_program(t.c, p, "ops", "operator");
	lease_client_new(t.c, p, &lease_default);
	process_start(t.w, p);
	world_run(t.w, 20000);
	snprintf(first, sizeof(first), "%s", holder(&t));
	assert_int_equal(strncmp(first, "operator-a_", 11), 0);
	cluster_pod_delete(cluster_process_pod(p), -1);
	world_run(t.w, 60000);
	assert_int_equal(t.c->n[CLUSTER_POD], 1);
	assert_int_equal(strncmp(holder(&t), "operator-a-", 11), 0);
	assert_int_equal(record(&t)->transitions, 1);
	world_free(t.w);
}

/* Stopped and started again at once: a new pod, and one new life. */
static void a_pod_that_is_restarted_is_another_one(void **state)
{
	struct bench t = bench_new();
	struct process *p = process_new(t.w, "operator-a", t.a, NULL);
	char first[CLUSTER_UID_MAX];

	(void)state;
	cluster_pod_program(t.c, p, "ops", "operator");
	process_start(t.w, p);
	world_run(t.w, 20000);
	memcpy(first, cluster_process_pod(p)->o.uid, sizeof(first));
	process_end(t.w, p, PROCESS_END_STOPPED);
	process_start(t.w, p);
	world_run(t.w, 60000);
	assert_int_equal(t.c->n[CLUSTER_POD], 1);
	assert_string_not_equal(cluster_process_pod(p)->o.uid, first);
	assert_int_equal(cluster_process_pod(p)->phase, POD_RUNNING);
	assert_int_equal(p->life, 2);
	world_free(t.w);
}

/* A container that crashed is started again in its pod. */
static void a_pod_that_crashed_is_the_same_one(void **state)
{
	struct bench t = bench_new();
	struct process *p = process_new(t.w, "operator-a", t.a, NULL);
	char first[CLUSTER_UID_MAX];

	(void)state;
	p->restart_after_ms = 5000;
	cluster_pod_program(t.c, p, "ops", "operator");
	process_start(t.w, p);
	world_run(t.w, 20000);
	memcpy(first, cluster_process_pod(p)->o.uid, sizeof(first));
	process_end(t.w, p, PROCESS_END_KILLED);
	world_run(t.w, 22000);
	assert_string_equal(cluster_process_pod(p)->reason, "CrashLoopBackOff");
	world_run(t.w, 40000);
	assert_string_equal(cluster_process_pod(p)->o.uid, first);
	assert_int_equal(cluster_process_pod(p)->restarts, 1);
	assert_int_equal(cluster_process_pod(p)->running, 1);
	world_free(t.w);
}

/* ---- the API server ---- */

static void a_lease_that_is_made_anew_counts_from_zero(void **state)
{
	struct bench t = bench_new();
	struct process *a, *b;
	struct lease_options o = lease_default;

	(void)state;
	o.exits = false;
	a = contender(&t, "a", t.a, &o);
	b = contender(&t, "b", t.b, &o);
	process_start(t.w, a);
	process_start(t.w, b);
	world_run(t.w, 60000);
	process_end(t.w, a, PROCESS_END_KILLED);
	process_end(t.w, b, PROCESS_END_KILLED);
	world_run(t.w, 120000);
	cluster_lease_delete(cluster_lease_place(t.c, "ops", "operator"), NULL);
	world_run(t.w, 130000);
	assert_int_equal(record(&t)->transitions, 0);
	world_free(t.w);
}

/* etcd without space: nobody can renew, and all leaders give up; nothing is taken over. */
static void without_writes_every_leader_gives_up(void **state)
{
	struct bench t = bench_new();
	struct process *a = contender(&t, "a", t.a, &lease_default);

	(void)state;
	process_start(t.w, a);
	world_run(t.w, 60000);
	cluster_trouble(t.c, CLUSTER_READ_ONLY);
	world_run(t.w, 75000);
	assert_true(a->restarts > 0 || a->state == PROCESS_CRASHED);
	assert_false(cluster_managed(t.c));
	cluster_trouble(t.c, CLUSTER_SERVES);
	world_run(t.w, 110000);
	assert_true(cluster_managed(t.c));
	assert_string_equal(holder(&t), "a");
	world_free(t.w);
}

/* ---- the same seed, the same story ---- */

static uint64_t story(struct bench *t)
{
	static const uint64_t seed[2] = { 1, 2 };
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < world_told(t->w); i++) {
		const struct happening *h = world_happening(t->w, i);

		sum = sum * 31 + map_siphash(seed, h->text, strlen(h->text)) + (uint64_t)h->at_ms;
	}
	return sum;
}

static uint64_t play(void)
{
	struct bench t = bench_new();
	struct cluster_work work = work_of(45000);
	struct process *a = contender(&t, "a", t.a, &lease_default);
	struct process *b = contender(&t, "b", t.b, &lease_default);
	uint64_t sum;

	work.vary = 30;
	work.fails = 1;
	each_minute(&t, &work, CRON_REPLACE);
	process_start(t.w, a);
	process_start(t.w, b);
	world_run(t.w, 100000);
	net_cut(t.w, t.a, t.api);
	world_run(t.w, 500000);
	net_join(t.w, t.a, t.api);
	world_run(t.w, 900000);
	sum = story(&t);
	world_free(t.w);
	return sum;
}

/* Takes what there is to tell; whether all of it were renewals of the Lease. */
static bool only_renewals(struct cluster_watch *watch)
{
	struct cluster_notice notice;
	bool only = true;

	while (cluster_watch_next(watch, &notice))
		if (notice.kind == CLUSTER_LEASE && str_eq(notice.object->name, "operator"))
			only = only && notice.news == CLUSTER_IS && notice.renewed;
	return only;
}

static void a_watch_tells_renewals_as_such(void **state)
{
	struct bench t = bench_new();
	struct process *first = contender(&t, "first", t.a, &lease_default);
	struct process *second = contender(&t, "second", t.b, &lease_default);
	struct cluster_watch *watch = cluster_watch_new(t.c);

	(void)state;
	assert_true(cluster_watch_lost(watch));
	start_both(&t, first, second, 1000);
	assert_false(only_renewals(watch));
	world_run(t.w, 70000);
	assert_true(only_renewals(watch));
	/* Another holder is told whole, once as it was and once as it is. */
	process_end(t.w, first, PROCESS_END_STOPPED);
	world_run(t.w, 100000);
	assert_string_equal(holder(&t), "second");
	assert_false(only_renewals(watch));
	world_run(t.w, 110000);
	assert_true(only_renewals(watch));
	cluster_watch_free(watch);
	world_free(t.w);
}

static void the_same_seed_gives_the_same_story(void **state)
{
	uint64_t sum = play();

	(void)state;
	assert_true(sum == play());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lease_is_taken_after_its_duration),
		cmocka_unit_test(a_leader_that_is_cut_off_gives_up_first),
		cmocka_unit_test(who_believes_for_ever_works_on),
		cmocka_unit_test(a_clock_that_is_ahead_takes_what_is_held),
		cmocka_unit_test(a_run_starts_on_the_minute_and_completes),
		cmocka_unit_test(forbid_skips_and_catches_up),
		cmocka_unit_test(a_starting_deadline_lets_no_late_slot_start),
		cmocka_unit_test(replace_runs_beside_the_pod_that_ends),
		cmocka_unit_test(allow_runs_both_and_their_work_overlaps),
		cmocka_unit_test(resume_starts_the_last_missed_slot),
		cmocka_unit_test(slots_pass_without_controllers),
		cmocka_unit_test(missed_slots_start_as_the_controller_starts_them),
		cmocka_unit_test(a_run_that_fails_is_tried_again_later_each_time),
		cmocka_unit_test(an_image_that_can_not_be_pulled_begins_nothing),
		cmocka_unit_test(a_lost_node_holds_a_run_and_forbid_for_ever),
		cmocka_unit_test(a_pod_deleted_by_force_works_on),
		cmocka_unit_test(the_processes_of_pods_that_are_gone_go),
		cmocka_unit_test(a_deployments_pod_is_replaced),
		cmocka_unit_test(a_pod_that_is_restarted_is_another_one),
		cmocka_unit_test(a_pod_that_crashed_is_the_same_one),
		cmocka_unit_test(a_lease_that_is_made_anew_counts_from_zero),
		cmocka_unit_test(without_writes_every_leader_gives_up),
		cmocka_unit_test(a_watch_tells_renewals_as_such),
		cmocka_unit_test(the_same_seed_gives_the_same_story),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
