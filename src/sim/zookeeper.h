#ifndef SIM_ZOOKEEPER_H
#define SIM_ZOOKEEPER_H

#include "base/map.h"
#include "sim/net.h"
#include "sim/work.h"

/*
 * A ZooKeeper of the built-in world: sessions, and ephemeral sequential znodes for elections, as
 * the Programmer's Guide ("ZooKeeper Sessions", "Ephemeral Nodes", "Sequence Nodes") and the recipe
 * "Leader Election" have them. Who is alive the ensemble's leader alone decides; a client that is
 * cut off learns that its session expired only when it reaches a server again.
 */
enum {
	SIM_ZK_SERVERS_MOST = 9,
	SIM_ZK_TICK_MS = 2000,          /* tickTime */
	SIM_ZK_TIMEOUT_LEAST_MS = 4000, /* minSessionTimeout: 2 ticks */
	SIM_ZK_TIMEOUT_MOST_MS = 40000, /* maxSessionTimeout: 20 ticks */
	SIM_ZK_ELECT_MS = 2000,         /* without a leader for so long, another is there */
	SIM_ZK_NAME_MAX = 48
};

struct sim_zk_parent;
struct sim_zk_watch;

struct sim_zk_session {
	int64_t id;
	int64_t timeout_ms; /* as it was agreed on */
	int64_t heard_ms;   /* when a server last heard of its client */
	int64_t expires_ms; /* heard and timeout, up to the next tick (SessionTrackerImpl) */
	struct process *owner;
	struct sim_zk_node *nodes;
	struct sim_zk_session *prev, *next; /* in the order in which they were made */
};

/* One znode below the parent of an election. */
struct sim_zk_node {
	char *name; /* "n_0000000042" */
	char *data; /* who it is */
	int64_t czxid, sequence;
	int32_t version;                /* of its data: what a delete compares */
	struct sim_zk_session *session; /* ephemeralOwner; NULL: it is persistent */
	struct process *owner;
	struct sim_zk_parent *parent;
	struct sim_zk_node *prev, *next; /* by their sequence */
	struct sim_zk_node *session_prev, *session_next;
	struct sim_zk_watch *watches;
};

struct sim_zk_parent {
	char *path;      /* "/elections/job" */
	int64_t counter; /* the next child's sequence */
	struct sim_zk_node *first, *last;
	struct sim_zk_parent *next;
};

struct sim_zk_server {
	struct machine *machine;
	bool out;
};

struct sim_zk {
	struct thing thing;
	char *version; /* "3.8.4" */
	struct sim_zk_server servers[SIM_ZK_SERVERS_MOST];
	size_t n_servers;
	int leader; /* -1: there is no quorum, and nobody is served */
	int64_t lost_ms, led_ms;
	int64_t epoch, counter; /* a zxid's two halves */
	int64_t next_session;
	struct map parents, sessions;
	struct sim_zk_parent *first_parent, *last_parent;
	struct sim_zk_session *first_session, *last_session;
	struct sim_zk_watch *due;
};

extern const struct thing_ops sim_zk_ops;

/* A server on each machine, SIM_ZK_SERVERS_MOST at most; the last leads. version NULL: a current
 * one. The world frees it. */
struct sim_zk *sim_zk_new(struct world *w, const char *name, struct machine *const *machines,
	size_t n_machines, const char *version);
int64_t sim_zk_zxid(const struct sim_zk *z);
/* The parent of an election, made where it is not there. */
struct sim_zk_parent *sim_zk_parent(struct sim_zk *z, const char *path);
struct sim_zk_node *sim_zk_node(const struct sim_zk *z, const char *parent, const char *name);
struct sim_zk_session *sim_zk_session(const struct sim_zk *z, int64_t id);

/* A znode without a session stays until somebody deletes it. */
struct sim_zk_node *sim_zk_create(struct world *w, struct sim_zk *z, struct sim_zk_parent *parent,
	const char *data, struct sim_zk_session *session, struct process *owner);
void sim_zk_delete(struct world *w, struct sim_zk *z, struct sim_zk_node *node, const char *why);
/* Ends a session; its ephemeral znodes go. */
void sim_zk_close(
	struct world *w, struct sim_zk *z, struct sim_zk_session *session, const char *why);

/* ---- its servers ---- */
int sim_zk_server(const struct sim_zk *z, const char *machine); /* -1: none */
/* It runs, and is one of a quorum. */
bool sim_zk_serves(const struct world *w, const struct sim_zk *z, int server);
void sim_zk_out(struct world *w, struct sim_zk *z, int server, bool out);

enum sim_zk_op {
	SIM_ZK_CONNECT, /* a: the timeout asked for, b: a session to go on with, or 0 -> value: the
			   session, value2: its timeout; NET_FAILED: that session expired */
	SIM_ZK_PING,    /* a: session; NET_FAILED: expired */
	SIM_ZK_CREATE,  /* a: session, text: "parent\ndata" -> value: czxid, value2: sequence */
	SIM_ZK_BEFORE, /* text: parent, a: own sequence -> value: the sequence of the one before it,
			  -1: none; value2: 1: its own is there */
	SIM_ZK_WATCH, /* text: parent, a: a sequence -> value: 1: sim_zk_told comes once it is gone;
			 0: it is gone */
	SIM_ZK_DELETE, /* text: parent, a: sequence */
	SIM_ZK_CLOSE   /* a: session */
};
net_serve sim_zk_serve;
net_told sim_zk_told;
void sim_zk_ask(struct world *w, struct sim_zk *z, int server, struct net_call *call);

/* ---- a candidate (zookeeper-client.c) ---- */

enum sim_zk_believes {
	SIM_ZK_BELIEVES_CONNECTED, /* as long as it is connected: Curator's LeaderLatch */
	SIM_ZK_BELIEVES_LOCAL,     /* until its own clock says that the timeout has passed */
	SIM_ZK_BELIEVES_SESSION,   /* until it is told that its session expired */
	SIM_ZK_BELIEVES_FOREVER
};

enum sim_zk_stage {
	SIM_ZK_IDLE,
	SIM_ZK_JOINING,
	SIM_ZK_WAITING,
	SIM_ZK_LEADS
};

struct sim_zk_candidate {
	struct program g;
	struct sim_zk *zk;
	char *path, *data;
	enum sim_zk_believes believes;
	struct duty *duty;
	int64_t asked_ms; /* the timeout that it asks for */
	int64_t again_ms, holds_ms, rests_ms;
	int home;
	/* of this life */
	int server;
	bool connected;
	int64_t session, timeout_ms, heard_ms;
	enum sim_zk_stage stage;
	uint32_t turn, link; /* rise with each step, with each connection */
	int64_t czxid, sequence, awaited;
};

struct sim_zk_campaign {
	struct sim_zk *zk;
	const char *path, *data; /* data NULL: the process' identity */
	enum sim_zk_believes believes;
	struct duty *duty;
	int64_t timeout_ms, again_ms, holds_ms, rests_ms;
	int server;
};

extern const struct program_ops sim_zk_election_ops;
struct sim_zk_candidate *sim_zk_candidate_new(
	struct process *p, const struct sim_zk_campaign *campaign);

#endif
