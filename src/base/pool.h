#ifndef BASE_POOL_H
#define BASE_POOL_H

#include <stddef.h>

/*
 * Memory in many small pieces that is given back all at once: cheaper than malloc by its head for
 * each piece, and by the walk over all of them at the end. A piece that is given back is used again
 * for one of its size (in steps of 16 bytes). Not thread safe.
 */
enum {
	POOL_STEP = 16,
	POOL_CLASSES = 64, /* larger pieces come from malloc, one by one */
};

struct pool_chunk;
struct pool_large;

struct pool {
	struct pool_chunk *chunks;
	struct pool_large *large;
	char *at; /* what is left of the newest chunk */
	size_t left;
	void *spare[POOL_CLASSES];
};

void pool_init(struct pool *pool);
/* Gives everything back; the pool can be used on. */
void pool_clear(struct pool *pool);

/* A zeroed piece, aligned for any type. Ends the program when there is no memory, as xmalloc. */
void *pool_get(struct pool *pool, size_t size);
/* The same, not zeroed: for what is written as a whole at once. */
void *pool_get_raw(struct pool *pool, size_t size);
/* Gives one piece back; size is what it was got with. */
void pool_put(struct pool *pool, void *piece, size_t size);

#endif
