#include "config.h"

#include "cli/look.h"
#include "control/gate.h"
#include "tui/console.h"

static int console_start(struct cli *cli)
{
	struct show_style style = cli_style(cli);
	struct console_options options = {
		.theme = cli->theme,
		.ascii = cli->ascii,
		.utf8 = cli->utf8,
		.no_color = !style.color,
	};
	struct err err = { 0 };
	struct look look;
	int code = look_open(&look, cli, false, true, NULL);

	if (code)
		return code;
	if (cli->write && gate_arm(look.fleet, NULL, INT64_MAX, &err)) {
		look_close(&look);
		return cli_fail(EXIT_CODE_CONFIG, &err);
	}
	code = console_run(look.fleet, look.settings, &options, &err);
	look_close(&look);
	return code < 0 ? cli_fail(EXIT_CODE_FAILED, &err) : code;
}

const struct command cli_command_console = {
	.name = "console",
	.summary = "Open the console; what baton does without a command.",
	.help = "The console shows the same as list, show and watch, on a terminal of 80 by 24 or "
		"more. "
		"'?' in it lists the keys.",
	.takes = TAKES_SOURCES | TAKES(THEME) | TAKES(WRITE),
	.run = console_start,
};
