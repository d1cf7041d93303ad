#ifndef SOURCE_ETCD_SOURCE_H
#define SOURCE_ETCD_SOURCE_H

#include "source/act.h"
#include "source/etcd-rpc.h"
#include "source/etcd-store.h"
#include "source/source.h"

/*
 * The state of one etcd source, shared by the files that make it: etcd.c (options, poll, wait),
 * etcd-conn.c (endpoints, authentication, fail-over), etcd-read.c (first picture, watch),
 * etcd-scope.c (what is read, and what may not be), etcd-ttl.c (leases), etcd-tell.c (singletons),
 * etcd-history.c, etcd-discover.c, etcd-examine.c.
 */

enum {
	ETCD_PORT = 2379,
	ETCD_STATUS_EVERY_MS = 5000,
	ETCD_PROGRESS_EVERY_MS = 5000,
	ETCD_SILENCE_MS = 12000, /* a watch that says nothing for so long, though asked, is dead */
	ETCD_TTL_EVERY_MS = 1000,
	ETCD_IN_FLIGHT = 96,
	ETCD_DENIALS_MOST = 2,   /* refused watches that are begun anew at once, */
	ETCD_DENIALS_MS = 10000, /* ... unless so much time is between them */
	ETCD_LOST_LEAST = 5,     /* leases that vanish at once, */
	ETCD_LOST_WITHIN_MS = 2000,
	ETCD_LOST_TERM_MS = 60000, /* ... and a new etcd leader not longer ago */
	ETCD_NAMES_MOST = 1000,    /* names found by leases */
};

/* One endpoint, and what the member behind it last told of itself. */
struct etcd_member {
	struct http_endpoint endpoint;
	struct grpc_channel *ch;
	struct etcd_unary status;
	int64_t asked_ms, read_ms; /* TIME_UNKNOWN: never */
	int64_t round_trip_ms;
	bool asking, answered, learner;
	bool no_streams; /* its version has RangeStream, and something before it has not */
	uint64_t member_id, leader_id, raft_term, cluster_id;
	int64_t revision, applied, db_size;
	char *version, *errors; /* raw; errors NULL: none */
	char *error;            /* what it answered instead, or why it didn't; sanitised; NULL */
};

/*
 * One range that is watched, alone or within wider ones: it is read where none of those may be, so
 * that no key is read and watched twice.
 */
struct etcd_scope {
	char *key, *end; /* end NULL: one key */
	size_t key_len, end_len;
	size_t prefix_len; /* of key, that all its keys begin with: 0 for the whole key space */
	int64_t watch_id;  /* 0: none */
	int64_t revision;  /* up to which its keys are known; 0: not read */
	int64_t begun;     /* the same when its watch began: what that tells of it is known */
	bool denied;
	bool spared; /* a wider one that is read has its keys */
};

/* One lease to be asked for, with or without the keys on it. */
struct etcd_want {
	int64_t lease;
	bool keys;
};

/* Many of them (etcd-many.c). Called for each that ended; false when the rest is not worth asking.
 */
typedef bool etcd_many_answer(void *arg, const struct etcd_want *want, const struct etcd_unary *u);
struct etcd_many;
struct etcd_early;

/* The schedule of leases' times (etcd-ttl.c). */
struct etcd_schedule {
	size_t pos; /* where the round over all leases stands */
	int64_t ticked_ms;
	int64_t n_unread, n_denied;
	bool recount;   /* these are out of date */
	int64_t burst;  /* reads above the budget that the first minutes may still spend */
	size_t n_early; /* read before the picture was whole: of the first tick's budget */
};

struct etcd {
	const struct source_config *config;
	struct http_settings tls;
	struct http_loop *loop;
	struct round *r; /* while polling or waiting */
	struct etcd_member *members;
	size_t n_members, current;
	bool connected;
	int64_t timed_ms; /* the status whose round trip was told last */

	char *user, *password;
	bool has_token;
	bool token_refused; /* by a member that was asked for its status */
	bool stale_token;   /* the last failure was that the token is not taken any more */

	struct etcd_prefix *prefixes;
	size_t n_prefixes, cap_prefixes;
	struct etcd_scope *scopes;
	size_t n_scopes, cap_scopes;
	struct etcd_store *store;
	bool pictured;            /* the store holds what etcd had at the scopes' revisions */
	bool told_all;            /* the round knows everything that the store holds */
	bool begun;               /* ... and is being told it: round_begin was called */
	bool told_ever;           /* the round has had a whole picture once */
	struct etcd_early *early; /* while the first picture is read */
	int64_t revision;         /* of the last first read */
	int64_t known_revision;   /* before a read that was made because etcd's revision fell; 0 */
	uint64_t cluster_id;      /* that the picture is of */
	bool fresh;               /* connected anew since the last look at these */

	struct etcd_watch *watch;
	int64_t next_watch_id;
	int64_t heard_ms, asked_ms; /* the last sign of life; the last time it was asked for */
	bool midway;                /* within a fragmented answer: not to be told yet */
	bool compacted, denied_watch, ended_watch;
	unsigned denials; /* watches refused in a row */
	int64_t denied_ms;
	struct err watch_error;

	struct etcd_schedule schedule;
	bool self_changed;
	bool hidden_changed; /* what is hidden from us: it is not told yet */
	bool asked_alarms;
	int64_t alarms_ms;
	char *alarms[8];
	size_t n_alarms;
	int64_t term, term_changed_ms;
	int64_t leases_lost, leases_lost_ms;
	int64_t losing, losing_ms; /* leases lost in the present second or two */
	int64_t told_ignored;
	struct etcd_history *history; /* while the past is read */
	bool history_done;

	/* a key that was seen to be gone, after an act */
	struct str gone;
	int64_t gone_created; /* its create_revision; 0: none */

	/* discovery, where nothing is configured */
	bool discover;
	int64_t discovered_ms;
	struct map discovered; /* names, owned */
	int64_t *seen;         /* leases whose keys are known, sorted */
	size_t n_seen, turn_seen;
	int64_t n_discover_left;
	int64_t *denied_leases; /* those of which we may not see the keys, sorted */
	size_t n_denied_leases, cap_denied_leases;
	bool leases_denied; /* we may not even list them */
};

/* ---- etcd-conn.c ---- */
int etcd_conn_open(struct etcd *e, struct err *err);
void etcd_conn_close(struct etcd *e);
/* Makes sure of a connection to a member that serves, and of a token where a user is configured. */
int etcd_connect(struct etcd *e, int64_t deadline_ms, struct err *err);
/* Ends the watch and the connection to the present member; the next connect begins with the next
 * one. */
void etcd_disconnect(struct etcd *e, bool rotate);
struct grpc_channel *etcd_channel(const struct etcd *e);
/* Fills err with why none of the members answers (each has its error), from the first on. */
int etcd_none_answers(const struct etcd *e, size_t first, int rc, struct err *err);
/* Drives all calls until *done. ERR_CANCELLED when we are stopping, ERR_TIMEOUT at the deadline. */
int etcd_run(struct etcd *e, const bool *done, int64_t deadline_ms, struct err *err);
/* The same, and work is called again and again meanwhile: it returns whether there is more to do at
 * once. NULL: none. */
int etcd_run_beside(struct etcd *e, const bool *done, int64_t deadline_ms, bool (*work)(void *arg),
	void *arg, struct err *err);
/* One step of that; ERR_CANCELLED, or 0. */
int etcd_step(struct etcd *e, int64_t until_ms, struct err *err);
/* Makes a failed call's result the caller's error, and notes a token that is not taken any more. */
int etcd_failed(struct etcd *e, enum grpc_code code, const struct err *why, struct err *err);
/* Whether another endpoint may do better. */
bool etcd_worth_another(int code);
/* Asks members for their status where it is time; never waits. */
void etcd_ask_members(struct etcd *e, bool now);
bool etcd_members_settled(const struct etcd *e);
void etcd_take_costs(struct etcd *e);
int etcd_authenticate(struct etcd *e, int64_t deadline_ms, struct err *err);

/* ---- etcd-act-look.c ---- */
/* Tells the round whether the watch has yet to tell of what a look after an act has seen. */
void etcd_tell_behind(struct etcd *e);

/* ---- etcd-many.c ---- */
/* Calls that begin before the deadline may end so much after it. */
enum {
	ETCD_MANY_GRACE_MS = 1000
};
/* Asks for all of them and waits; none is begun after the deadline. */
int etcd_many_run(struct etcd *e, const struct etcd_want *wants, size_t n, int64_t deadline_ms,
	etcd_many_answer *answer, void *arg, struct err *err);
/* The same in steps. */
struct etcd_many *etcd_many_new(
	struct etcd *e, etcd_many_answer *answer, void *arg, int64_t deadline_ms);
void etcd_many_add(struct etcd_many *m, const struct etcd_want *wants, size_t n);
/* Frees it where its calls were dropped. */
void etcd_many_free(struct etcd_many *m);
/* Waits for all, with work beside (etcd_run_beside), and frees. */
int etcd_many_finish(struct etcd_many *m, bool (*work)(void *arg), void *arg, struct err *err);

/* ---- etcd-early.c ---- */
/*
 * What is done of the first picture while the server is still busy with the rest of its keys: names
 * that are whole are told, and judged. begin is called before the first page, leases between two
 * pages: it asks for the times to live that the names on them need; work again and again while
 * answers are awaited (it returns whether there is more to do at once); wait behind the last page,
 * for the times that did not come yet; end in any case. last: the last key that was read.
 */
void etcd_early_begin(struct etcd *e, int64_t deadline_ms);
bool etcd_early_work(struct etcd *e, const char *last, size_t last_len);
void etcd_early_leases(struct etcd *e, const char *last, size_t last_len);
int etcd_early_wait(struct etcd *e, struct err *err);
void etcd_early_end(struct etcd *e);

/* ---- etcd.c ---- */
/* Whether some prefix covers all keys that begin with this one. */
bool etcd_covers(const struct etcd *e, const char *prefix, size_t len);

/* ---- etcd-scope.c ---- */
void etcd_scope_add(struct etcd *e, const char *prefix, size_t len, bool exact);
void etcd_scopes_free(struct etcd *e);
/* Whether a wider scope has all keys of another. */
bool etcd_scope_covers(const struct etcd_scope *outer, const struct etcd_scope *inner);
/*
 * Whether scope i has to be read: it was not, no wider one that is read has its keys, and of a
 * wider one it is known that it may not be read. Notes in it whether it is spared.
 */
bool etcd_scope_is_due(struct etcd *e, size_t i);
/* Whether the keys of a path lie where we may not read: candidates stand behind a slash. */
bool etcd_path_is_denied(const struct etcd *e, const char *path, size_t len);
/* Tells the round which keys may not be read, and what of them may. */
void etcd_scopes_tell(struct etcd *e);
/* Tells it that no others are looked at. */
void etcd_scopes_tell_rest(struct etcd *e);
/* Whether some of the keys may not be read, or found. */
bool etcd_is_partial(const struct etcd *e);
/* "elections/" with --prefix=true before it, as etcdctl takes it; "" for the whole key space. */
void etcd_scope_grant(const struct etcd_scope *s, struct str *out);

/* ---- etcd-read.c ---- */
/* All scopes from the beginning, or (where a picture is there) those that were never read. */
int etcd_read_new(struct etcd *e, int64_t deadline_ms, struct err *err);
/* The highest revision up to which any scope's keys are known. */
int64_t etcd_known_revision(const struct etcd *e);
int etcd_read_all(struct etcd *e, int64_t deadline_ms, struct err *err);
int etcd_watch_start(struct etcd *e, struct err *err);
/* Watches the scopes that are not watched yet, on the open stream. */
void etcd_watch_more(struct etcd *e);
void etcd_watch_stop(struct etcd *e);
/*
 * All of a range, in one stream where range->stream asks for it and the server has that, else in
 * pages: its key, end and revision are set (0: the newest, which is settled by what comes). More
 * than `most` keys: ERR_LIMIT. range->result tells of a failed call.
 */
int etcd_read_range(struct etcd *e, struct etcd_range *range, int64_t most, int64_t deadline_ms,
	struct err *err);
/* Asks for a sign of life where it is time; ERR_TIMEOUT when none came. */
int etcd_watch_check(struct etcd *e, struct err *err);

/* ---- etcd-ttl.c ---- */
int etcd_ttl_tick(struct etcd *e, int64_t deadline_ms, struct err *err);
/* How many may be asked for before the first picture is whole. */
size_t etcd_ttl_early_most(const struct etcd *e);
/* Takes one answer; arg is the source. */
etcd_many_answer etcd_ttl_take;
/* Takes one answer into a lease; for tests as well. ttl_s and granted_s as etcd says them. */
void etcd_lease_read(struct etcd_lease *lease, int64_t ttl_s, int64_t granted_s, int64_t now_ms);

/*
 * What a reading showed, as far as a row is judged by it: a reading that shows the same again needs
 * no new row. With a hundred keys on a lease that is most of what a quiet second costs.
 */
struct etcd_lease_sight {
	int64_t granted_ms, deadline_ms, renewed_ms;
	uint32_t others;
	unsigned phase;
	bool read, gone, denied;
};
struct etcd_lease_sight etcd_lease_look(const struct etcd_lease *lease);
bool etcd_lease_looks_other(const struct etcd_lease_sight *a, const struct etcd_lease_sight *b);

/* Notes leases that vanished many at once, from what the store was told since (etcd.c). */
void etcd_note_lost(struct etcd *e, int64_t now_ms);

/* ---- etcd-tell.c ---- */
void etcd_tell(struct etcd *e);
/* Tells up to so many names of which all keys were read, up to the last key; false: no more now.
 * read: only those whose leases' times are known. */
bool etcd_tell_some(struct etcd *e, const char *last, size_t last_len, bool read, size_t most);
void etcd_tell_self(struct etcd *e);
void etcd_tell_hidden(struct etcd *e);

/* ---- etcd-history.c ---- */
/* Reads the past little by little, once; to be called with each poll. */
int etcd_history(struct etcd *e, int64_t deadline_ms, struct err *err);
void etcd_history_end(struct etcd *e);
/*
 * The same for changes that were read in another way: begin, each change in its order (its
 * mod_revision is when it happened), tell, which ends it. While it is quiet, what changes hands is
 * what was there at the beginning.
 */
void etcd_past_begin(struct etcd *e);
void etcd_past_quiet(struct etcd *e, bool quiet);
void etcd_past_add(struct etcd *e, const struct etcd_kv *kv, bool deleted);
void etcd_past_tell(struct etcd *e);

/* ---- etcd-discover.c ---- */
int etcd_discover(struct etcd *e, int64_t deadline_ms, struct err *err);
/* Takes one answer, of its keys; arg is the source. */
etcd_many_answer etcd_discover_take;
/* Tells the round of the leases by which names may be missed. */
extern const char etcd_grant_leases[]; /* what would show them */
void etcd_discover_tell(struct etcd *e);

/* ---- etcd-alarm.c ---- */
int etcd_read_alarms(struct etcd *e, int64_t deadline_ms, struct err *err);

/* ---- etcd-act.c ---- */
enum {
	ETCD_ACTS = 9
};
extern const struct act_case etcd_acts[];

/* ---- etcd-examine.c ---- */
int etcd_examine(void *state, struct round *r, struct report *report, struct err *err);
/* The lines about one member, from what it answered last. */
void etcd_examine_member(const struct etcd *e, const struct etcd_member *m, struct report *report);

#endif
