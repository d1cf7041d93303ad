#include "config.h"

#include "source/etcd-write.h"
#include "base/mem.h"
#include "io/etcd.pb-c.h"

#include <stdlib.h>
#include <string.h>

/* Numbers of etcdserverpb's enum Compare.CompareTarget. */
enum {
	TARGET_CREATE = 1,
	TARGET_VALUE = 3,
	TARGET_LEASE = 4,
	COMPARES = 3
};

static ProtobufCBinaryData binary(const char *bytes, size_t len)
{
	union {
		const char *given;
		uint8_t *wanted;
	} cast = { .given = bytes };

	/* protobuf-c's structures have no const; packing only reads. */
	return (ProtobufCBinaryData){ .len = len, .data = cast.wanted };
}

static int start(struct etcd_unary *u, struct grpc_channel *ch, const char *method,
	const ProtobufCMessage *message, int64_t deadline_ms, struct err *err)
{
	size_t len = protobuf_c_message_get_packed_size(message);
	uint8_t *body = xmalloc(len ? len : 1);
	int rc;

	protobuf_c_message_pack(message, body);
	u->once = true;
	rc = etcd_unary_start(u, ch, method, body, len, false, deadline_ms, err);
	free(body);
	return rc;
}

/* The comparisons, in the order of their targets; returns how many. */
static size_t compare(const struct etcd_delete *d, Etcdpb__Compare c[COMPARES])
{
	size_t i;

	for (i = 0; i < COMPARES; i++) {
		etcdpb__compare__init(&c[i]);
		c[i].key = binary(d->key, d->key_len);
	}
	c[0].target = TARGET_CREATE;
	c[0].target_union_case = ETCDPB__COMPARE__TARGET_UNION_CREATE_REVISION;
	c[0].create_revision = d->create_revision;
	c[1].target = TARGET_LEASE;
	c[1].target_union_case = ETCDPB__COMPARE__TARGET_UNION_LEASE;
	c[1].lease = d->lease;
	if (!d->value)
		return 2;
	c[2].target = TARGET_VALUE;
	c[2].target_union_case = ETCDPB__COMPARE__TARGET_UNION_VALUE;
	c[2].value = binary(d->value, d->value_len);
	return 3;
}

int etcd_delete_start(struct etcd_unary *u, struct grpc_channel *ch, const struct etcd_delete *d,
	int64_t deadline_ms, struct err *err)
{
	Etcdpb__DeleteRangeRequest delete = ETCDPB__DELETE_RANGE_REQUEST__INIT;
	Etcdpb__RangeRequest range = ETCDPB__RANGE_REQUEST__INIT;
	Etcdpb__RequestOp success = ETCDPB__REQUEST_OP__INIT, failure = ETCDPB__REQUEST_OP__INIT;
	Etcdpb__RequestOp *successes[] = { &success }, *failures[] = { &failure };
	Etcdpb__Compare c[COMPARES], *compares[] = { &c[0], &c[1], &c[2] };
	Etcdpb__TxnRequest txn = ETCDPB__TXN_REQUEST__INIT;

	delete.key = range.key = binary(d->key, d->key_len);
	range.keys_only = true;
	success.request_case = ETCDPB__REQUEST_OP__REQUEST_REQUEST_DELETE_RANGE;
	success.request_delete_range = &delete;
	failure.request_case = ETCDPB__REQUEST_OP__REQUEST_REQUEST_RANGE;
	failure.request_range = &range;
	txn.n_compare = compare(d, c);
	txn.compare = compares;
	txn.n_success = txn.n_failure = 1;
	txn.success = successes;
	txn.failure = failures;
	return start(u, ch, "/etcdserverpb.KV/Txn", &txn.base, deadline_ms, err);
}

static bool read_deleted(const Etcdpb__TxnResponse *answer, struct etcd_deleted *ret)
{
	const Etcdpb__ResponseOp *op = answer->n_responses == 1 ? answer->responses[0] : NULL;

	if (!op || !answer->header)
		return false;
	*ret = (struct etcd_deleted){ .revision = answer->header->revision,
		.succeeded = answer->succeeded };
	if (answer->succeeded)
		return op->response_case == ETCDPB__RESPONSE_OP__RESPONSE_RESPONSE_DELETE_RANGE &&
		       op->response_delete_range->deleted == 1;
	if (op->response_case != ETCDPB__RESPONSE_OP__RESPONSE_RESPONSE_RANGE)
		return false;
	ret->there = op->response_range->n_kvs == 1;
	if (ret->there) {
		ret->create_revision = op->response_range->kvs[0]->create_revision;
		ret->lease = op->response_range->kvs[0]->lease;
	}
	return true;
}

int etcd_delete_read(const struct etcd_unary *u, struct etcd_deleted *ret, struct err *err)
{
	Etcdpb__TxnResponse *answer =
		etcdpb__txn_response__unpack(NULL, u->answer.len, (const uint8_t *)u->answer.s);
	bool good = answer && read_deleted(answer, ret);

	if (answer)
		etcdpb__txn_response__free_unpacked(answer, NULL);
	return good ? 0 : err_set(err, ERR_PROTO, "the answer to the transaction can't be read");
}

int etcd_revoke_start(struct etcd_unary *u, struct grpc_channel *ch, int64_t lease,
	int64_t deadline_ms, struct err *err)
{
	Etcdpb__LeaseRevokeRequest message = ETCDPB__LEASE_REVOKE_REQUEST__INIT;

	message.id = lease;
	return start(u, ch, "/etcdserverpb.Lease/LeaseRevoke", &message.base, deadline_ms, err);
}
