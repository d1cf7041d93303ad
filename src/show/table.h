#ifndef SHOW_TABLE_H
#define SHOW_TABLE_H

#include "base/str.h"
#include "show/show.h"

/*
 * Aligned columns, each as wide as its widest cell: so all rows are told twice, first to be
 * measured, then to be printed, and none is kept in between. On a terminal that is too narrow,
 * columns shrink and then go, in the order that they say, but never one that is kept. Without a
 * terminal nothing is cut; what is longer than a hundred columns then moves what stands behind it
 * in its own row alone.
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
	/* the row that is told */
	struct str texts;  /* of its next cell */
	size_t n_cells;    /* those that were told */
	size_t spaces;     /* that stand before the next text, if there is one */
	const char *color; /* an SGR sequence, or NULL */
	/* the widest of each column, and whether any row has a text in it */
	size_t width[TABLE_COLUMNS_MAX];
	bool filled[TABLE_COLUMNS_MAX];
	/* while printing */
	size_t shown[TABLE_COLUMNS_MAX]; /* as wide as they are printed; 0: left out */
	struct show_style style;
	struct out *out; /* NULL: measuring */
};

void table_init(struct table *table, const struct table_column *columns, size_t n);
void table_release(struct table *table);
/* A table that tells other rows of the same list; joined with it, what it measured counts as
 * measured here, and it is released. */
void table_part(const struct table *table, struct table *part, struct out *out);
void table_join(struct table *table, struct table *part);

/* Starts a row; then n_columns times a cell: text is added to table->texts, and table_cell ends it;
 * or table_text gives it as a whole. The last one ends the row. */
void table_row(struct table *table, const char *color);
void table_cell(struct table *table);
void table_text(struct table *table, const char *text);

/* All rows were measured: prints the titles, and from now on each row that is told again. */
void table_print(struct table *table, const struct show_style *style, struct out *out);

#endif
