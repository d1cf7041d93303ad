#include "config.h"

#include "../unit.h"
#include "base/str.h"
#include "base/text.h"
#include "tui/canvas.h"
#include "tui/prose.h"

#include <string.h>

static void expect(const struct canvas *c, const char *text)
{
	struct str out;

	str_init(&out, 65536);
	canvas_dump(c, &out);
	assert_string_equal(out.s, text);
	str_release(&out);
}

static void text_is_cut_at_the_edges(void **state)
{
	struct canvas c;
	struct area a;

	(void)state;
	canvas_init(&c, 3, 8, false);
	a = area_sub(canvas_all(&c), 1, 2, 1, 4);
	assert_int_equal(canvas_put(&c, a, 0, 0, STYLE_TEXT, "abcdefgh"), 4);
	canvas_put(&c, a, 1, 0, STYLE_TEXT, "below");
	canvas_put(&c, a, -1, 0, STYLE_TEXT, "above");
	canvas_put(&c, a, 0, -3, STYLE_TEXT, "left");
	expect(&c, "\n  tbcd\n\n");
	canvas_release(&c);
}

static void wide_characters_take_two_cells(void **state)
{
	struct canvas c;
	struct area a;

	(void)state;
	canvas_init(&c, 1, 6, false);
	a = canvas_all(&c);
	assert_int_equal(canvas_put(&c, a, 0, 0, STYLE_TEXT, "決算x"), 5);
	expect(&c, "決算x\n");
	assert_int_equal(c.cells[0].width, 2);
	assert_int_equal(c.cells[1].cp, 0);
	/* Half of a wide character overwritten: the other half becomes a blank. */
	canvas_put(&c, a, 0, 1, STYLE_TEXT, "y");
	expect(&c, " y算x\n");
	canvas_put(&c, a, 0, 2, STYLE_TEXT, "z");
	expect(&c, " yz x\n");
	/* A wide one over the halves of two others. */
	canvas_put(&c, a, 0, 0, STYLE_TEXT, "決算");
	canvas_put(&c, a, 0, 1, STYLE_TEXT, "月");
	expect(&c, " 月 x\n");
	/* One that does not fit at the edge is left out whole. */
	canvas_put(&c, a, 0, 5, STYLE_TEXT, "決");
	expect(&c, " 月 x\n");
	canvas_release(&c);
}

static void marks_join_what_stands_before(void **state)
{
	struct canvas c;

	(void)state;
	canvas_init(&c, 1, 6, false);
	assert_int_equal(canvas_put(&c, canvas_all(&c), 0, 0, STYLE_TEXT,
				 "e\xcc\x81"
				 "a\xcc\x81\xcc\x82\xcc\x83"),
		2);
	/* The third mark of the a is dropped. */
	expect(&c, "e\xcc\x81"
		   "a\xcc\x81\xcc\x82\n");
	/* A mark with nothing before it has nothing to stand on. */
	canvas_clear(&c);
	canvas_put(&c, canvas_all(&c), 0, 0, STYLE_TEXT, "\xcc\x81x");
	expect(&c, "x\n");
	canvas_release(&c);
}

static void what_does_not_fit_says_so(void **state)
{
	static const struct {
		enum fit fit;
		const char *text, *expect;
	} cases[] = {
		{ FIT_LEFT, "abcdefgh", "abcd…\n" },
		{ FIT_RIGHT, "abcdefgh", "…efgh\n" },
		{ FIT_MIDDLE, "abcdefgh", "ab…gh\n" },
		{ FIT_LEFT, "abcde", "abcde\n" },
		{ FIT_RIGHT, "abc", "  abc\n" },
		{ FIT_MIDDLE, "決算月末", "決…末\n" },
		{ FIT_LEFT, "決算月末", "決算…\n" },
	};
	struct canvas c;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		canvas_init(&c, 1, 8, false);
		canvas_fit(&c, canvas_all(&c), 0, 0, 5, STYLE_TEXT, cases[i].fit, cases[i].text);
		expect(&c, cases[i].expect);
		canvas_release(&c);
	}
}

static void ascii_stays_ascii(void **state)
{
	struct canvas c;
	struct str out;
	size_t i;

	(void)state;
	canvas_init(&c, 3, 30, true);
	canvas_put(&c, canvas_all(&c), 0, 0, STYLE_TEXT, "é決");
	canvas_fit(&c, canvas_all(&c), 1, 0, 10, STYLE_TEXT, FIT_LEFT, "abcdefghijklmnop");
	canvas_bar(&c, canvas_all(&c), 2, 0, 4, STYLE_LEASE, 7, 8);
	canvas_fill(&c, canvas_all(&c), 2, 10, 5, STYLE_FRAME, GLYPH_HLINE);
	expect(&c, "\\xc3\\xa9\\xe6\\xb1\\xba\nabcdefghi~\n###=      -----\n");
	str_init(&out, 4096);
	canvas_dump(&c, &out);
	for (i = 0; i < out.len; i++)
		assert_true((unsigned char)out.s[i] < 0x80);
	str_release(&out);
	canvas_release(&c);
}

static void words_wrap(void **state)
{
	struct canvas c;
	int lines;

	(void)state;
	canvas_init(&c, 6, 10, false);
	lines = canvas_wrap(
		&c, canvas_all(&c), 0, 0, 2, STYLE_TEXT, "one two three fourteenletters x");
	assert_int_equal(lines, 5);
	expect(&c, "one two\n  three\n  fourteen\n  letters\n  x\n\n");
	canvas_release(&c);
}

static void an_area_of_one_column_ends(void **state)
{
	struct canvas c;

	(void)state;
	canvas_init(&c, 4, 1, false);
	assert_true(canvas_wrap(&c, canvas_all(&c), 0, 0, 3, STYLE_TEXT, "ab 決 c") > 2);
	canvas_resize(&c, 0, -5);
	canvas_wrap(&c, area_sub(canvas_all(&c), 3, 3, 3, 3), 0, 0, 0, STYLE_TEXT, "abc 決");
	canvas_release(&c);
}

/* Whatever is written where: every left half of a wide character has its right half, and the other
 * way round. */
static void halves_stay_together(void **state)
{
	static const char *const pieces[] = { "a", "決", "e\xcc\x81", "xyz", "算月", " ",
		"\xcc\x81", "日a本b" };
	uint64_t seed = 4711;
	struct canvas c;
	int turn, y, x;

	(void)state;
	canvas_init(&c, 4, 17, false);
	for (turn = 0; turn < 20000; turn++) {
		struct area a = area_sub(canvas_all(&c), (int)unit_pick(&seed, 5),
			(int)unit_pick(&seed, 18), (int)unit_pick(&seed, 5),
			(int)unit_pick(&seed, 18));

		canvas_put(&c, a, (int)unit_pick(&seed, 4), (int)unit_pick(&seed, 17) - 2,
			STYLE_TEXT, pieces[unit_pick(&seed, sizeof(pieces) / sizeof(pieces[0]))]);
		for (y = 0; y < c.h; y++)
			for (x = 0; x < c.w; x++) {
				const struct cell *cell = &c.cells[y * c.w + x];

				if (cell->width == 2)
					assert_true(x + 1 < c.w && cell[1].cp == 0 &&
						    cell[1].width == 0);
				if (cell->width == 0)
					assert_true(x > 0 && cell[-1].width == 2);
			}
	}
	canvas_release(&c);
}

static void prose_scrolls(void **state)
{
	struct canvas c;
	struct prose p;

	(void)state;
	canvas_init(&c, 3, 20, false);
	prose_init(&p);
	prose_add(&p, STYLE_FINDING_WARN, "!", 4, STYLE_TEXT, "one two three four five");
	prose_rule(&p);
	prose_add(&p, STYLE_TEXT, "", 1, STYLE_TEXT, "name");
	prose_tail(&p, STYLE_STATE_HELD, "HELD");
	assert_int_equal(prose_height(&p, &c, 20), 4);
	prose_draw(&p, &c, canvas_all(&c), 0, "more");
	expect(&c, " !  one two three\n    four five\nmore\n");
	canvas_clear(&c);
	prose_draw(&p, &c, canvas_all(&c), 1, "more");
	expect(&c, "    four five\n────────────────────\n name   HELD\n");
	prose_release(&p);
	canvas_release(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_cut_at_the_edges),
		cmocka_unit_test(wide_characters_take_two_cells),
		cmocka_unit_test(marks_join_what_stands_before),
		cmocka_unit_test(what_does_not_fit_says_so),
		cmocka_unit_test(ascii_stays_ascii),
		cmocka_unit_test(words_wrap),
		cmocka_unit_test(an_area_of_one_column_ends),
		cmocka_unit_test(halves_stay_together),
		cmocka_unit_test(prose_scrolls),
	};

	text_init_locale();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
