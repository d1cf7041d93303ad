/*
 * Golden screens: boards made by hand, drawn by the real views into a canvas of a size, and
 * compared with files. A difference is shown as the two screens; `make update-golden` writes the
 * files anew, and the difference is then read in git diff.
 */
#include "config.h"

#include "../unit/unit.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "boards.h"
#include "compare.h"
#include "model/filter.h"
#include "tui/header.h"
#include "tui/help.h"
#include "tui/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct golden {
	const char *name;  /* of the file */
	const char *board; /* boards.h */
	const char *view;
	const char *id; /* what "one" shows */
	int w, h;
	bool ascii;
	const char *filter;
	const char *sort;
	enum action actions[8];
	bool styles; /* the styles too */
	bool past;   /* it was 41 minutes ago */
};

static const struct golden goldens[] = {
	{ .name = "board-80x24",
		.board = "mixed",
		.view = "board",
		.w = 80,
		.h = 24,
		.styles = true },
	{ .name = "board-80x24-stuck",
		.board = "mixed",
		.view = "board",
		.w = 80,
		.h = 24,
		.actions = { ACTION_DOWN, ACTION_DOWN, ACTION_MARK, ACTION_UP } },
	{ .name = "board-80x24-scrolled",
		.board = "mixed",
		.view = "board",
		.w = 80,
		.h = 24,
		.actions = { ACTION_RIGHT, ACTION_RIGHT, ACTION_RIGHT, ACTION_BOTTOM } },
	{ .name = "board-80x24-ascii",
		.board = "mixed",
		.view = "board",
		.w = 80,
		.h = 24,
		.ascii = true },
	{ .name = "board-80x24-role",
		.board = "mixed",
		.view = "board",
		.w = 80,
		.h = 24,
		.actions = { ACTION_DOWN, ACTION_DOWN, ACTION_DOWN } },
	{ .name = "board-80x24-role-jobs",
		.board = "role-jobs",
		.view = "board",
		.w = 80,
		.h = 24 },
	{ .name = "board-80x24-filter",
		.board = "mixed",
		.view = "board",
		.w = 80,
		.h = 24,
		.filter = "state:held ctl",
		.sort = "token" },
	{ .name = "board-80x24-no-match",
		.board = "mixed",
		.view = "board",
		.w = 80,
		.h = 24,
		.filter = "nothing" },
	{ .name = "board-80x24-no-field",
		.board = "mixed",
		.view = "board",
		.w = 80,
		.h = 24,
		.filter = "severity:crit" },
	{ .name = "board-120x36", .board = "mixed", .view = "board", .w = 120, .h = 36 },
	{ .name = "board-200x50",
		.board = "mixed",
		.view = "board",
		.w = 200,
		.h = 50,
		.actions = { ACTION_DOWN } },
	{ .name = "board-250x60",
		.board = "mixed",
		.view = "board",
		.w = 250,
		.h = 60,
		.actions = { ACTION_BOTTOM } },
	{ .name = "board-80x24-found",
		.board = "found",
		.view = "board",
		.w = 80,
		.h = 24,
		.styles = true },
	{ .name = "board-40x8", .board = "mixed", .view = "board", .w = 40, .h = 8 },
	{ .name = "past-80x24",
		.board = "mixed",
		.view = "board",
		.w = 80,
		.h = 24,
		.past = true,
		.styles = true },
	{ .name = "past-80x24-ascii",
		.board = "mixed",
		.view = "board",
		.w = 80,
		.h = 24,
		.ascii = true,
		.past = true },
	{ .name = "past-120x36-one",
		.board = "mixed",
		.view = "one",
		.id = "ctl/elections/billing",
		.w = 120,
		.h = 36,
		.past = true },
	{ .name = "past-40x8", .board = "mixed", .view = "board", .w = 40, .h = 8, .past = true },
	{ .name = "past-80x24-sources",
		.board = "mixed",
		.view = "sources",
		.w = 80,
		.h = 24,
		.past = true },
	{ .name = "past-80x24-run",
		.board = "jobs",
		.view = "runs",
		.id = "kube/cronjob/billing/close",
		.w = 80,
		.h = 24,
		.actions = { ACTION_OPEN },
		.past = true },
	{ .name = "calm-80x24", .board = "calm", .view = "board", .w = 80, .h = 24 },
	{ .name = "empty-80x24", .board = "empty", .view = "board", .w = 80, .h = 24 },
	{ .name = "connecting-80x24", .board = "connecting", .view = "board", .w = 80, .h = 24 },
	{ .name = "failing-80x24", .board = "failing", .view = "board", .w = 80, .h = 24 },
	{ .name = "none-80x24", .board = "none", .view = "board", .w = 80, .h = 24 },
	{ .name = "one-80x24",
		.board = "mixed",
		.view = "one",
		.id = "orders/app:-42",
		.w = 80,
		.h = 24 },
	{ .name = "one-80x24-young",
		.board = "calm",
		.view = "one",
		.id = "lab/app:1",
		.w = 80,
		.h = 24 },
	{ .name = "one-120x50-stale",
		.board = "mixed",
		.view = "one",
		.id = "ctl/elections/billing",
		.w = 120,
		.h = 50 },
	{ .name = "one-80x24-role-unread",
		.board = "role-unread",
		.view = "one",
		.id = "role/close-books",
		.w = 80,
		.h = 24 },
	{ .name = "one-80x24-role",
		.board = "mixed",
		.view = "one",
		.id = "role/close-books",
		.w = 80,
		.h = 24 },
	{ .name = "one-80x24-role-jobs",
		.board = "role-jobs",
		.view = "one",
		.id = "role/every-close",
		.w = 80,
		.h = 24 },
	{ .name = "one-80x24-witness",
		.board = "mixed",
		.view = "one",
		.id = "ctl/elections/scheduler",
		.w = 80,
		.h = 24 },
	{ .name = "one-80x24-witness-job",
		.board = "role-jobs",
		.view = "one",
		.id = "kube/cronjob/billing/close",
		.w = 80,
		.h = 24 },
	{ .name = "one-80x24-no-source",
		.board = "mixed",
		.view = "one",
		.id = "nowhere/elections/billing",
		.w = 80,
		.h = 24 },
	{ .name = "one-80x24-no-role",
		.board = "mixed",
		.view = "one",
		.id = "role/none",
		.w = 80,
		.h = 24 },
	{ .name = "one-80x24-unread",
		.board = "mixed",
		.view = "one",
		.id = "west/elections/none",
		.w = 80,
		.h = 24 },
	{ .name = "one-80x24-unknown",
		.board = "mixed",
		.view = "one",
		.id = "west/elections/router",
		.w = 80,
		.h = 24 },
	{ .name = "one-80x24-hidden-job",
		.board = "role-jobs",
		.view = "one",
		.id = "edge/cronjob/billing/close",
		.w = 80,
		.h = 24 },
	{ .name = "one-80x24-gone",
		.board = "mixed",
		.view = "one",
		.id = "ctl/elections/none",
		.w = 80,
		.h = 24 },
	{ .name = "job-80x50-duplicate",
		.board = "jobs",
		.view = "one",
		.id = "kube/cronjob/billing/close",
		.w = 80,
		.h = 50 },
	{ .name = "job-120x36-forbid-ascii",
		.board = "jobs",
		.view = "one",
		.id = "kube/cronjob/billing/dunning",
		.w = 120,
		.h = 36,
		.ascii = true },
	{ .name = "job-120x36-lease",
		.board = "jobs",
		.view = "one",
		.id = "kube/lease/ops/scheduler",
		.w = 120,
		.h = 36 },
	{ .name = "runs-80x24", .board = "jobs", .view = "runs", .w = 80, .h = 24, .styles = true },
	{ .name = "runs-120x36-ascii",
		.board = "jobs",
		.view = "runs",
		.w = 120,
		.h = 36,
		.ascii = true,
		.actions = { ACTION_ZOOM_OUT, ACTION_DOWN } },
	{ .name = "runs-200x50", .board = "jobs", .view = "runs", .w = 200, .h = 50 },
	{ .name = "runs-80x24-none", .board = "mixed", .view = "runs", .w = 80, .h = 24 },
	{ .name = "runs-80x24-filter",
		.board = "jobs",
		.view = "runs",
		.w = 80,
		.h = 24,
		.filter = "dunning" },
	{ .name = "run-80x24-duplicate",
		.board = "jobs",
		.view = "runs",
		.id = "kube/cronjob/billing/close",
		.w = 80,
		.h = 24,
		.actions = { ACTION_OPEN },
		.styles = true },
	{ .name = "run-80x24-duplicate-ascii",
		.board = "jobs",
		.view = "runs",
		.id = "kube/cronjob/billing/close",
		.w = 80,
		.h = 24,
		.ascii = true,
		.actions = { ACTION_OPEN, ACTION_ZOOM_OUT, ACTION_UP, ACTION_UP } },
	{ .name = "run-120x36-forbid",
		.board = "jobs",
		.view = "runs",
		.id = "kube/cronjob/billing/dunning",
		.w = 120,
		.h = 36,
		.actions = { ACTION_OPEN } },
	{ .name = "run-80x24-lost-node",
		.board = "jobs",
		.view = "runs",
		.id = "kube/cronjob/data/sync",
		.w = 80,
		.h = 24,
		.actions = { ACTION_OPEN } },
	{ .name = "run-80x24-no-start",
		.board = "jobs",
		.view = "runs",
		.id = "kube/cronjob/data/import",
		.w = 80,
		.h = 24,
		.actions = { ACTION_OPEN } },
	{ .name = "run-80x24-suspended",
		.board = "jobs",
		.view = "runs",
		.id = "kube/cronjob/ops/cleanup",
		.w = 80,
		.h = 24,
		.actions = { ACTION_OPEN } },
	{ .name = "run-200x50-two-pods",
		.board = "jobs",
		.view = "runs",
		.id = "kube/cronjob/ops/backup",
		.w = 200,
		.h = 50,
		.actions = { ACTION_OPEN } },
	{ .name = "run-80x24-typo",
		.board = "jobs",
		.view = "runs",
		.id = "kube/cronjob/ops/typo",
		.w = 80,
		.h = 24,
		.actions = { ACTION_OPEN } },
	{ .name = "run-80x24-unreadable",
		.board = "jobs",
		.view = "runs",
		.id = "west/cronjob/billing/close",
		.w = 80,
		.h = 24,
		.actions = { ACTION_OPEN } },
	{ .name = "run-80x24-scrolled",
		.board = "jobs",
		.view = "runs",
		.id = "kube/cronjob/billing/dunning",
		.w = 80,
		.h = 24,
		.actions = { ACTION_OPEN, ACTION_ZOOM_IN, ACTION_LEFT, ACTION_LEFT } },
	{ .name = "jobs-board-80x24", .board = "jobs", .view = "board", .w = 80, .h = 24 },
	{ .name = "jobs-board-120x36", .board = "jobs", .view = "board", .w = 120, .h = 36 },
	{ .name = "events-80x24", .board = "mixed", .view = "events", .w = 80, .h = 24 },
	{ .name = "events-80x24-filter",
		.board = "mixed",
		.view = "events",
		.w = 80,
		.h = 24,
		.filter = "BILLING !took" },
	{ .name = "events-80x24-no-match",
		.board = "mixed",
		.view = "events",
		.w = 80,
		.h = 24,
		.filter = "nothing-of-that" },
	{ .name = "events-80x24-reading",
		.board = "connecting",
		.view = "events",
		.w = 80,
		.h = 24 },
	{ .name = "events-120x36-empty", .board = "calm", .view = "events", .w = 120, .h = 36 },
	{ .name = "sources-80x24",
		.board = "mixed",
		.view = "sources",
		.w = 80,
		.h = 24,
		.actions = { ACTION_DOWN, ACTION_DOWN } },
	{ .name = "sources-160x40-ascii",
		.board = "mixed",
		.view = "sources",
		.w = 160,
		.h = 40,
		.ascii = true },
};

static void act(const struct view_ops *ops, void *state, const struct model *m, struct listing *l,
	const struct golden *g)
{
	struct view_reply reply = { 0 };
	size_t i;

	str_init(&reply.text, 4096);
	for (i = 0; i < 8 && g->actions[i] != ACTION_NONE; i++) {
		assert_true(ops->act(state, m, g->actions[i], &reply));
		if (ops->cursor && ops->cursor(state, m))
			listing_follow(l, ops->cursor(state, m));
	}
	str_release(&reply.text);
}

static void draw(const struct golden *g, struct canvas *c)
{
	const struct view_ops *ops = view_at((size_t)view_find(g->view))->ops;
	struct board *board = boards_make(g->board, BOARDS_NOW_MS, BOARDS_NOW_US);
	struct listing *l = listing_new();
	struct journal journal;
	void *state = ops->open();
	struct model m = { .board = board,
		.listing = l,
		.journal = &journal,
		.id = g->id,
		.now_ms = BOARDS_NOW_MS,
		.now_us = BOARDS_NOW_US,
		.ago_ms = g->past ? 41 * 60000 : 0 };

	if (strcmp(g->board, "none") == 0)
		m.looked_for = "Looked for PGHOST and ETCDCTL_ENDPOINTS in the environment: "
			       "neither is set.";
	journal_init(&journal, 100);
	if (strcmp(g->board, "mixed") == 0)
		boards_events(&journal, BOARDS_NOW_US);
	if (g->sort)
		listing_sort(l, (enum sort)sort_from_word(g->sort), false);
	if (g->filter && !ops->filter)
		assert_int_equal(listing_filter(l, g->filter, NULL), 0);
	listing_update(l, board, BOARDS_NOW_MS, BOARDS_NOW_US);
	while (listing_work(l, BOARDS_NOW_MS, BOARDS_NOW_US, 100))
		;
	if (g->id)
		listing_track(l, g->id);
	canvas_init(c, g->h, g->w, g->ascii);
	/* Once drawn, the view knows its page. */
	ops->sync(state, &m);
	if (g->filter && ops->filter)
		ops->filter(state, &m, g->filter);
	ops->draw(state, &m, c,
		area_sub(canvas_all(c), HEADER_LINES, 0, c->h - HEADER_LINES - 1, c->w));
	act(ops, state, &m, l, g);
	ops->sync(state, &m);
	canvas_clear(c);
	header_draw(&m, g->id ? g->id : ops->title, c);
	ops->draw(state, &m, c,
		area_sub(canvas_all(c), HEADER_LINES, 0, c->h - HEADER_LINES - 1, c->w));
	ops->close(state);
	listing_free(l);
	journal_release(&journal);
	board_unref(board);
}

static void screens(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(goldens) / sizeof(goldens[0]); i++) {
		struct canvas c;
		struct str made;
		size_t k;

		draw(&goldens[i], &c);
		str_init(&made, 1024 * 1024);
		canvas_dump(&c, &made);
		if (goldens[i].styles)
			canvas_dump_styles(&c, &made);
		for (k = 0; goldens[i].ascii && k < made.len; k++)
			assert_true((unsigned char)made.s[k] < 0x80);
		golden_compare(goldens[i].name, &made);
		str_release(&made);
		canvas_release(&c);
	}
}

static void help_screen(void **state)
{
	static const char *const searches[] = { "", "sort", "zzz" };
	struct canvas c;
	struct str made;
	size_t i;

	(void)state;
	str_init(&made, 1024 * 1024);
	for (i = 0; i < 3; i++) {
		canvas_init(&c, i ? 24 : 144, 80, false);
		help_draw(&c, canvas_all(&c), searches[i], 0);
		canvas_dump(&c, &made);
		canvas_release(&c);
	}
	golden_compare("help-80", &made);
	str_release(&made);
}

/* Nothing on the canvas is a control or format character, whatever the names are. */
static void only_printable(const struct canvas *c)
{
	size_t i, n = (size_t)c->h * (size_t)c->w;

	for (i = 0; i < n; i++) {
		const struct cell *cell = &c->cells[i];

		assert_true(!cell->cp || text_cp_width(cell->cp) == cell->width);
	}
}

/* Every view at every size, on tame and on hostile names: nothing may crash. */
static void every_size(void **state)
{
	static const char *const views[] = { "board", "one", "events", "sources", "runs", "runs",
		"one" };
	static const char *const boards[] = { "mixed", "hostile", "jobs" };
	static const char *const ids[21] = { [1] = "orders/app:-42",
		[6] = "ctl/elections/billing",
		[8] = "hostile/",
		[12] = "hostile/cronjob/hostile",
		[13] = "hostile/cronjob/hostile",
		[15] = "kube/lease/ops/scheduler",
		[19] = "kube/cronjob/ops/backup",
		[20] = "kube/cronjob/ops/backup" };
	size_t v;
	int w, h;

	(void)state;
	for (v = 0; v < 21; v++)
		for (w = 1; w <= 260; w += w < 4 ? 1 : v < 7 ? 37 : 73)
			for (h = 1; h <= 60; h += h < 4 ? 1 : v < 7 ? 13 : 27) {
				struct golden g = { .board = boards[v / 7],
					.view = views[v % 7],
					.w = w,
					.h = h,
					.ascii = w % 2,
					.past = w % 3 == 0,
					.id = ids[v],
					.actions = { v % 7 == 5 ? ACTION_OPEN : ACTION_DOWN,
						ACTION_PAGE_DOWN, ACTION_UP, ACTION_BOTTOM } };
				struct canvas c;

				draw(&g, &c);
				only_printable(&c);
				canvas_release(&c);
			}
}

/* Where a source stands in the header and others don't, their number stands there too: whoever
 * reads three names takes them for all. */
static void sources_left_out_are_counted(void **state)
{
	static const char *const names[] = { "west! ", "orders <", "ctl ~" };
	struct golden g = { .board = "mixed", .view = "board", .h = 24 };
	int narrow = 0;

	(void)state;
	for (g.w = 60; g.w <= 120; g.w++) {
		size_t i, shown = 0;
		struct canvas c;
		struct str made;
		char count[8];

		draw(&g, &c);
		str_init(&made, 1024 * 1024);
		canvas_dump(&c, &made);
		*strchr(made.s, '\n') = '\0';
		for (i = 0; i < ARRAY_LEN(names); i++)
			shown += strstr(made.s, names[i]) != NULL;
		snprintf(count, sizeof(count), "+%zu", ARRAY_LEN(names) - shown);
		if (shown && shown < ARRAY_LEN(names)) {
			narrow++;
			if (!strstr(made.s, count))
				fail_msg("%d columns: no %s in: %s", g.w, count, made.s);
		}
		str_release(&made);
		canvas_release(&c);
	}
	assert_true(narrow > 5);
}

/* Beside a long title there may be no room for how many rows need a person; a part of the number
 * would be another number. */
static void who_needs_a_person_is_counted_whole(void **state)
{
	struct golden g = {
		.board = "jobs", .view = "one", .id = "kube/lease/ops/scheduler", .h = 24
	};
	int seen[3] = { 0 };

	(void)state;
	for (g.w = 40; g.w <= 120; g.w++) {
		struct canvas c;
		struct str made;
		const char *mode;

		draw(&g, &c);
		str_init(&made, 1024 * 1024);
		canvas_dump(&c, &made);
		*strchr(made.s, '\n') = '\0';
		mode = strstr(made.s, "[READ-ONLY]");
		mode = mode ? mode + strlen("[READ-ONLY]") : "";
		mode += strspn(mode, " ");
		if (strncmp(mode, "5 need you", 10) == 0)
			seen[0]++;
		else if (strncmp(mode, "5!", 2) == 0)
			seen[1]++;
		else if (*mode == '!' || !*mode)
			seen[2]++;
		else
			fail_msg("%d columns: %s", g.w, made.s);
		str_release(&made);
		canvas_release(&c);
	}
	assert_true(seen[0] && seen[1] && seen[2]);
}

/* What ages asks to be drawn again when its text changes, and not before. */
static void ageing_is_announced(void **state)
{
	struct golden g = { .board = "calm", .view = "board", .w = 80, .h = 24 };
	struct canvas c;

	(void)state;
	draw(&g, &c);
	/* "1m" changes a minute on; the picture's "<5s" after five seconds. */
	assert_int_equal(c.next_ms, BOARDS_NOW_MS + 5000);
	canvas_release(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(screens),
		cmocka_unit_test(help_screen),
		cmocka_unit_test(every_size),
		cmocka_unit_test(sources_left_out_are_counted),
		cmocka_unit_test(who_needs_a_person_is_counted_whole),
		cmocka_unit_test(ageing_is_announced),
	};

	/* What is drawn depends on no machine's zone. */
	setenv("TZ", "UTC", 1);
	setenv("TZDIR", TESTS_DIR "/oracle/cron/zoneinfo", 1);
	text_init_locale();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
