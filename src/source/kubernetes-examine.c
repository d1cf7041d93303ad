#include "config.h"

#include "source/kubernetes.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "source/kubernetes-act.h"
#include "source/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * `baton doctor`: where the server is and how it is told from others, who we are to it, what it is,
 * and which kinds may be read where. Permissions are asked of the server itself
 * (SelfSubjectAccessReview, which everyone may make); nothing is changed by that.
 */
enum {
	SHOWN_MAX = 300
};

static const char access_path[] = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

/* What is read, for what, and what is lost without it. */
struct need {
	const char *verb, *group, *plural, *word, *without;
	bool cluster, optional;
};

static const struct need needs[] = {
	{ "list", "batch", "cronjobs", "CronJobs", "no CronJob is on the board", false, false },
	{ "watch", "batch", "cronjobs", "CronJobs", "changes come late", false, false },
	{ "list", "batch", "jobs", "Jobs", "whether a CronJob runs is not known", false, false },
	{ "watch", "batch", "jobs", "Jobs", "changes come late", false, false },
	{ "list", "", "pods", "Pods", "whether a run is alive is not known", false, false },
	{ "watch", "", "pods", "Pods", "changes come late", false, false },
	{ "get", "", "pods", "Pods", "the pod of a Lease's holder is not known", false, true },
	{ "list", "coordination.k8s.io", "leases", "Leases", "no Lease is on the board", false,
		false },
	{ "watch", "coordination.k8s.io", "leases", "Leases", "changes come late", false, false },
	{ "list", "", "nodes", "Nodes", "whether a pod's node answers is not known", true, true },
	{ "watch", "", "nodes", "Nodes", "changes come late", true, true },
	{ "list", "", "events", "Events", "an object's own events are not shown", false, true },
};

static void add_shown(struct str *to, const char *text)
{
	text_escape_cut(to, text, strlen(text), SHOWN_MAX);
}

static void examine_access(struct kube *k, struct report *report)
{
	const struct kube_access *a = &k->access;
	struct str who;

	str_init(&who, 4096);
	if (a->context) {
		str_add(&who, "context ");
		add_shown(&who, a->context);
		str_add(&who, " of ");
		add_shown(&who, a->file ? a->file : "?");
	} else {
		str_add(&who, "in-cluster");
	}
	report_add(report, "ok", "config", NULL, "%s: %s, by %s", who.s, rest_server(k->client),
		kube_access_method(a));
	if (a->insecure)
		report_add(report, "warn", "tls",
			"give the cluster's certificate-authority instead",
			"insecure-skip-tls-verify is on: anyone on the way may pose as the server");
	str_release(&who);
}

static int examine_server(
	struct kube *k, const struct rest_wait *wait, struct report *report, struct err *err)
{
	int rc = kube_asks_step(k, err);

	while (!rc && !kube_asks_settled(k)) {
		if (round_now_ms(k->r) >= wait->until_ms)
			return rest_late(k->client, err);
		rc = rest_step(k->client, wait, err);
		if (rc >= 0)
			rc = kube_asks_step(k, err);
	}
	if (rc)
		return rc;
	kube_tell_self(k);
	report_add(report, "ok", "server", NULL, "Kubernetes %s, %s, answers in %lld ms",
		k->server_version ? k->server_version : "of a hidden version",
		k->platform ? k->platform : "platform not told", (long long)k->server_trip_ms);
	if (!k->identity)
		report_add(report, "note", "cluster",
			"allow get on namespaces, for kube-system alone",
			"which cluster this is can't be told: another one at the same address "
			"would "
			"not be noticed");
	return 0;
}

static void need_body(struct str *body, const struct need *need, const char *ns)
{
	str_clear(body);
	str_addf(body,
		"{\"kind\":\"SelfSubjectAccessReview\",\"apiVersion\":\"authorization.k8s.io/v1\","
		"\"spec\":{\"resourceAttributes\":{\"verb\":\"%s\",\"group\":\"%s\",\"resource\":"
		"\"%s\"",
		need->verb, need->group, need->plural);
	/* A namespace is a DNS label (open checks it): it needs no escapes. */
	if (ns)
		str_addf(body, ",\"namespace\":\"%s\"", ns);
	str_add(body, "}}}");
}

/* Whether status.allowed is true. */
bool kube_is_allowed(const struct rest_answer *answer)
{
	struct json_text name;
	struct json_read r;
	bool allowed = false;

	json_read_init(&r, answer->body.s, answer->body.len);
	if (!json_read_object(&r))
		return false;
	while (json_read_member(&r, &name)) {
		if (!json_is(&name, "status")) {
			json_skip(&r);
			continue;
		}
		if (!json_read_object(&r))
			continue;
		while (json_read_member(&r, &name))
			if (!json_is(&name, "allowed") || !json_read_bool(&r, &allowed))
				if (!json_is(&name, "allowed"))
					json_skip(&r);
	}
	return allowed;
}

static int may(struct kube *k, const struct need *need, const char *ns,
	const struct rest_wait *wait, bool *ret, struct err *err)
{
	struct rest_request request = {
		.method = REST_POST, .path = access_path, .max = KUBE_ANSWER_MAX
	};
	struct rest_answer answer = { .status = 0 };
	struct str body;
	int rc;

	str_init(&body, 4096);
	need_body(&body, need, ns);
	request.body = body.s;
	request.len = body.len;
	rc = rest_do(k->client, &request, wait, &answer, err);
	if (!rc)
		*ret = kube_is_allowed(&answer);
	rest_answer_release(&answer);
	str_release(&body);
	return rc;
}

static void report_need(
	struct report *report, const struct need *need, const char *ns, bool allowed)
{
	const char *where = need->cluster ? "the cluster" : ns ? ns : "all namespaces";
	char advice[256];

	if (allowed) {
		report_add(report, "ok", "rights", NULL, "%s %s: allowed in %s", need->verb,
			need->word, where);
		return;
	}
	snprintf(advice, sizeof(advice), "a %s that allows %s on %s%s%s",
		ns && !need->cluster ? "Role" : "ClusterRole", need->verb, need->plural,
		*need->group ? "." : "", need->group);
	report_add(report, need->optional ? "note" : "warn", "rights", advice,
		"%s %s: not allowed in %s: %s", need->verb, need->word, where, need->without);
}

/* One namespace, or all where ns is NULL; ret_narrow: CronJobs or Leases are not for us there. */
static int examine_rights(struct kube *k, const char *ns, const struct rest_wait *wait,
	struct report *report, bool *ret_narrow, struct err *err)
{
	size_t i;

	*ret_narrow = false;
	for (i = 0; i < sizeof(needs) / sizeof(needs[0]); i++) {
		const struct need *need = &needs[i];
		bool allowed = false;
		int rc = may(k, need, need->cluster ? NULL : ns, wait, &allowed, err);

		if (rc)
			return rc;
		report_need(report, need, ns, allowed);
		if (!allowed && !need->optional && strcmp(need->verb, "list") == 0)
			*ret_narrow = true;
	}
	return 0;
}

/*
 * A namespace of the config that does not exist: its lists are empty, and no failure. Who may not
 * ask for namespaces gets no guess.
 */
static int examine_namespace(struct kube *k, const char *ns, struct report *report, struct err *err)
{
	struct kube_thing thing;
	struct str path;
	int rc;

	str_init(&path, 4096);
	str_add(&path, "/api/v1/namespaces/");
	rest_path_add(&path, ns);
	rc = kube_get(k, path.s, &thing, err);
	if (!rc && !thing.json)
		report_add(report, "warn", "namespace", "correct the config, or create it",
			"there is no namespace %s: nothing of it can be seen", ns);
	kube_thing_release(&thing);
	str_release(&path);
	if (rc != ERR_DENIED)
		return rc;
	err_clear(err);
	return 0;
}

static int examine_all(struct kube *k, struct report *report, struct err *err)
{
	struct rest_wait wait = kube_wait(k, round_deadline_ms(k->r));
	bool narrow = false;
	const char *ns;
	size_t i;
	int rc;

	examine_access(k, report);
	rc = examine_server(k, &wait, report, err);
	for (i = 0; !rc && (ns = source_option_item(k->config, "namespaces", i)); i++)
		rc = examine_namespace(k, ns, report, err);
	for (i = 0; !rc && i < k->n_streams; i++)
		if (k->streams[i].resource->kind == KUBE_CRONJOBS)
			rc = examine_rights(k, k->streams[i].ns, &wait, report, &narrow, err);
	if (!rc && narrow && !k->streams[0].ns && k->access.name_space) {
		report_add(report, "note", "rights", NULL,
			"what may not be read everywhere is read in the context's namespace, %s",
			k->access.name_space);
		rc = examine_rights(k, k->access.name_space, &wait, report, &narrow, err);
	}
	return rc;
}

int kube_examine(void *state, struct round *r, struct report *report, struct err *err)
{
	struct kube *k = state;
	struct rest_cost cost;
	int rc;

	k->r = r;
	rc = examine_all(k, report, err);
	kube_asks_stop(k);
	cost = rest_take_cost(k->client);
	round_cost(r, cost.requests, cost.bytes_in, cost.bytes_out, TIME_UNKNOWN);
	k->r = NULL;
	return rc;
}
