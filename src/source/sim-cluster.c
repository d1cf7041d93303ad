#include "config.h"

#include "sim/cluster-hand.h"
#include "source/sim-cluster.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* What a scenario may write for Kubernetes clusters. */

/* ---- finding what is named ---- */

static struct cluster *cluster_named(
	struct world *w, const struct option_values *v, struct err *err)
{
	const char *name = option_value_text(v, "cluster");
	struct cluster *c = cluster_find(w, name);

	if (!c)
		err_set(err, ERR_CONFIG, "there is no cluster called \"%s\"", name ? name : "");
	return c;
}

static int duty_named(
	struct world *w, const struct option_values *v, struct duty **ret, struct err *err)
{
	const char *name = option_value_text(v, "duty");

	*ret = name ? duty_find(w, name) : NULL;
	if (name && !*ret)
		return err_set(err, ERR_CONFIG, "there is no duty called \"%s\"", name);
	return 0;
}

static int resource_named(
	struct world *w, const struct option_values *v, struct resource **ret, struct err *err)
{
	const char *name = option_value_text(v, "resource");

	*ret = name ? resource_find(w, name) : NULL;
	if (name && !*ret)
		return err_set(err, ERR_CONFIG, "there is no resource called \"%s\"", name);
	return 0;
}

static struct cluster_cronjob *cronjob_named(
	struct world *w, const struct option_values *v, struct err *err)
{
	struct cluster *c = cluster_named(w, v, err);
	const char *ns = option_value_text(v, "namespace"), *name = option_value_text(v, "cronjob");
	struct cluster_object *o = c ? cluster_get(c, CLUSTER_CRONJOB, ns, name) : NULL;

	if (c && !o)
		err_set(err, ERR_CONFIG, "there is no CronJob %s/%s", ns, name);
	return (struct cluster_cronjob *)o;
}

/* 0, or what the error says. */
static int failed(const struct err *err)
{
	return err->code ? (int)err->code : ERR_CONFIG;
}

#define CLUSTER_OPTION                                                                 \
	{                                                                              \
		.name = "cluster", .type = OPTION_TEXT, .help = "The cluster's name.", \
		.required = true                                                       \
	}
#define NAMESPACE_OPTION                                                         \
	{                                                                        \
		.name = "namespace", .type = OPTION_TEXT, .fallback = "default", \
		.help = "The namespace."                                         \
	}
#define FOR_OPTION                                                          \
	{                                                                   \
		.name = "for", .type = OPTION_DURATION,                     \
		.help = "How long; without it until another fault ends it." \
	}
#define END_OPTION           \
	{                    \
		.name = NULL \
	}

/* ---- a cluster ---- */

static const struct option_def cluster_options[] = {
	{ .name = "name", .type = OPTION_TEXT, .help = "Its name.", .required = true },
	{ .name = "machine",
		.type = OPTION_TEXT,
		.help = "The machine of its API server and its controllers. Without it, one of the "
			"cluster's name." },
	{ .name = "nodes",
		.type = OPTION_LIST,
		.help = "The machines that are its nodes. Without it, the API server's own." },
	{ .name = "node_grace",
		.type = OPTION_DURATION,
		.fallback = "40s",
		.help = "So long after its last heartbeat a node is NotReady; 50s from Kubernetes "
			"1.32 on." },
	{ .name = "eviction",
		.type = OPTION_DURATION,
		.fallback = "5m",
		.help = "So long after a node became NotReady its pods are deleted." },
	{ .name = "controllers",
		.type = OPTION_BOOL,
		.fallback = "true",
		.help = "Whether its controller manager runs from the start." },
	END_OPTION,
};

static void start_manager(struct world *w, void *who, int64_t a, int64_t b)
{
	(void)a;
	(void)b;
	process_start(w, who);
}

static int make_cluster(struct world *w, const struct option_values *v, struct err *err)
{
	const char *name = option_value_text(v, "name");
	const char *machine = option_value_text(v, "machine"), *node;
	struct cluster *c;
	size_t i;

	if (cluster_find(w, name))
		return err_set(err, ERR_CONFIG, "there is a cluster called \"%s\" already", name);
	c = cluster_new(w, name, machine_new(w, machine ? machine : name), zone_load);
	c->node_grace_ms = option_value_int(v, "node_grace");
	c->eviction_ms = option_value_int(v, "eviction");
	for (i = 0; (node = option_value_item(v, "nodes", i)); i++)
		cluster_node_new(c, machine_new(w, node));
	if (!i)
		cluster_node_new(c, c->machine);
	if (option_value_int(v, "controllers"))
		world_after(w, 0, start_manager, c->manager, 0, 0);
	return 0;
}

/* ---- a CronJob ---- */

static const struct option_def cronjob_options[] = {
	CLUSTER_OPTION,
	NAMESPACE_OPTION,
	{ .name = "name", .type = OPTION_TEXT, .help = "Its name.", .required = true },
	{ .name = "schedule",
		.type = OPTION_TEXT,
		.help = "spec.schedule: five fields, or @hourly and its kin.",
		.required = true },
	{ .name = "time_zone", .type = OPTION_TEXT, .help = "spec.timeZone." },
	{ .name = "policy",
		.type = OPTION_WORD,
		.fallback = "Allow",
		.words = "Allow|Forbid|Replace",
		.help = "spec.concurrencyPolicy." },
	{ .name = "starting_deadline",
		.type = OPTION_DURATION,
		.help = "spec.startingDeadlineSeconds; without it, none." },
	{ .name = "suspended",
		.type = OPTION_BOOL,
		.fallback = "false",
		.help = "spec.suspend at the start." },
	{ .name = "age",
		.type = OPTION_DURATION,
		.fallback = "0s",
		.help = "How long before the world's start it was made. Its last slot before the "
			"start (or before `quiet_for`) counts as started." },
	{ .name = "quiet_for",
		.type = OPTION_DURATION,
		.fallback = "0s",
		.help = "So long before the start it started nothing any more." },
	{ .name = "runs_before",
		.type = OPTION_INT,
		.fallback = "0",
		.help = "So many runs of its last slots before the start are there, over and well; "
			"for one that has an age." },
	{ .name = "keep_succeeded",
		.type = OPTION_INT,
		.fallback = "3",
		.help = "spec.successfulJobsHistoryLimit." },
	{ .name = "keep_failed",
		.type = OPTION_INT,
		.fallback = "1",
		.help = "spec.failedJobsHistoryLimit." },
	{ .name = "duration",
		.type = OPTION_DURATION,
		.fallback = "30s",
		.help = "How long its work takes." },
	{ .name = "vary",
		.type = OPTION_INT,
		.fallback = "0",
		.help = "Per cent by which that differs from run to run, either way." },
	{ .name = "duty", .type = OPTION_TEXT, .help = "The duty that a run does while it works." },
	{ .name = "resource", .type = OPTION_TEXT, .help = "The resource that a run writes to." },
	{ .name = "writes",
		.type = OPTION_INT,
		.fallback = "1",
		.help = "How often a run writes to it, the first time at its start. A piece of "
			"work is told by its slot, so that a slot that runs twice does it twice." },
	{ .name = "fails",
		.type = OPTION_INT,
		.fallback = "0",
		.help = "So many executions of each run fail, at half their time; -1: all." },
	{ .name = "hangs",
		.type = OPTION_BOOL,
		.fallback = "false",
		.help = "Its runs never end by themselves." },
	{ .name = "deaf",
		.type = OPTION_BOOL,
		.fallback = "false",
		.help = "SIGTERM does not end it: only SIGKILL does, after its grace period." },
	{ .name = "stops_after",
		.type = OPTION_DURATION,
		.fallback = "0s",
		.help = "What it needs to end after SIGTERM." },
	{ .name = "bad_image",
		.type = OPTION_BOOL,
		.fallback = "false",
		.help = "Its image can't be pulled." },
	{ .name = "finalizer",
		.type = OPTION_TEXT,
		.help = "A finalizer that its pods have, and nobody takes off." },
	{ .name = "backoff_limit",
		.type = OPTION_INT,
		.fallback = "6",
		.help = "spec.backoffLimit of its Jobs." },
	{ .name = "active_deadline",
		.type = OPTION_DURATION,
		.help = "spec.activeDeadlineSeconds of its Jobs; without it, none." },
	{ .name = "parallelism",
		.type = OPTION_INT,
		.fallback = "1",
		.help = "spec.parallelism of its Jobs." },
	{ .name = "completions",
		.type = OPTION_INT,
		.fallback = "1",
		.help = "spec.completions of its Jobs." },
	{ .name = "grace",
		.type = OPTION_DURATION,
		.fallback = "30s",
		.help = "terminationGracePeriodSeconds of its pods." },
	{ .name = "restart_policy",
		.type = OPTION_WORD,
		.fallback = "Never",
		.words = "Never|OnFailure",
		.help = "restartPolicy of its pods." },
	{ .name = "node",
		.type = OPTION_TEXT,
		.help = "The node that its pods go to; without it they take turns." },
	END_OPTION,
};

static int64_t seconds_or(const struct option_values *v, const char *name, int64_t none)
{
	int64_t ms = option_value_int(v, name);

	return ms == INT64_MIN ? none : ms / 1000;
}

static int read_work(
	struct world *w, const struct option_values *v, struct cluster_work *work, struct err *err)
{
	int rc;

	*work = (struct cluster_work){
		.duration_ms = option_value_int(v, "duration"),
		.vary = (int)option_value_int(v, "vary"),
		.writes = (int)option_value_int(v, "writes"),
		.fails = (int)option_value_int(v, "fails"),
		.hangs = option_value_int(v, "hangs"),
		.deaf = option_value_int(v, "deaf"),
		.stop_ms = option_value_int(v, "stops_after"),
		.bad_image = option_value_int(v, "bad_image"),
		.finalizer = option_value_text(v, "finalizer"),
		.node = option_value_text(v, "node"),
		.parallelism = (int32_t)option_value_int(v, "parallelism"),
		.completions = (int32_t)option_value_int(v, "completions"),
		.backoff_limit = (int32_t)option_value_int(v, "backoff_limit"),
		.deadline_s = seconds_or(v, "active_deadline", TIME_UNKNOWN),
		.grace_s = option_value_int(v, "grace") / 1000,
		.restarts = strcmp(option_value_text(v, "restart_policy"), "OnFailure") == 0,
	};
	rc = duty_named(w, v, &work->duty, err);
	return rc ? rc : resource_named(w, v, &work->resource, err);
}

enum {
	RUNS_BEFORE = 10
};

/* How long a run of that slot took which has ended by now. */
static int64_t past_ms(const struct cluster_cronjob *cron, int64_t slot_us, int64_t now_us)
{
	int64_t most_ms = (now_us - slot_us) / 1000;

	return cron->work.duration_ms < most_ms ? cron->work.duration_ms : most_ms;
}

/* The oldest first, as the controller made them. */
static void make_past_runs(
	struct cluster_cronjob *cron, const struct option_values *v, int64_t now_us)
{
	int64_t slots[RUNS_BEFORE], before_us = cron->last_schedule_us + 1;
	int64_t want = option_value_int(v, "runs_before");
	int n = 0;

	while (n < want && n < RUNS_BEFORE &&
		schedule_latest(cron->schedule, cron->o.created_us, before_us - 1, &slots[n]))
		before_us = slots[n++];
	while (n--)
		if (past_ms(cron, slots[n], now_us) > 0)
			cluster_job_past(cron, slots[n], past_ms(cron, slots[n], now_us));
}

/* What was before the world began. */
static void set_past(struct cluster_cronjob *cron, const struct option_values *v)
{
	int64_t age_us = option_value_int(v, "age") * 1000;
	int64_t now_us = cron->o.created_us, last_us;
	int64_t until_us = now_us - option_value_int(v, "quiet_for") * 1000;

	cron->o.created_us -= age_us;
	if (!age_us || !schedule_latest(cron->schedule, cron->o.created_us, until_us, &last_us))
		return;
	cron->last_schedule_us = last_us;
	cron->last_success_us = last_us + past_ms(cron, last_us, now_us) / 1000 * 1000000;
	make_past_runs(cron, v, now_us);
}

static enum cron_policy policy_of(const char *word)
{
	return strcmp(word, "Forbid") == 0    ? CRON_FORBID
	       : strcmp(word, "Replace") == 0 ? CRON_REPLACE
					      : CRON_ALLOW;
}

static int make_cronjob(struct world *w, const struct option_values *v, struct err *err)
{
	struct cluster *c = cluster_named(w, v, err);
	const char *ns = option_value_text(v, "namespace"), *name = option_value_text(v, "name");
	struct cluster_cronjob *cron;
	struct cluster_work work;
	int rc;

	if (!c)
		return failed(err);
	if (cluster_get(c, CLUSTER_CRONJOB, ns, name))
		return err_set(err, ERR_CONFIG, "there is a CronJob %s/%s already", ns, name);
	rc = read_work(w, v, &work, err);
	if (rc)
		return rc;
	cron = cluster_cronjob_new(c, ns, name, option_value_text(v, "schedule"),
		option_value_text(v, "time_zone"), &work);
	cron->policy = policy_of(option_value_text(v, "policy"));
	cron->deadline_s = seconds_or(v, "starting_deadline", -1);
	cron->suspended = option_value_int(v, "suspended");
	cron->keep_succeeded = (int32_t)option_value_int(v, "keep_succeeded");
	cron->keep_failed = (int32_t)option_value_int(v, "keep_failed");
	set_past(cron, v);
	return 0;
}

/* ---- a Lease that is there already ---- */

static const struct option_def lease_thing_options[] = {
	CLUSTER_OPTION,
	NAMESPACE_OPTION,
	{ .name = "name", .type = OPTION_TEXT, .help = "Its name.", .required = true },
	{ .name = "holder",
		.type = OPTION_TEXT,
		.fallback = "",
		.help = "holderIdentity; empty: vacant." },
	{ .name = "duration",
		.type = OPTION_DURATION,
		.fallback = "15s",
		.help = "leaseDurationSeconds." },
	{ .name = "transitions", .type = OPTION_INT, .fallback = "0", .help = "leaseTransitions." },
	{ .name = "age",
		.type = OPTION_DURATION,
		.fallback = "0s",
		.help = "So long before the world's start it was renewed last." },
	END_OPTION,
};

static int make_lease(struct world *w, const struct option_values *v, struct err *err)
{
	struct cluster *c = cluster_named(w, v, err);
	const char *ns = option_value_text(v, "namespace"), *name = option_value_text(v, "name");
	struct lease_record r = { 0 };

	if (!c)
		return failed(err);
	r.holder = cluster_identity(c, option_value_text(v, "holder"));
	r.duration_s = (int32_t)(option_value_int(v, "duration") / 1000);
	r.transitions = option_value_int(v, "transitions");
	r.acquire_us = r.renew_us = world_now_us(w) - option_value_int(v, "age") * 1000;
	if (cluster_lease_create(cluster_lease_place(c, ns, name), &r))
		return err_set(err, ERR_CONFIG, "there is a Lease %s/%s already", ns, name);
	return 0;
}

/* ---- a change that somebody asked for ---- */

static const struct option_def change_options[] = {
	CLUSTER_OPTION,
	NAMESPACE_OPTION,
	{ .name = "name", .type = OPTION_TEXT, .help = "Its name.", .required = true },
	{ .name = "cronjob",
		.type = OPTION_TEXT,
		.help = "The CronJob that it changes.",
		.required = true },
	{ .name = "about", .type = OPTION_TEXT, .help = "What is asked for, in a sentence." },
	{ .name = "schedule", .type = OPTION_TEXT, .help = "spec.schedule; without it as it is." },
	{ .name = "time_zone", .type = OPTION_TEXT, .help = "spec.timeZone; without it as it is." },
	{ .name = "policy",
		.type = OPTION_WORD,
		.words = "Allow|Forbid|Replace",
		.help = "spec.concurrencyPolicy; without it as it is." },
	{ .name = "guard",
		.type = OPTION_DURATION,
		.help = "startingDeadlineSeconds that apply-guarded sets in the same edit." },
	END_OPTION,
};

static char *copied(const char *text)
{
	return text ? xstrdup(text) : NULL;
}

static int make_change(struct world *w, const struct option_values *v, struct err *err)
{
	struct cluster_cronjob *cron = cronjob_named(w, v, err);
	const char *policy = option_value_text(v, "policy");
	struct cluster_change *change;

	if (!cron)
		return failed(err);
	change = cluster_change_new(
		cron->o.cluster, option_value_text(v, "name"), cron->o.ns, cron->o.name);
	change->schedule = copied(option_value_text(v, "schedule"));
	change->zone = copied(option_value_text(v, "time_zone"));
	change->about = copied(option_value_text(v, "about"));
	change->policy = policy ? (int)policy_of(policy) : -1;
	change->guard_s = seconds_or(v, "guard", -1);
	return 0;
}

static const struct sim_thing things[] = {
	{ .word = "clusters",
		.help = "Kubernetes clusters: an API server, a controller manager and nodes.",
		.options = cluster_options,
		.make = make_cluster },
	{ .word = "cronjobs",
		.help = "CronJobs of a cluster, and what their runs do.",
		.options = cronjob_options,
		.make = make_cronjob },
	{ .word = "leases",
		.help = "Leases that are there when the world begins; programs make their own.",
		.options = lease_thing_options,
		.make = make_lease },
	{ .word = "changes",
		.help = "Changes of CronJobs that somebody asked for: rows of the source fleet, "
			"which apply them or not.",
		.options = change_options,
		.make = make_change },
	{ .word = NULL },
};

/* ---- programs ---- */

static const struct option_def lease_options[] = {
	CLUSTER_OPTION,
	NAMESPACE_OPTION,
	{ .name = "lease", .type = OPTION_TEXT, .help = "The Lease's name.", .required = true },
	{ .name = "duty",
		.type = OPTION_TEXT,
		.help = "The duty that it does while it believes that it leads; its token is "
			"leaseTransitions." },
	{ .name = "lease_duration",
		.type = OPTION_DURATION,
		.fallback = "15s",
		.help = "client-go's LeaseDuration: so long after a record was last seen to change "
			"another may take it." },
	{ .name = "renew_deadline",
		.type = OPTION_DURATION,
		.fallback = "10s",
		.help = "client-go's RenewDeadline: a leader that could not renew for so long "
			"gives "
			"up." },
	{ .name = "retry_period",
		.type = OPTION_DURATION,
		.fallback = "2s",
		.help = "client-go's RetryPeriod, between two tries." },
	{ .name = "release_on_cancel",
		.type = OPTION_BOOL,
		.fallback = "false",
		.help = "client-go's ReleaseOnCancel: it clears the record when it stops." },
	{ .name = "reads_first",
		.type = OPTION_BOOL,
		.fallback = "false",
		.help = "It reads the record before each renewal, as client-go did before it tried "
			"to write at once. Then a leader whose Lease was deleted makes one with "
			"leaseTransitions 0." },
	{ .name = "on_lost",
		.type = OPTION_WORD,
		.fallback = "exit",
		.words = "exit|retry|stay",
		.help = "What it does when it has lost the Lease: its process ends, as most do; or "
			"it tries again; or its election is over, and the process stays." },
	{ .name = "believes",
		.type = OPTION_WORD,
		.fallback = "renewal",
		.words = "renewal|forever|clock",
		.help = "renewal: it leads as long as it can renew, as client-go. forever: it "
			"never "
			"looks again whether it leads. clock: it compares renewTime with its own "
			"clock, which client-go warns of." },
	{ .name = "identity",
		.type = OPTION_TEXT,
		.help = "What it calls itself. Without it, its pod's name and a uuid, as "
			"client-go's "
			"users do; or the process' identity where it is no pod." },
	END_OPTION,
};

static int make_lease_client(
	struct world *w, struct process *p, const struct option_values *v, struct err *err)
{
	struct cluster *c = cluster_named(w, v, err);
	const char *believes = option_value_text(v, "believes");
	struct lease_options options = {
		.ns = option_value_text(v, "namespace"),
		.name = option_value_text(v, "lease"),
		.identity = option_value_text(v, "identity"),
		.duration_ms = option_value_int(v, "lease_duration"),
		.deadline_ms = option_value_int(v, "renew_deadline"),
		.retry_ms = option_value_int(v, "retry_period"),
		.release = option_value_int(v, "release_on_cancel"),
		.reads_first = option_value_int(v, "reads_first"),
		.exits = strcmp(option_value_text(v, "on_lost"), "exit") == 0,
		.ends = strcmp(option_value_text(v, "on_lost"), "stay") == 0,
		.believes = strcmp(believes, "forever") == 0 ? LEASE_FOREVER
			    : strcmp(believes, "clock") == 0 ? LEASE_CLOCK
							     : LEASE_RENEWS,
	};
	int rc;

	if (!c)
		return failed(err);
	rc = duty_named(w, v, &options.duty, err);
	if (rc)
		return rc;
	if (options.retry_ms <= 0 || options.deadline_ms <= options.retry_ms ||
		options.duration_ms <= options.deadline_ms)
		return err_set(err, ERR_CONFIG,
			"lease_duration must be longer than renew_deadline, and that longer than "
			"retry_period");
	lease_client_new(c, p, &options);
	return 0;
}

static const struct option_def pod_options[] = {
	CLUSTER_OPTION,
	NAMESPACE_OPTION,
	{ .name = "deployment",
		.type = OPTION_TEXT,
		.help = "The Deployment that it belongs to: when its pod is deleted, another one "
			"is made. Without it, it is a pod of nobody." },
	END_OPTION,
};

static int make_pod(
	struct world *w, struct process *p, const struct option_values *v, struct err *err)
{
	struct cluster *c = cluster_named(w, v, err);

	if (!c)
		return failed(err);
	cluster_pod_program(
		c, p, option_value_text(v, "namespace"), option_value_text(v, "deployment"));
	return 0;
}

static const struct sim_program programs[] = {
	{ .word = "pod",
		.help = "The process is a pod of a cluster, on the node that its machine is; to be "
			"written before the programs that call themselves by its name.",
		.options = pod_options,
		.make = make_pod },
	{ .word = "lease",
		.help = "It contends for a Lease, as client-go's leader election does.",
		.options = lease_options,
		.make = make_lease_client },
	{ .word = NULL },
};

/* ---- faults of the API server and the controllers ---- */

static const struct option_def cluster_fault_options[] = { CLUSTER_OPTION, FOR_OPTION, END_OPTION };

static void after(
	struct world *w, const struct option_values *v, world_fn *fn, void *who, int64_t a)
{
	int64_t for_ms = option_value_int(v, "for");

	if (for_ms != INT64_MIN)
		world_after(w, for_ms, fn, who, a, 0);
}

static void trouble_over(struct world *w, void *who, int64_t a, int64_t b)
{
	struct cluster *c = who;

	(void)w;
	(void)b;
	if (c->trouble == (enum cluster_trouble)a)
		cluster_trouble(c, CLUSTER_SERVES);
}

static int api_trouble(struct world *w, const struct option_values *v, bool check,
	enum cluster_trouble trouble, struct err *err)
{
	struct cluster *c = cluster_named(w, v, err);

	if (!c)
		return failed(err);
	if (check)
		return 0;
	cluster_trouble(c, trouble);
	after(w, v, trouble_over, c, trouble);
	return 0;
}

static int api_down(struct world *w, const struct option_values *v, bool check, struct err *err)
{
	return api_trouble(w, v, check, CLUSTER_DOWN, err);
}

static int api_hangs(struct world *w, const struct option_values *v, bool check, struct err *err)
{
	return api_trouble(w, v, check, CLUSTER_HANGS, err);
}

static int api_read_only(
	struct world *w, const struct option_values *v, bool check, struct err *err)
{
	return api_trouble(w, v, check, CLUSTER_READ_ONLY, err);
}

static int api_up(struct world *w, const struct option_values *v, bool check, struct err *err)
{
	return api_trouble(w, v, check, CLUSTER_SERVES, err);
}

static void seen_again(struct world *w, void *who, int64_t a, int64_t b)
{
	struct cluster *c = who;

	(void)a;
	(void)b;
	c->unseen = false;
	thing_changed(&c->thing);
	world_tell(w, HAPPENING_MENDED, c->thing.name, NULL, 0,
		"the console reaches the API server of %s again", c->thing.name);
}

static int api_unseen(struct world *w, const struct option_values *v, bool check, struct err *err)
{
	struct cluster *c = cluster_named(w, v, err);

	if (!c)
		return failed(err);
	if (check)
		return 0;
	c->unseen = true;
	thing_changed(&c->thing);
	world_tell(w, HAPPENING_FAULT, c->thing.name, NULL, 0,
		"the console's own way to the API server of %s is cut: all others reach it",
		c->thing.name);
	after(w, v, seen_again, c, 0);
	return 0;
}

static void manager_back(struct world *w, void *who, int64_t a, int64_t b)
{
	(void)a;
	(void)b;
	process_start(w, ((struct cluster *)who)->manager);
}

static int controllers_down(
	struct world *w, const struct option_values *v, bool check, struct err *err)
{
	struct cluster *c = cluster_named(w, v, err);

	if (!c)
		return failed(err);
	if (check)
		return 0;
	process_end(w, c->manager, PROCESS_END_STOPPED);
	after(w, v, manager_back, c, 0);
	return 0;
}

static int controllers_up(
	struct world *w, const struct option_values *v, bool check, struct err *err)
{
	struct cluster *c = cluster_named(w, v, err);

	if (!c)
		return failed(err);
	if (!check)
		process_start(w, c->manager);
	return 0;
}

/* ---- faults of nodes and pods ---- */

static const struct option_def node_fault_options[] = {
	CLUSTER_OPTION,
	{ .name = "node", .type = OPTION_TEXT, .help = "The node's name.", .required = true },
	FOR_OPTION,
	END_OPTION,
};

static struct cluster_node *node_named(
	struct world *w, const struct option_values *v, struct err *err)
{
	struct cluster *c = cluster_named(w, v, err);
	const char *name = option_value_text(v, "node");
	struct cluster_object *o = c ? cluster_get(c, CLUSTER_NODE, NULL, name) : NULL;

	if (c && !o)
		err_set(err, ERR_CONFIG, "there is no node %s in %s", name, c->thing.name);
	return (struct cluster_node *)o;
}

static void node_joins(struct world *w, void *who, int64_t a, int64_t b)
{
	struct cluster *c = who;
	struct cluster_node *node = (struct cluster_node *)cluster_by_serial(c, a);

	(void)b;
	if (node)
		net_join(w, node->machine, c->machine);
}

static int node_lost(struct world *w, const struct option_values *v, bool check, struct err *err)
{
	struct cluster_node *node = node_named(w, v, err);

	if (!node)
		return failed(err);
	if (check)
		return 0;
	net_cut(w, node->machine, node->o.cluster->machine);
	after(w, v, node_joins, node->o.cluster, node->o.serial);
	return 0;
}

static int node_back(struct world *w, const struct option_values *v, bool check, struct err *err)
{
	struct cluster_node *node = node_named(w, v, err);

	if (!node)
		return failed(err);
	if (!check)
		node_joins(w, node->o.cluster, node->o.serial, 0);
	return 0;
}

static const struct option_def pod_fault_options[] = {
	CLUSTER_OPTION,
	NAMESPACE_OPTION,
	{ .name = "pod",
		.type = OPTION_TEXT,
		.help = "The pod's name, or how it begins: the newest that is not over.",
		.required = true },
	{ .name = "force",
		.type = OPTION_BOOL,
		.fallback = "false",
		.help = "The object goes at once, whatever became of the process." },
	END_OPTION,
};

static struct cluster_pod *pod_named(struct cluster *c, const char *ns, const char *name)
{
	struct cluster_object *o;

	for (o = c->last[CLUSTER_POD]; o; o = o->prev)
		if (strcmp(o->ns, ns) == 0 && strncmp(o->name, name, strlen(name)) == 0 &&
			!cluster_pod_over((struct cluster_pod *)o))
			return (struct cluster_pod *)o;
	return NULL;
}

/* Which pods there are at its moment can't be known before. */
static int delete_pod(struct world *w, const struct option_values *v, bool check, struct err *err)
{
	struct cluster *c = cluster_named(w, v, err);
	struct cluster_pod *pod;

	if (!c)
		return failed(err);
	if (check)
		return 0;
	pod = pod_named(c, option_value_text(v, "namespace"), option_value_text(v, "pod"));
	if (!pod)
		return 0;
	world_tell(w, HAPPENING_FAULT, c->thing.name, pod->o.name, 0, "pod %s is deleted%s",
		pod->o.name, option_value_int(v, "force") ? " by force" : "");
	cluster_pod_delete(pod, option_value_int(v, "force") ? 0 : -1);
	return 0;
}

/* ---- faults of Leases and CronJobs ---- */

static const struct option_def delete_lease_options[] = {
	CLUSTER_OPTION,
	NAMESPACE_OPTION,
	{ .name = "lease", .type = OPTION_TEXT, .help = "The Lease's name.", .required = true },
	END_OPTION,
};

static int delete_lease(struct world *w, const struct option_values *v, bool check, struct err *err)
{
	struct cluster *c = cluster_named(w, v, err);

	if (!c)
		return failed(err);
	if (!check)
		cluster_lease_delete(cluster_lease_place(c, option_value_text(v, "namespace"),
					     option_value_text(v, "lease")),
			NULL);
	return 0;
}

#define CRONJOB_OPTION                                                                 \
	{                                                                              \
		.name = "cronjob", .type = OPTION_TEXT, .help = "The CronJob's name.", \
		.required = true                                                       \
	}

static const struct option_def edit_options[] = {
	CLUSTER_OPTION,
	NAMESPACE_OPTION,
	CRONJOB_OPTION,
	{ .name = "schedule", .type = OPTION_TEXT, .help = "spec.schedule from then on." },
	{ .name = "time_zone", .type = OPTION_TEXT, .help = "spec.timeZone from then on." },
	{ .name = "policy",
		.type = OPTION_WORD,
		.words = "Allow|Forbid|Replace",
		.help = "spec.concurrencyPolicy from then on." },
	{ .name = "starting_deadline",
		.type = OPTION_DURATION,
		.help = "spec.startingDeadlineSeconds from then on." },
	{ .name = "suspended", .type = OPTION_BOOL, .help = "spec.suspend from then on." },
	END_OPTION,
};

static int edit_cronjob(struct world *w, const struct option_values *v, bool check, struct err *err)
{
	struct cluster_cronjob *cron = cronjob_named(w, v, err);
	const char *schedule = option_value_text(v, "schedule");

	if (!cron)
		return failed(err);
	if (check)
		return 0;
	if (option_value_text(v, "policy"))
		cron->policy = policy_of(option_value_text(v, "policy"));
	if (option_value_set(v, "suspended"))
		cron->suspended = option_value_int(v, "suspended");
	cron->deadline_s = seconds_or(v, "starting_deadline", cron->deadline_s);
	if (schedule)
		cluster_cronjob_reschedule(cron, schedule,
			option_value_text(v, "time_zone") ? option_value_text(v, "time_zone")
							  : cron->zone);
	else
		cluster_cronjob_edited(cron);
	return 0;
}

static const struct option_def runs_options[] = {
	CLUSTER_OPTION,
	NAMESPACE_OPTION,
	CRONJOB_OPTION,
	{ .name = "hang", .type = OPTION_BOOL, .help = "They never end by themselves." },
	{ .name = "fail", .type = OPTION_INT, .help = "So many executions of each fail; -1: all." },
	{ .name = "bad_image", .type = OPTION_BOOL, .help = "Their image can't be pulled." },
	{ .name = "duration", .type = OPTION_DURATION, .help = "How long their work takes." },
	{ .name = "finalizer",
		.type = OPTION_TEXT,
		.help = "A finalizer that their pods have, and nobody takes off." },
	{ .name = "node", .type = OPTION_TEXT, .help = "The node that their pods go to." },
	END_OPTION,
};

static void replace_text(const char **to, const char *with)
{
	if (!with)
		return;
	free((char *)(uintptr_t)*to);
	*to = xstrdup(with);
}

/* Its image and its work, not its spec: nothing of it is an edit that anybody sees. */
static int change_runs(struct world *w, const struct option_values *v, bool check, struct err *err)
{
	struct cluster_cronjob *cron = cronjob_named(w, v, err);
	struct cluster_work *work;

	if (!cron)
		return failed(err);
	if (check)
		return 0;
	work = &cron->work;
	if (option_value_set(v, "hang"))
		work->hangs = option_value_int(v, "hang");
	if (option_value_set(v, "fail"))
		work->fails = (int)option_value_int(v, "fail");
	if (option_value_set(v, "bad_image"))
		work->bad_image = option_value_int(v, "bad_image");
	if (option_value_set(v, "duration"))
		work->duration_ms = option_value_int(v, "duration");
	replace_text(&work->finalizer, option_value_text(v, "finalizer"));
	replace_text(&work->node, option_value_text(v, "node"));
	world_tell(w, HAPPENING_FAULT, cron->o.cluster->thing.name, cron->o.name, 0,
		"the runs of %s will not be as before", cron->o.name);
	return 0;
}

static const struct sim_fault faults[] = {
	{ .word = "api-down",
		.help = "Nobody listens at the API server.",
		.options = cluster_fault_options,
		.apply = api_down },
	{ .word = "api-hangs",
		.help = "The API server takes requests and never answers.",
		.options = cluster_fault_options,
		.apply = api_hangs },
	{ .word = "api-read-only",
		.help = "The API server refuses every write: etcd has no space left.",
		.options = cluster_fault_options,
		.apply = api_read_only },
	{ .word = "api-up",
		.help = "The API server serves again.",
		.options = cluster_fault_options,
		.apply = api_up },
	{ .word = "api-unseen",
		.help = "The console alone does not reach the API server.",
		.options = cluster_fault_options,
		.apply = api_unseen },
	{ .word = "controllers-down",
		.help = "The controller manager is stopped: slots pass, and nothing is cleaned up.",
		.options = cluster_fault_options,
		.apply = controllers_down },
	{ .word = "controllers-up",
		.help = "The controller manager is started.",
		.options = cluster_fault_options,
		.apply = controllers_up },
	{ .word = "node-lost",
		.help = "A node and the API server do not reach each other; what runs there runs "
			"on.",
		.options = node_fault_options,
		.apply = node_lost },
	{ .word = "node-back",
		.help = "They reach each other again.",
		.options = node_fault_options,
		.apply = node_back },
	{ .word = "delete-pod",
		.help = "Somebody deletes a pod: by hand, or to evict it.",
		.options = pod_fault_options,
		.apply = delete_pod },
	{ .word = "delete-lease",
		.help = "Somebody deletes a Lease by hand: its transitions begin at 0 again.",
		.options = delete_lease_options,
		.apply = delete_lease },
	{ .word = "edit-cronjob",
		.help = "Somebody changes a CronJob's spec.",
		.options = edit_options,
		.apply = edit_cronjob },
	{ .word = "runs-change",
		.help = "A CronJob's runs that start from now on behave otherwise.",
		.options = runs_options,
		.apply = change_runs },
	{ .word = NULL },
};

/* ---- the part ---- */

static const struct sim_view views[] = {
	{
		.source = { SIM_SOURCE("kubernetes", "a Kubernetes cluster of the built-in world"),
			.acts = sim_cluster_acts, .n_acts = KUBE_ACTS },
		.ops = &cluster_ops,
		.tell = sim_cluster_tell,
		.behind = sim_cluster_behind,
		.close = sim_cluster_close,
	},
	{ .ops = NULL },
};

const struct sim_part sim_part_cluster = {
	.word = "kubernetes",
	.things = things,
	.programs = programs,
	.faults = faults,
	.views = views,
	.fleet = sim_cluster_fleet,
};
