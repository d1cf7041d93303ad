#include "config.h"

#include "base/base64.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "io/kubeconfig.h"
#include "io/rest.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

/*
 * kube-ask [CONTEXT]: reads a kubeconfig as baton does, and asks the API server what its standard
 * input says, a line each; answers with a line of JSON each. For live tests of what no command
 * prints.
 *
 *	access            what the context comes to, secrets too
 *	get PATH          one call; so are head PATH (without the body), post PATH BODY, patch PATH
 *BODY many N PATH       N calls at once pieces PATH       a list that is read in pieces watch PATH
 *starts a watch; its lines come with `run` run MS            drives the watches drop closes the
 *connections limit MS          how long each call may take cost              what was spent
 */

enum {
	LINE_BYTES = 1024 * 1024,
	WATCHES = 8
};

struct ask {
	struct kube_access access;
	struct rest_client *client;
	struct rest_call *watches[WATCHES];
	size_t n_watches;
	int64_t limit_ms;
};

static void say(json_t *line)
{
	json_dumpf(line, stdout, JSON_COMPACT | JSON_ENSURE_ASCII);
	putchar('\n');
	fflush(stdout);
	json_decref(line);
}

static void say_error(const char *what, const struct err *err)
{
	say(json_pack("{s:s, s:i, s:s}", "what", what, "code", (int)err->code, "error", err->text));
}

static json_t *data(const struct kube_data *data)
{
	struct str text;
	json_t *json;

	if (!data->s)
		return json_null();
	str_init(&text, 16 * 1024 * 1024);
	base64_encode(&text, data->s, data->len);
	json = json_string(text.s);
	str_release(&text);
	return json;
}

static json_t *pairs(const struct kube_pairs *p)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < p->n; i++)
		json_array_append_new(
			list, json_pack("[s, s]", p->items[i].name, p->items[i].value));
	return list;
}

static json_t *texts(const struct kube_texts *t)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < t->n; i++)
		json_array_append_new(list, json_string(t->items[i]));
	return list;
}

static void say_access(const struct kube_access *a)
{
	json_t *exec = json_null();

	if (a->exec)
		exec = json_pack("{s:s, s:o, s:o, s:i, s:b, s:s?, s:s?}", "command",
			a->exec->command, "args", texts(&a->exec->args), "env",
			pairs(&a->exec->env), "version", (int)a->exec->version, "cluster_info",
			a->exec->cluster_info, "hint", a->exec->install_hint, "cluster_config",
			a->exec->cluster_config);
	say(json_pack("{s:s?, s:s?, s:s?, s:s?, s:s?, s:s?, s:b, s:s?, s:s?, s:o, s:s?, s:b, s:s?, "
		      "s:s?, s:s?, s:s?, s:o, s:o, s:o, s:s?, s:s?, s:o, s:o, s:s}",
		"context", a->context, "cluster", a->cluster, "user", a->user, "file", a->file,
		"server", a->server, "namespace", a->name_space, "insecure", a->insecure,
		"server_name", a->server_name, "ca_file", a->ca_file, "ca", data(&a->ca),
		"proxy_url", a->proxy_url, "no_compression", a->no_compression, "token", a->token,
		"token_file", a->token_file, "cert_file", a->cert_file, "key_file", a->key_file,
		"cert", data(&a->cert), "key", data(&a->key), "exec", exec, "as", a->as, "as_uid",
		a->as_uid, "as_groups", texts(&a->as_groups), "as_extra", pairs(&a->as_extra),
		"method", kube_access_method(a)));
}

static struct rest_wait wait_for(const struct ask *ask)
{
	return (struct rest_wait){ .until_ms = clock_mono_ms(&clock_system) + ask->limit_ms,
		.wake_fd = -1 };
}

static void say_answer(
	const char *what, int rc, const struct rest_answer *a, const struct err *err, bool body)
{
	json_t *line = json_pack("{s:s, s:i, s:i, s:s, s:I, s:I, s:b, s:I}", "what", what, "code",
		rc, "status", a->status, "reason", a->reason, "retry_after_ms",
		(json_int_t)a->retry_after_ms, "date_us", (json_int_t)a->date_us, "gone", a->gone,
		"bytes", (json_int_t)a->body.len);

	if (rc)
		json_object_set_new(line, "error", json_string(err->text));
	if (body && a->body.len)
		json_object_set_new(line, "body", json_stringn_nocheck(a->body.s, a->body.len));
	say(line);
}

static void ask_call(struct ask *ask, const char *word, enum rest_method method, const char *path,
	const char *body)
{
	struct rest_request request = { .method = method, .path = path, .body = body };
	struct rest_wait wait = wait_for(ask);
	struct rest_answer answer;
	struct err err = { 0 };
	int rc;

	if (body)
		request.len = strlen(body);
	if (method == REST_PATCH)
		request.content_type = "application/merge-patch+json";
	rc = rest_do(ask->client, &request, &wait, &answer, &err);
	say_answer(word, rc, &answer, &err, strcmp(word, "head") != 0);
	rest_answer_release(&answer);
}

static int count_piece(void *arg, const char *bytes, size_t len, struct err *err)
{
	(void)bytes;
	(void)err;
	*(size_t *)arg += len;
	return 0;
}

static void ask_pieces(struct ask *ask, const char *path)
{
	size_t bytes = 0;
	struct rest_request request = { .path = path, .piece = count_piece, .arg = &bytes };
	struct rest_wait wait = wait_for(ask);
	struct rest_answer answer;
	struct err err = { 0 };
	int rc = rest_do(ask->client, &request, &wait, &answer, &err);

	answer.body.len = 0;
	say_answer("pieces", rc, &answer, &err, false);
	say(json_pack("{s:I}", "bytes", (json_int_t)bytes));
	rest_answer_release(&answer);
}

static void ask_many(struct ask *ask, const char *text)
{
	struct rest_wait wait = wait_for(ask);
	struct rest_call **calls;
	struct err err = { 0 };
	char *path;
	size_t n = strtoul(text, &path, 10), i, good = 0;
	int rc;

	calls = xcalloc(n ? n : 1, sizeof(struct rest_call *));
	for (i = 0; i < n; i++)
		calls[i] = rest_start(ask->client,
			&(struct rest_request){ .path = path + 1, .deadline_ms = wait.until_ms },
			&err);
	for (i = 0; i < n; i++) {
		rc = calls[i] ? rest_run(ask->client, calls[i], &wait, &err) : -1;
		if (!rc)
			rc = rest_result(calls[i], NULL, &err);
		good += rc == 0;
		rest_end(calls[i]);
	}
	free(calls);
	say(json_pack(
		"{s:s, s:I, s:s}", "what", "many", "good", (json_int_t)good, "error", err.text));
}

static bool always(void *arg)
{
	(void)arg;
	return true;
}

static void ask_woken(struct ask *ask, const char *word, const char *text)
{
	struct rest_wait wait = wait_for(ask);
	struct itimerspec when = { 0 };
	struct rest_answer answer;
	struct err err = { 0 };
	int64_t began = clock_mono_ms(&clock_system);
	char *path;
	long ms = strtol(text, &path, 10);
	int rc;

	wait.wake_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	wait.cancelled = *word == 'c' ? always : NULL;
	when.it_value.tv_sec = ms / 1000;
	when.it_value.tv_nsec = ms % 1000 * 1000000;
	timerfd_settime(wait.wake_fd, 0, &when, NULL);
	rc = rest_get(ask->client, path + 1, &wait, &answer, &err);
	say(json_pack("{s:s, s:i, s:I, s:s}", "what", word, "code", rc, "ms",
		(json_int_t)(clock_mono_ms(&clock_system) - began), "error", err.text));
	rest_answer_release(&answer);
	close(wait.wake_fd);
}

static int say_line(void *arg, const char *line, size_t len, struct err *err)
{
	json_t *event = json_loadb(line, len, 0, NULL);

	(void)arg;
	(void)err;
	say(json_pack("{s:s, s:o}", "what", "line", "event", event ? event : json_null()));
	return 0;
}

static void ask_watch(struct ask *ask, const char *path)
{
	struct rest_request request = { .path = path, .watch = true, .line = say_line };
	struct err err = { 0 };
	struct rest_call *call;

	if (ask->n_watches == WATCHES)
		return;
	call = rest_start(ask->client, &request, &err);
	if (call)
		ask->watches[ask->n_watches++] = call;
	else
		say_error("watch", &err);
}

static void ask_run(struct ask *ask, const char *ms)
{
	struct rest_wait wait = { .until_ms = clock_mono_ms(&clock_system) + strtol(ms, NULL, 10),
		.wake_fd = -1 };
	struct rest_answer answer;
	struct err err = { 0 };
	size_t i, left = 0;

	while (clock_mono_ms(&clock_system) < wait.until_ms)
		rest_step(ask->client, &wait, &err);
	for (i = 0; i < ask->n_watches; i++) {
		int rc;

		if (!rest_done(ask->watches[i])) {
			ask->watches[left++] = ask->watches[i];
			continue;
		}
		rc = rest_result(ask->watches[i], &answer, &err);
		say_answer("ended", rc, &answer, &err, false);
		rest_answer_release(&answer);
		rest_end(ask->watches[i]);
	}
	ask->n_watches = left;
	say(json_pack("{s:s, s:I}", "what", "ran", "open", (json_int_t)left));
}

static void ask_cost(struct ask *ask)
{
	struct rest_cost cost = rest_take_cost(ask->client);

	say(json_pack("{s:I, s:I, s:I}", "requests", (json_int_t)cost.requests, "bytes_in",
		(json_int_t)cost.bytes_in, "bytes_out", (json_int_t)cost.bytes_out));
}

static void ask_one(struct ask *ask, char *line)
{
	char none[] = "", *word = strsep(&line, " "), *rest = line ? line : none, *path;

	if (strcmp(word, "access") == 0)
		say_access(&ask->access);
	else if (strcmp(word, "get") == 0 || strcmp(word, "head") == 0)
		ask_call(ask, word, REST_GET, rest, NULL);
	else if (strcmp(word, "post") == 0 || strcmp(word, "patch") == 0) {
		path = strsep(&rest, " ");
		ask_call(ask, word, *word == 'p' && word[1] == 'o' ? REST_POST : REST_PATCH, path,
			rest);
	} else if (strcmp(word, "delete") == 0)
		ask_call(ask, word, REST_DELETE, rest, NULL);
	else if (strcmp(word, "many") == 0)
		ask_many(ask, rest);
	else if (strcmp(word, "pieces") == 0)
		ask_pieces(ask, rest);
	else if (strcmp(word, "watch") == 0)
		ask_watch(ask, rest);
	else if (strcmp(word, "run") == 0)
		ask_run(ask, rest);
	else if (strcmp(word, "drop") == 0)
		rest_drop(ask->client);
	else if (strcmp(word, "limit") == 0)
		ask->limit_ms = strtol(rest, NULL, 10);
	else if (strcmp(word, "cancel") == 0 || strcmp(word, "wake") == 0)
		ask_woken(ask, word, rest);
	else if (strcmp(word, "cost") == 0)
		ask_cost(ask);
}

static int ask_all(struct ask *ask)
{
	static char line[LINE_BYTES];
	struct err err = { 0 };

	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		if (!ask->client && strcmp(line, "access") != 0) {
			ask->client = rest_client_new(&ask->access, &clock_system, &err);
			if (!ask->client) {
				say_error("client", &err);
				return 1;
			}
		}
		ask_one(ask, line);
	}
	rest_client_free(ask->client);
	return 0;
}

int main(int argc, char **argv)
{
	struct ask ask = { .limit_ms = 5000 };
	struct kube_where where = { .context = argc > 1 ? argv[1] : NULL,
		.service_account = getenv("KUBE_ASK_SERVICE_ACCOUNT") };
	struct err err = { 0 };
	int rc;

	text_init_locale();
	rc = kube_access_find(&where, &ask.access, &err);
	if (rc) {
		say_error("access", &err);
		return 1;
	}
	rc = ask_all(&ask);
	kube_access_release(&ask.access);
	return rc;
}
