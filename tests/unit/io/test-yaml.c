#include "config.h"

#include "tests/unit/unit.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "io/yaml.h"

#include <stdlib.h>
#include <string.h>

static struct yaml_node *parse(const char *text)
{
	struct yaml_node *root = NULL;
	struct err err = { 0 };

	if (yaml_parse(text, strlen(text), "c.yaml", &root, &err))
		fail_msg("%s", err.text);
	return root;
}

static void refuse_mem(const char *text, size_t len, const char *message)
{
	struct yaml_node *root = NULL;
	struct err err = { 0 };

	assert_int_equal(yaml_parse(text, len, "c.yaml", &root, &err), ERR_CONFIG);
	assert_int_equal(err.code, ERR_CONFIG);
	assert_string_equal(err.text, message);
	assert_null(root);
}

static void refuse(const char *text, const char *message)
{
	refuse_mem(text, strlen(text), message);
}

static void test_tree(void **state)
{
	struct yaml_node *root = parse("# a comment\na: {b: [1, 'two', \"x\"]}\nc:\n  - d: e\n");
	const struct yaml_node *b = yaml_get(yaml_get(root, "a"), "b"), *c = yaml_get(root, "c");

	(void)state;
	assert_int_equal(root->kind, YAML_MAP);
	assert_int_equal(root->n, 2);
	assert_int_equal(b->kind, YAML_LIST);
	assert_int_equal(b->n, 3);
	assert_string_equal(b->items[1]->text, "two");
	assert_true(b->items[1]->quoted);
	assert_false(b->items[0]->quoted);
	assert_int_equal(b->line, 2);
	assert_int_equal(b->column, 8);
	assert_string_equal(yaml_get(c->items[0], "d")->text, "e");
	assert_null(yaml_get(root, "nothing"));
	assert_null(yaml_get(NULL, "a"));
	assert_null(yaml_get(b, "a"));
	yaml_node_free(root);
}

static void test_empty(void **state)
{
	static const char *const texts[] = { "", "# only a comment\n", "---\n", "~", "null\n",
		"\xef\xbb\xbf" };
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_LEN(texts); i++) {
		struct yaml_node *root = parse(texts[i]);

		assert_int_equal(root->kind, YAML_MAP);
		assert_int_equal(root->n, 0);
		yaml_node_free(root);
	}
}

static void test_refused(void **state)
{
	(void)state;
	refuse("a: &x 1\nb: *x\n",
		"c.yaml:2:4: aliases (*name) are not taken: write the value out");
	refuse("a: 1\nb: 2\na: 3\n", "c.yaml:3:1: the key 'a' stands here again; first in line 1");
	refuse("a: 1\n---\nb: 2\n", "c.yaml:2:1: a second document; only one is read");
	refuse("? [a, b]\n: 1\n", "c.yaml:1:3: a key must be a word, not a list or a map");
	refuse("? {a: b}\n: 1\n", "c.yaml:1:3: a key must be a word, not a list or a map");
	refuse("a: !!python/object x\n", "c.yaml:1:4: tags are not understood here");
	refuse("a: \"x\\0y\"\n", "c.yaml:1:4: a text that holds a NUL byte");
	refuse("a: [1, 2\nb: 3\n", "c.yaml:2:2: not YAML: did not find expected ',' or ']' (while "
				   "parsing a flow sequence that began in line 1)");
	refuse("a: b: c\n", "c.yaml:1:5: not YAML: mapping values are not allowed in this context");
	refuse("a: \xff\n", "c.yaml:1:4: not text in UTF-8: invalid leading UTF-8 octet");
	refuse("x: 1\na: \x01\n",
		"c.yaml:2:4: not text in UTF-8: control characters are not allowed");
	refuse_mem("a: \0", 4, "c.yaml:1:4: not text in UTF-8: control characters are not allowed");
	refuse("\"a\\eb\": 1\n\"a\\eb\": 2\n",
		"c.yaml:2:1: the key 'a\\x1bb' stands here again; first in line 1");
}

static void test_depth(void **state)
{
	struct str text;
	int i;

	(void)state;
	str_init(&text, 100000);
	for (i = 0; i < YAML_DEPTH_MAX; i++)
		str_add(&text, "[");
	for (i = 0; i < YAML_DEPTH_MAX; i++)
		str_add(&text, "]");
	yaml_node_free(parse(text.s));
	str_clear(&text);
	for (i = 0; i < 50000; i++)
		str_add(&text, "[");
	refuse(text.s, "c.yaml:1:33: more than 32 levels deep");
	str_release(&text);
}

static void test_many(void **state)
{
	struct yaml_node *root;
	struct str text;
	int i;

	(void)state;
	str_init(&text, 4000000);
	for (i = 0; i < 50000; i++)
		str_addf(&text, "k%d: v\n", i);
	root = parse(text.s);
	assert_int_equal(root->n, 50000);
	assert_string_equal(root->keys[49999]->text, "k49999");
	yaml_node_free(root);
	str_clear(&text);
	str_add(&text, "[");
	for (i = 0; i < 200001; i++)
		str_add(&text, "1,");
	refuse(text.s, "c.yaml:1:400000: more than 200000 values");
	str_release(&text);
}

static void test_bool(void **state)
{
	struct yaml_node *root = parse("[true, NO, on, 'true', 1, tru]");
	bool yes = false;

	(void)state;
	assert_true(yaml_bool(root->items[0], &yes) && yes);
	assert_true(yaml_bool(root->items[1], &yes) && !yes);
	assert_true(yaml_bool(root->items[2], &yes) && yes);
	assert_false(yaml_bool(root->items[3], &yes));
	assert_false(yaml_bool(root->items[4], &yes));
	assert_false(yaml_bool(root->items[5], &yes));
	assert_false(yaml_bool(root, &yes));
	assert_false(yaml_bool(NULL, &yes));
	yaml_node_free(root);
}

static void test_int(void **state)
{
	struct yaml_node *root = parse("[9223372036854775807, -9223372036854775808, 0x1f, +7, "
				       "9223372036854775808, 1.5, 1e3, '1', '', -x, abc, 010]");
	static const int64_t good[] = { INT64_MAX, INT64_MIN, 31, 7 };
	int64_t value;
	size_t i;

	(void)state;
	for (i = 0; i < 4; i++) {
		assert_true(yaml_int(root->items[i], &value));
		assert_true(value == good[i]);
	}
	for (; i < 11; i++)
		assert_false(yaml_int(root->items[i], &value));
	assert_true(yaml_int(root->items[11], &value));
	assert_true(value == 10);
	yaml_node_free(root);
}

static void test_duration(void **state)
{
	static const struct {
		const char *text;
		int64_t ms; /* -1: none */
	} cases[] = { { "500ms", 500 }, { "10s", 10000 }, { "1.5s", 1500 }, { "5m", 300000 },
		{ "2h", 7200000 }, { "1d", 86400000 }, { "3", 3000 }, { "0", 0 }, { "0.25", 250 },
		{ "0.0005s", 0 }, { "-1s", -1 }, { "", -1 }, { "s", -1 }, { "5 m", -1 },
		{ "5min", -1 }, { "1e3", -1 }, { "36500d", INT64_C(36500) * 86400000 },
		{ "36501d", -1 }, { "99999999999999999999s", -1 } };
	int64_t ms;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_LEN(cases); i++) {
		ms = -1;
		yaml_duration_text_ms(cases[i].text, &ms);
		if (ms != cases[i].ms)
			fail_msg("%s: %lld", cases[i].text, (long long)ms);
	}
	assert_false(yaml_duration_ms(NULL, &ms));
}

static void test_made(void **state)
{
	struct yaml_node *map = yaml_new(YAML_MAP, NULL), *list = yaml_new(YAML_LIST, NULL);
	int i;

	(void)state;
	for (i = 0; i < 20; i++)
		yaml_list_add(list, yaml_new(YAML_SCALAR, "x"));
	yaml_map_add(map, "list", list);
	yaml_map_add(map, "one", yaml_new(YAML_SCALAR, "1"));
	assert_int_equal(yaml_get(map, "list")->n, 20);
	assert_string_equal(yaml_get(map, "one")->text, "1");
	yaml_node_free(map);
}

/* As programs in Go take them. */
static void test_types(void **state)
{
	static const char *const of_type[][20] = {
		[YAML_TYPE_NULL] = { "", "~", "null", "Null", "NULL" },
		[YAML_TYPE_BOOL] = { "y", "Y", "yes", "True", "TRUE", "on", "n", "no", "off",
			"false" },
		[YAML_TYPE_NUMBER] = { "0", "-1", "+1", "1_000", "0x1f", "0b101", "0o17", "017",
			"08", "1.5", ".5", "1.", "1e3", "-1E-3", "99999999999999999999999", ".inf",
			"-.Inf", ".NaN", "18446744073709551615" },
		[YAML_TYPE_TEXT] = { "a", "nULL", "yEs", "t", "1:30", "2001-01-01", "0x", "0xg",
			"1e", "--1", "+", "-", ".", "1.2.3", "_1", "0x10000000000000000", "1 2" },
	};
	size_t type, i;

	(void)state;
	for (type = 0; type < ARRAY_LEN(of_type); type++) {
		for (i = 0; i < ARRAY_LEN(of_type[0]) && of_type[type][i]; i++) {
			struct yaml_node *node = yaml_new(YAML_SCALAR, of_type[type][i]);

			if (yaml_type_of(node) != type)
				fail_msg("%s: %d", node->text, (int)yaml_type_of(node));
			node->quoted = true;
			assert_int_equal(yaml_type_of(node), YAML_TYPE_TEXT);
			yaml_node_free(node);
		}
	}
}

static void test_byte_order_mark(void **state)
{
	struct yaml_node *root = parse("\xef\xbb\xbf"
				       "a: b\nc: d\n");

	(void)state;
	assert_string_equal(yaml_get(root, "a")->text, "b");
	assert_int_equal(yaml_get(root, "c")->line, 2);
	yaml_node_free(root);
}

static struct yaml_node *parse_lax(const char *text)
{
	struct yaml_node *root = NULL;
	struct err err = { 0 };

	if (yaml_parse_lax(text, strlen(text), "c.yaml", &root, &err))
		fail_msg("%s", err.text);
	return root;
}

static void refuse_lax(const char *text, const char *message)
{
	struct yaml_node *root = NULL;
	struct err err = { 0 };

	assert_int_equal(yaml_parse_lax(text, strlen(text), "c", &root, &err), ERR_CONFIG);
	assert_non_null(strstr(err.text, message));
	assert_null(root);
}

static void test_lax(void **state)
{
	struct yaml_node *root;

	(void)state;
	root = parse_lax("a: &x {k: [1, \"2\"]}\nb: *x\nc: &x t\nd: *x\n? *x\n: e\n");
	assert_int_equal(yaml_get(yaml_get(root, "b"), "k")->n, 2);
	assert_ptr_not_equal(yaml_get(root, "a"), yaml_get(root, "b"));
	assert_true(yaml_get(yaml_get(root, "b"), "k")->items[1]->quoted);
	assert_int_equal(yaml_get(root, "b")->line, 1);
	assert_string_equal(yaml_get(root, "d")->text, "t");
	assert_string_equal(yaml_get(root, "t")->text, "e");
	yaml_node_free(root);

	/* The last counts; what it replaced may be named still. */
	root = parse_lax("a: &x [1]\nb: 2\n&y a: {c: 3}\nd: *x\ne: *y\na: 4\n");
	assert_int_equal(root->n, 4);
	assert_string_equal(yaml_get(root, "a")->text, "4");
	assert_string_equal(yaml_get(root, "d")->items[0]->text, "1");
	assert_string_equal(yaml_get(root, "e")->text, "a");
	yaml_node_free(root);

	root = parse_lax("a: b\n---\na: [\n");
	assert_string_equal(yaml_get(root, "a")->text, "b");
	yaml_node_free(root);
	root = parse_lax("");
	assert_int_equal(root->n, 0);
	yaml_node_free(root);

	refuse_lax("a: *x", "c:1:4: an alias (*name) of what was not named before");
	refuse_lax("a: &x [*x]", "c:1:8: an alias (*name) within what it names");
	refuse_lax("a: &x {b: c}\nd:\n  <<: *x\n", "merge keys");
	refuse_lax("? [a]\n: b", "a key must be a word");
}

/* A few lines that would stand for gigabytes. */
static void test_lax_bombs(void **state)
{
	struct str text;
	int i;

	(void)state;
	str_init(&text, 8 * 1024 * 1024);
	str_add(&text, "a0: &a0 x\n");
	for (i = 1; i < 12; i++)
		str_addf(&text, "a%d: &a%d [*a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d]\n", i,
			i, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
	refuse_lax(text.s, "200000 values");

	str_clear(&text);
	str_add(&text, "a: &a ");
	for (i = 0; i < 1000000; i++)
		str_add_char(&text, 'x');
	str_add(&text, "\nb: [*a");
	for (i = 0; i < 100; i++)
		str_add(&text, ", *a");
	str_add(&text, "]\n");
	refuse_lax(text.s, "16 MiB");

	/* Too deep only where it is copied to. */
	str_clear(&text);
	str_add(&text, "a: &a [[[[[[[[[[[[[[[[x]]]]]]]]]]]]]]]]\n"
		       "b: [[[[[[[[[[[[[[[[*a]]]]]]]]]]]]]]]]\n");
	refuse_lax(text.s, "32 levels");
	str_release(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tree),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_bool),
		cmocka_unit_test(test_int),
		cmocka_unit_test(test_duration),
		cmocka_unit_test(test_made),
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_byte_order_mark),
		cmocka_unit_test(test_lax),
		cmocka_unit_test(test_lax_bombs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
