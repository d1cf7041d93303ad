#ifndef SOURCE_ETCD_TABLE_H
#define SOURCE_ETCD_TABLE_H

#include "base/pool.h"
#include "base/str.h"
#include "source/etcd-cold.h"
#include "source/etcd-store.h"

/* Private to the store: where its keys, names and leases stand. */

/* What a number of a lease leads to: the lease, or the next number that is free. */
union etcd_numbered {
	struct etcd_lease *lease;
	uint32_t next;
};

/*
 * Tables with the links in the members: at a hundred thousand keys, each on a lease of its own, a
 * general map would cost more than the keys.
 */
struct etcd_store {
	const struct etcd_prefix *prefixes;
	size_t n_prefixes;
	uint64_t seed[2];
	struct pool pool, lease_pool; /* keys and groups; leases */
	struct etcd_key **keys;
	struct etcd_group **groups;
	struct etcd_lease **leases;
	size_t n_keys, size_keys, n_groups, size_groups, n_leases, size_leases;
	int64_t n_passed; /* keys that are not kept */
	int64_t n_mute;   /* kept, and neither candidate nor shown by themselves */
	struct etcd_group **dirty_groups;
	struct etcd_key **dirty_keys;
	size_t n_dirty_groups, cap_dirty_groups, n_dirty_keys, cap_dirty_keys;
	/* of these, during the first read: those told, and those whose leases were looked at */
	size_t told_groups, told_keys, asked_groups, asked_keys;
	uint32_t asked_in;  /* how many keys of the next group's */
	struct str dropped; /* paths, each after its length */
	struct etcd_name *names;
	size_t n_names, cap_names;
	int64_t now_ms, n_lost;
	bool changed;
	bool live; /* fed by events, and no longer by the first read */
	/*
	 * A first read gives the keys in order, each once: which name one belongs to follows from
	 * the one before it, and the tables are made when something is first looked for.
	 */
	bool indexed;
	size_t range_len;            /* of the prefix that all keys of the range have */
	struct etcd_key *last_key;   /* of this range; NULL: it begins */
	struct etcd_key *loose_keys; /* in no table yet, in order; linked by next_same */
	struct etcd_key **loose_keys_end;
	bool forget_told;
	/*
	 * Groups at rest, with their keys: neither stands in a table above. Whoever looks for one
	 * by etcd_rest_group or etcd_rest_key finds it as it was.
	 */
	struct etcd_cold cold;
	size_t n_cold_keys;
	/* All others, in the order of their coming: in a first read that of their keys among the
	 * loose ones. Also such as stand in no table yet. */
	struct etcd_group *awake, **awake_end;
	union etcd_numbered *numbered; /* leases of such groups, by their numbers less 1 */
	size_t n_numbered, cap_numbered;
	uint32_t free_number; /* 0: none */
};

uint64_t etcd_table_hash(const struct etcd_store *store, const char *bytes, size_t len);
/* They enter the table with their hash; a store that has no tables yet keeps them in order. The
 * hash of a group's name is set already, or 0. */
void etcd_table_add_key(struct etcd_store *store, struct etcd_key *key);
void etcd_table_add_group(struct etcd_store *store, struct etcd_group *g);
/* Makes the tables of what was read so far; what comes next goes into them. */
void etcd_table_index(struct etcd_store *store);
/* Gives the tables back. Keys and groups are elsewhere by then. */
void etcd_table_empty(struct etcd_store *store);

/* Where the link to a key or a group is that does not rest; NULL: there is none. */
struct etcd_key **etcd_table_key(
	const struct etcd_store *store, const char *bytes, size_t len, uint64_t hash);
struct etcd_group **etcd_table_group(
	const struct etcd_store *store, const char *name, size_t len, uint64_t hash);

/* The lease of that id, made if need be; 0: NULL. */
struct etcd_lease *etcd_table_lease(struct etcd_store *store, int64_t id);
/* The number by which a group at rest tells its lease; one is given when it has none. */
uint32_t etcd_table_number(struct etcd_store *store, struct etcd_lease *lease);
void etcd_table_drop_lease(struct etcd_store *store, struct etcd_lease *lease);
void etcd_lease_forget_others(struct etcd_lease *lease);

/* ---- keys and their groups ---- */

/* Where the last slash is: the name is what stands before it. Without one: the name is empty, and
 * is none. */
size_t etcd_key_name_len(const char *key, size_t len);
/* Whether the last segment, behind a slash, is a hexadecimal number, and which; lease: the key's.
 */
bool etcd_key_number(const char *key, size_t len, int64_t lease, uint64_t *ret);
/* Sets what its last segment makes of a key. */
void etcd_key_ends_in(struct etcd_key *key, bool hex, uint64_t number, int64_t lease);
void etcd_key_attach(struct etcd_key *key, struct etcd_lease *lease);
/* Takes a key off its lease's list, and no more. */
void etcd_key_unlink(struct etcd_key *key);
size_t etcd_key_bytes(const struct etcd_key *key);

/* Counts a key that came (1) or went (-1). */
void etcd_group_count(struct etcd_group *g, const struct etcd_key *key, int by);
/* Of one that has no keys any more. */
void etcd_group_free(struct etcd_store *store, struct etcd_group *g);

/* ---- groups at rest (etcd-rest.c) ---- */

/* As etcd_table_group and etcd_table_key, also for what rests: it does no longer then. */
struct etcd_group *etcd_rest_group(
	struct etcd_store *store, const char *name, size_t len, uint64_t hash);
struct etcd_key **etcd_rest_key(
	struct etcd_store *store, const char *bytes, size_t len, uint64_t hash);
/* Wakes all groups with a key on that lease. */
void etcd_rest_lease(struct etcd_store *store, struct etcd_lease *lease);

#endif
