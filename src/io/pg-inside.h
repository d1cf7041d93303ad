#ifndef IO_PG_INSIDE_H
#define IO_PG_INSIDE_H

#include "io/pg.h"

/*
 * A server within the program, of the built-in world: it answers statements as PostgreSQL does, in
 * the caller's thread and at once. Who speaks to it speaks by io/pg.h, as to any other.
 */
enum {
	PG_REFUSAL_MAX = 256
};

/* What the server said when it refused a statement, as PostgreSQL's ErrorResponse has it. */
struct pg_refusal {
	char sqlstate[6];
	char message[PG_REFUSAL_MAX];
};

struct pg_inside {
	const char *place, *user, *database; /* copied */
	int version, pid;
	void *arg;
	/*
	 * Answers one statement; values as in pg_query. 0 with rows in *ret_result (NULL where the
	 * statement has none); or a negative code: with refusal->sqlstate set the server refused,
	 * else the connection is lost, and err says how.
	 */
	int (*answer)(void *arg, const char *sql, const char *const *values, size_t n,
		struct pg_rows **ret_result, struct pg_refusal *refusal, struct err *err);
	bool (*lives)(void *arg); /* whether the connection is still there */
};

/* Never waits; pg_close ends it. */
struct pg *pg_inside_open(const struct pg_inside *inside);

struct pg_result; /* libpq's PGresult */
/* An answer of libpq's, which is taken over; NULL of NULL. */
struct pg_rows *pg_rows_of(struct pg_result *answer);

/* ---- answers, made by hand as PostgreSQL sends them: in binary ---- */

struct pg_rows *pg_made(size_t columns);
/*
 * The same over the blocks of the answer before, which is freed by then; *spare is NULL at first,
 * outlives the answer, and is freed by pg_spare_free. Large answers that are made every second then
 * take no new memory of the system each time.
 */
struct pg_spare;
struct pg_rows *pg_made_over(size_t columns, struct pg_spare **spare);
void pg_spare_free(struct pg_spare *spare);
/* A new row, all NULL; returns its number. */
size_t pg_made_row(struct pg_rows *result);
/* width: 1 (bool), 2, 4, 8 */
void pg_made_int(struct pg_rows *result, size_t row, size_t column, int64_t value, size_t width);
/* Microseconds since 1970; INT64_MIN leaves it NULL. */
void pg_made_time(struct pg_rows *result, size_t row, size_t column, int64_t us);
/* NULL leaves it NULL. */
void pg_made_text(struct pg_rows *result, size_t row, size_t column, const char *text);

#endif
