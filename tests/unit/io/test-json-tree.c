#include "config.h"

#include "base/mem.h"
#include "base/str.h"
#include "tests/unit/io/json-twin.h"
#include "tests/unit/unit.h"

/* What is read of JSON, compared with what jansson reads of it. */

static const struct {
	const char *text;
	bool valid;
} texts[] = {
	{ "{}", true },
	{ " [ ] \r\n", true },
	{ "", false },
	{ " ", false },
	{ "1", false },
	{ "\"a\"", false },
	{ "null", false },
	{ "{", false },
	{ "[", false },
	{ "]", false },
	{ "[]]", false },
	{ "[][]", false },
	{ "[}", false },
	{ "{]", false },
	{ "[1,2,3]", true },
	{ "[1,2,]", false },
	{ "[,1]", false },
	{ "[1 2]", false },
	{ "{\"a\":1,}", false },
	{ "{\"a\":1 \"b\":2}", false },
	{ "{,}", false },
	{ "{\"a\"}", false },
	{ "{\"a\":}", false },
	{ "{\"a\" 1}", false },
	{ "{1:1}", false },
	{ "{\"\":{\"\":[[],{}]}}", true },
	/* Names that stand twice; what is in them goes where they go. */
	{ "{\"a\":1,\"b\":2,\"a\":3}", true },
	{ "{\"a\":1,\"a\":2,\"a\":3}", true },
	{ "{\"b\":0,\"a\":[1],\"a\":{\"x\":[1,{\"y\":2}],\"x\":5,\"z\":[7]},\"c\":4}", true },
	{ "{\"a\":{\"b\":[1,2]},\"a\":{\"b\":[3,4]},\"d\":[5],\"a\":[6,{\"e\":[7]}]}", true },
	{ "{\"a\":{\"a\":1,\"a\":[2]},\"b\":3,\"b\":{\"c\":4,\"c\":{\"d\":5}}}", true },
	{ "{\"a\":1,\"\\u0061\":2}", true },
	{ "{\"a\":1,\"ab\":2,\"A\":3}", true },
	/* Numbers. */
	{ "[0,-0,1,-1,9223372036854775807,-9223372036854775808]", true },
	{ "[9223372036854775808]", false },
	{ "[-9223372036854775809]", false },
	{ "[18446744073709551616]", false },
	{ "[0.0,-0.0,1.5e3,1E+3,1e-3,1e308,0e999,1e-999]", true },
	{ "[1e309]", false },
	{ "[-1e309]", false },
	{ "[100000000000000000000.0]", true },
	{ "[00]", false },
	{ "[-01]", false },
	{ "[-]", false },
	{ "[-a]", false },
	{ "[+1]", false },
	{ "[.1]", false },
	{ "[1.]", false },
	{ "[1.e1]", false },
	{ "[1e]", false },
	{ "[1e+]", false },
	{ "[1a]", false },
	{ "[0x1]", false },
	{ "[1e1.5]", false },
	{ "[NaN]", false },
	{ "[Infinity]", false },
	/* Words. */
	{ "[true,false,null]", true },
	{ "[tru]", false },
	{ "[truer]", false },
	{ "[true1]", false },
	{ "[TRUE]", false },
	{ "[nul", false },
	/* Texts. */
	{ "[\"\",\"a\",\"\\\"\\\\\\/\\b\\f\\n\\r\\t\",\"\\u00e4\\u20ac\\ud83d\\ude00\"]", true },
	{ "[\"\\u0001\\u001f\\u007f\\ud7ff\\ue000\\uffff\\uDBFF\\uDFFF\"]", true },
	{ "[\"a\\nb\xc3\xa4 c\\u0041\xf0\x9f\x98\x80\"]", true },
	{ "[\"\\u0000\"]", false },
	{ "{\"\\u0000\":1}", false },
	{ "[\"\\ud83d\"]", false },
	{ "[\"\\ud83dx\"]", false },
	{ "[\"\\ud83d\\n\"]", false },
	{ "[\"\\ud83d\\u0041\"]", false },
	{ "[\"\\ud83d\\ud83d\"]", false },
	{ "[\"\\ude00\"]", false },
	{ "[\"\\u123\"]", false },
	{ "[\"\\u12g4\"]", false },
	{ "[\"\\u\"]", false },
	{ "[\"\\a\"]", false },
	{ "[\"\\'\"]", false },
	{ "[\"\\\"]", false },
	{ "[\"a", false },
	{ "[\"a\\", false },
	{ "[\"\\ud83d", false },
	{ "[\"\\ud83d\\", false },
	{ "[\"\n\"]", false },
	{ "[\"\x1f\"]", false },
	{ "[\"\x7f\"]", true },
	{ "[\"\x80\"]", false },
	{ "[\"\xc1\xbf\"]", false },
	{ "[\"\xe0\x9f\xbf\"]", false },
	{ "[\"\xed\xa0\x80\"]", false },
	{ "[\"\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf\xf4\x8f\xbf\xbf\"]", true },
	{ "[\"\xf4\x90\x80\x80\"]", false },
	{ "[\"\xf5\x80\x80\x80\"]", false },
	{ "[\"\xe2\x82\"]", false },
	{ "[\"\xe2\x82", false },
	{ "\xef\xbb\xbf[]", false },
	{ "[]\xff", false },
	{ "[\v]", false },
	{ "[\f]", false },
	{ "[/**/]", false },
	{ "['a']", false },
};

static void check(struct json_tree *tree, const char *text, size_t len, int want)
{
	bool valid;

	if (!twin_agree(tree, text, len, &valid))
		fail_msg("jansson reads it otherwise: %.*s", (int)len, text);
	if (want >= 0 && valid != (want > 0))
		fail_msg("it is %svalid: %.*s", valid ? "" : "not ", (int)len, text);
}

static void reads_what_jansson_reads(void **state)
{
	struct json_tree tree;
	size_t i;

	(void)state;
	json_tree_init(&tree);
	for (i = 0; i < ARRAY_LEN(texts); i++)
		check(&tree, texts[i].text, strlen(texts[i].text), texts[i].valid);
	check(&tree, "[\"\0\"]", 5, false);
	check(&tree, "[\0]", 3, false);
	check(&tree, "[]\0", 3, false);
	check(&tree, "[1\0]", 4, false);
	check(&tree, "\0", 1, false);
	json_tree_release(&tree);
}

/* Each text, with a byte changed, taken out, or put in, again and again. */
static void and_of_what_is_changed(void **state)
{
	static const char bytes[] =
		"{}[]:,\"\\ \n\t\0u0123456789abcdefEe+-.tfn/\xc3\xa4\xed\xa0\xf4";
	struct json_tree tree;
	uint64_t seed = 11;
	int round;

	(void)state;
	json_tree_init(&tree);
	for (round = 0; round < 200000; round++) {
		char text[256];
		size_t len, at, times = 1 + unit_pick(&seed, 3);
		const char *from = texts[unit_pick(&seed, ARRAY_LEN(texts))].text;

		len = strlen(from);
		memcpy(text, from, len);
		for (; times && len; times--) {
			char byte = bytes[unit_pick(&seed, sizeof(bytes))];

			at = unit_pick(&seed, len);
			switch (unit_pick(&seed, 3)) {
			case 0:
				text[at] = byte;
				break;
			case 1:
				memmove(text + at, text + at + 1, len - at - 1);
				len--;
				break;
			default:
				memmove(text + at + 1, text + at, len - at);
				text[at] = byte;
				len++;
			}
		}
		check(&tree, text, len, -1);
	}
	json_tree_release(&tree);
}

/* Objects of a few names, which stand in them again and again. */
static void add_object(struct str *s, uint64_t *seed, int depth)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwx";
	size_t n = unit_pick(seed, 8) ? unit_pick(seed, 8) : unit_pick(seed, 80), i;

	str_add(s, "{");
	for (i = 0; i < n; i++) {
		str_addf(s, "%s\"%.*s\":", i ? "," : "", (int)(1 + unit_pick(seed, 3)),
			&letters[unit_pick(seed, n < 8 ? 3 : 20)]);
		if (depth < 4 && unit_pick(seed, 3) == 0)
			add_object(s, seed, depth + 1);
		else
			str_addf(s, "[%zu,\"%zu\"]", i, i);
	}
	str_add(s, "}");
}

static void and_of_many_doubles(void **state)
{
	struct json_tree tree;
	uint64_t seed = 12;
	struct str s;
	int round;

	(void)state;
	json_tree_init(&tree);
	str_init(&s, 16 * 1024 * 1024);
	for (round = 0; round < 3000; round++) {
		str_clear(&s);
		add_object(&s, &seed, 0);
		check(&tree, s.s, s.len, true);
	}
	str_release(&s);
	json_tree_release(&tree);
}

static void and_of_many_levels(void **state)
{
	static const int levels[] = { 1, 63, 64, 65, 2047, 2048, 2049, 100000 };
	struct json_tree tree;
	struct str s;
	size_t i;
	int form, k;

	(void)state;
	json_tree_init(&tree);
	str_init(&s, 1024 * 1024);
	for (i = 0; i < 3 * ARRAY_LEN(levels); i++) {
		int n = levels[i / 3];

		form = (int)(i % 3); /* lists, objects; 2: with a value in them */
		str_clear(&s);
		for (k = 0; k < n; k++)
			str_add(&s, form == 1 && k < n - 1 ? "{\"a\":" : form == 1 ? "{" : "[");
		str_add(&s, form == 2 ? "1" : "");
		for (k = 0; k < n; k++)
			str_add(&s, form == 1 ? "}" : "]");
		check(&tree, s.s, s.len, n + (form == 2) <= JSON_TREE_DEPTH_MAX);
	}
	str_release(&s);
	json_tree_release(&tree);
}

/* What is not there has no parts. */
static void nothing_is_nothing(void **state)
{
	char text[] = "[1]";
	struct json_tree tree;
	const struct json_node *list;

	(void)state;
	json_tree_init(&tree);
	list = json_tree_read(&tree, text, strlen(text));
	assert_null(json_node_get(NULL, "a"));
	assert_null(json_node_get(list, "a"));
	assert_null(json_node_first(NULL));
	assert_null(json_node_text(NULL));
	assert_null(json_node_text(list));
	assert_int_equal(json_node_count(NULL), 0);
	assert_int_equal(json_node_count(json_node_first(list)), 0);
	assert_false(json_node_is(NULL, JSON_KIND_NULL));
	json_tree_release(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_what_jansson_reads),
		cmocka_unit_test(and_of_what_is_changed),
		cmocka_unit_test(and_of_many_doubles),
		cmocka_unit_test(and_of_many_levels),
		cmocka_unit_test(nothing_is_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
