#include "config.h"

#include "sim/postgres-client.h"

#include <stdio.h>
#include <string.h>

enum {
	TIMEOUT_MS = 5000,
	FIN_MS = 1
};

const char *simpg_error_word(int error)
{
	switch (error) {
	case SIMPG_OK:
		return "done";
	case SIMPG_LOST:
		return "the connection is closed";
	case SIMPG_TERMINATED:
		return "terminated by the administrator (57P01)";
	case SIMPG_CANCELED:
		return "canceled (57014)";
	case SIMPG_DEADLOCKED:
		return "deadlock detected (40P01)";
	case SIMPG_LOCK_TIMEOUT:
		return "lock timeout (55P03)";
	case SIMPG_FULL:
		return "too many clients (53300)";
	case SIMPG_READ_ONLY:
		return "a standby: it takes no writes";
	case SIMPG_NO_DATABASE:
		return "no such database (3D000)";
	case SIMPG_ABORTED_BLOCK:
		return "the transaction is aborted (25P02)";
	case SIMPG_NOT_PREPARED:
		return "it can't be prepared (55000)";
	case SIMPG_NOBODY:
		return "refused: nobody listens there";
	default:
		return "no answer in time";
	}
}

/* ---- the end of a connection ---- */

struct fin {
	struct simpg_server *server;
	struct simpg_pooler *through;
	struct process *process;
};

static void fin_arrives(struct world *w, void *who, int64_t handle, int64_t b)
{
	struct fin *fin = who;
	struct machine *to = fin->through ? fin->through->machine : fin->server->process->machine;
	struct simpg_session *s = simpg_handle(fin->server, handle);
	bool told = net_reaches(w, fin->process->machine, to) && !(s && s->half_open);

	(void)b;
	if (fin->through && told)
		simpg_pooler_client_gone(w, fin->through, fin->process);
	else if (!fin->through && s)
		simpg_client_gone(w, s, told);
	world_put(w, fin, sizeof(*fin));
}

static struct simpg_server *server_of(const struct simpg_client *c)
{
	return c->through ? c->through->server : c->servers[c->at];
}

void simpg_client_close(struct world *w, struct simpg_client *c)
{
	struct fin *fin;

	if (!c->connected)
		return;
	c->connected = false;
	fin = world_get(w, sizeof(*fin));
	*fin = (struct fin){ server_of(c), c->through, c->process };
	world_after(w, FIN_MS, fin_arrives, fin, c->handle, 0);
}

void simpg_client_ended(struct world *w, struct simpg_client *c, enum process_end how)
{
	struct simpg_session *s;

	c->asking = false;
	if (how != PROCESS_END_VANISHED) {
		simpg_client_close(w, c);
		return;
	}
	s = c->connected && !c->through ? simpg_handle(server_of(c), c->handle) : NULL;
	if (s)
		simpg_client_gone(w, s, false);
	c->connected = false;
}

/* ---- requests ---- */

static void send(struct world *w, struct simpg_client *c, struct net_call *call);

static int error_of(const struct net_call *call)
{
	switch (call->code) {
	case NET_OK:
		return SIMPG_OK;
	case NET_TIMEOUT:
		return SIMPG_NO_ANSWER;
	case NET_REFUSED:
		return SIMPG_NOBODY;
	case NET_FAILED:
		break;
	}
	return (int)call->value;
}

static void connected(struct world *w, struct simpg_client *c, const struct net_call *call)
{
	int error = error_of(call);

	c->asking = false;
	if (!error) {
		c->connected = true;
		c->handle = call->value;
		c->pid = (int)call->value2;
	} else if (!c->through && c->at + 1 < c->n_servers) {
		c->at++;
		send(w, c, &(struct net_call){ .op = SIMPG_CONNECT });
		return;
	} else {
		c->at = 0;
	}
	c->done(w, c, SIMPG_CONNECT, error, 0);
}

static void answered(struct world *w, struct process *p, const struct net_call *call)
{
	struct simpg_client *c = call->who;
	int error = error_of(call);

	(void)p;
	if (call->op == SIMPG_CONNECT) {
		connected(w, c, call);
		return;
	}
	c->asking = false;
	if (error == SIMPG_LOST || error == SIMPG_TERMINATED || error == SIMPG_NOBODY)
		c->connected = false;
	if (error == SIMPG_NO_ANSWER)
		simpg_client_close(w, c);
	c->done(w, c, (enum simpg_op)call->op, error, call->value);
}

static void send(struct world *w, struct simpg_client *c, struct net_call *call)
{
	call->from = c->process;
	call->who = c;
	call->reply = answered;
	call->a = c->handle;
	if (c->through) {
		call->to = c->through->machine;
		call->server = &c->through->thing;
		call->serve = simpg_serve_pooler;
	} else {
		call->to = c->servers[c->at]->process->machine;
		call->server = &c->servers[c->at]->thing;
		call->serve = simpg_serve;
	}
	if (!call->timeout_ms)
		call->timeout_ms = c->timeout_ms ? c->timeout_ms : TIMEOUT_MS;
	c->asking = true;
	net_call(w, call);
}

void simpg_client_connect(struct world *w, struct simpg_client *c)
{
	c->at = 0;
	send(w, c, &(struct net_call){ .op = SIMPG_CONNECT });
}

void simpg_client_ask(struct world *w, struct simpg_client *c, enum simpg_op op, int64_t b,
	int64_t c_arg, const char *text, int64_t timeout_ms)
{
	struct net_call call = { .op = op, .b = b, .c = c_arg, .timeout_ms = timeout_ms };

	if (text)
		snprintf(call.text, sizeof(call.text), "%s", text);
	send(w, c, &call);
}
