#include "config.h"

#include "tests/unit/unit.h"
#include "tests/unit/show/capture.h"

#include "base/mem.h"
#include "base/text.h"
#include "show/table.h"

#include <string.h>

static const struct table_column columns[] = {
	{ .title = "ID", .keep = true },
	{ .title = "NAME", .hide_empty = true, .shrink_to = 6, .drop = 1 },
	{ .title = "N", .right = true, .drop = 2 },
	{ .title = "LAST", .shrink_to = 4 },
};

static void add(struct table *table, const char *const *cells)
{
	size_t i;

	table_row(table, "\033[31m");
	for (i = 0; i < ARRAY_LEN(columns); i++) {
		str_add(&table->texts, cells[i]);
		table_cell(table);
	}
}

static void expect(const char *const (*rows)[4], size_t n, size_t width, const char *wanted)
{
	struct show_style style = { .columns = width, .utf8 = true };
	struct table table;
	struct out out;
	char *text;
	size_t i;

	table_init(&table, columns, ARRAY_LEN(columns));
	for (i = 0; i < n; i++)
		add(&table, rows[i]);
	capture_begin(&out);
	table_print(&table, &style, &out);
	for (i = 0; i < n; i++)
		add(&table, rows[i]);
	text = capture_end(&out);
	assert_string_equal(text, wanted);
	free(text);
	table_release(&table);
}

static const char *const plain[][4] = {
	{ "a/short", "one", "7", "last" },
	{ "a/somewhat-longer", "a-long-name", "1234", "" },
};

static void test_widths(void **state)
{
	(void)state;
	expect(plain, 0, 0, "ID  N  LAST\n");
	expect(plain, 2, 0,
		"ID                 NAME            N  LAST\n"
		"a/short            one             7  last\n"
		"a/somewhat-longer  a-long-name  1234\n");
	expect(plain, 1, 0, "ID       NAME  N  LAST\na/short  one   7  last\n");
}

static void test_narrow(void **state)
{
	(void)state;
	/* One column short: the name shrinks. */
	expect(plain, 2, 41,
		"ID                 NAME           N  LAST\n"
		"a/short            one            7  last\n"
		"a/somewhat-longer  a-long-na\xe2\x80\xa6  1234\n");
	/* Then it goes, then the number; the id is never cut. */
	expect(plain, 2, 32,
		"ID                    N  LAST\n"
		"a/short               7  last\n"
		"a/somewhat-longer  1234\n");
	expect(plain, 2, 10,
		"ID                 LAST\n"
		"a/short            last\n"
		"a/somewhat-longer\n");
}

static void test_wide_and_combining(void **state)
{
	static const char *const rows[][4] = {
		{ "\xe6\x97\xa5\xe6\x9c\xac", "e\xcc\x81t\xc3\xa9", "1", "x" },
		{ "abcd", "\xe6\x97\xa5\xe6\x9c\xac\xe6\x97\xa5\xe6\x9c\xac", "2", "y" },
	};

	(void)state;
	expect(rows, 2, 0,
		"ID    NAME      N  LAST\n"
		"\xe6\x97\xa5\xe6\x9c\xac  e\xcc\x81t\xc3\xa9       1  x\n"
		"abcd  \xe6\x97\xa5\xe6\x9c\xac\xe6\x97\xa5\xe6\x9c\xac  2  y\n");
	/* A wide character that no longer fits leaves a space, and nothing after it moves. */
	expect(rows, 2, 22,
		"ID    NAME     N  LAST\n"
		"\xe6\x97\xa5\xe6\x9c\xac  e\xcc\x81t\xc3\xa9      1  x\n"
		"abcd  \xe6\x97\xa5\xe6\x9c\xac\xe6\x97\xa5\xe2\x80\xa6  2  y\n");
}

static void test_color_and_ascii(void **state)
{
	struct show_style style = { .color = true, .columns = 38 };
	struct table table;
	struct out out;
	char *text;

	(void)state;
	table_init(&table, columns, ARRAY_LEN(columns));
	add(&table, plain[1]);
	capture_begin(&out);
	table_print(&table, &style, &out);
	add(&table, plain[1]);
	text = capture_end(&out);
	assert_string_equal(text, "ID                 NAME        N  LAST\n"
				  "\033[31ma/somewhat-longer  a-long~  1234\033[0m\n");
	free(text);
	table_release(&table);
}

/* In a pipe nothing is cut, and one long id does not move the other rows. */
static void test_one_long_cell(void **state)
{
	struct str wanted;
	char id[301];
	const char *const rows[][4] = { { id, "x", "1", "y" }, { "a", "x", "1", "y" } };

	(void)state;
	memset(id, 'i', 300);
	id[300] = '\0';
	str_init(&wanted, 4096);
	str_addf(&wanted, "%-100s  NAME  N  LAST\n%s  x     1  y\n%-100s  x     1  y\n", "ID", id,
		"a");
	expect(rows, 2, 0, wanted.s);
	str_release(&wanted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_widths),
		cmocka_unit_test(test_narrow),
		cmocka_unit_test(test_one_long_cell),
		cmocka_unit_test(test_wide_and_combining),
		cmocka_unit_test(test_color_and_ascii),
	};

	text_init_locale();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
