#include "config.h"

#include "tests/unit/unit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "model/singleton.h"
#include "source/etcd-source.h"
#include "source/etcd-store.h"

/* What the store told, as lines: "group NAME WORD KEY@REV ...", "key PATH", "free PATH", "drop
 * PATH". */
struct told {
	struct str lines;
};

static void told_group(void *arg, struct etcd_group *g, bool named)
{
	struct told *told = arg;
	uint32_t i;

	str_addf(&told->lines, "group %.*s %s%s", (int)g->name_len, g->name,
		mechanism_word(etcd_group_mechanism(g))->word, named ? " named" : "");
	for (i = 0; i < g->n; i++)
		if (g->keys[i]->hex)
			str_addf(&told->lines, " %" PRId64, g->keys[i]->create_revision);
	str_add(&told->lines, "\n");
}

static void told_key(void *arg, struct etcd_key *key, const char *path, size_t len)
{
	struct told *told = arg;

	str_addf(&told->lines, "key %.*s %" PRId64 "\n", (int)len, path, key->create_revision);
}

static void told_free(void *arg, const char *path, size_t len, enum mechanism mechanism)
{
	struct told *told = arg;

	str_addf(&told->lines, "free %.*s %s\n", (int)len, path, mechanism_word(mechanism)->word);
}

static void told_drop(void *arg, const char *path, size_t len)
{
	struct told *told = arg;

	str_addf(&told->lines, "drop %.*s\n", (int)len, path);
}

static const struct etcd_teller teller = {
	.group = told_group, .key = told_key, .free = told_free, .drop = told_drop
};

static void assert_told(struct etcd_store *store, const char *expected)
{
	struct told told;

	str_init(&told.lines, 1 << 20);
	etcd_store_tell(store, &teller, &told);
	assert_string_equal(told.lines.s, expected);
	str_release(&told.lines);
}

static struct etcd_prefix prefixes[] = {
	{ .bytes = (char *)(uintptr_t) "e/", .len = 2, .kind = ETCD_LAYOUT_ELECTION },
	{ .bytes = (char *)(uintptr_t) "l/", .len = 2, .kind = ETCD_LAYOUT_LOCK },
	{ .bytes = (char *)(uintptr_t) "k/", .len = 2, .kind = ETCD_LAYOUT_KEY },
	{ .bytes = (char *)(uintptr_t) "a/", .len = 2, .kind = ETCD_LAYOUT_AUTO },
	{ .bytes = (char *)(uintptr_t) "/svc/leader",
		.len = 11,
		.kind = ETCD_LAYOUT_KEY,
		.exact = true },
};

static struct etcd_store *store_new(void)
{
	return etcd_store_new(prefixes, 5);
}

static void put_at(struct etcd_store *store, const char *key, const char *value, int64_t create,
	int64_t mod, int64_t lease)
{
	struct etcd_kv kv = { .key = key,
		.key_len = strlen(key),
		.value = value,
		.value_len = strlen(value),
		.create_revision = create,
		.mod_revision = mod,
		.lease = lease };

	etcd_store_put(store, &kv);
}

static void put(
	struct etcd_store *store, const char *key, const char *value, int64_t rev, int64_t lease)
{
	put_at(store, key, value, rev, rev, lease);
}

static void del(struct etcd_store *store, const char *key)
{
	etcd_store_delete(store, key, strlen(key));
}

static void test_hexadecimal_segments(void **state)
{
	uint64_t n = 7;

	(void)state;
	assert_true(etcd_hex("0", 1, &n) && n == 0);
	assert_true(etcd_hex("694d7f2a", 8, &n) && n == 0x694d7f2a);
	assert_true(etcd_hex("FFFFFFFFFFFFFFFF", 16, &n) && n == UINT64_MAX);
	assert_false(etcd_hex("", 0, &n));
	assert_false(etcd_hex("10000000000000000", 17, &n));
	assert_false(etcd_hex("12g4", 4, &n));
	assert_false(etcd_hex("0x1", 3, &n));
	assert_false(etcd_hex("1\0", 2, &n));
}

/* etcd writes a lease's number as a signed one: "%x" of Go. Without that lease it is any word. */
static void test_the_segment_of_a_negative_lease(void **state)
{
	uint64_t n = 7;

	(void)state;
	assert_true(etcd_segment("-5", 2, -5, &n) && n == (uint64_t)-5);
	assert_true(etcd_segment("-8000000000000000", 17, INT64_MIN, &n) && n == 1ULL << 63);
	assert_true(etcd_segment("fffffffffffffffb", 16, -5, &n) && n == (uint64_t)-5);
	assert_true(etcd_segment("5", 1, -5, &n) && n == 5);
	assert_false(etcd_segment("-5", 2, 5, &n));
	assert_false(etcd_segment("-5", 2, 0, &n));
	assert_false(etcd_segment("-6", 2, -5, &n));
	assert_false(etcd_segment("-", 1, -5, &n));
	assert_false(etcd_segment("--5", 3, -5, &n));
	assert_false(etcd_segment("", 0, -5, &n));
}

static void test_the_end_of_a_prefix(void **state)
{
	char end[8];

	(void)state;
	assert_int_equal(etcd_prefix_end("ab", 2, end), 2);
	assert_memory_equal(end, "ac", 2);
	assert_int_equal(etcd_prefix_end("a\xff\xff", 3, end), 1);
	assert_memory_equal(end, "b", 1);
	assert_int_equal(etcd_prefix_end("\xff", 1, end), 1);
	assert_memory_equal(end, "\0", 1);
	assert_int_equal(etcd_prefix_end("", 0, end), 1);
	assert_memory_equal(end, "\0", 1);
}

static void test_candidates_queue_by_create_revision(void **state)
{
	struct etcd_store *store = store_new();

	(void)state;
	put(store, "e/job/1a", "node-a", 30, 0x1a);
	put(store, "e/job/1b", "node-b", 10, 0x1b);
	put(store, "e/job/1c", "node-c", 20, 0x1c);
	put(store, "l/r/1a", "", 31, 0x1a);
	assert_told(store, "group e/job etcd-election 10 20 30\ngroup l/r etcd-lock 31\n");
	etcd_store_live(store);
	del(store, "e/job/1b");
	assert_told(store, "group e/job etcd-election 20 30\n");
	del(store, "e/job/1c");
	del(store, "e/job/1a");
	assert_told(store, "drop e/job\n");
	assert_int_equal(etcd_store_keys(store), 1);
	assert_int_equal(etcd_store_leases(store), 1);
	etcd_store_free(store);
}

static void test_leases_with_negative_numbers_queue_as_others(void **state)
{
	struct etcd_store *store = store_new();

	(void)state;
	put(store, "e/job/-5", "node-a", 10, -5);
	put(store, "e/job/1b", "node-b", 20, 0x1b);
	put(store, "l/r/-8000000000000000", "", 31, INT64_MIN);
	put(store, "l/other/-7", "", 32, 0);
	assert_told(store, "group e/job etcd-election 10 20\ngroup l/r etcd-lock 31\n");
	etcd_store_live(store);
	etcd_store_pack(store, 64);
	put(store, "e/job/-6", "node-c", 40, -6);
	assert_told(store, "group e/job etcd-election 10 20 40\n");
	del(store, "e/job/-5");
	assert_told(store, "group e/job etcd-election 20 40\n");
	etcd_store_free(store);
}

static void test_what_the_keys_themselves_tell(void **state)
{
	struct etcd_store *store = store_new();

	(void)state;
	put(store, "a/x/cafe", "ghost", 1, 0);
	put(store, "a/x/notes", "text", 2, 0);
	put(store, "a/y/cafe", "leased otherwise", 3, 0x77);
	put(store, "a/plain", "v", 4, 0);
	assert_told(store, "key a/y/cafe 3\n");
	assert_int_equal(etcd_store_ignored(store), 3);
	/* A sibling bears its own lease: the others are candidates then. */
	etcd_store_live(store);
	put(store, "a/x/1b", "me", 5, 0x1b);
	put(store, "a/y/1b", "", 6, 0x1b);
	assert_told(
		store, "drop a/y/cafe\ngroup a/x etcd-election 1 5\ngroup a/y etcd-election 3 6\n");
	assert_int_equal(etcd_store_ignored(store), 2);
	/* It goes, and they stay what they were. */
	del(store, "a/x/1b");
	assert_told(store, "group a/x etcd-election 1\n");
	etcd_store_free(store);
}

static void test_leased_keys_stand_for_themselves(void **state)
{
	struct etcd_store *store = store_new();

	(void)state;
	etcd_store_name(store, "/svc/leader", 11);
	put(store, "k/one/1a", "me", 1, 0x1a);
	put(store, "e/leader", "me", 2, 0x1b);
	put(store, "/svc/leader", "pg-1", 3, 0);
	assert_told(store, "key k/one/1a 1\nkey e/leader 2\nkey /svc/leader 3\n");
	etcd_store_live(store);
	put_at(store, "/svc/leader", "pg-1", 3, 9, 0);
	assert_told(store, "key /svc/leader 3\n");
	del(store, "/svc/leader");
	assert_told(store, "free /svc/leader etcd-key\n");
	/* Its lease is taken off: it names nobody any more. */
	put_at(store, "e/leader", "me", 2, 10, 0);
	assert_told(store, "drop e/leader\n");
	assert_int_equal(etcd_store_ignored(store), 1);
	put_at(store, "e/leader", "me", 2, 11, 0x1c);
	assert_told(store, "key e/leader 2\n");
	assert_int_equal(etcd_store_ignored(store), 0);
	etcd_store_free(store);
}

static void test_configured_names_are_free(void **state)
{
	struct etcd_store *store = store_new();

	(void)state;
	etcd_store_name(store, "e/mailer", 8);
	etcd_store_name(store, "l/mailer", 8);
	assert_told(store, "free e/mailer etcd-election\nfree l/mailer etcd-lock\n");
	assert_told(store, "");
	etcd_store_live(store);
	put(store, "e/mailer/1a", "me", 1, 0x1a);
	assert_told(store, "group e/mailer etcd-election named 1\n");
	del(store, "e/mailer/1a");
	assert_told(store, "free e/mailer etcd-election\n");
	etcd_store_free(store);
}

static void test_a_key_and_an_election_of_one_name(void **state)
{
	struct etcd_store *store = store_new();

	(void)state;
	put(store, "e/job", "a leased key", 1, 0x1a);
	assert_told(store, "key e/job 1\n");
	etcd_store_live(store);
	put(store, "e/job/1b", "me", 2, 0x1b);
	assert_told(store, "key e/job (key) 1\ngroup e/job etcd-election 2\n");
	del(store, "e/job/1b");
	assert_told(store, "drop e/job (key)\nkey e/job 1\n");
	etcd_store_free(store);
}

static void test_a_candidate_that_comes_back_is_no_drop(void **state)
{
	struct etcd_store *store = store_new();

	(void)state;
	put(store, "e/job/1a", "me", 1, 0x1a);
	assert_told(store, "group e/job etcd-election 1\n");
	etcd_store_live(store);
	del(store, "e/job/1a");
	put(store, "e/job/1a", "me", 2, 0x1a);
	assert_told(store, "group e/job etcd-election 2\n");
	etcd_store_free(store);
}

static void test_passed_keys_are_counted_once(void **state)
{
	struct etcd_store *store = store_new();
	int i;

	(void)state;
	put(store, "a/data", "1", 1, 0);
	etcd_store_live(store);
	for (i = 2; i < 9; i++)
		put_at(store, "a/data", "x", 1, i, 0);
	assert_int_equal(etcd_store_ignored(store), 1);
	del(store, "a/data");
	assert_int_equal(etcd_store_ignored(store), 0);
	del(store, "a/never");
	assert_int_equal(etcd_store_ignored(store), 0);
	etcd_store_free(store);
}

static void test_hostile_keys(void **state)
{
	static const char *const keys[] = { "/", "//", "///", "a", "a/", "e/", "e//", "e//1a",
		"/1a", "1a", "e/\x1b[31m/1a", "e/\xff\xfe/1a", "e/x/1a/", "e/x/1a/1a" };
	struct etcd_store *store = store_new();
	struct etcd_kv kv = { .key = "e/n\0l/1a",
		.key_len = 8,
		.create_revision = 9,
		.mod_revision = 9,
		.lease = 0x1a };
	struct told told;
	size_t i;

	(void)state;
	etcd_store_put(store, &kv);
	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		put(store, keys[i], "v", (int64_t)i + 20, 0x1a);
	str_init(&told.lines, 1 << 20);
	etcd_store_tell(store, &teller, &told);
	assert_non_null(strstr(told.lines.s, "e/x/1a etcd-election"));
	str_release(&told.lines);
	etcd_store_live(store);
	etcd_store_delete(store, "e/n\0l/1a", 8);
	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		del(store, keys[i]);
	assert_int_equal(etcd_store_keys(store), 0);
	assert_int_equal(etcd_store_leases(store), 0);
	assert_int_equal(etcd_store_ignored(store), 0);
	etcd_store_free(store);
}

static void test_numbers_at_the_ends(void **state)
{
	struct etcd_store *store = store_new();

	(void)state;
	put(store, "e/job/7fffffffffffffff", "max", INT64_MAX, INT64_MAX);
	put(store, "e/job/ffffffffffffffff", "minus", INT64_MIN, -1);
	put(store, "e/job/8000000000000000", "least", 0, INT64_MIN);
	assert_told(
		store, "group e/job etcd-election -9223372036854775808 0 9223372036854775807\n");
	assert_non_null(etcd_store_lease(store, INT64_MIN));
	assert_non_null(etcd_store_lease(store, INT64_MAX));
	assert_null(etcd_store_lease(store, 0));
	etcd_store_free(store);
}

/* Any order of comings and goings leaves the same as the last state put in at once. */
static void test_against_a_model(void **state)
{
	static const char *const names[] = { "e/a", "e/b", "l/a", "a/a", "a/b", "k/a" };
	uint64_t seed = 42;
	int round;

	(void)state;
	for (round = 0; round < 200; round++) {
		struct etcd_store *moved = store_new(), *still = store_new();
		struct {
			char key[32];
			int64_t create, lease;
			bool there;
		} model[30];
		struct told last;
		int i, n = 0, step;

		memset(model, 0, sizeof(model));
		for (i = 0; i < 30; i++)
			snprintf(model[i].key, sizeof(model[i].key), "%s/%x", names[i % 6],
				0x10 + i / 6);
		etcd_store_live(moved);
		for (step = 0; step < 200; step++) {
			i = (int)unit_pick(&seed, 30);
			if (model[i].there) {
				del(moved, model[i].key);
			} else {
				model[i].create = ++n;
				model[i].lease = (int64_t)unit_pick(&seed, 3) ? 0x10 + i / 6 : 0;
				put(moved, model[i].key, "v", model[i].create, model[i].lease);
			}
			model[i].there = !model[i].there;
			if (unit_pick(&seed, 5) == 0) {
				str_init(&last.lines, 1 << 20);
				etcd_store_tell(moved, &teller, &last);
				str_release(&last.lines);
			}
		}
		for (i = 0; i < 30; i++)
			if (model[i].there)
				put(still, model[i].key, "v", model[i].create, model[i].lease);
		assert_int_equal(etcd_store_keys(moved), etcd_store_keys(still));
		assert_int_equal(etcd_store_leases(moved), etcd_store_leases(still));
		for (i = 0; i < 30; i++) {
			if (!model[i].there)
				continue;
			del(moved, model[i].key);
			etcd_store_live(still);
			del(still, model[i].key);
		}
		assert_int_equal(etcd_store_keys(moved), 0);
		assert_int_equal(etcd_store_ignored(moved), 0);
		assert_int_equal(etcd_store_ignored(still), 0);
		etcd_store_free(moved);
		etcd_store_free(still);
	}
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The lines in order, so that two tellings can be compared. */
static char *sorted_lines(const struct told *told)
{
	char *text = strdup(told->lines.s), *line[512], *save = NULL, *at;
	struct str out;
	size_t n = 0, i;

	str_init(&out, 1 << 20);
	for (at = strtok_r(text, "\n", &save); at && n < 512; at = strtok_r(NULL, "\n", &save))
		line[n++] = at;
	qsort(line, n, sizeof(*line), by_text);
	for (i = 0; i < n; i++)
		str_addf(&out, "%s\n", line[i]);
	free(text);
	return str_take(&out);
}

/* A few of many keys under a prefix, in etcd's order. Nested names, and bytes on both sides of the
 * slash. */
static size_t some_keys(uint64_t *seed, const char *prefix, char (*keys)[40])
{
	static const char *const names[] = { "a", "a-b", "a.b", "a/b", "a/b/c", "a0", "b", "b/11",
		"b/11/12", "z" };
	char *order[64];
	size_t n = 0, i;

	for (i = 0; i < 40; i++) {
		if (unit_pick(seed, 3))
			continue;
		snprintf(keys[n], sizeof(keys[n]), unit_pick(seed, 8) ? "%s%s/%x" : "%s%s", prefix,
			names[i % 10], 0x10 + (unsigned)(i / 10));
		order[n] = keys[n];
		n++;
	}
	qsort(order, n, sizeof(*order), by_text);
	for (i = 0; i < n; i++)
		order[i] = strdup(order[i]);
	for (i = 0; i < n; i++) {
		strcpy(keys[i], order[i]);
		free(order[i]);
	}
	return n;
}

/* What is told while keys still come, and the rest at the end, is what would be told at the end
 * alone, and nothing of it twice; also where what was told is forgotten. */
static void test_told_early_is_told_right(void **state)
{
	static const char *const ranges[] = { "k/", "e/", "a/", "l/" };
	uint64_t seed = 7;
	int round;

	(void)state;
	for (round = 0; round < 300; round++) {
		struct etcd_store *early = store_new(), *late = store_new();
		struct told a, b;
		char keys[64][40], *x, *y;
		size_t r, i, n;

		str_init(&a.lines, 1 << 20);
		str_init(&b.lines, 1 << 20);
		if (round % 2)
			etcd_store_forget_told(early);
		for (r = 0; r < 4; r++) {
			n = some_keys(&seed, ranges[r], keys);
			etcd_store_range(early, strlen(ranges[r]));
			for (i = 0; i < n; i++) {
				int64_t lease = 0x10 + (int64_t)unit_pick(&seed, 6);

				if (i && strcmp(keys[i], keys[i - 1]) == 0)
					continue;
				put(early, keys[i], "v", (int64_t)i + 1, lease > 0x14 ? 0 : lease);
				put(late, keys[i], "v", (int64_t)i + 1, lease > 0x14 ? 0 : lease);
				if (unit_pick(&seed, 3) == 0)
					etcd_store_tell_some(early, &teller, &a, keys[i],
						strlen(keys[i]), false, unit_pick(&seed, 4));
			}
		}
		assert_int_equal(etcd_store_keys(early), etcd_store_keys(late));
		assert_int_equal(etcd_store_ignored(early), etcd_store_ignored(late));
		etcd_store_live(early);
		etcd_store_live(late);
		etcd_store_tell(early, &teller, &a);
		etcd_store_tell(late, &teller, &b);
		x = sorted_lines(&a);
		y = sorted_lines(&b);
		assert_string_equal(x, y);
		free(x);
		free(y);
		str_release(&a.lines);
		str_release(&b.lines);
		etcd_store_free(early);
		etcd_store_free(late);
	}
}

/* A name of which more may come, or whose lease is to be read first, is not told early. */
static void test_early_waits_for_what_is_whole(void **state)
{
	struct etcd_store *store = store_new();
	struct told told;

	(void)state;
	str_init(&told.lines, 4096);
	etcd_store_range(store, 2);
	put(store, "e/a/1a", "me", 1, 0x1a);
	put(store, "e/a/b/1b", "x", 2, 0x1b);
	assert_false(etcd_store_tell_some(store, &teller, &told, "e/a/b/1b", 8, false, 9));
	assert_null(etcd_store_next_unread(store, "e/a/b/1b", 8));
	put(store, "e/a/1c", "you", 3, 0x1a);
	put(store, "e/b/1a", "z", 4, 0x1a);
	assert_false(etcd_store_tell_some(store, &teller, &told, "e/b/1a", 6, true, 9));
	assert_string_equal(told.lines.s, "");
	assert_int_equal(etcd_store_next_unread(store, "e/b/1a", 6)->id, 0x1a);
	etcd_store_lease(store, 0x1a)->read_ms = 5;
	assert_int_equal(etcd_store_next_unread(store, "e/b/1a", 6)->id, 0x1b);
	assert_null(etcd_store_next_unread(store, "e/b/1a", 6));
	etcd_store_tell_some(store, &teller, &told, "e/b/1a", 6, true, 9);
	assert_string_equal(told.lines.s, "group e/a etcd-election 1 3\n");
	etcd_store_live(store);
	assert_told(store, "group e/a/b etcd-election 2\ngroup e/b etcd-election 4\n");
	str_release(&told.lines);
	etcd_store_free(store);
}

static void test_leases_of_a_row_come_in_its_order(void **state)
{
	struct etcd_store *store = store_new();
	struct etcd_lease *leases[4];

	(void)state;
	put(store, "e/job/1a", "me", 9, 0x1a);
	put(store, "e/job/1b", "you", 3, 0x1b);
	put(store, "e/job/dead", "ghost", 1, 0);
	assert_int_equal(etcd_store_path_leases(store, "e/job", 5, leases, 4), 2);
	assert_int_equal(leases[0]->id, 0x1b);
	assert_int_equal(leases[1]->id, 0x1a);
	assert_int_equal(etcd_store_path_leases(store, "e/job", 5, leases, 1), 1);
	assert_int_equal(etcd_store_path_leases(store, "e/none", 6, leases, 4), 0);
	assert_false(etcd_lease_leads(leases[0]));
	etcd_store_live(store);
	del(store, "e/job/dead");
	assert_true(etcd_lease_leads(etcd_store_lease(store, 0x1b)));
	assert_false(etcd_lease_leads(etcd_store_lease(store, 0x1a)));
	etcd_store_free(store);
}

static void test_leases_that_go_before_their_time(void **state)
{
	struct etcd_store *store = store_new();

	(void)state;
	put(store, "e/a/1a", "me", 1, 0x1a);
	put(store, "e/a/1b", "you", 2, 0x1b);
	put(store, "e/a/1c", "unread", 3, 0x1c);
	etcd_lease_read(etcd_store_lease(store, 0x1a), 8, 9, 1000);
	etcd_lease_read(etcd_store_lease(store, 0x1b), 1, 9, 1000);
	etcd_store_live(store);
	etcd_store_at(store, 1500);
	del(store, "e/a/1a");
	del(store, "e/a/1b");
	del(store, "e/a/1c");
	assert_int_equal(etcd_store_take_lost(store), 1);
	assert_int_equal(etcd_store_take_lost(store), 0);
	etcd_store_free(store);
}

/* A heartbeat whose text grows: the key stays on its lease, of which nothing is forgotten. */
static void test_a_longer_value_leaves_the_lease_alone(void **state)
{
	struct etcd_store *store = store_new();
	struct etcd_lease *lease;

	(void)state;
	put(store, "e/a/1a", "9", 1, 0x1a);
	etcd_lease_read(etcd_store_lease(store, 0x1a), 8, 9, 1000);
	etcd_store_live(store);
	etcd_store_at(store, 1500);
	put_at(store, "e/a/1a", "10", 1, 2, 0x1a);
	lease = etcd_store_lease(store, 0x1a);
	assert_non_null(lease);
	assert_int_equal(lease->read_ms, 1000);
	assert_int_equal(etcd_store_take_lost(store), 0);
	/* On another one the old is left. */
	put_at(store, "e/a/1a", "11", 1, 3, 0x1b);
	assert_null(etcd_store_lease(store, 0x1a));
	assert_int_equal(etcd_store_lease(store, 0x1b)->read_ms, TIME_UNKNOWN);
	assert_int_equal(etcd_store_leases(store), 1);
	etcd_store_free(store);
}

/* What is left of an election when the one with a lease of its own went: it stays one, whatever is
 * written into it. */
static void test_a_lone_candidate_stays_one_when_it_is_written_again(void **state)
{
	struct etcd_store *store = store_new();

	(void)state;
	put(store, "a/x/1a", "one", 1, 0x1a);
	put(store, "a/x/2b", "two", 2, 0);
	put(store, "a/y/1a", "one", 3, 0x1a);
	put(store, "a/y/3c", "two", 4, 0x1a);
	etcd_store_live(store);
	assert_told(store, "group a/x etcd-election 1 2\ngroup a/y etcd-election 3 4\n");
	del(store, "a/x/1a");
	del(store, "a/y/1a");
	assert_told(store, "group a/x etcd-election 2\ngroup a/y etcd-election 4\n");
	put_at(store, "a/x/2b", "longer", 2, 5, 0);
	assert_told(store, "group a/x etcd-election 2\n");
	put_at(store, "a/y/3c", "longer", 4, 6, 0x1a);
	assert_told(store, "group a/y etcd-election 4\n");
	/* At rest as well. */
	etcd_store_pack(store, 64);
	put_at(store, "a/y/3c", "longer still", 4, 7, 0x2a);
	assert_told(store, "group a/y etcd-election 4\n");
	/* A name that was empty begins anew. */
	del(store, "a/y/3c");
	assert_told(store, "drop a/y\n");
	put(store, "a/y/3c", "two", 8, 0x1a);
	assert_told(store, "key a/y/3c 8\n");
	etcd_store_free(store);
}

/* ---- what an answer about a lease means ---- */

static struct etcd_lease unread_lease(void)
{
	return (struct etcd_lease){ .granted_ms = TIME_UNKNOWN,
		.deadline_ms = TIME_UNKNOWN,
		.read_ms = TIME_UNKNOWN,
		.renewed_ms = TIME_UNKNOWN };
}

static void test_a_lease_that_runs(void **state)
{
	struct etcd_lease lease = unread_lease();

	(void)state;
	etcd_lease_read(&lease, 7, 10, 100000);
	assert_int_equal(lease.granted_ms, 10000);
	assert_int_equal(lease.deadline_ms, 107999);
	assert_int_equal(lease.read_ms, 100000);
	assert_true(lease.renewed_ms == TIME_UNKNOWN);
	/* Three seconds later it has three less: nobody renewed. */
	etcd_lease_read(&lease, 4, 10, 103000);
	assert_true(lease.renewed_ms == TIME_UNKNOWN);
	etcd_lease_read(&lease, 9, 10, 104000);
	assert_int_equal(lease.renewed_ms, 103000);
}

static void test_no_such_lease_and_one_that_ended(void **state)
{
	struct etcd_lease lease = unread_lease();

	(void)state;
	etcd_lease_read(&lease, -1, 0, 5000);
	assert_true(lease.gone);
	assert_true(lease.deadline_ms == TIME_UNKNOWN);
	/* -1 with a granted time is a second past the end, and not gone. */
	etcd_lease_read(&lease, -1, 60, 6000);
	assert_false(lease.gone);
	assert_int_equal(lease.deadline_ms, 5000);
	etcd_lease_read(&lease, -68272, 60, 6000);
	assert_int_equal(lease.deadline_ms, 6000 - 68272000);
	etcd_lease_read(&lease, 0, 60, 6000);
	assert_false(lease.gone);
	assert_int_equal(lease.deadline_ms, 6999);
}

static void test_hostile_times(void **state)
{
	struct etcd_lease lease = unread_lease();

	(void)state;
	etcd_lease_read(&lease, INT64_MAX, INT64_MAX, 6000);
	assert_true(lease.deadline_ms > 0);
	assert_true(lease.granted_ms > 0);
	etcd_lease_read(&lease, INT64_MIN, 60, 6000);
	assert_true(lease.deadline_ms < 0);
	etcd_lease_read(&lease, INT64_MAX, 1, 6000);
	etcd_lease_read(&lease, INT64_MIN, INT64_MIN, 6000);
	assert_true(lease.gone);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hexadecimal_segments),
		cmocka_unit_test(test_the_segment_of_a_negative_lease),
		cmocka_unit_test(test_the_end_of_a_prefix),
		cmocka_unit_test(test_leases_with_negative_numbers_queue_as_others),
		cmocka_unit_test(test_candidates_queue_by_create_revision),
		cmocka_unit_test(test_what_the_keys_themselves_tell),
		cmocka_unit_test(test_leased_keys_stand_for_themselves),
		cmocka_unit_test(test_configured_names_are_free),
		cmocka_unit_test(test_a_key_and_an_election_of_one_name),
		cmocka_unit_test(test_a_candidate_that_comes_back_is_no_drop),
		cmocka_unit_test(test_passed_keys_are_counted_once),
		cmocka_unit_test(test_hostile_keys),
		cmocka_unit_test(test_numbers_at_the_ends),
		cmocka_unit_test(test_against_a_model),
		cmocka_unit_test(test_told_early_is_told_right),
		cmocka_unit_test(test_early_waits_for_what_is_whole),
		cmocka_unit_test(test_leases_of_a_row_come_in_its_order),
		cmocka_unit_test(test_a_longer_value_leaves_the_lease_alone),
		cmocka_unit_test(test_a_lone_candidate_stays_one_when_it_is_written_again),
		cmocka_unit_test(test_leases_that_go_before_their_time),
		cmocka_unit_test(test_a_lease_that_runs),
		cmocka_unit_test(test_no_such_lease_and_one_that_ended),
		cmocka_unit_test(test_hostile_times),
	};

	return cmocka_run_group_tests_name("source/etcd-store", tests, NULL, NULL);
}
