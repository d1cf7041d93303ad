#include "config.h"

#include "sim/postgres.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Servers, their sessions and statements, and what ends them. */

enum {
	PORT = 5432,
	MOMENT_US = 1000,
	SERVER_VERSION = 160004,
	MAX_CONNECTIONS = 100,      /* max_connections' default */
	DEADLOCK_MS = 1000,         /* deadlock_timeout's */
	KEEPALIVE_MS = 7875 * 1000, /* Linux: tcp_keepalive_time + 9 * tcp_keepalive_intvl */
	RESTART_MS = 3000,
	FIRST_OID = 16384, /* FirstNormalObjectId */
	FIRST_XID = 731,
	PID_STEP = 9,
	PID_MOST = 4194304,
	SLOT_BITS = 16,
	SLOT_MASK = 0xffff
};

/* The server's own process. */
struct postmaster {
	struct program program; /* first */
	struct simpg_server *server;
};

static void server_free(struct thing *t)
{
	struct simpg_server *s = (struct simpg_server *)t;
	struct simpg_prepared *p, *next;
	size_t i;

	simpg_locks_free(s);
	for (i = 0; i < s->n_slots; i++)
		free(s->slots[i]);
	free(s->slots);
	for (p = s->prepared; p; p = next) {
		next = p->next;
		free(p);
	}
	simpg_waiting_release(&s->stalled);
	free(s);
}

const struct thing_ops simpg_ops = { .kind = "postgres", .free = server_free };

/* ---- the server's process ---- */

static void postmaster_start(struct world *w, struct program *g)
{
	struct simpg_server *s = ((struct postmaster *)g)->server;

	if (s->process->life > 1)
		world_tell(w, HAPPENING_SERVER, s->thing.name, s->thing.name, 0,
			"%s is up again; no session of before is there any more", s->thing.name);
	simpg_changed(s);
}

/* Who waited for an answer finds its connection closed; with the machine gone nobody is told. */
static void drop_sessions(struct world *w, struct simpg_server *s, bool told)
{
	struct net_call *call;
	size_t i;

	for (i = 0; i < s->n_slots; i++) {
		struct simpg_session *one = s->slots[i];

		if (one && one->call && !told) {
			net_drop(w, one->call);
			one->call = NULL;
		}
		if (!one)
			continue;
		world_count(w, "sessions-lost", 1);
		simpg_close_session(w, one, SIMPG_LOST);
	}
	while ((call = simpg_waiting_take(&s->stalled)) != NULL) {
		call->code = NET_FAILED;
		call->value = SIMPG_LOST;
		if (told)
			net_answer(w, call);
		else
			net_drop(w, call);
	}
}

static void postmaster_ended(struct world *w, struct program *g, enum process_end how)
{
	struct simpg_server *s = ((struct postmaster *)g)->server;

	drop_sessions(w, s, how != PROCESS_END_VANISHED);
	world_tell(w, HAPPENING_SERVER, s->thing.name, s->thing.name, 0,
		"%s ends, and with it all its sessions and their locks", s->thing.name);
	simpg_changed(s);
}

static void postmaster_resumed(struct world *w, struct program *g)
{
	struct simpg_server *s = ((struct postmaster *)g)->server;
	struct net_call *call;

	while ((call = simpg_waiting_take(&s->stalled)) != NULL)
		if (call->serve(w, call))
			net_answer(w, call);
}

static void postmaster_asked(const struct world *w, const struct program *g, char *buf, size_t size)
{
	const struct simpg_server *s = ((const struct postmaster *)g)->server;

	(void)w;
	snprintf(buf, size, "a PostgreSQL %s on timeline %d with %zu sessions",
		s->in_recovery ? "standby" : "primary, which takes writes,", s->timeline,
		s->n_sessions);
}

static const struct program_ops postmaster_ops = {
	.word = "postgres",
	.start = postmaster_start,
	.ended = postmaster_ended,
	.resumed = postmaster_resumed,
	.asked = postmaster_asked,
};

struct simpg_server *simpg_new(struct world *w, const char *name, struct machine *machine)
{
	struct simpg_server *s = xcalloc(1, sizeof(*s));
	struct postmaster *g = xcalloc(1, sizeof(*g));

	s->port = PORT;
	s->version = SERVER_VERSION;
	s->timeline = 1;
	s->max_connections = MAX_CONNECTIONS;
	s->deadlock_ms = DEADLOCK_MS;
	s->keepalive_ms = KEEPALIVE_MS;
	s->next_xid = FIRST_XID;
	/* As initdb makes it: seconds in the high half, noise in the low one. */
	s->system_identifier = (int64_t)((uint64_t)(world_now_us(w) / 1000000 - 86400 * 30) << 32 |
					 (sim_random_next(world_random(w)) & 0xffffffff));
	s->last_pid = 1000 + (int)sim_random_below(world_random(w), 30000);
	world_add(w, &s->thing, &simpg_ops, name);
	s->process = process_new(w, name, machine, name);
	s->process->hidden = true;
	s->process->restart_after_ms = RESTART_MS;
	g->server = s;
	process_program(s->process, &g->program, &postmaster_ops);
	return s;
}

struct simpg_server *simpg_find(const struct world *w, const char *name)
{
	return (struct simpg_server *)world_find(w, &simpg_ops, name);
}

void simpg_changed(struct simpg_server *s)
{
	s->shape++;
	thing_changed(&s->thing);
}

bool simpg_answers(const struct simpg_server *s)
{
	return s->process->state == PROCESS_RUNNING;
}

uint32_t simpg_database(struct simpg_server *s, const char *name)
{
	size_t i;

	for (i = 0; i < s->n_databases; i++)
		if (strcmp(s->databases[i].name, name) == 0)
			return s->databases[i].oid;
	if (s->n_databases == SIMPG_DATABASES_MOST)
		return 0;
	snprintf(s->databases[i].name, SIMPG_NAME_MAX, "%s", name);
	s->databases[i].oid = FIRST_OID + (uint32_t)i;
	return s->databases[s->n_databases++].oid;
}

const char *simpg_database_name(const struct simpg_server *s, uint32_t oid)
{
	size_t i;

	for (i = 0; i < s->n_databases; i++)
		if (s->databases[i].oid == oid)
			return s->databases[i].name;
	return "?";
}

int64_t simpg_now_us(struct world *w, struct simpg_server *s)
{
	int64_t now = process_clock_us(w, s->process) +
		      (int64_t)sim_random_below(world_random(w), MOMENT_US);

	/* A clock that was set back goes back; within one moment of the world it goes on. */
	if (s->last_us >= now && s->last_us - now < 2 * MOMENT_US)
		now = s->last_us + 1;
	s->last_us = now;
	return now;
}

void simpg_address(const struct world *w, const struct machine *m, char buf[48])
{
	struct thing *t = NULL;
	unsigned n = 1;

	while ((t = world_each(w, &machine_ops, t)) != NULL && t != &m->thing)
		n++;
	snprintf(buf, 48, "10.0.%u.%u", n / 250, n % 250 + 4);
}

/* ---- a failover ---- */

static void copy_prepared(struct world *w, struct simpg_server *s)
{
	const struct simpg_prepared *p;
	struct simpg_prepared **at = &s->prepared;

	for (p = s->primary->prepared; p; p = p->next) {
		struct simpg_prepared *copy;

		if (p->committed_ms > world_now_ms(w) - s->lag_ms)
			continue;
		copy = xcalloc(1, sizeof(*copy));
		*copy = *p;
		copy->next = NULL;
		copy->owner.holds = NULL;
		simpg_copy_holds(s, p, copy);
		*at = copy;
		at = &copy->next;
	}
}

void simpg_promote(struct world *w, struct simpg_server *s)
{
	if (!s->in_recovery)
		return;
	s->in_recovery = false;
	s->promoted_ms = world_now_ms(w);
	s->timeline = (s->primary ? s->primary->timeline : s->timeline) + 1;
	if (s->primary)
		copy_prepared(w, s);
	simpg_changed(s);
	world_tell(w, HAPPENING_SERVER, s->thing.name, s->thing.name, s->timeline,
		"%s is promoted: a primary on timeline %d, without the advisory locks of %s",
		s->thing.name, s->timeline, s->primary ? s->primary->thing.name : "before");
}

/* ---- sessions ---- */

const char *simpg_state_word(enum simpg_state state)
{
	switch (state) {
	case SIMPG_IDLE:
		return "idle";
	case SIMPG_ACTIVE:
		return "active";
	case SIMPG_IN_TRANSACTION:
		return "idle in transaction";
	case SIMPG_ABORTED:
		break;
	}
	return "idle in transaction (aborted)";
}

struct simpg_session *simpg_each(const struct simpg_server *s, const struct simpg_session *after)
{
	size_t i;

	for (i = after ? after->slot + 1 : 0; i < s->n_slots; i++)
		if (s->slots[i])
			return s->slots[i];
	return NULL;
}

struct simpg_session *simpg_session(const struct simpg_server *s, int pid)
{
	size_t i;

	for (i = 0; i < s->n_slots; i++)
		if (s->slots[i] && s->slots[i]->pid == pid)
			return s->slots[i];
	return NULL;
}

struct simpg_session *simpg_handle(const struct simpg_server *s, int64_t handle)
{
	size_t slot = (size_t)(handle & SLOT_MASK);

	if (slot >= s->n_slots || !s->slots[slot] || s->slots[slot]->handle != handle)
		return NULL;
	return s->slots[slot];
}

struct simpg_session *simpg_statement(const struct simpg_server *s, int64_t statement)
{
	size_t slot = (size_t)(statement & SLOT_MASK);

	if (slot >= s->n_slots || !s->slots[slot] || s->slots[slot]->statement != statement)
		return NULL;
	return s->slots[slot];
}

static int pid_new(struct world *w, struct simpg_server *s)
{
	do {
		s->last_pid += 1 + (int)sim_random_below(world_random(w), PID_STEP);
		if (s->last_pid >= PID_MOST)
			s->last_pid = 1000;
	} while (s->n_sessions > 64000 && simpg_session(s, s->last_pid));
	return s->last_pid;
}

static size_t slot_new(struct simpg_server *s)
{
	size_t i;

	for (i = s->free_slot; i < s->n_slots; i++)
		if (!s->slots[i])
			break;
	if (i == s->n_slots) {
		s->slots = xrealloc(s->slots, s->n_slots + 1, sizeof(struct simpg_session *));
		s->slots[s->n_slots++] = NULL;
	}
	s->free_slot = i + 1;
	return i;
}

struct simpg_session *simpg_open_session(struct world *w, struct simpg_server *s, const char *user,
	uint32_t database, const char *application, const char *client)
{
	struct simpg_session *one;

	if (s->n_sessions >= s->max_connections || s->n_sessions >= SIMPG_SLOTS_MOST)
		return NULL;
	one = xcalloc(1, sizeof(*one));
	one->server = s;
	one->slot = slot_new(s);
	one->handle = ++s->handles << SLOT_BITS | (int64_t)one->slot;
	one->pid = pid_new(w, s);
	one->start_us = one->state_us = simpg_now_us(w, s);
	one->database = database;
	one->heard_ms = world_now_ms(w);
	snprintf(one->user, sizeof(one->user), "%s", user);
	snprintf(one->application, sizeof(one->application), "%s", application);
	snprintf(one->client, sizeof(one->client), "%s", client);
	s->slots[one->slot] = one;
	s->n_sessions++;
	thing_changed(&s->thing);
	return one;
}

/* ---- statements ---- */

void simpg_statement_begin(
	struct world *w, struct simpg_session *s, struct net_call *call, const char *query)
{
	int64_t now = simpg_now_us(w, s->server);
	size_t n = strlen(query);

	s->statement = ++s->server->statements << SLOT_BITS | (int64_t)s->slot;
	s->call = call;
	s->state = SIMPG_ACTIVE;
	s->state_us = s->query_us = now;
	if (!s->xact_us)
		s->xact_us = now;
	if (n >= SIMPG_QUERY_MAX)
		n = SIMPG_QUERY_MAX - 1;
	memcpy(s->query, query, n);
	s->query[n] = '\0';
	thing_changed(&s->server->thing);
}

static void vxids_look(struct world *w, void *who, int64_t a, int64_t b)
{
	struct simpg_server *s = who;
	struct simpg_session *one;

	(void)a;
	(void)b;
	for (one = simpg_each(s, NULL); one; one = simpg_each(s, one)) {
		if (!one->vxid_pid)
			continue;
		simpg_wait_for_vxids(one);
		if (!one->vxid_pid)
			simpg_statement_end(w, one, SIMPG_OK, 0);
	}
}

void simpg_wait_for_vxids(struct simpg_session *s)
{
	struct simpg_session *other;
	bool waited = s->vxid_pid != 0;

	s->vxid_pid = 0;
	for (other = simpg_each(s->server, NULL); other; other = simpg_each(s->server, other))
		if (other != s && other->database == s->database && other->xact_us &&
			other->xact_us < s->vxid_until_us) {
			s->vxid_pid = other->pid;
			break;
		}
	if (!waited && s->vxid_pid)
		s->server->vxid_waiters++;
	if (waited && !s->vxid_pid)
		s->server->vxid_waiters--;
	thing_changed(&s->server->thing);
}

void simpg_run_over(struct world *w, struct simpg_session *s, bool waits)
{
	if (waits) {
		s->vxid_until_us = simpg_now_us(w, s->server);
		simpg_wait_for_vxids(s);
	}
	if (s->vxid_pid)
		simpg_waits(w, s);
	else
		simpg_statement_end(w, s, SIMPG_OK, 0);
}

static void deadlock_due(struct world *w, struct process *p, void *who, int64_t statement)
{
	struct simpg_session *s = simpg_statement(who, statement);

	(void)p;
	if (!s || (!s->waits && !s->vxid_pid) || !simpg_deadlocked(s))
		return;
	world_tell(w, HAPPENING_SERVER, s->server->thing.name, s->server->thing.name, 0,
		"%s finds a deadlock, and ends the statement of pid %d", s->server->thing.name,
		s->pid);
	simpg_fail(w, s, SIMPG_DEADLOCKED);
}

void simpg_waits(struct world *w, struct simpg_session *s)
{
	process_after(w, s->server->process, s->server->deadlock_ms, deadlock_due, s->server,
		s->statement);
}

static void transaction_over(struct world *w, struct simpg_session *s)
{
	s->xact_us = 0;
	s->block = s->wrote = false;
	if (s->owner.holds)
		simpg_give_all(w, s, SIMPG_TRANSACTION);
	if (s->server->vxid_waiters)
		world_after(w, 0, vxids_look, s->server, 0, 0);
}

static void orphan_ends(struct world *w, void *who, int64_t handle, int64_t b)
{
	struct simpg_session *s = simpg_handle(who, handle);

	(void)b;
	if (s)
		simpg_close_session(w, s, SIMPG_LOST);
}

/* What is on its way is answered; whoever is not there any more is found out then. */
static void statement_answer(struct world *w, struct simpg_session *s, int error, int64_t value)
{
	struct net_call *call = s->call;

	s->call = NULL;
	if (!call)
		return;
	call->code = error ? NET_FAILED : NET_OK;
	call->value = error ? error : value;
	net_answer(w, call);
}

void simpg_statement_end(struct world *w, struct simpg_session *s, int error, int64_t value)
{
	s->statement = 0;
	s->concurrently = false;
	if (error && s->block) {
		/* The locks of an aborted transaction go at once (xact.c, AbortTransaction). */
		simpg_give_all(w, s, SIMPG_TRANSACTION);
		s->state = SIMPG_ABORTED;
	} else if (s->block) {
		s->state = SIMPG_IN_TRANSACTION;
	} else {
		transaction_over(w, s);
		s->state = SIMPG_IDLE;
	}
	s->state_us = simpg_now_us(w, s->server);
	thing_changed(&s->server->thing);
	statement_answer(w, s, error, value);
	if (s->orphaned)
		world_after(w, 0, orphan_ends, s->server, s->handle, 0);
	else if (s->pooler && !s->block)
		simpg_pooler_rests(w, s);
}

static void vxids_forget(struct simpg_session *s)
{
	if (!s->vxid_pid)
		return;
	s->vxid_pid = 0;
	s->server->vxid_waiters--;
}

static void statement_fail(struct world *w, struct simpg_session *s, int error)
{
	simpg_stop_waiting(w, s);
	vxids_forget(s);
	simpg_statement_end(w, s, error, 0);
}

void simpg_cancel(struct world *w, struct simpg_session *s)
{
	if (s->state != SIMPG_ACTIVE)
		return;
	if (s->concurrently)
		world_count(w, "indexes-spoilt", 1);
	world_count(w, "statements-cancelled", 1);
	statement_fail(w, s, SIMPG_CANCELED);
}

void simpg_fail(struct world *w, struct simpg_session *s, int error)
{
	if (s->concurrently)
		world_count(w, "indexes-spoilt", 1);
	statement_fail(w, s, error);
}

/* ---- the end of a session ---- */

void simpg_close_session(struct world *w, struct simpg_session *s, int error)
{
	struct simpg_server *server = s->server;

	s->orphaned = false;
	if (s->statement && s->concurrently)
		world_count(w, "indexes-spoilt", 1);
	simpg_stop_waiting(w, s);
	vxids_forget(s);
	statement_answer(w, s, error, 0);
	transaction_over(w, s);
	simpg_give_all(w, s, SIMPG_SESSION);
	if (s->pooler)
		simpg_pooler_lost(s);
	server->slots[s->slot] = NULL;
	if (s->slot < server->free_slot)
		server->free_slot = s->slot;
	server->n_sessions--;
	thing_changed(&server->thing);
	free(s);
}

void simpg_terminate(struct world *w, struct simpg_session *s)
{
	world_count(w, "sessions-killed", 1);
	simpg_close_session(w, s, SIMPG_TERMINATED);
}

/*
 * TCP's keepalive: when nothing was heard for so long that all probes would have gone unanswered. A
 * client that began a new life answers that it knows of no such connection.
 */
static void keepalive_due(struct world *w, void *who, int64_t handle, int64_t b)
{
	struct simpg_server *server = who;
	struct simpg_session *s = simpg_handle(server, handle);
	const struct process *client = s ? s->process : NULL;
	int64_t left;

	(void)b;
	if (!s || s->pooler || !client)
		return;
	left = s->heard_ms + server->keepalive_ms - world_now_ms(w);
	if (left <= 0 && !s->half_open && process_lives(client) && client->life == s->life &&
		net_reaches(w, server->process->machine, client->machine)) {
		s->heard_ms = world_now_ms(w);
		left = server->keepalive_ms;
	}
	if (left > 0) {
		world_after(w, left, keepalive_due, server, handle, 0);
		return;
	}
	world_tell(w, HAPPENING_EXPIRED, client->thing.name, server->thing.name, 0,
		"%s gives up the dead connection of %s (pid %d)", server->thing.name,
		client->thing.name, s->pid);
	simpg_client_gone(w, s, true);
}

void simpg_watch_client(struct world *w, struct simpg_session *s)
{
	world_after(w, s->server->keepalive_ms, keepalive_due, s->server, s->handle, 0);
}

void simpg_client_gone(struct world *w, struct simpg_session *s, bool told)
{
	int64_t every_ms = s->server->client_check_ms;

	if (!told) {
		s->half_open = true;
		return;
	}
	if (s->state != SIMPG_ACTIVE) {
		simpg_close_session(w, s, SIMPG_LOST);
		return;
	}
	/* A backend looks at its connection between statements alone, unless it is told to look
	 * while one runs, so often since the statement began ("Connection Settings",
	 * client_connection_check_interval). */
	s->orphaned = true;
	if (every_ms)
		world_after(w,
			every_ms - (simpg_now_us(w, s->server) - s->state_us) / 1000 % every_ms,
			orphan_ends, s->server, s->handle, 0);
}

/* ---- from outside ---- */

void simpg_notify(struct world *w, struct simpg_server *s, uint32_t database, const char *channel,
	int64_t pid, int64_t start_us)
{
	struct simpg_session *one;

	for (one = simpg_each(s, NULL); one; one = simpg_each(s, one))
		if (one->database == database && one->process && *one->channel &&
			strcmp(one->channel, channel) == 0 && one->listener)
			net_notify(w, s->process->machine, one->process, one->listener,
				one->listener_who, pid, start_us);
}

bool simpg_rollback_prepared(struct world *w, struct simpg_server *s, const char *gid)
{
	struct simpg_prepared **at, *p;

	for (at = &s->prepared; (p = *at) != NULL; at = &p->next)
		if (strcmp(p->gid, gid) == 0)
			break;
	if (!p)
		return false;
	*at = p->next;
	simpg_give_prepared(w, s, p);
	free(p);
	simpg_changed(s);
	return true;
}
