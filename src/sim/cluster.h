#ifndef SIM_CLUSTER_H
#define SIM_CLUSTER_H

#include "base/map.h"
#include "model/schedule.h"
#include "model/singleton.h"
#include "sim/net.h"
#include "sim/work.h"

/*
 * A Kubernetes cluster: an API server with its objects, on one machine; a controller manager, which
 * works while it holds its own Lease; nodes, each a machine with a kubelet; pods, whose process is
 * one of the world's. A pod's process works on when its node is cut off: nobody can tell it to
 *stop.
 *
 * The facts are those of the API reference (batch/v1, core/v1, coordination.k8s.io/v1) and of the
 * controllers' sources in Kubernetes 1.31 and newer: pkg/controller/cronjob, pkg/controller/job,
 * pkg/controller/nodelifecycle, client-go tools/leaderelection.
 *
 *	cluster.c         objects, resourceVersions, uids, what a watch tells
 *	cluster-lease.c   Leases at the API server
 *	lease-client.c    who contends for them
 *	cluster-node.c    nodes and kubelets
 *	cluster-pod.c     pods and their work
 *	cluster-job.c     the Job controller
 *	cluster-cron.c    the CronJob controller
 */
struct cluster;

enum cluster_kind {
	CLUSTER_LEASE,
	CLUSTER_CRONJOB,
	CLUSTER_JOB,
	CLUSTER_POD,
	CLUSTER_NODE,
	CLUSTER_KINDS
};

enum {
	CLUSTER_UID_MAX = 37,
	CLUSTER_WATCHES = 4,   /* at once */
	CLUSTER_ACTIVE = 256,  /* runs in one status.active */
	CLUSTER_EVENTS = 64,   /* Events that are kept of one object */
	CLUSTER_FINALIZERS = 3 /* of one object */
};

/* What every object begins with: its metadata. */
struct cluster_object {
	struct cluster_object *next, *prev; /* of its kind, in the order in which they were made */
	char *ns;                           /* NULL: it has none (a node) */
	char *name, *path;                  /* path: "NS/NAME" */
	int64_t serial;                     /* of this world; never used again */
	int64_t generation;                 /* 0: this kind has none */
	int64_t created_us;                 /* by the API server's clock */
	int64_t deleted_us; /* deletionTimestamp; TIME_UNKNOWN: it is not being deleted */
	char *finalizers[CLUSTER_FINALIZERS]; /* NULL ends them where there are fewer */
	struct cluster_event *events;         /* the newest first */
	unsigned n_events;
	/* What every renewal touches stands together with what follows. */
	enum cluster_kind kind;
	unsigned queued;               /* bit: the watch that is to tell it */
	unsigned told;                 /* bit: it told it, and only renewals came since */
	uint8_t hard[CLUSTER_WATCHES]; /* copies of it that a watch is to tell */
	char uid[CLUSTER_UID_MAX];
	struct cluster *cluster;
	int64_t version;    /* resourceVersion */
	int64_t changed_ms; /* when it last changed, true time */
};

/* An Event about an object (core/v1): the same reason and text again only counts up. */
struct cluster_event {
	struct cluster_event *next;
	char uid[CLUSTER_UID_MAX];
	const char *type;   /* "Normal", "Warning" */
	const char *reason; /* a literal */
	char *message;
	int64_t first_us, last_us; /* by the controllers' clock */
	int64_t count;
};

/* ---- Leases ---- */

/* spec of a Lease. */
struct lease_record {
	int64_t acquire_us, renew_us; /* by the holder's clock; TIME_UNKNOWN: not written */
	int64_t transitions;
	int32_t duration_s;
	int32_t holder; /* an identity of the cluster; 0: vacant */
};

struct cluster_lease {
	struct cluster_object o;
	struct lease_record record;
	bool there; /* a Lease that was deleted keeps its place here */
};

/* ---- work ---- */

/* What a pod of a Job does, and how the Job treats it: a jobTemplate. */
struct cluster_work {
	int64_t duration_ms;
	int vary;                  /* per cent of the duration */
	struct duty *duty;         /* which it does meanwhile; NULL */
	struct resource *resource; /* which it writes to; NULL */
	int writes;                /* side effects, evenly over its time, the first at its begin */
	bool hangs;                /* it never ends */
	int fails;                 /* so many of its executions fail, at half their time; -1: all */
	bool deaf;                 /* SIGTERM does not end it: only SIGKILL does */
	int64_t stop_ms;           /* it needs so long to end after SIGTERM */
	bool bad_image;            /* its image can't be pulled */
	const char *finalizer;     /* its pods have; NULL. Owned */
	int32_t parallelism, completions, backoff_limit;
	int64_t deadline_s; /* activeDeadlineSeconds; TIME_UNKNOWN: none */
	int64_t grace_s;    /* terminationGracePeriodSeconds */
	bool restarts;      /* restartPolicy OnFailure; else Never */
	const char *node;   /* where its pods go; NULL: in turn. Owned */
};

/* A copy with texts of its own. */
void cluster_work_copy(struct cluster_work *to, const struct cluster_work *from);
void cluster_work_release(struct cluster_work *work);

/* ---- CronJobs, Jobs, pods, nodes ---- */

enum cron_policy {
	CRON_ALLOW,
	CRON_FORBID,
	CRON_REPLACE
};

struct cluster_ref {
	char uid[CLUSTER_UID_MAX];
	char *name;
};

struct cluster_cronjob {
	struct cluster_object o;
	char *text, *zone; /* spec.schedule and spec.timeZone (NULL) */
	struct schedule *schedule;
	enum cron_policy policy;
	int64_t deadline_s; /* startingDeadlineSeconds; -1: none */
	bool suspended;
	int32_t keep_succeeded, keep_failed;
	struct cluster_work work;
	/* status */
	int64_t last_schedule_us, last_success_us;
	struct cluster_ref *active;
	size_t n_active, cap_active;
	/* the controller's own */
	int64_t wake_ms;
	int64_t told_slot_us; /* the slot that was last told as missed */
};

struct cluster_job {
	struct cluster_object o;
	char *owner_name; /* of its CronJob; NULL: nobody owns it */
	char owner_uid[CLUSTER_UID_MAX];
	int64_t slot_us; /* TIME_UNKNOWN: none */
	bool manual, suspended;
	struct cluster_work work;
	/* status */
	int64_t start_us, end_us;
	int32_t active, ready, succeeded, failed, terminating;
	const char *target; /* reason of FailureTarget; NULL: there is none. A literal */
	const char *why;    /* reason of Failed; NULL. A literal */
	bool met;           /* SuccessCriteriaMet */
	bool complete;
	int64_t condition_us; /* of Failed or Complete */
	/* the controller's own */
	int64_t wake_ms, retry_ms;
	int32_t executions; /* that began, for `fails` */
};

struct cluster_pod {
	struct cluster_object o;
	char *owner_name; /* of its Job, or of what else owns it; NULL */
	char owner_uid[CLUSTER_UID_MAX];
	bool of_job;
	bool counted;                    /* the Job has it in succeeded or failed */
	struct cluster_node *node;       /* NULL: not bound */
	int64_t slot_us;                 /* the run's */
	const struct cluster_work *work; /* owned, a copy; NULL: it is no Job's */
	int64_t grace_s;
	/* status, as the kubelet last told */
	enum pod_phase phase;
	const char *reason; /* a literal; NULL */
	int64_t start_us, started_us, running_us, end_us;
	int32_t running, restarts, exit_code;
	/* the truth on the node */
	struct process *process;
	struct pod_program *program; /* of the process */
	bool launched, ended, asked_to_stop, stopping, told_end;
	int64_t kill_ms, next_start_ms; /* when SIGKILL, or the next start, is due; 0 */
	int64_t begin_us, finish_us;    /* of the last container, by the node's clock */
	int32_t code, begins;
};

struct cluster_node {
	struct cluster_object o;
	struct machine *machine;
	enum tristate ready; /* unknown: not heard of, as the node controller writes it */
	int64_t beat_ms;     /* when its last heartbeat came, true time */
	int64_t lost_ms;     /* since when it is not ready; -1 */
	bool unschedulable;
	int64_t sync_ms; /* when its kubelet looks at its pods next; 0: not before it is woken */
	struct cluster_node_pods { /* in its order of binding */
		struct cluster_pod **items;
		size_t n, cap;
	} pods;
};

/* ---- the cluster ---- */

enum cluster_trouble {
	CLUSTER_SERVES,
	CLUSTER_DOWN,      /* nobody listens */
	CLUSTER_HANGS,     /* it takes connections, and never answers */
	CLUSTER_READ_ONLY, /* etcd has no space: writes fail with HTTP 500 */
};

struct cluster_watch;

struct cluster {
	struct thing thing;
	struct world *world;
	struct machine *machine; /* of the API server */
	enum cluster_trouble trouble;
	bool unseen;               /* our own way to it is cut: sources read nothing new */
	char uid[CLUSTER_UID_MAX]; /* of the namespace kube-system */
	int64_t version;
	int64_t node_grace_ms, eviction_ms;
	schedule_zone_load zone_load;
	struct cluster_object *first[CLUSTER_KINDS], *last[CLUSTER_KINDS];
	struct map names[CLUSTER_KINDS]; /* "NS/NAME"; pods that are gone are not in it */
	struct map serials;
	size_t n[CLUSTER_KINDS];
	int64_t serial;
	struct map identity_ids;
	char **identities; /* by id; [0] is "" */
	size_t n_identities, cap_identities;
	struct lease_client *clients;
	struct pod_program *pods; /* of processes that are pods */
	struct cluster_watch *watches[CLUSTER_WATCHES];
	struct process *manager; /* the controller manager; it works while it leads */
	bool managed;
	int64_t managed_ms; /* since when it leads, or not */
	size_t next_node;
	size_t processes; /* of pods, made so far */
};

extern const struct thing_ops cluster_ops;

/* machine: of the API server. load: for the zones of schedules. Its controller manager is a
 * process NAME-controllers on that machine; it is started by process_start like any other. */
struct cluster *cluster_new(
	struct world *w, const char *name, struct machine *machine, schedule_zone_load load);
struct cluster *cluster_find(const struct world *w, const char *name);
/* The API server's clock. */
int64_t cluster_now_us(const struct cluster *c);
void cluster_trouble(struct cluster *c, enum cluster_trouble trouble);

/* An identity's number, from 1 on; 0 for an empty one. */
int32_t cluster_identity(struct cluster *c, const char *text);
const char *cluster_identity_text(const struct cluster *c, int32_t id);

/* NULL when there is none. ns NULL for a node. */
struct cluster_object *cluster_get(
	const struct cluster *c, enum cluster_kind kind, const char *ns, const char *name);
/* The object of a serial, if it is there still. */
struct cluster_object *cluster_by_serial(const struct cluster *c, int64_t serial);
struct cluster_object *cluster_by_uid(
	const struct cluster *c, enum cluster_kind kind, const char *uid);
void cluster_uid(struct cluster *c, char uid[CLUSTER_UID_MAX]);
/* Takes an object in: gives it its metadata, and tells the watches. */
void cluster_add(struct cluster *c, struct cluster_object *o, enum cluster_kind kind,
	const char *ns, const char *name);
/* It changed: a new resourceVersion, told by the watches. */
void cluster_changed(struct cluster_object *o);
/* The same, without a picture of it being due at once. */
void cluster_renewed(struct cluster_object *o);
/* It is gone; the object is freed. */
void cluster_remove(struct cluster_object *o);
bool cluster_held_by(const struct cluster_object *o, const char *finalizer);
void cluster_finalizer(struct cluster_object *o, const char *finalizer, bool set);
bool cluster_has_finalizers(const struct cluster_object *o);
void cluster_event(struct cluster_object *o, const char *type, const char *reason, const char *fmt,
	...) __attribute__((format(printf, 4, 5)));

/* ---- watches ---- */

enum cluster_news {
	CLUSTER_IS,  /* the object is as it stands now */
	CLUSTER_WAS, /* a Lease that changed hands: as it was then */
	CLUSTER_GONE
};

struct cluster_notice {
	enum cluster_news news;
	enum cluster_kind kind;
	struct cluster_object *object; /* not with GONE */
	bool renewed; /* IS: a Lease of which only renewTime and version changed since the last */
	int64_t at_ms;
	/* The rest is not set with IS. */
	int64_t version;            /* WAS */
	struct lease_record record; /* WAS */
	char uid[CLUSTER_UID_MAX];  /* WAS and GONE; of a node its name stands in `name` */
	char *name;                 /* GONE of a node; the watch's */
};

/* NULL when there are too many. */
struct cluster_watch *cluster_watch_new(struct cluster *c);
void cluster_watch_free(struct cluster_watch *watch);
/* Whether it has lost some of the past, so that all must be read again; that is over then, and
 * nothing is left to be told. */
bool cluster_watch_lost(struct cluster_watch *watch);
/* The next one; false at the end. */
bool cluster_watch_next(struct cluster_watch *watch, struct cluster_notice *ret);
/* Forgets what is to be told: everything is read anew. */
void cluster_watch_reset(struct cluster_watch *watch);

/* ---- the API server ---- */

/* Answers of its operations: 0, or an HTTP status. */
enum cluster_answer {
	ANSWER_OK = 0,
	ANSWER_FORBIDDEN = 403,
	ANSWER_NOT_FOUND = 404,
	ANSWER_CONFLICT = 409,
	ANSWER_FAILED = 500
};

/* How a write is taken in its present trouble: 0, or ANSWER_FAILED. */
int cluster_may_write(const struct cluster *c);

/* The place of a Lease, there or not; made when it is new. */
struct cluster_lease *cluster_lease_place(struct cluster *c, const char *ns, const char *name);
int cluster_lease_create(struct cluster_lease *lease, const struct lease_record *record);
/* version: the one that was read; 0: none is compared. */
int cluster_lease_update(
	struct cluster_lease *lease, const struct lease_record *record, int64_t version);
/* uid NULL: none is compared. */
int cluster_lease_delete(struct cluster_lease *lease, const char *uid);

struct cluster_cronjob *cluster_cronjob_new(struct cluster *c, const char *ns, const char *name,
	const char *schedule, const char *zone, const struct cluster_work *work);
/* Its spec changed: a generation more, and the controller looks at it. */
void cluster_cronjob_edited(struct cluster_cronjob *cron);
void cluster_cronjob_reschedule(
	struct cluster_cronjob *cron, const char *schedule, const char *zone);

/* cron NULL: of nobody. slot_us TIME_UNKNOWN: made by hand. */
struct cluster_job *cluster_job_new(struct cluster *c, struct cluster_cronjob *cron, const char *ns,
	const char *name, int64_t slot_us, const struct cluster_work *work);
/* A run of a slot before the world began, which succeeded; its pod is there too. */
void cluster_job_past(struct cluster_cronjob *cron, int64_t slot_us, int64_t length_ms);
/* foreground: it stays until its pods are gone; else it goes first. */
void cluster_job_delete(struct cluster_job *job, bool foreground);
bool cluster_job_finished(const struct cluster_job *job);
bool cluster_owns(const struct cluster_object *owner, const char *owner_uid);

/* A deletion of a pod: it has grace_s to end (-1: its own). 0: by force, the object goes at once,
 * and nobody has made sure that its process ended. */
void cluster_pod_delete(struct cluster_pod *pod, int64_t grace_s);
/* Somebody takes off what holds it. */
void cluster_pod_unhold(struct cluster_pod *pod);
bool cluster_pod_over(const struct cluster_pod *pod);

struct cluster_node *cluster_node_new(struct cluster *c, struct machine *machine);
struct cluster_node *cluster_node_of(const struct cluster *c, const struct machine *machine);

/* ---- within ---- */

/* A Lease that changes hands is told to the watches each time, by a copy. */
void cluster_tell_record(struct cluster_lease *lease);
void cluster_tell_lease_gone(struct cluster_lease *lease);

bool cluster_managed(const struct cluster *c); /* whether the controllers work */
void cluster_manage(struct cluster *c, bool managed);
void cluster_crons_resume(struct cluster *c);
void cluster_jobs_resume(struct cluster *c);
void cluster_cron_wake(struct cluster_cronjob *cron, int64_t delay_ms);
void cluster_job_wake(struct cluster_job *job, int64_t delay_ms);
struct cluster_cronjob *cluster_job_cron(const struct cluster_job *job);
struct cluster_job *cluster_pod_job(const struct cluster_pod *pod);
void cluster_nodes_watch(struct cluster *c);
void cluster_node_wake(struct cluster_node *node, int64_t delay_ms);
struct cluster_pod *cluster_pod_new(struct cluster_job *job);
void cluster_pod_past(struct cluster_job *job);
/* When nothing holds it any more: its object goes. It may be freed. */
void cluster_pod_remove(struct cluster_pod *pod);
/* One look of its kubelet at it, which can reach the API server; returns when it must look again,
 * true time; INT64_MAX: it need not. */
int64_t cluster_pod_sync(struct cluster_pod *pod);
/* What its kubelet does without the API server. */
int64_t cluster_pod_local(struct cluster_pod *pod);
void cluster_manager_new(struct cluster *c);

/* ---- a process that is a pod, but no Job's ---- */

struct pod_program {
	struct program program;
	struct cluster *cluster;
	struct pod_program *next;
	struct cluster_pod *pod; /* its object; NULL: there is none */
	char *ns;
	char *owner;     /* the Deployment's name, for its ReplicaSet */
	bool as_process; /* it is a program of the scenario's process, not of a Job's pod */
	bool cut_loose;  /* without an object it is stopped by its kubelet */
	bool ok;         /* it ended by itself, and well */
	bool by_itself;
	struct cluster_work work;
	int64_t slot_us;
	int32_t execution; /* which of its Job's this is */
	int32_t wrote;
	int64_t began_ms, length_ms;
};

/* The scenario's process is a pod of a Deployment from its start on. */
struct pod_program *cluster_pod_program(
	struct cluster *c, struct process *p, const char *ns, const char *owner);
/* The pod of a process; NULL. */
struct cluster_pod *cluster_process_pod(const struct process *p);

#endif
