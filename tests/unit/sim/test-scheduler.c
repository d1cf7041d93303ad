#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "sim/scheduler.h"
#include "tests/unit/sim/fixture.h"
#include "tests/unit/unit.h"

/* A scheduler of DAGs against Airflow's documentation: "DAG Runs" (catchup, max_active_runs),
 * "Tasks" (zombie tasks). */
struct fixture {
	struct world *w; /* first */
	struct sim_scheduler *s;
	struct sim_dag *dag;
	struct duty *duty;
	struct process *p[2];
	struct sim_worker *k[2];
	int64_t now;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	static const char *const names[] = { "worker-1", "worker-2" };
	struct cron cron;
	struct err err;
	int i;

	f->w = world_new(7, SIM_EPOCH_US);
	f->s = sim_scheduler_new(f->w, "af", machine_new(f->w, "s-1"));
	process_start(f->w, f->s->process);
	assert_int_equal(cron_parse("* * * * *", &cron, &err), 0);
	f->dag = sim_dag_new(f->w, f->s, "close", &cron, "* * * * *");
	f->dag->takes_ms = 40000;
	f->dag->max_active_runs = 1;
	f->duty = f->dag->duty = duty_new(f->w, "close", NULL, 1000);
	for (i = 0; i < 2; i++) {
		f->p[i] = process_new(f->w, names[i], machine_new(f->w, names[i]), NULL);
		f->k[i] = sim_worker_new(f->p[i]);
		f->k[i]->scheduler = f->s;
		process_start(f->w, f->p[i]);
	}
	*state = f;
	return 0;
}

static void run_to(struct fixture *f, int64_t ms)
{
	f->now = ms;
	world_run(f->w, ms);
}

static void each_slot_gets_its_run(void **state)
{
	struct fixture *f = *state;
	size_t i;

	run_to(f, 10 * 60000 + 50000);
	assert_int_equal(f->dag->n_runs, 10);
	for (i = 0; i < 10; i++)
		assert_int_equal(f->dag->runs[i].state, SIM_DAG_SUCCESS);
	assert_int_equal(f->dag->missed, 0);
	assert_int_equal(f->duty->overlap_ms, 0);
	assert_string_equal(f->dag->runs[9].id, "scheduled__2026-03-03T03:13:00+00:00");
}

static void what_takes_too_long_makes_slots_pass(void **state)
{
	struct fixture *f = *state;

	f->dag->takes_ms = 150000;
	run_to(f, 10 * 60000);
	assert_true(f->dag->n_runs <= 4);
	assert_true(f->dag->missed >= 4);
}

static void with_catchup_no_slot_is_lost(void **state)
{
	struct fixture *f = *state;

	f->dag->takes_ms = 150000;
	f->dag->catchup = true;
	run_to(f, 5 * 60000);
	f->dag->takes_ms = 5000;
	run_to(f, 20 * 60000 + 30000);
	assert_int_equal(f->dag->missed, 0);
	assert_int_equal(f->dag->n_runs, 20);
}

static void more_active_runs_overlap(void **state)
{
	struct fixture *f = *state;

	f->dag->takes_ms = 100000;
	f->dag->max_active_runs = 2;
	run_to(f, 4 * 60000);
	duty_count(f->w, f->duty);
	assert_true(f->duty->overlap_ms > 30000);
}

static void a_zombie_works_on_beside_the_next_run(void **state)
{
	struct fixture *f = *state;
	struct process *zombie;

	f->dag->takes_ms = 600000;
	f->s->zombie_ms = 60000;
	run_to(f, 70000);
	zombie = f->dag->runs[0].worker;
	assert_non_null(zombie);
	machine_isolate(f->w, zombie->machine, true);
	run_to(f, 180000);
	assert_int_equal(f->dag->n_runs, 2);
	assert_int_equal(f->dag->runs[1].state, SIM_DAG_FAILED);
	assert_int_equal(f->dag->runs[0].state, SIM_DAG_RUNNING);
	assert_true(duty_works(f->duty, zombie));
	assert_int_equal(f->duty->at_work, 2);
	/* Heard again, it is told that its run is over, and ends. */
	machine_isolate(f->w, zombie->machine, false);
	run_to(f, 190000);
	assert_false(duty_works(f->duty, zombie));
}

static void a_paused_dag_makes_no_run_but_by_hand(void **state)
{
	struct fixture *f = *state;

	sim_dag_pause(f->w, f->s, f->dag, true);
	run_to(f, 5 * 60000);
	assert_int_equal(f->dag->n_runs, 0);
	sim_dag_trigger(f->w, f->s, f->dag);
	sim_dag_pause(f->w, f->s, f->dag, false);
	run_to(f, 5 * 60000 + 20000);
	assert_true(f->dag->runs[f->dag->n_runs - 1].manual);
	assert_int_equal(f->dag->runs[f->dag->n_runs - 1].state, SIM_DAG_RUNNING);
}

static void a_run_that_is_marked_as_failed_ends_with_the_next_heartbeat(void **state)
{
	struct fixture *f = *state;
	struct process *worker;

	run_to(f, 75000);
	worker = f->dag->runs[0].worker;
	sim_dag_fail(f->w, f->s, f->dag, &f->dag->runs[0]);
	assert_true(duty_works(f->duty, worker));
	run_to(f, 82000);
	assert_false(duty_works(f->duty, worker));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_slot_gets_its_run, setup, sim_teardown),
		cmocka_unit_test_setup_teardown(
			what_takes_too_long_makes_slots_pass, setup, sim_teardown),
		cmocka_unit_test_setup_teardown(with_catchup_no_slot_is_lost, setup, sim_teardown),
		cmocka_unit_test_setup_teardown(more_active_runs_overlap, setup, sim_teardown),
		cmocka_unit_test_setup_teardown(
			a_zombie_works_on_beside_the_next_run, setup, sim_teardown),
		cmocka_unit_test_setup_teardown(
			a_paused_dag_makes_no_run_but_by_hand, setup, sim_teardown),
		cmocka_unit_test_setup_teardown(
			a_run_that_is_marked_as_failed_ends_with_the_next_heartbeat, setup,
			sim_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
