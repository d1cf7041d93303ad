#include "config.h"

#include "base/mem.h"
#include "base/text.h"
#include "source/postgres-act.h"
#include "source/postgres.h"
#include "source/source.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A lock's queue, and the other locks of a session: who gains and who loses by an act. */

/* Who a session says it is, as in the picture (postgres-claim.c, session_identity). */
#define SESSION_NAME                                                                     \
	"CASE WHEN a.application_name <> '' THEN a.application_name\n"                   \
	"            WHEN a.backend_start IS NULL THEN 'pid ' || a.pid || ' (hidden)'\n" \
	"            WHEN a.usename IS NOT NULL THEN a.usename || '@' ||\n"              \
	"                 coalesce(CASE WHEN a.client_port = -1 THEN 'local'\n"          \
	"                               ELSE host(a.client_addr) END, 'local')\n"        \
	"            ELSE coalesce(a.backend_type, 'pid ' || a.pid) END"

/* ---- the queue ---- */

/*
 * The claims on one lock: holders, then those that wait, longest first (waitstart is there from 14
 * on). Of more than are read the head of the queue must be among them.
 */
#define QUEUE_SQL(waitstart)                                                                       \
	"SELECT coalesce(l.pid, 0), l.granted, bool_and(l.mode = 'ShareLock'),\n"                  \
	"       CASE WHEN l.pid IS NULL THEN 'a prepared transaction' ELSE " SESSION_NAME          \
	" END,\n"                                                                                  \
	"       CASE WHEN NOT l.granted THEN array_to_string(pg_blocking_pids(l.pid), ',') END,\n" \
	"       count(*) FILTER (WHERE NOT l.granted) OVER ()\n"                                   \
	"  FROM (SELECT * FROM pg_locks l\n"                                                       \
	"         WHERE l.locktype = 'advisory' AND l.database = $1::oid\n"                        \
	"           AND l.classid = $2::oid AND l.objid = $3::oid AND l.objsubid = $4::int2) AS "  \
	"l\n"                                                                                      \
	"       LEFT JOIN pg_stat_activity a ON a.pid = l.pid\n"                                   \
	" GROUP BY l.pid, l.granted, 4, a.backend_start, l.virtualtransaction\n"                   \
	" ORDER BY l.granted DESC, min(" waitstart ") NULLS LAST, l.pid LIMIT 64"

const char pg_sql_queue[] = QUEUE_SQL("l.waitstart");
static const char queue_sql_before_14[] = QUEUE_SQL("NULL::timestamptz");

/* What blocks a waiter, other than the target: 0 when its end alone lets the waiter in. */
static size_t blockers_left(const char *list, int64_t target)
{
	size_t n = 0;
	bool dropped = false;

	while (list && *list) {
		char *end;
		long long pid = strtoll(list, &end, 10);

		if (end == list)
			break;
		/* Each prepared transaction is a 0 of its own, and only one of them is meant. */
		if (pid == target && (pid || !dropped))
			dropped = true;
		else
			n++;
		list = *end == ',' ? end + 1 : end;
	}
	return n;
}

static bool list_has(const char *list, int64_t pid)
{
	while (list && *list) {
		char *end;
		long long one = strtoll(list, &end, 10);

		if (end == list)
			return false;
		if (one == pid)
			return true;
		list = *end == ',' ? end + 1 : end;
	}
	return false;
}

static void queue_add_holder(struct pg_queue *q, size_t row)
{
	struct str name;

	str_init(&name, 1024);
	q->n_other_holders++;
	if (q->holders.len)
		str_add(&q->holders, ", ");
	str_add(&q->holders, pg_shown(&name, q->rows, row, Q_NAME, PG_NAME_SHOWN));
	str_release(&name);
}

static void queue_read_row(struct pg_queue *q, const struct pg_target *t, size_t row)
{
	int64_t pid = pg_number(q->rows, row, Q_PID), target = t->prepared ? 0 : t->pid;
	const char *blockers = pg_text(q->rows, row, Q_BLOCKERS, NULL);

	if (pg_flag(q->rows, row, Q_GRANTED)) {
		if (pid != target)
			queue_add_holder(q, row);
		return;
	}
	if (pid == target && !t->prepared) {
		q->n_waiters--;
		return;
	}
	if (blockers_left(blockers, target))
		return;
	if (q->next < 0)
		q->next = (int64_t)row;
	q->n_next++;
}

int pg_queue_read(struct postgres *p, const struct pg_target *t, const struct pg_limit *limit,
	struct pg_queue *ret, struct err *err)
{
	struct pg_queue q = { .next = -1 };
	size_t row;
	int rc = pg_query(p->pg, p->facts.version >= 140000 ? pg_sql_queue : queue_sql_before_14,
		&t->value[2], 4, limit, &q.rows, err);

	if (rc)
		return rc;
	str_init(&q.holders, 4096);
	if (pg_rows(q.rows))
		q.n_waiters = (size_t)pg_number(q.rows, 0, Q_WAITERS);
	for (row = 0; row < pg_rows(q.rows); row++)
		queue_read_row(&q, t, row);
	*ret = q;
	return 0;
}

void pg_queue_release(struct pg_queue *q)
{
	pg_result_free(q->rows);
	str_release(&q->holders);
}

void pg_queue_tell(const struct pg_queue *q, struct str *out)
{
	if (q->n_other_holders)
		str_addf(out, "%s %s it now", q->holders.s,
			q->n_other_holders > 1 ? "hold" : "holds");
	else
		str_add(out, "nobody else holds it now");
	if (q->n_waiters)
		str_addf(out, "; %zu %s", q->n_waiters, q->n_waiters == 1 ? "waits" : "wait");
}

static void plan_next(const struct pg_target *t, const struct pg_queue *q, struct plan *plan)
{
	struct str name;

	if (!t->granted) {
		plan_text(&plan->gap_why, "it only waits: who holds the lock keeps it");
		return;
	}
	str_init(&name, 1024);
	if (q->next >= 0) {
		plan->gap_min_ms = 0;
		plan_text(&plan->successor, "%s",
			pg_shown(&name, q->rows, (size_t)q->next, Q_NAME, PG_NAME_SHOWN));
		plan_text(&plan->gap_why,
			"the server gives the lock to the queue's head in the moment in which it "
			"is "
			"let go; how soon that is depends on when the session reacts%s",
			q->n_next > 1 ? ". Several get it at once, in share mode" : "");
	} else if (q->n_other_holders) {
		plan_text(&plan->gap_why, "%s still %s it in share mode: it does not become free",
			q->holders.s, q->n_other_holders > 1 ? "hold" : "holds");
	} else if (q->n_waiters) {
		plan_text(&plan->gap_why, "%zu wait, and who of them is next can't be told",
			q->n_waiters);
	} else {
		plan_text(&plan->gap_why, "nobody waits in the queue. Who polls with "
					  "pg_try_advisory_lock can't be seen");
	}
	str_release(&name);
}

static void queue_warn(const struct pg_target *t, const struct pg_queue *q, const char *blockers,
	struct plan *plan)
{
	size_t row;

	for (row = 0; t->granted && row < pg_rows(q->rows); row++)
		if (!pg_flag(q->rows, row, Q_GRANTED) &&
			list_has(blockers, pg_number(q->rows, row, Q_PID))) {
			plan_warn(plan,
				"it is itself blocked by pid %" PRId64
				", which waits for this lock: cancel that waiter, and the holder "
				"goes "
				"on",
				pg_number(q->rows, row, Q_PID));
			return;
		}
}

const char pg_sql_blockers[] = "SELECT array_to_string(pg_blocking_pids($1::int4), ',')";

int pg_plan_queue(struct postgres *p, struct round *r, const struct pg_target *t, struct plan *plan,
	struct err *err)
{
	struct pg_limit limit = postgres_limit(r);
	struct pg_rows *rows = NULL;
	struct pg_queue q;
	int rc = pg_queue_read(p, t, &limit, &q, err);

	if (rc)
		return rc;
	plan_next(t, &q, plan);
	if (!t->prepared && t->granted)
		rc = pg_query(p->pg, pg_sql_blockers, t->value, 1, &limit, &rows, err);
	if (rows)
		queue_warn(t, &q, pg_text(rows, 0, 0, NULL), plan);
	pg_result_free(rows);
	pg_queue_release(&q);
	return rc;
}

/* ---- other locks ---- */

/* The other advisory locks of a session, or of a prepared transaction: $1 the pid or NULL, $6 the
 * virtualtransaction or NULL. */
const char pg_sql_others[] =
	"SELECT d.datname, l.classid, l.objid, l.objsubid, l.granted, count(*) OVER ()\n"
	"  FROM pg_locks l LEFT JOIN pg_database d ON d.oid = l.database\n"
	" WHERE l.locktype = 'advisory'\n"
	"   AND (l.pid = $1::int4 OR (l.pid IS NULL AND l.virtualtransaction = $6::text))\n"
	"   AND (l.database, l.classid, l.objid, l.objsubid)\n"
	"       <> ($2::oid, $3::oid, $4::oid, $5::int2)\n"
	" ORDER BY 1, 4, 2, 3 LIMIT 100";

static const char other_lock[] = "another advisory lock of the same session";
static const char other_place[] = "its place in the queue of another advisory lock";

static void add_other(
	struct plan *plan, const struct order *order, const struct pg_rows *rows, size_t row)
{
	struct pg_key key = { 0 };
	int64_t objsubid = 0;
	struct str path, id;
	size_t len = 0;
	const char *database = pg_text(rows, row, O_DATABASE, &len);

	str_init(&path, 8192);
	str_init(&id, 32 * 1024);
	pg_oid(rows, row, O_CLASSID, &key.classid);
	pg_oid(rows, row, O_OBJID, &key.objid);
	pg_int(rows, row, O_OBJSUBID, &objsubid);
	key.objsubid = (int16_t)objsubid;
	str_add_mem(&path, database ? database : "?", database ? len : 1);
	str_add_char(&path, ':');
	pg_key_write(&path, key);
	str_add_mem(&id, order->s->id, (size_t)(singleton_path(order->s) - order->s->id));
	text_escape(&id, path.s, path.len);
	plan_add(&plan->destroys, pg_flag(rows, row, O_GRANTED) ? other_lock : other_place, id.s);
	str_release(&path);
	str_release(&id);
}

/* virtualtransaction: of a prepared transaction; NULL. */
int pg_plan_others(struct postgres *p, struct round *r, const struct order *order,
	const struct pg_target *t, const char *virtualtransaction, struct plan *plan,
	struct err *err)
{
	struct pg_limit limit = postgres_limit(r);
	const char *values[] = { t->prepared ? NULL : t->value[0], t->value[2], t->value[3],
		t->value[4], t->value[5], virtualtransaction };
	struct pg_rows *rows;
	size_t row, n;
	int rc = pg_query(p->pg, pg_sql_others, values, ARRAY_LEN(values), &limit, &rows, err);

	if (rc)
		return rc;
	n = pg_rows(rows);
	for (row = 0; row < n; row++)
		add_other(plan, order, rows, row);
	if (n && pg_number(rows, 0, O_ALL) > (int64_t)n)
		plan_cut(&plan->destroys, (size_t)(pg_number(rows, 0, O_ALL) - (int64_t)n),
			other_lock, other_place);
	pg_result_free(rows);
	return 0;
}
