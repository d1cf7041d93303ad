#ifndef IO_REST_H
#define IO_REST_H

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clock_source;
struct kube_access;

/*
 * A client of one Kubernetes API server (kubernetes.io "Kubernetes API Concepts") over libcurl:
 * HTTP/2 where the server offers it (all requests and watches on one connection then), else
 *HTTP/1.1 with a few connections; answers packed by gzip; credentials fetched, renewed and told
 *apart from other failures. Single-threaded and straight-line: nothing happens but within rest_step
 *and what calls it. Redirects are never followed.
 *
 *	c = rest_client_new(&access, &clock_system, &err);
 *	rc = rest_get(c, "/apis/batch/v1/cronjobs?limit=500", &wait, &answer, &err);
 *
 *	w = rest_start(c, &(struct rest_request){ .path = ".../leases?watch=1&...", .watch = true,
 *		.line = on_event, .arg = me }, &err);
 *	while (!rest_done(w))
 *		rc = rest_step(c, &wait, &err);
 *	rc = rest_result(w, &answer, &err);
 *	rest_end(w);
 */
struct rest_client;
/* One request in flight, or done and not yet ended. The caller's. */
struct rest_call;

/* access is borrowed for as long as the client lives. Checks what can be checked without the
 * network (the server's URL, the proxy's, certificates and keys that libcurl could not read). NULL
 * on failure (ERR_CONFIG). To be called before there are threads, as http_loop_new. */
struct rest_client *rest_client_new(
	const struct kube_access *access, const struct clock_source *clock, struct err *err);
/* Ends all calls, which must not be used any more. NULL is ignored. */
void rest_client_free(struct rest_client *c);

/* The server for messages: "https://10.0.0.1:6443", sanitised, without credentials. */
const char *rest_server(const struct rest_client *c);

/* Closes all connections: the next call opens a new one. Calls in flight end with ERR_IO. */
void rest_drop(struct rest_client *c);

/* ---- waiting ---- */

/* What bounds every wait: the round's deadline and its wake descriptor. */
struct rest_wait {
	int64_t until_ms;             /* our monotonic clock */
	int wake_fd;                  /* ends a wait when it is readable; -1: none */
	bool (*cancelled)(void *arg); /* asked after each wake; true ends all with
					 ERR_CANCELLED; NULL: never */
	void *arg;
};

/* ---- calls ---- */

enum rest_method {
	REST_GET,
	REST_POST,
	REST_PUT,
	REST_PATCH,
	REST_DELETE
};

struct rest_request {
	enum rest_method method;
	const char *path;   /* from the slash on, with the query, encoded (rest_path_add); copied */
	const char *accept; /* NULL: application/json */
	const char *content_type; /* NULL: application/json; application/merge-patch+json, ... */
	const void *body;         /* copied; NULL: none */
	size_t len;
	/*
	 * The largest answer to take after unpacking, in bytes; 0: 64 MiB. With line: the largest
	 * line; 0: 16 MiB. Beyond it the call ends with ERR_LIMIT.
	 */
	size_t max;
	int64_t deadline_ms; /* our monotonic clock; 0: none of its own (rest_run has one) */
	bool alone; /* on a connection of its own, so that libcurl never sends it again by itself
		       (a request on a kept connection that was found dead it repeats): for what
		       changes something */
	bool watch; /* a stream without an end of its own: no deadline, never counted as busy */
	/*
	 * Where set, the body of an answer of status 2xx goes here in pieces as it comes, and is
	 * not kept: for lists that are read piece by piece. A negative return ends the call with
	 * that error. Never called for other answers. It must not start or end calls.
	 */
	int (*piece)(void *arg, const char *bytes, size_t len, struct err *err);
	/* The same for a watch: each whole line, without its end; empty ones are left out. */
	int (*line)(void *arg, const char *line, size_t len, struct err *err);
	void *arg;
};

enum {
	REST_UNKNOWN_TIME = -1
};

/* What came. Zeroed it is none. */
struct rest_answer {
	int status;      /* of HTTP; 0: none came */
	struct str body; /* unpacked; empty where it went to piece or line */
	/* The Status object of a failure (API reference, meta/v1 Status); "" where there was none.
	 */
	char reason[64];        /* "NotFound", "Expired", "Forbidden": sanitised */
	int64_t retry_after_ms; /* Retry-After; REST_UNKNOWN_TIME: not said */
	int64_t date_us; /* the answer's Date by the server's clock, in steps of a second, wall
			    clock; REST_UNKNOWN_TIME: not said */
	int64_t round_trip_ms; /* from sending to the answer's headers; REST_UNKNOWN_TIME: none */
	bool gone;             /* 410, or a Status of reason Expired or Gone: list again */
};

void rest_answer_release(struct rest_answer *a);

/* Starts a call. Where credentials must be fetched first, it waits for them within rest_step. NULL
 * when it could not be started (err). */
struct rest_call *rest_start(
	struct rest_client *c, const struct rest_request *request, struct err *err);
/* Whether it is over: answered, failed, or its stream has ended. */
bool rest_done(const struct rest_call *call);
/* Whether an answer's headers came with status 2xx: a watch that is established. */
bool rest_answering(const struct rest_call *call);
/* Whether anything of it may have reached the server; false is sure. */
bool rest_sent(const struct rest_call *call);
/* Our monotonic clock when bytes last came for it; REST_UNKNOWN_TIME: none yet. */
int64_t rest_heard_ms(const struct rest_call *call);
/*
 * How a call that is done ended. 0 for a status 2xx that came whole (a watch that the server closed
 * in good order, too: start it again). Else a code with one sentence; ret is filled all the same:
 *
 *   ERR_AUTH        401, also with renewed credentials; or these could not be got
 *   ERR_DENIED      403; the sentence is the server's own: who may not do what
 *   ERR_NOTFOUND    404, no such object or no such API
 *   ERR_BUSY        429, 503, 504: ret->retry_after_ms where it was said
 *   ERR_UNSUPPORTED 405, 406, 415
 *   ERR_PROTO       410 (ret->gone), 409 and others; an answer of something that is no API server
 *   ERR_LIMIT       larger than max
 *   ERR_CONNECT, ERR_TLS, ERR_TIMEOUT, ERR_IO, ERR_CONFIG   as http.h tells them
 *
 * ret may be NULL; its body is handed over, the caller releases.
 */
int rest_result(struct rest_call *call, struct rest_answer *ret, struct err *err);
/* Ends a call, done or not, and frees it. NULL is ignored. */
void rest_end(struct rest_call *call);

/* What ended a step. */
enum rest_step {
	REST_STEP_TIME,   /* until_ms has come */
	REST_STEP_ACTIVE, /* something happened: look at the calls */
	REST_STEP_WOKEN   /* wake_fd is readable, and it was not for cancelling */
};

/*
 * Drives all calls, and waits for the network until wait->until_ms at most; returns as soon as
 * something happened. Runs the credential plugin when a call needs it. A step, or ERR_CANCELLED. A
 * call's own failure is its result.
 */
int rest_step(struct rest_client *c, const struct rest_wait *wait, struct err *err);
/* Drives until the call is done, past wakes that are not for cancelling: 0, ERR_CANCELLED, or
 * ERR_TIMEOUT with what it was waiting for. */
int rest_run(struct rest_client *c, struct rest_call *call, const struct rest_wait *wait,
	struct err *err);
/* Fills err with what a caller waits for whose own time is up: of the call that waits longest. */
int rest_late(const struct rest_client *c, struct err *err);
/* Whether calls share a connection. Where they don't (HTTP/1.1; known of a server with TLS from its
 * first answer on) each watch takes one for itself, of a few that there are. */
bool rest_shares(const struct rest_client *c);
/* Whether any call is in flight that is no watch. */
bool rest_busy(const struct rest_client *c);

/* One call from start to end: rest_start, rest_run, rest_result, rest_end. */
int rest_do(struct rest_client *c, const struct rest_request *request, const struct rest_wait *wait,
	struct rest_answer *ret, struct err *err);
int rest_get(struct rest_client *c, const char *path, const struct rest_wait *wait,
	struct rest_answer *ret, struct err *err);

struct rest_cost {
	uint64_t requests, bytes_in, bytes_out; /* bytes as on the wire: packed, without TLS */
};
/* What was sent and received since the last time it was taken. */
struct rest_cost rest_take_cost(struct rest_client *c);

/* Adds text as one segment of a path, or one value of a query: all but RFC 3986's unreserved bytes
 * as %XX. */
void rest_path_add(struct str *path, const char *text);

#endif
