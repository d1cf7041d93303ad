#include "config.h"

#include "model/board.h"
#include "base/mem.h"
#include "model/draft.h"
#include "model/judge.h"

#include <stdlib.h>
#include <string.h>

bool board_is_unread(const struct snapshot *snap)
{
	return snap->state == SOURCE_FAILING || snap->state == SOURCE_CONNECTING;
}

enum state board_state(const struct snapshot *snap, const struct row *row)
{
	return board_is_unread(snap) ? STATE_UNKNOWN : row->v.state;
}

static const struct snapshot *board_source(const struct board *board, const char *id)
{
	size_t i;

	for (i = 0; i < board->n_snapshots; i++) {
		const char *name = board->snapshots[i]->source;
		size_t len = strlen(name);

		if (strncmp(id, name, len) == 0 && id[len] == '/')
			return board->snapshots[i];
	}
	return NULL;
}

const struct row *board_find(
	const struct board *board, const char *id, const struct snapshot **ret_snapshot)
{
	const struct snapshot *snap = board_source(board, id);

	if (ret_snapshot)
		*ret_snapshot = snap;
	return snap ? snapshot_find(snap, id) : NULL;
}

static const struct row *chunk_find(const struct chunk *chunk, const char *id)
{
	uint32_t i;

	for (i = 0; i < chunk->n; i++)
		if (strcmp(chunk->rows[i]->s->id, id) == 0)
			return chunk->rows[i];
	return NULL;
}

static bool chunk_has(const struct chunk *chunk, const struct row *row)
{
	uint32_t i;

	for (i = 0; i < chunk->n; i++)
		if (chunk->rows[i] == row)
			return true;
	return false;
}

/* What the board before knew of a witness: the snapshot that it was looked for in, and its row,
 * NULL for none. */
struct known_witness {
	const struct snapshot *snap; /* NULL: nothing is known */
	const struct row *row;
};

static struct known_witness board_known(
	const struct board *board, const struct board *previous, size_t role, size_t witness)
{
	struct known_witness known = { NULL, NULL };

	if (!previous || role >= previous->n_roles ||
		previous->roles[role].role != board->roles[role].role)
		return known;
	known.snap = previous->roles[role].sources[witness];
	known.row = previous->roles[role].witnesses[witness];
	return known;
}

/*
 * Chunks that both snapshots share need no looking into: what was not in them is not, and what was
 * is the very same row. So an absent witness among very many rows costs no walk for each board.
 */
static const struct row *board_witness(
	const struct snapshot *snap, struct known_witness known, const char *id)
{
	const struct row *found = NULL;
	size_t i;

	if (!snap)
		return NULL;
	if (known.snap && strcmp(known.snap->source, snap->source) != 0)
		known.snap = NULL;
	for (i = 0; i < snap->n_chunks && !found; i++) {
		const struct chunk *chunk = snap->chunks[i];

		if (!known.snap || i >= known.snap->n_chunks || known.snap->chunks[i] != chunk)
			found = chunk_find(chunk, id);
		else if (known.row && chunk_has(chunk, known.row))
			found = known.row;
	}
	return found;
}

static struct row *board_judged_row(struct draft *draft, const char *source, const char *path,
	const struct verdict_draft *verdict)
{
	draft_begin(draft, MECH_SOURCE, source, path, strlen(path));
	return row_new(draft_finish(draft), verdict);
}

/* The id under which a role is remembered. */
static const struct remembered *board_past(struct memory *past, const struct role *role)
{
	char id[ROLE_ID_MAX];

	return past ? memory_find(past, role_id(id, role)) : NULL;
}

void board_remember(const struct board *board, struct memory *past)
{
	char text[ROLE_TEXT_MAX], id[ROLE_ID_MAX];
	size_t i;

	for (i = 0; i < board->n_roles; i++) {
		const struct role_view *view = &board->roles[i];
		struct remembered *r = memory_find(past, role_id(id, view->role));

		if (role_two_at_once(view, text))
			memory_note_duplicate(past, id, text, board->wall_us);
		else if (r)
			memory_note_state(past, r, view->self->v.state, board->wall_us);
	}
}

static void board_join_role(struct board *board, const struct board *previous, struct memory *past,
	size_t number, const struct role *role, const struct thresholds *thresholds,
	struct draft *draft, struct verdict_draft *verdict)
{
	struct role_view *view = &board->roles[number];
	size_t i;

	view->role = role;
	view->witnesses = xcalloc(role->n_witnesses, sizeof(*view->witnesses));
	view->sources = xcalloc(role->n_witnesses, sizeof(*view->sources));
	for (i = 0; i < role->n_witnesses; i++) {
		view->sources[i] = board_source(board, role->witnesses[i]);
		view->witnesses[i] = board_witness(view->sources[i],
			board_known(board, previous, number, i), role->witnesses[i]);
	}
	verdict_draft_begin(verdict);
	role_judge(view, board_past(past, role), thresholds, board->wall_us, verdict);
	view->self = board_judged_row(draft, "role", role->name, verdict);
	board->n_attention += view->self->v.needs_attention;
}

static void board_count(struct board *board, const struct snapshot *snap)
{
	size_t i;
	int state;

	board->n_rows += snap->n_rows;
	for (i = 0; i < snap->n_chunks; i++)
		board->n_jobs += snap->chunks[i]->jobs;
	if (snap->state == SOURCE_FAILING)
		board->n_attention++;
	if (board_is_unread(snap)) {
		board->by_state[STATE_UNKNOWN] += snap->n_rows;
		return;
	}
	for (i = 0; i < snap->n_chunks; i++) {
		const struct chunk *chunk = snap->chunks[i];

		board->n_attention += chunk->attention;
		for (state = 0; state < STATE_COUNT; state++)
			board->by_state[state] += chunk->by_state[state];
	}
	if (snap->self)
		board->n_attention += snap->self->v.needs_attention;
}

static void board_cross(struct board *board, size_t which, const struct thresholds *thresholds,
	struct draft *draft, struct verdict_draft *verdict)
{
	const struct snapshot *const *snapshots = (const struct snapshot *const *)board->snapshots;

	verdict_draft_begin(verdict);
	judge_cross(snapshots, board->n_snapshots, which, thresholds, board->wall_us, verdict);
	if (!verdict->n_findings)
		return;
	board->cross[which] = board_judged_row(draft, board->snapshots[which]->source, "", verdict);
	board->n_attention += board->cross[which]->v.needs_attention;
}

struct board *board_compose(struct snapshot *const *snapshots, size_t n, const struct role *roles,
	size_t n_roles, const struct thresholds *thresholds, const struct board *previous,
	struct memory *past, int64_t mono_ms, int64_t wall_us)
{
	struct board *board = xcalloc(1, sizeof(*board));
	struct draft *draft = draft_new();
	struct verdict_draft verdict;
	size_t i;

	verdict_draft_init(&verdict);
	board->refs = 1;
	board->seq = previous ? previous->seq + 1 : 1;
	board->mono_ms = mono_ms;
	board->wall_us = wall_us;
	board->n_snapshots = n;
	board->snapshots = xcalloc(n, sizeof(*board->snapshots));
	board->cross = xcalloc(n, sizeof(*board->cross));
	for (i = 0; i < n; i++) {
		board->snapshots[i] = snapshots[i];
		board_count(board, snapshots[i]);
	}
	for (i = 0; i < n; i++)
		board_cross(board, i, thresholds, draft, &verdict);
	board->n_roles = n_roles;
	board->roles = xcalloc(n_roles, sizeof(*board->roles));
	for (i = 0; i < n_roles; i++)
		board_join_role(board, previous, past, i, &roles[i], thresholds, draft, &verdict);
	verdict_draft_release(&verdict);
	draft_free(draft);
	return board;
}

static void board_set_row(struct board *board, struct row **place, struct row *row)
{
	board->n_attention -= *place && (*place)->v.needs_attention;
	board->n_attention += row && row->v.needs_attention;
	row_unref(*place);
	*place = row;
}

void board_set_role(struct board *board, size_t i, struct row *row)
{
	/* A role is always told: without a verdict, the one that was just made stays. */
	if (row)
		board_set_row(board, &board->roles[i].self, row);
}

void board_set_cross(struct board *board, size_t i, struct row *row)
{
	board_set_row(board, &board->cross[i], row);
}

struct board *board_ref(const struct board *board)
{
	/* The counter is the one part of an immutable thing that changes. */
	struct board *own = (struct board *)(uintptr_t)board;

	if (own)
		__atomic_add_fetch(&own->refs, 1, __ATOMIC_RELAXED);
	return own;
}

static void role_copy(struct role_view *to, const struct role_view *from)
{
	size_t i, n = from->role->n_witnesses;

	*to = *from;
	to->self = row_ref(from->self);
	to->witnesses = xcalloc(n, sizeof(*to->witnesses));
	to->sources = xcalloc(n, sizeof(*to->sources));
	for (i = 0; i < n; i++) {
		to->witnesses[i] = from->witnesses[i];
		to->sources[i] = from->sources[i];
	}
}

struct board *board_as_past(const struct board *board)
{
	struct board *copy = xmalloc(sizeof(*copy));
	size_t i;

	*copy = *board;
	copy->refs = 1;
	copy->past = true;
	copy->snapshots = xcalloc(board->n_snapshots, sizeof(*copy->snapshots));
	copy->cross = xcalloc(board->n_snapshots, sizeof(*copy->cross));
	for (i = 0; i < board->n_snapshots; i++) {
		copy->snapshots[i] = snapshot_ref(board->snapshots[i]);
		copy->cross[i] = row_ref(board->cross[i]);
	}
	copy->roles = xcalloc(board->n_roles, sizeof(*copy->roles));
	for (i = 0; i < board->n_roles; i++)
		role_copy(&copy->roles[i], &board->roles[i]);
	return copy;
}

void board_unref(const struct board *board)
{
	struct board *own = (struct board *)(uintptr_t)board;
	size_t i;

	if (!own || __atomic_sub_fetch(&own->refs, 1, __ATOMIC_ACQ_REL) != 0)
		return;
	for (i = 0; i < own->n_roles; i++) {
		free(own->roles[i].witnesses);
		free(own->roles[i].sources);
		row_unref(own->roles[i].self);
	}
	for (i = 0; i < own->n_snapshots; i++) {
		row_unref(own->cross[i]);
		snapshot_unref(own->snapshots[i]);
	}
	free(own->roles);
	free(own->cross);
	free(own->snapshots);
	free(own);
}
