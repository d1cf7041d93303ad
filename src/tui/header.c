#include "config.h"

#include "tui/header.h"
#include "tui/format.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The environment that asks for most care: prod, or one that was not said, before staging, before
 * the rest. */
static int env_rank(const char *env)
{
	enum style style = style_of_env(env);

	return style == STYLE_ENV_PROD ? 0 : style == STYLE_ENV_STAGING ? 1 : 2;
}

static const struct snapshot *strictest(const struct model *m)
{
	const struct board *b = m->board;
	const struct snapshot *found = NULL;
	size_t i;

	/* One singleton has one source, whose word counts. */
	for (i = 0; b && m->id && i < b->n_snapshots; i++) {
		size_t len = strlen(b->snapshots[i]->source);

		if (strncmp(m->id, b->snapshots[i]->source, len) == 0 && m->id[len] == '/')
			return b->snapshots[i];
	}

	for (i = 0; b && i < b->n_snapshots; i++)
		if (!found || env_rank(b->snapshots[i]->environment) < env_rank(found->environment))
			found = b->snapshots[i];
	return found;
}

static bool other_envs(const struct board *b, const struct snapshot *than)
{
	size_t i;

	for (i = 0; i < b->n_snapshots; i++)
		if (!str_eq(b->snapshots[i]->environment, than->environment))
			return true;
	return false;
}

static int draw_env(const struct model *m, struct canvas *c, int x)
{
	const struct snapshot *snap = strictest(m);
	struct area a = canvas_all(c);
	char env[32];

	if (!snap)
		return x;
	format_env(env, snap->environment);
	x += canvas_putf(c, a, 0, x, style_of_env(snap->environment), " %s ", env);
	if (c->w >= 70 && !m->id && other_envs(m->board, snap))
		x += canvas_put(c, a, 0, x, STYLE_DIM, "+others");
	return x + 2;
}

static enum style frame_style(const struct model *m)
{
	const struct snapshot *snap = strictest(m);

	if (m->ago_ms)
		return STYLE_FRAME_PAST;
	if (m->mark)
		return m->past ? STYLE_FRAME_PAST : STYLE_FRAME_SIM;
	if (!snap)
		return STYLE_FRAME;
	switch (style_of_env(snap->environment)) {
	case STYLE_ENV_PROD:
		return STYLE_FRAME_PROD;
	case STYLE_ENV_STAGING:
		return STYLE_FRAME_STAGING;
	case STYLE_ENV_LAB:
		return STYLE_FRAME_LAB;
	default:
		return STYLE_FRAME;
	}
}

static int draw_need(const struct model *m, struct canvas *c, int x)
{
	static const char calm[] = "nothing needs you";
	struct area a = canvas_all(c);
	size_t i, n = m->board ? m->board->n_attention : 0;

	if (!m->board || !m->board->n_snapshots)
		return x;
	if (n) {
		char text[40];

		/* A number that is cut would be another number. */
		snprintf(text, sizeof(text), " %zu need%s you ", n, n == 1 ? "s" : "");
		if (x + canvas_width(c, text) > c->w + 1)
			snprintf(text, sizeof(text), " %zu! ", n);
		if (x + canvas_width(c, text) > c->w + 1)
			snprintf(text, sizeof(text), "!");
		return x + canvas_put(c, a, 0, x, STYLE_HEADER_NEED, text) + 2;
	}
	/* Nobody is needed only as far as everything could be read. */
	for (i = 0; i < m->board->n_snapshots; i++)
		if (m->board->snapshots[i]->picture_ms == TIME_UNKNOWN)
			return x;
	if (x + (int)strlen(calm) > c->w)
		return x;
	return x + canvas_put(c, a, 0, x, STYLE_HEADER_CALM, calm) + 2;
}

/* "orders <5s", "ctl ~", "kube! 4m": the text, and its style. */
static enum style source_text(
	char *buf, size_t size, const struct model *m, const struct snapshot *s, int64_t *next_ms)
{
	char age[CLOCK_TEXT_MAX];

	switch (s->state) {
	case SOURCE_CONNECTING:
		snprintf(buf, size, "%s ...", s->source);
		return STYLE_DIM;
	case SOURCE_FAILING:
		if (s->picture_ms == TIME_UNKNOWN) {
			snprintf(buf, size, "%s! never read", s->source);
			return STYLE_HEADER_FAILING;
		}
		format_picture_age(age, m, s->picture_ms, next_ms);
		snprintf(buf, size, "%s! %s", s->source, age);
		return STYLE_HEADER_FAILING;
	default:
		if (s->live && m->now_ms - s->picture_ms < 15000) {
			snprintf(buf, size, "%s ~", s->source);
			if (s->picture_ms + 15000 < *next_ms)
				*next_ms = s->picture_ms + 15000;
		} else {
			format_picture_age(age, m, s->picture_ms, next_ms);
			snprintf(buf, size, "%s %s", s->source, age);
		}
		return s->state == SOURCE_DEGRADED ? STYLE_STATE_EXPIRING : STYLE_HEADER_SOURCE;
	}
}

/* "+5": how many sources were left out. */
static int left_out_text(char buf[24], size_t n)
{
	return snprintf(buf, 24, "+%zu", n);
}

/* Draws the sources of a state class from x on; those that don't fit are counted. */
static int draw_sources_of(
	const struct model *m, struct canvas *c, int x, bool failing, size_t *left_out)
{
	const struct board *b = m->board;
	struct area a = canvas_all(c);
	char count[24];
	int tail = 2 + left_out_text(count, b ? b->n_snapshots : 0);
	/* Where the picture is held still, it gets older all the same. */
	struct model live = *m;
	int64_t next_ms = INT64_MAX;
	size_t i;
	char text[160];

	live.now_ms += m->paused_ms;

	for (i = 0; b && i < b->n_snapshots; i++) {
		const struct snapshot *s = b->snapshots[i];
		enum style style;
		int w;

		if ((s->state == SOURCE_FAILING) != failing)
			continue;
		style = source_text(text, sizeof(text), &live, s, &next_ms);
		w = canvas_width(c, text);
		if (x + w > c->w - tail && (*left_out || i + 1 < b->n_snapshots || x + w > c->w)) {
			(*left_out)++;
			continue;
		}
		x += canvas_put(c, a, 0, x, style, text) + 2;
	}
	if (next_ms != INT64_MAX)
		canvas_until(c, next_ms - m->paused_ms);
	return x;
}

static void draw_sources(const struct model *m, struct canvas *c, int x)
{
	size_t left_out = 0;
	char count[24];

	x = draw_sources_of(m, c, x, true, &left_out);
	x = draw_sources_of(m, c, x, false, &left_out);
	/* Cut, it would be another number. */
	if (left_out && x + left_out_text(count, left_out) <= c->w)
		canvas_put(c, canvas_all(c), 0, x, STYLE_DIM, count);
}

static enum glyph frame_glyph(const struct model *m)
{
	if (!m->mark)
		return GLYPH_HLINE;
	return m->past ? GLYPH_HLINE_DOUBLE : GLYPH_HLINE_DASHED;
}

enum {
	WIDE = 100,
	FIVE_S = 5000,
	MINUTE = 60000
};

/* " S02 1:15/5:00": a lesson and its clock. */
static int draw_lesson(const struct model *m, struct canvas *c, int x)
{
	const struct lesson *l = m->lesson ? m->lesson->run->lesson : NULL;
	char at[SCORE_CLOCK_MAX], limit[SCORE_CLOCK_MAX];

	if (!l)
		return 0;
	score_clock(at, m->lesson->state.now_ms);
	score_clock(limit, l->rules.limit_ms);
	if (!m->lesson->debrief)
		canvas_until(c, m->now_ms + 1000 - m->lesson->state.now_ms % 1000);
	if (c->w < WIDE || m->lesson->debrief)
		return canvas_putf(c, canvas_all(c), 0, x, STYLE_HEADER_MODE, " %s %s", l->number,
			m->lesson->debrief ? "over" : at);
	return canvas_putf(
		c, canvas_all(c), 0, x, STYLE_HEADER_MODE, " %s %s/%s", l->number, at, limit);
}

/* "[REPLAY x10]" */
static int draw_mark(const struct model *m, struct canvas *c, int x)
{
	char speed[FORMAT_SPEED_MAX], at[CLOCK_TEXT_MAX];
	int from = x;

	if (!m->mark)
		return 0;
	format_speed(speed, m->speed);
	x += canvas_putf(c, canvas_all(c), 0, x, STYLE_HEADER_MARK, "[%s %s]", m->mark, speed);
	if (m->past && !m->ago_ms) {
		clock_format_utc(at, m->now_us, 0);
		x += canvas_putf(c, canvas_all(c), 0, x, STYLE_HEADER, " %.8s", at + 11);
		canvas_until(c, m->now_ms + 1000 - m->now_us / 1000 % 1000);
	}
	return x - from + draw_lesson(m, c, x);
}

/* " [PAUSED 10s]": what is shown was so long ago. */
static int draw_paused(const struct model *m, struct canvas *c, int x)
{
	char age[CLOCK_TEXT_MAX];

	if (m->paused_ms < FIVE_S) {
		canvas_until(c, m->now_ms + FIVE_S - m->paused_ms);
		return canvas_put(c, canvas_all(c), 0, x, STYLE_HEADER_MODE, " [PAUSED]");
	}
	clock_format_age(
		age, m->paused_ms < MINUTE ? m->paused_ms - m->paused_ms % FIVE_S : m->paused_ms);
	canvas_until(c, m->now_ms + (m->paused_ms < MINUTE ? FIVE_S - m->paused_ms % FIVE_S
							   : format_age_holds_ms(m->paused_ms)));
	return canvas_putf(c, canvas_all(c), 0, x, STYLE_HEADER_MODE, " [PAUSED %s]", age);
}

/* What is left of the time in which acts may be begun is always seen. */
static int draw_mode(const struct model *m, struct canvas *c, int x)
{
	struct area a = canvas_all(c);
	int64_t left_s = m->armed_ms / 1000 + (m->armed_ms % 1000 > 0);
	char at[CLOCK_TEXT_MAX];

	if (m->recording)
		x += canvas_put(c, a, 0, x, STYLE_HEADER_MARK, "[REC]") + 1;
	x += draw_mark(m, c, x);
	if (m->mark && !(m->past && !m->ago_ms))
		x++;
	if (m->ago_ms) {
		format_clock(at, m, m->now_us);
		x += canvas_putf(c, a, 0, x, STYLE_HEADER_PAST, "[PAST %s]", at);
	} else if (m->past) {
		left_s = 0;
	} else if (m->armed_ms == INT64_MAX) {
		x += canvas_put(c, a, 0, x, STYLE_HEADER_ARMED, "[ARMED]");
	} else if (m->armed_ms > 0) {
		x += canvas_putf(c, a, 0, x, STYLE_HEADER_ARMED,
			"[ARMED %" PRId64 ":%02" PRId64 "]", left_s / 60, left_s % 60);
		canvas_until(c, m->now_ms + (m->armed_ms - 1) % 1000 + 1);
	} else {
		x += canvas_put(c, a, 0, x, STYLE_HEADER_MODE, "[READ-ONLY]");
	}
	if (m->paused)
		x += draw_paused(m, c, x);
	return x + 2;
}

/* The whole second line says it: what is old must not be taken for what is. */
static void draw_past(const struct model *m, struct canvas *c)
{
	struct area a = canvas_all(c);
	char at[CLOCK_TEXT_MAX], age[CLOCK_TEXT_MAX];
	int x = 1;

	format_clock(at, m, m->now_us);
	clock_format_age(age, m->ago_ms);
	canvas_fit(c, a, 1, 0, c->w, STYLE_HEADER_PAST, FIT_LEFT, "");
	x += canvas_putf(c, a, 1, x, STYLE_HEADER_PAST, "PAST %s ", at);
	canvas_glyph(c, a, 1, x, STYLE_HEADER_PAST, GLYPH_DOT);
	canvas_putf(c, a, 1, x + 2, STYLE_HEADER_PAST, "%s ago%s", age,
		c->w < 70 ? "" : "   < earlier   > later   . now   no verb works here");
}

void header_draw(const struct model *m, const char *where, struct canvas *c)
{
	struct area a = canvas_all(c);
	int x = 1;

	x += canvas_put(c, a, 0, x, STYLE_HEADER_NAME, "baton");
	if (*where) {
		char text[512];
		/* What drives the time takes room of its own; the view's first line has it whole.
		 */
		int w = canvas_width(c, where), room = m->mark ? c->w / 4 : c->w * 2 / 5;

		x += canvas_put(c, a, 0, x, STYLE_HEADER, " > ");
		snprintf(text, sizeof(text), "%s", where);
		w = w > room ? room : w;
		canvas_fit(c, a, 0, x, w, STYLE_HEADER_NAME, FIT_MIDDLE, text);
		x += w;
	}
	x = draw_env(m, c, x + 2);
	x = draw_mode(m, c, x);
	x = draw_need(m, c, x);
	draw_sources(m, c, x);
	c->doubled = m->ago_ms > 0;
	if (m->ago_ms)
		draw_past(m, c);
	else
		canvas_fill(c, a, 1, 0, c->w, frame_style(m), frame_glyph(m));
}
