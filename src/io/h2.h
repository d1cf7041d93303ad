#ifndef IO_H2_H
#define IO_H2_H

#include "base/err.h"
#include "io/http.h"

#include <nghttp2/nghttp2.h>

/*
 * One connection in HTTP/2 to one server: libcurl makes it (names, proxies, TLS, its failures in
 * words), and libnghttp2, on which libcurl's own HTTP/2 rests, frames what is said on it: 20,000
 * small calls took a command 446 ms of CPU with a transfer of libcurl's for each, and take it 122
 * so. Single-threaded: everything happens within http_loop_step of its loop.
 */
struct h2;

/* Who owns it. A stream is a pointer of the owner's. */
struct h2_handler {
	/* It stands, and takes requests. */
	void (*opened)(void *arg);
	/* It was not made, or is gone with all streams on it. spoke: the server had spoken HTTP/2;
	 * broke: it went without a word. */
	void (*lost)(void *arg, bool spoke, const struct err *err);
	/* After what came was taken in, and at the time that h2_due set: streams may be ended and
	 * begun here, and the connection closed. */
	void (*settle)(void *arg);
	/* A response's header or trailer; value ends with NUL. */
	void (*header)(
		void *stream, const char *name, size_t name_len, const char *value, size_t len);
	void (*data)(void *stream, const void *bytes, size_t len);
	/* The next bytes of a request; *end: no more come. 0 without *end: h2_resume says when. */
	size_t (*body)(void *stream, void *buf, size_t size, bool *end);
	/* A stream ended; code is HTTP/2's (RFC 9113, 7): NGHTTP2_NO_ERROR when it is whole. */
	void (*ended)(void *stream, uint32_t code);
};

/* All is borrowed for as long as it lives. */
struct h2 *h2_new(struct http_loop *loop, const struct http_endpoint *endpoint,
	const struct http_settings *settings, const struct h2_handler *handler, void *arg);
/* NULL is ignored. It must be closed, or its loop gone. */
void h2_free(struct h2 *h2);

/*
 * Begins to connect, for at most limit_ms; until_ms bounds what is done to find out who else
 * listens there. What comes of it is told later.
 */
int h2_open(struct h2 *h2, int64_t limit_ms, int64_t until_ms, struct err *err);
/* Closes it and forgets its streams without telling anybody; not from the callbacks of a stream. */
void h2_close(struct h2 *h2);
/* It is told as lost as soon as the loop goes on. */
void h2_give_up(struct h2 *h2);
/* settle is called at that time (our monotonic clock) at the latest; INT64_MAX: not for that. */
void h2_due(struct h2 *h2, int64_t at_ms);

/* Whether a request can be begun on it now: it stands, and the server has not bid us go. */
bool h2_takes(const struct h2 *h2);
/* The same, after what came in the meantime was taken in: the end of the connection, for one. */
bool h2_alive(struct h2 *h2);
/* Whether the server spoke HTTP/2 on it. */
bool h2_spoke(const struct h2 *h2);
/* Fills err with why something that waits on it since so many seconds got no answer. */
int h2_late(const struct h2 *h2, double seconds, struct err *err);

/* Begins a POST; the headers are copied. Returns the stream's number, or a negative code. */
int32_t h2_submit(
	struct h2 *h2, const nghttp2_nv *headers, size_t n, void *stream, struct err *err);
/* A header of h2_submit; name is constant and in lower case. */
nghttp2_nv h2_header(const char *name, const char *value, size_t len);
/* ":authority" of its server. */
const char *h2_authority(const struct h2 *h2);
void h2_resume(struct h2 *h2, int32_t id);
/* Cancels a stream; nothing more is told of it. */
void h2_cancel(struct h2 *h2, int32_t id);

/* Bytes on the wire (within TLS) since it was asked last. */
void h2_take_bytes(struct h2 *h2, uint64_t *in, uint64_t *out);

#endif
