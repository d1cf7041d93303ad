#ifndef SOURCE_POSTGRES_ACT_H
#define SOURCE_POSTGRES_ACT_H

#include "base/str.h"
#include "io/pg.h"
#include "model/plan.h"
#include "source/postgres-key.h"

struct postgres;
struct round;

/* The inside of PostgreSQL's verbs, for their own files (postgres-act*.c) and tests. */

enum {
	PG_TARGET_VALUES = 7,
	PG_VALUE_MAX = 48,
	PG_NAME_SHOWN = 128,
	PG_CHANNEL_MAX = 63,  /* bytes of a channel's name: NAMEDATALEN - 1 */
	PG_PAYLOAD_MAX = 7999 /* bytes of a payload (PostgreSQL's manual, NOTIFY) */
};

/*
 * What an order is about: the session or prepared transaction, and the very lock row, as they were
 * on the screen. value[] are the parameters of every guarded statement: $1 pid, $2 backend_start,
 * $3 database, $4 classid, $5 objid, $6 objsubid, $7 granted. For a prepared transaction $1 is its
 * global id and $2 when it was prepared.
 */
struct pg_target {
	struct pg_key key;
	uint32_t database; /* oid */
	bool granted, prepared;
	bool hidden; /* backend_start isn't shown to us: no identity */
	int64_t pid, since_us;
	struct str gid;            /* raw */
	const struct claim *claim; /* of the order's singleton; NULL: it has none of that key */
	char text[PG_TARGET_VALUES][PG_VALUE_MAX];
	const char *value[PG_TARGET_VALUES];
};

/* False when the order's key is none of PostgreSQL's, or its singleton is no lock. To be released
 * in any case. */
bool pg_target_read(const struct order *order, struct pg_target *ret);
void pg_target_release(struct pg_target *t);

/* The lock row of the target, as a condition on the row `l` of pg_locks. */
#define PG_LOCK_IS                                                                   \
	"l.locktype = 'advisory' AND l.database = $3::oid AND l.classid = $4::oid\n" \
	"   AND l.objid = $5::oid AND l.objsubid = $6::int2 AND l.granted = $7::bool"

/*
 * The guard of every statement that acts on a session: the pid, the moment when its session began,
 * and the lock row, compared by the server in the statement that acts. `a` is pg_stat_activity.
 */
#define PG_GUARD                                                          \
	"  FROM pg_stat_activity a\n"                                     \
	" WHERE a.pid = $1::int4 AND a.backend_start = $2::timestamptz\n" \
	"   AND a.pid <> pg_backend_pid()\n"                              \
	"   AND EXISTS (SELECT FROM pg_locks l WHERE l.pid = a.pid AND " PG_LOCK_IS ")"

/* The transaction that is prepared under $1 since $2 and holds the lock; `p` is pg_prepared_xacts.
 * Its locks have no pid; see postgres-sql.c for how they are told. */
#define PG_PREPARED_GUARD                                                                     \
	"  FROM pg_prepared_xacts p\n"                                                        \
	" WHERE p.gid = $1::text AND p.prepared = $2::timestamptz\n"                          \
	"   AND EXISTS (SELECT FROM pg_locks x JOIN pg_locks l\n"                             \
	"                 ON l.virtualtransaction = x.virtualtransaction AND l.pid IS NULL\n" \
	"                WHERE x.pid IS NULL AND x.locktype = 'transactionid'\n"              \
	"                  AND x.transactionid = p.transaction AND " PG_LOCK_IS ")"

/* A boolean of an answer, false where it is absent; a number, 0 where it is absent. */
bool pg_flag(const struct pg_rows *rows, size_t row, size_t column);
int64_t pg_number(const struct pg_rows *rows, size_t row, size_t column);

/* Texts of the server, sanitised; "" where there is none. out is cleared first. */
const char *pg_shown(
	struct str *out, const struct pg_rows *rows, size_t row, size_t column, size_t most);

/* Adds a raw text as a literal, as it is shown: sanitised, each quote twice. */
void pg_shown_literal(struct str *out, const char *raw);

/* Makes one text of the statement and its parameters. */
void pg_request_text(char **to, const char *sql, const char *const *values, size_t n);

/* ---- what is asked, and in which columns it is answered ---- */

/* One row for the pid, whoever's it is now. */
enum session_column {
	S_START,
	S_HIDDEN,
	S_USER,
	S_STATE,
	S_STATE_CHANGE,
	S_QUERY_START,
	S_QUERY,
	S_TYPE,
	S_XACT_START,
	S_WROTE,
	S_SUPERUSER,
	S_MEMBER,
	S_NOW,
	S_HAS_GRANTED,
	S_HAS_WAITING,
	S_OTHER_LOCKS,
	S_CONCURRENTLY,
	S_SAME_CLIENT,
	SESSION_COLUMNS
};

extern const char pg_sql_session[];

/* The server's side of it: a standby, the lock's database, what we may call. */
enum place_column {
	P_RECOVERY,
	P_DATABASE,
	P_ALLOWS,
	P_CONNECT,
	P_EXECUTE,
	PLACE_COLUMNS
};

extern const char pg_sql_place[];

enum queue_column {
	Q_PID,
	Q_GRANTED,
	Q_SHARE,
	Q_NAME,
	Q_BLOCKERS,
	Q_WAITERS,
	QUEUE_COLUMNS
};

extern const char pg_sql_queue[];

enum other_column {
	O_DATABASE,
	O_CLASSID,
	O_OBJID,
	O_OBJSUBID,
	O_GRANTED,
	O_ALL, /* how many there are */
	OTHER_COLUMNS
};

extern const char pg_sql_others[];

enum prepared_column {
	X_OWNER,
	X_SAME_DATABASE,
	X_OWN,
	X_VIRTUALTRANSACTION,
	X_NOW,
	X_OTHER_LOCKS,
	X_DATABASE,
	PREPARED_COLUMNS
};

extern const char pg_sql_prepared[];

enum look_column {
	L_THERE,
	L_LOCK,
	L_ACTIVE,
	L_QUERY_START,
	L_SAME,
	L_SAME_ACTIVE,
	LOOK_COLUMNS
};

extern const char pg_sql_look[];

/* One column each: the blockers of a pid, separated by commas; whether it is there still. */
extern const char pg_sql_blockers[], pg_sql_look_prepared[];

/* ---- postgres-act-queue.c ---- */

/* The queue of a lock, and who is next when the target is gone. */
struct pg_queue {
	struct pg_rows *rows; /* NULL: not read */
	size_t n_waiters, n_other_holders;
	int64_t next;       /* the row of who is next; -1: nobody, or not known */
	size_t n_next;      /* that many get it at once (share mode) */
	struct str holders; /* the other holders, named */
};

int pg_queue_read(struct postgres *p, const struct pg_target *t, const struct pg_limit *limit,
	struct pg_queue *ret, struct err *err);
void pg_queue_release(struct pg_queue *q);
/* Who holds it now, in words. */
void pg_queue_tell(const struct pg_queue *q, struct str *out);

/* Who is next, and in what time; and whether the holder is blocked by its own waiter. */
int pg_plan_queue(struct postgres *p, struct round *r, const struct pg_target *t, struct plan *plan,
	struct err *err);
/* The other advisory locks that go with it. virtualtransaction: of a prepared transaction; NULL. */
int pg_plan_others(struct postgres *p, struct round *r, const struct order *order,
	const struct pg_target *t, const char *virtualtransaction, struct plan *plan,
	struct err *err);

/* ---- postgres-act-plan.c, postgres-act-prepared.c: what it costs ---- */

/* Reads the session again and compares; what it costs goes into the plan. */
int pg_plan_session(struct postgres *p, struct round *r, const struct order *order,
	const struct pg_target *t, struct plan *plan, struct err *err);
int pg_plan_prepared(struct postgres *p, struct round *r, const struct order *order,
	const struct pg_target *t, struct plan *plan, struct err *err);
/* ---- postgres-act-send.c ---- */

int pg_send_signal(struct postgres *p, struct round *r, const struct order *order,
	const struct pg_target *t, const struct plan *plan, struct effect *effect, struct err *err);
int pg_send_rollback(struct postgres *p, struct round *r, const struct pg_target *t,
	const struct plan *plan, struct effect *effect, struct err *err);
int pg_send_notify(struct postgres *p, struct round *r, const struct order *order,
	const struct pg_target *t, const struct plan *plan, struct effect *effect, struct err *err);

/* The statement that each verb sends, with the guard. */
extern const char pg_sql_terminate[], pg_sql_cancel[], pg_sql_notify[], pg_sql_rollback[];

/*
 * The payload of the request to step down (doc/step-down.md): one JSON object in ASCII, shorter
 * than PG_PAYLOAD_MAX.
 */
void pg_step_down_payload(struct str *out, const struct order *order, const struct pg_target *t);

/* ---- postgres-act-look.c ---- */

int pg_look(struct postgres *p, struct round *r, const struct order *order,
	const struct pg_target *t, const struct plan *plan, struct sight *sight, struct err *err);

#endif
