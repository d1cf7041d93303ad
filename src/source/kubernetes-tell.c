#include "config.h"

#include "source/kubernetes.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	ORPHANS_MAX = 50,
	DANGLING_MAX = 50,
	KEY_MAX = 2048
};

static const char controller_path[] = "lease/kube-system/kube-controller-manager";

/* ---- parts ---- */

static void tell_text(struct draft *d, enum detail_id id, const struct kube_text *text)
{
	if (text->s && text->len)
		draft_text_mem(d, id, text->s, text->len);
}

static void tell_time(struct draft *d, enum detail_id id, int64_t us)
{
	if (us != TIME_UNKNOWN)
		draft_int(d, id, us);
}

static void tell_count(struct draft *d, enum detail_id id, int64_t n)
{
	if (n >= 0)
		draft_int(d, id, n);
}

static void tell_finalizers(struct draft *d, const struct kube_head *head)
{
	const struct kube_text *f = &head->finalizers;
	uint32_t at;

	for (at = 0; f->s && at < f->len; at += (uint32_t)strlen(f->s + at) + 1)
		draft_text(d, DETAIL_FINALIZER, f->s + at);
}

static void tell_head(struct draft *d, const struct kube_head *head)
{
	tell_text(d, DETAIL_NAMESPACE, &head->ns);
	tell_text(d, DETAIL_OBJECT_NAME, &head->name);
	tell_text(d, DETAIL_UID, &head->uid);
	tell_text(d, DETAIL_RESOURCE_VERSION, &head->version);
	tell_time(d, DETAIL_CREATED, head->created_us);
	tell_time(d, DETAIL_DELETED, head->deleted_us);
	tell_finalizers(d, head);
}

static void begin_row(
	const struct kube *k, struct draft *d, enum mechanism mechanism, const char *path)
{
	size_t i;

	draft_begin(d, mechanism, k->config->name, path, strlen(path));
	for (i = 0; i < k->config->n_names; i++)
		if (strcmp(k->config->names[i].recipe, "literal") == 0 &&
			strcmp(k->config->names[i].value, path) == 0)
			draft_name(d, k->config->names[i].name);
}

static const char *uid_key(char *buf, const char *uid)
{
	snprintf(buf, KEY_MAX, "uid:%.*s", KEY_MAX - 8, uid);
	return buf;
}

/* ---- runs ---- */

static const char *text_or_null(const struct kube_text *text)
{
	return text->s && text->len ? text->s : NULL;
}

static void tell_pod(struct kube *k, struct draft *d, const struct kube_pod *facts)
{
	char key[KEY_MAX];
	struct pod pod = {
		.name = facts->head.name.s,
		.key = uid_key(key, facts->head.uid.s),
		.node = text_or_null(&facts->node),
		.reason = text_or_null(&facts->reason),
		.phase = facts->phase,
		.containers_running = facts->containers_running,
		.restarts = facts->restarts,
		.start_us = facts->start_us,
		.end_us = facts->end_us,
		.deleted_us = facts->head.deleted_us,
	};

	pod.node_ready = kube_store_node_ready(k->store, &facts->node, &pod.node_gone);
	draft_pod(d, &pod);
	tell_time(d, DETAIL_POD_STARTED, facts->containers_started_us);
	tell_finalizers(d, &facts->head);
}

/* Whether the work in it has begun: it ended, or a container of it is or was up. */
static bool pod_began(const struct kube_pod *pod)
{
	return pod->phase == POD_RUNNING || pod->phase == POD_SUCCEEDED ||
	       pod->phase == POD_FAILED || pod->containers_running > 0 ||
	       pod->containers_started_us != TIME_UNKNOWN;
}

/* How many pods the Job means to have in all, each for a part of the work; without completions as
 * many as there may be at once (the API's JobSpec). */
static int64_t pods_wanted(const struct kube_job *job)
{
	int64_t wanted = job->completions >= 0 ? job->completions : job->parallelism;

	return wanted > 1 ? wanted : 1;
}

static int32_t pods_at_once(const struct kube_job *job)
{
	int64_t wanted = pods_wanted(job);
	int64_t n = job->parallelism > wanted ? wanted : job->parallelism;

	return n > 1 && n <= INT32_MAX ? (int32_t)n : 1;
}

struct executions {
	int64_t failed, succeeded, open, again;
};

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/*
 * Executions of the work that are known to have begun. Pods that ended are counted by the Job also
 * when they are gone; a container that is started again in its pod is counted by the pod alone.
 */
static struct executions run_executions(const struct kube_run *run)
{
	struct executions e = { 0 };
	size_t i;

	for (i = 0; i < run->n_pods; i++) {
		const struct kube_pod *pod = run->pods[i]->facts;

		e.again += larger(pod->restarts, 0);
		/* A pod that is being deleted is counted as failed before it has ended. */
		if (pod->phase == POD_SUCCEEDED)
			e.succeeded++;
		else if (pod->phase == POD_FAILED ||
			 (pod->head.deleted_us != TIME_UNKNOWN && pod_began(pod)))
			e.failed++;
		else
			e.open += pod_began(pod);
	}
	return e;
}

/* Where several pods share the work, one is tried again only for each that failed. */
static int32_t run_attempts(const struct kube_run *run, bool pods_seen)
{
	const struct kube_job *job = run->facts;
	struct executions e = run_executions(run);
	int64_t counted = larger(job->succeeded, 0) + larger(job->failed, 0);
	int64_t n = larger(counted, e.succeeded + e.failed) + e.open + e.again;
	int64_t tried = 1 + larger(larger(job->failed, 0), e.failed) + e.again;

	if (!n && !pods_seen)
		return -1;
	if (pods_wanted(job) > 1 && tried < n)
		n = tried;
	return n > INT32_MAX ? INT32_MAX : (int32_t)n;
}

/* counted: what it counts is so now. */
static void tell_job(
	struct draft *d, const struct kube_job *job, const char *slot_from, bool counted)
{
	tell_text(d, DETAIL_UID, &job->head.uid);
	if (counted) {
		tell_count(d, DETAIL_JOB_ACTIVE, job->active);
		tell_count(d, DETAIL_JOB_SUCCEEDED, job->succeeded);
		tell_count(d, DETAIL_JOB_FAILED, job->failed);
		tell_count(d, DETAIL_JOB_TERMINATING, job->terminating);
	}
	tell_text(d, DETAIL_JOB_REASON, &job->reason);
	if (job->suspended)
		draft_int(d, DETAIL_JOB_SUSPENDED, 1);
	tell_count(d, DETAIL_BACKOFF_LIMIT, job->backoff_limit);
	tell_text(d, DETAIL_RESTART_POLICY, &job->restart_policy);
	tell_text(d, DETAIL_REPLACEMENT_POLICY, &job->replacement_policy);
	if (slot_from)
		draft_text(d, DETAIL_SLOT_FROM, slot_from);
	tell_finalizers(d, &job->head);
}

/* Of a long status.active only the first are kept. */
static enum tristate run_listed(const struct kube_cron *cron, const struct kube_run *run)
{
	if (kube_cron_lists(cron, run))
		return TRI_YES;
	return cron->facts->n_active > KUBE_LIST_MAX ? TRI_UNKNOWN : TRI_NO;
}

static bool is_over(enum run_state state)
{
	return state == RUN_SUCCEEDED || state == RUN_FAILED;
}

/* What its Job said stays only where it was the last word. */
static enum run_state run_state_now(const struct kube_run *run)
{
	if (run->gone || (run->hidden && !is_over(run->facts->state)))
		return RUN_UNKNOWN;
	return run->facts->state;
}

/*
 * Whether its pods may have outlived a Job that is over: one that failed has its pods deleted, and
 * each has its grace period, or a node that does not answer. Servers from 1.29 on count those that
 * are still terminating (the API's JobStatus), and from 1.31 on a Job fails only behind them.
 */
static bool run_unseen(const struct kube_run *run, bool pods_seen)
{
	const struct kube_job *job = run->facts;

	if (pods_seen || run->n_pods || !is_over(run_state_now(run)))
		return false;
	return job->terminating > 0 || (job->state == RUN_FAILED && job->terminating < 0);
}

static void tell_run(struct kube *k, struct draft *d, const struct kube_cron *cron,
	const struct kube_run *run, bool pods_seen)
{
	const struct kube_job *job = run->facts;
	const char *slot_from;
	char key[KEY_MAX];
	struct run r = {
		.name = job->head.name.s,
		.key = uid_key(key, run->uid),
		.state = run_state_now(run),
		.listed = run_listed(cron, run),
		.manual = job->manual,
		.unseen = run_unseen(run, pods_seen),
		.grace_s =
			job->grace_s > 0 && job->grace_s <= INT32_MAX ? (int32_t)job->grace_s : 0,
		.attempts = run_attempts(run, pods_seen),
		.slot_us = kube_job_slot(job, &slot_from),
		.created_us = job->head.created_us,
		.start_us = job->start_us,
		.end_us = job->end_us,
		.deleted_us = job->head.deleted_us,
		.deadline_s = job->deadline_s,
		.parallelism = pods_at_once(job),
	};
	size_t i;

	if (run->gone && r.deleted_us == TIME_UNKNOWN)
		r.deleted_us = run->gone_us;
	draft_run(d, &r);
	tell_job(d, job, slot_from, !run->hidden);
	for (i = 0; i < run->n_pods; i++)
		tell_pod(k, d, run->pods[i]->facts);
}

/* ---- a CronJob ---- */

/* The runs in status.active that no Job is behind. */
static void tell_dangling(struct draft *d, const struct kube_cron *cron)
{
	const struct kube_text *active = &cron->facts->active;
	uint32_t at = 0, told = 0;
	size_t i;

	while (active->s && at < active->len && told < DANGLING_MAX) {
		const char *uid = active->s + at, *name = uid + strlen(uid) + 1;

		at = (uint32_t)(name - active->s);
		if (at >= active->len)
			break;
		at += (uint32_t)strlen(name) + 1;
		for (i = 0; i < cron->n_runs && strcmp(cron->runs[i]->uid, uid) != 0; i++)
			continue;
		if (i < cron->n_runs && !cron->runs[i]->gone)
			continue;
		draft_text(d, DETAIL_ACTIVE_DANGLING, name);
		told++;
	}
}

static bool run_is_over(const struct kube_run *run)
{
	return !run->facts || run->gone || run->hidden || is_over(run->facts->state);
}

/* Jobs of a CronJob of this name that does not exist any more: they are not this one's. */
static void tell_orphans(struct kube *k, struct draft *d, const struct kube_head *head)
{
	const struct kube_cron *lost;
	size_t pos = 0, i, told = 0;

	if (!kube_store_has_lost(k->store))
		return;
	while ((lost = kube_store_next_lost(k->store, &pos)))
		for (i = 0; i < lost->n_runs; i++) {
			const struct kube_run *run = lost->runs[i];

			if (run_is_over(run) || told >= ORPHANS_MAX ||
				!kube_text_eq(&run->facts->head.owner_name, &head->name) ||
				!kube_text_eq(&run->facts->head.ns, &head->ns))
				continue;
			draft_text(d, DETAIL_ORPHAN_RUN, run->facts->head.name.s);
			told++;
		}
}

static void tell_cron_facts(struct draft *d, const struct kube_cronjob *c)
{
	tell_head(d, &c->head);
	tell_count(d, DETAIL_GENERATION, c->head.generation);
	tell_text(d, DETAIL_SCHEDULE, &c->schedule);
	tell_text(d, DETAIL_TIME_ZONE, &c->zone);
	/* The API server fills in what is not set. */
	if (c->policy.s && c->policy.len)
		tell_text(d, DETAIL_POLICY, &c->policy);
	else
		draft_text(d, DETAIL_POLICY, "Allow");
	draft_int(d, DETAIL_SUSPENDED, c->suspended);
	if (c->deadline_s != TIME_UNKNOWN)
		draft_int(d, DETAIL_STARTING_DEADLINE, c->deadline_s);
	tell_time(d, DETAIL_LAST_SCHEDULE, c->last_schedule_us);
	tell_time(d, DETAIL_LAST_SUCCESS, c->last_success_us);
	draft_int(d, DETAIL_ACTIVE_LISTED, c->n_active);
}

static void tell_cron(void *arg, struct kube_cron *cron)
{
	struct kube *k = arg;
	struct draft *d = round_draft(k->r);
	const char *ns = cron->facts->head.ns.s;
	bool jobs = kube_sees(k, KUBE_JOBS, ns), pods = kube_sees(k, KUBE_PODS, ns);
	size_t i;

	kube_cron_sort(cron);
	begin_row(k, d, MECH_K8S_CRONJOB, cron->path);
	draft_schedule(d, cron->schedule);
	tell_cron_facts(d, cron->facts);
	if (!jobs || !pods)
		draft_int(d, DETAIL_RUNS_HIDDEN, 1);
	if (!jobs)
		draft_int(d, DETAIL_JOBS_HIDDEN, 1);
	if (jobs) {
		tell_dangling(d, cron);
		tell_orphans(k, d, &cron->facts->head);
	}
	for (i = 0; i < cron->n_runs; i++)
		if (cron->runs[i]->facts)
			tell_run(k, d, cron, cron->runs[i], pods);
	draft_run_holders(d);
	round_put(k->r, draft_finish(d));
}

/* ---- a Lease ---- */

static void tell_looked(struct kube *k, struct draft *d, const struct kube_looked *l,
	const char *holder, size_t len)
{
	const struct kube_pod *pod = l->pod;
	enum tristate ready;
	struct str name;
	bool gone;

	str_init(&name, 1024);
	if (l->look == KUBE_LOOK_NONE || l->look == KUBE_LOOK_FAILED ||
		!kube_pod_name(holder, len, &name)) {
		str_release(&name);
		return;
	}
	draft_text(d, DETAIL_POD, name.s);
	str_release(&name);
	if (l->look == KUBE_LOOK_HIDDEN)
		draft_hidden(d, DETAIL_POD_PHASE);
	if (l->look == KUBE_LOOK_ABSENT)
		draft_text(d, DETAIL_POD_PHASE, "Absent");
	if (l->matching > 1)
		draft_int(d, DETAIL_PODS_MATCHING, l->matching);
	if (!pod)
		return;
	draft_text(d, DETAIL_POD_PHASE, pod_phase_word(pod->phase));
	tell_text(d, DETAIL_POD_UID, &pod->head.uid);
	tell_text(d, DETAIL_POD_NODE, &pod->node);
	tell_time(d, DETAIL_POD_DELETED, pod->head.deleted_us);
	tell_time(d, DETAIL_POD_STARTED, pod->containers_started_us);
	tell_time(d, DETAIL_POD_RUNNING_SINCE, pod->running_since_us);
	tell_count(d, DETAIL_POD_RESTARTS, pod->restarts);
	ready = kube_store_node_ready(k->store, &pod->node, &gone);
	if (ready != TRI_UNKNOWN || gone)
		draft_int(d, DETAIL_POD_NODE_READY, ready == TRI_YES);
}

/* What binds a claim on a Lease for ever: which Lease, who, and how often it had changed hands. */
static void lease_key(struct str *key, const struct kube_head *head, const char *holder, size_t len,
	int64_t transitions)
{
	str_clear(key);
	str_add(key, "uid:");
	text_escape(key, head->uid.s, head->uid.len);
	str_add_char(key, '/');
	text_escape(key, holder, len);
	str_add_char(key, '/');
	str_add_int(key, transitions);
}

static void tell_claims(struct kube *k, struct draft *d, const struct kube_lease_seen *lease)
{
	const struct kube_lease *facts = lease->facts;
	bool held = facts->holder.s && facts->holder.len;
	struct str *key = &k->key;
	size_t i;

	if (held) {
		lease_key(
			key, &facts->head, facts->holder.s, facts->holder.len, facts->transitions);
		draft_claim(d, CLAIM_HOLDER, facts->holder.s, facts->holder.len, key->s);
		tell_looked(k, d, &lease->looked, facts->holder.s, facts->holder.len);
	}
	for (i = 0; i < lease->n_candidates; i++) {
		const char *name = lease->candidates[i];

		if (held && kube_text_is(&facts->holder, name))
			continue;
		str_clear(key);
		str_add(key, "candidate:");
		text_escape(key, name, strlen(name));
		draft_claim(d, CLAIM_WAITER, name, strlen(name), key->s);
	}
	for (i = 0; i < lease->n_former; i++) {
		const struct kube_former *f = &lease->former[i];

		if (f->looked.look != KUBE_LOOK_THERE && f->looked.look != KUBE_LOOK_ABSENT)
			continue;
		lease_key(key, &facts->head, f->holder, f->len, f->transitions);
		draft_claim(d, CLAIM_FORMER, f->holder, f->len, key->s);
		tell_looked(k, d, &f->looked, f->holder, f->len);
	}
}

static void tell_preferred(struct draft *d, const struct kube_lease_seen *lease)
{
	const struct kube_text *preferred = &lease->facts->preferred;
	size_t i;

	tell_text(d, DETAIL_STRATEGY, &lease->facts->strategy);
	tell_text(d, DETAIL_PREFERRED_HOLDER, preferred);
	if (!preferred->s || !preferred->len || !lease->candidates)
		return;
	for (i = 0; i < lease->n_candidates; i++)
		if (kube_text_is(preferred, lease->candidates[i]))
			return;
	draft_int(d, DETAIL_PREFERRED_MISSING, 1);
}

static void tell_record(struct draft *d, const struct kube_lease_seen *lease)
{
	const struct kube_lease *facts = lease->facts;
	int64_t skew_us = lease->skew_now_us;

	tell_head(d, &facts->head);
	tell_time(d, DETAIL_RENEW_TIME, facts->renew_us);
	tell_time(d, DETAIL_ACQUIRE_TIME, facts->acquire_us);
	if (facts->duration_s != TIME_UNKNOWN)
		draft_int(d, DETAIL_DURATION, facts->duration_s);
	tell_time(d, DETAIL_LAST_CHANGE_SEEN, lease->change_us);
	if (lease->n_skews > KUBE_SKEWS && lease->skew_us > skew_us)
		skew_us = lease->skew_us;
	if (lease->n_skews)
		draft_int(d, DETAIL_SKEW, skew_us / 1000);
	tell_preferred(d, lease);
}

static void tell_lease(void *arg, struct kube_lease_seen *lease)
{
	struct kube *k = arg;
	const struct kube_lease *facts = lease->facts;
	struct draft *d = round_draft(k->r);

	begin_row(k, d, MECH_K8S_LEASE, lease->path);
	draft_token(d, TOKEN_LEASE_TRANSITIONS, facts->transitions);
	/* Reckoned by our clock from when we saw it renewed, whatever the holder's clock says. The
	 * first sight proves nothing: its end is not known then. */
	if (facts->holder.s && facts->holder.len && facts->duration_s != TIME_UNKNOWN)
		draft_lease(d, facts->duration_s * 1000,
			lease->change_us == TIME_UNKNOWN
				? TIME_UNKNOWN
				: lease->change_ms + facts->duration_s * 1000,
			lease->change_ms);
	draft_lease_known(d, lease->known_ms);
	tell_record(d, lease);
	tell_claims(k, d, lease);
	round_put(k->r, draft_finish(d));
	if (strcmp(lease->path, controller_path) == 0)
		k->self_changed = true;
}

/* ---- what is gone, and all ---- */

static void tell_drop(void *arg, const char *path, bool hidden)
{
	struct kube *k = arg;
	struct str id;

	str_init(&id, SIZE_MAX / 4);
	str_addf(&id, "%s/", k->config->name);
	text_escape(&id, path, strlen(path));
	(hidden ? round_hide : round_drop)(k->r, id.s);
	str_release(&id);
}

static void tell_lost(void *arg)
{
	((struct kube *)arg)->self_changed = true;
}

static const struct kube_teller teller = {
	.drop = tell_drop, .cron = tell_cron, .lease = tell_lease, .lost = tell_lost
};

void kube_tell(struct kube *k)
{
	if (!k->told_all)
		round_begin(k->r);
	kube_store_tell(k->store, &teller, k);
	if (!k->told_all)
		round_end(k->r);
	k->told_all = true;
	kube_tell_behind(k);
}

/* ---- the cluster ---- */

/* Jobs whose CronJob does not exist, where no other of its name does: of the source. */
static void tell_source_orphans(struct kube *k, struct draft *d)
{
	const struct kube_cron *lost;
	size_t pos = 0, i, told = 0;
	struct str path;

	if (!kube_store_has_lost(k->store))
		return;
	str_init(&path, 4096);
	while ((lost = kube_store_next_lost(k->store, &pos)))
		for (i = 0; i < lost->n_runs && told < ORPHANS_MAX; i++) {
			const struct kube_run *run = lost->runs[i];

			if (run_is_over(run) || !run->facts->head.owner_name.s ||
				!kube_sees(k, KUBE_CRONJOBS, run->facts->head.ns.s))
				continue;
			str_clear(&path);
			str_addf(&path, "cronjob/%s/%s", run->facts->head.ns.s,
				run->facts->head.owner_name.s);
			if (kube_store_cron_at(k->store, path.s))
				continue;
			str_clear(&path);
			str_addf(&path, "%s/%s", run->facts->head.ns.s, run->facts->head.name.s);
			draft_text(d, DETAIL_ORPHAN_RUN, path.s);
			told++;
		}
	str_release(&path);
}

static void tell_counts(struct kube *k, struct draft *d)
{
	if (kube_sees(k, KUBE_CRONJOBS, k->streams[0].ns))
		draft_int(d, DETAIL_CRONJOBS, (int64_t)kube_store_count(k->store, KUBE_CRONJOBS));
	draft_int(d, DETAIL_LEASES, (int64_t)kube_store_count(k->store, KUBE_LEASES));
	if (k->n_beats < 0)
		return;
	draft_int(d, DETAIL_HEARTBEATS, k->n_beats + (int64_t)kube_store_heartbeats(k->store));
	draft_int(d, DETAIL_HEARTBEATS_OLD, k->n_beats_old);
}

static const char *api_version(const struct kube *k)
{
	size_t i;

	for (i = 0; i < k->n_streams; i++)
		if (k->streams[i].resource->kind == KUBE_CRONJOBS && k->streams[i].told)
			return k->streams[i].resource->versions[k->streams[i].api];
	return NULL;
}

void kube_tell_self(struct kube *k)
{
	struct draft *d = round_draft(k->r);
	const struct kube_lease_seen *controller = kube_store_lease_at(k->store, controller_path);
	char server[128];

	draft_begin(d, MECH_SOURCE, k->config->name, "", 0);
	if (k->identity)
		draft_int(d, DETAIL_CLUSTER_ID, (int64_t)k->identity);
	if (k->server_version)
		draft_text(d, DETAIL_VERSION, k->server_version);
	if (k->platform)
		draft_text(d, DETAIL_PLATFORM, k->platform);
	if (api_version(k))
		draft_text(d, DETAIL_BATCH_VERSION, api_version(k));
	if (k->told_all)
		tell_counts(k, d);
	if (controller && controller->facts->holder.s && controller->facts->holder.len) {
		tell_text(d, DETAIL_CONTROLLER, &controller->facts->holder);
		tell_time(d, DETAIL_CONTROLLER_SINCE, controller->facts->acquire_us);
	}
	tell_source_orphans(k, d);
	if (k->access.insecure)
		draft_int(d, DETAIL_TLS_UNCHECKED, 1);
	tell_time(d, DETAIL_SERVER_TIME, k->server_us);
	if (k->server_us != TIME_UNKNOWN) {
		draft_int(d, DETAIL_READ_AT, k->server_read_us);
		draft_int(d, DETAIL_ROUND_TRIP, k->server_trip_ms);
	}
	round_self(k->r, draft_finish(d));
	if (k->server_version) {
		snprintf(server, sizeof(server), "Kubernetes %.*s",
			text_most(k->server_version, 100), k->server_version);
		round_server(k->r, server);
	}
	k->self_changed = false;
}

/* ---- what is hidden ---- */

static void remedy_of(struct str *remedy, const struct kube_stream *s, const char *verbs)
{
	const struct kube_resource *res = s->resource;

	str_clear(remedy);
	str_addf(remedy, "a %s that allows %s on %s%s%s",
		s->ns && !s->narrowed ? "Role" : "ClusterRole", verbs, res->plural,
		*res->group ? "." : "", res->group);
	if (s->ns && !s->narrowed) {
		str_add(remedy, " in ");
		text_escape(remedy, s->ns, strlen(s->ns));
	}
}

static void hidden_of(struct str *what, const struct kube_stream *s)
{
	str_clear(what);
	str_add(what, s->resource->word);
	if (s->ns) {
		str_add(what, s->state == STREAM_DENIED ? " in " : " in all namespaces but ");
		text_escape(what, s->ns, strlen(s->ns));
	}
	if (s->narrowed && s->state == STREAM_DENIED)
		str_add(what, " and all other namespaces");
}

/* How the paths begin of the kinds that are rows. */
static const char *const row_kinds[KUBE_KINDS] = {
	[KUBE_CRONJOBS] = "cronjob/", [KUBE_LEASES] = "lease/"
};

/* A kind that may not be read hides its rows; Jobs, Pods and Nodes are only parts of rows. */
static void tell_denied(struct kube *k, const struct kube_stream *s, struct str *remedy)
{
	const char *kind = row_kinds[s->resource->kind];
	struct str what, ns;

	str_init(&what, 4096);
	str_init(&ns, 4096);
	hidden_of(&what, s);
	remedy_of(remedy, s, "list and watch");
	if (kind && s->ns) {
		str_add(&ns, kind);
		text_escape(&ns, s->ns, strlen(s->ns));
		str_add_char(&ns, '/');
	}
	if (!s->narrowed)
		round_hidden_rows(k->r, what.s, remedy->s, ns.len ? ns.s : kind, NULL);
	else
		round_hidden_rows(k->r, what.s, remedy->s, kind,
			(const char *const[]){
				ns.len && s->state != STREAM_DENIED ? ns.s : NULL, NULL });
	str_release(&what);
	str_release(&ns);
}

static void tell_hidden_stream(struct kube *k, const struct kube_stream *s)
{
	struct str what, remedy;

	str_init(&what, 4096);
	str_init(&remedy, 4096);
	if (s->state == STREAM_DENIED || s->narrowed) {
		tell_denied(k, s, &remedy);
	} else if (s->unwatched && !s->starved) {
		str_addf(&what, "changes of %s as they happen", s->resource->word);
		remedy_of(&remedy, s, "watch");
		round_hidden(k->r, what.s, remedy.s);
	} else if (s->state == STREAM_ABSENT) {
		str_addf(&what, "%s, which this API server does not have", s->resource->word);
		round_hidden(k->r, what.s, NULL);
	}
	str_release(&what);
	str_release(&remedy);
}

/* A kind's streams that are listed now and then; ret_ns is one's namespace, NULL for all. */
static size_t count_starved(const struct kube *k, enum kube_kind kind, const char **ret_ns)
{
	size_t i, n = 0;

	for (i = 0; i < k->n_streams; i++) {
		const struct kube_stream *s = &k->streams[i];

		if (s->resource->kind != kind || !s->starved || s->state == STREAM_DENIED)
			continue;
		*ret_ns = s->ns;
		n++;
	}
	return n;
}

/* All in one sentence: with many namespaces there are many. */
static void tell_starved(struct kube *k)
{
	const char *ns = NULL;
	struct str what;
	size_t kind, n;

	str_init(&what, 4096);
	for (kind = 0; kind < KUBE_KINDS; kind++) {
		n = count_starved(k, kind, &ns);
		if (!n)
			continue;
		str_addf(&what, "%s%s", what.len ? ", " : "changes of ", kube_resources[kind].word);
		if (n > 1)
			str_addf(&what, " (in %zu namespaces)", n);
		else if (ns)
			str_addf(&what, " (in %s)", ns);
	}
	if (what.len) {
		str_addf(&what,
			" as they happen: no connection is left for a watch, and they are listed "
			"every %d s",
			KUBE_UNWATCHED_EVERY_MS / 1000);
		round_hidden(k->r, what.s,
			"a way to the API server that speaks HTTP/2, or fewer namespaces");
	}
	str_release(&what);
}

/* Only some namespaces are looked at. */
static void tell_namespaces(struct kube *k)
{
	const char **paths = xcalloc(k->n_streams + 1, sizeof(*paths));
	struct str path;
	size_t n = 0, i;

	for (i = 0; i < k->n_streams; i++) {
		const struct kube_stream *s = &k->streams[i];
		const char *kind = row_kinds[s->resource->kind];

		if (!kind || !s->ns || s->narrowed)
			continue;
		str_init(&path, 4096);
		str_add(&path, kind);
		text_escape(&path, s->ns, strlen(s->ns));
		str_add_char(&path, '/');
		paths[n++] = str_take(&path);
	}
	if (n)
		round_unlooked(k->r, "other namespaces than the config names",
			"namespaces in the config of this source", paths, 0);
	for (i = 0; i < n; i++)
		free((char *)(uintptr_t)paths[i]);
	free(paths);
}

void kube_tell_hidden(struct kube *k)
{
	size_t i;

	round_hidden_clear(k->r);
	for (i = 0; i < k->n_streams; i++)
		tell_hidden_stream(k, &k->streams[i]);
	tell_starved(k);
	tell_namespaces(k);
	k->hidden = false;
}
