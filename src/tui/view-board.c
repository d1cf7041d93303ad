#include "config.h"

#include "tui/view.h"
#include "base/map.h"
#include "base/mem.h"
#include "tui/cursor.h"
#include "tui/format.h"
#include "tui/input.h"
#include "model/filter.h"
#include "tui/story.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The board: one line for each singleton, the row under the cursor told in sentences below (or
 * beside, where it is wide).
 */
struct board_view {
	size_t at, top;   /* the row under the cursor, the first row drawn */
	bool moved;       /* the user chose a row: it is followed from then on */
	int scroll;       /* columns scrolled away */
	int page;         /* rows that fitted last time */
	int list_y;       /* where the first row was drawn */
	struct map marks; /* id (owned) -> itself */
};

enum {
	NAME_LEAST = 20,
	WIDE = 120,
	VERY_WIDE = 160,
	BEFORE_NAME = 13
};

struct column {
	const char *head;
	int width; /* 0: takes what is left, with the name */
	enum fit fit;
	int sort;    /* the order that goes by it; -1 */
	int least_w; /* of the table, for it to be shown unscrolled */
};

enum column_id {
	COLUMN_HOLDER,
	COLUMN_TOKEN,
	COLUMN_LEASE,
	COLUMN_AGE,
	COLUMN_WAIT,
	COLUMN_RUNS,
	COLUMN_SINCE,
	COLUMN_SOURCE,
	COLUMN_MECH,
	COLUMN_ROLE,
	COLUMN_FIT,
	COLUMN_COUNT
};

static const struct column columns[COLUMN_COUNT] = {
	[COLUMN_HOLDER] = { "HOLDER", 16, FIT_LEFT, SORT_HOLDER, 0 },
	[COLUMN_TOKEN] = { "TOKEN", 7, FIT_RIGHT, SORT_TOKEN, 0 },
	[COLUMN_LEASE] = { "LEASE", 8, FIT_RIGHT, SORT_LEASE, 0 },
	[COLUMN_AGE] = { "AGE", 6, FIT_RIGHT, SORT_AGE, 0 },
	[COLUMN_WAIT] = { "WAIT", 9, FIT_RIGHT, SORT_WAIT, WIDE },
	[COLUMN_RUNS] = { "RUNS", 6, FIT_RIGHT, -1, WIDE },
	[COLUMN_SINCE] = { "SINCE", 8, FIT_RIGHT, -1, 130 },
	[COLUMN_SOURCE] = { "SOURCE", 12, FIT_LEFT, SORT_SOURCE, WIDE },
	[COLUMN_MECH] = { "MECHANISM", 13, FIT_LEFT, -1, 185 },
	[COLUMN_ROLE] = { "ROLE", 16, FIT_LEFT, -1, 185 },
	[COLUMN_FIT] = { "FIT", 8, FIT_LEFT, -1, 10000 },
};

/* Where each column stands in a table of a width; x < 0: not shown. */
struct layout {
	int name_w;
	int x[COLUMN_COUNT], w[COLUMN_COUNT];
};

static void *board_open(void)
{
	struct board_view *v = xcalloc(1, sizeof(*v));

	map_init(&v->marks);
	v->page = 1;
	return v;
}

static void board_unmark(void *state)
{
	struct board_view *v = state;
	struct map_entry *e;
	size_t pos = 0;

	while ((e = map_next(&v->marks, &pos)))
		free(e->value);
	map_clear(&v->marks);
}

static void board_close(void *state)
{
	struct board_view *v = state;

	board_unmark(v);
	map_release(&v->marks);
	free(v);
}

static void board_sync(void *state, const struct model *m)
{
	struct board_view *v = state;
	size_t n = listing_count(m->listing), at = listing_tracked_at(m->listing);

	if (v->moved && at != SIZE_MAX)
		v->at = at;
	if (v->at >= n)
		v->at = n ? n - 1 : 0;
}

/* Gives the columns that fit their places, from the first that is not scrolled away. */
static void layout_make(const struct model *m, struct layout *l, int w, int scroll)
{
	int left = w - BEFORE_NAME - NAME_LEAST, i, extra;

	for (i = 0; i < COLUMN_COUNT; i++) {
		bool wanted = i >= scroll && (scroll > 0 || w >= columns[i].least_w) &&
			      (i != COLUMN_RUNS || (m->board && m->board->n_jobs));

		l->x[i] = -1;
		l->w[i] = columns[i].width + (i != COLUMN_TOKEN  ? 0
						     : w >= 150  ? 13
						     : w >= WIDE ? 3
								 : 0);
		if (!wanted || left < l->w[i] + 1)
			continue;
		l->x[i] = 0;
		left -= l->w[i] + 1;
	}
	/* What is left goes to the name, and a part to the holder. */
	extra = l->x[COLUMN_HOLDER] == 0 && left > 12 ? (left - 12) / 3 : 0;
	l->w[COLUMN_HOLDER] += extra > 24 ? 24 : extra;
	l->name_w = NAME_LEAST + left - (extra > 24 ? 24 : extra);
	left = BEFORE_NAME + l->name_w + 1;
	for (i = 0; i < COLUMN_COUNT; i++) {
		if (l->x[i] < 0)
			continue;
		l->x[i] = left;
		left += l->w[i] + 1;
	}
}

static void draw_heads(
	const struct model *m, struct canvas *c, struct area a, const struct layout *l)
{
	bool reverse;
	enum sort sort = listing_sorted(m->listing, &reverse);
	int i;

	canvas_put(c, a, 0, 3,
		sort == SORT_STATE || sort == SORT_NEED ? STYLE_TABLE_SORT : STYLE_TABLE_HEAD,
		"STATE");
	canvas_put(c, a, 0, BEFORE_NAME,
		sort == SORT_ID || sort == SORT_NAME ? STYLE_TABLE_SORT : STYLE_TABLE_HEAD,
		"SINGLETON");
	for (i = 0; i < COLUMN_COUNT; i++) {
		bool sorted = columns[i].sort == (int)sort;
		char head[24];

		if (l->x[i] < 0)
			continue;
		snprintf(head, sizeof(head), "%s", columns[i].head);
		canvas_fit(c, a, 0, l->x[i], l->w[i], sorted ? STYLE_TABLE_SORT : STYLE_TABLE_HEAD,
			columns[i].fit, head);
	}
}

static void draw_lease(const struct model *m, struct canvas *c, struct area a, int y, int x, int w,
	const struct singleton *s)
{
	char text[CLOCK_TEXT_MAX];
	int64_t left = format_lease(text, m, s, &c->next_ms);
	enum style style = STYLE_LEASE;
	int bar = w - 5;

	if (left == TIME_UNKNOWN) {
		canvas_fit(c, a, y, x, w, STYLE_DIM, FIT_RIGHT, text);
		return;
	}
	if (left < 0)
		style = STYLE_LEASE_PAST;
	else if (s->lease_granted_ms != TIME_UNKNOWN && left * 3 < s->lease_granted_ms)
		style = STYLE_LEASE_LOW;
	canvas_fit(c, a, y, x, w, style, FIT_RIGHT, text);
	if (bar >= 3 && left > 0 && s->lease_granted_ms > 0 && canvas_width(c, text) <= 4)
		canvas_bar(c, a, y, x, bar, style, left, s->lease_granted_ms);
}

/* "2 40m": how many wait, and the longest. */
static void wait_text(
	char *buf, size_t size, const struct model *m, const struct row *row, int64_t *next_ms)
{
	uint32_t n = singleton_count(row->s, CLAIM_WAITER);
	char age[CLOCK_TEXT_MAX];

	if (!n) {
		snprintf(buf, size, "-");
		return;
	}
	format_since(age, m, row_waiting_since_us(row), next_ms);
	snprintf(buf, size, "%" PRIu32 "%s%s", n, strcmp(age, "-") == 0 ? "" : " ",
		strcmp(age, "-") == 0 ? "" : age);
}

/* "2/5": how many runs are at work, of those that there are records of. */
static void runs_text(char *buf, size_t size, const struct singleton *s)
{
	if (singleton_is_job(s))
		snprintf(buf, size, "%" PRIu32 "/%" PRIu32, singleton_runs(s, TRI_YES),
			s->more->n_runs);
}

/*
 * What one witness adds: its source, or who holds it by it, with a question mark where that can't
 * be read now. Returns whether that is anything.
 */
static bool witness_text(
	char *buf, size_t size, const struct role_view *view, size_t i, bool source)
{
	const struct row *row = view->witnesses[i];
	char holder[256];

	if (source) {
		if (view->sources[i])
			snprintf(buf, size, "%s", view->sources[i]->source);
		return view->sources[i] != NULL;
	}
	if (!row)
		return false;
	format_holder(holder, sizeof(holder), row);
	snprintf(buf, size, "%s%s", holder, role_witness_sight(view, i) == SIGHT_UNREAD ? "?" : "");
	return strcmp(holder, "-") != 0;
}

/* Whether an earlier witness said the same. */
static bool said_before(const struct role_view *view, size_t i, bool source, const char *text)
{
	char other[300];
	size_t k;

	for (k = 0; k < i; k++)
		if (witness_text(other, sizeof(other), view, k, source) && strcmp(other, text) == 0)
			return true;
	return false;
}

/* The sources of a role's witnesses, or who holds them: each once, in the config's order. */
static void role_text(char *buf, size_t size, const struct role_view *view, bool source)
{
	size_t i, n = 0;
	char text[300];

	snprintf(buf, size, "-");
	for (i = 0; i < view->role->n_witnesses && n < size; i++)
		if (witness_text(text, sizeof(text), view, i, source) &&
			!said_before(view, i, source, text))
			n += (size_t)snprintf(
				buf + n, size - n, "%s%s", n ? (source ? "+" : " / ") : "", text);
}

static const char seen_words[] = " (seen ";

/* "node-9 (seen 4m ago)" */
static void unknown_holder(char *buf, size_t size, const struct model *m, const struct row *row,
	const struct snapshot *snap, int64_t *next_ms)
{
	char holder[512], age[CLOCK_TEXT_MAX];

	format_holder(holder, sizeof(holder), row);
	format_since_ms(age, m, snap->picture_ms, next_ms);
	snprintf(buf, size, "%s%s%s ago)", holder, seen_words, age);
}

/* Half of when it was seen tells nothing: "node-9 (4m ago)", or the name alone. */
static void fit_seen(char *buf, const struct canvas *c, int w)
{
	char *seen = strstr(buf, seen_words), *age;

	if (!seen || canvas_width(c, buf) <= w)
		return;
	age = seen + sizeof(seen_words) - 1;
	memmove(seen + 2, age, strlen(age) + 1);
	if (canvas_width(c, buf) > w)
		*seen = '\0';
}

static void holder_text(char *buf, size_t size, const struct model *m,
	const struct listing_row *row, int64_t *next_ms)
{
	const struct snapshot *snap = listing_snapshot(m->listing, row);
	const struct role_view *view = listing_role(m->listing, row);

	if (view)
		role_text(buf, size, view, false);
	else if (snap && listing_is_unread(m->listing, row))
		unknown_holder(buf, size, m, row->row, snap, next_ms);
	else
		format_holder(buf, size, row->row);
}

static void cell_text(char *buf, size_t size, enum column_id column, const struct model *m,
	const struct listing_row *row, int64_t *next_ms)
{
	const struct snapshot *snap = listing_snapshot(m->listing, row);
	const struct role_view *view = listing_role(m->listing, row);

	bool unknown = listing_is_unread(m->listing, row);

	snprintf(buf, size, "-");
	/* What could not be read is not said to be so now: no age, no wait, no lease. */
	if (unknown && (column == COLUMN_AGE || column == COLUMN_SINCE || column == COLUMN_WAIT ||
			       column == COLUMN_RUNS))
		return;
	switch (column) {
	case COLUMN_HOLDER:
		holder_text(buf, size, m, row, next_ms);
		break;
	case COLUMN_TOKEN:
		if (row->row->s->has_token)
			snprintf(buf, size, "%" PRId64, row->row->s->token);
		break;
	case COLUMN_AGE:
		format_since(buf, m, row->row->v.state_since_us, next_ms);
		break;
	case COLUMN_WAIT:
		wait_text(buf, size, m, row->row, next_ms);
		break;
	case COLUMN_RUNS:
		runs_text(buf, size, row->row->s);
		break;
	case COLUMN_SINCE:
		format_clock(buf, m, row->row->v.state_since_us);
		break;
	case COLUMN_SOURCE:
		if (view)
			role_text(buf, size, view, true);
		else if (snap)
			snprintf(buf, size, "%s", snap->source);
		break;
	case COLUMN_MECH:
		snprintf(buf, size, "%s",
			view ? "role" : mechanism_word(row->row->s->mechanism)->word);
		break;
	case COLUMN_ROLE:
		if (view || row_role(row->row))
			snprintf(buf, size, "%s", view ? view->role->name : row_role(row->row));
		break;
	case COLUMN_FIT:
		if (row->row->v.fit)
			snprintf(buf, size, "%s", fitness_word(row->row->v.fit));
		break;
	default:
		break;
	}
}

/*
 * The id, whole; where a column names the source the path is enough. The name stands behind it as
 * far as there is room.
 */
static void draw_name(struct canvas *c, struct area a, int y, const struct layout *l,
	const struct listing_row *row, enum style style)
{
	const struct singleton *s = row->row->s;
	const char *id = l->x[COLUMN_SOURCE] >= 0 && row->kind == LISTING_SINGLETON
				 ? singleton_path(s)
				 : s->id;
	const char *name = s->more->name;
	int used = canvas_width(c, id), room = l->name_w - used - 2;

	canvas_fit(c, a, y, BEFORE_NAME, l->name_w, style, FIT_MIDDLE, id);
	if (name && room >= 4)
		canvas_fit(c, a, y, BEFORE_NAME + used + 2, room, STYLE_DIM, FIT_LEFT, name);
}

static void draw_source_row(const struct model *m, struct canvas *c, struct area a, int y,
	const struct listing_row *row)
{
	const struct snapshot *snap = listing_snapshot(m->listing, row);
	const struct row *cross = m->board->cross ? m->board->cross[row->snap] : NULL;
	const struct verdict *v = cross && cross->v.n_findings ? &cross->v : &row->row->v;
	char text[512];

	canvas_put(c, a, y, 1, STYLE_STATE_SOURCE, "! SOURCE");
	if (snap->state == SOURCE_FAILING)
		snprintf(text, sizeof(text), "%s can't be read: %s", snap->source,
			snap->error ? snap->error : "no answer");
	else if (v->n_findings)
		snprintf(text, sizeof(text), "%s: %s", finding_word(v->findings[0].code)->word,
			v->findings[0].text);
	else
		snprintf(text, sizeof(text), "%s",
			snap->error ? snap->error : source_state_word(snap->state));
	if (snap->state != SOURCE_FAILING)
		canvas_put(c, a, y, BEFORE_NAME, STYLE_STRONG, snap->source);
	canvas_fit(c, a, y,
		snap->state == SOURCE_FAILING ? BEFORE_NAME
					      : BEFORE_NAME + canvas_width(c, snap->source) + 2,
		a.w - BEFORE_NAME - 1 -
			(snap->state == SOURCE_FAILING ? 0 : canvas_width(c, snap->source) + 2),
		STYLE_STATE_SOURCE, FIT_LEFT, text);
}

/* A state that is calm by itself, of a row that needs a person all the same: for what was found. */
static void draw_need(
	struct canvas *c, struct area a, int y, enum state state, const struct row *row)
{
	if (row->v.needs_attention && row->v.n_findings && state >= STATE_EXPIRING &&
		state != STATE_UNKNOWN)
		canvas_put(c, a, y, 2, style_of_severity(row->v.findings[0].severity), "!");
}

static void draw_row(const struct model *m, struct canvas *c, struct area a, int y,
	const struct layout *l, const struct listing_row *row)
{
	enum state state = listing_state(m->listing, row);
	enum style style = style_of_state(state), text = STYLE_TEXT;
	char buf[600];
	int i;

	if (state == STATE_UNKNOWN)
		text = STYLE_STALE;
	snprintf(buf, sizeof(buf), "%c", state_word(state)->letter);
	canvas_put(c, a, y, 1, style, buf);
	canvas_put(c, a, y, 3, style, state_word(state)->word);
	draw_need(c, a, y, state, row->row);
	draw_name(c, a, y, l, row, row->kind == LISTING_ROLE ? STYLE_STRONG : text);
	for (i = 0; i < COLUMN_COUNT; i++) {
		if (l->x[i] < 0)
			continue;
		if (i == COLUMN_LEASE && state != STATE_UNKNOWN) {
			draw_lease(m, c, a, y, l->x[i], l->w[i], row->row->s);
			continue;
		}
		cell_text(buf, sizeof(buf), (enum column_id)i, m, row, &c->next_ms);
		if (i == COLUMN_HOLDER && listing_is_unread(m->listing, row))
			fit_seen(buf, c, l->w[i]);
		canvas_fit(c, a, y, l->x[i], l->w[i], strcmp(buf, "-") == 0 ? STYLE_DIM : text,
			columns[i].fit, buf);
	}
}

/* A paragraph for each line. */
static void tell_looked_for(struct prose *p, const char *text)
{
	while (*text) {
		size_t n = strcspn(text, "\n");

		prose_add(p, STYLE_TEXT, "", 1, STYLE_TEXT, "%.*s", (int)n, text);
		text += n;
		text += *text == '\n';
	}
}

/* A word that is no field is looked for as text, since ids have colons: said where that finds
 * nothing. */
static void tell_fields(struct prose *p, const char *filter)
{
	const char *name, *help;
	struct str names;
	size_t i;

	if (!strpbrk(filter, ":<>="))
		return;
	str_init(&names, 1024);
	for (i = 0; filter_field_help(i, &name, &help); i++)
		str_addf(&names, "%s%s", i ? " " : "", name);
	prose_add(p, STYLE_DIM, "", 1, STYLE_DIM,
		"The filter's fields are %s; other words are looked for as text. ? tells more.",
		names.s);
	str_release(&names);
}

/* Why there is nothing to see. */
static void draw_empty(const struct model *m, struct canvas *c, struct area a)
{
	size_t i, waiting = 0, failing = 0, n = m->board ? m->board->n_snapshots : 0;
	struct prose p;

	prose_init(&p);
	for (i = 0; i < n; i++) {
		waiting += m->board->snapshots[i]->state == SOURCE_CONNECTING;
		failing += m->board->snapshots[i]->state == SOURCE_FAILING;
	}
	if (m->looked_for) {
		prose_add(&p, STYLE_STRONG, "", 1, STYLE_STRONG, "There is no source to look at.");
		tell_looked_for(&p, m->looked_for);
	} else if (!m->board || waiting == n) {
		prose_add(&p, STYLE_TEXT, "", 1, STYLE_TEXT, "Connecting to %zu source%s ...", n,
			n == 1 ? "" : "s");
	} else if (listing_total(m->listing)) {
		prose_add(&p, STYLE_STRONG, "", 1, STYLE_STRONG, "No row matches the filter: %s",
			listing_filter_text(m->listing));
		prose_add(&p, STYLE_TEXT, "", 1, STYLE_TEXT,
			"%zu rows are hidden by it. Esc ends the filter.",
			listing_total(m->listing));
		tell_fields(&p, listing_filter_text(m->listing));
	} else {
		prose_add(&p, STYLE_STRONG, "", 1, STYLE_STRONG,
			"Nothing is held, and nobody waits.");
		prose_add(&p, STYLE_TEXT, "", 1, STYLE_TEXT,
			"%zu of %zu sources answered. Locks show here while a session holds or "
			"awaits them; elections "
			"and locks of etcd when there are candidates. 4 shows the sources.",
			n - waiting - failing, n);
	}
	prose_draw(&p, c, area_sub(a, 1, 1, a.h - 1, a.w - 2), 0, NULL);
	prose_release(&p);
}

static void draw_list(struct board_view *v, const struct model *m, struct canvas *c, struct area a)
{
	size_t n = listing_count(m->listing), i;
	struct layout l;
	int y;

	layout_make(m, &l, a.w, v->scroll);
	draw_heads(m, c, a, &l);
	v->page = a.h > 2 ? a.h - 1 : 1;
	v->top = cursor_top(v->top, v->at, n, v->page);
	v->list_y = a.y + 1;
	if (!n)
		draw_empty(m, c, a);
	for (i = v->top, y = 1; i < n && y < a.h; i++, y++) {
		const struct listing_row *row = listing_at(m->listing, i);
		const char *id = row->row->s->id;

		if (row->kind == LISTING_SOURCE)
			draw_source_row(m, c, a, y, row);
		else
			draw_row(m, c, a, y, &l, row);
		if (v->marks.n && map_get(&v->marks, id, strlen(id)))
			canvas_put(c, a, y, 0, STYLE_MARK, "*");
		if (i == v->at) {
			canvas_over(c, a, y, 0, a.w, STYLE_CURSOR);
			if (!(v->marks.n && map_get(&v->marks, id, strlen(id))))
				canvas_glyph(c, a, y, 0, STYLE_TEXT, GLYPH_CURSOR_LEFT);
		}
	}
}

static void draw_story(
	const struct board_view *v, const struct model *m, struct canvas *c, struct area a)
{
	struct prose p;

	if (v->at >= listing_count(m->listing))
		return;
	prose_init(&p);
	story_tell(&p, m, listing_at(m->listing, v->at), false);
	prose_draw(&p, c, a, 0, "  ... Enter shows all of it");
	prose_release(&p);
}

static void board_draw(void *state, const struct model *m, struct canvas *c, struct area a)
{
	struct board_view *v = state;
	int story = a.h / 3, table = a.w * 3 / 5;

	if (c->w >= VERY_WIDE) {
		if (a.w - table > 90)
			table = a.w - 90;
		draw_list(v, m, c, area_sub(a, 0, 0, a.h, table));
		for (story = 0; story < a.h; story++)
			canvas_glyph(c, a, story, table, STYLE_FRAME, GLYPH_VLINE);
		draw_story(v, m, c, area_sub(a, 0, table + 2, a.h, a.w - table - 3));
		return;
	}
	if (a.h < 10)
		story = 0;
	else if (story < 5)
		story = 5;
	draw_list(v, m, c, area_sub(a, 0, 0, story ? a.h - story - 1 : a.h, a.w));
	if (!story)
		return;
	canvas_fill(c, a, a.h - story - 1, 0, a.w, STYLE_FRAME, GLYPH_HLINE);
	draw_story(v, m, c, area_sub(a, a.h - story, 0, story, a.w));
}

static void board_mark(struct board_view *v, const struct model *m)
{
	const char *id;
	char *own, *old;

	if (v->at >= listing_count(m->listing))
		return;
	id = listing_at(m->listing, v->at)->row->s->id;
	old = map_remove(&v->marks, id, strlen(id));
	if (old) {
		free(old);
	} else {
		own = xstrdup(id);
		map_put(&v->marks, own, strlen(own), own);
	}
	if (v->at + 1 < listing_count(m->listing))
		v->at++;
}

static void board_copy(const struct board_view *v, const struct model *m, struct view_reply *reply)
{
	size_t i;

	if (!v->marks.n) {
		if (v->at < listing_count(m->listing))
			view_reply_set(
				reply, REPLY_COPY, "%s", listing_at(m->listing, v->at)->row->s->id);
		return;
	}
	reply->kind = REPLY_COPY;
	str_clear(&reply->text);
	for (i = 0; i < listing_count(m->listing); i++) {
		const char *id = listing_at(m->listing, i)->row->s->id;

		if (map_get(&v->marks, id, strlen(id)))
			str_addf(&reply->text, "%s%s", reply->text.len ? "\n" : "", id);
	}
}

static void board_act_on(
	const struct board_view *v, const struct model *m, struct view_reply *reply)
{
	board_copy(v, m, reply);
	if (reply->kind == REPLY_COPY)
		reply->kind = REPLY_ACT;
}

static int board_cursor_y(const void *state)
{
	const struct board_view *v = state;

	return v->list_y + (int)(v->at - v->top);
}

static void board_enter(const struct board_view *v, const struct model *m, struct view_reply *reply)
{
	const struct listing_row *row;

	if (v->at >= listing_count(m->listing))
		return;
	row = listing_at(m->listing, v->at);
	view_reply_set(reply, REPLY_OPEN, "%s", row->row->s->id);
}

static bool board_move(struct board_view *v, size_t n, enum action action)
{
	if (!cursor_move(&v->at, n, v->page, action))
		return false;
	v->moved = true;
	return true;
}

static bool board_act(
	void *state, const struct model *m, enum action action, struct view_reply *reply)
{
	struct board_view *v = state;

	if (board_move(v, listing_count(m->listing), action))
		return true;
	switch (action) {
	case ACTION_LEFT:
		v->scroll -= v->scroll > 0;
		return true;
	case ACTION_RIGHT:
		v->scroll += v->scroll < COLUMN_COUNT - 1;
		return true;
	case ACTION_OPEN:
		v->moved = true;
		board_enter(v, m, reply);
		return true;
	case ACTION_MARK:
		v->moved = true;
		board_mark(v, m);
		return true;
	case ACTION_BACK:
		board_unmark(v);
		return true;
	case ACTION_COPY:
		board_copy(v, m, reply);
		return true;
	case ACTION_ACT:
		v->moved = true;
		board_act_on(v, m, reply);
		return true;
	default:
		return false;
	}
}

static void board_mouse(void *state, const struct model *m, const struct input_event *event,
	bool again, struct view_reply *reply)
{
	struct board_view *v = state;
	size_t n = listing_count(m->listing), row;

	if (event->button == BUTTON_WHEEL_UP || event->button == BUTTON_WHEEL_DOWN) {
		board_move(v, n, event->button == BUTTON_WHEEL_UP ? ACTION_UP : ACTION_DOWN);
		return;
	}
	if (event->button != BUTTON_LEFT || event->y < v->list_y || event->y >= v->list_y + v->page)
		return;
	row = v->top + (size_t)(event->y - v->list_y);
	if (row >= n)
		return;
	v->at = row;
	v->moved = true;
	if (again)
		board_enter(v, m, reply);
}

static const struct listing_row *board_cursor(const void *state, const struct model *m)
{
	const struct board_view *v = state;

	return v->at < listing_count(m->listing) ? listing_at(m->listing, v->at) : NULL;
}

static size_t board_wanted(const void *state, const struct model *m, const char **ids, size_t max)
{
	const struct board_view *v = state;
	size_t i, n = listing_count(m->listing), count = 0;

	for (i = v->top; i < n && i < v->top + (size_t)v->page; i++)
		count += view_ids(m, listing_at(m->listing, i), ids + count, max - count);
	return count;
}

static void board_status(const void *state, const struct model *m, struct str *out)
{
	const struct board_view *v = state;
	size_t n = listing_count(m->listing), total = listing_total(m->listing);
	bool reverse;
	enum sort sort = listing_sorted(m->listing, &reverse);

	if (v->marks.n)
		str_addf(out, "%zu marked  ", v->marks.n);
	str_addf(out, "%zu/%zu", n ? v->at + 1 : 0, n);
	if (n != total)
		str_addf(out, " of %zu", total);
	str_addf(out, "  by %s%s", reverse ? "-" : "", sort_name(sort));
}

static const enum action board_hints[] = { ACTION_OPEN, ACTION_ACT, ACTION_FILTER, ACTION_NEED,
	ACTION_COMMAND, ACTION_SORT, ACTION_VIEW_RUNS, ACTION_VIEW_EVENTS, ACTION_VIEW_SOURCES,
	ACTION_HELP, ACTION_QUIT, ACTION_NONE };

const struct view_ops view_board_ops = {
	.name = "board",
	.title = "",
	.least_h = 5,
	.least_w = 40,
	.hints = board_hints,
	.lists = true,
	.open = board_open,
	.close = board_close,
	.sync = board_sync,
	.draw = board_draw,
	.act = board_act,
	.mouse = board_mouse,
	.cursor = board_cursor,
	.wanted = board_wanted,
	.cursor_y = board_cursor_y,
	.unmark = board_unmark,
	.status = board_status,
};
