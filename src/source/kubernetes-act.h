#ifndef SOURCE_KUBERNETES_ACT_H
#define SOURCE_KUBERNETES_ACT_H

#include "source/kubernetes.h"

#include "model/plan.h"

#include <jansson.h>

/*
 * Acting on Kubernetes, shared by its three files: kubernetes-act.c (the table, reading one object,
 * sending), kubernetes-plan-lease.c and kubernetes-plan-job.c (what would be sent, and its price),
 * kubernetes-act-look.c (what came of it).
 *
 * What is to be sent is made once, by the plan, and kept in its guard as JSON: a list of calls
 * {"method", "path", "type", "body", "name"}. Each carries its own comparison, which the API server
 * makes in the same request: a JSON Patch that begins with "test", a merge patch with the
 * resourceVersion that was read, a DeleteOptions with preconditions.
 */

/* One object as it is now. Zeroed it is none. */
struct kube_thing {
	json_t *json;    /* NULL: there is no such object */
	struct str text; /* as the server wrote it */
};

/* What is asked for, in the API's words: names that the API would never take are refused. */
struct kube_target {
	const char *ns, *name, *uid; /* of the row's object; the order's */
	const char *key;             /* of the claim or run; NULL */
	const char *identity;        /* of the same; NULL */
};

/* False where the row does not tell one object exactly. */
bool kube_target_read(const struct order *order, struct kube_target *ret);

/* The path of an object of a kind: "/apis/batch/v1/namespaces/NS/jobs/NAME". */
void kube_act_path(
	struct kube *k, struct str *path, enum kube_kind kind, const char *ns, const char *name);
/* Reads one object; thing->json is NULL where the server has none. */
int kube_get(struct kube *k, const char *path, struct kube_thing *ret, struct err *err);
void kube_thing_release(struct kube_thing *t);

/* Members by a path of names, "metadata.uid"; NULL where it is absent or no string. */
const char *kube_string(const json_t *json, const char *path);
/* NULL where it is absent. */
json_t *kube_member(const json_t *json, const char *path);
int64_t kube_number(const json_t *json, const char *path, int64_t absent);
/* A text of the server, sanitised and cut, added to out. Returns out->s. */
const char *kube_shown(struct str *out, const char *text);

/* Asks whether we may: permission and permission_why of the plan. */
int kube_ask_permission(struct kube *k, const struct kube_target *t, const char *verb,
	const char *group, const char *plural, struct plan *plan, struct err *err);

/* The text of a member just as the server wrote it, quotes and all; "null" where it is absent. */
void kube_raw(struct str *out, const struct kube_thing *t, const char *object, const char *member);

/* Adds a call to those that will be sent, with a body of JSON. name: whom it is about, for words.
 * shown: what is told of the body; NULL: all of it. */
void kube_plan_call(struct plan *plan, const char *method, const char *path, const char *type,
	const char *body, const char *name, const char *shown);
/* The same; takes body over. */
void kube_plan_object(struct plan *plan, const char *method, const char *path, const char *type,
	json_t *body, const char *name, const char *shown);

/* The pods of a Job, as a list object. */
int kube_pods_of(
	struct kube *k, const char *ns, const char *job, struct kube_thing *ret, struct err *err);
/* Whether there are more than that list holds. */
bool kube_more_pods(const json_t *pods);
/* Whether a pod belongs to the Job with that uid. */
bool kube_pod_is_of(const json_t *pod, const char *job_uid);

/* Whether the Lease is as it was on the screen; says in the plan what is different. */
bool kube_lease_is_same(const struct order *order, const struct kube_target *t, const json_t *lease,
	struct plan *plan);
int kube_plan_lease(struct kube *k, const struct order *order, const struct kube_target *t,
	struct plan *plan, struct err *err);
int kube_plan_cronjob(struct kube *k, const struct order *order, const struct kube_target *t,
	struct plan *plan, struct err *err);

int kube_look(struct kube *k, const struct order *order, const struct kube_target *t,
	const struct plan *plan, struct sight *sight, struct err *err);

#endif
