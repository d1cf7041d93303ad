#include "config.h"

#include "source/etcd-store.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/str.h"
#include "model/singleton.h"

#include <stdlib.h>
#include <string.h>

enum {
	TABLE_FIRST = 64,
	EXPECT_MOST = 1 << 18,
	DIRTY_KEPT = 4096,
	FORGET_MOST = 64, /* keys of a group that is forgotten early */
	DROPPED_MAX = 256 * 1024 * 1024,
	HEX_MAX = 16
};

/* What keeps a key apart from the election of the same name. */
static const char beside_suffix[] = " (key)";

/*
 * Tables with the links in the members: at a hundred thousand keys, each on a lease of its own, a
 * general map would cost more than the keys.
 */
struct etcd_store {
	const struct etcd_prefix *prefixes;
	size_t n_prefixes;
	uint64_t seed[2];
	struct pool pool; /* keys, groups, leases */
	struct etcd_key **keys;
	struct etcd_group **groups;
	struct etcd_lease **leases;
	size_t n_keys, size_keys, n_groups, size_groups, n_leases, size_leases;
	int64_t n_passed; /* keys that are not kept */
	int64_t n_mute;   /* kept, and neither candidate nor shown by themselves */
	struct etcd_group **dirty_groups;
	struct etcd_key **dirty_keys;
	size_t n_dirty_groups, cap_dirty_groups, n_dirty_keys, cap_dirty_keys;
	/* of these, during the first read: those told, and those whose leases were looked at */
	size_t told_groups, told_keys, asked_groups, asked_keys;
	uint32_t asked_in;  /* how many keys of the next group's */
	struct str dropped; /* paths, each after its length */
	struct etcd_name *names;
	size_t n_names, cap_names;
	int64_t now_ms, n_lost;
	bool changed;
	bool live; /* fed by events, and no longer by the first read */
	/*
	 * A first read gives the keys in order, each once: which name one belongs to follows from
	 * the one before it, and the tables are made when something is first looked for.
	 */
	bool indexed;
	size_t range_len;            /* of the prefix that all keys of the range have */
	struct etcd_key *last_key;   /* of this range; NULL: it begins */
	struct etcd_key *loose_keys; /* in no table yet, in order; linked by next_same */
	struct etcd_key **loose_keys_end;
	struct etcd_group *loose_groups, **loose_groups_end;
	bool forget_told;
};

bool etcd_hex(const char *s, size_t len, uint64_t *ret)
{
	uint64_t value = 0;
	size_t i;

	if (!len || len > HEX_MAX)
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

/* ---- the tables ---- */

static uint64_t store_hash(const struct etcd_store *store, const char *bytes, size_t len)
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

/* Makes the tables of what was read so far; what comes next goes into them. */
static void store_index(struct etcd_store *store)
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
	store->loose_groups_end = &store->loose_groups;
	while ((key = store->loose_keys) != NULL) {
		store->loose_keys = key->next_same;
		key->hash = store_hash(store, key->bytes, key->key_len);
		keys_insert(store, key);
	}
	while ((g = store->loose_groups) != NULL) {
		store->loose_groups = g->next_same;
		g->hash = store_hash(store, g->name, g->name_len);
		groups_insert(store, g);
	}
}

static struct etcd_key **key_place(
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

static struct etcd_group **group_place(
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

size_t etcd_store_path_leases(struct etcd_store *store, const char *path, size_t len,
	struct etcd_lease **ret, size_t most)
{
	uint64_t hash = store_hash(store, path, len);
	struct etcd_group **g;
	struct etcd_key **key;
	uint32_t i;
	size_t n = 0;

	store_index(store);
	g = group_place(store, path, len, hash);
	key = key_place(store, path, len, hash);

	if (!g || !etcd_group_is_queue(*g)) {
		if (!key || !(*key)->lease || !most)
			return 0;
		ret[0] = (*key)->lease;
		return 1;
	}
	etcd_group_sort(*g);
	for (i = 0; i < (*g)->n && n < most; i++)
		if ((*g)->keys[i]->hex && (*g)->keys[i]->lease)
			ret[n++] = (*g)->keys[i]->lease;
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

bool etcd_lease_leads(const struct etcd_lease *lease)
{
	const struct etcd_key *key;
	uint32_t i;

	for (key = lease->keys; key; key = key->next_on_lease) {
		struct etcd_group *g = key->group;

		if (!etcd_key_is_candidate(key))
			return true;
		etcd_group_sort(g);
		for (i = 0; i < g->n && !g->keys[i]->hex; i++)
			;
		if (i < g->n && g->keys[i] == key)
			return true;
	}
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

	str_add_mem(&store->dropped, &total, sizeof(total));
	str_add_mem(&store->dropped, path, len);
	str_add(&store->dropped, suffix);
	store->changed = true;
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
	beside = store->live || store->told_keys ? key_place(store, g->name, g->name_len, g->hash)
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

static void group_free(struct etcd_store *store, struct etcd_group *g)
{
	if (g->keys != &g->only)
		free(g->keys);
	pool_put(&store->pool, g, sizeof(*g) + g->name_len);
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
	struct etcd_group **at;

	if (!store->indexed) {
		if (last && last->group->name_len == len &&
			memcmp(last->group->name, name, len) == 0)
			return last->group;
		if (!store->n_groups || name_is_new(store, name, len))
			return NULL;
		store_index(store);
	}
	at = group_place(store, name, len, store_hash(store, name, len));
	return at ? *at : NULL;
}

static struct etcd_group *group_get(
	struct etcd_store *store, const char *name, size_t len, enum etcd_layout_kind kind)
{
	struct etcd_group *g = group_find(store, name, len);

	if (g)
		return g;
	if (store->indexed && store->n_groups >= store->size_groups)
		groups_grow(store);
	g = pool_get(&store->pool, sizeof(*g) + len);
	memcpy(g->name, name, len);
	g->name_len = (uint32_t)len;
	g->kind = kind;
	g->sorted = true;
	store->n_groups++;
	if (store->indexed) {
		g->hash = store_hash(store, name, len);
		groups_insert(store, g);
	} else {
		g->one_range = len + 1 >= store->range_len;
		*store->loose_groups_end = g;
		store->loose_groups_end = &g->next_same;
	}
	return g;
}

static void group_remove(struct etcd_store *store, struct etcd_group *g)
{
	struct etcd_group **at = group_place(store, g->name, g->name_len, g->hash);

	unmark_group(store, g);
	*at = g->next_same;
	store->n_groups--;
	group_free(store, g);
}

static struct etcd_lease *lease_get(struct etcd_store *store, int64_t id)
{
	struct etcd_lease *lease = etcd_store_lease(store, id);
	size_t at;

	if (!id || lease)
		return lease;
	if (store->n_leases >= store->size_leases)
		leases_grow(store);
	lease = pool_get(&store->pool, sizeof(*lease));
	lease->id = id;
	lease->granted_ms = lease->deadline_ms = TIME_UNKNOWN;
	lease->read_ms = lease->renewed_ms = lease->others_ms = TIME_UNKNOWN;
	at = lease_hash(store, id) & (store->size_leases - 1);
	lease->next_same = store->leases[at];
	store->leases[at] = lease;
	store->n_leases++;
	return lease;
}

static void lease_forget_others(struct etcd_lease *lease)
{
	uint32_t i;

	for (i = 0; lease->others && i < lease->others->n; i++)
		free(lease->others->keys[i]);
	free(lease->others);
	lease->others = NULL;
}

static void lease_attach(struct etcd_key *key, struct etcd_lease *lease)
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

static void lease_detach(struct etcd_store *store, struct etcd_key *key)
{
	struct etcd_lease *lease = key->lease, **at;

	if (!lease)
		return;
	*key->lease_link = key->next_on_lease;
	if (key->next_on_lease)
		key->next_on_lease->lease_link = key->lease_link;
	key->lease = NULL;
	if (lease->keys)
		return;
	if (lease->deadline_ms != TIME_UNKNOWN &&
		lease->deadline_ms - store->now_ms > lease->granted_ms / 3)
		store->n_lost++;
	at = lease_place(store, lease->id);
	*at = lease->next_same;
	store->n_leases--;
	lease_forget_others(lease);
	pool_put(&store->pool, lease, sizeof(*lease));
}

static void group_count(struct etcd_group *g, const struct etcd_key *key, int by)
{
	if (!key->hex)
		return;
	g->n_hex += (uint32_t)by;
	g->n_own += (uint32_t)(key->own ? by : 0);
	g->n_values += (uint32_t)(key->value_len ? by : 0);
	if (key->own && by > 0)
		g->seen_own = true;
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
	group_count(g, key, 1);
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
	group_count(g, key, -1);
	if (was && !etcd_group_is_queue(g))
		group_flipped(store, g);
	else if (candidate)
		mark_group(store, g);
	if (!g->n)
		group_remove(store, g);
}

/* Where the last slash is: the name is what stands before it. Without one: the name is empty, and
 * is none. */
static size_t key_name_len(const char *key, size_t len)
{
	while (len > 0 && key[len - 1] != '/')
		len--;
	return len ? len - 1 : 0;
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

static void key_add(struct etcd_store *store, const struct etcd_kv *kv, bool told, bool beside)
{
	size_t name_len = key_name_len(kv->key, kv->key_len);
	size_t at = name_len < kv->key_len && kv->key[name_len] == '/' ? name_len + 1 : 0;
	const struct etcd_prefix *prefix;
	struct etcd_key *key;
	uint64_t number = 0;
	bool hex = at && etcd_hex(kv->key + at, kv->key_len - at, &number);

	if (!hex && !kv->lease && !store_name(store, kv->key, kv->key_len)) {
		store->n_passed++;
		if (told)
			drop_path(store, kv->key, kv->key_len, beside ? beside_suffix : "");
		return;
	}
	if (store->indexed && store->n_keys >= store->size_keys)
		keys_grow(store);
	key = key_new(store, kv);
	key->hex = hex;
	key->own = hex && kv->lease && number == (uint64_t)kv->lease;
	key->told = told;
	key->beside = beside;
	store->n_keys++;
	if (store->indexed) {
		key->hash = store_hash(store, key->bytes, key->key_len);
		keys_insert(store, key);
	} else {
		*store->loose_keys_end = key;
		store->loose_keys_end = &key->next_same;
	}
	lease_attach(key, lease_get(store, kv->lease));
	prefix = store_prefix(store, kv->key, kv->key_len);
	group_add(store,
		group_get(store, kv->key, name_len,
			prefix && !prefix->exact ? prefix->kind : ETCD_LAYOUT_AUTO),
		key);
	store->last_key = key;
}

static void key_remove(struct etcd_store *store, struct etcd_key **at)
{
	struct etcd_key *key = *at;

	*at = key->next_same;
	store->n_keys--;
	group_take(store, key);
	lease_detach(store, key);
	pool_put(&store->pool, key, sizeof(*key) + key->key_len + key->value_len);
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
	bool told = false, beside = false;

	/* In the first read every key comes once. */
	if (store->live)
		at = key_place(
			store, kv->key, kv->key_len, store_hash(store, kv->key, kv->key_len));
	if (kv->key_len > UINT32_MAX / 4)
		return;
	if (at && key_rewrite(store, *at, kv))
		return;
	if (at) {
		/* The row stays, with other facts: it must not be dropped and told again. */
		told = (*at)->told;
		beside = (*at)->beside;
		(*at)->told = false;
		key_remove(store, at);
	} else if (store->live && kv->create_revision != kv->mod_revision && store->n_passed) {
		/* It was passed over before, and counted; now it is looked at anew. */
		store->n_passed--;
	}
	key_add(store, kv, told, beside);
}

void etcd_store_delete(struct etcd_store *store, const char *key, size_t len)
{
	struct etcd_key **at = key_place(store, key, len, store_hash(store, key, len));

	if (at)
		key_remove(store, at);
	else if (store->n_passed > 0)
		store->n_passed--;
}

void etcd_store_touch(struct etcd_store *store, struct etcd_lease *lease)
{
	struct etcd_key *key;

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
	map_release(&seed);
	store->prefixes = prefixes;
	store->n_prefixes = n_prefixes;
	str_init(&store->dropped, DROPPED_MAX);
	store->indexed = true;
	store->loose_keys_end = &store->loose_keys;
	store->loose_groups_end = &store->loose_groups;
	return store;
}

void etcd_store_clear(struct etcd_store *store)
{
	struct etcd_lease *lease;
	struct etcd_group *g;
	size_t i;

	/* What is not in the pool; the rest goes with it. */
	for (g = store->loose_groups; g; g = g->next_same)
		if (g->keys != &g->only)
			free(g->keys);
	for (i = 0; i < store->size_groups; i++)
		for (g = store->groups[i]; g; g = g->next_same)
			if (g->keys != &g->only)
				free(g->keys);
	for (i = 0; i < store->size_leases; i++)
		for (lease = store->leases[i]; lease; lease = lease->next_same)
			lease_forget_others(lease);
	pool_clear(&store->pool);
	free(store->keys);
	free(store->groups);
	free(store->leases);
	store->keys = NULL;
	store->groups = NULL;
	store->leases = NULL;
	store->n_keys = store->size_keys = store->n_groups = store->size_groups = 0;
	store->n_leases = store->size_leases = 0;
	store->loose_keys = store->last_key = NULL;
	store->loose_groups = NULL;
	store->loose_keys_end = &store->loose_keys;
	store->loose_groups_end = &store->loose_groups;
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

void etcd_store_live(struct etcd_store *store)
{
	store_index(store);
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
	return store->n_keys;
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

/* ---- telling ---- */

/* Whether something stands in the picture under that path, or will in a moment: then the row isn't
 * gone, only changed. */
static bool path_lives(struct etcd_store *store, const char *path, size_t len)
{
	uint64_t hash = store_hash(store, path, len);
	struct etcd_group **g;
	struct etcd_key **key;

	store_index(store);
	g = group_place(store, path, len, hash);
	key = key_place(store, path, len, hash);

	return (g && etcd_group_is_queue(*g)) || (key && key_stands_alone(*key)) ||
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
}

static void tell_key(
	struct etcd_store *store, struct etcd_key *key, const struct etcd_teller *teller, void *arg)
{
	struct etcd_group **same;
	struct str path;
	bool beside;

	store_index(store);
	same = group_place(store, key->bytes, key->key_len, key->hash);
	beside = same && etcd_group_is_queue(*same);
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

	if (store->indexed || store->loose_groups != g)
		return false;
	for (i = 0; i < g->n; i++, key = key->next_same) {
		for (j = 0; j < g->n && g->keys[j] != key; j++)
			;
		if (j == g->n)
			return false;
	}
	return true;
}

static void lease_forget_key(struct etcd_key *key)
{
	if (!key->lease)
		return;
	*key->lease_link = key->next_on_lease;
	if (key->next_on_lease)
		key->next_on_lease->lease_link = key->lease_link;
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
		lease_forget_key(key);
		pool_put(&store->pool, key, sizeof(*key) + key->key_len + key->value_len);
	}
	if (!store->loose_keys)
		store->loose_keys_end = &store->loose_keys;
	store->loose_groups = g->next_same;
	if (!store->loose_groups)
		store->loose_groups_end = &store->loose_groups;
	store->n_groups--;
	group_free(store, g);
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
		store_index(store);
	for (i = 0; i < store->n_names; i++) {
		struct etcd_name *name = &store->names[i];
		uint64_t hash = store_hash(store, name->path, name->len);
		struct etcd_group **g = group_place(store, name->path, name->len, hash);
		const struct etcd_prefix *prefix = store_prefix(store, name->path, name->len);
		enum mechanism mechanism = MECH_ETCD_KEY;

		if ((g && etcd_group_is_queue(*g)) ||
			key_place(store, name->path, name->len, hash)) {
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
