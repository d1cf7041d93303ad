#include "config.h"

#include "tui/view.h"
#include "base/mem.h"
#include "tui/input.h"
#include "tui/story.h"

#include <stdlib.h>
#include <string.h>

/* One singleton, role or source: all that is known about it, from top to bottom, to be scrolled
 * through. */
struct one_view {
	int top, lines, page;
	char *id; /* of what was drawn last: another one begins at its top */
};

static void *one_open(void)
{
	struct one_view *v = xcalloc(1, sizeof(*v));

	v->page = 1;
	return v;
}

static void one_close(void *state)
{
	struct one_view *v = state;

	free(v->id);
	free(v);
}

static void one_sync(void *state, const struct model *m)
{
	struct one_view *v = state;

	if (str_eq(v->id, m->id))
		return;
	free(v->id);
	v->id = m->id ? xstrdup(m->id) : NULL;
	v->top = 0;
}

static uint32_t place_of(const struct board *board, const struct snapshot *snap)
{
	size_t i;

	for (i = 0; i < board->n_snapshots; i++)
		if (board->snapshots[i] == snap)
			return (uint32_t)i;
	return LISTING_NO_SNAP;
}

/*
 * The row that is open. A role's witness is found in its role where the list joins it on the
 * role's row: witness then holds it.
 */
static const struct listing_row *one_row(const struct model *m, struct listing_row *witness)
{
	const struct listing_row *row = listing_tracked(m->listing);
	size_t i, k;

	if (row && str_eq(row->row->s->id, m->id))
		return row;
	for (i = 0; m->board && m->id && i < m->board->n_roles; i++) {
		const struct role_view *view = &m->board->roles[i];

		for (k = 0; k < view->role->n_witnesses; k++) {
			if (!view->witnesses[k] || strcmp(view->role->witnesses[k], m->id) != 0)
				continue;
			*witness = (struct listing_row){ .row = view->witnesses[k],
				.snap = place_of(m->board, view->sources[k]),
				.kind = LISTING_SINGLETON };
			return witness->snap == LISTING_NO_SNAP ? NULL : witness;
		}
	}
	return NULL;
}

/* The source that an id names; NULL: there is none of that name here. */
static const struct snapshot *source_of(const struct model *m)
{
	size_t i, len = strcspn(m->id, "/");

	for (i = 0; m->id[len] && i < m->board->n_snapshots; i++)
		if (strlen(m->board->snapshots[i]->source) == len &&
			strncmp(m->board->snapshots[i]->source, m->id, len) == 0)
			return m->board->snapshots[i];
	return NULL;
}

static void tell_no_source(struct prose *p, const struct model *m)
{
	struct str names;
	size_t i;

	if (strncmp(m->id, "role/", 5) == 0) {
		prose_add(p, STYLE_DIM, "", 1, STYLE_TEXT, "The config has no role of that name.");
		return;
	}
	str_init(&names, 4096);
	for (i = 0; i < m->board->n_snapshots; i++)
		str_addf(&names, "%s%s", i ? ", " : "", m->board->snapshots[i]->source);
	prose_add(p, STYLE_DIM, "", 1, STYLE_TEXT,
		"It is in no source of this console: an id begins with the source's name and a "
		"slash, and the sources are %s. :open and Tab list the ids.",
		names.len ? names.s : "none");
	str_release(&names);
}

/* What can't be seen is not said to be free. */
static void tell_gone(struct prose *p, const struct model *m)
{
	const struct snapshot *snap = m->board && m->id ? source_of(m) : NULL;
	enum witness_sight sight;

	prose_add(p, STYLE_STRONG, "", 1, STYLE_STRONG, "%s", m->id ? m->id : "nothing chosen");
	if (!m->board || !m->id) {
		prose_add(p, STYLE_DIM, "", 1, STYLE_DIM, "Nothing was read yet.");
		return;
	}
	if (!snap) {
		tell_no_source(p, m);
		return;
	}
	sight = role_sight_of(snap, NULL, m->id);
	if (sight == SIGHT_ABSENT) {
		prose_add(p, STYLE_STATE_FREE, "", 1, STYLE_TEXT,
			"It is not in the picture (any more): nobody holds it and nobody waits, or "
			"there is no such id. It comes back here by itself when it is seen again.");
		return;
	}
	prose_add(p, STYLE_STATE_UNKNOWN, "?", 4, STYLE_STALE, "Whether anybody holds it %s.",
		story_missing(sight, snap));
	story_source(p, m, snap, NULL, false);
}

/* The id of a source is its name with a slash behind it. */
static bool tell_source(struct prose *p, const struct model *m)
{
	size_t i, len = m->id ? strlen(m->id) : 0;

	for (i = 0; m->board && len && i < m->board->n_snapshots; i++) {
		const struct snapshot *snap = m->board->snapshots[i];

		if (strlen(snap->source) != len - 1 || strncmp(snap->source, m->id, len - 1) != 0 ||
			m->id[len - 1] != '/')
			continue;
		story_source(p, m, snap, m->board->cross ? m->board->cross[i] : NULL, true);
		return true;
	}
	return false;
}

static void one_draw(void *state, const struct model *m, struct canvas *c, struct area a)
{
	struct listing_row witness;
	const struct listing_row *row = one_row(m, &witness);
	struct one_view *v = state;
	struct prose p;

	prose_init(&p);
	p.width = a.w - 1;
	p.ascii = c->ascii;
	if (row)
		story_tell(&p, m, row, true);
	else if (!tell_source(&p, m))
		tell_gone(&p, m);
	v->page = a.h;
	v->lines = prose_height(&p, c, a.w);
	if (v->top > v->lines - a.h)
		v->top = v->lines > a.h ? v->lines - a.h : 0;
	prose_draw(&p, c, area_sub(a, 0, 0, a.h, a.w - 1), v->top, NULL);
	prose_release(&p);
}

static bool one_act(
	void *state, const struct model *m, enum action action, struct view_reply *reply)
{
	struct one_view *v = state;

	switch (action) {
	case ACTION_DOWN:
		v->top++;
		break;
	case ACTION_UP:
		v->top--;
		break;
	case ACTION_PAGE_DOWN:
		v->top += v->page - 1;
		break;
	case ACTION_PAGE_UP:
		v->top -= v->page - 1;
		break;
	case ACTION_TOP:
		v->top = 0;
		break;
	case ACTION_BOTTOM:
		v->top = v->lines;
		break;
	case ACTION_COPY:
		if (m->id)
			view_reply_set(reply, REPLY_COPY, "%s", m->id);
		break;
	case ACTION_ACT:
		if (m->id)
			view_reply_set(reply, REPLY_ACT, "%s", m->id);
		break;
	case ACTION_OPEN:
		if (m->id && strncmp(m->id, "role/", 5) == 0)
			view_reply_set(reply, REPLY_WITNESS, "%s", m->id);
		break;
	default:
		return false;
	}
	if (v->top > v->lines - v->page)
		v->top = v->lines - v->page;
	if (v->top < 0)
		v->top = 0;
	return true;
}

static void one_mouse(void *state, const struct model *m, const struct input_event *event,
	bool again, struct view_reply *reply)
{
	(void)again;
	if (event->button == BUTTON_WHEEL_UP)
		one_act(state, m, ACTION_UP, reply);
	else if (event->button == BUTTON_WHEEL_DOWN)
		one_act(state, m, ACTION_DOWN, reply);
}

static size_t one_wanted(const void *state, const struct model *m, const char **ids, size_t max)
{
	struct listing_row witness;
	const struct listing_row *row = one_row(m, &witness);

	(void)state;
	return row ? view_ids(m, row, ids, max) : 0;
}

static void one_status(const void *state, const struct model *m, struct str *out)
{
	const struct one_view *v = state;

	(void)m;
	if (v->lines > v->page)
		str_addf(out, "lines %d to %d of %d", v->top + 1,
			v->top + v->page < v->lines ? v->top + v->page : v->lines, v->lines);
}

static const enum action one_hints[] = { ACTION_BACK, ACTION_OPEN, ACTION_ACT, ACTION_DOWN,
	ACTION_UP, ACTION_COPY, ACTION_COMMAND, ACTION_HELP, ACTION_QUIT, ACTION_NONE };

const struct view_ops view_one_ops = {
	.name = "one",
	.title = "one",
	.least_h = 5,
	.least_w = 40,
	.hints = one_hints,
	.open = one_open,
	.close = one_close,
	.sync = one_sync,
	.draw = one_draw,
	.act = one_act,
	.mouse = one_mouse,
	.wanted = one_wanted,
	.status = one_status,
};
