#include "config.h"

#include "base/mem.h"
#include "sim/postgres.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What comes to a server over the network, and what it does then. */

enum {
	FLAG_BITS = 8,
	FLAG_MASK = 0xff
};

static bool fails(struct net_call *call, enum simpg_error error)
{
	call->code = NET_FAILED;
	call->value = error;
	return true;
}

static int flags_of(const struct net_call *call)
{
	return (int)(call->c & FLAG_MASK);
}

static enum simpg_mode mode_of(const struct net_call *call)
{
	return flags_of(call) & SIMPG_FLAG_SHARE ? SIMPG_SHARE : SIMPG_EXCLUSIVE;
}

static struct simpg_key key_of(const struct simpg_session *s, const struct net_call *call)
{
	struct simpg_key key = simpg_bigint(s->database, call->b);

	if (flags_of(call) & SIMPG_FLAG_PAIR)
		key.objsubid = 2;
	return key;
}

/* The statement as a client would write it. */
static void lock_query(
	char buf[SIMPG_QUERY_MAX], const struct simpg_session *s, const struct net_call *call)
{
	struct simpg_key key = key_of(s, call);
	char text[SIMPG_KEY_TEXT];
	bool pair = key.objsubid == 2;

	simpg_key_write(text, &key);
	snprintf(buf, SIMPG_QUERY_MAX, "SELECT pg_%sadvisory_%s%s%s%s%s%s",
		call->op == SIMPG_TRY ? "try_" : "",
		flags_of(call) & SIMPG_FLAG_TRANSACTION ? "xact_" : "",
		call->op == SIMPG_UNLOCK ? "unlock" : "lock",
		mode_of(call) == SIMPG_SHARE ? "_shared" : "", pair ? "" : "(", text,
		pair ? "" : ")");
}

/* ---- locks ---- */

static void lock_timeout_due(struct world *w, struct process *p, void *who, int64_t statement)
{
	struct simpg_session *s = simpg_statement(who, statement);

	(void)p;
	if (s && s->waits)
		simpg_fail(w, s, SIMPG_LOCK_TIMEOUT);
}

static bool serve_lock(struct world *w, struct simpg_session *s, struct net_call *call)
{
	enum simpg_level level =
		flags_of(call) & SIMPG_FLAG_TRANSACTION ? SIMPG_TRANSACTION : SIMPG_SESSION;
	struct simpg_key key = key_of(s, call);
	int64_t timeout_ms = call->c >> FLAG_BITS;
	enum simpg_got got = simpg_take(w, s, &key, mode_of(call), level, call->op == SIMPG_LOCK);

	if (got == SIMPG_DEADLOCK)
		simpg_statement_end(w, s, SIMPG_DEADLOCKED, 0);
	else if (got != SIMPG_QUEUED)
		simpg_statement_end(w, s, SIMPG_OK, got == SIMPG_GOT);
	if (got != SIMPG_QUEUED)
		return false;
	simpg_waits(w, s);
	if (timeout_ms > 0)
		process_after(w, s->server->process, timeout_ms, lock_timeout_due, s->server,
			s->statement);
	return false;
}

static bool serve_unlock(struct world *w, struct simpg_session *s, struct net_call *call)
{
	struct simpg_key key = key_of(s, call);
	bool had = simpg_give(w, s, &key, mode_of(call));

	if (!had) {
		char name[SIMPG_NAME_MAX * 3];

		world_tell(w, HAPPENING_NOTE, call->from->thing.name,
			simpg_lock_name(s->server, &key, name, sizeof(name)), 0,
			"%s unlocks %s in the session of pid %d, which does not hold it: the "
			"server answers false",
			call->from->thing.name, name, s->pid);
	}
	simpg_statement_end(w, s, SIMPG_OK, had);
	return false;
}

/* ---- transactions ---- */

static bool serve_begin(struct world *w, struct simpg_session *s)
{
	s->block = true;
	simpg_statement_end(w, s, SIMPG_OK, 1);
	return false;
}

static bool serve_commit(struct world *w, struct simpg_session *s)
{
	s->block = false;
	simpg_statement_end(w, s, SIMPG_OK, 1);
	return false;
}

static bool serve_prepare(struct world *w, struct simpg_session *s, struct net_call *call)
{
	struct simpg_prepared *p = xcalloc(1, sizeof(*p)), **at;

	p->owner.prepared = true;
	if (!s->block || !simpg_move_holds(s, p)) {
		/* backend/access/transam/xact.c: a failed PREPARE rolls back */
		free(p);
		s->block = false;
		simpg_statement_end(w, s, SIMPG_NOT_PREPARED, 0);
		return false;
	}
	snprintf(p->gid, sizeof(p->gid), "%s", call->text);
	snprintf(p->user, sizeof(p->user), "%s", s->user);
	p->database = s->database;
	p->xid = s->server->next_xid++;
	p->prepared_us = simpg_now_us(w, s->server);
	p->committed_ms = world_now_ms(w);
	for (at = &s->server->prepared; *at; at = &(*at)->next)
		;
	*at = p;
	s->block = false;
	simpg_statement_end(w, s, SIMPG_OK, 1);
	return false;
}

/* ---- anything else ---- */

static void run_due(struct world *w, struct process *p, void *who, int64_t statement)
{
	struct simpg_session *s = simpg_statement(who, statement);

	(void)p;
	if (s)
		simpg_run_over(w, s, s->waits_for_older);
}

static bool serve_run(struct world *w, struct simpg_session *s, struct net_call *call)
{
	s->concurrently = flags_of(call) & SIMPG_FLAG_CONCURRENTLY;
	s->waits_for_older = flags_of(call) & SIMPG_FLAG_OLDER;
	s->wrote = s->wrote || flags_of(call) & SIMPG_FLAG_WRITES;
	if (call->b > 0)
		process_after(w, s->server->process, call->b, run_due, s->server, s->statement);
	else
		simpg_statement_end(w, s, SIMPG_OK, 1);
	return false;
}

static bool serve_listen(struct world *w, struct simpg_session *s, struct net_call *call)
{
	snprintf(s->channel, sizeof(s->channel), "%.*s", SIMPG_NAME_MAX - 1, call->text);
	s->listener_who = call->who;
	s->listener = ((const struct simpg_login *)call->who)->listener;
	simpg_statement_end(w, s, SIMPG_OK, 1);
	return false;
}

static bool serve_op(struct world *w, struct simpg_session *s, struct net_call *call)
{
	switch ((enum simpg_op)call->op) {
	case SIMPG_LOCK:
	case SIMPG_TRY:
		return serve_lock(w, s, call);
	case SIMPG_UNLOCK:
		return serve_unlock(w, s, call);
	case SIMPG_BEGIN:
		return serve_begin(w, s);
	case SIMPG_COMMIT:
		return serve_commit(w, s);
	case SIMPG_PREPARE:
		return serve_prepare(w, s, call);
	case SIMPG_LISTEN:
		return serve_listen(w, s, call);
	case SIMPG_RUN:
		return serve_run(w, s, call);
	case SIMPG_CONNECT:
	case SIMPG_CLOSE:
		break;
	}
	simpg_statement_end(w, s, SIMPG_OK, 0);
	return false;
}

static const char *op_query(
	const struct simpg_session *s, const struct net_call *call, char buf[SIMPG_QUERY_MAX])
{
	switch ((enum simpg_op)call->op) {
	case SIMPG_LOCK:
	case SIMPG_TRY:
	case SIMPG_UNLOCK:
		lock_query(buf, s, call);
		return buf;
	case SIMPG_BEGIN:
		return "BEGIN";
	case SIMPG_COMMIT:
		return "COMMIT";
	case SIMPG_PREPARE:
		snprintf(buf, SIMPG_QUERY_MAX, "PREPARE TRANSACTION '%s'", call->text);
		return buf;
	case SIMPG_LISTEN:
		snprintf(buf, SIMPG_QUERY_MAX, "LISTEN %s", call->text);
		return buf;
	case SIMPG_CONNECT:
	case SIMPG_CLOSE:
	case SIMPG_RUN:
		break;
	}
	return call->text;
}

bool simpg_execute(struct world *w, struct simpg_session *s, struct net_call *call)
{
	char buf[SIMPG_QUERY_MAX];

	s->heard_ms = world_now_ms(w);
	if (s->state == SIMPG_ACTIVE) /* one statement at a time */
		return fails(call, SIMPG_LOST);
	if (s->state == SIMPG_ABORTED && call->op != SIMPG_COMMIT)
		return fails(call, SIMPG_ABORTED_BLOCK);
	simpg_statement_begin(w, s, call, op_query(s, call, buf));
	return serve_op(w, s, call);
}

/* ---- connections ---- */

static bool serve_connect(struct world *w, struct simpg_server *s, struct net_call *call)
{
	const struct simpg_login *login = call->who;
	char address[48];
	struct simpg_session *one;
	uint32_t database = 0;
	size_t i;

	for (i = 0; i < s->n_databases; i++)
		if (strcmp(s->databases[i].name, login->database) == 0)
			database = s->databases[i].oid;
	if (!database)
		return fails(call, SIMPG_NO_DATABASE);
	if (s->in_recovery && !login->any)
		return fails(call, SIMPG_READ_ONLY);
	simpg_address(w, call->from->machine, address);
	one = simpg_open_session(w, s, login->user, database, login->application, address);
	if (!one)
		return fails(call, SIMPG_FULL);
	one->process = call->from;
	one->life = call->life;
	simpg_watch_client(w, one);
	call->value = one->handle;
	call->value2 = one->pid;
	return true;
}

/* ---- calls that wait ---- */

static void waiting_remove(struct simpg_waiting *list, size_t i)
{
	list->n--;
	memmove(&list->calls[i], &list->calls[i + 1], (list->n - i) * sizeof(struct net_call *));
	memmove(&list->numbers[i], &list->numbers[i + 1], (list->n - i) * sizeof(int64_t));
}

static void waiting_due(struct world *w, void *who, int64_t number, int64_t b)
{
	struct simpg_waiting *list = who;
	size_t i;

	(void)b;
	for (i = 0; i < list->n; i++)
		if (list->numbers[i] == number) {
			struct net_call *call = list->calls[i];

			waiting_remove(list, i);
			net_drop(w, call);
			return;
		}
}

bool simpg_waiting_add(struct world *w, struct simpg_waiting *list, struct net_call *call)
{
	size_t n = list->n;

	MEM_GROW(list->calls, n, list->cap);
	MEM_GROW(list->numbers, n, list->cap_numbers);
	list->calls[n] = call;
	list->numbers[n] = ++list->last;
	list->n++;
	world_at(w, call->sent_ms + call->timeout_ms, waiting_due, list, list->last, 0);
	return false;
}

struct net_call *simpg_waiting_take(struct simpg_waiting *list)
{
	struct net_call *call = list->n ? list->calls[0] : NULL;

	if (call)
		waiting_remove(list, 0);
	return call;
}

void simpg_waiting_release(struct simpg_waiting *list)
{
	free(list->calls);
	free(list->numbers);
}

/* ---- a call comes ---- */

bool simpg_serve(struct world *w, struct net_call *call)
{
	struct simpg_server *s = (struct simpg_server *)call->server;
	struct simpg_session *one;

	if (!process_lives(s->process)) {
		call->code = NET_REFUSED;
		return true;
	}
	if (!simpg_answers(s))
		return simpg_waiting_add(w, &s->stalled, call);
	if (call->op == SIMPG_CONNECT)
		return serve_connect(w, s, call);
	one = simpg_handle(s, call->a);
	if (!one)
		return fails(call, SIMPG_LOST);
	if (one->half_open) {
		net_drop(w, call);
		return false;
	}
	if (call->op != SIMPG_CLOSE)
		return simpg_execute(w, one, call);
	simpg_client_gone(w, one, true);
	return true;
}
