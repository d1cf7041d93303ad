#include "config.h"

#include "base/clock.h"
#include "sim/cluster.h"
#include "sim/lease-client.h"
#include "source/act.h"
#include "source/sim-host.h"
#include "source/sim.h"
#include "fake-round.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

/*
 * What the gate calls, one by one, on a simulated cluster that changes in between: the simulated
 * API server compares in the same request, as the real one does.
 */
extern const struct sim_part sim_part_cluster;

struct bench {
	struct world *w; /* the host's; only touched while nothing has entered it */
	struct cluster *c;
	struct sim_host *host;
	struct source_config config;
	void *state;
	struct round r;
};

static void bench_init(struct bench *t)
{

	*t = (struct bench){ .w = world_new(3, clock_wall_us(&clock_system)) };
	t->c = cluster_new(t->w, "prod", machine_new(t->w, "api-1"), zone_load);
	cluster_node_new(t->c, machine_new(t->w, "node-1"));
	process_start(t->w, t->c->manager);
}

/* The world runs so far, and is shown. */
static void bench_show(struct bench *t, int64_t until_ms)
{
	const struct sim_view *view = &sim_part_cluster.views[0];
	struct err err = { 0 };

	world_run(t->w, until_ms);
	t->host = sim_host_new(t->w, &clock_system);
	t->config = (struct source_config){
		.ops = &view->source, .name = "prod", .sim = t->host, .shows = "prod"
	};
	assert_int_equal(view->source.open(&t->config, &t->state, &err), 0);
	fake_round_init(&t->r);
	fake_round_start(&t->r, 5000);
	assert_int_equal(view->source.poll(t->state, &t->r, &err), 0);
}

static void bench_release(struct bench *t)
{
	t->config.ops->close(t->state);
	fake_round_release(&t->r);
	sim_host_free(t->host);
}

static const struct act_case *case_of(enum mechanism mechanism, enum verb verb)
{
	const struct source_ops *ops = &sim_part_cluster.views[0].source;
	size_t i;

	for (i = 0; i < ops->n_acts; i++)
		if (ops->acts[i].mechanism == mechanism && ops->acts[i].verb == verb)
			return &ops->acts[i];
	fail();
	return NULL;
}

/* An order, its plan, and what came of sending it. */
struct deed {
	struct order order;
	const struct act_case *act;
	struct plan plan;
	struct effect effect;
	struct err err;
};

static void deed_plan(struct bench *t, struct deed *d, enum verb verb, const char *path)
{
	const struct singleton *row = fake_round_row(&t->r, path);
	const struct claim *holder;

	assert_non_null(row);
	holder = singleton_holder(row);
	*d = (struct deed){ .order = { .verb = verb, .s = row, .reason = "a test" },
		.act = case_of(row->mechanism, verb) };
	if (verb_word(verb)->about != ABOUT_ROW && holder) {
		d->order.key = claim_key(holder);
		d->order.identity = claim_identity(holder);
	}
	plan_init(&d->plan);
	effect_init(&d->effect);
	assert_int_equal(d->act->plan(t->state, &t->r, &d->order, &d->plan, &d->err), 0);
}

static enum effect_kind deed_send(struct bench *t, struct deed *d)
{
	d->act->send(t->state, &t->r, &d->order, &d->plan, &d->effect, &d->err);
	return d->effect.kind;
}

static void deed_release(struct deed *d)
{
	plan_release(&d->plan);
	effect_release(&d->effect);
}

static bool says(const struct plan_list *list, const char *words)
{
	size_t i;

	for (i = 0; i < list->n; i++)
		if (strstr(list->items[i].what, words))
			return true;
	return false;
}

/* ---- Leases ---- */

static struct cluster_lease *lease_made(struct bench *t, const char *holder)
{
	struct cluster_lease *lease = cluster_lease_place(t->c, "ops", "one");
	struct lease_record r = { .renew_us = world_now_us(t->w),
		.acquire_us = world_now_us(t->w),
		.duration_s = 15,
		.holder = cluster_identity(t->c, holder) };

	assert_int_equal(cluster_lease_create(lease, &r), 0);
	return lease;
}

/* A bench with a Lease that a holds, and the plan of an act on it. */
static struct cluster_lease *lease_planned(struct bench *t, struct deed *d, enum verb verb)
{
	struct cluster_lease *lease;

	bench_init(t);
	lease = lease_made(t, "a");
	bench_show(t, 5000);
	deed_plan(t, d, verb, "lease/ops/one");
	return lease;
}

static void write_lease(struct cluster_lease *lease, const char *holder, int64_t transitions)
{
	struct lease_record r = lease->record;

	r.holder = cluster_identity(lease->o.cluster, holder);
	r.transitions = transitions;
	r.renew_us += 2000000;
	assert_int_equal(cluster_lease_update(lease, &r, 0), 0);
}

static void a_lease_that_changed_hands_is_left_alone(void **state)
{
	struct bench t;
	struct deed d;
	struct cluster_lease *lease = lease_planned(&t, &d, VERB_RELEASE);

	(void)state;
	assert_int_equal(d.plan.verdict, PLAN_READY);
	write_lease(lease, "b", 1);
	assert_int_equal(deed_send(&t, &d), EFFECT_CHANGED);
	assert_string_equal(cluster_identity_text(t.c, lease->record.holder), "b");
	deed_release(&d);
	bench_release(&t);
}

/* A renewal is no change: uid, holder and transitions are what binds. */
static void a_lease_that_was_renewed_is_cleared(void **state)
{
	struct bench t;
	struct deed d;
	struct cluster_lease *lease = lease_planned(&t, &d, VERB_STEP_DOWN);

	(void)state;
	write_lease(lease, "a", 0);
	assert_int_equal(deed_send(&t, &d), EFFECT_DONE);
	assert_int_equal(lease->record.holder, 0);
	assert_int_equal(lease->record.duration_s, 1);
	deed_release(&d);
	bench_release(&t);
}

static void a_lease_that_was_made_anew_is_left_alone(void **state)
{
	struct bench t;
	struct deed d;
	struct cluster_lease *lease = lease_planned(&t, &d, VERB_RELEASE);

	(void)state;
	assert_int_equal(cluster_lease_delete(lease, NULL), 0);
	lease_made(&t, "a");
	assert_int_equal(deed_send(&t, &d), EFFECT_CHANGED);
	assert_string_equal(cluster_identity_text(t.c, lease->record.holder), "a");
	deed_release(&d);
	bench_release(&t);
}

/* What a server without space, one that hangs and one that is away are answered with. */
static void trouble_is_told_as_it_is(void **state)
{
	static const struct {
		enum cluster_trouble trouble;
		enum effect_kind effect;
	} cases[] = {
		{ CLUSTER_READ_ONLY, EFFECT_UNKNOWN },
		{ CLUSTER_HANGS, EFFECT_UNKNOWN },
		{ CLUSTER_DOWN, EFFECT_UNSENT },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bench t;
		struct deed d;
		struct cluster_lease *lease = lease_planned(&t, &d, VERB_RELEASE);

		t.c->trouble = cases[i].trouble;
		assert_int_equal(deed_send(&t, &d), cases[i].effect);
		assert_string_equal(cluster_identity_text(t.c, lease->record.holder), "a");
		if (cases[i].effect == EFFECT_UNKNOWN)
			assert_non_null(strstr(d.effect.find_out.s, "kubectl get --raw"));
		deed_release(&d);
		bench_release(&t);
	}
}

/* ---- CronJobs ---- */

static struct cluster_cronjob *cron_made(struct bench *t, const char *schedule)
{
	struct cluster_work work = { .duration_ms = 3600000,
		.parallelism = 1,
		.completions = 1,
		.deadline_s = TIME_UNKNOWN,
		.grace_s = 30,
		.stop_ms = 20000 };
	struct cluster_cronjob *cron =
		cluster_cronjob_new(t->c, "billing", "close", schedule, NULL, &work);

	cron->o.created_us -= INT64_C(3600000000);
	return cron;
}

#define FAR "0 0 1 1 *"

static void resume_says_whether_a_run_starts_at_once(void **state)
{
	struct cluster_cronjob *cron;
	struct bench t;
	struct deed d;

	(void)state;
	bench_init(&t);
	cron = cron_made(&t, "* * * * *");
	cron->suspended = true;
	bench_show(&t, 5000);
	deed_plan(&t, &d, VERB_RESUME, "cronjob/billing/close");
	assert_true(says(&d.plan.warnings, "starts at once"));
	assert_int_equal(deed_send(&t, &d), EFFECT_DONE);
	assert_false(cron->suspended);
	assert_int_equal(cron->o.generation, 2);
	deed_release(&d);
	bench_release(&t);

	bench_init(&t);
	cron = cron_made(&t, FAR);
	cron->suspended = true;
	bench_show(&t, 5000);
	deed_plan(&t, &d, VERB_RESUME, "cronjob/billing/close");
	assert_true(says(&d.plan.keeps, "no missed slot starts now"));
	deed_release(&d);
	bench_release(&t);
}

static void a_cronjob_that_was_edited_is_left_alone(void **state)
{
	struct cluster_cronjob *cron;
	struct bench t;
	struct deed d;

	(void)state;
	bench_init(&t);
	cron = cron_made(&t, FAR);
	bench_show(&t, 5000);
	deed_plan(&t, &d, VERB_SUSPEND, "cronjob/billing/close");
	cluster_cronjob_reschedule(cron, "@daily", NULL);
	assert_int_equal(deed_send(&t, &d), EFFECT_CHANGED);
	assert_false(cron->suspended);
	deed_release(&d);
	bench_release(&t);
}

static struct cluster_job *run_made(struct bench *t, struct cluster_cronjob *cron)
{
	return cluster_job_new(t->c, cron, "billing", "close-one", TIME_UNKNOWN, &cron->work);
}

/* Another Job of the same name is another run. */
static void a_run_that_was_made_anew_is_left_alone(void **state)
{
	struct cluster_cronjob *cron;
	struct bench t;
	struct deed d;

	(void)state;
	bench_init(&t);
	cron = cron_made(&t, FAR);
	world_run(t.w, 3000);
	cluster_job_delete(run_made(&t, cron), false);
	run_made(&t, cron);
	bench_show(&t, 8000);
	deed_plan(&t, &d, VERB_RELEASE, "cronjob/billing/close");
	assert_int_equal(d.plan.verdict, PLAN_READY);
	assert_true(says(&d.plan.destroys, "pod"));
	cluster_job_delete(
		(struct cluster_job *)cluster_get(t.c, CLUSTER_JOB, "billing", "close-one"), false);
	run_made(&t, cron);
	assert_int_equal(deed_send(&t, &d), EFFECT_CHANGED);
	assert_int_equal(t.c->n[CLUSTER_JOB], 1);
	deed_release(&d);
	bench_release(&t);
}

static void a_run_that_is_released_goes_behind_its_pods(void **state)
{
	struct cluster_cronjob *cron;
	struct sight sight;
	struct bench t;
	struct deed d;

	(void)state;
	bench_init(&t);
	cron = cron_made(&t, FAR);
	world_run(t.w, 3000);
	run_made(&t, cron);
	bench_show(&t, 8000);
	deed_plan(&t, &d, VERB_RELEASE, "cronjob/billing/close");
	assert_int_equal(deed_send(&t, &d), EFFECT_DONE);
	world_run(t.w, 12000);
	sight_init(&sight);
	assert_int_equal(d.act->look(t.state, &t.r, &d.order, &d.plan, &sight, &d.err), 0);
	assert_true(sight.settled);
	assert_int_equal(sight.overlap, OVERLAP_OPEN);
	assert_non_null(strstr(sight.text.s, "Terminating"));
	world_run(t.w, 40000);
	assert_int_equal(d.act->look(t.state, &t.r, &d.order, &d.plan, &sight, &d.err), 0);
	assert_int_equal(sight.overlap, OVERLAP_CLOSED);
	assert_int_equal(t.c->n[CLUSTER_JOB], 0);
	sight_release(&sight);
	deed_release(&d);
	bench_release(&t);
}

static void a_run_by_hand_is_the_cronjobs_own(void **state)
{
	struct cluster_cronjob *cron;
	const struct cluster_job *job;
	struct bench t;
	struct deed d;

	(void)state;
	bench_init(&t);
	cron = cron_made(&t, FAR);
	bench_show(&t, 5000);
	deed_plan(&t, &d, VERB_TRIGGER, "cronjob/billing/close");
	assert_int_equal(deed_send(&t, &d), EFFECT_DONE);
	job = (const struct cluster_job *)t.c->first[CLUSTER_JOB];
	assert_non_null(job);
	assert_true(job->manual);
	assert_string_equal(job->owner_uid, cron->o.uid);
	deed_release(&d);
	bench_release(&t);
}

/* ---- what the menu tells ---- */

static void assert_hinders(struct bench *t, enum verb verb, const char *path, const char *why)
{
	const struct singleton *row = fake_round_row(&t->r, path);
	const char *said;

	assert_non_null(row);
	said = case_of(row->mechanism, verb)->hinders(row, verb);
	if (why)
		assert_string_equal(said, why);
	else
		assert_null(said);
}

static void the_menu_knows_what_is_suspended(void **state)
{
	static const char path[] = "cronjob/billing/close";
	struct bench t;
	int suspended;

	(void)state;
	for (suspended = 0; suspended < 2; suspended++) {
		const char *already = suspended ? "it is suspended already" : NULL;

		bench_init(&t);
		lease_made(&t, "a");
		cron_made(&t, FAR)->suspended = suspended;
		bench_show(&t, 5000);
		assert_hinders(&t, VERB_SUSPEND, path, already);
		assert_hinders(&t, VERB_STEP_DOWN, path, already);
		assert_hinders(&t, VERB_RESUME, path, suspended ? NULL : "it is not suspended");
		assert_hinders(&t, VERB_TRIGGER, path, NULL);
		assert_hinders(&t, VERB_STEP_DOWN, "lease/ops/one", NULL);
		bench_release(&t);
	}
}

/* ---- who is behind a row ---- */

static void the_process_behind_a_row(void **state)
{
	const struct lease_options options = { .ns = "ops",
		.name = "one",
		.duration_ms = 15000,
		.deadline_ms = 10000,
		.retry_ms = 2000,
		.exits = true };
	const struct sim_view *view = &sim_part_cluster.views[0];
	struct cluster_cronjob *cron;
	struct sim_source *s;
	struct process *p;
	struct bench t;

	(void)state;
	bench_init(&t);
	p = process_new(t.w, "operator", machine_new(t.w, "node-1"), NULL);
	cluster_pod_program(t.c, p, "ops", NULL);
	lease_client_new(t.c, p, &options);
	process_start(t.w, p);
	cron = cron_made(&t, FAR);
	world_run(t.w, 3000);
	run_made(&t, cron);
	bench_show(&t, 9000);
	s = sim_enter(t.state);
	assert_ptr_equal(view->behind(s, fake_round_row(&t.r, "lease/ops/one"), NULL), p);
	p = view->behind(s, fake_round_row(&t.r, "cronjob/billing/close"), NULL);
	assert_non_null(p);
	assert_true(process_lives(p));
	sim_leave(s);
	bench_release(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lease_that_changed_hands_is_left_alone),
		cmocka_unit_test(a_lease_that_was_renewed_is_cleared),
		cmocka_unit_test(a_lease_that_was_made_anew_is_left_alone),
		cmocka_unit_test(trouble_is_told_as_it_is),
		cmocka_unit_test(resume_says_whether_a_run_starts_at_once),
		cmocka_unit_test(a_cronjob_that_was_edited_is_left_alone),
		cmocka_unit_test(a_run_that_was_made_anew_is_left_alone),
		cmocka_unit_test(a_run_that_is_released_goes_behind_its_pods),
		cmocka_unit_test(a_run_by_hand_is_the_cronjobs_own),
		cmocka_unit_test(the_menu_knows_what_is_suspended),
		cmocka_unit_test(the_process_behind_a_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
