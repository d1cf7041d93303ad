#include "config.h"

#include "../unit.h"
#include "tui/input.h"

#include <string.h>

/* Feeds bytes and expects these keys and no more; the bytes come whole, and then one by one. */
static void expect_keys(const char *bytes, size_t n, const uint32_t *keys, size_t n_keys)
{
	struct input_event event;
	struct input in;
	size_t i, step, got;

	for (step = 0; step < 2; step++) {
		int64_t now = 1000;

		input_init(&in);
		got = 0;
		for (i = 0; i < n; i += step ? 1 : n) {
			input_feed(&in, bytes + i, step ? 1 : n, now);
			while (input_next(&in, now, &event)) {
				assert_true(got < n_keys);
				assert_int_equal(event.type, INPUT_KEY);
				assert_int_equal(event.key, keys[got]);
				got++;
			}
			now += 1;
		}
		now += INPUT_WAIT_MS;
		while (input_next(&in, now, &event)) {
			assert_true(got < n_keys);
			assert_int_equal(event.key, keys[got]);
			got++;
		}
		assert_int_equal(got, n_keys);
		assert_true(input_deadline_ms(&in) == INT64_MAX);
	}
}

#define EXPECT(bytes, ...)                                                                   \
	do {                                                                                 \
		const uint32_t keys[] = { __VA_ARGS__ };                                     \
		expect_keys(bytes, sizeof(bytes) - 1, keys, sizeof(keys) / sizeof(keys[0])); \
	} while (0)

static void keys(void **state)
{
	(void)state;
	EXPECT("jq", 'j', 'q');
	EXPECT("\033[A\033[B\033OC\033OD", INPUT_UP, INPUT_DOWN, INPUT_RIGHT, INPUT_LEFT);
	EXPECT("\033[5~\033[6~\033[1~\033[4~\033[3~", INPUT_PAGE_UP, INPUT_PAGE_DOWN, INPUT_HOME,
		INPUT_END, INPUT_DELETE);
	EXPECT("\033OP\033[11~\033[[A\033[24~", INPUT_F1, INPUT_F1, INPUT_F1, INPUT_F12);
	EXPECT("\033[1;5A", INPUT_UP); /* with a modifier */
	EXPECT("\r\n\t\177\b", INPUT_ENTER, INPUT_ENTER, INPUT_TAB, INPUT_BACKSPACE,
		INPUT_BACKSPACE);
	EXPECT("\x12\x0c", 18, 12);
	EXPECT("\xc3\x9f\xe6\xb1\xba", 0xdf, 0x6c7a);
	EXPECT("\033[Z", INPUT_BACK_TAB);
}

static void a_lone_escape_is_a_key(void **state)
{
	struct input_event event;
	struct input in;

	(void)state;
	EXPECT("\033", INPUT_ESC);
	input_init(&in);
	input_feed(&in, "\033", 1, 1000);
	assert_false(input_next(&in, 1000, &event));
	assert_int_equal(input_deadline_ms(&in), 1000 + INPUT_WAIT_MS);
	assert_true(input_next(&in, 1000 + INPUT_WAIT_MS, &event));
	assert_int_equal(event.key, INPUT_ESC);
}

static void no_part_of_a_sequence_is_a_key(void **state)
{
	(void)state;
	expect_keys("\033[99;99q", 8, NULL, 0);      /* not known */
	expect_keys("\033[1;", 4, NULL, 0);          /* broken off */
	expect_keys("\033]0;q:quit\a", 11, NULL, 0); /* OSC of whoever */
	expect_keys("\033Pq:q\033\\", 7, NULL, 0);   /* DCS */
	EXPECT("\033[200q\xff"
	       "j",
		'j'); /* invalid UTF-8 */
}

static void pasted_text_is_no_key(void **state)
{
	static const char bytes[] = "a\033[200~q:quit\r\033[B!\033[201~b";
	struct input_event event;
	struct input in;
	char texts[2][32] = { "", "" };
	size_t n[2] = { 0, 0 };

	(void)state;
	input_init(&in);
	input_feed(&in, bytes, sizeof(bytes) - 1, 5);
	while (input_next(&in, 5, &event)) {
		int which = event.type == INPUT_PASTE;

		assert_true(n[which] < sizeof(texts[0]) - 1);
		texts[which][n[which]++] = (char)event.key;
	}
	assert_string_equal(texts[0], "ab");
	assert_string_equal(texts[1], "q:quit\n!");
}

static void answers_of_the_terminal(void **state)
{
	static const char bytes[] =
		"\033]11;rgb:ffff/8000/0000\033\\\033[?62;22c\033]11;rgb:00/80/ff\a";
	struct input_event event;
	struct input in;

	(void)state;
	input_init(&in);
	input_feed(&in, bytes, sizeof(bytes) - 1, 5);
	assert_true(input_next(&in, 5, &event));
	assert_int_equal(event.type, INPUT_BACKGROUND);
	assert_int_equal(event.rgb, 0xff7f00);
	assert_true(input_next(&in, 5, &event));
	assert_int_equal(event.type, INPUT_ANSWERED);
	assert_true(input_next(&in, 5, &event));
	assert_int_equal(event.rgb, 0x0080ff);
	assert_false(input_next(&in, 5, &event));
}

static void mouse(void **state)
{
	static const char bytes[] =
		"\033[<0;10;5M\033[<0;10;5m\033[<64;1;1M\033[<65;1;1M\033[<0;0;0M";
	static const struct input_event expect[] = {
		{ .type = INPUT_MOUSE, .button = BUTTON_LEFT, .y = 4, .x = 9 },
		{ .type = INPUT_MOUSE, .button = BUTTON_RELEASE, .y = 4, .x = 9 },
		{ .type = INPUT_MOUSE, .button = BUTTON_WHEEL_UP },
		{ .type = INPUT_MOUSE, .button = BUTTON_WHEEL_DOWN },
	};
	struct input_event event;
	struct input in;
	size_t i;

	(void)state;
	input_init(&in);
	input_feed(&in, bytes, sizeof(bytes) - 1, 5);
	for (i = 0; i < 4; i++) {
		assert_true(input_next(&in, 5, &event));
		assert_int_equal(event.type, expect[i].type);
		assert_int_equal(event.button, expect[i].button);
		assert_int_equal(event.y, expect[i].y);
		assert_int_equal(event.x, expect[i].x);
	}
	assert_false(input_next(&in, 5, &event));
}

static void any_bytes_end(void **state)
{
	static const char pieces[] = "\033[]O<?;0123mM~\\\a\xc3\x9f\xffq";
	uint64_t seed = 99;
	struct input_event event;
	struct input in;
	int turn;

	(void)state;
	input_init(&in);
	for (turn = 0; turn < 20000; turn++) {
		char bytes[16];
		size_t i, n = 1 + unit_pick(&seed, sizeof(bytes));

		for (i = 0; i < n; i++)
			bytes[i] = pieces[unit_pick(&seed, sizeof(pieces) - 1)];
		input_feed(&in, bytes, n, turn);
		while (input_next(&in, turn, &event))
			assert_true(event.type != INPUT_KEY || event.key != 0);
	}
	while (input_next(&in, turn + INPUT_WAIT_MS, &event))
		;
	assert_int_equal(in.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys),
		cmocka_unit_test(a_lone_escape_is_a_key),
		cmocka_unit_test(no_part_of_a_sequence_is_a_key),
		cmocka_unit_test(pasted_text_is_no_key),
		cmocka_unit_test(answers_of_the_terminal),
		cmocka_unit_test(mouse),
		cmocka_unit_test(any_bytes_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
