#include "config.h"

#include "sim/cluster-hand.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum {
	MEND_MS = 5000,
	STUCK_US = 10000000 /* so long after its grace it is shown */
};

/* ---- the API server ---- */

static void plain_free(struct thing *t)
{
	free(t);
}

const struct thing_ops cluster_server_ops = { .kind = "api-server", .free = plain_free };

void cluster_server_new(struct cluster *c)
{
	struct cluster_server *server = xcalloc(1, sizeof(*server));

	server->cluster = c;
	world_add(c->world, &server->thing, &cluster_server_ops, c->thing.name);
}

void cluster_server_changed(struct cluster *c)
{
	struct thing *t = world_find(c->world, &cluster_server_ops, c->thing.name);

	if (t)
		thing_changed(t);
}

const char *cluster_server_words(const struct cluster_server *server)
{
	switch (server->cluster->trouble) {
	case CLUSTER_DOWN:
		return "nobody listens at it: its process has ended";
	case CLUSTER_HANGS:
		return "it takes requests, and answers none";
	case CLUSTER_READ_ONLY:
		return "it reads, and refuses every write: etcd's alarm NOSPACE is set";
	case CLUSTER_SERVES:
		break;
	}
	return "it serves reads and writes";
}

static void mended(struct world *w, void *who, int64_t a, int64_t b)
{
	(void)w;
	(void)a;
	(void)b;
	cluster_trouble(who, CLUSTER_SERVES);
}

void cluster_server_mend(struct cluster_server *server)
{
	world_after(server->cluster->world, MEND_MS, mended, server->cluster, 0, 0);
}

/* ---- a pod that can't go ---- */

const struct thing_ops cluster_stuck_ops = { .kind = "stuck-pod", .free = plain_free };

static struct cluster_stuck *stuck_of(const struct cluster_object *pod)
{
	struct thing *t = NULL;

	while ((t = world_each(pod->cluster->world, &cluster_stuck_ops, t)) != NULL)
		if (((struct cluster_stuck *)t)->serial == pod->serial)
			return (struct cluster_stuck *)t;
	return NULL;
}

/* Its run's name, which is the same in every world; or its own where that is taken. */
static const char *stuck_name(const struct cluster_pod *pod)
{
	struct world *w = pod->o.cluster->world;

	if (pod->of_job && !world_find(w, &cluster_stuck_ops, pod->owner_name))
		return pod->owner_name;
	return pod->o.name;
}

void cluster_stuck_look(struct cluster *c)
{
	int64_t now_us = cluster_now_us(c);
	struct cluster_object *o;

	for (o = c->first[CLUSTER_POD]; o; o = o->next) {
		struct cluster_stuck *stuck;

		if (o->deleted_us == TIME_UNKNOWN || now_us < o->deleted_us + STUCK_US ||
			stuck_of(o))
			continue;
		stuck = xcalloc(1, sizeof(*stuck));
		stuck->cluster = c;
		stuck->serial = o->serial;
		world_add(c->world, &stuck->thing, &cluster_stuck_ops,
			stuck_name((const struct cluster_pod *)o));
	}
}

void cluster_stuck_changed(const struct cluster_pod *pod)
{
	struct cluster_stuck *stuck = stuck_of(&pod->o);

	if (stuck)
		thing_changed(&stuck->thing);
}

struct cluster_pod *cluster_stuck_pod(const struct cluster_stuck *stuck)
{
	return (struct cluster_pod *)cluster_by_serial(stuck->cluster, stuck->serial);
}

void cluster_stuck_remove(struct cluster_stuck *stuck)
{
	struct cluster_pod *pod = cluster_stuck_pod(stuck);

	if (!pod)
		return;
	cluster_pod_unhold(pod);
	pod = cluster_stuck_pod(stuck);
	if (pod)
		cluster_pod_delete(pod, 0);
}

/* ---- a change ---- */

static void change_free(struct thing *t)
{
	struct cluster_change *change = (struct cluster_change *)t;

	free(change->ns);
	free(change->cronjob);
	free(change->schedule);
	free(change->zone);
	free(change->about);
	free(change);
}

const struct thing_ops cluster_change_ops = { .kind = "change", .free = change_free };

struct cluster_change *cluster_change_new(
	struct cluster *c, const char *name, const char *ns, const char *cronjob)
{
	struct cluster_change *change = xcalloc(1, sizeof(*change));

	change->cluster = c;
	change->ns = xstrdup(ns);
	change->cronjob = xstrdup(cronjob);
	change->policy = -1;
	change->guard_s = -1;
	world_add(c->world, &change->thing, &cluster_change_ops, name);
	return change;
}

struct cluster_cronjob *cluster_change_cron(const struct cluster_change *change)
{
	return (struct cluster_cronjob *)cluster_get(
		change->cluster, CLUSTER_CRONJOB, change->ns, change->cronjob);
}

void cluster_change_apply(struct cluster_change *change, bool guarded)
{
	struct cluster_cronjob *cron = cluster_change_cron(change);

	if (!cron || change->applied)
		return;
	change->applied = true;
	if (change->policy >= 0)
		cron->policy = (enum cron_policy)change->policy;
	if (guarded)
		cron->deadline_s = change->guard_s;
	if (change->schedule)
		cluster_cronjob_reschedule(
			cron, change->schedule, change->zone ? change->zone : cron->zone);
	else
		cluster_cronjob_edited(cron);
	thing_changed(&change->thing);
}

bool cluster_change_starts(const struct cluster_change *change, bool guarded, int64_t *ret_us)
{
	const struct cluster_cronjob *cron = cluster_change_cron(change);
	struct schedule *schedule;
	struct cron_missed missed;

	if (!cron || cron->suspended || !change->schedule)
		return false;
	schedule = schedule_new(change->schedule, change->zone ? change->zone : cron->zone,
		change->cluster->zone_load);
	schedule_missed(schedule,
		cron->last_schedule_us == TIME_UNKNOWN ? cron->o.created_us
						       : cron->last_schedule_us,
		guarded ? change->guard_s : cron->deadline_s, cluster_now_us(change->cluster),
		&missed);
	schedule_unref(schedule);
	*ret_us = missed.latest_us;
	return missed.has_latest;
}
