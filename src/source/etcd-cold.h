#ifndef SOURCE_ETCD_COLD_H
#define SOURCE_ETCD_COLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Names at rest: strings of bytes (etcd-pack.h) in memory of their own, found by the name with
 * which each begins. No pointer leads to one, but its place: a number of 26 bits, so that a table
 * of 32 bits an entry has room for some of the hash, which spare most looks at other names.
 */
enum {
	ETCD_COLD_MOST = 16 * 1024, /* the longest string */
	ETCD_PLACE_BITS = 26,
	ETCD_COLD_CLASSES = 512,
};

#define ETCD_PLACE_MASK ((UINT32_C(1) << ETCD_PLACE_BITS) - 1)

/*
 * A set of places, each with a mark. One stands in the set itself: most leases are on few names,
 * and there may be as many leases as names.
 */
#define ETCD_PLACE_MARK (UINT32_C(1) << 31)

struct etcd_places {
	uint32_t n, size; /* size 0: there is no table */
	union {
		uint32_t one;
		uint32_t *table;
	};
};

/* Adds a place, or gives the one that is there the mark as well. */
void etcd_places_add(struct etcd_places *set, uint32_t place);
void etcd_places_remove(struct etcd_places *set, uint32_t place);
/* Walks them, with their marks: start with *pos = 0; 0 at the end. */
uint32_t etcd_places_next(const struct etcd_places *set, uint32_t *pos);
void etcd_places_clear(struct etcd_places *set);

/* All zero: empty. The seed is that of the hashes that it is given. */
struct etcd_cold {
	uint64_t seed[2];
	unsigned char **chunks;
	size_t n_chunks, cap_chunks;
	uint32_t at;                       /* units taken of the last chunk */
	uint32_t spare[ETCD_COLD_CLASSES]; /* the first piece of each size; leads to the next */
	size_t used, idle;                 /* bytes of pieces with a string, and of spare ones */
	uint32_t *slots;
	size_t n, n_left, size; /* strings; slots of such as went; slots, a power of two */
};

/* Gives everything back; the seed stays. */
void etcd_cold_clear(struct etcd_cold *cold);
/*
 * Keeps a copy of a string whose name has that hash and is not here yet. Returns its place; 0 when
 * it is too long, or there is no room for more.
 */
uint32_t etcd_cold_put(
	struct etcd_cold *cold, const unsigned char *bytes, size_t len, uint64_t hash);
/* The place of the string of that name; 0: none. */
uint32_t etcd_cold_find(const struct etcd_cold *cold, const char *name, size_t len, uint64_t hash);
/* The string at a place; it stays there until it is dropped. */
const unsigned char *etcd_cold_at(const struct etcd_cold *cold, uint32_t place);
void etcd_cold_drop(struct etcd_cold *cold, uint32_t place, uint64_t hash);
/* Walks all places: start with *pos = 0; 0 at the end. */
uint32_t etcd_cold_next(const struct etcd_cold *cold, size_t *pos);
/*
 * Moves the strings together and gives the rest of the memory back, where much of it is spare.
 * Returns whether it did: then every string has another place.
 */
bool etcd_cold_tighten(struct etcd_cold *cold);

#endif
