#include "config.h"

#include <stdlib.h>

#include "base/mem.h"
#include "model/journal.h"
#include "model/singleton.h"
#include "tests/unit/unit.h"

static struct event *event_at(int64_t at_us)
{
	return event_new(at_us, 0, "ctl", "ctl/a", "took", "node-a took it");
}

static void an_event_keeps_copies(void **state)
{
	char text[] = "node-a took it";
	struct event *e = event_new(5, 1482, "ctl", NULL, "source", text);

	(void)state;
	text[0] = 'X';
	assert_int_equal(e->at_us, 5);
	assert_int_equal(e->token, 1482);
	assert_string_equal(e->source, "ctl");
	assert_null(e->id);
	assert_string_equal(e->what, "source");
	assert_string_equal(e->text, "node-a took it");
	free(e);
}

/* A file of the memory may be anybody's. */
static void an_event_is_plain_text(void **state)
{
	struct event *e = event_held(
		5, 0, "ctl", "ctl/a", "seen", "a\x1b[2J was", EVENT_SEEN, "b\xc2\x9b", NULL);

	(void)state;
	assert_string_equal(e->text, "a\\x1b[2J was");
	assert_string_equal(e->holder, "b\\xc2\\x9b");
	assert_null(e->key);
	free(e);
}

static void the_oldest_fall_out(void **state)
{
	struct journal j;
	int i;

	(void)state;
	journal_init(&j, 3);
	for (i = 1; i <= 7; i++) {
		size_t k, n = i < 3 ? (size_t)i : 3;

		journal_add(&j, event_at(i));
		assert_int_equal(j.n, n);
		assert_int_equal(j.seq, i);
		for (k = 0; k < n; k++) {
			const struct event *e = journal_at(&j, k);

			assert_int_equal(e->seq, (uint64_t)i - n + 1 + k);
			assert_int_equal(e->at_us, (int64_t)e->seq);
		}
	}
	journal_release(&j);
	assert_int_equal(j.n, 0);
}

static void a_journal_holds_at_least_one(void **state)
{
	struct journal j;

	(void)state;
	journal_init(&j, 0);
	journal_add(&j, event_at(1));
	journal_add(&j, event_at(2));
	assert_int_equal(j.n, 1);
	assert_int_equal(journal_at(&j, 0)->at_us, 2);
	journal_release(&j);
}

/* Own events are called a, b, ... in the order in which they came; late ones A, B, ... */
struct told {
	char name;
	int64_t at_us, token;
};

static void assert_order(const struct told *told, size_t n, const char *want)
{
	const struct event *events[16];
	char got[16 + 1] = "";
	size_t i;

	for (i = 0; i < n; i++) {
		char name[2] = { told[i].name, '\0' };
		struct event *e = event_new(told[i].at_us, told[i].token, "ctl", "ctl/a", name, "");

		e->late = told[i].name < 'a';
		events[i] = e;
	}
	events_order(events, n);
	for (i = 0; i < n; i++) {
		got[i] = events[i]->what[0];
		free((struct event *)(uintptr_t)events[i]);
	}
	assert_string_equal(got, want);
}

static void what_came_late_stands_where_it_happened(void **state)
{
	static const struct told late[] = { { 'a', 10, 0 }, { 'b', 20, 0 }, { 'c', 30, 0 },
		{ 'A', 15, 0 }, { 'B', 5, 0 }, { 'C', 40, 0 }, { 'D', 20, 0 } };
	/* Our clock was set back in between: what it saw stays as it was seen. */
	static const struct told back[] = { { 'a', 10, 0 }, { 'b', 5, 0 }, { 'c', 6, 0 } };
	/* A history without times has its order in the tokens. */
	static const struct told tokens[] = { { 'A', TIME_UNKNOWN, 3 }, { 'B', TIME_UNKNOWN, 7 },
		{ 'a', 10, 0 }, { 'C', TIME_UNKNOWN, 5 }, { 'D', TIME_UNKNOWN, 0 } };

	(void)state;
	assert_order(late, ARRAY_LEN(late), "BaAbDcC");
	assert_order(back, ARRAY_LEN(back), "abc");
	assert_order(tokens, ARRAY_LEN(tokens), "ACBaD");
	assert_order(late, 0, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_came_late_stands_where_it_happened),
		cmocka_unit_test(an_event_keeps_copies),
		cmocka_unit_test(an_event_is_plain_text),
		cmocka_unit_test(the_oldest_fall_out),
		cmocka_unit_test(a_journal_holds_at_least_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
