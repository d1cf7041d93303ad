#ifndef SOURCE_ETCD_STORE_H
#define SOURCE_ETCD_STORE_H

#include "model/words.h"
#include "source/etcd-cold.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What etcd's keys under the watched prefixes mean: which are candidates of which election or lock,
 * which are keys on a lease that name a holder, which are neither. Pure: fed by reads and watch
 * events, asked for what changed. (contract.md "etcd layouts"; the layout name/LEASE is that of
 * etcd's client/v3/concurrency recipes.)
 */

/* One key as etcd tells it; points into the answer. */
struct etcd_kv {
	const char *key, *value;
	size_t key_len, value_len;
	int64_t create_revision, mod_revision, lease; /* lease 0: none */
};

enum etcd_layout_kind {
	ETCD_LAYOUT_AUTO,     /* told by the keys themselves */
	ETCD_LAYOUT_ELECTION, /* keys with a hexadecimal last segment are candidates of an election
			       */
	ETCD_LAYOUT_LOCK,     /* ... of a lock */
	ETCD_LAYOUT_KEY,      /* each key stands for itself */
};

struct etcd_prefix {
	char *bytes;
	size_t len;
	enum etcd_layout_kind kind;
	bool exact; /* one key, and not what begins with it */
};

struct etcd_group;
struct etcd_lease;

/* One key that is kept. */
struct etcd_key {
	struct etcd_key *next_same; /* in the table's bucket */
	struct etcd_key *next_on_lease, **lease_link;
	struct etcd_group *group;
	struct etcd_lease *lease; /* NULL: none */
	uint64_t hash;
	int64_t create_revision, mod_revision;
	uint32_t key_len, value_len;
	uint32_t dirty; /* its place among those that must be told anew, from 1; 0: clean */
	bool hex;       /* the last segment is a hexadecimal number of 64 bits */
	bool own;       /* ... and that of its own lease */
	bool named;     /* the configuration names it */
	bool told;      /* stands in the picture by itself */
	bool beside;    /* ... under the name that keeps it apart from a group of the same name */
	char bytes[];   /* the key, then the value (cut at ETCD_VALUE_MAX) */
};

/* All keys with one parent: an election or a lock, or only a folder. */
struct etcd_group {
	struct etcd_group *next_same;
	struct etcd_group *next_awake, **awake_link;
	uint64_t hash;
	struct etcd_key **keys; /* sorted by create_revision where `sorted` */
	struct etcd_key *only; /* what keys points to while there is one: most names have no more */
	uint32_t n, cap, n_hex, n_own, n_values;
	uint32_t name_len;
	enum etcd_layout_kind kind;
	uint32_t dirty; /* as a key's */
	bool sorted, told;
	bool seen_own;  /* a key that bears its own lease was here: its siblings are candidates */
	bool one_range; /* all its keys are of the range in which it was found first */
	char name[];
};

/* A lease that some kept key is on. Times are of our monotonic clock; TIME_UNKNOWN. */
struct etcd_lease {
	struct etcd_lease *next_same;
	int64_t id;
	struct etcd_key *keys;
	int64_t granted_ms, deadline_ms, read_ms, renewed_ms;
	int64_t others_ms;              /* when the keys on it were last read */
	struct etcd_other_keys *others; /* NULL: not asked for */
	struct etcd_places places;      /* of names at rest with keys on it; marked: it leads one */
	uint32_t number;                /* by which these tell it; 0: none yet */
	bool gone, busy, denied;
};

/* Keys on a lease beside one that is shown. */
struct etcd_other_keys {
	uint32_t n, cut; /* cut: more than are listed */
	char *keys[];
};

enum {
	ETCD_HEX_MAX = 16,
	ETCD_VALUE_MAX = 4096
};

struct etcd_name {
	char *path;
	size_t len;
	bool free_told;
};

struct etcd_store;

/* The prefixes are borrowed; the longest that fits a key decides. names: paths that are rows also
 * when nobody holds them. */
struct etcd_store *etcd_store_new(const struct etcd_prefix *prefixes, size_t n_prefixes);
void etcd_store_free(struct etcd_store *store);
/* Forgets all keys and leases, as before a new first read; keeps the names, and what was learnt of
 * leases is lost. */
void etcd_store_clear(struct etcd_store *store);
/* Other prefixes than before, still borrowed; keys that are there stay as they are. */
void etcd_store_prefixes(
	struct etcd_store *store, const struct etcd_prefix *prefixes, size_t n_prefixes);
void etcd_store_name(struct etcd_store *store, const char *path, size_t len);

/*
 * The keys of one range come next, in order and each once, all beginning with so many bytes that no
 * other range's keys begin with (an exact key: more than it has). Without this call a first read
 * may come in any order.
 */
void etcd_store_range(struct etcd_store *store, size_t prefix_len);
/*
 * Nobody will ask about what was told early (etcd_store_tell_some): where it can be, it is
 * forgotten with its keys, and its leases stay. Holds until etcd_store_clear.
 */
void etcd_store_forget_told(struct etcd_store *store);
/* From now on keys come by events. */
void etcd_store_live(struct etcd_store *store);
void etcd_store_put(struct etcd_store *store, const struct etcd_kv *kv);
void etcd_store_delete(struct etcd_store *store, const char *key, size_t len);

/* The create_revision of a key that is there and stands for something; 0: there is none. */
int64_t etcd_store_created(struct etcd_store *store, const char *key, size_t len);

/* Says that the lease's times changed: all that is on it must be told anew. */
void etcd_store_touch(struct etcd_store *store, struct etcd_lease *lease);

size_t etcd_store_keys(const struct etcd_store *store);
size_t etcd_store_leases(const struct etcd_store *store);
/*
 * Leases that went with their last key although they had over a third of their time left, since
 * this was asked last. now_ms is the time of what is fed next.
 */
int64_t etcd_store_take_lost(struct etcd_store *store);
void etcd_store_at(struct etcd_store *store, int64_t now_ms);
/* Keys under the prefixes that stand for nothing. */
int64_t etcd_store_ignored(const struct etcd_store *store);
struct etcd_lease *etcd_store_lease(const struct etcd_store *store, int64_t id);
/* The leases of the row with that path: the leader's first, then in the queue's order; at most
 * `most`. Returns how many. */
size_t etcd_store_path_leases(struct etcd_store *store, const char *path, size_t len,
	struct etcd_lease **ret, size_t most);
/* Walks all leases: start with *pos = 0 and NULL; NULL at the end. */
struct etcd_lease *etcd_store_next_lease(
	const struct etcd_store *store, size_t *pos, struct etcd_lease *last);

/* Whether a group is an election or a lock: its hexadecimal keys are candidates then. */
bool etcd_group_is_queue(const struct etcd_group *g);
enum mechanism etcd_group_mechanism(const struct etcd_group *g);
/* Whether a key is a candidate of its group. */
bool etcd_key_is_candidate(const struct etcd_key *key);
/* Puts a group's keys in the order of their create_revision. */
void etcd_group_sort(struct etcd_group *g);
/* The first of a queue's candidates; NULL: it is none. */
const struct etcd_key *etcd_group_leader(struct etcd_group *g);
const char *etcd_key_value(const struct etcd_key *key);

/* Whether a key on the lease leads its group, or is a row by itself. */
bool etcd_lease_leads(const struct etcd_lease *lease);

/* Where changes are told. Paths are raw bytes. */
struct etcd_teller {
	void (*group)(void *arg, struct etcd_group *g, bool named);
	void (*key)(void *arg, struct etcd_key *key, const char *path, size_t len);
	void (*free)(void *arg, const char *path, size_t len, enum mechanism mechanism);
	void (*drop)(void *arg, const char *path, size_t len);
};

/* Tells everything that changed since the last time; what is gone first. */
void etcd_store_tell(struct etcd_store *store, const struct etcd_teller *teller, void *arg);
/*
 * During a first read, keys come in order: tells up to so many of the names and keys that nothing
 * behind `last`, the last key that came, belongs to. read: only up to the first whose leases' times
 * are not known yet. Returns whether there is more that could be told now.
 */
bool etcd_store_tell_some(struct etcd_store *store, const struct etcd_teller *teller, void *arg,
	const char *last, size_t last_len, bool read, size_t most);
/*
 * The same walk for the leases of such names: the next one that was not read, or NULL when there is
 * none now. None comes twice.
 */
struct etcd_lease *etcd_store_next_unread(
	struct etcd_store *store, const char *last, size_t last_len);
/* Names and keys that a first read has brought and that were not told. */
size_t etcd_store_untold(const struct etcd_store *store);
bool etcd_store_changed(const struct etcd_store *store);
/*
 * Once everything is told and events are all that comes: puts names at rest that have up to so many
 * keys, all in a fifth of the memory. Whatever asks for one, or changes it, wakes it. For a store
 * that will be kept for long; nobody need call it.
 */
void etcd_store_pack(struct etcd_store *store, uint32_t most);
/* About so many keys will come: makes the tables large enough at once. */
void etcd_store_expect(struct etcd_store *store, int64_t n);

/* The number that a last segment of 1 to 16 hexadecimal digits stands for; false for anything else.
 */
bool etcd_hex(const char *s, size_t len, uint64_t *ret);
/*
 * The same of a key that is on a lease (0: on none). A client may choose a negative number for its
 * lease, which etcd's recipes write as Go's %x does, with a minus: of the lease's own key that
 * counts too.
 */
bool etcd_segment(const char *s, size_t len, int64_t lease, uint64_t *ret);
/* The way back, as etcd's recipes write a lease's number; at most ETCD_HEX_MAX bytes, no NUL.
 * Returns how many. */
size_t etcd_hex_write(char *to, uint64_t value);
/* The end of the range of all keys with a prefix: the prefix plus one in its last byte that can
 * rise; "\0" when none can. */
size_t etcd_prefix_end(const char *prefix, size_t len, char *end);

#endif
