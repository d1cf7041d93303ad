#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/vclock.h"
#include "control/fleet.h"
#include "control/session.h"
#include "control/settings.h"
#include "model/record.h"
#include "source/replay.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A record of anybody's: opened, and every source of it shown at its beginning and its end. */

static const char head[] = "{\"t\":0,\"line\":\"record\",\"at\":\"2026-01-02T03:04:05.000000Z\","
			   "\"format\":\"baton-record\","
			   "\"version\":1,\"sources\":[{\"name\":\"a\",\"kind\":\"postgres\"},{"
			   "\"name\":\"b\",\"kind\":\"x\"}],"
			   "\"roles\":[{\"name\":\"r\",\"witnesses\":[\"a/x\",\"b\"]}]}\n";

static void take_line(void *arg, const char *text, size_t len)
{
	/* What is written of what was read is a line of its own, and sanitised. */
	(void)arg;
	if (!len || memchr(text, '\n', len) != text + len - 1 || memchr(text, '\x1b', len))
		abort();
}

static void write_again(const struct board *board, const struct settings *settings)
{
	struct record_writer w;
	size_t i;

	record_init(&w, board, take_line, NULL, NULL);
	record_head(&w, board, &settings->thresholds, "fuzz");
	for (i = 0; i < board->n_snapshots; i++)
		record_snapshot(&w, board, i, NULL);
	record_verdicts(&w, board, NULL);
	record_release(&w);
}

static void show(const struct replay *replay, int64_t at_ms)
{
	struct settings *settings = settings_of_replay(replay);
	struct fleet_options options = { .one_shot = true, .replay = replay };
	struct event *events[16];
	struct vclock clock;
	struct fleet *fleet;
	struct board *board;
	uint64_t seq = 0;
	size_t n;

	vclock_init(&clock, &clock_system, replay_epoch_us(replay), at_ms);
	options.clock = &clock.source;
	fleet = fleet_new(settings, &options);
	fleet_start(fleet);
	fleet_wait_settled(fleet, clock_mono_ms(&clock_system) + 60000);
	board = fleet_board(fleet);
	write_again(board, settings);
	for (n = fleet_events(fleet, &seq, events, 16); n > 0; n--)
		free(events[n - 1]);
	board_unref(board);
	if (!fleet_stop(fleet, 60000))
		abort();
	fleet_free(fleet);
	settings_free(settings);
	vclock_release(&clock);
}

static void try_file(const char *path)
{
	struct replay *replay = NULL;

	if (replay_open(path, &replay, NULL) != 0)
		return;
	show(replay, REPLAY_START_MS);
	show(replay, replay_last_ms(replay));
	replay_next_ms(replay, INT64_MIN);
	replay_finding_ms(replay, replay_last_ms(replay), true);
	replay_close(replay);
}

static void try_bytes(const char *begin, size_t begin_size, const uint8_t *data, size_t size)
{
	int fd = memfd_create("record", MFD_CLOEXEC);
	char path[64];

	if (fd < 0 || write(fd, begin, begin_size) != (ssize_t)begin_size ||
		write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	try_file(path);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool ready;

	if (!ready)
		ready = text_init_locale() || true;
	try_bytes("", 0, data, size);
	/* Behind a head that is right, so that the fuzzer gets to what follows. */
	try_bytes(head, sizeof(head) - 1, data, size);
	return 0;
}
