#include "config.h"

#include "tests/unit/unit.h"
#include "tests/unit/show/capture.h"

#include "base/text.h"
#include "show/json.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <string.h>

static char *text_of(const char *s)
{
	struct json_writer j;
	struct out out;

	capture_begin(&out);
	jw_init(&j, &out);
	jw_text(&j, s);
	return capture_end(&out);
}

static void expect(const char *s, const char *wanted)
{
	char *text = text_of(s);

	assert_string_equal(text, wanted);
	free(text);
}

static void test_strings(void **state)
{
	(void)state;
	expect("", "\"\"");
	expect(NULL, "null");
	expect("plain, with = signs / and 'quotes'", "\"plain, with = signs / and 'quotes'\"");
	expect("a\"b\\c", "\"a\\\"b\\\\c\"");
	expect("\n\t\r\x01\x1b\x7f", "\"\\n\\t\\u000d\\u0001\\u001b\\u007f\"");
	expect("gr\xc3\xbc\xc3\x9f \xe6\x97\xa5 \xf0\x9f\x98\x80",
		"\"gr\xc3\xbc\xc3\x9f \xe6\x97\xa5 \xf0\x9f\x98\x80\"");
	expect("\xff"
	       "a\xc3",
		"\"\\ufffda\\ufffd\"");
	/* A terminal would obey the first, and hide or turn the others. */
	expect("a\xc2\x9b"
	       "31m\xe2\x80\xae\xe2\x80\xa8\xf3\xa0\x81\x81",
		"\"a\\u009b31m\\u202e\\u2028\\udb40\\udc41\"");
	expect("\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\"");
	expect("\xc0\xaf", "\"\\ufffd\\ufffd\"");
}

/* Whatever the bytes, another parser reads it; and what is UTF-8 comes back as it was. */
static void test_any_bytes(void **state)
{
	uint64_t seed = 20260102;
	int round;

	(void)state;
	for (round = 0; round < 3000; round++) {
		char bytes[64];
		size_t len = unit_pick(&seed, sizeof(bytes)), i;
		json_error_t error;
		json_t *value;
		char *text;

		for (i = 0; i < len; i++)
			bytes[i] = (char)(1 + unit_pick(&seed, round % 2 ? 127 : 255));
		bytes[len] = '\0';
		text = text_of(bytes);
		value = json_loads(text, JSON_DECODE_ANY, &error);
		if (!value)
			fail_msg("%s: %s", error.text, text);
		if (round % 2)
			assert_string_equal(json_string_value(value), bytes);
		json_decref(value);
		free(text);
	}
}

static void test_shape(void **state)
{
	struct json_writer j;
	struct out out;
	char *text;

	(void)state;
	capture_begin(&out);
	jw_init(&j, &out);
	jw_map(&j);
	jw_key_int(&j, "min", INT64_MIN);
	jw_key_int(&j, "max", INT64_MAX);
	jw_key(&j, "list");
	jw_list(&j);
	jw_int(&j, 0);
	jw_list(&j);
	jw_list_end(&j);
	jw_map(&j);
	jw_map_end(&j);
	jw_bool(&j, true);
	jw_null(&j);
	jw_list_end(&j);
	jw_key(&j, "big");
	jw_big(&j, INT64_MIN);
	jw_key(&j, "hex");
	jw_hex(&j, UINT64_MAX);
	jw_key(&j, "zero");
	jw_hex(&j, 0);
	jw_key_time(&j, "time", INT64_C(1767323045678901), 6);
	jw_key_time(&j, "no_time", INT64_MIN, 3);
	jw_key_ms(&j, "ms", -5);
	jw_key_ms(&j, "no_ms", INT64_MIN);
	jw_map_end(&j);
	text = capture_end(&out);
	assert_string_equal(text,
		"{\"min\":-9223372036854775808,\"max\":9223372036854775807,\"list\":[0,[],{},true,"
		"null],"
		"\"big\":\"-9223372036854775808\",\"hex\":\"ffffffffffffffff\",\"zero\":\"0\","
		"\"time\":\"2026-01-02T03:04:05.678901Z\",\"no_time\":null,\"ms\":-5,\"no_ms\":"
		"null}");
	free(text);
}

static void test_lines(void **state)
{
	struct json_writer j;
	struct out out;
	char *text;

	(void)state;
	capture_begin(&out);
	jw_init(&j, &out);
	jw_list(&j);
	jw_newline(&j);
	jw_int(&j, 1);
	jw_newline(&j);
	jw_int(&j, 2);
	jw_list_end(&j);
	text = capture_end(&out);
	assert_string_equal(text, "[\n1,\n2]");
	free(text);
}

static void test_long_output_is_whole(void **state)
{
	struct out out;
	char *text;
	size_t i;

	(void)state;
	capture_begin(&out);
	for (i = 0; i < 100000; i++) {
		out_int(&out, (int64_t)i % 10);
		out_text(&out, "abc");
		out_fmt(&out, "%d", 7);
		out_spaces(&out, 1);
	}
	text = capture_end(&out);
	assert_int_equal(strlen(text), 600000);
	for (i = 0; i < 100000; i++)
		if (text[i * 6] != (char)('0' + i % 10) ||
			memcmp(text + i * 6 + 1, "abc7 ", 5) != 0)
			fail_msg("at %zu", i);
	free(text);
}

static void test_a_failure_is_kept(void **state)
{
	struct out out;
	int fds[2];
	size_t i;

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(fds), 0);
	close(fds[0]);
	out_init(&out, fds[1]);
	for (i = 0; i < 100000; i++)
		out_text(&out, "more than one buffer");
	assert_int_equal(out.error, EPIPE);
	assert_int_equal(out_close(&out), EPIPE);
	close(fds[1]);
	out_init(&out, open("/dev/full", O_WRONLY));
	out_char(&out, 'x');
	assert_int_equal(out_close(&out), ENOSPC);
	close(out.fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_any_bytes),
		cmocka_unit_test(test_shape),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_long_output_is_whole),
		cmocka_unit_test(test_a_failure_is_kept),
	};

	text_init_locale();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
