#include "config.h"

#include "control/gate-run.h"
#include "base/clock.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What whoever shows an act is given: a copy. */

enum {
	SUMMARY_MOST = 16 * 1024
};

/* The texts of a view, which it owns; freed with it. */
static void free_text(const char *text)
{
	free((void *)(uintptr_t)text);
}

static char *copied(const char *text)
{
	return text ? xstrdup(text) : NULL;
}

static void view_item(const struct gate_slot *slot, struct gate_item *item)
{
	*item = (struct gate_item){
		.forecast = forecast_ref(slot->forecast),
		.outcome = slot->state == GATE_STATE_OVER ? slot->outcome : GATE_NONE,
		.text = xstrdup(slot->text.s),
		.find_out = slot->find_out.len ? xstrdup(slot->find_out.s) : NULL,
		.overlap = slot->overlap,
		.sent = slot->sent,
		.absent = slot->absent,
		.id = xstrdup(slot->id),
		.key = copied(slot->key),
		.identity = copied(slot->identity),
		.verb = slot->verb,
		.n = slot->n,
		.over_ms = slot->over_ms,
		.over_seq = slot->over_seq,
	};
}

bool gate_item_precedes(const struct gate_item *item, const struct snapshot *snap)
{
	if (!item->sent)
		return true;
	return snap->seq > item->over_seq && snap->picture_ms >= item->over_ms && !snap->behind;
}

/* Of a set: how far it came, and what stopped it. */
static void summarise(const struct gate *gate, struct str *out)
{
	const struct gate_slot *stopped = NULL;
	size_t done = 0, i;

	if (gate->n == 1) {
		str_add(out, gate->slots[0].text.s);
		return;
	}
	for (i = 0; i < gate->n; i++) {
		const struct gate_slot *slot = &gate->slots[i];

		done += slot->outcome == GATE_DONE;
		if (!stopped && slot->outcome != GATE_DONE && slot->outcome != GATE_CANCELLED)
			stopped = slot;
	}
	str_addf(out, "%zu of %zu done", done, gate->n);
	if (stopped)
		str_addf(out, "; stopped at %s (%s): %s", stopped->id,
			gate_outcome_word(stopped->outcome), stopped->text.s);
}

static int64_t settle_left(const struct gate *gate)
{
	size_t i;

	for (i = 0; i < gate->n; i++) {
		const struct gate_slot *slot = &gate->slots[i];
		int64_t left;

		if (slot->state != GATE_STATE_VERIFY || slot->shown_until_ms == TIME_UNKNOWN)
			continue;
		left = slot->shown_until_ms - clock_mono_ms(slot->session->shared->clock);
		return left > 0 ? left : 0;
	}
	return TIME_UNKNOWN;
}

static void view_lists(const struct gate *gate, struct gate_view *view)
{
	struct gate_item *items = xcalloc(gate->n, sizeof(*items));
	struct gate_step *steps = xcalloc(gate->n_steps ? gate->n_steps : 1, sizeof(*steps));
	size_t i;

	for (i = 0; i < gate->n; i++)
		view_item(&gate->slots[i], &items[i]);
	for (i = 0; i < gate->n_steps; i++) {
		steps[i] = gate->steps[i];
		steps[i].text = xstrdup(gate->steps[i].text);
	}
	view->items = items;
	view->n_items = gate->n;
	view->steps = steps;
	view->n_steps = gate->n_steps;
}

struct gate_view *gate_look(struct gate *gate)
{
	struct gate_view *view = xcalloc(1, sizeof(*view));
	struct str text;

	str_init(&text, SUMMARY_MOST);
	pthread_mutex_lock(&gate->mutex);
	view->phase = gate->phase;
	view->outcome = gate->phase == GATE_PHASE_OVER ? gate->outcome : GATE_NONE;
	view->ask = gate->ask;
	view->to_type = xstrdup(gate->to_type);
	view->or_type = copied(gate->or_type);
	view->prod = gate->prod;
	view->forecast_only = gate->options.forecast_only;
	view->needs_reason = gate->prod || gate->options.way == GATE_WAY_COMMAND;
	view->settle_left_ms = settle_left(gate);
	summarise(gate, &text);
	view_lists(gate, view);
	pthread_mutex_unlock(&gate->mutex);
	view->text = str_take(&text);
	return view;
}

void gate_view_free(struct gate_view *view)
{
	size_t i;

	if (!view)
		return;
	for (i = 0; i < view->n_items; i++) {
		forecast_unref(view->items[i].forecast);
		free_text(view->items[i].text);
		free_text(view->items[i].find_out);
		free_text(view->items[i].id);
		free_text(view->items[i].key);
		free_text(view->items[i].identity);
	}
	for (i = 0; i < view->n_steps; i++)
		free_text(view->steps[i].text);
	free((void *)(uintptr_t)view->items);
	free((void *)(uintptr_t)view->steps);
	free_text(view->text);
	free_text(view->to_type);
	free_text(view->or_type);
	free(view);
}
