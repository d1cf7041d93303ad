#include "config.h"

#include "base/civil.h"
#include "base/mem.h"
#include "sim/scheduler.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	LOOP_MS = 5000, /* scheduler_heartbeat_sec */
	ZOMBIE_MS = 300 * 1000,
	POLL_MS = 5000,
	BEAT_MS = 5000, /* task_instance_heartbeat_sec */
	RESTART_MS = 5000,
	SLOTS_MOST = 1000
};

/* The scheduler's own process. */
struct loop {
	struct program program; /* first */
	struct sim_scheduler *scheduler;
};

static void scheduler_free(struct thing *t)
{
	struct sim_scheduler *s = (struct sim_scheduler *)t;
	struct sim_dag *dag, *next;

	for (dag = s->dags; dag; dag = next) {
		next = dag->next;
		free(dag);
	}
	free(s);
}

const struct thing_ops sim_scheduler_ops = { .kind = "scheduler", .free = scheduler_free };

const char *sim_dag_state_word(enum sim_dag_state state)
{
	static const char *const words[] = { "queued", "running", "success", "failed" };

	return words[state];
}

int64_t sim_scheduler_now_us(const struct world *w, const struct sim_scheduler *s)
{
	return process_clock_us(w, s->process);
}

/* ---- runs ---- */

static bool is_active(const struct sim_dag_run *run)
{
	return run->state == SIM_DAG_QUEUED || run->state == SIM_DAG_RUNNING;
}

size_t sim_dag_active(const struct sim_dag *dag)
{
	size_t i, n = 0;

	for (i = 0; i < dag->n_runs; i++)
		n += is_active(&dag->runs[i]);
	return n;
}

static size_t count_running(const struct sim_dag *dag)
{
	size_t i, n = 0;

	for (i = 0; i < dag->n_runs; i++)
		n += dag->runs[i].state == SIM_DAG_RUNNING;
	return n;
}

static struct sim_dag_run *run_new(
	struct world *w, struct sim_scheduler *s, struct sim_dag *dag, int64_t slot_us, bool manual)
{
	struct sim_dag_run *run = &dag->runs[0];
	struct civil at;

	if (dag->n_runs == SIM_DAG_RUNS)
		dag->n_runs--;
	memmove(&dag->runs[1], &dag->runs[0], dag->n_runs * sizeof(dag->runs[0]));
	dag->n_runs++;
	memset(run, 0, sizeof(*run));
	run->number = ++s->runs_made;
	run->slot_us = slot_us;
	run->manual = manual;
	run->queued_us = sim_scheduler_now_us(w, s);
	civil_from_seconds(slot_us / 1000000, &at);
	snprintf(run->id, sizeof(run->id), "%s__%04d-%02d-%02dT%02d:%02d:%02d+00:00",
		manual ? "manual" : "scheduled", (int)(at.year % 10000), at.month % 100,
		at.day % 100, at.hour % 100, at.minute % 100, at.second % 100);
	world_tell(w, HAPPENING_RUN, s->thing.name, dag->name, 0, "the run %s of %s is made",
		run->id, dag->name);
	thing_changed(&s->thing);
	return run;
}

static void run_end(struct world *w, struct sim_scheduler *s, struct sim_dag *dag,
	struct sim_dag_run *run, enum sim_dag_state state)
{
	run->state = state;
	run->end_us = sim_scheduler_now_us(w, s);
	world_tell(w, HAPPENING_RUN, s->thing.name, dag->name, 0, "the run %s of %s: %s", run->id,
		dag->name, sim_dag_state_word(state));
	thing_changed(&s->thing);
}

struct sim_dag_run *sim_dag_run_find(struct sim_dag *dag, const char *id)
{
	size_t i;

	for (i = 0; i < dag->n_runs; i++)
		if (strcmp(dag->runs[i].id, id) == 0)
			return &dag->runs[i];
	return NULL;
}

void sim_dag_fail(
	struct world *w, struct sim_scheduler *s, struct sim_dag *dag, struct sim_dag_run *run)
{
	run_end(w, s, dag, run, SIM_DAG_FAILED);
}

void sim_dag_pause(struct world *w, struct sim_scheduler *s, struct sim_dag *dag, bool paused)
{
	(void)w;
	dag->paused = paused;
	thing_changed(&s->thing);
}

struct sim_dag_run *sim_dag_trigger(struct world *w, struct sim_scheduler *s, struct sim_dag *dag)
{
	return run_new(w, s, dag, sim_scheduler_now_us(w, s), true);
}

/* ---- the loop ---- */

static void look_for_zombies(struct world *w, struct sim_scheduler *s, struct sim_dag *dag)
{
	int64_t now_us = sim_scheduler_now_us(w, s);
	size_t i;

	for (i = 0; i < dag->n_runs; i++) {
		struct sim_dag_run *run = &dag->runs[i];

		if (run->state != SIM_DAG_RUNNING)
			continue;
		if (now_us - run->beat_us > s->zombie_ms * 1000 ||
			(dag->timeout_ms && now_us - run->start_us > dag->timeout_ms * 1000))
			run_end(w, s, dag, run, SIM_DAG_FAILED);
	}
}

/* Without catchup the newest slot alone gets its run. */
static void make_runs(struct world *w, struct sim_scheduler *s, struct sim_dag *dag)
{
	int64_t now_us = sim_scheduler_now_us(w, s), slot_us, next_us;
	int i;

	for (i = 0; i < SLOTS_MOST; i++) {
		if (sim_dag_active(dag) >= (size_t)dag->max_active_runs ||
			!cron_next(&dag->cron, zone_utc(), dag->last_slot_us, &slot_us) ||
			slot_us > now_us)
			return;
		while (!dag->catchup && i++ < SLOTS_MOST &&
			cron_next(&dag->cron, zone_utc(), slot_us, &next_us) && next_us <= now_us) {
			dag->missed++;
			world_tell(w, HAPPENING_MISSED, s->thing.name, dag->name, 0,
				"a slot of %s passes without a run", dag->name);
			slot_us = next_us;
		}
		dag->last_slot_us = slot_us;
		run_new(w, s, dag, slot_us, false);
	}
}

static void loop_due(struct world *w, struct process *p, void *who, int64_t a)
{
	struct sim_scheduler *s = who;
	struct sim_dag *dag;

	(void)a;
	for (dag = s->dags; dag; dag = dag->next) {
		look_for_zombies(w, s, dag);
		if (!dag->paused)
			make_runs(w, s, dag);
	}
	process_after(w, p, LOOP_MS, loop_due, s, 0);
}

static void loop_start(struct world *w, struct program *g)
{
	struct sim_scheduler *s = ((struct loop *)g)->scheduler;

	thing_changed(&s->thing);
	process_after(w, g->process, LOOP_MS, loop_due, s, 0);
}

static void loop_ended(struct world *w, struct program *g, enum process_end how)
{
	(void)w;
	(void)how;
	thing_changed(&((struct loop *)g)->scheduler->thing);
}

static const struct program_ops loop_ops = {
	.word = "scheduler",
	.start = loop_start,
	.ended = loop_ended,
};

struct sim_scheduler *sim_scheduler_new(struct world *w, const char *name, struct machine *machine)
{
	struct sim_scheduler *s = xcalloc(1, sizeof(*s));
	struct loop *g = xcalloc(1, sizeof(*g));

	s->zombie_ms = ZOMBIE_MS;
	world_add(w, &s->thing, &sim_scheduler_ops, name);
	s->process = process_new(w, name, machine, name);
	s->process->hidden = true;
	s->process->restart_after_ms = RESTART_MS;
	g->scheduler = s;
	process_program(s->process, &g->program, &loop_ops);
	return s;
}

struct sim_dag *sim_dag_find(struct sim_scheduler *s, const char *name)
{
	struct sim_dag *dag;

	for (dag = s->dags; dag; dag = dag->next)
		if (strcmp(dag->name, name) == 0)
			return dag;
	return NULL;
}

struct sim_dag *sim_dag_new(struct world *w, struct sim_scheduler *s, const char *name,
	const struct cron *cron, const char *schedule)
{
	struct sim_dag *dag = xcalloc(1, sizeof(*dag)), **at;

	snprintf(dag->name, sizeof(dag->name), "%s", name);
	snprintf(dag->schedule, sizeof(dag->schedule), "%s", schedule);
	dag->cron = *cron;
	dag->max_active_runs = 16; /* max_active_runs_per_dag */
	dag->last_slot_us = sim_scheduler_now_us(w, s);
	for (at = &s->dags; *at; at = &(*at)->next)
		;
	*at = dag;
	return dag;
}

/* ---- what a worker asks ---- */

enum scheduler_op {
	SCHEDULER_TAKE, /* value: the run's number, 0: none; value2: how long it takes */
	SCHEDULER_BEAT, /* b: the number; value: whether to go on */
	SCHEDULER_DONE
};

static bool serve_take(struct world *w, struct sim_scheduler *s, struct net_call *call)
{
	struct sim_worker *worker = call->who;
	struct sim_dag *dag;
	size_t i;

	for (dag = s->dags; dag; dag = dag->next) {
		if (count_running(dag) >= (size_t)dag->max_active_runs)
			continue;
		/* The oldest first. */
		for (i = dag->n_runs; i-- > 0;) {
			struct sim_dag_run *run = &dag->runs[i];

			if (run->state != SIM_DAG_QUEUED)
				continue;
			run->state = SIM_DAG_RUNNING;
			run->start_us = run->beat_us = sim_scheduler_now_us(w, s);
			run->worker = call->from;
			worker->dag = dag;
			call->value = run->number;
			call->value2 = dag->takes_ms;
			thing_changed(&s->thing);
			return true;
		}
	}
	return true;
}

static struct sim_dag_run *run_of(struct sim_scheduler *s, int64_t number, struct sim_dag **ret)
{
	struct sim_dag *dag;
	size_t i;

	for (dag = s->dags; dag; dag = dag->next)
		for (i = 0; i < dag->n_runs; i++)
			if (dag->runs[i].number == number) {
				*ret = dag;
				return &dag->runs[i];
			}
	return NULL;
}

static bool serve(struct world *w, struct net_call *call)
{
	struct sim_scheduler *s = (struct sim_scheduler *)call->server;
	struct sim_dag *dag;
	struct sim_dag_run *run;

	if (s->process->state != PROCESS_RUNNING) {
		call->code = NET_REFUSED;
		return true;
	}
	if (call->op == SCHEDULER_TAKE)
		return serve_take(w, s, call);
	run = run_of(s, call->b, &dag);
	if (run && run->worker == call->from) {
		run->beat_us = sim_scheduler_now_us(w, s);
		call->value = run->state == SIM_DAG_RUNNING;
		if (call->op == SCHEDULER_DONE && call->value)
			run_end(w, s, dag, run, SIM_DAG_SUCCESS);
	}
	return true;
}

/* ---- workers ---- */

static void worker_poll(struct world *w, struct process *p, void *who, int64_t a);

static void worker_ask(
	struct world *w, struct sim_worker *k, enum scheduler_op op, net_reply *reply)
{
	struct net_call call = { .from = k->program.process,
		.to = k->scheduler->process->machine,
		.server = &k->scheduler->thing,
		.serve = serve,
		.reply = reply,
		.who = k,
		.op = op,
		.b = k->number };

	net_call(w, &call);
}

static void worker_rests(struct world *w, struct sim_worker *k)
{
	if (k->number && k->dag->duty)
		duty_end(w, k->dag->duty, k->program.process);
	k->number = 0;
	process_after(w, k->program.process, k->poll_ms, worker_poll, k, 0);
}

static void worker_beaten(struct world *w, struct process *p, const struct net_call *call)
{
	struct sim_worker *k = call->who;

	(void)p;
	/* Its run is not running any more: the task ends itself. */
	if (call->code == NET_OK && !call->value && k->number == call->b)
		worker_rests(w, k);
}

static void worker_beat(struct world *w, struct process *p, void *who, int64_t number)
{
	struct sim_worker *k = who;

	if (k->number != number)
		return;
	worker_ask(w, k, SCHEDULER_BEAT, worker_beaten);
	process_after(w, p, k->beat_ms, worker_beat, k, number);
}

static void worker_over(struct world *w, struct process *p, void *who, int64_t number)
{
	struct sim_worker *k = who;

	(void)p;
	if (k->number != number || k->hangs)
		return;
	k->done++;
	worker_ask(w, k, SCHEDULER_DONE, NULL);
	worker_rests(w, k);
}

static void worker_took(struct world *w, struct process *p, const struct net_call *call)
{
	struct sim_worker *k = call->who;

	if (call->code != NET_OK || !call->value) {
		process_after(w, p, k->poll_ms, worker_poll, k, 0);
		return;
	}
	k->number = call->value;
	if (k->dag->duty)
		duty_begin(w, k->dag->duty, p, 0);
	process_after(w, p, k->beat_ms, worker_beat, k, k->number);
	process_after(w, p, call->value2, worker_over, k, k->number);
}

static void worker_poll(struct world *w, struct process *p, void *who, int64_t a)
{
	struct sim_worker *k = who;

	(void)p;
	(void)a;
	if (!k->number)
		worker_ask(w, k, SCHEDULER_TAKE, worker_took);
}

static void worker_start(struct world *w, struct program *g)
{
	struct sim_worker *k = (struct sim_worker *)g;

	k->number = 0;
	worker_poll(w, g->process, k, 0);
}

static void worker_ended(struct world *w, struct program *g, enum process_end how)
{
	struct sim_worker *k = (struct sim_worker *)g;

	(void)how;
	if (k->number && k->dag->duty)
		duty_end(w, k->dag->duty, g->process);
	k->number = 0;
}

static void worker_asked(const struct world *w, const struct program *g, char *buf, size_t size)
{
	const struct sim_worker *k = (const struct sim_worker *)g;

	(void)w;
	if (k->number)
		snprintf(buf, size, "it executes a run of %s%s", k->dag->name,
			k->hangs ? ", and does not get on" : "");
	else
		snprintf(buf, size, "it waits for a run");
}

static const struct program_ops worker_ops = {
	.word = "airflow-worker",
	.start = worker_start,
	.ended = worker_ended,
	.asked = worker_asked,
};

struct sim_worker *sim_worker_new(struct process *p)
{
	struct sim_worker *k = xcalloc(1, sizeof(*k));

	k->poll_ms = POLL_MS;
	k->beat_ms = BEAT_MS;
	process_program(p, &k->program, &worker_ops);
	return k;
}
