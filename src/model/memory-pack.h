#ifndef MODEL_MEMORY_PACK_H
#define MODEL_MEMORY_PACK_H

#include "base/varint.h"
#include "model/memory-table.h"

/*
 * One entry of the memory as bytes, and back: so it is kept (memory-table.c), and so it stands in
 * the file (memory-format.c), where what is only true within a run is left out.
 *
 * Numbers are varints (base/varint.h), signed ones zigzag coded first. A text
 * is its length as a varint, and its bytes. Times are told against a base or one another, so that
 * most take few bytes. States are told by their letters.
 */

enum {
	PACK_ID_MOST = 64 * 1024, /* of an id that stands in a file */
};

/* Each returns where the next byte goes. The room is the caller's business. */
unsigned char *pack_signed(unsigned char *at, int64_t value);
unsigned char *pack_text(unsigned char *at, struct slice text);

/* How many bytes an entry takes at most. */
size_t pack_entry_most(const struct remembered *r);
/*
 * run: with what is only true within this run. The moment that a clock lies 2^63 - 1 units away
 * from the base has no room and moves by one unit.
 */
unsigned char *pack_entry(
	unsigned char *at, const struct remembered *r, const struct memory_base *base, bool run);

/* Bytes that are read: each step stays within the end; `bad` stays set. */
struct pack_reader {
	const unsigned char *at, *end;
	struct memory_base base;
	const int
		*mechanisms; /* of a file, by its numbers; -1: not known any more. NULL: our own */
	size_t n_mechanisms;
	bool foreign; /* from a file: nothing in it is believed */
	bool flat;    /* of the first version: all times are told against the base */
	bool bad;
};

uint64_t unpack_long_varint(struct pack_reader *in);
/* Here, since an entry has twenty of them, most of one byte. */
static inline uint64_t unpack_varint(struct pack_reader *in)
{
	return in->at < in->end && *in->at < 0x80 ? *in->at++ : unpack_long_varint(in);
}
int64_t unpack_signed(struct pack_reader *in);
/* Borrowed from the bytes; without NUL, and at most so long. */
struct slice unpack_text(struct pack_reader *in, size_t most);
/* The next entry, which the caller frees; NULL: bad, or of a mechanism that is not known any more.
 */
struct remembered *unpack_entry(struct pack_reader *in);

/* What can be seen of an entry without unpacking it. */
struct packed_look {
	struct slice id;
	bool held, present;
};

/* Of bytes that pack_entry wrote, or that unpack_walk found good. */
struct packed_look packed_look(const unsigned char *at);

/* The parts of a packed entry. */
struct packed_parts {
	const unsigned char *flags, *body; /* body: what follows the flags */
	const unsigned char *last_seen, *last_seen_end;
	const unsigned char *run; /* what is only true within a run; else the end */
	struct packed_look look;
	int mechanism;
	bool strange; /* it tells times that are none */
	int64_t last_seen_us, youngest_us;
};

/*
 * Passes over an entry, as strict as unpack_entry and without making anything; false: bad. An entry
 * of a mechanism that is not known any more is passed, with mechanism -1.
 */
bool unpack_walk(struct pack_reader *in, struct packed_parts *ret);
/*
 * The bytes of an entry that was walked over, as they stand in a file: without what is only true
 * within a run, and seen last at seen_us. At most PACK_VARINT_MOST more than it had.
 */
unsigned char *pack_for_file(unsigned char *at, const struct packed_parts *parts,
	const struct memory_base *base, int64_t seen_us);

#endif
