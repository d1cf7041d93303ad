#include "config.h"

#include "model/identity.h"
#include "tests/unit/unit.h"

struct pair {
	const char *a, *b;
	bool process, application;
};

static const struct pair pairs[] = {
	/* one process, as two systems name it */
	{ "node-b", "node-b", true, true },
	{ "node-b", "NODE-B", true, true },
	{ "node-b", "node-b.example.net", true, true },
	{ "node-b:8080", "node-b.example.net", true, true },
	{ "billing-7d9f8b6c5-x2x4z", "billing-7d9f8b6c5-x2x4z_0b1c2d3e-1234-4abc-8def-0123456789ab",
		true, true },
	{ "4711@node-b", "node-b", true, true },
	/* instances of one application */
	{ "worker-1", "worker-2", false, true },
	{ "worker-1", "worker-12", false, true },
	{ "worker1", "worker2", false, true },
	{ "node-a", "node-b", false, true },
	{ "billing-7d9f8b6c5-x2x4z", "billing-7d9f8b6c5-qqk2w", false, true },
	{ "billing-7d9f8b6c5-x2x4z", "billing-58c9bbd4f7-qqk2w", false, true },
	{ "4711@node-b", "4712@node-b", false, true },
	{ "web-0b1c2d3e-1234-4abc-8def-0123456789ab", "web-1b1c2d3e-1234-4abc-8def-0123456789ac",
		true, true },
	/* different ones */
	{ "billing", "search-index", false, false },
	{ "billing-close", "billing-open", false, false },
	{ "10.0.0.5", "10.0.0.6", false, false },
	{ "10.0.0.5:8080", "10.0.0.5", true, true },
	{ "::1", "::2", false, false },
	{ "a.b", "c.b", false, false },
	{ "", "x", false, false },
	/* names that are nothing but what is left away */
	{ "1", "2", false, false },
	{ "-", "_", false, false },
	{ ":80", ":81", false, false },
	{ ".", "..", false, false },
	{ "@", "4711@", false, false },
};

static void names_agree_or_not(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		const struct pair *p = &pairs[i];

		if (identity_same_process(p->a, p->b) != p->process ||
			identity_same_process(p->b, p->a) != p->process)
			fail_msg("\"%s\" and \"%s\" %s one process", p->a, p->b,
				p->process ? "must be" : "must not be");
		if (identity_same_application(p->a, p->b) != p->application ||
			identity_same_application(p->b, p->a) != p->application)
			fail_msg("\"%s\" and \"%s\" %s one application", p->a, p->b,
				p->application ? "must be" : "must not be");
	}
}

static void any_bytes_are_compared(void **state)
{
	static const char alphabet[] = "ab09-_.:@/\\x\xc3\xa4 ";
	uint64_t seed = 99;
	int round;

	(void)state;
	for (round = 0; round < 20000; round++) {
		char a[600], b[600];
		size_t i, n = unit_pick(&seed, sizeof(a) - 1), m = unit_pick(&seed, 40);

		for (i = 0; i < n; i++)
			a[i] = alphabet[unit_pick(&seed, sizeof(alphabet) - 1)];
		a[n] = '\0';
		for (i = 0; i < m; i++)
			b[i] = alphabet[unit_pick(&seed, sizeof(alphabet) - 1)];
		b[m] = '\0';
		assert_true(identity_same_process(a, a));
		assert_int_equal(identity_same_process(a, b), identity_same_process(b, a));
		assert_int_equal(identity_same_application(a, b), identity_same_application(b, a));
		if (identity_same_process(a, b) && a[0])
			assert_true(identity_same_application(a, b));
	}
}

static void pods_names_are_told_by_their_ends(void **state)
{
	(void)state;
	assert_true(identity_is_pod("app-7d9f8b6c5-x2x4z"));
	assert_true(identity_is_pod("close-29374620-bcdfg"));
	assert_false(identity_is_pod("app-server"));
	assert_false(identity_is_pod("worker-12345"));
	assert_false(identity_is_pod("node-24567"));
	assert_false(identity_is_pod("x2x4z"));
	assert_false(identity_is_pod("-x2x4z"));
	assert_false(identity_is_pod(""));
}

static void a_uuid_behind_is_no_part_of_a_name(void **state)
{
	(void)state;
	assert_int_equal(identity_stem("app-1_11111111-2222-3333-4444-555555555555"), 5);
	assert_int_equal(identity_stem("app-1_11111111-2222-3333-4444-55555555555"), 41);
	assert_int_equal(identity_stem("team_a"), 6);
	assert_int_equal(identity_stem("_11111111-2222-3333-4444-555555555555"), 37);
	assert_int_equal(identity_stem(""), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pods_names_are_told_by_their_ends),
		cmocka_unit_test(a_uuid_behind_is_no_part_of_a_name),
		cmocka_unit_test(names_agree_or_not),
		cmocka_unit_test(any_bytes_are_compared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
