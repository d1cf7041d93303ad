#include "config.h"

#include "tui/canvas.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	uint32_t cp;
	char ascii;
} canvas_glyphs[GLYPH_COUNT] = {
	[GLYPH_HLINE] = { 0x2500, '-' },
	[GLYPH_HLINE_DOUBLE] = { 0x2550, '=' },
	[GLYPH_HLINE_DASHED] = { 0x254c, '.' },
	[GLYPH_VLINE] = { 0x2502, '|' },
	[GLYPH_ELLIPSIS] = { 0x2026, '~' },
	[GLYPH_CURSOR_LEFT] = { 0x258c, '>' },
	[GLYPH_DOWN] = { 0x25be, 'v' },
	[GLYPH_UP] = { 0x25b4, '^' },
	[GLYPH_DOT] = { 0x00b7, '.' },
	[GLYPH_BLOCK] = { 0x2588, '#' },
	[GLYPH_TOP_LEFT] = { 0x250c, '+' },
	[GLYPH_TOP_RIGHT] = { 0x2510, '+' },
	[GLYPH_BOTTOM_LEFT] = { 0x2514, '+' },
	[GLYPH_BOTTOM_RIGHT] = { 0x2518, '+' },
};

static const struct cell canvas_blank = { .cp = ' ', .width = 1, .style = STYLE_TEXT };

void canvas_init(struct canvas *c, int h, int w, bool ascii)
{
	*c = (struct canvas){ .ascii = ascii };
	canvas_resize(c, h, w);
}

void canvas_release(struct canvas *c)
{
	free(c->cells);
	c->cells = NULL;
	c->h = c->w = 0;
}

void canvas_resize(struct canvas *c, int h, int w)
{
	free(c->cells);
	c->h = h > 0 ? h : 1;
	c->w = w > 0 ? w : 1;
	c->cells = xcalloc((size_t)c->h * (size_t)c->w, sizeof(*c->cells));
	canvas_clear(c);
}

void canvas_clear(struct canvas *c)
{
	size_t i, n = (size_t)c->h * (size_t)c->w;

	for (i = 0; i < n; i++)
		c->cells[i] = canvas_blank;
	c->cursor_y = c->cursor_x = -1;
	c->next_ms = INT64_MAX;
}

struct area canvas_all(const struct canvas *c)
{
	return (struct area){ 0, 0, c->h, c->w };
}

struct area area_sub(struct area a, int y, int x, int h, int w)
{
	struct area sub;

	y = y < 0 ? 0 : y > a.h ? a.h : y;
	x = x < 0 ? 0 : x > a.w ? a.w : x;
	sub.y = a.y + y;
	sub.x = a.x + x;
	sub.h = h < 0 ? 0 : h > a.h - y ? a.h - y : h;
	sub.w = w < 0 ? 0 : w > a.w - x ? a.w - x : w;
	return sub;
}

static struct cell *canvas_cell(struct canvas *c, struct area a, int y, int x)
{
	if (y < 0 || x < 0 || y >= a.h || x >= a.w || a.y + y < 0 || a.x + x < 0 ||
		a.y + y >= c->h || a.x + x >= c->w)
		return NULL;
	return &c->cells[(size_t)(a.y + y) * (size_t)c->w + (size_t)(a.x + x)];
}

/* Makes a cell free to be written: the other half of a wide character that stood there becomes a
 * blank. */
static void cell_vacate(struct canvas *c, struct cell *at)
{
	size_t col = (size_t)(at - c->cells) % (size_t)c->w;

	if (at->width == 0 && col > 0) {
		at[-1].cp = ' ';
		at[-1].width = 1;
	}
	if (at->width == 2 && col + 1 < (size_t)c->w) {
		at[1].cp = ' ';
		at[1].width = 1;
	}
}

static void cell_set(struct canvas *c, struct area a, int y, int x, struct cell cell)
{
	struct cell *at = canvas_cell(c, a, y, x);

	if (!at)
		return;
	cell_vacate(c, at);
	*at = cell;
}

static void cell_set_wide(struct canvas *c, struct area a, int y, int x, struct cell cell)
{
	struct cell *left = canvas_cell(c, a, y, x), *right = canvas_cell(c, a, y, x + 1);

	if (!left || !right)
		return;
	cell_vacate(c, left);
	cell_vacate(c, right);
	*left = cell;
	left->width = 2;
	*right = (struct cell){ .style = cell.style };
}

static void cell_mark(struct canvas *c, struct area a, int y, int x, uint32_t mark)
{
	struct cell *at = canvas_cell(c, a, y, x);
	int i;

	if (at && at->width == 0 && x > 0)
		at = canvas_cell(c, a, y, x - 1);
	for (i = 0; at && i < CELL_MARKS; i++) {
		if (at->mark[i])
			continue;
		at->mark[i] = mark;
		return;
	}
}

/* Puts one code point of the text; returns its columns, or -1 when it does not fit. */
static int put_cp(struct canvas *c, struct area a, int y, int x, enum style style, uint32_t cp)
{
	int width = text_cp_width(cp);
	struct cell cell = { .cp = cp, .width = 1, .style = (uint8_t)style };

	if (width < 0) {
		cell.cp = '?';
		width = 1;
	}
	if (width == 0) {
		if (x > 0)
			cell_mark(c, a, y, x - 1, cp);
		return 0;
	}
	if (x + width > a.w)
		return -1;
	if (width == 2) {
		cell_set_wide(c, a, y, x, cell);
		return 2;
	}
	cell_set(c, a, y, x, cell);
	return 1;
}

/* Reads the next code point, or one byte of what is no UTF-8 as '?'. */
static size_t next_cp(const char *s, uint32_t *cp)
{
	size_t n = text_decode(s, strnlen(s, 4), cp);

	if (n)
		return n;
	*cp = '?';
	return 1;
}

/* Puts a character; in ASCII mode one beyond ASCII as the escapes of its bytes. */
static int put_char(struct canvas *c, struct area a, int y, int x, enum style style, const char *s,
	size_t n, uint32_t cp)
{
	static const char hex[] = "0123456789abcdef";
	int width, at = x;
	size_t i;

	if (!c->ascii || cp < 0x80)
		return put_cp(c, a, y, x, style, cp);
	for (i = 0; i < n; i++) {
		unsigned char byte = (unsigned char)s[i];
		const char escape[] = { '\\', 'x', hex[byte >> 4], hex[byte & 15] };
		size_t k;

		for (k = 0; k < sizeof(escape); k++) {
			width = put_cp(c, a, y, at, style, (unsigned char)escape[k]);
			if (width < 0)
				return -1;
			at += width;
		}
	}
	return at - x;
}

/* Puts text up to column `end`; returns the column behind it. */
static int put_until(
	struct canvas *c, struct area a, int y, int x, int end, enum style style, const char *s)
{
	struct area part = a;

	part.w = end < a.w ? end : a.w;
	while (*s) {
		uint32_t cp;
		size_t n = next_cp(s, &cp);
		int width = put_char(c, part, y, x, style, s, n, cp);

		if (width < 0)
			break;
		x += width;
		s += n;
	}
	return x;
}

int canvas_put(struct canvas *c, struct area a, int y, int x, enum style style, const char *s)
{
	return put_until(c, a, y, x, a.w, style, s) - x;
}

int canvas_putf(
	struct canvas *c, struct area a, int y, int x, enum style style, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return canvas_put(c, a, y, x, style, text);
}

static int char_width(const struct canvas *c, uint32_t cp, size_t n)
{
	int width = text_cp_width(cp);

	if (c->ascii && cp >= 0x80)
		return (int)n * 4;
	return width < 0 ? 1 : width;
}

int canvas_width(const struct canvas *c, const char *s)
{
	int width = 0;

	while (*s) {
		uint32_t cp;
		size_t n = next_cp(s, &cp);

		width += char_width(c, cp, n);
		s += n;
	}
	return width;
}

/* The rest of s that takes at most w columns. */
static const char *text_tail(const struct canvas *c, const char *s, int w)
{
	int width = canvas_width(c, s);

	while (*s && width > w) {
		uint32_t cp;
		size_t n = next_cp(s, &cp);

		width -= char_width(c, cp, n);
		s += n;
	}
	/* A tail must not begin with a mark that belongs to what was cut. */
	while (*s) {
		uint32_t cp;
		size_t n = next_cp(s, &cp);

		if (char_width(c, cp, n) != 0)
			break;
		s += n;
	}
	return s;
}

static void blank(struct canvas *c, struct area a, int y, int x, int w, enum style style)
{
	int i;

	for (i = 0; i < w; i++)
		cell_set(c, a, y, x + i,
			(struct cell){ .cp = ' ', .width = 1, .style = (uint8_t)style });
}

void canvas_fit(struct canvas *c, struct area a, int y, int x, int w, enum style style,
	enum fit fit, const char *s)
{
	int width = canvas_width(c, s), head;
	const char *tail;

	if (w <= 0)
		return;
	blank(c, a, y, x, w, STYLE_TEXT);
	if (width <= w) {
		put_until(c, a, y, fit == FIT_RIGHT ? x + w - width : x, x + w, style, s);
		return;
	}
	if (fit == FIT_LEFT) {
		head = put_until(c, a, y, x, x + w - 1, style, s);
		canvas_glyph(c, a, y, head, style, GLYPH_ELLIPSIS);
		return;
	}
	head = fit == FIT_MIDDLE ? (w - 1) / 2 : 0;
	head = put_until(c, a, y, x, x + head, style, s);
	tail = text_tail(c, s, x + w - 1 - head);
	/* The tail stands at the right, or follows the head: never with a gap where something was
	 * cut. */
	if (fit == FIT_RIGHT)
		head = x + w - 1 - canvas_width(c, tail);
	canvas_glyph(c, a, y, head, style, GLYPH_ELLIPSIS);
	put_until(c, a, y, head + 1, x + w, style, tail);
}

void canvas_glyph(struct canvas *c, struct area a, int y, int x, enum style style, enum glyph glyph)
{
	if (c->doubled && glyph == GLYPH_HLINE) {
		glyph = GLYPH_HLINE_DOUBLE;
		style = style == STYLE_FRAME ? STYLE_FRAME_PAST : style;
	}
	put_cp(c, a, y, x, style,
		c->ascii ? (uint32_t)canvas_glyphs[glyph].ascii : canvas_glyphs[glyph].cp);
}

void canvas_cp(struct canvas *c, struct area a, int y, int x, enum style style, uint32_t cp)
{
	put_cp(c, a, y, x, style, cp);
}

void canvas_fill(
	struct canvas *c, struct area a, int y, int x, int w, enum style style, enum glyph glyph)
{
	int i;

	for (i = 0; i < w; i++)
		canvas_glyph(c, a, y, x + i, style, glyph);
}

void canvas_box(struct canvas *c, struct area a, enum style style)
{
	int y, x;

	for (y = 0; y < a.h; y++)
		for (x = 0; x < a.w; x++)
			put_cp(c, a, y, x, STYLE_TEXT, ' ');
	canvas_fill(c, a, 0, 1, a.w - 2, style, GLYPH_HLINE);
	canvas_fill(c, a, a.h - 1, 1, a.w - 2, style, GLYPH_HLINE);
	for (y = 1; y < a.h - 1; y++) {
		canvas_glyph(c, a, y, 0, style, GLYPH_VLINE);
		canvas_glyph(c, a, y, a.w - 1, style, GLYPH_VLINE);
	}
	canvas_glyph(c, a, 0, 0, style, GLYPH_TOP_LEFT);
	canvas_glyph(c, a, 0, a.w - 1, style, GLYPH_TOP_RIGHT);
	canvas_glyph(c, a, a.h - 1, 0, style, GLYPH_BOTTOM_LEFT);
	canvas_glyph(c, a, a.h - 1, a.w - 1, style, GLYPH_BOTTOM_RIGHT);
}

void canvas_copy_row(struct canvas *c, int from_y, int to_y)
{
	if (from_y < 0 || from_y >= c->h || to_y < 0 || to_y >= c->h || from_y == to_y)
		return;
	memcpy(c->cells + (size_t)to_y * (size_t)c->w, c->cells + (size_t)from_y * (size_t)c->w,
		(size_t)c->w * sizeof(*c->cells));
}

void canvas_bar(struct canvas *c, struct area a, int y, int x, int w, enum style style, int64_t num,
	int64_t den)
{
	/* In floating point: a lease's times are a server's to choose. */
	double part = den > 0 && num > 0 ? (double)num / (double)den : 0;
	int eighths = (int)((part > 1 ? 1 : part) * w * 8);
	int i;

	for (i = 0; i < w; i++, eighths -= 8) {
		if (eighths >= 8)
			canvas_glyph(c, a, y, x + i, style, GLYPH_BLOCK);
		else if (eighths > 0 && !c->ascii)
			put_cp(c, a, y, x + i, style, 0x2590 - (uint32_t)eighths);
		else if (eighths >= 4)
			put_cp(c, a, y, x + i, style, '=');
	}
}

void canvas_over(struct canvas *c, struct area a, int y, int x, int w, enum style over)
{
	int i;

	for (i = 0; i < w; i++) {
		struct cell *cell = canvas_cell(c, a, y, x + i);

		if (cell)
			cell->over = (uint8_t)over;
	}
}

void canvas_restyle(struct canvas *c, struct area a, int y, int x, int w, enum style style)
{
	int i;

	for (i = 0; i < w; i++) {
		struct cell *cell = canvas_cell(c, a, y, x + i);

		if (cell)
			cell->style = (uint8_t)style;
	}
}

void canvas_cursor(struct canvas *c, struct area a, int y, int x)
{
	if (!canvas_cell(c, a, y, x))
		return;
	c->cursor_y = a.y + y;
	c->cursor_x = a.x + x;
}

void canvas_until(struct canvas *c, int64_t mono_ms)
{
	if (mono_ms < c->next_ms)
		c->next_ms = mono_ms;
}

/* How many bytes of s go on one line of w columns, broken at a blank where there is one. */
static size_t wrap_line(const struct canvas *c, const char *s, int w, size_t *ret_skip)
{
	size_t i = 0, blank_at = 0;
	int width = 0;

	while (s[i]) {
		uint32_t cp;
		size_t n = next_cp(s + i, &cp);

		if (cp == ' ')
			blank_at = i;
		width += char_width(c, cp, n);
		if (width > w && (i > 0 || cp == ' ')) {
			if (cp != ' ' && !blank_at) {
				*ret_skip = 0;
				return i;
			}
			*ret_skip = strspn(s + blank_at, " ");
			return blank_at;
		}
		i += n;
	}
	*ret_skip = 0;
	return i;
}

int canvas_wrap(
	struct canvas *c, struct area a, int y, int x, int hang, enum style style, const char *s)
{
	int lines = 0;

	if (hang >= a.w)
		hang = 0;
	if (x >= a.w)
		x = 0;
	do {
		size_t skip, n = wrap_line(c, s, a.w - x > 0 ? a.w - x : 1, &skip);
		char *line = xstrndup(s, n);

		canvas_put(c, a, y + lines, x, style, line);
		free(line);
		s += n + skip;
		x = hang;
		lines++;
	} while (*s);
	return lines;
}

static void dump_cp(struct str *out, uint32_t cp)
{
	if (cp < 0x80) {
		str_add_char(out, (char)cp);
	} else if (cp < 0x800) {
		str_add_char(out, (char)(0xc0 | cp >> 6));
		str_add_char(out, (char)(0x80 | (cp & 0x3f)));
	} else if (cp < 0x10000) {
		str_add_char(out, (char)(0xe0 | cp >> 12));
		str_add_char(out, (char)(0x80 | (cp >> 6 & 0x3f)));
		str_add_char(out, (char)(0x80 | (cp & 0x3f)));
	} else {
		str_add_char(out, (char)(0xf0 | cp >> 18));
		str_add_char(out, (char)(0x80 | (cp >> 12 & 0x3f)));
		str_add_char(out, (char)(0x80 | (cp >> 6 & 0x3f)));
		str_add_char(out, (char)(0x80 | (cp & 0x3f)));
	}
}

static void dump_trim(struct str *out, size_t from)
{
	size_t len = out->len;

	while (len > from && out->s[len - 1] == ' ')
		len--;
	str_truncate(out, len);
	str_add_char(out, '\n');
}

void canvas_dump(const struct canvas *c, struct str *out)
{
	int y, x, i;

	for (y = 0; y < c->h; y++) {
		size_t from = out->len;

		for (x = 0; x < c->w; x++) {
			const struct cell *cell = &c->cells[(size_t)y * (size_t)c->w + (size_t)x];

			if (!cell->cp)
				continue;
			dump_cp(out, cell->cp);
			for (i = 0; i < CELL_MARKS && cell->mark[i]; i++)
				dump_cp(out, cell->mark[i]);
		}
		dump_trim(out, from);
	}
}

void canvas_dump_styles(const struct canvas *c, struct str *out)
{
	static const char letters[] = ".abcdefghijklmnopqrstuvwxyz0123456789+-*/=%&@#$!?<>^_";
	int y, x;

	for (y = 0; y < c->h; y++) {
		size_t from = out->len;

		for (x = 0; x < c->w; x++) {
			const struct cell *cell = &c->cells[(size_t)y * (size_t)c->w + (size_t)x];
			char letter = letters[cell->style % (sizeof(letters) - 1)];

			if (cell->over == STYLE_CURSOR && letter == '.')
				letter = '|';
			str_add_char(out, cell->cp == ' ' && letter == '.' ? ' ' : letter);
		}
		dump_trim(out, from);
	}
}
