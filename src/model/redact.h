#ifndef MODEL_REDACT_H
#define MODEL_REDACT_H

#include "base/str.h"
#include "model/words.h"

/*
 * Replaces names consistently: the same name is always the same "name-7" within one record, so that
 * what was joined stays joined. What is only a number stays. Sentences, in which anything may
 * stand, are not looked into: they are left out or replaced by a fixed one.
 */
struct redact;

/*
 * So many names are kept, and bytes of them. One that first comes when there is no room is replaced
 * by its SipHash with a key drawn for this record, "name-x0123456789abcdef": the same by the same
 * as well, without being kept.
 */
enum {
	REDACT_NAMES_MOST = 100000,
	REDACT_BYTES_MOST = 16 * 1024 * 1024,
};

struct redact *redact_new(void);
void redact_free(struct redact *r);

/* The stand-in for a whole name; a number, and the empty text, stand for themselves. Borrowed,
 * until the next call. */
const char *redact_name(struct redact *r, const char *name);
/*
 * The same for what is put together of names: an id, a key. Each part between slashes, colons,
 * commas, brackets and @ is a name; a word that the format gives (lease, cronjob, uid, rev,
 * prepared, local) stays. Borrowed, until the next call.
 */
const char *redact_path(struct redact *r, const char *path);
/* Whether a beginning of paths ends within a part: its stand-in does not begin theirs then. */
bool redact_cuts_name(const char *start);
/* An id: the source's name, and a path behind the first slash. Borrowed, until the next call. */
const char *redact_id(struct redact *r, const char *id);
/* A detail's text: names are replaced, words of the system (a state, a policy) stay. */
const char *redact_detail(struct redact *r, enum detail_id id, const char *text);
/* A reason, as systems write it: one word of letters stays ("NodeLost"); in anything else a name
 * may stand. */
const char *redact_word(struct redact *r, const char *word);
/* A version text: the product's name and number stay, as far as they are just that. */
const char *redact_version(struct redact *r, const char *text);
/* An environment's word, where it is a usual one; else a name. */
const char *redact_environment(struct redact *r, const char *word);

#endif
