#include "config.h"

#include "source/act.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "source/postgres-act.h"
#include "source/postgres.h"
#include "source/source.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What may be done about a holder or waiter of an advisory lock. */

enum {
	GID_MAX = 4096,
	SHOWN_REQUEST_MAX = 8192
};

/* ---- what an order is about ---- */

static bool read_number(const char *s, const char *end, int64_t *ret)
{
	char *stop;

	errno = 0;
	*ret = strtoll(s, &stop, 10);
	return !errno && stop == end && stop != s;
}

/* "prepared:GID@WHEN" */
static bool read_prepared(const char *key, struct pg_target *t)
{
	const char *at = strrchr(key, '@');
	char *escaped;
	bool good;

	if (!at || !read_number(at + 1, at + strlen(at), &t->since_us))
		return false;
	escaped = xstrndup(key, (size_t)(at - key));
	good = text_unescape(&t->gid, escaped) == 0 && !t->gid.full &&
	       strlen(t->gid.s) == t->gid.len;
	free(escaped);
	t->prepared = true;
	return good;
}

/* "PID@BACKEND_START", or "PID@hidden" */
static bool read_session(const char *key, struct pg_target *t)
{
	const char *at = strchr(key, '@');

	if (!at || !read_number(key, at, &t->pid) || t->pid <= 0 || t->pid > INT32_MAX)
		return false;
	t->hidden = !read_number(at + 1, at + strlen(at), &t->since_us);
	return true;
}

static bool read_lock(const struct singleton *s, struct pg_target *t)
{
	int64_t database = singleton_int(s, DETAIL_DATABASE_OID, -1);
	int64_t classid = singleton_int(s, DETAIL_CLASSID, -1);
	int64_t objid = singleton_int(s, DETAIL_OBJID, -1);
	int64_t objsubid = singleton_int(s, DETAIL_OBJSUBID, -1);

	if (database <= 0 || classid < 0 || objid < 0 || objsubid < 0)
		return false;
	t->database = (uint32_t)database;
	t->key = (struct pg_key){ (uint32_t)classid, (uint32_t)objid, (int16_t)objsubid };
	return true;
}

static void write_values(struct pg_target *t)
{
	size_t i;

	snprintf(t->text[0], PG_VALUE_MAX, "%" PRId64, t->pid);
	clock_format_utc(t->text[1], t->since_us, 6);
	snprintf(t->text[2], PG_VALUE_MAX, "%" PRIu32, t->database);
	snprintf(t->text[3], PG_VALUE_MAX, "%" PRIu32, t->key.classid);
	snprintf(t->text[4], PG_VALUE_MAX, "%" PRIu32, t->key.objid);
	snprintf(t->text[5], PG_VALUE_MAX, "%d", t->key.objsubid);
	snprintf(t->text[6], PG_VALUE_MAX, "%s", t->granted ? "true" : "false");
	for (i = 0; i < PG_TARGET_VALUES; i++)
		t->value[i] = t->text[i];
	if (t->prepared)
		t->value[0] = t->gid.s;
}

bool pg_target_read(const struct order *order, struct pg_target *ret)
{
	struct pg_target *t = ret;
	bool good;

	memset(t, 0, sizeof(*t));
	str_init(&t->gid, GID_MAX);
	if (!order->key || order->s->mechanism != MECH_PG_ADVISORY || !read_lock(order->s, t))
		return false;
	t->claim = singleton_claim_at(order->s, order->key);
	t->granted = !t->claim || t->claim->kind == CLAIM_HOLDER;
	if (str_starts(order->key, "prepared:"))
		good = read_prepared(order->key + strlen("prepared:"), t);
	else
		good = read_session(order->key, t);
	if (good)
		write_values(t);
	return good;
}

void pg_target_release(struct pg_target *t)
{
	str_release(&t->gid);
}

const char *pg_shown(
	struct str *out, const struct pg_rows *rows, size_t row, size_t column, size_t most)
{
	size_t len;
	const char *text = pg_text(rows, row, column, &len);

	str_clear(out);
	if (text)
		text_escape_cut(out, text, len, most);
	return out->len ? out->s : "";
}

bool pg_flag(const struct pg_rows *rows, size_t row, size_t column)
{
	int64_t value = 0;

	return pg_int(rows, row, column, &value) && value;
}

int64_t pg_number(const struct pg_rows *rows, size_t row, size_t column)
{
	int64_t value = 0;

	pg_int(rows, row, column, &value);
	return value;
}

/* As SQL writes it; what can't be printed becomes a visible escape. */
void pg_shown_literal(struct str *out, const char *raw)
{
	struct str shown;
	const char *at;

	str_init(&shown, SHOWN_REQUEST_MAX);
	text_escape(&shown, raw, strlen(raw));
	str_add_char(out, '\'');
	for (at = shown.s; *at; at++) {
		if (*at == '\'')
			str_add_char(out, '\'');
		str_add_char(out, *at);
	}
	str_add_char(out, '\'');
	str_release(&shown);
}

/* The statement on one line, then its parameters. */
void pg_request_text(char **to, const char *sql, const char *const *values, size_t n)
{
	struct str text;
	size_t i;

	str_init(&text, SHOWN_REQUEST_MAX);
	for (; *sql; sql++) {
		if (*sql == '\n')
			str_add_char(&text, ' ');
		else if (*sql != ' ' || (text.len && text.s[text.len - 1] != ' '))
			str_add_char(&text, *sql);
	}
	for (i = 0; i < n; i++) {
		str_addf(&text, "%s$%zu = ", i ? ", " : "  -- ", i + 1);
		pg_shown_literal(&text, values[i]);
	}
	plan_text(to, "%s", text.s);
	str_release(&text);
}

/* ---- planning ---- */

/* What holds for every verb, before the server is asked. */
static bool plan_may_begin(const struct postgres *p, const struct order *order,
	const struct pg_target *t, struct plan *plan)
{
	if (p->pretends)
		plan_refuse(plan,
			"this server only resembles PostgreSQL: what its advisory locks and "
			"sessions are is not known");
	else if (p->pooling != POOLING_NONE)
		plan_refuse(plan,
			"this connection goes through a pooler: whose session acts can't be "
			"told. Connect the source to the server itself");
	else if (t->hidden)
		plan_refuse(plan,
			"when the session of pid %" PRId64 " began is hidden, so that its identity "
			"can't be verified: GRANT pg_read_all_stats TO the role of this source",
			t->pid);
	else if (order->verb == VERB_STEP_DOWN && !t->granted)
		plan_refuse(plan, "it waits, and only a holder can be asked to step down");
	return plan->verdict == PLAN_READY;
}

static int act_plan(
	void *state, struct round *r, const struct order *order, struct plan *plan, struct err *err)
{
	struct postgres *p = state;
	struct pg_limit limit = postgres_limit(r);
	struct pg_target t;
	int rc = 0;

	if (!pg_target_read(order, &t))
		plan_refuse(plan, "this row doesn't tell which session or transaction is meant");
	else
		rc = postgres_session_open(p, &limit, err);
	if (!rc && plan->verdict == PLAN_READY && plan_may_begin(p, order, &t, plan))
		rc = t.prepared ? pg_plan_prepared(p, r, order, &t, plan, err)
				: pg_plan_session(p, r, order, &t, plan, err);
	if (rc && p->pg && pg_is_broken(p->pg))
		postgres_session_close(p);
	pg_target_release(&t);
	return rc;
}

/* ---- sending ---- */

static int send_ready(struct postgres *p, const struct order *order, struct pg_target *t,
	const struct pg_limit *limit, struct err *err)
{
	int rc;

	if (!pg_target_read(order, t) || t->hidden)
		return err_set(err, ERR_USAGE,
			"this row doesn't tell which session or transaction is meant");
	rc = postgres_session_open(p, limit, err);
	if (!rc && (p->pooling != POOLING_NONE || p->pretends))
		rc = err_set(err, ERR_UNSUPPORTED,
			"the connection does not lead to a PostgreSQL server itself any more");
	return rc;
}

static int act_send(void *state, struct round *r, const struct order *order,
	const struct plan *plan, struct effect *effect, struct err *err)
{
	struct postgres *p = state;
	struct pg_limit limit = postgres_limit(r);
	struct pg_target t;
	int rc;

	effect->kind = EFFECT_UNSENT;
	rc = send_ready(p, order, &t, &limit, err);
	if (!rc && order->verb == VERB_STEP_DOWN)
		rc = pg_send_notify(p, r, order, &t, plan, effect, err);
	else if (!rc && t.prepared)
		rc = pg_send_rollback(p, r, &t, plan, effect, err);
	else if (!rc)
		rc = pg_send_signal(p, r, order, &t, plan, effect, err);
	if (rc && p->pg && pg_is_broken(p->pg))
		postgres_session_close(p);
	pg_target_release(&t);
	return rc;
}

/* ---- looking ---- */

static int act_look(void *state, struct round *r, const struct order *order,
	const struct plan *plan, struct sight *sight, struct err *err)
{
	struct postgres *p = state;
	struct pg_limit limit = postgres_limit(r);
	struct pg_target t;
	int rc;

	if (!pg_target_read(order, &t))
		rc = err_set(err, ERR_USAGE,
			"this row doesn't tell which session or transaction is meant");
	else
		rc = postgres_session_open(p, &limit, err);
	if (!rc)
		rc = pg_look(p, r, order, &t, plan, sight, err);
	if (rc && p->pg && pg_is_broken(p->pg))
		postgres_session_close(p);
	pg_target_release(&t);
	return rc;
}

const struct act_case postgres_acts[POSTGRES_ACTS] = {
#define ACT(id, asks, compares, takes)                                                             \
	ACT_CASE(MECH_PG_ADVISORY, VERB_##id, asks, compares, takes, act_plan, act_send, act_look, \
		NULL),
#include "source/postgres-acts.def"
#undef ACT
};
