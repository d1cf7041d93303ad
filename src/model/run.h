#ifndef MODEL_RUN_H
#define MODEL_RUN_H

#include "model/words.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct detail;

/* status.phase of a pod (the Kubernetes API's PodPhase). */
enum pod_phase {
	POD_PHASE_UNKNOWN,
	POD_PENDING,
	POD_RUNNING,
	POD_SUCCEEDED,
	POD_FAILED
};

/*
 * One pod of a run, as its API object says: facts. Times are wall clock, written by the cluster's
 * machines; TIME_UNKNOWN where there is none. Texts are sanitised.
 */
struct pod {
	const char *name;
	const char *key;    /* "uid:UID" */
	const char *node;   /* NULL: not bound to one */
	const char *reason; /* why it waits or ended, in the API's word: "ImagePullBackOff",
			       "Unschedulable", "NodeLost"; NULL */
	enum pod_phase phase;
	enum tristate
		node_ready;  /* the node's Ready condition; unknown also when the node is hidden */
	enum tristate alive; /* pod_alive, set when the draft is finished */
	int32_t containers_running; /* init containers too; -1: not told */
	int32_t restarts;           /* of all its containers; -1: not told */
	bool node_gone;             /* it is bound to a node that does not exist */
	int64_t start_us;           /* status.startTime, else its creation */
	int64_t end_us;             /* when its last container ended */
	int64_t deleted_us;         /* metadata.deletionTimestamp: it is Terminating */
	uint16_t n_details;
	const struct detail *details;
};

/* What a run's own record says of it (a Job's conditions), not whether it lives. */
enum run_state {
	RUN_UNKNOWN,
	RUN_RUNNING,
	RUN_SUCCEEDED,
	RUN_FAILED
};

/* One execution of a job: facts. */
struct run {
	const char *name; /* the Job's */
	const char *key;  /* "uid:UID": binds it for ever */
	enum run_state state;
	enum tristate alive;  /* run_alive, set when the draft is finished */
	enum tristate listed; /* its CronJob's status.active names it */
	bool manual;          /* started by hand, not for a slot */
	bool unseen;          /* its record is over, and its pods are hidden from us: they may have
				 outlived it. No sign that it is at work */
	int32_t grace_s;      /* how long its pods are given to end when they are deleted */
	int32_t attempts;    /* executions of the work that are known to have begun; -1: not told */
	int64_t slot_us;     /* the time it was scheduled for; TIME_UNKNOWN: can't be told */
	int64_t created_us;  /* when its record was made */
	int64_t start_us;    /* when it started, as its record says */
	int64_t end_us;      /* when it ended; TIME_UNKNOWN: it has not, or it was not told */
	int64_t deleted_us;  /* metadata.deletionTimestamp: the record is being deleted */
	int64_t deadline_s;  /* spec.activeDeadlineSeconds; TIME_UNKNOWN: none */
	int32_t parallelism; /* pods that may run at once by design; 1 usually */
	uint16_t n_details;
	uint32_t n_pods;
	const struct detail *details;
	const struct pod *pods;
};

/* "running", "succeeded", "failed", "unknown" */
const char *run_state_word(enum run_state state);
/* -1 when there is none of that word. */
int run_state_from_word(const char *word);
/* "Pending", "Running", "Succeeded", "Failed", "Unknown", as the API writes them. */
const char *pod_phase_word(enum pod_phase phase);
/* POD_PHASE_UNKNOWN for what it does not know. */
enum pod_phase pod_phase_from_word(const char *word);

/*
 * Whether a process of this pod may be at work now: from its phase, deletion, containers and node,
 * not from its name. A pod on a node that does not answer is unknown: its process may run on.
 */
enum tristate pod_alive(const struct pod *pod);
/*
 * Whether a run is at work: by its pods where there are any; else by its record. All pods dead is
 * no, whatever the record says; one alive is yes.
 */
enum tristate run_alive(const struct run *run);
/*
 * Whether a run is not over: its record says that it runs, or a process of it may be at work. So a
 * run whose pods can't start is open, and blocks what may not overlap, though nothing of it is
 * alive. A record that is gone (RUN_UNKNOWN) says nothing, and its pods alone count.
 */
bool run_is_open(const struct run *run);

#endif
