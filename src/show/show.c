#include "config.h"

#include "show/show.h"
#include "base/clock.h"
#include "base/mem.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	FETCH_AHEAD = 8,
	PART_LEAST = 1024, /* rows that are worth a thread */
	PART_MOST = 4096,  /* and that are held until they may be written */
};

void show_init(struct show *show, const struct show_ops *ops, struct out *out,
	const struct show_style *style, const struct board *board)
{
	*show = (struct show){ .ops = ops, .out = out };
	if (style)
		show->style = *style;
	if (board) {
		show->sim = board->sim;
		show->record = board->record;
		show->now_ms = board->mono_ms;
		show->now_us = board->wall_us;
	}
}

const char *show_mark(bool sim, bool record)
{
	return record ? sim ? "REPLAY SIM" : "REPLAY" : sim ? "SIM" : NULL;
}

const char *show_mark_text(bool sim, bool record)
{
	if (sim)
		return record ? "a record of a built-in fleet; nothing here is real"
			      : "a built-in fleet; nothing here is real";
	return record ? "a record: what was, not what is now" : "";
}

void show_mark_line(struct out *out, const struct board *board)
{
	if (show_mark(board->sim, board->record))
		out_fmt(out, "%s: %s\n", show_mark(board->sim, board->record),
			show_mark_text(board->sim, board->record));
}

void show_vain(char *buf, size_t size, int64_t waited_ms)
{
	/* All that a source waits for has a deadline of its own; looking up a name has none. */
	snprintf(buf, size, "no answer within %g s: perhaps its name server is silent",
		(double)waited_ms / 1000);
}

const char *show_source_error(
	const struct show *show, const struct snapshot *snap, char *buf, size_t size)
{
	if (snap->error || snap->state != SOURCE_CONNECTING || !show->patience_ms)
		return snap->error;
	show_vain(buf, size, show->patience_ms);
	return buf;
}

int64_t show_detail_now(const struct detail *detail, int64_t now_ms)
{
	if (detail->i == TIME_UNKNOWN)
		return detail->i;
	switch (detail->id) {
	case DETAIL_TTL_DEADLINE:
		return detail->i - now_ms;
	case DETAIL_TTL_READ:
	case DETAIL_RENEWED:
	case DETAIL_TERM_CHANGED:
	case DETAIL_LEASES_LOST_AT:
		return now_ms - detail->i;
	default:
		return detail->i;
	}
}

/* MS details that hold a moment of our monotonic clock, shown as an age. */
static bool show_detail_is_moment(enum detail_id id)
{
	return id == DETAIL_TTL_READ || id == DETAIL_RENEWED || id == DETAIL_TERM_CHANGED ||
	       id == DETAIL_LEASES_LOST_AT;
}

static void show_detail_ms(int64_t ms, struct str *out)
{
	char age[CLOCK_TEXT_MAX];

	if (ms > -10000 && ms < 10000) {
		str_addf(out, "%s%" PRId64 ".%03" PRId64 "s", ms < 0 ? "-" : "",
			(ms < 0 ? -ms : ms) / 1000, (ms < 0 ? -ms : ms) % 1000);
		return;
	}
	clock_format_age(age, ms);
	str_add(out, age);
}

void show_detail_text(const struct detail *detail, int64_t now_ms, struct str *out)
{
	char text[CLOCK_TEXT_MAX];

	if (detail->hidden) {
		str_add(out, "hidden");
		return;
	}
	switch (detail_word(detail->id)->type) {
	case DETAIL_TYPE_TEXT:
		str_add(out, detail->s);
		break;
	case DETAIL_TYPE_HEX:
		str_addf(out, "%" PRIx64, (uint64_t)detail->i);
		break;
	case DETAIL_TYPE_TIME:
		clock_format_utc(text, detail->i, 3);
		str_add(out, text);
		break;
	case DETAIL_TYPE_MS:
		show_detail_ms(show_detail_now(detail, now_ms), out);
		if (show_detail_is_moment(detail->id))
			str_add(out, " ago");
		break;
	case DETAIL_TYPE_BOOL:
		str_add(out, detail->i ? "yes" : "no");
		break;
	default:
		str_addf(out, "%" PRId64 "%s", detail->i, detail_unit(detail->id));
		break;
	}
}

/* What is sorted: the eight bytes behind what all ids share decide most comparisons. */
struct show_entry {
	uint64_t key;
	const struct row *row;
	uint32_t at; /* the number of its snapshot, or of the role that stands instead of one */
	uint8_t state;
	bool role;
};

static int show_entry_order(const void *a, const void *b)
{
	const struct show_entry *x = a, *y = b;

	if (x->state != y->state)
		return x->state < y->state ? -1 : 1;
	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return strcmp(x->row->s->id, y->row->s->id);
}

static size_t show_common(const char *a, const char *b, size_t limit)
{
	size_t n = 0;

	while (n < limit && a[n] && a[n] == b[n])
		n++;
	return n;
}

static uint64_t show_key(const char *id)
{
	uint64_t key = 0;
	int i;

	for (i = 0; i < 8; i++)
		key = key << 8 | (unsigned char)(*id ? *id++ : 0);
	return key;
}

static bool show_wants(uint32_t states, enum state state)
{
	return !states || states & (UINT32_C(1) << state);
}

static size_t show_add_roles(const struct board *board, uint32_t states, struct show_entry *entries)
{
	size_t i, n = 0;

	for (i = 0; i < board->n_roles; i++) {
		const struct role_view *role = &board->roles[i];

		if (show_wants(states, role->self->v.state))
			entries[n++] = (struct show_entry){ .row = role->self,
				.at = (uint32_t)i,
				.role = true,
				.state = (uint8_t)role->self->v.state };
	}
	return n;
}

/* Rows lie about in memory: the next ones are fetched while one is looked at. */
static void show_fetch(const struct snapshot *snap, size_t k)
{
	if (k + 2 * FETCH_AHEAD < snap->n_rows)
		__builtin_prefetch(snapshot_row(snap, k + 2 * FETCH_AHEAD));
	if (k + FETCH_AHEAD < snap->n_rows)
		__builtin_prefetch(snapshot_row(snap, k + FETCH_AHEAD)->s);
	if (k + FETCH_AHEAD / 2 < snap->n_rows)
		__builtin_prefetch(snapshot_row(snap, k + FETCH_AHEAD / 2)->s->id);
}

static struct show_entry *show_sorted(
	const struct board *board, uint32_t states, bool roles, size_t *ret_n)
{
	struct show_entry *entries = xcalloc(board->n_rows + board->n_roles + 1, sizeof(*entries));
	size_t n = 0, common = SIZE_MAX, i, k;

	for (i = 0; i < board->n_snapshots; i++) {
		const struct snapshot *snap = board->snapshots[i];

		for (k = 0; k < snap->n_rows; k++) {
			const struct row *row = snapshot_row(snap, k);
			enum state state = board_state(snap, row);

			show_fetch(snap, k);
			if (!show_wants(states, state))
				continue;
			entries[n] = (struct show_entry){
				.row = row, .at = (uint32_t)i, .state = (uint8_t)state
			};
			if (!n || strncmp(entries[0].row->s->id, row->s->id, common) != 0)
				common = show_common(entries[0].row->s->id, row->s->id, common);
			n++;
		}
	}
	if (roles && board->n_roles) {
		n += show_add_roles(board, states, entries + n);
		common = 0;
	}
	for (i = 0; i < n; i++)
		entries[i].key = show_key(entries[i].row->s->id + common);
	/* Sources tell their rows mostly in order. */
	for (i = 1; i < n && show_entry_order(&entries[i - 1], &entries[i]) <= 0; i++)
		;
	if (i < n)
		qsort(entries, n, sizeof(*entries), show_entry_order);
	*ret_n = n;
	return entries;
}

static void walk_claims(struct show *show, const struct singleton *s, enum claim_kind kind)
{
	const struct claim *claim;
	uint32_t pos = 0;

	if (!show->ops->claim)
		return;
	show->ops->claims(show, kind, singleton_count(s, kind));
	while ((claim = singleton_claim(s, kind, &pos)))
		show->ops->claim(show, s, claim);
	show->ops->claims_end(show, kind);
}

static void walk_runs(struct show *show, const struct row *row)
{
	const struct singleton *s = row->s;
	uint32_t i, k;

	show->ops->runs(show, row, s->more->n_runs);
	for (i = 0; i < s->more->n_runs && show->ops->run; i++) {
		show->ops->run(show, &s->more->runs[i]);
		for (k = 0; k < s->more->runs[i].n_pods; k++)
			show->ops->pod(show, &s->more->runs[i].pods[k]);
		show->ops->run_end(show);
	}
	show->ops->runs_end(show);
}

static void walk_findings(struct show *show, const struct row *row, const struct row *more)
{
	size_t i;

	if (!show->ops->finding)
		return;
	show->ops->findings(show, (row ? row->v.n_findings : 0) + (more ? more->v.n_findings : 0));
	for (i = 0; row && i < row->v.n_findings; i++)
		show->ops->finding(show, &row->v.findings[i]);
	for (i = 0; more && i < more->v.n_findings; i++)
		show->ops->finding(show, &more->v.findings[i]);
	show->ops->findings_end(show);
}

void show_singleton(struct show *show, const struct snapshot *snap, const struct row *row)
{
	show->ops->singleton(show, snap, row);
	walk_claims(show, row->s, CLAIM_HOLDER);
	walk_claims(show, row->s, CLAIM_WAITER);
	if (singleton_count(row->s, CLAIM_FORMER))
		walk_claims(show, row->s, CLAIM_FORMER);
	walk_runs(show, row);
	walk_findings(show, row, NULL);
	show->ops->singleton_end(show, snap, row);
}

static void walk_source(struct show *show, const struct snapshot *snap, const struct row *cross)
{
	show->ops->source(show, snap, cross);
	if (snap->self)
		walk_claims(show, snap->self->s, CLAIM_MEMBER);
	walk_findings(show, snap->self, cross);
	show->ops->source_end(show);
}

static void walk_role(struct show *show, const struct role_view *role)
{
	show->ops->role(show, role);
	walk_findings(show, role->self, NULL);
	show->ops->role_end(show, role);
}

static const struct row *show_cross(const struct board *board, const struct snapshot *snap)
{
	size_t i;

	for (i = 0; board->cross && i < board->n_snapshots; i++)
		if (board->snapshots[i] == snap)
			return board->cross[i];
	return NULL;
}

static void show_sources(struct show *show, const struct board *board)
{
	size_t i;

	show->ops->section(show, SHOW_SOURCES);
	for (i = 0; i < board->n_snapshots; i++)
		walk_source(show, board->snapshots[i], board->cross ? board->cross[i] : NULL);
	show->ops->section_end(show, SHOW_SOURCES);
}

static void show_roles(struct show *show, const struct board *board, uint32_t states)
{
	size_t i;

	show->ops->section(show, SHOW_ROLES);
	for (i = 0; i < board->n_roles; i++)
		if (show_wants(states, board->roles[i].self->v.state))
			walk_role(show, &board->roles[i]);
	show->ops->section_end(show, SHOW_ROLES);
}

static void show_entries(
	struct show *show, const struct board *board, const struct show_entry *entries, size_t n)
{
	size_t i;

	for (i = 0; i < n && !show->out->error; i++) {
		const struct show_entry *e = &entries[i];

		if (e->role)
			walk_role(show, &board->roles[e->at]);
		else if (show->ops->again)
			show->ops->singleton(show, board->snapshots[e->at], e->row);
		else
			show_singleton(show, board->snapshots[e->at], e->row);
	}
}

/* Rows that another thread tells, into memory. */
struct show_part {
	struct show show;
	struct out out;
	const struct board *board;
	const struct show_entry *entries;
	size_t n;
};

static void *part_main(void *arg)
{
	struct show_part *part = arg;

	show_entries(&part->show, part->board, part->entries, part->n);
	return NULL;
}

/* Tells entries that stand behind others: the second half of them beside the first. */
static void show_both(
	struct show *show, struct show_part *part, const struct show_entry *entries, size_t n)
{
	size_t half = n / 2;
	pthread_t thread;

	part->show = *show;
	part->show.out = &part->out;
	part->entries = entries + half;
	part->n = n - half;
	show->ops->part(show, &part->show);
	if (pthread_create(&thread, NULL, part_main, part)) {
		show_entries(show, part->board, entries, half);
		part_main(part);
	} else {
		show_entries(show, part->board, entries, half);
		pthread_join(thread, NULL);
	}
	show->ops->joined(show, &part->show);
	out_pour(show->out, &part->out);
}

/* A hundred thousand rows take longer to be told than to be read; most machines have two cores. */
static void show_many(
	struct show *show, const struct board *board, const struct show_entry *entries, size_t n)
{
	struct show_part part = { .board = board };
	size_t at = n ? 1 : 0;

	if (!show->ops->part || n < 2 * PART_LEAST) {
		show_entries(show, board, entries, n);
		return;
	}
	out_init(&part.out, OUT_HELD);
	show_entries(show, board, entries, at);
	while (at < n && !show->out->error) {
		size_t some = n - at < 2 * PART_MOST ? n - at : 2 * PART_MOST;

		show_both(show, &part, entries + at, some);
		at += some;
	}
	out_close(&part.out);
}

void show_list(struct show *show, const struct board *board, uint32_t states)
{
	size_t n;
	struct show_entry *entries = show_sorted(board, states, show->ops->roles_among, &n);

	show->ops->begin(show, "list");
	show_sources(show, board);
	show->ops->section(show, SHOW_SINGLETONS);
	show_many(show, board, entries, n);
	if (show->ops->again) {
		show->ops->again(show);
		show_many(show, board, entries, n);
	}
	show->ops->section_end(show, SHOW_SINGLETONS);
	if (!show->ops->roles_among)
		show_roles(show, board, states);
	show->ops->end(show);
	free(entries);
}

void show_one(struct show *show, const struct board *board, const struct snapshot *snap,
	const struct row *row, struct event *const *events, size_t n_events)
{
	size_t i;

	show->whole = true;
	show->events = events;
	show->n_events = n_events;
	show->ops->begin(show, "show");
	show_singleton(show, snap, row);
	walk_source(show, snap, show_cross(board, snap));
	show->ops->section(show, SHOW_HISTORY);
	for (i = 0; i < n_events; i++)
		show->ops->event(show, events[i]);
	show->ops->section_end(show, SHOW_HISTORY);
	show->ops->end(show);
}

void show_role(struct show *show, const struct role_view *role)
{
	show->whole = true;
	show->ops->begin(show, "role");
	walk_role(show, role);
	show->ops->end(show);
}

void show_change(struct show *show, const struct board *board, const char *what,
	const struct snapshot *snap, const struct row *row)
{
	show->ops->change(show, what, snap, row, NULL);
	if (row)
		show_singleton(show, snap, row);
	else
		walk_source(show, snap, show_cross(board, snap));
	show->ops->change_end(show);
}

void show_role_change(struct show *show, const char *what, const struct role_view *role)
{
	show->ops->change(show, what, NULL, NULL, role);
	walk_role(show, role);
	show->ops->change_end(show);
}
