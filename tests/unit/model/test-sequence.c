#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/text.h"
#include "model/judge.h"
#include "tests/unit/model/facts.h"
#include "tests/unit/unit.h"

/*
 * Long random lives of a few elections, played through picture, memory and judge as a session does,
 * with restarts in between, against a plain model of what must hold:
 *
 * - a token that is not above the highest ever seen is an alarm at once, whatever happened between;
 * - what was STALE is HELD again only after a reading that shows a later end, or with another
 * holder;
 * - no row shows a verdict that a judgement now would not give: what changes is judged again in
 * time.
 */
enum {
	ELECTIONS = 5,
	STEPS = 400,
	LIVES = 60,
};

struct election {
	bool held;
	int holder; /* a number, for its name */
	int serial; /* of its key */
	int64_t token;
	int64_t deadline_ms, read_ms;
	int64_t highest; /* ever shown to the memory */
	bool shown;      /* at all */
	int shown_serial;
	enum state last;
	int64_t last_deadline_ms;
	int last_serial;
};

struct life {
	uint64_t seed;
	struct election all[ELECTIONS];
	struct picture picture;
	struct memory memory;
	struct singleton *self;
	uint64_t context;
	struct draft *draft;
	struct verdict_draft out;
	struct thresholds limits;
	int64_t now_ms, now_us;
	int64_t term_changed_ms;
	int next_serial;
	int64_t revision;
	int waiting; /* a bit each: somebody waits */
};

static void put_election(struct life *l, int i)
{
	struct election *e = &l->all[i];
	char path[16], name[16], key[32];

	snprintf(path, sizeof(path), "e%d", i);
	draft_begin(l->draft, MECH_ETCD_ELECTION, "s", path, strlen(path));
	if (e->held) {
		snprintf(name, sizeof(name), "n%d", e->holder);
		snprintf(key, sizeof(key), "k%d", e->serial);
		draft_token(l->draft, TOKEN_CREATE_REVISION, e->token);
		draft_lease(l->draft, 15000, e->deadline_ms, e->read_ms);
		draft_claim(l->draft, CLAIM_HOLDER, name, strlen(name), key);
		draft_int(l->draft, DETAIL_LEASE, e->serial + 1);
		if (l->waiting & 1 << i) {
			draft_claim(l->draft, CLAIM_WAITER, "w", 1, "kw");
			draft_int(l->draft, DETAIL_LEASE, 99999);
		}
	} else {
		draft_int(l->draft, DETAIL_CONFIGURED, 1);
	}
	picture_put(&l->picture, draft_finish(l->draft));
}

static void put_self(struct life *l)
{
	draft_begin(l->draft, MECH_SOURCE, "s", "", 0);
	draft_int(l->draft, DETAIL_REVISION, l->revision);
	if (l->term_changed_ms != TIME_UNKNOWN)
		draft_int(l->draft, DETAIL_TERM_CHANGED, l->term_changed_ms);
	singleton_unref(l->self);
	l->self = draft_finish(l->draft);
}

static void judge_one(struct life *l, const struct singleton *s, const struct remembered *r)
{
	const struct judge_input in = {
		.s = s,
		.self = l->self,
		.memory = r,
		.thresholds = &l->limits,
		.now_ms = l->now_ms,
		.now_us = l->now_us,
	};

	verdict_draft_begin(&l->out);
	judge_singleton(&in, &l->out);
}

static void judge_slot(struct life *l, size_t i)
{
	struct picture_slot *slot = &l->picture.slots[i];
	struct remembered *r = memory_find(&l->memory, slot->s->id);

	if (picture_is_dirty(&l->picture, i))
		r = memory_observe(&l->memory, slot->s, l->now_ms, l->now_us, NULL);
	judge_one(l, slot->s, r);
	memory_note_state(&l->memory, r, l->out.v.state, l->now_us);
	picture_judged(&l->picture, i, row_new(singleton_ref(slot->s), &l->out), l->out.next_ms);
}

static void poll_once(struct life *l, bool all)
{
	ptrdiff_t slot;
	uint64_t context;
	size_t pos = 0;
	int i;

	for (i = 0; all && i < ELECTIONS; i++)
		put_election(l, i);
	if (all)
		put_self(l);
	context = judge_context(l->self, false);
	if (context != l->context)
		picture_redo(&l->picture, l->now_ms);
	l->context = context;
	while ((slot = picture_next_due(&l->picture, &pos, l->now_ms)) >= 0)
		judge_slot(l, (size_t)slot);
}

/* ---- what happens ---- */

static void take_over(struct life *l, struct election *e)
{
	int64_t lower = 1 + (int64_t)unit_pick(&l->seed, (size_t)l->revision);

	e->held = true;
	e->holder = (int)unit_pick(&l->seed, 4);
	e->serial = ++l->next_serial;
	e->token = unit_pick(&l->seed, 6) ? ++l->revision : lower;
	e->deadline_ms = l->now_ms + 14000;
	e->read_ms = l->now_ms;
}

static void read_lease(struct life *l, struct election *e)
{
	e->read_ms = l->now_ms;
	if (unit_pick(&l->seed, 2))
		e->deadline_ms = l->now_ms + (int64_t)unit_pick(&l->seed, 15000);
}

static void restart(struct life *l)
{
	struct str bytes;

	str_init(&bytes, 1 << 20);
	memory_write(&l->memory, &bytes);
	memory_release(&l->memory);
	memory_init(&l->memory);
	assert_int_equal(memory_read(&l->memory, bytes.s, bytes.len, NULL), 0);
	str_release(&bytes);
	picture_release(&l->picture);
	picture_init(&l->picture);
}

static void happen(struct life *l)
{
	int i = (int)unit_pick(&l->seed, ELECTIONS);
	struct election *e = &l->all[i];

	switch (unit_pick(&l->seed, 12)) {
	case 0:
	case 1:
		take_over(l, e);
		break;
	case 2:
		e->held = false;
		break;
	case 3:
		restart(l);
		break;
	case 4:
		l->term_changed_ms = l->now_ms;
		break;
	case 5:
		l->waiting ^= 1 << i;
		break;
	default:
		read_lease(l, e);
	}
}

/* ---- what must hold ---- */

static const struct finding *finding_of(const struct row *row, enum finding_code code)
{
	size_t i;

	for (i = 0; i < row->v.n_findings; i++)
		if (row->v.findings[i].code == code)
			return &row->v.findings[i];
	return NULL;
}

static void check_token(struct life *l, struct election *e, const struct row *row)
{
	const struct finding *f = finding_of(row, FINDING_TOKEN_REGRESS);

	if (!e->held || (e->shown && e->serial == e->shown_serial))
		return;
	if (e->shown && e->token <= e->highest) {
		if (!f || f->severity != SEVERITY_CRIT)
			fail_msg("seed %llu: token %lld after %lld is no alarm",
				(unsigned long long)l->seed, (long long)e->token,
				(long long)e->highest);
	} else if (!e->shown && f) {
		fail_msg("an alarm at the first sight");
	}
	if (!e->shown || e->token > e->highest)
		e->highest = e->token;
	e->shown = true;
	e->shown_serial = e->serial;
}

static void check_stale(struct life *l, struct election *e, const struct row *row)
{
	enum state state = row->v.state;

	if (e->last == STATE_STALE && (state == STATE_HELD || state == STATE_CONTENDED) &&
		e->serial == e->last_serial && e->deadline_ms <= e->last_deadline_ms)
		fail_msg("seed %llu: STALE became %s without a renewal",
			(unsigned long long)l->seed, state_word(state)->word);
	e->last = state;
	e->last_serial = e->serial;
	e->last_deadline_ms = e->deadline_ms;
}

/* The verdict that stands on the board, and the one that would be given now. */
static void check_fresh(struct life *l, const struct picture_slot *slot)
{
	const struct verdict *v = &slot->row->v;
	size_t i;

	judge_one(l, slot->s, memory_find(&l->memory, slot->s->id));
	if (l->out.v.state != v->state || l->out.n_findings != v->n_findings ||
		l->out.v.needs_attention != v->needs_attention)
		fail_msg("seed %llu: %s stands as %s with %zu findings, and is %s with %zu",
			(unsigned long long)l->seed, slot->s->id, state_word(v->state)->word,
			(size_t)v->n_findings, state_word(l->out.v.state)->word, l->out.n_findings);
	for (i = 0; i < v->n_findings; i++)
		assert_true(verdict_has(&l->out, v->findings[i].code));
}

static void check_all(struct life *l)
{
	int i;

	for (i = 0; i < ELECTIONS; i++) {
		struct picture_slot *slot;
		char id[16];

		snprintf(id, sizeof(id), "s/e%d", i);
		slot = picture_find(&l->picture, id);
		if (!slot)
			continue;
		check_fresh(l, slot);
		check_token(l, &l->all[i], slot->row);
		check_stale(l, &l->all[i], slot->row);
	}
}

static void live(uint64_t seed)
{
	struct life l = { .seed = seed,
		.now_ms = 1000000,
		.now_us = INT64_C(1790000000000000),
		.term_changed_ms = TIME_UNKNOWN,
		.revision = 100 };
	int step, i;

	l.draft = draft_new();
	l.limits = thresholds_default();
	verdict_draft_init(&l.out);
	picture_init(&l.picture);
	memory_init(&l.memory);
	for (i = 0; i < ELECTIONS; i++)
		l.all[i].last = STATE_UNKNOWN;
	for (step = 0; step < STEPS; step++) {
		int64_t pass = (int64_t)unit_pick(&l.seed, unit_pick(&l.seed, 9) ? 3000 : 900000);

		l.now_ms += pass;
		l.now_us += pass * 1000;
		/* Sometimes only time passes: no facts come, and verdicts change by themselves. */
		if (unit_pick(&l.seed, 4)) {
			happen(&l);
			poll_once(&l, true);
		} else {
			poll_once(&l, false);
		}
		check_all(&l);
	}
	picture_release(&l.picture);
	memory_release(&l.memory);
	singleton_unref(l.self);
	verdict_draft_release(&l.out);
	draft_free(l.draft);
}

static void random_lives(void **state)
{
	uint64_t seed;

	(void)state;
	text_init_locale();
	for (seed = 1; seed <= LIVES; seed++)
		live(seed * UINT64_C(0x9e3779b97f4a7c15));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_lives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
