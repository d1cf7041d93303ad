#ifndef SIM_ETCD_H
#define SIM_ETCD_H

#include "base/map.h"
#include "sim/net.h"

/*
 * An etcd of the built-in world: keys with revisions, leases, watches, and members that vote for a
 * leader. Behaves as etcd 3.5 does: its API guide ("KV", "Watch", "Lease"), server/lease/lessor.go
 * and server/etcdserver/v3_server.go. What the quorum has agreed on is one state; a member that
 * stalls or is cut off tells an older one, and answers late or never.
 *
 * Times are milliseconds of the world's true clock: etcd's own elapsed time, which no wall clock
 * moves.
 */
enum {
	SIM_ETCD_MEMBERS_MOST = 9,
	SIM_ETCD_TICK_MS = 500,      /* the lessor looks for expired leases so often (lessor.go) */
	SIM_ETCD_ELECTION_MS = 1000, /* --election-timeout, by default */
	SIM_ETCD_TTL_LEAST_S = 2,    /* shorter ones become this: 3/2 of the election timeout */
	SIM_ETCD_REQUEST_MS = 7000,  /* a request that is not agreed on by then fails: 5 s and two
					election timeouts (config.go, ReqTimeout) */
	SIM_ETCD_EXPIRE_MOST = 500,  /* leases revoked in one look (leaseRevokeRate / 2) */
	SIM_ETCD_EVENTS_MOST = 16384,
	SIM_ETCD_TTL_MOST_S = 9000000, /* MaxLeaseTTL is 9e9; so many fit everywhere */
};

/* Alarms of one member, which the whole cluster heeds (etcdserver/apply.go): NOSPACE: no new keys,
 * no new leases; CORRUPT: no change at all, so that leases that run out stay. */
enum sim_etcd_alarm {
	SIM_ETCD_ALARM_NO_SPACE,
	SIM_ETCD_ALARM_CORRUPT,
	SIM_ETCD_ALARMS
};
const char *sim_etcd_alarm_word(enum sim_etcd_alarm alarm);

struct sim_etcd;
struct sim_etcd_lease;
struct sim_etcd_watch;

struct sim_etcd_key {
	char *name, *value;
	size_t name_len;
	int64_t create_revision, mod_revision;
	struct sim_etcd_lease *lease; /* NULL: none */
	struct process *owner;        /* who wrote it; NULL: by hand */
	struct sim_etcd_dir *dir;
	struct sim_etcd_key *dir_prev, *dir_next; /* in the order of create_revision */
	struct sim_etcd_key *lease_prev, *lease_next;
	struct sim_etcd_watch *watches; /* who waits for its end */
};

/* All keys with one parent, up to its slash: the queue of an election or lock. */
struct sim_etcd_dir {
	char *name; /* with the slash at its end; "" */
	size_t len;
	struct sim_etcd_key *first, *last;
	struct sim_etcd_dir *next;
};

struct sim_etcd_lease {
	int64_t id;
	int64_t granted_s;
	int64_t expiry_ms;
	int64_t renewed_ms; /* by its client; INT64_MIN: never */
	uint64_t version;   /* of the last renewal, grant or extension */
	size_t place;       /* in the heap of expiries */
	struct process *owner;
	struct sim_etcd_key *keys;
	size_t n_keys;
	struct sim_etcd_lease *prev, *next; /* in the order in which they were granted */
};

/* One change of a key, as etcd keeps it until it is compacted. */
struct sim_etcd_event {
	char *key, *value; /* value NULL: it was deleted */
	int64_t create_revision, mod_revision, lease;
	int64_t at_ms;
};

struct sim_etcd_member {
	struct machine *machine;
	char *endpoint; /* "http://etcd-1:2379" */
	uint64_t id;
	bool stalled; /* its disk takes nothing: what needs the log waits */
	bool out;     /* its etcd does not run */
	/* What it tells of itself (Maintenance.Status). */
	uint64_t leader_id; /* 0: none known */
	int64_t term, applied, revision;
	int64_t alone_ms; /* since when it does not reach the leader; INT64_MIN: it does */
	struct sim_etcd_kept *kept; /* writes that the stalled disk keeps */
	size_t n_kept, cap_kept;
	uint64_t next_id; /* of leases that are granted by it */
};

struct sim_etcd {
	struct thing thing;
	char *version; /* "3.5.17" */
	uint64_t cluster_id;
	struct sim_etcd_member members[SIM_ETCD_MEMBERS_MOST];
	size_t n_members;
	int leader;       /* -1: there is none, and nothing can be agreed on */
	int64_t lost_ms;  /* since when the leader can't lead; INT64_MIN: it can */
	int64_t elect_ms; /* when another is elected */
	int64_t term;
	int64_t revision, index, compacted;
	uint64_t alarms[SIM_ETCD_ALARMS]; /* the member that raised it; 0: it is off */
	int64_t watch_delay_ms;
	int64_t db_size;
	struct map keys, dirs, leases;
	struct sim_etcd_dir *first_dir, *last_dir;
	struct sim_etcd_lease *first_lease, *last_lease;
	struct sim_etcd_lease **heap;
	size_t n_heap, cap_heap, n_keys;
	struct sim_etcd_watch *due, *due_last; /* told as soon as their member can */
	/* the newest changes: number i stands at i % n_event_slots */
	struct sim_etcd_event *events;
	uint64_t n_events;
	size_t n_event_slots;
	/* what a source shows of it: prefixes and keys that are known to matter */
	struct sim_etcd_shown *shown;
	size_t n_shown, cap_shown;
};

/* What is watched: keys under a name, or one key. */
enum sim_etcd_layout {
	SIM_ETCD_AUTO,
	SIM_ETCD_ELECTIONS,
	SIM_ETCD_LOCKS,
	SIM_ETCD_KEYS
};
struct sim_etcd_shown {
	char *prefix;
	enum sim_etcd_layout layout;
	bool exact;
};

extern const struct thing_ops sim_etcd_ops;

/* A cluster with a member on each machine; the first leads. version NULL: a current one. */
struct sim_etcd *sim_etcd_new(struct world *w, const char *name, struct machine *const *machines,
	size_t n_machines, const char *version);
/* Change number i, from 0; NULL: it is not kept any more, or has not happened. */
const struct sim_etcd_event *sim_etcd_event(const struct sim_etcd *e, uint64_t i);
/* Adds what a source shows; twice is once. */
void sim_etcd_show(struct sim_etcd *e, const char *prefix, enum sim_etcd_layout layout, bool exact);

/* ---- the state that was agreed on (etcd.c) ---- */

/* Why the server refuses (net_call.value with NET_FAILED); the texts are etcd's own. */
enum sim_etcd_error {
	SIM_ETCD_OK,
	SIM_ETCD_NO_LEADER,
	SIM_ETCD_NO_LEASE,
	SIM_ETCD_NO_SPACE,
	SIM_ETCD_CORRUPT,
	SIM_ETCD_COMPACTED,
	SIM_ETCD_ERRORS
};
const char *sim_etcd_error_text(enum sim_etcd_error error);

/* What is there now under a key, a prefix or a lease's id; NULL: nothing. The etcd's own. */
struct sim_etcd_key *sim_etcd_key(const struct sim_etcd *e, const char *name, size_t len);
struct sim_etcd_dir *sim_etcd_dir(const struct sim_etcd *e, const char *name, size_t len);
struct sim_etcd_lease *sim_etcd_lease(const struct sim_etcd *e, int64_t id);
/* Milliseconds that it has left; negative: past its end, and not revoked yet. */
int64_t sim_etcd_lease_left_ms(const struct world *w, const struct sim_etcd_lease *l);

enum sim_etcd_error sim_etcd_grant(struct world *w, struct sim_etcd *e, int member, int64_t ttl_s,
	struct process *owner, struct sim_etcd_lease **ret);
/* Returns its TTL in seconds; 0 when there is no such lease any more; -1: it is past its end and
 * waits to be revoked, and so does its client (lessor.go, Renew). */
int64_t sim_etcd_keepalive(struct world *w, struct sim_etcd *e, int64_t id);
/* With all its keys, which go at one revision. why: a sentence's end for the true story. */
enum sim_etcd_error sim_etcd_revoke(
	struct world *w, struct sim_etcd *e, struct sim_etcd_lease *l, const char *why);
/* Writes a key; lease 0: none. new_only: only where there is none, else it is left alone. */
enum sim_etcd_error sim_etcd_put(struct world *w, struct sim_etcd *e, const char *name,
	const char *value, int64_t lease, struct process *owner, bool new_only,
	struct sim_etcd_key **ret);
enum sim_etcd_error sim_etcd_delete(
	struct world *w, struct sim_etcd *e, struct sim_etcd_key *key, const char *why);
/* A new leader counts every lease anew. */
void sim_etcd_promote(struct world *w, struct sim_etcd *e);
/* History up to a revision is forgotten. */
void sim_etcd_compact(struct world *w, struct sim_etcd *e, int64_t revision);
void sim_etcd_alarm(struct world *w, struct sim_etcd *e, enum sim_etcd_alarm alarm, bool on);

/* Tells a process once when a key is gone: a = its create_revision. */
void sim_etcd_watch(struct sim_etcd *e, struct sim_etcd_key *key, int member, struct process *p,
	net_told *fn, void *who);

/* ---- its members (etcd-cluster.c) ---- */

/* -1: no such machine among its members. */
int sim_etcd_member(const struct sim_etcd *e, const char *machine);
/* Whether it answers what needs the cluster's agreement: it runs, its disk writes, it reaches the
 * leader, and there is one. */
bool sim_etcd_serves(const struct world *w, const struct sim_etcd *e, int member);
/* The machine is on and its etcd runs: it accepts connections. */
bool sim_etcd_listens(const struct sim_etcd *e, int member);
void sim_etcd_stall(struct world *w, struct sim_etcd *e, int member, bool stalled);
/* Its etcd ends, or is started again. */
void sim_etcd_out(struct world *w, struct sim_etcd *e, int member, bool out);
/* Another leader: member -1: any other that can lead. False when none can. */
bool sim_etcd_lead(struct world *w, struct sim_etcd *e, int member);

/* What clients ask: net_call.op. */
enum sim_etcd_op {
	SIM_ETCD_OP_GRANT,     /* a: ttl in s -> value: id, value2: ttl granted */
	SIM_ETCD_OP_KEEPALIVE, /* a: lease -> value: ttl in s, 0: gone */
	SIM_ETCD_OP_REVOKE,    /* a: lease */
	SIM_ETCD_OP_PUT_NEW,   /* text: "key\nvalue", a: lease -> value: create_revision of the key
				  that is there now, value2: 1: it was made */
	SIM_ETCD_OP_PUT,       /* the same, whatever is there -> value: its create_revision */
	SIM_ETCD_OP_GET,       /* text: key -> value: create_revision, 0: none; value2: lease */
	SIM_ETCD_OP_LAST,      /* text: the name with its slash, a: greatest create_revision ->
				  value: that of the last such key; 0: none */
	SIM_ETCD_OP_WATCH,     /* text: the name with its slash, or the key, a: a key's
				  create_revision -> value: 1: sim_etcd_told comes once it is gone; 0:
				  it     is gone */
	SIM_ETCD_OP_DELETE,    /* text: key, a: create_revision -> value: 1: deleted */
	SIM_ETCD_OP_STATUS     /* answered from memory; a: 1: only by a member that gets on */
};
/* What a WATCH comes to, at the process that asked (etcd-client.c); who: the caller's own. */
net_told sim_etcd_told;
/* The call's serve function: server is the sim_etcd, c the member's number. */
net_serve sim_etcd_serve;
/* Asks: sets what the network and the server need of a call whose other fields are set. */
void sim_etcd_ask(struct world *w, struct sim_etcd *e, int member, struct net_call *call);

/* Brings up to date what a member tells of itself. */
void sim_etcd_member_look(const struct world *w, struct sim_etcd *e, int member);
/* For etcd.c: the members' turn at each tick, and a watch that is due. */
void sim_etcd_members_tick(struct world *w, struct sim_etcd *e);
void sim_etcd_notify(struct world *w, struct sim_etcd *e, struct sim_etcd_watch *watch);
void sim_etcd_notify_due(struct world *w, struct sim_etcd *e);
void sim_etcd_members_free(struct sim_etcd *e);

struct sim_etcd_watch {
	struct process *process;
	uint32_t life;
	int member;
	net_told *told;
	void *who;
	int64_t create_revision;
	int64_t due_ms;
	struct sim_etcd_watch *next;
};

/* A write that a stalled disk keeps: it is done when the disk goes on, though its client has long
 * given it up. */
struct sim_etcd_kept {
	int op;
	int64_t a, b;
	char text[NET_TEXT_MAX];
	struct process *from;
};

#endif
