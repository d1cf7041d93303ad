#ifndef TUI_STORY_CHART_H
#define TUI_STORY_CHART_H

#include "tui/prose.h"
#include "tui/view.h"

/* The charts of a story. */

/* Who held it over the last hour; nothing where the prose takes no charts, or nobody held it. */
void story_holder_chart(
	struct prose *p, const struct model *m, const struct snapshot *snap, const struct row *row);
/* When a job ran. */
void story_job_chart(
	struct prose *p, const struct model *m, const struct snapshot *snap, const struct row *row);

#endif
