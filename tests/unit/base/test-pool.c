#include "config.h"

#include "tests/unit/unit.h"

#include <string.h>

#include "base/pool.h"

enum {
	PIECES = 200,
	ROUNDS = 20000,
};

struct piece {
	unsigned char *at;
	size_t size;
	unsigned char mark;
};

static void piece_check(const struct piece *p)
{
	size_t i;

	for (i = 0; i < p->size; i++)
		assert_int_equal(p->at[i], p->mark);
}

/* Pieces of all sizes come and go at random: each is zeroed, aligned, and nobody else's. */
static void test_pieces_are_apart(void **state)
{
	struct piece pieces[PIECES] = { { 0 } };
	uint64_t seed = 7;
	struct pool pool;
	size_t round, i, k;

	(void)state;
	pool_init(&pool);
	for (round = 0; round < ROUNDS; round++) {
		struct piece *p = &pieces[unit_pick(&seed, PIECES)];

		if (p->at) {
			piece_check(p);
			pool_put(&pool, p->at, p->size);
			p->at = NULL;
			continue;
		}
		p->size = unit_pick(&seed, 10) ? unit_pick(&seed, 200) : unit_pick(&seed, 5000);
		p->mark = (unsigned char)(unit_pick(&seed, 255) + 1);
		p->at = pool_get(&pool, p->size);
		assert_int_equal((uintptr_t)p->at % POOL_STEP, 0);
		for (k = 0; k < p->size; k++)
			assert_int_equal(p->at[k], 0);
		memset(p->at, p->mark, p->size);
	}
	for (i = 0; i < PIECES; i++)
		if (pieces[i].at)
			piece_check(&pieces[i]);
	pool_clear(&pool);
	assert_null(pool.chunks);
	assert_null(pool.large);
}

static void test_a_pool_can_be_used_again(void **state)
{
	struct pool pool;
	int i;

	(void)state;
	pool_init(&pool);
	for (i = 0; i < 3; i++) {
		memset(pool_get(&pool, 100), 1, 100);
		memset(pool_get(&pool, 100000), 1, 100000);
		pool_put(&pool, NULL, 5);
		pool_clear(&pool);
	}
	pool_clear(&pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pieces_are_apart),
		cmocka_unit_test(test_a_pool_can_be_used_again),
	};

	return cmocka_run_group_tests_name("base/pool", tests, NULL, NULL);
}
