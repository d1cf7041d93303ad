#include "config.h"

#include "source/postgres-key.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "io/pg.h"
#include "source/source.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

struct pg_key pg_key_bigint(int64_t value)
{
	uint64_t bits = (uint64_t)value;

	return (struct pg_key){
		.classid = (uint32_t)(bits >> 32), .objid = (uint32_t)bits, .objsubid = KEY_BIGINT
	};
}

struct pg_key pg_key_pair(int32_t first, int32_t second)
{
	return (struct pg_key){
		.classid = (uint32_t)first, .objid = (uint32_t)second, .objsubid = KEY_PAIR
	};
}

bool pg_key_equal(struct pg_key a, struct pg_key b)
{
	return a.classid == b.classid && a.objid == b.objid && a.objsubid == b.objsubid;
}

int64_t pg_key_value(struct pg_key key)
{
	return (int64_t)((uint64_t)key.classid << 32 | key.objid);
}

int32_t pg_key_first(struct pg_key key)
{
	return (int32_t)key.classid;
}

int32_t pg_key_second(struct pg_key key)
{
	return (int32_t)key.objid;
}

void pg_key_write(struct str *out, struct pg_key key)
{
	if (key.objsubid == KEY_BIGINT)
		str_addf(out, "%" PRId64, pg_key_value(key));
	else if (key.objsubid == KEY_PAIR)
		str_addf(out, "(%" PRId32 ",%" PRId32 ")", pg_key_first(key), pg_key_second(key));
	else
		str_addf(out, "%d:%" PRIu32 ":%" PRIu32, key.objsubid, key.classid, key.objid);
}

/* Reads a decimal number, and moves *s behind it and the spaces around it. */
static bool read_number(const char **s, int64_t least, int64_t most, int64_t *ret)
{
	char *end;

	while (**s == ' ')
		(*s)++;
	if (!isdigit((unsigned char)**s) && **s != '-')
		return false;
	errno = 0;
	*ret = strtoll(*s, &end, 10);
	if (errno || end == *s || *ret < least || *ret > most)
		return false;
	while (*end == ' ')
		end++;
	*s = end;
	return true;
}

bool pg_key_read(const char *s, struct pg_key *ret)
{
	bool brackets = *s == '(';
	const char *p = s + brackets;
	int64_t first, second;

	if (!strchr(s, ',')) {
		if (!read_number(&s, INT64_MIN, INT64_MAX, &first) || *s)
			return false;
		*ret = pg_key_bigint(first);
		return true;
	}
	if (!read_number(&p, INT32_MIN, INT32_MAX, &first) || *p++ != ',')
		return false;
	if (!read_number(&p, INT32_MIN, INT32_MAX, &second))
		return false;
	if (brackets && *p++ != ')')
		return false;
	if (*p)
		return false;
	*ret = pg_key_pair((int32_t)first, (int32_t)second);
	return true;
}

bool pg_key_read_path(const char *path, size_t *ret_database_len, struct pg_key *ret)
{
	const char *colon = strrchr(path, ':');

	if (!pg_key_read(colon ? colon + 1 : path, ret))
		return false;
	*ret_database_len = colon ? (size_t)(colon - path) : 0;
	return true;
}

static bool md5_key(const char *text, struct pg_key *ret)
{
	char hex[33];

	if (!pg_md5(text, hex))
		return false;
	hex[16] = '\0';
	*ret = pg_key_bigint((int64_t)strtoull(hex, NULL, 16));
	return true;
}

static int literal_key(const char *value, struct pg_named *named, struct err *err)
{
	size_t len;

	if (!pg_key_read_path(value, &len, &named->key))
		return err_set(err, ERR_CONFIG,
			"names: the literal \"%s\" is no key of PostgreSQL: write DATABASE:NUMBER "
			"or "
			"DATABASE:(NUMBER,NUMBER)",
			value);
	if (len) {
		free(named->database);
		named->database = xstrndup(value, len);
	}
	return 0;
}

static int number_key(
	const char *recipe, const char *value, struct pg_named *named, struct err *err)
{
	bool pair = str_eq(recipe, "pair");

	if (pg_key_read(value, &named->key) &&
		named->key.objsubid == (pair ? KEY_PAIR : KEY_BIGINT))
		return 0;
	if (pair)
		return err_set(err, ERR_CONFIG,
			"names: \"%s\" is no pair of integers of 32 bits: write 7,-9", value);
	return err_set(err, ERR_CONFIG, "names: \"%s\" is no integer of 64 bits", value);
}

static int make_key(const struct key_name *name, struct pg_named *named, struct err *err)
{
	const char *value = name->value;

	if (str_eq(name->recipe, "hashtext")) {
		named->known = false;
		return 0;
	}
	if (str_eq(name->recipe, "literal"))
		return literal_key(value, named, err);
	if (str_eq(name->recipe, "bigint") || str_eq(name->recipe, "pair"))
		return number_key(name->recipe, value, named, err);
	if (str_eq(name->recipe, "crc32")) {
		named->key = pg_key_bigint(
			(int64_t)crc32(0, (const unsigned char *)value, (unsigned)strlen(value)));
		return 0;
	}
	if (!str_eq(name->recipe, "md5"))
		return err_set(
			err, ERR_CONFIG, "names: postgres knows no recipe \"%s\"", name->recipe);
	if (!md5_key(value, &named->key))
		return err_set(err, ERR_UNSUPPORTED,
			"names: this machine's TLS library refuses MD5 (FIPS): write the key of "
			"\"%s\" as "
			"a bigint",
			name->name);
	return 0;
}

int pg_named_make(const struct key_name *name, struct pg_named *ret, struct err *err)
{
	struct pg_named named = { .name = name, .known = true };
	int rc;

	named.database = name->database ? xstrdup(name->database) : NULL;
	rc = make_key(name, &named, err);
	if (rc)
		free(named.database);
	else
		*ret = named;
	return rc;
}
