#include "config.h"

#include "sim/cluster.h"
#include "sim/lease-client.h"

#include <stdio.h>
#include <stdlib.h>

/*
 * The controller manager: a process of its own beside the API server. It elects itself like any
 * other client (Lease kube-system/kube-controller-manager), and the controllers work while it
 * leads. What changed meanwhile they see when they begin again.
 */
enum {
	MANAGER_RESTART_MS = 5000,
	START_MS = 1000 /* until its caches are filled */
};

bool cluster_managed(const struct cluster *c)
{
	return c->managed;
}

static void began(struct world *w, void *who, int64_t a, int64_t b)
{
	struct cluster *c = who;

	(void)w;
	(void)b;
	if (!c->managed || c->managed_ms != a)
		return;
	cluster_crons_resume(c);
	cluster_jobs_resume(c);
}

void cluster_manage(struct cluster *c, bool managed)
{
	if (c->managed == managed)
		return;
	c->managed = managed;
	c->managed_ms = world_now_ms(c->world);
	if (managed)
		world_after(c->world, START_MS, began, c, c->managed_ms, 0);
}

void cluster_manager_new(struct cluster *c)
{
	struct lease_options options = {
		.ns = "kube-system",
		.name = "kube-controller-manager",
		.duration_ms = 15000,
		.deadline_ms = 10000,
		.retry_ms = 2000,
		.exits = true,
	};
	struct lease_client *l;
	char name[200], identity[300], uid[CLUSTER_UID_MAX];

	snprintf(name, sizeof(name), "%.150s-controllers", c->thing.name);
	cluster_uid(c, uid);
	snprintf(identity, sizeof(identity), "%s_%s", c->machine->thing.name, uid);
	c->manager = process_new(c->world, name, c->machine, identity);
	c->manager->restart_after_ms = MANAGER_RESTART_MS;
	c->manager->hidden = true;
	l = lease_client_new(c, c->manager, &options);
	l->leads_hook = cluster_manage;
}
