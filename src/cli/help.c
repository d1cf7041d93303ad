#include "config.h"

#include "cli/command.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/str.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	HELP_COLUMNS = 80
};

/* A text broken into lines of HELP_COLUMNS, behind a head that is `indent` wide. */
static void help_wrap(struct out *out, size_t indent, const char *text)
{
	size_t used = indent;

	while (*text) {
		size_t len = strcspn(text, " ");

		if (used > indent && used + 1 + len > HELP_COLUMNS) {
			out_char(out, '\n');
			out_spaces(out, indent);
			used = indent;
		} else if (used > indent) {
			out_char(out, ' ');
			used++;
		}
		out_mem(out, text, len);
		used += len;
		text += len;
		text += strspn(text, " ");
	}
	out_char(out, '\n');
}

static void help_row(struct out *out, const char *head, size_t width, const char *text)
{
	size_t len = strlen(head);

	out_text(out, "  ");
	out_text(out, head);
	if (len > width) {
		out_char(out, '\n');
		len = 0;
		out_text(out, "  ");
	}
	out_spaces(out, width - len + 2);
	help_wrap(out, width + 4, text);
}

static void help_options(struct out *out, uint32_t takes, uint32_t plain)
{
	int i;

	for (i = 0; i < OPT_COUNT; i++) {
		const struct cli_option *option = &cli_options[i];
		const char *value = plain & (UINT32_C(1) << i) ? NULL : option->value;
		char head[64];

		if (!(takes & (UINT32_C(1) << i)))
			continue;
		snprintf(head, sizeof(head), "%s%c%s--%s%s%s", option->letter ? "-" : "  ",
			option->letter ? option->letter : ' ', option->letter ? ", " : " ",
			option->name, value ? " " : "", value ? value : "");
		help_row(out, head, 22, option->help);
	}
}

static void help_program(struct out *out)
{
	size_t i;

	out_text(out, "usage: baton [OPTION...] [COMMAND [ARGUMENT...]]\n\n");
	help_wrap(out, 0,
		"Shows who holds the baton for every job that only one process should do: "
		"PostgreSQL advisory locks, etcd elections and locks, Kubernetes Leases and "
		"CronJobs. With nothing to look at it opens on a made-up fleet.");
	out_text(out, "\nCommands:\n");
	for (i = 0; cli_commands[i]; i++) {
		char head[64];

		if (cli_commands[i]->hidden)
			continue;
		snprintf(head, sizeof(head), "%s%s%s", cli_commands[i]->name,
			cli_commands[i]->args ? " " : "",
			cli_commands[i]->args ? cli_commands[i]->args : "");
		help_row(out, head, 22, cli_commands[i]->summary);
	}
	out_text(out, "\nOptions, before or after the command:\n");
	help_options(out, UINT32_MAX, 0);
	out_text(out, "\n'baton help COMMAND' tells more, the manuals baton(1) and baton-config(5) "
		      "all.\n");
}

void cli_help(const struct command *command, struct out *out)
{
	if (!command) {
		help_program(out);
		return;
	}
	out_text(out, "usage: baton ");
	out_text(out, command->name);
	out_text(out, " [OPTION...]");
	if (command->args) {
		out_char(out, ' ');
		out_text(out, command->args);
	}
	out_text(out, "\n\n");
	help_wrap(out, 0, command->summary);
	if (command->help) {
		out_char(out, '\n');
		help_wrap(out, 0, command->help);
	}
	out_text(out, "\nOptions:\n");
	help_options(out, command->takes | TAKES_ALWAYS, command->plain);
}

static int help_run(struct cli *cli)
{
	const struct command *command = cli->n_args ? cli_command(cli->args[0]) : NULL;
	struct nearest nearest;
	struct str help;
	struct out out;
	char shown[CLI_SHOWN_MAX];
	size_t i;

	if (cli->n_args && !command) {
		str_init(&help, 400);
		nearest_init(&nearest, cli->args[0]);
		for (i = 0; cli_commands[i]; i++)
			if (!cli_commands[i]->hidden)
				nearest_offer(&nearest, cli_commands[i]->name);
		nearest_tell(&nearest, 2, &help);
		cli_complain("unknown command '%s'%s", cli_shown(shown, cli->args[0]), help.s);
		str_release(&help);
		return EXIT_CODE_USAGE;
	}
	out_init(&out, STDOUT_FILENO);
	cli_help(command, &out);
	return cli_close(&out, EXIT_CODE_OK);
}

const struct command cli_command_help = {
	.name = "help",
	.args = "[COMMAND]",
	.most = 1,
	.completes = "command",
	.summary = "Explain the program, or one command.",
	.run = help_run,
};
