#include "config.h"

#include "source/postgres.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "io/pg.h"
#include "source/postgres-sql.h"
#include "source/source.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The server gives up a little before we do, so that it is the server that ends its own work. */
enum {
	SERVER_MARGIN_MS = 250,
	SERVER_LEAST_MS = 100,
	IDLE_IN_TRANSACTION_MS = 10000
};

static const char *const statement_names[] = { "baton_poll", "baton_poll_ordered" };

static bool ask_cancelled(void *arg)
{
	return round_cancelled(arg);
}

struct pg_limit postgres_limit(struct round *r)
{
	return (struct pg_limit){
		.clock = round_clock(r),
		.deadline_ms = round_deadline_ms(r),
		.wake_fd = round_wake_fd(r),
		.cancelled = ask_cancelled,
		.arg = r,
	};
}

static int64_t server_timeout_ms(const struct postgres *p)
{
	int64_t ms = p->config->timeout_ms - SERVER_MARGIN_MS;

	return ms > SERVER_LEAST_MS ? ms : SERVER_LEAST_MS;
}

static int settle(struct postgres *p, struct pg *pg, const struct pg_limit *limit, struct err *err)
{
	char statement[24], lock[24], idle[24];
	const char *values[] = { statement, lock, idle };
	struct pg_rows *rows;
	int rc;

	snprintf(statement, sizeof(statement), "%" PRId64, server_timeout_ms(p));
	snprintf(lock, sizeof(lock), "%" PRId64, server_timeout_ms(p) / 2);
	snprintf(idle, sizeof(idle), "%d", IDLE_IN_TRANSACTION_MS);
	rc = pg_query(pg, postgres_sql_settle, values, ARRAY_LEN(values), limit, &rows, err);
	if (rc)
		return rc;
	pg_result_free(rows);
	return 0;
}

/*
 * The key of each name that is made by hashtext, which the server alone can compute, of the text in
 * its own encoding.
 */
static int ask_hashes(struct postgres *p, const struct pg_limit *limit, struct err *err)
{
	const char *values[1];
	struct pg_rows *rows;
	struct str list;
	size_t i, row = 0;
	int rc;

	str_init(&list, 1024 * 1024);
	pg_array_begin(&list);
	for (i = 0; i < p->n_named; i++)
		if (str_eq(p->named[i].name->recipe, "hashtext")) {
			pg_array_add_bytes(&list, p->named[i].name->value);
			row++;
		}
	pg_array_end(&list);
	values[0] = list.s;
	rc = row ? pg_query(p->pg, postgres_sql_hashes, values, 1, limit, &rows, err) : 0;
	str_release(&list);
	if (rc || !row)
		return rc;
	for (i = 0, row = 0; i < p->n_named; i++) {
		int64_t hash;

		if (!str_eq(p->named[i].name->recipe, "hashtext"))
			continue;
		p->named[i].known = pg_int(rows, row++, 0, &hash);
		if (p->named[i].known)
			p->named[i].key = pg_key_bigint(hash);
	}
	pg_result_free(rows);
	return 0;
}

static void make_sql(struct postgres *p)
{
	size_t i;

	for (i = 0; i < ARRAY_LEN(p->poll_sql); i++) {
		struct str sql;

		str_init(&sql, 64 * 1024);
		postgres_sql_poll(&sql, p->facts.version, p->databases != NULL, i == 1);
		free(p->poll_sql[i]);
		p->poll_sql[i] = str_take(&sql);
	}
}

/*
 * Prepares the statement that is asked next, once it is asked for the second time: a single picture
 * is not worth the round trip, and a pooler doesn't keep it.
 */
static int prepare(struct postgres *p, const struct pg_limit *limit, struct err *err)
{
	bool *prepared = &p->prepared[p->ordered];
	int rc;

	if (p->pooling != POOLING_NONE || *prepared || p->asked[p->ordered]++ == 0)
		return 0;
	rc = pg_prepare(p->pg, statement_names[p->ordered], p->poll_sql[p->ordered], limit, err);
	*prepared = !rc;
	return rc;
}

static int check_version(struct postgres *p, struct err *err)
{
	if (p->facts.version >= POSTGRES_OLDEST || p->pretends)
		return 0;
	return err_set(err, ERR_UNSUPPORTED,
		"%s runs server version %d.%d, and baton reads 11 and newer", pg_place(p->pg),
		p->facts.version / 10000, p->facts.version / 100 % 100);
}

static int prepare_session(struct postgres *p, const struct pg_limit *limit, struct err *err)
{
	int rc = postgres_facts_read(p, limit, err);

	if (!rc)
		rc = check_version(p, err);
	if (rc)
		return rc;
	make_sql(p);
	if (p->pretends)
		return 0;
	if (p->pooling == POOLING_NONE)
		rc = settle(p, p->pg, limit, err);
	return rc ? rc : ask_hashes(p, limit, err);
}

/* database: in place of the configured one; NULL. */
static int connect_to(struct postgres *p, const char *database, const struct pg_limit *limit,
	struct pg **ret_pg, struct err *err)
{
	struct pg_settings settings = {
		.application = "baton",
		.database = database,
	};
	char *password;
	int rc;

	if (p->connect)
		return p->connect(p->connect_arg, database, ret_pg, err);
	rc = postgres_password(p->config, &password, err);
	if (rc)
		return rc;
	settings.conninfo = source_option_text(p->config, "conninfo");
	settings.password = password;
	rc = pg_connect(&settings, limit, ret_pg, err);
	if (password)
		explicit_bzero(password, strlen(password));
	free(password);
	return rc;
}

int postgres_session_open(struct postgres *p, const struct pg_limit *limit, struct err *err)
{
	int rc;

	if (p->pg && pg_is_stale(p->pg))
		postgres_session_close(p);
	if (p->pg)
		return 0;
	rc = connect_to(p, NULL, limit, &p->pg, err);
	if (rc)
		return rc;
	rc = prepare_session(p, limit, err);
	if (rc)
		postgres_session_close(p);
	return rc;
}

int postgres_session_beside(struct postgres *p, const char *database, const struct pg_limit *limit,
	struct pg **ret_pg, struct err *err)
{
	struct pg *pg;
	int rc = connect_to(p, database, limit, &pg, err);

	if (rc)
		return rc;
	rc = settle(p, pg, limit, err);
	if (rc)
		pg_close(pg);
	else
		*ret_pg = pg;
	return rc;
}

void postgres_session_close(struct postgres *p)
{
	pg_close(p->pg);
	p->pg = NULL;
	p->pooling = POOLING_NONE;
	p->pretends = p->pid_changed = false;
	memset(p->prepared, 0, sizeof(p->prepared));
	memset(p->asked, 0, sizeof(p->asked));
	p->last_pid = 0;
	p->ordered = false;
	postgres_picture_forget(p);
	p->seen_requests = p->seen_in = p->seen_out = 0;
}

static int ask(struct postgres *p, const struct pg_limit *limit, struct pg_rows **ret_result,
	struct err *err)
{
	char rows[24];
	const char *values[] = { rows, p->databases };
	size_t n = p->databases ? 2 : 1;
	int rc;

	snprintf(rows, sizeof(rows), "%" PRId64, source_option_int(p->config, "rows"));
	rc = prepare(p, limit, err);
	if (rc)
		return rc;
	if (p->prepared[p->ordered])
		return pg_query_prepared(
			p->pg, statement_names[p->ordered], values, n, limit, ret_result, err);
	return pg_query(p->pg, p->poll_sql[p->ordered], values, n, limit, ret_result, err);
}

/* One transaction, whose settings end with it. */
static int ask_in_transaction(struct postgres *p, const struct pg_limit *limit,
	struct pg_rows **ret_result, struct err *err)
{
	struct pg_rows *result = NULL;
	struct str begin;
	int rc;

	str_init(&begin, 1024);
	str_addf(&begin,
		"BEGIN READ ONLY; SET LOCAL statement_timeout = %" PRId64
		"; SET LOCAL lock_timeout = %" PRId64
		"; SET LOCAL idle_in_transaction_session_timeout = %d; SET LOCAL search_path = "
		"pg_catalog",
		server_timeout_ms(p), server_timeout_ms(p) / 2, IDLE_IN_TRANSACTION_MS);
	rc = pg_command(p->pg, begin.s, limit, err);
	str_release(&begin);
	if (rc)
		return rc;
	rc = ask(p, limit, &result, err);
	if (pg_is_broken(p->pg))
		return rc;
	if (rc) {
		pg_command(p->pg, "ROLLBACK", limit, NULL);
		return rc;
	}
	rc = pg_command(p->pg, "COMMIT", limit, err);
	if (rc)
		pg_result_free(result);
	else
		*ret_result = result;
	return rc;
}

int postgres_session_ask(struct postgres *p, const struct pg_limit *limit,
	struct pg_rows **ret_result, struct err *err)
{
	int rc;

	if (p->pooling != POOLING_TRANSACTION)
		return ask(p, limit, ret_result, err);
	rc = ask_in_transaction(p, limit, ret_result, err);
	if (!rc || p->no_transactions || !strstr(err->text, "transaction blocks not allowed"))
		return rc;
	/*
	 * PgBouncer in statement mode refuses BEGIN ("transaction blocks not allowed in statement
	 * pooling mode") and hangs up: connect anew, and ask without.
	 */
	p->no_transactions = true;
	postgres_session_close(p);
	rc = postgres_session_open(p, limit, err);
	return rc ? rc : ask(p, limit, ret_result, err);
}
