#include "config.h"

#include "source/sim-postgres.h"

/* hashtext: PostgreSQL's hash_bytes, which is Bob Jenkins' lookup3 on little-endian words, with the
 * initial value and the tail's place of PostgreSQL's own. */

struct hash_state {
	uint32_t a, b, c;
};

static uint32_t rotated(uint32_t x, int k)
{
	return x << k | x >> (32 - k);
}

static void mix(struct hash_state *s)
{
	s->a = (s->a - s->c) ^ rotated(s->c, 4);
	s->c += s->b;
	s->b = (s->b - s->a) ^ rotated(s->a, 6);
	s->a += s->c;
	s->c = (s->c - s->b) ^ rotated(s->b, 8);
	s->b += s->a;
	s->a = (s->a - s->c) ^ rotated(s->c, 16);
	s->c += s->b;
	s->b = (s->b - s->a) ^ rotated(s->a, 19);
	s->a += s->c;
	s->c = (s->c - s->b) ^ rotated(s->b, 4);
	s->b += s->a;
}

static void final(struct hash_state *s)
{
	s->c = (s->c ^ s->b) - rotated(s->b, 14);
	s->a = (s->a ^ s->c) - rotated(s->c, 11);
	s->b = (s->b ^ s->a) - rotated(s->a, 25);
	s->c = (s->c ^ s->b) - rotated(s->b, 16);
	s->a = (s->a ^ s->c) - rotated(s->c, 4);
	s->b = (s->b ^ s->a) - rotated(s->a, 14);
	s->c = (s->c ^ s->b) - rotated(s->b, 24);
}

int32_t simpg_hashtext(const char *text, size_t len)
{
	const unsigned char *k = (const unsigned char *)text;
	uint32_t words[3];
	struct hash_state s;
	size_t i;

	s.a = s.b = s.c = UINT32_C(0x9e3779b9) + (uint32_t)len + 3923095;
	for (;; k += 12, len -= 12) {
		words[0] = words[1] = words[2] = 0;
		for (i = 0; i < 12 && i < len; i++)
			/* The third word's lowest byte is kept for the length. */
			words[i / 4] |= (uint32_t)k[i]
					<< 8 * (len < 12 && i >= 8 ? i % 4 + 1 : i % 4);
		s.a += words[0];
		s.b += words[1];
		s.c += words[2];
		if (len < 12)
			break;
		mix(&s);
	}
	final(&s);
	return (int32_t)s.c;
}
