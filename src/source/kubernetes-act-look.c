#include "config.h"

#include "base/mem.h"
#include "base/text.h"
#include "source/kubernetes-act.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What is so after an act on Kubernetes. */

enum {
	IDENTITY_BYTES = 4096, /* of an identity, in a row (draft.c) */
	RETAKE_MS = 3000,      /* a client-go holder that lives tries again within 2.4 s */
};

/* ---- what the watches have yet to tell of ---- */

void kube_ahead_clear(struct kube *k)
{
	while (k->n_ahead) {
		struct kube_ahead *a = &k->ahead[--k->n_ahead];

		free(a->uid);
		free(a->version);
	}
}

/*
 * resourceVersions of one kind are numbers that rise: so API servers promise since 1.35 (KEP-5504,
 * "Comparable Resource Version"), and so etcd's revisions always were. Of anything else nothing is
 * said.
 */
static bool is_older(const struct kube_text *a, const char *b)
{
	size_t len = strlen(b);

	if (strspn(a->s, "0123456789") != a->len || strspn(b, "0123456789") != len)
		return false;
	return a->len != len ? a->len < len : memcmp(a->s, b, len) < 0;
}

static bool ahead_is_told(const struct kube *k, const struct kube_ahead *a)
{
	const struct kube_text *version = kube_store_version(k->store, a->kind, a->uid);

	return a->version ? version && !is_older(version, a->version) : !version;
}

void kube_tell_behind(struct kube *k)
{
	size_t i;

	for (i = 0; i < k->n_ahead; i++)
		if (!ahead_is_told(k, &k->ahead[i])) {
			round_behind(k->r, true);
			return;
		}
	kube_ahead_clear(k);
	round_behind(k->r, false);
}

bool kube_is_ahead(const struct kube *k, enum kube_kind kind)
{
	size_t i;

	for (i = 0; i < k->n_ahead; i++)
		if (k->ahead[i].kind == kind && !ahead_is_told(k, &k->ahead[i]))
			return true;
	return false;
}

/* Whose state this look has told; thing: as it was read. Of a kind that can't be seen there, no
 * picture will ever tell. */
static void look_ahead(struct kube *k, const struct kube_target *t, enum kube_kind kind,
	const char *uid, const struct kube_thing *thing)
{
	const char *now = kube_string(thing->json, "metadata.uid");
	const char *version = kube_string(thing->json, "metadata.resourceVersion");
	bool there = now && version && strcmp(now, uid) == 0;

	if (!kube_sees(k, kind, t->ns))
		return;
	MEM_GROW(k->ahead, k->n_ahead, k->cap_ahead);
	k->ahead[k->n_ahead++] = (struct kube_ahead){
		.kind = kind,
		.uid = xstrdup(uid),
		.version = there ? xstrdup(version) : NULL,
	};
}

/* ---- a Lease ---- */

/* The old holder's process is seen by its pod alone. */
static int look_pod(struct kube *k, const struct order *order, const struct kube_target *t,
	struct sight *sight, struct err *err)
{
	const struct claim *holder = singleton_holder(order->s);
	const char *pod = holder ? claim_text(holder, DETAIL_POD, NULL) : NULL;
	const char *uid = holder ? claim_text(holder, DETAIL_POD_UID, NULL) : NULL;
	struct kube_thing thing = { 0 };
	const char *phase, *now;
	struct str path;
	int rc;

	sight->overlap = OVERLAP_OPEN;
	if (!pod || !uid) {
		str_add(&sight->text, "; nothing shows whether the old holder's process stopped");
		return 0;
	}
	str_init(&path, 4096);
	kube_act_path(k, &path, KUBE_PODS, t->ns, pod);
	rc = kube_get(k, path.s, &thing, err);
	now = kube_string(thing.json, "metadata.uid");
	phase = kube_string(thing.json, "status.phase");
	if (!rc && (!now || strcmp(now, uid) != 0 || (phase && strcmp(phase, "Failed") == 0) ||
			   (phase && strcmp(phase, "Succeeded") == 0))) {
		sight->overlap = OVERLAP_CLOSED;
		str_addf(&sight->text, "; the old holder's pod %s is gone or has ended", pod);
	} else if (!rc) {
		str_addf(&sight->text, "; the old holder's pod %s was not seen to stop", pod);
	} else if (rc == ERR_DENIED) {
		err_clear(err);
		str_addf(&sight->text, "; the old holder's pod %s may not be read", pod);
		rc = 0;
	}
	kube_thing_release(&thing);
	str_release(&path);
	return rc;
}

/* The whole identity counts, however long; as the rows have it. */
static bool is_holder(const struct kube_target *t, const char *holder)
{
	struct str whole;
	bool same;

	str_init(&whole, KUBE_ANSWER_MAX);
	text_escape_cut(&whole, holder, strlen(holder), IDENTITY_BYTES);
	same = t->identity && strcmp(whole.s, t->identity) == 0;
	str_release(&whole);
	return same;
}

static void look_holder(
	struct kube *k, const struct kube_target *t, const json_t *lease, struct sight *sight)
{
	const char *holder = kube_string(lease, "spec.holderIdentity");
	const char *uid = kube_string(lease, "metadata.uid");
	struct str shown;

	if (!lease || !uid || strcmp(uid, t->uid) != 0) {
		sight->settled = true;
		str_add(&sight->text, "the Lease is not there any more, or another one");
		return;
	}
	if (!holder || !*holder) {
		/* Whoever takes it straight back does so within this time. */
		sight->seen = true;
		sight->settled = k->acted_ms != TIME_UNKNOWN &&
				 round_now_ms(k->r) >= k->acted_ms + RETAKE_MS;
		str_add(&sight->text, "nobody holds it");
		return;
	}
	str_init(&shown, 4096);
	kube_shown(&shown, holder);
	if (is_holder(t, holder)) {
		sight->undone = true;
		str_addf(&sight->text,
			"%s has taken it straight back: its process lives, and leads on", shown.s);
	} else {
		sight->settled = true;
		str_addf(&sight->text, "%s holds it now, leaseTransitions %" PRId64, shown.s,
			kube_number(lease, "spec.leaseTransitions", 0));
	}
	str_release(&shown);
}

/* Of a coordinated election: the preference stands, and then the holder yields. */
static void look_preferred(const struct kube_target *t, const json_t *lease, struct sight *sight)
{
	const char *holder = kube_string(lease, "spec.holderIdentity");
	struct str shown;

	str_init(&shown, 4096);
	kube_shown(&shown, holder ? holder : "");
	sight->settled = !is_holder(t, holder ? holder : "");
	str_addf(&sight->text, "%s%s", shown.len ? shown.s : "nobody",
		sight->settled ? " holds it now" : " still holds it, and has not yielded yet");
	str_release(&shown);
}

static int look_lease(struct kube *k, const struct order *order, const struct kube_target *t,
	struct sight *sight, struct err *err)
{
	struct kube_thing lease = { 0 };
	const char *strategy;
	struct str path;
	int rc;

	str_init(&path, 4096);
	kube_act_path(k, &path, KUBE_LEASES, t->ns, t->name);
	rc = kube_get(k, path.s, &lease, err);
	if (!rc) {
		look_ahead(k, t, KUBE_LEASES, t->uid, &lease);
		strategy = kube_string(lease.json, "spec.strategy");
		if (strategy && *strategy)
			look_preferred(t, lease.json, sight);
		else
			look_holder(k, t, lease.json, sight);
		rc = look_pod(k, order, t, sight, err);
	}
	kube_thing_release(&lease);
	str_release(&path);
	return rc;
}

/* ---- a CronJob ---- */

static int look_suspended(struct kube *k, const struct order *order, const struct kube_target *t,
	struct sight *sight, struct err *err)
{
	bool want = order->verb != VERB_RESUME;
	struct kube_thing cron = { 0 };
	size_t active;
	struct str path;
	int rc;

	str_init(&path, 4096);
	kube_act_path(k, &path, KUBE_CRONJOBS, t->ns, t->name);
	rc = kube_get(k, path.s, &cron, err);
	if (!rc) {
		bool suspended = json_is_true(kube_member(cron.json, "spec.suspend"));

		look_ahead(k, t, KUBE_CRONJOBS, t->uid, &cron);
		active = json_array_size(kube_member(cron.json, "status.active"));
		sight->settled = cron.json && suspended == want;
		sight->undone = cron.json && suspended != want;
		str_addf(&sight->text, "it is %s", suspended ? "suspended" : "not suspended");
		if (active)
			str_addf(&sight->text, "; %zu %s active", active,
				active == 1 ? "run is" : "runs are");
		/* Who suspends it takes the work from nobody: what runs is meant to go on. */
		sight->overlap =
			order->verb == VERB_STEP_DOWN && active ? OVERLAP_OPEN : OVERLAP_NONE;
	}
	kube_thing_release(&cron);
	str_release(&path);
	return rc;
}

static int look_made(struct kube *k, const struct kube_target *t, const char *name,
	struct sight *sight, struct err *err)
{
	struct kube_thing job = { 0 };
	struct str path;
	int rc;

	str_init(&path, 4096);
	kube_act_path(k, &path, KUBE_JOBS, t->ns, name);
	rc = kube_get(k, path.s, &job, err);
	if (!rc) {
		if (kube_string(job.json, "metadata.uid"))
			look_ahead(k, t, KUBE_JOBS, kube_string(job.json, "metadata.uid"), &job);
		sight->settled = job.json != NULL;
		str_addf(&sight->text, job.json ? "the Job %s is there" : "the Job %s is not there",
			name);
	}
	kube_thing_release(&job);
	str_release(&path);
	return rc;
}

/* How many pods of a run may still be at work. */
static int count_pods(struct kube *k, const char *ns, const char *job, const char *uid, size_t *ret,
	struct err *err)
{
	struct kube_thing pods = { 0 };
	int rc = kube_pods_of(k, ns, job, &pods, err);
	const json_t *items = json_object_get(pods.json, "items");
	size_t i;

	*ret = 0;
	for (i = 0; !rc && i < json_array_size(items); i++) {
		const json_t *pod = json_array_get(items, i);
		const char *phase = kube_string(pod, "status.phase");

		if (kube_pod_is_of(pod, uid) && (!phase || (strcmp(phase, "Succeeded") != 0 &&
								   strcmp(phase, "Failed") != 0)))
			++*ret;
	}
	/* Among those that were not read one may be at work. */
	*ret += !rc && kube_more_pods(pods.json);
	kube_thing_release(&pods);
	return rc;
}

/* One run that was deleted. */
static int look_deleted(struct kube *k, const struct kube_target *t, const json_t *call,
	struct sight *sight, struct err *err)
{
	json_t *body = json_loads(kube_string(call, "body"), 0, NULL);
	const char *uid = kube_string(body, "preconditions.uid");
	const char *name = kube_string(call, "name"), *now;
	struct kube_thing job = { 0 };
	bool hidden = false;
	size_t pods = 0;
	int rc = kube_get(k, kube_string(call, "path"), &job, err);

	if (!rc)
		rc = count_pods(k, t->ns, name, uid, &pods, err);
	if (rc == ERR_DENIED) {
		err_clear(err);
		hidden = true;
		rc = 0;
	}
	if (!rc) {
		bool gone, going;

		look_ahead(k, t, KUBE_JOBS, uid, &job);
		now = kube_string(job.json, "metadata.uid");
		gone = !now || strcmp(now, uid) != 0;
		going = !gone && kube_member(job.json, "metadata.deletionTimestamp");
		sight->settled = sight->settled && (gone || going);
		str_addf(&sight->text, "%s%s is %s", sight->text.len ? "; " : "", name,
			gone    ? "gone"
			: going ? "Terminating"
				: "still there");
		if (pods)
			str_addf(&sight->text, ", %zu %s not ended yet", pods,
				pods == 1 ? "pod of it has" : "pods of it have");
		if (hidden)
			str_add(&sight->text, ", and its pods may not be read");
		if (pods || hidden || (!gone && !going))
			sight->overlap = OVERLAP_OPEN;
	}
	kube_thing_release(&job);
	json_decref(body);
	return rc;
}

static int look_runs(struct kube *k, const struct kube_target *t, const struct plan *plan,
	struct sight *sight, struct err *err)
{
	json_t *calls = plan->guard ? json_loads(plan->guard, 0, NULL) : NULL;
	size_t i;
	int rc = 0;

	sight->settled = json_array_size(calls) > 0;
	sight->overlap = OVERLAP_CLOSED;
	for (i = 0; !rc && i < json_array_size(calls); i++)
		rc = look_deleted(k, t, json_array_get(calls, i), sight, err);
	json_decref(calls);
	return rc;
}

static int look_trigger(struct kube *k, const struct kube_target *t, const struct plan *plan,
	struct sight *sight, struct err *err)
{
	json_t *calls = plan->guard ? json_loads(plan->guard, 0, NULL) : NULL;
	const char *name = kube_string(json_array_get(calls, 0), "name");
	int rc = name ? look_made(k, t, name, sight, err)
		      : err_set(err, ERR_USAGE, "which Job was made is not known");

	json_decref(calls);
	return rc;
}

int kube_look(struct kube *k, const struct order *order, const struct kube_target *t,
	const struct plan *plan, struct sight *sight, struct err *err)
{
	int rc;

	str_clear(&sight->text);
	kube_ahead_clear(k);
	if (order->s->mechanism == MECH_K8S_LEASE)
		rc = look_lease(k, order, t, sight, err);
	else if (order->verb == VERB_RELEASE || order->verb == VERB_KEEP_ONE)
		rc = look_runs(k, t, plan, sight, err);
	else if (order->verb == VERB_TRIGGER)
		rc = look_trigger(k, t, plan, sight, err);
	else
		rc = look_suspended(k, order, t, sight, err);
	kube_tell_behind(k);
	return rc;
}
