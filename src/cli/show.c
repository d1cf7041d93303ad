#include "config.h"

#include "base/zone.h"
#include "cli/ids.h"
#include "cli/look.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	SHOW_EVENTS_MAX = 5000
};

/* What the fleet knows of the past of one singleton, oldest first. */
static size_t show_history(struct look *look, const char *id, struct event **events)
{
	uint64_t seq = 0;
	size_t n = fleet_events(look->fleet, &seq, events, SHOW_EVENTS_MAX), kept = 0, i;

	for (i = 0; i < n; i++) {
		if (events[i]->id && strcmp(events[i]->id, id) == 0)
			events[kept++] = events[i];
		else
			free(events[i]);
	}
	events_order((const struct event **)events, kept);
	return kept;
}

static void show_found_row(struct cli *cli, struct look *look, struct show *show,
	const struct board *board, const struct snapshot *snap, const struct row *row)
{
	struct event **events = calloc(SHOW_EVENTS_MAX, sizeof(*events));
	size_t n = events ? show_history(look, row->s->id, events) : 0, i;

	(void)cli;
	show_one(show, board, snap, row, events, n);
	for (i = 0; i < n; i++)
		free(events[i]);
	free(events);
}

static int show_found(struct cli *cli, struct look *look, const struct board *board)
{
	const struct role_view *role = ids_find_role(board, cli->args[0]);
	const struct snapshot *snap = NULL;
	const struct row *row = role ? NULL : ids_find(board, cli->args[0], &snap);
	struct show_style style = cli_style(cli);
	struct zone *local = NULL;
	struct show show;
	struct out out;
	int code;

	if (!role && !row)
		return ids_complain(board, cli->args[0]);
	/* Without one, times are told in UTC alone. */
	if (zone_load("Local", &local, NULL) == 0)
		style.local = local;
	out_init(&out, STDOUT_FILENO);
	show_init(&show, cli_show_ops(cli), &out, &style, board);
	show.patience_ms = look_patience_ms(look);
	if (role)
		show_role(&show, role);
	else
		show_found_row(cli, look, &show, board, snap, row);
	code = cli_close(&out, look_exit_code(board));
	zone_free(local);
	return code;
}

static int show_run(struct cli *cli)
{
	struct board *board;
	struct look look;
	char *escaped;
	int code = look_open(&look, cli, true, false, NULL);

	if (code)
		return code;
	/* The sources spend their budget of requests on it first. */
	escaped = ids_escaped(cli->args[0]);
	fleet_want(look.fleet, (const char *[]){ cli->args[0], escaped }, 2);
	free(escaped);
	look_start(&look);
	board = look_wait(&look);
	look_complain(&look, board, false);
	code = show_found(cli, &look, board);
	board_unref(board);
	look_close(&look);
	return code;
}

const struct command cli_command_show = {
	.name = "show",
	.args = "ID",
	.least = 1,
	.most = 1,
	.completes = "id",
	.summary = "Print everything known about one singleton.",
	.help = "ID is as list prints it; the bytes themselves are taken as well. role/NAME shows "
		"a role of "
		"the config.",
	.takes = TAKES_SOURCES | TAKES_SIM | TAKES(REPLAY) | TAKES(JSON),
	.run = show_run,
};
