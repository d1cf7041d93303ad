#include "config.h"

#include "model/identity.h"
#include "model/memory-table.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

enum {
	RENEWAL_MS = 500, /* a deadline that moves less was only read more exactly */
};

const char *remembered_key(const struct remembered *r)
{
	return r->holder;
}

const char *remembered_identity(const struct remembered *r)
{
	return r->holder ? r->holder + r->identity_at : NULL;
}

const char *remembered_client(const struct remembered *r)
{
	return r->holder ? r->holder + r->client_at : NULL;
}

/* ---- knowing a holder again ---- */

static const char *claim_client(const struct claim *c)
{
	return claim_text(c, DETAIL_CLIENT, "");
}

static bool same_text(const char *kept, const char *seen)
{
	return strncmp(kept, seen, REMEMBERED_TEXT_MOST) == 0;
}

static bool same_stem(const char *a, const char *b)
{
	size_t len = identity_stem(a);

	return a[len] && b[len] && identity_stem(b) == len && memcmp(a, b, len) == 0;
}

static bool same_process(
	const struct singleton *s, const char *identity, const char *client, const struct claim *c)
{
	if (s->mechanism == MECH_K8S_LEASE && same_stem(identity, claim_identity(c)))
		return true;
	return same_text(identity, claim_identity(c)) && same_text(client, claim_client(c));
}

/* Of several holders of a shared lock, the one that we knew stays ours while it is there. */
static const struct claim *known_holder(const struct remembered *r, const struct singleton *s)
{
	const struct claim *c, *same = NULL, *first = NULL;
	uint32_t pos = 0;

	while ((c = singleton_claim(s, CLAIM_HOLDER, &pos)) != NULL) {
		if (!first)
			first = c;
		if (!r->holder)
			break;
		if (same_text(remembered_key(r), claim_key(c)))
			return c;
		if (!same && same_process(s, remembered_identity(r), remembered_client(r), c))
			same = c;
	}
	return same ? same : first;
}

static uint64_t queue_bits(const char *key)
{
	static const uint64_t seed[2] = { 7, 9 };
	uint64_t hash = map_siphash(seed, key, strnlen(key, REMEMBERED_TEXT_MOST));

	return UINT64_C(1) << (hash & 63) | UINT64_C(1) << (hash >> 6 & 63);
}

static uint64_t queue_of(const struct singleton *s)
{
	const struct claim *c;
	uint64_t queue = 0;
	uint32_t pos = 0;

	while ((c = singleton_claim(s, CLAIM_WAITER, &pos)) != NULL)
		queue |= queue_bits(claim_key(c));
	return queue;
}

static bool was_waiting(const struct remembered *r, const struct claim *c)
{
	uint64_t bits = queue_bits(claim_key(c));

	return (r->queue & bits) == bits;
}

/* ---- observing ---- */

static void note_before(const struct remembered *r, struct observed *o)
{
	const char *identity = remembered_identity(r);

	if (!identity)
		return;
	o->before_since_us = r->holder_since_us;
	strncpy(o->before, identity, sizeof(o->before) - 1);
	/* Not in the middle of a character. */
	if (strlen(identity) >= sizeof(o->before)) {
		size_t len = sizeof(o->before) - 1;

		while (len && ((unsigned char)identity[len] & 0xc0) == 0x80)
			len--;
		o->before[len] = '\0';
	}
}

static void note_change(struct remembered *r, int64_t now_ms, int64_t now_us)
{
	r->last_change_us = now_us;
	r->last_change_ms = now_ms;
}

/* The fencing token of another holder: it must be higher than all before. */
bool remembered_other_object(const struct remembered *r, enum mechanism mechanism, const char *key)
{
	const char *before = remembered_key(r);
	size_t len = before ? strcspn(before, "/") : 0;

	return mechanism == MECH_K8S_LEASE && before &&
	       (len != strcspn(key, "/") || memcmp(before, key, len) != 0);
}

/* anew: of another object, whose numbers are not comparable. */
static void note_regress(
	struct remembered *r, int64_t token, bool anew, int64_t now_us, struct observed *o)
{
	struct remembered_past *p = remembered_make_past(r);

	p->token_before = o->token_before = r->highest_token;
	p->token_after = o->token_after = token;
	p->regress_us = now_us;
	p->reissued = anew;
	o->regressed = true;
}

static void observe_token(struct remembered *r, const struct singleton *s, const struct claim *c,
	int64_t now_us, struct observed *o)
{
	bool anew;

	if (!s->has_token)
		return;
	o->token_before = r->has_highest ? r->highest_token : 0;
	o->token_after = s->token;
	anew = remembered_other_object(r, s->mechanism, claim_key(c));
	if (r->has_highest && s->token <= r->highest_token)
		note_regress(r, s->token, anew, now_us, o);
	/* What another object counts begins anew: its numbers rise from there. */
	if (!r->has_highest || s->token > r->highest_token || anew)
		r->highest_token = s->token;
	r->has_highest = true;
}

static void observe_session(struct remembered *r, int64_t now_us)
{
	struct remembered_past *p = remembered_make_past(r);

	if (!p->sessions++)
		p->first_session_us = now_us;
	p->session_since_us = now_us;
}

/* When it was last seen as it is remembered: what did not change since is not observed anew. */
static int64_t last_confirmed(const struct memory *m, const struct remembered *r)
{
	return r->present && m->confirmed_us > r->last_seen_us ? m->confirmed_us : r->last_seen_us;
}

static void observe_other_process(const struct memory *m, struct remembered *r,
	const struct claim *c, int64_t now_ms, int64_t now_us)
{
	struct remembered_past *p = remembered_make_past(r);
	const char *mode = claim_text(c, DETAIL_MODE, "");

	p->changes_us[p->n_changes++ % MEMORY_CHANGES] = now_us;
	p->previous_since_us = r->holder_since_us;
	p->previous_until_us = r->held ? now_us : r->last_change_us;
	p->previous_seen_us = r->held ? last_confirmed(m, r) : TIME_UNKNOWN;
	p->previous_left_ms = TIME_UNKNOWN;
	if (r->held && r->lease_deadline_ms != TIME_UNKNOWN &&
		__builtin_sub_overflow(r->lease_deadline_ms, now_ms, &p->previous_left_ms))
		p->previous_left_ms = TIME_UNKNOWN;
	p->sessions = 0;
	/* Those that share a lock exclude nobody. */
	p->overlap_us = strcmp(mode, "share") == 0 ? TIME_UNKNOWN : now_us;
	remembered_set_previous(p, slice_of(remembered_key(r)), slice_of(remembered_identity(r)),
		slice_of(remembered_client(r)));
}

/* Another key than before, or the first that holds it. */
static void observe_new_holder(const struct memory *m, struct remembered *r,
	const struct singleton *s, const struct claim *c, int64_t now_ms, int64_t now_us,
	struct observed *o)
{
	bool same = r->holder && !was_waiting(r, c) &&
		    same_process(s, remembered_identity(r), remembered_client(r), c);

	note_before(r, o);
	if (same)
		observe_session(r, now_us);
	else if (r->holder)
		observe_other_process(m, r, c, now_ms, now_us);
	o->new_session = same && r->held;
	o->changed_hands = r->holder && !same && r->held;
	observe_token(r, s, c, now_us, o);
	remembered_set_holder(
		r, slice_of(claim_key(c)), slice_of(claim_identity(c)), slice_of(claim_client(c)));
	r->holder_since_us = now_us;
	note_change(r, now_ms, now_us);
}

static void observe_known_holder(struct remembered *r, const struct singleton *s,
	const struct claim *c, int64_t now_ms, int64_t now_us)
{
	if (!r->held) {
		r->holder_since_us = now_us;
		note_change(r, now_ms, now_us);
	}
	/* The same session under another name: renamed by itself, or lent to another client by a
	 * pooler. */
	if (!same_process(s, remembered_identity(r), remembered_client(r), c)) {
		remembered_make_past(r)->renamed_us = now_us;
		remembered_set_holder(r, slice_of(claim_key(c)), slice_of(claim_identity(c)),
			slice_of(claim_client(c)));
	}
	if (s->has_token && (!r->has_highest || s->token > r->highest_token)) {
		r->highest_token = s->token;
		r->has_highest = true;
	}
}

/* Whether the holder before was seen to know that it lost: it queues again, or shares the lock. */
static void observe_overlap(struct remembered *r, const struct singleton *s)
{
	struct remembered_past *p = r->past;
	uint32_t i;

	if (!p || p->overlap_us == TIME_UNKNOWN)
		return;
	for (i = 0; i < s->n_claims; i++) {
		const struct claim *c = &s->claims[i];

		if ((c->kind != CLAIM_FORMER && same_text(p->previous_key, claim_key(c))) ||
			(c->kind == CLAIM_WAITER &&
				same_process(s, p->previous_identity, p->previous_client, c)))
			p->overlap_us = TIME_UNKNOWN;
	}
}

uint64_t lease_record(const struct singleton *s)
{
	static const uint64_t seed[2] = { 11, 13 };
	const struct claim *c = singleton_holder(s);
	int64_t facts[] = { TIME_UNKNOWN, TIME_UNKNOWN, TIME_UNKNOWN, s->has_token, s->token };
	uint64_t hash;
	uint32_t i;

	/* One walk: it is asked for each row, each time. */
	for (i = 0; i < s->n_details; i++) {
		const struct detail *d = &singleton_details(s)[i];

		if (d->hidden)
			continue;
		if (d->id == DETAIL_RENEW_TIME)
			facts[0] = d->i;
		else if (d->id == DETAIL_ACQUIRE_TIME)
			facts[1] = d->i;
		else if (d->id == DETAIL_DURATION)
			facts[2] = d->i;
	}
	hash = map_siphash(seed, facts, sizeof(facts));
	return c ? hash ^ map_siphash(seed, claim_key(c), strlen(claim_key(c))) : hash;
}

/* A Lease tells no time that is ours: that its record is another than before is all that shows. */
static void observe_record(struct remembered *r, const struct singleton *s, int64_t now_ms,
	int64_t now_us, struct observed *o)
{
	uint64_t record = lease_record(s);

	if (r->has_record && r->record == record)
		return;
	o->renewed = r->has_record;
	r->record = record;
	r->has_record = true;
	note_change(r, now_ms, now_us);
}

static void observe_lease(
	struct remembered *r, const struct singleton *s, int64_t now_us, struct observed *o)
{
	int64_t before = r->lease_deadline_ms, after = s->lease_deadline_ms, later_ms;

	if (s->mechanism != MECH_K8S_LEASE && after != TIME_UNKNOWN && before != TIME_UNKNOWN &&
		after > before &&
		(__builtin_sub_overflow(after, before, &later_ms) || later_ms > RENEWAL_MS)) {
		o->renewed = true;
		r->last_change_us = now_us;
		r->last_change_ms = s->lease_read_ms;
	}
	if (after != TIME_UNKNOWN)
		r->lease_deadline_ms = after;
}

/*
 * What nobody holds still counts: the next holder's number is one more than a Lease says now
 * (client-go's leaderelection). Told once, when the count is first seen to be lower.
 */
static void observe_vacant_token(
	struct remembered *r, const struct singleton *s, int64_t now_us, struct observed *o)
{
	const struct remembered_past *p = r->past;
	const char *uid = singleton_text(s, DETAIL_UID, NULL);
	struct str key; /* as far as a holder's tells the object */
	bool anew;

	if (!s->has_token || !uid || !remembered_key(r) || !r->has_highest ||
		s->token >= r->highest_token ||
		(p && p->regress_us != TIME_UNKNOWN && p->token_before == r->highest_token &&
			p->token_after == s->token))
		return;
	str_init(&key, strlen(uid) + 8);
	str_addf(&key, "uid:%s", uid);
	anew = remembered_other_object(r, s->mechanism, key.s);
	str_release(&key);
	note_regress(r, s->token, anew, now_us, o);
	if (anew)
		r->highest_token = s->token;
}

static void observe_freed(struct remembered *r, int64_t now_ms, int64_t now_us, struct observed *o)
{
	if (!r->held)
		return;
	o->freed = true;
	note_before(r, o);
	r->held = false;
	note_change(r, now_ms, now_us);
}

static struct remembered *remember_new(
	struct memory *m, const char *id, size_t room, int64_t now_us)
{
	struct remembered *r = remembered_new(slice_of(id), room);

	r->known_since_us = r->last_seen_us = r->holder_since_us = r->state_since_us = now_us;
	memory_insert(m, r);
	return r;
}

static struct remembered *remember(struct memory *m, const struct singleton *s, int64_t now_us)
{
	const struct claim *c = singleton_holder(s);
	size_t room = 0;

	/* The next holder's texts are of much the same length. */
	if (c)
		room = remembered_room(slice_of(claim_key(c)), slice_of(claim_identity(c)),
			       slice_of(claim_client(c))) +
		       2;
	return remember_new(m, s->id, room, now_us);
}

/*
 * Of a CronJob: since when some run has not been over, without a break. Which one it is does not
 * matter, and none is a hand-over from another.
 */
static void observe_runs(
	struct remembered *r, const struct claim *c, int64_t now_ms, int64_t now_us)
{
	if (!r->held) {
		r->holder_since_us = now_us;
		note_change(r, now_ms, now_us);
	}
	if (!r->holder || !same_text(remembered_key(r), claim_key(c)))
		remembered_set_holder(r, slice_of(claim_key(c)), slice_of(claim_identity(c)),
			slice_of(claim_client(c)));
}

static void observe_holder(const struct memory *m, struct remembered *r, const struct singleton *s,
	const struct claim *c, int64_t now_ms, int64_t now_us, struct observed *o)
{
	o->taken = !r->held && !o->appeared;
	if (s->mechanism == MECH_K8S_CRONJOB) {
		observe_runs(r, c, now_ms, now_us);
		return;
	}
	if (r->holder && same_text(remembered_key(r), claim_key(c))) {
		observe_known_holder(r, s, c, now_ms, now_us);
		observe_lease(r, s, now_us, o);
	} else {
		observe_new_holder(m, r, s, c, now_ms, now_us, o);
		r->lease_deadline_ms = s->lease_deadline_ms;
	}
	observe_overlap(r, s);
}

struct remembered *memory_observe(struct memory *m, const struct singleton *s, int64_t now_ms,
	int64_t now_us, struct observed *ret)
{
	struct observed o = { 0 };
	struct remembered *r = memory_find(m, s->id);
	const struct claim *c;

	if (!r) {
		o.appeared = true;
		r = remember(m, s, now_us);
		note_change(r, now_ms, now_us);
	}
	c = known_holder(r, s);
	if (c)
		observe_holder(m, r, s, c, now_ms, now_us, &o);
	else
		observe_freed(r, now_ms, now_us, &o);
	r->held = c != NULL;
	if (!c && s->mechanism == MECH_K8S_LEASE)
		observe_vacant_token(r, s, now_us, &o);
	if (s->mechanism == MECH_K8S_LEASE)
		observe_record(r, s, now_ms, now_us, &o);
	r->mechanism = (uint8_t)s->mechanism;
	r->queue = queue_of(s);
	r->last_seen_us = now_us;
	r->present = true;
	m->dirty = true;
	if (ret)
		*ret = o;
	return r;
}

void memory_observe_gone(
	struct memory *m, const char *id, int64_t now_ms, int64_t now_us, struct observed *ret)
{
	struct remembered *r = memory_find(m, id);
	struct observed o = { 0 };

	if (r) {
		observe_freed(r, now_ms, now_us, &o);
		r->present = false;
		r->queue = 0;
		m->dirty = true;
	}
	if (ret)
		*ret = o;
}

static bool set_back(int64_t *at_us, int64_t now_us)
{
	if (*at_us <= now_us)
		return false;
	*at_us = now_us;
	return true;
}

bool memory_set_back(struct memory *m, int64_t now_us)
{
	int64_t *const whole[] = { &m->confirmed_us, &m->seen_us }, *times[REMEMBERED_TIMES];
	struct remembered *r;
	bool any = false;
	size_t pos = 0, i, n;

	for (i = 0; i < ARRAY_LEN(whole); i++)
		any |= set_back(whole[i], now_us);
	memory_settle(m);
	if (m->youngest_us > now_us) {
		while ((r = memory_next(m, &pos)) != NULL)
			for (i = 0, n = remembered_times(r, times); i < n; i++)
				any |= set_back(times[i], now_us);
		m->youngest_us = now_us;
	}
	m->dirty |= any;
	return any;
}

void memory_seen(struct memory *m, int64_t now_us)
{
	memory_settle(m);
	m->seen_us = now_us;
	if (m->youngest_us < now_us)
		m->youngest_us = now_us;
}

void memory_observe_hidden(struct memory *m, const char *id)
{
	struct remembered *r = memory_find(m, id);

	if (!r)
		return;
	r->last_seen_us = last_confirmed(m, r);
	r->present = false;
	m->dirty = true;
}

void memory_confirm(struct memory *m, int64_t now_ms, int64_t now_us, bool whole)
{
	struct observed ignored = { 0 };
	struct remembered *r;
	bool held, present;
	size_t pos;

	/* Later on, whoever keeps the picture tells what goes from it. */
	for (pos = 0;
		whole && m->confirmed_us == TIME_UNKNOWN && memory_peek(m, pos, &held, &present);
		pos++) {
		size_t at = pos;

		if (present || !held)
			continue;
		r = memory_next(m, &at);
		observe_freed(r, now_ms, now_us, &ignored);
		r->queue = 0;
		m->dirty = true;
	}
	m->confirmed_us = now_us;
}

void memory_note_duplicate(struct memory *m, const char *id, const char *text, int64_t now_us)
{
	struct remembered *r = memory_find(m, id);

	if (!r)
		r = remember_new(m, id, strlen(text) + 2, now_us);
	r->mechanism = MECH_SOURCE;
	r->last_seen_us = now_us;
	if (r->state != STATE_DUPLICATE)
		r->holder_since_us = now_us;
	remembered_set_holder(r, slice_of(text), slice_of(""), slice_of(""));
	memory_note_state(m, r, STATE_DUPLICATE, now_us);
	m->dirty = true;
}

void memory_note_two(
	struct memory *m, struct remembered *r, const char *code, const char *names, int64_t now_us)
{
	struct remembered_past *p = remembered_make_past(r);

	if (!p->previous_key || !same_text(p->previous_key, code) ||
		!same_text(p->previous_identity, names)) {
		remembered_set_previous(p, slice_of(code), slice_of(names), slice_of(""));
		p->first_session_us = now_us;
		p->sessions++;
	}
	p->session_since_us = now_us;
	m->dirty = true;
}

void memory_note_state(struct memory *m, struct remembered *r, enum state state, int64_t now_us)
{
	if (r->state == (uint8_t)state)
		return;
	r->state = (uint8_t)state;
	r->state_since_us = now_us;
	m->dirty = true;
}

uint32_t remembered_holders(const struct remembered *r, int64_t window_ms, int64_t now_us)
{
	const struct remembered_past *p = r->past;
	uint32_t n, i, kept, within = 0;

	if (!p)
		return r->holder ? 1 : 0;
	n = p->n_changes;
	kept = n < MEMORY_CHANGES ? n : MEMORY_CHANGES;
	for (i = 0; i < kept; i++) {
		int64_t age_us, at = p->changes_us[(n - 1 - i) % MEMORY_CHANGES];

		if (at != TIME_UNKNOWN && !__builtin_sub_overflow(now_us, at, &age_us) &&
			age_us / 1000 < window_ms)
			within++;
	}
	return within + 1;
}
