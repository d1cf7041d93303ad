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

struct remembered *remembered_new(struct slice id)
{
	struct remembered *r = xmalloc(sizeof(*r) + id.len + 1);

	memset(r, 0, sizeof(*r));
	memcpy(r->id, id.s, id.len);
	r->id[id.len] = '\0';
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
	r->past->overlap_us = r->past->regress_us = r->past->renamed_us = TIME_UNKNOWN;
	r->past->previous_left_ms = TIME_UNKNOWN;
	return r->past;
}

static size_t cut(struct slice text)
{
	return text.len < REMEMBERED_TEXT_MOST ? text.len : REMEMBERED_TEXT_MOST;
}

/* Three texts in one block, each ended by NUL; where the second and the third begin comes back. */
static char *pack_texts(struct slice key, struct slice identity, struct slice client,
	size_t *ret_identity, size_t *ret_client)
{
	size_t a = cut(key) + 1, b = cut(identity) + 1, c = cut(client) + 1;
	char *block = xmalloc(a + b + c);

	memcpy(block, key.s, a - 1);
	memcpy(block + a, identity.s, b - 1);
	memcpy(block + a + b, client.s, c - 1);
	block[a - 1] = block[a + b - 1] = block[a + b + c - 1] = '\0';
	*ret_identity = a;
	*ret_client = a + b;
	return block;
}

void remembered_set_holder(
	struct remembered *r, struct slice key, struct slice identity, struct slice client)
{
	size_t identity_at, client_at;
	char *block = pack_texts(key, identity, client, &identity_at, &client_at);

	free(r->holder);
	r->holder = block;
	r->identity_at = (uint16_t)identity_at;
	r->client_at = (uint16_t)client_at;
}

void remembered_set_previous(
	struct remembered_past *p, struct slice key, struct slice identity, struct slice client)
{
	size_t identity_at, client_at;
	char *block = pack_texts(key, identity, client, &identity_at, &client_at);

	free(p->strings);
	p->strings = block;
	p->previous_key = block;
	p->previous_identity = block + identity_at;
	p->previous_client = block + client_at;
}

/* ---- the table ---- */

void memory_init(struct memory *m)
{
	struct map random;

	memset(m, 0, sizeof(*m));
	map_init(&random);
	memcpy(m->seed, random.seed, sizeof(m->seed));
	m->cap = MEMORY_ENTRIES_MAX;
}

struct remembered *memory_next(const struct memory *m, size_t *pos)
{
	while (*pos < m->size) {
		struct remembered *r = m->slots[(*pos)++];

		if (r)
			return r;
	}
	return NULL;
}

void memory_release(struct memory *m)
{
	struct remembered *r;
	size_t pos = 0;

	while ((r = memory_next(m, &pos)) != NULL)
		remembered_free(r);
	free(m->slots);
	m->slots = NULL;
	m->n = m->size = 0;
}

static uint32_t memory_hash(const struct memory *m, struct slice id)
{
	return (uint32_t)map_siphash(m->seed, id.s, id.len);
}

/* The slot of that id, or the free one where it would stand. There is always a free one. */
static size_t memory_slot(const struct memory *m, struct slice id, uint32_t hash)
{
	size_t mask = m->size - 1, i = hash & mask;

	for (; m->slots[i]; i = (i + 1) & mask)
		if (m->slots[i]->hash == hash && strncmp(m->slots[i]->id, id.s, id.len) == 0 &&
			!m->slots[i]->id[id.len])
			break;
	return i;
}

struct remembered *memory_get(const struct memory *m, struct slice id)
{
	return m->n ? m->slots[memory_slot(m, id, memory_hash(m, id))] : NULL;
}

struct remembered *memory_find(const struct memory *m, const char *id)
{
	return memory_get(m, slice_of(id));
}

static void memory_resize(struct memory *m, size_t size)
{
	struct remembered **old = m->slots;
	size_t old_size = m->size, i;

	m->slots = xcalloc(size, sizeof(struct remembered *));
	m->size = size;
	for (i = 0; i < old_size; i++) {
		size_t at;

		if (!old[i])
			continue;
		for (at = old[i]->hash & (size - 1); m->slots[at]; at = (at + 1) & (size - 1))
			continue;
		m->slots[at] = old[i];
	}
	free(old);
}

void memory_reserve(struct memory *m, size_t n)
{
	size_t size = m->size ? m->size : 16;

	while (n * 4 > size * 3)
		size *= 2;
	if (size != m->size)
		memory_resize(m, size);
}

static void memory_remove(struct memory *m, struct remembered *r)
{
	size_t mask = m->size - 1, hole = memory_slot(m, slice_of(r->id), r->hash), i;

	m->slots[hole] = NULL;
	m->n--;
	/* Linear probing without tombstones: pull back every later entry that may stand in the
	 * hole. */
	for (i = (hole + 1) & mask; m->slots[i]; i = (i + 1) & mask) {
		size_t home = m->slots[i]->hash & mask;

		if (((i - home) & mask) < ((i - hole) & mask))
			continue;
		m->slots[hole] = m->slots[i];
		m->slots[i] = NULL;
		hole = i;
	}
	remembered_free(r);
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
	struct remembered **all = xcalloc(m->n, sizeof(struct remembered *)), *r;
	size_t pos = 0, count = 0, i;

	while ((r = memory_next(m, &pos)) != NULL)
		all[count++] = r;
	qsort(all, count, sizeof(struct remembered *), older_first);
	for (i = 0; i < count && i < n; i++)
		memory_remove(m, all[i]);
	free(all);
	m->dirty = true;
}

void memory_shrink(struct memory *m)
{
	/* Somewhat more than must be, so that the sorting is paid for by many additions. */
	if (m->n > m->cap)
		memory_forget(m, m->n - m->cap + m->cap / 16);
}

bool memory_insert(struct memory *m, struct remembered *r)
{
	struct slice id = slice_of(r->id);
	size_t slot;

	if (m->n >= m->cap)
		memory_forget(m, m->n - m->cap + m->cap / 16 + 1);
	memory_reserve(m, m->n + 1);
	r->hash = memory_hash(m, id);
	slot = memory_slot(m, id, r->hash);
	if (m->slots[slot])
		return false;
	m->slots[slot] = r;
	m->n++;
	m->dirty = true;
	return true;
}
