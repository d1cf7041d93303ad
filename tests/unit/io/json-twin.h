#ifndef TESTS_UNIT_IO_JSON_TWIN_H
#define TESTS_UNIT_IO_JSON_TWIN_H

#include "base/mem.h"
#include "io/json-tree.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* Whether a text is to json-tree.h what it is to jansson: for the unit test and the fuzzer. */

static inline bool twin_same(const json_t *theirs, const struct json_node *ours);

static inline bool twin_same_members(const json_t *theirs, const struct json_node *ours)
{
	const struct json_node *m = json_node_first(ours);
	const char *name;
	json_t *value;

	if (json_object_size(theirs) != ours->len)
		return false;
	json_object_foreach((json_t *)(uintptr_t)theirs, name, value)
	{
		if (!m || strcmp(m->name, name) != 0 || strlen(name) != m->name_len ||
			!twin_same(value, m) || json_node_get(ours, name) != m)
			return false;
		m = json_node_next(m);
	}
	return !m;
}

static inline bool twin_same_items(const json_t *theirs, const struct json_node *ours)
{
	const struct json_node *m = json_node_first(ours);
	size_t i;

	if (json_array_size(theirs) != json_node_count(ours))
		return false;
	for (i = 0; i < json_array_size(theirs); i++, m = json_node_next(m))
		if (!m || m->name || !twin_same(json_array_get(theirs, i), m))
			return false;
	return !m;
}

static inline bool twin_same(const json_t *theirs, const struct json_node *ours)
{
	switch (json_typeof(theirs)) {
	case JSON_OBJECT:
		return json_node_is(ours, JSON_KIND_OBJECT) && twin_same_members(theirs, ours);
	case JSON_ARRAY:
		return json_node_is(ours, JSON_KIND_LIST) && twin_same_items(theirs, ours);
	case JSON_STRING:
		return json_node_is(ours, JSON_KIND_TEXT) &&
		       ours->len == json_string_length(theirs) &&
		       strcmp(json_node_text(ours), json_string_value(theirs)) == 0;
	case JSON_INTEGER:
		return json_node_is(ours, JSON_KIND_NUMBER) &&
		       ours->number == json_integer_value(theirs);
	case JSON_REAL:
		return json_node_is(ours, JSON_KIND_REAL);
	case JSON_TRUE:
		return json_node_is(ours, JSON_KIND_TRUE);
	case JSON_FALSE:
		return json_node_is(ours, JSON_KIND_FALSE);
	default:
		return json_node_is(ours, JSON_KIND_NULL);
	}
}

/* Reads it by both. The text stands alone in memory, so that nothing beyond it can be read. */
static inline bool twin_agree(struct json_tree *tree, const char *text, size_t len, bool *ret_valid)
{
	json_t *theirs = json_loadb(text, len, 0, NULL);
	char *copy = xmalloc(len + 1);
	const struct json_node *ours;
	bool same;

	memcpy(copy, text, len);
	ours = json_tree_read(tree, copy, len);
	*ret_valid = ours != NULL;
	/* jansson 2.14 loses a NUL behind a number or a word, and reads on; it is no JSON. */
	if (memchr(text, '\0', len))
		same = !ours;
	else
		same = !theirs == !ours && (!theirs || twin_same(theirs, ours));
	json_decref(theirs);
	free(copy);
	return same;
}

#endif
