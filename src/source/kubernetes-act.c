#include "config.h"

#include "base/mem.h"
#include "base/text.h"
#include "source/act.h"
#include "source/kubernetes-act.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	SHOWN_MAX = 400,
	NAME_MOST = 253, /* a DNS subdomain */
	BODY_SHOWN_MAX = 4000,
};

static const char access_path[] = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

/* ---- JSON ---- */

json_t *kube_member(const json_t *json, const char *path)
{
	json_t *at = (json_t *)(uintptr_t)json;
	char name[64];

	while (at && *path) {
		size_t len = strcspn(path, ".");

		if (len >= sizeof(name))
			return NULL;
		memcpy(name, path, len);
		name[len] = '\0';
		at = json_object_get(at, name);
		path += len + (path[len] == '.');
	}
	return at;
}

const char *kube_string(const json_t *json, const char *path)
{
	return json_string_value(kube_member(json, path));
}

int64_t kube_number(const json_t *json, const char *path, int64_t absent)
{
	const json_t *value = kube_member(json, path);

	return json_is_integer(value) ? json_integer_value(value) : absent;
}

const char *kube_shown(struct str *out, const char *text)
{
	size_t from = out->len;

	text_escape_cut(out, text, strlen(text), SHOWN_MAX);
	return out->s + from;
}

/* ---- what it is about ---- */

/* Names as the API takes them: nothing that would be another path, or need an escape. */
static bool is_name(const char *s)
{
	size_t len = s ? strlen(s) : 0;

	return len && len <= NAME_MOST && s[0] != '.' &&
	       strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789.-") == len;
}

bool kube_target_read(const struct order *order, struct kube_target *ret)
{
	*ret = (struct kube_target){
		.ns = singleton_text(order->s, DETAIL_NAMESPACE, NULL),
		.name = singleton_text(order->s, DETAIL_OBJECT_NAME, NULL),
		.uid = singleton_text(order->s, DETAIL_UID, NULL),
		.key = order->key,
		.identity = order->identity,
	};
	return is_name(ret->ns) && is_name(ret->name) && ret->uid && *ret->uid;
}

/* ---- reading ---- */

void kube_act_path(
	struct kube *k, struct str *path, enum kube_kind kind, const char *ns, const char *name)
{
	size_t i, api = 0;

	for (i = 0; i < k->n_streams; i++)
		if (k->streams[i].resource->kind == kind)
			api = k->streams[i].api;
	str_clear(path);
	kube_path(path, &kube_resources[kind], api, ns);
	if (name) {
		str_add_char(path, '/');
		rest_path_add(path, name);
	}
}

void kube_thing_release(struct kube_thing *t)
{
	json_decref(t->json);
	t->json = NULL;
	str_release(&t->text);
}

/* The raw value of a member of the object that the cursor is at. */
static bool raw_member(struct json_read *r, const char *word, struct json_text *ret)
{
	struct json_text name;
	bool found = false;

	if (!json_read_object(r))
		return false;
	while (json_read_member(r, &name)) {
		struct json_text value = json_raw(r);

		if (json_is(&name, word)) {
			*ret = value;
			found = true;
		}
	}
	return found;
}

void kube_raw(struct str *out, const struct kube_thing *t, const char *object, const char *member)
{
	struct json_text whole, value;
	struct json_read r;

	json_read_init(&r, t->text.s, t->text.len);
	if (raw_member(&r, object, &whole)) {
		json_read_init(&r, whole.s, whole.len);
		if (raw_member(&r, member, &value)) {
			str_add_mem(out, value.s, value.len);
			return;
		}
	}
	str_add(out, "null");
}

static int kube_do(struct kube *k, const struct rest_request *request, struct rest_answer *ret,
	struct err *err)
{
	struct rest_wait wait = kube_wait(k, round_deadline_ms(k->r));
	bool sent;

	if (k->client)
		return rest_do(k->client, request, &wait, ret, err);
	return k->serve(k, request, ret, &sent, err);
}

int kube_get(struct kube *k, const char *path, struct kube_thing *ret, struct err *err)
{
	struct rest_request request = { .method = REST_GET, .path = path };
	struct rest_answer answer = { .status = 0 };
	int rc = kube_do(k, &request, &answer, err);

	ret->json = NULL;
	str_init(&ret->text, KUBE_ANSWER_MAX);
	/* In the API server's own words: another's 404, before it, says nothing of the object. */
	if (rc == ERR_NOTFOUND && strcmp(answer.reason, "NotFound") == 0) {
		err_clear(err);
		rc = 0;
	} else if (!rc) {
		ret->json = json_loadb(answer.body.s, answer.body.len, 0, NULL);
		str_add_mem(&ret->text, answer.body.s, answer.body.len);
		if (!json_is_object(ret->json)) {
			kube_thing_release(ret);
			rc = err_set(err, ERR_PROTO, "%s answered with something that is no object",
				rest_server(k->client));
		}
	}
	rest_answer_release(&answer);
	return rc;
}

int kube_pods_of(
	struct kube *k, const char *ns, const char *job, struct kube_thing *ret, struct err *err)
{
	struct str path;
	int rc;

	str_init(&path, 4096);
	kube_act_path(k, &path, KUBE_PODS, ns, NULL);
	str_add(&path, "?limit=100&labelSelector=job-name%3D");
	rest_path_add(&path, job);
	rc = kube_get(k, path.s, ret, err);
	str_release(&path);
	return rc;
}

bool kube_more_pods(const json_t *pods)
{
	const char *more = kube_string(pods, "metadata.continue");

	return more && *more;
}

bool kube_pod_is_of(const json_t *pod, const char *job_uid)
{
	const json_t *owners = kube_member(pod, "metadata.ownerReferences");
	size_t i;

	for (i = 0; i < json_array_size(owners); i++) {
		const char *uid = kube_string(json_array_get(owners, i), "uid");

		if (uid && strcmp(uid, job_uid) == 0)
			return true;
	}
	return false;
}

int kube_ask_permission(struct kube *k, const struct kube_target *t, const char *verb,
	const char *group, const char *plural, struct plan *plan, struct err *err)
{
	json_t *review = json_pack("{s:s, s:s, s:{s:{s:s, s:s, s:s, s:s}}}", "kind",
		"SelfSubjectAccessReview", "apiVersion", "authorization.k8s.io/v1", "spec",
		"resourceAttributes", "verb", verb, "group", group, "resource", plural, "namespace",
		t->ns);
	char *body = json_dumps(review, JSON_COMPACT);
	struct rest_request request = { .method = REST_POST,
		.path = access_path,
		.body = body,
		.len = strlen(body),
		.max = KUBE_ANSWER_MAX };
	struct rest_answer answer = { .status = 0 };
	int rc = kube_do(k, &request, &answer, err);

	if (!rc) {
		plan->permission = kube_is_allowed(&answer) ? TRI_YES : TRI_NO;
		if (plan->permission == TRI_NO)
			plan_text(&plan->permission_why,
				"a Role in %s that allows %s on %s%s%s is missing", t->ns, verb,
				plural, *group ? "." : "", group);
	} else if (answer.status) {
		/* It can't be asked: the request itself will tell. */
		plan_text(&plan->permission_why, "%s", err->text);
		err_clear(err);
		rc = 0;
	}
	rest_answer_release(&answer);
	free(body);
	json_decref(review);
	return rc;
}

/* ---- what will be sent ---- */

static void tell_request(struct plan *plan, const char *method, const char *path, const char *body)
{
	struct str all;

	str_init(&all, 64 * 1024);
	if (plan->request)
		str_addf(&all, "%s; then ", plan->request);
	str_addf(&all, "%s %s ", method, path);
	text_escape_cut(&all, body, strlen(body), BODY_SHOWN_MAX);
	plan_text(&plan->request, "%s", all.s);
	str_release(&all);
}

void kube_plan_call(struct plan *plan, const char *method, const char *path, const char *type,
	const char *body, const char *name, const char *shown)
{
	json_t *calls = plan->guard ? json_loads(plan->guard, 0, NULL) : json_array();

	json_array_append_new(
		calls, json_pack("{s:s, s:s, s:s, s:s, s:s}", "method", method, "path", path,
			       "type", type, "body", body, "name", name));
	/* A job's template may be long: the guard has no cap but the API server's. */
	free(plan->guard);
	plan->guard = json_dumps(calls, JSON_COMPACT);
	tell_request(plan, method, path, shown ? shown : body);
	json_decref(calls);
}

void kube_plan_object(struct plan *plan, const char *method, const char *path, const char *type,
	json_t *body, const char *name, const char *shown)
{
	char *text = json_dumps(body, JSON_COMPACT);

	if (text)
		kube_plan_call(plan, method, path, type, text, name, shown);
	else
		plan_refuse(
			plan, "the object lacks what the request must have, and can't be acted on");
	free(text);
	json_decref(body);
}

static enum rest_method method_of(const char *word)
{
	return strcmp(word, "PATCH") == 0    ? REST_PATCH
	       : strcmp(word, "DELETE") == 0 ? REST_DELETE
					     : REST_POST;
}

/* One call and what became of it. */
struct sending {
	struct kube *k;
	const json_t *call;
	struct effect *effect;
	size_t done;
};

static void sent_find_out(const struct sending *s)
{
	const char *path = kube_string(s->call, "path");

	str_clear(&s->effect->find_out);
	str_addf(&s->effect->find_out, "kubectl get --raw %s", path);
	if (method_of(kube_string(s->call, "method")) == REST_POST)
		str_addf(&s->effect->find_out, "/%s", kube_string(s->call, "name"));
}

/*
 * What an answer says of whether it was done. A conflict (409) and an object that is not there
 * (404) are the guard's, but not of a POST, which has none; so is a patch whose test failed (422),
 * which tell_refusal tells from one that the server does not take. What is no Status of an API
 * server, and what it says with 500 and above, may have been done all the same.
 */
static enum effect_kind effect_of(const struct rest_answer *answer, const json_t *call, bool sent)
{
	bool made = method_of(kube_string(call, "method")) == REST_POST;

	if (!answer->status)
		return sent ? EFFECT_UNKNOWN : EFFECT_UNSENT;
	if (answer->status == 404 && strcmp(answer->reason, "NotFound") != 0)
		return EFFECT_UNKNOWN;
	if (answer->status == 404 || answer->status == 409 || answer->status == 410)
		return made ? EFFECT_REFUSED : EFFECT_CHANGED;
	if (answer->status == 422)
		return strstr(kube_string(call, "type"), "json-patch") ? EFFECT_CHANGED
								       : EFFECT_REFUSED;
	if (answer->status >= 400 && answer->status < 500)
		return EFFECT_REFUSED;
	return EFFECT_UNKNOWN;
}

static void sent_answer(struct sending *s, const struct rest_answer *answer, int rc,
	const struct err *err, bool sent)
{
	struct effect *e = s->effect;

	e->kind = rc ? effect_of(answer, s->call, sent) : EFFECT_DONE;
	if (e->answer.len)
		str_add(&e->answer, "; ");
	if (!rc)
		str_addf(&e->answer, "%s: the server did it (HTTP %d)",
			kube_string(s->call, "name"), answer->status);
	else
		str_addf(&e->answer, "%s: %s", kube_string(s->call, "name"), err->text);
	if (e->kind == EFFECT_UNKNOWN)
		sent_find_out(s);
	s->done += e->kind == EFFECT_DONE;
}

/* Over the network. EFFECT_UNSENT where it could not even be begun. */
static int send_rest(struct sending *s, const struct rest_request *request,
	struct rest_answer *answer, bool *ret_sent, struct err *err)
{
	struct rest_wait wait = kube_wait(s->k, request->deadline_ms);
	struct rest_call *call = rest_start(s->k->client, request, err);
	int rc;

	*ret_sent = false;
	if (!call) {
		s->effect->kind = EFFECT_UNSENT;
		str_add(&s->effect->answer, err->text);
		return err->code ? (int)err->code : ERR_IO;
	}
	rc = rest_run(s->k->client, call, &wait, err);
	*ret_sent = rest_sent(call);
	if (!rc)
		rc = rest_result(call, answer, err);
	sent_answer(s, answer, rc, err, *ret_sent);
	rest_end(call);
	return rc;
}

static int send_served(struct sending *s, const struct rest_request *request,
	struct rest_answer *answer, bool *ret_sent, struct err *err)
{
	int rc = s->k->serve(s->k, request, answer, ret_sent, err);

	sent_answer(s, answer, rc, err, *ret_sent);
	return rc;
}

/* Sends one call, once. */
static int send_one(struct sending *s, struct err *err)
{
	const char *body = kube_string(s->call, "body");
	struct rest_request request = {
		.method = method_of(kube_string(s->call, "method")),
		.path = kube_string(s->call, "path"),
		.content_type = kube_string(s->call, "type"),
		.body = body,
		.len = strlen(body),
		.max = KUBE_ANSWER_MAX,
		.alone = true,
		.deadline_ms = round_deadline_ms(s->k->r),
	};
	struct rest_answer answer = { .status = 0 };
	bool sent;
	int rc = s->k->client ? send_rest(s, &request, &answer, &sent, err)
			      : send_served(s, &request, &answer, &sent, err);

	rest_answer_release(&answer);
	if (s->effect->kind == EFFECT_UNKNOWN || s->effect->kind == EFFECT_UNSENT)
		return rc;
	err_clear(err);
	return 0;
}

static int send_all(struct kube *k, const struct plan *plan, struct effect *effect, struct err *err)
{
	json_t *calls = plan->guard ? json_loads(plan->guard, 0, NULL) : NULL;
	struct sending s = { .k = k, .effect = effect };
	size_t n = json_array_size(calls), i;
	int rc = n ? 0 : err_set(err, ERR_USAGE, "there is nothing to be sent");

	effect->kind = EFFECT_UNSENT;
	str_clear(&effect->answer);
	for (i = 0; !rc && i < n; i++) {
		s.call = json_array_get(calls, i);
		rc = send_one(&s, err);
		if (effect->kind != EFFECT_DONE)
			break;
	}
	/* Of several, the first surprise ends it; what was done stays done. */
	if (effect->kind != EFFECT_DONE && s.done) {
		effect->kind = EFFECT_PARTIAL;
		err_clear(err);
		rc = 0;
	}
	json_decref(calls);
	k->acted_ms = round_now_ms(k->r);
	return rc;
}

/* ---- the three functions ---- */

static void take_costs(struct kube *k)
{
	struct rest_cost cost = { 0 };

	if (k->client)
		cost = rest_take_cost(k->client);
	round_cost(k->r, cost.requests, cost.bytes_in, cost.bytes_out, TIME_UNKNOWN);
	k->r = NULL;
}

int kube_act_plan(
	void *state, struct round *r, const struct order *order, struct plan *plan, struct err *err)
{
	struct kube *k = state;
	struct kube_target t;
	int rc = 0;

	k->r = r;
	if (!kube_target_read(order, &t))
		plan_refuse(plan, "this row does not tell one object of the cluster exactly");
	else if (order->s->mechanism == MECH_K8S_LEASE)
		rc = kube_plan_lease(k, order, &t, plan, err);
	else
		rc = kube_plan_cronjob(k, order, &t, plan, err);
	take_costs(k);
	return rc;
}

/*
 * A patch whose test failed is answered like one that the server does not take (422): which of the
 * two it was shows when the Lease is read again. Nothing was done in either case.
 */
static int tell_refusal(
	struct kube *k, const struct order *order, struct effect *effect, struct err *err)
{
	struct kube_thing lease = { 0 };
	struct kube_target t;
	struct plan now;
	struct str path;

	if (!kube_target_read(order, &t))
		return 0;
	str_init(&path, 4096);
	plan_init(&now);
	kube_act_path(k, &path, KUBE_LEASES, t.ns, t.name);
	if (kube_get(k, path.s, &lease, err)) {
		err_clear(err);
	} else if (kube_lease_is_same(order, &t, lease.json, &now)) {
		effect->kind = EFFECT_REFUSED;
	} else if (now.reasons.n) {
		str_clear(&effect->answer);
		str_add(&effect->answer, now.reasons.items[0].what);
		str_add(&effect->answer, ": nothing was done");
	}
	kube_thing_release(&lease);
	plan_release(&now);
	str_release(&path);
	return 0;
}

int kube_act_send(void *state, struct round *r, const struct order *order, const struct plan *plan,
	struct effect *effect, struct err *err)
{
	struct kube *k = state;
	int rc;

	k->r = r;
	rc = send_all(k, plan, effect, err);
	if (!rc && effect->kind == EFFECT_CHANGED && order->s->mechanism == MECH_K8S_LEASE)
		rc = tell_refusal(k, order, effect, err);
	take_costs(k);
	return rc;
}

int kube_act_look(void *state, struct round *r, const struct order *order, const struct plan *plan,
	struct sight *sight, struct err *err)
{
	struct kube *k = state;
	struct kube_target t;
	int rc;

	k->r = r;
	if (!kube_target_read(order, &t))
		rc = err_set(
			err, ERR_USAGE, "this row does not tell one object of the cluster exactly");
	else
		rc = kube_look(k, order, &t, plan, sight, err);
	take_costs(k);
	return rc;
}

#define ACT(mech, which, asks, compares, takes)                                                   \
	ACT_CASE(mech, which, asks, compares, takes, kube_act_plan, kube_act_send, kube_act_look, \
		act_suspend_hinders),

const struct act_case kube_acts[KUBE_ACTS] = {
#include "source/kubernetes-acts.def"
};
#undef ACT
