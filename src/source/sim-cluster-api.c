#include "config.h"

#include "source/sim-cluster.h"
#include "source/kubernetes-act.h"
#include "base/clock.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The simulated API server's answers to requests, with the comparisons that the real one makes:
 * a JSON Patch's tests, a merge patch's resourceVersion and uid, a deletion's preconditions. The
 * words are those of its Status objects.
 */
enum {
	SEGMENTS_MAX = 10,
	SEGMENT_MAX = 260,
	MESSAGE_MAX = 400
};

/* A request, taken apart. */
struct asked {
	struct cluster *c;
	enum rest_method method;
	char segments[SEGMENTS_MAX][SEGMENT_MAX];
	size_t n;
	char query[SEGMENT_MAX * 2];
	const char *ns, *plural, *name; /* "" where there is none */
	const char *type;
	json_t *body;
	/* the answer */
	int status;
	const char *reason;
	char message[MESSAGE_MAX];
	json_t *json;
};

static int hex(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
				      : -1;
}

static void unescape(char *to, size_t size, const char *from, size_t len)
{
	size_t i, n = 0;

	for (i = 0; i < len && n + 1 < size; i++) {
		if (from[i] == '%' && i + 2 < len && hex(from[i + 1]) >= 0 &&
			hex(from[i + 2]) >= 0) {
			to[n++] = (char)(hex(from[i + 1]) * 16 + hex(from[i + 2]));
			i += 2;
		} else {
			to[n++] = from[i];
		}
	}
	to[n] = '\0';
}

static void take_path(struct asked *a, const char *path)
{
	size_t len;

	for (; *path == '/' && a->n < SEGMENTS_MAX; path += len) {
		path++;
		len = strcspn(path, "/?");
		unescape(a->segments[a->n++], SEGMENT_MAX, path, len);
	}
	if (*path == '?')
		unescape(a->query, sizeof(a->query), path + 1, strlen(path + 1));
}

/* Behind the API's group and version: namespaces/NS/PLURAL/NAME, or PLURAL/NAME. */
static void take_names(struct asked *a)
{
	size_t at = strcmp(a->segments[0], "api") == 0 ? 2 : 3;

	a->ns = a->plural = a->name = "";
	if (at + 2 < a->n && strcmp(a->segments[at], "namespaces") == 0) {
		a->ns = a->segments[at + 1];
		at += 2;
	}
	if (at < a->n)
		a->plural = a->segments[at];
	if (at + 1 < a->n)
		a->name = a->segments[at + 1];
}

static void refuse(struct asked *a, int status, const char *reason, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

static void refuse(struct asked *a, int status, const char *reason, const char *fmt, ...)
{
	va_list args;

	a->status = status;
	a->reason = reason;
	va_start(args, fmt);
	vsnprintf(a->message, sizeof(a->message), fmt, args);
	va_end(args);
}

static const char *group_of(const struct asked *a)
{
	static const char *const groups[] = { "batch", "coordination.k8s.io" };
	size_t i;

	for (i = 0; i < ARRAY_LEN(groups); i++)
		if (strcmp(a->segments[1], groups[i]) == 0)
			return groups[i];
	return NULL;
}

static void not_found(struct asked *a)
{
	const char *group = group_of(a);

	refuse(a, 404, "NotFound", "%s%s%s \"%s\" not found", a->plural, group ? "." : "",
		group ? group : "", a->name);
}

static void no_space(struct asked *a)
{
	refuse(a, 500, "InternalError", "etcdserver: mvcc: database space exceeded");
}

static void done(struct asked *a, json_t *json)
{
	a->status = a->method == REST_POST ? 201 : 200;
	a->json = json;
}

static int kind_of(const char *plural)
{
	return strcmp(plural, "leases") == 0     ? CLUSTER_LEASE
	       : strcmp(plural, "cronjobs") == 0 ? CLUSTER_CRONJOB
	       : strcmp(plural, "jobs") == 0     ? CLUSTER_JOB
	       : strcmp(plural, "pods") == 0     ? CLUSTER_POD
						 : -1;
}

static struct cluster_object *object_of(const struct asked *a)
{
	int kind = kind_of(a->plural);
	struct cluster_object *o =
		kind < 0 ? NULL : cluster_get(a->c, (enum cluster_kind)kind, a->ns, a->name);

	if (o && kind == CLUSTER_LEASE && !((struct cluster_lease *)o)->there)
		return NULL;
	return o;
}

static json_t *json_of(const struct cluster_object *o)
{
	switch (o->kind) {
	case CLUSTER_LEASE:
		return sim_lease_json((const struct cluster_lease *)o);
	case CLUSTER_CRONJOB:
		return sim_cronjob_json((const struct cluster_cronjob *)o);
	case CLUSTER_JOB:
		return sim_job_json((const struct cluster_job *)o);
	default:
		return sim_pod_json((const struct cluster_pod *)o);
	}
}

/* ---- lists ---- */

static bool pod_is_asked(const struct asked *a, const struct cluster_pod *pod)
{
	const char *job = strstr(a->query, "job-name="), *node = strstr(a->query, "nodeName=");

	if (strcmp(pod->o.ns, a->ns) != 0)
		return false;
	if (job)
		return pod->of_job && strcmp(pod->owner_name, job + strlen("job-name=")) == 0;
	if (node)
		return pod->phase == POD_RUNNING && pod->node &&
		       strcmp(pod->node->o.name, node + strlen("nodeName=")) == 0;
	return true;
}

static void list_pods(struct asked *a)
{
	json_t *items = json_array();
	const struct cluster_object *o;

	for (o = a->c->first[CLUSTER_POD]; o; o = o->next)
		if (pod_is_asked(a, (const struct cluster_pod *)o))
			json_array_append_new(items, sim_pod_json((const struct cluster_pod *)o));
	done(a, json_pack("{s:{}, s:o}", "metadata", "items", items));
}

static void list_events(struct asked *a)
{
	const char *uid = strstr(a->query, "involvedObject.uid=");
	json_t *items = json_array();
	const struct cluster_event *e;
	const struct cluster_object *o = NULL;
	int kind;

	for (kind = 0; uid && !o && kind < CLUSTER_KINDS; kind++)
		o = cluster_by_uid(
			a->c, (enum cluster_kind)kind, uid + strlen("involvedObject.uid="));
	for (e = o ? o->events : NULL; e; e = e->next)
		json_array_append_new(items, sim_event_json(o, e));
	done(a, json_pack("{s:{}, s:o}", "metadata", "items", items));
}

static void get(struct asked *a)
{
	const struct cluster_object *o;

	if (!*a->name && strcmp(a->plural, "pods") == 0) {
		list_pods(a);
		return;
	}
	if (!*a->name && strcmp(a->plural, "events") == 0) {
		list_events(a);
		return;
	}
	o = object_of(a);
	if (o)
		done(a, json_of(o));
	else
		not_found(a);
}

/* ---- a patch of a Lease: JSON Patch (RFC 6902) ---- */

/* "/spec/holderIdentity" of an object's JSON. */
static json_t *pointed(const json_t *json, const char *pointer)
{
	json_t *at = (json_t *)(uintptr_t)json;
	char name[64];

	while (at && *pointer == '/') {
		size_t len = strcspn(++pointer, "/");

		if (len >= sizeof(name))
			return NULL;
		memcpy(name, pointer, len);
		name[len] = '\0';
		at = json_object_get(at, name);
		pointer += len;
	}
	return at;
}

static bool tests_hold(const json_t *patch, const json_t *now)
{
	size_t i;

	for (i = 0; i < json_array_size(patch); i++) {
		const json_t *op = json_array_get(patch, i);
		const char *word = json_string_value(json_object_get(op, "op"));
		const char *path = json_string_value(json_object_get(op, "path"));

		if (!word || !path || strcmp(word, "test") != 0)
			continue;
		if (!json_equal(pointed(now, path), json_object_get(op, "value")))
			return false;
	}
	return true;
}

static void apply_ops(struct cluster *c, const json_t *patch, struct lease_record *r)
{
	size_t i;

	for (i = 0; i < json_array_size(patch); i++) {
		const json_t *op = json_array_get(patch, i);
		const char *path = json_string_value(json_object_get(op, "path"));
		const json_t *value = json_object_get(op, "value");

		if (str_eq(json_string_value(json_object_get(op, "op")), "test"))
			continue;
		if (str_eq(path, "/spec/holderIdentity") && json_is_string(value))
			r->holder = cluster_identity(c, json_string_value(value));
		else if (str_eq(path, "/spec/leaseDurationSeconds"))
			r->duration_s = (int32_t)json_integer_value(value);
	}
}

static void patch_lease(struct asked *a, struct cluster_lease *lease)
{
	json_t *now = sim_lease_json(lease);
	struct lease_record r = lease->record;

	if (!tests_hold(a->body, now)) {
		refuse(a, 422, "Invalid",
			"the server rejected our request due to an error in our request");
	} else {
		apply_ops(a->c, a->body, &r);
		if (cluster_lease_update(lease, &r, 0))
			no_space(a);
		else
			done(a, sim_lease_json(lease));
	}
	json_decref(now);
}

/* ---- a merge patch of a CronJob ---- */

static bool same_version(const struct asked *a, const struct cluster_object *o)
{
	const char *version = kube_string(a->body, "metadata.resourceVersion");
	char now[24];

	snprintf(now, sizeof(now), "%" PRId64, o->version);
	return !version || strcmp(version, now) == 0;
}

static void patch_cronjob(struct asked *a, struct cluster_cronjob *cron)
{
	const char *uid = kube_string(a->body, "metadata.uid");
	const json_t *suspend = kube_member(a->body, "spec.suspend");

	if (uid && strcmp(uid, cron->o.uid) != 0) {
		refuse(a, 409, "Conflict",
			"Precondition failed: UID in precondition: %s, UID in object meta: %s", uid,
			cron->o.uid);
	} else if (!same_version(a, &cron->o)) {
		refuse(a, 409, "Conflict",
			"Operation cannot be fulfilled on cronjobs.batch \"%s\": the object has "
			"been modified; please apply your changes to the latest version and try "
			"again",
			cron->o.name);
	} else if (cluster_may_write(a->c)) {
		no_space(a);
	} else {
		if (json_is_boolean(suspend) && json_is_true(suspend) != cron->suspended) {
			cron->suspended = json_is_true(suspend);
			cluster_cronjob_edited(cron);
		}
		done(a, sim_cronjob_json(cron));
	}
}

static void patch(struct asked *a)
{
	struct cluster_object *o = object_of(a);

	if (!o)
		not_found(a);
	else if (o->kind == CLUSTER_LEASE)
		patch_lease(a, (struct cluster_lease *)o);
	else if (o->kind == CLUSTER_CRONJOB)
		patch_cronjob(a, (struct cluster_cronjob *)o);
	else
		refuse(a, 405, "MethodNotAllowed", "the built-in world takes no such patch");
}

/* ---- deletions ---- */

static void delete_job(struct asked *a, struct cluster_job *job)
{
	const char *how = kube_string(a->body, "propagationPolicy");
	bool foreground = str_eq(how, "Foreground");
	json_t *json = sim_job_json(job);

	cluster_job_delete(job, foreground);
	done(a, json);
}

static void delete (struct asked *a)
{
	struct cluster_object *o = object_of(a);
	const char *uid = kube_string(a->body, "preconditions.uid");
	int64_t grace_s = kube_number(a->body, "gracePeriodSeconds", -1);

	if (!o) {
		not_found(a);
	} else if (uid && strcmp(uid, o->uid) != 0) {
		refuse(a, 409, "Conflict",
			"Precondition failed: UID in precondition: %s, UID in object meta: %s", uid,
			o->uid);
	} else if (cluster_may_write(a->c)) {
		no_space(a);
	} else if (o->kind == CLUSTER_JOB) {
		delete_job(a, (struct cluster_job *)o);
	} else if (o->kind == CLUSTER_POD) {
		cluster_pod_delete((struct cluster_pod *)o, grace_s);
		done(a, json_object());
	} else if (o->kind == CLUSTER_LEASE) {
		cluster_lease_delete((struct cluster_lease *)o, uid);
		done(a, json_object());
	} else {
		refuse(a, 405, "MethodNotAllowed", "the built-in world takes no such deletion");
	}
}

/* ---- posts ---- */

static void post_job(struct asked *a)
{
	const json_t *owners = kube_member(a->body, "metadata.ownerReferences");
	const json_t *owner = json_array_get(owners, 0);
	const char *name = kube_string(a->body, "metadata.name");
	const char *uid = kube_string(owner, "uid");
	struct cluster_object *o = uid ? cluster_by_uid(a->c, CLUSTER_CRONJOB, uid) : NULL;
	struct cluster_cronjob *cron = (struct cluster_cronjob *)o;

	if (!name || !cron) {
		refuse(a, 422, "Invalid", "the built-in world makes Jobs of CronJobs only");
	} else if (cluster_get(a->c, CLUSTER_JOB, a->ns, name)) {
		refuse(a, 409, "AlreadyExists", "jobs.batch \"%s\" already exists", name);
	} else if (cluster_may_write(a->c)) {
		no_space(a);
	} else {
		done(a, sim_job_json(cluster_job_new(
				a->c, cron, a->ns, name, TIME_UNKNOWN, &cron->work)));
		cluster_cron_wake(cron, 1);
	}
}

static void post(struct asked *a)
{
	if (strcmp(a->plural, "selfsubjectaccessreviews") == 0)
		done(a, json_pack("{s:{s:b}}", "status", "allowed", 1));
	else if (strcmp(a->plural, "jobs") == 0)
		post_job(a);
	else
		refuse(a, 405, "MethodNotAllowed", "the built-in world takes no such object");
}

/* ---- the way in ---- */

static int trouble(struct cluster *c, struct err *err)
{
	int rc = sim_cluster_blind(c, err);

	return rc;
}

int sim_cluster_blind(const struct cluster *c, struct err *err)
{
	const char *name = c->thing.name;

	if (c->unseen || !c->machine->up)
		return err_set(err, ERR_TIMEOUT,
			"https://%s:6443 did not answer within %d.0 s: no connection came about: "
			"check the host, the port and firewalls between",
			name, SIM_PATIENCE_S);
	if (c->trouble == CLUSTER_HANGS)
		return err_set(err, ERR_TIMEOUT,
			"https://%s:6443 keeps the connection open and has not answered for 9 s: "
			"it may hang, or the network between is cut. Check the process there, and "
			"the way to it",
			name);
	if (c->trouble == CLUSTER_DOWN)
		return err_set(err, ERR_CONNECT,
			"can't connect to https://%s:6443: connection refused", name);
	return 0;
}

static int code_of(int status)
{
	switch (status) {
	case 403:
		return ERR_DENIED;
	case 404:
		return ERR_NOTFOUND;
	case 405:
		return ERR_UNSUPPORTED;
	default:
		return ERR_PROTO;
	}
}

static int answer(const struct asked *a, struct rest_answer *ret, struct err *err)
{
	char *text;

	ret->status = a->status;
	ret->retry_after_ms = REST_UNKNOWN_TIME;
	ret->date_us = cluster_now_us(a->c) / 1000000 * 1000000;
	ret->round_trip_ms = 1;
	str_init(&ret->body, KUBE_ANSWER_MAX);
	if (a->json) {
		text = json_dumps(a->json, JSON_COMPACT);
		str_add(&ret->body, text ? text : "{}");
		free(text);
		return 0;
	}
	snprintf(ret->reason, sizeof(ret->reason), "%s", a->reason);
	return err_set(err, (enum err_code)code_of(a->status),
		"https://%s:6443 answers with HTTP status %d: %s", a->c->thing.name, a->status,
		a->message);
}

int sim_cluster_serve(struct kube *k, const struct rest_request *request, struct rest_answer *ret,
	bool *ret_sent, struct err *err)
{
	struct asked a = { .c = k->server, .method = request->method };
	int rc = trouble(k->server, err);

	*ret_sent = rc && rc != ERR_CONNECT;
	if (rc)
		return rc;
	take_path(&a, request->path);
	take_names(&a);
	if (request->body)
		a.body = json_loadb(request->body, request->len, 0, NULL);
	switch (request->method) {
	case REST_GET:
		get(&a);
		break;
	case REST_PATCH:
		patch(&a);
		break;
	case REST_DELETE:
		delete (&a);
		break;
	default:
		post(&a);
	}
	rc = answer(&a, ret, err);
	*ret_sent = true;
	json_decref(a.body);
	json_decref(a.json);
	return rc;
}
