#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/zone.h"
#include "model/draft.h"
#include "model/judge.h"
#include "model/schedule.h"
#include "tests/unit/unit.h"

/*
 * Thousands of CronJobs and Leases with random facts, most of them odd, against what must hold for
 * all of them:
 *
 * - DUPLICATE stands for evidence: two runs that are alive, or more pods of one than it means to
 *   have. What can't be told never makes one;
 * - no verdict is other at any moment before the one that it names itself: at rest nothing is
 *   judged again, and nothing on the screen is out of date.
 */
enum {
	JOBS = 6000,
	LEASES = 3000,
	RUNS_MOST = 5,
	PODS_MOST = 3,
};

struct world {
	uint64_t seed;
	struct draft *draft;
	struct verdict_draft out;
	struct thresholds limits;
	struct singleton *self;
	int64_t now_ms, now_us;
};

static uint32_t chance(struct world *w, uint32_t n)
{
	return (uint32_t)unit_pick(&w->seed, n);
}

/* Some seconds, minutes, or hours ago; sometimes not known. */
static int64_t some_time(struct world *w, bool known)
{
	static const int64_t within_s[] = { 20, 900, 8000, 200000 };

	if (!known && chance(w, 4) == 0)
		return TIME_UNKNOWN;
	return w->now_us - (int64_t)chance(w, (uint32_t)within_s[chance(w, 4)]) * 1000000;
}

static void add_pod(struct world *w, int i)
{
	static const char *const reasons[] = { "ImagePullBackOff", "Unschedulable", NULL };
	const char *reason = reasons[chance(w, 3)];
	char name[32];
	const struct pod pod = {
		.name = name,
		.key = name,
		.node = chance(w, 4) ? "n1" : NULL,
		.reason = reason,
		.phase = (enum pod_phase)chance(w, POD_FAILED + 1),
		.node_ready = (enum tristate)chance(w, 3),
		.node_gone = chance(w, 8) == 0,
		.containers_running = (int32_t)chance(w, 3) - 1,
		.restarts = (int32_t)chance(w, 3) - 1,
		.start_us = some_time(w, false),
		.end_us = chance(w, 2) ? TIME_UNKNOWN : some_time(w, false),
		.deleted_us = chance(w, 3) ? TIME_UNKNOWN : some_time(w, true),
	};

	snprintf(name, sizeof(name), "p%d", i);
	draft_pod(w->draft, &pod);
	if (chance(w, 6) == 0)
		draft_text(w->draft, DETAIL_FINALIZER, "batch.kubernetes.io/job-tracking");
}

static void add_run(struct world *w, int i)
{
	char name[32];
	struct run run = {
		.name = name,
		.key = name,
		.state = (enum run_state)chance(w, RUN_FAILED + 1),
		.listed = (enum tristate)chance(w, 3),
		.manual = chance(w, 6) == 0,
		.attempts = (int32_t)chance(w, 4) - 1,
		.slot_us = chance(w, 3) ? w->now_us / 60000000 * 60000000 - i * INT64_C(60000000)
					: TIME_UNKNOWN,
		.created_us = some_time(w, true),
		.start_us = some_time(w, false),
		.end_us = chance(w, 2) ? TIME_UNKNOWN : some_time(w, false),
		.deleted_us = chance(w, 4) ? TIME_UNKNOWN : some_time(w, true),
		.deadline_s = chance(w, 2) ? TIME_UNKNOWN : (int64_t)chance(w, 4000),
		.parallelism = (int32_t)chance(w, 3),
	};
	int n = (int)chance(w, PODS_MOST + 1), k;

	snprintf(name, sizeof(name), "r%d", i);
	run.unseen = !n && (run.state == RUN_SUCCEEDED || run.state == RUN_FAILED) && chance(w, 2);
	run.grace_s = (int32_t)chance(w, 100);
	draft_run(w->draft, &run);
	if (chance(w, 10) == 0)
		draft_int(w->draft, DETAIL_JOB_SUSPENDED, 1);
	for (k = 0; k < n; k++)
		add_pod(w, k);
}

static struct singleton *some_cronjob(struct world *w)
{
	static const char *const policies[] = { "Allow", "Forbid", "Replace" };
	static const char *const texts[] = { "* * * * *", "*/5 * * * *", "0 2 * * *", "0 0 30 2 *",
		"@every 90s", "x", "TZ=UTC 0 * * * *" };
	struct schedule *s = schedule_new(
		texts[chance(w, ARRAY_LEN(texts))], chance(w, 3) ? NULL : "UTC", zone_load);
	int n = (int)chance(w, RUNS_MOST + 1), i;

	draft_begin(w->draft, MECH_K8S_CRONJOB, "k", "cronjob/a/b", 11);
	draft_text(w->draft, DETAIL_POLICY, policies[chance(w, 3)]);
	draft_int(w->draft, DETAIL_SUSPENDED, chance(w, 4) == 0);
	draft_int(w->draft, DETAIL_CREATED, some_time(w, true));
	if (chance(w, 3))
		draft_int(w->draft, DETAIL_LAST_SCHEDULE, some_time(w, true));
	if (chance(w, 3) == 0)
		draft_int(w->draft, DETAIL_STARTING_DEADLINE, chance(w, 4000));
	if (chance(w, 3))
		draft_int(w->draft, DETAIL_ACTIVE_LISTED, chance(w, 3));
	if (chance(w, 6) == 0)
		draft_text(w->draft, DETAIL_ACTIVE_DANGLING, "r9");
	if (chance(w, 8) == 0)
		draft_int(w->draft, DETAIL_RUNS_HIDDEN, 1);
	for (i = 0; i < n; i++)
		add_run(w, i);
	draft_run_holders(w->draft);
	draft_schedule(w->draft, s);
	schedule_unref(s);
	return draft_finish(w->draft);
}

static struct row *judge_at(struct world *w, const struct singleton *s,
	const struct remembered *memory, int64_t after_ms)
{
	const struct judge_input in = {
		.s = s,
		.self = w->self,
		.memory = memory,
		.thresholds = &w->limits,
		.now_ms = w->now_ms + after_ms,
		.now_us = w->now_us + after_ms * 1000,
		.seen_ms = TIME_UNKNOWN,
	};

	verdict_draft_begin(&w->out);
	judge_singleton(&in, &w->out);
	return row_new(singleton_ref(s), &w->out);
}

/* Whether the facts hold evidence of two at once. */
static bool has_two(const struct singleton *s)
{
	uint32_t alive = 0, i, k;

	for (i = 0; i < s->more->n_runs; i++) {
		const struct run *run = &s->more->runs[i];
		uint32_t pods = 0, meant = run->parallelism > 1 ? (uint32_t)run->parallelism : 1;

		for (k = 0; k < run->n_pods; k++)
			pods += run->pods[k].alive == TRI_YES;
		alive += pods > 0;
		if (pods > meant)
			return true;
	}
	return alive > 1;
}

static void same_verdict(const struct row *a, const struct row *b, uint64_t seed, int64_t after_ms)
{
	size_t i;

	if (a->v.state != b->v.state || a->v.n_findings != b->v.n_findings)
		fail_msg("seed %llu: after %lld ms %s with %u findings became %s with %u",
			(unsigned long long)seed, (long long)after_ms, state_word(a->v.state)->word,
			a->v.n_findings, state_word(b->v.state)->word, b->v.n_findings);
	for (i = 0; i < a->v.n_findings; i++) {
		const struct finding *x = &a->v.findings[i], *y = &b->v.findings[i];

		if (x->code != y->code || x->severity != y->severity ||
			strcmp(x->text, y->text) != 0)
			fail_msg("seed %llu: after %lld ms\n%s became\n%s",
				(unsigned long long)seed, (long long)after_ms, x->text, y->text);
	}
}

/* Judges again a moment before the verdict says that it may change, and at some time before. */
static void check_next(struct world *w, const struct singleton *s, const struct remembered *memory,
	const struct row *row, uint64_t seed)
{
	int64_t next_ms = w->out.next_ms; /* the row was judged last */
	int64_t left = next_ms == INT64_MAX ? INT64_C(86400000) : next_ms - w->now_ms - 1;
	int64_t at[2] = { left, left > 0 ? (int64_t)chance(w, 1u << 30) % (left + 1) : 0 };
	size_t i;

	for (i = 0; left > 0 && i < 2; i++) {
		struct row *later = judge_at(w, s, memory, at[i]);

		same_verdict(row, later, seed, at[i]);
		row_unref(later);
	}
}

static void world_init(struct world *w)
{
	memset(w, 0, sizeof(*w));
	w->seed = 1;
	w->draft = draft_new();
	verdict_draft_init(&w->out);
	w->limits = thresholds_default();
	w->now_ms = 5000000;
	w->now_us = INT64_C(1790078400123456);
	draft_begin(w->draft, MECH_SOURCE, "k", "", 0);
	draft_text(w->draft, DETAIL_VERSION, "v1.34.2");
	w->self = draft_finish(w->draft);
}

static void world_release(struct world *w)
{
	singleton_unref(w->self);
	verdict_draft_release(&w->out);
	draft_free(w->draft);
}

static void a_duplicate_is_evidence(void **state)
{
	uint32_t i, two = 0;
	struct world w;

	(void)state;
	world_init(&w);
	for (i = 0; i < JOBS; i++) {
		uint64_t seed = w.seed;
		struct singleton *s = some_cronjob(&w);
		struct row *row = judge_at(&w, s, NULL, 0);

		bool replace = strcmp(singleton_text(s, DETAIL_POLICY, ""), "Replace") == 0;

		/* Replace may be ending one of them. */
		if (row->v.state == STATE_DUPLICATE ? !has_two(s) : has_two(s) && !replace)
			fail_msg("seed %llu: %s, and the facts %s two at once",
				(unsigned long long)seed, state_word(row->v.state)->word,
				has_two(s) ? "show" : "do not show");
		two += has_two(s);
		row_unref(row);
		singleton_unref(s);
	}
	/* Both kinds were among them. */
	assert_true(two > JOBS / 20 && two < JOBS - JOBS / 20);
	world_release(&w);
}

static void cronjobs_are_judged_again_in_time(void **state)
{
	struct world w;
	int i;

	(void)state;
	world_init(&w);
	for (i = 0; i < JOBS; i++) {
		uint64_t seed = w.seed;
		struct singleton *s = some_cronjob(&w);
		struct row *row = judge_at(&w, s, NULL, 0);

		check_next(&w, s, NULL, row, seed);
		row_unref(row);
		singleton_unref(s);
	}
	world_release(&w);
}

/* A failed Job that is kept for its failure must not keep its row HELD for ever. */
static void hidden_pods_count_for_a_day(void **state)
{
	const int64_t day_ms = INT64_C(86400000), grace_ms = 60000;
	struct world w;
	struct run run = { .name = "r",
		.key = "r",
		.state = RUN_FAILED,
		.unseen = true,
		.grace_s = 60,
		.slot_us = TIME_UNKNOWN,
		.created_us = TIME_UNKNOWN,
		.start_us = TIME_UNKNOWN,
		.deleted_us = TIME_UNKNOWN,
		.deadline_s = TIME_UNKNOWN };
	struct singleton *s;
	struct row *row;

	(void)state;
	world_init(&w);
	run.end_us = w.now_us - 1000000;
	draft_begin(w.draft, MECH_K8S_CRONJOB, "k", "cronjob/a/b", 11);
	draft_int(w.draft, DETAIL_RUNS_HIDDEN, 1);
	draft_run(w.draft, &run);
	run.name = run.key = "never";
	run.end_us = w.now_us - day_ms * 1000 * 10;
	draft_run(w.draft, &run);
	draft_run_holders(w.draft);
	s = draft_finish(w.draft);
	row = judge_at(&w, s, NULL, 0);
	assert_int_equal(row->v.state, STATE_HELD);
	assert_int_equal(row->v.findings[0].code, FINDING_HIDDEN);
	assert_int_equal(row->v.findings[0].severity, SEVERITY_WARN);
	assert_non_null(strstr(row->v.findings[0].text, " r is over (failed) since 20"));
	assert_null(strstr(row->v.findings[0].text, "A node that answers"));
	assert_int_equal(w.out.next_ms, w.now_ms + day_ms + grace_ms - 1000);
	row_unref(row);
	row = judge_at(&w, s, NULL, day_ms + grace_ms - 1000);
	assert_int_equal(row->v.state, STATE_FREE);
	assert_int_equal(row->v.findings[0].code, FINDING_HIDDEN);
	assert_int_equal(row->v.findings[0].severity, SEVERITY_INFO);
	assert_non_null(
		strstr(row->v.findings[0].text, "whether its pods have ended is not known"));
	assert_non_null(strstr(row->v.findings[0].text, "A node that answers"));
	row_unref(row);
	/* However large a limit the config sets. */
	w.limits.hidden_pods_ms = INT64_MAX;
	row = judge_at(&w, s, NULL, 10 * day_ms);
	assert_int_equal(row->v.state, STATE_HELD);
	row_unref(row);
	singleton_unref(s);
	world_release(&w);
}

static struct row *judge_hidden(struct world *w, bool jobs, int64_t listed, bool suspended)
{
	struct singleton *s;
	struct row *row;

	draft_begin(w->draft, MECH_K8S_CRONJOB, "k", "cronjob/a/b", 11);
	draft_int(w->draft, DETAIL_RUNS_HIDDEN, 1);
	if (jobs)
		draft_int(w->draft, DETAIL_JOBS_HIDDEN, 1);
	draft_int(w->draft, DETAIL_ACTIVE_LISTED, listed);
	draft_int(w->draft, DETAIL_SUSPENDED, suspended);
	draft_run_holders(w->draft);
	s = draft_finish(w->draft);
	row = judge_at(w, s, NULL, 0);
	singleton_unref(s);
	return row;
}

/* Whose Jobs can't be seen is not called free: no list names a run that was started by hand. */
static void hidden_jobs_leave_the_state_unknown(void **state)
{
	static const struct {
		bool jobs;
		int64_t listed;
		bool suspended;
		enum state state;
		enum severity severity;
	} each[] = {
		{ true, 0, false, STATE_UNKNOWN, SEVERITY_WARN },
		{ true, 1, false, STATE_HELD, SEVERITY_WARN },
		{ true, 0, true, STATE_SUSPENDED, SEVERITY_INFO },
		{ true, 1, true, STATE_HELD, SEVERITY_WARN },
		/* The Jobs tell that none is open. */
		{ false, 0, false, STATE_FREE, SEVERITY_INFO },
	};
	struct world w;
	size_t i;

	(void)state;
	world_init(&w);
	for (i = 0; i < ARRAY_LEN(each); i++) {
		struct row *row = judge_hidden(&w, each[i].jobs, each[i].listed, each[i].suspended);

		assert_int_equal(row->v.state, each[i].state);
		assert_int_equal(row->v.findings[0].code, FINDING_HIDDEN);
		assert_int_equal(row->v.findings[0].severity, each[i].severity);
		assert_int_equal(row->v.needs_attention, each[i].severity == SEVERITY_WARN);
		row_unref(row);
	}
	world_release(&w);
}

static struct singleton *some_lease(struct world *w)
{
	static const char *const phases[] = { "Absent", "Running", "Succeeded", "Pending" };

	draft_begin(w->draft, MECH_K8S_LEASE, "k", "lease/a/b", 9);
	draft_token(w->draft, TOKEN_LEASE_TRANSITIONS, chance(w, 3));
	draft_int(w->draft, DETAIL_RENEW_TIME, some_time(w, true));
	if (chance(w, 5))
		draft_int(w->draft, DETAIL_DURATION, 1 + chance(w, 60));
	if (chance(w, 4) == 0)
		draft_int(w->draft, DETAIL_SKEW, (int64_t)chance(w, 9000) - 4500);
	if (chance(w, 6) == 0)
		return draft_finish(w->draft);
	draft_claim(w->draft, CLAIM_HOLDER, chance(w, 2) ? "a" : "b", 1,
		chance(w, 2) ? "uid:1/a/1" : "uid:2/a/0");
	if (chance(w, 2)) {
		draft_text(w->draft, DETAIL_POD_PHASE, phases[chance(w, 4)]);
		draft_int(w->draft, DETAIL_POD_NODE_READY, chance(w, 2));
		if (chance(w, 3) == 0)
			draft_int(w->draft, DETAIL_POD_DELETED, some_time(w, true));
	}
	return draft_finish(w->draft);
}

static void leases_are_judged_again_in_time(void **state)
{
	struct memory memory;
	struct world w;
	int i;

	(void)state;
	world_init(&w);
	memory_init(&memory);
	for (i = 0; i < LEASES; i++) {
		uint64_t seed = w.seed;
		struct singleton *s = some_lease(&w);
		struct remembered *r = memory_observe(&memory, s, w.now_ms, w.now_us, NULL);
		struct row *row = judge_at(&w, s, r, 0);

		check_next(&w, s, r, row, seed);
		row_unref(row);
		singleton_unref(s);
		w.now_ms += 20000;
		w.now_us += 20000000;
	}
	memory_release(&memory);
	world_release(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_duplicate_is_evidence),
		cmocka_unit_test(cronjobs_are_judged_again_in_time),
		cmocka_unit_test(hidden_pods_count_for_a_day),
		cmocka_unit_test(hidden_jobs_leave_the_state_unknown),
		cmocka_unit_test(leases_are_judged_again_in_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
