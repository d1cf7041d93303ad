#include "config.h"

#include "../unit.h"
#include "base/mem.h"
#include "model/draft.h"
#include "model/past.h"
#include "model/thresholds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOW_US INT64_C(1767362570000000)

enum {
	SECOND_MS = 1000,
	MINUTE_MS = 60 * SECOND_MS,
	HOUR_MS = 60 * MINUTE_MS,
	START_MS = 1000 * 1000,
	NO_BOUND = 1 << 30
};

/* One source, whose rows change by hand. */
struct world {
	struct picture pic;
	struct draft *draft;
	struct verdict_draft verdict;
	struct board *board;
	struct past past;
	int64_t now_ms;
	uint64_t events;
};

static void world_init(struct world *w, size_t most_bytes)
{
	memset(w, 0, sizeof(*w));
	picture_init(&w->pic);
	w->draft = draft_new();
	verdict_draft_init(&w->verdict);
	past_init(&w->past, most_bytes);
	w->now_ms = START_MS;
}

static void world_release(struct world *w)
{
	past_release(&w->past);
	board_unref(w->board);
	picture_release(&w->pic);
	draft_free(w->draft);
	verdict_draft_release(&w->verdict);
}

/* A row that somebody holds; code -1: without a finding. renewed: a fact that is no news. */
static void put_row(struct world *w, size_t row, const char *holder, int code,
	enum severity severity, int64_t renewed)
{
	struct picture_slot *slot;
	struct singleton *s;
	char text[32];

	snprintf(text, sizeof(text), "p%06zu", row);
	draft_begin(w->draft, MECH_ETCD_LOCK, "s", text, strlen(text));
	draft_int(w->draft, DETAIL_RENEW_TIME, renewed);
	draft_claim(w->draft, CLAIM_HOLDER, holder, strlen(holder), holder);
	s = draft_finish(w->draft);
	verdict_draft_begin(&w->verdict);
	w->verdict.v.state = STATE_HELD;
	if (code >= 0)
		verdict_add(&w->verdict, (enum finding_code)code, severity, TIME_UNKNOWN, "x");
	picture_put(&w->pic, s);
	slot = picture_find(&w->pic, s->id);
	picture_judged(&w->pic, (size_t)(slot - w->pic.slots),
		row_new(singleton_ref(s), &w->verdict), INT64_MAX);
}

static void show(struct world *w)
{
	const struct snapshot head = {
		.source = "s", .kind = "etcd", .state = SOURCE_OK, .picture_ms = w->now_ms
	};
	const struct thresholds thresholds = thresholds_default();
	struct snapshot *snap = picture_publish(&w->pic, &head);
	struct board *board = board_compose(&snap, 1, NULL, 0, &thresholds, w->board, NULL,
		w->now_ms, NOW_US + w->now_ms * 1000);

	board_unref(w->board);
	w->board = board;
	past_add(&w->past, board, ++w->events);
}

/* Shows it so much later, with another holder of the first row. */
static void hand_over(struct world *w, int64_t later_ms, const char *holder)
{
	w->now_ms += later_ms;
	put_row(w, 0, holder, -1, SEVERITY_INFO, 0);
	show(w);
}

static const char *holder_at(const struct world *w, ptrdiff_t i)
{
	return claim_identity(
		singleton_holder(board_find(w->past.at[i].board, "s/p000000", NULL)->s));
}

static int64_t ms_at(const struct world *w, size_t i)
{
	return w->past.at[i].board->mono_ms;
}

static void steps_lead_through_the_news(void **state)
{
	struct world w;
	ptrdiff_t i;

	(void)state;
	world_init(&w, NO_BOUND);
	hand_over(&w, 0, "a");
	hand_over(&w, 10 * SECOND_MS, "b");
	hand_over(&w, 10 * SECOND_MS, "c");
	/* What is shown is what is now, but for a renewal: the moment of that news is passed over.
	 */
	w.now_ms += 5 * SECOND_MS;
	put_row(&w, 0, "c", -1, SEVERITY_INFO, 7);
	show(&w);
	assert_int_equal(w.past.n, 4);
	i = past_step(&w.past, w.board, w.now_ms + 1, false, false);
	assert_string_equal(holder_at(&w, i), "b");
	assert_int_equal(w.past.at[i].journal_seq, 2);
	i = past_step(&w.past, w.past.at[i].board, ms_at(&w, (size_t)i), false, false);
	assert_string_equal(holder_at(&w, i), "a");
	assert_int_equal(
		past_step(&w.past, w.past.at[i].board, ms_at(&w, (size_t)i), false, false), -1);
	i = past_step(&w.past, w.past.at[i].board, ms_at(&w, (size_t)i), true, false);
	assert_string_equal(holder_at(&w, i), "b");
	i = past_step(&w.past, w.past.at[i].board, ms_at(&w, (size_t)i), true, false);
	assert_string_equal(holder_at(&w, i), "c");
	assert_int_equal(
		past_step(&w.past, w.past.at[i].board, ms_at(&w, (size_t)i), true, false), -1);
	world_release(&w);
}

static void the_news_of_one_row_are_found(void **state)
{
	struct world w;
	ptrdiff_t i;
	int n;

	(void)state;
	world_init(&w, NO_BOUND);
	put_row(&w, 1, "x", -1, SEVERITY_INFO, 0);
	hand_over(&w, 0, "a");
	for (n = 0; n < 20; n++) {
		/* Others change all the time, and its own facts do. */
		w.now_ms += SECOND_MS;
		put_row(&w, 1, n % 2 ? "x" : "y", -1, SEVERITY_INFO, 0);
		put_row(&w, 0, n < 10 ? "a" : "b", -1, SEVERITY_INFO, n);
		show(&w);
	}
	i = past_step_of(&w.past, w.board, "s/p000000", w.now_ms, false);
	assert_string_equal(holder_at(&w, i), "a");
	/* As late as it was so. */
	assert_int_equal(ms_at(&w, (size_t)i), START_MS + 10 * SECOND_MS);
	i = past_step_of(&w.past, w.past.at[i].board, "s/p000000", ms_at(&w, (size_t)i), true);
	assert_string_equal(holder_at(&w, i), "b");
	assert_int_equal(ms_at(&w, (size_t)i), START_MS + 11 * SECOND_MS);
	assert_int_equal(
		past_step_of(&w.past, w.past.at[i].board, "s/p000000", ms_at(&w, (size_t)i), true),
		-1);
	assert_int_equal(past_step_of(&w.past, w.board, "s/none", w.now_ms, false), -1);
	/* It came later: before that it was not there. */
	w.now_ms += SECOND_MS;
	put_row(&w, 2, "z", -1, SEVERITY_INFO, 0);
	show(&w);
	i = past_step_of(&w.past, w.board, "s/p000002", w.now_ms, false);
	assert_int_equal(ms_at(&w, (size_t)i), w.now_ms - SECOND_MS);
	world_release(&w);
}

static void a_quiet_time_is_gone_through_in_minutes(void **state)
{
	struct world w;
	ptrdiff_t i;
	int n;

	(void)state;
	world_init(&w, NO_BOUND);
	hand_over(&w, 0, "a");
	/* Polls without any change. */
	for (n = 0; n < 600; n++) {
		w.now_ms += SECOND_MS;
		show(&w);
	}
	assert_int_equal(w.past.n, 11);
	i = past_step(&w.past, w.board, w.now_ms, false, false);
	assert_int_equal(ms_at(&w, (size_t)i), w.now_ms - MINUTE_MS);
	i = past_at_ms(&w.past, w.now_ms - 150 * SECOND_MS);
	assert_int_equal(ms_at(&w, (size_t)i), w.now_ms - 180 * SECOND_MS);
	assert_int_equal(past_at_us(&w.past, NOW_US + (w.now_ms - 150 * SECOND_MS) * 1000), i);
	assert_int_equal(past_at_ms(&w.past, START_MS - 1), -1);
	world_release(&w);
}

static void findings_are_jumped_to(void **state)
{
	struct world w;
	ptrdiff_t i;

	(void)state;
	world_init(&w, NO_BOUND);
	hand_over(&w, 0, "a");
	w.now_ms += SECOND_MS;
	put_row(&w, 1, "x", FINDING_FLAPPING, SEVERITY_WARN, 0);
	show(&w);
	hand_over(&w, SECOND_MS, "b");
	w.now_ms += SECOND_MS;
	put_row(&w, 2, "x", FINDING_NO_SUCCESSOR, SEVERITY_INFO, 0); /* no news */
	show(&w);
	w.now_ms += SECOND_MS;
	put_row(&w, 2, "x", FINDING_DUP_RUN, SEVERITY_CRIT, 0);
	show(&w);
	w.now_ms += SECOND_MS;
	put_row(&w, 2, "x", -1, SEVERITY_INFO, 0); /* over */
	show(&w);
	i = past_step(&w.past, w.board, w.now_ms, false, true);
	assert_int_equal(ms_at(&w, (size_t)i), START_MS + 4 * SECOND_MS);
	assert_int_equal(w.past.at[i].weight, PAST_CRIT);
	i = past_step(&w.past, NULL, ms_at(&w, (size_t)i), false, true);
	assert_int_equal(ms_at(&w, (size_t)i), START_MS + SECOND_MS);
	assert_int_equal(past_step(&w.past, NULL, ms_at(&w, (size_t)i), false, true), -1);
	i = past_step(&w.past, NULL, ms_at(&w, (size_t)i), true, true);
	assert_int_equal(ms_at(&w, (size_t)i), START_MS + 4 * SECOND_MS);
	assert_int_equal(past_step(&w.past, NULL, ms_at(&w, (size_t)i), true, true), -1);
	world_release(&w);
}

/* A row that goes makes another take its place in the picture: that is no new finding. */
static void a_row_that_moved_is_no_new_finding(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, NO_BOUND);
	put_row(&w, 0, "a", -1, SEVERITY_INFO, 0);
	put_row(&w, 1, "b", FINDING_DUP_RUN, SEVERITY_CRIT, 0);
	show(&w);
	w.now_ms += SECOND_MS;
	picture_remove(&w.pic, "s/p000000");
	show(&w);
	assert_int_equal(w.past.n, 2);
	assert_int_equal(w.past.at[1].weight, PAST_NEWS);
	assert_false(w.past.at[1].finding);
	world_release(&w);
}

static void the_older_the_thinner(void **state)
{
	static const int64_t steps[][2] = { { 5 * MINUTE_MS, SECOND_MS },
		{ HOUR_MS, 10 * SECOND_MS }, { 4 * HOUR_MS, MINUTE_MS } };
	struct world w;
	int64_t from;
	size_t i, n, k;

	(void)state;
	world_init(&w, NO_BOUND);
	for (i = 0; i < 4 * 3600; i++)
		hand_over(&w, SECOND_MS, i % 2 ? "a" : "b");
	for (i = 1; i < w.past.n; i++)
		assert_true(ms_at(&w, i - 1) < ms_at(&w, i));
	for (k = 0, from = 0; k < ARRAY_LEN(steps); from = steps[k++][0]) {
		size_t want = (size_t)((steps[k][0] - from) / steps[k][1]);

		for (i = n = 0; i < w.past.n; i++) {
			int64_t age = w.now_ms - ms_at(&w, i);

			n += age >= from && age < steps[k][0];
		}
		/* The borders move while ten seconds pass between two looks. */
		assert_in_range(n, want - 11, want + 11);
	}
	/* The oldest is still there. */
	assert_true(ms_at(&w, 0) <= START_MS + MINUTE_MS);
	world_release(&w);
}

/* ---- what it costs ---- */

static int by_address(const void *a, const void *b)
{
	uintptr_t x = *(const uintptr_t *)a, y = *(const uintptr_t *)b;

	return x < y ? -1 : x > y;
}

struct pile {
	uintptr_t *at;
	size_t n, cap;
};

static void pile_board(struct pile *pile, const struct board *board)
{
	const struct snapshot *snap = board->snapshots[0];
	size_t i;

	for (i = 0; i < snap->n_rows; i++) {
		MEM_GROW(pile->at, pile->n, pile->cap);
		pile->at[pile->n++] = (uintptr_t)snapshot_row(snap, i);
	}
}

/* The bytes of all rows that are only in moments of the past, each once. */
static size_t true_row_bytes(const struct world *w)
{
	struct pile past = { NULL, 0, 0 }, now = { NULL, 0, 0 };
	size_t i, bytes = 0;

	pile_board(&now, w->board);
	qsort(now.at, now.n, sizeof(*now.at), by_address);
	for (i = 0; i < w->past.n; i++)
		pile_board(&past, w->past.at[i].board);
	qsort(past.at, past.n, sizeof(*past.at), by_address);
	for (i = 0; i < past.n; i++)
		if ((!i || past.at[i] != past.at[i - 1]) &&
			!bsearch(&past.at[i], now.at, now.n, sizeof(*now.at), by_address))
			bytes += row_size((const struct row *)past.at[i]);
	free(past.at);
	free(now.at);
	return bytes;
}

static void what_is_shared_costs_nothing(void **state)
{
	enum {
		ROWS = 5000,
		MOMENTS = 200
	};
	struct world w;
	size_t i, full, chunks;

	(void)state;
	world_init(&w, NO_BOUND);
	for (i = 0; i < ROWS; i++)
		put_row(&w, i, "a", -1, SEVERITY_INFO, 0);
	show(&w);
	for (i = full = 0; i < w.board->snapshots[0]->n_chunks; i++)
		full += w.board->snapshots[0]->chunks[i]->size;
	assert_true(full > ROWS * (sizeof(struct row) + sizeof(struct singleton)));
	for (i = 0; i < MOMENTS; i++) {
		w.now_ms += SECOND_MS;
		put_row(&w, i * 101 % ROWS, "b", -1, SEVERITY_INFO, (int64_t)i);
		show(&w);
	}
	assert_int_equal(w.past.n, MOMENTS + 1);
	/* One chunk and one row each, and the pointers of the snapshot. */
	chunks = MOMENTS * sizeof(struct chunk);
	assert_in_range(w.past.bytes, true_row_bytes(&w) + chunks,
		true_row_bytes(&w) + chunks + MOMENTS * 2048);
	assert_true(w.past.bytes < full);
	world_release(&w);
}

static void the_bound_holds_and_the_critical_stays(void **state)
{
	enum {
		ROWS = 2000,
		CHANGED = 10,
		BOUND = 600 * 1000
	};
	struct world w;
	size_t i, k, crit = 0, oldest_calm = SIZE_MAX;

	(void)state;
	world_init(&w, BOUND);
	for (i = 0; i < ROWS; i++)
		put_row(&w, i, "a", -1, SEVERITY_INFO, 0);
	show(&w);
	for (i = 0; i < 1000; i++) {
		bool alarm = i % 200 == 50;

		w.now_ms += SECOND_MS;
		for (k = 0; k < CHANGED; k++)
			put_row(&w, 100 + (i * CHANGED + k) % 90, "a", -1, SEVERITY_INFO,
				(int64_t)i);
		put_row(&w, 1, i % 2 ? "x" : "y", alarm ? (int)FINDING_DUP_RUN : -1, SEVERITY_CRIT,
			0);
		show(&w);
		assert_true(w.past.bytes <= BOUND);
		assert_ptr_equal(w.past.at[w.past.n - 1].board, w.board);
	}
	for (i = 0; i < w.past.n; i++) {
		if (w.past.at[i].weight == PAST_CRIT)
			crit++;
		else if (oldest_calm == SIZE_MAX)
			oldest_calm = i;
	}
	assert_int_equal(crit, 5);
	/* Quieter ones went meanwhile, and not all of the oldest. */
	assert_true(w.past.n > 10 && w.past.n < 300);
	assert_true(ms_at(&w, oldest_calm) < w.now_ms - 5 * MINUTE_MS);
	world_release(&w);
}

/* What has nothing in common with what is now, and is larger than the bound, can't be kept. */
static void a_change_of_everything_is_cut_off(void **state)
{
	struct world w;
	size_t i, k;

	(void)state;
	world_init(&w, 200 * 1000);
	for (k = 0; k < 4; k++) {
		for (i = 0; i < 2000; i++)
			put_row(&w, i, k % 2 ? "a" : "b", -1, SEVERITY_INFO, 0);
		w.now_ms += SECOND_MS;
		show(&w);
		assert_int_equal(w.past.n, 1);
		hand_over(&w, SECOND_MS, "c");
		assert_int_equal(w.past.n, 2);
		assert_true(w.past.bytes <= 200 * 1000);
	}
	world_release(&w);
}

static void no_bound_keeps_nothing(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, 0);
	hand_over(&w, 0, "a");
	hand_over(&w, SECOND_MS, "b");
	assert_int_equal(w.past.n, 0);
	assert_int_equal(past_step(&w.past, w.board, w.now_ms, false, false), -1);
	world_release(&w);
}

static void a_clock_that_goes_back_forgets(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, NO_BOUND);
	hand_over(&w, 0, "a");
	hand_over(&w, SECOND_MS, "b");
	hand_over(&w, -500, "c");
	assert_int_equal(w.past.n, 1);
	assert_string_equal(holder_at(&w, 0), "c");
	world_release(&w);
}

static void a_past_board_is_marked(void **state)
{
	struct world w;
	struct board *then;

	(void)state;
	world_init(&w, NO_BOUND);
	hand_over(&w, 0, "a");
	then = board_as_past(w.board);
	assert_true(then->past);
	assert_false(w.board->past);
	assert_ptr_equal(
		board_find(then, "s/p000000", NULL), board_find(w.board, "s/p000000", NULL));
	assert_int_equal(then->mono_ms, w.board->mono_ms);
	world_release(&w);
	assert_string_equal(then->snapshots[0]->source, "s");
	board_unref(then);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_lead_through_the_news),
		cmocka_unit_test(the_news_of_one_row_are_found),
		cmocka_unit_test(a_quiet_time_is_gone_through_in_minutes),
		cmocka_unit_test(findings_are_jumped_to),
		cmocka_unit_test(a_row_that_moved_is_no_new_finding),
		cmocka_unit_test(the_older_the_thinner),
		cmocka_unit_test(what_is_shared_costs_nothing),
		cmocka_unit_test(the_bound_holds_and_the_critical_stays),
		cmocka_unit_test(a_change_of_everything_is_cut_off),
		cmocka_unit_test(no_bound_keeps_nothing),
		cmocka_unit_test(a_clock_that_goes_back_forgets),
		cmocka_unit_test(a_past_board_is_marked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
