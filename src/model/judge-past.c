#include "config.h"

#include "model/judge-rules.h"
#include "base/str.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* What only the memory of earlier pictures tells, of any mechanism. */

/* A duration many times over, that stays within what can be reckoned with. */
static int64_t times(int64_t ms, int64_t n)
{
	return ms > INT64_MAX / n / 1000 ? INT64_MAX / 1000 : ms * n;
}

/* Whether the present holder's token is the one that fell or repeated, or the count of a Lease that
 * nobody holds, from which the next holder's comes. */
static bool token_is_low(const struct judging *j, const struct remembered_past *p)
{
	const struct remembered *r = j->memory;

	if (!j->s->has_token || !r->has_highest || p->reissued)
		return false;
	if (!j->holder)
		return j->s->mechanism == MECH_K8S_LEASE && j->s->token < r->highest_token;
	return j->s->token < r->highest_token ||
	       (j->s->token == r->highest_token && p->token_after == r->highest_token);
}

static void judge_token(struct judging *j)
{
	const struct remembered_past *p = j->memory ? j->memory->past : NULL;
	int64_t fresh = j->thresholds->duplicate_fresh_ms, age;
	enum severity severity = SEVERITY_CRIT;
	char ago[CLOCK_TEXT_MAX];

	if (!p || p->regress_us == TIME_UNKNOWN)
		return;
	age = judging_own_age(j, p->regress_us);
	if (!token_is_low(j, p)) {
		if (judging_reached(j, age, times(fresh, 24)))
			return;
		if (judging_reached(j, age, fresh))
			severity = SEVERITY_WARN;
	}
	judging_say(j, ago, age);
	if (p->reissued) {
		verdict_add(j->out, FINDING_TOKEN_REGRESS, severity, p->regress_us,
			"The Lease was deleted and made again, as was seen %s ago: its uid is "
			"another, and its transitions went from %" PRId64 " to %" PRId64
			". The numbers before and after are not comparable, and who held the old "
			"one was not told.",
			ago, p->token_before, p->token_after);
		verdict_advise(j->out,
			"Restart what remembers the highest number it has seen. Have proof that "
			"the "
			"old holder stopped; do not delete Leases to mend an election.");
		return;
	}
	if (!j->holder && token_is_low(j, p))
		verdict_add(j->out, FINDING_TOKEN_REGRESS, severity, p->regress_us,
			"The fencing token fell from %" PRId64 " to %" PRId64
			", as was seen %s ago, and nobody holds it now: what checks tokens will "
			"refuse the next holder, or let an old one in.",
			p->token_before, j->s->token, ago);
	else if (p->token_after == p->token_before)
		verdict_add(j->out, FINDING_TOKEN_REGRESS, severity, p->regress_us,
			"The fencing token %" PRId64
			" was given again, to another holder, as was seen %s ago: "
			"what checks tokens can't tell the two apart.",
			p->token_before, ago);
	else
		verdict_add(j->out, FINDING_TOKEN_REGRESS, severity, p->regress_us,
			"The fencing token fell from %" PRId64 " to %" PRId64
			" with a change of holder, as was seen %s ago: what checks tokens refuses "
			"the new "
			"holder, "
			"or lets the old one in.",
			p->token_before, p->token_after, ago);
	verdict_advise(j->out,
		"Find out whether the server was restored from a backup. Let no fenced work go on "
		"before tokens are above %" PRId64 " again.",
		p->token_before);
}

static void judge_flapping(struct judging *j)
{
	int64_t want = j->thresholds->flapping_holders, window = j->thresholds->flapping_window_ms;
	const struct remembered_past *p = j->memory ? j->memory->past : NULL;
	char within[CLOCK_TEXT_MAX];
	int64_t first_us;
	uint32_t n;

	if (!p || want < 2)
		return;
	if (want > MEMORY_CHANGES + 1)
		want = MEMORY_CHANGES + 1;
	n = remembered_holders(j->memory, window, j->in->now_us);
	if (n < want)
		return;
	/* The number changes when the oldest change within the window leaves it. */
	first_us = p->changes_us[(p->n_changes - (n - 1)) % MEMORY_CHANGES];
	judging_reached(j, judging_own_age(j, first_us), window);
	clock_format_age(within, window);
	verdict_add(j->out, FINDING_FLAPPING, SEVERITY_WARN, first_us,
		"%" PRIu32 "%s holders were seen within %s.", n,
		n > MEMORY_CHANGES ? " or more" : "", within);
	verdict_advise(j->out, "Look why they lose it: a lease shorter than their pauses, "
			       "restarts, or work that is "
			       "handed round on purpose.");
}

/* ---- hand-overs ---- */

/* What is passed around all the time, as a mutex is, is no hand-over of a leader. */
static bool was_a_leader(const struct judging *j, const struct remembered_past *p)
{
	int64_t held_us;

	if (j->s->mechanism == MECH_ETCD_ELECTION || j->s->mechanism == MECH_ETCD_KEY ||
		j->s->mechanism == MECH_K8S_LEASE || j->s->mechanism == MECH_ZK_ELECTION ||
		j->s->mechanism == MECH_SQL_LEASE)
		return true;
	return p->previous_since_us != TIME_UNKNOWN && p->previous_until_us != TIME_UNKNOWN &&
	       !__builtin_sub_overflow(p->previous_until_us, p->previous_since_us, &held_us) &&
	       held_us / 1000 >= j->thresholds->overlap_held_ms;
}

/* Two at once do no harm where the work is fenced, repeats safely, or matters little. */
static bool overlap_is_harmless(const struct role *role)
{
	return role && (role->fenced == TRI_YES || role->idempotent == TRI_YES ||
			       role->harm == HARM_HARMLESS);
}

enum {
	CHANGE_MAX = 2 * WHO_MAX + CLOCK_TEXT_MAX + 80,
	CLOSE_MS = 10 * 1000, /* looks so close together tell when it changed hands */
};

static bool previous_has_same_name(const struct judging *j, const struct remembered_past *p)
{
	return strcmp(p->previous_identity, claim_identity(j->holder)) == 0;
}

/*
 * How it changed hands, as far as it was seen, and the words that lead to what follows. Between two
 * looks that are far apart the moment is not known: the later look is not the hand-over.
 */
static const char *say_hand_over(
	struct judging *j, const struct remembered_past *p, char *buf, int64_t age)
{
	int64_t seen = judging_own_age(j, p->previous_seen_us);
	char now[WHO_MAX], before[WHO_MAX], ago[CLOCK_TEXT_MAX];

	judging_who(now, j->holder);
	if (previous_has_same_name(j, p))
		snprintf(before, sizeof(before), "another of that name");
	else
		judging_name(before, p->previous_identity);
	if (seen == TIME_UNKNOWN)
		snprintf(buf, CHANGE_MAX, "%s holds it now, and %s did until %s ago; ", now, before,
			judging_say(j, ago, age));
	else if (seen - age > CLOSE_MS)
		snprintf(buf, CHANGE_MAX,
			"%s holds it now, and %s did when last looked at, %s ago; ", now, before,
			judging_say(j, ago, seen));
	else
		snprintf(buf, CHANGE_MAX, "%s took it from %s %s ago, and ", now, before,
			judging_say(j, ago, age));
	return buf;
}

/* A transaction that was prepared is at rest: nothing is done under its locks, before or after. */
static bool is_at_rest(const struct judging *j, const struct remembered_past *p)
{
	return claim_detail(j->holder, DETAIL_PREPARED) ||
	       (j->s->mechanism == MECH_PG_ADVISORY && p->previous_key &&
		       str_starts(p->previous_key, "prepared:"));
}

static void advise_overlap(
	struct judging *j, const char *client, const char *before, enum former former)
{
	bool at = client[0] && strcmp(client, "local") != 0;

	if (former == FORMER_THERE)
		verdict_advise(j->out,
			"Wait for the pod of %s to end, or delete it: not the new holder's, and "
			"not "
			"the Lease.",
			before);
	else
		verdict_advise(j->out,
			"Check the process of %s%s%.*s: losing the record tells it nothing.",
			before, at ? " at " : "", at ? text_most(client, 100) : 0, client);
}

static void judge_overlap(struct judging *j)
{
	const struct remembered_past *p = j->memory ? j->memory->past : NULL;
	char change[CHANGE_MAX], before[WHO_MAX], left[CLOCK_TEXT_MAX], why[160] = "";
	char pod[FORMER_TEXT_MAX];
	enum former former;
	int64_t age;

	if (!p || p->overlap_us == TIME_UNKNOWN || !p->previous_identity || !was_a_leader(j, p))
		return;
	if (is_at_rest(j, p))
		return;
	age = judging_own_age(j, p->previous_until_us);
	if (age == TIME_UNKNOWN || judging_reached(j, age, j->thresholds->overlap_ms))
		return;
	former = judge_former(j, p, pod);
	if (former == FORMER_ENDED)
		return;
	if (p->previous_left_ms != TIME_UNKNOWN && p->previous_left_ms > 1000 &&
		j->s->mechanism != MECH_K8S_LEASE) {
		clock_format_age(left, p->previous_left_ms);
		snprintf(why, sizeof(why),
			j->s->mechanism == MECH_SQL_LEASE
				? " Its time still had %s: the row was changed by hand."
			: j->s->mechanism == MECH_ZK_ELECTION
				? " Its session still had %s: the znode was deleted, or the "
				  "session closed."
				: " Its lease still had %s: the key was deleted, or the lease "
				  "revoked.",
			left);
	}
	judging_name(before, p->previous_identity);
	say_hand_over(j, p, change, age);
	verdict_add(j->out, FINDING_POSSIBLE_OVERLAP,
		overlap_is_harmless(j->in->role) ? SEVERITY_INFO : SEVERITY_WARN, p->overlap_us,
		"%s%s was not seen to stop: it may still work.%s%s", change,
		previous_has_same_name(j, p) ? "that one" : before, why, pod);
	advise_overlap(j, p->previous_client, before, former);
}

static void judge_session(struct judging *j)
{
	const struct remembered_past *p = j->memory ? j->memory->past : NULL;
	const char *what =
		j->s->mechanism == MECH_PG_ADVISORY || j->s->mechanism == MECH_ZK_ELECTION
			? "session"
		: j->s->mechanism == MECH_K8S_LEASE ? "identity"
						    : "lease";
	char who[WHO_MAX], ago[CLOCK_TEXT_MAX], every[CLOCK_TEXT_MAX];
	int64_t age, period = 0, span_us;

	if (!p || !p->sessions || p->session_since_us == TIME_UNKNOWN)
		return;
	if (p->sessions > 1 && p->first_session_us != TIME_UNKNOWN &&
		!__builtin_sub_overflow(p->session_since_us, p->first_session_us, &span_us) &&
		span_us > 0)
		period = span_us / 1000 / (p->sessions - 1);
	age = judging_own_age(j, p->session_since_us);
	if (judging_reached(j, age, times(period, 2) + j->thresholds->flapping_window_ms))
		return;
	judging_say(j, ago, age);
	judging_who(who, j->holder);
	if (!period) {
		verdict_add(j->out, FINDING_SAME_HOLDER_NEW_SESSION, SEVERITY_INFO,
			p->session_since_us,
			"%s holds it on a new %s, first seen %s ago: the same holder by its name, "
			"and no "
			"hand-over to another.",
			who, what, ago);
		return;
	}
	clock_format_age(every, period);
	verdict_add(j->out, FINDING_SAME_HOLDER_NEW_SESSION, SEVERITY_INFO, p->session_since_us,
		"%s holds it on a new %s, first seen %s ago: the same holder by its name. It has "
		"changed its "
		"%s "
		"%" PRIu32 " times, about one per %s.",
		who, what, ago, what, p->sessions, every);
	verdict_advise(
		j->out, j->s->mechanism == MECH_PG_ADVISORY
				? "Keep the connection that locks out of the pool's recycling."
			: j->s->mechanism == MECH_K8S_LEASE
				? "Look why its process starts anew: its lease's duration is lost "
				  "each time."
				: "Compare the lease's length with the holder's renewal period.");
}

/* ---- what the config says of the work ---- */

static void judge_fit(struct judging *j)
{
	if (j->in->role)
		role_fit_findings(j->in->role, j->s->mechanism, j->out);
}

const struct judge_rule judge_rules_past[] = {
	{ RULE_HANDS, true, judge_token },
	{ RULE_HANDS, true, judge_flapping },
	{ RULE_HANDS, false, judge_overlap },
	{ RULE_HANDS, false, judge_session },
	{ RULE_ALL, true, judge_fit },
	{ 0 },
};
