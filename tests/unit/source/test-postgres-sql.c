#include "config.h"

#include <string.h>

#include "base/str.h"
#include "source/postgres-sql.h"
#include "tests/unit/unit.h"

static const int versions[] = { 110000, 120022, 130000, 140000, 150020, 160000, 170000, 180000 };

#define EACH_VERSION(i) for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++)

static struct str sql_of(int version, bool filtered, bool ordered)
{
	struct str sql;

	str_init(&sql, 64 * 1024);
	postgres_sql_poll(&sql, version, filtered, ordered);
	return sql;
}

static void waitstart_is_read_from_14_on(void **state)
{
	(void)state;
	EACH_VERSION(i)
	{
		struct str sql = sql_of(versions[i], false, false);

		assert_int_equal(strstr(sql.s, "NULL::timestamptz AS waitstart") == NULL,
			versions[i] >= 140000);
		str_release(&sql);
	}
}

static void materialized_is_a_word_from_12_on(void **state)
{
	(void)state;
	EACH_VERSION(i)
	{
		struct str sql = sql_of(versions[i], false, false);

		assert_int_equal(strstr(sql.s, "MATERIALIZED") != NULL, versions[i] >= 120000);
		str_release(&sql);
	}
}

static size_t count(const char *text, const char *word)
{
	size_t n = 0;

	for (text = strstr(text, word); text; text = strstr(text + 1, word))
		n++;
	return n;
}

static void every_form_is_whole(void **state)
{
	(void)state;
	EACH_VERSION(i)
	for (int form = 0; form < 4; form++) {
		struct str sql = sql_of(versions[i], form & 1, form & 2);

		assert_false(sql.full);
		assert_null(strchr(sql.s, '{'));
		assert_null(strchr(sql.s, '}'));
		assert_int_equal(count(sql.s, "("), count(sql.s, ")"));
		/* the scan of the lock table, which takes its locks, is made once */
		assert_int_equal(count(sql.s, "pg_locks"), 1);
		assert_int_equal(count(sql.s, "$2") > 0, form & 1);
		assert_int_equal(count(sql.s, "ORDER BY") > 0, (form & 2) != 0);
		str_release(&sql);
	}
}

static void nothing_writes_or_locks(void **state)
{
	static const char *const words[] = { "advisory_lock", "INSERT", "UPDATE", "DELETE",
		"pg_terminate", "pg_cancel", "set_config", "LOCK " };
	struct str sql = sql_of(150000, true, true);
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		assert_null(strstr(sql.s, words[i]));
		assert_null(strstr(postgres_sql_facts, words[i]));
		assert_null(strstr(postgres_sql_control, words[i]));
	}
	str_release(&sql);
}

/* Before search_path is set, a function of somebody's own could stand in place of an unqualified
 * one. */
static void facts_are_asked_by_full_names(void **state)
{
	static const char *const names[] = { "pg_backend_pid", "version()", "current_setting",
		"pg_has_role", "pg_settings", "pg_roles", "pg_is_in_recovery" };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *at = strstr(postgres_sql_facts, names[i]);

		assert_non_null(at);
		for (; at; at = strstr(at + 1, names[i]))
			assert_memory_equal(
				at - strlen("pg_catalog."), "pg_catalog.", strlen("pg_catalog."));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waitstart_is_read_from_14_on),
		cmocka_unit_test(materialized_is_a_word_from_12_on),
		cmocka_unit_test(every_form_is_whole),
		cmocka_unit_test(nothing_writes_or_locks),
		cmocka_unit_test(facts_are_asked_by_full_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
