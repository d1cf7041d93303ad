#ifndef SOURCE_SIM_BREAK_H
#define SOURCE_SIM_BREAK_H

#include "source/sim.h"

/*
 * The verbs that break things on purpose: crash, pause, partition, skew-clock, kill-connection,
 * drain-node, for the process behind a row. They need nothing of a view but `behind`; a case of the
 * view's own for the same verb goes first.
 */

/* A copy of the view whose acts are its own and those, for every mechanism. The caller frees it
 * with sim_break_free. */
struct sim_view *sim_break_view(const struct sim_view *view);
void sim_break_free(struct sim_view *view);

#endif
