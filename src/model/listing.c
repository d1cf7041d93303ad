#include "config.h"

#include "model/listing.h"
#include "model/draft.h"
#include "model/filter.h"
#include "base/err.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
	AGED_MS = 1000
}; /* what ages is looked at again so often */

struct rows {
	struct listing_row *at;
	size_t n, cap;
};

struct listing {
	struct board *board;
	struct rows all;   /* sorted */
	struct rows shown; /* the part of all that the filter matches; valid where filtered */
	struct rows fresh; /* the same as a pass under way has found it so far */
	struct rows few;   /* the roles and sources in all */
	struct rows gone, come, rest_gone, rest_come, some_come;
	struct row **own; /* rows for sources that have no facts */
	size_t n_own, cap_own;
	struct filter *filter; /* NULL: all */
	char *filter_text;
	enum sort sort;
	bool reverse;
	bool join;
	bool resort;   /* all must be made anew */
	bool filtered; /* shown is what is listed, else all */
	bool pass;     /* a filter pass is under way, at pass_at in all */
	size_t pass_at;
	int64_t aged_ms; /* when the last pass began: what ages is looked at again a second later */
	char *track;     /* id that is followed; NULL */
	struct listing_row tracked;
	bool tracked_here;
};

static const struct {
	const char *word, *help;
} sort_words[] = {
#define SORT(id, w, h) [SORT_##id] = { w, h },
#include "model/sorts.def"
#undef SORT
};

const char *sort_name(enum sort sort)
{
	return sort_words[sort].word;
}

const char *sort_help(enum sort sort)
{
	return sort_words[sort].help;
}

int sort_from_word(const char *word)
{
	size_t len = strlen(word);
	int i, found = -1;

	for (i = 0; i < SORT_COUNT; i++) {
		if (strcasecmp(sort_words[i].word, word) == 0)
			return i;
		if (len && strncasecmp(sort_words[i].word, word, len) == 0)
			found = found == -1 ? i : -2;
	}
	return found < 0 ? -1 : found;
}

static void rows_push(struct rows *rows, const struct listing_row *row)
{
	MEM_GROW(rows->at, rows->n, rows->cap);
	rows->at[rows->n++] = *row;
}

/* Makes room for n more. */
static void rows_room(struct rows *rows, size_t n)
{
	if (rows->n + n <= rows->cap)
		return;
	rows->cap = rows->n + n + (rows->n + n) / 4 + 8;
	rows->at = xrealloc(rows->at, rows->cap, sizeof(*rows->at));
}

static void rows_append(struct rows *rows, const struct listing_row *from, size_t n)
{
	if (!n)
		return;
	rows_room(rows, n);
	memcpy(rows->at + rows->n, from, n * sizeof(*from));
	rows->n += n;
}

/* Those of from, from number first on; it may have none at all. */
static void rows_append_rest(struct rows *to, const struct rows *from, size_t first)
{
	if (first < from->n)
		rows_append(to, from->at + first, from->n - first);
}

static void rows_move(struct rows *rows, size_t to, size_t from, size_t n)
{
	if (n && to != from)
		memmove(rows->at + to, rows->at + from, n * sizeof(*rows->at));
}

static void rows_swap(struct rows *a, struct rows *b)
{
	struct rows keep = *a;

	*a = *b;
	*b = keep;
}

/* The text that an order goes by, behind the rank; NULL for those that go by the rank alone. */
static const char *sort_text(enum sort sort, const struct row *row)
{
	const struct claim *c;

	switch (sort) {
	case SORT_NAME:
		return row->s->more->name;
	case SORT_HOLDER:
		c = singleton_holder(row->s);
		return c ? claim_identity(c) : NULL;
	default:
		return NULL;
	}
}

static int text_compare(enum sort sort, bool reverse, const struct row *a, const struct row *b)
{
	const char *x = sort_text(sort, a), *y = sort_text(sort, b);
	int diff;

	if (!x || !y)
		return x ? -1 : y ? 1 : 0;
	diff = strcmp(x, y);
	return reverse ? -diff : diff;
}

static int rows_compare(
	const struct listing *l, const struct listing_row *a, const struct listing_row *b)
{
	int diff;

	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	diff = text_compare(l->sort, l->reverse, a->row, b->row);
	if (diff)
		return diff;
	diff = strcmp(a->row->s->id, b->row->s->id);
	if (diff)
		return l->sort == SORT_ID && l->reverse ? -diff : diff;
	return (int)a->kind - (int)b->kind;
}

static const struct snapshot *board_snapshot(const struct board *board, uint32_t snap)
{
	return snap == LISTING_NO_SNAP ? NULL : board->snapshots[snap];
}

static enum state entry_state(const struct board *board, const struct listing_row *e)
{
	if (e->kind == LISTING_ROLE)
		return board->roles[e->role].self->v.state;
	return board_state(board->snapshots[e->snap], e->row);
}

static bool known_time(int64_t us, int64_t *ret)
{
	*ret = us;
	return us != TIME_UNKNOWN;
}

/* The number that an order goes by, the smaller first; false when it is unknown. */
static bool sort_number(
	enum sort sort, const struct board *board, const struct listing_row *e, int64_t *ret)
{
	bool source = e->kind == LISTING_SOURCE;

	*ret = 0;
	switch (sort) {
	case SORT_NEED:
		*ret = source ? -1
			      : (e->row->v.needs_attention ? 0 : 100) + (int)entry_state(board, e);
		return true;
	case SORT_STATE:
		*ret = source ? -1 : (int)entry_state(board, e);
		return true;
	case SORT_SOURCE:
		*ret = (int64_t)e->snap * 100 + (source ? -1 : (int)entry_state(board, e));
		return true;
	case SORT_TOKEN:
		*ret = e->row->s->token == INT64_MIN ? INT64_MAX - 1 : -e->row->s->token;
		return e->row->s->has_token;
	case SORT_LEASE:
		return known_time(e->row->s->lease_deadline_ms, ret);
	case SORT_AGE:
		return known_time(e->row->v.state_since_us, ret);
	case SORT_WAIT:
		return known_time(row_waiting_since_us(e->row), ret);
	case SORT_WAITERS:
		*ret = -(int64_t)singleton_count(e->row->s, CLAIM_WAITER);
		return *ret != 0;
	default:
		return true;
	}
}

static int64_t sort_rank(
	const struct listing *l, const struct board *board, const struct listing_row *e)
{
	int64_t number;

	if (!sort_number(l->sort, board, e, &number))
		return INT64_MAX;
	if (!l->reverse)
		return number == INT64_MAX ? number - 1 : number;
	return number == INT64_MIN ? INT64_MAX - 1 : -number;
}

/* Merges two neighbouring sorted runs of rows [a, b) and [b, c) into to. */
static void sort_merge(const struct listing *l, const struct listing_row *from,
	struct listing_row *to, size_t a, size_t b, size_t c)
{
	size_t i = a, j = b, k = a;

	/* Runs that are in order already, as most are where a source tells its rows in order. */
	if (b == c || rows_compare(l, &from[b - 1], &from[b]) <= 0) {
		memcpy(to + a, from + a, (c - a) * sizeof(*from));
		return;
	}
	while (i < b && j < c)
		to[k++] = rows_compare(l, &from[j], &from[i]) < 0 ? from[j++] : from[i++];
	memcpy(to + k, from + i, (b - i) * sizeof(*from));
	memcpy(to + k + (b - i), from + j, (c - j) * sizeof(*from));
}

/* The end of the run that begins at i; one that goes down is turned round. */
static size_t sort_run(const struct listing *l, struct listing_row *at, size_t i, size_t n)
{
	size_t end = i + 1, a, b;

	if (end == n)
		return n;
	if (rows_compare(l, &at[i], &at[end]) <= 0) {
		while (end < n && rows_compare(l, &at[end - 1], &at[end]) <= 0)
			end++;
		return end;
	}
	while (end < n && rows_compare(l, &at[end - 1], &at[end]) > 0)
		end++;
	for (a = i, b = end - 1; a < b; a++, b--) {
		struct listing_row keep = at[a];

		at[a] = at[b];
		at[b] = keep;
	}
	return end;
}

/* A merge sort over the runs that are there: sources tell their rows mostly in order, so one pass
 * often does. */
static void rows_sort(struct listing *l, struct rows *rows)
{
	size_t *runs = NULL, n_runs = 0, cap_runs = 0, i;
	struct rows other = { 0 };

	for (i = 0; i < rows->n; i = sort_run(l, rows->at, i, rows->n)) {
		MEM_GROW(runs, n_runs, cap_runs);
		runs[n_runs++] = i;
	}
	if (n_runs > 1)
		rows_append(&other, rows->at, rows->n); /* makes the room */
	while (n_runs > 1) {
		size_t out = 0;

		for (i = 0; i < n_runs; i += 2) {
			size_t middle = i + 1 < n_runs ? runs[i + 1] : rows->n;
			size_t end = i + 2 < n_runs ? runs[i + 2] : rows->n;

			sort_merge(l, rows->at, other.at, runs[i], middle, end);
			runs[out++] = runs[i];
		}
		n_runs = out;
		rows_swap(rows, &other);
	}
	free(other.at);
	free(runs);
}

/* The first place in [low, high] that is not before e, where all before low are, and none from high
 * on. */
static size_t rows_search(const struct listing *l, const struct rows *rows, size_t low, size_t high,
	const struct listing_row *e)
{
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (rows_compare(l, &rows->at[middle], e) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The first place in [from, n) that is not before e, found by steps that double: near places are
 * found fast. */
static size_t rows_bound(
	const struct listing *l, const struct rows *rows, size_t from, const struct listing_row *e)
{
	size_t step = 1, low = from, high = from;

	while (high < rows->n && rows_compare(l, &rows->at[high], e) < 0) {
		low = high + 1;
		high += step;
		step *= 2;
	}
	return rows_search(l, rows, low, high < rows->n ? high : rows->n, e);
}

/* The same in [0, end), from behind. */
static size_t rows_bound_back(
	const struct listing *l, const struct rows *rows, size_t end, const struct listing_row *e)
{
	size_t step = 1, low = end, high = end;

	while (low && rows_compare(l, &rows->at[low - 1], e) >= 0) {
		high = low - 1;
		low = high > step ? high - step : 0;
		step *= 2;
	}
	return rows_search(l, rows, low, high, e);
}

/* Whether e stands there. */
static bool rows_is_at(
	const struct listing *l, const struct rows *rows, size_t at, const struct listing_row *e)
{
	return at < rows->n && rows_compare(l, &rows->at[at], e) == 0;
}

static size_t rows_index(
	const struct listing *l, const struct rows *rows, const struct listing_row *e)
{
	size_t at = rows_search(l, rows, 0, rows->n, e);

	return rows_is_at(l, rows, at, e) ? at : SIZE_MAX;
}

/* Rows that only got newer facts and keep their place are replaced where they are; the others are
 * left in rest_*. */
static void rows_replace(
	struct listing *l, struct rows *rows, const struct rows *gone, const struct rows *come)
{
	size_t g = 0, c = 0, at = 0;

	l->rest_gone.n = l->rest_come.n = 0;
	while (g < gone->n && c < come->n) {
		int diff = rows_compare(l, &gone->at[g], &come->at[c]);

		if (diff < 0) {
			rows_push(&l->rest_gone, &gone->at[g++]);
			continue;
		}
		if (diff > 0) {
			rows_push(&l->rest_come, &come->at[c++]);
			continue;
		}
		at = rows_bound(l, rows, at, &come->at[c]);
		if (rows_is_at(l, rows, at, &come->at[c]))
			rows->at[at] = come->at[c];
		else
			rows_push(&l->rest_come, &come->at[c]);
		g++;
		c++;
	}
	rows_append_rest(&l->rest_gone, gone, g);
	rows_append_rest(&l->rest_come, come, c);
}

/* Takes out what is gone, where it is in. */
static void rows_take_out(const struct listing *l, struct rows *rows, const struct rows *gone)
{
	size_t g, at = 0, from = 0, to = 0;

	for (g = 0; g < gone->n; g++) {
		at = rows_bound(l, rows, at, &gone->at[g]);
		if (!rows_is_at(l, rows, at, &gone->at[g]))
			continue;
		rows_move(rows, to, from, at - from);
		to += at - from;
		from = ++at;
	}
	rows_move(rows, to, from, rows->n - from);
	rows->n -= from - to;
}

/* Puts in what came, from behind, so that no second array is needed. */
static void rows_put_in(const struct listing *l, struct rows *rows, const struct rows *come)
{
	size_t c = come->n, end = rows->n, to = end + c, at;

	rows_room(rows, c);
	rows->n = to;
	for (; c; end = at) {
		at = rows_bound_back(l, rows, end, &come->at[c - 1]);
		to -= end - at;
		rows_move(rows, to, at, end - at);
		rows->at[--to] = come->at[--c];
	}
}

/* Both that is gone and that came are sorted. */
static void rows_apply(
	struct listing *l, struct rows *rows, const struct rows *gone, const struct rows *come)
{
	rows_replace(l, rows, gone, come);
	rows_take_out(l, rows, &l->rest_gone);
	rows_put_in(l, rows, &l->rest_come);
}

struct listing *listing_new(void)
{
	struct listing *l = xcalloc(1, sizeof(*l));

	l->filter_text = xstrdup("");
	l->join = true;
	l->aged_ms = INT64_MIN / 2;
	return l;
}

static void own_release(struct row **own, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		row_unref(own[i]);
	free(own);
}

void listing_free(struct listing *l)
{
	if (!l)
		return;
	free(l->all.at);
	free(l->shown.at);
	free(l->fresh.at);
	free(l->few.at);
	free(l->gone.at);
	free(l->come.at);
	free(l->rest_gone.at);
	free(l->rest_come.at);
	free(l->some_come.at);
	own_release(l->own, l->n_own);
	filter_free(l->filter);
	free(l->filter_text);
	free(l->track);
	board_unref(l->board);
	free(l);
}

static bool role_exists(const struct board *board, const char *name)
{
	size_t i;

	for (i = 0; i < board->n_roles; i++)
		if (board->roles[i].self && strcmp(board->roles[i].role->name, name) == 0)
			return true;
	return false;
}

static void collect_row(struct listing *l, const struct board *board, uint32_t snap,
	const struct row *row, struct rows *to)
{
	struct listing_row e = { .row = row, .snap = snap };

	if (l->join && row_role(row) && role_exists(board, row_role(row)))
		return;
	e.rank = sort_rank(l, board, &e);
	rows_push(to, &e);
}

static void collect_chunk(struct listing *l, const struct board *board, uint32_t snap,
	const struct chunk *chunk, struct rows *to)
{
	uint32_t i;

	for (i = 0; chunk && i < chunk->n; i++)
		collect_row(l, board, snap, chunk->rows[i], to);
}

static void collect_snapshot(
	struct listing *l, const struct board *board, uint32_t i, struct rows *to)
{
	const struct snapshot *snap = board->snapshots[i];
	size_t c;

	for (c = 0; c < snap->n_chunks; c++)
		collect_chunk(l, board, i, snap->chunks[c], to);
}

/* A source that never told anything about itself still has a row, when it can't be read: the
 * listing makes it. */
static const struct row *own_row(struct listing *l, const struct snapshot *snap)
{
	struct draft *d = draft_new();
	struct verdict_draft v;
	struct row *row;

	verdict_draft_init(&v);
	draft_begin(d, MECH_SOURCE, snap->source, "", 0);
	v.v.needs_attention = true;
	v.v.state_since_us = snap->error_since_us;
	row = row_new(draft_finish(d), &v);
	verdict_draft_release(&v);
	draft_free(d);
	MEM_GROW(l->own, l->n_own, l->cap_own);
	l->own[l->n_own++] = row;
	return row;
}

static void collect_source(
	struct listing *l, const struct board *board, uint32_t i, struct rows *to)
{
	const struct snapshot *snap = board->snapshots[i];
	const struct row *cross = board->cross ? board->cross[i] : NULL;
	bool need = snap->state == SOURCE_FAILING ||
		    (snap->self && snap->self->v.needs_attention) ||
		    (cross && cross->v.needs_attention);
	struct listing_row e = { .snap = i, .kind = LISTING_SOURCE };

	if (!need)
		return;
	e.row = snap->self ? snap->self : cross ? cross : own_row(l, snap);
	e.rank = sort_rank(l, board, &e);
	rows_push(to, &e);
}

/* The rows that are made anew with each board: few, so they always count as changed. */
static void collect_few(struct listing *l, const struct board *board, struct rows *to)
{
	size_t i, first = to->n;

	for (i = 0; i < board->n_roles; i++) {
		struct listing_row e = { .row = board->roles[i].self,
			.snap = LISTING_NO_SNAP,
			.kind = LISTING_ROLE,
			.role = (uint32_t)i & 0x3fffffff };

		if (!e.row)
			continue;
		e.rank = sort_rank(l, board, &e);
		rows_push(to, &e);
	}
	for (i = 0; i < board->n_snapshots; i++)
		collect_source(l, board, (uint32_t)i, to);
	l->few.n = 0;
	rows_append_rest(&l->few, to, first);
}

static void diff_snapshot(
	struct listing *l, const struct board *old, const struct board *new, uint32_t i)
{
	const struct snapshot *a = old->snapshots[i], *b = new->snapshots[i];
	size_t c, n = a->n_chunks > b->n_chunks ? a->n_chunks : b->n_chunks;
	uint32_t r;

	/* Its rows are shown as UNKNOWN, or no longer: all of them change places. */
	bool all = (a->state == SOURCE_OK || a->state == SOURCE_DEGRADED) !=
		   (b->state == SOURCE_OK || b->state == SOURCE_DEGRADED);

	for (c = 0; c < n; c++) {
		const struct chunk *x = c < a->n_chunks ? a->chunks[c] : NULL;
		const struct chunk *y = c < b->n_chunks ? b->chunks[c] : NULL;

		if (x == y && !all)
			continue;
		for (r = 0; x && r < x->n; r++)
			if (all || !y || r >= y->n || y->rows[r] != x->rows[r])
				collect_row(l, old, i, x->rows[r], &l->gone);
		for (r = 0; y && r < y->n; r++)
			if (all || !x || r >= x->n || x->rows[r] != y->rows[r])
				collect_row(l, new, i, y->rows[r], &l->come);
	}
}

static bool same_sources(const struct board *a, const struct board *b)
{
	size_t i;

	if (!a || a->n_snapshots != b->n_snapshots)
		return false;
	for (i = 0; i < a->n_snapshots; i++)
		if (strcmp(a->snapshots[i]->source, b->snapshots[i]->source) != 0)
			return false;
	return true;
}

static bool entry_matches(
	const struct listing *l, const struct listing_row *e, int64_t now_ms, int64_t now_us)
{
	struct filter_row in = { .row = e->row,
		.snap = board_snapshot(l->board, e->snap),
		.role = e->kind == LISTING_ROLE ? &l->board->roles[e->role] : NULL,
		.state = entry_state(l->board, e),
		.now_ms = now_ms,
		.now_us = now_us };

	return filter_match(l->filter, &in);
}

static void pass_begin(struct listing *l, int64_t now_ms)
{
	l->fresh.n = 0;
	l->filtered = l->filtered && l->filter;
	l->pass = l->filter != NULL;
	l->pass_at = 0;
	l->aged_ms = now_ms;
}

/* What holds memory in proportion to one pass, or one large change, is given back. */
static void rows_shrink(struct rows *rows)
{
	rows->n = 0;
	if (rows->cap < 4096)
		return;
	free(rows->at);
	*rows = (struct rows){ 0 };
}

static bool pass_work(struct listing *l, int64_t now_ms, int64_t now_us, size_t max_rows)
{
	size_t end = l->all.n - l->pass_at > max_rows ? l->pass_at + max_rows : l->all.n;

	for (; l->pass_at < end; l->pass_at++)
		if (entry_matches(l, &l->all.at[l->pass_at], now_ms, now_us))
			rows_push(&l->fresh, &l->all.at[l->pass_at]);
	if (l->pass_at < l->all.n)
		return true;
	rows_swap(&l->shown, &l->fresh);
	rows_shrink(&l->fresh);
	l->filtered = true;
	l->pass = false;
	return false;
}

static void track_in(struct listing *l, const struct rows *rows, bool here)
{
	size_t i;

	for (i = 0; l->track && i < rows->n; i++) {
		if (strcmp(rows->at[i].row->s->id, l->track) != 0)
			continue;
		l->tracked_here = here;
		l->tracked = rows->at[i];
		return;
	}
}

static void rebuild(struct listing *l, int64_t now_ms, int64_t now_us)
{
	uint32_t i;

	l->resort = false;
	l->all.n = 0;
	own_release(l->own, l->n_own);
	l->own = NULL;
	l->n_own = l->cap_own = 0;
	if (!l->board)
		return;
	for (i = 0; i < l->board->n_snapshots; i++)
		collect_snapshot(l, l->board, i, &l->all);
	collect_few(l, l->board, &l->all);
	rows_sort(l, &l->all);
	l->tracked_here = false;
	track_in(l, &l->all, true);
	/* The rows that were listed are in another order, and perhaps gone: nothing of them can
	 * stay. */
	pass_begin(l, now_ms);
	if (l->pass)
		pass_work(l, now_ms, now_us, SIZE_MAX);
}

static void apply(struct listing *l, int64_t now_ms, int64_t now_us)
{
	size_t i;

	rows_sort(l, &l->gone);
	rows_sort(l, &l->come);
	rows_apply(l, &l->all, &l->gone, &l->come);
	track_in(l, &l->gone, false);
	track_in(l, &l->come, true);
	if (l->filtered) {
		l->some_come.n = 0;
		for (i = 0; i < l->come.n; i++)
			if (entry_matches(l, &l->come.at[i], now_ms, now_us))
				rows_push(&l->some_come, &l->come.at[i]);
		rows_apply(l, &l->shown, &l->gone, &l->some_come);
	}
	if (l->pass)
		pass_begin(l, now_ms);
}

void listing_update(struct listing *l, const struct board *board, int64_t now_ms, int64_t now_us)
{
	struct board *old = l->board;
	struct row **own = l->own;
	size_t n_own = l->n_own, i;

	l->board = board_ref(board);
	if (l->resort || !same_sources(old, board)) {
		rebuild(l, now_ms, now_us);
		board_unref(old);
		return;
	}
	l->gone.n = l->come.n = 0;
	l->own = NULL;
	l->n_own = l->cap_own = 0;
	for (i = 0; i < board->n_snapshots; i++)
		if (old->snapshots[i] != board->snapshots[i])
			diff_snapshot(l, old, board, (uint32_t)i);
	rows_append_rest(&l->gone, &l->few, 0);
	collect_few(l, board, &l->come);
	apply(l, now_ms, now_us);
	rows_shrink(&l->gone);
	rows_shrink(&l->come);
	rows_shrink(&l->rest_gone);
	rows_shrink(&l->rest_come);
	rows_shrink(&l->some_come);
	own_release(own, n_own);
	board_unref(old);
}

const struct board *listing_board(const struct listing *l)
{
	return l->board;
}

void listing_sort(struct listing *l, enum sort sort, bool reverse)
{
	if (l->sort == sort && l->reverse == reverse)
		return;
	/* The old order stays listed until listing_work made the new one; rank and compare go by
	 * the new one at once. */
	l->sort = sort;
	l->reverse = reverse;
	l->resort = true;
}

enum sort listing_sorted(const struct listing *l, bool *ret_reverse)
{
	if (ret_reverse)
		*ret_reverse = l->reverse;
	return l->sort;
}

int listing_filter(struct listing *l, const char *text, struct err *err)
{
	struct filter *f;
	int rc = filter_parse(text, &f, err);

	if (rc < 0)
		return rc;
	if (filter_is_empty(f)) {
		filter_free(f);
		f = NULL;
	}
	filter_free(l->filter);
	l->filter = f;
	free(l->filter_text);
	l->filter_text = xstrdup(text);
	pass_begin(l, l->aged_ms);
	if (!l->filtered)
		rows_shrink(&l->shown);
	return 0;
}

const char *listing_filter_text(const struct listing *l)
{
	return l->filter_text;
}

void listing_join(struct listing *l, bool join)
{
	l->resort = l->resort || l->join != join;
	l->join = join;
}

bool listing_joined(const struct listing *l)
{
	return l->join;
}

bool listing_work(struct listing *l, int64_t now_ms, int64_t now_us, size_t max_rows)
{
	if (l->resort)
		rebuild(l, now_ms, now_us);
	/* The time of what is shown may also be set back. */
	if (l->filter && !l->pass && filter_ages(l->filter) &&
		(now_ms < l->aged_ms || now_ms - l->aged_ms >= AGED_MS))
		pass_begin(l, now_ms);
	return l->pass && pass_work(l, now_ms, now_us, max_rows);
}

bool listing_busy(const struct listing *l)
{
	return l->pass || l->resort;
}

int64_t listing_next_ms(const struct listing *l)
{
	if (!l->filter || l->pass || !filter_ages(l->filter))
		return INT64_MAX;
	return l->aged_ms + AGED_MS;
}

static const struct rows *listing_rows(const struct listing *l)
{
	return l->filtered ? &l->shown : &l->all;
}

size_t listing_count(const struct listing *l)
{
	return listing_rows(l)->n;
}

size_t listing_total(const struct listing *l)
{
	return l->all.n;
}

const struct listing_row *listing_at(const struct listing *l, size_t i)
{
	return &listing_rows(l)->at[i];
}

const struct snapshot *listing_snapshot(const struct listing *l, const struct listing_row *row)
{
	return board_snapshot(l->board, row->snap);
}

const struct role_view *listing_role(const struct listing *l, const struct listing_row *row)
{
	return row->kind == LISTING_ROLE ? &l->board->roles[row->role] : NULL;
}

enum state listing_state(const struct listing *l, const struct listing_row *row)
{
	return entry_state(l->board, row);
}

bool listing_is_unread(const struct listing *l, const struct listing_row *row)
{
	if (row->kind == LISTING_ROLE)
		return listing_state(l, row) == STATE_UNKNOWN;
	return board_is_unread(l->board->snapshots[row->snap]);
}

void listing_track(struct listing *l, const char *id)
{
	char *copy = id ? xstrdup(id) : NULL;

	free(l->track);
	l->track = copy;
	l->tracked_here = false;
	track_in(l, &l->all, true);
}

void listing_follow(struct listing *l, const struct listing_row *row)
{
	char *copy = xstrdup(row->row->s->id);

	free(l->track);
	l->track = copy;
	l->tracked = *row;
	l->tracked_here = true;
}

const struct listing_row *listing_tracked(const struct listing *l)
{
	return l->tracked_here ? &l->tracked : NULL;
}

const char *listing_tracked_id(const struct listing *l)
{
	return l->track;
}

size_t listing_tracked_at(const struct listing *l)
{
	size_t i;

	if (!l->tracked_here)
		return SIZE_MAX;
	if (!l->resort)
		return rows_index(l, listing_rows(l), &l->tracked);
	/* The old order is still listed: nothing but a walk finds a row in it. */
	for (i = 0; i < listing_count(l); i++)
		if (listing_at(l, i)->row == l->tracked.row)
			return i;
	return SIZE_MAX;
}
