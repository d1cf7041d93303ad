#include "config.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "source/postgres-act.h"
#include "source/postgres.h"
#include "source/source.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What an act would cost: read again, directly before, by statements that change nothing. */

enum {
	QUERY_SHOWN = 200,
	LONG_MS = 2000 /* a statement or transaction that counts */
};

const char pg_sql_session[] =
	"SELECT a.backend_start, a.query = '<insufficient privilege>' AND a.backend_start IS "
	"NULL,\n"
	"       a.usename, a.state, a.state_change, a.query_start, left(a.query, 200),\n"
	"       a.backend_type, a.xact_start, a.backend_xid IS NOT NULL,\n"
	"       coalesce(r.rolsuper, true), coalesce(pg_has_role(a.usesysid, 'USAGE'), false),\n"
	"       clock_timestamp(), coalesce(k.has_granted, false), coalesce(k.has_waiting, "
	"false),\n"
	"       (SELECT count(*) FROM pg_locks o WHERE o.pid = a.pid AND o.granted\n"
	"           AND o.locktype NOT IN ('advisory', 'virtualxid')),\n"
	"       a.query ~* '(create\\s+(unique\\s+)?index|reindex.*)\\s+concurrently',\n"
	"       (SELECT count(*) FROM pg_stat_activity o WHERE o.pid <> a.pid\n"
	"           AND o.client_addr IS NOT DISTINCT FROM a.client_addr AND o.usename = "
	"a.usename\n"
	"           AND o.application_name = a.application_name AND o.application_name <> '')\n"
	"  FROM pg_stat_activity a LEFT JOIN pg_roles r ON r.oid = a.usesysid\n"
	"       LEFT JOIN LATERAL (SELECT bool_or(l.granted), bool_or(NOT l.granted)\n"
	"         FROM pg_locks l WHERE l.pid = a.pid AND l.locktype = 'advisory'\n"
	"          AND l.database = $2::oid AND l.classid = $3::oid AND l.objid = $4::oid\n"
	"          AND l.objsubid = $5::int2) AS k (has_granted, has_waiting) ON true\n"
	" WHERE a.pid = $1::int4";

const char pg_sql_place[] =
	"SELECT pg_is_in_recovery(), d.datname, d.datallowconn,\n"
	"       has_database_privilege(d.oid, 'CONNECT'),\n"
	"       coalesce((SELECT bool_and(has_function_privilege(f.oid, 'EXECUTE')) FROM pg_proc "
	"f\n"
	"         WHERE f.proname = $2::name AND f.pronamespace = 'pg_catalog'::regnamespace), "
	"true)\n"
	"  FROM pg_database d WHERE d.oid = $1::oid";

/* ---- the session ---- */

/* Whether it is still the one on the screen. */
static void session_compare(
	const struct pg_target *t, const struct pg_rows *rows, struct plan *plan)
{
	int64_t start = 0;
	char began[CLOCK_TEXT_MAX];

	if (!pg_rows(rows)) {
		plan_changed(plan, "the session of pid %" PRId64 " has ended", t->pid);
		return;
	}
	if (!pg_time(rows, 0, S_START, &start)) {
		plan_refuse(plan,
			"when the session of pid %" PRId64 " began is hidden, so that its identity "
			"can't be verified: GRANT pg_read_all_stats TO the role of this source",
			t->pid);
		return;
	}
	if (start != t->since_us) {
		clock_format_utc(began, start, 6);
		plan_changed(plan, "pid %" PRId64 " is another session now: it began at %s", t->pid,
			began);
		return;
	}
	if (pg_flag(rows, 0, t->granted ? S_HAS_GRANTED : S_HAS_WAITING))
		return;
	if (t->granted)
		plan_changed(plan, "this session does not hold the lock any more");
	else
		plan_changed(plan, "this session does not wait for the lock any more%s",
			pg_flag(rows, 0, S_HAS_GRANTED) ? ": it holds it" : "");
}

/* backend/storage/ipc/signalfuncs.c, pg_signal_backend. */
static void session_permission(struct postgres *p, const struct pg_rows *rows, bool execute,
	const char *function, struct plan *plan)
{
	struct str user, role;

	str_init(&user, 1024);
	str_init(&role, 1024);
	pg_shown(&user, rows, 0, S_USER, PG_NAME_SHOWN);
	text_escape_cut(&role, p->facts.role, strlen(p->facts.role), PG_NAME_SHOWN);
	plan->permission = TRI_YES;
	if (!execute)
		plan_text(&plan->permission_why,
			"GRANT EXECUTE ON FUNCTION %s TO \"%s\" is missing", function, role.s);
	else if (p->facts.superuser)
		goto out;
	else if (pg_flag(rows, 0, S_SUPERUSER))
		plan_text(&plan->permission_why,
			"%s%s is a superuser's: only a superuser may end or cancel it, also "
			"pg_signal_backend does not allow it",
			user.len ? "the session of " : "the session", user.len ? user.s : "");
	else if (!pg_flag(rows, 0, S_MEMBER) && !p->facts.signals)
		plan_text(&plan->permission_why,
			"\"%s\" is neither in the role \"%s\" nor in pg_signal_backend: GRANT "
			"pg_signal_backend TO \"%s\"",
			role.s, user.s, role.s);
	else
		goto out;
	plan->permission = TRI_NO;
	plan_refuse(plan, "%s", plan->permission_why);
out:
	str_release(&user);
	str_release(&role);
}

/* Its last sign of life on our clock: how long ago the server says it was. */
static void session_life(
	struct postgres *p, struct round *r, const struct pg_rows *rows, struct plan *plan)
{
	bool active = str_eq(pg_text(rows, 0, S_STATE, NULL), "active");
	int64_t now = 0, then = 0;
	struct str state;

	(void)p;
	str_init(&state, 256);
	pg_shown(&state, rows, 0, S_STATE, 64);
	if (active) {
		plan->last_sign_us = clock_wall_us(round_clock(r));
		plan_text(&plan->last_sign, "it executes a statement now");
	} else if (pg_time(rows, 0, S_NOW, &now) && pg_time(rows, 0, S_STATE_CHANGE, &then)) {
		plan->last_sign_us = clock_wall_us(round_clock(r)) - clock_minus(now, then);
		plan_text(
			&plan->last_sign, "its session became %s", state.len ? state.s : "silent");
	}
	str_release(&state);
}

/* How long ago that was, in milliseconds; 0 where it is not known. */
static int64_t since_ms(const struct pg_rows *rows, enum session_column since)
{
	int64_t now = 0, then = 0;

	if (!pg_time(rows, 0, S_NOW, &now) || !pg_time(rows, 0, since, &then))
		return 0;
	return clock_minus(now, then) / 1000;
}

/* The statement, as the forecast names it: its text, where that may be shown, and when it began. */
static void statement_name(const struct postgres *p, const struct pg_rows *rows, struct str *out)
{
	char began[CLOCK_TEXT_MAX];
	struct str query;
	int64_t start = 0;

	str_init(&query, 4096);
	pg_time(rows, 0, S_QUERY_START, &start);
	clock_format_utc(began, start, 6);
	if (source_option_int(p->config, "query_text"))
		str_addf(out, "%s, ", pg_shown(&query, rows, 0, S_QUERY, QUERY_SHOWN));
	str_addf(out, "begun %s", began);
	str_release(&query);
}

/*
 * Of a session that executes one short statement after the other, which of them it is just now is
 * no news; a long one that was not there when the operator agreed is. What has an id is compared
 * again directly before (gate.h); a cancel is for one statement, and no other.
 */
static void session_statement(
	const struct postgres *p, const struct pg_rows *rows, bool terminate, struct plan *plan)
{
	bool named = !terminate || since_ms(rows, S_QUERY_START) >= LONG_MS;
	char age[CLOCK_TEXT_MAX];
	struct str what, name;

	str_init(&what, 8192);
	str_init(&name, 8192);
	clock_format_age(age, since_ms(rows, S_QUERY_START));
	statement_name(p, rows, &name);
	str_addf(&what, "the statement that it executes, for %s", age);
	if (!named)
		str_addf(&what, ": %s", name.s);
	plan_add(&plan->destroys, what.s, named ? name.s : NULL);
	if (pg_flag(rows, 0, S_CONCURRENTLY))
		plan_warn(plan,
			"it builds an index CONCURRENTLY: cut off, it leaves an invalid index "
			"behind, which must be dropped");
	str_release(&what);
	str_release(&name);
}

/* A statement alone is a transaction of its own, and told as a statement. */
static void session_transaction(const struct pg_rows *rows, bool active, struct plan *plan)
{
	bool wrote = pg_flag(rows, 0, S_WROTE);
	char began[CLOCK_TEXT_MAX];
	struct str id;
	int64_t start = 0;

	if (!pg_time(rows, 0, S_XACT_START, &start) || (active && !wrote))
		return;
	str_init(&id, 128);
	clock_format_utc(began, start, 6);
	str_addf(&id, "begun %s", began);
	if (!wrote)
		plan_add(&plan->destroys, "its open transaction, which has written nothing yet",
			NULL);
	else
		plan_add(&plan->destroys,
			"its open transaction, which has written: all of that is rolled back",
			since_ms(rows, S_XACT_START) >= LONG_MS ? id.s : NULL);
	if (wrote && active)
		plan_warn(plan, "rolling back what a long statement did may take as long");
	str_release(&id);
}

/* What it executes, or what its transaction has done. */
static void session_work(
	const struct postgres *p, const struct pg_rows *rows, bool terminate, struct plan *plan)
{
	bool active = str_eq(pg_text(rows, 0, S_STATE, NULL), "active");
	char what[96];

	if (active)
		session_statement(p, rows, terminate, plan);
	session_transaction(rows, active, plan);
	if (terminate && pg_number(rows, 0, S_OTHER_LOCKS)) {
		snprintf(what, sizeof(what), "%" PRId64 " other locks of its transaction",
			pg_number(rows, 0, S_OTHER_LOCKS));
		plan_add(&plan->destroys, what, NULL);
	}
}

static void session_pooled(const struct pg_target *t, struct plan *plan)
{
	const char *why = t->claim ? claim_text(t->claim, DETAIL_POOLED, NULL) : NULL;

	if (!why)
		return;
	plan_add(&plan->destroys,
		"the pooler's server connection: also whichever client of the pooler uses it then",
		NULL);
	plan_warn(plan,
		"the session is a pooler's (%s): who took the lock may not be who uses the session "
		"now, and what it executes may be another client's",
		why);
}

static void plan_terminated(
	const struct pg_target *t, const struct pg_rows *rows, struct plan *plan)
{
	const char *client = t->claim ? claim_text(t->claim, DETAIL_CLIENT, NULL) : NULL;
	struct str user, id;

	str_init(&user, 1024);
	str_init(&id, 2048);
	pg_shown(&user, rows, 0, S_USER, PG_NAME_SHOWN);
	str_addf(&id, "pid %" PRId64, t->pid);
	if (user.len)
		str_addf(&id, ", role %s", user.s);
	if (client)
		str_addf(&id, ", client %s", client);
	plan_add(&plan->destroys, "its session, with every lock and setting of it", id.s);
	str_release(&user);
	str_release(&id);
}

/* Released, the client's process is told by its connection alone. */
static void plan_terminate(const struct postgres *p, const struct pg_target *t,
	const struct pg_rows *rows, struct plan *plan)
{
	int64_t same = pg_number(rows, 0, S_SAME_CLIENT);
	bool client = str_eq(pg_text(rows, 0, S_TYPE, NULL), "client backend");

	plan_terminated(t, rows, plan);
	session_work(p, rows, true, plan);
	session_pooled(t, plan);
	plan_add(&plan->told,
		client ? "its client: FATAL 57P01 when it next uses that connection"
		       : "nobody: it is a process of the server itself",
		NULL);
	plan->stops_holder = !client;
	if (same > 0)
		plan_warn(plan,
			"%" PRId64
			" other session%s of the same client and application %s there: its "
			"process can work on by them",
			same, same == 1 ? "" : "s", same == 1 ? "is" : "are");
	if (client && t->granted)
		plan_warn(plan,
			"this ends the session, not the process behind it: an application that "
			"opens a new session may still think that it leads");
}

static void plan_cancel(const struct postgres *p, const struct pg_target *t,
	const struct pg_rows *rows, struct plan *plan)
{
	int64_t start = 0;
	char text[CLOCK_TEXT_MAX];
	struct str state;

	str_init(&state, 256);
	if (!str_eq(pg_text(rows, 0, S_STATE, NULL), "active") ||
		!pg_time(rows, 0, S_QUERY_START, &start))
		plan_refuse(plan,
			"it executes nothing (its state is %s), so a cancel does nothing: release "
			"ends "
			"the session",
			*pg_shown(&state, rows, 0, S_STATE, 64) ? state.s : "not known");
	str_release(&state);
	if (plan->verdict != PLAN_READY)
		return;
	clock_format_utc(text, start, 6);
	plan_text(&plan->guard, "%s", text);
	session_work(p, rows, false, plan);
	plan_add(&plan->told, "its client: the statement fails with 57014", NULL);
	plan_add(&plan->keeps, "its session, with all locks that it took for the session", NULL);
	if (t->granted)
		plan_warn(plan, "it keeps the lock where it took it for the session; taken for the "
				"transaction, the lock goes with the transaction");
}

static void plan_notify(struct postgres *p, const struct order *order, const struct pg_target *t,
	const struct pg_rows *place, struct plan *plan)
{
	const char *channel = source_option_text(p->config, "step_down_channel");
	const char *values[PG_TARGET_VALUES + 2];
	struct str payload, name, shown;
	size_t len = 0;
	const char *database = pg_text(place, 0, P_DATABASE, &len);

	if (!channel || !*channel) {
		plan_refuse(plan,
			"not available: no session can be asked. Where holders LISTEN on a "
			"channel, name it in step_down_channel");
		return;
	}
	str_init(&payload, 64 * 1024);
	str_init(&name, 1024);
	str_init(&shown, 2048);
	text_escape_cut(&name, channel, strlen(channel), PG_NAME_SHOWN);
	text_escape_cut(&shown, database ? database : "?", database ? len : 1, PG_NAME_SHOWN);
	pg_step_down_payload(&payload, order, t);
	memcpy(values, t->value, sizeof(t->value));
	values[PG_TARGET_VALUES] = channel;
	values[PG_TARGET_VALUES + 1] = payload.s;
	pg_request_text(&plan->request, pg_sql_notify, values, ARRAY_LEN(values));
	plan_text(&plan->guard, "%s", database ? database : "");
	str_addf(&name, " in database %s", shown.s);
	plan_add(&plan->told, "who listens on the channel", name.s);
	plan_add(&plan->keeps, "its session and all its locks, until it lets go by itself", NULL);
	plan_warn(plan, "whether anybody listens can't be seen: no server tells who does");
	plan->permission =
		pg_flag(place, 0, P_ALLOWS) && pg_flag(place, 0, P_CONNECT) ? TRI_YES : TRI_NO;
	if (plan->permission == TRI_NO) {
		plan_text(&plan->permission_why, "GRANT CONNECT ON DATABASE \"%s\" is missing",
			shown.s);
		plan_refuse(plan, "%s", plan->permission_why);
	}
	if (pg_flag(place, 0, P_RECOVERY))
		plan_refuse(plan, "this server is a standby, where NOTIFY does not work");
	if (strlen(channel) > PG_CHANNEL_MAX || payload.len > PG_PAYLOAD_MAX)
		plan_refuse(
			plan, "the channel's name or the payload is longer than PostgreSQL takes");
	str_release(&payload);
	str_release(&name);
	str_release(&shown);
}

static int read_place(struct postgres *p, const struct order *order, const struct pg_target *t,
	const struct pg_limit *limit, struct pg_rows **ret, struct err *err)
{
	const char *function = order->verb == VERB_CANCEL      ? "pg_cancel_backend"
			       : order->verb == VERB_STEP_DOWN ? "pg_notify"
							       : "pg_terminate_backend";
	const char *values[] = { t->value[2], function };

	return pg_query(p->pg, pg_sql_place, values, ARRAY_LEN(values), limit, ret, err);
}

/* A standby's locks exclude nobody on the primary, and the database may be gone. */
static void place_compare(const struct pg_rows *place, struct plan *plan)
{
	if (!pg_rows(place))
		plan_changed(plan, "the lock's database is not there any more");
	else if (pg_flag(place, 0, P_RECOVERY))
		plan_warn(
			plan, "this server is a standby: its locks exclude nobody on the primary");
}

static void session_verb(struct postgres *p, const struct order *order, const struct pg_target *t,
	const struct pg_rows *rows, const struct pg_rows *place, struct plan *plan)
{
	bool cancel = order->verb == VERB_CANCEL;
	const char *values[PG_TARGET_VALUES + 1];

	if (order->verb == VERB_STEP_DOWN) {
		plan_notify(p, order, t, place, plan);
		plan_text(&plan->guarded_by, "the server compares pid, backend_start and the lock "
					     "row in the same statement");
		return;
	}
	session_permission(p, rows, pg_flag(place, 0, P_EXECUTE),
		cancel ? "pg_cancel_backend" : "pg_terminate_backend", plan);
	if (cancel)
		plan_cancel(p, t, rows, plan);
	else
		plan_terminate(p, t, rows, plan);
	plan_text(&plan->guarded_by,
		"the server compares pid, backend_start%s and the lock row in the same statement",
		cancel ? ", query_start" : "");
	if (cancel && !plan->guard)
		return;
	memcpy(values, t->value, sizeof(t->value));
	values[PG_TARGET_VALUES] = plan->guard;
	pg_request_text(&plan->request, cancel ? pg_sql_cancel : pg_sql_terminate, values,
		PG_TARGET_VALUES + cancel);
}

static void plan_alone(const struct postgres *p, const struct pg_target *t, struct plan *plan)
{
	char age[CLOCK_TEXT_MAX];

	if (!t->granted) {
		plan_text(&plan->alone, "it waits on, until it gets the lock or gives up");
		return;
	}
	if (p->facts.keepalive_ms == TIME_UNKNOWN) {
		plan_text(&plan->alone, "it holds the lock until it unlocks or its session ends; "
					"after how long the "
					"server notices a client that is gone is not known");
		return;
	}
	clock_format_age(age, p->facts.keepalive_ms);
	plan_text(&plan->alone,
		"it holds the lock until it unlocks or its session ends; a client whose host is "
		"gone "
		"is noticed after about %s",
		age);
}

int pg_plan_session(struct postgres *p, struct round *r, const struct order *order,
	const struct pg_target *t, struct plan *plan, struct err *err)
{
	static const size_t lock[] = { 0, 2, 3, 4, 5 };
	struct pg_limit limit = postgres_limit(r);
	const char *values[ARRAY_LEN(lock)];
	struct pg_rows *rows = NULL, *place = NULL;
	size_t i;
	int rc;

	for (i = 0; i < ARRAY_LEN(lock); i++)
		values[i] = t->value[lock[i]];
	rc = pg_query(p->pg, pg_sql_session, values, ARRAY_LEN(values), &limit, &rows, err);
	if (!rc)
		rc = read_place(p, order, t, &limit, &place, err);
	if (!rc) {
		session_compare(t, rows, plan);
		place_compare(place, plan);
	}
	if (!rc && plan->verdict == PLAN_READY) {
		session_verb(p, order, t, rows, place, plan);
		session_life(p, r, rows, plan);
		plan_alone(p, t, plan);
		rc = pg_plan_queue(p, r, t, plan, err);
		if (!rc && order->verb == VERB_RELEASE)
			rc = pg_plan_others(p, r, order, t, NULL, plan, err);
	}
	pg_result_free(rows);
	pg_result_free(place);
	return rc;
}
