#ifndef SIM_RANDOM_H
#define SIM_RANDOM_H

#include <stdint.h>

/*
 * The world's dice: SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number
 * generators", 2014). The same seed gives the same numbers everywhere.
 */
struct sim_random {
	uint64_t state;
};

uint64_t sim_random_next(struct sim_random *r);
/* 0 to n - 1; n > 0. */
uint64_t sim_random_below(struct sim_random *r, uint64_t n);
/* value, changed by at most so many percent either way. */
int64_t sim_random_vary(struct sim_random *r, int64_t value, int percent);

#endif
