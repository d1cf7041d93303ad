#include "config.h"

#include "tests/unit/unit.h"

#include "base/err.h"
#include "base/text.h"

#include <string.h>

/* Names of a file or a command line stand in messages, and a terminal obeys what it is sent. */
static void a_message_is_plain_text(void **state)
{
	struct err err = { 0 };

	(void)state;
	assert_int_equal(err_set(&err, ERR_CONFIG, "no machine '%s'", "a\tb\x1b[2J"), ERR_CONFIG);
	assert_string_equal(err.text, "no machine 'a\\x09b\\x1b[2J'");
	assert_int_equal(err_prefix(&err, "file '%s'", "x\ny"), ERR_CONFIG);
	assert_string_equal(err.text, "file 'x\\x0ay': no machine 'a\\x09b\\x1b[2J'");
	err_set(&err, ERR_IO, "%s", "right to left \xe2\x80\xae, broken \xc3");
	assert_string_equal(err.text, "right to left \\xe2\\x80\\xae, broken \\xc3");
	err_set(&err, ERR_IO, "%s", "Bj\xc3\xb6rn, a\\b");
	assert_string_equal(err.text, "Bj\xc3\xb6rn, a\\b");
}

/* A character is left whole or out, wherever the message is cut. */
static void a_cut_is_between_characters(void **state)
{
	char long_text[ERR_TEXT_MAX * 2];
	struct err err = { 0 };
	size_t i, shift;

	(void)state;
	for (shift = 0; shift < 4; shift++) {
		memset(long_text, 'x', shift);
		for (i = shift; i + 4 < sizeof(long_text); i += 4)
			memcpy(long_text + i, "\xf0\x9f\x98\x80", 4);
		long_text[i] = '\0';
		err_set(&err, ERR_IO, "%s", long_text);
		assert_int_equal(strlen(err.text), (ERR_TEXT_MAX - 1 - shift) / 4 * 4 + shift);
		assert_memory_equal(err.text, long_text, strlen(err.text));
	}
}

static void a_long_message_that_grows_is_cut(void **state)
{
	char hostile[ERR_TEXT_MAX];
	struct err err = { 0 };

	(void)state;
	memset(hostile, '\x01', sizeof(hostile) - 1);
	hostile[sizeof(hostile) - 1] = '\0';
	err_set(&err, ERR_IO, "%s", hostile);
	assert_int_equal(strlen(err.text), ERR_TEXT_MAX - 1);
	assert_memory_equal(err.text, "\\x01\\x01", 8);
	err_prefix(&err, "what %d", 1);
	assert_int_equal(strlen(err.text), ERR_TEXT_MAX - 1);
	assert_memory_equal(err.text, "what 1: \\x01", 12);
	assert_int_equal(err_set(NULL, ERR_IO, "nobody asks"), ERR_IO);
	err_clear(&err);
	assert_string_equal(err.text, "");
	assert_int_equal(err.code, ERR_NONE);
}

static int set_locale(void **state)
{
	(void)state;
	text_init_locale();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_message_is_plain_text),
		cmocka_unit_test(a_cut_is_between_characters),
		cmocka_unit_test(a_long_message_that_grows_is_cut),
	};

	return cmocka_run_group_tests(tests, set_locale, NULL);
}
