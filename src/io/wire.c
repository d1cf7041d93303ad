#include "config.h"

#include "io/wire.h"
#include "base/err.h"
#include "base/varint.h"

#include <string.h>

enum {
	FIELD_NUMBER_MAX = 536870911
};

static ptrdiff_t wire_fixed(const unsigned char *bytes, size_t len, size_t width, uint64_t *ret)
{
	uint64_t value = 0;
	size_t i;

	if (len < width)
		return 0;
	for (i = 0; i < width; i++)
		value |= (uint64_t)bytes[i] << (8 * i);
	*ret = value;
	return (ptrdiff_t)width;
}

/* All of a field but the bytes of WIRE_BYTES. */
static ptrdiff_t wire_head(const unsigned char *bytes, size_t len, struct wire_field *ret)
{
	struct wire_field f = { 0 };
	uint64_t tag, value = 0;
	ptrdiff_t at, n;

	at = varint_get(bytes, len, &tag);
	if (at <= 0)
		return at;
	if (tag >> 3 == 0 || tag >> 3 > FIELD_NUMBER_MAX)
		return -1;
	f.number = (uint32_t)(tag >> 3);
	f.type = (enum wire_type)(tag & 7);
	if (f.type == WIRE_VARINT || f.type == WIRE_BYTES)
		n = varint_get(bytes + at, len - (size_t)at, &value);
	else if (f.type == WIRE_FIXED64)
		n = wire_fixed(bytes + at, len - (size_t)at, 8, &value);
	else if (f.type == WIRE_FIXED32)
		n = wire_fixed(bytes + at, len - (size_t)at, 4, &value);
	else
		return -1;
	if (n <= 0)
		return n;
	at += n;
	f.value = value;
	if (f.type == WIRE_BYTES) {
		if (value > PTRDIFF_MAX / 2)
			return -1;
		f.len = (size_t)value;
	}
	*ret = f;
	return at;
}

ptrdiff_t wire_read(const unsigned char *bytes, size_t len, struct wire_field *ret)
{
	struct wire_field f;
	ptrdiff_t at = wire_head(bytes, len, &f);

	if (at <= 0)
		return at;
	if (f.type == WIRE_BYTES) {
		/* The length is told also when the bytes are not there yet: a splitter's cap looks
		 * at it. */
		if (f.len > len - (size_t)at) {
			*ret = f;
			return 0;
		}
		f.bytes = bytes + at;
		at += (ptrdiff_t)f.len;
	}
	*ret = f;
	return at;
}

void wire_init(struct wire *w, const void *bytes, size_t len)
{
	w->at = bytes;
	w->end = w->at + len;
	w->bad = false;
}

bool wire_next(struct wire *w, struct wire_field *ret)
{
	ptrdiff_t n;

	if (w->bad || w->at == w->end)
		return false;
	n = wire_read(w->at, (size_t)(w->end - w->at), ret);
	if (n <= 0) {
		w->bad = true;
		return false;
	}
	w->at += n;
	return true;
}

void wire_splitter_init(struct wire_splitter *s, size_t max,
	int (*field)(void *arg, const struct wire_field *f, struct err *err), void *arg)
{
	str_init(&s->rest, SIZE_MAX / 4);
	s->max = max;
	s->field = field;
	s->arg = arg;
	s->within = 0;
	s->left = 0;
}

void wire_splitter_release(struct wire_splitter *s)
{
	str_release(&s->rest);
}

void wire_splitter_begin(struct wire_splitter *s)
{
	str_clear(&s->rest);
	s->left = 0;
}

/* Steps into the message that begins here; returns how long its head is, 0 where none does. */
static ptrdiff_t splitter_enter(struct wire_splitter *s, const unsigned char *p, size_t len)
{
	struct wire_field f = { 0 };
	ptrdiff_t n;

	if (!s->within || s->left)
		return 0;
	n = wire_head(p, len, &f);
	if (n <= 0 || f.number != s->within || f.type != WIRE_BYTES)
		return 0;
	s->left = f.len;
	return n;
}

/* Of a field that was taken: 0, or ERR_PROTO when it ends behind the message that it is in. */
static int splitter_left(struct wire_splitter *s, size_t n, struct err *err)
{
	if (!s->left)
		return 0;
	if (n > s->left)
		return err_set(err, ERR_PROTO, "a field that ends behind its message");
	s->left -= n;
	return 0;
}

/* Hands over all whole fields; returns how many bytes they take, or a negative code. */
static ptrdiff_t splitter_take(
	struct wire_splitter *s, const unsigned char *p, size_t len, struct err *err)
{
	size_t at = 0;

	while (at < len) {
		struct wire_field f = { 0 };
		ptrdiff_t n = splitter_enter(s, p + at, len - at);
		int rc;

		if (n) {
			at += (size_t)n;
			continue;
		}
		n = wire_read(p + at, len - at, &f);
		if (n < 0)
			return err_set(err, ERR_PROTO, "bytes that are no protobuf message");
		if (f.len > s->max)
			return err_set(err, ERR_LIMIT,
				"one field of %zu bytes, which is above the limit of %zu", f.len,
				s->max);
		if (n == 0)
			break;
		at += (size_t)n;
		rc = splitter_left(s, (size_t)n, err);
		if (!rc)
			rc = s->field(s->arg, &f, err);
		if (rc)
			return rc;
	}
	return (ptrdiff_t)at;
}

int wire_splitter_feed(struct wire_splitter *s, const void *bytes, size_t len, struct err *err)
{
	ptrdiff_t taken;

	if (!s->rest.len) {
		taken = splitter_take(s, bytes, len, err);
		if (taken < 0)
			return (int)taken;
		str_add_mem(&s->rest, (const char *)bytes + taken, len - (size_t)taken);
		return 0;
	}
	str_add_mem(&s->rest, bytes, len);
	taken = splitter_take(s, (const unsigned char *)s->rest.s, s->rest.len, err);
	if (taken < 0)
		return (int)taken;
	memmove(s->rest.s, s->rest.s + taken, s->rest.len - (size_t)taken);
	str_truncate(&s->rest, s->rest.len - (size_t)taken);
	return 0;
}

int wire_splitter_end(struct wire_splitter *s, struct err *err)
{
	if (!s->rest.len && !s->left)
		return 0;
	return err_set(err, ERR_PROTO, "a message that breaks off within a field");
}
