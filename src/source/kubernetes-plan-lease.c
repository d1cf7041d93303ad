#include "config.h"

#include "base/mem.h"
#include "base/text.h"
#include "source/kubernetes-act.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What taking a Lease from its holder would send, and what it costs. */

enum {
	GAP_MOST_MS = 2400, /* client-go: RetryPeriod 2 s, stretched by up to JitterFactor 1.2 */
};

/* The key of the Lease's present holder, as the rows have it (kubernetes-tell.c). */
static void lease_key_now(struct str *key, const json_t *lease)
{
	const char *holder = kube_string(lease, "spec.holderIdentity");
	const char *uid = kube_string(lease, "metadata.uid");

	str_clear(key);
	str_add(key, "uid:");
	text_escape(key, uid ? uid : "", uid ? strlen(uid) : 0);
	str_add_char(key, '/');
	text_escape(key, holder ? holder : "", holder ? strlen(holder) : 0);
	str_addf(key, "/%" PRId64, kube_number(lease, "spec.leaseTransitions", 0));
}

bool kube_lease_is_same(const struct order *order, const struct kube_target *t, const json_t *lease,
	struct plan *plan)
{
	const char *uid = kube_string(lease, "metadata.uid"), *holder;
	struct str key, shown;
	bool same;

	if (!lease) {
		plan_changed(plan, "the Lease does not exist any more");
		return false;
	}
	if (!uid || strcmp(uid, t->uid) != 0) {
		plan_changed(plan, "it is another Lease of the same name now: it was made anew");
		return false;
	}
	str_init(&key, 64 * 1024);
	str_init(&shown, 4096);
	lease_key_now(&key, lease);
	same = strcmp(key.s, order->key) == 0;
	holder = kube_string(lease, "spec.holderIdentity");
	if (!same && holder && *holder)
		plan_changed(plan, "%s holds it now (%s)", kube_shown(&shown, holder), key.s);
	else if (!same)
		plan_changed(plan, "nobody holds it now");
	str_release(&key);
	str_release(&shown);
	return same;
}

static void lease_test(
	struct str *patch, const struct kube_thing *lease, const char *object, const char *member)
{
	str_addf(patch, "{\"op\":\"test\",\"path\":\"/%s/%s\",\"value\":", object, member);
	kube_raw(patch, lease, object, member);
	str_add(patch, "},");
}

/*
 * The comparison comes first: the server makes it in the same request, also when it begins anew
 * because of a renewal meanwhile. It compares texts as they are written in JSON, so that the
 * server's own writing is given back.
 */
static void lease_tests(struct str *patch, const struct kube_thing *lease)
{
	str_add_char(patch, '[');
	lease_test(patch, lease, "metadata", "uid");
	lease_test(patch, lease, "spec", "holderIdentity");
	if (kube_member(lease->json, "spec.leaseTransitions"))
		lease_test(patch, lease, "spec", "leaseTransitions");
}

/*
 * The candidate that is preferred from then on, read now, as everything else that the plan stands
 * on: the first by name that is not the holder. Returns 0; other stays empty where there is none,
 * or where they may not be read.
 */
static int lease_other(struct kube *k, const struct kube_target *t, const json_t *lease,
	struct str *other, struct err *err)
{
	const char *holder = kube_string(lease, "spec.holderIdentity");
	struct kube_thing all = { 0 };
	const json_t *items;
	struct str path;
	size_t i;
	int rc;

	str_init(&path, 4096);
	kube_candidates_path(&path, t->ns);
	rc = kube_get(k, path.s, &all, err);
	items = json_object_get(all.json, "items");
	for (i = 0; !rc && !other->len && i < json_array_size(items); i++) {
		const json_t *c = json_array_get(items, i);
		const char *name = kube_string(c, "metadata.name");

		if (name && str_eq(kube_string(c, "spec.leaseName"), t->name) &&
			!str_eq(name, holder))
			str_add(other, name);
	}
	if (rc == ERR_DENIED || rc == ERR_NOTFOUND) {
		err_clear(err);
		rc = 0;
	}
	kube_thing_release(&all);
	str_release(&path);
	return rc;
}

/* A text as JSON; the caller frees it. */
static char *json_dumps_text(const char *text)
{
	json_t *json = json_string(text);
	char *out = json_dumps(json, JSON_ENCODE_ANY);

	json_decref(json);
	return out ? out : xstrdup("\"\"");
}

/* Without a strategy: the record is cleared, as client-go's own release does. */
static void patch_clear(struct str *patch)
{
	str_add(patch, "{\"op\":\"replace\",\"path\":\"/spec/holderIdentity\",\"value\":\"\"},"
		       "{\"op\":\"add\",\"path\":\"/spec/leaseDurationSeconds\",\"value\":1}]");
}

/* Coordinated: another is preferred, and the holder yields by itself. */
static int patch_prefer(struct kube *k, const struct kube_target *t, const json_t *lease,
	struct str *patch, struct plan *plan, struct err *err)
{
	struct str other, shown;
	char *name;
	int rc;

	str_init(&shown, 4096);
	str_init(&other, 1024);
	rc = lease_other(k, t, lease, &other, err);
	if (!rc && !other.len) {
		plan_refuse(plan,
			"the election is coordinated, and no other candidate is known that could "
			"be preferred");
	} else if (!rc) {
		name = json_dumps_text(other.s);
		str_addf(patch, "{\"op\":\"add\",\"path\":\"/spec/preferredHolder\",\"value\":%s}]",
			name);
		free(name);
		plan_text(&plan->successor, "%s", kube_shown(&shown, other.s));
		plan_add(&plan->told,
			"the holder sees at its next renewal that another is preferred, and yields",
			NULL);
	}
	str_release(&other);
	str_release(&shown);
	return rc;
}

static int lease_patch(struct kube *k, const struct kube_target *t, const json_t *lease,
	struct str *patch, struct plan *plan, struct err *err)
{
	const char *strategy = kube_string(lease, "spec.strategy");

	if (strategy && *strategy)
		return patch_prefer(k, t, lease, patch, plan, err);
	patch_clear(patch);
	return 0;
}

/* ---- the price ---- */

static void lease_warn_of_pod(const struct claim *holder, struct plan *plan)
{
	const char *pod = claim_text(holder, DETAIL_POD, NULL);
	const char *phase = claim_text(holder, DETAIL_POD_PHASE, NULL);

	if (pod && phase && strcmp(phase, "Running") == 0)
		plan_warn(
			plan, "its pod %s runs: stop that pod rather, and the Lease follows", pod);
}

static void lease_price(const struct order *order, const struct claim *holder, const json_t *lease,
	struct plan *plan)
{
	const char *strategy = kube_string(lease, "spec.strategy");
	int64_t duration_s = kube_number(lease, "spec.leaseDurationSeconds", -1);

	plan_text(&plan->guarded_by,
		"the API server tests uid, holderIdentity and leaseTransitions in the same patch");
	plan_add(&plan->keeps, "the Lease, and its leaseTransitions", NULL);
	plan->gap_min_ms = 0;
	if (!strategy || !*strategy) {
		plan->gap_max_ms = TIME_UNKNOWN;
		plan_text(&plan->gap_why, "whoever tries next takes it; client-go tries every 2 s. "
					  "Who tries can't be "
					  "seen");
		plan_warn(plan,
			"a holder that lives takes it straight back: client-go does at its next "
			"retry, within %d ms, unless another candidate is first",
			GAP_MOST_MS);
	}
	plan->last_sign_us = singleton_int(order->s, DETAIL_LAST_CHANGE_SEEN, TIME_UNKNOWN);
	if (plan->last_sign_us != TIME_UNKNOWN)
		plan_text(&plan->last_sign, "it renewed the Lease");
	if (duration_s > 0)
		plan_text(&plan->alone,
			"a holder that does not renew loses it: candidates wait %" PRId64
			" s after its last renewal",
			duration_s);
	lease_warn_of_pod(holder, plan);
}

int kube_plan_lease(struct kube *k, const struct order *order, const struct kube_target *t,
	struct plan *plan, struct err *err)
{
	const struct claim *claim = singleton_claim_at(order->s, order->key);
	struct kube_thing lease = { 0 };
	struct str path, patch;
	int rc;

	if (!claim || claim->kind != CLAIM_HOLDER) {
		plan_refuse(plan,
			"only the holder of a Lease can be asked or released: a candidate "
			"is a process that waits, and has no part of the record");
		return 0;
	}
	str_init(&path, 4096);
	str_init(&patch, 256 * 1024);
	kube_act_path(k, &path, KUBE_LEASES, t->ns, t->name);
	rc = kube_get(k, path.s, &lease, err);
	if (!rc && kube_lease_is_same(order, t, lease.json, plan)) {
		lease_tests(&patch, &lease);
		rc = lease_patch(k, t, lease.json, &patch, plan, err);
		if (!rc && plan->verdict == PLAN_READY) {
			kube_plan_call(plan, "PATCH", path.s, "application/json-patch+json",
				patch.s, t->name, NULL);
			lease_price(order, claim, lease.json, plan);
			rc = kube_ask_permission(
				k, t, "patch", "coordination.k8s.io", "leases", plan, err);
		}
	}
	kube_thing_release(&lease);
	str_release(&path);
	str_release(&patch);
	return rc;
}
