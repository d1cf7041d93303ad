#include "config.h"

#include "sim/zookeeper.h"
#include "base/mem.h"
#include "base/str.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ZooKeeper's ensemble: what its servers have agreed on, and what they answer. */

struct sim_zk_watch {
	struct process *process;
	uint32_t life;
	int server;
	void *who;
	int64_t sequence;
	struct sim_zk_watch *next;
};

int64_t sim_zk_zxid(const struct sim_zk *z)
{
	return z->epoch << 32 | z->counter;
}

static int64_t next_zxid(struct sim_zk *z)
{
	z->counter++;
	return sim_zk_zxid(z);
}

struct sim_zk_session *sim_zk_session(const struct sim_zk *z, int64_t id)
{
	return map_get(&z->sessions, (const char *)&id, sizeof(id));
}

static struct sim_zk_parent *parent_find(const struct sim_zk *z, const char *path)
{
	return map_get(&z->parents, path, strlen(path));
}

struct sim_zk_parent *sim_zk_parent(struct sim_zk *z, const char *path)
{
	struct sim_zk_parent *parent = parent_find(z, path);

	if (parent)
		return parent;
	parent = xcalloc(1, sizeof(*parent));
	parent->path = xstrdup(path);
	map_put(&z->parents, parent->path, strlen(path), parent);
	if (z->last_parent)
		z->last_parent->next = parent;
	else
		z->first_parent = parent;
	z->last_parent = parent;
	return parent;
}

static struct sim_zk_node *by_sequence(const struct sim_zk_parent *parent, int64_t sequence)
{
	struct sim_zk_node *node = parent ? parent->last : NULL;

	while (node && node->sequence > sequence)
		node = node->prev;
	return node && node->sequence == sequence ? node : NULL;
}

struct sim_zk_node *sim_zk_node(const struct sim_zk *z, const char *parent, const char *name)
{
	const struct sim_zk_parent *at = parent_find(z, parent);
	struct sim_zk_node *node = at ? at->first : NULL;

	while (node && !str_eq(node->name, name))
		node = node->next;
	return node;
}

/* ---- znodes ---- */

static void join_session(struct sim_zk_node *node, struct sim_zk_session *session)
{
	node->session = session;
	if (!session)
		return;
	node->session_next = session->nodes;
	if (session->nodes)
		session->nodes->session_prev = node;
	session->nodes = node;
}

static void leave_session(struct sim_zk_node *node)
{
	if (!node->session)
		return;
	if (node->session_prev)
		node->session_prev->session_next = node->session_next;
	else
		node->session->nodes = node->session_next;
	if (node->session_next)
		node->session_next->session_prev = node->session_prev;
}

static const char *who(const struct sim_zk_node *node)
{
	return node->owner ? node->owner->thing.name : "nobody";
}

static void tell_head(struct world *w, const struct sim_zk_node *node)
{
	world_tell(w, HAPPENING_GRANTED, node->owner ? node->owner->thing.name : NULL,
		node->parent->path, node->czxid, "%s is %s's, czxid %" PRId64, node->parent->path,
		who(node), node->czxid);
}

struct sim_zk_node *sim_zk_create(struct world *w, struct sim_zk *z, struct sim_zk_parent *parent,
	const char *data, struct sim_zk_session *session, struct process *owner)
{
	struct sim_zk_node *node = xcalloc(1, sizeof(*node));
	char name[SIM_ZK_NAME_MAX];

	node->sequence = parent->counter++;
	snprintf(name, sizeof(name), "n_%010" PRId64, node->sequence);
	node->name = xstrdup(name);
	node->data = xstrdup(data);
	node->czxid = next_zxid(z);
	node->owner = owner;
	node->parent = parent;
	node->prev = parent->last;
	if (parent->last)
		parent->last->next = node;
	else
		parent->first = node;
	parent->last = node;
	join_session(node, session);
	if (parent->first == node)
		tell_head(w, node);
	thing_changed(&z->thing);
	return node;
}

static void node_free(struct sim_zk_node *node)
{
	free(node->name);
	free(node->data);
	free(node);
}

/* A watch is told once; where its connection is gone, the client sets it again elsewhere. */
static void watch_send(struct world *w, struct sim_zk *z, struct sim_zk_watch *watch)
{
	if (watch->process->life == watch->life && sim_zk_serves(w, z, watch->server))
		net_notify(w, z->servers[watch->server].machine, watch->process, sim_zk_told,
			watch->who, watch->sequence, watch->server);
	free(watch);
}

/* Those whose connection lives and whose packet does not come through get it by TCP later. */
static void watch_fire(struct world *w, struct sim_zk *z, struct sim_zk_watch *watch)
{
	if (process_lives(watch->process) && watch->process->life == watch->life &&
		!net_reaches(w, z->servers[watch->server].machine, watch->process->machine)) {
		watch->next = z->due;
		z->due = watch;
		return;
	}
	watch_send(w, z, watch);
}

void sim_zk_delete(struct world *w, struct sim_zk *z, struct sim_zk_node *node, const char *why)
{
	struct sim_zk_parent *parent = node->parent;
	bool led = parent->first == node;
	struct sim_zk_watch *watch;

	next_zxid(z);
	if (led)
		world_tell(w, HAPPENING_FREED, node->owner ? node->owner->thing.name : NULL,
			parent->path, node->czxid, "%s is not %s's any more: %s", parent->path,
			who(node), why);
	if (node->prev)
		node->prev->next = node->next;
	else
		parent->first = node->next;
	if (node->next)
		node->next->prev = node->prev;
	else
		parent->last = node->prev;
	leave_session(node);
	if (led && parent->first)
		tell_head(w, parent->first);
	while ((watch = node->watches) != NULL) {
		node->watches = watch->next;
		watch_fire(w, z, watch);
	}
	thing_changed(&z->thing);
	node_free(node);
}

/* ---- sessions ---- */

/* Sessions expire in buckets of a tick: up to the next one (ExpiryQueue, roundToNextInterval). */
static void touch(struct world *w, struct sim_zk_session *session)
{
	int64_t end_ms = world_now_ms(w) + session->timeout_ms;

	session->heard_ms = world_now_ms(w);
	session->expires_ms = (end_ms / SIM_ZK_TICK_MS + 1) * SIM_ZK_TICK_MS;
}

static struct sim_zk_session *session_new(
	struct world *w, struct sim_zk *z, int64_t timeout_ms, struct process *owner)
{
	struct sim_zk_session *session = xcalloc(1, sizeof(*session));

	if (timeout_ms < SIM_ZK_TIMEOUT_LEAST_MS)
		timeout_ms = SIM_ZK_TIMEOUT_LEAST_MS;
	if (timeout_ms > SIM_ZK_TIMEOUT_MOST_MS)
		timeout_ms = SIM_ZK_TIMEOUT_MOST_MS;
	session->id = z->next_session++;
	session->timeout_ms = timeout_ms;
	session->owner = owner;
	session->prev = z->last_session;
	if (z->last_session)
		z->last_session->next = session;
	else
		z->first_session = session;
	z->last_session = session;
	map_put(&z->sessions, (const char *)&session->id, sizeof(session->id), session);
	next_zxid(z);
	touch(w, session);
	return session;
}

void sim_zk_close(
	struct world *w, struct sim_zk *z, struct sim_zk_session *session, const char *why)
{
	while (session->nodes)
		sim_zk_delete(w, z, session->nodes, why);
	next_zxid(z);
	map_remove(&z->sessions, (const char *)&session->id, sizeof(session->id));
	if (session->prev)
		session->prev->next = session->next;
	else
		z->first_session = session->next;
	if (session->next)
		session->next->prev = session->prev;
	else
		z->last_session = session->prev;
	free(session);
	thing_changed(&z->thing);
}

static void expire(struct world *w, struct sim_zk *z)
{
	struct sim_zk_session *session, *next;

	for (session = z->first_session; session; session = next) {
		next = session->next;
		if (session->expires_ms > world_now_ms(w))
			continue;
		world_tell(w, HAPPENING_EXPIRED, session->owner->thing.name, z->thing.name, 0,
			"the session 0x%" PRIx64 " of %s expired", (uint64_t)session->id,
			session->owner->thing.name);
		sim_zk_close(w, z, session, "its session expired");
	}
}

/* ---- servers ---- */

int sim_zk_server(const struct sim_zk *z, const char *machine)
{
	size_t i;

	for (i = 0; i < z->n_servers; i++)
		if (str_eq(z->servers[i].machine->thing.name, machine))
			return (int)i;
	return -1;
}

static bool runs(const struct sim_zk *z, int server)
{
	return z->servers[server].machine->up && !z->servers[server].out;
}

static bool can_lead(const struct world *w, const struct sim_zk *z, int server)
{
	size_t i, with = 0;

	if (!runs(z, server))
		return false;
	for (i = 0; i < z->n_servers; i++)
		if (runs(z, (int)i) &&
			net_reaches(w, z->servers[server].machine, z->servers[i].machine))
			with++;
	return with > z->n_servers / 2;
}

bool sim_zk_serves(const struct world *w, const struct sim_zk *z, int server)
{
	return runs(z, server) && z->leader >= 0 && z->lost_ms == INT64_MIN &&
	       (server == z->leader ||
		       net_reaches(w, z->servers[server].machine, z->servers[z->leader].machine));
}

/* A new leader counts all sessions anew. */
static void leads(struct world *w, struct sim_zk *z, int server)
{
	struct sim_zk_session *session;
	int64_t heard_ms;

	z->leader = server;
	z->lost_ms = INT64_MIN;
	z->led_ms = world_now_ms(w);
	z->epoch++;
	z->counter = 0;
	for (session = z->first_session; session; session = session->next) {
		heard_ms = session->heard_ms;
		touch(w, session);
		session->heard_ms = heard_ms;
	}
	thing_changed(&z->thing);
	world_tell(w, HAPPENING_SERVER, z->servers[server].machine->thing.name, z->thing.name, 0,
		"%s leads %s, epoch %" PRId64 ": every session's time begins anew",
		z->servers[server].machine->thing.name, z->thing.name, z->epoch);
}

static void look_leader(struct world *w, struct sim_zk *z)
{
	size_t i;

	if (z->leader >= 0 && can_lead(w, z, z->leader)) {
		z->lost_ms = INT64_MIN;
		return;
	}
	if (z->lost_ms == INT64_MIN) {
		z->lost_ms = world_now_ms(w);
		thing_changed(&z->thing);
	}
	if (world_now_ms(w) - z->lost_ms < SIM_ZK_ELECT_MS)
		return;
	/* Who has seen most wins, and of equals the highest number (FastLeaderElection). */
	for (i = z->n_servers; i-- > 0;) {
		if (!can_lead(w, z, (int)i))
			continue;
		leads(w, z, (int)i);
		return;
	}
	if (z->leader < 0)
		return;
	z->leader = -1;
	thing_changed(&z->thing);
	world_tell(w, HAPPENING_SERVER, NULL, z->thing.name, 0,
		"%s has lost its quorum: it serves nobody", z->thing.name);
}

void sim_zk_out(struct world *w, struct sim_zk *z, int server, bool out)
{
	struct sim_zk_server *s = &z->servers[server];

	if (s->out == out)
		return;
	s->out = out;
	thing_changed(&z->thing);
	world_tell(w, out ? HAPPENING_FAULT : HAPPENING_MENDED, s->machine->thing.name,
		z->thing.name, 0, out ? "ZooKeeper on %s ended" : "ZooKeeper on %s runs again",
		s->machine->thing.name);
	look_leader(w, z);
}

static void send_due(struct world *w, struct sim_zk *z)
{
	struct sim_zk_watch *watch, *list = z->due;

	z->due = NULL;
	while ((watch = list) != NULL) {
		list = watch->next;
		watch_fire(w, z, watch);
	}
}

static void tick(struct world *w, void *arg, int64_t a, int64_t b)
{
	struct sim_zk *z = arg;

	look_leader(w, z);
	if (z->leader >= 0 && z->lost_ms == INT64_MIN)
		expire(w, z);
	send_due(w, z);
	world_after(w, SIM_ZK_TICK_MS - world_now_ms(w) % SIM_ZK_TICK_MS, tick, z, a, b);
}

/* ---- what clients ask ---- */

static const char *cut_text(char *text)
{
	char *at = strchr(text, '\n');

	if (!at)
		return "";
	*at = '\0';
	return at + 1;
}

static void expired(struct net_call *call)
{
	call->code = NET_FAILED;
}

static void do_connect(struct world *w, struct sim_zk *z, struct net_call *call)
{
	struct sim_zk_session *session =
		call->b ? sim_zk_session(z, call->b) : session_new(w, z, call->a, call->from);

	if (!session) {
		expired(call);
		return;
	}
	touch(w, session);
	call->value = session->id;
	call->value2 = session->timeout_ms;
}

static void do_create(struct world *w, struct sim_zk *z, struct net_call *call)
{
	struct sim_zk_session *session = sim_zk_session(z, call->a);
	const char *data = cut_text(call->text);
	struct sim_zk_parent *parent;
	struct sim_zk_node *node;

	if (!session) {
		expired(call);
		return;
	}
	parent = sim_zk_parent(z, call->text);
	/* A client that did not hear the answer looks for its own znode, by the GUID in its name,
	 * before it makes another (the recipe's "Recoverable Errors and the GUID"). */
	for (node = session->nodes; node && node->parent != parent; node = node->session_next)
		;
	if (!node)
		node = sim_zk_create(w, z, parent, data, session, call->from);
	call->value = node->czxid;
	call->value2 = node->sequence;
}

static void do_before(struct sim_zk *z, struct net_call *call)
{
	const struct sim_zk_parent *parent = parent_find(z, call->text);
	const struct sim_zk_node *node = parent ? parent->last : NULL;

	while (node && node->sequence > call->a)
		node = node->prev;
	call->value2 = node && node->sequence == call->a;
	if (call->value2)
		node = node->prev;
	call->value = node ? node->sequence : -1;
}

static void do_watch(struct sim_zk *z, struct net_call *call)
{
	struct sim_zk_node *node = by_sequence(parent_find(z, call->text), call->a);
	struct sim_zk_watch *watch, **at;

	call->value = node != NULL;
	if (!node)
		return;
	watch = xcalloc(1, sizeof(*watch));
	*watch = (struct sim_zk_watch){ .process = call->from,
		.life = call->from->life,
		.server = (int)call->c,
		.who = call->who,
		.sequence = call->a };
	for (at = &node->watches; *at; at = &(*at)->next)
		;
	*at = watch;
}

static void do_close(struct world *w, struct sim_zk *z, struct net_call *call)
{
	struct sim_zk_session *session = sim_zk_session(z, call->a);

	if (session)
		sim_zk_close(w, z, session, "its session was closed");
}

static void serve_op(struct world *w, struct sim_zk *z, struct net_call *call)
{
	struct sim_zk_session *session;
	struct sim_zk_node *node;

	switch ((enum sim_zk_op)call->op) {
	case SIM_ZK_CONNECT:
		do_connect(w, z, call);
		break;
	case SIM_ZK_PING:
		session = sim_zk_session(z, call->a);
		if (session)
			touch(w, session);
		else
			expired(call);
		break;
	case SIM_ZK_CREATE:
		do_create(w, z, call);
		break;
	case SIM_ZK_BEFORE:
		do_before(z, call);
		break;
	case SIM_ZK_WATCH:
		do_watch(z, call);
		break;
	case SIM_ZK_DELETE:
		node = by_sequence(parent_find(z, call->text), call->a);
		if (node)
			sim_zk_delete(w, z, node, "its holder gave it up");
		break;
	case SIM_ZK_CLOSE:
		do_close(w, z, call);
		break;
	}
}

bool sim_zk_serve(struct world *w, struct net_call *call)
{
	struct sim_zk *z = (struct sim_zk *)call->server;
	int server = (int)call->c;

	/* A server outside of a quorum takes no clients, and closes what it had. */
	if (!sim_zk_serves(w, z, server))
		call->code = NET_REFUSED;
	else
		serve_op(w, z, call);
	return true;
}

void sim_zk_ask(struct world *w, struct sim_zk *z, int server, struct net_call *call)
{
	call->to = z->servers[server].machine;
	call->server = &z->thing;
	call->serve = sim_zk_serve;
	call->c = server;
	net_call(w, call);
}

/* ---- making and freeing ---- */

static void watches_free(struct sim_zk_watch *watch)
{
	struct sim_zk_watch *next;

	for (; watch; watch = next) {
		next = watch->next;
		free(watch);
	}
}

static void zk_free(struct thing *t)
{
	struct sim_zk *z = (struct sim_zk *)t;
	struct sim_zk_parent *parent, *next_parent;
	struct sim_zk_session *session, *next_session;
	struct sim_zk_node *node;

	for (parent = z->first_parent; parent; parent = next_parent) {
		next_parent = parent->next;
		while ((node = parent->first) != NULL) {
			parent->first = node->next;
			watches_free(node->watches);
			node_free(node);
		}
		free(parent->path);
		free(parent);
	}
	for (session = z->first_session; session; session = next_session) {
		next_session = session->next;
		free(session);
	}
	watches_free(z->due);
	map_release(&z->parents);
	map_release(&z->sessions);
	free(z->version);
	free(z);
}

const struct thing_ops sim_zk_ops = { .kind = "zookeeper", .free = zk_free };

struct sim_zk *sim_zk_new(struct world *w, const char *name, struct machine *const *machines,
	size_t n_machines, const char *version)
{
	struct sim_zk *z = xcalloc(1, sizeof(*z));
	size_t i;

	map_init(&z->parents);
	map_init(&z->sessions);
	z->version = xstrdup(version ? version : "3.8.4");
	for (i = 0; i < n_machines && i < SIM_ZK_SERVERS_MOST; i++)
		z->servers[z->n_servers++] = (struct sim_zk_server){ .machine = machines[i] };
	z->lost_ms = INT64_MIN;
	z->led_ms = INT64_MIN;
	z->leader = (int)z->n_servers - 1;
	z->epoch = 2 + (int64_t)sim_random_below(world_random(w), 30);
	z->counter = 100 + (int64_t)sim_random_below(world_random(w), 5000);
	/* A session's id: the server's number in its first byte, then the time
	 * (SessionTrackerImpl). */
	z->next_session = (int64_t)(1ULL << 56 | ((uint64_t)(world_now_us(w) / 1000) << 24 >> 8 &
							 0x00ffffffffff0000ULL));
	world_add(w, &z->thing, &sim_zk_ops, name);
	world_after(w, SIM_ZK_TICK_MS, tick, z, 0, 0);
	return z;
}
