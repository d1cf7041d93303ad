#include "config.h"

#include "sim/net.h"
#include "sim/work.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum {
	LATENCY_MS = 1,
	TIMEOUT_MS = 5000,
	THOUSAND = 1000
};

/* What was said of a pair of machines, or of all links of one (b NULL). */
struct link {
	struct link *next;
	struct machine *a, *b;
	bool cut, has_quality;
	int64_t latency_ms;
	int loss;
};

/* The network is a thing, so that the world frees it. */
struct net {
	struct thing thing;
	struct link *links;
};

static void net_free(struct thing *t)
{
	struct net *net = (struct net *)t;
	struct link *l, *next;

	for (l = net->links; l; l = next) {
		next = l->next;
		free(l);
	}
	free(net);
}

static const struct thing_ops net_ops = { .kind = "network", .free = net_free };

static struct net *net_of(const struct world *w)
{
	return (struct net *)world_find(w, &net_ops, "network");
}

static struct net *net_made(struct world *w)
{
	struct net *net = net_of(w);

	if (!net) {
		net = xcalloc(1, sizeof(*net));
		world_add(w, &net->thing, &net_ops, "network");
	}
	return net;
}

/* ---- machines ---- */

static void machine_free(struct thing *t)
{
	free(t);
}

const struct thing_ops machine_ops = { .kind = "machine", .free = machine_free };

struct machine *machine_find(const struct world *w, const char *name)
{
	return (struct machine *)world_find(w, &machine_ops, name);
}

struct machine *machine_new(struct world *w, const char *name)
{
	struct machine *m = machine_find(w, name);

	if (m)
		return m;
	m = xcalloc(1, sizeof(*m));
	m->up = true;
	world_add(w, &m->thing, &machine_ops, name);
	return m;
}

/* The skew now: what it was, and what its clock has gained since. */
static int64_t skew_us(const struct world *w, const struct machine *m)
{
	return m->skew_ms * 1000 + (world_now_ms(w) - m->drift_at_ms) * m->drift_ppm / 1000;
}

int64_t machine_clock_us(const struct world *w, const struct machine *m)
{
	return world_now_us(w) + skew_us(w, m);
}

void machine_skew(struct world *w, struct machine *m, int64_t skew_ms)
{
	m->skew_ms = skew_ms;
	m->drift_at_ms = world_now_ms(w);
	thing_changed(&m->thing);
	world_tell(w, HAPPENING_FAULT, m->thing.name, NULL, 0,
		"the clock of %s is set %s by %lld s", m->thing.name,
		skew_ms < 0 ? "back" : "ahead",
		(long long)((skew_ms < 0 ? -skew_ms : skew_ms) / 1000));
}

void machine_down(struct world *w, struct machine *m)
{
	struct thing *t = NULL;

	if (!m->up)
		return;
	m->up = false;
	m->power_lost = true;
	thing_changed(&m->thing);
	world_tell(w, HAPPENING_FAULT, m->thing.name, NULL, 0, "%s has no power: nobody is told",
		m->thing.name);
	while ((t = world_each(w, &process_ops, t)) != NULL) {
		struct process *p = (struct process *)t;

		if (p->machine == m)
			process_end(w, p, PROCESS_END_VANISHED);
	}
}

void machine_up(struct world *w, struct machine *m)
{
	struct thing *t = NULL;

	if (m->up)
		return;
	m->up = true;
	thing_changed(&m->thing);
	world_tell(w, HAPPENING_MENDED, m->thing.name, NULL, 0, "%s is up again", m->thing.name);
	while ((t = world_each(w, &process_ops, t)) != NULL) {
		struct process *p = (struct process *)t;

		if (p->machine == m && p->state == PROCESS_CRASHED)
			process_start(w, p);
	}
}

void machine_isolate(struct world *w, struct machine *m, bool isolated)
{
	struct thing *t = NULL;

	if (m->isolated == isolated)
		return;
	m->isolated = isolated;
	thing_changed(&m->thing);
	world_tell(w, isolated ? HAPPENING_FAULT : HAPPENING_MENDED, m->thing.name, NULL, 0,
		isolated ? "%s is cut off from all others" : "%s is joined again", m->thing.name);
	while ((t = world_each(w, &process_ops, t)) != NULL)
		if (((struct process *)t)->machine == m)
			duties_look(w, (struct process *)t);
}

/* ---- links ---- */

static struct link *link_add(struct world *w, struct machine *a, struct machine *b)
{
	struct net *net = net_made(w);
	struct link *l = xcalloc(1, sizeof(*l));

	*l = (struct link){ .a = a, .b = b, .next = net->links };
	net->links = l; /* the newest first: later words win */
	return l;
}

static bool link_is(const struct link *l, const struct machine *a, const struct machine *b)
{
	bool one = (!l->a || l->a == a) && (!l->b || l->b == b);
	bool other = (!l->a || l->a == b) && (!l->b || l->b == a);

	return one || other;
}

/* Words on the very pair replace each other, so that the list does not grow. */
static struct link *link_of(struct world *w, struct machine *a, struct machine *b, bool quality)
{
	struct link **at, *l;

	for (at = &net_made(w)->links; (l = *at) != NULL; at = &l->next) {
		bool same = (l->a == a && l->b == b) || (l->a == b && l->b == a);

		if (!same || l->has_quality != quality)
			continue;
		*at = l->next;
		free(l);
		break;
	}
	return link_add(w, a, b);
}

static const char *end_name(const struct machine *m)
{
	return m ? m->thing.name : "all others";
}

void net_cut(struct world *w, struct machine *a, struct machine *b)
{
	link_of(w, a, b, false)->cut = true;
	world_tell(w, HAPPENING_FAULT, end_name(a), NULL, 0, "nothing passes between %s and %s",
		end_name(a), end_name(b));
}

void net_join(struct world *w, struct machine *a, struct machine *b)
{
	link_of(w, a, b, false)->cut = false;
	world_tell(w, HAPPENING_MENDED, end_name(a), NULL, 0, "%s and %s reach each other again",
		end_name(a), end_name(b));
}

void net_quality(
	struct world *w, struct machine *a, struct machine *b, int64_t latency_ms, int loss)
{
	struct link *l = link_of(w, a, b, true);

	l->has_quality = true;
	l->latency_ms = latency_ms;
	l->loss = loss;
}

static bool reaches(const struct net *net, const struct machine *a, const struct machine *b)
{
	const struct link *l;

	if (a == b)
		return a->up;
	if (!a->up || !b->up || a->isolated || b->isolated)
		return false;
	for (l = net ? net->links : NULL; l; l = l->next)
		if (!l->has_quality && link_is(l, a, b))
			return !l->cut;
	return true;
}

bool net_reaches(const struct world *w, const struct machine *a, const struct machine *b)
{
	return reaches(net_of(w), a, b);
}

/* How long a packet takes; -1: it is lost. */
static int64_t net_latency(struct world *w, const struct machine *a, const struct machine *b)
{
	const struct net *net = net_of(w);
	const struct link *l;

	if (!reaches(net, a, b))
		return -1;
	if (a == b)
		return 0;
	for (l = net ? net->links : NULL; l; l = l->next) {
		if (!l->has_quality || !link_is(l, a, b))
			continue;
		if (l->loss > 0 && (int)sim_random_below(world_random(w), THOUSAND) < l->loss)
			return -1;
		return l->latency_ms;
	}
	return LATENCY_MS;
}

/* ---- calls ---- */

static void call_over(struct world *w, struct process *p, void *who, int64_t a)
{
	struct net_call *call = who;

	(void)a;
	if (call->reply)
		call->reply(w, p, call);
}

static void call_back(struct world *w, struct net_call *call, int64_t delay_ms)
{
	process_deliver(w, call->from, call->life, delay_ms, call_over, call, sizeof(*call));
}

static void call_times_out(struct world *w, struct net_call *call)
{
	int64_t left = call->sent_ms + call->timeout_ms - world_now_ms(w);

	call->code = NET_TIMEOUT;
	call_back(w, call, left > 0 ? left : 0);
}

void net_answer(struct world *w, struct net_call *call)
{
	int64_t latency = net_latency(w, call->to, call->from->machine);
	int64_t at = world_now_ms(w) + latency;

	if (latency < 0 || at > call->sent_ms + call->timeout_ms)
		call_times_out(w, call);
	else
		call_back(w, call, latency);
}

void net_drop(struct world *w, struct net_call *call)
{
	call_times_out(w, call);
}

static void call_arrives(struct world *w, void *who, int64_t a, int64_t b)
{
	struct net_call *call = who;

	(void)a;
	(void)b;
	if (!net_reaches(w, call->from->machine, call->to))
		call_times_out(w, call);
	else if (call->serve(w, call))
		net_answer(w, call);
}

void net_call(struct world *w, const struct net_call *call)
{
	struct net_call *own = world_get(w, sizeof(*own));
	int64_t latency;

	*own = *call;
	own->sent_ms = world_now_ms(w);
	own->life = call->from->life;
	own->code = NET_OK;
	own->value = own->value2 = 0;
	if (own->timeout_ms <= 0)
		own->timeout_ms = TIMEOUT_MS;
	latency = net_latency(w, own->from->machine, own->to);
	if (latency < 0)
		call_times_out(w, own);
	else
		world_after(w, latency, call_arrives, own, 0, 0);
}

/* ---- notices ---- */

struct notice {
	net_told *fn;
	void *who;
	int64_t a, b;
};

static void notice_arrives(struct world *w, struct process *p, void *who, int64_t a)
{
	struct notice *n = who;

	(void)a;
	n->fn(w, p, n->who, n->a, n->b);
}

void net_notify(struct world *w, struct machine *from, struct process *p, net_told *fn, void *who,
	int64_t a, int64_t b)
{
	int64_t latency = net_latency(w, from, p->machine);
	struct notice *n;

	if (latency < 0 || !process_lives(p))
		return;
	n = world_get(w, sizeof(*n));
	*n = (struct notice){ .fn = fn, .who = who, .a = a, .b = b };
	process_deliver(w, p, p->life, latency, notice_arrives, n, sizeof(*n));
}
