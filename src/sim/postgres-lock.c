#include "config.h"

#include "base/mem.h"
#include "sim/postgres.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The lock manager, for advisory locks: two modes, of which only share goes with share. A request
 * queues behind those that wait and that it conflicts with (lock.c, LockAcquireExtended); who holds
 * the lock already in a mode that the queue's head wants goes before it (proc.c, ProcSleep); when
 * something is let go, the queue is served in its order (proc.c, ProcLockWakeup).
 */
enum {
	BUCKETS_LEAST = 64,
	DEADLOCK_MOST = 4096 /* sessions that are looked through */
};

static bool conflicts(enum simpg_mode a, enum simpg_mode b)
{
	return a == SIMPG_EXCLUSIVE || b == SIMPG_EXCLUSIVE;
}

/* ---- keys ---- */

struct simpg_key simpg_bigint(uint32_t database, int64_t value)
{
	return (struct simpg_key){ database, (uint32_t)((uint64_t)value >> 32), (uint32_t)value,
		1 };
}

struct simpg_key simpg_pair(uint32_t database, int32_t first, int32_t second)
{
	return (struct simpg_key){ database, (uint32_t)first, (uint32_t)second, 2 };
}

bool simpg_key_read(const char *s, uint32_t database, struct simpg_key *ret)
{
	long long first, second;
	char *end;

	if (*s == '(')
		s++;
	first = strtoll(s, &end, 10);
	if (end == s)
		return false;
	if (!*end) {
		*ret = simpg_bigint(database, first);
		return true;
	}
	if (*end != ',')
		return false;
	s = end + 1;
	second = strtoll(s, &end, 10);
	if (end == s || (*end && strcmp(end, ")") != 0))
		return false;
	if (first != (int32_t)first || second != (int32_t)second)
		return false;
	*ret = simpg_pair(database, (int32_t)first, (int32_t)second);
	return true;
}

void simpg_key_write(char buf[SIMPG_KEY_TEXT], const struct simpg_key *key)
{
	if (key->objsubid == 2)
		snprintf(buf, SIMPG_KEY_TEXT, "(%" PRId32 ",%" PRId32 ")", (int32_t)key->classid,
			(int32_t)key->objid);
	else
		snprintf(buf, SIMPG_KEY_TEXT, "%" PRId64,
			(int64_t)((uint64_t)key->classid << 32 | key->objid));
}

static bool key_equal(const struct simpg_key *a, const struct simpg_key *b)
{
	return a->database == b->database && a->classid == b->classid && a->objid == b->objid &&
	       a->objsubid == b->objsubid;
}

static uint64_t key_hash(const struct simpg_key *key)
{
	uint64_t h = (uint64_t)key->classid << 32 | key->objid;

	h = (h ^ (uint64_t)key->database << 8 ^ (uint64_t)key->objsubid) *
	    UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 32;
}

/* ---- the table ---- */

struct simpg_lock *simpg_lock_find(const struct simpg_server *s, const struct simpg_key *key)
{
	struct simpg_lock *l;

	if (!s->n_buckets)
		return NULL;
	for (l = s->buckets[key_hash(key) & (s->n_buckets - 1)]; l; l = l->in_bucket)
		if (key_equal(&l->key, key))
			return l;
	return NULL;
}

static void table_grow(struct simpg_server *s)
{
	struct simpg_lock *l;

	if (s->n_locks < s->n_buckets)
		return;
	s->n_buckets = s->n_buckets ? s->n_buckets * 2 : BUCKETS_LEAST;
	free(s->buckets);
	s->buckets = xcalloc(s->n_buckets, sizeof(struct simpg_lock *));
	for (l = s->locks; l; l = l->next) {
		struct simpg_lock **bucket = &s->buckets[key_hash(&l->key) & (s->n_buckets - 1)];

		l->in_bucket = *bucket;
		*bucket = l;
	}
}

static struct simpg_lock *lock_made(struct simpg_server *s, const struct simpg_key *key)
{
	struct simpg_lock *l = simpg_lock_find(s, key), **bucket;

	if (l)
		return l;
	table_grow(s);
	l = xcalloc(1, sizeof(*l));
	l->key = *key;
	bucket = &s->buckets[key_hash(key) & (s->n_buckets - 1)];
	l->in_bucket = *bucket;
	*bucket = l;
	l->prev = s->last_lock;
	if (s->last_lock)
		s->last_lock->next = l;
	else
		s->locks = l;
	s->last_lock = l;
	s->n_locks++;
	return l;
}

static void lock_drop(struct simpg_server *s, struct simpg_lock *l)
{
	struct simpg_lock **at = &s->buckets[key_hash(&l->key) & (s->n_buckets - 1)];

	while (*at != l)
		at = &(*at)->in_bucket;
	*at = l->in_bucket;
	*(l->prev ? &l->prev->next : &s->locks) = l->next;
	*(l->next ? &l->next->prev : &s->last_lock) = l->prev;
	s->n_locks--;
	free(l);
}

static void lock_drop_unused(struct simpg_server *s, struct simpg_lock *l)
{
	if (!l->holds && !l->queue)
		lock_drop(s, l);
}

void simpg_locks_free(struct simpg_server *s)
{
	struct simpg_lock *l, *next;

	for (l = s->locks; l; l = next) {
		struct simpg_hold *h, *after;

		next = l->next;
		for (h = l->holds; h; h = after) {
			after = h->next_of_lock;
			free(h);
		}
		free(l);
	}
	free(s->buckets);
	s->buckets = NULL;
	s->locks = s->last_lock = NULL;
	s->n_buckets = s->n_locks = 0;
}

const char *simpg_lock_name(
	const struct simpg_server *s, const struct simpg_key *key, char *buf, size_t size)
{
	char text[SIMPG_KEY_TEXT];

	simpg_key_write(text, key);
	snprintf(buf, size, "%s %s:%s", s->thing.name, simpg_database_name(s, key->database), text);
	return buf;
}

/* ---- holds ---- */

bool simpg_hold_has(const struct simpg_hold *h, enum simpg_mode mode)
{
	return h->count[mode][SIMPG_SESSION] || h->count[mode][SIMPG_TRANSACTION];
}

static struct simpg_hold *hold_find(const struct simpg_lock *l, const struct simpg_owner *owner)
{
	struct simpg_hold *h;

	for (h = l->holds; h; h = h->next_of_lock)
		if (h->owner == owner)
			return h;
	return NULL;
}

static struct simpg_hold *hold_made(struct simpg_lock *l, struct simpg_owner *owner)
{
	struct simpg_hold *h = hold_find(l, owner), **at;

	if (h)
		return h;
	h = xcalloc(1, sizeof(*h));
	h->lock = l;
	h->owner = owner;
	for (at = &l->holds; *at; at = &(*at)->next_of_lock)
		;
	*at = h;
	h->next_of_owner = owner->holds;
	owner->holds = h;
	return h;
}

static bool hold_is_empty(const struct simpg_hold *h)
{
	return !simpg_hold_has(h, SIMPG_SHARE) && !simpg_hold_has(h, SIMPG_EXCLUSIVE);
}

static void hold_unlink(struct simpg_hold *h)
{
	struct simpg_hold **at;

	for (at = &h->lock->holds; *at != h; at = &(*at)->next_of_lock)
		;
	*at = h->next_of_lock;
	for (at = &h->owner->holds; *at != h; at = &(*at)->next_of_owner)
		;
	*at = h->next_of_owner;
	free(h);
}

/* Whether a request must wait for who holds the lock now. */
static bool held_against(
	const struct simpg_lock *l, const struct simpg_owner *owner, enum simpg_mode mode)
{
	const struct simpg_hold *h;

	for (h = l->holds; h; h = h->next_of_lock)
		if (h->owner != owner &&
			(simpg_hold_has(h, SIMPG_EXCLUSIVE) || mode == SIMPG_EXCLUSIVE))
			return true;
	return false;
}

static void tell_granted(struct world *w, const struct simpg_session *s, const struct simpg_lock *l)
{
	char name[SIMPG_NAME_MAX * 3];

	simpg_lock_name(s->server, &l->key, name, sizeof(name));
	world_tell(w, HAPPENING_GRANTED, s->process ? s->process->thing.name : s->application, name,
		0, "%s gives %s to the session of pid %d (%s)", s->server->thing.name, name, s->pid,
		s->application);
}

static void grant(struct world *w, struct simpg_session *s, struct simpg_lock *l,
	enum simpg_mode mode, enum simpg_level level)
{
	struct simpg_hold *h = hold_made(l, &s->owner);

	if (hold_is_empty(h))
		tell_granted(w, s, l);
	h->count[mode][level]++;
	simpg_changed(s->server);
}

/* ---- the queue ---- */

static void queue_remove(struct simpg_session *s)
{
	struct simpg_session **at = &s->waits->queue;

	while (*at != s)
		at = &(*at)->next_waiter;
	*at = s->next_waiter;
	s->next_waiter = NULL;
	s->waits = NULL;
	s->wait_us = 0;
}

/* Serves the queue, when something was let go or somebody left it. */
static void serve_queue(struct world *w, struct simpg_server *server, struct simpg_lock *l)
{
	struct simpg_session *s, *next;
	bool ahead[SIMPG_MODES] = { false, false };

	for (s = l->queue; s; s = next) {
		enum simpg_mode mode = s->wait_mode;
		bool behind =
			ahead[SIMPG_EXCLUSIVE] || (mode == SIMPG_EXCLUSIVE && ahead[SIMPG_SHARE]);

		next = s->next_waiter;
		if (behind || held_against(l, &s->owner, mode)) {
			ahead[mode] = true;
			continue;
		}
		queue_remove(s);
		grant(w, s, l, mode, s->wait_level);
		simpg_statement_end(w, s, SIMPG_OK, 1);
	}
	lock_drop_unused(server, l);
}

void simpg_stop_waiting(struct world *w, struct simpg_session *s)
{
	struct simpg_lock *l = s->waits;

	if (!l)
		return;
	queue_remove(s);
	serve_queue(w, s->server, l);
}

/*
 * Where a request stands in the queue: at its end, but before the first who waits for what this
 * session itself holds (proc.c, ProcSleep).
 */
static struct simpg_session **queue_place(struct simpg_lock *l, const struct simpg_hold *own,
	enum simpg_mode mode, bool *ret_deadlock)
{
	struct simpg_session **at;

	for (at = &l->queue; *at; at = &(*at)->next_waiter) {
		const struct simpg_hold *theirs = hold_find(l, &(*at)->owner);
		bool waits_for_us = own && !hold_is_empty(own) &&
				    ((*at)->wait_mode == SIMPG_EXCLUSIVE ||
					    simpg_hold_has(own, SIMPG_EXCLUSIVE));

		if (!waits_for_us)
			continue;
		if (theirs && (mode == SIMPG_EXCLUSIVE || simpg_hold_has(theirs, SIMPG_EXCLUSIVE)))
			*ret_deadlock = true;
		return at;
	}
	return at;
}

static bool waited_against(
	const struct simpg_lock *l, const struct simpg_session *until, enum simpg_mode mode)
{
	const struct simpg_session *s;

	for (s = l->queue; s && s != until; s = s->next_waiter)
		if (conflicts(s->wait_mode, mode))
			return true;
	return false;
}

enum simpg_got simpg_take(struct world *w, struct simpg_session *s, const struct simpg_key *key,
	enum simpg_mode mode, enum simpg_level level, bool wait)
{
	struct simpg_lock *l = lock_made(s->server, key);
	struct simpg_hold *own = hold_find(l, &s->owner);
	struct simpg_session **place;
	bool deadlock = false;

	/* What it has it gets again, whoever waits (lock.c: the local lock table). */
	if (own && simpg_hold_has(own, mode)) {
		grant(w, s, l, mode, level);
		return SIMPG_GOT;
	}
	place = queue_place(l, own, mode, &deadlock);
	if (!waited_against(l, *place, mode) && !held_against(l, &s->owner, mode)) {
		grant(w, s, l, mode, level);
		return SIMPG_GOT;
	}
	if (!wait || deadlock) {
		lock_drop_unused(s->server, l);
		return wait ? SIMPG_DEADLOCK : SIMPG_NOT;
	}
	s->waits = l;
	s->wait_mode = mode;
	s->wait_level = level;
	s->wait_us = simpg_now_us(w, s->server);
	s->next_waiter = *place;
	*place = s;
	simpg_changed(s->server);
	return SIMPG_QUEUED;
}

/* ---- letting go ---- */

static void hold_let_go(struct world *w, struct simpg_server *server, struct simpg_hold *h)
{
	struct simpg_lock *l = h->lock;
	char name[SIMPG_NAME_MAX * 3];

	if (hold_is_empty(h)) {
		bool last = l->holds == h && !h->next_of_lock;

		hold_unlink(h);
		if (last && !l->queue)
			world_tell(w, HAPPENING_FREED, NULL,
				simpg_lock_name(server, &l->key, name, sizeof(name)), 0,
				"nobody holds %s", name);
	}
	simpg_changed(server);
	serve_queue(w, server, l);
}

bool simpg_give(
	struct world *w, struct simpg_session *s, const struct simpg_key *key, enum simpg_mode mode)
{
	struct simpg_lock *l = simpg_lock_find(s->server, key);
	struct simpg_hold *h = l ? hold_find(l, &s->owner) : NULL;

	if (!h || !h->count[mode][SIMPG_SESSION])
		return false;
	if (--h->count[mode][SIMPG_SESSION] == 0)
		hold_let_go(w, s->server, h);
	return true;
}

static struct simpg_hold *hold_of_level(const struct simpg_owner *owner, enum simpg_level level)
{
	struct simpg_hold *h;

	for (h = owner->holds; h; h = h->next_of_owner)
		if (h->count[SIMPG_SHARE][level] || h->count[SIMPG_EXCLUSIVE][level])
			return h;
	return NULL;
}

static void give_all(struct world *w, struct simpg_server *server, struct simpg_owner *owner,
	enum simpg_level level)
{
	struct simpg_hold *h;

	while ((h = hold_of_level(owner, level)) != NULL) {
		h->count[SIMPG_SHARE][level] = h->count[SIMPG_EXCLUSIVE][level] = 0;
		hold_let_go(w, server, h);
	}
}

void simpg_give_all(struct world *w, struct simpg_session *s, enum simpg_level level)
{
	give_all(w, s->server, &s->owner, level);
}

void simpg_give_prepared(struct world *w, struct simpg_server *server, struct simpg_prepared *p)
{
	give_all(w, server, &p->owner, SIMPG_TRANSACTION);
}

/* ---- prepared transactions ---- */

bool simpg_move_holds(struct simpg_session *s, struct simpg_prepared *to)
{
	struct simpg_hold *h, *next;
	int mode;

	for (h = s->owner.holds; h; h = h->next_of_owner)
		for (mode = 0; mode < SIMPG_MODES; mode++)
			if (h->count[mode][SIMPG_SESSION] && h->count[mode][SIMPG_TRANSACTION])
				return false;
	for (h = s->owner.holds; h; h = next) {
		next = h->next_of_owner;
		for (mode = 0; mode < SIMPG_MODES; mode++) {
			if (!h->count[mode][SIMPG_TRANSACTION])
				continue;
			hold_made(h->lock, &to->owner)->count[mode][SIMPG_TRANSACTION] = 1;
			h->count[mode][SIMPG_TRANSACTION] = 0;
		}
		if (hold_is_empty(h))
			hold_unlink(h);
	}
	return true;
}

void simpg_copy_holds(
	struct simpg_server *to, const struct simpg_prepared *from, struct simpg_prepared *copy)
{
	const struct simpg_hold *h;

	for (h = from->owner.holds; h; h = h->next_of_owner)
		memcpy(hold_made(lock_made(to, &h->lock->key), &copy->owner)->count, h->count,
			sizeof(h->count));
}

/* ---- who waits for whom ---- */

size_t simpg_blockers(const struct simpg_session *s, int *list, size_t n)
{
	const struct simpg_hold *h;
	const struct simpg_session *other;
	size_t found = 0;

	if (s->vxid_pid && n)
		list[found++] = s->vxid_pid;
	if (!s->waits)
		return found;
	for (h = s->waits->holds; h && found < n; h = h->next_of_lock)
		if (h->owner != &s->owner &&
			(simpg_hold_has(h, SIMPG_EXCLUSIVE) || s->wait_mode == SIMPG_EXCLUSIVE))
			list[found++] = h->owner->prepared
						? 0
						: ((const struct simpg_session *)h->owner)->pid;
	for (other = s->waits->queue; other && other != s && found < n; other = other->next_waiter)
		if (conflicts(other->wait_mode, s->wait_mode))
			list[found++] = other->pid;
	return found;
}

static bool seen_already(struct simpg_session *const *list, size_t n, const struct simpg_session *s)
{
	while (n > 0)
		if (list[--n] == s)
			return true;
	return false;
}

/*
 * Breadth first, along who blocks whom, also in the queue. PostgreSQL tries to put a queue in
 * another order where that alone breaks a cycle (deadlock.c, soft edges); two modes and queues in
 * the order of coming make no such cycle but by upgrades, which ProcSleep's rule avoids.
 */
bool simpg_deadlocked(const struct simpg_session *s)
{
	struct simpg_session **list = xcalloc(DEADLOCK_MOST, sizeof(struct simpg_session *));
	int pids[64];
	size_t n = 0, at, i, k;
	const struct simpg_session *here = s;
	bool found = false;

	for (at = 0; here && !found; here = at < n ? list[at++] : NULL) {
		k = simpg_blockers(here, pids, 64);
		for (i = 0; i < k && !found; i++) {
			struct simpg_session *next =
				pids[i] ? simpg_session(s->server, pids[i]) : NULL;

			found = next == s;
			if (next && !found && (next->waits || next->vxid_pid) &&
				n < DEADLOCK_MOST && !seen_already(list, n, next))
				list[n++] = next;
		}
	}
	free(list);
	return found;
}
