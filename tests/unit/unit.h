#ifndef TESTS_UNIT_H
#define TESTS_UNIT_H

/* cmocka needs these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/*
 * A small generator of random numbers for tests that compare with a model: the same seed gives the
 * same run, and the seed is printed by whoever fails (xorshift64*, Marsaglia 2003, Vigna 2016).
 */
static inline uint64_t unit_random(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * UINT64_C(0x2545f4914f6cdd1d);
}

/* A number from 0 to n - 1. */
static inline size_t unit_pick(uint64_t *state, size_t n)
{
	return (size_t)(unit_random(state) % n);
}

#endif
