#include "config.h"

#include "source/postgres.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "io/pg.h"
#include "source/postgres-sql.h"
#include "source/postgres-tools.h"
#include "source/source.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What pg_stat_activity shows in place of a query that we may not see; no other column tells
 * "hidden" from "none". */
static const char hidden_query[] = "<insufficient privilege>";

struct lock {
	uint32_t database;
	struct pg_key key;
	bool share, granted;
	int32_t pid;   /* 0: a prepared transaction */
	int64_t since; /* waiters: waitstart; INT64_MAX: not known */
	uint32_t row;
};

struct numbered {
	int64_t number; /* pid, oid */
	uint32_t row;
};

struct numbers {
	struct numbered *items;
	size_t n, cap;
};

struct answer {
	const struct pg_result *result;
	struct lock *locks;
	size_t n_locks, cap_locks;
	struct numbers sessions, databases;
};

/* ---- taking the answer apart ---- */

static void numbers_add(struct numbers *list, int64_t number, size_t row)
{
	MEM_GROW(list->items, list->n, list->cap);
	list->items[list->n++] = (struct numbered){ number, (uint32_t)row };
}

static int compare_numbers(const void *a, const void *b)
{
	const struct numbered *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

static void numbers_sort(struct numbers *list)
{
	if (list->n)
		qsort(list->items, list->n, sizeof(*list->items), compare_numbers);
}

/* The row of a number, or -1. */
static int64_t numbers_row(const struct numbers *list, int64_t number)
{
	struct numbered wanted = { .number = number };
	const struct numbered *found =
		list->n ? bsearch(&wanted, list->items, list->n, sizeof(wanted), compare_numbers)
			: NULL;

	return found ? (int64_t)found->row : -1;
}

static bool read_flag(const struct pg_result *result, size_t row, enum pg_column column)
{
	int64_t value = 0;

	return pg_int(result, row, column, &value) && value > 0;
}

static void read_lock(struct answer *a, size_t row)
{
	const struct pg_result *result = a->result;
	struct lock lock = { .row = (uint32_t)row, .since = INT64_MAX };
	int64_t value;

	if (!pg_oid(result, row, C_CLASSID, &lock.key.classid) ||
		!pg_oid(result, row, C_OBJID, &lock.key.objid) ||
		!pg_int(result, row, C_OBJSUBID, &value))
		return;
	lock.key.objsubid = (int16_t)value;
	pg_oid(result, row, C_DATABASE, &lock.database);
	lock.share = read_flag(result, row, C_SHARE);
	lock.granted = read_flag(result, row, C_FLAG);
	if (pg_int(result, row, C_PID, &value))
		lock.pid = (int32_t)value;
	if (!lock.granted)
		pg_time(result, row, C_AT, &lock.since);
	MEM_GROW(a->locks, a->n_locks, a->cap_locks);
	a->locks[a->n_locks++] = lock;
}

static int compare_keys(const struct lock *x, const struct lock *y)
{
	if (x->database != y->database)
		return x->database < y->database ? -1 : 1;
	if (x->key.objsubid != y->key.objsubid)
		return x->key.objsubid < y->key.objsubid ? -1 : 1;
	if (x->key.classid != y->key.classid)
		return x->key.classid < y->key.classid ? -1 : 1;
	if (x->key.objid != y->key.objid)
		return x->key.objid < y->key.objid ? -1 : 1;
	return 0;
}

/* Key by key; holders before waiters, waiters by the time since which they wait; exclusive before
 * share. */
static int compare_locks(const void *a, const void *b)
{
	const struct lock *x = a, *y = b;
	int order = compare_keys(x, y);

	if (order)
		return order;
	if (x->granted != y->granted)
		return x->granted ? -1 : 1;
	if (x->since != y->since)
		return x->since < y->since ? -1 : 1;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->share != y->share)
		return x->share ? 1 : -1;
	return x->row < y->row ? -1 : x->row > y->row;
}

static void answer_read(struct answer *a, const struct pg_result *result)
{
	size_t row, n = pg_rows(result);

	*a = (struct answer){ .result = result };
	for (row = 0; row < n; row++) {
		int64_t kind = -1, pid;
		uint32_t oid;

		pg_int(result, row, C_KIND, &kind);
		if (kind == ROW_LOCK)
			read_lock(a, row);
		else if (kind == ROW_SESSION && pg_int(result, row, C_PID, &pid))
			numbers_add(&a->sessions, pid, row);
		else if (kind == ROW_DATABASE && pg_oid(result, row, C_DATABASE, &oid))
			numbers_add(&a->databases, oid, row);
	}
	numbers_sort(&a->sessions);
	numbers_sort(&a->databases);
	if (a->n_locks)
		qsort(a->locks, a->n_locks, sizeof(*a->locks), compare_locks);
}

static void answer_release(struct answer *a)
{
	free(a->locks);
	free(a->sessions.items);
	free(a->databases.items);
}

bool postgres_moment_read(const struct pg_result *result, struct pg_moment *moment)
{
	size_t row, n = pg_rows(result);
	int64_t kind;

	for (row = 0; row < n; row++) {
		if (!pg_int(result, row, C_KIND, &kind) || kind != ROW_SERVER)
			continue;
		moment->server_us = TIME_UNKNOWN;
		moment->in_recovery = read_flag(result, row, C_FLAG);
		pg_time(result, row, C_AT, &moment->server_us);
		return pg_int(result, row, C_PID, &moment->pid) &&
		       pg_int(result, row, C_HELD, &moment->total);
	}
	return false;
}

/* ---- one claim ---- */

static void add_text(struct draft *d, enum detail_id id, const struct pg_result *result, size_t row,
	enum pg_column column)
{
	size_t len;
	const char *text = pg_text(result, row, column, &len);

	if (text && len)
		draft_text_mem(d, id, text, len);
}

static void add_time(struct draft *d, enum detail_id id, const struct pg_result *result, size_t row,
	enum pg_column column)
{
	int64_t us;

	if (pg_time(result, row, column, &us))
		draft_int(d, id, us);
}

static bool row_is_hidden(const struct pg_result *result, size_t row)
{
	size_t len;
	const char *query = pg_text(result, row, C_QUERY, &len);
	int64_t start;

	return query && len == sizeof(hidden_query) - 1 && memcmp(query, hidden_query, len) == 0 &&
	       !pg_time(result, row, C_AT, &start);
}

/* The pids that a session waits for: digits and commas; others are passed over. A prepared
 * transaction shows as 0. */
static void add_blocked_by(struct draft *d, const char *list, size_t len)
{
	size_t i;
	int64_t pid = -1;

	for (i = 0; i <= len; i++) {
		if (i < len && list[i] >= '0' && list[i] <= '9') {
			pid = (pid < 0 ? 0 : pid) * 10 + (list[i] - '0');
			if (pid > INT32_MAX)
				return;
		} else {
			if (pid >= 0)
				draft_int(d, DETAIL_BLOCKED_BY, pid);
			pid = -1;
		}
	}
}

static void add_hidden_details(struct draft *d)
{
	static const enum detail_id hidden[] = { DETAIL_BACKEND_START, DETAIL_CLIENT, DETAIL_STATE,
		DETAIL_STATE_CHANGE, DETAIL_QUERY_START, DETAIL_XACT_START, DETAIL_WAIT_EVENT,
		DETAIL_QUERY, DETAIL_BACKEND_TYPE };
	size_t i;

	for (i = 0; i < ARRAY_LEN(hidden); i++)
		draft_hidden(d, hidden[i]);
}

static void add_shown_details(
	const struct postgres *p, struct draft *d, const struct pg_result *result, size_t row)
{
	add_time(d, DETAIL_BACKEND_START, result, row, C_AT);
	add_text(d, DETAIL_CLIENT, result, row, C_CLIENT);
	add_text(d, DETAIL_STATE, result, row, C_STATE);
	add_time(d, DETAIL_STATE_CHANGE, result, row, C_STATE_CHANGE);
	add_time(d, DETAIL_QUERY_START, result, row, C_QUERY_START);
	add_time(d, DETAIL_XACT_START, result, row, C_XACT_START);
	add_text(d, DETAIL_WAIT_EVENT, result, row, C_WAIT_EVENT);
	if (source_option_int(p->config, "query_text"))
		add_text(d, DETAIL_QUERY, result, row, C_QUERY);
	add_text(d, DETAIL_BACKEND_TYPE, result, row, C_BACKEND_TYPE);
}

static void add_session_details(
	const struct postgres *p, struct draft *d, const struct pg_result *result, size_t row)
{
	int64_t value;
	size_t len;
	const char *blocked;

	add_text(d, DETAIL_APPLICATION, result, row, C_NAME);
	add_text(d, DETAIL_USER, result, row, C_USER);
	if (row_is_hidden(result, row))
		add_hidden_details(d);
	else
		add_shown_details(p, d, result, row);
	if (pg_int(result, row, C_SUPERUSER, &value))
		draft_int(d, DETAIL_SUPERUSER, value);
	if (pg_int(result, row, C_HELD, &value))
		draft_int(d, DETAIL_LOCKS_HELD, value);
	blocked = pg_text(result, row, C_BLOCKED_BY, &len);
	if (blocked)
		add_blocked_by(d, blocked, len);
}

/*
 * Who a session says it is: application_name, else ROLE@CLIENT, ROLE@local on a socket; what has no
 * role (a worker of the server) by its type; one that is hidden and has no name by its pid.
 */
static void session_identity(
	struct str *out, const struct pg_result *result, int64_t row, int32_t pid)
{
	size_t name_len = 0, user_len = 0, len = 0;
	const char *name = row < 0 ? NULL : pg_text(result, (size_t)row, C_NAME, &name_len);
	const char *user = row < 0 ? NULL : pg_text(result, (size_t)row, C_USER, &user_len);
	const char *other;

	if (name && name_len) {
		str_add_mem(out, name, name_len);
	} else if (row < 0) {
		str_addf(out, "pid %" PRId32, pid);
	} else if (row_is_hidden(result, (size_t)row)) {
		str_addf(out, "pid %" PRId32 " (hidden)", pid);
	} else if (user && user_len) {
		other = pg_text(result, (size_t)row, C_CLIENT, &len);
		str_add_mem(out, user, user_len);
		str_add_char(out, '@');
		str_add_mem(out, other ? other : "local", other ? len : strlen("local"));
	} else if ((other = pg_text(result, (size_t)row, C_BACKEND_TYPE, &len)) && len) {
		str_add_mem(out, other, len);
	} else {
		str_addf(out, "pid %" PRId32, pid);
	}
}

static void session_key(struct str *out, const struct pg_result *result, int64_t row, int32_t pid)
{
	int64_t start;

	if (row >= 0 && pg_time(result, (size_t)row, C_AT, &start))
		str_addf(out, "%" PRId32 "@%" PRId64, pid, start);
	else
		str_addf(out, "%" PRId32 "@%s", pid,
			row >= 0 && row_is_hidden(result, (size_t)row) ? "hidden" : "unknown");
}

static const char *mode_word(const struct lock *lock)
{
	return lock->share ? "share" : "exclusive";
}

struct teller {
	struct postgres *p;
	struct round *r;
	struct draft *d;
	const struct answer *a;
	struct str path, identity, key;
	bool *named_seen; /* names whose key is held or waited for */
};

static void tell_session_claim(struct teller *t, const struct lock *lock)
{
	int64_t row = numbers_row(&t->a->sessions, lock->pid);

	session_identity(&t->identity, t->a->result, row, lock->pid);
	session_key(&t->key, t->a->result, row, lock->pid);
	draft_claim(t->d, lock->granted ? CLAIM_HOLDER : CLAIM_WAITER, t->identity.s,
		t->identity.len, t->key.s);
	draft_int(t->d, DETAIL_PID, lock->pid);
	draft_text(t->d, DETAIL_MODE, mode_word(lock));
	if (row >= 0)
		add_session_details(t->p, t->d, t->a->result, (size_t)row);
	if (lock->since != INT64_MAX)
		draft_int(t->d, DETAIL_WAIT_START, lock->since);
}

static void tell_prepared_claim(struct teller *t, const struct lock *lock)
{
	size_t len = 0;
	const char *gid = pg_text(t->a->result, lock->row, C_NAME, &len);
	int64_t at;

	str_add(&t->identity, "prepared:");
	str_add(&t->key, "prepared:");
	str_add_mem(&t->identity, gid ? gid : "?", gid ? len : 1);
	text_escape(&t->key, gid ? gid : "?", gid ? len : 1);
	if (pg_time(t->a->result, lock->row, C_XACT_START, &at))
		str_addf(&t->key, "@%" PRId64, at);
	draft_claim(t->d, CLAIM_HOLDER, t->identity.s, t->identity.len, t->key.s);
	draft_text(t->d, DETAIL_MODE, mode_word(lock));
	draft_text_mem(t->d, DETAIL_PREPARED, gid ? gid : "?", gid ? len : 1);
	add_time(t->d, DETAIL_PREPARED_AT, t->a->result, lock->row, C_XACT_START);
	add_text(t->d, DETAIL_USER, t->a->result, lock->row, C_USER);
}

static void tell_claim(struct teller *t, const struct lock *lock)
{
	str_clear(&t->identity);
	str_clear(&t->key);
	if (lock->pid)
		tell_session_claim(t, lock);
	else
		tell_prepared_claim(t, lock);
}

/* ---- one singleton ---- */

static void write_path(struct teller *t, const char *database, size_t len, struct pg_key key)
{
	str_clear(&t->path);
	str_add_mem(&t->path, database, len);
	str_add_char(&t->path, ':');
	pg_key_write(&t->path, key);
}

/* The name of a database that was dropped or made a moment ago may be missing: its number stands
 * for it. */
static const char *database_name(
	const struct answer *a, uint32_t oid, char buf[16], size_t *ret_len)
{
	int64_t row = numbers_row(&a->databases, oid);
	const char *name = row < 0 ? NULL : pg_text(a->result, (size_t)row, C_NAME, ret_len);

	if (name)
		return name;
	*ret_len = (size_t)snprintf(buf, 16, "#%" PRIu32, oid);
	return buf;
}

static bool named_fits(
	const struct pg_named *named, const char *database, size_t len, struct pg_key key)
{
	return named->known && pg_key_equal(named->key, key) &&
	       (!named->database || (strlen(named->database) == len &&
					    memcmp(named->database, database, len) == 0));
}

/* The name for a key; of several, one that says the database wins. Marks all of them as seen. */
static const struct pg_named *find_name(
	struct teller *t, const char *database, size_t len, struct pg_key key)
{
	const struct pg_named *found = NULL;
	size_t i;

	for (i = 0; i < t->p->n_named; i++) {
		const struct pg_named *named = &t->p->named[i];

		if (!named_fits(named, database, len, key))
			continue;
		t->named_seen[i] = true;
		if (!found || (!found->database && named->database))
			found = named;
	}
	return found;
}

static void add_lock_details(struct teller *t, const char *database, size_t len, uint32_t oid,
	struct pg_key key, const struct pg_named *named)
{
	const char *tool = postgres_tool(database, len, key);

	draft_text_mem(t->d, DETAIL_DATABASE, database, len);
	if (oid)
		draft_int(t->d, DETAIL_DATABASE_OID, oid);
	draft_int(t->d, DETAIL_CLASSID, key.classid);
	draft_int(t->d, DETAIL_OBJID, key.objid);
	draft_int(t->d, DETAIL_OBJSUBID, key.objsubid);
	if (tool)
		draft_text(t->d, DETAIL_TOOL, tool);
	if (named) {
		draft_int(t->d, DETAIL_CONFIGURED, 1);
		draft_name(t->d, named->name->name);
	}
}

/* A session that holds a key in both modes has two rows, and is one holder; compare_locks put the
 * stronger first. */
static bool same_claim(const struct lock *a, const struct lock *b)
{
	return a->pid && a->pid == b->pid && a->granted == b->granted;
}

/* locks[0..n) are all rows of one key. */
static void tell_key(struct teller *t, const struct lock *locks, size_t n)
{
	char buf[16];
	size_t len, i;
	const char *database = database_name(t->a, locks->database, buf, &len);
	uint32_t position = 0;

	write_path(t, database, len, locks->key);
	draft_begin(t->d, MECH_PG_ADVISORY, t->p->config->name, t->path.s, t->path.len);
	add_lock_details(t, database, len, locks->database, locks->key,
		find_name(t, database, len, locks->key));
	for (i = 0; i < n; i++) {
		if (i && same_claim(&locks[i - 1], &locks[i]))
			continue;
		tell_claim(t, &locks[i]);
		if (!locks[i].granted && locks[i].since != INT64_MAX)
			draft_position(t->d, ++position);
	}
	round_put(t->r, draft_finish(t->d));
}

static void tell_keys(struct teller *t)
{
	size_t i, n;

	for (i = 0; i < t->a->n_locks; i += n) {
		n = 1;
		while (i + n < t->a->n_locks &&
			compare_keys(&t->a->locks[i], &t->a->locks[i + n]) == 0)
			n++;
		tell_key(t, &t->a->locks[i], n);
	}
}

/* Keys that the config names and nobody holds are rows too. One without a database is shown in the
 * one we are in. */
static void tell_free_names(struct teller *t)
{
	size_t i, len;

	for (i = 0; i < t->p->n_named; i++) {
		const struct pg_named *named = &t->p->named[i];
		const char *database = named->database ? named->database : t->p->facts.database;

		if (!named->known || t->named_seen[i])
			continue;
		len = strlen(database);
		write_path(t, database, len, named->key);
		draft_begin(t->d, MECH_PG_ADVISORY, t->p->config->name, t->path.s, t->path.len);
		add_lock_details(
			t, database, len, 0, named->key, find_name(t, database, len, named->key));
		round_put(t->r, draft_finish(t->d));
	}
}

static void count(const struct answer *a, struct pg_moment *moment)
{
	size_t i;

	moment->n_rows = a->n_locks;
	moment->n_sessions = a->sessions.n;
	moment->n_hidden = 0;
	for (i = 0; i < a->sessions.n; i++)
		moment->n_hidden += row_is_hidden(a->result, a->sessions.items[i].row);
}

int postgres_picture_tell(struct postgres *p, struct round *r, const struct pg_result *result,
	struct pg_moment *moment, struct err *err)
{
	struct answer a;
	struct teller t = { .p = p, .r = r, .d = round_draft(r), .a = &a };

	if (pg_columns(result) != COLUMNS || !postgres_moment_read(result, moment))
		return err_set(err, ERR_PROTO,
			"%s answered the query with other columns than it was asked for",
			pg_place(p->pg));
	str_init(&t.path, 4096);
	str_init(&t.identity, 4096);
	str_init(&t.key, 4096);
	t.named_seen = xcalloc(p->n_named + 1, sizeof(*t.named_seen));
	answer_read(&a, result);
	count(&a, moment);
	round_begin(r);
	tell_keys(&t);
	tell_free_names(&t);
	round_end(r);
	answer_release(&a);
	free(t.named_seen);
	str_release(&t.path);
	str_release(&t.identity);
	str_release(&t.key);
	return 0;
}
