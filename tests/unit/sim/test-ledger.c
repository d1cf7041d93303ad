#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/ledger.h"
#include "tests/unit/sim/fixture.h"
#include "tests/unit/unit.h"

/* Leases in a row and ledgers of runs: what UPDATE ... WHERE and INSERT ... ON CONFLICT DO NOTHING
 * let through (PostgreSQL's manual, UPDATE, INSERT, and "Read Committed Isolation Level"). */
struct fixture {
	struct world *w; /* first */
	struct simpg_server *s, *standby;
	struct sim_ledger *l, *copy;
	struct duty *duty;
	struct resource *mail;
	struct process *p[3];
	struct machine *m[3];
	int64_t now;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	static const char *const names[] = { "a", "b", "c" };
	int i;

	f->w = world_new(7, SIM_EPOCH_US);
	f->s = simpg_new(f->w, "db", machine_new(f->w, "db-1"));
	f->standby = simpg_new(f->w, "db2", machine_new(f->w, "db-2"));
	f->standby->primary = f->s;
	f->standby->in_recovery = true;
	process_start(f->w, f->s->process);
	process_start(f->w, f->standby->process);
	f->l = sim_ledger_new(f->w, "jobs", f->s, NULL);
	f->copy = sim_ledger_new(f->w, "jobs-2", f->standby, f->l);
	f->duty = duty_new(f->w, "settle", NULL, 1000);
	f->mail = resource_new(f->w, "mail", RESOURCE_UNFENCED);
	for (i = 0; i < 3; i++) {
		f->m[i] = machine_new(f->w, names[i]);
		f->p[i] = process_new(f->w, names[i], f->m[i], NULL);
	}
	*state = f;
	return 0;
}

static void run(struct fixture *f, int64_t ms)
{
	f->now += ms;
	world_run(f->w, f->now);
}

static struct sim_leaser *lease(struct fixture *f, int i, bool own_clock)
{
	struct sim_leaser *s = sim_leaser_new(f->p[i]);

	s->ledgers[0] = f->l;
	s->n_ledgers = 1;
	snprintf(s->lease, sizeof(s->lease), "billing");
	s->duty = f->duty;
	s->ttl_ms = 30000;
	s->every_ms = 10000;
	s->own_clock = own_clock;
	process_start(f->w, f->p[i]);
	run(f, 100);
	return s;
}

static void a_row_is_one_owners_until_its_time_is_over(void **state)
{
	struct fixture *f = *state;
	struct sim_leaser *a = lease(f, 0, false), *b = lease(f, 1, false);

	assert_true(a->leads && !b->leads);
	assert_int_equal(a->token, 1);
	run(f, 60000);
	assert_true(a->leads && !b->leads);
	process_end(f->w, f->p[0], PROCESS_END_KILLED);
	run(f, 15000);
	assert_false(b->leads);
	run(f, 25000);
	assert_true(b->leads);
	assert_int_equal(b->token, 2);
	assert_int_equal(f->duty->overlap_ms, 0);
}

static void a_paused_owner_stops_by_its_own_clock(void **state)
{
	struct fixture *f = *state;
	struct sim_leaser *a = lease(f, 0, false), *b = lease(f, 1, false);

	process_pause(f->w, f->p[0], 60000);
	run(f, 45000);
	assert_true(b->leads);
	run(f, 20000);
	assert_false(a->leads);
	assert_true(duty_works(f->duty, f->p[1]));
	assert_false(duty_works(f->duty, f->p[0]));
}

static void a_clock_that_is_ahead_steals_the_row(void **state)
{
	struct fixture *f = *state;
	struct sim_leaser *a = lease(f, 0, true), *b;

	machine_skew(f->w, f->m[1], 90000);
	b = lease(f, 1, true);
	assert_true(b->leads);
	assert_true(duty_works(f->duty, f->p[0]) && duty_works(f->duty, f->p[1]));
	run(f, 15000);
	assert_false(a->leads);
	duty_count(f->w, f->duty);
	assert_in_range(f->duty->overlap_ms, 9000, 11000);
}

static void clearing_it_compares_owner_and_token(void **state)
{
	struct fixture *f = *state;

	lease(f, 0, false);
	assert_false(sim_lease_clear(f->w, f->l, "billing", "b", 1));
	assert_false(sim_lease_clear(f->w, f->l, "billing", "a", 2));
	assert_true(sim_lease_clear(f->w, f->l, "billing", "a", 1));
	assert_string_equal(sim_lease_row(f->l, "billing")->owner, "");
}

/* Asynchronous replication: "there is a delay ... during which the standby does not have it". */
static void a_promotion_loses_what_had_not_come_through(void **state)
{
	struct fixture *f = *state;

	lease(f, 0, false);
	run(f, 60000);
	process_end(f->w, f->p[0], PROCESS_END_KILLED);
	f->standby->lag_ms = 40000;
	lease(f, 1, false);
	run(f, 45000);
	assert_string_equal(sim_lease_row(f->l, "billing")->owner, "b");
	assert_int_equal(sim_lease_row(f->l, "billing")->token, 2);
	simpg_promote(f->w, f->standby);
	sim_ledger_look(f->w, f->copy);
	assert_string_equal(sim_lease_row(f->copy, "billing")->owner, "a");
	assert_int_equal(sim_lease_row(f->copy, "billing")->token, 1);
}

static struct sim_runner *runner(struct fixture *f, int i, bool records)
{
	struct sim_runner *r = sim_runner_new(f->p[i]);

	r->ledgers[0] = f->l;
	r->n_ledgers = 1;
	snprintf(r->job, sizeof(r->job), "close");
	r->every_ms = 60000;
	r->takes_ms = 10000;
	r->records = records;
	r->resource = f->mail;
	process_start(f->w, f->p[i]);
	return r;
}

static void one_does_each_slot_whatever_the_clocks_say(void **state)
{
	struct fixture *f = *state;
	struct sim_job *job;
	int i;

	machine_skew(f->w, f->m[1], 90000);
	for (i = 0; i < 3; i++)
		runner(f, i, true);
	run(f, 10 * 60000);
	job = sim_ledger_job(f->l, "close");
	assert_int_equal(f->mail->doubles, 0);
	assert_int_equal(f->mail->writes, job->n_runs);
	assert_in_range(job->n_runs, 10, 12);
	assert_true(job->refused > 15);
	for (i = 1; (size_t)i < job->n_runs; i++)
		assert_true(job->runs[i - 1].slot_us > job->runs[i].slot_us);
}

static void without_it_everybody_does_every_slot(void **state)
{
	struct fixture *f = *state;

	runner(f, 0, false);
	runner(f, 1, false);
	run(f, 5 * 60000 + 1000);
	assert_int_equal(f->mail->writes, 10);
	assert_int_equal(f->mail->doubles, 5);
}

static void who_dies_at_it_leaves_the_slot_undone(void **state)
{
	struct fixture *f = *state;
	struct sim_job *job;

	runner(f, 0, true);
	runner(f, 1, true);
	run(f, 61000);
	job = sim_ledger_job(f->l, "close");
	process_end(f->w, job->runs[0].process, PROCESS_END_KILLED);
	run(f, 120000);
	assert_int_equal(job->runs[job->n_runs - 1].end_us, 0);
	assert_true(job->runs[0].end_us || job->runs[1].end_us);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_row_is_one_owners_until_its_time_is_over, setup, sim_teardown),
		cmocka_unit_test_setup_teardown(
			a_paused_owner_stops_by_its_own_clock, setup, sim_teardown),
		cmocka_unit_test_setup_teardown(
			a_clock_that_is_ahead_steals_the_row, setup, sim_teardown),
		cmocka_unit_test_setup_teardown(
			clearing_it_compares_owner_and_token, setup, sim_teardown),
		cmocka_unit_test_setup_teardown(
			a_promotion_loses_what_had_not_come_through, setup, sim_teardown),
		cmocka_unit_test_setup_teardown(
			one_does_each_slot_whatever_the_clocks_say, setup, sim_teardown),
		cmocka_unit_test_setup_teardown(
			without_it_everybody_does_every_slot, setup, sim_teardown),
		cmocka_unit_test_setup_teardown(
			who_dies_at_it_leaves_the_slot_undone, setup, sim_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
