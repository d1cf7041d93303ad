#include "config.h"

#include "base/mem.h"
#include "base/text.h"
#include "source/postgres-act.h"
#include "source/postgres.h"
#include "source/source.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What it costs to roll back a prepared transaction. */

const char pg_sql_prepared[] =
	"SELECT p.owner, d.oid = $3::oid, p.owner = current_user, l.virtualtransaction,\n"
	"       clock_timestamp(),\n"
	"       (SELECT count(*) FROM pg_locks o WHERE o.pid IS NULL\n"
	"           AND o.virtualtransaction = l.virtualtransaction AND o.locktype <> 'advisory'\n"
	"           AND o.locktype <> 'transactionid'), p.database\n"
	"  FROM pg_prepared_xacts p LEFT JOIN pg_database d ON d.datname = p.database\n"
	"       JOIN pg_locks x ON x.pid IS NULL AND x.locktype = 'transactionid'\n"
	"                      AND x.transactionid = p.transaction\n"
	"       JOIN pg_locks l ON l.pid IS NULL AND l.virtualtransaction = x.virtualtransaction\n"
	" WHERE p.gid = $1::text AND p.prepared = $2::timestamptz AND " PG_LOCK_IS;

static void prepared_permission(struct postgres *p, const struct pg_rows *rows, struct plan *plan)
{
	struct str owner;

	/* twophase.c, LockGXact: the owner itself or a superuser; membership is not enough. */
	plan->permission = p->facts.superuser || pg_flag(rows, 0, X_OWN) ? TRI_YES : TRI_NO;
	if (plan->permission == TRI_YES)
		return;
	str_init(&owner, 1024);
	plan_text(&plan->permission_why,
		"only its owner \"%s\" or a superuser may roll it back: run it as one of these",
		pg_shown(&owner, rows, 0, X_OWNER, PG_NAME_SHOWN));
	plan_refuse(plan, "%s", plan->permission_why);
	str_release(&owner);
}

static void prepared_request(
	const struct pg_target *t, const struct pg_rows *rows, struct plan *plan)
{
	const char *database = pg_text(rows, 0, X_DATABASE, NULL);
	struct str gid, name;

	str_init(&gid, 8192);
	str_init(&name, 1024);
	pg_shown_literal(&gid, t->gid.s);
	pg_shown(&name, rows, 0, X_DATABASE, PG_NAME_SHOWN);
	plan_text(&plan->guard, "%s", database ? database : "");
	plan_text(&plan->request,
		"ROLLBACK PREPARED %s, in database %s, when a SELECT of its gid, prepared = '%s' "
		"and "
		"the lock row finds it there directly before",
		gid.s, name.s, t->value[1]);
	plan_warn(plan, "ROLLBACK PREPARED takes no condition: between the check and it, a moment "
			"later in the same session, the server does not guard against another "
			"transaction prepared under the same gid");
	plan_warn(plan,
		"its coordinator may still want to commit it, and can't afterwards: ask there "
		"first");
	plan_add(&plan->destroys, "all that the prepared transaction did", gid.s);
	str_release(&gid);
	str_release(&name);
}

static void prepared_price(const struct pg_target *t, const struct pg_rows *rows, struct plan *plan)
{
	char what[96];

	prepared_request(t, rows, plan);
	if (pg_number(rows, 0, X_OTHER_LOCKS)) {
		snprintf(what, sizeof(what), "%" PRId64 " other locks that it keeps",
			pg_number(rows, 0, X_OTHER_LOCKS));
		plan_add(&plan->destroys, what, NULL);
	}
	plan_text(&plan->alone,
		"it stays, and keeps its locks, until somebody commits it or rolls it "
		"back; a restart of the server does not end it");
	plan_text(&plan->last_sign, "it was prepared");
	plan->last_sign_us = t->since_us;
}

int pg_plan_prepared(struct postgres *p, struct round *r, const struct order *order,
	const struct pg_target *t, struct plan *plan, struct err *err)
{
	struct pg_limit limit = postgres_limit(r);
	struct pg_rows *rows = NULL;
	int rc;

	if (order->verb == VERB_STEP_DOWN)
		plan_refuse(plan,
			"no session can be asked: it is a prepared transaction. release rolls "
			"it back");
	if (order->verb == VERB_CANCEL)
		plan_refuse(plan, "a prepared transaction executes nothing. release rolls it back");
	if (p->facts.in_recovery)
		plan_refuse(plan, "this server is a standby: act on the primary");
	if (plan->verdict != PLAN_READY)
		return 0;
	rc = pg_query(p->pg, pg_sql_prepared, t->value, PG_TARGET_VALUES, &limit, &rows, err);
	if (rc)
		return rc;
	if (!pg_rows(rows)) {
		plan_changed(plan,
			"there is no such prepared transaction any more, or it does not hold "
			"the lock");
	} else if (!pg_flag(rows, 0, X_SAME_DATABASE)) {
		plan_refuse(plan, "it was prepared in another database than the lock is in");
	} else {
		prepared_permission(p, rows, plan);
		prepared_price(t, rows, plan);
		rc = pg_plan_queue(p, r, t, plan, err);
		if (!rc)
			rc = pg_plan_others(p, r, order, t,
				pg_text(rows, 0, X_VIRTUALTRANSACTION, NULL), plan, err);
	}
	pg_result_free(rows);
	return rc;
}
