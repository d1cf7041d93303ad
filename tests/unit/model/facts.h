#ifndef TESTS_UNIT_MODEL_FACTS_H
#define TESTS_UNIT_MODEL_FACTS_H

#include <stdio.h>
#include <string.h>

#include "model/draft.h"

/* Short ways to make facts for tests. Each returns one reference, the caller's. */

struct facts_claim {
	const char *identity;
	const char *key;
	const char *client; /* NULL: none */
};

static inline void facts_add(struct draft *d, enum claim_kind kind, const struct facts_claim *c)
{
	draft_claim(d, kind, c->identity, strlen(c->identity), c->key);
	if (c->client)
		draft_text(d, DETAIL_CLIENT, c->client);
}

/* A singleton "s/PATH" with a holder (NULL: nobody), at most one waiter, and a token (0: none). */
static inline struct singleton *facts_make(struct draft *d, enum mechanism mechanism,
	const char *path, int64_t token, const struct facts_claim *holder,
	const struct facts_claim *waiter)
{
	draft_begin(d, mechanism, "s", path, strlen(path));
	if (token)
		draft_token(d, TOKEN_CREATE_REVISION, token);
	if (holder)
		facts_add(d, CLAIM_HOLDER, holder);
	if (waiter)
		facts_add(d, CLAIM_WAITER, waiter);
	return draft_finish(d);
}

#endif
