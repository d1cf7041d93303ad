#include "config.h"

#include "source/kubernetes.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Looking closer at few rows: the pod that a Lease's holder names, and those of who held it before;
 * the candidates of a coordinated election; the events that the API keeps of one object. What is on
 * the screen or was asked for comes first, then Leases past their time; each again after a while.
 */
enum {
	WANTED_EVERY_MS = 5000,
	LATE_EVERY_MS = 30000,
	LATE_PAUSE_MS = 900,
	LATE_AT_ONCE = 4,
	REFUSED_EVERY_MS = 60000,
	EVENTS_EVERY_MS = 5000,
	FORMER_MS = 10 * 60 * 1000, /* so long after a hand-over the one before is looked at */
	LOOK_LIMIT_MS = 4000,
	POD_NAME_MAX = 253,
	HOST_PODS_MAX = 100,
	EVENTS_MAX = 100,
	EVENT_TEXT_MAX = 400,
	EVENTS_KEPT = 2000
};

bool kube_pod_name(const char *holder, size_t len, struct str *ret)
{
	const char *end = memchr(holder, '_', len);
	size_t i, n = end ? (size_t)(end - holder) : len;

	if (!n || n > POD_NAME_MAX)
		return false;
	for (i = 0; i < n; i++) {
		char c = holder[i];
		bool inside = i && i + 1 < n;

		if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') &&
			!(inside && (c == '-' || c == '.')))
			return false;
	}
	str_clear(ret);
	str_add_mem(ret, holder, n);
	return true;
}

/* ---- asking ---- */

static struct kube_looking *look_slot(struct kube *k)
{
	size_t i;

	for (i = 0; i < KUBE_LOOKS; i++)
		if (!k->looks[i].call)
			return &k->looks[i];
	return NULL;
}

static size_t look_room(const struct kube *k)
{
	size_t i, n = 0;

	for (i = 0; i < KUBE_LOOKS; i++)
		n += !k->looks[i].call;
	return n;
}

static void look_release(struct kube_looking *look)
{
	rest_end(look->call);
	free(look->path);
	free(look->holder);
	*look = (struct kube_looking){ .call = NULL };
}

static void look_take(
	struct kube *k, struct kube_looking *look, int rc, struct rest_answer *answer);

/* The built-in world answers at once. */
static bool look_served(
	struct kube *k, struct kube_looking *look, const struct rest_request *request)
{
	struct rest_answer answer = { .date_us = REST_UNKNOWN_TIME };
	struct err err = { 0 };
	bool sent;
	int rc = k->serve(k, request, &answer, &sent, &err);

	look_take(k, look, rc, &answer);
	return true;
}

static bool look_begin(struct kube *k, enum kube_look_kind kind, const char *row,
	const char *holder, size_t holder_len, const char *path)
{
	struct kube_looking *look = look_slot(k);
	struct rest_request request = {
		.method = REST_GET,
		.path = path,
		.max = KUBE_ANSWER_MAX,
		.deadline_ms = round_now_ms(k->r) + LOOK_LIMIT_MS,
	};
	struct err err = { 0 };

	if (!look)
		return false;
	look->call = k->client ? rest_start(k->client, &request, &err) : NULL;
	if (k->client && !look->call)
		return false;
	look->kind = kind;
	look->path = xstrdup(row);
	look->holder = holder ? xstrndup(holder, holder_len) : NULL;
	look->holder_len = holder_len;
	return k->client ? true : look_served(k, look, &request);
}

static bool look_asked(const struct kube *k, enum kube_look_kind kind, const char *row,
	const char *holder, size_t len)
{
	size_t i;

	for (i = 0; i < KUBE_LOOKS; i++) {
		const struct kube_looking *look = &k->looks[i];

		if (look->call && look->kind == kind && strcmp(look->path, row) == 0 &&
			look->holder_len == len && (!len || !memcmp(look->holder, holder, len)))
			return true;
	}
	return false;
}

static void look_pod(
	struct kube *k, const struct kube_lease_seen *lease, const char *holder, size_t len)
{
	struct str name, path;

	str_init(&name, POD_NAME_MAX);
	str_init(&path, 4096);
	if (kube_pod_name(holder, len, &name) &&
		!look_asked(k, LOOK_POD, lease->path, holder, len)) {
		str_add(&path, "/api/v1/namespaces/");
		rest_path_add(&path, lease->facts->head.ns.s);
		str_add(&path, "/pods/");
		rest_path_add(&path, name.s);
		look_begin(k, LOOK_POD, lease->path, holder, len, path.s);
	}
	str_release(&name);
	str_release(&path);
}

/* An identity without anything of its own behind the host's name may be several processes there. */
static void look_host(struct kube *k, const struct kube_lease_seen *lease)
{
	const struct kube_text *holder = &lease->facts->holder;
	struct str path;
	bool gone;

	if (memchr(holder->s, '_', holder->len) ||
		look_asked(k, LOOK_HOST, lease->path, holder->s, holder->len))
		return;
	kube_store_node_ready(k->store, holder, &gone);
	if (gone || !kube_sees(k, KUBE_NODES, NULL))
		return;
	str_init(&path, 4096);
	str_add(&path, "/api/v1/namespaces/");
	rest_path_add(&path, lease->facts->head.ns.s);
	str_add(&path, "/pods?limit=100&fieldSelector=status.phase%3DRunning%2Cspec.nodeName%3D");
	rest_path_add(&path, holder->s);
	look_begin(k, LOOK_HOST, lease->path, holder->s, holder->len, path.s);
	str_release(&path);
}

void kube_candidates_path(struct str *path, const char *ns)
{
	str_add(path, "/apis/coordination.k8s.io/v1beta1/namespaces/");
	rest_path_add(path, ns);
	str_add(path, "/leasecandidates?limit=500");
}

static void look_candidates(struct kube *k, struct kube_lease_seen *lease)
{
	struct str path;

	if (look_asked(k, LOOK_CANDIDATES, lease->path, NULL, 0))
		return;
	str_init(&path, 4096);
	kube_candidates_path(&path, lease->facts->head.ns.s);
	look_begin(k, LOOK_CANDIDATES, lease->path, NULL, 0, path.s);
	str_release(&path);
}

static bool looked_due(const struct kube *k, const struct kube_looked *l, int64_t every_ms)
{
	if (l->look == KUBE_LOOK_NONE)
		return true;
	if (l->look == KUBE_LOOK_HIDDEN)
		every_ms = REFUSED_EVERY_MS;
	return round_now_ms(k->r) - l->at_ms >= every_ms;
}

static void look_lease(struct kube *k, struct kube_lease_seen *lease, int64_t every_ms)
{
	const struct kube_lease *facts = lease->facts;
	bool held = facts->holder.s && facts->holder.len;
	size_t i;

	if (held && looked_due(k, &lease->looked, every_ms))
		look_pod(k, lease, facts->holder.s, facts->holder.len);
	if (held && lease->looked.look == KUBE_LOOK_ABSENT && lease->looked.matching < 0)
		look_host(k, lease);
	for (i = 0; i < lease->n_former; i++)
		if (looked_due(k, &lease->former[i].looked, every_ms))
			look_pod(k, lease, lease->former[i].holder, lease->former[i].len);
	if (facts->strategy.s && facts->strategy.len &&
		(lease->candidates_ms == TIME_UNKNOWN ||
			round_now_ms(k->r) - lease->candidates_ms >= every_ms))
		look_candidates(k, lease);
}

/* ---- answers ---- */

static struct kube_looked *looked_of(struct kube_lease_seen *lease, const struct kube_looking *look)
{
	const struct kube_text *holder = &lease->facts->holder;
	size_t i;

	if (holder->s && holder->len == look->holder_len &&
		memcmp(holder->s, look->holder, look->holder_len) == 0)
		return &lease->looked;
	for (i = 0; i < lease->n_former; i++)
		if (lease->former[i].len == look->holder_len &&
			memcmp(lease->former[i].holder, look->holder, look->holder_len) == 0)
			return &lease->former[i].looked;
	return NULL;
}

static void take_pod(struct kube *k, struct kube_lease_seen *lease, const struct kube_looking *look,
	int rc, const struct rest_answer *answer)
{
	struct kube_looked *l = looked_of(lease, look);
	enum kube_look was;
	struct kube_pod pod;

	if (!l)
		return;
	was = l->look;
	l->at_ms = round_now_ms(k->r);
	if (rc == ERR_NOTFOUND && answer->status == 404)
		l->look = KUBE_LOOK_ABSENT;
	else if (rc == ERR_DENIED)
		l->look = KUBE_LOOK_HIDDEN;
	else if (!rc && kube_read_pod(&k->reader, answer->body.s, answer->body.len, &pod))
		l->look = KUBE_LOOK_THERE;
	else if (was == KUBE_LOOK_NONE)
		l->look = KUBE_LOOK_FAILED;
	else
		return; /* what was known stands */
	if (l->look == KUBE_LOOK_THERE && l->pod &&
		kube_text_eq(&l->pod->head.version, &pod.head.version))
		return;
	if (l->look != KUBE_LOOK_THERE && l->look == was)
		return;
	free(l->pod);
	l->pod = l->look == KUBE_LOOK_THERE ? kube_pod_copy(&pod) : NULL;
	kube_store_touch_lease(k->store, lease);
}

/* Pods of one host, by what owns them. */
struct host_count {
	struct kube *k;
	char *owners[HOST_PODS_MAX];
	size_t n;
};

static int host_item(void *arg, const char *text, size_t len, struct err *err)
{
	struct host_count *count = arg;
	struct kube_pod pod;

	(void)err;
	/* Only these take the host's name for their own. */
	if (kube_read_any_pod(&count->k->reader, text, len, &pod) && pod.host_network &&
		pod.head.owner_uid.s && count->n < HOST_PODS_MAX)
		count->owners[count->n++] = xstrdup(pod.head.owner_uid.s);
	return 0;
}

/* Of one workload on one host; others there have nothing to do with this Lease. */
static int64_t host_most(struct host_count *count)
{
	size_t i, j, most = 0;

	for (i = 0; i < count->n; i++) {
		size_t same = 0;

		for (j = 0; j < count->n; j++)
			same += strcmp(count->owners[i], count->owners[j]) == 0;
		if (same > most)
			most = same;
	}
	while (count->n)
		free(count->owners[--count->n]);
	return (int64_t)most;
}

/* Hands out the items of an answer that is there whole. */
static int each_item(const struct rest_answer *answer, const struct json_list_ops *ops, void *arg)
{
	struct json_list list;
	struct err err = { 0 };
	int rc;

	json_list_init(&list, "items", KUBE_OBJECT_MAX, ops, arg);
	rc = json_list_take(&list, answer->body.s, answer->body.len, &err);
	if (!rc)
		rc = json_list_end(&list, &err);
	json_list_release(&list);
	return rc;
}

static void take_host(struct kube *k, struct kube_lease_seen *lease,
	const struct kube_looking *look, int rc, const struct rest_answer *answer)
{
	static const struct json_list_ops ops = { .item = host_item };
	struct kube_looked *l = looked_of(lease, look);
	struct host_count count = { .k = k };

	if (!l || l != &lease->looked)
		return;
	if (!rc)
		each_item(answer, &ops, &count);
	l->matching = host_most(&count);
	if (l->matching > 1)
		kube_store_touch_lease(k->store, lease);
}

struct candidates {
	struct kube *k;
	struct kube_lease_seen *lease;
	char **names;
	size_t n, cap;
};

static int candidate_item(void *arg, const char *text, size_t len, struct err *err)
{
	struct candidates *c = arg;
	struct kube_candidate candidate;

	(void)err;
	if (!kube_read_candidate(&c->k->reader, text, len, &candidate) ||
		!kube_text_eq(&candidate.lease, &c->lease->facts->head.name) ||
		c->n >= KUBE_LIST_MAX)
		return 0;
	MEM_GROW(c->names, c->n, c->cap);
	c->names[c->n++] = xstrndup(candidate.head.name.s, candidate.head.name.len);
	return 0;
}

static bool same_names(const struct candidates *c)
{
	size_t i;

	for (i = 0; i < c->n && c->n == c->lease->n_candidates; i++)
		if (strcmp(c->names[i], c->lease->candidates[i]) != 0)
			return false;
	return c->lease->candidates && c->n == c->lease->n_candidates;
}

static void take_candidates(
	struct kube *k, struct kube_lease_seen *lease, int rc, const struct rest_answer *answer)
{
	static const struct json_list_ops ops = { .item = candidate_item };
	struct candidates c = { .k = k, .lease = lease, .names = xcalloc(1, sizeof(char *)) };
	bool same;

	c.cap = 1;
	lease->candidates_ms = round_now_ms(k->r);
	if (!rc)
		rc = each_item(answer, &ops, &c);
	same = rc || same_names(&c);
	if (!same)
		kube_lease_candidates(lease, c.names, c.n);
	else
		while (c.n)
			free(c.names[--c.n]);
	if (same)
		free(c.names);
	else
		kube_store_touch_lease(k->store, lease);
}

/* ---- events of one object ---- */

/* What was told stays known: the row may be looked at again. */
static void events_end(struct kube *k)
{
	free(k->events_of);
	k->events_of = NULL;
}

static const struct kube_head *row_head(const struct kube *k, const char *path)
{
	const struct kube_cron *cron = kube_store_cron_at(k->store, path);
	const struct kube_lease_seen *lease = kube_store_lease_at(k->store, path);

	if (cron && cron->facts)
		return &cron->facts->head;
	return lease ? &lease->facts->head : NULL;
}

static void look_events(struct kube *k, const char *path)
{
	const struct kube_head *head = row_head(k, path);
	struct str url;

	if (!head || look_asked(k, LOOK_EVENTS, path, NULL, 0))
		return;
	if (!k->events_of || strcmp(k->events_of, path) != 0) {
		events_end(k);
		k->events_of = xstrdup(path);
	} else if (round_now_ms(k->r) - k->events_ms < EVENTS_EVERY_MS) {
		return;
	}
	k->events_ms = round_now_ms(k->r);
	str_init(&url, 4096);
	str_add(&url, "/api/v1/namespaces/");
	rest_path_add(&url, head->ns.s);
	str_addf(&url, "/events?limit=%d&fieldSelector=involvedObject.uid%%3D", EVENTS_MAX);
	rest_path_add(&url, head->uid.s);
	look_begin(k, LOOK_EVENTS, path, NULL, 0, url.s);
	str_release(&url);
}

static void escape_text(struct str *to, const struct kube_text *text, size_t most)
{
	if (text->s)
		text_escape_cut(to, text->s, text->len, most);
}

/*
 * Whether it was told before, when the row was looked at for the first time: an event that happens
 * again has the same uid and a higher count. Of very many the oldest are forgotten.
 */
static bool event_is_new(struct kube *k, const struct kube_event *event)
{
	struct str key;
	char **place;

	str_init(&key, 1024);
	str_addf(&key, "%s %lld", event->head.uid.s, (long long)event->count);
	if (map_get(&k->events, key.s, key.len)) {
		str_release(&key);
		return false;
	}
	if (!k->events_told)
		k->events_told = xcalloc(EVENTS_KEPT, sizeof(*k->events_told));
	place = &k->events_told[k->n_events++ % EVENTS_KEPT];
	if (*place)
		map_remove(&k->events, *place, strlen(*place));
	free(*place);
	*place = str_take(&key);
	map_put(&k->events, *place, strlen(*place), *place);
	return true;
}

struct telling {
	struct kube *k;
	const char *path;
};

static int event_item(void *arg, const char *text, size_t len, struct err *err)
{
	struct telling *t = arg;
	struct kube_event event;
	struct str what, words, id;

	(void)err;
	if (!kube_read_event(&t->k->reader, text, len, &event) || !event_is_new(t->k, &event))
		return 0;
	str_init(&what, 512);
	str_init(&words, (size_t)EVENT_TEXT_MAX * 5);
	str_init(&id, 4096);
	escape_text(&what, &event.reason, 64);
	escape_text(&words, &event.message, EVENT_TEXT_MAX);
	if (event.count > 1)
		str_addf(&words, " (%lld times)", (long long)event.count);
	text_escape(&id, t->path, strlen(t->path));
	round_event(t->k->r, id.s, event.at_us, 0, what.len ? what.s : "event", words.s);
	str_release(&what);
	str_release(&words);
	str_release(&id);
	return 0;
}

static void take_events(
	struct kube *k, const struct kube_looking *look, int rc, const struct rest_answer *answer)
{
	static const struct json_list_ops ops = { .item = event_item };
	struct telling telling = { .k = k, .path = look->path };

	if (!rc && k->events_of && strcmp(k->events_of, look->path) == 0)
		each_item(answer, &ops, &telling);
}

/* ---- all of it ---- */

static void look_take(struct kube *k, struct kube_looking *look, int rc, struct rest_answer *answer)
{
	struct kube_lease_seen *lease = kube_store_lease_at(k->store, look->path);

	if (look->kind == LOOK_EVENTS)
		take_events(k, look, rc, answer);
	else if (lease && look->kind == LOOK_POD)
		take_pod(k, lease, look, rc, answer);
	else if (lease && look->kind == LOOK_HOST)
		take_host(k, lease, look, rc, answer);
	else if (lease)
		take_candidates(k, lease, rc, answer);
	rest_answer_release(answer);
	look_release(look);
}

static void look_ended(struct kube *k, struct kube_looking *look)
{
	struct rest_answer answer = { .date_us = REST_UNKNOWN_TIME };
	struct err err = { 0 };
	int rc = rest_result(look->call, &answer, &err);

	look_take(k, look, rc, &answer);
}

struct wanted {
	size_t skip; /* the source's name and the slash */
	struct str paths;
	size_t n;
};

static void wanted_add(void *arg, const char *id)
{
	struct wanted *w = arg;

	if (strlen(id) <= w->skip)
		return;
	str_add(&w->paths, id + w->skip);
	str_add_char(&w->paths, '\0');
	w->n++;
}

/* When it is late, if nothing of it changes; INT64_MAX: never. A renewal only puts that off. */
static int64_t lease_late_ms(const struct kube_lease_seen *lease, int64_t now_ms)
{
	const struct kube_lease *facts = lease->facts;

	if (facts->heartbeat)
		return INT64_MAX;
	if (lease->n_former && now_ms - lease->former[0].until_ms < FORMER_MS)
		return now_ms;
	if (!facts->holder.s || !facts->holder.len)
		return facts->strategy.s && facts->strategy.len ? now_ms : INT64_MAX;
	if (facts->duration_s == TIME_UNKNOWN)
		return now_ms;
	/* A third before the end a renewal was missed. */
	return lease->change_ms + facts->duration_s * 1000 * 2 / 3;
}

/* Reckons until when none is late; where one is, that is enough. */
static void late_reckon(struct kube *k, int64_t now_ms)
{
	struct kube_lease_seen *lease;
	size_t pos = 0;

	k->late_changes = kube_store_lease_changes(k->store);
	k->late_from_ms = INT64_MAX;
	while (k->late_from_ms > now_ms && (lease = kube_store_next_lease(k->store, &pos))) {
		int64_t late_ms = lease_late_ms(lease, now_ms);

		if (late_ms < k->late_from_ms)
			k->late_from_ms = late_ms;
	}
}

static void look_wanted(struct kube *k)
{
	struct wanted w = { .skip = strlen(k->config->name) + 1 };
	size_t at;

	str_init(&w.paths, 1024 * 1024);
	round_each_wanted(k->r, wanted_add, &w);
	for (at = 0; at < w.paths.len; at += strlen(w.paths.s + at) + 1) {
		struct kube_lease_seen *lease = kube_store_lease_at(k->store, w.paths.s + at);

		if (lease && !lease->facts->heartbeat)
			look_lease(k, lease, WANTED_EVERY_MS);
	}
	/* One alone is looked at closely; show asks for an id in both its spellings. */
	if (w.n == 1 || (w.n == 2 && round_one_shot(k->r)))
		look_events(k, w.paths.s);
	else if (k->events_of)
		events_end(k);
	str_release(&w.paths);
}

/* In turn, and few in a second: where everything is late, the pods are not what is wrong. */
static void look_late(struct kube *k)
{
	int64_t now_ms = round_now_ms(k->r);
	struct kube_lease_seen *lease;
	size_t n, most = kube_store_count(k->store, KUBE_LEASES) + kube_store_heartbeats(k->store);
	bool none;

	if (round_one_shot(k->r) || now_ms < k->late_ms)
		return;
	k->late_ms = now_ms + LATE_PAUSE_MS;
	/* Of many that are renewed in time none need be looked at. */
	if (now_ms >= k->late_from_ms || k->late_changes != kube_store_lease_changes(k->store))
		late_reckon(k, now_ms);
	none = now_ms < k->late_from_ms;
	for (n = 0; n < most && look_room(k) > KUBE_LOOKS - LATE_AT_ONCE; n++) {
		lease = kube_store_lease_in_turn(k->store, &k->late_pos);
		if (lease && !none && lease_late_ms(lease, now_ms) <= now_ms)
			look_lease(k, lease, LATE_EVERY_MS);
	}
}

void kube_look_step(struct kube *k)
{
	size_t i;

	for (i = 0; i < KUBE_LOOKS; i++)
		if (k->looks[i].call && rest_done(k->looks[i].call))
			look_ended(k, &k->looks[i]);
	look_wanted(k);
	look_late(k);
}

bool kube_look_busy(const struct kube *k)
{
	size_t i;

	for (i = 0; i < KUBE_LOOKS; i++)
		if (k->looks[i].call)
			return true;
	return false;
}

bool kube_look_ended(const struct kube *k)
{
	size_t i;

	for (i = 0; i < KUBE_LOOKS; i++)
		if (k->looks[i].call && rest_done(k->looks[i].call))
			return true;
	return false;
}

void kube_look_stop(struct kube *k)
{
	size_t i;

	for (i = 0; i < KUBE_LOOKS; i++)
		look_release(&k->looks[i]);
	events_end(k);
}

void kube_look_release(struct kube *k)
{
	size_t i;

	for (i = 0; k->events_told && i < EVENTS_KEPT; i++)
		free(k->events_told[i]);
	free(k->events_told);
	map_release(&k->events);
}
