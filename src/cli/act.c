#include "config.h"

#include "base/clock.h"
#include "base/str.h"
#include "base/text.h"
#include "cli/verb.h"
#include "show/forecast.h"
#include "show/json.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

enum {
	AFTER_MS = 5000, /* so long a picture from after the act is waited for */
	TICK_MS = 10,
	ANSWER_MOST = 4096,
	ASKED_MOST = 3,
};

/* ---- asking, on a terminal ---- */

/* A line from the terminal, without its end; false at its end, and when we are asked to end. */
static bool ask_line(const struct verb_call *call, const char *prompt, char *line, size_t size)
{
	struct pollfd fds[] = { { .fd = STDIN_FILENO, .events = POLLIN },
		{ .fd = call->signals, .events = POLLIN } };

	/* What was typed or pasted before the question is no answer to it. */
	if (isatty(STDIN_FILENO))
		tcflush(STDIN_FILENO, TCIFLUSH);
	fputs(prompt, stderr);
	fflush(stderr);
	if (poll(fds, 2, -1) < 0 || !fds[0].revents || !fgets(line, (int)size, stdin))
		return false;
	line[strcspn(line, "\n")] = '\0';
	return true;
}

static bool ask_reason(const struct cli *cli, const struct verb_call *call, char *reason)
{
	snprintf(reason, ANSWER_MOST, "%s", cli->reason ? cli->reason : "");
	if (reason[0])
		return true;
	return ask_line(call, "reason > ", reason, ANSWER_MOST) && reason[0];
}

/* As the console's dialog asks: what it would do, why, and the name typed. Enter alone leaves. */
static void act_ask(
	const struct cli *cli, const struct verb_call *call, const struct gate_view *view)
{
	char typed[ANSWER_MOST], prompt[ANSWER_MOST + 80], reason[ANSWER_MOST];
	struct show_style style = cli_style(cli);
	struct gate *gate = call->gate;
	struct err err = { 0 };
	struct out out;
	int tries;

	out_init(&out, STDERR_FILENO);
	show_mark_line(&out, call->board);
	show_forecast_text(&out, &style, view->items[0].forecast);
	out_close(&out);
	if (!ask_reason(cli, call, reason)) {
		gate_cancel(gate);
		return;
	}
	snprintf(prompt, sizeof(prompt), "type %.*s to go on, or Enter to leave it as it is > ",
		text_most(view->to_type, 4000), view->to_type);
	for (tries = 0; tries < ASKED_MOST; tries++) {
		if (!ask_line(call, prompt, typed, sizeof(typed)) || !typed[0])
			break;
		if (gate_confirm(gate, typed, reason, &err) == 0)
			return;
		cli_complain("%s", err.text);
	}
	gate_cancel(gate);
}

/* ---- what it came to ---- */

static const char *outcome_word(const struct gate_view *view)
{
	return gate_outcome_word(view->outcome == GATE_CANCELLED ? GATE_REFUSED : view->outcome);
}

static int outcome_code(enum gate_outcome outcome)
{
	switch (outcome) {
	case GATE_DONE:
		return EXIT_CODE_OK;
	case GATE_CHANGED:
		return EXIT_CODE_CHANGED;
	case GATE_PARTIAL:
		return EXIT_CODE_PARTIAL;
	case GATE_REFUSED:
	case GATE_CANCELLED:
		return EXIT_CODE_REFUSED;
	default:
		return EXIT_CODE_UNKNOWN;
	}
}

static const struct snapshot *snapshot_of(const struct board *board, const char *source)
{
	size_t i;

	for (i = 0; i < board->n_snapshots; i++)
		if (strcmp(board->snapshots[i]->source, source) == 0)
			return board->snapshots[i];
	return NULL;
}

/*
 * The board once it shows what is so after the act, or as it is when that took too long. ret_after:
 * whether it does; that a source does not answer is shown as such.
 */
static struct board *board_after(
	const struct verb_call *call, const struct gate_item *item, bool *ret_after)
{
	const struct clock_source *clock = look_clock(&call->look);
	int64_t end = clock_mono_ms(clock) + AFTER_MS;

	for (;;) {
		struct board *board = fleet_board(call->look.fleet);
		const struct snapshot *snap = snapshot_of(board, call->snap->source);

		*ret_after = !snap || gate_item_precedes(item, snap);
		if (*ret_after)
			return board;
		/* Its outcome is known and recorded: who wants to go need not wait for this. */
		if (clock_mono_ms(clock) >= end || verb_interrupted(call)) {
			*ret_after = snap->state == SOURCE_FAILING;
			return board;
		}
		board_unref(board);
		if (call->look.drive)
			drive_step(call->look.drive, end);
		else
			poll(NULL, 0, TICK_MS);
	}
}

static void json_steps(struct json_writer *j, const struct gate_view *view)
{
	size_t i;

	jw_key(j, "steps");
	jw_list(j);
	for (i = 0; i < view->n_steps; i++) {
		jw_map(j);
		jw_key_text(j, "step", view->steps[i].step);
		jw_key_time(j, "at", view->steps[i].at_us, 3);
		jw_key_text(j, "text", view->steps[i].text);
		jw_map_end(j);
	}
	jw_list_end(j);
}

static void json_target(struct json_writer *j, const struct gate_item *item)
{
	jw_key(j, "target");
	if (item->forecast) {
		show_target_json(j, item->forecast);
		return;
	}
	jw_map(j);
	jw_key_text(j, "identity", item->identity);
	jw_key_text(j, "key", item->key);
	jw_key(j, "token");
	jw_null(j);
	jw_map_end(j);
}

static void act_json(struct out *out, const struct verb_call *call, const struct gate_view *view,
	const struct board *board, bool is_after)
{
	const struct gate_item *item = &view->items[0];
	const struct snapshot *snap = NULL;
	const struct row *row = is_after ? board_find(board, item->id, &snap) : NULL;
	struct json_writer j;

	jw_init(&j, out);
	jw_map(&j);
	jw_key_text(&j, "schema", "baton/1");
	jw_marks(&j, board->sim, board->record);
	jw_key_time(&j, "at", clock_wall_us(look_clock(&call->look)), 3);
	jw_key_text(&j, "id", item->id);
	jw_key_text(&j, "verb", verb_word(item->verb)->word);
	jw_key_text(&j, "outcome", outcome_word(view));
	jw_key_text(&j, "text", view->text);
	jw_key_text(&j, "find_out", item->find_out);
	jw_key_text(&j, "overlap", overlap_word(item->overlap));
	json_target(&j, item);
	jw_key_text(&j, "request", item->forecast ? item->forecast->request : NULL);
	jw_key_ms(&j, "n", item->n ? (int64_t)item->n : INT64_MIN);
	json_steps(&j, view);
	jw_key(&j, "after");
	if (row)
		show_json_singleton(&j, board, snap, row);
	else
		jw_null(&j);
	jw_map_end(&j);
	out_char(out, '\n');
}

static void text_overlap(struct out *out, const struct gate_item *item)
{
	const char *who = item->forecast ? forecast_evicted(item->forecast) : "the old one";

	if (item->overlap == OVERLAP_OPEN)
		out_text(out, "overlap  open: ");
	else if (item->overlap == OVERLAP_CLOSED)
		out_text(out, "overlap  closed: ");
	else
		return;
	out_text(out, who);
	out_text(out, item->overlap == OVERLAP_OPEN ? ": not seen to stop, may still work\n"
						    : ": seen to stop\n");
}

static void text_after(
	struct out *out, const struct gate_item *item, const struct board *board, bool is_after)
{
	const struct snapshot *snap = NULL;
	const struct row *row = board_find(board, item->id, &snap);
	const struct claim *holder = row ? singleton_holder(row->s) : NULL;

	out_text(out, "now      ");
	if (!is_after) {
		out_text(out, "not read yet: baton show ");
		cli_put(out, item->id);
		out_text(out, " tells it\n");
		return;
	}
	if (!row) {
		out_text(out, "it is not there any more\n");
		return;
	}
	out_text(out, state_word(board_state(snap, row))->word);
	if (holder) {
		out_text(out, "  ");
		out_text(out, claim_identity(holder));
	}
	out_char(out, '\n');
}

static void act_text(
	struct out *out, const struct gate_view *view, const struct board *board, bool is_after)
{
	const struct gate_item *item = &view->items[0];
	char at[CLOCK_TEXT_MAX];
	size_t i;

	show_mark_line(out, board);
	for (i = 0; i < view->n_steps; i++) {
		clock_format_utc(at, view->steps[i].at_us, 3);
		out_fmt(out, "%s  %-8s ", at, view->steps[i].step);
		out_text(out, view->steps[i].text);
		out_char(out, '\n');
	}
	out_fmt(out, "%-8s ", outcome_word(view));
	out_text(out, view->text);
	out_char(out, '\n');
	if (item->find_out) {
		out_text(out, "to find out: ");
		out_text(out, item->find_out);
		out_char(out, '\n');
	}
	text_overlap(out, item);
	text_after(out, item, board, is_after);
}

static int act_tell(
	const struct cli *cli, const struct verb_call *call, const struct gate_view *view)
{
	bool is_after;
	struct board *board = board_after(call, &view->items[0], &is_after);
	struct out out;
	int code;

	out_init(&out, STDOUT_FILENO);
	out_stop_at(&out, call->signals);
	if (cli->json)
		act_json(&out, call, view, board, is_after);
	else
		act_text(&out, view, board, is_after);
	code = cli_close(&out, outcome_code(view->outcome));
	board_unref(board);
	return code;
}

static int act_carry(const struct cli *cli, const struct verb_call *call)
{
	struct gate_view *view = verb_wait(call, GATE_PHASE_ASKING);
	int code;

	if (view->phase == GATE_PHASE_ASKING)
		act_ask(cli, call, view);
	gate_view_free(view);
	view = verb_wait(call, GATE_PHASE_OVER);
	if (view->items[0].absent)
		code = ids_complain(call->board, cli->args[1]);
	else
		code = act_tell(cli, call, view);
	gate_view_free(view);
	return code;
}

/* What must be said beforehand. */
static int act_usage(const struct cli *cli)
{
	int verb = verb_from_word(cli->args[0]);

	if (verb >= 0 && verb_word((enum verb)verb)->about != ABOUT_ROW && !cli->expect) {
		cli_complain(
			"act %s needs --expect KEY-OR-HOLDER: whom it was meant for", cli->args[0]);
		return EXIT_CODE_USAGE;
	}
	if (cli->yes && (!cli->reason || !cli->reason[strspn(cli->reason, " \t")])) {
		cli_complain("act needs --reason TEXT: it is recorded with the act");
		return EXIT_CODE_USAGE;
	}
	if (!cli->yes && !isatty(STDIN_FILENO)) {
		cli_complain("act needs --yes where standard input is no terminal: it can't ask");
		return EXIT_CODE_USAGE;
	}
	return 0;
}

static int act_run(struct cli *cli)
{
	struct verb_call call = { .signals = -1 };
	int code = act_usage(cli);

	if (code)
		return code;
	verb_hold_signals(&call);
	code = verb_begin(&call, cli, false, cli->yes ? cli->reason : NULL);
	if (!code)
		code = act_carry(cli, &call);
	verb_close(&call);
	return code;
}

const struct command cli_command_act = {
	.name = "act",
	.args = "VERB ID",
	.least = 2,
	.most = 2,
	.completes = "verb",
	.summary = "Carry out a verb on one singleton, through the gate.",
	.help = "It is read again, compared with what --expect says, forecast, confirmed, "
		"recorded, "
		"sent once with a "
		"guard, and looked after: for 10 seconds, or as long as --timeout says. --yes "
		"stands for the typed "
		"confirmation; without it the terminal is asked. Exit codes: 0 done, 10 refused, "
		"11 changed, 12 unknown, "
		"13 partial. Nothing is ever sent twice.",
	.takes = TAKES_SOURCES | TAKES_SIM | TAKES(JSON) | TAKES(EXPECT) | TAKES(EXPECT_TOKEN) |
		 TAKES(REASON) | TAKES(YES),
	.run = act_run,
};
