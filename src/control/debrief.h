#ifndef CONTROL_DEBRIEF_H
#define CONTROL_DEBRIEF_H

#include "control/lesson.h"

/*
 * What is told after a lesson: copied out of its world, so that it stays as it was while that one
 * runs on. Whoever shows it (the console, text, JSON) adds only the layout. Texts are sanitised.
 */

enum band_kind {
	BAND_WORK,    /* a process did the work of a duty */
	BAND_IDLE,    /* it believed that the work is its own, and nothing came of it */
	BAND_OVERLAP, /* more than one did it */
	BAND_VACANT,  /* nobody did it */
	BAND_RECORD   /* the record named that one as the holder */
};

struct band_span {
	int64_t from_ms, to_ms;
	enum band_kind kind;
};

enum {
	BAND_SPANS_MOST = 64,
	BANDS_MOST = 48,
	DEBRIEF_EVENTS_MOST = 80
};

/* One line of the timeline. */
struct band {
	char *head;  /* of its group, where it is the first: "settle: who worked"; else NULL */
	char *label; /* "worker-a", "two at once", "nobody" */
	struct band_span spans[BAND_SPANS_MOST];
	size_t n;
};

/* Something that truly happened. */
struct debrief_event {
	int64_t at_ms, last_ms; /* of several of a kind: the first and the last */
	size_t times;
	enum happening_kind kind;
	char *text;
};

struct debrief_act {
	int64_t at_ms;
	char *verb, *id, *identity, *reason;
	bool asks, to_waiter;
	const char *was;  /* "helped", "harmed", "needless"; NULL: nothing is said of it */
	const char *text; /* the lesson's: of its debrief, or of what the score took for it; NULL */
};

struct debrief_said {
	enum said_kind kind;
	int64_t at_ms;
	uint64_t causes;
	size_t hint;
	char *note;
};

struct debrief {
	const struct lesson *lesson; /* borrowed */
	uint64_t seed;
	const char *inject; /* the fault that an instructor added; borrowed of the run; NULL */
	enum account_end end;
	int64_t begins_ms, end_ms, restored_ms; /* of the world; restored_ms -1: not */
	struct score score;
	int64_t *values; /* of the lesson's measures */
	size_t n_values;
	uint64_t unfenced_doubles;
	struct debrief_said said[ACCOUNT_SAID_MOST];
	size_t n_said;
	struct debrief_act *acts;
	size_t n_acts;
	int64_t from_ms; /* where the timeline begins */
	struct band bands[BANDS_MOST];
	size_t n_bands;
	struct debrief_event events[DEBRIEF_EVENTS_MOST];
	size_t n_events;
	size_t events_left_out;
};

/* How long it took since the trainee sat down: until all was well, or else until it was over. */
int64_t debrief_after_ms(const struct debrief *d);
/* Of the world's referee, as it is now. The caller frees. */
struct debrief *debrief_new(const struct lesson *lesson, uint64_t seed, struct world *w);
void debrief_free(struct debrief *d);

/* "restored", "limit", "finished" */
const char *account_end_word(enum account_end end);
/* The causes of a set in their own words, as the trainee saw them, with blanks between. */
void debrief_causes(const struct lesson *lesson, uint64_t causes, struct str *out);

#endif
