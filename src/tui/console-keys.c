#include "config.h"

#include "tui/console-state.h"
#include "base/mem.h"
#include "control/fleet.h"

#include <stdio.h>
#include <string.h>

static bool needs_list(struct console *k)
{
	if (console_view(k)->ops->lists)
		return true;
	console_say(k, false, "this works on the board: 1 goes there");
	return false;
}

static bool act_list(struct console *k, enum action action)
{
	bool reverse;
	enum sort sort = listing_sorted(k->listing, &reverse);

	switch (action) {
	case ACTION_FILTER:
		if (console_view(k)->ops->filter || needs_list(k))
			console_type(k, MODE_FILTER);
		return true;
	case ACTION_NEED:
		if (needs_list(k))
			console_need(k);
		return true;
	case ACTION_SORT:
		if (needs_list(k))
			console_sort(k, (enum sort)((sort + 1) % SORT_COUNT), false);
		return true;
	case ACTION_INVERT:
		if (needs_list(k))
			console_sort(k, sort, !reverse);
		return true;
	case ACTION_WITNESSES:
		if (needs_list(k))
			console_witnesses(k, !listing_joined(k->listing));
		return true;
	default:
		return false;
	}
}

static bool act_console(struct console *k, enum action action)
{
	switch (action) {
	case ACTION_QUIT:
		k->quit = true;
		return true;
	case ACTION_BACK:
		console_escape(k);
		return true;
	case ACTION_COMMAND:
		console_type(k, MODE_COMMAND);
		return true;
	case ACTION_HELP:
		console_type(k, MODE_HELP);
		return true;
	case ACTION_PAUSE:
		console_pause(k);
		return true;
	case ACTION_RECORD:
		console_record(k, "");
		return true;
	case ACTION_POLL:
		fleet_poll_now(k->fleet, NULL);
		console_say(k, false, k->paused ? "paused: Z goes on" : "polling all sources now");
		return true;
	case ACTION_REDRAW:
		screen_redraw(k->screen);
		return true;
	case ACTION_MOUSE:
		console_mouse(k, !k->mouse);
		return true;
	case ACTION_PAST_BACK:
	case ACTION_PAST_ON:
		console_past_step(k, action == ACTION_PAST_ON, false);
		return true;
	case ACTION_LAST_FINDING:
	case ACTION_NEXT_FINDING:
		console_past_step(k, action == ACTION_NEXT_FINDING, true);
		return true;
	case ACTION_NOW:
		return console_past_leave(k);
	case ACTION_BACKWARD:
		console_go_history(k, k->now - 1);
		return true;
	case ACTION_FORWARD:
		console_go_history(k, k->now + 1);
		return true;
	default:
		return false;
	}
}

static bool act_view_key(struct console *k, enum action action)
{
	static const struct {
		enum action action;
		char key;
	} keys[] = { { ACTION_VIEW_BOARD, '1' }, { ACTION_VIEW_RUNS, '2' },
		{ ACTION_VIEW_EVENTS, '3' }, { ACTION_VIEW_SOURCES, '4' },
		{ ACTION_VIEW_ACTIONS, '5' }, { ACTION_VIEW_LESSON, '6' } };
	size_t i;

	for (i = 0; i < ARRAY_LEN(keys); i++) {
		if (keys[i].action != action)
			continue;
		console_go_key(k, keys[i].key);
		return true;
	}
	return false;
}

static void view_key(struct console *k, uint32_t key)
{
	enum action action = keymap_action(key);
	struct view_reply reply = { 0 };
	char name[32];

	k->message[0] = '\0';
	k->dirty = true;
	if (action != ACTION_NONE && (console_time_act(k, action) || act_console(k, action) ||
					     act_list(k, action) || act_view_key(k, action)))
		return;
	str_init(&reply.text, 64 * 1024);
	if (action == ACTION_NONE ||
		!console_view(k)->ops->act(console_view_state(k), &k->model, action, &reply)) {
		keymap_key_name(key, name, sizeof(name));
		console_say(k, false, "%s does nothing here; ? lists the keys", name);
	}
	/* The listing is told before the view may change. */
	console_follow(k);
	console_answer(k, &reply);
	str_release(&reply.text);
}

void console_key(struct console *k, uint32_t key)
{
	k->dirty = true;
	k->tell = TELL_NOTHING;
	switch (k->mode) {
	case MODE_FILTER:
		console_type_filter(k, key);
		break;
	case MODE_COMMAND:
		console_type_command(k, key);
		break;
	case MODE_HELP:
		console_type_help(k, key);
		break;
	case MODE_PICK:
	case MODE_GATE:
		console_act_key(k, key);
		break;
	default:
		view_key(k, key);
		break;
	}
}

/* Pasted text goes where something is typed, and nowhere else: it never runs as keys. */
static void paste_event(struct console *k, uint32_t cp)
{
	struct line *line = k->mode == MODE_FILTER    ? &k->filter
			    : k->mode == MODE_COMMAND ? &k->command
			    : k->mode == MODE_HELP    ? &k->search
						      : NULL;

	if (k->mode == MODE_PICK || k->mode == MODE_GATE) {
		console_act_paste(k, cp);
		return;
	}
	if (!line) {
		console_say(k, false, "pasted text is not run as keys: type / or : first");
		return;
	}
	line_insert(line, cp);
	if (k->mode == MODE_FILTER)
		console_filter(k, k->filter.text);
	k->dirty = true;
}

static void mouse_event(struct console *k, const struct input_event *event)
{
	const struct view_ops *ops = console_view(k)->ops;
	struct view_reply reply = { 0 };
	bool again;

	if (k->mode != MODE_VIEW || !k->mouse || !ops->mouse || event->button == BUTTON_RELEASE)
		return;
	again = event->button == BUTTON_LEFT && event->y == k->click_y && event->x == k->click_x &&
		console_now_ms() - k->click_ms < AGAIN_MS;
	k->click_y = event->y;
	k->click_x = event->x;
	k->click_ms = console_now_ms();
	str_init(&reply.text, 4096);
	ops->mouse(console_view_state(k), &k->model, event, again, &reply);
	console_follow(k);
	console_answer(k, &reply);
	str_release(&reply.text);
	k->dirty = true;
}

/* Takes the theme that fits the terminal's background, unless somebody chose one. */
static void background_event(struct console *k, uint32_t rgb)
{
	unsigned light = (rgb >> 16 & 255) * 299 + (rgb >> 8 & 255) * 587 + (rgb & 255) * 114;
	struct theme theme;

	if (!k->theme_fitted || theme_load(&theme, light > 127500 ? "light" : "dark", NULL) < 0)
		return;
	k->theme = theme;
	k->dirty = true;
}

void console_take_input(struct console *k)
{
	struct input_event event;
	int64_t now = console_now_ms();

	while (!k->quit && input_next(&k->input, now, &event)) {
		switch (event.type) {
		case INPUT_KEY:
			console_key(k, event.key);
			break;
		case INPUT_PASTE:
			paste_event(k, event.key);
			break;
		case INPUT_MOUSE:
			mouse_event(k, &event);
			break;
		case INPUT_BACKGROUND:
			background_event(k, event.rgb);
			break;
		case INPUT_ANSWERED:
			k->asked = false;
			break;
		}
	}
}
