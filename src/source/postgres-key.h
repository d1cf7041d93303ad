#ifndef SOURCE_POSTGRES_KEY_H
#define SOURCE_POSTGRES_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct key_name;
struct str;

/*
 * An advisory lock's key as pg_locks tells it (PostgreSQL's manual, "pg_locks"): objsubid 1 is one
 * bigint, whose high half is classid and whose low half is objid; objsubid 2 is a pair of integers.
 * The two spaces never meet, and neither do two databases.
 */
struct pg_key {
	uint32_t classid, objid;
	int16_t objsubid;
};

enum {
	KEY_BIGINT = 1,
	KEY_PAIR = 2
};

struct pg_key pg_key_bigint(int64_t value);
struct pg_key pg_key_pair(int32_t first, int32_t second);
bool pg_key_equal(struct pg_key a, struct pg_key b);

/* The bigint, of a KEY_BIGINT; the halves of a pair, signed. */
int64_t pg_key_value(struct pg_key key);
int32_t pg_key_first(struct pg_key key);
int32_t pg_key_second(struct pg_key key);

/* "-42" or "(7,-9)"; a kind of key that this doesn't know is "objsubid:classid:objid". */
void pg_key_write(struct str *out, struct pg_key key);

/* Reads "-42", "7,-9" or "(7,-9)"; false when it is neither, or too large for its type. */
bool pg_key_read(const char *s, struct pg_key *ret);

/*
 * A path as in ids, "DATABASE:KEY", taken apart at its last colon; a text without a colon is a key
 * of any database. *ret_database_len is the length of the name within path, 0 where none is said.
 */
bool pg_key_read_path(const char *path, size_t *ret_database_len, struct pg_key *ret);

/* A name that the operator gave, with the key that its recipe makes. */
struct pg_named {
	const struct key_name *name;
	char *database; /* NULL: any */
	bool known;     /* false: hashtext, which only the server can compute, wasn't asked yet */
	struct pg_key key;
};

/*
 * Makes the key of a name where that needs no server: everything but hashtext. ERR_CONFIG says what
 * is wrong with the value. Hashes of 32 bits make the bigint that the usual cast makes of them:
 * crc32 is positive, hashtext signed. md5 takes the first 8 bytes as a signed bigint, as ('x' ||
 * substr(md5(s), 1, 16))::bit(64)::bigint does. ret->database is the caller's to free.
 */
int pg_named_make(const struct key_name *name, struct pg_named *ret, struct err *err);

#endif
