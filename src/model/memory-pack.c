#include "config.h"

#include "model/memory-pack.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum flag {
	FLAG_HELD = 1,
	FLAG_HIGHEST = 2,
	FLAG_HOLDER = 4,
	FLAG_PAST = 8,
	FLAG_PREVIOUS = 16,
	FLAG_SEEN = 32,
	FLAG_RECORD = 64,
	FLAG_REISSUED = 128,
	FLAG_REVISION = 256, /* the holder's key is revision_key of the token, and not told */
	FLAGS_IN_FILES = 511,
	FLAG_RUN = 512, /* what is only true within a run follows */
	FLAG_PRESENT = 1024,
	FLAG_QUEUE = 2048,
};

enum {
	REVISION_KEY_SIZE = 32,
};

/* What binds a claim of etcd: "rev:1482". */
static struct slice revision_key(int64_t token, char buf[REVISION_KEY_SIZE])
{
	return (struct slice){ buf,
		(size_t)snprintf(buf, REVISION_KEY_SIZE, "rev:%" PRId64, token) };
}

static bool key_is_revision(const struct remembered *r)
{
	char buf[REVISION_KEY_SIZE];
	struct slice key;

	if (!r->holder || !r->has_highest || r->holder[0] != 'r')
		return false;
	key = revision_key(r->highest_token, buf);
	return strcmp(r->holder, key.s) == 0;
}

/* ---- packing ---- */

unsigned char *pack_signed(unsigned char *at, int64_t value)
{
	return varint_put(at, varint_zigzag(value));
}

unsigned char *pack_text(unsigned char *at, struct slice text)
{
	at = varint_put(at, text.len);
	memcpy(at, text.s, text.len);
	return at + text.len;
}

/* 0: unknown; else one up. */
static unsigned char *pack_time(unsigned char *at, int64_t time, int64_t base)
{
	uint64_t delta = varint_zigzag((int64_t)((uint64_t)time - (uint64_t)base));

	if (time == TIME_UNKNOWN)
		return varint_put(at, 0);
	/* The one value that has no room moves. */
	return varint_put(at, delta == UINT64_MAX ? delta : delta + 1);
}

static int64_t known_or(int64_t time, int64_t other)
{
	return time == TIME_UNKNOWN ? other : time;
}

static unsigned char *pack_past(
	unsigned char *at, const struct remembered_past *p, const struct memory_base *base)
{
	uint32_t i, kept = p->n_changes < MEMORY_CHANGES ? p->n_changes : MEMORY_CHANGES;
	const int64_t times[] = { p->first_session_us, p->session_since_us, p->previous_since_us,
		p->previous_until_us, p->overlap_us, p->renamed_us, p->regress_us };

	at = varint_put(at, p->n_changes);
	for (i = p->n_changes - kept; i != p->n_changes; i++)
		at = pack_time(at, p->changes_us[i % MEMORY_CHANGES], base->us);
	at = varint_put(at, p->sessions);
	for (i = 0; i < ARRAY_LEN(times); i++)
		at = pack_time(at, times[i], base->us);
	at = pack_signed(at, p->token_before);
	at = pack_signed(at, p->token_after);
	if (p->previous_key) {
		at = pack_text(at, slice_of(p->previous_key));
		at = pack_text(at, slice_of(p->previous_identity));
		at = pack_text(at, slice_of(p->previous_client));
	}
	if (p->previous_seen_us != TIME_UNKNOWN)
		at = pack_time(at, p->previous_seen_us, base->us);
	return at;
}

static unsigned char *pack_run(
	unsigned char *at, const struct remembered *r, const struct memory_base *base)
{
	if (r->queue)
		at = varint_put(at, r->queue);
	at = pack_time(at, r->last_change_ms, base->ms);
	at = pack_time(at, r->lease_deadline_ms, base->ms);
	return r->past ? pack_time(at, r->past->previous_left_ms, 0) : at;
}

static uint64_t flags_of(const struct remembered *r, bool run)
{
	const struct remembered_past *p = r->past;
	uint64_t flags = (r->held ? FLAG_HELD : 0) | (r->has_highest ? FLAG_HIGHEST : 0) |
			 (r->holder ? FLAG_HOLDER : 0) | (r->has_record ? FLAG_RECORD : 0) |
			 (key_is_revision(r) ? FLAG_REVISION : 0);

	if (p)
		flags |= FLAG_PAST | (p->previous_key ? FLAG_PREVIOUS : 0) |
			 (p->previous_seen_us != TIME_UNKNOWN ? FLAG_SEEN : 0) |
			 (p->reissued ? FLAG_REISSUED : 0);
	if (run)
		flags |= FLAG_RUN | (r->present ? FLAG_PRESENT : 0) | (r->queue ? FLAG_QUEUE : 0);
	return flags;
}

static struct slice holder_text(const struct remembered *r, size_t from, size_t to)
{
	return (struct slice){ r->holder + from, to - from - 1 };
}

size_t pack_entry_most(const struct remembered *r)
{
	const struct remembered_past *p = r->past;
	size_t most = r->id_len + 20 * VARINT_MOST;

	if (r->holder)
		most += (size_t)r->client_at + strlen(r->holder + r->client_at) + 3 * VARINT_MOST;
	if (p)
		most += (MEMORY_CHANGES + 16) * VARINT_MOST;
	if (p && p->previous_key)
		most += strlen(p->previous_key) + strlen(p->previous_identity) +
			strlen(p->previous_client) + 3 * VARINT_MOST;
	return most;
}

unsigned char *pack_entry(
	unsigned char *at, const struct remembered *r, const struct memory_base *base, bool run)
{
	int state = r->state < STATE_COUNT ? r->state : STATE_UNKNOWN;
	uint64_t flags = flags_of(r, run);
	int64_t since_us;

	at = pack_text(at, (struct slice){ r->id, r->id_len });
	at = varint_put(at, flags);
	at = varint_put(at, r->mechanism);
	if (r->holder) {
		if (!(flags & FLAG_REVISION))
			at = pack_text(at, holder_text(r, 0, r->identity_at));
		at = pack_text(at, holder_text(r, r->identity_at, r->client_at));
		at = pack_text(at, slice_of(r->holder + r->client_at));
	}
	at = varint_put(at, (unsigned char)state_word(state)->letter);
	at = pack_time(at, r->known_since_us, base->us);
	at = pack_time(at, r->last_seen_us, base->us);
	/* Most are the same moment. */
	since_us = known_or(r->known_since_us, base->us);
	at = pack_time(at, r->holder_since_us, since_us);
	since_us = known_or(r->holder_since_us, since_us);
	at = pack_time(at, r->state_since_us, since_us);
	at = pack_time(at, r->last_change_us, since_us);
	if (r->has_highest)
		at = pack_signed(at, r->highest_token);
	if (r->has_record)
		at = varint_put(at, r->record);
	if (r->past)
		at = pack_past(at, r->past, base);
	return run ? pack_run(at, r, base) : at;
}

/* ---- unpacking ---- */

uint64_t unpack_long_varint(struct pack_reader *in)
{
	uint64_t value = 0;
	ptrdiff_t n = varint_get(in->at, (size_t)(in->end - in->at), &value);

	if (n <= 0)
		in->bad = true;
	else
		in->at += n;
	return value;
}

int64_t unpack_signed(struct pack_reader *in)
{
	return varint_unzigzag(unpack_varint(in));
}

static int64_t unpack_moment(struct pack_reader *in, int64_t base)
{
	uint64_t value = unpack_varint(in);

	return value ? (int64_t)((uint64_t)base + (uint64_t)varint_unzigzag(value - 1))
		     : TIME_UNKNOWN;
}

/* A time that no clock of ours tells is none: whoever reckons with it later need not fear an
 * overflow. */
static int64_t unpack_time_by(struct pack_reader *in, int64_t base_us)
{
	int64_t time_us = unpack_moment(in, base_us);

	if (!in->foreign || (time_us >= 0 && time_us < INT64_C(1) << 59))
		return time_us;
	return TIME_UNKNOWN;
}

static int64_t unpack_time(struct pack_reader *in)
{
	return unpack_time_by(in, in->base.us);
}

/* Against which time the next ones are told. */
static int64_t since_of(const struct pack_reader *in, int64_t time_us, int64_t before_us)
{
	return in->flat ? in->base.us : known_or(time_us, before_us);
}

/* Texts hold no NUL: they are sanitised before they come here. */
struct slice unpack_text(struct pack_reader *in, size_t most)
{
	uint64_t len = unpack_varint(in);
	struct slice text = { (const char *)in->at, (size_t)len };

	if (len > (uint64_t)(in->end - in->at) || len > most ||
		(in->foreign && memchr(in->at, '\0', len))) {
		in->bad = true;
		return (struct slice){ "", 0 };
	}
	in->at += len;
	return text;
}

static int state_of_letter(uint64_t letter)
{
	int i;

	for (i = 0; i < STATE_COUNT; i++)
		if ((uint64_t)(unsigned char)state_word(i)->letter == letter)
			return i;
	return STATE_UNKNOWN;
}

/* Texts of a claim are at most what the memory keeps of them. */
static void unpack_claim(struct pack_reader *in, struct slice text[3])
{
	int i;

	for (i = 0; i < 3; i++)
		text[i] = unpack_text(in, REMEMBERED_TEXT_MOST);
}

/* A key that is not told follows from what comes later: until then it is as long as it can be. */
static void unpack_holder(struct pack_reader *in, struct slice text[3], uint64_t flags)
{
	static const char longest[REVISION_KEY_SIZE] = "";

	if (!(flags & FLAG_REVISION)) {
		unpack_claim(in, text);
		return;
	}
	text[0] = (struct slice){ longest, sizeof(longest) };
	text[1] = unpack_text(in, REMEMBERED_TEXT_MOST);
	text[2] = unpack_text(in, REMEMBERED_TEXT_MOST);
}

static void set_holder(struct remembered *r, struct slice text[3], uint64_t flags)
{
	char buf[REVISION_KEY_SIZE];

	if (flags & FLAG_REVISION)
		text[0] = revision_key(r->highest_token, buf);
	remembered_set_holder(r, text[0], text[1], text[2]);
}

static uint32_t unpack_count(struct pack_reader *in)
{
	uint64_t n = unpack_varint(in);

	if (n > UINT32_MAX)
		in->bad = true;
	return (uint32_t)n;
}

static void unpack_past(struct pack_reader *in, struct remembered_past *p, uint64_t flags)
{
	struct slice text[3];
	uint32_t i, kept;

	p->n_changes = unpack_count(in);
	kept = p->n_changes < MEMORY_CHANGES ? p->n_changes : MEMORY_CHANGES;
	for (i = p->n_changes - kept; i != p->n_changes; i++)
		p->changes_us[i % MEMORY_CHANGES] = unpack_time(in);
	p->sessions = unpack_count(in);
	p->first_session_us = unpack_time(in);
	p->session_since_us = unpack_time(in);
	p->previous_since_us = unpack_time(in);
	p->previous_until_us = unpack_time(in);
	p->overlap_us = unpack_time(in);
	p->renamed_us = unpack_time(in);
	p->regress_us = unpack_time(in);
	p->token_before = unpack_signed(in);
	p->token_after = unpack_signed(in);
	if (flags & FLAG_PREVIOUS) {
		unpack_claim(in, text);
		remembered_set_previous(p, text[0], text[1], text[2]);
	}
	if (flags & FLAG_SEEN)
		p->previous_seen_us = unpack_time(in);
	p->reissued = flags & FLAG_REISSUED;
}

/* The mechanism by its word; -1: one that is not known any more. */
static int unpack_mechanism(struct pack_reader *in)
{
	uint64_t number = unpack_varint(in);

	if (!in->mechanisms && number < MECH_COUNT)
		return (int)number;
	if (in->mechanisms && number < in->n_mechanisms)
		return in->mechanisms[number];
	in->bad = true;
	return -1;
}

/* What every entry has, behind the texts. */
static void unpack_present(struct pack_reader *in, struct remembered *r, uint64_t flags)
{
	int64_t since_us;

	r->state = (uint8_t)state_of_letter(unpack_varint(in));
	r->known_since_us = unpack_time(in);
	r->last_seen_us = unpack_time(in);
	since_us = since_of(in, r->known_since_us, in->base.us);
	r->holder_since_us = unpack_time_by(in, since_us);
	since_us = since_of(in, r->holder_since_us, since_us);
	r->state_since_us = unpack_time_by(in, since_us);
	r->last_change_us = unpack_time_by(in, since_us);
	r->held = flags & FLAG_HELD;
	r->has_highest = flags & FLAG_HIGHEST;
	if (r->has_highest)
		r->highest_token = unpack_signed(in);
	r->has_record = flags & FLAG_RECORD;
	if (r->has_record)
		r->record = unpack_varint(in);
}

static void unpack_run(struct pack_reader *in, struct remembered *r, uint64_t flags)
{
	r->present = flags & FLAG_PRESENT;
	r->queue = flags & FLAG_QUEUE ? unpack_varint(in) : 0;
	r->last_change_ms = unpack_moment(in, in->base.ms);
	r->lease_deadline_ms = unpack_moment(in, in->base.ms);
	if (r->past)
		r->past->previous_left_ms = unpack_moment(in, 0);
}

struct remembered *unpack_entry(struct pack_reader *in)
{
	struct slice id = unpack_text(in, in->foreign ? PACK_ID_MOST : SIZE_MAX);
	struct slice text[3] = { { NULL, 0 } };
	uint64_t flags = unpack_varint(in);
	int mechanism = unpack_mechanism(in);
	struct remembered *r;

	if (!id.len || (in->foreign && flags & ~(uint64_t)FLAGS_IN_FILES))
		in->bad = true;
	if (flags & FLAG_REVISION && (~flags & (FLAG_HOLDER | FLAG_HIGHEST)))
		in->bad = true;
	if (flags & FLAG_HOLDER)
		unpack_holder(in, text, flags);
	if (in->bad)
		return NULL;
	r = remembered_new(
		id, flags & FLAG_HOLDER ? remembered_room(text[0], text[1], text[2]) : 0);
	r->mechanism = (uint8_t)mechanism;
	unpack_present(in, r, flags);
	if (flags & FLAG_HOLDER)
		set_holder(r, text, flags);
	if (flags & FLAG_PAST)
		unpack_past(in, remembered_make_past(r), flags);
	if (flags & FLAG_RUN)
		unpack_run(in, r, flags);
	if (!in->bad && mechanism >= 0)
		return r;
	remembered_free(r);
	return NULL;
}

struct packed_look packed_look(const unsigned char *at)
{
	struct pack_reader in = { .at = at, .end = at + VARINT_MOST };
	struct packed_look look;
	uint64_t flags;

	look.id.len = (size_t)unpack_varint(&in);
	look.id.s = (const char *)in.at;
	in.at += look.id.len;
	in.end = in.at + VARINT_MOST;
	flags = unpack_varint(&in);
	look.held = flags & FLAG_HELD;
	look.present = flags & FLAG_PRESENT;
	return look;
}

/* ---- passing over ---- */

static int64_t walk_time(struct pack_reader *in, struct packed_parts *parts, int64_t base_us)
{
	bool told = in->at < in->end && *in->at;
	int64_t time_us = unpack_time_by(in, base_us);

	if (told && time_us == TIME_UNKNOWN)
		parts->strange = true;
	if (time_us > parts->youngest_us)
		parts->youngest_us = time_us;
	return time_us;
}

static void walk_texts(struct pack_reader *in, int n)
{
	while (n-- > 0)
		unpack_text(in, REMEMBERED_TEXT_MOST);
}

static void walk_past(struct pack_reader *in, struct packed_parts *parts, uint64_t flags)
{
	uint32_t n = unpack_count(in), i;

	for (i = 0; i < n && i < MEMORY_CHANGES; i++)
		walk_time(in, parts, in->base.us);
	unpack_count(in);
	/* As many as pack_past has in its table. */
	for (i = 0; i < 7; i++)
		walk_time(in, parts, in->base.us);
	unpack_signed(in);
	unpack_signed(in);
	if (flags & FLAG_PREVIOUS)
		walk_texts(in, 3);
	if (flags & FLAG_SEEN)
		walk_time(in, parts, in->base.us);
}

static void walk_run(struct pack_reader *in, uint64_t flags)
{
	int n = 2 + (flags & FLAG_QUEUE ? 1 : 0) + (flags & FLAG_PAST ? 1 : 0);

	while (n-- > 0)
		unpack_varint(in);
}

/* From the state to the record, if there is one. */
static void walk_present(struct pack_reader *in, struct packed_parts *parts, uint64_t flags)
{
	int64_t since_us;

	unpack_varint(in);
	since_us = walk_time(in, parts, in->base.us);
	since_us = since_of(in, since_us, in->base.us);
	parts->last_seen = in->at;
	parts->last_seen_us = walk_time(in, parts, in->base.us);
	parts->last_seen_end = in->at;
	since_us = since_of(in, walk_time(in, parts, since_us), since_us);
	walk_time(in, parts, since_us);
	walk_time(in, parts, since_us);
	if (flags & FLAG_HIGHEST)
		unpack_signed(in);
	if (flags & FLAG_RECORD)
		unpack_varint(in);
}

bool unpack_walk(struct pack_reader *in, struct packed_parts *ret)
{
	uint64_t flags;

	ret->youngest_us = TIME_UNKNOWN;
	ret->strange = false;
	ret->look.id = unpack_text(in, in->foreign ? PACK_ID_MOST : SIZE_MAX);
	ret->flags = in->at;
	flags = unpack_varint(in);
	ret->body = in->at;
	ret->look.held = flags & FLAG_HELD;
	ret->look.present = flags & FLAG_PRESENT;
	ret->mechanism = unpack_mechanism(in);
	if (!ret->look.id.len || (in->foreign && flags & ~(uint64_t)FLAGS_IN_FILES))
		in->bad = true;
	if (flags & FLAG_REVISION && (~flags & (FLAG_HOLDER | FLAG_HIGHEST)))
		in->bad = true;
	if (flags & FLAG_HOLDER)
		walk_texts(in, flags & FLAG_REVISION ? 2 : 3);
	walk_present(in, ret, flags);
	if (flags & FLAG_PAST)
		walk_past(in, ret, flags);
	ret->run = in->at;
	if (flags & FLAG_RUN)
		walk_run(in, flags);
	return !in->bad;
}

static unsigned char *copy_bytes(
	unsigned char *at, const unsigned char *from, const unsigned char *end)
{
	memcpy(at, from, (size_t)(end - from));
	return at + (end - from);
}

unsigned char *pack_for_file(unsigned char *at, const struct packed_parts *parts,
	const struct memory_base *base, int64_t seen_us)
{
	struct pack_reader in = { .at = parts->flags, .end = parts->body };

	at = pack_text(at, parts->look.id);
	at = varint_put(at, unpack_varint(&in) & FLAGS_IN_FILES);
	at = copy_bytes(at, parts->body, parts->last_seen);
	at = pack_time(at, seen_us, base->us);
	return copy_bytes(at, parts->last_seen_end, parts->run);
}
