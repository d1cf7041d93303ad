#include "config.h"

#include "base/varint.h"
#include "tests/unit/unit.h"

static void numbers_come_back(void **state)
{
	static const uint64_t ends[] = { 0, 1, 127, 128, 16383, 16384, UINT32_MAX, UINT64_MAX >> 1,
		UINT64_MAX - 1, UINT64_MAX };
	uint64_t seed = 1;
	size_t i;

	(void)state;
	for (i = 0; i < 10000; i++) {
		uint64_t value = i < sizeof(ends) / sizeof(ends[0])
					 ? ends[i]
					 : unit_random(&seed) >> unit_pick(&seed, 64);
		unsigned char bytes[VARINT_MOST];
		const unsigned char *at = bytes;
		uint64_t read = 0;
		ptrdiff_t len = varint_put(bytes, value) - bytes, cut;

		assert_true(len >= 1 && len <= VARINT_MOST);
		assert_true(varint_take(&at) == value);
		assert_int_equal(at - bytes, len);
		assert_int_equal(varint_get(bytes, sizeof(bytes), &read), len);
		assert_true(read == value);
		for (cut = 0; cut < len; cut++)
			assert_int_equal(varint_get(bytes, (size_t)cut, &read), 0);
		assert_true(varint_zigzag(varint_unzigzag(value)) == value);
	}
}

static void what_is_too_long_is_none(void **state)
{
	static const unsigned char bytes[] = { 255, 255, 255, 255, 255, 255, 255, 255, 255, 2 };
	static const unsigned char endless[] = { 128, 128, 128, 128, 128, 128, 128, 128, 128, 128,
		0 };
	uint64_t read = 7;

	(void)state;
	assert_int_equal(varint_get(bytes, sizeof(bytes), &read), -1);
	assert_int_equal(varint_get(endless, sizeof(endless), &read), -1);
	assert_int_equal(read, 7);
}

static void small_numbers_are_small_with_either_sign(void **state)
{
	(void)state;
	assert_int_equal(varint_zigzag(0), 0);
	assert_int_equal(varint_zigzag(-1), 1);
	assert_int_equal(varint_zigzag(1), 2);
	assert_true(varint_zigzag(INT64_MIN) == UINT64_MAX);
	assert_true(varint_unzigzag(UINT64_MAX) == INT64_MIN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_come_back),
		cmocka_unit_test(what_is_too_long_is_none),
		cmocka_unit_test(small_numbers_are_small_with_either_sign),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
