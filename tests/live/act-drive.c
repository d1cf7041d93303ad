#include "config.h"

#include "fake-round.h"
#include "source/act.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "io/yaml.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/*
 * act-drive KIND NAME OPTIONS TIMEOUT_MS: calls a source's functions for acting as the gate does,
 *one command a line on standard input, one line of JSON as the answer. For live tests of what is
 *between the gate's steps, and for races, where a process for each act would be too slow.
 *
 *	poll                              {"rc", "error"}
 *	rows                              [{"path", "mechanism", "claims": [{"kind", "key",
 *"identity"}]}] order VERB<tab>PATH<tab>KEY<tab>REASON binds an order to the row of that path as it
 *was polled last plan, send, look                  what the functions say
 */

enum {
	WAIT_MS = 40 /* a poll waits so long for news before */
};

struct drive {
	struct source_config config;
	void *state;
	struct round r;
	int64_t timeout_ms;
	bool polled;
	struct order order;
	char *key, *reason;
	struct plan plan;
};

static json_t *text_or_null(const char *s)
{
	return s ? json_string(s) : json_null();
}

static json_t *time_or_null(int64_t t)
{
	return t == TIME_UNKNOWN ? json_null() : json_integer(t);
}

static void answer(json_t *json)
{
	char *text = json_dumps(json, JSON_COMPACT);

	printf("%s\n", text ? text : "null");
	fflush(stdout);
	free(text);
	json_decref(json);
}

static json_t *answer_of(int rc, const struct err *err)
{
	json_t *json = json_object();

	json_object_set_new(json, "rc", json_integer(rc));
	json_object_set_new(json, "error", rc ? json_string(err->text) : json_null());
	return json;
}

/* ---- reading ---- */

static void do_poll(struct drive *d)
{
	struct err err = { 0 };
	int rc;

	/* As the session does: what a watch brought is taken while it waits. */
	fake_round_start(&d->r, WAIT_MS);
	if (d->polled && d->config.ops->wait && d->config.ops->wait(d->state, &d->r, &err) < 0)
		err_clear(&err);
	fake_round_start(&d->r, d->timeout_ms);
	rc = d->config.ops->poll(d->state, &d->r, &err);
	d->polled = rc == 0;
	answer(answer_of(rc, &err));
}

static json_t *row_json(const struct singleton *s)
{
	json_t *row = json_object(), *claims = json_array();
	uint32_t i;

	for (i = 0; i < s->n_claims; i++) {
		const struct claim *c = &s->claims[i];
		json_t *claim = json_object();

		json_object_set_new(
			claim, "kind", json_string(c->kind == CLAIM_HOLDER ? "holder" : "waiter"));
		json_object_set_new(claim, "key", json_string(claim_key(c)));
		json_object_set_new(claim, "identity", json_string(claim_identity(c)));
		json_array_append_new(claims, claim);
	}
	json_object_set_new(row, "path", json_string(singleton_path(s)));
	json_object_set_new(row, "mechanism", json_string(mechanism_word(s->mechanism)->word));
	json_object_set_new(row, "claims", claims);
	return row;
}

static void do_rows(struct drive *d)
{
	json_t *rows = json_array();
	size_t i;

	for (i = 0; i < d->r.n_rows; i++)
		json_array_append_new(rows, row_json(d->r.rows[i]));
	answer(rows);
}

/* ---- acting ---- */

static void order_clear(struct drive *d)
{
	singleton_unref((struct singleton *)(uintptr_t)d->order.s);
	free(d->key);
	free(d->reason);
	d->key = d->reason = NULL;
	d->order = (struct order){ 0 };
}

static void do_order(struct drive *d, char *words)
{
	char *verb = strsep(&words, "\t"), *path = strsep(&words, "\t");
	char *key = strsep(&words, "\t"), *reason = strsep(&words, "\t");
	const struct singleton *s = path ? fake_round_row(&d->r, path) : NULL;
	struct err err = { 0 };

	order_clear(d);
	if (!s || !key || verb_from_word(verb) < 0) {
		answer(answer_of(
			err_set(&err, ERR_NOTFOUND, "no row %s", path ? path : "?"), &err));
		return;
	}
	d->key = xstrdup(key);
	d->reason = reason && *reason ? xstrdup(reason) : NULL;
	d->order = (struct order){ .verb = (enum verb)verb_from_word(verb),
		.s = singleton_ref(s),
		.key = d->key,
		.reason = d->reason };
	answer(answer_of(0, &err));
}

static const struct act_case *find_case(const struct drive *d)
{
	size_t i;

	for (i = 0; d->order.s && i < d->config.ops->n_acts; i++)
		if (d->config.ops->acts[i].mechanism == d->order.s->mechanism &&
			d->config.ops->acts[i].verb == d->order.verb)
			return &d->config.ops->acts[i];
	return NULL;
}

static json_t *list_json(const struct plan_list *list)
{
	json_t *array = json_array();
	size_t i;

	for (i = 0; i < list->n; i++)
		json_array_append_new(array,
			json_pack("{ssss}", "what", list->items[i].what, "id", list->items[i].id));
	return array;
}

static json_t *plan_json(const struct plan *p, int rc, const struct err *err)
{
	static const char *const verdicts[] = { "ready", "changed", "refused" };
	static const char *const tri[] = {
		[TRI_YES] = "ok", [TRI_NO] = "missing", [TRI_UNKNOWN] = "unknown"
	};
	json_t *json = answer_of(rc, err);

	json_object_set_new(json, "verdict", json_string(verdicts[p->verdict]));
	json_object_set_new(json, "reasons", list_json(&p->reasons));
	json_object_set_new(json, "warnings", list_json(&p->warnings));
	json_object_set_new(json, "destroys", list_json(&p->destroys));
	json_object_set_new(json, "keeps", list_json(&p->keeps));
	json_object_set_new(json, "told", list_json(&p->told));
	json_object_set_new(json, "request", text_or_null(p->request));
	json_object_set_new(json, "guarded_by", text_or_null(p->guarded_by));
	json_object_set_new(json, "successor", text_or_null(p->successor));
	json_object_set_new(json, "gap_why", text_or_null(p->gap_why));
	json_object_set_new(json, "gap_min_ms", time_or_null(p->gap_min_ms));
	json_object_set_new(json, "gap_max_ms", time_or_null(p->gap_max_ms));
	json_object_set_new(json, "alone", text_or_null(p->alone));
	json_object_set_new(json, "permission", json_string(tri[p->permission]));
	json_object_set_new(json, "permission_why", text_or_null(p->permission_why));
	json_object_set_new(json, "last_sign", text_or_null(p->last_sign));
	json_object_set_new(json, "last_sign_us", time_or_null(p->last_sign_us));
	json_object_set_new(json, "stops_holder", json_boolean(p->stops_holder));
	return json;
}

static void do_plan(struct drive *d, const struct act_case *act)
{
	struct err err = { 0 };
	int rc;

	plan_release(&d->plan);
	plan_init(&d->plan);
	fake_round_start(&d->r, d->timeout_ms);
	rc = act->plan(d->state, &d->r, &d->order, &d->plan, &err);
	answer(plan_json(&d->plan, rc, &err));
}

static void do_send(struct drive *d, const struct act_case *act)
{
	static const char *const kinds[] = { "unsent", "done", "changed", "refused", "partial",
		"unknown" };
	struct err err = { 0 };
	struct effect effect;
	json_t *json;
	int rc;

	effect_init(&effect);
	fake_round_start(&d->r, d->timeout_ms);
	rc = act->send(d->state, &d->r, &d->order, &d->plan, &effect, &err);
	json = answer_of(rc, &err);
	json_object_set_new(json, "kind", json_string(kinds[effect.kind]));
	json_object_set_new(json, "answer", json_string(effect.answer.s));
	json_object_set_new(json, "find_out", json_string(effect.find_out.s));
	effect_release(&effect);
	answer(json);
}

static void do_look(struct drive *d, const struct act_case *act)
{
	struct err err = { 0 };
	struct sight sight;
	json_t *json;
	int rc;

	sight_init(&sight);
	fake_round_start(&d->r, d->timeout_ms);
	rc = act->look(d->state, &d->r, &d->order, &d->plan, &sight, &err);
	json = answer_of(rc, &err);
	json_object_set_new(json, "settled", json_boolean(sight.settled));
	json_object_set_new(json, "undone", json_boolean(sight.undone));
	json_object_set_new(json, "overlap", json_string(overlap_word(sight.overlap)));
	json_object_set_new(json, "text", json_string(sight.text.s));
	sight_release(&sight);
	answer(json);
}

static void do_line(struct drive *d, char *line)
{
	struct err err = { 0 };
	const struct act_case *act;

	if (strcmp(line, "poll") == 0) {
		do_poll(d);
	} else if (strcmp(line, "rows") == 0) {
		do_rows(d);
	} else if (str_starts(line, "order ")) {
		do_order(d, line + strlen("order "));
	} else if (!(act = find_case(d))) {
		answer(answer_of(
			err_set(&err, ERR_UNSUPPORTED, "no such verb on this mechanism"), &err));
	} else if (strcmp(line, "plan") == 0) {
		do_plan(d, act);
	} else if (strcmp(line, "send") == 0) {
		do_send(d, act);
	} else if (strcmp(line, "look") == 0) {
		do_look(d, act);
	} else {
		answer(answer_of(err_set(&err, ERR_USAGE, "no such command"), &err));
	}
}

static void run(struct drive *d)
{
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;

	while ((n = getline(&line, &cap, stdin)) > 0) {
		line[strcspn(line, "\n")] = '\0';
		do_line(d, line);
	}
	free(line);
}

int main(int argc, char **argv)
{
	struct drive d = { 0 };
	struct yaml_node *options;
	struct err err = { 0 };

	if (argc != 5 || !source_kind(argv[1]))
		return 64;
	text_init_locale();
	if (yaml_parse(argv[3], strlen(argv[3]), "options", &options, &err)) {
		fprintf(stderr, "%s\n", err.text);
		return 78;
	}
	d.timeout_ms = strtol(argv[4], NULL, 10);
	d.config = (struct source_config){ .ops = source_kind(argv[1]),
		.name = argv[2],
		.timeout_ms = d.timeout_ms,
		.interval_ms = 1000,
		.options = options };
	plan_init(&d.plan);
	fake_round_init(&d.r);
	if (d.config.ops->open(&d.config, &d.state, &err)) {
		fprintf(stderr, "%s\n", err.text);
		return 78;
	}
	run(&d);
	d.config.ops->close(d.state);
	order_clear(&d);
	plan_release(&d.plan);
	fake_round_release(&d.r);
	yaml_node_free(options);
	return 0;
}
