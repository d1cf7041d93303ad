#include "config.h"

#include "tests/unit/unit.h"

#include "base/mem.h"
#include "cli/command.h"

#include <stdio.h>
#include <string.h>

/* Parses words that are separated by single spaces. */
static int parse(struct cli *cli, char *line, struct err *err)
{
	char *argv[32], *rest = line;
	int argc = 0;

	*cli = (struct cli){ .command = NULL };
	memset(err, 0, sizeof(*err));
	while (*line && argc < 32 && (argv[argc] = strsep(&rest, " ")))
		argc++;
	return cli_parse(cli, argc, argv, err);
}

static void take(struct cli *cli, const char *words)
{
	/* The texts in cli point into it: one buffer, until the next call. */
	static _Thread_local char line[256];
	struct err err;

	snprintf(line, sizeof(line), "%s", words);
	if (parse(cli, line, &err))
		fail_msg("%s: %s", words, err.text);
}

static void refuse(const char *words, const char *message)
{
	char line[256];
	struct cli cli;
	struct err err;

	snprintf(line, sizeof(line), "%s", words);
	assert_int_equal(parse(&cli, line, &err), ERR_USAGE);
	assert_string_equal(err.text, message);
}

static void test_anywhere(void **state)
{
	static const char *const lines[] = {
		"--json --state held list --timeout 2 -s a --source=b -c f",
		"list --json --state=HELD --timeout=2 --source a -s b --config f",
		"-c f -s a -s b --timeout 2s list --state hel --json"
	};
	struct cli cli;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_LEN(lines); i++) {
		take(&cli, lines[i]);
		assert_string_equal(cli.command->name, "list");
		assert_true(cli.json);
		assert_int_equal(cli.states, UINT32_C(1) << STATE_HELD);
		assert_int_equal(cli.timeout_ms, 2000);
		assert_int_equal(cli.n_sources, 2);
		assert_string_equal(cli.sources[1], "b");
		assert_string_equal(cli.config, "f");
		assert_int_equal(cli.n_args, 0);
	}
}

static void test_the_console_is_the_default(void **state)
{
	struct cli cli;

	(void)state;
	take(&cli, "");
	assert_ptr_equal(cli.command, cli_commands[0]);
	take(&cli, "--theme light --ascii");
	assert_string_equal(cli.command->name, "console");
	assert_string_equal(cli.theme, "light");
	assert_true(cli.ascii);
}

static void test_words_that_look_like_options(void **state)
{
	struct cli cli;

	(void)state;
	take(&cli, "show -- -x");
	assert_string_equal(cli.args[0], "-x");
	take(&cli, "show orders/app:-42");
	assert_string_equal(cli.args[0], "orders/app:-42");
	take(&cli, "show -");
	assert_string_equal(cli.args[0], "-");
	/* The value of an option may begin with a minus. */
	take(&cli, "list -c -f");
	assert_string_equal(cli.config, "-f");
}

static void test_refused(void **state)
{
	(void)state;
	refuse("lst", "unknown command 'lst'; did you mean 'list'?");
	refuse("complete", "unknown command 'complete'");
	refuse("list --jso", "unknown option '--jso'; did you mean '--json'?");
	refuse("list --j", "unknown option '--j'; did you mean '--json'?");
	refuse("list --source", "--source needs a value: NAME");
	refuse("list --source=", "--source needs a value: NAME");
	refuse("list --json=1", "--json takes no value");
	refuse("list --timeout 0.05", "--timeout must be 0.1 to 3600 seconds, not '0.05'");
	refuse("list --timeout 2h", "--timeout must be 0.1 to 3600 seconds, not '2h'");
	refuse("list --state s",
		"unknown state 's'; there are DUPLICATE, STALE, ORPHAN, STUCK, EXPIRING, "
		"CONTENDED, HELD, SUSPENDED, FREE and UNKNOWN");
	refuse("check --ignore no-leas", "unknown finding 'no-leas'; did you mean 'no-lease'?");
	refuse("show a/b c/d", "show takes ID: 'c/d' is too much");
	refuse("show", "show needs ID");
	refuse("watch --force", "watch takes no --force");
	refuse("--state held", "the console takes no --state");
}

/* Help is given whatever else is wrong with what belongs to the command. */
static void test_help_and_version_ask_for_nothing_more(void **state)
{
	struct cli cli;

	(void)state;
	take(&cli, "show --help");
	assert_true(cli.help);
	take(&cli, "show -V");
	assert_true(cli.version);
}

/* The tables: names and letters stand once, every option belongs to somebody, every help ends as a
 * sentence. */
static void test_tables(void **state)
{
	uint32_t used = TAKES_ALWAYS;
	size_t i, k;

	(void)state;
	for (i = 0; cli_commands[i]; i++) {
		const struct command *c = cli_commands[i];

		used |= c->takes;
		assert_ptr_equal(cli_command(c->name), c);
		assert_non_null(c->run);
		assert_true(c->summary[strlen(c->summary) - 1] == '.');
		assert_true(c->least <= c->most);
		assert_true((c->args != NULL) == (c->most > 0));
	}
	for (i = 0; i < OPT_COUNT; i++) {
		const struct cli_option *o = &cli_options[i];

		assert_true(used & (UINT32_C(1) << i));
		assert_true(o->help[strlen(o->help) - 1] == '.');
		for (k = 0; k < i; k++) {
			assert_string_not_equal(o->name, cli_options[k].name);
			assert_true(!o->letter || o->letter != cli_options[k].letter);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_anywhere),
		cmocka_unit_test(test_the_console_is_the_default),
		cmocka_unit_test(test_words_that_look_like_options),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_help_and_version_ask_for_nothing_more),
		cmocka_unit_test(test_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
