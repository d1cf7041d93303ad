#ifndef BASE_VARINT_H
#define BASE_VARINT_H

#include <stddef.h>
#include <stdint.h>

/*
 * Numbers of 7 bits a byte, the lowest first, all but the last with the highest bit set: LEB128, as
 * the encoding guide of protocol buffers has it. Here as inline functions: a hundred thousand rows
 * have twenty each.
 */
enum {
	VARINT_MOST = 10, /* bytes of one */
};

/* Returns where the next byte goes. The room is the caller's business. */
static inline unsigned char *varint_put(unsigned char *to, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*to++ = (unsigned char)(value | 0x80);
	*to++ = (unsigned char)value;
	return to;
}

/* Reads one of at most len bytes. Returns how many it takes, 0 when it is not all there, -1 when it
 * is none of 64 bits (ret untouched). */
static inline ptrdiff_t varint_get(const unsigned char *bytes, size_t len, uint64_t *ret)
{
	uint64_t value = 0;
	size_t i;

	for (i = 0; i < len && i < VARINT_MOST; i++) {
		value |= (uint64_t)(bytes[i] & 0x7f) << (7 * i);
		if (bytes[i] & 0x80)
			continue;
		if (i == VARINT_MOST - 1 && bytes[i] > 1)
			return -1;
		*ret = value;
		return (ptrdiff_t)i + 1;
	}
	return i == VARINT_MOST ? -1 : 0;
}

/* Reads one that varint_put wrote, and moves behind it. */
static inline uint64_t varint_take(const unsigned char **at)
{
	uint64_t value = 0;
	unsigned shift;

	for (shift = 0; **at >= 0x80; shift += 7)
		value |= (uint64_t)(*(*at)++ & 0x7f) << shift;
	return value | (uint64_t) * (*at)++ << shift;
}

/* Signed numbers, so that those near zero take few bytes: 0, -1, 1, -2 are 0, 1, 2, 3. */
static inline uint64_t varint_zigzag(int64_t value)
{
	return (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0);
}

static inline int64_t varint_unzigzag(uint64_t value)
{
	return (int64_t)(value >> 1 ^ (0 - (value & 1)));
}

#endif
