#include "config.h"

#include "source/etcd-rpc.h"
#include "base/mem.h"
#include "io/etcd.pb-c.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/*
 * Asks a member that has no leader to refuse at once, where it would else wait, or keep a watch
 * silent (etcd's rpctypes.MetadataRequireLeaderKey).
 */
static const char require_leader[] = "hasleader: true";

static ProtobufCBinaryData binary(const char *bytes, size_t len)
{
	union {
		const char *given;
		uint8_t *wanted;
	} cast = { .given = bytes };

	/* protobuf-c's structures have no const; packing only reads. */
	return (ProtobufCBinaryData){ .len = len, .data = cast.wanted };
}

/* ---- reading without copies ---- */

bool etcd_kv_read(const void *bytes, size_t len, struct etcd_kv *ret)
{
	struct etcd_kv kv = { 0 };
	struct wire_field f;
	struct wire w;

	wire_init(&w, bytes, len);
	while (wire_next(&w, &f)) {
		if (f.number == 1 && f.type == WIRE_BYTES) {
			kv.key = (const char *)f.bytes;
			kv.key_len = f.len;
		} else if (f.number == 5 && f.type == WIRE_BYTES) {
			kv.value = (const char *)f.bytes;
			kv.value_len = f.len;
		} else if (f.type != WIRE_VARINT) {
			continue;
		} else if (f.number == 2) {
			kv.create_revision = (int64_t)f.value;
		} else if (f.number == 3) {
			kv.mod_revision = (int64_t)f.value;
		} else if (f.number == 6) {
			kv.lease = (int64_t)f.value;
		}
	}
	/* etcd has no empty key. */
	if (w.bad || !kv.key_len)
		return false;
	*ret = kv;
	return true;
}

bool etcd_header_read(const void *bytes, size_t len, struct etcd_header *ret)
{
	struct etcd_header header = { 0 };
	struct wire_field f;
	struct wire w;

	wire_init(&w, bytes, len);
	while (wire_next(&w, &f)) {
		if (f.type != WIRE_VARINT)
			continue;
		if (f.number == 1)
			header.cluster_id = f.value;
		else if (f.number == 2)
			header.member_id = f.value;
		else if (f.number == 3)
			header.revision = (int64_t)f.value;
		else if (f.number == 4)
			header.raft_term = f.value;
	}
	if (w.bad)
		return false;
	*ret = header;
	return true;
}

/* ---- range ---- */

static int range_field(void *arg, const struct wire_field *f, struct err *err)
{
	struct etcd_range *range = arg;
	struct etcd_kv kv;

	if (f->number == 1 && f->type == WIRE_BYTES) {
		if (etcd_header_read(f->bytes, f->len, &range->header))
			return 0;
	} else if (f->number == 2 && f->type == WIRE_BYTES) {
		if (etcd_kv_read(f->bytes, f->len, &kv)) {
			if (++range->n > range->most)
				return err_set(err, ERR_LIMIT,
					"more than %" PRId64 " keys: watch narrower prefixes",
					range->most);
			str_clear(&range->last);
			str_add_mem(&range->last, kv.key, kv.key_len);
			range->kv(range->arg, &kv);
			return 0;
		}
	} else {
		if (f->number == 3 && f->type == WIRE_VARINT)
			range->more = f->value != 0;
		else if (f->number == 4 && f->type == WIRE_VARINT)
			range->count = (int64_t)f->value;
		return 0;
	}
	return err_set(err, ERR_PROTO, "a part of a range answer that is no protobuf message");
}

static int range_begin(void *arg, size_t len, struct err *err)
{
	struct etcd_range *range = arg;

	(void)err;
	range->bytes += len;
	wire_splitter_begin(&range->splitter);
	return 0;
}

static int range_data(void *arg, const void *bytes, size_t len, struct err *err)
{
	struct etcd_range *range = arg;

	return wire_splitter_feed(&range->splitter, bytes, len, err);
}

static int range_end(void *arg, struct err *err)
{
	struct etcd_range *range = arg;

	return wire_splitter_end(&range->splitter, err);
}

static void range_done(void *arg, const struct grpc_result *result)
{
	struct etcd_range *range = arg;

	range->result = *result;
	/* The text lives as long as the call; the error tells it as well. */
	range->result.message = range->result.err.text;
	range->done = true;
}

static const struct grpc_handler range_handler = {
	.sink = { .begin = range_begin, .data = range_data, .end = range_end },
	.done = range_done,
};

void etcd_range_init(
	struct etcd_range *range, void (*kv)(void *arg, const struct etcd_kv *kv), void *arg)
{
	memset(range, 0, sizeof(*range));
	range->kv = kv;
	range->arg = arg;
	range->most = ETCD_KEYS_MOST;
	str_init(&range->last, ETCD_FIELD_MAX);
	wire_splitter_init(&range->splitter, ETCD_FIELD_MAX, range_field, range);
}

void etcd_range_release(struct etcd_range *range)
{
	str_release(&range->last);
	wire_splitter_release(&range->splitter);
}

/* Packs a message into a buffer that the caller releases. */
static void pack(struct str *out, const ProtobufCMessage *message)
{
	size_t len = protobuf_c_message_get_packed_size(message);
	uint8_t *bytes = xmalloc(len);

	str_init(out, SIZE_MAX / 4);
	protobuf_c_message_pack(message, bytes);
	str_add_mem(out, bytes, len);
	explicit_bzero(bytes, len);
	free(bytes);
}

int etcd_range_start(
	struct etcd_range *range, struct grpc_channel *ch, int64_t deadline_ms, struct err *err)
{
	Etcdpb__RangeRequest message = ETCDPB__RANGE_REQUEST__INIT;
	struct grpc_request request = { .method = range->stream ? "/etcdserverpb.KV/RangeStream"
								: "/etcdserverpb.KV/Range",
		.metadata = require_leader,
		.many = range->stream,
		.max_message = ETCD_RANGE_MAX,
		.deadline_ms = deadline_ms };
	struct grpc_call *call;
	struct str body;

	message.key = binary(range->key, range->key_len);
	if (range->end)
		message.range_end = binary(range->end, range->end_len);
	message.limit = range->limit;
	message.revision = range->revision;
	message.keys_only = range->keys_only;
	pack(&body, &message.base);
	request.body = body.s;
	request.len = body.len;
	range->done = range->more = false;
	range->n = range->count = 0;
	range->bytes = 0;
	/* RangeStreamResponse holds one RangeResponse. */
	range->splitter.within = range->stream ? 1 : 0;
	call = grpc_start(ch, &request, &range_handler, range, err);
	str_release(&body);
	return call ? 0 : ERR_NOMEM;
}

/* ---- small calls ---- */

static int unary_begin(void *arg, size_t len, struct err *err)
{
	struct etcd_unary *u = arg;

	(void)len;
	(void)err;
	str_clear(&u->answer);
	return 0;
}

static int unary_data(void *arg, const void *bytes, size_t len, struct err *err)
{
	struct etcd_unary *u = arg;

	(void)err;
	str_add_mem(&u->answer, bytes, len);
	return 0;
}

static void unary_done(void *arg, const struct grpc_result *result)
{
	struct etcd_unary *u = arg;

	u->code = result->code;
	u->err = result->err;
	str_clear(&u->message);
	str_add(&u->message, result->message);
	u->ended_ms = http_loop_now_ms(u->loop);
	u->done = true;
	if (u->ended)
		u->ended(u);
}

static const struct grpc_handler unary_handler = {
	.sink = { .begin = unary_begin, .data = unary_data },
	.done = unary_done,
};

void etcd_unary_init(struct etcd_unary *u, struct http_loop *loop)
{
	memset(u, 0, sizeof(*u));
	u->loop = loop;
	str_init(&u->answer, ETCD_ANSWER_MAX);
	str_init(&u->message, 4096);
}

void etcd_unary_release(struct etcd_unary *u)
{
	str_release(&u->answer);
	str_release(&u->message);
}

int etcd_unary_start(struct etcd_unary *u, struct grpc_channel *ch, const char *method,
	const void *body, size_t len, bool secret, int64_t deadline_ms, struct err *err)
{
	struct grpc_request request = { .method = method,
		.body = body ? body : "",
		.len = len,
		.metadata = u->once ? require_leader : NULL,
		.secret = secret,
		.sent = u->once ? &u->sent : NULL,
		.max_message = ETCD_ANSWER_MAX,
		.deadline_ms = deadline_ms };

	u->method = method;
	u->sent = false;
	u->done = false;
	u->code = GRPC_NONE;
	err_clear(&u->err);
	str_clear(&u->answer);
	u->started_ms = http_loop_now_ms(u->loop);
	return grpc_start(ch, &request, &unary_handler, u, err) ? 0 : ERR_NOMEM;
}

int etcd_status_start(
	struct etcd_unary *u, struct grpc_channel *ch, int64_t deadline_ms, struct err *err)
{
	return etcd_unary_start(
		u, ch, "/etcdserverpb.Maintenance/Status", NULL, 0, false, deadline_ms, err);
}

int etcd_alarm_start(
	struct etcd_unary *u, struct grpc_channel *ch, int64_t deadline_ms, struct err *err)
{
	/* An empty request is the action GET of all members and all alarms. */
	return etcd_unary_start(
		u, ch, "/etcdserverpb.Maintenance/Alarm", NULL, 0, false, deadline_ms, err);
}

int etcd_leases_start(
	struct etcd_unary *u, struct grpc_channel *ch, int64_t deadline_ms, struct err *err)
{
	return etcd_unary_start(
		u, ch, "/etcdserverpb.Lease/LeaseLeases", NULL, 0, false, deadline_ms, err);
}

int etcd_ttl_start(struct etcd_unary *u, struct grpc_channel *ch, int64_t lease, bool keys,
	int64_t deadline_ms, struct err *err)
{
	Etcdpb__LeaseTimeToLiveRequest message = ETCDPB__LEASE_TIME_TO_LIVE_REQUEST__INIT;
	uint8_t body[32];
	size_t len;

	message.id = lease;
	message.keys = keys;
	len = protobuf_c_message_pack(&message.base, body);
	return etcd_unary_start(
		u, ch, "/etcdserverpb.Lease/LeaseTimeToLive", body, len, false, deadline_ms, err);
}

int etcd_authenticate_start(struct etcd_unary *u, struct grpc_channel *ch, const char *name,
	const char *password, int64_t deadline_ms, struct err *err)
{
	Etcdpb__AuthenticateRequest message = ETCDPB__AUTHENTICATE_REQUEST__INIT;
	ProtobufCBinaryData given_name = binary(name, 0), given_password = binary(password, 0);
	struct str body;
	int rc;

	message.name = (char *)given_name.data;
	message.password = (char *)given_password.data;
	pack(&body, &message.base);
	rc = etcd_unary_start(
		u, ch, "/etcdserverpb.Auth/Authenticate", body.s, body.len, true, deadline_ms, err);
	explicit_bzero(body.s, body.len);
	str_release(&body);
	return rc;
}

int etcd_leases_read(const struct etcd_unary *u, void (*lease)(void *arg, int64_t id), void *arg,
	struct err *err)
{
	struct wire_field f, id;
	struct wire w, inner;

	wire_init(&w, u->answer.s, u->answer.len);
	while (wire_next(&w, &f)) {
		if (f.number != 2 || f.type != WIRE_BYTES)
			continue;
		wire_init(&inner, f.bytes, f.len);
		while (wire_next(&inner, &id))
			if (id.number == 1 && id.type == WIRE_VARINT)
				lease(arg, (int64_t)id.value);
	}
	return w.bad ? err_set(err, ERR_PROTO, "the list of leases is no protobuf message") : 0;
}

/* ---- watch ---- */

static bool watch_read_head(const void *bytes, size_t len, struct etcd_watch_answer *a)
{
	struct wire_field f;
	struct wire w;

	memset(a, 0, sizeof(*a));
	wire_init(&w, bytes, len);
	while (wire_next(&w, &f)) {
		if (f.number == 1 && f.type == WIRE_BYTES) {
			if (!etcd_header_read(f.bytes, f.len, &a->header))
				return false;
		} else if (f.number == 2 && f.type == WIRE_VARINT) {
			a->watch_id = (int64_t)f.value;
		} else if (f.number == 3 && f.type == WIRE_VARINT) {
			a->created = f.value != 0;
		} else if (f.number == 4 && f.type == WIRE_VARINT) {
			a->canceled = f.value != 0;
		} else if (f.number == 5 && f.type == WIRE_VARINT) {
			a->compact_revision = (int64_t)f.value;
		} else if (f.number == 6 && f.type == WIRE_BYTES) {
			a->reason = (const char *)f.bytes;
			a->reason_len = f.len;
		} else if (f.number == 7 && f.type == WIRE_VARINT) {
			a->fragment = f.value != 0;
		} else if (f.number == 11 && f.type == WIRE_BYTES) {
			a->n_events++;
		}
	}
	return !w.bad;
}

static bool event_read(const void *bytes, size_t len, struct etcd_event *ret)
{
	struct etcd_event event = { 0 };
	bool has_kv = false;
	struct wire_field f;
	struct wire w;

	wire_init(&w, bytes, len);
	while (wire_next(&w, &f)) {
		if (f.number == 1 && f.type == WIRE_VARINT)
			event.deleted = f.value == 1;
		else if (f.number == 2 && f.type == WIRE_BYTES)
			has_kv = etcd_kv_read(f.bytes, f.len, &event.kv);
		else if (f.number == 3 && f.type == WIRE_BYTES)
			event.has_previous = etcd_kv_read(f.bytes, f.len, &event.previous);
	}
	*ret = event;
	return !w.bad && has_kv;
}

int etcd_watch_read(const void *bytes, size_t len, const struct etcd_watch_handler *handler,
	void *arg, struct err *err)
{
	struct etcd_watch_answer a;
	struct etcd_event event;
	struct wire_field f;
	struct wire w;

	if (!watch_read_head(bytes, len, &a))
		return err_set(err, ERR_PROTO, "a watch answer that is no protobuf message");
	handler->answer(arg, &a);
	wire_init(&w, bytes, len);
	while (a.n_events && wire_next(&w, &f)) {
		if (f.number != 11 || f.type != WIRE_BYTES)
			continue;
		if (!event_read(f.bytes, f.len, &event))
			return err_set(err, ERR_PROTO, "a watch event that is no protobuf message");
		handler->event(arg, &a, &event);
	}
	return 0;
}

struct etcd_watch {
	struct grpc_call *call; /* NULL: ended */
	const struct etcd_watch_handler *handler;
	void *arg;
	struct str message;
};

static int watch_begin(void *arg, size_t len, struct err *err)
{
	struct etcd_watch *w = arg;

	(void)len;
	(void)err;
	str_clear(&w->message);
	return 0;
}

static int watch_data(void *arg, const void *bytes, size_t len, struct err *err)
{
	struct etcd_watch *w = arg;

	(void)err;
	str_add_mem(&w->message, bytes, len);
	return 0;
}

static int watch_end(void *arg, struct err *err)
{
	struct etcd_watch *w = arg;

	return etcd_watch_read(w->message.s, w->message.len, w->handler, w->arg, err);
}

static void watch_done(void *arg, const struct grpc_result *result)
{
	struct etcd_watch *w = arg;

	w->call = NULL;
	w->handler->ended(w->arg, result);
}

static const struct grpc_handler watch_stream = {
	.sink = { .begin = watch_begin, .data = watch_data, .end = watch_end },
	.done = watch_done,
};

struct etcd_watch *etcd_watch_open(struct grpc_channel *ch,
	const struct etcd_watch_handler *handler, void *arg, struct err *err)
{
	struct grpc_request request = { .method = "/etcdserverpb.Watch/Watch",
		.metadata = require_leader,
		.open = true,
		.max_message = ETCD_ANSWER_MAX,
		.deadline_ms = INT64_MAX };
	struct etcd_watch *w = xcalloc(1, sizeof(*w));

	w->handler = handler;
	w->arg = arg;
	str_init(&w->message, ETCD_ANSWER_MAX);
	w->call = grpc_start(ch, &request, &watch_stream, w, err);
	if (!w->call) {
		free(w);
		return NULL;
	}
	return w;
}

static void watch_send(struct etcd_watch *w, const Etcdpb__WatchRequest *message)
{
	struct str body;

	if (!w->call)
		return;
	pack(&body, &message->base);
	grpc_send(w->call, body.s, body.len);
	str_release(&body);
}

void etcd_watch_create(struct etcd_watch *w, int64_t watch_id, const char *key, size_t key_len,
	const char *end, size_t end_len, int64_t start_revision, bool previous)
{
	Etcdpb__WatchCreateRequest create = ETCDPB__WATCH_CREATE_REQUEST__INIT;
	Etcdpb__WatchRequest message = ETCDPB__WATCH_REQUEST__INIT;

	create.key = binary(key, key_len);
	if (end)
		create.range_end = binary(end, end_len);
	create.start_revision = start_revision;
	create.watch_id = watch_id;
	create.prev_kv = previous;
	create.fragment = true;
	message.request_union_case = ETCDPB__WATCH_REQUEST__REQUEST_UNION_CREATE_REQUEST;
	message.create_request = &create;
	watch_send(w, &message);
}

void etcd_watch_cancel(struct etcd_watch *w, int64_t watch_id)
{
	Etcdpb__WatchCancelRequest cancel = ETCDPB__WATCH_CANCEL_REQUEST__INIT;
	Etcdpb__WatchRequest message = ETCDPB__WATCH_REQUEST__INIT;

	cancel.watch_id = watch_id;
	message.request_union_case = ETCDPB__WATCH_REQUEST__REQUEST_UNION_CANCEL_REQUEST;
	message.cancel_request = &cancel;
	watch_send(w, &message);
}

void etcd_watch_progress(struct etcd_watch *w)
{
	Etcdpb__WatchProgressRequest progress = ETCDPB__WATCH_PROGRESS_REQUEST__INIT;
	Etcdpb__WatchRequest message = ETCDPB__WATCH_REQUEST__INIT;

	message.request_union_case = ETCDPB__WATCH_REQUEST__REQUEST_UNION_PROGRESS_REQUEST;
	message.progress_request = &progress;
	watch_send(w, &message);
}

void etcd_watch_close(struct etcd_watch *w)
{
	if (!w)
		return;
	if (w->call)
		grpc_cancel(w->call);
	str_release(&w->message);
	free(w);
}
