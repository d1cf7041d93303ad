#include "config.h"

#include "base/clock.h"
#include "cli/verb.h"
#include "show/forecast.h"
#include "show/json.h"

#include <unistd.h>

static void forecast_json(struct out *out, const struct board *board, const struct forecast *f)
{
	struct json_writer j;

	jw_init(&j, out);
	jw_map(&j);
	jw_key_text(&j, "schema", "baton/1");
	jw_marks(&j, board->sim, board->record);
	jw_key_time(&j, "at", f->at_us, 3);
	show_forecast_json(&j, f);
	jw_map_end(&j);
	out_char(out, '\n');
}

static int forecast_print(
	const struct cli *cli, const struct verb_call *call, const struct gate_view *view)
{
	const struct forecast *f = view->items[0].forecast;
	struct show_style style = cli_style(cli);
	struct out out;

	if (view->items[0].absent)
		return ids_complain(call->board, cli->args[1]);
	if (!f) {
		cli_complain("%s", view->items[0].text);
		return EXIT_CODE_NO_ID;
	}
	out_init(&out, STDOUT_FILENO);
	if (!cli->json)
		show_mark_line(&out, call->board);
	if (cli->json)
		forecast_json(&out, call->board, f);
	else
		show_forecast_text(&out, &style, f);
	return cli_close(&out, EXIT_CODE_OK);
}

static int forecast_run(struct cli *cli)
{
	struct verb_call call = { .signals = -1 };
	int code = verb_begin(&call, cli, true, NULL);

	if (!code) {
		struct gate_view *view = verb_wait(&call, GATE_PHASE_OVER);

		code = forecast_print(cli, &call, view);
		gate_view_free(view);
	}
	verb_close(&call);
	return code;
}

const struct command cli_command_forecast = {
	.name = "forecast",
	.args = "VERB ID",
	.least = 2,
	.most = 2,
	.completes = "verb",
	.summary = "Say what a verb would do to one singleton; nothing is sent.",
	.help = "VERB is step-down, cancel, release, revoke, keep-one, suspend, resume or trigger; "
		"with --sim also what exists in built-in fleets only: ask, stop, start, restart, "
		"isolate, rejoin, fence, mend, unhold, apply, apply-guarded, crash, pause, "
		"partition, "
		"skew-clock, kill-connection and drain-node. "
		"The forecast names the exact request and its guard, what goes with it, who is "
		"told, who is next and "
		"when, whether the old holder may work on, and whether the server allows it. "
		"Without --expect a verb about a holder means the only one.",
	.takes = TAKES_SOURCES | TAKES_SIM | TAKES(JSON) | TAKES(EXPECT) | TAKES(EXPECT_TOKEN),
	.run = forecast_run,
};
