#include "config.h"

#include "model/judge-rules.h"

/*
 * ZooKeeper's elections. When a session is over the ensemble alone decides, and nobody outside sees
 * its time: what is known is when a server last heard of it, and its timeout. A client is heard at
 * least every third of that (ClientCnxn), and takes its server for gone after two thirds.
 */

static bool has_no_session(const struct claim *c)
{
	const struct detail *session = claim_detail(c, DETAIL_SESSION);

	return session && !session->hidden && session->i == 0;
}

static const struct claim *waiter_without_session(const struct judging *j)
{
	const struct claim *c;
	uint32_t pos = 0;

	while ((c = singleton_claim(j->s, CLAIM_WAITER, &pos)) != NULL)
		if (has_no_session(c))
			return c;
	return NULL;
}

static void judge_no_session(struct judging *j)
{
	const struct claim *c = has_no_session(j->holder) ? j->holder : waiter_without_session(j);
	char who[WHO_MAX];

	if (!c)
		return;
	judging_who(who, c);
	if (c == j->holder) {
		judging_state(j, STATE_ORPHAN);
		verdict_add(j->out, FINDING_NO_LEASE, SEVERITY_WARN, TIME_UNKNOWN,
			"The znode of %s is persistent: no session's end takes it away, and nobody "
			"else comes to the head while it is there.",
			who);
		verdict_advise(j->out,
			"Find out who made it and whether that process works; then delete this one "
			"znode. Waiting does not help.");
	} else {
		verdict_add(j->out, FINDING_NO_LEASE, SEVERITY_WARN, TIME_UNKNOWN,
			"%s waits with a persistent znode: once at the head it stays there for "
			"ever.",
			who);
		verdict_advise(j->out, "Delete that one znode before the next hand-over.");
	}
	verdict_evidence_text(j->out, DETAIL_ZNODE, claim_text(c, DETAIL_ZNODE, ""));
}

static void judge_silent(struct judging *j)
{
	enum severity severity = j->in->all_stale ? SEVERITY_INFO : SEVERITY_WARN;
	char who[WHO_MAX], ago[CLOCK_TEXT_MAX], timeout[CLOCK_TEXT_MAX];
	int64_t heard;

	if (!judging_lease_past(j))
		return;
	heard = claim_int(j->holder, DETAIL_RENEWED, TIME_UNKNOWN);
	judging_state(j, STATE_STALE);
	clock_format_age(timeout, j->s->lease_granted_ms);
	verdict_add(j->out, FINDING_STALE_HOLDER, severity, TIME_UNKNOWN,
		"%s was last heard %s ago, its session's timeout is %s, and ZooKeeper has not "
		"expired it. The znode still stands; nothing shows that its process stopped.",
		judging_who(who, j->holder), judging_say(j, ago, judging_mono_age(j, heard)),
		timeout);
	verdict_advise(j->out,
		j->in->all_stale ? "Nearly every session of this source is past its end: look at "
				   "the ensemble before the holders."
				 : "Make sure that it has stopped; then delete its znode. Look why "
				   "the ensemble's leader does not expire sessions.");
	verdict_evidence_int(j->out, DETAIL_SESSION, claim_int(j->holder, DETAIL_SESSION, 0));
}

static const struct finding no_successor = {
	.code = FINDING_NO_SUCCESSOR,
	.severity = SEVERITY_INFO,
	.since_us = TIME_UNKNOWN,
	.text = "No other candidate has a znode here: after a step-down nobody leads.",
};

static void judge_no_successor(struct judging *j)
{
	if (!j->n_waiters)
		verdict_add_constant(j->out, &no_successor);
}

const struct judge_rule judge_rules_zk[] = {
	{ RULE_ZK, false, judge_silent },
	{ RULE_ZK, false, judge_no_session },
	{ RULE_ZK, false, judge_no_successor },
	{ RULE_ZK, false, judge_same_name },
	{ 0 },
};
