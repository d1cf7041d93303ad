#include "config.h"

#include "io/pg-inside.h"
#include "base/mem.h"
#include "base/str.h"

#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

/* 2000-01-01, from which PostgreSQL counts its microseconds, in Unix time. */
#define PG_EPOCH_US INT64_C(946684800000000)

void pg_result_free(struct pg_result *result)
{
	PQclear(result);
}

size_t pg_rows(const struct pg_result *result)
{
	return (size_t)PQntuples(result);
}

size_t pg_columns(const struct pg_result *result)
{
	return (size_t)PQnfields(result);
}

/* The field's bytes, or NULL when it is SQL's NULL or isn't there. libpq says length 0 of a NULL,
 * too. */
static const char *field(const struct pg_result *result, size_t row, size_t column, size_t *ret_len)
{
	int r = (int)row, c = (int)column, len = PQgetlength(result, r, c);

	if (len <= 0 &&
		(c >= PQnfields(result) || r >= PQntuples(result) || PQgetisnull(result, r, c)))
		return NULL;
	*ret_len = (size_t)len;
	return PQgetvalue(result, r, c);
}

bool pg_decode_int(const void *bytes, size_t len, int64_t *ret)
{
	const unsigned char *b = bytes;
	uint64_t value;
	size_t i;

	if (len != 1 && len != 2 && len != 4 && len != 8)
		return false;
	/* Begin with all ones for a negative number, so that the sign goes up to bit 63. */
	value = (b[0] & 0x80) && len > 1 ? UINT64_MAX : 0;
	for (i = 0; i < len; i++)
		value = value << 8 | b[i];
	*ret = (int64_t)value;
	return true;
}

bool pg_decode_time(const void *bytes, size_t len, int64_t *ret_us)
{
	int64_t us;

	if (len != 8 || !pg_decode_int(bytes, len, &us))
		return false;
	if (us == INT64_MAX || us == INT64_MIN || us > INT64_MAX - PG_EPOCH_US)
		return false;
	*ret_us = us + PG_EPOCH_US;
	return true;
}

bool pg_int(const struct pg_result *result, size_t row, size_t column, int64_t *ret)
{
	size_t len;
	const char *bytes = field(result, row, column, &len);

	return bytes && pg_decode_int(bytes, len, ret);
}

bool pg_oid(const struct pg_result *result, size_t row, size_t column, uint32_t *ret)
{
	size_t len;
	const char *bytes = field(result, row, column, &len);
	int64_t value;

	if (!bytes || len != 4 || !pg_decode_int(bytes, len, &value))
		return false;
	*ret = (uint32_t)value;
	return true;
}

bool pg_time(const struct pg_result *result, size_t row, size_t column, int64_t *ret_us)
{
	size_t len;
	const char *bytes = field(result, row, column, &len);

	return bytes && pg_decode_time(bytes, len, ret_us);
}

const char *pg_text(const struct pg_result *result, size_t row, size_t column, size_t *ret_len)
{
	size_t len = 0;
	const char *bytes = field(result, row, column, &len);

	if (bytes && ret_len)
		*ret_len = len;
	return bytes;
}

struct pg_result *pg_made(size_t columns)
{
	PGresult *result = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);
	PGresAttDesc *list = xcalloc(columns, sizeof(*list));
	char name[] = "c";
	size_t i;

	for (i = 0; i < columns; i++) {
		list[i].name = name;
		list[i].format = 1;
	}
	PQsetResultAttrs(result, (int)columns, list);
	free(list);
	return result;
}

size_t pg_made_row(struct pg_result *result)
{
	int row = PQntuples(result);

	/* The first field set makes the row, with all others NULL (libpq's manual, PQsetvalue). */
	PQsetvalue(result, row, 0, NULL, -1);
	return (size_t)row;
}

void pg_made_int(struct pg_result *result, size_t row, size_t column, int64_t value, size_t width)
{
	char bytes[8];
	size_t i;

	for (i = 0; i < width; i++)
		bytes[i] = (char)((uint64_t)value >> 8 * (width - 1 - i));
	PQsetvalue(result, (int)row, (int)column, bytes, (int)width);
}

void pg_made_time(struct pg_result *result, size_t row, size_t column, int64_t us)
{
	if (us != INT64_MIN)
		pg_made_int(result, row, column, us - PG_EPOCH_US, 8);
}

void pg_made_text(struct pg_result *result, size_t row, size_t column, const char *text)
{
	if (text)
		PQsetvalue(result, (int)row, (int)column, (char *)text, (int)strlen(text));
}

void pg_array_begin(struct str *out)
{
	str_add_char(out, '{');
}

void pg_array_add(struct str *out, const char *element)
{
	if (out->len && out->s[out->len - 1] != '{')
		str_add_char(out, ',');
	str_add_char(out, '"');
	for (; *element; element++) {
		if (*element == '"' || *element == '\\')
			str_add_char(out, '\\');
		str_add_char(out, *element);
	}
	str_add_char(out, '"');
}

void pg_array_add_bytes(struct str *out, const char *element)
{
	if (out->len && out->s[out->len - 1] != '{')
		str_add_char(out, ',');
	str_add(out, "\"\\\\x");
	for (; *element; element++)
		str_addf(out, "%02x", (unsigned char)*element);
	str_add_char(out, '"');
}

void pg_array_end(struct str *out)
{
	str_add_char(out, '}');
}

/*
 * The old md5 passwords are "md5" and MD5(password, role) in hexadecimal (PostgreSQL manual,
 * "Password Authentication" and PQencryptPassword); with an empty role that is MD5 of the text, and
 * spares us a library of our own.
 */
bool pg_md5(const char *text, char ret_hex[33])
{
	char *shadow = PQencryptPassword(text, "");
	bool ok = shadow && strlen(shadow) == 35 && memcmp(shadow, "md5", 3) == 0;

	if (ok)
		memcpy(ret_hex, shadow + 3, 33);
	PQfreemem(shadow);
	return ok;
}
