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
	FD_COUNT
};

static void record_board(struct look *look, struct recording *rec)
{
	struct board *board = fleet_board(look->fleet);

	recording_take(rec, look->fleet, board);
	board_unref(board);
}

/* Until a signal, the time that was given, or an end of its own. */
static void record_loop(struct look *look, struct recording *rec, int signals, int64_t end_ms)
{
	struct pollfd fds[FD_COUNT] = {
		[FD_SIGNAL] = { .fd = signals, .events = POLLIN },
		[FD_ENDED] = { .fd = recorder_fd(rec->recorder), .events = POLLIN },
		[FD_FLEET] = { .fd = -1, .events = POLLIN },
	};
	int64_t taken_ms = INT64_MIN / 2;

	while (clock_mono_ms(&clock_system) < end_ms) {
		bool early = clock_mono_ms(&clock_system) - taken_ms < BOARD_EVERY_MS;
		int64_t next = early ? taken_ms + BOARD_EVERY_MS : INT64_MAX;

		fds[FD_FLEET].fd = early ? -1 : fleet_fd(look->fleet);
		if (poll(fds, FD_COUNT,
			    clock_wait_ms(&clock_system, next < end_ms ? next : end_ms)) < 0 &&
			errno != EINTR)
			return;
		if (fds[FD_SIGNAL].revents || fds[FD_ENDED].revents)
			return;
		if (early || !fds[FD_FLEET].revents)
			continue;
		record_board(look, rec);
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
static void record_drive(struct look *look, struct recording *rec, int signals, int64_t end_ms)
{
	bool more = true;

	while (more && !recorder_status(rec->recorder, NULL) && !look_signalled(signals)) {
		struct pollfd fd = { .fd = fleet_fd(look->fleet), .events = POLLIN };

		more = drive_step(look->drive, end_ms);
		if (!more)
			drive_to(look->drive, end_ms);
		if (poll(&fd, 1, 0) <= 0)
			continue;
		record_board(look, rec);
		while (!recorder_wait(rec->recorder, SIGNAL_LOOK_MS))
			if (look_signalled(signals))
				return;
	}
}

static int record_end(struct recording *rec, const char *path)
{
	struct err err = { 0 };
	int64_t bytes = 0;
	int rc = recording_stop(rec, &bytes, &err);

	/* A reader that went away wants no more, which is no failure. */
	if (rc == ERR_CANCELLED)
		return EXIT_CODE_OK;
	if (rc == ERR_LIMIT)
		cli_complain("%s", err.text);
	else if (rc)
		return cli_fail(EXIT_CODE_FAILED, &err);
	if (strcmp(path, "-") != 0)
		cli_complain("recorded %" PRId64 " bytes; baton replay shows them", bytes);
	return EXIT_CODE_OK;
}

static int record_run(struct cli *cli)
{
	struct recorder_options options = {
		.path = cli->args[0], .force = cli->force, .redact = cli->redact, .most = cli->most
	};
	struct recording rec;
	struct err err = { 0 };
	struct look look;
	int signals = look_signals();
	int code = look_open(&look, cli, false, false, NULL);

	if (code)
		return code;
	if (recording_start(&rec, look.settings, &options, &err)) {
		look_close(&look);
		return cli_fail(EXIT_CODE_FAILED, &err);
	}
	look_start(&look);
	if (look.drive)
		record_drive(&look, &rec, signals, drive_end_ms(&look, cli));
	else
		record_loop(&look, &rec, signals,
			cli->for_ms ? clock_mono_ms(&clock_system) + cli->for_ms : INT64_MAX);
	record_board(&look, &rec);
	code = record_end(&rec, cli->args[0]);
	look_close(&look);
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
		"waits: until --at or for --for, whichever ends first.",
	.takes =
		TAKES_SOURCES | TAKES_SIM | TAKES(FOR) | TAKES(MOST) | TAKES(REDACT) | TAKES(FORCE),
	.run = record_run,
};
