#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/postgres-recipe.h"
#include "tests/unit/sim/fixture.h"
#include "tests/unit/unit.h"

/*
 * The simulated PostgreSQL against what PostgreSQL's manual says: chapters 13.3 "Explicit Locking",
 * 54.12 "pg_locks", 9.28 "System Administration Functions", PREPARE TRANSACTION, 27 "High
 * Availability".
 */
enum {
	CLIENTS = 6,
	NO_ANSWER_YET = -1
};

/* A client that says what a test tells it to, and keeps the last answer. */
struct hand {
	struct simpg_client client; /* first */
	struct program program;
	int error;
	int64_t value;
};

struct fixture {
	struct world *w; /* first */
	struct simpg_server *s;
	struct hand *hands[CLIENTS];
	int64_t now;
};

static void hand_done(
	struct world *w, struct simpg_client *c, enum simpg_op op, int error, int64_t value)
{
	struct hand *h = (struct hand *)c;

	(void)w;
	(void)op;
	h->error = error;
	h->value = value;
}

static void nothing(struct world *w, struct program *g)
{
	(void)w;
	(void)g;
}

static struct hand *hand_of(struct program *g)
{
	return (struct hand *)((char *)g - offsetof(struct hand, program));
}

static void hand_ended(struct world *w, struct program *g, enum process_end how)
{
	simpg_client_ended(w, &hand_of(g)->client, how);
}

static void hand_free(struct program *g)
{
	free(hand_of(g));
}

static const struct program_ops hand_ops = {
	.word = "hand", .start = nothing, .ended = hand_ended, .free = hand_free
};

static struct hand *hand_new(struct fixture *f, int i)
{
	struct hand *h = calloc(1, sizeof(*h));
	char name[32];

	snprintf(name, sizeof(name), "node-%d", i);
	h->client.process = process_new(f->w, name, machine_new(f->w, name), NULL);
	snprintf(h->client.login.user, SIMPG_NAME_MAX, "app");
	snprintf(h->client.login.database, SIMPG_NAME_MAX, "app");
	snprintf(h->client.login.application, SIMPG_NAME_MAX, "%s", name);
	h->client.servers[0] = f->s;
	h->client.n_servers = 1;
	h->client.done = hand_done;
	process_program(h->client.process, &h->program, &hand_ops);
	process_start(f->w, h->client.process);
	return h;
}

static void run(struct fixture *f, int64_t ms)
{
	f->now += ms;
	world_run(f->w, f->now);
}

static void connect_all(struct fixture *f)
{
	int i;

	for (i = 0; i < CLIENTS; i++) {
		f->hands[i] = hand_new(f, i);
		simpg_client_connect(f->w, &f->hands[i]->client);
	}
	run(f, 10);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->w = world_new(7, SIM_EPOCH_US);
	f->s = simpg_new(f->w, "orders-db", machine_new(f->w, "db-1"));
	simpg_database(f->s, "app");
	process_start(f->w, f->s->process);
	connect_all(f);
	*state = f;
	return 0;
}

/* Asks, and lets 10 ms pass. */
static int64_t say(struct fixture *f, int i, enum simpg_op op, int64_t key, int flags)
{
	f->hands[i]->value = NO_ANSWER_YET;
	f->hands[i]->error = NO_ANSWER_YET;
	simpg_client_ask(f->w, &f->hands[i]->client, op, key, flags, NULL, INT32_MAX);
	run(f, 10);
	return f->hands[i]->value;
}

static bool answered(const struct fixture *f, int i)
{
	return f->hands[i]->error == SIMPG_OK;
}

static struct simpg_session *session(const struct fixture *f, int i)
{
	return simpg_session(f->s, f->hands[i]->client.pid);
}

/* 13.3.5: a lock is held until it is let go or the session ends; waiters are served in their order.
 */
static void a_queue_is_served_in_its_order(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(say(f, 0, SIMPG_LOCK, 42, 0), 1);
	say(f, 1, SIMPG_LOCK, 42, 0);
	say(f, 2, SIMPG_LOCK, 42, 0);
	assert_false(answered(f, 1));
	assert_int_equal(session(f, 1)->state, SIMPG_ACTIVE);
	assert_true(session(f, 1)->wait_us < session(f, 2)->wait_us);
	assert_int_equal(say(f, 0, SIMPG_UNLOCK, 42, 0), 1);
	assert_true(answered(f, 1));
	assert_false(answered(f, 2));
	process_end(f->w, f->hands[1]->client.process, PROCESS_END_KILLED);
	run(f, 10);
	assert_true(answered(f, 2));
}

/* 13.3.5: "multiple lock requests stack"; unlocking more often than locking answers false. */
static void requests_stack(void **state)
{
	struct fixture *f = *state;

	say(f, 0, SIMPG_LOCK, 42, 0);
	say(f, 0, SIMPG_LOCK, 42, 0);
	assert_int_equal(say(f, 0, SIMPG_UNLOCK, 42, 0), 1);
	assert_int_equal(say(f, 1, SIMPG_TRY, 42, 0), 0);
	assert_int_equal(say(f, 0, SIMPG_UNLOCK, 42, 0), 1);
	assert_int_equal(say(f, 0, SIMPG_UNLOCK, 42, 0), 0);
	assert_int_equal(say(f, 1, SIMPG_TRY, 42, 0), 1);
	assert_int_equal(say(f, 2, SIMPG_UNLOCK, 42, 0), 0);
}

static void share_goes_with_share_and_waits_behind_exclusive(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(say(f, 0, SIMPG_LOCK, 42, SIMPG_FLAG_SHARE), 1);
	assert_int_equal(say(f, 1, SIMPG_LOCK, 42, SIMPG_FLAG_SHARE), 1);
	say(f, 2, SIMPG_LOCK, 42, 0);
	assert_false(answered(f, 2));
	/* lock.c: a request that conflicts with one that waits queues behind it */
	say(f, 3, SIMPG_LOCK, 42, SIMPG_FLAG_SHARE);
	assert_false(answered(f, 3));
	assert_int_equal(say(f, 4, SIMPG_TRY, 42, SIMPG_FLAG_SHARE), 0);
	say(f, 0, SIMPG_UNLOCK, 42, SIMPG_FLAG_SHARE);
	assert_false(answered(f, 2));
	say(f, 1, SIMPG_UNLOCK, 42, SIMPG_FLAG_SHARE);
	assert_true(answered(f, 2));
	assert_false(answered(f, 3));
	say(f, 2, SIMPG_UNLOCK, 42, 0);
	assert_true(answered(f, 3));
}

static void the_two_key_spaces_do_not_meet(void **state)
{
	struct fixture *f = *state;
	struct simpg_key pair = simpg_pair(0, 7, -9);
	int64_t key = (int64_t)((uint64_t)pair.classid << 32 | pair.objid);
	char text[SIMPG_KEY_TEXT];

	assert_int_equal(say(f, 0, SIMPG_LOCK, key, SIMPG_FLAG_PAIR), 1);
	assert_int_equal(say(f, 1, SIMPG_TRY, key, 0), 1);
	assert_int_equal(say(f, 2, SIMPG_TRY, key, SIMPG_FLAG_PAIR), 0);
	simpg_key_write(text, &pair);
	assert_string_equal(text, "(7,-9)");
	assert_true(simpg_key_read("(7,-9)", 0, &pair));
	assert_false(simpg_key_read("seven", 0, &pair));
}

static void a_transactions_lock_goes_with_it(void **state)
{
	struct fixture *f = *state;

	say(f, 0, SIMPG_BEGIN, 0, 0);
	say(f, 0, SIMPG_LOCK, 42, SIMPG_FLAG_TRANSACTION);
	assert_int_equal(session(f, 0)->state, SIMPG_IN_TRANSACTION);
	/* "there is no provision for manual release" */
	assert_int_equal(say(f, 0, SIMPG_UNLOCK, 42, 0), 0);
	assert_int_equal(say(f, 1, SIMPG_TRY, 42, 0), 0);
	say(f, 0, SIMPG_COMMIT, 0, 0);
	assert_int_equal(session(f, 0)->state, SIMPG_IDLE);
	assert_int_equal(say(f, 1, SIMPG_TRY, 42, 0), 1);
}

/* 13.3.4 "Deadlocks": found after deadlock_timeout, one of them ends with an error. */
static void a_deadlock_is_broken(void **state)
{
	struct fixture *f = *state;

	say(f, 0, SIMPG_LOCK, 1, 0);
	say(f, 1, SIMPG_LOCK, 2, 0);
	say(f, 0, SIMPG_LOCK, 2, 0);
	say(f, 1, SIMPG_LOCK, 1, 0);
	assert_int_equal(f->hands[0]->error, NO_ANSWER_YET);
	run(f, 1100);
	/* whose deadlock_timeout is over first sees the cycle; its session's locks stay */
	assert_int_equal(f->hands[0]->error, SIMPG_DEADLOCKED);
	assert_false(answered(f, 1));
	say(f, 0, SIMPG_UNLOCK, 1, 0);
	assert_true(answered(f, 1));
}

/* 9.28.2: pg_terminate_backend, pg_cancel_backend; the client learns of it when it next asks. */
static void a_session_is_terminated_a_statement_is_cancelled(void **state)
{
	struct fixture *f = *state;

	say(f, 0, SIMPG_LOCK, 42, 0);
	say(f, 1, SIMPG_LOCK, 42, 0);
	say(f, 2, SIMPG_LOCK, 42, 0);
	simpg_cancel(f->w, session(f, 1));
	run(f, 10);
	assert_int_equal(f->hands[1]->error, SIMPG_CANCELED);
	simpg_cancel(f->w, session(f, 0)); /* idle: nothing */
	assert_int_equal(session(f, 0)->state, SIMPG_IDLE);
	simpg_terminate(f->w, session(f, 0));
	run(f, 10);
	assert_true(answered(f, 2));
	assert_true(f->hands[0]->client.connected);
	say(f, 0, SIMPG_RUN, 0, 0);
	assert_int_equal(f->hands[0]->error, SIMPG_LOST);
	assert_false(f->hands[0]->client.connected);
}

/* "PREPARE TRANSACTION": the locks stay, also when the session ends. */
static void a_prepared_transaction_keeps_its_locks(void **state)
{
	struct fixture *f = *state;

	say(f, 0, SIMPG_BEGIN, 0, 0);
	say(f, 0, SIMPG_LOCK, 42, SIMPG_FLAG_TRANSACTION);
	simpg_client_ask(f->w, &f->hands[0]->client, SIMPG_PREPARE, 0, 0, "tx-9", 0);
	run(f, 10);
	assert_non_null(f->s->prepared);
	simpg_client_close(f->w, &f->hands[0]->client);
	run(f, 10);
	say(f, 1, SIMPG_LOCK, 42, 0);
	assert_false(answered(f, 1));
	assert_false(simpg_rollback_prepared(f->w, f->s, "tx-8"));
	assert_true(simpg_rollback_prepared(f->w, f->s, "tx-9"));
	run(f, 10);
	assert_true(answered(f, 1));
}

/* 20.3 "Connections": without client_connection_check_interval a backend that waits does not notice
 * that its client is gone; it gets the lock, and then ends. */
static void a_dead_waiter_stays_in_the_queue(void **state)
{
	struct fixture *f = *state;

	say(f, 0, SIMPG_LOCK, 42, 0);
	say(f, 1, SIMPG_LOCK, 42, 0);
	say(f, 2, SIMPG_LOCK, 42, 0);
	process_end(f->w, f->hands[1]->client.process, PROCESS_END_KILLED);
	run(f, 100);
	assert_non_null(session(f, 1));
	say(f, 0, SIMPG_UNLOCK, 42, 0);
	assert_null(session(f, 1));
	assert_true(answered(f, 2));
}

/* 20.3.2 "TCP Settings": a client that vanished is given up after the keepalives. */
static void a_vanished_client_holds_until_the_keepalives_are_over(void **state)
{
	struct fixture *f = *state;

	say(f, 0, SIMPG_LOCK, 42, 0);
	say(f, 1, SIMPG_LOCK, 42, 0);
	machine_down(f->w, f->hands[0]->client.process->machine);
	run(f, 60000);
	assert_false(answered(f, 1));
	run(f, f->s->keepalive_ms);
	assert_true(answered(f, 1));
}

static void a_restart_ends_all_sessions(void **state)
{
	struct fixture *f = *state;

	say(f, 0, SIMPG_LOCK, 42, 0);
	process_end(f->w, f->s->process, PROCESS_END_KILLED);
	assert_int_equal(f->s->n_sessions, 0);
	assert_int_equal(f->s->n_locks, 0);
	say(f, 1, SIMPG_TRY, 42, 0);
	assert_int_equal(f->hands[1]->error, SIMPG_NOBODY);
	run(f, 5000);
	assert_true(simpg_answers(f->s));
}

static void a_paused_server_answers_late(void **state)
{
	struct fixture *f = *state;

	process_pause(f->w, f->s->process, 30000);
	simpg_client_ask(f->w, &f->hands[1]->client, SIMPG_RUN, 0, 0, "SELECT 1", 5000);
	f->hands[1]->error = NO_ANSWER_YET;
	run(f, 4900);
	assert_int_equal(f->hands[1]->error, NO_ANSWER_YET);
	run(f, 200);
	assert_int_equal(f->hands[1]->error, SIMPG_NO_ANSWER);
	process_resume(f->w, f->s->process);

	process_pause(f->w, f->s->process, 30000);
	say(f, 0, SIMPG_LOCK, 42, 0);
	assert_false(answered(f, 0));
	run(f, 30000);
	assert_true(answered(f, 0));
}

/* 27.2 "Log-Shipping Standby Servers", 27.4 "Hot Standby": locks are no data. */
static void a_promoted_standby_knows_no_lock(void **state)
{
	struct fixture *f = *state;
	struct simpg_server *standby = simpg_new(f->w, "orders-db-2", machine_new(f->w, "db-2"));
	struct simpg_key key;

	simpg_database(standby, "app");
	standby->primary = f->s;
	standby->in_recovery = true;
	standby->lag_ms = 500;
	process_start(f->w, standby->process);
	say(f, 0, SIMPG_LOCK, 42, 0);
	say(f, 1, SIMPG_BEGIN, 0, 0);
	say(f, 1, SIMPG_LOCK, 43, SIMPG_FLAG_TRANSACTION);
	simpg_client_ask(f->w, &f->hands[1]->client, SIMPG_PREPARE, 0, 0, "old", 0);
	run(f, 1000);
	say(f, 1, SIMPG_BEGIN, 0, 0);
	say(f, 1, SIMPG_LOCK, 44, SIMPG_FLAG_TRANSACTION);
	simpg_client_ask(f->w, &f->hands[1]->client, SIMPG_PREPARE, 0, 0, "lost", 0);
	run(f, 10);
	simpg_promote(f->w, standby);
	assert_false(standby->in_recovery);
	assert_int_equal(standby->timeline, f->s->timeline + 1);
	key = simpg_bigint(simpg_database(standby, "app"), 42);
	assert_null(simpg_lock_find(standby, &key));
	key.objid = 43;
	assert_non_null(simpg_lock_find(standby, &key));
	key.objid = 44;
	assert_null(simpg_lock_find(standby, &key));
	/* the old one lives on */
	assert_int_equal(say(f, 2, SIMPG_TRY, 42, 0), 0);
}

/* PgBouncer's feature matrix: session-level advisory locks, in transaction pooling: never. */
static void an_unlock_through_a_pooler_lands_elsewhere(void **state)
{
	struct fixture *f = *state;
	struct simpg_pooler *p =
		simpg_pooler_new(f->w, "pool", machine_new(f->w, "pool-1"), f->s, 2);
	struct simpg_session *one;
	int i;

	p->transaction = p->round_robin = p->add_host = true;
	for (i = 0; i < 3; i++) {
		simpg_client_close(f->w, &f->hands[i]->client);
		f->hands[i]->client.through = p;
	}
	run(f, 10);
	for (i = 0; i < 3; i++)
		simpg_client_connect(f->w, &f->hands[i]->client);
	run(f, 10);
	assert_int_equal(say(f, 0, SIMPG_LOCK, 42, 0), 1);
	simpg_client_ask(f->w, &f->hands[1]->client, SIMPG_RUN, 5000, 0, "SELECT slow", 0);
	run(f, 10);
	simpg_client_ask(f->w, &f->hands[2]->client, SIMPG_RUN, 500, 0, "SELECT slow", 0);
	run(f, 10);
	/* both sessions are busy: it waits for one */
	say(f, 0, SIMPG_UNLOCK, 42, 0);
	assert_false(answered(f, 0));
	run(f, 1000);
	assert_int_equal(f->hands[0]->value, 0);
	assert_int_equal(say(f, 3, SIMPG_TRY, 42, 0), 0);
	/* and the session that holds it serves others */
	for (one = simpg_each(f->s, NULL); one && !one->owner.holds; one = simpg_each(f->s, one))
		;
	assert_non_null(one);
	assert_ptr_equal(one->pooler, p);
	assert_memory_equal(one->application, "node-1 - 10.0.0.", 16);
}

static void a_worker_works_while_it_has_the_lock(void **state)
{
	struct fixture *f = *state;
	struct duty *duty = duty_new(f->w, "settle", NULL, 1000);
	struct simpg_locker *l[2];
	struct process *p[2];
	int i;

	for (i = 0; i < 2; i++) {
		p[i] = process_new(
			f->w, i ? "worker-b" : "worker-a", machine_new(f->w, i ? "b" : "a"), NULL);
		l[i] = simpg_locker_new(p[i]);
		memcpy(&l[i]->client.login, &f->hands[0]->client.login, sizeof(struct simpg_login));
		l[i]->client.servers[0] = f->s;
		l[i]->client.n_servers = 1;
		l[i]->key = 42;
		l[i]->duty = duty;
		l[i]->checks_ms = 90000;
		process_start(f->w, p[i]);
		run(f, 10);
	}
	assert_true(duty_works(duty, p[0]));
	assert_false(duty_works(duty, p[1]));
	/* Force release: the first works on until it looks at its session. */
	simpg_terminate(f->w, simpg_session(f->s, l[0]->client.pid));
	run(f, 10);
	assert_true(duty_works(duty, p[0]) && duty_works(duty, p[1]));
	run(f, 90000);
	assert_false(duty_works(duty, p[0]));
	duty_count(f->w, duty);
	assert_in_range(duty->overlap_ms, 89000, 91000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_queue_is_served_in_its_order, setup, sim_teardown),
		cmocka_unit_test_setup_teardown(requests_stack, setup, sim_teardown),
		cmocka_unit_test_setup_teardown(
			share_goes_with_share_and_waits_behind_exclusive, setup, sim_teardown),
		cmocka_unit_test_setup_teardown(
			the_two_key_spaces_do_not_meet, setup, sim_teardown),
		cmocka_unit_test_setup_teardown(
			a_transactions_lock_goes_with_it, setup, sim_teardown),
		cmocka_unit_test_setup_teardown(a_deadlock_is_broken, setup, sim_teardown),
		cmocka_unit_test_setup_teardown(
			a_session_is_terminated_a_statement_is_cancelled, setup, sim_teardown),
		cmocka_unit_test_setup_teardown(
			a_prepared_transaction_keeps_its_locks, setup, sim_teardown),
		cmocka_unit_test_setup_teardown(
			a_dead_waiter_stays_in_the_queue, setup, sim_teardown),
		cmocka_unit_test_setup_teardown(
			a_vanished_client_holds_until_the_keepalives_are_over, setup, sim_teardown),
		cmocka_unit_test_setup_teardown(a_restart_ends_all_sessions, setup, sim_teardown),
		cmocka_unit_test_setup_teardown(a_paused_server_answers_late, setup, sim_teardown),
		cmocka_unit_test_setup_teardown(
			a_promoted_standby_knows_no_lock, setup, sim_teardown),
		cmocka_unit_test_setup_teardown(
			an_unlock_through_a_pooler_lands_elsewhere, setup, sim_teardown),
		cmocka_unit_test_setup_teardown(
			a_worker_works_while_it_has_the_lock, setup, sim_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
