#ifndef IO_PG_H
#define IO_PG_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clock_source;
struct str;

/*
 * libpq with a deadline on every wait: straight-line calls that block, and never longer than they
 * may. One connection belongs to one thread. What libpq itself can't be asked to do in pieces is
 * the look-up of a host's name, which the system's resolver bounds.
 *
 * Errors are sentences: what was tried, what answered, what to do. No text ever holds a password:
 * neither the connection string nor what libpq quotes from it is repeated, and a server that echoes
 * the password gets it masked.
 *
 * There is no cancel request. PQcancel (before libpq 17) blocks without a limit, on a server that
 * hangs for ever; so the caller sets statement_timeout below its own deadline, and a connection
 * whose deadline passed is closed.
 */
struct pg;
struct pg_rows; /* an answer, in binary: libpq's PGresult, or a built-in server's */

struct pg_settings {
	const char *conninfo; /* as psql takes it: key=value, a URI, a database's name; "" or NULL:
				 the environment's */
	const char *password; /* in place of any other; NULL */
	const char *application; /* application_name */
	const char *database;    /* in place of the connection string's; NULL */
};

/* How long a call may take, and what may end it earlier. */
struct pg_limit {
	const struct clock_source *clock;
	int64_t deadline_ms;          /* of clock's monotonic time */
	int wake_fd;                  /* readable when `cancelled` should be asked; -1: none */
	bool (*cancelled)(void *arg); /* NULL: never */
	void *arg;
};

/*
 * An answer, and what comes while connecting, may be so large; then it is an error, ERR_LIMIT. It
 * is looked at between libpq's reads: one message, as long as its header says, can pass the limit
 * before that is seen.
 */
enum {
	PG_ANSWER_MAX = 64 * 1024 * 1024,
	PG_GREETING_MAX = 1024 * 1024,
	PG_HOSTS_MAX = 32
};

/*
 * Checks a connection string without the network: 0, or ERR_CONFIG with a sentence that doesn't
 * repeat it. What a service file says is not looked at.
 */
int pg_check_conninfo(const char *conninfo, struct err *err);

/*
 * Connects. Several hosts are tried in turn, each with its share of the time that is left (libpq's
 * own connect_timeout doesn't bound a connection that is made in pieces); target_session_attrs is
 * obeyed, prefer-standby in two rounds.
 */
int pg_connect(const struct pg_settings *settings, const struct pg_limit *limit, struct pg **ret_pg,
	struct err *err);
/* Closes; NULL is taken. Never waits. */
void pg_close(struct pg *pg);

/* Whether an error has made the connection useless: close it. A server's error in a statement alone
 * doesn't. */
bool pg_is_broken(const struct pg *pg);
/* Whether the server closed it, or sent what nobody asked for; looks at the socket once, without
 * waiting. */
bool pg_is_stale(struct pg *pg);

/* What the connection is: "127.0.0.1:5432", "[::1]:5432", "/run/postgresql:5432"; not sanitised.
 * Lives as long as the connection. */
const char *pg_place(const struct pg *pg);
const char *pg_user(const struct pg *pg);
const char *pg_database(const struct pg *pg);
bool pg_is_local(const struct pg *pg); /* over a Unix socket */
bool pg_is_encrypted(const struct pg *pg);
/* The process id that the other side told for cancelling; a pooler tells one of its own making. */
int pg_told_pid(const struct pg *pg);
int pg_version(const struct pg *pg); /* server_version_num; 0 when it told none */
/* Bytes received and sent, as the socket showed them; they are the kernel's figures, at least so
 * much. */
uint64_t pg_bytes_in(const struct pg *pg);
uint64_t pg_bytes_out(const struct pg *pg);
uint64_t pg_requests(const struct pg *pg); /* round trips */
/* The SQLSTATE of the last statement that failed; "" when it was not the server that refused. */
const char *pg_sqlstate(const struct pg *pg);

/* Runs statements without parameters, separated by semicolons (the simple protocol); their rows are
 * thrown away. */
int pg_command(struct pg *pg, const char *sql, const struct pg_limit *limit, struct err *err);
/*
 * Runs one statement with parameters in text (NULL is SQL's NULL); its rows come in binary. The
 * caller frees by pg_result_free.
 */
int pg_query(struct pg *pg, const char *sql, const char *const *values, size_t n,
	const struct pg_limit *limit, struct pg_rows **ret_result, struct err *err);
/* The same in two steps, so that the server parses and plans once. */
int pg_prepare(struct pg *pg, const char *name, const char *sql, const struct pg_limit *limit,
	struct err *err);
int pg_query_prepared(struct pg *pg, const char *name, const char *const *values, size_t n,
	const struct pg_limit *limit, struct pg_rows **ret_result, struct err *err);

/*
 * Reading an answer. A field that is NULL, or whose length isn't that of its type, reads as absent:
 * the functions return false, and leave their result as it was.
 */
void pg_result_free(struct pg_rows *result);
size_t pg_rows(const struct pg_rows *result);
size_t pg_columns(const struct pg_rows *result);
/* bool, smallint, integer, bigint: signed */
bool pg_int(const struct pg_rows *result, size_t row, size_t column, int64_t *ret);
/* oid */
bool pg_oid(const struct pg_rows *result, size_t row, size_t column, uint32_t *ret);
/* timestamptz: microseconds since 1970; infinity is absent */
bool pg_time(const struct pg_rows *result, size_t row, size_t column, int64_t *ret_us);
/* text and its kin: raw bytes, terminated by NUL behind them; NULL when absent. Lives as long as
 * the result. */
const char *pg_text(const struct pg_rows *result, size_t row, size_t column, size_t *ret_len);

/* The fields' readers, on the bytes themselves. */
bool pg_decode_int(const void *bytes, size_t len, int64_t *ret);
bool pg_decode_time(const void *bytes, size_t len, int64_t *ret_us);

/*
 * Adds an element to the text form of an array, between pg_array_begin and pg_array_end: text, or
 * the bytes of a text for an array of bytea.
 */
void pg_array_begin(struct str *out);
void pg_array_add(struct str *out, const char *element);
void pg_array_add_bytes(struct str *out, const char *element);
void pg_array_end(struct str *out);

/* What PostgreSQL's md5() of a text is, as 32 hexadecimal digits; false where the library refuses
 * MD5 (FIPS). */
bool pg_md5(const char *text, char ret_hex[33]);

/*
 * Says what libpq's message of a failed connection means, as pg_connect does. raw: with the
 * server's part in verbose form
 * ("FATAL:  28P01: ..."). place and user as above.
 */
int pg_explain(const char *raw, const char *place, const char *user, struct err *err);
/* The same of a session that stood. */
int pg_explain_lost(const char *raw, const char *place, const char *user, struct err *err);

/* What was waited for in vain. */
enum pg_stage {
	PG_STAGE_REACH,   /* a connection */
	PG_STAGE_SILENT,  /* its first word */
	PG_STAGE_TLS,     /* the end of the handshake */
	PG_STAGE_LOGIN,   /* to be let in */
	PG_STAGE_SESSION, /* a session, after that */
	PG_STAGE_QUERY    /* an answer in it */
};
/* Fills err (ERR_TIMEOUT) with what that means. */
int pg_explain_slow(enum pg_stage stage, const char *place, double seconds, struct err *err);

#endif
