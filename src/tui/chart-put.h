#ifndef TUI_CHART_PUT_H
#define TUI_CHART_PUT_H

#include "show/chart-row.h"
#include "tui/canvas.h"

/* How a chart's rows (chart-row.h) are drawn into cells of the screen. */

enum style style_of_paint(enum chart_paint paint);
/*
 * Draws a row: its label at x, at most label_w columns of it, the chart's cells behind a blank, its
 * tail where it says, cut at the area's edge.
 */
void chart_put(
	struct canvas *c, struct area a, int y, int x, int label_w, const struct chart_row *row);

/* When a duration that is shown will read otherwise: milliseconds from now on. */
int64_t chart_step_ms(int64_t age_ms);

#endif
