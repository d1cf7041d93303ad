#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "io/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What the tree promises: bounded depth, places, texts, keys that are scalars and stand once. */
static size_t check_node(const struct yaml_node *node, int depth)
{
	size_t i, n = 1;
	int64_t number;
	bool yes;

	if (depth > YAML_DEPTH_MAX + 1 || node->line < 1 || node->column < 1)
		abort();
	if (node->kind == YAML_SCALAR) {
		if (!node->text || node->n)
			abort();
		yaml_is_null(node);
		yaml_bool(node, &yes);
		yaml_int(node, &number);
		if (yaml_duration_ms(node, &number) && number < 0)
			abort();
	}
	for (i = 0; i < node->n; i++) {
		if (node->kind == YAML_MAP) {
			if (node->keys[i]->kind != YAML_SCALAR)
				abort();
			if (yaml_get(node, node->keys[i]->text) != node->items[i])
				abort();
		}
		n += check_node(node->items[i], depth + 1);
	}
	return n;
}

static void check_parse(const char *text, size_t size, bool lax)
{
	struct yaml_node *root = NULL;
	struct err err = { 0 };
	int rc = lax ? yaml_parse_lax(text, size, "fuzz", &root, &err)
		     : yaml_parse(text, size, "fuzz", &root, &err);

	if (rc == 0) {
		check_node(root, 0);
		yaml_node_free(root);
	} else if (root || err.code >= 0 || !err.text[0]) {
		abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_parse((const char *)data, size, false);
	check_parse((const char *)data, size, true);
	return 0;
}
