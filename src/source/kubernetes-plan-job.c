#include "config.h"

#include "base/civil.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "source/kubernetes-act.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What acting on a CronJob or one of its runs would send, and what it costs. */

enum {
	MANUAL_STEM_MOST = 40, /* leaves room for "-manual-" and what makes it one of a kind */
	TIME_MAX = 40,
};

/* What a plan for a CronJob is made with. */
struct cron_plan {
	struct kube *k;
	const struct order *order;
	const struct kube_target *t;
	struct plan *plan;
	struct kube_thing cron; /* as it is now */
	struct str path;        /* its path */
	int64_t now_us;
	int64_t grace_s; /* the longest of the pods that are to end; -1: none yet */
};

static const char *time_text(char *buf, int64_t us)
{
	struct civil c;
	int64_t s = us / 1000000;

	civil_from_seconds(s, &c);
	snprintf(buf, TIME_MAX, "%04" PRId64 "-%02d-%02dT%02d:%02d:%02dZ", c.year, c.month, c.day,
		c.hour, c.minute, c.second);
	return buf;
}

/* Whether the CronJob is the one that was on the screen; says in the plan what is different. */
static bool cron_is_same(struct cron_plan *p)
{
	const char *uid = kube_string(p->cron.json, "metadata.uid");

	if (!p->cron.json)
		plan_changed(p->plan, "the CronJob does not exist any more");
	else if (!uid || strcmp(uid, p->t->uid) != 0)
		plan_changed(
			p->plan, "it is another CronJob of the same name now: it was made anew");
	else
		return true;
	return false;
}

static bool cron_suspended(const struct cron_plan *p)
{
	return json_is_true(kube_member(p->cron.json, "spec.suspend"));
}

static const char *cron_policy(const struct cron_plan *p)
{
	const char *policy = kube_string(p->cron.json, "spec.concurrencyPolicy");

	return policy && *policy ? policy : "Allow";
}

/* ---- suspend and resume ---- */

static int cron_patch(struct cron_plan *p, bool suspend, struct err *err)
{
	const char *version = kube_string(p->cron.json, "metadata.resourceVersion");
	json_t *body;

	/* An empty one would be no comparison. */
	if (!version || !*version) {
		plan_refuse(p->plan,
			"the CronJob came without a resourceVersion: nothing could be compared");
		return 0;
	}
	body = json_pack("{s:{s:s, s:s}, s:{s:b}}", "metadata", "uid", p->t->uid, "resourceVersion",
		version, "spec", "suspend", suspend);

	kube_plan_object(p->plan, "PATCH", p->path.s, "application/merge-patch+json", body,
		p->t->name, NULL);
	plan_text(&p->plan->guarded_by,
		"the API server compares uid and resourceVersion in the same patch");
	return kube_ask_permission(p->k, p->t, "patch", "batch", "cronjobs", p->plan, err);
}

static void keep_active(struct cron_plan *p)
{
	const struct singleton *s = p->order->s;
	uint32_t i;

	for (i = 0; i < s->more->n_runs; i++)
		if (s->more->runs[i].alive != TRI_NO)
			plan_add(&p->plan->keeps, "run that may be active", s->more->runs[i].name);
}

static void tell_next(struct cron_plan *p, const char *what)
{
	char at[TIME_MAX];
	int64_t next_us;

	if (schedule_next(p->order->s->more->schedule, p->now_us, &next_us))
		plan_text(&p->plan->alone, "%s %s", what, time_text(at, next_us));
}

static int plan_suspend(struct cron_plan *p, struct err *err)
{
	if (cron_suspended(p)) {
		plan_refuse(p->plan, "it is suspended already: nothing is to be done");
		return 0;
	}
	keep_active(p);
	tell_next(p, "the next slot starts a run at");
	return cron_patch(p, true, err);
}

/* The slot that is started at once when a CronJob goes on: what the controller reckons from its
 * status (mostRecentScheduleTime in pkg/controller/cronjob/utils.go). */
static void warn_of_missed(struct cron_plan *p)
{
	const char *last = kube_string(p->cron.json, "status.lastScheduleTime");
	const char *created = kube_string(p->cron.json, "metadata.creationTimestamp");
	const char *since = last ? last : created;
	int64_t deadline_s = kube_number(p->cron.json, "spec.startingDeadlineSeconds", -1);
	struct cron_missed missed;
	char at[TIME_MAX];

	if (!schedule_slots_told(p->order->s->more->schedule,
		    last ? kube_time(last, strlen(last)) : TIME_UNKNOWN)) {
		plan_warn(p->plan, "whether a slot was missed can't be told: the controller "
				   "reckons in a time zone that is not said");
		return;
	}
	schedule_missed(p->order->s->more->schedule,
		since ? kube_time(since, strlen(since)) : p->now_us, deadline_s, p->now_us,
		&missed);
	if (!missed.has_latest) {
		plan_add(&p->plan->keeps, "no missed slot starts now", NULL);
		return;
	}
	plan_warn(p->plan, "the slot %s was missed meanwhile: a run for it starts at once%s",
		time_text(at, missed.latest_us),
		strcmp(cron_policy(p), "Forbid") == 0 ? ", unless one is active (Forbid)" : "");
}

static int plan_resume(struct cron_plan *p, struct err *err)
{
	if (!cron_suspended(p)) {
		plan_refuse(p->plan, "it is not suspended: nothing is to be done");
		return 0;
	}
	warn_of_missed(p);
	keep_active(p);
	plan_text(&p->plan->alone, "it stays suspended, and starts nothing");
	return cron_patch(p, false, err);
}

/* ---- trigger ---- */

/* "close-manual-1a2b3c": one of a kind by the time, within what a Job's name may have. */
static void manual_name(const struct cron_plan *p, char *buf)
{
	static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
	uint64_t n = (uint64_t)p->now_us / 1000;
	char tail[16];
	size_t at = sizeof(tail);
	int len = (int)strlen(p->t->name);

	len = len < MANUAL_STEM_MOST ? len : MANUAL_STEM_MOST;
	while (len && (p->t->name[len - 1] == '.' || p->t->name[len - 1] == '-'))
		len--;
	tail[--at] = '\0';
	while (n && at) {
		tail[--at] = digits[n % 36];
		n /= 36;
	}
	snprintf(buf, KUBE_JOB_NAME, "%.*s-manual-%s", len, p->t->name, tail + at);
}

/* A digest of the template, to see whether it is still the one that was shown. */
static uint64_t template_digest(const json_t *spec)
{
	static const uint64_t seed[2] = { 5, 6 };
	char *text = json_dumps(spec, JSON_COMPACT | JSON_SORT_KEYS);
	uint64_t digest = text ? map_siphash(seed, text, strlen(text)) : 0;

	free(text);
	return digest;
}

/* The place where this order's name is kept. */
static struct kube_made *made_for(struct cron_plan *p)
{
	struct kube *k = p->k;
	size_t i;

	for (i = 0; i < KUBE_MADE; i++)
		if (k->made[i].order == p->order && str_eq(k->made[i].uid, p->t->uid))
			return &k->made[i];
	return NULL;
}

/*
 * What is confirmed is what is sent: an order keeps the name that it was shown with, and a template
 * that is another one by then is `changed`. NULL: that, or *ret_rc says why.
 */
static const char *order_name(struct cron_plan *p, const json_t *spec, int *ret_rc, struct err *err)
{
	struct kube_made *made = made_for(p);
	uint64_t digest = template_digest(spec);
	struct kube_thing there = { 0 };
	struct str path;

	*ret_rc = 0;
	if (made) {
		str_init(&path, 4096);
		kube_act_path(p->k, &path, KUBE_JOBS, p->t->ns, made->name);
		*ret_rc = kube_get(p->k, path.s, &there, err);
		str_release(&path);
	}
	/* One that was made already was an earlier order's, at the same place in memory. */
	if (made && !*ret_rc && !there.json && made->digest != digest) {
		plan_changed(p->plan, "the jobTemplate is not the one that was shown");
		made->order = NULL;
		return NULL;
	}
	if (!*ret_rc && (!made || there.json)) {
		made = &p->k->made[p->k->n_made++ % KUBE_MADE];
		free(made->uid);
		*made = (struct kube_made){
			.order = p->order, .uid = xstrdup(p->t->uid), .digest = digest
		};
		manual_name(p, made->name);
	}
	kube_thing_release(&there);
	return *ret_rc ? NULL : made->name;
}

static json_t *job_metadata(const struct cron_plan *p, const char *name)
{
	json_t *labels = kube_member(p->cron.json, "spec.jobTemplate.metadata.labels");
	json_t *notes = kube_member(p->cron.json, "spec.jobTemplate.metadata.annotations");
	const char *version = kube_string(p->cron.json, "apiVersion");
	json_t *meta, *owner;

	labels = labels ? json_deep_copy(labels) : json_object();
	notes = notes ? json_deep_copy(notes) : json_object();
	json_object_set_new(notes, "cronjob.kubernetes.io/instantiate", json_string("manual"));
	owner = json_pack("{s:s, s:s, s:s, s:s, s:b}", "apiVersion", version ? version : "batch/v1",
		"kind", "CronJob", "name", p->t->name, "uid", p->t->uid, "controller", 1);
	meta = json_pack("{s:s, s:s, s:o, s:o, s:[o]}", "name", name, "namespace", p->t->ns,
		"labels", labels, "annotations", notes, "ownerReferences", owner);
	return meta;
}

static void warn_of_policy(struct cron_plan *p)
{
	const struct singleton *s = p->order->s;
	uint32_t active = singleton_count(s, CLAIM_HOLDER);

	if (active)
		plan_warn(p->plan,
			"%s%s may be at work now: the new run works beside it, whatever the "
			"policy",
			claim_identity(singleton_holder(s)), active > 1 ? " and others" : "");
	if (strcmp(cron_policy(p), "Allow") != 0)
		plan_warn(p->plan,
			"%s does not count a run that was made by hand: the next slot starts "
			"beside it",
			cron_policy(p));
}

static int plan_trigger(struct cron_plan *p, struct err *err)
{
	json_t *spec = kube_member(p->cron.json, "spec.jobTemplate.spec"), *body;
	const char *version = kube_string(p->cron.json, "metadata.resourceVersion");
	const char *name;
	char shown[1024];
	struct str path;
	int rc;

	if (!json_is_object(spec)) {
		plan_refuse(p->plan, "the CronJob has no jobTemplate that could be read");
		return 0;
	}
	name = order_name(p, spec, &rc, err);
	if (!name)
		return rc;
	body = json_pack("{s:s, s:s, s:o, s:O}", "apiVersion", "batch/v1", "kind", "Job",
		"metadata", job_metadata(p, name), "spec", spec);
	str_init(&path, 4096);
	kube_act_path(p->k, &path, KUBE_JOBS, p->t->ns, NULL);
	/* The template may hold what is nobody's business: only where it is from is told. */
	snprintf(shown, sizeof(shown),
		"Job %s, owned by the CronJob with uid %s, made of its jobTemplate as of "
		"resourceVersion %s",
		name, p->t->uid, version ? version : "?");
	kube_plan_object(p->plan, "POST", path.s, "application/json", body, name, shown);
	warn_of_policy(p);
	keep_active(p);
	tell_next(p, "the next slot starts a run at");
	plan_add(&p->plan->warnings,
		"that the CronJob is still the same is not compared by the server: its uid "
		"stands in the Job's owner, which the garbage collector removes when there is "
		"none of that uid",
		NULL);
	rc = kube_ask_permission(p->k, p->t, "create", "batch", "jobs", p->plan, err);
	str_release(&path);
	return rc;
}

/* ---- ending runs ---- */

static const struct run *run_by_key(const struct singleton *s, const char *key)
{
	uint32_t i;

	for (i = 0; key && i < s->more->n_runs; i++)
		if (strcmp(s->more->runs[i].key, key) == 0)
			return &s->more->runs[i];
	return NULL;
}

/* The uid in a run's key. */
static const char *run_uid(const struct run *run)
{
	return strncmp(run->key, "uid:", 4) == 0 ? run->key + 4 : "";
}

static bool job_is(const json_t *job, const struct run *run)
{
	const char *uid = kube_string(job, "metadata.uid");

	return uid && strcmp(uid, run_uid(run)) == 0;
}

static int64_t pod_grace_s(const json_t *pod)
{
	return kube_number(pod, "spec.terminationGracePeriodSeconds", KUBE_GRACE_S);
}

/* Whether somebody else than the Job's own controller, which takes off what it set, must act before
 * the pod goes. */
static bool pod_is_held(const json_t *pod)
{
	const json_t *finalizers = kube_member(pod, "metadata.finalizers");
	size_t i;

	for (i = 0; i < json_array_size(finalizers); i++) {
		const char *name = json_string_value(json_array_get(finalizers, i));

		if (name && strcmp(name, "batch.kubernetes.io/job-tracking") != 0)
			return true;
	}
	return false;
}

static void price_pod(struct cron_plan *p, const json_t *pod)
{
	struct str name;

	str_init(&name, 4096);
	kube_shown(&name, kube_string(pod, "metadata.name"));
	plan_add(&p->plan->destroys, "pod", name.s);
	if (pod_is_held(pod))
		plan_warn(p->plan,
			"pod %s has finalizers: it stays Terminating until whoever set them takes "
			"them off",
			name.s);
	str_release(&name);
}

/* How long the pods of all runs that are ended may take; told once. */
static void price_grace(struct cron_plan *p, int64_t grace_s)
{
	char text[128];

	if (p->grace_s >= grace_s)
		return;
	p->grace_s = grace_s;
	plan_list_release(&p->plan->told);
	snprintf(text, sizeof(text),
		"the processes in the pods: SIGTERM, and after %" PRId64 " s SIGKILL", grace_s);
	plan_add(&p->plan->told, text, NULL);
	p->plan->gap_min_ms = 0;
	p->plan->gap_max_ms = grace_s * 1000;
	plan_text(&p->plan->gap_why, "the pods have %" PRId64 " s to end", grace_s);
}

/* What goes with a run: its pods, and how long they may take. */
static void price_pods(struct cron_plan *p, const struct run *run, const json_t *pods)
{
	const json_t *items = json_object_get(pods, "items");
	size_t i;

	for (i = 0; i < json_array_size(items); i++) {
		const json_t *pod = json_array_get(items, i);

		if (!kube_string(pod, "metadata.name") || !kube_pod_is_of(pod, run_uid(run)))
			continue;
		price_pod(p, pod);
		price_grace(p, pod_grace_s(pod));
	}
	if (kube_more_pods(pods))
		plan_warn(p->plan, "%s has more pods than were read: not all that goes is listed",
			run->name);
}

static void warn_of_nodes(struct cron_plan *p, const struct run *run)
{
	uint32_t i;

	for (i = 0; i < run->n_pods; i++) {
		const struct pod *pod = &run->pods[i];

		if (pod->alive == TRI_UNKNOWN && pod->node &&
			(pod->node_gone || pod->node_ready == TRI_NO))
			plan_warn(p->plan,
				"pod %s is on node %s, which does not answer: it stays "
				"Terminating, "
				"and its process may work on until that node is stopped",
				pod->name, pod->node);
	}
}

/* Plans the deletion of one run. Returns 0; *ret_same false: it is not there any more. */
static int plan_delete(struct cron_plan *p, const struct run *run, bool *ret_same, struct err *err)
{
	struct kube_thing job = { 0 }, pods = { 0 };
	struct str path;
	json_t *body;
	int rc;

	str_init(&path, 4096);
	kube_act_path(p->k, &path, KUBE_JOBS, p->t->ns, run->name);
	rc = kube_get(p->k, path.s, &job, err);
	*ret_same = !rc && job_is(job.json, run);
	if (*ret_same)
		rc = kube_pods_of(p->k, p->t->ns, run->name, &pods, err);
	if (rc == ERR_DENIED && *ret_same) {
		err_clear(err);
		plan_warn(p->plan, "the pods of %s may not be read: what goes with it is not known",
			run->name);
		rc = 0;
	}
	if (!rc && *ret_same) {
		body = json_pack("{s:s, s:s, s:{s:s}, s:s}", "kind", "DeleteOptions", "apiVersion",
			"v1", "preconditions", "uid", run_uid(run), "propagationPolicy",
			"Foreground");
		kube_plan_object(
			p->plan, "DELETE", path.s, "application/json", body, run->name, NULL);
		plan_add(&p->plan->destroys, "the Job, and its retries", run->name);
		price_pods(p, run, pods.json);
		warn_of_nodes(p, run);
	}
	kube_thing_release(&job);
	kube_thing_release(&pods);
	str_release(&path);
	return rc;
}

static void price_deletion(struct cron_plan *p)
{
	plan_text(
		&p->plan->guarded_by, "the API server compares the Job's uid in the same deletion");
	plan_add(&p->plan->keeps, "the CronJob", p->t->name);
	plan_warn(p->plan,
		"work that was begun stays half done: whether it may be begun anew is the job's "
		"own affair");
	if (strcmp(cron_policy(p), "Forbid") == 0 && !cron_suspended(p))
		plan_warn(p->plan, "once it is gone, Forbid lets the next slot start: suspend "
				   "first, if none shall");
	tell_next(p, "it goes on; the next slot is");
}

static bool run_is_over(const struct run *run)
{
	return (run->state == RUN_SUCCEEDED || run->state == RUN_FAILED) && run->alive == TRI_NO &&
	       run->deleted_us == TIME_UNKNOWN;
}

static int plan_release_run(struct cron_plan *p, struct err *err)
{
	const struct run *run = run_by_key(p->order->s, p->order->key);
	bool same;
	int rc;

	if (!run || !*run_uid(run)) {
		plan_refuse(p->plan, "which run is meant must be said: by its key or its name");
		return 0;
	}
	if (run_is_over(run)) {
		plan_refuse(p->plan, "the run %s is over: there is nothing to release", run->name);
		return 0;
	}
	rc = plan_delete(p, run, &same, err);
	if (rc)
		return rc;
	if (!same) {
		plan_changed(p->plan,
			"the run %s does not exist any more, or is another of that "
			"name",
			run->name);
		return 0;
	}
	price_deletion(p);
	return kube_ask_permission(p->k, p->t, "delete", "batch", "jobs", p->plan, err);
}

/* By its conditions: its record says that it is over. */
static bool job_has_ended(const json_t *job)
{
	const json_t *all = kube_member(job, "status.conditions");
	size_t i;

	for (i = 0; i < json_array_size(all); i++) {
		const json_t *c = json_array_get(all, i);
		const char *type = kube_string(c, "type"), *status = kube_string(c, "status");

		if (str_eq(status, "True") && (str_eq(type, "Complete") || str_eq(type, "Failed")))
			return true;
	}
	return false;
}

static int plan_keep(struct cron_plan *p, const struct run *keep, struct err *err)
{
	struct kube_thing job = { 0 };
	struct str path;
	int rc;

	str_init(&path, 4096);
	kube_act_path(p->k, &path, KUBE_JOBS, p->t->ns, keep->name);
	rc = kube_get(p->k, path.s, &job, err);
	if (!rc && !job_is(job.json, keep))
		plan_changed(p->plan, "the run %s, which shall be kept, does not exist any more",
			keep->name);
	else if (!rc && kube_member(job.json, "metadata.deletionTimestamp"))
		plan_changed(
			p->plan, "the run %s, which shall be kept, is being deleted", keep->name);
	else if (!rc && job_has_ended(job.json))
		plan_changed(p->plan, "the run %s, which shall be kept, has ended meanwhile",
			keep->name);
	kube_thing_release(&job);
	str_release(&path);
	return rc;
}

static int plan_keep_one(struct cron_plan *p, struct err *err)
{
	const struct singleton *s = p->order->s;
	const struct run *keep = run_by_key(s, p->order->key);
	size_t n = 0;
	uint32_t i;
	int rc;

	if (!keep || keep->alive == TRI_NO || keep->unseen) {
		plan_refuse(p->plan,
			keep ? "the run %s is not at work: it can't be the one to keep"
			     : "which run shall be kept must be said%s",
			keep ? keep->name : "");
		return 0;
	}
	rc = plan_keep(p, keep, err);
	for (i = 0; !rc && i < s->more->n_runs && p->plan->verdict == PLAN_READY; i++) {
		const struct run *run = &s->more->runs[i];
		bool same;

		/* One whose pod waits to start, too, or two would be at work in a moment. */
		if (run == keep || !run_is_open(run) || run->unseen || !*run_uid(run))
			continue;
		rc = plan_delete(p, run, &same, err);
		n += !rc && same;
	}
	if (rc || p->plan->verdict != PLAN_READY)
		return rc;
	if (!n) {
		plan_changed(p->plan, "every other run is over by now: nothing is to be done");
		return 0;
	}
	plan_add(&p->plan->keeps, "the run", keep->name);
	price_deletion(p);
	return kube_ask_permission(p->k, p->t, "delete", "batch", "jobs", p->plan, err);
}

/* ---- the way in ---- */

static int plan_verb(struct cron_plan *p, struct err *err)
{
	switch (p->order->verb) {
	case VERB_STEP_DOWN:
	case VERB_SUSPEND:
		return plan_suspend(p, err);
	case VERB_RESUME:
		return plan_resume(p, err);
	case VERB_TRIGGER:
		return plan_trigger(p, err);
	case VERB_RELEASE:
		return plan_release_run(p, err);
	case VERB_KEEP_ONE:
		return plan_keep_one(p, err);
	default:
		plan_refuse(
			p->plan, "%s does not work on a CronJob", verb_word(p->order->verb)->word);
		return 0;
	}
}

int kube_plan_cronjob(struct kube *k, const struct order *order, const struct kube_target *t,
	struct plan *plan, struct err *err)
{
	struct cron_plan p = {
		.k = k,
		.order = order,
		.t = t,
		.plan = plan,
		.now_us = clock_wall_us(round_clock(k->r)),
		.grace_s = -1,
	};
	int rc;

	str_init(&p.path, 4096);
	kube_act_path(k, &p.path, KUBE_CRONJOBS, t->ns, t->name);
	rc = kube_get(k, p.path.s, &p.cron, err);
	if (!rc && cron_is_same(&p))
		rc = plan_verb(&p, err);
	kube_thing_release(&p.cron);
	str_release(&p.path);
	return rc;
}
