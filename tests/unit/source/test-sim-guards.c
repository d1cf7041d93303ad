#include "config.h"

#include "base/clock.h"
#include "base/mem.h"
#include "sim/cluster.h"
#include "sim/cluster-hand.h"
#include "sim/ledger.h"
#include "sim/lease-client.h"
#include "sim/zookeeper.h"
#include "source/act.h"
#include "source/sim-break.h"
#include "source/sim-fleet.h"
#include "source/sim-host.h"
#include "fake-round.h"
#include "tests/unit/unit.h"

#include <string.h>

/*
 * What may happen between the moment at which an act is planned and the one at which it is sent:
 * for rows of the fleet, for the verbs that break things, for ZooKeeper and for leases in a table.
 * What differs by then is left alone, and the answer says what is so now. (etcd, PostgreSQL and
 * Kubernetes of the built-in fleet: the real kinds' own tests, and test-sim-cluster.c.)
 */
extern const struct sim_part sim_part_fleet, sim_part_zookeeper, sim_part_ledger, sim_part_cluster;

enum {
	SHOWN_MS = 3000, /* the world is looked at */
	TEXT_MAX = 160
};

struct bench {
	struct world *w; /* the host's; only touched while nothing has entered it */
	struct machine *m;
	struct process *p;
	struct sim_host *host;
	struct sim_view *view; /* with the verbs that break things */
	struct source_config config;
	void *state;
	struct round r;
	/* an act */
	struct order order;
	const struct act_case *act;
	struct plan plan;
	struct effect effect;
};

static void bench_init(struct bench *b)
{
	*b = (struct bench){ .w = world_new(3, clock_wall_us(&clock_system)) };
	b->m = machine_new(b->w, "node-1");
	b->p = process_new(b->w, "worker", b->m, NULL);
}

/* The world runs for a while, and its thing of that name is shown. */
static void bench_show(struct bench *b, const struct sim_part *part, const char *shows)
{
	struct err err = { 0 };

	world_run(b->w, SHOWN_MS);
	b->view = sim_break_view(&part->views[0]);
	b->host = sim_host_new(b->w, &clock_system);
	b->config = (struct source_config){
		.ops = &b->view->source, .name = "lab", .sim = b->host, .shows = shows
	};
	assert_int_equal(b->view->source.open(&b->config, &b->state, &err), 0);
	fake_round_init(&b->r);
	fake_round_start(&b->r, 5000);
	assert_int_equal(b->view->source.poll(b->state, &b->r, &err), 0);
}

static void bench_release(struct bench *b)
{
	if (b->act) {
		plan_release(&b->plan);
		effect_release(&b->effect);
	}
	b->config.ops->close(b->state);
	fake_round_release(&b->r);
	sim_host_free(b->host);
	sim_break_free(b->view);
}

static const struct act_case *case_of(
	const struct sim_view *view, enum mechanism mechanism, enum verb verb)
{
	size_t i;

	for (i = 0; i < view->source.n_acts; i++)
		if (view->source.acts[i].mechanism == mechanism &&
			view->source.acts[i].verb == verb)
			return &view->source.acts[i];
	fail();
	return NULL;
}

static void plan_it(struct bench *b, enum verb verb, const char *path)
{
	const struct singleton *row = fake_round_row(&b->r, path);
	const struct claim *holder = row ? singleton_holder(row) : NULL;
	struct err err = { 0 };

	assert_non_null(row);
	b->order = (struct order){ .verb = verb, .s = row, .reason = "a test" };
	if (verb_word(verb)->about != ABOUT_ROW && holder) {
		b->order.key = claim_key(holder);
		b->order.identity = claim_identity(holder);
	}
	b->act = case_of(b->view, row->mechanism, verb);
	plan_init(&b->plan);
	effect_init(&b->effect);
	assert_int_equal(b->act->plan(b->state, &b->r, &b->order, &b->plan, &err), 0);
	assert_int_equal(b->plan.verdict, PLAN_READY);
}

static void send_it(struct bench *b, enum effect_kind expected)
{
	struct err err = { 0 };

	b->act->send(b->state, &b->r, &b->order, &b->plan, &b->effect, &err);
	assert_int_equal(b->effect.kind, expected);
}

static void run_on(struct bench *b, int64_t for_ms)
{
	world_run(b->w, world_now_ms(b->w) + for_ms);
}

/* ---- rows of the fleet ---- */

static void another_life(struct bench *b)
{
	process_end(b->w, b->p, PROCESS_END_KILLED);
	process_start(b->w, b->p);
}

static void end_of_it(struct bench *b)
{
	process_end(b->w, b->p, PROCESS_END_KILLED);
}

static void somebody_starts_it(struct bench *b)
{
	process_start(b->w, b->p);
}

static void its_machine_goes_off(struct bench *b)
{
	machine_down(b->w, b->m);
}

static void its_machine_comes_up(struct bench *b)
{
	machine_up(b->w, b->m);
}

static void it_is_blocked(struct bench *b)
{
	b->p->blocked = xstrdup("its disk is full");
}

static void it_is_cut_off(struct bench *b)
{
	machine_isolate(b->w, b->m, true);
}

static void it_is_joined_again(struct bench *b)
{
	machine_isolate(b->w, b->m, false);
}

static void nothing(struct bench *b)
{
	(void)b;
}

/* What is so when the act is planned, what happens then, and what is answered: in full. */
static const struct fleet_race {
	enum verb verb;
	const char *path;
	bool runs; /* the process */
	void (*before)(struct bench *b);
	void (*between)(struct bench *b);
	const char *answer;
} fleet_races[] = {
	{ VERB_STOP, "process/worker", true, nothing, another_life,
		"worker was started again since: nothing was done" },
	{ VERB_STOP, "process/worker", true, nothing, end_of_it,
		"worker does not run: nothing was done" },
	{ VERB_RESTART, "process/worker", true, nothing, another_life,
		"worker was started again since: nothing was done" },
	{ VERB_RESTART, "process/worker", true, nothing, end_of_it,
		"worker does not run: nothing was done" },
	{ VERB_RESTART, "process/worker", true, nothing, it_is_blocked,
		"its disk is full: nothing was done" },
	{ VERB_START, "process/worker", false, nothing, somebody_starts_it,
		"worker was started again since: nothing was done" },
	{ VERB_START, "process/worker", false, nothing, its_machine_goes_off,
		"its machine node-1 is off: nothing was done" },
	{ VERB_ASK, "process/worker", true, nothing, another_life,
		"worker was started again since: nothing was done" },
	{ VERB_FENCE, "machine/node-1", true, nothing, its_machine_goes_off,
		"node-1 is off: nothing was done" },
	{ VERB_START, "machine/node-1", false, its_machine_goes_off, its_machine_comes_up,
		"node-1 is up: nothing was done" },
	{ VERB_ISOLATE, "machine/node-1", true, nothing, it_is_cut_off,
		"node-1 is cut off already: nothing was done" },
	{ VERB_ISOLATE, "machine/node-1", true, nothing, its_machine_goes_off,
		"node-1 is off: nothing was done" },
	{ VERB_REJOIN, "machine/node-1", true, it_is_cut_off, it_is_joined_again,
		"node-1 is not cut off: nothing was done" },
};

static void begin_race(struct bench *b, const struct fleet_race *race)
{
	bench_init(b);
	sim_fleet_make(b->w);
	if (race->runs)
		process_start(b->w, b->p);
	race->before(b);
	bench_show(b, &sim_part_fleet, "all");
	plan_it(b, race->verb, race->path);
}

static void what_changed_of_a_row_of_the_fleet_is_left_alone(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_LEN(fleet_races); i++) {
		struct bench b;
		uint32_t life;
		bool lives;

		begin_race(&b, &fleet_races[i]);
		fleet_races[i].between(&b);
		life = b.p->life;
		lives = process_lives(b.p);
		send_it(&b, EFFECT_CHANGED);
		assert_string_equal(b.effect.answer.s, fleet_races[i].answer);
		assert_int_equal(b.p->life, life);
		assert_int_equal(process_lives(b.p), lives);
		bench_release(&b);
	}
}

/* The same acts are done where nothing happened in between: what is tested above is the race. */
static void what_did_not_change_is_done(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_LEN(fleet_races); i++) {
		struct bench b;

		begin_race(&b, &fleet_races[i]);
		send_it(&b, EFFECT_DONE);
		assert_non_null(b.effect.answer.s[0] ? b.effect.answer.s : NULL);
		bench_release(&b);
	}
}

/* A process that was made for one piece of work has no row any more once it ended. */
static void what_has_no_row_any_more_is_not_there(void **state)
{
	struct err err = { 0 };
	struct bench b;

	(void)state;
	bench_init(&b);
	b.p->brief = true;
	sim_fleet_make(b.w);
	process_start(b.w, b.p);
	bench_show(&b, &sim_part_fleet, "all");
	plan_it(&b, VERB_ASK, "process/worker");
	end_of_it(&b);
	send_it(&b, EFFECT_CHANGED);
	assert_string_equal(b.effect.answer.s, "it is not there any more: nothing was done");
	plan_release(&b.plan);
	plan_init(&b.plan);
	assert_int_equal(b.act->plan(b.state, &b.r, &b.order, &b.plan, &err), 0);
	assert_int_equal(b.plan.verdict, PLAN_CHANGED);
	bench_release(&b);
}

/* ---- what the menu offers of a row of the fleet ---- */

static void it_stops(struct bench *b)
{
	process_end(b->w, b->p, PROCESS_END_STOPPED);
}

static void it_hangs(struct bench *b)
{
	process_pause(b->w, b->p, INT64_MAX);
}

/* Each verb that such a row has, in the order of verbs.def, with what stands against it. */
static const struct fleet_menu {
	const char *path;
	void (*before)(struct bench *b);
	const char *menu;
} fleet_menus[] = {
	{ "process/worker", nothing, "ask, stop, start (it runs already), restart" },
	{ "process/worker", it_hangs, "ask, stop, start (it runs already), restart" },
	{ "process/worker", it_stops,
		"ask, stop (it does not run), start, restart (it does not run)" },
	{ "process/worker", it_is_blocked,
		"ask, stop, start (it runs already), restart (its disk is full)" },
	{ "machine/node-1", nothing,
		"start (it is up), isolate, rejoin (it is not cut off), fence" },
	{ "machine/node-1", it_is_cut_off,
		"start (it is up), isolate (it is cut off already), rejoin, fence" },
	{ "machine/node-1", its_machine_goes_off,
		"start, isolate (it is off), rejoin, fence (it is off)" },
};

static const struct act_case *act_of(const struct sim_view *view, enum verb verb)
{
	const struct act_case *act = case_of(view, MECH_PROCESS, verb);

	assert_non_null(act->has);
	assert_non_null(act->hinders);
	return act;
}

static void menu_of(const struct bench *b, const char *path, struct str *menu)
{
	const struct singleton *row = fake_round_row(&b->r, path);
	int verb;

	assert_non_null(row);
	for (verb = VERB_ASK; verb <= VERB_APPLY_GUARDED; verb++) {
		const struct act_case *act = act_of(b->view, (enum verb)verb);
		const char *why = act->hinders(row, (enum verb)verb);

		if (!act->has(row, (enum verb)verb))
			continue;
		str_addf(menu, "%s%s", menu->len ? ", " : "", verb_word((enum verb)verb)->word);
		if (why)
			str_addf(menu, " (%s)", why);
	}
}

static void the_menu_has_what_such_a_row_can_have(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_LEN(fleet_menus); i++) {
		struct bench b;
		struct str menu;

		bench_init(&b);
		sim_fleet_make(b.w);
		process_start(b.w, b.p);
		fleet_menus[i].before(&b);
		bench_show(&b, &sim_part_fleet, "all");
		str_init(&menu, 1000);
		menu_of(&b, fleet_menus[i].path, &menu);
		assert_string_equal(menu.s, fleet_menus[i].menu);
		str_release(&menu);
		bench_release(&b);
	}
}

/* ---- a ZooKeeper's election ---- */

static struct sim_zk *zk_made(struct bench *b, struct process *p)
{
	struct sim_zk *z = (struct sim_zk *)world_find(b->w, &sim_zk_ops, "zoo");
	struct machine *server = machine_new(b->w, "zk-1");
	struct sim_zk_campaign campaign = { .zk = z,
		.path = "/elections/job",
		.believes = SIM_ZK_BELIEVES_SESSION,
		.timeout_ms = 10000,
		.again_ms = 1000 };

	if (!z)
		z = campaign.zk = sim_zk_new(b->w, "zoo", &server, 1, NULL);
	sim_zk_candidate_new(p, &campaign);
	process_start(b->w, p);
	run_on(b, 30);
	return z;
}

static struct sim_zk_node *zk_leader(struct sim_zk *z)
{
	return sim_zk_parent(z, "/elections/job")->first;
}

/* One election of two candidates; an act on who leads is planned. */
static struct sim_zk *zk_planned(struct bench *b, enum verb verb)
{
	struct sim_zk *z;

	bench_init(b);
	zk_made(b, b->p);
	z = zk_made(b, process_new(b->w, "other", machine_new(b->w, "node-2"), NULL));
	bench_show(b, &sim_part_zookeeper, "zoo");
	plan_it(b, verb, "elections/job");
	return z;
}

static void a_znode_that_went_is_told(void **state)
{
	static const enum verb verbs[] = { VERB_STEP_DOWN, VERB_RELEASE };
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_LEN(verbs); i++) {
		struct bench b;
		struct sim_zk *z = zk_planned(&b, verbs[i]);

		sim_zk_delete(b.w, z, zk_leader(z), "a test");
		send_it(&b, EFFECT_CHANGED);
		assert_string_equal(b.effect.answer.s,
			"the znode is not there any more, or another one: nothing was deleted");
		assert_string_equal(zk_leader(z)->data, "other");
		bench_release(&b);
	}
}

/* Whoever had it comes again under another number. */
static void a_candidate_that_came_again_is_another(void **state)
{
	struct sim_zk_node *leader;
	struct bench b;
	struct sim_zk *z = zk_planned(&b, VERB_RELEASE);

	(void)state;
	sim_zk_close(b.w, z, zk_leader(z)->session, "a test");
	run_on(&b, 15000);
	leader = zk_leader(z);
	assert_non_null(leader->next);
	send_it(&b, EFFECT_CHANGED);
	assert_ptr_equal(zk_leader(z), leader);
	assert_string_equal(leader->next->data, "worker");
	bench_release(&b);
}

/* The one thing that ZooKeeper itself compares. */
static void a_znode_that_was_written_is_left_alone(void **state)
{
	struct bench b;
	struct sim_zk *z = zk_planned(&b, VERB_RELEASE);

	(void)state;
	zk_leader(z)->version++;
	send_it(&b, EFFECT_CHANGED);
	assert_string_equal(b.effect.answer.s,
		"BadVersion: its data was written meanwhile: nothing was deleted");
	assert_string_equal(zk_leader(z)->data, "worker");
	bench_release(&b);
}

static void a_znode_of_another_session_is_left_alone(void **state)
{
	struct bench b;
	struct sim_zk *z = zk_planned(&b, VERB_RELEASE);

	(void)state;
	zk_leader(z)->session = zk_leader(z)->next->session;
	send_it(&b, EFFECT_CHANGED);
	assert_string_equal(zk_leader(z)->data, "worker");
	bench_release(&b);
}

static void an_ensemble_that_is_away_is_sent_nothing(void **state)
{
	struct bench b;
	struct sim_zk *z = zk_planned(&b, VERB_RELEASE);

	(void)state;
	sim_zk_out(b.w, z, 0, true);
	send_it(&b, EFFECT_UNSENT);
	assert_string_equal(zk_leader(z)->data, "worker");
	bench_release(&b);
}

static void a_znode_that_is_as_it_was_is_deleted(void **state)
{
	struct bench b;
	struct sim_zk *z = zk_planned(&b, VERB_STEP_DOWN);

	(void)state;
	run_on(&b, 5000); /* a heartbeat is no change */
	send_it(&b, EFFECT_DONE);
	assert_string_equal(zk_leader(z)->data, "other");
	bench_release(&b);
}

/* ---- a lease in a table ---- */

static void lease_client(struct bench *b, struct sim_ledger *l, struct process *p)
{
	struct sim_leaser *s = sim_leaser_new(p);

	s->ledgers[0] = l;
	s->n_ledgers = 1;
	snprintf(s->lease, sizeof(s->lease), "billing");
	s->ttl_ms = 30000;
	s->every_ms = 10000;
	process_start(b->w, p);
	run_on(b, 30);
}

/* Two want the row, and the first has it; an act on it is planned. */
static struct sim_ledger *lease_planned(struct bench *b, enum verb verb)
{
	struct simpg_server *server;
	struct sim_ledger *l;

	bench_init(b);
	server = simpg_new(b->w, "db", machine_new(b->w, "db-1"));
	process_start(b->w, server->process);
	l = sim_ledger_new(b->w, "jobs", server, NULL);
	lease_client(b, l, b->p);
	lease_client(b, l, process_new(b->w, "other", machine_new(b->w, "node-2"), NULL));
	bench_show(b, &sim_part_ledger, "jobs");
	plan_it(b, verb, "leases/billing");
	return l;
}

static void assert_row(struct sim_ledger *l, const char *owner, int64_t token)
{
	assert_string_equal(sim_lease_row(l, "billing")->owner, owner);
	assert_int_equal(sim_lease_row(l, "billing")->token, token);
}

#define ROW_CHANGED "UPDATE 0: the row does not name that owner under that token any more"

static void a_row_of_another_owner_is_left_alone(void **state)
{
	static const enum verb verbs[] = { VERB_STEP_DOWN, VERB_RELEASE };
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_LEN(verbs); i++) {
		struct bench b;
		struct sim_ledger *l = lease_planned(&b, verbs[i]);

		end_of_it(&b);
		run_on(&b, 60000);
		assert_row(l, "other", 2);
		send_it(&b, EFFECT_CHANGED);
		assert_string_equal(b.effect.answer.s, ROW_CHANGED);
		assert_row(l, "other", 2);
		bench_release(&b);
	}
}

/* The same owner, under a token that it got by taking it anew. */
static void a_row_under_another_token_is_left_alone(void **state)
{
	struct bench b;
	struct sim_ledger *l = lease_planned(&b, VERB_RELEASE);

	(void)state;
	sim_lease_row(l, "billing")->token = 3;
	send_it(&b, EFFECT_CHANGED);
	assert_string_equal(b.effect.answer.s, ROW_CHANGED);
	assert_row(l, "worker", 3);
	bench_release(&b);
}

static void a_row_that_nobody_has_any_more_is_told(void **state)
{
	struct bench b;
	struct sim_ledger *l = lease_planned(&b, VERB_RELEASE);

	(void)state;
	assert_true(sim_lease_clear(b.w, l, "billing", "worker", 1));
	send_it(&b, EFFECT_CHANGED);
	assert_string_equal(b.effect.answer.s, ROW_CHANGED);
	bench_release(&b);
}

static void a_database_that_is_away_is_sent_nothing(void **state)
{
	struct bench b;
	struct sim_ledger *l = lease_planned(&b, VERB_RELEASE);

	(void)state;
	process_end(b.w, l->server->process, PROCESS_END_STOPPED);
	send_it(&b, EFFECT_UNSENT);
	assert_row(l, "worker", 1);
	bench_release(&b);
}

static void a_row_that_is_as_it_was_is_cleared(void **state)
{
	struct bench b;
	struct sim_ledger *l = lease_planned(&b, VERB_STEP_DOWN);

	(void)state;
	run_on(&b, 12000); /* a renewal is no change */
	send_it(&b, EFFECT_DONE);
	assert_string_equal(b.effect.answer.s, "UPDATE 1");
	assert_string_equal(sim_lease_row(l, "billing")->owner, "");
	bench_release(&b);
}

/* ---- the verbs that break things ---- */

static const enum verb breaks[] = { VERB_CRASH, VERB_PAUSE, VERB_PARTITION, VERB_SKEW_CLOCK,
	VERB_DRAIN_NODE };

/* Neither the process nor its machine was touched. */
static void assert_untouched(struct bench *b, uint32_t life, enum process_state state)
{
	assert_int_equal(b->p->life, life);
	assert_int_equal(b->p->state, state);
	assert_false(b->m->isolated);
	assert_int_equal(b->m->skew_ms, 0);
}

static void a_process_that_is_gone_is_not_broken(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_LEN(breaks); i++) {
		struct bench b;

		lease_planned(&b, breaks[i]);
		end_of_it(&b);
		send_it(&b, EFFECT_CHANGED);
		assert_string_equal(b.effect.answer.s,
			"worker, which is behind it, does not run: nothing was done");
		assert_untouched(&b, 1, b.p->state);
		bench_release(&b);
	}
}

/* The row still names the life before; the new one is not what was meant. */
static void a_process_that_was_started_again_is_not_broken(void **state)
{
	char answer[TEXT_MAX];
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_LEN(breaks); i++) {
		struct bench b;

		lease_planned(&b, breaks[i]);
		another_life(&b);
		snprintf(answer, sizeof(answer),
			"behind it is another process now, worker (process %d): nothing was done",
			b.p->pid);
		send_it(&b, EFFECT_CHANGED);
		assert_string_equal(b.effect.answer.s, answer);
		assert_untouched(&b, 2, PROCESS_RUNNING);
		bench_release(&b);
	}
}

/* Who lost the row is not behind it any more, though it lives. */
static void a_process_that_lost_the_row_is_not_broken(void **state)
{
	static const char answer[] = "no process of this fleet is behind it now: nothing was done";
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_LEN(breaks); i++) {
		struct sim_ledger *l;
		struct sim_zk *z;
		struct bench b;

		l = lease_planned(&b, breaks[i]);
		assert_true(sim_lease_clear(b.w, l, "billing", "worker", 1));
		send_it(&b, EFFECT_CHANGED);
		assert_string_equal(b.effect.answer.s, answer);
		assert_untouched(&b, 1, PROCESS_RUNNING);
		bench_release(&b);

		z = zk_planned(&b, breaks[i]);
		sim_zk_delete(b.w, z, zk_leader(z), "a test");
		send_it(&b, EFFECT_CHANGED);
		assert_string_equal(b.effect.answer.s, answer);
		assert_untouched(&b, 1, PROCESS_RUNNING);
		bench_release(&b);
	}
}

static const struct lease_options kube_options = { .ns = "ops",
	.name = "one",
	.duration_ms = 15000,
	.deadline_ms = 10000,
	.retry_ms = 2000,
	.exits = true };

/* A Lease names its holder by name alone: of a row that is older it may be nobody's any more. */
static void who_lost_a_lease_is_not_broken(void **state)
{
	struct cluster_lease *lease;
	struct lease_record record;
	struct cluster *c;
	struct bench b;

	(void)state;
	bench_init(&b);
	c = cluster_new(b.w, "prod", machine_new(b.w, "api-1"), zone_load);
	cluster_node_new(c, b.m);
	cluster_pod_program(c, b.p, "ops", NULL);
	lease_client_new(c, b.p, &kube_options);
	process_start(b.w, b.p);
	bench_show(&b, &sim_part_cluster, "prod");
	plan_it(&b, VERB_PAUSE, "lease/ops/one");
	lease = cluster_lease_place(c, "ops", "one");
	record = lease->record;
	record.holder = cluster_identity(c, "other");
	record.transitions++;
	assert_int_equal(cluster_lease_update(lease, &record, 0), 0);
	send_it(&b, EFFECT_CHANGED);
	assert_string_equal(
		b.effect.answer.s, "no process of this fleet is behind it now: nothing was done");
	assert_untouched(&b, 1, PROCESS_RUNNING);
	bench_release(&b);
}

static void a_drained_node_gets_its_own_back_and_no_pods(void **state)
{
	struct process *pod;
	struct bench b;

	(void)state;
	lease_planned(&b, VERB_DRAIN_NODE);
	pod = process_new(b.w, "job-1-x7f", b.m, "job-1-x7f");
	pod->brief = true;
	process_start(b.w, pod);
	send_it(&b, EFFECT_DONE);
	assert_int_equal(b.p->state, PROCESS_STOPPED);
	assert_int_equal(pod->state, PROCESS_STOPPED);
	run_on(&b, 61000);
	assert_int_equal(b.p->state, PROCESS_RUNNING);
	assert_int_equal(pod->state, PROCESS_STOPPED);
	bench_release(&b);
}

static void what_is_as_it_was_is_broken(void **state)
{
	struct bench b;

	(void)state;
	lease_planned(&b, VERB_CRASH);
	send_it(&b, EFFECT_DONE);
	assert_false(process_lives(b.p));
	bench_release(&b);
	lease_planned(&b, VERB_PAUSE);
	send_it(&b, EFFECT_DONE);
	assert_int_equal(b.p->state, PROCESS_PAUSED);
	bench_release(&b);
	lease_planned(&b, VERB_PARTITION);
	send_it(&b, EFFECT_DONE);
	assert_true(b.m->isolated);
	bench_release(&b);
	lease_planned(&b, VERB_SKEW_CLOCK);
	send_it(&b, EFFECT_DONE);
	assert_int_equal(b.m->skew_ms, 90000);
	bench_release(&b);
	lease_planned(&b, VERB_DRAIN_NODE);
	send_it(&b, EFFECT_DONE);
	assert_int_equal(b.p->state, PROCESS_STOPPED);
	bench_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_changed_of_a_row_of_the_fleet_is_left_alone),
		cmocka_unit_test(what_did_not_change_is_done),
		cmocka_unit_test(what_has_no_row_any_more_is_not_there),
		cmocka_unit_test(the_menu_has_what_such_a_row_can_have),
		cmocka_unit_test(a_znode_that_went_is_told),
		cmocka_unit_test(a_candidate_that_came_again_is_another),
		cmocka_unit_test(a_znode_that_was_written_is_left_alone),
		cmocka_unit_test(a_znode_of_another_session_is_left_alone),
		cmocka_unit_test(an_ensemble_that_is_away_is_sent_nothing),
		cmocka_unit_test(a_znode_that_is_as_it_was_is_deleted),
		cmocka_unit_test(a_row_of_another_owner_is_left_alone),
		cmocka_unit_test(a_row_under_another_token_is_left_alone),
		cmocka_unit_test(a_row_that_nobody_has_any_more_is_told),
		cmocka_unit_test(a_database_that_is_away_is_sent_nothing),
		cmocka_unit_test(a_row_that_is_as_it_was_is_cleared),
		cmocka_unit_test(a_process_that_is_gone_is_not_broken),
		cmocka_unit_test(a_process_that_was_started_again_is_not_broken),
		cmocka_unit_test(a_process_that_lost_the_row_is_not_broken),
		cmocka_unit_test(who_lost_a_lease_is_not_broken),
		cmocka_unit_test(a_drained_node_gets_its_own_back_and_no_pods),
		cmocka_unit_test(what_is_as_it_was_is_broken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
