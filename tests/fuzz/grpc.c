#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "io/grpc-frame.h"
#include "io/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int add(void *arg, const void *bytes, size_t len, struct err *err)
{
	(void)err;
	str_add_mem(arg, bytes, len);
	return 0;
}

static int count(void *arg, const struct wire_field *f, struct err *err)
{
	size_t *n = arg;

	(void)err;
	*n += f->len + 1;
	return 0;
}

/* The same bytes in one piece and in many give the same messages, or fail both. */
static void check_pieces(const uint8_t *data, size_t size)
{
	const struct grpc_sink sink = { .data = add };
	struct grpc_frames whole, cut;
	struct str a, b;
	int rc_a, rc_b = 0;
	size_t at;

	grpc_frames_init(&whole);
	grpc_frames_init(&cut);
	str_init(&a, 1 << 20);
	str_init(&b, 1 << 20);
	rc_a = grpc_frames_feed(&whole, 4096, data, size, &sink, &a, NULL);
	for (at = 0; at < size && !rc_b; at++)
		rc_b = grpc_frames_feed(&cut, 4096, data + at, 1, &sink, &b, NULL);
	if (rc_a != rc_b || a.len != b.len || memcmp(a.s, b.s, a.len) != 0 ||
		(!rc_a && grpc_frames_whole(&whole) != grpc_frames_whole(&cut)))
		abort();
	str_release(&a);
	str_release(&b);
}

static void check_splitter(const uint8_t *data, size_t size)
{
	size_t n = 0, m = 0, at;
	struct wire_splitter s;
	int rc_a, rc_b = 0;

	wire_splitter_init(&s, 4096, count, &n);
	wire_splitter_begin(&s);
	rc_a = wire_splitter_feed(&s, data, size, NULL);
	wire_splitter_begin(&s);
	s.arg = &m;
	for (at = 0; at < size && !rc_b; at++)
		rc_b = wire_splitter_feed(&s, data + at, 1, NULL);
	if (rc_a != rc_b || n != m)
		abort();
	wire_splitter_release(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str message;

	check_pieces(data, size);
	check_splitter(data, size);
	str_init(&message, 1 << 20);
	grpc_message_decode(&message, (const char *)data, size, 200);
	str_release(&message);
	grpc_status_parse((const char *)data, size);
	return 0;
}
