#ifndef TESTS_GOLDEN_MAKER_H
#define TESTS_GOLDEN_MAKER_H

/* How the boards of boards.h are made: a source, row by row. */

#include "base/mem.h"
#include "model/draft.h"
#include "model/snapshot.h"

#include <string.h>

#define MINUTE_US INT64_C(60000000)
#define HOUR_US   (60 * MINUTE_US)

/* A source under construction. */
struct maker {
	struct picture pic;
	struct draft *draft;
	struct verdict_draft verdict;
	const char *source;
	int64_t now_ms, now_us;
};

static inline void maker_begin(struct maker *k, const char *source, int64_t now_ms, int64_t now_us)
{
	*k = (struct maker){ .source = source, .now_ms = now_ms, .now_us = now_us };
	picture_init(&k->pic);
	k->draft = draft_new();
	verdict_draft_init(&k->verdict);
}

/* Begins a row: state, since how many seconds, whether it needs a person. Claims and findings
 * follow, then row_put. */
static inline void row_begin(struct maker *k, enum mechanism mechanism, const char *path,
	enum state state, int64_t since_s, bool need)
{
	draft_begin(k->draft, mechanism, k->source, path, strlen(path));
	verdict_draft_begin(&k->verdict);
	k->verdict.v.state = state;
	k->verdict.v.needs_attention = need;
	k->verdict.v.state_since_us = k->now_us - since_s * 1000000;
	k->verdict.v.first_seen_us = k->verdict.v.state_since_us;
	k->verdict.v.known_since_us = k->verdict.v.state_since_us;
}

static inline void claim(
	struct maker *k, enum claim_kind kind, const char *identity, const char *key)
{
	draft_claim(k->draft, kind, identity, strlen(identity), key);
}

static inline void token(struct maker *k, int64_t value)
{
	draft_token(k->draft, TOKEN_CREATE_REVISION, value);
	k->verdict.v.has_highest = true;
	k->verdict.v.highest_token = value;
}

static inline void lease(struct maker *k, int64_t granted_s, int64_t left_ms)
{
	draft_lease(k->draft, granted_s * 1000, k->now_ms + left_ms, k->now_ms);
}

static inline void row_put(struct maker *k)
{
	struct singleton *s = draft_finish(k->draft);
	struct picture_slot *slot;

	picture_put(&k->pic, s);
	slot = picture_find(&k->pic, s->id);
	picture_judged(&k->pic, (size_t)(slot - k->pic.slots),
		row_new(singleton_ref(s), &k->verdict), INT64_MAX);
}

static inline struct snapshot *maker_end(struct maker *k, const struct snapshot *head)
{
	struct snapshot *snap = picture_publish(&k->pic, head);

	picture_release(&k->pic);
	draft_free(k->draft);
	verdict_draft_release(&k->verdict);
	return snap;
}

/* boards-jobs.c */
void hostile_job(struct maker *k, const char *text);
struct snapshot *make_jobs(int64_t now_ms, int64_t now_us);
struct snapshot *make_far_jobs(int64_t now_ms, int64_t now_us);
struct snapshot *make_many_jobs(size_t n, int64_t now_ms, int64_t now_us);

#endif
