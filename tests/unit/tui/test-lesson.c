/* The lesson's view: what is asked while it goes on, and the debrief; golden screens, and every
 * size. */
#include "config.h"

#include "tests/unit/unit.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "control/debrief.h"
#include "io/yaml.h"
#include "sim/net.h"
#include "tests/golden/compare.h"
#include "tui/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char text[] =
	"number: X01\n"
	"line: The holder stands still, and the lock with it.\n"
	"story: |\n"
	"  Two workers settle orders. The shop's monitor says that nothing\n"
	"  was settled for half a minute.\n"
	"\n"
	"  Nobody changed anything today.\n"
	"see: orders/app:1000 is held by worker-a, and worker-b waits for it.\n"
	"task: Have orders settled again, by one worker and never by two.\n"
	"begins: 60s\n"
	"par: 60s\n"
	"limit: 5m\n"
	"restored: {when: [{duty: settle, workers: 1}, {duty: settle, by: worker-b}]}\n"
	"causes:\n"
	"  - {id: paused, right: true, text: \"worker-a does not run at all, and its session still "
	"holds the lock.\", why: Its machine is up.}\n"
	"  - {id: lost, text: The database lost the lock.}\n"
	"  - {id: waiter, text: worker-b holds a second lock.}\n"
	"hints: [{text: Look at the row of worker-a., costs: 5}, {text: Stop it., costs: 9}]\n"
	"measures:\n"
	"  - {measure: overlap, of: settle, text: two settle at once, costs: 4}\n"
	"  - {measure: vacant, of: settle, text: nobody settles, per: 10s, free: 30s, costs: 1}\n"
	"ways:\n"
	"  - {name: a, kind: right, text: a}\n"
	"  - {name: b, kind: wrong, text: b}\n"
	"  - {name: c, kind: nothing, text: c, least: 0, most: 40}\n"
	"watch: [settle, key-1000]\n"
	"question: When would you need fencing though only one process runs?\n"
	"answer: When it may stand still for longer than its lock lives.\n"
	"compare:\n"
	"  - {row: settle, column: overlap, measure: overlap, of: settle}\n"
	"  - {row: settle, column: done, measure: writes, of: orders}\n"
	"debrief:\n"
	"  principle: A lock that is free does not mean that its holder has stopped.\n"
	"  sign: A session that is idle while others wait.\n"
	"  acts:\n"
	"    - {act: release, on: \"orders/*\", unless: suspend fleet/a, was: harmed, text: It was "
	"there.}\n"
	"  read: [{text: A paper, at: \"https://example.org/\"}]\n";

struct stage {
	struct yaml_node *root;
	struct lesson *lesson;
	struct world *w;
	struct referee *referee;
	struct lesson_run run;
	struct lesson_look look;
	struct debrief *debrief;
};

static void grant(struct stage *s, const char *who)
{
	world_tell(s->w, HAPPENING_GRANTED, who, "key-1000", 0, "key-1000 is given to %s", who);
}

static void deed(struct stage *s)
{
	deed_add(s->w, &(struct deed){ .verb = "release",
			       .id = "orders/app:1000",
			       .identity = "worker-a",
			       .reason = "take it from worker-a which is paused" });
	world_tell(s->w, HAPPENING_ACT, "operator", "orders/app:1000", 0,
		"release orders/app:1000 from worker-a");
}

/* A holder is paused, the lock is taken from it, it runs on, and two work. */
static void play(struct stage *s)
{
	struct process *a = process_new(s->w, "worker-a", machine_new(s->w, "node-1"), NULL),
		       *b = process_new(s->w, "worker-b", machine_new(s->w, "node-2"), NULL);
	struct resource *orders = resource_new(s->w, "orders", RESOURCE_UNFENCED);
	struct duty *settle = duty_new(s->w, "settle", orders, 2000);

	process_start(s->w, a);
	process_start(s->w, b);
	s->referee = referee_new(s->w, &s->lesson->rules);
	grant(s, "worker-a");
	duty_begin(s->w, settle, a, 0);
	world_run(s->w, 30000);
	process_pause(s->w, a, 70000);
	world_run(s->w, 65000);
	referee_diagnose(s->referee, 1);
	referee_hint(s->referee, 0);
	world_run(s->w, 80000);
	deed(s);
	grant(s, "worker-b");
	duty_begin(s->w, settle, b, 0);
	referee_note(s->referee, "told the shop");
	world_run(s->w, 106000);
	process_end(s->w, a, PROCESS_END_STOPPED);
	world_run(s->w, 140000);
}

static void begin(struct stage *s)
{
	struct options_check check = { .file = "x.yaml" };
	struct err err = { 0 };

	*s = (struct stage){ .w = world_new(1, 0) };
	if (yaml_parse(text, strlen(text), "x.yaml", &s->root, &err) ||
		lesson_read(&check, s->root, "Paused with the lock", &s->lesson, &err))
		fail_msg("%s", err.text);
	play(s);
	s->debrief = debrief_new(s->lesson, 1, s->w);
	s->run.lesson = s->lesson;
	lesson_shuffle(s->lesson, 3, s->run.order);
	s->look = (struct lesson_look){ .run = &s->run,
		.state = { .now_ms = 5000, .restored_ms = -1, .picked = 1, .hints = 1 } };
}

static void end(struct stage *s)
{
	debrief_free(s->debrief);
	world_free(s->w);
	lesson_free(s->lesson);
	yaml_node_free(s->root);
}

static void draw(const struct stage *s, int h, int w, bool ascii, const enum action *actions,
	struct canvas *c)
{
	struct model m = { .lesson = s ? &s->look : NULL, .armed_ms = 0 };
	void *view = view_lesson_ops.open();
	struct view_reply reply = { 0 };

	canvas_init(c, h, w, ascii);
	str_init(&reply.text, 1000);
	view_lesson_ops.draw(view, &m, c, canvas_all(c));
	for (; actions && *actions != ACTION_NONE; actions++) {
		view_lesson_ops.act(view, &m, *actions, &reply);
		canvas_clear(c);
		view_lesson_ops.draw(view, &m, c, canvas_all(c));
	}
	str_release(&reply.text);
	view_lesson_ops.close(view);
}

static void compare(const struct stage *s, const char *name, int h, int w, bool ascii,
	const enum action *actions)
{
	struct canvas c;
	struct str out;

	draw(s, h, w, ascii, actions, &c);
	str_init(&out, 1024 * 1024);
	canvas_dump(&c, &out);
	golden_compare(name, &out);
	str_release(&out);
	canvas_release(&c);
}

static void test_screens(void **state)
{
	static const enum action down[] = { ACTION_DOWN, ACTION_DOWN, ACTION_NONE };
	static const enum action page[] = { ACTION_PAGE_DOWN, ACTION_NONE };
	struct stage s;

	(void)state;
	begin(&s);
	compare(&s, "lesson-80", 21, 80, false, NULL);
	compare(&s, "lesson-40-cursor", 12, 40, false, down);
	s.look.debrief = s.debrief;
	compare(&s, "debrief-80", 21, 80, false, NULL);
	compare(&s, "debrief-80-page", 21, 80, false, page);
	compare(&s, "debrief-120-ascii", 90, 120, true, NULL);
	compare(NULL, "lesson-none", 8, 80, false, NULL);
	end(&s);
}

static void test_every_size(void **state)
{
	static const enum action actions[] = { ACTION_DOWN, ACTION_PAGE_DOWN, ACTION_BOTTOM,
		ACTION_UP, ACTION_TOP, ACTION_NONE };
	struct stage s;
	struct canvas c;
	int h, w, over;

	(void)state;
	begin(&s);
	for (over = 0; over < 2; over++) {
		s.look.debrief = over ? s.debrief : NULL;
		for (w = 1; w <= 260; w += w < 30 ? 1 : 37)
			for (h = 1; h <= 60; h += h < 5 ? 1 : 11) {
				draw(&s, h, w, w % 2, actions, &c);
				canvas_release(&c);
			}
	}
	end(&s);
}

/* The cause under the cursor is what d picks, in the order on the screen. */
static void test_what_d_picks(void **state)
{
	struct stage s;
	struct model m = { 0 };
	void *view = view_lesson_ops.open();
	struct view_reply reply = { 0 };

	(void)state;
	begin(&s);
	m.lesson = &s.look;
	str_init(&reply.text, 1000);
	assert_true(view_lesson_ops.act(view, &m, ACTION_DOWN, &reply));
	assert_true(view_lesson_ops.act(view, &m, ACTION_DIAGNOSE, &reply));
	assert_int_equal(reply.kind, REPLY_DIAGNOSE);
	assert_string_equal(reply.text.s, "1");
	s.look.debrief = s.debrief;
	assert_false(view_lesson_ops.act(view, &m, ACTION_DIAGNOSE, &reply));
	str_release(&reply.text);
	view_lesson_ops.close(view);
	end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_screens),
		cmocka_unit_test(test_every_size),
		cmocka_unit_test(test_what_d_picks),
	};

	text_init_locale();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
