#include "config.h"

#include "sim/etcd-client.h"
#include "base/mem.h"
#include "base/str.h"

#include <stdlib.h>

/*
 * A session: a lease that is granted, and renewed every third of its time (client/v3/lease.go:
 * recvKeepAliveLoop, deadlineLoop). It is over once etcd answers that there is no such lease, or
 * its time has passed since the last answer came.
 */

enum {
	RETRY_MS = 500,   /* retryConnWait */
	DEADLINE_MS = 500 /* deadlineLoop looks so often */
};

static struct sim_etcd_session *session_of(struct program *g)
{
	return (struct sim_etcd_session *)g;
}

static void open_session(struct world *w, struct sim_etcd_session *s);

static void ask(struct world *w, struct sim_etcd_session *s, int op, int64_t a, net_reply *reply)
{
	struct net_call call = { .from = s->g.process,
		.op = op,
		.a = a,
		.b = s->epoch,
		.who = s,
		.reply = reply,
		.timeout_ms = s->timeout_ms };

	sim_etcd_ask(w, s->etcd, s->member, &call);
}

void sim_etcd_session_move(struct world *w, struct sim_etcd_session *s)
{
	struct sim_etcd_candidate *c;

	if (s->etcd->n_members < 2)
		return;
	s->member = (s->member + 1) % (int)s->etcd->n_members;
	for (c = s->first; c; c = c->next)
		sim_etcd_session_moved(w, c);
}

static void open_again(struct world *w, struct process *p, void *who, int64_t a)
{
	struct sim_etcd_session *s = who;

	(void)p;
	if (s->epoch == (uint32_t)a && !s->lease)
		open_session(w, s);
}

/* Whether some application looks at its session's end, and makes another. */
static bool is_heeded(const struct sim_etcd_session *s)
{
	const struct sim_etcd_candidate *c;

	for (c = s->first; c; c = c->next)
		if (c->believes != SIM_ETCD_BELIEVES_FOREVER)
			return true;
	return false;
}

static void session_over(struct world *w, struct sim_etcd_session *s)
{
	struct sim_etcd_candidate *c;

	s->lease = 0;
	s->epoch++;
	for (c = s->first; c; c = c->next)
		sim_etcd_session_over(w, c);
	if (is_heeded(s))
		process_after(w, s->g.process, s->again_ms, open_again, s, s->epoch);
}

/* ---- renewing ---- */

static void renew(struct world *w, struct process *p, void *who, int64_t a);

static void renewed(struct world *w, struct process *p, const struct net_call *call)
{
	struct sim_etcd_session *s = call->who;

	if (call->b != s->epoch || !s->lease)
		return;
	if (call->code != NET_OK) {
		sim_etcd_session_move(w, s);
		process_after(w, p, RETRY_MS, renew, s, s->epoch);
		return;
	}
	if (call->value <= 0) {
		session_over(w, s);
		return;
	}
	s->heard_ms = process_clock_ms(w, p);
	s->deadline_ms = s->heard_ms + call->value * 1000;
	process_after(w, p, s->every_ms, renew, s, s->epoch);
}

static void renew(struct world *w, struct process *p, void *who, int64_t a)
{
	struct sim_etcd_session *s = who;

	(void)p;
	if (s->epoch == (uint32_t)a && s->lease)
		ask(w, s, SIM_ETCD_OP_KEEPALIVE, s->lease, renewed);
}

/* Looks when the time that was known last is over; by then it is longer, mostly. */
static void look_deadline(struct world *w, struct process *p, void *who, int64_t a)
{
	struct sim_etcd_session *s = who;
	int64_t left_ms = s->deadline_ms - process_clock_ms(w, p);

	if (s->epoch != (uint32_t)a || !s->lease)
		return;
	if (left_ms <= 0)
		session_over(w, s);
	else
		process_after(w, p, (left_ms + DEADLINE_MS - 1) / DEADLINE_MS * DEADLINE_MS,
			look_deadline, s, a);
}

/* ---- beginning ---- */

static void opened(struct world *w, struct process *p, const struct net_call *call)
{
	struct sim_etcd_session *s = call->who;
	struct sim_etcd_candidate *c;

	if (call->b != s->epoch || s->lease)
		return;
	if (call->code != NET_OK) {
		if (call->code != NET_FAILED || call->value == SIM_ETCD_NO_LEADER)
			sim_etcd_session_move(w, s);
		process_after(w, p, s->again_ms, open_again, s, s->epoch);
		return;
	}
	s->lease = call->value;
	s->heard_ms = process_clock_ms(w, p);
	s->deadline_ms = s->heard_ms + call->value2 * 1000;
	process_after(w, p, s->every_ms, renew, s, s->epoch);
	process_after(w, p, call->value2 * 1000, look_deadline, s, s->epoch);
	for (c = s->first; c; c = c->next)
		sim_etcd_session_opened(w, c);
}

static void open_session(struct world *w, struct sim_etcd_session *s)
{
	s->epoch++;
	ask(w, s, SIM_ETCD_OP_GRANT, s->ttl_s, opened);
}

static void session_start(struct world *w, struct program *g)
{
	struct sim_etcd_session *s = session_of(g);

	s->lease = 0;
	s->member = s->home;
	open_session(w, s);
}

/* One that is stuck in its work does not come to its end by itself, and is killed in the end. */
static bool is_stuck(const struct sim_etcd_session *s)
{
	const struct sim_etcd_candidate *c;

	for (c = s->first; c; c = c->next)
		if (c->through >= 0 && c->stage == SIM_ETCD_LEADS && !c->works)
			return true;
	return false;
}

/* Session.Close revokes the lease; one that is killed leaves it to its time. */
static void session_ended(struct world *w, struct program *g, enum process_end how)
{
	struct sim_etcd_session *s = session_of(g);

	if (how == PROCESS_END_STOPPED && s->lease && !is_stuck(s))
		ask(w, s, SIM_ETCD_OP_REVOKE, s->lease, NULL);
	s->lease = 0;
	s->epoch++;
}

static void session_free(struct program *g)
{
	free(session_of(g)->name);
	free(g);
}

const struct program_ops sim_etcd_session_ops = {
	.word = "etcd-session",
	.start = session_start,
	.ended = session_ended,
	.free = session_free,
};
