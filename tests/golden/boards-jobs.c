#include "config.h"

#include "boards.h"
#include "maker.h"
#include "model/schedule.h"

#include <stdio.h>
#include <stdlib.h>

enum {
	NO = -1, /* minutes: none */
};

/* A CronJob under construction; minutes are before the last full five minutes. */
struct job {
	struct maker *k;
	int64_t grid_us;
	const char *name;
};

static int64_t ago(const struct job *j, double minutes)
{
	return j->grid_us - (int64_t)(minutes * (double)MINUTE_US);
}

static struct job job_begin(struct maker *k, const char *name, enum state state, int64_t since_s,
	bool need, const char *schedule, const char *zone, const char *policy)
{
	struct job j = { .k = k, .grid_us = k->now_us - k->now_us % (5 * MINUTE_US), .name = name };
	struct schedule *when = schedule_new(schedule, zone, zone_load);
	char path[128];

	snprintf(path, sizeof(path), "cronjob/%s", name);
	row_begin(k, MECH_K8S_CRONJOB, path, state, since_s, need);
	draft_schedule(k->draft, when);
	schedule_unref(when);
	draft_text(k->draft, DETAIL_SCHEDULE, schedule);
	if (zone)
		draft_text(k->draft, DETAIL_TIME_ZONE, zone);
	draft_text(k->draft, DETAIL_POLICY, policy);
	draft_int(k->draft, DETAIL_CREATED, k->now_us - 90 * 24 * HOUR_US);
	return j;
}

/* A run for the slot so many minutes ago, that ended so many minutes ago. */
static struct run run_of(
	const struct job *j, double slot, double end, enum run_state state, char name[64])
{
	int64_t at = ago(j, slot);

	snprintf(name, 64, "%s-%lld", strchr(j->name, '/') + 1, (long long)(at / MINUTE_US));
	return (struct run){ .name = name,
		.key = name,
		.state = state,
		.listed = state == RUN_RUNNING ? TRI_YES : TRI_NO,
		.attempts = 1,
		.slot_us = at,
		.created_us = at + 400000,
		.start_us = at + 1000000,
		.end_us = end == NO ? TIME_UNKNOWN : ago(j, end),
		.deleted_us = TIME_UNKNOWN,
		.deadline_s = TIME_UNKNOWN,
		.parallelism = 1 };
}

static void pod(const struct job *j, const struct run *run, const char *suffix, const char *node,
	enum pod_phase phase, const char *reason)
{
	char name[96];

	snprintf(name, sizeof(name), "%s-%s", run->name, suffix);
	draft_pod(j->k->draft, &(struct pod){ .name = name,
				       .key = name,
				       .node = node,
				       .reason = reason,
				       .phase = phase,
				       .node_ready = node ? TRI_YES : TRI_UNKNOWN,
				       .containers_running = phase == POD_RUNNING ? 1 : 0,
				       .restarts = 0,
				       .start_us = run->start_us + 2000000,
				       .end_us = phase == POD_RUNNING ? TIME_UNKNOWN : run->end_us,
				       .deleted_us = TIME_UNKNOWN });
}

static void over(const struct job *j, double slot, double end, enum run_state state)
{
	char name[64];
	struct run run = run_of(j, slot, end, state, name);

	draft_run(j->k->draft, &run);
	if (state == RUN_FAILED)
		draft_text(j->k->draft, DETAIL_JOB_REASON, "BackoffLimitExceeded");
	pod(j, &run, "p", "n1", state == RUN_FAILED ? POD_FAILED : POD_SUCCEEDED, NULL);
}

static void going(const struct job *j, double slot, const char *node)
{
	char name[64];
	struct run run = run_of(j, slot, NO, RUN_RUNNING, name);

	draft_run(j->k->draft, &run);
	pod(j, &run, "p", node, POD_RUNNING, NULL);
}

static void job_end(const struct job *j)
{
	draft_run_holders(j->k->draft);
	row_put(j->k);
}

static void job_duplicate(struct maker *k)
{
	struct job j = job_begin(k, "billing/close", STATE_DUPLICATE, 170, true, "*/5 * * * *",
		"Europe/Berlin", "Allow");

	draft_int(k->draft, DETAIL_STARTING_DEADLINE, 60);
	draft_int(k->draft, DETAIL_LAST_SCHEDULE, ago(&j, 0));
	going(&j, 0, "n7");
	going(&j, 5, "n3");
	over(&j, 15, 10.7, RUN_SUCCEEDED);
	over(&j, 20, 12.9, RUN_SUCCEEDED);
	verdict_add(&k->verdict, FINDING_DUP_RUN, SEVERITY_CRIT, ago(&j, 0),
		"Two runs are alive: that of 13:55 on n3, that of 14:00 on n7.");
	verdict_advise(&k->verdict, "See which of them may stop before you end one.");
	job_end(&j);
}

static void job_forbidden(struct maker *k)
{
	struct job j = job_begin(
		k, "billing/dunning", STATE_STUCK, 3600, true, "*/5 * * * *", "UTC", "Forbid");

	draft_int(k->draft, DETAIL_LAST_SCHEDULE, ago(&j, 60));
	going(&j, 60, "n2");
	over(&j, 65, 63, RUN_SUCCEEDED);
	verdict_add(&k->verdict, FINDING_FORBID_BLOCKED, SEVERITY_CRIT, ago(&j, 55),
		"The run of 13:00 is not over, and Forbid has lost 12 slots to it.");
	job_end(&j);
}

/* Where nobody can tell whether the run goes on, and one that can't start. */
static void jobs_unseen(struct maker *k)
{
	struct job j =
		job_begin(k, "data/sync", STATE_HELD, 1200, false, "*/20 * * * *", "UTC", "Forbid");
	char name[64];
	struct run run = run_of(&j, 20, NO, RUN_RUNNING, name);
	struct pod lost = { .name = "sync-p",
		.key = "uid:sync-p",
		.node = "n9",
		.phase = POD_RUNNING,
		.node_ready = TRI_NO,
		.containers_running = 1,
		.restarts = 2,
		.start_us = run.start_us,
		.end_us = TIME_UNKNOWN,
		.deleted_us = TIME_UNKNOWN };

	draft_int(k->draft, DETAIL_LAST_SCHEDULE, ago(&j, 20));
	draft_run(k->draft, &run);
	draft_pod(k->draft, &lost);
	over(&j, 40, 30, RUN_SUCCEEDED);
	job_end(&j);
	j = job_begin(k, "data/import", STATE_STUCK, 500, true, "*/10 * * * *", "UTC", "Forbid");
	draft_int(k->draft, DETAIL_LAST_SCHEDULE, ago(&j, 10));
	run = run_of(&j, 10, NO, RUN_RUNNING, name);
	draft_run(k->draft, &run);
	pod(&j, &run, "p", "n4", POD_PENDING, "ImagePullBackOff");
	job_end(&j);
}

static void jobs_odd(struct maker *k)
{
	struct job j = job_begin(
		k, "ops/cleanup", STATE_SUSPENDED, 86400, false, "*/15 * * * *", "UTC", "Allow");
	char name[64];
	struct run run;

	draft_int(k->draft, DETAIL_SUSPENDED, 1);
	draft_int(k->draft, DETAIL_LAST_SCHEDULE, ago(&j, 45));
	over(&j, 45, 44, RUN_SUCCEEDED);
	job_end(&j);
	j = job_begin(k, "ops/leap", STATE_FREE, 86400, false, "0 0 30 2 *", NULL, "Allow");
	job_end(&j);
	j = job_begin(k, "ops/typo", STATE_FREE, 86400, false, "61 * * * *", "UTC", "Allow");
	job_end(&j);
	/* Two pods of one run, and a run by hand that failed. */
	j = job_begin(k, "ops/backup", STATE_DUPLICATE, 600, true, "0 * * * *", "UTC", "Replace");
	draft_int(k->draft, DETAIL_LAST_SCHEDULE, ago(&j, 0));
	run = run_of(&j, 0, NO, RUN_RUNNING, name);
	draft_run(k->draft, &run);
	pod(&j, &run, "a", "n1", POD_RUNNING, NULL);
	pod(&j, &run, "b", "n5", POD_RUNNING, NULL);
	run = run_of(&j, 33, 31, RUN_FAILED, name);
	run.manual = true;
	run.name = "backup-by-hand";
	run.slot_us = TIME_UNKNOWN;
	draft_run(k->draft, &run);
	over(&j, 120, 110, RUN_FAILED);
	job_end(&j);
}

/* What no cluster should say: names that a terminal could take for commands, times at the ends of
 * 64 bits, an end before its start. */
void hostile_job(struct maker *k, const char *text)
{
	static const int64_t times[] = { INT64_MIN + 1, INT64_MAX, 0, TIME_UNKNOWN, -1 };
	struct schedule *when = schedule_new("*/5 * * * *", NULL, zone_load);
	size_t i;

	row_begin(k, MECH_K8S_CRONJOB, "cronjob/hostile", STATE_DUPLICATE, 0, true);
	draft_schedule(k->draft, when);
	schedule_unref(when);
	draft_text(k->draft, DETAIL_POLICY, "Forbid");
	draft_int(k->draft, DETAIL_CREATED, INT64_MIN + 1);
	draft_int(k->draft, DETAIL_LAST_SCHEDULE, INT64_MAX);
	draft_int(k->draft, DETAIL_STARTING_DEADLINE, INT64_MAX);
	for (i = 0; i < 25; i++) {
		draft_run(k->draft, &(struct run){ .name = text,
					    .key = text,
					    .state = (enum run_state)(i % 4),
					    .attempts = INT32_MAX,
					    .slot_us = times[i % 5],
					    .created_us = times[(i + 1) % 5],
					    .start_us = times[i / 5],
					    .end_us = times[(i + 3) % 5],
					    .deleted_us = times[(i + 2) % 5],
					    .parallelism = INT32_MIN });
		draft_pod(k->draft, &(struct pod){ .name = text,
					    .key = text,
					    .node = text,
					    .reason = text,
					    .phase = (enum pod_phase)(i % 5),
					    .start_us = times[(i + 4) % 5],
					    .end_us = times[i % 5],
					    .deleted_us = times[i / 5] });
		draft_pod(k->draft, &(struct pod){ .name = "",
					    .key = "",
					    .phase = POD_RUNNING,
					    .containers_running = 1,
					    .start_us = times[i / 5],
					    .end_us = times[i % 5],
					    .deleted_us = TIME_UNKNOWN });
	}
	draft_run_holders(k->draft);
	row_put(k);
}

static void leases(struct maker *k)
{
	row_begin(k, MECH_K8S_LEASE, "lease/ops/scheduler", STATE_HELD, 5 * 86400, false);
	draft_token(k->draft, TOKEN_LEASE_TRANSITIONS, 7);
	k->verdict.v.has_highest = true;
	k->verdict.v.highest_token = 7;
	lease(k, 15, 11000);
	claim(k, CLAIM_HOLDER, "scheduler-6f9_0c1d", "uid:9a/scheduler-6f9_0c1d/7");
	draft_int(k->draft, DETAIL_RENEW_TIME, k->now_us - 4000000);
	draft_int(k->draft, DETAIL_ACQUIRE_TIME, k->now_us - 5 * 24 * HOUR_US);
	draft_int(k->draft, DETAIL_DURATION, 15);
	draft_int(k->draft, DETAIL_SKEW, 120);
	draft_text(k->draft, DETAIL_POD, "scheduler-6f9");
	draft_text(k->draft, DETAIL_POD_PHASE, "Running");
	draft_text(k->draft, DETAIL_POD_NODE, "n3");
	row_put(k);
}

struct snapshot *make_jobs(int64_t now_ms, int64_t now_us)
{
	struct maker k;

	maker_begin(&k, "kube", now_ms, now_us);
	job_duplicate(&k);
	job_forbidden(&k);
	jobs_unseen(&k);
	jobs_odd(&k);
	leases(&k);
	return maker_end(&k, &(struct snapshot){ .source = "kube",
				     .kind = "kubernetes",
				     .environment = "prod",
				     .state = SOURCE_OK,
				     .live = true,
				     .picture_ms = now_ms - 900,
				     .server = "Kubernetes v1.34.1",
				     .cost = { .requests = 30,
					     .bytes_in = 90000,
					     .bytes_out = 3000,
					     .round_trip_ms = 4 } });
}

/* A cluster that was read last four minutes ago. */
struct snapshot *make_far_jobs(int64_t now_ms, int64_t now_us)
{
	struct maker k;
	struct job j;

	maker_begin(&k, "west", now_ms, now_us);
	j = job_begin(&k, "billing/close", STATE_HELD, 480, false, "*/5 * * * *", "UTC", "Forbid");
	draft_int(k.draft, DETAIL_LAST_SCHEDULE, ago(&j, 5));
	going(&j, 5, "w1");
	over(&j, 10, 8, RUN_SUCCEEDED);
	job_end(&j);
	return maker_end(&k, &(struct snapshot){ .source = "west",
				     .kind = "kubernetes",
				     .environment = "staging",
				     .state = SOURCE_FAILING,
				     .picture_ms = now_ms - 250000,
				     .error = "10.9.0.1:6443 was asked for its CronJobs and did "
					      "not answer within 5 s; check the host and the "
					      "network between",
				     .error_since_us = now_us - 250000000,
				     .cost = { .requests = 10, .round_trip_ms = 40 } });
}

static void many_job(struct maker *k, size_t i)
{
	char name[64];
	struct job j;
	int n;

	snprintf(name, sizeof(name), "team-%02zu/job-%04zu", i % 17, i);
	j = job_begin(k, name, i % 50 == 3 ? STATE_DUPLICATE : STATE_FREE, 600, i % 50 == 3,
		i % 2 ? "* * * * *" : "*/2 * * * *", i % 3 ? "UTC" : "Europe/Berlin",
		i % 5 ? "Allow" : "Forbid");
	draft_int(k->draft, DETAIL_LAST_SCHEDULE, ago(&j, 0));
	if (i % 10 == 3)
		going(&j, 0, "n1");
	if (i % 50 == 3)
		going(&j, 2, "n2");
	for (n = 4; n < 14; n += 2)
		over(&j, n, n - 1.5, n == 8 && i % 4 == 0 ? RUN_FAILED : RUN_SUCCEEDED);
	job_end(&j);
}

struct snapshot *make_many_jobs(size_t n, int64_t now_ms, int64_t now_us)
{
	struct maker k;
	size_t i;

	maker_begin(&k, "kube", now_ms, now_us);
	for (i = 0; i < n; i++)
		many_job(&k, i);
	return maker_end(&k, &(struct snapshot){ .source = "kube",
				     .kind = "kubernetes",
				     .environment = "lab",
				     .state = SOURCE_OK,
				     .live = true,
				     .picture_ms = now_ms,
				     .cost = { .round_trip_ms = 4 } });
}
