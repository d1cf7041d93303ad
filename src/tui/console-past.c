#include "config.h"

#include "tui/console-state.h"
#include "base/clock.h"
#include "control/settings.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/moment.h"
#include "tui/format.h"

#include <stdio.h>
#include <stdlib.h>

/* Going back and forward in time, through the boards that were shown. Live pictures go on being
 * taken meanwhile; they are not shown, and nothing can be begun on what is. */

/* A record that is replayed is gone back in itself: nothing of it is kept here. */
static bool is_record(const struct console *k)
{
	return k->options->time && k->options->time->finding_ms;
}

void console_past_keep(struct console *k)
{
	if (is_record(k))
		return;
	past_add(&k->past, k->board, k->journal.seq);
}

int64_t console_past_ago_ms(const struct console *k)
{
	int64_t ago = k->then ? clock_minus(console_live_ms(k), k->then->mono_ms) : 0;

	return k->then && ago < 1 ? 1 : ago;
}

bool console_past_refuses(struct console *k)
{
	if (k->settings->past) {
		console_say(k, false, "this is a record of what was: nothing can be done in it");
		return true;
	}
	char age[CLOCK_TEXT_MAX];

	if (!k->then)
		return false;
	clock_format_age(age, console_past_ago_ms(k));
	console_say(k, true, "what you see is %s old: no verb works here; . returns to now", age);
	return true;
}

/* Shows a board in place of the one that is shown. */
static void past_show(struct console *k, const struct board *board)
{
	listing_update(k->listing, board, console_time_ms(k), console_time_us(k));
	listing_work(k->listing, console_time_ms(k), console_time_us(k), PASS_ROWS);
	console_sync_all(k);
	console_follow(k);
	k->message[0] = '\0';
}

/* The row under the cursor may not be there in the past: it is found again on the way back, unless
 * the cursor was moved there. */
static void past_note_row(struct console *k)
{
	const char *id = listing_tracked_id(k->listing);

	free(k->then_row);
	k->then_row = id ? xstrdup(id) : NULL;
}

static void past_go(struct console *k, const struct past_moment *moment)
{
	struct board *board = board_as_past(moment->board);

	if (!k->then) {
		k->then_place = k->now;
		past_note_row(k);
	}
	board_unref(k->then);
	k->then = board;
	k->then_seq = moment->journal_seq;
	past_show(k, board);
	free(k->then_landed);
	k->then_landed = NULL;
	if (listing_tracked_id(k->listing))
		k->then_landed = xstrdup(listing_tracked_id(k->listing));
}

bool console_past_leave(struct console *k)
{
	if (!k->then)
		return false;
	if (k->then_row && str_eq(k->then_landed, listing_tracked_id(k->listing)) &&
		!str_eq(k->then_landed, k->then_row))
		listing_track(k->listing, k->then_row);
	board_unref(k->then);
	k->then = NULL;
	past_show(k, k->board);
	console_say(k, false, "this is now");
	return true;
}

void console_past_now(struct console *k)
{
	if (is_record(k))
		console_say(k, false, "a record has no now: :seek end goes to its end");
	else if (!console_past_leave(k))
		console_say(k, false, "this is now");
}

static void past_ends(struct console *k, bool on, bool finding)
{
	char at[CLOCK_TEXT_MAX];

	if (on && finding)
		console_say(k, false, "no finding appeared after this; . returns to now");
	else if (finding)
		console_say(k, false, "no finding appeared before this, as far as is kept");
	else if (!k->past.most_bytes)
		console_say(k, true,
			"nothing is kept of the past: the configuration says console: past_mb: 0");
	else if (!k->past.n)
		console_say(k, false, "nothing was shown yet");
	else {
		clock_format_utc(at, k->past.at[0].board->wall_us, 0);
		console_say(k, false, "nothing is kept from before %s", at);
	}
}

void console_past_step(struct console *k, bool on, bool finding)
{
	ptrdiff_t i;

	if (is_record(k)) {
		console_time_act(k, finding ? (on ? ACTION_NEXT_FINDING : ACTION_LAST_FINDING)
				    : on    ? ACTION_SEEK_ON
					    : ACTION_SEEK_BACK);
		return;
	}
	if (on && !k->then) {
		console_say(k, false, "this is now; < goes back in time");
		return;
	}
	/* Where one singleton is open, its own news come first. */
	i = console_board(k) && !finding && k->history[k->now].id
		    ? past_step_of(&k->past, console_board(k), k->history[k->now].id,
			      console_time_ms(k), on)
		    : -1;
	if (i < 0)
		i = past_step(&k->past, console_board(k), console_time_ms(k), on, finding);
	if (i >= 0)
		past_go(k, &k->past.at[i]);
	else if (on && !finding)
		console_past_leave(k);
	else
		past_ends(k, on, finding);
}

/* Goes to the moment at or before a time; what it really is is said when it is another. */
static void past_seek(struct console *k, ptrdiff_t i, int64_t asked_us)
{
	char asked[CLOCK_TEXT_MAX], found[CLOCK_TEXT_MAX];
	const struct past_moment *m;

	if (!k->past.n) {
		past_ends(k, false, false);
		return;
	}
	m = &k->past.at[i < 0 ? 0 : i];
	past_go(k, m);
	clock_format_utc(asked, asked_us, 0);
	clock_format_utc(found, k->then->wall_us, 0);
	if (i < 0)
		console_say(k, false, "nothing is kept from before %s", found);
	else if (clock_minus(asked_us, k->then->wall_us) >= 1000000)
		console_say(k, false, "asked for %s: the moment before it that is kept is %s",
			asked, found);
}

void console_past_at(struct console *k, const char *argument)
{
	int64_t now_us = clock_wall_us(k->clock), at_us;
	struct moment_span span = { .first_us = now_us,
		.last_us = now_us,
		.newest = true,
		.plus_us = console_time_us(k),
		.minus_us = console_time_us(k) };
	struct err err = { 0 };

	if (is_record(k)) {
		console_time_seek(k, argument);
		return;
	}
	if (k->past.n)
		span.first_us = k->past.at[0].board->wall_us;
	if (moment_parse(argument, &span, &at_us, &err)) {
		console_say(k, true, "%s", err.text);
		return;
	}
	if (at_us < now_us || !k->past.n)
		past_seek(k, past_at_us(&k->past, at_us), at_us);
	else if (!console_past_leave(k))
		console_say(k, false, "this is now");
}

void console_past_back(struct console *k, const char *argument)
{
	int64_t by_ms = moment_duration_ms(argument);
	int64_t to_ms = clock_minus(console_time_ms(k), by_ms);
	char seek[80];

	if (is_record(k)) {
		snprintf(seek, sizeof(seek), "-%s", argument);
		console_time_seek(k, seek);
		return;
	}
	if (by_ms < 0)
		console_say(k, true, ":back takes how far: 90s, 10m, 2h");
	else
		past_seek(k, past_at_ms(&k->past, to_ms), console_time_us(k) - by_ms * 1000);
}
