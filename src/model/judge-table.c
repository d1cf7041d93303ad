#include "config.h"

#include "model/judge-runs.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/*
 * What programs make for themselves of a database's tables, and a scheduler's jobs: a lease in a
 * row, a ledger of runs, a DAG.
 */
enum {
	CLOCK_NEAR_MS = 2000, /* two clocks that agree differ by less */
	OVERDUE_SLACK_MS = 30 * 1000,
};

/* ---- a row with an owner and a time ---- */

static void judge_row_past(struct judging *j)
{
	char who[WHO_MAX], ago[CLOCK_TEXT_MAX], granted[CLOCK_TEXT_MAX];

	if (!judging_lease_past(j))
		return;
	judging_state(j, STATE_STALE);
	clock_format_age(granted, j->s->lease_granted_ms);
	verdict_add(j->out, FINDING_STALE_HOLDER, j->in->all_stale ? SEVERITY_INFO : SEVERITY_WARN,
		TIME_UNKNOWN,
		"%s stands in the row, and its time (%s) is over for %s by the server's clock. "
		"Whoever asks next gets it; nothing shows that its process stopped.",
		judging_who(who, j->holder), granted,
		judging_say(j, ago, judging_mono_age(j, j->s->lease_deadline_ms)));
	verdict_advise(j->out,
		"See why nobody asks, or why it does not renew, before the row is cleared.");
	verdict_evidence_int(j->out, DETAIL_UNTIL, claim_int(j->holder, DETAIL_UNTIL, 0));
}

/* A row that lasts longer than a lease can was written by a clock that is ahead. */
static void judge_row_clock(struct judging *j)
{
	int64_t left_ms;
	char who[WHO_MAX], left[CLOCK_TEXT_MAX], granted[CLOCK_TEXT_MAX];

	if (j->s->lease_deadline_ms == TIME_UNKNOWN || j->s->lease_read_ms == TIME_UNKNOWN ||
		j->s->lease_granted_ms == TIME_UNKNOWN)
		return;
	left_ms = clock_minus(j->s->lease_deadline_ms, j->s->lease_read_ms);
	if (left_ms <= j->s->lease_granted_ms + CLOCK_NEAR_MS)
		return;
	clock_format_age(left, left_ms);
	clock_format_age(granted, j->s->lease_granted_ms);
	verdict_add(j->out, FINDING_CLOCK_SKEW, SEVERITY_WARN, TIME_UNKNOWN,
		"The row is %s's for another %s, and its lease is %s: the time was written by a "
		"clock that is ahead of the server's. Another one's clock may say that it is over.",
		judging_who(who, j->holder), left, granted);
	verdict_advise(j->out, "Let the statement use the server's now() for both the comparison "
			       "and the new time.");
	verdict_evidence_int(j->out, DETAIL_UNTIL, claim_int(j->holder, DETAIL_UNTIL, 0));
}

/* ---- a ledger of runs ---- */

static bool is_overdue(struct judging *j, const struct run *run)
{
	int64_t age = judging_server_age(j, run_began_us(run));

	return run_is_open(run) && run->deadline_s >= 0 && run->deadline_s < INT32_MAX &&
	       judging_reached(j, age, run->deadline_s * 1000 + OVERDUE_SLACK_MS);
}

static void judge_ledger_open(struct judging *j)
{
	char words[RUN_TEXT_MAX], age[CLOCK_TEXT_MAX], who[WHO_MAX];
	uint32_t i;

	/* The oldest first. */
	for (i = j->s->more->n_runs; i-- > 0;) {
		const struct run *run = &j->s->more->runs[i];
		const struct detail *user = run_detail(run, DETAIL_USER);

		if (!is_overdue(j, run))
			continue;
		verdict_add(j->out, FINDING_STUCK_RUN, SEVERITY_WARN, TIME_UNKNOWN,
			"%s was begun by %s %s ago and is not over. Its process may be gone: then "
			"nobody does this slot, since the row is there.",
			say_run(j, words, run),
			user && !user->hidden ? judging_name(who, user->s) : "somebody",
			judging_say(j, age, judging_server_age(j, run_began_us(run))));
		verdict_advise(j->out,
			"See whether its process works; then do the slot by hand, or "
			"delete its row so that another does it.");
		verdict_evidence_text(j->out, DETAIL_RUN, run->name);
		return;
	}
}

/* ---- a DAG ---- */

static const struct run *alive_from(const struct judging *j, uint32_t from)
{
	uint32_t i;

	for (i = from; i < j->s->more->n_runs; i++)
		if (j->s->more->runs[i].alive == TRI_YES)
			return &j->s->more->runs[i];
	return NULL;
}

static void judge_dag_two(struct judging *j)
{
	int64_t most = singleton_int(j->s, DETAIL_MAX_ACTIVE_RUNS, 1);
	const struct run *newest = alive_from(j, 0), *older;
	char a[RUN_TEXT_MAX], b[RUN_TEXT_MAX], why[160];

	older = newest ? alive_from(j, (uint32_t)(newest - j->s->more->runs) + 1) : NULL;
	if (!older)
		return;
	judging_state(j, STATE_DUPLICATE);
	if (most > 1)
		snprintf(why, sizeof(why), "max_active_runs %" PRId64 " lets them", most);
	else
		snprintf(why, sizeof(why),
			"max_active_runs is 1: the scheduler counts a run as over whose task still "
			"works");
	verdict_add(j->out, FINDING_DUP_RUN, SEVERITY_CRIT, TIME_UNKNOWN,
		"Two runs are alive at once: %s and %s. %s.", say_run(j, a, newest),
		say_run(j, b, older), why);
	verdict_advise(j->out, most > 1 ? "Where the work must not run twice at once, set "
					  "max_active_runs to 1."
					: "Pause the DAG, and stop the task of the run that the "
					  "scheduler gave up, where it runs.");
	verdict_evidence_text(j->out, DETAIL_RUN, newest->name);
	verdict_evidence_text(j->out, DETAIL_RUN, older->name);
}

static void judge_dag_stuck(struct judging *j)
{
	char words[RUN_TEXT_MAX], age[CLOCK_TEXT_MAX];
	uint32_t i;

	for (i = j->s->more->n_runs; i-- > 0;) {
		const struct run *run = &j->s->more->runs[i];
		const struct detail *beat = run_detail(run, DETAIL_HEARTBEAT);
		int64_t silent_ms =
			beat && !beat->hidden ? judging_server_age(j, beat->i) : TIME_UNKNOWN;

		if (run->state != RUN_RUNNING ||
			!judging_reached(j, silent_ms, j->thresholds->stuck_ms / 2))
			continue;
		judging_state(j, STATE_STUCK);
		verdict_add(j->out, FINDING_STUCK_RUN, SEVERITY_WARN, TIME_UNKNOWN,
			"The task of %s was last heard of %s ago, and the run counts as active: "
			"under max_active_runs later slots wait for it.",
			say_run(j, words, run), judging_say(j, age, silent_ms));
		verdict_advise(j->out, "See whether its task still works where it runs; then mark "
				       "the run as failed.");
		verdict_evidence_text(j->out, DETAIL_RUN, run->name);
		return;
	}
}

static void judge_dag_paused(struct judging *j)
{
	if (singleton_int(j->s, DETAIL_SUSPENDED, 0) && !j->holder)
		judging_state(j, STATE_SUSPENDED);
}

static void judge_dag_missed(struct judging *j)
{
	int64_t missed = singleton_int(j->s, DETAIL_SLOTS_MISSED, 0);

	if (missed <= 0)
		return;
	verdict_add(j->out, FINDING_MISSED_SLOTS, SEVERITY_WARN, TIME_UNKNOWN,
		"%" PRId64 " slot%s passed, and no run was made for %s.", missed,
		missed == 1 ? "" : "s", missed == 1 ? "it" : "them");
	verdict_advise(j->out, "See which run keeps later ones from starting; catchup says whether "
			       "they are made up for.");
	verdict_evidence_int(j->out, DETAIL_SLOTS_MISSED, missed);
}

const struct judge_rule judge_rules_table[] = {
	{ RULE_ROW, false, judge_row_past },
	{ RULE_ROW, false, judge_row_clock },
	{ RULE_LEDGER, false, judge_ledger_open },
	{ RULE_DAG, false, judge_dag_two },
	{ RULE_DAG, false, judge_dag_stuck },
	{ RULE_DAG, true, judge_dag_paused },
	{ RULE_DAG, true, judge_dag_missed },
	{ 0 },
};
