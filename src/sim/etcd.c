#include "config.h"

#include "sim/etcd.h"
#include "base/mem.h"
#include "base/str.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the members of an etcd have agreed on: keys, leases, revisions, watches. */

enum {
	KEY_BYTES = 512, /* what a revision of a key adds to the database, about */
	EVENTS_FIRST = 256
};

const char *sim_etcd_error_text(enum sim_etcd_error error)
{
	static const char *const texts[SIM_ETCD_ERRORS] = {
		[SIM_ETCD_OK] = "",
		[SIM_ETCD_NO_LEADER] = "etcdserver: no leader",
		[SIM_ETCD_NO_LEASE] = "etcdserver: requested lease not found",
		[SIM_ETCD_NO_SPACE] = "etcdserver: mvcc: database space exceeded",
		[SIM_ETCD_CORRUPT] = "etcdserver: corrupt cluster",
		[SIM_ETCD_COMPACTED] = "etcdserver: mvcc: required revision has been compacted",
	};

	return texts[error];
}

const char *sim_etcd_alarm_word(enum sim_etcd_alarm alarm)
{
	return alarm == SIM_ETCD_ALARM_CORRUPT ? "CORRUPT" : "NOSPACE";
}

/* What an alarm keeps from being done: that which makes new things, or any change. */
static enum sim_etcd_error alarmed(const struct sim_etcd *e, bool makes)
{
	if (e->alarms[SIM_ETCD_ALARM_CORRUPT])
		return SIM_ETCD_CORRUPT;
	return makes && e->alarms[SIM_ETCD_ALARM_NO_SPACE] ? SIM_ETCD_NO_SPACE : SIM_ETCD_OK;
}

/* ---- finding ---- */

struct sim_etcd_key *sim_etcd_key(const struct sim_etcd *e, const char *name, size_t len)
{
	return map_get(&e->keys, name, len);
}

struct sim_etcd_dir *sim_etcd_dir(const struct sim_etcd *e, const char *name, size_t len)
{
	return map_get(&e->dirs, name, len);
}

struct sim_etcd_lease *sim_etcd_lease(const struct sim_etcd *e, int64_t id)
{
	return map_get(&e->leases, (const char *)&id, sizeof(id));
}

int64_t sim_etcd_lease_left_ms(const struct world *w, const struct sim_etcd_lease *l)
{
	return l->expiry_ms - world_now_ms(w);
}

/* The key's name up to its last slash, that included. */
static size_t dir_len(const char *name, size_t len)
{
	while (len && name[len - 1] != '/')
		len--;
	return len;
}

static struct sim_etcd_dir *dir_made(struct sim_etcd *e, const char *name, size_t len)
{
	struct sim_etcd_dir *dir = sim_etcd_dir(e, name, len);

	if (dir)
		return dir;
	dir = xcalloc(1, sizeof(*dir));
	dir->name = xstrndup(name, len);
	dir->len = len;
	map_put(&e->dirs, dir->name, len, dir);
	if (e->last_dir)
		e->last_dir->next = dir;
	else
		e->first_dir = dir;
	e->last_dir = dir;
	return dir;
}

/* ---- the heap of expiries: the lease that ends first is on top (lease_queue.go) ---- */

static void heap_set(struct sim_etcd *e, size_t i, struct sim_etcd_lease *l)
{
	e->heap[i] = l;
	l->place = i;
}

/* By the end, then by the id, so that two that end together always come in the same order. */
static bool ends_before(const struct sim_etcd_lease *a, const struct sim_etcd_lease *b)
{
	return a->expiry_ms < b->expiry_ms || (a->expiry_ms == b->expiry_ms && a->id < b->id);
}

static void heap_settle(struct sim_etcd *e, size_t i)
{
	struct sim_etcd_lease *l = e->heap[i];

	while (i && ends_before(l, e->heap[(i - 1) / 2])) {
		heap_set(e, i, e->heap[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
	for (;;) {
		size_t child = 2 * i + 1;

		if (child + 1 < e->n_heap && ends_before(e->heap[child + 1], e->heap[child]))
			child++;
		if (child >= e->n_heap || !ends_before(e->heap[child], l))
			break;
		heap_set(e, i, e->heap[child]);
		i = child;
	}
	heap_set(e, i, l);
}

static void heap_add(struct sim_etcd *e, struct sim_etcd_lease *l)
{
	MEM_GROW(e->heap, e->n_heap, e->cap_heap);
	e->heap[e->n_heap++] = l;
	l->place = e->n_heap - 1;
	heap_settle(e, l->place);
}

static void heap_take(struct sim_etcd *e, struct sim_etcd_lease *l)
{
	struct sim_etcd_lease *last = e->heap[--e->n_heap];

	if (last == l)
		return;
	heap_set(e, l->place, last);
	heap_settle(e, l->place);
}

/* ---- keys ---- */

static void key_join_dir(struct sim_etcd_dir *dir, struct sim_etcd_key *key)
{
	key->dir = dir;
	key->dir_prev = dir->last;
	if (dir->last)
		dir->last->dir_next = key;
	else
		dir->first = key;
	dir->last = key;
}

static void key_leave_dir(struct sim_etcd_key *key)
{
	if (key->dir_prev)
		key->dir_prev->dir_next = key->dir_next;
	else
		key->dir->first = key->dir_next;
	if (key->dir_next)
		key->dir_next->dir_prev = key->dir_prev;
	else
		key->dir->last = key->dir_prev;
}

static void key_join_lease(struct sim_etcd_key *key, struct sim_etcd_lease *l)
{
	key->lease = l;
	if (!l)
		return;
	key->lease_prev = NULL;
	key->lease_next = l->keys;
	if (l->keys)
		l->keys->lease_prev = key;
	l->keys = key;
	l->n_keys++;
}

static void key_leave_lease(struct sim_etcd_key *key)
{
	struct sim_etcd_lease *l = key->lease;

	if (!l)
		return;
	if (key->lease_prev)
		key->lease_prev->lease_next = key->lease_next;
	else
		l->keys = key->lease_next;
	if (key->lease_next)
		key->lease_next->lease_prev = key->lease_prev;
	l->n_keys--;
	key->lease = NULL;
}

/* What a key is of: of a candidate the election's or lock's name, else the key itself. */
static const char *key_what(char buf[NET_TEXT_MAX], const struct sim_etcd_key *key)
{
	char hex[20];

	snprintf(hex, sizeof(hex), "%" PRIx64, key->lease ? (uint64_t)key->lease->id : 0);
	if (key->lease && key->dir->len && str_eq(key->name + key->dir->len, hex))
		snprintf(buf, NET_TEXT_MAX, "%.*s", (int)key->dir->len - 1, key->name);
	else
		snprintf(buf, NET_TEXT_MAX, "%s", key->name);
	return buf;
}

static const char *key_holder(const struct sim_etcd_key *key)
{
	return key->owner ? key->owner->thing.name : "nobody";
}

/* Who is at the head of a name has what it stands for. */
static void tell_head(struct world *w, const struct sim_etcd_key *key)
{
	char what[NET_TEXT_MAX];

	key_what(what, key);
	world_tell(w, HAPPENING_GRANTED, key->owner ? key->owner->thing.name : NULL, what,
		key->create_revision, "%s is %s's, token %" PRId64, what, key_holder(key),
		key->create_revision);
}

static void tell_freed(struct world *w, const struct sim_etcd_key *key, const char *why)
{
	char what[NET_TEXT_MAX];

	key_what(what, key);
	world_tell(w, HAPPENING_FREED, key->owner ? key->owner->thing.name : NULL, what,
		key->create_revision, "%s is not %s's any more: %s", what, key_holder(key), why);
}

static struct sim_etcd_key *key_new(struct sim_etcd *e, const char *name)
{
	struct sim_etcd_key *key = xcalloc(1, sizeof(*key));

	key->name = xstrdup(name);
	key->name_len = strlen(name);
	key->create_revision = e->revision;
	map_put(&e->keys, key->name, key->name_len, key);
	key_join_dir(dir_made(e, name, dir_len(name, key->name_len)), key);
	e->n_keys++;
	return key;
}

static void key_free(struct sim_etcd_key *key)
{
	free(key->name);
	free(key->value);
	free(key);
}

/* ---- history ---- */

static void event_clear(struct sim_etcd_event *event)
{
	free(event->key);
	free(event->value);
}

const struct sim_etcd_event *sim_etcd_event(const struct sim_etcd *e, uint64_t i)
{
	if (i >= e->n_events || i + e->n_event_slots < e->n_events)
		return NULL;
	return &e->events[i % e->n_event_slots];
}

/* Until it is full grown, nothing of it was overwritten, and number i stands at i. */
static struct sim_etcd_event *event_slot(struct sim_etcd *e)
{
	struct sim_etcd_event *event;
	size_t n = e->n_event_slots;

	if (e->n_events == n && n < SIM_ETCD_EVENTS_MOST) {
		e->n_event_slots = n ? 2 * n : EVENTS_FIRST;
		e->events = xrealloc(e->events, e->n_event_slots, sizeof(*e->events));
		memset(e->events + n, 0, (e->n_event_slots - n) * sizeof(*e->events));
	}
	event = &e->events[e->n_events++ % e->n_event_slots];
	event_clear(event);
	return event;
}

static void note_event(
	struct world *w, struct sim_etcd *e, const struct sim_etcd_key *key, bool deleted)
{
	*event_slot(e) = (struct sim_etcd_event){ .key = xstrdup(key->name),
		.value = deleted ? NULL : xstrdup(key->value),
		.create_revision = key->create_revision,
		.mod_revision = e->revision,
		.lease = key->lease ? key->lease->id : 0,
		.at_ms = world_now_ms(w) };
}

enum sim_etcd_error sim_etcd_put(struct world *w, struct sim_etcd *e, const char *name,
	const char *value, int64_t lease, struct process *owner, bool new_only,
	struct sim_etcd_key **ret)
{
	struct sim_etcd_lease *l = lease ? sim_etcd_lease(e, lease) : NULL;
	struct sim_etcd_key *key = sim_etcd_key(e, name, strlen(name));
	bool made = !key;

	if (alarmed(e, true))
		return alarmed(e, true);
	e->index++;
	if (key && new_only) {
		*ret = key;
		return SIM_ETCD_OK;
	}
	if (lease && !l)
		return SIM_ETCD_NO_LEASE;
	e->revision++;
	e->db_size += KEY_BYTES;
	key = key ? key : key_new(e, name);
	key_leave_lease(key);
	key_join_lease(key, l);
	free(key->value);
	key->value = xstrdup(value);
	key->owner = owner;
	key->mod_revision = e->revision;
	note_event(w, e, key, false);
	thing_changed(&e->thing);
	if (made && key->dir->first == key)
		tell_head(w, key);
	*ret = key;
	return SIM_ETCD_OK;
}

/* Takes a key out; the revision at which it goes is the present one. */
static void key_remove(
	struct world *w, struct sim_etcd *e, struct sim_etcd_key *key, const char *why)
{
	struct sim_etcd_dir *dir = key->dir;
	bool led = dir->first == key;
	struct sim_etcd_watch *watch;

	if (led)
		tell_freed(w, key, why);
	note_event(w, e, key, true);
	map_remove(&e->keys, key->name, key->name_len);
	key_leave_dir(key);
	key_leave_lease(key);
	e->n_keys--;
	if (led && dir->first)
		tell_head(w, dir->first);
	while ((watch = key->watches) != NULL) {
		key->watches = watch->next;
		sim_etcd_notify(w, e, watch);
	}
	thing_changed(&e->thing);
	key_free(key);
}

enum sim_etcd_error sim_etcd_delete(
	struct world *w, struct sim_etcd *e, struct sim_etcd_key *key, const char *why)
{
	if (alarmed(e, false))
		return alarmed(e, false);
	e->index++;
	e->revision++;
	key_remove(w, e, key, why);
	return SIM_ETCD_OK;
}

void sim_etcd_watch(struct sim_etcd *e, struct sim_etcd_key *key, int member, struct process *p,
	net_told *fn, void *who)
{
	struct sim_etcd_watch *watch = xcalloc(1, sizeof(*watch)), **at = &key->watches;

	*watch = (struct sim_etcd_watch){ .process = p,
		.life = p->life,
		.member = member,
		.told = fn,
		.who = who,
		.create_revision = key->create_revision };
	while (*at)
		at = &(*at)->next;
	*at = watch;
	(void)e;
}

/* ---- leases ---- */

/*
 * As etcd makes them: two bytes of the member's id, the time when that member began in
 * milliseconds, and a count (pkg/idutil), without the sign.
 */
static int64_t lease_new_id(struct sim_etcd *e, int member)
{
	uint64_t id;

	do
		id = ++e->members[member].next_id & INT64_MAX;
	while (!id || sim_etcd_lease(e, (int64_t)id));
	return (int64_t)id;
}

enum sim_etcd_error sim_etcd_grant(struct world *w, struct sim_etcd *e, int member, int64_t ttl_s,
	struct process *owner, struct sim_etcd_lease **ret)
{
	struct sim_etcd_lease *l;

	if (alarmed(e, true))
		return alarmed(e, true);
	if (ttl_s < SIM_ETCD_TTL_LEAST_S)
		ttl_s = SIM_ETCD_TTL_LEAST_S;
	if (ttl_s > SIM_ETCD_TTL_MOST_S)
		ttl_s = SIM_ETCD_TTL_MOST_S;
	e->index++;
	l = xcalloc(1, sizeof(*l));
	l->id = lease_new_id(e, member);
	l->granted_s = ttl_s;
	l->expiry_ms = world_now_ms(w) + ttl_s * 1000;
	l->renewed_ms = INT64_MIN;
	l->owner = owner;
	map_put(&e->leases, (const char *)&l->id, sizeof(l->id), l);
	l->prev = e->last_lease;
	if (e->last_lease)
		e->last_lease->next = l;
	else
		e->first_lease = l;
	e->last_lease = l;
	heap_add(e, l);
	*ret = l;
	return SIM_ETCD_OK;
}

int64_t sim_etcd_keepalive(struct world *w, struct sim_etcd *e, int64_t id)
{
	struct sim_etcd_lease *l = sim_etcd_lease(e, id);

	/* One that is past its end waits to be revoked, and is not renewed (lessor.go, Renew). */
	if (!l)
		return 0;
	if (sim_etcd_lease_left_ms(w, l) <= 0)
		return -1;
	l->expiry_ms = world_now_ms(w) + l->granted_s * 1000;
	l->renewed_ms = world_now_ms(w);
	l->version++;
	heap_settle(e, l->place);
	return l->granted_s;
}

static void lease_free(struct sim_etcd *e, struct sim_etcd_lease *l)
{
	map_remove(&e->leases, (const char *)&l->id, sizeof(l->id));
	heap_take(e, l);
	if (l->prev)
		l->prev->next = l->next;
	else
		e->first_lease = l->next;
	if (l->next)
		l->next->prev = l->prev;
	else
		e->last_lease = l->prev;
	free(l);
}

enum sim_etcd_error sim_etcd_revoke(
	struct world *w, struct sim_etcd *e, struct sim_etcd_lease *l, const char *why)
{
	struct sim_etcd_key *key;

	if (alarmed(e, false))
		return alarmed(e, false);
	e->index++;
	/* A lease without keys changes nothing in the key space. */
	if (l->keys)
		e->revision++;
	/* All go at one revision: nobody sees some of them gone and others not. */
	while ((key = l->keys) != NULL)
		key_remove(w, e, key, why);
	lease_free(e, l);
	thing_changed(&e->thing);
	return SIM_ETCD_OK;
}

/*
 * A new leader knows no renewals: it starts every lease anew, and gives the clients one election
 * timeout more to find it (lessor.go, Promote).
 */
void sim_etcd_promote(struct world *w, struct sim_etcd *e)
{
	struct sim_etcd_lease *l;
	size_t i;

	for (l = e->first_lease; l; l = l->next) {
		l->expiry_ms = world_now_ms(w) + l->granted_s * 1000 + SIM_ETCD_ELECTION_MS;
		l->version++;
	}
	for (i = e->n_heap; i-- > 0;)
		heap_settle(e, i);
}

/* ---- the rest ---- */

void sim_etcd_compact(struct world *w, struct sim_etcd *e, int64_t revision)
{
	if (revision > e->revision)
		revision = e->revision;
	if (revision <= e->compacted)
		return;
	e->index++;
	e->compacted = revision;
	thing_changed(&e->thing);
	world_tell(w, HAPPENING_SERVER, NULL, e->thing.name, 0,
		"%s forgets its history up to revision %" PRId64, e->thing.name, revision);
}

void sim_etcd_alarm(struct world *w, struct sim_etcd *e, enum sim_etcd_alarm alarm, bool on)
{
	const char *word = sim_etcd_alarm_word(alarm);

	if (!e->alarms[alarm] != on)
		return;
	e->alarms[alarm] = on ? e->members[e->leader < 0 ? 0 : e->leader].id : 0;
	e->index++;
	thing_changed(&e->thing);
	if (on)
		world_tell(w, HAPPENING_FAULT, NULL, e->thing.name, 0,
			"the alarm %s is on: %s takes %s", word, e->thing.name,
			alarm == SIM_ETCD_ALARM_CORRUPT ? "no change, and leases that run out stay"
							: "no new keys and no new leases");
	else
		world_tell(w, HAPPENING_MENDED, NULL, e->thing.name, 0, "the alarm %s of %s is off",
			word, e->thing.name);
}

static void expire(struct world *w, struct sim_etcd *e)
{
	int64_t now_ms = world_now_ms(w);
	int n;

	if (alarmed(e, false))
		return;
	for (n = 0; n < SIM_ETCD_EXPIRE_MOST && e->n_heap && e->heap[0]->expiry_ms <= now_ms; n++) {
		struct sim_etcd_lease *l = e->heap[0];

		world_tell(w, HAPPENING_EXPIRED, l->owner ? l->owner->thing.name : NULL,
			e->thing.name, 0, "the lease %" PRIx64 " of %s ran out", (uint64_t)l->id,
			l->owner ? l->owner->thing.name : "nobody");
		sim_etcd_revoke(w, e, l, "its lease ran out");
	}
}

static void tick(struct world *w, void *who, int64_t a, int64_t b)
{
	struct sim_etcd *e = who;

	(void)a;
	(void)b;
	sim_etcd_members_tick(w, e);
	/* Only a leader counts the time of leases (lessor.go, Promote and Demote). */
	if (e->leader >= 0 && e->lost_ms == INT64_MIN)
		expire(w, e);
	world_after(w, SIM_ETCD_TICK_MS, tick, e, 0, 0);
}

/* ---- making and freeing ---- */

static void watches_free(struct sim_etcd_watch *watch)
{
	struct sim_etcd_watch *next;

	for (; watch; watch = next) {
		next = watch->next;
		free(watch);
	}
}

static void etcd_free(struct thing *t)
{
	struct sim_etcd *e = (struct sim_etcd *)t;
	struct sim_etcd_dir *dir, *next_dir;
	struct sim_etcd_lease *l, *next_lease;
	struct sim_etcd_key *key;
	size_t i;

	for (dir = e->first_dir; dir; dir = next_dir) {
		next_dir = dir->next;
		while ((key = dir->first) != NULL) {
			dir->first = key->dir_next;
			watches_free(key->watches);
			key_free(key);
		}
		free(dir->name);
		free(dir);
	}
	for (l = e->first_lease; l; l = next_lease) {
		next_lease = l->next;
		free(l);
	}
	watches_free(e->due);
	for (i = 0; i < e->n_shown; i++)
		free(e->shown[i].prefix);
	for (i = 0; i < e->n_event_slots; i++)
		event_clear(&e->events[i]);
	free(e->events);
	sim_etcd_members_free(e);
	map_release(&e->keys);
	map_release(&e->dirs);
	map_release(&e->leases);
	free(e->shown);
	free(e->heap);
	free(e->version);
	free(e);
}

const struct thing_ops sim_etcd_ops = { .kind = "etcd", .free = etcd_free };

static void member_make(struct world *w, struct sim_etcd *e, struct machine *machine)
{
	struct sim_etcd_member *m = &e->members[e->n_members++];
	struct str text;

	str_init(&text, 256);
	str_addf(&text, "http://%s:2379", machine->thing.name);
	*m = (struct sim_etcd_member){ .machine = machine,
		.endpoint = str_take(&text),
		.id = sim_random_next(world_random(w)) | 1,
		.alone_ms = INT64_MIN };
	m->next_id = m->id << 48 | ((uint64_t)(world_now_us(w) / 1000) & 0xffffffffffULL) << 8;
}

struct sim_etcd *sim_etcd_new(struct world *w, const char *name, struct machine *const *machines,
	size_t n_machines, const char *version)
{
	struct sim_etcd *e = xcalloc(1, sizeof(*e));
	size_t i;

	map_init(&e->keys);
	map_init(&e->dirs);
	map_init(&e->leases);
	e->version = xstrdup(version ? version : "3.5.17");
	e->cluster_id = sim_random_next(world_random(w));
	for (i = 0; i < n_machines && i < SIM_ETCD_MEMBERS_MOST; i++)
		member_make(w, e, machines[i]);
	/* It is not new: some terms, and some revisions by others. */
	e->term = 2 + (int64_t)sim_random_below(world_random(w), 7);
	e->revision = 1000 + (int64_t)sim_random_below(world_random(w), 9000);
	e->index = e->revision * 2 + (int64_t)sim_random_below(world_random(w), 1000);
	e->db_size = 2 * 1024 * 1024 + e->revision * KEY_BYTES;
	e->lost_ms = INT64_MIN;
	world_add(w, &e->thing, &sim_etcd_ops, name);
	sim_etcd_members_tick(w, e);
	world_after(w, SIM_ETCD_TICK_MS, tick, e, 0, 0);
	return e;
}

void sim_etcd_show(struct sim_etcd *e, const char *prefix, enum sim_etcd_layout layout, bool exact)
{
	size_t i;

	for (i = 0; i < e->n_shown; i++)
		if (str_eq(e->shown[i].prefix, prefix) && e->shown[i].exact == exact)
			return;
	MEM_GROW(e->shown, e->n_shown, e->cap_shown);
	e->shown[e->n_shown++] = (struct sim_etcd_shown){
		.prefix = xstrdup(prefix), .layout = layout, .exact = exact
	};
}
