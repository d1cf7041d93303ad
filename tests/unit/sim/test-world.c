#include "config.h"

#include <stdlib.h>

#include "base/str.h"
#include "sim/net.h"
#include "sim/work.h"
#include "tests/unit/unit.h"

/* A program that writes down when it was called. */
struct noter {
	struct program program;
	struct str seen;
};

static void note(struct world *w, struct noter *n, const char *what)
{
	str_addf(&n->seen, "%s@%lld ", what, (long long)world_now_ms(w));
}

static void noter_tick(struct world *w, struct process *p, void *who, int64_t a)
{
	(void)p;
	(void)a;
	note(w, who, "tick");
}

static void noter_start(struct world *w, struct program *g)
{
	struct noter *n = (struct noter *)g;

	note(w, n, "start");
	process_after(w, g->process, 100, noter_tick, n, 0);
}

static void noter_ended(struct world *w, struct program *g, enum process_end how)
{
	(void)how;
	note(w, (struct noter *)g, "end");
}

static void noter_resumed(struct world *w, struct program *g)
{
	note(w, (struct noter *)g, "resumed");
}

static void noter_free(struct program *g)
{
	struct noter *n = (struct noter *)g;

	str_release(&n->seen);
	free(n);
}

static const struct program_ops noter_ops = {
	.word = "noter",
	.start = noter_start,
	.ended = noter_ended,
	.resumed = noter_resumed,
	.free = noter_free,
};

static struct noter *noter_new(struct process *p)
{
	struct noter *n = calloc(1, sizeof(*n));

	str_init(&n->seen, 1000);
	process_program(p, &n->program, &noter_ops);
	return n;
}

/* ---- events ---- */

static void add_digit(struct world *w, void *who, int64_t a, int64_t b)
{
	(void)w;
	(void)b;
	str_addf(who, "%lld", (long long)a);
}

static void events_come_by_time_and_then_by_order(void **state)
{
	struct world *w = world_new(1, 0);
	struct str seen;
	int i;

	(void)state;
	str_init(&seen, 100);
	for (i = 0; i < 5; i++)
		world_at(w, 20, add_digit, &seen, i, 0);
	world_at(w, 10, add_digit, &seen, 9, 0);
	assert_int_equal(world_next_ms(w), 10);
	assert_true(world_step(w));
	assert_string_equal(seen.s, "9");
	assert_int_equal(world_now_ms(w), 10);
	world_run(w, 50);
	assert_string_equal(seen.s, "901234");
	assert_int_equal(world_now_ms(w), 50);
	assert_false(world_step(w));
	/* What is scheduled for the past happens now. */
	world_at(w, 5, add_digit, &seen, 7, 0);
	assert_int_equal(world_next_ms(w), 50);
	world_free(w);
	str_release(&seen);
}

struct order {
	int64_t last_at, last_n;
	uint64_t seen;
};

/* a: the how manieth that was scheduled for its moment; b: that moment. */
static void in_order(struct world *w, void *who, int64_t a, int64_t b)
{
	struct order *order = who;

	assert_int_equal(world_now_ms(w), b);
	assert_true(b > order->last_at || (b == order->last_at && a > order->last_n));
	order->last_at = b;
	order->last_n = a;
	order->seen++;
}

/* Whatever the distance from which they were scheduled, near and far ones mixed. */
static void the_order_holds_over_any_distance(void **state)
{
	struct world *w = world_new(1, 0);
	struct sim_random dice = { .state = 7 };
	struct order order = { .last_at = -1 };
	uint64_t n = 0;
	int64_t now;

	(void)state;
	for (now = 0; now < 200000; now += (int64_t)sim_random_below(&dice, 900)) {
		int i;

		world_run(w, now);
		for (i = 0; i < 20; i++) {
			/* Few moments, so that many meet there. */
			int64_t far = (int64_t)sim_random_below(&dice, 40) * 700;
			int64_t at = (now + far) / 500 * 500 + 500;

			world_at(w, at, in_order, &order, (int64_t)++n, at);
		}
	}
	world_run(w, 1000000);
	assert_int_equal(order.seen, n);
	assert_int_equal(world_now_ms(w), 1000000);
	world_free(w);
}

/* ---- processes ---- */

static void a_pause_holds_timers_back_and_an_end_drops_them(void **state)
{
	struct world *w = world_new(1, 0);
	struct process *p = process_new(w, "p", machine_new(w, "m"), NULL);
	struct noter *n = noter_new(p);

	(void)state;
	process_start(w, p);
	world_run(w, 50);
	process_pause(w, p, 200);
	world_run(w, 400);
	assert_string_equal(n->seen.s, "start@0 resumed@250 tick@250 ");
	str_clear(&n->seen);
	p->restart_after_ms = 30;
	process_end(w, p, PROCESS_END_KILLED);
	world_run(w, 600);
	assert_string_equal(n->seen.s, "end@400 start@430 tick@530 ");
	str_clear(&n->seen);
	process_pause(w, p, INT64_MAX);
	process_end(w, p, PROCESS_END_STOPPED);
	world_run(w, 5000);
	assert_string_equal(n->seen.s, "end@600 ");
	assert_int_equal(p->state, PROCESS_STOPPED);
	world_free(w);
}

/* What is on its way to it keeps a process; when that has come, nothing is left of it. */
static void a_process_is_forgotten_when_nothing_is_about_it(void **state)
{
	struct world *w = world_new(1, 0);
	struct machine *m = machine_new(w, "m");
	struct process *first = process_new(w, "first", m, NULL);
	struct process *p = process_new(w, "p", m, NULL);
	struct process *last = process_new(w, "last", m, NULL);
	struct duty *d = duty_new(w, "duty", NULL, 1000);
	uint64_t versions;

	(void)state;
	process_start(w, p);
	process_start(w, last);
	duty_begin(w, d, p, 0);
	process_pause(w, p, 5000);
	assert_false(process_forget(w, p));
	process_end(w, p, PROCESS_END_KILLED);
	assert_false(process_forget(w, p));
	world_run(w, 6000);
	/* Only the duty still knows who had it last. */
	assert_int_equal(p->pins, 0);
	assert_false(process_forget(w, p));
	duty_begin(w, d, last, 0);
	versions = world_versions(w, &process_ops);
	assert_true(process_forget(w, p));
	assert_null(process_find(w, "p"));
	assert_true(world_versions(w, &process_ops) > versions);
	assert_ptr_equal(world_each(w, &process_ops, NULL), first);
	assert_ptr_equal(world_each(w, &process_ops, &first->thing), last);
	assert_null(world_each(w, &process_ops, &last->thing));
	world_free(w);
}

/* Lines that nobody will read are counted all the same: a step goes to the next of them. */
static void a_world_may_keep_no_story(void **state)
{
	struct world *w = world_new(1, 0);

	(void)state;
	world_keep_no_story(w);
	world_tell(w, HAPPENING_STARTED, "p", NULL, 0, "p starts");
	assert_int_equal(world_told(w), 0);
	assert_int_equal(world_tellings(w), 1);
	world_free(w);
}

static void a_clock_that_drifts_is_early_and_shows_it(void **state)
{
	struct world *w = world_new(1, 1000000);
	struct machine *m = machine_new(w, "m");
	struct process *p = process_new(w, "p", m, NULL);
	struct noter *n = noter_new(p);

	(void)state;
	m->drift_ppm = 250000; /* a quarter faster */
	machine_skew(w, m, 500);
	process_start(w, p);
	world_run(w, 80);
	assert_string_equal(n->seen.s, "start@0 tick@80 ");
	assert_int_equal(machine_clock_us(w, m), 1000000 + 500000 + 100000);
	world_free(w);
}

/* ---- the network ---- */

struct asked {
	struct process *p;
	struct machine *server;
	struct net_call *kept;
	struct str seen;
	bool later;
};

static bool serve(struct world *w, struct net_call *call)
{
	struct asked *asked = call->who;

	str_addf(&asked->seen, "served@%lld ", (long long)world_now_ms(w));
	call->value = call->a * 2;
	if (asked->later)
		asked->kept = call;
	return !asked->later;
}

static void reply(struct world *w, struct process *p, const struct net_call *call)
{
	struct asked *asked = call->who;

	(void)p;
	str_addf(&asked->seen, "%s:%lld@%lld ", call->code == NET_OK ? "ok" : "timeout",
		(long long)call->value, (long long)world_now_ms(w));
}

static void ask(struct world *w, struct asked *asked)
{
	net_call(w, &(struct net_call){ .from = asked->p,
			    .to = asked->server,
			    .serve = serve,
			    .reply = reply,
			    .who = asked,
			    .a = 21,
			    .timeout_ms = 1000 });
}

static void a_call_takes_its_way_and_a_cut_is_a_timeout(void **state)
{
	struct world *w = world_new(1, 0);
	struct asked asked = { .server = machine_new(w, "s") };
	struct machine *m = machine_new(w, "m");

	(void)state;
	str_init(&asked.seen, 1000);
	asked.p = process_new(w, "p", m, NULL);
	process_start(w, asked.p);
	net_quality(w, m, asked.server, 10, 0);
	ask(w, &asked);
	world_run(w, 100);
	assert_string_equal(asked.seen.s, "served@10 ok:42@20 ");
	str_clear(&asked.seen);
	net_cut(w, NULL, asked.server);
	ask(w, &asked);
	world_run(w, 2000);
	assert_string_equal(asked.seen.s, "timeout:0@1100 ");
	str_clear(&asked.seen);
	net_join(w, NULL, asked.server);
	/* Done, and the answer is lost: the caller can't know. */
	asked.later = true;
	ask(w, &asked);
	world_run(w, 2050);
	net_cut(w, m, asked.server);
	net_answer(w, asked.kept);
	world_run(w, 4000);
	assert_string_equal(asked.seen.s, "served@2010 timeout:42@3000 ");
	world_free(w);
	str_release(&asked.seen);
}

static void a_paused_caller_gets_its_answer_when_it_runs_on(void **state)
{
	struct world *w = world_new(1, 0);
	struct asked asked = { .server = machine_new(w, "s") };

	(void)state;
	str_init(&asked.seen, 1000);
	asked.p = process_new(w, "p", machine_new(w, "m"), NULL);
	process_start(w, asked.p);
	ask(w, &asked);
	process_pause(w, asked.p, 5000);
	world_run(w, 6000);
	assert_string_equal(asked.seen.s, "served@1 ok:42@5000 ");
	/* An answer to a life that is over comes to nobody. */
	ask(w, &asked);
	process_end(w, asked.p, PROCESS_END_KILLED);
	process_start(w, asked.p);
	str_clear(&asked.seen);
	world_run(w, 9000);
	assert_string_equal(asked.seen.s, "served@6001 ");
	world_free(w);
	str_release(&asked.seen);
}

/* ---- work ---- */

static void work_counts_doubles_overlap_and_vacancy(void **state)
{
	struct world *w = world_new(1, 0);
	struct resource *r = resource_new(w, "orders", RESOURCE_UNFENCED);
	struct duty *d = duty_new(w, "settle", r, 1000);
	struct process *a = process_new(w, "a", machine_new(w, "m"), NULL);
	struct process *b = process_new(w, "b", machine_new(w, "n"), NULL);

	(void)state;
	process_start(w, a);
	process_start(w, b);
	world_run(w, 2500);
	duty_begin(w, d, a, 33);
	world_run(w, 4500); /* a writes at 3 and 4 */
	process_pause(w, a, 2000);
	world_run(w, 5500); /* nobody works from 4.5 on */
	duty_begin(w, d, b, 34);
	world_run(w, 6400); /* b writes at 6 */
	assert_int_equal(r->doubles, 0);
	world_run(w, 8500); /* both from 6.5 on; a is late with 6.5, then both at 7 and 8 */
	duty_count(w, d);
	assert_int_equal(d->overlap_ms, 2000);
	assert_int_equal(d->vacant_ms, 2500 + 1000);
	assert_int_equal(r->writes, 2 + 1 + 1 + 4);
	assert_int_equal(r->doubles, 3);
	assert_int_equal(r->stale_let, 3);
	assert_int_equal(d->takeovers, 1);
	process_end(w, a, PROCESS_END_KILLED);
	assert_int_equal(d->at_work, 1);
	assert_false(duty_works(d, a));
	world_free(w);
}

static void a_fence_refuses_the_old_and_a_unique_key_the_second(void **state)
{
	struct world *w = world_new(1, 0);
	struct resource *fenced = resource_new(w, "f", RESOURCE_FENCED);
	struct resource *once = resource_new(w, "i", RESOURCE_IDEMPOTENT);
	struct process *p = process_new(w, "p", machine_new(w, "m"), NULL);

	(void)state;
	assert_int_equal(resource_write(w, fenced, p, 34, 1), WRITE_DONE);
	assert_int_equal(resource_write(w, fenced, p, 33, 2), WRITE_REFUSED);
	assert_int_equal(resource_write(w, fenced, p, 34, 2), WRITE_DONE);
	assert_int_equal(fenced->stale_refused, 1);
	assert_int_equal(fenced->writes, 2);
	assert_int_equal(resource_write(w, once, p, 0, 7), WRITE_DONE);
	assert_int_equal(resource_write(w, once, p, 0, 7), WRITE_ALREADY);
	assert_int_equal(once->writes, 1);
	assert_int_equal(once->doubles, 0);
	world_free(w);
}

/* As when a node is isolated so that its process can't write any more: it believes, and that is
 * all. */
static void what_is_cut_off_writes_nowhere(void **state)
{
	struct world *w = world_new(1, 0);
	struct machine *m = machine_new(w, "m");
	struct resource *r = resource_new(w, "orders", RESOURCE_UNFENCED);
	struct duty *d = duty_new(w, "settle", r, 1000), *plain = duty_new(w, "look", NULL, 0);
	struct process *a = process_new(w, "a", m, NULL), *b;

	(void)state;
	b = process_new(w, "b", machine_new(w, "n"), NULL);
	process_start(w, a);
	process_start(w, b);
	duty_begin(w, d, a, 0);
	duty_begin(w, plain, a, 0);
	world_run(w, 2500);
	machine_isolate(w, m, true);
	duty_begin(w, d, b, 0);
	world_run(w, 6500);
	duty_count(w, d);
	assert_true(duty_works(d, a));
	assert_int_equal(d->at_work, 1);
	assert_int_equal(d->overlap_ms, 0);
	assert_int_equal(r->doubles, 0);
	assert_int_equal(plain->at_work, 1);
	/* Joined again it goes on where it believed to be. */
	machine_isolate(w, m, false);
	world_run(w, 8500);
	duty_count(w, d);
	assert_int_equal(d->overlap_ms, 2000);
	assert_int_equal(r->doubles, 2);
	world_free(w);
}

static void the_same_seed_gives_the_same_numbers(void **state)
{
	struct sim_random r = { .state = 42 };
	int i;

	(void)state;
	/* The first numbers of SplitMix64 for this seed, from its authors' program. */
	assert_true(sim_random_next(&r) == UINT64_C(13679457532755275413));
	assert_true(sim_random_next(&r) == UINT64_C(2949826092126892291));
	for (i = 0; i < 1000; i++) {
		int64_t v = sim_random_vary(&r, 100, 10);

		assert_true(v >= 90 && v <= 110);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_come_by_time_and_then_by_order),
		cmocka_unit_test(the_order_holds_over_any_distance),
		cmocka_unit_test(a_pause_holds_timers_back_and_an_end_drops_them),
		cmocka_unit_test(a_process_is_forgotten_when_nothing_is_about_it),
		cmocka_unit_test(a_world_may_keep_no_story),
		cmocka_unit_test(a_clock_that_drifts_is_early_and_shows_it),
		cmocka_unit_test(a_call_takes_its_way_and_a_cut_is_a_timeout),
		cmocka_unit_test(a_paused_caller_gets_its_answer_when_it_runs_on),
		cmocka_unit_test(work_counts_doubles_overlap_and_vacancy),
		cmocka_unit_test(a_fence_refuses_the_old_and_a_unique_key_the_second),
		cmocka_unit_test(what_is_cut_off_writes_nowhere),
		cmocka_unit_test(the_same_seed_gives_the_same_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
