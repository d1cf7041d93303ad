#ifndef SHOW_TEXT_CHART_H
#define SHOW_TEXT_CHART_H

#include "show/show.h"

/* Charts as text, for show-text.c. */

/* When a job ran, and its next slot. */
void text_job_chart(struct show *show, const struct snapshot *snap, const struct row *row);
/* Who held a singleton over the last hour; nothing where nobody did, or nobody looked. */
void text_holder_chart(struct show *show, const struct snapshot *snap, const struct row *row);

#endif
