#include "config.h"

#include "base/clock.h"
#include "base/civil.h"
#include "tui/gate-dialog.h"
#include "tui/input.h"
#include "tui/pick.h"
#include "tui/prose.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	LABEL_W = 15,
	DIALOG_W = 110,
	LEAST_BODY = 3, /* lines of the forecast that must be seen at once */
	OLD_MS = 10000, /* the age of a forecast from which on it is told */
};

void gate_dialog_init(struct gate_dialog *d)
{
	memset(d, 0, sizeof(*d));
	line_init(&d->reason);
	line_init(&d->typed);
	line_begin(&d->reason, "");
	line_begin(&d->typed, "");
}

void gate_dialog_release(struct gate_dialog *d)
{
	line_release(&d->reason);
	line_release(&d->typed);
}

void gate_dialog_say(struct gate_dialog *d, const char *text)
{
	snprintf(d->hint, sizeof(d->hint), "%s", text);
}

/* ---- what it says ---- */

static enum style label_style(const char *label)
{
	return label[0] == '!' ? STYLE_FINDING_WARN : STYLE_KEY;
}

/* Where a forecast's lines go, and what stands there already: why it was refused. */
struct telling {
	struct prose *p;
	const char *said; /* NULL: nothing */
};

static void tell_line(void *arg, const char *label, const char *text)
{
	const struct telling *t = arg;
	bool warning = label[0] == '!';

	if (t->said && strcmp(label, "not now") == 0 && strcmp(text, t->said) == 0)
		return;
	prose_add(t->p, label_style(label), label, LABEL_W,
		warning ? STYLE_FINDING_WARN : STYLE_TEXT, "%s", text);
}

static enum style outcome_style(enum gate_outcome outcome)
{
	switch (outcome) {
	case GATE_DONE:
		return STYLE_STATE_HELD;
	case GATE_CANCELLED:
	case GATE_NONE:
		return STYLE_DIM;
	case GATE_UNKNOWN:
	case GATE_PARTIAL:
		return STYLE_FINDING_CRIT;
	default:
		return STYLE_FINDING_WARN;
	}
}

static void tell_outcome(
	struct prose *p, const struct gate_view *view, const struct gate_item *item)
{
	/* A forecast that nobody meant to confirm was not cancelled. */
	if (item->outcome == GATE_NONE || (view->forecast_only && item->outcome == GATE_CANCELLED))
		return;
	prose_add(p, outcome_style(item->outcome), gate_outcome_word(item->outcome), LABEL_W,
		STYLE_STRONG, "%s", item->text);
	if (item->find_out)
		prose_add(p, STYLE_KEY, "find out", LABEL_W, STYLE_ADVICE, "%s", item->find_out);
	if (item->overlap == OVERLAP_OPEN)
		prose_add(p, STYLE_FINDING_WARN, "overlap", LABEL_W, STYLE_FINDING_WARN,
			"%s: not seen to stop. It may still work.",
			item->identity ? item->identity : item->id);
	else if (item->overlap == OVERLAP_CLOSED)
		prose_add(p, STYLE_KEY, "overlap", LABEL_W, STYLE_TEXT, "%s was seen to stop.",
			item->identity ? item->identity : item->id);
}

static void tell_which(struct prose *p, const struct gate_view *view, size_t i)
{
	const struct gate_item *item = &view->items[i];

	if (view->n_items > 1)
		prose_add(p, STYLE_STRONG, "", 1, STYLE_STRONG, "%zu of %zu: %s %s", i + 1,
			view->n_items, verb_word(item->verb)->word, item->id);
}

/* What is said first of one that is over; NULL: it was not refused. */
static const char *refused_text(const struct gate_view *view, size_t i)
{
	return view->phase == GATE_PHASE_OVER && view->items[i].outcome == GATE_REFUSED
		       ? view->items[i].text
		       : NULL;
}

static void tell_forecast(struct prose *p, const struct gate_view *view, size_t i)
{
	const struct gate_item *item = &view->items[i];
	struct telling t = { .p = p, .said = refused_text(view, i) };

	tell_which(p, view, i);
	if (item->forecast)
		forecast_tell(item->forecast, tell_line, &t);
	else if (view->phase == GATE_PHASE_READING)
		prose_add(p, STYLE_DIM, "", 1, STYLE_DIM,
			"Reads again what it is now; nothing is sent.");
}

static void tell_steps(struct prose *p, const struct gate_view *view)
{
	size_t i;

	for (i = 0; i < view->n_steps; i++) {
		const struct gate_step *s = &view->steps[i];
		const char *said = s->item < view->n_items ? refused_text(view, s->item) : NULL;
		int64_t ms = s->at_us / 1000;
		char mark[24];

		if (said && strcmp(said, s->text) == 0)
			continue;

		snprintf(mark, sizeof(mark), "%02d:%02d:%02d.%03d", (int)(ms / 3600000 % 24),
			(int)(ms / 60000 % 60), (int)(ms / 1000 % 60), (int)(ms % 1000));
		prose_add(p, STYLE_DIM, mark, LABEL_W, STYLE_TEXT, "%s: %s", s->step, s->text);
	}
}

/* How it ended, and of a set how each did. */
static void tell_end(struct prose *p, const struct gate_view *view)
{
	size_t i;

	if (view->forecast_only && view->outcome == GATE_CANCELLED)
		prose_add(p, STYLE_KEY, "forecast", LABEL_W, STYLE_STRONG,
			"only that: nothing was sent, and nothing will be");
	else if (view->n_items != 1)
		prose_add(p, outcome_style(view->outcome), gate_outcome_word(view->outcome),
			LABEL_W, STYLE_STRONG, "%s", view->text);
	for (i = 0; i < view->n_items; i++) {
		tell_which(p, view, i);
		tell_outcome(p, view, &view->items[i]);
	}
	prose_rule(p);
}

/* What happened last is what is looked for: it stands first. */
static void tell(struct prose *p, const struct gate_view *view)
{
	size_t before, i;

	if (view->phase == GATE_PHASE_OVER)
		tell_end(p, view);
	if (view->phase == GATE_PHASE_OVER || view->phase == GATE_PHASE_ACTING) {
		before = p->n;
		tell_steps(p, view);
		if (p->n > before)
			prose_rule(p);
	}
	for (i = 0; i < view->n_items; i++)
		tell_forecast(p, view, i);
}

/* ---- the window ---- */

static int field_lines(const struct gate_view *view)
{
	if (view->phase != GATE_PHASE_ASKING)
		return 0;
	return 1 + view->needs_reason;
}

static const char *edge_hint(const struct gate_dialog *d, const struct gate_view *view)
{
	if (*d->hint)
		return d->hint;
	switch (view->phase) {
	case GATE_PHASE_ASKING:
		return d->seen ? "Esc leaves everything as it is"
			       : "PgDn reads on; Esc leaves everything as it is";
	case GATE_PHASE_READING:
		return "Esc leaves everything as it is";
	case GATE_PHASE_ACTING:
		if (d->stands)
			return "time stands still: Esc closes this, Z lets it go on, 5 shows how "
			       "it ends";
		return "it can't be called back; Esc closes this window, and 5 shows how it ends";
	default:
		return "Esc closes";
	}
}

/*
 * A forecast tells of the moment when it was made. While it waits to be confirmed the world goes
 * on: from some age on, the upper edge says how old it is. Returns how wide that is.
 */
static int draw_age(
	const struct gate_view *view, int64_t now_us, struct canvas *c, struct area edge)
{
	const struct forecast *f = view->n_items ? view->items[0].forecast : NULL;
	int64_t age_ms = f ? clock_minus(now_us, f->at_us) / 1000 : 0;
	char age[CLOCK_TEXT_MAX], text[CLOCK_TEXT_MAX + 32];
	int w;

	if (view->phase != GATE_PHASE_ASKING || age_ms < OLD_MS)
		return 0;
	clock_format_age(age, age_ms);
	snprintf(text, sizeof(text), " as it was %s ago ", age);
	w = canvas_width(c, text);
	canvas_put(c, edge, 0, edge.w - w, STYLE_DIM, text);
	return w;
}

static void draw_frame(const struct gate_dialog *d, const struct gate_view *view, int64_t now_us,
	struct canvas *c, struct area a)
{
	enum style frame = view->prod ? STYLE_FRAME_PROD : STYLE_FRAME;
	const struct gate_item *first = view->n_items ? &view->items[0] : NULL;
	struct area edge = area_sub(a, 0, 2, 1, a.w - 4);
	char title[600];
	int w;

	canvas_box(c, a, frame);
	if (view->prod) {
		canvas_put(c, edge, 0, edge.w - 6, STYLE_ENV_PROD, " PROD ");
		edge.w -= 8;
	}
	w = draw_age(view, now_us, c, edge);
	edge.w -= w ? w + 2 : 0;
	if (first) {
		snprintf(title, sizeof(title), " %s  %s ", verb_word(first->verb)->word,
			view->n_items > 1 ? "(a set)" : first->id);
		w = canvas_width(c, title) < edge.w ? canvas_width(c, title) : edge.w;
		canvas_fit(c, edge, 0, 0, w, STYLE_STRONG, FIT_MIDDLE, title);
	}
	canvas_fit(c, area_sub(a, a.h - 1, 2, 1, a.w - 4), 0, 0,
		canvas_width(c, edge_hint(d, view)) < a.w - 4 ? canvas_width(c, edge_hint(d, view))
							      : a.w - 4,
		*d->hint ? STYLE_MESSAGE_ERROR : STYLE_DIM, FIT_LEFT, edge_hint(d, view));
}

/* The cursor is where the last line was drawn: the field that has the keys comes last. */
static void draw_fields(
	struct gate_dialog *d, const struct gate_view *view, struct canvas *c, struct area a)
{
	char prompt[600];
	int typed_y = view->needs_reason;

	if (view->ask == GATE_ASK_YES && !view->needs_reason) {
		canvas_put(c, a, 0, 0, STYLE_PROMPT, "y does it; every other key does not");
		return;
	}
	snprintf(prompt, sizeof(prompt), "type %s > ", view->to_type);
	if (canvas_width(c, prompt) > a.w * 2 / 3)
		snprintf(prompt, sizeof(prompt), "type its name > ");
	if (d->field == GATE_FIELD_REASON && view->needs_reason) {
		line_draw(&d->typed, c, a, typed_y, prompt);
		line_draw(&d->reason, c, a, 0, "reason > ");
		return;
	}
	if (view->needs_reason)
		line_draw(&d->reason, c, a, 0, "reason > ");
	line_draw(&d->typed, c, a, typed_y, prompt);
}

void gate_dialog_draw(struct gate_dialog *d, const struct gate_view *view, int64_t now_us,
	struct canvas *c, int keep_y)
{
	int w = c->w < DIALOG_W ? c->w : DIALOG_W, fields = field_lines(view);
	struct area a, body;
	struct prose p;

	/* What comes of it stands first, however far the forecast was scrolled to be read. */
	if (view->phase != d->phase)
		d->top = 0;
	d->phase = view->phase;
	prose_init(&p);
	tell(&p, view);
	d->lines = prose_height(&p, c, w - 4);
	a = dialog_area(c, d->lines + fields + 2, w, keep_y);
	body = area_sub(a, 1, 2, a.h - 2 - fields, a.w - 4);
	d->page = body.h;
	if (d->top > d->lines - body.h)
		d->top = d->lines - body.h;
	if (d->top < 0)
		d->top = 0;
	d->small = body.h < LEAST_BODY && body.h < d->lines;
	/* A forecast that is half there was not read to its end, and through a slit none is. */
	if (view->phase == GATE_PHASE_ASKING && !d->small && d->top + body.h >= d->lines)
		d->seen = true;
	draw_frame(d, view, now_us, c, a);
	prose_draw(&p, c, body, d->top, "... PgDn shows the rest");
	if (fields)
		draw_fields(d, view, c, area_sub(a, a.h - 1 - fields, 2, fields, a.w - 4));
	prose_release(&p);
}

/* ---- keys ---- */

static bool scroll_key(struct gate_dialog *d, uint32_t key)
{
	int page = d->page > 2 ? d->page - 1 : 1;

	switch (key) {
	case INPUT_DOWN:
		d->top++;
		break;
	case INPUT_UP:
		d->top--;
		break;
	case INPUT_PAGE_DOWN:
		d->top += page;
		break;
	case INPUT_PAGE_UP:
		d->top -= page;
		break;
	default:
		return false;
	}
	if (d->top > d->lines - d->page)
		d->top = d->lines - d->page;
	if (d->top < 0)
		d->top = 0;
	return true;
}

/* Whether the forecast was seen, and the window is whole. Says so where not. */
static bool may_confirm(struct gate_dialog *d)
{
	if (d->small) {
		gate_dialog_say(
			d, "the terminal is too small for the whole window: nothing is done");
		return false;
	}
	if (!d->seen)
		gate_dialog_say(d, "read the forecast to its end first: PgDn");
	return d->seen;
}

static enum gate_request enter_key(struct gate_dialog *d, const struct gate_view *view)
{
	if (view->needs_reason && d->field == GATE_FIELD_REASON) {
		d->field = GATE_FIELD_TYPED;
		return GATE_STAY;
	}
	if (!d->typed.len) {
		gate_dialog_say(d, "Enter alone confirms nothing: type what is asked for");
		return GATE_STAY;
	}
	return may_confirm(d) ? GATE_CONFIRM : GATE_STAY;
}

static enum gate_request asking_key(
	struct gate_dialog *d, const struct gate_view *view, uint32_t key)
{
	struct line *line =
		view->needs_reason && d->field == GATE_FIELD_REASON ? &d->reason : &d->typed;

	if (view->ask == GATE_ASK_YES && !view->needs_reason) {
		if (key == 'y')
			return may_confirm(d) ? GATE_CONFIRM : GATE_STAY;
		return key == INPUT_ENTER ? GATE_STAY : GATE_LEAVE;
	}
	if (key == INPUT_ENTER)
		return enter_key(d, view);
	if (key == INPUT_TAB || key == INPUT_BACK_TAB)
		d->field = d->field == GATE_FIELD_REASON ? GATE_FIELD_TYPED : GATE_FIELD_REASON;
	else
		line_key(line, key);
	return GATE_STAY;
}

enum gate_request gate_dialog_key(struct gate_dialog *d, const struct gate_view *view, uint32_t key)
{
	d->hint[0] = '\0';
	if (key == INPUT_ESC)
		return GATE_LEAVE;
	if (scroll_key(d, key))
		return GATE_STAY;
	if (view->phase == GATE_PHASE_ASKING)
		return asking_key(d, view, key);
	if (view->phase == GATE_PHASE_OVER && (key == INPUT_ENTER || key == 'q'))
		return GATE_LEAVE;
	return GATE_STAY;
}

void gate_dialog_paste(struct gate_dialog *d, const struct gate_view *view, uint32_t cp)
{
	if (view->phase == GATE_PHASE_ASKING && view->needs_reason && d->field == GATE_FIELD_REASON)
		line_insert(&d->reason, cp);
	else
		gate_dialog_say(d, "pasted text confirms nothing: it must be typed");
}

const char *gate_dialog_typed(const struct gate_dialog *d, const struct gate_view *view)
{
	return view->ask == GATE_ASK_YES && !view->needs_reason ? "y" : d->typed.text;
}
