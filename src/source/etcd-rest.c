#include "config.h"

#include "source/etcd-pack.h"
#include "source/etcd-table.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/*
 * Names at rest. In a large key space next to nothing changes at any one moment: a name with its
 * keys lies there as one string (etcd-pack.h), found by the name, and in no other table. Each lease
 * knows the places of those with keys on it. A name that is asked for, or of which a key comes,
 * changes or goes, is woken: its group and keys are made anew, and all rules see them only.
 */

enum {
	TABLE_KEPT = 4096, /* tables of so many keys are kept, and the memory of these */
	MANY = 4096,       /* so many keys are much to lay down at once */
};

/* ---- waking ---- */

static void key_read(struct etcd_store *store, struct etcd_group *g,
	const struct etcd_packed_key *packed, uint32_t place)
{
	struct etcd_lease *lease = packed->lease ? store->numbered[packed->lease - 1].lease : NULL;
	size_t at = g->name_len ? g->name_len + 1 : 0, last_len = packed->last_len;
	const char *last = packed->last;
	char text[ETCD_HEX_MAX];
	struct etcd_key *key;
	uint64_t number;
	bool hex;

	if (!last) {
		last_len = etcd_hex_write(text, (uint64_t)lease->id);
		last = text;
	}
	key = pool_get(&store->pool, sizeof(*key) + at + last_len + packed->value_len);
	if (at) {
		memcpy(key->bytes, g->name, g->name_len);
		key->bytes[g->name_len] = '/';
	}
	memcpy(key->bytes + at, last, last_len);
	memcpy(key->bytes + at + last_len, packed->value, packed->value_len);
	key->key_len = (uint32_t)(at + last_len);
	key->value_len = packed->value_len;
	key->create_revision = packed->create_revision;
	key->mod_revision = packed->mod_revision;
	key->named = packed->named;
	key->told = packed->told;
	key->beside = packed->beside;
	hex = etcd_key_number(key->bytes, key->key_len, lease ? lease->id : 0, &number);
	etcd_key_ends_in(key, hex, number, lease ? lease->id : 0);
	etcd_table_add_key(store, key);
	etcd_key_attach(key, lease);
	if (lease)
		etcd_places_remove(&lease->places, place);
	key->group = g;
	g->keys[g->n++] = key;
	etcd_group_count(g, key, 1);
}

/* Makes the group and the keys of a string anew; returns its end. */
static const unsigned char *group_read(struct etcd_store *store, const unsigned char *string,
	uint32_t place, uint64_t hash, struct etcd_group **ret)
{
	struct etcd_packed_key key;
	struct etcd_packed packed;
	struct etcd_group *g;
	uint32_t i;

	etcd_unpack(&packed, string);
	g = pool_get(&store->pool, sizeof(*g) + packed.name_len);
	memcpy(g->name, packed.name, packed.name_len);
	g->name_len = packed.name_len;
	g->kind = packed.kind;
	g->told = packed.told;
	g->seen_own = packed.seen_own;
	g->sorted = true;
	g->hash = hash;
	g->keys = &g->only;
	if (packed.n > 1) {
		g->keys = xcalloc(packed.n, sizeof(struct etcd_key *));
		g->cap = packed.n;
	}
	for (i = 0; i < packed.n; i++) {
		etcd_unpack_key(&packed, &key);
		key_read(store, g, &key, place);
	}
	etcd_table_add_group(store, g);
	*ret = g;
	return packed.at;
}

static struct etcd_group *wake(struct etcd_store *store, uint32_t place, uint64_t hash)
{
	struct etcd_group *g;

	group_read(store, etcd_cold_at(&store->cold, place), place, hash, &g);
	etcd_cold_drop(&store->cold, place, hash);
	store->n_cold_keys -= g->n;
	return g;
}

struct etcd_group *etcd_rest_group(
	struct etcd_store *store, const char *name, size_t len, uint64_t hash)
{
	struct etcd_group **at = etcd_table_group(store, name, len, hash);
	uint32_t place = at ? 0 : etcd_cold_find(&store->cold, name, len, hash);

	return at ? *at : place ? wake(store, place, hash) : NULL;
}

struct etcd_key **etcd_rest_key(
	struct etcd_store *store, const char *bytes, size_t len, uint64_t hash)
{
	struct etcd_key **at = etcd_table_key(store, bytes, len, hash);
	size_t name_len;
	uint64_t name_hash;
	uint32_t place;

	if (at || !store->cold.n)
		return at;
	name_len = etcd_key_name_len(bytes, len);
	name_hash = etcd_table_hash(store, bytes, name_len);
	place = etcd_cold_find(&store->cold, bytes, name_len, name_hash);
	if (!place)
		return NULL;
	wake(store, place, name_hash);
	return etcd_table_key(store, bytes, len, hash);
}

void etcd_rest_lease(struct etcd_store *store, struct etcd_lease *lease)
{
	struct etcd_places places = lease->places;
	uint32_t place, pos = 0;

	/* Each that wakes would be taken out of what is walked. */
	memset(&lease->places, 0, sizeof(lease->places));
	while ((place = etcd_places_next(&places, &pos) & ETCD_PLACE_MASK) != 0) {
		struct etcd_packed packed;

		etcd_unpack(&packed, etcd_cold_at(&store->cold, place));
		wake(store, place, etcd_table_hash(store, packed.name, packed.name_len));
	}
	etcd_places_clear(&places);
}

/* ---- laying down ---- */

static void number_leases(struct etcd_store *store, const struct etcd_group *g)
{
	uint32_t i;

	for (i = 0; i < g->n; i++)
		if (g->keys[i]->lease)
			etcd_table_number(store, g->keys[i]->lease);
}

/* Notes on their leases where keys lie now. */
static void note_places(struct etcd_store *store, uint32_t place)
{
	struct etcd_packed_key key;
	struct etcd_packed packed;
	uint32_t i;

	etcd_unpack(&packed, etcd_cold_at(&store->cold, place));
	for (i = 0; i < packed.n; i++) {
		etcd_unpack_key(&packed, &key);
		if (key.lease)
			etcd_places_add(&store->numbered[key.lease - 1].lease->places,
				place | (key.leads ? ETCD_PLACE_MARK : 0));
	}
}

static void key_leave(struct etcd_store *store, struct etcd_key *key)
{
	struct etcd_key **at = &store->keys[key->hash & (store->size_keys - 1)];

	while (*at != key)
		at = &(*at)->next_same;
	*at = key->next_same;
	store->n_keys--;
	etcd_key_unlink(key);
	pool_put(&store->pool, key, etcd_key_bytes(key));
}

static void group_leave(struct etcd_store *store, struct etcd_group *g)
{
	struct etcd_group **at = &store->groups[g->hash & (store->size_groups - 1)];

	while (*at != g)
		at = &(*at)->next_same;
	*at = g->next_same;
	store->n_groups--;
	etcd_group_free(store, g);
}

/* A group of which the string would be too long stays awake. Returns false where there is no place
 * for any more. */
static bool lay_down(struct etcd_store *store, struct etcd_group *g)
{
	unsigned char string[ETCD_COLD_MOST];
	uint32_t i, place;

	if (etcd_pack_room(g) > sizeof(string))
		return true;
	number_leases(store, g);
	place = etcd_cold_put(&store->cold, string, etcd_pack(g, string), g->hash);
	if (!place)
		return false;
	note_places(store, place);
	for (i = 0; i < g->n; i++)
		key_leave(store, g->keys[i]);
	store->n_cold_keys += g->n;
	group_leave(store, g);
	return true;
}

/*
 * Much was awake, and little is: what is moves together, so that the rest of the memory can be
 * given back.
 */
static void renew(struct etcd_store *store)
{
	unsigned char *strings, *to;
	const unsigned char *from;
	struct etcd_group *g;
	size_t room = 1;
	uint32_t i;

	for (g = store->awake; g; g = g->next_awake)
		room += etcd_pack_room(g);
	from = to = strings = xmalloc(room);
	while ((g = store->awake) != NULL) {
		number_leases(store, g);
		to += etcd_pack(g, to);
		for (i = 0; i < g->n; i++)
			etcd_key_unlink(g->keys[i]);
		etcd_group_free(store, g);
	}
	pool_clear(&store->pool);
	store->last_key = NULL;
	etcd_table_empty(store);
	while (from < to)
		from = group_read(store, from, 0, 0, &g);
	free(strings);
}

void etcd_store_pack(struct etcd_store *store, uint32_t most)
{
	struct etcd_lease *lease = NULL;
	struct etcd_group *g, *next;
	size_t pos = 0, before = store->n_cold_keys;
	uint32_t place;

	if (!store->live || store->changed)
		return;
	etcd_table_index(store);
	for (g = store->awake; g; g = next) {
		next = g->next_awake;
		if (g->n <= most && !lay_down(store, g))
			break;
	}
	if (store->size_keys > TABLE_KEPT && store->n_keys < store->size_keys / 8)
		renew(store);
	if (store->n_cold_keys > before + MANY)
		mem_give_back();
	if (!etcd_cold_tighten(&store->cold))
		return;
	while ((lease = etcd_store_next_lease(store, &pos, lease)) != NULL)
		etcd_places_clear(&lease->places);
	pos = 0;
	while ((place = etcd_cold_next(&store->cold, &pos)) != 0)
		note_places(store, place);
}
