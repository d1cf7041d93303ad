#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "model/board.h"
#include "model/thresholds.h"
#include "tests/unit/model/facts.h"
#include "tests/unit/unit.h"

/*
 * Boards that are made one after the other, each from the one before, against boards made afresh:
 * what is found by the shared chunks must be what a walk over all rows finds.
 */
enum {
	SOURCES = 2,
	PATHS = 900, /* some four chunks */
	ROUNDS = 400,
};

static struct draft *draft;
static struct verdict_draft verdict;
static struct thresholds limits;

static int make(void **state)
{
	(void)state;
	text_init_locale();
	draft = draft_new();
	verdict_draft_init(&verdict);
	limits = thresholds_default();
	return 0;
}

static int drop(void **state)
{
	(void)state;
	draft_free(draft);
	verdict_draft_release(&verdict);
	return 0;
}

static const char *const source_names[SOURCES] = { "a", "b" };

static void put(struct picture *pic, int source, int path, uint64_t *seed)
{
	const struct facts_claim holder = { "n", "k", NULL };
	size_t slot;
	char text[16];
	struct singleton *s;

	snprintf(text, sizeof(text), "p%d", path);
	draft_begin(draft, MECH_ETCD_LOCK, source_names[source], text, strlen(text));
	draft_token(draft, TOKEN_CREATE_REVISION, (int64_t)unit_pick(seed, 1000000));
	facts_add(draft, CLAIM_HOLDER, &holder);
	s = draft_finish(draft);
	picture_put(pic, singleton_ref(s));
	slot = (size_t)(picture_find(pic, s->id) - pic->slots);
	verdict_draft_begin(&verdict);
	verdict.v.state = (enum state)unit_pick(seed, STATE_COUNT);
	verdict.v.needs_attention = unit_pick(seed, 2);
	picture_judged(pic, slot, row_new(s, &verdict), INT64_MAX);
}

static void change(struct picture *pictures, uint64_t *seed)
{
	size_t n = unit_pick(seed, 4);

	while (n-- > 0) {
		int source = (int)unit_pick(seed, SOURCES), path = (int)unit_pick(seed, PATHS);
		char id[32];

		if (unit_pick(seed, 3)) {
			put(&pictures[source], source, path, seed);
			continue;
		}
		snprintf(id, sizeof(id), "%s/p%d", source_names[source], path);
		picture_remove(&pictures[source], id);
	}
}

static void publish(struct picture *pictures, struct snapshot **snaps, uint64_t *seed)
{
	int i;

	for (i = 0; i < SOURCES; i++) {
		struct snapshot head = { .source = source_names[i],
			.kind = "test",
			.state = unit_pick(seed, 20) ? SOURCE_OK : SOURCE_FAILING };

		snaps[i] = picture_publish(&pictures[i], &head);
	}
}

static void same_board(const struct board *x, const struct board *y)
{
	size_t i, k;

	assert_int_equal(x->n_rows, y->n_rows);
	assert_int_equal(x->n_attention, y->n_attention);
	for (i = 0; i < STATE_COUNT; i++)
		assert_int_equal(x->by_state[i], y->by_state[i]);
	for (i = 0; i < x->n_roles; i++)
		for (k = 0; k < x->roles[i].role->n_witnesses; k++) {
			assert_ptr_equal(x->roles[i].witnesses[k], y->roles[i].witnesses[k]);
			assert_ptr_equal(x->roles[i].sources[k], y->roles[i].sources[k]);
			assert_ptr_equal(x->roles[i].witnesses[k],
				board_find(x, x->roles[i].role->witnesses[k], NULL));
		}
}

static void counts_are_those_of_the_rows(const struct board *board)
{
	size_t by_state[STATE_COUNT] = { 0 }, attention = 0, i, k;

	for (i = 0; i < board->n_snapshots; i++) {
		const struct snapshot *snap = board->snapshots[i];

		attention += snap->state == SOURCE_FAILING;
		for (k = 0; k < snap->n_rows; k++) {
			const struct row *row = snapshot_row(snap, k);

			by_state[board_state(snap, row)]++;
			if (snap->state != SOURCE_FAILING)
				attention += row->v.needs_attention;
		}
	}
	for (i = 0; i < board->n_roles; i++)
		attention += board->roles[i].self->v.needs_attention;
	for (i = 0; i < STATE_COUNT; i++)
		assert_int_equal(board->by_state[i], by_state[i]);
	assert_int_equal(board->n_attention, attention);
}

static void from_board_to_board(void **state)
{
	static const char *const one[] = { "a/p0", "b/p1", "a/p899", "a/absent", "c/p0" };
	static const char *const two[] = { "b/p450", "a/p450" };
	const struct role roles[] = { { .name = "one", .witnesses = one, .n_witnesses = 5 },
		{ .name = "two", .witnesses = two, .n_witnesses = 2 } };
	struct picture pictures[SOURCES];
	struct board *before = NULL;
	uint64_t seed = 4711;
	int round, i;

	(void)state;
	for (i = 0; i < SOURCES; i++)
		picture_init(&pictures[i]);
	for (i = 0; i < PATHS; i++)
		put(&pictures[i % SOURCES], i % SOURCES, i, &seed);
	for (round = 0; round < ROUNDS; round++) {
		struct snapshot *snaps[SOURCES], *again[SOURCES];
		struct board *next, *fresh;

		change(pictures, &seed);
		/* The rows that the roles look for come and go more often than others. */
		if (unit_pick(&seed, 3) == 0)
			put(&pictures[0], 0, unit_pick(&seed, 2) ? 0 : 899, &seed);
		if (unit_pick(&seed, 9) == 0)
			picture_remove(&pictures[0], "a/p0");
		publish(pictures, snaps, &seed);
		for (i = 0; i < SOURCES; i++)
			again[i] = snapshot_ref(snaps[i]);
		next = board_compose(snaps, SOURCES, roles, 2, &limits, before, NULL, round, round);
		fresh = board_compose(again, SOURCES, roles, 2, &limits, NULL, NULL, round, round);
		same_board(next, fresh);
		counts_are_those_of_the_rows(next);
		board_unref(fresh);
		board_unref(before);
		before = next;
	}
	board_unref(before);
	for (i = 0; i < SOURCES; i++)
		picture_release(&pictures[i]);
}

/* Another role at the same place, or another source under the same number, must not be taken for
 * the one before. */
static void nothing_is_taken_from_another_board(void **state)
{
	static const char *const x[] = { "a/p1" }, *const y[] = { "a/p2" };
	const struct role first = { .name = "r", .witnesses = x, .n_witnesses = 1 };
	const struct role second = { .name = "r", .witnesses = y, .n_witnesses = 1 };
	struct picture pictures[SOURCES];
	struct snapshot *snaps[SOURCES], *again[SOURCES];
	struct board *before, *next;
	uint64_t seed = 1;
	int i;

	(void)state;
	for (i = 0; i < SOURCES; i++) {
		picture_init(&pictures[i]);
		put(&pictures[i], i, 1, &seed);
		put(&pictures[i], i, 2, &seed);
	}
	publish(pictures, snaps, &seed);
	for (i = 0; i < SOURCES; i++)
		again[i] = snapshot_ref(snaps[i]);
	before = board_compose(snaps, SOURCES, &first, 1, &limits, NULL, NULL, 0, 0);
	next = board_compose(again, SOURCES, &second, 1, &limits, before, NULL, 0, 0);
	assert_string_equal(before->roles[0].witnesses[0]->s->id, "a/p1");
	assert_string_equal(next->roles[0].witnesses[0]->s->id, "a/p2");
	board_unref(before);
	board_unref(next);
	for (i = 0; i < SOURCES; i++)
		picture_release(&pictures[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(from_board_to_board),
		cmocka_unit_test(nothing_is_taken_from_another_board),
	};

	return cmocka_run_group_tests(tests, make, drop);
}
