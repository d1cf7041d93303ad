#include "config.h"

#include "sim/zookeeper.h"
#include "base/mem.h"
#include "base/str.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * A candidate by the recipe "Leader Election": it makes an ephemeral sequential znode, leads when
 * none has a lower number, and else watches the one before its own. Its connection is as the Java
 * client's (ClientCnxn): it pings when a third of the timeout was quiet, and takes the server for
 * gone after two thirds.
 */
enum {
	RETRY_MS = 1000, /* a client waits up to a second before it tries the next server */
	RECHECK_MS = 60000,
	PERCENT = 10
};

static struct sim_zk_candidate *candidate_of(struct program *g)
{
	return (struct sim_zk_candidate *)g;
}

static void connect_again(struct world *w, struct process *p, void *who, int64_t a);
static void join(struct world *w, struct sim_zk_candidate *c);
static void look_before(struct world *w, struct sim_zk_candidate *c);

static void ask(
	struct world *w, struct sim_zk_candidate *c, int op, int64_t a, int64_t b, net_reply *reply)
{
	struct net_call call = { .from = c->g.process,
		.op = op,
		.a = a,
		.b = b,
		.who = c,
		.reply = reply,
		.timeout_ms = c->timeout_ms / 3 };

	snprintf(call.text, sizeof(call.text), "%s", c->path);
	if (op == SIM_ZK_CREATE)
		snprintf(call.text, sizeof(call.text), "%s\n%s", c->path, c->data);
	sim_zk_ask(w, c->zk, c->server, &call);
}

/* ---- at work or not ---- */

static void yield(struct world *w, struct sim_zk_candidate *c)
{
	bool led = c->stage == SIM_ZK_LEADS;

	c->turn++;
	c->stage = SIM_ZK_IDLE;
	c->awaited = -1;
	if (led && c->duty)
		duty_end(w, c->duty, c->g.process);
}

static void gives_up(struct world *w, struct process *p, void *who, int64_t a);

static void leads(struct world *w, struct sim_zk_candidate *c)
{
	c->turn++;
	c->stage = SIM_ZK_LEADS;
	c->awaited = -1;
	if (c->duty)
		duty_begin(w, c->duty, c->g.process, c->czxid);
	if (c->holds_ms)
		process_after(w, c->g.process,
			sim_random_vary(world_random(w), c->holds_ms, PERCENT), gives_up, c,
			c->turn);
}

static void join_later(struct world *w, struct process *p, void *who, int64_t a)
{
	struct sim_zk_candidate *c = who;

	(void)p;
	if (c->turn == (uint32_t)a && c->connected)
		join(w, c);
}

static void gives_up(struct world *w, struct process *p, void *who, int64_t a)
{
	struct sim_zk_candidate *c = who;

	if (c->turn != (uint32_t)a)
		return;
	ask(w, c, SIM_ZK_DELETE, c->sequence, 0, NULL);
	yield(w, c);
	process_after(w, p, sim_random_vary(world_random(w), c->rests_ms, PERCENT), join_later, c,
		c->turn);
}

/* ---- its connection ---- */

/* The server is not heard: whether the session lives is not known. */
static void disconnected(struct world *w, struct sim_zk_candidate *c)
{
	struct process *p = c->g.process;

	if (!c->connected)
		return;
	c->connected = false;
	c->link++;
	if (c->stage == SIM_ZK_LEADS && c->believes == SIM_ZK_BELIEVES_CONNECTED) {
		yield(w, c);
		c->stage = SIM_ZK_WAITING; /* its znode may be there still */
	} else if (c->stage == SIM_ZK_WAITING || c->stage == SIM_ZK_JOINING) {
		c->turn++;
		c->awaited = -1;
	}
	c->server = (c->server + 1) % (int)c->zk->n_servers;
	connect_again(w, p, c, c->link);
}

/* It was told so by a server. */
static void session_expired(struct world *w, struct sim_zk_candidate *c)
{
	c->connected = false;
	c->link++;
	c->session = 0;
	if (c->believes == SIM_ZK_BELIEVES_FOREVER)
		return;
	yield(w, c);
	process_after(w, c->g.process, c->again_ms, connect_again, c, c->link);
}

static void ping(struct world *w, struct process *p, void *who, int64_t a);

static void heard(struct world *w, struct sim_zk_candidate *c)
{
	c->heard_ms = process_clock_ms(w, c->g.process);
	process_after(w, c->g.process, c->timeout_ms / 3, ping, c, c->link);
}

static void pinged(struct world *w, struct process *p, const struct net_call *call)
{
	struct sim_zk_candidate *c = call->who;

	(void)p;
	if (call->b != c->link)
		return;
	if (call->code == NET_OK)
		heard(w, c);
	else if (call->code == NET_FAILED)
		session_expired(w, c);
	else
		disconnected(w, c);
}

static void ping(struct world *w, struct process *p, void *who, int64_t a)
{
	struct sim_zk_candidate *c = who;

	if (c->link != (uint32_t)a || !c->connected)
		return;
	/* After a long pause it finds that it has heard nothing for too long. */
	if (process_clock_ms(w, p) - c->heard_ms > c->timeout_ms * 2 / 3)
		disconnected(w, c);
	else
		ask(w, c, SIM_ZK_PING, c->session, c->link, pinged);
}

/* The careful one does not wait until it is told. */
static void look_clock(struct world *w, struct process *p, void *who, int64_t a)
{
	struct sim_zk_candidate *c = who;
	int64_t left_ms = c->heard_ms + c->timeout_ms - process_clock_ms(w, p);

	if (c->turn != (uint32_t)a || c->stage != SIM_ZK_LEADS)
		return;
	if (left_ms > 0) {
		process_after(w, p, left_ms, look_clock, c, a);
		return;
	}
	yield(w, c);
	c->stage = SIM_ZK_WAITING;
}

static void connected(struct world *w, struct process *p, const struct net_call *call)
{
	struct sim_zk_candidate *c = call->who;
	bool same = c->session != 0;

	if (c->connected)
		return;
	if (call->code == NET_FAILED) {
		session_expired(w, c);
		return;
	}
	if (call->code != NET_OK) {
		c->server = (c->server + 1) % (int)c->zk->n_servers;
		process_after(w, p, RETRY_MS, connect_again, c, c->link);
		return;
	}
	c->connected = true;
	c->link++;
	c->session = call->value;
	c->timeout_ms = call->value2;
	heard(w, c);
	/* Its watches are set again, and its place is looked at. */
	if (same && c->stage == SIM_ZK_WAITING)
		look_before(w, c);
	else if (c->stage == SIM_ZK_IDLE || c->stage == SIM_ZK_JOINING)
		join(w, c);
}

static void connect_again(struct world *w, struct process *p, void *who, int64_t a)
{
	struct sim_zk_candidate *c = who;

	(void)p;
	if (c->link == (uint32_t)a && !c->connected)
		ask(w, c, SIM_ZK_CONNECT, c->asked_ms, c->session, connected);
}

/* ---- its place in the queue ---- */

static bool is_answer(struct world *w, struct sim_zk_candidate *c, const struct net_call *call)
{
	if (!c->connected || call->b != c->turn)
		return false;
	if (call->code == NET_OK)
		return true;
	if (call->code == NET_FAILED)
		session_expired(w, c);
	else
		disconnected(w, c);
	return false;
}

static void look_again(struct world *w, struct process *p, void *who, int64_t a)
{
	struct sim_zk_candidate *c = who;

	(void)p;
	if (c->turn == (uint32_t)a && c->connected)
		look_before(w, c);
}

static void watching(struct world *w, struct process *p, const struct net_call *call)
{
	struct sim_zk_candidate *c = call->who;

	if (!is_answer(w, c, call))
		return;
	if (call->value)
		process_after(w, p, RECHECK_MS, look_again, c, c->turn);
	else
		look_before(w, c);
}

static void looked_before(struct world *w, struct process *p, const struct net_call *call)
{
	struct sim_zk_candidate *c = call->who;

	if (!is_answer(w, c, call))
		return;
	/* Its own is gone: somebody deleted it. It gets in line again. */
	if (!call->value2) {
		join(w, c);
	} else if (call->value < 0) {
		leads(w, c);
		if (c->believes == SIM_ZK_BELIEVES_LOCAL)
			look_clock(w, p, c, c->turn);
	} else if (c->awaited == call->value) {
		process_after(w, p, RECHECK_MS, look_again, c, c->turn);
	} else {
		c->awaited = call->value;
		ask(w, c, SIM_ZK_WATCH, call->value, c->turn, watching);
	}
}

static void look_before(struct world *w, struct sim_zk_candidate *c)
{
	c->turn++;
	c->stage = SIM_ZK_WAITING;
	ask(w, c, SIM_ZK_BEFORE, c->sequence, c->turn, looked_before);
}

void sim_zk_told(struct world *w, struct process *p, void *who, int64_t a, int64_t b)
{
	struct sim_zk_candidate *c = who;

	(void)p;
	if (c->stage != SIM_ZK_WAITING || c->awaited != a || !c->connected || c->server != b)
		return;
	c->awaited = -1;
	look_before(w, c);
}

static void joined(struct world *w, struct process *p, const struct net_call *call)
{
	struct sim_zk_candidate *c = call->who;

	(void)p;
	if (!is_answer(w, c, call))
		return;
	c->czxid = call->value;
	c->sequence = call->value2;
	look_before(w, c);
}

static void join(struct world *w, struct sim_zk_candidate *c)
{
	c->turn++;
	c->stage = SIM_ZK_JOINING;
	ask(w, c, SIM_ZK_CREATE, c->session, c->turn, joined);
}

/* ---- the program ---- */

static void candidate_start(struct world *w, struct program *g)
{
	struct sim_zk_candidate *c = candidate_of(g);

	c->server = c->home;
	c->connected = false;
	c->session = 0;
	c->timeout_ms = c->asked_ms;
	c->stage = SIM_ZK_IDLE;
	c->awaited = -1;
	c->turn++;
	c->link++;
	connect_again(w, g->process, c, c->link);
}

static void candidate_ended(struct world *w, struct program *g, enum process_end how)
{
	struct sim_zk_candidate *c = candidate_of(g);

	if (how == PROCESS_END_STOPPED && c->connected)
		ask(w, c, SIM_ZK_CLOSE, c->session, 0, NULL);
	c->connected = false;
	c->session = 0;
	c->stage = SIM_ZK_IDLE;
	c->turn++;
	c->link++;
}

static void candidate_resumed(struct world *w, struct program *g)
{
	struct sim_zk_candidate *c = candidate_of(g);

	if (c->connected && process_clock_ms(w, g->process) - c->heard_ms > c->timeout_ms * 2 / 3)
		disconnected(w, c);
	if (c->believes == SIM_ZK_BELIEVES_LOCAL && c->stage == SIM_ZK_LEADS)
		look_clock(w, g->process, c, c->turn);
}

static void candidate_asked(const struct world *w, const struct program *g, char *buf, size_t size)
{
	const struct sim_zk_candidate *c = (const struct sim_zk_candidate *)g;
	int64_t ago_s = (process_clock_ms(w, g->process) - c->heard_ms) / 1000;

	if (c->stage == SIM_ZK_LEADS)
		snprintf(buf, size,
			"I lead %s with czxid %" PRId64 "; I last heard a server %" PRId64 " s ago",
			c->path, c->czxid, ago_s);
	else if (c->stage == SIM_ZK_WAITING)
		snprintf(buf, size, "I stand by for %s%s", c->path,
			c->connected ? "" : ", and reach no server");
	else
		snprintf(buf, size, "I have no part in %s now", c->path);
}

static void candidate_free(struct program *g)
{
	struct sim_zk_candidate *c = candidate_of(g);

	free(c->path);
	free(c->data);
	free(c);
}

const struct program_ops sim_zk_election_ops = {
	.word = "zk-election",
	.start = candidate_start,
	.ended = candidate_ended,
	.resumed = candidate_resumed,
	.asked = candidate_asked,
	.free = candidate_free,
};

struct sim_zk_candidate *sim_zk_candidate_new(
	struct process *p, const struct sim_zk_campaign *campaign)
{
	struct sim_zk_candidate *c = xcalloc(1, sizeof(*c));

	c->zk = campaign->zk;
	c->path = xstrdup(campaign->path);
	c->data = xstrdup(campaign->data ? campaign->data : p->identity);
	c->believes = campaign->believes;
	c->duty = campaign->duty;
	c->asked_ms = campaign->timeout_ms;
	c->again_ms = campaign->again_ms;
	c->holds_ms = campaign->holds_ms;
	c->rests_ms = campaign->rests_ms;
	c->home = campaign->server;
	sim_zk_parent(campaign->zk, campaign->path);
	process_program(p, &c->g, &sim_zk_election_ops);
	return c;
}
