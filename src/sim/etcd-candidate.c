#include "config.h"

#include "sim/etcd-client.h"
#include "base/mem.h"
#include "base/str.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Candidates of an election, a lock or a single key. As in concurrency.Election, one writes its key
 * and waits until the keys before it are gone, the last of them first (key.go, waitDeletes);
 * whether its own key is still there by then, an election does not ask.
 */

enum {
	RETRY_MS = 1000,
	RECHECK_MS = 30000, /* who waits asks so often whether what it waits for is there still */
	THROUGH_MS = 1000,
	LEASE_HEX_MAX = 17,
	PERCENT = 10
};

static struct sim_etcd_candidate *candidate_of(struct program *g)
{
	return (struct sim_etcd_candidate *)g;
}

static bool in_queue(const struct sim_etcd_candidate *c)
{
	return c->claim == SIM_ETCD_ELECTION || c->claim == SIM_ETCD_LOCK;
}

/* ---- asking ---- */

static void key_text(const struct sim_etcd_candidate *c, char *buf, size_t size)
{
	if (in_queue(c))
		snprintf(buf, size, "%s/%" PRIx64, c->name, (uint64_t)c->lease);
	else
		snprintf(buf, size, "%s", c->name);
}

static struct net_call question(struct sim_etcd_candidate *c, int op, int64_t a, net_reply *reply)
{
	return (struct net_call){ .from = c->g.process,
		.op = op,
		.a = a,
		.b = c->turn,
		.who = c,
		.reply = reply,
		.timeout_ms = c->session->timeout_ms };
}

/* About its own key. */
static void ask_key(
	struct world *w, struct sim_etcd_candidate *c, int op, int64_t a, net_reply *reply)
{
	struct net_call call = question(c, op, a, reply);

	key_text(c, call.text, sizeof(call.text));
	sim_etcd_ask(w, c->session->etcd, c->session->member, &call);
}

/* About those before it. */
static void ask_queue(
	struct world *w, struct sim_etcd_candidate *c, int op, int64_t a, net_reply *reply)
{
	struct net_call call = question(c, op, a, reply);

	snprintf(call.text, sizeof(call.text), "%s/", c->name);
	sim_etcd_ask(w, c->session->etcd, c->session->member, &call);
}

/* An answer to the step that it is at. */
static bool is_answer(const struct sim_etcd_candidate *c, const struct net_call *call)
{
	return call->b == c->turn;
}

static void join(struct world *w, struct sim_etcd_candidate *c);
static void look_before(struct world *w, struct sim_etcd_candidate *c);

/* ---- at work or not ---- */

static void work(struct world *w, struct sim_etcd_candidate *c, bool works)
{
	if (c->works == works)
		return;
	c->works = works;
	if (!c->duty)
		return;
	if (works)
		duty_begin(w, c->duty, c->g.process, c->token);
	else
		duty_end(w, c->duty, c->g.process);
}

static void yield(struct world *w, struct sim_etcd_candidate *c)
{
	c->turn++;
	c->stage = SIM_ETCD_IDLE;
	c->awaited = 0;
	work(w, c, false);
	c->token = 0;
}

static void join_later(struct world *w, struct process *p, void *who, int64_t a)
{
	struct sim_etcd_candidate *c = who;

	(void)p;
	if (c->turn == (uint32_t)a && c->session->lease)
		join(w, c);
}

static void yield_and_return(struct world *w, struct sim_etcd_candidate *c, int64_t after_ms)
{
	yield(w, c);
	process_after(w, c->g.process, after_ms, join_later, c, c->turn);
}

/* ---- who leads ---- */

static void gives_up(struct world *w, struct process *p, void *who, int64_t a)
{
	struct sim_etcd_candidate *c = who;

	(void)p;
	if (c->turn != (uint32_t)a)
		return;
	ask_key(w, c, SIM_ETCD_OP_DELETE, c->token, NULL);
	yield_and_return(w, c, sim_random_vary(world_random(w), c->rests_ms, PERCENT));
}

static void look_own(struct world *w, struct process *p, void *who, int64_t a);

static void looked_own(struct world *w, struct process *p, const struct net_call *call)
{
	struct sim_etcd_candidate *c = call->who;

	if (!is_answer(c, call))
		return;
	if (call->code == NET_OK && call->value != c->token)
		yield_and_return(w, c, RETRY_MS);
	else
		process_after(w, p, c->looks_every_ms, look_own, c, c->turn);
}

static void look_own(struct world *w, struct process *p, void *who, int64_t a)
{
	struct sim_etcd_candidate *c = who;

	(void)p;
	if (c->turn == (uint32_t)a)
		ask_key(w, c, SIM_ETCD_OP_GET, 0, looked_own);
}

static void look_through(struct world *w, struct process *p, void *who, int64_t a);

static void looked_through(struct world *w, struct process *p, const struct net_call *call)
{
	struct sim_etcd_candidate *c = call->who;

	if (!is_answer(c, call))
		return;
	work(w, c, call->code == NET_OK);
	process_after(w, p, THROUGH_MS, look_through, c, c->turn);
}

static void look_through(struct world *w, struct process *p, void *who, int64_t a)
{
	struct sim_etcd_candidate *c = who;
	struct net_call call;

	(void)p;
	if (c->turn != (uint32_t)a)
		return;
	call = question(c, SIM_ETCD_OP_STATUS, 1, looked_through);
	call.timeout_ms = THROUGH_MS;
	sim_etcd_ask(w, c->session->etcd, c->through, &call);
}

static void leads(struct world *w, struct sim_etcd_candidate *c)
{
	struct process *p = c->g.process;

	c->turn++;
	c->stage = SIM_ETCD_LEADS;
	c->awaited = 0;
	work(w, c, true);
	if (c->watches)
		ask_key(w, c, SIM_ETCD_OP_WATCH, c->token, NULL);
	if (c->looks_every_ms)
		process_after(w, p, c->looks_every_ms, look_own, c, c->turn);
	if (c->through >= 0)
		process_after(w, p, THROUGH_MS, look_through, c, c->turn);
	if (c->holds_ms)
		process_after(w, p, sim_random_vary(world_random(w), c->holds_ms, PERCENT),
			gives_up, c, c->turn);
}

/* ---- who waits ---- */

static void try_again(struct world *w, struct process *p, void *who, int64_t a)
{
	struct sim_etcd_candidate *c = who;

	(void)p;
	if (c->turn != (uint32_t)a)
		return;
	if (in_queue(c))
		look_before(w, c);
	else
		join(w, c);
}

/* An answer that is none: another member, a moment later. Returns whether it was one. */
static bool is_fine(struct world *w, struct sim_etcd_candidate *c, const struct net_call *call,
	process_fn *again)
{
	if (call->code == NET_OK)
		return true;
	if (call->code != NET_FAILED || call->value == SIM_ETCD_NO_LEADER)
		sim_etcd_session_move(w, c->session);
	process_after(w, c->g.process, RETRY_MS, again, c, c->turn);
	return false;
}

static void watching(struct world *w, struct process *p, const struct net_call *call)
{
	struct sim_etcd_candidate *c = call->who;

	if (!is_answer(c, call) || !is_fine(w, c, call, try_again))
		return;
	if (!call->value)
		try_again(w, p, c, c->turn);
	else
		process_after(w, p, RECHECK_MS, try_again, c, c->turn);
}

static void wait_for(struct world *w, struct sim_etcd_candidate *c, int64_t create_revision)
{
	bool already = c->awaited == create_revision;

	c->awaited = create_revision;
	c->stage = SIM_ETCD_WAITING;
	if (already)
		process_after(w, c->g.process, RECHECK_MS, try_again, c, c->turn);
	else if (in_queue(c))
		ask_queue(w, c, SIM_ETCD_OP_WATCH, create_revision, watching);
	else
		ask_key(w, c, SIM_ETCD_OP_WATCH, create_revision, watching);
}

/* A mutex looks at last whether its own key is still there (mutex.go, Lock). */
static void looked_at_last(struct world *w, struct process *p, const struct net_call *call)
{
	struct sim_etcd_candidate *c = call->who;

	(void)p;
	if (!is_answer(c, call) || !is_fine(w, c, call, try_again))
		return;
	if (call->value == c->token)
		leads(w, c);
	else
		yield(w, c); /* ErrSessionExpired: the session's end brings it back */
}

static void looked_before(struct world *w, struct process *p, const struct net_call *call)
{
	struct sim_etcd_candidate *c = call->who;

	(void)p;
	if (!is_answer(c, call) || !is_fine(w, c, call, try_again))
		return;
	if (call->value)
		wait_for(w, c, call->value);
	else if (c->claim == SIM_ETCD_LOCK)
		ask_key(w, c, SIM_ETCD_OP_GET, 0, looked_at_last);
	else
		leads(w, c);
}

static void look_before(struct world *w, struct sim_etcd_candidate *c)
{
	c->turn++;
	ask_queue(w, c, SIM_ETCD_OP_LAST, c->token - 1, looked_before);
}

void sim_etcd_told(struct world *w, struct process *p, void *who, int64_t a, int64_t b)
{
	struct sim_etcd_candidate *c = who;

	(void)b;
	if (c->stage == SIM_ETCD_WAITING && c->awaited == a) {
		c->awaited = 0;
		try_again(w, p, c, c->turn);
	} else if (c->stage == SIM_ETCD_LEADS && c->watches && c->token == a) {
		yield_and_return(w, c, RETRY_MS);
	}
}

/* ---- joining ---- */

static void joined(struct world *w, struct process *p, const struct net_call *call)
{
	struct sim_etcd_candidate *c = call->who;

	(void)p;
	if (!is_answer(c, call))
		return;
	/* Its session will find out that it is over. */
	if (call->code == NET_FAILED && call->value == SIM_ETCD_NO_LEASE) {
		yield(w, c);
		return;
	}
	if (!is_fine(w, c, call, join_later))
		return;
	c->stage = SIM_ETCD_WAITING;
	if (c->claim == SIM_ETCD_NOTE) {
		c->stage = SIM_ETCD_NOTED;
	} else if (in_queue(c)) {
		c->token = call->value;
		look_before(w, c);
	} else if (call->value2) {
		c->token = call->value;
		leads(w, c);
	} else {
		wait_for(w, c, call->value);
	}
}

static void join(struct world *w, struct sim_etcd_candidate *c)
{
	int op = c->claim == SIM_ETCD_NOTE ? SIM_ETCD_OP_PUT : SIM_ETCD_OP_PUT_NEW;
	struct net_call call;
	size_t len;

	c->turn++;
	c->stage = SIM_ETCD_JOINING;
	c->lease = c->session->lease;
	call = question(c, op, c->lease, joined);
	key_text(c, call.text, sizeof(call.text));
	len = strlen(call.text);
	snprintf(call.text + len, sizeof(call.text) - len, "\n%s", c->value);
	sim_etcd_ask(w, c->session->etcd, c->session->member, &call);
}

/* ---- what its session tells ---- */

void sim_etcd_session_opened(struct world *w, struct sim_etcd_candidate *c)
{
	/* One that has not looked yet finds it when it does. */
	if (c->stage == SIM_ETCD_IDLE || c->stage == SIM_ETCD_JOINING || c->stage == SIM_ETCD_NOTED)
		join(w, c);
}

static void notices(struct world *w, struct process *p, void *who, int64_t a)
{
	struct sim_etcd_candidate *c = who;

	(void)p;
	if (c->turn != (uint32_t)a)
		return;
	yield(w, c);
	if (c->session->lease)
		join(w, c);
}

void sim_etcd_session_over(struct world *w, struct sim_etcd_candidate *c)
{
	struct process *p = c->g.process;
	int64_t left_ms = c->session->deadline_ms - process_clock_ms(w, p);
	int64_t wait_ms = c->checks_every_ms;

	if (c->believes == SIM_ETCD_BELIEVES_FOREVER)
		return;
	if (c->believes == SIM_ETCD_BELIEVES_LOCAL && left_ms > 0)
		wait_ms += left_ms;
	if (c->stage != SIM_ETCD_LEADS || !wait_ms) {
		yield(w, c);
		return;
	}
	/* Whatever else it would have looked for, it does not any more. */
	c->turn++;
	process_after(w, p, wait_ms, notices, c, c->turn);
}

void sim_etcd_session_moved(struct world *w, struct sim_etcd_candidate *c)
{
	if (c->stage != SIM_ETCD_WAITING || !c->awaited)
		return;
	c->awaited = 0;
	c->turn++;
	process_after(w, c->g.process, RETRY_MS, try_again, c, c->turn);
}

/* ---- the program ---- */

static void candidate_start(struct world *w, struct program *g)
{
	struct sim_etcd_candidate *c = candidate_of(g);

	(void)w;
	c->stage = SIM_ETCD_IDLE;
	c->turn++;
	c->token = c->awaited = c->lease = 0;
	c->works = false;
}

static void candidate_ended(struct world *w, struct program *g, enum process_end how)
{
	(void)how;
	candidate_start(w, g);
}

static void candidate_resumed(struct world *w, struct program *g)
{
	struct sim_etcd_candidate *c = candidate_of(g);

	/* The careful one looks at its own clock before it goes on. */
	if (c->believes == SIM_ETCD_BELIEVES_LOCAL && c->stage == SIM_ETCD_LEADS &&
		!c->checks_every_ms && process_clock_ms(w, g->process) >= c->session->deadline_ms)
		yield_and_return(w, c, RETRY_MS);
}

static void candidate_asked(const struct world *w, const struct program *g, char *buf, size_t size)
{
	const struct sim_etcd_candidate *c = (const struct sim_etcd_candidate *)g;
	int64_t ago_s = (process_clock_ms(w, g->process) - c->session->heard_ms) / 1000;

	switch (c->stage) {
	case SIM_ETCD_LEADS:
		snprintf(buf, size,
			"I have %s with token %" PRId64 "%s; etcd last answered a renewal %" PRId64
			" s ago",
			c->name, c->token,
			c->works ? " and work on it" : ", and can't work on it now", ago_s);
		break;
	case SIM_ETCD_WAITING:
		snprintf(buf, size, "I stand by for %s: I wait for who is before me", c->name);
		break;
	case SIM_ETCD_NOTED:
		snprintf(buf, size, "I keep %s", c->name);
		break;
	default:
		snprintf(buf, size, "I have no part in %s now", c->name);
	}
}

static void candidate_free(struct program *g)
{
	struct sim_etcd_candidate *c = candidate_of(g);

	free(c->name);
	free(c->value);
	free(c);
}

#define CANDIDATE_OPS(name)                                                                    \
	{                                                                                      \
		.word = (name), .start = candidate_start, .ended = candidate_ended,            \
		.resumed = candidate_resumed, .asked = candidate_asked, .free = candidate_free \
	}
const struct program_ops sim_etcd_election_ops = CANDIDATE_OPS("etcd-election");
const struct program_ops sim_etcd_lock_ops = CANDIDATE_OPS("etcd-lock");
const struct program_ops sim_etcd_key_ops = CANDIDATE_OPS("etcd-key");

bool sim_etcd_fits(const char *name, const char *value)
{
	return strlen(name) + 1 + LEASE_HEX_MAX + 1 + strlen(value) < NET_TEXT_MAX;
}

/* ---- making ---- */

static struct sim_etcd_session *session_of(
	struct process *p, const struct sim_etcd_campaign *campaign)
{
	const char *name = campaign->session ? campaign->session : "";
	struct sim_etcd_session *s;
	struct program *g;

	for (g = p->programs; g && *name; g = g->next) {
		s = (struct sim_etcd_session *)g;
		if (g->ops == &sim_etcd_session_ops && s->etcd == campaign->etcd &&
			str_eq(s->name, name))
			return s;
	}
	s = xcalloc(1, sizeof(*s));
	s->etcd = campaign->etcd;
	s->name = xstrdup(name);
	s->home = campaign->member;
	s->ttl_s = campaign->ttl_s;
	s->every_ms = campaign->every_ms ? campaign->every_ms : campaign->ttl_s * 1000 / 3;
	s->timeout_ms = campaign->timeout_ms;
	s->again_ms = campaign->again_ms;
	process_program(p, &s->g, &sim_etcd_session_ops);
	return s;
}

static const struct program_ops *ops_of(enum sim_etcd_claim claim)
{
	return claim == SIM_ETCD_ELECTION ? &sim_etcd_election_ops
	       : claim == SIM_ETCD_LOCK   ? &sim_etcd_lock_ops
					  : &sim_etcd_key_ops;
}

static void show(const struct sim_etcd_campaign *campaign)
{
	struct str prefix;

	if (campaign->claim == SIM_ETCD_NOTE)
		return;
	str_init(&prefix, NET_TEXT_MAX);
	str_add(&prefix, campaign->name);
	if (campaign->claim != SIM_ETCD_LEADER_KEY)
		str_add_char(&prefix, '/');
	sim_etcd_show(campaign->etcd, prefix.s,
		campaign->claim == SIM_ETCD_ELECTION ? SIM_ETCD_ELECTIONS
		: campaign->claim == SIM_ETCD_LOCK   ? SIM_ETCD_LOCKS
						     : SIM_ETCD_KEYS,
		campaign->claim == SIM_ETCD_LEADER_KEY);
	str_release(&prefix);
}

struct sim_etcd_candidate *sim_etcd_candidate_new(
	struct process *p, const struct sim_etcd_campaign *campaign)
{
	struct sim_etcd_candidate *c = xcalloc(1, sizeof(*c)), **at;

	c->session = session_of(p, campaign);
	c->claim = campaign->claim;
	c->believes = campaign->believes;
	c->name = xstrdup(campaign->name);
	c->value = xstrdup(campaign->claim == SIM_ETCD_LOCK ? ""
			   : campaign->value                ? campaign->value
							    : p->identity);
	c->duty = campaign->duty;
	c->checks_every_ms = campaign->checks_every_ms;
	c->looks_every_ms = campaign->looks_every_ms;
	c->watches = campaign->watches;
	c->holds_ms = campaign->holds_ms;
	c->rests_ms = campaign->rests_ms;
	c->through = campaign->through;
	for (at = &c->session->first; *at; at = &(*at)->next)
		;
	*at = c;
	process_program(p, &c->g, ops_of(campaign->claim));
	show(campaign);
	return c;
}
