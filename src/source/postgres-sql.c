#include "config.h"

#include "source/postgres-sql.h"
#include "base/mem.h"
#include "base/str.h"

#include <string.h>

/*
 * What differs between versions: an expression from the version on that has it. {name} in the query
 * is replaced by the newest that the server knows.
 */
struct variant {
	const char *name;
	int since;
	const char *sql;
};

static const struct variant variants[] = {
	/* pg_locks.waitstart: PostgreSQL 14's release notes, E.28.3.1 */
	{ "{waitstart}", 140000, "waitstart" },
	{ "{waitstart}", 0, "NULL::timestamptz AS waitstart" },
	/* A CTE that is used once was always computed apart before 12, and must be asked to since.
	 */
	{ "{once}", 120000, "AS MATERIALIZED" },
	{ "{once}", 0, "AS" },
};

/*
 * A prepared transaction's locks have no pid. What they share with their transaction is
 * virtualtransaction: -1/XID after a restart, as the manual says, and that of the session that
 * prepared it before (since 2021). Each prepared transaction also locks its own transactionid,
 * which leads from the one to the other.
 */
static const char poll_locks[] =
	"WITH locks {once} (\n"
	"  SELECT locktype = 'advisory' AS advisory, database, classid, objid, objsubid,\n"
	"         mode = 'ShareLock' AS share, granted, pid,\n"
	"         CASE WHEN pid IS NULL THEN virtualtransaction END AS prepared,\n"
	"         transactionid, {waitstart}\n"
	"    FROM pg_locks\n";
static const char poll_where[] = "   WHERE locktype = 'advisory' OR NOT granted\n"
				 "      OR (locktype = 'transactionid' AND pid IS NULL)\n";
static const char poll_where_database[] =
	"   WHERE (locktype = 'advisory' AND database IN\n"
	"          (SELECT oid FROM pg_database WHERE datname = ANY ($2::text[])))\n"
	"      OR (locktype <> 'advisory' AND NOT granted)\n"
	"      OR (locktype = 'transactionid' AND pid IS NULL)\n";
static const char poll_sessions[] =
	"), blocked AS (\n"
	"  SELECT DISTINCT pid FROM locks\n"
	"   WHERE NOT granted AND pid IN (SELECT pid FROM locks WHERE advisory) LIMIT {blocked}\n"
	"), sessions AS (\n"
	"  SELECT pid, count(*) AS n, count(*) FILTER (WHERE granted) AS held\n"
	"    FROM locks WHERE advisory GROUP BY pid\n"
	"), prepared {once} (\n"
	"  SELECT l.prepared AS lock, p.gid, p.owner, p.prepared\n"
	"    FROM locks l JOIN pg_prepared_xacts p ON p.transaction = l.transactionid\n"
	"   WHERE l.pid IS NULL AND NOT l.advisory AND l.granted\n";
static const char poll_queued[] = "), queued AS (\n"
				  "  SELECT DISTINCT database, classid, objid, objsubid\n"
				  "    FROM locks WHERE advisory AND NOT granted\n";
static const char poll_rows[] =
	")\n"
	"SELECT 0 AS kind, pg_backend_pid() AS pid, NULL::oid AS database, NULL::oid AS classid,\n"
	"       NULL::oid AS objid, NULL::smallint AS objsubid, NULL::boolean AS share,\n"
	"       pg_is_in_recovery() AS flag, clock_timestamp() AS at, NULL::text AS name,\n"
	"       NULL::text AS usename, NULL::text AS client, NULL::text AS state,\n"
	"       NULL::timestamptz AS state_change, NULL::timestamptz AS query_start,\n"
	"       NULL::timestamptz AS xact_start, NULL::text AS wait_event, NULL::text AS query,\n"
	"       NULL::text AS backend_type, NULL::boolean AS superuser, NULL::text AS blocked_by,\n"
	"       coalesce(sum(n), 0)::bigint AS held\n"
	"  FROM sessions\n"
	"UNION ALL\n"
	"SELECT 1, NULL, oid, NULL, NULL, NULL, NULL, NULL, NULL, datname, NULL, NULL, NULL, "
	"NULL,\n"
	"       NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL\n"
	"  FROM pg_database\n"
	"UNION ALL\n"
	"SELECT 2, s.pid, a.datid, NULL, NULL, NULL, NULL, NULL, a.backend_start,\n"
	"       a.application_name, a.usename,\n"
	"       CASE WHEN a.client_port = -1 THEN 'local' ELSE host(a.client_addr) END, a.state,\n"
	"       a.state_change, a.query_start, a.xact_start,\n"
	"       a.wait_event_type || '/' || a.wait_event, left(a.query, 200), a.backend_type,\n"
	"       r.rolsuper,\n"
	"       CASE WHEN s.pid IN (SELECT pid FROM blocked)\n"
	"            THEN array_to_string(pg_blocking_pids(s.pid), ',') END, s.held\n"
	"  FROM sessions s LEFT JOIN pg_stat_activity a ON a.pid = s.pid\n"
	"       LEFT JOIN pg_roles r ON r.oid = a.usesysid\n"
	" WHERE s.pid IS NOT NULL\n"
	"UNION ALL\n"
	"(SELECT 3, l.pid, l.database, l.classid, l.objid, l.objsubid, l.share, l.granted,\n"
	"        l.waitstart, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,\n"
	"        NULL, NULL\n"
	"   FROM locks l{queue}\n"
	"  WHERE l.advisory AND l.pid IS NOT NULL{order}\n"
	"  LIMIT $1::bigint)\n"
	"UNION ALL\n"
	"(SELECT 3, NULL, l.database, l.classid, l.objid, l.objsubid, l.share, l.granted,\n"
	"        NULL, p.gid, p.owner, NULL, NULL, NULL, NULL, p.prepared, NULL, NULL, NULL, "
	"NULL,\n"
	"        NULL, NULL\n"
	"   FROM locks l LEFT JOIN prepared p ON p.lock = l.prepared\n"
	"  WHERE l.advisory AND l.pid IS NULL\n"
	"  LIMIT $1::bigint)";

/* Where rows must be left out: those with a queue stay, and keys stay whole. */
static const char poll_queue[] =
	" LEFT JOIN queued q ON (q.database, q.classid, q.objid, q.objsubid)\n"
	"                              = (l.database, l.classid, l.objid, l.objsubid)";
static const char poll_order[] = "\n  ORDER BY q.classid IS NULL, l.database, l.objsubid, "
				 "l.classid::bigint, l.objid::bigint,\n"
				 "           l.granted DESC";

/* What stands for {name}: an expression of the version's, or a part of the query. */
static const char *filling(const char *name, size_t len, int version, bool ordered)
{
	size_t i;

	if (str_starts(name, "{queue}"))
		return ordered ? poll_queue : "";
	if (str_starts(name, "{order}"))
		return ordered ? poll_order : "";
	for (i = 0; i < ARRAY_LEN(variants); i++)
		if (version >= variants[i].since && strncmp(variants[i].name, name, len) == 0)
			return variants[i].sql;
	return NULL;
}

static void add_part(struct str *out, const char *part, int version, bool ordered)
{
	while (*part) {
		size_t len = strcspn(part, "{");
		const char *sql;

		str_add_mem(out, part, len);
		part += len;
		if (!*part)
			return;
		len = strcspn(part, "}") + 1;
		sql = filling(part, len, version, ordered);
		if (sql)
			str_add(out, sql);
		else
			str_addf(out, "%d", POSTGRES_BLOCKED_MAX);
		part += len;
	}
}

void postgres_sql_poll(struct str *out, int version, bool filtered, bool ordered)
{
	add_part(out, poll_locks, version, ordered);
	add_part(out, filtered ? poll_where_database : poll_where, version, ordered);
	add_part(out, poll_sessions, version, ordered);
	if (ordered)
		add_part(out, poll_queued, version, ordered);
	add_part(out, poll_rows, version, ordered);
}

/*
 * Asked before search_path is set, so all names are qualified. reset_val is what a new session
 * would have, whatever this one has set. current_setting of tcp_keepalives_* tells what the
 * operating system uses where the setting is 0 and the connection is TCP, and 0 on a Unix socket
 * (PostgreSQL's manual, "Connection Settings").
 */
const char postgres_sql_facts[] =
	"SELECT pg_catalog.pg_backend_pid(), pg_catalog.version(),\n"
	"       (SELECT reset_val OPERATOR(pg_catalog.=) 'on' FROM pg_catalog.pg_settings\n"
	"         WHERE name OPERATOR(pg_catalog.=) 'default_transaction_read_only'),\n"
	"       pg_catalog.current_setting('max_locks_per_transaction')::pg_catalog.int8\n"
	"         OPERATOR(pg_catalog.*) "
	"(pg_catalog.current_setting('max_connections')::pg_catalog.int8\n"
	"         OPERATOR(pg_catalog.+)\n"
	"         pg_catalog.current_setting('max_prepared_transactions')::pg_catalog.int8),\n"
	"       (SELECT CASE WHEN idle OPERATOR(pg_catalog.>) 0 AND span OPERATOR(pg_catalog.>) 0\n"
	"                     AND n OPERATOR(pg_catalog.>) 0\n"
	"                    THEN (idle OPERATOR(pg_catalog.+) (span OPERATOR(pg_catalog.*) n))\n"
	"                         OPERATOR(pg_catalog.*) 1000 END\n"
	"          FROM (SELECT "
	"pg_catalog.current_setting('tcp_keepalives_count')::pg_catalog.int8,\n"
	"                       "
	"pg_catalog.current_setting('tcp_keepalives_idle')::pg_catalog.int8,\n"
	"                       "
	"pg_catalog.current_setting('tcp_keepalives_interval')::pg_catalog.int8\n"
	"               ) AS k (n, idle, span)),\n"
	"       pg_catalog.pg_is_in_recovery(),\n"
	"       (SELECT rolsuper FROM pg_catalog.pg_roles\n"
	"         WHERE rolname OPERATOR(pg_catalog.=) current_user),\n"
	"       pg_catalog.pg_has_role('pg_read_all_stats', 'USAGE'),\n"
	"       pg_catalog.pg_has_role('pg_signal_backend', 'USAGE'),\n"
	"       pg_catalog.current_database(), current_user,\n"
	"       pg_catalog.current_setting('server_encoding'),\n"
	"       pg_catalog.host(pg_catalog.inet_client_addr())";

/*
 * The timeline: what is being written, from the name of the WAL file (its first eight digits); on a
 * standby what is being received, else what the last restart point says. Both functions may be
 * called by everybody unless that was revoked.
 */
const char postgres_sql_control[] =
	"SELECT (SELECT system_identifier FROM pg_catalog.pg_control_system()),\n"
	"       CASE WHEN pg_catalog.pg_is_in_recovery() THEN\n"
	"            coalesce((SELECT received_tli FROM pg_catalog.pg_stat_wal_receiver),\n"
	"                     (SELECT timeline_id FROM pg_catalog.pg_control_checkpoint()))\n"
	"       ELSE ('x' OPERATOR(pg_catalog.||) pg_catalog.substr(pg_catalog.pg_walfile_name(\n"
	"                 pg_catalog.pg_current_wal_lsn()), 1, 8))::bit(32)::pg_catalog.int4 END";

/*
 * Settings for the whole session, where it is ours alone. set_config takes them as parameters, and
 * shows in the server's log as the SELECT that it is.
 */
const char postgres_sql_settle[] =
	"SELECT pg_catalog.set_config('default_transaction_read_only', 'on', false),\n"
	"       pg_catalog.set_config('statement_timeout', $1, false),\n"
	"       pg_catalog.set_config('lock_timeout', $2, false),\n"
	"       pg_catalog.set_config('idle_in_transaction_session_timeout', $3, false),\n"
	"       pg_catalog.set_config('search_path', 'pg_catalog', false)";

const char postgres_sql_hashes[] =
	"SELECT pg_catalog.hashtext(pg_catalog.convert_from(s, 'UTF8'))\n"
	"  FROM pg_catalog.unnest($1::pg_catalog.bytea[]) WITH ORDINALITY AS t (s, n)\n"
	" ORDER BY n";
