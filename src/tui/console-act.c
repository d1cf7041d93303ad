#include "config.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/vclock.h"
#include "control/fleet.h"
#include "control/gate.h"
#include "tui/console-state.h"
#include "tui/format.h"
#include "tui/story.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	ARM_MINUTES = 5,
	ARM_MOST = 60,
	TEXT_MAX = 600,
	ASKED_MOST = 8, /* claims of one row, of which the menu asks whether a verb can be begun */
};

static const char pick_hint[] = "Enter chooses, f only forecasts, Esc leaves everything as it is";
static const char pick_hint_open[] = "Enter opens it, Esc stays here";
static const char pick_hint_witness[] = "Enter chooses, Esc leaves everything as it is";
static const char pick_hint_hindered[] = "not now: its line says why; f only forecasts, Esc leaves";

/* ---- what it is about ---- */

static void act_forget_wants(struct console_act *act)
{
	while (act->n_wants) {
		free(act->wants[--act->n_wants].id);
		free(act->wants[act->n_wants].key);
	}
}

static void act_want(
	struct console_act *act, const char *id, size_t id_len, const char *key, size_t key_len)
{
	if (act->n_wants == ACT_SET_MAX)
		return;
	act->wants[act->n_wants++] = (struct act_want){
		.id = xstrndup(id, id_len),
		.key = key ? xstrndup(key, key_len) : NULL,
	};
}

/* Returns how many there were, also beyond what one set takes. */
static size_t act_read_ids(struct console_act *act, const char *ids)
{
	size_t n = 0;

	for (; *ids; n++) {
		size_t len = strcspn(ids, "\n"), id_len = strcspn(ids, "\t\n");

		act_want(act, ids, id_len, id_len < len ? ids + id_len + 1 : NULL,
			id_len < len ? len - id_len - 1 : 0);
		ids += len;
		ids += *ids == '\n';
	}
	return n;
}

static const struct role_view *act_role(const struct console_act *act, const char *id)
{
	size_t i;

	for (i = 0; i < act->board->n_roles; i++)
		if (strcmp(act->board->roles[i].self->s->id, id) == 0)
			return &act->board->roles[i];
	return NULL;
}

/* ---- the lists ---- */

static void act_pick(struct console *k, enum act_stage stage, const char *title)
{
	k->act.stage = stage;
	pick_begin(&k->act.pick, title,
		stage == ACT_OPEN      ? pick_hint_open
		: stage == ACT_WITNESS ? pick_hint_witness
				       : pick_hint);
	k->mode = MODE_PICK;
	k->dirty = true;
}

/* Each with what it shows, or why it shows nothing. */
static void act_pick_witness(struct console *k, const struct role_view *role, enum act_stage stage)
{
	size_t i;

	act_pick(k, stage, " which of its witnesses? ");
	for (i = 0; i < role->role->n_witnesses; i++) {
		const struct row *row = role->witnesses[i];
		const struct snapshot *snap = role->sources[i];
		char text[TEXT_MAX], holder[TEXT_MAX / 2];

		if (row) {
			format_holder(holder, sizeof(holder), row);
			snprintf(text, sizeof(text), "%s  %s",
				state_word(board_state(snap, row))->word, holder);
		} else {
			snprintf(text, sizeof(text), "%s",
				story_missing(role_witness_sight(role, i), snap));
		}
		pick_add(&k->act.pick, role->role->witnesses[i], text, !row && stage == ACT_WITNESS,
			(int)i);
	}
}

/*
 * Of which claim of a row it is asked is chosen later: a verb about one can be begun when it can be
 * on any of them. One pass over the rows for each claim, however many verbs.
 */
static void act_hinders_any(
	struct console *k, const struct row *row, enum gate_way way, char *why[VERB_COUNT])
{
	uint32_t i, asked = 0;
	int verb;

	for (i = 0; i < row->s->n_claims && asked < ASKED_MOST; i++) {
		const struct claim *c = &row->s->claims[i];
		struct gate_want want = { .id = row->s->id, .key = claim_key(c) };
		char *own[VERB_COUNT];

		if (c->kind != CLAIM_HOLDER && c->kind != CLAIM_WAITER)
			continue;
		asked++;
		gate_hinders(k->fleet, k->act.board, &want, 1, way, own);
		for (verb = 0; verb < VERB_COUNT; verb++) {
			if (why[verb] && verb_word((enum verb)verb)->about != ABOUT_ROW) {
				free(why[verb]);
				why[verb] = own[verb];
			} else {
				free(own[verb]);
			}
		}
	}
}

/* Why each verb can't be begun on the rows that are wanted: the first reason; NULL. The caller
 * frees them. */
static void act_hinders(struct console *k, enum gate_way way, char *why[VERB_COUNT])
{
	struct gate_want wants[ACT_SET_MAX];
	const struct row *row;
	size_t i;

	for (i = 0; i < k->act.n_wants; i++)
		wants[i] =
			(struct gate_want){ .id = k->act.wants[i].id, .key = k->act.wants[i].key };
	gate_hinders(k->fleet, k->act.board, wants, k->act.n_wants, way, why);
	row = k->act.n_wants == 1 && !wants[0].key ? board_find(k->act.board, wants[0].id, NULL)
						   : NULL;
	if (row)
		act_hinders_any(k, row, way, why);
}

/* What a row of its kind can never have is listed, with the reason; what exists in the built-in
 * fleet only is listed where it can be done. */
static bool act_offers(const struct console *k, enum verb verb)
{
	return verb_word(verb)->where == WHERE_ANYWHERE ||
	       gate_knows(k->fleet, k->act.board, k->act.wants[0].id, verb);
}

/*
 * What stands against each verb, and what would if the console were armed: where that alone does,
 * the row still says what the verb is for. Those that the row's kind has stand before those that it
 * never can have.
 */
static void act_add_verbs(struct console *k, char *const hinders[VERB_COUNT],
	char *const armed[VERB_COUNT], bool known)
{
	int verb;

	for (verb = 0; verb < VERB_COUNT; verb++) {
		const struct verb_word *word = verb_word((enum verb)verb);
		const char *why = hinders[verb];
		char text[TEXT_MAX];

		if (!act_offers(k, (enum verb)verb) ||
			gate_knows(k->fleet, k->act.board, k->act.wants[0].id, (enum verb)verb) !=
				known)
			continue;
		snprintf(text, sizeof(text), "%s%s", why && !armed[verb] ? "(:arm first) " : "",
			why && armed[verb] ? why : word->help);
		pick_add(&k->act.pick, word->word, text, why != NULL, verb);
	}
}

static void act_pick_verb(struct console *k)
{
	char title[TEXT_MAX], *hinders[VERB_COUNT], *armed[VERB_COUNT];
	int verb;

	act_hinders(k, GATE_WAY_CONSOLE, hinders);
	act_hinders(k, GATE_WAY_COMMAND, armed);
	if (k->act.n_wants == 1)
		snprintf(title, sizeof(title), " %s ", k->act.wants[0].id);
	else
		snprintf(title, sizeof(title), " %zu marked rows, one by one ", k->act.n_wants);
	act_pick(k, ACT_VERB, title);
	act_add_verbs(k, hinders, armed, true);
	act_add_verbs(k, hinders, armed, false);
	pick_sort(&k->act.pick);
	for (verb = 0; verb < VERB_COUNT; verb++) {
		free(hinders[verb]);
		free(armed[verb]);
	}
}

/* Those that a verb may be about, with their keys: the claims of a row. */
static void act_pick_target(struct console *k, const struct row *row)
{
	const struct singleton *s = row->s;
	char title[TEXT_MAX], text[TEXT_MAX];
	uint32_t i;

	snprintf(title, sizeof(title), " %s %s: which one? ", verb_word(k->act.verb)->word, s->id);
	act_pick(k, ACT_TARGET, title);
	for (i = 0; i < s->n_claims; i++) {
		const struct claim *c = &s->claims[i];

		if (c->kind != CLAIM_HOLDER && c->kind != CLAIM_WAITER)
			continue;
		snprintf(text, sizeof(text), "%s  %s",
			c->kind == CLAIM_HOLDER ? "holds it" : "waits", claim_key(c));
		pick_add(&k->act.pick, claim_identity(c), text, false, (int)i);
	}
}

/* ---- the gate ---- */

static void act_look(struct console *k)
{
	gate_view_free(k->act.view);
	k->act.view = gate_look(k->act.gate);
	k->dirty = true;
}

static void act_begin(struct console *k)
{
	struct gate_options options = { .way = GATE_WAY_CONSOLE,
		.forecast_only = k->act.forecast_only };
	struct gate_want wants[ACT_SET_MAX];
	size_t i;

	for (i = 0; i < k->act.n_wants; i++)
		wants[i] = (struct gate_want){
			.verb = k->act.verb,
			.id = k->act.wants[i].id,
			.key = k->act.wants[i].key,
		};
	pick_release(&k->act.pick);
	gate_dialog_init(&k->act.dialog);
	k->act.gate = gate_begin(k->fleet, k->act.board, wants, k->act.n_wants, &options);
	k->act.leave_again = false;
	k->mode = MODE_GATE;
	act_look(k);
}

/* The verb is known: of whom, where that is not plain. */
static void act_target(struct console *k)
{
	const struct row *row = board_find(k->act.board, k->act.wants[0].id, NULL);
	uint32_t holders, waiters;

	if (verb_word(k->act.verb)->about == ABOUT_ROW || k->act.n_wants > 1 ||
		k->act.wants[0].key || !row) {
		act_begin(k);
		return;
	}
	holders = singleton_count(row->s, CLAIM_HOLDER);
	waiters = singleton_count(row->s, CLAIM_WAITER);
	if (holders + waiters > 1 && !(holders == 1 && k->act.verb == VERB_STEP_DOWN)) {
		act_pick_target(k, row);
		return;
	}
	if (holders + waiters == 1)
		k->act.wants[0].key = xstrdup(claim_key(&row->s->claims[0]));
	act_begin(k);
}

static void act_open(struct console *k, const char *witness)
{
	char *id = xstrdup(witness);

	console_act_end(k, NULL);
	console_go(k, view_find("one"), id);
	free(id);
}

static void act_chosen(struct console *k, bool forecast_only)
{
	const struct pick_item *item = pick_at(&k->act.pick);
	const struct role_view *role;
	const struct row *row;

	if (!item)
		return;
	/* What is hindered can be forecast all the same: that sends nothing. */
	if (item->hindered && !(forecast_only && k->act.stage == ACT_VERB)) {
		if (k->act.stage == ACT_VERB)
			k->act.pick.hint = pick_hint_hindered;
		return;
	}
	switch (k->act.stage) {
	case ACT_OPEN:
		act_open(k, act_role(&k->act, k->act.wants[0].id)->role->witnesses[item->value]);
		break;
	case ACT_WITNESS:
		role = act_role(&k->act, k->act.wants[0].id);
		free(k->act.wants[0].id);
		k->act.wants[0].id = xstrdup(role->role->witnesses[item->value]);
		act_pick_verb(k);
		break;
	case ACT_VERB:
		k->act.verb = (enum verb)item->value;
		k->act.forecast_only = forecast_only;
		act_target(k);
		break;
	case ACT_TARGET:
		row = board_find(k->act.board, k->act.wants[0].id, NULL);
		k->act.wants[0].key = xstrdup(claim_key(&row->s->claims[item->value]));
		k->act.forecast_only = k->act.forecast_only || forecast_only;
		act_begin(k);
		break;
	}
}

/* ---- what the console calls ---- */

void console_act_menu(struct console *k, const char *ids)
{
	const struct role_view *role;
	size_t n;

	if (!k->board) {
		console_say(k, false, "there is no picture yet: nothing to act on");
		return;
	}
	k->act.board = board_ref(k->board);
	n = act_read_ids(&k->act, ids);
	if (!n || n > ACT_SET_MAX) {
		console_act_end(k, NULL);
		console_say(k, n > 0,
			n ? "too many rows for one set: mark at most 50" : "no row to act on");
		return;
	}
	role = k->act.n_wants == 1 ? act_role(&k->act, k->act.wants[0].id) : NULL;
	if (role)
		act_pick_witness(k, role, ACT_WITNESS);
	else
		act_pick_verb(k);
}

void console_act_open(struct console *k, const char *role_id)
{
	const struct role_view *role;

	if (!k->board)
		return;
	k->act.board = board_ref(k->board);
	act_want(&k->act, role_id, strlen(role_id), NULL, 0);
	role = act_role(&k->act, role_id);
	if (role && role->role->n_witnesses == 1)
		act_open(k, role->role->witnesses[0]);
	else if (role && role->role->n_witnesses)
		act_pick_witness(k, role, ACT_OPEN);
	else
		console_act_end(k, "it has no witnesses to open");
}

static void act_confirm(struct console *k)
{
	struct err err = { 0 };

	if (gate_confirm(k->act.gate, gate_dialog_typed(&k->act.dialog, k->act.view),
		    k->act.dialog.reason.text, &err) < 0)
		gate_dialog_say(&k->act.dialog, err.text);
	act_look(k);
}

static void act_leave(struct console *k)
{
	char text[TEXT_MAX];

	if (k->act.view->phase == GATE_PHASE_ACTING && !k->act.leave_again) {
		k->act.leave_again = true;
		gate_dialog_say(&k->act.dialog, "it was confirmed and goes on: Esc again closes "
						"the window, 5 shows how it ends");
		return;
	}
	if (k->act.view->phase == GATE_PHASE_OVER && !k->act.forecast_only) {
		snprintf(text, sizeof(text), "%s: %s", gate_outcome_word(k->act.view->outcome),
			k->act.view->text);
		console_act_end(k, text);
	} else if (k->act.view->phase == GATE_PHASE_ACTING) {
		console_act_end(k, "it goes on; 5 shows how it ends");
	} else {
		console_act_end(k, k->act.forecast_only ? NULL : "nothing was sent");
	}
}

void console_act_key(struct console *k, uint32_t key)
{
	k->dirty = true;
	if (k->mode == MODE_PICK) {
		if (key == INPUT_ESC || key == 'q')
			console_act_end(k, NULL);
		else if (key == INPUT_ENTER || key == 'f')
			act_chosen(k, key == 'f');
		else if (pick_key(&k->act.pick, key) && k->act.stage == ACT_VERB)
			k->act.pick.hint = pick_hint;
		return;
	}
	switch (gate_dialog_key(&k->act.dialog, k->act.view, key)) {
	case GATE_CONFIRM:
		act_confirm(k);
		break;
	case GATE_LEAVE:
		act_leave(k);
		break;
	default:
		break;
	}
}

void console_act_paste(struct console *k, uint32_t cp)
{
	k->dirty = true;
	if (k->mode == MODE_GATE)
		gate_dialog_paste(&k->act.dialog, k->act.view, cp);
}

void console_act_news(struct console *k)
{
	if (k->act.gate)
		act_look(k);
}

void console_act_draw(struct console *k)
{
	const struct view_ops *ops = console_view(k)->ops;
	int keep_y = ops->cursor_y ? ops->cursor_y(console_view_state(k)) : -1;

	k->act.dialog.stands = k->options->time && vclock_paused(k->options->time->clock);
	if (k->mode == MODE_PICK)
		pick_draw(&k->act.pick, &k->canvas, keep_y);
	else
		gate_dialog_draw(&k->act.dialog, k->act.view,
			k->model.now_us + k->model.paused_ms * 1000, &k->canvas, keep_y);
	/* The time that is left until the limit, and ages, go on. */
	if (k->mode == MODE_GATE)
		canvas_until(&k->canvas, k->model.now_ms + 1000);
}

void console_act_end(struct console *k, const char *why)
{
	struct console_act *act = &k->act;

	if (act->gate) {
		gate_cancel(act->gate);
		gate_close(act->gate);
		gate_dialog_release(&act->dialog);
	}
	gate_view_free(act->view);
	pick_release(&act->pick);
	act_forget_wants(act);
	board_unref(act->board);
	*act = (struct console_act){ 0 };
	if (k->mode == MODE_PICK || k->mode == MODE_GATE)
		k->mode = MODE_VIEW;
	if (why)
		console_say(k, false, "%s", why);
	k->dirty = true;
}

/* ---- arming ---- */

void console_arm(struct console *k, const char *argument)
{
	struct err err = { 0 };
	char *end;
	long minutes = strtol(argument, &end, 10);
	const char *source = end + strspn(end, " ");

	if (end == argument)
		minutes = ARM_MINUTES;
	if (minutes < 1 || minutes > ARM_MOST || (end != argument && *end && *end != ' ')) {
		console_say(k, true,
			":arm takes minutes, 1 to %d, and perhaps a source: :arm 5 ctl", ARM_MOST);
		return;
	}
	if (gate_arm(k->fleet, *source ? source : NULL, minutes * INT64_C(60000), &err) < 0)
		console_say(k, true, "%s", err.text);
	else
		console_say(k, false, "armed for %ldm%s%s; :disarm ends it", minutes,
			*source ? ": " : ", all sources", source);
}

void console_disarm(struct console *k, const char *argument)
{
	gate_disarm(k->fleet, *argument ? argument : NULL);
	console_say(k, false, "read only again%s%s", *argument ? ": " : "", argument);
}
