#include "config.h"

#include "show/out.h"
#include "base/fs.h"
#include "base/mem.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void out_init(struct out *out, int fd)
{
	*out = (struct out){ .fd = fd, .buf = xmalloc(OUT_BUFFER), .unwaiting = -1, .stop = -1 };
}

void out_stop_at(struct out *out, int stop)
{
	out->unwaiting = fs_open_unwaiting(out->fd);
	out->stop = stop;
}

static int out_fd(const struct out *out)
{
	return out->unwaiting >= 0 ? out->unwaiting : out->fd;
}

static ssize_t out_write(const struct out *out, const char *mem, size_t len)
{
	return out->unwaiting >= 0 ? fs_write_unwaiting(out->unwaiting, mem, len)
				   : write(out->fd, mem, len);
}

/* Until it takes something: a descriptor in which nothing waits, of our own or made so by somebody.
 * Returns an errno. */
static int out_wait(const struct out *out)
{
	struct pollfd fds[] = { { .fd = out_fd(out), .events = POLLOUT },
		{ .fd = out->stop, .events = POLLIN } };
	int n = poll(fds, 2, -1);

	if (n > 0 && !fds[0].revents && fds[1].revents)
		n = poll(fds, 1, OUT_STOPS_MS);
	if (n == 0)
		return ETIMEDOUT;
	return n < 0 && errno != EINTR ? errno : 0;
}

static void out_hold(struct out *out)
{
	if (!out->n)
		return;
	if (out->cap_held - out->n_held < out->n) {
		out->cap_held = 2 * out->cap_held + OUT_BUFFER;
		out->held = xrealloc(out->held, out->cap_held, 1);
	}
	memcpy(out->held + out->n_held, out->buf, out->n);
	out->n_held += out->n;
	out->n = 0;
}

void out_pour(struct out *out, struct out *from)
{
	out_mem_slowly(out, from->held, from->n_held);
	out_mem_slowly(out, from->buf, from->n);
	from->n_held = from->n = 0;
}

void out_flush(struct out *out)
{
	size_t done = 0;

	if (out->fd == OUT_HELD) {
		out_hold(out);
		return;
	}
	while (done < out->n && !out->error) {
		ssize_t n = out_write(out, out->buf + done, out->n - done);

		if (n >= 0)
			done += (size_t)n;
		else if (errno == EAGAIN)
			out->error = out_wait(out);
		else if (errno != EINTR)
			out->error = errno;
	}
	out->n = 0;
}

int out_close(struct out *out)
{
	out_flush(out);
	free(out->buf);
	free(out->held);
	if (out->unwaiting >= 0)
		close(out->unwaiting);
	out->buf = out->held = NULL;
	return out->error;
}

void out_mem_slowly(struct out *out, const void *mem, size_t len)
{
	const char *s = mem;

	while (len) {
		size_t room = OUT_BUFFER - out->n, part = len < room ? len : room;

		memcpy(out->buf + out->n, s, part);
		out->n += part;
		s += part;
		len -= part;
		if (out->n == OUT_BUFFER)
			out_flush(out);
	}
}

void out_fmt(struct out *out, const char *fmt, ...)
{
	char text[4096];
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (len > 0)
		out_mem(out, text, (size_t)len < sizeof(text) ? (size_t)len : sizeof(text) - 1);
}

void out_spaces(struct out *out, size_t n)
{
	static const char spaces[] = "                                ";

	for (; n > sizeof(spaces) - 1; n -= sizeof(spaces) - 1)
		out_mem(out, spaces, sizeof(spaces) - 1);
	out_mem(out, spaces, n);
}

void out_int(struct out *out, int64_t value)
{
	char digits[24];
	size_t at = sizeof(digits);
	uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

	do {
		digits[--at] = (char)('0' + left % 10);
		left /= 10;
	} while (left);
	if (value < 0)
		digits[--at] = '-';
	out_mem(out, digits + at, sizeof(digits) - at);
}

void out_hex(struct out *out, uint64_t value)
{
	char digits[16];
	size_t at = sizeof(digits);

	do {
		digits[--at] = "0123456789abcdef"[value & 15];
		value >>= 4;
	} while (value);
	out_mem(out, digits + at, sizeof(digits) - at);
}
