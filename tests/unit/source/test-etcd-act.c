#include "config.h"

#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "model/draft.h"
#include "source/etcd-act.h"
#include "source/etcd-write.h"

/* Which key an order means, and what etcd's answer to a guarded deletion says. */

static struct draft *draft;

static struct singleton *row_of(enum mechanism mechanism, const char *key, size_t len)
{
	draft_begin(draft, mechanism, "ctl", "elections/job", 13);
	draft_claim(draft, CLAIM_HOLDER, "node-a", 6, "rev:1482");
	draft_text_mem(draft, DETAIL_KEY, key, len);
	draft_int(draft, DETAIL_LEASE, 0x694d7f2a);
	return draft_finish(draft);
}

static bool read_target(enum mechanism mechanism, const char *raw, size_t len, const char *key,
	struct etcd_target *t)
{
	struct singleton *s = row_of(mechanism, raw, len);
	struct order order = { .verb = VERB_RELEASE, .s = s, .key = key };
	bool good = etcd_target_read(&order, t);

	t->claim = NULL; /* it goes with the singleton */
	singleton_unref(s);
	return good;
}

static void test_a_candidate(void **state)
{
	static const char raw[] = "elections/\0\\ job/694d7f2a";
	struct etcd_target t;

	(void)state;
	assert_true(read_target(MECH_ETCD_ELECTION, raw, sizeof(raw) - 1, "rev:1482", &t));
	assert_int_equal(t.key.len, sizeof(raw) - 1);
	assert_memory_equal(t.key.s, raw, t.key.len);
	assert_int_equal(t.name.len, strlen("elections/") + 1 + strlen("\\ job/"));
	assert_true(t.create_revision == 1482 && t.lease == 0x694d7f2a && !t.single);
	etcd_target_release(&t);
}

static void test_a_key_by_itself(void **state)
{
	struct etcd_target t;

	(void)state;
	assert_true(read_target(MECH_ETCD_KEY, "/service/leader", 15, "rev:1482", &t));
	assert_true(t.single);
	assert_string_equal(t.name.s, "/service/leader");
	etcd_target_release(&t);
}

static void test_what_tells_no_key(void **state)
{
	static const char *const keys[] = { "rev:1483", "rev:", "1482", "", "rev:1482 " };
	struct etcd_target t;
	struct str longer;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_LEN(keys); i++) {
		assert_false(read_target(MECH_ETCD_LOCK, "locks/a/1", 9, keys[i], &t));
		etcd_target_release(&t);
	}
	/* Without a slash it has no name; and one that was cut when it was told is none. */
	assert_false(read_target(MECH_ETCD_LOCK, "a", 1, "rev:1482", &t));
	etcd_target_release(&t);
	str_init(&longer, 10000);
	while (longer.len < 5000)
		str_add(&longer, "a/");
	assert_false(read_target(MECH_ETCD_LOCK, longer.s, longer.len, "rev:1482", &t));
	etcd_target_release(&t);
	str_release(&longer);
}

/* header revision 9; succeeded; one response: deleted 1 */
static const char deleted[] = "\x0a\x02\x18\x09\x10\x01\x1a\x04\x1a\x02\x10\x01";
/* header revision 9; one response: a range of one key k, created 7, lease 5 */
static const char other[] =
	"\x0a\x02\x18\x09\x1a\x0d\x0a\x0b\x12\x07\x0a\x01k\x10\x07\x30\x05\x20\x01";
static const char nothing[] = "\x0a\x02\x18\x09\x1a\x02\x0a\x00";

static int read_answer(const char *bytes, size_t len, struct etcd_deleted *ret)
{
	struct etcd_unary u = { 0 };
	struct err err;
	int rc;

	str_init(&u.answer, 1000);
	str_add_mem(&u.answer, bytes, len);
	rc = etcd_delete_read(&u, ret, &err);
	str_release(&u.answer);
	return rc;
}

static void test_answers(void **state)
{
	struct etcd_deleted d;

	(void)state;
	assert_int_equal(read_answer(deleted, sizeof(deleted) - 1, &d), 0);
	assert_true(d.succeeded && d.revision == 9);
	assert_int_equal(read_answer(other, sizeof(other) - 1, &d), 0);
	assert_true(!d.succeeded && d.there && d.create_revision == 7 && d.lease == 5);
	assert_int_equal(read_answer(nothing, sizeof(nothing) - 1, &d), 0);
	assert_true(!d.succeeded && !d.there);
}

/* Never "done" by half an answer, or by one that deleted nothing. */
static void test_answers_that_are_none(void **state)
{
	static const char none[] = "\x0a\x02\x18\x09\x10\x01\x1a\x04\x1a\x02\x10\x00";
	static const char twice[] = "\x0a\x02\x18\x09\x10\x01\x1a\x04\x1a\x02\x10\x02";
	static const char mixed[] = "\x0a\x02\x18\x09\x10\x01\x1a\x02\x0a\x00";
	struct etcd_deleted d;
	size_t len;

	(void)state;
	for (len = 0; len < sizeof(deleted) - 1; len++)
		assert_int_equal(read_answer(deleted, len, &d), ERR_PROTO);
	assert_int_equal(read_answer(none, sizeof(none) - 1, &d), ERR_PROTO);
	assert_int_equal(read_answer(twice, sizeof(twice) - 1, &d), ERR_PROTO);
	assert_int_equal(read_answer(mixed, sizeof(mixed) - 1, &d), ERR_PROTO);
}

static void test_who_is_on_a_lease_is_the_same_in_any_order(void **state)
{
	struct etcd_lease_now a = { .known = true, .n_keys = 2, .hash = 5 };
	struct etcd_lease_now b = a, c = a, gone = { .known = true, .gone = true };
	char one[64], two[64];

	(void)state;
	etcd_revoke_guard(&a, one, sizeof(one));
	etcd_revoke_guard(&b, two, sizeof(two));
	assert_string_equal(one, two);
	c.hash = 6;
	etcd_revoke_guard(&c, two, sizeof(two));
	assert_string_not_equal(one, two);
	b.cut = 1;
	etcd_revoke_guard(&b, two, sizeof(two));
	assert_string_not_equal(one, two);
	etcd_revoke_guard(&gone, two, sizeof(two));
	assert_string_not_equal(one, two);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_candidate),
		cmocka_unit_test(test_a_key_by_itself),
		cmocka_unit_test(test_what_tells_no_key),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_answers_that_are_none),
		cmocka_unit_test(test_who_is_on_a_lease_is_the_same_in_any_order),
	};
	int failed;

	draft = draft_new();
	failed = cmocka_run_group_tests_name("source/etcd-act", tests, NULL, NULL);
	draft_free(draft);
	return failed;
}
