#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "tests/unit/unit.h"

enum {
	KEYS = 500
};

static void empty_map_has_nothing(void **state)
{
	struct map map;
	size_t pos = 0;

	(void)state;
	map_init(&map);
	assert_null(map_get(&map, "x", 1));
	assert_null(map_remove(&map, "x", 1));
	assert_null(map_next(&map, &pos));
	map_clear(&map);
	map_release(&map);
}

static void keys_are_bytes_with_a_length(void **state)
{
	struct map map;
	int a, b, c;

	(void)state;
	map_init(&map);
	map_put(&map, "a\0b", 3, &a);
	map_put(&map, "a\0c", 3, &b);
	map_put(&map, "", 0, &c);
	assert_ptr_equal(map_get(&map, "a\0b", 3), &a);
	assert_ptr_equal(map_get(&map, "a\0c", 3), &b);
	assert_ptr_equal(map_get(&map, "", 0), &c);
	assert_null(map_get(&map, "a", 1));
	assert_int_equal(map.n, 3);
	map_release(&map);
}

/* What the map should hold: value i + 1 for key i, or NULL. */
struct model {
	char keys[KEYS][16];
	void *values[KEYS];
	size_t n;
};

static void model_check(const struct model *model, const struct map *map)
{
	struct map_entry *entry;
	size_t pos = 0, seen = 0, i;

	assert_int_equal(map->n, model->n);
	for (i = 0; i < KEYS; i++)
		assert_ptr_equal(
			map_get(map, model->keys[i], strlen(model->keys[i])), model->values[i]);
	while ((entry = map_next(map, &pos))) {
		i = (size_t)strtoul(entry->key + 1, NULL, 10);
		assert_ptr_equal(entry->value, model->values[i]);
		seen++;
	}
	assert_int_equal(seen, model->n);
}

static void model_step(struct model *model, struct map *map, uint64_t *seed)
{
	size_t i = unit_pick(seed, KEYS), len = strlen(model->keys[i]);
	void *value = &model->keys[unit_pick(seed, KEYS)];

	if (unit_pick(seed, 5) < 3) {
		assert_ptr_equal(map_put(map, model->keys[i], len, value), model->values[i]);
		model->n += !model->values[i];
		model->values[i] = value;
	} else {
		assert_ptr_equal(map_remove(map, model->keys[i], len), model->values[i]);
		model->n -= model->values[i] != NULL;
		model->values[i] = NULL;
	}
}

static void behaves_like_a_table_under_random_changes(void **state)
{
	struct model *model = xcalloc(1, sizeof(*model));
	uint64_t seed = 7;
	struct map map;
	int i;

	(void)state;
	for (i = 0; i < KEYS; i++)
		snprintf(model->keys[i], sizeof(model->keys[i]), "k%d", i);
	map_init(&map);
	for (i = 0; i < 60000; i++) {
		model_step(model, &map, &seed);
		if (i % 1000 == 0)
			model_check(model, &map);
	}
	model_check(model, &map);
	map_clear(&map);
	memset(model->values, 0, sizeof(model->values));
	model->n = 0;
	model_check(model, &map);
	map_release(&map);
	free(model);
}

/* SipHash-1-3 of nothing under the key 00..0f, as other implementations of it have it. */
static void hash_is_siphash(void **state)
{
	const uint64_t seed[2] = { 0x0706050403020100ULL, 0x0f0e0d0c0b0a0908ULL };

	(void)state;
	assert_true(map_siphash(seed, "", 0) == 0xabac0158050fc4dcULL);
}

/* Every byte and the length count, also where they don't fill a word. */
static void every_byte_changes_the_hash(void **state)
{
	const uint64_t seed[2] = { 1, 2 };
	unsigned char bytes[20] = { 0 };
	uint64_t plain;
	size_t len, i;

	(void)state;
	for (len = 1; len <= sizeof(bytes); len++) {
		plain = map_siphash(seed, bytes, len);
		assert_true(plain != map_siphash(seed, bytes, len - 1));
		for (i = 0; i < len; i++) {
			bytes[i] = 1;
			assert_true(plain != map_siphash(seed, bytes, len));
			bytes[i] = 0;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty_map_has_nothing),
		cmocka_unit_test(keys_are_bytes_with_a_length),
		cmocka_unit_test(behaves_like_a_table_under_random_changes),
		cmocka_unit_test(hash_is_siphash),
		cmocka_unit_test(every_byte_changes_the_hash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
