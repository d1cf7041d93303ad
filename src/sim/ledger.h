#ifndef SIM_LEDGER_H
#define SIM_LEDGER_H

#include "sim/postgres.h"
#include "sim/work.h"

/*
 * Two tables of a database that many programs make for themselves. A lease is a row with an owner,
 * a time until which it is his, and a token that rises with each new owner; it is taken by
 *
 *   UPDATE leases SET owner = me, until = now() + ttl, token = token + (owner <> me)::int
 *    WHERE name = $1 AND (until < now() OR owner = me)
 *
 * whose now() is the server's, or the client's own where it writes the time itself. A ledger of
 * runs has a unique key over job and slot: INSERT ... ON CONFLICT (job, slot) DO NOTHING lets one
 * process do a slot, whoever else tries; nothing is elected, and nothing has to be given back.
 *
 * They are data: what a standby has received of them is there after its promotion, and what it had
 * not is lost.
 */
enum {
	SIM_LEDGER_RUNS = 40,    /* the newest of a job are kept */
	SIM_LEDGER_VERSIONS = 20 /* of a lease's row, for a standby that is behind */
};

struct sim_lease_row {
	char name[SIMPG_NAME_MAX], owner[SIMPG_NAME_MAX]; /* "": nobody */
	int64_t until_us, ttl_ms, token;
	bool own_clock; /* the owner's clock wrote until_us */
	int64_t written_ms;
	struct process *process;      /* of the owner */
	struct sim_lease_row *before; /* what stood there before written_ms; NULL: nothing */
	struct sim_lease_row *next;
};

struct sim_run_row {
	int64_t slot_us, start_us, end_us; /* end 0: not over */
	char who[SIMPG_NAME_MAX];
	int64_t written_ms, ended_ms;
	struct process *process;
	uint32_t life;
};

struct sim_job {
	char name[SIMPG_NAME_MAX];
	int64_t every_ms, takes_ms;               /* as its clients have it */
	struct sim_run_row runs[SIM_LEDGER_RUNS]; /* the newest first */
	size_t n_runs;
	uint64_t refused; /* inserts that found the slot taken */
	struct sim_job *next;
};

struct sim_ledger {
	struct thing thing;
	struct simpg_server *server;
	struct sim_ledger
		*of; /* the same tables on the primary whose standby the server is; NULL */
	bool copied;
	struct sim_lease_row *leases;
	struct sim_job *jobs;
};

extern const struct thing_ops sim_ledger_ops;

/* Tables on a server; of: the same tables on its primary where it is a standby, else NULL. The
 * world frees it. */
struct sim_ledger *sim_ledger_new(
	struct world *w, const char *name, struct simpg_server *server, struct sim_ledger *of);
struct sim_ledger *sim_ledger_find(const struct world *w, const char *name);
/* After a promotion: takes over what had come through. To be called before its rows are looked at.
 */
void sim_ledger_look(struct world *w, struct sim_ledger *l);
struct sim_lease_row *sim_lease_row(struct sim_ledger *l, const char *name);
struct sim_job *sim_ledger_job(struct sim_ledger *l, const char *name);
/* As an operator's guarded UPDATE does: owner NULL and until now(), where owner and token are still
 * those. Whether a row was changed. */
bool sim_lease_clear(
	struct world *w, struct sim_ledger *l, const char *name, const char *owner, int64_t token);

/* ---- their clients ---- */

enum sim_lease_belief {
	SIM_LEASE_BELIEVES_UNTIL,  /* until its own clock says that its time is over */
	SIM_LEASE_BELIEVES_FOREVER /* until a renewal is refused, however long that takes */
};

struct sim_leaser {
	struct program program;        /* first */
	struct sim_ledger *ledgers[2]; /* tried in turn */
	size_t n_ledgers, at;
	char lease[SIMPG_NAME_MAX];
	struct duty *duty; /* NULL: none */
	int64_t ttl_ms, every_ms;
	bool own_clock;
	enum sim_lease_belief belief;
	/* how it is */
	bool leads, asking;
	int64_t token, sent_ms, good_until_ms; /* by its monotonic clock */
	uint32_t turn;
};

struct sim_runner {
	struct program program; /* first */
	struct sim_ledger *ledgers[2];
	size_t n_ledgers, at;
	char job[SIMPG_NAME_MAX];
	struct duty *duty;
	struct resource *resource; /* written once for each slot that it does; NULL */
	int64_t every_ms, takes_ms;
	bool records; /* it writes the ledger; else it runs at every slot, as a plain cron does */
	int64_t slot_us; /* it works on that one; 0: none */
	uint64_t done;
};

/* A program of that process, which frees it; its fields are set before the process starts. */
struct sim_leaser *sim_leaser_new(struct process *p);
struct sim_runner *sim_runner_new(struct process *p);

#endif
