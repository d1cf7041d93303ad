#include "config.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "source/postgres-act.h"
#include "source/postgres.h"
#include "source/source.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* What is so after an act. */

/*
 * The target's session and lock row; and, since a process whose session was ended may work on by
 * others, the sessions of the same client, application and role. $8 client as the picture has it,
 * $9 application_name, $10 role.
 */
const char pg_sql_look[] =
	"SELECT a.pid IS NOT NULL,\n"
	"       EXISTS (SELECT FROM pg_locks l WHERE l.pid = a.pid AND " PG_LOCK_IS "),\n"
	"       a.state = 'active', a.query_start, n.same, n.active\n"
	"  FROM (VALUES (1)) AS one\n"
	"       LEFT JOIN pg_stat_activity a\n"
	"              ON a.pid = $1::int4 AND a.backend_start = $2::timestamptz\n"
	"       CROSS JOIN (SELECT count(*), count(*) FILTER (WHERE o.state = 'active')\n"
	"         FROM pg_stat_activity o\n"
	"        WHERE NOT (o.pid = $1::int4 AND o.backend_start = $2::timestamptz)\n"
	"          AND CASE WHEN o.client_port = -1 THEN 'local' ELSE host(o.client_addr) END\n"
	"              = $8::text\n"
	"          AND o.application_name = $9::text AND o.usename = $10::text) AS n (same, "
	"active)";

const char pg_sql_look_prepared[] = "SELECT EXISTS (SELECT FROM pg_prepared_xacts p\n"
				    " WHERE p.gid = $1::text AND p.prepared = $2::timestamptz)";

/* A detail of the claim as the server said it; NULL where it isn't known. The caller releases. */
static const char *raw_detail(struct str *out, const struct claim *c, enum detail_id id)
{
	const char *text = c ? claim_text(c, id, NULL) : NULL;

	str_init(out, 8192);
	if (!text || text_unescape(out, text))
		return NULL;
	return out->s;
}

static int look_ask(struct postgres *p, const struct pg_target *t, const struct pg_limit *limit,
	struct pg_rows **ret, struct err *err)
{
	const char *values[PG_TARGET_VALUES + 3];
	struct str client, application, user;
	int rc;

	memcpy(values, t->value, sizeof(t->value));
	values[PG_TARGET_VALUES] = raw_detail(&client, t->claim, DETAIL_CLIENT);
	values[PG_TARGET_VALUES + 1] = raw_detail(&application, t->claim, DETAIL_APPLICATION);
	values[PG_TARGET_VALUES + 2] = raw_detail(&user, t->claim, DETAIL_USER);
	rc = pg_query(p->pg, pg_sql_look, values, ARRAY_LEN(values), limit, ret, err);
	str_release(&client);
	str_release(&application);
	str_release(&user);
	return rc;
}

/* Whether the process behind an ended session was seen to stop: sessions are all that we see. */
static void look_overlap(const struct pg_target *t, const struct plan *plan,
	const struct pg_rows *rows, struct sight *sight)
{
	int64_t same = pg_number(rows, 0, L_SAME), active = pg_number(rows, 0, L_SAME_ACTIVE);

	if (!t->granted)
		return;
	if (plan->stops_holder) {
		sight->overlap = OVERLAP_CLOSED;
		return;
	}
	sight->overlap = OVERLAP_OPEN;
	if (same)
		str_addf(&sight->text,
			"; %" PRId64 " other session%s of the same client and application %s still "
			"there, %" PRId64 " at work: its process was not seen to stop",
			same, same == 1 ? "" : "s", same == 1 ? "is" : "are", active);
	else
		str_add(&sight->text,
			"; no other session of its client and application is seen, and "
			"its process was not seen to stop");
}

static void look_release(const struct pg_target *t, const struct plan *plan,
	const struct pg_rows *rows, struct sight *sight)
{
	sight->settled = !pg_flag(rows, 0, L_THERE);
	str_addf(&sight->text, "the session of pid %" PRId64 " %s", t->pid,
		sight->settled             ? "has ended"
		: pg_flag(rows, 0, L_LOCK) ? "is still there, and has the lock row"
					   : "is still there, without the lock");
	if (t->granted)
		sight->overlap = OVERLAP_OPEN;
	if (sight->settled)
		look_overlap(t, plan, rows, sight);
}

static void look_cancel(const struct pg_target *t, const struct plan *plan,
	const struct pg_rows *rows, struct sight *sight)
{
	char began[CLOCK_TEXT_MAX] = "";
	int64_t start;

	if (pg_time(rows, 0, L_QUERY_START, &start))
		clock_format_utc(began, start, 6);
	sight->settled = !pg_flag(rows, 0, L_THERE) || !pg_flag(rows, 0, L_ACTIVE) ||
			 !str_eq(began, plan->guard ? plan->guard : "");
	str_addf(&sight->text, "the statement of pid %" PRId64 " %s; the session %s", t->pid,
		sight->settled ? "has ended" : "still runs",
		!pg_flag(rows, 0, L_THERE) ? "has ended"
		: pg_flag(rows, 0, L_LOCK)
			? (t->granted ? "keeps the lock" : "still waits for the lock")
			: "has the lock row no more");
}

/* It lets go by itself, so it knows; a session that ended says nothing of its process. */
static void look_step_down(const struct pg_target *t, const struct plan *plan,
	const struct pg_rows *rows, struct sight *sight)
{
	bool there = pg_flag(rows, 0, L_THERE);

	sight->settled = !there || !pg_flag(rows, 0, L_LOCK);
	str_addf(&sight->text, "the session of pid %" PRId64 " %s", t->pid,
		!sight->settled ? "still holds the lock"
		: there         ? "let go of the lock by itself"
				: "has ended");
	sight->overlap = sight->settled && there ? OVERLAP_CLOSED : OVERLAP_OPEN;
	if (!there)
		look_overlap(t, plan, rows, sight);
}

static int look_queue(struct postgres *p, const struct pg_target *t, const struct pg_limit *limit,
	struct sight *sight, struct err *err)
{
	struct pg_queue q;
	int rc = pg_queue_read(p, t, limit, &q, err);

	if (rc)
		return rc;
	str_add(&sight->text, "; ");
	pg_queue_tell(&q, &sight->text);
	pg_queue_release(&q);
	return 0;
}

static int look_prepared(struct postgres *p, const struct pg_target *t,
	const struct pg_limit *limit, struct sight *sight, struct err *err)
{
	struct pg_rows *rows;
	int rc = pg_query(p->pg, pg_sql_look_prepared, t->value, 2, limit, &rows, err);

	if (rc)
		return rc;
	sight->settled = !pg_flag(rows, 0, 0);
	str_add(&sight->text, sight->settled ? "the prepared transaction is gone"
					     : "the prepared transaction is still there");
	pg_result_free(rows);
	return 0;
}

int pg_look(struct postgres *p, struct round *r, const struct order *order,
	const struct pg_target *t, const struct plan *plan, struct sight *sight, struct err *err)
{
	struct pg_limit limit = postgres_limit(r);
	struct pg_rows *rows;
	int rc;

	str_clear(&sight->text);
	if (t->prepared) {
		rc = look_prepared(p, t, &limit, sight, err);
		return rc ? rc : look_queue(p, t, &limit, sight, err);
	}
	rc = look_ask(p, t, &limit, &rows, err);
	if (rc)
		return rc;
	if (order->verb == VERB_RELEASE)
		look_release(t, plan, rows, sight);
	else if (order->verb == VERB_CANCEL)
		look_cancel(t, plan, rows, sight);
	else
		look_step_down(t, plan, rows, sight);
	pg_result_free(rows);
	if (order->verb == VERB_CANCEL || !sight->settled)
		return 0;
	return look_queue(p, t, &limit, sight, err);
}
