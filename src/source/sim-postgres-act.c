#include "config.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "source/postgres-act.h"
#include "source/sim-postgres.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the simulated server answers to the statements of the verbs, and does. */

enum {
	QUEUE_MOST = 64,
	OTHERS_MOST = 100
};

/* ---- whom a statement is about: $1 pid, $2 backend_start, $3 database, $4 classid, ... ---- */

static bool time_is(int64_t us, const char *text)
{
	char own[CLOCK_TEXT_MAX];

	clock_format_utc(own, us, 6);
	return str_eq(own, text);
}

static int pid_at(const char *const *values)
{
	return (int)strtol(values[0], NULL, 10);
}

static struct simpg_key key_at(const char *const *values)
{
	return (struct simpg_key){ (uint32_t)strtoul(values[0], NULL, 10),
		(uint32_t)strtoul(values[1], NULL, 10), (uint32_t)strtoul(values[2], NULL, 10),
		(int)strtol(values[3], NULL, 10) };
}

static bool key_is(const struct simpg_key *a, const struct simpg_key *b)
{
	return a->database == b->database && a->classid == b->classid && a->objid == b->objid &&
	       a->objsubid == b->objsubid;
}

static bool holds(const struct simpg_owner *owner, const struct simpg_key *key)
{
	const struct simpg_hold *h;

	for (h = owner->holds; h; h = h->next_of_owner)
		if (key_is(&h->lock->key, key))
			return true;
	return false;
}

static bool waits(const struct simpg_session *s, const struct simpg_key *key)
{
	return s->waits && key_is(&s->waits->key, key);
}

static bool has_row(const struct simpg_session *s, const char *const *values)
{
	struct simpg_key key = key_at(&values[2]);

	return str_eq(values[6], "true") ? holds(&s->owner, &key) : waits(s, &key);
}

/* The guard of every statement that acts on a session: pid, backend_start and the lock row. */
static struct simpg_session *guarded(struct simpg_link *link, const char *const *values)
{
	struct simpg_session *s = simpg_session(link->view->server, pid_at(values));

	if (!s || !time_is(s->start_us, values[1]) || !has_row(s, values))
		return NULL;
	return s;
}

static struct simpg_prepared *guarded_prepared(struct simpg_link *link, const char *const *values)
{
	struct simpg_key key = key_at(&values[2]);
	struct simpg_prepared *p;

	for (p = link->view->server->prepared; p; p = p->next)
		if (str_eq(p->gid, values[0]) && time_is(p->prepared_us, values[1]))
			return str_eq(values[6], "true") && holds(&p->owner, &key) ? p : NULL;
	return NULL;
}

/* ---- reading again ---- */

static int64_t now_us(const struct simpg_link *link)
{
	return process_clock_us(link->view->world, link->view->server->process);
}

static bool same_client(const struct simpg_session *a, const struct simpg_session *b)
{
	return a != b && str_eq(a->client, b->client) && str_eq(a->user, b->user) &&
	       str_eq(a->application, b->application) && *a->application;
}

static int64_t count_same(const struct simpg_server *server, const struct simpg_session *s)
{
	const struct simpg_session *other;
	int64_t n = 0;

	for (other = simpg_each(server, NULL); other; other = simpg_each(server, other))
		n += same_client(s, other);
	return n;
}

static void answer_session(struct simpg_link *link, const char *const *values, struct pg_rows **ret)
{
	const struct simpg_session *s = simpg_session(link->view->server, pid_at(values));
	struct simpg_key key = key_at(&values[1]);
	struct pg_rows *to = *ret = pg_made(SESSION_COLUMNS);

	if (!s)
		return;
	pg_made_row(to);
	pg_made_time(to, 0, S_START, s->start_us);
	pg_made_int(to, 0, S_HIDDEN, 0, 1);
	pg_made_text(to, 0, S_USER, s->user);
	pg_made_text(to, 0, S_STATE, simpg_state_word(s->state));
	pg_made_time(to, 0, S_STATE_CHANGE, s->state_us);
	if (s->query_us)
		pg_made_time(to, 0, S_QUERY_START, s->query_us);
	pg_made_text(to, 0, S_QUERY, s->query);
	pg_made_text(to, 0, S_TYPE, "client backend");
	if (s->xact_us)
		pg_made_time(to, 0, S_XACT_START, s->xact_us);
	pg_made_int(to, 0, S_WROTE, s->wrote, 1);
	pg_made_int(to, 0, S_SUPERUSER, 0, 1);
	pg_made_int(to, 0, S_MEMBER, 1, 1);
	pg_made_time(to, 0, S_NOW, now_us(link));
	pg_made_int(to, 0, S_HAS_GRANTED, holds(&s->owner, &key), 1);
	pg_made_int(to, 0, S_HAS_WAITING, waits(s, &key), 1);
	pg_made_int(to, 0, S_OTHER_LOCKS, s->wrote, 8);
	pg_made_int(to, 0, S_CONCURRENTLY, strstr(s->query, "CONCURRENTLY") != NULL, 1);
	pg_made_int(to, 0, S_SAME_CLIENT, count_same(link->view->server, s), 8);
}

static void answer_place(struct simpg_link *link, const char *const *values, struct pg_rows **ret)
{
	const struct simpg_server *server = link->view->server;
	const char *name = simpg_database_name(server, (uint32_t)strtoul(values[0], NULL, 10));

	*ret = pg_made(PLACE_COLUMNS);
	if (str_eq(name, "?"))
		return;
	pg_made_row(*ret);
	pg_made_int(*ret, 0, P_RECOVERY, server->in_recovery, 1);
	pg_made_text(*ret, 0, P_DATABASE, name);
	pg_made_int(*ret, 0, P_ALLOWS, 1, 1);
	pg_made_int(*ret, 0, P_CONNECT, 1, 1);
	pg_made_int(*ret, 0, P_EXECUTE, 1, 1);
}

static bool is_like(const struct simpg_session *s, const char *const *values)
{
	return str_eq(s->client, values[7]) && str_eq(s->application, values[8]) &&
	       str_eq(s->user, values[9]);
}

static void answer_look(struct simpg_link *link, const char *const *values, struct pg_rows **ret)
{
	const struct simpg_server *server = link->view->server;
	const struct simpg_session *s = simpg_session(server, pid_at(values)), *other;
	int64_t same = 0, active = 0;

	if (s && !time_is(s->start_us, values[1]))
		s = NULL;
	for (other = simpg_each(server, NULL); other; other = simpg_each(server, other)) {
		if (other == s || !values[7] || !values[8] || !values[9] || !is_like(other, values))
			continue;
		same++;
		active += other->state == SIMPG_ACTIVE;
	}
	*ret = pg_made(LOOK_COLUMNS);
	pg_made_row(*ret);
	pg_made_int(*ret, 0, L_THERE, s != NULL, 1);
	pg_made_int(*ret, 0, L_LOCK, s && has_row(s, values), 1);
	if (s) {
		pg_made_int(*ret, 0, L_ACTIVE, s->state == SIMPG_ACTIVE, 1);
		if (s->query_us)
			pg_made_time(*ret, 0, L_QUERY_START, s->query_us);
	}
	pg_made_int(*ret, 0, L_SAME, same, 8);
	pg_made_int(*ret, 0, L_SAME_ACTIVE, active, 8);
}

/* ---- a queue ---- */

static void blockers_text(struct str *out, const struct simpg_session *s)
{
	int pids[64];
	size_t n = simpg_blockers(s, pids, ARRAY_LEN(pids)), i;

	for (i = 0; i < n; i++)
		str_addf(out, "%s%d", i ? "," : "", pids[i]);
}

static void add_claim(struct pg_rows *to, const struct simpg_session *s, bool granted, bool share)
{
	size_t row = pg_made_row(to);
	char name[SIMPG_NAME_MAX * 3];
	struct str blockers;

	snprintf(name, sizeof(name), "%s%s%s", *s->application ? s->application : s->user,
		*s->application ? "" : "@", *s->application ? "" : s->client);
	pg_made_int(to, row, Q_PID, s->pid, 4);
	pg_made_int(to, row, Q_GRANTED, granted, 1);
	pg_made_int(to, row, Q_SHARE, share, 1);
	pg_made_text(to, row, Q_NAME, name);
	if (granted)
		return;
	str_init(&blockers, 1024);
	blockers_text(&blockers, s);
	pg_made_text(to, row, Q_BLOCKERS, blockers.s ? blockers.s : "");
	str_release(&blockers);
}

static void add_prepared_claim(struct pg_rows *to, const struct simpg_hold *h)
{
	size_t row = pg_made_row(to);

	pg_made_int(to, row, Q_PID, 0, 4);
	pg_made_int(to, row, Q_GRANTED, 1, 1);
	pg_made_int(to, row, Q_SHARE, !simpg_hold_has(h, SIMPG_EXCLUSIVE), 1);
	pg_made_text(to, row, Q_NAME, "a prepared transaction");
}

static int by_pid(const void *a, const void *b)
{
	const struct simpg_hold *const *x = a, *const *y = b;
	int p = (*x)->owner->prepared ? INT32_MAX
				      : ((const struct simpg_session *)(*x)->owner)->pid;
	int q = (*y)->owner->prepared ? INT32_MAX
				      : ((const struct simpg_session *)(*y)->owner)->pid;

	return (p > q) - (p < q);
}

static void add_holders(struct pg_rows *to, const struct simpg_lock *l)
{
	const struct simpg_hold *list[QUEUE_MOST], *h;
	size_t n = 0, i;

	for (h = l->holds; h && n < QUEUE_MOST; h = h->next_of_lock)
		list[n++] = h;
	qsort(list, n, sizeof(struct simpg_hold *), by_pid);
	for (i = 0; i < n; i++) {
		if (list[i]->owner->prepared)
			add_prepared_claim(to, list[i]);
		else
			add_claim(to, (const struct simpg_session *)list[i]->owner, true,
				!simpg_hold_has(list[i], SIMPG_EXCLUSIVE));
	}
}

static void answer_queue(struct simpg_link *link, const char *const *values, struct pg_rows **ret)
{
	struct simpg_key key = key_at(values);
	const struct simpg_lock *l = simpg_lock_find(link->view->server, &key);
	const struct simpg_session *s;
	struct pg_rows *to = *ret = pg_made(QUEUE_COLUMNS);
	int64_t n = 0;
	size_t row;

	if (!l)
		return;
	add_holders(to, l);
	for (s = l->queue; s; s = s->next_waiter, n++)
		if (pg_rows(to) < QUEUE_MOST)
			add_claim(to, s, false, s->wait_mode == SIMPG_SHARE);
	for (row = 0; row < pg_rows(to); row++)
		pg_made_int(to, row, Q_WAITERS, n, 8);
}

static void answer_blockers(
	struct simpg_link *link, const char *const *values, struct pg_rows **ret)
{
	const struct simpg_session *s = simpg_session(link->view->server, pid_at(values));
	struct str list;

	str_init(&list, 1024);
	if (s)
		blockers_text(&list, s);
	*ret = pg_made(1);
	pg_made_row(*ret);
	pg_made_text(*ret, 0, 0, list.s ? list.s : "");
	str_release(&list);
}

/* ---- the other locks of a session or prepared transaction ---- */

struct other {
	const struct simpg_server *server;
	struct simpg_key key;
	bool granted;
};

static int compare_others(const void *a, const void *b)
{
	const struct other *x = a, *y = b;
	int order = strcmp(simpg_database_name(x->server, x->key.database),
		simpg_database_name(y->server, y->key.database));

	if (order)
		return order;
	if (x->key.objsubid != y->key.objsubid)
		return x->key.objsubid < y->key.objsubid ? -1 : 1;
	if (x->key.classid != y->key.classid)
		return x->key.classid < y->key.classid ? -1 : 1;
	return (x->key.objid > y->key.objid) - (x->key.objid < y->key.objid);
}

static const struct simpg_owner *owner_of(struct simpg_link *link, const char *const *values)
{
	const struct simpg_session *s =
		values[0] ? simpg_session(link->view->server, pid_at(values)) : NULL;
	const struct simpg_prepared *p;

	if (values[0])
		return s ? &s->owner : NULL;
	for (p = link->view->server->prepared; p && values[5]; p = p->next)
		if ((uint32_t)strtoul(values[5] + 3, NULL, 10) == p->xid)
			return &p->owner;
	return NULL;
}

static struct other *list_others(const struct simpg_link *link, const struct simpg_owner *owner,
	const struct simpg_key *but, size_t *ret_n)
{
	struct other *list = NULL;
	const struct simpg_hold *h;
	size_t n = 0, cap = 0;
	int mode;

	for (h = owner->holds; h; h = h->next_of_owner)
		for (mode = 0; mode < SIMPG_MODES; mode++) {
			if (key_is(&h->lock->key, but) || !simpg_hold_has(h, (enum simpg_mode)mode))
				continue;
			MEM_GROW(list, n, cap);
			list[n++] = (struct other){ link->view->server, h->lock->key, true };
		}
	if (!owner->prepared) {
		const struct simpg_session *s = (const struct simpg_session *)owner;

		if (s->waits && !key_is(&s->waits->key, but)) {
			MEM_GROW(list, n, cap);
			list[n++] = (struct other){ link->view->server, s->waits->key, false };
		}
	}
	*ret_n = n;
	return list;
}

static void answer_others(struct simpg_link *link, const char *const *values, struct pg_rows **ret)
{
	const struct simpg_owner *owner = owner_of(link, values);
	struct simpg_key but = key_at(&values[1]);
	struct other *list;
	size_t n = 0, i;

	*ret = pg_made(OTHER_COLUMNS);
	if (!owner)
		return;
	list = list_others(link, owner, &but, &n);
	if (n)
		qsort(list, n, sizeof(*list), compare_others);
	for (i = 0; i < n && i < OTHERS_MOST; i++) {
		size_t row = pg_made_row(*ret);

		pg_made_text(*ret, row, O_DATABASE,
			simpg_database_name(list[i].server, list[i].key.database));
		pg_made_int(*ret, row, O_CLASSID, list[i].key.classid, 4);
		pg_made_int(*ret, row, O_OBJID, list[i].key.objid, 4);
		pg_made_int(*ret, row, O_OBJSUBID, list[i].key.objsubid, 2);
		pg_made_int(*ret, row, O_GRANTED, list[i].granted, 1);
		pg_made_int(*ret, row, O_ALL, (int64_t)n, 8);
	}
	free(list);
}

static void answer_prepared(
	struct simpg_link *link, const char *const *values, struct pg_rows **ret)
{
	const struct simpg_prepared *p = guarded_prepared(link, values);
	char transaction[32];

	*ret = pg_made(PREPARED_COLUMNS);
	if (!p)
		return;
	/* After a restart, and by versions since 2021 always, as pg_locks has it. */
	snprintf(transaction, sizeof(transaction), "-1/%" PRIu32, p->xid);
	pg_made_row(*ret);
	pg_made_text(*ret, 0, X_OWNER, p->user);
	pg_made_int(
		*ret, 0, X_SAME_DATABASE, p->database == (uint32_t)strtoul(values[2], NULL, 10), 1);
	pg_made_int(*ret, 0, X_OWN, 0, 1);
	pg_made_text(*ret, 0, X_VIRTUALTRANSACTION, transaction);
	pg_made_time(*ret, 0, X_NOW, now_us(link));
	pg_made_int(*ret, 0, X_OTHER_LOCKS, 0, 8);
	pg_made_text(*ret, 0, X_DATABASE, simpg_database_name(link->view->server, p->database));
}

/* ---- doing it ---- */

static void answer_terminate(
	struct simpg_link *link, const char *const *values, struct pg_rows **ret)
{
	struct simpg_session *s = guarded(link, values);

	*ret = pg_made(1);
	if (!s)
		return;
	simpg_terminate(link->view->world, s);
	pg_made_row(*ret);
	pg_made_int(*ret, 0, 0, 1, 1);
}

static void answer_cancel(struct simpg_link *link, const char *const *values, struct pg_rows **ret)
{
	struct simpg_session *s = guarded(link, values);

	*ret = pg_made(1);
	if (!s || s->state != SIMPG_ACTIVE || !time_is(s->query_us, values[7]))
		return;
	simpg_cancel(link->view->world, s);
	pg_made_row(*ret);
	pg_made_int(*ret, 0, 0, 1, 1);
}

static void answer_notify(struct simpg_link *link, const char *const *values, struct pg_rows **ret)
{
	struct simpg_session *s = guarded(link, values);

	*ret = pg_made(1);
	if (!s)
		return;
	simpg_notify(link->view->world, link->view->server, link->database, values[7], s->pid,
		s->start_us);
	pg_made_row(*ret);
	pg_made_text(*ret, 0, 0, "");
}

/* As format('ROLLBACK PREPARED %L', gid) quotes it. */
static void answer_rollback(
	struct simpg_link *link, const char *const *values, struct pg_rows **ret)
{
	const struct simpg_prepared *p = guarded_prepared(link, values);
	struct str sql;
	const char *at;

	*ret = pg_made(1);
	if (!p || p->database != link->database)
		return;
	str_init(&sql, 2048);
	str_add(&sql, "ROLLBACK PREPARED '");
	for (at = p->gid; *at; at++) {
		if (*at == '\'')
			str_add_char(&sql, '\'');
		str_add_char(&sql, *at);
	}
	str_add_char(&sql, '\'');
	pg_made_row(*ret);
	pg_made_text(*ret, 0, 0, sql.s);
	str_release(&sql);
}

static void do_rollback(struct simpg_link *link, const char *sql, struct pg_refusal *refusal)
{
	char gid[SIMPG_GID_MAX];
	size_t n = 0;

	for (sql = strchr(sql, '\'') + 1; *sql && n + 1 < sizeof(gid); sql++) {
		if (*sql == '\'' && *++sql != '\'')
			break;
		gid[n++] = *sql;
	}
	gid[n] = '\0';
	if (simpg_rollback_prepared(link->view->world, link->view->server, gid))
		return;
	snprintf(refusal->sqlstate, sizeof(refusal->sqlstate), "42704");
	snprintf(refusal->message, sizeof(refusal->message),
		"prepared transaction with identifier \"%.100s\" does not exist", gid);
}

bool simpg_answer_act(struct simpg_link *link, const char *sql, const char *const *values,
	struct pg_rows **ret_result, struct pg_refusal *refusal)
{
	static const struct {
		const char *sql;
		void (*answer)(
			struct simpg_link *link, const char *const *values, struct pg_rows **ret);
	} known[] = {
		{ pg_sql_session, answer_session },
		{ pg_sql_place, answer_place },
		{ pg_sql_queue, answer_queue },
		{ pg_sql_blockers, answer_blockers },
		{ pg_sql_others, answer_others },
		{ pg_sql_prepared, answer_prepared },
		{ pg_sql_look, answer_look },
		{ pg_sql_terminate, answer_terminate },
		{ pg_sql_cancel, answer_cancel },
		{ pg_sql_notify, answer_notify },
		{ pg_sql_rollback, answer_rollback },
	};
	size_t i;

	for (i = 0; i < ARRAY_LEN(known); i++)
		if (str_eq(known[i].sql, sql)) {
			known[i].answer(link, values, ret_result);
			return true;
		}
	if (str_eq(sql, pg_sql_look_prepared)) {
		const struct simpg_prepared *p;

		for (p = link->view->server->prepared; p; p = p->next)
			if (str_eq(p->gid, values[0]) && time_is(p->prepared_us, values[1]))
				break;
		*ret_result = pg_made(1);
		pg_made_row(*ret_result);
		pg_made_int(*ret_result, 0, 0, p != NULL, 1);
		return true;
	}
	if (!str_starts(sql, "ROLLBACK PREPARED '"))
		return false;
	do_rollback(link, sql, refusal);
	return true;
}
