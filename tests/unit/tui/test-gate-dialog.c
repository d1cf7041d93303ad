/*
 * The window of an act: what it shows (golden screens), and that nothing but what was typed in full
 * sight confirms it.
 */
#include "config.h"

#include "../../golden/acts.h"
#include "../../golden/compare.h"
#include "../unit.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "tui/gate-dialog.h"
#include "tui/input.h"
#include "tui/pick.h"

#include <stdio.h>
#include <string.h>

struct stand {
	struct gate_dialog d;
	struct canvas c;
	const struct gate_view *view;
};

static void stand_begin(struct stand *s, const char *view, int w, int h, int keep_y)
{
	s->view = acts_view(view);
	gate_dialog_init(&s->d);
	canvas_init(&s->c, h, w, false);
	gate_dialog_draw(&s->d, s->view, ACTS_NOW_US, &s->c, keep_y);
}

static void stand_end(struct stand *s)
{
	gate_dialog_release(&s->d);
	canvas_release(&s->c);
}

static enum gate_request type(struct stand *s, const char *text)
{
	enum gate_request request = GATE_STAY;

	for (; *text; text++) {
		request = gate_dialog_key(
			&s->d, s->view, *text == '\n' ? INPUT_ENTER : (uint32_t)*text);
		gate_dialog_draw(&s->d, s->view, ACTS_NOW_US, &s->c, -1);
	}
	return request;
}

static void shown(const char *view, int w, int h, int keep_y, const char *typed, const char *name)
{
	struct stand s;
	struct str made;

	stand_begin(&s, view, w, h, keep_y);
	type(&s, typed);
	canvas_clear(&s.c);
	if (keep_y >= 0)
		canvas_put(
			&s.c, canvas_all(&s.c), keep_y, 0, STYLE_TEXT, "the row that it is about");
	gate_dialog_draw(&s.d, s.view, ACTS_NOW_US, &s.c, keep_y);
	str_init(&made, 1024 * 1024);
	canvas_dump(&s.c, &made);
	golden_compare(name, &made);
	str_release(&made);
	stand_end(&s);
}

static void screens(void **state)
{
	(void)state;
	shown("release", 80, 24, 4, "", "act-80x24-release");
	shown("release", 120, 36, 20, "its host is down\nctl/elec", "act-120x36-release");
	shown("reversible", 80, 24, 12, "", "act-80x24-reversible");
	shown("forecast", 80, 24, 4, "", "act-80x24-forecast");
	shown("reading", 80, 24, 4, "", "act-80x24-reading");
	shown("acting", 80, 24, 4, "", "act-80x24-acting");
	shown("done", 80, 24, 4, "", "act-80x24-done");
	shown("refused", 80, 24, 4, "", "act-80x24-refused");
	shown("unknown", 80, 24, 22, "", "act-80x24-unknown");
	shown("set", 100, 40, -1, "", "act-100x40-set");
	shown("release", 40, 8, 4, "", "act-40x8-release");
}

static void confirmed_by_reason_and_name(void **state)
{
	struct stand s;

	(void)state;
	stand_begin(&s, "release", 120, 40, -1);
	assert_int_equal(type(&s, "its host is down\nctl/elections/billing\n"), GATE_CONFIRM);
	assert_string_equal(s.d.reason.text, "its host is down");
	assert_string_equal(gate_dialog_typed(&s.d, s.view), "ctl/elections/billing");
	stand_end(&s);
}

static void enter_alone_confirms_nothing(void **state)
{
	static const char *const views[] = { "release", "reversible", "reading", "acting" };
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_LEN(views); i++) {
		struct stand s;

		stand_begin(&s, views[i], 120, 40, -1);
		assert_int_not_equal(type(&s, "\n\n\n\n\n"), GATE_CONFIRM);
		stand_end(&s);
	}
}

/* A reversible act is done by y, and by no other key: they leave. */
static void yes_is_one_key(void **state)
{
	uint32_t key;

	(void)state;
	for (key = 1; key < 128; key++) {
		struct stand s;
		enum gate_request request;

		stand_begin(&s, "reversible", 120, 40, -1);
		request = gate_dialog_key(&s.d, s.view, key);
		if (key == 'y')
			assert_int_equal(request, GATE_CONFIRM);
		else
			assert_int_not_equal(request, GATE_CONFIRM);
		stand_end(&s);
	}
}

static void nothing_before_the_end_was_read(void **state)
{
	struct stand s;
	int i;

	(void)state;
	stand_begin(&s, "release", 80, 16, -1);
	assert_false(s.d.seen);
	assert_int_equal(type(&s, "down\nctl/elections/billing\n"), GATE_STAY);
	assert_non_null(strstr(s.d.hint, "to its end"));
	for (i = 0; i < 10; i++) {
		gate_dialog_key(&s.d, s.view, INPUT_PAGE_DOWN);
		gate_dialog_draw(&s.d, s.view, ACTS_NOW_US, &s.c, -1);
	}
	assert_true(s.d.seen);
	assert_int_equal(type(&s, "\n"), GATE_CONFIRM);
	stand_end(&s);
}

/* However far it was scrolled to be read: how it ended is what is looked for. */
static void how_it_ended_stands_first(void **state)
{
	static const char *const later[] = { "acting", "done", "unknown" };
	static const char *const first[] = { "read: ", "done ", "unknown " };
	struct stand s;
	struct str made;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_LEN(later); i++) {
		stand_begin(&s, "release", 80, 16, -1);
		gate_dialog_key(&s.d, s.view, INPUT_PAGE_DOWN);
		gate_dialog_draw(&s.d, s.view, ACTS_NOW_US, &s.c, -1);
		assert_int_not_equal(s.d.top, 0);
		canvas_clear(&s.c);
		gate_dialog_draw(&s.d, acts_view(later[i]), ACTS_NOW_US, &s.c, -1);
		str_init(&made, 65536);
		canvas_dump(&s.c, &made);
		assert_non_null(strstr(made.s, first[i]));
		str_release(&made);
		stand_end(&s);
	}
}

/* What it says of the holder is what was seen then; how long ago that is, is said above. */
static void an_old_forecast_says_its_age(void **state)
{
	static const char *const views[] = { "release", "reversible" };
	struct stand s;
	struct str made;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_LEN(views); i++) {
		stand_begin(&s, views[i], 80, 24, -1);
		str_init(&made, 65536);
		canvas_dump(&s.c, &made);
		assert_null(strstr(made.s, "as it was"));
		canvas_clear(&s.c);
		gate_dialog_draw(&s.d, s.view, ACTS_NOW_US + 61000000, &s.c, -1);
		str_clear(&made);
		canvas_dump(&s.c, &made);
		assert_non_null(strstr(made.s, " as it was 1m ago "));
		if (i == 0)
			assert_non_null(strstr(made.s, "last sign 24s before this forecast"));
		str_release(&made);
		stand_end(&s);
	}
}

/* A terminal that was made small meanwhile takes no confirmation. */
static void nothing_on_a_small_terminal(void **state)
{
	struct stand s;

	(void)state;
	stand_begin(&s, "release", 120, 40, -1);
	type(&s, "down\nctl/elections/billing");
	canvas_resize(&s.c, 8, 40);
	gate_dialog_draw(&s.d, s.view, ACTS_NOW_US, &s.c, -1);
	assert_int_equal(type(&s, "\n"), GATE_STAY);
	assert_non_null(strstr(s.d.hint, "too small"));
	stand_end(&s);
}

/* The last line seen through a slit is no forecast that was read. */
static void what_ran_through_a_small_window_was_not_read(void **state)
{
	struct stand s;
	int i;

	(void)state;
	stand_begin(&s, "release", 40, 7, -1);
	assert_true(s.d.small);
	for (i = 0; i < 200; i++) {
		gate_dialog_key(&s.d, s.view, INPUT_DOWN);
		gate_dialog_draw(&s.d, s.view, ACTS_NOW_US, &s.c, -1);
	}
	assert_false(s.d.seen);
	canvas_resize(&s.c, 16, 80);
	s.d.top = 0;
	gate_dialog_draw(&s.d, s.view, ACTS_NOW_US, &s.c, -1);
	assert_false(s.d.small);
	assert_int_equal(type(&s, "down\nctl/elections/billing\n"), GATE_STAY);
	assert_non_null(strstr(s.d.hint, "to its end"));
	stand_end(&s);
}

static void pasted_text_confirms_nothing(void **state)
{
	const char *text = "ctl/elections/billing";
	struct stand s;

	(void)state;
	stand_begin(&s, "release", 120, 40, -1);
	for (; *text; text++)
		gate_dialog_paste(&s.d, s.view, (uint32_t)*text);
	assert_string_equal(s.d.reason.text, "ctl/elections/billing");
	type(&s, "\n");
	for (text = "ctl/elections/billing"; *text; text++)
		gate_dialog_paste(&s.d, s.view, (uint32_t)*text);
	assert_string_equal(s.d.typed.text, "");
	assert_int_equal(type(&s, "\n"), GATE_STAY);
	stand_end(&s);
}

static void escape_leaves_at_every_phase(void **state)
{
	static const char *const views[] = { "release", "reversible", "reading", "acting", "done" };
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_LEN(views); i++) {
		struct stand s;

		stand_begin(&s, views[i], 80, 24, -1);
		assert_int_equal(gate_dialog_key(&s.d, s.view, INPUT_ESC), GATE_LEAVE);
		stand_end(&s);
	}
}

/* Whatever the sizes: inside the canvas, and the row that it is about is seen. */
static void every_size(void **state)
{
	static const char *const views[] = { "release", "set", "unknown" };
	int w, h, keep_y;
	size_t v;

	(void)state;
	for (v = 0; v < ARRAY_LEN(views); v++)
		for (w = 1; w < 140; w += w < 4 ? 1 : 23)
			for (h = 1; h < 60; h += h < 4 ? 1 : 9)
				for (keep_y = -1; keep_y < h; keep_y += 5) {
					struct stand s;

					stand_begin(&s, views[v], w, h, keep_y);
					stand_end(&s);
				}
}

static void a_list_to_choose_from(void **state)
{
	struct pick p = { 0 };
	struct canvas c;
	struct str made;

	(void)state;
	pick_begin(&p, " ctl/elections/billing ", "Enter chooses, Esc leaves");
	pick_add(&p, "cancel", "not for an etcd-election", true, 1);
	pick_add(&p, "release", "take it away from one holder or waiter, or end one run", false, 2);
	pick_add(&p, "revoke",
		"revoke the holder's whole lease with every key on it, which takes more words to "
		"say "
		"than one line of this window has room for",
		false, 3);
	pick_sort(&p);
	assert_int_equal(pick_at(&p)->value, 2);
	assert_true(pick_key(&p, INPUT_DOWN));
	assert_int_equal(pick_at(&p)->value, 3);
	pick_key(&p, 'j');
	pick_key(&p, 'j');
	assert_int_equal(pick_at(&p)->value, 1);
	assert_true(pick_at(&p)->hindered);
	canvas_init(&c, 24, 80, false);
	pick_draw(&p, &c, 10);
	str_init(&made, 65536);
	canvas_dump(&c, &made);
	golden_compare("pick-80x24", &made);
	str_release(&made);
	canvas_release(&c);
	pick_release(&p);
}

/* In a lesson whose clock was stopped an act stays under way: its window says why, and what to
 * press. */
static void where_time_stands_still_that_is_said(void **state)
{
	static const char says[] = "time stands still: Esc closes this, Z lets it go on";
	struct stand s;
	struct str made;
	int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		stand_begin(&s, "acting", 80, 24, -1);
		s.d.stands = i == 1;
		gate_dialog_draw(&s.d, s.view, ACTS_NOW_US, &s.c, -1);
		str_init(&made, 1024 * 1024);
		canvas_dump(&s.c, &made);
		assert_int_equal(strstr(made.s, says) != NULL, i == 1);
		str_release(&made);
		stand_end(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(screens),
		cmocka_unit_test(confirmed_by_reason_and_name),
		cmocka_unit_test(enter_alone_confirms_nothing),
		cmocka_unit_test(yes_is_one_key),
		cmocka_unit_test(nothing_before_the_end_was_read),
		cmocka_unit_test(how_it_ended_stands_first),
		cmocka_unit_test(an_old_forecast_says_its_age),
		cmocka_unit_test(nothing_on_a_small_terminal),
		cmocka_unit_test(what_ran_through_a_small_window_was_not_read),
		cmocka_unit_test(pasted_text_confirms_nothing),
		cmocka_unit_test(escape_leaves_at_every_phase),
		cmocka_unit_test(every_size),
		cmocka_unit_test(a_list_to_choose_from),
		cmocka_unit_test(where_time_stands_still_that_is_said),
	};

	text_init_locale();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
