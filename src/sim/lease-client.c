#include "config.h"

#include "sim/lease-client.h"
#include "base/clock.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	OP_GET,
	OP_CREATE,
	OP_UPDATE,
	JITTER_PERCENT = 120, /* JitterFactor 1.2: a retry comes 1 to 2.2 periods after the last */
	IDENTITY_MAX = 400
};

_Static_assert(sizeof(struct lease_record) <= NET_TEXT_MAX, "a record travels in a call's text");

static void client_try(struct world *w, struct lease_client *l);
static void acquire_due(struct world *w, struct process *p, void *who, int64_t a);
static void renew_due(struct world *w, struct process *p, void *who, int64_t a);

/* ---- at the server ---- */

static int serve_get(struct net_call *call, const struct cluster_lease *lease)
{
	if (!lease->there)
		return ANSWER_NOT_FOUND;
	memcpy(call->text, &lease->record, sizeof(lease->record));
	call->value2 = lease->o.version;
	return ANSWER_OK;
}

static int serve_write(struct net_call *call, struct cluster_lease *lease)
{
	struct lease_record record;
	int rc;

	memcpy(&record, call->text, sizeof(record));
	rc = call->op == OP_CREATE ? cluster_lease_create(lease, &record)
				   : cluster_lease_update(lease, &record, call->b);
	call->value2 = lease->o.version;
	return rc;
}

static bool serve(struct world *w, struct net_call *call)
{
	struct cluster *c = (struct cluster *)call->server;
	struct cluster_lease *lease = ((struct lease_client *)call->who)->lease;
	int rc;

	(void)w;
	if (c->trouble == CLUSTER_HANGS) {
		net_drop(w, call);
		return false;
	}
	if (c->trouble == CLUSTER_DOWN) {
		call->code = NET_REFUSED;
		return true;
	}
	rc = call->op == OP_GET ? serve_get(call, lease) : serve_write(call, lease);
	call->code = rc ? NET_FAILED : NET_OK;
	call->value = rc;
	return true;
}

/* ---- asking ---- */

static void on_answer(struct world *w, struct process *p, const struct net_call *call);

/* The components' clients give an answer half of the deadline's time. */
static void ask(struct world *w, struct lease_client *l, int op, const struct lease_record *record)
{
	struct net_call call = {
		.from = l->program.process,
		.to = l->cluster->machine,
		.server = &l->cluster->thing,
		.serve = serve,
		.reply = on_answer,
		.who = l,
		.op = op,
		.a = ++l->attempt,
		.b = l->version,
		.timeout_ms = l->is.deadline_ms / 2,
	};

	if (record)
		memcpy(call.text, record, sizeof(*record));
	/* The server will look at it in a moment. */
	__builtin_prefetch(&l->lease->o.queued);
	__builtin_prefetch(&l->lease->record);
	net_call(w, &call);
}

static struct lease_record record_new(struct world *w, const struct lease_client *l)
{
	int64_t now_us = process_clock_us(w, l->program.process);
	struct lease_record r = {
		.acquire_us = now_us,
		.renew_us = now_us,
		.duration_s = (int32_t)(l->is.duration_ms / 1000),
		.holder = l->id,
	};

	return r;
}

/*
 * A leader whose Lease was deleted makes it anew with what it has tried to write: it keeps its
 * transitions. Whoever else makes one begins with 0.
 */
static void ask_create(struct world *w, struct lease_client *l, bool tried)
{
	struct lease_record r = record_new(w, l);

	if (tried) {
		r.acquire_us = l->observed.acquire_us;
		r.transitions = l->observed.transitions;
	}
	ask(w, l, OP_CREATE, &r);
}

/* By the observed record: only a new holder counts up. */
static void ask_update(struct world *w, struct lease_client *l)
{
	struct lease_record r = record_new(w, l);

	if (l->observed.holder == l->id) {
		r.acquire_us = l->observed.acquire_us;
		r.transitions = l->observed.transitions;
	} else {
		r.transitions = l->observed.transitions + 1;
	}
	ask(w, l, OP_UPDATE, &r);
}

/* client-go's release(): the record is cleared, and expires after a second. Nobody waits for it. */
static void ask_release(struct world *w, struct lease_client *l)
{
	struct lease_record r = record_new(w, l);
	struct net_call call = {
		.from = l->program.process,
		.to = l->cluster->machine,
		.server = &l->cluster->thing,
		.serve = serve,
		.who = l,
		.op = OP_UPDATE,
		.b = l->version,
	};

	if (l->observed.holder != l->id)
		return;
	r.holder = 0;
	r.duration_s = 1;
	r.transitions = l->observed.transitions;
	memcpy(call.text, &r, sizeof(r));
	net_call(w, &call);
}

/* ---- believing ---- */

static void believe(struct world *w, struct lease_client *l, bool leads)
{
	if (l->leads == leads)
		return;
	l->leads = leads;
	l->since_us = process_clock_us(w, l->program.process);
	if (l->is.duty && leads)
		duty_begin(w, l->is.duty, l->program.process, l->observed.transitions);
	else if (l->is.duty && l->is.believes != LEASE_FOREVER)
		duty_end(w, l->is.duty, l->program.process);
	if (l->leads_hook)
		l->leads_hook(l->cluster, leads);
}

/* Whether what it observed still binds it. */
static bool observed_valid(struct world *w, const struct lease_client *l)
{
	int64_t lasts_ms = (int64_t)l->observed.duration_s * 1000;

	if (l->is.believes == LEASE_CLOCK)
		return l->observed.renew_us != TIME_UNKNOWN &&
		       process_clock_us(w, l->program.process) <
			       l->observed.renew_us + lasts_ms * 1000;
	return process_clock_ms(w, l->program.process) < l->observed_ms + lasts_ms;
}

static void observe(
	struct world *w, struct lease_client *l, const struct lease_record *r, int64_t version)
{
	if (!l->seen || l->version != version || l->observed.holder != r->holder) {
		l->observed = *r;
		l->observed_ms = process_clock_ms(w, l->program.process);
		l->seen = true;
	}
	l->version = version;
}

/* ---- the loop ---- */

static void deadline_due(struct world *w, struct process *p, void *who, int64_t a)
{
	struct lease_client *l = who;
	int64_t left = l->until_ms - process_clock_ms(w, p);

	(void)a;
	l->deadline_set = false;
	if (!l->leads)
		return;
	if (left > 0) {
		l->deadline_set = true;
		process_after(w, p, left, deadline_due, l, 0);
		return;
	}
	l->attempt++; /* an answer that comes now is too late */
	world_tell(w, HAPPENING_NOTE, p->thing.name, l->lease->o.name, 0,
		"%s could not renew %s for %lld s: it gives up", p->thing.name, l->lease->o.name,
		(long long)(l->is.deadline_ms / 1000));
	believe(w, l, false);
	if (l->is.release)
		ask_release(w, l);
	if (l->is.exits)
		process_end_as(w, p, PROCESS_END_KILLED, "ended by itself");
	else if (!l->is.ends)
		process_after(w, p, l->is.retry_ms, acquire_due, l, l->attempt);
}

static void led(struct world *w, struct lease_client *l)
{
	struct process *p = l->program.process;

	believe(w, l, true);
	l->until_ms = process_clock_ms(w, p) + l->is.retry_ms + l->is.deadline_ms;
	if (!l->deadline_set) {
		l->deadline_set = true;
		process_after(w, p, l->is.retry_ms + l->is.deadline_ms, deadline_due, l, 0);
	}
	process_after(w, p, l->is.retry_ms, renew_due, l, l->attempt);
}

/* This attempt came to nothing. */
static void failed(struct world *w, struct lease_client *l)
{
	int64_t wait_ms = l->is.retry_ms;

	if (l->leads) {
		process_after(w, l->program.process, wait_ms, renew_due, l, l->attempt);
		return;
	}
	wait_ms += (int64_t)sim_random_below(
		world_random(w), (uint64_t)(wait_ms * JITTER_PERCENT / 100) + 1);
	process_after(w, l->program.process, wait_ms, acquire_due, l, l->attempt);
}

static void acquire_due(struct world *w, struct process *p, void *who, int64_t a)
{
	struct lease_client *l = who;

	(void)p;
	if (a == l->attempt)
		client_try(w, l);
}

static void renew_due(struct world *w, struct process *p, void *who, int64_t a)
{
	struct lease_client *l = who;

	(void)p;
	if (a == l->attempt && l->leads)
		client_try(w, l);
}

/* tryAcquireOrRenew: who leads, and has seen it so in time, writes at once; others read first. */
static void client_try(struct world *w, struct lease_client *l)
{
	l->fast = l->seen && !l->is.reads_first && l->observed.holder == l->id &&
		  observed_valid(w, l);
	l->tried = l->fast;
	if (l->fast)
		ask_update(w, l);
	else
		ask(w, l, OP_GET, NULL);
}

static void on_read(struct world *w, struct lease_client *l, const struct net_call *call)
{
	struct lease_record r;

	if (call->code == NET_FAILED && call->value == ANSWER_NOT_FOUND) {
		ask_create(w, l, l->tried);
		return;
	}
	if (call->code != NET_OK) {
		failed(w, l);
		return;
	}
	memcpy(&r, call->text, sizeof(r));
	observe(w, l, &r, call->value2);
	if (r.holder && r.holder != l->id && observed_valid(w, l)) {
		/* A leader that reads another's name goes on trying until its deadline. */
		failed(w, l);
		return;
	}
	ask_update(w, l);
}

static void on_written(struct world *w, struct lease_client *l, const struct net_call *call)
{
	if (call->code == NET_OK) {
		memcpy(&l->observed, call->text, sizeof(l->observed));
		l->version = call->value2;
		l->observed_ms = process_clock_ms(w, l->program.process);
		l->seen = true;
		led(w, l);
	} else if (l->fast && call->code == NET_FAILED) {
		/* "Failed to update lock optimistically, falling back to slow path" */
		l->fast = false;
		ask(w, l, OP_GET, NULL);
	} else {
		failed(w, l);
	}
}

static void on_answer(struct world *w, struct process *p, const struct net_call *call)
{
	struct lease_client *l = call->who;

	(void)p;
	if (call->a != l->attempt)
		return;
	if (call->op == OP_GET)
		on_read(w, l, call);
	else
		on_written(w, l, call);
}

/* ---- a life ---- */

static void client_start(struct world *w, struct program *g)
{
	struct lease_client *l = (struct lease_client *)g;
	const struct cluster_pod *pod = cluster_process_pod(g->process);
	char text[IDENTITY_MAX], uid[CLUSTER_UID_MAX];

	if (l->is.identity) {
		snprintf(text, sizeof(text), "%s", l->is.identity);
	} else if (pod) {
		cluster_uid(l->cluster, uid);
		snprintf(text, sizeof(text), "%s_%s", pod->o.name, uid);
	} else {
		snprintf(text, sizeof(text), "%s", g->process->identity);
	}
	l->id = cluster_identity(l->cluster, text);
	l->leads = l->seen = l->deadline_set = false;
	l->version = 0;
	process_after(w, g->process, (int64_t)sim_random_below(world_random(w), 200), acquire_due,
		l, ++l->attempt);
}

static void client_ended(struct world *w, struct program *g, enum process_end how)
{
	struct lease_client *l = (struct lease_client *)g;
	bool led = l->leads;

	l->leads = false;
	if (led && how == PROCESS_END_STOPPED && l->is.release)
		ask_release(w, l);
	if (led && l->leads_hook)
		l->leads_hook(l->cluster, false);
}

static void client_asked(const struct world *w, const struct program *g, char *buf, size_t size)
{
	const struct lease_client *l = (const struct lease_client *)g;
	const char *works = l->is.duty && duty_works(l->is.duty, g->process) ? "works" : "waits";

	(void)w;
	if (l->leads)
		snprintf(buf, size, "leads %s as %s: it renews its Lease, and %s", l->lease->o.name,
			cluster_identity_text(l->cluster, l->id),
			l->is.duty ? works : "does its work");
	else
		snprintf(buf, size, "does not hold %s, and %s", l->lease->o.name,
			l->is.duty && duty_works(l->is.duty, g->process)
				? "works as if it did"
				: "tries for it every few seconds");
}

static void client_free(struct program *g)
{
	struct lease_client *l = (struct lease_client *)g;

	free((char *)(uintptr_t)l->is.identity);
	free(l);
}

static const struct program_ops client_ops = {
	.word = "lease",
	.start = client_start,
	.ended = client_ended,
	.asked = client_asked,
	.free = client_free,
};

struct lease_client *lease_client_new(
	struct cluster *c, struct process *p, const struct lease_options *options)
{
	struct lease_client *l = xcalloc(1, sizeof(*l));

	l->cluster = c;
	l->lease = cluster_lease_place(c, options->ns, options->name);
	l->is = *options;
	l->is.ns = l->is.name = NULL;
	l->is.identity = options->identity ? xstrdup(options->identity) : NULL;
	l->next = c->clients;
	c->clients = l;
	process_program(p, &l->program, &client_ops);
	return l;
}

struct process *lease_client_process(const struct cluster *c, const char *identity)
{
	const struct lease_client *l;
	struct process *found = NULL;

	for (l = c->clients; l; l = l->next) {
		struct process *p = l->program.process;

		if (strcmp(cluster_identity_text(c, l->id), identity) != 0)
			continue;
		/* Of several with one name, one that lives. */
		if (!found || (!process_lives(found) && process_lives(p)))
			found = p;
	}
	return found;
}
