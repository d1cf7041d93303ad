#ifndef SOURCE_SIM_CLUSTER_H
#define SOURCE_SIM_CLUSTER_H

#include "sim/cluster.h"
#include "sim/lease-client.h"
#include "source/kubernetes.h"
#include "source/sim-fleet.h"
#include "source/sim.h"

#include <jansson.h>

/*
 * A cluster of the built-in world as a source of the kind "kubernetes": the same store of what was
 * seen, the same rows, plans and looks as the real one has (kubernetes-*.c), fed by what the
 * simulated API server's watches tell. Shared by sim-cluster.c (what a scenario may write),
 * sim-cluster-view.c (the picture), sim-cluster-api.c (requests), sim-cluster-json.c (objects as
 * the API writes them).
 */

/* ---- sim-cluster-json.c: objects as the API server writes them; the caller's reference ---- */
json_t *sim_lease_json(const struct cluster_lease *lease);
json_t *sim_cronjob_json(const struct cluster_cronjob *cron);
json_t *sim_job_json(const struct cluster_job *job);
json_t *sim_pod_json(const struct cluster_pod *pod);
json_t *sim_event_json(const struct cluster_object *o, const struct cluster_event *e);

/* ---- sim-cluster-api.c ---- */
/* k->server is the cluster. */
kube_serve sim_cluster_serve;
/* Why nothing can be read of it now: 0, or a code with the sentence of the real kind. */
int sim_cluster_blind(const struct cluster *c, struct err *err);

/* ---- sim-cluster-view.c ---- */
int sim_cluster_tell(struct sim_source *s, struct round *r, struct err *err);
struct process *sim_cluster_behind(
	struct sim_source *s, const struct singleton *row, const char *key);
void sim_cluster_close(struct sim_source *s);
extern const struct act_case sim_cluster_acts[KUBE_ACTS];

/* ---- sim-cluster-fleet.c ---- */
extern const struct sim_fleet_kind sim_cluster_fleet[];

#endif
