#ifndef MODEL_JOURNAL_H
#define MODEL_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What an event tells of who held the singleton. */
enum event_hold {
	EVENT_NO_HOLD,
	EVENT_TOOK,      /* the holder began to hold it then */
	EVENT_SEEN,      /* it was first seen to hold it then: perhaps it had before */
	EVENT_LAST_SEEN, /* it was last seen to hold it then */
	EVENT_LET_GO,    /* it held it until then */
};

/*
 * One thing that happened: a hand-over, a finding that came or went, trouble with a source. All
 * texts are sanitised, one block with the struct: free() it.
 */
struct event {
	uint64_t seq;
	int64_t at_us; /* wall clock; TIME_UNKNOWN: the system kept no time (etcd's history) */
	int64_t token; /* orders events without a time; 0: none */
	const char *source;
	const char *id;   /* of the singleton; NULL: of the source itself */
	const char *what; /* "took", "seen", "released", "hand-over", "state", "finding", "cleared",
			     "source", "gap" */
	const char *text;
	enum event_hold hold;
	const char *holder; /* its identity; NULL with EVENT_NO_HOLD */
	bool remembered;    /* told by the memory of earlier runs */
	bool late; /* of another's telling, which may come after what happened since (a server's own
		      events, its history): it belongs where its time is */
	const char *key; /* the holder's, which binds it for ever; NULL: not told */
};

/* One block; the caller frees it. source, id, what, text are copied; id may be NULL. */
struct event *event_new(int64_t at_us, int64_t token, const char *source, const char *id,
	const char *what, const char *text);

/* The same, with what it tells of the holder; both texts may be NULL. */
struct event *event_held(int64_t at_us, int64_t token, const char *source, const char *id,
	const char *what, const char *text, enum event_hold hold, const char *holder,
	const char *key);
/* The caller frees it. */
struct event *event_copy(const struct event *e);

/*
 * Puts events that stand in the order in which they came into the order in which they happened, as
 * far as that was told: one that came late goes before what happened after it, by their times, or
 * by the tokens of one source where those have no times. All others stay as they came, also where
 * our clock was set back.
 */
void events_order(const struct event **events, size_t n);

/* A bounded list, oldest first; the oldest fall out. Not thread safe. */
struct journal {
	struct event **events; /* a ring */
	size_t n, cap, first;
	uint64_t seq; /* of the newest */
};

void journal_init(struct journal *j, size_t cap);
void journal_release(struct journal *j);
/*
 * Takes over what is remembered of earlier runs: it stands before all that happened since, in the
 * order of its times, whenever it comes. At most JOURNAL_REMEMBERED of it, the newest, and nothing
 * in place of what happened since. The numbers up to JOURNAL_REMEMBERED are theirs: set j->seq to
 * that before anything is added.
 */
enum {
	JOURNAL_REMEMBERED = 1000
};
void journal_add_remembered(struct journal *j, struct event *event);
/* Takes the event over, and numbers it. */
void journal_add(struct journal *j, struct event *event);
/* The events up to a number, as they stand in j: a look into it, which owns nothing and holds until
 * j changes. */
struct journal journal_until(const struct journal *j, uint64_t seq);
/* Event i of the n, oldest first. Borrowed. */
const struct event *journal_at(const struct journal *j, size_t i);

#endif
