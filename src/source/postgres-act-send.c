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

/* The statements that change something, each sent once. Names are found in pg_catalog, to which the
 * session's search_path is set. */

const char pg_sql_terminate[] = "SELECT pg_terminate_backend(a.pid)\n" PG_GUARD;
/* $8: when the statement began that the plan saw. */
const char pg_sql_cancel[] = "SELECT pg_cancel_backend(a.pid)\n" PG_GUARD
			     "\n   AND a.state = 'active' AND a.query_start = $8::timestamptz";
/* $8: channel, $9: payload. */
const char pg_sql_notify[] = "SELECT pg_notify($8::text, $9::text)\n" PG_GUARD;
/* Its answer is the statement to send: the server itself quotes the global id. */
const char pg_sql_rollback[] = "SELECT format('ROLLBACK PREPARED %L', p.gid)\n" PG_PREPARED_GUARD
			       "\n   AND p.database = current_database()";

/* ---- what became of it ---- */

/*
 * Whether the server's error leaves open what was done: it ended the session or gave up the
 * statement on the way (classes 57 and 08, its own trouble 58 and XX, no resources 53).
 */
static bool error_leaves_open(const struct pg *pg)
{
	static const char *const classes[] = { "57", "08", "58", "XX", "53" };
	const char *state = pg_sqlstate(pg);
	size_t i;

	if (!*state || pg_is_broken(pg))
		return true;
	for (i = 0; i < ARRAY_LEN(classes); i++)
		if (str_starts(state, classes[i]))
			return true;
	return false;
}

static int say(struct effect *effect, enum effect_kind kind, const char *text)
{
	effect->kind = kind;
	str_clear(&effect->answer);
	str_add(&effect->answer, text);
	return 0;
}

/*
 * A statement that failed: 0 where the server says that it did nothing, else the error. find_out is
 * added by the caller.
 */
static int failed(const struct pg *pg, int rc, struct effect *effect, const struct err *err)
{
	if (!error_leaves_open(pg))
		return say(effect, EFFECT_REFUSED, err->text);
	say(effect, EFFECT_UNKNOWN, err->text);
	return rc;
}

/* Nothing may be sent on a connection that is known to be gone. */
static int check_alive(struct pg *pg, struct err *err)
{
	if (!pg_is_stale(pg))
		return 0;
	return err_set(err, ERR_IO, "the connection to %s was lost before anything was sent",
		pg_place(pg));
}

/* ---- a session ---- */

static void session_find_out(struct effect *effect, const struct pg_target *t)
{
	str_clear(&effect->find_out);
	str_addf(&effect->find_out,
		"SELECT state, query_start FROM pg_stat_activity WHERE pid = %s AND backend_start "
		"= "
		"'%s'; -- no row: the session has ended",
		t->value[0], t->value[1]);
}

/* Takes the answer of a signal function: no row, the guard failed; false, the process has ended. */
static int take_signal(const struct pg_rows *rows, bool cancel, struct effect *effect)
{
	int64_t sent = 0;

	if (!pg_rows(rows))
		return say(effect, EFFECT_CHANGED,
			cancel ? "no such session executes that statement and has this lock row: "
				 "nothing was cancelled"
			       : "no such session has this lock row any more: nothing was ended");
	pg_int(rows, 0, 0, &sent);
	if (!sent)
		return say(effect, EFFECT_CHANGED,
			"the session ended by itself in this moment: no signal was sent");
	return say(effect, EFFECT_DONE,
		cancel ? "pg_cancel_backend said true: the signal was sent"
		       : "pg_terminate_backend said true: the signal was sent");
}

int pg_send_signal(struct postgres *p, struct round *r, const struct order *order,
	const struct pg_target *t, const struct plan *plan, struct effect *effect, struct err *err)
{
	struct pg_limit limit = postgres_limit(r);
	bool cancel = order->verb == VERB_CANCEL;
	const char *values[PG_TARGET_VALUES + 1];
	struct pg_rows *rows;
	int rc = check_alive(p->pg, err);

	memcpy(values, t->value, sizeof(t->value));
	values[PG_TARGET_VALUES] = plan->guard;
	if (!rc && cancel && !plan->guard)
		rc = err_set(err, ERR_USAGE, "which statement is to be cancelled is not known");
	if (rc)
		return rc;
	rc = pg_query(p->pg, cancel ? pg_sql_cancel : pg_sql_terminate, values,
		PG_TARGET_VALUES + cancel, &limit, &rows, err);
	if (rc) {
		session_find_out(effect, t);
		return failed(p->pg, rc, effect, err);
	}
	rc = take_signal(rows, cancel, effect);
	pg_result_free(rows);
	return rc;
}

/* ---- asking the holder ---- */

/* A JSON string in ASCII: whatever the database's encoding, it takes it. */
static void add_json(struct str *out, const char *s)
{
	size_t len = strlen(s), n;
	uint32_t cp;

	str_add_char(out, '"');
	for (; len && (n = text_decode(s, len, &cp)); s += n, len -= n) {
		if (cp == '"' || cp == '\\')
			str_addf(out, "\\%c", (char)cp);
		else if (cp >= 0x20 && cp < 0x7f)
			str_add_char(out, (char)cp);
		else if (cp < 0x10000)
			str_addf(out, "\\u%04" PRIx32, cp);
		else
			str_addf(out, "\\u%04" PRIx32 "\\u%04" PRIx32,
				0xd800 + ((cp - 0x10000) >> 10), 0xdc00 + ((cp - 0x10000) & 0x3ff));
	}
	str_add_char(out, '"');
}

static void payload_write(struct str *out, const struct order *order, const struct pg_target *t,
	const char *reason, size_t reason_len)
{
	struct str key;
	char *cut = xstrndup(reason, reason_len);

	str_init(&key, 64);
	pg_key_write(&key, t->key);
	str_clear(out);
	str_add(out, "{\"schema\":\"baton-step-down/1\",\"id\":");
	add_json(out, order->s->id);
	str_add(out, ",\"database\":");
	add_json(out, singleton_text(order->s, DETAIL_DATABASE, ""));
	str_addf(out, ",\"key\":\"%s\",\"pid\":%s,\"backend_start\":\"%s\",\"reason\":", key.s,
		t->value[0], t->value[1]);
	add_json(out, cut);
	str_add_char(out, '}');
	str_release(&key);
	free(cut);
}

void pg_step_down_payload(struct str *out, const struct order *order, const struct pg_target *t)
{
	const char *reason = order->reason ? order->reason : "";
	size_t len = strlen(reason);

	/* An id may be long; then the reason is what is cut. */
	payload_write(out, order, t, reason, len);
	while ((out->full || out->len > PG_PAYLOAD_MAX) && len) {
		len /= 2;
		while (len && (reason[len] & 0xc0) == 0x80)
			len--;
		payload_write(out, order, t, reason, len);
	}
}

static int take_notify(const struct pg_rows *rows, struct effect *effect)
{
	if (!pg_rows(rows))
		return say(effect, EFFECT_CHANGED,
			"no such session holds this lock any more: nobody was asked");
	return say(effect, EFFECT_DONE,
		"the server took the notification; whether anybody listens it doesn't say");
}

static int notify_on(struct pg *pg, struct round *r, const struct order *order,
	const struct pg_target *t, const char *channel, struct effect *effect, struct err *err)
{
	struct pg_limit limit = postgres_limit(r);
	const char *values[PG_TARGET_VALUES + 2];
	struct pg_rows *rows;
	struct str payload;
	int rc = check_alive(pg, err);

	if (rc)
		return rc;
	str_init(&payload, 64 * 1024);
	pg_step_down_payload(&payload, order, t);
	memcpy(values, t->value, sizeof(t->value));
	values[PG_TARGET_VALUES] = channel;
	values[PG_TARGET_VALUES + 1] = payload.s;
	rc = pg_query(pg, pg_sql_notify, values, ARRAY_LEN(values), &limit, &rows, err);
	if (rc) {
		str_clear(&effect->find_out);
		str_add(&effect->find_out, "ask the holder whether it was asked; a NOTIFY leaves "
					   "no trace in the server. "
					   "Asking again does no harm");
		rc = failed(pg, rc, effect, err);
	} else {
		rc = take_notify(rows, effect);
		pg_result_free(rows);
	}
	str_release(&payload);
	return rc;
}

/* The session for what works in one database alone: ours, or one beside it. */
static int open_in(struct postgres *p, const char *database, const struct pg_limit *limit,
	struct pg **ret_pg, struct err *err)
{
	if (!database)
		return err_set(err, ERR_USAGE, "the lock's database is not known");
	*ret_pg = p->pg;
	if (str_eq(database, p->facts.database))
		return 0;
	return postgres_session_beside(p, database, limit, ret_pg, err);
}

static void close_in(struct postgres *p, struct pg *pg)
{
	if (pg != p->pg)
		pg_close(pg);
}

int pg_send_notify(struct postgres *p, struct round *r, const struct order *order,
	const struct pg_target *t, const struct plan *plan, struct effect *effect, struct err *err)
{
	struct pg_limit limit = postgres_limit(r);
	const char *channel = source_option_text(p->config, "step_down_channel");
	struct pg *pg;
	int rc;

	if (!channel || !*channel)
		return err_set(err, ERR_CONFIG, "step_down_channel is not set");
	rc = open_in(p, plan->guard, &limit, &pg, err);
	if (rc)
		return rc;
	rc = notify_on(pg, r, order, t, channel, effect, err);
	close_in(p, pg);
	return rc;
}

/* ---- a prepared transaction ---- */

static void prepared_find_out(struct effect *effect, const struct pg_target *t)
{
	struct str gid;

	str_init(&gid, 1024);
	text_escape(&gid, t->gid.s, t->gid.len);
	str_clear(&effect->find_out);
	str_addf(&effect->find_out,
		"SELECT gid, prepared, owner, database FROM pg_prepared_xacts WHERE prepared = "
		"'%s'; "
		"-- no row with the gid %s: it was rolled back, or committed by its owner",
		t->value[1], gid.s);
	str_release(&gid);
}

/* SQLSTATE 42704: there is no such prepared transaction any more (twophase.c, LockGXact). */
static int rollback_failed(
	const struct pg *pg, int rc, struct effect *effect, const struct err *err)
{
	if (str_eq(pg_sqlstate(pg), "42704"))
		return say(effect, EFFECT_CHANGED,
			"there is no such prepared transaction any more: nothing was rolled back");
	return failed(pg, rc, effect, err);
}

static int rollback_on(struct pg *pg, struct round *r, const struct pg_target *t,
	struct effect *effect, struct err *err)
{
	struct pg_limit limit = postgres_limit(r);
	struct pg_rows *rows;
	const char *sql;
	int rc = check_alive(pg, err);

	if (!rc)
		rc = pg_query(pg, pg_sql_rollback, t->value, PG_TARGET_VALUES, &limit, &rows, err);
	if (rc) /* that was only the question */
		return rc;
	sql = pg_text(rows, 0, 0, NULL);
	if (!sql) {
		rc = say(effect, EFFECT_CHANGED,
			"no such prepared transaction holds this lock any more: nothing was rolled "
			"back");
	} else {
		rc = pg_command(pg, sql, &limit, err);
		if (rc) {
			prepared_find_out(effect, t);
			rc = rollback_failed(pg, rc, effect, err);
		} else {
			say(effect, EFFECT_DONE, "ROLLBACK PREPARED was done");
		}
	}
	pg_result_free(rows);
	return rc;
}

int pg_send_rollback(struct postgres *p, struct round *r, const struct pg_target *t,
	const struct plan *plan, struct effect *effect, struct err *err)
{
	struct pg_limit limit = postgres_limit(r);
	struct pg *pg;
	int rc = open_in(p, plan->guard, &limit, &pg, err);

	if (rc)
		return rc;
	rc = rollback_on(pg, r, t, effect, err);
	close_in(p, pg);
	return rc;
}
