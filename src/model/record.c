#include "config.h"

#include "model/record.h"
#include "base/map.h"
#include "base/mem.h"
#include "model/record-put.h"
#include "model/redact.h"
#include "model/thresholds.h"

#include <stdlib.h>
#include <string.h>

enum {
	CUT_MOST =
		200, /* of a row whose line would be too long: claims, runs, details of one thing */
	ACT_LINE_MAX = 64 * 1024,
};

void record_init(struct record_writer *w, const struct board *first,
	void (*line)(void *arg, const char *text, size_t len), void *arg, struct redact *redact)
{
	*w = (struct record_writer){
		.line = line,
		.arg = arg,
		.redact = redact,
		.start_ms = first->mono_ms,
		.start_us = first->wall_us,
		.now_ms = first->mono_ms,
		.now_us = first->wall_us,
		.most = UINT32_MAX,
	};
	str_init(&w->text, RECORD_LINE_MAX - 1);
	str_init(&w->was, RECORD_LINE_MAX);
}

void record_release(struct record_writer *w)
{
	str_release(&w->text);
	str_release(&w->was);
}

static void record_now(struct record_writer *w, const struct board *board)
{
	w->now_ms = board->mono_ms;
	w->now_us = board->wall_us;
}

static void put_at(struct record_writer *w)
{
	put_time(w, "at", w->now_us);
}

/* ---- the head ---- */

static void put_source_fact(struct record_writer *w, const struct snapshot *snap)
{
	put_open(w, NULL, '{');
	put_name(w, "name", snap->source);
	put_text(w, "kind", snap->kind);
	put_text(w, "environment",
		snap->environment && w->redact ? redact_environment(w->redact, snap->environment)
					       : snap->environment);
	put_bool(w, "protect", snap->protect);
	put_close(w, '}');
}

static void put_role(struct record_writer *w, const struct role *role)
{
	size_t i;

	put_open(w, NULL, '{');
	put_name(w, "name", role->name);
	put_text(w, "harm", harm_word(role->harm));
	put_tristate(w, "idempotent", role->idempotent);
	put_tristate(w, "fenced", role->fenced);
	put_open(w, "witnesses", '[');
	for (i = 0; i < role->n_witnesses; i++)
		put_id(w, NULL, role->witnesses[i]);
	put_close(w, ']');
	put_close(w, '}');
}

static void put_thresholds(struct record_writer *w, const struct thresholds *t)
{
	put_open(w, "thresholds", '{');
#define THRESHOLD(field, name, value, help)       put_int(w, name, t->field);
#define THRESHOLD_COUNT(field, name, value, help) THRESHOLD(field, name, value, help)
#include "model/thresholds.def"
#undef THRESHOLD
#undef THRESHOLD_COUNT
	put_close(w, '}');
}

void record_head(struct record_writer *w, const struct board *board,
	const struct thresholds *thresholds, const char *program)
{
	size_t i;

	record_now(w, board);
	put_line(w, "record");
	put_at(w);
	put_text(w, "format", "baton-record");
	put_int(w, "version", RECORD_VERSION);
	put_text(w, "program", program);
	put_bool(w, "redacted", w->redact != NULL);
	if (board->sim) {
		put_bool(w, "sim", true);
	}
	put_open(w, "sources", '[');
	for (i = 0; i < board->n_snapshots && i < RECORD_SOURCES_MAX; i++)
		put_source_fact(w, board->snapshots[i]);
	put_close(w, ']');
	put_open(w, "roles", '[');
	for (i = 0; i < board->n_roles && i < RECORD_ROLES_MAX; i++)
		put_role(w, board->roles[i].role);
	put_close(w, ']');
	put_thresholds(w, thresholds);
	put_line_end(w);
}

/* ---- what differs ---- */

static bool same_text(const char *a, const char *b)
{
	return str_eq(a, b);
}

static bool same_details(const struct detail *a, const struct detail *b, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (a[i].id != b[i].id || a[i].hidden != b[i].hidden)
			return false;
		if (a[i].hidden)
			continue;
		if (detail_word(a[i].id)->type == DETAIL_TYPE_TEXT ? !same_text(a[i].s, b[i].s)
								   : a[i].i != b[i].i)
			return false;
	}
	return true;
}

/* Sentences that are not written, as names are replaced, are no difference either. */
static bool same_finding(
	const struct record_writer *w, const struct finding *a, const struct finding *b)
{
	return a->code == b->code && a->severity == b->severity && a->since_us == b->since_us &&
	       a->n_evidence == b->n_evidence &&
	       (w->redact || (same_text(a->text, b->text) && same_text(a->advice, b->advice))) &&
	       same_details(a->evidence, b->evidence, a->n_evidence);
}

static bool same_verdict(
	const struct record_writer *w, const struct verdict *a, const struct verdict *b)
{
	uint32_t i;

	if (a->state != b->state || a->needs_attention != b->needs_attention ||
		a->has_highest != b->has_highest ||
		(a->has_highest && a->highest_token != b->highest_token) ||
		a->state_since_us != b->state_since_us || a->first_seen_us != b->first_seen_us ||
		a->known_since_us != b->known_since_us || a->n_findings != b->n_findings ||
		a->fit != b->fit)
		return false;
	for (i = 0; i < a->n_findings; i++)
		if (!same_finding(w, &a->findings[i], &b->findings[i]))
			return false;
	return true;
}

/* Whether two rows tell the same; clocks that only say when we looked are no difference. */
static bool same_row(const struct record_writer *w, const struct row *a, const struct row *b)
{
	if (a == b)
		return true;
	return a && b && a->s->hash == b->s->hash && strcmp(a->s->id, b->s->id) == 0 &&
	       same_text(row_role(a), row_role(b)) && same_verdict(w, &a->v, &b->v);
}

/* A row as it is, and as it was; now NULL: it is gone. */
struct change {
	const struct row *now, *before;
};

struct changes {
	struct change *at;
	size_t n, cap;
	size_t gone;
};

static void changes_add(struct changes *c, const struct row *now, const struct row *before)
{
	MEM_GROW(c->at, c->n, c->cap);
	c->at[c->n++] = (struct change){ now, before };
	c->gone += !now;
}

static const struct chunk *chunk_at(const struct snapshot *snap, size_t i)
{
	return snap && i < snap->n_chunks ? snap->chunks[i] : NULL;
}

/* The rows of those chunks that the two do not share: only they can differ. */
static void note_rows(struct map *rows, const struct snapshot *snap, const struct snapshot *other)
{
	size_t i;
	uint32_t k;

	for (i = 0; snap && i < snap->n_chunks; i++) {
		struct chunk *chunk = snap->chunks[i];

		for (k = 0; chunk != chunk_at(other, i) && k < chunk->n; k++)
			map_put(rows, chunk->rows[k]->s->id, strlen(chunk->rows[k]->s->id),
				chunk->rows[k]);
	}
}

static void find_changes(const struct record_writer *w, struct changes *c,
	const struct snapshot *before, const struct snapshot *now)
{
	struct map old;
	struct map_entry *e;
	size_t i, pos = 0;
	uint32_t k;

	map_init(&old);
	note_rows(&old, before, now);
	for (i = 0; i < now->n_chunks; i++) {
		const struct chunk *chunk = now->chunks[i];

		for (k = 0; chunk != chunk_at(before, i) && k < chunk->n; k++) {
			const struct row *row = chunk->rows[k];
			const struct row *was = map_remove(&old, row->s->id, strlen(row->s->id));

			if (!same_row(w, was, row))
				changes_add(c, row, was);
		}
	}
	while ((e = map_next(&old, &pos)))
		changes_add(c, NULL, e->value);
	map_release(&old);
}

/* ---- a snapshot ---- */

static bool same_list(const char *const *a, const char *const *b)
{
	size_t i = 0;

	if (!a || !b)
		return a == b;
	while (a[i] && b[i] && strcmp(a[i], b[i]) == 0)
		i++;
	return !a[i] && !b[i];
}

/* Where names are replaced, sentences are left out: one that changed is no news. */
static bool same_hidden(
	const struct record_writer *w, const struct snapshot *a, const struct snapshot *b)
{
	size_t i;

	if (a->n_hidden != b->n_hidden)
		return false;
	for (i = 0; i < a->n_hidden; i++)
		if ((!w->redact && (!same_text(a->hidden[i].what, b->hidden[i].what) ||
					   !same_text(a->hidden[i].remedy, b->hidden[i].remedy))) ||
			!same_text(a->hidden[i].rows, b->hidden[i].rows) ||
			!same_list(a->hidden[i].except, b->hidden[i].except) ||
			a->hidden[i].chosen != b->hidden[i].chosen)
			return false;
	return true;
}

static bool same_error(
	const struct record_writer *w, const struct snapshot *a, const struct snapshot *b)
{
	return w->redact ? !a->error == !b->error : same_text(a->error, b->error);
}

static bool same_head(
	const struct record_writer *w, const struct snapshot *a, const struct snapshot *b)
{
	return a && a->state == b->state && a->live == b->live && same_error(w, a, b) &&
	       (!b->error || a->error_since_us == b->error_since_us) &&
	       same_text(a->server, b->server) && same_hidden(w, a, b) &&
	       same_row(w, a->self, b->self);
}

/* How paths begin. */
struct paths {
	char **at;
	size_t n, cap;
};

static void paths_add(struct paths *paths, const char *path, const char *end)
{
	struct str own;

	MEM_GROW(paths->at, paths->n, paths->cap);
	str_init(&own, SIZE_MAX / 4);
	str_add(&own, path);
	str_add(&own, end);
	paths->at[paths->n++] = str_take(&own);
}

static void paths_release(struct paths *paths)
{
	while (paths->n)
		free(paths->at[--paths->n]);
	free(paths->at);
}

/* The witnesses of all roles whose paths in that source begin so: each as it is, and what is below
 * it. */
static void paths_add_witnesses(
	struct paths *paths, const struct board *board, const char *source, const char *start)
{
	size_t len = strlen(source), i, k;

	for (i = 0; i < board->n_roles && i < RECORD_ROLES_MAX; i++)
		for (k = 0; k < board->roles[i].role->n_witnesses; k++) {
			const char *id = board->roles[i].role->witnesses[k];

			if (strncmp(id, source, len) == 0 && id[len] == '/' &&
				hidden_path_begins(id + len + 1, start))
				paths_add(paths, id + len + 1, "/");
		}
}

/*
 * How it is written that paths begin so. A stand-in is one for a whole name: where the text ends
 * within a name, it is written of the paths that somebody may ask about, which are the roles'
 * witnesses.
 */
static void paths_add_start(struct record_writer *w, struct paths *paths, const struct board *board,
	const char *source, const char *start)
{
	if (w->redact && redact_cuts_name(start))
		paths_add_witnesses(paths, board, source, start);
	else
		paths_add(paths, start, "");
}

/* One path alone stands as such, as it did before there could be more. */
static void put_except(struct record_writer *w, const struct paths *except)
{
	size_t i;

	if (!except->n)
		return;
	if (except->n == 1) {
		put_path(w, "except", except->at[0]);
		return;
	}
	put_open(w, "except", '[');
	for (i = 0; i < except->n; i++)
		put_path(w, NULL, except->at[i]);
	put_close(w, ']');
}

/* rows NULL: it hides no whole rows. */
static void put_hidden_rows(struct record_writer *w, const struct hidden *hidden, const char *rows,
	const struct paths *except)
{
	put_open(w, NULL, '{');
	put_text(w, "what", w->redact ? "something (its name is left out)" : hidden->what);
	put_text(w, "remedy", w->redact ? NULL : hidden->remedy);
	if (rows) {
		put_path(w, "rows", rows);
		put_except(w, except);
	}
	if (hidden->chosen)
		put_bool(w, "chosen", true);
	put_close(w, '}');
}

static void put_hidden_one(struct record_writer *w, const struct board *board,
	const struct snapshot *snap, const struct hidden *hidden)
{
	struct paths rows = { NULL, 0, 0 }, except = { NULL, 0, 0 };
	size_t i;

	if (hidden->rows)
		paths_add_start(w, &rows, board, snap->source, hidden->rows);
	for (i = 0; hidden->except && hidden->except[i]; i++)
		paths_add_start(w, &except, board, snap->source, hidden->except[i]);
	if (!rows.n)
		put_hidden_rows(w, hidden, NULL, &except);
	for (i = 0; i < rows.n; i++)
		put_hidden_rows(w, hidden, rows.at[i], &except);
	paths_release(&rows);
	paths_release(&except);
}

static void put_hidden(
	struct record_writer *w, const struct board *board, const struct snapshot *snap)
{
	size_t i;

	put_open(w, "hidden", '[');
	for (i = 0; i < snap->n_hidden; i++)
		put_hidden_one(w, board, snap, &snap->hidden[i]);
	put_close(w, ']');
}

static void put_cost(struct record_writer *w, const struct source_cost *cost)
{
	put_open(w, "cost", '{');
	put_int(w, "requests", (int64_t)cost->requests);
	put_int(w, "bytes_in", (int64_t)cost->bytes_in);
	put_int(w, "bytes_out", (int64_t)cost->bytes_out);
	put_number(w, "round_trip_ms", cost->round_trip_ms);
	put_close(w, '}');
}

static void put_error(struct record_writer *w, const struct snapshot *snap)
{
	put_text(w, "error",
		snap->error && w->redact ? "an error; what it said is left out" : snap->error);
	put_time(w, "error_since", snap->error ? snap->error_since_us : TIME_UNKNOWN);
}

/* What a source is, beside its rows. */
static void put_head(
	struct record_writer *w, const struct board *board, const struct snapshot *snap)
{
	put_open(w, "head", '{');
	put_text(w, "state", source_state_word(snap->state));
	put_bool(w, "live", snap->live);
	put_error(w, snap);
	put_text(w, "server",
		snap->server && w->redact ? redact_version(w->redact, snap->server) : snap->server);
	put_hidden(w, board, snap);
	put_cost(w, &snap->cost);
	put_key(w, "self");
	if (snap->self) {
		put_open(w, NULL, '{');
		put_row(w, snap->self, NULL);
		put_close(w, '}');
	} else {
		put_null(w, NULL);
	}
	put_close(w, '}');
}

static void put_frame(struct record_writer *w, const struct board *board,
	const struct snapshot *snap, const struct snapshot *before, const struct changes *c)
{
	put_line(w, "frame");
	put_at(w);
	put_name(w, "source", snap->source);
	put_bool(w, "whole", !before);
	put_int(w, "rows", (int64_t)(c->n - c->gone));
	put_int(w, "gone", (int64_t)c->gone);
	put_moment(w, "seen", snap->picture_ms);
	if (!same_head(w, before, snap))
		put_head(w, board, snap);
	put_line_end(w);
}

static void put_row_line(struct record_writer *w, const struct snapshot *snap,
	const struct row *row, const struct row *before)
{
	put_line(w, "row");
	put_name(w, "source", snap->source);
	put_id(w, "id", row->s->id);
	put_row(w, row, before);
	if (w->cut) {
		put_bool(w, "cut", true);
	}
}

static void put_gone_line(
	struct record_writer *w, const struct snapshot *snap, const struct row *row)
{
	put_line(w, "gone");
	put_name(w, "source", snap->source);
	put_id(w, "id", row->s->id);
	put_line_end(w);
}

static void put_change(struct record_writer *w, const struct snapshot *snap, const struct change *c)
{
	if (!c->now) {
		put_gone_line(w, snap, c->before);
		return;
	}
	put_row_line(w, snap, c->now, c->before);
	if (put_line_end(w))
		return;
	/* Of a queue that fills a line of many megabytes the first are kept. */
	w->most = CUT_MOST;
	put_row_line(w, snap, c->now, NULL);
	put_line_end(w);
	w->most = UINT32_MAX;
}

void record_snapshot(
	struct record_writer *w, const struct board *board, size_t i, const struct snapshot *before)
{
	const struct snapshot *snap = board->snapshots[i];
	struct changes c = { NULL, 0, 0, 0 };
	size_t k;

	record_now(w, board);
	if (snap == before)
		return;
	find_changes(w, &c, before, snap);
	if (before && !c.n && same_head(w, before, snap)) {
		if (snap->picture_ms != before->picture_ms) {
			put_line(w, "seen");
			put_name(w, "source", snap->source);
			put_moment(w, "seen", snap->picture_ms);
			put_line_end(w);
		}
		return;
	}
	put_frame(w, board, snap, before, &c);
	for (k = 0; k < c.n; k++)
		put_change(w, snap, &c.at[k]);
	free(c.at);
}

/* ---- roles, and across the sources ---- */

static void put_judged_line(struct record_writer *w, const char *kind, const char *name_key,
	const char *name, const struct row *row)
{
	put_line(w, kind);
	put_name(w, name_key, name);
	if (row) {
		put_verdict(w, row);
	} else {
		put_null(w, "verdict");
	}
	put_line_end(w);
}

static bool same_judged(const struct record_writer *w, const struct row *a, const struct row *b)
{
	if (!a || !b)
		return a == b;
	return a == b || same_verdict(w, &a->v, &b->v);
}

void record_verdicts(struct record_writer *w, const struct board *board, const struct board *before)
{
	size_t i;

	record_now(w, board);
	for (i = 0; i < board->n_roles && i < RECORD_ROLES_MAX; i++) {
		const struct row *was = before ? before->roles[i].self : NULL;

		if (!same_judged(w, was, board->roles[i].self))
			put_judged_line(w, "role", "role", board->roles[i].role->name,
				board->roles[i].self);
	}
	for (i = 0; i < board->n_snapshots && i < RECORD_SOURCES_MAX; i++) {
		const struct row *was = before ? before->cross[i] : NULL;

		if (!same_judged(w, was, board->cross[i]))
			put_judged_line(
				w, "cross", "source", board->snapshots[i]->source, board->cross[i]);
	}
}

/* ---- events, acts, the end ---- */

static const char *const holds[] = {
	[EVENT_NO_HOLD] = "none",
	[EVENT_TOOK] = "took",
	[EVENT_SEEN] = "seen",
	[EVENT_LAST_SEEN] = "last-seen",
	[EVENT_LET_GO] = "let-go",
};

void record_event(struct record_writer *w, const struct event *e)
{
	put_line(w, "event");
	put_time(w, "at", e->at_us);
	put_name(w, "source", e->source);
	put_id(w, "id", e->id);
	put_word(w, "what", e->what);
	put_big(w, "token", e->token);
	put_text(w, "text", w->redact ? "(what it said is left out)" : e->text);
	put_text(w, "hold", holds[e->hold]);
	put_name(w, "holder", e->holder);
	put_path(w, "key", e->key);
	if (e->late) {
		put_bool(w, "late", true);
	}
	put_line_end(w);
}

void record_act(struct record_writer *w, const char *audit_line)
{
	size_t len = strlen(audit_line);

	if (w->redact || len < 2 || len > ACT_LINE_MAX || audit_line[0] != '{' ||
		audit_line[len - 1] != '}' || memchr(audit_line, '\n', len))
		return;
	put_line(w, "act");
	put_at(w);
	put_key(w, "audit");
	str_add_mem(&w->text, audit_line, len);
	w->comma = true;
	put_line_end(w);
}

void record_end(struct record_writer *w, const char *why)
{
	put_line(w, "end");
	put_at(w);
	put_text(w, "why", why);
	put_line_end(w);
}
