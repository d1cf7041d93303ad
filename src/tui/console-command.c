#include "config.h"

#include "tui/console-state.h"
#include "base/err.h"
#include "control/fleet.h"
#include "tui/command.h"

#include <stdio.h>
#include <string.h>

static void set_theme(struct console *k, const char *name)
{
	struct err err = { 0 };
	struct theme theme;

	if (!*name) {
		console_say(k, false, "theme %s: %s", k->theme.name, k->theme.about);
		return;
	}
	if (theme_load(&theme, name, &err) < 0) {
		console_say(k, true, "%s", err.text);
		return;
	}
	k->theme = theme;
	k->theme_fitted = false;
	screen_redraw(k->screen);
	console_say(k, false, "theme %s: %s", theme.name, theme.about);
}

static void set_option(struct console *k, const char *name)
{
	bool off = strncmp(name, "no", 2) == 0;
	const char *what = off ? name + 2 : name;

	if (strcmp(what, "ascii") == 0) {
		if (off && !k->options->utf8)
			console_say(k, true,
				"the locale of this terminal takes ASCII only (LC_ALL, LC_CTYPE, "
				"LANG)");
		else
			k->canvas.ascii = !off;
		screen_redraw(k->screen);
	} else if (strcmp(what, "mouse") == 0) {
		console_mouse(k, !off);
	} else if (strcmp(what, "witnesses") == 0) {
		console_witnesses(k, off);
	} else {
		console_say(k, true,
			":set takes ascii, noascii, mouse, nomouse, witnesses or nowitnesses");
	}
}

static void sort_command(struct console *k, const char *word)
{
	bool reverse = *word == '-';
	int sort = sort_from_word(word + reverse);

	if (sort < 0)
		console_say(k, true, "no order \"%s\": Tab behind :sort shows them", word);
	else
		console_sort(k, (enum sort)sort, reverse);
}

/* Whether a command may go on with that source, or with all of them (""): says so where there is no
 * such one. */
static bool is_source(struct console *k, enum command command, const char *name)
{
	const struct board *board = console_board(k);
	size_t i;

	for (i = 0; *name && board && i < board->n_snapshots; i++)
		if (strcmp(board->snapshots[i]->source, name) == 0)
			return true;
	if (*name)
		console_say(k, true, "no source \"%s\": Tab behind :%s shows them", name,
			command_word(command));
	return !*name;
}

static void source_command(struct console *k, const char *name)
{
	char filter[200];

	snprintf(filter, sizeof(filter), "source:%s", name);
	if (is_source(k, COMMAND_SOURCE, name))
		console_filter(k, *name ? filter : "");
}

static void poll_command(struct console *k, const char *name)
{
	if (!is_source(k, COMMAND_POLL, name))
		return;
	fleet_poll_now(k->fleet, *name ? name : NULL);
	console_say(k, false, "polling %s now", *name ? name : "all sources");
}

static void open_command(struct console *k, const char *id)
{
	if (!*id)
		console_say(k, true, ":open needs an id: SOURCE/PATH, Tab completes");
	else
		console_go(k, view_find("one"), id);
}

static void view_command(struct console *k, const char *name)
{
	int view = view_find(name);

	if (view < 0 || (view_at((size_t)view)->ops && !view_at((size_t)view)->key))
		console_say(k, true, "no view \"%s\": Tab behind :view shows them", name);
	else
		console_go_view(k, view);
}

static void run_filter_command(struct console *k, const char *text)
{
	if (!console_filter(k, text))
		console_say(k, true, "%s", k->hint);
	else
		console_go_view(k, view_find("board"));
	k->hint[0] = '\0';
}

/* Commands that go to a view, and those about acting. */
static bool run_place_command(struct console *k, enum command command, const char *arg)
{
	switch (command) {
	case COMMAND_VIEW:
		view_command(k, arg);
		return true;
	case COMMAND_BOARD:
	case COMMAND_RUNS:
	case COMMAND_EVENTS:
	case COMMAND_ACTIONS:
	case COMMAND_SOURCES:
	case COMMAND_LESSON:
		view_command(k, command_word(command));
		return true;
	case COMMAND_ARM:
		if (!console_past_refuses(k))
			console_arm(k, arg);
		return true;
	case COMMAND_DISARM:
		if (is_source(k, command, arg))
			console_disarm(k, arg);
		return true;
	case COMMAND_DIAGNOSE:
	case COMMAND_HINT:
	case COMMAND_NOTE:
	case COMMAND_WAIT:
	case COMMAND_FINISH:
		console_lesson_command(k, command, arg);
		return true;
	default:
		return false;
	}
}

/* Commands that go to another time, or have one pass faster. */
static bool run_time_command(struct console *k, enum command command, const char *arg)
{
	switch (command) {
	case COMMAND_AT:
		console_past_at(k, arg);
		return true;
	case COMMAND_BACK:
		console_past_back(k, arg);
		return true;
	case COMMAND_NOW:
		console_past_now(k);
		return true;
	case COMMAND_SPEED:
		console_time_speed(k, arg);
		return true;
	case COMMAND_STEP:
		console_time_step(k);
		return true;
	case COMMAND_SEEK:
		console_time_seek(k, arg);
		return true;
	default:
		return false;
	}
}

void console_run_command(struct console *k, struct line *typed)
{
	const char *line = typed->text;
	struct err err = { 0 };
	enum command command;
	const char *arg;

	if (!line[strspn(line, " :")])
		return;
	if (command_parse(line, &command, &arg, &err) < 0) {
		console_say(k, true, "%s", err.text);
		return;
	}
	while (command != COMMAND_OPEN && typed->len && typed->text[typed->len - 1] == ' ')
		typed->text[--typed->len] = '\0';
	if (run_place_command(k, command, arg) || run_time_command(k, command, arg))
		return;
	switch (command) {
	case COMMAND_QUIT:
	case COMMAND_QUIT_LONG:
		k->quit = true;
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
		console_pause(k);
		break;
	case COMMAND_RECORD:
		console_record(k, arg);
		break;
	case COMMAND_POLL:
		poll_command(k, arg);
		break;
	case COMMAND_SET:
		set_option(k, arg);
		break;
	case COMMAND_HELP:
		console_type(k, MODE_HELP);
		break;
	default:
		break;
	}
}
