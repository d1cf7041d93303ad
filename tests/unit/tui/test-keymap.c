#include "config.h"

#include "../unit.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/str.h"
#include "base/text.h"
#include "tui/command.h"
#include "tui/input.h"
#include "tui/keymap.h"
#include "tui/line.h"
#include "tui/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void every_key_is_one(void **state)
{
	int a, b;

	(void)state;
	for (a = ACTION_NONE + 1; a < ACTION_COUNT; a++) {
		const char *keys = keymap_keys((enum action)a);

		while (*keys) {
			size_t n = strcspn(keys, " ");
			uint32_t key = keymap_key(keys, (int)n);

			if (!key)
				fail_msg("no key: %.*s", (int)n, keys);
			/* No key twice: the first one found is the one that has it. */
			b = keymap_action(key);
			if (b != a)
				fail_msg("%.*s does two things", (int)n, keys);
			keys += n;
			keys += *keys == ' ';
		}
		assert_true(*keymap_help((enum action)a) != '\0');
	}
	assert_int_equal(keymap_action('a'), ACTION_ACT);
	assert_int_equal(keymap_action('v'), ACTION_NONE);
	assert_int_equal(keymap_action(18), ACTION_POLL);
	assert_int_equal(keymap_action(INPUT_F1), ACTION_HELP);
}

static void names_of_keys(void **state)
{
	static const struct {
		uint32_t key;
		const char *name;
	} cases[] = { { 'j', "j" }, { ' ', "Space" }, { 18, "C-r" }, { INPUT_F1 + 4, "F5" },
		{ INPUT_UP, "Up" }, { INPUT_ESC, "Esc" }, { 0xdf, "U+00DF" } };
	char name[32];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		keymap_key_name(cases[i].key, name, sizeof(name));
		assert_string_equal(name, cases[i].name);
		if (cases[i].key < 128 || cases[i].key >= INPUT_SPECIAL)
			assert_int_equal(keymap_key(name, (int)strlen(name)), cases[i].key);
	}
	assert_int_equal(keymap_key("F13", 3), 0);
	assert_int_equal(keymap_key("Nothing", 7), 0);
}

/* doc/keys.inc is what the tables say; BATON_UPDATE_GOLDEN writes it anew. */
static void the_manual_says_the_same(void **state)
{
	struct str made, there;

	(void)state;
	str_init(&made, 256 * 1024);
	str_init(&there, 256 * 1024);
	keymap_manual(&made);
	if (getenv("BATON_UPDATE_GOLDEN"))
		assert_int_equal(fs_write_atomic(TEST_KEYS, made.s, made.len, NULL), 0);
	assert_int_equal(fs_read(TEST_KEYS, &there, NULL), 0);
	if (strcmp(made.s, there.s) != 0)
		fail_msg("doc/keys.inc is old: run make update-golden");
	str_release(&made);
	str_release(&there);
}

static void commands(void **state)
{
	struct err err = { 0 };
	enum command command;
	const char *arg;

	(void)state;
	assert_int_equal(command_parse(":sort -age", &command, &arg, &err), 0);
	assert_int_equal(command, COMMAND_SORT);
	assert_string_equal(arg, "-age");
	assert_int_equal(command_parse("q", &command, &arg, &err), 0);
	assert_int_equal(command, COMMAND_QUIT);
	assert_int_equal(command_parse("the  dark", &command, &arg, &err), 0);
	assert_int_equal(command, COMMAND_THEME);
	assert_string_equal(arg, "dark");
	assert_int_equal(command_parse("s", &command, &arg, &err), ERR_USAGE);
	assert_non_null(strstr(err.text, "several"));
	assert_int_equal(command_parse("fitler x", &command, &arg, &err), ERR_USAGE);
	assert_non_null(strstr(err.text, ":filter"));
	assert_int_equal(command_parse("   ", &command, &arg, &err), ERR_USAGE);
}

static void completion(void **state)
{
	struct model model = { 0 };
	struct str out;
	int from;

	(void)state;
	str_init(&out, 4096);
	command_complete(&model, "so", &out, &from);
	assert_string_equal(out.s, "sources\nsort\nsource\n");
	assert_int_equal(from, 0);
	str_clear(&out);
	command_complete(&model, "sort -a", &out, &from);
	assert_string_equal(out.s, "-age\n");
	assert_int_equal(from, 5);
	str_clear(&out);
	command_complete(&model, "filter x state:f", &out, &from);
	assert_string_equal(out.s, "state:free\n");
	assert_int_equal(from, 9);
	str_clear(&out);
	command_complete(&model, "view ", &out, &from);
	assert_string_equal(out.s, "board\nruns\nevents\nsources\nactions\nlesson\n");
	str_release(&out);
}

static void type(struct line *line, const char *s)
{
	for (; *s; s++)
		line_key(line, (unsigned char)*s);
}

static void editing(void **state)
{
	struct line line;
	int i;

	(void)state;
	line_init(&line);
	line_begin(&line, "");
	type(&line, "state held");
	line_key(&line, INPUT_LEFT);
	line_key(&line, INPUT_BACKSPACE);
	assert_string_equal(line.text, "state hed");
	line_key(&line, 23); /* the word before */
	assert_string_equal(line.text, "state d");
	line_key(&line, INPUT_END);
	line_key(&line, 0x6c7a);
	assert_string_equal(line.text, "state d決");
	line_key(&line, INPUT_BACKSPACE);
	assert_string_equal(line.text, "state d");
	line_key(&line, 21);
	assert_string_equal(line.text, "");
	line_insert(&line, '\n'); /* pasted */
	line_insert(&line, 0x202e);
	assert_string_equal(line.text, " ");
	for (i = 0; i < 2 * LINE_MAX; i++)
		line_insert(&line, 0x6c7a);
	assert_true(line.len < LINE_MAX);
	assert_false(line_key(&line, INPUT_F1));
	line_release(&line);
}

static void history(void **state)
{
	struct line line;
	char text[16];
	int i;

	(void)state;
	line_init(&line);
	for (i = 0; i < LINE_HISTORY + 5; i++) {
		snprintf(text, sizeof(text), "line %d", i);
		line_begin(&line, text);
		line_remember(&line);
		line_remember(&line); /* the same again is not kept twice */
	}
	line_begin(&line, "");
	line_key(&line, INPUT_UP);
	line_key(&line, INPUT_UP);
	snprintf(text, sizeof(text), "line %d", LINE_HISTORY + 3);
	assert_string_equal(line.text, text);
	line_key(&line, INPUT_DOWN);
	line_key(&line, INPUT_DOWN);
	assert_string_equal(line.text, "");
	for (i = 0; i < 2 * LINE_HISTORY; i++)
		line_key(&line, INPUT_UP);
	assert_string_equal(line.text, "line 5");
	line_release(&line);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_key_is_one),
		cmocka_unit_test(names_of_keys),
		cmocka_unit_test(the_manual_says_the_same),
		cmocka_unit_test(commands),
		cmocka_unit_test(completion),
		cmocka_unit_test(editing),
		cmocka_unit_test(history),
	};

	text_init_locale();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
