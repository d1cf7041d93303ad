#include "config.h"

#include "tests/unit/unit.h"

#include "base/mem.h"
#include "base/nearest.h"
#include "base/str.h"

#include <string.h>

static void expect(
	const char *wanted, const char *const *words, size_t n, size_t max, const char *text)
{
	struct nearest nearest;
	struct str out;
	size_t i;

	str_init(&out, 1000);
	nearest_init(&nearest, wanted);
	for (i = 0; i < n; i++)
		nearest_offer(&nearest, words[i]);
	nearest_tell(&nearest, max, &out);
	assert_string_equal(out.s, text);
	str_release(&out);
}

static void test_words(void **state)
{
	static const char *const words[] = { "list", "show", "watch", "lest", "lists", "last" };
	size_t n = ARRAY_LEN(words);

	(void)state;
	expect("lst", words, n, 1, "; did you mean 'list'?");
	expect("lst", words, n, 2, "; did you mean 'list' or 'lest'?");
	expect("lst", words, n, 9, "; did you mean 'list', 'lest' or 'last'?");
	expect("list", words, n, 2, "; did you mean 'list' or 'lest'?");
	expect("xyzzy", words, n, 2, "");
	expect("", words, n, 2, "");
	/* One letter is near to nothing. */
	expect("s", words, n, 2, "");
}

static void test_parts(void **state)
{
	static const char *const words[] = { "ctl/elections/billing", "ctl/elections/mailer" };

	(void)state;
	expect("billing", words, 2, 3, "; did you mean 'ctl/elections/billing'?");
	expect("ctl/elections/biling", words, 2, 3, "; did you mean 'ctl/elections/billing'?");
	expect("il", words, 2, 3, "");
}

/* Words of a file may hold anything. */
static void test_what_is_not_printable_is_escaped(void **state)
{
	static const char *const words[] = { "s\tttle", "a\\b\033[2J" };

	(void)state;
	expect("settle", words, 1, 1, "; did you mean 's\\x09ttle'?");
	expect("a\\b", words + 1, 1, 1, "; did you mean 'a\\b\\x1b[2J'?");
}

/* The three nearest of many, the nearest first, whatever the order they come in. */
static void test_order(void **state)
{
	static const char *const words[] = { "abcdefghijxx", "abcdefghijkx", "abcdefghijkl",
		"abcdefghixxx", "abcdefghijkm" };
	struct nearest nearest;
	size_t shift, i;

	(void)state;
	for (shift = 0; shift < ARRAY_LEN(words); shift++) {
		nearest_init(&nearest, "abcdefghijkl");
		for (i = 0; i < ARRAY_LEN(words); i++)
			nearest_offer(&nearest, words[(i + shift) % ARRAY_LEN(words)]);
		assert_int_equal(nearest.n, NEAREST_MAX);
		assert_string_equal(nearest.words[0], "abcdefghijkl");
		assert_int_equal(nearest.distance[0], 0);
		assert_int_equal(nearest.distance[1], 1);
		assert_int_equal(nearest.distance[2], 1);
	}
	nearest_put(&nearest, "named", 0);
	assert_string_equal(nearest.words[1], "named");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_not_printable_is_escaped),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
