#include "config.h"

#include "model/past.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum {
	SECOND_MS = 1000,
	MINUTE_MS = 60 * SECOND_MS,
	CLOSE_MS = 5 * MINUTE_MS, /* so long ago every change is kept */
	NEAR_MS = 60 * MINUTE_MS, /* so long ago one moment in NEAR_STEP_MS, then one in FAR_STEP_MS
				   */
	NEAR_STEP_MS = 10 * SECOND_MS,
	FAR_STEP_MS = MINUTE_MS,
	THIN_EVERY_MS = 10 * SECOND_MS,
	MOMENTS_MOST = 20000,
	HEAD_BYTES = 512,  /* of a board and of a snapshot, beside their arrays */
	MOVED_SOUGHT = 16, /* rows of one board that are looked for elsewhere in the one before */
};

void past_init(struct past *past, size_t most_bytes)
{
	memset(past, 0, sizeof(*past));
	past->most_bytes = most_bytes;
	past->thinned_ms = INT64_MIN / 2;
}

static void past_clear(struct past *past)
{
	size_t i;

	for (i = 0; i < past->n; i++)
		board_unref(past->at[i].board);
	past->n = 0;
	past->bytes = 0;
	board_unref(past->last);
	past->last = NULL;
	past->thinned_ms = INT64_MIN / 2;
}

void past_release(struct past *past)
{
	past_clear(past);
	free(past->at);
	past->at = NULL;
	past->cap = 0;
}

/* ---- what a moment costs beside the next one ---- */

static size_t chunk_cost(const struct chunk *a, const struct chunk *b)
{
	uint32_t i, differ = 0;

	for (i = 0; i < a->n; i++)
		differ += !b || i >= b->n || a->rows[i] != b->rows[i];
	return sizeof(*a) + (a->n ? (a->size - sizeof(*a)) / a->n * differ : 0);
}

static size_t snapshot_cost(const struct snapshot *a, const struct snapshot *b)
{
	size_t c, cost = HEAD_BYTES + a->n_chunks * sizeof(*a->chunks);

	if (a == b)
		return 0;
	for (c = 0; c < a->n_chunks; c++) {
		const struct chunk *other = b && c < b->n_chunks ? b->chunks[c] : NULL;

		if (a->chunks[c] != other)
			cost += chunk_cost(a->chunks[c], other);
	}
	if (a->self && !(b && a->self == b->self))
		cost += row_size(a->self);
	return cost;
}

static size_t board_cost(const struct board *a, const struct board *b)
{
	size_t i, k, cost = HEAD_BYTES;

	for (i = 0; i < a->n_snapshots; i++) {
		cost += snapshot_cost(
			a->snapshots[i], b && i < b->n_snapshots ? b->snapshots[i] : NULL);
		cost += sizeof(void *) * 2 + (a->cross[i] ? row_size(a->cross[i]) : 0);
	}
	for (i = 0; i < a->n_roles; i++) {
		cost += sizeof(a->roles[i]) + row_size(a->roles[i].self);
		for (k = 0; k < a->roles[i].role->n_witnesses; k++)
			cost += sizeof(void *) * 2;
	}
	return cost;
}

/* The newest moment is what the live picture is, or nearly. */
static void past_reckon(struct past *past, size_t i)
{
	struct past_moment *m = &past->at[i];
	size_t cost = i + 1 < past->n ? board_cost(m->board, past->at[i + 1].board) : HEAD_BYTES;

	past->bytes += cost - m->bytes;
	m->bytes = cost;
}

static void past_remove(struct past *past, size_t i)
{
	past->bytes -= past->at[i].bytes;
	board_unref(past->at[i].board);
	past->n--;
	memmove(past->at + i, past->at + i + 1, (past->n - i) * sizeof(*past->at));
	if (i > 0)
		past_reckon(past, i - 1);
}

/* ---- what there is to see between two boards ---- */

struct news {
	enum past_weight weight;
	bool finding;
	bool any; /* anything at all differs */
	unsigned sought;
};

static void news_add(struct news *news, enum past_weight weight)
{
	if (weight > news->weight)
		news->weight = weight;
}

static bool has_code(const struct verdict *v, enum finding_code code)
{
	size_t i;

	for (i = 0; v && i < v->n_findings; i++)
		if (v->findings[i].code == code)
			return true;
	return false;
}

/* Findings that appeared: what is only worth knowing is no news. */
static void news_findings(struct news *news, const struct row *before, const struct row *after)
{
	const struct verdict *old = before ? &before->v : NULL, *v = after ? &after->v : NULL;
	size_t i;

	for (i = 0; v && i < v->n_findings; i++) {
		const struct finding *f = &v->findings[i];

		if (f->severity == SEVERITY_INFO || has_code(old, f->code))
			continue;
		news->finding = true;
		news_add(news, f->severity == SEVERITY_CRIT ? PAST_CRIT : PAST_NEWS);
	}
	for (i = 0; old && i < old->n_findings; i++)
		if (old->findings[i].severity != SEVERITY_INFO &&
			!has_code(v, old->findings[i].code))
			news_add(news, PAST_NEWS);
}

static bool same_claims(const struct singleton *a, const struct singleton *b)
{
	uint32_t i;

	if (a == b)
		return true;
	if (a->n_claims != b->n_claims || a->more->n_runs != b->more->n_runs)
		return false;
	for (i = 0; i < a->n_claims; i++)
		if (a->claims[i].kind != b->claims[i].kind ||
			strcmp(claim_key(&a->claims[i]), claim_key(&b->claims[i])) != 0)
			return false;
	return true;
}

static void news_row(struct news *news, const struct row *before, const struct row *after)
{
	news->any = true;
	if (before->v.state != after->v.state || !same_claims(before->s, after->s))
		news_add(news, PAST_NEWS);
	news_findings(news, before, after);
}

static bool row_is_in(const struct snapshot *snap, size_t from_chunk, const struct row *row)
{
	size_t c;
	uint32_t i;

	for (c = from_chunk; c < snap->n_chunks; c++)
		for (i = 0; i < snap->chunks[c]->n; i++)
			if (snap->chunks[c]->rows[i] == row)
				return true;
	return false;
}

/* Another singleton stands in the place: one went, and perhaps the last one took its place. */
static void news_place(
	struct news *news, const struct snapshot *before, size_t chunk, const struct row *row)
{
	news->any = true;
	news_add(news, PAST_NEWS);
	if (!row->v.n_findings || row->v.findings[0].severity == SEVERITY_INFO)
		return;
	if (news->sought++ < MOVED_SOUGHT && row_is_in(before, chunk, row))
		return;
	news_findings(news, NULL, row);
}

static void news_chunk(
	struct news *news, const struct snapshot *before, size_t c, const struct chunk *b)
{
	const struct chunk *a = c < before->n_chunks ? before->chunks[c] : NULL;
	uint32_t i;

	if (a == b)
		return;
	for (i = 0; i < b->n; i++) {
		const struct row *x = a && i < a->n ? a->rows[i] : NULL, *y = b->rows[i];

		if (x == y)
			continue;
		if (x && strcmp(x->s->id, y->s->id) == 0)
			news_row(news, x, y);
		else
			news_place(news, before, c, y);
	}
}

static void news_snapshot(
	struct news *news, const struct snapshot *before, const struct snapshot *after)
{
	size_t c;

	if (before == after)
		return;
	if (before->state != after->state || before->n_rows != after->n_rows) {
		news->any = true;
		news_add(news, PAST_NEWS);
	}
	for (c = 0; c < after->n_chunks; c++)
		news_chunk(news, before, c, after->chunks[c]);
	if (before->self != after->self)
		news_findings(news, before->self, after->self);
}

/* Whether the sources and the roles are the same ones: they are for as long as a fleet lives. */
static bool same_shape(const struct board *a, const struct board *b)
{
	return a->n_snapshots == b->n_snapshots && a->n_roles == b->n_roles;
}

static struct news board_news(const struct board *before, const struct board *after)
{
	struct news news = { 0 };
	size_t i;

	if (!before || !same_shape(before, after)) {
		news.any = true;
		news.weight = PAST_NEWS;
		return news;
	}
	for (i = 0; i < after->n_snapshots; i++) {
		news_snapshot(&news, before->snapshots[i], after->snapshots[i]);
		news_findings(&news, before->cross[i], after->cross[i]);
	}
	for (i = 0; i < after->n_roles; i++) {
		const struct row *x = before->roles[i].self, *y = after->roles[i].self;

		if (x->v.state != y->v.state)
			news_add(&news, PAST_NEWS);
		news_findings(&news, x, y);
	}
	news.any |= news.weight != PAST_CALM;
	return news;
}

/* ---- thinning ---- */

static int64_t at_ms(const struct past *past, size_t i)
{
	return past->at[i].board->mono_ms;
}

static int64_t step_at(int64_t age_ms)
{
	return age_ms < CLOSE_MS ? 0 : age_ms < NEAR_MS ? NEAR_STEP_MS : FAR_STEP_MS;
}

/* Of the moments of one step of time the one that tells most stays, of equal ones the last. */
static void past_thin(struct past *past, int64_t now_ms)
{
	size_t i = 0;

	while (i + 2 < past->n) {
		int64_t step = step_at(now_ms - at_ms(past, i + 1));
		struct past_moment *a = &past->at[i], *b = &past->at[i + 1];

		if (!step || at_ms(past, i) / step != at_ms(past, i + 1) / step ||
			(a->weight == PAST_CRIT && b->weight == PAST_CRIT)) {
			i++;
			continue;
		}
		if (a->weight > b->weight) {
			a->finding |= b->finding;
			past_remove(past, i + 1);
		} else {
			b->finding |= a->finding;
			past_remove(past, i);
		}
	}
}

/* How large a hole a moment would leave, for its age. */
static double hole(const struct past *past, size_t i, int64_t now_ms)
{
	int64_t from = at_ms(past, i > 0 ? i - 1 : 0), age = now_ms - at_ms(past, i) + SECOND_MS;

	return (double)(at_ms(past, i + 1) - from) / (double)age;
}

/* The one to go first; never the newest. */
static size_t past_victim(const struct past *past, int64_t now_ms)
{
	size_t i, found = 0;

	for (i = 1; i + 1 < past->n; i++) {
		const struct past_moment *m = &past->at[i], *best = &past->at[found];

		if (m->weight < best->weight ||
			(m->weight == best->weight &&
				hole(past, i, now_ms) < hole(past, found, now_ms)))
			found = i;
	}
	return found;
}

/*
 * A change of nearly everything leaves all before it with nothing in common with what is now: none
 * of that fits beside it.
 */
static void past_cut(struct past *past)
{
	size_t i = past->n;

	while (i > 0 && past->at[i - 1].bytes <= past->most_bytes)
		i--;
	while (i-- > 0)
		past_remove(past, 0);
}

static void past_bound(struct past *past, int64_t now_ms)
{
	if (past->bytes > past->most_bytes)
		past_cut(past);
	while (past->n > 1 && (past->bytes > past->most_bytes || past->n > MOMENTS_MOST))
		past_remove(past, past_victim(past, now_ms));
}

/* ---- adding ---- */

static bool past_keeps(const struct past *past, const struct board *board, bool any)
{
	int64_t since;

	if (!past->n || past->weight > PAST_CALM)
		return true;
	since = board->mono_ms - at_ms(past, past->n - 1);
	return since >= MINUTE_MS || (any && since >= SECOND_MS);
}

void past_add(struct past *past, const struct board *board, uint64_t journal_seq)
{
	struct news news;

	if (!past->most_bytes)
		return;
	if (past->last && board->mono_ms < past->last->mono_ms)
		past_clear(past);
	news = board_news(past->last, board);
	board_unref(past->last);
	past->last = board_ref(board);
	if (news.weight > past->weight)
		past->weight = (uint8_t)news.weight;
	past->finding |= news.finding;
	if (!past_keeps(past, board, news.any))
		return;
	MEM_GROW(past->at, past->n, past->cap);
	past->at[past->n++] = (struct past_moment){ .board = board_ref(board),
		.journal_seq = journal_seq,
		.weight = past->weight,
		.finding = past->finding };
	past->weight = PAST_CALM;
	past->finding = false;
	past_reckon(past, past->n - 1);
	if (past->n > 1)
		past_reckon(past, past->n - 2);
	if (board->mono_ms - past->thinned_ms >= THIN_EVERY_MS) {
		past->thinned_ms = board->mono_ms;
		past_thin(past, board->mono_ms);
	}
	past_bound(past, board->mono_ms);
}

/* ---- finding ---- */

ptrdiff_t past_at_ms(const struct past *past, int64_t mono_ms)
{
	size_t low = 0, high = past->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (at_ms(past, middle) <= mono_ms)
			low = middle + 1;
		else
			high = middle;
	}
	return (ptrdiff_t)low - 1;
}

/* The wall clock may have been set back in between: the newest that tells the time. */
ptrdiff_t past_at_us(const struct past *past, int64_t wall_us)
{
	ptrdiff_t i = (ptrdiff_t)past->n - 1;

	while (i >= 0 && past->at[i].board->wall_us > wall_us)
		i--;
	return i;
}

/* But for facts that change all the time, such as renewals. */
static bool past_looks_same(const struct board *shown, const struct board *board)
{
	return shown && board_news(shown, board).weight == PAST_CALM &&
	       board_news(board, shown).weight == PAST_CALM;
}

ptrdiff_t past_step(
	const struct past *past, const struct board *shown, int64_t from_ms, bool on, bool finding)
{
	ptrdiff_t step = on ? 1 : -1, n = (ptrdiff_t)past->n, i = past_at_ms(past, from_ms);

	if (on || (i >= 0 && at_ms(past, (size_t)i) == from_ms))
		i += step;
	for (; i >= 0 && i < n; i += step) {
		const struct past_moment *m = &past->at[i];
		int64_t away = on ? m->board->mono_ms - from_ms : from_ms - m->board->mono_ms;

		if (finding ? m->finding
			    : away >= MINUTE_MS || (m->weight > PAST_CALM &&
							   !past_looks_same(shown, m->board)))
			return i;
	}
	return -1;
}

/* Where a row stands on a board: mostly in the same place on others of the same fleet. */
struct row_place {
	const struct row *row;
	size_t snap, number;
};

static struct row_place place_on(const struct board *board, const char *id)
{
	struct row_place place = { .row = NULL };
	const struct snapshot *snap;

	place.row = board_find(board, id, &snap);
	while (place.row && board->snapshots[place.snap] != snap)
		place.snap++;
	while (place.row && snapshot_row(snap, place.number) != place.row)
		place.number++;
	return place;
}

/* Looks in the place first; where it moved, that is its place from then on, so that the walk over
 * all rows is not made for each moment. */
static const struct row *row_there(
	const struct board *board, struct row_place *place, const char *id)
{
	const struct snapshot *snap =
		place->snap < board->n_snapshots ? board->snapshots[place->snap] : NULL;
	const struct row *row =
		snap && place->number < snap->n_rows ? snapshot_row(snap, place->number) : NULL;
	struct row_place moved;

	if (row && (row == place->row || strcmp(row->s->id, id) == 0))
		return row;
	moved = place_on(board, id);
	place->number = moved.number;
	return moved.row;
}

static bool is_news_of(const struct row *a, const struct row *b)
{
	struct news there = { 0 }, back = { 0 };

	if (!b || a == b)
		return !b;
	news_row(&there, a, b);
	news_row(&back, b, a);
	return there.weight > PAST_CALM || back.weight > PAST_CALM;
}

ptrdiff_t past_step_of(const struct past *past, const struct board *shown, const char *id,
	int64_t from_ms, bool on)
{
	struct row_place place = place_on(shown, id);
	ptrdiff_t step = on ? 1 : -1, n = (ptrdiff_t)past->n, i = past_at_ms(past, from_ms);

	if (!place.row)
		return -1;
	if (on || (i >= 0 && at_ms(past, (size_t)i) == from_ms))
		i += step;
	for (; i >= 0 && i < n; i += step)
		if (is_news_of(place.row, row_there(past->at[i].board, &place, id)))
			return i;
	return -1;
}
