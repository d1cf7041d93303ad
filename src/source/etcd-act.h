#ifndef SOURCE_ETCD_ACT_H
#define SOURCE_ETCD_ACT_H

#include "model/plan.h"
#include "source/act.h"
#include "source/etcd-source.h"

/* The inside of etcd's verbs, for their own files (etcd-act*.c) and tests. */

enum {
	ETCD_QUEUE_MOST = 20000, /* candidates of one name that are read for an act */
	ETCD_LEASE_KEYS_MOST = 5000
};

/*
 * The rows of etcd's verbs with their texts, for who does them: on a real etcd (etcd-act.c), on the
 * built-in world's (sim-etcd-act.c).
 */
#define ETCD_DELETES(mech, which, what, planner, sender, looker)                                 \
	{                                                                                        \
		.mechanism = mech, .verb = which,                                                \
		.request = "a transaction: where the comparison holds, the one key is deleted, " \
			   "else it is only read",                                               \
		.guard = what, .needs = "write permission on the key", .plan = planner,          \
		.send = sender, .look = looker                                                   \
	}
#define ETCD_REVOKES(mech, planner, sender, looker)                                              \
	{                                                                                        \
		.mechanism = mech, .verb = VERB_REVOKE,                                          \
		.request = "LeaseRevoke: the lease with every key that is on it", .guard = NULL, \
		.needs = "write permission on every key that is on the lease", .plan = planner,  \
		.send = sender, .look = looker                                                   \
	}
#define ETCD_ACTS_OF(mech, guard, planner, sender, looker)                        \
	ETCD_DELETES(mech, VERB_STEP_DOWN, guard, planner, sender, looker),       \
		ETCD_DELETES(mech, VERB_RELEASE, guard, planner, sender, looker), \
		ETCD_REVOKES(mech, planner, sender, looker)
#define ETCD_QUEUE_GUARD "the key's create_revision and lease, in the same transaction"
#define ETCD_KEY_GUARD   "the key's create_revision, lease and value, in the same transaction"
#define ETCD_ACT_CASES(planner, sender, looker)                                          \
	ETCD_ACTS_OF(MECH_ETCD_ELECTION, ETCD_QUEUE_GUARD, planner, sender, looker),     \
		ETCD_ACTS_OF(MECH_ETCD_LOCK, ETCD_QUEUE_GUARD, planner, sender, looker), \
		ETCD_ACTS_OF(MECH_ETCD_KEY, ETCD_KEY_GUARD, planner, sender, looker)

/* What an order is about: one key, as it was on the screen. */
struct etcd_target {
	struct str key;  /* raw */
	struct str name; /* the election's or lock's name with the slash behind it; the key itself
			    for an etcd-key; raw */
	int64_t create_revision, lease; /* lease 0: none */
	const struct claim *claim;
	bool single; /* an etcd-key: its value is the holder */
};

/* False when the order's row does not tell one key exactly. To be released in any case. */
bool etcd_target_read(const struct order *order, struct etcd_target *ret);
void etcd_target_release(struct etcd_target *t);

/* One candidate, as it is now; texts are raw, owned. */
struct etcd_candidate {
	char *key, *value;
	size_t key_len, value_len;
	int64_t create_revision, mod_revision, lease;
};

/* The queue of a name (or the one key), as it is now: in the order of create_revision. */
struct etcd_now {
	struct etcd_candidate *items;
	size_t n, cap;
	int64_t revision;
	uint64_t cluster_id;
};

int etcd_now_read(
	struct etcd *e, const struct etcd_target *t, struct etcd_now *ret, struct err *err);
void etcd_now_release(struct etcd_now *now);
/* The target's own key, as it is now, whoever made it; NULL: it is not there. */
const struct etcd_candidate *etcd_now_find(const struct etcd_now *now, const struct etcd_target *t);
/* Who it is, as in the picture. out is cleared first. */
const char *etcd_candidate_name(struct str *out, const struct etcd_candidate *c);

/* A lease as it is now. */
struct etcd_lease_now {
	bool known;  /* false: it has none, or was not asked for */
	bool gone;   /* etcd knows no such lease */
	bool denied; /* it may not be read */
	int64_t ttl_s, granted_s;
	char **keys; /* raw, ended by NUL; those with a NUL inside are cut there */
	size_t n_keys, cut;
	uint64_t hash; /* of all its keys, whatever their order */
};

int etcd_lease_now_read(
	struct etcd *e, int64_t lease, bool keys, struct etcd_lease_now *ret, struct err *err);
void etcd_lease_now_release(struct etcd_lease_now *l);

/* All that is read for a plan: by requests to a real etcd (etcd-act-plan.c), or from the one of the
 * built-in world (sim-etcd-act.c). To be released. */
struct etcd_reading {
	const struct order *order;
	const struct etcd_target *t;
	struct etcd_now now;
	struct etcd_lease_now lease, next_lease;
	const struct etcd_candidate *own, *next; /* next: who leads when the target is gone; NULL */
	bool leads;
};
void etcd_reading_release(struct etcd_reading *in);

/* ---- etcd-act-plan.c ---- */
/* Whether what is there now is what was on the screen; finds own and next. After now was read. */
void etcd_plan_compare(struct etcd_reading *in, struct plan *plan);
/* The plan, but for the permission. After all was read, and compare said that it is ready. */
void etcd_plan_make(struct etcd *e, struct etcd_reading *in, struct plan *plan);
int etcd_plan(struct etcd *e, const struct order *order, const struct etcd_target *t,
	struct plan *plan, struct err *err);

/* What a revoke's plan saw on the lease, for comparing again directly before. */
void etcd_revoke_guard(const struct etcd_lease_now *l, char *buf, size_t size);

/* ---- etcd-act-send.c ---- */
struct etcd_deleted;
/* What the server's answer to the delete says. */
void etcd_say_deleted(const struct etcd_deleted *d, struct effect *effect);
/* Whether it is still what the forecast told that is revoked; else the effect says what is not. */
bool etcd_revoke_holds(const struct etcd_target *t, const struct plan *plan,
	const struct etcd_now *now, const struct etcd_lease_now *lease, struct effect *effect);
void etcd_say_revoked(int64_t revision, struct effect *effect);
int etcd_send_delete(struct etcd *e, const struct etcd_target *t, const struct plan *plan,
	struct effect *effect, struct err *err);
int etcd_send_revoke(struct etcd *e, const struct etcd_target *t, const struct plan *plan,
	struct effect *effect, struct err *err);

/* ---- etcd-act-look.c ---- */
/* What was read after the act, in words. */
void etcd_look_tell(const struct order *order, const struct etcd_target *t,
	const struct etcd_now *now, const struct etcd_lease_now *lease, struct sight *sight);
int etcd_look(struct etcd *e, const struct order *order, const struct etcd_target *t,
	struct sight *sight, struct err *err);

#endif
