#include "config.h"

#include "tui/lesson-prose.h"
#include "base/mem.h"
#include "show/chart-row.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	HANG = 3,
	HANG_WORD = 9, /* behind "right" */
	HANG_SCORE = 24,
	HANG_EVENT = 13,
	LABEL_MOST = 22,
	LABEL_LEAST = 12,
	COLUMNS_LEAST = 20,
	TICK_GAP = 10,
	TABLE_MOST = 8,
	CELL_MOST = 14,
	ROW_W = 22
};

/* One paragraph: the line ends in it are the file's, not the reader's. */
static void add_flowing(struct prose *p, int hang, enum style style, const char *text, size_t len)
{
	char *flowing = xstrndup(text, len);
	size_t i;

	for (i = 0; i < len; i++)
		if (flowing[i] == '\n')
			flowing[i] = ' ';
	prose_add(p, style, "", hang, style, "%s", flowing);
	free(flowing);
}

void prose_text(struct prose *p, int hang, enum style style, const char *text)
{
	const char *end;

	while (text && *text) {
		end = strstr(text, "\n\n");
		add_flowing(p, hang, style, text, end ? (size_t)(end - text) : strlen(text));
		text = end ? end + strspn(end, "\n") : NULL;
		if (text && *text)
			prose_add(p, style, "", hang, style, "%s", "");
	}
}

void prose_head(struct prose *p, const char *text)
{
	prose_rule(p);
	prose_add(p, STYLE_STRONG, "", 1, STYLE_STRONG, "%s", text);
}

/* ---- the score ---- */

static enum style points_style(const struct score_line *l)
{
	if (l->of)
		return l->points * 2 >= l->of ? STYLE_STATE_HELD : STYLE_FINDING_WARN;
	return l->points < 0 ? STYLE_FINDING_CRIT : STYLE_DIM;
}

static void score_line(struct prose *p, const struct score_line *l)
{
	char mark[52];

	if (l->of)
		snprintf(mark, sizeof(mark), "  %-14s%3d/%d", l->what, l->points, l->of);
	else
		snprintf(mark, sizeof(mark), "  %-14s%3d", l->what, l->points);
	prose_add(p, points_style(l), mark, HANG_SCORE, STYLE_TEXT, "%s", l->text);
}

static void tell_score(struct prose *p, const struct debrief *d)
{
	size_t i;

	prose_head(p, "Score, line by line");
	for (i = 0; i < d->score.n_lines; i++)
		score_line(p, &d->score.lines[i]);
}

static const char *end_text(enum account_end end)
{
	switch (end) {
	case ACCOUNT_RESTORED:
		return "all was well again";
	case ACCOUNT_LIMIT:
		return "the time was over";
	case ACCOUNT_FINISHED:
		return "the time was over; you had said that nothing more is to be done";
	default:
		return "it goes on";
	}
}

static void tell_title(struct prose *p, const struct debrief *d)
{
	const struct lesson *l = d->lesson;
	char at[SCORE_CLOCK_MAX], par[SCORE_CLOCK_MAX];

	score_clock(at, debrief_after_ms(d));
	score_clock(par, l->par_ms);
	prose_add(p, STYLE_STRONG, "", 1, STYLE_STRONG, "%s %s: %d of 100", l->number, l->title,
		d->score.total);
	prose_add(p, STYLE_TEXT, "", 1, STYLE_TEXT, "After %s %s. Par is %s.", at, end_text(d->end),
		par);
	if (d->inject)
		prose_add(p, STYLE_TEXT, "", 1, STYLE_TEXT, "A fault was added: %s", d->inject);
}

/* ---- the timeline ---- */

struct axis {
	int64_t from_ms, column_ms, begins_ms;
	int columns, label_w;
};

static int label_width(const struct debrief *d)
{
	int most = LABEL_LEAST;
	size_t i;

	for (i = 0; i < d->n_bands; i++) {
		int w = (int)strlen(d->bands[i].label);

		most = w > most ? w : most;
	}
	return most < LABEL_MOST ? most : LABEL_MOST;
}

static bool make_axis(struct axis *axis, const struct prose *p, const struct debrief *d)
{
	int64_t span = d->end_ms - d->from_ms;

	*axis = (struct axis){ .from_ms = d->from_ms, .begins_ms = d->begins_ms };
	axis->label_w = label_width(d);
	axis->columns = p->width - axis->label_w - 4;
	if (axis->columns > CHART_COLUMNS_MAX)
		axis->columns = CHART_COLUMNS_MAX;
	if (axis->columns < COLUMNS_LEAST || span <= 0)
		return false;
	axis->column_ms = (span + axis->columns - 1) / axis->columns;
	return true;
}

static int column_of(const struct axis *axis, int64_t at_ms)
{
	int64_t column = (at_ms - axis->from_ms) / axis->column_ms;

	return column < 0 ? 0 : column >= axis->columns ? axis->columns - 1 : (int)column;
}

static struct chart_row *strip_new(const struct axis *axis, const char *label)
{
	struct chart_row *row = xcalloc(1, sizeof(*row));

	row->columns = axis->columns;
	snprintf(row->label, sizeof(row->label), "%s", label);
	return row;
}

static void strip_done(struct prose *p, const struct axis *axis, struct chart_row *row)
{
	prose_chart(p, row, axis->label_w);
	free(row);
}

static void put_text(struct chart_row *row, int at, const char *text, enum chart_paint paint)
{
	for (; *text && at < row->columns; text++, at++)
		if (at >= 0)
			row->cells[at] =
				(struct chart_cell){ (unsigned char)*text, (uint8_t)paint };
}

static void tell_axis(struct prose *p, const struct axis *axis)
{
	struct chart_row *row = strip_new(axis, "");
	int begins = column_of(axis, axis->begins_ms), column, free_from = 0;

	for (column = begins % TICK_GAP; column < axis->columns; column += TICK_GAP) {
		char text[SCORE_CLOCK_MAX];
		int64_t at = axis->from_ms + column * axis->column_ms;

		score_clock(text, column == begins ? 0 : at - axis->begins_ms);
		if (column < free_from || column + (int)strlen(text) > axis->columns)
			continue;
		put_text(row, column, text, CHART_PAINT_AXIS);
		free_from = column + (int)strlen(text) + 1;
	}
	strip_done(p, axis, row);
}

static const struct {
	uint32_t cp;
	char ascii;
	enum chart_paint paint;
	const char *means;
} shapes[] = {
	[BAND_WORK] = { 0x2588, '=', CHART_PAINT_OK, "works" },
	[BAND_IDLE] = { 0x2591, '-', CHART_PAINT_IDLE, "believes it, in vain" },
	[BAND_OVERLAP] = { 0x2592, '#', CHART_PAINT_OVERLAP, "two at once" },
	[BAND_VACANT] = { 'x', 'x', CHART_PAINT_MISSED, "nobody" },
	[BAND_RECORD] = { 0x2584, '~', CHART_PAINT_ALIVE, "recorded" },
};

static void tell_band(struct prose *p, const struct axis *axis, const struct band *b)
{
	struct chart_row *row = strip_new(axis, b->label);
	size_t i;
	int k;

	if (b->head)
		prose_add(p, STYLE_DIM, "", 1, STYLE_DIM, "%s", b->head);
	for (i = 0; i < b->n; i++) {
		const struct band_span *s = &b->spans[i];
		int to = column_of(axis, s->to_ms - 1);

		/* A pause between two pieces of work is none that one could see here; an overlap is
		 * seen however short it was. */
		if (s->kind == BAND_VACANT && (s->to_ms - s->from_ms) * 2 < axis->column_ms)
			continue;
		for (k = column_of(axis, s->from_ms); k <= to; k++)
			row->cells[k] =
				(struct chart_cell){ p->ascii ? (uint32_t)shapes[s->kind].ascii
							      : shapes[s->kind].cp,
					(uint8_t)shapes[s->kind].paint };
	}
	strip_done(p, axis, row);
}

/* The acts by their numbers in the list below; beyond nine a plus. */
static void tell_act_row(struct prose *p, const struct axis *axis, const struct debrief *d)
{
	struct chart_row *row = strip_new(axis, "your acts");
	size_t i;

	for (i = 0; i < d->n_acts; i++) {
		char text[2] = { i < 9 ? (char)('1' + i) : '+', '\0' };

		put_text(row, column_of(axis, d->acts[i].at_ms), text, CHART_PAINT_TEXT);
	}
	strip_done(p, axis, row);
}

static void tell_legend(struct prose *p)
{
	struct str out;
	size_t i;

	str_init(&out, 400);
	for (i = 0; i < ARRAY_LEN(shapes); i++) {
		char sign[5] = { shapes[i].ascii, '\0' };

		if (!p->ascii && shapes[i].cp > 0x7f)
			snprintf(sign, sizeof(sign), "\xe2\x96%c",
				(char)(0x80 + (shapes[i].cp & 63)));
		str_addf(&out, "%s%s %s", i ? "  " : "", sign, shapes[i].means);
	}
	prose_add(p, STYLE_DIM, "", 1, STYLE_DIM, "%s", out.s);
	str_release(&out);
}

static void tell_timeline(struct prose *p, const struct debrief *d)
{
	struct axis axis;
	size_t i;

	prose_head(p, "What truly happened, beside what the records said");
	if (!d->n_bands) {
		prose_add(p, STYLE_DIM, "", HANG, STYLE_DIM,
			"The lesson has no duty and names no lock whose time could be drawn.");
		return;
	}
	if (!make_axis(&axis, p, d)) {
		prose_add(p, STYLE_DIM, "", HANG, STYLE_DIM, "There is no room to draw it.");
		return;
	}
	tell_axis(p, &axis);
	for (i = 0; i < d->n_bands; i++)
		tell_band(p, &axis, &d->bands[i]);
	tell_act_row(p, &axis, d);
	tell_legend(p);
}

/* ---- acts and words ---- */

static enum style was_style(const char *was)
{
	if (!was)
		return STYLE_DIM;
	return strcmp(was, "helped") == 0   ? STYLE_STATE_HELD
	       : strcmp(was, "harmed") == 0 ? STYLE_FINDING_CRIT
					    : STYLE_FINDING_WARN;
}

static void tell_act(struct prose *p, const struct debrief *d, size_t i)
{
	const struct debrief_act *act = &d->acts[i];
	char mark[52], at[SCORE_CLOCK_MAX];

	score_clock(at, act->at_ms - d->begins_ms);
	snprintf(mark, sizeof(mark), "%2zu %8s", i + 1, at);
	prose_add(p, STYLE_TEXT, mark, HANG_EVENT, STYLE_STRONG, "%s %s%s%s", act->verb, act->id,
		*act->identity && !str_ends(act->id, act->identity) ? " from " : "",
		*act->identity && !str_ends(act->id, act->identity) ? act->identity : "");
	if (act->was || !act->asks)
		prose_add(p, STYLE_TEXT, "", HANG_EVENT, was_style(act->was), "%s%s%s",
			act->was ? act->was : "the lesson has no word of it", act->text ? ": " : "",
			act->text ? act->text : "");
	if (*act->reason)
		prose_add(p, STYLE_TEXT, "", HANG_EVENT, STYLE_DIM, "reason: %s", act->reason);
}

static void tell_said(struct prose *p, const struct debrief *d)
{
	struct str causes;
	size_t i;

	for (i = 0; i < d->n_said; i++) {
		const struct debrief_said *s = &d->said[i];
		char mark[52], at[SCORE_CLOCK_MAX];

		score_clock(at, s->at_ms - d->begins_ms);
		snprintf(mark, sizeof(mark), "   %8s", at);
		str_init(&causes, 2000);
		debrief_causes(d->lesson, s->causes, &causes);
		if (s->kind == SAID_DIAGNOSIS)
			prose_add(p, STYLE_DIM, mark, HANG_EVENT, STYLE_TEXT, "you picked: %s",
				causes.len ? causes.s : "no cause");
		else if (s->kind == SAID_HINT)
			prose_add(p, STYLE_DIM, mark, HANG_EVENT, STYLE_TEXT, "you took hint %zu",
				s->hint + 1);
		else
			prose_add(p, STYLE_DIM, mark, HANG_EVENT, STYLE_TEXT, "you noted: %s",
				s->note);
		str_release(&causes);
	}
}

static void tell_acts(struct prose *p, const struct debrief *d)
{
	size_t i;

	prose_head(p, "What you did");
	if (!d->n_acts)
		prose_add(p, STYLE_TEXT, "", HANG, STYLE_TEXT, "You did nothing to any system.");
	for (i = 0; i < d->n_acts; i++)
		tell_act(p, d, i);
	tell_said(p, d);
}

static void tell_causes(struct prose *p, const struct debrief *d)
{
	const struct lesson *l = d->lesson;
	size_t i;

	prose_head(p, l->asks);
	for (i = 0; i < l->n_causes; i++) {
		const struct lesson_cause *c = &l->causes[i];

		prose_add(p, c->right ? STYLE_STATE_HELD : STYLE_DIM, c->right ? "  right" : "  no",
			HANG_WORD, c->right ? STYLE_TEXT : STYLE_DIM, "%s%s%s", c->text,
			c->why ? " " : "", c->why ? c->why : "");
	}
}

/* What would have worked, and what tempts: who went another way learns of it here. */
static void tell_ways(struct prose *p, const struct debrief *d)
{
	static const struct {
		const char *mark;
		enum style style;
	} kinds[] = {
		[LESSON_WAY_RIGHT] = { "  right", STYLE_STATE_HELD },
		[LESSON_WAY_WRONG] = { "  wrong", STYLE_FINDING_WARN },
		[LESSON_WAY_NOTHING] = { "  wait", STYLE_DIM },
	};
	const struct lesson *l = d->lesson;
	size_t i;

	prose_head(p, "Ways through it");
	for (i = 0; i < l->n_ways; i++)
		prose_add(p, kinds[l->ways[i].kind].style, kinds[l->ways[i].kind].mark, HANG_WORD,
			STYLE_TEXT, "%s", l->ways[i].text);
}

/* ---- what happened, the table, the words to take along ---- */

static void tell_events(struct prose *p, const struct debrief *d)
{
	size_t i;

	prose_head(p, "The story, as it truly went");
	for (i = 0; i < d->n_events; i++) {
		const struct debrief_event *e = &d->events[i];
		char mark[52], at[SCORE_CLOCK_MAX];

		score_clock(at, e->at_ms - d->begins_ms);
		snprintf(mark, sizeof(mark), "   %8s", at);
		prose_add(p, STYLE_DIM, mark, HANG_EVENT,
			e->kind == HAPPENING_ACT ? STYLE_STRONG : STYLE_TEXT, "%s", e->text);
		if (e->times < 2)
			continue;
		score_clock(at, e->last_ms - d->begins_ms);
		prose_tail(p, STYLE_DIM, "%zu such, until %s", e->times, at);
	}
	if (d->events_left_out)
		prose_add(p, STYLE_DIM, "", HANG_EVENT, STYLE_DIM, "%zu more are left out",
			d->events_left_out);
}

static size_t find_text(const char **list, size_t n, const char *text)
{
	size_t i;

	for (i = 0; i < n && strcmp(list[i], text) != 0; i++)
		;
	return i;
}

static const struct lesson_cell *cell_at(
	const struct lesson *l, const char *row, const char *column)
{
	size_t i;

	for (i = 0; i < l->n_cells; i++)
		if (strcmp(l->cells[i].row, row) == 0 && strcmp(l->cells[i].column, column) == 0)
			return &l->cells[i];
	return NULL;
}

static void table_row(struct prose *p, const struct debrief *d, const char *row,
	const char *const *columns, size_t n)
{
	int room = (p->width - HANG - ROW_W - 1) / (int)(n ? n : 1),
	    cell_w = room < CELL_MOST ? room : CELL_MOST;
	struct str out;
	size_t i;

	cell_w = cell_w < 2 ? 2 : cell_w;
	str_init(&out, 1000);
	str_addf(&out, "%-*.*s", ROW_W, ROW_W, row ? row : "");
	for (i = 0; i < n; i++) {
		const struct lesson_cell *cell = row ? cell_at(d->lesson, row, columns[i]) : NULL;
		char text[SCORE_CLOCK_MAX] = "-";

		if (cell && cell->ms)
			score_seconds(text, d->values[cell->value]);
		else if (cell)
			snprintf(text, sizeof(text), "%" PRId64, d->values[cell->value]);
		str_addf(&out, "%*.*s", cell_w, cell_w - 1, row ? text : columns[i]);
	}
	prose_add(p, STYLE_TEXT, "", HANG, row ? STYLE_TEXT : STYLE_TABLE_HEAD, "%s", out.s);
	str_release(&out);
}

static void tell_table(struct prose *p, const struct debrief *d)
{
	const char *columns[TABLE_MOST], *rows[64];
	const struct lesson *l = d->lesson;
	size_t n_columns = 0, n_rows = 0, i;

	if (!l->n_cells)
		return;
	for (i = 0; i < l->n_cells; i++) {
		const struct lesson_cell *c = &l->cells[i];

		if (n_columns < TABLE_MOST && find_text(columns, n_columns, c->column) == n_columns)
			columns[n_columns++] = c->column;
		if (n_rows < ARRAY_LEN(rows) && find_text(rows, n_rows, c->row) == n_rows)
			rows[n_rows++] = c->row;
	}
	prose_head(p, "Compared");
	table_row(p, d, NULL, columns, n_columns);
	for (i = 0; i < n_rows; i++)
		table_row(p, d, rows[i], columns, n_columns);
}

static void tell_words(struct prose *p, const struct debrief *d)
{
	const struct lesson *l = d->lesson;
	size_t i;

	prose_head(p, "In real life");
	prose_text(p, HANG, STYLE_TEXT, l->sign);
	prose_head(p, "The principle");
	prose_text(p, HANG, STYLE_STRONG, l->principle);
	if (l->question) {
		prose_head(p, l->question);
		prose_text(p, HANG, STYLE_TEXT, l->answer);
	}
	if (!l->n_reading)
		return;
	prose_head(p, "Read on");
	for (i = 0; i < l->n_reading; i++) {
		prose_add(p, STYLE_TEXT, "", HANG, STYLE_TEXT, "%s", l->reading[i].text);
		if (l->reading[i].at)
			prose_tail(p, STYLE_ADVICE, "%s", l->reading[i].at);
	}
}

void prose_debrief(struct prose *p, const struct debrief *d)
{
	tell_title(p, d);
	tell_score(p, d);
	tell_timeline(p, d);
	tell_table(p, d);
	tell_acts(p, d);
	tell_causes(p, d);
	tell_ways(p, d);
	tell_words(p, d);
	tell_events(p, d);
}
