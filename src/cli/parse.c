#include "config.h"

#include "cli/command.h"
#include "base/mem.h"
#include "base/moment.h"
#include "base/nearest.h"
#include "base/str.h"
#include "base/text.h"
#include "io/yaml.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMMAND(name) extern const struct command cli_command_##name;
#include "cli/commands.def"
#undef COMMAND

const struct command *const cli_commands[] = {
#define COMMAND(name) &cli_command_##name,
#include "cli/commands.def"
#undef COMMAND
	NULL
};

const struct command *cli_command(const char *name)
{
	size_t i;

	for (i = 0; cli_commands[i]; i++)
		if (strcmp(cli_commands[i]->name, name) == 0)
			return cli_commands[i];
	return NULL;
}

const char *cli_shown(char *buf, const char *text)
{
	return text_shown(buf, CLI_SHOWN_MAX, text);
}

/* "unknown X 'word'; did you mean ...?" with the words that were offered. */
static int parse_unknown(
	struct err *err, const char *what, const char *word, const struct nearest *nearest)
{
	char shown[CLI_SHOWN_MAX];
	struct str help;
	int rc;

	str_init(&help, 400);
	nearest_tell(nearest, 2, &help);
	rc = err_set(err, ERR_USAGE, "unknown %s '%s'%s", what, cli_shown(shown, word), help.s);
	str_release(&help);
	return rc;
}

static int unknown_command(const char *word, struct err *err)
{
	struct nearest nearest;
	size_t i;

	nearest_init(&nearest, word);
	for (i = 0; cli_commands[i]; i++)
		if (!cli_commands[i]->hidden)
			nearest_offer(&nearest, cli_commands[i]->name);
	return parse_unknown(err, "command", word, &nearest);
}

static int unknown_option(const char *word, struct err *err)
{
	char names[OPT_COUNT][32];
	struct nearest nearest;
	size_t i;

	nearest_init(&nearest, word);
	for (i = 0; i < OPT_COUNT; i++) {
		snprintf(names[i], sizeof(names[i]), "--%s", cli_options[i].name);
		nearest_offer(&nearest, names[i]);
	}
	return parse_unknown(err, "option", word, &nearest);
}

/* "--name", "--name=value" or "-n": the option, and where its value begins; -1 when there is none.
 */
static int find_option(const char *word, const char **ret_value)
{
	const char *equals = strchr(word, '=');
	size_t len = equals ? (size_t)(equals - word) : strlen(word);
	int i;

	*ret_value = equals ? equals + 1 : NULL;
	for (i = 0; i < OPT_COUNT; i++) {
		const char *name = cli_options[i].name;

		if (len == strlen(name) + 2 && memcmp(word, "--", 2) == 0 &&
			memcmp(word + 2, name, len - 2) == 0)
			return i;
		if (word[1] == cli_options[i].letter && !word[2]) {
			*ret_value = NULL;
			return i;
		}
	}
	return -1;
}

static int parse_timeout(struct cli *cli, const char *value, struct err *err)
{
	char shown[CLI_SHOWN_MAX];
	int64_t ms;

	if (!yaml_duration_text_ms(value, &ms) || ms < 100 || ms > 3600000)
		return err_set(err, ERR_USAGE, "--timeout must be 0.1 to 3600 seconds, not '%s'",
			cli_shown(shown, value));
	cli->timeout_ms = ms;
	return 0;
}

static int parse_token(struct cli *cli, const char *value, struct err *err)
{
	char shown[CLI_SHOWN_MAX], *end;

	errno = 0;
	cli->token = strtoll(value, &end, 10);
	cli->has_token = true;
	if (errno || *end || end == value)
		return err_set(err, ERR_USAGE, "--expect-token must be a whole number, not '%s'",
			cli_shown(shown, value));
	return 0;
}

/* A duration, for a built-in fleet; or a moment of a record, which is read once that is open. */
static int parse_at(struct cli *cli, const char *value)
{
	cli->at = value;
	cli->has_at =
		yaml_duration_text_ms(value, &cli->at_ms) && cli->at_ms <= INT64_C(31) * 86400000;
	return 0;
}

static int parse_seed(struct cli *cli, const char *value, struct err *err)
{
	char shown[CLI_SHOWN_MAX], *end;

	errno = 0;
	cli->seed = strtoull(value, &end, 10);
	cli->has_seed = true;
	if (errno || *end || end == value || value[0] == '-')
		return err_set(err, ERR_USAGE, "--seed must be a whole number from 0, not '%s'",
			cli_shown(shown, value));
	return 0;
}

static int parse_state(struct cli *cli, const char *value, struct err *err)
{
	int state = state_from_word(value), i;
	struct nearest nearest;
	char upper[64];

	if (state >= 0) {
		cli->states |= UINT32_C(1) << state;
		return 0;
	}
	for (i = 0; value[i] && i < 63; i++)
		upper[i] = value[i] >= 'a' && value[i] <= 'z' ? (char)(value[i] - 32) : value[i];
	upper[i] = '\0';
	nearest_init(&nearest, upper);
	for (i = 0; i < STATE_COUNT; i++)
		nearest_offer(&nearest, state_word((enum state)i)->word);
	if (nearest.n)
		return parse_unknown(err, "state", value, &nearest);
	return err_set(err, ERR_USAGE,
		"unknown state '%s'; there are DUPLICATE, STALE, ORPHAN, STUCK, EXPIRING, "
		"CONTENDED, HELD, "
		"SUSPENDED, FREE and UNKNOWN",
		cli_shown((char[CLI_SHOWN_MAX]){ 0 }, value));
}

static int parse_ignore(struct cli *cli, const char *value, struct err *err)
{
	int code = finding_from_word(value), i;
	struct nearest nearest;

	_Static_assert(FINDING_COUNT <= 64, "one bit for each finding");
	if (code >= 0) {
		cli->ignored |= UINT64_C(1) << code;
		return 0;
	}
	nearest_init(&nearest, value);
	for (i = 0; i < FINDING_COUNT; i++)
		nearest_offer(&nearest, finding_word((enum finding_code)i)->word);
	return parse_unknown(err, "finding", value, &nearest);
}

static int parse_color(struct cli *cli, const char *value, struct err *err)
{
	static const char *const words[] = { "auto", "always", "never" };
	char shown[CLI_SHOWN_MAX];
	size_t i;

	for (i = 0; i < ARRAY_LEN(words); i++) {
		if (strcmp(value, words[i]) != 0)
			continue;
		cli->color = (enum cli_color)i;
		return 0;
	}
	return err_set(err, ERR_USAGE, "--color must be auto, always or never, not '%s'",
		cli_shown(shown, value));
}

static int parse_for(struct cli *cli, const char *value, struct err *err)
{
	char shown[CLI_SHOWN_MAX];
	int64_t ms = moment_duration_ms(value);

	if (ms <= 0)
		return err_set(err, ERR_USAGE,
			"--for must be a duration like 90s, 5m or 8h, not '%s'",
			cli_shown(shown, value));
	cli->for_ms = ms;
	return 0;
}

/* "500k", "100M", "2G", or bytes. */
static int parse_most(struct cli *cli, const char *value, struct err *err)
{
	static const struct {
		char unit;
		int64_t bytes;
	} units[] = { { '\0', 1 }, { 'k', 1000 }, { 'K', 1000 }, { 'M', 1000000 },
		{ 'G', 1000000000 } };
	char shown[CLI_SHOWN_MAX], *end;
	long long n = strtoll(value, &end, 10);
	size_t i;

	for (i = 0; i < ARRAY_LEN(units); i++)
		if (*end == units[i].unit && (!*end || !end[1]) && end != value && n > 0 &&
			n < 1000000000) {
			cli->most = n * units[i].bytes;
			if (cli->most >= 10000)
				return 0;
		}
	return err_set(err, ERR_USAGE,
		"--most must be a size like 500k, 100M or 2G, and 10k at least, not '%s'",
		cli_shown(shown, value));
}

static int parse_flag(struct cli *cli, enum option_id id)
{
	bool *const flags[OPT_COUNT] = {
		[OPT_JSON] = &cli->json,
		[OPT_NO_MEMORY] = &cli->no_memory,
		[OPT_ASCII] = &cli->ascii,
		[OPT_PRINT] = &cli->print,
		[OPT_YES] = &cli->yes,
		[OPT_WRITE] = &cli->write,
		[OPT_FORCE] = &cli->force,
		[OPT_SIM] = &cli->sim_audit, /* where it has no value */
		[OPT_RESULTS] = &cli->results,
		[OPT_REDACT] = &cli->redact,
		[OPT_HELP] = &cli->help,
		[OPT_VERSION] = &cli->version,
	};

	*flags[id] = true;
	return 0;
}

static int parse_value(struct cli *cli, enum option_id id, const char *value, struct err *err)
{
	switch (id) {
	case OPT_CONFIG:
		cli->config = value;
		return 0;
	case OPT_THEME:
		cli->theme = value;
		return 0;
	case OPT_EXPECT:
		cli->expect = value;
		return 0;
	case OPT_EXPECT_TOKEN:
		return parse_token(cli, value, err);
	case OPT_REPLAY:
		cli->replay = value;
		return 0;
	case OPT_FOR:
		return parse_for(cli, value, err);
	case OPT_MOST:
		return parse_most(cli, value, err);
	case OPT_REASON:
		cli->reason = value;
		return 0;
	case OPT_SCRIPT:
		cli->script = value;
		return 0;
	case OPT_INJECT:
		cli->inject = value;
		return 0;
	case OPT_SIM:
		cli->sim = value;
		return 0;
	case OPT_AT:
		return parse_at(cli, value);
	case OPT_SEED:
		return parse_seed(cli, value, err);
	case OPT_SOURCE:
		if (cli->n_sources == CLI_ARGS_MAX)
			return err_set(err, ERR_USAGE, "more than %d times --source", CLI_ARGS_MAX);
		cli->sources[cli->n_sources++] = value;
		return 0;
	case OPT_TIMEOUT:
		return parse_timeout(cli, value, err);
	case OPT_STATE:
		return parse_state(cli, value, err);
	case OPT_IGNORE:
		return parse_ignore(cli, value, err);
	case OPT_COLOR:
		return parse_color(cli, value, err);
	default:
		return parse_flag(cli, id);
	}
}

/* The state of taking words apart; an option may come before the command that says if it fits. */
struct parse {
	int argc, at;
	char **argv;
	uint32_t seen;
	bool only_words; /* after "--" */
};

static int parse_option(struct cli *cli, struct parse *p, const char *word, struct err *err)
{
	const char *value;
	int id = find_option(word, &value);

	if (id < 0)
		return unknown_option(word, err);
	p->seen |= UINT32_C(1) << id;
	if (!cli_options[id].value || (cli->command && cli->command->plain & UINT32_C(1) << id))
		return value ? err_set(err, ERR_USAGE, "--%s takes no value", cli_options[id].name)
			     : parse_flag(cli, (enum option_id)id);
	if (!value && p->at < p->argc)
		value = p->argv[p->at++];
	if (!value || (!value[0] && id != OPT_CONFIG))
		return err_set(err, ERR_USAGE, "--%s needs a value: %s", cli_options[id].name,
			cli_options[id].value);
	return parse_value(cli, (enum option_id)id, value, err);
}

static int parse_word(struct cli *cli, const char *word, struct err *err)
{
	char shown[CLI_SHOWN_MAX];

	if (!cli->command) {
		cli->command = cli_command(word);
		return cli->command ? 0 : unknown_command(word, err);
	}
	if (cli->n_args == cli->command->most)
		return err_set(err, ERR_USAGE, "%s takes %s: '%s' is too much", cli->command->name,
			cli->command->args ? cli->command->args : "no argument",
			cli_shown(shown, word));
	cli->args[cli->n_args++] = word;
	return 0;
}

/* Whether everything that was said belongs to the command. */
static int parse_check(const struct cli *cli, uint32_t seen, struct err *err)
{
	uint32_t wrong = seen & ~(cli->command->takes | TAKES_ALWAYS);
	int i;

	if (cli->help || cli->version)
		return 0;
	for (i = 0; i < OPT_COUNT; i++)
		if (wrong & (UINT32_C(1) << i))
			return err_set(err, ERR_USAGE, "%s takes no --%s",
				cli->command == cli_commands[0] ? "the console"
								: cli->command->name,
				cli_options[i].name);
	if (cli->n_args < cli->command->least)
		return err_set(
			err, ERR_USAGE, "%s needs %s", cli->command->name, cli->command->args);
	return 0;
}

int cli_parse(struct cli *cli, int argc, char **argv, struct err *err)
{
	struct parse p = { .argc = argc, .argv = argv, .at = 0 };
	int rc = 0;

	while (p.at < argc && !rc) {
		const char *word = argv[p.at++];

		if (!p.only_words && strcmp(word, "--") == 0)
			p.only_words = true;
		else if (!p.only_words && word[0] == '-' && word[1])
			rc = parse_option(cli, &p, word, err);
		else
			rc = parse_word(cli, word, err);
	}
	if (!rc && !cli->command)
		cli->command = cli_commands[0];
	return rc ? rc : parse_check(cli, p.seen, err);
}
