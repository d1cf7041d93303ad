#include "config.h"

#include "base/mem.h"
#include "base/str.h"
#include "tui/actions.h"
#include "tui/format.h"
#include "tui/input.h"
#include "tui/prose.h"
#include "tui/view.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What was done: the audit, the newest first. Each opens to the exact request and answer. */
struct actions_view {
	uint64_t n; /* number of the act under the cursor: it is followed, whatever comes */
	size_t at, top;
	bool moved; /* the cursor was moved: before that it stays on the newest */
	bool open;  /* the act under the cursor fills the view */
	int skip, lines, page, list_y;
};

enum {
	AT_W = 19,
	VERB_W = 10,
	OUTCOME_W = 9,
	HANG = 12
};

static void *actions_open(void)
{
	struct actions_view *v = xcalloc(1, sizeof(*v));

	v->page = 1;
	return v;
}

static size_t actions_count(const struct model *m)
{
	return m->actions ? m->actions->n : 0;
}

static void actions_sync(void *state, const struct model *m)
{
	struct actions_view *v = state;
	size_t n = actions_count(m), i;

	for (i = 0; v->moved && i < n; i++)
		if (m->actions->at[i].n == v->n)
			v->at = i;
	if (!v->moved || v->at >= n)
		v->at = n && v->moved ? n - 1 : 0;
	if (n)
		v->n = m->actions->at[v->at].n;
}

static enum style outcome_style(const char *outcome)
{
	if (!outcome || strcmp(outcome, "unknown") == 0 || strcmp(outcome, "partial") == 0)
		return STYLE_FINDING_CRIT;
	if (strcmp(outcome, "done") == 0)
		return STYLE_STATE_HELD;
	return STYLE_FINDING_WARN;
}

/* "2026-01-02T14:02:54.102Z" to "2026-01-02 14:02:54". */
static void short_time(char *buf, size_t size, const char *at)
{
	snprintf(buf, size, "%.*s", AT_W, at ? at : "");
	if (strlen(buf) > 10)
		buf[10] = ' ';
}

static void draw_action(struct canvas *c, struct area a, int y, const struct action_record *r)
{
	char at[AT_W + 1], who[200];
	int x = 1, rest;

	short_time(at, sizeof(at), r->at);
	canvas_fit(c, a, y, x, AT_W, STYLE_DIM, FIT_LEFT, at);
	x += AT_W + 1;
	canvas_fit(c, a, y, x, VERB_W, STYLE_STRONG, FIT_LEFT, r->verb ? r->verb : "-");
	x += VERB_W + 1;
	canvas_fit(c, a, y, x, OUTCOME_W, outcome_style(r->outcome), FIT_LEFT,
		r->outcome ? r->outcome : "no end");
	x += OUTCOME_W + 1;
	rest = a.w - x - 1;
	if (a.w >= 110) {
		snprintf(who, sizeof(who), "%s@%s", r->user ? r->user : "-",
			r->host ? r->host : "-");
		canvas_fit(c, a, y, a.w - 25, 24, STYLE_DIM, FIT_LEFT, who);
		rest -= 26;
	}
	canvas_fit(c, a, y, x, rest, STYLE_TEXT, FIT_MIDDLE, r->id ? r->id : "-");
}

static void tell(struct prose *p, const char *mark, const char *text)
{
	if (text && *text)
		prose_add(p, STYLE_KEY, mark, HANG, STYLE_TEXT, "%s", text);
}

static void tell_who(struct prose *p, const struct action_record *r)
{
	prose_add(p, STYLE_KEY, "by", HANG, STYLE_TEXT, "%s on %s%s%s", r->user ? r->user : "-",
		r->host ? r->host : "-", r->tty ? ", " : "", r->tty ? r->tty : "");
}

static void tell_action(struct prose *p, const struct action_record *r)
{
	prose_add(p, STYLE_STRONG, "", 1, STYLE_STRONG, "%" PRIu64 "  %s %s", r->n,
		r->verb ? r->verb : "-", r->id ? r->id : "-");
	if (r->outcome)
		prose_add(p, outcome_style(r->outcome), r->outcome, HANG, STYLE_TEXT, "%s%s%s",
			r->outcome_at ? r->outcome_at : "", r->answer ? "  " : "",
			r->answer ? r->answer : "");
	else
		prose_add(p, STYLE_FINDING_CRIT, "no end", HANG, STYLE_FINDING_CRIT,
			"The intent is recorded, and no outcome: it goes on now, or baton ended in "
			"between. Whether it was sent is not known: look at the row itself.");
	if (r->overlap && strcmp(r->overlap, "open") == 0)
		prose_add(p, STYLE_FINDING_WARN, "overlap", HANG, STYLE_FINDING_WARN,
			"%s was not seen to stop", r->identity ? r->identity : "the old holder");
	else
		tell(p, "overlap", r->overlap);
	tell(p, "target", r->identity);
	tell(p, "key", r->key);
	tell(p, "sent", r->request);
	tell(p, "reason", r->reason);
	tell(p, "intent", r->at);
	tell_who(p, r);
}

static void draw_one(
	struct actions_view *v, const struct model *m, struct canvas *c, struct area a, int skip)
{
	struct prose p;

	prose_init(&p);
	tell_action(&p, &m->actions->at[v->at]);
	v->lines = prose_draw(&p, c, a, skip, "... Enter shows all of it");
	prose_release(&p);
}

static void draw_none(const struct model *m, struct canvas *c, struct area a)
{
	const char *text =
		m->actions && *m->actions->error
			? m->actions->error
			: "Nothing was done with baton by this user on this machine: the "
			  "audit is empty. On a row, a offers the verbs.";

	canvas_wrap(c, area_sub(a, 2, 1, a.h - 2, a.w - 2), 0, 0, 0, STYLE_TEXT, text);
}

static void draw_list(
	struct actions_view *v, const struct model *m, struct canvas *c, struct area list)
{
	size_t n = actions_count(m), i;
	int y;

	v->page = list.h > 0 ? list.h : 1;
	v->list_y = list.y;
	if (v->at < v->top)
		v->top = v->at;
	if (v->at >= v->top + (size_t)v->page)
		v->top = v->at - (size_t)v->page + 1;
	for (i = v->top, y = 0; i < n && y < list.h; i++, y++) {
		draw_action(c, list, y, &m->actions->at[i]);
		if (i != v->at)
			continue;
		canvas_over(c, list, y, 0, list.w, STYLE_CURSOR);
		canvas_glyph(c, list, y, 0, STYLE_TEXT, GLYPH_CURSOR_LEFT);
	}
}

static void actions_draw(void *state, const struct model *m, struct canvas *c, struct area a)
{
	struct actions_view *v = state;
	int foot = a.h / 2;

	/* Another program may act meanwhile. */
	canvas_until(c, m->now_ms + 1000);
	if (!actions_count(m)) {
		draw_none(m, c, a);
		return;
	}
	if (v->open) {
		v->page = a.h;
		draw_one(v, m, c, area_sub(a, 0, 0, a.h, a.w - 1), v->skip);
		return;
	}
	canvas_put(c, a, 0, 1, STYLE_TABLE_HEAD, "TIME (UTC)");
	canvas_put(c, a, 0, 2 + AT_W, STYLE_TABLE_HEAD, "VERB");
	canvas_put(c, a, 0, 3 + AT_W + VERB_W, STYLE_TABLE_HEAD, "OUTCOME");
	canvas_put(c, a, 0, 4 + AT_W + VERB_W + OUTCOME_W, STYLE_TABLE_HEAD, "WHERE");
	if (a.w >= 110)
		canvas_put(c, a, 0, a.w - 25, STYLE_TABLE_HEAD, "WHO");
	draw_list(v, m, c, area_sub(a, 1, 0, a.h - 2 - foot, a.w));
	canvas_fill(c, a, a.h - foot - 1, 0, a.w, STYLE_FRAME, GLYPH_HLINE);
	draw_one(v, m, c, area_sub(a, a.h - foot, 0, foot, a.w - 1), 0);
}

static void scroll(struct actions_view *v, int by)
{
	v->skip += by;
	if (v->skip > v->lines - v->page)
		v->skip = v->lines - v->page;
	if (v->skip < 0)
		v->skip = 0;
}

static void move(struct actions_view *v, const struct model *m, size_t to)
{
	size_t n = actions_count(m);

	v->at = n && to >= n ? n - 1 : to;
	v->moved = true;
	if (n)
		v->n = m->actions->at[v->at].n;
}

static bool actions_move(struct actions_view *v, const struct model *m, enum action action)
{
	size_t page = v->page > 1 ? (size_t)v->page - 1 : 1;

	switch (action) {
	case ACTION_DOWN:
		v->open ? scroll(v, 1) : move(v, m, v->at + 1);
		return true;
	case ACTION_UP:
		v->open ? scroll(v, -1) : move(v, m, v->at ? v->at - 1 : 0);
		return true;
	case ACTION_PAGE_DOWN:
		v->open ? scroll(v, (int)page) : move(v, m, v->at + page);
		return true;
	case ACTION_PAGE_UP:
		v->open ? scroll(v, -(int)page) : move(v, m, v->at > page ? v->at - page : 0);
		return true;
	case ACTION_TOP:
		move(v, m, 0);
		return true;
	case ACTION_BOTTOM:
		move(v, m, SIZE_MAX);
		return true;
	default:
		return false;
	}
}

static bool actions_act(
	void *state, const struct model *m, enum action action, struct view_reply *reply)
{
	struct actions_view *v = state;

	if (actions_move(v, m, action))
		return true;
	if (action == ACTION_OPEN) {
		v->open = !v->open && actions_count(m);
		v->skip = 0;
		return true;
	}
	if (action == ACTION_COPY) {
		if (v->at < actions_count(m) && m->actions->at[v->at].request)
			view_reply_set(reply, REPLY_COPY, "%s", m->actions->at[v->at].request);
		return true;
	}
	return false;
}

static void actions_mouse(void *state, const struct model *m, const struct input_event *event,
	bool again, struct view_reply *reply)
{
	struct actions_view *v = state;
	size_t row;

	if (event->button == BUTTON_WHEEL_UP || event->button == BUTTON_WHEEL_DOWN) {
		actions_act(
			v, m, event->button == BUTTON_WHEEL_UP ? ACTION_UP : ACTION_DOWN, reply);
		return;
	}
	if (v->open || event->button != BUTTON_LEFT || event->y < v->list_y ||
		event->y >= v->list_y + v->page)
		return;
	row = v->top + (size_t)(event->y - v->list_y);
	if (row >= actions_count(m))
		return;
	move(v, m, row);
	if (again)
		actions_act(v, m, ACTION_OPEN, reply);
}

static void actions_status(const void *state, const struct model *m, struct str *out)
{
	const struct actions_view *v = state;
	size_t n = actions_count(m);

	if (m->actions && m->actions->broken)
		str_addf(out, "%zu lines can't be read  ", m->actions->broken);
	str_addf(out, "%zu/%zu%s", n ? v->at + 1 : 0, n, n == ACTIONS_MOST ? " newest" : "");
}

static const enum action actions_hints[] = { ACTION_OPEN, ACTION_COPY, ACTION_BACK,
	ACTION_VIEW_BOARD, ACTION_VIEW_EVENTS, ACTION_COMMAND, ACTION_HELP, ACTION_QUIT,
	ACTION_NONE };

const struct view_ops view_actions_ops = {
	.name = "actions",
	.title = "actions",
	.least_h = 5,
	.least_w = 40,
	.hints = actions_hints,
	.open = actions_open,
	.close = free,
	.sync = actions_sync,
	.draw = actions_draw,
	.act = actions_act,
	.mouse = actions_mouse,
	.status = actions_status,
};
