#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "fake-round.h"
#include "sim/etcd-client.h"
#include "source/sim-etcd.h"
#include "tests/unit/sim/fixture.h"
#include "tests/unit/unit.h"

/* How the built-in etcd is read: what is told bit by bit is what is told at once. */
struct looker {
	struct sim_source s;
	struct round r;
};

struct fixture {
	struct world *w; /* first */
	struct sim_etcd *e;
	struct source_config config;
};

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	struct machine *machines[SIM_MEMBERS];

	f->w = world_new(23, SIM_EPOCH_US);
	sim_members(f->w, "etcd", machines);
	f->e = sim_etcd_new(f->w, "ctl", machines, SIM_MEMBERS, NULL);
	f->config = (struct source_config){ .name = "ctl" };
	*state = f;
	return 0;
}

static void looker_init(struct looker *l, struct fixture *f)
{
	*l = (struct looker){ .s = { .config = &f->config, .world = f->w, .thing = &f->e->thing } };
	fake_round_init(&l->r);
}

static void looker_release(struct looker *l)
{
	sim_etcd_close(&l->s);
	fake_round_release(&l->r);
}

static int look(struct looker *l)
{
	struct err err = { 0 };

	return sim_etcd_tell(&l->s, &l->r, &err);
}

static void add(struct fixture *f, int number, const char *name, enum sim_etcd_claim claim)
{
	struct sim_etcd_campaign campaign = { .etcd = f->e,
		.claim = claim,
		.name = name,
		.session = "",
		.ttl_s = 5,
		.timeout_ms = 1000,
		.again_ms = 1000,
		.holds_ms = 2000 + number * 137,
		.rests_ms = 700,
		.through = -1 };
	struct process *p;
	char text[64];

	snprintf(text, sizeof(text), "process-%d", number);
	p = process_new(f->w, text, machine_new(f->w, "node-1"), NULL);
	p->restart_after_ms = 500;
	sim_etcd_candidate_new(p, &campaign);
	process_start(f->w, p);
}

static void add_many(struct fixture *f)
{
	static const char *const names[] = { "elections/a", "elections/b", "locks/c", "single",
		"elections/a/inner" };
	int i;

	for (i = 0; i < 20; i++) {
		const char *name = names[i % 5];

		add(f, i, name,
			str_eq(name, "single")    ? SIM_ETCD_LEADER_KEY
			: str_eq(name, "locks/c") ? SIM_ETCD_LOCK
						  : SIM_ETCD_ELECTION);
	}
}

static int compare_rows(const void *a, const void *b)
{
	return strcmp((*(struct singleton *const *)a)->id, (*(struct singleton *const *)b)->id);
}

/* Both tell the same facts: equal hashes. */
static void assert_same(struct round *a, struct round *b)
{
	size_t i;

	assert_int_equal(a->n_rows, b->n_rows);
	assert_true(a->n_rows >= 3);
	qsort(a->rows, a->n_rows, sizeof(*a->rows), compare_rows);
	qsort(b->rows, b->n_rows, sizeof(*b->rows), compare_rows);
	for (i = 0; i < a->n_rows; i++) {
		const struct singleton *x = a->rows[i], *y = b->rows[i];
		uint32_t k;

		assert_string_equal(x->id, y->id);
		assert_int_equal(x->mechanism, y->mechanism);
		assert_int_equal(x->token, y->token);
		assert_int_equal(x->n_claims, y->n_claims);
		for (k = 0; k < x->n_claims; k++) {
			assert_string_equal(claim_key(&x->claims[k]), claim_key(&y->claims[k]));
			assert_string_equal(
				claim_identity(&x->claims[k]), claim_identity(&y->claims[k]));
			assert_int_equal(x->claims[k].kind, y->claims[k].kind);
		}
	}
}

static void test_bit_by_bit_is_as_at_once(void **state)
{
	struct fixture *f = *state;
	struct looker bits, once;
	uint64_t random = 5;
	int i;

	add_many(f);
	looker_init(&bits, f);
	for (i = 0; i < 300; i++) {
		char name[64];

		world_run(f->w, world_now_ms(f->w) + 1 + (int64_t)unit_pick(&random, 1500));
		if (i % 7 == 0) {
			snprintf(name, sizeof(name), "process-%zu", unit_pick(&random, 20));
			process_end(f->w, process_find(f->w, name), PROCESS_END_KILLED);
		}
		assert_int_equal(look(&bits), 0);
		if (i % 10)
			continue;
		looker_init(&once, f);
		assert_int_equal(look(&once), 0);
		assert_same(&bits.r, &once.r);
		looker_release(&once);
	}
	looker_release(&bits);
}

/* Who looks seldom misses changes that are not kept any more: it reads all again. */
static void test_who_looks_seldom_reads_all_again(void **state)
{
	struct fixture *f = *state;
	struct looker seldom, once;
	struct sim_etcd_key *key;
	char name[64];
	int i;

	add_many(f);
	looker_init(&seldom, f);
	assert_int_equal(look(&seldom), 0);
	for (i = 0; i < SIM_ETCD_EVENTS_MOST + 10; i++) {
		snprintf(name, sizeof(name), "elsewhere/%d", i % 100);
		sim_etcd_put(f->w, f->e, name, "x", 0, NULL, false, &key);
	}
	world_run(f->w, 20000);
	assert_int_equal(look(&seldom), 0);
	looker_init(&once, f);
	assert_int_equal(look(&once), 0);
	assert_same(&seldom.r, &once.r);
	looker_release(&once);
	looker_release(&seldom);
}

/* ---- the past ---- */

static char *past(struct fixture *f)
{
	struct looker l;
	char *text = NULL;
	size_t size = 0;

	looker_init(&l, f);
	l.r.events = open_memstream(&text, &size);
	assert_int_equal(look(&l), 0);
	fclose(l.r.events);
	l.r.events = NULL;
	looker_release(&l);
	return text;
}

static void test_what_changed_hands_before_is_told(void **state)
{
	struct fixture *f = *state;
	struct process *first;
	char *text;

	add(f, 0, "elections/a", SIM_ETCD_ELECTION);
	add(f, 1, "elections/a", SIM_ETCD_ELECTION);
	world_run(f->w, 1000);
	first = process_find(f->w, "process-0");
	process_end(f->w, first, PROCESS_END_STOPPED);
	world_run(f->w, 1500);
	text = past(f);
	assert_non_null(strstr(text, "took\tprocess-0 took it"));
	assert_non_null(strstr(text, "hand-over\tprocess-1 took it from process-0"));
	free(text);
	/* What is compacted is not known: it was so at the beginning. */
	sim_etcd_compact(f->w, f->e, f->e->revision);
	text = past(f);
	assert_string_equal(text, "");
	free(text);
}

static void test_a_term_that_rose_before_was_not_seen(void **state)
{
	struct fixture *f = *state;
	struct looker l;

	sim_etcd_lead(f->w, f->e, -1);
	looker_init(&l, f);
	assert_int_equal(look(&l), 0);
	assert_null(singleton_detail(l.r.self, DETAIL_TERM_CHANGED));
	world_run(f->w, 5000);
	sim_etcd_lead(f->w, f->e, -1);
	assert_int_equal(look(&l), 0);
	assert_int_equal(singleton_int(l.r.self, DETAIL_TERM_CHANGED, 0), 5000);
	looker_release(&l);
}

static void test_without_a_quorum_it_can_not_be_read(void **state)
{
	struct fixture *f = *state;
	struct looker l;

	looker_init(&l, f);
	assert_int_equal(look(&l), 0);
	sim_etcd_out(f->w, f->e, 1, true);
	assert_int_equal(look(&l), 0);
	assert_string_equal(l.r.degraded,
		"1 of 3 endpoints can't be asked: can't connect to http://etcd-2:2379: Connection "
		"refused. Check that the server runs, and host and port");
	sim_etcd_out(f->w, f->e, 2, true);
	world_run(f->w, 10000);
	assert_int_equal(look(&l), ERR_BUSY);
	looker_release(&l);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, sim_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_bit_by_bit_is_as_at_once),
		TEST(test_who_looks_seldom_reads_all_again),
		TEST(test_what_changed_hands_before_is_told),
		TEST(test_a_term_that_rose_before_was_not_seen),
		TEST(test_without_a_quorum_it_can_not_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
