#include "config.h"

#include "model/judge-runs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * CronJobs: what their schedule asks for, and what became of it. Slots are counted as the
 * controller counts them (schedule.h). A slot is the controller's to start until it is `late_start`
 * old: then it is missed.
 */
enum {
	NAME_MOST = 52, /* a Job's name is the CronJob's and 11 more, and may have 63 (the API's
			   validation of CronJobs) */
	COUNT_MOST = 1000,
	AT_SLOT_MS = 10 * 1000,
	DEADLINE_SHORT_S = 10, /* controllers up to 1.20 look every 10 s */
	HAND_OVER_US = 60 * 1000 * 1000,
	MINOR_NEW = 21, /* since this minor version many missed slots are only warned of */
};

static bool is_suspended(const struct judging *j)
{
	return singleton_int(j->s, DETAIL_SUSPENDED, 0) == 1;
}

static int64_t deadline_s(const struct judging *j)
{
	return singleton_int(j->s, DETAIL_STARTING_DEADLINE, -1);
}

static int64_t late_us(const struct judging *j)
{
	int64_t late_ms = j->thresholds->late_ms;

	return late_ms < 0 ? 0 : late_ms > INT32_MAX ? INT64_C(1000) * INT32_MAX : late_ms * 1000;
}

/* The minor version of "v1.34.2" or "1.20"; -1: not known. */
static int server_minor(const struct judging *j)
{
	const char *text = j->in->self ? singleton_text(j->in->self, DETAIL_VERSION, "") : "";
	char *end;
	long major, minor;

	if (*text == 'v')
		text++;
	major = strtol(text, &end, 10);
	if (end == text || *end != '.' || major != 1)
		return -1;
	minor = strtol(end + 1, &end, 10);
	return minor > 0 && minor < 1000 ? (int)minor : -1;
}

/*
 * The first slot after a moment, counted from the last that was started: "@every" has no slots but
 * those.
 */
static bool coming_slot(const struct judging *j, int64_t after_us, int64_t *ret_us)
{
	int64_t last = last_slot_us(j), base = last == TIME_UNKNOWN ? after_us : last;

	if (base < after_us)
		schedule_latest(j->s->more->schedule, base, after_us, &base);
	return schedule_next(j->s->more->schedule, base, ret_us);
}

static bool slots_are_told(const struct judging *j)
{
	return schedule_slots_told(
		j->s->more->schedule, singleton_int(j->s, DETAIL_LAST_SCHEDULE, TIME_UNKNOWN));
}

/*
 * What the controller makes of the slots since the last that was started. For "@every" with a
 * deadline it counts from a moment that moves with the clock; the slots since the last are told.
 */
static void missed_slots(const struct judging *j, struct cron_missed *ret)
{
	const struct schedule *s = j->s->more->schedule;

	schedule_missed(
		s, last_slot_us(j), s && s->cron.every_s ? -1 : deadline_s(j), j->cluster_us, ret);
}

/* ---- switched off ---- */

/* The slot that a resume starts at once; false: none. */
static bool resume_slot(struct judging *j, struct cron_missed *missed)
{
	int64_t deadline = deadline_s(j), over_us;

	if (last_slot_us(j) == TIME_UNKNOWN || !slots_are_told(j))
		return false;
	missed_slots(j, missed);
	if (!missed->has_latest || deadline < 0 || deadline >= INT32_MAX)
		return missed->has_latest;
	over_us = missed->latest_us + deadline * 1000000;
	judging_until(j, over_us);
	return j->cluster_us <= over_us;
}

/* Within which time a slot may still be started, for a sentence. */
static const char *say_deadline(const struct judging *j, char *buf)
{
	char limit[CLOCK_TEXT_MAX];

	if (deadline_s(j) < 0) {
		snprintf(buf, 2 * CLOCK_TEXT_MAX, "none is set");
		return buf;
	}
	clock_format_age(limit, deadline_s(j) < INT32_MAX ? deadline_s(j) * 1000 : INT32_MAX);
	snprintf(buf, 2 * CLOCK_TEXT_MAX, "%s", limit);
	return buf;
}

static void judge_suspended(struct judging *j)
{
	char slot[SLOT_TEXT_MAX], limit[2 * CLOCK_TEXT_MAX], many[96] = "";
	struct cron_missed missed;
	int64_t next, n;
	bool blocked;

	if (!is_suspended(j))
		return;
	judging_state(j, STATE_SUSPENDED);
	if (coming_slot(j, j->cluster_us, &next))
		judging_until(j, next);
	if (!resume_slot(j, &missed))
		return;
	blocked = policy_is(j, "Forbid") && blocking_run(j);
	n = slots_since_last(j, j->cluster_us, COUNT_MOST);
	if (n > 1)
		snprintf(many, sizeof(many),
			" Of the %s%" PRId64 " slots that passed, only the last is started.",
			n == COUNT_MOST ? "more than " : "", n == COUNT_MOST ? n - 1 : n);
	verdict_add(j->out, FINDING_RESUME_STARTS, SEVERITY_INFO, TIME_UNKNOWN,
		"It is suspended, and the missed slot %s is inside its deadline to start (%s): a "
		"resume starts a run %s.%s",
		say_slot(j, slot, missed.latest_us), say_deadline(j, limit),
		blocked ? "as soon as the active one is over" : "at once", many);
	verdict_advise(j->out, "Where that run is not wanted: set startingDeadlineSeconds to less "
			       "than the time since that slot before you resume it.");
	verdict_evidence_int(j->out, DETAIL_SLOT, missed.latest_us);
}

/* ---- slots that Forbid lets pass ---- */

static bool is_forbidding(const struct judging *j)
{
	return policy_is(j, "Forbid") && !is_suspended(j);
}

static void advise_blocked(struct judging *j, const struct run *run)
{
	bool over = run->deleted_us != TIME_UNKNOWN || run->state == RUN_SUCCEEDED ||
		    run->state == RUN_FAILED;

	if (over && !run_is_kept(run))
		verdict_advise(j->out, "Make sure that its process has ended, and wait for one "
				       "round of the controller; if it is listed still, clear that "
				       "entry of status.active. Switching to Allow might run it "
				       "twice.");
	else if (over)
		verdict_advise(j->out,
			"Make sure that its process has ended, on the node itself; then take away "
			"that "
			"one finalizer. Switching to Allow would run it twice.");
	else if (run->alive == TRI_YES)
		verdict_advise(j->out, "See whether the run gets on; if not, delete that run, and "
				       "let the next slot start. Give it an "
				       "activeDeadlineSeconds.");
	else
		verdict_advise(j->out, "Make sure that nothing of it works; then delete that run. "
				       "Switching to Allow might run it twice.");
}

static void judge_blocked(struct judging *j)
{
	const struct run *run = is_forbidding(j) ? blocking_run(j) : NULL;
	char words[RUN_TEXT_MAX], why[WHY_TEXT_MAX], slot[SLOT_TEXT_MAX];
	int64_t lost, first, next;

	if (!run || !slots_are_told(j))
		return;
	if (coming_slot(j, j->cluster_us, &next))
		judging_until(j, next);
	lost = slots_since_last(j, j->cluster_us, COUNT_MOST);
	if (lost < 1 || !schedule_next(j->s->more->schedule, last_slot_us(j), &first))
		return;
	/* A run that is a little longer than its slot lets the next begin late; that is no loss. */
	if (clock_minus(j->cluster_us, first) < late_us(j)) {
		judging_until(j, first + late_us(j));
		return;
	}
	if (lost >= j->thresholds->lost_slots)
		judging_state(j, STATE_STUCK);
	verdict_add(j->out, FINDING_FORBID_BLOCKED,
		lost >= j->thresholds->lost_slots ? SEVERITY_CRIT : SEVERITY_WARN, TIME_UNKNOWN,
		"%s%" PRId64 " slot%s passed without a run since %s: Forbid waits for %s, and %s.",
		lost == COUNT_MOST ? "More than " : "", lost == COUNT_MOST ? lost - 1 : lost,
		lost == 1 ? "" : "s", say_slot(j, slot, first), say_run(j, words, run),
		say_why(j, why, run));
	advise_blocked(j, run);
	verdict_evidence_text(j->out, DETAIL_RUN, run->name);
	verdict_evidence_int(j->out, DETAIL_SLOTS_LOST, lost);
	verdict_evidence_int(j->out, DETAIL_SLOT, first);
}

/* At a slot the controller deletes, makes and lists one after the other: a moment in between is no
 * fault. */
static bool is_at_a_slot(struct judging *j)
{
	int64_t last = last_slot_us(j), next;

	if (coming_slot(j, j->cluster_us, &next))
		judging_until(j, next);
	if (last == TIME_UNKNOWN)
		return false;
	schedule_latest(j->s->more->schedule, last, j->cluster_us, &last);
	return !judging_reached(j, judging_cluster_age(j, last), AT_SLOT_MS);
}

static void judge_dangling(struct judging *j)
{
	const char *first = singleton_text(j->s, DETAIL_ACTIVE_DANGLING, NULL);
	int64_t listed = singleton_int(j->s, DETAIL_ACTIVE_LISTED, TIME_UNKNOWN);
	bool blocks = is_forbidding(j) && !blocking_run(j) &&
		      slots_since_last(j, j->cluster_us - late_us(j), 1) > 0;
	char name[WHO_MAX], active[80] = "";
	uint32_t n = 0, i;

	for (i = 0; first && i < j->s->n_details; i++)
		n += singleton_details(j->s)[i].id == DETAIL_ACTIVE_DANGLING;
	if (!n || is_at_a_slot(j))
		return;
	if (listed != TIME_UNKNOWN)
		snprintf(active, sizeof(active),
			" Its status says %" PRId64 " active, and %" PRIu32
			" of its runs %s not over.",
			listed, j->n_holders, j->n_holders == 1 ? "is" : "are");
	verdict_add(j->out, FINDING_DANGLING_ACTIVE, blocks ? SEVERITY_WARN : SEVERITY_INFO,
		TIME_UNKNOWN,
		"The controller's list of active runs names %" PRIu32 " that %s not exist: %s.%s%s",
		n, n == 1 ? "does" : "do", judging_name(name, first), active,
		blocks ? " Forbid waits for it." : "");
	verdict_advise(j->out, "Wait for one round of the controller, which repairs it. If it "
			       "stays, the controller is down or old: clear that entry of its "
			       "status; do not make the CronJob anew.");
	verdict_evidence_text(j->out, DETAIL_ACTIVE_DANGLING, first);
}

/* ---- slots that nothing came of ---- */

/* What many missed slots mean depends on the controller's version (pkg/controller/cronjob). */
static const char *say_many(const struct judging *j)
{
	int minor = server_minor(j);

	if (minor < 0)
		return " A controller of 1.20 or older starts it never again by itself; a newer "
		       "one only warns (TooManyMissedTimes).";
	return minor < MINOR_NEW ? " This version's controller starts it never again by itself."
				 : " The controller only warns of so many (TooManyMissedTimes), "
				   "and still starts it.";
}

static void advise_missed(struct judging *j, bool many, bool handed_over)
{
	int minor = server_minor(j);

	if (many && minor < MINOR_NEW)
		verdict_advise(j->out,
			"%s, to 200 for instance, so that the controller counts "
			"fewer; then see why they were missed.",
			minor < 0 ? "Up to 1.20, set startingDeadlineSeconds"
				  : "Set startingDeadlineSeconds");
	else if (handed_over)
		verdict_advise(j->out, "If that slot's work is wanted, start it by hand, once.");
	else
		verdict_advise(j->out,
			"See whether the controller manager works, and what the "
			"events of this CronJob say. If the work is wanted, start it "
			"by hand, once.");
}

/* Whether the controller's lease went to another around a slot. */
static bool around_hand_over(const struct judging *j, int64_t slot_us, char *buf)
{
	const struct singleton *self = j->in->self;
	int64_t since =
		self ? singleton_int(self, DETAIL_CONTROLLER_SINCE, TIME_UNKNOWN) : TIME_UNKNOWN;
	int64_t after = since == TIME_UNKNOWN ? INT64_MAX : clock_minus(since, slot_us);
	char who[WHO_MAX], at[CLOCK_TEXT_MAX];

	if (after < -HAND_OVER_US || after > HAND_OVER_US)
		return false;
	clock_format_utc(at, since, 0);
	snprintf(buf, 2 * WHO_MAX, " The controllers changed hands then: %s holds them since %s.",
		judging_name(who, singleton_text(self, DETAIL_CONTROLLER, "another")), at);
	return true;
}

/* What may still become of the last missed slot. */
static const char *say_start(
	struct judging *j, const struct cron_missed *missed, int64_t latest_us, char *buf)
{
	int64_t deadline = deadline_s(j), over_us;
	char limit[2 * CLOCK_TEXT_MAX];

	over_us =
		deadline >= 0 && deadline < INT32_MAX ? latest_us + deadline * 1000000 : INT64_MAX;
	judging_until(j, over_us);
	if (j->cluster_us > over_us)
		snprintf(buf, WHO_MAX, "; its time to start (%s) is over, so it is lost",
			say_deadline(j, limit));
	else if (missed->has_latest)
		snprintf(buf, WHO_MAX, "; it may still be started");
	else
		snprintf(buf, WHO_MAX,
			"; the controller finds none to start, since the schedule is uneven");
	return buf;
}

static bool is_many(const struct judging *j, const struct cron_missed *missed)
{
	int minor = server_minor(j);

	if (minor < MINOR_NEW && missed->counted > CRON_MISSED_LIMIT)
		return true;
	return (minor < 0 || minor >= MINOR_NEW) && missed->kind == CRON_MISSED_MANY;
}

static void add_missed(struct judging *j, int64_t n, int64_t first_us, int64_t latest_us)
{
	char since[SLOT_TEXT_MAX], latest[SLOT_TEXT_MAX], start[WHO_MAX], hands[2 * WHO_MAX] = "";
	struct cron_missed missed;
	bool handed_over = around_hand_over(j, latest_us, hands), many;

	missed_slots(j, &missed);
	many = is_many(j, &missed);
	if (many && missed.estimate > n)
		n = missed.estimate;
	say_slot(j, latest, latest_us);
	say_start(j, &missed, latest_us, start);
	if (n == 1)
		verdict_add(j->out, FINDING_MISSED_SLOTS, SEVERITY_WARN, TIME_UNKNOWN,
			"The slot %s has no run%s.%s", latest, start, hands);
	else
		verdict_add(j->out, FINDING_MISSED_SLOTS, SEVERITY_WARN, TIME_UNKNOWN,
			"%" PRId64 " slots passed without a run since %s, the last at %s%s.%s%s", n,
			say_slot(j, since, first_us), latest, start, many ? say_many(j) : "",
			hands);
	advise_missed(j, many, handed_over);
	verdict_evidence_int(j->out, DETAIL_SLOTS_MISSED, n);
	verdict_evidence_int(j->out, DETAIL_SLOT, latest_us);
}

static void judge_missed(struct judging *j)
{
	int64_t last = last_slot_us(j), until = clock_minus(j->cluster_us, late_us(j));
	int64_t n, first, latest;

	if (is_suspended(j) || last == TIME_UNKNOWN || !slots_are_told(j) ||
		(is_forbidding(j) && blocking_run(j)) ||
		!schedule_next(j->s->more->schedule, last, &first))
		return;
	n = slots_since_last(j, until, COUNT_MOST);
	if (n < 1 || !schedule_latest(j->s->more->schedule, last, until, &latest)) {
		judging_until(j, first + late_us(j));
		return;
	}
	add_missed(j, n, first, latest);
	/* The controller's estimate rises with each slot, before that one is missed. */
	if (coming_slot(j, j->cluster_us, &first))
		judging_until(j, first);
	if (coming_slot(j, until, &first))
		judging_until(j, first + late_us(j));
}

static void judge_late(struct judging *j)
{
	char words[WHO_MAX], slot[SLOT_TEXT_MAX], by[CLOCK_TEXT_MAX];
	const struct run *run = NULL;
	uint32_t i;
	int64_t late;

	for (i = 0; i < j->s->more->n_runs && !run; i++)
		run = j->s->more->runs[i].manual || j->s->more->runs[i].slot_us == TIME_UNKNOWN
			      ? NULL
			      : &j->s->more->runs[i];
	if (!run || run->created_us == TIME_UNKNOWN)
		return;
	late = clock_minus(run->created_us, run->slot_us);
	if (late <= late_us(j))
		return;
	clock_format_age(by, late / 1000);
	verdict_add(j->out, FINDING_LATE_RUN, SEVERITY_INFO, TIME_UNKNOWN,
		"%s started %s late for its slot %s: a catch-up, not an extra run.",
		judging_name(words, run->name), by, say_slot(j, slot, run->slot_us));
	verdict_evidence_text(j->out, DETAIL_RUN, run->name);
	verdict_evidence_int(j->out, DETAIL_SLOT, run->slot_us);
}

/* ---- what the spec itself makes impossible ---- */

static void judge_schedule(struct judging *j)
{
	const struct schedule *s = j->s->more->schedule;
	char zone[WHO_MAX], text[WHO_MAX];

	if (!s)
		return;
	judging_name(text, s->text);
	if (schedule_zone_unknown(s)) {
		verdict_add(j->out, FINDING_UNKNOWN_ZONE, SEVERITY_WARN, TIME_UNKNOWN,
			"The time zone %s is not known here: if the controller does not know it "
			"either, it never runs (UnknownTimeZone).",
			judging_name(zone, s->zone_name));
		verdict_advise(j->out, "Set spec.timeZone to a name of the tz database, such as "
				       "Europe/Zurich.");
		verdict_evidence_text(j->out, DETAIL_TIME_ZONE, s->zone_name);
	} else if (s->error || s->never) {
		verdict_add(j->out, FINDING_NEVER_RUNS, SEVERITY_WARN, TIME_UNKNOWN,
			"It never runs: %s%s%s.", s->error ? "" : "no day ever fits \"",
			s->error ? s->error : text, s->error ? "" : "\"");
		verdict_advise(j->out, "Correct its schedule.");
		verdict_evidence_text(j->out, DETAIL_SCHEDULE, s->text);
	}
	if (!s->error && !s->never && !slots_are_told(j)) {
		verdict_add(j->out, FINDING_UNKNOWN_ZONE, SEVERITY_INFO, TIME_UNKNOWN,
			"The slot that was last started is none of its schedule in UTC, and would "
			"be "
			"in another zone: perhaps the controller's own. Whether slots were missed "
			"can't be told.");
		verdict_advise(j->out, "Set spec.timeZone, so that the zone is told.");
		verdict_evidence_int(
			j->out, DETAIL_LAST_SCHEDULE, singleton_int(j->s, DETAIL_LAST_SCHEDULE, 0));
	}
	if (s->zone_in_text && !s->error) {
		verdict_add(j->out, FINDING_ZONE_IN_SCHEDULE, SEVERITY_INFO, TIME_UNKNOWN,
			"Its schedule names a time zone itself, %s, and its slots are reckoned in "
			"that; Kubernetes does not support it, and newer servers refuse it.",
			judging_name(zone, s->zone_name ? s->zone_name : "UTC"));
		verdict_advise(j->out, "Move the zone to spec.timeZone.");
	}
}

static void judge_deadline(struct judging *j)
{
	int64_t deadline = deadline_s(j);

	if (deadline < 0 || deadline >= DEADLINE_SHORT_S)
		return;
	if (deadline == 0)
		verdict_add(j->out, FINDING_SHORT_DEADLINE, SEVERITY_WARN, TIME_UNKNOWN,
			"startingDeadlineSeconds is 0: every slot is too late when it comes, so "
			"that it never runs though it is not suspended.");
	else
		verdict_add(j->out, FINDING_SHORT_DEADLINE, SEVERITY_INFO, TIME_UNKNOWN,
			"startingDeadlineSeconds is %" PRId64
			": a controller that looks every 10s, or is busy, loses slots.",
			deadline);
	verdict_advise(j->out, "Raise it to 10 at least, or leave it out.");
	verdict_evidence_int(j->out, DETAIL_STARTING_DEADLINE, deadline);
}

static void judge_name(struct judging *j)
{
	const char *name = singleton_text(j->s, DETAIL_OBJECT_NAME, NULL);
	size_t len;

	if (!name) {
		const char *path = singleton_path(j->s), *slash = strrchr(path, '/');

		name = slash ? slash + 1 : path;
	}
	len = strlen(name);
	if (len <= NAME_MOST)
		return;
	verdict_add(j->out, FINDING_NAME_TOO_LONG, SEVERITY_WARN, TIME_UNKNOWN,
		"Its name has %zu characters, and %d are the most that leave room for its Jobs' "
		"names: no Job can be made.",
		len, NAME_MOST);
	verdict_advise(j->out, "Make it anew under a shorter name.");
}

const struct judge_rule judge_rules_cron[] = {
	{ RULE_CRONJOB, true, judge_suspended },
	{ RULE_CRONJOB, true, judge_blocked },
	{ RULE_CRONJOB, true, judge_dangling },
	{ RULE_CRONJOB, true, judge_missed },
	{ RULE_CRONJOB, true, judge_late },
	{ RULE_CRONJOB, true, judge_schedule },
	{ RULE_CRONJOB, true, judge_deadline },
	{ RULE_CRONJOB, true, judge_name },
	{ 0 },
};
