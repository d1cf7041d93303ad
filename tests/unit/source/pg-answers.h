#ifndef TESTS_PG_ANSWERS_H
#define TESTS_PG_ANSWERS_H

#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

#include "source/postgres-sql.h"

/* Answers to the poll's query, made by hand as libpq would hold them. */
static inline PGresult *answer_new(void)
{
	PGresult *result = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);
	PGresAttDesc columns[COLUMNS];
	char name[] = "c";
	int i;

	memset(columns, 0, sizeof(columns));
	for (i = 0; i < COLUMNS; i++) {
		columns[i].name = name;
		columns[i].format = 1;
	}
	PQsetResultAttrs(result, COLUMNS, columns);
	return result;
}

static inline void answer_bytes(
	PGresult *result, int row, enum pg_column column, const void *bytes, size_t len)
{
	char copy[512];

	memcpy(copy, bytes, len);
	PQsetvalue(result, row, (int)column, copy, (int)len);
}

static inline void answer_number(
	PGresult *result, int row, enum pg_column column, int64_t value, size_t width)
{
	unsigned char bytes[8];
	size_t i;

	for (i = 0; i < width; i++)
		bytes[i] = (unsigned char)((uint64_t)value >> 8 * (width - 1 - i));
	answer_bytes(result, row, column, bytes, width);
}

static inline void answer_text(PGresult *result, int row, enum pg_column column, const char *text)
{
	answer_bytes(result, row, column, text, strlen(text));
}

/* A new row of that kind, with all columns NULL. */
static inline int answer_row(PGresult *result, enum pg_row_kind kind)
{
	int row = PQntuples(result), i;

	for (i = 0; i < COLUMNS; i++)
		PQsetvalue(result, row, i, NULL, -1);
	answer_number(result, row, C_KIND, kind, 4);
	return row;
}

static inline void answer_server(PGresult *result, int64_t total)
{
	int row = answer_row(result, ROW_SERVER);

	answer_number(result, row, C_PID, 100, 4);
	answer_number(result, row, C_FLAG, 0, 1);
	answer_number(result, row, C_AT, 0, 8);
	answer_number(result, row, C_HELD, total, 8);
}

static inline void answer_database(PGresult *result, uint32_t oid, const char *name)
{
	int row = answer_row(result, ROW_DATABASE);

	answer_number(result, row, C_DATABASE, oid, 4);
	answer_text(result, row, C_NAME, name);
}

/* Fields that are NULL are not shown. start_us counts from 2000, as PostgreSQL sends it. */
struct answer_session {
	int pid;
	int64_t start_us; /* 0: hidden */
	const char *name, *user, *client, *query, *type, *blocked_by;
};

static inline int answer_session(PGresult *result, const struct answer_session *s)
{
	int row = answer_row(result, ROW_SESSION);

	answer_number(result, row, C_PID, s->pid, 4);
	if (s->start_us)
		answer_number(result, row, C_AT, s->start_us, 8);
	if (s->name)
		answer_text(result, row, C_NAME, s->name);
	if (s->user)
		answer_text(result, row, C_USER, s->user);
	if (s->client)
		answer_text(result, row, C_CLIENT, s->client);
	if (s->query)
		answer_text(result, row, C_QUERY, s->query);
	if (s->type)
		answer_text(result, row, C_BACKEND_TYPE, s->type);
	if (s->blocked_by)
		answer_text(result, row, C_BLOCKED_BY, s->blocked_by);
	return row;
}

struct answer_lock {
	int pid; /* 0: none */
	uint32_t database, classid, objid;
	int objsubid;
	int share, waits;
	int64_t since_us; /* 0: not known */
	const char *gid;
};

static inline int answer_lock(PGresult *result, const struct answer_lock *l)
{
	int row = answer_row(result, ROW_LOCK);

	if (l->pid)
		answer_number(result, row, C_PID, l->pid, 4);
	answer_number(result, row, C_DATABASE, l->database, 4);
	answer_number(result, row, C_CLASSID, l->classid, 4);
	answer_number(result, row, C_OBJID, l->objid, 4);
	answer_number(result, row, C_OBJSUBID, l->objsubid, 2);
	answer_number(result, row, C_SHARE, l->share, 1);
	answer_number(result, row, C_FLAG, !l->waits, 1);
	if (l->since_us)
		answer_number(result, row, C_AT, l->since_us, 8);
	if (l->gid)
		answer_text(result, row, C_NAME, l->gid);
	return row;
}

#endif
