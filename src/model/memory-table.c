#include "config.h"

#include "model/memory-table.h"
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

/* ---- the table ---- */

void memory_init(struct memory *m)
{
	struct map random;

	memset(m, 0, sizeof(*m));
	map_init(&random);
	memcpy(m->seed, random.seed, sizeof(m->seed));
	m->cap = MEMORY_ENTRIES_MAX;
	m->confirmed_us = TIME_UNKNOWN;
}

struct remembered *memory_next(const struct memory *m, size_t *pos)
{
	return *pos < m->n ? m->all[(*pos)++] : NULL;
}

void memory_release(struct memory *m)
{
	size_t i;

	for (i = 0; i < m->n; i++)
		remembered_free(m->all[i]);
	free(m->all);
	free(m->table);
	m->all = NULL;
	m->table = NULL;
	m->n = m->room = m->size = 0;
}

void memory_clear(struct memory *m)
{
	size_t i;

	for (i = 0; i < m->n; i++)
		remembered_free(m->all[i]);
	m->n = 0;
	if (m->table)
		memset(m->table, 0, m->size * sizeof(*m->table));
}

static uint32_t memory_hash(const struct memory *m, struct slice id)
{
	return (uint32_t)map_siphash(m->seed, id.s, id.len);
}

static bool has_id(const struct remembered *r, uint32_t hash, struct slice id)
{
	return r->hash == hash && r->id_len == id.len && memcmp(r->id, id.s, id.len) == 0;
}

/*
 * The slot of that id, or the free one where it would stand. There is always a free one. The bits
 * of the hash in a slot spare most looks at entries of another id.
 */
static size_t memory_slot(const struct memory *m, struct slice id, uint32_t hash)
{
	size_t mask = m->size - 1, i = hash & mask;

	for (; m->table[i]; i = (i + 1) & mask)
		if (m->table[i] >> 24 == hash >> 24 &&
			has_id(m->all[(m->table[i] & 0xffffff) - 1], hash, id))
			break;
	return i;
}

static uint32_t slot_of(uint32_t hash, size_t number)
{
	return (hash & UINT32_C(0xff000000)) | (uint32_t)(number + 1);
}

struct remembered *memory_get(const struct memory *m, struct slice id)
{
	uint32_t slot = m->n ? m->table[memory_slot(m, id, memory_hash(m, id))] : 0;

	return slot ? m->all[(slot & 0xffffff) - 1] : NULL;
}

struct remembered *memory_find(const struct memory *m, const char *id)
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
		for (at = m->all[i]->hash & (size - 1); m->table[at]; at = (at + 1) & (size - 1))
			continue;
		m->table[at] = slot_of(m->all[i]->hash, i);
	}
}

void memory_reserve(struct memory *m, size_t n)
{
	size_t size = m->size ? m->size : 16;

	/* Seven eighths full: the bits in the slots make long probes cheap, and a small table stays
	 * in the cache. */
	while (n * 8 > size * 7)
		size *= 2;
	if (size != m->size)
		memory_rehash(m, size);
	if (n > m->room) {
		m->room = n > m->room + m->room / 2 ? n : m->room + m->room / 2;
		m->all = xrealloc(m->all, m->room, sizeof(struct remembered *));
	}
}

void memory_take_over(struct memory *m, struct memory *from)
{
	struct memory taken = *from;

	taken.cap = m->cap;
	taken.dirty = true;
	memory_release(m);
	*m = taken;
	from->all = NULL;
	from->table = NULL;
	from->n = from->room = from->size = 0;
}

/* ---- forgetting ---- */

/* Those to be forgotten first come first. */
static int older_first(const void *a, const void *b)
{
	const struct remembered *x = *(struct remembered *const *)a;
	const struct remembered *y = *(struct remembered *const *)b;

	if (x->present != y->present)
		return x->present ? 1 : -1;
	if (x->last_seen_us != y->last_seen_us)
		return x->last_seen_us < y->last_seen_us ? -1 : 1;
	return strcmp(x->id, y->id);
}

static void memory_forget(struct memory *m, size_t n)
{
	size_t i;

	if (n > m->n)
		n = m->n;
	qsort(m->all, m->n, sizeof(struct remembered *), older_first);
	for (i = 0; i < n; i++)
		remembered_free(m->all[i]);
	m->n -= n;
	memmove(m->all, m->all + n, m->n * sizeof(struct remembered *));
	memory_rehash(m, m->size);
	m->dirty = true;
}

/* Somewhat more than must be, so that the sorting is paid for by many additions. */
static void memory_make_room(struct memory *m, size_t more)
{
	size_t cap = m->cap < MEMORY_TABLE_MOST ? m->cap : MEMORY_TABLE_MOST;

	if (m->n && m->n + more > cap)
		memory_forget(m, m->n + more - cap + cap / 16);
}

void memory_shrink(struct memory *m)
{
	memory_make_room(m, 0);
}

bool memory_insert(struct memory *m, struct remembered *r)
{
	struct slice id = { r->id, r->id_len };
	size_t slot;

	memory_make_room(m, 1);
	memory_reserve(m, m->n + 1);
	r->hash = memory_hash(m, id);
	slot = memory_slot(m, id, r->hash);
	if (m->table[slot])
		return false;
	m->table[slot] = slot_of(r->hash, m->n);
	m->all[m->n++] = r;
	m->dirty = true;
	return true;
}
