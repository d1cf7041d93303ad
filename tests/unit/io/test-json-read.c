#include "config.h"

#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/json-read.h"

static struct json_read reader(const char *text)
{
	struct json_read r;

	json_read_init(&r, text, strlen(text));
	return r;
}

static void test_values(void **state)
{
	struct json_read r =
		reader(" {\"a\": -12, \"b\":\"x\", \"c\":true,\"d\":[1,{\"e\":2}],\"f\":1.5}");
	struct json_text name, text;
	int64_t n = 7;
	bool yes = false;

	(void)state;
	assert_true(json_read_object(&r));
	assert_true(json_read_member(&r, &name) && json_is(&name, "a"));
	assert_true(json_read_int(&r, &n));
	assert_int_equal(n, -12);
	assert_true(json_read_member(&r, &name) && json_is(&name, "b"));
	assert_true(json_read_string(&r, &text) && json_is(&text, "x"));
	assert_true(json_read_member(&r, &name) && json_is(&name, "c"));
	assert_true(json_read_bool(&r, &yes) && yes);
	assert_true(json_read_member(&r, &name) && json_is(&name, "d"));
	assert_true(json_read_array(&r));
	assert_true(json_read_item(&r) && json_read_int(&r, &n) && n == 1);
	assert_true(json_read_item(&r));
	text = json_raw(&r);
	assert_true(json_is(&text, "{\"e\":2}"));
	assert_false(json_read_item(&r));
	assert_true(json_read_member(&r, &name) && json_is(&name, "f"));
	/* No whole number: walked over. */
	assert_false(json_read_int(&r, &n));
	assert_int_equal(n, 1);
	assert_false(json_read_member(&r, &name));
	assert_false(r.bad);
}

static void test_other_types_are_walked_over(void **state)
{
	struct json_read r = reader("{\"a\":{\"x\":[\"]}\"]},\"b\":null,\"c\":5}");
	struct json_text name, text = { .s = "kept", .len = 4 };
	int64_t n = 0;

	(void)state;
	assert_true(json_read_object(&r));
	assert_true(json_read_member(&r, &name));
	assert_false(json_read_string(&r, &text));
	assert_true(json_is(&text, "kept"));
	assert_true(json_read_member(&r, &name));
	assert_false(json_read_object(&r));
	assert_true(json_read_member(&r, &name) && json_read_int(&r, &n));
	assert_int_equal(n, 5);
	assert_false(json_read_member(&r, &name));
	assert_false(r.bad);
}

static void test_numbers(void **state)
{
	static const struct {
		const char *text;
		bool good;
		int64_t value;
	} cases[] = {
		{ "9223372036854775807", true, INT64_MAX },
		{ "-9223372036854775808", true, INT64_MIN },
		{ "9223372036854775808", false, 0 },
		{ "-9223372036854775809", false, 0 },
		{ "1e3", false, 0 },
		{ "\"5\"", false, 0 },
		{ "-", false, 0 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct json_read r = reader(cases[i].text);
		int64_t n = 0;

		assert_int_equal(json_read_int(&r, &n), cases[i].good);
		assert_int_equal(n, cases[i].value);
	}
}

static void assert_decoded(const char *raw, const char *expected, size_t len)
{
	struct json_text text = { .s = raw, .len = strlen(raw), .escaped = strchr(raw, '\\') };
	char *to = malloc(text.len + 1);

	assert_int_equal(json_decode(to, &text), len);
	assert_memory_equal(to, expected, len);
	free(to);
}

static void test_strings(void **state)
{
	(void)state;
	assert_decoded("plain", "plain", 5);
	assert_decoded("a\\\"b\\\\c\\n\\t\\/", "a\"b\\c\n\t/", 8);
	assert_decoded("\\u0041\\u00e9\\u20ac", "A\xc3\xa9\xe2\x82\xac", 6);
	assert_decoded("\\ud83d\\ude00", "\xf0\x9f\x98\x80", 4);
	assert_decoded("x\\u0000y", "x\0y", 3);
	/* Halves of a pair, and escapes that are none. */
	assert_decoded("\\ud83d!", "\xef\xbf\xbd!", 4);
	assert_decoded("\\ude00", "\xef\xbf\xbd", 3);
	assert_decoded("\\ud83d\\u0041",
		"\xef\xbf\xbd"
		"A",
		4);
	assert_decoded("\\q\\u12", "??12", 4);
	assert_decoded("\\", "", 0);
}

static void test_what_is_no_json(void **state)
{
	static const char *const texts[] = { "", "{", "{\"a\"", "{\"a\":", "{\"a\":\"x",
		"{\"a\":[1,2", "{\"a\":[1}", "{a:1}", "<html>", "{\"a\" 1}", "{\"a\":]" };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct json_read r = reader(texts[i]);
		struct json_text name;

		if (json_read_object(&r))
			while (json_read_member(&r, &name))
				json_skip(&r);
		assert_true(r.bad);
	}
}

static void test_depth_is_bounded(void **state)
{
	char text[1000];
	struct json_read r;

	(void)state;
	memset(text, '[', sizeof(text));
	json_read_init(&r, text, sizeof(text));
	json_skip(&r);
	assert_true(r.bad);
}

/* ---- lists in pieces ---- */

struct seen {
	struct str text;
};

static int on_member(
	void *arg, const struct json_text *name, const char *text, size_t len, struct err *err)
{
	struct seen *seen = arg;

	(void)err;
	str_add_mem(&seen->text, name->s, name->len);
	str_add_char(&seen->text, '=');
	str_add_mem(&seen->text, text, len);
	str_add_char(&seen->text, '\n');
	return 0;
}

static int on_item(void *arg, const char *text, size_t len, struct err *err)
{
	struct seen *seen = arg;

	(void)err;
	str_add(&seen->text, "- ");
	str_add_mem(&seen->text, text, len);
	str_add_char(&seen->text, '\n');
	return 0;
}

static const struct json_list_ops ops = { .member = on_member, .item = on_item };

static const struct json_list_ops items_only = { .item = on_item };

static int take_with(const struct json_list_ops *with, struct seen *seen, const char *text,
	size_t piece, size_t max, struct err *err)
{
	struct json_list l;
	size_t at, len = strlen(text);
	int rc = 0;

	str_init(&seen->text, 65536);
	json_list_init(&l, "items", max, with, seen);
	for (at = 0; at < len && !rc; at += piece)
		rc = json_list_take(&l, text + at, len - at < piece ? len - at : piece, err);
	if (!rc)
		rc = json_list_end(&l, err);
	json_list_release(&l);
	return rc;
}

static int take(struct seen *seen, const char *text, size_t piece, size_t max, struct err *err)
{
	return take_with(&ops, seen, text, piece, max, err);
}

static void test_a_list_in_pieces_of_any_size(void **state)
{
	static const char text[] =
		"{\"kind\":\"JobList\", \"metadata\":{\"continue\":\"a\\\"]}b\"},\n"
		"\"items\":[ {\"a\":\"}]\\\\\"} ,{\"b\":[1,2]},3 ,\"x\"],\"after\":12}\n";
	static const char expected[] =
		"kind=\"JobList\"\nmetadata={\"continue\":\"a\\\"]}b\"}\n"
		"- {\"a\":\"}]\\\\\"}\n- {\"b\":[1,2]}\n- 3\n- \"x\"\nafter=12\n";
	struct err err = { 0 };
	size_t piece;

	(void)state;
	for (piece = 1; piece <= sizeof(text); piece++) {
		struct seen seen;

		assert_int_equal(take(&seen, text, piece, 1000, &err), 0);
		assert_string_equal(seen.text.s, expected);
		str_release(&seen.text);
		assert_int_equal(take_with(&items_only, &seen, text, piece, 1000, &err), 0);
		assert_string_equal(
			seen.text.s, "- {\"a\":\"}]\\\\\"}\n- {\"b\":[1,2]}\n- 3\n- \"x\"\n");
		str_release(&seen.text);
	}
}

static void test_a_list_that_is_none(void **state)
{
	static const struct {
		const char *text;
		int code;
		const char *words;
	} cases[] = {
		{ "", ERR_PROTO, "the answer is empty" },
		{ "<html>no\x1b</html>", ERR_PROTO,
			"the answer is no JSON list where it says \"<html>no\\x1b</html>\"" },
		{ "{\"items\":[{\"a\":1},{\"b\":", ERR_PROTO,
			"the answer was cut: it ends in its midst, after 1 objects" },
		{ "{\"items\":[{\"a\":1}", ERR_PROTO,
			"the answer was cut: it ends in its midst, after 1 objects" },
		{ "{} {}", ERR_PROTO, "the answer is no JSON list where it says \"{}\"" },
		{ "{\"items\":[{\"a\":]}]}", ERR_PROTO,
			"the answer is no JSON list where it says \"{\"a\":]}]}\"" },
		{ "[1]", ERR_PROTO, "the answer is no JSON list where it says \"[1]\"" },
		{ "{\"items\":[{\"a\":\"0123456789012345678901234567890123456789\"}]}", ERR_LIMIT,
			"one object of the answer is larger than 0 MiB" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err err = { 0 };
		struct seen seen;

		assert_int_equal(take(&seen, cases[i].text, 1000, 40, &err), cases[i].code);
		assert_string_equal(err.text, cases[i].words);
		str_release(&seen.text);
	}
}

static void test_a_list_that_is_too_deep(void **state)
{
	struct err err = { 0 };
	struct seen seen;
	char text[2000];

	(void)state;
	memset(text, '[', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	memcpy(text, "{\"items\":", 9);
	assert_int_equal(take(&seen, text, 100, 1 << 20, &err), ERR_LIMIT);
	assert_string_equal(err.text, "the answer is nested deeper than 200 levels");
	str_release(&seen.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_other_types_are_walked_over),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_what_is_no_json),
		cmocka_unit_test(test_depth_is_bounded),
		cmocka_unit_test(test_a_list_in_pieces_of_any_size),
		cmocka_unit_test(test_a_list_that_is_none),
		cmocka_unit_test(test_a_list_that_is_too_deep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
