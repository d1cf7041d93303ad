#ifndef MODEL_SINGLETON_H
#define MODEL_SINGLETON_H

#include "base/str.h"
#include "model/run.h"
#include "model/words.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * One fact about a claim or a singleton. Unknown is a value: a detail that the server hid from us
 * stands with `hidden` set; one that it has not got is absent. A hundred thousand rows have four or
 * more each, so that it stands in ten bytes, and not in the sixteen that aligned ones would take.
 */
struct detail {
	enum detail_id id : 8;
	bool hidden : 1; /* there, and not shown to us for want of a privilege */
	union {
		int64_t i;     /* INT, BIG, HEX, TIME (us), MS, BOOL */
		const char *s; /* TEXT, sanitised; never NULL unless hidden */
	};
} __attribute__((packed, aligned(2)));
_Static_assert(DETAIL_COUNT <= 256, "struct detail has 8 bits for the id");

struct schedule;

enum claim_kind {
	CLAIM_HOLDER,
	CLAIM_WAITER, /* in the queue; position is its place */
	CLAIM_FORMER, /* of a Lease: it held it before, and its pod was looked for, be it there or
			 Absent; no claim now */
	CLAIM_MEMBER, /* of MECH_SOURCE: an endpoint of the source */
};

/*
 * A process' claim on a singleton. What it has more stands in the singleton's block, so many bytes
 * behind the claim itself: it can't be copied out.
 */
struct claim {
	enum claim_kind kind : 8;
	uint8_t follows; /* details that are kept nowhere, since they follow from other facts: enum
			    claim_follows */
	uint16_t n_details;
	uint32_t position; /* waiters: from 1; 0 where the system has no order */
	uint32_t identity_at, key_at, details_at;
};

/* Sanitised, whole. */
static inline const char *claim_identity(const struct claim *c)
{
	return (const char *)c + c->identity_at;
}

/* Binds the claim for ever: "4711@1767322923000000", "rev:1482". */
static inline const char *claim_key(const struct claim *c)
{
	return (const char *)c + c->key_at;
}

/* Its own facts, n_details of them: all that are kept. details_of_claim has those that follow. */
static inline const struct detail *claim_details(const struct claim *c)
{
	return (const struct detail *)(const void *)((const char *)c + c->details_at);
}

/*
 * What a hundred thousand candidates of etcd have in common. Of a claim whose key is "rev:N", and
 * whose details begin with these in this order.
 */
enum claim_follows {
	FOLLOWS_KEY_PATH = 1,  /* DETAIL_KEY: the singleton's path */
	FOLLOWS_KEY_LEASE = 2, /* the same, a slash, and DETAIL_LEASE: as etcd's clients write it */
	FOLLOWS_CREATED = 4,   /* DETAIL_CREATE_REVISION: N */
	FOLLOWS_WRITTEN = 8,   /* DETAIL_MOD_REVISION: N too */
};

#define TIME_UNKNOWN INT64_MIN

/* What most singletons have not got: those share one that says so. */
struct singleton_more {
	const char *name;       /* the operator's or the tool's name for it; NULL when none */
	int64_t lease_known_ms; /* our monotonic clock, up to when a change of its lease would have
				   been seen; TIME_UNKNOWN: as long as its source is read */
	const struct run *runs; /* the newest slot first; those that are not known to be over are
				   claims as well */
	uint32_t n_runs;
	const struct schedule *schedule; /* when runs are due (schedule.h); NULL: it has none */
};

/*
 * One thing that at most one process should do at a time, as one source saw it at one moment: facts
 * only, no judgement. Immutable and shared: one block of memory, made by a draft (draft.h), counted
 * by references from any thread.
 */
struct singleton {
	int refs; /* atomic; see singleton_ref */
	uint16_t n_details;
	/* A hundred thousand of them may be kept: these stand in two bytes. */
	enum mechanism mechanism : 8;
	enum token_kind token_kind : 7;
	bool has_token : 1;
	uint32_t n_claims;
	uint32_t path_at; /* of the path in id: behind the first slash */
	int64_t token;
	int64_t lease_granted_ms;  /* the leader's; TIME_UNKNOWN: no lease, or not known */
	int64_t lease_deadline_ms; /* our monotonic clock at its end, as read: at the latest, where
				      the system tells whole seconds; TIME_UNKNOWN */
	int64_t lease_read_ms;     /* our monotonic clock when it was read; TIME_UNKNOWN */
	uint64_t hash;  /* of all that follows from the source's answer: equal facts, equal hash */
	const char *id; /* SOURCE/PATH, sanitised */
	const struct singleton_more *more; /* never NULL */
	struct claim claims[];             /* holders first, then waiters in the queue's order */
};

/* Its id without the source. */
static inline const char *singleton_path(const struct singleton *s)
{
	return s->id + s->path_at;
}

/* What a row is, in half a sentence: its mechanism; of the built-in fleet's own rows what kind of
 * thing, and what HELD and FREE mean there. */
const char *singleton_what(const struct singleton *s);

/* Those of the singleton itself, n_details of them. */
static inline const struct detail *singleton_details(const struct singleton *s)
{
	return (const struct detail *)&s->claims[s->n_claims];
}

/*
 * What the last reading of the leader's lease showed, as of that reading: an old reading proves
 * nothing of now, since the holder may have renewed since. RUNNING: at least a third is left, or it
 * can't be told; LOW: less than a third, so that at least one renewal was missed (clients renew
 * every third); PAST: its end had passed, and it stood still.
 */
enum lease_phase {
	LEASE_NONE, /* no lease, or never read */
	LEASE_RUNNING,
	LEASE_LOW,
	LEASE_PAST,
};
enum lease_phase singleton_lease_phase(const struct singleton *s);

/* Takes and gives back a reference; both take NULL. The last one frees. Safe from any thread. */
struct singleton *singleton_ref(const struct singleton *s);
void singleton_unref(const struct singleton *s);

/* The first claim of a kind, from index *pos on (start with 0); NULL at the end. *pos is moved
 * behind it. */
const struct claim *singleton_claim(const struct singleton *s, enum claim_kind kind, uint32_t *pos);
/* The claim that this key binds, or NULL; also of a key that is NULL. */
const struct claim *singleton_claim_at(const struct singleton *s, const char *key);
/* The first holder, or NULL. */
const struct claim *singleton_holder(const struct singleton *s);
uint32_t singleton_count(const struct singleton *s, enum claim_kind kind);

/* Whether it is a job: something that is executed in runs. */
bool singleton_is_job(const struct singleton *s);
/* How many of its runs are at work (TRI_YES), or may be (TRI_UNKNOWN). */
uint32_t singleton_runs(const struct singleton *s, enum tristate alive);
/*
 * Who holds it, in few words, cut at size bytes: "worker-1 +2"; of a job "2 runs alive", or the one
 * run's name; "-": nobody.
 */
void singleton_holder_words(const struct singleton *s, char *buf, size_t size);

/*
 * All details of a claim, in the order in which they were told: room that is used again. Begin with
 * details_init; at is valid until the next details_of_claim, or details_release.
 */
struct details {
	const struct detail *at;
	size_t n;
	struct detail *made; /* owned, as is the text of one of them */
	size_t cap;
	struct str text;
};
void details_init(struct details *list);
void details_release(struct details *list);
/* Of a claim of this singleton. Where none only follows, nothing is copied. */
void details_of_claim(struct details *list, const struct singleton *s, const struct claim *c);
/* The first of that id, or NULL; a hidden one is returned as well. */
const struct detail *details_find(const struct details *list, enum detail_id id);

/*
 * The first detail of that id, or NULL: of a claim, of the singleton, of a run, of a pod.
 * A hidden detail is returned: ask for it before you use the value. Those of a claim that may
 * follow from other facts (DETAIL_KEY, the revisions) are found by details_of_claim only.
 */
const struct detail *claim_detail(const struct claim *c, enum detail_id id);
const struct detail *singleton_detail(const struct singleton *s, enum detail_id id);
const struct detail *run_detail(const struct run *r, enum detail_id id);
const struct detail *pod_detail(const struct pod *p, enum detail_id id);

/* The value, or the given one when the detail is absent or hidden. */
int64_t claim_int(const struct claim *c, enum detail_id id, int64_t absent);
const char *claim_text(const struct claim *c, enum detail_id id, const char *absent);
int64_t singleton_int(const struct singleton *s, enum detail_id id, int64_t absent);
const char *singleton_text(const struct singleton *s, enum detail_id id, const char *absent);

#endif
