#include "config.h"

#include "model/judge-rules.h"

#include <inttypes.h>
#include <string.h>

/* What only the memory of earlier pictures tells, of any mechanism. */

static void judge_token(struct judging *j)
{
	const struct remembered *r = j->memory;
	const struct remembered_past *p = r ? r->past : NULL;
	int64_t fresh = j->thresholds->duplicate_fresh_ms, age;
	bool now;
	enum severity severity;
	char buf[CLOCK_TEXT_MAX];

	if (!p || p->regress_us == TIME_UNKNOWN)
		return;
	now = j->holder && j->s->has_token && r->has_highest &&
	      (j->s->token < r->highest_token ||
		      (j->s->token == p->token_after && j->s->token == r->highest_token));
	age = judging_own_age(j, p->regress_us);
	severity = now || !judging_reached(j, age, fresh, false) ? SEVERITY_CRIT : SEVERITY_WARN;
	if (!now && judging_reached(j, age, 24 * fresh, false))
		return;
	judging_say(j, buf, age, false);
	verdict_add(j->out, FINDING_TOKEN_REGRESS, severity, p->regress_us,
		p->token_after == p->token_before
			? "The fencing token %" PRId64 " was given again, to another holder "
			  "(%" PRId64 ", seen %s ago): what checks tokens can't tell the two apart."
			: "The fencing token fell from %" PRId64 " to %" PRId64
			  ", seen %s ago: what checks tokens refuses the new holder, or lets the "
			  "old "
			  "one in.",
		p->token_before, p->token_after, buf);
	verdict_advise(j->out,
		"Find out whether the server was restored from a backup or exchanged. Let no "
		"fenced "
		"work go on before the tokens are above %" PRId64 " again.",
		p->token_before);
}

static void judge_flapping(struct judging *j)
{
	int64_t want = j->thresholds->flapping_holders, window = j->thresholds->flapping_window_ms;
	const struct remembered *r = j->memory;
	const struct remembered_past *p = r ? r->past : NULL;
	uint32_t n;
	char buf[CLOCK_TEXT_MAX];

	if (!p || want < 2)
		return;
	if (want > MEMORY_CHANGES + 1)
		want = MEMORY_CHANGES + 1;
	n = remembered_holders(r, window, j->in->now_us);
	if (n < want)
		return;
	/* It changes when the oldest change within the window leaves it. */
	judging_reached(j,
		judging_own_age(j, p->changes_us[(p->n_changes - (n - 1)) % MEMORY_CHANGES]),
		window, false);
	clock_format_age(buf, window);
	verdict_add(j->out, FINDING_FLAPPING, SEVERITY_WARN,
		p->changes_us[(p->n_changes - 1) % MEMORY_CHANGES],
		"%" PRIu32 " holders were seen within %s.", n, buf);
	verdict_advise(j->out, "Look why they lose it: a lease shorter than their pauses, "
			       "restarts, or work that is "
			       "handed round on purpose.");
}

const struct judge_rule judge_rules_past[] = {
	{ RULE_ALL, true, judge_token },
	{ RULE_ALL, true, judge_flapping },
	{ 0 },
};
