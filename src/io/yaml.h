#ifndef IO_YAML_H
#define IO_YAML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

enum yaml_kind {
	YAML_SCALAR,
	YAML_LIST,
	YAML_MAP
};

/*
 * A YAML document as a tree, read by libyaml, with the place of each node for messages. Aliases are
 * refused (a few lines of them can stand for gigabytes), so are more than YAML_DEPTH_MAX levels,
 * duplicate keys, and several documents. All texts are sanitised for showing by whoever shows them,
 * not here.
 */
struct yaml_node {
	enum yaml_kind kind;
	bool quoted;      /* a scalar in quotes is text, whatever it looks like */
	int line, column; /* from 1 */
	char *text;       /* SCALAR */
	size_t n;         /* LIST and MAP: children */
	struct yaml_node **items;
	struct yaml_node **keys; /* MAP: the key of each item, scalars */
};

enum {
	YAML_DEPTH_MAX = 32
};

/* Parses text; file is only for messages ("file:3:7: ..."). An empty document gives an empty map.
 * The caller frees. */
int yaml_parse(const char *text, size_t len, const char *file, struct yaml_node **ret_root,
	struct err *err);
/*
 * The same as programs in Go read YAML 1.1 (and kubectl its files): an alias stands for a copy of
 * what it names, as long as the caps allow it; of a key that stands twice the last counts; what
 * follows the first document is not looked at. Merge keys (<<) are refused.
 */
int yaml_parse_lax(const char *text, size_t len, const char *file, struct yaml_node **ret_root,
	struct err *err);
/* (libyaml itself exports yaml_free.) */
void yaml_node_free(struct yaml_node *node);

/* For sources that no file names. The caller frees; add hands the item over. */
struct yaml_node *yaml_new(enum yaml_kind kind, const char *text);
void yaml_map_add(struct yaml_node *map, const char *key, struct yaml_node *item);
void yaml_list_add(struct yaml_node *list, struct yaml_node *item);

/* The item of a key, or NULL; map may be NULL. */
const struct yaml_node *yaml_get(const struct yaml_node *map, const char *key);

/* Whether nothing was written where a value could stand: "key:", "~" or "null". */
bool yaml_is_null(const struct yaml_node *node);

/*
 * What a node is to programs that take YAML 1.1's types at their word, such as those in Go: `yes`
 * and `y` are no texts there unless in quotes, nor is 0x1f or 1_000.
 */
enum yaml_type {
	YAML_TYPE_NULL,
	YAML_TYPE_BOOL,
	YAML_TYPE_NUMBER,
	YAML_TYPE_TEXT,
	YAML_TYPE_LIST,
	YAML_TYPE_MAP
};
enum yaml_type yaml_type_of(const struct yaml_node *node);

/*
 * Reads a scalar as what it should be; false when it is not that. Durations: 500ms, 10s, 1.5s, 5m,
 * 2h, 1d, or bare seconds; never negative, at most a hundred years.
 */
bool yaml_bool(const struct yaml_node *node, bool *ret);
bool yaml_int(const struct yaml_node *node, int64_t *ret);
bool yaml_duration_ms(const struct yaml_node *node, int64_t *ret_ms);
bool yaml_duration_text_ms(const char *text, int64_t *ret_ms);

#endif
