#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/zookeeper.h"
#include "tests/unit/sim/fixture.h"
#include "tests/unit/unit.h"

/* An ensemble of three, and processes that want one election. */
struct fixture {
	struct world *w; /* first */
	struct sim_zk *z;
	struct duty *duty;
	struct process *p[3];
	struct sim_zk_candidate *c[3];
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct machine *machines[SIM_MEMBERS];

	f->w = world_new(11, SIM_EPOCH_US);
	sim_members(f->w, "zk", machines);
	f->z = sim_zk_new(f->w, "zoo", machines, SIM_MEMBERS, NULL);
	f->duty = duty_new(f->w, "settle", NULL, 1000);
	*state = f;
	return 0;
}

static void add(struct fixture *f, int i, enum sim_zk_believes believes)
{
	struct sim_zk_campaign campaign = { .zk = f->z,
		.path = "/elections/job",
		.believes = believes,
		.duty = f->duty,
		.timeout_ms = 10000,
		.again_ms = 1000 };
	char name[32];

	snprintf(name, sizeof(name), "node-%c", 'a' + i);
	f->p[i] = process_new(f->w, name, machine_new(f->w, name), NULL);
	f->c[i] = sim_zk_candidate_new(f->p[i], &campaign);
	process_start(f->w, f->p[i]);
	world_run(f->w, world_now_ms(f->w) + 30);
}

static void run(struct fixture *f, int64_t for_ms)
{
	world_run(f->w, world_now_ms(f->w) + for_ms);
}

static struct sim_zk_node *head(struct fixture *f)
{
	return sim_zk_parent(f->z, "/elections/job")->first;
}

static void test_the_lowest_number_leads(void **state)
{
	struct fixture *f = *state;

	add(f, 0, SIM_ZK_BELIEVES_CONNECTED);
	add(f, 1, SIM_ZK_BELIEVES_CONNECTED);
	add(f, 2, SIM_ZK_BELIEVES_CONNECTED);
	assert_int_equal(f->c[0]->stage, SIM_ZK_LEADS);
	assert_int_equal(f->c[2]->stage, SIM_ZK_WAITING);
	/* Each watches the one before it, no more. */
	assert_int_equal(f->c[2]->awaited, f->c[1]->sequence);
	assert_string_equal(head(f)->name, "n_0000000000");
	assert_true(f->c[1]->czxid > f->c[0]->czxid);
	run(f, 600000);
	assert_int_equal(f->c[0]->stage, SIM_ZK_LEADS);
	process_end(f->w, f->p[1], PROCESS_END_STOPPED);
	run(f, 100);
	assert_int_equal(f->c[2]->stage, SIM_ZK_WAITING);
	assert_int_equal(f->c[2]->awaited, f->c[0]->sequence);
	process_end(f->w, f->p[0], PROCESS_END_STOPPED);
	run(f, 100);
	assert_int_equal(f->c[2]->stage, SIM_ZK_LEADS);
}

static void test_the_server_decides_when_a_session_is_over(void **state)
{
	struct fixture *f = *state;
	int64_t began;

	add(f, 0, SIM_ZK_BELIEVES_CONNECTED);
	add(f, 1, SIM_ZK_BELIEVES_CONNECTED);
	run(f, 20000);
	process_end(f->w, f->p[0], PROCESS_END_KILLED);
	began = world_now_ms(f->w);
	while (f->c[1]->stage != SIM_ZK_LEADS && world_now_ms(f->w) < began + 60000)
		world_step(f->w);
	/* A third of it may have passed; then up to the next tick but one. */
	assert_in_range(world_now_ms(f->w) - began, 6600, 14100);
}

static void test_a_timeout_is_negotiated(void **state)
{
	struct fixture *f = *state;

	add(f, 0, SIM_ZK_BELIEVES_CONNECTED);
	assert_int_equal(f->c[0]->timeout_ms, 10000);
	f->c[0]->asked_ms = 1000;
	process_end(f->w, f->p[0], PROCESS_END_STOPPED);
	process_start(f->w, f->p[0]);
	run(f, 100);
	assert_int_equal(f->c[0]->timeout_ms, SIM_ZK_TIMEOUT_LEAST_MS);
}

/* Who is cut off: the latch stops after two thirds, who trusts its session never hears. */
static void cut_off(struct fixture *f, enum sim_zk_believes believes, bool ret[2])
{
	add(f, 0, believes);
	add(f, 1, SIM_ZK_BELIEVES_CONNECTED);
	machine_isolate(f->w, f->p[0]->machine, true);
	run(f, 7500);
	ret[0] = duty_works(f->duty, f->p[0]);
	run(f, 10000);
	ret[1] = duty_works(f->duty, f->p[0]);
	assert_true(duty_works(f->duty, f->p[1]));
	machine_isolate(f->w, f->p[0]->machine, false);
	run(f, 5000);
	assert_false(duty_works(f->duty, f->p[0]));
	assert_int_equal(f->c[0]->stage, SIM_ZK_WAITING);
}

static void test_a_latch_stops_when_it_is_cut_off(void **state)
{
	bool works[2];

	cut_off(*state, SIM_ZK_BELIEVES_CONNECTED, works);
	assert_false(works[0] || works[1]);
}

static void test_a_careful_clock_stops_after_the_timeout(void **state)
{
	bool works[2];

	cut_off(*state, SIM_ZK_BELIEVES_LOCAL, works);
	assert_true(works[0] && !works[1]);
}

static void test_who_waits_to_be_told_works_on(void **state)
{
	bool works[2];

	cut_off(*state, SIM_ZK_BELIEVES_SESSION, works);
	assert_true(works[0] && works[1]);
}

static void test_without_a_quorum_no_session_expires(void **state)
{
	struct fixture *f = *state;
	int64_t session;

	add(f, 0, SIM_ZK_BELIEVES_CONNECTED);
	session = f->c[0]->session;
	sim_zk_out(f->w, f->z, 1, true);
	sim_zk_out(f->w, f->z, 2, true);
	run(f, 60000);
	assert_int_equal(f->z->leader, -1);
	assert_false(duty_works(f->duty, f->p[0]));
	assert_non_null(sim_zk_session(f->z, session));
	sim_zk_out(f->w, f->z, 1, false);
	run(f, 10000);
	/* The same session, with its znode. */
	assert_int_equal(f->c[0]->session, session);
	assert_int_equal(f->c[0]->stage, SIM_ZK_LEADS);
	assert_null(head(f)->next);
}

static void test_a_znode_without_a_session_blocks_for_ever(void **state)
{
	struct fixture *f = *state;
	struct sim_zk_node *node;

	node = sim_zk_create(
		f->w, f->z, sim_zk_parent(f->z, "/elections/job"), "by hand", NULL, NULL);
	add(f, 0, SIM_ZK_BELIEVES_CONNECTED);
	run(f, 600000);
	assert_int_equal(f->c[0]->stage, SIM_ZK_WAITING);
	sim_zk_delete(f->w, f->z, node, "by a test");
	run(f, 100);
	assert_int_equal(f->c[0]->stage, SIM_ZK_LEADS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, sim_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_the_lowest_number_leads),
		TEST(test_the_server_decides_when_a_session_is_over),
		TEST(test_a_timeout_is_negotiated),
		TEST(test_a_latch_stops_when_it_is_cut_off),
		TEST(test_a_careful_clock_stops_after_the_timeout),
		TEST(test_who_waits_to_be_told_works_on),
		TEST(test_without_a_quorum_no_session_expires),
		TEST(test_a_znode_without_a_session_blocks_for_ever),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
