#include "config.h"

#include "base/base64.h"
#include "base/err.h"
#include "base/str.h"

#include <stdint.h>
#include <string.h>

static const char base64_digits[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_encode(struct str *out, const void *bytes, size_t len)
{
	const unsigned char *s = bytes;
	size_t i;

	for (i = 0; i < len; i += 3) {
		size_t left = len - i;
		uint32_t group = (uint32_t)s[i] << 16 | (left > 1 ? (uint32_t)s[i + 1] << 8 : 0) |
				 (left > 2 ? s[i + 2] : 0);
		char quad[4] = { base64_digits[group >> 18], base64_digits[group >> 12 & 63],
			left > 1 ? base64_digits[group >> 6 & 63] : '=',
			left > 2 ? base64_digits[group & 63] : '=' };

		str_add_mem(out, quad, sizeof(quad));
	}
}

/* The next character that counts. */
static char base64_next(const char **text)
{
	while (**text == '\r' || **text == '\n')
		(*text)++;
	return **text ? *(*text)++ : '\0';
}

/* Reads four digits. Returns how many bytes they stand for, 0 at the end, -1 where they are none.
 */
static int base64_quad(const char **text, unsigned char bytes[3])
{
	uint32_t group = 0;
	int i, n = 0;

	for (i = 0; i < 4; i++) {
		char c = base64_next(text);
		const char *digit = c ? strchr(base64_digits, c) : NULL;

		if (!c && i == 0)
			return 0;
		if (digit && n == i)
			group |= (uint32_t)(digit - base64_digits) << (18 - 6 * i), n++;
		else if (c != '=' || i < 2)
			return -1;
	}
	bytes[0] = (unsigned char)(group >> 16);
	bytes[1] = (unsigned char)(group >> 8);
	bytes[2] = (unsigned char)group;
	return n - 1;
}

int base64_decode(struct str *out, const char *text)
{
	unsigned char bytes[3];
	int n;

	while ((n = base64_quad(&text, bytes)) > 0) {
		str_add_mem(out, bytes, (size_t)n);
		if (n < 3)
			return base64_next(&text) ? ERR_PROTO : 0;
	}
	return n < 0 ? ERR_PROTO : 0;
}
