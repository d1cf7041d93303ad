#ifndef BASE_MIX_H
#define BASE_MIX_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * One step of a hash that only has to tell equal facts from different ones: whoever chooses the
 * facts gains nothing by a collision. (The multiply and fold of Wang Yi's wyhash, which is in the
 * public domain.)
 */
static inline uint64_t mix_word(uint64_t hash, uint64_t value)
{
	__extension__ typedef unsigned __int128 wide;
	wide product = (wide)(hash ^ 0x2d358dccaa6c78a5ULL) * (value ^ 0x8bb84b93962eacc9ULL);

	return (uint64_t)product ^ (uint64_t)(product >> 64) ^ hash;
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
