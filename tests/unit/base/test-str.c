#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "tests/unit/unit.h"

static void empty_is_never_null(void **state)
{
	struct str str;

	(void)state;
	str_init(&str, 16);
	assert_string_equal(str.s, "");
	assert_int_equal(str.len, 0);
	str_release(&str);
}

static void adds_and_terminates(void **state)
{
	struct str str;

	(void)state;
	str_init(&str, 100);
	str_add(&str, "ab");
	str_add_mem(&str, "c\0d", 3);
	str_add_char(&str, 'e');
	str_addf(&str, "%d-%s", -7, "x");
	assert_false(str.full);
	assert_int_equal(str.len, 10);
	assert_memory_equal(str.s, "abc\0de-7-x", 11);
	str_release(&str);
}

static void the_cap_drops_what_is_too_long_and_says_so(void **state)
{
	struct str str;

	(void)state;
	str_init(&str, 5);
	str_add(&str, "12345");
	assert_false(str.full);
	str_add_char(&str, '6');
	assert_true(str.full);
	assert_string_equal(str.s, "12345");
	str_clear(&str);
	assert_false(str.full);
	str_addf(&str, "%s", "123456");
	assert_true(str.full);
	assert_true(str.len <= 5);
	str_release(&str);
}

static void take_leaves_an_empty_string(void **state)
{
	struct str str;
	char *taken;

	(void)state;
	str_init(&str, 100);
	taken = str_take(&str);
	assert_string_equal(taken, "");
	free(taken);
	str_add(&str, "kept");
	taken = str_take(&str);
	assert_string_equal(taken, "kept");
	assert_string_equal(str.s, "");
	assert_int_equal(str.len, 0);
	free(taken);
	str_add(&str, "again");
	assert_string_equal(str.s, "again");
	str_release(&str);
}

static void truncate_shortens_only(void **state)
{
	struct str str;

	(void)state;
	str_init(&str, 100);
	str_add(&str, "abcdef");
	str_truncate(&str, 3);
	assert_string_equal(str.s, "abc");
	str_truncate(&str, 50);
	assert_string_equal(str.s, "abc");
	str_release(&str);
}

static void grows_like_a_plain_buffer(void **state)
{
	enum {
		MAX = 100000
	};
	char *model = malloc(MAX);
	uint64_t seed = 42;
	struct str str;
	size_t len = 0;

	(void)state;
	str_init(&str, MAX);
	while (len < MAX - 300) {
		char piece[256];
		size_t n = unit_pick(&seed, sizeof(piece));

		for (size_t i = 0; i < n; i++)
			piece[i] = (char)unit_random(&seed);
		str_add_mem(&str, piece, n);
		memcpy(model + len, piece, n);
		len += n;
	}
	assert_int_equal(str.len, len);
	assert_memory_equal(str.s, model, len);
	assert_int_equal(str.s[len], 0);
	str_release(&str);
	free(model);
}

static void comparisons_take_null(void **state)
{
	(void)state;
	assert_true(str_eq(NULL, NULL));
	assert_false(str_eq(NULL, ""));
	assert_false(str_eq("a", NULL));
	assert_true(str_eq("a", "a"));
	assert_true(str_starts("elections/a", "elections/"));
	assert_false(str_starts("elect", "elections/"));
	assert_true(str_ends("baton.yaml", ".yaml"));
	assert_false(str_ends("l", ".yaml"));
}

static void numbers_in_decimal(void **state)
{
	static const struct {
		int64_t value;
		const char *text;
	} cases[] = { { 0, "0" }, { 7, "7" }, { -1, "-1" }, { 1090, "1090" },
		{ INT64_MAX, "9223372036854775807" }, { INT64_MIN, "-9223372036854775808" } };
	char buf[STR_INT_MAX];
	struct str str;
	size_t i;

	(void)state;
	str_init(&str, 100);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_string_equal(str_int(buf, cases[i].value), cases[i].text);
		str_clear(&str);
		str_add_int(&str, cases[i].value);
		assert_string_equal(str.s, cases[i].text);
	}
	str_release(&str);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_in_decimal),
		cmocka_unit_test(empty_is_never_null),
		cmocka_unit_test(adds_and_terminates),
		cmocka_unit_test(the_cap_drops_what_is_too_long_and_says_so),
		cmocka_unit_test(take_leaves_an_empty_string),
		cmocka_unit_test(truncate_shortens_only),
		cmocka_unit_test(grows_like_a_plain_buffer),
		cmocka_unit_test(comparisons_take_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
