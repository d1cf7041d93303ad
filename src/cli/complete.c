#include "config.h"

#include "cli/look.h"
#include "control/lesson-run.h"

#include <string.h>
#include <unistd.h>

enum {
	COMPLETE_TIMEOUT_MS = 1000,
	LESSONS_MOST = 64
};

static void complete_ids(const struct board *board, struct out *out)
{
	size_t i, k;

	for (i = 0; i < board->n_snapshots; i++)
		for (k = 0; k < board->snapshots[i]->n_rows; k++) {
			out_text(out, snapshot_row(board->snapshots[i], k)->s->id);
			out_char(out, '\n');
		}
	for (i = 0; i < board->n_roles; i++) {
		out_text(out, "role/");
		out_text(out, board->roles[i].role->name);
		out_char(out, '\n');
	}
}

static void complete_lessons(struct out *out)
{
	struct lesson_entry entries[LESSONS_MOST];
	size_t n = lesson_entries(entries, LESSONS_MOST), i;

	for (i = 0; i < n; i++)
		out_fmt(out, "%s\n", entries[i].number);
}

static void complete_scenarios(struct out *out)
{
	const struct scenario_text *t;

	for (t = scenario_texts; t->name; t++)
		out_fmt(out, "%s\n", t->name);
}

/* For the shells' completions: silent whatever happens, and never long. */
static int complete_run(struct cli *cli)
{
	bool sources = strcmp(cli->args[0], "sources") == 0;
	struct err ignored = { 0 };
	struct board *board;
	struct look look;
	struct out out;
	size_t i;

	if (strcmp(cli->args[0], "lessons") == 0 || strcmp(cli->args[0], "scenarios") == 0) {
		out_init(&out, STDOUT_FILENO);
		if (strcmp(cli->args[0], "lessons") == 0)
			complete_lessons(&out);
		else
			complete_scenarios(&out);
		return cli_close(&out, EXIT_CODE_OK);
	}
	cli->no_memory = true;
	if (!cli->timeout_ms)
		cli->timeout_ms = COMPLETE_TIMEOUT_MS;
	if (look_open(&look, cli, true, !sources, &ignored))
		return EXIT_CODE_CONFIG;
	out_init(&out, STDOUT_FILENO);
	for (i = 0; sources && i < look.settings->n_sources; i++) {
		out_text(&out, look.settings->sources[i].name);
		out_char(&out, '\n');
	}
	if (!sources) {
		board = look_wait(&look);
		complete_ids(board, &out);
		board_unref(board);
	}
	look_close(&look);
	return cli_close(&out, EXIT_CODE_OK);
}

const struct command cli_command_complete = {
	.name = "__complete",
	.args = "ids|sources|lessons",
	.least = 1,
	.most = 1,
	.hidden = true,
	.summary = "Print words for a shell's completion.",
	.takes = TAKES_SOURCES,
	.run = complete_run,
};
