#include "config.h"

#include "cli/look.h"

static int replay_run(struct cli *cli)
{
	struct look look;
	int code;

	cli->replay = cli->args[0];
	/* To see what happened one begins at the beginning. */
	if (!cli->at)
		cli->at = "start";
	code = look_open(&look, cli, false, true, NULL);
	return code ? code : look_console(&look, cli, false);
}

const struct command cli_command_replay = {
	.name = "replay",
	.args = "FILE",
	.least = 1,
	.most = 1,
	.completes = "file",
	.summary = "Open the console on a record.",
	.help = "It shows what was shown when baton record, or R in the console, wrote the file: "
		"the "
		"same rows, states and findings, on the record's clock. It begins at the "
		"beginning, "
		"or at --at. Z holds the time, x and X make it faster and slower, s goes to the "
		"next "
		"thing that happened, ( and ) go 10 seconds back and on, { and } to where a "
		"finding "
		"begins, and :seek to any moment. Nothing can be done in it. list, show, check and "
		"watch take a record as --replay.",
	.takes = TAKES(SOURCE) | TAKES(AT) | TAKES(THEME),
	.run = replay_run,
};
