#include "config.h"

#include "model/draft.h"
#include "model/schedule.h"
#include "base/mem.h"
#include "base/mix.h"
#include "base/str.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* Caps on what one singleton may hold, whatever a server sends. */
enum {
	DRAFT_TEXT_MAX = 64 * 1024 * 1024,
	DRAFT_DETAIL_BYTES = 4096,
	DRAFT_AGAIN_BYTES = 4 * DRAFT_DETAIL_BYTES + 4, /* the same when it was escaped */
	DRAFT_AGAIN_PATH = 1024 * 1024,
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

/* The details of one thing: they stand together. */
struct draft_details {
	size_t first, n;
};

struct draft_claim {
	enum claim_kind kind;
	uint8_t follows;
	uint32_t position;
	size_t identity, key; /* offsets into the texts */
	struct draft_details details;
};

struct draft_run {
	struct run facts; /* its texts are not looked at, but those below */
	size_t name, key;
	size_t first_pod, n_pods;
	struct draft_details details;
};

struct draft_pod {
	struct pod facts;
	size_t name, key;
	int64_t node, reason; /* NO_TEXT */
	struct draft_details details;
};

struct draft {
	struct str texts; /* the first is the id */
	int64_t name;     /* NO_TEXT */
	struct draft_detail *details;
	size_t n_details, cap_details;
	struct draft_claim *claims;
	size_t n_claims, cap_claims;
	struct draft_run *runs;
	size_t n_runs, cap_runs;
	struct draft_pod *pods;
	size_t n_pods, cap_pods;
	const struct schedule *schedule; /* our reference; NULL */
	bool again;                      /* its texts were escaped before */
	struct draft_details own;        /* of the singleton itself */
	/* Which of all these the next detail belongs to. */
	enum {
		LAST_OWN,
		LAST_CLAIM,
		LAST_RUN,
		LAST_POD
	} last;
	int64_t lease_known_ms;
	struct singleton head; /* without its claims */
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
	schedule_unref(d->schedule);
	free(d->details);
	free(d->claims);
	free(d->runs);
	free(d->pods);
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

	if (d->again)
		text_escape_again(&d->texts, s, DRAFT_AGAIN_BYTES);
	else
		str_add(&d->texts, s);
	return draft_end_text(d, start);
}

static size_t draft_raw_text(struct draft *d, const void *raw, size_t len)
{
	size_t start = d->texts.len;

	if (d->again)
		text_escape_again(&d->texts, raw, DRAFT_AGAIN_BYTES);
	else
		text_escape_cut(&d->texts, raw, len, DRAFT_DETAIL_BYTES);
	return draft_end_text(d, start);
}

static void draft_start(struct draft *d, enum mechanism mechanism)
{
	str_clear(&d->texts);
	d->n_details = d->n_claims = d->n_runs = d->n_pods = 0;
	d->own = (struct draft_details){ 0 };
	d->last = LAST_OWN;
	schedule_unref(d->schedule);
	d->schedule = NULL;
	d->head = (struct singleton){
		.refs = 1,
		.mechanism = mechanism,
		.lease_granted_ms = TIME_UNKNOWN,
		.lease_deadline_ms = TIME_UNKNOWN,
		.lease_read_ms = TIME_UNKNOWN,
	};
	d->name = NO_TEXT;
	d->lease_known_ms = TIME_UNKNOWN;
	d->again = false;
}

static void draft_id_of(struct draft *d, const char *source)
{
	str_add(&d->texts, source);
	str_add_char(&d->texts, '/');
	d->head.path_at = (uint32_t)d->texts.len;
}

void draft_begin(struct draft *d, enum mechanism mechanism, const char *source,
	const void *path_bytes, size_t path_len)
{
	draft_start(d, mechanism);
	draft_id_of(d, source);
	text_escape(&d->texts, path_bytes, path_len);
	draft_end_text(d, 0);
}

void draft_begin_again(
	struct draft *d, enum mechanism mechanism, const char *source, const char *path)
{
	draft_start(d, mechanism);
	draft_id_of(d, source);
	text_escape_again(&d->texts, path, DRAFT_AGAIN_PATH);
	draft_end_text(d, 0);
	d->again = true;
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

void draft_lease_known(struct draft *d, int64_t known_ms)
{
	d->lease_known_ms = known_ms;
}

/* ---- details that follow from other facts ---- */

/* Whether a text is a number as etcd's clients write it: in hexadecimal without zeros before it. */
static bool is_hex_of(const char *text, uint64_t number)
{
	uint64_t value = 0;
	int digits;

	if (*text == '0' && text[1])
		return false;
	for (digits = 0; text[digits]; digits++) {
		char c = text[digits];

		if (digits == 16 || !((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
			return false;
		value = value << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
	}
	return digits && value == number;
}

/* Whether a claim's key is that of a revision: "rev:1482". */
static bool is_revision_key(const char *key, int64_t revision)
{
	uint64_t value = 0;
	int digits;

	if (strncmp(key, "rev:", 4) != 0 || key[4] == '0')
		return false;
	key += 4;
	for (digits = 0; digits < 18 && key[digits] >= '0' && key[digits] <= '9'; digits++)
		value = value * 10 + (uint64_t)(key[digits] - '0');
	return digits && !key[digits] && (int64_t)value == revision;
}

static const struct draft_detail *draft_own(
	const struct draft *d, const struct draft_claim *c, enum detail_id id)
{
	const struct draft_detail *own = d->details + c->details.first;
	size_t i;

	for (i = 0; i < c->details.n; i++)
		if (own[i].id == id && !own[i].hidden)
			return &own[i];
	return NULL;
}

/* The claim's first detail is a key: how it follows, if it does. */
static uint8_t draft_key_follows(
	const struct draft *d, const struct draft_claim *c, const struct draft_detail *key)
{
	const char *path = d->texts.s + d->head.path_at, *text = d->texts.s + key->value;
	const struct draft_detail *lease = draft_own(d, c, DETAIL_LEASE);
	size_t len = strlen(path);

	if (!key->text || !len || strncmp(text, path, len) != 0)
		return 0;
	if (!text[len])
		return FOLLOWS_KEY_PATH;
	return lease && text[len] == '/' && is_hex_of(text + len + 1, (uint64_t)lease->value)
		       ? FOLLOWS_KEY_LEASE
		       : 0;
}

/* The text goes: the claim's other texts behind it move up. */
static void draft_cut_text(struct draft *d, const struct draft_claim *c, size_t at)
{
	size_t len = strlen(d->texts.s + at) + 1, i;

	memmove(d->texts.s + at, d->texts.s + at + len, d->texts.len - at - len);
	str_truncate(&d->texts, d->texts.len - len);
	for (i = 0; i < c->details.n; i++) {
		struct draft_detail *other = &d->details[c->details.first + i];

		if (other->text && other->value > (int64_t)at)
			other->value -= (int64_t)len;
	}
}

static void draft_cut_details(struct draft *d, struct draft_claim *c, size_t from, size_t n)
{
	struct draft_detail *own = d->details + c->details.first;

	memmove(own + from, own + from + n, (c->details.n - from - n) * sizeof(*own));
	c->details.n -= n;
	d->n_details -= n;
}

/*
 * Leaves out what follows. When the claim is whole: its details, and its texts, are the last ones.
 */
static void draft_end_claim(struct draft *d)
{
	struct draft_claim *c = d->last == LAST_CLAIM ? &d->claims[d->n_claims - 1] : NULL;
	const struct draft_detail *own;
	const char *key;
	uint8_t by_key;
	size_t n = 1;

	if (!c || !c->details.n || d->texts.full)
		return;
	own = &d->details[c->details.first];
	key = d->texts.s + c->key;
	if (own->id != DETAIL_KEY || own->hidden)
		return;
	by_key = draft_key_follows(d, c, own);
	if (n < c->details.n && own[n].id == DETAIL_CREATE_REVISION && !own[n].hidden &&
		is_revision_key(key, own[n].value)) {
		c->follows |= FOLLOWS_CREATED;
		n++;
		if (n < c->details.n && own[n].id == DETAIL_MOD_REVISION && !own[n].hidden &&
			own[n].value == own[n - 1].value) {
			c->follows |= FOLLOWS_WRITTEN;
			n++;
		}
	}
	c->follows |= by_key;
	if (by_key)
		draft_cut_text(d, c, (size_t)own->value);
	draft_cut_details(d, c, by_key ? 0 : 1, by_key ? n : n - 1);
}

void draft_claim(struct draft *d, enum claim_kind kind, const void *identity, size_t identity_len,
	const char *key)
{
	struct draft_claim *c;

	draft_end_claim(d);
	MEM_GROW(d->claims, d->n_claims, d->cap_claims);
	c = &d->claims[d->n_claims++];
	*c = (struct draft_claim){ .kind = kind, .details.first = d->n_details };
	c->identity = draft_raw_text(d, identity, identity_len);
	c->key = draft_own_text(d, key);
	d->last = LAST_CLAIM;
}

void draft_position(struct draft *d, uint32_t position)
{
	d->claims[d->n_claims - 1].position = position;
}

void draft_schedule(struct draft *d, const struct schedule *schedule)
{
	schedule_unref(d->schedule);
	d->schedule = schedule_ref(schedule);
}

void draft_run(struct draft *d, const struct run *run)
{
	struct draft_run *r;

	draft_end_claim(d);
	MEM_GROW(d->runs, d->n_runs, d->cap_runs);
	r = &d->runs[d->n_runs++];
	*r = (struct draft_run){
		.facts = *run, .first_pod = d->n_pods, .details.first = d->n_details
	};
	r->name = draft_raw_text(d, run->name, strlen(run->name));
	r->key = draft_raw_text(d, run->key, strlen(run->key));
	d->last = LAST_RUN;
}

static int64_t draft_optional_text(struct draft *d, const char *raw)
{
	return raw ? (int64_t)draft_raw_text(d, raw, strlen(raw)) : NO_TEXT;
}

void draft_pod(struct draft *d, const struct pod *pod)
{
	struct draft_pod *p;

	MEM_GROW(d->pods, d->n_pods, d->cap_pods);
	p = &d->pods[d->n_pods++];
	*p = (struct draft_pod){ .facts = *pod, .details.first = d->n_details };
	p->facts.alive = pod_alive(pod);
	p->name = draft_raw_text(d, pod->name, strlen(pod->name));
	p->key = draft_raw_text(d, pod->key, strlen(pod->key));
	p->node = draft_optional_text(d, pod->node);
	p->reason = draft_optional_text(d, pod->reason);
	d->runs[d->n_runs - 1].n_pods++;
	d->last = LAST_POD;
}

/* Whether a drafted run is not over. */
static bool draft_run_open(const struct draft *d, const struct draft_run *r)
{
	struct run run = r->facts;
	struct pod *pods = xcalloc(r->n_pods + 1, sizeof(*pods));
	size_t i;

	for (i = 0; i < r->n_pods; i++)
		pods[i] = d->pods[r->first_pod + i].facts;
	run.pods = pods;
	run.n_pods = (uint32_t)r->n_pods;
	run.alive = run_alive(&run);
	free(pods);
	return run_is_open(&run);
}

void draft_run_holders(struct draft *d)
{
	size_t i;

	for (i = 0; i < d->n_runs; i++) {
		struct draft_run *r = &d->runs[i];
		struct draft_claim *c;

		if (!draft_run_open(d, r))
			continue;
		MEM_GROW(d->claims, d->n_claims, d->cap_claims);
		c = &d->claims[d->n_claims++];
		*c = (struct draft_claim){ .kind = CLAIM_HOLDER,
			.identity = r->name,
			.key = r->key,
			.details.first = d->n_details };
		d->last = LAST_CLAIM;
	}
}

static struct draft_details *draft_last(struct draft *d)
{
	switch (d->last) {
	case LAST_CLAIM:
		return &d->claims[d->n_claims - 1].details;
	case LAST_RUN:
		return &d->runs[d->n_runs - 1].details;
	case LAST_POD:
		return &d->pods[d->n_pods - 1].details;
	default:
		return &d->own;
	}
}

static void draft_add(struct draft *d, struct draft_detail detail)
{
	struct draft_details *last = draft_last(d);

	if (last->n >= DRAFT_DETAILS_MAX)
		return;
	MEM_GROW(d->details, d->n_details, d->cap_details);
	d->details[d->n_details++] = detail;
	last->n++;
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

static uint64_t draft_hash_texts(const struct str *texts)
{
	uint64_t hash = texts->len, word;
	size_t i;

	for (i = 0; i + 8 <= texts->len; i += 8) {
		memcpy(&word, texts->s + i, 8);
		hash = mix_word(hash, word);
	}
	word = 0;
	if (i < texts->len)
		memcpy(&word, texts->s + i, texts->len - i);
	return mix_word(hash, word);
}

static uint64_t draft_hash_run(uint64_t hash, const struct draft_run *r)
{
	const struct run *f = &r->facts;
	const int64_t facts[] = { f->state, f->listed, f->manual, f->attempts, f->slot_us,
		f->created_us, f->start_us, f->end_us, f->deleted_us, f->deadline_s, f->parallelism,
		f->unseen, f->grace_s, (int64_t)r->n_pods, (int64_t)r->details.n };
	size_t i;

	for (i = 0; i < ARRAY_LEN(facts); i++)
		hash = mix_word(hash, (uint64_t)facts[i]);
	return hash;
}

static uint64_t draft_hash_pod(uint64_t hash, const struct draft_pod *p)
{
	const struct pod *f = &p->facts;
	const int64_t facts[] = { f->phase, f->node_ready, f->containers_running, f->restarts,
		f->node_gone, f->start_us, f->end_us, f->deleted_us, p->node, p->reason,
		(int64_t)p->details.n };
	size_t i;

	for (i = 0; i < ARRAY_LEN(facts); i++)
		hash = mix_word(hash, (uint64_t)facts[i]);
	return hash;
}

static uint64_t draft_hash(const struct draft *d)
{
	uint64_t hash = draft_hash_texts(&d->texts);
	size_t i;

	hash = mix_word(hash, (uint64_t)d->head.mechanism << 8 | d->head.token_kind);
	hash = mix_word(hash, (uint64_t)d->head.token);
	hash = mix_word(hash, (uint64_t)d->head.lease_granted_ms);
	hash = mix_word(hash, (uint64_t)(d->head.lease_deadline_ms / 1000));
	/* That nothing changed up to then is a fact as well: silence is reckoned by it. */
	if (d->lease_known_ms != TIME_UNKNOWN)
		hash = mix_word(hash, (uint64_t)d->lease_known_ms);
	/* A later reading of an unchanged deadline is a new fact when it shows the lease in another
	 * phase. */
	hash = mix_word(hash, (uint64_t)singleton_lease_phase(&d->head));
	for (i = 0; i < d->n_claims; i++) {
		hash = mix_word(hash, (uint64_t)d->claims[i].kind << 40 |
					      (uint64_t)d->claims[i].follows << 32 |
					      d->claims[i].details.n);
		hash = mix_word(hash, d->claims[i].position);
	}
	for (i = 0; i < d->n_runs; i++)
		hash = draft_hash_run(hash, &d->runs[i]);
	for (i = 0; i < d->n_pods; i++)
		hash = draft_hash_pod(hash, &d->pods[i]);
	if (d->schedule && d->schedule->error)
		hash = mix_word(hash, 1);
	for (i = 0; i < d->n_details; i++) {
		hash = mix_word(hash, (uint64_t)d->details[i].id << 1 | d->details[i].hidden);
		hash = mix_word(hash, (uint64_t)draft_hashed_value(&d->details[i]));
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

/* How far behind a claim, in one block, something stands. */
static uint32_t draft_behind(const struct claim *claim, const void *what)
{
	return (uint32_t)((const char *)what - (const char *)claim);
}

static void draft_fill_claims(
	const struct draft *d, struct claim *to, const struct detail *details, const char *texts)
{
	size_t i;

	for (i = 0; i < d->n_claims; i++) {
		const struct draft_claim *from = &d->claims[i];

		to[i] = (struct claim){
			.kind = from->kind,
			.follows = from->follows,
			.n_details = (uint16_t)from->details.n,
			.position = from->position,
			.identity_at = draft_behind(&to[i], texts + from->identity),
			.key_at = draft_behind(&to[i], texts + from->key),
			.details_at = draft_behind(&to[i], details + from->details.first),
		};
	}
}

static void draft_fill_pods(
	const struct draft *d, struct pod *to, const struct detail *details, const char *texts)
{
	size_t i;

	for (i = 0; i < d->n_pods; i++) {
		const struct draft_pod *from = &d->pods[i];

		to[i] = from->facts;
		to[i].name = texts + from->name;
		to[i].key = texts + from->key;
		to[i].node = from->node == NO_TEXT ? NULL : texts + from->node;
		to[i].reason = from->reason == NO_TEXT ? NULL : texts + from->reason;
		to[i].n_details = (uint16_t)from->details.n;
		to[i].details = details + from->details.first;
	}
}

static void draft_fill_runs(const struct draft *d, struct run *to, const struct pod *pods,
	const struct detail *details, const char *texts)
{
	size_t i;

	for (i = 0; i < d->n_runs; i++) {
		const struct draft_run *from = &d->runs[i];

		to[i] = from->facts;
		to[i].name = texts + from->name;
		to[i].key = texts + from->key;
		to[i].pods = pods + from->first_pod;
		to[i].n_pods = (uint32_t)from->n_pods;
		to[i].n_details = (uint16_t)from->details.n;
		to[i].details = details + from->details.first;
		to[i].alive = run_alive(&to[i]);
	}
}

/* Where what holds pointers and 64-bit numbers may stand at the earliest. */
static size_t draft_aligned(size_t at)
{
	return (at + 7) & ~(size_t)7;
}

/* Where the parts of a finished singleton stand in its block. */
struct draft_places {
	size_t details, more, runs, pods, texts, end;
};

static struct draft_places draft_places(const struct draft *d)
{
	bool more =
		d->name != NO_TEXT || d->n_runs || d->schedule || d->lease_known_ms != TIME_UNKNOWN;
	struct draft_places at;
	size_t end;

	at.details = sizeof(struct singleton) + d->n_claims * sizeof(struct claim);
	end = at.details + d->n_details * sizeof(struct detail);
	at.more = more ? draft_aligned(end) : 0;
	at.runs = more ? at.more + sizeof(struct singleton_more) : end;
	at.pods = at.runs + d->n_runs * sizeof(struct run);
	at.texts = at.pods + d->n_pods * sizeof(struct pod);
	at.end = at.texts + d->texts.len;
	return at;
}

static const struct singleton_more no_more = { .lease_known_ms = TIME_UNKNOWN };

static void draft_fill_more(
	const struct draft *d, struct singleton_more *to, const struct run *runs, const char *texts)
{
	*to = (struct singleton_more){
		.name = d->name == NO_TEXT ? NULL : texts + d->name,
		.lease_known_ms = d->lease_known_ms,
		.runs = runs,
		.n_runs = (uint32_t)d->n_runs,
		.schedule = schedule_ref(d->schedule),
	};
}

/* One block: the singleton, its claims and details, what it has more, and behind all the texts, of
 * which the first is its id. */
static struct singleton *draft_make(const struct draft *d)
{
	struct draft_places at = draft_places(d);
	char *block = xmalloc(at.end), *texts = block + at.texts;
	struct singleton *s = (struct singleton *)(void *)block;
	struct detail *details = (struct detail *)(void *)(block + at.details);
	struct singleton_more *more = (struct singleton_more *)(void *)(block + at.more);
	struct run *runs = (struct run *)(void *)(block + at.runs);
	struct pod *pods = (struct pod *)(void *)(block + at.pods);

	*s = d->head;
	memcpy(texts, d->texts.s, d->texts.len); /* each ends in NUL */
	draft_fill_details(d, details, texts);
	draft_fill_claims(d, s->claims, details, texts);
	draft_fill_pods(d, pods, details, texts);
	draft_fill_runs(d, runs, pods, details, texts);
	if (at.more)
		draft_fill_more(d, more, runs, texts);
	s->n_details = (uint16_t)d->own.n;
	s->n_claims = (uint32_t)d->n_claims;
	s->hash = draft_hash(d);
	s->id = texts;
	s->more = at.more ? more : &no_more;
	return s;
}

struct singleton *draft_finish(struct draft *d)
{
	draft_end_claim(d);
	d->last = LAST_OWN;
	return draft_make(d);
}
