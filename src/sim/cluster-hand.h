#ifndef SIM_CLUSTER_HAND_H
#define SIM_CLUSTER_HAND_H

#include "sim/cluster.h"

/*
 * What people do to a cluster by other means than a console: mend its API server, take a pod away
 * that can't go, apply a change that somebody asked for. Each is a thing of the world, with a name.
 */

/* The owner's side of an API server; there is one for each cluster, of its name. */
struct cluster_server {
	struct thing thing;
	struct cluster *cluster;
};

extern const struct thing_ops cluster_server_ops;
/* One sentence about how it is. */
const char *cluster_server_words(const struct cluster_server *server);
/* Its owner makes room, or starts it again: it serves after a while. */
void cluster_server_mend(struct cluster_server *server);

/* A pod that is Terminating for longer than its grace; it has the name of its run. */
struct cluster_stuck {
	struct thing thing;
	struct cluster *cluster;
	int64_t serial; /* of the pod */
};

extern const struct thing_ops cluster_stuck_ops;
/* NULL: it is gone. */
struct cluster_pod *cluster_stuck_pod(const struct cluster_stuck *stuck);
/* Its finalizers are taken off, and it is deleted by force. */
void cluster_stuck_remove(struct cluster_stuck *stuck);

/* Somebody asked for a change of a CronJob. */
struct cluster_change {
	struct thing thing;
	struct cluster *cluster;
	char *ns, *cronjob;
	char *schedule, *zone; /* NULL: as it is */
	char *about;           /* NULL */
	int policy;            /* enum cron_policy; -1: as it is */
	int64_t guard_s;       /* startingDeadlineSeconds that may go in with it; -1: none */
	bool applied;
};

extern const struct thing_ops cluster_change_ops;
struct cluster_change *cluster_change_new(
	struct cluster *c, const char *name, const char *ns, const char *cronjob);
/* NULL when it is not there. */
struct cluster_cronjob *cluster_change_cron(const struct cluster_change *change);
/* guarded: with the starting deadline in the same edit. */
void cluster_change_apply(struct cluster_change *change, bool guarded);
/* Which slot would be started at once; false: none. */
bool cluster_change_starts(const struct cluster_change *change, bool guarded, int64_t *ret_us);

/* For cluster.c, cluster-node.c and cluster-pod.c. */
void cluster_server_new(struct cluster *c);
void cluster_server_changed(struct cluster *c);
void cluster_stuck_look(struct cluster *c);
void cluster_stuck_changed(const struct cluster_pod *pod);

#endif
