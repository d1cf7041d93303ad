#ifndef CONTROL_LESSON_RUN_H
#define CONTROL_LESSON_RUN_H

#include "control/debrief.h"
#include "control/scenario.h"

/*
 * One run of a lesson: its scenario with a referee in the world. The console plays it on threads
 * and the machine's time, a script on a drive; both come to the same account when they do the same
 * at the same moments of the world.
 */
enum {
	LESSON_INJECT_MAX = 200 /* so much of an added fault is told */
};

struct lesson_run {
	struct scenario *scenario;
	struct lesson *lesson;
	uint64_t seed;
	char *inject;                     /* the fault that an instructor added; NULL */
	size_t order[LESSON_CAUSES_MOST]; /* in which the causes are offered */
};

struct lesson_options {
	bool has_seed; /* another than the scenario's */
	uint64_t seed;
	const char *inject; /* an instructor's fault: "at: 40s, pause: {...}"; NULL */
};

/*
 * Loads a lesson by its number ("S02", in any case), its scenario's name, or as a file where
 * `which` has a slash or ends in .yaml. Its world stands at 0 ms. Errors: ERR_CONFIG; ERR_NOTFOUND
 * with the nearest.
 */
int lesson_run_load(const char *which, const struct lesson_options *options,
	struct lesson_run **ret, struct err *err);
void lesson_run_free(struct lesson_run *run);

/* The trainee sits down: brings the world there. Nobody may look at it yet. */
void lesson_run_begin(struct lesson_run *run);

/* How it stands, for the screen: a copy. */
struct lesson_state {
	enum account_end end;
	int64_t now_ms;      /* since the trainee sat down */
	int64_t restored_ms; /* since then all holds, on the same clock; -1: it does not */
	uint64_t picked;     /* the causes of the last answer */
	size_t hints;        /* taken */
};
void lesson_run_look(struct lesson_run *run, struct lesson_state *ret);

/* What the trainee says, at this moment; the world is entered for it. */
void lesson_run_diagnose(struct lesson_run *run, uint64_t causes);
/* The next hint; NULL when there is none left. */
const struct lesson_hint *lesson_run_hint(struct lesson_run *run);
void lesson_run_note(struct lesson_run *run, const char *text);
void lesson_run_finish(struct lesson_run *run);
struct debrief *lesson_run_debrief(struct lesson_run *run);

/*
 * Plays a way without a screen, from the beginning to the end of the lesson, on a drive. state_dir:
 * where the audit is; NULL: the XDG one. What the way says and did not come about is told in
 * ret_faults, a line each ("S02:61: ...").
 */
void lesson_run_play(struct lesson_run *run, const struct lesson_way *way, const char *state_dir,
	struct str *ret_faults);

/* The lessons that the program carries, by number; then the studies. Returns how many; at most max
 * are written. */
struct lesson_entry {
	const char *name; /* of the scenario */
	char number[LESSON_NUMBER_MAX];
};
size_t lesson_entries(struct lesson_entry *ret, size_t max);

#endif
