#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A hash map from byte strings to pointers. Keys are not copied: they must live, unchanged, as long
 * as their entry. Hashed by SipHash-1-3 (the variant of Aumasson and Bernstein, "SipHash: a fast
 * short-input PRF", 2012, that hash tables use) with a key drawn at random for each map, since
 * remote sides choose the strings. A key has at most 4 GiB.
 */
struct map_entry {
	const char *key; /* NULL: free */
	void *value;
	uint32_t len;
	uint32_t hash; /* the lower half */
};

struct map {
	struct map_entry *slots;
	size_t n;    /* entries in use */
	size_t size; /* slots, a power of two; 0 while empty */
	uint64_t seed[2];
};

void map_init(struct map *map);
/* For an empty map whose keys nobody chooses against us: its order is the same in each run. */
void map_same_order(struct map *map);
void map_release(struct map *map);
void map_clear(struct map *map);

/* The value, or NULL when there is none. */
void *map_get(const struct map *map, const char *key, size_t len);

/* Sets the value and returns the one it replaces (whose key is replaced too), or NULL. value is
 * never NULL. */
void *map_put(struct map *map, const char *key, size_t len, void *value);

/* Removes the entry and returns its value, or NULL. */
void *map_remove(struct map *map, const char *key, size_t len);

/*
 * Walks all entries in no order: start with *pos = 0; returns NULL at the end. The map must not
 * change meanwhile.
 */
struct map_entry *map_next(const struct map *map, size_t *pos);

/* The hash that the maps use, with a key of the caller's. */
uint64_t map_siphash(const uint64_t seed[2], const void *mem, size_t len);
/* Such a key that nobody can guess; waits until the kernel's pool of randomness is ready. */
void map_draw_key(uint64_t seed[2]);

#endif
