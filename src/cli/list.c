#include "config.h"

#include "cli/look.h"

#include <unistd.h>

/* A table without a row says nothing where nobody answered: why is on standard error. */
static bool list_is_vain(const struct cli *cli, const struct board *board)
{
	return !cli->json && !board->n_rows && look_exit_code(board) == EXIT_CODE_NO_SOURCE;
}

/* For people: how many there are, and how many need one. */
static void list_sum_up(const struct board *board, struct out *out)
{
	out_fmt(out, "%zu %s in %zu %s, ", board->n_rows,
		board->n_rows == 1 ? "singleton" : "singletons", board->n_snapshots,
		board->n_snapshots == 1 ? "source" : "sources");
	if (board->n_attention)
		out_fmt(out, "%zu need%s you\n", board->n_attention,
			board->n_attention == 1 ? "s" : "");
	else
		out_text(out, "none needs you\n");
}

static int list_run(struct cli *cli)
{
	struct show_style style = cli_style(cli);
	struct board *board;
	struct look look;
	struct show show;
	struct out out;
	int code = look_open(&look, cli, true, true, NULL);

	if (code)
		return code;
	board = look_wait(&look);
	look_complain(&look, board, !cli->json);
	out_init(&out, STDOUT_FILENO);
	show_init(&show, cli_show_ops(cli), &out, &style, board);
	show.patience_ms = look_patience_ms(&look);
	if (!list_is_vain(cli, board))
		show_list(&show, board, cli->states);
	if (!cli->json && style.columns)
		list_sum_up(board, &out);
	code = cli_close(&out, look_exit_code(board));
	board_unref(board);
	look_close(&look);
	return code;
}

const struct command cli_command_list = {
	.name = "list",
	.summary = "Print one picture of all singletons, and exit.",
	.help = "Each source is read once. Singletons are sorted by state, the worst first, then "
		"by id. "
		"Sources that can't be read are named on standard error.",
	.takes = TAKES_SOURCES | TAKES_SIM | TAKES(REPLAY) | TAKES(JSON) | TAKES(STATE),
	.run = list_run,
};
