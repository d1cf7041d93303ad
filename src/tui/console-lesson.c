#include "config.h"

#include "tui/console-state.h"
#include "base/mem.h"
#include "base/moment.h"
#include "base/vclock.h"
#include "control/fleet.h"
#include "source/sim-host.h"

#include <stdlib.h>
#include <string.h>

/* A lesson in the console: its commands, and its end. */

enum {
	WAIT_MOST_MS = 3600 * 1000,
	WAIT_SPEED = 50 * 1000 /* so fast that one waits for little, and every second is seen */
};

void console_lesson_look(struct console *k)
{
	struct lesson_run *run = k->options->lesson;

	if (!run)
		return;
	k->lesson.run = run;
	lesson_run_look(run, &k->lesson.state);
	k->lesson.debrief = k->debrief;
	k->model.lesson = &k->lesson;
}

static struct lesson_run *lesson_of(struct console *k)
{
	if (!k->options->lesson)
		console_say(k, false, "this is no lesson; baton train lists them");
	else if (k->debrief)
		console_say(k, false, "the lesson is over: nothing counts any more");
	else
		return k->options->lesson;
	return NULL;
}

void console_lesson_begin(struct console *k)
{
	if (!k->options->lesson)
		return;
	console_go_view(k, view_find("lesson"));
	console_say(k, false, "read the story; Z starts the clock, 6 leads back here");
}

/* Time ran up to where it was to: it stands still there. */
static void wait_over(struct console *k)
{
	struct vclock *clock = k->options->time->clock;

	vclock_speed(clock, k->wait_speed);
	vclock_pause(clock, true);
	vclock_most(clock, INT64_MAX);
	k->wait_until_ms = 0;
	fleet_poll_now(k->fleet, NULL);
	console_say(k, false, "time stands still again; Z goes on");
}

void console_lesson_turn(struct console *k)
{
	if (k->wait_until_ms && (vclock_now_ms(k->options->time->clock) >= k->wait_until_ms ||
					k->lesson.state.end != ACCOUNT_OPEN))
		wait_over(k);
	/* A window that is open is closed first: what is asked there must be answered. */
	if (!k->options->lesson || k->debrief || k->act.board ||
		k->lesson.state.end == ACCOUNT_OPEN)
		return;
	k->debrief = lesson_run_debrief(k->options->lesson);
	console_past_leave(k);
	vclock_pause(k->options->time->clock, true);
	fleet_poll_now(k->fleet, NULL);
	console_go_view(k, view_find("lesson"));
	console_say(k, false, "the lesson is over: %d of 100", k->debrief->score.total);
}

/* ---- what the trainee says ---- */

static void say_picked(struct console *k, const struct lesson_run *run, uint64_t causes)
{
	struct str words;

	str_init(&words, 2000);
	debrief_causes(run->lesson, causes, &words);
	console_say(k, false, words.len ? "picked: %s" : "no cause is picked%s", words.s);
	str_release(&words);
}

void console_lesson_pick(struct console *k, const char *index)
{
	struct lesson_run *run = lesson_of(k);
	uint64_t causes = k->lesson.state.picked;
	size_t i = (size_t)strtoul(index, NULL, 10);

	if (!run || i >= run->lesson->n_causes)
		return;
	causes ^= UINT64_C(1) << run->order[i];
	lesson_run_diagnose(run, causes);
	say_picked(k, run, causes);
}

static void diagnose(struct console *k, struct lesson_run *run, const char *words)
{
	char *copy = xstrdup(words), *rest = copy, *word;
	uint64_t causes = 0;
	int at = 0;

	while (at >= 0 && (word = strsep(&rest, " ,")) != NULL) {
		if (!*word)
			continue;
		at = lesson_cause_find(run->lesson, word);
		if (at >= 0)
			causes |= UINT64_C(1) << at;
		else
			console_say(
				k, true, "no cause \"%s\": Tab behind :diagnose shows them", word);
	}
	if (at >= 0) {
		lesson_run_diagnose(run, causes);
		say_picked(k, run, causes);
	}
	free(copy);
}

static void hint(struct console *k, struct lesson_run *run)
{
	const struct lesson_hint *given = lesson_run_hint(run);

	if (given)
		console_say(k, false, "for %d points: %s", given->costs, given->text);
	else
		console_say(k, false, "there is no further hint");
}

/* Lets time run fast for so long, and stand still then. */
static void wait_for(struct console *k, const char *text)
{
	struct vclock *clock = k->options->time->clock;
	int64_t ms = moment_duration_ms(text);

	if (ms <= 0 || ms > WAIT_MOST_MS) {
		console_say(k, true, ":wait needs a time, at most an hour: 15s, 2m");
		return;
	}
	vclock_pause(clock, true);
	if (!k->wait_until_ms)
		k->wait_speed = vclock_speed_now(clock);
	k->wait_until_ms = vclock_now_ms(clock) + ms;
	vclock_most(clock, k->wait_until_ms);
	vclock_speed(clock, WAIT_SPEED);
	fleet_poll_now(k->fleet, NULL);
	console_say(k, false, "time runs for %s", text);
}

/* What comes of it all is seen at once: the world runs to its end. */
static void finish(struct console *k, struct lesson_run *run)
{
	const struct referee_rules *rules = &run->lesson->rules;

	/* It stops time before that. */
	if (k->wait_until_ms)
		wait_over(k);
	lesson_run_finish(run);
	vclock_set(k->options->time->clock, rules->begins_ms + rules->limit_ms);
	fleet_poll_now(k->fleet, NULL);
}

void console_lesson_command(struct console *k, enum command command, const char *arg)
{
	struct lesson_run *run = lesson_of(k);

	if (!run)
		return;
	switch (command) {
	case COMMAND_DIAGNOSE:
		diagnose(k, run, arg);
		break;
	case COMMAND_HINT:
		hint(k, run);
		break;
	case COMMAND_NOTE:
		if (*arg) {
			lesson_run_note(run, arg);
			console_say(k, false, "noted");
		} else {
			console_say(k, true, ":note needs a text");
		}
		break;
	case COMMAND_WAIT:
		wait_for(k, arg);
		break;
	default:
		finish(k, run);
		break;
	}
	console_model(k);
}
