#include "config.h"

#include "source/etcd-table.h"
#include "base/map.h"
#include "base/mem.h"
#include "model/singleton.h"

#include <stdlib.h>
#include <string.h>

enum {
	DIRTY_KEPT = 4096,
	FORGET_MOST = 64, /* keys of a group that is forgotten early */
	DROPPED_MAX = 256 * 1024 * 1024,
	DROPPED_KEPT = 64 * 1024,
};

/* What keeps a key apart from the election of the same name. */
static const char beside_suffix[] = " (key)";

bool etcd_hex(const char *s, size_t len, uint64_t *ret)
{
	uint64_t value = 0;
	size_t i;

	if (!len || len > ETCD_HEX_MAX)
		return false;
	for (i = 0; i < len; i++) {
		if (s[i] >= '0' && s[i] <= '9')
			value = value << 4 | (uint64_t)(s[i] - '0');
		else if (s[i] >= 'a' && s[i] <= 'f')
			value = value << 4 | (uint64_t)(s[i] - 'a' + 10);
		else if (s[i] >= 'A' && s[i] <= 'F')
			value = value << 4 | (uint64_t)(s[i] - 'A' + 10);
		else
			return false;
	}
	*ret = value;
	return true;
}

bool etcd_segment(const char *s, size_t len, int64_t lease, uint64_t *ret)
{
	if (lease >= 0 || !len || s[0] != '-')
		return etcd_hex(s, len, ret);
	if (!etcd_hex(s + 1, len - 1, ret))
		return false;
	*ret = 0 - *ret;
	return *ret == (uint64_t)lease;
}

size_t etcd_hex_write(char *to, uint64_t value)
{
	size_t n = 1, i;

	while (n < ETCD_HEX_MAX && value >> (4 * n))
		n++;
	for (i = 0; i < n; i++)
		to[i] = "0123456789abcdef"[value >> (4 * (n - 1 - i)) & 15];
	return n;
}

size_t etcd_prefix_end(const char *prefix, size_t len, char *end)
{
	while (len) {
		unsigned char last = (unsigned char)prefix[len - 1];

		if (last < 0xff) {
			memcpy(end, prefix, len);
			end[len - 1] = (char)(last + 1);
			return len;
		}
		len--;
	}
	end[0] = '\0';
	return 1;
}

size_t etcd_store_path_leases(struct etcd_store *store, const char *path, size_t len,
	struct etcd_lease **ret, size_t most)
{
	uint64_t hash = etcd_table_hash(store, path, len);
	struct etcd_group *g;
	struct etcd_key **key;
	uint32_t i;
	size_t n = 0;

	etcd_table_index(store);
	g = etcd_rest_group(store, path, len, hash);
	if (!g || !etcd_group_is_queue(g)) {
		key = etcd_rest_key(store, path, len, hash);
		if (!key || !(*key)->lease || !most)
			return 0;
		ret[0] = (*key)->lease;
		return 1;
	}
	etcd_group_sort(g);
	for (i = 0; i < g->n && n < most; i++)
		if (g->keys[i]->hex && g->keys[i]->lease)
			ret[n++] = g->keys[i]->lease;
	return n;
}

/* ---- what a key is ---- */

bool etcd_group_is_queue(const struct etcd_group *g)
{
	if (!g->n_hex || !g->name_len || g->kind == ETCD_LAYOUT_KEY)
		return false;
	return g->kind != ETCD_LAYOUT_AUTO || g->seen_own;
}

bool etcd_key_is_candidate(const struct etcd_key *key)
{
	return key->hex && etcd_group_is_queue(key->group);
}

enum mechanism etcd_group_mechanism(const struct etcd_group *g)
{
	if (g->kind == ETCD_LAYOUT_ELECTION)
		return MECH_ETCD_ELECTION;
	if (g->kind == ETCD_LAYOUT_LOCK)
		return MECH_ETCD_LOCK;
	/* The mutex recipe writes no values. */
	return g->n_values ? MECH_ETCD_ELECTION : MECH_ETCD_LOCK;
}

const char *etcd_key_value(const struct etcd_key *key)
{
	return key->bytes + key->key_len;
}

/* Whether a key that is no candidate is a row of its own. */
static bool key_stands_alone(const struct etcd_key *key)
{
	return !etcd_key_is_candidate(key) && (key->lease || key->named);
}

static int compare_keys(const void *left, const void *right)
{
	const struct etcd_key *a = *(struct etcd_key *const *)left;
	const struct etcd_key *b = *(struct etcd_key *const *)right;

	if (a->create_revision != b->create_revision)
		return a->create_revision < b->create_revision ? -1 : 1;
	/* Made in one transaction: etcd's recipes never do that; any order will do, if it stays. */
	if (a->key_len != b->key_len)
		return a->key_len < b->key_len ? -1 : 1;
	return memcmp(a->bytes, b->bytes, a->key_len);
}

void etcd_group_sort(struct etcd_group *g)
{
	if (g->sorted)
		return;
	qsort(g->keys, g->n, sizeof(*g->keys), compare_keys);
	g->sorted = true;
}

const struct etcd_key *etcd_group_leader(struct etcd_group *g)
{
	uint32_t i;

	if (!etcd_group_is_queue(g))
		return NULL;
	etcd_group_sort(g);
	for (i = 0; i < g->n; i++)
		if (g->keys[i]->hex)
			return g->keys[i];
	return NULL;
}

bool etcd_lease_leads(const struct etcd_lease *lease)
{
	const struct etcd_key *key;
	uint32_t place, pos = 0;

	for (key = lease->keys; key; key = key->next_on_lease)
		if (!etcd_key_is_candidate(key) || key == etcd_group_leader(key->group))
			return true;
	while ((place = etcd_places_next(&lease->places, &pos)) != 0)
		if (place & ETCD_PLACE_MARK)
			return true;
	return false;
}

static const struct etcd_prefix *store_prefix(
	const struct etcd_store *store, const char *key, size_t len)
{
	const struct etcd_prefix *best = NULL;
	size_t i;

	for (i = 0; i < store->n_prefixes; i++) {
		const struct etcd_prefix *p = &store->prefixes[i];

		if (len < p->len || memcmp(key, p->bytes, p->len) != 0 ||
			(p->exact && len != p->len))
			continue;
		if (!best || p->len > best->len)
			best = p;
	}
	return best;
}

static struct etcd_name *store_name(const struct etcd_store *store, const char *path, size_t len)
{
	size_t i;

	for (i = 0; i < store->n_names; i++)
		if (store->names[i].len == len && memcmp(store->names[i].path, path, len) == 0)
			return &store->names[i];
	return NULL;
}

/* ---- marking ---- */

static void mark_group(struct etcd_store *store, struct etcd_group *g)
{
	store->changed = true;
	if (g->dirty)
		return;
	MEM_GROW(store->dirty_groups, store->n_dirty_groups, store->cap_dirty_groups);
	store->dirty_groups[store->n_dirty_groups++] = g;
	g->dirty = (uint32_t)store->n_dirty_groups;
}

static void mark_key(struct etcd_store *store, struct etcd_key *key)
{
	store->changed = true;
	if (key->dirty)
		return;
	MEM_GROW(store->dirty_keys, store->n_dirty_keys, store->cap_dirty_keys);
	store->dirty_keys[store->n_dirty_keys++] = key;
	key->dirty = (uint32_t)store->n_dirty_keys;
}

static void mark(struct etcd_store *store, struct etcd_key *key)
{
	if (etcd_key_is_candidate(key))
		mark_group(store, key->group);
	else if (key->told || key_stands_alone(key))
		mark_key(store, key);
}

static void unmark_key(struct etcd_store *store, struct etcd_key *key)
{
	struct etcd_key *last;

	if (!key->dirty)
		return;
	last = store->dirty_keys[--store->n_dirty_keys];
	store->dirty_keys[key->dirty - 1] = last;
	last->dirty = key->dirty;
	key->dirty = 0;
}

static void unmark_group(struct etcd_store *store, struct etcd_group *g)
{
	struct etcd_group *last;

	if (!g->dirty)
		return;
	last = store->dirty_groups[--store->n_dirty_groups];
	store->dirty_groups[g->dirty - 1] = last;
	last->dirty = g->dirty;
	g->dirty = 0;
}

static void drop_path(struct etcd_store *store, const char *path, size_t len, const char *suffix)
{
	size_t total = len + strlen(suffix);

	store->changed = true;
	/* Of so much at once some rows stay until the next whole picture. */
	if (store->dropped.max - store->dropped.len < sizeof(total) + total)
		return;
	str_add_mem(&store->dropped, &total, sizeof(total));
	str_add_mem(&store->dropped, path, len);
	str_add(&store->dropped, suffix);
}

static void drop_key(struct etcd_store *store, struct etcd_key *key)
{
	if (key->told)
		drop_path(store, key->bytes, key->key_len, key->beside ? beside_suffix : "");
	key->told = key->beside = false;
}

/* A group became a queue, or ceased to be one: its keys are told in another way. */
static void group_flipped(struct etcd_store *store, struct etcd_group *g)
{
	bool queue = etcd_group_is_queue(g);
	struct etcd_key **beside;
	uint32_t i;

	for (i = 0; i < g->n; i++) {
		if (!g->keys[i]->hex)
			continue;
		store->n_mute += queue ? 0 : (g->keys[i]->lease || g->keys[i]->named ? 0 : 1);
		store->n_mute -= queue ? (g->keys[i]->lease || g->keys[i]->named ? 0 : 1) : 0;
		if (queue)
			drop_key(store, g->keys[i]);
		else
			mark(store, g->keys[i]);
	}
	if (!queue && g->told)
		drop_path(store, g->name, g->name_len, "");
	if (!queue)
		g->told = false;
	else
		mark_group(store, g);
	/* In the first read nothing was told yet: each key looks for its name's group when it is.
	 */
	beside = store->live || store->told_keys
			 ? etcd_rest_key(store, g->name, g->name_len, g->hash)
			 : NULL;
	if (beside)
		mark(store, *beside);
}

/* ---- keys come and go ---- */

/* Room for one more key: the first stands in the group itself. */
static void group_room(struct etcd_group *g)
{
	if (!g->n && !g->cap) {
		g->keys = &g->only;
		return;
	}
	if (g->keys == &g->only) {
		g->cap = 4;
		g->keys = xcalloc(g->cap, sizeof(*g->keys));
		g->keys[0] = g->only;
		return;
	}
	MEM_GROW(g->keys, g->n, g->cap);
}

/*
 * Whether a name that is not the last key's is new. All keys of one name stand together, but for
 * those of names within it.
 */
static bool name_is_new(const struct etcd_store *store, const char *name, size_t len)
{
	const struct etcd_key *last = store->last_key;

	/* Keys without a slash are spread over all. */
	if (!len)
		return false;
	if (!last)
		return len + 1 >= store->range_len;
	return last->key_len <= len || memcmp(last->bytes, name, len) != 0 ||
	       last->bytes[len] != '/';
}

static struct etcd_group *group_find(struct etcd_store *store, const char *name, size_t len)
{
	const struct etcd_key *last = store->last_key;

	if (!store->indexed) {
		if (last && last->group->name_len == len &&
			memcmp(last->group->name, name, len) == 0)
			return last->group;
		if (!store->n_groups || name_is_new(store, name, len))
			return NULL;
		etcd_table_index(store);
	}
	return etcd_rest_group(store, name, len, etcd_table_hash(store, name, len));
}

static struct etcd_group *group_get(
	struct etcd_store *store, const char *name, size_t len, enum etcd_layout_kind kind)
{
	struct etcd_group *g = group_find(store, name, len);

	if (g)
		return g;
	g = pool_get(&store->pool, sizeof(*g) + len);
	memcpy(g->name, name, len);
	g->name_len = (uint32_t)len;
	g->kind = kind;
	g->sorted = true;
	g->one_range = !store->indexed && len + 1 >= store->range_len;
	etcd_table_add_group(store, g);
	return g;
}

static void group_remove(struct etcd_store *store, struct etcd_group *g)
{
	struct etcd_group **at = etcd_table_group(store, g->name, g->name_len, g->hash);

	unmark_group(store, g);
	*at = g->next_same;
	store->n_groups--;
	etcd_group_free(store, g);
}

/* The last key may have left it: then it is forgotten. */
static void lease_leave(struct etcd_store *store, struct etcd_lease *lease)
{
	if (!lease || lease->keys || lease->places.n)
		return;
	if (lease->deadline_ms != TIME_UNKNOWN &&
		lease->deadline_ms - store->now_ms > lease->granted_ms / 3)
		store->n_lost++;
	etcd_table_drop_lease(store, lease);
}

static void group_add(struct etcd_store *store, struct etcd_group *g, struct etcd_key *key)
{
	bool was = etcd_group_is_queue(g);

	key->group = g;
	group_room(g);
	g->sorted = g->sorted && (!g->n || compare_keys(&g->keys[g->n - 1], &key) < 0);
	g->keys[g->n++] = key;
	/* Counted as it would be without its coming changing what the group is. */
	if (!(was && key->hex) && !key->lease && !key->named)
		store->n_mute++;
	etcd_group_count(g, key, 1);
	if (etcd_group_is_queue(g) != was)
		group_flipped(store, g);
	if (!key_stands_alone(key))
		drop_key(store, key);
	mark(store, key);
}

static uint32_t group_index(struct etcd_group *g, const struct etcd_key *key)
{
	uint32_t low = 0, high = g->n;

	etcd_group_sort(g);
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (compare_keys(&g->keys[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Takes a key out of its group and out of the picture; the group goes with its last key. */
static void group_take(struct etcd_store *store, struct etcd_key *key)
{
	struct etcd_group *g = key->group;
	bool was = etcd_group_is_queue(g), candidate = was && key->hex;
	uint32_t at = group_index(g, key);

	if (!candidate && !key->lease && !key->named)
		store->n_mute--;
	drop_key(store, key);
	unmark_key(store, key);
	memmove(&g->keys[at], &g->keys[at + 1], (g->n - at - 1) * sizeof(*g->keys));
	g->n--;
	etcd_group_count(g, key, -1);
	if (was && !etcd_group_is_queue(g))
		group_flipped(store, g);
	else if (candidate)
		mark_group(store, g);
	if (!g->n)
		group_remove(store, g);
}

static struct etcd_key *key_new(struct etcd_store *store, const struct etcd_kv *kv)
{
	size_t value_len = kv->value_len > ETCD_VALUE_MAX ? ETCD_VALUE_MAX : kv->value_len;
	struct etcd_key *key = pool_get(&store->pool, sizeof(*key) + kv->key_len + value_len);

	memcpy(key->bytes, kv->key, kv->key_len);
	if (value_len)
		memcpy(key->bytes + kv->key_len, kv->value, value_len);
	key->key_len = (uint32_t)kv->key_len;
	key->value_len = (uint32_t)value_len;
	key->create_revision = kv->create_revision;
	key->mod_revision = kv->mod_revision;
	key->named = store_name(store, kv->key, kv->key_len) != NULL;
	return key;
}

/* What is kept of a key that is written again. */
struct etcd_before {
	bool told, beside;
	bool seen_own; /* of its group, which may have gone with it */
};

static void key_add(
	struct etcd_store *store, const struct etcd_kv *kv, const struct etcd_before *before)
{
	size_t name_len = etcd_key_name_len(kv->key, kv->key_len);
	const struct etcd_prefix *prefix;
	struct etcd_group *g;
	struct etcd_key *key;
	uint64_t number;
	bool hex = etcd_key_number(kv->key, kv->key_len, kv->lease, &number);

	if (!hex && !kv->lease && !store_name(store, kv->key, kv->key_len)) {
		store->n_passed++;
		if (before->told)
			drop_path(store, kv->key, kv->key_len, before->beside ? beside_suffix : "");
		return;
	}
	key = key_new(store, kv);
	etcd_key_ends_in(key, hex, number, kv->lease);
	key->told = before->told;
	key->beside = before->beside;
	etcd_table_add_key(store, key);
	etcd_key_attach(key, etcd_table_lease(store, kv->lease));
	prefix = store_prefix(store, kv->key, kv->key_len);
	g = group_get(store, kv->key, name_len,
		prefix && !prefix->exact ? prefix->kind : ETCD_LAYOUT_AUTO);
	g->seen_own = g->seen_own || before->seen_own;
	group_add(store, g, key);
	store->last_key = key;
}

/* Returns the lease that it was on, for lease_leave; NULL: none. */
static struct etcd_lease *key_remove(struct etcd_store *store, struct etcd_key **at)
{
	struct etcd_key *key = *at;
	struct etcd_lease *lease = key->lease;

	*at = key->next_same;
	store->n_keys--;
	group_take(store, key);
	etcd_key_unlink(key);
	pool_put(&store->pool, key, etcd_key_bytes(key));
	return lease;
}

/* Written again, and nothing changed that decides what it is: only its value and its revision. */
static bool key_rewrite(struct etcd_store *store, struct etcd_key *key, const struct etcd_kv *kv)
{
	int64_t lease = key->lease ? key->lease->id : 0;

	if (lease != kv->lease || key->create_revision != kv->create_revision ||
		key->value_len != kv->value_len)
		return false;
	if (key->value_len)
		memcpy(key->bytes + key->key_len, kv->value, key->value_len);
	key->mod_revision = kv->mod_revision;
	mark(store, key);
	return true;
}

void etcd_store_put(struct etcd_store *store, const struct etcd_kv *kv)
{
	struct etcd_key **at = NULL;
	struct etcd_lease *lease = NULL;
	struct etcd_before before = { false, false, false };

	/* In the first read every key comes once. */
	if (store->live) {
		etcd_table_index(store);
		at = etcd_rest_key(
			store, kv->key, kv->key_len, etcd_table_hash(store, kv->key, kv->key_len));
	}
	if (kv->key_len > UINT32_MAX / 4)
		return;
	if (at && key_rewrite(store, *at, kv))
		return;
	if (at) {
		/* The row stays, with other facts: it must not be dropped and told again. */
		before = (struct etcd_before){ (*at)->told, (*at)->beside, (*at)->group->seen_own };
		(*at)->told = false;
		lease = key_remove(store, at);
	} else if (store->live && kv->create_revision != kv->mod_revision && store->n_passed) {
		/* It was passed over before, and counted; now it is looked at anew. */
		store->n_passed--;
	}
	key_add(store, kv, &before);
	/* Mostly it is on the same one again: what is known of that stays. */
	lease_leave(store, lease);
}

void etcd_store_delete(struct etcd_store *store, const char *key, size_t len)
{
	struct etcd_key **at;

	etcd_table_index(store);
	at = etcd_rest_key(store, key, len, etcd_table_hash(store, key, len));
	if (at)
		lease_leave(store, key_remove(store, at));
	else if (store->n_passed > 0)
		store->n_passed--;
}

int64_t etcd_store_created(struct etcd_store *store, const char *key, size_t len)
{
	struct etcd_key **at;

	etcd_table_index(store);
	at = etcd_rest_key(store, key, len, etcd_table_hash(store, key, len));
	return at ? (*at)->create_revision : 0;
}

void etcd_store_touch(struct etcd_store *store, struct etcd_lease *lease)
{
	struct etcd_key *key;

	etcd_rest_lease(store, lease);
	for (key = lease->keys; key; key = key->next_on_lease)
		mark(store, key);
}

/* ---- the store as a whole ---- */

struct etcd_store *etcd_store_new(const struct etcd_prefix *prefixes, size_t n_prefixes)
{
	struct etcd_store *store = xcalloc(1, sizeof(*store));
	struct map seed;

	/* A map draws its seed at random. */
	map_init(&seed);
	memcpy(store->seed, seed.seed, sizeof(store->seed));
	memcpy(store->cold.seed, seed.seed, sizeof(store->cold.seed));
	map_release(&seed);
	store->prefixes = prefixes;
	store->n_prefixes = n_prefixes;
	str_init(&store->dropped, DROPPED_MAX);
	store->indexed = true;
	store->loose_keys_end = &store->loose_keys;
	store->awake_end = &store->awake;
	return store;
}

void etcd_store_clear(struct etcd_store *store)
{
	struct etcd_lease *lease;
	struct etcd_group *g;
	size_t i;

	/* What is not in the pool; the rest goes with it. */
	for (g = store->awake; g; g = g->next_awake)
		if (g->keys != &g->only)
			free(g->keys);
	store->awake = NULL;
	store->awake_end = &store->awake;
	for (i = 0; i < store->size_leases; i++)
		for (lease = store->leases[i]; lease; lease = lease->next_same) {
			etcd_lease_forget_others(lease);
			etcd_places_clear(&lease->places);
		}
	pool_clear(&store->pool);
	pool_clear(&store->lease_pool);
	etcd_table_empty(store);
	etcd_cold_clear(&store->cold);
	store->n_cold_keys = 0;
	free(store->leases);
	free(store->numbered);
	store->leases = NULL;
	store->numbered = NULL;
	store->n_numbered = store->cap_numbered = store->free_number = 0;
	store->n_leases = store->size_leases = 0;
	store->loose_keys = store->last_key = NULL;
	store->loose_keys_end = &store->loose_keys;
	store->indexed = true;
	store->forget_told = false;
	store->n_passed = store->n_mute = 0;
	store->n_dirty_groups = store->n_dirty_keys = 0;
	store->told_groups = store->told_keys = store->asked_groups = store->asked_keys = 0;
	store->asked_in = 0;
	str_clear(&store->dropped);
	for (i = 0; i < store->n_names; i++)
		store->names[i].free_told = false;
	store->changed = true;
	store->live = false;
}

void etcd_store_range(struct etcd_store *store, size_t prefix_len)
{
	if (!store->n_keys && !store->live)
		store->indexed = false;
	store->last_key = NULL;
	store->range_len = prefix_len;
}

void etcd_store_forget_told(struct etcd_store *store)
{
	store->forget_told = true;
}

/* The tables are made when something is looked for: the first picture need not wait for them. */
void etcd_store_live(struct etcd_store *store)
{
	store->live = true;
}

void etcd_store_free(struct etcd_store *store)
{
	size_t i;

	if (!store)
		return;
	etcd_store_clear(store);
	for (i = 0; i < store->n_names; i++)
		free(store->names[i].path);
	free(store->names);
	free(store->dirty_groups);
	free(store->dirty_keys);
	str_release(&store->dropped);
	free(store);
}

void etcd_store_prefixes(
	struct etcd_store *store, const struct etcd_prefix *prefixes, size_t n_prefixes)
{
	store->prefixes = prefixes;
	store->n_prefixes = n_prefixes;
}

void etcd_store_name(struct etcd_store *store, const char *path, size_t len)
{
	if (store_name(store, path, len))
		return;
	MEM_GROW(store->names, store->n_names, store->cap_names);
	store->names[store->n_names++] =
		(struct etcd_name){ .path = xstrndup(path, len), .len = len };
	store->changed = true;
}

size_t etcd_store_keys(const struct etcd_store *store)
{
	return store->n_keys + store->n_cold_keys;
}

size_t etcd_store_leases(const struct etcd_store *store)
{
	return store->n_leases;
}

int64_t etcd_store_take_lost(struct etcd_store *store)
{
	int64_t n = store->n_lost;

	store->n_lost = 0;
	return n;
}

void etcd_store_at(struct etcd_store *store, int64_t now_ms)
{
	store->now_ms = now_ms;
}

int64_t etcd_store_ignored(const struct etcd_store *store)
{
	return store->n_passed + store->n_mute;
}

size_t etcd_store_untold(const struct etcd_store *store)
{
	return store->n_dirty_groups - store->told_groups + store->n_dirty_keys - store->told_keys;
}

bool etcd_store_changed(const struct etcd_store *store)
{
	return store->changed;
}

/* ---- telling ---- */

/* Whether something stands in the picture under that path, or will in a moment: then the row isn't
 * gone, only changed. */
static bool path_lives(struct etcd_store *store, const char *path, size_t len)
{
	uint64_t hash = etcd_table_hash(store, path, len);
	struct etcd_group *g;
	struct etcd_key **key;

	etcd_table_index(store);
	g = etcd_rest_group(store, path, len, hash);
	key = etcd_rest_key(store, path, len, hash);
	return (g && etcd_group_is_queue(g)) || (key && key_stands_alone(*key)) ||
	       store_name(store, path, len);
}

static void tell_dropped(struct etcd_store *store, const struct etcd_teller *teller, void *arg)
{
	size_t at = 0, len;

	while (at + sizeof(len) <= store->dropped.len) {
		memcpy(&len, store->dropped.s + at, sizeof(len));
		at += sizeof(len);
		if (!path_lives(store, store->dropped.s + at, len))
			teller->drop(arg, store->dropped.s + at, len);
		at += len;
	}
	str_clear(&store->dropped);
	if (store->dropped.cap <= DROPPED_KEPT)
		return;
	str_release(&store->dropped);
	str_init(&store->dropped, DROPPED_MAX);
}

static void tell_key(
	struct etcd_store *store, struct etcd_key *key, const struct etcd_teller *teller, void *arg)
{
	struct etcd_group *same;
	struct str path;
	bool beside;

	etcd_table_index(store);
	same = etcd_rest_group(store, key->bytes, key->key_len, key->hash);
	beside = same && etcd_group_is_queue(same);
	key->dirty = 0;
	if (!key_stands_alone(key))
		return;
	if (key->told && key->beside && !beside) {
		str_init(&path, SIZE_MAX / 4);
		str_add_mem(&path, key->bytes, key->key_len);
		str_add(&path, beside_suffix);
		teller->drop(arg, path.s, path.len);
		str_release(&path);
	}
	key->told = true;
	key->beside = beside;
	str_init(&path, SIZE_MAX / 4);
	str_add_mem(&path, key->bytes, key->key_len);
	if (beside)
		str_add(&path, beside_suffix);
	teller->key(arg, key, path.s, path.len);
	str_release(&path);
}

static void tell_group(
	struct etcd_store *store, struct etcd_group *g, const struct etcd_teller *teller, void *arg)
{
	g->dirty = 0;
	if (!etcd_group_is_queue(g))
		return;
	etcd_group_sort(g);
	g->told = true;
	teller->group(arg, g, store_name(store, g->name, g->name_len) != NULL);
}

/* ---- telling what is whole while more is being read ---- */

/* Whether no key behind `last` can be NAME/... */
static bool name_is_past(const char *name, size_t len, const char *last, size_t last_len)
{
	int diff = memcmp(name, last, len < last_len ? len : last_len);

	if (diff)
		return diff < 0;
	return last_len > len && (unsigned char)last[len] > '/';
}

static bool group_is_read(const struct etcd_group *g)
{
	uint32_t i;

	for (i = 0; i < g->n; i++)
		if (g->keys[i]->lease && g->keys[i]->lease->read_ms == TIME_UNKNOWN)
			return false;
	return true;
}

/* Whether a group and its keys are the first of those that are in no table. */
static bool group_is_first(const struct etcd_store *store, const struct etcd_group *g)
{
	const struct etcd_key *key = store->loose_keys;
	uint32_t i, j;

	if (store->indexed || store->awake != g)
		return false;
	for (i = 0; i < g->n; i++, key = key->next_same) {
		for (j = 0; j < g->n && g->keys[j] != key; j++)
			;
		if (j == g->n)
			return false;
	}
	return true;
}

/* A group that was told, and of which no more keys come. */
static void group_forget(struct etcd_store *store, struct etcd_group *g)
{
	uint32_t i;

	if (!store->forget_told || store->n_names || !g->told || !g->one_range ||
		g->n != g->n_hex || g->n > FORGET_MOST || !group_is_first(store, g) ||
		(store->last_key && store->last_key->group == g))
		return;
	for (i = 0; i < g->n; i++) {
		struct etcd_key *key = store->loose_keys;

		store->loose_keys = key->next_same;
		etcd_key_unlink(key);
		pool_put(&store->pool, key, etcd_key_bytes(key));
	}
	if (!store->loose_keys)
		store->loose_keys_end = &store->loose_keys;
	store->n_groups--;
	etcd_group_free(store, g);
}

bool etcd_store_tell_some(struct etcd_store *store, const struct etcd_teller *teller, void *arg,
	const char *last, size_t last_len, bool read, size_t most)
{
	for (; most && store->told_keys < store->n_dirty_keys; most--) {
		struct etcd_key *key = store->dirty_keys[store->told_keys];

		if (!name_is_past(key->bytes, key->key_len, last, last_len) ||
			(read && key->lease && key->lease->read_ms == TIME_UNKNOWN))
			break;
		store->told_keys++;
		tell_key(store, key, teller, arg);
	}
	for (; most && store->told_groups < store->n_dirty_groups; most--) {
		struct etcd_group *g = store->dirty_groups[store->told_groups];

		if (!name_is_past(g->name, g->name_len, last, last_len) ||
			(read && !group_is_read(g)))
			break;
		tell_group(store, g, teller, arg);
		store->dirty_groups[store->told_groups++] = NULL;
		group_forget(store, g);
	}
	return !most;
}

struct etcd_lease *etcd_store_next_unread(
	struct etcd_store *store, const char *last, size_t last_len)
{
	while (store->asked_keys < store->n_dirty_keys) {
		struct etcd_key *key = store->dirty_keys[store->asked_keys];

		if (!name_is_past(key->bytes, key->key_len, last, last_len))
			break;
		store->asked_keys++;
		if (key->lease && key->lease->read_ms == TIME_UNKNOWN && !key->lease->busy)
			return key->lease;
	}
	if (store->asked_groups < store->told_groups) {
		store->asked_groups = store->told_groups;
		store->asked_in = 0;
	}
	while (store->asked_groups < store->n_dirty_groups) {
		struct etcd_group *g = store->dirty_groups[store->asked_groups];

		if (!name_is_past(g->name, g->name_len, last, last_len))
			break;
		while (store->asked_in < g->n) {
			struct etcd_lease *lease = g->keys[store->asked_in++]->lease;

			if (lease && lease->read_ms == TIME_UNKNOWN && !lease->busy)
				return lease;
		}
		store->asked_groups++;
		store->asked_in = 0;
	}
	return NULL;
}

static void tell_names(struct etcd_store *store, const struct etcd_teller *teller, void *arg)
{
	size_t i;

	if (store->n_names)
		etcd_table_index(store);
	for (i = 0; i < store->n_names; i++) {
		struct etcd_name *name = &store->names[i];
		uint64_t hash = etcd_table_hash(store, name->path, name->len);
		struct etcd_group *g = etcd_rest_group(store, name->path, name->len, hash);
		const struct etcd_prefix *prefix = store_prefix(store, name->path, name->len);
		enum mechanism mechanism = MECH_ETCD_KEY;

		if ((g && etcd_group_is_queue(g)) ||
			etcd_rest_key(store, name->path, name->len, hash)) {
			name->free_told = false;
			continue;
		}
		if (name->free_told)
			continue;
		if (prefix && !prefix->exact && prefix->kind == ETCD_LAYOUT_ELECTION)
			mechanism = MECH_ETCD_ELECTION;
		else if (prefix && !prefix->exact && prefix->kind == ETCD_LAYOUT_LOCK)
			mechanism = MECH_ETCD_LOCK;
		name->free_told = true;
		teller->free(arg, name->path, name->len, mechanism);
	}
}

void etcd_store_tell(struct etcd_store *store, const struct etcd_teller *teller, void *arg)
{
	size_t i;

	tell_dropped(store, teller, arg);
	for (i = store->told_keys; i < store->n_dirty_keys; i++)
		tell_key(store, store->dirty_keys[i], teller, arg);
	for (i = store->told_groups; i < store->n_dirty_groups; i++)
		tell_group(store, store->dirty_groups[i], teller, arg);
	store->n_dirty_keys = store->n_dirty_groups = 0;
	store->told_groups = store->told_keys = store->asked_groups = store->asked_keys = 0;
	store->asked_in = 0;
	/* After a first picture: changes come in small numbers from now on. */
	if (store->cap_dirty_groups > DIRTY_KEPT || store->cap_dirty_keys > DIRTY_KEPT) {
		free(store->dirty_groups);
		free(store->dirty_keys);
		store->dirty_groups = NULL;
		store->dirty_keys = NULL;
		store->cap_dirty_groups = store->cap_dirty_keys = 0;
	}
	tell_names(store, teller, arg);
	store->changed = false;
}
