#include "config.h"

#include "model/memory.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

#include <string.h>

/*
 * The file of one memory:
 *
 *	8 bytes   "batonmem"
 *	4 bytes   version, little endian
 *	4 bytes   CRC-32 (IEEE 802.3) of all that follows
 *	8 bytes   length of all that follows
 *	varint    number of mechanism words, each a text
 *	varint    base: microseconds since 1970; all times below are told against it
 *	varint    number of entries, each as entry_write says
 *
 * A varint is LEB128 (7 bits a byte, the lowest first); signed ones are zigzag coded first. A text
 *is its length as a varint, and its bytes. States are told by their letters and mechanisms by their
 *words, so that a file outlives a change of the tables: what is no longer known reads as unknown,
 *or is left out.
 */
enum {
	HEAD_SIZE = 24,
	FORMAT_VERSION = 1,
	ID_MOST = 64 * 1024,
	WORDS_MOST = 64,
};

static const char magic[] = "batonmem";

enum flag {
	FLAG_HELD = 1,
	FLAG_HIGHEST = 2,
	FLAG_HOLDER = 4,
	FLAG_PAST = 8,
	FLAG_PREVIOUS = 16,
	FLAGS_ALL = 31,
};

/* ---- checksum ---- */

struct crc_table {
	uint32_t t[8][256];
};

/* Eight tables, so that eight bytes go in one step (Kounavis and Berry, "slicing-by-8", 2005). */
static void crc_table_init(struct crc_table *table)
{
	uint32_t i, k;

	for (i = 0; i < 256; i++) {
		uint32_t c = i;

		for (k = 0; k < 8; k++)
			c = c & 1 ? UINT32_C(0xedb88320) ^ c >> 1 : c >> 1;
		table->t[0][i] = c;
	}
	for (i = 0; i < 256; i++)
		for (k = 1; k < 8; k++)
			table->t[k][i] =
				table->t[k - 1][i] >> 8 ^ table->t[0][table->t[k - 1][i] & 0xff];
}

static uint32_t load32(const unsigned char *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint32_t crc32_of(const void *mem, size_t len)
{
	struct crc_table table;
	const unsigned char *p = mem;
	uint32_t crc = UINT32_MAX;

	crc_table_init(&table);
	for (; len >= 8; len -= 8, p += 8) {
		uint32_t a = crc ^ load32(p), b = load32(p + 4);

		crc = table.t[7][a & 0xff] ^ table.t[6][a >> 8 & 0xff] ^
		      table.t[5][a >> 16 & 0xff] ^ table.t[4][a >> 24] ^ table.t[3][b & 0xff] ^
		      table.t[2][b >> 8 & 0xff] ^ table.t[1][b >> 16 & 0xff] ^ table.t[0][b >> 24];
	}
	while (len-- > 0)
		crc = crc >> 8 ^ table.t[0][(crc ^ *p++) & 0xff];
	return ~crc;
}

/* ---- writing ---- */

static void put_fixed(char *at, uint64_t value, size_t bytes)
{
	size_t i;

	for (i = 0; i < bytes; i++)
		at[i] = (char)(value >> (8 * i));
}

static void put_varint(struct str *out, uint64_t value)
{
	char buf[10];
	size_t n = 0;

	for (; value >= 0x80; value >>= 7)
		buf[n++] = (char)(value | 0x80);
	buf[n++] = (char)value;
	str_add_mem(out, buf, n);
}

static void put_signed(struct str *out, int64_t value)
{
	put_varint(out, (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0));
}

static void put_text(struct str *out, const char *text)
{
	size_t len = strlen(text);

	put_varint(out, len);
	str_add_mem(out, text, len);
}

/* 0: unknown; else one up, so that most times take few bytes. */
static void put_time(struct str *out, int64_t base_us, int64_t time_us)
{
	uint64_t delta = (uint64_t)time_us - (uint64_t)base_us;

	if (time_us == TIME_UNKNOWN) {
		put_varint(out, 0);
		return;
	}
	delta = delta << 1 ^ (delta >> 63 ? UINT64_MAX : 0);
	/* The one value that has no room moves by a microsecond. */
	put_varint(out, delta == UINT64_MAX ? delta : delta + 1);
}

static void put_past(struct str *out, const struct remembered_past *p, int64_t base_us)
{
	uint32_t i, kept = p->n_changes < MEMORY_CHANGES ? p->n_changes : MEMORY_CHANGES;

	put_varint(out, p->n_changes);
	for (i = p->n_changes - kept; i != p->n_changes; i++)
		put_time(out, base_us, p->changes_us[i % MEMORY_CHANGES]);
	put_varint(out, p->sessions);
	put_time(out, base_us, p->first_session_us);
	put_time(out, base_us, p->session_since_us);
	put_time(out, base_us, p->previous_since_us);
	put_time(out, base_us, p->previous_until_us);
	put_time(out, base_us, p->overlap_us);
	put_time(out, base_us, p->renamed_us);
	put_time(out, base_us, p->regress_us);
	put_signed(out, p->token_before);
	put_signed(out, p->token_after);
	if (p->previous_key) {
		put_text(out, p->previous_key);
		put_text(out, p->previous_identity);
		put_text(out, p->previous_client);
	}
}

static void put_entry(struct str *out, const struct remembered *r, int64_t base_us)
{
	unsigned flags = (r->held ? FLAG_HELD : 0) | (r->has_highest ? FLAG_HIGHEST : 0) |
			 (r->holder ? FLAG_HOLDER : 0) | (r->past ? FLAG_PAST : 0) |
			 (r->past && r->past->previous_key ? FLAG_PREVIOUS : 0);

	put_text(out, r->id);
	put_varint(out, flags);
	put_varint(out, r->mechanism);
	str_add_char(out, state_word(r->state < STATE_COUNT ? r->state : STATE_UNKNOWN)->letter);
	put_time(out, base_us, r->known_since_us);
	put_time(out, base_us, r->last_seen_us);
	put_time(out, base_us, r->holder_since_us);
	put_time(out, base_us, r->state_since_us);
	put_time(out, base_us, r->last_change_us);
	if (r->has_highest)
		put_signed(out, r->highest_token);
	if (r->holder) {
		put_text(out, remembered_key(r));
		put_text(out, remembered_identity(r));
		put_text(out, remembered_client(r));
	}
	if (r->past)
		put_past(out, r->past, base_us);
}

/* The youngest time of all: most others are shortly before it. */
static int64_t base_of(const struct memory *m)
{
	struct map_entry *e;
	int64_t base_us = 0;
	size_t pos = 0;

	while ((e = map_next(&m->by_id, &pos)) != NULL) {
		const struct remembered *r = e->value;

		if (r->last_seen_us > base_us)
			base_us = r->last_seen_us;
	}
	return base_us;
}

void memory_write(const struct memory *m, struct str *out)
{
	char head[HEAD_SIZE] = { 0 };
	size_t start = out->len, pos = 0;
	int64_t base_us = base_of(m);
	struct map_entry *e;
	const char *body;
	int i;

	str_add_mem(out, head, sizeof(head));
	put_varint(out, MECH_COUNT);
	for (i = 0; i < MECH_COUNT; i++)
		put_text(out, mechanism_word(i)->word);
	put_signed(out, base_us);
	put_varint(out, m->by_id.n);
	while ((e = map_next(&m->by_id, &pos)) != NULL)
		put_entry(out, e->value, base_us);
	if (out->full)
		return;
	body = out->s + start + HEAD_SIZE;
	memcpy(out->s + start, magic, 8);
	put_fixed(out->s + start + 8, FORMAT_VERSION, 4);
	put_fixed(out->s + start + 12, crc32_of(body, out->len - start - HEAD_SIZE), 4);
	put_fixed(out->s + start + 16, out->len - start - HEAD_SIZE, 8);
}

/* ---- reading: hostile bytes, each step within the end; `bad` stays set ---- */

struct reader {
	const unsigned char *at, *end;
	int64_t base_us;
	int mechanisms[WORDS_MOST]; /* by the file's number; -1: not known any more */
	size_t n_mechanisms;
	bool bad;
};

static uint64_t get_varint(struct reader *in)
{
	uint64_t value = 0;
	unsigned shift;

	for (shift = 0; shift < 64 && in->at < in->end; shift += 7) {
		unsigned char byte = *in->at++;

		if (shift == 63 && byte > 1)
			break;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return value;
	}
	in->bad = true;
	return 0;
}

static int64_t unzigzag(uint64_t value)
{
	return (int64_t)(value >> 1 ^ (0 - (value & 1)));
}

static int64_t get_signed(struct reader *in)
{
	return unzigzag(get_varint(in));
}

/* A time that no clock of ours tells is none: whoever reckons with it later need not fear an
 * overflow. */
static int64_t get_time(struct reader *in)
{
	uint64_t value = get_varint(in);
	int64_t time_us;

	if (!value)
		return TIME_UNKNOWN;
	time_us = (int64_t)((uint64_t)in->base_us + (uint64_t)unzigzag(value - 1));
	return time_us >= 0 && time_us < INT64_C(1) << 59 ? time_us : TIME_UNKNOWN;
}

struct slice {
	const char *s;
	size_t len;
};

/* Texts hold no NUL: they are sanitised before they come here. */
static struct slice get_text(struct reader *in)
{
	uint64_t len = get_varint(in);
	struct slice text = { (const char *)in->at, (size_t)len };

	if (len > (uint64_t)(in->end - in->at) || len > ID_MOST || memchr(in->at, '\0', len)) {
		in->bad = true;
		return (struct slice){ "", 0 };
	}
	in->at += len;
	return text;
}

/* One entry as it stands in the file; texts are slices of the file's bytes. */
struct entry {
	struct slice id, key, identity, client;
	struct slice previous_key, previous_identity, previous_client;
	struct remembered_past past;
	uint64_t flags;
	int mechanism;
	struct remembered r; /* its pointers are not set; last, for the array at its end */
};

static int state_of_letter(unsigned char letter)
{
	int i;

	for (i = 0; i < STATE_COUNT; i++)
		if ((unsigned char)state_word(i)->letter == letter)
			return i;
	return STATE_UNKNOWN;
}

static void get_past(struct reader *in, struct entry *e)
{
	struct remembered_past *p = &e->past;
	uint64_t n = get_varint(in);
	uint32_t i, kept;

	if (n > UINT32_MAX) {
		in->bad = true;
		return;
	}
	p->n_changes = (uint32_t)n;
	kept = p->n_changes < MEMORY_CHANGES ? p->n_changes : MEMORY_CHANGES;
	for (i = p->n_changes - kept; i != p->n_changes; i++)
		p->changes_us[i % MEMORY_CHANGES] = get_time(in);
	p->sessions = (uint32_t)get_varint(in);
	p->first_session_us = get_time(in);
	p->session_since_us = get_time(in);
	p->previous_since_us = get_time(in);
	p->previous_until_us = get_time(in);
	p->overlap_us = get_time(in);
	p->renamed_us = get_time(in);
	p->regress_us = get_time(in);
	p->token_before = get_signed(in);
	p->token_after = get_signed(in);
	p->previous_left_ms = TIME_UNKNOWN;
	if (!(e->flags & FLAG_PREVIOUS))
		return;
	e->previous_key = get_text(in);
	e->previous_identity = get_text(in);
	e->previous_client = get_text(in);
}

static void get_mechanism(struct reader *in, struct entry *e)
{
	uint64_t number = get_varint(in);

	if (number >= in->n_mechanisms) {
		in->bad = true;
		return;
	}
	e->mechanism = in->mechanisms[number];
}

static void get_entry(struct reader *in, struct entry *e)
{
	memset(e, 0, sizeof(*e));
	e->id = get_text(in);
	e->flags = get_varint(in);
	if (!e->id.len || (e->flags & ~(uint64_t)FLAGS_ALL))
		in->bad = true;
	get_mechanism(in, e);
	if (in->at >= in->end) {
		in->bad = true;
		return;
	}
	e->r.state = (uint8_t)state_of_letter(*in->at++);
	e->r.known_since_us = get_time(in);
	e->r.last_seen_us = get_time(in);
	e->r.holder_since_us = get_time(in);
	e->r.state_since_us = get_time(in);
	e->r.last_change_us = get_time(in);
	if (e->flags & FLAG_HIGHEST)
		e->r.highest_token = get_signed(in);
	if (e->flags & FLAG_HOLDER) {
		e->key = get_text(in);
		e->identity = get_text(in);
		e->client = get_text(in);
	}
	if (e->flags & FLAG_PAST)
		get_past(in, e);
}

static void get_mechanisms(struct reader *in)
{
	uint64_t n = get_varint(in);

	in->n_mechanisms = 0;
	if (n > WORDS_MOST) {
		in->bad = true;
		return;
	}
	while (n-- > 0 && !in->bad) {
		struct slice text = get_text(in);
		char word[64] = "";

		if (text.len < sizeof(word))
			memcpy(word, text.s, text.len);
		in->mechanisms[in->n_mechanisms++] = mechanism_from_word(word);
	}
}

/* ---- merging ---- */

static int64_t earlier(int64_t a, int64_t b)
{
	if (a == TIME_UNKNOWN || b == TIME_UNKNOWN)
		return a == TIME_UNKNOWN ? b : a;
	return a < b ? a : b;
}

/* The text in a buffer; cut where it is longer. */
static const char *terminated(struct slice text, char *buf, size_t size)
{
	size_t len = text.len < size - 1 ? text.len : size - 1;

	memcpy(buf, text.s, len);
	buf[len] = '\0';
	return buf;
}

static void merge_past(struct remembered *r, const struct entry *e, bool newer)
{
	struct remembered_past *p = remembered_make_past(r);
	char key[4200], identity[4200], client[4200];

	if (e->past.regress_us != TIME_UNKNOWN &&
		(p->regress_us == TIME_UNKNOWN || e->past.regress_us > p->regress_us)) {
		p->regress_us = e->past.regress_us;
		p->token_before = e->past.token_before;
		p->token_after = e->past.token_after;
	}
	if (e->past.n_changes > p->n_changes || (newer && e->past.n_changes == p->n_changes)) {
		struct remembered_past keep = *p;

		*p = e->past;
		p->strings = keep.strings;
		p->previous_key = keep.previous_key;
		p->previous_identity = keep.previous_identity;
		p->previous_client = keep.previous_client;
		p->regress_us = keep.regress_us;
		p->token_before = keep.token_before;
		p->token_after = keep.token_after;
		if (e->flags & FLAG_PREVIOUS)
			remembered_set_previous(p, terminated(e->previous_key, key, sizeof(key)),
				terminated(e->previous_identity, identity, sizeof(identity)),
				terminated(e->previous_client, client, sizeof(client)));
	}
}

/* What was seen last counts; what was known for longest too. */
static void merge_present(struct remembered *r, const struct entry *e)
{
	char key[4200], identity[4200], client[4200];

	r->last_seen_us = e->r.last_seen_us;
	r->holder_since_us = e->r.holder_since_us;
	r->state_since_us = e->r.state_since_us;
	r->last_change_us = e->r.last_change_us;
	r->state = e->r.state;
	r->mechanism = (uint8_t)e->mechanism;
	r->held = e->flags & FLAG_HELD;
	if (e->flags & FLAG_HOLDER)
		remembered_set_holder(r, terminated(e->key, key, sizeof(key)),
			terminated(e->identity, identity, sizeof(identity)),
			terminated(e->client, client, sizeof(client)));
}

static bool same_holder(const struct remembered *r, const struct entry *e)
{
	return r->holder && e->flags & FLAG_HOLDER && strlen(remembered_key(r)) == e->key.len &&
	       memcmp(remembered_key(r), e->key.s, e->key.len) == 0;
}

static void merge_entry(struct memory *m, const struct entry *e)
{
	struct remembered *r = map_get(&m->by_id, e->id.s, e->id.len);
	bool fresh = !r, newer;

	if (fresh)
		r = memory_add(m, e->id.s, e->id.len, e->r.known_since_us);
	newer = fresh || e->r.last_seen_us > r->last_seen_us;
	r->known_since_us = earlier(r->known_since_us, e->r.known_since_us);
	if (same_holder(r, e))
		r->holder_since_us = earlier(r->holder_since_us, e->r.holder_since_us);
	if (r->state == e->r.state)
		r->state_since_us = earlier(r->state_since_us, e->r.state_since_us);
	/* What this run sees now is true now, whatever another console wrote a moment later. */
	if (newer && !r->present)
		merge_present(r, e);
	if (e->flags & FLAG_HIGHEST && (!r->has_highest || e->r.highest_token > r->highest_token)) {
		r->highest_token = e->r.highest_token;
		r->has_highest = true;
	}
	if (e->flags & FLAG_PAST)
		merge_past(r, e, newer);
}

static int check_head(const unsigned char *p, size_t len, struct err *err)
{
	uint64_t size;

	if (len < HEAD_SIZE || memcmp(p, magic, 8) != 0)
		return err_set(err, ERR_PROTO, "this is no file of the observation memory");
	if (load32(p + 8) != FORMAT_VERSION)
		return err_set(err, ERR_PROTO,
			"the observation memory is of version %u, and this program reads version "
			"%d",
			load32(p + 8), FORMAT_VERSION);
	size = (uint64_t)load32(p + 16) | (uint64_t)load32(p + 20) << 32;
	if (size != len - HEAD_SIZE)
		return err_set(err, ERR_PROTO, "the observation memory is cut or has a tail");
	if (crc32_of(p + HEAD_SIZE, len - HEAD_SIZE) != load32(p + 12))
		return err_set(err, ERR_PROTO, "the observation memory's checksum is wrong");
	return 0;
}

/* Walks all entries; m NULL: only to see whether they are well formed. */
static bool read_entries(struct reader in, struct memory *m)
{
	uint64_t n, i;
	struct entry e;

	get_mechanisms(&in);
	in.base_us = get_signed(&in);
	n = get_varint(&in);
	for (i = 0; i < n && !in.bad; i++) {
		get_entry(&in, &e);
		if (m && !in.bad && e.mechanism >= 0)
			merge_entry(m, &e);
	}
	return !in.bad && in.at == in.end;
}

int memory_read(struct memory *m, const void *bytes, size_t len, struct err *err)
{
	const unsigned char *p = bytes;
	struct reader in = { 0 };
	int rc = check_head(p, len, err);

	if (rc)
		return rc;
	in.at = p + HEAD_SIZE;
	in.end = p + len;
	if (!read_entries(in, NULL))
		return err_set(err, ERR_PROTO, "the observation memory is not well formed");
	read_entries(in, m);
	memory_shrink(m);
	return 0;
}
