#include "config.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "io/pg-explain.h"
#include "source/postgres-sql.h"
#include "source/sim-postgres.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the simulated server answers to the statements of a poll. */

static const char role[] = "baton";

enum {
	LOCKS_PER_TRANSACTION = 64, /* max_locks_per_transaction's default */
	HASHES_MOST = 1000
};

/* ---- the connection ---- */

static bool link_lives(void *arg)
{
	const struct simpg_link *link = arg;
	const struct process *p = link->view->server->process;

	return process_lives(p) && p->life == link->life;
}

static int not_there(const struct simpg_server *s, const char *place, struct err *err)
{
	char raw[256];

	if (!s->process->machine->up)
		return pg_explain_slow(PG_STAGE_REACH, place, SIM_PATIENCE_S, err);
	if (process_lives(s->process))
		return pg_explain_slow(PG_STAGE_SILENT, place, SIM_PATIENCE_S, err);
	snprintf(raw, sizeof(raw),
		"connection to server at \"%s\", port %d failed: Connection refused\n"
		"\tIs the server running on that host and accepting TCP/IP connections?\n",
		s->thing.name, s->port);
	return pg_explain(raw, place, role, err);
}

int simpg_link_open(void *arg, const char *database, struct pg **ret_pg, struct err *err)
{
	struct simpg_view *view = arg;
	struct simpg_server *s = view->server;
	struct simpg_link *link = NULL;
	char place[128], address[48];
	size_t i;

	simpg_address(view->world, s->process->machine, address);
	snprintf(place, sizeof(place), "%s:%d", address, s->port);
	if (!simpg_answers(s))
		return not_there(s, place, err);
	if (s->n_sessions >= s->max_connections)
		return pg_explain(
			"FATAL:  53300: sorry, too many clients already\n", place, role, err);
	if (!database)
		database = s->databases[0].name;
	for (i = 0; i < s->n_databases; i++)
		if (strcmp(s->databases[i].name, database) == 0)
			link = &view->links[i];
	if (!link)
		return err_set(err, ERR_NOTFOUND, "%s has no database \"%s\"", place, database);
	*link = (struct simpg_link){ view, simpg_database(s, database), s->process->life,
		s->process->pid + 1000 };
	*ret_pg = pg_inside_open(&(struct pg_inside){ .place = place,
		.user = role,
		.database = database,
		.version = s->version,
		.pid = link->pid,
		.arg = link,
		.answer = simpg_answer,
		.lives = link_lives });
	return 0;
}

/* ---- facts ---- */

static void answer_facts(const struct simpg_link *link, struct pg_rows **ret)
{
	const struct simpg_server *s = link->view->server;
	char version[128];
	size_t row;

	snprintf(version, sizeof(version),
		"PostgreSQL %d.%d on x86_64-pc-linux-gnu, compiled by "
		"gcc, 64-bit",
		s->version / 10000, s->version % 10000);
	*ret = pg_made(FACTS);
	row = pg_made_row(*ret);
	pg_made_int(*ret, row, F_PID, link->pid, 4);
	pg_made_text(*ret, row, F_TEXT, version);
	pg_made_int(*ret, row, F_READ_ONLY, 0, 1);
	pg_made_int(*ret, row, F_CAPACITY, LOCKS_PER_TRANSACTION * (int64_t)s->max_connections, 8);
	pg_made_int(*ret, row, F_KEEPALIVE_MS, s->keepalive_ms, 8);
	pg_made_int(*ret, row, F_IN_RECOVERY, s->in_recovery, 1);
	pg_made_int(*ret, row, F_SUPERUSER, 1, 1);
	pg_made_int(*ret, row, F_READS_ALL, 1, 1);
	pg_made_int(*ret, row, F_SIGNALS, 1, 1);
	pg_made_text(*ret, row, F_DATABASE, simpg_database_name(s, link->database));
	pg_made_text(*ret, row, F_ROLE, role);
	pg_made_text(*ret, row, F_ENCODING, "UTF8");
	pg_made_text(*ret, row, F_CLIENT, "10.0.0.2");
}

static void answer_control(const struct simpg_server *s, struct pg_rows **ret)
{
	*ret = pg_made(2);
	pg_made_row(*ret);
	pg_made_int(*ret, 0, 0, s->system_identifier, 8);
	pg_made_int(*ret, 0, 1, s->timeline, 4);
}

/* An element of an array of bytea, as pg_array_add_bytes wrote it: "\\x68656c6c6f". */
static size_t read_bytes(const char **at, char *out, size_t size)
{
	const char *s = strstr(*at, "\\\\x");
	size_t n = 0;

	if (!s) {
		*at += strlen(*at);
		return 0;
	}
	for (s += 3; *s && *s != '"' && n < size; s += 2) {
		char hex[3] = { s[0], s[1], '\0' };

		out[n++] = (char)strtol(hex, NULL, 16);
	}
	*at = s;
	return n;
}

static void answer_hashes(const char *list, struct pg_rows **ret)
{
	char text[4096];
	size_t n, row;

	*ret = pg_made(1);
	while (strstr(list, "\\\\x") && pg_rows(*ret) < HASHES_MOST) {
		n = read_bytes(&list, text, sizeof(text));
		row = pg_made_row(*ret);
		pg_made_int(*ret, row, 0, simpg_hashtext(text, n), 4);
	}
}

/* ---- the poll ---- */

const char *simpg_wait_event(const struct simpg_session *s)
{
	if (s->waits)
		return "Lock/advisory";
	if (s->vxid_pid)
		return "Lock/virtualxid";
	return s->state == SIMPG_ACTIVE ? NULL : "Client/ClientRead";
}

size_t simpg_rows(const struct simpg_session *s)
{
	const struct simpg_hold *h;
	size_t n = 0;

	for (h = s->owner.holds; h; h = h->next_of_owner)
		n += (size_t)simpg_hold_has(h, SIMPG_SHARE) + simpg_hold_has(h, SIMPG_EXCLUSIVE);
	return n;
}

static void add_blockers(struct pg_rows *to, size_t row, const struct simpg_session *s)
{
	int pids[64];
	size_t n = simpg_blockers(s, pids, ARRAY_LEN(pids)), i;
	struct str list;

	str_init(&list, 1024);
	for (i = 0; i < n; i++)
		str_addf(&list, "%s%d", i ? "," : "", pids[i]);
	pg_made_text(to, row, C_BLOCKED_BY, list.len ? list.s : "");
	str_release(&list);
}

static void add_session(struct pg_rows *to, const struct simpg_session *s, size_t held)
{
	size_t row = pg_made_row(to);

	pg_made_int(to, row, C_KIND, ROW_SESSION, 4);
	pg_made_int(to, row, C_PID, s->pid, 4);
	pg_made_int(to, row, C_DATABASE, s->database, 4);
	pg_made_time(to, row, C_AT, s->start_us);
	pg_made_text(to, row, C_NAME, s->application);
	pg_made_text(to, row, C_USER, s->user);
	pg_made_text(to, row, C_CLIENT, s->client);
	pg_made_text(to, row, C_STATE, simpg_state_word(s->state));
	pg_made_time(to, row, C_STATE_CHANGE, s->state_us);
	if (s->query_us)
		pg_made_time(to, row, C_QUERY_START, s->query_us);
	if (s->xact_us)
		pg_made_time(to, row, C_XACT_START, s->xact_us);
	pg_made_text(to, row, C_WAIT_EVENT, simpg_wait_event(s));
	pg_made_text(to, row, C_QUERY, s->query);
	pg_made_text(to, row, C_BACKEND_TYPE, "client backend");
	pg_made_int(to, row, C_SUPERUSER, 0, 1);
	if (s->waits || s->vxid_pid)
		add_blockers(to, row, s);
	pg_made_int(to, row, C_HELD, (int64_t)held, 8);
}

static void add_lock(struct pg_rows *to, const struct simpg_lock *l, int pid, enum simpg_mode mode,
	const struct simpg_prepared *p, int64_t since_us)
{
	size_t row = pg_made_row(to);

	pg_made_int(to, row, C_KIND, ROW_LOCK, 4);
	if (pid)
		pg_made_int(to, row, C_PID, pid, 4);
	pg_made_int(to, row, C_DATABASE, l->key.database, 4);
	pg_made_int(to, row, C_CLASSID, l->key.classid, 4);
	pg_made_int(to, row, C_OBJID, l->key.objid, 4);
	pg_made_int(to, row, C_OBJSUBID, l->key.objsubid, 2);
	pg_made_int(to, row, C_SHARE, mode == SIMPG_SHARE, 1);
	pg_made_int(to, row, C_FLAG, since_us == 0, 1);
	if (since_us)
		pg_made_time(to, row, C_AT, since_us);
	if (!p)
		return;
	pg_made_text(to, row, C_NAME, p->gid);
	pg_made_text(to, row, C_USER, p->user);
	pg_made_time(to, row, C_XACT_START, p->prepared_us);
}

/* Of locks that many sessions have the database decides which are read ($2). */
static bool wanted_database(
	const struct simpg_server *s, const struct simpg_lock *l, const char *databases)
{
	char quoted[SIMPG_NAME_MAX + 3];

	if (!databases)
		return true;
	snprintf(quoted, sizeof(quoted), "\"%s\"", simpg_database_name(s, l->key.database));
	return strstr(databases, quoted) != NULL;
}

static int64_t add_locks_of(struct pg_rows *to, const struct simpg_lock *l, int64_t room)
{
	const struct simpg_hold *h;
	const struct simpg_session *s;
	int64_t n = 0;
	int mode;

	for (h = l->holds; h; h = h->next_of_lock)
		for (mode = 0; mode < SIMPG_MODES; mode++) {
			const void *owner = h->owner;

			if (!simpg_hold_has(h, (enum simpg_mode)mode))
				continue;
			if (n++ < room)
				add_lock(to, l,
					h->owner->prepared
						? 0
						: ((const struct simpg_session *)owner)->pid,
					(enum simpg_mode)mode, h->owner->prepared ? owner : NULL,
					0);
		}
	for (s = l->queue; s; s = s->next_waiter)
		if (n++ < room)
			add_lock(to, l, s->pid, s->wait_mode, NULL, s->wait_us);
	return n;
}

/* Where there are more rows than are read, those of keys with a queue come first. */
static int64_t add_locks(struct pg_rows *to, const struct simpg_server *s, const char *databases,
	bool ordered, int64_t room)
{
	const struct simpg_lock *l;
	int64_t n = 0;
	int pass;

	for (pass = ordered ? 0 : 1; pass < 2; pass++)
		for (l = s->locks; l; l = l->next) {
			if (!wanted_database(s, l, databases) ||
				(ordered && (l->queue != NULL) != (pass == 0)))
				continue;
			n += add_locks_of(to, l, room - n);
		}
	return n;
}

static void answer_poll(const struct simpg_link *link, const char *sql, const char *const *values,
	size_t n_values, struct pg_rows **ret)
{
	struct simpg_server *s = link->view->server;
	const struct simpg_session *one;
	struct pg_rows *to = pg_made_over(COLUMNS, &link->view->spare);
	size_t row = pg_made_row(to), i;
	int64_t n;

	pg_made_int(to, row, C_KIND, ROW_SERVER, 4);
	pg_made_int(to, row, C_PID, link->pid, 4);
	pg_made_int(to, row, C_FLAG, s->in_recovery, 1);
	pg_made_time(to, row, C_AT, process_clock_us(link->view->world, s->process));
	for (i = 0; i < s->n_databases; i++) {
		size_t database = pg_made_row(to);

		pg_made_int(to, database, C_KIND, ROW_DATABASE, 4);
		pg_made_int(to, database, C_DATABASE, s->databases[i].oid, 4);
		pg_made_text(to, database, C_NAME, s->databases[i].name);
	}
	for (one = simpg_each(s, NULL); one; one = simpg_each(s, one))
		if (one->waits || one->owner.holds)
			add_session(to, one, simpg_rows(one));
	n = add_locks(to, s, n_values > 1 ? values[1] : NULL, strstr(sql, "queued") != NULL,
		strtoll(values[0], NULL, 10));
	pg_made_int(to, row, C_HELD, n, 8);
	*ret = to;
}

/* ---- all statements ---- */

static int connection_lost(const struct simpg_link *link, struct err *err)
{
	if (process_lives(link->view->server->process) && link_lives((void *)link))
		return pg_explain_slow(
			PG_STAGE_QUERY, link->view->server->thing.name, SIM_PATIENCE_S, err);
	return pg_explain_lost("server closed the connection unexpectedly\n"
			       "\tThis probably means the server terminated abnormally\n"
			       "\tbefore or while processing the request.\n",
		link->view->server->thing.name, role, err);
}

int simpg_answer(void *arg, const char *sql, const char *const *values, size_t n,
	struct pg_rows **ret_result, struct pg_refusal *refusal, struct err *err)
{
	struct simpg_link *link = arg;

	if (!simpg_answers(link->view->server) || !link_lives(link))
		return connection_lost(link, err);
	if (str_starts(sql, "WITH locks ")) {
		answer_poll(link, sql, values, n, ret_result);
	} else if (str_eq(sql, postgres_sql_facts)) {
		answer_facts(link, ret_result);
	} else if (str_eq(sql, postgres_sql_control)) {
		answer_control(link->view->server, ret_result);
	} else if (str_eq(sql, postgres_sql_settle)) {
		*ret_result = pg_made(5);
		pg_made_row(*ret_result);
	} else if (str_eq(sql, postgres_sql_hashes)) {
		answer_hashes(values[0], ret_result);
	} else if (!simpg_answer_act(link, sql, values, ret_result, refusal)) {
		snprintf(refusal->sqlstate, sizeof(refusal->sqlstate), "42601");
		snprintf(refusal->message, sizeof(refusal->message),
			"the built-in server does not know this statement");
	}
	return *refusal->sqlstate ? ERR_IO : 0;
}
