#include "config.h"

#include "io/json-tree.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/text.h"
#include "io/json-read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	KEPT_NODES = 64 * 1024, /* what one text needed beyond that is given back */
	FEW_MEMBERS = 32,       /* so many names are compared with each other */
};

/* An object or a list whose end was not read yet. */
struct open_node {
	uint32_t at, last; /* its own index, and that of its last part */
};

struct tree_reader {
	struct json_tree *tree;
	char *at, *end; /* *end is NUL */
	char *name;     /* of the value that comes next; NULL: it has none */
	uint32_t name_len;
	unsigned depth;
	struct open_node open[JSON_TREE_DEPTH_MAX];
};

void json_tree_init(struct json_tree *t)
{
	*t = (struct json_tree){ .nodes = NULL };
}

void json_tree_release(struct json_tree *t)
{
	free(t->nodes);
	json_tree_init(t);
}

/* ---- texts ---- */

static bool is_plain(char c)
{
	return (unsigned char)c >= 0x20 && (unsigned char)c < 0x80 && c != '"' && c != '\\';
}

/* Behind \u. The code point; -1: it is none that a text can hold. */
static int32_t read_unicode(char **at, const char *end)
{
	int32_t high = json_hex4(*at, end), low;

	if (high <= 0 || (high >= 0xdc00 && high <= 0xdfff))
		return -1;
	*at += 4;
	if (high < 0xd800 || high > 0xdfff)
		return high;
	if ((*at)[0] != '\\' || (*at)[1] != 'u')
		return -1;
	low = json_hex4(*at + 2, end);
	if (low < 0xdc00 || low > 0xdfff)
		return -1;
	*at += 6;
	return 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
}

/* Behind a backslash: writes what the escape stands for, which is shorter. Returns its length; 0:
 * there is no such escape. */
static size_t read_escape(char **at, const char *end, char *to)
{
	static const char from[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
	char c = *(*at)++;
	const char *found;
	int32_t cp;

	if (c == 'u') {
		cp = read_unicode(at, end);
		return cp < 0 ? 0 : text_encode(to, (uint32_t)cp);
	}
	found = c ? strchr(from, c) : NULL;
	if (!found)
		return 0;
	*to = means[found - from];
	return 1;
}

/* Behind the first quote. False: it holds what no text may hold, or has no end. */
static bool read_text(struct tree_reader *r, char **ret, uint32_t *ret_len)
{
	char *p = r->at, *to;
	uint32_t cp;
	size_t n;

	while (is_plain(*p))
		p++;
	for (to = p; *p != '"'; to += n) {
		if (is_plain(*p)) {
			*to = *p++;
			n = 1;
			continue;
		}
		if (*p == '\\') {
			p++;
			n = read_escape(&p, r->end, to);
			if (!n)
				return false;
			continue;
		}
		n = text_decode(p, (size_t)(r->end - p), &cp);
		if (!n || cp < 0x20)
			return false;
		memmove(to, p, n);
		p += n;
	}
	*to = '\0';
	*ret = r->at;
	*ret_len = (uint32_t)(to - r->at);
	r->at = p + 1;
	return true;
}

/* ---- values ---- */

/* The next byte that is no space. */
static char next_byte(struct tree_reader *r)
{
	while (*r->at == ' ' || *r->at == '\n' || *r->at == '\r' || *r->at == '\t')
		r->at++;
	return *r->at;
}

static struct json_node *add_node(struct tree_reader *r, enum json_kind kind)
{
	struct json_tree *t = r->tree;
	struct json_node *node;

	MEM_GROW(t->nodes, t->n, t->cap);
	node = &t->nodes[t->n];
	*node = (struct json_node){ .name = r->name, .name_len = r->name_len, .kind = kind };
	if (r->depth) {
		struct open_node *around = &r->open[r->depth - 1];

		if (t->nodes[around->at].len++)
			t->nodes[around->last].next = (int32_t)(t->n - around->last);
		else
			t->nodes[around->at].first = 1;
		around->last = (uint32_t)t->n;
	}
	t->n++;
	r->name = NULL;
	r->name_len = 0;
	return node;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Walks over digits; false: there is none. */
static bool skip_digits(struct tree_reader *r)
{
	const char *start = r->at;

	while (is_digit(*r->at))
		r->at++;
	return r->at > start;
}

/* False: it is beyond 64 bits. */
static bool whole_number(const char *s, const char *end, int64_t *ret)
{
	bool minus = *s == '-';
	int64_t value = 0;

	/* Its negative is reckoned, as that of INT64_MIN has no other. */
	for (s += minus; s < end; s++)
		if (__builtin_mul_overflow(value, 10, &value) ||
			__builtin_sub_overflow(value, *s - '0', &value))
			return false;
	if (!minus && value == INT64_MIN)
		return false;
	*ret = minus ? value : -value;
	return true;
}

/* Behind its whole part. */
static bool read_real(struct tree_reader *r, const char *start)
{
	if (*r->at == '.') {
		r->at++;
		if (!skip_digits(r))
			return false;
	}
	if (*r->at == 'e' || *r->at == 'E') {
		r->at++;
		r->at += *r->at == '+' || *r->at == '-';
		if (!skip_digits(r))
			return false;
	}
	if (isinf(strtod(start, NULL)))
		return false;
	add_node(r, JSON_KIND_REAL);
	return true;
}

static bool read_number(struct tree_reader *r)
{
	const char *start = r->at;
	int64_t number;

	r->at += *r->at == '-';
	if (*r->at == '0')
		r->at++;
	else if (!skip_digits(r))
		return false;
	if (*r->at == '.' || *r->at == 'e' || *r->at == 'E')
		return read_real(r, start);
	if (!whole_number(start, r->at, &number))
		return false;
	add_node(r, JSON_KIND_NUMBER)->number = number;
	return true;
}

static bool read_word(struct tree_reader *r)
{
	static const struct {
		const char *word;
		enum json_kind kind;
	} words[] = {
		{ "true", JSON_KIND_TRUE },
		{ "false", JSON_KIND_FALSE },
		{ "null", JSON_KIND_NULL },
	};
	size_t i, len;

	for (i = 0; i < ARRAY_LEN(words); i++) {
		len = strlen(words[i].word);
		if (strncmp(r->at, words[i].word, len) != 0)
			continue;
		r->at += len;
		add_node(r, words[i].kind);
		return true;
	}
	return false;
}

static bool read_scalar(struct tree_reader *r)
{
	struct json_node *node;
	uint32_t len;
	char *text;

	if (*r->at != '"')
		return *r->at == '-' || is_digit(*r->at) ? read_number(r) : read_word(r);
	r->at++;
	/* Only then a node is added: it takes the name that was read before. */
	if (!read_text(r, &text, &len))
		return false;
	node = add_node(r, JSON_KIND_TEXT);
	node->text = text;
	node->len = len;
	return true;
}

/* ---- names that stand twice ---- */

static struct json_node *next_of(struct json_node *node)
{
	return node->next ? node + node->next : NULL;
}

static bool same_name(const struct json_node *a, const struct json_node *b)
{
	return a->name_len == b->name_len && memcmp(a->name, b->name, a->name_len) == 0;
}

/* The member with the name of one behind it; NULL: that is the first. */
static struct json_node *earlier(struct map *names, struct json_node *object, struct json_node *m)
{
	struct json_node *p;

	if (object->len > FEW_MEMBERS) {
		p = map_get(names, m->name, m->name_len);
		if (!p)
			map_put(names, m->name, m->name_len, m);
		return p;
	}
	for (p = object + object->first; p != m; p = next_of(p))
		if (same_name(p, m))
			return p;
	return NULL;
}

/* What stands in the first one's place is what the last one says. What is within it lies where it
 * did: the way to it is as much longer. */
static void take_over(struct json_node *first, const struct json_node *last)
{
	struct json_node taken = *last;

	taken.next = first->next;
	taken.name = first->name;
	if (taken.first)
		taken.first += (int32_t)(last - first);
	*first = taken;
}

static void drop_doubles(struct json_node *object)
{
	struct json_node *m = object + object->first, *before = NULL, *next;
	uint32_t dropped = 0;
	struct map names;

	/* It draws its key from the kernel, which takes as long as a line does. */
	if (object->len > FEW_MEMBERS)
		map_init(&names);
	for (; m; m = next) {
		struct json_node *first = earlier(&names, object, m);

		next = next_of(m);
		if (!first) {
			before = m;
			continue;
		}
		take_over(first, m);
		before->next = next ? (int32_t)(next - before) : 0;
		dropped++;
	}
	if (object->len > FEW_MEMBERS)
		map_release(&names);
	object->len -= dropped;
}

/* ---- objects and lists ---- */

enum step {
	STEP_BAD,
	STEP_VALUE, /* a value comes next */
	STEP_AFTER, /* one was read */
	STEP_OVER,
};

/* A member's name, up to its value. */
static enum step read_name(struct tree_reader *r)
{
	if (next_byte(r) != '"')
		return STEP_BAD;
	r->at++;
	if (!read_text(r, &r->name, &r->name_len) || next_byte(r) != ':')
		return STEP_BAD;
	r->at++;
	return STEP_VALUE;
}

static enum step leave(struct tree_reader *r)
{
	struct json_node *node = &r->tree->nodes[r->open[--r->depth].at];

	r->at++;
	if (node->kind == JSON_KIND_OBJECT && node->len > 1)
		drop_doubles(node);
	return STEP_AFTER;
}

static enum step enter(struct tree_reader *r, bool object)
{
	add_node(r, object ? JSON_KIND_OBJECT : JSON_KIND_LIST);
	r->open[r->depth++] = (struct open_node){ .at = (uint32_t)r->tree->n - 1 };
	r->at++;
	if (next_byte(r) == (object ? '}' : ']'))
		return leave(r);
	return object ? read_name(r) : STEP_VALUE;
}

static enum step read_value(struct tree_reader *r)
{
	char c = next_byte(r);

	if (r->depth == JSON_TREE_DEPTH_MAX)
		return STEP_BAD;
	if (c == '{' || c == '[')
		return enter(r, c == '{');
	/* A text is an object or a list. */
	return r->depth && read_scalar(r) ? STEP_AFTER : STEP_BAD;
}

static enum step go_on(struct tree_reader *r)
{
	char c = next_byte(r);
	bool object;

	if (!r->depth)
		return r->at == r->end ? STEP_OVER : STEP_BAD;
	object = r->tree->nodes[r->open[r->depth - 1].at].kind == JSON_KIND_OBJECT;
	if (c == (object ? '}' : ']'))
		return leave(r);
	if (c != ',')
		return STEP_BAD;
	r->at++;
	return object ? read_name(r) : STEP_VALUE;
}

const struct json_node *json_tree_read(struct json_tree *t, char *text, size_t len)
{
	struct tree_reader r;
	enum step step = STEP_VALUE;

	if (len > INT32_MAX)
		return NULL;
	if (t->cap > KEPT_NODES)
		json_tree_release(t);
	t->n = 0;
	text[len] = '\0';
	r.tree = t;
	r.at = text;
	r.end = text + len;
	r.name = NULL;
	r.name_len = 0;
	r.depth = 0;
	while (step == STEP_VALUE || step == STEP_AFTER)
		step = step == STEP_VALUE ? read_value(&r) : go_on(&r);
	return step == STEP_OVER ? t->nodes : NULL;
}

/* ---- looking at it ---- */

bool json_node_is(const struct json_node *node, enum json_kind kind)
{
	return node && node->kind == kind;
}

const struct json_node *json_node_get(const struct json_node *object, const char *name)
{
	const struct json_node *m;
	size_t len;

	if (!json_node_is(object, JSON_KIND_OBJECT))
		return NULL;
	len = strlen(name);
	for (m = json_node_first(object); m; m = json_node_next(m))
		if (m->name_len == len && memcmp(m->name, name, len) == 0)
			return m;
	return NULL;
}

const struct json_node *json_node_first(const struct json_node *list)
{
	return list && list->first ? list + list->first : NULL;
}

const struct json_node *json_node_next(const struct json_node *node)
{
	return node->next ? node + node->next : NULL;
}

size_t json_node_count(const struct json_node *list)
{
	return json_node_is(list, JSON_KIND_LIST) ? list->len : 0;
}

const char *json_node_text(const struct json_node *node)
{
	return json_node_is(node, JSON_KIND_TEXT) ? node->text : NULL;
}
