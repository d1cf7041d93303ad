#include "config.h"

#include "source/postgres.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "io/pg.h"
#include "source/postgres-sql.h"
#include "source/source.h"

#include <stdlib.h>
#include <string.h>

/* Timelines and settings may change while a connection stays; they are read again after so long. */
enum {
	FACTS_MS = 60 * 1000,
	PASSWORD_MAX = 4096
};

static const struct option_def postgres_options[] = {
	{ "conninfo", OPTION_TEXT, "",
		"How to connect, as psql takes it: \"service=orders\", \"host=a,b dbname=app\", a "
		"postgresql:// "
		"URI, or a database's name. Empty: libpq's environment (PGHOST, PGSERVICE, ...). A "
		"password "
		"belongs into the pgpass file, a service file, password_env or password_file.",
		NULL, NULL, false },
	{ "password_env", OPTION_TEXT, NULL,
		"The name of an environment variable that holds the password.", NULL, NULL, false },
	{ "password_file", OPTION_PATH, NULL, "A file whose first line is the password.", NULL,
		NULL, false },
	{ "databases", OPTION_LIST, NULL,
		"Only locks of these databases. By default those of all databases of the server, "
		"which one "
		"connection sees.",
		NULL, NULL, false },
	{ "poolers", OPTION_LIST, NULL,
		"Addresses of connection poolers, as the server sees them (\"local\" for its "
		"socket): a lock that "
		"is held from there belongs to no client for certain.",
		NULL, NULL, false },
	{ "rows", OPTION_INT, "20000",
		"The most lock rows that are read in one poll; how many more there are is said. "
		"Keys with a "
		"queue come first.",
		NULL, NULL, false },
	{ "query_text", OPTION_BOOL, "true",
		"Whether the first 200 characters of each session's current or last query are "
		"shown.",
		NULL, NULL, false },
	{ "step_down_channel", OPTION_TEXT, NULL,
		"The channel on which holders LISTEN to be asked to step down. baton sends a "
		"NOTIFY "
		"there, in "
		"the lock's own database; its payload is described in doc/step-down.md. Without "
		"it, "
		"no "
		"session can be asked.",
		NULL, NULL, false },
	{ 0 },
};

int postgres_password(const struct source_config *config, char **ret_password, struct err *err)
{
	const char *name = source_option_text(config, "password_env");
	const char *path = source_option_text(config, "password_file");
	struct str text;
	int rc;

	*ret_password = NULL;
	if (name && *name) {
		const char *value = getenv(name);

		if (!value)
			return err_set(err, ERR_CONFIG,
				"the environment variable %s, which password_env names, is not set",
				name);
		*ret_password = xstrdup(value);
		return 0;
	}
	if (!path || !*path)
		return 0;
	str_init(&text, PASSWORD_MAX);
	rc = fs_read(path, &text, err);
	if (!rc) {
		size_t len = text.len;

		if (len)
			str_truncate(&text, strcspn(text.s, "\r\n"));
		if (!text.len)
			rc = err_set(err, ERR_CONFIG, "the first line of %s is empty", path);
		else
			*ret_password = xstrdup(text.s);
		if (len)
			explicit_bzero(text.s, len);
	}
	str_release(&text);
	return rc ? err_prefix(err, "password_file") : 0;
}

static int check_password(const struct source_config *config, struct err *err)
{
	char *password;
	int rc = postgres_password(config, &password, err);

	if (password)
		explicit_bzero(password, strlen(password));
	free(password);
	return rc;
}

static void read_databases(struct postgres *p)
{
	struct str list;
	const char *item;
	size_t i;

	str_init(&list, 1024 * 1024);
	pg_array_begin(&list);
	for (i = 0; (item = source_option_item(p->config, "databases", i)); i++)
		pg_array_add(&list, item);
	pg_array_end(&list);
	p->databases = i ? str_take(&list) : NULL;
	str_release(&list);
}

static int make_names(struct postgres *p, struct err *err)
{
	size_t i;

	p->named = xcalloc(p->config->n_names + 1, sizeof(*p->named));
	for (i = 0; i < p->config->n_names; i++) {
		int rc = pg_named_make(&p->config->names[i], &p->named[i], err);

		if (rc)
			return rc;
		p->n_named++;
	}
	return 0;
}

void postgres_release(struct postgres *p)
{
	size_t i;

	postgres_session_close(p);
	postgres_facts_release(&p->facts);
	for (i = 0; i < p->n_named; i++)
		free(p->named[i].database);
	free(p->named);
	free(p->poll_sql[0]);
	free(p->poll_sql[1]);
	free(p->databases);
}

int postgres_init(struct postgres *p, const struct source_config *config, struct err *err)
{
	memset(p, 0, sizeof(*p));
	p->config = config;
	if (source_option_int(config, "rows") < 1)
		return err_set(err, ERR_CONFIG, "rows must be 1 or more");
	read_databases(p);
	return make_names(p, err);
}

static void postgres_close(void *state)
{
	postgres_release(state);
	free(state);
}

static int postgres_open(const struct source_config *config, void **ret_state, struct err *err)
{
	struct postgres *p = xcalloc(1, sizeof(*p));
	int rc = postgres_init(p, config, err);

	if (!rc)
		rc = pg_check_conninfo(source_option_text(config, "conninfo"), err);
	if (!rc)
		rc = check_password(config, err);
	if (rc)
		postgres_close(p);
	else
		*ret_state = p;
	return rc;
}

static void tell_cost(struct postgres *p, struct round *r, int64_t round_trip_ms)
{
	uint64_t requests = pg_requests(p->pg), in = pg_bytes_in(p->pg), out = pg_bytes_out(p->pg);

	round_cost(
		r, requests - p->seen_requests, in - p->seen_in, out - p->seen_out, round_trip_ms);
	p->seen_requests = requests;
	p->seen_in = in;
	p->seen_out = out;
}

/* A server that lacks the views still tells what it is. */
static int tell_pretender(struct postgres *p, struct round *r)
{
	round_begin(r);
	round_end(r);
	round_hidden_clear(r);
	/* Locks that it does not show exclude nobody, and whoever took one goes on. */
	round_hidden_rows(r, "who works under an advisory lock", NULL, "", NULL);
	postgres_facts_tell(p, r, NULL);
	return 0;
}

static void note_process(struct postgres *p, int64_t pid)
{
	p->pid_changed = p->pid_changed || (p->last_pid && p->last_pid != pid);
	p->last_pid = (int)pid;
}

/* The facts again, when the server was promoted or they are old. */
static int refresh_facts(
	struct postgres *p, const struct pg_limit *limit, bool in_recovery, struct err *err)
{
	if (in_recovery == p->facts.in_recovery &&
		clock_mono_ms(limit->clock) - p->facts.read_at_ms < FACTS_MS)
		return 0;
	return postgres_facts_read(p, limit, err);
}

int postgres_ask(struct postgres *p, struct round *r, const struct pg_limit *limit,
	struct pg_rows **ret_result, struct pg_moment *moment, struct err *err)
{
	struct pg_rows *result;

	for (;;) {
		int64_t begun = round_now_ms(r);
		int rc = postgres_session_ask(p, limit, &result, err);
		bool more, whole;

		if (rc)
			return rc;
		moment->round_trip_ms = round_now_ms(r) - begun;
		moment->read_us = clock_wall_us(limit->clock);
		whole = pg_columns(result) == COLUMNS && postgres_moment_read(result, moment);
		more = moment->total > source_option_int(p->config, "rows");
		if (whole && (!more || p->ordered)) {
			p->ordered = more;
			*ret_result = result;
			return 0;
		}
		pg_result_free(result);
		if (!whole)
			return err_set(err, ERR_PROTO,
				"%s answered the query with other columns than it was asked for",
				pg_place(p->pg));
		p->ordered = true;
	}
}

static int tell_answer(struct postgres *p, struct round *r, const struct pg_limit *limit,
	const struct pg_rows *result, struct pg_moment *moment, struct err *err)
{
	int rc;

	/* Of a new connection, which server it is comes first. */
	if (!p->told_frame)
		postgres_facts_tell(p, r, NULL);
	postgres_picture_tell(p, r, result, moment);
	note_process(p, moment->pid);
	rc = refresh_facts(p, limit, moment->in_recovery, err);
	if (rc)
		return rc;
	postgres_facts_tell(p, r, moment);
	return 0;
}

static int postgres_ask_and_tell(struct postgres *p, struct round *r, struct err *err)
{
	struct pg_limit limit = postgres_limit(r);
	struct pg_moment moment = { 0 };
	struct pg_rows *result = NULL;
	int rc = postgres_session_open(p, &limit, err);

	if (rc)
		return rc;
	rc = postgres_ask(p, r, &limit, &result, &moment, err);
	if (rc && p->pretends && !pg_is_broken(p->pg))
		return tell_pretender(p, r);
	if (rc)
		return rc;
	rc = tell_answer(p, r, &limit, result, &moment, err);
	pg_result_free(result);
	if (!rc)
		tell_cost(p, r, moment.round_trip_ms);
	return rc;
}

int postgres_poll(void *state, struct round *r, struct err *err)
{
	struct postgres *p = state;
	int rc = postgres_ask_and_tell(p, r, err);

	/* Begin anew after any failure: a session in an unknown state is not worth keeping. */
	if (rc)
		postgres_session_close(p);
	return rc;
}

const struct source_ops source_postgres = {
	.kind = "postgres",
	.summary = "PostgreSQL advisory locks, servers 11 and newer",
	.options = postgres_options,
	.interval_ms = 1000,
	.open = postgres_open,
	.poll = postgres_poll,
	.examine = postgres_examine,
	.close = postgres_close,
	.acts = postgres_acts,
	.n_acts = POSTGRES_ACTS,
};
