#include "config.h"

#include "io/pg-inside.h"
#include "base/mem.h"
#include "base/str.h"

#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

/* 2000-01-01, from which PostgreSQL counts its microseconds, in Unix time. */
#define PG_EPOCH_US INT64_C(946684800000000)

/* Of a built-in server: a value's place among the bytes. */
struct cell {
	uint32_t at;
	int32_t len; /* -1: NULL */
};

/*
 * A built-in server makes 20,000 rows of 22 columns for each look at 10,000 locks: these stand in
 * two blocks, where libpq would take a piece of memory for each row and value.
 */
struct pg_spare {
	struct cell *cells;
	size_t cap;  /* cells */
	char *bytes; /* each value ends in NUL, as libpq's do */
	size_t room;
};

struct pg_rows {
	PGresult *answer;            /* NULL: made by hand, as follows */
	struct pg_spare own, *spare; /* spare: where the blocks go in the end; NULL: nowhere */
	size_t n, columns, len;
};

struct pg_rows *pg_rows_of(PGresult *answer)
{
	struct pg_rows *result = answer ? xcalloc(1, sizeof(*result)) : NULL;

	if (result)
		result->answer = answer;
	return result;
}

static void blocks_free(struct pg_spare *blocks)
{
	free(blocks->cells);
	free(blocks->bytes);
}

void pg_spare_free(struct pg_spare *spare)
{
	if (spare)
		blocks_free(spare);
	free(spare);
}

void pg_result_free(struct pg_rows *result)
{
	if (!result)
		return;
	PQclear(result->answer);
	if (result->spare && !result->spare->cells)
		*result->spare = result->own;
	else
		blocks_free(&result->own);
	free(result);
}

size_t pg_rows(const struct pg_rows *result)
{
	return result->answer ? (size_t)PQntuples(result->answer) : result->n;
}

size_t pg_columns(const struct pg_rows *result)
{
	return result->answer ? (size_t)PQnfields(result->answer) : result->columns;
}

/* libpq says length 0 of a NULL, too. */
static const char *answer_field(const PGresult *answer, int r, int c, size_t *ret_len)
{
	int len = PQgetlength(answer, r, c);

	if (len <= 0 &&
		(c >= PQnfields(answer) || r >= PQntuples(answer) || PQgetisnull(answer, r, c)))
		return NULL;
	*ret_len = (size_t)len;
	return PQgetvalue(answer, r, c);
}

/* The field's bytes, or NULL when it is SQL's NULL or isn't there. */
static const char *field(const struct pg_rows *result, size_t row, size_t column, size_t *ret_len)
{
	const struct cell *cell;

	if (result->answer)
		return answer_field(result->answer, (int)row, (int)column, ret_len);
	if (row >= result->n || column >= result->columns)
		return NULL;
	cell = &result->own.cells[row * result->columns + column];
	if (cell->len < 0)
		return NULL;
	*ret_len = (size_t)cell->len;
	return result->own.bytes + cell->at;
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

bool pg_int(const struct pg_rows *result, size_t row, size_t column, int64_t *ret)
{
	size_t len;
	const char *bytes = field(result, row, column, &len);

	return bytes && pg_decode_int(bytes, len, ret);
}

bool pg_oid(const struct pg_rows *result, size_t row, size_t column, uint32_t *ret)
{
	size_t len;
	const char *bytes = field(result, row, column, &len);
	int64_t value;

	if (!bytes || len != 4 || !pg_decode_int(bytes, len, &value))
		return false;
	*ret = (uint32_t)value;
	return true;
}

bool pg_time(const struct pg_rows *result, size_t row, size_t column, int64_t *ret_us)
{
	size_t len;
	const char *bytes = field(result, row, column, &len);

	return bytes && pg_decode_time(bytes, len, ret_us);
}

const char *pg_text(const struct pg_rows *result, size_t row, size_t column, size_t *ret_len)
{
	size_t len = 0;
	const char *bytes = field(result, row, column, &len);

	if (bytes && ret_len)
		*ret_len = len;
	return bytes;
}

struct pg_rows *pg_made(size_t columns)
{
	struct pg_rows *result = xcalloc(1, sizeof(*result));

	result->columns = columns;
	return result;
}

struct pg_rows *pg_made_over(size_t columns, struct pg_spare **spare)
{
	struct pg_rows *result = pg_made(columns);

	if (!*spare)
		*spare = xcalloc(1, sizeof(**spare));
	result->own = **spare;
	result->spare = *spare;
	**spare = (struct pg_spare){ .cells = NULL };
	return result;
}

size_t pg_made_row(struct pg_rows *result)
{
	struct pg_spare *own = &result->own;
	size_t at = result->n * result->columns;

	if (own->cap < at + result->columns) {
		own->cap = (at + result->columns) * 2;
		own->cells = xrealloc(own->cells, own->cap, sizeof(*own->cells));
	}
	memset(&own->cells[at], 0xff, result->columns * sizeof(*own->cells));
	return result->n++;
}

/* Room for a value of that length, with its end. */
static char *made_value(struct pg_rows *result, size_t row, size_t column, size_t len)
{
	struct pg_spare *own = &result->own;
	size_t at = result->len;

	if (own->room - at <= len) {
		own->room = (own->room + len) * 2 + 64;
		own->bytes = xrealloc(own->bytes, own->room, 1);
	}
	own->cells[row * result->columns + column] =
		(struct cell){ .at = (uint32_t)at, .len = (int32_t)len };
	result->len += len + 1;
	own->bytes[at + len] = '\0';
	return own->bytes + at;
}

void pg_made_int(struct pg_rows *result, size_t row, size_t column, int64_t value, size_t width)
{
	char *bytes = made_value(result, row, column, width);
	size_t i;

	for (i = 0; i < width; i++)
		bytes[i] = (char)((uint64_t)value >> 8 * (width - 1 - i));
}

void pg_made_time(struct pg_rows *result, size_t row, size_t column, int64_t us)
{
	if (us != INT64_MIN)
		pg_made_int(result, row, column, us - PG_EPOCH_US, 8);
}

void pg_made_text(struct pg_rows *result, size_t row, size_t column, const char *text)
{
	size_t len = text ? strlen(text) : 0;

	if (text)
		memcpy(made_value(result, row, column, len), text, len);
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
