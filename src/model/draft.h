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

/*
 * The same for one that was made before, and comes back from a file (a record): all its texts were
 * escaped then, so that a backslash is not doubled; what is not printable is escaped all the same.
 */
void draft_begin_again(
	struct draft *d, enum mechanism mechanism, const char *source, const char *path);

void draft_name(struct draft *d, const char *name);
void draft_token(struct draft *d, enum token_kind kind, int64_t token);

/*
 * The leader's lease; see struct singleton for the clocks. Any may be TIME_UNKNOWN: the deadline of
 * a Kubernetes Lease is until it was seen to be renewed, since the first sight proves nothing.
 */
void draft_lease(struct draft *d, int64_t granted_ms, int64_t deadline_ms, int64_t read_ms);
/* It is looked at only now and then, the last time at known_ms (our monotonic clock). */
void draft_lease_known(struct draft *d, int64_t known_ms);

/*
 * Adds a claim, and makes it the one that the following details belong to. identity is raw bytes,
 * key is our own text. Holders must come before waiters.
 */
void draft_claim(struct draft *d, enum claim_kind kind, const void *identity, size_t identity_len,
	const char *key);
void draft_position(struct draft *d, uint32_t position);

/* When its runs are due; takes a reference of its own. NULL: none. */
void draft_schedule(struct draft *d, const struct schedule *schedule);
/*
 * Adds a run, and makes it the one that the following pods and details belong to. Its texts are raw
 * bytes, ended by NUL; its pods, details and alive are not looked at.
 */
void draft_run(struct draft *d, const struct run *run);
/* The same for a pod of the last run. */
void draft_pod(struct draft *d, const struct pod *pod);
/*
 * Adds a holder for each run so far that is open (run_is_open): its identity is the run's name, its
 * key the run's. After the last run.
 */
void draft_run_holders(struct draft *d);

/* Adds a detail to the claim, run or pod that was added last, or to the singleton before any was.
 */
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
