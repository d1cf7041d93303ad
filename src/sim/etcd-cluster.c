#include "config.h"

#include "sim/etcd.h"
#include "base/mem.h"
#include "base/str.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The members of an etcd: who leads, who is out of touch, and what each answers. */

enum {
	KEPT_MOST = 1000
};

/* ---- who can do what ---- */

int sim_etcd_member(const struct sim_etcd *e, const char *machine)
{
	size_t i;

	for (i = 0; i < e->n_members; i++)
		if (str_eq(e->members[i].machine->thing.name, machine))
			return (int)i;
	return -1;
}

bool sim_etcd_listens(const struct sim_etcd *e, int member)
{
	return e->members[member].machine->up && !e->members[member].out;
}

/* Whether it could lead: it runs, its disk writes, and so do enough others that it reaches. */
static bool can_lead(const struct world *w, const struct sim_etcd *e, int member)
{
	size_t i, with = 0;

	if (!sim_etcd_listens(e, member) || e->members[member].stalled)
		return false;
	for (i = 0; i < e->n_members; i++)
		if (sim_etcd_listens(e, (int)i) && !e->members[i].stalled &&
			net_reaches(w, e->members[member].machine, e->members[i].machine))
			with++;
	return with > e->n_members / 2;
}

static bool reaches_leader(const struct world *w, const struct sim_etcd *e, int member)
{
	return e->leader >= 0 && e->lost_ms == INT64_MIN &&
	       (member == e->leader ||
		       net_reaches(w, e->members[member].machine, e->members[e->leader].machine));
}

bool sim_etcd_serves(const struct world *w, const struct sim_etcd *e, int member)
{
	return sim_etcd_listens(e, member) && !e->members[member].stalled &&
	       reaches_leader(w, e, member);
}

void sim_etcd_member_look(const struct world *w, struct sim_etcd *e, int member)
{
	struct sim_etcd_member *m = &e->members[member];

	/* A disk that stalls stops the whole loop that raft runs in: it tells what it last knew. */
	if (!sim_etcd_listens(e, member) || m->stalled)
		return;
	if (reaches_leader(w, e, member)) {
		m->leader_id = e->members[e->leader].id;
		m->term = e->term;
		m->applied = e->index;
		m->revision = e->revision;
		m->alone_ms = INT64_MIN;
		return;
	}
	if (m->alone_ms == INT64_MIN)
		m->alone_ms = world_now_ms(w);
	if (world_now_ms(w) - m->alone_ms >= SIM_ETCD_ELECTION_MS)
		m->leader_id = 0;
}

/* ---- elections ---- */

static void leads(struct world *w, struct sim_etcd *e, int member)
{
	e->leader = member;
	e->lost_ms = INT64_MIN;
	e->term++;
	e->index++; /* a new leader begins with an empty entry */
	sim_etcd_promote(w, e);
	thing_changed(&e->thing);
	world_tell(w, HAPPENING_SERVER, e->members[member].machine->thing.name, e->thing.name, 0,
		"%s leads %s, term %" PRId64 ": every lease begins anew",
		e->members[member].machine->thing.name, e->thing.name, e->term);
}

/* One of those that can lead, but not this one; -1: none can. */
static int choose(struct world *w, const struct sim_etcd *e, int but)
{
	int able[SIM_ETCD_MEMBERS_MOST];
	size_t n = 0, i;

	for (i = 0; i < e->n_members; i++)
		if ((int)i != but && can_lead(w, e, (int)i))
			able[n++] = (int)i;
	return n ? able[sim_random_below(world_random(w), n)] : -1;
}

bool sim_etcd_lead(struct world *w, struct sim_etcd *e, int member)
{
	if (member < 0)
		member = choose(w, e, e->leader);
	if (member < 0 || !can_lead(w, e, member))
		return false;
	if (member != e->leader || e->lost_ms != INT64_MIN)
		leads(w, e, member);
	return true;
}

static void lose(struct world *w, struct sim_etcd *e)
{
	if (e->lost_ms != INT64_MIN)
		return;
	e->lost_ms = world_now_ms(w);
	/* Followers wait for a random time between one election timeout and two. */
	e->elect_ms = e->lost_ms + SIM_ETCD_ELECTION_MS +
		      (int64_t)sim_random_below(world_random(w), SIM_ETCD_ELECTION_MS);
	thing_changed(&e->thing);
}

static void look_leader(struct world *w, struct sim_etcd *e)
{
	int next;

	if (e->leader >= 0 && can_lead(w, e, e->leader)) {
		e->lost_ms = INT64_MIN;
		return;
	}
	lose(w, e);
	if (world_now_ms(w) < e->elect_ms)
		return;
	next = choose(w, e, -1);
	if (next >= 0) {
		leads(w, e, next);
	} else if (e->leader >= 0) {
		e->leader = -1;
		thing_changed(&e->thing);
		world_tell(w, HAPPENING_SERVER, NULL, e->thing.name, 0,
			"%s has no leader: it has lost its quorum", e->thing.name);
	}
}

void sim_etcd_members_tick(struct world *w, struct sim_etcd *e)
{
	size_t i;

	look_leader(w, e);
	for (i = 0; i < e->n_members; i++)
		sim_etcd_member_look(w, e, (int)i);
	sim_etcd_notify_due(w, e);
}

void sim_etcd_members_free(struct sim_etcd *e)
{
	size_t i;

	for (i = 0; i < e->n_members; i++) {
		free(e->members[i].endpoint);
		free(e->members[i].kept);
	}
}

/* ---- what clients ask ---- */

static bool fail(struct net_call *call, enum sim_etcd_error error)
{
	if (error == SIM_ETCD_OK)
		return true;
	call->code = NET_FAILED;
	call->value = error;
	return true;
}

/* "key\nvalue": cuts it in two, and returns the value. */
static const char *cut_text(char *text)
{
	char *at = strchr(text, '\n');

	if (!at)
		return "";
	*at = '\0';
	return at + 1;
}

static bool do_grant(struct world *w, struct sim_etcd *e, struct net_call *call)
{
	struct sim_etcd_lease *l = NULL;
	enum sim_etcd_error error = sim_etcd_grant(w, e, (int)call->c, call->a, call->from, &l);

	if (l) {
		call->value = l->id;
		call->value2 = l->granted_s;
	}
	return fail(call, error);
}

static bool do_revoke(struct world *w, struct sim_etcd *e, struct net_call *call)
{
	struct sim_etcd_lease *l = sim_etcd_lease(e, call->a);

	return fail(
		call, l ? sim_etcd_revoke(w, e, l, "its session was closed") : SIM_ETCD_NO_LEASE);
}

static bool do_put(struct world *w, struct sim_etcd *e, struct net_call *call)
{
	const char *value = cut_text(call->text);
	bool new_only = call->op == SIM_ETCD_OP_PUT_NEW;
	bool there = sim_etcd_key(e, call->text, strlen(call->text)) != NULL;
	struct sim_etcd_key *key = NULL;
	enum sim_etcd_error error =
		sim_etcd_put(w, e, call->text, value, call->a, call->from, new_only, &key);

	if (error == SIM_ETCD_OK) {
		call->value = key->create_revision;
		call->value2 = !there;
	}
	return fail(call, error);
}

static bool do_get(struct sim_etcd *e, struct net_call *call)
{
	const struct sim_etcd_key *key = sim_etcd_key(e, call->text, strlen(call->text));

	call->value = key ? key->create_revision : 0;
	call->value2 = key && key->lease ? key->lease->id : 0;
	return true;
}

/* The last key of a name that was made at that revision or before. */
static struct sim_etcd_key *last_until(
	const struct sim_etcd *e, const char *name, int64_t create_revision)
{
	const struct sim_etcd_dir *dir = sim_etcd_dir(e, name, strlen(name));
	struct sim_etcd_key *key = dir ? dir->last : NULL;

	while (key && key->create_revision > create_revision)
		key = key->dir_prev;
	return key;
}

static bool do_last(struct sim_etcd *e, struct net_call *call)
{
	const struct sim_etcd_key *key = last_until(e, call->text, call->a);

	call->value = key ? key->create_revision : 0;
	return true;
}

static bool do_watch(struct sim_etcd *e, struct net_call *call)
{
	struct sim_etcd_key *key = str_ends(call->text, "/")
					   ? last_until(e, call->text, call->a)
					   : sim_etcd_key(e, call->text, strlen(call->text));

	call->value = key && key->create_revision == call->a;
	if (call->value)
		sim_etcd_watch(e, key, (int)call->c, call->from, sim_etcd_told, call->who);
	return true;
}

static bool do_delete(struct world *w, struct sim_etcd *e, struct net_call *call)
{
	struct sim_etcd_key *key = sim_etcd_key(e, call->text, strlen(call->text));

	call->value = key && key->create_revision == call->a;
	return fail(call,
		call->value ? sim_etcd_delete(w, e, key, "its holder gave it up") : SIM_ETCD_OK);
}

static bool serve_op(struct world *w, struct sim_etcd *e, struct net_call *call)
{
	switch ((enum sim_etcd_op)call->op) {
	case SIM_ETCD_OP_GRANT:
		return do_grant(w, e, call);
	case SIM_ETCD_OP_KEEPALIVE:
		call->value = sim_etcd_keepalive(w, e, call->a);
		return true;
	case SIM_ETCD_OP_REVOKE:
		return do_revoke(w, e, call);
	case SIM_ETCD_OP_PUT_NEW:
	case SIM_ETCD_OP_PUT:
		return do_put(w, e, call);
	case SIM_ETCD_OP_GET:
		return do_get(e, call);
	case SIM_ETCD_OP_LAST:
		return do_last(e, call);
	case SIM_ETCD_OP_WATCH:
		return do_watch(e, call);
	case SIM_ETCD_OP_DELETE:
		return do_delete(w, e, call);
	case SIM_ETCD_OP_STATUS:
		break;
	}
	call->value = e->members[call->c].term;
	return true;
}

/* ---- a disk that stalls ---- */

static bool is_write(int op)
{
	return op == SIM_ETCD_OP_GRANT || op == SIM_ETCD_OP_REVOKE || op == SIM_ETCD_OP_PUT_NEW ||
	       op == SIM_ETCD_OP_PUT || op == SIM_ETCD_OP_DELETE;
}

static void keep(struct sim_etcd_member *m, const struct net_call *call)
{
	struct sim_etcd_kept *kept;

	if (!is_write(call->op) || m->n_kept == KEPT_MOST)
		return;
	MEM_GROW(m->kept, m->n_kept, m->cap_kept);
	kept = &m->kept[m->n_kept++];
	*kept = (struct sim_etcd_kept){
		.op = call->op, .a = call->a, .b = call->b, .from = call->from
	};
	memcpy(kept->text, call->text, sizeof(kept->text));
}

/* What was given up by its client long ago is done now. */
static void do_kept(struct world *w, struct sim_etcd *e, int member)
{
	struct sim_etcd_member *m = &e->members[member];
	size_t i;

	for (i = 0; i < m->n_kept && sim_etcd_serves(w, e, member); i++) {
		struct net_call call = { .op = m->kept[i].op,
			.a = m->kept[i].a,
			.b = m->kept[i].b,
			.c = member,
			.from = m->kept[i].from };

		memcpy(call.text, m->kept[i].text, sizeof(call.text));
		serve_op(w, e, &call);
	}
	m->n_kept = 0;
}

void sim_etcd_stall(struct world *w, struct sim_etcd *e, int member, bool stalled)
{
	struct sim_etcd_member *m = &e->members[member];

	if (m->stalled == stalled)
		return;
	sim_etcd_member_look(w, e, member);
	m->stalled = stalled;
	thing_changed(&e->thing);
	world_tell(w, stalled ? HAPPENING_FAULT : HAPPENING_MENDED, m->machine->thing.name,
		e->thing.name, 0,
		stalled ? "the disk of %s stalls: its etcd answers nothing that needs the log"
			: "the disk of %s writes again",
		m->machine->thing.name);
	look_leader(w, e);
	sim_etcd_member_look(w, e, member);
	if (!stalled)
		do_kept(w, e, member);
}

void sim_etcd_out(struct world *w, struct sim_etcd *e, int member, bool out)
{
	struct sim_etcd_member *m = &e->members[member];

	if (m->out == out)
		return;
	m->out = out;
	if (out)
		m->n_kept = 0; /* what was not written is lost with it */
	thing_changed(&e->thing);
	world_tell(w, out ? HAPPENING_FAULT : HAPPENING_MENDED, m->machine->thing.name,
		e->thing.name, 0, out ? "etcd on %s ended" : "etcd on %s runs again",
		m->machine->thing.name);
	look_leader(w, e);
	sim_etcd_member_look(w, e, member);
}

/* ---- a call ---- */

static bool drop(struct world *w, struct net_call *call)
{
	net_drop(w, call);
	return false;
}

bool sim_etcd_serve(struct world *w, struct net_call *call)
{
	struct sim_etcd *e = (struct sim_etcd *)call->server;
	struct sim_etcd_member *m = &e->members[call->c];
	int member = (int)call->c;

	if (!sim_etcd_listens(e, member)) {
		call->code = NET_REFUSED;
		return true;
	}
	if (call->op == SIM_ETCD_OP_STATUS && !call->a)
		return serve_op(w, e, call);
	if (m->stalled) {
		keep(m, call);
		return drop(w, call);
	}
	if (sim_etcd_serves(w, e, member))
		/* Who renews what waits to be revoked waits with it. */
		return serve_op(w, e, call) &&
		       (call->op != SIM_ETCD_OP_KEEPALIVE || call->value >= 0 || drop(w, call));
	sim_etcd_member_look(w, e, member);
	/* Until it notices that it is alone, it waits for an agreement that does not come. */
	return m->leader_id ? drop(w, call) : fail(call, SIM_ETCD_NO_LEADER);
}

void sim_etcd_ask(struct world *w, struct sim_etcd *e, int member, struct net_call *call)
{
	call->to = e->members[member].machine;
	call->server = &e->thing;
	call->serve = sim_etcd_serve;
	call->c = member;
	net_call(w, call);
}

/* ---- watches ---- */

static void watch_later(struct sim_etcd *e, struct sim_etcd_watch *watch)
{
	watch->next = NULL;
	if (e->due_last)
		e->due_last->next = watch;
	else
		e->due = watch;
	e->due_last = watch;
}

/* The stream is TCP's: what can't be delivered now is sent again until it is. */
static void watch_send(struct world *w, struct sim_etcd *e, struct sim_etcd_watch *watch)
{
	struct process *p = watch->process;

	if (!process_lives(p) || p->life != watch->life) {
		free(watch);
		return;
	}
	if (!sim_etcd_serves(w, e, watch->member) ||
		!net_reaches(w, e->members[watch->member].machine, p->machine)) {
		watch_later(e, watch);
		return;
	}
	net_notify(w, e->members[watch->member].machine, p, watch->told, watch->who,
		watch->create_revision, 0);
	free(watch);
}

static void watch_late(struct world *w, void *who, int64_t a, int64_t b)
{
	struct sim_etcd *e = who;

	(void)a;
	(void)b;
	sim_etcd_notify_due(w, e);
}

void sim_etcd_notify(struct world *w, struct sim_etcd *e, struct sim_etcd_watch *watch)
{
	if (!e->watch_delay_ms) {
		watch_send(w, e, watch);
		return;
	}
	watch->due_ms = world_now_ms(w) + e->watch_delay_ms;
	watch_later(e, watch);
	world_after(w, e->watch_delay_ms, watch_late, e, 0, 0);
}

void sim_etcd_notify_due(struct world *w, struct sim_etcd *e)
{
	struct sim_etcd_watch *watch, *list = e->due;

	e->due = e->due_last = NULL;
	while ((watch = list) != NULL) {
		list = watch->next;
		if (watch->due_ms > world_now_ms(w))
			watch_later(e, watch);
		else
			watch_send(w, e, watch);
	}
}
