#ifndef SIM_ETCD_CLIENT_H
#define SIM_ETCD_CLIENT_H

#include "sim/etcd.h"
#include "sim/work.h"

/*
 * Clients of an etcd: sessions, elections, locks and single keys as etcd's Go client has them
 * (client/v3/lease.go, client/v3/concurrency), with the ways in which applications differ from one
 * another as choices. They know what they were told, and what their own clock says.
 */
enum sim_etcd_claim {
	SIM_ETCD_ELECTION, /* concurrency.Election: name/LEASE, the value says who */
	SIM_ETCD_LOCK, /* concurrency.Mutex: name/LEASE, no value; looks at its own key at last */
	SIM_ETCD_LEADER_KEY, /* one key that whoever finds it missing makes, as Patroni's leader key
			      */
	SIM_ETCD_NOTE        /* a key on the session's lease, which nobody else wants: a service's
				address */
};

enum sim_etcd_believes {
	SIM_ETCD_BELIEVES_SESSION, /* until the session's Done: etcd said so, or the TTL passed
				      without an answer */
	SIM_ETCD_BELIEVES_LOCAL,   /* until its own clock says that the TTL is over */
	SIM_ETCD_BELIEVES_FOREVER  /* it never looks */
};

struct sim_etcd_candidate;

/* A lease that is kept alive: a program of the process, which its candidates share. */
struct sim_etcd_session {
	struct program g;
	struct sim_etcd *etcd;
	char *name; /* "": of one candidate alone */
	int home;   /* the member that it tries first */
	int member; /* that it talks to now */
	int64_t ttl_s, every_ms, timeout_ms, again_ms;
	struct sim_etcd_candidate *first;
	/* of this life */
	uint32_t epoch;      /* rises with each session: what is asked for an earlier one is void */
	int64_t lease;       /* 0: none */
	int64_t deadline_ms; /* by its own clock */
	int64_t heard_ms;    /* when the last renewal was answered */
};

enum sim_etcd_stage {
	SIM_ETCD_IDLE,    /* no session, or resting */
	SIM_ETCD_JOINING, /* its key is being written */
	SIM_ETCD_WAITING, /* for those before it */
	SIM_ETCD_LEADS,   /* as it believes */
	SIM_ETCD_NOTED    /* of a NOTE */
};

struct sim_etcd_candidate {
	struct program g;
	struct sim_etcd_session *session;
	struct sim_etcd_candidate *next; /* of the session */
	enum sim_etcd_claim claim;
	enum sim_etcd_believes believes;
	char *name; /* without a slash at its end */
	char *value;
	struct duty *duty;       /* NULL: none */
	int64_t checks_every_ms; /* how long it may take to see that its session ended */
	int64_t looks_every_ms;  /* how often who leads looks whether its key is there; 0: never */
	bool watches;            /* who leads watches its own key */
	int64_t holds_ms, rests_ms; /* gives it up after so long, and stays away; 0: never */
	int through; /* works only while that member gets on; -1: whatever etcd does */
	/* of this life */
	enum sim_etcd_stage stage;
	uint32_t turn;   /* rises with each step: answers to an earlier one are void */
	int64_t token;   /* of its key; 0: none */
	int64_t awaited; /* the key that it waits for, by its create_revision; 0: none */
	int64_t lease;   /* that its key was put on */
	bool works;
};

/* What one is made of. Texts are copied. */
struct sim_etcd_campaign {
	struct sim_etcd *etcd;
	enum sim_etcd_claim claim;
	enum sim_etcd_believes believes;
	const char *name, *value; /* value NULL: the process' identity */
	const char *session;      /* "": its own */
	struct duty *duty;
	int member;
	int64_t ttl_s;
	int64_t every_ms; /* between renewals; 0: a third of the TTL */
	int64_t timeout_ms, again_ms;
	int64_t checks_every_ms, looks_every_ms, holds_ms, rests_ms;
	bool watches;
	int through;
};

extern const struct program_ops sim_etcd_session_ops, sim_etcd_election_ops, sim_etcd_lock_ops,
	sim_etcd_key_ops;

/* The longest name that leaves room for a lease's id and the value. */
bool sim_etcd_fits(const char *name, const char *value);
struct sim_etcd_candidate *sim_etcd_candidate_new(
	struct process *p, const struct sim_etcd_campaign *campaign);

/* ---- between the session and its candidates ---- */
void sim_etcd_session_opened(struct world *w, struct sim_etcd_candidate *c);
void sim_etcd_session_over(struct world *w, struct sim_etcd_candidate *c);
/* It talks to another member: what was watched must be watched anew. */
void sim_etcd_session_moved(struct world *w, struct sim_etcd_candidate *c);
/* The member does not answer: it tries another. */
void sim_etcd_session_move(struct world *w, struct sim_etcd_session *s);

#endif
