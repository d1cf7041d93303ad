#include "config.h"

#include "model/memory-table.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

#include <stdlib.h>
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
	FLAG_SEEN = 32,
	FLAG_RECORD = 64,
	FLAG_REISSUED = 128,
	FLAGS_ALL = 255,
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

/* Collects small pieces, so that most are no call of their own. */
struct writer {
	struct str *out;
	int64_t base_us;
	size_t n;
	char buf[4096];
};

static void flush(struct writer *w)
{
	str_add_mem(w->out, w->buf, w->n);
	w->n = 0;
}

static void put_fixed(char *at, uint64_t value, size_t bytes)
{
	size_t i;

	for (i = 0; i < bytes; i++)
		at[i] = (char)(value >> (8 * i));
}

static void put_varint(struct writer *w, uint64_t value)
{
	if (w->n + 10 > sizeof(w->buf))
		flush(w);
	for (; value >= 0x80; value >>= 7)
		w->buf[w->n++] = (char)(value | 0x80);
	w->buf[w->n++] = (char)value;
}

static void put_signed(struct writer *w, int64_t value)
{
	put_varint(w, (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0));
}

static void put_bytes(struct writer *w, const char *text, size_t len)
{
	put_varint(w, len);
	if (w->n + len > sizeof(w->buf))
		flush(w);
	if (len > sizeof(w->buf)) {
		str_add_mem(w->out, text, len);
		return;
	}
	memcpy(w->buf + w->n, text, len);
	w->n += len;
}

static void put_text(struct writer *w, const char *text)
{
	put_bytes(w, text, strlen(text));
}

/* 0: unknown; else one up, so that most times take few bytes. */
static void put_time(struct writer *w, int64_t time_us)
{
	uint64_t delta = (uint64_t)time_us - (uint64_t)w->base_us;

	if (time_us == TIME_UNKNOWN) {
		put_varint(w, 0);
		return;
	}
	delta = delta << 1 ^ (delta >> 63 ? UINT64_MAX : 0);
	/* The one value that has no room moves by a microsecond. */
	put_varint(w, delta == UINT64_MAX ? delta : delta + 1);
}

static void put_past(struct writer *w, const struct remembered_past *p)
{
	uint32_t i, kept = p->n_changes < MEMORY_CHANGES ? p->n_changes : MEMORY_CHANGES;

	put_varint(w, p->n_changes);
	for (i = p->n_changes - kept; i != p->n_changes; i++)
		put_time(w, p->changes_us[i % MEMORY_CHANGES]);
	put_varint(w, p->sessions);
	put_time(w, p->first_session_us);
	put_time(w, p->session_since_us);
	put_time(w, p->previous_since_us);
	put_time(w, p->previous_until_us);
	put_time(w, p->overlap_us);
	put_time(w, p->renamed_us);
	put_time(w, p->regress_us);
	put_signed(w, p->token_before);
	put_signed(w, p->token_after);
	if (p->previous_key) {
		put_text(w, p->previous_key);
		put_text(w, p->previous_identity);
		put_text(w, p->previous_client);
	}
	if (p->previous_seen_us != TIME_UNKNOWN)
		put_time(w, p->previous_seen_us);
}

static void put_entry(struct writer *w, const struct remembered *r)
{
	unsigned flags = (r->held ? FLAG_HELD : 0) | (r->has_highest ? FLAG_HIGHEST : 0) |
			 (r->holder ? FLAG_HOLDER : 0) | (r->past ? FLAG_PAST : 0) |
			 (r->past && r->past->previous_key ? FLAG_PREVIOUS : 0) |
			 (r->past && r->past->previous_seen_us != TIME_UNKNOWN ? FLAG_SEEN : 0) |
			 (r->has_record ? FLAG_RECORD : 0) |
			 (r->past && r->past->reissued ? FLAG_REISSUED : 0);

	put_bytes(w, r->id, r->id_len);
	put_varint(w, flags);
	put_varint(w, r->mechanism);
	if (r->holder) {
		put_bytes(w, r->holder, r->identity_at - 1u);
		put_bytes(w, r->holder + r->identity_at, r->client_at - r->identity_at - 1u);
		put_text(w, r->holder + r->client_at);
	}
	put_varint(w, (unsigned char)state_word(r->state < STATE_COUNT ? r->state : STATE_UNKNOWN)
			      ->letter);
	put_time(w, r->known_since_us);
	put_time(w, r->last_seen_us);
	put_time(w, r->holder_since_us);
	put_time(w, r->state_since_us);
	put_time(w, r->last_change_us);
	if (r->has_highest)
		put_signed(w, r->highest_token);
	if (r->has_record)
		put_varint(w, r->record);
	if (r->past)
		put_past(w, r->past);
}

/* The youngest time of all: most others are shortly before it. */
static int64_t base_of(const struct memory *m)
{
	const struct remembered *r;
	int64_t base_us = 0;
	size_t pos = 0;

	while ((r = memory_next(m, &pos)) != NULL)
		if (r->last_seen_us > base_us)
			base_us = r->last_seen_us;
	return base_us;
}

void memory_write(const struct memory *m, struct str *out)
{
	struct writer w = { .out = out, .base_us = base_of(m) };
	size_t start = out->len, pos = 0, len;
	const struct remembered *r;
	char *head;
	int i;

	memset(w.buf, 0, HEAD_SIZE);
	w.n = HEAD_SIZE;
	put_varint(&w, MECH_COUNT);
	for (i = 0; i < MECH_COUNT; i++)
		put_text(&w, mechanism_word(i)->word);
	put_signed(&w, w.base_us);
	put_varint(&w, m->n);
	while ((r = memory_next(m, &pos)) != NULL)
		put_entry(&w, r);
	flush(&w);
	if (out->full)
		return;
	head = out->s + start;
	len = out->len - start - HEAD_SIZE;
	memcpy(head, magic, 8);
	put_fixed(head + 8, FORMAT_VERSION, 4);
	put_fixed(head + 12, crc32_of(head + HEAD_SIZE, len), 4);
	put_fixed(head + 16, len, 8);
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

/* Texts hold no NUL: they are sanitised before they come here. */
static struct slice get_text(struct reader *in, size_t most)
{
	uint64_t len = get_varint(in);
	struct slice text = { (const char *)in->at, (size_t)len };

	if (len > (uint64_t)(in->end - in->at) || len > most || memchr(in->at, '\0', len)) {
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
static void get_claim(struct reader *in, struct slice text[3])
{
	int i;

	for (i = 0; i < 3; i++)
		text[i] = get_text(in, REMEMBERED_TEXT_MOST);
}

static uint32_t get_count(struct reader *in)
{
	uint64_t n = get_varint(in);

	if (n > UINT32_MAX)
		in->bad = true;
	return (uint32_t)n;
}

static void get_past(struct reader *in, struct remembered_past *p, uint64_t flags)
{
	struct slice text[3];
	uint32_t i, kept;

	p->n_changes = get_count(in);
	kept = p->n_changes < MEMORY_CHANGES ? p->n_changes : MEMORY_CHANGES;
	for (i = p->n_changes - kept; i != p->n_changes; i++)
		p->changes_us[i % MEMORY_CHANGES] = get_time(in);
	p->sessions = get_count(in);
	p->first_session_us = get_time(in);
	p->session_since_us = get_time(in);
	p->previous_since_us = get_time(in);
	p->previous_until_us = get_time(in);
	p->overlap_us = get_time(in);
	p->renamed_us = get_time(in);
	p->regress_us = get_time(in);
	p->token_before = get_signed(in);
	p->token_after = get_signed(in);
	if (flags & FLAG_PREVIOUS) {
		get_claim(in, text);
		remembered_set_previous(p, text[0], text[1], text[2]);
	}
	if (flags & FLAG_SEEN)
		p->previous_seen_us = get_time(in);
	p->reissued = flags & FLAG_REISSUED;
}

/* The mechanism by its word; -1: one that is not known any more. */
static int get_mechanism(struct reader *in)
{
	uint64_t number = get_varint(in);

	if (number < in->n_mechanisms)
		return in->mechanisms[number];
	in->bad = true;
	return -1;
}

/* What every entry has, behind the texts. */
static void get_present(struct reader *in, struct remembered *r, uint64_t flags)
{
	r->state = (uint8_t)state_of_letter(get_varint(in));
	r->known_since_us = get_time(in);
	r->last_seen_us = get_time(in);
	r->holder_since_us = get_time(in);
	r->state_since_us = get_time(in);
	r->last_change_us = get_time(in);
	r->held = flags & FLAG_HELD;
	r->has_highest = flags & FLAG_HIGHEST;
	if (r->has_highest)
		r->highest_token = get_signed(in);
	r->has_record = flags & FLAG_RECORD;
	if (r->has_record)
		r->record = get_varint(in);
}

/* The next entry, which the caller frees; NULL: bad, or of a mechanism that is not known any more.
 */
static struct remembered *get_entry(struct reader *in)
{
	struct slice id = get_text(in, ID_MOST), text[3] = { 0 };
	uint64_t flags = get_varint(in);
	int mechanism = get_mechanism(in);
	struct remembered *r;

	if (!id.len || flags & ~(uint64_t)FLAGS_ALL)
		in->bad = true;
	if (flags & FLAG_HOLDER)
		get_claim(in, text);
	if (in->bad)
		return NULL;
	r = remembered_new(
		id, flags & FLAG_HOLDER ? remembered_room(text[0], text[1], text[2]) : 0);
	r->mechanism = (uint8_t)mechanism;
	if (flags & FLAG_HOLDER)
		remembered_set_holder(r, text[0], text[1], text[2]);
	get_present(in, r, flags);
	if (flags & FLAG_PAST)
		get_past(in, remembered_make_past(r), flags);
	if (!in->bad && mechanism >= 0)
		return r;
	remembered_free(r);
	return NULL;
}

static void get_mechanisms(struct reader *in)
{
	uint64_t n = get_varint(in);

	if (n > WORDS_MOST)
		in->bad = true;
	while (!in->bad && n-- > 0) {
		struct slice text = get_text(in, 63);
		char word[64] = "";

		memcpy(word, text.s, text.len);
		in->mechanisms[in->n_mechanisms++] = mechanism_from_word(word);
	}
}

/* Reads all entries into an empty memory; returns whether they are well formed. */
static bool get_entries(struct reader *in, struct memory *fresh)
{
	uint64_t n;

	get_mechanisms(in);
	in->base_us = get_signed(in);
	n = get_varint(in);
	if (n > MEMORY_ENTRIES_MAX || n > (uint64_t)(in->end - in->at))
		in->bad = true;
	if (!in->bad)
		memory_reserve(fresh, (size_t)n);
	while (!in->bad && n-- > 0) {
		struct remembered *r = get_entry(in);

		if (!r)
			continue;
		if (memory_insert(fresh, r))
			continue;
		remembered_free(r);
		in->bad = true;
	}
	return !in->bad && in->at == in->end;
}

/* ---- merging ---- */

static int64_t earlier(int64_t a, int64_t b)
{
	if (a == TIME_UNKNOWN || b == TIME_UNKNOWN)
		return a == TIME_UNKNOWN ? b : a;
	return a < b ? a : b;
}

/* Two consoles that watch one source see the same changes: the one that saw more of them knows
 * better. */
static void merge_past(struct remembered *to, struct remembered *from)
{
	struct remembered_past *p = remembered_make_past(to), *q = from->past, better = *p;

	if (q->n_changes > p->n_changes ||
		(q->n_changes == p->n_changes && q->sessions > p->sessions)) {
		better = *q;
		/* What is not taken goes with `from`. */
		q->strings = p->strings;
	}
	better.regress_us = p->regress_us;
	better.token_before = p->token_before;
	better.token_after = p->token_after;
	better.reissued = p->reissued;
	if (q->regress_us > p->regress_us) {
		better.regress_us = q->regress_us;
		better.token_before = q->token_before;
		better.token_after = q->token_after;
		better.reissued = q->reissued;
	}
	*p = better;
}

/* Who holds it and its state: what was seen last counts. */
static void merge_present(struct remembered *to, const struct remembered *from)
{
	to->last_seen_us = from->last_seen_us;
	to->holder_since_us = from->holder_since_us;
	to->state_since_us = from->state_since_us;
	to->last_change_us = from->last_change_us;
	to->state = from->state;
	to->mechanism = from->mechanism;
	to->held = from->held;
	to->record = from->record;
	to->has_record = from->has_record;
	if (from->holder)
		remembered_set_holder(to, slice_of(remembered_key(from)),
			slice_of(remembered_identity(from)), slice_of(remembered_client(from)));
}

/*
 * A holder of this run that came after all that the file knows, with a token that is not above the
 * file's: it was seen before the file was read, so this is the first moment at which that shows.
 */
static void merge_token(struct remembered *to, const struct remembered *from, bool same)
{
	struct remembered_past *p;

	if (same || !to->present || !to->held || !to->has_highest || !from->has_highest ||
		to->highest_token > from->highest_token || !from->holder ||
		from->last_seen_us > to->holder_since_us)
		return;
	p = remembered_make_past(to);
	p->token_before = from->highest_token;
	p->token_after = to->highest_token;
	p->regress_us = to->holder_since_us;
	p->reissued = remembered_other_object(from, to->mechanism, remembered_key(to));
}

/* Tokens of a Lease that was deleted and made again are not comparable with those before. */
static void merge_highest(struct remembered *to, const struct remembered *from)
{
	const char *key = remembered_key(to);

	if (!from->has_highest || (to->has_highest && from->highest_token <= to->highest_token))
		return;
	if (key && to->present && remembered_other_object(from, to->mechanism, key))
		return;
	to->highest_token = from->highest_token;
	to->has_highest = true;
}

/* from is left with what was not taken, to be freed. */
static void merge_entry(struct remembered *to, struct remembered *from)
{
	bool same = to->holder && from->holder && strcmp(to->holder, from->holder) == 0;

	if (same)
		to->holder_since_us = from->holder_since_us =
			earlier(to->holder_since_us, from->holder_since_us);
	if (to->state == from->state)
		to->state_since_us = from->state_since_us =
			earlier(to->state_since_us, from->state_since_us);
	to->known_since_us = earlier(to->known_since_us, from->known_since_us);
	merge_token(to, from, same);
	merge_highest(to, from);
	/* What this run sees now is true now, whatever another console wrote a moment later. */
	if (!to->present && from->last_seen_us > to->last_seen_us)
		merge_present(to, from);
	if (from->past)
		merge_past(to, from);
}

/* fresh is empty afterwards. */
static void merge_all(struct memory *m, struct memory *fresh)
{
	struct remembered *r;
	size_t pos = 0;

	m->dirty = true;
	if (!m->n)
		memory_take_over(m, fresh);
	while ((r = memory_next(fresh, &pos)) != NULL) {
		struct remembered *own = memory_get(m, slice_of(r->id));

		if (own) {
			merge_entry(own, r);
			remembered_free(r);
		} else {
			memory_insert(m, r);
		}
	}
	fresh->n = 0;
	memory_shrink(m);
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

int memory_read(struct memory *m, const void *bytes, size_t len, struct err *err)
{
	const unsigned char *p = bytes;
	struct memory fresh;
	struct reader in = { 0 };
	int rc = check_head(p, len, err);

	if (rc)
		return rc;
	in.at = p + HEAD_SIZE;
	in.end = p + len;
	memory_init(&fresh);
	if (get_entries(&in, &fresh))
		merge_all(m, &fresh);
	else
		rc = err_set(err, ERR_PROTO, "the observation memory is not well formed");
	memory_release(&fresh);
	return rc;
}
