#include "config.h"

#include "base/mem.h"
#include "sim/postgres-recipe.h"
#include "sim/postgres-script.h"
#include "source/sim-postgres.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a scenario may write of PostgreSQL: servers, poolers, clients, faults. */

enum {
	NAME_SHOWN = 100,
	POOL_MOST = 1000
};

/* ---- names ---- */

static int too_few(const char *option, int64_t least, struct err *err)
{
	return err_set(err, ERR_CONFIG, "%s must be %lld or more", option, (long long)least);
}

static void copy_text(char to[SIMPG_NAME_MAX], const char *from)
{
	snprintf(to, SIMPG_NAME_MAX, "%s", from ? from : "");
}

/* ---- servers ---- */

static const struct option_def server_options[] = {
	{ "name", OPTION_TEXT, NULL, "The server's name; its process has the same.", NULL, NULL,
		true },
	{ "machine", OPTION_TEXT, NULL, "The machine that it runs on.", NULL, NULL, true },
	{ "database", OPTION_LIST, "app", "Its databases; the console connects to the first.", NULL,
		NULL, false },
	{ "primary", OPTION_TEXT, NULL,
		"The server whose standby it is: it has the same system identifier and databases, "
		"and takes no writes until it is promoted.",
		NULL, NULL, false },
	{ "lag", OPTION_DURATION, "0s", "How far a standby is behind its primary.", NULL, NULL,
		false },
	{ "timeline", OPTION_INT, "1", "The timeline that it writes.", NULL, NULL, false },
	{ "max_connections", OPTION_INT, "100", "The most sessions.", NULL, NULL, false },
	{ "deadlock_timeout", OPTION_DURATION, "1s",
		"After so long a session that waits is looked at for a deadlock.", NULL, NULL,
		false },
	{ "keepalive", OPTION_DURATION, "7875s",
		"After so long the server gives up a client that is silent and does not answer.",
		NULL, NULL, false },
	{ "client_connection_check_interval", OPTION_DURATION, "0s",
		"So often a session looks while its statement runs, or waits, whether its client "
		"is gone; 0s: only when it is over.",
		NULL, NULL, false },
	{ "step_down_channel", OPTION_TEXT, NULL,
		"The channel on which its holders LISTEN to be asked to step down (pg-lock: "
		"listens).",
		NULL, NULL, false },
	{ "fleet", OPTION_BOOL, "false",
		"Whether its process is a row of the source fleet, where it can be stopped and "
		"restarted.",
		NULL, NULL, false },
	{ "version", OPTION_INT, "160004", "Its version, as server_version_num has it.", NULL, NULL,
		false },
	{ 0 },
};

static int server_standby(
	struct world *w, struct simpg_server *s, const struct option_values *v, struct err *err)
{
	struct simpg_server *primary;
	size_t i;

	if (!option_value_set(v, "primary"))
		return 0;
	primary = (struct simpg_server *)sim_find(w, &simpg_ops, v, "primary", err);
	if (!primary)
		return ERR_CONFIG;
	s->primary = primary;
	s->in_recovery = true;
	s->system_identifier = primary->system_identifier;
	s->timeline = primary->timeline;
	s->lag_ms = option_value_int(v, "lag");
	for (i = 0; i < primary->n_databases; i++)
		simpg_database(s, primary->databases[i].name);
	return 0;
}

static int server_make(struct world *w, const struct option_values *v, struct err *err)
{
	const char *name = option_value_text(v, "name"), *item;
	struct machine *machine = (struct machine *)sim_find(w, &machine_ops, v, "machine", err);
	struct simpg_server *s;
	size_t i;
	int rc;

	if (!machine || sim_check_new(w, &simpg_ops, v, err) ||
		sim_check_new(w, &process_ops, v, err))
		return ERR_CONFIG;
	if (option_value_int(v, "max_connections") < 1)
		return too_few("max_connections", 1, err);
	s = simpg_new(w, name, machine);
	s->timeline = (int)option_value_int(v, "timeline");
	s->max_connections = (size_t)option_value_int(v, "max_connections");
	s->deadlock_ms = option_value_int(v, "deadlock_timeout");
	s->keepalive_ms = option_value_int(v, "keepalive");
	s->client_check_ms = option_value_int(v, "client_connection_check_interval");
	s->version = (int)option_value_int(v, "version");
	s->process->hidden = !option_value_int(v, "fleet");
	copy_text(s->channel, option_value_text(v, "step_down_channel"));
	rc = server_standby(w, s, v, err);
	for (i = 0; !rc && (item = option_value_item(v, "database", i)); i++)
		if (!simpg_database(s, item))
			rc = err_set(err, ERR_CONFIG, "a server has at most %d databases",
				SIMPG_DATABASES_MOST);
	process_start(w, s->process);
	return rc;
}

/* ---- poolers ---- */

static const struct option_def pooler_options[] = {
	{ "name", OPTION_TEXT, NULL, "The pooler's name.", NULL, NULL, true },
	{ "machine", OPTION_TEXT, NULL, "The machine that it runs on.", NULL, NULL, true },
	{ "server", OPTION_TEXT, NULL, "The server that it connects to.", NULL, NULL, true },
	{ "mode", OPTION_WORD, "transaction",
		"transaction: each transaction gets any session of the server, so that a lock "
		"that was taken for the session stays on it; session: a client keeps one.",
		"transaction|session", NULL, false },
	{ "size", OPTION_INT, "20", "How many sessions it opens (default_pool_size).", NULL, NULL,
		false },
	{ "round_robin", OPTION_BOOL, "false",
		"Whether the session is used that rested longest (server_round_robin), and not "
		"the one that was used last.",
		NULL, NULL, false },
	{ "add_host", OPTION_BOOL, "true",
		"Whether the application's name gets the client's address "
		"(application_name_add_host).",
		NULL, NULL, false },
	{ 0 },
};

static int pooler_make(struct world *w, const struct option_values *v, struct err *err)
{
	const char *name = option_value_text(v, "name");
	struct machine *machine = (struct machine *)sim_find(w, &machine_ops, v, "machine", err);
	struct simpg_server *server =
		machine ? (struct simpg_server *)sim_find(w, &simpg_ops, v, "server", err) : NULL;
	struct simpg_pooler *p;
	int64_t size = option_value_int(v, "size");

	if (!server || sim_check_new(w, &simpg_pooler_ops, v, err))
		return ERR_CONFIG;
	if (size < 1 || size > POOL_MOST)
		return err_set(err, ERR_CONFIG, "size must be 1 to %d", POOL_MOST);
	p = simpg_pooler_new(w, name, machine, server, (size_t)size);
	p->transaction = strcmp(option_value_text(v, "mode"), "transaction") == 0;
	p->round_robin = option_value_int(v, "round_robin");
	p->add_host = option_value_int(v, "add_host");
	return 0;
}

static const struct sim_thing things[] = {
	{ "postgres", "PostgreSQL servers.", server_options, server_make },
	{ "poolers", "Connection poolers before a PostgreSQL, as PgBouncer is one.", pooler_options,
		pooler_make },
	{ 0 },
};

/* ---- clients ---- */

#define CLIENT_OPTIONS                                                                             \
	{ "server", OPTION_LIST, NULL,                                                             \
		"The servers that it connects to, tried in turn until one takes writes; not with " \
		"through.",                                                                        \
		NULL, NULL, false },                                                               \
		{ "through", OPTION_TEXT, NULL, "The pooler that it connects to.", NULL, NULL,     \
			false },                                                                   \
		{ "database", OPTION_TEXT, "app", "The database.", NULL, NULL, false },            \
		{ "user", OPTION_TEXT, "app", "The role.", NULL, NULL, false },                    \
		{ "application", OPTION_TEXT, NULL,                                                \
			"Its application_name; by default the process' identity.", NULL, NULL,     \
			false },                                                                   \
	{                                                                                          \
		"timeout", OPTION_DURATION, "5s",                                                  \
			"How long it waits for the answer to a connection or a short statement.",  \
			NULL, NULL, false                                                          \
	}

#define LOCK_OPTIONS                                                                               \
	CLIENT_OPTIONS,                                                                            \
		{ "key", OPTION_TEXT, NULL, "The lock: a number, or a pair (7,-9).", NULL, NULL,   \
			true },                                                                    \
		{ "mode", OPTION_WORD, "exclusive", "The mode.", "exclusive|share", NULL, false }, \
		{ "level", OPTION_WORD, "session",                                                 \
			"Whether the lock is taken for the session or for a transaction, which "   \
			"stays open while it has it.",                                             \
			"session|transaction", NULL, false },                                      \
		{ "duty", OPTION_TEXT, NULL, "The work that it does while it leads.", NULL, NULL,  \
			false },                                                                   \
		{ "believes", OPTION_WORD, "checked",                                              \
			"checked: it works until a look at its session fails; forever: it works "  \
			"on whatever becomes of its session.",                                     \
			"checked|forever", NULL, false },                                          \
		{ "checks", OPTION_DURATION, "10s",                                                \
			"It looks at its session so often (SELECT 1); 0: never.", NULL, NULL,      \
			false },                                                                   \
		{ "hold", OPTION_DURATION, "0s", "It lets go after so long; 0: not by itself.",    \
			NULL, NULL, false },                                                       \
		{ "again", OPTION_DURATION, NULL,                                                  \
			"After it let go, it asks again after so long; by default never.", NULL,   \
			NULL, false },                                                             \
		{ "ends", OPTION_BOOL, "false", "When it is done, its process ends.", NULL, NULL,  \
			false },                                                                   \
		{ "listens", OPTION_TEXT, NULL, "The channel on which it is asked to step down.",  \
			NULL, NULL, false },                                                       \
		{ "builds", OPTION_TEXT, NULL,                                                     \
			"A statement that it executes while it has the lock; then it lets go.",    \
			NULL, NULL, false },                                                       \
		{ "build_time", OPTION_DURATION, "0s", "How long that takes.", NULL, NULL,         \
			false },                                                                   \
	{                                                                                          \
		"build_waits", OPTION_BOOL, "false",                                               \
			"Whether that statement waits at its end for older transactions, as "      \
			"CREATE INDEX CONCURRENTLY does.",                                         \
			NULL, NULL, false                                                          \
	}

static const struct option_def lock_options[] = {
	LOCK_OPTIONS,
	{ "retry", OPTION_DURATION, "5s", "It connects or asks again so long after a failure.",
		NULL, NULL, false },
	{ "lock_timeout", OPTION_DURATION, "0s", "It gives up waiting after so long; 0: never.",
		NULL, NULL, false },
	{ "prepares", OPTION_TEXT, NULL,
		"The global id under which it prepares its transaction (level: transaction) "
		"instead of letting go: nobody finishes it.",
		NULL, NULL, false },
	{ 0 },
};

static const struct option_def try_options[] = {
	LOCK_OPTIONS,
	{ "every", OPTION_DURATION, "5s", "It tries so often.", NULL, NULL, false },
	{ 0 },
};

static int client_make(
	struct world *w, struct simpg_client *c, const struct option_values *v, struct err *err)
{
	const char *item;
	size_t i;

	copy_text(c->login.database, option_value_text(v, "database"));
	copy_text(c->login.user, option_value_text(v, "user"));
	copy_text(c->login.application, option_value_text(v, "application"));
	c->timeout_ms = option_value_int(v, "timeout");
	if (option_value_set(v, "through")) {
		c->through =
			(struct simpg_pooler *)sim_find(w, &simpg_pooler_ops, v, "through", err);
		return c->through ? 0 : ERR_CONFIG;
	}
	for (i = 0; (item = option_value_item(v, "server", i)); i++) {
		struct simpg_server *s = simpg_find(w, item);

		if (!s)
			return err_set(
				err, ERR_CONFIG, "there is no postgres '%.*s'", NAME_SHOWN, item);
		if (i == SIMPG_SERVERS_MOST)
			return err_set(err, ERR_CONFIG, "at most %d servers are tried",
				SIMPG_SERVERS_MOST);
		c->servers[c->n_servers++] = s;
	}
	/* Of one server alone, whatever it is. */
	c->login.any = c->n_servers == 1;
	return c->n_servers ? 0 : err_set(err, ERR_CONFIG, "server or through must be said");
}

static int lock_key(struct simpg_locker *l, const struct option_values *v, struct err *err)
{
	const char *text = option_value_text(v, "key");
	struct simpg_key key;

	if (!simpg_key_read(text, 0, &key))
		return err_set(err, ERR_CONFIG, "key '%.*s' is neither a number nor a pair (7,-9)",
			NAME_SHOWN, text);
	l->key = (int64_t)((uint64_t)key.classid << 32 | key.objid);
	if (key.objsubid == 2)
		l->flags |= SIMPG_FLAG_PAIR;
	if (strcmp(option_value_text(v, "mode"), "share") == 0)
		l->flags |= SIMPG_FLAG_SHARE;
	if (strcmp(option_value_text(v, "level"), "transaction") == 0)
		l->flags |= SIMPG_FLAG_TRANSACTION;
	return 0;
}

static void lock_build(struct simpg_locker *l, const struct option_values *v)
{
	if (!option_value_set(v, "builds"))
		return;
	snprintf(l->build, sizeof(l->build), "%s", option_value_text(v, "builds"));
	l->build_ms = option_value_int(v, "build_time");
	l->build_flags = SIMPG_FLAG_WRITES;
	if (strstr(l->build, "CONCURRENTLY"))
		l->build_flags |= SIMPG_FLAG_CONCURRENTLY;
	if (option_value_int(v, "build_waits"))
		l->build_flags |= SIMPG_FLAG_OLDER;
}

static int locker_make(
	struct world *w, struct simpg_locker *l, const struct option_values *v, struct err *err)
{
	const char *listens = option_value_text(v, "listens");
	int rc = client_make(w, &l->client, v, err);

	if (!rc)
		rc = lock_key(l, v, err);
	if (!rc && option_value_set(v, "duty")) {
		l->duty = (struct duty *)sim_find(w, &duty_ops, v, "duty", err);
		rc = l->duty ? 0 : ERR_CONFIG;
	}
	if (rc)
		return rc;
	l->belief = strcmp(option_value_text(v, "believes"), "forever") == 0
			    ? SIMPG_BELIEVES_FOREVER
			    : SIMPG_BELIEVES_CHECKED;
	l->checks_ms = option_value_int(v, "checks");
	l->hold_ms = option_value_int(v, "hold");
	l->again_ms = option_value_set(v, "again") ? option_value_int(v, "again") : -1;
	l->ends = option_value_int(v, "ends");
	if (listens)
		snprintf(l->channel, sizeof(l->channel), "%s", listens);
	lock_build(l, v);
	return 0;
}

static int lock_make(
	struct world *w, struct process *p, const struct option_values *v, struct err *err)
{
	struct simpg_locker *l = simpg_locker_new(p);
	int rc = locker_make(w, l, v, err);

	if (rc)
		return rc;
	l->every_ms = option_value_int(v, "retry");
	l->lock_timeout_ms = option_value_int(v, "lock_timeout");
	if (option_value_set(v, "prepares")) {
		if (!(l->flags & SIMPG_FLAG_TRANSACTION))
			return err_set(err, ERR_CONFIG, "prepares needs level: transaction");
		snprintf(l->gid, sizeof(l->gid), "%s", option_value_text(v, "prepares"));
		l->hold_ms = l->hold_ms ? l->hold_ms : 1;
	}
	return 0;
}

static int try_make(
	struct world *w, struct process *p, const struct option_values *v, struct err *err)
{
	struct simpg_locker *l = simpg_locker_new(p);

	l->tries = true;
	l->every_ms = option_value_int(v, "every");
	if (l->every_ms < 1)
		return err_set(err, ERR_CONFIG, "every must be more than 0");
	return locker_make(w, l, v, err);
}

static const struct option_def session_options[] = {
	CLIENT_OPTIONS,
	{ "query", OPTION_TEXT, "SELECT 1", "What it executes.", NULL, NULL, false },
	{ "runs", OPTION_DURATION, "0s", "How long that takes.", NULL, NULL, false },
	{ "every", OPTION_DURATION, NULL,
		"So long after its end it executes it again; by default never: it sits idle.", NULL,
		NULL, false },
	{ "transaction", OPTION_BOOL, "false",
		"Whether it is in a transaction all the time, which it never ends.", NULL, NULL,
		false },
	{ "writes", OPTION_BOOL, "false", "Whether it changes rows.", NULL, NULL, false },
	{ 0 },
};

static int session_make(
	struct world *w, struct process *p, const struct option_values *v, struct err *err)
{
	struct simpg_user *u = simpg_user_new(p);

	snprintf(u->query, sizeof(u->query), "%s", option_value_text(v, "query"));
	u->runs_ms = option_value_int(v, "runs");
	u->every_ms = option_value_set(v, "every") ? option_value_int(v, "every") : -1;
	u->block = option_value_int(v, "transaction");
	if (option_value_int(v, "writes"))
		u->flags |= SIMPG_FLAG_WRITES;
	if (strstr(u->query, "CONCURRENTLY"))
		u->flags |= SIMPG_FLAG_CONCURRENTLY;
	return client_make(w, &u->client, v, err);
}

static const struct option_def script_options[] = {
	CLIENT_OPTIONS,
	{ "says", OPTION_LIST, NULL,
		"What it says, each at its time after the process' start: \"2s lock 42\", \"2s "
		"lock "
		"(7,-9) share transaction\", \"3s try 42\", \"4s unlock 42\", \"5s begin\", \"5s "
		"commit\", \"6s prepare tx-9\", \"7s listen hand\", \"8s run 30s SELECT 1\", \"9s "
		"close\", \"10s connect\".",
		NULL, NULL, true },
	{ 0 },
};

static int script_make(
	struct world *w, struct process *p, const struct option_values *v, struct err *err)
{
	struct simpg_script *s = simpg_script_new(p);
	const char *item;
	size_t i;
	int rc = client_make(w, &s->client, v, err);

	for (i = 0; !rc && (item = option_value_item(v, "says", i)); i++)
		rc = simpg_script_add(s, item, err);
	return rc;
}

static const struct sim_program programs[] = {
	{ "pg-lock",
		"Works while it has an advisory lock, for which it waits in the queue "
		"(pg_advisory_lock).",
		lock_options, lock_make },
	{ "pg-try-lock",
		"Works while it has an advisory lock, for which it asks again and again "
		"(pg_try_advisory_lock): nobody sees it wait.",
		try_options, try_make },
	{ "pg-session", "Uses a session for something else.", session_options, session_make },
	{ "pg-script", "Says to its server what a list tells it to.", script_options, script_make },
	{ 0 },
};

/* ---- faults ---- */

static const struct option_def promote_options[] = {
	{ "server", OPTION_TEXT, NULL, "The standby.", NULL, NULL, true },
	{ 0 },
};

static int promote_apply(
	struct world *w, const struct option_values *v, bool check, struct err *err)
{
	struct simpg_server *s = (struct simpg_server *)sim_find(w, &simpg_ops, v, "server", err);

	if (!s)
		return ERR_CONFIG;
	if (check)
		return s->primary ? 0
				  : err_set(err, ERR_CONFIG, "'%s' is no standby", s->thing.name);
	simpg_promote(w, s);
	return 0;
}

static const struct option_def process_options[] = {
	{ "process", OPTION_TEXT, NULL, "The process whose sessions they are.", NULL, NULL, true },
	{ 0 },
};

/* Calls it for each session of the process, on all servers. */
static int each_session(struct world *w, const struct option_values *v, bool check, struct err *err,
	void (*fn)(struct world *w, struct simpg_session *s))
{
	struct process *p = (struct process *)sim_find(w, &process_ops, v, "process", err);
	struct thing *t = NULL;

	if (!p)
		return ERR_CONFIG;
	while (!check && (t = world_each(w, &simpg_ops, t)) != NULL) {
		struct simpg_server *server = (struct simpg_server *)t;
		struct simpg_session *s, *next;

		for (s = simpg_each(server, NULL); s; s = next) {
			next = simpg_each(server, s);
			if (s->process == p && !s->pooler)
				fn(w, s);
		}
	}
	return 0;
}

static void half_open(struct world *w, struct simpg_session *s)
{
	world_tell(w, HAPPENING_FAULT, s->process->thing.name, s->server->thing.name, 0,
		"a firewall forgets the connection of %s to %s: both ends keep it, and nothing "
		"passes",
		s->process->thing.name, s->server->thing.name);
	simpg_client_gone(w, s, false);
}

static int half_open_apply(
	struct world *w, const struct option_values *v, bool check, struct err *err)
{
	return each_session(w, v, check, err, half_open);
}

static void kill_connection(struct world *w, struct simpg_session *s)
{
	world_tell(w, HAPPENING_FAULT, s->process->thing.name, s->server->thing.name, 0,
		"the connection of %s to %s is cut off", s->process->thing.name,
		s->server->thing.name);
	simpg_close_session(w, s, SIMPG_LOST);
}

static int kill_connection_apply(
	struct world *w, const struct option_values *v, bool check, struct err *err)
{
	return each_session(w, v, check, err, kill_connection);
}

static void in_transaction(struct world *w, struct simpg_session *s)
{
	if (s->state != SIMPG_IDLE)
		return;
	simpg_statement_begin(w, s, NULL, "BEGIN");
	s->block = true;
	simpg_statement_end(w, s, SIMPG_OK, 0);
	world_tell(w, HAPPENING_FAULT, s->process->thing.name, s->server->thing.name, 0,
		"%s forgets a transaction open", s->process->thing.name);
}

static int in_transaction_apply(
	struct world *w, const struct option_values *v, bool check, struct err *err)
{
	return each_session(w, v, check, err, in_transaction);
}

static const struct option_def restart_options[] = {
	{ "server", OPTION_TEXT, NULL, "The server.", NULL, NULL, true },
	{ 0 },
};

static int restart_apply(
	struct world *w, const struct option_values *v, bool check, struct err *err)
{
	struct simpg_server *s = (struct simpg_server *)sim_find(w, &simpg_ops, v, "server", err);

	if (!s)
		return ERR_CONFIG;
	if (!check)
		process_end(w, s->process, PROCESS_END_KILLED);
	return 0;
}

static const struct option_def lag_options[] = {
	{ "server", OPTION_TEXT, NULL, "The standby.", NULL, NULL, true },
	{ "lag", OPTION_DURATION, NULL, "How far it is behind from now on.", NULL, NULL, true },
	{ 0 },
};

static int lag_apply(struct world *w, const struct option_values *v, bool check, struct err *err)
{
	struct simpg_server *s = (struct simpg_server *)sim_find(w, &simpg_ops, v, "server", err);

	if (!s)
		return ERR_CONFIG;
	if (!check)
		s->lag_ms = option_value_int(v, "lag");
	return 0;
}

static const struct option_def limit_options[] = {
	{ "server", OPTION_TEXT, NULL, "The server.", NULL, NULL, true },
	{ "most", OPTION_INT, NULL, "It takes so many sessions from now on.", NULL, NULL, true },
	{ 0 },
};

static int limit_apply(struct world *w, const struct option_values *v, bool check, struct err *err)
{
	struct simpg_server *s = (struct simpg_server *)sim_find(w, &simpg_ops, v, "server", err);

	if (!s)
		return ERR_CONFIG;
	if (option_value_int(v, "most") < 0)
		return too_few("most", 0, err);
	if (!check)
		s->max_connections = (size_t)option_value_int(v, "most");
	return 0;
}

static const struct option_def pooler_mode_options[] = {
	{ "pooler", OPTION_TEXT, NULL, "The pooler.", NULL, NULL, true },
	{ "mode", OPTION_WORD, "transaction", "Its mode from now on.", "transaction|session", NULL,
		false },
	{ 0 },
};

static int pooler_mode_apply(
	struct world *w, const struct option_values *v, bool check, struct err *err)
{
	struct simpg_pooler *p =
		(struct simpg_pooler *)sim_find(w, &simpg_pooler_ops, v, "pooler", err);

	if (!p)
		return ERR_CONFIG;
	if (!check)
		p->transaction = strcmp(option_value_text(v, "mode"), "transaction") == 0;
	return 0;
}

static const struct sim_fault faults[] = {
	{ "promote", "A standby is made a primary; the old one is not told, and lives on.",
		promote_options, promote_apply },
	{ "half-open",
		"Nothing passes any more on a process' connections to PostgreSQL, and neither end "
		"is told.",
		process_options, half_open_apply },
	{ "kill-connection", "A process' connections to PostgreSQL are cut off.", process_options,
		kill_connection_apply },
	{ "idle-in-transaction", "A process leaves a transaction open in its idle sessions.",
		process_options, in_transaction_apply },
	{ "restart-postgres", "A server ends all its sessions and starts again.", restart_options,
		restart_apply },
	{ "standby-lag", "A standby falls behind, or catches up.", lag_options, lag_apply },
	{ "connections-full", "A server takes no more sessions than so many.", limit_options,
		limit_apply },
	{ "pooler-mode", "A pooler's mode is changed.", pooler_mode_options, pooler_mode_apply },
	{ 0 },
};

const struct sim_part sim_part_postgres = {
	.word = "postgres",
	.things = things,
	.programs = programs,
	.faults = faults,
	.views = simpg_views,
};
