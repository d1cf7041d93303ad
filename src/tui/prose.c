#include "config.h"

#include "tui/prose.h"
#include "base/mem.h"
#include "base/str.h"
#include "tui/chart-put.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	PROSE_TEXT_MAX = 8192
};

void prose_init(struct prose *p)
{
	*p = (struct prose){ .next_ms = INT64_MAX };
}

void prose_release(struct prose *p)
{
	size_t i;

	for (i = 0; i < p->n; i++) {
		free(p->at[i].text);
		free(p->at[i].tail);
		free(p->at[i].chart);
	}
	free(p->at);
	prose_init(p);
}

void prose_add(struct prose *p, enum style mark_style, const char *mark, int hang, enum style style,
	const char *fmt, ...)
{
	char text[PROSE_TEXT_MAX];
	struct paragraph *para;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	MEM_GROW(p->at, p->n, p->cap);
	para = &p->at[p->n++];
	*para = (struct paragraph){ .mark_style = mark_style, .style = style, .hang = hang };
	snprintf(para->mark, sizeof(para->mark), "%s", mark);
	para->text = xstrdup(text);
}

void prose_tail(struct prose *p, enum style style, const char *fmt, ...)
{
	struct paragraph *para = &p->at[p->n - 1];
	char text[PROSE_TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	free(para->tail);
	para->tail = xstrdup(text);
	para->tail_style = style;
}

void prose_rule(struct prose *p)
{
	MEM_GROW(p->at, p->n, p->cap);
	p->at[p->n++] = (struct paragraph){ .rule = true, .text = xstrdup("") };
}

void prose_chart(struct prose *p, const struct chart_row *row, int label_w)
{
	struct chart_row *copy = xmalloc(sizeof(*copy));

	*copy = *row;
	MEM_GROW(p->at, p->n, p->cap);
	p->at[p->n++] =
		(struct paragraph){ .chart = copy, .label_w = label_w, .text = xstrdup("") };
}

static int paragraph_draw(const struct paragraph *para, struct canvas *c, struct area a, int y)
{
	int hang = para->hang < a.w - 8 ? para->hang : 1, lines, x;

	if (para->rule) {
		canvas_fill(c, a, y, 0, a.w, STYLE_FRAME, GLYPH_HLINE);
		return 1;
	}
	if (para->chart) {
		chart_put(c, a, y, 1, para->label_w, para->chart);
		return 1;
	}
	canvas_put(c, a, y, 1, para->mark_style, para->mark);
	lines = canvas_wrap(c, a, y, hang, hang, para->style, para->text);
	if (!para->tail)
		return lines;
	/* Behind the text when that is one line and both fit. */
	x = hang + canvas_width(c, para->text) + 3;
	if (lines == 1 && x + canvas_width(c, para->tail) <= a.w) {
		canvas_put(c, a, y, x, para->tail_style, para->tail);
		return 1;
	}
	return lines + canvas_wrap(c, a, y + lines, hang, hang, para->tail_style, para->tail);
}

int prose_draw(const struct prose *p, struct canvas *c, struct area a, int skip, const char *more)
{
	int y = -skip;
	size_t i;

	for (i = 0; i < p->n; i++)
		y += paragraph_draw(&p->at[i], c, a, y);
	canvas_until(c, p->next_ms);
	if (y > a.h && more && a.h > 1) {
		canvas_fit(c, a, a.h - 1, 0, a.w, STYLE_DIM, FIT_LEFT, more);
		canvas_restyle(c, a, a.h - 1, 0, a.w, STYLE_DIM);
	}
	return y + skip;
}

int prose_height(const struct prose *p, const struct canvas *c, int w)
{
	struct canvas none = { .ascii = c->ascii };

	return prose_draw(p, &none, (struct area){ 0, 0, 0, w }, 0, NULL);
}
