#ifndef SOURCE_KUBERNETES_STORE_H
#define SOURCE_KUBERNETES_STORE_H

#include "base/map.h"
#include "base/str.h"
#include "model/schedule.h"
#include "source/kubernetes-object.h"

/*
 * What is known of the cluster's objects: CronJobs with their Jobs and the Jobs' Pods, joined by
 * the owner's uid in whatever order they come; Leases with what was seen of them; nodes. Pure: fed
 * by lists and watches, asked for what changed.
 */
enum kube_kind {
	KUBE_CRONJOBS,
	KUBE_JOBS,
	KUBE_PODS,
	KUBE_LEASES,
	KUBE_NODES,
	KUBE_KINDS
};

enum {
	KUBE_FORMER_MAX = 3,
	KUBE_SKEWS = 4 /* renewals in one window of the skew's estimate */
};

/* Our clocks when something was seen. */
struct kube_now {
	int64_t mono_ms, wall_us;
};

struct kube_run;
struct kube_pod_of_run;

/* A CronJob, or one that is known only by its Jobs. */
struct kube_cron {
	char *uid;
	struct kube_cronjob *facts; /* NULL: it was not seen */
	struct schedule *schedule;
	struct kube_run **runs;
	size_t n_runs, cap_runs;
	char *path; /* "cronjob/NS/NAME"; NULL without facts */
	uint32_t generation;
	size_t dirty; /* its place among those to be told, from 1; 0: clean */
};

/* A Job of a CronJob; one that is known only by its pods; or the mark of one of no CronJob. */
struct kube_run {
	char *uid;
	struct kube_job *facts;
	struct kube_cron *cron;
	struct kube_pod_of_run **pods;
	size_t n_pods, cap_pods;
	char *ns; /* of a mark; else NULL */
	uint32_t generation;
	bool foreign;    /* no CronJob owns it: nothing of it is kept */
	bool gone;       /* the Job does not exist any more, and pods of it do, */
	int64_t gone_us; /* ... since then by our clock */
	bool hidden;     /* the Job can't be read any more, and pods of it can */
};

struct kube_pod_of_run {
	struct kube_pod *facts; /* NULL: a mark of a pod that is not kept */
	struct kube_run *run;
	uint32_t generation;
};

/* What is known of the pod that an identity names. */
enum kube_look {
	KUBE_LOOK_NONE, /* nobody looked */
	KUBE_LOOK_THERE,
	KUBE_LOOK_ABSENT,
	KUBE_LOOK_HIDDEN,
	KUBE_LOOK_FAILED
};

struct kube_looked {
	enum kube_look look;
	int64_t at_ms;
	struct kube_pod *pod; /* owned; while it is there */
	int64_t matching;     /* running pods of the host that the identity names; -1: not asked */
};

/* Who held it before. */
struct kube_former {
	char *holder;
	size_t len;
	int64_t transitions;
	int64_t until_ms; /* our monotonic clock when it was seen to change */
	struct kube_looked looked;
};

struct kube_lease_seen {
	struct kube_lease *facts;
	char *path;        /* "lease/NS/NAME" */
	int64_t change_ms; /* when it was last seen to change, or first seen */
	int64_t change_us; /* the same by our wall clock; TIME_UNKNOWN: no change was seen */
	int64_t known_ms;  /* up to when a change would have been seen; TIME_UNKNOWN: it is watched
			    */
	/* The holder's clock minus ours, at its least delayed in two windows of renewals. */
	int64_t skew_us, skew_now_us;
	unsigned n_skews;
	struct kube_looked looked;
	struct kube_former *former; /* room for KUBE_FORMER_MAX; NULL: nobody did */
	size_t n_former;
	char **candidates; /* of a coordinated election; NULL: not asked */
	size_t n_candidates;
	int64_t candidates_ms;
	uint32_t generation;
	size_t dirty;
	bool soft; /* it is dirty by a renewal alone */
};

struct kube_node_seen {
	char *name;
	enum tristate ready;
	uint32_t generation;
};

struct kube_store;

struct kube_store *kube_store_new(schedule_zone_load load);
void kube_store_free(struct kube_store *s);
/* For the built-in world: an empty store walks its objects in the same order in each run. */
void kube_store_same_order(struct kube_store *s);
/* Forgets all objects; what was seen of Leases is lost too. */
void kube_store_clear(struct kube_store *s);

/* What is fed next happens then. */
void kube_store_at(struct kube_store *s, const struct kube_now *now);
/*
 * An object as it is now; copied. generation marks what a list in progress has told. live: a watch
 * says so at the moment when it happened, which only Leases make a difference of.
 */
void kube_store_cronjob(
	struct kube_store *s, const struct kube_cronjob *facts, uint32_t generation);
void kube_store_job(struct kube_store *s, const struct kube_job *facts, uint32_t generation);
void kube_store_pod(struct kube_store *s, const struct kube_pod *facts, uint32_t generation);
void kube_store_lease(struct kube_store *s, const struct kube_lease *facts, uint32_t generation,
	const struct kube_now *now, bool live);
/*
 * What a watch told of a Lease that is known: nothing of it changed but these. false: none of that
 * uid is known, or the version is longer than the last one; then it must be told whole.
 */
bool kube_store_lease_renewed(struct kube_store *s, const struct kube_text *uid,
	const struct kube_text *version, int64_t renew_us, const struct kube_now *now);
/* Up to when changes of the Leases of a namespace (NULL: all) would have been seen, by our
 * monotonic clock; TIME_UNKNOWN: they are watched. */
void kube_store_leases_known(struct kube_store *s, const char *ns, int64_t known_ms);
void kube_store_node(struct kube_store *s, const struct kube_node *facts, uint32_t generation);

/* It is gone. id: its uid, a node's name. */
void kube_store_delete(struct kube_store *s, enum kube_kind kind, const char *id, size_t len);
/* All of that kind that a whole list of that namespace (NULL: all) did not tell are gone. */
void kube_store_sweep(
	struct kube_store *s, enum kube_kind kind, const char *ns, uint32_t generation);
/* None of that kind in that namespace (NULL: all) can be seen any more. */
void kube_store_hide(struct kube_store *s, enum kube_kind kind, const char *ns);
/* All nodes are known from now on, so that one that is not there does not exist. */
void kube_store_nodes_known(struct kube_store *s, bool known);
/* Everything must be told anew: what may be seen has changed. */
void kube_store_redo(struct kube_store *s);
void kube_store_touch_lease(struct kube_store *s, struct kube_lease_seen *lease);
/* Takes over the names. */
void kube_lease_candidates(struct kube_lease_seen *lease, char **names, size_t n);

/* The resourceVersion of an object that is kept whole; NULL: there is none of that uid. */
const struct kube_text *kube_store_version(
	const struct kube_store *s, enum kube_kind kind, const char *uid);
size_t kube_store_count(const struct kube_store *s, enum kube_kind kind);
/* Leases that are no elections. */
size_t kube_store_heartbeats(const struct kube_store *s);
struct kube_cron *kube_store_cron_at(const struct kube_store *s, const char *path);
struct kube_lease_seen *kube_store_lease_at(const struct kube_store *s, const char *path);
/* TRI_UNKNOWN also where nodes are hidden; ret_gone: it is known not to exist. */
enum tristate kube_store_node_ready(
	const struct kube_store *s, const struct kube_text *name, bool *ret_gone);
/* Rises with each Lease that comes, or changes by more than a renewal. */
uint64_t kube_store_lease_changes(const struct kube_store *s);
/* Walks all Leases, from *pos = 0 on; NULL at the end. */
struct kube_lease_seen *kube_store_next_lease(const struct kube_store *s, size_t *pos);
/* The same round and round: behind the last comes the first. NULL: there is none. */
struct kube_lease_seen *kube_store_lease_in_turn(const struct kube_store *s, size_t *pos);
/* Whether there are runs whose CronJob was not seen; and a walk over those CronJobs. */
bool kube_store_has_lost(const struct kube_store *s);
struct kube_cron *kube_store_next_lost(const struct kube_store *s, size_t *pos);

/* Whether something must be told, other than renewals alone. */
bool kube_store_changed(const struct kube_store *s);
bool kube_store_renewed(const struct kube_store *s);

struct kube_teller {
	/* hidden: it can't be seen any more; it need not be gone. */
	void (*drop)(void *arg, const char *path, bool hidden);
	void (*cron)(void *arg, struct kube_cron *cron);
	void (*lease)(void *arg, struct kube_lease_seen *lease);
	void (*lost)(void *arg); /* runs whose CronJob does not exist came, changed or went */
};

/* Tells what changed since the last time; what is gone first. */
void kube_store_tell(struct kube_store *s, const struct kube_teller *teller, void *arg);

/* Puts runs in order: the newest slot first (where none is known, by its creation), and the pods of
 * each by their creation. */
void kube_cron_sort(struct kube_cron *cron);
/* Whether the status.active of a CronJob that was seen names a run. */
bool kube_cron_lists(const struct kube_cron *cron, const struct kube_run *run);

/* A copy of a pod's facts in one block, which the caller frees. */
struct kube_pod *kube_pod_copy(const struct kube_pod *facts);

#endif
