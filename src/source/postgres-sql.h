#ifndef SOURCE_POSTGRES_SQL_H
#define SOURCE_POSTGRES_SQL_H

#include <stdbool.h>

struct str;

/*
 * The one query of a poll, and its columns. Rows of four kinds come together, so that one round
 * trip gives one moment: the server's, a row for each database, one for each session that holds or
 * waits, one for each advisory lock. Sessions are told once, however many locks they hold: 10,000
 * locks of one session cost half of what a join of each lock with pg_stat_activity costs.
 */
enum pg_row_kind {
	ROW_SERVER,
	ROW_DATABASE,
	ROW_SESSION,
	ROW_LOCK
};

enum pg_column {
	C_KIND,
	C_PID,
	C_DATABASE, /* oid: of the lock, the session, the database */
	C_CLASSID,
	C_OBJID,
	C_OBJSUBID,
	C_SHARE,  /* lock: the mode is ShareLock */
	C_FLAG,   /* lock: granted; server: in recovery */
	C_AT,     /* lock: waitstart; server: its clock; session: backend_start */
	C_NAME,   /* database: its name; session: application_name; lock: the prepared transaction's
		     GID */
	C_USER,   /* session: role; lock: the prepared transaction's owner */
	C_CLIENT, /* session: address, "local", NULL for none */
	C_STATE,
	C_STATE_CHANGE,
	C_QUERY_START,
	C_XACT_START, /* session; lock: when the transaction was prepared */
	C_WAIT_EVENT,
	C_QUERY,
	C_BACKEND_TYPE,
	C_SUPERUSER,
	C_BLOCKED_BY, /* pids, separated by commas */
	C_HELD,       /* session: advisory locks held; server: advisory rows in all */
	COLUMNS
};

/* pg_blocking_pids looks through the whole lock table for each session: no more than so many are
 * asked about. */
enum {
	POSTGRES_BLOCKED_MAX = 256
};

/* The oldest server that is spoken to, as server_version_num says it. */
enum {
	POSTGRES_OLDEST = 110000
};

/*
 * The query for a server of that version. Parameter $1: the most lock rows; $2, where filtered: the
 * names of the databases, an array of text. ordered puts the rows in an order of importance first,
 * for a server that has more of them than are read.
 */
void postgres_sql_poll(struct str *out, int version, bool filtered, bool ordered);

/* What is asked once for each connection, before anything is set. One row; columns as in F_. */
enum pg_fact {
	F_PID,
	F_TEXT,
	F_READ_ONLY,
	F_CAPACITY,
	F_KEEPALIVE_MS,
	F_IN_RECOVERY,
	F_SUPERUSER,
	F_READS_ALL, /* member of pg_read_all_stats (pg_monitor is one) */
	F_SIGNALS,   /* member of pg_signal_backend */
	F_DATABASE,
	F_ROLE,
	F_ENCODING,
	F_CLIENT,
	FACTS
};
extern const char postgres_sql_facts[];

/* What may be refused, or be missing in a server that only resembles PostgreSQL: system identifier,
 * timeline. */
extern const char postgres_sql_control[];

/* The settings of our own session: $1 statement_timeout, $2 lock_timeout, $3
 * idle_in_transaction_session_timeout, in milliseconds. One row. */
extern const char postgres_sql_settle[];

/* hashtext of each text of $1, an array of bytea, in its order. */
extern const char postgres_sql_hashes[];

#endif
