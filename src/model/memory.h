#ifndef MODEL_MEMORY_H
#define MODEL_MEMORY_H

#include "model/singleton.h"
#include "model/words.h"

struct err;
struct str;

enum {
	MEMORY_CHANGES = 16,
	MEMORY_ENTRIES_MAX = 250000,
	MEMORY_HEAD_SIZE = 24 /* of its file */
};

/*
 * What is remembered of a singleton that was seen to change hands, or whose holder changed its
 * session: rare among many, and so kept apart.
 */
struct remembered_past {
	int64_t changes_us[MEMORY_CHANGES]; /* ring by n_changes: when another process was seen to
					       hold it */
	int64_t first_session_us;           /* when a holder was first seen with a new session */
	int64_t session_since_us;           /* and last */
	int64_t previous_since_us;          /* the holder before: first seen to hold it */
	int64_t previous_until_us;          /* and when it was seen to hold it no more */
	int64_t previous_seen_us; /* and last seen to hold it, where another was the next to be
				     seen; TIME_UNKNOWN: it was free in between, or not known */
	int64_t overlap_us;       /* another was seen in its place, and it was not seen to stop;
				     TIME_UNKNOWN */
	int64_t token_before; /* the highest token, when one came after it that was not higher; with
				 regress_us */
	int64_t token_after;
	int64_t regress_us; /* when that was last seen; TIME_UNKNOWN: never */
	int64_t renamed_us; /* the session that holds it was seen under another name; TIME_UNKNOWN:
			       never */
	int64_t previous_left_ms; /* what the lease of the holder before had left then, at least;
				     TIME_UNKNOWN */
	bool reissued; /* with regress_us: the object itself was deleted and made again, so that the
			  numbers before and after are not comparable */
	uint32_t n_changes;            /* in all */
	uint32_t sessions;             /* changes of session of the present process, in all */
	const char *previous_identity; /* in the block of strings; NULL: none */
	const char *previous_key;
	const char *previous_client;
	char *strings; /* owned */
};

/*
 * What was observed of one singleton over time: what no single picture shows. Wall clock, since it
 * survives a restart; ages within a run come from the monotonic clock beside it, which is
 * TIME_UNKNOWN in what was loaded. One block with its id.
 */
struct remembered {
	int64_t known_since_us;  /* first seen at all */
	int64_t last_seen_us;    /* last in a picture */
	int64_t holder_since_us; /* the present holder (by key) first seen */
	int64_t state_since_us;
	int64_t last_change_us; /* the record was last seen to change: renewal, holder, token */
	int64_t last_change_ms; /* the same by our monotonic clock; TIME_UNKNOWN: in an earlier run
				 */
	int64_t highest_token;  /* valid where has_highest */
	int64_t lease_deadline_ms;    /* as last read, in this run; TIME_UNKNOWN */
	struct remembered_past *past; /* owned; NULL: it never changed hands */
	uint64_t queue;  /* a Bloom filter of the keys that waited when it was last seen */
	uint64_t record; /* of a Lease: a digest of what its holder writes, as last seen; valid
			    where has_record */
	uint8_t state;   /* enum state, last judged; STATE_UNKNOWN */
	uint8_t mechanism;
	bool has_highest;
	bool has_record;
	bool held;         /* somebody held it when last seen */
	bool present;      /* in the last picture of this run: forgotten after those that are not */
	bool holder_apart; /* the texts of its holder have no room in this block any more */
	uint16_t room;     /* bytes behind the id, for them */
	uint16_t identity_at, client_at; /* in holder */
	uint32_t id_len;
	/* Key, identity and client, each ended by NUL, of who holds it, or held it last; NULL */
	char *holder;
	char id[];
};

/* What the times of packed entries are told against. */
struct memory_base {
	int64_t us, ms; /* TIME_UNKNOWN: nothing is packed yet */
};

/* An entry that is looked at or changed. */
struct memory_opened {
	struct remembered *r;
	uint32_t number;
	uint32_t at, len; /* where it stood before; len 0: nowhere */
};

/*
 * The memory of one source. Not thread safe. A hundred thousand entries are kept packed, one behind
 * the other, and opened where one is asked for.
 */
struct memory {
	unsigned char *log; /* the packed entries, and what is left of older forms */
	size_t log_len, log_cap, garbage;
	uint32_t *places; /* by number, in no order that matters: where in the log; or with the
			     highest bit the place among the opened */
	size_t n, room;
	uint32_t *table; /* an open hash table by id: eight bits of the hash, and the entry's
			    number, one up */
	size_t size;     /* of the table, a power of two; 0 while empty */
	struct memory_opened *opened;
	size_t n_opened, cap_opened;
	struct memory_base base;
	size_t cap; /* entries; beyond it those that were not seen for longest are forgotten */
	uint64_t seed[2];
	int64_t confirmed_us; /* when all that is present was last read again; TIME_UNKNOWN */
	int64_t seen_us;      /* memory_seen; TIME_UNKNOWN */
	int64_t youngest_us;  /* no time in it is later */
	bool dirty;           /* something changed since whoever saves it set this to false */
};

void memory_init(struct memory *m);
void memory_release(struct memory *m);
/* Forgets all; cheap where there is little. */
void memory_clear(struct memory *m);

/*
 * The entry of that id, or NULL. It is open from then on: what is written to it is kept, and it
 * stays where it is until memory_settle or one of its kin, memory_next, memory_seen,
 * memory_set_back, reading or writing, or until others are forgotten for a new one's sake.
 */
struct remembered *memory_find(struct memory *m, const char *id);
/*
 * Packs what is open again. Call it where no entry is held any more, now and then: an open entry
 * takes twice the room, and more.
 */
void memory_settle(struct memory *m);
/* The same before it is left alone for a while: also what is left of older forms goes, where it is
 * much. */
void memory_rest(struct memory *m);
/* The same as memory_settle where many are open, and else nothing. */
void memory_settle_many(struct memory *m);
/*
 * The same for who reads its source again and again: a small memory keeps open what was looked at,
 * whose facts and verdict and next news come close together. It is packed when it is saved and when
 * its reader comes to rest (memory_rest), which between two polls is all of it but for a built-in
 * fleet's (session.c).
 */
void memory_settle_watched(struct memory *m);

/*
 * Walks all entries in no order: start with *pos = 0; NULL at the end. An entry stays open until
 * the next call only. Nothing may be added or forgotten meanwhile.
 */
struct remembered *memory_next(struct memory *m, size_t *pos);
/* Whether somebody held what the next entry of that walk is about, and whether it is in the
 * picture of this run, without opening it; false at the end. */
bool memory_peek(const struct memory *m, size_t pos, bool *ret_held, bool *ret_present);

/* Who holds it, or held it last: NULL when nobody ever did. client is "" where the source tells
 * none. Borrowed. */
const char *remembered_key(const struct remembered *r);
const char *remembered_identity(const struct remembered *r);
const char *remembered_client(const struct remembered *r);

/* What memory_observe noticed: what changed between the last observation and this one, for the
 * journal. */
struct observed {
	bool appeared;      /* never seen before */
	bool changed_hands; /* another process holds it, directly after the one before */
	bool new_session;   /* the same process, another session or lease */
	bool freed;         /* held before, free now */
	bool taken;         /* free before, held now */
	bool regressed;     /* the token fell or repeated with another holder; or fell, of a Lease
			       that nobody holds */
	bool renewed;       /* the lease was seen to be renewed */
	char before[256];   /* the identity before; cut */
	int64_t before_since_us; /* since when it was seen to hold it; with before */
	int64_t token_before, token_after;
};

/*
 * Adds an observation; makes the entry when there is none. ret may be NULL. A holder is known again
 * by its claim's key, which binds it for ever. Another key with the same identity and client counts
 * as the same process on a new session or lease, but not when that key was seen to wait while the
 * old one held: two at once are two processes. Of a Lease, identities that differ only in the UUID
 * behind them are one process, started again.
 *
 * The runs of a CronJob are no hand-over: a new one for each slot is its work. Of them only is
 * remembered since when some run was not over; the runs themselves are the API's to keep.
 */
struct remembered *memory_observe(struct memory *m, const struct singleton *s, int64_t now_ms,
	int64_t now_us, struct observed *ret);
/* Notes that a singleton is not in a full picture any more: nobody holds it. ret may be NULL. */
void memory_observe_gone(
	struct memory *m, const char *id, int64_t now_ms, int64_t now_us, struct observed *ret);
/*
 * Our clock was set back: what is remembered to have been later than now was at the latest now, as
 * far as this clock can tell. Returns whether anything was.
 */
bool memory_set_back(struct memory *m, int64_t now_us);
/* All that is present is seen once more now, though nothing of it changed. */
void memory_seen(struct memory *m, int64_t now_us);
/* It can't be seen any more: what is remembered of it was so when it was seen last. */
void memory_observe_hidden(struct memory *m, const char *id);
/*
 * Notes that a full picture was read, the rows of which that changed were observed. What an earlier
 * run saw held, and this picture does not have, went meanwhile: it is seen to be free now. whole
 * false: it lacks rows that may be there, and nothing went.
 */
void memory_confirm(struct memory *m, int64_t now_ms, int64_t now_us, bool whole);
/*
 * Notes that a role was seen held twice at once, and by whom, in a text that the memory keeps as
 * its holder's key. last_seen_us tells when that was last so, holder_since_us since when.
 */
void memory_note_duplicate(struct memory *m, const char *id, const char *text, int64_t now_us);
/*
 * A digest of what a Lease's holder writes into it: holder, times, duration, transitions; what
 * candidates compare too (client-go's leaderelection). Not its resourceVersion, which an annotation
 * changes.
 */
uint64_t lease_record(const struct singleton *s);

/*
 * Notes that two of a CronJob's runs, or two pods of one, were seen alive at once: by what finding
 * (its code in words), and which. past->session_since_us then tells when that was last so, and
 * first_session_us since when; previous_key is the code, previous_identity names them.
 */
void memory_note_two(struct memory *m, struct remembered *r, const char *code, const char *names,
	int64_t now_us);

/* Notes the state that was judged. */
void memory_note_state(struct memory *m, struct remembered *r, enum state state, int64_t now_us);

/* How many processes held it within the window that ends at now_us, as far as was seen; at most
 * MEMORY_CHANGES + 1. */
uint32_t remembered_holders(const struct remembered *r, int64_t window_ms, int64_t now_us);

/*
 * The file's bytes and back (memory-format.c): versioned, with a checksum, bounded. memory_read
 * adds to what is there, and for an entry that is there already keeps the higher token, the older
 * known_since, and of the rest what was seen last (two consoles may have written). A file of
 * another version or with a wrong checksum is ERR_PROTO and adds nothing.
 */
void memory_write(struct memory *m, struct str *out);
/*
 * The same in pieces: sink gets all that comes behind the head, and is not called again after it
 * returned an error, which is returned. The head is to be put before them afterwards.
 */
typedef int (*memory_sink)(void *arg, const void *mem, size_t len);
int memory_write_to(struct memory *m, memory_sink sink, void *arg, char head[MEMORY_HEAD_SIZE]);
int memory_read(struct memory *m, const void *bytes, size_t len, struct err *err);

#endif
