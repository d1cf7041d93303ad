#include "config.h"

#include "base/text.h"
#include "base/err.h"
#include "base/str.h"

#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>
#include <wctype.h>

bool text_init_locale(void)
{
	if (setlocale(LC_CTYPE, "") && strcmp(nl_langinfo(CODESET), "UTF-8") == 0)
		return true;
	setlocale(LC_CTYPE, "C.UTF-8");
	return false;
}

size_t text_decode(const char *s, size_t len, uint32_t *ret_cp)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *p = (const unsigned char *)s;
	uint32_t cp;
	size_t n, i;

	if (!len)
		return 0;
	if (p[0] < 0x80) {
		*ret_cp = p[0];
		return 1;
	}
	if (p[0] >= 0xc2 && p[0] < 0xe0) {
		n = 2;
		cp = p[0] & 0x1f;
	} else if (p[0] >= 0xe0 && p[0] < 0xf0) {
		n = 3;
		cp = p[0] & 0x0f;
	} else if (p[0] >= 0xf0 && p[0] < 0xf5) {
		n = 4;
		cp = p[0] & 0x07;
	} else {
		return 0;
	}
	if (n > len)
		return 0;
	for (i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		cp = cp << 6 | (p[i] & 0x3f);
	}
	if (cp < least[n] || cp > 0x10ffff || (cp >= 0xd800 && cp < 0xe000))
		return 0;
	*ret_cp = cp;
	return n;
}

size_t text_encode(char *to, uint32_t cp)
{
	if (cp < 0x80) {
		to[0] = (char)cp;
		return 1;
	}
	if (cp < 0x800) {
		to[0] = (char)(0xc0 | cp >> 6);
		to[1] = (char)(0x80 | (cp & 0x3f));
		return 2;
	}
	if (cp < 0x10000) {
		to[0] = (char)(0xe0 | cp >> 12);
		to[1] = (char)(0x80 | (cp >> 6 & 0x3f));
		to[2] = (char)(0x80 | (cp & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | cp >> 18);
	to[1] = (char)(0x80 | (cp >> 12 & 0x3f));
	to[2] = (char)(0x80 | (cp >> 6 & 0x3f));
	to[3] = (char)(0x80 | (cp & 0x3f));
	return 4;
}

struct cp_range {
	uint32_t first, last;
};

/*
 * Format characters (Unicode general category Cf and the separators Zl and Zp) that a C library may
 * call printable, and that reorder, hide or join what stands beside them; and the private and tag
 * areas, which show as nothing.
 */
static const struct cp_range text_hidden[] = {
	{ 0x00ad, 0x00ad },
	{ 0x034f, 0x034f },
	{ 0x0600, 0x0605 },
	{ 0x061c, 0x061c },
	{ 0x06dd, 0x06dd },
	{ 0x070f, 0x070f },
	{ 0x115f, 0x1160 },
	{ 0x17b4, 0x17b5 },
	{ 0x180b, 0x180f },
	{ 0x200b, 0x200f },
	{ 0x2028, 0x202e },
	{ 0x2060, 0x206f },
	{ 0x3164, 0x3164 },
	{ 0xe000, 0xf8ff },
	{ 0xfe00, 0xfe0f },
	{ 0xfeff, 0xfeff },
	{ 0xffa0, 0xffa0 },
	{ 0xfff0, 0xfffb },
	{ 0x1d173, 0x1d17a },
	{ 0xe0000, 0x10ffff },
};

static bool text_cp_hidden(uint32_t cp)
{
	size_t i;

	for (i = 0; i < sizeof(text_hidden) / sizeof(text_hidden[0]); i++)
		if (cp >= text_hidden[i].first && cp <= text_hidden[i].last)
			return true;
	return false;
}

int text_cp_width(uint32_t cp)
{
	if (cp >= 0x20 && cp < 0x7f)
		return 1;
	if (cp < 0xa0 || text_cp_hidden(cp) || !iswprint((wint_t)cp))
		return -1;
	return wcwidth((wchar_t)cp);
}

size_t text_json_escape(char to[TEXT_JSON_MAX], uint32_t cp)
{
	if (text_cp_width(cp) >= 0)
		return 0;
	if (cp < 0x10000)
		return (size_t)snprintf(to, TEXT_JSON_MAX, "\\u%04x", (unsigned)cp);
	cp -= 0x10000;
	return (size_t)snprintf(to, TEXT_JSON_MAX, "\\u%04x\\u%04x",
		(unsigned)(0xd800 + (cp >> 10)), (unsigned)(0xdc00 + (cp & 0x3ff)));
}

/*
 * Whether eight bytes are printable ASCII: no byte above 0x7f; none below 0x20 (a borrow sets its
 * top bit); none 0x7f. And, where `whole` says so, no backslash: of a byte less that, xor, only 0
 * borrows then.
 */
static inline bool word_is_plain(const char *s, bool whole)
{
	const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;
	uint64_t word, other;

	memcpy(&word, s, sizeof(word));
	other = whole ? (word ^ (uint64_t)'\\' * ones) - ones : 0;
	return !((word | (word - 0x20 * ones) | (word + ones) | other) & tops);
}

static inline bool byte_is_plain(char c, bool whole)
{
	return c >= 0x20 && c < 0x7f && !(whole && c == '\\');
}

static inline size_t plain_bytes(const char *s, size_t len, bool whole)
{
	size_t i = 0;

	for (; i + 8 <= len && word_is_plain(s + i, whole); i += 8)
		;
	/* The last eight may overlap those before; so may two halves of less. */
	if (len >= 8 && len - i < 8 && word_is_plain(s + len - 8, whole))
		return len;
	if (len >= 4 && len < 8) {
		char both[8];

		memcpy(both, s, 4);
		memcpy(both + 4, s + len - 4, 4);
		if (word_is_plain(both, whole))
			return len;
	}
	while (i < len && byte_is_plain(s[i], whole))
		i++;
	return i;
}

/* How many bytes at the beginning are printable ASCII: mostly all. */
static size_t text_plain(const char *s, size_t len)
{
	return plain_bytes(s, len, false);
}

/* The same, up to the first backslash. */
static size_t text_unescaped(const char *s, size_t len)
{
	return plain_bytes(s, len, true);
}

/* The character that stands there, or its escape; returns how many bytes it was. */
static size_t text_put(struct str *out, const char *s, size_t len)
{
	uint32_t cp;
	size_t n = text_decode(s, len, &cp), i;

	if (n && text_cp_width(cp) >= 0) {
		str_add_mem(out, s, n);
		return n;
	}
	n = n ? n : 1;
	for (i = 0; i < n; i++)
		str_addf(out, "\\x%02x", (unsigned char)s[i]);
	return n;
}

void text_escape(struct str *out, const void *bytes, size_t len)
{
	const char *s = bytes;
	size_t i = 0;

	while (i < len) {
		size_t run = text_unescaped(s + i, len - i);

		str_add_mem(out, s + i, run);
		i += run;
		if (run || i == len)
			continue;
		if (s[i] == '\\') {
			str_add(out, "\\\\");
			i++;
		} else {
			i += text_put(out, s + i, len - i);
		}
	}
}

/* Where to cut a text that is longer than that: not in the middle of a sequence. */
static size_t text_cut(const char *s, size_t max_bytes)
{
	size_t cut = max_bytes;

	while (cut > 0 && max_bytes - cut < 4 && ((unsigned char)s[cut] & 0xc0) == 0x80)
		cut--;
	return cut;
}

int text_most(const char *s, int max)
{
	size_t len = strnlen(s, (size_t)max + 1);

	return (int)(len > (size_t)max ? text_cut(s, (size_t)max) : len);
}

void text_trim(char *buf)
{
	size_t len = strlen(buf), last = len;
	uint32_t cp;

	while (last && len - last < 3 && ((unsigned char)buf[last - 1] & 0xc0) == 0x80)
		last--;
	if (last && ((unsigned char)buf[last - 1] & 0xc0) == 0xc0 &&
		!text_decode(buf + last - 1, len - last + 1, &cp))
		buf[last - 1] = '\0';
}

void text_escape_again(struct str *out, const char *s, size_t max_bytes)
{
	size_t all = strlen(s), len = all > max_bytes ? text_cut(s, max_bytes) : all, i = 0;

	while (i < len) {
		size_t run = text_plain(s + i, len - i);

		str_add_mem(out, s + i, run);
		i += run;
		if (!run)
			i += text_put(out, s + i, len - i);
	}
	if (len < all)
		str_add(out, "...");
}

bool text_is_plain(const char *s)
{
	size_t len = strlen(s), i = 0, n;
	uint32_t cp;

	while (i < len) {
		n = text_plain(s + i, len - i);
		if (!n) {
			n = text_decode(s + i, len - i, &cp);
			if (!n || text_cp_width(cp) < 0)
				return false;
		}
		i += n;
	}
	return true;
}

const char *text_make_plain(struct str *own, const char *text, size_t max_bytes)
{
	size_t len = text ? strlen(text) : 0;

	/* A byte may become four, and dots follow. */
	str_init(own, 4 * (len < max_bytes ? len : max_bytes) + 4);
	if (!text || (len <= max_bytes && text_is_plain(text)))
		return text;
	text_escape_again(own, text, max_bytes);
	return own->s;
}

void text_fit(char *buf, size_t size, const char *text)
{
	struct str clean;
	const char *from = text;
	size_t len = strlen(text);

	str_init(&clean, 4 * len);
	if (text_plain(text, len) != len) {
		text_escape_again(&clean, text, len);
		from = clean.s;
		len = clean.len;
	}
	if (len >= size)
		len = text_cut(from, size - 1);
	memcpy(buf, from, len);
	buf[len] = '\0';
	str_release(&clean);
}

void text_escape_cut(struct str *out, const void *bytes, size_t len, size_t max_bytes)
{
	size_t cut = len > max_bytes ? text_cut(bytes, max_bytes) : len;

	text_escape(out, bytes, cut);
	if (cut < len)
		str_add(out, "...");
}

const char *text_shown(char *buf, size_t size, const char *text)
{
	struct str shown;

	str_init(&shown, size - 1);
	/* A byte may become four, and dots follow. */
	text_escape_cut(&shown, text, strlen(text), size / 4 - 2);
	snprintf(buf, size, "%s", shown.s);
	str_release(&shown);
	return buf;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

int text_unescape(struct str *out, const char *s)
{
	while (*s) {
		int hi, lo;

		if (*s != '\\') {
			str_add_char(out, *s++);
			continue;
		}
		if (s[1] == '\\') {
			str_add_char(out, '\\');
			s += 2;
			continue;
		}
		if (s[1] != 'x' || (hi = hex_digit(s[2])) < 0 || (lo = hex_digit(s[3])) < 0)
			return ERR_USAGE;
		str_add_char(out, (char)(hi << 4 | lo));
		s += 4;
	}
	return out->full ? ERR_LIMIT : 0;
}

size_t text_width_mem(const char *s, size_t len)
{
	size_t width = text_plain(s, len), n;
	uint32_t cp;

	s += width;
	len -= width;
	while (len) {
		int w;

		n = text_decode(s, len, &cp);
		if (!n)
			n = 1, cp = '?';
		w = text_cp_width(cp);
		width += w < 0 ? 1 : (size_t)w;
		s += n;
		len -= n;
	}
	return width;
}

size_t text_width(const char *s)
{
	return text_width_mem(s, strlen(s));
}

size_t text_distance(const char *a, const char *b, size_t max)
{
	enum {
		LONGEST = 128
	};
	size_t row[LONGEST + 1];
	size_t la = strlen(a), lb = strlen(b), i, j;

	if (la > LONGEST || lb > LONGEST)
		return max + 1;
	for (j = 0; j <= lb; j++)
		row[j] = j;
	for (i = 1; i <= la; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (j = 1; j <= lb; j++) {
			size_t best = diagonal + (a[i - 1] != b[j - 1]);

			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			diagonal = row[j];
			row[j] = best;
		}
	}
	return row[lb] > max ? max + 1 : row[lb];
}
