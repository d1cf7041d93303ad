#include "config.h"

#include "tests/unit/unit.h"

#include "base/base64.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

#include <string.h>

/* RFC 4648, section 10. */
static void test_vectors(void **state)
{
	static const char *const cases[][2] = { { "", "" }, { "f", "Zg==" }, { "fo", "Zm8=" },
		{ "foo", "Zm9v" }, { "foob", "Zm9vYg==" }, { "fooba", "Zm9vYmE=" },
		{ "foobar", "Zm9vYmFy" } };
	struct str out;
	size_t i;

	(void)state;
	str_init(&out, 100);
	for (i = 0; i < ARRAY_LEN(cases); i++) {
		str_clear(&out);
		base64_encode(&out, cases[i][0], strlen(cases[i][0]));
		assert_string_equal(out.s, cases[i][1]);
		str_clear(&out);
		assert_int_equal(base64_decode(&out, cases[i][1]), 0);
		assert_string_equal(out.s, cases[i][0]);
	}
	str_release(&out);
}

static void test_round_trip(void **state)
{
	unsigned char bytes[256];
	uint64_t seed = 1;
	struct str text, back;
	size_t len, i;

	(void)state;
	str_init(&text, 1000);
	str_init(&back, 1000);
	for (len = 0; len < sizeof(bytes); len++) {
		for (i = 0; i < len; i++)
			bytes[i] = (unsigned char)unit_random(&seed);
		str_clear(&text);
		str_clear(&back);
		base64_encode(&text, bytes, len);
		assert_int_equal(text.len, (len + 2) / 3 * 4);
		assert_int_equal(base64_decode(&back, text.s), 0);
		assert_int_equal(back.len, len);
		assert_memory_equal(back.s, bytes, len);
	}
	str_release(&text);
	str_release(&back);
}

static void test_refused(void **state)
{
	static const char *const bad[] = { "Z", "Zg", "Zg=", "Zg=a", "Z===", "=",
		"====", "Zg==Zg==", "Zg== ", "Zm9v Zm9v", "Zm9v*", "Zm9-", "Zm9_", "Zg==\nZ" };
	static const char *const good[] = { "Zm\n9v\r\n", "\n\nZg==\n", "\r\n", "Zg=\n=" };
	struct str out;
	size_t i;

	(void)state;
	str_init(&out, 100);
	for (i = 0; i < ARRAY_LEN(bad); i++)
		if (base64_decode(&out, bad[i]) != ERR_PROTO)
			fail_msg("taken: %s", bad[i]);
	for (i = 0; i < ARRAY_LEN(good); i++)
		if (base64_decode(&out, good[i]) != 0)
			fail_msg("refused: %s", good[i]);
	str_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
