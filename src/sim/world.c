#include "config.h"

#include "sim/world.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/pool.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	KINDS_MOST = 32,
	TEXT_MOST = 400,
	COUNT_MOST = 64
};

struct event {
	int64_t at_ms;
	uint64_t seq; /* those of one moment happen in this order */
	world_fn *fn;
	void *who;
	int64_t a, b;
};

/* The things of one kind, in the order in which they were made, and found by name. */
struct kind {
	const struct thing_ops *ops;
	struct thing *first, *last;
	struct map names;
};

struct count {
	char *name;
	int64_t n;
};

struct world {
	int64_t now_ms;
	int64_t epoch_us;
	struct sim_random random;
	struct event *heap; /* a binary heap: the next one first */
	size_t n, cap;
	uint64_t seq, events;
	struct kind kinds[KINDS_MOST];
	size_t n_kinds;
	struct happening *told;
	size_t n_told, cap_told;
	uint64_t untold; /* beyond the cap */
	struct count counts[COUNT_MOST];
	size_t n_counts;
	struct pool pool;
};

struct world *world_new(uint64_t seed, int64_t epoch_us)
{
	struct world *w = xcalloc(1, sizeof(*w));

	w->epoch_us = epoch_us;
	w->random.state = seed;
	pool_init(&w->pool);
	return w;
}

static void kind_free(struct kind *kind)
{
	struct thing *t, *next;

	for (t = kind->first; t; t = next) {
		char *name = t->name;

		next = t->next;
		if (kind->ops->free)
			kind->ops->free(t);
		free(name);
	}
	map_release(&kind->names);
}

void world_free(struct world *w)
{
	size_t i;

	if (!w)
		return;
	/* The newest kinds first: what was made later may point to what was there before. */
	for (i = w->n_kinds; i-- > 0;)
		kind_free(&w->kinds[i]);
	for (i = 0; i < w->n_told; i++) {
		free(w->told[i].who);
		free(w->told[i].what);
		free(w->told[i].text);
	}
	for (i = 0; i < w->n_counts; i++)
		free(w->counts[i].name);
	pool_clear(&w->pool);
	free(w->told);
	free(w->heap);
	free(w);
}

int64_t world_now_ms(const struct world *w)
{
	return w->now_ms;
}

int64_t world_now_us(const struct world *w)
{
	return w->epoch_us + w->now_ms * 1000;
}

struct sim_random *world_random(struct world *w)
{
	return &w->random;
}

uint64_t world_events(const struct world *w)
{
	return w->events;
}

/* ---- events ---- */

static bool event_before(const struct event *a, const struct event *b)
{
	return a->at_ms < b->at_ms || (a->at_ms == b->at_ms && a->seq < b->seq);
}

static void heap_up(struct world *w, size_t i)
{
	struct event event = w->heap[i];

	while (i && event_before(&event, &w->heap[(i - 1) / 2])) {
		w->heap[i] = w->heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	w->heap[i] = event;
}

/* The last event takes the place of the first, and sinks. */
static struct event heap_pop(struct world *w)
{
	struct event first = w->heap[0], event = w->heap[--w->n];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < w->n) {
		if (child + 1 < w->n && event_before(&w->heap[child + 1], &w->heap[child]))
			child++;
		if (!event_before(&w->heap[child], &event))
			break;
		w->heap[i] = w->heap[child];
		i = child;
	}
	if (w->n)
		w->heap[i] = event;
	return first;
}

void world_at(struct world *w, int64_t at_ms, world_fn *fn, void *who, int64_t a, int64_t b)
{
	MEM_GROW(w->heap, w->n, w->cap);
	w->heap[w->n] = (struct event){
		.at_ms = at_ms < w->now_ms ? w->now_ms : at_ms,
		.seq = w->seq++,
		.fn = fn,
		.who = who,
		.a = a,
		.b = b,
	};
	heap_up(w, w->n++);
}

void world_after(struct world *w, int64_t delay_ms, world_fn *fn, void *who, int64_t a, int64_t b)
{
	int64_t at;

	if (__builtin_add_overflow(w->now_ms, delay_ms, &at))
		at = INT64_MAX;
	if (at != INT64_MAX)
		world_at(w, at, fn, who, a, b);
}

int64_t world_next_ms(const struct world *w)
{
	return w->n ? w->heap[0].at_ms : INT64_MAX;
}

static void world_one(struct world *w)
{
	struct event event = heap_pop(w);

	w->now_ms = event.at_ms;
	w->events++;
	event.fn(w, event.who, event.a, event.b);
}

void world_run(struct world *w, int64_t until_ms)
{
	while (w->n && w->heap[0].at_ms <= until_ms)
		world_one(w);
	if (until_ms > w->now_ms)
		w->now_ms = until_ms;
}

bool world_step(struct world *w)
{
	if (!w->n)
		return false;
	world_run(w, w->heap[0].at_ms);
	return true;
}

void *world_get(struct world *w, size_t size)
{
	return pool_get(&w->pool, size);
}

void world_put(struct world *w, void *piece, size_t size)
{
	pool_put(&w->pool, piece, size);
}

/* ---- things ---- */

static struct kind *kind_of(const struct world *w, const struct thing_ops *ops)
{
	size_t i;

	for (i = 0; i < w->n_kinds; i++)
		if (w->kinds[i].ops == ops)
			return (struct kind *)(uintptr_t)&w->kinds[i];
	return NULL;
}

static struct kind *kind_add(struct world *w, const struct thing_ops *ops)
{
	struct kind *kind = kind_of(w, ops);

	if (kind)
		return kind;
	if (w->n_kinds == KINDS_MOST) {
		fprintf(stderr, "baton: bug: too many kinds of things\n");
		abort();
	}
	kind = &w->kinds[w->n_kinds++];
	kind->ops = ops;
	map_init(&kind->names);
	return kind;
}

void world_add(struct world *w, struct thing *t, const struct thing_ops *ops, const char *name)
{
	struct kind *kind = kind_add(w, ops);

	t->ops = ops;
	t->name = xstrdup(name);
	t->next = NULL;
	t->version = 1;
	if (kind->last)
		kind->last->next = t;
	else
		kind->first = t;
	kind->last = t;
	map_put(&kind->names, t->name, strlen(t->name), t);
}

struct thing *world_find(const struct world *w, const struct thing_ops *ops, const char *name)
{
	const struct kind *kind = kind_of(w, ops);

	return kind && name ? map_get(&kind->names, name, strlen(name)) : NULL;
}

struct thing *world_each(const struct world *w, const struct thing_ops *ops, struct thing *after)
{
	const struct kind *kind;

	if (after)
		return after->next;
	kind = kind_of(w, ops);
	return kind ? kind->first : NULL;
}

void thing_changed(struct thing *t)
{
	t->version++;
}

/* ---- what truly happened ---- */

static const char *const happening_words[] = {
#define HAPPENING(id, word, help) word,
#include "sim/happenings.def"
#undef HAPPENING
};

const char *happening_word(enum happening_kind kind)
{
	return happening_words[kind];
}

void world_tell(struct world *w, enum happening_kind kind, const char *who, const char *what,
	int64_t token, const char *fmt, ...)
{
	char text[TEXT_MOST];
	va_list args;

	if (w->n_told == HAPPENINGS_MOST) {
		w->untold++;
		return;
	}
	MEM_GROW(w->told, w->n_told, w->cap_told);
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	w->told[w->n_told++] = (struct happening){
		.at_ms = w->now_ms,
		.kind = kind,
		.who = xstrdup(who ? who : ""),
		.what = xstrdup(what ? what : ""),
		.text = xstrdup(text),
		.token = token,
	};
}

size_t world_told(const struct world *w)
{
	return w->n_told;
}

const struct happening *world_happening(const struct world *w, size_t i)
{
	return i < w->n_told ? &w->told[i] : NULL;
}

/* ---- counts ---- */

void world_count(struct world *w, const char *name, int64_t n)
{
	size_t i;

	for (i = 0; i < w->n_counts; i++)
		if (strcmp(w->counts[i].name, name) == 0)
			break;
	if (i == COUNT_MOST) {
		fprintf(stderr, "baton: bug: too many counts in a world\n");
		abort();
	}
	if (i == w->n_counts)
		w->counts[w->n_counts++] = (struct count){ .name = xstrdup(name) };
	w->counts[i].n += n;
}

int64_t world_counted(const struct world *w, const char *name)
{
	size_t i;

	for (i = 0; i < w->n_counts; i++)
		if (strcmp(w->counts[i].name, name) == 0)
			return w->counts[i].n;
	return 0;
}
