#ifndef TUI_STORY_JOB_H
#define TUI_STORY_JOB_H

#include "tui/prose.h"
#include "tui/view.h"

/* A job told in sentences: its schedule, the runs that are not over, else the last that ended. */
void story_job(struct prose *p, const struct model *m, const struct singleton *s);
/* All its runs, each with its pods, up to a number that is then said. */
void story_job_runs(struct prose *p, const struct model *m, const struct singleton *s);
/*
 * One run with its pods. doubt: what was read of it is old, and whether it still works can't be
 * told.
 */
void story_run(struct prose *p, const struct model *m, const struct run *run, bool doubt);

#endif
