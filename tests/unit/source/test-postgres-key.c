#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "source/postgres-key.h"
#include "source/postgres-tools.h"
#include "source/source.h"
#include "tests/unit/unit.h"

static void write_is(struct pg_key key, const char *text)
{
	struct str out;

	str_init(&out, 100);
	pg_key_write(&out, key);
	assert_string_equal(out.s, text);
	str_release(&out);
}

static void bigint_keys_at_both_ends(void **state)
{
	/* classid and objid as PostgreSQL shows them */
	static const struct {
		int64_t value;
		uint32_t classid, objid;
		const char *text;
	} cases[] = {
		{ 0, 0, 0, "0" },
		{ 1, 0, 1, "1" },
		{ -1, 4294967295u, 4294967295u, "-1" },
		{ -42, 4294967295u, 4294967254u, "-42" },
		{ 72707369, 0, 72707369, "72707369" },
		{ 4294967296, 1, 0, "4294967296" },
		{ -1318387531, 4294967295u, 2976579765u, "-1318387531" },
		{ 77431133147203, 18028, 1462734915, "77431133147203" },
		{ INT64_MAX, 2147483647u, 4294967295u, "9223372036854775807" },
		{ INT64_MIN, 2147483648u, 0, "-9223372036854775808" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pg_key key = pg_key_bigint(cases[i].value);

		assert_int_equal(key.classid, cases[i].classid);
		assert_int_equal(key.objid, cases[i].objid);
		assert_int_equal(key.objsubid, 1);
		assert_int_equal(pg_key_value(key), cases[i].value);
		write_is(key, cases[i].text);
	}
}

static void pairs_at_both_ends(void **state)
{
	struct pg_key key = pg_key_pair(INT32_MIN, INT32_MAX);

	(void)state;
	write_is(key, "(-2147483648,2147483647)");
	assert_int_equal(key.objsubid, 2);
	write_is(pg_key_pair(7, -9), "(7,-9)");
	write_is(pg_key_pair(0, 7), "(0,7)");
	write_is((struct pg_key){ .classid = 2116437524, .objid = 0, .objsubid = 2 },
		"(2116437524,0)");
	write_is((struct pg_key){ .classid = 1, .objid = 2, .objsubid = 4 }, "4:1:2");
}

static void the_two_spaces_never_meet(void **state)
{
	(void)state;
	assert_false(pg_key_equal(pg_key_bigint(7), pg_key_pair(0, 7)));
	assert_true(pg_key_equal(pg_key_bigint(7), pg_key_bigint(7)));
}

static void what_is_written_is_read_back(void **state)
{
	uint64_t seed = 20260102;
	int i;

	(void)state;
	for (i = 0; i < 2000; i++) {
		uint64_t bits = unit_random(&seed);
		struct pg_key key = i % 2 ? pg_key_bigint((int64_t)bits)
					  : pg_key_pair((int32_t)bits, (int32_t)(bits >> 32));
		struct pg_key again;
		struct str out;

		str_init(&out, 100);
		pg_key_write(&out, key);
		assert_true(pg_key_read(out.s, &again));
		assert_true(pg_key_equal(key, again));
		str_release(&out);
	}
}

static void what_is_no_key_is_refused(void **state)
{
	static const char *const bad[] = { "", "-", "x", "1x", "9223372036854775808",
		"-9223372036854775809", "2147483648,0", "0,-2147483649", "(1,2", "1,2)", "(1,2)x",
		"1,", ",1", "(,)", "1,2,3", "0x10", "+-1", "(1)", "1 2" };
	struct pg_key key;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (pg_key_read(bad[i], &key))
			fail_msg("\"%s\" was read", bad[i]);
	assert_true(pg_key_read("7, -9", &key));
	write_is(key, "(7,-9)");
}

static void a_path_is_taken_apart_at_its_last_colon(void **state)
{
	struct pg_key key;
	size_t len;

	(void)state;
	assert_true(pg_key_read_path("odd:name:(7,-9)", &len, &key));
	assert_int_equal(len, strlen("odd:name"));
	write_is(key, "(7,-9)");
	assert_true(pg_key_read_path("-42", &len, &key));
	assert_int_equal(len, 0);
	assert_false(pg_key_read_path("app:", &len, &key));
}

static void name_is(const char *recipe, const char *value, const char *database, const char *key)
{
	const struct key_name name = { NULL, recipe, value, "x" };
	struct pg_named named;
	struct err err = { 0 };

	assert_int_equal(pg_named_make(&name, &named, &err), 0);
	assert_true(named.known);
	if (database)
		assert_string_equal(named.database, database);
	else
		assert_null(named.database);
	write_is(named.key, key);
	free(named.database);
}

static void names_make_keys(void **state)
{
	(void)state;
	name_is("bigint", "-42", NULL, "-42");
	name_is("pair", "7,-9", NULL, "(7,-9)");
	name_is("literal", "app:(7,-9)", "app", "(7,-9)");
	name_is("literal", "12", NULL, "12");
	/* zlib's crc32("hello"), never negative */
	name_is("crc32", "hello", NULL, "907060870");
	name_is("crc32", "a", NULL, "3904355907");
	/* select ('x' || substr(md5('hello'), 1, 16))::bit(64)::bigint */
	name_is("md5", "hello", NULL, "6719722671305337462");
	name_is("md5", "x", NULL, "-7073778008782503884");
}

static void a_wrong_value_is_named(void **state)
{
	static const struct key_name bad[] = { { NULL, "bigint", "7,-9", "x" },
		{ NULL, "pair", "7", "x" }, { NULL, "bigint", "seven", "x" },
		{ NULL, "literal", "app:seven", "x" }, { NULL, "rot13", "x", "x" } };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct pg_named named;
		struct err err = { 0 };

		assert_int_equal(pg_named_make(&bad[i], &named, &err), ERR_CONFIG);
		assert_non_null(strstr(err.text, "names:"));
	}
}

static void hashtext_waits_for_the_server(void **state)
{
	const struct key_name name = { "app", "hashtext", "billing-close", "x" };
	struct pg_named named;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(pg_named_make(&name, &named, &err), 0);
	assert_false(named.known);
	assert_string_equal(named.database, "app");
	free(named.database);
}

static void tool_is(const char *database, struct pg_key key, const char *tool)
{
	const char *found = postgres_tool(database, strlen(database), key);

	if (tool)
		assert_string_equal(found, tool);
	else
		assert_null(found);
}

static void known_tools(void **state)
{
	(void)state;
	tool_is("any", pg_key_bigint(72707369), "Prisma Migrate");
	tool_is("any", pg_key_bigint(75474063), "Sqitch");
	tool_is("any", pg_key_bigint(7241865325823964), "node-pg-migrate");
	tool_is("any", pg_key_bigint(4097083626), "goose");
	tool_is("any", pg_key_bigint(5887940537704921958), "goose");
	/* the number that a report of a Flyway deadlock shows */
	tool_is("any", pg_key_bigint(77431133147203), "Flyway");
	/* "public"."flyway_schema_history" */
	tool_is("any", pg_key_bigint(77433833903597), "Flyway");
	tool_is("any", pg_key_bigint(0x466c79776179 + INT64_C(2147483648)), NULL);
	/* examples that users of sqlx published: databases zone and zone_test */
	tool_is("zone", pg_key_bigint(2771974297191923538), "sqlx");
	tool_is("zone_test", pg_key_bigint(1283835657316171598), "sqlx");
	tool_is("zone", pg_key_bigint(1283835657316171598), NULL);
	/* 2053462845 * Zlib.crc32("app"), with Ruby's arithmetic */
	tool_is("app", pg_key_bigint(6939591962871035475), "Active Record migrations");
	tool_is("app", pg_key_bigint(1787120056), "golang-migrate");
	tool_is("other", pg_key_bigint(1787120056), NULL);
	/* "databasechangeloglock".hashCode(), "public".hashCode() */
	tool_is("any", pg_key_pair(-1497367772, -977423767), "Liquibase session lock");
}

static void a_key_in_the_other_space_is_no_tools(void **state)
{
	(void)state;
	tool_is("any", pg_key_pair(0, 72707369), NULL);
	tool_is("any", pg_key_bigint(-1497367772), NULL);
	tool_is("any", pg_key_bigint(7), NULL);
	tool_is("any", (struct pg_key){ .objid = 72707369, .objsubid = 3 }, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bigint_keys_at_both_ends),
		cmocka_unit_test(pairs_at_both_ends),
		cmocka_unit_test(the_two_spaces_never_meet),
		cmocka_unit_test(what_is_written_is_read_back),
		cmocka_unit_test(what_is_no_key_is_refused),
		cmocka_unit_test(a_path_is_taken_apart_at_its_last_colon),
		cmocka_unit_test(names_make_keys),
		cmocka_unit_test(a_wrong_value_is_named),
		cmocka_unit_test(hashtext_waits_for_the_server),
		cmocka_unit_test(known_tools),
		cmocka_unit_test(a_key_in_the_other_space_is_no_tools),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
