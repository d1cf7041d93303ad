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
	WHEEL = 4096, /* milliseconds; a power of two */
	WORD = 64,
	KINDS_MOST = 32,
	TEXT_MOST = 400,
	COUNT_MOST = 64
};

/*
 * Most events are due within seconds: those stand in a wheel of one slot for each millisecond, each
 * a list in the order of arrival. What is further away waits in a heap, and is moved to the wheel
 * as soon as its slot is within reach, so before anything can arrive there directly: the order of
 * one moment stays that in which its events were scheduled.
 */
struct event {
	struct event *next; /* of the same slot */
	int64_t at_ms;
	uint64_t seq; /* orders the heap */
	world_fn *fn;
	void *who;
	int64_t a, b;
};

struct slot {
	struct event *first, *last;
};

/* The things of one kind, in the order in which they were made, and found by name. */
struct kind {
	const struct thing_ops *ops;
	struct thing *first, *last;
	uint64_t removed; /* the versions of those that are gone */
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
	struct slot wheel[WHEEL];      /* of at_ms % WHEEL: those from now on until now + WHEEL */
	uint64_t filled[WHEEL / WORD]; /* which slots have any */
	size_t n_wheel;
	struct event **heap; /* the others: a binary heap, the next one first */
	size_t n, cap;
	uint64_t seq, events;
	struct kind kinds[KINDS_MOST];
	size_t n_kinds;
	struct happening *told;
	size_t n_told, cap_told;
	uint64_t untold; /* beyond the cap, or what nobody will ask for */
	bool no_story;
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

static void thing_free(struct thing *t)
{
	char *name = t->name;

	if (t->ops->free)
		t->ops->free(t);
	free(name);
}

static void kind_free(struct kind *kind)
{
	struct thing *t, *next;

	for (t = kind->first; t; t = next) {
		next = t->next;
		thing_free(t);
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

static void heap_push(struct world *w, struct event *event)
{
	size_t i;

	MEM_GROW(w->heap, w->n, w->cap);
	for (i = w->n++; i && event_before(event, w->heap[(i - 1) / 2]); i = (i - 1) / 2)
		w->heap[i] = w->heap[(i - 1) / 2];
	w->heap[i] = event;
}

/* The last event takes the place of the first, and sinks. */
static struct event *heap_pop(struct world *w)
{
	struct event *first = w->heap[0], *event = w->heap[--w->n];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < w->n) {
		if (child + 1 < w->n && event_before(w->heap[child + 1], w->heap[child]))
			child++;
		if (!event_before(w->heap[child], event))
			break;
		w->heap[i] = w->heap[child];
		i = child;
	}
	if (w->n)
		w->heap[i] = event;
	return first;
}

static void wheel_put(struct world *w, struct event *event)
{
	size_t i = (size_t)event->at_ms % WHEEL;
	struct slot *slot = &w->wheel[i];

	event->next = NULL;
	if (slot->first)
		slot->last->next = event;
	else
		slot->first = event;
	slot->last = event;
	w->filled[i / WORD] |= UINT64_C(1) << i % WORD;
	w->n_wheel++;
}

/* The first event of now's slot; NULL: there is none. */
static struct event *wheel_take(struct world *w)
{
	size_t i = (size_t)w->now_ms % WHEEL;
	struct slot *slot = &w->wheel[i];
	struct event *event = slot->first;

	if (!event)
		return NULL;
	slot->first = event->next;
	if (!slot->first)
		w->filled[i / WORD] &= ~(UINT64_C(1) << i % WORD);
	w->n_wheel--;
	return event;
}

/*
 * Events of one moment are about things that lie far apart in a large world's memory: what comes
 * next is fetched while this one happens.
 */
static void wheel_fetch(const struct world *w)
{
	const struct event *next = w->wheel[(size_t)w->now_ms % WHEEL].first;

	if (!next)
		return;
	__builtin_prefetch(next->who);
	__builtin_prefetch(next->next);
}

/* The moment of the next event in the wheel, which is not empty. */
static int64_t wheel_next(const struct world *w)
{
	size_t from = (size_t)w->now_ms % WHEEL, word = from / WORD;
	uint64_t bits = w->filled[word] & (~UINT64_C(0) << from % WORD);
	size_t at;

	while (!bits) {
		word = (word + 1) % (WHEEL / WORD);
		bits = w->filled[word];
	}
	at = word * WORD + (size_t)__builtin_ctzll(bits);
	return w->now_ms + (int64_t)((at + WHEEL - from) % WHEEL);
}

/* Now is later: what comes within reach moves to the wheel. */
static void world_advance(struct world *w, int64_t to_ms)
{
	w->now_ms = to_ms;
	while (w->n && w->heap[0]->at_ms - to_ms < WHEEL)
		wheel_put(w, heap_pop(w));
}

void world_at(struct world *w, int64_t at_ms, world_fn *fn, void *who, int64_t a, int64_t b)
{
	struct event *event = pool_get_raw(&w->pool, sizeof(*event));

	*event = (struct event){
		.at_ms = at_ms < w->now_ms ? w->now_ms : at_ms,
		.seq = w->seq++,
		.fn = fn,
		.who = who,
		.a = a,
		.b = b,
	};
	if (event->at_ms - w->now_ms < WHEEL)
		wheel_put(w, event);
	else
		heap_push(w, event);
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
	if (w->n_wheel)
		return wheel_next(w);
	return w->n ? w->heap[0]->at_ms : INT64_MAX;
}

/* All events of a moment, also those that these schedule for it. */
static void world_moment(struct world *w, int64_t at_ms)
{
	struct event *event, copy;

	world_advance(w, at_ms);
	while ((event = wheel_take(w)) != NULL) {
		copy = *event;
		pool_put(&w->pool, event, sizeof(*event));
		w->events++;
		wheel_fetch(w);
		copy.fn(w, copy.who, copy.a, copy.b);
	}
}

void world_run(struct world *w, int64_t until_ms)
{
	int64_t next;

	while ((next = world_next_ms(w)) <= until_ms && next != INT64_MAX)
		world_moment(w, next);
	if (until_ms > w->now_ms)
		world_advance(w, until_ms);
}

bool world_step(struct world *w)
{
	int64_t next = world_next_ms(w);

	if (next == INT64_MAX)
		return false;
	world_moment(w, next);
	return true;
}

void *world_get(struct world *w, size_t size)
{
	return pool_get_raw(&w->pool, size);
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
	t->prev = kind->last;
	t->next = NULL;
	t->version = 1;
	if (kind->last)
		kind->last->next = t;
	else
		kind->first = t;
	kind->last = t;
	map_put(&kind->names, t->name, strlen(t->name), t);
}

void world_remove(struct world *w, struct thing *t)
{
	struct kind *kind = kind_of(w, t->ops);
	size_t len = strlen(t->name);

	if (t->prev)
		t->prev->next = t->next;
	else
		kind->first = t->next;
	if (t->next)
		t->next->prev = t->prev;
	else
		kind->last = t->prev;
	if (map_get(&kind->names, t->name, len) == t)
		map_remove(&kind->names, t->name, len);
	kind->removed += t->version + 1;
	thing_free(t);
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

uint64_t world_versions(const struct world *w, const struct thing_ops *ops)
{
	const struct kind *kind = kind_of(w, ops);
	uint64_t sum = kind ? kind->removed : 0;
	const struct thing *t;

	for (t = kind ? kind->first : NULL; t; t = t->next)
		sum += t->version;
	return sum;
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

	if (w->no_story || w->n_told == HAPPENINGS_MOST) {
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

void world_keep_no_story(struct world *w)
{
	w->no_story = true;
}

uint64_t world_tellings(const struct world *w)
{
	return w->n_told + w->untold;
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
