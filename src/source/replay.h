#ifndef SOURCE_REPLAY_H
#define SOURCE_REPLAY_H

#include "base/err.h"
#include "model/journal.h"
#include "model/role.h"
#include "model/thresholds.h"
#include "source/source.h"

/*
 * A record (doc/record-format.md) that is read back. Opening walks over the whole file once and
 * notes where what stands; rows are read when they are asked for. After that everything here may be
 * called from any thread. The file may be anybody's: lines are capped, and all texts are sanitised
 * again.
 *
 * Moments are on the record's clock: REPLAY_START_MS is its beginning.
 */
struct replay;

enum {
	REPLAY_START_MS = 1000 * 1000 * 1000, /* so that no moment before it is negative */
};

/* What the record says of one source. Borrowed. */
struct replay_source {
	const char *name, *kind;
	const char *environment; /* NULL: not said */
	bool protect;
};

/* 0, or ERR_IO, ERR_PROTO (no record), ERR_UNSUPPORTED (of a newer version), with a sentence. */
int replay_open(const char *path, struct replay **ret, struct err *err);
void replay_close(struct replay *r);

/* The wall clock at the moment 0 of the record's clock. */
int64_t replay_epoch_us(const struct replay *r);
int64_t replay_last_ms(const struct replay *r);
/* Whether it is of a built-in fleet. */
bool replay_is_sim(const struct replay *r);
/* What is wrong with its end, or was passed over, in a sentence; NULL: it is whole. */
const char *replay_trouble(const struct replay *r);

size_t replay_n_sources(const struct replay *r);
const struct replay_source *replay_source_at(const struct replay *r, size_t i);
/* The roles, borrowed. */
const struct role *replay_roles(const struct replay *r, size_t *ret_n);
const struct thresholds *replay_thresholds(const struct replay *r);

/* The moment of the first line that shows something after another; INT64_MAX: none. */
int64_t replay_next_ms(const struct replay *r, int64_t after_ms);
/* Where a finding begins after a moment, or the last one before it; INT64_MAX: nowhere. */
int64_t replay_finding_ms(const struct replay *r, int64_t at_ms, bool back);

/* The events up to a moment: as fleet_events; *seq counts them. Who was told none yet (0) gets the
 * last `most`. */
size_t replay_events(const struct replay *r, int64_t now_ms, uint64_t *seq, struct event **ret,
	size_t max, size_t most);
/* Whether names were replaced in it, and acts left out. */
bool replay_is_redacted(const struct replay *r);
/* How many of the audit's lines came up to a moment. */
size_t replay_n_acts(const struct replay *r, int64_t now_ms);
/* Calls each with the last `most` of them, oldest first; their texts are sanitised again. What is
 * no JSON object is left out. */
void replay_acts(const struct replay *r, int64_t now_ms, size_t most,
	void (*each)(void *arg, const char *line), void *arg);
/* The verdict on a role, and across a source, at a moment: one reference; NULL: none. */
struct row *replay_role(const struct replay *r, int64_t now_ms, const char *name);
struct row *replay_cross(const struct replay *r, int64_t now_ms, const char *source);

/*
 * The kind of a recorded source. It is in no config: its source_config is made from the record,
 * with `given` a struct replay_given.
 */
extern const struct source_ops source_replay;

struct replay_given {
	const struct replay *replay;
	size_t source;
};

#endif
