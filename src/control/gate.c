#include "config.h"

#include "control/gate-run.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "control/fleet.h"
#include "control/policy.h"
#include "control/settings.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	STEPS_MOST = 2000,
	STEP_TEXT_MOST = 20 * 1024,
	TEXT_MOST = 16 * 1024,
	REASON_MOST = 1000, /* bytes, before they are escaped */
};

/* ---- what the worker tells ---- */

void gate_news(struct gate *gate)
{
	struct session *any = fleet_session_at(gate->fleet, 0);

	if (any)
		any->shared->published(any->shared->arg);
}

static void step_add_locked(
	struct gate *gate, size_t item, const char *step, int64_t at_us, const char *text)
{
	if (gate->n_steps >= STEPS_MOST)
		return;
	MEM_GROW(gate->steps, gate->n_steps, gate->cap_steps);
	gate->steps[gate->n_steps++] = (struct gate_step){
		.step = step, .at_us = at_us, .text = xstrdup(text), .item = item
	};
}

static int64_t wall_us(const struct gate *gate)
{
	const struct session *any = fleet_session_at(gate->fleet, 0);

	return clock_wall_us(any ? any->shared->clock : &clock_system);
}

void gate_step_add(struct gate_slot *slot, const char *step, const char *fmt, ...)
{
	struct gate *gate = slot->gate;
	char *text = xmalloc(STEP_TEXT_MOST);
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, STEP_TEXT_MOST, fmt, args);
	va_end(args);
	pthread_mutex_lock(&gate->mutex);
	step_add_locked(gate, slot->index, step, wall_us(gate), text);
	pthread_mutex_unlock(&gate->mutex);
	free(text);
}

void gate_say(struct gate_slot *slot, const char *fmt, ...)
{
	char *text = xmalloc(TEXT_MOST);
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, TEXT_MOST, fmt, args);
	va_end(args);
	pthread_mutex_lock(&slot->gate->mutex);
	str_clear(&slot->text);
	str_add(&slot->text, text);
	pthread_mutex_unlock(&slot->gate->mutex);
	free(text);
}

static void move_locked(struct gate_slot *slot, enum gate_event event)
{
	int next = gate_machine_next(slot->state, event, &slot->outcome);

	if (next < 0)
		abort();
	slot->state = (enum gate_state)next;
}

enum gate_state gate_move(struct gate_slot *slot, enum gate_event event)
{
	enum gate_state state;

	pthread_mutex_lock(&slot->gate->mutex);
	move_locked(slot, event);
	state = slot->state;
	pthread_mutex_unlock(&slot->gate->mutex);
	return state;
}

bool gate_is_cancelled(struct gate_slot *slot)
{
	bool cancelled;

	pthread_mutex_lock(&slot->gate->mutex);
	cancelled = slot->gate->cancelled;
	pthread_mutex_unlock(&slot->gate->mutex);
	return cancelled;
}

/* ---- the set: all read, one confirmation, then one by one ---- */

static size_t count_in(const struct gate *gate, enum gate_state state)
{
	size_t n = 0, i;

	for (i = 0; i < gate->n; i++)
		n += gate->slots[i].state == state;
	return n;
}

/* Those that no thread works on any more. The state alone does not tell: a thread moves its slot to
 * ASK before it leaves it. */
static size_t count_arrived(const struct gate *gate)
{
	size_t n = 0, i;

	for (i = 0; i < gate->n; i++)
		n += gate->slots[i].arrived;
	return n;
}

/* What became of the whole: the first surprise, or partial when some were done before it. */
static enum gate_outcome outcome_of_all(const struct gate *gate)
{
	enum gate_outcome first = GATE_CANCELLED;
	size_t done = 0, i;

	for (i = 0; i < gate->n; i++)
		done += gate->slots[i].outcome == GATE_DONE;
	if (done == gate->n)
		return GATE_DONE;
	for (i = gate->n; i-- > 0;)
		if (gate->slots[i].outcome != GATE_DONE && gate->slots[i].outcome != GATE_CANCELLED)
			first = gate->slots[i].outcome;
	return done ? GATE_PARTIAL : first;
}

/* Those that still wait are left, and the whole is over. */
static void finish_locked(struct gate *gate)
{
	size_t i;

	for (i = 0; i < gate->n; i++)
		if (gate->slots[i].state == GATE_STATE_ASK)
			move_locked(&gate->slots[i], GATE_EVENT_CANCELLED);
	gate->phase = GATE_PHASE_OVER;
	gate->outcome = outcome_of_all(gate);
}

/* Hands a slot to its source's thread. Without one there is nothing to be done any more. */
static bool post_locked(struct gate_slot *slot)
{
	slot->task.run = gate_work;
	slot->gate->refs++;
	if (slot->session && session_post(slot->session, &slot->task))
		return true;
	slot->gate->refs--;
	return false;
}

/* The source's thread has ended: nothing was sent, and nothing can be. */
static void strand_locked(struct gate_slot *slot)
{
	str_clear(&slot->text);
	str_addf(&slot->text, "the thread of %s has ended; nothing was sent", slot->id);
	move_locked(slot, GATE_EVENT_CANCELLED);
	move_locked(slot, GATE_EVENT_WRITTEN);
}

static void confirm_next_locked(struct gate *gate)
{
	size_t i;

	for (i = 0; i < gate->n; i++) {
		struct gate_slot *slot = &gate->slots[i];

		if (slot->state != GATE_STATE_ASK)
			continue;
		slot->confirmed = true;
		slot->order.reason = gate->reason;
		move_locked(slot, GATE_EVENT_CONFIRMED);
		slot->acting = true;
		fleet_act_begins(gate->fleet);
		if (!post_locked(slot)) {
			fleet_act_ends(gate->fleet);
			strand_locked(slot);
			finish_locked(gate);
		}
		return;
	}
	finish_locked(gate);
}

static void confirm_locked(struct gate *gate, const char *how)
{
	gate->phase = GATE_PHASE_ACTING;
	step_add_locked(gate, 0, "confirm", wall_us(gate), how);
	confirm_next_locked(gate);
}

/* All are read: they wait for a confirmation, or one is not as it must be, and nothing is done. */
static void all_read_locked(struct gate *gate)
{
	if (gate->cancelled || count_in(gate, GATE_STATE_OVER) || gate->options.forecast_only) {
		finish_locked(gate);
		return;
	}
	gate->phase = GATE_PHASE_ASKING;
	step_add_locked(gate, 0, "forecast", wall_us(gate), "the forecast is made");
	if (gate->options.agreed)
		confirm_locked(gate, "agreed to beforehand");
}

void gate_arrived(struct gate_slot *slot)
{
	struct gate *gate = slot->gate;

	pthread_mutex_lock(&gate->mutex);
	slot->arrived = true;
	if (gate->phase == GATE_PHASE_READING && count_arrived(gate) == gate->n)
		all_read_locked(gate);
	else if (gate->phase == GATE_PHASE_ACTING && slot->state == GATE_STATE_OVER &&
		 slot->outcome == GATE_DONE)
		confirm_next_locked(gate);
	else if (gate->phase == GATE_PHASE_ACTING && slot->state == GATE_STATE_OVER)
		finish_locked(gate);
	pthread_mutex_unlock(&gate->mutex);
}

/* ---- beginning ---- */

static char *set_to_type(const struct gate *gate)
{
	char text[80];

	snprintf(text, sizeof(text), "%s %zu", verb_word(gate->slots[0].verb)->word, gate->n);
	return xstrdup(text);
}

/* The strictest that one of the set asks for. */
static void settle_ask(struct gate *gate)
{
	const struct gate_slot *one = &gate->slots[0];
	size_t i;

	gate->ask = GATE_ASK_YES;
	for (i = 0; i < gate->n; i++) {
		gate->prod = gate->prod || gate->slots[i].prod;
		if (gate->slots[i].ask > gate->ask)
			gate->ask = gate->slots[i].ask;
	}
	if (gate->ask == GATE_ASK_YES)
		gate->to_type = xstrdup("y");
	else if (gate->n > 1)
		gate->to_type = set_to_type(gate);
	else if (gate->ask == GATE_ASK_HOLDER)
		gate->to_type = policy_typed_form(one->identity);
	else
		gate->to_type = policy_typed_form(one->id);
	if (gate->ask == GATE_ASK_NAME && gate->n == 1 && one->row && one->row->s->more->name)
		gate->or_type = policy_typed_form(one->row->s->more->name);
}

static char *clean_reason(const char *reason)
{
	struct str clean;

	str_init(&clean, REASON_MOST * 4 + 16);
	text_escape_cut(&clean, reason, strlen(reason), REASON_MOST);
	return str_take(&clean);
}

static void slot_init(
	struct gate *gate, size_t i, const struct gate_place *place, const struct gate_want *want)
{
	struct gate_slot *slot = &gate->slots[i];

	slot->gate = gate;
	slot->index = i;
	str_init(&slot->text, TEXT_MOST);
	str_init(&slot->find_out, TEXT_MOST);
	plan_init(&slot->plan);
	effect_init(&slot->effect);
	gate_bind(slot, gate->fleet, place, want);
	/* What was agreed to beforehand is recorded, whatever becomes of it. */
	slot->confirmed = gate->options.agreed != NULL;
	slot->order.reason = gate->reason;
}

/* What can't be read is over at once: there is no thread that could. */
static void refuse_unread_locked(struct gate_slot *slot)
{
	str_clear(&slot->text);
	if (slot->refusals.n)
		str_add(&slot->text, slot->refusals.items[0].what);
	else
		str_addf(&slot->text, "the thread that reads %s has ended", slot->id);
	slot->absent = !slot->session;
	slot->arrived = true;
	move_locked(slot, GATE_EVENT_REFUSED);
	move_locked(slot, GATE_EVENT_WRITTEN);
}

struct gate *gate_begin(struct fleet *fleet, const struct board *board,
	const struct gate_want *wants, size_t n, const struct gate_options *options)
{
	struct gate_place *places = xcalloc(n, sizeof(*places));
	struct gate *gate = xcalloc(1, sizeof(*gate));
	size_t i;

	pthread_mutex_init(&gate->mutex, NULL);
	gate->refs = 1;
	gate->fleet = fleet;
	gate->board = board_ref(board);
	gate->options = *options;
	gate->reason = options->agreed ? clean_reason(options->agreed) : NULL;
	gate->n = n;
	gate->slots = xcalloc(n, sizeof(*gate->slots));
	gate_find(board, wants, n, places);
	for (i = 0; i < n; i++)
		slot_init(gate, i, &places[i], &wants[i]);
	free(places);
	settle_ask(gate);
	pthread_mutex_lock(&gate->mutex);
	for (i = 0; i < n; i++)
		if (board->past || !post_locked(&gate->slots[i]))
			refuse_unread_locked(&gate->slots[i]);
	if (count_arrived(gate) == n)
		all_read_locked(gate);
	pthread_mutex_unlock(&gate->mutex);
	return gate;
}

static void gate_free(struct gate *gate)
{
	size_t i;

	for (i = 0; i < gate->n; i++)
		gate_slot_release(&gate->slots[i]);
	for (i = 0; i < gate->n_steps; i++)
		free((void *)(uintptr_t)gate->steps[i].text);
	free(gate->steps);
	free(gate->slots);
	free(gate->reason);
	free(gate->to_type);
	free(gate->or_type);
	board_unref(gate->board);
	pthread_mutex_destroy(&gate->mutex);
	free(gate);
}

void gate_unref(struct gate *gate)
{
	bool last;

	pthread_mutex_lock(&gate->mutex);
	last = --gate->refs == 0;
	pthread_mutex_unlock(&gate->mutex);
	if (last)
		gate_free(gate);
}

/* ---- confirming ---- */

static bool is_blank(const char *text)
{
	return !text || text[strspn(text, " \t")] == '\0';
}

static int check_typed(
	const struct gate *gate, const char *typed, const char *reason, struct err *err)
{
	if (gate->phase != GATE_PHASE_ASKING)
		return err_set(err, ERR_UNSUPPORTED, "it does not wait for a confirmation");
	if (!typed[0] || (strcmp(typed, gate->to_type) != 0 &&
				 !(gate->or_type && strcmp(typed, gate->or_type) == 0)))
		return err_set(err, ERR_USAGE, "that is not it: type %.300s", gate->to_type);
	if ((gate->prod || gate->options.way == GATE_WAY_COMMAND) && is_blank(reason))
		return err_set(err, ERR_USAGE, "a reason is needed");
	return 0;
}

int gate_confirm(struct gate *gate, const char *typed, const char *reason, struct err *err)
{
	int rc;

	pthread_mutex_lock(&gate->mutex);
	rc = check_typed(gate, typed, reason, err);
	if (!rc) {
		free(gate->reason);
		gate->reason = is_blank(reason) ? NULL : clean_reason(reason);
		confirm_locked(gate, "typed");
	}
	pthread_mutex_unlock(&gate->mutex);
	return rc;
}

bool gate_cancel(struct gate *gate)
{
	bool ended = false;

	pthread_mutex_lock(&gate->mutex);
	if (gate->phase == GATE_PHASE_READING) {
		gate->cancelled = ended = true;
	} else if (gate->phase == GATE_PHASE_ASKING) {
		finish_locked(gate);
		ended = true;
	}
	pthread_mutex_unlock(&gate->mutex);
	return ended;
}

void gate_close(struct gate *gate)
{
	if (!gate)
		return;
	gate_cancel(gate);
	gate_unref(gate);
}

/* ---- the menu, and being armed ---- */

/* What the row itself says against it: before what arming would lift. */
static void hinder_by_row(struct gate_slot *slot)
{
	const char *why = NULL;

	if (!slot->refusals.n && slot->act && slot->act->hinders)
		why = slot->act->hinders(slot->row->s, slot->verb);
	if (why)
		plan_add(&slot->refusals, why, NULL);
}

/* The first reason against one want, or NULL. */
static char *hinder(struct fleet *fleet, const struct gate_place *place,
	const struct gate_want *want, enum gate_way way)
{
	struct gate_slot slot = { .gate = NULL };
	char *why = NULL;

	gate_bind(&slot, fleet, place, want);
	hinder_by_row(&slot);
	if (slot.session && slot.snap)
		gate_policy(&slot, fleet, slot.snap->state, way, &slot.refusals);
	if (slot.refusals.n)
		why = xstrdup(slot.refusals.items[0].what);
	else if (!slot.row)
		why = xstrdup("it is not there");
	gate_slot_release(&slot);
	return why;
}

void gate_hinders(struct fleet *fleet, const struct board *board, const struct gate_want *wants,
	size_t n, enum gate_way way, char *why[VERB_COUNT])
{
	struct gate_place *places = xcalloc(n ? n : 1, sizeof(*places));
	size_t i;
	int verb;

	gate_find(board, wants, n, places);
	for (verb = 0; verb < VERB_COUNT; verb++) {
		why[verb] = NULL;
		for (i = 0; i < n && !why[verb]; i++) {
			struct gate_want want = wants[i];

			want.verb = (enum verb)verb;
			why[verb] = hinder(fleet, &places[i], &want, way);
		}
	}
	free(places);
}

static int arm_one(struct fleet *fleet, struct session *s, int64_t until_ms, struct err *err)
{
	if (fleet_settings(fleet)->read_only)
		return err_set(err, ERR_DENIED, "the config says read_only: nothing can be armed");
	if (s->config->protect)
		return err_set(err, ERR_DENIED, "the config protects source %s: it can't be armed",
			s->config->name);
	session_arm(s, until_ms);
	return 0;
}

int gate_arm(struct fleet *fleet, const char *source, int64_t for_ms, struct err *err)
{
	struct session *s;
	bool any = false;
	size_t i;
	int rc = 0;

	for (i = 0; (s = fleet_session_at(fleet, i)) != NULL; i++) {
		int64_t now = clock_mono_ms(s->shared->clock);
		int64_t until = for_ms > INT64_MAX - now ? INT64_MAX : now + for_ms;
		int one;

		if (source && strcmp(s->config->name, source) != 0)
			continue;
		one = arm_one(fleet, s, until, err);
		any = any || !one;
		rc = one ? one : rc;
	}
	if (any && !source)
		return 0; /* all but those that are protected */
	return rc || any ? rc
			 : err_set(err, ERR_NOTFOUND, "there is no source %.200s",
				   source ? source : "");
}

void gate_disarm(struct fleet *fleet, const char *source)
{
	struct session *s;
	size_t i;

	for (i = 0; (s = fleet_session_at(fleet, i)) != NULL; i++)
		if (!source || strcmp(s->config->name, source) == 0)
			session_arm(s, INT64_MIN);
}

int64_t gate_armed_ms(struct fleet *fleet, const char *source)
{
	int64_t most = 0;
	struct session *s;
	size_t i;

	for (i = 0; (s = fleet_session_at(fleet, i)) != NULL; i++) {
		int64_t left = session_armed_ms(s);

		if ((!source || strcmp(s->config->name, source) == 0) && left > most)
			most = left;
	}
	return most;
}

const char *gate_outcome_word(enum gate_outcome outcome)
{
	static const char *const words[] = {
		[GATE_NONE] = "",
		[GATE_DONE] = "done",
		[GATE_REFUSED] = "refused",
		[GATE_CHANGED] = "changed",
		[GATE_UNKNOWN] = "unknown",
		[GATE_PARTIAL] = "partial",
		[GATE_CANCELLED] = "cancelled",
	};

	return words[outcome];
}
