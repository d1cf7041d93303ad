#ifndef MODEL_JUDGE_RULES_H
#define MODEL_JUDGE_RULES_H

#include "base/clock.h"
#include "model/judge.h"
#include "model/snapshot.h"

/*
 * Private to the judge: what one judgement is made with, and the tables of rules. A rule looks at
 * the facts, and may worsen the state, add findings, and say when time alone changes what it said.
 */
enum {
	WHO_MAX = 160,
	SERVER_CLOCK_MOST_MS =
		60 * 1000, /* a reading that is older tells nothing more about what goes on */
};

struct judging {
	const struct judge_input *in;
	struct verdict_draft *out;
	const struct singleton *s;
	const struct remembered *memory; /* NULL: nothing */
	const struct thresholds *thresholds;
	const struct claim *holder; /* the first; NULL */
	uint32_t n_holders, n_waiters;
	int64_t server_us;  /* the server's clock now, carried on from its last answer; TIME_UNKNOWN
			     */
	int64_t cluster_us; /* the clock of a Kubernetes cluster's control plane now: our own where
			       they are not known to differ */
	int64_t silence_ms; /* of a Lease: lease_silence_ms */
	enum state state;   /* the worst so far */
};

enum {
#define MECHANISM_BIT(m) (1u << (m))
	RULE_PG = MECHANISM_BIT(MECH_PG_ADVISORY),
	RULE_ETCD_QUEUE = MECHANISM_BIT(MECH_ETCD_ELECTION) | MECHANISM_BIT(MECH_ETCD_LOCK),
	RULE_ETCD = RULE_ETCD_QUEUE | MECHANISM_BIT(MECH_ETCD_KEY),
	RULE_LEASE = MECHANISM_BIT(MECH_K8S_LEASE),
	RULE_CRONJOB = MECHANISM_BIT(MECH_K8S_CRONJOB),
	RULE_ZK = MECHANISM_BIT(MECH_ZK_ELECTION),
	RULE_ROW = MECHANISM_BIT(MECH_SQL_LEASE),
	RULE_LEDGER = MECHANISM_BIT(MECH_RUN_LEDGER),
	RULE_DAG = MECHANISM_BIT(MECH_AIRFLOW_DAG),
	/* What changes hands. A CronJob does not: a new run for each slot is its work. */
	RULE_HANDS = RULE_PG | RULE_ETCD | RULE_LEASE | RULE_ZK | RULE_ROW,
	RULE_ALL = RULE_HANDS | RULE_CRONJOB | RULE_LEDGER | RULE_DAG,
};

struct judge_rule {
	unsigned mechanisms; /* bits */
	bool free_too;       /* also when nobody holds it */
	void (*judge)(struct judging *j);
};

/* Each ends with a rule without a function. */
extern const struct judge_rule judge_rules_pg[];
extern const struct judge_rule judge_rules_etcd[];
extern const struct judge_rule judge_rules_lease[];
extern const struct judge_rule judge_rules_zk[];
extern const struct judge_rule judge_rules_runs[];
extern const struct judge_rule judge_rules_cron[];
extern const struct judge_rule judge_rules_table[];
extern const struct judge_rule judge_rules_past[];

/* The state is the worst that any rule says. */
void judging_state(struct judging *j, enum state state);
/* Whether the holder's lease is past its end by its server's clock; one that runs low makes the
 * state STATE_EXPIRING. */
bool judging_lease_past(struct judging *j);

/*
 * How long ago a moment of the server's clock was, in milliseconds, by that same clock;
 * TIME_UNKNOWN when either isn't known. Never negative.
 */
int64_t judging_server_age(const struct judging *j, int64_t moment_us);
/* The same for a moment that a machine of a Kubernetes cluster wrote. */
int64_t judging_cluster_age(const struct judging *j, int64_t moment_us);
/* The same for a moment of our own wall clock. */
int64_t judging_own_age(const struct judging *j, int64_t moment_us);
/* The same for a moment of our monotonic clock, in milliseconds. */
int64_t judging_mono_age(const struct judging *j, int64_t moment_ms);

/*
 * Whether a growing age has reached a limit; if not, notes when it will. An unknown age has not.
 */
bool judging_reached(struct judging *j, int64_t age_ms, int64_t limit_ms);
/* Notes that a moment of a Kubernetes cluster's clock, which is to come, changes the verdict. */
void judging_until(struct judging *j, int64_t moment_us);
/* A growing age in words, of at least CLOCK_TEXT_MAX bytes; notes when the words change. */
const char *judging_say(struct judging *j, char *buf, int64_t age_ms);

/* "worker-1 (pid 4711)"; the identity is cut where it is long. buf holds WHO_MAX bytes; returns it.
 */
const char *judging_who(char *buf, const struct claim *c);
/* An identity alone, cut. */
const char *judging_name(char *buf, const char *identity);

/*
 * How long a Lease's record has not been seen to change, by our clocks; 0 when these facts differ
 * from what is remembered; TIME_UNKNOWN where it was never seen before.
 */
struct lease_clock {
	int64_t now_ms, now_us;
	int64_t seen_ms; /* up to when the facts are known to be true; TIME_UNKNOWN: now */
};
int64_t lease_silence_ms(
	const struct singleton *s, const struct remembered *r, const struct lease_clock *clock);
/* How long candidates of a Lease wait after a renewal; TIME_UNKNOWN: it says none. */
int64_t lease_duration_ms(const struct singleton *s);

/* What the pod of a Lease's former holder shows of whether its process stopped. */
enum former {
	FORMER_NOT_KNOWN,
	FORMER_ENDED, /* it ended, or started anew since */
	FORMER_THERE, /* it is there, and has not started anew */
};
enum {
	FORMER_TEXT_MAX = 1024
};
/* buf (FORMER_TEXT_MAX) gets what is known, with a space before it, or is empty. */
enum former judge_former(struct judging *j, const struct remembered_past *p, char *buf);

/* Who leads, and waits too under the same name. */
void judge_same_name(struct judging *j);

/* "1 waits", "3 wait" */
const char *judging_wait_word(uint32_t n);

/* Sets needs_attention from the state and the findings. */
void judge_attention(struct verdict_draft *d);

#endif
