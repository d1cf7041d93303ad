#ifndef SHOW_RECORDER_H
#define SHOW_RECORDER_H

#include "base/err.h"
#include "model/board.h"
#include "model/journal.h"

struct thresholds;

/*
 * Keeps a record (model/record.h) of what a fleet shows, in a file. A thread of its own writes, so
 * that whoever hands over a board never waits for a disk; boards that come faster than it writes
 * are taken together. Each moment is handed to the system as it is written, and synced to the disk
 * every few seconds.
 */
struct recorder;

enum {
	RECORDER_SYNC_MS = 3000,                /* at most so much is lost when the machine dies */
	RECORDER_WHOLE_MS = 5 * 60 * 1000,      /* a whole picture is not written again before */
	RECORDER_WHOLE_LATEST_MS = 3600 * 1000, /* and at the latest then */
};

struct recorder_options {
	const char *path; /* "-": standard output */
	bool force;       /* replace a file that is there */
	bool redact;      /* replace names */
	int64_t most;     /* bytes; 0: no bound */
	const char *program;
	const struct thresholds *thresholds; /* copied */
};

/* Makes the file, mode 0600, and starts the thread. ERR_IO with a sentence. */
int recorder_start(const struct recorder_options *options, struct recorder **ret, struct err *err);
/* Records a board, and the events that came up to it; takes a reference, and over the n events. */
void recorder_take(struct recorder *r, const struct board *board, struct event **events, size_t n);
/* Waits until all that was handed over is written, but no longer than so: for who does not want
 * boards taken together. False: it is not yet. */
bool recorder_wait(struct recorder *r, int64_t most_ms);
/* A line of the audit, copied; it is recorded with the next board, or at the end. */
void recorder_act(struct recorder *r, const char *line);
/*
 * 0 while it records; else why it ended by itself: ERR_IO; ERR_LIMIT: the bound was reached;
 * ERR_CANCELLED: nobody reads standard output any more.
 */
int recorder_status(struct recorder *r, struct err *err);
/* Readable once it ended by itself: for poll(2). */
int recorder_fd(const struct recorder *r);
/* Writes what waits and the last line, and frees it. A reader of standard output that stands still
 * is waited for a second, and one that takes little for ten. *ret_bytes (may be NULL): how many
 * were written. Returns as recorder_status.
 */
int recorder_stop(struct recorder *r, int64_t *ret_bytes, struct err *err);

#endif
