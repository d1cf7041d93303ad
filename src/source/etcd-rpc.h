#ifndef SOURCE_ETCD_RPC_H
#define SOURCE_ETCD_RPC_H

#include "base/err.h"
#include "base/str.h"
#include "io/grpc.h"
#include "io/wire.h"
#include "source/etcd-store.h"

struct round;

/*
 * etcd's calls, typed: requests packed, answers read. Names and numbers are those of etcd's API
 * (etcdserverpb/rpc.proto and mvccpb/kv.proto). Nothing here writes to etcd: there is no Put,
 * Grant, KeepAlive or Compact at all; what an act sends stands in etcd-write.h.
 */

enum {
	ETCD_ANSWER_MAX = 16 * 1024 * 1024,  /* of a small answer, and of one watch message */
	ETCD_FIELD_MAX = 16 * 1024 * 1024,   /* of one key with its value */
	ETCD_RANGE_MAX = 1024 * 1024 * 1024, /* of one page, which is never in memory as a whole */
	ETCD_KEYS_MOST = 1000000,            /* of one scope */
};

struct etcd_header {
	uint64_t cluster_id, member_id, raft_term;
	int64_t revision;
};

/* Reads one mvccpb.KeyValue; ret points into the bytes. False when they are none. */
bool etcd_kv_read(const void *bytes, size_t len, struct etcd_kv *ret);
bool etcd_header_read(const void *bytes, size_t len, struct etcd_header *ret);

/* One page of a range; kept by the caller until done. */
struct etcd_range {
	/* request */
	const char *key, *end; /* end NULL: that one key */
	size_t key_len, end_len;
	int64_t limit, revision; /* 0: none, the newest */
	int64_t most;            /* keys that are taken of one answer; more are an error */
	bool keys_only;
	bool stream; /* KV/RangeStream (etcd 3.7): the server sends it bit by bit */
	void (*kv)(void *arg, const struct etcd_kv *kv);
	/* While the answer is awaited: does some other work, and returns whether there is more of
	 * it; NULL. */
	bool (*idle)(void *arg, const struct etcd_range *range);
	/* Between two pages, or bits; NULL. */
	void (*between)(void *arg, const struct etcd_range *range);
	void *arg;
	/* answer */
	struct etcd_header header;
	int64_t n, count;
	uint64_t bytes;
	bool more, done;
	struct str last; /* the last key */
	struct grpc_result result;
	struct wire_splitter splitter;
};

void etcd_range_init(
	struct etcd_range *range, void (*kv)(void *arg, const struct etcd_kv *kv), void *arg);
void etcd_range_release(struct etcd_range *range);
/* Starts the call; range->done is set when it ended, range->result says how. */
int etcd_range_start(
	struct etcd_range *range, struct grpc_channel *ch, int64_t deadline_ms, struct err *err);

/* A small call: one message each way. */
struct etcd_unary {
	const char *method;
	struct str answer;
	bool done;
	enum grpc_code code;
	struct str message;
	struct err err;
	int64_t started_ms, ended_ms;
	struct http_loop *loop;
	void (*ended)(struct etcd_unary *u); /* NULL: only done is set */
	void *arg;
	bool once; /* it changes something: never sent again (grpc.h) */
	bool sent; /* of such a one: a byte of it may have left */
};

void etcd_unary_init(struct etcd_unary *u, struct http_loop *loop);
void etcd_unary_release(struct etcd_unary *u);
int etcd_unary_start(struct etcd_unary *u, struct grpc_channel *ch, const char *method,
	const void *body, size_t len, bool secret, int64_t deadline_ms, struct err *err);

int etcd_status_start(
	struct etcd_unary *u, struct grpc_channel *ch, int64_t deadline_ms, struct err *err);
int etcd_alarm_start(
	struct etcd_unary *u, struct grpc_channel *ch, int64_t deadline_ms, struct err *err);
int etcd_leases_start(
	struct etcd_unary *u, struct grpc_channel *ch, int64_t deadline_ms, struct err *err);
int etcd_ttl_start(struct etcd_unary *u, struct grpc_channel *ch, int64_t lease, bool keys,
	int64_t deadline_ms, struct err *err);
int etcd_authenticate_start(struct etcd_unary *u, struct grpc_channel *ch, const char *name,
	const char *password, int64_t deadline_ms, struct err *err);

/* The answer of LeaseLeases, id by id. ERR_PROTO when it is none. */
int etcd_leases_read(const struct etcd_unary *u, void (*lease)(void *arg, int64_t id), void *arg,
	struct err *err);

/* ---- watch ---- */

struct etcd_watch_answer {
	struct etcd_header header;
	int64_t watch_id, compact_revision;
	bool created, canceled, fragment;
	const char *reason; /* raw bytes; NULL: none */
	size_t reason_len;
	size_t n_events;
};

struct etcd_event {
	bool deleted;
	struct etcd_kv kv;
	bool has_previous;
	struct etcd_kv previous;
};

struct etcd_watch_handler {
	void (*answer)(void *arg, const struct etcd_watch_answer *a);
	void (*event)(void *arg, const struct etcd_watch_answer *a, const struct etcd_event *event);
	void (*ended)(void *arg, const struct grpc_result *result);
};

/* One message of a watch: first the answer as a whole, then its events. ERR_PROTO when it is none.
 */
int etcd_watch_read(const void *bytes, size_t len, const struct etcd_watch_handler *handler,
	void *arg, struct err *err);

/* A stream of watches. */
struct etcd_watch;
struct etcd_watch *etcd_watch_open(struct grpc_channel *ch,
	const struct etcd_watch_handler *handler, void *arg, struct err *err);
/* watch_id is chosen by the caller, above 0 and used once. end NULL: one key. */
void etcd_watch_create(struct etcd_watch *w, int64_t watch_id, const char *key, size_t key_len,
	const char *end, size_t end_len, int64_t start_revision, bool previous);
void etcd_watch_cancel(struct etcd_watch *w, int64_t watch_id);
/* Asks for a sign of life (servers from 3.4 on answer with a message without events). */
void etcd_watch_progress(struct etcd_watch *w);
/* Ends the stream without telling the handler, where it has not ended by itself, and frees. */
void etcd_watch_close(struct etcd_watch *w);

#endif
