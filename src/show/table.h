#ifndef SHOW_TABLE_H
#define SHOW_TABLE_H

#include "base/str.h"
#include "show/show.h"

/*
 * Aligned columns. Cells are collected first, so that each column is as wide as its widest cell;
 * on a terminal that is too narrow, columns shrink and then go, in the order that they say, but
 * never one that is kept. Without a terminal nothing is cut; what is longer than a hundred columns
 * then moves what stands behind it in its own row alone.
 */
struct table_column {
	const char *title;
	bool right;       /* numbers */
	bool keep;        /* never cut, never dropped */
	bool hide_empty;  /* left out when no row has anything in it */
	size_t shrink_to; /* may be cut to that width; 0: not */
	int drop;         /* may be left out: the lowest first; 0: not */
};

enum {
	TABLE_COLUMNS_MAX = 16
};

struct table {
	const struct table_column *columns;
	size_t n_columns;
	struct str texts;
	size_t *cells;       /* offsets into texts, row by row */
	const char **colors; /* of each row: an SGR sequence, or NULL */
	size_t n_cells, cap_cells, n_rows, cap_rows;
	size_t width[TABLE_COLUMNS_MAX];
	bool filled[TABLE_COLUMNS_MAX];
};

void table_init(struct table *table, const struct table_column *columns, size_t n);
void table_release(struct table *table);

/* Starts a row; then n_columns times a cell: text is added to table->texts, and table_cell ends it.
 */
void table_row(struct table *table, const char *color);
void table_cell(struct table *table);

void table_print(const struct table *table, const struct show_style *style, struct out *out);

#endif
