#include "config.h"

#include "source/sim-zookeeper.h"
#include "base/mem.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/*
 * What a ZooKeeper shows of its elections: the znodes below a parent with what `stat` says of each,
 * and of the sessions what the ensemble's servers say of their connections (the four-letter word
 * `cons`: the timeout, and when the client was heard last). Rows are told when they changed, or
 * what is known of their session is old.
 */

enum {
	KEY_MAX = 40,
	PATH_MAX_BYTES = 4096
};

const char *sim_zk_path(struct str *out, const struct sim_zk_node *node)
{
	str_clear(out);
	str_addf(out, "%s/%s", node->parent->path, node->name);
	return out->s;
}

const char *sim_zk_identity(struct str *out, const struct sim_zk_node *node)
{
	str_clear(out);
	if (node->data[0])
		str_add(out, node->data);
	else if (node->session)
		str_addf(out, "session:%" PRIx64, (uint64_t)node->session->id);
	else
		str_add(out, "no session");
	return out->s;
}

int64_t sim_zk_left_ms(const struct world *w, const struct sim_zk_session *session)
{
	return session->expires_ms - world_now_ms(w);
}

/* ---- servers ---- */

static bool is_heard(const struct sim_zk *z, size_t i)
{
	return z->servers[i].machine->up && !z->servers[i].out && !z->servers[i].machine->isolated;
}

int sim_zk_reach(const struct world *w, const struct sim_zk *z, struct err *err)
{
	const struct sim_zk_server *last = &z->servers[z->n_servers - 1];
	size_t i;

	for (i = 0; i < z->n_servers; i++)
		if (is_heard(z, i) && sim_zk_serves(w, z, (int)i))
			return (int)i;
	for (i = 0; i < z->n_servers; i++)
		if (is_heard(z, i))
			return err_set(err, ERR_BUSY,
				"%s:2181 answers, and serves nobody: the ensemble has lost its "
				"quorum, or elects",
				z->servers[i].machine->thing.name);
	return err_set(err, ERR_CONNECT,
		"none of the %zu servers answers; the last one: can't connect to %s:2181. Check "
		"that the server runs, and host and port",
		z->n_servers, last->machine->thing.name);
}

static void tell_server(struct draft *d, const struct world *w, const struct sim_zk *z, int i)
{
	char text[NET_TEXT_MAX], key[KEY_MAX];

	snprintf(text, sizeof(text), "%s:2181", z->servers[i].machine->thing.name);
	snprintf(key, sizeof(key), "server:%d", i + 1);
	draft_claim(d, CLAIM_MEMBER, text, strlen(text), key);
	if (!is_heard(z, (size_t)i)) {
		draft_text(d, DETAIL_ERROR, "it does not answer");
	} else if (!sim_zk_serves(w, z, i)) {
		draft_text(d, DETAIL_ERROR,
			"This ZooKeeper instance is not currently serving requests");
	} else {
		draft_text(d, DETAIL_SERVER_MODE, i == z->leader ? "leader" : "follower");
		draft_text(d, DETAIL_VERSION, z->version);
		draft_int(d, DETAIL_ROUND_TRIP, 1);
	}
}

static void tell_self(struct sim_source *s, struct round *r, const struct sim_zk *z)
{
	const struct sim_zk_session *session;
	struct draft *d = round_draft(r);
	char server[NET_TEXT_MAX];
	int64_t n = 0;
	size_t i;

	for (session = z->first_session; session; session = session->next)
		n++;
	draft_begin(d, MECH_SOURCE, s->config->name, "", 0);
	draft_int(d, DETAIL_EPOCH, z->epoch);
	draft_int(d, DETAIL_ZXID, sim_zk_zxid(z));
	draft_int(d, DETAIL_SESSIONS, n);
	for (i = 0; i < z->n_servers; i++)
		tell_server(d, s->world, z, (int)i);
	round_self(r, draft_finish(d));
	snprintf(server, sizeof(server), "ZooKeeper %s", z->version);
	round_server(r, server);
}

static void tell_degraded(struct round *r, const struct sim_zk *z)
{
	size_t i, n = 0, first = 0;

	for (i = z->n_servers; i-- > 0;)
		if (!is_heard(z, i)) {
			first = i;
			n++;
		}
	if (n)
		round_degraded(r, "%zu of %zu servers can't be asked: %s:2181 does not answer", n,
			z->n_servers, z->servers[first].machine->thing.name);
}

/* ---- elections ---- */

static void tell_candidate(struct draft *d, const struct world *w, const struct sim_zk_node *node,
	uint32_t position, struct str *text)
{
	const struct sim_zk_session *session = node->session;
	char key[KEY_MAX];

	snprintf(key, sizeof(key), "zxid:%" PRId64, node->czxid);
	sim_zk_identity(text, node);
	draft_claim(d, position ? CLAIM_WAITER : CLAIM_HOLDER, text->s, text->len, key);
	if (position)
		draft_position(d, position);
	draft_text(d, DETAIL_ZNODE, sim_zk_path(text, node));
	draft_int(d, DETAIL_SESSION, session ? session->id : 0);
	draft_int(d, DETAIL_CZXID, node->czxid);
	draft_int(d, DETAIL_SEQUENCE, node->sequence);
	draft_int(d, DETAIL_DATA_VERSION, node->version);
	if (!session)
		return;
	draft_int(d, DETAIL_RENEWED, session->heard_ms);
	if (!position)
		return;
	/* The holder's times are the singleton's own. */
	draft_int(d, DETAIL_TTL_GRANTED, session->timeout_ms);
	draft_int(d, DETAIL_TTL_DEADLINE, session->expires_ms);
	draft_int(d, DETAIL_TTL_READ, world_now_ms(w));
}

/* The operator's name for a path. */
static void tell_name(const struct source_config *config, struct draft *d, const char *path)
{
	size_t i;

	for (i = 0; i < config->n_names; i++)
		if (str_eq(config->names[i].recipe, "literal") &&
			str_eq(config->names[i].value, path))
			draft_name(d, config->names[i].name);
}

static void tell_election(
	struct sim_source *s, struct round *r, const struct sim_zk_parent *parent, struct str *text)
{
	/* An id has one slash between the source and the path. */
	const char *path = parent->path + (parent->path[0] == '/');
	const struct sim_zk_node *node = parent->first;
	struct draft *d = round_draft(r);
	uint32_t position = 0;

	draft_begin(d, MECH_ZK_ELECTION, s->config->name, path, strlen(path));
	tell_name(s->config, d, path);
	draft_int(d, DETAIL_CONFIGURED, 1);
	if (node) {
		draft_token(d, TOKEN_CZXID, node->czxid);
		if (node->session)
			draft_lease(d, node->session->timeout_ms, node->session->expires_ms,
				world_now_ms(s->world));
	}
	for (; node; node = node->next)
		tell_candidate(d, s->world, node, position++, text);
	round_put(r, draft_finish(d));
}

int sim_zk_tell(struct sim_source *s, struct round *r, struct err *err)
{
	const struct sim_zk *z = (const struct sim_zk *)s->thing;
	const struct sim_zk_parent *parent;
	struct str text;
	int server = sim_zk_reach(s->world, z, err);

	tell_self(s, r, z);
	if (server < 0)
		return server;
	str_init(&text, PATH_MAX_BYTES);
	tell_degraded(r, z);
	round_hidden_clear(r);
	round_begin(r);
	for (parent = z->first_parent; parent; parent = parent->next)
		tell_election(s, r, parent, &text);
	round_end(r);
	round_cost(r, 1, 0, 0, 1);
	str_release(&text);
	return 0;
}

struct process *sim_zk_behind(struct sim_source *s, const struct singleton *row, const char *key)
{
	const struct sim_zk *z = (const struct sim_zk *)s->thing;
	const struct sim_zk_parent *parent;
	const struct sim_zk_node *node;
	char bound[KEY_MAX];

	(void)row;
	for (parent = z->first_parent; parent; parent = parent->next)
		for (node = parent->first; node; node = node->next) {
			snprintf(bound, sizeof(bound), "zxid:%" PRId64, node->czxid);
			if (str_eq(bound, key))
				return node->owner;
		}
	return NULL;
}
