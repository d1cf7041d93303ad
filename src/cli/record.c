#include "config.h"

#include "base/clock.h"
#include "cli/look.h"
#include "tui/recording.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

enum {
	BOARD_EVERY_MS = 50, /* boards that come faster are taken together */
	SIGNAL_LOOK_MS = 50,
};

/* What a recording waits for. */
enum {
	FD_SIGNAL,
	FD_ENDED,
	FD_FLEET,
	FD_READER, /* standard output: who leaves is seen though nothing is to be written */
	FD_COUNT
};

/* What is recorded. */
struct record {
	struct look look;
	struct recording rec;
	bool answered; /* some source did, at some time */
};

static void record_board(struct record *r)
{
	struct board *board = fleet_board(r->look.fleet);

	recording_take(&r->rec, r->look.fleet, board);
	r->answered = r->answered || look_any_answered(board);
	board_unref(board);
}

/* Until a signal, the time that was given, an end of its own, or the reader's. reader: the
 * descriptor that somebody reads; -1: a file. */
static void record_loop(struct record *r, int signals, int reader, int64_t end_ms)
{
	struct pollfd fds[FD_COUNT] = {
		[FD_SIGNAL] = { .fd = signals, .events = POLLIN },
		[FD_ENDED] = { .fd = recorder_fd(r->rec.recorder), .events = POLLIN },
		[FD_FLEET] = { .fd = -1, .events = POLLIN },
		[FD_READER] = { .fd = reader },
	};
	int64_t taken_ms = INT64_MIN / 2;

	while (clock_mono_ms(&clock_system) < end_ms) {
		bool early = clock_mono_ms(&clock_system) - taken_ms < BOARD_EVERY_MS;
		int64_t next = early ? taken_ms + BOARD_EVERY_MS : INT64_MAX;

		fds[FD_FLEET].fd = early ? -1 : fleet_fd(r->look.fleet);
		if (poll(fds, FD_COUNT,
			    clock_wait_ms(&clock_system, next < end_ms ? next : end_ms)) < 0 &&
			errno != EINTR)
			return;
		if (fds[FD_SIGNAL].revents || fds[FD_ENDED].revents || fds[FD_READER].revents)
			return;
		if (early || !fds[FD_FLEET].revents)
			continue;
		record_board(r);
		taken_ms = clock_mono_ms(&clock_system);
	}
}

/* Where a built-in fleet's record ends, by its own time: at --at or after --for, which comes first.
 */
static int64_t drive_end_ms(const struct look *look, const struct cli *cli)
{
	if (cli->for_ms && (!cli->has_at || cli->for_ms < look->at_ms))
		return cli->for_ms;
	return look->at_ms;
}

/* A built-in fleet from its begin: nobody waits for anything, and nothing is taken together. */
static void record_drive(struct record *r, int signals, int64_t end_ms)
{
	struct drive *drive = r->look.drive;
	bool more = true;

	while (more && !recorder_status(r->rec.recorder, NULL) && !look_signalled(signals)) {
		struct pollfd fd = { .fd = fleet_fd(r->look.fleet), .events = POLLIN };

		more = drive_step(drive, end_ms);
		if (!more)
			drive_to(drive, end_ms);
		if (poll(&fd, 1, 0) <= 0)
			continue;
		record_board(r);
		while (!recorder_wait(r->rec.recorder, SIGNAL_LOOK_MS))
			if (look_signalled(signals))
				return;
	}
}

/* A record without a picture in it is no success: why is said as `list` says it. */
static int record_vain(const struct record *r)
{
	struct board *board = fleet_board(r->look.fleet);

	look_complain(&r->look, board, false);
	board_unref(board);
	cli_complain("no source answered: the record holds no picture");
	return EXIT_CODE_NO_SOURCE;
}

static int record_end(struct record *r, const char *path)
{
	struct err err = { 0 };
	int64_t bytes = 0;
	int rc = recording_stop(&r->rec, &bytes, &err);

	/* A reader that went away wants no more, which is no failure. */
	if (rc == ERR_CANCELLED)
		return EXIT_CODE_OK;
	if (rc == ERR_LIMIT)
		cli_complain("%s", err.text);
	else if (rc)
		return cli_fail(EXIT_CODE_FAILED, &err);
	if (strcmp(path, "-") != 0)
		cli_complain("recorded %" PRId64 " bytes; baton replay shows them", bytes);
	return r->answered ? EXIT_CODE_OK : record_vain(r);
}

static int record_run(struct cli *cli)
{
	struct recorder_options options = {
		.path = cli->args[0], .force = cli->force, .redact = cli->redact, .most = cli->most
	};
	struct record r = { .answered = false };
	struct err err = { 0 };
	int signals = look_signals();
	int code = look_open(&r.look, cli, false, false, NULL);

	if (code)
		return code;
	if (recording_start(&r.rec, r.look.settings, &options, &err)) {
		look_close(&r.look);
		return cli_fail(EXIT_CODE_FAILED, &err);
	}
	look_start(&r.look);
	if (r.look.drive)
		record_drive(&r, signals, drive_end_ms(&r.look, cli));
	else
		record_loop(&r, signals, strcmp(cli->args[0], "-") == 0 ? STDOUT_FILENO : -1,
			cli->for_ms ? clock_mono_ms(&clock_system) + cli->for_ms : INT64_MAX);
	record_board(&r);
	code = record_end(&r, cli->args[0]);
	look_close(&r.look);
	close(signals);
	return code;
}

const struct command cli_command_record = {
	.name = "record",
	.args = "FILE",
	.least = 1,
	.most = 1,
	.completes = "file",
	.summary = "Record what all sources show, until it is stopped.",
	.help = "FILE gets a line for each thing that changes: rows with their state and findings, "
		"events, acts of this machine's audit, the sources' health. - is standard output. "
		"It "
		"ends at SIGINT, SIGTERM, after --for, or before the file is larger than --most; a "
		"reader of standard output that stands still is waited for a second then, and "
		"that it stood still is in the record when it goes on. "
		"The "
		"file has mode 0600, holds no secret of a source, and is synced to the disk every "
		"few seconds; one that is there is replaced only with --force. It holds names and "
		"queries: --redact replaces them, so that it can be sent to somebody. baton "
		"replay, and --replay of list, show, check and watch, show it. With --sim it holds "
		"a built-in fleet from its begin on, by the fleet's own time, for which nobody "
		"waits: until --at or for --for, whichever ends first. Where no source "
		"answered in all that time, why is on standard error, and the exit code is 69.",
	.takes =
		TAKES_SOURCES | TAKES_SIM | TAKES(FOR) | TAKES(MOST) | TAKES(REDACT) | TAKES(FORCE),
	.run = record_run,
};
