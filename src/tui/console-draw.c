#include "config.h"

#include "control/settings.h"
#include "tui/console-state.h"
#include "control/fleet.h"
#include "tui/format.h"
#include "tui/header.h"
#include "tui/help.h"

#include <stdio.h>
#include <string.h>

enum {
	HELP_HINT_W = sizeof("? help") + 1
};

/* Returns where the next hint may stand; x, and nothing drawn, where there is no room. */
static int draw_hint(struct console *k, struct area a, int x, int room, enum action action)
{
	const char *word = keymap_hint(action);
	char key[16];

	if (action == ACTION_PAUSE && k->model.paused)
		word = "go on";
	keymap_first(action, key, sizeof(key));
	if (x + canvas_width(&k->canvas, key) + 1 + canvas_width(&k->canvas, word) > room)
		return x;
	x += canvas_put(&k->canvas, a, 0, x, STYLE_KEY, key) + 1;
	return x + canvas_put(&k->canvas, a, 0, x, STYLE_KEY_HELP, word) + 2;
}

/* Whether it would do anything where it is pressed now. */
static bool is_hinted(const struct console *k, enum action action)
{
	const struct lesson_look *lesson = k->model.lesson;

	switch (action) {
	case ACTION_ACT:
		return !k->then; /* nothing is done to the past */
	case ACTION_OPEN:
		/* What one row shows is all of it; of a role its witnesses can be opened. */
		return console_view(k)->ops != &view_one_ops ||
		       (k->model.id && strncmp(k->model.id, "role/", 5) == 0);
	case ACTION_DIAGNOSE:
		return lesson && !lesson->debrief;
	case ACTION_FASTER:
	case ACTION_STEP:
		return k->options->time != NULL;
	default:
		return true;
	}
}

/* Where not all have room, the help has: it tells the rest. In a lesson so has the way back to its
 * story. */
static void draw_hints(struct console *k, struct area a, int room)
{
	const enum action *hints = console_view(k)->ops->hints;
	int x = 1, last = room - HELP_HINT_W, after;

	for (; hints && *hints != ACTION_NONE; hints++) {
		if (!is_hinted(k, *hints))
			continue;
		after = draw_hint(k, a, x, *hints == ACTION_HELP ? room : last, *hints);
		if (after == x)
			break;
		x = after;
		if (*hints == ACTION_HELP)
			last = room;
		if (*hints == ACTION_ACT && k->model.lesson)
			x = draw_hint(k, a, x, last, ACTION_VIEW_LESSON);
	}
	if (last < room)
		draw_hint(k, a, x, room, ACTION_HELP);
}

/* Whole, in as many lines as it takes: an answer that is cut says neither what to do nor where a
 * file is. What it covers comes back with the next key. */
static void draw_message(struct console *k)
{
	struct canvas *c = &k->canvas;
	enum style style = k->message_error ? STYLE_MESSAGE_ERROR : STYLE_MESSAGE;
	struct area all = area_sub(canvas_all(c), 0, 0, c->h, c->w - 1), none = all;
	int most = (c->h - HEADER_LINES) / 2, lines, y;

	none.h = 0;
	lines = canvas_wrap(c, none, 0, 1, 1, style, k->message);
	lines = lines > most ? most : lines;
	for (y = c->h - lines; y < c->h; y++)
		canvas_fit(c, canvas_all(c), y, 0, c->w, STYLE_TEXT, FIT_LEFT, "");
	canvas_wrap(c, all, c->h - lines, 1, 1, style, k->message);
}

static void draw_bottom(struct console *k)
{
	struct canvas *c = &k->canvas;
	struct area a = area_sub(canvas_all(c), c->h - 1, 0, 1, c->w);
	struct str status;
	int w;

	if (k->mode == MODE_FILTER || k->mode == MODE_COMMAND) {
		line_draw(k->mode == MODE_FILTER ? &k->filter : &k->command, c, a, 0,
			k->mode == MODE_FILTER ? "/" : ":");
		if (*k->hint) {
			canvas_fit(c, canvas_all(c), c->h - 2, 0, c->w,
				k->hint_error ? STYLE_MESSAGE_ERROR : STYLE_PROMPT_HINT, FIT_LEFT,
				k->hint);
		}
		return;
	}
	if (*k->message) {
		draw_message(k);
		return;
	}
	str_init(&status, 512);
	if (console_view(k)->ops->status)
		console_view(k)->ops->status(console_view_state(k), &k->model, &status);
	if ((console_view(k)->ops->lists || console_view(k)->ops->filter) &&
		*console_filter_text(k))
		str_addf(&status, "  /%s", console_filter_text(k));
	w = canvas_width(c, status.s);
	w = w > c->w / 2 ? c->w / 2 : w;
	canvas_fit(c, a, 0, c->w - w - 1, w, STYLE_DIM, FIT_LEFT, status.s);
	draw_hints(k, a, c->w - w - 2);
	str_release(&status);
}

static void draw_help(struct console *k)
{
	struct canvas *c = &k->canvas;
	struct area all = canvas_all(c);

	k->help_lines = help_draw(c, area_sub(all, HEADER_LINES, 0, c->h - HEADER_LINES - 1, c->w),
		k->search.text, k->help_top);
	line_draw(&k->search, c, area_sub(all, c->h - 1, 0, 1, c->w), 0, "search the help: ");
	if (c->w > 70 && k->search.len < 20)
		canvas_put(c, all, c->h - 1, c->w - 27, STYLE_DIM, "Up Down PgDn  Esc leaves it");
}

static void draw_small(struct console *k)
{
	struct canvas *c = &k->canvas;
	char text[200];

	snprintf(text, sizeof(text), "%dx%d is too small: baton needs %dx%d. %zu need you.", c->w,
		c->h, LEAST_W, LEAST_H, k->board ? k->board->n_attention : 0);
	canvas_wrap(c, canvas_all(c), 0, 0, 0, STYLE_TEXT, text);
}

static void draw_view(struct console *k)
{
	struct canvas *c = &k->canvas;
	const struct view_ops *ops = console_view(k)->ops;
	struct area a = area_sub(canvas_all(c), HEADER_LINES, 0, c->h - HEADER_LINES - 1, c->w);
	const char *where = k->history[k->now].id ? k->history[k->now].id : ops->title;

	header_draw(&k->model, where, c);
	if (k->mode == MODE_HELP) {
		draw_help(k);
		return;
	}
	ops->draw(console_view_state(k), &k->model, c, a);
	draw_bottom(k);
	if (k->mode == MODE_PICK || k->mode == MODE_GATE)
		console_act_draw(k);
}

void console_tell_wanted(struct console *k)
{
	const struct view_ops *ops = console_view(k)->ops;
	const char *ids[WANTED_MAX];
	struct str text;
	size_t n, i;

	/* Of the past there is nothing to be read. */
	if (!k->board || k->then)
		return;
	n = ops->wanted ? ops->wanted(console_view_state(k), &k->model, ids, WANTED_MAX) : 0;
	str_init(&text, 1024 * 1024);
	for (i = 0; i < n; i++)
		str_addf(&text, "%s\n", ids[i]);
	if (strcmp(text.s, k->wanted.s) == 0) {
		str_release(&text);
		return;
	}
	fleet_want(k->fleet, ids, n);
	str_release(&k->wanted);
	k->wanted = text;
}

/* The audit is read while it is looked at; this program or another may have written to it. */
static void refresh_actions(struct console *k)
{
	const struct view_ops *ops = console_view(k)->ops;

	if (ops != &view_actions_ops)
		return;
	/* Those of this machine are not those of a record. */
	if (k->settings->past ? !actions_refresh_past(&k->actions, k->fleet)
			      : !actions_refresh(&k->actions, NULL, k->settings->sim))
		return;
	console_model(k);
	ops->sync(console_view_state(k), &k->model);
}

void console_draw(struct console *k)
{
	int h, w;

	screen_size(k->screen, &h, &w);
	if (h != k->canvas.h || w != k->canvas.w)
		canvas_resize(&k->canvas, h, w);
	canvas_clear(&k->canvas);
	console_model(k);
	refresh_actions(k);
	if (console_message_over(k))
		k->message[0] = '\0';
	if (h < LEAST_H || w < LEAST_W)
		draw_small(k);
	else
		draw_view(k);
	if (k->paused && !k->then)
		k->still_next_ms = k->canvas.next_ms == INT64_MAX
					   ? INT64_MAX
					   : console_live_ms(k) + clock_minus(k->canvas.next_ms,
									  k->model.now_ms);
	if (k->then)
		k->still_next_ms = console_live_ms(k) + format_age_holds_ms(k->model.ago_ms);
	screen_show(k->screen, &k->canvas, &k->theme);
	k->dirty = false;
}
