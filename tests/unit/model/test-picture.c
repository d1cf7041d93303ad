#include "config.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "model/draft.h"
#include "model/snapshot.h"
#include "tests/unit/unit.h"

/* Enough for several chunks, few enough for puts and removes to meet. */
enum {
	IDS = 3 * CHUNK_ROWS
};

static struct singleton *make(struct draft *d, size_t number, int64_t value)
{
	char path[32];

	snprintf(path, sizeof(path), "app:%zu", number);
	draft_begin(d, MECH_PG_ADVISORY, "src", path, strlen(path));
	draft_claim(d, CLAIM_HOLDER, "worker", 6, "1@2");
	draft_int(d, DETAIL_PID, value);
	return draft_finish(d);
}

static size_t number_of(const struct singleton *s)
{
	return (size_t)strtoul(strchr(singleton_path(s), ':') + 1, NULL, 10);
}

static int64_t value_of(const struct singleton *s)
{
	return claim_int(singleton_holder(s), DETAIL_PID, -1);
}

static void judge_all(struct picture *pic)
{
	struct verdict_draft draft;
	size_t pos = 0;
	ptrdiff_t i;

	verdict_draft_init(&draft);
	while ((i = picture_next_due(pic, &pos, 0)) >= 0) {
		verdict_draft_begin(&draft);
		draft.next_ms = INT64_MAX;
		picture_judged(pic, (size_t)i, row_new(singleton_ref(pic->slots[i].s), &draft),
			draft.next_ms);
	}
	verdict_draft_release(&draft);
}

static struct snapshot *publish(struct picture *pic)
{
	const struct snapshot head = {
		.source = "src", .kind = "test", .state = SOURCE_OK, .error = "why", .server = "v1"
	};

	judge_all(pic);
	return picture_publish(pic, &head);
}

/* What the picture should hold: the value of each number, 0 for none. */
struct model {
	int64_t values[IDS];
	size_t n;
};

static void assert_snapshot(const struct snapshot *snap, const struct model *model)
{
	size_t i;

	assert_int_equal(snap->n_rows, model->n);
	for (i = 0; i < snap->n_rows; i++) {
		const struct singleton *s = snapshot_row(snap, i)->s;

		assert_int_equal(value_of(s), model->values[number_of(s)]);
	}
	for (i = 0; i < snap->n_chunks; i++)
		assert_int_equal(snap->chunks[i]->n,
			i + 1 < snap->n_chunks ? (size_t)CHUNK_ROWS : model->n - i * CHUNK_ROWS);
}

static void change_one(struct picture *pic, struct draft *d, struct model *model, uint64_t *seed)
{
	size_t number = unit_pick(seed, IDS);
	int64_t value = 1 + (int64_t)unit_pick(seed, 3), old = model->values[number];
	char id[40];

	if (unit_pick(seed, 5) < 3) {
		assert_int_equal(picture_put(pic, make(d, number, value)), value != old);
		model->n += !old;
		model->values[number] = value;
		return;
	}
	snprintf(id, sizeof(id), "src/app:%zu", number);
	assert_int_equal(picture_remove(pic, id), old != 0);
	model->n -= old != 0;
	model->values[number] = 0;
}

static void behaves_like_a_table_and_old_snapshots_stand(void **state)
{
	enum {
		KEPT = 8
	};
	struct snapshot *kept[KEPT] = { NULL };
	struct model *then = xcalloc(KEPT, sizeof(*then)), *now = xcalloc(1, sizeof(*now));
	struct draft *d = draft_new();
	struct picture pic;
	uint64_t seed = 23;
	size_t round, i;

	(void)state;
	picture_init(&pic);
	for (round = 0; round < 200; round++) {
		size_t place = round % KEPT;

		for (i = unit_pick(&seed, 200); i > 0; i--)
			change_one(&pic, d, now, &seed);
		if (kept[place])
			assert_snapshot(kept[place], &then[place]);
		snapshot_unref(kept[place]);
		kept[place] = publish(&pic);
		then[place] = *now;
		assert_snapshot(kept[place], now);
	}
	picture_release(&pic);
	draft_free(d);
	for (i = 0; i < KEPT; i++) {
		assert_snapshot(kept[i], &then[i]);
		snapshot_unref(kept[i]);
	}
	free(then);
	free(now);
}

static void unchanged_chunks_are_shared(void **state)
{
	struct draft *d = draft_new();
	struct snapshot *before, *after;
	struct picture pic;
	size_t i;

	(void)state;
	picture_init(&pic);
	for (i = 0; i < IDS; i++)
		picture_put(&pic, make(d, i, 1));
	before = publish(&pic);
	assert_false(picture_put(&pic, make(d, 0, 1)));
	assert_true(picture_put(&pic, make(d, CHUNK_ROWS, 2)));
	after = publish(&pic);
	assert_int_equal(after->seq, before->seq + 1);
	assert_ptr_equal(after->chunks[0], before->chunks[0]);
	assert_ptr_not_equal(after->chunks[1], before->chunks[1]);
	assert_ptr_equal(after->chunks[2], before->chunks[2]);
	snapshot_unref(before);
	snapshot_unref(after);
	picture_release(&pic);
	draft_free(d);
}

static void count_gone(void *arg, const struct singleton *s)
{
	size_t *sum = arg;

	*sum += number_of(s);
}

static void what_a_full_round_leaves_out_is_gone(void **state)
{
	struct draft *d = draft_new();
	struct snapshot *snap;
	struct picture pic;
	size_t sum = 0, i;

	(void)state;
	picture_init(&pic);
	for (i = 0; i < 10; i++)
		picture_put(&pic, make(d, i, 1));
	picture_begin(&pic);
	for (i = 0; i < 10; i++)
		if (i != 3 && i != 9)
			picture_put(&pic, make(d, i, 1));
	picture_end(&pic, count_gone, &sum);
	assert_int_equal(sum, 3 + 9);
	assert_null(picture_find(&pic, "src/app:3"));
	assert_non_null(picture_find(&pic, "src/app:8"));
	snap = publish(&pic);
	assert_int_equal(snap->n_rows, 8);
	assert_null(snapshot_find(snap, "src/app:9"));
	assert_non_null(snapshot_find(snap, "src/app:0"));
	snapshot_unref(snap);
	picture_release(&pic);
	draft_free(d);
}

/* Two polls may come before one judgement: the id that the index holds must outlive the older
 * facts. */
static void the_same_id_twice_before_it_is_judged(void **state)
{
	struct draft *d = draft_new();
	struct picture pic;

	(void)state;
	picture_init(&pic);
	assert_true(picture_put(&pic, make(d, 1, 1)));
	assert_true(picture_put(&pic, make(d, 1, 2)));
	assert_false(picture_put(&pic, make(d, 1, 2)));
	assert_int_equal(value_of(picture_find(&pic, "src/app:1")->s), 2);
	assert_int_equal(pic.n, 1);
	picture_release(&pic);
	draft_free(d);
}

static void time_alone_makes_a_slot_due(void **state)
{
	struct draft *d = draft_new();
	struct verdict_draft draft;
	struct picture pic;
	size_t pos = 0;

	(void)state;
	picture_init(&pic);
	verdict_draft_init(&draft);
	assert_true(picture_due_ms(&pic) == INT64_MAX);
	picture_put(&pic, make(d, 1, 1));
	assert_int_equal(picture_next_due(&pic, &pos, 0), 0);
	verdict_draft_begin(&draft);
	draft.next_ms = INT64_MAX;
	verdict_next(&draft, 5000);
	verdict_next(&draft, 9000);
	picture_judged(&pic, 0, row_new(singleton_ref(pic.slots[0].s), &draft), draft.next_ms);
	assert_int_equal(picture_due_ms(&pic), 5000);
	pos = 0;
	assert_int_equal(picture_next_due(&pic, &pos, 4999), -1);
	pos = 0;
	assert_int_equal(picture_next_due(&pic, &pos, 5000), 0);
	verdict_draft_release(&draft);
	picture_release(&pic);
	draft_free(d);
}

static void a_snapshot_has_its_own_texts(void **state)
{
	char error[] = "cut off", what[] = "queries", remedy[] = "grant pg_read_all_stats",
	     rows[] = "lease/", except[] = "lease/a/";
	const char *parts[] = { except, "lease/b/", NULL };
	const struct hidden hidden[] = {
		{ .what = what, .remedy = remedy, .rows = rows, .except = parts },
		{ .what = what, .chosen = true }
	};
	const struct snapshot head = {
		.source = "src", .kind = "test", .error = error, .hidden = hidden, .n_hidden = 2
	};
	struct snapshot *snap;
	struct picture pic;

	(void)state;
	picture_init(&pic);
	snap = picture_publish(&pic, &head);
	parts[1] = NULL;
	error[0] = what[0] = remedy[0] = rows[0] = except[0] = '?';
	assert_string_equal(snap->error, "cut off");
	assert_string_equal(snap->hidden[0].what, "queries");
	assert_string_equal(snap->hidden[0].remedy, "grant pg_read_all_stats");
	assert_string_equal(snap->hidden[0].rows, "lease/");
	assert_string_equal(snap->hidden[0].except[0], "lease/a/");
	assert_string_equal(snap->hidden[0].except[1], "lease/b/");
	assert_null(snap->hidden[0].except[2]);
	assert_null(snap->hidden[1].except);
	assert_false(snap->hidden[0].chosen);
	assert_true(snap->hidden[1].chosen);
	assert_null(snap->hidden[1].remedy);
	assert_null(snap->hidden[1].rows);
	assert_null(snap->server);
	assert_int_equal(snap->n_rows, 0);
	picture_release(&pic);
	snapshot_unref(snap);
}

static void what_is_hidden_is_known_by_how_paths_begin(void **state)
{
	static const struct {
		const char *rows, *except, *id;
		bool hides;
	} cases[] = {
		{ NULL, NULL, "s/lease/a/b", false },
		{ "", NULL, "s/lease/a/b", true },
		{ "lease/", NULL, "s/lease/a/b", true },
		{ "lease/", NULL, "s/cronjob/a/b", false },
		{ "lease/a/", NULL, "s/lease/ab/b", false },
		{ "lease/", "lease/a/", "s/lease/a/b", false },
		{ "lease/", "lease/a/", "s/lease/ab/b", true },
		{ "/jobs/close", NULL, "s//jobs/close-books", true },
		/* A path ends as if a slash stood behind it. */
		{ "/jobs/close/", NULL, "s//jobs/close", true },
		{ "/jobs/close/", NULL, "s//jobs/close-books", false },
		{ "/jobs/close/7", NULL, "s//jobs/close", false },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		/* Also where there are several. */
		const char *const except[] = { "lease/z/", cases[i].except, NULL };
		const struct hidden hidden[] = { { .what = "other" },
			{ .what = "these", .rows = cases[i].rows, .except = except } };
		const struct snapshot snap = { .source = "s", .hidden = hidden, .n_hidden = 2 };

		if (snapshot_hides(&snap, cases[i].id) != (cases[i].hides ? &hidden[1] : NULL))
			fail_msg("case %zu", i);
	}
}

enum {
	READERS = 4,
	ROUNDS = 2000
};

struct shared {
	pthread_mutex_t lock;
	struct snapshot *newest;
	bool end;
};

static struct snapshot *take(struct shared *shared, bool *end)
{
	struct snapshot *snap;

	pthread_mutex_lock(&shared->lock);
	snap = snapshot_ref(shared->newest);
	*end = shared->end;
	pthread_mutex_unlock(&shared->lock);
	return snap;
}

static void *read_on(void *arg)
{
	bool end = false;
	intptr_t wrong = 0;

	while (!end) {
		struct snapshot *snap = take(arg, &end);

		/* All rows of one publication have one value. */
		for (size_t i = 1; snap && i < snap->n_rows; i++)
			wrong += value_of(snapshot_row(snap, i)->s) !=
				 value_of(snapshot_row(snap, 0)->s);
		snapshot_unref(snap);
	}
	return (void *)wrong;
}

static void write_rounds(struct shared *shared)
{
	struct draft *d = draft_new();
	struct picture pic;

	picture_init(&pic);
	for (int64_t round = 1; round <= ROUNDS; round++) {
		struct snapshot *snap, *old;

		for (size_t i = 0; i < 20; i++)
			picture_put(&pic, make(d, i, round));
		snap = publish(&pic);
		pthread_mutex_lock(&shared->lock);
		old = shared->newest;
		shared->newest = snap;
		shared->end = round == ROUNDS;
		pthread_mutex_unlock(&shared->lock);
		snapshot_unref(old);
	}
	picture_release(&pic);
	draft_free(d);
}

static void readers_on_other_threads_see_whole_snapshots(void **state)
{
	struct shared shared = { .lock = PTHREAD_MUTEX_INITIALIZER };
	pthread_t threads[READERS];
	void *wrong;

	(void)state;
	for (int i = 0; i < READERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, read_on, &shared), 0);
	write_rounds(&shared);
	for (int i = 0; i < READERS; i++) {
		pthread_join(threads[i], &wrong);
		assert_null(wrong);
	}
	snapshot_unref(shared.newest);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(behaves_like_a_table_and_old_snapshots_stand),
		cmocka_unit_test(unchanged_chunks_are_shared),
		cmocka_unit_test(what_a_full_round_leaves_out_is_gone),
		cmocka_unit_test(the_same_id_twice_before_it_is_judged),
		cmocka_unit_test(time_alone_makes_a_slot_due),
		cmocka_unit_test(a_snapshot_has_its_own_texts),
		cmocka_unit_test(what_is_hidden_is_known_by_how_paths_begin),
		cmocka_unit_test(readers_on_other_threads_see_whole_snapshots),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
