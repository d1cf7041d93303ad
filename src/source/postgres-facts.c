#include "config.h"

#include "source/postgres.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "io/pg.h"
#include "source/postgres-sql.h"
#include "source/source.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void postgres_facts_release(struct pg_facts *facts)
{
	free(facts->text);
	free(facts->database);
	free(facts->role);
	free(facts->encoding);
	free(facts->client);
	memset(facts, 0, sizeof(*facts));
}

static char *text_of(const struct pg_rows *rows, enum pg_fact column)
{
	const char *text = pg_text(rows, 0, column, NULL);

	return xstrdup(text ? text : "");
}

static int64_t number_of(const struct pg_rows *rows, size_t column)
{
	int64_t value = TIME_UNKNOWN;

	pg_int(rows, 0, column, &value);
	return value;
}

static bool flag_of(const struct pg_rows *rows, enum pg_fact column)
{
	return number_of(rows, column) > 0;
}

static void keep_facts(struct postgres *p, const struct pg_rows *rows)
{
	struct pg_facts *f = &p->facts;

	postgres_facts_release(f);
	f->text = text_of(rows, F_TEXT);
	f->database = text_of(rows, F_DATABASE);
	f->role = text_of(rows, F_ROLE);
	f->encoding = text_of(rows, F_ENCODING);
	f->client = text_of(rows, F_CLIENT);
	f->version = pg_version(p->pg);
	f->capacity = number_of(rows, F_CAPACITY);
	f->keepalive_ms = number_of(rows, F_KEEPALIVE_MS);
	f->read_only = flag_of(rows, F_READ_ONLY);
	f->in_recovery = flag_of(rows, F_IN_RECOVERY);
	f->superuser = flag_of(rows, F_SUPERUSER);
	f->reads_all = f->superuser || flag_of(rows, F_READS_ALL);
	f->signals = f->superuser || flag_of(rows, F_SIGNALS);
	f->system_identifier = f->timeline = TIME_UNKNOWN;
}

/* A server that only resembles PostgreSQL may know its version, and no more. */
static int keep_version(struct postgres *p, const struct pg_limit *limit, struct err *err)
{
	struct pg_rows *rows;
	int rc = pg_query(p->pg, "SELECT pg_catalog.version()", NULL, 0, limit, &rows, err);
	const char *text;

	if (rc)
		return rc;
	postgres_facts_release(&p->facts);
	text = pg_text(rows, 0, 0, NULL);
	p->facts.text = xstrdup(text ? text : "");
	p->facts.database = xstrdup(pg_database(p->pg));
	p->facts.role = xstrdup(pg_user(p->pg));
	p->facts.encoding = xstrdup("");
	p->facts.client = xstrdup("");
	p->facts.version = pg_version(p->pg);
	p->facts.capacity = p->facts.keepalive_ms = TIME_UNKNOWN;
	p->facts.system_identifier = p->facts.timeline = TIME_UNKNOWN;
	pg_result_free(rows);
	return 0;
}

static int read_control(struct postgres *p, const struct pg_limit *limit, struct err *err)
{
	struct pg_rows *rows;
	int rc = pg_query(p->pg, postgres_sql_control, NULL, 0, limit, &rows, err);

	if (rc && (pg_is_broken(p->pg) || !*pg_sqlstate(p->pg)))
		return rc;
	p->facts.control_refused = rc == ERR_DENIED;
	if (rc)
		return 0;
	p->facts.system_identifier = number_of(rows, 0);
	p->facts.timeline = number_of(rows, 1);
	pg_result_free(rows);
	return 0;
}

/* The first process id decides whether somebody stands between. */
static void look_for_pooler(struct postgres *p, int64_t pid)
{
	if (p->pooling == POOLING_NONE && pid != pg_told_pid(p->pg))
		p->pooling = p->no_transactions ? POOLING_STATEMENT : POOLING_TRANSACTION;
}

int postgres_facts_read(struct postgres *p, const struct pg_limit *limit, struct err *err)
{
	struct pg_rows *rows;
	int rc = pg_query(p->pg, postgres_sql_facts, NULL, 0, limit, &rows, err);

	if (rc && (pg_is_broken(p->pg) || !*pg_sqlstate(p->pg)))
		return rc;
	if (rc) {
		rc = keep_version(p, limit, err);
		if (rc == 0 && !str_starts(p->facts.text, "PostgreSQL "))
			p->pretends = true;
	} else {
		keep_facts(p, rows);
		look_for_pooler(p, number_of(rows, F_PID));
		p->pretends = !str_starts(p->facts.text, "PostgreSQL ");
		pg_result_free(rows);
		rc = read_control(p, limit, err);
	}
	p->facts.read_at_ms = clock_mono_ms(limit->clock);
	return rc;
}

static void add_number(struct draft *d, enum detail_id id, int64_t value)
{
	if (value != TIME_UNKNOWN)
		draft_int(d, id, value);
}

static void add_moment(struct draft *d, const struct pg_moment *m)
{
	add_number(d, DETAIL_SERVER_TIME, m->server_us);
	add_number(d, DETAIL_READ_AT, m->read_us);
	add_number(d, DETAIL_ROUND_TRIP, m->round_trip_ms);
	draft_int(d, DETAIL_LOCK_ROWS, m->total);
	if (m->total > (int64_t)m->n_rows)
		draft_int(d, DETAIL_ROWS_CUT, m->total - (int64_t)m->n_rows);
}

static void tell_self(struct postgres *p, struct round *r, const struct pg_moment *moment)
{
	const struct pg_facts *f = &p->facts;
	struct draft *d = round_draft(r);

	draft_begin(d, MECH_SOURCE, p->config->name, "", 0);
	draft_text(d, DETAIL_SERVER_ADDRESS, pg_place(p->pg));
	draft_text(d, DETAIL_SERVER_TEXT, f->text);
	draft_int(d, DETAIL_SERVER_VERSION, f->version);
	draft_int(d, DETAIL_READ_ONLY, f->read_only);
	draft_int(d, DETAIL_IN_RECOVERY, moment ? moment->in_recovery : f->in_recovery);
	if (f->control_refused) {
		draft_hidden(d, DETAIL_SYSTEM_IDENTIFIER);
		draft_hidden(d, DETAIL_TIMELINE);
	}
	add_number(d, DETAIL_SYSTEM_IDENTIFIER, f->system_identifier);
	add_number(d, DETAIL_TIMELINE, f->timeline);
	add_number(d, DETAIL_LOCK_CAPACITY, f->capacity);
	add_number(d, DETAIL_KEEPALIVE_HORIZON, f->keepalive_ms);
	if (moment)
		add_moment(d, moment);
	round_self(r, draft_finish(d));
}

/* An identifier as SQL takes it, for a grant that can be pasted. */
static void add_identifier(struct str *out, const char *name)
{
	str_add_char(out, '"');
	for (; *name; name++) {
		if (*name == '"')
			str_add_char(out, '"');
		str_add_char(out, *name);
	}
	str_add_char(out, '"');
}

/* Only the locks of some databases are looked at. */
static void tell_databases(struct postgres *p, struct round *r)
{
	const char **paths, *name;
	struct str path;
	size_t n = 0, i;

	while (source_option_item(p->config, "databases", n))
		n++;
	if (!n)
		return;
	paths = xcalloc(n + 1, sizeof(*paths));
	for (i = 0; i < n; i++) {
		name = source_option_item(p->config, "databases", i);
		str_init(&path, SIZE_MAX / 4);
		text_escape(&path, name, strlen(name));
		str_add_char(&path, ':');
		paths[i] = str_take(&path);
	}
	round_unlooked(r, "locks of other databases than the config names",
		"databases in the config of this source", paths, 0);
	for (i = 0; i < n; i++)
		free((char *)(uintptr_t)paths[i]);
	free(paths);
}

static void tell_hidden(struct postgres *p, struct round *r, const struct pg_moment *m)
{
	struct str remedy;

	round_hidden_clear(r);
	str_init(&remedy, 1024);
	if (m->n_hidden) {
		str_add(&remedy, "GRANT pg_read_all_stats TO ");
		add_identifier(&remedy, p->facts.role);
		round_hidden(r,
			"sessions of other roles: since when, from where, their state and query",
			remedy.s);
	}
	if (p->facts.control_refused) {
		str_clear(&remedy);
		str_add(&remedy, "GRANT EXECUTE ON FUNCTION pg_control_system(), "
				 "pg_control_checkpoint() TO ");
		add_identifier(&remedy, p->facts.role);
		round_hidden(r,
			"the server's system identifier and timeline: two primaries of one "
			"system can't be told",
			remedy.s);
	}
	if (p->pooling != POOLING_NONE)
		round_hidden(r,
			p->pid_changed
				? "this connection goes through a pooler in transaction mode: "
				  "its settings can't be kept"
				: "this connection goes through a pooler: the server's own "
				  "address isn't seen",
			"connect to the server itself");
	if (m->total > (int64_t)m->n_rows) {
		char what[120];

		snprintf(what, sizeof(what),
			"%" PRId64 " more advisory lock rows than the %zu that "
			"were read",
			m->total - (int64_t)m->n_rows, m->n_rows);
		/* Which keys the rest are of is not known. */
		round_hidden_rows(r, what, "the option rows", "", NULL);
	}
	tell_databases(p, r);
	str_release(&remedy);
}

void postgres_facts_tell(struct postgres *p, struct round *r, const struct pg_moment *moment)
{
	tell_self(p, r, moment);
	round_server(r, p->facts.text);
	if (moment)
		tell_hidden(p, r, moment);
	if (p->pretends)
		round_degraded(r,
			"this server calls itself %.60s, which only resembles PostgreSQL: that "
			"no lock is seen means nothing here",
			p->facts.text);
}
