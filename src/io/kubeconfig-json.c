#include "config.h"

#include "io/kubeconfig-decode.h"
#include "base/mem.h"
#include "base/str.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum {
	JSON_TEXT_MAX = 1024 * 1024
};

static json_t *json_number(const char *text)
{
	char *plain = xstrdup(text), *to = plain, *end;
	const char *s;
	long long whole;
	json_t *number;

	for (s = text; *s; s++)
		if (*s != '_')
			*to++ = *s;
	*to = '\0';
	errno = 0;
	whole = strtoll(plain, &end, 0);
	number = !errno && !*end ? json_integer(whole) : json_real(strtod(plain, NULL));
	free(plain);
	return number;
}

/* At most YAML_DEPTH_MAX deep: the parser saw to it. */
static json_t *json_of(const struct yaml_node *node)
{
	json_t *json;
	size_t i;

	switch (yaml_type_of(node)) {
	case YAML_TYPE_BOOL:
		return json_boolean(kube_is_true(node));
	case YAML_TYPE_NUMBER:
		return json_number(node->text);
	case YAML_TYPE_TEXT:
		return json_string(node->text);
	case YAML_TYPE_LIST:
		json = json_array();
		for (i = 0; i < node->n; i++)
			json_array_append_new(json, json_of(node->items[i]));
		return json;
	case YAML_TYPE_MAP:
		json = json_object();
		for (i = 0; i < node->n; i++)
			json_object_set_new(json, node->keys[i]->text, json_of(node->items[i]));
		return json;
	case YAML_TYPE_NULL:
		break;
	}
	return json_null();
}

char *kube_json_of(const struct yaml_node *node)
{
	json_t *json = json_of(node);
	char *text = json ? json_dumps(json, JSON_COMPACT) : NULL, *copy = NULL;

	if (text && strlen(text) <= JSON_TEXT_MAX)
		copy = xstrdup(text);
	free(text);
	json_decref(json);
	return copy;
}
