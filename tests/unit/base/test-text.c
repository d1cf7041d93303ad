#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "tests/unit/unit.h"

static void check_escape(const char *bytes, size_t len, const char *want)
{
	struct str out, back;

	str_init(&out, 1000);
	str_init(&back, 1000);
	text_escape(&out, bytes, len);
	assert_string_equal(out.s, want);
	assert_int_equal(text_unescape(&back, out.s), 0);
	assert_int_equal(back.len, len);
	assert_memory_equal(back.s, bytes, len);
	str_release(&out);
	str_release(&back);
}

static void hostile_bytes_become_visible(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *want;
	} cases[] = {
		{ "plain", 5, "plain" },
		{ "a\\b", 3, "a\\\\b" },
		{ "eight by\\", 9, "eight by\\\\" },
		{ "\\sixteen bytes ..", 17, "\\\\sixteen bytes .." },
		{ "sixteen \\[]bytes", 16, "sixteen \\\\[]bytes" },
		{ "sixteen bytes \x80\\", 16, "sixteen bytes \\x80\\\\" },
		{ "\x1b[31m", 5, "\\x1b[31m" },
		{ "a\0b", 3, "a\\x00b" },
		{ "\r\n\t\x7f", 4, "\\x0d\\x0a\\x09\\x7f" },
		{ "\xc3\xa9", 2, "\xc3\xa9" },                     /* e with acute */
		{ "\xe7\x95\x8c", 3, "\xe7\x95\x8c" },             /* a wide character */
		{ "e\xcc\x81", 3, "e\xcc\x81" },                   /* combining acute */
		{ "\xe2\x80\xae", 3, "\\xe2\\x80\\xae" },          /* right-to-left override */
		{ "\xe2\x81\xa6", 3, "\\xe2\\x81\\xa6" },          /* left-to-right isolate */
		{ "\xe2\x80\x8b", 3, "\\xe2\\x80\\x8b" },          /* zero-width space */
		{ "\xe2\x80\xa8", 3, "\\xe2\\x80\\xa8" },          /* line separator */
		{ "\xc2\x9b", 2, "\\xc2\\x9b" },                   /* a C1 control: CSI */
		{ "\xc0\xaf", 2, "\\xc0\\xaf" },                   /* overlong slash */
		{ "\xed\xa0\x80", 3, "\\xed\\xa0\\x80" },          /* a surrogate */
		{ "\xf4\x90\x80\x80", 4, "\\xf4\\x90\\x80\\x80" }, /* past U+10FFFF */
		{ "\xe7\x95", 2, "\\xe7\\x95" },                   /* cut in the middle */
		{ "\xff", 1, "\\xff" },
		{ "", 0, "" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		check_escape(cases[i].bytes, cases[i].len, cases[i].want);
}

static void any_bytes_come_back(void **state)
{
	struct str out, back;
	uint64_t seed = 11;
	int round;

	(void)state;
	str_init(&out, 100000);
	str_init(&back, 100000);
	for (round = 0; round < 20000; round++) {
		char bytes[64];
		size_t len = unit_pick(&seed, sizeof(bytes)), i;

		/* Half of the rounds stay near what UTF-8 is made of. */
		for (i = 0; i < len; i++)
			bytes[i] = (char)(round % 2 ? unit_random(&seed)
						    : 0x80 + unit_pick(&seed, 128));
		str_clear(&out);
		str_clear(&back);
		text_escape(&out, bytes, len);
		assert_int_equal(text_unescape(&back, out.s), 0);
		assert_int_equal(back.len, len);
		assert_memory_equal(back.s, bytes, len);
		for (i = 0; i < out.len; i++)
			assert_true((unsigned char)out.s[i] >= 0x20 && out.s[i] != 0x7f);
	}
	str_release(&out);
	str_release(&back);
}

static void what_is_plain(void **state)
{
	static const char *const plain[] = { "", "a \\x1b", "gr\xc3\xbc\xc3\x9f",
		"\xf0\x9f\x98\x80" };
	static const char *const others[] = { "\n", "a\tb", "longer than eight\x1b", "\xc2\x9b",
		"\xe2\x80\xae", "\xff", "a\xc3", "\x7f" };
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_LEN(plain); i++)
		assert_true(text_is_plain(plain[i]));
	for (i = 0; i < ARRAY_LEN(others); i++)
		assert_false(text_is_plain(others[i]));
}

static void what_is_not_plain_is_made_so(void **state)
{
	static const char plain[] = "a\\\xc3\xa9";
	struct str own;

	(void)state;
	assert_ptr_equal(text_make_plain(&own, plain, SIZE_MAX), plain);
	str_release(&own);
	assert_ptr_equal(text_make_plain(&own, plain, 4), plain);
	str_release(&own);
	assert_string_equal(text_make_plain(&own, plain, 3), "a\\...");
	str_release(&own);
	assert_string_equal(text_make_plain(&own, "\033[2J\n", SIZE_MAX), "\\x1b[2J\\x0a");
	str_release(&own);
	assert_string_equal(text_make_plain(&own, "\001\002\003", 2), "\\x01\\x02...");
	str_release(&own);
	assert_null(text_make_plain(&own, NULL, SIZE_MAX));
	str_release(&own);
}

static void foreign_escapes_are_refused(void **state)
{
	static const char *const bad[] = { "\\", "a\\n", "\\x", "\\x4", "\\xg0", "\\x0g",
		"\\u0041" };
	struct str out;
	size_t i;

	(void)state;
	str_init(&out, 100);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(text_unescape(&out, bad[i]), ERR_USAGE);
	str_release(&out);
}

static void a_cut_is_between_characters(void **state)
{
	struct str out;
	char shown[20];

	(void)state;
	str_init(&out, 100);
	text_escape_cut(&out, "ab\xc3\xa9", 4, 4);
	assert_string_equal(out.s, "ab\xc3\xa9");
	str_clear(&out);
	text_escape_cut(&out, "ab\xc3\xa9", 4, 3);
	assert_string_equal(out.s, "ab...");
	str_clear(&out);
	text_escape_cut(&out, "abc", 3, 0);
	assert_string_equal(out.s, "...");
	str_clear(&out);
	text_escape_again(&out, "a\\\xc3\xa9", 4);
	assert_string_equal(out.s, "a\\\xc3\xa9");
	str_clear(&out);
	text_escape_again(&out, "a\\\xc3\xa9", 3);
	assert_string_equal(out.s, "a\\...");
	str_release(&out);
	assert_string_equal(text_shown(shown, sizeof(shown), "a\xc3\xa9"), "a\xc3\xa9");
	assert_string_equal(
		text_shown(shown, sizeof(shown), "\x01\x02\x03\x04"), "\\x01\\x02\\x03...");
}

/* What the C library decodes at s, in the same terms. */
static size_t reference_decode(const char *s, size_t len, uint32_t *ret_cp)
{
	mbstate_t shift;
	wchar_t wide;
	size_t n;

	memset(&shift, 0, sizeof(shift));
	n = mbrtowc(&wide, s, len, &shift);
	/* glibc also takes what lies beyond Unicode. */
	if (n == (size_t)-1 || n == (size_t)-2 || (uint32_t)wide > 0x10ffff)
		return 0;
	*ret_cp = (uint32_t)wide;
	return n ? n : 1; /* a NUL is one byte */
}

static void compare_decoders(const char *s, size_t len)
{
	uint32_t ours = 0, theirs = 0;
	size_t n = text_decode(s, len, &ours);

	assert_int_equal(n, reference_decode(s, len, &theirs));
	if (n)
		assert_int_equal(ours, theirs);
}

static void decodes_like_the_c_library(void **state)
{
	uint64_t seed = 3;
	uint32_t pair;
	int round;

	(void)state;
	for (pair = 0; pair < 0x10000; pair++) {
		char two[2] = { (char)(pair >> 8), (char)pair };

		compare_decoders(two, 2);
		compare_decoders(two, 1);
	}
	for (round = 0; round < 300000; round++) {
		char bytes[4];
		size_t i;

		bytes[0] = (char)(0xc0 + unit_pick(&seed, 64));
		for (i = 1; i < sizeof(bytes); i++)
			bytes[i] = (char)(unit_pick(&seed, 8) ? 0x80 + unit_pick(&seed, 64)
							      : unit_random(&seed));
		compare_decoders(bytes, 1 + unit_pick(&seed, 4));
	}
	assert_int_equal(text_decode("x", 0, &pair), 0);
}

static void widths(void **state)
{
	(void)state;
	assert_int_equal(text_width(""), 0);
	assert_int_equal(text_width("abc"), 3);
	assert_int_equal(text_width("\xc3\xa9"), 1);
	assert_int_equal(text_width("e\xcc\x81"), 1);
	assert_int_equal(text_width("\xe7\x95\x8c\xe7\x95\x8c"), 4);
	assert_int_equal(text_cp_width('A'), 1);
	assert_int_equal(text_cp_width(0x301), 0);
	assert_int_equal(text_cp_width(0x754c), 2);
	assert_int_equal(text_cp_width(0x1b), -1);
	assert_int_equal(text_cp_width(0x202e), -1);
	assert_int_equal(text_cp_width(0x85), -1);
}

/* The textbook's table, without a cap. */
static size_t reference_distance(const char *a, const char *b)
{
	size_t table[16][16], i, j, la = strlen(a), lb = strlen(b);

	for (i = 0; i <= la; i++) {
		for (j = 0; j <= lb; j++) {
			size_t best;

			if (!i || !j) {
				table[i][j] = i + j;
				continue;
			}
			best = table[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
			if (table[i - 1][j] + 1 < best)
				best = table[i - 1][j] + 1;
			if (table[i][j - 1] + 1 < best)
				best = table[i][j - 1] + 1;
			table[i][j] = best;
		}
	}
	return table[la][lb];
}

static void random_word(uint64_t *seed, char *word, size_t size)
{
	size_t len = unit_pick(seed, size), i;

	for (i = 0; i < len; i++)
		word[i] = (char)('a' + unit_pick(seed, 3));
	word[len] = '\0';
}

static void distance_is_levenshteins(void **state)
{
	uint64_t seed = 5;
	int round;

	(void)state;
	assert_int_equal(text_distance("kitten", "sitting", 10), 3);
	for (round = 0; round < 5000; round++) {
		size_t max = unit_pick(&seed, 12), want;
		char a[12], b[12];

		random_word(&seed, a, sizeof(a));
		random_word(&seed, b, sizeof(b));
		want = reference_distance(a, b);
		assert_int_equal(text_distance(a, b, max), want > max ? max + 1 : want);
	}
}

static int set_locale(void **state)
{
	(void)state;
	text_init_locale();
	return 0;
}

static void a_cut_is_made_where_a_character_ends(void **state)
{
	static const char *const texts[] = { "", "a", "ab", "\xc3\xa9", "a\xc3\xa9", "\xe6\xbc\xa2",
		"a\xe6\xbc\xa2", "\xf0\x9f\x98\x80", "ab\xf0\x9f\x98\x80",
		"\xe6\xbc\xa2\xe6\xbc\xa2" };
	char buf[16];
	uint32_t cp;
	size_t i, at;
	int max;

	(void)state;
	for (i = 0; i < ARRAY_LEN(texts); i++)
		for (max = 0; max < 12; max++) {
			int most = text_most(texts[i], max);

			assert_true(most <= max);
			assert_true(max - most < 4 || !texts[i][most]);
			snprintf(buf, (size_t)max + 1, "%s", texts[i]);
			text_trim(buf);
			assert_int_equal(strlen(buf), most);
			assert_memory_equal(buf, texts[i], most);
			for (at = 0; buf[at]; at += text_decode(buf + at, strlen(buf + at), &cp))
				assert_true(text_decode(buf + at, strlen(buf + at), &cp) > 0);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hostile_bytes_become_visible),
		cmocka_unit_test(any_bytes_come_back),
		cmocka_unit_test(what_is_plain),
		cmocka_unit_test(what_is_not_plain_is_made_so),
		cmocka_unit_test(foreign_escapes_are_refused),
		cmocka_unit_test(a_cut_is_between_characters),
		cmocka_unit_test(decodes_like_the_c_library),
		cmocka_unit_test(widths),
		cmocka_unit_test(a_cut_is_made_where_a_character_ends),
		cmocka_unit_test(distance_is_levenshteins),
	};

	return cmocka_run_group_tests(tests, set_locale, NULL);
}
