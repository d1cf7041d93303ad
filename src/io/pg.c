#include "config.h"

#include "io/pg.h"
#include "io/pg-explain.h"
#include "io/pg-inside.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

#include <libpq-fe.h>
#ifdef __linux__
#include <linux/tcp.h> /* glibc's netinet/tcp.h lacks tcpi_bytes_received */
#endif
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

enum {
	INSIDE_STATEMENTS = 4
};

/* A statement that was prepared on a server within the program. */
struct inside_statement {
	char *name, *sql;
};

struct pg {
	PGconn *conn; /* NULL: a server within the program */
	struct pg_inside inside;
	struct inside_statement statements[INSIDE_STATEMENTS];
	char *place, *password;
	bool broken;
	uint64_t in, out, requests;
	int64_t begun_ms; /* our monotonic clock: to connect, or the exchange */
	char sqlstate[6];
};

/* While the wake descriptor stays readable it can't be waited on: look again after so long. */
enum {
	WOKEN_SLICE_MS = 20,
	TLS_SLICE_MS = 5
};

static int64_t time_left(const struct pg_limit *limit)
{
	return limit->deadline_ms - clock_mono_ms(limit->clock);
}

static bool cancelled(const struct pg_limit *limit)
{
	return limit->cancelled && limit->cancelled(limit->arg);
}

/*
 * Waits until the socket is ready, the deadline, or the end that was asked for; where slice_ms is
 * not 0, at most so long. The error's text is for the caller.
 */
static int wait_socket(
	int fd, short events, int64_t slice_ms, const struct pg_limit *limit, struct err *err)
{
	bool woken = false;

	for (;;) {
		struct pollfd fds[2] = { { .fd = fd, .events = events },
			{ .fd = woken ? -1 : limit->wake_fd, .events = POLLIN } };
		int64_t left = time_left(limit);

		if (cancelled(limit))
			return err_set(err, ERR_CANCELLED, "stopped");
		if (left <= 0)
			return err_set(err, ERR_TIMEOUT, "no answer in time");
		if (woken && left > WOKEN_SLICE_MS)
			left = WOKEN_SLICE_MS;
		if (slice_ms && left > slice_ms)
			left = slice_ms;
		if (poll(fds, 2, left > 60000 ? 60000 : (int)left) > 0 && fds[0].revents)
			return 0;
		if (slice_ms && !fds[1].revents)
			return 0;
		woken = woken || fds[1].revents;
	}
}

/* What stands in the socket's buffer. */
static uint64_t unread(PGconn *conn)
{
	int n = 0;

	if (PQsocket(conn) < 0 || ioctl(PQsocket(conn), FIONREAD, &n) || n < 0)
		return 0;
	return (uint64_t)n;
}

/* The kernel's count of a TCP connection's bytes, encryption included: libpq doesn't say how much
 * it reads. */
static bool count_tcp(struct pg *pg)
{
#ifdef __linux__
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);

	if (getsockopt(PQsocket(pg->conn), IPPROTO_TCP, TCP_INFO, &info, &len) ||
		len < offsetof(struct tcp_info, tcpi_bytes_received) + sizeof(uint64_t))
		return false;
	pg->in = info.tcpi_bytes_received;
	return true;
#else
	(void)pg;
	return false;
#endif
}

/*
 * Lets libpq read what there is, and counts it. On a Unix socket only what stood in the buffer
 * before is counted, which is less than what libpq reads when more comes meanwhile.
 */
static bool consume(struct pg *pg)
{
	uint64_t before = unread(pg->conn), after;

	if (!PQconsumeInput(pg->conn))
		return false;
	if (count_tcp(pg))
		return true;
	after = unread(pg->conn);
	pg->in += before > after ? before - after : before;
	return true;
}

static int too_large(struct pg *pg, struct err *err, uint64_t max)
{
	pg->broken = true;
	return err_set(err, ERR_LIMIT,
		"%s sends without end: more than %llu MB came in answer to one question, and "
		"reading was "
		"stopped",
		pg->place, (unsigned long long)max / 1024 / 1024);
}

/* libpq prints notices on standard error by default. */
static void drop_notice(void *arg, const PGresult *result)
{
	(void)arg;
	(void)result;
}

/* Puts stars in place of the password, should a message hold it. */
static void mask(char *text, const char *password)
{
	size_t len = password ? strlen(password) : 0;
	char *at;

	if (len < 4)
		return;
	for (at = strstr(text, password); at; at = strstr(at + len, password))
		memset(at, '*', len);
}

/* stood: whether there was a session already. */
static int libpq_error(struct pg *pg, bool stood, struct err *err)
{
	char *raw = xstrdup(PQerrorMessage(pg->conn));
	const char *user = PQuser(pg->conn);
	int rc;

	mask(raw, pg->password);
	mask(raw, PQpass(pg->conn));
	rc = (stood ? pg_explain_lost : pg_explain)(raw, pg->place, user ? user : "", err);
	free(raw);
	return rc;
}

static int connect_error(struct pg *pg, struct err *err)
{
	return libpq_error(pg, false, err);
}

/* One of several hosts, as settings that stand in place of the list's. */
struct host {
	char *name, *address, *port; /* NULL: not said */
};

static char *make_place(PGconn *conn)
{
	const char *host = PQhost(conn), *port = PQport(conn);
	struct str place;

	str_init(&place, 1024);
	if (host && *host != '/' && strchr(host, ':'))
		str_addf(&place, "[%s]", host);
	else
		str_add(&place, host && *host ? host : "the default socket");
	str_add_char(&place, ':');
	str_add(&place, port && *port ? port : "5432");
	return str_take(&place);
}

enum {
	KEYWORDS_MAX = 11
};

static PGconn *start(const struct pg_settings *settings, const struct host *host, const char *attrs,
	const char *probe)
{
	/*
	 * Bytes come as they are kept: names of databases and queries of others are in whatever
	 * encoding their database has, so that a conversion to UTF-8 would garble some and fail on
	 * others.
	 */
	const char *pairs[][2] = {
		{ "dbname", settings->conninfo ? settings->conninfo : "" },
		/* Only the first is read as a connection string (libpq's PQconnectdbParams). */
		{ "dbname", settings->database },
		{ "application_name", settings->application },
		{ "client_encoding", "SQL_ASCII" },
		{ "password", settings->password },
		{ "host", host ? host->name : NULL },
		{ "hostaddr", host ? host->address : NULL },
		{ "port", host ? host->port : NULL },
		{ "target_session_attrs", attrs },
		{ "channel_binding", probe },
	};
	const char *keys[KEYWORDS_MAX], *values[KEYWORDS_MAX];
	size_t i, n = 0;

	for (i = 0; i < ARRAY_LEN(pairs); i++) {
		if (!pairs[i][1])
			continue;
		keys[n] = pairs[i][0];
		values[n++] = pairs[i][1];
	}
	keys[n] = values[n] = NULL;
	return PQconnectStartParams(keys, values, 1);
}

static int slow(
	const struct pg *pg, enum pg_stage stage, const struct pg_limit *limit, struct err *err)
{
	double seconds = (double)(clock_mono_ms(limit->clock) - pg->begun_ms) / 1000;

	return pg_explain_slow(stage, pg->place, seconds, err);
}

/* How far it came: libpq's stage, and whether anything came. */
static int slow_connect(const struct pg *pg, const struct pg_limit *limit, struct err *err)
{
	enum pg_stage stage = pg->in ? PG_STAGE_LOGIN : PG_STAGE_SILENT;

	switch (PQstatus(pg->conn)) {
	case CONNECTION_STARTED:
	case CONNECTION_NEEDED:
		stage = PG_STAGE_REACH;
		break;
	case CONNECTION_SSL_STARTUP:
		stage = pg->in ? PG_STAGE_TLS : PG_STAGE_SILENT;
		break;
	case CONNECTION_MADE:
	case CONNECTION_GSS_STARTUP:
	case CONNECTION_AWAITING_RESPONSE:
		break;
	default:
		stage = PG_STAGE_SESSION;
		break;
	}
	return slow(pg, stage, limit, err);
}

/* Drives a begun connection to its end. */
static int finish(struct pg *pg, const struct pg_limit *limit, struct err *err)
{
	PostgresPollingStatusType state = PGRES_POLLING_WRITING;

	while (state != PGRES_POLLING_OK) {
		int rc = wait_socket(PQsocket(pg->conn),
			state == PGRES_POLLING_READING ? POLLIN : POLLOUT, 0, limit, err);

		if (rc == ERR_TIMEOUT)
			return slow_connect(pg, limit, err);
		if (rc)
			return rc;
		if (!count_tcp(pg))
			pg->in += unread(pg->conn);
		if (pg->in > PG_GREETING_MAX)
			return too_large(pg, err, PG_GREETING_MAX);
		state = PQconnectPoll(pg->conn);
		if (state == PGRES_POLLING_FAILED)
			return connect_error(pg, err);
	}
	return 0;
}

static int connect_one(const struct pg_settings *settings, const struct host *host,
	const char *attrs, const struct pg_limit *limit, struct pg **ret_pg, struct err *err)
{
	struct pg *pg = xcalloc(1, sizeof(*pg));
	int rc = 0;

	pg->password = settings->password ? xstrdup(settings->password) : NULL;
	pg->begun_ms = clock_mono_ms(limit->clock);
	pg->conn = start(settings, host, attrs, NULL);
	if (!pg->conn)
		rc = err_set(err, ERR_NOMEM, "out of memory");
	if (!rc) {
		pg->place = make_place(pg->conn);
		PQsetNoticeReceiver(pg->conn, drop_notice, NULL);
		/* Verbose messages hold the SQLSTATE, which doesn't depend on the server's
		 * language. */
		PQsetErrorVerbosity(pg->conn, PQERRORS_VERBOSE);
		rc = PQstatus(pg->conn) == CONNECTION_BAD ? connect_error(pg, err)
							  : finish(pg, limit, err);
	}
	if (!rc && PQsetnonblocking(pg->conn, 1))
		rc = connect_error(pg, err);
	if (rc) {
		pg_close(pg);
		return rc;
	}
	/* libpq may have gone through several hosts by itself. */
	free(pg->place);
	pg->place = make_place(pg->conn);
	*ret_pg = pg;
	return 0;
}

/* The settings that decide which hosts are tried, as libpq puts them together from string, service
 * and environment. */
struct plan {
	struct host hosts[PG_HOSTS_MAX];
	size_t n; /* 0: let libpq do it */
	bool prefer_standby;
};

static void plan_release(struct plan *plan)
{
	size_t i;

	for (i = 0; i < plan->n; i++) {
		free(plan->hosts[i].name);
		free(plan->hosts[i].address);
		free(plan->hosts[i].port);
	}
}

static size_t count_items(const char *list)
{
	size_t n = 1;

	if (!list || !*list)
		return 0;
	for (; *list; list++)
		n += *list == ',';
	return n;
}

/* Item i of a list, or NULL; the only item of a list of one stands for all. The caller frees. */
static char *list_item(const char *list, size_t i)
{
	size_t n = count_items(list);

	if (n == 0)
		return NULL;
	if (n == 1)
		return xstrdup(list);
	for (; i > 0 && list; i--) {
		list = strchr(list, ',');
		list = list ? list + 1 : NULL;
	}
	return list ? xstrndup(list, strcspn(list, ",")) : NULL;
}

static const char *option_value(const PQconninfoOption *options, const char *key)
{
	for (; options->keyword; options++)
		if (strcmp(options->keyword, key) == 0)
			return options->val;
	return NULL;
}

static void plan_make(struct plan *plan, const PQconninfoOption *options)
{
	const char *names = option_value(options, "host");
	const char *addresses = option_value(options, "hostaddr");
	const char *ports = option_value(options, "port");
	const char *attrs = option_value(options, "target_session_attrs");
	size_t n = count_items(names) > count_items(addresses) ? count_items(names)
							       : count_items(addresses);
	size_t i;

	plan->prefer_standby = str_eq(attrs, "prefer-standby");
	if (n > PG_HOSTS_MAX || (n < 2 && !plan->prefer_standby))
		return;
	/* An item that is empty means a default of libpq's, which can't be said in place of the
	 * list. */
	for (i = 0; i < n; i++) {
		struct host *h = &plan->hosts[i];

		*h = (struct host){ list_item(names, i), list_item(addresses, i),
			list_item(ports, i) };
		plan->n = i + 1;
		if ((!h->name || !*h->name) && (!h->address || !*h->address)) {
			plan_release(plan);
			plan->n = 0;
			return;
		}
	}
}

/*
 * Asks libpq what it makes of the settings, without touching the network: an invalid
 * channel_binding is refused after everything was put together and before the first connection is
 * begun, and PQconninfo tells the rest.
 */
static int plan_ask(const struct pg_settings *settings, struct plan *plan, struct err *err)
{
	static const char probe[] = "baton-asks";
	PGconn *conn = start(settings, NULL, NULL, probe);
	PQconninfoOption *options;
	int rc = 0;

	if (!conn)
		return err_set(err, ERR_NOMEM, "out of memory");
	options = strstr(PQerrorMessage(conn), probe) ? PQconninfo(conn) : NULL;
	if (options)
		plan_make(plan, options);
	else
		rc = pg_explain_settings(PQerrorMessage(conn), err);
	PQconninfoFree(options);
	PQfinish(conn);
	return rc;
}

/* Tries each host with its share of the time. Adds what went wrong to `why`. */
static int try_hosts(const struct pg_settings *settings, const struct plan *plan, const char *attrs,
	const struct pg_limit *limit, struct pg **ret_pg, struct str *why)
{
	struct err err = { 0 };
	size_t i;
	int rc = ERR_CONNECT;

	for (i = 0; i < plan->n; i++) {
		struct pg_limit share = *limit;

		share.deadline_ms = limit->deadline_ms - time_left(limit) +
				    time_left(limit) / (int64_t)(plan->n - i);
		rc = connect_one(settings, &plan->hosts[i], attrs, &share, ret_pg, &err);
		if (rc == 0 || rc == ERR_CANCELLED)
			return rc;
		str_addf(why, "%s%s", why->len ? "; " : "", err.text);
	}
	return rc;
}

static int connect_many(const struct pg_settings *settings, const struct plan *plan,
	const struct pg_limit *limit, struct pg **ret_pg, struct err *err)
{
	struct pg_limit half = *limit;
	struct str why;
	int rc;

	str_init(&why, 4096);
	if (plan->prefer_standby) {
		half.deadline_ms -= time_left(limit) / 2;
		rc = try_hosts(settings, plan, "standby", &half, ret_pg, &why);
		str_clear(&why);
		if (rc && rc != ERR_CANCELLED)
			rc = try_hosts(settings, plan, "any", limit, ret_pg, &why);
	} else {
		rc = try_hosts(settings, plan, NULL, limit, ret_pg, &why);
	}
	if (rc == ERR_CANCELLED)
		err_set(err, rc, "stopped");
	else if (rc && plan->n == 1)
		err_set(err, rc, "%s", why.s);
	else if (rc)
		err_set(err, rc, "none of %zu hosts can be used: %s", plan->n, why.s);
	str_release(&why);
	return rc;
}

int pg_connect(const struct pg_settings *settings, const struct pg_limit *limit, struct pg **ret_pg,
	struct err *err)
{
	struct plan plan = { 0 };
	int rc = plan_ask(settings, &plan, err);

	if (rc)
		return rc;
	if (plan.n)
		rc = connect_many(settings, &plan, limit, ret_pg, err);
	else
		rc = connect_one(settings, NULL, NULL, limit, ret_pg, err);
	plan_release(&plan);
	return rc;
}

/* ---- a server within the program ---- */

struct pg *pg_inside_open(const struct pg_inside *inside)
{
	struct pg *pg = xcalloc(1, sizeof(*pg));

	pg->inside = *inside;
	pg->place = xstrdup(inside->place);
	pg->inside.user = xstrdup(inside->user);
	pg->inside.database = xstrdup(inside->database);
	return pg;
}

static void inside_close(struct pg *pg)
{
	size_t i;

	free((char *)pg->inside.user);
	free((char *)pg->inside.database);
	for (i = 0; i < INSIDE_STATEMENTS; i++) {
		free(pg->statements[i].name);
		free(pg->statements[i].sql);
	}
}

static int inside_ask(struct pg *pg, const char *sql, const char *const *values, size_t n,
	struct pg_rows **ret, struct err *err)
{
	struct pg_refusal refusal = { 0 };
	int rc;

	*ret = NULL;
	pg->requests++;
	pg->sqlstate[0] = '\0';
	rc = pg->inside.answer(pg->inside.arg, sql, values, n, ret, &refusal, err);
	if (rc && *refusal.sqlstate) {
		memcpy(pg->sqlstate, refusal.sqlstate, sizeof(pg->sqlstate));
		return pg_explain_statement(
			pg->sqlstate, refusal.message, pg->place, pg->inside.user, err);
	}
	pg->broken = pg->broken || rc;
	return rc;
}

static int inside_prepare(struct pg *pg, const char *name, const char *sql, struct err *err)
{
	size_t i;

	for (i = 0; i < INSIDE_STATEMENTS; i++) {
		if (pg->statements[i].name && strcmp(pg->statements[i].name, name) != 0)
			continue;
		free(pg->statements[i].name);
		free(pg->statements[i].sql);
		pg->statements[i] = (struct inside_statement){ xstrdup(name), xstrdup(sql) };
		return 0;
	}
	return err_set(err, ERR_LIMIT, "too many prepared statements");
}

static const char *inside_prepared(const struct pg *pg, const char *name)
{
	size_t i;

	for (i = 0; i < INSIDE_STATEMENTS; i++)
		if (pg->statements[i].name && strcmp(pg->statements[i].name, name) == 0)
			return pg->statements[i].sql;
	return "";
}

void pg_close(struct pg *pg)
{
	if (!pg)
		return;
	if (pg->conn)
		PQfinish(pg->conn);
	else
		inside_close(pg);
	free(pg->place);
	if (pg->password)
		explicit_bzero(pg->password, strlen(pg->password));
	free(pg->password);
	free(pg);
}

int pg_check_conninfo(const char *conninfo, struct err *err)
{
	bool whole = conninfo && (strchr(conninfo, '=') || str_starts(conninfo, "postgresql://") ||
					 str_starts(conninfo, "postgres://"));
	PQconninfoOption *options;
	const char *host;
	char *message = NULL;
	int rc = 0;

	if (!whole)
		return 0; /* a database's name */
	options = PQconninfoParse(conninfo, &message);
	if (!options)
		rc = pg_explain_settings(message ? message : "", err);
	PQfreemem(message);
	host = options ? option_value(options, "host") : NULL;
	if (host && host[0] != '@' && strchr(host, '@'))
		rc = err_set(err, ERR_CONFIG,
			"the connection string's host holds an \"@\": a \"@\" in the password of a "
			"URI "
			"is written %%40");
	PQconninfoFree(options);
	return rc;
}

bool pg_is_broken(const struct pg *pg)
{
	return pg->broken || (pg->conn && PQstatus(pg->conn) != CONNECTION_OK);
}

bool pg_is_stale(struct pg *pg)
{
	struct pollfd fd = { .events = POLLIN };

	if (pg_is_broken(pg))
		return true;
	if (!pg->conn)
		return !pg->inside.lives(pg->inside.arg);
	fd.fd = PQsocket(pg->conn);
	if (poll(&fd, 1, 0) <= 0)
		return false;
	return !PQconsumeInput(pg->conn) || PQstatus(pg->conn) != CONNECTION_OK;
}

const char *pg_place(const struct pg *pg)
{
	return pg->place;
}

const char *pg_user(const struct pg *pg)
{
	if (!pg->conn)
		return pg->inside.user;
	return PQuser(pg->conn) ? PQuser(pg->conn) : "";
}

const char *pg_database(const struct pg *pg)
{
	if (!pg->conn)
		return pg->inside.database;
	return PQdb(pg->conn) ? PQdb(pg->conn) : "";
}

bool pg_is_local(const struct pg *pg)
{
	const char *host, *address;

	if (!pg->conn)
		return false;
	host = PQhost(pg->conn);
	address = PQhostaddr(pg->conn);
	return (!address || !*address) && (!host || !*host || *host == '/' || *host == '@');
}

bool pg_is_encrypted(const struct pg *pg)
{
	return pg->conn && (PQsslInUse(pg->conn) || PQgssEncInUse(pg->conn));
}

int pg_told_pid(const struct pg *pg)
{
	return pg->conn ? PQbackendPID(pg->conn) : pg->inside.pid;
}

int pg_version(const struct pg *pg)
{
	return pg->conn ? PQserverVersion(pg->conn) : pg->inside.version;
}

uint64_t pg_bytes_in(const struct pg *pg)
{
	return pg->in;
}

uint64_t pg_bytes_out(const struct pg *pg)
{
	return pg->out;
}

uint64_t pg_requests(const struct pg *pg)
{
	return pg->requests;
}

const char *pg_sqlstate(const struct pg *pg)
{
	return pg->sqlstate;
}

/* The connection is gone; says it as what it is. */
static int lost(struct pg *pg, struct err *err)
{
	pg->broken = true;
	return libpq_error(pg, true, err);
}

static int slow_answer(struct pg *pg, const struct pg_limit *limit, struct err *err)
{
	pg->broken = true;
	return slow(pg, PG_STAGE_QUERY, limit, err);
}

static int flush(struct pg *pg, const struct pg_limit *limit, struct err *err)
{
	for (;;) {
		int left = PQflush(pg->conn), rc;

		if (left == 0)
			return 0;
		if (left < 0)
			return lost(pg, err);
		/* The server may have to be read before it reads on (libpq's manual, PQflush). */
		rc = wait_socket(PQsocket(pg->conn), POLLOUT | POLLIN, 0, limit, err);
		if (rc == ERR_TIMEOUT)
			return slow_answer(pg, limit, err);
		if (rc)
			return rc;
		if (!consume(pg))
			return lost(pg, err);
	}
}

/* Reads until libpq has a whole result, or the connection has brought more than in_most bytes. */
static int read_on(struct pg *pg, const struct pg_limit *limit, uint64_t in_most, struct err *err)
{
	int64_t slice_ms = 0;

	while (PQisBusy(pg->conn)) {
		int rc = wait_socket(PQsocket(pg->conn), POLLIN, slice_ms, limit, err);

		if (rc == ERR_TIMEOUT)
			return slow_answer(pg, limit, err);
		if (rc) {
			pg->broken = true;
			return rc;
		}
		if (!consume(pg))
			return lost(pg, err);
		if (pg->in > in_most)
			return too_large(pg, err, PG_ANSWER_MAX);
		/* What the TLS library has read ahead doesn't make the socket readable. */
		slice_ms = pg_is_encrypted(pg) ? TLS_SLICE_MS : 0;
	}
	return 0;
}

static void drop_notifications(struct pg *pg)
{
	PGnotify *note;

	while ((note = PQnotifies(pg->conn)))
		PQfreemem(note);
}

/*
 * What the server gives as its reason, for the caller to free. From 16 on which attribute or role a
 * privilege takes stands in the detail only (src/backend/storage/ipc/signalfuncs.c and others); of
 * other refusals the detail may tell what is in a table.
 */
static char *reason_of(const PGresult *result, const char *state)
{
	const char *text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
	const char *detail = strcmp(state, "42501") == 0
				     ? PQresultErrorField(result, PG_DIAG_MESSAGE_DETAIL)
				     : NULL;
	struct str reason;

	str_init(&reason, PG_ANSWER_MAX);
	str_add(&reason, text ? text : "no reason given");
	if (detail)
		str_addf(&reason, ": %s", detail);
	return str_take(&reason);
}

static int refused(struct pg *pg, const PGresult *result, struct err *err)
{
	const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	char *copy;
	int rc;

	if (!state)
		return lost(pg, err);
	strncpy(pg->sqlstate, state, 5);
	copy = reason_of(result, state);
	mask(copy, PQpass(pg->conn));
	rc = pg_explain_statement(pg->sqlstate, copy, pg->place, pg_user(pg), err);
	free(copy);
	return rc;
}

static int check_result(struct pg *pg, const PGresult *result, struct err *err)
{
	switch (PQresultStatus(result)) {
	case PGRES_COMMAND_OK:
	case PGRES_TUPLES_OK:
	case PGRES_EMPTY_QUERY:
		return 0;
	case PGRES_BAD_RESPONSE:
	case PGRES_FATAL_ERROR:
		return refused(pg, result, err);
	default:
		/* COPY and the like were not asked for, and nothing would end them. */
		pg->broken = true;
		return err_set(err, ERR_PROTO, "%s answered a query with what is no answer to one",
			pg->place);
	}
}

/* Sends what was queued and takes all answers; the last rows go to *ret. The first error counts. */
static int exchange(
	struct pg *pg, int queued, const struct pg_limit *limit, PGresult **ret, struct err *err)
{
	uint64_t in_most = pg->in + PG_ANSWER_MAX;
	PGresult *rows = NULL, *result;
	int rc = 0, first = 0;

	pg->requests++;
	pg->begun_ms = clock_mono_ms(limit->clock);
	pg->sqlstate[0] = '\0';
	if (!queued)
		return lost(pg, err);
	rc = flush(pg, limit, err);
	while (!rc) {
		rc = read_on(pg, limit, in_most, err);
		if (rc)
			break;
		result = PQgetResult(pg->conn);
		if (!result)
			break;
		if (!first)
			first = check_result(pg, result, err);
		if (PQresultStatus(result) == PGRES_TUPLES_OK) {
			PQclear(rows);
			rows = result;
		} else {
			PQclear(result);
		}
		if (pg->broken)
			break;
	}
	drop_notifications(pg);
	rc = rc ? rc : first;
	if (rc == ERR_CANCELLED || PQstatus(pg->conn) != CONNECTION_OK)
		pg->broken = true;
	if (rc || !ret)
		PQclear(rows);
	else
		*ret = rows;
	return rc;
}

int pg_command(struct pg *pg, const char *sql, const struct pg_limit *limit, struct err *err)
{
	struct pg_rows *rows;
	int rc;

	if (!pg->conn) {
		rc = inside_ask(pg, sql, NULL, 0, &rows, err);
		pg_result_free(rows);
		return rc;
	}
	pg->out += strlen(sql) + 6;
	return exchange(pg, PQsendQuery(pg->conn, sql), limit, NULL, err);
}

/* Rows in binary were asked for: an answer without any, not even a header, is none. Takes over
 * rows. */
static int need_rows(
	struct pg *pg, int rc, PGresult *rows, struct pg_rows **ret_result, struct err *err)
{
	int i;

	if (rc)
		return rc;
	if (!rows)
		return err_set(err, ERR_PROTO, "%s answered a query without rows", pg->place);
	for (i = 0; i < PQnfields(rows); i++)
		if (PQfformat(rows, i) != 1) {
			PQclear(rows);
			return err_set(err, ERR_PROTO,
				"%s answered in text, and binary was asked for", pg->place);
		}
	*ret_result = pg_rows_of(rows);
	return 0;
}

/* Parameters in text, counted for what polling costs. */
static void count_values(struct pg *pg, const char *const *values, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		pg->out += 4 + (values[i] ? strlen(values[i]) : 0);
}

int pg_query(struct pg *pg, const char *sql, const char *const *values, size_t n,
	const struct pg_limit *limit, struct pg_rows **ret_result, struct err *err)
{
	PGresult *rows = NULL;
	int rc;

	if (!pg->conn)
		return inside_ask(pg, sql, values, n, ret_result, err);
	count_values(pg, values, n);
	pg->out += strlen(sql) + 45; /* Parse, Bind, Describe, Execute, Sync */
	rc = exchange(pg, PQsendQueryParams(pg->conn, sql, (int)n, NULL, values, NULL, NULL, 1),
		limit, &rows, err);
	return need_rows(pg, rc, rows, ret_result, err);
}

int pg_prepare(struct pg *pg, const char *name, const char *sql, const struct pg_limit *limit,
	struct err *err)
{
	if (!pg->conn)
		return inside_prepare(pg, name, sql, err);
	pg->out += strlen(sql) + strlen(name) + 14;
	return exchange(pg, PQsendPrepare(pg->conn, name, sql, 0, NULL), limit, NULL, err);
}

int pg_query_prepared(struct pg *pg, const char *name, const char *const *values, size_t n,
	const struct pg_limit *limit, struct pg_rows **ret_result, struct err *err)
{
	PGresult *rows = NULL;
	int rc;

	if (!pg->conn)
		return inside_ask(pg, inside_prepared(pg, name), values, n, ret_result, err);
	count_values(pg, values, n);
	pg->out += strlen(name) + 38;
	rc = exchange(pg, PQsendQueryPrepared(pg->conn, name, (int)n, values, NULL, NULL, 1), limit,
		&rows, err);
	return need_rows(pg, rc, rows, ret_result, err);
}
