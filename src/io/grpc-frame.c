#include "config.h"

#include "io/grpc-frame.h"
#include "base/err.h"
#include "base/str.h"
#include "base/text.h"

#include <string.h>

void grpc_frames_init(struct grpc_frames *f)
{
	memset(f, 0, sizeof(*f));
}

static int frames_head(
	struct grpc_frames *f, size_t max, const struct grpc_sink *sink, void *arg, struct err *err)
{
	f->n_head = 0;
	f->left = (uint32_t)f->head[1] << 24 | (uint32_t)f->head[2] << 16 |
		  (uint32_t)f->head[3] << 8 | f->head[4];
	if (f->head[0] == 1)
		return err_set(err, ERR_PROTO, "a compressed message, which was not asked for");
	if (f->head[0] != 0)
		return err_set(
			err, ERR_PROTO, "no gRPC message: the first byte is 0x%02x", f->head[0]);
	if (f->left > max)
		return err_set(err, ERR_LIMIT,
			"a message of %u bytes, which is above the limit of %zu", f->left, max);
	f->in_message = true;
	return sink->begin ? sink->begin(arg, f->left, err) : 0;
}

static int frames_end(
	struct grpc_frames *f, const struct grpc_sink *sink, void *arg, struct err *err)
{
	f->in_message = false;
	f->n++;
	return sink->end ? sink->end(arg, err) : 0;
}

int grpc_frames_feed(struct grpc_frames *f, size_t max, const void *bytes, size_t len,
	const struct grpc_sink *sink, void *arg, struct err *err)
{
	const unsigned char *p = bytes;
	size_t take;
	int rc;

	while (len || (f->in_message && !f->left)) {
		if (!f->in_message) {
			f->head[f->n_head++] = *p++;
			len--;
			if (f->n_head < GRPC_HEAD)
				continue;
			rc = frames_head(f, max, sink, arg, err);
		} else if (!f->left) {
			rc = frames_end(f, sink, arg, err);
		} else {
			take = len < f->left ? len : f->left;
			rc = sink->data ? sink->data(arg, p, take, err) : 0;
			p += take;
			len -= take;
			f->left -= (uint32_t)take;
		}
		if (rc)
			return rc;
	}
	return 0;
}

bool grpc_frames_whole(const struct grpc_frames *f)
{
	return !f->in_message && !f->n_head;
}

void grpc_frame_add(struct str *out, const void *bytes, size_t len)
{
	unsigned char head[GRPC_HEAD] = { 0, (unsigned char)(len >> 24), (unsigned char)(len >> 16),
		(unsigned char)(len >> 8), (unsigned char)len };

	str_add_mem(out, head, sizeof(head));
	str_add_mem(out, bytes, len);
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

void grpc_message_decode(struct str *out, const char *bytes, size_t len, size_t most)
{
	struct str plain;
	size_t i;

	str_init(&plain, most);
	for (i = 0; i < len && !plain.full; i++) {
		int high = -1, low = -1;

		if (bytes[i] == '%' && i + 2 < len) {
			high = hex_digit(bytes[i + 1]);
			low = hex_digit(bytes[i + 2]);
		}
		if (high >= 0 && low >= 0) {
			str_add_char(&plain, (char)(high << 4 | low));
			i += 2;
		} else {
			str_add_char(&plain, bytes[i]);
		}
	}
	text_escape(out, plain.s, plain.len);
	if (plain.full)
		str_add(out, "...");
	str_release(&plain);
}

int grpc_status_parse(const char *bytes, size_t len)
{
	int status = 0;
	size_t i;

	if (!len || len > 3)
		return -1;
	for (i = 0; i < len; i++) {
		if (bytes[i] < '0' || bytes[i] > '9')
			return -1;
		status = status * 10 + (bytes[i] - '0');
	}
	return status;
}
