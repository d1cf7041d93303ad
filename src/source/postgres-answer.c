#include "config.h"

#include "source/postgres-answer.h"
#include "base/mem.h"
#include "base/mix.h"
#include "io/pg.h"
#include "source/postgres-sql.h"
#include "source/postgres.h"
#include "source/source.h"

#include <stdlib.h>
#include <string.h>

/* What pg_stat_activity shows in place of a query that we may not see; no other column tells
 * "hidden" from "none". */
static const char hidden_query[] = "<insufficient privilege>";

static void numbers_add(struct pg_numbers *list, int64_t number, size_t row)
{
	MEM_GROW(list->items, list->n, list->cap);
	list->items[list->n++] = (struct pg_numbered){ number, (uint32_t)row, 0 };
}

static int compare_numbers(const void *a, const void *b)
{
	const struct pg_numbered *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

/* What belongs to each number, so that a change is seen without comparing row by row. */
static void numbers_hash(struct pg_numbers *list, const struct pg_rows *result)
{
	size_t i;

	for (i = 0; i < list->n; i++)
		list->items[i].hash = pg_answer_hash_row(
			result, list->items[i].row, (uint64_t)list->items[i].number);
}

/* Sorts n items, which a server may tell in order already. */
static void sort(void *items, size_t n, size_t size, int (*compare)(const void *, const void *))
{
	const char *item = items;
	size_t i;

	for (i = 1; i < n && compare(item + (i - 1) * size, item + i * size) <= 0; i++)
		continue;
	if (i < n)
		qsort(items, n, size, compare);
}

static void numbers_sort(struct pg_numbers *list)
{
	sort(list->items, list->n, sizeof(*list->items), compare_numbers);
}

const struct pg_numbered *pg_answer_find(const struct pg_numbers *list, int64_t number)
{
	struct pg_numbered wanted = { .number = number };

	if (!list->n)
		return NULL;
	return bsearch(&wanted, list->items, list->n, sizeof(wanted), compare_numbers);
}

uint64_t pg_answer_hash_row(const struct pg_rows *result, size_t row, uint64_t hash)
{
	size_t column, len;

	for (column = 0; column < COLUMNS; column++) {
		const char *bytes = pg_text(result, row, column, &len);

		hash = bytes ? mix_bytes(hash, bytes, len) : hash * 31 + column;
	}
	return hash;
}

bool pg_row_is_hidden(const struct pg_rows *result, size_t row)
{
	size_t len;
	const char *query = pg_text(result, row, C_QUERY, &len);
	int64_t start;

	return query && len == sizeof(hidden_query) - 1 && memcmp(query, hidden_query, len) == 0 &&
	       !pg_time(result, row, C_AT, &start);
}

static bool read_flag(const struct pg_rows *result, size_t row, enum pg_column column)
{
	int64_t value = 0;

	return pg_int(result, row, column, &value) && value > 0;
}

static void read_lock(struct pg_answer *a, size_t row)
{
	const struct pg_rows *result = a->result;
	struct pg_lock lock = { .row = (uint32_t)row, .since = INT64_MAX };
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

int pg_lock_compare_keys(const struct pg_lock *x, const struct pg_lock *y)
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
	const struct pg_lock *x = a, *y = b;
	int order = pg_lock_compare_keys(x, y);

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

void pg_answer_read(struct pg_answer *a, const struct pg_rows *result)
{
	size_t row, n = pg_rows(result);

	*a = (struct pg_answer){ .result = result };
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
	numbers_hash(&a->sessions, result);
	numbers_hash(&a->databases, result);
	sort(a->locks, a->n_locks, sizeof(*a->locks), compare_locks);
}

void pg_answer_release(struct pg_answer *a)
{
	free(a->locks);
	free(a->sessions.items);
	free(a->databases.items);
}

bool postgres_moment_read(const struct pg_rows *result, struct pg_moment *moment)
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
