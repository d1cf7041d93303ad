#include "config.h"

#include "show/table.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

enum {
	TABLE_TEXT_MAX = 512 * 1024 * 1024,
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
	free(table->cells);
	free(table->colors);
}

void table_row(struct table *table, const char *color)
{
	MEM_GROW(table->colors, table->n_rows, table->cap_rows);
	table->colors[table->n_rows++] = color;
	MEM_GROW(table->cells, table->n_cells, table->cap_cells);
	table->cells[table->n_cells++] = table->texts.len;
}

/* The end of one cell is the start of the next: a row has one offset more than cells. */
void table_cell(struct table *table)
{
	size_t column = (table->n_cells - 1) % (table->n_columns + 1);
	const char *text;
	size_t width;

	str_add_char(&table->texts, '\0');
	text = table->texts.s + table->cells[table->n_cells - 1];
	MEM_GROW(table->cells, table->n_cells, table->cap_cells);
	table->cells[table->n_cells++] = table->texts.len;
	width = text_width(text);
	if (width > table->width[column])
		table->width[column] = width;
	if (*text && strcmp(text, "-") != 0)
		table->filled[column] = true;
}

/* The widths as they are printed; 0: left out. */
struct table_layout {
	size_t width[TABLE_COLUMNS_MAX];
	size_t total;
};

static size_t layout_total(const struct table_layout *layout, size_t n)
{
	size_t total = 0, i;

	for (i = 0; i < n; i++)
		if (layout->width[i])
			total += layout->width[i] + (total ? TABLE_GAP : 0);
	return total;
}

static void layout_shrink(const struct table *table, struct table_layout *layout, size_t columns)
{
	size_t i;

	for (i = table->n_columns; i-- > 0 && layout->total > columns;) {
		size_t least = table->columns[i].shrink_to, over = layout->total - columns;

		if (!least || layout->width[i] <= least)
			continue;
		layout->width[i] =
			layout->width[i] - least > over ? layout->width[i] - over : least;
		layout->total = layout_total(layout, table->n_columns);
	}
}

static void layout_drop(const struct table *table, struct table_layout *layout, size_t columns)
{
	while (layout->total > columns) {
		size_t i, found = table->n_columns;

		for (i = 0; i < table->n_columns; i++)
			if (layout->width[i] && table->columns[i].drop &&
				(found == table->n_columns ||
					table->columns[i].drop < table->columns[found].drop))
				found = i;
		if (found == table->n_columns)
			return;
		layout->width[found] = 0;
		layout->total = layout_total(layout, table->n_columns);
	}
}

/* What a dropped column left goes back to those that were cut for it. */
static void layout_grow(const struct table *table, struct table_layout *layout, size_t columns)
{
	size_t i;

	for (i = 0; i < table->n_columns && layout->total < columns; i++) {
		size_t missing = table->width[i] - layout->width[i];
		size_t room = columns - layout->total;

		if (!layout->width[i] || !missing)
			continue;
		layout->width[i] += missing < room ? missing : room;
		layout->total = layout_total(layout, table->n_columns);
	}
}

static struct table_layout table_layout(const struct table *table, size_t columns)
{
	struct table_layout layout = { .total = 0 };
	size_t i;

	for (i = 0; i < table->n_columns; i++)
		if (!table->columns[i].hide_empty || table->filled[i])
			layout.width[i] = columns || table->width[i] < TABLE_PIPE_WIDTH
						  ? table->width[i]
						  : TABLE_PIPE_WIDTH;
	layout.total = layout_total(&layout, table->n_columns);
	if (columns) {
		layout_shrink(table, &layout, columns);
		layout_drop(table, &layout, columns);
		layout_grow(table, &layout, columns);
	}
	return layout;
}

/* As much of a text as fits, with a mark where it was cut; returns the columns it takes. */
static size_t table_cut(const char *text, size_t room, bool utf8, struct out *out)
{
	size_t used = 0, len = strlen(text), n;

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

static void table_print_cell(const struct table_column *column, const char *text, size_t room,
	bool last, const struct show_style *style, struct out *out)
{
	size_t width = text_width(text);

	if (width > room && !style->columns) {
		out_text(out, text);
		return;
	}
	if (width > room) {
		width = table_cut(text, room, style->utf8, out);
		if (!last)
			out_spaces(out, room - width);
		return;
	}
	if (column->right)
		out_spaces(out, room - width);
	out_text(out, text);
	if (!column->right && !last)
		out_spaces(out, room - width);
}

static void table_print_row(const struct table *table, const struct table_layout *layout,
	const char *const *texts, const struct show_style *style, struct out *out)
{
	size_t i, last = table->n_columns;
	bool first = true;

	/* No spaces behind the last column that has a text. */
	while (last > 0 && (!layout->width[last - 1] || !*texts[last - 1]))
		last--;
	for (i = 0; i < last; i++) {
		if (!layout->width[i])
			continue;
		if (!first)
			out_spaces(out, TABLE_GAP);
		first = false;
		table_print_cell(
			&table->columns[i], texts[i], layout->width[i], i + 1 == last, style, out);
	}
}

void table_print(const struct table *table, const struct show_style *style, struct out *out)
{
	struct table_layout layout = table_layout(table, style->columns);
	const char *texts[TABLE_COLUMNS_MAX];
	size_t row, i;

	for (i = 0; i < table->n_columns; i++)
		texts[i] = table->columns[i].title;
	table_print_row(table, &layout, texts, style, out);
	out_char(out, '\n');
	for (row = 0; row < table->n_rows && !out->error; row++) {
		const size_t *cells = table->cells + row * (table->n_columns + 1);
		const char *color = style->color ? table->colors[row] : NULL;

		for (i = 0; i < table->n_columns; i++)
			texts[i] = table->texts.s + cells[i];
		if (color)
			out_text(out, color);
		table_print_row(table, &layout, texts, style, out);
		if (color)
			out_text(out, "\033[0m");
		out_char(out, '\n');
	}
}
