#ifndef MODEL_MEMORY_TABLE_H
#define MODEL_MEMORY_TABLE_H

#include "model/memory.h"

/* Private to the memory: making, keeping and forgetting entries. */

enum {
	/* Texts are cut to this: whole identities matter on the screen, not for knowing a holder
	 * again. */
	REMEMBERED_TEXT_MOST = 4096,
	REMEMBERED_TIMES = MEMORY_CHANGES + 13,
	MEMORY_TABLE_MOST = (1 << 24) - 2, /* entries: their numbers have 24 bits */
};

/* A text that need not end in NUL. */
struct slice {
	const char *s;
	size_t len;
};

struct slice slice_of(const char *s);

/* An entry that is in no memory yet, with room for the texts of a holder; all times unknown. */
struct remembered *remembered_new(struct slice id, size_t room);
/* The room that these texts need. */
size_t remembered_room(struct slice key, struct slice identity, struct slice client);
void remembered_free(struct remembered *r);
/* Its rare part, made when there is none. */
struct remembered_past *remembered_make_past(struct remembered *r);
void remembered_set_holder(
	struct remembered *r, struct slice key, struct slice identity, struct slice client);
void remembered_set_previous(
	struct remembered_past *p, struct slice key, struct slice identity, struct slice client);

/* All its times by the wall clock; returns how many. */
size_t remembered_times(struct remembered *r, int64_t *ret[REMEMBERED_TIMES]);

/*
 * Whether the holder's key is of another object than the one before: a Lease that was deleted and
 * made again. Its claims' keys begin with the object's uid.
 */
bool remembered_other_object(const struct remembered *r, enum mechanism mechanism, const char *key);

/* Makes room for n entries at once, which are so many bytes in a file. */
void memory_expect(struct memory *m, size_t n, size_t bytes);
/* The entry of that id, or NULL. */
struct remembered *memory_get(struct memory *m, struct slice id);
/*
 * Takes an entry over, and forgets others when the cap is reached. An entry of that id that is
 * there already stays, and false is returned: the new one is the caller's still.
 */
bool memory_insert(struct memory *m, struct remembered *r);
/* The id of the entry of that number; borrowed until something changes. */
struct slice memory_id(const struct memory *m, size_t number);

struct packed_parts;
/* The parts of the entry of that number. Nothing may be open. */
void memory_look(const struct memory *m, size_t number, struct packed_parts *ret);
/*
 * Takes over an entry as the bytes that unpack_walk found good, told against the memory's own base
 * and with our own numbers of mechanisms; false: one of that id is there already.
 */
bool memory_insert_packed(
	struct memory *m, const unsigned char *entry, size_t len, const struct packed_parts *parts);
/* An entry of that number, 0 to n - 1, unpacked for the caller, who frees it. Nothing may be open.
 */
struct remembered *memory_copy(const struct memory *m, size_t number);
/* An empty memory takes all that another one has; that one is empty then. */
void memory_take_over(struct memory *m, struct memory *from);
/* Forgets what is beyond the cap: those first that are not in the picture and were not seen for
 * longest. */
void memory_shrink(struct memory *m);

#endif
