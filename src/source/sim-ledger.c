#include "config.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "io/pg.h"
#include "sim/ledger.h"
#include "source/sim.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Tables of the built-in world: leases in rows, and ledgers of runs (sim/ledger.h). */

enum {
	KEY_MAX = 128,
	ID_MAX = 512,
	OVERDUE_TIMES = 3 /* a run that takes so many times what it usually does is overdue */
};

/* ---- the picture ---- */

static int check_server(const struct sim_ledger *l, struct err *err)
{
	const struct process *p = l->server->process;

	if (simpg_answers(l->server))
		return 0;
	if (process_lives(p))
		return pg_explain_slow(PG_STAGE_QUERY, l->server->thing.name, SIM_PATIENCE_S, err);
	return err_set(err, ERR_CONNECT,
		"%s refused the connection: nothing listens on port %d there",
		l->server->thing.name, l->server->port);
}

static void lease_key(char buf[KEY_MAX], const struct sim_lease_row *row)
{
	snprintf(buf, KEY_MAX, "row:%" PRId64 "/%s", row->token, row->owner);
}

static void tell_lease(struct sim_source *s, struct round *r, const struct sim_lease_row *row)
{
	const struct sim_ledger *l = (const struct sim_ledger *)s->thing;
	struct draft *d = round_draft(r);
	char path[ID_MAX], key[KEY_MAX];
	int64_t now_us = process_clock_us(s->world, l->server->process), now_ms = round_now_ms(r);

	snprintf(path, sizeof(path), "leases/%s", row->name);
	draft_begin(d, MECH_SQL_LEASE, s->config->name, path, strlen(path));
	draft_token(d, TOKEN_ROW, row->token);
	if (*row->owner) {
		draft_lease(d, row->ttl_ms, now_ms + (row->until_us - now_us) / 1000, now_ms);
		lease_key(key, row);
		draft_claim(d, CLAIM_HOLDER, row->owner, strlen(row->owner), key);
		draft_int(d, DETAIL_UNTIL, row->until_us);
		draft_text(d, DETAIL_CLOCK, row->own_clock ? "the owner's" : "the server's");
	}
	round_put(r, draft_finish(d));
}

static void tell_run(struct draft *d, const struct sim_job *job, const struct sim_run_row *row)
{
	char name[ID_MAX], key[KEY_MAX];
	struct run run = {
		.name = name,
		.key = key,
		.state = row->end_us ? RUN_SUCCEEDED : RUN_RUNNING,
		.listed = TRI_UNKNOWN,
		.attempts = 1,
		.slot_us = row->slot_us,
		.created_us = row->start_us,
		.start_us = row->start_us,
		.end_us = row->end_us ? row->end_us : TIME_UNKNOWN,
		.deleted_us = TIME_UNKNOWN,
		.deadline_s = job->takes_ms ? job->takes_ms * OVERDUE_TIMES / 1000 : TIME_UNKNOWN,
		.parallelism = 1,
	};

	snprintf(name, sizeof(name), "%s-%" PRId64, job->name, row->slot_us / 60000000);
	snprintf(key, sizeof(key), "slot:%" PRId64, row->slot_us);
	draft_run(d, &run);
	draft_text(d, DETAIL_USER, row->who);
}

static void tell_job(struct sim_source *s, struct round *r, const struct sim_job *job)
{
	struct draft *d = round_draft(r);
	char path[ID_MAX];
	size_t i;

	snprintf(path, sizeof(path), "runs/%s", job->name);
	draft_begin(d, MECH_RUN_LEDGER, s->config->name, path, strlen(path));
	draft_int(d, DETAIL_SLOTS_TAKEN, (int64_t)job->refused);
	for (i = 0; i < job->n_runs; i++)
		tell_run(d, job, &job->runs[i]);
	draft_run_holders(d);
	round_put(r, draft_finish(d));
}

static void tell_self(struct sim_source *s, struct round *r)
{
	const struct sim_ledger *l = (const struct sim_ledger *)s->thing;
	struct draft *d = round_draft(r);
	int64_t now_us = process_clock_us(s->world, l->server->process);

	draft_begin(d, MECH_SOURCE, s->config->name, "", 0);
	draft_int(d, DETAIL_SERVER_VERSION, l->server->version);
	draft_int(d, DETAIL_IN_RECOVERY, l->server->in_recovery);
	draft_int(d, DETAIL_SYSTEM_IDENTIFIER, l->server->system_identifier);
	draft_int(d, DETAIL_TIMELINE, l->server->timeline);
	draft_int(d, DETAIL_SERVER_TIME, now_us);
	draft_int(d, DETAIL_READ_AT, clock_wall_us(round_clock(r)));
	round_self(r, draft_finish(d));
}

static int view_tell(struct sim_source *s, struct round *r, struct err *err)
{
	struct sim_ledger *l = (struct sim_ledger *)s->thing;
	const struct sim_ledger *rows = l;
	const struct sim_lease_row *row;
	const struct sim_job *job;
	int rc = check_server(l, err);

	if (rc)
		return rc;
	sim_ledger_look(s->world, l);
	if (l->of && !l->copied)
		rows = l->of;
	round_begin(r);
	for (row = rows->leases; row; row = row->next)
		tell_lease(s, r, row);
	for (job = rows->jobs; job; job = job->next)
		tell_job(s, r, job);
	tell_self(s, r);
	round_end(r);
	return 0;
}

/* The name within a row's path, where it is of that folder; NULL. */
static const char *name_in(const struct singleton *row, const char *folder)
{
	size_t n = strlen(folder);

	return strncmp(singleton_path(row), folder, n) == 0 ? singleton_path(row) + n : NULL;
}

static struct process *view_behind(
	struct sim_source *s, const struct singleton *row, const char *key)
{
	struct sim_ledger *l = (struct sim_ledger *)s->thing;
	const char *lease = name_in(row, "leases/"), *name = name_in(row, "runs/");
	const struct sim_job *job = name ? sim_ledger_job(l, name) : NULL;
	char own[KEY_MAX];
	size_t i;

	if (lease) {
		const struct sim_lease_row *found = sim_lease_row(l, lease);

		lease_key(own, found);
		return strcmp(own, key) == 0 ? found->process : NULL;
	}
	for (i = 0; job && i < job->n_runs; i++) {
		snprintf(own, sizeof(own), "slot:%" PRId64, job->runs[i].slot_us);
		if (strcmp(own, key) == 0)
			return job->runs[i].process;
	}
	return NULL;
}

/* ---- acts ---- */

/* Whom an order is about: "row:TOKEN/OWNER". */
struct lease_target {
	const char *name, *owner;
	int64_t token;
};

static bool target_read(const struct order *order, struct lease_target *t)
{
	char *end;

	t->name = name_in(order->s, "leases/");
	if (!t->name || !order->key || !str_starts(order->key, "row:"))
		return false;
	t->token = strtoll(order->key + 4, &end, 10);
	t->owner = end + 1;
	return *end == '/' && *t->owner;
}

static bool target_there(struct sim_ledger *l, const struct lease_target *t)
{
	const struct sim_lease_row *row = sim_lease_row(l, t->name);

	return strcmp(row->owner, t->owner) == 0 && row->token == t->token;
}

static void plan_price(
	struct sim_source *s, struct round *r, const struct lease_target *t, struct plan *plan)
{
	struct sim_ledger *l = (struct sim_ledger *)s->thing;
	const struct sim_lease_row *row = sim_lease_row(l, t->name);
	int64_t now_us = process_clock_us(s->world, l->server->process);
	int64_t ago_us = now_us - (row->until_us - row->ttl_ms * 1000);
	char left[CLOCK_TEXT_MAX], token[32];

	plan_text(&plan->request,
		"UPDATE leases SET owner = NULL, until = now() WHERE name = $1 AND owner = $2 AND "
		"token = $3  -- $1 = '%s', $2 = '%s', $3 = '%" PRId64 "'",
		t->name, t->owner, t->token);
	plan_text(&plan->guarded_by, "the server compares owner and token in the same statement");
	snprintf(token, sizeof(token), "token %" PRId64, t->token);
	plan_add(&plan->destroys, "its entry in the row", token);
	plan_add(&plan->keeps, "its process, its session, and all that it does", NULL);
	plan_text(&plan->gap_why, "whoever asks first gets the row, also the present owner; who "
				  "asks can't be seen");
	plan->last_sign_us = clock_wall_us(round_clock(r)) - (ago_us > 0 ? ago_us : 0);
	plan_text(&plan->last_sign, "it renewed the row");
	clock_format_age(left, row->until_us > now_us ? (row->until_us - now_us) / 1000 : 0);
	plan_text(&plan->alone, "its time is over in %s, unless it renews before", left);
	plan->permission = TRI_YES;
	plan_warn(plan, "it is not told: it works on until its next renewal is refused, and where "
			"it is the first to ask it takes the row again, under a new token");
}

static int act_plan(
	void *state, struct round *r, const struct order *order, struct plan *plan, struct err *err)
{
	struct sim_source *s = sim_enter(state);
	struct sim_ledger *l = (struct sim_ledger *)s->thing;
	struct lease_target t;
	int rc = check_server(l, err);

	if (rc)
		goto out;
	if (!target_read(order, &t))
		plan_refuse(plan, "this row doesn't tell whose entry is meant");
	else if (l->server->in_recovery)
		plan_refuse(plan, "this server is a standby: act on the primary");
	else if (!target_there(l, &t))
		plan_changed(plan, "the row does not name %s under token %" PRId64 " any more",
			t.owner, t.token);
	else
		plan_price(s, r, &t, plan);
out:
	sim_leave(s);
	return rc;
}

static int act_send(void *state, struct round *r, const struct order *order,
	const struct plan *plan, struct effect *effect, struct err *err)
{
	struct sim_source *s = sim_enter(state);
	struct sim_ledger *l = (struct sim_ledger *)s->thing;
	struct lease_target t;
	int rc = check_server(l, err);

	(void)r;
	(void)plan;
	effect->kind = EFFECT_UNSENT;
	if (!rc && !target_read(order, &t))
		rc = err_set(err, ERR_USAGE, "this row doesn't tell whose entry is meant");
	if (!rc && sim_lease_clear(s->world, l, t.name, t.owner, t.token)) {
		effect->kind = EFFECT_DONE;
		str_add(&effect->answer, "UPDATE 1");
		sim_acted(s, order, "%s %s of %s", verb_word(order->verb)->word, order->s->id,
			t.owner);
	} else if (!rc) {
		effect->kind = EFFECT_CHANGED;
		str_add(&effect->answer,
			"UPDATE 0: the row does not name that owner under that token any more");
	}
	sim_leave(s);
	return rc;
}

static int act_look(void *state, struct round *r, const struct order *order,
	const struct plan *plan, struct sight *sight, struct err *err)
{
	struct sim_source *s = sim_enter(state);
	struct sim_ledger *l = (struct sim_ledger *)s->thing;
	const struct sim_lease_row *row;
	struct lease_target t;
	int rc = check_server(l, err);

	(void)r;
	(void)plan;
	str_clear(&sight->text);
	if (!rc && target_read(order, &t)) {
		row = sim_lease_row(l, t.name);
		sight->settled = !target_there(l, &t);
		sight->overlap = OVERLAP_OPEN;
		if (*row->owner)
			str_addf(&sight->text, "the row names %s, token %" PRId64, row->owner,
				row->token);
		else
			str_add(&sight->text, "the row names nobody");
	}
	sim_leave(s);
	return rc;
}

#define ROW_ACT(id)                                                                 \
	{                                                                           \
		.mechanism = MECH_SQL_LEASE, .verb = VERB_##id,                     \
		.request = "UPDATE leases SET owner = NULL, until = now()",         \
		.guard = "name, owner and token, in the same statement",            \
		.needs = "UPDATE on the table", .plan = act_plan, .send = act_send, \
		.look = act_look,                                                   \
	}

static const struct act_case view_acts[] = {
	ROW_ACT(STEP_DOWN),
	ROW_ACT(RELEASE),
};

static const struct sim_view views[] = {
	{ .source = { SIM_SOURCE("ledger", "leases and ledgers in a database's tables"),
		  .acts = view_acts, .n_acts = ARRAY_LEN(view_acts) },
		.ops = &sim_ledger_ops,
		.tell = view_tell,
		.behind = view_behind },
	{ .ops = NULL },
};

/* ---- what a scenario may write ---- */

static const struct option_def ledger_options[] = {
	{ "name", OPTION_TEXT, NULL, "The tables' name.", NULL, NULL, true },
	{ "server", OPTION_TEXT, NULL, "The PostgreSQL that they are in.", NULL, NULL, true },
	{ "of", OPTION_TEXT, NULL,
		"The same tables on the primary whose standby the server is: after a promotion it "
		"has what had come through.",
		NULL, NULL, false },
	{ 0 },
};

static int ledger_make(struct world *w, const struct option_values *v, struct err *err)
{
	struct simpg_server *server =
		(struct simpg_server *)sim_find(w, &simpg_ops, v, "server", err);
	struct sim_ledger *of = NULL;

	if (!server || sim_check_new(w, &sim_ledger_ops, v, err))
		return ERR_CONFIG;
	if (option_value_set(v, "of")) {
		of = (struct sim_ledger *)sim_find(w, &sim_ledger_ops, v, "of", err);
		if (!of)
			return ERR_CONFIG;
	}
	sim_ledger_new(w, option_value_text(v, "name"), server, of);
	return 0;
}

static const struct sim_thing things[] = {
	{ "ledgers", "Tables for leases and runs, in a PostgreSQL.", ledger_options, ledger_make },
	{ 0 },
};

static int read_ledgers(struct world *w, const struct option_values *v, struct sim_ledger **list,
	size_t *n, struct err *err)
{
	const char *item;
	size_t i;

	for (i = 0; (item = option_value_item(v, "ledger", i)); i++) {
		if (i == 2)
			return err_set(err, ERR_CONFIG, "at most two ledgers are tried");
		list[i] = sim_ledger_find(w, item);
		if (!list[i])
			return sim_no_such(w, &sim_ledger_ops, item, err);
	}
	*n = i;
	return i ? 0 : err_set(err, ERR_CONFIG, "'ledger' is empty");
}

static int read_duty(
	struct world *w, const struct option_values *v, struct duty **duty, struct err *err)
{
	if (!option_value_set(v, "duty"))
		return 0;
	*duty = (struct duty *)sim_find(w, &duty_ops, v, "duty", err);
	return *duty ? 0 : ERR_CONFIG;
}

static const struct option_def lease_options[] = {
	{ "ledger", OPTION_LIST, NULL, "The tables; of two the other is tried after a failure.",
		NULL, NULL, true },
	{ "lease", OPTION_TEXT, NULL, "The row's name.", NULL, NULL, true },
	{ "ttl", OPTION_DURATION, "30s", "How long it takes the row for.", NULL, NULL, false },
	{ "every", OPTION_DURATION, "10s", "It renews, or asks, so often.", NULL, NULL, false },
	{ "clock", OPTION_WORD, "server",
		"Whose clock says whether the time is over, and writes the new one.",
		"server|client", NULL, false },
	{ "believes", OPTION_WORD, "until",
		"until: it works until its own clock says that its time is over; forever: until a "
		"renewal is refused.",
		"until|forever", NULL, false },
	{ "duty", OPTION_TEXT, NULL, "The work that it does while it leads.", NULL, NULL, false },
	{ 0 },
};

static int lease_make(
	struct world *w, struct process *p, const struct option_values *v, struct err *err)
{
	struct sim_leaser *s = sim_leaser_new(p);
	int rc = read_ledgers(w, v, s->ledgers, &s->n_ledgers, err);

	if (!rc)
		rc = read_duty(w, v, &s->duty, err);
	if (rc)
		return rc;
	snprintf(s->lease, sizeof(s->lease), "%s", option_value_text(v, "lease"));
	s->ttl_ms = option_value_int(v, "ttl");
	s->every_ms = option_value_int(v, "every");
	s->own_clock = strcmp(option_value_text(v, "clock"), "client") == 0;
	s->belief = strcmp(option_value_text(v, "believes"), "forever") == 0
			    ? SIM_LEASE_BELIEVES_FOREVER
			    : SIM_LEASE_BELIEVES_UNTIL;
	if (s->ttl_ms < 1 || s->every_ms < 1)
		return err_set(err, ERR_CONFIG, "ttl and every must be more than 0");
	return 0;
}

static const struct option_def runner_options[] = {
	{ "ledger", OPTION_LIST, NULL, "The tables; of two the other is tried after a failure.",
		NULL, NULL, true },
	{ "job", OPTION_TEXT, NULL, "The job's name.", NULL, NULL, true },
	{ "every", OPTION_DURATION, "60s", "A slot is due so often, by its own wall clock.", NULL,
		NULL, false },
	{ "takes", OPTION_DURATION, "10s", "How long a slot takes.", NULL, NULL, false },
	{ "records", OPTION_BOOL, "true",
		"Whether it writes the slot into the ledger before it works, and does nothing "
		"where somebody had it; else it just works.",
		NULL, NULL, false },
	{ "duty", OPTION_TEXT, NULL, "What counts who works.", NULL, NULL, false },
	{ "writes", OPTION_TEXT, NULL,
		"The resource that it writes to, once for each slot that it does.", NULL, NULL,
		false },
	{ 0 },
};

static int runner_make(
	struct world *w, struct process *p, const struct option_values *v, struct err *err)
{
	struct sim_runner *r = sim_runner_new(p);
	int rc = read_ledgers(w, v, r->ledgers, &r->n_ledgers, err);

	if (!rc)
		rc = read_duty(w, v, &r->duty, err);
	if (!rc && option_value_set(v, "writes")) {
		r->resource = (struct resource *)sim_find(w, &resource_ops, v, "writes", err);
		rc = r->resource ? 0 : ERR_CONFIG;
	}
	if (rc)
		return rc;
	snprintf(r->job, sizeof(r->job), "%s", option_value_text(v, "job"));
	r->every_ms = option_value_int(v, "every");
	r->takes_ms = option_value_int(v, "takes");
	r->records = option_value_int(v, "records");
	if (r->every_ms < 1)
		return err_set(err, ERR_CONFIG, "every must be more than 0");
	return 0;
}

static const struct sim_program programs[] = {
	{ "sql-lease", "Works while a row of a table names it.", lease_options, lease_make },
	{ "run-ledger",
		"Does a job's slots, each of which one process alone writes into the ledger.",
		runner_options, runner_make },
	{ 0 },
};

static const struct sim_fault faults[] = { { 0 } };

const struct sim_part sim_part_ledger = {
	.word = "ledger",
	.things = things,
	.programs = programs,
	.faults = faults,
	.views = views,
};
