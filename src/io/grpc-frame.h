#ifndef IO_GRPC_FRAME_H
#define IO_GRPC_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct str;

enum {
	GRPC_HEAD = 5
};

/* Where the parts of messages go. begin is told the whole length; each may return a negative code
 * to stop. */
struct grpc_sink {
	int (*begin)(void *arg, size_t len, struct err *err);
	int (*data)(void *arg, const void *bytes, size_t len, struct err *err);
	int (*end)(void *arg, struct err *err);
};

/*
 * Takes a stream of bytes apart into length-prefixed messages (gRPC over HTTP2,
 * "Length-Prefixed-Message": a compressed flag of one byte, four bytes of length in network order,
 * the message). Needs no memory of its own.
 */
struct grpc_frames {
	unsigned char head[GRPC_HEAD];
	unsigned n_head;
	uint32_t left; /* bytes of the present message that are to come */
	bool in_message;
	uint64_t n; /* whole messages so far */
};

void grpc_frames_init(struct grpc_frames *f);

/* Feeds bytes. ERR_LIMIT for a message above max, ERR_PROTO for a compressed one (we offer no
 * encoding), or the sink's code. */
int grpc_frames_feed(struct grpc_frames *f, size_t max, const void *bytes, size_t len,
	const struct grpc_sink *sink, void *arg, struct err *err);

/* Whether the stream may end here: not within a message. */
bool grpc_frames_whole(const struct grpc_frames *f);

/* Adds a framed message. */
void grpc_frame_add(struct str *out, const void *bytes, size_t len);

/*
 * Decodes grpc-message (percent-encoded) and sanitises it for showing; at most `most` bytes of it.
 * Broken escapes stay as they are.
 */
void grpc_message_decode(struct str *out, const char *bytes, size_t len, size_t most);

/* Reads grpc-status: a decimal number of 0 to 999; -1 when it is none. */
int grpc_status_parse(const char *bytes, size_t len);

#endif
