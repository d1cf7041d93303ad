#ifndef SIM_LEASE_CLIENT_H
#define SIM_LEASE_CLIENT_H

#include "sim/cluster.h"

/*
 * Who contends for a Lease: client-go's leader election (tools/leaderelection/leaderelection.go),
 * and what people make of it. Whether another's Lease has expired is judged by the own monotonic
 * clock, from when this process saw the record change; what is written into it is from the own wall
 * clock. What a client that has lost it does is its owner's affair: most exit.
 */
enum lease_belief {
	LEASE_RENEWS,  /* client-go: it leads until it could not renew for RenewDeadline */
	LEASE_FOREVER, /* it never looks again whether it leads */
	LEASE_CLOCK    /* it compares renewTime with its own wall clock */
};

struct lease_options {
	int64_t duration_ms; /* LeaseDuration */
	int64_t deadline_ms; /* RenewDeadline */
	int64_t retry_ms;    /* RetryPeriod */
	enum lease_belief believes;
	bool release;         /* ReleaseOnCancel */
	bool reads_first;     /* before each write, as client-go did before it tried at once */
	bool exits;           /* when it lost it; else it contends again, ... */
	bool ends;            /* ... or its election is over, and the process is not */
	struct duty *duty;    /* while it leads; NULL */
	const char *identity; /* NULL: its pod's name and a uuid; else the process' identity */
	const char *ns, *name;
};

struct lease_client {
	struct program program;
	struct cluster_lease *lease;
	int32_t id; /* of this life */
	bool leads;
	bool seen;
	bool fast;  /* this try wrote without reading first, */
	bool tried; /* ... or has begun so */
	bool deadline_set;
	/* what it observed last */
	struct lease_record observed;
	int64_t version, observed_ms;
	int64_t attempt;  /* answers to an older one are not taken */
	int64_t until_ms; /* by its monotonic clock: when it gives up to renew */
	struct cluster *cluster;
	struct lease_options is;   /* its texts are not kept but for identity, which is owned */
	struct lease_client *next; /* of the cluster's */
	/* Called when it begins or ends to believe that it leads; NULL. */
	void (*leads_hook)(struct cluster *c, bool leads);
	int64_t since_us;
};

/* The process gets the program; started with it. */
struct lease_client *lease_client_new(
	struct cluster *c, struct process *p, const struct lease_options *options);
/* The process whose present life calls itself so; NULL. */
struct process *lease_client_process(const struct cluster *c, const char *identity);

#endif
