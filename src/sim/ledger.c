#include "config.h"

#include "base/mem.h"
#include "sim/ledger.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void versions_free(struct sim_lease_row *row)
{
	struct sim_lease_row *before;

	for (; row; row = before) {
		before = row->before;
		free(row);
	}
}

static void leases_free(struct sim_lease_row *row)
{
	struct sim_lease_row *next;

	for (; row; row = next) {
		next = row->next;
		versions_free(row);
	}
}

static void ledger_free(struct thing *t)
{
	struct sim_ledger *l = (struct sim_ledger *)t;
	struct sim_job *job, *next;

	leases_free(l->leases);
	for (job = l->jobs; job; job = next) {
		next = job->next;
		free(job);
	}
	free(l);
}

const struct thing_ops sim_ledger_ops = { .kind = "ledger", .free = ledger_free };

struct sim_ledger *sim_ledger_new(
	struct world *w, const char *name, struct simpg_server *server, struct sim_ledger *of)
{
	struct sim_ledger *l = xcalloc(1, sizeof(*l));

	l->server = server;
	l->of = of;
	world_add(w, &l->thing, &sim_ledger_ops, name);
	return l;
}

struct sim_ledger *sim_ledger_find(const struct world *w, const char *name)
{
	return (struct sim_ledger *)world_find(w, &sim_ledger_ops, name);
}

/* ---- rows ---- */

static struct sim_lease_row *lease_find(struct sim_ledger *l, const char *name)
{
	struct sim_lease_row *row;

	for (row = l->leases; row; row = row->next)
		if (strcmp(row->name, name) == 0)
			return row;
	return NULL;
}

struct sim_lease_row *sim_lease_row(struct sim_ledger *l, const char *name)
{
	struct sim_lease_row *row = lease_find(l, name), **at;

	if (row)
		return row;
	row = xcalloc(1, sizeof(*row));
	snprintf(row->name, sizeof(row->name), "%s", name);
	for (at = &l->leases; *at; at = &(*at)->next)
		;
	*at = row;
	return row;
}

struct sim_job *sim_ledger_job(struct sim_ledger *l, const char *name)
{
	struct sim_job **at, *job;

	for (at = &l->jobs; *at; at = &(*at)->next)
		if (strcmp((*at)->name, name) == 0)
			return *at;
	job = xcalloc(1, sizeof(*job));
	snprintf(job->name, sizeof(job->name), "%s", name);
	*at = job;
	return job;
}

/* What stood in the row is kept: a standby may have no more than that. */
static void lease_keep(struct sim_lease_row *row)
{
	struct sim_lease_row *kept, **at;
	int n;

	if (!row->written_ms)
		return;
	kept = xcalloc(1, sizeof(*kept));
	*kept = *row;
	kept->next = NULL;
	row->before = kept;
	for (at = &row->before, n = 0; *at && n < SIM_LEDGER_VERSIONS; n++)
		at = &(*at)->before;
	versions_free(*at);
	*at = NULL;
}

/* ---- a failover ---- */

static void copy_leases(struct sim_ledger *l, int64_t until_ms)
{
	struct sim_lease_row *row;

	for (row = l->of->leases; row; row = row->next) {
		const struct sim_lease_row *had = row;
		struct sim_lease_row *copy;

		while (had && had->written_ms > until_ms)
			had = had->before;
		if (!had)
			continue;
		copy = sim_lease_row(l, had->name);
		snprintf(copy->owner, sizeof(copy->owner), "%s", had->owner);
		copy->until_us = had->until_us;
		copy->ttl_ms = had->ttl_ms;
		copy->token = had->token;
		copy->own_clock = had->own_clock;
		copy->written_ms = had->written_ms;
		copy->process = had->process;
	}
}

static void copy_jobs(struct sim_ledger *l, int64_t until_ms)
{
	const struct sim_job *from;
	size_t i;

	for (from = l->of->jobs; from; from = from->next) {
		struct sim_job *job = sim_ledger_job(l, from->name);

		job->every_ms = from->every_ms;
		job->takes_ms = from->takes_ms;
		for (i = 0; i < from->n_runs; i++) {
			struct sim_run_row *run = &job->runs[job->n_runs];

			if (from->runs[i].written_ms > until_ms)
				continue;
			*run = from->runs[i];
			if (run->ended_ms > until_ms)
				run->end_us = 0;
			job->n_runs++;
		}
	}
}

void sim_ledger_look(struct world *w, struct sim_ledger *l)
{
	(void)w;
	if (!l->of || l->copied || l->server->in_recovery)
		return;
	l->copied = true;
	copy_leases(l, l->server->promoted_ms - l->server->lag_ms);
	copy_jobs(l, l->server->promoted_ms - l->server->lag_ms);
	thing_changed(&l->thing);
}

/* ---- statements ---- */

enum ledger_op {
	LEDGER_LEASE, /* b: ttl in ms; c: 1: the client's clock counts; text: the lease */
	LEDGER_BEGIN, /* b: the slot; text: the job */
	LEDGER_END
};

static const char *granted_name(
	const struct sim_ledger *l, const char *name, char *buf, size_t size)
{
	snprintf(buf, size, "%s %s", l->thing.name, name);
	return buf;
}

static void lease_give(struct world *w, struct sim_ledger *l, struct sim_lease_row *row,
	const struct net_call *call, int64_t now_us)
{
	bool same = strcmp(row->owner, call->from->identity) == 0;
	char name[SIMPG_NAME_MAX * 3];

	lease_keep(row);
	if (!same) {
		row->token++;
		snprintf(row->owner, sizeof(row->owner), "%s", call->from->identity);
		world_tell(w, HAPPENING_GRANTED, call->from->thing.name,
			granted_name(l, row->name, name, sizeof(name)), row->token,
			"%s writes itself into the row %s, token %lld", call->from->thing.name,
			name, (long long)row->token);
		thing_changed(&l->thing);
	}
	row->process = call->from;
	row->ttl_ms = call->b;
	row->own_clock = call->c == 1;
	row->until_us = now_us + call->b * 1000;
	row->written_ms = world_now_ms(w);
}

static bool serve_lease(struct world *w, struct sim_ledger *l, struct net_call *call)
{
	struct sim_lease_row *row = sim_lease_row(l, call->text);
	int64_t now_us =
		call->c == 1 ? process_clock_us(w, call->from) : simpg_now_us(w, l->server);

	if (*row->owner && row->until_us >= now_us && strcmp(row->owner, call->from->identity) != 0)
		return true; /* no row was updated */
	lease_give(w, l, row, call, now_us);
	call->value = 1;
	call->value2 = row->token;
	return true;
}

static struct sim_run_row *run_of(struct sim_job *job, int64_t slot_us)
{
	size_t i;

	for (i = 0; i < job->n_runs; i++)
		if (job->runs[i].slot_us == slot_us)
			return &job->runs[i];
	return NULL;
}

static bool serve_begin(struct world *w, struct sim_ledger *l, struct net_call *call)
{
	struct sim_job *job = sim_ledger_job(l, call->text);
	struct sim_run_row *run = run_of(job, call->b);
	size_t at;

	if (run) {
		job->refused++;
		return true;
	}
	if (job->n_runs == SIM_LEDGER_RUNS)
		job->n_runs--;
	/* The newest slot first, whoever comes with it; clocks differ. */
	for (at = 0; at < job->n_runs && job->runs[at].slot_us > call->b; at++)
		;
	memmove(&job->runs[at + 1], &job->runs[at], (job->n_runs - at) * sizeof(job->runs[0]));
	job->n_runs++;
	run = &job->runs[at];
	memset(run, 0, sizeof(*run));
	run->slot_us = call->b;
	run->start_us = simpg_now_us(w, l->server);
	run->written_ms = world_now_ms(w);
	run->process = call->from;
	run->life = call->life;
	snprintf(run->who, sizeof(run->who), "%s", call->from->identity);
	world_tell(w, HAPPENING_RUN, call->from->thing.name, job->name, 0,
		"%s writes itself into the ledger for a slot of %s", call->from->thing.name,
		job->name);
	thing_changed(&l->thing);
	call->value = 1;
	return true;
}

static bool serve_end(struct world *w, struct sim_ledger *l, struct net_call *call)
{
	struct sim_job *job = sim_ledger_job(l, call->text);
	struct sim_run_row *run = run_of(job, call->b);

	if (!run || run->end_us || strcmp(run->who, call->from->identity) != 0)
		return true;
	run->end_us = simpg_now_us(w, l->server);
	run->ended_ms = world_now_ms(w);
	thing_changed(&l->thing);
	call->value = 1;
	return true;
}

static bool ledger_serve(struct world *w, struct net_call *call)
{
	struct sim_ledger *l = (struct sim_ledger *)call->server;

	if (!process_lives(l->server->process)) {
		call->code = NET_REFUSED;
		return true;
	}
	if (!simpg_answers(l->server))
		return simpg_waiting_add(w, &l->server->stalled, call);
	if (l->server->in_recovery) {
		call->code = NET_FAILED;
		call->value = SIMPG_READ_ONLY;
		return true;
	}
	sim_ledger_look(w, l);
	switch ((enum ledger_op)call->op) {
	case LEDGER_LEASE:
		return serve_lease(w, l, call);
	case LEDGER_BEGIN:
		return serve_begin(w, l, call);
	case LEDGER_END:
		break;
	}
	return serve_end(w, l, call);
}

bool sim_lease_clear(
	struct world *w, struct sim_ledger *l, const char *name, const char *owner, int64_t token)
{
	struct sim_lease_row *row = lease_find(l, name);
	char full[SIMPG_NAME_MAX * 3];

	if (!row || strcmp(row->owner, owner) != 0 || row->token != token)
		return false;
	lease_keep(row);
	*row->owner = '\0';
	row->until_us = simpg_now_us(w, l->server);
	row->written_ms = world_now_ms(w);
	row->process = NULL;
	world_tell(w, HAPPENING_FREED, NULL, granted_name(l, name, full, sizeof(full)), token,
		"the row %s names nobody", full);
	thing_changed(&l->thing);
	return true;
}

static void ask(struct world *w, struct process *p, struct sim_ledger *l, net_reply *reply,
	struct net_call call)
{
	call.from = p;
	call.to = l->server->process->machine;
	call.server = &l->thing;
	call.serve = ledger_serve;
	call.reply = reply;
	net_call(w, &call);
}

/* ---- one who leads by a row ---- */

static void leaser_tick(struct world *w, struct process *p, void *who, int64_t a);

static void leaser_stops(struct world *w, struct sim_leaser *s)
{
	if (!s->leads)
		return;
	s->leads = false;
	s->turn++;
	if (s->duty)
		duty_end(w, s->duty, s->program.process);
}

static void leaser_over(struct world *w, struct process *p, void *who, int64_t turn)
{
	struct sim_leaser *s = who;

	if (s->leads && s->turn == (uint32_t)turn && process_clock_ms(w, p) >= s->good_until_ms)
		leaser_stops(w, s);
}

static void leaser_got(struct world *w, struct sim_leaser *s, int64_t token)
{
	struct process *p = s->program.process;

	s->token = token;
	s->good_until_ms = s->sent_ms + s->ttl_ms;
	s->turn++;
	s->leads = true;
	if (s->duty)
		duty_begin(w, s->duty, p, token);
	if (s->belief == SIM_LEASE_BELIEVES_UNTIL)
		process_after(
			w, p, s->good_until_ms - process_clock_ms(w, p), leaser_over, s, s->turn);
}

static void leaser_answered(struct world *w, struct process *p, const struct net_call *call)
{
	struct sim_leaser *s = call->who;

	s->asking = false;
	if (call->code == NET_OK && call->value)
		leaser_got(w, s, call->value2);
	else if (call->code == NET_OK)
		leaser_stops(w, s);
	else if (s->n_ledgers > 1)
		s->at = (s->at + 1) % s->n_ledgers;
	process_after(w, p, s->every_ms, leaser_tick, s, 0);
}

static void leaser_tick(struct world *w, struct process *p, void *who, int64_t a)
{
	struct sim_leaser *s = who;
	struct net_call call = { .op = LEDGER_LEASE, .who = s, .b = s->ttl_ms, .c = s->own_clock };

	(void)a;
	if (s->asking)
		return;
	s->asking = true;
	s->sent_ms = process_clock_ms(w, p);
	snprintf(call.text, sizeof(call.text), "%s", s->lease);
	ask(w, p, s->ledgers[s->at], leaser_answered, call);
}

static void leaser_start(struct world *w, struct program *g)
{
	struct sim_leaser *s = (struct sim_leaser *)g;

	s->leads = s->asking = false;
	s->at = 0;
	s->turn++;
	leaser_tick(w, g->process, s, 0);
}

static void leaser_ended(struct world *w, struct program *g, enum process_end how)
{
	(void)how;
	leaser_stops(w, (struct sim_leaser *)g);
}

static void leaser_asked(const struct world *w, const struct program *g, char *buf, size_t size)
{
	const struct sim_leaser *s = (const struct sim_leaser *)g;

	(void)w;
	if (s->leads)
		snprintf(buf, size, "it believes that the row %s is its own, token %lld", s->lease,
			(long long)s->token);
	else
		snprintf(buf, size, "it asks for the row %s again and again", s->lease);
}

static const struct program_ops leaser_ops = {
	.word = "sql-lease",
	.start = leaser_start,
	.ended = leaser_ended,
	.asked = leaser_asked,
};

struct sim_leaser *sim_leaser_new(struct process *p)
{
	struct sim_leaser *s = xcalloc(1, sizeof(*s));

	process_program(p, &s->program, &leaser_ops);
	return s;
}

/* ---- one who does the slots of a job ---- */

static void runner_slot(struct world *w, struct process *p, void *who, int64_t slot_us);

/* Sleeps until the next slot by its own wall clock. */
static void runner_sleep(struct world *w, struct sim_runner *r)
{
	struct process *p = r->program.process;
	int64_t every_us = r->every_ms * 1000, now_us = process_clock_us(w, p);
	int64_t slot_us = (now_us / every_us + 1) * every_us;

	process_after(w, p, (slot_us - now_us + 999) / 1000, runner_slot, r, slot_us);
}

static void runner_over(struct world *w, struct process *p, void *who, int64_t slot_us)
{
	struct sim_runner *r = who;
	struct net_call call = { .op = LEDGER_END, .who = r, .b = slot_us };

	if (r->slot_us != slot_us)
		return;
	r->slot_us = 0;
	r->done++;
	if (r->duty)
		duty_end(w, r->duty, p);
	if (!r->records)
		return;
	snprintf(call.text, sizeof(call.text), "%s", r->job);
	ask(w, p, r->ledgers[r->at], NULL, call);
}

static void runner_works(struct world *w, struct sim_runner *r, int64_t slot_us)
{
	struct process *p = r->program.process;

	r->slot_us = slot_us;
	if (r->duty)
		duty_begin(w, r->duty, p, 0);
	if (r->resource)
		resource_write(w, r->resource, p, 0, slot_us / 1000000);
	process_after(w, p, r->takes_ms, runner_over, r, slot_us);
}

static void runner_answered(struct world *w, struct process *p, const struct net_call *call)
{
	struct sim_runner *r = call->who;

	(void)p;
	if (call->code == NET_OK && call->value)
		runner_works(w, r, call->b);
	else if (call->code != NET_OK && r->n_ledgers > 1)
		r->at = (r->at + 1) % r->n_ledgers;
}

static void runner_slot(struct world *w, struct process *p, void *who, int64_t slot_us)
{
	struct sim_runner *r = who;
	struct net_call call = { .op = LEDGER_BEGIN, .who = r, .b = slot_us };
	struct sim_job *job;

	runner_sleep(w, r);
	if (!r->records) {
		runner_works(w, r, slot_us);
		return;
	}
	job = sim_ledger_job(r->ledgers[r->at], r->job);
	job->every_ms = r->every_ms;
	job->takes_ms = r->takes_ms;
	snprintf(call.text, sizeof(call.text), "%s", r->job);
	ask(w, p, r->ledgers[r->at], runner_answered, call);
}

static void runner_start(struct world *w, struct program *g)
{
	struct sim_runner *r = (struct sim_runner *)g;

	r->slot_us = 0;
	r->at = 0;
	runner_sleep(w, r);
}

static void runner_ended(struct world *w, struct program *g, enum process_end how)
{
	struct sim_runner *r = (struct sim_runner *)g;

	(void)how;
	if (r->slot_us && r->duty)
		duty_end(w, r->duty, g->process);
	r->slot_us = 0;
}

static void runner_asked(const struct world *w, const struct program *g, char *buf, size_t size)
{
	const struct sim_runner *r = (const struct sim_runner *)g;

	(void)w;
	snprintf(buf, size, "it %s, and has done %llu slots of %s",
		r->slot_us ? "works on a slot" : "waits for the next slot",
		(unsigned long long)r->done, r->job);
}

static const struct program_ops runner_ops = {
	.word = "run-ledger",
	.start = runner_start,
	.ended = runner_ended,
	.asked = runner_asked,
};

struct sim_runner *sim_runner_new(struct process *p)
{
	struct sim_runner *r = xcalloc(1, sizeof(*r));

	r->records = true;
	process_program(p, &r->program, &runner_ops);
	return r;
}
