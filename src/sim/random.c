#include "config.h"

#include "sim/random.h"

uint64_t sim_random_next(struct sim_random *r)
{
	uint64_t z = r->state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

uint64_t sim_random_below(struct sim_random *r, uint64_t n)
{
	/* The bias of the remainder is below 2^-40 for all that is drawn here. */
	return sim_random_next(r) % n;
}

int64_t sim_random_vary(struct sim_random *r, int64_t value, int percent)
{
	int64_t most = (value < 0 ? -value : value) * percent / 100;

	if (most <= 0)
		return value;
	return value - most + (int64_t)sim_random_below(r, (uint64_t)most * 2 + 1);
}
