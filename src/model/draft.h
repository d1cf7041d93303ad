#ifndef MODEL_DRAFT_H
#define MODEL_DRAFT_H

#include "base/map.h"
#include "model/singleton.h"

struct draft;

/*
 * A singleton under construction. One draft makes many: draft_begin forgets the last. All texts are
 * copied; those from a server are raw bytes and are sanitised here, at the border. Not thread safe.
 */
struct draft *draft_new(void);
void draft_free(struct draft *d);

/*
 * Starts a singleton of a source (its name is sanitised already). path_bytes is the path as the
 * server says it: raw, it is escaped into the id (text_escape).
 */
void draft_begin(struct draft *d, enum mechanism mechanism, const char *source,
	const void *path_bytes, size_t path_len);

void draft_name(struct draft *d, const char *name);
void draft_token(struct draft *d, enum token_kind kind, int64_t token);

/* The leader's lease; see struct singleton for the clocks. Any may be TIME_UNKNOWN. */
void draft_lease(struct draft *d, int64_t granted_ms, int64_t deadline_ms, int64_t read_ms);

/*
 * Adds a claim, and makes it the one that the following details belong to. identity is raw bytes,
 * key is our own text. Holders must come before waiters.
 */
void draft_claim(struct draft *d, enum claim_kind kind, const void *identity, size_t identity_len,
	const char *key);
void draft_position(struct draft *d, uint32_t position);

/* Adds a detail to the last claim, or to the singleton before any claim was added. */
void draft_int(struct draft *d, enum detail_id id, int64_t value);
void draft_text(struct draft *d, enum detail_id id, const char *raw);
void draft_text_mem(struct draft *d, enum detail_id id, const void *raw, size_t len);
void draft_hidden(struct draft *d, enum detail_id id);

/*
 * The finished, immutable singleton, with one reference that is the caller's. Details of types MS
 * and the lease's clocks are left out of its hash where they only tell when we looked (see
 * draft.c).
 */
struct singleton *draft_finish(struct draft *d);

#endif
