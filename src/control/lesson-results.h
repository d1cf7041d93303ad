#ifndef CONTROL_LESSON_RESULTS_H
#define CONTROL_LESSON_RESULTS_H

#include "control/debrief.h"

/*
 * What lessons that were played gave: $XDG_STATE_HOME/baton/lessons.jsonl, one JSON line each, mode
 * 0600, the newest last; the oldest go when there are more than LESSON_RESULTS_MOST.
 */
enum {
	LESSON_RESULTS_MOST = 1000,
	LESSON_RESULT_TIME = 32,
	LESSON_RESULT_TITLE = 96,
	LESSON_RESULT_INJECT = 200
};

struct lesson_result {
	char at[LESSON_RESULT_TIME]; /* RFC 3339, when it was played */
	char number[LESSON_NUMBER_MAX];
	char title[LESSON_RESULT_TITLE]; /* sanitised */
	uint64_t seed;
	int score, diagnosis, safety, time, communication, hints;
	int64_t after_ms;                  /* debrief_after_ms */
	char inject[LESSON_RESULT_INJECT]; /* the fault that an instructor added; "" */
	const char *end;                   /* "restored", "limit", "finished" */
};

/* folder: NULL: the XDG state folder. now_us: the machine's wall clock. */
int lesson_results_add(
	const char *folder, const struct debrief *d, int64_t now_us, struct err *err);
/*
 * All, the oldest first; the caller frees the array. A file that is absent is an empty list; lines
 * that can't be understood are counted.
 */
int lesson_results_read(const char *folder, struct lesson_result **ret, size_t *ret_n,
	size_t *ret_broken, struct err *err);
/* The best score of a lesson as it is written, without a fault that was added; -1: never played. */
int lesson_results_best(const struct lesson_result *results, size_t n, const char *number);

#endif
