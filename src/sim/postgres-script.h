#ifndef SIM_POSTGRES_SCRIPT_H
#define SIM_POSTGRES_SCRIPT_H

#include "sim/postgres-client.h"

struct err;

/*
 * A client that says to its server what a list tells it to, each at its moment after its start;
 * what comes due while it waits for an answer is said after that.
 */
enum {
	SIMPG_STEPS_MOST = 64
};

struct simpg_step {
	int64_t at_ms;
	enum simpg_op op;
	int64_t b;
	int flags;
	char text[NET_TEXT_MAX];
};

struct simpg_script {
	struct program program; /* first */
	struct simpg_client client;
	struct simpg_step steps[SIMPG_STEPS_MOST];
	size_t n_steps;
	size_t next; /* the first that was not said yet */
	bool due;    /* and it is time for it */
	int last_error;
};

struct simpg_script *simpg_script_new(struct process *p);
/*
 * Adds a step: "2s lock 42", "2s lock (7,-9) share transaction", "3s try 42", "4s unlock 42",
 * "5s begin", "5s commit", "6s prepare tx-9", "7s listen hand", "8s run 30s SELECT ...", "9s
 * close", "10s connect". ERR_CONFIG with a sentence.
 */
int simpg_script_add(struct simpg_script *s, const char *step, struct err *err);

#endif
