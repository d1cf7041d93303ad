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
	int64_t server_us; /* the server's clock now, carried on from its last answer; TIME_UNKNOWN
			    */
	enum state state;  /* the worst so far */
};

enum {
#define MECHANISM_BIT(m) (1u << (m))
	RULE_PG = MECHANISM_BIT(MECH_PG_ADVISORY),
	RULE_ETCD_QUEUE = MECHANISM_BIT(MECH_ETCD_ELECTION) | MECHANISM_BIT(MECH_ETCD_LOCK),
	RULE_ETCD = RULE_ETCD_QUEUE | MECHANISM_BIT(MECH_ETCD_KEY),
	RULE_ALL = RULE_PG | RULE_ETCD,
};

struct judge_rule {
	unsigned mechanisms; /* bits */
	bool free_too;       /* also when nobody holds it */
	void (*judge)(struct judging *j);
};

/* Each ends with a rule without a function. */
extern const struct judge_rule judge_rules_pg[];
extern const struct judge_rule judge_rules_etcd[];
extern const struct judge_rule judge_rules_past[];

/* The state is the worst that any rule says. */
void judging_state(struct judging *j, enum state state);

/*
 * How long ago a moment of the server's clock was, in milliseconds, by that same clock;
 * TIME_UNKNOWN when either isn't known. Never negative.
 */
int64_t judging_server_age(const struct judging *j, int64_t moment_us);
/* The same for a moment of our own wall clock. */
int64_t judging_own_age(const struct judging *j, int64_t moment_us);
/* The same for a moment of our monotonic clock, in milliseconds. */
int64_t judging_mono_age(const struct judging *j, int64_t moment_ms);

/*
 * Whether a growing age has reached a limit; if not, notes when it will. An unknown age has not.
 */
bool judging_reached(struct judging *j, int64_t age_ms, int64_t limit_ms);
/* A growing age in words, of at least CLOCK_TEXT_MAX bytes; notes when the words change. */
const char *judging_say(struct judging *j, char *buf, int64_t age_ms);

/* "worker-1 (pid 4711)"; the identity is cut where it is long. buf holds WHO_MAX bytes; returns it.
 */
const char *judging_who(char *buf, const struct claim *c);
/* An identity alone, cut. */
const char *judging_name(char *buf, const char *identity);

/* "1 waits", "3 wait" */
const char *judging_wait_word(uint32_t n);

/* Sets needs_attention from the state and the findings. */
void judge_attention(struct verdict_draft *d);

#endif
