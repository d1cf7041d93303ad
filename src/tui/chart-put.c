#include "config.h"

#include "tui/chart-put.h"

enum style style_of_paint(enum chart_paint paint)
{
	static const enum style styles[CHART_PAINT_COUNT] = {
		[CHART_PAINT_TEXT] = STYLE_TEXT,
		[CHART_PAINT_AXIS] = STYLE_CHART_AXIS,
		[CHART_PAINT_OK] = STYLE_CHART_OK,
		[CHART_PAINT_FAILED] = STYLE_CHART_FAILED,
		[CHART_PAINT_ALIVE] = STYLE_CHART_ALIVE,
		[CHART_PAINT_IDLE] = STYLE_CHART_IDLE,
		[CHART_PAINT_UNKNOWN] = STYLE_CHART_UNKNOWN,
		[CHART_PAINT_OVERLAP] = STYLE_CHART_OVERLAP,
		[CHART_PAINT_MISSED] = STYLE_CHART_MISSED,
	};

	return styles[paint];
}

void chart_put(
	struct canvas *c, struct area a, int y, int x, int label_w, const struct chart_row *row)
{
	struct area cells = area_sub(a, 0, x + label_w + 1, a.h, a.w - x - label_w - 1);
	int i;

	canvas_fit(c, a, y, x, label_w, style_of_paint(row->label_paint), FIT_MIDDLE, row->label);
	for (i = 0; i < row->columns; i++)
		if (row->cells[i].cp)
			canvas_cp(c, cells, y, i, style_of_paint(row->cells[i].paint),
				row->cells[i].cp);
	if (!row->tail[0] || row->tail_at >= cells.w)
		return;
	/* What is cut says so; what fits leaves the rest of the row as it is. */
	i = canvas_width(c, row->tail);
	if (i > cells.w - row->tail_at)
		i = cells.w - row->tail_at;
	canvas_fit(
		c, cells, y, row->tail_at, i, style_of_paint(row->tail_paint), FIT_LEFT, row->tail);
}

int64_t chart_step_ms(int64_t age_ms)
{
	int64_t unit = age_ms < 60000 ? 1000 : 60000;

	return age_ms < 0 ? 1000 : unit - age_ms % unit;
}
