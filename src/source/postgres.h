#ifndef SOURCE_POSTGRES_H
#define SOURCE_POSTGRES_H

#include "source/act.h"
#include "source/postgres-key.h"
#include "io/pg.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct report;
struct round;
struct source_config;

/* The inside of the source of kind "postgres", for its own files (postgres-*.c) and their tests. */

/*
 * How far the connection can be trusted to stay with one session of the server. Through a pooler
 * nothing may be set that outlives a transaction: it would fall to whoever gets that session next.
 */
enum pooling {
	POOLING_NONE,        /* the process id that was told is the one that answers: no pooler */
	POOLING_TRANSACTION, /* a pooler: each poll is one read-only transaction, settings by SET
				LOCAL */
	POOLING_STATEMENT,   /* a pooler that allows no transactions: bare SELECTs */
};

/* What one connection knows of its server; texts are raw. */
struct pg_facts {
	char *text; /* version() */
	char *database, *role, *encoding;
	char *client; /* our own address, or the pooler's, as the server sees it; "": a socket */
	int version;  /* server_version_num */
	int64_t read_at_ms;                                          /* our monotonic clock */
	int64_t capacity, keepalive_ms, system_identifier, timeline; /* TIME_UNKNOWN: not known */
	bool read_only, in_recovery;
	bool superuser, reads_all, signals;
	bool control_refused; /* system identifier and timeline may not be read */
};

struct postgres {
	const struct source_config *config;
	/* How to connect, in place of the options' conninfo: to a server within the program; NULL.
	 * database: in place of the usual one; NULL. */
	int (*connect)(void *arg, const char *database, struct pg **ret_pg, struct err *err);
	void *connect_arg;
	char *databases; /* the option as an array of text; NULL: all */
	struct pg *pg;   /* NULL: not connected */
	enum pooling pooling;
	bool no_transactions; /* the pooler refused one; kept from one connection to the next */
	int last_pid;         /* the server's process that answered last; 0: none yet */
	bool pid_changed; /* two polls were answered by two processes: a pooler, in transaction mode
			   */
	bool prepared[2]; /* each of poll_sql */
	uint64_t asked[2];
	bool pretends; /* only resembles PostgreSQL: no advisory locks, or no views to see them */
	struct pg_facts facts;
	struct pg_named *named;
	size_t n_named;
	char *poll_sql[2];    /* as the rows come; in order of importance */
	bool ordered;         /* the server has more rows than are read */
	struct pg_told *told; /* what the last picture was made of (postgres-picture.c), in the
				 order of keys */
	size_t n_told;
	uint64_t told_frame; /* databases and names, by which paths are made; 0: tell everything
				anew */
	uint64_t seen_requests, seen_in, seen_out; /* of this connection, told already */
};

/* What the poll's own row says. */
struct pg_moment {
	int64_t pid, total; /* total: advisory rows in the server */
	int64_t server_us;  /* TIME_UNKNOWN */
	int64_t read_us;    /* our wall clock when the answer came */
	int64_t round_trip_ms;
	bool in_recovery;
	size_t n_rows;   /* lock rows that came */
	size_t n_hidden; /* sessions of which only the pid and the name are shown */
	size_t n_sessions;
};

/* Names and databases from the options (postgres.c); released also after an error. */
int postgres_init(struct postgres *p, const struct source_config *config, struct err *err);
void postgres_release(struct postgres *p);
/* The whole of a poll; state is a struct postgres. */
int postgres_poll(void *state, struct round *r, struct err *err);

/* Reads the server's facts (postgres-facts.c), on a new connection or again. */
int postgres_facts_read(struct postgres *p, const struct pg_limit *limit, struct err *err);
void postgres_facts_release(struct pg_facts *facts);
/* Tells the source's own singleton, the version, and what is hidden. moment may be NULL. */
void postgres_facts_tell(struct postgres *p, struct round *r, const struct pg_moment *moment);

/*
 * Turns an answer to the poll's query into singletons, and puts them (postgres-picture.c): all of
 * them the first time on a connection, then those that changed. Fills moment's counts. The answer
 * has all COLUMNS.
 */
void postgres_picture_tell(struct postgres *p, struct round *r, const struct pg_rows *result,
	struct pg_moment *moment);
/* Makes the next picture a whole one. */
void postgres_picture_forget(struct postgres *p);
/* The server's row alone; false when there is none. */
bool postgres_moment_read(const struct pg_rows *result, struct pg_moment *moment);

/*
 * The password of the options, NULL where they name none; read anew for each connection, since
 * files are rotated. The caller wipes and frees it.
 */
int postgres_password(const struct source_config *config, char **ret_password, struct err *err);

/* The round's deadline and wake descriptor, as io/pg.h takes them. */
struct pg_limit postgres_limit(struct round *r);
/* Connects and prepares the session, where that isn't done (postgres-session.c). */
int postgres_session_open(struct postgres *p, const struct pg_limit *limit, struct err *err);
void postgres_session_close(struct postgres *p);
/*
 * A second session, in a database of the caller's choice, with the same settings; the caller closes
 * it. Only for what works in one database alone (NOTIFY, ROLLBACK PREPARED), and not through a
 * pooler.
 */
int postgres_session_beside(struct postgres *p, const char *database, const struct pg_limit *limit,
	struct pg **ret_pg, struct err *err);
/* Asks the poll's query, in whatever wrapping the pooling needs. */
int postgres_session_ask(struct postgres *p, const struct pg_limit *limit,
	struct pg_rows **ret_result, struct err *err);

/*
 * Asks the poll's query, and asks again for the rows that matter most where there are more than are
 * read. Fills the moment, but for its counts. The caller frees the result.
 */
int postgres_ask(struct postgres *p, struct round *r, const struct pg_limit *limit,
	struct pg_rows **ret_result, struct pg_moment *moment, struct err *err);

/* What it can do (postgres-act.c). */
extern const struct act_case postgres_acts[];
enum {
	POSTGRES_ACTS = 3
};

/* For `baton doctor` (postgres-examine.c). */
int postgres_examine(void *state, struct round *r, struct report *report, struct err *err);

#endif
