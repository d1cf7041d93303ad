#include "config.h"

#include "model/memory-pack.h"
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
 *	varint    base: microseconds since 1970; times below are told against it
 *	varint    number of entries, each as pack_entry says
 *
 * Varints, texts and entries are those of memory-pack.h, without what is only true within a run.
 * Mechanisms are told by their words, so that a file outlives a change of the tables: what is no
 * longer known reads as unknown, or is left out.
 */
enum {
	FORMAT_VERSION = 2, /* version 1 told all times of an entry against the base */
	WRITE_AT_ONCE = 64 * 1024,
	WORDS_MOST = 64,
};

static const char magic[] = "batonmem";

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

/* Goes on with a sum that begins as UINT32_MAX; its complement at the end is the CRC. */
static uint32_t crc32_add(const struct crc_table *table, uint32_t crc, const void *mem, size_t len)
{
	const unsigned char *p = mem;

	for (; len >= 8; len -= 8, p += 8) {
		uint32_t a = crc ^ load32(p), b = load32(p + 4);

		crc = table->t[7][a & 0xff] ^ table->t[6][a >> 8 & 0xff] ^
		      table->t[5][a >> 16 & 0xff] ^ table->t[4][a >> 24] ^ table->t[3][b & 0xff] ^
		      table->t[2][b >> 8 & 0xff] ^ table->t[1][b >> 16 & 0xff] ^
		      table->t[0][b >> 24];
	}
	while (len-- > 0)
		crc = crc >> 8 ^ table->t[0][(crc ^ *p++) & 0xff];
	return crc;
}

static uint32_t crc32_of(const void *mem, size_t len)
{
	struct crc_table table;

	crc_table_init(&table);
	return ~crc32_add(&table, UINT32_MAX, mem, len);
}

/* ---- writing ---- */

static void put_fixed(char *at, uint64_t value, size_t bytes)
{
	size_t i;

	for (i = 0; i < bytes; i++)
		at[i] = (char)(value >> (8 * i));
}

/* Collects small pieces, and what goes out is summed up. */
struct writer {
	memory_sink sink;
	void *arg;
	int rc;
	uint64_t len;
	uint32_t crc;
	struct crc_table table;
	size_t n, cap;
	unsigned char *buf;
};

static void writer_flush(struct writer *w)
{
	w->crc = crc32_add(&w->table, w->crc, w->buf, w->n);
	w->len += w->n;
	if (!w->rc && w->n)
		w->rc = w->sink(w->arg, w->buf, w->n);
	w->n = 0;
}

/* Where at least so many bytes can be written; writer_wrote says up to where they were. */
static unsigned char *writer_room(struct writer *w, size_t most)
{
	if (w->cap - w->n >= most)
		return w->buf + w->n;
	writer_flush(w);
	if (w->cap < most) {
		w->cap = most;
		w->buf = xrealloc(w->buf, w->cap, 1);
	}
	return w->buf;
}

static void writer_wrote(struct writer *w, const unsigned char *end)
{
	w->n = (size_t)(end - w->buf);
}

static void write_words(struct writer *w, size_t n, const struct memory_base *base)
{
	int i;

	writer_wrote(w, varint_put(writer_room(w, VARINT_MOST), MECH_COUNT));
	for (i = 0; i < MECH_COUNT; i++) {
		struct slice word = slice_of(mechanism_word(i)->word);

		writer_wrote(w, pack_text(writer_room(w, word.len + VARINT_MOST), word));
	}
	writer_wrote(w, pack_signed(writer_room(w, VARINT_MOST), base->us));
	writer_wrote(w, varint_put(writer_room(w, VARINT_MOST), n));
}

/* A file holds no longer ids: no reader would believe them. */
static bool is_written(struct slice id)
{
	return id.len <= PACK_ID_MOST;
}

static size_t count_written(const struct memory *m)
{
	size_t i, n = 0;

	for (i = 0; i < m->n; i++)
		n += is_written(memory_id(m, i));
	return n;
}

static void write_entries(struct writer *w, const struct memory *m, const struct memory_base *base)
{
	struct packed_parts parts;
	size_t i;

	for (i = 0; i < m->n; i++) {
		memory_look(m, i, &parts);
		if (is_written(parts.look.id))
			writer_wrote(w,
				pack_for_file(
					writer_room(w, (size_t)(parts.run - parts.flags) +
							       parts.look.id.len + 2 * VARINT_MOST),
					&parts, base, parts.last_seen_us));
	}
}

int memory_write_to(struct memory *m, memory_sink sink, void *arg, char head[MEMORY_HEAD_SIZE])
{
	struct writer w = { .sink = sink, .arg = arg, .crc = UINT32_MAX, .cap = WRITE_AT_ONCE };
	struct memory_base base;

	memory_settle(m);
	base = m->base;
	if (base.us == TIME_UNKNOWN)
		base.us = 0;
	crc_table_init(&w.table);
	w.buf = xmalloc(w.cap);
	write_words(&w, count_written(m), &base);
	write_entries(&w, m, &base);
	writer_flush(&w);
	free(w.buf);
	memcpy(head, magic, 8);
	put_fixed(head + 8, FORMAT_VERSION, 4);
	put_fixed(head + 12, ~w.crc, 4);
	put_fixed(head + 16, w.len, 8);
	return w.rc;
}

static int sink_str(void *arg, const void *mem, size_t len)
{
	str_add_mem(arg, mem, len);
	return 0;
}

void memory_write(struct memory *m, struct str *out)
{
	char head[MEMORY_HEAD_SIZE] = "";
	size_t start = out->len;

	str_add_mem(out, head, sizeof(head));
	memory_write_to(m, sink_str, out, head);
	if (!out->full)
		memcpy(out->s + start, head, sizeof(head));
}

/* ---- reading: hostile bytes ---- */

struct file_reader {
	struct pack_reader in;
	int mechanisms[WORDS_MOST]; /* by the file's number; -1: not known any more */
	bool as_ours; /* its numbers are our own, and its times are told against such a base as ours
		       */
};

static void read_mechanisms(struct file_reader *file)
{
	struct pack_reader *in = &file->in;
	uint64_t n = unpack_varint(in);

	in->mechanisms = file->mechanisms;
	file->as_ours = true;
	if (n > WORDS_MOST)
		in->bad = true;
	while (!in->bad && n-- > 0) {
		struct slice text = unpack_text(in, 63);
		char word[64] = "";

		memcpy(word, text.s, text.len);
		file->mechanisms[in->n_mechanisms] = mechanism_from_word(word);
		file->as_ours &= file->mechanisms[in->n_mechanisms] == (int)in->n_mechanisms;
		in->n_mechanisms++;
	}
}

/* One entry; false: it is there already. One of a mechanism that is not known any more is left out.
 */
static bool read_entry(struct file_reader *file, struct memory *fresh)
{
	const unsigned char *from = file->in.at;
	struct pack_reader again = file->in;
	struct packed_parts parts;
	struct remembered *r;

	if (!unpack_walk(&file->in, &parts) || parts.mechanism < 0)
		return true;
	if (file->as_ours && !file->in.flat && !parts.strange)
		return memory_insert_packed(fresh, from, (size_t)(file->in.at - from), &parts);
	r = unpack_entry(&again);
	if (!memory_insert(fresh, r)) {
		remembered_free(r);
		return false;
	}
	memory_settle_many(fresh);
	return true;
}

/* Reads all entries into an empty memory; returns whether they are well formed. */
static bool read_entries(struct file_reader *file, struct memory *fresh)
{
	struct pack_reader *in = &file->in;
	uint64_t n;

	read_mechanisms(file);
	in->base.us = unpack_signed(in);
	n = unpack_varint(in);
	if (n > MEMORY_ENTRIES_MAX || n > (uint64_t)(in->end - in->at))
		in->bad = true;
	if (!in->bad)
		memory_expect(fresh, (size_t)n, (size_t)(in->end - in->at));
	if (in->base.us >= 0 && in->base.us < INT64_C(1) << 59)
		fresh->base.us = in->base.us;
	else
		file->as_ours = false;
	while (!in->bad && n-- > 0)
		if (!read_entry(file, fresh))
			in->bad = true;
	memory_settle(fresh);
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

static void merge_all(struct memory *m, struct memory *fresh)
{
	size_t i;

	m->dirty = true;
	if (!m->n)
		memory_take_over(m, fresh);
	for (i = 0; i < fresh->n; i++) {
		struct remembered *r = memory_copy(fresh, i);
		struct remembered *own = memory_get(m, (struct slice){ r->id, r->id_len });

		if (own)
			merge_entry(own, r);
		if (own || !memory_insert(m, r))
			remembered_free(r);
		memory_settle_many(m);
	}
	memory_shrink(m);
}

static int check_head(const unsigned char *p, size_t len, struct err *err)
{
	uint64_t size;

	if (len < MEMORY_HEAD_SIZE || memcmp(p, magic, 8) != 0)
		return err_set(err, ERR_PROTO, "this is no file of the observation memory");
	if (load32(p + 8) < 1 || load32(p + 8) > FORMAT_VERSION)
		return err_set(err, ERR_PROTO,
			"the observation memory is of version %u, and this program reads "
			"versions up to %d",
			load32(p + 8), FORMAT_VERSION);
	size = (uint64_t)load32(p + 16) | (uint64_t)load32(p + 20) << 32;
	if (size != len - MEMORY_HEAD_SIZE)
		return err_set(err, ERR_PROTO, "the observation memory is cut or has a tail");
	if (crc32_of(p + MEMORY_HEAD_SIZE, len - MEMORY_HEAD_SIZE) != load32(p + 12))
		return err_set(err, ERR_PROTO, "the observation memory's checksum is wrong");
	return 0;
}

int memory_read(struct memory *m, const void *bytes, size_t len, struct err *err)
{
	const unsigned char *p = bytes;
	struct memory fresh;
	struct file_reader file = { .in = { .foreign = true } };
	int rc = check_head(p, len, err);

	if (rc)
		return rc;
	file.in.at = p + MEMORY_HEAD_SIZE;
	file.in.end = p + len;
	file.in.flat = load32(p + 8) == 1;
	memory_init(&fresh);
	if (read_entries(&file, &fresh))
		merge_all(m, &fresh);
	else
		rc = err_set(err, ERR_PROTO, "the observation memory is not well formed");
	memory_release(&fresh);
	return rc;
}
