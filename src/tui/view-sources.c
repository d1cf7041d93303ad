#include "config.h"

#include "tui/view.h"
#include "base/mem.h"
#include "tui/format.h"
#include "tui/input.h"
#include "tui/story.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	SAMPLES = 60,
	SOURCES_MAX = 256,
	SAMPLE_MS = 1000
};

/* The last minute's round trips of a source, and what it had cost a minute ago. */
struct source_samples {
	int64_t trip_ms[SAMPLES];
	uint64_t requests[SAMPLES], bytes[SAMPLES];
	int64_t at_ms[SAMPLES];
	size_t n; /* ever taken; the newest is n - 1, modulo SAMPLES */
	uint64_t seq;
};

/* The sources: health, what polling costs, what can't be seen. */
struct sources_view {
	size_t at, top;
	int page, list_y;
	struct source_samples *samples;
	size_t n_samples;
};

static void *sources_open(void)
{
	struct sources_view *v = xcalloc(1, sizeof(*v));

	v->page = 1;
	return v;
}

static void sources_close(void *state)
{
	struct sources_view *v = state;

	free(v->samples);
	free(v);
}

static size_t sources_count(const struct model *m)
{
	return m->board ? m->board->n_snapshots : 0;
}

/* One sample for each answer, at most one a second. */
static void sample(struct source_samples *s, const struct model *m, const struct snapshot *snap)
{
	size_t last = (s->n + SAMPLES - 1) % SAMPLES, i;

	if (snap->seq == s->seq || (s->n && m->now_ms - s->at_ms[last] < SAMPLE_MS))
		return;
	s->seq = snap->seq;
	i = s->n++ % SAMPLES;
	s->trip_ms[i] = snap->cost.round_trip_ms;
	s->requests[i] = snap->cost.requests;
	s->bytes[i] = snap->cost.bytes_in + snap->cost.bytes_out;
	s->at_ms[i] = m->now_ms;
}

static void sources_sync(void *state, const struct model *m)
{
	struct sources_view *v = state;
	size_t n = sources_count(m), i;

	if (n > v->n_samples) {
		v->samples = xrealloc(v->samples, n, sizeof(*v->samples));
		memset(v->samples + v->n_samples, 0, (n - v->n_samples) * sizeof(*v->samples));
		v->n_samples = n;
	}
	/* The samples are of what polling costs now. */
	for (i = 0; i < n && !m->ago_ms; i++)
		sample(&v->samples[i], m, m->board->snapshots[i]);
	if (v->at >= n)
		v->at = n ? n - 1 : 0;
}

/* Cost over the samples, for a minute; false while there are too few. */
static bool cost_per_minute(
	const struct source_samples *s, uint64_t *ret_requests, uint64_t *ret_bytes)
{
	size_t first = s->n > SAMPLES ? s->n % SAMPLES : 0, last = (s->n + SAMPLES - 1) % SAMPLES;
	int64_t span;

	if (s->n < 2)
		return false;
	span = s->at_ms[last] - s->at_ms[first];
	if (span < 2000)
		return false;
	*ret_requests = (s->requests[last] - s->requests[first]) * 60000 / (uint64_t)span;
	*ret_bytes = (s->bytes[last] - s->bytes[first]) * 60000 / (uint64_t)span;
	return true;
}

/* Round trips as a line of bars, the newest at the right; the highest bar is the longest of them.
 */
static void draw_trips(
	const struct source_samples *s, struct canvas *c, struct area a, int y, int x, int w)
{
	static const char ascii[] = "_.-=+*#@";
	int64_t most = 1;
	size_t i, n = s->n < SAMPLES ? s->n : SAMPLES;

	if ((int)n > w)
		n = (size_t)w;
	for (i = 0; i < n; i++) {
		int64_t t = s->trip_ms[(s->n - n + i) % SAMPLES];

		most = t != TIME_UNKNOWN && t > most ? t : most;
	}
	for (i = 0; i < n; i++) {
		int64_t t = s->trip_ms[(s->n - n + i) % SAMPLES];
		int level = t == TIME_UNKNOWN ? 0 : (int)((double)t * 7 / (double)most);
		char bar[4] = { (char)0xe2, (char)0x96, (char)(0x81 + level), 0 };

		if (c->ascii) {
			bar[0] = ascii[level];
			bar[1] = '\0';
		}
		canvas_put(c, a, y, x + (int)i, STYLE_DIM, t == TIME_UNKNOWN ? " " : bar);
	}
}

static enum style health_style(const struct snapshot *s)
{
	switch (s->state) {
	case SOURCE_FAILING:
		return STYLE_HEADER_FAILING;
	case SOURCE_DEGRADED:
		return STYLE_STATE_EXPIRING;
	case SOURCE_CONNECTING:
		return STYLE_DIM;
	default:
		return STYLE_HEADER_CALM;
	}
}

static void draw_source(const struct sources_view *v, const struct model *m, struct canvas *c,
	struct area a, int y, size_t i)
{
	const struct snapshot *s = m->board->snapshots[i];
	char text[CLOCK_TEXT_MAX], env[32];
	uint64_t requests, bytes;
	int x = 16;

	format_env(env, s->environment);
	canvas_fit(c, a, y, 1, 14, STYLE_STRONG, FIT_MIDDLE, s->source);
	canvas_fit(c, a, y, x, 10, STYLE_TEXT, FIT_LEFT, s->kind);
	x++;
	canvas_fit(c, a, y, x + 10, 11, style_of_env(s->environment), FIT_LEFT, env);
	canvas_fit(c, a, y, x + 22, 10, health_style(s), FIT_LEFT, source_state_word(s->state));
	format_picture_age(text, m, s->picture_ms, &c->next_ms);
	canvas_fit(c, a, y, x + 33, 6, STYLE_TEXT, FIT_RIGHT, s->live ? "~" : text);
	snprintf(text, sizeof(text), "%zu", s->n_rows);
	canvas_fit(c, a, y, x + 40, 7, STYLE_TEXT, FIT_RIGHT, text);
	snprintf(text, sizeof(text), s->cost.round_trip_ms == TIME_UNKNOWN ? "-" : "%" PRId64 " ms",
		s->cost.round_trip_ms);
	canvas_fit(c, a, y, x + 48, 9, STYLE_TEXT, FIT_RIGHT, text);
	if (a.w < 100)
		return;
	if (cost_per_minute(&v->samples[i], &requests, &bytes)) {
		snprintf(text, sizeof(text), "%" PRIu64, requests);
		canvas_fit(c, a, y, x + 58, 8, STYLE_TEXT, FIT_RIGHT, text);
		snprintf(text, sizeof(text), "%" PRIu64, (bytes + 500) / 1000);
		canvas_fit(c, a, y, x + 67, 8, STYLE_TEXT, FIT_RIGHT, text);
	}
	draw_trips(
		&v->samples[i], c, a, y, x + 77, a.w - x - 78 > SAMPLES ? SAMPLES : a.w - x - 78);
}

static void draw_source_heads(struct canvas *c, struct area a)
{
	static const struct {
		int x, w;
		enum fit fit;
		const char *head;
	} heads[] = { { 1, 14, FIT_LEFT, "SOURCE" }, { 16, 10, FIT_LEFT, "KIND" },
		{ 27, 11, FIT_LEFT, "ENV" }, { 39, 10, FIT_LEFT, "HEALTH" },
		{ 50, 6, FIT_RIGHT, "AGE" }, { 57, 7, FIT_RIGHT, "ROWS" },
		{ 65, 9, FIT_RIGHT, "ANSWER" }, { 75, 8, FIT_RIGHT, "REQ/MIN" },
		{ 84, 8, FIT_RIGHT, "KB/MIN" }, { 94, 20, FIT_LEFT, "ANSWERS, LAST MINUTE" } };
	size_t i;

	for (i = 0; i < ARRAY_LEN(heads); i++)
		if (heads[i].x + heads[i].w < a.w && (heads[i].x < 75 || a.w >= 100))
			canvas_fit(c, a, 0, heads[i].x, heads[i].w, STYLE_TABLE_HEAD, heads[i].fit,
				heads[i].head);
}

static void sources_draw(void *state, const struct model *m, struct canvas *c, struct area a)
{
	struct sources_view *v = state;
	size_t n = sources_count(m), i;
	int list = (int)n + 1 < a.h / 2 ? (int)n + 1 : a.h / 2, y;
	struct prose p;

	draw_source_heads(c, a);
	v->list_y = a.y + 1;
	v->page = list > 1 ? list - 1 : 1;
	if (!n) {
		canvas_wrap(c, area_sub(a, 2, 1, a.h - 2, a.w - 2), 0, 0, 0, STYLE_TEXT,
			m->looked_for ? m->looked_for : "There is no source.");
		return;
	}
	if (v->at < v->top)
		v->top = v->at;
	if (v->at >= v->top + (size_t)v->page)
		v->top = v->at - (size_t)v->page + 1;
	for (i = v->top, y = 1; i < n && y < list; i++, y++) {
		draw_source(v, m, c, a, y, i);
		if (i == v->at)
			canvas_over(c, a, y, 0, a.w, STYLE_CURSOR);
	}
	canvas_fill(c, a, list, 0, a.w, STYLE_FRAME, GLYPH_HLINE);
	prose_init(&p);
	story_source(&p, m, m->board->snapshots[v->at],
		m->board->cross ? m->board->cross[v->at] : NULL, true);
	prose_draw(&p, c, area_sub(a, list + 1, 0, a.h - list - 1, a.w - 1), 0,
		"  ... Enter shows all of it");
	prose_release(&p);
}

static bool sources_act(
	void *state, const struct model *m, enum action action, struct view_reply *reply)
{
	struct sources_view *v = state;
	size_t n = sources_count(m), last = n ? n - 1 : 0;

	switch (action) {
	case ACTION_DOWN:
	case ACTION_PAGE_DOWN:
		v->at += v->at < last;
		return true;
	case ACTION_UP:
	case ACTION_PAGE_UP:
		v->at -= v->at > 0;
		return true;
	case ACTION_TOP:
		v->at = 0;
		return true;
	case ACTION_BOTTOM:
		v->at = last;
		return true;
	case ACTION_OPEN:
		if (v->at < n)
			view_reply_set(
				reply, REPLY_OPEN, "%s/", m->board->snapshots[v->at]->source);
		return true;
	case ACTION_COPY:
		if (v->at < n)
			view_reply_set(reply, REPLY_COPY, "%s", m->board->snapshots[v->at]->source);
		return true;
	default:
		return false;
	}
}

static void sources_mouse(void *state, const struct model *m, const struct input_event *event,
	bool again, struct view_reply *reply)
{
	struct sources_view *v = state;
	size_t row;

	if (event->button == BUTTON_WHEEL_UP || event->button == BUTTON_WHEEL_DOWN) {
		sources_act(
			v, m, event->button == BUTTON_WHEEL_UP ? ACTION_UP : ACTION_DOWN, reply);
		return;
	}
	if (event->button != BUTTON_LEFT || event->y < v->list_y || event->y >= v->list_y + v->page)
		return;
	row = v->top + (size_t)(event->y - v->list_y);
	if (row >= sources_count(m))
		return;
	v->at = row;
	if (again)
		sources_act(v, m, ACTION_OPEN, reply);
}

static void sources_status(const void *state, const struct model *m, struct str *out)
{
	const struct sources_view *v = state;

	str_addf(out, "%zu/%zu", sources_count(m) ? v->at + 1 : 0, sources_count(m));
}

static const enum action sources_hints[] = { ACTION_OPEN, ACTION_BACK, ACTION_VIEW_BOARD,
	ACTION_VIEW_EVENTS, ACTION_COMMAND, ACTION_HELP, ACTION_QUIT, ACTION_NONE };

const struct view_ops view_sources_ops = {
	.name = "sources",
	.title = "sources",
	.least_h = 5,
	.least_w = 40,
	.hints = sources_hints,
	.open = sources_open,
	.close = sources_close,
	.sync = sources_sync,
	.draw = sources_draw,
	.act = sources_act,
	.mouse = sources_mouse,
	.status = sources_status,
};
