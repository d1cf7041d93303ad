#ifndef IO_WIRE_H
#define IO_WIRE_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

/*
 * A reader of protobuf's wire format that copies nothing: for the answers that hold a hundred
 * thousand small messages. (All others are unpacked by protobuf-c.) Source: the encoding guide of
 * protocol buffers.
 */
enum wire_type {
	WIRE_VARINT = 0,
	WIRE_FIXED64 = 1,
	WIRE_BYTES = 2,
	WIRE_FIXED32 = 5
};

struct wire_field {
	uint32_t number;
	enum wire_type type;
	uint64_t value;             /* VARINT, FIXED64, FIXED32 */
	const unsigned char *bytes; /* BYTES: points into what is read */
	size_t len;
};

/*
 * Reads one field at bytes. Returns how many bytes it takes, 0 when it is not all there, -1 when it
 * is none (ret untouched). Groups, which protobuf deprecated and etcd never sends, are none.
 */
ptrdiff_t wire_read(const unsigned char *bytes, size_t len, struct wire_field *ret);

struct wire {
	const unsigned char *at, *end;
	bool bad;
};

void wire_init(struct wire *w, const void *bytes, size_t len);
/* The next field of a whole message; false at the end, and when something is wrong (bad). */
bool wire_next(struct wire *w, struct wire_field *ret);

/*
 * Takes a message apart field by field while it arrives, so that it is never in memory as a whole.
 * A single field may be at most `max` long.
 */
struct wire_splitter {
	struct str rest; /* the beginning of a field whose end has not come */
	size_t max;
	uint32_t within; /* a field of this number is a message, and is taken apart itself instead
			    of handed over; 0: none is */
	size_t left;     /* of that one, bytes that have not been taken */
	int (*field)(void *arg, const struct wire_field *f, struct err *err);
	void *arg;
};

void wire_splitter_init(struct wire_splitter *s, size_t max,
	int (*field)(void *arg, const struct wire_field *f, struct err *err), void *arg);
void wire_splitter_release(struct wire_splitter *s);
void wire_splitter_begin(struct wire_splitter *s);
int wire_splitter_feed(struct wire_splitter *s, const void *bytes, size_t len, struct err *err);
/* The message is over: ERR_PROTO when a field is not. */
int wire_splitter_end(struct wire_splitter *s, struct err *err);

#endif
