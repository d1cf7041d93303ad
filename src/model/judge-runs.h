#ifndef MODEL_JUDGE_RUNS_H
#define MODEL_JUDGE_RUNS_H

#include "model/judge-rules.h"
#include "model/schedule.h"

/* Private to the judge: what its rules on runs and on schedules share. */

enum {
	SLOT_TEXT_MAX = 320, /* a zone's name is long at most */
	RUN_TEXT_MAX = WHO_MAX + SLOT_TEXT_MAX + 40,
	WHY_TEXT_MAX = 6 * WHO_MAX + 200,
};

bool policy_is(const struct judging *j, const char *policy);
/* "14:00Z", "02:30 Europe/Zurich", with its date when it is half a day away. */
const char *say_slot(struct judging *j, char *buf, int64_t slot_us);
/* "close-29374620 (slot 14:00Z)", "close-manual-x (started by hand)" */
const char *say_run(struct judging *j, char *buf, const struct run *run);
/* Why a run is not over, as a clause: "pod close-1-x on node n3 runs"; "" when nothing tells. */
const char *say_why(struct judging *j, char *buf, const struct run *run);

/* Whether a finalizer of it or of a pod of it is known. */
bool run_is_kept(const struct run *run);

/* When it began, by the cluster's clocks: its record's start, else when that was made. */
int64_t run_began_us(const struct run *run);

/*
 * The run that keeps others from starting under Forbid: the oldest that its controller lists as
 * active; where that list is not known, the oldest that is open. NULL: none.
 */
const struct run *blocking_run(const struct judging *j);

/* Slots that no run was started for since the last that one was, counted to `most`. */
int64_t slots_since_last(const struct judging *j, int64_t until_us, int64_t most);
/* The slot that was last started, or when the job was made; TIME_UNKNOWN. */
int64_t last_slot_us(const struct judging *j);

#endif
