#include "config.h"

#include "model/identity.h"
#include "model/judge-rules.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/*
 * Kubernetes Leases. A Lease is a record that nobody ends: a holder that died stands in it until
 * another takes it. Its times are of the holder's clock and prove nothing against ours, be it an
 * hour ahead or behind. So its age is how long we have looked without seeing its record change, as
 * candidates reckon too; between runs of the program the memory counts. The first sight proves
 * nothing before one duration has passed.
 */

/* The same of facts that are known to be those that are remembered. */
static int64_t same_silence_ms(
	const struct singleton *s, const struct remembered *r, const struct lease_clock *clock)
{
	int64_t silence, unseen, known_ms = clock->seen_ms;

	if (r->last_change_ms != TIME_UNKNOWN)
		silence = clock_minus(clock->now_ms, r->last_change_ms);
	else if (r->last_change_us != TIME_UNKNOWN)
		silence = clock_minus(clock->now_us, r->last_change_us) / 1000;
	else
		return TIME_UNKNOWN;
	/* What was not looked at is no silence. */
	if (s->more->lease_known_ms != TIME_UNKNOWN &&
		(known_ms == TIME_UNKNOWN || s->more->lease_known_ms < known_ms))
		known_ms = s->more->lease_known_ms;
	unseen = known_ms == TIME_UNKNOWN ? 0 : clock_minus(clock->now_ms, known_ms);
	silence -= unseen > 0 ? unseen : 0;
	return silence > 0 ? silence : 0;
}

int64_t lease_silence_ms(
	const struct singleton *s, const struct remembered *r, const struct lease_clock *clock)
{
	if (!r || !r->has_record)
		return TIME_UNKNOWN;
	return r->record == lease_record(s) ? same_silence_ms(s, r, clock) : 0;
}

int64_t lease_duration_ms(const struct singleton *s)
{
	int64_t duration_s = singleton_int(s, DETAIL_DURATION, 0);

	if (duration_s <= 0)
		return TIME_UNKNOWN;
	return duration_s < INT32_MAX ? duration_s * 1000 : INT64_C(1000) * INT32_MAX;
}

static void judge_silence(struct judging *j)
{
	const struct lease_clock clock = { j->in->now_ms, j->in->now_us, j->in->seen_ms };

	if (j->in->observed && j->memory)
		j->silence_ms = same_silence_ms(j->s, j->memory, &clock);
	else
		j->silence_ms = lease_silence_ms(j->s, j->memory, &clock);
}

/* Whether its record was ever seen to change: until then it may have been dead for long. */
static bool was_seen_alive(const struct judging *j)
{
	return j->memory && j->memory->last_change_us != j->memory->known_since_us;
}

/* ---- the pod that the holder names ---- */

enum pod_fact {
	POD_NOT_KNOWN, /* not looked up, or the identity can't be a pod's */
	POD_ABSENT, /* not in the Lease's namespace; elections often live in another than their pods
		     */
	POD_ENDED,
	POD_ENDING, /* Terminating */
	POD_CUT_OFF,
	POD_THERE,
};

static bool pod_cut_off(const struct claim *c)
{
	return claim_int(c, DETAIL_POD_NODE_READY, 1) == 0;
}

static enum pod_fact pod_fact(const struct claim *c)
{
	const char *phase = claim_text(c, DETAIL_POD_PHASE, NULL);

	if (!phase)
		return POD_NOT_KNOWN;
	if (strcmp(phase, "Absent") == 0)
		return POD_ABSENT;
	if (strcmp(phase, pod_phase_word(POD_SUCCEEDED)) == 0 ||
		strcmp(phase, pod_phase_word(POD_FAILED)) == 0)
		return POD_ENDED;
	if (claim_detail(c, DETAIL_POD_DELETED))
		return POD_ENDING;
	return pod_cut_off(c) ? POD_CUT_OFF : POD_THERE;
}

enum {
	POD_TEXT_MAX = 3 * WHO_MAX + 160
};

/* " on node n3, which does not answer"; empty where the node is not known. */
static const char *say_node(char *buf, const struct claim *c)
{
	char node[WHO_MAX];

	judging_name(node, claim_text(c, DETAIL_POD_NODE, ""));
	if (!*node)
		snprintf(buf, 2 * WHO_MAX, "%s",
			pod_cut_off(c) ? " on a node that does not answer" : "");
	else
		snprintf(buf, 2 * WHO_MAX, " on node %s%s", node,
			pod_cut_off(c) ? ", which does not answer" : "");
	return buf;
}

/* A sentence about the pod, with a space before it; empty where nothing is known. */
static const char *say_pod(struct judging *j, const struct claim *c, char *buf)
{
	char pod[WHO_MAX], node[2 * WHO_MAX], ago[CLOCK_TEXT_MAX];
	int64_t deleted = claim_int(c, DETAIL_POD_DELETED, TIME_UNKNOWN), age;

	judging_name(pod, claim_text(c, DETAIL_POD, claim_identity(c)));
	say_node(node, c);
	*buf = '\0';
	switch (pod_fact(c)) {
	case POD_ABSENT:
		if (identity_is_pod(pod)) {
			snprintf(buf, POD_TEXT_MAX,
				" No pod %s is in the Lease's namespace: it is gone, or runs in "
				"another.",
				pod);
			break;
		}
		snprintf(buf, POD_TEXT_MAX,
			" No pod is named %s: it is gone, or that is the name of a node or of a "
			"process outside the cluster.",
			pod);
		break;
	case POD_ENDED:
		snprintf(buf, POD_TEXT_MAX, " Its pod %s has ended (%s).", pod,
			claim_text(c, DETAIL_POD_PHASE, ""));
		break;
	case POD_ENDING:
		/* Until its grace period is over, that is a moment to come. */
		age = judging_cluster_age(j, deleted);
		judging_until(j, deleted);
		snprintf(buf, POD_TEXT_MAX, " Its pod %s is Terminating%s%s%s: it may still work.",
			pod, age > 0 ? " since " : "", age > 0 ? judging_say(j, ago, age) : "",
			node);
		break;
	case POD_CUT_OFF:
		snprintf(
			buf, POD_TEXT_MAX, " Its pod %s is%s: it may still work there.", pod, node);
		break;
	case POD_THERE:
		snprintf(buf, POD_TEXT_MAX, " Its pod %s still runs%s.", pod, node);
		break;
	default:
		break;
	}
	return buf;
}

/* ---- held, and by whom ---- */

static void advise_stale(struct judging *j, const char *duration)
{
	char pod[WHO_MAX];

	judging_name(pod, claim_text(j->holder, DETAIL_POD, claim_identity(j->holder)));
	if (j->in->all_stale)
		verdict_advise(j->out, "Nearly every Lease of this source is past its time: look "
				       "at the API server, and whether writes to it succeed, "
				       "before the holders.");
	else if (pod_fact(j->holder) == POD_ABSENT)
		verdict_advise(j->out,
			"A candidate takes it within %s of its own start: wait that long. Only "
			"then, and when %s runs in no other namespace, clear the holder, guarded "
			"by resourceVersion; do not delete the Lease.",
			duration, pod);
	else if (pod_fact(j->holder) == POD_ENDED)
		verdict_advise(j->out,
			"A candidate takes it within %s of its own start: wait that long. Only "
			"then clear the holder, guarded by resourceVersion; do not delete the "
			"Lease.",
			duration);
	else
		verdict_advise(j->out,
			"Make sure that %s has stopped. Then see whether a candidate runs, and "
			"may "
			"write this Lease; do not delete it.",
			pod);
}

static void judge_stale(struct judging *j)
{
	int64_t duration = lease_duration_ms(j->s), silence = j->silence_ms;
	char who[WHO_MAX], pod[POD_TEXT_MAX], ago[CLOCK_TEXT_MAX], granted[CLOCK_TEXT_MAX];
	int64_t renewed = singleton_int(j->s, DETAIL_RENEW_TIME, TIME_UNKNOWN);

	if (duration == TIME_UNKNOWN || silence == TIME_UNKNOWN)
		return;
	if (!judging_reached(j, silence, duration)) {
		if (judging_reached(j, silence, duration - duration / 3))
			judging_state(j, STATE_EXPIRING);
		return;
	}
	judging_state(j, STATE_STALE);
	clock_format_age(granted, duration);
	verdict_add(j->out, FINDING_STALE_HOLDER, j->in->all_stale ? SEVERITY_INFO : SEVERITY_WARN,
		TIME_UNKNOWN,
		"%s was not seen to renew for %s: its lease of %s is over, and the record still "
		"names it, since a Lease never goes away by itself.%s Nothing shows that its "
		"process stopped.",
		judging_who(who, j->holder), judging_say(j, ago, silence), granted,
		say_pod(j, j->holder, pod));
	advise_stale(j, granted);
	if (renewed != TIME_UNKNOWN)
		verdict_evidence_int(j->out, DETAIL_RENEW_TIME, renewed);
	verdict_evidence_int(j->out, DETAIL_DURATION, duration / 1000);
}

/*
 * One look, and the record's own time is older than the lease: dead for long, or a clock that is
 * behind. Only the next look tells, so this is no more than a reason to look again.
 */
static void judge_unproven(struct judging *j)
{
	int64_t duration = lease_duration_ms(j->s), silence = j->silence_ms;
	int64_t renewed = singleton_int(j->s, DETAIL_RENEW_TIME, TIME_UNKNOWN);
	int64_t age = judging_cluster_age(j, renewed);
	char who[WHO_MAX], ago[CLOCK_TEXT_MAX], granted[CLOCK_TEXT_MAX];

	if (duration == TIME_UNKNOWN || silence == TIME_UNKNOWN || age == TIME_UNKNOWN ||
		silence >= duration || was_seen_alive(j) ||
		age - silence <= duration + j->thresholds->skew_ms)
		return;
	clock_format_age(granted, duration);
	verdict_add(j->out, FINDING_UNPROVEN_HOLDER, SEVERITY_INFO, TIME_UNKNOWN,
		"%s was not seen to renew yet, and by its own clock it last did %s ago, for a "
		"lease of %s: it is dead, or its clock is behind.",
		judging_who(who, j->holder), judging_say(j, ago, age), granted);
	verdict_advise(j->out, "Look again in %s: what has not changed by then is stale.", granted);
	verdict_evidence_int(j->out, DETAIL_RENEW_TIME, renewed);
}

/* client-go refuses a duration of 0, but the API takes a Lease without one. */
static void judge_no_duration(struct judging *j)
{
	char who[WHO_MAX], pod[POD_TEXT_MAX];

	if (lease_duration_ms(j->s) != TIME_UNKNOWN)
		return;
	judging_state(j, STATE_ORPHAN);
	verdict_add(j->out, FINDING_NO_LEASE, SEVERITY_WARN, TIME_UNKNOWN,
		"The Lease of %s has no duration: it never expires, and nobody may take it for "
		"free.%s",
		judging_who(who, j->holder), say_pod(j, j->holder, pod));
	verdict_advise(j->out, "Find out whether its process works; when it is known to have "
			       "ended, clear the holder, guarded by resourceVersion.");
}

static bool pod_name_is_made(const struct claim *c)
{
	return identity_is_pod(claim_text(c, DETAIL_POD, claim_identity(c)));
}

/* What the pod tells of a holder that still renews, or may. */
static void judge_lost(struct judging *j)
{
	enum pod_fact fact = pod_fact(j->holder);
	bool late = j->state == STATE_EXPIRING;
	enum severity severity = SEVERITY_INFO;
	char who[WHO_MAX], pod[POD_TEXT_MAX];

	if (j->state == STATE_STALE || j->state == STATE_ORPHAN || fact == POD_NOT_KNOWN ||
		fact == POD_THERE)
		return;
	/* As long as it renews, a pod that is not there is in another namespace, or none. */
	if (fact == POD_ABSENT && !late)
		return;
	if (fact == POD_ENDED || (fact == POD_ENDING && pod_cut_off(j->holder)))
		severity = SEVERITY_WARN;
	say_pod(j, j->holder, pod);
	verdict_add(j->out, FINDING_LOST_HOLDER, severity, TIME_UNKNOWN, "%s holds it%s.%s%s",
		judging_who(who, j->holder), late ? ", and missed a renewal" : "", pod,
		fact == POD_ENDED && !late ? " So another process renews under its name." : "");
	if (fact == POD_ENDED)
		verdict_advise(j->out, "Find who renews this Lease before you trust its holder.");
	else if (fact == POD_ABSENT)
		verdict_advise(j->out, "Leave it: when its lease is over, a candidate takes it.");
	else
		verdict_advise(j->out, "Expect a hand-over, and have proof that this process "
				       "ended before the next one's work is trusted.");
}

static void judge_shared_identity(struct judging *j)
{
	int64_t n = claim_int(j->holder, DETAIL_PODS_MATCHING, 0);
	char who[WHO_MAX];

	if (n < 2)
		return;
	verdict_add(j->out, FINDING_DUP_IDENTITY, SEVERITY_WARN, TIME_UNKNOWN,
		"The identity %s fits %" PRId64 " running pods: the Lease can't tell them apart, "
		"and all of them may take themselves for the leader.",
		judging_name(who, claim_identity(j->holder)), n);
	verdict_advise(j->out, "Scale it to one replica until each process has a name of its own. "
			       "Taking the Lease from the holder does not help.");
	verdict_evidence_int(j->out, DETAIL_PODS_MATCHING, n);
}

static void judge_skew(struct judging *j)
{
	const struct detail *skew = singleton_detail(j->s, DETAIL_SKEW);
	int64_t ahead = skew && !skew->hidden ? skew->i : 0;
	int64_t by_ms = ahead < 0 ? clock_minus(0, ahead) : ahead;
	char who[WHO_MAX], by[CLOCK_TEXT_MAX];

	if (by_ms <= j->thresholds->skew_ms)
		return;
	clock_format_age(by, by_ms);
	verdict_add(j->out, FINDING_CLOCK_SKEW, SEVERITY_INFO, TIME_UNKNOWN,
		"The clock of %s is %s %s ours, as its last renewal showed. Its lease is reckoned "
		"by ours alone.",
		judging_who(who, j->holder), by, ahead < 0 ? "behind" : "ahead of");
	verdict_advise(j->out, "Look at the time synchronisation of its node.");
	verdict_evidence_int(j->out, DETAIL_SKEW, ahead);
}

/* Coordinated leader election (KEP-4355): the controller names the leader, by its candidates. */
static void judge_preferred(struct judging *j)
{
	char who[WHO_MAX];

	if (singleton_int(j->s, DETAIL_PREFERRED_MISSING, 0) != 1)
		return;
	verdict_add(j->out, FINDING_PREFERRED_MISSING, SEVERITY_WARN, TIME_UNKNOWN,
		"The election waits for %s, and there is no LeaseCandidate of that name%s.",
		judging_name(who, singleton_text(j->s, DETAIL_PREFERRED_HOLDER, "a candidate")),
		j->holder ? "" : "; nobody leads meanwhile");
	verdict_advise(j->out,
		"Clear preferredHolder, guarded by resourceVersion, and leave the choice to the "
		"controller; do not write a holder by hand. A candidate's renewTime is no sign of "
		"life.");
}

const struct judge_rule judge_rules_lease[] = {
	{ RULE_LEASE, false, judge_silence }, /* which the next two go by */
	{ RULE_LEASE, false, judge_stale },
	{ RULE_LEASE, false, judge_unproven },
	{ RULE_LEASE, false, judge_no_duration },
	{ RULE_LEASE, false, judge_lost },
	{ RULE_LEASE, false, judge_shared_identity },
	{ RULE_LEASE, false, judge_skew },
	{ RULE_LEASE, true, judge_preferred },
	{ 0 },
};

/* ---- a former holder ---- */

/* The claim of who held it before, where its pod was looked at; NULL. */
static const struct claim *former_claim(const struct judging *j, const struct remembered_past *p)
{
	const struct claim *c;
	uint32_t pos = 0;

	while ((c = singleton_claim(j->s, CLAIM_FORMER, &pos)) != NULL)
		if (strcmp(claim_identity(c), p->previous_identity) == 0)
			return c;
	return NULL;
}

/* Since when what runs of its pod runs at the longest, in milliseconds: which container the leader
 * is can't be told, and one beside it that started anew says nothing of it. */
static int64_t running_for(const struct judging *j, const struct claim *c)
{
	int64_t since = claim_int(c, DETAIL_POD_RUNNING_SINCE, TIME_UNKNOWN);

	if (since == TIME_UNKNOWN)
		since = claim_int(c, DETAIL_POD_STARTED, TIME_UNKNOWN);
	return judging_cluster_age(j, since);
}

/* Whether its containers started anew after the hand-over: client-go's programs exit when they
 * lose a Lease, and begin again as candidates. */
static bool has_restarted(const struct judging *j, const struct claim *c, int64_t since_us)
{
	int64_t started = running_for(j, c);
	int64_t since = judging_own_age(j, since_us);

	return started != TIME_UNKNOWN && since != TIME_UNKNOWN && started < since;
}

enum former judge_former(struct judging *j, const struct remembered_past *p, char *buf)
{
	const struct claim *c = j->s->mechanism == MECH_K8S_LEASE ? former_claim(j, p) : NULL;
	char started[CLOCK_TEXT_MAX];
	int64_t age;

	*buf = '\0';
	if (!c)
		return FORMER_NOT_KNOWN;
	switch (pod_fact(c)) {
	case POD_NOT_KNOWN:
		return FORMER_NOT_KNOWN;
	case POD_ABSENT:
		/* It may run in another namespace, and a name that no pod has may be a node's. */
		if (pod_name_is_made(c))
			say_pod(j, c, buf);
		return FORMER_NOT_KNOWN;
	case POD_ENDED:
		return FORMER_ENDED;
	default:
		break;
	}
	if (has_restarted(j, c, p->previous_until_us))
		return FORMER_ENDED;
	say_pod(j, c, buf);
	age = running_for(j, c);
	if (age != TIME_UNKNOWN)
		snprintf(buf + strlen(buf), FORMER_TEXT_MAX - strlen(buf),
			" It has not restarted since, or not as a whole: it runs for %s.",
			judging_say(j, started, age));
	return FORMER_THERE;
}
