#ifndef MODEL_HISTORY_H
#define MODEL_HISTORY_H

#include "model/journal.h"

#include <stdbool.h>

struct err;
struct str;

/*
 * What is remembered of the last days of one source: hand-overs, findings that came and went, and
 * states that need a person (a missed renewal is EXPIRING). Bounded: HISTORY_DAYS days,
 * HISTORY_EACH events of one singleton, HISTORY_MOST in all, the oldest go first. Calm singletons
 * cost nothing. Not thread safe.
 */
enum {
	HISTORY_DAYS = 7,
	HISTORY_EACH = 24,
	HISTORY_MOST = 2000,
	HISTORY_TEXT_MOST = 400, /* bytes of each text; what is longer is cut */
};

struct history {
	struct event **at; /* oldest first; owned, each `remembered` */
	size_t n, cap;
	bool dirty; /* something was added since whoever saves it set this to false */
};

void history_init(struct history *h);
void history_release(struct history *h);

/*
 * Adds a copy. What is not worth remembering (no hold, no finding, no state), has no time or no
 * singleton is left out.
 */
void history_add(struct history *h, const struct event *e);
/* Forgets what is beyond the bounds. */
void history_trim(struct history *h, int64_t now_us);

/* The finding that an event begins or ends ("finding", "cleared"): its code's word in buf, of
 * HISTORY_CODE_MAX; false for other events. */
enum {
	HISTORY_CODE_MAX = 40
};
bool history_code(const struct event *e, char *buf);

/*
 * The file's text and back: a line "baton-history 1", then one line for each event, its fields
 * parted by tabs: microseconds since 1970, token, what, what it tells of the holder (a number, enum
 * event_hold), id, holder, key, text. history_read adds; what stands there already is left out:
 * another console that looks at the same source tells the same within a minute. source names the
 * source of all. Hostile bytes: a line that is not well formed is left out. ERR_PROTO for another
 * version, which adds nothing.
 */
void history_write(const struct history *h, struct str *out);
int history_read(
	struct history *h, const char *source, const char *bytes, size_t len, struct err *err);

#endif
