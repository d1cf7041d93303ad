#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/mem.h"
#include "model/draft.h"
#include "model/verdict.h"
#include "tests/unit/unit.h"

static int make_draft(void **state)
{
	text_init_locale();
	*state = draft_new();
	return 0;
}

static int free_draft(void **state)
{
	draft_free(*state);
	return 0;
}

static struct singleton *small(struct draft *d, int64_t token, int64_t deadline, int64_t ttl_read)
{
	draft_begin(d, MECH_ETCD_ELECTION, "ctl", "elections/a", 11);
	draft_token(d, TOKEN_CREATE_REVISION, token);
	draft_lease(d, 15000, deadline, ttl_read);
	draft_claim(d, CLAIM_HOLDER, "node-a", 6, "rev:7");
	draft_int(d, DETAIL_TTL_READ, ttl_read);
	return draft_finish(d);
}

static void keeps_every_fact(void **state)
{
	struct draft *d = *state;
	struct singleton *s;
	const struct claim *waiter;
	uint32_t pos = 0;

	draft_begin(d, MECH_PG_ADVISORY, "orders", "app:-42", 7);
	draft_name(d, "billing-close");
	draft_int(d, DETAIL_LOCK_CAPACITY, 3);
	draft_claim(d, CLAIM_HOLDER, "worker-1", 8, "4711@1");
	draft_int(d, DETAIL_PID, 4711);
	draft_hidden(d, DETAIL_STATE);
	draft_claim(d, CLAIM_WAITER, "worker-2", 8, "4712@1");
	draft_position(d, 1);
	draft_text(d, DETAIL_USER, "joe\n");
	s = draft_finish(d);
	assert_string_equal(s->id, "orders/app:-42");
	assert_string_equal(singleton_path(s), "app:-42");
	assert_string_equal(s->more->name, "billing-close");
	assert_int_equal(singleton_int(s, DETAIL_LOCK_CAPACITY, -1), 3);
	assert_false(s->has_token);
	assert_int_equal(singleton_count(s, CLAIM_HOLDER), 1);
	assert_int_equal(claim_int(singleton_holder(s), DETAIL_PID, -1), 4711);
	assert_true(claim_detail(singleton_holder(s), DETAIL_STATE)->hidden);
	assert_string_equal(claim_text(singleton_holder(s), DETAIL_STATE, "unknown"), "unknown");
	assert_null(claim_detail(singleton_holder(s), DETAIL_USER));
	waiter = singleton_claim(s, CLAIM_WAITER, &pos);
	assert_string_equal(claim_identity(waiter), "worker-2");
	assert_int_equal(waiter->position, 1);
	assert_string_equal(claim_text(waiter, DETAIL_USER, ""), "joe\\x0a");
	assert_null(singleton_claim(s, CLAIM_WAITER, &pos));
	singleton_unref(s);
}

static void one_draft_makes_many(void **state)
{
	struct draft *d = *state;
	struct singleton *one = small(d, 7, 1000, 0), *two;

	draft_begin(d, MECH_ETCD_LOCK, "ctl", "locks/b", 7);
	two = draft_finish(d);
	assert_string_equal(one->id, "ctl/elections/a");
	assert_string_equal(two->id, "ctl/locks/b");
	assert_int_equal(two->n_claims, 0);
	assert_int_equal(two->n_details, 0);
	assert_false(two->has_token);
	assert_null(two->more->name);
	assert_true(two->lease_granted_ms == TIME_UNKNOWN);
	singleton_unref(one);
	singleton_unref(two);
}

static uint64_t hash_of(struct singleton *s)
{
	uint64_t hash = s->hash;

	singleton_unref(s);
	return hash;
}

static void only_facts_count_in_the_hash(void **state)
{
	struct draft *d = *state;
	uint64_t hash = hash_of(small(d, 7, 10000, 100));

	assert_true(hash == hash_of(small(d, 7, 10000, 100)));
	assert_true(hash == hash_of(small(d, 7, 10000, 999)));
	assert_true(hash != hash_of(small(d, 8, 10000, 100)));
	assert_true(hash != hash_of(small(d, 7, 20000, 100)));
}

static void a_hidden_detail_is_not_zero(void **state)
{
	struct draft *d = *state;
	uint64_t hidden, zero;

	draft_begin(d, MECH_PG_ADVISORY, "s", "p", 1);
	draft_claim(d, CLAIM_HOLDER, "a", 1, "k");
	draft_hidden(d, DETAIL_PID);
	hidden = hash_of(draft_finish(d));
	draft_begin(d, MECH_PG_ADVISORY, "s", "p", 1);
	draft_claim(d, CLAIM_HOLDER, "a", 1, "k");
	draft_int(d, DETAIL_PID, 0);
	zero = hash_of(draft_finish(d));
	assert_true(hidden != zero);
}

static void remote_bytes_are_sanitised_once(void **state)
{
	static const char path[] = "elections/\x1b[2J\0\xff\\";
	static const char evil[] = "\xe2\x80\xaenode";
	struct draft *d = *state;
	struct singleton *s;

	draft_begin(d, MECH_ETCD_ELECTION, "ctl", path, sizeof(path) - 1);
	draft_claim(d, CLAIM_HOLDER, evil, sizeof(evil) - 1, "rev:1");
	s = draft_finish(d);
	assert_string_equal(s->id, "ctl/elections/\\x1b[2J\\x00\\xff\\\\");
	assert_string_equal(claim_identity(singleton_holder(s)), "\\xe2\\x80\\xaenode");
	singleton_unref(s);
}

/* Half a million claims of 4 KB would be 2 GB: the texts stop growing, and what is there stays a
 * valid singleton. */
static void growth_has_a_cap(void **state)
{
	struct draft *d = *state;
	struct singleton *s;
	char big[5000];
	uint32_t i;

	memset(big, 'x', sizeof(big));
	draft_begin(d, MECH_PG_ADVISORY, "s", "p", 1);
	for (i = 0; i < 20000; i++)
		draft_claim(d, CLAIM_WAITER, big, sizeof(big), "k");
	s = draft_finish(d);
	assert_string_equal(s->id, "s/p");
	for (i = 0; i < s->n_claims; i++)
		assert_true(strlen(claim_identity(&s->claims[i])) <= 4096 + 3);
	singleton_unref(s);
}

static void the_longest_path_is_kept_whole(void **state)
{
	struct draft *d = *state;
	size_t len = 1 << 20;
	char *path = malloc(len);
	struct singleton *s;

	memset(path, 0xff, len);
	draft_begin(d, MECH_ETCD_KEY, "s", path, len);
	s = draft_finish(d);
	assert_int_equal(strlen(singleton_path(s)), 4 * len);
	singleton_unref(s);
	free(path);
}

/* As etcd tells an election with one holder, of which there may be a hundred thousand. */
static struct singleton *election(struct draft *d)
{
	const char *key = "elections/job-012345/694d8f1c2b7a5e03";

	draft_begin(d, MECH_ETCD_ELECTION, "ctl", "elections/job-012345", 20);
	draft_token(d, TOKEN_CREATE_REVISION, 104711);
	draft_lease(d, 60000, 90000, 40000);
	draft_claim(d, CLAIM_HOLDER, "node-00123", 10, "rev:104711");
	draft_text(d, DETAIL_KEY, key);
	draft_int(d, DETAIL_CREATE_REVISION, 104711);
	draft_int(d, DETAIL_MOD_REVISION, 104711);
	draft_int(d, DETAIL_LEASE, 0x694d8f1c2b7a5e03);
	return draft_finish(d);
}

static void a_hundred_thousand_have_room(void **state)
{
	struct singleton *s = election(*state);
	const struct claim *c = singleton_holder(s);
	const char *texts = s->id, *last = claim_key(c);
	struct details details;

	assert_string_equal(s->id, "ctl/elections/job-012345");
	assert_string_equal(claim_identity(c), "node-00123");
	assert_string_equal(claim_key(c), "rev:104711");
	assert_int_equal(claim_int(c, DETAIL_LEASE, 0), 0x694d8f1c2b7a5e03);
	details_init(&details);
	details_of_claim(&details, s, c);
	assert_int_equal(details.n, 4);
	assert_string_equal(
		details_find(&details, DETAIL_KEY)->s, "elections/job-012345/694d8f1c2b7a5e03");
	assert_int_equal(details_find(&details, DETAIL_MOD_REVISION)->i, 104711);
	details_release(&details);
	assert_in_range(last + strlen(last) + 1 - (const char *)s, 1, 152);
	assert_in_range(texts - (const char *)s, 1, 104);
	assert_in_range(sizeof(struct row), 1, 56);
	singleton_unref(s);
}

/* A claim of etcd as it is told, and whether any of its details is expected to be kept nowhere. */
struct told_claim {
	const char *key, *bound;
	int64_t created, written, lease;
	uint8_t follows;
	bool late; /* the key is told behind the others */
};

static const struct told_claim told_claims[] = {
	{ "e/a/1f", "rev:7", 7, 7, 0x1f, FOLLOWS_KEY_LEASE | FOLLOWS_CREATED | FOLLOWS_WRITTEN,
		false },
	{ "e/a/1f", "rev:7", 7, 9, 0x1f, FOLLOWS_KEY_LEASE | FOLLOWS_CREATED, false },
	{ "e/a/1f", "rev:7", 8, 8, 0x1f, FOLLOWS_KEY_LEASE, false },
	{ "e/a", "rev:7", 7, 7, 0x1f, FOLLOWS_KEY_PATH | FOLLOWS_CREATED | FOLLOWS_WRITTEN, false },
	{ "e/a/1F", "rev:7", 7, 7, 0x1f, FOLLOWS_CREATED | FOLLOWS_WRITTEN, false },
	{ "e/a/01f", "rev:7", 7, 7, 0x1f, FOLLOWS_CREATED | FOLLOWS_WRITTEN, false },
	{ "e/a/1e", "rev:7", 7, 7, 0x1f, FOLLOWS_CREATED | FOLLOWS_WRITTEN, false },
	{ "e/a/", "rev:7", 7, 7, 0, FOLLOWS_CREATED | FOLLOWS_WRITTEN, false },
	{ "e/a/0", "rev:7", 7, 7, 0, FOLLOWS_KEY_LEASE | FOLLOWS_CREATED | FOLLOWS_WRITTEN, false },
	{ "e/a/00", "rev:7", 7, 7, 0, FOLLOWS_CREATED | FOLLOWS_WRITTEN, false },
	{ "e/ab/1f", "rev:7", 7, 7, 0x1f, FOLLOWS_CREATED | FOLLOWS_WRITTEN, false },
	{ "e/a/1f/", "rev:7", 7, 7, 0x1f, FOLLOWS_CREATED | FOLLOWS_WRITTEN, false },
	{ "e/a/ffffffffffffffff", "rev:7", 7, 7, -1,
		FOLLOWS_KEY_LEASE | FOLLOWS_CREATED | FOLLOWS_WRITTEN, false },
	{ "e/a/1ffffffffffffffff", "rev:7", 7, 7, -1, FOLLOWS_CREATED | FOLLOWS_WRITTEN, false },
	{ "", "rev:7", 7, 7, 0x1f, FOLLOWS_CREATED | FOLLOWS_WRITTEN, false },
	{ "other", "rev:07", 7, 7, 0x1f, 0, false },
	{ "other", "rev:7x", 7, 7, 0x1f, 0, false },
	{ "other", "rev:", 0, 0, 0x1f, 0, false },
	{ "other", "4711", 4711, 4711, 0x1f, 0, false },
	{ "other", "rev:9223372036854775807", INT64_MAX, INT64_MAX, 0x1f, 0, false },
	{ "e/a/1f", "rev:7", 7, 7, 0x1f, 0, true },
};

static void tell_claim(struct draft *d, const struct told_claim *told, bool hide_lease)
{
	draft_claim(d, CLAIM_WAITER, "somebody", 8, told->bound);
	if (!told->late)
		draft_text(d, DETAIL_KEY, told->key);
	draft_int(d, DETAIL_CREATE_REVISION, told->created);
	draft_int(d, DETAIL_MOD_REVISION, told->written);
	draft_text(d, DETAIL_OTHER_KEY, "x/1");
	if (hide_lease)
		draft_hidden(d, DETAIL_LEASE);
	else
		draft_int(d, DETAIL_LEASE, told->lease);
	if (told->late)
		draft_text(d, DETAIL_KEY, told->key);
	draft_text(d, DETAIL_OTHER_KEY, "x/2");
}

static void assert_told(
	const struct details *details, const struct told_claim *told, bool hide_lease)
{
	const struct detail *at = details->at, *first = at + (told->late ? 0 : 1);
	const struct detail *key = told->late ? at + 4 : at;

	assert_int_equal(details->n, 6);
	assert_int_equal(key->id, DETAIL_KEY);
	assert_string_equal(key->s, told->key);
	assert_int_equal(first[0].id, DETAIL_CREATE_REVISION);
	assert_int_equal(first[0].i, told->created);
	assert_int_equal(first[1].id, DETAIL_MOD_REVISION);
	assert_int_equal(first[1].i, told->written);
	assert_string_equal(first[2].s, "x/1");
	assert_int_equal(first[3].id, DETAIL_LEASE);
	assert_int_equal(first[3].hidden, hide_lease);
	if (!hide_lease)
		assert_int_equal(first[3].i, told->lease);
	assert_string_equal(at[5].s, "x/2");
}

/* Alone, and as one of many; with a lease that is not shown nothing follows from it. */
static void what_follows_is_told_as_it_came(void **state)
{
	size_t i, n = ARRAY_LEN(told_claims);
	struct draft *d = *state;
	struct singleton *s;
	struct details details;

	draft_begin(d, MECH_ETCD_ELECTION, "ctl", "e/a", 3);
	for (i = 0; i < 2 * n; i++)
		tell_claim(d, &told_claims[i % n], i >= n);
	s = draft_finish(d);
	details_init(&details);
	for (i = 0; i < 2 * n; i++) {
		const struct told_claim *told = &told_claims[i % n];

		details_of_claim(&details, s, &s->claims[i]);
		assert_told(&details, told, i >= n);
		assert_string_equal(claim_identity(&s->claims[i]), "somebody");
		assert_string_equal(claim_key(&s->claims[i]), told->bound);
		assert_int_equal(s->claims[i].follows,
			i < n ? told->follows : told->follows & ~FOLLOWS_KEY_LEASE);
	}
	details_release(&details);
	singleton_unref(s);
}

/* What follows from other facts changes with them, and so does the hash. */
static void what_follows_counts_in_the_hash(void **state)
{
	size_t i, k, n = ARRAY_LEN(told_claims);
	uint64_t hash[ARRAY_LEN(told_claims)];
	struct draft *d = *state;

	for (i = 0; i < n; i++) {
		struct singleton *s;

		draft_begin(d, MECH_ETCD_ELECTION, "ctl", "e/a", 3);
		tell_claim(d, &told_claims[i], false);
		s = draft_finish(d);
		hash[i] = s->hash;
		singleton_unref(s);
		for (k = 0; k < i; k++)
			assert_int_not_equal(hash[i], hash[k]);
	}
}

/* Its role stands in the same block as its findings. Of more findings than a row can count the
 * worst stay. */
static void a_row_has_room_for_role_and_findings(void **state)
{
	struct verdict_draft v;
	struct row *row;
	int i;

	verdict_draft_init(&v);
	verdict_draft_begin(&v);
	v.role = "nightly";
	for (i = 0; i < 70000; i++)
		verdict_add(&v, FINDING_NO_SUCCESSOR, SEVERITY_INFO, TIME_UNKNOWN, "number %d", i);
	verdict_add(&v, FINDING_NO_LEASE, SEVERITY_CRIT, TIME_UNKNOWN, "the %s", "worst");
	verdict_evidence_text(&v, DETAIL_KEY, "e/a");
	row = row_new(election(*state), &v);
	assert_string_equal(row_role(row), "nightly");
	assert_int_equal(row->v.n_findings, UINT16_MAX);
	assert_string_equal(row->v.findings[0].text, "the worst");
	assert_string_equal(row->v.findings[0].evidence[0].s, "e/a");
	assert_int_equal((uintptr_t)row->v.findings % sizeof(void *), 0);
	row_unref(row);
	verdict_draft_begin(&v);
	row = row_new(election(*state), &v);
	assert_null(row_role(row));
	row_unref(row);
	verdict_draft_release(&v);
}

static void what_few_have_takes_nothing_of_the_others(void **state)
{
	struct draft *d = *state;
	struct singleton *bare = election(d), *other = small(d, 7, 20000, 5000), *named;
	const struct run run = { .name = "close-1", .key = "uid:1", .state = RUN_RUNNING };

	assert_ptr_equal(bare->more, other->more);
	assert_null(bare->more->name);
	assert_int_equal(bare->more->n_runs, 0);
	draft_begin(d, MECH_K8S_CRONJOB, "prod", "cronjob/billing/close", 21);
	draft_name(d, "close-books");
	draft_int(d, DETAIL_ACTIVE_LISTED, 1);
	draft_run(d, &run);
	draft_text(d, DETAIL_JOB_REASON, "BackoffLimitExceeded");
	draft_run_holders(d);
	named = draft_finish(d);
	assert_string_equal(named->more->name, "close-books");
	assert_int_equal(named->more->n_runs, 1);
	assert_string_equal(named->more->runs[0].name, "close-1");
	assert_int_equal(named->more->lease_known_ms, TIME_UNKNOWN);
	assert_string_equal(claim_identity(singleton_holder(named)), "close-1");
	assert_string_equal(
		run_detail(&named->more->runs[0], DETAIL_JOB_REASON)->s, "BackoffLimitExceeded");
	singleton_unref(bare);
	singleton_unref(other);
	singleton_unref(named);
}

/* Of a new draft: there is no room for details yet. */
static void claims_may_have_no_details(void **state)
{
	struct draft *d = *state;
	struct details details;
	struct singleton *s;

	draft_begin(d, MECH_ETCD_ELECTION, "ctl", "elections/a", 11);
	draft_claim(d, CLAIM_HOLDER, "node-a", 6, "rev:7");
	draft_claim(d, CLAIM_WAITER, "node-b", 6, "rev:8");
	s = draft_finish(d);
	details_init(&details);
	details_of_claim(&details, s, &s->claims[1]);
	assert_int_equal(details.n, 0);
	details_release(&details);
	singleton_unref(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(keeps_every_fact, make_draft, free_draft),
		cmocka_unit_test_setup_teardown(
			what_follows_is_told_as_it_came, make_draft, free_draft),
		cmocka_unit_test_setup_teardown(
			what_follows_counts_in_the_hash, make_draft, free_draft),
		cmocka_unit_test_setup_teardown(
			a_row_has_room_for_role_and_findings, make_draft, free_draft),
		cmocka_unit_test_setup_teardown(one_draft_makes_many, make_draft, free_draft),
		cmocka_unit_test_setup_teardown(claims_may_have_no_details, make_draft, free_draft),
		cmocka_unit_test_setup_teardown(
			only_facts_count_in_the_hash, make_draft, free_draft),
		cmocka_unit_test_setup_teardown(
			a_hidden_detail_is_not_zero, make_draft, free_draft),
		cmocka_unit_test_setup_teardown(
			remote_bytes_are_sanitised_once, make_draft, free_draft),
		cmocka_unit_test_setup_teardown(growth_has_a_cap, make_draft, free_draft),
		cmocka_unit_test_setup_teardown(
			the_longest_path_is_kept_whole, make_draft, free_draft),
		cmocka_unit_test_setup_teardown(
			a_hundred_thousand_have_room, make_draft, free_draft),
		cmocka_unit_test_setup_teardown(
			what_few_have_takes_nothing_of_the_others, make_draft, free_draft),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
