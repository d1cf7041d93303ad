#include "config.h"

#include "tests/unit/unit.h"

#include "base/err.h"
#include "base/str.h"
#include "base/text.h"
#include "control/lesson-results.h"
#include "tests/unit/control/folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct debrief played(const struct lesson *lesson, int total)
{
	return (struct debrief){ .lesson = lesson,
		.seed = 7,
		.end = ACCOUNT_RESTORED,
		.begins_ms = 45000,
		.end_ms = 125000,
		.restored_ms = 105000, /* all held for a while then */
		.score = { .total = total, .diagnosis = 30, .safety = 20 } };
}

static void add(const char *folder, const struct lesson *lesson, int total)
{
	/* Too large for the stack's liking. */
	struct debrief *d = xcalloc(1, sizeof(*d));
	struct err err = { 0 };

	*d = played(lesson, total);
	if (lesson_results_add(folder, d, INT64_C(1767322923000000), &err))
		fail_msg("%s", err.text);
	free(d);
}

static void test_what_was_played_is_read_again(void **state)
{
	struct lesson one = { .number = "S01", .title = "One" },
		      two = { .number = "S02", .title = "Two \\x1b" };
	struct lesson_result *results;
	struct err err = { 0 };
	char path[200];
	struct stat st;
	size_t n, broken;

	assert_int_equal(lesson_results_read(*state, &results, &n, &broken, &err), 0);
	assert_int_equal(n, 0);
	add(*state, &one, 40);
	add(*state, &one, 90);
	add(*state, &one, 50);
	add(*state, &two, 100);
	assert_int_equal(lesson_results_read(*state, &results, &n, &broken, &err), 0);
	assert_int_equal(n, 4);
	assert_int_equal(broken, 0);
	assert_int_equal(results[1].score, 90);
	assert_string_equal(results[1].at, "2026-01-02T03:02:03Z");
	assert_string_equal(results[1].end, "restored");
	assert_int_equal(results[1].after_ms, 60000);
	assert_int_equal(lesson_results_best(results, n, "S01"), 90);
	assert_int_equal(lesson_results_best(results, n, "S02"), 100);
	assert_int_equal(lesson_results_best(results, n, "S03"), -1);
	free(results);
	snprintf(path, sizeof(path), "%s/lessons.jsonl", (const char *)*state);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

static void test_the_file_stays_small(void **state)
{
	struct lesson one = { .number = "S01", .title = "One" };
	struct lesson_result *results;
	struct err err = { 0 };
	char path[200];
	FILE *file;
	size_t n, broken;
	int i;

	snprintf(path, sizeof(path), "%s/lessons.jsonl", (const char *)*state);
	file = fopen(path, "w");
	assert_non_null(file);
	for (i = 0; i < LESSON_RESULTS_MOST + 50; i++)
		fprintf(file, "{\"lesson\":\"S01\",\"score\":%d}\n", i % 100);
	fclose(file);
	add(*state, &one, 77);
	assert_int_equal(lesson_results_read(*state, &results, &n, &broken, &err), 0);
	assert_int_equal(n, LESSON_RESULTS_MOST);
	assert_int_equal(results[n - 1].score, 77);
	free(results);
}

/* What somebody else wrote there is counted, does no harm, and does not hide the rest. */
static void test_broken_lines_are_counted(void **state)
{
	static const char text[] =
		"{\"lesson\":\"S01\",\"score\":5}\n"
		"nonsense\n"
		"{\"lesson\":\"S01-much-too-long\",\"score\":5}\n"
		"{\"lesson\":\"S01\",\"score\":\"5\"}\n"
		"{\"lesson\":\"\\u001b[2\",\"title\":\"\\u001b[2J\",\"score\":6}\n"
		"{\"lesson\":\"S02\",\"score\":7";
	struct lesson_result *results;
	struct err err = { 0 };
	char path[200];
	FILE *file;
	size_t n, broken;

	snprintf(path, sizeof(path), "%s/lessons.jsonl", (const char *)*state);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	assert_int_equal(lesson_results_read(*state, &results, &n, &broken, &err), 0);
	assert_int_equal(n, 2);
	assert_int_equal(broken, 4);
	assert_null(strchr(results[1].title, '\x1b'));
	assert_null(strchr(results[1].number, '\x1b'));
	free(results);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_what_was_played_is_read_again, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(
			test_the_file_stays_small, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(
			test_broken_lines_are_counted, make_folder, remove_folder),
	};

	text_init_locale();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
