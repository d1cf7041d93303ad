#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "model/judge-rules.h"
#include "model/judge.h"
#include "tests/unit/model/facts.h"
#include "tests/unit/unit.h"

/*
 * The limits of each rule, to the millisecond, and the promise of verdict_next: until then the
 * verdict stays the same, word for word. What a picture must be read as stands in the fixtures
 * (tests/contract/cases).
 */
static const int64_t wall_us = INT64_C(1790000000000000);
static const int64_t mono_ms = 5000000;

static struct draft *draft;
static struct verdict_draft out;
static struct thresholds limits;
static struct singleton *self;

static int make(void **state)
{
	(void)state;
	text_init_locale();
	draft = draft_new();
	verdict_draft_init(&out);
	limits = thresholds_default();
	draft_begin(draft, MECH_SOURCE, "s", "", 0);
	draft_int(draft, DETAIL_SERVER_TIME, wall_us);
	draft_int(draft, DETAIL_READ_AT, wall_us);
	self = draft_finish(draft);
	return 0;
}

static int drop(void **state)
{
	(void)state;
	draft_free(draft);
	verdict_draft_release(&out);
	singleton_unref(self);
	return 0;
}

static void judge_at(const struct singleton *s, const struct remembered *r, int64_t later_ms)
{
	const struct judge_input in = {
		.s = s,
		.self = self,
		.memory = r,
		.thresholds = &limits,
		.now_ms = mono_ms + later_ms,
		.now_us = wall_us + later_ms * 1000,
	};

	verdict_draft_begin(&out);
	judge_singleton(&in, &out);
}

static void begin_pg(const char *state, int64_t state_ms, int64_t query_ms)
{
	draft_begin(draft, MECH_PG_ADVISORY, "s", "app:1", 5);
	draft_claim(draft, CLAIM_HOLDER, "w", 1, "1@1");
	draft_int(draft, DETAIL_PID, 1);
	draft_text(draft, DETAIL_MODE, "exclusive");
	if (state)
		draft_text(draft, DETAIL_STATE, state);
	if (state_ms >= 0)
		draft_int(draft, DETAIL_STATE_CHANGE, wall_us - state_ms * 1000);
	if (query_ms >= 0)
		draft_int(draft, DETAIL_QUERY_START, wall_us - query_ms * 1000);
}

static void add_waiter(int64_t wait_ms)
{
	draft_claim(draft, CLAIM_WAITER, "w", 1, "2@1");
	draft_int(draft, DETAIL_PID, 2);
	draft_text(draft, DETAIL_STATE, "active");
	if (wait_ms >= 0)
		draft_int(draft, DETAIL_WAIT_START, wall_us - wait_ms * 1000);
}

/* ---- PostgreSQL: just below, at, and above ---- */

struct pg_case {
	const char *state;
	int64_t state_ms, query_ms, wait_ms; /* -1: not known; wait -2: nobody waits */
	enum state judged;
	bool idle_holder, working;
};

static const struct pg_case pg_cases[] = {
	{ "idle in transaction", 299999, -1, -2, STATE_HELD, false, false },
	{ "idle in transaction", 300000, -1, -2, STATE_HELD, true, false },
	{ "idle in transaction (aborted)", 300000, -1, -2, STATE_HELD, true, false },
	{ "idle in transaction", -1, -1, -2, STATE_HELD, false, false },
	{ "idle", 9000000, -1, -2, STATE_HELD, false, false },
	{ "idle", 0, -1, 299999, STATE_CONTENDED, false, false },
	{ "idle", 0, -1, 300000, STATE_CONTENDED, true, false },
	{ "idle", 299999, -1, 300000, STATE_CONTENDED, true, false },
	{ "idle", 300000, -1, 299999, STATE_CONTENDED, false, false },
	{ "idle", 300000, -1, 300000, STATE_STUCK, true, false },
	{ "idle", -1, -1, 300000, STATE_CONTENDED, true, false },
	{ "idle", 300000, -1, -1, STATE_CONTENDED, false, false },
	{ "idle in transaction", 300000, -1, 0, STATE_CONTENDED, true, false },
	{ "idle in transaction", 300000, -1, 300000, STATE_STUCK, true, false },
	{ "active", 9000000, 299999, 9000000, STATE_CONTENDED, false, false },
	{ "active", 9000000, 300000, 9000000, STATE_CONTENDED, false, true },
	{ "active", 9000000, 300000, -2, STATE_HELD, false, true },
	{ "active", 9000000, -1, -2, STATE_HELD, false, false },
	{ "fastpath function call", 9000000, 300000, -2, STATE_HELD, false, true },
	{ "disabled", 9000000, 9000000, 9000000, STATE_CONTENDED, false, false },
	{ NULL, 9000000, 9000000, 9000000, STATE_CONTENDED, false, false },
};

static void a_holders_session(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(pg_cases) / sizeof(pg_cases[0]); i++) {
		const struct pg_case *c = &pg_cases[i];
		struct singleton *s;

		begin_pg(c->state, c->state_ms, c->query_ms);
		if (c->wait_ms != -2)
			add_waiter(c->wait_ms);
		s = draft_finish(draft);
		judge_at(s, NULL, 0);
		if (out.v.state != c->judged ||
			verdict_has(&out, FINDING_IDLE_HOLDER) != c->idle_holder ||
			verdict_has(&out, FINDING_WORKING_HOLDER) != c->working)
			fail_msg("case %zu (%s): %s, idle-holder %d, working-holder %d", i,
				c->state ? c->state : "-", state_word(out.v.state)->word,
				verdict_has(&out, FINDING_IDLE_HOLDER),
				verdict_has(&out, FINDING_WORKING_HOLDER));
		singleton_unref(s);
	}
}

/* Servers before 14 don't tell since when a session waits: its query began then, while it is
 * active. */
static void a_wait_before_version_14(void **state)
{
	static const struct {
		const char *activity;
		bool counts;
	} cases[] = { { "active", true }, { "idle", false }, { NULL, false } };
	size_t i;

	(void)state;
	for (i = 0; i < 3; i++) {
		struct singleton *s;

		begin_pg("idle", 300000, -1);
		draft_claim(draft, CLAIM_WAITER, "w", 1, "2@1");
		if (cases[i].activity)
			draft_text(draft, DETAIL_STATE, cases[i].activity);
		draft_int(draft, DETAIL_QUERY_START, wall_us - 300000000);
		s = draft_finish(draft);
		judge_at(s, NULL, 0);
		assert_int_equal(out.v.state, cases[i].counts ? STATE_STUCK : STATE_CONTENDED);
		singleton_unref(s);
	}
}

/* A session that bore another name before it took the lock again is no pooler's for that. */
static void a_name_that_changed_before(void **state)
{
	const struct facts_claim x = { "x", "1@1", NULL }, y = { "y", "1@1", NULL };
	struct singleton *first = facts_make(draft, MECH_PG_ADVISORY, "a", 0, &x, NULL);
	struct singleton *second = facts_make(draft, MECH_PG_ADVISORY, "a", 0, &y, NULL);
	struct memory m;

	(void)state;
	memory_init(&m);
	memory_observe(&m, first, mono_ms - 9000, wall_us - 9000000, NULL);
	memory_observe(&m, second, mono_ms - 8000, wall_us - 8000000, NULL);
	judge_at(second, memory_find(&m, "s/a"), 0);
	assert_true(verdict_has(&out, FINDING_POOLED_HOLDER));
	memory_observe_gone(&m, "s/a", mono_ms - 7000, wall_us - 7000000, NULL);
	memory_observe(&m, second, mono_ms - 6000, wall_us - 6000000, NULL);
	judge_at(second, memory_find(&m, "s/a"), 0);
	assert_false(verdict_has(&out, FINDING_POOLED_HOLDER));
	singleton_unref(first);
	singleton_unref(second);
	memory_release(&m);
}

/* Ours was set back after the reading: no age shrinks for that. */
static void our_clock_was_set_back(void **state)
{
	struct singleton *s;

	(void)state;
	begin_pg("idle in transaction", 300000, -1);
	s = draft_finish(draft);
	judge_at(s, NULL, -50000);
	assert_true(verdict_has(&out, FINDING_IDLE_HOLDER));
	singleton_unref(s);
}

/* What is remembered of a holder comes from a file, which may be anybody's. */
static void a_finding_is_plain_text(void **state)
{
	struct row *row;

	(void)state;
	verdict_draft_begin(&out);
	verdict_add(&out, FINDING_HIDDEN, SEVERITY_INFO, TIME_UNKNOWN, "%s was", "a\x1b[2J\n");
	verdict_advise(&out, "ask %s", "b\xc2\x9b");
	verdict_evidence_text(&out, DETAIL_APPLICATION, "c\xe2\x80\xae");
	row = row_new(singleton_ref(self), &out);
	assert_string_equal(row->v.findings[0].text, "a\\x1b[2J\\x0a was");
	assert_string_equal(row->v.findings[0].advice, "ask b\\xc2\\x9b");
	assert_string_equal(row->v.findings[0].evidence[0].s, "c\\xe2\\x80\\xae");
	row_unref(row);
}

/* What is hidden is not idle, whatever else is known. */
static void hidden_is_never_idle(void **state)
{
	struct singleton *s;

	(void)state;
	begin_pg(NULL, 9000000, 9000000);
	draft_hidden(draft, DETAIL_STATE);
	add_waiter(9000000);
	s = draft_finish(draft);
	judge_at(s, NULL, 0);
	assert_int_equal(out.v.state, STATE_CONTENDED);
	assert_false(verdict_has(&out, FINDING_IDLE_HOLDER));
	assert_true(verdict_has(&out, FINDING_HIDDEN));
	assert_true(out.v.needs_attention);
	singleton_unref(s);
}

static void without_the_servers_clock_no_age_is_known(void **state)
{
	struct singleton *kept = self, *s;

	(void)state;
	self = NULL;
	begin_pg("idle in transaction", 9000000, 9000000);
	add_waiter(9000000);
	s = draft_finish(draft);
	judge_at(s, NULL, 0);
	assert_int_equal(out.v.state, STATE_CONTENDED);
	assert_int_equal(out.n_findings, 0);
	assert_int_equal(out.next_ms, INT64_MAX);
	singleton_unref(s);
	self = kept;
}

/* A reading that is old is carried on for a minute, and no further. */
static void the_servers_clock_is_carried_on_for_a_while(void **state)
{
	struct singleton *s;

	(void)state;
	begin_pg("idle in transaction", 240000, -1);
	s = draft_finish(draft);
	judge_at(s, NULL, 59999);
	assert_false(verdict_has(&out, FINDING_IDLE_HOLDER));
	judge_at(s, NULL, 60000);
	assert_true(verdict_has(&out, FINDING_IDLE_HOLDER));
	singleton_unref(s);
	begin_pg("idle in transaction", 239999, -1);
	s = draft_finish(draft);
	judge_at(s, NULL, 9000000);
	assert_false(verdict_has(&out, FINDING_IDLE_HOLDER));
	/* and the next look is not at once, for ever */
	assert_true(out.next_ms > mono_ms + 9000000);
	singleton_unref(s);
}

static void a_prepared_transaction(void **state)
{
	static const struct {
		int64_t ms;
		bool warn;
	} cases[] = { { 0, false }, { 299999, false }, { 300000, true }, { 900000000, true } };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct singleton *s;

		draft_begin(draft, MECH_PG_ADVISORY, "s", "app:1", 5);
		draft_claim(draft, CLAIM_HOLDER, "prepared:x", 10, "prepared:x");
		draft_text(draft, DETAIL_PREPARED, "x");
		draft_int(draft, DETAIL_PREPARED_AT, wall_us - cases[i].ms * 1000);
		s = draft_finish(draft);
		judge_at(s, NULL, 0);
		assert_int_equal(out.v.state, STATE_ORPHAN);
		assert_true(verdict_has(&out, FINDING_PREPARED_HOLDER));
		assert_int_equal(verdict_has_severity(&out, SEVERITY_WARN), cases[i].warn);
		assert_int_equal(out.v.needs_attention, cases[i].warn);
		singleton_unref(s);
	}
}

static void a_cycle_goes_through_a_waiter(void **state)
{
	int blocker;

	(void)state;
	for (blocker = 2; blocker <= 3; blocker++) {
		struct singleton *s;

		begin_pg("active", 0, 0);
		draft_int(draft, DETAIL_BLOCKED_BY, 99);
		draft_int(draft, DETAIL_BLOCKED_BY, blocker);
		add_waiter(1000);
		s = draft_finish(draft);
		judge_at(s, NULL, 0);
		assert_int_equal(verdict_has(&out, FINDING_LOCK_CYCLE), blocker == 2);
		assert_int_equal(out.v.state, blocker == 2 ? STATE_STUCK : STATE_CONTENDED);
		singleton_unref(s);
	}
}

/* ---- etcd's leases ---- */

static struct singleton *leased(int64_t granted_ms, int64_t left_ms, int64_t read_ago_ms)
{
	draft_begin(draft, MECH_ETCD_LOCK, "s", "l", 1);
	draft_token(draft, TOKEN_CREATE_REVISION, 7);
	draft_lease(draft, granted_ms, mono_ms - read_ago_ms + left_ms, mono_ms - read_ago_ms);
	draft_claim(draft, CLAIM_HOLDER, "n", 1, "rev:7");
	draft_int(draft, DETAIL_LEASE, 0x11);
	return draft_finish(draft);
}

/* A Lease that is only listed now and then is not silent meanwhile. */
static void silence_ends_where_a_lease_was_last_looked_at(void **state)
{
	const struct lease_clock clock = { 40000, 0, TIME_UNKNOWN }, failing = { 40000, 0, 20000 };
	struct remembered r = { .has_record = true, .last_change_ms = 10000 };
	struct singleton *s;

	(void)state;
	draft_begin(draft, MECH_K8S_LEASE, "s", "l", 1);
	draft_lease(draft, 15000, 25000, 10000);
	s = draft_finish(draft);
	r.record = lease_record(s);
	assert_int_equal(lease_silence_ms(s, &r, &clock), 30000);
	assert_int_equal(lease_silence_ms(s, &r, &failing), 10000);
	singleton_unref(s);
	draft_begin(draft, MECH_K8S_LEASE, "s", "l", 1);
	draft_lease(draft, 15000, 25000, 10000);
	draft_lease_known(draft, 9000);
	s = draft_finish(draft);
	assert_int_equal(lease_silence_ms(s, &r, &clock), 0);
	singleton_unref(s);
	draft_begin(draft, MECH_K8S_LEASE, "s", "l", 1);
	draft_lease(draft, 15000, 25000, 10000);
	draft_lease_known(draft, 39000);
	s = draft_finish(draft);
	assert_int_equal(lease_silence_ms(s, &r, &clock), 29000);
	assert_int_equal(lease_silence_ms(s, &r, &failing), 10000);
	singleton_unref(s);
}

static void a_lease_is_judged_by_its_reading(void **state)
{
	static const struct {
		int64_t granted, left;
		enum state judged;
	} cases[] = { { 15000, 15000, STATE_HELD }, { 15000, 5000, STATE_HELD },
		{ 15000, 4999, STATE_EXPIRING }, { 15000, 0, STATE_EXPIRING },
		{ 15000, -1, STATE_STALE }, { 15000, -900000000, STATE_STALE },
		{ 3000, 1000, STATE_HELD }, { 3000, 999, STATE_EXPIRING },
		{ 1000, 333, STATE_HELD }, { 1000, 332, STATE_EXPIRING },
		{ TIME_UNKNOWN, 1, STATE_HELD }, { TIME_UNKNOWN, -1, STATE_STALE },
		{ INT64_MAX, 5000, STATE_EXPIRING } };
	static const int64_t ages[] = { 0, 1000, 60000, 3600000 };
	size_t i, k;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (k = 0; k < sizeof(ages) / sizeof(ages[0]); k++) {
			struct singleton *s = leased(cases[i].granted, cases[i].left, ages[k]);

			judge_at(s, NULL, 0);
			if (out.v.state != cases[i].judged)
				fail_msg("case %zu, read %lld ms ago: %s", i, (long long)ages[k],
					state_word(out.v.state)->word);
			singleton_unref(s);
		}
	}
}

static void a_later_reading_of_one_deadline_is_a_new_fact(void **state)
{
	struct singleton *before, *after, *same;

	(void)state;
	draft_begin(draft, MECH_ETCD_LOCK, "s", "l", 1);
	draft_lease(draft, 15000, 20000, 10000);
	before = draft_finish(draft);
	draft_begin(draft, MECH_ETCD_LOCK, "s", "l", 1);
	draft_lease(draft, 15000, 20000, 20001);
	after = draft_finish(draft);
	draft_begin(draft, MECH_ETCD_LOCK, "s", "l", 1);
	draft_lease(draft, 15000, 20000, 11000);
	same = draft_finish(draft);
	assert_true(before->hash != after->hash);
	assert_true(before->hash == same->hash);
	singleton_unref(before);
	singleton_unref(after);
	singleton_unref(same);
}

static void no_lease_and_an_unknown_lease(void **state)
{
	int kind;

	(void)state;
	for (kind = 0; kind < 4; kind++) {
		struct singleton *s;

		draft_begin(draft, MECH_ETCD_LOCK, "s", "l", 1);
		draft_claim(draft, CLAIM_HOLDER, "n", 1, "rev:7");
		if (kind == 1)
			draft_int(draft, DETAIL_LEASE, 0);
		if (kind == 2)
			draft_hidden(draft, DETAIL_LEASE);
		if (kind == 3)
			draft_int(draft, DETAIL_LEASE, -1); /* 0xffffffffffffffff: a lease */
		s = draft_finish(draft);
		judge_at(s, NULL, 0);
		assert_int_equal(out.v.state, kind < 2 ? STATE_ORPHAN : STATE_HELD);
		assert_int_equal(verdict_has(&out, FINDING_NO_LEASE), kind < 2);
		singleton_unref(s);
	}
}

/* ---- from memory ---- */

static struct singleton *held_by(const char *name, const char *key, int64_t token)
{
	draft_begin(draft, MECH_ETCD_ELECTION, "s", "e", 1);
	draft_token(draft, TOKEN_CREATE_REVISION, token);
	draft_claim(draft, CLAIM_HOLDER, name, strlen(name), key);
	draft_int(draft, DETAIL_LEASE, 1);
	return draft_finish(draft);
}

/* Holders follow each other, the last one at the moment of judging. Returns the last facts. */
static struct singleton *handed_over(struct memory *m, const int64_t *ago_ms, size_t n, bool fall)
{
	struct singleton *s = NULL;
	char name[24], key[24];
	size_t i;

	memory_init(m);
	for (i = 0; i < n; i++) {
		singleton_unref(s);
		snprintf(name, sizeof(name), "n%zu", i);
		snprintf(key, sizeof(key), "k%zu", i);
		s = held_by(name, key, fall && i == n - 1 ? 1 : 10 + (int64_t)i);
		memory_observe(m, s, mono_ms - ago_ms[i], wall_us - ago_ms[i] * 1000, NULL);
	}
	return s;
}

static bool has_at(
	const struct singleton *s, struct memory *m, enum finding_code code, int64_t later_ms)
{
	judge_at(s, memory_find(m, s->id), later_ms);
	return verdict_has(&out, code);
}

static void flapping_by_count_and_window(void **state)
{
	static const int64_t four[] = { 100000, 90000, 80000, 70000 };
	static const int64_t five[] = { 700000, 590000, 500000, 400000, 300000 };
	struct singleton *s;
	struct memory m;

	(void)state;
	s = handed_over(&m, four, 4, false);
	assert_false(has_at(s, &m, FINDING_FLAPPING, 0));
	singleton_unref(s);
	memory_release(&m);
	s = handed_over(&m, five, 5, false);
	assert_true(has_at(s, &m, FINDING_FLAPPING, 0));
	/* The change of 590 s ago leaves the window of 600 s. */
	assert_true(has_at(s, &m, FINDING_FLAPPING, 9999));
	assert_false(has_at(s, &m, FINDING_FLAPPING, 10000));
	singleton_unref(s);
	memory_release(&m);
}

static void overlap_for_its_time(void **state)
{
	static const int64_t two[] = { 900000, 0 };
	struct singleton *s;
	struct memory m;

	(void)state;
	s = handed_over(&m, two, 2, false);
	assert_true(has_at(s, &m, FINDING_POSSIBLE_OVERLAP, 0));
	assert_true(has_at(s, &m, FINDING_POSSIBLE_OVERLAP, 599999));
	assert_false(has_at(s, &m, FINDING_POSSIBLE_OVERLAP, 600000));
	singleton_unref(s);
	memory_release(&m);
}

static void a_mutex_is_no_leader(void **state)
{
	static const int64_t held_ms[] = { 9999, 10000 };
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		const struct facts_claim x = { "x", "1@1", NULL }, y = { "y", "2@1", NULL };
		struct singleton *first = facts_make(draft, MECH_PG_ADVISORY, "a", 0, &x, NULL);
		struct singleton *second = facts_make(draft, MECH_PG_ADVISORY, "a", 0, &y, NULL);
		struct memory m;

		memory_init(&m);
		memory_observe(&m, first, mono_ms - held_ms[i], wall_us - held_ms[i] * 1000, NULL);
		memory_observe(&m, second, mono_ms, wall_us, NULL);
		assert_int_equal(has_at(second, &m, FINDING_POSSIBLE_OVERLAP, 0), i == 1);
		singleton_unref(first);
		singleton_unref(second);
		memory_release(&m);
	}
}

static void a_fallen_token_is_critical_while_it_is_low(void **state)
{
	static const int64_t three[] = { 7200000, 7100000, 7000000 };
	struct singleton *s, *higher;
	struct memory m;

	(void)state;
	s = handed_over(&m, three, 3, true);
	assert_true(has_at(s, &m, FINDING_TOKEN_REGRESS, 0));
	assert_true(verdict_has_severity(&out, SEVERITY_CRIT));
	/* A higher one makes it a thing of the past: 7,000 s old here, so a warning. */
	higher = held_by("n9", "k9", 500);
	memory_observe(&m, higher, mono_ms, wall_us, NULL);
	assert_true(has_at(higher, &m, FINDING_TOKEN_REGRESS, 0));
	assert_false(verdict_has_severity(&out, SEVERITY_CRIT));
	assert_true(has_at(higher, &m, FINDING_TOKEN_REGRESS, 79399999));
	assert_false(has_at(higher, &m, FINDING_TOKEN_REGRESS, 79400000));
	singleton_unref(higher);
	singleton_unref(s);
	memory_release(&m);
}

static void a_past_regress_stays_critical_for_an_hour(void **state)
{
	static const int64_t two[] = { 2000, 1000 };
	struct singleton *s, *higher;
	struct memory m;

	(void)state;
	s = handed_over(&m, two, 2, true);
	higher = held_by("n9", "k9", 500);
	memory_observe(&m, higher, mono_ms, wall_us, NULL);
	assert_true(has_at(higher, &m, FINDING_TOKEN_REGRESS, 3598999));
	assert_true(verdict_has_severity(&out, SEVERITY_CRIT));
	assert_true(has_at(higher, &m, FINDING_TOKEN_REGRESS, 3599000));
	assert_false(verdict_has_severity(&out, SEVERITY_CRIT));
	singleton_unref(higher);
	singleton_unref(s);
	memory_release(&m);
}

static void what_was_first_seen_is_said(void **state)
{
	static const int64_t two[] = { 9000, 5000 };
	struct singleton *s;
	struct memory m;

	(void)state;
	s = handed_over(&m, two, 2, false);
	memory_note_state(&m, memory_find(&m, s->id), STATE_HELD, wall_us - 4000000);
	judge_at(s, memory_find(&m, s->id), 0);
	assert_int_equal(out.v.known_since_us, wall_us - 9000000);
	assert_int_equal(out.v.first_seen_us, wall_us - 5000000);
	assert_int_equal(out.v.state_since_us, wall_us - 4000000);
	assert_true(out.v.has_highest);
	assert_int_equal(out.v.highest_token, 11);
	memory_note_state(&m, memory_find(&m, s->id), STATE_STALE, wall_us - 4000000);
	judge_at(s, memory_find(&m, s->id), 0);
	assert_int_equal(out.v.state_since_us, wall_us);
	judge_at(s, NULL, 0);
	assert_int_equal(out.v.first_seen_us, TIME_UNKNOWN);
	assert_int_equal(out.v.known_since_us, TIME_UNKNOWN);
	singleton_unref(s);
	memory_release(&m);
}

/* ---- the promise of verdict_next ---- */

static const char *const activities[] = { "active", "idle", "idle in transaction",
	"idle in transaction (aborted)", "disabled" };

static int64_t some_ms(uint64_t *seed)
{
	static const int64_t scales[] = { 2000, 70000, 301000, 700000, 4000000, 100000000 };

	return (int64_t)unit_pick(seed, (size_t)scales[unit_pick(seed, 6)]);
}

static void some_claim(uint64_t *seed, enum claim_kind kind, int number)
{
	static const char *const names[] = { "w-1", "w-2", "billing", "search" };
	char key[32];

	snprintf(key, sizeof(key), "%d@1", number);
	draft_claim(draft, kind, names[unit_pick(seed, 4)], 3, key);
	draft_int(draft, DETAIL_PID, number);
	draft_int(draft, DETAIL_LEASE, (int64_t)unit_pick(seed, 4));
	draft_text(draft, DETAIL_MODE, unit_pick(seed, 4) ? "exclusive" : "share");
	if (unit_pick(seed, 8))
		draft_text(draft, DETAIL_STATE, activities[unit_pick(seed, 5)]);
	else
		draft_hidden(draft, DETAIL_STATE);
	if (unit_pick(seed, 8))
		draft_int(draft, DETAIL_STATE_CHANGE, wall_us - some_ms(seed) * 1000);
	if (unit_pick(seed, 2))
		draft_int(draft, DETAIL_QUERY_START, wall_us - some_ms(seed) * 1000);
	if (unit_pick(seed, 2))
		draft_int(draft, DETAIL_WAIT_START, wall_us - some_ms(seed) * 1000);
	if (!unit_pick(seed, 8))
		draft_text(draft, DETAIL_POOLED, "a test");
	if (!unit_pick(seed, 8)) {
		draft_text(draft, DETAIL_PREPARED, "tx");
		draft_int(draft, DETAIL_PREPARED_AT, wall_us - some_ms(seed) * 1000);
	}
}

static struct singleton *some_singleton(uint64_t *seed, enum mechanism mechanism)
{
	int waiters = (int)unit_pick(seed, 3), i;

	draft_begin(draft, mechanism, "s", "x", 1);
	if (mechanism != MECH_PG_ADVISORY) {
		draft_token(draft, TOKEN_CREATE_REVISION, (int64_t)unit_pick(seed, 9));
		draft_lease(draft, 15000, mono_ms + some_ms(seed) % 15000 - 3000,
			mono_ms - some_ms(seed) % 9000);
	}
	if (unit_pick(seed, 6))
		some_claim(seed, CLAIM_HOLDER, 1 + (int)unit_pick(seed, 3));
	for (i = 0; i < waiters; i++)
		some_claim(seed, CLAIM_WAITER, 10 + i);
	return draft_finish(draft);
}

static struct singleton *some_self(uint64_t *seed)
{
	draft_begin(draft, MECH_SOURCE, "s", "", 0);
	if (unit_pick(seed, 8)) {
		draft_int(draft, DETAIL_SERVER_TIME, wall_us);
		draft_int(draft, DETAIL_READ_AT, wall_us - some_ms(seed) % 90000 * 1000);
	}
	if (!unit_pick(seed, 3))
		draft_int(draft, DETAIL_TERM_CHANGED, mono_ms - some_ms(seed));
	if (!unit_pick(seed, 4))
		draft_int(draft, DETAIL_LEASES_LOST, 9);
	if (!unit_pick(seed, 2))
		draft_int(draft, DETAIL_LEASES_LOST_AT, mono_ms - some_ms(seed));
	return draft_finish(draft);
}

static void some_memory(uint64_t *seed, struct memory *m, enum mechanism mechanism)
{
	int64_t ago = some_ms(seed);
	int n = (int)unit_pick(seed, 8), i;

	memory_init(m);
	for (i = 0; i < n; i++) {
		struct singleton *s = some_singleton(seed, mechanism);
		struct remembered *r =
			memory_observe(m, s, mono_ms - ago, wall_us - ago * 1000, NULL);

		memory_note_state(
			m, r, (enum state)unit_pick(seed, STATE_COUNT), wall_us - ago * 1000);
		ago -= (int64_t)unit_pick(seed, (size_t)ago + 1);
		singleton_unref(s);
	}
}

/* The whole verdict as text. */
static void digest(struct str *text)
{
	size_t i;

	str_clear(text);
	str_addf(text, "%s %d|", state_word(out.v.state)->word, out.v.needs_attention);
	str_addf(text, "%zu %zu|", out.n_findings, out.n_evidence);
	for (i = 0; i < FINDING_COUNT; i++)
		str_addf(text, "%d", verdict_has(&out, (enum finding_code)i));
	str_addf(text, "%d%d", verdict_has_severity(&out, SEVERITY_WARN),
		verdict_has_severity(&out, SEVERITY_CRIT));
	str_add_mem(text, out.texts.s, out.texts.len);
}

static bool same_digest(const struct str *a, const struct str *b)
{
	return a->len == b->len && memcmp(a->s, b->s, a->len) == 0;
}

/* Judges at some moments before `next`, which must all say the same as at 0. */
static void check_until(const struct singleton *s, const struct remembered *r, uint64_t *seed,
	const struct str *first, int64_t next_ms, uint64_t case_number)
{
	int64_t most = next_ms == INT64_MAX ? 200000000 : next_ms - mono_ms - 1;
	struct str then;
	int i;

	str_init(&then, 1 << 20);
	for (i = 0; i < 6 && most > 0; i++) {
		int64_t later = i == 0 ? most : (int64_t)unit_pick(seed, (size_t)most + 1);

		judge_at(s, r, later);
		digest(&then);
		if (!same_digest(first, &then))
			fail_msg("case %llu: %lld ms later, of %lld, it says\n%.*s\ninstead "
				 "of\n%.*s",
				(unsigned long long)case_number, (long long)later, (long long)most,
				(int)then.len, then.s, (int)first->len, first->s);
	}
	str_release(&then);
}

static void until_then_nothing_changes(void **state)
{
	static const enum mechanism mechanisms[] = { MECH_PG_ADVISORY, MECH_ETCD_ELECTION,
		MECH_ETCD_LOCK, MECH_ETCD_KEY };
	struct singleton *kept = self;
	uint64_t number, finite = 0, differs = 0;
	struct str first, then;

	(void)state;
	str_init(&first, 1 << 20);
	str_init(&then, 1 << 20);
	for (number = 1; number <= 20000; number++) {
		uint64_t seed = number * UINT64_C(0x9e3779b97f4a7c15);
		enum mechanism mechanism = mechanisms[unit_pick(&seed, 4)];
		struct singleton *s;
		struct remembered *r;
		struct memory m;
		int64_t next;

		some_memory(&seed, &m, mechanism);
		s = some_singleton(&seed, mechanism);
		self = some_self(&seed);
		r = memory_find(&m, s->id);
		judge_at(s, r, 0);
		digest(&first);
		next = out.next_ms;
		assert_true(next > mono_ms);
		check_until(s, r, &seed, &first, next, number);
		if (next != INT64_MAX) {
			finite++;
			judge_at(s, r, next - mono_ms);
			digest(&then);
			differs += !same_digest(&first, &then);
		}
		singleton_unref(s);
		singleton_unref(self);
		memory_release(&m);
	}
	/* Mostly it is worth the while; not always, since one look may need two conditions. */
	assert_true(finite > 10000);
	assert_true(differs * 10 > finite * 7);
	str_release(&first);
	str_release(&then);
	self = kept;
}

static void sources_keep_the_promise_too(void **state)
{
	uint64_t number;
	struct str first, then;

	(void)state;
	str_init(&first, 1 << 20);
	str_init(&then, 1 << 20);
	for (number = 1; number <= 5000; number++) {
		uint64_t seed = number * UINT64_C(0x9e3779b97f4a7c15);
		struct singleton *s = some_self(&seed);
		struct judge_source_input in = {
			.self = s, .thresholds = &limits, .now_ms = mono_ms, .now_us = wall_us
		};
		int64_t next;
		bool stale;

		verdict_draft_begin(&out);
		judge_source(&in, &out, &stale);
		assert_false(stale);
		next = out.next_ms;
		digest(&first);
		if (next != INT64_MAX) {
			assert_true(next > mono_ms);
			in.now_us += (next - 1 - mono_ms) * 1000;
			in.now_ms = next - 1;
			verdict_draft_begin(&out);
			judge_source(&in, &out, NULL);
			digest(&then);
			assert_true(same_digest(&first, &then));
			in.now_us += 1000;
			in.now_ms = next;
			verdict_draft_begin(&out);
			judge_source(&in, &out, NULL);
			digest(&then);
			assert_false(same_digest(&first, &then));
		}
		singleton_unref(s);
	}
	str_release(&first);
	str_release(&then);
}

/* ---- numbers at the ends of 64 bits: whatever a server sends, nothing overflows (seen by the
 * sanitizer) ---- */

static int64_t extreme(uint64_t *seed)
{
	static const int64_t values[] = { INT64_MIN, INT64_MIN + 1, INT64_MIN / 1000, -1, 0, 1,
		1000, INT64_MAX / 1000, INT64_MAX - 1, INT64_MAX };

	return unit_pick(seed, 4) ? values[unit_pick(seed, ARRAY_LEN(values))]
				  : (int64_t)unit_random(seed);
}

/* Every detail there is, each with some value of its type. */
static void extreme_details(uint64_t *seed)
{
	int id;

	for (id = 0; id < DETAIL_COUNT; id++) {
		if (unit_pick(seed, 3) == 0)
			continue;
		if (unit_pick(seed, 16) == 0)
			draft_hidden(draft, (enum detail_id)id);
		else if (detail_word((enum detail_id)id)->type == DETAIL_TYPE_TEXT)
			draft_text(draft, (enum detail_id)id,
				unit_pick(seed, 2) ? activities[unit_pick(seed, 5)] : "");
		else
			draft_int(draft, (enum detail_id)id, extreme(seed));
	}
}

static struct singleton *extreme_singleton(uint64_t *seed, enum mechanism mechanism)
{
	static const enum claim_kind kinds[] = { CLAIM_HOLDER, CLAIM_WAITER, CLAIM_MEMBER };
	size_t claims = unit_pick(seed, 5), i;
	char key[16];

	draft_begin(draft, mechanism, "s", mechanism == MECH_SOURCE ? "" : "x",
		mechanism != MECH_SOURCE);
	draft_token(draft, TOKEN_CREATE_REVISION, extreme(seed));
	draft_lease(draft, extreme(seed), extreme(seed), extreme(seed));
	extreme_details(seed);
	for (i = 0; i < claims; i++) {
		snprintf(key, sizeof(key), "k%zu", unit_pick(seed, 3));
		draft_claim(draft, kinds[unit_pick(seed, 3)], "n-1", unit_pick(seed, 4), key);
		extreme_details(seed);
	}
	return draft_finish(draft);
}

static void nothing_overflows(void **state)
{
	static const enum mechanism mechanisms[] = { MECH_PG_ADVISORY, MECH_ETCD_ELECTION,
		MECH_ETCD_LOCK, MECH_ETCD_KEY };
	struct singleton *kept = self;
	uint64_t number;

	(void)state;
	for (number = 1; number <= 3000; number++) {
		uint64_t seed = number * UINT64_C(0x9e3779b97f4a7c15);
		enum mechanism mechanism = mechanisms[unit_pick(&seed, 4)];
		struct judge_source_input in = {
			.thresholds = &limits, .now_ms = mono_ms, .now_us = wall_us
		};
		struct memory m;
		int i;

		memory_init(&m);
		self = extreme_singleton(&seed, MECH_SOURCE);
		for (i = 0; i < 6; i++) {
			struct singleton *s = extreme_singleton(&seed, mechanism);
			struct remembered *r =
				memory_observe(&m, s, mono_ms + i, wall_us + i * 1000, NULL);

			judge_at(s, r, i);
			assert_true(out.v.state < STATE_COUNT);
			assert_true(out.next_ms > mono_ms + i);
			memory_note_state(
				&m, r, (enum state)unit_pick(&seed, STATE_COUNT), wall_us);
			singleton_unref(s);
		}
		in.self = self;
		verdict_draft_begin(&out);
		judge_source(&in, &out, NULL);
		judge_context(self, false);
		memory_release(&m);
		singleton_unref(self);
	}
	self = kept;
}

/* ---- sources ---- */

static bool skewed(int64_t server_ahead_us, int64_t trip_ms)
{
	struct judge_source_input in = {
		.thresholds = &limits, .now_ms = mono_ms, .now_us = wall_us
	};
	struct singleton *s;
	bool found;

	draft_begin(draft, MECH_SOURCE, "s", "", 0);
	draft_int(draft, DETAIL_SERVER_TIME, wall_us + server_ahead_us);
	draft_int(draft, DETAIL_READ_AT, wall_us);
	if (trip_ms != TIME_UNKNOWN)
		draft_int(draft, DETAIL_ROUND_TRIP, trip_ms);
	s = draft_finish(draft);
	in.self = s;
	verdict_draft_begin(&out);
	judge_source(&in, &out, NULL);
	found = verdict_has(&out, FINDING_CLOCK_SKEW);
	singleton_unref(s);
	return found;
}

static void skew_is_what_the_round_trip_can_not_explain(void **state)
{
	(void)state;
	assert_false(skewed(0, 0));
	assert_false(skewed(2000000, 0));
	assert_true(skewed(2001000, 0));
	assert_false(skewed(-2000000, 0));
	assert_true(skewed(-2001000, 0));
	/* A round trip of 4 s: the server's clock was read up to 4 s before the answer came. */
	assert_false(skewed(-6000000, 4000));
	assert_true(skewed(-6001000, 4000));
	assert_false(skewed(2000000, 4000));
	assert_true(skewed(2001000, 4000));
	assert_false(skewed(90000000, TIME_UNKNOWN));
	assert_true(skewed(INT64_MIN, 4000)); /* absurd, and reckoned with all the same */
}

static bool all_stale_of(int n, int past)
{
	struct judge_source_input in = {
		.thresholds = &limits, .now_ms = mono_ms, .now_us = wall_us
	};
	struct picture pic;
	bool stale;
	int i;

	picture_init(&pic);
	for (i = 0; i < n; i++) {
		char path[16];

		snprintf(path, sizeof(path), "%d", i);
		draft_begin(draft, MECH_ETCD_LOCK, "s", path, strlen(path));
		draft_lease(draft, 15000, i < past ? mono_ms - 1 : mono_ms + 9000, mono_ms);
		picture_put(&pic, draft_finish(draft));
	}
	in.pic = &pic;
	verdict_draft_begin(&out);
	judge_source(&in, &out, &stale);
	assert_int_equal(stale, verdict_has(&out, FINDING_ALL_STALE));
	picture_release(&pic);
	return stale;
}

static void nearly_all_stale_is_the_sources_fault(void **state)
{
	(void)state;
	assert_false(all_stale_of(2, 2));
	assert_true(all_stale_of(3, 3));
	assert_true(all_stale_of(10, 9));
	assert_false(all_stale_of(10, 8));
	assert_true(all_stale_of(5000, 5000));
	assert_false(all_stale_of(5000, 2000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_holders_session),
		cmocka_unit_test(a_wait_before_version_14),
		cmocka_unit_test(a_name_that_changed_before),
		cmocka_unit_test(our_clock_was_set_back),
		cmocka_unit_test(a_finding_is_plain_text),
		cmocka_unit_test(hidden_is_never_idle),
		cmocka_unit_test(without_the_servers_clock_no_age_is_known),
		cmocka_unit_test(the_servers_clock_is_carried_on_for_a_while),
		cmocka_unit_test(a_prepared_transaction),
		cmocka_unit_test(a_cycle_goes_through_a_waiter),
		cmocka_unit_test(silence_ends_where_a_lease_was_last_looked_at),
		cmocka_unit_test(a_lease_is_judged_by_its_reading),
		cmocka_unit_test(a_later_reading_of_one_deadline_is_a_new_fact),
		cmocka_unit_test(no_lease_and_an_unknown_lease),
		cmocka_unit_test(flapping_by_count_and_window),
		cmocka_unit_test(overlap_for_its_time),
		cmocka_unit_test(a_mutex_is_no_leader),
		cmocka_unit_test(a_fallen_token_is_critical_while_it_is_low),
		cmocka_unit_test(a_past_regress_stays_critical_for_an_hour),
		cmocka_unit_test(what_was_first_seen_is_said),
		cmocka_unit_test(until_then_nothing_changes),
		cmocka_unit_test(sources_keep_the_promise_too),
		cmocka_unit_test(nothing_overflows),
		cmocka_unit_test(skew_is_what_the_round_trip_can_not_explain),
		cmocka_unit_test(nearly_all_stale_is_the_sources_fault),
	};

	return cmocka_run_group_tests(tests, make, drop);
}
