#include "config.h"

#include "model/draft.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* Caps on what one singleton may hold, whatever a server sends. */
enum {
	DRAFT_TEXT_MAX = 64 * 1024 * 1024,
	DRAFT_DETAIL_BYTES = 4096,
	DRAFT_DETAILS_MAX = 60000
};

enum {
	NO_TEXT = -1
};

struct draft_detail {
	enum detail_id id;
	bool hidden;
	bool text;
	int64_t value; /* or the offset of the text */
};

struct draft_claim {
	enum claim_kind kind;
	uint32_t position;
	size_t identity, key; /* offsets into the texts */
	size_t first, n;      /* details */
};

struct draft {
	struct singleton head;
	size_t id, path;
	int64_t name;
	struct str texts;
	struct draft_detail *details;
	size_t n_details, cap_details, n_own; /* n_own: those of the singleton itself */
	struct draft_claim *claims;
	size_t n_claims, cap_claims;
};

struct draft *draft_new(void)
{
	struct draft *d = xcalloc(1, sizeof(*d));

	str_init(&d->texts, DRAFT_TEXT_MAX);
	return d;
}

void draft_free(struct draft *d)
{
	if (!d)
		return;
	str_release(&d->texts);
	free(d->details);
	free(d->claims);
	free(d);
}

/* Ends the text that was begun at `start` and returns that offset; a text that no longer fits is
 * the empty one. */
static size_t draft_end_text(struct draft *d, size_t start)
{
	str_add_char(&d->texts, '\0');
	if (!d->texts.full)
		return start;
	/* The terminator of the text before it serves as the empty text. */
	d->texts.full = false;
	str_truncate(&d->texts, start);
	if (start)
		return start - 1;
	str_add_char(&d->texts, '\0');
	return 0;
}

static size_t draft_own_text(struct draft *d, const char *s)
{
	size_t start = d->texts.len;

	str_add(&d->texts, s);
	return draft_end_text(d, start);
}

static size_t draft_raw_text(struct draft *d, const void *raw, size_t len)
{
	size_t start = d->texts.len;

	text_escape_cut(&d->texts, raw, len, DRAFT_DETAIL_BYTES);
	return draft_end_text(d, start);
}

void draft_begin(struct draft *d, enum mechanism mechanism, const char *source,
	const void *path_bytes, size_t path_len)
{
	str_clear(&d->texts);
	d->n_details = d->n_claims = d->n_own = 0;
	d->name = NO_TEXT;
	d->head = (struct singleton){
		.refs = 1,
		.mechanism = mechanism,
		.lease_granted_ms = TIME_UNKNOWN,
		.lease_deadline_ms = TIME_UNKNOWN,
		.lease_read_ms = TIME_UNKNOWN,
	};
	d->id = d->texts.len;
	str_add(&d->texts, source);
	str_add_char(&d->texts, '/');
	d->path = d->texts.len;
	text_escape(&d->texts, path_bytes, path_len);
	draft_end_text(d, d->id);
}

void draft_name(struct draft *d, const char *name)
{
	d->name = name ? (int64_t)draft_own_text(d, name) : NO_TEXT;
}

void draft_token(struct draft *d, enum token_kind kind, int64_t token)
{
	d->head.token_kind = kind;
	d->head.has_token = kind != TOKEN_NONE;
	d->head.token = token;
}

void draft_lease(struct draft *d, int64_t granted_ms, int64_t deadline_ms, int64_t read_ms)
{
	d->head.lease_granted_ms = granted_ms;
	d->head.lease_deadline_ms = deadline_ms;
	d->head.lease_read_ms = read_ms;
}

void draft_claim(struct draft *d, enum claim_kind kind, const void *identity, size_t identity_len,
	const char *key)
{
	struct draft_claim *c;

	MEM_GROW(d->claims, d->n_claims, d->cap_claims);
	c = &d->claims[d->n_claims++];
	*c = (struct draft_claim){ .kind = kind, .first = d->n_details };
	c->identity = draft_raw_text(d, identity, identity_len);
	c->key = draft_own_text(d, key);
}

void draft_position(struct draft *d, uint32_t position)
{
	d->claims[d->n_claims - 1].position = position;
}

static void draft_add(struct draft *d, struct draft_detail detail)
{
	struct draft_claim *c = d->n_claims ? &d->claims[d->n_claims - 1] : NULL;

	if ((c ? c->n : d->n_own) >= DRAFT_DETAILS_MAX)
		return;
	MEM_GROW(d->details, d->n_details, d->cap_details);
	d->details[d->n_details++] = detail;
	if (c)
		c->n++;
	else
		d->n_own++;
}

void draft_int(struct draft *d, enum detail_id id, int64_t value)
{
	draft_add(d, (struct draft_detail){ .id = id, .value = value });
}

void draft_text_mem(struct draft *d, enum detail_id id, const void *raw, size_t len)
{
	size_t at = draft_raw_text(d, raw, len);

	draft_add(d, (struct draft_detail){ .id = id, .text = true, .value = (int64_t)at });
}

void draft_text(struct draft *d, enum detail_id id, const char *raw)
{
	draft_text_mem(d, id, raw, strlen(raw));
}

void draft_hidden(struct draft *d, enum detail_id id)
{
	draft_add(d, (struct draft_detail){ .id = id, .hidden = true });
}

/*
 * What only tells when we looked must not make equal facts look different. A lease's deadline
 * counts by the second, since each reading of a TTL in whole seconds moves it by a few
 * milliseconds.
 */
static int64_t draft_hashed_value(const struct draft_detail *detail)
{
	switch (detail->id) {
	case DETAIL_TTL_READ:
	case DETAIL_SERVER_TIME:
	case DETAIL_READ_AT:
	case DETAIL_ROUND_TRIP:
		return 0;
	case DETAIL_TTL_DEADLINE:
	case DETAIL_RENEWED:
		return detail->value / 1000;
	default:
		return detail->text ? 0 : detail->value;
	}
}

/*
 * One step of a hash that only has to tell equal facts from different ones: whoever chooses the
 * facts gains nothing by a collision. (The multiply and fold of Wang Yi's wyhash, which is in the
 * public domain.)
 */
static uint64_t draft_mix(uint64_t hash, uint64_t value)
{
	__extension__ typedef unsigned __int128 wide;
	wide product = (wide)(hash ^ 0x2d358dccaa6c78a5ULL) * (value ^ 0x8bb84b93962eacc9ULL);

	return (uint64_t)product ^ (uint64_t)(product >> 64) ^ hash;
}

static uint64_t draft_hash_texts(const struct str *texts)
{
	uint64_t hash = texts->len, word;
	size_t i;

	for (i = 0; i + 8 <= texts->len; i += 8) {
		memcpy(&word, texts->s + i, 8);
		hash = draft_mix(hash, word);
	}
	word = 0;
	if (i < texts->len)
		memcpy(&word, texts->s + i, texts->len - i);
	return draft_mix(hash, word);
}

static uint64_t draft_hash(const struct draft *d)
{
	uint64_t hash = draft_hash_texts(&d->texts);
	size_t i;

	hash = draft_mix(hash, (uint64_t)d->head.mechanism << 8 | d->head.token_kind);
	hash = draft_mix(hash, (uint64_t)d->head.token);
	hash = draft_mix(hash, (uint64_t)d->head.lease_granted_ms);
	hash = draft_mix(hash, (uint64_t)(d->head.lease_deadline_ms / 1000));
	/* A later reading of an unchanged deadline is a new fact when it shows the lease in another
	 * phase. */
	hash = draft_mix(hash, (uint64_t)singleton_lease_phase(&d->head));
	for (i = 0; i < d->n_claims; i++) {
		hash = draft_mix(hash, (uint64_t)d->claims[i].kind << 32 | d->claims[i].n);
		hash = draft_mix(hash, d->claims[i].position);
	}
	for (i = 0; i < d->n_details; i++) {
		hash = draft_mix(hash, (uint64_t)d->details[i].id << 1 | d->details[i].hidden);
		hash = draft_mix(hash, (uint64_t)draft_hashed_value(&d->details[i]));
	}
	return hash;
}

static void draft_fill_details(const struct draft *d, struct detail *to, const char *texts)
{
	size_t i;

	for (i = 0; i < d->n_details; i++) {
		const struct draft_detail *from = &d->details[i];

		to[i] = (struct detail){ .id = from->id, .hidden = from->hidden };
		if (from->text)
			to[i].s = texts + from->value;
		else
			to[i].i = from->value;
	}
}

struct singleton *draft_finish(struct draft *d)
{
	size_t details_at = sizeof(struct singleton);
	size_t claims_at = details_at + d->n_details * sizeof(struct detail);
	size_t texts_at = claims_at + d->n_claims * sizeof(struct claim);
	char *block = xmalloc(texts_at + d->texts.len + 1);
	struct singleton *s = (struct singleton *)(void *)block;
	struct detail *details = (struct detail *)(void *)(block + details_at);
	struct claim *claims = (struct claim *)(void *)(block + claims_at);
	char *texts = block + texts_at;
	size_t i;

	memcpy(texts, d->texts.s, d->texts.len + 1);
	draft_fill_details(d, details, texts);
	for (i = 0; i < d->n_claims; i++)
		claims[i] = (struct claim){
			.kind = d->claims[i].kind,
			.n_details = (uint16_t)d->claims[i].n,
			.position = d->claims[i].position,
			.identity = texts + d->claims[i].identity,
			.key = texts + d->claims[i].key,
			.details = details + d->claims[i].first,
		};
	*s = d->head;
	s->n_details = (uint16_t)d->n_own;
	s->n_claims = (uint32_t)d->n_claims;
	s->hash = draft_hash(d);
	s->id = texts + d->id;
	s->path = texts + d->path;
	s->name = d->name == NO_TEXT ? NULL : texts + d->name;
	s->claims = claims;
	s->details = details;
	return s;
}
