#include "config.h"

#include "io/yaml.h"
#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

enum {
	YAML_NODES_MAX = 200000,
	YAML_ANCHORS_MAX = 1000,
	YAML_COPIED_MAX = 16 * 1024 * 1024,
	YAML_SHOWN_MAX = 60
};

/* One level of the tree that is being built: a container that is still open. */
struct yaml_level {
	struct yaml_node *node;
	struct yaml_node *key; /* MAP: read, its item still to come */
	struct map keys;       /* MAP: what was seen, to find duplicates */
	size_t again;          /* MAP, lax: the item to come replaces this one, from 1; 0: none */
};

/* What an alias may name. */
struct yaml_anchor {
	char *name;
	const struct yaml_node *node;
};

struct yaml_build {
	yaml_parser_t parser;
	const char *text;
	size_t len;
	const char *file;
	struct err *err;
	struct yaml_node *root;
	struct yaml_level levels[YAML_DEPTH_MAX];
	int depth;
	size_t n_nodes;
	bool ended; /* the first document is over */
	bool lax;
	struct yaml_anchor *anchors; /* lax */
	size_t n_anchors, cap_anchors;
	size_t copied;              /* bytes of texts that aliases stand for */
	struct yaml_node *replaced; /* a list of what later keys replaced: anchors may be in it */
};

static struct yaml_node *yaml_node_new(enum yaml_kind kind, const yaml_mark_t *mark)
{
	struct yaml_node *node = xcalloc(1, sizeof(*node));

	node->kind = kind;
	node->line = mark ? (int)mark->line + 1 : 0;
	node->column = mark ? (int)mark->column + 1 : 0;
	return node;
}

struct yaml_node *yaml_new(enum yaml_kind kind, const char *text)
{
	struct yaml_node *node = yaml_node_new(kind, NULL);

	if (kind == YAML_SCALAR)
		node->text = xstrdup(text ? text : "");
	return node;
}

/* The depth is at most YAML_DEPTH_MAX, whoever made the tree. */
void yaml_node_free(struct yaml_node *node)
{
	size_t i;

	if (!node)
		return;
	for (i = 0; i < node->n; i++) {
		yaml_node_free(node->items[i]);
		if (node->keys)
			yaml_node_free(node->keys[i]);
	}
	free(node->items);
	free(node->keys);
	free(node->text);
	free(node);
}

/* Arrays grow by doubling from 8: their capacity follows from n. */
static bool yaml_is_full(size_t n)
{
	return n == 0 || (n >= 8 && (n & (n - 1)) == 0);
}

static void yaml_append(struct yaml_node *node, struct yaml_node *key, struct yaml_node *item)
{
	if (yaml_is_full(node->n)) {
		size_t cap = node->n ? node->n * 2 : 8;

		node->items = xrealloc(node->items, cap, sizeof(struct yaml_node *));
		if (node->kind == YAML_MAP)
			node->keys = xrealloc(node->keys, cap, sizeof(struct yaml_node *));
	}
	node->items[node->n] = item;
	if (node->kind == YAML_MAP)
		node->keys[node->n] = key;
	node->n++;
}

void yaml_map_add(struct yaml_node *map, const char *key, struct yaml_node *item)
{
	yaml_append(map, yaml_new(YAML_SCALAR, key), item);
}

void yaml_list_add(struct yaml_node *list, struct yaml_node *item)
{
	yaml_append(list, NULL, item);
}

static int yaml_fail(struct yaml_build *b, const yaml_mark_t *mark, const char *text)
{
	return err_set(b->err, ERR_CONFIG, "%s:%zu:%zu: %s", b->file, mark->line + 1,
		mark->column + 1, text);
}

/* Where a byte is, for errors of the reader, which has no mark for them. */
static yaml_mark_t yaml_mark_of(const struct yaml_build *b, size_t offset)
{
	yaml_mark_t mark = { 0, 0, 0 };
	size_t i;

	for (i = 0; i < offset && i < b->len; i++) {
		mark.column++;
		if (b->text[i] == '\n')
			mark.line++, mark.column = 0;
	}
	return mark;
}

static int yaml_fail_parser(struct yaml_build *b)
{
	yaml_mark_t mark = b->parser.problem_mark;
	const char *problem = b->parser.problem ? b->parser.problem : "not YAML";

	if (b->parser.error == YAML_MEMORY_ERROR)
		return err_set(b->err, ERR_NOMEM, "%s: out of memory", b->file);
	if (b->parser.error == YAML_READER_ERROR) {
		mark = yaml_mark_of(b, b->parser.problem_offset);
		return err_set(b->err, ERR_CONFIG, "%s:%zu:%zu: not text in UTF-8: %s", b->file,
			mark.line + 1, mark.column + 1, problem);
	}
	if (b->parser.context)
		return err_set(b->err, ERR_CONFIG,
			"%s:%zu:%zu: not YAML: %s (%s that began in line %zu)", b->file,
			mark.line + 1, mark.column + 1, problem, b->parser.context,
			b->parser.context_mark.line + 1);
	return err_set(b->err, ERR_CONFIG, "%s:%zu:%zu: not YAML: %s", b->file, mark.line + 1,
		mark.column + 1, problem);
}

/* A key of the map that is open. Takes the node over. */
static int yaml_take_key(struct yaml_build *b, struct yaml_level *level, struct yaml_node *key,
	const yaml_mark_t *mark)
{
	struct yaml_node *before;
	struct str shown;
	int rc;

	if (key->kind != YAML_SCALAR) {
		yaml_node_free(key);
		return yaml_fail(b, mark, "a key must be a word, not a list or a map");
	}
	if (b->lax && !key->quoted && strcmp(key->text, "<<") == 0) {
		yaml_node_free(key);
		return yaml_fail(b, mark, "merge keys (<<) are not taken: write the values out");
	}
	before = map_get(&level->keys, key->text, strlen(key->text));
	if (before && b->lax) {
		for (level->again = 1; level->node->keys[level->again - 1] != before;)
			level->again++;
		level->key = key;
		return 0;
	}
	if (!before) {
		map_put(&level->keys, key->text, strlen(key->text), key);
		level->key = key;
		return 0;
	}
	str_init(&shown, 1024);
	text_escape_cut(&shown, key->text, strlen(key->text), YAML_SHOWN_MAX);
	rc = err_set(b->err, ERR_CONFIG,
		"%s:%d:%d: the key '%s' stands here again; first in line %d", b->file, key->line,
		key->column, shown.s, before->line);
	str_release(&shown);
	yaml_node_free(key);
	return rc;
}

/* Puts a finished scalar or a new container where it belongs. Takes the node over. */
static int yaml_place(struct yaml_build *b, struct yaml_node *node, const yaml_mark_t *mark)
{
	struct yaml_level *level;

	if (b->depth == 0) {
		b->root = node;
		return 0;
	}
	level = &b->levels[b->depth - 1];
	if (level->node->kind == YAML_LIST) {
		yaml_append(level->node, NULL, node);
		return 0;
	}
	if (!level->key)
		return yaml_take_key(b, level, node, mark);
	if (level->again) {
		yaml_list_add(b->replaced, level->node->items[level->again - 1]);
		level->node->items[level->again - 1] = node;
		yaml_list_add(b->replaced, level->key);
		level->again = 0;
	} else {
		yaml_append(level->node, level->key, node);
	}
	level->key = NULL;
	return 0;
}

/* ---- aliases ---- */

/* Takes a text of libyaml's; NULL: no anchor. */
static void yaml_anchor_set(struct yaml_build *b, const yaml_char_t *name, struct yaml_node *node)
{
	struct yaml_anchor *anchor;

	/* Of more than that the later ones are not known, and an alias of theirs is refused. */
	if (!name || !b->lax || b->n_anchors == YAML_ANCHORS_MAX)
		return;
	MEM_GROW(b->anchors, b->n_anchors, b->cap_anchors);
	anchor = &b->anchors[b->n_anchors++];
	anchor->name = xstrdup((const char *)name);
	anchor->node = node;
}

/* The newest of that name, as YAML has it. */
static const struct yaml_node *yaml_anchor_find(const struct yaml_build *b, const char *name)
{
	size_t i;

	for (i = b->n_anchors; i > 0; i--)
		if (strcmp(b->anchors[i - 1].name, name) == 0)
			return b->anchors[i - 1].node;
	return NULL;
}

static bool yaml_is_open(const struct yaml_build *b, const struct yaml_node *node)
{
	int i;

	for (i = 0; i < b->depth; i++)
		if (b->levels[i].node == node)
			return true;
	return false;
}

/* NULL when it would be too deep or too much: depth levels are left. */
static struct yaml_node *yaml_copy(struct yaml_build *b, const struct yaml_node *node, int depth)
{
	struct yaml_node *copy;
	size_t i;

	b->copied += node->text ? strlen(node->text) : 0;
	if (++b->n_nodes > YAML_NODES_MAX || b->copied > YAML_COPIED_MAX ||
		(node->kind != YAML_SCALAR && depth <= 0))
		return NULL;
	copy = xcalloc(1, sizeof(*copy));
	copy->kind = node->kind;
	copy->quoted = node->quoted;
	copy->line = node->line;
	copy->column = node->column;
	copy->text = node->text ? xstrdup(node->text) : NULL;
	for (i = 0; i < node->n; i++) {
		struct yaml_node *item = yaml_copy(b, node->items[i], depth - 1);
		struct yaml_node *key = NULL;

		if (item && node->keys) {
			key = yaml_new(YAML_SCALAR, node->keys[i]->text);
			key->line = node->keys[i]->line;
			key->column = node->keys[i]->column;
		}
		if (!item) {
			yaml_node_free(copy);
			return NULL;
		}
		yaml_append(copy, key, item);
	}
	return copy;
}

static int yaml_alias(struct yaml_build *b, const yaml_event_t *event)
{
	const yaml_mark_t *mark = &event->start_mark;
	const struct yaml_node *node;
	struct yaml_node *copy;

	if (!b->lax)
		return yaml_fail(b, mark, "aliases (*name) are not taken: write the value out");
	node = yaml_anchor_find(b, (const char *)event->data.alias.anchor);
	if (!node)
		return yaml_fail(b, mark, "an alias (*name) of what was not named before (&name)");
	if (yaml_is_open(b, node))
		return yaml_fail(b, mark, "an alias (*name) within what it names");
	copy = yaml_copy(b, node, YAML_DEPTH_MAX - b->depth);
	if (!copy)
		return yaml_fail(b, mark,
			"aliases that stand for more than 200000 values, 16 MiB or 32 levels");
	return yaml_place(b, copy, mark);
}

static int yaml_open(struct yaml_build *b, enum yaml_kind kind, const yaml_mark_t *mark,
	const yaml_char_t *anchor)
{
	struct yaml_node *node;
	int rc;

	if (b->depth == YAML_DEPTH_MAX)
		return err_set(b->err, ERR_CONFIG, "%s:%zu:%zu: more than %d levels deep", b->file,
			mark->line + 1, mark->column + 1, YAML_DEPTH_MAX);
	node = yaml_node_new(kind, mark);
	rc = yaml_place(b, node, mark);
	if (rc)
		return rc;
	yaml_anchor_set(b, anchor, node);
	b->levels[b->depth].node = node;
	b->levels[b->depth].key = NULL;
	b->levels[b->depth].again = 0;
	map_init(&b->levels[b->depth].keys);
	b->depth++;
	return 0;
}

static void yaml_close(struct yaml_build *b)
{
	struct yaml_level *level = &b->levels[--b->depth];

	map_release(&level->keys);
	yaml_node_free(level->key);
	level->key = NULL;
}

static int yaml_scalar(struct yaml_build *b, const yaml_event_t *event)
{
	const char *value = (const char *)event->data.scalar.value;
	size_t len = event->data.scalar.length;
	const char *tag = (const char *)event->data.scalar.tag;
	struct yaml_node *node;
	int rc;

	if (memchr(value, '\0', len))
		return yaml_fail(b, &event->start_mark, "a text that holds a NUL byte");
	if (tag && strcmp(tag, YAML_STR_TAG) != 0 && strcmp(tag, "!") != 0)
		return yaml_fail(b, &event->start_mark, "tags are not understood here");
	node = yaml_node_new(YAML_SCALAR, &event->start_mark);
	node->text = xstrndup(value, len);
	node->quoted = tag || event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
	rc = yaml_place(b, node, &event->start_mark);
	if (!rc)
		yaml_anchor_set(b, event->data.scalar.anchor, node);
	return rc;
}

static int yaml_event(struct yaml_build *b, const yaml_event_t *event)
{
	const yaml_mark_t *mark = &event->start_mark;

	if (event->type == YAML_SCALAR_EVENT || event->type == YAML_SEQUENCE_START_EVENT ||
		event->type == YAML_MAPPING_START_EVENT) {
		if (++b->n_nodes > YAML_NODES_MAX)
			return yaml_fail(b, mark, "more than 200000 values");
	}
	switch (event->type) {
	case YAML_DOCUMENT_START_EVENT:
		if (b->ended)
			return yaml_fail(b, mark, "a second document; only one is read");
		return 0;
	case YAML_DOCUMENT_END_EVENT:
		b->ended = true;
		return 0;
	case YAML_ALIAS_EVENT:
		return yaml_alias(b, event);
	case YAML_SCALAR_EVENT:
		return yaml_scalar(b, event);
	case YAML_SEQUENCE_START_EVENT:
		return yaml_open(b, YAML_LIST, mark, event->data.sequence_start.anchor);
	case YAML_MAPPING_START_EVENT:
		return yaml_open(b, YAML_MAP, mark, event->data.mapping_start.anchor);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		yaml_close(b);
		return 0;
	default:
		return 0;
	}
}

static int yaml_run(struct yaml_build *b)
{
	bool end = false;

	while (!end) {
		yaml_event_t event;
		int rc;

		if (!yaml_parser_parse(&b->parser, &event))
			return yaml_fail_parser(b);
		end = event.type == YAML_STREAM_END_EVENT ||
		      (b->lax && event.type == YAML_DOCUMENT_END_EVENT);
		rc = yaml_event(b, &event);
		yaml_event_delete(&event);
		if (rc)
			return rc;
	}
	return 0;
}

static void yaml_build_release(struct yaml_build *b)
{
	size_t i;

	while (b->depth)
		yaml_close(b);
	for (i = 0; i < b->n_anchors; i++)
		free(b->anchors[i].name);
	free(b->anchors);
	yaml_node_free(b->replaced);
}

static int yaml_read(const char *text, size_t len, const char *file, bool lax,
	struct yaml_node **ret_root, struct err *err)
{
	struct yaml_build b = { .file = file, .err = err, .lax = lax };
	int rc;

	/* A byte order mark, as editors on Windows write it, is none of the text. */
	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		text += 3, len -= 3;
	b.text = text;
	b.len = len;
	if (!yaml_parser_initialize(&b.parser))
		return err_set(err, ERR_NOMEM, "%s: out of memory", file);
	b.replaced = lax ? yaml_new(YAML_LIST, NULL) : NULL;
	yaml_parser_set_encoding(&b.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&b.parser, (const unsigned char *)text, len);
	rc = yaml_run(&b);
	yaml_parser_delete(&b.parser);
	yaml_build_release(&b);
	if (rc) {
		yaml_node_free(b.root);
		return rc;
	}
	if (!b.root || yaml_is_null(b.root)) {
		yaml_node_free(b.root);
		b.root = yaml_new(YAML_MAP, NULL);
		b.root->line = b.root->column = 1;
	}
	*ret_root = b.root;
	return 0;
}

int yaml_parse(const char *text, size_t len, const char *file, struct yaml_node **ret_root,
	struct err *err)
{
	return yaml_read(text, len, file, false, ret_root, err);
}

int yaml_parse_lax(const char *text, size_t len, const char *file, struct yaml_node **ret_root,
	struct err *err)
{
	return yaml_read(text, len, file, true, ret_root, err);
}

const struct yaml_node *yaml_get(const struct yaml_node *map, const char *key)
{
	size_t i;

	if (!map || map->kind != YAML_MAP)
		return NULL;
	for (i = 0; i < map->n; i++)
		if (strcmp(map->keys[i]->text, key) == 0)
			return map->items[i];
	return NULL;
}

bool yaml_is_null(const struct yaml_node *node)
{
	if (node->kind != YAML_SCALAR || node->quoted)
		return false;
	return !node->text[0] || strcmp(node->text, "~") == 0 ||
	       strcasecmp(node->text, "null") == 0;
}

bool yaml_bool(const struct yaml_node *node, bool *ret)
{
	static const char *const words[] = { "false", "true", "no", "yes", "off", "on" };
	size_t i;

	if (!node || node->kind != YAML_SCALAR || node->quoted)
		return false;
	for (i = 0; i < ARRAY_LEN(words); i++) {
		if (strcasecmp(node->text, words[i]) != 0)
			continue;
		*ret = i % 2;
		return true;
	}
	return false;
}

bool yaml_int(const struct yaml_node *node, int64_t *ret)
{
	const char *digits;
	char *end;
	long long value;

	if (!node || node->kind != YAML_SCALAR || node->quoted)
		return false;
	digits = node->text + (node->text[0] == '-' || node->text[0] == '+');
	if (*digits < '0' || *digits > '9')
		return false;
	errno = 0;
	value = strtoll(node->text, &end, str_starts(digits, "0x") ? 16 : 10);
	if (errno || *end)
		return false;
	*ret = value;
	return true;
}

static int64_t yaml_unit_ms(const char *unit)
{
	static const struct {
		const char *unit;
		int64_t ms;
	} units[] = { { "", 1000 }, { "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 },
		{ "d", 86400000 } };
	size_t i;

	for (i = 0; i < ARRAY_LEN(units); i++)
		if (strcmp(units[i].unit, unit) == 0)
			return units[i].ms;
	return -1;
}

bool yaml_duration_text_ms(const char *text, int64_t *ret_ms)
{
	const int64_t limit = INT64_C(36500) * 86400000; /* a hundred years */
	int64_t whole = 0, part = 0, scale = 1, unit;

	if (*text < '0' || *text > '9')
		return false;
	for (; *text >= '0' && *text <= '9'; text++) {
		whole = whole * 10 + (*text - '0');
		if (whole > limit)
			return false;
	}
	if (*text == '.')
		for (text++; *text >= '0' && *text <= '9'; text++)
			if (scale < 1000)
				part = part * 10 + (*text - '0'), scale *= 10;
	unit = yaml_unit_ms(text);
	if (unit < 0 || whole > limit / unit)
		return false;
	*ret_ms = whole * unit + part * unit / scale;
	return true;
}

bool yaml_duration_ms(const struct yaml_node *node, int64_t *ret_ms)
{
	return node && node->kind == YAML_SCALAR && yaml_duration_text_ms(node->text, ret_ms);
}
