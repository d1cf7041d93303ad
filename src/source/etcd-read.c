#include "config.h"

#include "source/etcd-source.h"
#include "base/mem.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The first picture, and the watch that keeps it true. All pages are read at one revision, and the
 * watch begins behind it: so nothing between them is missed or seen twice.
 */

enum {
	PAGE_FIRST = 10000,
	PAGE_LEAST = 500,
	PAGE_LAST = 4000,
	PAGE_MOST = 16000, /* so that the server works on the next one while we do on this one */
	BIT_KEYS = 2000,   /* a stream is taken by as many at a time */
	PAGE_BYTES = 24 * 1024 * 1024,
	UNTOLD_MOST = PAGE_LAST, /* more of them wait in the connection, not in our memory */
	REASON_SHOWN = 200,
};

/* ---- the first picture ---- */

static void read_put(void *arg, const struct etcd_kv *kv)
{
	struct etcd *e = arg;

	etcd_store_put(e->store, kv);
}

static int64_t page_limit(const struct etcd_range *range)
{
	int64_t per_key = range->n ? (int64_t)(range->bytes / (uint64_t)range->n) + 1 : 1;
	int64_t limit = PAGE_BYTES / per_key, left = range->count - range->n;

	if (limit > PAGE_MOST)
		limit = PAGE_MOST;
	/* What the last page holds is told and judged when the server has nothing more to do. */
	if (left > PAGE_LAST && left < 2 * limit)
		limit = left * 2 / 3;
	return limit < PAGE_LEAST ? PAGE_LEAST : limit;
}

/* What is done beside an answer that is awaited. */
struct reading {
	struct etcd *e;
	struct etcd_range *range;
	int64_t n; /* of a stream, the keys for which between was called */
};

static bool read_beside(void *arg)
{
	struct reading *reading = arg;
	struct etcd_range *range = reading->range;
	bool more;

	if (range->stream && range->between && range->n >= reading->n + BIT_KEYS) {
		reading->n = range->n;
		range->between(range->arg, range);
	}
	do
		more = range->idle(range->arg, range);
	while (more && etcd_store_untold(reading->e->store) > UNTOLD_MOST);
	return more;
}

/* One call: a page, or all in a stream. */
static int read_call(struct etcd *e, struct etcd_range *range, int64_t deadline_ms, struct err *err)
{
	struct reading reading = { .e = e, .range = range };
	int rc = etcd_range_start(range, etcd_channel(e), deadline_ms, err);

	if (!rc)
		rc = etcd_run_beside(e, &range->done, deadline_ms, range->idle ? read_beside : NULL,
			&reading, err);
	if (rc) {
		/* The call may be in flight still. */
		etcd_disconnect(e, false);
		return rc;
	}
	if (range->result.code != GRPC_OK)
		return etcd_failed(e, range->result.code, &range->result.err, err);
	if (!range->revision)
		range->revision = range->header.revision;
	return 0;
}

/* "3.7.3"; numbers that are not told are 0. */
struct version {
	int major, minor, patch;
};

static struct version member_version(const struct etcd_member *m)
{
	struct version v = { 0 };

	if (m->version)
		sscanf(m->version, "%4d.%4d.%4d", &v.major, &v.minor, &v.patch);
	return v;
}

/* RangeStream came with 3.7 (etcdserverpb/rpc.proto). */
static bool has_streams(const struct etcd_member *m)
{
	struct version v = member_version(m);

	return !m->no_streams && (v.major > 3 || (v.major == 3 && v.minor >= 7));
}

/*
 * The server reads on while we tell what came, and counts nothing; for each page it counts all keys
 * that are left. *ret_done is false where it is to be read in pages after all.
 */
static int read_stream(struct etcd *e, struct etcd_range *range, int64_t deadline_ms,
	bool *ret_done, struct err *err)
{
	struct etcd_member *m = &e->members[e->current];
	int rc;

	range->stream = *ret_done = range->stream && range->end && has_streams(m);
	if (!range->stream)
		return 0;
	range->limit = range->most + 1;
	range->header.revision = 0;
	rc = read_call(e, range, deadline_ms, err);
	/* A proxy of an older version. */
	if (rc && range->done && range->result.code == GRPC_UNIMPLEMENTED && !range->n) {
		m->no_streams = true;
		range->stream = *ret_done = false;
		if (err)
			err_clear(err);
		return 0;
	}
	if (!rc && range->between)
		range->between(range->arg, range);
	if (!rc && !range->header.revision)
		rc = err_set(err, ERR_PROTO,
			"%s ended a range without saying at which revision: that is no etcd, or a "
			"proxy "
			"cut the answer. Check the endpoint",
			m->endpoint.text);
	return rc;
}

int etcd_read_range(struct etcd *e, struct etcd_range *range, int64_t most, int64_t deadline_ms,
	struct err *err)
{
	int64_t total = 0;
	bool whole = false;
	struct str from;
	int rc;

	range->most = most;
	rc = read_stream(e, range, deadline_ms, &whole, err);
	if (rc || whole)
		return rc;
	str_init(&from, ETCD_FIELD_MAX);
	range->limit = range->end ? PAGE_FIRST : 1;
	do {
		rc = read_call(e, range, deadline_ms, err);
		if (rc)
			break;
		total += range->n;
		if (total > most || (range->more && range->count > most)) {
			rc = err_set(err, ERR_LIMIT,
				"more than %lld keys under one prefix: watch narrower prefixes",
				(long long)most);
			break;
		}
		if (range->more && range->between)
			range->between(range->arg, range);
		range->limit = page_limit(range);
		/* The next page begins at the least key behind the last one. */
		str_clear(&from);
		str_add_mem(&from, range->last.s, range->last.len);
		str_add_char(&from, '\0');
		range->key = from.s;
		range->key_len = from.len;
	} while (!rc && range->more && range->n > 0);
	str_release(&from);
	range->key = NULL;
	return rc;
}

static bool read_idle(void *arg, const struct etcd_range *range)
{
	return etcd_early_work(arg, range->last.s, range->last.len);
}

static void read_between(void *arg, const struct etcd_range *range)
{
	struct etcd *e = arg;

	/* Of a stream no count is told. */
	etcd_store_expect(e->store, range->count);
	etcd_early_leases(e, range->last.s, range->last.len);
}

/* One scope, at a revision (0: the newest, which is settled by it). */
static int read_scope(struct etcd *e, struct etcd_scope *scope, int64_t *revision,
	int64_t deadline_ms, struct err *err)
{
	struct etcd_range range;
	int rc;

	etcd_range_init(&range, read_put, e);
	range.stream = true;
	range.idle = read_idle;
	range.between = read_between;
	range.key = scope->key;
	range.key_len = scope->key_len;
	range.end = scope->end;
	range.end_len = scope->end_len;
	range.revision = *revision;
	etcd_store_range(e->store, scope->end ? scope->key_len : SIZE_MAX);
	rc = etcd_read_range(e, &range, ETCD_KEYS_MOST, deadline_ms, err);
	scope->denied = rc && range.done && range.result.code == GRPC_PERMISSION_DENIED;
	e->hidden_changed = e->hidden_changed || scope->denied;
	if (rc && range.done && range.result.code == GRPC_OUT_OF_RANGE)
		e->compacted = true;
	if (!rc)
		scope->revision = *revision = range.revision;
	etcd_range_release(&range);
	return rc;
}

/* The scopes that are due. Of a wider one that may not be read, those within it become due. */
static int read_due(struct etcd *e, int64_t *revision, int64_t deadline_ms, struct err *err)
{
	bool more = true;
	size_t i;
	int rc;

	while (more) {
		more = false;
		for (i = 0; i < e->n_scopes; i++) {
			if (!etcd_scope_is_due(e, i))
				continue;
			rc = read_scope(e, &e->scopes[i], revision, deadline_ms, err);
			if (rc && !e->scopes[i].denied)
				return rc;
			more = true;
		}
	}
	return 0;
}

/* All that are denied is a failure; err tells of the last of them. */
static int read_scopes(struct etcd *e, int64_t *revision, int64_t deadline_ms, struct err *err)
{
	size_t i, denied = 0, read = 0;
	int rc = read_due(e, revision, deadline_ms, err);

	if (rc)
		return rc;
	for (i = 0; i < e->n_scopes; i++) {
		denied += e->scopes[i].denied;
		read += e->scopes[i].revision != 0;
	}
	if (!denied || read)
		return 0;
	if (!err->code)
		err_set(err, ERR_DENIED, "%s refuses them", e->members[e->current].endpoint.text);
	return err_prefix(err, "none of the keys may be read; grant the user's role read on them");
}

/* etcd's revision only rises, unless its data were exchanged or restored. */
static void read_fell(struct etcd *e)
{
	char text[200];

	snprintf(text, sizeof(text),
		"etcd's revision fell from %" PRId64 " to %" PRId64
		": restored from a backup, or another cluster. Tokens may repeat",
		e->known_revision, e->revision);
	round_event(e->r, NULL, TIME_UNKNOWN, e->revision, "gap", text);
	e->known_revision = 0;
}

int64_t etcd_known_revision(const struct etcd *e)
{
	int64_t known = 0;
	size_t i;

	for (i = 0; i < e->n_scopes; i++)
		if (e->scopes[i].revision > known)
			known = e->scopes[i].revision;
	return known;
}

int etcd_read_new(struct etcd *e, int64_t deadline_ms, struct err *err)
{
	int64_t revision = 0;

	return read_scopes(e, &revision, deadline_ms, err);
}

int etcd_read_all(struct etcd *e, int64_t deadline_ms, struct err *err)
{
	int rc, tries;
	size_t i;

	/* The pinned revision may be compacted while the pages are read: then once more, at a newer
	 * one. */
	for (tries = 0; tries < 3; tries++) {
		etcd_store_clear(e->store);
		e->pictured = e->told_all = e->compacted = false;
		e->revision = 0;
		for (i = 0; i < e->n_scopes; i++) {
			e->scopes[i].revision = 0;
			e->scopes[i].denied = e->scopes[i].spared = false;
		}
		etcd_early_begin(e, deadline_ms);
		rc = read_scopes(e, &e->revision, deadline_ms, err);
		if (!rc)
			rc = etcd_early_wait(e, err);
		etcd_early_end(e);
		if (!e->compacted)
			break;
	}
	if (rc)
		return rc;
	if (e->revision < e->known_revision)
		read_fell(e);
	etcd_store_live(e->store);
	e->schedule.ticked_ms = TIME_UNKNOWN;
	e->pictured = e->self_changed = true;
	return 0;
}

/* ---- the watch ---- */

static struct etcd_scope *watch_scope(struct etcd *e, int64_t watch_id)
{
	size_t i;

	for (i = 0; i < e->n_scopes; i++)
		if (e->scopes[i].watch_id == watch_id)
			return &e->scopes[i];
	return NULL;
}

/* A refused creation names no watch (id -1). Which one it was does not matter: all are begun anew.
 */
static void watch_cancelled(struct etcd *e, const struct etcd_watch_answer *a)
{
	struct str reason;

	if (a->compact_revision) {
		e->compacted = true;
		return;
	}
	str_init(&reason, REASON_SHOWN * 4 + 8);
	text_escape_cut(&reason, a->reason, a->reason_len, REASON_SHOWN);
	e->ended_watch = true;
	err_set(&e->watch_error, ERR_IO, "%s ended the watch: %s",
		e->members[e->current].endpoint.text, reason.len ? reason.s : "it gave no reason");
	if (strstr(reason.s, "compacted"))
		e->compacted = true;
	/* 3.4 says "permission denied" for a token that expired; newer ones "invalid auth token".
	 */
	if (strstr(reason.s, "permission denied") || strstr(reason.s, "invalid auth token") ||
		strstr(reason.s, "auth store is old"))
		e->denied_watch = true;
	str_release(&reason);
}

static void note_term(struct etcd *e, uint64_t term)
{
	if (!term || (int64_t)term <= e->term)
		return;
	if (e->term)
		e->term_changed_ms = http_loop_now_ms(e->loop);
	e->term = (int64_t)term;
	e->self_changed = true;
}

/*
 * Whether an answer without events means that there were none up to its revision: before 3.4.25
 * and 3.5.8 it could overtake events (etcd's changelogs, "progress notification").
 */
static bool progress_is_trusted(const struct etcd *e)
{
	struct version v = member_version(&e->members[e->current]);

	if (v.major != 3 || v.minor > 5)
		return v.major >= 3;
	return v.minor == 5 ? v.patch >= 8 : v.minor == 4 && v.patch >= 25;
}

static void watch_progressed(struct etcd *e, const struct etcd_watch_answer *a)
{
	size_t i;

	for (i = 0; i < e->n_scopes; i++) {
		struct etcd_scope *s = &e->scopes[i];

		if (s->watch_id && (a->watch_id < 0 || a->watch_id == s->watch_id) &&
			a->header.revision > s->revision)
			s->revision = a->header.revision;
	}
}

static void watch_answer(void *arg, const struct etcd_watch_answer *a)
{
	struct etcd *e = arg;

	e->heard_ms = http_loop_now_ms(e->loop);
	e->asked_ms = TIME_UNKNOWN;
	note_term(e, a->header.raft_term);
	/* A watch that reads the past has an id of its own, and is handled there. */
	if (a->canceled && (a->watch_id < 0 || watch_scope(e, a->watch_id)))
		watch_cancelled(e, a);
	e->midway = a->fragment;
	if (!a->n_events && !a->canceled && !a->created && progress_is_trusted(e))
		watch_progressed(e, a);
}

static void watch_event(
	void *arg, const struct etcd_watch_answer *a, const struct etcd_event *event)
{
	struct etcd *e = arg;

	struct etcd_scope *scope = watch_scope(e, a->watch_id);

	if (!scope || event->kv.mod_revision <= scope->begun)
		return;
	/* Events come in the order of their revisions, and an answer holds all of the last one's.
	 */
	if (event->kv.mod_revision > scope->revision)
		scope->revision = event->kv.mod_revision - (a->fragment ? 1 : 0);
	etcd_store_at(e->store, e->heard_ms);
	if (event->deleted)
		etcd_store_delete(e->store, event->kv.key, event->kv.key_len);
	else
		etcd_store_put(e->store, &event->kv);
}

static void watch_ended(void *arg, const struct grpc_result *result)
{
	struct etcd *e = arg;

	e->ended_watch = true;
	if (e->watch_error.code)
		return;
	if (result->code == GRPC_UNAUTHENTICATED || result->code == GRPC_PERMISSION_DENIED)
		e->denied_watch = true;
	if (result->err.code)
		e->watch_error = result->err;
	else
		err_set(&e->watch_error, ERR_IO, "%s ended the watch",
			e->members[e->current].endpoint.text);
}

static const struct etcd_watch_handler watch_handler = {
	.answer = watch_answer,
	.event = watch_event,
	.ended = watch_ended,
};

int etcd_watch_start(struct etcd *e, struct err *err)
{
	etcd_watch_stop(e);
	e->compacted = e->ended_watch = e->denied_watch = e->midway = false;
	err_clear(&e->watch_error);
	e->watch = etcd_watch_open(etcd_channel(e), &watch_handler, e, err);
	if (!e->watch)
		return ERR_NOMEM;
	e->heard_ms = http_loop_now_ms(e->loop);
	e->asked_ms = TIME_UNKNOWN;
	etcd_watch_more(e);
	return 0;
}

void etcd_watch_more(struct etcd *e)
{
	size_t i;

	for (i = 0; i < e->n_scopes; i++) {
		struct etcd_scope *s = &e->scopes[i];

		if (s->denied || s->watch_id || !s->revision)
			continue;
		s->watch_id = ++e->next_watch_id;
		/* From what is known, and not from behind it: as long as a watch's start lies in
		 * the future newer servers don't answer how far it is (etcd's pull request 20229),
		 * and where nothing is written it would look dead. */
		s->begun = s->revision;
		etcd_watch_create(e->watch, s->watch_id, s->key, s->key_len, s->end, s->end_len,
			s->begun, false);
	}
}

void etcd_watch_stop(struct etcd *e)
{
	size_t i;

	etcd_watch_close(e->watch);
	e->watch = NULL;
	for (i = 0; i < e->n_scopes; i++)
		e->scopes[i].watch_id = 0;
}

int etcd_watch_check(struct etcd *e, struct err *err)
{
	int64_t now_ms = http_loop_now_ms(e->loop);

	if (now_ms - e->heard_ms > ETCD_SILENCE_MS && e->asked_ms != TIME_UNKNOWN)
		return err_set(err, ERR_TIMEOUT,
			"%s keeps the watch open and has not answered on it for %lld s: it may "
			"hang, or the network between is cut. Check the process there, and the way "
			"to it",
			e->members[e->current].endpoint.text,
			(long long)(now_ms - e->heard_ms) / 1000);
	if (now_ms - e->heard_ms >= ETCD_PROGRESS_EVERY_MS && e->asked_ms == TIME_UNKNOWN) {
		e->asked_ms = now_ms;
		etcd_watch_progress(e->watch);
	}
	return 0;
}
