#ifndef SIM_POSTGRES_CLIENT_H
#define SIM_POSTGRES_CLIENT_H

#include "sim/postgres.h"

/*
 * A client's connection, as a driver of PostgreSQL's keeps it: it knows of the server only what was
 * answered, and learns that its session ended when it next uses it. One request at a time.
 */
enum {
	SIMPG_SERVERS_MOST = 4
};

/* What a request may come to beside the server's errors. */
enum {
	SIMPG_NO_ANSWER = 100,
	SIMPG_NOBODY /* refused: nobody listens there */
};

struct simpg_client;
/* error 0: it was done. After SIMPG_LOST, SIMPG_TERMINATED and SIMPG_NO_ANSWER it is not connected
 * any more. */
typedef void simpg_done(
	struct world *w, struct simpg_client *c, enum simpg_op op, int error, int64_t value);

struct simpg_client {
	struct simpg_login login; /* first */
	struct process *process;
	struct simpg_server *servers[SIMPG_SERVERS_MOST]; /* tried in turn */
	size_t n_servers, at;
	struct simpg_pooler *through; /* NULL: none */
	simpg_done *done;
	int64_t timeout_ms; /* of all but locks and long statements */
	bool connected, asking;
	int64_t handle;
	int pid;
};

/* Connects, to the first of the servers that takes it. */
void simpg_client_connect(struct world *w, struct simpg_client *c);
/* b, c and text as in enum simpg_op; timeout_ms 0: the client's own. */
void simpg_client_ask(struct world *w, struct simpg_client *c, enum simpg_op op, int64_t b,
	int64_t c_arg, const char *text, int64_t timeout_ms);
/* Closes it; the server learns of it if a packet comes through. */
void simpg_client_close(struct world *w, struct simpg_client *c);
/* Its process ended. */
void simpg_client_ended(struct world *w, struct simpg_client *c, enum process_end how);
const char *simpg_error_word(int error);

#endif
