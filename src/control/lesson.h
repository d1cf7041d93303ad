#ifndef CONTROL_LESSON_H
#define CONTROL_LESSON_H

#include "control/options.h"
#include "sim/referee.h"
#include "sim/score.h"

/*
 * The `lesson:` of a scenario (doc/scenario-format.md): what a trainee is told and asked, what is
 * measured, the ways through it, and the debrief. Facts only; control/lesson-run.h plays it.
 */

enum {
	LESSON_CAUSES_MOST = 16,
	LESSON_HINTS_MOST = 8,
	LESSON_NUMBER_MAX = 8
};

struct lesson_cause {
	const char *id;
	const char *text;
	const char *why; /* for the debrief: why it is, or is not, the cause; NULL */
	bool right;
};

struct lesson_hint {
	const char *text;
	int costs;
};

enum lesson_way_kind {
	LESSON_WAY_RIGHT,
	LESSON_WAY_WRONG,
	LESSON_WAY_NOTHING
};

enum lesson_step_kind {
	LESSON_STEP_DIAGNOSE,
	LESSON_STEP_ACT,
	LESSON_STEP_HINT,
	LESSON_STEP_NOTE,
	LESSON_STEP_SEES,
	LESSON_STEP_FINISH
};

/* One step of a way: at a moment of the world, something that the trainee does. */
struct lesson_step {
	enum lesson_step_kind kind;
	int64_t at_ms;
	int line;                             /* of the file, for messages */
	uint64_t causes;                      /* DIAGNOSE */
	const char *act;                      /* ACT: the verb's word */
	const char *on;                       /* ACT, SEES: the id */
	const char *expect;                   /* ACT: a holder or a key; NULL: the only one */
	const char *reason;                   /* ACT; NULL */
	const char *outcome;                  /* ACT: as it must end: "done" */
	size_t hint;                          /* HINT: from 0 */
	const char *note;                     /* NOTE */
	const char *state, *finding, *holder; /* SEES: what the board must show of it; NULL */
};

struct lesson_way {
	const char *name;
	enum lesson_way_kind kind;
	const char *text; /* what it is, one sentence */
	int least, most;  /* the score that it must give */
	const struct lesson_step *steps;
	size_t n_steps;
};

enum lesson_whom {
	LESSON_WHOM_ANY,
	LESSON_WHOM_HOLDER, /* not a waiter */
	LESSON_WHOM_WAITER
};

/* What the debrief says of an act. The first row that fits counts. */
struct lesson_verdict {
	const char *act;    /* a verb, or "any" */
	const char *on;     /* an id, or its beginning and a star; NULL: any */
	const char *after;  /* "VERB ID": only if that was done before; NULL */
	const char *unless; /* "VERB ID": only if that was not done before; NULL */
	enum lesson_whom whom;
	int64_t until_ms; /* only what was done until then, in time of the world */
	const char *was;  /* "helped", "harmed" or "needless" */
	const char *text;
};

struct lesson_reading {
	const char *text, *at; /* at: a public address */
};

/* A cell of the debrief's table that compares. */
struct lesson_cell {
	const char *row, *column;
	size_t value; /* of the account */
	bool ms;
};

enum lesson_kind {
	LESSON_LESSON, /* one of the twelve */
	LESSON_STUDY   /* below them */
};

struct lesson {
	enum lesson_kind kind;
	const char *number; /* "S02" */
	const char *title;  /* the scenario's */
	const char *line;   /* one line for the list */
	const char *story, *see, *task;
	const char *asks;              /* what the causes answer */
	const char *question, *answer; /* of senior practice, which it answers; NULL */

	int64_t par_ms;
	struct referee_rules rules; /* begins_ms, limit_ms, goals, measures ... */
	struct score_rules score;

	const struct lesson_cause *causes;
	size_t n_causes;
	const struct lesson_hint *hints;
	size_t n_hints;
	const struct lesson_way *ways;
	size_t n_ways;

	const char *principle, *sign;
	const struct lesson_verdict *verdicts;
	size_t n_verdicts;
	const struct lesson_reading *reading;
	size_t n_reading;
	const char *const *watch; /* duties and locks that the timeline draws; NULL-ended, empty:
				     all duties */
	const struct lesson_cell *cells;
	size_t n_cells;
	struct lesson_store *store;
};

/* The tables, for the manual and the schema: `lesson:` itself and what is in it. */
extern const struct option_def lesson_options[];

/*
 * Reads the map of `lesson:`, which lives as long as the lesson; title is the scenario's. Errors:
 * ERR_CONFIG, with file, line, column and the nearest right key.
 */
int lesson_read(const struct options_check *check, struct yaml_node *map, const char *title,
	struct lesson **ret, struct err *err);
void lesson_free(struct lesson *lesson);

/*
 * Whether everything that it names is in the world that was built for it: duties, resources,
 * processes. map: what it was read from. ERR_CONFIG with file, line, column and the nearest name.
 */
int lesson_check(const struct lesson *lesson, const struct options_check *check,
	const struct yaml_node *map, struct world *w);

/*
 * A way from a text of its own: a list of steps, or a map with `steps`. Lives as long as the
 * lesson, or until the next one is read.
 */
int lesson_read_script(struct lesson *lesson, const char *text, size_t len, const char *file,
	const struct lesson_way **ret, struct err *err);

/* ERR_NOTFOUND, with the ways that there are. */
int lesson_no_way(const struct lesson *lesson, const char *name, struct err *err);
/* -1 when there is none of that name. */
int lesson_way_find(const struct lesson *lesson, const char *name);
int lesson_cause_find(const struct lesson *lesson, const char *id);
/* Its causes in the order in which they are offered: seeded, the same for the same seed. */
void lesson_shuffle(const struct lesson *lesson, uint64_t seed, size_t order[LESSON_CAUSES_MOST]);

#endif
