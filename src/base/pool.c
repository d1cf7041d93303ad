#include "config.h"

#include "base/pool.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum {
	POOL_CHUNK = 256 * 1024
};

struct pool_chunk {
	struct pool_chunk *next;
	_Alignas(POOL_STEP) char bytes[];
};

struct pool_large {
	struct pool_large *next, **link;
	_Alignas(POOL_STEP) char bytes[];
};

void pool_init(struct pool *pool)
{
	memset(pool, 0, sizeof(*pool));
}

void pool_clear(struct pool *pool)
{
	struct pool_chunk *chunk;
	struct pool_large *large;

	while ((chunk = pool->chunks)) {
		pool->chunks = chunk->next;
		free(chunk);
	}
	while ((large = pool->large)) {
		pool->large = large->next;
		free(large);
	}
	pool_init(pool);
}

/*
 * Under the address sanitizer every piece is malloc's own, so that it sees what is used after it
 * was given back.
 */
#if defined(__SANITIZE_ADDRESS__)
#define POOL_ALL_LARGE 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define POOL_ALL_LARGE 1
#endif
#endif

static size_t pool_class(size_t size)
{
#ifdef POOL_ALL_LARGE
	(void)size;
	return POOL_CLASSES;
#else
	return size ? (size - 1) / POOL_STEP : 0;
#endif
}

static void *pool_get_large(struct pool *pool, size_t size)
{
	struct pool_large *large = xcalloc(1, sizeof(*large) + size);

	large->next = pool->large;
	large->link = &pool->large;
	if (large->next)
		large->next->link = &large->next;
	pool->large = large;
	return large->bytes;
}

static void pool_grow(struct pool *pool)
{
	struct pool_chunk *chunk = xmalloc(sizeof(*chunk) + POOL_CHUNK);

	chunk->next = pool->chunks;
	pool->chunks = chunk;
	pool->at = chunk->bytes;
	pool->left = POOL_CHUNK;
}

void *pool_get_raw(struct pool *pool, size_t size)
{
	size_t class = pool_class(size), bytes = (class + 1) * POOL_STEP;
	void *piece;

	if (class >= POOL_CLASSES)
		return pool_get_large(pool, size);
	piece = pool->spare[class];
	if (piece) {
		memcpy(&pool->spare[class], piece, sizeof(pool->spare[class]));
	} else {
		if (pool->left < bytes)
			pool_grow(pool);
		piece = pool->at;
		pool->at += bytes;
		pool->left -= bytes;
	}
	return piece;
}

void *pool_get(struct pool *pool, size_t size)
{
	void *piece = pool_get_raw(pool, size);

	memset(piece, 0, size);
	return piece;
}

void pool_put(struct pool *pool, void *piece, size_t size)
{
	size_t class = pool_class(size);
	struct pool_large *large;

	if (!piece)
		return;
	if (class < POOL_CLASSES) {
		/* The first bytes of a spare piece lead to the next one. */
		memcpy(piece, &pool->spare[class], sizeof(pool->spare[class]));
		pool->spare[class] = piece;
		return;
	}
	large = (struct pool_large *)(void *)((char *)piece - offsetof(struct pool_large, bytes));
	*large->link = large->next;
	if (large->next)
		large->next->link = large->link;
	free(large);
}
