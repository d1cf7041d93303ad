#include "config.h"

#include "model/snapshot.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

const char *source_state_word(enum source_state state)
{
	static const char *const words[] = {
		[SOURCE_CONNECTING] = "connecting",
		[SOURCE_OK] = "ok",
		[SOURCE_DEGRADED] = "degraded",
		[SOURCE_FAILING] = "failing",
	};

	return words[state];
}

static struct chunk *chunk_ref(struct chunk *chunk)
{
	__atomic_add_fetch(&chunk->refs, 1, __ATOMIC_RELAXED);
	return chunk;
}

static void chunk_unref(struct chunk *chunk)
{
	uint32_t i;

	if (!chunk || __atomic_sub_fetch(&chunk->refs, 1, __ATOMIC_ACQ_REL) != 0)
		return;
	for (i = 0; i < chunk->n; i++)
		row_unref(chunk->rows[i]);
	free(chunk);
}

struct snapshot *snapshot_ref(const struct snapshot *snap)
{
	/* The counter is the one part of an immutable thing that changes. */
	struct snapshot *own = (struct snapshot *)(uintptr_t)snap;

	if (own)
		__atomic_add_fetch(&own->refs, 1, __ATOMIC_RELAXED);
	return own;
}

static char *copy_or_null(const char *s)
{
	return s ? xstrdup(s) : NULL;
}

static const char *const *copy_list(const char *const *list)
{
	const char **own;
	size_t n = 0, i;

	while (list && list[n])
		n++;
	if (!n)
		return NULL;
	own = xcalloc(n + 1, sizeof(*own));
	for (i = 0; i < n; i++)
		own[i] = xstrdup(list[i]);
	return own;
}

void hidden_copy(struct hidden *to, const struct hidden *from)
{
	*to = (struct hidden){
		.what = xstrdup(from->what),
		.remedy = copy_or_null(from->remedy),
		.rows = copy_or_null(from->rows),
		.except = copy_list(from->except),
		.chosen = from->chosen,
		.found = from->found,
	};
}

void hidden_release(struct hidden *hidden)
{
	size_t i;

	for (i = 0; hidden->except && hidden->except[i]; i++)
		free((char *)(uintptr_t)hidden->except[i]);
	free((char *)(uintptr_t)hidden->what);
	free((char *)(uintptr_t)hidden->remedy);
	free((char *)(uintptr_t)hidden->rows);
	free((void *)(uintptr_t)hidden->except);
	memset(hidden, 0, sizeof(*hidden));
}

static void hidden_free(const struct hidden *hidden, size_t n)
{
	struct hidden *own = (struct hidden *)(uintptr_t)hidden;

	while (n > 0)
		hidden_release(&own[--n]);
	free(own);
}

bool hidden_path_begins(const char *path, const char *start)
{
	size_t len = strlen(path), n = strlen(start);

	return n <= len ? memcmp(path, start, n) == 0
			: n == len + 1 && start[len] == '/' && memcmp(path, start, len) == 0;
}

/* Whether it hides a row of that path. */
static bool hidden_has(const struct hidden *h, const char *path)
{
	size_t i;

	if (!h->rows || !hidden_path_begins(path, h->rows))
		return false;
	for (i = 0; h->except && h->except[i]; i++)
		if (hidden_path_begins(path, h->except[i]))
			return false;
	return true;
}

/* found: a mechanism's bit, or 0. */
static const struct hidden *hides(const struct snapshot *snap, const char *id, unsigned found)
{
	const char *path = strchr(id, '/');
	size_t i;

	for (i = 0; path && i < snap->n_hidden; i++)
		if (!(snap->hidden[i].found & found) && hidden_has(&snap->hidden[i], path + 1))
			return &snap->hidden[i];
	return NULL;
}

const struct hidden *snapshot_hides(const struct snapshot *snap, const char *id)
{
	return hides(snap, id, 0);
}

const struct hidden *snapshot_hides_of(
	const struct snapshot *snap, const char *id, enum mechanism mechanism)
{
	return hides(snap, id, 1u << mechanism);
}

void snapshot_unref(const struct snapshot *snap)
{
	struct snapshot *own = (struct snapshot *)(uintptr_t)snap;
	size_t i;

	if (!own || __atomic_sub_fetch(&own->refs, 1, __ATOMIC_ACQ_REL) != 0)
		return;
	for (i = 0; i < own->n_chunks; i++)
		chunk_unref(own->chunks[i]);
	free(own->chunks);
	hidden_free(own->hidden, own->n_hidden);
	free((char *)(uintptr_t)own->source);
	free((char *)(uintptr_t)own->kind);
	free((char *)(uintptr_t)own->environment);
	free((char *)(uintptr_t)own->error);
	free((char *)(uintptr_t)own->server);
	row_unref(own->self);
	free(own);
}

const struct row *snapshot_row(const struct snapshot *snap, size_t i)
{
	return snap->chunks[i / CHUNK_ROWS]->rows[i % CHUNK_ROWS];
}

const struct row *snapshot_find(const struct snapshot *snap, const char *id)
{
	size_t i;

	for (i = 0; i < snap->n_rows; i++) {
		const struct row *row = snapshot_row(snap, i);

		if (strcmp(row->s->id, id) == 0)
			return row;
	}
	return NULL;
}

void picture_init(struct picture *pic)
{
	struct map random;

	memset(pic, 0, sizeof(*pic));
	/* A map draws its seed. */
	map_init(&random);
	memcpy(pic->seed, random.seed, sizeof(pic->seed));
}

void picture_release(struct picture *pic)
{
	size_t i;

	for (i = 0; i < pic->n; i++) {
		singleton_unref(pic->slots[i].s);
		row_unref(pic->slots[i].row);
	}
	for (i = 0; i < pic->n_chunks; i++)
		chunk_unref(pic->chunks[i]);
	free(pic->slots);
	free(pic->next_ms);
	free(pic->told);
	free(pic->hashes);
	free(pic->chunks);
	free(pic->chunk_dirty);
	free(pic->index);
	memset(pic, 0, sizeof(*pic));
}

static void picture_touch(struct picture *pic, size_t slot)
{
	size_t chunk = slot / CHUNK_ROWS;

	while (pic->n_chunks <= chunk) {
		MEM_GROW(pic->chunk_dirty, pic->n_chunks, pic->cap_dirty);
		MEM_GROW(pic->chunks, pic->n_chunks, pic->cap_chunks);
		pic->chunks[pic->n_chunks] = NULL;
		pic->chunk_dirty[pic->n_chunks++] = true;
	}
	pic->chunk_dirty[chunk] = true;
}

/* ---- the index: slots by id ---- */

static uint32_t picture_hash(const struct picture *pic, const char *id)
{
	return (uint32_t)map_siphash(pic->seed, id, strlen(id));
}

/* Where that id stands in the index, or the free place where it would. There is always one. */
static size_t index_place(const struct picture *pic, const char *id, uint32_t hash)
{
	size_t mask = pic->size - 1, i;

	for (i = hash & mask; pic->index[i]; i = (i + 1) & mask) {
		size_t slot = pic->index[i] - 1;

		if (pic->hashes[slot] == hash && strcmp(pic->slots[slot].s->id, id) == 0)
			break;
	}
	return i;
}

static size_t index_of_slot(const struct picture *pic, size_t slot)
{
	size_t mask = pic->size - 1, i = pic->hashes[slot] & mask;

	while (pic->index[i] != slot + 1)
		i = (i + 1) & mask;
	return i;
}

/* Makes it, or a larger one: with room for one more. */
static void index_make(struct picture *pic)
{
	size_t i, at;

	if (!pic->size) {
		pic->hashes = xcalloc(pic->cap, sizeof(*pic->hashes));
		for (i = 0; i < pic->n; i++)
			pic->hashes[i] = picture_hash(pic, pic->slots[i].s->id);
	}
	while ((pic->n + 1) * 4 > pic->size * 3)
		pic->size = pic->size ? pic->size * 2 : 16;
	free(pic->index);
	pic->index = xcalloc(pic->size, sizeof(*pic->index));
	for (i = 0; i < pic->n; i++) {
		for (at = pic->hashes[i] & (pic->size - 1); pic->index[at];)
			at = (at + 1) & (pic->size - 1);
		pic->index[at] = (uint32_t)i + 1;
	}
}

/* Every later entry that may stand in the hole is pulled back, so that no marks are needed. */
static void index_remove(struct picture *pic, size_t slot)
{
	size_t mask = pic->size - 1, hole = index_of_slot(pic, slot), i;

	for (i = (hole + 1) & mask; pic->index[i]; i = (i + 1) & mask) {
		size_t home = pic->hashes[pic->index[i] - 1] & mask;

		if (((i - home) & mask) >= ((i - hole) & mask)) {
			pic->index[hole] = pic->index[i];
			hole = i;
		}
	}
	pic->index[hole] = 0;
}

struct picture_slot *picture_find(struct picture *pic, const char *id)
{
	uint32_t at;

	if (!pic->n)
		return NULL;
	if (!pic->size)
		index_make(pic);
	at = pic->index[index_place(pic, id, picture_hash(pic, id))];
	return at ? &pic->slots[at - 1] : NULL;
}

static void picture_grow(struct picture *pic)
{
	pic->cap = pic->cap ? pic->cap * 2 : 8;
	pic->slots = xrealloc(pic->slots, pic->cap, sizeof(*pic->slots));
	pic->next_ms = xrealloc(pic->next_ms, pic->cap, sizeof(*pic->next_ms));
	pic->told = xrealloc(pic->told, pic->cap, sizeof(*pic->told));
	if (pic->size)
		pic->hashes = xrealloc(pic->hashes, pic->cap, sizeof(*pic->hashes));
}

/* hash is that of its id where there is an index. */
static void picture_add(struct picture *pic, struct singleton *s, uint32_t hash)
{
	size_t i = pic->n;

	if (i == pic->cap)
		picture_grow(pic);
	pic->slots[i] = (struct picture_slot){ .s = s };
	pic->next_ms[i] = INT64_MIN;
	pic->told[i] = true;
	if (pic->size)
		pic->hashes[i] = hash;
	picture_touch(pic, pic->n++);
}

/* Whether what is put follows all that is there: large sources tell their first picture in order,
 * and as long as nothing is looked for, no index is needed. */
static bool picture_follows(const struct picture *pic, const char *id)
{
	return !pic->size && (!pic->n || strcmp(pic->slots[pic->n - 1].s->id, id) < 0);
}

bool picture_put(struct picture *pic, struct singleton *s)
{
	struct picture_slot *slot;
	uint32_t hash;
	size_t place, i;
	bool changed;

	if (picture_follows(pic, s->id)) {
		picture_add(pic, s, 0);
		return true;
	}
	if ((pic->n + 1) * 4 > pic->size * 3)
		index_make(pic);
	hash = picture_hash(pic, s->id);
	place = index_place(pic, s->id, hash);
	if (!pic->index[place]) {
		picture_add(pic, s, hash);
		pic->index[place] = (uint32_t)pic->n;
		return true;
	}
	i = pic->index[place] - 1;
	slot = &pic->slots[i];
	changed = slot->s->hash != s->hash;
	pic->told[i] = true;
	singleton_unref(slot->s);
	slot->s = s;
	if (changed)
		pic->next_ms[i] = INT64_MIN;
	return changed;
}

static void picture_take_out(struct picture *pic, size_t slot)
{
	if (!pic->size)
		index_make(pic);
	index_remove(pic, slot);
	singleton_unref(pic->slots[slot].s);
	row_unref(pic->slots[slot].row);
	pic->n--;
	if (slot != pic->n) {
		pic->index[index_of_slot(pic, pic->n)] = (uint32_t)slot + 1;
		pic->slots[slot] = pic->slots[pic->n];
		pic->next_ms[slot] = pic->next_ms[pic->n];
		pic->told[slot] = pic->told[pic->n];
		pic->hashes[slot] = pic->hashes[pic->n];
		picture_touch(pic, slot);
	}
	picture_touch(pic, pic->n);
}

bool picture_is_dirty(const struct picture *pic, size_t slot)
{
	return pic->next_ms[slot] == INT64_MIN;
}

bool picture_remove(struct picture *pic, const char *id)
{
	struct picture_slot *slot = picture_find(pic, id);

	if (!slot)
		return false;
	picture_take_out(pic, (size_t)(slot - pic->slots));
	return true;
}

void picture_begin(struct picture *pic)
{
	if (pic->n)
		memset(pic->told, 0, pic->n * sizeof(*pic->told));
}

void picture_keep(struct picture *pic, const char *id)
{
	const struct picture_slot *slot = picture_find(pic, id);

	if (slot)
		pic->told[slot - pic->slots] = true;
}

void picture_end(struct picture *pic, void (*gone)(void *arg, const struct singleton *s), void *arg)
{
	size_t i = 0;

	while (i < pic->n) {
		if (pic->told[i]) {
			i++;
			continue;
		}
		if (gone)
			gone(arg, pic->slots[i].s);
		picture_take_out(pic, i);
	}
}

ptrdiff_t picture_next_due(const struct picture *pic, size_t *pos, int64_t now_ms)
{
	while (*pos < pic->n) {
		size_t i = (*pos)++;

		if (pic->next_ms[i] <= now_ms)
			return (ptrdiff_t)i;
	}
	return -1;
}

void picture_redo(struct picture *pic, int64_t now_ms)
{
	size_t i;

	for (i = 0; i < pic->n; i++)
		if (pic->next_ms[i] > now_ms)
			pic->next_ms[i] = now_ms;
}

void picture_judged(struct picture *pic, size_t slot, struct row *row, int64_t next_ms)
{
	row_unref(pic->slots[slot].row);
	pic->slots[slot].row = row;
	pic->next_ms[slot] = next_ms;
	picture_touch(pic, slot);
}

int64_t picture_due_ms(const struct picture *pic)
{
	int64_t due = INT64_MAX;
	size_t i;

	for (i = 0; i < pic->n; i++)
		if (pic->next_ms[i] < due)
			due = pic->next_ms[i];
	return due;
}

static struct chunk *picture_chunk(const struct picture *pic, size_t number)
{
	size_t first = number * CHUNK_ROWS, i;
	struct chunk *chunk = xcalloc(1, sizeof(*chunk));

	chunk->refs = 1;
	chunk->size = sizeof(*chunk);
	for (i = first; i < pic->n && chunk->n < CHUNK_ROWS; i++) {
		struct row *row = row_ref(pic->slots[i].row);

		chunk->rows[chunk->n++] = row;
		chunk->by_state[row->v.state]++;
		chunk->attention += row->v.needs_attention;
		chunk->size += row_size(row);
		chunk->jobs += singleton_is_job(row->s);
	}
	return chunk;
}

static void picture_refresh_chunks(struct picture *pic)
{
	size_t want = (pic->n + CHUNK_ROWS - 1) / CHUNK_ROWS, i;

	for (i = 0; i < pic->n_chunks; i++) {
		if (i >= want || pic->chunk_dirty[i]) {
			chunk_unref(pic->chunks[i]);
			pic->chunks[i] = i < want ? picture_chunk(pic, i) : NULL;
		}
		pic->chunk_dirty[i] = false;
	}
	pic->n_chunks = want;
}

static struct hidden *hidden_copies(const struct hidden *from, size_t n)
{
	struct hidden *to = xcalloc(n, sizeof(*to));
	size_t i;

	for (i = 0; i < n; i++)
		hidden_copy(&to[i], &from[i]);
	return to;
}

struct snapshot *picture_publish(struct picture *pic, const struct snapshot *head)
{
	struct snapshot *snap = xmalloc(sizeof(*snap));
	size_t i;

	picture_refresh_chunks(pic);
	*snap = *head;
	snap->refs = 1;
	snap->seq = ++pic->seq;
	snap->source = xstrdup(head->source);
	snap->kind = xstrdup(head->kind);
	snap->environment = copy_or_null(head->environment);
	snap->error = copy_or_null(head->error);
	snap->server = copy_or_null(head->server);
	snap->self = row_ref(head->self);
	snap->hidden = hidden_copies(head->hidden, head->n_hidden);
	snap->n_rows = pic->n;
	snap->n_chunks = pic->n_chunks;
	snap->chunks = xcalloc(pic->n_chunks, sizeof(*snap->chunks));
	for (i = 0; i < pic->n_chunks; i++)
		snap->chunks[i] = chunk_ref(pic->chunks[i]);
	return snap;
}
