#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "base/text.h"
#include "model/memory.h"
#include "tests/unit/model/facts.h"
#include "tests/unit/model/memory-version-1.h"
#include "tests/unit/unit.h"

static const int64_t start_us = INT64_C(1790000000000000);

static struct draft *draft;

static int make_draft(void **state)
{
	(void)state;
	text_init_locale();
	draft = draft_new();
	return 0;
}

static int free_draft(void **state)
{
	(void)state;
	draft_free(draft);
	return 0;
}

static const struct facts_claim a = { "node-a", "1@1", "10.0.0.1" };
static const struct facts_claim a_again = { "node-a", "7@2", "10.0.0.1" };
static const struct facts_claim a_elsewhere = { "node-a", "8@2", "10.0.0.9" };
static const struct facts_claim b = { "node-b", "2@1", "10.0.0.2" };
static const struct facts_claim c = { "node-c", "3@1", NULL };

/* One observation, `at` seconds after the start. */
static struct remembered *see(struct memory *m, int64_t at, int64_t token,
	const struct facts_claim *holder, const struct facts_claim *waiter, struct observed *o)
{
	struct singleton *s = facts_make(draft, MECH_PG_ADVISORY, "app:1", token, holder, waiter);
	struct remembered *r = memory_observe(m, s, 1000 + at * 1000, start_us + at * 1000000, o);

	singleton_unref(s);
	return r;
}

/* ---- what an observation notices ---- */

static void the_first_sight_appears(void **state)
{
	struct observed o;
	struct memory m;
	struct remembered *r;

	(void)state;
	memory_init(&m);
	r = see(&m, 0, 5, &a, NULL, &o);
	assert_true(o.appeared);
	assert_false(o.taken || o.changed_hands || o.new_session || o.freed || o.regressed);
	assert_string_equal(remembered_identity(r), "node-a");
	assert_string_equal(remembered_client(r), "10.0.0.1");
	assert_int_equal(r->known_since_us, start_us);
	assert_int_equal(r->holder_since_us, start_us);
	assert_true(r->has_highest && r->highest_token == 5 && r->held);
	assert_ptr_equal(memory_find(&m, "s/app:1"), r);
	assert_null(memory_find(&m, "s/app:2"));
	memory_release(&m);
}

static void nothing_changes_when_nothing_changes(void **state)
{
	struct observed o;
	struct memory m;
	struct remembered *r;

	(void)state;
	memory_init(&m);
	see(&m, 0, 5, &a, NULL, NULL);
	r = see(&m, 9, 5, &a, NULL, &o);
	assert_false(o.appeared || o.taken || o.changed_hands || o.new_session || o.freed);
	assert_int_equal(r->holder_since_us, start_us);
	assert_int_equal(r->last_change_us, start_us);
	assert_int_equal(r->last_seen_us, start_us + 9000000);
	assert_null(r->past);
	memory_release(&m);
}

static void another_process_changes_hands(void **state)
{
	struct observed o;
	struct memory m;
	struct remembered *r;

	(void)state;
	memory_init(&m);
	see(&m, 0, 5, &a, NULL, NULL);
	r = see(&m, 9, 6, &b, NULL, &o);
	assert_true(o.changed_hands);
	assert_false(o.new_session || o.regressed || o.taken);
	assert_string_equal(o.before, "node-a");
	assert_int_equal(o.token_before, 5);
	assert_int_equal(o.token_after, 6);
	assert_string_equal(r->past->previous_identity, "node-a");
	assert_string_equal(r->past->previous_client, "10.0.0.1");
	assert_int_equal(r->past->previous_since_us, start_us);
	assert_int_equal(r->past->previous_until_us, start_us + 9000000);
	assert_int_equal(r->past->overlap_us, start_us + 9000000);
	assert_int_equal(r->past->n_changes, 1);
	memory_release(&m);
}

static void the_same_process_on_a_new_session(void **state)
{
	struct observed o;
	struct memory m;
	struct remembered *r;

	(void)state;
	memory_init(&m);
	see(&m, 0, 0, &a, NULL, NULL);
	r = see(&m, 9, 0, &a_again, NULL, &o);
	assert_true(o.new_session);
	assert_false(o.changed_hands);
	assert_int_equal(r->past->sessions, 1);
	assert_int_equal(r->past->overlap_us, TIME_UNKNOWN);
	assert_int_equal(r->holder_since_us, start_us + 9000000);
	memory_release(&m);
}

static void one_name_elsewhere_is_another_process(void **state)
{
	struct observed o;
	struct memory m;

	(void)state;
	memory_init(&m);
	see(&m, 0, 0, &a, NULL, NULL);
	see(&m, 9, 0, &a_elsewhere, NULL, &o);
	assert_true(o.changed_hands);
	assert_false(o.new_session);
	memory_release(&m);
}

/* Two sessions that were there at once are no one session after the other. */
static void who_waited_is_another_process(void **state)
{
	struct observed o;
	struct memory m;

	(void)state;
	memory_init(&m);
	see(&m, 0, 0, &a, &a_again, NULL);
	see(&m, 9, 0, &a_again, NULL, &o);
	assert_true(o.changed_hands);
	assert_false(o.new_session);
	memory_release(&m);
}

static void free_and_taken_again(void **state)
{
	struct observed o;
	struct memory m;
	struct remembered *r;

	(void)state;
	memory_init(&m);
	see(&m, 0, 5, &a, NULL, NULL);
	memory_observe_gone(&m, "s/app:1", 5000, start_us + 5000000, &o);
	assert_true(o.freed);
	assert_string_equal(o.before, "node-a");
	memory_observe_gone(&m, "s/app:1", 6000, start_us + 6000000, &o);
	assert_false(o.freed);
	r = see(&m, 9, 6, &b, NULL, &o);
	assert_true(o.taken);
	assert_false(o.changed_hands || o.appeared);
	assert_int_equal(r->past->previous_until_us, start_us + 5000000);
	assert_int_equal(r->past->overlap_us, start_us + 9000000);
	r = see(&m, 10, 6, NULL, NULL, &o);
	assert_true(o.freed);
	assert_false(r->held);
	r = see(&m, 11, 7, &b, NULL, &o);
	assert_true(o.taken && r->held);
	assert_int_equal(r->holder_since_us, start_us + 11000000);
	memory_release(&m);
}

static void gone_of_what_was_never_seen(void **state)
{
	struct observed o;
	struct memory m;

	(void)state;
	memory_init(&m);
	memory_observe_gone(&m, "s/none", 1, 1, &o);
	assert_false(o.freed);
	assert_int_equal(m.n, 0);
	memory_release(&m);
}

static void a_token_that_falls_or_repeats(void **state)
{
	static const struct {
		int64_t before, after;
		bool regress;
	} cases[] = { { 5, 6, false }, { 5, 5, true }, { 5, 4, true }, { -3, -4, true },
		{ INT64_MIN, INT64_MAX, false }, { INT64_MAX, INT64_MIN, true } };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct observed o;
		struct memory m;
		struct remembered *r;

		memory_init(&m);
		see(&m, 0, cases[i].before, &a, NULL, NULL);
		r = see(&m, 9, cases[i].after, &b, NULL, &o);
		assert_int_equal(o.regressed, cases[i].regress);
		assert_int_equal(r->highest_token,
			cases[i].before > cases[i].after ? cases[i].before : cases[i].after);
		if (cases[i].regress) {
			assert_int_equal(r->past->token_before, cases[i].before);
			assert_int_equal(r->past->token_after, cases[i].after);
			assert_int_equal(r->past->regress_us, start_us + 9000000);
		}
		memory_release(&m);
	}
}

static void the_old_holder_queues_again(void **state)
{
	struct memory m;
	struct remembered *r;

	(void)state;
	memory_init(&m);
	see(&m, 0, 0, &a, NULL, NULL);
	r = see(&m, 9, 0, &b, NULL, NULL);
	assert_int_not_equal(r->past->overlap_us, TIME_UNKNOWN);
	r = see(&m, 10, 0, &b, &c, NULL);
	assert_int_not_equal(r->past->overlap_us, TIME_UNKNOWN);
	r = see(&m, 11, 0, &b, &a_again, NULL);
	assert_int_equal(r->past->overlap_us, TIME_UNKNOWN);
	memory_release(&m);
}

static void a_session_under_another_name(void **state)
{
	static const struct facts_claim lent = { "web", "1@1", "10.0.0.1" };
	struct observed o;
	struct memory m;
	struct remembered *r;

	(void)state;
	memory_init(&m);
	see(&m, 0, 0, &a, NULL, NULL);
	r = see(&m, 9, 0, &lent, NULL, &o);
	assert_false(o.changed_hands || o.new_session);
	assert_int_equal(r->past->renamed_us, start_us + 9000000);
	assert_string_equal(remembered_identity(r), "web");
	assert_int_equal(r->holder_since_us, start_us);
	memory_release(&m);
}

/* Of those that share a lock the one that we knew stays ours; another of its name does not stand
 * in. */
static void several_holders(void **state)
{
	static const struct facts_claim all[] = { { "node-c", "3@1", NULL },
		{ "node-a", "9@1", "10.0.0.1" }, { "node-a", "1@1", "10.0.0.1" } };
	struct singleton *s;
	struct observed o;
	struct memory m;
	size_t i;

	(void)state;
	memory_init(&m);
	see(&m, 0, 0, &a, NULL, NULL);
	draft_begin(draft, MECH_PG_ADVISORY, "s", "app:1", 5);
	for (i = 0; i < 3; i++)
		facts_add(draft, CLAIM_HOLDER, &all[i]);
	s = draft_finish(draft);
	memory_observe(&m, s, 9000, start_us + 9000000, &o);
	assert_false(o.changed_hands || o.new_session);
	assert_string_equal(remembered_key(memory_find(&m, "s/app:1")), "1@1");
	singleton_unref(s);
	memory_release(&m);
}

static void sharing_is_no_overlap(void **state)
{
	struct singleton *s;
	struct remembered *r;
	struct memory m;

	(void)state;
	memory_init(&m);
	see(&m, 0, 0, &a, NULL, NULL);
	draft_begin(draft, MECH_PG_ADVISORY, "s", "app:1", 5);
	facts_add(draft, CLAIM_HOLDER, &b);
	draft_text(draft, DETAIL_MODE, "share");
	s = draft_finish(draft);
	r = memory_observe(&m, s, 9000, start_us + 9000000, NULL);
	assert_int_equal(r->past->n_changes, 1);
	assert_int_equal(r->past->overlap_us, TIME_UNKNOWN);
	singleton_unref(s);
	memory_release(&m);
}

/* The count of sessions is the present process'. */
static void another_process_starts_a_new_count(void **state)
{
	struct memory m;
	struct remembered *r;

	(void)state;
	memory_init(&m);
	see(&m, 0, 0, &a, NULL, NULL);
	r = see(&m, 1, 0, &a_again, NULL, NULL);
	assert_int_equal(r->past->sessions, 1);
	r = see(&m, 2, 0, &b, NULL, NULL);
	assert_int_equal(r->past->sessions, 0);
	memory_release(&m);
}

static struct singleton *leased(int64_t deadline_ms, int64_t read_ms)
{
	draft_begin(draft, MECH_ETCD_ELECTION, "s", "app:1", 5);
	draft_lease(draft, 15000, deadline_ms, read_ms);
	facts_add(draft, CLAIM_HOLDER, &a);
	return draft_finish(draft);
}

static void a_renewal_is_a_change(void **state)
{
	static const struct {
		int64_t deadline;
		bool renewed;
	} cases[] = { { 16000, false }, { 16500, false }, { 16501, true }, { 31000, true },
		{ 1000, false }, { TIME_UNKNOWN, false } };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct singleton *before = leased(16000, 1000), *after;
		struct observed o;
		struct memory m;
		struct remembered *r;

		memory_init(&m);
		after = leased(cases[i].deadline, 6000);
		memory_observe(&m, before, 1000, start_us, &o);
		assert_false(o.renewed);
		r = memory_observe(&m, after, 6100, start_us + 5100000, &o);
		assert_int_equal(o.renewed, cases[i].renewed);
		assert_int_equal(r->last_change_ms, cases[i].renewed ? 6000 : 1000);
		memory_release(&m);
		singleton_unref(before);
		singleton_unref(after);
	}
}

static void holders_are_counted_within_a_window(void **state)
{
	struct facts_claim holder = { "", "", NULL };
	struct remembered *r = NULL;
	char name[16];
	struct memory m;
	int i;

	(void)state;
	memory_init(&m);
	for (i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		holder.identity = holder.key = name;
		r = see(&m, i * 10, 0, &holder, NULL, NULL);
	}
	/* The last change was at 390 s. */
	assert_int_equal(remembered_holders(r, 1, start_us + 390000000), 2);
	assert_int_equal(remembered_holders(r, 10000, start_us + 390000000), 2);
	assert_int_equal(remembered_holders(r, 10001, start_us + 390000000), 3);
	assert_int_equal(remembered_holders(r, 3600000, start_us + 390000000), MEMORY_CHANGES + 1);
	assert_int_equal(remembered_holders(r, 1000, start_us + 391000000), 1);
	memory_release(&m);
}

static void an_endless_name_is_cut_but_known_again(void **state)
{
	char *name = malloc(9001);
	struct facts_claim holder = { name, "1@1", NULL };
	struct observed o;
	struct memory m;

	(void)state;
	memset(name, 'x', 9000);
	name[9000] = '\0';
	memory_init(&m);
	see(&m, 0, 0, &holder, NULL, NULL);
	see(&m, 1, 0, &holder, NULL, &o);
	assert_false(o.changed_hands || o.new_session);
	see(&m, 2, 0, &b, NULL, &o);
	assert_int_equal(strlen(o.before), sizeof(o.before) - 1);
	memory_release(&m);
	free(name);
}

/* ---- forgetting ---- */

static void see_number(struct memory *m, int number, int64_t at)
{
	char path[32];
	struct singleton *s;

	snprintf(path, sizeof(path), "%d", number);
	s = facts_make(draft, MECH_PG_ADVISORY, path, 0, &a, NULL);
	memory_observe(m, s, at * 1000, start_us + at * 1000000, NULL);
	singleton_unref(s);
}

static void forgets_what_was_not_seen_for_longest(void **state)
{
	struct memory m;
	char id[32];
	int i;

	(void)state;
	memory_init(&m);
	m.cap = 64;
	for (i = 0; i < 64; i++)
		see_number(&m, i, i);
	assert_int_equal(m.n, 64);
	/* The oldest half is still in the picture, the younger half is gone from it. */
	for (i = 32; i < 64; i++) {
		snprintf(id, sizeof(id), "s/%d", i);
		memory_observe_gone(&m, id, 100000, start_us + 100000000, NULL);
	}
	for (i = 64; i < 80; i++)
		see_number(&m, i, i + 100);
	assert_true(m.n <= 64);
	for (i = 0; i < 32; i++) {
		snprintf(id, sizeof(id), "s/%d", i);
		assert_non_null(memory_find(&m, id));
	}
	assert_null(memory_find(&m, "s/32"));
	assert_non_null(memory_find(&m, "s/79"));
	memory_release(&m);
}

static void more_rows_than_the_cap_go_through(void **state)
{
	struct memory m;
	int i;

	(void)state;
	memory_init(&m);
	m.cap = 16;
	for (i = 0; i < 1000; i++) {
		see_number(&m, i, i);
		assert_true(m.n <= 16);
	}
	memory_release(&m);
}

/* ---- the file ---- */

/* A memory with something of everything; settle: packed after each step. */
static void fill_packed(struct memory *m, uint64_t seed, int n, bool settle)
{
	static const struct facts_claim *const all[] = { &a, &a_again, &a_elsewhere, &b, &c };
	static const enum mechanism mechanisms[] = { MECH_PG_ADVISORY, MECH_ETCD_ELECTION,
		MECH_ETCD_LOCK, MECH_ETCD_KEY };
	int i;

	memory_init(m);
	for (i = 0; i < n; i++) {
		char path[64];
		int64_t at = (int64_t)unit_pick(&seed, 100000);
		const struct facts_claim *holder =
			unit_pick(&seed, 6) ? all[unit_pick(&seed, 5)] : NULL;
		const struct facts_claim *waiter;
		enum mechanism mechanism;
		int64_t token;
		struct singleton *s;
		struct remembered *r;

		/* One after the other: arguments may be evaluated in any order. */
		snprintf(path, sizeof(path), "p%zu\\x0a\xc3\xa4",
			unit_pick(&seed, (size_t)n / 4 + 1));
		mechanism = mechanisms[unit_pick(&seed, 4)];
		token = unit_pick(&seed, 2) ? (int64_t)unit_random(&seed) : 0;
		waiter = unit_pick(&seed, 2) ? all[unit_pick(&seed, 5)] : NULL;
		s = facts_make(draft, mechanism, path, token, holder, waiter);
		r = memory_observe(m, s, at * 1000, start_us + at * 1000000, NULL);
		memory_note_state(
			m, r, (enum state)unit_pick(&seed, STATE_COUNT), start_us + at * 1000000);
		if (unit_pick(&seed, 8) == 0)
			memory_observe_gone(m, s->id, at * 1000, start_us + at * 1000000, NULL);
		singleton_unref(s);
		if (settle)
			memory_settle(m);
	}
}

static void fill(struct memory *m, uint64_t seed, int n)
{
	fill_packed(m, seed, n, false);
}

static void same_past(const struct remembered_past *x, const struct remembered_past *y)
{
	uint32_t i;

	assert_int_equal(x->n_changes, y->n_changes);
	for (i = 0; i < MEMORY_CHANGES && i < x->n_changes; i++)
		assert_int_equal(x->changes_us[i], y->changes_us[i]);
	assert_int_equal(x->sessions, y->sessions);
	assert_int_equal(x->first_session_us, y->first_session_us);
	assert_int_equal(x->session_since_us, y->session_since_us);
	assert_int_equal(x->previous_since_us, y->previous_since_us);
	assert_int_equal(x->previous_until_us, y->previous_until_us);
	assert_int_equal(x->previous_seen_us, y->previous_seen_us);
	assert_int_equal(x->overlap_us, y->overlap_us);
	assert_int_equal(x->renamed_us, y->renamed_us);
	assert_int_equal(x->regress_us, y->regress_us);
	assert_int_equal(x->token_before, y->token_before);
	assert_int_equal(x->token_after, y->token_after);
	assert_true(str_eq(x->previous_key, y->previous_key));
	assert_true(str_eq(x->previous_identity, y->previous_identity));
	assert_true(str_eq(x->previous_client, y->previous_client));
}

static void same_entry(const struct remembered *x, const struct remembered *y)
{
	assert_string_equal(x->id, y->id);
	assert_int_equal(x->known_since_us, y->known_since_us);
	assert_int_equal(x->last_seen_us, y->last_seen_us);
	assert_int_equal(x->holder_since_us, y->holder_since_us);
	assert_int_equal(x->state_since_us, y->state_since_us);
	assert_int_equal(x->last_change_us, y->last_change_us);
	assert_int_equal(x->state, y->state);
	assert_int_equal(x->mechanism, y->mechanism);
	assert_int_equal(x->held, y->held);
	assert_int_equal(x->has_highest, y->has_highest);
	if (x->has_highest)
		assert_int_equal(x->highest_token, y->highest_token);
	assert_true(str_eq(remembered_key(x), remembered_key(y)));
	assert_true(str_eq(remembered_identity(x), remembered_identity(y)));
	assert_true(str_eq(remembered_client(x), remembered_client(y)));
	assert_int_equal(!x->past, !y->past);
	if (x->past)
		same_past(x->past, y->past);
}

static void same_memory(struct memory *x, struct memory *y)
{
	const struct remembered *r;
	size_t pos = 0;

	assert_int_equal(x->n, y->n);
	while ((r = memory_next(x, &pos)) != NULL) {
		const struct remembered *other = memory_find(y, r->id);

		assert_non_null(other);
		same_entry(r, other);
	}
}

static void same_run(const struct remembered *x, const struct remembered *y)
{
	assert_int_equal(x->present, y->present);
	assert_int_equal(x->queue, y->queue);
	assert_int_equal(x->last_change_ms, y->last_change_ms);
	assert_int_equal(x->lease_deadline_ms, y->lease_deadline_ms);
	if (x->past)
		assert_int_equal(x->past->previous_left_ms, y->past->previous_left_ms);
}

static void what_is_packed_is_the_same(void **state)
{
	uint64_t seed;

	(void)state;
	for (seed = 1; seed <= 40; seed++) {
		struct memory open, packed;
		struct remembered *r;
		size_t pos = 0;

		fill_packed(&open, seed, (int)(seed * seed), false);
		fill_packed(&packed, seed, (int)(seed * seed), true);
		assert_int_equal(packed.n_opened, 0);
		same_memory(&open, &packed);
		while ((r = memory_next(&open, &pos)) != NULL)
			same_run(r, memory_find(&packed, r->id));
		memory_release(&open);
		memory_release(&packed);
	}
}

/* Of etcd the key that binds a claim tells its token: it is kept once. */
static void a_key_of_a_revision_is_the_token(void **state)
{
	static const struct {
		const char *key;
		int64_t token;
	} cases[] = { { "rev:5", 5 }, { "rev:6", 5 }, { "rev:05", 5 }, { "rev:5 ", 5 },
		{ "rev:-7", -7 }, { "rev:9223372036854775807", INT64_MAX }, { "rev:", 0 },
		{ "rev:0", 0 } };
	struct str bytes;
	size_t i;

	(void)state;
	str_init(&bytes, 1 << 20);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct facts_claim holder = { "node-a", cases[i].key, "" };
		struct memory m, back;
		struct remembered *r;

		memory_init(&m);
		memory_init(&back);
		r = see(&m, 5, 1, &holder, NULL, NULL);
		r->has_highest = true;
		r->highest_token = cases[i].token;
		str_clear(&bytes);
		memory_write(&m, &bytes);
		assert_int_equal(memory_read(&back, bytes.s, bytes.len, NULL), 0);
		same_memory(&m, &back);
		assert_string_equal(remembered_key(memory_find(&back, "s/app:1")), cases[i].key);
		memory_release(&m);
		memory_release(&back);
	}
	str_release(&bytes);
}

static void packed_entries_keep_the_ends_of_their_numbers(void **state)
{
	static const int64_t ends[] = { INT64_MIN + 1, -1, 0, INT64_MAX - 1 };
	struct memory m;
	struct remembered *r;
	size_t i;

	(void)state;
	memory_init(&m);
	for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		r = see(&m, 5, ends[i], &a, &b, NULL);
		r->has_highest = true;
		r->highest_token = ends[i];
		r->lease_deadline_ms = ends[i];
		r->queue = UINT64_MAX;
		memory_settle(&m);
		r = memory_find(&m, "s/app:1");
		assert_int_equal(r->highest_token, ends[i]);
		assert_int_equal(r->lease_deadline_ms, ends[i]);
		assert_true(r->queue == UINT64_MAX);
	}
	memory_release(&m);
}

/* Entries that change all the time leave older forms behind, which must go. */
static void what_changes_takes_no_more_room(void **state)
{
	struct memory m;
	size_t after = 0;
	int round, i;

	(void)state;
	memory_init(&m);
	for (round = 0; round < 200; round++) {
		for (i = 0; i < 5000; i++) {
			see_number(&m, i, (int64_t)round * round * 977);
			memory_settle_many(&m);
		}
		memory_settle(&m);
		if (round == 1)
			after = m.log_len;
	}
	assert_int_equal(m.n, 5000);
	assert_true(m.log_len < 3 * after + 512 * 1024);
	assert_non_null(memory_find(&m, "s/4999"));
	memory_release(&m);
}

/* While a source is watched, few entries stay open: they are asked for again and again. */
static void few_that_are_watched_stay_open(void **state)
{
	struct memory m;
	struct remembered *r;
	int i;

	(void)state;
	memory_init(&m);
	for (i = 0; i < 1000; i++) {
		see_number(&m, i, 1);
		memory_settle_many(&m);
	}
	memory_settle(&m);
	r = memory_find(&m, "s/7");
	for (i = 0; i < 1000; i++) {
		see_number(&m, i, 2);
		memory_settle_watched(&m);
	}
	assert_int_equal(m.n_opened, 1000);
	assert_ptr_equal(memory_find(&m, "s/7"), r);
	memory_settle(&m);
	assert_int_equal(m.n_opened, 0);
	for (i = 1000; i < 17000; i++) {
		see_number(&m, i, 3);
		memory_settle_watched(&m);
	}
	assert_true(m.n_opened < 1000);
	memory_release(&m);
}

static void a_look_is_seen_by_all_that_is_present(void **state)
{
	struct memory m;

	(void)state;
	memory_init(&m);
	see_number(&m, 1, 10);
	see_number(&m, 2, 10);
	memory_observe_gone(&m, "s/2", 11000, start_us + 11000000, NULL);
	memory_seen(&m, start_us + 60000000);
	assert_int_equal(memory_find(&m, "s/1")->last_seen_us, start_us + 60000000);
	assert_int_equal(memory_find(&m, "s/2")->last_seen_us, start_us + 10000000);
	/* What comes back later was not seen meanwhile. */
	memory_observe_gone(&m, "s/1", 61000, start_us + 61000000, NULL);
	memory_seen(&m, start_us + 90000000);
	assert_int_equal(memory_find(&m, "s/1")->last_seen_us, start_us + 60000000);
	memory_release(&m);
}

/* One name that no file may hold costs the others nothing. */
static void an_endless_id_is_kept_for_this_run(void **state)
{
	size_t len = 100000;
	char *path = malloc(len + 1);
	struct memory m, back;
	struct singleton *s;
	struct str bytes;

	(void)state;
	memset(path, 'x', len);
	path[len] = '\0';
	memory_init(&m);
	memory_init(&back);
	see_number(&m, 1, 10);
	s = facts_make(draft, MECH_PG_ADVISORY, path, 0, &a, NULL);
	memory_observe(&m, s, 10000, start_us + 10000000, NULL);
	see_number(&m, 2, 10);
	memory_settle(&m);
	assert_string_equal(remembered_identity(memory_find(&m, s->id)), "node-a");
	str_init(&bytes, 1 << 24);
	memory_write(&m, &bytes);
	assert_int_equal(memory_read(&back, bytes.s, bytes.len, NULL), 0);
	assert_int_equal(back.n, 2);
	singleton_unref(s);
	memory_release(&m);
	memory_release(&back);
	str_release(&bytes);
	free(path);
}

static void what_is_written_is_read(void **state)
{
	uint64_t seed;

	(void)state;
	for (seed = 1; seed <= 40; seed++) {
		struct memory m, back;
		struct remembered *r;
		struct err err = { 0 };
		struct str bytes;
		size_t pos = 0;

		fill(&m, seed, (int)(seed * seed));
		str_init(&bytes, 1 << 24);
		str_add(&bytes, "before");
		memory_write(&m, &bytes);
		memory_init(&back);
		assert_int_equal(memory_read(&back, bytes.s + 6, bytes.len - 6, &err), 0);
		same_memory(&m, &back);
		/* What only this run knows is not there. */
		while ((r = memory_next(&back, &pos)) != NULL) {
			assert_int_equal(r->last_change_ms, TIME_UNKNOWN);
			assert_int_equal(r->lease_deadline_ms, TIME_UNKNOWN);
			assert_false(r->present);
		}
		/* To read the same again changes nothing. */
		assert_int_equal(memory_read(&back, bytes.s + 6, bytes.len - 6, &err), 0);
		same_memory(&m, &back);
		memory_release(&m);
		memory_release(&back);
		str_release(&bytes);
	}
}

static void the_first_version_is_read(void **state)
{
	struct memory m, old;

	(void)state;
	fill(&m, 7, 12);
	memory_init(&old);
	assert_int_equal(memory_read(&old, memory_version_1, sizeof(memory_version_1), NULL), 0);
	assert_true(old.n > 1);
	same_memory(&m, &old);
	memory_release(&m);
	memory_release(&old);
}

struct full_sink {
	int calls, fails_at;
};

static int sink_until(void *arg, const void *mem, size_t len)
{
	struct full_sink *sink = arg;

	(void)mem;
	assert_true(len > 0);
	return ++sink->calls == sink->fails_at ? ERR_IO : 0;
}

/* A disk that is full in the middle is asked no more. */
static void a_failed_write_is_not_gone_on_with(void **state)
{
	struct full_sink sink = { .fails_at = 2 };
	char head[MEMORY_HEAD_SIZE];
	struct memory m;
	int i;

	(void)state;
	memory_init(&m);
	for (i = 0; i < 10000; i++) {
		see_number(&m, i, i);
		memory_settle_many(&m);
	}
	assert_int_equal(memory_write_to(&m, sink_until, &sink, head), ERR_IO);
	assert_int_equal(sink.calls, 2);
	sink = (struct full_sink){ .fails_at = -1 };
	assert_int_equal(memory_write_to(&m, sink_until, &sink, head), 0);
	assert_true(sink.calls > 2);
	memory_release(&m);
}

static void an_empty_memory_is_a_file_too(void **state)
{
	struct memory m;
	struct str bytes;

	(void)state;
	memory_init(&m);
	str_init(&bytes, 1000);
	memory_write(&m, &bytes);
	assert_int_equal(memory_read(&m, bytes.s, bytes.len, NULL), 0);
	assert_int_equal(m.n, 0);
	str_release(&bytes);
	memory_release(&m);
}

/* CRC-32 once more, bit by bit: the reference for the table in the program. */
static uint32_t slow_crc(const unsigned char *p, size_t len)
{
	uint32_t crc = UINT32_MAX;
	int bit;

	while (len-- > 0) {
		crc ^= *p++;
		for (bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ UINT32_C(0xedb88320) : crc >> 1;
	}
	return ~crc;
}

static void set_crc(unsigned char *file, size_t len)
{
	uint32_t crc = slow_crc(file + 24, len - 24);
	int i;

	for (i = 0; i < 4; i++)
		file[12 + i] = (unsigned char)(crc >> (8 * i));
}

static void the_checksum_is_crc_32(void **state)
{
	struct memory m;
	struct str bytes;
	unsigned char *copy;

	(void)state;
	assert_int_equal(slow_crc((const unsigned char *)"123456789", 9), 0xcbf43926);
	fill(&m, 3, 57);
	str_init(&bytes, 1 << 20);
	memory_write(&m, &bytes);
	copy = malloc(bytes.len);
	memcpy(copy, bytes.s, bytes.len);
	set_crc(copy, bytes.len);
	assert_memory_equal(copy, bytes.s, bytes.len);
	free(copy);
	str_release(&bytes);
	memory_release(&m);
}

static void refused(const void *bytes, size_t len)
{
	/* A block of that very size, so that a sanitizer sees each step beyond it. */
	unsigned char *exact = malloc(len ? len : 1);
	struct err err = { 0 };
	struct memory m;

	memcpy(exact, bytes, len);
	memory_init(&m);
	see_number(&m, 1, 1);
	assert_int_equal(memory_read(&m, exact, len, &err), ERR_PROTO);
	assert_int_equal(err.code, ERR_PROTO);
	assert_true(strlen(err.text) > 10);
	assert_int_equal(m.n, 1);
	memory_release(&m);
	free(exact);
}

static void a_cut_file_adds_nothing(void **state)
{
	struct memory m;
	struct str bytes;
	size_t len;

	(void)state;
	fill(&m, 5, 30);
	str_init(&bytes, 1 << 20);
	memory_write(&m, &bytes);
	for (len = 0; len < bytes.len; len++)
		refused(bytes.s, len);
	str_add_char(&bytes, 'x');
	refused(bytes.s, bytes.len);
	str_release(&bytes);
	memory_release(&m);
}

static void any_flipped_bit_is_seen(void **state)
{
	struct memory m;
	struct str bytes;
	size_t i;

	(void)state;
	fill(&m, 6, 20);
	str_init(&bytes, 1 << 20);
	memory_write(&m, &bytes);
	for (i = 0; i < bytes.len * 8; i++) {
		bytes.s[i / 8] ^= (char)(1 << (i % 8));
		refused(bytes.s, bytes.len);
		bytes.s[i / 8] ^= (char)(1 << (i % 8));
	}
	str_release(&bytes);
	memory_release(&m);
}

static void another_version_is_named(void **state)
{
	struct err err = { 0 };
	struct memory m;
	struct str bytes;

	(void)state;
	memory_init(&m);
	str_init(&bytes, 1 << 20);
	memory_write(&m, &bytes);
	bytes.s[8] = 77;
	assert_int_equal(memory_read(&m, bytes.s, bytes.len, &err), ERR_PROTO);
	assert_non_null(strstr(err.text, "version 77"));
	str_release(&bytes);
	memory_release(&m);
}

/* Whoever can write a checksum can write anything: it must be read within its bounds, or refused.
 */
static void hostile_bytes_with_a_right_checksum(void **state)
{
	uint64_t seed = 12345;
	struct memory m;
	struct str bytes;
	int round, accepted = 0;

	(void)state;
	fill(&m, 7, 12);
	str_init(&bytes, 1 << 20);
	memory_write(&m, &bytes);
	for (round = 0; round < 20000; round++) {
		size_t len = bytes.len, i, changes = 1 + unit_pick(&seed, 4);
		unsigned char *copy = malloc(len);
		struct memory back;

		memcpy(copy, bytes.s, len);
		for (i = 0; i < changes; i++)
			copy[24 + unit_pick(&seed, len - 24)] = (unsigned char)unit_random(&seed);
		set_crc(copy, len);
		memory_init(&back);
		if (memory_read(&back, copy, len, NULL) == 0) {
			struct remembered *r;
			size_t pos = 0;

			accepted++;
			while ((r = memory_next(&back, &pos)) != NULL)
				remembered_holders(r, 600000, start_us);
		} else {
			assert_int_equal(back.n, 0);
		}
		memory_release(&back);
		free(copy);
	}
	assert_true(accepted > 100);
	str_release(&bytes);
	memory_release(&m);
}

/* ---- two consoles ---- */

/* What m has written is read by `to`. */
static void pass_on(struct memory *m, struct memory *to)
{
	struct str bytes;

	str_init(&bytes, 1 << 20);
	memory_write(m, &bytes);
	assert_int_equal(memory_read(to, bytes.s, bytes.len, NULL), 0);
	str_release(&bytes);
}

static void two_consoles_know_what_both_know(void **state)
{
	struct memory one, two;
	struct remembered *r;

	(void)state;
	memory_init(&one);
	memory_init(&two);
	see(&one, 0, 10, &a, NULL, NULL);
	see(&two, 50, 10, &a, NULL, NULL);
	see(&two, 60, 12, &b, NULL, NULL);
	see_number(&two, 9, 70);
	pass_on(&two, &one);
	r = memory_find(&one, "s/app:1");
	assert_int_equal(r->known_since_us, start_us);
	assert_int_equal(r->highest_token, 12);
	assert_int_equal(r->past->n_changes, 1);
	assert_string_equal(r->past->previous_identity, "node-a");
	/* one has the row in its own picture: who holds it there is its own to see. */
	assert_string_equal(remembered_identity(r), "node-a");
	assert_non_null(memory_find(&one, "s/9"));
	memory_release(&one);
	memory_release(&two);
}

/* A change of hands is as exact as the two looks between which it lies. */
static void the_last_look_before_a_change_is_kept(void **state)
{
	struct memory m, later;
	struct remembered *r;

	(void)state;
	memory_init(&m);
	see(&m, 0, 0, &a, NULL, NULL);
	memory_confirm(&m, 1000, start_us, true);
	memory_confirm(&m, 501000, start_us + 500000000, true);
	r = see(&m, 501, 0, &b, NULL, NULL);
	assert_int_equal(r->past->previous_seen_us, start_us + 500000000);
	memory_init(&later);
	pass_on(&m, &later);
	r = see(&later, 9000, 0, &c, NULL, NULL);
	assert_int_equal(r->past->previous_seen_us, start_us + 501000000);
	see(&later, 9001, 0, NULL, NULL, NULL);
	r = see(&later, 9002, 0, &a, NULL, NULL);
	assert_int_equal(r->past->previous_seen_us, TIME_UNKNOWN);
	assert_int_equal(r->past->previous_until_us, start_us + INT64_C(9001000000));
	memory_release(&m);
	memory_release(&later);
}

static void what_went_between_two_runs_is_free(void **state)
{
	struct memory m, later;
	struct remembered *r;

	(void)state;
	memory_init(&m);
	see(&m, 0, 0, &a, NULL, NULL);
	memory_init(&later);
	pass_on(&m, &later);
	see_number(&later, 9, 100);
	memory_confirm(&later, 100000, start_us + 100000000, true);
	r = memory_find(&later, "s/app:1");
	assert_false(r->held);
	assert_int_equal(r->last_change_us, start_us + 100000000);
	/* Only the first picture of a run tells that. */
	assert_true(memory_find(&later, "s/9")->present);
	memory_release(&m);
	memory_release(&later);
}

/* A clock that was an hour ahead, and was set right: nothing was seen in the future. */
static void a_clock_that_is_set_back_takes_the_memory_along(void **state)
{
	const int64_t now_us = start_us + 50000000;
	struct memory m;
	struct remembered *r;

	(void)state;
	memory_init(&m);
	see(&m, 0, 9, &a, NULL, NULL);
	see(&m, 3600, 4, &b, NULL, NULL);
	see(&m, 3700, 4, &b, NULL, NULL);
	memory_confirm(&m, 1, start_us + INT64_C(3700000000), true);
	assert_true(memory_set_back(&m, now_us));
	assert_false(memory_set_back(&m, now_us));
	r = memory_find(&m, "s/app:1");
	assert_int_equal(r->known_since_us, start_us);
	assert_int_equal(r->holder_since_us, now_us);
	assert_int_equal(r->last_seen_us, now_us);
	assert_int_equal(r->past->previous_until_us, now_us);
	assert_int_equal(r->past->regress_us, now_us);
	assert_int_equal(r->past->renamed_us, TIME_UNKNOWN);
	assert_int_equal(m.confirmed_us, now_us);
	memory_release(&m);
}

static void what_was_seen_last_counts_after_a_restart(void **state)
{
	struct memory old, newer, run;
	struct remembered *r;

	(void)state;
	memory_init(&old);
	memory_init(&newer);
	memory_init(&run);
	see(&old, 0, 10, &a, NULL, NULL);
	see(&newer, 60, 12, &b, NULL, NULL);
	memory_note_state(&newer, memory_find(&newer, "s/app:1"), STATE_CONTENDED, start_us);
	pass_on(&newer, &run);
	pass_on(&old, &run);
	r = memory_find(&run, "s/app:1");
	assert_string_equal(remembered_identity(r), "node-b");
	assert_int_equal(r->state, STATE_CONTENDED);
	assert_int_equal(r->known_since_us, start_us);
	memory_release(&run);
	memory_init(&run);
	pass_on(&old, &run);
	pass_on(&newer, &run);
	r = memory_find(&run, "s/app:1");
	assert_string_equal(remembered_identity(r), "node-b");
	assert_int_equal(r->highest_token, 12);
	memory_release(&run);
	memory_release(&old);
	memory_release(&newer);
}

static void an_alarm_is_not_lost_by_merging(void **state)
{
	struct memory one, two;
	struct remembered *r;

	(void)state;
	memory_init(&one);
	memory_init(&two);
	see(&one, 0, 10, &a, NULL, NULL);
	see(&one, 1, 11, &b, NULL, NULL);
	see(&one, 2, 12, &c, NULL, NULL);
	see(&two, 0, 10, &a, NULL, NULL);
	see(&two, 5, 9, &b, NULL, NULL);
	pass_on(&two, &one);
	r = memory_find(&one, "s/app:1");
	assert_int_equal(r->past->n_changes, 2);
	assert_int_equal(r->past->regress_us, start_us + 5000000);
	assert_int_equal(r->past->token_after, 9);
	memory_release(&one);
	memory_release(&two);
}

/* A poll that failed half way showed a holder before the file was read. */
static void a_low_token_shows_when_the_file_comes_late(void **state)
{
	static const struct {
		int64_t seen_at, token;
		const struct facts_claim *holder;
		bool regress;
	} cases[] = { { 60, 9, &b, true }, { 60, 10, &b, true }, { 60, 11, &b, false },
		{ 60, 10, &a, false }, { -60, 9, &b, false } };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct memory file, run;
		struct remembered *r;

		memory_init(&file);
		memory_init(&run);
		see(&file, 0, 10, &a, NULL, NULL);
		see(&run, cases[i].seen_at, cases[i].token, cases[i].holder, NULL, NULL);
		pass_on(&file, &run);
		r = memory_find(&run, "s/app:1");
		assert_int_equal(r->past && r->past->regress_us != TIME_UNKNOWN, cases[i].regress);
		assert_true(r->highest_token >= 10);
		memory_release(&file);
		memory_release(&run);
	}
}

static void a_merge_keeps_the_cap(void **state)
{
	struct memory many, few;
	int i;

	(void)state;
	memory_init(&many);
	memory_init(&few);
	few.cap = 50;
	for (i = 0; i < 200; i++)
		see_number(&many, i, i);
	pass_on(&many, &few);
	assert_true(few.n <= 50 && few.n >= 40);
	assert_non_null(memory_find(&few, "s/199"));
	assert_null(memory_find(&few, "s/0"));
	pass_on(&many, &few);
	assert_true(few.n <= 50);
	memory_release(&many);
	memory_release(&few);
}

/* ---- Leases and CronJobs ---- */

static struct remembered *see_lease(struct memory *m, int64_t at, const char *key,
	const char *identity, int64_t token, int64_t renewed, struct observed *o)
{
	struct singleton *s;
	struct remembered *r;

	draft_begin(draft, MECH_K8S_LEASE, "s", "lease/a/b", 9);
	draft_token(draft, TOKEN_LEASE_TRANSITIONS, token);
	draft_int(draft, DETAIL_RENEW_TIME, renewed);
	draft_int(draft, DETAIL_DURATION, 15);
	draft_int(draft, DETAIL_SKEW, at);
	draft_claim(draft, CLAIM_HOLDER, identity, strlen(identity), key);
	s = draft_finish(draft);
	r = memory_observe(m, s, 1000 + at * 1000, start_us + at * 1000000, o);
	singleton_unref(s);
	return r;
}

/* A round through the file, as a command that ends and the next one make it. */
static void reload(struct memory *m)
{
	struct err err = { 0 };
	struct str bytes;

	str_init(&bytes, 1 << 20);
	memory_write(m, &bytes);
	memory_release(m);
	memory_init(m);
	assert_int_equal(memory_read(m, bytes.s, bytes.len, &err), 0);
	str_release(&bytes);
}

static void a_lease_changes_when_its_record_does(void **state)
{
	struct observed o;
	struct memory m;
	struct remembered *r;

	(void)state;
	memory_init(&m);
	r = see_lease(&m, 0, "uid:1/n/4", "n", 4, 100, &o);
	assert_false(o.renewed);
	assert_true(r->last_change_us == start_us && r->last_change_ms == 1000);
	/* Other facts of it are no sign of life. */
	r = see_lease(&m, 5, "uid:1/n/4", "n", 4, 100, &o);
	assert_false(o.renewed);
	assert_true(r->last_change_us == start_us);
	r = see_lease(&m, 6, "uid:1/n/4", "n", 4, 101, &o);
	assert_true(o.renewed);
	assert_true(r->last_change_us == start_us + 6000000 && r->last_change_ms == 7000);
	/* The next command knows the record again, and that it has not changed. */
	reload(&m);
	r = see_lease(&m, 60, "uid:1/n/4", "n", 4, 101, &o);
	assert_false(o.renewed || o.changed_hands);
	assert_true(r->last_change_us == start_us + 6000000);
	assert_true(r->last_change_ms == TIME_UNKNOWN);
	reload(&m);
	r = see_lease(&m, 120, "uid:1/n/4", "n", 4, 102, &o);
	assert_true(o.renewed);
	assert_true(r->last_change_ms == 121000);
	memory_release(&m);
}

static void a_lease_that_was_made_anew_counts_anew(void **state)
{
	struct observed o;
	struct memory m, old;
	struct remembered *r;

	(void)state;
	memory_init(&m);
	see_lease(&m, 0, "uid:1/n/41", "n", 41, 100, NULL);
	r = see_lease(&m, 5, "uid:2/k/0", "k", 0, 105, &o);
	assert_true(o.regressed && r->past->reissued);
	assert_int_equal(r->past->token_before, 41);
	assert_int_equal(r->highest_token, 0);
	/* Another console's file from before does not bring the old count back. */
	memory_init(&old);
	see_lease(&old, 0, "uid:1/n/41", "n", 41, 100, NULL);
	pass_on(&old, &m);
	memory_release(&old);
	assert_int_equal(r->highest_token, 0);
	reload(&m);
	r = see_lease(&m, 20, "uid:2/n/1", "n", 1, 120, &o);
	assert_false(o.regressed);
	assert_true(r->past->reissued && r->highest_token == 1);
	/* Within one object a fall is one. */
	r = see_lease(&m, 30, "uid:2/k/1", "k", 1, 130, &o);
	assert_true(o.regressed);
	assert_false(r->past->reissued);
	memory_release(&m);
}

static void a_pod_that_starts_again_is_one_holder(void **state)
{
	static const char first[] = "app-1_11111111-2222-3333-4444-555555555555";
	static const char second[] = "app-1_66666666-2222-3333-4444-555555555555";
	static const char other[] = "app-10_66666666-2222-3333-4444-555555555555";
	struct observed o;
	struct memory m;

	(void)state;
	memory_init(&m);
	see_lease(&m, 0, "uid:1/1/1", first, 1, 100, NULL);
	see_lease(&m, 5, "uid:1/2/2", second, 2, 105, &o);
	assert_true(o.new_session && !o.changed_hands);
	see_lease(&m, 9, "uid:1/3/3", other, 3, 109, &o);
	assert_true(o.changed_hands);
	/* What only looks like such an end is part of a name. */
	see_lease(&m, 12, "uid:1/4/4", "team_a", 4, 112, &o);
	see_lease(&m, 15, "uid:1/5/5", "team_b", 5, 115, &o);
	assert_true(o.changed_hands);
	memory_release(&m);
}

static struct remembered *see_run(
	struct memory *m, int64_t at, const char *name, struct observed *o)
{
	struct singleton *s;
	struct remembered *r;

	draft_begin(draft, MECH_K8S_CRONJOB, "s", "cronjob/a/b", 11);
	if (name)
		draft_claim(draft, CLAIM_HOLDER, name, strlen(name), name);
	s = draft_finish(draft);
	r = memory_observe(m, s, 1000 + at * 1000, start_us + at * 1000000, o);
	singleton_unref(s);
	return r;
}

static void runs_are_no_change_of_hands(void **state)
{
	struct observed o;
	struct memory m;
	struct remembered *r;
	char name[16];
	int i;

	(void)state;
	memory_init(&m);
	for (i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "run-%d", i);
		r = see_run(&m, i, name, &o);
		assert_false(o.changed_hands || o.new_session);
	}
	/* Nothing grows with them. */
	assert_null(r->past);
	assert_int_equal(m.n, 1);
	assert_true(r->holder_since_us == start_us);
	r = see_run(&m, 1000, NULL, &o);
	assert_true(o.freed && !r->held);
	r = see_run(&m, 1001, "run-1000", &o);
	assert_true(o.taken && r->holder_since_us == start_us + 1001 * INT64_C(1000000));
	assert_null(r->past);
	memory_release(&m);
}

static void two_that_were_alive_are_kept(void **state)
{
	struct memory m, other;
	struct remembered *r;

	(void)state;
	memory_init(&m);
	memory_init(&other);
	r = see_run(&m, 0, "run-2", NULL);
	memory_note_two(&m, r, "dup-run", "run-2 and run-1", start_us);
	memory_note_two(&m, r, "dup-run", "run-2 and run-1", start_us + 5000000);
	assert_true(r->past->first_session_us == start_us);
	assert_true(r->past->session_since_us == start_us + 5000000);
	reload(&m);
	r = memory_find(&m, "s/cronjob/a/b");
	assert_string_equal(r->past->previous_key, "dup-run");
	assert_string_equal(r->past->previous_identity, "run-2 and run-1");
	assert_true(r->past->session_since_us == start_us + 5000000);
	/* Another console that did not see them learns of them. */
	r = see_run(&other, 6, "run-3", NULL);
	assert_null(r->past);
	pass_on(&m, &other);
	assert_string_equal(r->past->previous_identity, "run-2 and run-1");
	assert_string_equal(remembered_identity(r), "run-3");
	/* Other two are two anew. */
	memory_note_two(&other, r, "dup-pod", "a and b", start_us + 9000000);
	assert_true(r->past->first_session_us == start_us + 9000000);
	memory_release(&m);
	memory_release(&other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_sight_appears),
		cmocka_unit_test(nothing_changes_when_nothing_changes),
		cmocka_unit_test(another_process_changes_hands),
		cmocka_unit_test(the_same_process_on_a_new_session),
		cmocka_unit_test(one_name_elsewhere_is_another_process),
		cmocka_unit_test(who_waited_is_another_process),
		cmocka_unit_test(free_and_taken_again),
		cmocka_unit_test(gone_of_what_was_never_seen),
		cmocka_unit_test(a_token_that_falls_or_repeats),
		cmocka_unit_test(the_old_holder_queues_again),
		cmocka_unit_test(a_session_under_another_name),
		cmocka_unit_test(several_holders),
		cmocka_unit_test(sharing_is_no_overlap),
		cmocka_unit_test(another_process_starts_a_new_count),
		cmocka_unit_test(a_renewal_is_a_change),
		cmocka_unit_test(holders_are_counted_within_a_window),
		cmocka_unit_test(an_endless_name_is_cut_but_known_again),
		cmocka_unit_test(forgets_what_was_not_seen_for_longest),
		cmocka_unit_test(more_rows_than_the_cap_go_through),
		cmocka_unit_test(what_is_packed_is_the_same),
		cmocka_unit_test(a_key_of_a_revision_is_the_token),
		cmocka_unit_test(packed_entries_keep_the_ends_of_their_numbers),
		cmocka_unit_test(what_changes_takes_no_more_room),
		cmocka_unit_test(few_that_are_watched_stay_open),
		cmocka_unit_test(a_look_is_seen_by_all_that_is_present),
		cmocka_unit_test(an_endless_id_is_kept_for_this_run),
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(the_last_look_before_a_change_is_kept),
		cmocka_unit_test(what_went_between_two_runs_is_free),
		cmocka_unit_test(a_clock_that_is_set_back_takes_the_memory_along),
		cmocka_unit_test(the_first_version_is_read),
		cmocka_unit_test(a_failed_write_is_not_gone_on_with),
		cmocka_unit_test(an_empty_memory_is_a_file_too),
		cmocka_unit_test(the_checksum_is_crc_32),
		cmocka_unit_test(a_cut_file_adds_nothing),
		cmocka_unit_test(any_flipped_bit_is_seen),
		cmocka_unit_test(another_version_is_named),
		cmocka_unit_test(hostile_bytes_with_a_right_checksum),
		cmocka_unit_test(two_consoles_know_what_both_know),
		cmocka_unit_test(what_was_seen_last_counts_after_a_restart),
		cmocka_unit_test(an_alarm_is_not_lost_by_merging),
		cmocka_unit_test(a_low_token_shows_when_the_file_comes_late),
		cmocka_unit_test(a_merge_keeps_the_cap),
		cmocka_unit_test(a_lease_changes_when_its_record_does),
		cmocka_unit_test(a_lease_that_was_made_anew_counts_anew),
		cmocka_unit_test(a_pod_that_starts_again_is_one_holder),
		cmocka_unit_test(runs_are_no_change_of_hands),
		cmocka_unit_test(two_that_were_alive_are_kept),
	};

	return cmocka_run_group_tests(tests, make_draft, free_draft);
}
