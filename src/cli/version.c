#include "config.h"

#include "cli/command.h"
#include "show/json.h"

#include <unistd.h>

static int version_run(struct cli *cli)
{
	struct json_writer j;
	struct out out;

	out_init(&out, STDOUT_FILENO);
	if (cli->json) {
		jw_init(&j, &out);
		jw_map(&j);
		jw_key_text(&j, "schema", "baton/1");
		jw_key_text(&j, "version", PACKAGE_VERSION);
		jw_map_end(&j);
		out_char(&out, '\n');
	} else {
		out_text(&out, "baton " PACKAGE_VERSION "\n");
	}
	return cli_close(&out, EXIT_CODE_OK);
}

const struct command cli_command_version = {
	.name = "version",
	.summary = "Print the version.",
	.takes = TAKES(JSON),
	.run = version_run,
};
