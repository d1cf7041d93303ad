#include "config.h"

#include "source/source.h"
#include "io/yaml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct option_def *option_def(const struct option_values *v, const char *name)
{
	const struct option_def *def;

	for (def = v->defs; def && def->name; def++)
		if (strcmp(def->name, name) == 0)
			return def;
	fprintf(stderr, "baton: bug: there is no option %s\n", name);
	abort();
}

/* The node of an option that is set; NULL for one that is not there or is left empty. */
static const struct yaml_node *option_node(const struct option_values *v, const char *name)
{
	const struct yaml_node *node = yaml_get(v->map, name);

	return node && !yaml_is_null(node) ? node : NULL;
}

bool option_value_set(const struct option_values *v, const char *name)
{
	option_def(v, name);
	return option_node(v, name) != NULL;
}

const char *option_value_text(const struct option_values *v, const char *name)
{
	const struct option_def *def = option_def(v, name);
	const struct yaml_node *node = option_node(v, name);

	return node && node->kind == YAML_SCALAR ? node->text : def->fallback;
}

int64_t option_value_int(const struct option_values *v, const char *name)
{
	const struct option_def *def = option_def(v, name);
	const struct yaml_node *node = option_node(v, name);
	struct yaml_node fallback = { .kind = YAML_SCALAR };
	int64_t value = INT64_MIN;
	bool yes;

	if (!node && !def->fallback)
		return INT64_MIN;
	if (!node) {
		/* Only read: the functions below take a const node. */
		fallback.text = (char *)(uintptr_t)def->fallback;
		node = &fallback;
	}
	if (def->type == OPTION_BOOL)
		return yaml_bool(node, &yes) ? yes : INT64_MIN;
	if (def->type == OPTION_DURATION)
		return yaml_duration_ms(node, &value) ? value : INT64_MIN;
	return yaml_int(node, &value) ? value : INT64_MIN;
}

const char *option_value_item(const struct option_values *v, const char *name, size_t i)
{
	const struct option_def *def = option_def(v, name);
	const struct yaml_node *node = option_node(v, name);

	if (!node)
		return i == 0 ? def->fallback : NULL;
	if (node->kind == YAML_SCALAR)
		return i == 0 ? node->text : NULL;
	return node->kind == YAML_LIST && i < node->n ? node->items[i]->text : NULL;
}

const struct yaml_node *option_value_map(const struct option_values *v, const char *name, size_t i)
{
	const struct yaml_node *node = option_node(v, name);

	option_def(v, name);
	if (node && node->kind == YAML_MAP)
		return i == 0 ? node : NULL;
	return node && node->kind == YAML_LIST && i < node->n ? node->items[i] : NULL;
}

/* ---- of a source ---- */

static struct option_values values_of(const struct source_config *config)
{
	return (struct option_values){ config->ops->options, config->options };
}

bool source_option_set(const struct source_config *config, const char *name)
{
	struct option_values v = values_of(config);

	return option_value_set(&v, name);
}

const char *source_option_text(const struct source_config *config, const char *name)
{
	struct option_values v = values_of(config);

	return option_value_text(&v, name);
}

int64_t source_option_int(const struct source_config *config, const char *name)
{
	struct option_values v = values_of(config);

	return option_value_int(&v, name);
}

const char *source_option_item(const struct source_config *config, const char *name, size_t i)
{
	struct option_values v = values_of(config);

	return option_value_item(&v, name, i);
}

const struct yaml_node *source_option_map(
	const struct source_config *config, const char *name, size_t i)
{
	struct option_values v = values_of(config);

	return option_value_map(&v, name, i);
}
