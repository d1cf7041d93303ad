#include "config.h"

#include "tui/view.h"
#include "base/mem.h"
#include "tui/input.h"
#include "tui/lesson-prose.h"

#include <stdlib.h>
#include <string.h>

/*
 * A lesson: what happened, what is to be done, the causes to pick from, the hints that were taken;
 * and when it is over the debrief in its place.
 */
struct lesson_view {
	int top, lines, page;
	size_t at;     /* the cause under the cursor, in the order on the screen */
	bool moved;    /* the cursor moved: it must be seen */
	bool debriefs; /* the debrief was shown: it began at its top */
};

enum {
	HANG = 3,
	HANG_CAUSE = 7
};

static void *lesson_open(void)
{
	struct lesson_view *v = xcalloc(1, sizeof(*v));

	v->page = 1;
	return v;
}

static void lesson_close(void *state)
{
	free(state);
}

static void tell_none(struct prose *p)
{
	prose_add(p, STYLE_STRONG, "", 1, STYLE_STRONG, "This is no lesson.");
	prose_add(p, STYLE_ADVICE, ">", HANG, STYLE_TEXT,
		"baton train lists the lessons, baton train S02 opens one: a built-in fleet in "
		"which something goes wrong, on these screens and keys, with a score.");
}

/* ---- while it goes on ---- */

static void tell_part(struct prose *p, const char *head, const char *text)
{
	prose_add(p, STYLE_STRONG, "", 1, STYLE_STRONG, "%s", head);
	prose_text(p, HANG, STYLE_TEXT, text);
}

static void tell_head(struct prose *p, const struct model *m)
{
	const struct lesson *l = m->lesson->run->lesson;
	char par[SCORE_CLOCK_MAX], limit[SCORE_CLOCK_MAX];

	score_clock(par, l->par_ms);
	score_clock(limit, l->rules.limit_ms);
	prose_add(p, STYLE_STRONG, "", 1, STYLE_STRONG, "%s %s", l->number, l->title);
	prose_tail(p, STYLE_DIM, "par %s, over after %s", par, limit);
	if (m->paused && m->lesson->state.now_ms == 0)
		prose_add(p, STYLE_ADVICE, ">", HANG, STYLE_ADVICE,
			"The clock stands still until you press Z. :arm lifts read only, as at "
			"night; a question (ask) needs no arming.");
}

static void tell_cause(struct prose *p, const struct model *m, size_t i, bool here)
{
	const struct lesson_run *run = m->lesson->run;
	size_t cause = run->order[i];
	bool picked = m->lesson->state.picked >> cause & 1;

	prose_add(p, picked ? STYLE_MARK : STYLE_TEXT,
		here ? (picked ? " >[x]" : " >[ ]") : (picked ? "  [x]" : "  [ ]"), HANG_CAUSE,
		here ? STYLE_STRONG : STYLE_TEXT, "%s", run->lesson->causes[cause].text);
}

/* Returns before which paragraph the cursor's cause stands. */
static size_t tell_causes(struct prose *p, const struct model *m, size_t at)
{
	const struct lesson *l = m->lesson->run->lesson;
	size_t i, found = 0;

	prose_add(p, STYLE_STRONG, "", 1, STYLE_STRONG, "%s", l->asks);
	prose_tail(p, STYLE_DIM, "d picks, one or several, before you act");
	for (i = 0; i < l->n_causes; i++) {
		if (i == at)
			found = p->n;
		tell_cause(p, m, i, i == at);
	}
	return found;
}

static void tell_hints(struct prose *p, const struct model *m)
{
	const struct lesson *l = m->lesson->run->lesson;
	size_t taken = m->lesson->state.hints, i;

	for (i = 0; i < taken && i < l->n_hints; i++)
		prose_add(p, STYLE_ADVICE, ">", HANG, STYLE_TEXT, "%s", l->hints[i].text);
	if (taken < l->n_hints)
		prose_add(p, STYLE_DIM, "", HANG, STYLE_DIM,
			":hint gives a hint, for %d points (%zu left).", l->hints[taken].costs,
			l->n_hints - taken);
	prose_add(p, STYLE_DIM, "", HANG, STYLE_DIM,
		":note TEXT tells the others; :finish when nothing more is to be done. It is over "
		"when all has been "
		"well for %d s.",
		(int)(l->rules.for_ms / 1000));
}

static size_t tell_lesson(struct prose *p, const struct model *m, size_t at)
{
	const struct lesson *l = m->lesson->run->lesson;
	size_t cause;

	tell_head(p, m);
	tell_part(p, "What happened", l->story);
	tell_part(p, "What you see", l->see);
	tell_part(p, "Your task", l->task);
	cause = tell_causes(p, m, at);
	tell_hints(p, m);
	return cause;
}

/* The fleet stands still as it was at the end, and may be looked at. */
static void tell_after(struct prose *p, const struct lesson *l)
{
	prose_rule(p);
	prose_add(p, STYLE_ADVICE, ">", HANG, STYLE_TEXT,
		"1 shows the board as it was at the end, q leaves. baton train %s plays it again, "
		"baton train lists the lessons, baton train --results what they gave.",
		l->number);
}

/* Scrolls so that the cursor's cause is on the screen. */
static void keep_seen(struct lesson_view *v, const struct prose *p, const struct canvas *c,
	struct area a, size_t para)
{
	struct prose before = *p, with = *p;
	int from, to;

	before.n = para;
	with.n = para + 1;
	from = prose_height(&before, c, a.w);
	to = prose_height(&with, c, a.w);
	if (to > v->top + a.h - 1)
		v->top = to - a.h + 1;
	if (from < v->top)
		v->top = from;
}

static void lesson_draw(void *state, const struct model *m, struct canvas *c, struct area a)
{
	struct lesson_view *v = state;
	struct prose p;
	size_t cause = 0;
	bool debriefs = m->lesson && m->lesson->debrief;

	prose_init(&p);
	p.width = a.w;
	p.ascii = c->ascii;
	if (debriefs && !v->debriefs)
		v->top = 0;
	v->debriefs = debriefs;
	if (!m->lesson)
		tell_none(&p);
	else if (debriefs) {
		prose_debrief(&p, m->lesson->debrief);
		tell_after(&p, m->lesson->run->lesson);
	} else
		cause = tell_lesson(&p, m, v->at);
	if (v->moved && m->lesson && !debriefs)
		keep_seen(v, &p, c, a, cause);
	v->moved = false;
	v->page = a.h > 2 ? a.h - 2 : 1;
	v->lines = prose_height(&p, c, a.w);
	if (v->top > v->lines - a.h)
		v->top = v->lines > a.h ? v->lines - a.h : 0;
	prose_draw(&p, c, a, v->top, v->top + a.h < v->lines ? " ... more below: PgDn" : NULL);
	prose_release(&p);
}

/* ---- keys ---- */

static bool scroll(struct lesson_view *v, enum action action, int step)
{
	switch (action) {
	case ACTION_DOWN:
		v->top += step;
		return true;
	case ACTION_UP:
		v->top = v->top > step ? v->top - step : 0;
		return true;
	case ACTION_PAGE_DOWN:
		v->top += v->page;
		return true;
	case ACTION_PAGE_UP:
		v->top = v->top > v->page ? v->top - v->page : 0;
		return true;
	case ACTION_TOP:
		v->top = 0;
		return true;
	case ACTION_BOTTOM:
		v->top = v->lines;
		return true;
	default:
		return false;
	}
}

static bool move(struct lesson_view *v, const struct lesson *l, enum action action)
{
	if (action == ACTION_DOWN && v->at + 1 < l->n_causes)
		v->at++;
	else if (action == ACTION_UP && v->at > 0)
		v->at--;
	v->moved = action == ACTION_DOWN || action == ACTION_UP;
	return v->moved;
}

static bool lesson_act(
	void *state, const struct model *m, enum action action, struct view_reply *reply)
{
	struct lesson_view *v = state;
	bool open = m->lesson && !m->lesson->debrief;

	if (open && (action == ACTION_DIAGNOSE || action == ACTION_MARK)) {
		v->moved = true;
		view_reply_set(reply, REPLY_DIAGNOSE, "%zu", v->at);
		return true;
	}
	if (open && move(v, m->lesson->run->lesson, action))
		return true;
	return scroll(v, action, 1);
}

static void lesson_mouse(void *state, const struct model *m, const struct input_event *event,
	bool again, struct view_reply *reply)
{
	(void)m;
	(void)again;
	(void)reply;
	if (event->button == BUTTON_WHEEL_UP)
		scroll(state, ACTION_UP, 3);
	else if (event->button == BUTTON_WHEEL_DOWN)
		scroll(state, ACTION_DOWN, 3);
}

static void lesson_status(const void *state, const struct model *m, struct str *out)
{
	char at[SCORE_CLOCK_MAX];

	(void)state;
	if (!m->lesson)
		return;
	score_clock(at, m->lesson->state.now_ms);
	if (m->lesson->debrief)
		str_addf(out, "over: %d of 100", m->lesson->debrief->score.total);
	else
		str_add(out, at);
}

static const enum action lesson_hints[] = { ACTION_PAUSE, ACTION_DIAGNOSE, ACTION_VIEW_BOARD,
	ACTION_STEP, ACTION_FASTER, ACTION_COMMAND, ACTION_HELP, ACTION_QUIT, ACTION_NONE };

const struct view_ops view_lesson_ops = {
	.name = "lesson",
	.title = "lesson",
	.hints = lesson_hints,
	.open = lesson_open,
	.close = lesson_close,
	.draw = lesson_draw,
	.act = lesson_act,
	.mouse = lesson_mouse,
	.status = lesson_status,
};
