#ifndef SOURCE_SIM_POSTGRES_H
#define SOURCE_SIM_POSTGRES_H

#include "io/pg-inside.h"
#include "sim/postgres.h"
#include "source/postgres.h"
#include "source/sim.h"

/*
 * A PostgreSQL of the built-in world as a source: the very code of the kind "postgres" reads it and
 * acts on it, over a connection that leads to the simulated server, which answers the statements
 * that this code sends.
 */
struct simpg_view;

/* A connection of the console to one database of the server. */
struct simpg_link {
	struct simpg_view *view;
	uint32_t database;
	uint32_t life; /* of the server's process: after a restart it is gone */
	int pid;
};

struct simpg_view {
	struct postgres postgres;
	struct source_config config; /* the source's own, with what the server says of itself */
	struct yaml_node *options;
	struct simpg_server *server;
	struct world *world; /* while it is entered */
	struct simpg_link links[SIMPG_DATABASES_MOST];
	struct pg_spare *spare; /* of the answers to polls */
};

/* As struct postgres asks for it; arg is the view. */
int simpg_link_open(void *arg, const char *database, struct pg **ret_pg, struct err *err);

/* One statement's answer (struct pg_inside); arg is the link. */
int simpg_answer(void *arg, const char *sql, const char *const *values, size_t n,
	struct pg_rows **ret_result, struct pg_refusal *refusal, struct err *err);
/* The answers to the verbs' statements (sim-postgres-act.c); false: it is none of them. */
bool simpg_answer_act(struct simpg_link *link, const char *sql, const char *const *values,
	struct pg_rows **ret_result, struct pg_refusal *refusal);

/* How it is shown (sim-postgres-view.c); ended by NULL ops. */
extern const struct sim_view simpg_views[];

/* What hashtext() makes of a text: common/hashfn.c, hash_bytes (Bob Jenkins' lookup3), as
 * PostgreSQL has it since version 8. */
int32_t simpg_hashtext(const char *text, size_t len);

/* What a session waits for, as type/name; NULL: nothing. */
const char *simpg_wait_event(const struct simpg_session *s);
/* How many lock rows of a session are granted. */
size_t simpg_rows(const struct simpg_session *s);

#endif
