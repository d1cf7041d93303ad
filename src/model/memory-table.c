#include "config.h"

#include "model/memory-pack.h"
#include "base/map.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

struct slice slice_of(const char *s)
{
	return (struct slice){ s, strlen(s) };
}

/* ---- entries ---- */

static size_t cut(struct slice text)
{
	return text.len < REMEMBERED_TEXT_MOST ? text.len : REMEMBERED_TEXT_MOST;
}

size_t remembered_room(struct slice key, struct slice identity, struct slice client)
{
	return cut(key) + cut(identity) + cut(client) + 3;
}

struct remembered *remembered_new(struct slice id, size_t room)
{
	struct remembered *r = xmalloc(sizeof(*r) + id.len + 1 + room);

	memset(r, 0, sizeof(*r));
	memcpy(r->id, id.s, id.len);
	r->id[id.len] = '\0';
	r->id_len = (uint32_t)id.len;
	r->room = (uint16_t)room;
	r->known_since_us = r->last_seen_us = r->holder_since_us = TIME_UNKNOWN;
	r->state_since_us = r->last_change_us = TIME_UNKNOWN;
	r->last_change_ms = r->lease_deadline_ms = TIME_UNKNOWN;
	r->state = STATE_UNKNOWN;
	return r;
}

void remembered_free(struct remembered *r)
{
	if (r->past) {
		free(r->past->strings);
		free(r->past);
	}
	if (r->holder_apart)
		free(r->holder);
	free(r);
}

struct remembered_past *remembered_make_past(struct remembered *r)
{
	if (r->past)
		return r->past;
	r->past = xcalloc(1, sizeof(*r->past));
	r->past->first_session_us = r->past->session_since_us = TIME_UNKNOWN;
	r->past->previous_since_us = r->past->previous_until_us = TIME_UNKNOWN;
	r->past->previous_seen_us = TIME_UNKNOWN;
	r->past->overlap_us = r->past->regress_us = r->past->renamed_us = TIME_UNKNOWN;
	r->past->previous_left_ms = TIME_UNKNOWN;
	return r->past;
}

size_t remembered_times(struct remembered *r, int64_t *ret[REMEMBERED_TIMES])
{
	int64_t *const own[] = { &r->known_since_us, &r->last_seen_us, &r->holder_since_us,
		&r->state_since_us, &r->last_change_us };
	struct remembered_past *p = r->past;
	size_t n = ARRAY_LEN(own), i;

	memcpy(ret, own, sizeof(own));
	if (!p)
		return n;
	for (i = 0; i < MEMORY_CHANGES; i++)
		ret[n++] = &p->changes_us[i];
	ret[n++] = &p->first_session_us;
	ret[n++] = &p->session_since_us;
	ret[n++] = &p->previous_since_us;
	ret[n++] = &p->previous_until_us;
	ret[n++] = &p->previous_seen_us;
	ret[n++] = &p->overlap_us;
	ret[n++] = &p->regress_us;
	ret[n++] = &p->renamed_us;
	return n;
}

/* Three texts, each ended by NUL, of which the first has all the room it needs. */
static void pack_texts(char *to, struct slice key, struct slice identity, struct slice client)
{
	const struct slice texts[] = { key, identity, client };
	size_t i;

	for (i = 0; i < ARRAY_LEN(texts); i++) {
		size_t len = cut(texts[i]);

		memcpy(to, texts[i].s, len);
		to[len] = '\0';
		to += len + 1;
	}
}

void remembered_set_holder(
	struct remembered *r, struct slice key, struct slice identity, struct slice client)
{
	size_t room = remembered_room(key, identity, client);

	if (r->holder_apart)
		free(r->holder);
	r->holder_apart = room > r->room;
	r->holder = r->holder_apart ? xmalloc(room) : r->id + r->id_len + 1;
	pack_texts(r->holder, key, identity, client);
	r->identity_at = (uint16_t)(cut(key) + 1);
	r->client_at = (uint16_t)(r->identity_at + cut(identity) + 1);
}

void remembered_set_previous(
	struct remembered_past *p, struct slice key, struct slice identity, struct slice client)
{
	char *block = xmalloc(remembered_room(key, identity, client));

	pack_texts(block, key, identity, client);
	free(p->strings);
	p->strings = block;
	p->previous_key = block;
	p->previous_identity = block + cut(key) + 1;
	p->previous_client = p->previous_identity + cut(identity) + 1;
}

/* ---- packed and opened ---- */

enum {
	OPENED_MOST = 256,
	OPENED_STAY = 16384, /* entries of a memory that may all be open: some 4 MB */
	TABLE_FROM = 8,      /* so few entries are looked through one by one */
	OPEN = INT32_MIN,    /* the bit in a place */
	LOG_MOST = 256 * 1024 * 1024,
	GARBAGE_LEAST = 256 * 1024,
	REST_PART = 8, /* at rest older forms are no more than that part */
	SPARE_MOST = UINT8_MAX,
	SPARE_LATER =
		10, /* what an entry grows by when it is seen for the first time in this run */
};

/*
 * In the log an entry stands behind a byte that says how many bytes are spare behind it, so that
 * one that grows a little need not go elsewhere.
 */
static const unsigned char *log_entry(const struct memory *m, uint32_t at)
{
	return m->log + at + 1;
}

static bool place_is_open(uint32_t place)
{
	return place & (uint32_t)OPEN;
}

static struct memory_opened *place_opened(const struct memory *m, uint32_t place)
{
	return &m->opened[place & ~(uint32_t)OPEN];
}

struct slice memory_id(const struct memory *m, size_t number)
{
	uint32_t place = m->places[number];

	if (place_is_open(place)) {
		const struct remembered *r = place_opened(m, place)->r;

		return (struct slice){ r->id, r->id_len };
	}
	return packed_look(log_entry(m, place)).id;
}

/* What is present was seen when all was seen last. */
static void see_again(const struct memory *m, struct remembered *r)
{
	if (r->present && m->seen_us > r->last_seen_us)
		r->last_seen_us = m->seen_us;
}

/* An entry of the caller's own, as it is packed; len is set to all the room it has. */
static struct remembered *entry_unpack(const struct memory *m, uint32_t at, uint32_t *ret_len)
{
	struct pack_reader in = {
		.at = log_entry(m, at), .end = m->log + m->log_len, .base = m->base
	};
	struct remembered *r = unpack_entry(&in);

	see_again(m, r);
	*ret_len = (uint32_t)(in.at - log_entry(m, at)) + m->log[at];
	return r;
}

static void entry_opened(
	struct memory *m, size_t number, struct remembered *r, uint32_t at, uint32_t len)
{
	MEM_GROW(m->opened, m->n_opened, m->cap_opened);
	m->opened[m->n_opened] =
		(struct memory_opened){ .r = r, .number = (uint32_t)number, .at = at, .len = len };
	m->places[number] = (uint32_t)OPEN | (uint32_t)m->n_opened++;
}

static struct remembered *entry_open(struct memory *m, size_t number)
{
	uint32_t place = m->places[number], len;
	struct remembered *r;

	if (place_is_open(place))
		return place_opened(m, place)->r;
	r = entry_unpack(m, place, &len);
	entry_opened(m, number, r, place, len);
	return r;
}

static void log_reserve(struct memory *m, size_t more)
{
	if (m->log_cap - m->log_len >= more)
		return;
	m->log_cap += m->log_cap / 2 + more + 4096;
	m->log = xrealloc(m->log, m->log_cap, 1);
}

/* The first time that is packed is what the others are told against. */
static void base_from(struct memory *m, struct remembered *r)
{
	int64_t *times[REMEMBERED_TIMES];
	size_t i, n;

	if (m->base.us == TIME_UNKNOWN)
		for (i = 0, n = remembered_times(r, times); i < n && m->base.us == TIME_UNKNOWN;
			i++)
			m->base.us = *times[i];
	if (m->base.ms == TIME_UNKNOWN)
		m->base.ms = r->last_change_ms;
	if (m->base.ms == TIME_UNKNOWN)
		m->base.ms = r->lease_deadline_ms;
}

static void note_youngest(struct memory *m, struct remembered *r)
{
	int64_t *times[REMEMBERED_TIMES];
	size_t i, n = remembered_times(r, times);

	for (i = 0; i < n; i++)
		if (*times[i] > m->youngest_us)
			m->youngest_us = *times[i];
}

/* Over its old bytes where these have the room; else behind all. */
static void entry_pack(struct memory *m, struct memory_opened *o)
{
	size_t len, spare;
	unsigned char *fresh;

	base_from(m, o->r);
	note_youngest(m, o->r);
	log_reserve(m, 1 + pack_entry_most(o->r) + SPARE_LATER);
	fresh = m->log + m->log_len + 1;
	len = (size_t)(pack_entry(fresh, o->r, &m->base, true) - fresh);
	if (o->len && len <= o->len && o->len - len <= SPARE_MOST) {
		memcpy(m->log + o->at + 1, fresh, len);
		spare = o->len - len;
	} else {
		m->garbage += o->len ? 1 + o->len : 0;
		spare = o->r->present ? 0 : SPARE_LATER;
		o->at = (uint32_t)m->log_len;
		m->log_len += 1 + len + spare;
	}
	m->log[o->at] = (unsigned char)spare;
	m->places[o->number] = o->at;
	remembered_free(o->r);
}

/* Passes over the entry at that place; returns all the room it has. */
static size_t entry_walk(const struct memory *m, uint32_t at, struct packed_parts *ret)
{
	struct pack_reader in = {
		.at = log_entry(m, at), .end = m->log + m->log_len, .base = m->base
	};

	unpack_walk(&in, ret);
	return (size_t)(in.at - log_entry(m, at)) + m->log[at];
}

/* What is present was seen when all was seen last. */
static int64_t last_seen(const struct memory *m, const struct packed_parts *parts)
{
	return parts->look.present && m->seen_us > parts->last_seen_us ? m->seen_us
								       : parts->last_seen_us;
}

static size_t packed_len(const struct memory *m, uint32_t at)
{
	struct packed_parts parts;

	return entry_walk(m, at, &parts);
}

/* Leaves out what older forms left behind. Nothing may be open. */
static void log_compact(struct memory *m)
{
	size_t cap = m->log_len - m->garbage, i, len, at = 0;
	unsigned char *log = cap ? xmalloc(cap) : NULL;

	for (i = 0; i < m->n; i++) {
		len = 1 + packed_len(m, m->places[i]);
		memcpy(log + at, m->log + m->places[i], len);
		m->places[i] = (uint32_t)at;
		at += len;
	}
	free(m->log);
	m->log = log;
	m->log_len = at;
	m->log_cap = cap;
	m->garbage = 0;
}

static void memory_forget(struct memory *m, size_t n);
static void memory_make_room(struct memory *m, size_t more);

/* Packs what is open, and forgets nothing: every number stays. */
static void memory_pack_opened(struct memory *m)
{
	size_t i;

	for (i = 0; i < m->n_opened; i++)
		entry_pack(m, &m->opened[i]);
	m->n_opened = 0;
	if (m->garbage > GARBAGE_LEAST && m->garbage > m->log_len / 2)
		log_compact(m);
}

void memory_settle(struct memory *m)
{
	memory_pack_opened(m);
	/* Only where ids and identities are of kilobytes. */
	if (m->log_len > LOG_MOST && m->n) {
		memory_forget(m, m->n / 4 + 1);
		log_compact(m);
	}
}

void memory_rest(struct memory *m)
{
	memory_settle(m);
	if (m->garbage > GARBAGE_LEAST && m->garbage > m->log_len / REST_PART)
		log_compact(m);
}

void memory_settle_many(struct memory *m)
{
	if (m->n_opened >= OPENED_MOST)
		memory_settle(m);
}

void memory_settle_watched(struct memory *m)
{
	if (m->n > OPENED_STAY)
		memory_settle_many(m);
}

/* ---- the table ---- */

void memory_init(struct memory *m)
{
	struct map random;

	memset(m, 0, sizeof(*m));
	map_init(&random);
	memcpy(m->seed, random.seed, sizeof(m->seed));
	m->cap = MEMORY_ENTRIES_MAX;
	m->confirmed_us = m->seen_us = m->youngest_us = TIME_UNKNOWN;
	m->base = (struct memory_base){ .us = TIME_UNKNOWN, .ms = TIME_UNKNOWN };
}

struct remembered *memory_next(struct memory *m, size_t *pos)
{
	if (m->n_opened >= OPENED_MOST)
		memory_pack_opened(m);
	return *pos < m->n ? entry_open(m, (*pos)++) : NULL;
}

bool memory_peek(const struct memory *m, size_t pos, bool *ret_held, bool *ret_present)
{
	struct packed_look look;

	if (pos >= m->n)
		return false;
	if (place_is_open(m->places[pos])) {
		const struct remembered *r = place_opened(m, m->places[pos])->r;

		*ret_held = r->held;
		*ret_present = r->present;
		return true;
	}
	look = packed_look(log_entry(m, m->places[pos]));
	*ret_held = look.held;
	*ret_present = look.present;
	return true;
}

static void memory_close_all(struct memory *m)
{
	size_t i;

	for (i = 0; i < m->n_opened; i++)
		remembered_free(m->opened[i].r);
	m->n = m->n_opened = 0;
	m->log_len = m->garbage = 0;
}

/* What stays of a memory that has no entries any more. */
static void memory_empty(struct memory *m)
{
	m->log = NULL;
	m->places = m->table = NULL;
	m->opened = NULL;
	m->log_cap = m->room = m->size = m->cap_opened = 0;
	m->n = m->n_opened = m->log_len = m->garbage = 0;
}

void memory_release(struct memory *m)
{
	memory_close_all(m);
	free(m->log);
	free(m->places);
	free(m->table);
	free(m->opened);
	memory_empty(m);
}

void memory_clear(struct memory *m)
{
	memory_close_all(m);
	if (m->table)
		memset(m->table, 0, m->size * sizeof(*m->table));
}

static uint32_t memory_hash(const struct memory *m, struct slice id)
{
	return (uint32_t)map_siphash(m->seed, id.s, id.len);
}

static bool has_id(const struct memory *m, size_t number, struct slice id)
{
	struct slice own = memory_id(m, number);

	return own.len == id.len && memcmp(own.s, id.s, id.len) == 0;
}

/*
 * The slot of that id, or the free one where it would stand. There is always a free one. The bits
 * of the hash in a slot spare most looks at entries of another id.
 */
static size_t memory_slot(const struct memory *m, struct slice id, uint32_t hash)
{
	size_t mask = m->size - 1, i = hash & mask;

	for (; m->table[i]; i = (i + 1) & mask)
		if (m->table[i] >> 24 == hash >> 24 && has_id(m, (m->table[i] & 0xffffff) - 1, id))
			break;
	return i;
}

static uint32_t slot_of(uint32_t hash, size_t number)
{
	return (hash & UINT32_C(0xff000000)) | (uint32_t)(number + 1);
}

/* The number of the entry of that id, or SIZE_MAX. */
static size_t memory_number(const struct memory *m, struct slice id)
{
	size_t i;

	if (m->size)
		return (size_t)(m->table[memory_slot(m, id, memory_hash(m, id))] & 0xffffff) - 1;
	for (i = 0; i < m->n; i++)
		if (has_id(m, i, id))
			return i;
	return SIZE_MAX;
}

struct remembered *memory_get(struct memory *m, struct slice id)
{
	size_t number = memory_number(m, id);

	return number == SIZE_MAX ? NULL : entry_open(m, number);
}

struct remembered *memory_find(struct memory *m, const char *id)
{
	return memory_get(m, slice_of(id));
}

/* Makes the table anew, of that size, from all entries. */
static void memory_rehash(struct memory *m, size_t size)
{
	size_t i, at;

	free(m->table);
	m->table = xcalloc(size, sizeof(*m->table));
	m->size = size;
	for (i = 0; i < m->n; i++) {
		uint32_t hash = memory_hash(m, memory_id(m, i));

		for (at = hash & (size - 1); m->table[at]; at = (at + 1) & (size - 1))
			continue;
		m->table[at] = slot_of(hash, i);
	}
}

static void memory_reserve(struct memory *m, size_t n)
{
	size_t size = m->size ? m->size : 16;

	if (n > m->room) {
		m->room = n > m->room + m->room / 2 ? n : m->room + m->room / 2;
		m->places = xrealloc(m->places, m->room, sizeof(*m->places));
	}
	if (n <= TABLE_FROM && !m->size)
		return;
	/* Seven eighths full: the bits in the slots make long probes cheap, and a small table stays
	 * in the cache. */
	while (n * 8 > size * 7)
		size *= 2;
	if (size != m->size)
		memory_rehash(m, size);
}

/* Gives the next entry its number, which is returned; SIZE_MAX: one of that id is there. */
static size_t memory_add(struct memory *m, struct slice id)
{
	uint32_t hash;
	size_t slot;

	memory_make_room(m, 1);
	memory_reserve(m, m->n + 1);
	if (!m->size)
		return memory_number(m, id) == SIZE_MAX ? m->n++ : SIZE_MAX;
	hash = memory_hash(m, id);
	slot = memory_slot(m, id, hash);
	if (m->table[slot])
		return SIZE_MAX;
	m->table[slot] = slot_of(hash, m->n);
	return m->n++;
}

void memory_take_over(struct memory *m, struct memory *from)
{
	struct memory taken = *from;

	taken.cap = m->cap;
	taken.confirmed_us = m->confirmed_us;
	taken.seen_us = m->seen_us;
	taken.dirty = true;
	memory_release(m);
	*m = taken;
	memory_empty(from);
}

void memory_look(const struct memory *m, size_t number, struct packed_parts *ret)
{
	entry_walk(m, m->places[number], ret);
	ret->last_seen_us = last_seen(m, ret);
}

struct remembered *memory_copy(const struct memory *m, size_t number)
{
	uint32_t len;

	return number < m->n ? entry_unpack(m, m->places[number], &len) : NULL;
}

/* ---- forgetting ---- */

/* What decides who is forgotten first. */
struct candidate {
	int64_t last_seen_us;
	struct slice id;
	bool present;
	uint32_t place;
};

/* Those to be forgotten first come first. */
static int older_first(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	size_t len = x->id.len < y->id.len ? x->id.len : y->id.len;
	int diff;

	if (x->present != y->present)
		return x->present ? 1 : -1;
	if (x->last_seen_us != y->last_seen_us)
		return x->last_seen_us < y->last_seen_us ? -1 : 1;
	diff = memcmp(x->id.s, y->id.s, len);
	return diff ? diff : (x->id.len > y->id.len) - (x->id.len < y->id.len);
}

static struct candidate candidate_of(const struct memory *m, uint32_t place)
{
	struct packed_parts parts;

	entry_walk(m, place, &parts);
	return (struct candidate){ .last_seen_us = last_seen(m, &parts),
		.id = parts.look.id,
		.present = parts.look.present,
		.place = place };
}

/* Nothing may be open. */
static void memory_forget(struct memory *m, size_t n)
{
	struct candidate *all = xcalloc(m->n, sizeof(*all));
	size_t i;

	if (n > m->n)
		n = m->n;
	for (i = 0; i < m->n; i++)
		all[i] = candidate_of(m, m->places[i]);
	qsort(all, m->n, sizeof(*all), older_first);
	for (i = 0; i < n; i++)
		m->garbage += 1 + packed_len(m, all[i].place);
	for (i = n; i < m->n; i++)
		m->places[i - n] = all[i].place;
	free(all);
	m->n -= n;
	if (m->size)
		memory_rehash(m, m->size);
	m->dirty = true;
}

/* Somewhat more than must be, so that the sorting is paid for by many additions. */
static void memory_make_room(struct memory *m, size_t more)
{
	size_t cap = m->cap < MEMORY_TABLE_MOST ? m->cap : MEMORY_TABLE_MOST;

	if (!m->n || m->n + more <= cap)
		return;
	memory_settle(m);
	if (m->n + more > cap)
		memory_forget(m, m->n + more - cap + cap / 16);
}

void memory_shrink(struct memory *m)
{
	memory_make_room(m, 0);
}

void memory_expect(struct memory *m, size_t n, size_t bytes)
{
	memory_reserve(m, n);
	m->log_cap = m->log_len + bytes + n * (1 + SPARE_LATER);
	m->log = xrealloc(m->log, m->log_cap, 1);
}

bool memory_insert(struct memory *m, struct remembered *r)
{
	size_t number = memory_add(m, (struct slice){ r->id, r->id_len });

	if (number == SIZE_MAX)
		return false;
	entry_opened(m, number, r, 0, 0);
	m->dirty = true;
	return true;
}

bool memory_insert_packed(
	struct memory *m, const unsigned char *entry, size_t len, const struct packed_parts *parts)
{
	size_t number = memory_add(m, parts->look.id);

	if (number == SIZE_MAX)
		return false;
	log_reserve(m, 1 + len + SPARE_LATER);
	m->places[number] = (uint32_t)m->log_len;
	m->log[m->log_len] = SPARE_LATER;
	memcpy(m->log + m->log_len + 1, entry, len);
	m->log_len += 1 + len + SPARE_LATER;
	if (parts->youngest_us > m->youngest_us)
		m->youngest_us = parts->youngest_us;
	m->dirty = true;
	return true;
}
