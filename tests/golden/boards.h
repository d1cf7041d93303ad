#ifndef TESTS_GOLDEN_BOARDS_H
#define TESTS_GOLDEN_BOARDS_H

#include "model/board.h"
#include "model/journal.h"

/*
 * Boards made by hand for tests of what is shown: the verdicts are given, not judged, so that a
 * screen changes only when the screen's code does. All clocks are given: the same call gives the
 * same board.
 */
enum {
	BOARDS_NOW_MS = 1000000000,
};
#define BOARDS_NOW_US INT64_C(1767362570000000) /* 2026-01-02T14:02:50Z */

/*
 * "jobs": CronJobs with runs of every kind, Leases, a cluster that can't be read; "jobs-500": many;
 * "role-jobs": with a role over them, of whose witnesses one's runs are hidden, and one can't be
 * read; "mixed": every state, three sources of which one fails, a role, hostile, wide and long
 * names; "calm": a few rows, nothing wrong; "found": rows that need a person for what was found,
 * whatever their state; "empty": sources that answered, without a row; "connecting"; "failing": one
 * source that never answered; "none": no source. NULL for another name. One reference, the
 * caller's.
 */
struct board *boards_make(const char *name, int64_t now_ms, int64_t now_us);

/* The events that belong to "mixed". */
void boards_events(struct journal *journal, int64_t now_us);

/* A source with n rows in all states, its picture kept so that rows can be changed. */
struct big_source;
struct big_source *big_source_new(size_t n, int64_t now_ms, int64_t now_us);
void big_source_free(struct big_source *big);
/* Changes `rows` of them (another holder, a later token) and publishes. One reference, the
 * caller's. */
struct snapshot *big_source_publish(
	struct big_source *big, size_t rows, int64_t now_ms, int64_t now_us);

#endif
