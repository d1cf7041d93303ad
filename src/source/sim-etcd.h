#ifndef SOURCE_SIM_ETCD_H
#define SOURCE_SIM_ETCD_H

#include "sim/etcd.h"
#include "source/etcd-source.h"
#include "source/sim.h"

/*
 * The inside of the built-in world's etcd as a source, for its own files (sim-etcd*.c). It keeps
 * what a real etcd source keeps, so that its rows, forecasts and answers are made by the same code;
 * only the reading is another.
 */
struct sim_etcd_own {
	struct etcd e; /* without connections */
	struct sim_etcd *sim;
	uint64_t seen; /* changes of keys that the store knows */
};

/* Makes it where it is not there yet. To be called with the world entered. */
struct sim_etcd_own *sim_etcd_own(struct sim_source *s);
void sim_etcd_close(struct sim_source *s);

/*
 * Asks all members for their status, and finds one that can be read from: e.current. Returns a
 * negative code, with the real kind's sentence, when there is none.
 */
int sim_etcd_connect(struct sim_etcd_own *own, const struct world *w, struct err *err);
/* What LeaseTimeToLive says: whole seconds, cut towards zero. */
int64_t sim_etcd_ttl_s(const struct world *w, const struct sim_etcd_lease *l);

int sim_etcd_tell(struct sim_source *s, struct round *r, struct err *err);
struct process *sim_etcd_behind(struct sim_source *s, const struct singleton *row, const char *key);

/* ---- sim-etcd-act.c ---- */
enum {
	SIM_ETCD_ACTS = ETCD_ACTS
};
extern const struct act_case sim_etcd_acts[];

#endif
