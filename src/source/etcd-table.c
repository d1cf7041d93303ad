#include "config.h"

#include "source/etcd-table.h"
#include "base/map.h"
#include "base/mem.h"
#include "model/singleton.h"

#include <stdlib.h>
#include <string.h>

enum {
	TABLE_FIRST = 64,
	EXPECT_MOST = 1 << 18,
};

/* ---- the tables ---- */

uint64_t etcd_table_hash(const struct etcd_store *store, const char *bytes, size_t len)
{
	return map_siphash(store->seed, bytes, len);
}

static uint64_t lease_hash(const struct etcd_store *store, int64_t id)
{
	return map_siphash(store->seed, &id, sizeof(id));
}

static void keys_grow(struct etcd_store *store)
{
	size_t i, size = store->size_keys ? store->size_keys * 2 : TABLE_FIRST;
	struct etcd_key **table = xcalloc(size, sizeof(*table)), *key, *next;

	for (i = 0; i < store->size_keys; i++) {
		for (key = store->keys[i]; key; key = next) {
			next = key->next_same;
			key->next_same = table[key->hash & (size - 1)];
			table[key->hash & (size - 1)] = key;
		}
	}
	free(store->keys);
	store->keys = table;
	store->size_keys = size;
}

static void groups_grow(struct etcd_store *store)
{
	size_t i, size = store->size_groups ? store->size_groups * 2 : TABLE_FIRST;
	struct etcd_group **table = xcalloc(size, sizeof(*table)), *g, *next;

	for (i = 0; i < store->size_groups; i++) {
		for (g = store->groups[i]; g; g = next) {
			next = g->next_same;
			g->next_same = table[g->hash & (size - 1)];
			table[g->hash & (size - 1)] = g;
		}
	}
	free(store->groups);
	store->groups = table;
	store->size_groups = size;
}

static void leases_grow(struct etcd_store *store)
{
	size_t i, size = store->size_leases ? store->size_leases * 2 : TABLE_FIRST;
	struct etcd_lease **table = xcalloc(size, sizeof(*table)), *lease, *next;

	for (i = 0; i < store->size_leases; i++) {
		for (lease = store->leases[i]; lease; lease = next) {
			size_t at = lease_hash(store, lease->id) & (size - 1);

			next = lease->next_same;
			lease->next_same = table[at];
			table[at] = lease;
		}
	}
	free(store->leases);
	store->leases = table;
	store->size_leases = size;
}

static void keys_insert(struct etcd_store *store, struct etcd_key *key)
{
	struct etcd_key **at = &store->keys[key->hash & (store->size_keys - 1)];

	key->next_same = *at;
	*at = key;
}

static void groups_insert(struct etcd_store *store, struct etcd_group *g)
{
	struct etcd_group **at = &store->groups[g->hash & (store->size_groups - 1)];

	g->next_same = *at;
	*at = g;
}

void etcd_table_add_key(struct etcd_store *store, struct etcd_key *key)
{
	if (store->indexed) {
		if (store->n_keys >= store->size_keys)
			keys_grow(store);
		key->hash = etcd_table_hash(store, key->bytes, key->key_len);
		keys_insert(store, key);
	} else {
		*store->loose_keys_end = key;
		store->loose_keys_end = &key->next_same;
	}
	store->n_keys++;
}

void etcd_table_add_group(struct etcd_store *store, struct etcd_group *g)
{
	if (store->indexed) {
		if (store->n_groups >= store->size_groups)
			groups_grow(store);
		if (!g->hash)
			g->hash = etcd_table_hash(store, g->name, g->name_len);
		groups_insert(store, g);
	}
	store->n_groups++;
	g->awake_link = store->awake_end;
	*store->awake_end = g;
	store->awake_end = &g->next_awake;
}

void etcd_table_index(struct etcd_store *store)
{
	struct etcd_group *g;
	struct etcd_key *key;

	if (store->indexed)
		return;
	store->indexed = true;
	while (store->size_keys < store->n_keys)
		keys_grow(store);
	while (store->size_groups < store->n_groups)
		groups_grow(store);
	store->loose_keys_end = &store->loose_keys;
	while ((key = store->loose_keys) != NULL) {
		store->loose_keys = key->next_same;
		key->hash = etcd_table_hash(store, key->bytes, key->key_len);
		keys_insert(store, key);
	}
	for (g = store->awake; g; g = g->next_awake) {
		g->hash = etcd_table_hash(store, g->name, g->name_len);
		groups_insert(store, g);
	}
}

struct etcd_key **etcd_table_key(
	const struct etcd_store *store, const char *bytes, size_t len, uint64_t hash)
{
	struct etcd_key **at;

	if (!store->size_keys)
		return NULL;
	for (at = &store->keys[hash & (store->size_keys - 1)]; *at; at = &(*at)->next_same)
		if ((*at)->hash == hash && (*at)->key_len == len &&
			memcmp((*at)->bytes, bytes, len) == 0)
			return at;
	return NULL;
}

struct etcd_group **etcd_table_group(
	const struct etcd_store *store, const char *name, size_t len, uint64_t hash)
{
	struct etcd_group **at;

	if (!store->size_groups)
		return NULL;
	for (at = &store->groups[hash & (store->size_groups - 1)]; *at; at = &(*at)->next_same)
		if ((*at)->hash == hash && (*at)->name_len == len &&
			memcmp((*at)->name, name, len) == 0)
			return at;
	return NULL;
}

void etcd_table_empty(struct etcd_store *store)
{
	free(store->keys);
	free(store->groups);
	store->keys = NULL;
	store->groups = NULL;
	store->n_keys = store->size_keys = store->n_groups = store->size_groups = 0;
}

/* ---- leases ---- */

static struct etcd_lease **lease_place(const struct etcd_store *store, int64_t id)
{
	struct etcd_lease **at;

	if (!store->size_leases)
		return NULL;
	for (at = &store->leases[lease_hash(store, id) & (store->size_leases - 1)]; *at;
		at = &(*at)->next_same)
		if ((*at)->id == id)
			return at;
	return NULL;
}

struct etcd_lease *etcd_store_lease(const struct etcd_store *store, int64_t id)
{
	struct etcd_lease **at = lease_place(store, id);

	return at ? *at : NULL;
}

struct etcd_lease *etcd_store_next_lease(
	const struct etcd_store *store, size_t *pos, struct etcd_lease *last)
{
	if (last && last->next_same)
		return last->next_same;
	while (*pos < store->size_leases) {
		struct etcd_lease *lease = store->leases[(*pos)++];

		if (lease)
			return lease;
	}
	return NULL;
}

struct etcd_lease *etcd_table_lease(struct etcd_store *store, int64_t id)
{
	struct etcd_lease *lease = etcd_store_lease(store, id);
	size_t at;

	if (!id || lease)
		return lease;
	if (store->n_leases >= store->size_leases)
		leases_grow(store);
	lease = pool_get(&store->lease_pool, sizeof(*lease));
	lease->id = id;
	lease->granted_ms = lease->deadline_ms = TIME_UNKNOWN;
	lease->read_ms = lease->renewed_ms = lease->others_ms = TIME_UNKNOWN;
	at = lease_hash(store, id) & (store->size_leases - 1);
	lease->next_same = store->leases[at];
	store->leases[at] = lease;
	store->n_leases++;
	return lease;
}

uint32_t etcd_table_number(struct etcd_store *store, struct etcd_lease *lease)
{
	union etcd_numbered *numbered;

	if (lease->number)
		return lease->number;
	if (store->free_number) {
		lease->number = store->free_number;
		numbered = &store->numbered[lease->number - 1];
		store->free_number = numbered->next;
	} else {
		MEM_GROW(store->numbered, store->n_numbered, store->cap_numbered);
		numbered = &store->numbered[store->n_numbered++];
		lease->number = (uint32_t)store->n_numbered;
	}
	numbered->lease = lease;
	return lease->number;
}

void etcd_table_drop_lease(struct etcd_store *store, struct etcd_lease *lease)
{
	struct etcd_lease **at = lease_place(store, lease->id);

	*at = lease->next_same;
	store->n_leases--;
	if (lease->number) {
		store->numbered[lease->number - 1].next = store->free_number;
		store->free_number = lease->number;
	}
	etcd_lease_forget_others(lease);
	pool_put(&store->lease_pool, lease, sizeof(*lease));
}

void etcd_lease_forget_others(struct etcd_lease *lease)
{
	uint32_t i;

	for (i = 0; lease->others && i < lease->others->n; i++)
		free(lease->others->keys[i]);
	free(lease->others);
	lease->others = NULL;
}

void etcd_store_expect(struct etcd_store *store, int64_t n)
{
	size_t size = TABLE_FIRST;

	if (!store->indexed)
		return;
	/* A server's word: more than this is believed when the keys have come. */
	while (size < EXPECT_MOST && (int64_t)size < n)
		size *= 2;
	while (store->size_keys < size)
		keys_grow(store);
	while (store->size_groups < 2 * size)
		groups_grow(store);
}

/* ---- keys and their groups ---- */

size_t etcd_key_name_len(const char *key, size_t len)
{
	while (len > 0 && key[len - 1] != '/')
		len--;
	return len ? len - 1 : 0;
}

bool etcd_key_number(const char *key, size_t len, int64_t lease, uint64_t *ret)
{
	size_t at = etcd_key_name_len(key, len);

	*ret = 0;
	return at < len && key[at] == '/' && etcd_segment(key + at + 1, len - at - 1, lease, ret);
}

void etcd_key_ends_in(struct etcd_key *key, bool hex, uint64_t number, int64_t lease)
{
	key->hex = hex;
	key->own = hex && lease && number == (uint64_t)lease;
}

size_t etcd_key_bytes(const struct etcd_key *key)
{
	return sizeof(*key) + key->key_len + key->value_len;
}

void etcd_key_attach(struct etcd_key *key, struct etcd_lease *lease)
{
	key->lease = lease;
	if (!lease)
		return;
	key->next_on_lease = lease->keys;
	key->lease_link = &lease->keys;
	if (key->next_on_lease)
		key->next_on_lease->lease_link = &key->next_on_lease;
	lease->keys = key;
}

void etcd_key_unlink(struct etcd_key *key)
{
	if (!key->lease)
		return;
	*key->lease_link = key->next_on_lease;
	if (key->next_on_lease)
		key->next_on_lease->lease_link = key->lease_link;
}

void etcd_group_count(struct etcd_group *g, const struct etcd_key *key, int by)
{
	if (!key->hex)
		return;
	g->n_hex += (uint32_t)by;
	g->n_own += (uint32_t)(key->own ? by : 0);
	g->n_values += (uint32_t)(key->value_len ? by : 0);
	if (key->own && by > 0)
		g->seen_own = true;
}

void etcd_group_free(struct etcd_store *store, struct etcd_group *g)
{
	*g->awake_link = g->next_awake;
	if (g->next_awake)
		g->next_awake->awake_link = g->awake_link;
	else
		store->awake_end = g->awake_link;
	if (g->keys != &g->only)
		free(g->keys);
	pool_put(&store->pool, g, sizeof(*g) + g->name_len);
}
