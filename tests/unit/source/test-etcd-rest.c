#include "config.h"

#include "tests/unit/unit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "base/varint.h"
#include "model/singleton.h"
#include "source/etcd-source.h"
#include "source/etcd-table.h"

/* Names at rest: a store that lays all of them down again and again tells and answers what one does
 * that never does. */

enum {
	NAMES = 48,
	KEYS = 900,
	CROWD = 200, /* keys of the one name that has many */
	LEASES = 12,
	ROUNDS = 6,
	STEPS = 300,
	PATH_MAX_LEN = 6000,
};

static struct etcd_prefix prefixes[] = {
	{ .bytes = (char *)(uintptr_t) "e/", .len = 2, .kind = ETCD_LAYOUT_ELECTION },
	{ .bytes = (char *)(uintptr_t) "l/", .len = 2, .kind = ETCD_LAYOUT_LOCK },
	{ .bytes = (char *)(uintptr_t) "k/", .len = 2, .kind = ETCD_LAYOUT_KEY },
	{ .bytes = (char *)(uintptr_t) "a/", .len = 2, .kind = ETCD_LAYOUT_AUTO },
};

static const int64_t lease_ids[LEASES] = { 0, 0x1a, 0x1b, 0xabcdef, 0x694d9f0000000001, INT64_MAX,
	-1, INT64_MIN, 1, 0x10, 0xfff, 0x694d9f00000000ff };

struct bytes {
	char *s;
	size_t len;
};

struct world {
	uint64_t seed;
	struct bytes names[NAMES];
	struct {
		struct bytes key;
		int64_t create, lease;
		bool there;
	} keys[KEYS];
	int64_t revision;
	struct etcd_store *laid, *awake; /* the one that is laid down, and the other */
	size_t n_laid;
	char value[ETCD_VALUE_MAX + 100];
};

static struct bytes bytes_of(const char *s, size_t len)
{
	struct bytes b = { xmalloc(len + 1), len };

	memcpy(b.s, s, len);
	return b;
}

static void make_names(struct world *w)
{
	static const char *const given[] = { "", "e", "e/", "e/job", "e/job/1b", "l/job", "k/job",
		"a/job", "a/job/deep", "e//", "e/\x1b[31m", "e/\xff\xfe", "k/\n", "a" };
	char name[PATH_MAX_LEN];
	size_t i;

	for (i = 0; i < ARRAY_LEN(given); i++)
		w->names[i] = bytes_of(given[i], strlen(given[i]));
	w->names[i++] = bytes_of("e/n\0l", 5);
	w->names[i++] = bytes_of("\0", 1);
	memset(name, 'x', sizeof(name));
	memcpy(name, "e/", 2);
	w->names[i++] = bytes_of(name, 300);
	w->names[i++] = bytes_of(name, 5000);
	for (; i < NAMES; i++) {
		snprintf(name, sizeof(name), "%c/%zu", "elka"[i % 4], i);
		w->names[i] = bytes_of(name, strlen(name));
	}
}

/* The last segments: leases' numbers as the recipes write them, and in all other ways. */
static void make_last(struct world *w, struct str *to, size_t i)
{
	uint64_t lease = (uint64_t)lease_ids[unit_pick(&w->seed, LEASES)];

	switch (unit_pick(&w->seed, 8)) {
	case 0:
		str_addf(to, "%" PRIX64, lease);
		break;
	case 1:
		str_addf(to, "%016" PRIx64, lease);
		break;
	case 2:
		str_addf(to, "%zx", i);
		break;
	case 3:
		str_addf(to, "no-%zu", i);
		break;
	case 4:
		str_add_mem(to, "\0\xff\n", unit_pick(&w->seed, 4));
		break;
	default:
		str_addf(to, "%" PRIx64, lease);
	}
}

static void make_keys(struct world *w)
{
	struct map seen;
	size_t i = 0;

	map_init(&seen);
	while (i < KEYS) {
		const struct bytes *name = &w->names[i < CROWD ? 3 : unit_pick(&w->seed, NAMES)];
		struct str key;

		str_init(&key, 1 << 20);
		str_add_mem(&key, name->s, name->len);
		/* A key without a slash is of the empty name. */
		if (name->len || unit_pick(&w->seed, 2))
			str_add(&key, "/");
		if (i < CROWD)
			str_addf(&key, "%zx", 0xc000 + i);
		else
			make_last(w, &key, i);
		if (map_get(&seen, key.s, key.len)) {
			str_release(&key);
			continue;
		}
		w->keys[i].key.len = key.len;
		w->keys[i].key.s = str_take(&key);
		map_put(&seen, w->keys[i].key.s, w->keys[i].key.len, w);
		i++;
	}
	map_release(&seen);
}

static struct etcd_store *store_new(void)
{
	return etcd_store_new(prefixes, ARRAY_LEN(prefixes));
}

static struct world *world_new(uint64_t seed)
{
	struct world *w = xcalloc(1, sizeof(*w));
	size_t i;

	w->seed = seed;
	make_names(w);
	make_keys(w);
	for (i = 0; i < sizeof(w->value); i++)
		w->value[i] = (char)i;
	w->laid = store_new();
	w->awake = store_new();
	return w;
}

static void world_free(struct world *w)
{
	size_t i;

	etcd_store_free(w->laid);
	etcd_store_free(w->awake);
	for (i = 0; i < NAMES; i++)
		free(w->names[i].s);
	for (i = 0; i < KEYS; i++)
		free(w->keys[i].key.s);
	free(w);
}

/* ---- what is told, all of it ---- */

struct told {
	struct str text; /* of one line */
	char **lines;
	size_t n, cap;
};

/* The beginning of some bytes, and what tells all of them from others. */
static void tell_bytes(struct told *told, const char *bytes, size_t len)
{
	static const uint64_t seed[2] = { 1, 2 };

	text_escape_cut(&told->text, bytes, len, 40);
	str_addf(&told->text, ":%zu:%" PRIx64, len, map_siphash(seed, bytes, len));
}

static void tell_key(struct told *told, const struct etcd_key *key)
{
	str_add(&told->text, " [");
	tell_bytes(told, key->bytes, key->key_len);
	str_add(&told->text, "=");
	tell_bytes(told, etcd_key_value(key), key->value_len);
	str_addf(&told->text, " %" PRId64 " %" PRId64 " %" PRIx64 " %d%d%d%d%d%d]",
		key->create_revision, key->mod_revision,
		(uint64_t)(key->lease ? key->lease->id : 0), key->hex, key->own, key->named,
		key->told, key->beside, key->lease && key->lease->gone);
}

static void tell_line(struct told *told)
{
	MEM_GROW(told->lines, told->n, told->cap);
	told->lines[told->n++] = xstrdup(told->text.s);
	str_clear(&told->text);
}

static void told_group(void *arg, struct etcd_group *g, bool named)
{
	struct told *told = arg;
	uint32_t i;

	str_add(&told->text, "group ");
	tell_bytes(told, g->name, g->name_len);
	str_addf(&told->text, " %s %d%d%d %u %u %u", mechanism_word(etcd_group_mechanism(g))->word,
		named, g->told, g->seen_own, g->n_hex, g->n_own, g->n_values);
	for (i = 0; i < g->n; i++)
		tell_key(told, g->keys[i]);
	tell_line(told);
}

static void told_key(void *arg, struct etcd_key *key, const char *path, size_t len)
{
	struct told *told = arg;

	str_add(&told->text, "key ");
	tell_bytes(told, path, len);
	tell_key(told, key);
	tell_line(told);
}

static void told_free(void *arg, const char *path, size_t len, enum mechanism mechanism)
{
	struct told *told = arg;

	str_addf(&told->text, "free %s ", mechanism_word(mechanism)->word);
	tell_bytes(told, path, len);
	tell_line(told);
}

static void told_drop(void *arg, const char *path, size_t len)
{
	struct told *told = arg;

	str_add(&told->text, "drop ");
	tell_bytes(told, path, len);
	tell_line(told);
}

static const struct etcd_teller teller = {
	.group = told_group, .key = told_key, .free = told_free, .drop = told_drop
};

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void told_init(struct told *told, struct etcd_store *store)
{
	memset(told, 0, sizeof(*told));
	str_init(&told->text, 1 << 24);
	etcd_store_tell(store, &teller, told);
	if (told->n)
		qsort(told->lines, told->n, sizeof(*told->lines), by_text);
}

static void told_release(struct told *told)
{
	while (told->n)
		free(told->lines[--told->n]);
	free(told->lines);
	str_release(&told->text);
}

/* ---- the two, step by step ---- */

static void same_numbers(struct world *w)
{
	assert_int_equal(etcd_store_keys(w->laid), etcd_store_keys(w->awake));
	assert_int_equal(etcd_store_leases(w->laid), etcd_store_leases(w->awake));
	assert_int_equal(etcd_store_ignored(w->laid), etcd_store_ignored(w->awake));
	assert_int_equal(etcd_store_changed(w->laid), etcd_store_changed(w->awake));
}

static void tell_both(struct world *w)
{
	struct told a, b;
	size_t i;

	told_init(&a, w->laid);
	told_init(&b, w->awake);
	assert_int_equal(a.n, b.n);
	for (i = 0; i < a.n; i++)
		assert_string_equal(a.lines[i], b.lines[i]);
	told_release(&a);
	told_release(&b);
	same_numbers(w);
}

static void lay_down(struct world *w)
{
	static const uint32_t most[] = { 64, 64, 1, 3, 0, UINT32_MAX };

	etcd_store_pack(w->laid, most[unit_pick(&w->seed, ARRAY_LEN(most))]);
	w->n_laid += w->laid->cold.n;
	same_numbers(w);
}

static void put_key(struct world *w, size_t i, int64_t create, int64_t mod)
{
	struct etcd_kv kv = { .key = w->keys[i].key.s,
		.key_len = w->keys[i].key.len,
		.value = w->value + unit_pick(&w->seed, 9),
		.value_len = unit_pick(&w->seed, 20),
		.create_revision = create,
		.mod_revision = mod,
		.lease = w->keys[i].lease };

	if (!unit_pick(&w->seed, 10))
		kv.value_len = ETCD_VALUE_MAX - 8 + unit_pick(&w->seed, 16);
	else if (!unit_pick(&w->seed, 3))
		kv.value_len = 0;
	w->keys[i].create = create;
	w->keys[i].there = true;
	etcd_store_put(w->laid, &kv);
	etcd_store_put(w->awake, &kv);
}

static void change_key(struct world *w, size_t i)
{
	int64_t create;

	if (w->keys[i].there && !unit_pick(&w->seed, 3)) {
		etcd_store_delete(w->laid, w->keys[i].key.s, w->keys[i].key.len);
		etcd_store_delete(w->awake, w->keys[i].key.s, w->keys[i].key.len);
		w->keys[i].there = false;
		return;
	}
	w->revision += 1 + (int64_t)unit_pick(&w->seed, 1000);
	create = w->keys[i].there && unit_pick(&w->seed, 8) ? w->keys[i].create : w->revision;
	if (!w->keys[i].there || !unit_pick(&w->seed, 4))
		w->keys[i].lease = lease_ids[unit_pick(&w->seed, LEASES)];
	/* Numbers that no etcd would tell, too. */
	if (!unit_pick(&w->seed, 50))
		create = unit_pick(&w->seed, 2) ? INT64_MIN : INT64_MAX;
	put_key(w, i, create, w->revision);
}

static void read_lease(struct world *w)
{
	int64_t id = lease_ids[unit_pick(&w->seed, LEASES)];
	int64_t left = (int64_t)unit_pick(&w->seed, 100) - 20;
	struct etcd_lease *a = etcd_store_lease(w->laid, id), *b = etcd_store_lease(w->awake, id);

	assert_int_equal(a != NULL, b != NULL);
	if (!a)
		return;
	etcd_lease_read(a, left, 60, w->revision);
	etcd_lease_read(b, left, 60, w->revision);
	etcd_store_touch(w->laid, a);
	etcd_store_touch(w->awake, b);
}

static void ask_path(struct world *w, const char *path, size_t len)
{
	struct etcd_lease *a[LEASES], *b[LEASES];
	size_t n = etcd_store_path_leases(w->laid, path, len, a, LEASES), i;

	assert_int_equal(n, etcd_store_path_leases(w->awake, path, len, b, LEASES));
	for (i = 0; i < n; i++)
		assert_true(a[i]->id == b[i]->id);
}

static void ask_leases(struct world *w)
{
	struct etcd_lease *lease = NULL, *other;
	size_t pos = 0, n = 0;

	while ((lease = etcd_store_next_lease(w->laid, &pos, lease)) != NULL) {
		other = etcd_store_lease(w->awake, lease->id);
		assert_non_null(other);
		assert_int_equal(etcd_lease_leads(lease), etcd_lease_leads(other));
		assert_true(lease->deadline_ms == other->deadline_ms);
		n++;
	}
	assert_int_equal(n, etcd_store_leases(w->laid));
	assert_true(etcd_store_take_lost(w->laid) == etcd_store_take_lost(w->awake));
}

static void name_one(struct world *w)
{
	const struct bytes *b = unit_pick(&w->seed, 2) ? &w->names[unit_pick(&w->seed, NAMES)]
						       : &w->keys[unit_pick(&w->seed, KEYS)].key;

	etcd_store_name(w->laid, b->s, b->len);
	etcd_store_name(w->awake, b->s, b->len);
}

/* All is read anew, as after a compaction. */
static void read_anew(struct world *w)
{
	size_t i;

	etcd_store_clear(w->laid);
	etcd_store_clear(w->awake);
	for (i = 0; i < KEYS; i++)
		if (w->keys[i].there)
			put_key(w, i, w->keys[i].create, w->revision);
	etcd_store_live(w->laid);
	etcd_store_live(w->awake);
}

static void step(struct world *w)
{
	size_t n, i;

	switch (unit_pick(&w->seed, 12)) {
	case 0:
		read_lease(w);
		break;
	case 1:
		i = unit_pick(&w->seed, KEYS);
		ask_path(w, w->keys[i].key.s, w->keys[i].key.len);
		i = unit_pick(&w->seed, NAMES);
		ask_path(w, w->names[i].s, w->names[i].len);
		break;
	case 2:
		ask_leases(w);
		break;
	case 3:
		if (!unit_pick(&w->seed, 40))
			name_one(w);
		if (!unit_pick(&w->seed, 60))
			read_anew(w);
		break;
	case 4:
		lay_down(w);
		break;
	default:
		etcd_store_at(w->laid, w->revision);
		etcd_store_at(w->awake, w->revision);
		for (n = unit_pick(&w->seed, unit_pick(&w->seed, 12) ? 6 : 800); n; n--)
			change_key(w, unit_pick(&w->seed, KEYS));
	}
	same_numbers(w);
	if (unit_pick(&w->seed, 2)) {
		tell_both(w);
		lay_down(w);
	}
}

static void test_laid_down_or_not_all_is_the_same(void **state)
{
	size_t n_laid = 0, i;
	uint64_t round;

	(void)state;
	for (round = 1; round <= ROUNDS; round++) {
		struct world *w = world_new(round * 7919);

		read_anew(w);
		for (i = 0; i < STEPS; i++)
			step(w);
		for (i = 0; i < KEYS; i++)
			ask_path(w, w->keys[i].key.s, w->keys[i].key.len);
		for (i = 0; i < KEYS; i++) {
			if (!w->keys[i].there)
				continue;
			etcd_store_delete(w->laid, w->keys[i].key.s, w->keys[i].key.len);
			etcd_store_delete(w->awake, w->keys[i].key.s, w->keys[i].key.len);
		}
		tell_both(w);
		lay_down(w);
		assert_int_equal(etcd_store_keys(w->laid), 0);
		assert_int_equal(etcd_store_leases(w->laid), 0);
		assert_int_equal(w->laid->cold.n, 0);
		assert_int_equal(w->laid->cold.n_chunks, 0);
		n_laid += w->n_laid;
		world_free(w);
	}
	assert_true(n_laid > (size_t)ROUNDS * STEPS);
}

/* ---- many names ---- */

static void ignore_group(void *arg, struct etcd_group *g, bool named)
{
	(void)g;
	(void)named;
	++*(size_t *)arg;
}

static void ignore_key(void *arg, struct etcd_key *key, const char *path, size_t len)
{
	(void)key;
	(void)path;
	(void)len;
	++*(size_t *)arg;
}

static void ignore_free(void *arg, const char *path, size_t len, enum mechanism mechanism)
{
	(void)arg;
	(void)path;
	(void)len;
	(void)mechanism;
}

static void ignore_drop(void *arg, const char *path, size_t len)
{
	(void)arg;
	(void)path;
	(void)len;
}

static const struct etcd_teller counter = {
	.group = ignore_group, .key = ignore_key, .free = ignore_free, .drop = ignore_drop
};

static size_t count_told(struct etcd_store *store)
{
	size_t n = 0;

	etcd_store_tell(store, &counter, &n);
	return n;
}

static void put_one(
	struct etcd_store *store, const char *key, const char *value, int64_t rev, int64_t lease)
{
	struct etcd_kv kv = { .key = key,
		.key_len = strlen(key),
		.value = value,
		.value_len = strlen(value),
		.create_revision = 7,
		.mod_revision = rev,
		.lease = lease };

	etcd_store_put(store, &kv);
}

enum {
	MANY = 20000,
	MANY_LEASES = 200,
	MANY_TOGETHER = 300, /* keys of one name besides */
};

static void put_many(struct etcd_store *store, int64_t rev, const char *value)
{
	char key[64];
	int i;

	for (i = 0; i < MANY; i++) {
		int64_t lease = 0x694d9f0000000000 + i / (MANY / MANY_LEASES);

		snprintf(key, sizeof(key), "e/job-%06d/%" PRIx64, i, (uint64_t)lease);
		put_one(store, key, value, rev, lease);
	}
	for (i = 0; i < MANY_TOGETHER; i++) {
		snprintf(key, sizeof(key), "k/all/%d", i);
		put_one(store, key, value, rev, 0x77);
	}
}

/* At rest a name takes a fraction of what it takes awake, and what was taken is given back. */
static void test_many_names_are_small(void **state)
{
	struct etcd_store *store = store_new();
	struct etcd_lease *lease;
	size_t bytes;
	int i;

	(void)state;
	put_many(store, 7, "node-00001");
	etcd_store_live(store);
	assert_int_equal(count_told(store), MANY + MANY_TOGETHER);
	etcd_store_pack(store, 64);
	assert_int_equal(store->cold.n, MANY);
	assert_int_equal(store->n_keys, MANY_TOGETHER);
	assert_int_equal(etcd_store_keys(store), MANY + MANY_TOGETHER);
	/* The tables are as large as what is awake needs. */
	assert_true(store->size_keys < 2 * MANY_TOGETHER + 64);
	bytes = store->cold.used + store->cold.idle + store->cold.size * sizeof(uint32_t);
	assert_true(bytes < (size_t)MANY * 50);
	/* A lease wakes the names on it, and no others. */
	lease = etcd_store_lease(store, 0x694d9f0000000003);
	assert_int_equal(lease->places.n, MANY / MANY_LEASES);
	assert_true(etcd_lease_leads(lease));
	etcd_store_touch(store, lease);
	assert_int_equal(store->cold.n, MANY - MANY / MANY_LEASES);
	assert_int_equal(count_told(store), MANY / MANY_LEASES);
	etcd_store_pack(store, 64);
	assert_int_equal(store->cold.n, MANY);
	/* The name of many keys is as it was: each of them is one that can be changed. */
	for (i = 0; i < MANY_TOGETHER; i++) {
		char key[32];

		snprintf(key, sizeof(key), "k/all/%d", i);
		etcd_store_delete(store, key, strlen(key));
	}
	assert_int_equal(etcd_store_keys(store), MANY);
	assert_null(etcd_store_lease(store, 0x77));
	etcd_store_free(store);
}

/* Strings that grow and shrink without end leave no more behind than a part of what they take. */
static void test_churn_does_not_grow(void **state)
{
	struct etcd_store *store = store_new();
	char value[200];
	size_t round;

	(void)state;
	put_many(store, 7, "");
	etcd_store_live(store);
	for (round = 1; round < 30; round++) {
		memset(value, 'v', sizeof(value));
		value[round * 37 % (sizeof(value) - 1)] = '\0';
		put_many(store, (int64_t)(7 + round * round * round), value);
		assert_int_equal(count_told(store), MANY + MANY_TOGETHER);
		etcd_store_pack(store, 64);
		assert_int_equal(store->cold.n, MANY);
		assert_true(store->cold.idle <= store->cold.used / 4 + 64 * 1024);
		assert_true(store->cold.n_chunks * 256 * 1024 < 2 * store->cold.used + 512 * 1024);
	}
	etcd_store_clear(store);
	assert_int_equal(store->cold.n_chunks, 0);
	etcd_store_free(store);
}

static void test_nothing_rests_before_all_is_told(void **state)
{
	struct etcd_store *store = store_new();

	(void)state;
	put_one(store, "e/job/1a", "me", 7, 0x1a);
	etcd_store_pack(store, 64);
	assert_int_equal(store->cold.n, 0);
	etcd_store_live(store);
	etcd_store_pack(store, 64);
	assert_int_equal(store->cold.n, 0);
	assert_int_equal(count_told(store), 1);
	etcd_store_pack(store, 64);
	assert_int_equal(store->cold.n, 1);
	put_one(store, "e/job/1a", "me", 8, 0x1a);
	assert_int_equal(store->cold.n, 0);
	etcd_store_pack(store, 64);
	assert_int_equal(store->cold.n, 0);
	etcd_store_free(store);
}

/* ---- the parts ---- */

enum {
	PLACES = 300
};

static void test_places_are_a_set(void **state)
{
	uint32_t there[PLACES] = { 0 }, place, pos;
	struct etcd_places set = { 0 };
	uint64_t seed = 11;
	size_t round, n = 0, i;

	(void)state;
	for (round = 0; round < 60000; round++) {
		uint32_t mark = unit_pick(&seed, 4) ? 0 : ETCD_PLACE_MARK;
		bool more = round / 5000 % 2 == 0;

		/* Few, many, and none at all, in turn. */
		i = unit_pick(&seed, PLACES);
		place = (uint32_t)(i * 4099 + 1) & ETCD_PLACE_MASK;
		if (unit_pick(&seed, 10) < (more ? 7 : 2)) {
			n += there[i] ? 0 : 1;
			there[i] |= place | mark;
			etcd_places_add(&set, place | mark);
		} else {
			n -= there[i] ? 1 : 0;
			there[i] = 0;
			etcd_places_remove(&set, place);
		}
		assert_int_equal(set.n, n);
		if (round % 50)
			continue;
		for (pos = 0, i = 0; (place = etcd_places_next(&set, &pos)) != 0; i++)
			assert_int_equal(there[((place & ETCD_PLACE_MASK) - 1) / 4099], place);
		assert_int_equal(i, n);
	}
	etcd_places_clear(&set);
	assert_int_equal(set.n, 0);
}

static size_t make_string(unsigned char *to, size_t i, size_t len)
{
	unsigned char *at = varint_put(to, 3);

	at[0] = (unsigned char)i;
	at[1] = (unsigned char)(i >> 8);
	at[2] = 'n';
	memset(at + 3, (int)(len & 0xff), len);
	return (size_t)(at - to) + 3 + len;
}

static void test_strings_are_kept_by_name(void **state)
{
	static unsigned char string[ETCD_COLD_MOST + 100];
	struct {
		uint32_t place;
		size_t len;
	} kept[1000] = { 0 };
	struct etcd_cold cold = { .seed = { 1, 2 } };
	uint64_t seed = 5;
	size_t round, n = 0, i, pos;

	(void)state;
	for (round = 0; round < 100000; round++) {
		uint64_t hash;

		i = unit_pick(&seed, round / 10000 % 3 ? 1000 : 30);
		make_string(string, i, 0);
		hash = map_siphash(cold.seed, string + 1, 3);
		assert_int_equal(etcd_cold_find(&cold, (char *)string + 1, 3, hash), kept[i].place);
		if (kept[i].place) {
			make_string(string, i, kept[i].len);
			assert_memory_equal(
				etcd_cold_at(&cold, kept[i].place), string, kept[i].len + 4);
			etcd_cold_drop(&cold, kept[i].place, hash);
			kept[i].place = 0;
			n--;
		} else {
			kept[i].len = unit_pick(&seed, 20) ? unit_pick(&seed, 200)
							   : unit_pick(&seed, 16000);
			kept[i].place = etcd_cold_put(
				&cold, string, make_string(string, i, kept[i].len), hash);
			assert_int_not_equal(kept[i].place, 0);
			n++;
		}
		assert_int_equal(cold.n, n);
		if (round % 64 || !etcd_cold_tighten(&cold))
			continue;
		assert_int_equal(cold.idle, 0);
		for (pos = 0, i = 0; i < 1000; i++)
			kept[i].place = 0;
		for (i = 0; i < n; i++) {
			uint32_t place = etcd_cold_next(&cold, &pos);
			const unsigned char *at = etcd_cold_at(&cold, place);

			kept[at[1] | at[2] << 8].place = place;
		}
		assert_int_equal(etcd_cold_next(&cold, &pos), 0);
	}
	memset(string, 'x', sizeof(string));
	assert_int_equal(etcd_cold_put(&cold, string, ETCD_COLD_MOST + 1, 1), 0);
	etcd_cold_clear(&cold);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_laid_down_or_not_all_is_the_same),
		cmocka_unit_test(test_many_names_are_small),
		cmocka_unit_test(test_churn_does_not_grow),
		cmocka_unit_test(test_nothing_rests_before_all_is_told),
		cmocka_unit_test(test_places_are_a_set),
		cmocka_unit_test(test_strings_are_kept_by_name),
	};

	return cmocka_run_group_tests_name("source/etcd-rest", tests, NULL, NULL);
}
