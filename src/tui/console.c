#include "config.h"

#include "tui/console-state.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/zone.h"
#include "control/fleet.h"
#include "control/settings.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static void take_events(struct console *k)
{
	struct event *events[EVENTS_AT_ONCE];
	size_t n, i;

	do {
		n = fleet_events(k->fleet, &k->events_seq, events, EVENTS_AT_ONCE);
		for (i = 0; i < n; i++) {
			console_time_tell(k, events[i]);
			(events[i]->remembered ? journal_add_remembered : journal_add)(
				&k->journal, events[i]);
		}
	} while (n == EVENTS_AT_ONCE);
}

static void take_board(struct console *k)
{
	struct board *board = fleet_board(k->fleet);

	if (!board)
		return;
	board_unref(k->board);
	k->board = board;
	k->board_ms = console_now_ms();
	if (!k->then)
		listing_update(k->listing, board, console_time_ms(k), console_time_us(k));
	k->missed = false;
	take_events(k);
	recording_take(&k->recording, k->fleet, board);
	console_past_keep(k);
	/* Who looks at the past is not disturbed. */
	if (k->then)
		return;
	console_sync_all(k);
	console_follow(k);
}

/* A picture that is not shown, as a window stands over it; a record gets it all the same. */
static void take_unseen(struct console *k)
{
	struct board *board = fleet_board(k->fleet);

	recording_take(&k->recording, k->fleet, board);
	board_unref(board);
	k->board_ms = console_now_ms();
	k->missed = true;
}

/* An act goes on under its window; the pictures that come meanwhile are not shown. */
static void take_act_news(struct console *k)
{
	take_unseen(k);
	console_act_news(k);
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
	/* Whoever stopped the program, or lost the terminal, no longer looks at what it asks. */
	if (events & (SCREEN_STOP | SCREEN_CONTINUED | SCREEN_HANGUP | SCREEN_TERMINATE) &&
		k->act.board)
		console_act_end(k, "the window was closed, and what was not sent yet is given up");
	/* Where something is typed the interrupt key ends that, as Esc does. */
	if (events & SCREEN_INTERRUPT && k->mode != MODE_VIEW)
		console_key(k, INPUT_ESC);
	else if (events & SCREEN_INTERRUPT)
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
	int64_t ages = k->canvas.next_ms, at = input_deadline_ms(&k->input);
	int own, shown;

	if (listing_busy(k->listing) && !k->act.board)
		return 0;
	if (board_waits && k->board_ms + BOARD_EVERY_MS < at)
		at = k->board_ms + BOARD_EVERY_MS;
	if (k->message[0] && k->message_until_ms < at)
		at = k->message_until_ms;
	if (k->wait_until_ms && k->wait_until_ms < ages)
		ages = k->wait_until_ms;
	if (!k->act.board && listing_next_ms(k->listing) < ages)
		ages = listing_next_ms(k->listing);
	/* In the past, and while paused, nothing gets older but how long ago it was. */
	if (k->then || k->paused)
		ages = k->still_next_ms;
	own = clock_wait_ms(&clock_system, at);
	shown = clock_wait_ms(k->clock, ages);
	return own < 0 || (shown >= 0 && shown < own) ? shown : own;
}

enum {
	FD_INPUT,
	FD_SIGNAL,
	FD_FLEET,
	FD_COUNT
};

/* Waits for keys, signals and pictures. */
static void wait_for(struct console *k, struct pollfd *fds)
{
	/* While a picture was taken just now, the next one waits a little; while paused, or under a
	 * window, all do, but an act that goes on is followed. */
	bool early = console_now_ms() - k->board_ms < BOARD_EVERY_MS;
	bool held = (k->paused || (k->act.board && !k->recording.recorder)) && !k->act.gate;
	int i;

	fds[FD_INPUT] = (struct pollfd){ .fd = screen_input_fd(k->screen), .events = POLLIN };
	fds[FD_SIGNAL] = (struct pollfd){ .fd = screen_signal_fd(k->screen), .events = POLLIN };
	fds[FD_FLEET] =
		(struct pollfd){ .fd = held || early ? -1 : fleet_fd(k->fleet), .events = POLLIN };
	if (poll(fds, FD_COUNT, sleep_ms(k, early && !held)) < 0)
		for (i = 0; i < FD_COUNT; i++)
			fds[i].revents = 0;
}

/* What the fleet has published, and what its rows became by time alone. */
static void take_pictures(struct console *k, bool ready)
{
	if (ready && k->act.gate)
		take_act_news(k);
	else if (ready && k->act.board && k->recording.recorder)
		take_unseen(k);
	else if ((ready || k->missed) && !k->paused && !k->act.board)
		take_board(k);
	console_record_look(k);
	/* Under a window nothing moves. */
	if (k->act.board ||
		(!listing_busy(k->listing) && listing_next_ms(k->listing) > console_time_ms(k)))
		return;
	listing_work(k->listing, console_time_ms(k), console_time_us(k), PASS_ROWS);
	if (!listing_busy(k->listing)) {
		console_sync(k);
		console_follow(k);
	}
}

/* One turn: wait, then keys first, then what they changed is drawn, then the pictures. Returns 0,
 * or an error that ends it. */
static int turn(struct console *k)
{
	struct pollfd fds[FD_COUNT];
	int rc;

	wait_for(k, fds);
	if (fds[FD_SIGNAL].revents)
		take_signals(k);
	/* A key confirms what was seen at the size that the terminal has now. */
	if (fds[FD_SIGNAL].revents && k->dirty && k->act.board && !k->quit)
		console_draw(k);
	if (fds[FD_INPUT].revents && !k->quit) {
		rc = screen_read(k->screen, &k->input, console_now_ms());
		if (rc < 0)
			return rc;
	}
	console_model(k);
	console_take_input(k);
	if (k->quit)
		return 0;
	if (k->dirty)
		console_draw(k);
	take_pictures(k, fds[FD_FLEET].revents & POLLIN);
	console_lesson_turn(k);
	if (k->dirty || console_message_over(k) ||
		console_live_ms(k) >= (k->then || k->paused ? k->still_next_ms : k->canvas.next_ms))
		console_draw(k);
	console_tell_wanted(k);
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
	int light = colorfgbg_light();
	struct err trouble = { 0 };

	theme_builtin(&k->theme);
	if (k->options->theme)
		return theme_load(&k->theme, k->options->theme, err);
	/* A theme of the config that can't be read must not keep anybody from looking. */
	if (k->settings->theme) {
		if (theme_load(&k->theme, k->settings->theme, &trouble) < 0)
			console_say(k, true, "%s", trouble.text);
		return 0;
	}
	if (!screen_colors(k->screen))
		return 0;
	if (light >= 0)
		theme_load(&k->theme, light ? "light" : "dark", NULL);
	k->theme_fitted = light < 0 && screen_colors(k->screen) >= 8;
	return 0;
}

void console_journal_init(struct console *k)
{
	journal_init(&k->journal, JOURNAL_CAP);
	k->journal.seq = JOURNAL_REMEMBERED;
	k->events_seq = 0;
}

static void console_init(struct console *k, struct fleet *fleet, const struct settings *settings,
	const struct console_options *options)
{
	*k = (struct console){ .fleet = fleet,
		.clock = fleet_clock(fleet),
		.settings = settings,
		.options = options };
	k->board_ms = INT64_MIN / 2;
	k->canvas.next_ms = INT64_MAX;
	input_init(&k->input);
	k->listing = listing_new();
	console_journal_init(k);
	past_init(&k->past, settings_past_bytes(settings));
	line_init(&k->filter);
	line_init(&k->command);
	line_init(&k->search);
	str_init(&k->wanted, 1024 * 1024);
	if (zone_load("Local", &k->local, NULL) < 0)
		k->local = NULL;
}

/* err: why a record that was being made has no end; untouched where it has. */
static void console_release(struct console *k, struct err *err)
{
	size_t i;
	int h;

	for (i = 0; i < view_count(); i++)
		if (k->states[i])
			view_at(i)->ops->close(k->states[i]);
	for (h = 0; h < k->n_history; h++)
		free(k->history[h].id);
	console_act_end(k, NULL);
	recording_stop(&k->recording, NULL, err);
	actions_release(&k->actions);
	debrief_free(k->debrief);
	listing_free(k->listing);
	journal_release(&k->journal);
	past_release(&k->past);
	free(k->then_row);
	free(k->then_landed);
	board_unref(k->then);
	board_unref(k->board);
	line_release(&k->filter);
	line_release(&k->command);
	line_release(&k->search);
	str_release(&k->wanted);
	canvas_release(&k->canvas);
	zone_free(k->local);
	free(k->filter_before);
}

/* An answer of the terminal that comes after we left would stand on the shell's line as if it was
 * typed. */
static void await_answer(struct console *k)
{
	int64_t until = k->asked_ms + ANSWER_MS;

	while (k->asked && console_now_ms() < until) {
		struct pollfd fd = { .fd = screen_input_fd(k->screen), .events = POLLIN };

		if (poll(&fd, 1, (int)(until - console_now_ms()) + 1) <= 0 ||
			screen_read(k->screen, &k->input, console_now_ms()) < 0)
			return;
		k->quit = false;
		k->mode = MODE_HELP; /* keys typed meanwhile do nothing */
		console_take_input(k);
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
	console_go(k, 0, NULL);
	console_lesson_begin(k);
	take_board(k);
	if (k->options->hello) {
		console_say(k, false, "%s", k->options->hello);
		k->message_until_ms = INT64_MAX;
	}
	console_draw(k);
	if (k->theme_fitted && !str_eq(getenv("TERM"), "linux")) {
		screen_ask_background(k->screen);
		k->asked = true;
		k->asked_ms = console_now_ms();
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
	console_release(&k, rc < 0 ? NULL : err);
	return rc;
}
