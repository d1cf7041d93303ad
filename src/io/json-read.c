#include "config.h"

#include "io/json-read.h"
#include "base/text.h"

#include <limits.h>
#include <string.h>

enum {
	SHOWN_MAX = 40,
	NAME_MAX_BYTES = 1024
};

/* ---- one value ---- */

enum byte_class {
	BYTE_OTHER,
	BYTE_QUOTE,
	BYTE_OPEN,
	BYTE_CLOSE
};

static const unsigned char classes[UCHAR_MAX + 1] = {
	['"'] = BYTE_QUOTE,
	['{'] = BYTE_OPEN,
	['['] = BYTE_OPEN,
	['}'] = BYTE_CLOSE,
	[']'] = BYTE_CLOSE,
};

enum scan_result {
	SCAN_MORE, /* the value goes on beyond the text */
	SCAN_DONE,
	SCAN_BAD /* a bracket that does not fit, or too many of them */
};

static bool is_space(char c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static bool ends_scalar(char c)
{
	return c == ',' || c == ']' || c == '}' || is_space(c);
}

static const char *scan_string(struct json_scan *s, const char *at, const char *end)
{
	while (at < end) {
		if (s->escape) {
			s->escape = false;
			at++;
			continue;
		}
		while (at < end && *at != '"' && *at != '\\')
			at++;
		if (at == end)
			break;
		if (*at++ == '\\') {
			s->escape = true;
			continue;
		}
		s->in_string = false;
		break;
	}
	return at;
}

static bool scan_open(struct json_scan *s, bool array)
{
	uint64_t bit = UINT64_C(1) << (s->depth % 64);

	if (s->depth == JSON_DEPTH_MAX)
		return false;
	if (array)
		s->open[s->depth / 64] |= bit;
	else
		s->open[s->depth / 64] &= ~bit;
	s->depth++;
	return true;
}

static bool scan_close(struct json_scan *s, bool array)
{
	if (!s->depth)
		return false;
	s->depth--;
	return ((s->open[s->depth / 64] >> (s->depth % 64)) & 1) == array;
}

/* Begins with the value's first byte; *at is moved behind what belongs to it. */
static enum scan_result scan(struct json_scan *s, const char **at, const char *end)
{
	const char *p = *at;
	enum scan_result result = SCAN_MORE;

	while (result == SCAN_MORE) {
		if (s->in_string) {
			p = scan_string(s, p, end);
			if (!s->in_string && !s->depth)
				result = SCAN_DONE;
			else if (p == end)
				break;
			continue;
		}
		if (s->depth)
			while (p < end && classes[(unsigned char)*p] == BYTE_OTHER)
				p++;
		if (p == end)
			break;
		switch (classes[(unsigned char)*p]) {
		case BYTE_QUOTE:
			s->in_string = true;
			p++;
			break;
		case BYTE_OPEN:
			if (!scan_open(s, *p++ == '['))
				result = SCAN_BAD;
			break;
		case BYTE_CLOSE:
			if (s->scalar && !s->depth)
				result = SCAN_DONE;
			else if (!scan_close(s, *p++ == ']'))
				result = SCAN_BAD;
			else if (!s->depth)
				result = SCAN_DONE;
			break;
		default:
			s->scalar = true;
			if (ends_scalar(*p))
				result = SCAN_DONE;
			else
				p++;
		}
	}
	*at = p;
	return result;
}

/* ---- the cursor ---- */

void json_read_init(struct json_read *r, const char *text, size_t len)
{
	*r = (struct json_read){ .at = text, .end = text + len };
}

static void read_bad(struct json_read *r)
{
	r->bad = true;
	r->at = r->end;
}

/* The next byte that means something; commas and spaces only separate. */
static char read_next(struct json_read *r)
{
	while (r->at < r->end && (is_space(*r->at) || *r->at == ','))
		r->at++;
	return r->at < r->end ? *r->at : '\0';
}

char json_peek(struct json_read *r)
{
	char c = read_next(r);

	if (c == '-' || (c >= '0' && c <= '9'))
		return '0';
	return c && strchr("{[\"tfn", c) ? c : '\0';
}

struct json_text json_raw(struct json_read *r)
{
	struct json_scan s = { .depth = 0 };
	struct json_text text = { .s = "" };
	const char *start;

	if (!json_peek(r)) {
		read_bad(r);
		return text;
	}
	start = r->at;
	switch (scan(&s, &r->at, r->end)) {
	case SCAN_MORE:
		/* A number may end with the text. */
		if (!s.scalar || s.depth || s.in_string) {
			read_bad(r);
			return text;
		}
		break;
	case SCAN_BAD:
		read_bad(r);
		return text;
	case SCAN_DONE:
		break;
	}
	text.s = start;
	text.len = (size_t)(r->at - start);
	return text;
}

void json_skip(struct json_read *r)
{
	json_raw(r);
}

static bool read_enter(struct json_read *r, char bracket)
{
	char c = json_peek(r);

	if (c == bracket) {
		r->at++;
		return true;
	}
	json_skip(r);
	return false;
}

bool json_read_object(struct json_read *r)
{
	return read_enter(r, '{');
}

bool json_read_array(struct json_read *r)
{
	return read_enter(r, '[');
}

bool json_read_item(struct json_read *r)
{
	char c = read_next(r);

	if (c == ']') {
		r->at++;
		return false;
	}
	if (json_peek(r))
		return true;
	read_bad(r);
	return false;
}

bool json_read_string(struct json_read *r, struct json_text *ret)
{
	struct json_text raw;
	bool string = json_peek(r) == '"';

	raw = json_raw(r);
	if (!string || r->bad)
		return false;
	ret->s = raw.s + 1;
	ret->len = raw.len - 2;
	ret->escaped = memchr(ret->s, '\\', ret->len) != NULL;
	return true;
}

bool json_read_member(struct json_read *r, struct json_text *ret)
{
	char c = read_next(r);

	if (c == '}') {
		r->at++;
		return false;
	}
	if (c != '"' || !json_read_string(r, ret) || read_next(r) != ':') {
		read_bad(r);
		return false;
	}
	r->at++;
	return true;
}

static bool parse_int(const char *s, size_t len, int64_t *ret)
{
	bool minus = len && *s == '-';
	int64_t value = 0;
	size_t i = minus;

	if (i == len)
		return false;
	for (; i < len; i++) {
		if (s[i] < '0' || s[i] > '9' || __builtin_mul_overflow(value, 10, &value) ||
			__builtin_sub_overflow(value, s[i] - '0', &value))
			return false;
	}
	if (!minus && value == INT64_MIN)
		return false;
	*ret = minus ? value : -value;
	return true;
}

bool json_read_int(struct json_read *r, int64_t *ret)
{
	bool number = json_peek(r) == '0';
	struct json_text raw = json_raw(r);

	return number && !r->bad && parse_int(raw.s, raw.len, ret);
}

bool json_read_bool(struct json_read *r, bool *ret)
{
	struct json_text raw = json_raw(r);
	bool yes = json_is(&raw, "true");

	if (!yes && !json_is(&raw, "false"))
		return false;
	*ret = yes;
	return true;
}

bool json_is(const struct json_text *text, const char *word)
{
	return strlen(word) == text->len && memcmp(text->s, word, text->len) == 0;
}

/* ---- strings ---- */

enum {
	CP_REPLACEMENT = 0xfffd
};

int32_t json_hex4(const char *s, const char *end)
{
	int32_t value = 0;
	int i;

	if (end - s < 4)
		return -1;
	for (i = 0; i < 4; i++) {
		char c = s[i];

		if (c >= '0' && c <= '9')
			value = value * 16 + (c - '0');
		else if (c >= 'a' && c <= 'f')
			value = value * 16 + (c - 'a' + 10);
		else if (c >= 'A' && c <= 'F')
			value = value * 16 + (c - 'A' + 10);
		else
			return -1;
	}
	return value;
}

/* An escape of the form \uXXXX, behind its u; two of them where they make one character. */
static uint32_t decode_unicode(const char **at, const char *end)
{
	int32_t high = json_hex4(*at, end), low;

	if (high < 0)
		return CP_REPLACEMENT;
	*at += 4;
	if (high < 0xd800 || high > 0xdfff)
		return (uint32_t)high;
	if (high > 0xdbff || end - *at < 6 || (*at)[0] != '\\' || (*at)[1] != 'u')
		return CP_REPLACEMENT;
	low = json_hex4(*at + 2, end);
	if (low < 0xdc00 || low > 0xdfff)
		return CP_REPLACEMENT;
	*at += 6;
	return 0x10000 + ((uint32_t)(high - 0xd800) << 10) + (uint32_t)(low - 0xdc00);
}

static uint32_t decode_escape(const char **at, const char *end)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *found;
	char c = *(*at)++;

	if (c == 'u')
		return decode_unicode(at, end);
	found = c ? strchr(from, c) : NULL;
	/* An escape of two bytes must not become one of three. */
	return found ? (uint32_t)to[found - from] : '?';
}

size_t json_decode(char *to, const struct json_text *text)
{
	const char *at = text->s, *end = text->s + text->len;
	char *start = to;

	if (!text->escaped) {
		memcpy(to, text->s, text->len);
		return text->len;
	}
	while (at < end) {
		if (*at != '\\') {
			*to++ = *at++;
			continue;
		}
		at++;
		if (at < end && *at == 'u' && json_hex4(at + 1, end) < 0) {
			*to++ = '?';
			at++;
		} else if (at < end) {
			to += text_encode(to, decode_escape(&at, end));
		}
	}
	return (size_t)(to - start);
}

/* ---- a long list ---- */

enum list_state {
	LIST_START,
	LIST_NAME,    /* a member's name, or the end, comes next */
	LIST_IN_NAME, /* within it */
	LIST_COLON,
	LIST_VALUE, /* a member's value comes next */
	LIST_IN_VALUE,
	LIST_ITEM, /* an item, or the list's end, comes next */
	LIST_IN_ITEM,
	LIST_OVER
};

void json_list_init(struct json_list *l, const char *list, size_t max,
	const struct json_list_ops *ops, void *arg)
{
	memset(l, 0, sizeof(*l));
	l->ops = ops;
	l->arg = arg;
	l->list = list;
	l->max = max;
	str_init(&l->hold, max);
	str_init(&l->name, NAME_MAX_BYTES);
}

void json_list_release(struct json_list *l)
{
	str_release(&l->hold);
	str_release(&l->name);
}

static int list_bad(const char *at, const char *end, struct err *err)
{
	struct str shown;
	int rc;

	str_init(&shown, (size_t)SHOWN_MAX * 5);
	text_escape_cut(&shown, at, (size_t)(end - at), SHOWN_MAX);
	rc = err_set(err, ERR_PROTO, "the answer is no JSON list where it says \"%s\"", shown.s);
	str_release(&shown);
	return rc;
}

/* A value is whole: tells it. */
static int list_whole(struct json_list *l, const char *text, size_t len, struct err *err)
{
	struct json_text name = { .s = l->name.s, .len = l->name.len };

	switch (l->state) {
	case LIST_IN_NAME:
		str_clear(&l->name);
		str_add_mem(&l->name, text + 1, len - 2);
		l->state = LIST_COLON;
		return 0;
	case LIST_IN_ITEM:
		l->items++;
		l->state = LIST_ITEM;
		return l->ops->item(l->arg, text, len, err);
	default:
		l->state = LIST_NAME;
		return l->ops->member ? l->ops->member(l->arg, &name, text, len, err) : 0;
	}
}

/* Goes on in a value; what is not whole yet is held. */
static int list_value(struct json_list *l, const char **at, const char *end, struct err *err)
{
	const char *start = *at;
	enum scan_result result = scan(&l->scan, at, end);
	size_t len = (size_t)(*at - start);
	int rc;

	if (result == SCAN_BAD)
		return l->scan.depth == JSON_DEPTH_MAX
			       ? err_set(err, ERR_LIMIT,
					 "the answer is nested deeper than %d levels",
					 JSON_DEPTH_MAX)
			       : list_bad(start, end, err);
	if (l->hold.len + len > l->max)
		return err_set(err, ERR_LIMIT, "one object of the answer is larger than %zu MiB",
			l->max >> 20);
	if (result == SCAN_DONE && !l->hold.len)
		return list_whole(l, start, len, err);
	str_add_mem(&l->hold, start, len);
	if (result == SCAN_MORE)
		return 0;
	rc = list_whole(l, l->hold.s, l->hold.len, err);
	str_clear(&l->hold);
	return rc;
}

static void list_begin_value(struct json_list *l, enum list_state state)
{
	l->scan = (struct json_scan){ .depth = 0 };
	l->state = state;
}

/* A byte that stands between values. Returns 0 when it is taken, 1 when a value begins with it. */
static int list_between(struct json_list *l, char c)
{
	switch (l->state) {
	case LIST_START:
		l->state = LIST_NAME;
		return c == '{' ? 0 : ERR_PROTO;
	case LIST_NAME:
		if (c == '}')
			l->state = LIST_OVER;
		else if (c == '"')
			list_begin_value(l, LIST_IN_NAME);
		else
			return c == ',' ? 0 : ERR_PROTO;
		return c == '"';
	case LIST_COLON:
		l->state = LIST_VALUE;
		return c == ':' ? 0 : ERR_PROTO;
	case LIST_VALUE:
		if (c == '[' && strcmp(l->name.s, l->list) == 0) {
			l->state = LIST_ITEM;
			return 0;
		}
		if (ends_scalar(c) || c == ':')
			return ERR_PROTO;
		list_begin_value(l, LIST_IN_VALUE);
		return 1;
	case LIST_ITEM:
		if (c == ',')
			return 0;
		if (c == ']') {
			l->state = LIST_NAME;
			return 0;
		}
		if (c == '}' || c == ':')
			return ERR_PROTO;
		list_begin_value(l, LIST_IN_ITEM);
		return 1;
	default:
		return ERR_PROTO;
	}
}

int json_list_take(struct json_list *l, const char *bytes, size_t len, struct err *err)
{
	const char *at = bytes, *end = bytes + len;
	int rc = 0;

	while (at < end && !rc) {
		if (l->state == LIST_IN_NAME || l->state == LIST_IN_VALUE ||
			l->state == LIST_IN_ITEM) {
			rc = list_value(l, &at, end, err);
			continue;
		}
		if (is_space(*at)) {
			at++;
			continue;
		}
		rc = list_between(l, *at);
		if (rc < 0)
			return list_bad(at, end, err);
		at += !rc;
		rc = 0;
	}
	return rc;
}

int json_list_end(const struct json_list *l, struct err *err)
{
	if (l->state == LIST_OVER)
		return 0;
	if (l->state == LIST_START)
		return err_set(err, ERR_PROTO, "the answer is empty");
	return err_set(err, ERR_PROTO,
		"the answer was cut: it ends in its midst, after %zu objects", l->items);
}
