#ifndef TESTS_SHOW_CAPTURE_H
#define TESTS_SHOW_CAPTURE_H

#include "show/out.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Output into memory: capture_end closes it and gives what was written, the caller's. */
static inline void capture_begin(struct out *out)
{
	out_init(out, memfd_create("capture", MFD_CLOEXEC));
}

static inline char *capture_end(struct out *out)
{
	off_t len;
	char *text;

	out_close(out);
	len = lseek(out->fd, 0, SEEK_END);
	text = calloc(1, (size_t)len + 1);
	if (pread(out->fd, text, (size_t)len, 0) != len)
		abort();
	close(out->fd);
	return text;
}

#endif
