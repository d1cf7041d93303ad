#include "config.h"

#include "sim/cluster-hand.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/*
 * Nodes. A kubelet renews its node's heartbeat every 10 s (nodeLeaseDurationSeconds 40 / 4). The
 * node controller (pkg/controller/nodelifecycle) looks every 5 s: a node that was not heard of for
 * the grace period is NotReady (its Ready condition Unknown) and tainted, and pods that tolerate
 * that for 300 s, as all do by default, are deleted then. Their objects stay, Terminating, since
 * only the kubelet can say that a pod has ended.
 */
enum {
	BEAT_MS = 10000,
	MONITOR_MS = 5000,
	SYNC_MS = 1000, /* so often a kubelet that can't reach the API server tries again */
};

static void beat_due(struct world *w, void *who, int64_t a, int64_t b);
static void sync_due(struct world *w, void *who, int64_t a, int64_t b);

static bool serves(const struct cluster *c)
{
	return c->trouble == CLUSTER_SERVES;
}

static bool reaches(const struct cluster_node *node)
{
	const struct cluster *c = node->o.cluster;

	return node->machine->up && serves(c) && net_reaches(c->world, node->machine, c->machine);
}

struct cluster_node *cluster_node_of(const struct cluster *c, const struct machine *machine)
{
	return (struct cluster_node *)cluster_get(c, CLUSTER_NODE, NULL, machine->thing.name);
}

struct cluster_node *cluster_node_new(struct cluster *c, struct machine *machine)
{
	struct cluster_node *node = cluster_node_of(c, machine);

	if (node)
		return node;
	node = xcalloc(1, sizeof(*node));
	node->machine = machine;
	node->ready = TRI_YES;
	node->lost_ms = -1;
	node->beat_ms = world_now_ms(c->world);
	cluster_add(c, &node->o, CLUSTER_NODE, NULL, machine->thing.name);
	world_after(c->world, (int64_t)sim_random_below(world_random(c->world), BEAT_MS), beat_due,
		c, node->o.serial, 0);
	return node;
}

/* ---- the kubelet ---- */

static void node_heard(struct cluster_node *node)
{
	struct cluster *c = node->o.cluster;

	node->beat_ms = world_now_ms(c->world);
	if (node->ready == TRI_YES)
		return;
	node->ready = TRI_YES;
	node->lost_ms = -1;
	world_tell(c->world, HAPPENING_SERVER, node->o.name, c->thing.name, 0,
		"node %s is Ready again", node->o.name);
	cluster_changed(&node->o);
}

static void beat_due(struct world *w, void *who, int64_t a, int64_t b)
{
	struct cluster *c = who;
	struct cluster_node *node = (struct cluster_node *)cluster_by_serial(c, a);

	(void)b;
	if (!node)
		return;
	if (reaches(node)) {
		node_heard(node);
		cluster_node_wake(node, 0);
	}
	world_after(w, BEAT_MS, beat_due, c, a, 0);
}

void cluster_node_wake(struct cluster_node *node, int64_t delay_ms)
{
	struct cluster *c = node->o.cluster;
	int64_t at = world_now_ms(c->world) + delay_ms;

	if (node->sync_ms > world_now_ms(c->world) && node->sync_ms <= at)
		return;
	node->sync_ms = at;
	world_at(c->world, at, sync_due, c, node->o.serial, at);
}

/* When one of its pods must be looked at again. */
static int64_t sync_pods(struct cluster_node *node, bool told)
{
	int64_t next = INT64_MAX, at;
	size_t i;

	for (i = node->pods.n; i-- > 0;) {
		struct cluster_pod *pod;

		/* A pod that goes takes its place in the list with it. */
		if (i >= node->pods.n)
			continue;
		pod = node->pods.items[i];
		at = told ? cluster_pod_sync(pod) : cluster_pod_local(pod);
		if (at < next)
			next = at;
	}
	return next;
}

static void sync_due(struct world *w, void *who, int64_t a, int64_t b)
{
	struct cluster *c = who;
	struct cluster_node *node = (struct cluster_node *)cluster_by_serial(c, a);
	int64_t next;
	bool told;

	if (!node || node->sync_ms != b)
		return;
	node->sync_ms = 0;
	if (!node->machine->up)
		return; /* its next heartbeat goes on */
	told = reaches(node);
	next = sync_pods(node, told);
	if (next != INT64_MAX)
		cluster_node_wake(node, next > world_now_ms(w) ? next - world_now_ms(w) : SYNC_MS);
	else if (!told && node->pods.n)
		cluster_node_wake(node, SYNC_MS);
}

/* ---- the node controller ---- */

static void node_lost(struct cluster_node *node)
{
	struct cluster *c = node->o.cluster;

	node->ready = TRI_UNKNOWN;
	node->lost_ms = world_now_ms(c->world);
	world_tell(c->world, HAPPENING_SERVER, node->o.name, c->thing.name, 0,
		"node %s is NotReady: nothing was heard of it for %lld s", node->o.name,
		(long long)((node->lost_ms - node->beat_ms) / 1000));
	cluster_event(&node->o, "Normal", "NodeNotReady", "Node %s status is now: NodeNotReady",
		node->o.name);
	cluster_changed(&node->o);
}

static void node_evict(struct cluster_node *node)
{
	size_t i;

	for (i = 0; i < node->pods.n; i++) {
		struct cluster_pod *pod = node->pods.items[i];

		if (pod->o.deleted_us != TIME_UNKNOWN || cluster_pod_over(pod))
			continue;
		cluster_event(&pod->o, "Normal", "TaintManagerEviction",
			"Marking for deletion Pod %s/%s", pod->o.ns, pod->o.name);
		cluster_pod_delete(pod, -1);
	}
}

static void monitor_due(struct world *w, void *who, int64_t a, int64_t b)
{
	struct cluster *c = who;
	int64_t now_ms = world_now_ms(w), since_ms = c->managed_ms;
	struct cluster_object *o;

	(void)a;
	(void)b;
	world_after(w, MONITOR_MS, monitor_due, c, 0, 0);
	cluster_stuck_look(c);
	if (!cluster_managed(c) || !serves(c))
		return;
	for (o = c->first[CLUSTER_NODE]; o; o = o->next) {
		struct cluster_node *node = (struct cluster_node *)o;
		/* A controller that has just begun gives every node its time anew. */
		int64_t heard_ms = node->beat_ms > since_ms ? node->beat_ms : since_ms;

		if (node->ready == TRI_YES && now_ms - heard_ms >= c->node_grace_ms)
			node_lost(node);
		if (node->lost_ms >= 0 && now_ms - node->lost_ms >= c->eviction_ms)
			node_evict(node);
	}
}

void cluster_nodes_watch(struct cluster *c)
{
	world_after(c->world, MONITOR_MS, monitor_due, c, 0, 0);
}
