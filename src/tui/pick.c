#include "config.h"

#include "tui/pick.h"
#include "base/mem.h"
#include "tui/header.h"
#include "tui/input.h"

#include <stdlib.h>
#include <string.h>

enum {
	LABEL_W = 16,
	PICK_W = 100,
};

void pick_begin(struct pick *p, const char *title, const char *hint)
{
	pick_release(p);
	p->title = xstrdup(title);
	p->hint = hint;
}

void pick_release(struct pick *p)
{
	size_t i;

	for (i = 0; i < p->n; i++) {
		free(p->items[i].label);
		free(p->items[i].text);
	}
	free(p->items);
	free(p->title);
	*p = (struct pick){ 0 };
}

void pick_add(struct pick *p, const char *label, const char *text, bool hindered, int value)
{
	MEM_GROW(p->items, p->n, p->cap);
	p->items[p->n++] = (struct pick_item){
		.label = xstrdup(label),
		.text = text ? xstrdup(text) : NULL,
		.hindered = hindered,
		.value = value,
	};
}

void pick_sort(struct pick *p)
{
	struct pick_item *sorted = xcalloc(p->n + 1, sizeof(*sorted));
	size_t n = 0, i;
	int pass;

	for (pass = 0; pass < 2; pass++)
		for (i = 0; i < p->n; i++)
			if (p->items[i].hindered == (pass == 1))
				sorted[n++] = p->items[i];
	memcpy(p->items, sorted, p->n * sizeof(*sorted));
	free(sorted);
}

bool pick_key(struct pick *p, uint32_t key)
{
	size_t last = p->n ? p->n - 1 : 0;

	switch (key) {
	case INPUT_DOWN:
	case 'j':
		p->at += p->at < last;
		return true;
	case INPUT_UP:
	case 'k':
		p->at -= p->at > 0;
		return true;
	case INPUT_HOME:
	case 'g':
		p->at = 0;
		return true;
	case INPUT_END:
	case 'G':
		p->at = last;
		return true;
	default:
		return false;
	}
}

const struct pick_item *pick_at(const struct pick *p)
{
	return p->at < p->n ? &p->items[p->at] : NULL;
}

struct area dialog_area(struct canvas *c, int h, int w, int keep_y)
{
	int first = HEADER_LINES, last = c->h - 2; /* lines that a window may take */
	int x = w < c->w ? (c->w - w) / 2 : 0;

	w = w < c->w ? w : c->w;
	if (keep_y < first || keep_y > last)
		return area_sub(
			canvas_all(c), first, x, h < last - first + 1 ? h : last - first + 1, w);
	if (last - keep_y >= h)
		return area_sub(canvas_all(c), keep_y + 1, x, h, w);
	if (keep_y - first >= h)
		return area_sub(canvas_all(c), keep_y - h, x, h, w);
	canvas_copy_row(c, keep_y, first);
	first++;
	return area_sub(canvas_all(c), first, x, h < last - first + 1 ? h : last - first + 1, w);
}

static int pick_lines(const struct canvas *c, const struct pick_item *item, int w)
{
	struct canvas none = { .ascii = c->ascii };

	if (!item->text)
		return 1;
	return canvas_wrap(&none, (struct area){ 0, 0, 0, w }, 0, 0, 0, STYLE_TEXT, item->text);
}

static int pick_label_w(const struct pick *p, const struct canvas *c, int room)
{
	int w = LABEL_W, most = room / 2;
	size_t i;

	for (i = 0; i < p->n; i++) {
		int own = canvas_width(c, p->items[i].label) + 2;

		w = own > w ? own : w;
	}
	return w < most ? w : most;
}

static int pick_height(const struct pick *p, const struct canvas *c, int text_w)
{
	int h = 0;
	size_t i;

	for (i = 0; i < p->n; i++)
		h += pick_lines(c, &p->items[i], text_w);
	return h;
}

/* The cursor's line, whole, is the last that must be seen. */
static void pick_scroll(struct pick *p, const struct canvas *c, int h, int text_w)
{
	int used = 0;
	size_t i;

	if (p->at < p->top)
		p->top = p->at;
	for (i = p->at + 1; i-- > p->top;) {
		used += pick_lines(c, &p->items[i], text_w);
		if (used > h) {
			p->top = i + 1 <= p->at ? i + 1 : p->at;
			break;
		}
	}
}

void pick_draw(struct pick *p, struct canvas *c, int keep_y)
{
	int w = c->w < PICK_W ? c->w : PICK_W, label_w = pick_label_w(p, c, w - 4);
	int text_w = w - 4 - label_w, y = 0;
	struct area a = dialog_area(c, pick_height(p, c, text_w) + 2, w, keep_y);
	struct area in = area_sub(a, 1, 2, a.h - 2, a.w - 4);
	size_t i;

	canvas_box(c, a, STYLE_FRAME);
	canvas_fit(c, a, 0, 2,
		canvas_width(c, p->title) < a.w - 4 ? canvas_width(c, p->title) : a.w - 4,
		STYLE_STRONG, FIT_MIDDLE, p->title);
	pick_scroll(p, c, in.h, text_w);
	for (i = p->top; i < p->n && y < in.h; i++) {
		const struct pick_item *item = &p->items[i];
		enum style style = item->hindered ? STYLE_DIM : STYLE_TEXT;
		struct area text = area_sub(in, 0, label_w, in.h, text_w);
		int lines = 1;

		canvas_fit(c, in, y, 0, label_w - 1, item->hindered ? STYLE_DIM : STYLE_KEY,
			FIT_MIDDLE, item->label);
		if (item->text)
			lines = canvas_wrap(c, text, y, 0, 0, style, item->text);
		if (i == p->at) {
			int line;

			for (line = 0; line < lines && y + line < in.h; line++)
				canvas_over(c, in, y + line, 0, in.w, STYLE_CURSOR);
			canvas_glyph(c, a, y + 1, 1, STYLE_TEXT, GLYPH_CURSOR_LEFT);
		}
		y += lines;
	}
	canvas_put(c, area_sub(a, a.h - 1, 2, 1, a.w - 4), 0, 0, STYLE_DIM, p->hint);
}
