#ifndef MODEL_RECORD_H
#define MODEL_RECORD_H

#include "base/str.h"
#include "model/board.h"
#include "model/journal.h"

struct redact;

/*
 * The record: what a fleet showed, as JSON Lines (doc/record-format.md). Here is what writes it,
 * pure: boards and events in, lines out. Who keeps the file is show/recorder.h; who reads it,
 * source/replay.h.
 */
enum {
	RECORD_VERSION = 1,
	RECORD_LINE_MAX = 16 * 1024 * 1024, /* bytes: a longer line is not read */
	RECORD_ROLES_MAX = 1000,
	RECORD_SOURCES_MAX = 1000,
};

struct record_writer {
	/* Gets each line, with the line break; the text is borrowed. */
	void (*line)(void *arg, const char *text, size_t len);
	void *arg;
	struct redact *redact; /* NULL: names stay */
	int64_t start_ms, start_us;
	int64_t now_ms, now_us; /* of what is being written */
	struct str text, was;   /* scratch: the line; a member as it was */
	uint32_t most;          /* claims, runs, details of one thing; UINT32_MAX */
	bool cut;               /* something of this line was left out for that */
	bool comma;
};

/* Begins a record whose moments count from that board's. */
void record_init(struct record_writer *w, const struct board *first,
	void (*line)(void *arg, const char *text, size_t len), void *arg, struct redact *redact);
void record_release(struct record_writer *w);

/* The first line: who writes, when it began, which sources and roles there are. */
void record_head(struct record_writer *w, const struct board *board,
	const struct thresholds *thresholds, const char *program);
/*
 * What source `i` of the board shows: everything (before NULL), or what differs from the snapshot
 * before. Nothing but a sign of life, where its rows are only known to be true for longer.
 */
void record_snapshot(struct record_writer *w, const struct board *board, size_t i,
	const struct snapshot *before);
/* The verdicts on the roles and across the sources, as far as they differ from those before
 * (NULL: all). */
void record_verdicts(
	struct record_writer *w, const struct board *board, const struct board *before);
void record_event(struct record_writer *w, const struct event *event);
/* A line of the audit, which is a JSON object; what is no such line is left out. Where names are
 * replaced it is not written, as it holds sentences. */
void record_act(struct record_writer *w, const char *audit_line);
/* The last line: why it ends, in a word: "stopped", "full". */
void record_end(struct record_writer *w, const char *why);

/* Of the details of type MS, those that are moments of our monotonic clock. */
bool record_is_moment(enum detail_id id);

#endif
