#include "config.h"

#include "io/kubeconfig-decode.h"
#include "base/base64.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	DATA_MAX = 4 * 1024 * 1024
};

#define ACCESS(member) offsetof(struct kube_access, member)
#define EXEC(member)   offsetof(struct kube_exec, member)

/* kubernetes.io, "kubeconfig (v1)": Cluster, AuthInfo, Context, ExecConfig. */
const struct kube_field kube_fields_cluster[] = {
	{ "server", KUBE_TEXT, ACCESS(server) },
	{ "tls-server-name", KUBE_TEXT, ACCESS(server_name) },
	{ "insecure-skip-tls-verify", KUBE_BOOL, ACCESS(insecure) },
	{ "certificate-authority", KUBE_PATH, ACCESS(ca_file) },
	{ "certificate-authority-data", KUBE_DATA, ACCESS(ca) },
	{ "proxy-url", KUBE_TEXT, ACCESS(proxy_url) },
	{ "disable-compression", KUBE_BOOL, ACCESS(no_compression) },
	{ "extensions", KUBE_EXTENSIONS, KUBE_NOWHERE },
	{ NULL, KUBE_TEXT, KUBE_NOWHERE },
};

const struct kube_field kube_fields_user[] = {
	{ "client-certificate", KUBE_PATH, ACCESS(cert_file) },
	{ "client-certificate-data", KUBE_DATA, ACCESS(cert) },
	{ "client-key", KUBE_PATH, ACCESS(key_file) },
	{ "client-key-data", KUBE_DATA, ACCESS(key) },
	{ "token", KUBE_TEXT, ACCESS(token) },
	{ "tokenFile", KUBE_PATH, ACCESS(token_file) },
	{ "as", KUBE_TEXT, ACCESS(as) },
	{ "as-uid", KUBE_TEXT, ACCESS(as_uid) },
	{ "as-groups", KUBE_TEXTS, ACCESS(as_groups) },
	{ "as-user-extra", KUBE_EXTRA, ACCESS(as_extra) },
	{ "username", KUBE_TEXT, KUBE_NOWHERE },
	{ "password", KUBE_TEXT, KUBE_NOWHERE },
	{ "auth-provider", KUBE_PROVIDER, KUBE_NOWHERE },
	{ "exec", KUBE_EXEC, ACCESS(exec) },
	{ "extensions", KUBE_EXTENSIONS, KUBE_NOWHERE },
	{ NULL, KUBE_TEXT, KUBE_NOWHERE },
};

const struct kube_field kube_fields_context[] = {
	{ "cluster", KUBE_TEXT, ACCESS(cluster) },
	{ "user", KUBE_TEXT, ACCESS(user) },
	{ "namespace", KUBE_TEXT, ACCESS(name_space) },
	{ "extensions", KUBE_EXTENSIONS, KUBE_NOWHERE },
	{ NULL, KUBE_TEXT, KUBE_NOWHERE },
};

static const struct kube_field exec_fields[] = {
	{ "command", KUBE_COMMAND, EXEC(command) },
	{ "args", KUBE_TEXTS, EXEC(args) },
	{ "env", KUBE_ENV, EXEC(env) },
	{ "apiVersion", KUBE_TEXT, KUBE_NOWHERE },
	{ "installHint", KUBE_TEXT, EXEC(install_hint) },
	{ "provideClusterInfo", KUBE_BOOL, EXEC(cluster_info) },
	{ "interactiveMode", KUBE_TEXT, KUBE_NOWHERE },
	{ NULL, KUBE_TEXT, KUBE_NOWHERE },
};

static const struct kube_field provider_fields[] = {
	{ "name", KUBE_TEXT, KUBE_NOWHERE },
	{ "config", KUBE_WORDS, KUBE_NOWHERE },
	{ NULL, KUBE_TEXT, KUBE_NOWHERE },
};

int kube_fail(struct err *err, const struct kube_file *file, const struct yaml_node *node,
	const char *fmt, ...)
{
	char text[ERR_TEXT_MAX];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (!node || !node->line)
		return err_set(err, ERR_CONFIG, "%s: %s", file->shown, text);
	return err_set(
		err, ERR_CONFIG, "%s:%d:%d: %s", file->shown, node->line, node->column, text);
}

static bool is_nothing(const struct yaml_node *node)
{
	return !node || yaml_type_of(node) == YAML_TYPE_NULL;
}

const char *kube_text(const struct yaml_node *map, const char *name)
{
	const struct yaml_node *node = yaml_get(map, name);

	if (is_nothing(node) || node->kind != YAML_SCALAR || !node->text[0])
		return NULL;
	return node->text;
}

/* Of a scalar that is a yes or no: y, yes, true, on. */
bool kube_is_true(const struct yaml_node *node)
{
	char first = node->text[0];

	return strchr("yYtT", first) || (strchr("oO", first) && strchr("nN", node->text[1]));
}

/* ---- paths ---- */

/* Adds the parts of a path, taking back one for each "..". */
static void path_add(struct str *out, const char *path)
{
	while (*path) {
		size_t len = strcspn(path, "/");

		if (len == 2 && memcmp(path, "..", 2) == 0) {
			const char *slash = strrchr(out->s, '/');

			str_truncate(out, slash ? (size_t)(slash - out->s) : 0);
		} else if (len && !(len == 1 && *path == '.')) {
			str_add_char(out, '/');
			str_add_mem(out, path, len);
		}
		path += len;
		path += strspn(path, "/");
	}
}

char *kube_path_join(const char *folder, const char *path)
{
	struct str out;

	if (*path == '/')
		return xstrdup(path);
	str_init(&out, 65536);
	path_add(&out, folder);
	path_add(&out, path);
	if (!out.len)
		str_add_char(&out, '/');
	return str_take(&out);
}

/* ---- one value each ---- */

static const char *type_word(const struct yaml_node *node)
{
	static const char *const words[] = {
		[YAML_TYPE_NULL] = "nothing",
		[YAML_TYPE_BOOL] = "a yes or no",
		[YAML_TYPE_NUMBER] = "a number",
		[YAML_TYPE_TEXT] = "text",
		[YAML_TYPE_LIST] = "a list",
		[YAML_TYPE_MAP] = "a map",
	};

	return words[yaml_type_of(node)];
}

static int fail_type(struct err *err, const struct kube_file *file, const struct yaml_node *node,
	const char *name, const char *wanted)
{
	enum yaml_type type = yaml_type_of(node);
	bool quote =
		strcmp(wanted, "text") == 0 && (type == YAML_TYPE_BOOL || type == YAML_TYPE_NUMBER);

	return kube_fail(err, file, node, "%s must be %s, and %s stands there%s", name, wanted,
		type_word(node), quote ? ": put it in quotes" : "");
}

static int decode_text(const struct yaml_node *node, const char *name, const struct kube_file *file,
	char **ret, struct err *err)
{
	if (yaml_type_of(node) != YAML_TYPE_TEXT)
		return fail_type(err, file, node, name, "text");
	if (ret && node->text[0]) {
		free(*ret);
		*ret = xstrdup(node->text);
	}
	return 0;
}

static int decode_path(const struct yaml_node *node, const struct kube_field *field,
	const struct kube_file *file, char **ret, struct err *err)
{
	char *text = NULL;
	int rc = decode_text(node, field->name, file, &text, err);

	if (rc || !text)
		return rc;
	free(*ret);
	if (field->type == KUBE_COMMAND && !strchr(text, '/'))
		*ret = xstrdup(text);
	else
		*ret = kube_path_join(file->folder, text);
	free(text);
	return 0;
}

static int decode_bool(const struct yaml_node *node, const char *name, const struct kube_file *file,
	bool *ret, struct err *err)
{
	if (yaml_type_of(node) != YAML_TYPE_BOOL)
		return fail_type(err, file, node, name, "true or false, without quotes");
	if (ret)
		*ret = kube_is_true(node);
	return 0;
}

static int decode_data(const struct yaml_node *node, const char *name, const struct kube_file *file,
	struct kube_data *ret, struct err *err)
{
	struct str bytes;

	if (yaml_type_of(node) != YAML_TYPE_TEXT)
		return fail_type(err, file, node, name, "text");
	str_init(&bytes, DATA_MAX);
	if (base64_decode(&bytes, node->text) || bytes.full) {
		explicit_bzero(bytes.s, bytes.len);
		str_release(&bytes);
		return kube_fail(err, file, node, "%s is not in base64, or not whole", name);
	}
	if (bytes.len) {
		ret->len = bytes.len;
		ret->s = str_take(&bytes);
	}
	str_release(&bytes);
	return 0;
}

/* ---- lists and maps ---- */

static int decode_texts(const struct yaml_node *node, const char *name,
	const struct kube_file *file, struct kube_texts *ret, struct err *err)
{
	size_t i;
	int rc;

	if (node->kind != YAML_LIST)
		return fail_type(err, file, node, name, "a list of texts");
	ret->items = xcalloc(node->n ? node->n : 1, sizeof(*ret->items));
	for (i = 0; i < node->n; i++) {
		char *text = NULL;

		/* Nothing in a list of texts is an empty one, for a program in Go. */
		if (!is_nothing(node->items[i])) {
			rc = decode_text(node->items[i], name, file, &text, err);
			if (rc)
				return rc;
		}
		ret->items[ret->n++] = text ? text : xstrdup("");
	}
	return 0;
}

static struct kube_pair *pairs_add(struct kube_pairs *pairs, const char *name, const char *value)
{
	struct kube_pair *pair;

	pairs->items = xrealloc(pairs->items, pairs->n + 1, sizeof(*pairs->items));
	pair = &pairs->items[pairs->n++];
	pair->name = xstrdup(name ? name : "");
	pair->value = xstrdup(value ? value : "");
	return pair;
}

static int decode_env(const struct yaml_node *node, const struct kube_file *file,
	struct kube_pairs *ret, struct err *err)
{
	static const struct kube_field fields[] = {
		{ "name", KUBE_TEXT, KUBE_NOWHERE },
		{ "value", KUBE_TEXT, KUBE_NOWHERE },
		{ NULL, KUBE_TEXT, KUBE_NOWHERE },
	};
	size_t i;
	int rc;

	if (node->kind != YAML_LIST)
		return fail_type(err, file, node, "env", "a list of names with values");
	for (i = 0; i < node->n; i++) {
		rc = kube_decode(fields, node->items[i], file, NULL, err);
		if (rc)
			return rc;
		pairs_add(
			ret, kube_text(node->items[i], "name"), kube_text(node->items[i], "value"));
	}
	return 0;
}

static int decode_extra(const struct yaml_node *node, const char *name,
	const struct kube_file *file, struct kube_pairs *ret, struct err *err)
{
	size_t i, j;
	int rc = 0;

	if (node->kind != YAML_MAP)
		return fail_type(err, file, node, name, "a map of lists of texts");
	for (i = 0; i < node->n && !rc; i++) {
		struct kube_texts texts = { NULL, 0 };

		if (!is_nothing(node->items[i]))
			rc = decode_texts(node->items[i], name, file, &texts, err);
		for (j = 0; j < texts.n; j++) {
			pairs_add(ret, node->keys[i]->text, texts.items[j]);
			free(texts.items[j]);
		}
		free(texts.items);
	}
	return rc;
}

static int decode_words(const struct yaml_node *node, const char *name,
	const struct kube_file *file, struct err *err)
{
	size_t i;
	int rc = 0;

	if (node->kind != YAML_MAP)
		return fail_type(err, file, node, name, "a map of texts");
	for (i = 0; i < node->n && !rc; i++)
		if (!is_nothing(node->items[i]))
			rc = decode_text(node->items[i], name, file, NULL, err);
	return rc;
}

static int decode_extensions(
	const struct yaml_node *node, const struct kube_file *file, struct err *err)
{
	static const struct kube_field fields[] = {
		{ "name", KUBE_TEXT, KUBE_NOWHERE },
		{ NULL, KUBE_TEXT, KUBE_NOWHERE },
	};
	size_t i, j;
	int rc;

	if (node->kind != YAML_LIST)
		return fail_type(err, file, node, "extensions", "a list");
	for (i = 0; i < node->n; i++) {
		rc = kube_decode(fields, node->items[i], file, NULL, err);
		if (rc)
			return rc;
		for (j = 0; j < i; j++)
			if (str_eq(kube_text(node->items[i], "name"),
				    kube_text(node->items[j], "name")))
				return kube_fail(err, file, node->items[i],
					"a second extension of the same name; the first stands in "
					"line %d",
					node->items[j]->line);
	}
	return 0;
}

static int decode_exec(const struct yaml_node *node, const struct kube_file *file,
	struct kube_exec **ret, struct err *err)
{
	struct kube_exec *exec = xcalloc(1, sizeof(*exec));

	kube_exec_free(*ret);
	*ret = exec;
	return kube_decode(exec_fields, node, file, exec, err);
}

static int decode_field(const struct kube_field *field, const struct yaml_node *node,
	const struct kube_file *file, char *to, struct err *err)
{
	const char *name = field->name;
	void *at = to && field->at != KUBE_NOWHERE ? to + field->at : NULL;

	switch (field->type) {
	case KUBE_TEXT:
		return decode_text(node, name, file, at, err);
	case KUBE_PATH:
	case KUBE_COMMAND:
		return decode_path(node, field, file, at, err);
	case KUBE_BOOL:
		return decode_bool(node, name, file, at, err);
	case KUBE_DATA:
		return decode_data(node, name, file, at, err);
	case KUBE_TEXTS:
		return decode_texts(node, name, file, at, err);
	case KUBE_ENV:
		return decode_env(node, file, at, err);
	case KUBE_EXTRA:
		return decode_extra(node, name, file, at, err);
	case KUBE_WORDS:
		return decode_words(node, name, file, err);
	case KUBE_EXEC:
		return decode_exec(node, file, at, err);
	case KUBE_PROVIDER:
		return kube_decode(provider_fields, node, file, NULL, err);
	case KUBE_EXTENSIONS:
		return decode_extensions(node, file, err);
	}
	return 0;
}

int kube_decode(const struct kube_field *fields, const struct yaml_node *map,
	const struct kube_file *file, void *to, struct err *err)
{
	if (is_nothing(map))
		return 0;
	if (map->kind != YAML_MAP)
		return kube_fail(
			err, file, map, "a map must stand here, and not %s", type_word(map));
	for (; fields->name; fields++) {
		const struct yaml_node *node = yaml_get(map, fields->name);
		int rc = is_nothing(node) ? 0 : decode_field(fields, node, file, to, err);

		if (rc)
			return rc;
	}
	return 0;
}

void kube_exec_free(struct kube_exec *exec)
{
	size_t i;

	if (!exec)
		return;
	for (i = 0; i < exec->args.n; i++)
		free(exec->args.items[i]);
	for (i = 0; i < exec->env.n; i++) {
		free(exec->env.items[i].name);
		explicit_bzero(exec->env.items[i].value, strlen(exec->env.items[i].value));
		free(exec->env.items[i].value);
	}
	free(exec->args.items);
	free(exec->env.items);
	free(exec->command);
	free(exec->install_hint);
	free(exec->cluster_config);
	free(exec);
}
