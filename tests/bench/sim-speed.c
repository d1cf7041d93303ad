#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/zone.h"
#include "sim/etcd-client.h"
#include "sim/lease-client.h"

/*
 * How fast a large built-in fleet lives: 1,000 processes on 100 machines, 10,000 elections in one
 * etcd, each with a session of its own. Prints how many times faster than real time it goes on one
 * core. Usage: sim-speed [TTL in s [sessions per process: 1 or 10]]; sim-speed leases: 10,000
 * Leases of a Kubernetes cluster instead, each renewed every 2 s as client-go does.
 */
enum {
	MACHINES = 100,
	PROCESSES = 1000,
	EACH = 10,
	RUN_S = 600
};

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void add_process(
	struct world *w, struct sim_etcd *e, int number, int64_t ttl_s, const char *session)
{
	char name[64], election[64];
	struct process *p;
	int i;

	snprintf(name, sizeof(name), "node-%d", number % MACHINES);
	p = process_new(w, "", machine_new(w, name), NULL);
	snprintf(name, sizeof(name), "process-%d", number);
	free(p->identity);
	p->identity = strdup(name);
	for (i = 0; i < EACH; i++) {
		struct sim_etcd_campaign campaign = { .etcd = e,
			.claim = SIM_ETCD_ELECTION,
			.name = election,
			.session = session,
			.ttl_s = ttl_s,
			.timeout_ms = 3000,
			.again_ms = 1000,
			.through = -1 };

		snprintf(election, sizeof(election), "elections/%d", number * EACH + i);
		sim_etcd_candidate_new(p, &campaign);
	}
	process_start(w, p);
}

static void add_holder(struct world *w, struct cluster *c, int number)
{
	char name[64], lease[64];
	struct process *p;
	int i;

	snprintf(name, sizeof(name), "node-%d", number % MACHINES);
	p = process_new(w, "", machine_new(w, name), NULL);
	snprintf(name, sizeof(name), "process-%d", number);
	free(p->identity);
	p->identity = strdup(name);
	for (i = 0; i < EACH; i++) {
		struct lease_options options = { .ns = "ops",
			.name = lease,
			.duration_ms = 15000,
			.deadline_ms = 10000,
			.retry_ms = 2000,
			.exits = true };

		snprintf(lease, sizeof(lease), "lease-%d", number * EACH + i);
		lease_client_new(c, p, &options);
	}
	process_start(w, p);
}

/* Lets it live, and prints how fast that went. */
static void measure(struct world *w, const char *what)
{
	double began;
	uint64_t events;

	world_run(w, 10000);
	began = now_s();
	events = world_events(w);
	world_run(w, 10000 + RUN_S * 1000);
	began = now_s() - began;
	printf("%s, %d s of life: %.2f s of a core, %.0f x real time, %.0f ns an event\n", what,
		RUN_S, began, RUN_S / began, began * 1e9 / (double)(world_events(w) - events));
	world_free(w);
}

static void measure_leases(void)
{
	struct world *w = world_new(1, 1772507520000000);
	struct cluster *c = cluster_new(w, "prod", machine_new(w, "api-1"), zone_load);
	int i;

	for (i = 0; i < PROCESSES; i++)
		add_holder(w, c, i);
	measure(w, "10000 Leases, renewed every 2 s");
}

static void measure_elections(int64_t ttl_s, bool shared)
{
	struct world *w = world_new(1, 1772507520000000);
	struct machine *machines[3];
	struct sim_etcd *e;
	char what[80];
	int i;

	for (i = 0; i < 3; i++) {
		char name[32];

		snprintf(name, sizeof(name), "etcd-%d", i + 1);
		machines[i] = machine_new(w, name);
	}
	e = sim_etcd_new(w, "ctl", machines, 3, NULL);
	for (i = 0; i < PROCESSES; i++)
		add_process(w, e, i, ttl_s, shared ? "main" : "");
	snprintf(what, sizeof(what), "10000 elections, leases of %lld s", (long long)ttl_s);
	measure(w, what);
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "leases") == 0)
		measure_leases();
	else
		measure_elections(argc > 1 ? atoi(argv[1]) : 60, argc > 2 && atoi(argv[2]) == 1);
	return 0;
}
