#ifndef SOURCE_ETCD_PACK_H
#define SOURCE_ETCD_PACK_H

#include "source/etcd-store.h"

/*
 * One name with all its keys as a string of bytes, and back, without loss: a fifth of what they
 * take as they are worked with. Leases are told by their numbers in the store.
 *
 *	number  length of the name, and its bytes
 *	byte    1: told, 2: seen_own, 4: it has one key; from 8 on, its kind
 *	number  keys, unless it has one
 *
 * and for each key, in the order of a sorted group:
 *
 *	byte    enum packed_key
 *	number  length of what stands behind NAME/ (of an empty name: of the key), and its bytes;
 *	        neither for a key that ends in its own lease's number as etcd's recipes write it
 *	number  its lease, if any
 *	number  create_revision
 *	number  mod_revision less that, unless they are the same
 *	number  length of the value, and its bytes
 *
 * Numbers are varints (base/varint.h).
 */

/* What a string says of a name; points into it. */
struct etcd_packed {
	const unsigned char *at; /* what comes next */
	const char *name;
	uint32_t name_len, n;
	enum etcd_layout_kind kind;
	bool told, seen_own;
};

/* ... and of a key. */
struct etcd_packed_key {
	const char *last, *value; /* last: NULL, its lease's number */
	uint32_t last_len, value_len;
	uint32_t lease; /* from 1; 0: none */
	int64_t create_revision, mod_revision;
	bool named, told, beside;
	bool leads; /* its lease does by it (etcd_lease_leads) */
};

/* More bytes than the group's string will have. */
size_t etcd_pack_room(const struct etcd_group *g);
/* Writes the string of a group of which nothing is to be told; returns its length. */
size_t etcd_pack(struct etcd_group *g, unsigned char *to);
void etcd_unpack(struct etcd_packed *p, const unsigned char *string);
/* The next of the p->n keys. */
void etcd_unpack_key(struct etcd_packed *p, struct etcd_packed_key *key);

#endif
