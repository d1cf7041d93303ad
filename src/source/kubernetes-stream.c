#include "config.h"

#include "source/kubernetes.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/*
 * Lists and watches (kubernetes.io "API concepts": retrieving large results in chunks, efficient
 * detection of changes). Each kind is listed in pages at one resourceVersion, and then watched from
 * there, with bookmarks that move it on. What the watch can't continue is listed again.
 */
enum {
	TRIES_MAX = 4,
	BUSY_MS = 1000,
	LOST_DOUBLINGS = 5,
	LONG_WATCH_MS = 60000,
	VERSION_MAX = 256,
	MESSAGE_MAX = 300
};

/*
 * Nodes come as a Table's rows, name and status, a hundredth of their objects. Pods are those of
 * Jobs, which bear the label job-name. Heartbeats of nodes and API servers, which are renewed every
 * few seconds, are left out by the server, and counted now and then.
 */
const struct kube_resource kube_resources[KUBE_KINDS] = {
	[KUBE_CRONJOBS] = { .kind = KUBE_CRONJOBS,
		.word = "CronJobs",
		.plural = "cronjobs",
		.group = "batch",
		.versions = { "v1", "v1beta1" },
		.list = "items" },
	[KUBE_JOBS] = { .kind = KUBE_JOBS,
		.word = "Jobs",
		.plural = "jobs",
		.group = "batch",
		.versions = { "v1" },
		.list = "items" },
	[KUBE_PODS] = { .kind = KUBE_PODS,
		.word = "Pods",
		.plural = "pods",
		.group = "",
		.versions = { "v1" },
		.selector = "labelSelector=job-name",
		.list = "items" },
	[KUBE_LEASES] = { .kind = KUBE_LEASES,
		.word = "Leases",
		.plural = "leases",
		.group = "coordination.k8s.io",
		.versions = { "v1" },
		.selector = "fieldSelector=metadata.namespace%21%3Dkube-node-lease"
			    "&labelSelector=%21apiserver.kubernetes.io%2Fidentity",
		.list = "items" },
	[KUBE_NODES] = { .kind = KUBE_NODES,
		.word = "Nodes",
		.plural = "nodes",
		.group = "",
		.versions = { "v1" },
		.selector = "includeObject=None",
		.accept = "application/json;as=Table;g=meta.k8s.io;v=v1",
		.list = "rows",
		.cluster = true },
};

void kube_path(struct str *path, const struct kube_resource *res, size_t api, const char *ns)
{
	if (*res->group)
		str_addf(path, "/apis/%s/%s", res->group, res->versions[api]);
	else
		str_addf(path, "/api/%s", res->versions[api]);
	if (ns) {
		str_add(path, "/namespaces/");
		rest_path_add(path, ns);
	}
	str_addf(path, "/%s", res->plural);
}

static void set_text(char **to, const char *s, size_t len)
{
	free(*to);
	*to = s ? xstrndup(s, len) : NULL;
}

/* ---- objects ---- */

/* The first row of a Table, which a watch sends for each node. */
static bool table_row(const char *json, size_t len, struct json_text *ret)
{
	struct json_text name;
	struct json_read r;
	bool found = false;

	json_read_init(&r, json, len);
	if (!json_read_object(&r))
		return false;
	while (json_read_member(&r, &name)) {
		if (!json_is(&name, "rows")) {
			json_skip(&r);
			continue;
		}
		if (!json_read_array(&r))
			continue;
		while (json_read_item(&r)) {
			struct json_text row = json_raw(&r);

			if (!found)
				*ret = row;
			found = true;
		}
	}
	return found && !r.bad;
}

static bool take_node(struct kube_stream *s, const char *json, size_t len, bool gone)
{
	struct kube_node node;

	if (!kube_read_node(&s->k->reader, json, len, &node))
		return false;
	if (gone)
		kube_store_delete(s->k->store, KUBE_NODES, node.name.s, node.name.len);
	else
		kube_store_node(s->k->store, &node, s->generation);
	return true;
}

static bool take_gone(struct kube_stream *s, const struct kube_head *head)
{
	kube_store_delete(s->k->store, s->resource->kind, head->uid.s, head->uid.len);
	return true;
}

/* Whether what the watch tells happens now, so that our clock can be held against it. */
static bool stream_is_live(const struct kube_stream *s)
{
	return s->state == STREAM_WATCHING &&
	       round_now_ms(s->k->r) - s->begun_ms > KUBE_FRESH_WATCH_MS;
}

static bool take_lease(struct kube_stream *s, const char *json, size_t len, bool gone)
{
	struct kube_now now = kube_now(s->k);
	struct kube_lease lease;

	if (!kube_read_lease(&s->k->reader, json, len, &lease))
		return false;
	if (gone)
		return take_gone(s, &lease.head);
	/* The server leaves these out where it can. */
	if (!kube_text_is(&lease.head.ns, "kube-node-lease"))
		kube_store_lease(s->k->store, &lease, s->generation, &now, stream_is_live(s));
	return true;
}

static bool take_cronjob(struct kube_stream *s, const char *json, size_t len, bool gone)
{
	struct kube_cronjob cronjob;

	if (!kube_read_cronjob(&s->k->reader, json, len, &cronjob))
		return false;
	if (gone)
		return take_gone(s, &cronjob.head);
	kube_store_cronjob(s->k->store, &cronjob, s->generation);
	return true;
}

static bool take_job(struct kube_stream *s, const char *json, size_t len, bool gone)
{
	struct kube_job job;

	if (!kube_read_job(&s->k->reader, json, len, &job))
		return false;
	if (gone)
		return take_gone(s, &job.head);
	kube_store_job(s->k->store, &job, s->generation);
	return true;
}

static bool take_pod(struct kube_stream *s, const char *json, size_t len, bool gone)
{
	struct kube_pod pod;

	if (!kube_read_pod(&s->k->reader, json, len, &pod))
		return false;
	if (gone)
		return take_gone(s, &pod.head);
	kube_store_pod(s->k->store, &pod, s->generation);
	return true;
}

static bool stream_take(struct kube_stream *s, const char *json, size_t len, bool gone)
{
	struct kube_now now = kube_now(s->k);

	kube_store_at(s->k->store, &now);
	switch (s->resource->kind) {
	case KUBE_CRONJOBS:
		return take_cronjob(s, json, len, gone);
	case KUBE_JOBS:
		return take_job(s, json, len, gone);
	case KUBE_PODS:
		return take_pod(s, json, len, gone);
	case KUBE_LEASES:
		return take_lease(s, json, len, gone);
	default:
		return take_node(s, json, len, gone);
	}
}

/* ---- a list ---- */

static int list_member(
	void *arg, const struct json_text *name, const char *text, size_t len, struct err *err)
{
	struct kube_stream *s = arg;
	struct kube_text version, next;

	(void)err;
	if (!json_is(name, "metadata"))
		return 0;
	kube_read_list_meta(&s->k->reader, text, len, &version, &next);
	set_text(&s->version, version.s, version.len);
	set_text(&s->next, next.len ? next.s : NULL, next.len);
	return 0;
}

static int list_item(void *arg, const char *text, size_t len, struct err *err)
{
	struct kube_stream *s = arg;

	(void)err;
	/* One object that can't be understood does not hide the others. */
	if (!stream_take(s, text, len, false))
		s->n_bad++;
	else if (!s->told)
		s->k->n_objects++;
	s->k->unread = false;
	return 0;
}

static const struct json_list_ops list_ops = { .member = list_member, .item = list_item };

static int list_piece(void *arg, const char *bytes, size_t len, struct err *err)
{
	struct kube_stream *s = arg;
	int rc = json_list_take(&s->list, bytes, len, err);

	if (rc)
		err_prefix(err, "%s of %s", s->resource->word, rest_server(s->k->client));
	return rc;
}

static void list_release(struct kube_stream *s)
{
	if (s->listing)
		json_list_release(&s->list);
	s->listing = false;
}

static int list_page(struct kube_stream *s, struct err *err)
{
	struct rest_request request = {
		.method = REST_GET,
		.accept = s->resource->accept,
		.max = SIZE_MAX / 2,
		.piece = list_piece,
		.arg = s,
	};
	struct str path;

	str_init(&path, 64 * 1024);
	kube_path(&path, s->resource, s->api, s->resource->cluster ? NULL : s->ns);
	str_addf(&path, "?limit=%d", KUBE_PAGE);
	if (s->resource->selector)
		str_addf(&path, "&%s", s->resource->selector);
	if (s->next) {
		str_add(&path, "&continue=");
		rest_path_add(&path, s->next);
	}
	set_text(&s->next, NULL, 0);
	list_release(s);
	json_list_init(&s->list, s->resource->list, KUBE_OBJECT_MAX, &list_ops, s);
	s->listing = true;
	request.path = path.s;
	s->begun_ms = round_now_ms(s->k->r);
	s->call = rest_start(s->k->client, &request, err);
	str_release(&path);
	if (!s->call)
		return err->code ? (int)err->code : ERR_NOMEM;
	s->state = STREAM_LISTING;
	return 0;
}

static int list_begin(struct kube_stream *s, struct err *err)
{
	s->generation++;
	s->n_bad = 0;
	s->list_ms = round_now_ms(s->k->r);
	set_text(&s->next, NULL, 0);
	return list_page(s, err);
}

/*
 * A Lease that is not looked at is not silent. While none is watched, it is known up to the last
 * list; seen_ms: TIME_UNKNOWN where a watch follows.
 */
static void leases_known(const struct kube_stream *s, int64_t seen_ms)
{
	if (s->resource->kind == KUBE_LEASES)
		kube_store_leases_known(s->k->store, s->ns, seen_ms);
}

static bool is_lease(const struct kube_stream *s)
{
	return s->resource->kind == KUBE_LEASES;
}

/* Whether it is to be watched, by and by. */
static bool stream_will_watch(const struct kube_stream *s)
{
	return !s->unwatched &&
	       (s->state == STREAM_IDLE || s->state == STREAM_LISTING || s->state == STREAM_LISTED);
}

/*
 * Where each watch takes a connection, and there are few, most are left for lists and questions: a
 * list that waits for one behind watches, which end in minutes, would wait for longer than a poll.
 * Leases matter most by the second: what they will need is kept for them.
 */
static bool watch_has_room(const struct kube_stream *s)
{
	const struct kube *k = s->k;
	size_t i, n = 0;

	if (rest_shares(k->client))
		return true;
	for (i = 0; i < k->n_streams; i++) {
		const struct kube_stream *o = &k->streams[i];

		if (o != s && (o->state == STREAM_WATCHING ||
				      (!is_lease(s) && is_lease(o) && stream_will_watch(o))))
			n++;
	}
	return n < KUBE_WATCHES_FEW;
}

/* It can't be watched for now: it is listed now and then. */
static void stream_unwatch(struct kube_stream *s)
{
	s->unwatched = s->k->hidden = true;
	s->state = STREAM_LISTED;
	leases_known(s, s->seen_ms);
}

static void list_whole(struct kube_stream *s)
{
	s->seen_ms = s->list_ms;
	/* Rights change: now and then the watch is tried again. */
	if (s->unwatched && !s->starved && s->list_ms - s->denied_ms >= KUBE_NARROW_EVERY_MS) {
		s->unwatched = s->watched = false;
		s->k->hidden = true;
	}
	leases_known(s, s->unwatched ? s->seen_ms : TIME_UNKNOWN);
	kube_store_sweep(
		s->k->store, s->resource->kind, s->resource->cluster ? NULL : s->ns, s->generation);
	if (s->resource->kind == KUBE_NODES)
		kube_store_nodes_known(s->k->store, true);
	if (s->late)
		round_event(s->k->r, NULL, TIME_UNKNOWN, 0, "gap",
			"The API server forgot what happened before it was read: everything was "
			"listed again, and changes in between were not seen as they happened.");
	s->late = false;
	if (!s->told) {
		s->k->hidden = true;
		/* What may be seen from now on is part of rows that were told before. */
		kube_store_redo(s->k->store);
	}
	s->refused = false;
	s->doubt_ms = 0;
	s->told = s->fresh = true;
	s->tries = 0;
	s->state = STREAM_LISTED;
}

/* ---- a watch ---- */

/* A failure within the stream: 410 says that the past is forgotten; any other ends it too. */
static int watch_error(struct kube_stream *s, const char *json, size_t len, struct err *err)
{
	struct kube_status status;
	struct str shown;

	if (!kube_read_status(&s->k->reader, json, len, &status))
		return err_set(err, ERR_PROTO,
			"%s: the watch of %s tells of an error, and not which",
			rest_server(s->k->client), s->resource->word);
	if (status.code == 410) {
		s->gone = true;
		return err_set(err, ERR_PROTO, "the past is forgotten");
	}
	s->broken = true;
	str_init(&shown, (size_t)MESSAGE_MAX * 5);
	if (status.message.s)
		text_escape_cut(&shown, status.message.s, status.message.len, MESSAGE_MAX);
	err_set(err, ERR_IO, "%s ended the watch of %s: %s", rest_server(s->k->client),
		s->resource->word, shown.s);
	str_release(&shown);
	return err->code;
}

static bool watch_version(struct kube_stream *s, const char *json, size_t len)
{
	struct kube_text version;

	if (!kube_read_version(&s->k->reader, json, len, &version) || version.len > VERSION_MAX)
		return false;
	set_text(&s->version, version.s, version.len);
	return true;
}

static int watch_line(void *arg, const char *line, size_t len, struct err *err)
{
	struct kube_stream *s = arg;
	enum kube_event_type type;
	struct json_text row;
	const char *object;
	size_t object_len;

	if (!kube_read_watch(line, len, &type, &object, &object_len))
		return err_set(err, ERR_PROTO, "%s: the watch of %s sent what is no event",
			rest_server(s->k->client), s->resource->word);
	if (type == KUBE_ERROR)
		return watch_error(s, object, object_len, err);
	s->watched = true;
	s->doubt_ms = 0;
	s->lost = 0;
	watch_version(s, object, object_len);
	if (type == KUBE_BOOKMARK || type == KUBE_OTHER)
		return 0;
	if (s->resource->kind == KUBE_NODES) {
		if (!table_row(object, object_len, &row))
			return 0;
		object = row.s;
		object_len = row.len;
	}
	if (!stream_take(s, object, object_len, type == KUBE_DELETED))
		s->n_bad++;
	return 0;
}

static int watch_begin(struct kube_stream *s, struct err *err)
{
	struct rest_request request = {
		.method = REST_GET,
		.accept = s->resource->accept,
		.max = KUBE_OBJECT_MAX,
		.watch = true,
		.line = watch_line,
		.arg = s,
	};
	struct str path;

	str_init(&path, 64 * 1024);
	kube_path(&path, s->resource, s->api, s->resource->cluster ? NULL : s->ns);
	str_addf(&path, "?watch=1&allowWatchBookmarks=true&timeoutSeconds=%d&resourceVersion=",
		KUBE_WATCH_S);
	rest_path_add(&path, s->version ? s->version : "");
	if (s->resource->selector)
		str_addf(&path, "&%s", s->resource->selector);
	request.path = path.s;
	s->gone = s->broken = false;
	s->begun_ms = round_now_ms(s->k->r);
	s->call = rest_start(s->k->client, &request, err);
	str_release(&path);
	if (!s->call)
		return err->code ? (int)err->code : ERR_NOMEM;
	s->state = STREAM_WATCHING;
	return 0;
}

/* ---- what ends ---- */

/* A server that forgets at once would be asked for list after list: the pause grows. */
static void stream_pause(struct kube_stream *s)
{
	unsigned doublings = s->lost < LOST_DOUBLINGS ? s->lost : LOST_DOUBLINGS;
	int64_t wait_ms = (int64_t)BUSY_MS << doublings;

	if (round_now_ms(s->k->r) - s->begun_ms > LONG_WATCH_MS)
		s->lost = 0;
	if (!s->lost++)
		return;
	s->not_before_ms = round_now_ms(s->k->r) + wait_ms;
	err_set(&s->why, ERR_BUSY,
		"%s forgets changes of %s before they can be watched; they are listed again in "
		"%lld s",
		rest_server(s->k->client), s->resource->word, (long long)wait_ms / 1000);
}

/* To be listed anew: the past was forgotten, or a page's place in it. */
static int stream_anew(struct kube_stream *s, const struct err *why, struct err *err)
{
	if (s->state == STREAM_WATCHING) {
		leases_known(s, s->seen_ms);
		stream_pause(s);
	}
	s->state = STREAM_IDLE;
	s->late = s->told;
	if (++s->tries <= TRIES_MAX)
		return 0;
	s->tries = 0;
	*err = *why;
	return err_prefix(err, "%s can't be listed to the end", s->resource->word);
}

static void stream_refused(struct kube_stream *s, enum kube_stream_state state)
{
	s->state = state;
	s->denied_ms = round_now_ms(s->k->r);
	if (s->refused)
		return;
	s->refused = s->k->hidden = true;
	/* What was seen before is not known any more; it need not be gone. */
	s->generation++;
	kube_store_hide(s->k->store, s->resource->kind, s->resource->cluster ? NULL : s->ns);
	if (s->resource->kind == KUBE_NODES)
		kube_store_nodes_known(s->k->store, false);
	kube_store_redo(s->k->store);
	s->told = s->watched = false;
}

/* May not be listed: in all namespaces, then at least in the context's own. */
static int stream_denied(struct kube_stream *s)
{
	if (!s->ns && !s->resource->cluster && s->k->access.name_space && !s->told) {
		s->ns = s->k->access.name_space;
		s->narrowed = true;
		s->denied_ms = round_now_ms(s->k->r);
		s->state = STREAM_IDLE;
		s->k->hidden = true;
		return 0;
	}
	stream_refused(s, STREAM_DENIED);
	return 0;
}

static int stream_busy(struct kube_stream *s, const struct rest_answer *answer, struct err *err)
{
	int64_t wait_ms =
		answer->retry_after_ms == REST_UNKNOWN_TIME ? BUSY_MS : answer->retry_after_ms;
	int64_t now_ms = round_now_ms(s->k->r);

	/* Until the next list, nothing is seen of Leases. */
	if (s->state == STREAM_WATCHING)
		leases_known(s, s->seen_ms);
	s->state = s->state == STREAM_WATCHING && s->resource->kind != KUBE_LEASES ? STREAM_LISTED
										   : STREAM_IDLE;
	s->not_before_ms = now_ms + wait_ms;
	err_set(&s->why, ERR_BUSY, "%s takes no more requests now, and asks to come back in %lld s",
		rest_server(s->k->client), (long long)(wait_ms + 999) / 1000);
	if (s->not_before_ms < round_deadline_ms(s->k->r))
		return 0;
	*err = s->why;
	return ERR_BUSY;
}

static int stream_no_api(struct kube_stream *s, const struct err *why)
{
	s->why = *why;
	if (s->resource->versions[s->api + 1] && !s->told) {
		s->api++;
		s->state = STREAM_IDLE;
		return 0;
	}
	stream_refused(s, STREAM_ABSENT);
	return 0;
}

/*
 * What was allowed a moment ago is refused: a server that has just started refuses everybody until
 * it has read its own rules. For a while that is a failure, and the picture stays.
 */
static bool stream_doubts(struct kube_stream *s)
{
	int64_t now_ms = round_now_ms(s->k->r);

	if (s->state == STREAM_WATCHING ? !s->watched : !s->told)
		return false;
	if (!s->doubt_ms)
		s->doubt_ms = now_ms;
	return now_ms - s->doubt_ms < KUBE_DOUBT_MS;
}

/* A failure that may be this stream's alone; others are the connection's. */
static int stream_failed(
	struct kube_stream *s, int rc, const struct rest_answer *answer, struct err *err)
{
	struct err why = *err;

	if (answer->gone || s->gone)
		return stream_anew(s, &why, err);
	switch (rc) {
	case ERR_DENIED:
		if (stream_doubts(s))
			break;
		s->why = *err;
		if (s->state == STREAM_WATCHING && s->told && !s->unwatched) {
			s->denied_ms = round_now_ms(s->k->r);
			stream_unwatch(s);
			return 0;
		}
		return stream_denied(s);
	case ERR_NOTFOUND:
		return stream_no_api(s, err);
	case ERR_UNSUPPORTED:
		if (s->resource->accept) {
			stream_refused(s, STREAM_ABSENT);
			return 0;
		}
		break;
	case ERR_BUSY:
		return stream_busy(s, answer, err);
	default:
		break;
	}
	/* A watch that told of an error may not go on from where it was. */
	s->state =
		s->told && s->state == STREAM_WATCHING && !s->broken ? STREAM_LISTED : STREAM_IDLE;
	return rc;
}

static int list_ended(struct kube_stream *s, int rc, struct err *err)
{
	if (!rc)
		rc = json_list_end(&s->list, err);
	list_release(s);
	if (rc)
		return rc;
	if (!s->next) {
		list_whole(s);
		return 0;
	}
	return list_page(s, err);
}

static void watch_closed(struct kube_stream *s)
{
	int64_t now_ms = round_now_ms(s->k->r);

	s->state = STREAM_LISTED;
	s->watched = true;
	s->seen_ms = now_ms;
	/* Servers close a watch every few minutes, in good order. */
	if (now_ms - s->begun_ms < KUBE_SHORT_WATCH_MS)
		s->not_before_ms = now_ms + KUBE_SHORT_WATCH_MS;
}

static int stream_ended(struct kube_stream *s, struct err *err)
{
	struct rest_answer answer = { .retry_after_ms = REST_UNKNOWN_TIME };
	int rc = rest_result(s->call, &answer, err);

	rest_end(s->call);
	s->call = NULL;
	if (answer.date_us != REST_UNKNOWN_TIME && s->state == STREAM_LISTING)
		kube_server_time(s->k, &answer);
	if (s->state == STREAM_LISTING) {
		rc = list_ended(s, rc, err);
	} else if (!rc) {
		watch_closed(s);
	}
	if (rc)
		rc = stream_failed(s, rc, &answer, err);
	rest_answer_release(&answer);
	return rc;
}

/* Rights change: now and then all namespaces are asked for again. */
static void stream_widen(struct kube_stream *s)
{
	if (!s->narrowed || s->state != STREAM_WATCHING ||
		round_now_ms(s->k->r) - s->denied_ms < KUBE_NARROW_EVERY_MS)
		return;
	rest_end(s->call);
	s->call = NULL;
	s->ns = NULL;
	s->narrowed = s->told = s->watched = false;
	s->state = STREAM_IDLE;
}

/* A watch that the server should have ended long ago tells nothing any more: what it missed is
 * listed. */
static void stream_unhang(struct kube_stream *s)
{
	int64_t heard_ms;

	if (s->state != STREAM_WATCHING || !s->call || rest_done(s->call))
		return;
	heard_ms = rest_heard_ms(s->call);
	if (heard_ms == REST_UNKNOWN_TIME || heard_ms < s->begun_ms)
		heard_ms = s->begun_ms;
	if (round_now_ms(s->k->r) - heard_ms <= KUBE_HUNG_WATCH_MS)
		return;
	rest_end(s->call);
	s->call = NULL;
	s->state = STREAM_IDLE;
}

/* How often what is not watched is listed: at once, where something of it is known to be old. */
static int64_t list_every_ms(const struct kube_stream *s)
{
	return kube_is_ahead(s->k, s->resource->kind) ? KUBE_AHEAD_EVERY_MS
						      : KUBE_UNWATCHED_EVERY_MS;
}

static int stream_step(struct kube_stream *s, struct err *err)
{
	int64_t now_ms = round_now_ms(s->k->r);
	int rc = 0;

	stream_widen(s);
	stream_unhang(s);
	if (s->call && rest_done(s->call))
		rc = stream_ended(s, err);
	if (rc || s->call)
		return rc;
	if (now_ms < s->not_before_ms) {
		if (s->state != STREAM_IDLE || s->not_before_ms < round_deadline_ms(s->k->r))
			return 0;
		*err = s->why;
		return ERR_BUSY;
	}
	switch (s->state) {
	case STREAM_IDLE:
		return list_begin(s, err);
	case STREAM_LISTED:
		if (round_one_shot(s->k->r))
			return 0;
		if (!s->unwatched && watch_has_room(s))
			return watch_begin(s, err);
		if (!s->unwatched) {
			s->starved = true;
			stream_unwatch(s);
		}
		if (now_ms - s->begun_ms >= list_every_ms(s))
			return list_begin(s, err);
		return 0;
	case STREAM_DENIED:
	case STREAM_ABSENT:
		if (now_ms - s->denied_ms < KUBE_DENIED_EVERY_MS)
			return 0;
		s->denied_ms = now_ms;
		return list_begin(s, err);
	default:
		return 0;
	}
}

int kube_streams_step(struct kube *k, struct err *err)
{
	size_t i;
	int rc = 0;

	/* Lists before watches: these keep their connections, of which there may be few. */
	for (i = 0; i < k->n_streams && !rc; i++)
		if (k->streams[i].state != STREAM_LISTED)
			rc = stream_step(&k->streams[i], err);
	for (i = 0; i < k->n_streams && !rc; i++)
		if (k->streams[i].state == STREAM_LISTED)
			rc = stream_step(&k->streams[i], err);
	return rc;
}

bool kube_streams_settled(const struct kube *k)
{
	size_t i;

	for (i = 0; i < k->n_streams; i++) {
		const struct kube_stream *s = &k->streams[i];

		switch (s->state) {
		case STREAM_WATCHING:
			if (!s->fresh && !rest_answering(s->call))
				return false;
			break;
		case STREAM_LISTED:
			if (!s->unwatched && !round_one_shot(k->r) &&
				round_now_ms(k->r) >= s->not_before_ms)
				return false;
			break;
		case STREAM_DENIED:
		case STREAM_ABSENT:
			break;
		default:
			return false;
		}
	}
	return true;
}

bool kube_streams_listing(const struct kube *k)
{
	size_t i;

	for (i = 0; i < k->n_streams; i++)
		if (k->streams[i].state == STREAM_LISTING)
			return true;
	return false;
}

bool kube_streams_sending(const struct kube *k)
{
	size_t i;

	for (i = 0; i < k->n_streams; i++) {
		const struct kube_stream *s = &k->streams[i];

		if (s->state == STREAM_LISTING &&
			(s->next || (s->call && rest_heard_ms(s->call) != REST_UNKNOWN_TIME)))
			return true;
	}
	return false;
}

bool kube_streams_starve(struct kube *k)
{
	size_t i, n_kept = 0, n_answering = 0, n_other = 0;
	bool starved = false;

	for (i = 0; i < k->n_streams; i++) {
		const struct kube_stream *s = &k->streams[i];

		if (s->state == STREAM_WATCHING) {
			n_answering += rest_answering(s->call);
			/* Leases matter most by the second: theirs are kept first. */
			n_kept += rest_answering(s->call) && is_lease(s);
			starved = starved || !rest_answering(s->call);
		} else {
			n_other += s->state == STREAM_IDLE || s->state == STREAM_LISTING;
		}
	}
	if (!starved || !n_answering || n_other)
		return false;
	for (i = 0; i < k->n_streams; i++) {
		struct kube_stream *s = &k->streams[i];

		if (s->state != STREAM_WATCHING)
			continue;
		/* Lists and questions need connections too. */
		if (rest_answering(s->call)) {
			if (is_lease(s) || ++n_kept <= KUBE_WATCHES_FEW)
				continue;
			s->seen_ms = round_now_ms(k->r);
		}
		rest_end(s->call);
		s->call = NULL;
		s->starved = true;
		stream_unwatch(s);
	}
	return true;
}

int kube_streams_blind(const struct kube *k, struct err *err)
{
	const struct kube_stream *first = NULL;
	size_t i;

	for (i = 0; i < k->n_streams; i++) {
		const struct kube_stream *s = &k->streams[i];

		if (s->resource->kind != KUBE_CRONJOBS && s->resource->kind != KUBE_LEASES)
			continue;
		if (s->told)
			return 0;
		first = first ? first : s;
	}
	if (!first || !first->why.code)
		return 0;
	*err = first->why;
	return err->code;
}

bool kube_streams_ended(const struct kube *k)
{
	size_t i;

	for (i = 0; i < k->n_streams; i++)
		if (k->streams[i].call && rest_done(k->streams[i].call))
			return true;
	return false;
}

bool kube_sees(const struct kube *k, enum kube_kind kind, const char *ns)
{
	size_t i;

	for (i = 0; i < k->n_streams; i++) {
		const struct kube_stream *s = &k->streams[i];

		if (s->resource->kind == kind && s->told &&
			(!s->ns || (ns && strcmp(s->ns, ns) == 0)))
			return true;
	}
	return false;
}

/* ---- life ---- */

void kube_streams_open(struct kube *k, const char *const *namespaces, size_t n)
{
	size_t i, kind;

	k->streams = xcalloc((n ? n : 1) * KUBE_KINDS, sizeof(*k->streams));
	for (kind = 0; kind < KUBE_KINDS; kind++) {
		const struct kube_resource *res = &kube_resources[kind];

		for (i = 0; i < (n ? n : 1); i++) {
			if (res->cluster && i)
				break;
			k->streams[k->n_streams++] = (struct kube_stream){
				.k = k,
				.resource = res,
				.ns = n && !res->cluster ? namespaces[i] : NULL,
			};
		}
	}
}

/*
 * Leases are listed again rather than watched from where they were: a watch does not tell when it
 * has caught up, and until then every holder that renewed meanwhile would look silent.
 */
static void stream_stop(struct kube_stream *s)
{
	bool anew = s->state == STREAM_LISTING || s->resource->kind == KUBE_LEASES || s->starved;

	if (s->starved)
		s->starved = s->unwatched = false;

	rest_end(s->call);
	s->call = NULL;
	list_release(s);
	if (s->state == STREAM_WATCHING || s->state == STREAM_LISTING || s->state == STREAM_LISTED)
		s->state = anew ? STREAM_IDLE : STREAM_LISTED;
}

void kube_streams_stop(struct kube *k)
{
	size_t i;

	for (i = 0; i < k->n_streams; i++)
		stream_stop(&k->streams[i]);
}

void kube_streams_close(struct kube *k)
{
	size_t i;

	kube_streams_stop(k);
	for (i = 0; i < k->n_streams; i++) {
		free(k->streams[i].version);
		free(k->streams[i].next);
	}
	free(k->streams);
	k->streams = NULL;
	k->n_streams = 0;
}
