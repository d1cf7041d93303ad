#include "config.h"

#include "base/mix.h"
#include "tests/unit/unit.h"

/* What machines without numbers of 128 bits reckon is the same. */
static void halves_make_the_same_product(void **state)
{
	const uint64_t edges[] = { 0, 1, 2, UINT32_MAX, UINT64_C(1) << 32, UINT64_MAX - 1,
		UINT64_MAX };
	uint64_t a = 1, b = 2;
	size_t i, k;

	(void)state;
	for (i = 0; i < sizeof(edges) / sizeof(*edges); i++)
		for (k = 0; k < sizeof(edges) / sizeof(*edges); k++)
			assert_true(mix_fold(edges[i], edges[k]) ==
				    mix_fold_by_halves(edges[i], edges[k]));
	for (i = 0; i < 10000; i++) {
		a = mix_word(a, i);
		b = mix_word(b, a);
		assert_true(mix_fold(a, b) == mix_fold_by_halves(a, b));
	}
}

/* (2^64 - 1)^2 is 2^128 - 2^65 + 1: 2^64 - 2 above, 1 below. */
static void a_product_is_folded(void **state)
{
	(void)state;
	assert_true(mix_fold(UINT64_MAX, UINT64_MAX) == UINT64_MAX);
	assert_true(mix_fold(UINT64_C(1) << 63, 6) == 3);
	assert_true(mix_fold(3, 5) == 15);
}

/* Of bytes each counts, and how many they are. */
static void every_byte_counts(void **state)
{
	unsigned char bytes[32] = { 0 };
	uint64_t hash;
	size_t len, i;

	(void)state;
	for (len = 0; len < sizeof(bytes); len++) {
		hash = mix_bytes(1, bytes, len);
		assert_true(hash != mix_bytes(1, bytes, len + 1));
		for (i = 0; i < len; i++) {
			bytes[i] = 1;
			assert_true(hash != mix_bytes(1, bytes, len));
			bytes[i] = 0;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(halves_make_the_same_product),
		cmocka_unit_test(a_product_is_folded),
		cmocka_unit_test(every_byte_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
