#ifndef SIM_DEED_H
#define SIM_DEED_H

#include "sim/world.h"

/*
 * What the operator did to a world, in order: one for each act that a source of the world carried
 * out (sim_acted). For the score and the debrief; the true story has a line for each as well.
 */
struct deed {
	int64_t at_ms;
	bool asks;            /* it changed nothing: a question to somebody */
	bool to_waiter;       /* it was about one that waited, as it stood on the screen */
	const char *verb;     /* its word */
	const char *id;       /* of the row */
	const char *identity; /* whom it was about; "" */
	const char *reason;   /* what the operator wrote; "" */
};

enum {
	DEEDS_MOST = 1000 /* later ones are not kept */
};

/* Copies the texts, which may be NULL; at_ms and asks are set here. */
void deed_add(struct world *w, const struct deed *deed);
size_t deed_count(const struct world *w);
const struct deed *deed_at(const struct world *w, size_t i);

/* Whether an id is meant: the same, or beginning so where the pattern ends with a star; NULL means
 * any. */
bool deed_means(const char *pattern, const char *id);

#endif
