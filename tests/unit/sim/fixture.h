#ifndef TESTS_UNIT_SIM_FIXTURE_H
#define TESTS_UNIT_SIM_FIXTURE_H

#include "sim/net.h"

#include <stdio.h>
#include <stdlib.h>

/* What the tests of the built-in world share. */
enum {
	SIM_MEMBERS = 3 /* of an ensemble */
};

#define SIM_EPOCH_US INT64_C(1772507520000000) /* 2026-03-03T03:12:00Z: a whole minute */

/* What each fixture begins with. */
struct sim_fixture {
	struct world *w;
};

/* Machines "PREFIX-1" to "PREFIX-3". */
static inline void sim_members(
	struct world *w, const char *prefix, struct machine *machines[SIM_MEMBERS])
{
	char name[32];
	int i;

	for (i = 0; i < SIM_MEMBERS; i++) {
		snprintf(name, sizeof(name), "%s-%d", prefix, i + 1);
		machines[i] = machine_new(w, name);
	}
}

/* Frees a fixture and its world. */
static inline int sim_teardown(void **state)
{
	struct sim_fixture *f = *state;

	world_free(f->w);
	free(f);
	return 0;
}

#endif
