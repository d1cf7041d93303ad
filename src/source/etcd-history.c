#include "config.h"

#include "source/etcd-source.h"
#include "base/mem.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The past that etcd still keeps. The keys as they were at an old revision, and the events from
 * there on, go through a store of their own; whenever the leader of a name changes in it, that is a
 * hand-over of the past. etcd keeps no times: the tokens order them.
 */

enum {
	KEYS_MOST = 20000,   /* with more at the beginning, the past is not read */
	EVENTS_MOST = 20000, /* events read */
	TOLD_MOST = 2000,    /* hand-overs told: the newest */
	IDLE_MS = 1500,      /* nothing came for so long: that was all */
	IDLE_ONE_SHOT_MS = 400,
	LONGEST_MS = 20000,
	IDENTITY_MAX = 120,
};

struct past_leader {
	int64_t token;
	char *path; /* raw bytes, path_len of them */
	size_t path_len;
	char *identity; /* sanitised */
};

struct past_event {
	char *path, *text;
	const char *what;
	int64_t token;
	int64_t revision; /* at which it happened */
	size_t seq;       /* among those of one revision */
};

struct etcd_history {
	struct etcd_store *store;
	struct etcd_watch *watch;
	struct map leaders;        /* path -> struct past_leader, owned */
	struct past_event *events; /* a ring */
	size_t n, first, seq;
	int64_t begin, revision; /* of the first state; of the last event */
	int64_t started_ms, heard_ms;
	size_t n_events;
	bool quiet; /* the first state: nothing has changed hands */
	bool over;
	int64_t compacted; /* the revision that the past begins at; 0 */
};

/* ---- what changed hands ---- */

static void past_add(struct etcd_history *h, const char *path, size_t path_len, const char *what,
	int64_t token, const char *text)
{
	struct past_event *event = &h->events[(h->first + h->n) % TOLD_MOST];
	struct str shown;

	if (h->quiet)
		return;
	if (h->n == TOLD_MOST) {
		free(event->path);
		free(event->text);
		h->first = (h->first + 1) % TOLD_MOST;
	} else {
		h->n++;
	}
	str_init(&shown, SIZE_MAX / 4);
	text_escape(&shown, path, path_len);
	*event = (struct past_event){ .path = str_take(&shown),
		.text = xstrdup(text),
		.what = what,
		.token = token,
		.revision = h->revision,
		.seq = h->seq++ };
}

static void leader_free(struct past_leader *leader)
{
	free(leader->path);
	free(leader->identity);
	free(leader);
}

static void past_gone(void *arg, const char *path, size_t len)
{
	struct etcd_history *h = arg;
	struct past_leader *leader = map_remove(&h->leaders, path, len);
	char text[IDENTITY_MAX * 4 + 100];

	if (!leader)
		return;
	snprintf(text, sizeof(text), "%s let go; token %" PRId64, leader->identity, leader->token);
	past_add(h, path, len, "released", leader->token, text);
	leader_free(leader);
}

static char *past_identity(const struct etcd_key *key)
{
	struct str s;

	str_init(&s, IDENTITY_MAX * 4 + 8);
	if (key->value_len)
		text_escape_cut(&s, etcd_key_value(key), key->value_len, IDENTITY_MAX);
	else if (key->lease)
		str_addf(&s, "lease:%" PRIx64, (uint64_t)key->lease->id);
	else
		str_add(&s, "a key without a lease");
	return str_take(&s);
}

static void past_leads(
	struct etcd_history *h, const struct etcd_key *key, const char *path, size_t len)
{
	struct past_leader *leader = map_get(&h->leaders, path, len);
	char text[IDENTITY_MAX * 8 + 200], *identity;

	if (leader && leader->token == key->create_revision)
		return;
	identity = past_identity(key);
	if (leader) {
		snprintf(text, sizeof(text), "%s took it from %s; token %" PRId64 " > %" PRId64,
			identity, leader->identity, leader->token, key->create_revision);
		past_add(h, path, len, "hand-over", key->create_revision, text);
		free(leader->identity);
	} else {
		snprintf(text, sizeof(text), "%s took it; token %" PRId64, identity,
			key->create_revision);
		past_add(h, path, len, "took", key->create_revision, text);
		leader = xcalloc(1, sizeof(*leader));
		leader->path = xstrndup(path, len);
		leader->path_len = len;
		map_put(&h->leaders, leader->path, len, leader);
	}
	leader->identity = identity;
	leader->token = key->create_revision;
}

static void past_group(void *arg, struct etcd_group *g, bool named)
{
	uint32_t i;

	(void)named;
	for (i = 0; i < g->n; i++) {
		if (!g->keys[i]->hex)
			continue;
		past_leads(arg, g->keys[i], g->name, g->name_len);
		return;
	}
}

static void past_key(void *arg, struct etcd_key *key, const char *path, size_t len)
{
	past_leads(arg, key, path, len);
}

static void past_free(void *arg, const char *path, size_t len, enum mechanism mechanism)
{
	(void)mechanism;
	past_gone(arg, path, len);
}

static const struct etcd_teller past_teller = {
	.group = past_group,
	.key = past_key,
	.free = past_free,
	.drop = past_gone,
};

/* ---- reading it ---- */

static void history_put(void *arg, const struct etcd_kv *kv)
{
	struct etcd_history *h = arg;

	etcd_store_put(h->store, kv);
}

static void history_answer(void *arg, const struct etcd_watch_answer *a)
{
	struct etcd *e = arg;
	struct etcd_history *h = e->history;

	h->heard_ms = http_loop_now_ms(e->loop);
	if (a->canceled) {
		h->over = true;
		h->compacted = a->compact_revision;
	}
}

void etcd_past_add(struct etcd *e, const struct etcd_kv *kv, bool deleted)
{
	struct etcd_history *h = e->history;

	/* Keys of one transaction change together. */
	if (kv->mod_revision != h->revision)
		etcd_store_tell(h->store, &past_teller, h);
	h->revision = kv->mod_revision;
	if (deleted)
		etcd_store_delete(h->store, kv->key, kv->key_len);
	else
		etcd_store_put(h->store, kv);
}

static void history_event(
	void *arg, const struct etcd_watch_answer *a, const struct etcd_event *event)
{
	struct etcd *e = arg;
	struct etcd_history *h = e->history;

	(void)a;
	if (h->over)
		return;
	/* What comes after the picture, the session sees itself. */
	if (event->kv.mod_revision > e->revision || ++h->n_events > EVENTS_MOST)
		h->over = true;
	else
		etcd_past_add(e, &event->kv, event->deleted);
}

static void history_ended(void *arg, const struct grpc_result *result)
{
	struct etcd *e = arg;

	(void)result;
	e->history->over = true;
}

static const struct etcd_watch_handler history_handler = {
	.answer = history_answer,
	.event = history_event,
	.ended = history_ended,
};

static int history_range(
	struct etcd *e, struct etcd_scope *scope, int64_t deadline_ms, struct err *err)
{
	struct etcd_history *h = e->history;
	struct etcd_range range;
	int rc;

	etcd_range_init(&range, history_put, h);
	range.key = scope->key;
	range.key_len = scope->key_len;
	range.end = scope->end;
	range.end_len = scope->end_len;
	range.revision = h->begin;
	rc = etcd_read_range(e, &range, KEYS_MOST, deadline_ms, err);
	if (rc && range.done && range.result.code == GRPC_OUT_OF_RANGE)
		h->compacted = -1;
	etcd_range_release(&range);
	return rc;
}

static int compare_events(const void *left, const void *right)
{
	const struct past_event *a = left, *b = right;

	if (a->revision != b->revision)
		return a->revision < b->revision ? -1 : 1;
	return a->seq < b->seq ? -1 : 1;
}

static void history_tell(struct etcd *e)
{
	struct etcd_history *h = e->history;
	size_t i;

	/* Several watches: each was in order. (The ring may begin anywhere: after the sort it
	 * begins at 0.) */
	qsort(h->events, h->n, sizeof(*h->events), compare_events);
	h->first = 0;

	for (i = 0; i < h->n; i++) {
		struct past_event *event = &h->events[(h->first + i) % TOLD_MOST];
		struct str text;

		str_init(&text, 4096);
		str_addf(&text, "%s (read in etcd's history)", event->text);
		round_event(e->r, event->path, TIME_UNKNOWN, event->token, event->what, text.s);
		str_release(&text);
	}
}

void etcd_history_end(struct etcd *e)
{
	struct etcd_history *h = e->history;
	struct map_entry *entry;
	size_t i, pos = 0;

	if (!h)
		return;
	etcd_watch_close(h->watch);
	etcd_store_free(h->store);
	while ((entry = map_next(&h->leaders, &pos)))
		leader_free(entry->value);
	map_release(&h->leaders);
	for (i = 0; i < h->n; i++) {
		free(h->events[(h->first + i) % TOLD_MOST].path);
		free(h->events[(h->first + i) % TOLD_MOST].text);
	}
	free(h->events);
	free(h);
	e->history = NULL;
}

void etcd_past_begin(struct etcd *e)
{
	struct etcd_history *h = e->history = xcalloc(1, sizeof(*h));

	h->store = etcd_store_new(e->prefixes, e->n_prefixes);
	h->events = xcalloc(TOLD_MOST, sizeof(*h->events));
	map_init(&h->leaders);
}

void etcd_past_quiet(struct etcd *e, bool quiet)
{
	etcd_store_tell(e->history->store, &past_teller, e->history);
	etcd_store_live(e->history->store);
	e->history->quiet = quiet;
}

void etcd_past_tell(struct etcd *e)
{
	etcd_store_tell(e->history->store, &past_teller, e->history);
	history_tell(e);
	etcd_history_end(e);
}

/* Opens the watch that reads the past, from a revision on. */
static int history_watch(struct etcd *e, int64_t from, struct err *err)
{
	struct etcd_history *h = e->history;
	size_t i;

	etcd_watch_close(h->watch);
	h->watch = etcd_watch_open(etcd_channel(e), &history_handler, e, err);
	if (!h->watch)
		return ERR_NOMEM;
	h->over = false;
	h->compacted = 0;
	h->heard_ms = h->started_ms = http_loop_now_ms(e->loop);
	for (i = 0; i < e->n_scopes; i++) {
		struct etcd_scope *s = &e->scopes[i];

		if (s->revision)
			etcd_watch_create(h->watch, ++e->next_watch_id, s->key, s->key_len, s->end,
				s->end_len, from, false);
	}
	return 0;
}

/* The state at the beginning, and the watch from there. A beginning that is compacted asks the
 * watch where the past begins. */
static int history_begin(struct etcd *e, int64_t deadline_ms, struct err *err)
{
	struct etcd_history *h = e->history;
	size_t i;

	h->quiet = true;
	for (i = 0; i < e->n_scopes; i++) {
		int rc;

		if (!e->scopes[i].revision)
			continue;
		rc = history_range(e, &e->scopes[i], deadline_ms, err);
		/* With the connection the history went as well. */
		if (rc && !e->history)
			return rc;
		if (rc && h->compacted)
			return history_watch(e, h->begin, err);
		if (rc)
			return rc;
	}
	etcd_store_tell(h->store, &past_teller, h);
	etcd_store_live(h->store);
	h->quiet = false;
	return history_watch(e, h->begin + 1, err);
}

static int history_start(struct etcd *e, int64_t deadline_ms, struct err *err)
{
	int64_t back = source_option_int(e->config, "history");
	struct etcd_history *h;

	if (back <= 0 || e->revision < 2 || etcd_store_keys(e->store) > KEYS_MOST) {
		e->history_done = true;
		return 0;
	}
	etcd_past_begin(e);
	h = e->history;
	h->begin = e->revision > back ? e->revision - back : 1;
	return history_begin(e, deadline_ms, err);
}

/* The watch told where the past begins: from there, once more. */
static int history_shorten(struct etcd *e, int64_t deadline_ms, struct err *err)
{
	struct etcd_history *h = e->history;
	char text[160];

	h->begin = h->compacted;
	h->compacted = 0;
	snprintf(text, sizeof(text),
		"etcd keeps its history from revision %" PRId64
		" on: hand-overs before that are not known",
		h->begin);
	round_event(e->r, NULL, TIME_UNKNOWN, h->begin, "gap", text);
	etcd_store_clear(h->store);
	return history_begin(e, deadline_ms, err);
}

/* One step of it: what there is to do now. */
static int history_step(struct etcd *e, int64_t deadline_ms, int64_t idle_ms, struct err *err)
{
	int64_t now_ms = http_loop_now_ms(e->loop);
	struct etcd_history *h = e->history;

	if (!h)
		return history_start(e, deadline_ms, err);
	if (h->over && h->compacted > h->begin)
		return history_shorten(e, deadline_ms, err);
	if (h->over || now_ms - h->heard_ms > idle_ms || now_ms - h->started_ms > LONGEST_MS) {
		etcd_store_tell(h->store, &past_teller, h);
		history_tell(e);
		e->history_done = true;
	}
	return 0;
}

static void count_wanted(void *arg, const char *id)
{
	(void)id;
	++*(size_t *)arg;
}

/* A one-shot command that asks for one singleton waits for its past; others have no use for it. */
static int history_at_once(struct etcd *e, int64_t deadline_ms, struct err *err)
{
	int64_t until_ms = deadline_ms - (deadline_ms - http_loop_now_ms(e->loop)) / 4;
	size_t wanted = 0;
	int rc = 0;

	round_each_wanted(e->r, count_wanted, &wanted);
	while (wanted && !rc && !e->history_done && http_loop_now_ms(e->loop) < until_ms) {
		int64_t now_ms;

		rc = history_step(e, until_ms, IDLE_ONE_SHOT_MS, err);
		now_ms = http_loop_now_ms(e->loop);
		if (!rc && !e->history_done)
			rc = etcd_step(e, now_ms + 20 < until_ms ? now_ms + 20 : until_ms, err);
	}
	return rc;
}

int etcd_history(struct etcd *e, int64_t deadline_ms, struct err *err)
{
	struct err ignored = { 0 };
	int rc;

	if (e->history_done)
		return 0;
	rc = round_one_shot(e->r) ? history_at_once(e, deadline_ms, err)
				  : history_step(e, deadline_ms, IDLE_MS, err);
	if (rc && rc != ERR_CANCELLED && e->connected) {
		/* The past is a gift: without it everything else goes on. */
		*err = ignored;
		e->history_done = true;
		rc = 0;
	}
	if (e->history_done || rc)
		etcd_history_end(e);
	return rc;
}
