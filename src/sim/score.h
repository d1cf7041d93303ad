#ifndef SIM_SCORE_H
#define SIM_SCORE_H

#include "base/str.h"
#include "sim/referee.h"

/*
 * A run of a lesson in points, explained line by line. 100 in all: diagnosis 30, safety 40, time to
 * restore 20, communication 10; hints cost, and a side effect done twice on a resource that takes
 * every write leaves at most 30. Doing nothing is scored as any act is. Integers only: the same
 * bytes everywhere.
 */
enum {
	SCORE_DIAGNOSIS = 30,
	SCORE_DIAGNOSIS_LATE = 10,  /* right, but only after something was done */
	SCORE_DIAGNOSIS_WRONG = 15, /* what each wrong cause among those picked costs */
	SCORE_SAFETY = 40,
	SCORE_TIME = 20,
	SCORE_COMMUNICATION = 10,
	SCORE_SAID = 4, /* of communication: that something was said of every act */
	SCORE_WHAT = 3, /* what was done */
	SCORE_WHY = 3,  /* and why */
	SCORE_DOUBLES_CAP = 30,
	SCORE_WORDS_LEAST = 3 /* a reason has at least so many words */
};

/* What one measure costs of the safety. */
struct score_cost {
	struct measure measure;
	const char *text; /* what it is, for the line: "two settle at once" */
	int64_t free;     /* so much of it costs nothing */
	int64_t per;      /* milliseconds or a number; > 0 */
	int64_t costs;    /* points for each such unit */
	int64_t most;     /* at most so many */
};

struct score_rules {
	const char *const *causes; /* their texts, in the lesson's order */
	size_t n_causes;
	uint64_t right;                 /* a bit for each that is right */
	const struct score_cost *costs; /* the account's first values are of them, in this order */
	size_t n_costs;
	int64_t par_ms, limit_ms;
	bool waiting; /* it may come right by itself: the points for time need no act */
	const int *hint_costs;
	size_t n_hints;
	const char *const *what; /* words of which a reason should hold one, NULL-ended */
	const char *const *why;
	int64_t spare_doubles; /* unfenced doubles that could not be helped */
};

enum {
	SCORE_LINES_MOST = 64,
	SCORE_WHAT_MAX = 24,
	SCORE_TEXT_MAX = 320
};

struct score_line {
	char what[SCORE_WHAT_MAX]; /* "diagnosis", "safety", ...; "" under the line before */
	int points;                /* of the part, or what this line takes away (negative) */
	int of;                    /* 0: a line that explains */
	char text[SCORE_TEXT_MAX];
};

struct score {
	int total;
	int diagnosis, safety, time, communication, hints;
	bool capped;
	struct score_line lines[SCORE_LINES_MOST];
	size_t n_lines;
};

void score_make(struct score *score, const struct score_rules *rules, struct world *w,
	const struct account *account);

/* A duration of the world as lessons write it: "0:05", "12:40"; buf: SCORE_CLOCK_MAX. */
enum {
	SCORE_CLOCK_MAX = 24
};
void score_clock(char *buf, int64_t ms);
/* "2.4 s" */
void score_seconds(char *buf, int64_t ms);

#endif
