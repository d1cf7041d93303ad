#include "config.h"

#include "show/table.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

enum {
	TABLE_TEXT_MAX = 64 * 1024 * 1024, /* of one row */
	TABLE_PIPE_WIDTH = 100, /* without a terminal: what is wider stands out of its column */
	TABLE_GAP = 2
};

void table_init(struct table *table, const struct table_column *columns, size_t n)
{
	size_t i;

	*table = (struct table){ .columns = columns, .n_columns = n };
	str_init(&table->texts, TABLE_TEXT_MAX);
	for (i = 0; i < n; i++)
		table->width[i] = text_width(columns[i].title);
}

void table_release(struct table *table)
{
	str_release(&table->texts);
}

void table_part(const struct table *table, struct table *part, struct out *out)
{
	*part = *table;
	part->out = table->out ? out : NULL;
	str_init(&part->texts, TABLE_TEXT_MAX);
}

void table_join(struct table *table, struct table *part)
{
	size_t i;

	for (i = 0; i < table->n_columns; i++) {
		if (part->width[i] > table->width[i])
			table->width[i] = part->width[i];
		table->filled[i] = table->filled[i] || part->filled[i];
	}
	table_release(part);
}

void table_row(struct table *table, const char *color)
{
	table->color = color;
	table->n_cells = table->spaces = 0;
	str_clear(&table->texts);
}

/* ---- how wide each column is printed ---- */

static size_t layout_total(const struct table *table)
{
	size_t total = 0, i;

	for (i = 0; i < table->n_columns; i++)
		if (table->shown[i])
			total += table->shown[i] + (total ? TABLE_GAP : 0);
	return total;
}

static void layout_shrink(struct table *table, size_t columns)
{
	size_t i, total = layout_total(table);

	for (i = table->n_columns; i-- > 0 && total > columns;) {
		size_t least = table->columns[i].shrink_to, over = total - columns;

		if (!least || table->shown[i] <= least)
			continue;
		table->shown[i] = table->shown[i] - least > over ? table->shown[i] - over : least;
		total = layout_total(table);
	}
}

static void layout_drop(struct table *table, size_t columns)
{
	while (layout_total(table) > columns) {
		size_t i, found = table->n_columns;

		for (i = 0; i < table->n_columns; i++)
			if (table->shown[i] && table->columns[i].drop &&
				(found == table->n_columns ||
					table->columns[i].drop < table->columns[found].drop))
				found = i;
		if (found == table->n_columns)
			return;
		table->shown[found] = 0;
	}
}

/* What a dropped column left goes back to those that were cut for it. */
static void layout_grow(struct table *table, size_t columns)
{
	size_t i, total = layout_total(table);

	for (i = 0; i < table->n_columns && total < columns; i++) {
		size_t missing = table->width[i] - table->shown[i], room = columns - total;

		if (!table->shown[i] || !missing)
			continue;
		table->shown[i] += missing < room ? missing : room;
		total = layout_total(table);
	}
}

static void table_layout(struct table *table, size_t columns)
{
	size_t i, most = columns ? SIZE_MAX : TABLE_PIPE_WIDTH;

	for (i = 0; i < table->n_columns; i++) {
		size_t width = table->width[i] < most ? table->width[i] : most;

		table->shown[i] = !table->columns[i].hide_empty || table->filled[i] ? width : 0;
	}
	if (!columns)
		return;
	layout_shrink(table, columns);
	layout_drop(table, columns);
	layout_grow(table, columns);
}

/* ---- printing ---- */

/* As much of a text as fits, with a mark where it was cut; returns the columns it takes. */
static size_t table_cut(const char *text, size_t len, size_t room, bool utf8, struct out *out)
{
	size_t used = 0, n;

	while (len) {
		uint32_t cp = '?';
		int width;

		n = text_decode(text, len, &cp);
		n = n ? n : 1;
		width = text_cp_width(cp);
		width = width < 0 ? 1 : width;
		if (used + (size_t)width > room - 1)
			break;
		out_mem(out, text, n);
		used += (size_t)width;
		text += n;
		len -= n;
	}
	out_text(out, utf8 ? "\xe2\x80\xa6" : "~");
	return used + 1;
}

/* Spaces wait for a text behind them: none stand at the end of a line. */
static void table_print_cell(
	struct table *table, size_t i, const char *text, size_t len, size_t width)
{
	size_t room = table->shown[i];
	bool right = table->columns[i].right;

	if (!len) {
		table->spaces += room;
		return;
	}
	if (right && width < room)
		table->spaces += room - width;
	out_spaces(table->out, table->spaces);
	table->spaces = 0;
	if (width > room && table->style.columns) {
		width = table_cut(text, len, room, table->style.utf8, table->out);
		right = false;
	} else {
		out_mem(table->out, text, len);
	}
	if (!right && width < room)
		table->spaces = room - width;
}

static bool table_is_first(const struct table *table, size_t i)
{
	while (i-- > 0)
		if (table->shown[i])
			return false;
	return true;
}

static void table_print_next(struct table *table, size_t i, const char *text, size_t len)
{
	const char *color = table->style.color ? table->color : NULL;

	if (!i && color)
		out_text(table->out, color);
	if (table->shown[i]) {
		if (!table_is_first(table, i))
			table->spaces += TABLE_GAP;
		table_print_cell(table, i, text, len, text_width_mem(text, len));
	}
	if (i + 1 < table->n_columns)
		return;
	if (color)
		out_text(table->out, "\033[0m");
	out_char(table->out, '\n');
}

static void table_measure(struct table *table, size_t i, const char *text, size_t len)
{
	size_t width = text_width_mem(text, len);

	if (width > table->width[i])
		table->width[i] = width;
	if (len > 1 || (len && *text != '-'))
		table->filled[i] = true;
}

static void table_add(struct table *table, const char *text, size_t len)
{
	size_t i = table->n_cells++;

	if (table->out)
		table_print_next(table, i, text, len);
	else
		table_measure(table, i, text, len);
}

void table_cell(struct table *table)
{
	table_add(table, table->texts.s, table->texts.len);
	str_clear(&table->texts);
}

void table_text(struct table *table, const char *text)
{
	table_add(table, text, strlen(text));
}

void table_print(struct table *table, const struct show_style *style, struct out *out)
{
	size_t i;

	table->style = *style;
	table->out = out;
	table_layout(table, style->columns);
	table_row(table, NULL);
	for (i = 0; i < table->n_columns; i++)
		table_text(table, table->columns[i].title);
}
