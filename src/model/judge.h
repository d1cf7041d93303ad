#ifndef MODEL_JUDGE_H
#define MODEL_JUDGE_H

#include "model/memory.h"
#include "model/role.h"
#include "model/snapshot.h"
#include "model/thresholds.h"
#include "model/verdict.h"

/* Everything that a judgement may rest on. Pure: the clocks are given, nothing is read or changed.
 */
struct judge_input {
	const struct singleton *s;
	const struct singleton *self; /* the source's own facts; NULL while unknown */
	const struct remembered
		*memory; /* what was observed of this singleton until now; NULL: nothing */
	bool observed;   /* the last that the memory observed are these very facts */
	const struct thresholds *thresholds;
	const struct role *role; /* that it is a witness of; NULL */
	bool all_stale; /* most of this source's leases are past their time: judge_source said so */
	int64_t now_ms; /* our monotonic clock */
	int64_t now_us; /* our wall clock */
	int64_t seen_ms; /* our monotonic clock, up to when the facts are known to be true: now,
			    unless the source fails; TIME_UNKNOWN: now. That nothing was seen to
			    change since then proves nothing */
};

/* Fills a begun draft with the state, the findings and the moment when time alone may change them.
 */
void judge_singleton(const struct judge_input *in, struct verdict_draft *out);

/*
 * Notes in the memory what was judged of a row: its state, and which two of a CronJob were alive at
 * once, since their objects may be gone with the next picture. After judge_singleton.
 */
void judge_note(struct memory *m, struct remembered *r, const struct singleton *s,
	const struct verdict_draft *judged, int64_t now_us);

/*
 * A digest of what the verdicts of a source's rows rest on besides their own facts, their memory
 * and the time: when it differs from the last one, all rows must be judged again.
 */
uint64_t judge_context(const struct singleton *self, bool all_stale);

/* The findings about a source itself, from its facts and what is remembered of it; pic gives the
 * rows for counts. */
struct judge_source_input {
	const struct singleton *self;
	const struct snapshot *before; /* the last snapshot; NULL */
	const struct picture *pic;
	struct memory *memory; /* of its rows; NULL: nothing */
	const struct thresholds *thresholds;
	const struct hidden *hidden;
	size_t n_hidden;
	int64_t now_ms, now_us;
	int64_t seen_ms; /* as in struct judge_input */
};
void judge_source(
	const struct judge_source_input *in, struct verdict_draft *out, bool *ret_all_stale);

/*
 * What only shows when the sources are looked at together: adds to a begun draft the findings for
 * source `which` of the n (two-primaries: writable servers with one system_identifier and different
 * timelines or addresses). A source that was not read yet has no self.
 */
void judge_cross(const struct snapshot *const *snapshots, size_t n, size_t which,
	const struct thresholds *thresholds, int64_t now_us, struct verdict_draft *out);

#endif
