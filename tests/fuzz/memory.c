#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "model/memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	HEAD_SIZE = 24
};

/* The checksum and the length, so that the fuzzer gets behind them. */
static void mend(unsigned char *file, size_t size, unsigned char version)
{
	uint32_t crc = UINT32_MAX;
	size_t i;
	int bit;

	memcpy(file, "batonmem\0\0\0\0", 12);
	file[8] = version;
	for (i = HEAD_SIZE; i < size; i++) {
		crc ^= file[i];
		for (bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ UINT32_C(0xedb88320) : crc >> 1;
	}
	for (i = 0; i < 4; i++)
		file[12 + i] = (unsigned char)(~crc >> (8 * i));
	for (i = 0; i < 8; i++)
		file[16 + i] = (unsigned char)((uint64_t)(size - HEAD_SIZE) >> (8 * i));
}

/* What was taken can be written, and reads back as the same. */
static void check_round_trip(struct memory *m)
{
	struct memory again;
	struct str once, twice;
	struct remembered *r;
	size_t pos = 0;

	str_init(&once, 1 << 26);
	str_init(&twice, 1 << 26);
	memory_init(&again);
	memory_write(m, &once);
	if (memory_read(&again, once.s, once.len, NULL) != 0 || again.n != m->n)
		abort();
	while ((r = memory_next(&again, &pos)) != NULL) {
		const struct remembered *first = memory_find(m, r->id);

		if (!first || first->highest_token != r->highest_token ||
			first->last_seen_us != r->last_seen_us || !first->past != !r->past)
			abort();
		remembered_holders(r, 600000, 0);
	}
	memory_release(&again);
	str_release(&once);
	str_release(&twice);
}

static void read_mended(struct memory *m, const uint8_t *data, size_t size, unsigned char version)
{
	unsigned char *file = malloc(size + HEAD_SIZE);

	memset(file, 0, HEAD_SIZE);
	memcpy(file + HEAD_SIZE, data, size);
	mend(file, size + HEAD_SIZE, version);
	/* Once into what is there, and once more over itself. */
	if (memory_read(m, file, size + HEAD_SIZE, NULL) == 0) {
		memory_read(m, file, size + HEAD_SIZE, NULL);
		check_round_trip(m);
	}
	free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned char version;

	for (version = 1; version <= 2; version++) {
		struct memory m;

		memory_init(&m);
		if (memory_read(&m, data, size, NULL) == 0)
			check_round_trip(&m);
		read_mended(&m, data, size, version);
		memory_release(&m);
	}
	return 0;
}
