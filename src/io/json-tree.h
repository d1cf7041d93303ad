#ifndef IO_JSON_TREE_H
#define IO_JSON_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * JSON (RFC 8259) that is read whole and strictly, as a tree that lies flat in one array: for many
 * lines, one after another, of which nearly all is looked at. What is valid, and what is read of
 * it, is the same as jansson's: an object or a list, of valid UTF-8, without NUL, lone surrogates,
 * whole numbers beyond 64 bits and others beyond a double's; of members with the same name the last
 * counts, in the place of the first. Nothing here calls itself.
 */
enum {
	JSON_TREE_DEPTH_MAX = 2048, /* values within each other: what is deeper is not valid */
};

enum json_kind {
	JSON_KIND_OBJECT,
	JSON_KIND_LIST,
	JSON_KIND_TEXT,
	JSON_KIND_NUMBER, /* a whole one */
	JSON_KIND_REAL,   /* another one, which is not kept */
	JSON_KIND_TRUE,
	JSON_KIND_FALSE,
	JSON_KIND_NULL,
};

/* A value. Those that follow each other are linked by how far one lies behind the other. */
struct json_node {
	const char *name; /* of an object's member, ended by NUL; else NULL */
	union {
		const char *text; /* ended by NUL */
		int64_t number;
	};
	uint32_t name_len;
	uint32_t len;        /* bytes of a text; members of an object; items of a list */
	int32_t first, next; /* 0: there is none */
	enum json_kind kind;
};

struct json_tree {
	struct json_node *nodes;
	size_t n, cap;
};

void json_tree_init(struct json_tree *t);
void json_tree_release(struct json_tree *t);
/*
 * Reads a text of len bytes; its texts are decoded where they stand, and text[len], which is there
 * for that, becomes NUL. The tree is valid until the next call, and as long as the text is. NULL:
 * it is not valid JSON; the text is changed all the same.
 */
const struct json_node *json_tree_read(struct json_tree *t, char *text, size_t len);

/* These take NULL as a value that is not there: it is of no type, and has no parts. */

bool json_node_is(const struct json_node *node, enum json_kind kind);
/* Its member of that name; NULL: it has none, or is no object. */
const struct json_node *json_node_get(const struct json_node *object, const char *name);
/* The first member or item, and the one behind another; NULL: there is none. */
const struct json_node *json_node_first(const struct json_node *list);
const struct json_node *json_node_next(const struct json_node *node);
/* How many items a list has; 0 where it is none. */
size_t json_node_count(const struct json_node *list);
/* NULL where it is no text. */
const char *json_node_text(const struct json_node *node);

#endif
