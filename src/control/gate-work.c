#include "config.h"

#include "control/gate-run.h"
#include "base/clock.h"
#include "base/mem.h"
#include "control/fleet.h"
#include "control/policy.h"

#include <stdlib.h>
#include <string.h>

/* What the source's thread does for an act, one function for each state of the machine. */

enum {
	SETTLE_MS = 10 * 1000,
	LOOK_EVERY_MS = 200,
	LINGER_MS = 1000, /* settled: so long it is looked for the old holder's end as well */
	LOOK_LEAST_MS = 300,
	TEXT_MOST = 8 * 1024,
};

/* What a state returns to be called again at once, in the state that it moved to. */
#define GO_ON INT64_MIN

static int64_t now_ms(const struct gate_slot *slot)
{
	return clock_mono_ms(slot->session->shared->clock);
}

static int64_t now_us(const struct gate_slot *slot)
{
	return clock_wall_us(slot->session->shared->clock);
}

/* The round, with a deadline for one call. */
static struct round *round_for(struct gate_slot *slot, struct session *s, int64_t at_most_ms)
{
	int64_t read_ms = slot->gate->options.read_ms;

	if (read_ms <= 0)
		read_ms = s->config->timeout_ms;
	if (at_most_ms > 0 && at_most_ms < read_ms)
		read_ms = at_most_ms;
	s->round.deadline_ms = now_ms(slot) + read_ms;
	return &s->round;
}

/* The reasons of a list, as one sentence after another. */
static void join_reasons(struct str *out, const struct plan_list *list)
{
	size_t i;

	for (i = 0; i < list->n; i++)
		str_addf(out, "%s%s", i ? "; " : "", list->items[i].what);
	if (list->cut)
		str_addf(out, "; and %zu more", list->cut);
}

static void say_reasons(struct gate_slot *slot, const struct plan_list *list)
{
	struct str text;

	str_init(&text, TEXT_MOST);
	join_reasons(&text, list);
	gate_say(slot, "%s", text.s);
	str_release(&text);
}

/* ---- reading again ---- */

/* What tells one server from another; 0: it does not tell. */
static int64_t server_id(const struct singleton *self)
{
	int64_t id = self ? singleton_int(self, DETAIL_SYSTEM_IDENTIFIER, 0) : 0;

	return id || !self ? id : singleton_int(self, DETAIL_CLUSTER_ID, 0);
}

/* Keys repeat from server to server. */
static bool is_same_server(const struct gate_slot *slot, const struct session *s)
{
	const struct row *self = slot->snap ? slot->snap->self : NULL;
	int64_t was = server_id(self ? self->s : NULL), now = server_id(s->round.self);

	return !was || !now || was == now;
}

/*
 * The key binds it to the same claim, and not to how that claim is: a holder that was STALE may
 * have renewed since, and whoever takes it away then stops one who works.
 */
static void compare_state(struct gate_slot *slot, struct session *s)
{
	const struct picture_slot *now = picture_find(&s->picture, slot->id);
	enum state was = slot->row->v.state,
		   is = now && now->row ? now->row->v.state : STATE_UNKNOWN;

	if (policy_is_over(slot->verb, was, is))
		plan_changed(&slot->plan, "it was %s %s, and is %s now: look again",
			state_word(was)->word,
			slot->forecast ? "when the forecast was made" : "on the screen",
			state_word(is)->word);
}

/* Asks the source; a failure is one more reason. */
static enum gate_event read_again(struct gate_slot *slot, struct session *s)
{
	struct err err = { 0 };
	int rc;

	plan_release(&slot->plan);
	if (!s->state) {
		plan_refuse(&slot->plan, "%s", s->open_error.text);
		return GATE_EVENT_UNREAD;
	}
	if (!is_same_server(slot, s)) {
		plan_changed(&slot->plan, "another server answers now under the name of source %s",
			s->config->name);
		return GATE_EVENT_CHANGED;
	}
	rc = slot->act->plan(s->state, round_for(slot, s, 0), &slot->order, &slot->plan, &err);
	if (rc < 0) {
		plan_refuse(&slot->plan, "it could not be read again: %s",
			err.code ? err.text : "no reason was given");
		return GATE_EVENT_UNREAD;
	}
	if (slot->plan.verdict == PLAN_READY)
		compare_state(slot, s);
	if (slot->plan.verdict == PLAN_CHANGED)
		return GATE_EVENT_CHANGED;
	if (slot->plan.verdict == PLAN_REFUSED || slot->plan.permission == TRI_NO)
		return GATE_EVENT_REFUSED;
	return GATE_EVENT_READY;
}

static struct forecast *make_forecast(struct gate_slot *slot, const struct plan_list *policy)
{
	struct forecast_input in = {
		.order = &slot->order,
		.plan = &slot->plan,
		.row = slot->row,
		.snap = slot->snap,
		.cross = slot->cross,
		.role = slot->role,
		.now_us = now_us(slot),
	};
	struct forecast *f = forecast_new(&in);
	size_t i;

	for (i = 0; i < slot->refusals.n; i++)
		forecast_refuse(f, slot->refusals.items[i].what);
	for (i = 0; i < policy->n; i++)
		forecast_refuse(f, policy->items[i].what);
	return f;
}

static void publish_forecast(struct gate_slot *slot, struct forecast *f)
{
	pthread_mutex_lock(&slot->gate->mutex);
	slot->forecast = f;
	pthread_mutex_unlock(&slot->gate->mutex);
}

/* Not on the board: was it there before? Only the memory can tell. */
static enum gate_event read_absent(struct gate_slot *slot, struct session *s)
{
	const struct remembered *r = memory_find(&s->memory, slot->id);
	char at[CLOCK_TEXT_MAX];

	if (r) {
		clock_format_utc(at, r->last_seen_us, 0);
		gate_say(slot, "%s was there until %s; nobody holds it now", slot->id, at);
		return GATE_EVENT_CHANGED;
	}
	pthread_mutex_lock(&slot->gate->mutex);
	slot->absent = true;
	slot->confirmed = false; /* a slip of the keyboard is no act, and not recorded */
	pthread_mutex_unlock(&slot->gate->mutex);
	gate_say(slot, "there is no %s", slot->id);
	return GATE_EVENT_REFUSED;
}

/* Whether asking the source can tell anything: what it is about is known. */
static bool is_bound(const struct gate_slot *slot)
{
	return slot->act && !slot->refusals.n;
}

static int64_t work_read(struct gate_slot *slot, struct session *s, bool stopping)
{
	struct plan_list policy = { .n = 0 };
	enum gate_event event = slot->differs ? GATE_EVENT_CHANGED : GATE_EVENT_REFUSED;
	struct forecast *f;

	if (stopping || gate_is_cancelled(slot)) {
		gate_say(slot, "it was left before anything was sent");
		gate_move(slot, GATE_EVENT_CANCELLED);
		return GO_ON;
	}
	if (!slot->row) {
		gate_move(slot, read_absent(slot, s));
		return GO_ON;
	}
	gate_policy(slot, slot->gate->fleet, s->state_word, slot->gate->options.way, &policy);
	if (is_bound(slot) && s->state_word != SOURCE_FAILING)
		event = read_again(slot, s);
	f = make_forecast(slot, &policy);
	if (policy.n && event == GATE_EVENT_READY)
		event = GATE_EVENT_REFUSED;
	gate_step_add(slot, "read", "%s",
		event == GATE_EVENT_READY ? "read again: the same as on the screen"
		: f->reasons.n            ? f->reasons.items[0].what
					  : "it is not as it was");
	if (event != GATE_EVENT_READY)
		say_reasons(slot, &f->reasons);
	publish_forecast(slot, f);
	plan_list_release(&policy);
	gate_move(slot, event);
	return GO_ON;
}

/* ---- confirmed: reading once more ---- */

static bool list_has(const struct plan_list *list, const struct plan_item *item)
{
	size_t i;

	for (i = 0; i < list->n; i++)
		if (strcmp(list->items[i].id, item->id) == 0)
			return true;
	return plan_may_be_cut(list, item->what);
}

/* What would be destroyed now and was not in the forecast that was confirmed; NULL: nothing. */
static const struct plan_item *beyond_forecast(const struct gate_slot *slot)
{
	const struct plan_list *now = &slot->plan.destroys;
	size_t i;

	for (i = 0; i < now->n; i++)
		if (now->items[i].id[0] && !list_has(&slot->forecast->destroys, &now->items[i]))
			return &now->items[i];
	return NULL;
}

static int64_t work_check(struct gate_slot *slot, struct session *s, bool stopping)
{
	struct plan_list reasons = { .n = 0 };
	enum gate_event event = GATE_EVENT_REFUSED;
	const struct plan_item *more;

	if (stopping) {
		gate_say(slot, "the program ended before anything was sent");
		gate_move(slot, GATE_EVENT_CANCELLED);
		return GO_ON;
	}
	/* The picture may be as old as the dialog stood open, where polls are paused. */
	if (policy_may_be_over(slot->verb, slot->row->v.state))
		session_poll(s);
	gate_policy(slot, slot->gate->fleet, s->state_word, slot->gate->options.way, &reasons);
	if (!reasons.n) {
		event = read_again(slot, s);
		plan_list_copy(&reasons, &slot->plan.reasons);
		if (event == GATE_EVENT_REFUSED && !reasons.n)
			plan_add(&reasons, "the permission is missing", NULL);
	}
	more = event == GATE_EVENT_READY ? beyond_forecast(slot) : NULL;
	if (more) {
		event = GATE_EVENT_CHANGED;
		/* Its id may be another session's text: on the screen alone, never recorded. */
		plan_add(&reasons, "it would destroy more now than was confirmed:", NULL);
		plan_add(&reasons, more->what, NULL);
		gate_step_add(
			slot, "read", "it would destroy as well: %s %s", more->what, more->id);
	}
	if (event != GATE_EVENT_READY)
		say_reasons(slot, &reasons);
	gate_step_add(slot, "read", "%s",
		event == GATE_EVENT_READY ? "read again, directly before: the same"
		: reasons.n               ? reasons.items[0].what
					  : "it is not as it was");
	plan_list_release(&reasons);
	gate_move(slot, event);
	return GO_ON;
}

/* ---- the audit ---- */

static void fill_entry(const struct gate_slot *slot, struct audit_entry *entry)
{
	*entry = (struct audit_entry){
		.id = slot->id,
		.verb = slot->verb,
		.identity = slot->identity,
		.key = slot->key,
		.has_token = slot->forecast && slot->forecast->has_token,
		.token = slot->forecast ? slot->forecast->token : 0,
		.request = slot->plan.request,
		.reason = slot->order.reason,
		.forecast = slot->forecast,
	};
}

/* Writes the intent; returns 0, or a code with the sentence. */
static int write_intent(struct gate_slot *slot, struct err *err)
{
	struct audit_entry entry;
	uint64_t n = 0;
	int rc;

	fill_entry(slot, &entry);
	rc = audit_intent(
		fleet_audit(slot->gate->fleet), &entry, now_us(slot), &n, &slot->intent_copy, err);
	if (rc)
		return rc;
	pthread_mutex_lock(&slot->gate->mutex);
	slot->n = n;
	pthread_mutex_unlock(&slot->gate->mutex);
	return 0;
}

static int64_t work_intent(struct gate_slot *slot, struct session *s, bool stopping)
{
	struct err err = { 0 };

	(void)s;
	(void)stopping;
	if (write_intent(slot, &err)) {
		gate_say(slot, "the audit can't be written, so nothing was sent: %s", err.text);
		gate_step_add(slot, "record", "%s", err.text);
		gate_move(slot, GATE_EVENT_UNWRITTEN);
		return GO_ON;
	}
	gate_step_add(slot, "record", "intent %llu recorded", (unsigned long long)slot->n);
	gate_move(slot, GATE_EVENT_WRITTEN);
	return GO_ON;
}

/* ---- sending ---- */

static enum gate_event event_of(enum effect_kind kind)
{
	switch (kind) {
	case EFFECT_DONE:
		return GATE_EVENT_ANSWERED;
	case EFFECT_CHANGED:
		return GATE_EVENT_CHANGED;
	case EFFECT_REFUSED:
		return GATE_EVENT_REFUSED;
	case EFFECT_PARTIAL:
		return GATE_EVENT_PARTLY;
	case EFFECT_UNSENT:
		return GATE_EVENT_UNSENT;
	case EFFECT_UNKNOWN:
		break;
	}
	return GATE_EVENT_UNANSWERED;
}

static const char *answer_of(const struct gate_slot *slot, const struct err *err)
{
	static const char *const words[] = {
		[EFFECT_UNSENT] = "it could not be sent",
		[EFFECT_DONE] = "done, says the server",
		[EFFECT_CHANGED] = "the guard failed: the server did nothing",
		[EFFECT_REFUSED] = "the server refused it",
		[EFFECT_PARTIAL] = "the server did a part of it",
		[EFFECT_UNKNOWN] = "it was sent, and no answer came",
	};

	if (slot->effect.answer.len)
		return slot->effect.answer.s;
	return err->code ? err->text : words[slot->effect.kind];
}

static void say_find_out(struct gate_slot *slot, const char *text)
{
	pthread_mutex_lock(&slot->gate->mutex);
	str_clear(&slot->find_out);
	str_add(&slot->find_out, text);
	pthread_mutex_unlock(&slot->gate->mutex);
}

/* Writing the intent may have waited long for the audit's lock: what forbids acting may have come
 * about meanwhile. */
static bool still_allowed(struct gate_slot *slot, struct session *s)
{
	struct plan_list reasons = { .n = 0 };
	bool allowed;

	gate_policy(slot, slot->gate->fleet, s->state_word, slot->gate->options.way, &reasons);
	allowed = !reasons.n;
	if (!allowed) {
		gate_step_add(slot, "send", "nothing was sent: %s", reasons.items[0].what);
		say_reasons(slot, &reasons);
	}
	plan_list_release(&reasons);
	return allowed;
}

static int64_t work_send(struct gate_slot *slot, struct session *s, bool stopping)
{
	struct err err = { 0 };

	(void)stopping; /* recorded is recorded: it is sent, or fails to be, and the outcome says so
			 */
	if (!still_allowed(slot, s)) {
		gate_move(slot, GATE_EVENT_REFUSED);
		return GO_ON;
	}
	gate_step_add(slot, "send", "%s", slot->plan.request ? slot->plan.request : "");
	gate_news(slot->gate);
	effect_release(&slot->effect);
	effect_init(&slot->effect);
	slot->act->send(
		s->state, round_for(slot, s, 0), &slot->order, &slot->plan, &slot->effect, &err);
	gate_step_add(slot, "answer", "%s", answer_of(slot, &err));
	gate_say(slot, "%s", answer_of(slot, &err));
	pthread_mutex_lock(&slot->gate->mutex);
	slot->sent = slot->effect.kind != EFFECT_UNSENT;
	pthread_mutex_unlock(&slot->gate->mutex);
	/* A part of what was done partly may be unknown as well. */
	if (slot->effect.find_out.len)
		say_find_out(slot, slot->effect.find_out.s);
	else if (slot->effect.kind == EFFECT_UNKNOWN)
		say_find_out(slot, "Look at the singleton again: whoever holds it now "
				   "tells whether it was done.");
	slot->settle_until_ms = slot->linger_until_ms = TIME_UNKNOWN;
	gate_move(slot, event_of(slot->effect.kind));
	return GO_ON;
}

/* ---- looking ---- */

static void note_overlap(struct gate_slot *slot, enum overlap overlap)
{
	pthread_mutex_lock(&slot->gate->mutex);
	slot->overlap = overlap;
	pthread_mutex_unlock(&slot->gate->mutex);
}

/* What a look means, the time considered; -1: look again. */
static int sight_event(struct gate_slot *slot, const struct sight *sight, bool read, bool stopping)
{
	int64_t now = now_ms(slot);

	if (read && sight->settled) {
		if (slot->linger_until_ms == TIME_UNKNOWN)
			slot->linger_until_ms = now + LINGER_MS;
		if (sight->overlap != OVERLAP_OPEN || now >= slot->linger_until_ms ||
			now >= slot->settle_until_ms || stopping)
			return GATE_EVENT_SETTLED;
		return -1;
	}
	slot->linger_until_ms = TIME_UNKNOWN;
	if (read && sight->undone)
		return GATE_EVENT_UNDONE;
	if (now < slot->settle_until_ms && !stopping)
		return -1;
	return read && sight->seen ? GATE_EVENT_SETTLED : GATE_EVENT_LIMIT;
}

static void tell_sight(
	struct gate_slot *slot, int event, const struct sight *sight, const struct err *err)
{
	const char *seen = err->code         ? err->text
			   : sight->text.len ? sight->text.s
			   : sight->settled  ? "the whole effect is seen"
					     : "the effect is not seen";

	gate_step_add(slot, "verify", "%s", seen);
	if (event == GATE_EVENT_SETTLED)
		gate_say(slot, "%s", seen);
	else if (event == GATE_EVENT_UNDONE)
		gate_say(slot, "it was sent and answered, and has not the effect: %s", seen);
	else
		gate_say(slot,
			"it was sent and answered, and its effect was not seen within the time: "
			"%s",
			seen);
}

static void begin_verify(struct gate_slot *slot)
{
	int64_t limit = slot->gate->options.settle_ms;

	if (slot->settle_until_ms != TIME_UNKNOWN)
		return;
	slot->settle_until_ms = now_ms(slot) + (limit > 0 ? limit : SETTLE_MS);
	pthread_mutex_lock(&slot->gate->mutex);
	slot->shown_until_ms = slot->settle_until_ms;
	pthread_mutex_unlock(&slot->gate->mutex);
}

/* One look, within what is left of the time; whether it could be read. */
static bool look_once(
	struct gate_slot *slot, struct session *s, struct sight *sight, struct err *err)
{
	int64_t left = slot->settle_until_ms - now_ms(slot);
	int rc;

	/* There it would not be, whatever became of it. */
	if (!is_same_server(slot, s)) {
		err_set(err, ERR_NOTFOUND,
			"another server answers now under the name of source %s: what was done "
			"can't be seen on it",
			s->config->name);
		return false;
	}
	rc = slot->act->look(s->state,
		round_for(slot, s, left > LOOK_LEAST_MS ? left : LOOK_LEAST_MS), &slot->order,
		&slot->plan, sight, err);

	if (rc < 0 && !err->code)
		err_set(err, rc, "it could not be looked at");
	if (rc >= 0)
		note_overlap(slot, sight->overlap);
	return rc >= 0;
}

static int64_t work_verify(struct gate_slot *slot, struct session *s, bool stopping)
{
	struct err err = { 0 };
	struct sight sight;
	bool read;
	int event;

	begin_verify(slot);
	sight_init(&sight);
	read = look_once(slot, s, &sight, &err);
	event = sight_event(slot, &sight, read, stopping);
	if (event >= 0) {
		if (event == GATE_EVENT_LIMIT)
			say_find_out(slot, "Look at the singleton again: the request itself was "
					   "answered.");
		tell_sight(slot, event, &sight, &err);
		gate_move(slot, (enum gate_event)event);
	}
	sight_release(&sight);
	return event >= 0 ? GO_ON : now_ms(slot) + LOOK_EVERY_MS;
}

/* Nobody answered. What is so now may tell, or may have come about by itself: the outcome stays
 * unknown. */
static int64_t work_seek(struct gate_slot *slot, struct session *s, bool stopping)
{
	struct err err = { 0 };
	struct sight sight;

	(void)stopping;
	begin_verify(slot);
	sight_init(&sight);
	if (look_once(slot, s, &sight, &err) && sight.text.len)
		gate_step_add(slot, "verify", "seen now: %s", sight.text.s);
	else if (err.code)
		gate_step_add(slot, "verify", "%s", err.text);
	sight_release(&sight);
	gate_move(slot, GATE_EVENT_LOOKED);
	return GO_ON;
}

/* ---- the end ---- */

static void await_copy(struct gate_slot *slot, struct audit_copy *copy)
{
	struct err err = { 0 };

	if (audit_copy_wait(copy, &err))
		gate_step_add(slot, "record", "%s", err.text);
}

/* The word of the record: that it was left before anything was sent is a refusal there. */
static const char *recorded_word(enum gate_outcome outcome)
{
	return gate_outcome_word(outcome == GATE_CANCELLED ? GATE_REFUSED : outcome);
}

static int write_outcome(struct gate_slot *slot, struct err *err)
{
	struct audit_copy copy = { .pid = 0 };
	struct audit_entry entry;
	int rc = slot->n ? 0 : write_intent(slot, err);

	if (rc)
		return rc;
	fill_entry(slot, &entry);
	entry.outcome = recorded_word(slot->outcome);
	entry.answer = slot->text.s;
	entry.overlap = overlap_word(slot->overlap);
	rc = audit_outcome(
		fleet_audit(slot->gate->fleet), &entry, now_us(slot), slot->n, &copy, err);
	await_copy(slot, &slot->intent_copy);
	await_copy(slot, &copy);
	return rc;
}

/* What comes after this picture shows the effect. */
static void note_picture(struct gate_slot *slot, struct session *s)
{
	s->repoll = true;
	pthread_mutex_lock(&slot->gate->mutex);
	slot->over_ms = now_ms(slot);
	slot->over_seq = s->last ? s->last->seq : 0;
	pthread_mutex_unlock(&slot->gate->mutex);
}

static int64_t work_note(struct gate_slot *slot, struct session *s, bool stopping)
{
	struct err err = { 0 };

	(void)stopping;
	if (s && slot->sent)
		note_picture(slot, s);
	if (!slot->confirmed) {
		gate_move(slot, GATE_EVENT_WRITTEN);
	} else if (write_outcome(slot, &err)) {
		gate_step_add(slot, "record", "the outcome could not be recorded: %s", err.text);
		gate_move(slot, GATE_EVENT_UNWRITTEN);
	} else {
		gate_step_add(slot, "record", "outcome %s recorded", recorded_word(slot->outcome));
		gate_move(slot, GATE_EVENT_WRITTEN);
	}
	return GO_ON;
}

/* ---- the way through ---- */

static int64_t (*const works[GATE_STATE_COUNT])(
	struct gate_slot *slot, struct session *s, bool stopping) = {
	[GATE_STATE_READ] = work_read,
	[GATE_STATE_CHECK] = work_check,
	[GATE_STATE_INTENT] = work_intent,
	[GATE_STATE_SEND] = work_send,
	[GATE_STATE_VERIFY] = work_verify,
	[GATE_STATE_SEEK] = work_seek,
	[GATE_STATE_NOTE] = work_note,
	/* ASK and OVER need no thread. */
};

int64_t gate_work(struct session_task *task, struct session *session, bool stopping)
{
	struct gate_slot *slot = (struct gate_slot *)(void *)task;
	struct gate *gate = slot->gate;
	bool acting;

	while (works[slot->state]) {
		int64_t due = works[slot->state](slot, session, stopping);

		gate_news(gate);
		if (due != GO_ON)
			return due;
	}
	acting = slot->acting; /* of one that was agreed to arriving makes it true */
	gate_arrived(slot);
	if (acting)
		fleet_act_ends(gate->fleet);
	gate_news(gate);
	gate_unref(gate);
	return INT64_MAX;
}
