#ifndef SIM_NET_H
#define SIM_NET_H

#include "sim/process.h"

/*
 * Machines and the network between them. All talk between a process and a server is a call or a
 * notice, which takes the link's latency each way and is lost where the link is cut: a process
 * learns of a cut only by a timeout, as in life.
 */
struct machine {
	struct thing thing;
	bool up;
	bool power_lost;   /* went down without a word: its connections are half open */
	int64_t skew_ms;   /* its wall clock minus the true one, at drift_at_ms */
	int64_t drift_ppm; /* its clocks run faster by so many millionths */
	int64_t drift_at_ms;
	bool isolated; /* cut off from all others */
};

extern const struct thing_ops machine_ops;

/* One that is there already is returned as it is. */
struct machine *machine_new(struct world *w, const char *name);
struct machine *machine_find(const struct world *w, const char *name);
/* What its wall clock shows, microseconds since 1970. */
int64_t machine_clock_us(const struct world *w, const struct machine *m);
void machine_skew(struct world *w, struct machine *m, int64_t skew_ms);
/* Power off: its processes end at once, and nobody is told. Power on starts those that are started
 * by themselves. */
void machine_down(struct world *w, struct machine *m);
void machine_up(struct world *w, struct machine *m);
/* Cut off from all others, or joined again. What works there writes to no resource meanwhile. */
void machine_isolate(struct world *w, struct machine *m, bool isolated);

/* A link between two machines, both ways; either may be NULL: any. Later words win. */
void net_cut(struct world *w, struct machine *a, struct machine *b);
void net_join(struct world *w, struct machine *a, struct machine *b);
/* latency_ms each way, 1 by default; loss in thousandths. */
void net_quality(
	struct world *w, struct machine *a, struct machine *b, int64_t latency_ms, int loss);
/* Whether a packet would come through now. */
bool net_reaches(const struct world *w, const struct machine *a, const struct machine *b);

/* ---- calls ---- */

enum net_code {
	NET_OK,
	NET_TIMEOUT, /* no answer came in time: it may have been done */
	NET_REFUSED, /* nobody listens there */
	NET_FAILED   /* the server answered that it can't; value says why, as the server defines */
};

struct net_call;
/* At the server, when the call arrives: sets code and value. Returns false when the answer comes
 * later, or never (net_answer). */
typedef bool net_serve(struct world *w, struct net_call *call);
/* At the caller, if it lives still; a paused process gets it when it runs on. */
typedef void net_reply(struct world *w, struct process *p, const struct net_call *call);

enum {
	NET_TEXT_MAX = 96
};

struct net_call {
	/* set by who calls */
	struct process *from;
	struct machine *to;
	struct thing *server; /* whom it is for */
	net_serve *serve;
	net_reply *reply; /* NULL: the answer does not matter */
	void *who;        /* the caller's own */
	int op;           /* as the server defines, and the arguments */
	int64_t a, b, c;
	char text[NET_TEXT_MAX];
	int64_t timeout_ms; /* 0: 5 s */
	/* the answer */
	enum net_code code;
	int64_t value, value2;
	/* the network's own */
	int64_t sent_ms;
	uint32_t life;
};

/* Sends a copy. */
void net_call(struct world *w, const struct net_call *call);
/* Answers a call whose serve returned false; the call is not touched any more then. */
void net_answer(struct world *w, struct net_call *call);
/* The server gives a call up that it kept: the caller runs into its timeout. */
void net_drop(struct world *w, struct net_call *call);

/* A word from a server to a process, lost where the link is cut or the process is another life. */
typedef void net_told(struct world *w, struct process *p, void *who, int64_t a, int64_t b);
void net_notify(struct world *w, struct machine *from, struct process *p, net_told *fn, void *who,
	int64_t a, int64_t b);

#endif
