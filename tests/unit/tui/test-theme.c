#include "config.h"

#include "../unit.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/str.h"
#include "tui/theme.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int parse(struct theme *theme, const char *text, struct err *err)
{
	return theme_parse(theme, "test", text, strlen(text), err);
}

static void what_is_not_said_comes_from_the_parent(void **state)
{
	struct theme theme;
	struct look look;

	(void)state;
	assert_int_equal(
		parse(&theme, "text = fg:white bg:black\nstate = bold\nstate.stale = fg:red\n",
			NULL),
		0);
	look = theme_look(&theme, STYLE_STATE_STALE, STYLE_TEXT, 16);
	assert_int_equal(look.fg, 1);
	assert_int_equal(look.bg, 0);
	assert_int_equal(look.attrs, LOOK_BOLD);
	look = theme_look(&theme, STYLE_STATE_HELD, STYLE_TEXT, 16);
	assert_int_equal(look.fg, 7);
	assert_int_equal(look.attrs, LOOK_BOLD);
	assert_int_equal(parse(&theme, "state = bold\nstate.stale = plain\n", NULL), 0);
	assert_int_equal(theme_look(&theme, STYLE_STATE_STALE, STYLE_TEXT, 16).attrs, 0);
	assert_int_equal(theme_look(&theme, STYLE_STATE_STALE, STYLE_TEXT, 16).fg, -1);
}

static void colours_come_down(void **state)
{
	struct theme theme;

	(void)state;
	assert_int_equal(parse(&theme,
				 "text = fg:bright-red/203/#ff5f5f\nstate = fg:#d70000\nenv = "
				 "fg:160\ndim = fg:bright-black\n",
				 NULL),
		0);
	assert_int_equal(theme_look(&theme, STYLE_TEXT, STYLE_TEXT, 1 << 24).fg, 0xff5f5f);
	assert_int_equal(theme_look(&theme, STYLE_TEXT, STYLE_TEXT, 256).fg, 203);
	assert_int_equal(theme_look(&theme, STYLE_TEXT, STYLE_TEXT, 16).fg, 9);
	assert_int_equal(theme_look(&theme, STYLE_TEXT, STYLE_TEXT, 8).fg, 1);
	assert_int_equal(theme_look(&theme, STYLE_TEXT, STYLE_TEXT, 8).attrs, LOOK_BOLD);
	assert_int_equal(theme_look(&theme, STYLE_TEXT, STYLE_TEXT, 0).fg, -1);
	assert_int_equal(theme_look(&theme, STYLE_STATE, STYLE_TEXT, 256).fg, 160);
	assert_int_equal(theme_look(&theme, STYLE_STATE, STYLE_TEXT, 16).fg, 1);
	assert_int_equal(theme_look(&theme, STYLE_ENV, STYLE_TEXT, 1 << 24).fg, 0xd70000);
	/* Bright black on eight colours would be black on black. */
	assert_int_equal(theme_look(&theme, STYLE_DIM, STYLE_TEXT, 8).fg, -1);
	assert_int_equal(theme_look(&theme, STYLE_DIM, STYLE_TEXT, 8).attrs, LOOK_DIM);
}

static void the_cursor_lies_over(void **state)
{
	struct theme theme;
	struct look look;

	(void)state;
	assert_int_equal(parse(&theme, "state.stale = fg:red bold\ncursor = bg:blue\n", NULL), 0);
	look = theme_look(&theme, STYLE_STATE_STALE, STYLE_CURSOR, 16);
	assert_int_equal(look.fg, 1);
	assert_int_equal(look.bg, 4);
	assert_int_equal(look.attrs, LOOK_BOLD);
}

static void faults_are_named(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "text fg:red\n", "line 1" },
		{ "\n# x\ntext = fg:purple\n", "line 3" },
		{ "text = fg:#12345\n", "fg:#12345" },
		{ "text = fg:256\n", "fg:256" },
		{ "text = blink\n", "blink" },
		{ "text = fg:red/\n", "fg:red/" },
		{ "text = fg:\n", "fg:" },
	};
	struct theme theme, before;
	size_t i;

	(void)state;
	theme_builtin(&theme);
	before = theme;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err err = { 0 };

		if (parse(&theme, cases[i].text, &err) != ERR_CONFIG)
			fail_msg("\"%s\" is taken", cases[i].text);
		if (!strstr(err.text, cases[i].says))
			fail_msg("\"%s\": %s", cases[i].text, err.text);
		assert_memory_equal(&theme, &before, sizeof(theme));
	}
	/* A newer theme's style is no fault; nor are blanks, CRLF, a missing last newline. */
	assert_int_equal(
		parse(&theme, "  some.future.style = fg:red  \r\n\r\nabout = x\r\ntext = bold",
			NULL),
		0);
	assert_string_equal(theme.about, "x");
	assert_int_equal(theme.entries[STYLE_TEXT].attrs, LOOK_BOLD);
}

/* Every theme that is shipped: read without a fault, and what must not look alike does not. */
static void shipped_themes(void **state)
{
	static const char *const names[] = { "dark", "light", "contrast", "mono", "okabe-ito",
		"builtin" };
	static const int depths[] = { 8, 16, 256, 1 << 24 };
	struct theme theme;
	size_t i, d;

	(void)state;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct err err = { 0 };

		if (theme_load(&theme, names[i], &err) < 0)
			fail_msg("%s", err.text);
		for (d = 0; d < 4; d++) {
			struct look held =
				theme_look(&theme, STYLE_STATE_HELD, STYLE_TEXT, depths[d]);
			struct look dup =
				theme_look(&theme, STYLE_STATE_DUPLICATE, STYLE_TEXT, depths[d]);
			struct look text = theme_look(&theme, STYLE_TEXT, STYLE_TEXT, depths[d]);
			struct look cursor =
				theme_look(&theme, STYLE_TEXT, STYLE_CURSOR, depths[d]);

			struct look past =
				theme_look(&theme, STYLE_HEADER_PAST, STYLE_TEXT, depths[d]);

			/* Of what is past nobody must think that it is now: it stands on a ground
			 * of its own, with and without colours. */
			if (!(past.attrs & LOOK_REVERSE) && past.bg == text.bg)
				fail_msg("%s, %d colours: header.past", names[i], depths[d]);
			assert_memory_not_equal(&held, &dup, sizeof(held));
			assert_memory_not_equal(&text, &cursor, sizeof(text));
			/* Nothing is written in the colour that it stands on. */
			for (int s = 0; s < STYLE_COUNT; s++) {
				struct look look =
					theme_look(&theme, (enum style)s, STYLE_TEXT, depths[d]);

				if (look.fg >= 0 && look.fg == look.bg)
					fail_msg("%s, %d colours: %s", names[i], depths[d],
						style_name((enum style)s));
			}
		}
	}
}

static void mono_has_no_colour(void **state)
{
	struct theme theme;
	int s;

	(void)state;
	assert_int_equal(theme_load(&theme, "mono", NULL), 0);
	for (s = 0; s < STYLE_COUNT; s++) {
		struct look look = theme_look(&theme, (enum style)s, STYLE_CURSOR, 256);

		assert_int_equal(look.fg, -1);
		assert_int_equal(look.bg, -1);
	}
}

static void an_absent_theme_is_named(void **state)
{
	struct theme theme;
	struct err err = { 0 };

	(void)state;
	assert_true(theme_load(&theme, "nothing", &err) < 0);
	assert_non_null(strstr(err.text, "nothing"));
	assert_non_null(strstr(err.text, "dark"));
	assert_true(theme_load(&theme, "../dark", &err) < 0);
	assert_true(theme_load(&theme, "", &err) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_not_said_comes_from_the_parent),
		cmocka_unit_test(colours_come_down),
		cmocka_unit_test(the_cursor_lies_over),
		cmocka_unit_test(faults_are_named),
		cmocka_unit_test(shipped_themes),
		cmocka_unit_test(mono_has_no_colour),
		cmocka_unit_test(an_absent_theme_is_named),
	};

	setenv("BATON_THEMES", TEST_THEMES, 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
