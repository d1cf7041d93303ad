#include "config.h"

#include "tests/unit/unit.h"
#include "tests/unit/control/folder.h"
#include "tests/unit/control/script.h"

#include <sys/stat.h>

/* Everything here waits for a condition, with a limit that only a failure reaches. */
enum {
	LIMIT_MS = 20000
};

static void sleep_a_moment(void)
{
	poll(NULL, 0, 2);
}

static bool board_has(struct board *board, const char *id, enum state state)
{
	const struct snapshot *snap;
	const struct row *row = board_find(board, id, &snap);

	return row && board_state(snap, row) == state;
}

static void wait_for_state(struct fleet *fleet, const char *id, enum state state)
{
	int64_t end = clock_mono_ms(&clock_system) + LIMIT_MS;
	bool so = false;

	while (!so && clock_mono_ms(&clock_system) < end) {
		struct board *board = fleet_board(fleet);

		so = board_has(board, id, state);
		board_unref(board);
		sleep_a_moment();
	}
	assert_true(so);
}

static void wait_for_source(struct fleet *fleet, enum source_state state)
{
	int64_t end = clock_mono_ms(&clock_system) + LIMIT_MS;
	bool so = false;

	while (!so && clock_mono_ms(&clock_system) < end) {
		struct board *board = fleet_board(fleet);

		so = board->snapshots[0]->state == state;
		board_unref(board);
		sleep_a_moment();
	}
	assert_true(so);
}

static void wait_for_polls(struct script *script, unsigned more)
{
	unsigned until;

	pthread_mutex_lock(&script->mutex);
	until = script->polls + more;
	while (script->polls < until)
		pthread_cond_wait(&script->polled, &script->mutex);
	pthread_mutex_unlock(&script->mutex);
}

static void hold(struct script *script, int i, const char *name, const char *holder, int64_t token)
{
	pthread_mutex_lock(&script->mutex);
	script->names[i] = name;
	script->holders[i] = holder;
	script->tokens[i] = token;
	pthread_mutex_unlock(&script->mutex);
}

static void fail_with(struct script *script, enum err_code code)
{
	pthread_mutex_lock(&script->mutex);
	if (code)
		err_set(&script->fail, code, "the server is gone");
	else
		err_clear(&script->fail);
	pthread_mutex_unlock(&script->mutex);
}

static void end(struct script_fleet *f)
{
	fleet_stop(f->fleet, LIMIT_MS);
	fleet_free(f->fleet);
}

static bool saw_event(struct fleet *fleet, const char *what, const char *part)
{
	struct event *events[200];
	uint64_t seq = 0;
	size_t n = fleet_events(fleet, &seq, events, 200), i;
	bool saw = false;

	for (i = 0; i < n; i++) {
		saw = saw || (strcmp(events[i]->what, what) == 0 && strstr(events[i]->text, part));
		free(events[i]);
	}
	return saw;
}

static void wait_for_finding(
	struct fleet *fleet, const char *id, enum finding_code code, bool there)
{
	int64_t end = clock_mono_ms(&clock_system) + LIMIT_MS;
	bool so = false;

	while (!so && clock_mono_ms(&clock_system) < end) {
		struct board *board = fleet_board(fleet);
		const struct row *row = board_find(board, id, NULL);
		bool has = false;
		size_t i;

		for (i = 0; row && i < row->v.n_findings; i++)
			has = has || row->v.findings[i].code == code;
		so = row && has == there;
		board_unref(board);
		sleep_a_moment();
	}
	assert_true(so);
}

/* The row's own facts stay the same: it must be judged again for what changed about its server. */
static void a_standby_that_is_promoted(void **state)
{
	struct script_fleet f = { .both = false };

	(void)state;
	script_init(&f.script);
	f.script.mechanism = MECH_PG_ADVISORY;
	f.script.in_recovery = true;
	hold(&f.script, 0, "a", "node-1", 5);
	script_fleet_start(&f, NULL, false);
	wait_for_finding(f.fleet, "test/a", FINDING_ON_STANDBY, true);
	pthread_mutex_lock(&f.script.mutex);
	f.script.in_recovery = false;
	pthread_mutex_unlock(&f.script.mutex);
	wait_for_finding(f.fleet, "test/a", FINDING_ON_STANDBY, false);
	end(&f);
}

static void one_shot_makes_one_picture(void **state)
{
	struct script_fleet f = { .both = false };

	(void)state;
	script_init(&f.script);
	hold(&f.script, 0, "a", "node-1", 5);
	script_fleet_start(&f, NULL, true);
	assert_true(fleet_wait_settled(f.fleet, clock_mono_ms(&clock_system) + LIMIT_MS));
	wait_for_state(f.fleet, "test/a", STATE_HELD);
	fleet_stop(f.fleet, LIMIT_MS);
	assert_int_equal(f.script.polls, 1);
	fleet_free(f.fleet);
}

static void a_failing_poll_keeps_the_last_picture(void **state)
{
	struct script_fleet f = { .both = false };
	struct board *board;

	(void)state;
	script_init(&f.script);
	hold(&f.script, 0, "a", "node-1", 5);
	script_fleet_start(&f, NULL, false);
	wait_for_state(f.fleet, "test/a", STATE_HELD);
	fail_with(&f.script, ERR_CONNECT);
	wait_for_source(f.fleet, SOURCE_FAILING);
	board = fleet_board(f.fleet);
	assert_true(board_has(board, "test/a", STATE_UNKNOWN));
	assert_string_equal(board->snapshots[0]->error, "the server is gone");
	assert_int_equal(board->by_state[STATE_UNKNOWN], 1);
	assert_int_equal(board->n_attention, 1);
	board_unref(board);
	fail_with(&f.script, ERR_NONE);
	wait_for_state(f.fleet, "test/a", STATE_HELD);
	assert_true(saw_event(f.fleet, "source", "the server is gone"));
	assert_true(saw_event(f.fleet, "source", "answers again"));
	end(&f);
}

static void a_degraded_source_shows_its_rows(void **state)
{
	struct script_fleet f = { .both = false };

	(void)state;
	script_init(&f.script);
	f.script.degraded = "the standby answers";
	hold(&f.script, 0, "a", "node-1", 5);
	script_fleet_start(&f, NULL, false);
	wait_for_source(f.fleet, SOURCE_DEGRADED);
	wait_for_state(f.fleet, "test/a", STATE_HELD);
	end(&f);
}

static void a_hung_poll_ends_when_we_stop(void **state)
{
	struct script_fleet f = { .both = false };

	(void)state;
	script_init(&f.script);
	f.script.hang = true;
	script_fleet_start(&f, NULL, false);
	wait_for_polls(&f.script, 1);
	/* The poll's own deadline is a minute away: only the wake descriptor can end it before the
	 * limit. */
	fleet_stop(f.fleet, LIMIT_MS);
	assert_true(fleet_settled(f.fleet));
	fleet_free(f.fleet);
}

static void a_deaf_thread_is_left_behind(void **state)
{
	static struct script_fleet f; /* the thread outlives this function */

	(void)state;
	script_init(&f.script);
	f.script.hang = f.script.deaf = true;
	script_fleet_start(&f, NULL, false);
	wait_for_polls(&f.script, 0);
	assert_false(fleet_stop(f.fleet, 50));
	/* We are here although it still hangs; nothing that it uses was freed. */
	assert_false(f.script.release);
	fleet_free(f.fleet);
	pthread_mutex_lock(&f.script.mutex);
	f.script.release = true;
	pthread_cond_broadcast(&f.script.polled);
	pthread_mutex_unlock(&f.script.mutex);
	fleet_stop(f.fleet, LIMIT_MS);
}

static void a_change_and_a_drop_reach_the_board(void **state)
{
	struct script_fleet f = { .both = false };

	(void)state;
	script_init(&f.script);
	f.script.dropping = true;
	hold(&f.script, 0, "a", "node-1", 5);
	script_fleet_start(&f, NULL, false);
	wait_for_state(f.fleet, "test/a", STATE_HELD);
	hold(&f.script, 0, "a", NULL, 0);
	/* An election that nobody holds stays as a row. */
	wait_for_state(f.fleet, "test/a", STATE_FREE);
	/* Told once more that it is gone, it is no less a row. */
	wait_for_polls(&f.script, 3);
	wait_for_state(f.fleet, "test/a", STATE_FREE);
	hold(&f.script, 0, "a", "node-2", 9);
	wait_for_state(f.fleet, "test/a", STATE_HELD);
	assert_true(saw_event(f.fleet, "took", "node-2"));
	assert_true(saw_event(f.fleet, "released", "node-1"));
	/* Who held it in the first picture is told of when it goes, and nobody else twice. */
	assert_true(saw_event(f.fleet, "seen", "node-1 was first seen to hold it"));
	hold(&f.script, 0, "a", NULL, 0);
	wait_for_state(f.fleet, "test/a", STATE_FREE);
	assert_false(saw_event(f.fleet, "seen", "node-2"));
	end(&f);
}

static void wait_for_rows(struct fleet *fleet, size_t n)
{
	size_t rows;

	do {
		struct board *board = fleet_board(fleet);

		rows = board->n_rows;
		board_unref(board);
		sleep_a_moment();
	} while (rows != n);
}

/* A row that can't be seen any more goes, and nobody is said to have let go of it. */
static void what_is_hidden_was_not_let_go(void **state)
{
	bool dropping;

	(void)state;
	for (dropping = false;; dropping = true) {
		struct script_fleet f = { .both = false };

		script_init(&f.script);
		f.script.dropping = dropping;
		f.script.hiding = true;
		hold(&f.script, 0, "a", "node-1", 5);
		hold(&f.script, 1, "b", "node-9", 6);
		script_fleet_start(&f, NULL, false);
		wait_for_state(f.fleet, "test/a", STATE_HELD);
		hold(&f.script, 0, "a", NULL, 0);
		wait_for_rows(f.fleet, 1);
		hold(&f.script, 0, "a", "node-1", 5);
		wait_for_rows(f.fleet, 2);
		hold(&f.script, 0, "a", "node-2", 7);
		while (!saw_event(f.fleet, "hand-over", "node-2 took it from node-1"))
			sleep_a_moment();
		assert_false(saw_event(f.fleet, "released", "node-1"));
		assert_false(saw_event(f.fleet, "took", "node-1"));
		end(&f);
		if (dropping)
			break;
	}
}

/* The highest token that was seen is still of the kind that the mechanism has. */
static void a_row_that_nobody_holds_keeps_its_kind_of_token(void **state)
{
	static const enum mechanism mechanisms[] = { MECH_ETCD_ELECTION, MECH_ZK_ELECTION,
		MECH_SQL_LEASE };
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_LEN(mechanisms); i++) {
		struct script_fleet f = { .both = false };
		struct board *board;
		const struct row *row;

		script_init(&f.script);
		f.script.mechanism = mechanisms[i];
		f.script.dropping = true;
		hold(&f.script, 0, "a", "node-1", 5);
		script_fleet_start(&f, NULL, false);
		wait_for_state(f.fleet, "test/a", STATE_HELD);
		hold(&f.script, 0, "a", NULL, 0);
		wait_for_state(f.fleet, "test/a", STATE_FREE);
		board = fleet_board(f.fleet);
		row = board_find(board, "test/a", NULL);
		assert_int_equal(row->s->token, 5);
		assert_int_equal(row->s->token_kind, mechanism_word(mechanisms[i])->token);
		board_unref(board);
		end(&f);
	}
}

static void runs_are_told_as_they_begin_and_end(void **state)
{
	struct script_fleet f = { .both = false };

	(void)state;
	script_init(&f.script);
	f.script.mechanism = MECH_K8S_CRONJOB;
	hold(&f.script, 0, "cronjob/a/b", "run-1", 0);
	script_fleet_start(&f, NULL, false);
	wait_for_state(f.fleet, "test/cronjob/a/b", STATE_HELD);
	hold(&f.script, 0, "cronjob/a/b", "run-1", 1);
	wait_for_state(f.fleet, "test/cronjob/a/b", STATE_FREE);
	assert_true(saw_event(f.fleet, "ended", "run-1 succeeded after 3m"));
	hold(&f.script, 0, "cronjob/a/b", "run-2", 0);
	wait_for_state(f.fleet, "test/cronjob/a/b", STATE_HELD);
	assert_true(saw_event(f.fleet, "began", "run-2 began, for the slot 2026-09-22T12:00:00Z"));
	/* One goes while it works, another comes: two runs, and no hand-over. */
	hold(&f.script, 0, "cronjob/a/b", "run-3", 0);
	while (!saw_event(f.fleet, "began", "run-3") ||
		!saw_event(f.fleet, "ended", "run-2 was deleted before"))
		usleep(1000);
	assert_false(saw_event(f.fleet, "hand-over", "run"));
	assert_false(saw_event(f.fleet, "took", "run"));
	assert_false(saw_event(f.fleet, "state", "HELD"));
	end(&f);
}

static void set_runs(struct script *script, int pile, bool hidden)
{
	pthread_mutex_lock(&script->mutex);
	script->pile = pile;
	script->jobs_hidden = hidden;
	pthread_mutex_unlock(&script->mutex);
	wait_for_polls(script, 3);
}

/* Of a long pile one more begins, and none ends; and what may not be read any more is not gone. */
static void what_is_out_of_sight_was_not_deleted(void **state)
{
	struct script_fleet f = { .both = false };

	(void)state;
	script_init(&f.script);
	f.script.mechanism = MECH_K8S_CRONJOB;
	f.script.pile = 300;
	hold(&f.script, 0, "cronjob/a/b", "any", 0);
	script_fleet_start(&f, NULL, false);
	wait_for_source(f.fleet, SOURCE_OK);
	set_runs(&f.script, 301, false);
	assert_true(saw_event(f.fleet, "began", "pile-301 began"));
	set_runs(&f.script, 301, true);
	set_runs(&f.script, 301, false);
	set_runs(&f.script, 300, false);
	assert_true(saw_event(f.fleet, "ended", "pile-301 was deleted before"));
	assert_false(saw_event(f.fleet, "ended", "pile-1"));
	assert_false(saw_event(f.fleet, "ended", "pile-300"));
	assert_false(saw_event(f.fleet, "began", "pile-1"));
	assert_false(saw_event(f.fleet, "began", "pile-300"));
	end(&f);
}

/* What was not looked at for want of an answer is no silence of the holder. */
static void a_lease_is_not_stale_while_its_source_fails(void **state)
{
	struct script_fleet f = { .both = false };
	struct board *board;

	(void)state;
	script_init(&f.script);
	f.script.mechanism = MECH_K8S_LEASE;
	hold(&f.script, 0, "lease/a/b", "node-1", 1);
	script_fleet_start(&f, NULL, false);
	wait_for_state(f.fleet, "test/lease/a/b", STATE_HELD);
	pthread_mutex_lock(&f.script.mutex);
	err_set(&f.script.fail, ERR_TIMEOUT, "no answer");
	f.script.tokens[0] = 2;
	pthread_mutex_unlock(&f.script.mutex);
	usleep(1600 * 1000);
	board = fleet_board(f.fleet);
	assert_int_equal(snapshot_row(board->snapshots[0], 0)->v.n_findings, 0);
	board_unref(board);
	/* It answers again, and shows that the holder renewed meanwhile; then no more. */
	pthread_mutex_lock(&f.script.mutex);
	err_clear(&f.script.fail);
	pthread_mutex_unlock(&f.script.mutex);
	wait_for_state(f.fleet, "test/lease/a/b", STATE_HELD);
	wait_for_state(f.fleet, "test/lease/a/b", STATE_STALE);
	end(&f);
}

static void a_lock_without_a_name_does_not_stay(void **state)
{
	struct script_fleet f = { .both = false };
	bool there = true;
	int64_t limit = clock_mono_ms(&clock_system) + LIMIT_MS;

	(void)state;
	script_init(&f.script);
	f.script.mechanism = MECH_PG_ADVISORY;
	hold(&f.script, 0, "app:1", "a", 0);
	hold(&f.script, 1, "app:2", "b", 0);
	script_fleet_start(&f, NULL, false);
	wait_for_state(f.fleet, "test/app:1", STATE_HELD);
	hold(&f.script, 0, "app:1", NULL, 0);
	while (there && clock_mono_ms(&clock_system) < limit) {
		struct board *board = fleet_board(f.fleet);

		there = board_find(board, "test/app:1", NULL) != NULL;
		assert_non_null(board_find(board, "test/app:2", NULL));
		board_unref(board);
		sleep_a_moment();
	}
	assert_false(there);
	end(&f);
}

static void snapshots_that_were_taken_never_change(void **state)
{
	struct script_fleet f = { .both = false };
	struct board *before;
	int i;

	(void)state;
	script_init(&f.script);
	hold(&f.script, 0, "a", "node-1", 5);
	script_fleet_start(&f, NULL, false);
	wait_for_state(f.fleet, "test/a", STATE_HELD);
	before = fleet_board(f.fleet);
	for (i = 0; i < 20; i++) {
		hold(&f.script, 0, "a", i % 2 ? "node-1" : "node-2", 6 + i);
		wait_for_polls(&f.script, 2);
	}
	assert_string_equal(
		claim_identity(singleton_holder(board_find(before, "test/a", NULL)->s)), "node-1");
	assert_int_equal(board_find(before, "test/a", NULL)->s->token, 5);
	board_unref(before);
	end(&f);
}

static int64_t first_seen(struct fleet *fleet, const char *id)
{
	struct board *board = fleet_board(fleet);
	const struct row *row = board_find(board, id, NULL);
	int64_t us = row ? row->v.first_seen_us : -1;

	board_unref(board);
	return us;
}

static void the_memory_survives_a_restart(void **state)
{
	struct script_fleet f = { .both = false };
	int64_t seen;

	script_init(&f.script);
	hold(&f.script, 0, "a", "node-1", 5);
	hold(&f.script, 1, "b", "node-1", 6);
	script_fleet_start(&f, *state, true);
	fleet_wait_settled(f.fleet, clock_mono_ms(&clock_system) + LIMIT_MS);
	seen = first_seen(f.fleet, "test/a");
	assert_true(seen > 0);
	end(&f);

	hold(&f.script, 1, "b", NULL, 0);
	script_fleet_start(&f, *state, true);
	fleet_wait_settled(f.fleet, clock_mono_ms(&clock_system) + LIMIT_MS);
	assert_int_equal(first_seen(f.fleet, "test/a"), seen);
	/* What it held then and nobody holds now is a row still, with its last token. */
	wait_for_state(f.fleet, "test/b", STATE_FREE);
	end(&f);
}

static bool has_finding(struct fleet *fleet, const char *id, enum finding_code code)
{
	struct board *board = fleet_board(fleet);
	const struct row *row = board_find(board, id, NULL);
	bool has = false;
	size_t i;

	for (i = 0; row && i < row->v.n_findings; i++)
		has = has || row->v.findings[i].code == code;
	board_unref(board);
	return has;
}

static void a_token_that_fell_between_two_runs_is_told(void **state)
{
	struct script_fleet f = { .both = false };

	script_init(&f.script);
	hold(&f.script, 0, "a", "node-1", 50);
	script_fleet_start(&f, *state, true);
	fleet_wait_settled(f.fleet, clock_mono_ms(&clock_system) + LIMIT_MS);
	assert_false(has_finding(f.fleet, "test/a", FINDING_TOKEN_REGRESS));
	end(&f);

	hold(&f.script, 0, "a", "node-2", 7);
	script_fleet_start(&f, *state, true);
	fleet_wait_settled(f.fleet, clock_mono_ms(&clock_system) + LIMIT_MS);
	assert_true(has_finding(f.fleet, "test/a", FINDING_TOKEN_REGRESS));
	end(&f);
}

static void another_server_has_a_memory_of_its_own(void **state)
{
	struct script_fleet f = { .both = false };

	script_init(&f.script);
	hold(&f.script, 0, "a", "node-1", 50);
	script_fleet_start(&f, *state, true);
	fleet_wait_settled(f.fleet, clock_mono_ms(&clock_system) + LIMIT_MS);
	end(&f);

	f.script.server_id = 78;
	hold(&f.script, 0, "a", "node-2", 7);
	script_fleet_start(&f, *state, true);
	fleet_wait_settled(f.fleet, clock_mono_ms(&clock_system) + LIMIT_MS);
	assert_false(has_finding(f.fleet, "test/a", FINDING_TOKEN_REGRESS));
	end(&f);
}

/* The rows of the server before are not there; nobody let go of them. */
static void what_another_server_lacks_was_not_let_go(void **state)
{
	struct script_fleet f = { .both = false };

	(void)state;
	script_init(&f.script);
	hold(&f.script, 0, "a", "node-1", 50);
	script_fleet_start(&f, *state, false);
	wait_for_state(f.fleet, "test/a", STATE_HELD);
	pthread_mutex_lock(&f.script.mutex);
	f.script.server_id = 78;
	f.script.names[0] = "b";
	pthread_mutex_unlock(&f.script.mutex);
	wait_for_state(f.fleet, "test/b", STATE_HELD);
	assert_true(saw_event(f.fleet, "source", "another server answers under this name"));
	assert_false(saw_event(f.fleet, "released", "node-1"));
	end(&f);
}

static void paused_polls_no_more(void **state)
{
	struct script_fleet f = { .both = false };
	unsigned polls;

	(void)state;
	script_init(&f.script);
	hold(&f.script, 0, "a", "node-1", 5);
	script_fleet_start(&f, NULL, false);
	wait_for_polls(&f.script, 2);
	fleet_pause(f.fleet, true);
	poll(NULL, 0, 100); /* one poll may be under way */
	pthread_mutex_lock(&f.script.mutex);
	polls = f.script.polls;
	pthread_mutex_unlock(&f.script.mutex);
	poll(NULL, 0, 200);
	pthread_mutex_lock(&f.script.mutex);
	assert_int_equal(f.script.polls, polls);
	pthread_mutex_unlock(&f.script.mutex);
	fleet_pause(f.fleet, false);
	wait_for_polls(&f.script, 1);
	end(&f);
}

static void refused_credentials_are_not_hammered(void **state)
{
	struct script_fleet f = { .both = false };

	(void)state;
	script_init(&f.script);
	fail_with(&f.script, ERR_AUTH);
	script_fleet_start(&f, NULL, false);
	wait_for_source(f.fleet, SOURCE_FAILING);
	poll(NULL, 0, 1500);
	pthread_mutex_lock(&f.script.mutex);
	/* 250, 500, 1000 ms with a quarter off at most: no more than four in a second and a half.
	 */
	assert_in_range(f.script.polls, 1, 4);
	pthread_mutex_unlock(&f.script.mutex);
	end(&f);
}

static void two_writable_servers_of_one_origin_are_told(void **state)
{
	struct script_fleet f = { .both = true };
	struct board *board;

	(void)state;
	script_init(&f.script);
	script_init(&f.second);
	f.second.source = "other";
	f.second.timeline = 2;
	hold(&f.script, 0, "a", "node-1", 5);
	hold(&f.second, 0, "a", "node-2", 5);
	script_fleet_start(&f, NULL, true);
	fleet_wait_settled(f.fleet, clock_mono_ms(&clock_system) + LIMIT_MS);
	board = fleet_board(f.fleet);
	assert_int_equal(board->n_rows, 2);
	assert_non_null(board->cross[0]);
	assert_non_null(board->cross[1]);
	assert_int_equal(board->cross[0]->v.findings[0].code, FINDING_TWO_PRIMARIES);
	assert_int_equal(board->cross[1]->v.findings[0].severity, SEVERITY_CRIT);
	assert_int_equal(board->n_attention, 2);
	board_unref(board);
	end(&f);
}

static void a_lone_server_has_nothing_across(void **state)
{
	struct script_fleet f = { .both = true };
	struct board *board;

	(void)state;
	script_init(&f.script);
	script_init(&f.second);
	f.second.source = "other";
	f.second.server_id = 78;
	script_fleet_start(&f, NULL, true);
	fleet_wait_settled(f.fleet, clock_mono_ms(&clock_system) + LIMIT_MS);
	board = fleet_board(f.fleet);
	assert_null(board->cross[0]);
	assert_null(board->cross[1]);
	board_unref(board);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_standby_that_is_promoted),
		cmocka_unit_test(one_shot_makes_one_picture),
		cmocka_unit_test(a_failing_poll_keeps_the_last_picture),
		cmocka_unit_test(a_degraded_source_shows_its_rows),
		cmocka_unit_test(a_hung_poll_ends_when_we_stop),
		cmocka_unit_test(a_deaf_thread_is_left_behind),
		cmocka_unit_test(a_change_and_a_drop_reach_the_board),
		cmocka_unit_test(a_row_that_nobody_holds_keeps_its_kind_of_token),
		cmocka_unit_test(what_is_hidden_was_not_let_go),
		cmocka_unit_test(what_is_out_of_sight_was_not_deleted),
		cmocka_unit_test(runs_are_told_as_they_begin_and_end),
		cmocka_unit_test(a_lease_is_not_stale_while_its_source_fails),
		cmocka_unit_test(a_lock_without_a_name_does_not_stay),
		cmocka_unit_test(snapshots_that_were_taken_never_change),
		cmocka_unit_test_setup_teardown(
			the_memory_survives_a_restart, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(
			a_token_that_fell_between_two_runs_is_told, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(
			another_server_has_a_memory_of_its_own, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(
			what_another_server_lacks_was_not_let_go, make_folder, remove_folder),
		cmocka_unit_test(paused_polls_no_more),
		cmocka_unit_test(refused_credentials_are_not_hammered),
		cmocka_unit_test(two_writable_servers_of_one_origin_are_told),
		cmocka_unit_test(a_lone_server_has_nothing_across),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
