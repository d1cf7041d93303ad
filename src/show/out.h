#ifndef SHOW_OUT_H
#define SHOW_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
	OUT_BUFFER = 65536,
	OUT_STOPS_MS = 1000,
	OUT_HELD = -2 /* no descriptor: what is written is held until out_pour */
};

/*
 * Buffered output to a descriptor, or into memory for tests. The first failure is kept, and what is
 * added after it is dropped: write freely, ask once at the end. SIGPIPE must be ignored.
 */
struct out {
	int fd;
	int error; /* errno of the first failure; 0 */
	size_t n;
	char *buf;
	char *held; /* of OUT_HELD, what is no more in the buffer */
	size_t n_held, cap_held;
	int unwaiting; /* a descriptor of our own on the same, in which nothing waits; -1: none */
	int stop;      /* readable once it is to end; -1: none */
};

void out_init(struct out *out, int fd);
/*
 * A reader that stands still is waited for until `stop` (a descriptor, borrowed) can be read, and
 * OUT_STOPS_MS more: then out->error is ETIMEDOUT.
 */
void out_stop_at(struct out *out, int stop);
/* Flushes and frees; returns 0, or the errno of the first failure. */
int out_close(struct out *out);
void out_flush(struct out *out);
/* Writes what `from` holds behind what was written, and empties it. */
void out_pour(struct out *out, struct out *from);

/* As out_mem, when it may not fit in the buffer. */
void out_mem_slowly(struct out *out, const void *mem, size_t len);
void out_fmt(struct out *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void out_spaces(struct out *out, size_t n);

/* Without printf's cost, for what is written a hundred thousand times. */
void out_int(struct out *out, int64_t value);
void out_hex(struct out *out, uint64_t value);

static inline void out_mem(struct out *out, const void *mem, size_t len)
{
	if (len >= OUT_BUFFER - out->n) {
		out_mem_slowly(out, mem, len);
		return;
	}
	memcpy(out->buf + out->n, mem, len);
	out->n += len;
}

static inline void out_text(struct out *out, const char *s)
{
	out_mem(out, s, strlen(s));
}

static inline void out_char(struct out *out, char c)
{
	if (out->n == OUT_BUFFER)
		out_flush(out);
	out->buf[out->n++] = c;
}

#endif
