#include "config.h"

#include "base/map.h"
#include "cli/look.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

/* What is watched: the last board that was told, and where lines go. */
struct watch {
	struct cli *cli;
	struct look look;
	struct show_style style;
	struct board *told;
	struct out out;
};

static bool watch_same_claims(const struct singleton *a, const struct singleton *b)
{
	uint32_t i;

	if (a->n_claims != b->n_claims)
		return false;
	for (i = 0; i < a->n_claims; i++)
		if (a->claims[i].kind != b->claims[i].kind ||
			strcmp(claim_key(&a->claims[i]), claim_key(&b->claims[i])) != 0 ||
			strcmp(claim_identity(&a->claims[i]), claim_identity(&b->claims[i])) != 0)
			return false;
	return true;
}

static bool watch_same_findings(const struct row *a, const struct row *b)
{
	size_t i;

	if (!a || !b)
		return a == b;
	if (a->v.n_findings != b->v.n_findings)
		return false;
	for (i = 0; i < a->v.n_findings; i++)
		if (a->v.findings[i].code != b->v.findings[i].code ||
			a->v.findings[i].severity != b->v.findings[i].severity)
			return false;
	return true;
}

/* Whether two rows tell the same story; details and clocks that move on are no change. */
static bool watch_same(const struct row *a, const struct row *b)
{
	return a == b || (a->v.state == b->v.state && a->s->has_token == b->s->has_token &&
				 a->s->token == b->s->token && watch_same_claims(a->s, b->s) &&
				 watch_same_findings(a, b));
}

static bool watch_wanted(const struct watch *w, const struct row *a, const struct row *b)
{
	uint32_t states = w->cli->states;

	return !states || (a && states & (UINT32_C(1) << a->v.state)) ||
	       (b && states & (UINT32_C(1) << b->v.state));
}

static void watch_tell(struct watch *w, const struct board *board, const char *what,
	const struct snapshot *snap, const struct row *row)
{
	struct show show;

	show_init(&show, cli_show_ops(w->cli), &w->out, &w->style, board);
	show_change(&show, board, what, snap, row);
}

static const struct chunk *watch_chunk(const struct snapshot *snap, size_t i)
{
	return snap && i < snap->n_chunks ? snap->chunks[i] : NULL;
}

/* Notes the rows of the chunks that are not shared: only those can differ. */
static void watch_note(struct map *rows, const struct snapshot *snap, const struct snapshot *other)
{
	size_t i;
	uint32_t k;

	for (i = 0; snap && i < snap->n_chunks; i++) {
		struct chunk *chunk = snap->chunks[i];

		if (chunk == watch_chunk(other, i))
			continue;
		for (k = 0; k < chunk->n; k++)
			map_put(rows, chunk->rows[k]->s->id, strlen(chunk->rows[k]->s->id),
				chunk->rows[k]);
	}
}

/* Of a row that may be there as before nothing is known now but why: it is told as it was last,
 * with that. */
static void watch_hidden(struct watch *w, const struct board *board, const struct snapshot *now,
	const struct row *row, const struct hidden *why)
{
	struct verdict_draft verdict;
	struct row *unknown;

	verdict_draft_init(&verdict);
	verdict_draft_begin(&verdict);
	verdict.role = row_role(row);
	verdict.v.state = STATE_UNKNOWN;
	verdict_add(&verdict, FINDING_HIDDEN, SEVERITY_WARN, TIME_UNKNOWN,
		"It can't be seen any more, and this is how it was last. Hidden from us: %s.",
		why->what);
	if (why->remedy)
		verdict_advise(&verdict, "To see it: %s.", why->remedy);
	verdict.v.needs_attention = true;
	unknown = row_new(singleton_ref(row->s), &verdict);
	verdict_draft_release(&verdict);
	if (watch_wanted(w, row, unknown))
		watch_tell(w, board, "changed", now, unknown);
	row_unref(unknown);
}

static void watch_left(struct watch *w, const struct board *board, const struct snapshot *now,
	const struct row *row)
{
	const struct hidden *why = snapshot_hides(now, row->s->id);

	if (why)
		watch_hidden(w, board, now, row, why);
	else if (watch_wanted(w, row, NULL))
		watch_tell(w, board, "gone", now, row);
}

/* What is left of the rows before, in their order. */
static void watch_gone(struct watch *w, const struct board *board, const struct map *left,
	const struct snapshot *before, const struct snapshot *now)
{
	size_t i;
	uint32_t k;

	for (i = 0; before && i < before->n_chunks && left->n; i++) {
		const struct chunk *chunk = before->chunks[i];

		for (k = 0; chunk != watch_chunk(now, i) && k < chunk->n; k++) {
			const struct row *row = chunk->rows[k];

			if (map_get(left, row->s->id, strlen(row->s->id)) == row)
				watch_left(w, board, now, row);
		}
	}
}

static void watch_rows(struct watch *w, const struct board *board, const struct snapshot *before,
	const struct snapshot *now)
{
	struct map old;
	size_t i;
	uint32_t k;

	map_init(&old);
	watch_note(&old, before, now);
	for (i = 0; i < now->n_chunks && !w->out.error; i++) {
		if (now->chunks[i] == watch_chunk(before, i))
			continue;
		for (k = 0; k < now->chunks[i]->n; k++) {
			const struct row *row = now->chunks[i]->rows[k];
			const struct row *was = map_remove(&old, row->s->id, strlen(row->s->id));

			if ((!was || !watch_same(was, row)) && watch_wanted(w, was, row))
				watch_tell(w, board, was ? "changed" : "appeared", now, row);
		}
	}
	watch_gone(w, board, &old, before, now);
	map_release(&old);
}

static bool watch_same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool watch_same_source(const struct board *a, const struct board *b, size_t i)
{
	const struct snapshot *x = a->snapshots[i], *y = b->snapshots[i];

	return x->state == y->state && watch_same_text(x->error, y->error) &&
	       watch_same_findings(x->self, y->self) &&
	       watch_same_findings(a->cross ? a->cross[i] : NULL, b->cross ? b->cross[i] : NULL);
}

/* Whether each source of its witnesses was heard of: before that nothing is known of a role. */
static bool watch_role_known(const struct role_view *role)
{
	size_t i;

	for (i = 0; i < role->role->n_witnesses; i++)
		if (role->sources[i] && role->sources[i]->state == SOURCE_CONNECTING)
			return false;
	return true;
}

static void watch_role(
	struct watch *w, const struct board *board, const struct role_view *before, size_t number)
{
	const struct role_view *now = &board->roles[number];
	const struct row *was = before && watch_role_known(before) ? before->self : NULL;
	struct show show;

	if (!watch_role_known(now) || (was && watch_same(was, now->self)) ||
		!watch_wanted(w, was, now->self))
		return;
	show_init(&show, cli_show_ops(w->cli), &w->out, &w->style, board);
	show_role_change(&show, was ? "changed" : "appeared", now);
}

/* Tells what differs between the board before and this one, which it takes over. */
static void watch_board(struct watch *w, struct board *board)
{
	size_t i;

	if (!w->told && !w->cli->json)
		show_mark_line(&w->out, board);
	for (i = 0; i < board->n_snapshots; i++) {
		const struct snapshot *now = board->snapshots[i];
		const struct snapshot *before = w->told ? w->told->snapshots[i] : NULL;

		if (now->state == SOURCE_CONNECTING)
			continue;
		if (!before || !watch_same_source(w->told, board, i))
			watch_tell(w, board, "source", now, NULL);
		watch_rows(w, board, before, now);
	}
	for (i = 0; i < board->n_roles; i++)
		watch_role(w, board, w->told ? &w->told->roles[i] : NULL, i);
	out_flush(&w->out);
	board_unref(w->told);
	w->told = board;
}

/* Until a signal, an output that failed, or a reader that went away. */
static void watch_loop(struct watch *w, int signals)
{
	struct pollfd fds[] = {
		{ .fd = signals, .events = POLLIN },
		{ .fd = fleet_fd(w->look.fleet), .events = POLLIN },
		/* No events: only that the other end of a pipe was closed. */
		{ .fd = STDOUT_FILENO, .events = 0 },
	};

	while (!w->out.error) {
		if (poll(fds, 3, -1) < 0 && errno != EINTR)
			return;
		if (fds[0].revents || fds[2].revents & (POLLERR | POLLHUP | POLLNVAL))
			return;
		if (fds[1].revents)
			watch_board(w, fleet_board(w->look.fleet));
	}
}

/* A built-in fleet up to its moment: nobody waits for anything. */
static void watch_drive(struct watch *w, int signals)
{
	bool more = true;

	while (more && !w->out.error && !look_signalled(signals)) {
		struct pollfd fd = { .fd = fleet_fd(w->look.fleet), .events = POLLIN };

		more = drive_step(w->look.drive, w->look.at_ms);
		if (!more)
			drive_to(w->look.drive, w->look.at_ms);
		if (poll(&fd, 1, 0) > 0)
			watch_board(w, fleet_board(w->look.fleet));
	}
}

/* Whether every source has told what it was at that moment. */
static bool watch_is_there(struct watch *w, int64_t at_ms)
{
	size_t i;

	for (i = 0; i < w->look.settings->n_sources; i++)
		if (!fleet_has_polled(w->look.fleet, i, at_ms))
			return false;
	return true;
}

/* Takes a record to a moment; false: a signal, or a reader that went away. */
static bool watch_go_to(struct watch *w, int signals, int64_t at_ms)
{
	struct pollfd fds[] = {
		{ .fd = signals, .events = POLLIN },
		{ .fd = fleet_fd(w->look.fleet), .events = POLLIN },
		{ .fd = STDOUT_FILENO, .events = 0 },
	};

	vclock_set(&w->look.clock, at_ms);
	fleet_poll_now(w->look.fleet, NULL);
	while (!watch_is_there(w, at_ms)) {
		if (poll(fds, 3, -1) < 0 && errno != EINTR)
			return false;
		if (fds[0].revents || fds[2].revents & (POLLERR | POLLHUP | POLLNVAL))
			return false;
		if (fds[1].revents)
			board_unref(fleet_board(w->look.fleet));
	}
	return true;
}

/* Every moment of a record, as fast as they can be told. */
static void watch_record(struct watch *w, int signals)
{
	int64_t at_ms = replay_next_ms(w->look.replay, INT64_MIN);

	for (; at_ms != INT64_MAX && !w->out.error; at_ms = replay_next_ms(w->look.replay, at_ms)) {
		if (!watch_go_to(w, signals, at_ms))
			return;
		watch_board(w, fleet_board(w->look.fleet));
	}
}

static int watch_run(struct cli *cli)
{
	struct watch w = { .cli = cli, .style = cli_style(cli) };
	int signals = look_signals();
	int code;

	if (cli->replay)
		cli->at = "start";
	code = look_open(&w.look, cli, false, true, NULL);
	if (code)
		return code;
	w.style.columns = 0;
	out_init(&w.out, STDOUT_FILENO);
	out_stop_at(&w.out, signals);
	if (w.look.drive)
		watch_drive(&w, signals);
	else if (w.look.replay)
		watch_record(&w, signals);
	else
		watch_loop(&w, signals);
	code = cli_close(&w.out, w.told ? look_exit_code_now(w.told) : EXIT_CODE_OK);
	board_unref(w.told);
	look_close(&w.look);
	close(signals);
	return code;
}

const struct command cli_command_watch = {
	.name = "watch",
	.summary = "Print a line for each change, until it is stopped.",
	.help = "It begins with what is there: a source line for each source, and an appeared line "
		"for each "
		"singleton and each role. Then come appeared, changed (state, holders, queue, "
		"token or "
		"findings), gone and "
		"source lines. A row that can't be seen any more is not gone: it is changed, to "
		"UNKNOWN, and told as it was last; when it can be seen again, it has appeared. It "
		"ends at SIGINT, SIGTERM (a reader that stands still is waited for a second then), "
		"or when nobody reads any more; the exit "
		"code tells "
		"whether all sources could be read at that moment. With --replay it tells a whole "
		"record, as fast as it can be read, and ends with it.",
	.takes = TAKES_SOURCES | TAKES_SIM | TAKES(REPLAY) | TAKES(JSON) | TAKES(STATE),
	.run = watch_run,
};
