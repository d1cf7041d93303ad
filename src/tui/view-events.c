#include "config.h"

#include "tui/view.h"
#include "base/mem.h"
#include "tui/cursor.h"
#include "tui/format.h"
#include "tui/input.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What happened, a line each, the newest last: hand-overs, findings that came and went, trouble
 * with sources, and what servers tell of themselves. */
struct events_view {
	uint64_t seq; /* of the event under the cursor: it is followed, whatever comes or falls out
		       */
	size_t at, top;
	bool follow; /* the cursor stays on the newest */
	int page, list_y;
	char *filter;   /* words; "" for none */
	size_t *places; /* in the journal, of what the filter matches, as it happened */
	size_t n_places, cap_places;
	uint64_t filtered_seq; /* of the journal when they were found, and how many it had */
	size_t filtered_n;
};

enum {
	TIME_W = 9,
	WHAT_W = 9,       /* "hand-over" */
	WHAT_WIDE_W = 16, /* "SuccessfulCreate": Kubernetes' own reasons are longer */
	WIDE = 100
};

static int what_width(struct area a)
{
	return a.w >= WIDE ? WHAT_WIDE_W : WHAT_W;
}

static void *events_open(void)
{
	struct events_view *v = xcalloc(1, sizeof(*v));

	v->follow = true;
	v->page = 1;
	v->filter = xstrdup("");
	return v;
}

static void events_close(void *state)
{
	struct events_view *v = state;

	free(v->filter);
	free(v->places);
	free(v);
}

static size_t events_count(const struct events_view *v, const struct model *m)
{
	return m->journal ? v->n_places : 0;
}

static const struct event *events_at(const struct events_view *v, const struct model *m, size_t i)
{
	return journal_at(m->journal, v->places[i]);
}

static bool has_word(const char *text, const char *word)
{
	return text && strcasestr(text, word);
}

/* Every word must stand somewhere in it; one with a "!" before it must not. */
static bool event_matches(const struct event *e, const char *filter)
{
	char word[128];

	while (*filter) {
		size_t len = strcspn(filter, " ");
		bool inverse = *filter == '!';

		snprintf(word, sizeof(word), "%.*s", (int)len - inverse, filter + inverse);
		filter += len;
		filter += strspn(filter, " ");
		if (*word && (has_word(e->id ? e->id : e->source, word) ||
				     has_word(e->what, word) || has_word(e->text, word)) == inverse)
			return false;
	}
	return true;
}

/* Finds what the filter matches, when the journal or the filter is another. */
static void events_refilter(struct events_view *v, const struct model *m)
{
	size_t i, n = m->journal ? m->journal->n : 0, found = 0;
	const struct event **events;

	if (m->journal && v->filtered_seq == m->journal->seq && v->filtered_n == n)
		return;
	events = xcalloc(n, sizeof(*events));
	for (i = 0; i < n; i++)
		if (event_matches(journal_at(m->journal, i), v->filter))
			events[found++] = journal_at(m->journal, i);
	events_order(events, found);
	v->n_places = 0;
	for (i = 0; i < found; i++) {
		MEM_GROW(v->places, v->n_places, v->cap_places);
		v->places[v->n_places++] = events[i]->seq - journal_at(m->journal, 0)->seq;
	}
	free(events);
	v->filtered_n = n;
	v->filtered_seq = m->journal ? m->journal->seq : 0;
}

/* The place of the followed event; where it fell out, of the one that came after it. */
static size_t events_find(const struct events_view *v, const struct model *m)
{
	size_t i, n = events_count(v, m), found = n;
	uint64_t seq, least = UINT64_MAX;

	for (i = 0; i < n && least > v->seq; i++) {
		seq = events_at(v, m, i)->seq;
		if (seq < v->seq || seq >= least)
			continue;
		least = seq;
		found = i;
	}
	return found;
}

static void events_sync(void *state, const struct model *m)
{
	struct events_view *v = state;
	size_t n;

	events_refilter(v, m);
	n = events_count(v, m);
	if (!n) {
		v->at = 0;
		return;
	}
	v->at = v->follow ? n - 1 : events_find(v, m);
	if (v->at >= n)
		v->at = n - 1;
	v->seq = events_at(v, m, v->at)->seq;
}

static void events_filter(void *state, const struct model *m, const char *text)
{
	struct events_view *v = state;

	free(v->filter);
	v->filter = xstrdup(text + strspn(text, " "));
	v->filtered_seq = UINT64_MAX;
	events_sync(v, m);
}

static const char *events_filtered(const void *state)
{
	return ((const struct events_view *)state)->filter;
}

static enum style event_style(const char *what)
{
	static const struct {
		const char *what;
		enum style style;
	} map[] = { { "took", STYLE_STATE_HELD }, { "began", STYLE_STATE_HELD },
		{ "ended", STYLE_STATE_FREE }, { "hand-over", STYLE_STATE_CONTENDED },
		{ "released", STYLE_STATE_FREE }, { "finding", STYLE_FINDING_WARN },
		{ "cleared", STYLE_STATE_HELD }, { "source", STYLE_STATE_SOURCE },
		{ "gap", STYLE_STATE_UNKNOWN } };
	size_t i;

	for (i = 0; i < ARRAY_LEN(map); i++)
		if (strcmp(map[i].what, what) == 0)
			return map[i].style;
	return STYLE_TEXT;
}

static void draw_event(
	const struct model *m, struct canvas *c, struct area a, int y, const struct event *e)
{
	int where_w = a.w >= WIDE ? a.w / 3 : a.w / 4 + 4, x = 1;
	char at[CLOCK_TEXT_MAX];

	format_event_time(at, m, e);
	canvas_fit(c, a, y, x, TIME_W, STYLE_DIM, FIT_LEFT, at);
	x += TIME_W + 1;
	canvas_fit(c, a, y, x, what_width(a), event_style(e->what), FIT_LEFT, e->what);
	x += what_width(a) + 1;
	canvas_fit(c, a, y, x, where_w, STYLE_STRONG, FIT_MIDDLE, e->id ? e->id : e->source);
	x += where_w + 1;
	if (e->remembered)
		x += canvas_put(c, a, y, x, STYLE_DIM, "remembered: ");
	canvas_fit(c, a, y, x, a.w - x - 1, STYLE_TEXT, FIT_LEFT, e->text);
}

/* Why there is nothing to see: that nothing happened is said once it is known. */
static void draw_nothing(
	const struct events_view *v, const struct model *m, struct canvas *c, struct area a)
{
	size_t i, waiting = 0, n = m->board ? m->board->n_snapshots : 0;
	char text[256];

	for (i = 0; i < n; i++)
		waiting += m->board->snapshots[i]->state == SOURCE_CONNECTING;
	if (*v->filter && m->journal && m->journal->n)
		snprintf(text, sizeof(text), "None of %zu events matches the filter. Esc ends it.",
			m->journal->n);
	else if (!m->board || waiting)
		snprintf(text, sizeof(text),
			"Reading: %zu of %zu sources did not answer yet. What is known of the past "
			"comes with their first answer.",
			waiting, n);
	else
		snprintf(text, sizeof(text), "%s",
			"Nothing happened since this console started: no hand-over, no finding "
			"came or went, no source failed.");
	canvas_wrap(c, a, 0, 0, 0, STYLE_TEXT, text);
}

static void events_draw(void *state, const struct model *m, struct canvas *c, struct area a)
{
	struct events_view *v = state;
	int foot = a.h > 12 ? 4 : 0, y;
	size_t n, i;
	struct area list = area_sub(a, 1, 0, a.h - 1 - foot, a.w);

	/* In the past nobody tells that events fall out. */
	events_sync(v, m);
	n = events_count(v, m);
	v->page = list.h > 0 ? list.h : 1;
	v->list_y = list.y;
	canvas_put(c, a, 0, 1, STYLE_TABLE_HEAD, "TIME (UTC)");
	canvas_put(c, a, 0, 2 + TIME_W + 1, STYLE_TABLE_HEAD, "WHAT");
	canvas_put(c, a, 0, 3 + TIME_W + what_width(a), STYLE_TABLE_HEAD, "WHERE");
	if (!n) {
		draw_nothing(v, m, c, area_sub(list, 1, 1, list.h - 1, list.w - 2));
		return;
	}
	v->top = cursor_top(v->top, v->at, n, v->page);
	for (i = v->top, y = 0; i < n && y < list.h; i++, y++) {
		draw_event(m, c, list, y, events_at(v, m, i));
		if (i != v->at)
			continue;
		canvas_over(c, list, y, 0, list.w, STYLE_CURSOR);
		canvas_glyph(c, list, y, 0, STYLE_TEXT, GLYPH_CURSOR_LEFT);
	}
	if (foot) {
		const struct event *e = events_at(v, m, v->at < n ? v->at : n - 1);
		struct area below = area_sub(a, a.h - foot + 1, 1, foot - 1, a.w - 2);

		canvas_fill(c, a, a.h - foot, 0, a.w, STYLE_FRAME, GLYPH_HLINE);
		y = canvas_wrap(c, below, 0, 0, 0, STYLE_STRONG, e->id ? e->id : e->source);
		if (e->remembered)
			canvas_put(c, below, y++, 0, STYLE_DIM,
				"from the memory: seen before this console was started");
		canvas_wrap(c, below, y, 0, 0, STYLE_TEXT, e->text);
	}
}

static bool events_move(struct events_view *v, size_t n, enum action action)
{
	if (!cursor_move(&v->at, n, v->page, action))
		return false;
	v->follow = action == ACTION_BOTTOM;
	return true;
}

static bool events_act(
	void *state, const struct model *m, enum action action, struct view_reply *reply)
{
	struct events_view *v = state;
	size_t n = events_count(v, m);
	const struct event *e;

	if (events_move(v, n, action)) {
		if (n)
			v->seq = events_at(v, m, v->at)->seq;
		return true;
	}
	if (action == ACTION_FOLLOW) {
		v->follow = !v->follow;
		view_reply_set(reply, REPLY_SAY, "%s",
			v->follow ? "following the newest" : "not following");
		events_sync(v, m);
		return true;
	}
	if (action != ACTION_OPEN && action != ACTION_COPY)
		return false;
	e = v->at < n ? events_at(v, m, v->at) : NULL;
	if (!e)
		return true;
	if (action == ACTION_COPY)
		view_reply_set(reply, REPLY_COPY, "%s", e->id ? e->id : e->source);
	else if (e->id)
		view_reply_set(reply, REPLY_OPEN, "%s", e->id);
	else
		view_reply_set(reply, REPLY_VIEW, "sources");
	return true;
}

static void events_mouse(void *state, const struct model *m, const struct input_event *event,
	bool again, struct view_reply *reply)
{
	struct events_view *v = state;
	size_t n = events_count(v, m), row;

	if (event->button == BUTTON_WHEEL_UP || event->button == BUTTON_WHEEL_DOWN) {
		events_act(v, m, event->button == BUTTON_WHEEL_UP ? ACTION_UP : ACTION_DOWN, reply);
		return;
	}
	if (event->button != BUTTON_LEFT || event->y < v->list_y || event->y >= v->list_y + v->page)
		return;
	row = v->top + (size_t)(event->y - v->list_y);
	if (row >= n)
		return;
	v->at = row;
	v->follow = false;
	v->seq = events_at(v, m, row)->seq;
	if (again)
		events_act(v, m, ACTION_OPEN, reply);
}

static void events_status(const void *state, const struct model *m, struct str *out)
{
	const struct events_view *v = state;
	size_t n = events_count(v, m);

	str_addf(out, "%zu/%zu", n ? v->at + 1 : 0, n);
	if (m->journal && n != m->journal->n)
		str_addf(out, " of %zu", m->journal->n);
	if (v->follow)
		str_add(out, "  following");
}

static const enum action events_hints[] = { ACTION_OPEN, ACTION_FILTER, ACTION_FOLLOW, ACTION_BACK,
	ACTION_VIEW_BOARD, ACTION_VIEW_SOURCES, ACTION_COMMAND, ACTION_HELP, ACTION_QUIT,
	ACTION_NONE };

const struct view_ops view_events_ops = {
	.name = "events",
	.title = "events",
	.least_h = 5,
	.least_w = 40,
	.hints = events_hints,
	.open = events_open,
	.close = events_close,
	.sync = events_sync,
	.draw = events_draw,
	.act = events_act,
	.mouse = events_mouse,
	.filter = events_filter,
	.filtered = events_filtered,
	.status = events_status,
};
