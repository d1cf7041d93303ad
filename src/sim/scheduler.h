#ifndef SIM_SCHEDULER_H
#define SIM_SCHEDULER_H

#include "base/cron.h"
#include "sim/net.h"
#include "sim/work.h"

/*
 * A scheduler of DAGs as Apache Airflow is one (its documentation, "DAG Runs", "Scheduler",
 * "Tasks": zombie tasks; config reference, [scheduler]): at each slot a run is made, at most
 * max_active_runs are active at once, the rest waits; without catchup only the newest of several
 * slots gets its run. A worker that takes a run sends heartbeats; when none came for
 * task_instance_heartbeat_timeout (300 s) the run counts as failed, whatever the worker does.
 */
enum {
	SIM_DAG_RUNS = 30, /* the newest are kept */
	SIM_DAG_NAME = 64,
	SIM_DAG_RUN_ID = 96
};

enum sim_dag_state {
	SIM_DAG_QUEUED,
	SIM_DAG_RUNNING,
	SIM_DAG_SUCCESS,
	SIM_DAG_FAILED
};

struct sim_dag_run {
	char id[SIM_DAG_RUN_ID]; /* "scheduled__2026-03-03T03:00:00+00:00" */
	int64_t number;          /* no other of the scheduler has it */
	enum sim_dag_state state;
	bool manual;
	int64_t slot_us, queued_us, start_us, end_us, beat_us; /* its clock; 0: not yet */
	struct process *worker;                                /* who took it; NULL */
};

struct sim_dag {
	char name[SIM_DAG_NAME];
	struct cron cron;
	char schedule[SIM_DAG_NAME];
	int max_active_runs;
	bool catchup, paused;
	int64_t takes_ms, timeout_ms; /* dagrun_timeout; 0: none */
	int64_t last_slot_us, missed;
	struct duty *duty;
	struct sim_dag_run runs[SIM_DAG_RUNS]; /* the newest first */
	size_t n_runs;
	struct sim_dag *next;
};

struct sim_scheduler {
	struct thing thing;
	struct process *process; /* its own, hidden */
	int64_t zombie_ms;       /* task_instance_heartbeat_timeout */
	int64_t runs_made;
	struct sim_dag *dags;
};

extern const struct thing_ops sim_scheduler_ops;

struct sim_scheduler *sim_scheduler_new(struct world *w, const char *name, struct machine *machine);
struct sim_dag *sim_dag_find(struct sim_scheduler *s, const char *name);
/* Adds one; the schedule was parsed. Its first slot is the next. */
struct sim_dag *sim_dag_new(struct world *w, struct sim_scheduler *s, const char *name,
	const struct cron *cron, const char *schedule);
const char *sim_dag_state_word(enum sim_dag_state state);
size_t sim_dag_active(const struct sim_dag *dag);
int64_t sim_scheduler_now_us(const struct world *w, const struct sim_scheduler *s);
/* What the REST API does. */
void sim_dag_pause(struct world *w, struct sim_scheduler *s, struct sim_dag *dag, bool paused);
struct sim_dag_run *sim_dag_trigger(struct world *w, struct sim_scheduler *s, struct sim_dag *dag);
struct sim_dag_run *sim_dag_run_find(struct sim_dag *dag, const char *id);
/* Marks it as failed; its worker learns of it with its next heartbeat. */
void sim_dag_fail(
	struct world *w, struct sim_scheduler *s, struct sim_dag *dag, struct sim_dag_run *run);

/* Who executes runs, one at a time. */
struct sim_worker {
	struct program program; /* first */
	struct sim_scheduler *scheduler;
	int64_t poll_ms, beat_ms;
	bool hangs; /* what it takes it never ends */
	/* how it is */
	int64_t number; /* of the run that it executes; 0: none */
	struct sim_dag *dag;
	uint64_t done;
};

/* A program of that process, which frees it; its scheduler is set before the process starts. */
struct sim_worker *sim_worker_new(struct process *p);

#endif
