#ifndef SIM_POSTGRES_RECIPE_H
#define SIM_POSTGRES_RECIPE_H

#include "sim/postgres-client.h"
#include "sim/work.h"

/*
 * What clients of PostgreSQL do, as programs of a process: one that works while it has an advisory
 * lock, and one that does something else in its session.
 */
enum simpg_belief {
	SIMPG_BELIEVES_CHECKED, /* that it leads, until a check of its session fails */
	SIMPG_BELIEVES_FOREVER  /* for ever, whatever becomes of its session */
};

/* Of one who waits in the queue (pg_advisory_lock), or asks again and again (pg_try_advisory_lock).
 */
struct simpg_locker {
	struct program program; /* first */
	struct simpg_client client;
	struct duty *duty; /* NULL: it only holds the lock */
	/* how it does it */
	bool tries;
	int64_t key; /* classid << 32 | objid */
	int flags;   /* enum simpg_flags: share, transaction, pair */
	enum simpg_belief belief;
	int64_t every_ms;        /* between two tries, and before it connects again */
	int64_t checks_ms;       /* between two looks at its session (SELECT 1); 0: never */
	int64_t lock_timeout_ms; /* lock_timeout; 0: none */
	int64_t hold_ms;         /* then it lets go; 0: never by itself */
	int64_t again_ms;        /* it comes again after so long; -1: it is done, and disconnects */
	bool ends;               /* done, its process ends */
	char channel[SIMPG_NAME_MAX]; /* it can be asked there to step down; "" */
	char gid[SIMPG_GID_MAX]; /* it prepares its transaction under that name, and disconnects */
	/* while it has the lock it executes that, for so long; 0: nothing */
	int64_t build_ms;
	char build[NET_TEXT_MAX];
	int build_flags;
	int64_t build_began_ms; /* by the world's clock */
	/* how it is with it */
	bool holds, leads, asked_to_go, done, in_block;
	uint32_t turn; /* rises when it lets go or starts anew, so that a timer knows its own */
	int last_error;
	uint64_t stray_unlocks;
};

/* Of one who uses its session for something else. */
struct simpg_user {
	struct program program; /* first */
	struct simpg_client client;
	char query[NET_TEXT_MAX];
	int flags;
	int64_t runs_ms;  /* how long the query takes */
	int64_t every_ms; /* between two of them; -1: one only, then it sits */
	int64_t retry_ms;
	bool block; /* in a transaction that stays open */
	int last_error;
	uint64_t done;
};

/* New programs with a client's defaults, given to the process. */
struct simpg_locker *simpg_locker_new(struct process *p);
struct simpg_user *simpg_user_new(struct process *p);

#endif
