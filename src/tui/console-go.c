#include "config.h"

#include "tui/console-state.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/vclock.h"
#include "control/fleet.h"
#include "control/gate.h"
#include "control/settings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	ARMED_SOURCE_MAX = 256
};

int64_t console_now_ms(void)
{
	return clock_mono_ms(&clock_system);
}

bool console_message_over(const struct console *k)
{
	return k->message[0] && console_now_ms() >= k->message_until_ms;
}

int64_t console_live_ms(const struct console *k)
{
	return clock_mono_ms(k->clock);
}

int64_t console_time_ms(const struct console *k)
{
	return k->then ? k->then->mono_ms : k->paused ? k->paused_ms : clock_mono_ms(k->clock);
}

int64_t console_time_us(const struct console *k)
{
	return k->then ? k->then->wall_us : k->paused ? k->paused_us : clock_wall_us(k->clock);
}

const struct board *console_board(const struct console *k)
{
	return k->then ? k->then : k->board;
}

void console_say(struct console *k, bool error, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(k->message, sizeof(k->message), fmt, ap);
	va_end(ap);
	k->message_error = error;
	k->message_until_ms = console_now_ms() + MESSAGE_MS;
	k->dirty = true;
}

const struct view_entry *console_view(const struct console *k)
{
	return view_at((size_t)k->history[k->now].view);
}

void *console_view_state(const struct console *k)
{
	return k->states[k->history[k->now].view];
}

/* Of the source that the row on the screen belongs to, else of any. */
static int64_t console_armed_ms(const struct console *k)
{
	const char *id = k->history[k->now].id;
	char source[ARMED_SOURCE_MAX];
	size_t len = id ? strcspn(id, "/") : 0;

	if (!id || !id[len] || len >= sizeof(source) || strncmp(id, "role/", 5) == 0)
		return gate_armed_ms(k->fleet, NULL);
	memcpy(source, id, len);
	source[len] = '\0';
	return gate_armed_ms(k->fleet, source);
}

void console_model(struct console *k)
{
	const struct console_time *time = k->options->time;

	if (k->then)
		k->then_journal = journal_until(&k->journal, k->then_seq);
	k->model = (struct model){
		.board = console_board(k),
		.listing = k->listing,
		.journal = k->then ? &k->then_journal : &k->journal,
		.actions = k->actions.read ? &k->actions : NULL,
		.looked_for = k->settings->looked_for,
		.id = k->history[k->now].id,
		.local = k->local,
		.now_ms = console_time_ms(k),
		.now_us = console_time_us(k),
		.paused = time ? vclock_paused(time->clock) : k->paused,
		.paused_ms =
			k->paused && !k->then ? clock_minus(console_live_ms(k), k->paused_ms) : 0,
		.mark = time ? time->mark : NULL,
		.recording = k->recording.recorder != NULL,
		.speed = time ? vclock_speed_now(time->clock) : 0,
		.past = time && time->finding_ms,
		.ago_ms = console_past_ago_ms(k),
		.armed_ms = console_armed_ms(k),
	};
	console_lesson_look(k);
}

void console_sync(struct console *k)
{
	const struct view_ops *ops = console_view(k)->ops;

	console_model(k);
	if (ops->sync)
		ops->sync(console_view_state(k), &k->model);
	k->dirty = true;
}

/* Every view that was opened hears of a new picture, also those that are not shown: some keep
 * samples of it. */
void console_sync_all(struct console *k)
{
	size_t i;

	console_model(k);
	for (i = 0; i < view_count(); i++)
		if (k->states[i] && view_at(i)->ops->sync)
			view_at(i)->ops->sync(k->states[i], &k->model);
	k->dirty = true;
}

/* The row under the cursor is followed from here on; of the view "one" it is the one that it shows.
 */
void console_follow(struct console *k)
{
	const struct view_ops *ops = console_view(k)->ops;
	const struct listing_row *row =
		ops->cursor ? ops->cursor(console_view_state(k), &k->model) : NULL;
	const char *tracked = listing_tracked_id(k->listing);

	if (row && !str_eq(tracked, row->row->s->id))
		listing_follow(k->listing, row);
}

void console_go(struct console *k, int view, const char *id)
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
	console_sync(k);
}

void console_go_history(struct console *k, int at)
{
	if (at < 0 || at >= k->n_history) {
		console_say(k, false,
			at < 0 ? "there is no view before this one"
			       : "there is no view after this one");
		return;
	}
	k->now = at;
	if (k->history[at].id && !str_eq(listing_tracked_id(k->listing), k->history[at].id))
		listing_track(k->listing, k->history[at].id);
	console_sync(k);
}

void console_go_view(struct console *k, int view)
{
	const struct view_entry *entry = view_at((size_t)view);

	if (!entry->ops)
		console_say(k, false, "%s", entry->later);
	else if (k->history[k->now].view != view)
		console_go(k, view, NULL);
}

void console_go_key(struct console *k, char key)
{
	size_t i;

	for (i = 0; i < view_count(); i++)
		if (view_at(i)->key == key)
			console_go_view(k, (int)i);
}

static void marks_end(struct console *k)
{
	size_t i;

	for (i = 0; i < view_count(); i++)
		if (k->states[i] && view_at(i)->ops->unmark)
			view_at(i)->ops->unmark(k->states[i]);
}

const char *console_filter_text(const struct console *k)
{
	const struct view_ops *ops = console_view(k)->ops;

	return ops->filtered ? ops->filtered(console_view_state(k))
			     : listing_filter_text(k->listing);
}

/* Sets the filter; on an error the one that was stays and the hint says why. */
bool console_filter(struct console *k, const char *text)
{
	const struct view_ops *ops = console_view(k)->ops;
	struct err err = { 0 };

	k->hint[0] = '\0';
	k->hint_error = false;
	if (ops->filter) {
		ops->filter(console_view_state(k), &k->model, text);
		k->dirty = true;
		return true;
	}
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

void console_sort(struct console *k, enum sort sort, bool reverse)
{
	listing_sort(k->listing, sort, reverse);
	console_say(k, false, "sorted: %s%s (:sort %s%s)", sort_help(sort),
		reverse ? ", turned round" : "", reverse ? "-" : "", sort_name(sort));
}

void console_need(struct console *k)
{
	const char *now = listing_filter_text(k->listing);

	console_filter(k, strcmp(now, "is:need") == 0 ? "" : "is:need");
}

void console_pause(struct console *k)
{
	if (k->options->time) {
		console_time_pause(k, !vclock_paused(k->options->time->clock));
		return;
	}
	/* A lease that nobody reads runs to no end on the screen. */
	k->paused_ms = console_live_ms(k);
	k->paused_us = clock_wall_us(k->clock);
	k->paused = !k->paused;
	fleet_pause(k->fleet, k->paused);
	console_say(k, false,
		k->paused ? "the picture is held still and nothing is polled; Z goes on"
			  : "polling again");
}

void console_mouse(struct console *k, bool on)
{
	k->mouse = on;
	screen_mouse(k->screen, on);
	console_say(k, false,
		on ? "mouse on: click, double click, wheel; m turns it off" : "mouse off");
}

void console_witnesses(struct console *k, bool join)
{
	listing_join(k->listing, join);
	console_say(k, false,
		join ? "the witnesses of a role are joined on its row"
		     : "the witnesses of roles stand as rows of their own, too");
}

void console_copy(struct console *k, const char *text)
{
	size_t lines = 1;
	const char *s;

	for (s = text; *s; s++)
		lines += *s == '\n';
	if (!screen_copy(k->screen, text, strlen(text)))
		console_say(k, true, "too much to copy: mark fewer rows");
	else if (lines > 1)
		console_say(k, false, "%zu ids sent to the terminal's clipboard", lines);
	else
		console_say(k, false, "sent to the terminal's clipboard: %.*s",
			text_most(text, 500), text);
}

void console_escape(struct console *k)
{
	const struct view_ops *ops = console_view(k)->ops;
	struct view_reply reply = { 0 };

	if (k->then && k->now <= k->then_place) {
		console_past_leave(k);
		return;
	}
	if (ops->filtered && *console_filter_text(k)) {
		console_filter(k, "");
		return;
	}
	if (!ops->lists) {
		if (k->now > 0)
			console_go_history(k, k->now - 1);
		else
			console_go_view(k, 0);
		return;
	}
	if (*listing_filter_text(k->listing) &&
		!(ops->inside && ops->inside(console_view_state(k)))) {
		console_filter(k, "");
		return;
	}
	ops->act(console_view_state(k), &k->model, ACTION_BACK, &reply);
}

void console_answer(struct console *k, const struct view_reply *reply)
{
	int view = view_find("one");

	switch (reply->kind) {
	case REPLY_OPEN:
		console_go(k, view, reply->text.s);
		break;
	case REPLY_WITNESS:
		console_act_open(k, reply->text.s);
		break;
	case REPLY_VIEW:
		view = view_find(reply->text.s);
		if (view >= 0)
			console_go_view(k, view);
		break;
	case REPLY_BACK:
		console_go_history(k, k->now - 1);
		break;
	case REPLY_COPY:
		console_copy(k, reply->text.s);
		break;
	case REPLY_ACT:
		if (!console_past_refuses(k))
			console_act_menu(k, reply->text.s);
		break;
	case REPLY_DIAGNOSE:
		console_lesson_pick(k, reply->text.s);
		break;
	case REPLY_SAY:
		console_say(k, false, "%s", reply->text.s);
		break;
	default:
		break;
	}
}
