#include "config.h"

#include "source/sim-cluster.h"
#include "source/kubernetes-act.h"
#include "base/clock.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	CENSUS_MS = 60000,
	SLOT_TEXT = 40,
	ACTIVE_TEXT_MAX = CLUSTER_ACTIVE * 400,
	HELD_TEXT_MAX = 600
};

/* What a source of a cluster keeps between two pictures. */
struct own {
	struct kube *k;
	struct cluster_watch *watch;
	bool blind; /* nothing could be read the last time */
	int64_t census_ms;
	uint32_t generation;
};

static struct cluster *cluster_of(const struct sim_source *s)
{
	return (struct cluster *)s->thing;
}

static struct own *own_of(struct sim_source *s)
{
	struct own *own = s->own;
	size_t i;

	if (own)
		return own;
	own = s->own = xcalloc(1, sizeof(*own));
	own->k = kube_new(s->config);
	kube_store_same_order(own->k->store);
	own->k->serve = sim_cluster_serve;
	own->k->server = s->thing;
	kube_streams_open(own->k, NULL, 0);
	for (i = 0; i < own->k->n_streams; i++) {
		own->k->streams[i].state = STREAM_WATCHING;
		own->k->streams[i].told = true;
	}
	own->watch = cluster_watch_new(cluster_of(s));
	own->census_ms = TIME_UNKNOWN;
	return own;
}

void sim_cluster_close(struct sim_source *s)
{
	struct own *own = s->own;

	if (!own)
		return;
	cluster_watch_free(own->watch);
	kube_close(own->k);
	free(own);
	s->own = NULL;
}

/* ---- objects as the store takes them ---- */

static struct kube_text text(const char *s)
{
	return (struct kube_text){ .s = s, .len = s ? (uint32_t)strlen(s) : 0 };
}

/* The texts that a head has no place for. */
struct head_texts {
	char version[STR_INT_MAX];
	char held[HELD_TEXT_MAX];
};

/* Without resourceVersion, which each object has and a Lease had another one of before. */
static struct kube_head head_of(const struct cluster_object *o, const char *owner,
	const char *owner_uid, struct head_texts *t)
{
	struct kube_head h = {
		.name = text(o->name),
		.ns = text(o->ns),
		.uid = text(o->uid),
		.owner_name = text(owner),
		.owner_uid = text(owner ? owner_uid : NULL),
		.created_us = o->created_us,
		.deleted_us = o->deleted_us,
		.generation = o->generation ? o->generation : -1,
	};
	size_t i, n = 0;

	for (i = 0; i < CLUSTER_FINALIZERS && o->finalizers[i]; i++) {
		size_t len = strlen(o->finalizers[i]) + 1;

		if (n + len > sizeof(t->held))
			break;
		memcpy(t->held + n, o->finalizers[i], len);
		n += len;
	}
	if (n)
		h.finalizers = (struct kube_text){ .s = t->held, .len = (uint32_t)n };
	return h;
}

static struct kube_head head(const struct cluster_object *o, const char *owner,
	const char *owner_uid, struct head_texts *t)
{
	struct kube_head h = head_of(o, owner, owner_uid, t);

	h.version = text(str_int(t->version, o->version));
	return h;
}

static void put_lease(struct own *own, const struct cluster_lease *lease,
	const struct lease_record *r, int64_t version, const char *uid, const struct kube_now *now,
	bool live)
{
	struct head_texts t;
	struct kube_lease facts = {
		.head = head_of(&lease->o, NULL, NULL, &t),
		.holder = text(cluster_identity_text(lease->o.cluster, r->holder)),
		.renew_us = r->renew_us,
		.acquire_us = r->acquire_us,
		.duration_s = r->duration_s,
		.transitions = r->transitions,
	};

	facts.head.version = text(str_int(t.version, version));
	facts.head.uid = text(uid);
	kube_store_lease(own->k->store, &facts, own->generation, now, live);
}

/* Of most Leases only that: they are told every other second. false: it is not known yet. */
static bool put_renewal(
	struct own *own, const struct cluster_lease *lease, const struct kube_now *now)
{
	char digits[STR_INT_MAX];
	const struct kube_text uid = text(lease->o.uid);
	const struct kube_text version = text(str_int(digits, lease->o.version));

	return kube_store_lease_renewed(own->k->store, &uid, &version, lease->record.renew_us, now);
}

static void put_cronjob(struct own *own, const struct cluster_cronjob *cron)
{
	static const char *const policies[] = {
		[CRON_ALLOW] = "Allow", [CRON_FORBID] = "Forbid", [CRON_REPLACE] = "Replace"
	};
	struct head_texts t;
	struct kube_cronjob facts = {
		.head = head(&cron->o, NULL, NULL, &t),
		.schedule = text(cron->text),
		.zone = text(cron->zone),
		.policy = text(policies[cron->policy]),
		.n_active = (int64_t)cron->n_active,
		.deadline_s = cron->deadline_s < 0 ? TIME_UNKNOWN : cron->deadline_s,
		.last_schedule_us = cron->last_schedule_us,
		.last_success_us = cron->last_success_us,
		.suspended = cron->suspended,
	};
	struct str active;
	size_t i;

	str_init(&active, ACTIVE_TEXT_MAX);
	for (i = 0; i < cron->n_active && i < CLUSTER_ACTIVE; i++) {
		str_add_mem(&active, cron->active[i].uid, strlen(cron->active[i].uid) + 1);
		str_add_mem(&active, cron->active[i].name, strlen(cron->active[i].name) + 1);
	}
	if (active.len)
		facts.active = (struct kube_text){ .s = active.s, .len = (uint32_t)active.len };
	kube_store_cronjob(own->k->store, &facts, own->generation);
	str_release(&active);
}

static void put_job(struct own *own, const struct cluster_job *job)
{
	const struct cluster_work *work = &job->work;
	char slot[SLOT_TEXT] = "";
	struct head_texts t;
	struct kube_job facts = {
		.head = head(&job->o, job->owner_name, job->owner_uid, &t),
		.reason = text(job->why),
		.restart_policy = text(work->restarts ? "OnFailure" : "Never"),
		.replacement_policy = text("TerminatingOrFailed"),
		.start_us = job->start_us,
		.end_us = cluster_job_finished(job) ? job->condition_us : TIME_UNKNOWN,
		.deadline_s = work->deadline_s,
		.parallelism = work->parallelism,
		.backoff_limit = work->backoff_limit,
		.active = job->active ? job->active : -1,
		.succeeded = job->succeeded ? job->succeeded : -1,
		.failed = job->failed ? job->failed : -1,
		.terminating = job->start_us == TIME_UNKNOWN ? -1 : job->terminating,
		.state = job->complete ? RUN_SUCCEEDED
			 : job->why    ? RUN_FAILED
				       : RUN_RUNNING,
		.manual = job->manual,
		.suspended = job->suspended,
	};

	if (job->slot_us != TIME_UNKNOWN) {
		clock_format_utc(slot, job->slot_us, 0);
		facts.slot = text(slot);
	}
	kube_store_job(own->k->store, &facts, own->generation);
}

static void put_pod(struct own *own, const struct cluster_pod *pod)
{
	struct head_texts t;
	struct kube_pod facts = {
		.head = head(&pod->o, pod->owner_name, pod->owner_uid, &t),
		.node = text(pod->node ? pod->node->o.name : NULL),
		.reason = text(pod->reason),
		.start_us = pod->start_us == TIME_UNKNOWN ? pod->o.created_us : pod->start_us,
		.end_us = pod->end_us,
		.containers_started_us = pod->started_us,
		.running_since_us = pod->running_us,
		.containers_running = pod->start_us == TIME_UNKNOWN ? -1 : pod->running,
		.restarts = pod->start_us == TIME_UNKNOWN ? -1 : pod->restarts,
		.phase = pod->phase,
	};

	/* As the real source lists them: those with the label of a Job. */
	if (pod->of_job)
		kube_store_pod(own->k->store, &facts, own->generation);
}

static void put_node(struct own *own, const struct cluster_node *node)
{
	struct kube_node facts = {
		.name = text(node->o.name),
		.ready = node->ready == TRI_YES ? TRI_YES : TRI_NO,
	};

	kube_store_node(own->k->store, &facts, own->generation);
}

static void put(
	struct own *own, const struct cluster_object *o, const struct kube_now *now, bool live)
{
	const struct cluster_lease *lease = (const struct cluster_lease *)o;

	switch (o->kind) {
	case CLUSTER_LEASE:
		if (lease->there)
			put_lease(own, lease, &lease->record, o->version, o->uid, now, live);
		break;
	case CLUSTER_CRONJOB:
		put_cronjob(own, (const struct cluster_cronjob *)o);
		break;
	case CLUSTER_JOB:
		put_job(own, (const struct cluster_job *)o);
		break;
	case CLUSTER_POD:
		put_pod(own, (const struct cluster_pod *)o);
		break;
	default:
		put_node(own, (const struct cluster_node *)o);
	}
}

/* ---- lists and watches ---- */

static enum kube_kind store_kind(enum cluster_kind kind)
{
	static const enum kube_kind kinds[CLUSTER_KINDS] = {
		[CLUSTER_LEASE] = KUBE_LEASES,
		[CLUSTER_CRONJOB] = KUBE_CRONJOBS,
		[CLUSTER_JOB] = KUBE_JOBS,
		[CLUSTER_POD] = KUBE_PODS,
		[CLUSTER_NODE] = KUBE_NODES,
	};

	return kinds[kind];
}

/* Everything as it is now; what happened meanwhile was not seen as it happened. */
static void list_all(struct own *own, const struct cluster *c)
{
	struct kube_now now = kube_now(own->k);
	const struct cluster_object *o;
	int kind;

	own->generation++;
	kube_store_at(own->k->store, &now);
	for (kind = CLUSTER_KINDS - 1; kind >= 0; kind--) {
		for (o = c->first[kind]; o; o = o->next)
			put(own, o, &now, false);
		kube_store_sweep(
			own->k->store, store_kind((enum cluster_kind)kind), NULL, own->generation);
	}
}

static void take(struct own *own, const struct cluster_notice *n)
{
	struct kube_now now = kube_now(own->k);
	int64_t ago_ms = now.mono_ms - n->at_ms;

	now.mono_ms -= ago_ms;
	now.wall_us -= ago_ms * 1000;
	kube_store_at(own->k->store, &now);
	if (n->news == CLUSTER_GONE) {
		const char *id = n->name ? n->name : n->uid;

		kube_store_delete(own->k->store, store_kind(n->kind), id, strlen(id));
	} else if (n->news == CLUSTER_WAS) {
		put_lease(own, (const struct cluster_lease *)n->object, &n->record, n->version,
			n->uid, &now, true);
	} else if (!n->renewed ||
		   !put_renewal(own, (const struct cluster_lease *)n->object, &now)) {
		put(own, n->object, &now, true);
	}
}

static void watch_all(struct own *own, const struct cluster *c)
{
	struct cluster_notice notice;

	if (!own->watch || cluster_watch_lost(own->watch) || own->blind) {
		if (own->watch)
			cluster_watch_reset(own->watch);
		list_all(own, c);
		own->blind = false;
		return;
	}
	while (cluster_watch_next(own->watch, &notice))
		take(own, &notice);
}

/* ---- the cluster itself ---- */

static uint64_t uid_bits(const char *uid)
{
	uint64_t bits = 0;
	int n = 0;

	for (; *uid && n < 16; uid++) {
		int digit = *uid >= '0' && *uid <= '9'   ? *uid - '0'
			    : *uid >= 'a' && *uid <= 'f' ? *uid - 'a' + 10
							 : -1;

		if (digit < 0)
			continue;
		bits = bits << 4 | (uint64_t)digit;
		n++;
	}
	return bits;
}

/* The census of heartbeats, and the server's clock, now and then as the real source asks. */
static void census(struct own *own, const struct cluster *c)
{
	const struct cluster_object *o;
	struct kube *k = own->k;
	int64_t now_ms = round_now_ms(k->r);

	if (own->census_ms != TIME_UNKNOWN && now_ms - own->census_ms < CENSUS_MS)
		return;
	own->census_ms = now_ms;
	if (!k->server_version) {
		k->server_version = xstrdup("v1.37.2");
		k->platform = xstrdup("linux/amd64");
		k->identity = uid_bits(c->uid);
	}
	k->n_beats = (int64_t)c->n[CLUSTER_NODE] + 1; /* the API server's own */
	k->n_beats_old = 0;
	for (o = c->first[CLUSTER_NODE]; o; o = o->next)
		k->n_beats_old += now_ms - ((const struct cluster_node *)o)->beat_ms >
				  (int64_t)KUBE_BEAT_OLD_S * 1000;
	k->server_us = cluster_now_us(c);
	k->server_read_us = clock_wall_us(round_clock(k->r));
	k->server_trip_ms = 1;
	k->self_changed = true;
}

int sim_cluster_tell(struct sim_source *s, struct round *r, struct err *err)
{
	struct own *own = own_of(s);
	struct kube *k = own->k;
	int rc = sim_cluster_blind(cluster_of(s), err);

	if (rc) {
		own->blind = true;
		return rc;
	}
	k->r = r;
	watch_all(own, cluster_of(s));
	kube_store_nodes_known(k->store, true);
	census(own, cluster_of(s));
	kube_look_step(k);
	kube_tell(k);
	if (k->self_changed)
		kube_tell_self(k);
	round_cost(r, 1, 0, 0, 1);
	k->r = NULL;
	return 0;
}

/* ---- who is behind a row ---- */

static struct process *pod_process(const struct cluster_object *o)
{
	return ((const struct cluster_pod *)o)->process;
}

static struct process *run_process(const struct cluster *c, const char *uid)
{
	const struct cluster_object *o;
	struct process *found = NULL;

	for (o = c->first[CLUSTER_POD]; o; o = o->next) {
		const struct cluster_pod *pod = (const struct cluster_pod *)o;

		if (!pod->process || (strcmp(o->uid, uid) != 0 && strcmp(pod->owner_uid, uid) != 0))
			continue;
		if (!found || process_lives(pod_process(o)))
			found = pod_process(o);
	}
	return found;
}

/* Whether a Lease still names whom the row says, and is no other of that name. */
static bool lease_names(
	const struct cluster *c, const struct singleton *row, const struct claim *claim)
{
	const struct cluster_object *o =
		cluster_by_uid(c, CLUSTER_LEASE, singleton_text(row, DETAIL_UID, ""));
	const struct lease_record *record;

	if (!o)
		return false;
	record = &((const struct cluster_lease *)o)->record;
	return record->transitions == row->token &&
	       str_eq(cluster_identity_text(c, record->holder), claim_identity(claim));
}

static struct process *lease_process(
	const struct cluster *c, const struct singleton *row, const struct claim *claim)
{
	if (!claim || (claim->kind == CLAIM_HOLDER && !lease_names(c, row, claim)))
		return NULL;
	return lease_client_process(c, claim_identity(claim));
}

struct process *sim_cluster_behind(
	struct sim_source *s, const struct singleton *row, const char *key)
{
	const struct claim *claim = key ? singleton_claim_at(row, key) : singleton_holder(row);

	if (row->mechanism == MECH_K8S_LEASE)
		return lease_process(cluster_of(s), row, claim);
	if (!key && claim)
		key = claim_key(claim);
	if (!key || strncmp(key, "uid:", 4) != 0)
		return NULL;
	return run_process(cluster_of(s), key + 4);
}

/* ---- acts: those of the real kind, on the simulated API server ---- */

static int act_plan(
	void *state, struct round *r, const struct order *order, struct plan *plan, struct err *err)
{
	struct sim_source *s = sim_enter(state);
	int rc = kube_act_plan(own_of(s)->k, r, order, plan, err);

	sim_leave(s);
	return rc;
}

static int act_send(void *state, struct round *r, const struct order *order,
	const struct plan *plan, struct effect *effect, struct err *err)
{
	struct sim_source *s = sim_enter(state);
	int rc = kube_act_send(own_of(s)->k, r, order, plan, effect, err);

	sim_acted(s, order, "%s on %s: %s", verb_word(order->verb)->word, order->s->id,
		effect->answer.len ? effect->answer.s : "no answer");
	sim_leave(s);
	return rc;
}

static int act_look(void *state, struct round *r, const struct order *order,
	const struct plan *plan, struct sight *sight, struct err *err)
{
	struct sim_source *s = sim_enter(state);
	int rc = kube_act_look(own_of(s)->k, r, order, plan, sight, err);

	sim_leave(s);
	return rc;
}

#define ACT(mech, which, asks, compares, takes)                                    \
	ACT_CASE(mech, which, asks, compares, takes, act_plan, act_send, act_look, \
		act_suspend_hinders),

const struct act_case sim_cluster_acts[KUBE_ACTS] = {
#include "source/kubernetes-acts.def"
};
#undef ACT
