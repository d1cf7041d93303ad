#include "config.h"

#include "base/map.h"
#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#define ROTL(x, b) (((x) << (b)) | ((x) >> (64 - (b))))

/* Four words that stay in registers: an array would live in memory. */
struct sip {
	uint64_t a, b, c, d;
};

static inline struct sip sip_round(struct sip v)
{
	v.a += v.b;
	v.b = ROTL(v.b, 13) ^ v.a;
	v.a = ROTL(v.a, 32);
	v.c += v.d;
	v.d = ROTL(v.d, 16) ^ v.c;
	v.a += v.d;
	v.d = ROTL(v.d, 21) ^ v.a;
	v.c += v.b;
	v.b = ROTL(v.b, 17) ^ v.c;
	v.c = ROTL(v.c, 32);
	return v;
}

static inline struct sip sip_word(struct sip v, uint64_t word)
{
	v.d ^= word;
	v = sip_round(v);
	v.a ^= word;
	return v;
}

/* The bytes behind the last whole word, the first of them lowest. */
static inline uint64_t sip_tail(const unsigned char *p, size_t len)
{
	uint64_t word = 0;

	while (len-- > 0)
		word = word << 8 | p[len];
	return word;
}

uint64_t map_siphash(const uint64_t seed[2], const void *mem, size_t len)
{
	struct sip v = { seed[0] ^ 0x736f6d6570736575ULL, seed[1] ^ 0x646f72616e646f6dULL,
		seed[0] ^ 0x6c7967656e657261ULL, seed[1] ^ 0x7465646279746573ULL };
	const unsigned char *p = mem, *end = p + (len & ~(size_t)7);
	uint64_t word;

	for (; p < end; p += 8) {
		memcpy(&word, p, 8);
		v = sip_word(v, word);
	}
	v = sip_word(v, sip_tail(p, len & 7) | (uint64_t)len << 56);
	v.c ^= 0xff;
	v = sip_round(sip_round(sip_round(v)));
	return v.a ^ v.b ^ v.c ^ v.d;
}

void map_draw_key(uint64_t seed[2])
{
	const ssize_t size = 2 * sizeof(*seed);

	while (getrandom(seed, (size_t)size, 0) != size)
		if (errno != EINTR)
			abort();
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
