#ifndef IO_GRPC_H
#define IO_GRPC_H

#include "base/err.h"
#include "io/grpc-frame.h"
#include "io/http.h"

/*
 * gRPC over HTTP/2 (h2.h), as a client: unary calls and streams, many at once on one connection
 * (gRPC's "PROTOCOL-HTTP2"). Single-threaded: everything happens within http_loop_step of the
 * channel's loop.
 */

/* The codes that callers decide on (gRPC's statuscodes). */
enum grpc_code {
	GRPC_OK = 0,
	GRPC_INVALID_ARGUMENT = 3,
	GRPC_NOT_FOUND = 5,
	GRPC_PERMISSION_DENIED = 7,
	GRPC_RESOURCE_EXHAUSTED = 8,
	GRPC_FAILED_PRECONDITION = 9,
	GRPC_OUT_OF_RANGE = 11,
	GRPC_UNIMPLEMENTED = 12,
	GRPC_UNAVAILABLE = 14,
	GRPC_DATA_LOSS = 15,
	GRPC_UNAUTHENTICATED = 16,
	GRPC_NONE =
		-1, /* the call ended without a status: the transport failed, or it was no gRPC */
};

struct grpc_result {
	enum grpc_code code;
	const char *message; /* grpc-message, decoded and sanitised; "" when none */
	struct err err;      /* zeroed where the code is GRPC_OK */
};

/*
 * One server: an endpoint and, as long as something needs it, one connection to it.
 */
struct grpc_channel;
struct grpc_call;

/* Who a call answers to. done comes once for each started call that was not cancelled; the call is
 * invalid after it. */
struct grpc_handler {
	struct grpc_sink sink;
	void (*done)(void *arg, const struct grpc_result *result);
};

struct grpc_request {
	const char *method;   /* "/etcdserverpb.KV/Range" */
	const char *metadata; /* one more line of metadata, "name: value"; NULL; copied */
	const void *body;     /* one message; copied */
	size_t len;
	bool open;   /* a stream whose upload stays open (grpc_send); body may be NULL then */
	bool many;   /* the answer is a stream of messages, at least one */
	bool secret; /* the body is wiped from memory when it was sent */
	size_t max_message;  /* the largest message to take */
	int64_t deadline_ms; /* our monotonic clock; INT64_MAX: none */
	/*
	 * For a call that changes something: set to true as soon as a byte of the body may have
	 * left. Such a call goes on the connection that is there and is never started again, where
	 * one that only reads is begun once more when its connection turns out to be dead. What had
	 * come on that connection by then is taken in first. Must live until the call is done, or
	 * its channel dropped. NULL: a call that only reads.
	 */
	bool *sent;
};

/* All is borrowed for as long as the channel lives. */
struct grpc_channel *grpc_channel_new(struct http_loop *loop, const struct http_endpoint *endpoint,
	const struct http_settings *settings);
/*
 * Frees a channel without calls, after grpc_channel_drop.
 */
void grpc_channel_free(struct grpc_channel *ch);

/* How long a new connection may take, at most; a call's deadline holds as well. */
void grpc_channel_connect_limit(struct grpc_channel *ch, int64_t limit_ms);
/* Metadata `authorization` of the calls that are started from now on; NULL: none. Copied. */
void grpc_channel_authorize(struct grpc_channel *ch, const char *token);
/* Cancels all calls without telling anybody and closes the connection: the next call opens a new
 * one. */
void grpc_channel_drop(struct grpc_channel *ch);
/* Whether a connection is there, as far as we know. */
bool grpc_channel_up(const struct grpc_channel *ch);
/* Fills err (ERR_TIMEOUT) with how far it came, for what got no answer for so many seconds. */
int grpc_channel_late(const struct grpc_channel *ch, double seconds, struct err *err);
/* Calls that were started and are not done. */
size_t grpc_channel_busy(const struct grpc_channel *ch);
/* Rises each time a connection was lost or dropped. */
unsigned grpc_channel_generation(const struct grpc_channel *ch);

struct grpc_cost {
	uint64_t requests, bytes_in, bytes_out;
};
/* What was sent and received since the last time it was taken. */
struct grpc_cost grpc_channel_take_cost(struct grpc_channel *ch);

/*
 * Starts a call. It waits where the connection is being opened by another. NULL when libcurl took
 * none (err).
 */
struct grpc_call *grpc_start(struct grpc_channel *ch, const struct grpc_request *request,
	const struct grpc_handler *handler, void *arg, struct err *err);
/* Sends one more message on an open stream. */
void grpc_send(struct grpc_call *call, const void *body, size_t len);
/* Ends a call without telling its handler. */
void grpc_cancel(struct grpc_call *call);

#endif
