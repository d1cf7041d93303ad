#include "config.h"

#include "base/map.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#define ROTL(x, b) (((x) << (b)) | ((x) >> (64 - (b))))

static inline void sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[1] = ROTL(v[1], 13) ^ v[0];
	v[0] = ROTL(v[0], 32);
	v[2] += v[3];
	v[3] = ROTL(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = ROTL(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = ROTL(v[1], 17) ^ v[2];
	v[2] = ROTL(v[2], 32);
}

uint64_t map_siphash(const uint64_t seed[2], const void *mem, size_t len)
{
	uint64_t v[4] = { seed[0] ^ 0x736f6d6570736575ULL, seed[1] ^ 0x646f72616e646f6dULL,
		seed[0] ^ 0x6c7967656e657261ULL, seed[1] ^ 0x7465646279746573ULL };
	const unsigned char *p = mem;
	uint64_t last = (uint64_t)len << 56, word;
	size_t i, tail = len & 7;

	for (i = 0; i + 8 <= len; i += 8) {
		memcpy(&word, p + i, 8);
		v[3] ^= word;
		sip_round(v);
		v[0] ^= word;
	}
	while (tail-- > 0)
		last |= (uint64_t)p[i + tail] << (8 * tail);
	v[3] ^= last;
	sip_round(v);
	v[0] ^= last;
	v[2] ^= 0xff;
	for (i = 0; i < 3; i++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

void map_init(struct map *map)
{
	memset(map, 0, sizeof(*map));
	if (getrandom(map->seed, sizeof(map->seed), GRND_NONBLOCK) != sizeof(map->seed)) {
		/* Before the kernel's pool is ready: worse, and no secret hangs on it. */
		map->seed[0] = (uint64_t)time(NULL);
		map->seed[1] = (uint64_t)(uintptr_t)map;
	}
}

void map_same_order(struct map *map)
{
	map->seed[0] = 1;
	map->seed[1] = 2;
}

void map_release(struct map *map)
{
	free(map->slots);
	map->slots = NULL;
	map->n = map->size = 0;
}

void map_clear(struct map *map)
{
	if (map->slots)
		memset(map->slots, 0, map->size * sizeof(*map->slots));
	map->n = 0;
}

static struct map_entry *map_find(const struct map *map, const char *key, size_t len, uint32_t hash)
{
	size_t i = hash & (map->size - 1);

	for (;; i = (i + 1) & (map->size - 1)) {
		struct map_entry *e = &map->slots[i];

		if (!e->key)
			return e;
		if (e->hash == hash && e->len == len && memcmp(e->key, key, len) == 0)
			return e;
	}
}

static void map_resize(struct map *map, size_t size)
{
	struct map_entry *old = map->slots;
	size_t i, old_size = map->size;

	map->slots = xcalloc(size, sizeof(*map->slots));
	map->size = size;
	for (i = 0; i < old_size; i++)
		if (old[i].key)
			*map_find(map, old[i].key, old[i].len, old[i].hash) = old[i];
	free(old);
}

void *map_get(const struct map *map, const char *key, size_t len)
{
	if (!map->n)
		return NULL;
	return map_find(map, key, len, (uint32_t)map_siphash(map->seed, key, len))->value;
}

void *map_put(struct map *map, const char *key, size_t len, void *value)
{
	uint32_t hash = (uint32_t)map_siphash(map->seed, key, len);
	struct map_entry *e;
	void *old;

	if ((map->n + 1) * 8 > map->size * 7)
		map_resize(map, map->size ? map->size * 2 : 16);
	e = map_find(map, key, len, hash);
	old = e->key ? e->value : NULL;
	if (!e->key)
		map->n++;
	*e = (struct map_entry){ .key = key, .value = value, .len = (uint32_t)len, .hash = hash };
	return old;
}

void *map_remove(struct map *map, const char *key, size_t len)
{
	struct map_entry *e;
	size_t hole, i, mask = map->size - 1;
	void *old;

	if (!map->n)
		return NULL;
	e = map_find(map, key, len, (uint32_t)map_siphash(map->seed, key, len));
	if (!e->key)
		return NULL;
	old = e->value;
	/* Linear probing without tombstones: pull back every later entry that may sit in the hole.
	 */
	hole = (size_t)(e - map->slots);
	for (i = (hole + 1) & mask; map->slots[i].key; i = (i + 1) & mask) {
		size_t home = map->slots[i].hash & mask;

		if (((i - home) & mask) >= ((i - hole) & mask)) {
			map->slots[hole] = map->slots[i];
			hole = i;
		}
	}
	memset(&map->slots[hole], 0, sizeof(map->slots[hole]));
	map->n--;
	return old;
}

struct map_entry *map_next(const struct map *map, size_t *pos)
{
	while (*pos < map->size) {
		struct map_entry *e = &map->slots[(*pos)++];

		if (e->key)
			return e;
	}
	return NULL;
}
