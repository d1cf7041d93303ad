#include "config.h"

#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "model/draft.h"
#include "source/postgres-act.h"

/* Which session or transaction an order means, and what the holder is told. */

static struct draft *draft;

/* A lock, app:-42, with one holder and one waiter of these keys. */
static struct singleton *lock_of(const char *holder, const char *waiter)
{
	draft_begin(draft, MECH_PG_ADVISORY, "orders", "app:-42", 7);
	draft_text(draft, DETAIL_DATABASE, "app");
	draft_int(draft, DETAIL_DATABASE_OID, 16384);
	draft_int(draft, DETAIL_CLASSID, 4294967295);
	draft_int(draft, DETAIL_OBJID, 4294967254);
	draft_int(draft, DETAIL_OBJSUBID, 1);
	draft_claim(draft, CLAIM_HOLDER, "w1", 2, holder);
	draft_claim(draft, CLAIM_WAITER, "w2", 2, waiter);
	return draft_finish(draft);
}

static bool read_key(const char *key, struct pg_target *t)
{
	struct singleton *s = lock_of("4711@1767323045678901", "4712@1767323045678902");
	struct order order = { .verb = VERB_RELEASE, .s = s, .key = key };
	bool good = pg_target_read(&order, t);

	t->claim = NULL; /* it goes with the singleton */
	singleton_unref(s);
	return good;
}

static void test_a_session(void **state)
{
	struct pg_target t;

	(void)state;
	assert_true(read_key("4711@1767323045678901", &t));
	assert_string_equal(t.value[0], "4711");
	assert_string_equal(t.value[1], "2026-01-02T03:04:05.678901Z");
	assert_string_equal(t.value[2], "16384");
	assert_string_equal(t.value[3], "4294967295");
	assert_string_equal(t.value[4], "4294967254");
	assert_string_equal(t.value[5], "1");
	assert_string_equal(t.value[6], "true");
	assert_false(t.hidden);
	pg_target_release(&t);
	assert_true(read_key("4712@1767323045678902", &t));
	assert_string_equal(t.value[6], "false");
	pg_target_release(&t);
}

static void test_a_session_without_an_identity(void **state)
{
	static const char *const keys[] = { "4711@hidden", "4711@unknown", "4711@", "4711@1x" };
	struct pg_target t;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_LEN(keys); i++) {
		assert_true(read_key(keys[i], &t));
		assert_true(t.hidden);
		pg_target_release(&t);
	}
}

static void test_what_is_no_key(void **state)
{
	static const char *const keys[] = { "", "4711", "@5", "0@5", "-1@5", "x@5", "4711x@5",
		"99999999999@5", "rev:5", "prepared:", "prepared:a", "prepared:a@x",
		"prepared:a\\q@5", "prepared:a\\x00@5" };
	struct pg_target t;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_LEN(keys); i++) {
		assert_false(read_key(keys[i], &t));
		pg_target_release(&t);
	}
}

static void test_a_prepared_transaction(void **state)
{
	struct pg_target t;

	(void)state;
	assert_true(read_key("prepared:a@b\\x07\\\\'@1767323045678901", &t));
	assert_true(t.prepared);
	assert_string_equal(t.value[0], "a@b\a\\'");
	assert_string_equal(t.value[1], "2026-01-02T03:04:05.678901Z");
	pg_target_release(&t);
	/* PostgreSQL takes an empty gid as well. */
	assert_true(read_key("prepared:@1767323045678901", &t));
	assert_true(t.prepared);
	assert_string_equal(t.value[0], "");
	pg_target_release(&t);
}

static void test_a_row_that_is_no_lock(void **state)
{
	struct singleton *s;
	struct order order = { .verb = VERB_RELEASE, .key = "4711@5" };
	struct pg_target t;

	(void)state;
	draft_begin(draft, MECH_ETCD_ELECTION, "ctl", "a", 1);
	s = draft_finish(draft);
	order.s = s;
	assert_false(pg_target_read(&order, &t));
	pg_target_release(&t);
	singleton_unref(s);
	/* A configured name that nobody holds: the server said no database. */
	draft_begin(draft, MECH_PG_ADVISORY, "orders", "app:1", 5);
	draft_int(draft, DETAIL_CLASSID, 0);
	draft_int(draft, DETAIL_OBJID, 1);
	draft_int(draft, DETAIL_OBJSUBID, 1);
	s = draft_finish(draft);
	order.s = s;
	assert_false(pg_target_read(&order, &t));
	pg_target_release(&t);
	singleton_unref(s);
}

static void payload_of(struct str *out, const char *reason)
{
	struct singleton *s = lock_of("4711@1767323045678901", "4712@5");
	struct order order = {
		.verb = VERB_STEP_DOWN, .s = s, .key = "4711@1767323045678901", .reason = reason
	};
	struct pg_target t;

	assert_true(pg_target_read(&order, &t));
	str_init(out, 64 * 1024);
	pg_step_down_payload(out, &order, &t);
	pg_target_release(&t);
	singleton_unref(s);
}

static void test_the_payload(void **state)
{
	struct str out;

	(void)state;
	payload_of(&out, "it's \"n\xc3\xa9\" \\ \xf0\x9f\x98\x80");
	assert_string_equal(out.s,
		"{\"schema\":\"baton-step-down/1\",\"id\":\"orders/app:-42\",\"database\":\"app\","
		"\"key\":\"-42\",\"pid\":4711,\"backend_start\":\"2026-01-02T03:04:05.678901Z\","
		"\"reason\":\"it's \\\"n\\u00e9\\\" \\\\ \\ud83d\\ude00\"}");
	str_release(&out);
	payload_of(&out, NULL);
	assert_non_null(strstr(out.s, "\"reason\":\"\"}"));
	str_release(&out);
}

static void test_a_payload_is_never_too_long(void **state)
{
	struct str reason, out;
	size_t n;

	(void)state;
	for (n = 1; n < 200000; n = n * 3 + 1) {
		str_init(&reason, 1024 * 1024);
		while (reason.len < n)
			str_add(&reason, "\xe2\x82\xac");
		payload_of(&out, reason.s);
		assert_true(out.len <= PG_PAYLOAD_MAX && !out.full);
		assert_true(str_ends(out.s, "\\u20ac\"}"));
		str_release(&out);
		str_release(&reason);
	}
}

/* As text is everywhere: what is printable stays, a backslash is doubled, no two look the same. */
static void test_a_literal_that_is_shown(void **state)
{
	struct str out;

	(void)state;
	str_init(&out, 1000);
	pg_shown_literal(&out, "it's caf\xc3\xa9 \\\n\x1b[31m \\x0a");
	assert_string_equal(out.s, "'it''s caf\xc3\xa9 \\\\\\x0a\\x1b[31m \\\\x0a'");
	str_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_session),
		cmocka_unit_test(test_a_session_without_an_identity),
		cmocka_unit_test(test_what_is_no_key),
		cmocka_unit_test(test_a_prepared_transaction),
		cmocka_unit_test(test_a_row_that_is_no_lock),
		cmocka_unit_test(test_the_payload),
		cmocka_unit_test(test_a_payload_is_never_too_long),
		cmocka_unit_test(test_a_literal_that_is_shown),
	};
	int failed;

	text_init_locale();
	draft = draft_new();
	failed = cmocka_run_group_tests_name("source/postgres-act", tests, NULL, NULL);
	draft_free(draft);
	return failed;
}
