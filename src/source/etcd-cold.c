#include "config.h"

#include "source/etcd-cold.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/varint.h"

#include <stdlib.h>
#include <string.h>

/*
 * A piece of memory is its string's length, then the string. Pieces that were given back are used
 * again for such of the same size; strings change their sizes as time goes by, so that what is
 * spare is given back when it is much (etcd_cold_tighten).
 */
enum {
	UNIT = 4, /* bytes; places count them, from the first of the first chunk */
	CHUNK_BITS = 16,
	CHUNK_UNITS = 1 << CHUNK_BITS,
	CHUNKS_MOST = 1 << (ETCD_PLACE_BITS - CHUNK_BITS),
	/* Up to here each size has pieces of its own; longer ones are made whole steps. */
	FINE_MOST = 1024,
	STEP = 64,
	SLOTS_LEAST = 64,
	IDLE_LEAST = 64 * 1024, /* less that is spare is kept */
	HEAD_MOST = 3,          /* bytes of a length */
};

/* ---- sets of places ---- */

static uint32_t place_home(uint32_t place, uint32_t size)
{
	/* Multiplicative: of the product, the bits that all of the place's bear upon. */
	return (uint32_t)((place & ETCD_PLACE_MASK) * UINT64_C(0x9e3779b97f4a7c15) >> 32) &
	       (size - 1);
}

/* The slot of a place, or the free one where it would stand. There is always a free one. */
static uint32_t place_slot(const uint32_t *table, uint32_t size, uint32_t place)
{
	uint32_t i = place_home(place, size);

	while (table[i] && ((table[i] ^ place) & ETCD_PLACE_MASK))
		i = (i + 1) & (size - 1);
	return i;
}

/* Makes the set's table anew, of that size; 0: none. */
static void places_resize(struct etcd_places *set, uint32_t size)
{
	uint32_t *table = size ? xcalloc(size, sizeof(*table)) : NULL;
	uint32_t pos = 0, place, one = 0;

	while ((place = etcd_places_next(set, &pos)) != 0) {
		one = place;
		if (size)
			table[place_slot(table, size, place)] = place;
	}
	if (set->size)
		free(set->table);
	set->size = size;
	if (size)
		set->table = table;
	else
		set->one = one;
}

void etcd_places_add(struct etcd_places *set, uint32_t place)
{
	uint32_t *slot;

	if (!set->size && (!set->n || !((set->one ^ place) & ETCD_PLACE_MASK))) {
		set->one = set->n ? set->one | place : place;
		set->n = 1;
		return;
	}
	if (!set->size)
		places_resize(set, 4);
	else if ((set->n + 1) * 8 > set->size * 7)
		places_resize(set, set->size * 2);
	slot = &set->table[place_slot(set->table, set->size, place)];
	set->n += *slot ? 0 : 1;
	*slot |= place;
}

void etcd_places_remove(struct etcd_places *set, uint32_t place)
{
	uint32_t hole, i, mask = set->size - 1;

	if (!set->size) {
		if (set->n && !((set->one ^ place) & ETCD_PLACE_MASK))
			set->one = set->n = 0;
		return;
	}
	hole = place_slot(set->table, set->size, place);
	if (!set->table[hole])
		return;
	/* Whatever was displaced by what is gone moves up, so that no slot need be marked. */
	for (i = (hole + 1) & mask; set->table[i]; i = (i + 1) & mask) {
		uint32_t home = place_home(set->table[i], set->size);

		if (((i - home) & mask) < ((i - hole) & mask))
			continue;
		set->table[hole] = set->table[i];
		hole = i;
	}
	set->table[hole] = 0;
	set->n--;
	if (set->n <= 1)
		places_resize(set, 0);
	else if (set->n * 8 < set->size)
		places_resize(set, set->size / 2);
}

uint32_t etcd_places_next(const struct etcd_places *set, uint32_t *pos)
{
	if (!set->size)
		return set->n && !(*pos)++ ? set->one : 0;
	while (*pos < set->size) {
		uint32_t place = set->table[(*pos)++];

		if (place)
			return place;
	}
	return 0;
}

void etcd_places_clear(struct etcd_places *set)
{
	if (set->size)
		free(set->table);
	memset(set, 0, sizeof(*set));
}

/* ---- memory ---- */

static unsigned char *piece_at(const struct etcd_cold *cold, uint32_t place)
{
	return cold->chunks[place >> CHUNK_BITS] + (size_t)(place & (CHUNK_UNITS - 1)) * UNIT;
}

/* The bytes of a piece for so many. */
static size_t piece_room(size_t bytes)
{
	size_t step = bytes <= FINE_MOST ? UNIT : STEP;

	return (bytes + step - 1) / step * step;
}

static size_t piece_class(size_t room)
{
	return room <= FINE_MOST ? room / UNIT : FINE_MOST / UNIT + (room - FINE_MOST) / STEP;
}

_Static_assert(FINE_MOST / UNIT + (ETCD_COLD_MOST + HEAD_MOST + STEP - FINE_MOST) / STEP <
		       ETCD_COLD_CLASSES,
	"there is a class for the longest string");

static uint32_t piece_get(struct etcd_cold *cold, size_t room)
{
	uint32_t *spare = &cold->spare[piece_class(room)], place = *spare;

	if (place) {
		memcpy(spare, piece_at(cold, place), sizeof(*spare));
		cold->idle -= room;
	} else {
		if (!cold->n_chunks || cold->at + room / UNIT > CHUNK_UNITS) {
			if (cold->n_chunks == CHUNKS_MOST)
				return 0;
			MEM_GROW(cold->chunks, cold->n_chunks, cold->cap_chunks);
			/* No piece has the place 0. */
			cold->at = cold->n_chunks ? 0 : 1;
			cold->chunks[cold->n_chunks++] = xmalloc((size_t)CHUNK_UNITS * UNIT);
		}
		place = (uint32_t)(cold->n_chunks - 1) << CHUNK_BITS | cold->at;
		cold->at += (uint32_t)(room / UNIT);
	}
	cold->used += room;
	return place;
}

static void piece_put(struct etcd_cold *cold, uint32_t place, size_t room)
{
	uint32_t *spare = &cold->spare[piece_class(room)];

	/* The first bytes of a spare piece lead to the next one. */
	memcpy(piece_at(cold, place), spare, sizeof(*spare));
	*spare = place;
	cold->used -= room;
	cold->idle += room;
}

static void chunks_free(unsigned char **chunks, size_t n)
{
	while (n)
		free(chunks[--n]);
	free(chunks);
}

/* ---- the table ---- */

static uint32_t slot_bits(uint64_t hash)
{
	return (uint32_t)(hash >> 32) & ~ETCD_PLACE_MASK;
}

/* A slot whose string went: looking goes on behind it. */
static const uint32_t slot_left = ~ETCD_PLACE_MASK;

static uint64_t string_hash(const struct etcd_cold *cold, uint32_t place)
{
	const unsigned char *at = etcd_cold_at(cold, place);
	size_t len = varint_take(&at);

	return map_siphash(cold->seed, at, len);
}

static void slots_resize(struct etcd_cold *cold, size_t size)
{
	uint32_t *slots = xcalloc(size, sizeof(*slots)), place;
	size_t pos = 0, i;

	while ((place = etcd_cold_next(cold, &pos)) != 0) {
		uint64_t hash = string_hash(cold, place);

		for (i = hash & (size - 1); slots[i]; i = (i + 1) & (size - 1))
			continue;
		slots[i] = slot_bits(hash) | place;
	}
	free(cold->slots);
	cold->slots = slots;
	cold->size = size;
	cold->n_left = 0;
}

/*
 * At most seven eighths are not free. Where those that went are many of them, the same size will
 * do.
 */
static void slots_reserve(struct etcd_cold *cold)
{
	if (!cold->size)
		slots_resize(cold, SLOTS_LEAST);
	else if ((cold->n + cold->n_left + 1) * 8 > cold->size * 7)
		slots_resize(cold, cold->n * 16 > cold->size * 13 ? cold->size * 2 : cold->size);
}

uint32_t etcd_cold_put(
	struct etcd_cold *cold, const unsigned char *bytes, size_t len, uint64_t hash)
{
	unsigned char *to;
	uint32_t place;
	size_t i;

	if (len > ETCD_COLD_MOST)
		return 0;
	place = piece_get(cold, piece_room(len + (len < 1 << 7 ? 1 : len < 1 << 14 ? 2 : 3)));
	if (!place)
		return 0;
	to = varint_put(piece_at(cold, place), len);
	memcpy(to, bytes, len);
	slots_reserve(cold);
	for (i = hash & (cold->size - 1); cold->slots[i] & ETCD_PLACE_MASK;)
		i = (i + 1) & (cold->size - 1);
	cold->n_left -= cold->slots[i] ? 1 : 0;
	cold->slots[i] = slot_bits(hash) | place;
	cold->n++;
	return place;
}

uint32_t etcd_cold_find(const struct etcd_cold *cold, const char *name, size_t len, uint64_t hash)
{
	size_t i, mask = cold->size - 1;

	if (!cold->n)
		return 0;
	for (i = hash & mask; cold->slots[i]; i = (i + 1) & mask) {
		uint32_t place = cold->slots[i] & ETCD_PLACE_MASK;
		const unsigned char *at;

		if (!place || cold->slots[i] != (slot_bits(hash) | place))
			continue;
		at = etcd_cold_at(cold, place);
		if (varint_take(&at) == len && memcmp(at, name, len) == 0)
			return place;
	}
	return 0;
}

const unsigned char *etcd_cold_at(const struct etcd_cold *cold, uint32_t place)
{
	const unsigned char *at = piece_at(cold, place);

	varint_take(&at);
	return at;
}

void etcd_cold_drop(struct etcd_cold *cold, uint32_t place, uint64_t hash)
{
	const unsigned char *piece = piece_at(cold, place), *at = piece;
	size_t len = varint_take(&at), mask = cold->size - 1, i = hash & mask;

	while ((cold->slots[i] & ETCD_PLACE_MASK) != place)
		i = (i + 1) & mask;
	piece_put(cold, place, piece_room((size_t)(at - piece) + len));
	cold->n--;
	if (cold->slots[(i + 1) & mask]) {
		cold->slots[i] = slot_left;
		cold->n_left++;
		return;
	}
	/* Nobody looks on behind it, nor behind those that went before it. */
	cold->slots[i] = 0;
	for (i = (i - 1) & mask; cold->slots[i] == slot_left; i = (i - 1) & mask) {
		cold->slots[i] = 0;
		cold->n_left--;
	}
}

uint32_t etcd_cold_next(const struct etcd_cold *cold, size_t *pos)
{
	while (*pos < cold->size) {
		uint32_t place = cold->slots[(*pos)++] & ETCD_PLACE_MASK;

		if (place)
			return place;
	}
	return 0;
}

void etcd_cold_clear(struct etcd_cold *cold)
{
	uint64_t seed[2] = { cold->seed[0], cold->seed[1] };

	chunks_free(cold->chunks, cold->n_chunks);
	free(cold->slots);
	memset(cold, 0, sizeof(*cold));
	memcpy(cold->seed, seed, sizeof(seed));
}

bool etcd_cold_tighten(struct etcd_cold *cold)
{
	struct etcd_cold old;
	size_t i, size = cold->size;

	if (!cold->n) {
		etcd_cold_clear(cold);
		return false;
	}
	while (size > SLOTS_LEAST && cold->n * 4 < size)
		size /= 2;
	if (size * 2 < cold->size)
		slots_resize(cold, size);
	if (cold->idle < IDLE_LEAST || cold->idle < cold->used / 4)
		return false;
	old = *cold;
	cold->chunks = NULL;
	cold->n_chunks = cold->cap_chunks = cold->used = cold->idle = 0;
	memset(cold->spare, 0, sizeof(cold->spare));
	for (i = 0; i < cold->size; i++) {
		uint32_t place = cold->slots[i] & ETCD_PLACE_MASK;
		const unsigned char *piece, *at;
		size_t len, room;

		if (!place)
			continue;
		piece = at = piece_at(&old, place);
		len = varint_take(&at);
		room = piece_room((size_t)(at - piece) + len);
		/* There is room: all of them had it before. */
		place = piece_get(cold, room);
		memcpy(piece_at(cold, place), piece, (size_t)(at - piece) + len);
		cold->slots[i] = (cold->slots[i] & ~ETCD_PLACE_MASK) | place;
	}
	chunks_free(old.chunks, old.n_chunks);
	return true;
}
