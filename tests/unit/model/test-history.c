#include "config.h"

#include "../unit.h"
#include "base/err.h"
#include "base/str.h"
#include "base/text.h"
#include "model/history.h"
#include "model/singleton.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOW_US    INT64_C(1767362570000000)
#define SECOND_US INT64_C(1000000)
#define DAY_US    (INT64_C(86400) * SECOND_US)

static void add(struct history *h, int64_t at_us, const char *id, const char *what,
	const char *text, const char *holder)
{
	struct event *e = event_held(at_us, 7, "s", id, what, text,
		holder ? EVENT_TOOK : EVENT_NO_HOLD, holder, holder ? "rev:7" : NULL);

	history_add(h, e);
	free(e);
}

static int reread(struct history *to, const struct history *from)
{
	struct str text;
	int rc;

	str_init(&text, 8 * 1024 * 1024);
	history_write(from, &text);
	rc = history_read(to, "s", text.s, text.len, NULL);
	str_release(&text);
	return rc;
}

static void what_is_written_is_read(void **state)
{
	struct history h, back;

	(void)state;
	history_init(&h);
	history_init(&back);
	add(&h, NOW_US, "s/a", "hand-over", "b took it from a; token 6 > 7", "b");
	add(&h, NOW_US - SECOND_US, "s/\xe6\xb1\xba", "finding", "dup-run: two runs", NULL);
	add(&h, NOW_US + SECOND_US, "s/a", "cleared", "dup-run is over", NULL);
	assert_true(h.dirty);
	assert_int_equal(reread(&back, &h), 0);
	assert_false(back.dirty);
	assert_int_equal(back.n, 3);
	assert_string_equal(back.at[0]->id, "s/\xe6\xb1\xba");
	assert_string_equal(back.at[1]->what, "hand-over");
	assert_string_equal(back.at[1]->text, "b took it from a; token 6 > 7");
	assert_string_equal(back.at[1]->holder, "b");
	assert_string_equal(back.at[1]->key, "rev:7");
	assert_int_equal(back.at[1]->at_us, NOW_US);
	assert_int_equal(back.at[1]->token, 7);
	assert_int_equal(back.at[1]->hold, EVENT_TOOK);
	assert_true(back.at[1]->remembered);
	assert_null(back.at[2]->holder);
	history_release(&h);
	history_release(&back);
}

static void what_is_no_matter_of_days_is_left_out(void **state)
{
	struct history h;

	(void)state;
	history_init(&h);
	add(&h, NOW_US, NULL, "finding", "skew", NULL);
	add(&h, TIME_UNKNOWN, "s/a", "took", "b took it", "b");
	add(&h, NOW_US, "s/a", "source", "answers again", NULL);
	add(&h, NOW_US, "s/a", "began", "run 1 began", NULL);
	assert_int_equal(h.n, 0);
	assert_false(h.dirty);
	history_release(&h);
}

/* Two consoles that see the same write it once. */
static void what_two_saw_is_one(void **state)
{
	struct history mine, other;

	(void)state;
	history_init(&mine);
	history_init(&other);
	add(&mine, NOW_US, "s/a", "hand-over", "b took it from a", "b");
	add(&other, NOW_US + 3 * SECOND_US, "s/a", "hand-over", "b took it from a", "b");
	add(&other, NOW_US + 100 * SECOND_US, "s/a", "hand-over", "b took it from a", "b");
	add(&other, NOW_US + SECOND_US, "s/b", "hand-over", "b took it from a", "b");
	assert_int_equal(reread(&mine, &other), 0);
	assert_int_equal(mine.n, 3);
	assert_int_equal(reread(&mine, &other), 0);
	assert_int_equal(mine.n, 3);
	history_release(&mine);
	history_release(&other);
}

static void the_bounds_hold(void **state)
{
	struct history h;
	char id[32], text[32];
	size_t i, of_a = 0;

	(void)state;
	history_init(&h);
	add(&h, NOW_US - 8 * DAY_US, "s/old", "hand-over", "x", "x");
	add(&h, NOW_US - 6 * DAY_US, "s/young", "hand-over", "x", "x");
	for (i = 0; i < 100; i++) {
		snprintf(text, sizeof(text), "%zu", i);
		add(&h, NOW_US - (int64_t)(1000 - i) * SECOND_US, "s/a", "hand-over", text, "x");
	}
	history_trim(&h, NOW_US);
	assert_int_equal(h.n, 1 + HISTORY_EACH);
	assert_string_equal(h.at[0]->id, "s/young");
	/* The newest of it stay. */
	assert_string_equal(h.at[1]->text, "76");
	assert_string_equal(h.at[HISTORY_EACH]->text, "99");
	for (i = 0; i < 100000; i++) {
		snprintf(id, sizeof(id), "s/%zu", i);
		add(&h, NOW_US + (int64_t)i, id, "hand-over", "x", "x");
		assert_true(h.n <= 2 * HISTORY_MOST);
	}
	history_trim(&h, NOW_US);
	assert_int_equal(h.n, HISTORY_MOST);
	for (i = 0; i < h.n; i++)
		of_a += strcmp(h.at[i]->id, "s/a") == 0;
	assert_int_equal(of_a, 0);
	history_release(&h);
}

static void long_texts_are_cut_between_characters(void **state)
{
	char text[HISTORY_TEXT_MOST * 2 + 1];
	struct history h;
	uint32_t cp;

	(void)state;
	memset(text, 'x', HISTORY_TEXT_MOST - 1);
	memcpy(text + HISTORY_TEXT_MOST - 1, "\xe6\xb1\xba\xe6\xb1\xba", 7);
	history_init(&h);
	add(&h, NOW_US, "s/a", "hand-over", text, "b");
	assert_int_equal(strlen(h.at[0]->text), HISTORY_TEXT_MOST - 1);
	memmove(text + 2, text, sizeof(text) - 2);
	text[0] = text[1] = 'y';
	add(&h, NOW_US, "s/a", "hand-over", text + 4, "b");
	assert_int_equal(text_decode(h.at[1]->text + HISTORY_TEXT_MOST - 3, 3, &cp), 3);
	history_release(&h);
}

static void hostile_lines_are_left_out(void **state)
{
	static const char file[] = "baton-history 1\n"
				   "1\t0\thand-over\t1\ts/a\tb\tk\tgood\n"
				   "\n"
				   "x\t0\thand-over\t1\ts/a\tb\tk\tno number\n"
				   "1\t0\tformat\t1\ts/a\tb\tk\tno such word\n"
				   "1\t0\thand-over\t9\ts/a\tb\tk\tno such hold\n"
				   "1\t0\thand-over\t1\ts/a\t\tk\ta hold of nobody\n"
				   "1\t0\thand-over\t1\tother/a\tb\tk\tanother source\n"
				   "1\t0\thand-over\t1\ts/a\tb\tk\t\x1b[31mred\n"
				   "1\t0\thand-over\t1\ts/a\tb\tk\t\xff\n"
				   "1\t0\thand-over\t1\ts/a\tb\tk\ttoo\tmany\n"
				   "-5\t0\thand-over\t1\ts/a\tb\tk\tbefore the time\n"
				   "9223372036854775807\t0\thand-over\t1\ts/a\tb\tk\tafter it\n"
				   "1\t0\thand-over\t1\ts/a\tb\n"
				   "99999999\t0\tfinding\t0\ts/a\t\t\tdup-run: good\n"
				   "1\t0\thand-over\t1\ts/a\tb\tk\tcut";
	struct history h;
	struct err err = { 0 };
	char code[HISTORY_CODE_MAX];

	(void)state;
	history_init(&h);
	assert_int_equal(history_read(&h, "s", file, strlen(file), &err), 0);
	assert_int_equal(h.n, 2);
	assert_string_equal(h.at[0]->text, "good");
	assert_true(history_code(h.at[1], code));
	assert_string_equal(code, "dup-run");
	assert_false(history_code(h.at[0], code));
	assert_int_equal(history_read(&h, "s", "baton-history 2\n", 16, &err), ERR_PROTO);
	assert_int_equal(history_read(&h, "s", "", 0, &err), ERR_PROTO);
	assert_int_equal(history_read(&h, "s", "baton-history 1", 15, &err), ERR_PROTO);
	assert_int_equal(h.n, 2);
	history_release(&h);
}

/* In a journal it stands before what happened since, whenever it comes. */
static void remembered_stands_first(void **state)
{
	struct journal j;
	struct event *e;
	size_t i;

	(void)state;
	journal_init(&j, 1500);
	j.seq = JOURNAL_REMEMBERED;
	journal_add(&j, event_new(NOW_US, 0, "a", NULL, "source", "first"));
	for (i = 0; i < 2000; i++) {
		/* Two sources, of which the second answers later. */
		e = event_new(NOW_US - (int64_t)(i % 1000) * SECOND_US - (i < 1000 ? 0 : 1), 0,
			i < 1000 ? "a" : "b", "s/x", "state", "x");
		e->remembered = true;
		journal_add_remembered(&j, e);
		if (i == 500)
			journal_add(&j, event_new(NOW_US, 0, "a", NULL, "source", "second"));
	}
	assert_int_equal(j.n, JOURNAL_REMEMBERED + 2);
	for (i = 0; i < j.n; i++) {
		assert_int_equal(journal_at(&j, i)->remembered, i < JOURNAL_REMEMBERED);
		assert_int_equal(journal_at(&j, i)->seq, i + 1);
	}
	for (i = 1; i < JOURNAL_REMEMBERED; i++)
		assert_true(journal_at(&j, i - 1)->at_us <= journal_at(&j, i)->at_us);
	/* The newest stayed. */
	assert_int_equal(journal_at(&j, JOURNAL_REMEMBERED - 1)->at_us, NOW_US);
	assert_string_equal(journal_at(&j, JOURNAL_REMEMBERED)->text, "first");
	assert_int_equal(journal_until(&j, JOURNAL_REMEMBERED + 1).n, JOURNAL_REMEMBERED + 1);
	/* When it is full of news, they give way first. */
	for (i = 0; i < 1499; i++)
		journal_add(&j, event_new(NOW_US, 0, "a", NULL, "source", "x"));
	e = event_new(NOW_US - DAY_US, 0, "a", "s/x", "state", "x");
	e->remembered = true;
	journal_add_remembered(&j, e);
	assert_false(journal_at(&j, 0)->remembered);
	journal_release(&j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(what_is_no_matter_of_days_is_left_out),
		cmocka_unit_test(what_two_saw_is_one),
		cmocka_unit_test(the_bounds_hold),
		cmocka_unit_test(long_texts_are_cut_between_characters),
		cmocka_unit_test(hostile_lines_are_left_out),
		cmocka_unit_test(remembered_stands_first),
	};

	text_init_locale();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
