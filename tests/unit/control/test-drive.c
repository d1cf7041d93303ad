#include "config.h"

#include "tests/unit/control/folder.h"
#include "tests/unit/unit.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/str.h"
#include "control/audit.h"
#include "control/drive.h"
#include "control/fleet.h"
#include "control/settings.h"
#include "source/sim-host.h"
#include "source/sim.h"

#include <poll.h>
#include <string.h>

static const char text[] =
	"world:\n"
	"  machines: [{name: app-1}, {name: app-2}, {name: ctl}, {name: db}]\n"
	"  etcd: [{name: control, members: [ctl]}]\n"
	"  postgres: [{name: orders, machine: db, database: app}]\n"
	"  processes:\n"
	"    - {name: a, machine: app-1, restart: 60s, runs: [{etcd-election: {server: control, "
	"name: e/x, ttl: 10s}}]}\n"
	"    - {name: b, machine: app-2, restart: 60s, start: 1s,\n"
	"       runs: [{etcd-election: {server: control, name: e/x, ttl: 10s}}]}\n"
	"    - {name: c, machine: app-1, restart: 3s, runs: [{pg-lock: {server: orders, key: "
	"42}}]}\n"
	"sources:\n"
	"  - {name: control, shows: {etcd: control}, environment: prod}\n"
	"  - {name: orders, shows: {postgres: orders}, environment: prod}\n"
	"  - {name: fleet, shows: {fleet: all}, environment: prod}\n"
	"faults: [{at: 20s, crash: {process: c}, every: 30s, vary: 20}]\n";

struct driven {
	struct scenario *scenario;
	struct drive *drive;
};

static struct driven begin(const char *folder, uint64_t seed)
{
	struct scenario_options options = { .has_seed = true, .seed = seed };
	struct driven d = { NULL, NULL };
	struct err err = { 0 };

	if (scenario_parse(text, strlen(text), "t.yaml", &options, &d.scenario, &err))
		fail_msg("%s", err.text);
	d.drive = drive_new(d.scenario, &(struct drive_options){ .state_dir = folder });
	return d;
}

static void end(struct driven *d)
{
	drive_free(d->drive);
	scenario_free(d->scenario);
}

/* Who holds it; "" when nobody does or it is not there. */
static const char *holder_of(const struct board *board, const char *id)
{
	const struct row *row = board_find(board, id, NULL);
	const struct claim *c = row ? singleton_holder(row->s) : NULL;

	return c ? claim_identity(c) : "";
}

static void add_board(struct str *out, const struct board *board)
{
	size_t i, k, n;

	for (i = 0; i < board->n_snapshots; i++)
		for (k = 0; k < board->snapshots[i]->n_rows; k++) {
			const struct row *row = snapshot_row(board->snapshots[i], k);

			str_addf(out, "%s %d %lld\n", row->s->id, (int)row->v.state,
				(long long)row->s->token);
			for (n = 0; n < row->s->n_claims; n++)
				str_addf(out, " %s %s\n", claim_key(&row->s->claims[n]),
					claim_identity(&row->s->claims[n]));
		}
}

/* Everything that shows, of two minutes with an act in between. */
static char *story(const char *folder, uint64_t seed)
{
	struct driven d = begin(folder, seed);
	struct gate_want want = { .verb = VERB_STEP_DOWN, .id = "control/e/x", .expect = "a" };
	struct str out;
	int i;

	str_init(&out, 1024 * 1024);
	for (i = 1; i <= 12; i++) {
		struct board *board;

		drive_to(d.drive, i * 10000);
		if (i == 6) {
			struct gate_view *view = drive_act(d.drive, &want, "a test");

			str_addf(&out, "%d %s %lld\n", (int)view->outcome, view->text,
				(long long)drive_now_ms(d.drive));
			gate_view_free(view);
		}
		board = drive_board(d.drive);
		add_board(&out, board);
		board_unref(board);
	}
	end(&d);
	return str_take(&out);
}

static void two_runs_tell_the_same_and_another_seed_another_thing(void **state)
{
	char *one = story(*state, 5), *two = story(*state, 5), *other = story(*state, 6);

	assert_true(strlen(one) > 1000);
	assert_string_equal(one, two);
	assert_string_not_equal(one, other);
	free(one);
	free(two);
	free(other);
}

static void it_polls_when_something_changed(void **state)
{
	struct driven d = begin(*state, 1);
	struct board *board;

	drive_to(d.drive, 2000);
	board = drive_board(d.drive);
	assert_string_equal(holder_of(board, "control/e/x"), "a");
	assert_string_equal(holder_of(board, "fleet/process/c"), "c");
	board_unref(board);
	/* The crash comes at 20 s: seen at the next look, long before the next poll. */
	drive_to(d.drive, 20000 + DRIVE_NEWS_MS);
	board = drive_board(d.drive);
	assert_string_equal(holder_of(board, "fleet/process/c"), "");
	board_unref(board);
	end(&d);
}

static void an_act_passes_the_gate_in_the_worlds_time(void **state)
{
	struct driven d = begin(*state, 1);
	struct gate_want want = { .verb = VERB_STEP_DOWN, .id = "control/e/x", .expect = "a" };
	struct gate_view *view;
	struct board *board;

	drive_to(d.drive, 5000);
	view = drive_act(d.drive, &want, "maintenance");
	assert_int_equal(view->outcome, GATE_DONE);
	gate_view_free(view);
	/* It lingered for the old holder's end, by the world's clock. */
	assert_true(drive_now_ms(d.drive) > 5000 && drive_now_ms(d.drive) < 16000);
	board = drive_board(d.drive);
	assert_string_equal(holder_of(board, "control/e/x"), "b");
	board_unref(board);
	/* The guard: it is not a's any more. */
	view = drive_act(d.drive, &want, "again");
	assert_int_not_equal(view->outcome, GATE_DONE);
	gate_view_free(view);
	end(&d);
}

static void a_forecast_does_nothing(void **state)
{
	struct driven d = begin(*state, 1);
	struct gate_want want = { .verb = VERB_STEP_DOWN, .id = "control/e/x" };
	struct gate_view *view;
	struct board *board;

	drive_to(d.drive, 5000);
	view = drive_act(d.drive, &want, NULL);
	assert_non_null(view->items[0].forecast);
	assert_non_null(view->items[0].forecast->request);
	gate_view_free(view);
	drive_to(d.drive, 9000);
	board = drive_board(d.drive);
	assert_string_equal(holder_of(board, "control/e/x"), "a");
	board_unref(board);
	end(&d);
}

static enum gate_outcome act(struct driven *d, enum verb verb, const char *id, const char *expect)
{
	struct gate_want want = { .verb = verb, .id = id, .expect = expect };
	struct gate_view *view = drive_act(d->drive, &want, "a test");
	enum gate_outcome outcome = view->outcome;

	gate_view_free(view);
	return outcome;
}

static void what_is_behind_a_row_can_be_broken(void **state)
{
	struct driven d = begin(*state, 1);
	struct world *w;

	drive_to(d.drive, 5000);
	assert_int_equal(act(&d, VERB_KILL_CONNECTION, "control/e/x", "a"), GATE_REFUSED);
	assert_int_equal(act(&d, VERB_PAUSE, "control/e/x", "a"), GATE_DONE);
	w = sim_host_enter(d.scenario->host);
	assert_int_equal(process_find(w, "a")->state, PROCESS_PAUSED);
	sim_host_leave(d.scenario->host);
	assert_int_equal(act(&d, VERB_CRASH, "control/e/x", "a"), GATE_DONE);
	w = sim_host_enter(d.scenario->host);
	assert_int_equal(process_find(w, "a")->state, PROCESS_CRASHED);
	sim_host_leave(d.scenario->host);
	/* It does not run any more: nothing can be broken of it. */
	assert_int_equal(act(&d, VERB_CRASH, "control/e/x", "a"), GATE_REFUSED);
	assert_int_equal(act(&d, VERB_PARTITION, "orders/app:42", "c"), GATE_DONE);
	w = sim_host_enter(d.scenario->host);
	assert_true(machine_find(w, "app-1")->isolated);
	sim_host_leave(d.scenario->host);
	drive_to(d.drive, drive_now_ms(d.drive) + 31000);
	w = sim_host_enter(d.scenario->host);
	assert_false(machine_find(w, "app-1")->isolated);
	sim_host_leave(d.scenario->host);
	end(&d);
}

/* The session ends, and the process, which lives, comes back with another. */
static void a_connection_can_be_cut(void **state)
{
	struct driven d = begin(*state, 1);
	struct world *w;

	drive_to(d.drive, 5000);
	assert_int_equal(act(&d, VERB_KILL_CONNECTION, "orders/app:42", "c"), GATE_DONE);
	assert_int_equal(act(&d, VERB_KILL_CONNECTION, "orders/app:42", "c"), GATE_CHANGED);
	w = sim_host_enter(d.scenario->host);
	assert_int_equal(process_find(w, "c")->life, 1);
	sim_host_leave(d.scenario->host);
	drive_to(d.drive, 18000);
	assert_int_equal(act(&d, VERB_KILL_CONNECTION, "orders/app:42", "c"), GATE_DONE);
	end(&d);
}

static void the_fleet_has_means_of_its_own(void **state)
{
	struct driven d = begin(*state, 1);
	struct world *w;

	drive_to(d.drive, 5000);
	assert_int_equal(act(&d, VERB_ASK, "fleet/process/a", NULL), GATE_DONE);
	assert_int_equal(act(&d, VERB_STOP, "fleet/process/a", NULL), GATE_DONE);
	assert_int_equal(act(&d, VERB_STOP, "fleet/process/a", NULL), GATE_REFUSED);
	assert_int_equal(act(&d, VERB_START, "fleet/process/a", NULL), GATE_DONE);
	assert_int_equal(act(&d, VERB_ISOLATE, "fleet/machine/app-2", NULL), GATE_DONE);
	assert_int_equal(act(&d, VERB_REJOIN, "fleet/machine/app-2", NULL), GATE_DONE);
	assert_int_equal(act(&d, VERB_FENCE, "fleet/machine/app-2", NULL), GATE_DONE);
	w = sim_host_enter(d.scenario->host);
	assert_false(machine_find(w, "app-2")->up);
	assert_false(process_lives(process_find(w, "b")));
	sim_host_leave(d.scenario->host);
	/* Neither is a verb of a process. */
	assert_int_equal(act(&d, VERB_FENCE, "fleet/process/a", NULL), GATE_REFUSED);
	assert_int_equal(act(&d, VERB_STEP_DOWN, "fleet/process/a", "a"), GATE_REFUSED);
	end(&d);
}

static void its_audit_is_one_of_its_own(void **state)
{
	struct driven d = begin(*state, 1);
	struct str path, line;
	struct audit real;
	struct err err = { 0 };

	drive_to(d.drive, 5000);
	assert_int_equal(act(&d, VERB_STOP, "fleet/process/a", NULL), GATE_DONE);
	end(&d);
	str_init(&path, 1000);
	str_init(&line, 1024 * 1024);
	str_addf(&path, "%s/sim/audit.jsonl", (const char *)*state);
	assert_int_equal(fs_read(path.s, &line, &err), 0);
	assert_non_null(strstr(line.s, "\"sim\":true"));
	audit_init(&real, *state);
	str_clear(&path);
	str_addf(&path, "%s/audit.jsonl", real.folder);
	str_clear(&line);
	assert_int_equal(fs_read(path.s, &line, &err), ERR_NOTFOUND);
	audit_release(&real);
	str_release(&path);
	str_release(&line);
}

/* The same with threads, fast, and stopped and stepped meanwhile: nothing is torn. */
static void threads_see_one_world(void **state)
{
	struct scenario_options options = { .has_seed = false };
	struct fleet_options with = { .state_dir = *state, .sim = true };
	struct scenario *s = NULL;
	struct err err = { 0 };
	struct fleet *fleet;
	struct board *board;
	int i;

	assert_int_equal(scenario_parse(text, strlen(text), "t.yaml", &options, &s, &err), 0);
	with.clock = sim_host_clock(s->host);
	fleet = fleet_new(s->settings, &with);
	vclock_speed(sim_host_vclock(s->host), 50 * 1000);
	fleet_start(fleet);
	assert_true(fleet_wait_settled(fleet, clock_mono_ms(&clock_system) + 10000));
	for (i = 0; i < 10; i++) {
		struct gate_want want = { .verb = VERB_CRASH, .id = "orders/app:42" };
		struct gate_options agreed = { .way = GATE_WAY_COMMAND, .agreed = "a test" };
		struct gate *gate;

		board = fleet_board(fleet);
		gate = gate_begin(fleet, board, &want, 1, &agreed);
		vclock_pause(sim_host_vclock(s->host), i % 3 == 2);
		vclock_set(sim_host_vclock(s->host), sim_host_story_ms(s->host, 60000));
		fleet_poll_now(fleet, NULL);
		poll(NULL, 0, 20);
		vclock_pause(sim_host_vclock(s->host), false);
		board_unref(board);
		gate_close(gate);
	}
	assert_true(fleet_stop(fleet, 5000));
	board = fleet_board(fleet);
	assert_string_not_equal(holder_of(board, "control/e/x"), "");
	board_unref(board);
	fleet_free(fleet);
	scenario_free(s);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(two_runs_tell_the_same_and_another_seed_another_thing),
		TEST(it_polls_when_something_changed),
		TEST(an_act_passes_the_gate_in_the_worlds_time),
		TEST(a_forecast_does_nothing),
		TEST(what_is_behind_a_row_can_be_broken),
		TEST(a_connection_can_be_cut),
		TEST(the_fleet_has_means_of_its_own),
		TEST(its_audit_is_one_of_its_own),
		TEST(threads_see_one_world),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
