#ifndef BASE_MIX_H
#define BASE_MIX_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The product of two numbers, its upper half folded into its lower one: by halves, for machines of
 * 32 bits, whose compilers have no wider number. */
static inline uint64_t mix_fold_by_halves(uint64_t a, uint64_t b)
{
	const uint64_t mask = UINT32_MAX;
	uint64_t low = (a & mask) * (b & mask), high = (a >> 32) * (b >> 32);
	uint64_t x = (a & mask) * (b >> 32), y = (a >> 32) * (b & mask);
	uint64_t middle = (low >> 32) + (x & mask) + (y & mask);

	return (middle << 32 | (low & mask)) ^ (high + (x >> 32) + (y >> 32) + (middle >> 32));
}

/* The same product, by what the machine has. */
static inline uint64_t mix_fold(uint64_t a, uint64_t b)
{
#ifdef __SIZEOF_INT128__
	__extension__ typedef unsigned __int128 wide;
	wide product = (wide)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
#else
	return mix_fold_by_halves(a, b);
#endif
}

/*
 * One step of a hash that only has to tell equal facts from different ones: whoever chooses the
 * facts gains nothing by a collision. (The multiply and fold of Wang Yi's wyhash, which is in the
 * public domain.)
 */
static inline uint64_t mix_word(uint64_t hash, uint64_t value)
{
	return mix_fold(hash ^ 0x2d358dccaa6c78a5ULL, value ^ 0x8bb84b93962eacc9ULL) ^ hash;
}

/* Steps for so many bytes, and for how many they are. */
static inline uint64_t mix_bytes(uint64_t hash, const void *mem, size_t len)
{
	const unsigned char *bytes = mem;
	uint64_t word;
	size_t i;

	for (i = 0; i + 8 <= len; i += 8) {
		memcpy(&word, bytes + i, 8);
		hash = mix_word(hash, word);
	}
	for (word = len; i < len; i++)
		word = word << 8 | bytes[i];
	return mix_word(hash, word);
}

#endif
