#include "config.h"

#include "tui/console-state.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/moment.h"
#include "base/vclock.h"
#include "control/fleet.h"
#include "tui/format.h"

#include <stdlib.h>
#include <string.h>

/* The clock of what is shown, where that is not the machine's: the built-in fleet's, a record's. */

enum {
	STEP_MS = 1000,
	SEEK_MS = 10 * 1000,
	AGAIN_BACK_MS = 1500, /* of the machine's time */
	TELL_US = 1000 * 1000,
	SPEED_REAL = 1000,
	SPEED_LEAST = 10,
	SPEED_MOST = 1000 * 1000,
};

static const struct console_time *time_of(struct console *k)
{
	if (!k->options->time)
		console_say(k, false,
			"this is live: time can't be driven; it can in demo, train and replay");
	return k->options->time;
}

static const struct console_time *past_of(struct console *k)
{
	const struct console_time *time = time_of(k);

	if (!time || time->finding_ms)
		return time;
	console_say(
		k, false, "time goes on only here; a record can be gone back in (baton replay)");
	return NULL;
}

/* Whoever waits for the clock reckons anew. */
static void time_changed(struct console *k)
{
	fleet_poll_now(k->fleet, NULL);
	k->dirty = true;
}

void console_time_pause(struct console *k, bool paused)
{
	struct vclock *clock = k->options->time->clock;

	vclock_pause(clock, paused);
	time_changed(k);
	console_say(k, false, paused ? "time stands still; Z goes on" : "time goes on");
}

static void set_speed(struct console *k, const struct console_time *time, int64_t thousandths)
{
	char text[FORMAT_SPEED_MAX];

	if (thousandths < SPEED_LEAST)
		thousandths = SPEED_LEAST;
	if (thousandths > SPEED_MOST)
		thousandths = SPEED_MOST;
	vclock_speed(time->clock, (int32_t)thousandths);
	time_changed(k);
	format_speed(text, (int32_t)thousandths);
	console_say(k, false, "time goes %s", text);
}

/* "10", "x10", "10x", "0.25": in thousandths; -1 for what is no speed. */
static int64_t parse_speed(const char *text)
{
	char *end;
	double speed;

	if (*text == 'x')
		text++;
	speed = strtod(text, &end);
	if (end == text || (*end && strcmp(end, "x") != 0) || !(speed > 0 && speed < 1e6))
		return -1;
	return (int64_t)(speed * SPEED_REAL + 0.5);
}

void console_time_speed(struct console *k, const char *text)
{
	const struct console_time *time = time_of(k);
	char now[FORMAT_SPEED_MAX];
	int64_t speed;

	if (!time)
		return;
	if (!*text) {
		format_speed(now, vclock_speed_now(time->clock));
		console_say(k, false, "time goes %s", now);
		return;
	}
	speed = parse_speed(text);
	if (speed < 0)
		console_say(
			k, true, "no speed \"%s\": 1 is real time, 10 is ten times as fast", text);
	else
		set_speed(k, time, speed);
}

/* Begins what was anew, where it was gone back: what came later did not happen yet. */
static void time_back(struct console *k)
{
	journal_release(&k->journal);
	console_journal_init(k);
	/* Keys that came in the same breath find no place of an event that is none any more. */
	console_sync_all(k);
}

/* What that clock's wall clock shows at a moment. Of two clocks that are read one after the other
 * the second is a second later where time goes a thousand times as fast. */
static int64_t wall_us(const struct console_time *time, int64_t at_ms)
{
	return time->clock->epoch_us + at_ms * 1000;
}

static void time_go(struct console *k, const struct console_time *time, int64_t at_ms)
{
	char text[CLOCK_TEXT_MAX];

	if (at_ms < console_live_ms(k))
		time_back(k);
	vclock_set(time->clock, at_ms);
	time_changed(k);
	clock_format_utc(text, wall_us(time, at_ms), 0);
	console_say(k, false, "%s", text);
}

void console_time_tell(struct console *k, const struct event *event)
{
	char at[CLOCK_TEXT_MAX];

	if (k->tell == TELL_NOTHING || event->remembered || event->at_us < k->tell_from_us ||
		(k->tell == TELL_FINDING && strcmp(event->what, "finding") != 0))
		return;
	clock_format_utc(at, event->at_us, 0);
	console_say(k, false, "%s  %s %s: %s", at, event->what,
		event->id ? event->id : event->source, event->text);
}

/* What was seen then came to the clock, or into the record, a moment later. */
static void tell(struct console *k, enum console_tell what, int64_t from_us)
{
	k->tell = what;
	k->tell_from_us = from_us - TELL_US;
}

void console_time_step(struct console *k)
{
	const struct console_time *time = time_of(k);
	int64_t now, next;

	if (!time)
		return;
	vclock_pause(time->clock, true);
	now = console_live_ms(k);
	next = time->next_ms ? time->next_ms(time->arg, now) : now + STEP_MS;
	if (next == INT64_MAX) {
		console_say(k, false, "nothing comes after this");
		return;
	}
	time_go(k, time, next);
	tell(k, TELL_EVENT, wall_us(time, now));
}

static void seek_by(struct console *k, int64_t by_ms)
{
	const struct console_time *time = past_of(k);
	int64_t at;

	if (!time)
		return;
	at = console_live_ms(k) + by_ms;
	at = at < time->first_ms ? time->first_ms : at;
	time_go(k, time, at > time->last_ms ? time->last_ms : at);
}

void console_time_seek(struct console *k, const char *text)
{
	const struct console_time *time = past_of(k);
	struct moment_span span;
	struct err err = { 0 };
	int64_t at_us;

	if (!time)
		return;
	span.first_us = wall_us(time, time->first_ms);
	span.last_us = wall_us(time, time->last_ms);
	span.plus_us = span.minus_us = wall_us(time, console_live_ms(k));
	if (moment_parse(text, &span, &at_us, &err))
		console_say(k, true, "%s", err.text);
	else
		time_go(k, time, (at_us - wall_us(time, 0)) / 1000);
}

/* While time goes on, whoever goes back twice has left the finding by some moments: these don't
 * count, else the second time would lead to where the first one did. */
static int64_t passed_since(struct vclock *clock)
{
	return vclock_paused(clock) ? 0
				    : (int64_t)AGAIN_BACK_MS * vclock_speed_now(clock) / SPEED_REAL;
}

static void seek_finding(struct console *k, bool back)
{
	const struct console_time *time = past_of(k);
	int64_t at;

	if (!time)
		return;
	at = time->finding_ms(
		time->arg, console_live_ms(k) - (back ? passed_since(time->clock) : 0), back);
	if (at == INT64_MAX)
		console_say(k, false,
			back ? "no finding begins before this" : "no finding begins after this");
	else {
		time_go(k, time, at);
		tell(k, TELL_FINDING, wall_us(time, at));
	}
}

bool console_time_act(struct console *k, enum action action)
{
	switch (action) {
	case ACTION_FASTER:
	case ACTION_SLOWER:
		if (time_of(k))
			set_speed(k, k->options->time,
				action == ACTION_FASTER
					? (int64_t)vclock_speed_now(k->options->time->clock) * 2
					: vclock_speed_now(k->options->time->clock) / 2);
		return true;
	case ACTION_STEP:
		console_time_step(k);
		return true;
	case ACTION_SEEK_ON:
		seek_by(k, SEEK_MS);
		return true;
	case ACTION_SEEK_BACK:
		seek_by(k, -SEEK_MS);
		return true;
	case ACTION_NEXT_FINDING:
	case ACTION_LAST_FINDING:
		/* Elsewhere they go through what was shown (console-past.c). */
		if (!k->options->time || !k->options->time->finding_ms)
			return false;
		seek_finding(k, action == ACTION_LAST_FINDING);
		return true;
	default:
		return false;
	}
}
