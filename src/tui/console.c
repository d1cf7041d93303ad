#include "config.h"

#include "tui/console.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "control/fleet.h"
#include "control/settings.h"
#include "model/filter.h"
#include "tui/command.h"
#include "tui/header.h"
#include "tui/help.h"
#include "tui/input.h"
#include "tui/line.h"
#include "tui/screen.h"
#include "tui/view.h"

#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	HISTORY_MAX = 50,
	VIEWS_MAX = 16,
	JOURNAL_CAP = 5000,
	EVENTS_AT_ONCE = 256,
	WANTED_MAX = 300,
	BOARD_EVERY_MS = 50, /* a board is taken at most so often, so that keys come first */
	PASS_ROWS = 20000,   /* rows of a filter's pass between two looks at the keys */
	MESSAGE_MS = 8000,
	AGAIN_MS = 400,  /* a double click */
	ANSWER_MS = 200, /* how long the way out waits for a terminal that was asked something */
	LEAST_H = 8,
	LEAST_W = 40,
};

enum mode {
	MODE_VIEW,
	MODE_FILTER,
	MODE_COMMAND,
	MODE_HELP
};

struct place {
	int view;
	char *id; /* owned; NULL where the view needs none */
};

struct console {
	struct fleet *fleet;
	const struct settings *settings;
	const struct console_options *options;
	struct screen *screen;
	struct canvas canvas;
	struct theme theme;
	bool theme_fitted; /* nobody chose it: it may follow the terminal's background */
	bool asked;        /* the terminal was asked for its background and did not answer yet */
	int64_t asked_ms;

	struct input input;
	struct listing *listing;
	struct journal journal;
	uint64_t events_seq;
	struct board *board;
	int64_t board_ms; /* when it was taken */
	bool paused;

	void *states[VIEWS_MAX];
	struct place history[HISTORY_MAX];
	int n_history, now; /* history[now] is shown */

	enum mode mode;
	struct line filter, command, search;
	char *filter_before;
	int help_top, help_lines;
	char hint[700]; /* beside what is typed: an error, or what may follow */
	bool hint_error;

	char message[700];
	bool message_error;
	int64_t message_until_ms;

	int click_y, click_x;
	int64_t click_ms;
	bool mouse;
	struct str wanted; /* the ids that the fleet was told last, one a line */

	struct model model;
	bool dirty;
	bool quit;
	int code;
};

static int64_t now_ms(void)
{
	return clock_mono_ms(&clock_system);
}

__attribute__((format(printf, 3, 4))) static void say(
	struct console *k, bool error, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(k->message, sizeof(k->message), fmt, ap);
	va_end(ap);
	k->message_error = error;
	k->message_until_ms = now_ms() + MESSAGE_MS;
	k->dirty = true;
}

static const struct view_entry *view_now(const struct console *k)
{
	return view_at((size_t)k->history[k->now].view);
}

static void *state_now(const struct console *k)
{
	return k->states[k->history[k->now].view];
}

static void model_refresh(struct console *k)
{
	k->model = (struct model){
		.board = k->board,
		.listing = k->listing,
		.journal = &k->journal,
		.looked_for = k->settings->looked_for,
		.id = k->history[k->now].id,
		.now_ms = now_ms(),
		.now_us = clock_wall_us(&clock_system),
		.paused = k->paused,
	};
}

static void view_sync(struct console *k)
{
	const struct view_ops *ops = view_now(k)->ops;

	model_refresh(k);
	if (ops->sync)
		ops->sync(state_now(k), &k->model);
	k->dirty = true;
}

/* Every view that was opened hears of a new picture, also those that are not shown: some keep
 * samples of it. */
static void sync_all(struct console *k)
{
	size_t i;

	model_refresh(k);
	for (i = 0; i < view_count(); i++)
		if (k->states[i] && view_at(i)->ops->sync)
			view_at(i)->ops->sync(k->states[i], &k->model);
	k->dirty = true;
}

/* The row under the cursor is followed from here on; of the view "one" it is the one that it shows.
 */
static void follow_cursor(struct console *k)
{
	const struct view_ops *ops = view_now(k)->ops;
	const struct listing_row *row = ops->cursor ? ops->cursor(state_now(k), &k->model) : NULL;
	const char *tracked = listing_tracked_id(k->listing);

	if (row && !str_eq(tracked, row->row->s->id))
		listing_follow(k->listing, row);
}

static void go(struct console *k, int view, const char *id)
{
	int i;

	for (i = k->now + 1; i < k->n_history; i++)
		free(k->history[i].id);
	k->n_history = k->n_history ? k->now + 1 : 0;
	if (k->n_history == HISTORY_MAX) {
		free(k->history[0].id);
		memmove(k->history, k->history + 1, (HISTORY_MAX - 1) * sizeof(*k->history));
		k->n_history--;
	}
	k->now = k->n_history++;
	k->history[k->now] = (struct place){ .view = view, .id = id ? xstrdup(id) : NULL };
	if (id && !str_eq(listing_tracked_id(k->listing), id))
		listing_track(k->listing, id);
	view_sync(k);
}

static void go_to_history(struct console *k, int at)
{
	if (at < 0 || at >= k->n_history) {
		say(k, false,
			at < 0 ? "there is no view before this one"
			       : "there is no view after this one");
		return;
	}
	k->now = at;
	if (k->history[at].id && !str_eq(listing_tracked_id(k->listing), k->history[at].id))
		listing_track(k->listing, k->history[at].id);
	view_sync(k);
}

static void go_view(struct console *k, int view)
{
	const struct view_entry *entry = view_at((size_t)view);

	if (!entry->ops)
		say(k, false, "%s", entry->later);
	else if (k->history[k->now].view != view)
		go(k, view, NULL);
}

static void go_key(struct console *k, char key)
{
	size_t i;

	for (i = 0; i < view_count(); i++)
		if (view_at(i)->key == key)
			go_view(k, (int)i);
}

static void marks_end(struct console *k)
{
	size_t i;

	for (i = 0; i < view_count(); i++)
		if (k->states[i] && view_at(i)->ops->unmark)
			view_at(i)->ops->unmark(k->states[i]);
}

/* Sets the filter; on an error the one that was stays and the hint says why. */
static bool set_filter(struct console *k, const char *text)
{
	struct err err = { 0 };

	k->hint[0] = '\0';
	k->hint_error = false;
	if (str_eq(text, listing_filter_text(k->listing)))
		return true;
	if (listing_filter(k->listing, text, &err) < 0) {
		snprintf(k->hint, sizeof(k->hint), "%s", err.text);
		k->hint_error = true;
		return false;
	}
	marks_end(k);
	k->dirty = true;
	return true;
}

static void set_sort(struct console *k, enum sort sort, bool reverse)
{
	listing_sort(k->listing, sort, reverse);
	say(k, false, "sorted by %s%s: %s", sort_name(sort), reverse ? ", turned round" : "",
		sort_help(sort));
}

static void toggle_need(struct console *k)
{
	const char *now = listing_filter_text(k->listing);

	set_filter(k, strcmp(now, "is:need") == 0 ? "" : "is:need");
}

static void toggle_pause(struct console *k)
{
	k->paused = !k->paused;
	fleet_pause(k->fleet, k->paused);
	say(k, false,
		k->paused ? "the picture is held still and nothing is polled; Z goes on"
			  : "polling again");
}

static void toggle_mouse(struct console *k, bool on)
{
	k->mouse = on;
	screen_mouse(k->screen, on);
	say(k, false, on ? "mouse on: click, double click, wheel; m turns it off" : "mouse off");
}

static void toggle_witnesses(struct console *k, bool join)
{
	listing_join(k->listing, join);
	say(k, false,
		join ? "the witnesses of a role are joined on its row"
		     : "the witnesses of roles stand as rows of their own, too");
}

static void copy(struct console *k, const char *text)
{
	size_t lines = 1;
	const char *s;

	for (s = text; *s; s++)
		lines += *s == '\n';
	if (!screen_copy(k->screen, text, strlen(text)))
		say(k, true, "too much to copy: mark fewer rows");
	else if (lines > 1)
		say(k, false, "%zu ids sent to the terminal's clipboard", lines);
	else
		say(k, false, "sent to the terminal's clipboard: %.500s", text);
}

static void begin_typing(struct console *k, enum mode mode)
{
	k->mode = mode;
	k->hint[0] = '\0';
	k->hint_error = false;
	k->message[0] = '\0';
	if (mode == MODE_FILTER) {
		free(k->filter_before);
		k->filter_before = xstrdup(listing_filter_text(k->listing));
		line_begin(&k->filter, k->filter_before);
	} else if (mode == MODE_COMMAND) {
		line_begin(&k->command, "");
	} else {
		line_begin(&k->search, "");
		k->help_top = 0;
	}
	k->dirty = true;
}

static void escape(struct console *k)
{
	const struct view_ops *ops = view_now(k)->ops;
	struct view_reply reply = { 0 };

	if (!ops->lists) {
		if (k->now > 0)
			go_to_history(k, k->now - 1);
		else
			go_view(k, 0);
		return;
	}
	if (*listing_filter_text(k->listing)) {
		set_filter(k, "");
		return;
	}
	ops->act(state_now(k), &k->model, ACTION_BACK, &reply);
}

static void answer(struct console *k, const struct view_reply *reply)
{
	int view = view_find("one");

	switch (reply->kind) {
	case REPLY_OPEN:
		go(k, view, reply->text.s);
		break;
	case REPLY_VIEW:
		view = view_find(reply->text.s);
		if (view >= 0)
			go_view(k, view);
		break;
	case REPLY_BACK:
		go_to_history(k, k->now - 1);
		break;
	case REPLY_COPY:
		copy(k, reply->text.s);
		break;
	case REPLY_SAY:
		say(k, false, "%s", reply->text.s);
		break;
	default:
		break;
	}
}

static bool needs_list(struct console *k)
{
	if (view_now(k)->ops->lists)
		return true;
	say(k, false, "this works on the board: 1 goes there");
	return false;
}

static bool act_list(struct console *k, enum action action)
{
	bool reverse;
	enum sort sort = listing_sorted(k->listing, &reverse);

	switch (action) {
	case ACTION_FILTER:
		if (needs_list(k))
			begin_typing(k, MODE_FILTER);
		return true;
	case ACTION_NEED:
		if (needs_list(k))
			toggle_need(k);
		return true;
	case ACTION_SORT:
		if (needs_list(k))
			set_sort(k, (enum sort)((sort + 1) % SORT_COUNT), false);
		return true;
	case ACTION_INVERT:
		if (needs_list(k))
			set_sort(k, sort, !reverse);
		return true;
	case ACTION_WITNESSES:
		if (needs_list(k))
			toggle_witnesses(k, !listing_joined(k->listing));
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
		escape(k);
		return true;
	case ACTION_COMMAND:
		begin_typing(k, MODE_COMMAND);
		return true;
	case ACTION_HELP:
		begin_typing(k, MODE_HELP);
		return true;
	case ACTION_PAUSE:
		toggle_pause(k);
		return true;
	case ACTION_POLL:
		fleet_poll_now(k->fleet, NULL);
		say(k, false, k->paused ? "paused: Z goes on" : "polling all sources now");
		return true;
	case ACTION_REDRAW:
		screen_redraw(k->screen);
		return true;
	case ACTION_MOUSE:
		toggle_mouse(k, !k->mouse);
		return true;
	case ACTION_BACKWARD:
		go_to_history(k, k->now - 1);
		return true;
	case ACTION_FORWARD:
		go_to_history(k, k->now + 1);
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
		{ ACTION_VIEW_ACTIONS, '5' } };
	size_t i;

	for (i = 0; i < ARRAY_LEN(keys); i++) {
		if (keys[i].action != action)
			continue;
		go_key(k, keys[i].key);
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
	if (action != ACTION_NONE &&
		(act_console(k, action) || act_list(k, action) || act_view_key(k, action)))
		return;
	str_init(&reply.text, 64 * 1024);
	if (action == ACTION_NONE ||
		!view_now(k)->ops->act(state_now(k), &k->model, action, &reply)) {
		keymap_key_name(key, name, sizeof(name));
		say(k, false, "%s does nothing here; ? lists the keys", name);
	}
	/* The listing is told before the view may change. */
	follow_cursor(k);
	answer(k, &reply);
	str_release(&reply.text);
}

static void set_theme(struct console *k, const char *name)
{
	struct err err = { 0 };
	struct theme theme;

	if (!*name) {
		say(k, false, "theme %s: %s", k->theme.name, k->theme.about);
		return;
	}
	if (theme_load(&theme, name, &err) < 0) {
		say(k, true, "%s", err.text);
		return;
	}
	k->theme = theme;
	k->theme_fitted = false;
	screen_redraw(k->screen);
	say(k, false, "theme %s: %s", theme.name, theme.about);
}

static void set_option(struct console *k, const char *name)
{
	bool off = strncmp(name, "no", 2) == 0;
	const char *what = off ? name + 2 : name;

	if (strcmp(what, "ascii") == 0) {
		if (off && !k->options->utf8)
			say(k, true,
				"the locale of this terminal takes ASCII only (LC_ALL, LC_CTYPE, "
				"LANG)");
		else
			k->canvas.ascii = !off;
		screen_redraw(k->screen);
	} else if (strcmp(what, "mouse") == 0) {
		toggle_mouse(k, !off);
	} else if (strcmp(what, "witnesses") == 0) {
		toggle_witnesses(k, off);
	} else {
		say(k, true, ":set takes ascii, noascii, mouse, nomouse, witnesses or nowitnesses");
	}
}

static void sort_command(struct console *k, const char *word)
{
	bool reverse = *word == '-';
	int sort = sort_from_word(word + reverse);

	if (sort < 0)
		say(k, true, "no order \"%s\": Tab behind :sort shows them", word);
	else
		set_sort(k, (enum sort)sort, reverse);
}

static void source_command(struct console *k, const char *name)
{
	char filter[200];
	size_t i;

	snprintf(filter, sizeof(filter), "source:%s", name);
	for (i = 0; *name && k->board && i < k->board->n_snapshots; i++)
		if (strcmp(k->board->snapshots[i]->source, name) == 0)
			break;
	if (*name && (!k->board || i == k->board->n_snapshots))
		say(k, true, "no source \"%s\": Tab behind :source shows them", name);
	else
		set_filter(k, *name ? filter : "");
}

static void open_command(struct console *k, const char *id)
{
	if (!*id)
		say(k, true, ":open needs an id: SOURCE/PATH, Tab completes");
	else
		go(k, view_find("one"), id);
}

static void view_command(struct console *k, const char *name)
{
	int view = view_find(name);

	if (view < 0 || (view_at((size_t)view)->ops && !view_at((size_t)view)->key))
		say(k, true, "no view \"%s\": there are board, events and sources", name);
	else
		go_view(k, view);
}

static void run_filter_command(struct console *k, const char *text)
{
	if (!set_filter(k, text))
		say(k, true, "%s", k->hint);
	else
		go_view(k, view_find("board"));
	k->hint[0] = '\0';
}

static void run_command(struct console *k, struct line *typed)
{
	const char *line = typed->text;
	struct err err = { 0 };
	enum command command;
	const char *arg;

	if (!line[strspn(line, " :")])
		return;
	if (command_parse(line, &command, &arg, &err) < 0) {
		say(k, true, "%s", err.text);
		return;
	}
	while (command != COMMAND_OPEN && typed->len && typed->text[typed->len - 1] == ' ')
		typed->text[--typed->len] = '\0';
	switch (command) {
	case COMMAND_QUIT:
	case COMMAND_QUIT_LONG:
		k->quit = true;
		break;
	case COMMAND_VIEW:
		view_command(k, arg);
		break;
	case COMMAND_BOARD:
	case COMMAND_EVENTS:
	case COMMAND_SOURCES:
		view_command(k, command_word(command));
		break;
	case COMMAND_OPEN:
		open_command(k, arg);
		break;
	case COMMAND_FILTER:
		run_filter_command(k, arg);
		break;
	case COMMAND_SORT:
		sort_command(k, arg);
		break;
	case COMMAND_SOURCE:
		source_command(k, arg);
		break;
	case COMMAND_THEME:
		set_theme(k, arg);
		break;
	case COMMAND_PAUSE:
		toggle_pause(k);
		break;
	case COMMAND_POLL:
		fleet_poll_now(k->fleet, *arg ? arg : NULL);
		say(k, false, "polling %s now", *arg ? arg : "all sources");
		break;
	case COMMAND_SET:
		set_option(k, arg);
		break;
	case COMMAND_HELP:
		begin_typing(k, MODE_HELP);
		break;
	default:
		break;
	}
}

/* Puts in what all candidates share; with several they stand in the hint. */
static void complete_with(struct line *line, size_t from, bool verb, const struct str *words)
{
	const char *first = words->s, *s;
	size_t common = strcspn(first, "\n"), n = 0, i;
	char *text;

	for (s = words->s; *s; n++) {
		size_t len = strcspn(s, "\n");

		for (i = 0; i < common && i < len && s[i] == first[i]; i++)
			;
		common = i;
		s += len;
		s += *s == '\n';
	}
	if (!n)
		return;
	if (common > line->len - from || n == 1) {
		text = xmalloc(common + 2);
		memcpy(text, first, common);
		/* Behind a command's word its argument follows; an id must not get a blank. */
		text[common] = n == 1 && verb ? ' ' : '\0';
		text[common + 1] = '\0';
		line_replace_tail(line, from, text);
		free(text);
	}
}

static void candidates(struct console *k, struct line *line, bool apply)
{
	struct str words;
	int from = 0;
	size_t i;

	str_init(&words, 16 * 1024);
	if (k->mode == MODE_COMMAND) {
		command_complete(&k->model, line->text, &words, &from);
	} else {
		const char *blank = strrchr(line->text, ' ');

		from = blank ? (int)(blank + 1 - line->text) : 0;
		filter_complete(line->text + from, &words);
	}
	if (apply)
		complete_with(line, (size_t)from, k->mode == MODE_COMMAND && from == 0, &words);
	if (!k->hint_error) {
		for (i = 0; i < words.len; i++)
			if (words.s[i] == '\n')
				words.s[i] = ' ';
		snprintf(k->hint, sizeof(k->hint), "%s", words.s);
	}
	str_release(&words);
}

static void type_filter(struct console *k, uint32_t key)
{
	if (key == INPUT_ENTER) {
		if (k->hint_error)
			return;
		line_remember(&k->filter);
		k->mode = MODE_VIEW;
	} else if (key == INPUT_ESC) {
		set_filter(k, k->filter_before);
		k->mode = MODE_VIEW;
	} else if (key == INPUT_TAB) {
		candidates(k, &k->filter, true);
		set_filter(k, k->filter.text);
	} else if (line_key(&k->filter, key)) {
		set_filter(k, k->filter.text);
		candidates(k, &k->filter, false);
	}
}

static void type_command(struct console *k, uint32_t key)
{
	if (key == INPUT_ENTER) {
		k->mode = MODE_VIEW;
		line_remember(&k->command);
		run_command(k, &k->command);
		return;
	}
	if (key == INPUT_ESC || (key == INPUT_BACKSPACE && !k->command.len)) {
		k->mode = MODE_VIEW;
		return;
	}
	if (key == INPUT_TAB || line_key(&k->command, key))
		candidates(k, &k->command, key == INPUT_TAB);
}

static void type_help(struct console *k, uint32_t key)
{
	int page = k->canvas.h - HEADER_LINES - 2;

	switch (key) {
	case INPUT_ESC:
	case INPUT_ENTER:
	case INPUT_F1:
		k->mode = MODE_VIEW;
		return;
	case INPUT_DOWN:
		k->help_top++;
		break;
	case INPUT_UP:
		k->help_top--;
		break;
	case INPUT_PAGE_DOWN:
		k->help_top += page;
		break;
	case INPUT_PAGE_UP:
		k->help_top -= page;
		break;
	default:
		if (line_key(&k->search, key))
			k->help_top = 0;
		break;
	}
	if (k->help_top > k->help_lines - page)
		k->help_top = k->help_lines - page;
	if (k->help_top < 0)
		k->help_top = 0;
}

static void key_event(struct console *k, uint32_t key)
{
	k->dirty = true;
	switch (k->mode) {
	case MODE_FILTER:
		type_filter(k, key);
		break;
	case MODE_COMMAND:
		type_command(k, key);
		break;
	case MODE_HELP:
		type_help(k, key);
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

	if (!line) {
		say(k, false, "pasted text is not run as keys: type / or : first");
		return;
	}
	line_insert(line, cp);
	if (k->mode == MODE_FILTER)
		set_filter(k, k->filter.text);
	k->dirty = true;
}

static void mouse_event(struct console *k, const struct input_event *event)
{
	const struct view_ops *ops = view_now(k)->ops;
	struct view_reply reply = { 0 };
	bool again;

	if (k->mode != MODE_VIEW || !k->mouse || !ops->mouse || event->button == BUTTON_RELEASE)
		return;
	again = event->button == BUTTON_LEFT && event->y == k->click_y && event->x == k->click_x &&
		now_ms() - k->click_ms < AGAIN_MS;
	k->click_y = event->y;
	k->click_x = event->x;
	k->click_ms = now_ms();
	str_init(&reply.text, 4096);
	ops->mouse(state_now(k), &k->model, event, again, &reply);
	follow_cursor(k);
	answer(k, &reply);
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

static void take_input(struct console *k)
{
	struct input_event event;
	int64_t now = now_ms();

	while (!k->quit && input_next(&k->input, now, &event)) {
		switch (event.type) {
		case INPUT_KEY:
			key_event(k, event.key);
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

static void draw_hints(struct console *k, struct area a, int room)
{
	const enum action *hints = view_now(k)->ops->hints;
	int x = 1;

	for (; hints && *hints != ACTION_NONE; hints++) {
		char key[16], word[24];
		int w;

		keymap_first(*hints, key, sizeof(key));
		/* The first word or two of the help say enough here. */
		snprintf(word, sizeof(word), "%s", keymap_hint(*hints));
		w = canvas_width(&k->canvas, key) + 1 + canvas_width(&k->canvas, word);
		if (x + w > room)
			break;
		x += canvas_put(&k->canvas, a, 0, x, STYLE_KEY, key) + 1;
		x += canvas_put(&k->canvas, a, 0, x, STYLE_KEY_HELP, word) + 2;
	}
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
		canvas_fit(c, a, 0, 1, c->w - 2,
			k->message_error ? STYLE_MESSAGE_ERROR : STYLE_MESSAGE, FIT_LEFT,
			k->message);
		canvas_until(c, k->message_until_ms);
		return;
	}
	str_init(&status, 512);
	if (view_now(k)->ops->status)
		view_now(k)->ops->status(state_now(k), &k->model, &status);
	if (view_now(k)->ops->lists && *listing_filter_text(k->listing))
		str_addf(&status, "  /%s", listing_filter_text(k->listing));
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
	const struct view_ops *ops = view_now(k)->ops;
	struct area a = area_sub(canvas_all(c), HEADER_LINES, 0, c->h - HEADER_LINES - 1, c->w);
	const char *where = k->history[k->now].id ? k->history[k->now].id : ops->title;

	header_draw(&k->model, where, c);
	if (k->mode == MODE_HELP) {
		draw_help(k);
		return;
	}
	ops->draw(state_now(k), &k->model, c, a);
	draw_bottom(k);
}

static void tell_wanted(struct console *k)
{
	const struct view_ops *ops = view_now(k)->ops;
	const char *ids[WANTED_MAX];
	struct str text;
	size_t n, i;

	if (!k->board)
		return;
	n = ops->wanted ? ops->wanted(state_now(k), &k->model, ids, WANTED_MAX) : 0;
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

static void draw(struct console *k)
{
	int h, w;

	screen_size(k->screen, &h, &w);
	if (h != k->canvas.h || w != k->canvas.w)
		canvas_resize(&k->canvas, h, w);
	canvas_clear(&k->canvas);
	model_refresh(k);
	if (k->message[0] && k->model.now_ms >= k->message_until_ms)
		k->message[0] = '\0';
	if (h < LEAST_H || w < LEAST_W)
		draw_small(k);
	else
		draw_view(k);
	screen_show(k->screen, &k->canvas, &k->theme);
	k->dirty = false;
}

static void take_events(struct console *k)
{
	struct event *events[EVENTS_AT_ONCE];
	size_t n, i;

	do {
		n = fleet_events(k->fleet, &k->events_seq, events, EVENTS_AT_ONCE);
		for (i = 0; i < n; i++)
			journal_add(&k->journal, events[i]);
	} while (n == EVENTS_AT_ONCE);
}

static void take_board(struct console *k)
{
	struct board *board = fleet_board(k->fleet);
	int64_t now = now_ms();

	if (!board)
		return;
	board_unref(k->board);
	k->board = board;
	k->board_ms = now;
	listing_update(k->listing, board, now, clock_wall_us(&clock_system));
	take_events(k);
	sync_all(k);
	follow_cursor(k);
}

static void take_signals(struct console *k)
{
	unsigned events = screen_events(k->screen);

	if (events & SCREEN_HANGUP) {
		k->quit = true;
		k->code = 128 + SIGHUP;
	}
	if (events & SCREEN_TERMINATE) {
		k->quit = true;
		k->code = 128 + SIGTERM;
	}
	if (events & SCREEN_INTERRUPT)
		k->quit = true;
	if (events & SCREEN_STOP && !k->quit)
		screen_suspend(k->screen);
	if (events & (SCREEN_RESIZED | SCREEN_STOP | SCREEN_CONTINUED))
		k->dirty = true;
}

/* How long poll may sleep: until something drawn gets old, a key's end is due, or at once when
 * there is work left. */
static int sleep_ms(const struct console *k, bool board_waits)
{
	int64_t now = now_ms(), at = k->canvas.next_ms, deadline = input_deadline_ms(&k->input);

	if (listing_busy(k->listing))
		return 0;
	at = deadline < at ? deadline : at;
	if (board_waits && k->board_ms + BOARD_EVERY_MS < at)
		at = k->board_ms + BOARD_EVERY_MS;
	if (listing_next_ms(k->listing) < at)
		at = listing_next_ms(k->listing);
	if (at == INT64_MAX)
		return -1;
	return at <= now ? 0 : at - now > 3600000 ? 3600000 : (int)(at - now);
}

/* One turn: wait, then keys first, then what they changed is drawn, then the pictures. Returns 0,
 * or an error that ends it. */
static int turn(struct console *k)
{
	bool early = now_ms() - k->board_ms < BOARD_EVERY_MS;
	struct pollfd fds[3] = {
		{ .fd = screen_input_fd(k->screen), .events = POLLIN },
		{ .fd = screen_signal_fd(k->screen), .events = POLLIN },
		/* While a picture was taken just now, the next one waits a little; while paused,
		   all do. */
		{ .fd = k->paused || early ? -1 : fleet_fd(k->fleet), .events = POLLIN },
	};
	int rc;

	if (poll(fds, 3, sleep_ms(k, early && !k->paused)) < 0)
		fds[0].revents = fds[1].revents = fds[2].revents = 0;
	if (fds[1].revents)
		take_signals(k);
	if (fds[0].revents && !k->quit) {
		rc = screen_read(k->screen, &k->input, now_ms());
		if (rc < 0)
			return rc;
	}
	model_refresh(k);
	take_input(k);
	if (k->quit)
		return 0;
	if (k->dirty)
		draw(k);
	if (fds[2].revents & POLLIN && !k->paused)
		take_board(k);
	if (listing_busy(k->listing) || listing_next_ms(k->listing) <= now_ms()) {
		listing_work(k->listing, now_ms(), clock_wall_us(&clock_system), PASS_ROWS);
		if (!listing_busy(k->listing)) {
			view_sync(k);
			follow_cursor(k);
		}
	}
	if (k->dirty || now_ms() >= k->canvas.next_ms)
		draw(k);
	tell_wanted(k);
	return 0;
}

/* "15;0" or "15;default;0": the last number is the background (rxvt, Konsole and others set it).
 * -1: not said. */
static int colorfgbg_light(void)
{
	const char *s = getenv("COLORFGBG"), *last = s ? strrchr(s, ';') : NULL;
	long bg;

	if (!last || last[1] < '0' || last[1] > '9')
		return -1;
	bg = strtol(last + 1, NULL, 10);
	return bg == 7 || bg >= 9;
}

/* Chooses the theme; what can be told without asking the terminal is told now, so that the first
 * frame need not wait. */
static int first_theme(struct console *k, struct err *err)
{
	const char *name = k->options->theme ? k->options->theme : k->settings->theme;
	int light = colorfgbg_light(), rc;

	theme_builtin(&k->theme);
	if (name) {
		rc = theme_load(&k->theme, name, err);
		return rc;
	}
	if (!screen_colors(k->screen))
		return 0;
	if (light >= 0)
		theme_load(&k->theme, light ? "light" : "dark", NULL);
	k->theme_fitted = light < 0 && screen_colors(k->screen) >= 8;
	return 0;
}

static void console_init(struct console *k, struct fleet *fleet, const struct settings *settings,
	const struct console_options *options)
{
	*k = (struct console){ .fleet = fleet, .settings = settings, .options = options };
	k->board_ms = INT64_MIN / 2;
	k->canvas.next_ms = INT64_MAX;
	input_init(&k->input);
	k->listing = listing_new();
	journal_init(&k->journal, JOURNAL_CAP);
	line_init(&k->filter);
	line_init(&k->command);
	line_init(&k->search);
	str_init(&k->wanted, 1024 * 1024);
}

static void console_release(struct console *k)
{
	size_t i;
	int h;

	for (i = 0; i < view_count(); i++)
		if (k->states[i])
			view_at(i)->ops->close(k->states[i]);
	for (h = 0; h < k->n_history; h++)
		free(k->history[h].id);
	listing_free(k->listing);
	journal_release(&k->journal);
	board_unref(k->board);
	line_release(&k->filter);
	line_release(&k->command);
	line_release(&k->search);
	str_release(&k->wanted);
	canvas_release(&k->canvas);
	free(k->filter_before);
}

/* An answer of the terminal that comes after we left would stand on the shell's line as if it was
 * typed. */
static void await_answer(struct console *k)
{
	int64_t until = k->asked_ms + ANSWER_MS;

	while (k->asked && now_ms() < until) {
		struct pollfd fd = { .fd = screen_input_fd(k->screen), .events = POLLIN };

		if (poll(&fd, 1, (int)(until - now_ms()) + 1) <= 0 ||
			screen_read(k->screen, &k->input, now_ms()) < 0)
			return;
		k->quit = false;
		k->mode = MODE_HELP; /* keys typed meanwhile do nothing */
		take_input(k);
	}
}

static int run(struct console *k)
{
	int rc = 0, h, w;
	size_t i;

	screen_size(k->screen, &h, &w);
	canvas_init(&k->canvas, h, w, k->options->ascii || !k->options->utf8);
	for (i = 0; i < view_count(); i++)
		if (view_at(i)->ops)
			k->states[i] = view_at(i)->ops->open();
	go(k, 0, NULL);
	take_board(k);
	draw(k);
	if (k->theme_fitted && !str_eq(getenv("TERM"), "linux")) {
		screen_ask_background(k->screen);
		k->asked = true;
		k->asked_ms = now_ms();
	}
	while (!k->quit && rc == 0)
		rc = turn(k);
	if (rc == 0 && !k->code)
		await_answer(k);
	screen_close(k->screen, rc < 0 || k->code == 128 + SIGHUP);
	return rc < 0 ? 128 + SIGHUP : k->code;
}

int console_run(struct fleet *fleet, const struct settings *settings,
	const struct console_options *options, struct err *err)
{
	struct console k;
	int rc;

	console_init(&k, fleet, settings, options);
	rc = screen_open(&k.screen, options->no_color, err);
	if (rc == 0) {
		rc = first_theme(&k, err);
		if (rc < 0)
			screen_close(k.screen, false);
		else
			rc = run(&k);
	}
	console_release(&k);
	return rc;
}
