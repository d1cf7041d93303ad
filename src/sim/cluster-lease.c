#include "config.h"

#include "sim/cluster.h"
#include "base/mem.h"

#include <string.h>

/*
 * Leases at the API server (coordination.k8s.io/v1). The server gives uid, resourceVersion and
 * creationTimestamp; every time inside spec is the client's. It compares what the client sends of
 * metadata, and knows nothing of who may hold what.
 */

enum {
	SHORT_S = 8 /* below it a renewal can't wait to be told */
};

struct cluster_lease *cluster_lease_place(struct cluster *c, const char *ns, const char *name)
{
	struct cluster_lease *lease =
		(struct cluster_lease *)cluster_get(c, CLUSTER_LEASE, ns, name);

	if (lease)
		return lease;
	lease = xcalloc(1, sizeof(*lease));
	lease->record.acquire_us = lease->record.renew_us = TIME_UNKNOWN;
	cluster_add(c, &lease->o, CLUSTER_LEASE, ns, name);
	return lease;
}

static void tell_hands(struct cluster_lease *lease, int32_t before)
{
	struct cluster *c = lease->o.cluster;
	const struct lease_record *r = &lease->record;

	if (r->holder && r->holder != before)
		world_tell(c->world, HAPPENING_GRANTED, cluster_identity_text(c, r->holder),
			lease->o.name, r->transitions, "%s holds the Lease %s/%s, transitions %lld",
			cluster_identity_text(c, r->holder), lease->o.ns, lease->o.name,
			(long long)r->transitions);
	else if (!r->holder && before)
		world_tell(c->world, HAPPENING_FREED, cluster_identity_text(c, before),
			lease->o.name, r->transitions, "nobody holds the Lease %s/%s", lease->o.ns,
			lease->o.name);
}

static void lease_written(struct cluster_lease *lease, const struct lease_record *record)
{
	struct lease_record old = lease->record;

	lease->record = *record;
	if (old.holder != record->holder || old.transitions != record->transitions ||
		old.acquire_us != record->acquire_us || old.duration_s != record->duration_s)
		lease->o.told = 0;
	if (old.holder != record->holder || old.transitions != record->transitions) {
		lease->o.version = ++lease->o.cluster->version;
		lease->o.changed_ms = world_now_ms(lease->o.cluster->world);
		cluster_tell_record(lease);
		tell_hands(lease, old.holder);
		thing_changed(&lease->o.cluster->thing);
		return;
	}
	cluster_renewed(&lease->o);
	/* A renewal alone is told when the rest is, as a source of the real kind does. */
	if (old.duration_s != record->duration_s || record->duration_s < SHORT_S)
		thing_changed(&lease->o.cluster->thing);
}

int cluster_lease_create(struct cluster_lease *lease, const struct lease_record *record)
{
	struct cluster *c = lease->o.cluster;
	int rc = cluster_may_write(c);

	if (rc)
		return rc;
	if (lease->there)
		return ANSWER_CONFLICT;
	lease->there = true;
	cluster_uid(c, lease->o.uid);
	lease->o.created_us = cluster_now_us(c);
	lease->o.created_us -= lease->o.created_us % 1000000;
	lease->record = (struct lease_record){
		.acquire_us = TIME_UNKNOWN, .renew_us = TIME_UNKNOWN, .transitions = -1
	};
	lease_written(lease, record);
	return ANSWER_OK;
}

int cluster_lease_update(
	struct cluster_lease *lease, const struct lease_record *record, int64_t version)
{
	int rc = cluster_may_write(lease->o.cluster);

	if (rc)
		return rc;
	if (!lease->there)
		return ANSWER_NOT_FOUND;
	if (version && version != lease->o.version)
		return ANSWER_CONFLICT;
	lease_written(lease, record);
	return ANSWER_OK;
}

int cluster_lease_delete(struct cluster_lease *lease, const char *uid)
{
	struct cluster *c = lease->o.cluster;
	int rc = cluster_may_write(c);

	if (rc)
		return rc;
	if (!lease->there)
		return ANSWER_NOT_FOUND;
	if (uid && strcmp(uid, lease->o.uid) != 0)
		return ANSWER_CONFLICT;
	c->version++;
	lease->there = false;
	cluster_tell_lease_gone(lease);
	world_tell(c->world, HAPPENING_FREED, cluster_identity_text(c, lease->record.holder),
		lease->o.name, lease->record.transitions,
		"the Lease %s/%s is deleted: whoever makes it anew begins with transitions 0",
		lease->o.ns, lease->o.name);
	thing_changed(&c->thing);
	return ANSWER_OK;
}
