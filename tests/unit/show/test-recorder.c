#include "config.h"

#include "tests/unit/unit.h"
#include "tests/unit/show/boards.h"

#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "model/draft.h"
#include "model/thresholds.h"
#include "show/recorder.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	PATIENCE_MS = 20000
};

static struct recorder *begin(const char *path)
{
	struct thresholds thresholds = thresholds_default();
	struct recorder_options options = {
		.path = path, .force = true, .program = "test", .thresholds = &thresholds
	};
	struct recorder *r;
	struct err err = { 0 };

	if (recorder_start(&options, &r, &err))
		fail_msg("%s", err.text);
	return r;
}

static struct board *some_board(void)
{
	struct board_maker *m = board_maker_new();

	board_maker_source(m, "orders", SOURCE_OK, NULL);
	board_maker_begin(m, MECH_PG_ADVISORY, "app:1");
	board_maker_row(m, STATE_FREE);
	return board_maker_finish(m, NULL, 0);
}

/* The kinds of the lines that a file has, in order. */
static void assert_lines(const char *path, const char *want)
{
	static const char key[] = "\"line\":\"";
	struct str text, kinds;
	const char *at;

	str_init(&text, 1024 * 1024);
	str_init(&kinds, 1024);
	assert_int_equal(fs_read(path, &text, NULL), 0);
	for (at = text.s; (at = strstr(at, key)) != NULL;) {
		at += strlen(key);
		str_addf(&kinds, "%.*s ", (int)strcspn(at, "\""), at);
	}
	assert_string_equal(kinds.s, want);
	str_release(&text);
	str_release(&kinds);
}

/* What was handed over since the last board is no less true for being the last. */
static void nothing_is_lost_at_the_end(void **state)
{
	char path[] = "/tmp/baton-recorder-XXXXXX";
	struct board *board = some_board();
	struct recorder *r;
	struct stat st;
	int64_t bytes;

	(void)state;
	close(mkstemp(path));
	r = begin(path);
	recorder_take(r, board, NULL, 0);
	assert_true(recorder_wait(r, PATIENCE_MS));
	recorder_act(r, "{\"n\":1}");
	assert_int_equal(recorder_stop(r, &bytes, NULL), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(bytes, st.st_size);
	assert_lines(path, "record frame row act end ");
	board_unref(board);
	unlink(path);
}

/* More than it keeps for a disk that is slow: the record says what it lacks. */
static void what_is_lost_is_said(void **state)
{
	enum {
		MORE = 20003
	};
	char path[] = "/tmp/baton-recorder-XXXXXX";
	struct event **events = xcalloc(MORE, sizeof(struct event *));
	struct board *board = some_board();
	struct recorder *r;
	struct str text;
	size_t i;

	(void)state;
	close(mkstemp(path));
	r = begin(path);
	for (i = 0; i < MORE; i++)
		events[i] = event_new(BOARD_NOW_US, 0, "orders", "orders/app:1", "took", "a");
	recorder_take(r, board, events, MORE);
	assert_int_equal(recorder_stop(r, NULL, NULL), 0);
	str_init(&text, 64 * 1024 * 1024);
	assert_int_equal(fs_read(path, &text, NULL), 0);
	assert_non_null(strstr(text.s, "\"what\":\"gap\""));
	assert_non_null(strstr(text.s, "\"3 events and acts came faster than they could be"));
	str_release(&text);
	free(events);
	board_unref(board);
	unlink(path);
}

/* Without a board there is nothing to count moments from. */
static void without_a_board_nothing_is_written(void **state)
{
	char path[] = "/tmp/baton-recorder-XXXXXX";
	struct recorder *r;

	(void)state;
	close(mkstemp(path));
	r = begin(path);
	recorder_act(r, "{\"n\":1}");
	assert_int_equal(recorder_stop(r, NULL, NULL), 0);
	assert_lines(path, "");
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_lost_at_the_end),
		cmocka_unit_test(what_is_lost_is_said),
		cmocka_unit_test(without_a_board_nothing_is_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
