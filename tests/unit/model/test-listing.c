#include "config.h"

#include "../unit.h"
#include "base/err.h"
#include "model/draft.h"
#include "model/listing.h"
#include "model/thresholds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The listing against an oracle: after each of many random changes the list that was kept must be
 * the one that a listing built anew from the same board has.
 */
enum {
	SOURCES = 3,
	PATHS = 900,
	STEPS = 300
};

#define NOW_US INT64_C(1767362570000000)

struct world {
	uint64_t seed;
	struct picture pics[SOURCES];
	struct snapshot *snaps[SOURCES];
	enum source_state states[SOURCES];
	struct board *board;
	struct draft *draft;
	struct verdict_draft verdict;
	int64_t now_ms;
};

static const char *const names[SOURCES] = { "a", "b", "c" };
static const char *const witnesses[] = { "a/p001", "b/p002", "c/p003" };
static const struct role role = { .name = "r", .witnesses = witnesses, .n_witnesses = 3 };

static void put_row(struct world *w, size_t source, size_t path)
{
	struct singleton *s;
	struct picture_slot *slot;
	char text[32];

	snprintf(text, sizeof(text), "p%03zu", path);
	draft_begin(w->draft, MECH_ETCD_LOCK, names[source], text, strlen(text));
	verdict_draft_begin(&w->verdict);
	w->verdict.v.state = (enum state)unit_pick(&w->seed, STATE_UNKNOWN);
	w->verdict.v.needs_attention = unit_pick(&w->seed, 5) == 0;
	if (unit_pick(&w->seed, 4))
		w->verdict.v.state_since_us = NOW_US - (int64_t)unit_pick(&w->seed, 100) * 1000000;
	if (path == source + 1)
		w->verdict.role = "r";
	if (unit_pick(&w->seed, 3))
		draft_token(w->draft, TOKEN_CREATE_REVISION, (int64_t)unit_pick(&w->seed, 20));
	if (unit_pick(&w->seed, 2))
		draft_name(w->draft, unit_pick(&w->seed, 2) ? "alpha" : "beta");
	if (unit_pick(&w->seed, 2)) {
		char holder[8];

		snprintf(holder, sizeof(holder), "n%zu", unit_pick(&w->seed, 9));
		draft_claim(w->draft, CLAIM_HOLDER, holder, strlen(holder), "k");
	}
	s = draft_finish(w->draft);
	picture_put(&w->pics[source], s);
	slot = picture_find(&w->pics[source], s->id);
	picture_judged(&w->pics[source], (size_t)(slot - w->pics[source].slots),
		row_new(singleton_ref(s), &w->verdict), INT64_MAX);
}

static void remove_row(struct world *w, size_t source, size_t path)
{
	char id[32];

	snprintf(id, sizeof(id), "%s/p%03zu", names[source], path);
	picture_remove(&w->pics[source], id);
}

static void publish(struct world *w, size_t source)
{
	struct snapshot head = { .source = names[source],
		.kind = "etcd",
		.state = w->states[source],
		.picture_ms = 1,
		.error_since_us = TIME_UNKNOWN };

	snapshot_unref(w->snaps[source]);
	w->snaps[source] = picture_publish(&w->pics[source], &head);
}

static void compose(struct world *w)
{
	struct thresholds thresholds = thresholds_default();
	struct snapshot *taken[SOURCES];
	struct board *board;
	size_t i;

	for (i = 0; i < SOURCES; i++)
		taken[i] = snapshot_ref(w->snaps[i]);
	board = board_compose(
		taken, SOURCES, &role, 1, &thresholds, w->board, NULL, w->now_ms, NOW_US);
	board_unref(w->board);
	w->board = board;
}

static void world_init(struct world *w, uint64_t seed)
{
	size_t i, n;

	*w = (struct world){ .seed = seed, .now_ms = 1000 };
	w->draft = draft_new();
	verdict_draft_init(&w->verdict);
	for (i = 0; i < SOURCES; i++) {
		picture_init(&w->pics[i]);
		w->states[i] = SOURCE_OK;
		for (n = 0; n < PATHS / 2; n++)
			put_row(w, i, unit_pick(&w->seed, PATHS));
		publish(w, i);
	}
	compose(w);
}

static void world_release(struct world *w)
{
	size_t i;

	board_unref(w->board);
	for (i = 0; i < SOURCES; i++) {
		snapshot_unref(w->snaps[i]);
		picture_release(&w->pics[i]);
	}
	verdict_draft_release(&w->verdict);
	draft_free(w->draft);
}

static void change(struct world *w)
{
	size_t source = unit_pick(&w->seed, SOURCES),
	       n = unit_pick(&w->seed, unit_pick(&w->seed, 10) ? 6 : 300), i;

	for (i = 0; i < n; i++) {
		size_t path = unit_pick(&w->seed, PATHS);

		if (unit_pick(&w->seed, 3))
			put_row(w, source, path);
		else
			remove_row(w, source, path);
	}
	if (unit_pick(&w->seed, 8) == 0)
		w->states[source] = w->states[source] == SOURCE_OK ? SOURCE_FAILING : SOURCE_OK;
	publish(w, source);
	compose(w);
	w->now_ms += 10;
}

static void finish(struct listing *l, int64_t now_ms)
{
	while (listing_work(l, now_ms, NOW_US, 37))
		;
}

static void compare(const struct world *w, const struct listing *kept, size_t step)
{
	bool reverse;
	enum sort sort = listing_sorted(kept, &reverse);
	struct listing *anew = listing_new();
	struct err err = { 0 };
	size_t i;

	listing_sort(anew, sort, reverse);
	listing_join(anew, listing_joined(kept));
	assert_int_equal(listing_filter(anew, listing_filter_text(kept), &err), 0);
	listing_update(anew, w->board, w->now_ms, NOW_US);
	finish(anew, w->now_ms);
	assert_int_equal(listing_total(kept), listing_total(anew));
	assert_int_equal(listing_count(kept), listing_count(anew));
	for (i = 0; i < listing_count(anew); i++) {
		const struct listing_row *a = listing_at(kept, i), *b = listing_at(anew, i);

		if (strcmp(a->row->s->id, b->row->s->id) != 0 || a->kind != b->kind)
			fail_msg("step %zu, by %s%s, filter \"%s\": row %zu is %s, not %s", step,
				reverse ? "-" : "", sort_name(sort), listing_filter_text(kept), i,
				a->row->s->id, b->row->s->id);
		/* Sources without facts have rows of the listing's own. */
		if (a->kind != LISTING_SOURCE)
			assert_ptr_equal(a->row, b->row);
	}
	listing_free(anew);
}

static void compare_tracked(const struct listing *l, const char *id)
{
	const struct listing_row *row = listing_tracked(l);
	size_t i, at = SIZE_MAX;

	for (i = 0; i < listing_count(l); i++)
		if (strcmp(listing_at(l, i)->row->s->id, id) == 0)
			at = i;
	assert_int_equal(listing_tracked_at(l), at);
	if (at == SIZE_MAX)
		return;
	assert_non_null(row);
	assert_ptr_equal(row->row, listing_at(l, at)->row);
}

static void run(uint64_t seed)
{
	static const char *const filters[] = { "", "is:need", "state:held,free", "p1", "!n3",
		"source:b", "token>5", "age>50s" };
	struct listing *l = listing_new();
	struct world w;
	size_t step;

	world_init(&w, seed);
	listing_update(l, w.board, w.now_ms, NOW_US);
	finish(l, w.now_ms);
	listing_track(l, "b/p100");
	for (step = 0; step < STEPS; step++) {
		change(&w);
		if (unit_pick(&w.seed, 6) == 0)
			listing_sort(l, (enum sort)unit_pick(&w.seed, SORT_COUNT),
				unit_pick(&w.seed, 2));
		if (unit_pick(&w.seed, 6) == 0)
			assert_int_equal(listing_filter(l,
						 filters[unit_pick(&w.seed,
							 sizeof(filters) / sizeof(filters[0]))],
						 NULL),
				0);
		if (unit_pick(&w.seed, 20) == 0)
			listing_join(l, !listing_joined(l));
		/* Now and then a picture comes in the middle of a pass. */
		if (unit_pick(&w.seed, 2))
			listing_work(l, w.now_ms, NOW_US, 50);
		listing_update(l, w.board, w.now_ms, NOW_US);
		if (unit_pick(&w.seed, 4) == 0)
			continue;
		finish(l, w.now_ms);
		compare(&w, l, step);
		compare_tracked(l, "b/p100");
	}
	listing_free(l);
	world_release(&w);
}

static void kept_equals_anew(void **state)
{
	uint64_t seed;

	(void)state;
	for (seed = 1; seed <= 8; seed++)
		run(seed * 7919);
}

static void witnesses_are_joined(void **state)
{
	struct listing *l = listing_new();
	struct world w;
	size_t i, roles = 0, joined = 0;

	(void)state;
	world_init(&w, 5);
	for (i = 0; i < SOURCES; i++) {
		put_row(&w, i, i + 1);
		publish(&w, i);
	}
	compose(&w);
	listing_update(l, w.board, 1, NOW_US);
	for (i = 0; i < listing_count(l); i++) {
		roles += listing_at(l, i)->kind == LISTING_ROLE;
		joined += row_role(listing_at(l, i)->row) != NULL &&
			  listing_at(l, i)->kind == LISTING_SINGLETON;
	}
	assert_int_equal(roles, 1);
	assert_int_equal(joined, 0);
	listing_join(l, false);
	finish(l, 1);
	for (i = 0; i < listing_count(l); i++)
		joined += row_role(listing_at(l, i)->row) != NULL &&
			  listing_at(l, i)->kind == LISTING_SINGLETON;
	assert_int_equal(joined, 3);
	listing_free(l);
	world_release(&w);
}

static void a_bad_filter_changes_nothing(void **state)
{
	struct listing *l = listing_new();
	struct err err = { 0 };

	(void)state;
	assert_int_equal(listing_filter(l, "p1", &err), 0);
	assert_int_equal(listing_filter(l, "state:nothing", &err), ERR_USAGE);
	assert_string_equal(listing_filter_text(l), "p1");
	listing_free(l);
}

static void unknown_is_last_in_both_directions(void **state)
{
	struct listing *l = listing_new();
	struct world w;
	size_t i;
	int turn;

	(void)state;
	world_init(&w, 77);
	for (turn = 0; turn < 2; turn++) {
		bool unknown = false;

		listing_sort(l, SORT_TOKEN, turn);
		listing_update(l, w.board, 1, NOW_US);
		finish(l, 1);
		for (i = 0; i < listing_count(l); i++) {
			if (!listing_at(l, i)->row->s->has_token)
				unknown = true;
			else
				assert_false(unknown);
		}
		assert_true(unknown);
	}
	listing_free(l);
	world_release(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kept_equals_anew),
		cmocka_unit_test(witnesses_are_joined),
		cmocka_unit_test(a_bad_filter_changes_nothing),
		cmocka_unit_test(unknown_is_last_in_both_directions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
