#include "config.h"

#include "tui/view.h"
#include "base/mem.h"
#include "tui/format.h"
#include "tui/input.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What happened, a line each, the newest last: hand-overs, findings that came and went, trouble
 * with sources. */
struct events_view {
	uint64_t seq; /* of the event under the cursor: it is followed, whatever comes or falls out
		       */
	size_t at, top;
	bool follow; /* the cursor stays on the newest */
	int page, list_y;
};

enum {
	TIME_W = 9,
	WHAT_W = 9
};

static void *events_open(void)
{
	struct events_view *v = xcalloc(1, sizeof(*v));

	v->follow = true;
	v->page = 1;
	return v;
}

static size_t events_count(const struct model *m)
{
	return m->journal ? m->journal->n : 0;
}

static void events_sync(void *state, const struct model *m)
{
	struct events_view *v = state;
	size_t n = events_count(m);

	if (!n) {
		v->at = 0;
		return;
	}
	if (v->follow) {
		v->at = n - 1;
	} else {
		/* Numbers rise by one, so the place follows from the first one's number. */
		uint64_t first = journal_at(m->journal, 0)->seq;

		v->at = v->seq < first ? 0 : (size_t)(v->seq - first);
		if (v->at >= n)
			v->at = n - 1;
	}
	v->seq = journal_at(m->journal, v->at)->seq;
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
	int where_w = a.w >= 100 ? a.w / 3 : a.w / 4 + 4, x = 1;
	char at[CLOCK_TEXT_MAX];

	format_event_time(at, m, e);
	canvas_fit(c, a, y, x, TIME_W, STYLE_DIM, FIT_LEFT, at);
	x += TIME_W + 1;
	canvas_fit(c, a, y, x, WHAT_W, event_style(e->what), FIT_LEFT, e->what);
	x += WHAT_W + 1;
	canvas_fit(c, a, y, x, where_w, STYLE_STRONG, FIT_MIDDLE, e->id ? e->id : e->source);
	x += where_w + 1;
	canvas_fit(c, a, y, x, a.w - x - 1, STYLE_TEXT, FIT_LEFT, e->text);
}

static void events_draw(void *state, const struct model *m, struct canvas *c, struct area a)
{
	struct events_view *v = state;
	size_t n = events_count(m), i;
	int foot = a.h > 12 ? 4 : 0, y;
	struct area list = area_sub(a, 1, 0, a.h - 1 - foot, a.w);

	v->page = list.h > 0 ? list.h : 1;
	v->list_y = list.y;
	canvas_put(c, a, 0, 1, STYLE_TABLE_HEAD, "TIME (UTC)");
	canvas_put(c, a, 0, 2 + TIME_W + 1, STYLE_TABLE_HEAD, "WHAT");
	canvas_put(c, a, 0, 3 + TIME_W + WHAT_W, STYLE_TABLE_HEAD, "WHERE");
	if (!n) {
		canvas_wrap(c, area_sub(list, 1, 1, list.h - 1, list.w - 2), 0, 0, 0, STYLE_TEXT,
			"Nothing happened since this console started: no hand-over, no finding "
			"came or went, no source failed.");
		return;
	}
	if (v->at < v->top)
		v->top = v->at;
	if (v->at >= v->top + (size_t)v->page)
		v->top = v->at - (size_t)v->page + 1;
	for (i = v->top, y = 0; i < n && y < list.h; i++, y++) {
		draw_event(m, c, list, y, journal_at(m->journal, i));
		if (i != v->at)
			continue;
		canvas_over(c, list, y, 0, list.w, STYLE_CURSOR);
		canvas_glyph(c, list, y, 0, STYLE_TEXT, GLYPH_CURSOR_LEFT);
	}
	if (foot) {
		const struct event *e = journal_at(m->journal, v->at < n ? v->at : n - 1);
		struct area below = area_sub(a, a.h - foot + 1, 1, foot - 1, a.w - 2);

		canvas_fill(c, a, a.h - foot, 0, a.w, STYLE_FRAME, GLYPH_HLINE);
		y = canvas_wrap(c, below, 0, 0, 0, STYLE_STRONG, e->id ? e->id : e->source);
		canvas_wrap(c, below, y, 0, 0, STYLE_TEXT, e->text);
	}
}

static bool events_move(struct events_view *v, size_t n, enum action action)
{
	size_t page = v->page > 1 ? (size_t)v->page - 1 : 1, last = n ? n - 1 : 0;

	switch (action) {
	case ACTION_DOWN:
		v->at += v->at < last;
		break;
	case ACTION_UP:
		v->at -= v->at > 0;
		break;
	case ACTION_PAGE_DOWN:
		v->at = last - v->at > page ? v->at + page : last;
		break;
	case ACTION_PAGE_UP:
		v->at = v->at > page ? v->at - page : 0;
		break;
	case ACTION_TOP:
		v->at = 0;
		break;
	case ACTION_BOTTOM:
		v->at = last;
		break;
	default:
		return false;
	}
	v->follow = action == ACTION_BOTTOM;
	return true;
}

static bool events_act(
	void *state, const struct model *m, enum action action, struct view_reply *reply)
{
	struct events_view *v = state;
	size_t n = events_count(m);
	const struct event *e;

	if (events_move(v, n, action)) {
		if (n)
			v->seq = journal_at(m->journal, v->at)->seq;
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
	e = v->at < n ? journal_at(m->journal, v->at) : NULL;
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
	size_t n = events_count(m), row;

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
	v->seq = journal_at(m->journal, row)->seq;
	if (again)
		events_act(v, m, ACTION_OPEN, reply);
}

static void events_status(const void *state, const struct model *m, struct str *out)
{
	const struct events_view *v = state;
	size_t n = events_count(m);

	str_addf(out, "%zu/%zu%s", n ? v->at + 1 : 0, n, v->follow ? "  following" : "");
}

static const enum action events_hints[] = { ACTION_OPEN, ACTION_FOLLOW, ACTION_BACK,
	ACTION_VIEW_BOARD, ACTION_VIEW_SOURCES, ACTION_COMMAND, ACTION_HELP, ACTION_QUIT,
	ACTION_NONE };

const struct view_ops view_events_ops = {
	.name = "events",
	.title = "events",
	.least_h = 5,
	.least_w = 40,
	.hints = events_hints,
	.open = events_open,
	.close = free,
	.sync = events_sync,
	.draw = events_draw,
	.act = events_act,
	.mouse = events_mouse,
	.status = events_status,
};
