#ifndef SOURCE_ETCD_WRITE_H
#define SOURCE_ETCD_WRITE_H

#include "source/etcd-rpc.h"

/*
 * The requests that change something in etcd: these two, and no others. They are sent for an act
 * alone (etcd-act.c), each at most once: u->once is set here, u->sent tells afterwards whether a
 * byte may have left.
 */

/* A key that is deleted only while it is the one that was seen. */
struct etcd_delete {
	const char *key;
	size_t key_len;
	int64_t create_revision;
	int64_t lease;     /* 0: it has none */
	const char *value; /* that it must have, too; NULL: whatever it has */
	size_t value_len;
};

/*
 * KV/Txn: where create_revision and lease (and the value) are those, the key is deleted; else it is
 * only read. What `Resign` of etcd's client/v3/concurrency sends, with more compared.
 */
int etcd_delete_start(struct etcd_unary *u, struct grpc_channel *ch, const struct etcd_delete *d,
	int64_t deadline_ms, struct err *err);

struct etcd_deleted {
	int64_t revision;
	bool succeeded; /* the comparison held, and the key was deleted */
	/* Else what is there instead: */
	bool there;
	int64_t create_revision, lease;
};

/* ERR_PROTO when the answer is none. */
int etcd_delete_read(const struct etcd_unary *u, struct etcd_deleted *ret, struct err *err);

/* Lease/LeaseRevoke: takes no comparison. */
int etcd_revoke_start(struct etcd_unary *u, struct grpc_channel *ch, int64_t lease,
	int64_t deadline_ms, struct err *err);

#endif
