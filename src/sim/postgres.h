#ifndef SIM_POSTGRES_H
#define SIM_POSTGRES_H

#include "sim/net.h"

/*
 * A PostgreSQL of the built-in world: sessions, advisory locks, prepared transactions, standbys. It
 * behaves as PostgreSQL's manual says in "Explicit Locking" (advisory locks), "pg_locks",
 * "pg_stat_activity", "Server Signaling Functions", "PREPARE TRANSACTION", "Log-Shipping Standby
 * Servers"; where the manual is silent, as the lock manager of its source does
 * (src/backend/storage/lmgr: README, lock.c, proc.c, deadlock.c).
 *
 * A server has a process of its own, hidden, on its machine: pausing, killing or stopping that
 * process does so to the server.
 */
struct simpg_lock;
struct simpg_pooler;
struct simpg_server;

enum {
	SIMPG_NAME_MAX = 64, /* NAMEDATALEN */
	SIMPG_QUERY_MAX = 200,
	SIMPG_GID_MAX = 200,
	SIMPG_SLOTS_MOST = 65536
};

/* A lock's key as pg_locks tells it: objsubid 1 is one bigint, 2 a pair of integers. */
struct simpg_key {
	uint32_t database; /* oid */
	uint32_t classid, objid;
	int objsubid;
};

struct simpg_key simpg_bigint(uint32_t database, int64_t value);
struct simpg_key simpg_pair(uint32_t database, int32_t first, int32_t second);
/* Reads "-42", "7,-9" or "(7,-9)"; false when it is neither. */
bool simpg_key_read(const char *s, uint32_t database, struct simpg_key *ret);
/* Writes it as ids have it. */
enum {
	SIMPG_KEY_TEXT = 32
};
void simpg_key_write(char buf[SIMPG_KEY_TEXT], const struct simpg_key *key);

enum simpg_mode {
	SIMPG_SHARE,
	SIMPG_EXCLUSIVE,
	SIMPG_MODES
};

enum simpg_level {
	SIMPG_SESSION,
	SIMPG_TRANSACTION,
	SIMPG_LEVELS
};

/* One key held by one session or prepared transaction, which may have taken it several times. */
struct simpg_hold {
	struct simpg_lock *lock;
	struct simpg_owner *owner;
	uint32_t count[SIMPG_MODES][SIMPG_LEVELS];
	struct simpg_hold *next_of_lock, *next_of_owner;
};

bool simpg_hold_has(const struct simpg_hold *h, enum simpg_mode mode);

struct simpg_owner {
	bool prepared;
	struct simpg_hold *holds;
};

struct simpg_lock {
	struct simpg_key key;
	struct simpg_hold *holds;
	struct simpg_session *queue; /* who waits, in the order in which they will be served */
	struct simpg_lock *in_bucket, *next, *prev;
};

struct simpg_prepared {
	struct simpg_owner owner;
	char gid[SIMPG_GID_MAX], user[SIMPG_NAME_MAX];
	uint32_t database, xid;
	int64_t prepared_us, committed_ms; /* the latter by the world's clock: for a standby */
	struct simpg_prepared *next;
};

enum simpg_state {
	SIMPG_IDLE,
	SIMPG_ACTIVE,
	SIMPG_IN_TRANSACTION, /* idle in transaction */
	SIMPG_ABORTED         /* idle in transaction (aborted) */
};

const char *simpg_state_word(enum simpg_state state);

struct simpg_session {
	struct simpg_owner owner;
	struct simpg_server *server;
	size_t slot;
	int64_t handle; /* no other session of the server has it; its low 16 bits are the slot */
	int pid;
	int64_t start_us; /* backend_start, by the server's clock; as all _us here */
	char user[SIMPG_NAME_MAX], application[SIMPG_NAME_MAX], client[48];
	uint32_t database;
	struct process *process; /* of its client; of a pooler's: of whom it serves now; NULL */
	uint32_t life;
	struct simpg_pooler *pooler;
	bool busy; /* of a pooler's: given to a client */
	enum simpg_state state;
	int64_t state_us, query_us, xact_us; /* 0: none */
	char query[SIMPG_QUERY_MAX];
	bool block;        /* in a transaction block (BEGIN) */
	bool wrote;        /* has a transaction id */
	bool concurrently; /* executes CREATE INDEX CONCURRENTLY */
	bool waits_for_older;
	bool orphaned;  /* its client is gone, which it learns when its statement ends */
	bool half_open; /* its client is gone or can't be heard, and nobody told the server */
	char channel[SIMPG_NAME_MAX]; /* it LISTENs there; "" */
	net_told *listener;           /* who is told of a NOTIFY; NULL */
	void *listener_who;
	struct net_call *call; /* to be answered when the statement ends; NULL */
	int64_t statement;     /* no other statement of the server has that number; 0: none */
	int64_t heard_ms;      /* the last word of its client, by the world's clock */
	/* what it waits for: */
	struct simpg_lock *waits; /* NULL: no lock */
	enum simpg_mode wait_mode;
	enum simpg_level wait_level;
	int64_t wait_us;
	int vxid_pid;          /* the end of that session's transaction; 0: none */
	int64_t vxid_until_us; /* of those that began before that */
	struct simpg_session *next_waiter;
};

/* Calls that can't be served yet; whoever waits too long for one runs into its timeout. */
struct simpg_waiting {
	struct net_call **calls;
	int64_t *numbers;
	size_t n, cap, cap_numbers;
	int64_t last;
};

/* Keeps a call; false, as net_serve returns it. */
bool simpg_waiting_add(struct world *w, struct simpg_waiting *list, struct net_call *call);
/* Takes the first out; NULL. */
struct net_call *simpg_waiting_take(struct simpg_waiting *list);
void simpg_waiting_release(struct simpg_waiting *list);

struct simpg_database {
	char name[SIMPG_NAME_MAX];
	uint32_t oid;
};

enum {
	SIMPG_DATABASES_MOST = 16
};

struct simpg_server {
	struct thing thing;
	struct process *process;      /* its own */
	struct simpg_server *primary; /* it is, or was, a standby of that one; NULL */
	bool in_recovery;
	int64_t lag_ms; /* of a standby: so far behind is what it has */
	int64_t promoted_ms;
	int64_t system_identifier;
	int timeline;
	int version; /* server_version_num */
	int port;
	char channel[SIMPG_NAME_MAX]; /* on which the console asks holders to step down; "" */
	size_t max_connections, n_sessions;
	int64_t deadlock_ms, keepalive_ms;
	int64_t client_check_ms; /* client_connection_check_interval; 0: never */
	struct simpg_database databases[SIMPG_DATABASES_MOST];
	size_t n_databases;
	struct simpg_session **slots; /* by slot; NULL: free */
	size_t n_slots, free_slot;    /* highest ever used; where a free one may be */
	struct simpg_lock **buckets, *locks, *last_lock;
	size_t n_buckets, n_locks;
	struct simpg_prepared *prepared;
	struct simpg_waiting stalled; /* came while it was paused */
	size_t vxid_waiters;
	uint64_t shape; /* rises when somebody gets a lock, waits or leaves; the thing's version
			   also when a session merely did something */
	uint32_t next_xid;
	int last_pid;
	int64_t last_us, statements, handles;
};

extern const struct thing_ops simpg_ops;

/* ---- servers ---- */

/* Made, and its process (hidden, named as it is) started by process_start. */
struct simpg_server *simpg_new(struct world *w, const char *name, struct machine *machine);
struct simpg_server *simpg_find(const struct world *w, const char *name);
/* Adds a database, or finds it; 0: there are too many. */
uint32_t simpg_database(struct simpg_server *s, const char *name);
const char *simpg_database_name(const struct simpg_server *s, uint32_t oid);
/* Whether it runs and is not paused. */
bool simpg_answers(const struct simpg_server *s);
/* Its clock: microseconds since 1970; of two answers the later is the larger. */
int64_t simpg_now_us(struct world *w, struct simpg_server *s);
/* A machine's address, as a server sees it. */
void simpg_address(const struct world *w, const struct machine *m, char buf[48]);
/* A standby becomes a primary of the next timeline, and knows no advisory lock but of prepared
 * transactions that came to it ("Log-Shipping Standby Servers": locks are not replicated). The old
 * primary is not told, and lives on. */
void simpg_promote(struct world *w, struct simpg_server *s);

/* Its shape changed, and so did it. */
void simpg_changed(struct simpg_server *s);

/* ---- sessions ---- */

/* The session of a pid; NULL. */
struct simpg_session *simpg_session(const struct simpg_server *s, int pid);
/* The next in the order of slots after one, or the first (NULL); NULL at the end. */
struct simpg_session *simpg_each(const struct simpg_server *s, const struct simpg_session *after);
/* As pg_terminate_backend and pg_cancel_backend do. A cancel of what executes nothing does nothing.
 */
void simpg_terminate(struct world *w, struct simpg_session *s);
void simpg_cancel(struct world *w, struct simpg_session *s);
/* NOTIFY: everybody who listens on that channel of that database is told; pid and start are what
 * the payload says. */
void simpg_notify(struct world *w, struct simpg_server *s, uint32_t database, const char *channel,
	int64_t pid, int64_t start_us);
/* false: there is none of that name. */
bool simpg_rollback_prepared(struct world *w, struct simpg_server *s, const char *gid);
/* The sessions that block one, as pg_blocking_pids: pids into list, at most n; a prepared
 * transaction is 0. Returns how many. */
size_t simpg_blockers(const struct simpg_session *s, int *list, size_t n);

/* For postgres*.c alone: */
struct simpg_session *simpg_open_session(struct world *w, struct simpg_server *s, const char *user,
	uint32_t database, const char *application, const char *client);
/* Ends it and lets go of all it had; a statement of it fails with that error. */
void simpg_close_session(struct world *w, struct simpg_session *s, int error);
void simpg_statement_begin(
	struct world *w, struct simpg_session *s, struct net_call *call, const char *query);
/* error 0: it ended well, with that value. */
void simpg_statement_end(struct world *w, struct simpg_session *s, int error, int64_t value);
/* The session of a handle; NULL: it ended. */
struct simpg_session *simpg_handle(const struct simpg_server *s, int64_t handle);
/* The session of a statement that is not over; NULL. */
struct simpg_session *simpg_statement(const struct simpg_server *s, int64_t statement);
/* Its statement fails with that error. */
void simpg_fail(struct world *w, struct simpg_session *s, int error);
/* Its statement has done its work: it ends, or waits for transactions that are older than this
 * moment ("Building Indexes Concurrently"). */
void simpg_run_over(struct world *w, struct simpg_session *s, bool waits);
/* When a wait begins: after deadlock_timeout it is looked for a cycle. */
void simpg_waits(struct world *w, struct simpg_session *s);
/* It waits for one of those (vxid_pid), or for none any more. */
void simpg_wait_for_vxids(struct simpg_session *s);
/* Its client is gone; told: by its machine's kernel (the connection is closed). */
void simpg_client_gone(struct world *w, struct simpg_session *s, bool told);
/* From now on its client is given up when it is silent for too long. */
void simpg_watch_client(struct world *w, struct simpg_session *s);
/* A word for the true story about a lock: "orders-db app:1000". */
const char *simpg_lock_name(
	const struct simpg_server *s, const struct simpg_key *key, char *buf, size_t size);

/* ---- locks (postgres-lock.c) ---- */

enum simpg_got {
	SIMPG_GOT,
	SIMPG_QUEUED,
	SIMPG_NOT,     /* somebody else has it: of a try */
	SIMPG_DEADLOCK /* found at once */
};

enum simpg_got simpg_take(struct world *w, struct simpg_session *s, const struct simpg_key *key,
	enum simpg_mode mode, enum simpg_level level, bool wait);
/* pg_advisory_unlock: false when this session did not hold it so. */
bool simpg_give(struct world *w, struct simpg_session *s, const struct simpg_key *key,
	enum simpg_mode mode);
/* All of a session's (pg_advisory_unlock_all), or all of its transaction. */
void simpg_give_all(struct world *w, struct simpg_session *s, enum simpg_level level);
void simpg_give_prepared(struct world *w, struct simpg_server *server, struct simpg_prepared *p);
/* It no longer waits. */
void simpg_stop_waiting(struct world *w, struct simpg_session *s);
/* Whether it is part of a cycle of waiting. */
bool simpg_deadlocked(const struct simpg_session *s);
/* Moves the transaction's locks to a prepared one; false when a key is held for session and
 * transaction at once ("PREPARE TRANSACTION"). */
bool simpg_move_holds(struct simpg_session *s, struct simpg_prepared *to);
void simpg_copy_holds(
	struct simpg_server *to, const struct simpg_prepared *from, struct simpg_prepared *copy);
struct simpg_lock *simpg_lock_find(const struct simpg_server *s, const struct simpg_key *key);
void simpg_locks_free(struct simpg_server *s);

/* ---- what a client asks (postgres-call.c) ---- */

/* a: the session's handle, which connecting gave. */
enum simpg_op {
	SIMPG_CONNECT, /* who: a struct simpg_login; value: the handle, value2: the pid */
	SIMPG_CLOSE,
	SIMPG_LOCK,   /* b: classid << 32 | objid; c: lock_timeout in ms << 8 | flags; value: 1 */
	SIMPG_TRY,    /* the same; value: 1 or 0 */
	SIMPG_UNLOCK, /* the same; value: 1 or 0 */
	SIMPG_BEGIN,
	SIMPG_COMMIT,
	SIMPG_PREPARE, /* text: the gid */
	SIMPG_LISTEN,  /* text: the channel */
	SIMPG_RUN      /* b: so many ms; c: flags; text: the query */
};

enum simpg_flags {
	SIMPG_FLAG_SHARE = 1,
	SIMPG_FLAG_TRANSACTION = 2,
	SIMPG_FLAG_PAIR = 4,
	SIMPG_FLAG_CONCURRENTLY = 8, /* CREATE INDEX CONCURRENTLY: cut off, it leaves an invalid
					index */
	SIMPG_FLAG_OLDER = 16,       /* and at its end it waits for older transactions */
	SIMPG_FLAG_WRITES = 32
};

/* Why a statement failed (the value of NET_FAILED), by its SQLSTATE in the manual's "Error Codes".
 */
enum simpg_error {
	SIMPG_OK,
	SIMPG_LOST,          /* the connection is closed */
	SIMPG_TERMINATED,    /* 57P01 */
	SIMPG_CANCELED,      /* 57014 */
	SIMPG_DEADLOCKED,    /* 40P01 */
	SIMPG_LOCK_TIMEOUT,  /* 55P03 */
	SIMPG_FULL,          /* 53300 */
	SIMPG_READ_ONLY,     /* a standby, and a primary was asked for */
	SIMPG_NO_DATABASE,   /* 3D000 */
	SIMPG_ABORTED_BLOCK, /* 25P02 */
	SIMPG_NOT_PREPARED   /* 55000: can't be prepared */
};

/* How a client connects, as it says once: call->who of a SIMPG_CONNECT is one of these. */
struct simpg_login {
	char user[SIMPG_NAME_MAX], database[SIMPG_NAME_MAX], application[SIMPG_NAME_MAX];
	bool any;           /* also a standby (target_session_attrs=any) */
	net_told *listener; /* told of a NOTIFY: pid and backend_start of the payload; NULL */
};

net_serve simpg_serve;        /* call->server is the server's thing */
net_serve simpg_serve_pooler; /* the pooler's */
/* Executes a statement that came for a session; as net_serve. */
bool simpg_execute(struct world *w, struct simpg_session *s, struct net_call *call);

/* ---- poolers (postgres-pooler.c) ---- */

struct simpg_pooler {
	struct thing thing;
	struct machine *machine;
	struct simpg_server *server;
	bool transaction; /* pool_mode=transaction, else session */
	bool round_robin; /* server_round_robin=1: the session that rested longest; else the last */
	bool add_host;    /* application_name_add_host=1 */
	size_t size;      /* default_pool_size */
	int64_t *sessions; /* handles, in the order of their last use, the oldest first */
	size_t n_sessions;
	struct simpg_waiting queue; /* for a session */
};

extern const struct thing_ops simpg_pooler_ops;

/* At most `size` sessions on the server, for any number of clients. The world frees it. */
struct simpg_pooler *simpg_pooler_new(struct world *w, const char *name, struct machine *machine,
	struct simpg_server *server, size_t size);
/* A statement or transaction of its session is over: it may serve others. */
void simpg_pooler_rests(struct world *w, struct simpg_session *s);
/* A client of it ended. */
void simpg_pooler_client_gone(
	struct world *w, struct simpg_pooler *p, const struct process *client);
/* A session of it ended. */
void simpg_pooler_lost(struct simpg_session *s);

#endif
