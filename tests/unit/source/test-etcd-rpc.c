#include "config.h"

#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "source/etcd-rpc.h"

static void add_varint(struct str *out, uint64_t value)
{
	for (; value > 127; value >>= 7)
		str_add_char(out, (char)(value | 128));
	str_add_char(out, (char)value);
}

static void add_int(struct str *out, unsigned number, uint64_t value)
{
	add_varint(out, number << 3);
	add_varint(out, value);
}

static void add_bytes(struct str *out, unsigned number, const void *bytes, size_t len)
{
	add_varint(out, number << 3 | 2);
	add_varint(out, len);
	str_add_mem(out, bytes, len);
}

static void add_kv(struct str *out, unsigned number, const char *key, int64_t create, int64_t lease)
{
	struct str kv;

	str_init(&kv, 1000);
	add_bytes(&kv, 1, key, strlen(key));
	add_int(&kv, 2, (uint64_t)create);
	add_int(&kv, 3, (uint64_t)create + 1);
	add_bytes(&kv, 5, "me\0you", 6);
	add_int(&kv, 6, (uint64_t)lease);
	add_bytes(out, number, kv.s, kv.len);
	str_release(&kv);
}

static void test_a_key_at_the_ends_of_64_bits(void **state)
{
	struct etcd_kv kv;
	struct str out;

	(void)state;
	str_init(&out, 1000);
	add_bytes(&out, 1, "k\0", 2);
	add_int(&out, 2, INT64_MAX);
	add_int(&out, 3, (uint64_t)INT64_MIN);
	add_int(&out, 6, UINT64_MAX);
	add_int(&out, 99, 5); /* a field of a newer etcd */
	assert_true(etcd_kv_read(out.s, out.len, &kv));
	assert_int_equal(kv.key_len, 2);
	assert_true(
		kv.create_revision == INT64_MAX && kv.mod_revision == INT64_MIN && kv.lease == -1);
	assert_int_equal(kv.value_len, 0);
	assert_false(etcd_kv_read(out.s, out.len - 1, &kv));
	assert_false(etcd_kv_read("", 0, &kv));
	assert_false(etcd_kv_read("\x10\1", 2, &kv));
	str_release(&out);
}

struct seen {
	size_t answers, events, deletes;
	struct etcd_watch_answer last;
	char key[64];
};

static void seen_answer(void *arg, const struct etcd_watch_answer *a)
{
	struct seen *seen = arg;

	seen->answers++;
	seen->last = *a;
}

static void seen_event(void *arg, const struct etcd_watch_answer *a, const struct etcd_event *event)
{
	struct seen *seen = arg;

	(void)a;
	seen->events++;
	seen->deletes += event->deleted;
	memcpy(seen->key, event->kv.key, event->kv.key_len);
	seen->key[event->kv.key_len] = '\0';
}

static const struct etcd_watch_handler handler = { .answer = seen_answer, .event = seen_event };

static void test_a_watch_answer(void **state)
{
	struct str out, event;
	struct seen seen = { 0 };

	(void)state;
	str_init(&out, 1000);
	str_init(&event, 1000);
	/* The events first: the order of fields is nobody's promise. */
	add_kv(&event, 2, "e/a", 5, 7);
	add_bytes(&out, 11, event.s, event.len);
	str_clear(&event);
	add_int(&event, 1, 1);
	add_kv(&event, 2, "e/b", 6, 0);
	add_bytes(&out, 11, event.s, event.len);
	str_clear(&event);
	add_int(&event, 3, 77);
	add_bytes(&out, 1, event.s, event.len);
	add_int(&out, 2, 3);
	add_int(&out, 7, 1);
	assert_int_equal(etcd_watch_read(out.s, out.len, &handler, &seen, NULL), 0);
	assert_int_equal(seen.answers, 1);
	assert_int_equal(seen.events, 2);
	assert_int_equal(seen.deletes, 1);
	assert_string_equal(seen.key, "e/b");
	assert_int_equal(seen.last.header.revision, 77);
	assert_int_equal(seen.last.watch_id, 3);
	assert_true(seen.last.fragment);
	assert_int_equal(seen.last.n_events, 2);
	str_release(&event);
	str_release(&out);
}

static void test_a_cancelled_watch(void **state)
{
	struct str out;
	struct seen seen = { 0 };

	(void)state;
	str_init(&out, 1000);
	add_int(&out, 2, UINT64_MAX);
	add_int(&out, 3, 1);
	add_int(&out, 4, 1);
	add_int(&out, 5, 12);
	add_bytes(&out, 6, "no", 2);
	assert_int_equal(etcd_watch_read(out.s, out.len, &handler, &seen, NULL), 0);
	assert_true(seen.last.created && seen.last.canceled);
	assert_int_equal(seen.last.watch_id, -1);
	assert_int_equal(seen.last.compact_revision, 12);
	assert_memory_equal(seen.last.reason, "no", 2);
	assert_int_equal(etcd_watch_read(out.s, out.len - 1, &handler, &seen, NULL), ERR_PROTO);
	str_release(&out);
}

static void test_an_event_without_a_key(void **state)
{
	struct str out;
	struct seen seen = { 0 };

	(void)state;
	str_init(&out, 1000);
	add_bytes(&out, 11, "\x08\1", 2);
	assert_int_equal(etcd_watch_read(out.s, out.len, &handler, &seen, NULL), ERR_PROTO);
	assert_int_equal(seen.events, 0);
	str_release(&out);
}

static void count_lease(void *arg, int64_t id)
{
	int64_t *sum = arg;

	*sum += id;
}

static void test_a_list_of_leases(void **state)
{
	struct etcd_unary u = { 0 };
	int64_t sum = 0;

	(void)state;
	str_init(&u.answer, 1000);
	add_bytes(&u.answer, 1, "\x18\5", 2);
	add_bytes(&u.answer, 2, "\x08\x05", 2);
	add_bytes(&u.answer, 2, "\x08\x07", 2);
	assert_int_equal(etcd_leases_read(&u, count_lease, &sum, NULL), 0);
	assert_int_equal(sum, 12);
	u.answer.len--;
	assert_int_equal(etcd_leases_read(&u, count_lease, &sum, NULL), ERR_PROTO);
	str_release(&u.answer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_key_at_the_ends_of_64_bits),
		cmocka_unit_test(test_a_watch_answer),
		cmocka_unit_test(test_a_cancelled_watch),
		cmocka_unit_test(test_an_event_without_a_key),
		cmocka_unit_test(test_a_list_of_leases),
	};

	return cmocka_run_group_tests_name("source/etcd-rpc", tests, NULL, NULL);
}
