#include "config.h"

#include "base/clock.h"
#include "base/mem.h"
#include "model/schedule.h"
#include "sim/scheduler.h"
#include "source/sim.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * A scheduler's DAGs on the screen, with the facts as Airflow's REST API (v2) names them: dags and
 * their is_paused, max_active_runs, catchup; dagRuns and their logical_date, state, run_type.
 */
enum {
	KEY_MAX = SIM_DAG_RUN_ID + 16,
	FRESH_BEATS = 6 /* a task is at work whose last heartbeat is younger than so many */
};

static int check_scheduler(const struct sim_scheduler *s, struct err *err)
{
	if (s->process->state == PROCESS_RUNNING)
		return 0;
	if (process_lives(s->process))
		return err_set(err, ERR_TIMEOUT,
			"%s took the connection and then said nothing within %d.0 s: it hangs, or "
			"is overloaded. Check the process there, and its load",
			s->thing.name, SIM_PATIENCE_S);
	return err_set(err, ERR_CONNECT, "%s refused the connection: nothing listens there",
		s->thing.name);
}

/* ---- the picture ---- */

static bool is_fresh(const struct sim_dag_run *run, int64_t now_us)
{
	return run->beat_us && now_us - run->beat_us < INT64_C(1000000) * FRESH_BEATS * 5;
}

static enum run_state state_of(const struct sim_dag_run *run)
{
	switch (run->state) {
	case SIM_DAG_QUEUED:
	case SIM_DAG_RUNNING:
		return RUN_RUNNING;
	case SIM_DAG_SUCCESS:
		return RUN_SUCCEEDED;
	case SIM_DAG_FAILED:
		break;
	}
	return RUN_FAILED;
}

/* Its task, as far as the scheduler hears of it: also of a run that it gave up. */
static void tell_task(
	struct draft *d, const struct sim_dag *dag, const struct sim_dag_run *run, int64_t now_us)
{
	char name[SIM_DAG_NAME + 8], key[KEY_MAX];
	bool over = run->state == SIM_DAG_SUCCESS ||
		    (run->state == SIM_DAG_FAILED && run->beat_us <= run->end_us);
	struct pod task = {
		.name = name,
		.key = key,
		.node = run->worker ? run->worker->machine->thing.name : NULL,
		.phase = over                    ? POD_SUCCEEDED
			 : is_fresh(run, now_us) ? POD_RUNNING
						 : POD_PHASE_UNKNOWN,
		.node_ready = TRI_UNKNOWN,
		.containers_running = over                    ? 0
				      : is_fresh(run, now_us) ? 1
							      : -1,
		.restarts = -1,
		.start_us = run->start_us,
		.end_us = over ? run->end_us : TIME_UNKNOWN,
		.deleted_us = TIME_UNKNOWN,
	};

	if (!run->start_us)
		return;
	snprintf(name, sizeof(name), "%s.work", dag->name);
	snprintf(key, sizeof(key), "task:%" PRId64, run->number);
	draft_pod(d, &task);
}

static int64_t or_unknown(int64_t us)
{
	return us ? us : TIME_UNKNOWN;
}

static void tell_run(
	struct draft *d, const struct sim_dag *dag, const struct sim_dag_run *from, int64_t now_us)
{
	char key[KEY_MAX];
	struct run run = {
		.name = from->id,
		.key = key,
		.state = state_of(from),
		.listed = TRI_UNKNOWN,
		.manual = from->manual,
		.attempts = from->start_us ? 1 : 0,
		.slot_us = from->manual ? TIME_UNKNOWN : from->slot_us,
		.created_us = from->queued_us,
		.start_us = or_unknown(from->start_us),
		.end_us = or_unknown(from->end_us),
		.deleted_us = TIME_UNKNOWN,
		.deadline_s = dag->timeout_ms ? dag->timeout_ms / 1000 : TIME_UNKNOWN,
		.parallelism = 1,
	};

	snprintf(key, sizeof(key), "run:%s", from->id);
	draft_run(d, &run);
	draft_text(d, DETAIL_STATE, sim_dag_state_word(from->state));
	draft_text(d, DETAIL_RUN_TYPE, from->manual ? "manual" : "scheduled");
	if (from->beat_us)
		draft_int(d, DETAIL_HEARTBEAT, from->beat_us);
	tell_task(d, dag, from, now_us);
}

static void tell_dag(struct sim_source *s, struct round *r, const struct sim_dag *dag)
{
	const struct sim_scheduler *scheduler = (const struct sim_scheduler *)s->thing;
	struct draft *d = round_draft(r);
	int64_t now_us = sim_scheduler_now_us(s->world, scheduler);
	struct schedule *schedule = schedule_new(dag->schedule, NULL, NULL);
	size_t i;

	draft_begin(d, MECH_AIRFLOW_DAG, s->config->name, dag->name, strlen(dag->name));
	draft_schedule(d, schedule);
	schedule_unref(schedule);
	draft_text(d, DETAIL_SCHEDULE, dag->schedule);
	draft_int(d, DETAIL_MAX_ACTIVE_RUNS, dag->max_active_runs);
	draft_int(d, DETAIL_SUSPENDED, dag->paused);
	draft_int(d, DETAIL_CATCHUP, dag->catchup);
	draft_int(d, DETAIL_SLOTS_MISSED, dag->missed);
	for (i = 0; i < dag->n_runs; i++)
		tell_run(d, dag, &dag->runs[i], now_us);
	draft_run_holders(d);
	round_put(r, draft_finish(d));
}

static int view_tell(struct sim_source *s, struct round *r, struct err *err)
{
	const struct sim_scheduler *scheduler = (const struct sim_scheduler *)s->thing;
	const struct sim_dag *dag;
	struct draft *d = round_draft(r);
	int rc = check_scheduler(scheduler, err);

	if (rc)
		return rc;
	round_begin(r);
	for (dag = scheduler->dags; dag; dag = dag->next)
		tell_dag(s, r, dag);
	draft_begin(d, MECH_SOURCE, s->config->name, "", 0);
	draft_int(d, DETAIL_SERVER_TIME, sim_scheduler_now_us(s->world, scheduler));
	draft_int(d, DETAIL_READ_AT, clock_wall_us(round_clock(r)));
	round_self(r, draft_finish(d));
	round_end(r);
	return 0;
}

static struct sim_dag_run *run_at(struct sim_dag *dag, const char *key)
{
	return dag && key && str_starts(key, "run:") ? sim_dag_run_find(dag, key + 4) : NULL;
}

static struct process *view_behind(
	struct sim_source *s, const struct singleton *row, const char *key)
{
	const struct sim_dag_run *run =
		run_at(sim_dag_find((struct sim_scheduler *)s->thing, singleton_path(row)), key);

	return run ? run->worker : NULL;
}

/* ---- acts ---- */

struct acting {
	struct sim_source *s;
	struct sim_scheduler *scheduler;
	struct sim_dag *dag;     /* NULL: gone */
	struct sim_dag_run *run; /* of a release */
};

static int begin(struct acting *a, void *state, const struct order *order, struct err *err)
{
	a->s = sim_enter(state);
	a->scheduler = (struct sim_scheduler *)a->s->thing;
	a->dag = sim_dag_find(a->scheduler, singleton_path(order->s));
	a->run = run_at(a->dag, order->key);
	return check_scheduler(a->scheduler, err);
}

static void plan_fail(struct acting *a, struct plan *plan)
{
	if (!a->run) {
		plan_changed(plan, "there is no such run any more");
		return;
	}
	if (a->run->state != SIM_DAG_QUEUED && a->run->state != SIM_DAG_RUNNING) {
		plan_changed(plan, "the run is over: %s", sim_dag_state_word(a->run->state));
		return;
	}
	plan_text(&plan->request, "PATCH /api/v2/dags/%s/dagRuns/%s {\"state\": \"failed\"}",
		a->dag->name, a->run->id);
	plan_add(&plan->destroys, "the run, which counts as failed", a->run->id);
	plan_add(&plan->told, "its task: with its next heartbeat", NULL);
	plan_text(&plan->gap_why, "the next slot's run may start once it does not count as active");
	plan_text(&plan->last_sign, "its task sent a heartbeat");
	plan->last_sign_us = a->run->beat_us;
	plan_warn(plan, "a task that is cut off from the scheduler gets no answer to its "
			"heartbeat, and works on");
}

static void plan_paused(struct acting *a, bool paused, struct plan *plan)
{
	if (a->dag->paused == paused) {
		plan_refuse(plan, "the DAG is %s already", paused ? "paused" : "not paused");
		return;
	}
	plan_text(&plan->request, "PATCH /api/v2/dags/%s {\"is_paused\": %s}", a->dag->name,
		paused ? "true" : "false");
	if (paused)
		plan_add(&plan->keeps, "runs that are active: they go on", NULL);
	else
		plan_warn(
			plan, a->dag->catchup
				      ? "catchup is on: every slot that passed meanwhile gets its "
					"run"
				      : "the newest slot that passed meanwhile gets its run at "
					"once");
}

static void plan_trigger(struct acting *a, struct plan *plan)
{
	size_t active = sim_dag_active(a->dag);

	plan_text(&plan->request, "POST /api/v2/dags/%s/dagRuns {\"logical_date\": null}",
		a->dag->name);
	if (a->dag->paused)
		plan_warn(plan, "the DAG is paused: the run waits until it is resumed");
	if (active >= (size_t)a->dag->max_active_runs)
		plan_warn(plan, "%zu of %d runs are active: it waits until one is over", active,
			a->dag->max_active_runs);
	else if (active)
		plan_warn(plan, "%zu active: two runs will be at work at once", active);
}

static void make_plan(struct acting *a, const struct order *order, struct plan *plan)
{
	if (!a->dag) {
		plan_changed(plan, "there is no such DAG any more");
		return;
	}
	plan->permission = TRI_YES;
	plan_text(&plan->guarded_by, "%s",
		"nothing: the API takes no condition; it was read directly before");
	if (order->verb == VERB_RELEASE)
		plan_fail(a, plan);
	else if (order->verb == VERB_TRIGGER)
		plan_trigger(a, plan);
	else
		plan_paused(a, order->verb == VERB_SUSPEND, plan);
}

static int act_plan(
	void *state, struct round *r, const struct order *order, struct plan *plan, struct err *err)
{
	struct acting a;
	int rc = begin(&a, state, order, err);

	(void)r;
	if (!rc)
		make_plan(&a, order, plan);
	sim_leave(a.s);
	return rc;
}

static void do_it(struct acting *a, const struct order *order, struct effect *effect)
{
	effect->kind = EFFECT_DONE;
	if (!a->dag || (order->verb == VERB_RELEASE && !a->run)) {
		effect->kind = EFFECT_CHANGED;
		str_add(&effect->answer, "404: there is no such DAG or run any more");
		return;
	}
	if (order->verb == VERB_RELEASE)
		sim_dag_fail(a->s->world, a->scheduler, a->dag, a->run);
	else if (order->verb == VERB_TRIGGER)
		sim_dag_trigger(a->s->world, a->scheduler, a->dag);
	else
		sim_dag_pause(a->s->world, a->scheduler, a->dag, order->verb == VERB_SUSPEND);
	str_add(&effect->answer, "200 OK");
	sim_acted(a->s, order, "%s %s", verb_word(order->verb)->word, order->s->id);
}

static int act_send(void *state, struct round *r, const struct order *order,
	const struct plan *plan, struct effect *effect, struct err *err)
{
	struct acting a;
	int rc;

	(void)r;
	(void)plan;
	effect->kind = EFFECT_UNSENT;
	rc = begin(&a, state, order, err);
	if (!rc)
		do_it(&a, order, effect);
	sim_leave(a.s);
	return rc;
}

static void look(struct acting *a, const struct order *order, struct sight *sight)
{
	if (order->verb == VERB_RELEASE) {
		sight->settled = !a->run || a->run->state == SIM_DAG_FAILED;
		sight->overlap = OVERLAP_OPEN;
		str_addf(&sight->text, "the run is %s",
			a->run ? sim_dag_state_word(a->run->state) : "gone");
	} else if (order->verb == VERB_TRIGGER) {
		sight->settled = a->dag && a->dag->n_runs && a->dag->runs[0].manual;
		str_addf(&sight->text, "the newest run is %s",
			a->dag && a->dag->n_runs ? sim_dag_state_word(a->dag->runs[0].state)
						 : "none");
	} else {
		sight->settled = a->dag && a->dag->paused == (order->verb == VERB_SUSPEND);
		str_addf(&sight->text, "the DAG is %s",
			a->dag && a->dag->paused ? "paused" : "not paused");
	}
}

static int act_look(void *state, struct round *r, const struct order *order,
	const struct plan *plan, struct sight *sight, struct err *err)
{
	struct acting a;
	int rc = begin(&a, state, order, err);

	(void)r;
	(void)plan;
	str_clear(&sight->text);
	if (!rc)
		look(&a, order, sight);
	sim_leave(a.s);
	return rc;
}

#define DAG_ACT(id, asks)                                                                          \
	{                                                                                          \
		.mechanism = MECH_AIRFLOW_DAG, .verb = VERB_##id, .request = (asks),               \
		.needs = "can_edit on DAGs", .plan = act_plan, .send = act_send, .look = act_look, \
		.hinders = act_suspend_hinders                                                     \
	}

static const struct act_case view_acts[] = {
	DAG_ACT(RELEASE, "PATCH of the DAG run: state failed"),
	DAG_ACT(SUSPEND, "PATCH of the DAG: is_paused true"),
	DAG_ACT(RESUME, "PATCH of the DAG: is_paused false"),
	DAG_ACT(TRIGGER, "POST of a DAG run"),
};

static const struct sim_view views[] = {
	{ .source = { SIM_SOURCE("scheduler", "a scheduler's DAGs and their runs"),
		  .acts = view_acts, .n_acts = ARRAY_LEN(view_acts) },
		.ops = &sim_scheduler_ops,
		.tell = view_tell,
		.behind = view_behind },
	{ .ops = NULL },
};

/* ---- what a scenario may write ---- */

static const struct option_def scheduler_options[] = {
	{ "name", OPTION_TEXT, NULL, "Its name; its process has the same.", NULL, NULL, true },
	{ "machine", OPTION_TEXT, NULL, "The machine that it runs on.", NULL, NULL, true },
	{ "zombie_timeout", OPTION_DURATION, "300s",
		"After so long without a heartbeat a run counts as failed "
		"(task_instance_heartbeat_timeout).",
		NULL, NULL, false },
	{ 0 },
};

static int scheduler_make(struct world *w, const struct option_values *v, struct err *err)
{
	struct machine *machine = (struct machine *)sim_find(w, &machine_ops, v, "machine", err);
	struct sim_scheduler *s;

	if (!machine || sim_check_new(w, &sim_scheduler_ops, v, err) ||
		sim_check_new(w, &process_ops, v, err))
		return ERR_CONFIG;
	s = sim_scheduler_new(w, option_value_text(v, "name"), machine);
	s->zombie_ms = option_value_int(v, "zombie_timeout");
	process_start(w, s->process);
	return 0;
}

static const struct option_def dag_options[] = {
	{ "scheduler", OPTION_TEXT, NULL, "Whose it is.", NULL, NULL, true },
	{ "name", OPTION_TEXT, NULL, "Its dag_id.", NULL, NULL, true },
	{ "schedule", OPTION_TEXT, NULL, "When a run is due, as cron writes it, in UTC.", NULL,
		NULL, true },
	{ "max_active_runs", OPTION_INT, "1", "How many of its runs may be active at once.", NULL,
		NULL, false },
	{ "catchup", OPTION_BOOL, "false", "Whether slots that were missed get their runs later.",
		NULL, NULL, false },
	{ "paused", OPTION_BOOL, "false", "Whether it is paused.", NULL, NULL, false },
	{ "takes", OPTION_DURATION, "30s", "How long a run takes.", NULL, NULL, false },
	{ "timeout", OPTION_DURATION, "0s", "dagrun_timeout; 0: none.", NULL, NULL, false },
	{ "duty", OPTION_TEXT, NULL, "What counts who works.", NULL, NULL, false },
	{ 0 },
};

static int dag_make(struct world *w, const struct option_values *v, struct err *err)
{
	struct sim_scheduler *s =
		(struct sim_scheduler *)sim_find(w, &sim_scheduler_ops, v, "scheduler", err);
	const char *name = option_value_text(v, "name");
	struct sim_dag *dag;
	struct cron cron;

	if (!s || cron_parse(option_value_text(v, "schedule"), &cron, err))
		return ERR_CONFIG;
	if (sim_dag_find(s, name))
		return err_set(err, ERR_CONFIG, "there are two DAGs '%.60s'", name);
	if (option_value_int(v, "max_active_runs") < 1)
		return err_set(err, ERR_CONFIG, "max_active_runs must be 1 or more");
	dag = sim_dag_new(w, s, name, &cron, option_value_text(v, "schedule"));
	dag->max_active_runs = (int)option_value_int(v, "max_active_runs");
	dag->catchup = option_value_int(v, "catchup");
	dag->paused = option_value_int(v, "paused");
	dag->takes_ms = option_value_int(v, "takes");
	dag->timeout_ms = option_value_int(v, "timeout");
	if (!option_value_set(v, "duty"))
		return 0;
	dag->duty = (struct duty *)sim_find(w, &duty_ops, v, "duty", err);
	return dag->duty ? 0 : ERR_CONFIG;
}

static const struct sim_thing things[] = {
	{ "schedulers", "Schedulers of DAGs, as Apache Airflow is one.", scheduler_options,
		scheduler_make },
	{ "dags", "Their DAGs.", dag_options, dag_make },
	{ 0 },
};

static const struct option_def worker_options[] = {
	{ "scheduler", OPTION_TEXT, NULL, "Whose runs it executes, one at a time.", NULL, NULL,
		true },
	{ "hangs", OPTION_BOOL, "false", "What it takes it never ends.", NULL, NULL, false },
	{ 0 },
};

static int worker_make(
	struct world *w, struct process *p, const struct option_values *v, struct err *err)
{
	struct sim_scheduler *s =
		(struct sim_scheduler *)sim_find(w, &sim_scheduler_ops, v, "scheduler", err);
	struct sim_worker *k;

	if (!s)
		return ERR_CONFIG;
	k = sim_worker_new(p);
	k->scheduler = s;
	k->hangs = option_value_int(v, "hangs");
	return 0;
}

static const struct sim_program programs[] = {
	{ "airflow-worker", "Executes runs of DAGs.", worker_options, worker_make },
	{ 0 },
};

static const struct sim_fault faults[] = { { 0 } };

const struct sim_part sim_part_scheduler = {
	.word = "scheduler",
	.things = things,
	.programs = programs,
	.faults = faults,
	.views = views,
};
