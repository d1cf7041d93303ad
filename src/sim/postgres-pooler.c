#include "config.h"

#include "base/mem.h"
#include "sim/postgres.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * A connection pooler, as PgBouncer is one (its manual, "pool_mode", "server_round_robin",
 * "application_name_add_host", and "Feature matrix for pooling modes", which says of session-level
 * advisory locks in transaction pooling: never).
 */
enum {
	PORT_LEAST = 32768,
	PORTS = 28000,
	HOST_MOST = 32
};

static void pooler_free(struct thing *t)
{
	struct simpg_pooler *p = (struct simpg_pooler *)t;

	free(p->sessions);
	simpg_waiting_release(&p->queue);
	free(p);
}

const struct thing_ops simpg_pooler_ops = { .kind = "pooler", .free = pooler_free };

struct simpg_pooler *simpg_pooler_new(struct world *w, const char *name, struct machine *machine,
	struct simpg_server *server, size_t size)
{
	struct simpg_pooler *p = xcalloc(1, sizeof(*p));

	p->machine = machine;
	p->server = server;
	p->size = size;
	p->sessions = xcalloc(size, sizeof(*p->sessions));
	world_add(w, &p->thing, &simpg_pooler_ops, name);
	return p;
}

/* ---- its sessions, in the order of their last use ---- */

static void forget(struct simpg_pooler *p, int64_t handle)
{
	size_t i, n = 0;

	for (i = 0; i < p->n_sessions; i++)
		if (p->sessions[i] != handle)
			p->sessions[n++] = p->sessions[i];
	p->n_sessions = n;
}

void simpg_pooler_lost(struct simpg_session *s)
{
	forget(s->pooler, s->handle);
}

static void used_last(struct simpg_pooler *p, int64_t handle)
{
	forget(p, handle);
	p->sessions[p->n_sessions++] = handle;
}

static struct simpg_session *session_at(const struct simpg_pooler *p, size_t i)
{
	return simpg_handle(p->server, p->sessions[i]);
}

/* The session that a client has now: in a transaction, or for as long as it is connected. */
static struct simpg_session *session_of(const struct simpg_pooler *p, const struct net_call *call)
{
	size_t i;

	for (i = 0; i < p->n_sessions; i++) {
		struct simpg_session *s = session_at(p, i);

		if (s && s->busy && s->process == call->from && s->life == call->life &&
			s->state != SIMPG_ACTIVE)
			return s;
	}
	return NULL;
}

static struct simpg_session *free_one(const struct simpg_pooler *p, const struct simpg_login *login)
{
	size_t i;

	for (i = 0; i < p->n_sessions; i++) {
		struct simpg_session *s = session_at(p, p->round_robin ? i : p->n_sessions - 1 - i);

		if (s && !s->busy && strcmp(s->user, login->user) == 0 &&
			strcmp(simpg_database_name(p->server, s->database), login->database) == 0)
			return s;
	}
	return NULL;
}

static struct simpg_session *new_one(
	struct world *w, struct simpg_pooler *p, const struct simpg_login *login)
{
	struct simpg_session *s;
	char address[48];

	if (p->n_sessions >= p->size)
		return NULL;
	simpg_address(w, p->machine, address);
	s = simpg_open_session(
		w, p->server, login->user, simpg_database(p->server, login->database), "", address);
	if (!s)
		return NULL;
	s->pooler = p;
	p->sessions[p->n_sessions++] = s->handle;
	return s;
}

/* PgBouncer sets what the client calls itself, and may add whence it comes. */
static void name_after(struct world *w, const struct simpg_pooler *p, struct simpg_session *s,
	const struct net_call *call, const struct simpg_login *login)
{
	char address[48];

	simpg_address(w, call->from->machine, address);
	if (p->add_host)
		snprintf(s->application, sizeof(s->application), "%.*s - %.*s:%d",
			SIMPG_NAME_MAX - HOST_MOST, login->application, HOST_MOST / 2, address,
			PORT_LEAST + (call->from->pid * 7) % PORTS);
	else
		snprintf(s->application, sizeof(s->application), "%s", login->application);
}

/* ---- calls ---- */

static bool give_session(
	struct world *w, struct simpg_pooler *p, struct simpg_session *s, struct net_call *call)
{
	s->busy = true;
	s->process = call->from;
	s->life = call->life;
	name_after(w, p, s, call, call->who);
	used_last(p, s->handle);
	if (call->op != SIMPG_CONNECT)
		return simpg_execute(w, s, call);
	call->value = s->handle;
	return true;
}

static bool dispatch(struct world *w, struct simpg_pooler *p, struct net_call *call)
{
	struct simpg_session *s = session_of(p, call);

	if (s)
		return simpg_execute(w, s, call);
	s = free_one(p, call->who);
	if (!s)
		s = new_one(w, p, call->who);
	return s ? give_session(w, p, s, call) : simpg_waiting_add(w, &p->queue, call);
}

/* Whoever waited first gets what is free now. */
static void queue_look(struct world *w, void *who, int64_t a, int64_t b)
{
	struct simpg_pooler *p = who;
	size_t n = p->queue.n;

	(void)a;
	(void)b;
	/* Who finds none stands at the end again, in the same order. */
	while (n-- > 0) {
		struct net_call *call = simpg_waiting_take(&p->queue);

		if (!process_lives(call->from) || call->from->life != call->life)
			net_drop(w, call);
		else if (dispatch(w, p, call))
			net_answer(w, call);
	}
}

static void set_free(struct world *w, struct simpg_session *s)
{
	s->busy = false;
	used_last(s->pooler, s->handle);
	if (s->pooler->queue.n)
		world_after(w, 0, queue_look, s->pooler, 0, 0);
}

void simpg_pooler_rests(struct world *w, struct simpg_session *s)
{
	if (s->pooler->transaction)
		set_free(w, s);
}

/* server_reset_query: DISCARD ALL, in session mode. */
static void reset(struct world *w, struct simpg_session *s)
{
	s->block = false;
	simpg_statement_begin(w, s, NULL, "DISCARD ALL");
	simpg_give_all(w, s, SIMPG_SESSION);
	*s->channel = '\0';
	simpg_statement_end(w, s, SIMPG_OK, 0);
	set_free(w, s);
}

void simpg_pooler_client_gone(struct world *w, struct simpg_pooler *p, const struct process *client)
{
	size_t i;

	for (i = p->n_sessions; i-- > 0;) {
		struct simpg_session *s = session_at(p, i);

		if (!s || !s->busy || s->process != client)
			continue;
		/* In the middle of something PgBouncer closes the server's connection. */
		if (s->state != SIMPG_IDLE || p->transaction)
			simpg_client_gone(w, s, true);
		else
			reset(w, s);
	}
}

bool simpg_serve_pooler(struct world *w, struct net_call *call)
{
	struct simpg_pooler *p = (struct simpg_pooler *)call->server;

	if (!process_lives(p->server->process)) {
		call->code = NET_FAILED;
		call->value = SIMPG_LOST;
		return true;
	}
	if (!simpg_answers(p->server))
		return simpg_waiting_add(w, &p->server->stalled, call);
	if (call->op == SIMPG_CLOSE) {
		simpg_pooler_client_gone(w, p, call->from);
		return true;
	}
	if (call->op == SIMPG_CONNECT && p->transaction)
		return true;
	return dispatch(w, p, call);
}
