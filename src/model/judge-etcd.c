#include "config.h"

#include "model/judge-rules.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/*
 * etcd's elections, locks, and keys on a lease. What a lease has left is known only as of its last
 * reading: an old reading proves nothing, since the holder may have renewed it since. So the lease
 * is judged by what the reading itself showed, and time alone never makes it stale.
 */

static bool has_no_lease(const struct claim *c)
{
	const struct detail *lease = claim_detail(c, DETAIL_LEASE);

	return !lease || (!lease->hidden && lease->i == 0);
}

/* The key of a claim as evidence. */
static void judge_key_evidence(struct judging *j, const struct claim *c)
{
	const struct detail *key;
	struct details details;

	details_init(&details);
	details_of_claim(&details, j->s, c);
	key = details_find(&details, DETAIL_KEY);
	verdict_evidence_text(j->out, DETAIL_KEY, key && !key->hidden ? key->s : "");
	details_release(&details);
}

static void judge_no_lease(struct judging *j)
{
	const struct claim *c, *waiting = NULL;
	char who[WHO_MAX];
	uint32_t pos = 0;

	if (has_no_lease(j->holder)) {
		judging_state(j, STATE_ORPHAN);
		verdict_add(j->out, FINDING_NO_LEASE, SEVERITY_WARN, TIME_UNKNOWN,
			"The key of %s has no lease: it never expires by itself%s.",
			judging_who(who, j->holder),
			j->s->mechanism == MECH_ETCD_KEY
				? ""
				: ", and nobody else comes to the head while it is there");
		verdict_advise(j->out,
			"Find out who wrote it and whether that process works; then delete this "
			"one "
			"key, guarded by its create_revision. Waiting does not help.");
		judge_key_evidence(j, j->holder);
		return;
	}
	while (!waiting && (c = singleton_claim(j->s, CLAIM_WAITER, &pos)) != NULL)
		waiting = has_no_lease(c) ? c : NULL;
	if (!waiting)
		return;
	verdict_add(j->out, FINDING_NO_LEASE, SEVERITY_WARN, TIME_UNKNOWN,
		"%s waits with a key that has no lease: once at the head it stays there for ever.",
		judging_who(who, waiting));
	verdict_advise(j->out,
		"Delete that one key, guarded by its create_revision, before the next hand-over.");
	judge_key_evidence(j, waiting);
}

static void advise_stale(struct judging *j)
{
	const struct detail *lease = claim_detail(j->holder, DETAIL_LEASE);
	bool more = claim_detail(j->holder, DETAIL_OTHER_KEY) != NULL;
	char who[WHO_MAX];

	if (j->in->all_stale)
		verdict_advise(j->out, "Nearly every lease of this source is past its end: look at "
				       "etcd before the "
				       "holders.");
	else
		verdict_advise(j->out,
			"Make sure that %s has stopped, then revoke lease %" PRIx64 "%s.",
			judging_who(who, j->holder), (uint64_t)(lease ? lease->i : 0),
			more ? ", which takes its other keys too" : "");
}

static void judge_stale(struct judging *j)
{
	enum severity severity = j->in->all_stale ? SEVERITY_INFO : SEVERITY_WARN;
	char who[WHO_MAX], ago[CLOCK_TEXT_MAX], granted[CLOCK_TEXT_MAX];

	if (claim_int(j->holder, DETAIL_LEASE_GONE, 0) == 1) {
		judging_state(j, STATE_STALE);
		verdict_add(j->out, FINDING_STALE_HOLDER, severity, TIME_UNKNOWN,
			"etcd knows the lease of %s no more, and its key is still there. Nothing "
			"shows that its process stopped.",
			judging_who(who, j->holder));
		advise_stale(j);
		return;
	}
	if (singleton_lease_phase(j->s) != LEASE_PAST)
		return;
	judging_state(j, STATE_STALE);
	clock_format_age(granted, j->s->lease_granted_ms);
	verdict_add(j->out, FINDING_STALE_HOLDER, severity, TIME_UNKNOWN,
		"%s has not renewed: its lease of %s ended %s ago, and etcd has not revoked it. "
		"The "
		"key still stands; nothing shows that its process stopped.",
		judging_who(who, j->holder),
		j->s->lease_granted_ms == TIME_UNKNOWN ? "unknown length" : granted,
		judging_say(j, ago, judging_mono_age(j, j->s->lease_deadline_ms)));
	advise_stale(j);
	verdict_evidence_int(j->out, DETAIL_LEASE, claim_int(j->holder, DETAIL_LEASE, 0));
}

static void judge_expiring(struct judging *j)
{
	if (singleton_lease_phase(j->s) == LEASE_LOW)
		judging_state(j, STATE_EXPIRING);
}

/* When a new etcd leader was last seen; TIME_UNKNOWN: never. Our monotonic clock. */
static int64_t term_changed(const struct judging *j)
{
	return j->in->self ? singleton_int(j->in->self, DETAIL_TERM_CHANGED, TIME_UNKNOWN)
			   : TIME_UNKNOWN;
}

/*
 * A new etcd leader starts every lease anew. A holder that had missed its renewals before is not
 * seen to live by that: only a renewal after it, or its lease's whole length, tells.
 */
static void judge_extended(struct judging *j)
{
	int64_t changed = term_changed(j), granted = j->s->lease_granted_ms, age, since;
	uint8_t before = j->memory ? j->memory->state : STATE_UNKNOWN;
	int64_t renewed = claim_int(j->holder, DETAIL_RENEWED, TIME_UNKNOWN);
	char who[WHO_MAX], ago[CLOCK_TEXT_MAX];

	if (changed == TIME_UNKNOWN || granted == TIME_UNKNOWN ||
		(before != STATE_STALE && before != STATE_EXPIRING) ||
		singleton_lease_phase(j->s) != LEASE_RUNNING)
		return;
	age = judging_mono_age(j, changed);
	since = judging_mono_age(j, renewed);
	if (age == TIME_UNKNOWN || judging_reached(j, age, granted) ||
		(since != TIME_UNKNOWN && age - since > 2000))
		return;
	judging_state(j, STATE_EXPIRING);
	verdict_add(j->out, FINDING_TTL_EXTENDED, SEVERITY_INFO, TIME_UNKNOWN,
		"The lease of %s was made longer by a new etcd leader %s ago, not by its holder.",
		judging_who(who, j->holder), judging_say(j, ago, age));
	verdict_advise(j->out, "Wait for a renewal, or for the lease's whole length, before you "
			       "take the holder for "
			       "alive.");
}

/* ---- the queue ---- */

static const struct finding no_successor = {
	.code = FINDING_NO_SUCCESSOR,
	.severity = SEVERITY_INFO,
	.since_us = TIME_UNKNOWN,
	.text = "No other candidate has a key here: after a step-down nobody leads.",
};

static void judge_no_successor(struct judging *j)
{
	if (j->n_waiters)
		return;
	verdict_add_constant(j->out, &no_successor);
}

void judge_same_name(struct judging *j)
{
	const struct claim *c;
	char who[WHO_MAX];
	uint32_t pos = 0;

	if (!claim_identity(j->holder)[0])
		return;
	while ((c = singleton_claim(j->s, CLAIM_WAITER, &pos)) != NULL) {
		if (strcmp(claim_identity(c), claim_identity(j->holder)) != 0)
			continue;
		verdict_add(j->out, FINDING_DUP_IDENTITY, SEVERITY_INFO, TIME_UNKNOWN,
			"%s leads, and waits too (place %" PRIu32
			"): two processes of one name, or "
			"one that came back before its old lease ran out.",
			judging_who(who, j->holder), c->position);
		verdict_advise(j->out,
			"Give each process a name of its own, with its host and process id.");
		return;
	}
}

const struct judge_rule judge_rules_etcd[] = {
	{ RULE_ETCD, false, judge_stale },
	{ RULE_ETCD, false, judge_no_lease },
	{ RULE_ETCD, false, judge_expiring },
	{ RULE_ETCD, false, judge_extended },
	{ 1u << MECH_ETCD_ELECTION, false, judge_no_successor },
	{ 1u << MECH_ETCD_ELECTION, false, judge_same_name },
	{ 0 },
};
