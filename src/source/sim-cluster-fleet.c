#include "config.h"

#include "sim/cluster-hand.h"
#include "source/sim-cluster.h"
#include "base/clock.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

/* What the source `fleet` shows of clusters: API servers, pods that can't go, changes. */

static void tell_ready(struct thing *t, struct draft *d, const char *condition, bool ready)
{
	draft_text(d, DETAIL_CONDITION, condition);
	if (ready)
		draft_claim(d, CLAIM_HOLDER, t->name, strlen(t->name), "there");
}

/* ---- an API server ---- */

static void server_tell(struct world *w, struct thing *t, struct draft *d)
{
	const struct cluster_server *server = (const struct cluster_server *)t;
	enum cluster_trouble trouble = server->cluster->trouble;

	(void)w;
	draft_text(d, DETAIL_ABOUT, "the API server of the cluster, with its etcd");
	/* What its owner knows, who is asked, is more. */
	tell_ready(t, d, trouble == CLUSTER_DOWN ? "down" : "up", trouble != CLUSTER_DOWN);
}

static void server_ask(struct world *w, struct thing *t, char *answer, size_t size)
{
	(void)w;
	snprintf(answer, size, "its owner: %s",
		cluster_server_words((const struct cluster_server *)t));
}

static bool server_serves(struct world *w, struct thing *t)
{
	(void)w;
	return ((const struct cluster_server *)t)->cluster->trouble == CLUSTER_SERVES;
}

static bool server_broken(struct world *w, struct thing *t, char *why, size_t size)
{
	if (server_serves(w, t))
		snprintf(why, size, "%s serves: there is nothing to mend", t->name);
	return !server_serves(w, t);
}

static void server_mend(struct world *w, struct thing *t, char *answer, size_t size)
{
	(void)w;
	cluster_server_mend((struct cluster_server *)t);
	snprintf(answer, size, "its owner is at it");
}

static const struct sim_fleet_act server_acts[] = {
	{ VERB_ASK, "ask the owner of the API server", " how it is", NULL, server_ask, NULL, NULL },
	{ VERB_MEND, "have the owner of the API server",
		" mend it: make room in etcd, or start it again", server_broken, server_mend,
		server_serves, NULL },
};

/* ---- a pod that can't go ---- */

static bool pod_shown(const struct thing *t)
{
	return cluster_stuck_pod((const struct cluster_stuck *)t) != NULL;
}

static void pod_tell(struct world *w, struct thing *t, struct draft *d)
{
	const struct cluster_pod *pod = cluster_stuck_pod((const struct cluster_stuck *)t);

	(void)w;
	if (pod->node)
		draft_text(d, DETAIL_MACHINE, pod->node->o.name);
	draft_text(d, DETAIL_ABOUT, "the object of a pod that does not go");
	tell_ready(t, d, "Terminating", true);
}

static void pod_ask(struct world *w, struct thing *t, char *answer, size_t size)
{
	const struct cluster_pod *pod = cluster_stuck_pod((const struct cluster_stuck *)t);
	const char *node = pod && pod->node ? pod->node->o.name : NULL;
	const char *held = pod && cluster_has_finalizers(&pod->o) ? pod->o.finalizers[0] : NULL;

	(void)w;
	if (!pod)
		snprintf(answer, size, "it is gone");
	else
		snprintf(answer, size, "it is to be deleted%s%s%s%s%s",
			node ? ", and only the kubelet of " : "", node ? node : "",
			node ? " can say that its process has ended" : "",
			held ? "; the finalizer " : "", held ? held : "");
}

static void pod_unhold(struct world *w, struct thing *t, char *answer, size_t size)
{
	(void)w;
	cluster_stuck_remove((struct cluster_stuck *)t);
	snprintf(answer, size, "the object is gone; nobody has asked its process");
}

static bool pod_gone(struct world *w, struct thing *t)
{
	(void)w;
	return !pod_shown(t);
}

static const struct sim_fleet_act pod_acts[] = {
	{ VERB_ASK, "look at the pod", " and what keeps it", NULL, pod_ask, NULL, NULL },
	{ VERB_UNHOLD, "take the finalizers off the pod",
		" and delete its object by force, whatever its process does", NULL, pod_unhold,
		pod_gone, NULL },
};

/* ---- a change ---- */

static void change_tell(struct world *w, struct thing *t, struct draft *d)
{
	const struct cluster_change *change = (const struct cluster_change *)t;

	(void)w;
	if (change->about)
		draft_text(d, DETAIL_ABOUT, change->about);
	tell_ready(t, d, change->applied ? "applied" : "asked for, not applied", change->applied);
}

static void tell_preview(const struct cluster_change *change, bool guarded, char *buf, size_t size)
{
	char at[CLOCK_TEXT_MAX];
	int64_t slot_us;

	if (!cluster_change_starts(change, guarded, &slot_us)) {
		snprintf(buf, size, "nothing starts at once");
		return;
	}
	clock_format_utc(at, slot_us, 0);
	snprintf(buf, size, "a run for the slot %s starts at once", at);
}

static void change_ask(struct world *w, struct thing *t, char *answer, size_t size)
{
	const struct cluster_change *change = (const struct cluster_change *)t;
	const struct cluster_cronjob *cron = cluster_change_cron(change);
	char plain[160], guarded[160];

	(void)w;
	if (!cron || !change->schedule) {
		snprintf(answer, size, "it changes %s/%s", change->ns, change->cronjob);
		return;
	}
	tell_preview(change, false, plain, sizeof(plain));
	tell_preview(change, true, guarded, sizeof(guarded));
	if (change->guard_s < 0)
		snprintf(answer, size, "\"%s\" becomes \"%s\": %s", cron->text, change->schedule,
			plain);
	else
		snprintf(answer, size,
			"\"%s\" becomes \"%s\": %s; with a starting deadline of %lld s %s",
			cron->text, change->schedule, plain, (long long)change->guard_s, guarded);
}

static bool can_apply(struct world *w, struct thing *t, char *why, size_t size)
{
	const struct cluster_change *change = (const struct cluster_change *)t;

	(void)w;
	if (change->applied)
		snprintf(why, size, "%s is applied already", t->name);
	return !change->applied;
}

static bool can_guard(struct world *w, struct thing *t, char *why, size_t size)
{
	if (!can_apply(w, t, why, size))
		return false;
	if (((const struct cluster_change *)t)->guard_s >= 0)
		return true;
	snprintf(why, size, "a starting deadline makes no difference to %s", t->name);
	return false;
}

static void apply(struct thing *t, bool guarded, char *answer, size_t size)
{
	cluster_change_apply((struct cluster_change *)t, guarded);
	snprintf(answer, size, "%s is applied", t->name);
}

static void change_apply(struct world *w, struct thing *t, char *answer, size_t size)
{
	(void)w;
	apply(t, false, answer, size);
}

static void change_guard(struct world *w, struct thing *t, char *answer, size_t size)
{
	(void)w;
	apply(t, true, answer, size);
}

static bool is_applied(struct world *w, struct thing *t)
{
	(void)w;
	return ((const struct cluster_change *)t)->applied;
}

static const char *seen_applied(const struct singleton *s)
{
	return singleton_holder(s) ? "it is applied already" : NULL;
}

static const struct sim_fleet_act change_acts[] = {
	{ VERB_ASK, "read the change", " and what it would do", NULL, change_ask, NULL, NULL },
	{ VERB_APPLY, "apply the change", " as it was asked for", can_apply, change_apply,
		is_applied, seen_applied },
	{ VERB_APPLY_GUARDED, "apply the change",
		" with a short starting deadline in the same edit", can_guard, change_guard,
		is_applied, seen_applied },
};

const struct sim_fleet_kind sim_cluster_fleet[] = {
	{ .ops = &cluster_server_ops,
		.word = "api-server",
		.tell = server_tell,
		.acts = server_acts,
		.n_acts = ARRAY_LEN(server_acts) },
	{ .ops = &cluster_stuck_ops,
		.word = "pod",
		.shown = pod_shown,
		.tell = pod_tell,
		.acts = pod_acts,
		.n_acts = ARRAY_LEN(pod_acts) },
	{ .ops = &cluster_change_ops,
		.word = "change",
		.tell = change_tell,
		.acts = change_acts,
		.n_acts = ARRAY_LEN(change_acts) },
	{ .ops = NULL },
};
