#include "config.h"

#include "source/postgres.h"
#include "source/postgres-act.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "io/pg.h"
#include "source/postgres-sql.h"
#include "source/report.h"
#include "source/source.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void report_connection(const struct postgres *p, struct report *report)
{
	struct str place, role, database;

	report_add(report, "ok", "connection", NULL, "%s, database %s, role %s, %s",
		report_shown(&place, pg_place(p->pg)), report_shown(&database, p->facts.database),
		report_shown(&role, p->facts.role),
		pg_is_encrypted(p->pg) ? "encrypted"
		: pg_is_local(p->pg)   ? "by a local socket"
				       : "not encrypted");
	str_release(&place);
	str_release(&role);
	str_release(&database);
}

static void report_version(const struct postgres *p, struct report *report)
{
	struct str text;

	report_shown(&text, p->facts.text);
	if (p->pretends)
		report_add(report, "fail", "version",
			"Whether its advisory locks exclude anything must be asked of its maker.",
			"%s: not PostgreSQL itself, what is seen here means little", text.s);
	else
		report_add(report, "ok", "version", NULL, "%s", text.s);
	str_release(&text);
}

static void report_standing(const struct postgres *p, struct report *report)
{
	const struct pg_facts *f = &p->facts;

	if (f->in_recovery)
		report_add(report, "warn", "standby",
			"Watch the primary: locks that are held here exclude nobody there.",
			"this server is a standby%s", f->read_only ? ", read only by default" : "");
	else
		report_add(report, "ok", "primary", NULL, "this server is writable%s",
			f->read_only ? " (transactions are read only by default)" : "");
	if (f->system_identifier != TIME_UNKNOWN)
		report_add(report, "ok", "identity", NULL,
			"system identifier %" PRIu64 ", timeline %" PRId64,
			(uint64_t)f->system_identifier, f->timeline);
	else if (f->control_refused)
		report_add(report, "note", "identity",
			"GRANT EXECUTE ON FUNCTION pg_control_system(), pg_control_checkpoint() TO "
			"the role",
			"system identifier and timeline are hidden: two primaries of one system "
			"can't be "
			"told");
}

static void report_sight(const struct postgres *p, struct report *report)
{
	const struct pg_facts *f = &p->facts;
	struct str grant;

	str_init(&grant, 1024);
	str_add(&grant, "GRANT pg_read_all_stats TO ");
	text_escape_cut(&grant, f->role, strlen(f->role), 128);
	if (f->reads_all)
		report_add(report, "ok", "sight", NULL, "sessions of all roles are seen whole (%s)",
			f->superuser ? "superuser" : "pg_read_all_stats");
	else
		report_add(report, "warn", "sight", grant.s,
			"of sessions of other roles only the process id, the role and the name are "
			"shown: "
			"not since when, from where, in which state");
	str_clear(&grant);
	str_add(&grant, "GRANT pg_signal_backend TO ");
	text_escape_cut(&grant, f->role, strlen(f->role), 128);
	if (f->superuser)
		report_add(report, "ok", "signals", NULL, "may end any session (superuser)");
	else if (f->signals)
		report_add(report, "ok", "signals", NULL,
			"may end sessions, except a superuser's (pg_signal_backend)");
	else
		report_add(report, "note", "signals", grant.s,
			"may end sessions of its own role only");
	str_release(&grant);
}

/* What the verbs need beside signals; their needs stand in postgres-act.c. */
static void report_acts(const struct postgres *p, struct report *report)
{
	const char *channel = source_option_text(p->config, "step_down_channel");

	if (p->pooling != POOLING_NONE)
		report_add(report, "note", "acts", "Connect to the server itself.",
			"nothing can be done through a pooler: whose session it would be can't be "
			"told");
	else if (!channel || !*channel)
		report_add(report, "note", "step-down",
			"Where holders LISTEN on a channel, name it in step_down_channel.",
			"no session can be asked to step down");
	else if (p->facts.in_recovery)
		report_add(report, "note", "step-down", "Ask on the primary.",
			"on a standby NOTIFY does not work: no session can be asked to step down");
	else
		report_add(report, "ok", "step-down", NULL,
			"sessions are asked on the channel of step_down_channel");
}

static void report_pooler(const struct postgres *p, struct report *report)
{
	if (p->pooling == POOLING_NONE)
		report_add(report, "ok", "pooler", NULL,
			"none: the process that was named when connecting is the one that answers");
	else
		report_add(report, "warn", "pooler",
			"Connect to the server itself: host and port of PostgreSQL, not of the "
			"pooler.",
			"a connection pooler stands between: each poll is a transaction of its "
			"own%s",
			p->pooling == POOLING_STATEMENT
				? ", or would be, if the pooler allowed transactions"
				: "");
}

static void report_locks(const struct postgres *p, const struct pg_moment *m, struct report *report)
{
	if (p->facts.capacity != TIME_UNKNOWN)
		report_add(report, "ok", "locks", NULL,
			"%" PRId64 " advisory lock rows; the lock table has room for about %" PRId64
			" locks; one poll took %" PRId64 " ms",
			m->total, p->facts.capacity, m->round_trip_ms);
	if (m->total > source_option_int(p->config, "rows"))
		report_add(report, "warn", "rows", "Raise the option rows.",
			"only %" PRId64 " of %" PRId64 " rows are read, those with a queue first",
			source_option_int(p->config, "rows"), m->total);
}

static void report_names(const struct postgres *p, struct report *report)
{
	struct str path;
	size_t i;

	for (i = 0; i < p->n_named; i++) {
		const struct pg_named *named = &p->named[i];

		if (!named->known)
			continue;
		str_init(&path, 1024);
		pg_key_write(&path, named->key);
		report_add(report, "ok", "name", NULL, "%s is key %s", named->name->name, path.s);
		str_release(&path);
	}
}

/* A database that the config speaks of and the server does not have: its locks are never seen. */
static int examine_database(struct postgres *p, const char *name, const struct pg_limit *limit,
	struct report *report, struct err *err)
{
	struct pg_rows *rows;
	struct str shown;
	int rc = pg_query(p->pg, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1::text)",
		&name, 1, limit, &rows, err);

	if (rc)
		return rc;
	report_shown(&shown, name);
	if (!pg_flag(rows, 0, 0))
		report_add(report, "warn", "database", "Correct the config, or create it.",
			"there is no database %s: none of its locks can be seen", shown.s);
	str_release(&shown);
	pg_result_free(rows);
	return 0;
}

/* Whether an earlier one of the names is in the same database. */
static bool is_examined(const struct postgres *p, size_t named)
{
	size_t i;

	for (i = 0; i < named; i++)
		if (p->named[i].database &&
			strcmp(p->named[i].database, p->named[named].database) == 0)
			return true;
	return false;
}

static int examine_databases(
	struct postgres *p, const struct pg_limit *limit, struct report *report, struct err *err)
{
	const char *name;
	int rc = 0;
	size_t i;

	for (i = 0; !rc && (name = source_option_item(p->config, "databases", i)); i++)
		rc = examine_database(p, name, limit, report, err);
	for (i = 0; !rc && i < p->n_named; i++)
		if (p->named[i].database && !is_examined(p, i))
			rc = examine_database(p, p->named[i].database, limit, report, err);
	return rc;
}

int postgres_examine(void *state, struct round *r, struct report *report, struct err *err)
{
	struct postgres *p = state;
	struct pg_limit limit = postgres_limit(r);
	struct pg_moment moment = { 0 };
	struct pg_rows *result;
	int rc = postgres_session_open(p, &limit, err);

	if (rc) {
		report_add(report, "fail", "connection", NULL, "%s", err->text);
		return rc;
	}
	report_connection(p, report);
	report_version(p, report);
	rc = postgres_ask(p, r, &limit, &result, &moment, err);
	report_standing(p, report);
	report_sight(p, report);
	report_pooler(p, report);
	report_acts(p, report);
	if (rc) {
		report_add(report, "fail", "locks", NULL, "%s", err->text);
		return p->pretends ? 0 : rc;
	}
	report_locks(p, &moment, report);
	report_names(p, report);
	pg_result_free(result);
	return examine_databases(p, &limit, report, err);
}
