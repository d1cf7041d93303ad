#include "config.h"

#include "model/judge-runs.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/*
 * The runs of a CronJob. Two at once is a matter of evidence: processes that are alive, by their
 * pods. What can't be told counts as possible, and is said; it makes no duplicate. Nor do two
 * records that are not over: of those, one may wait for an image.
 *
 * All times are of the cluster's machines, and are compared with each other. Each machine's clock
 * may be a little off, so that an overlap of less than the `clock_skew` threshold is none.
 */
enum {
	RUNS_COMPARED = 64,        /* the newest, of a pile */
	YOUNG_MS = 10 * 1000,      /* a record so new may not have its pods, or be in a list, yet */
	REPLACED_MS = 10 * 1000,   /* a pod is gone soon after its grace period */
	DEADLINE_SLACK_MS = 30000, /* the controller ends a run soon after its deadline */
	UNSEEN_TEXT_MAX = RUN_TEXT_MAX + CLOCK_TEXT_MAX + 200,
};

/* A slot that is further away is told with its date. */
#define DATED_US (INT64_C(43200) * 1000000)

bool policy_is(const struct judging *j, const char *policy)
{
	return strcmp(singleton_text(j->s, DETAIL_POLICY, "Allow"), policy) == 0;
}

/* ---- words ---- */

const char *say_slot(struct judging *j, char *buf, int64_t slot_us)
{
	const struct schedule *schedule = j->s->more->schedule;
	const struct zone *zone = schedule ? schedule_zone(schedule) : zone_utc();
	int64_t away_us = clock_minus(slot_us, j->cluster_us);
	const char *name = schedule && schedule->zone ? schedule->zone_name : "UTC";
	char date[40] = "", seconds[8] = "";
	struct civil at;

	zone_civil(zone, slot_us / 1000000, &at);
	if (away_us > DATED_US || away_us < -DATED_US)
		snprintf(date, sizeof(date), "%04" PRId64 "-%02d-%02d ", at.year, at.month, at.day);
	judging_until(j, clock_minus(slot_us, away_us > DATED_US ? DATED_US : -DATED_US));
	if (at.second)
		snprintf(seconds, sizeof(seconds), ":%02d", at.second);
	snprintf(buf, SLOT_TEXT_MAX, "%s%02d:%02d%s%s%s", date, at.hour, at.minute, seconds,
		strcmp(name, "UTC") == 0 ? "Z" : " ", strcmp(name, "UTC") == 0 ? "" : name);
	return buf;
}

const char *say_run(struct judging *j, char *buf, const struct run *run)
{
	char name[WHO_MAX], slot[SLOT_TEXT_MAX];

	judging_name(name, run->name);
	if (run->manual)
		snprintf(buf, RUN_TEXT_MAX, "%s (started by hand)", name);
	else if (run->slot_us != TIME_UNKNOWN)
		snprintf(buf, RUN_TEXT_MAX, "%s (slot %s)", name, say_slot(j, slot, run->slot_us));
	else
		snprintf(buf, RUN_TEXT_MAX, "%s", name);
	return buf;
}

static const char *node_words(const struct pod *pod)
{
	return pod->node_gone              ? ", which no longer exists"
	       : pod->node_ready == TRI_NO ? ", which does not answer"
					   : "";
}

enum {
	POD_TEXT_MAX = 2 * WHO_MAX + 120,
};

/* "pod close-1-x on node n3, which does not answer" */
static const char *say_pod(char *buf, const struct pod *pod)
{
	char name[WHO_MAX], node[WHO_MAX];

	snprintf(buf, POD_TEXT_MAX, "pod %s%s%s%s", judging_name(name, pod->name),
		pod->node ? " on node " : "", pod->node ? judging_name(node, pod->node) : "",
		pod->node ? node_words(pod) : "");
	return buf;
}

/* What it is doing, for a list of those that are alive: "Terminating", else nothing. */
static const char *ending_words(const struct pod *pod)
{
	return pod->deleted_us == TIME_UNKNOWN ? "" : ", Terminating";
}

static const struct pod *run_pod(const struct run *run, enum tristate alive, uint32_t from)
{
	uint32_t i;

	for (i = from; i < run->n_pods; i++)
		if (run->pods[i].alive == alive)
			return &run->pods[i];
	return NULL;
}

static const char *finalizer_of(const struct detail *d)
{
	return d && !d->hidden ? d->s : NULL;
}

/* What holds a record that is over or being deleted: a finalizer, of a pod first. */
static void say_finalizer(char *buf, const struct run *run)
{
	const char *own = finalizer_of(run_detail(run, DETAIL_FINALIZER));
	char pod[WHO_MAX], name[WHO_MAX], node[WHO_MAX];
	uint32_t i;

	*buf = '\0';
	for (i = 0; i < run->n_pods; i++) {
		const struct pod *p = &run->pods[i];
		const char *f = finalizer_of(pod_detail(p, DETAIL_FINALIZER));
		bool lost = p->node && (p->node_gone || p->node_ready == TRI_NO);

		if (!f)
			continue;
		snprintf(buf, WHY_TEXT_MAX, "the finalizer %s on pod %s keeps it%s%s%s",
			judging_name(name, f), judging_name(pod, p->name),
			lost ? ", and node " : "", lost ? judging_name(node, p->node) : "",
			!lost          ? ""
			: p->node_gone ? " no longer exists"
				       : " does not answer");
		return;
	}
	if (own)
		snprintf(buf, WHY_TEXT_MAX, "its finalizer %s keeps it", judging_name(name, own));
}

bool run_is_kept(const struct run *run)
{
	char keeps[WHY_TEXT_MAX];

	say_finalizer(keeps, run);
	return *keeps != '\0';
}

static void say_over(struct judging *j, char *buf, const struct run *run)
{
	const struct detail *reason = run_detail(run, DETAIL_JOB_REASON);
	char keeps[WHY_TEXT_MAX], why[WHO_MAX], ago[CLOCK_TEXT_MAX];
	int64_t age = judging_cluster_age(j, run->deleted_us);
	bool ended = run->state == RUN_SUCCEEDED || run->state == RUN_FAILED;

	say_finalizer(keeps, run);
	snprintf(buf, WHY_TEXT_MAX, "its record %s%s%s%s%s%s%s%s", ended ? "is over (" : "",
		ended ? run_state_word(run->state) : "",
		ended && reason && !reason->hidden ? ": " : "",
		ended && reason && !reason->hidden ? judging_name(why, reason->s) : "",
		ended ? ")" : "",
		age == TIME_UNKNOWN ? ""
		: ended             ? " and being deleted"
				    : "is being deleted",
		age == TIME_UNKNOWN ? "" : " since ",
		age == TIME_UNKNOWN ? "" : judging_say(j, ago, age));
	if (*keeps)
		snprintf(buf + strlen(buf), WHY_TEXT_MAX - strlen(buf), "; %s", keeps);
}

/* Why it can't be told whether a pod lives: "node n3 of pod close-1-x does not answer" */
static void say_lost(char *buf, const struct pod *pod)
{
	char name[WHO_MAX], node[WHO_MAX];

	judging_name(name, pod->name);
	judging_name(node, pod->node ? pod->node : "");
	if (pod->node && (pod->node_gone || pod->node_ready == TRI_NO))
		snprintf(buf, WHY_TEXT_MAX, "node %s of pod %s %s", node, name,
			pod->node_gone ? "no longer exists" : "does not answer");
	else
		snprintf(buf, WHY_TEXT_MAX, "the phase of pod %s is unknown", name);
}

/* Of a run that is not over: from what its pods show. */
static void say_pods(struct judging *j, char *buf, const struct run *run)
{
	const struct pod *alive = run_pod(run, TRI_YES, 0), *lost = run_pod(run, TRI_UNKNOWN, 0);
	const struct detail *suspended = run_detail(run, DETAIL_JOB_SUSPENDED);
	char pod[POD_TEXT_MAX], reason[WHO_MAX];
	uint32_t i;

	if (alive) {
		snprintf(buf, WHY_TEXT_MAX, "%s runs", say_pod(pod, alive));
		return;
	}
	if (lost) {
		say_lost(buf, lost);
		return;
	}
	for (i = 0; i < run->n_pods; i++) {
		if (run->pods[i].phase != POD_PENDING)
			continue;
		snprintf(buf, WHY_TEXT_MAX, "%s can't start%s%s", say_pod(pod, &run->pods[i]),
			run->pods[i].reason ? ": " : "",
			run->pods[i].reason ? judging_name(reason, run->pods[i].reason) : "");
		return;
	}
	if (suspended && !suspended->hidden && suspended->i)
		snprintf(buf, WHY_TEXT_MAX, "the Job itself is suspended");
	else if (run->n_pods)
		snprintf(buf, WHY_TEXT_MAX, "its pods have ended, and its record has not");
	else if (singleton_int(j->s, DETAIL_RUNS_HIDDEN, 0))
		snprintf(buf, WHY_TEXT_MAX, "its pods are hidden from us");
	else
		snprintf(buf, WHY_TEXT_MAX, "no pod of it is known");
}

const char *say_why(struct judging *j, char *buf, const struct run *run)
{
	if (run->deleted_us != TIME_UNKNOWN || run->state == RUN_SUCCEEDED ||
		run->state == RUN_FAILED)
		say_over(j, buf, run);
	else
		say_pods(j, buf, run);
	return buf;
}

/* ---- which runs ---- */

int64_t run_began_us(const struct run *run)
{
	return run->start_us != TIME_UNKNOWN ? run->start_us : run->created_us;
}

const struct run *blocking_run(const struct judging *j)
{
	const struct run *open = NULL, *listed = NULL;
	uint32_t i;

	for (i = 0; i < j->s->more->n_runs; i++) {
		const struct run *run = &j->s->more->runs[i];

		if (run->listed == TRI_YES)
			listed = run;
		if (run->listed == TRI_UNKNOWN && !run->manual && run_is_open(run))
			open = run;
	}
	return listed ? listed : open;
}

int64_t last_slot_us(const struct judging *j)
{
	int64_t last = singleton_int(j->s, DETAIL_LAST_SCHEDULE, TIME_UNKNOWN);

	return last != TIME_UNKNOWN ? last : singleton_int(j->s, DETAIL_CREATED, TIME_UNKNOWN);
}

int64_t slots_since_last(const struct judging *j, int64_t until_us, int64_t most)
{
	int64_t last = last_slot_us(j);

	return last == TIME_UNKNOWN || until_us <= last
		       ? 0
		       : schedule_count(j->s->more->schedule, last, until_us, most);
}

/* Whether a run that can't be told to be alive may be: one that was only just made, or whose Job
 * waits on purpose, is none. */
static bool is_possible(struct judging *j, const struct run *run)
{
	const struct detail *suspended = run_detail(run, DETAIL_JOB_SUSPENDED);

	if (run->alive != TRI_UNKNOWN || run->unseen)
		return false;
	if (run->n_pods)
		return true;
	if (suspended && !suspended->hidden && suspended->i)
		return false;
	return judging_reached(j, judging_cluster_age(j, run->created_us), YOUNG_MS);
}

/*
 * Replace deletes the Job before it starts the next (cronjob_controllerv2.go, syncCronJob), and its
 * pods have a grace period to end in: until then two at once are what the policy asks for. A pod's
 * deletionTimestamp is the end of its grace period (the API's conventions on metadata); a Job's is
 * when that was asked for, and its pods follow soon.
 */
static bool is_being_replaced(struct judging *j, const struct run *run)
{
	uint32_t i;

	if (!policy_is(j, "Replace"))
		return false;
	for (i = 0; i < run->n_pods; i++) {
		const struct pod *pod = &run->pods[i];
		int64_t asked = pod->deleted_us != TIME_UNKNOWN ? pod->deleted_us : run->deleted_us;

		if (pod->alive != TRI_YES)
			continue;
		if (asked == TIME_UNKNOWN ||
			(clock_minus(asked, j->cluster_us) <= 0 &&
				judging_reached(j, judging_cluster_age(j, asked), REPLACED_MS)))
			return false;
		judging_until(j, asked);
	}
	return run->n_pods > 0;
}

struct alive_runs {
	const struct run *newest, *oldest; /* of those that are alive */
	const struct run *possible, *replaced;
	uint32_t n, n_manual, n_possible, n_replaced; /* n: with n_manual of them */
};

static void count_alive(struct judging *j, struct alive_runs *a)
{
	uint32_t i;

	memset(a, 0, sizeof(*a));
	for (i = 0; i < j->s->more->n_runs; i++) {
		const struct run *run = &j->s->more->runs[i];

		if (run->alive == TRI_YES && is_being_replaced(j, run)) {
			a->replaced = run;
			a->n_replaced++;
		} else if (run->alive == TRI_YES) {
			a->oldest = run;
			a->n_manual += run->manual;
			a->newest = a->n++ ? a->newest : run;
		} else if (is_possible(j, run)) {
			a->possible = run;
			a->n_possible++;
		}
	}
}

/* ---- two at once, now ---- */

enum {
	ALIVE_TEXT_MAX = RUN_TEXT_MAX + POD_TEXT_MAX + CLOCK_TEXT_MAX + 40
};

/* "close-1 (slot 13:55Z), for 8m, pod close-1-x on node n3" */
static const char *say_alive(struct judging *j, char *buf, const struct run *run)
{
	const struct pod *pod = run_pod(run, TRI_YES, 0);
	char words[RUN_TEXT_MAX], where[POD_TEXT_MAX], age[CLOCK_TEXT_MAX];
	int64_t for_ms = judging_cluster_age(j, run_began_us(run));

	snprintf(buf, ALIVE_TEXT_MAX, "%s%s%s%s%s%s", say_run(j, words, run),
		for_ms == TIME_UNKNOWN ? "" : ", for ",
		for_ms == TIME_UNKNOWN ? "" : judging_say(j, age, for_ms), pod ? ", " : "",
		pod ? say_pod(where, pod) : "", pod ? ending_words(pod) : "");
	return buf;
}

/* Whether all of a run that is alive is being ended: Replace deletes the Job, and its pods have
 * time to end (cronjob_controllerv2.go, syncCronJob). */
static bool is_ending(const struct run *run)
{
	uint32_t i;

	if (run->deleted_us != TIME_UNKNOWN)
		return true;
	for (i = 0; i < run->n_pods; i++)
		if (run->pods[i].alive == TRI_YES && run->pods[i].deleted_us == TIME_UNKNOWN)
			return false;
	return run->n_pods > 0;
}

static void advise_two(struct judging *j, const struct alive_runs *a)
{
	if (is_ending(a->oldest))
		verdict_advise(j->out, "Wait until the older one's pod is gone before the newer "
				       "one's work is trusted; a shorter grace period makes that "
				       "time shorter.");
	else if (policy_is(j, "Allow") && a->n - a->n_manual >= 2)
		verdict_advise(j->out, "Where two at once do harm: suspend the CronJob, end all "
				       "but one run, and set concurrencyPolicy to Forbid or "
				       "Replace.");
	else
		verdict_advise(j->out, "Suspend the CronJob, find out which run may go on, and "
				       "delete the others.");
}

static const char *two_policy(const struct judging *j, const struct alive_runs *a)
{
	if (a->n - a->n_manual < 2)
		return "No policy holds for a run that was started by hand";
	if (policy_is(j, "Replace"))
		return is_ending(a->oldest) ? "Replace is ending the older one"
					    : "Replace should have ended the older one";
	if (policy_is(j, "Forbid"))
		return "Forbid should have kept the second from starting";
	return "Allow lets them";
}

/* To our clock, from the cluster's. */
static int64_t own_time(const struct judging *j, int64_t cluster_us)
{
	int64_t age = judging_cluster_age(j, cluster_us);

	return age == TIME_UNKNOWN ? TIME_UNKNOWN : clock_minus(j->in->now_us, age * 1000);
}

static void judge_two_alive(struct judging *j, const struct alive_runs *a)
{
	char newest[ALIVE_TEXT_MAX], oldest[ALIVE_TEXT_MAX];

	judging_state(j, STATE_DUPLICATE);
	say_alive(j, newest, a->newest);
	say_alive(j, oldest, a->oldest);
	verdict_add(j->out, FINDING_DUP_RUN, SEVERITY_CRIT, own_time(j, run_began_us(a->newest)),
		"%" PRIu32 " runs are alive at once: %s%s; and %s. %s.", a->n,
		a->n > 2 ? "the newest is " : "", newest, oldest, two_policy(j, a));
	advise_two(j, a);
	verdict_evidence_text(j->out, DETAIL_RUN, a->newest->name);
	verdict_evidence_text(j->out, DETAIL_RUN, a->oldest->name);
}

/* Two for the moment, as Replace has it. */
static void judge_replaced(struct judging *j, const struct alive_runs *a)
{
	const struct role *role = j->in->role;
	bool harmful = role && role->harm == HARM_HARMFUL && role->idempotent != TRI_YES &&
		       role->fenced != TRI_YES;
	char old[ALIVE_TEXT_MAX], new[RUN_TEXT_MAX];

	verdict_add(j->out, FINDING_POSSIBLE_OVERLAP, harmful ? SEVERITY_WARN : SEVERITY_INFO,
		TIME_UNKNOWN,
		"Replace is ending %s, within its grace period%s%s: it may work until then.",
		say_alive(j, old, a->replaced), a->n ? ", while the next is at work: " : "",
		a->n ? say_run(j, new, a->newest) : "");
	verdict_advise(j->out, "Where two at once do harm even for so long, a shorter "
			       "terminationGracePeriodSeconds makes that time shorter.");
	verdict_evidence_text(j->out, DETAIL_RUN, a->replaced->name);
}

static void judge_dup_run(struct judging *j)
{
	char words[RUN_TEXT_MAX], why[WHY_TEXT_MAX], other[RUN_TEXT_MAX];
	struct alive_runs a;

	count_alive(j, &a);
	if (a.n >= 2) {
		judge_two_alive(j, &a);
		return;
	}
	if (a.n_replaced) {
		judge_replaced(j, &a);
		return;
	}
	if (a.n + a.n_possible < 2)
		return;
	say_run(j, words, a.possible);
	say_pods(j, why, a.possible);
	if (a.n)
		snprintf(other, sizeof(other), "%.*s", RUN_TEXT_MAX - 1,
			say_run(j, (char[RUN_TEXT_MAX]){ "" }, a.newest));
	else
		snprintf(other, sizeof(other), "%" PRIu32 " more", a.n_possible - 1);
	verdict_add(j->out, FINDING_POSSIBLE_OVERLAP, SEVERITY_WARN, TIME_UNKNOWN,
		"Whether %s still works can't be told (%s), and beside it %s %s: perhaps two at "
		"once.",
		words, why, other, a.n ? "is alive" : "can't be told either");
	verdict_advise(j->out, "Treat it as working. Look at its node, or fence that, before "
			       "anything is run again.");
	verdict_evidence_text(j->out, DETAIL_RUN, a.possible->name);
}

static uint32_t pods_meant(const struct run *run)
{
	return run->parallelism > 1 ? (uint32_t)run->parallelism : 1;
}

static void judge_dup_pod_of(struct judging *j, const struct run *run)
{
	char words[RUN_TEXT_MAX], a[POD_TEXT_MAX], b[POD_TEXT_MAX], why[WHY_TEXT_MAX];
	const struct pod *first = NULL, *second = NULL, *lost = run_pod(run, TRI_UNKNOWN, 0);
	uint32_t n = 0, i;

	for (i = 0; i < run->n_pods; i++)
		if (run->pods[i].alive == TRI_YES && ++n <= 2)
			*(n == 1 ? &first : &second) = &run->pods[i];
	if (n > pods_meant(run)) {
		judging_state(j, STATE_DUPLICATE);
		verdict_add(j->out, FINDING_DUP_POD, SEVERITY_CRIT, TIME_UNKNOWN,
			"%s has %" PRIu32 " pods alive at once, where %" PRIu32
			" is meant: %s%s; and %s%s. Its work runs twice now.",
			say_run(j, words, run), n, pods_meant(run), say_pod(a, first),
			ending_words(first), say_pod(b, second), ending_words(second));
		verdict_advise(j->out,
			"Suspend the CronJob, and delete the pod that may not go on. With "
			"podReplacementPolicy Failed a Job waits for the old pod to end first.");
		verdict_evidence_text(j->out, DETAIL_POD, first->name);
		verdict_evidence_text(j->out, DETAIL_POD, second->name);
	} else if (n && lost && n + 1 > pods_meant(run)) {
		say_lost(why, lost);
		verdict_add(j->out, FINDING_POSSIBLE_OVERLAP, SEVERITY_WARN, TIME_UNKNOWN,
			"%s has a pod that is alive, %s. Whether %s has ended can't be told, since "
			"%s: perhaps its work runs twice.",
			say_run(j, words, run), say_pod(a, first), judging_name(b, lost->name),
			why);
		verdict_advise(j->out, "Treat that pod as running: its record may go, and its "
				       "process stay. Fence its node before anything is run "
				       "again.");
		verdict_evidence_text(j->out, DETAIL_POD, lost->name);
	}
}

static void judge_dup_pod(struct judging *j)
{
	uint32_t i;

	for (i = 0; i < j->s->more->n_runs && !verdict_has(j->out, FINDING_DUP_POD); i++)
		judge_dup_pod_of(j, &j->s->more->runs[i]);
}

/* ---- two at once, before ---- */

struct span {
	int64_t from_us, to_us;
};

static void span_add(struct span *span, int64_t from_us, int64_t to_us)
{
	if (span->from_us == TIME_UNKNOWN || from_us < span->from_us)
		span->from_us = from_us;
	if (span->to_us == TIME_UNKNOWN || to_us > span->to_us)
		span->to_us = to_us;
}

/* When a pod is known to have worked, and not only to have waited; false: it is not known. */
static bool pod_span(const struct judging *j, const struct pod *pod, struct span *ret)
{
	const struct detail *started = pod_detail(pod, DETAIL_POD_STARTED);
	int64_t from =
		started && !started->hidden && pod->restarts <= 0 ? started->i : pod->start_us;
	int64_t to = pod->alive == TRI_YES ? j->cluster_us : pod->end_us;

	if (from == TIME_UNKNOWN || to == TIME_UNKNOWN || pod->phase == POD_PENDING)
		return false;
	*ret = (struct span){ from, to };
	return true;
}

/* The same for a run: by its pods; where they are gone, by its record, if it succeeded. */
static bool run_span(const struct judging *j, const struct run *run, struct span *ret)
{
	struct span one;
	uint32_t i;

	*ret = (struct span){ TIME_UNKNOWN, TIME_UNKNOWN };
	for (i = 0; i < run->n_pods; i++)
		if (pod_span(j, &run->pods[i], &one))
			span_add(ret, one.from_us, one.to_us);
	if (!run->n_pods && run->state == RUN_SUCCEEDED && run->start_us != TIME_UNKNOWN &&
		run->end_us != TIME_UNKNOWN)
		*ret = (struct span){ run->start_us, run->end_us };
	return ret->from_us != TIME_UNKNOWN;
}

/* Whether two spans overlap by more than two clocks may differ; in microseconds. */
static int64_t spans_overlap(const struct judging *j, const struct span *a, const struct span *b)
{
	int64_t from = a->from_us > b->from_us ? a->from_us : b->from_us;
	int64_t to = a->to_us < b->to_us ? a->to_us : b->to_us;
	int64_t both = clock_minus(to, from);

	return both / 1000 > j->thresholds->skew_ms ? both : 0;
}

/* Two that were at work at once, and are not both any more: the pair that ended last. */
struct past_pair {
	const void *a, *b;
	const struct run *run;
	int64_t both_us, until_us;
};

static void pair_consider(struct past_pair *pair, const struct past_pair *found)
{
	if (!pair->a || found->until_us > pair->until_us)
		*pair = *found;
}

static bool past_runs(const struct judging *j, struct past_pair *pair)
{
	uint32_t n = j->s->more->n_runs < RUNS_COMPARED ? j->s->more->n_runs : RUNS_COMPARED, i, k;
	const struct run *runs = j->s->more->runs;
	struct span x, y;

	for (i = 0; i < n; i++) {
		if (!run_span(j, &runs[i], &x))
			continue;
		for (k = i + 1; k < n; k++) {
			struct past_pair found = { &runs[i], &runs[k], NULL, 0, 0 };

			if ((runs[i].alive == TRI_YES && runs[k].alive == TRI_YES) ||
				!run_span(j, &runs[k], &y))
				continue;
			found.both_us = spans_overlap(j, &x, &y);
			found.until_us = x.to_us < y.to_us ? x.to_us : y.to_us;
			if (found.both_us)
				pair_consider(pair, &found);
		}
	}
	return pair->a != NULL;
}

static bool past_pods(const struct judging *j, const struct run *run, struct past_pair *pair)
{
	uint32_t n = run->n_pods < RUNS_COMPARED ? run->n_pods : RUNS_COMPARED, i, k;
	const struct pod *pods = run->pods;
	struct span x, y;

	for (i = 0; i < n && pods_meant(run) == 1; i++) {
		if (!pod_span(j, &pods[i], &x))
			continue;
		for (k = i + 1; k < n; k++) {
			struct past_pair found = { &pods[i], &pods[k], run, 0, 0 };

			if ((pods[i].alive == TRI_YES && pods[k].alive == TRI_YES) ||
				!pod_span(j, &pods[k], &y))
				continue;
			found.both_us = spans_overlap(j, &x, &y);
			found.until_us = x.to_us < y.to_us ? x.to_us : y.to_us;
			if (found.both_us)
				pair_consider(pair, &found);
		}
	}
	return pair->a != NULL;
}

/* Critical while it is fresh, then a warning, as long as the runs are known. */
static enum severity past_severity(struct judging *j, int64_t until_us)
{
	return judging_reached(
		       j, judging_cluster_age(j, until_us), j->thresholds->duplicate_fresh_ms)
		       ? SEVERITY_WARN
		       : SEVERITY_CRIT;
}

static void judge_past_runs(struct judging *j)
{
	char a[RUN_TEXT_MAX], b[RUN_TEXT_MAX], both[CLOCK_TEXT_MAX], ago[CLOCK_TEXT_MAX];
	struct past_pair pair = { 0 };
	const struct run *x, *y;

	if (verdict_has(j->out, FINDING_DUP_RUN) || !past_runs(j, &pair))
		return;
	x = pair.a;
	y = pair.b;
	clock_format_age(both, pair.both_us / 1000);
	verdict_add(j->out, FINDING_DUP_RUN, past_severity(j, pair.until_us),
		own_time(j, clock_minus(pair.until_us, pair.both_us)),
		"%s and %s were at work at once for %s, until %s ago.", say_run(j, a, y),
		say_run(j, b, x), both, judging_say(j, ago, judging_cluster_age(j, pair.until_us)));
	verdict_advise(j->out, policy_is(j, "Allow")
				       ? "Compare what both did. Where two at once do harm, set "
					 "concurrencyPolicy to Forbid or Replace."
				       : "Compare what both did while it was so, before it is "
					 "taken for mended.");
	verdict_evidence_text(j->out, DETAIL_RUN, y->name);
	verdict_evidence_text(j->out, DETAIL_RUN, x->name);
}

static void judge_past_pods(struct judging *j)
{
	char words[RUN_TEXT_MAX], a[WHO_MAX], b[WHO_MAX], both[CLOCK_TEXT_MAX], ago[CLOCK_TEXT_MAX];
	struct past_pair pair = { 0 };
	const struct pod *x, *y;
	uint32_t i;

	if (verdict_has(j->out, FINDING_DUP_POD))
		return;
	for (i = 0; i < j->s->more->n_runs && i < RUNS_COMPARED; i++)
		past_pods(j, &j->s->more->runs[i], &pair);
	if (!pair.a)
		return;
	x = pair.a;
	y = pair.b;
	clock_format_age(both, pair.both_us / 1000);
	verdict_add(j->out, FINDING_DUP_POD, past_severity(j, pair.until_us),
		own_time(j, clock_minus(pair.until_us, pair.both_us)),
		"The pods %s and %s of %s were at work at once for %s, until %s ago.",
		judging_name(a, x->name), judging_name(b, y->name), say_run(j, words, pair.run),
		both, judging_say(j, ago, judging_cluster_age(j, pair.until_us)));
	verdict_advise(j->out, "Compare what both did. With podReplacementPolicy Failed a Job "
			       "waits for the old pod to end first.");
	verdict_evidence_text(j->out, DETAIL_POD, x->name);
	verdict_evidence_text(j->out, DETAIL_POD, y->name);
}

/*
 * What was seen, and is not in the API any more: a run or a pod that was deleted takes the evidence
 * with it. Told as a role's duplicate is: critical while it is fresh, then a warning for a day.
 */
static void judge_remembered(struct judging *j)
{
	const struct remembered_past *p = j->memory ? j->memory->past : NULL;
	bool pods = p && p->previous_key &&
		    strcmp(p->previous_key, finding_word(FINDING_DUP_POD)->word) == 0;
	int64_t fresh = j->thresholds->duplicate_fresh_ms, age;
	char ago[CLOCK_TEXT_MAX];
	enum finding_code code = pods ? FINDING_DUP_POD : FINDING_DUP_RUN;

	if (!p || !p->previous_identity || p->session_since_us == TIME_UNKNOWN ||
		verdict_has(j->out, code) || fresh > INT64_MAX / 24)
		return;
	age = judging_own_age(j, p->session_since_us);
	if (age == TIME_UNKNOWN || judging_reached(j, age, fresh * 24))
		return;
	verdict_add(j->out, code, judging_reached(j, age, fresh) ? SEVERITY_WARN : SEVERITY_CRIT,
		p->first_session_us, "%s were alive at once, last seen so %s ago.",
		p->previous_identity, judging_say(j, ago, age));
	verdict_advise(j->out, "Compare what both did while it was so, before it is taken for "
			       "mended.");
}

/* Whether a run's work is known to have begun. */
static bool has_worked(const struct run *run)
{
	return run->alive == TRI_YES || run->attempts > 0 || run->state == RUN_SUCCEEDED;
}

static void judge_dup_slot_of(struct judging *j, const struct run *a, const struct run *b)
{
	int64_t later = run_began_us(a) > run_began_us(b) ? run_began_us(a) : run_began_us(b);
	char slot[SLOT_TEXT_MAX], x[WHO_MAX], y[WHO_MAX];

	verdict_add(j->out, FINDING_DUP_SLOT, past_severity(j, later), own_time(j, later),
		"The slot %s was executed twice: by %s and by %s.", say_slot(j, slot, a->slot_us),
		judging_name(x, b->name), judging_name(y, a->name));
	verdict_advise(j->out, "Suspend the CronJob, and compare what both did; then look whether "
			       "two controllers start its runs.");
	verdict_evidence_int(j->out, DETAIL_SLOT, a->slot_us);
	verdict_evidence_text(j->out, DETAIL_RUN, b->name);
	verdict_evidence_text(j->out, DETAIL_RUN, a->name);
}

static bool has_slot(const struct run *run)
{
	return !run->manual && run->slot_us != TIME_UNKNOWN && has_worked(run);
}

static void judge_dup_slot(struct judging *j)
{
	uint32_t n = j->s->more->n_runs < RUNS_COMPARED ? j->s->more->n_runs : RUNS_COMPARED, i, k;
	const struct run *runs = j->s->more->runs;

	for (i = 0; i < n; i++)
		for (k = i + 1; has_slot(&runs[i]) && k < n; k++)
			if (has_slot(&runs[k]) && runs[k].slot_us == runs[i].slot_us &&
				strcmp(runs[k].key, runs[i].key) != 0) {
				judge_dup_slot_of(j, &runs[i], &runs[k]);
				return;
			}
}

/* ---- runs that do not get on ---- */

static bool is_past_deadline(struct judging *j, const struct run *run)
{
	int64_t age = judging_cluster_age(j, run->start_us);

	return run_is_open(run) && run->deadline_s >= 0 && run->deadline_s < INT32_MAX &&
	       judging_reached(j, age, run->deadline_s * 1000 + DEADLINE_SLACK_MS);
}

/* Not over, and nothing of it is known to work, for long. */
static bool makes_no_progress(struct judging *j, const struct run *run)
{
	const struct detail *suspended = run_detail(run, DETAIL_JOB_SUSPENDED);
	int64_t since = run->deleted_us != TIME_UNKNOWN ? run->deleted_us : run_began_us(run);

	if (!run_is_open(run) || run->alive == TRI_YES ||
		(suspended && !suspended->hidden && suspended->i) ||
		(!run->n_pods && singleton_int(j->s, DETAIL_RUNS_HIDDEN, 0)))
		return false;
	return judging_reached(j, judging_cluster_age(j, since), j->thresholds->stuck_ms);
}

static void add_stuck(struct judging *j, const struct run *run, bool past_deadline)
{
	char words[RUN_TEXT_MAX], why[WHY_TEXT_MAX], age[CLOCK_TEXT_MAX], limit[CLOCK_TEXT_MAX];

	say_why(j, why, run);
	say_run(j, words, run);
	judging_say(j, age, judging_cluster_age(j, run_began_us(run)));
	if (past_deadline) {
		clock_format_age(limit, run->deadline_s * 1000);
		verdict_add(j->out, FINDING_STUCK_RUN, SEVERITY_WARN, TIME_UNKNOWN,
			"%s is not over after %s, past its deadline of %s: %s.", words, age, limit,
			why);
		verdict_advise(j->out, "See whether the controller manager works, and what keeps "
				       "the pod. Delete the run only when its process is known to "
				       "have ended.");
	} else {
		verdict_add(j->out, FINDING_STUCK_RUN, SEVERITY_WARN, TIME_UNKNOWN,
			"%s was started %s ago and does not get on: %s.", words, age, why);
		verdict_advise(j->out,
			run_pod(run, TRI_UNKNOWN, 0)
				? "Make sure that its process has ended, on the node itself; only "
				  "then delete the pod by force."
				: "Mend what its pod waits for, or delete the run.");
	}
	verdict_evidence_text(j->out, DETAIL_RUN, run->name);
}

static void judge_stuck(struct judging *j)
{
	uint32_t i;

	/* The oldest first. */
	for (i = j->s->more->n_runs; i-- > 0;) {
		const struct run *run = &j->s->more->runs[i];
		bool late = is_past_deadline(j, run);

		if (!late && !makes_no_progress(j, run))
			continue;
		if (late || policy_is(j, "Forbid"))
			judging_state(j, STATE_STUCK);
		if (!verdict_has(j->out, FINDING_STUCK_RUN))
			add_stuck(j, run, late);
		if (late)
			return;
	}
}

/* The reason that most waiting pods give, and how many do. */
static const char *common_reason(const struct judging *j, uint32_t *ret_n)
{
	const char *reason = NULL;
	uint32_t i, k, n = 0;

	/* A majority vote (Boyer and Moore), then the count of the winner. */
	for (i = 0; i < j->s->more->n_runs; i++)
		for (k = 0; k < j->s->more->runs[i].n_pods; k++) {
			const char *one = j->s->more->runs[i].pods[k].reason;

			if (!one || j->s->more->runs[i].pods[k].phase != POD_PENDING)
				continue;
			if (!n)
				reason = one;
			n = strcmp(one, reason) == 0 ? n + 1 : n - 1;
		}
	*ret_n = 0;
	for (i = 0; reason && i < j->s->more->n_runs; i++)
		for (k = 0; k < j->s->more->runs[i].n_pods; k++) {
			const char *one = j->s->more->runs[i].pods[k].reason;

			*ret_n += one && j->s->more->runs[i].pods[k].phase == POD_PENDING &&
				  strcmp(one, reason) == 0;
		}
	return reason;
}

static void judge_pile_up(struct judging *j)
{
	char age[CLOCK_TEXT_MAX], why[WHO_MAX], because[WHO_MAX + 80] = "";
	const struct run *oldest = NULL;
	uint32_t open = 0, alive = 0, waiting, i;
	const char *reason;

	for (i = 0; i < j->s->more->n_runs; i++) {
		const struct run *run = &j->s->more->runs[i];

		if (!run_is_open(run))
			continue;
		open++;
		oldest = run;
		alive += run->alive == TRI_YES;
	}
	if (j->thresholds->pile_up <= 0 || open < j->thresholds->pile_up)
		return;
	reason = common_reason(j, &waiting);
	if (reason)
		snprintf(because, sizeof(because),
			" %" PRIu32 " pods wait for the same reason: %s.", waiting,
			judging_name(why, reason));
	verdict_add(j->out, FINDING_PILE_UP, SEVERITY_WARN, TIME_UNKNOWN,
		"%" PRIu32 " runs are not over, the oldest for %s; %" PRIu32 " of them %s alive.%s",
		open, judging_say(j, age, judging_cluster_age(j, run_began_us(oldest))), alive,
		alive == 1 ? "is" : "are", because);
	verdict_advise(j->out, "Suspend the CronJob, mend the cause, and delete the runs that are "
			       "not wanted before: a mended cause starts all of them at once.");
	verdict_evidence_text(j->out, DETAIL_RUN, oldest->name);
}

/* ---- what is odd about runs ---- */

static void judge_retry(struct judging *j)
{
	const struct role *role = j->in->role;
	bool harmful = role && role->harm == HARM_HARMFUL && role->idempotent == TRI_NO &&
		       role->fenced != TRI_YES;
	char words[RUN_TEXT_MAX];
	uint32_t i;

	for (i = 0; i < j->s->more->n_runs; i++) {
		const struct run *run = &j->s->more->runs[i];

		if (run->attempts < 2)
			continue;
		verdict_add(j->out, FINDING_RETRY_RAN_AGAIN,
			harmful ? SEVERITY_WARN : SEVERITY_INFO, own_time(j, run_began_us(run)),
			"%s %s at attempt %" PRId32 ": its work may have run up to %" PRId32
			" times.",
			say_run(j, words, run),
			run->state == RUN_SUCCEEDED ? "succeeded"
			: run->state == RUN_FAILED  ? "gave up"
						    : "is",
			run->attempts, run->attempts);
		verdict_advise(j->out, "Work that may not run twice: set backoffLimit 0 and "
				       "restartPolicy Never.");
		verdict_evidence_text(j->out, DETAIL_RUN, run->name);
		return;
	}
}

/* Under Forbid and Replace the controller looks at its own list alone. */
static void judge_unlisted(struct judging *j)
{
	char words[RUN_TEXT_MAX], why[WHY_TEXT_MAX];
	uint32_t i;

	for (i = 0; i < j->s->more->n_runs; i++) {
		const struct run *run = &j->s->more->runs[i];

		/* One that is being deleted is off the list by intent. */
		if (run->listed != TRI_NO || run->manual || !run_is_open(run) ||
			run->deleted_us != TIME_UNKNOWN ||
			!judging_reached(j, judging_cluster_age(j, run->created_us), YOUNG_MS))
			continue;
		verdict_add(j->out, FINDING_ORPHAN_RUN, SEVERITY_WARN, TIME_UNKNOWN,
			"%s is not over (%s), and its CronJob's own list of active runs does not "
			"name it%s.",
			say_run(j, words, run), say_why(j, why, run),
			policy_is(j, "Allow") ? ""
					      : ": the policy may not keep a second from "
						"starting");
		verdict_advise(j->out, "Suspend the CronJob until its status agrees with the runs "
				       "that exist.");
		verdict_evidence_text(j->out, DETAIL_RUN, run->name);
		return;
	}
}

/* Runs of a CronJob that was deleted, and made again under the same name. */
static void judge_orphans(struct judging *j)
{
	const char *first = singleton_text(j->s, DETAIL_ORPHAN_RUN, NULL);
	char name[WHO_MAX];
	uint32_t n = 0, i;

	for (i = 0; first && i < j->s->n_details; i++)
		n += singleton_details(j->s)[i].id == DETAIL_ORPHAN_RUN;
	if (!n || verdict_has(j->out, FINDING_ORPHAN_RUN))
		return;
	verdict_add(j->out, FINDING_ORPHAN_RUN, SEVERITY_WARN, TIME_UNKNOWN,
		"%s%s not over, and %s to a CronJob of this name that does not exist any more: "
		"its uid is another. No policy of the present one keeps them apart.",
		judging_name(name, first), n > 1 ? " and others are" : " is",
		n > 1 ? "they belong" : "it belongs");
	verdict_advise(j->out, "See what it still does, then delete it; choose whether its pods go "
			       "with it.");
	verdict_evidence_text(j->out, DETAIL_ORPHAN_RUN, first);
}

/*
 * Whether the pods of a run that is over by its record count as over too. A node that answers has
 * ended them by the end of their grace period. Of one that does not nothing is proven by any time;
 * but the controller starts the next runs all the same, and one Job that is kept for its failure
 * would hide for ever whether anything else holds it.
 */
static bool unseen_is_old(struct judging *j, const struct run *run)
{
	int64_t limit_ms = j->thresholds->hidden_pods_ms;

	if (limit_ms < 0)
		limit_ms = 0;
	if (__builtin_add_overflow(limit_ms, (int64_t)run->grace_s * 1000, &limit_ms))
		limit_ms = INT64_MAX;
	return judging_reached(j, judging_cluster_age(j, run->end_us), limit_ms);
}

/* The newest that is over by its record, while its pods may not be; rather one that counts as at
 * work. */
static const struct run *unseen_run(struct judging *j, bool *counts)
{
	const struct run *found = NULL;
	uint32_t i;

	*counts = false;
	for (i = 0; i < j->s->more->n_runs; i++) {
		const struct run *run = &j->s->more->runs[i];
		/* Of each it is asked, since each has its own moment. */
		bool fresh = run->unseen && !unseen_is_old(j, run);

		if (run->unseen && (!found || (fresh && !*counts)))
			found = run;
		*counts = *counts || fresh;
	}
	return found;
}

/* What is known of it, with a blank before; "" where there is none. */
static const char *say_unseen(struct judging *j, char *buf, const struct run *run, bool counts)
{
	char words[RUN_TEXT_MAX], at[CLOCK_TEXT_MAX];

	buf[0] = '\0';
	if (!run)
		return buf;
	clock_format_utc(at, run->end_us, 0);
	snprintf(buf, UNSEEN_TEXT_MAX,
		" %s is over (%s) since %s, and whether its pods have ended is not known.%s",
		say_run(j, words, run), run_state_word(run->state),
		run->end_us == TIME_UNKNOWN ? "a time that is not told" : at,
		counts ? ""
		       : " A node that answers has ended them; for one that does not, look at "
			 "the node itself.");
	return buf;
}

static void judge_hidden(struct judging *j)
{
	int64_t listed = singleton_int(j->s, DETAIL_ACTIVE_LISTED, 0);
	char words[UNSEEN_TEXT_MAX];
	const struct run *unseen;
	bool counts, blind;

	if (!singleton_int(j->s, DETAIL_RUNS_HIDDEN, 0))
		return;
	/* Its own list says that something runs, or a Job failed whose pods may run on; nobody may
	 * call it free. */
	unseen = unseen_run(j, &counts);
	if (listed > 0 || counts)
		judging_state(j, STATE_HELD);
	/*
	 * That its list is empty does not make it free: the controller lists what it started itself
	 * and has not seen end, so neither a run that was started by hand nor the pods of a Job
	 * that failed (syncCronJob in pkg/controller/cronjob). That it is switched off is its
	 * spec's to say.
	 */
	blind = j->state == STATE_FREE && singleton_int(j->s, DETAIL_JOBS_HIDDEN, 0) &&
		!singleton_int(j->s, DETAIL_SUSPENDED, 0);
	if (blind)
		j->state = STATE_UNKNOWN;
	verdict_add(j->out, FINDING_HIDDEN,
		listed > 0 || counts || blind || j->holder ? SEVERITY_WARN : SEVERITY_INFO,
		TIME_UNKNOWN,
		"Its Jobs or their pods are hidden from us: whether a run lives, or two do, can't "
		"be told. The controller's list names %" PRId64 ".%s",
		listed, say_unseen(j, words, unseen, counts));
	verdict_advise(j->out, "Let this user get, list and watch jobs (batch) and pods.");
	verdict_evidence_int(j->out, DETAIL_ACTIVE_LISTED, listed);
}

const struct judge_rule judge_rules_runs[] = {
	{ RULE_CRONJOB, true, judge_dup_run },
	{ RULE_CRONJOB, true, judge_dup_pod },
	{ RULE_CRONJOB, true, judge_past_runs },
	{ RULE_CRONJOB, true, judge_past_pods },
	{ RULE_CRONJOB, true, judge_remembered },
	{ RULE_CRONJOB, true, judge_dup_slot },
	{ RULE_CRONJOB, true, judge_stuck },
	{ RULE_CRONJOB, true, judge_pile_up },
	{ RULE_CRONJOB, true, judge_retry },
	{ RULE_CRONJOB, true, judge_unlisted },
	{ RULE_CRONJOB, true, judge_orphans },
	{ RULE_CRONJOB, true, judge_hidden },
	{ 0 },
};
