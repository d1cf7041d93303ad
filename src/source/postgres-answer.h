#ifndef SOURCE_POSTGRES_ANSWER_H
#define SOURCE_POSTGRES_ANSWER_H

#include "base/str.h"
#include "source/postgres-key.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct draft;
struct postgres;
struct pg_rows;

/* An answer to the poll's query, taken apart: its locks in the order of keys, its sessions and
 * databases by number. */
struct pg_lock {
	uint32_t database; /* oid */
	struct pg_key key;
	bool share, granted;
	int32_t pid;   /* 0: a prepared transaction */
	int64_t since; /* waiters: waitstart; INT64_MAX: not known */
	uint32_t row;
};

struct pg_numbered {
	int64_t number; /* pid, oid */
	uint32_t row;
	uint64_t hash; /* of the whole row */
};

struct pg_numbers {
	struct pg_numbered *items;
	size_t n, cap;
};

struct pg_answer {
	const struct pg_rows *result; /* borrowed */
	struct pg_lock *locks;
	size_t n_locks, cap_locks;
	struct pg_numbers sessions, databases;
};

/* A row that can't be read (a field too short, too long) is passed over. */
void pg_answer_read(struct pg_answer *a, const struct pg_rows *result);
void pg_answer_release(struct pg_answer *a);

/* The session of a pid, the database of an oid; NULL when it isn't in the answer. */
const struct pg_numbered *pg_answer_find(const struct pg_numbers *list, int64_t number);

/* The order of database, kind of key, key; 0 when it is the same lock. */
int pg_lock_compare_keys(const struct pg_lock *x, const struct pg_lock *y);

/* Everything that a row of the answer holds, mixed into a hash; equal facts give equal hashes. */
uint64_t pg_answer_hash_row(const struct pg_rows *result, size_t row, uint64_t hash);

/* Whether a session's row shows no more than we may see of it. */
bool pg_row_is_hidden(const struct pg_rows *result, size_t row);

/* Who claims: scratch for pg_claim_tell, which keeps the last one. */
struct pg_who {
	struct str identity, key;
	const struct pg_numbered *session; /* whose they are; NULL: nobody's that comes again */
};

void pg_who_init(struct pg_who *who);
void pg_who_release(struct pg_who *who);

/* Adds the claim of a lock row to the draft, with its details (postgres-claim.c). */
void pg_claim_tell(const struct postgres *p, struct draft *d, const struct pg_answer *a,
	const struct pg_lock *lock, struct pg_who *who);

#endif
