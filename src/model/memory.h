#ifndef MODEL_MEMORY_H
#define MODEL_MEMORY_H

#include "base/map.h"
#include "model/singleton.h"
#include "model/words.h"

struct err;
struct str;

enum {
	MEMORY_CHANGES = 8,
	MEMORY_ENTRIES_MAX = 250000
};

/*
 * What was observed of one singleton over time: what no single picture shows. Wall clock, since it
 * survives a restart; ages within a run come from the monotonic clock beside it, which is
 * TIME_UNKNOWN in what was loaded.
 */
struct remembered {
	int64_t known_since_us;  /* first seen at all */
	int64_t last_seen_us;    /* last in a picture */
	int64_t holder_since_us; /* the present holder (by key) first seen */
	int64_t state_since_us;
	int64_t last_change_us; /* the record was last seen to change: renewal, holder, token */
	int64_t last_change_ms; /* the same by our monotonic clock; TIME_UNKNOWN: in an earlier run
				 */
	int64_t highest_token;
	int64_t token_before; /* a token that was higher than or equal to one that came after it;
				 with regress_us */
	int64_t token_after;
	int64_t regress_us;                 /* when that was seen; TIME_UNKNOWN: never */
	int64_t lease_deadline_ms;          /* as last read, in this run; TIME_UNKNOWN */
	int64_t changes_us[MEMORY_CHANGES]; /* ring: when holders were seen to change */
	uint32_t n_changes;                 /* in all */
	uint32_t sessions;                  /* changes of session with the same identity */
	int64_t session_since_us;           /* the last of those */
	int64_t overlap_us; /* when a holder was replaced and not seen to stop; TIME_UNKNOWN */
	uint8_t state;      /* enum state, last judged; STATE_UNKNOWN */
	uint8_t mechanism;
	bool has_highest;
	bool held;               /* somebody held it when last seen */
	char *id;                /* owned */
	char *holder_key;        /* owned; NULL: nobody */
	char *holder_identity;   /* owned; NULL */
	char *previous_identity; /* owned; NULL: the holder before */
	char *previous_key;
};

/* The memory of one source. Not thread safe. */
struct memory {
	struct map by_id; /* id -> struct remembered, owned */
	size_t cap; /* entries; beyond it those that were not seen for longest are forgotten */
	bool dirty;
};

void memory_init(struct memory *m);
void memory_release(struct memory *m);

struct remembered *memory_find(const struct memory *m, const char *id);

/* What memory_observe noticed: what changed between the last observation and this one, for the
 * journal. */
struct observed {
	bool appeared;      /* never seen before */
	bool changed_hands; /* another identity holds it */
	bool new_session;   /* the same identity, another key */
	bool freed;         /* held before, free now */
	bool taken;         /* free before, held now */
	bool regressed;     /* the token fell or repeated with another holder */
	char before[256];   /* the identity before; cut */
	int64_t token_before, token_after;
};

/* Adds an observation; makes the entry when there is none. ret may be NULL. */
struct remembered *memory_observe(struct memory *m, const struct singleton *s, int64_t now_ms,
	int64_t now_us, struct observed *ret);
/* Notes that a singleton is not in a full picture any more: nobody holds it. */
void memory_observe_gone(
	struct memory *m, const char *id, int64_t now_ms, int64_t now_us, struct observed *ret);
/* Notes the state that was judged. */
void memory_note_state(struct memory *m, struct remembered *r, enum state state, int64_t now_us);

/*
 * The file's bytes and back: versioned, with a checksum, bounded. memory_read adds to what is
 * there, and for an entry that is there already keeps the higher token and the older known_since
 * (two consoles may have written). A file of another version or with a wrong checksum is ERR_PROTO
 * and adds nothing.
 */
void memory_write(const struct memory *m, struct str *out);
int memory_read(struct memory *m, const void *bytes, size_t len, struct err *err);

#endif
