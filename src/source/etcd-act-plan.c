#include "config.h"

#include "source/etcd-act.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* What an act would cost: read again, directly before, by requests that change nothing. */

enum {
	SHOWN_MAX = 400,
	VALUE_SHOWN = 300
};

/* ---- the same still? ---- */

static void compare_value(struct etcd_reading *in, struct plan *plan)
{
	struct str name;

	if (!in->t->single)
		return;
	str_init(&name, 8 * ETCD_VALUE_MAX);
	if (!str_eq(etcd_candidate_name(&name, in->own), claim_identity(in->t->claim)))
		plan_changed(plan, "the key names another holder now: %.*s", text_most(name.s, 200),
			name.s);
	str_release(&name);
}

void etcd_plan_compare(struct etcd_reading *in, struct plan *plan)
{
	in->own = etcd_now_find(&in->now, in->t);
	if (!in->own) {
		plan_changed(plan, "the key is not there any more");
		return;
	}
	if (in->own->create_revision != in->t->create_revision) {
		plan_changed(plan,
			"the key was deleted and made again: its create_revision is %" PRId64
			" now, it was %" PRId64,
			in->own->create_revision, in->t->create_revision);
		return;
	}
	if (in->own->lease != in->t->lease)
		plan_changed(plan, "the key is on another lease now: %" PRIx64,
			(uint64_t)in->own->lease);
	compare_value(in, plan);
	in->leads = in->own == &in->now.items[0];
	if (in->leads && in->now.n > 1)
		in->next = &in->now.items[1];
}

/* What the verb itself asks for. */
static void check_verb(struct etcd_reading *in, struct plan *plan)
{
	if (in->order->verb == VERB_STEP_DOWN && !in->leads)
		plan_refuse(plan,
			"it waits in the queue, and only who leads can step down: release "
			"takes it out of the queue");
	if (in->order->verb != VERB_REVOKE)
		return;
	if (!in->t->lease)
		plan_refuse(plan, "the key has no lease that could be revoked: release deletes it");
	else if (in->lease.gone)
		plan_changed(plan, "etcd knows no such lease any more");
	else if (in->lease.denied)
		plan_refuse(plan,
			"which keys are on the lease may not be read, so that what a revoke "
			"destroys is not known: grant read permission on all of them");
}

/* ---- what goes, what stays ---- */

static const char other_key[] = "another key on the same lease";
static const char other_candidacy[] = "another candidacy on the same lease";

static const char *shown(struct str *out, const char *raw, size_t len)
{
	str_clear(out);
	text_escape_cut(out, raw, len, SHOWN_MAX);
	return out->s;
}

/* Whether a key is a candidate by the lease that it is on: another election or lock hangs on it. */
static bool bears_lease(const char *key, int64_t lease)
{
	const char *slash = strrchr(key, '/');
	uint64_t number;

	return slash && etcd_segment(slash + 1, strlen(slash + 1), lease, &number) &&
	       number == (uint64_t)lease;
}

static void tell_lease_keys(const struct etcd_reading *in, struct plan *plan)
{
	bool revoke = in->order->verb == VERB_REVOKE;
	struct plan_list *list = revoke ? &plan->destroys : &plan->keeps;
	struct str key;
	size_t i;

	str_init(&key, SHOWN_MAX * 5);
	for (i = 0; i < in->lease.n_keys; i++) {
		const char *raw = in->lease.keys[i];

		if (strlen(raw) == in->t->key.len && memcmp(raw, in->t->key.s, in->t->key.len) == 0)
			continue;
		plan_add(list, bears_lease(raw, in->t->lease) ? other_candidacy : other_key,
			shown(&key, raw, strlen(raw)));
	}
	/* Of those that were not kept it is not known which they are. */
	plan_cut(list, in->lease.cut, other_key, other_candidacy);
	str_release(&key);
}

static void tell_destroyed(const struct etcd_reading *in, struct plan *plan)
{
	bool revoke = in->order->verb == VERB_REVOKE;
	char lease[32];
	struct str key;

	str_init(&key, SHOWN_MAX * 5);
	snprintf(lease, sizeof(lease), "%" PRIx64, (uint64_t)in->t->lease);
	plan_add(&plan->destroys, "the key", shown(&key, in->t->key.s, in->t->key.len));
	if (in->t->lease && !in->lease.gone)
		plan_add(revoke ? &plan->destroys : &plan->keeps, "its lease", lease);
	if (in->lease.denied)
		plan_add(&plan->keeps, "other keys on the lease, which may not be read", NULL);
	tell_lease_keys(in, plan);
	if (revoke)
		plan_add(&plan->told, "its client, when it next renews the lease", NULL);
	str_release(&key);
}

/* ---- the request ---- */

static void write_delete(const struct etcd_reading *in, struct plan *plan)
{
	struct str key, value;

	str_init(&key, SHOWN_MAX * 5);
	str_init(&value, 4 * ETCD_FIELD_MAX);
	shown(&key, in->t->key.s, in->t->key.len);
	if (in->t->single) {
		text_escape(&value, in->own->value, in->own->value_len);
		plan_text(&plan->guard, "%s", value.s);
		/* What does not fit can't be compared again. */
		if (value.full || strlen(plan->guard) != value.len)
			plan_refuse(plan, "its value is too long to be compared");
	}
	plan_text(&plan->request,
		"txn: if create_revision(\"%s\") = %" PRId64 " and lease = %" PRIx64
		"%s%.*s%s then "
		"delete that key, else only read it",
		key.s, in->t->create_revision, (uint64_t)in->t->lease,
		in->t->single ? " and value = \"" : "", text_most(value.s, VALUE_SHOWN), value.s,
		!in->t->single            ? ""
		: value.len > VALUE_SHOWN ? "\"..."
					  : "\"");
	plan_text(&plan->guarded_by,
		"etcd compares the key's create_revision%s in the transaction that "
		"deletes it",
		in->t->single ? ", lease and value" : " and lease");
	str_release(&key);
	str_release(&value);
}

void etcd_revoke_guard(const struct etcd_lease_now *l, char *buf, size_t size)
{
	if (l->gone || l->denied || !l->known)
		snprintf(buf, size, "none");
	else
		snprintf(buf, size, "%zu:%016" PRIx64, l->n_keys + l->cut, l->hash);
}

static void write_revoke(const struct etcd_reading *in, struct plan *plan)
{
	size_t n = in->lease.n_keys + in->lease.cut;
	char guard[64];

	etcd_revoke_guard(&in->lease, guard, sizeof(guard));
	plan_text(&plan->guard, "%s", guard);
	plan_text(&plan->request,
		"LeaseRevoke of lease %" PRIx64 " with %zu key%s, when these are the same directly "
		"before",
		(uint64_t)in->t->lease, n, n == 1 ? "" : "s");
	plan_warn(plan,
		"LeaseRevoke takes no condition: what is put on the lease in the moment between "
		"the check and it goes too; this window is not guarded by the server");
}

/* ---- who is next ---- */

static void plan_next(const struct etcd_reading *in, struct plan *plan)
{
	struct str name;

	if (!in->leads) {
		plan_text(&plan->gap_why, "it only waits: who leads goes on");
		return;
	}
	if (!in->next) {
		plan_text(&plan->gap_why, "%s",
			in->t->single
				? "who takes the key next can't be seen: candidates for a single "
				  "key leave no trace"
				: "nobody waits: until somebody comes, nobody leads");
		if (!in->t->single)
			plan_warn(plan,
				"nobody waits. A process that seems to stand by and has no key "
				"in the queue may even lead without one afterwards: look at it "
				"first");
		return;
	}
	str_init(&name, 8 * ETCD_VALUE_MAX);
	plan_text(&plan->successor, "%s", etcd_candidate_name(&name, in->next));
	str_release(&name);
	plan->gap_min_ms = 0;
	if (in->next_lease.known && !in->next_lease.gone && !in->next_lease.denied) {
		int64_t left_ms = in->next_lease.ttl_s > 0 ? in->next_lease.ttl_s * 1000 + 999 : 0;

		plan->gap_max_ms = left_ms;
		plan_text(&plan->gap_why, "one watch event; if that process is dead, until its own "
					  "lease has ended and the next one has its turn");
	} else if (!in->next->lease) {
		plan_text(&plan->gap_why,
			"the next key has no lease: if nobody is behind it, it blocks "
			"for ever");
		plan_warn(plan,
			"the next key in the queue has no lease: nothing shows that a process is "
			"behind it");
	} else {
		plan_text(&plan->gap_why,
			"one watch event; how long the next one's lease still runs is "
			"not known");
	}
}

/* ---- signs of life, and what happens by itself ---- */

static void plan_life(struct etcd *e, const struct etcd_reading *in, struct plan *plan)
{
	const struct etcd_lease_now *l = &in->lease;
	int64_t ago_s = l->granted_s - l->ttl_s;

	if (!in->t->lease) {
		plan_text(&plan->alone, "the key has no lease: it stays for ever");
		return;
	}
	if (!l->known || l->denied) {
		plan_text(&plan->alone, "how long its lease still runs may not be read");
		return;
	}
	if (l->gone) {
		plan_text(&plan->alone, "etcd knows no such lease: the key should go any moment");
		return;
	}
	if (ago_s >= 0 && ago_s < INT64_MAX / 2000000) {
		plan->last_sign_us = clock_wall_us(round_clock(e->r)) - ago_s * 1000000;
		plan_text(&plan->last_sign,
			"its lease of %" PRId64 " s was renewed, or begun anew by a "
			"new etcd leader",
			l->granted_s);
	}
	if (l->ttl_s < 0)
		plan_text(&plan->alone,
			"its lease is %" PRId64
			" s past its end and was not revoked by etcd: it may "
			"stay so",
			-l->ttl_s);
	else
		plan_text(&plan->alone,
			"where it is not renewed, its lease ends in %" PRId64 " s, and its keys go",
			l->ttl_s);
}

/* What is unsafe about it here. */
static void plan_dangers(const struct etcd_reading *in, struct plan *plan)
{
	const struct etcd_lease_now *l = &in->lease;
	bool lives = l->known && !l->gone && !l->denied && l->ttl_s > 0;

	if (in->order->verb != VERB_REVOKE && in->leads && lives)
		plan_warn(plan,
			"its lease still runs: the process is not told, and may go on as if it "
			"led");
	if (in->order->verb != VERB_REVOKE && !in->leads && lives &&
		in->order->s->mechanism == MECH_ETCD_ELECTION)
		plan_warn(plan,
			"a candidate that lives and whose key is gone may think that it leads "
			"when the keys before it are gone: etcd's client watches only those. Stop "
			"its "
			"process first");
	if (in->order->verb == VERB_REVOKE && in->lease.n_keys + in->lease.cut > 1)
		plan_warn(plan, "%zu other keys go with the lease; release deletes this one alone",
			in->lease.n_keys + in->lease.cut - 1);
}

/* ---- the cluster ---- */

static void plan_alarms(const struct etcd *e, const struct etcd_reading *in, struct plan *plan)
{
	size_t i;
	bool full = false, corrupt = false;

	for (i = 0; i < e->n_members; i++) {
		const char *errors = e->members[i].errors;

		full = full || (errors && strstr(errors, "NOSPACE"));
		corrupt = corrupt || (errors && strstr(errors, "CORRUPT"));
	}
	for (i = 0; i < e->n_alarms; i++) {
		full = full || strstr(e->alarms[i], "NOSPACE");
		corrupt = corrupt || strstr(e->alarms[i], "CORRUPT");
	}
	if (full)
		plan_warn(plan,
			"the alarm NOSPACE is on: etcd takes no new keys. Who is not in the queue "
			"already can't take over, and this holder can't come back: make room "
			"first%s",
			in->next ? "" : ", for nobody waits");
	if (corrupt)
		plan_refuse(plan,
			"the alarm CORRUPT is on: etcd refuses every change, and what it answers "
			"may be wrong. Replace the member whose data is corrupt, and disarm it");
}

/*
 * etcd tells what a user may do only through its raft log (UserGet and RoleGet are proposals,
 * v3_server.go), which a forecast leaves alone. The user root may do all.
 */
static void plan_permission(const struct etcd *e, struct plan *plan)
{
	const char *cert = source_option_text(e->config, "cert");

	if (e->has_token && str_eq(e->user, "root")) {
		plan->permission = TRI_YES;
	} else if (!e->has_token && (e->user || !cert)) {
		/* Reading worked without one: authentication is off. */
		plan->permission = TRI_YES;
	} else {
		plan_text(&plan->permission_why,
			"etcd would tell what the user may write only through its raft log, which "
			"a "
			"forecast leaves alone: etcdctl user get %s --detail",
			e->user ? e->user : "NAME");
	}
}

/* The current member's status, asked again: alarms may be new. Costs the cluster nothing. */
static int read_status(struct etcd *e, struct err *err)
{
	int64_t now_ms = http_loop_now_ms(e->loop), until_ms = now_ms + 1500;

	if (until_ms > round_deadline_ms(e->r))
		until_ms = round_deadline_ms(e->r);
	etcd_ask_members(e, true);
	while (e->members[e->current].asking && http_loop_now_ms(e->loop) < until_ms) {
		int rc = etcd_step(e, until_ms, err);

		if (rc)
			return rc;
	}
	return 0;
}

static int read_all(struct etcd *e, struct etcd_reading *in, struct plan *plan, struct err *err)
{
	int rc = etcd_now_read(e, in->t, &in->now, err);

	if (rc)
		return rc;
	if (e->cluster_id && in->now.cluster_id && in->now.cluster_id != e->cluster_id)
		plan_changed(plan, "another etcd cluster answers here now");
	else
		etcd_plan_compare(in, plan);
	if (plan->verdict == PLAN_READY)
		rc = etcd_lease_now_read(e, in->t->lease, true, &in->lease, err);
	if (!rc && plan->verdict == PLAN_READY && in->next)
		rc = etcd_lease_now_read(e, in->next->lease, false, &in->next_lease, err);
	if (!rc && plan->verdict == PLAN_READY)
		rc = read_status(e, err);
	return rc;
}

void etcd_plan_make(struct etcd *e, struct etcd_reading *in, struct plan *plan)
{
	check_verb(in, plan);
	if (plan->verdict == PLAN_CHANGED)
		return;
	tell_destroyed(in, plan);
	if (in->order->verb != VERB_REVOKE)
		write_delete(in, plan);
	else if (in->t->lease)
		write_revoke(in, plan);
	plan_next(in, plan);
	plan_life(e, in, plan);
	plan_dangers(in, plan);
	plan_alarms(e, in, plan);
}

void etcd_reading_release(struct etcd_reading *in)
{
	etcd_now_release(&in->now);
	etcd_lease_now_release(&in->lease);
	etcd_lease_now_release(&in->next_lease);
}

int etcd_plan(struct etcd *e, const struct order *order, const struct etcd_target *t,
	struct plan *plan, struct err *err)
{
	struct etcd_reading in = { .order = order, .t = t };
	int rc = read_all(e, &in, plan, err);

	if (!rc && plan->verdict == PLAN_READY) {
		etcd_plan_make(e, &in, plan);
		if (plan->verdict != PLAN_CHANGED)
			plan_permission(e, plan);
	}
	etcd_reading_release(&in);
	return rc;
}
