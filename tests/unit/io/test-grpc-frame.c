#include "config.h"

#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "base/text.h"
#include "io/grpc-frame.h"
#include "io/wire.h"

/* What came out of the frames: each message between brackets. */
static int seen_begin(void *arg, size_t len, struct err *err)
{
	(void)len;
	(void)err;
	str_add_char(arg, '[');
	return 0;
}

static int seen_data(void *arg, const void *bytes, size_t len, struct err *err)
{
	(void)err;
	str_add_mem(arg, bytes, len);
	return 0;
}

static int seen_end(void *arg, struct err *err)
{
	(void)err;
	str_add_char(arg, ']');
	return 0;
}

static const struct grpc_sink sink = { .begin = seen_begin, .data = seen_data, .end = seen_end };

/* Feeds in pieces of at most `piece` bytes. */
static int feed(struct grpc_frames *f, const char *bytes, size_t len, size_t piece, struct str *out,
	struct err *err)
{
	size_t at = 0;

	while (at < len) {
		size_t n = len - at < piece ? len - at : piece;
		int rc = grpc_frames_feed(f, 100, bytes + at, n, &sink, out, err);

		if (rc)
			return rc;
		at += n;
	}
	return 0;
}

static void test_messages_in_any_pieces(void **state)
{
	static const char stream[] = "\0\0\0\0\3abc\0\0\0\0\0\0\0\0\0\2de";
	struct grpc_frames f;
	struct str out;
	size_t piece;

	(void)state;
	for (piece = 1; piece < sizeof(stream); piece++) {
		grpc_frames_init(&f);
		str_init(&out, 100);
		assert_int_equal(feed(&f, stream, sizeof(stream) - 1, piece, &out, NULL), 0);
		assert_string_equal(out.s, "[abc][][de]");
		assert_true(grpc_frames_whole(&f));
		assert_int_equal(f.n, 3);
		str_release(&out);
	}
}

static void test_a_stream_that_breaks_off(void **state)
{
	static const char stream[] = "\0\0\0\0\3abc";
	struct grpc_frames f;
	struct str out;
	size_t len;

	(void)state;
	str_init(&out, 100);
	for (len = 1; len < sizeof(stream) - 1; len++) {
		grpc_frames_init(&f);
		assert_int_equal(feed(&f, stream, len, 100, &out, NULL), 0);
		assert_false(grpc_frames_whole(&f));
	}
	str_release(&out);
}

static void test_what_is_no_message(void **state)
{
	struct err err = { 0 };
	struct grpc_frames f;
	struct str out;

	(void)state;
	str_init(&out, 100);
	grpc_frames_init(&f);
	assert_int_equal(feed(&f, "\1\0\0\0\0", 5, 9, &out, &err), ERR_PROTO);
	assert_non_null(strstr(err.text, "compressed"));
	grpc_frames_init(&f);
	assert_int_equal(feed(&f, "<html>", 6, 9, &out, &err), ERR_PROTO);
	grpc_frames_init(&f);
	assert_int_equal(feed(&f, "\0\0\0\0\x65", 5, 9, &out, &err), ERR_LIMIT);
	assert_non_null(strstr(err.text, "101"));
	grpc_frames_init(&f);
	assert_int_equal(feed(&f, "\0\xff\xff\xff\xff", 5, 9, &out, &err), ERR_LIMIT);
	assert_int_equal(out.len, 0);
	str_release(&out);
}

static void test_a_frame_is_what_the_parser_takes(void **state)
{
	struct grpc_frames f;
	struct str made, out;

	(void)state;
	str_init(&made, 1000);
	str_init(&out, 1000);
	grpc_frame_add(&made, "hello", 5);
	grpc_frame_add(&made, "", 0);
	grpc_frames_init(&f);
	assert_int_equal(feed(&f, made.s, made.len, 3, &out, NULL), 0);
	assert_string_equal(out.s, "[hello][]");
	str_release(&made);
	str_release(&out);
}

static void assert_message(const char *given, const char *expected)
{
	struct str out;

	str_init(&out, 1000);
	grpc_message_decode(&out, given, strlen(given), 40);
	assert_string_equal(out.s, expected);
	str_release(&out);
}

static void test_messages_of_errors(void **state)
{
	(void)state;
	assert_message("etcdserver: permission denied", "etcdserver: permission denied");
	assert_message("a%20b%25", "a b%");
	assert_message("100%", "100%");
	assert_message("%2", "%2");
	assert_message("%zz%4", "%zz%4");
	assert_message("%1b[31mred", "\\x1b[31mred");
	assert_message("%00%ff", "\\x00\\xff");
	assert_message("%E2%80%AE", "\\xe2\\x80\\xae");
	assert_message("%C3%A4", "\xc3\xa4");
	assert_message("0123456789012345678901234567890123456789XYZ",
		"0123456789012345678901234567890123456789...");
}

static void test_statuses(void **state)
{
	(void)state;
	assert_int_equal(grpc_status_parse("0", 1), 0);
	assert_int_equal(grpc_status_parse("16", 2), 16);
	assert_int_equal(grpc_status_parse("", 0), -1);
	assert_int_equal(grpc_status_parse("-1", 2), -1);
	assert_int_equal(grpc_status_parse("1x", 2), -1);
	assert_int_equal(grpc_status_parse("99999999999", 11), -1);
}

/* ---- the wire format ---- */

static void test_fields(void **state)
{
	static const char bytes[] =
		"\x08\xac\x02\x12\x03"
		"abc\x1d\1\2\3\4\x21\1\0\0\0\0\0\0\x80\x28\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
	struct wire_field f;
	struct wire w;

	(void)state;
	wire_init(&w, bytes, sizeof(bytes) - 1);
	assert_true(wire_next(&w, &f) && f.number == 1 && f.value == 300);
	assert_true(
		wire_next(&w, &f) && f.number == 2 && f.len == 3 && memcmp(f.bytes, "abc", 3) == 0);
	assert_true(wire_next(&w, &f) && f.number == 3 && f.value == 0x04030201);
	assert_true(wire_next(&w, &f) && f.number == 4 && f.value == UINT64_C(0x8000000000000001));
	assert_true(wire_next(&w, &f) && f.number == 5 && f.value == UINT64_MAX);
	assert_false(wire_next(&w, &f));
	assert_false(w.bad);
}

static void test_what_is_no_field(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		ptrdiff_t result;
	} cases[] = {
		{ "", 0, 0 },
		{ "\x08", 1, 0 },
		{ "\x08\x80", 2, 0 },
		{ "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 11, -1 },
		{ "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12, -1 },
		{ "\0\1", 2, -1 }, /* field number 0 */
		{ "\x0b", 1, -1 }, /* a group */
		{ "\x0f", 1, -1 }, /* no wire type */
		{ "\x12\5abcd", 6, 0 },
		{ "\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11,
			-1 }, /* a length of 2^64 - 1 */
		{ "\x1d\1\2\3", 4, 0 },
	};
	struct wire_field f;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(wire_read((const unsigned char *)cases[i].bytes, cases[i].len, &f),
			cases[i].result);
}

static int count_field(void *arg, const struct wire_field *f, struct err *err)
{
	struct str *out = arg;

	(void)err;
	str_addf(out, "%u:", f->number);
	if (f->type == WIRE_BYTES)
		str_add_mem(out, f->bytes, f->len);
	else
		str_addf(out, "%u", (unsigned)f->value);
	str_add_char(out, ' ');
	return 0;
}

/* A message in pieces of every size tells the same fields. */
static void assert_pieces(struct wire_splitter *s, const char *bytes, size_t len, const char *want)
{
	struct str *out = s->arg;
	size_t piece, at;

	for (piece = 1; piece <= len; piece++) {
		str_clear(out);
		wire_splitter_begin(s);
		for (at = 0; at < len; at += piece)
			assert_int_equal(wire_splitter_feed(s, bytes + at,
						 len - at < piece ? len - at : piece, NULL),
				0);
		assert_int_equal(wire_splitter_end(s, NULL), 0);
		assert_string_equal(out->s, want);
	}
}

static void test_a_message_split_anywhere(void **state)
{
	static const char bytes[] = "\x0a\2hi\x10\x96\x01\x12\x05world\x18\1";
	struct wire_splitter s;
	struct str out;

	(void)state;
	str_init(&out, 1000);
	wire_splitter_init(&s, 100, count_field, &out);
	assert_pieces(&s, bytes, sizeof(bytes) - 1, "1:hi 2:150 2:world 3:1 ");
	wire_splitter_begin(&s);
	assert_int_equal(wire_splitter_feed(&s, "\x0a\5ab", 4, NULL), 0);
	assert_int_equal(wire_splitter_end(&s, NULL), ERR_PROTO);
	wire_splitter_begin(&s);
	assert_int_equal(wire_splitter_feed(&s, "\x0a\x65", 2, NULL), ERR_LIMIT);
	wire_splitter_begin(&s);
	assert_int_equal(wire_splitter_feed(&s, "\x0b", 1, NULL), ERR_PROTO);
	wire_splitter_release(&s);
	str_release(&out);
}

/* What a message of a stream wraps is taken apart as if it stood there itself. */
static void test_a_message_within_a_message(void **state)
{
	static const char bytes[] = "\x20\7\x0a\x10\x0a\2hi\x10\x96\x01\x12\x05world\x18\1\x12\1x";
	struct wire_splitter s;
	struct str out;

	(void)state;
	str_init(&out, 1000);
	wire_splitter_init(&s, 100, count_field, &out);
	s.within = 1;
	assert_pieces(&s, bytes, sizeof(bytes) - 1, "4:7 1:hi 2:150 2:world 3:1 2:x ");
	/* One that ends before its last field, one that ends after the whole, and an empty one. */
	wire_splitter_begin(&s);
	assert_int_equal(wire_splitter_feed(&s, "\x0a\3\x0a\2hi", 6, NULL), ERR_PROTO);
	wire_splitter_begin(&s);
	assert_int_equal(wire_splitter_feed(&s, "\x0a\5\x0a\2hi", 6, NULL), 0);
	assert_int_equal(wire_splitter_end(&s, NULL), ERR_PROTO);
	wire_splitter_begin(&s);
	assert_int_equal(wire_splitter_feed(&s, "\x0a\0", 2, NULL), 0);
	assert_int_equal(wire_splitter_end(&s, NULL), 0);
	wire_splitter_release(&s);
	str_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_messages_in_any_pieces),
		cmocka_unit_test(test_a_stream_that_breaks_off),
		cmocka_unit_test(test_what_is_no_message),
		cmocka_unit_test(test_a_frame_is_what_the_parser_takes),
		cmocka_unit_test(test_messages_of_errors),
		cmocka_unit_test(test_statuses),
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_what_is_no_field),
		cmocka_unit_test(test_a_message_split_anywhere),
		cmocka_unit_test(test_a_message_within_a_message),
	};

	text_init_locale();
	return cmocka_run_group_tests_name("io/grpc-frame", tests, NULL, NULL);
}
