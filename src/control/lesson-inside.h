#ifndef CONTROL_LESSON_INSIDE_H
#define CONTROL_LESSON_INSIDE_H

#include "source/source.h"

/* Private to the reading of lessons: the tables of what is in `lesson:`. */

/* The words of sim/measures.def; a test compares. */
#define LESSON_MEASURE_WORDS                                                               \
	"overlap|vacant|takeovers|writes|doubles|stale-writes|refused|already-done|count|" \
	"happened|acts"

extern const struct option_def lesson_goal_options[];
extern const struct option_def lesson_restored_options[];
extern const struct option_def lesson_cause_options[];
extern const struct option_def lesson_hint_options[];
extern const struct option_def lesson_measure_options[];
extern const struct option_def lesson_reason_options[];
extern const struct option_def lesson_step_options[];
extern const struct option_def lesson_way_options[];
extern const struct option_def lesson_verdict_options[];
extern const struct option_def lesson_reading_options[];
extern const struct option_def lesson_debrief_options[];
extern const struct option_def lesson_compare_options[];

#endif
