#ifndef SOURCE_SIM_ZOOKEEPER_H
#define SOURCE_SIM_ZOOKEEPER_H

#include "sim/zookeeper.h"
#include "source/sim.h"

/* The inside of the built-in world's ZooKeeper as a source, for its own files (sim-zookeeper*.c).
 */

/* Finds a server to read from: its number, or a negative code with a sentence. */
int sim_zk_reach(const struct world *w, const struct sim_zk *z, struct err *err);
/* The path of a znode, as in the rows; out is cleared first. */
const char *sim_zk_path(struct str *out, const struct sim_zk_node *node);
/* Who it is, as in the rows: its data, else its session. */
const char *sim_zk_identity(struct str *out, const struct sim_zk_node *node);
int64_t sim_zk_left_ms(const struct world *w, const struct sim_zk_session *session);

int sim_zk_tell(struct sim_source *s, struct round *r, struct err *err);
struct process *sim_zk_behind(struct sim_source *s, const struct singleton *row, const char *key);

enum {
	SIM_ZK_ACTS = 2
};
extern const struct act_case sim_zk_acts[];

#endif
