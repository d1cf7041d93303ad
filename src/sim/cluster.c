#include "config.h"

#include "sim/cluster-hand.h"
#include "sim/cluster.h"
#include "sim/lease-client.h"
#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	FETCH_AHEAD = 4,
	NOTICES_MOST = 200000, /* beyond it a watch has lost the past */
	NODE_GRACE_MS = 40000, /* --node-monitor-grace-period; 50 s from 1.32 on */
	EVICTION_MS = 300000,  /* the default toleration of not-ready and unreachable */
	VERSION_FIRST = 1000,
	MESSAGE_MOST = 300,
	PATH_MOST = 600
};

/* ---- the cluster ---- */

static void object_free(struct cluster_object *o);

static void watch_release(struct cluster_watch *watch);

static void cluster_free(struct thing *t)
{
	struct cluster *c = (struct cluster *)t;
	struct cluster_object *o, *next;
	int kind;
	size_t i;

	for (i = 0; i < CLUSTER_WATCHES; i++)
		if (c->watches[i])
			watch_release(c->watches[i]);
	for (kind = 0; kind < CLUSTER_KINDS; kind++) {
		for (o = c->first[kind]; o; o = next) {
			next = o->next;
			object_free(o);
		}
		map_release(&c->names[kind]);
	}
	map_release(&c->serials);
	map_release(&c->identity_ids);
	for (i = 0; i < c->n_identities; i++)
		free(c->identities[i]);
	free(c->identities);
	free(c);
}

const struct thing_ops cluster_ops = { .kind = "kubernetes", .free = cluster_free };

struct cluster *cluster_new(
	struct world *w, const char *name, struct machine *machine, schedule_zone_load load)
{
	struct cluster *c = xcalloc(1, sizeof(*c));
	int kind;

	c->world = w;
	c->machine = machine;
	c->zone_load = load;
	c->node_grace_ms = NODE_GRACE_MS;
	c->eviction_ms = EVICTION_MS;
	c->version = VERSION_FIRST;
	for (kind = 0; kind < CLUSTER_KINDS; kind++)
		map_init(&c->names[kind]);
	map_init(&c->serials);
	map_init(&c->identity_ids);
	world_add(w, &c->thing, &cluster_ops, name);
	cluster_identity(c, "");
	cluster_uid(c, c->uid);
	cluster_server_new(c);
	cluster_manager_new(c);
	cluster_nodes_watch(c);
	return c;
}

struct cluster *cluster_find(const struct world *w, const char *name)
{
	return (struct cluster *)world_find(w, &cluster_ops, name);
}

int64_t cluster_now_us(const struct cluster *c)
{
	return machine_clock_us(c->world, c->machine);
}

static const char *trouble_words(enum cluster_trouble trouble)
{
	switch (trouble) {
	case CLUSTER_DOWN:
		return "is down: nobody listens";
	case CLUSTER_HANGS:
		return "hangs: it takes requests, and never answers";
	case CLUSTER_READ_ONLY:
		return "refuses every write: etcd has no space left";
	case CLUSTER_SERVES:
		break;
	}
	return "serves again";
}

void cluster_trouble(struct cluster *c, enum cluster_trouble trouble)
{
	if (c->trouble == trouble)
		return;
	c->trouble = trouble;
	thing_changed(&c->thing);
	cluster_server_changed(c);
	world_tell(c->world, HAPPENING_SERVER, c->thing.name, NULL, 0, "the API server of %s %s",
		c->thing.name, trouble_words(trouble));
}

int cluster_may_write(const struct cluster *c)
{
	return c->trouble == CLUSTER_READ_ONLY ? ANSWER_FAILED : ANSWER_OK;
}

/* ---- identities ---- */

int32_t cluster_identity(struct cluster *c, const char *text)
{
	size_t len = strlen(text);
	uintptr_t id = (uintptr_t)map_get(&c->identity_ids, text, len);

	if (id)
		return (int32_t)(id - 1);
	MEM_GROW(c->identities, c->n_identities, c->cap_identities);
	id = c->n_identities;
	c->identities[c->n_identities++] = xstrdup(text);
	map_put(&c->identity_ids, c->identities[id], len, (void *)(id + 1));
	return (int32_t)id;
}

const char *cluster_identity_text(const struct cluster *c, int32_t id)
{
	return id >= 0 && (size_t)id < c->n_identities ? c->identities[id] : "";
}

/* ---- objects ---- */

/* A random UUID (RFC 9562, version 4). */
void cluster_uid(struct cluster *c, char uid[CLUSTER_UID_MAX])
{
	uint64_t a = sim_random_next(world_random(c->world));
	uint64_t b = sim_random_next(world_random(c->world));

	snprintf(uid, CLUSTER_UID_MAX, "%08llx-%04llx-4%03llx-%04llx-%012llx",
		(unsigned long long)(a >> 32), (unsigned long long)(a >> 16 & 0xffff),
		(unsigned long long)(a & 0xfff), (unsigned long long)((b >> 48 & 0x3fff) | 0x8000),
		(unsigned long long)(b & 0xffffffffffff));
}

static size_t object_path(char *buf, const char *ns, const char *name)
{
	int n = snprintf(buf, PATH_MOST, "%s/%s", ns ? ns : "", name);

	return n < PATH_MOST ? (size_t)n : PATH_MOST - 1;
}

struct cluster_object *cluster_get(
	const struct cluster *c, enum cluster_kind kind, const char *ns, const char *name)
{
	char path[PATH_MOST];
	size_t len = object_path(path, ns, name);

	return map_get(&c->names[kind], path, len);
}

struct cluster_object *cluster_by_serial(const struct cluster *c, int64_t serial)
{
	return map_get(&c->serials, (const char *)&serial, sizeof(serial));
}

struct cluster_object *cluster_by_uid(
	const struct cluster *c, enum cluster_kind kind, const char *uid)
{
	struct cluster_object *o;

	for (o = c->last[kind]; o; o = o->prev)
		if (strcmp(o->uid, uid) == 0)
			return o;
	return NULL;
}

static void tell_watches(struct cluster_object *o);

void cluster_add(struct cluster *c, struct cluster_object *o, enum cluster_kind kind,
	const char *ns, const char *name)
{
	char path[PATH_MOST];
	size_t len = object_path(path, ns, name);

	o->kind = kind;
	o->cluster = c;
	o->ns = ns ? xstrdup(ns) : NULL;
	o->name = xstrdup(name);
	o->serial = ++c->serial;
	o->version = ++c->version;
	o->created_us = cluster_now_us(c);
	/* The API keeps whole seconds (meta/v1 Time). */
	o->created_us -= o->created_us % 1000000;
	o->deleted_us = TIME_UNKNOWN;
	o->changed_ms = world_now_ms(c->world);
	cluster_uid(c, o->uid);
	o->prev = c->last[kind];
	if (o->prev)
		o->prev->next = o;
	else
		c->first[kind] = o;
	c->last[kind] = o;
	c->n[kind]++;
	o->path = xstrndup(path, len);
	map_put(&c->names[kind], o->path, len, o);
	map_put(&c->serials, (const char *)&o->serial, sizeof(o->serial), o);
	tell_watches(o);
	thing_changed(&c->thing);
}

void cluster_renewed(struct cluster_object *o)
{
	o->version = ++o->cluster->version;
	o->changed_ms = world_now_ms(o->cluster->world);
	tell_watches(o);
}

void cluster_changed(struct cluster_object *o)
{
	o->told = 0;
	cluster_renewed(o);
	thing_changed(&o->cluster->thing);
}

static void events_free(struct cluster_object *o)
{
	struct cluster_event *e, *next;

	for (e = o->events; e; e = next) {
		next = e->next;
		free(e->message);
		free(e);
	}
	o->events = NULL;
	o->n_events = 0;
}

static void cronjob_free(struct cluster_cronjob *cron)
{
	size_t i;

	for (i = 0; i < cron->n_active; i++)
		free(cron->active[i].name);
	free(cron->active);
	free(cron->text);
	free(cron->zone);
	schedule_unref(cron->schedule);
	cluster_work_release(&cron->work);
}

static void pod_free(struct cluster_pod *pod)
{
	struct cluster_work *work = (struct cluster_work *)(uintptr_t)pod->work;

	free(pod->owner_name);
	if (work)
		cluster_work_release(work);
	free(work);
}

static void object_free(struct cluster_object *o)
{
	size_t i;

	switch (o->kind) {
	case CLUSTER_CRONJOB:
		cronjob_free((struct cluster_cronjob *)o);
		break;
	case CLUSTER_JOB:
		free(((struct cluster_job *)o)->owner_name);
		cluster_work_release(&((struct cluster_job *)o)->work);
		break;
	case CLUSTER_POD:
		pod_free((struct cluster_pod *)o);
		break;
	case CLUSTER_NODE:
		free(((struct cluster_node *)o)->pods.items);
		break;
	default:
		break;
	}
	events_free(o);
	for (i = 0; i < CLUSTER_FINALIZERS; i++)
		free(o->finalizers[i]);
	free(o->ns);
	free(o->name);
	free(o->path);
	free(o);
}

static void tell_gone(struct cluster_object *o);

void cluster_remove(struct cluster_object *o)
{
	struct cluster *c = o->cluster;
	size_t len = strlen(o->path);

	c->version++;
	tell_gone(o);
	if (map_get(&c->names[o->kind], o->path, len) == o)
		map_remove(&c->names[o->kind], o->path, len);
	map_remove(&c->serials, (const char *)&o->serial, sizeof(o->serial));
	if (o->prev)
		o->prev->next = o->next;
	else
		c->first[o->kind] = o->next;
	if (o->next)
		o->next->prev = o->prev;
	else
		c->last[o->kind] = o->prev;
	c->n[o->kind]--;
	thing_changed(&c->thing);
	object_free(o);
}

bool cluster_owns(const struct cluster_object *owner, const char *owner_uid)
{
	return strcmp(owner->uid, owner_uid) == 0;
}

/* ---- finalizers ---- */

bool cluster_held_by(const struct cluster_object *o, const char *finalizer)
{
	size_t i;

	for (i = 0; i < CLUSTER_FINALIZERS && o->finalizers[i]; i++)
		if (strcmp(o->finalizers[i], finalizer) == 0)
			return true;
	return false;
}

bool cluster_has_finalizers(const struct cluster_object *o)
{
	return o->finalizers[0] != NULL;
}

void cluster_finalizer(struct cluster_object *o, const char *finalizer, bool set)
{
	size_t i, n;

	for (n = 0; n < CLUSTER_FINALIZERS && o->finalizers[n]; n++)
		continue;
	for (i = 0; i < n && strcmp(o->finalizers[i], finalizer) != 0; i++)
		continue;
	if (set && i == n && n < CLUSTER_FINALIZERS) {
		o->finalizers[n] = xstrdup(finalizer);
	} else if (!set && i < n) {
		free(o->finalizers[i]);
		memmove(&o->finalizers[i], &o->finalizers[i + 1],
			(n - i - 1) * sizeof(o->finalizers[0]));
		o->finalizers[n - 1] = NULL;
	}
}

/* ---- Events ---- */

static void event_drop_last(struct cluster_object *o)
{
	struct cluster_event **at = &o->events;

	while (*at && (*at)->next)
		at = &(*at)->next;
	if (!*at)
		return;
	free((*at)->message);
	free(*at);
	*at = NULL;
	o->n_events--;
}

void cluster_event(
	struct cluster_object *o, const char *type, const char *reason, const char *fmt, ...)
{
	int64_t now_us = cluster_now_us(o->cluster);
	struct cluster_event *e;
	char text[MESSAGE_MOST];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	now_us -= now_us % 1000000;
	for (e = o->events; e; e = e->next)
		if (strcmp(e->reason, reason) == 0 && strcmp(e->message, text) == 0) {
			e->count++;
			e->last_us = now_us;
			return;
		}
	if (o->n_events == CLUSTER_EVENTS)
		event_drop_last(o);
	e = xcalloc(1, sizeof(*e));
	*e = (struct cluster_event){ .next = o->events,
		.type = type,
		.reason = reason,
		.message = xstrdup(text),
		.first_us = now_us,
		.last_us = now_us,
		.count = 1 };
	cluster_uid(o->cluster, e->uid);
	o->events = e;
	o->n_events++;
}

/* ---- watches ---- */

/* Most tell that an object is as it is: thousands in a second, so that they are small. */
struct watch_item {
	struct cluster_object *object; /* not of what is gone */
	struct cluster_notice *notice; /* WAS and GONE; ours */
};

struct cluster_watch {
	struct cluster *cluster;
	unsigned index;
	struct watch_item *items;
	size_t at, n, cap;
	bool lost;
	char *name; /* of the node that was told last */
};

struct cluster_watch *cluster_watch_new(struct cluster *c)
{
	struct cluster_watch *watch;
	unsigned i;

	for (i = 0; i < CLUSTER_WATCHES && c->watches[i]; i++)
		continue;
	if (i == CLUSTER_WATCHES)
		return NULL;
	watch = xcalloc(1, sizeof(*watch));
	watch->cluster = c;
	watch->index = i;
	watch->lost = true;
	c->watches[i] = watch;
	return watch;
}

static void watch_drop_items(struct cluster_watch *watch)
{
	for (; watch->at < watch->n; watch->at++) {
		struct cluster_notice *notice = watch->items[watch->at].notice;

		if (notice)
			free(notice->name);
		free(notice);
	}
	watch->at = watch->n = 0;
}

void cluster_watch_reset(struct cluster_watch *watch)
{
	struct cluster *c = watch->cluster;
	struct cluster_object *o;
	int kind;

	watch_drop_items(watch);
	watch->lost = false;
	for (kind = 0; kind < CLUSTER_KINDS; kind++)
		for (o = c->first[kind]; o; o = o->next) {
			o->queued &= ~(1U << watch->index);
			o->hard[watch->index] = 0;
		}
}

static void watch_release(struct cluster_watch *watch)
{
	watch_drop_items(watch);
	watch->cluster->watches[watch->index] = NULL;
	free(watch->name);
	free(watch->items);
	free(watch);
}

void cluster_watch_free(struct cluster_watch *watch)
{
	if (!watch)
		return;
	cluster_watch_reset(watch);
	watch_release(watch);
}

bool cluster_watch_lost(struct cluster_watch *watch)
{
	if (!watch->lost)
		return false;
	cluster_watch_reset(watch);
	return true;
}

static struct watch_item *watch_add(struct cluster_watch *watch, struct cluster_object *o)
{
	if (watch->at == watch->n)
		watch->at = watch->n = 0;
	if (watch->n - watch->at >= NOTICES_MOST)
		watch->lost = true;
	if (watch->lost)
		return NULL;
	MEM_GROW(watch->items, watch->n, watch->cap);
	watch->items[watch->n] = (struct watch_item){ .object = o };
	return &watch->items[watch->n++];
}

/* One that says more than what the object shows when it is told. */
static struct cluster_notice *watch_add_notice(
	struct cluster_watch *watch, enum cluster_news news, struct cluster_object *o)
{
	struct watch_item *item = watch_add(watch, news == CLUSTER_WAS ? o : NULL);

	if (!item)
		return NULL;
	item->notice = xcalloc(1, sizeof(*item->notice));
	item->notice->news = news;
	item->notice->kind = o->kind;
	item->notice->at_ms = world_now_ms(watch->cluster->world);
	memcpy(item->notice->uid, o->uid, sizeof(item->notice->uid));
	return item->notice;
}

/* What changes many times before it is read is told once, as it is then. */
static void tell_watches(struct cluster_object *o)
{
	size_t i;

	for (i = 0; i < CLUSTER_WATCHES; i++) {
		struct cluster_watch *watch = o->cluster->watches[i];

		if (watch && !(o->queued & 1U << i) && watch_add(watch, o))
			o->queued |= 1U << i;
	}
}

/* A Lease that changes hands is told each time: by a copy. */
void cluster_tell_record(struct cluster_lease *lease)
{
	size_t i;

	for (i = 0; i < CLUSTER_WATCHES; i++) {
		struct cluster_watch *watch = lease->o.cluster->watches[i];
		struct cluster_notice *notice;

		if (!watch || lease->o.hard[i] == UINT8_MAX)
			continue;
		notice = watch_add_notice(watch, CLUSTER_WAS, &lease->o);
		if (!notice)
			continue;
		notice->record = lease->record;
		notice->version = lease->o.version;
		lease->o.hard[i]++;
	}
}

/* Nothing that is gone may be told as being there. */
static void watch_forget(struct cluster_watch *watch, const struct cluster_object *o)
{
	size_t i;

	for (i = watch->at; i < watch->n; i++)
		if (watch->items[i].object == o)
			watch->items[i].object = NULL;
}

static void tell_gone(struct cluster_object *o)
{
	size_t i;

	for (i = 0; i < CLUSTER_WATCHES; i++) {
		struct cluster_watch *watch = o->cluster->watches[i];
		struct cluster_notice *notice;

		if (!watch)
			continue;
		if (o->queued & 1U << i || o->hard[i])
			watch_forget(watch, o);
		o->queued &= ~(1U << i);
		o->told &= ~(1U << i);
		o->hard[i] = 0;
		notice = watch_add_notice(watch, CLUSTER_GONE, o);
		if (!notice)
			continue;
		notice->name = o->kind == CLUSTER_NODE ? xstrdup(o->name) : NULL;
	}
}

/* Its Lease keeps its place: all the same it is gone. */
void cluster_tell_lease_gone(struct cluster_lease *lease)
{
	tell_gone(&lease->o);
}

/* Objects lie far apart in a large cluster's memory: the next ones are fetched while this one is
 * told. */
static void watch_fetch(const struct cluster_watch *watch)
{
	const struct cluster_object *o;

	if (watch->n - watch->at <= FETCH_AHEAD)
		return;
	o = watch->items[watch->at + FETCH_AHEAD].object;
	if (!o)
		return;
	__builtin_prefetch(&o->queued);
	__builtin_prefetch(o + 1); /* what it has besides */
}

/* A notice of its own; false: what it is about has gone since. */
static bool watch_take(
	struct cluster_watch *watch, const struct watch_item *item, struct cluster_notice *ret)
{
	unsigned bit = 1U << watch->index;
	struct cluster_object *o = item->object;

	*ret = *item->notice;
	free(item->notice);
	free(watch->name);
	watch->name = ret->name;
	ret->object = o;
	if (ret->news == CLUSTER_GONE)
		return true;
	if (!o)
		return false;
	/* After the last copy comes what it is now. */
	if (--o->hard[watch->index] == 0 && !(o->queued & bit))
		tell_watches(o);
	return true;
}

bool cluster_watch_next(struct cluster_watch *watch, struct cluster_notice *ret)
{
	unsigned bit = 1U << watch->index;

	while (watch->at < watch->n) {
		struct watch_item item = watch->items[watch->at++];
		struct cluster_object *o = item.object;

		watch_fetch(watch);
		if (item.notice) {
			if (watch_take(watch, &item, ret))
				return true;
			continue;
		}
		if (!o)
			continue;
		o->queued &= ~bit;
		if (o->hard[watch->index])
			continue;
		ret->news = CLUSTER_IS;
		ret->kind = o->kind;
		ret->object = o;
		ret->at_ms = o->changed_ms;
		ret->renewed = o->kind == CLUSTER_LEASE && o->told & bit;
		o->told |= bit;
		return true;
	}
	return false;
}
