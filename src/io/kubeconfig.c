#include "config.h"

#include "io/kubeconfig-decode.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	FILE_MAX = 16 * 1024 * 1024,
	SHOWN_MAX = 200,
	FILES_MAX = 256
};

/* A context, a cluster or a user: of the first file that has one of its name. */
struct entry {
	const char *name;
	const struct yaml_node *at;   /* the item of the list, for its place */
	const struct yaml_node *node; /* its fields; NULL: none */
	const struct kube_file *file;
};

enum section {
	SECTION_CLUSTERS,
	SECTION_USERS,
	SECTION_CONTEXTS,
	SECTIONS
};

static const struct section_def {
	const char *list, *item, *word;
	const struct kube_field *fields;
} section_defs[SECTIONS] = {
	[SECTION_CLUSTERS] = { "clusters", "cluster", "cluster", kube_fields_cluster },
	[SECTION_USERS] = { "users", "user", "user", kube_fields_user },
	[SECTION_CONTEXTS] = { "contexts", "context", "context", kube_fields_context },
};

struct entries {
	struct map by_name;
	struct entry **items;
	size_t n, cap;
};

struct kubeconfig {
	struct kube_file **files;
	size_t n_files;
	struct entries sections[SECTIONS];
	const char *current;
	const struct yaml_node *current_at;
	const struct kube_file *current_file;
};

/* ---- a file ---- */

/* At most YAML_DEPTH_MAX deep: the parser saw to it. */
static void wipe(struct yaml_node *node)
{
	size_t i;

	if (node->text)
		explicit_bzero(node->text, strlen(node->text));
	for (i = 0; i < node->n; i++)
		wipe(node->items[i]);
}

static void file_free(struct kube_file *file)
{
	if (file->root)
		wipe(file->root);
	yaml_node_free(file->root);
	free(file->path);
	free(file->shown);
	free(file->folder);
	free(file);
}

static char *file_folder(const char *path)
{
	const char *slash = strrchr(path, '/');
	char here[PATH_MAX], *folder, *parent;

	if (!getcwd(here, sizeof(here)))
		here[0] = '\0';
	parent = slash ? xstrndup(path, (size_t)(slash - path)) : xstrdup("");
	if (slash == path)
		folder = xstrdup("/");
	else if (*parent == '/')
		folder = kube_path_join("/", parent + 1);
	else
		folder = kube_path_join(here, parent);
	free(parent);
	return folder;
}

static struct kube_file *file_new(const char *path)
{
	struct kube_file *file = xcalloc(1, sizeof(*file));
	struct str shown;

	str_init(&shown, SHOWN_MAX * 4 + 4);
	text_escape_cut(&shown, path, strlen(path), SHOWN_MAX);
	file->path = xstrdup(path);
	file->shown = str_take(&shown);
	file->folder = file_folder(path);
	return file;
}

static int file_parse(struct kube_file *file, struct err *err)
{
	struct str text;
	int rc;

	str_init(&text, FILE_MAX);
	rc = fs_read(file->path, &text, err);
	if (!rc)
		rc = yaml_parse_lax(text.s, text.len, file->shown, &file->root, err);
	if (text.len)
		explicit_bzero(text.s, text.len);
	str_release(&text);
	return rc;
}

static int check_kind(const struct kube_file *file, struct err *err)
{
	static const char *const words[][2] = { { "apiVersion", "v1" }, { "kind", "Config" } };
	size_t i;

	if (file->root->kind != YAML_MAP)
		return kube_fail(err, file, file->root,
			"a kubeconfig is a map of clusters, users and contexts, and %s stands here",
			file->root->kind == YAML_LIST ? "a list" : "text");
	for (i = 0; i < ARRAY_LEN(words); i++) {
		const struct yaml_node *node = yaml_get(file->root, words[i][0]);

		if (!node || yaml_type_of(node) == YAML_TYPE_NULL)
			continue;
		if (yaml_type_of(node) != YAML_TYPE_TEXT ||
			(node->text[0] && strcmp(node->text, words[i][1]) != 0))
			return kube_fail(err, file, node,
				"%s is not %s: that is no kubeconfig that is known here",
				words[i][0], words[i][1]);
	}
	return 0;
}

/* ---- its entries ---- */

static void shown_name(struct str *out, const char *name)
{
	str_init(out, SHOWN_MAX * 4 + 4);
	text_escape_cut(out, name, strlen(name), SHOWN_MAX / 2);
}

static int fail_twice(struct err *err, const struct entry *first, const struct yaml_node *item,
	const struct section_def *def)
{
	struct str name;
	int rc;

	shown_name(&name, first->name);
	rc = kube_fail(err, first->file, item, "the %s '%s' stands here again; first in line %d",
		def->word, name.s, first->at->line);
	str_release(&name);
	return rc;
}

/* The fields of an item are decoded for their errors only: a file that is wrong anywhere is not
 * used. */
static int check_item(const struct section_def *def, const struct yaml_node *item,
	const struct kube_file *file, struct err *err)
{
	static const struct kube_field name[] = {
		{ "name", KUBE_TEXT, KUBE_NOWHERE },
		{ NULL, KUBE_TEXT, KUBE_NOWHERE },
	};
	struct kube_access scratch = { 0 };
	int rc = kube_decode(name, item, file, NULL, err);

	if (!rc)
		rc = kube_decode(def->fields, yaml_get(item, def->item), file, &scratch, err);
	kube_access_release(&scratch);
	return rc;
}

static int take_item(struct entries *entries, const struct section_def *def,
	const struct yaml_node *item, const struct kube_file *file, struct err *err)
{
	int rc = check_item(def, item, file, err);
	const char *name;
	struct entry *entry;

	if (rc)
		return rc;
	name = kube_text(item, "name");
	name = name ? name : "";
	entry = map_get(&entries->by_name, name, strlen(name));
	if (entry)
		return entry->file == file ? fail_twice(err, entry, item, def) : 0;
	entry = xcalloc(1, sizeof(*entry));
	entry->name = name;
	entry->at = item;
	entry->node = yaml_get(item, def->item);
	entry->file = file;
	MEM_GROW(entries->items, entries->n, entries->cap);
	entries->items[entries->n++] = entry;
	map_put(&entries->by_name, name, strlen(name), entry);
	return 0;
}

static int take_section(
	struct kubeconfig *k, enum section section, const struct kube_file *file, struct err *err)
{
	const struct section_def *def = &section_defs[section];
	const struct yaml_node *list = yaml_get(file->root, def->list);
	size_t i;
	int rc;

	if (!list || yaml_type_of(list) == YAML_TYPE_NULL)
		return 0;
	if (list->kind != YAML_LIST)
		return kube_fail(
			err, file, list, "%s must be a list of maps, each with a name", def->list);
	for (i = 0; i < list->n; i++) {
		rc = take_item(&k->sections[section], def, list->items[i], file, err);
		if (rc)
			return rc;
	}
	return 0;
}

static int take_file(struct kubeconfig *k, const struct kube_file *file, struct err *err)
{
	static const struct kube_field preferences[] = {
		{ "colors", KUBE_BOOL, KUBE_NOWHERE },
		{ "extensions", KUBE_EXTENSIONS, KUBE_NOWHERE },
		{ NULL, KUBE_TEXT, KUBE_NOWHERE },
	};
	static const struct kube_field top[] = {
		{ "current-context", KUBE_TEXT, KUBE_NOWHERE },
		{ "extensions", KUBE_EXTENSIONS, KUBE_NOWHERE },
		{ NULL, KUBE_TEXT, KUBE_NOWHERE },
	};
	int rc = check_kind(file, err), i;

	if (!rc)
		rc = kube_decode(top, file->root, file, NULL, err);
	if (!rc)
		rc = kube_decode(preferences, yaml_get(file->root, "preferences"), file, NULL, err);
	for (i = 0; i < SECTIONS && !rc; i++)
		rc = take_section(k, (enum section)i, file, err);
	if (!rc && !k->current && kube_text(file->root, "current-context")) {
		k->current = kube_text(file->root, "current-context");
		k->current_at = yaml_get(file->root, "current-context");
		k->current_file = file;
	}
	return rc;
}

/* ---- all files ---- */

static int by_name(const void *a, const void *b)
{
	return strcmp(
		(*(const struct entry *const *)a)->name, (*(const struct entry *const *)b)->name);
}

static int load_one(struct kubeconfig *k, const char *path, struct err *err)
{
	struct kube_file *file = file_new(path);
	int rc = file_parse(file, err);

	if (rc) {
		file_free(file);
		return rc;
	}
	k->files = xrealloc(k->files, k->n_files + 1, sizeof(struct kube_file *));
	k->files[k->n_files++] = file;
	return take_file(k, file, err);
}

static bool stood_before(const char *const *files, size_t i)
{
	size_t j;

	for (j = 0; j < i; j++)
		if (strcmp(files[i], files[j]) == 0)
			return true;
	return false;
}

int kubeconfig_load(const char *const *files, size_t n, struct kubeconfig **ret, struct err *err)
{
	struct kubeconfig *k = xcalloc(1, sizeof(*k));
	struct entries *contexts = &k->sections[SECTION_CONTEXTS];
	size_t i;
	int rc = 0;

	for (i = 0; i < SECTIONS; i++)
		map_init(&k->sections[i].by_name);
	if (n > FILES_MAX)
		rc = err_set(err, ERR_LIMIT, "more than %d files of kubeconfig", FILES_MAX);
	for (i = 0; i < n && !rc; i++) {
		if (!files[i][0] || stood_before(files, i))
			continue;
		rc = load_one(k, files[i], err);
		if (rc == ERR_NOTFOUND)
			rc = 0;
	}
	if (rc) {
		kubeconfig_free(k);
		return rc;
	}
	err_clear(err);
	if (contexts->n)
		qsort(contexts->items, contexts->n, sizeof(struct entry *), by_name);
	*ret = k;
	return 0;
}

void kubeconfig_free(struct kubeconfig *k)
{
	size_t i, j;

	if (!k)
		return;
	for (i = 0; i < SECTIONS; i++) {
		map_release(&k->sections[i].by_name);
		for (j = 0; j < k->sections[i].n; j++)
			free(k->sections[i].items[j]);
		free(k->sections[i].items);
	}
	for (i = 0; i < k->n_files; i++)
		file_free(k->files[i]);
	free(k->files);
	free(k);
}

size_t kubeconfig_files(const struct kubeconfig *k)
{
	return k->n_files;
}

const char *kubeconfig_current(const struct kubeconfig *k)
{
	return k->current;
}

const char *kubeconfig_context(const struct kubeconfig *k, size_t i)
{
	const struct entries *contexts = &k->sections[SECTION_CONTEXTS];

	return i < contexts->n ? contexts->items[i]->name : NULL;
}

/* ---- one context ---- */

/* An entry that another one names; its absence is an error at the place of the naming. */
static int find(const struct kubeconfig *k, enum section section, const char *name,
	const struct kube_file *file, const struct yaml_node *at, const struct entry **ret,
	struct err *err)
{
	struct str shown;
	int rc;

	*ret = map_get(&k->sections[section].by_name, name, strlen(name));
	if (*ret)
		return 0;
	shown_name(&shown, name);
	if (file)
		rc = kube_fail(
			err, file, at, "no %s is called '%s'", section_defs[section].word, shown.s);
	else
		rc = err_set(err, ERR_CONFIG, "no %s of the kubeconfig is called '%s'",
			section_defs[section].word, shown.s);
	str_release(&shown);
	return rc;
}

static int find_context(
	const struct kubeconfig *k, const char *context, const struct entry **ret, struct err *err)
{
	if (context && *context)
		return find(k, SECTION_CONTEXTS, context, NULL, NULL, ret, err);
	if (k->current)
		return find(
			k, SECTION_CONTEXTS, k->current, k->current_file, k->current_at, ret, err);
	if (!k->n_files)
		return err_set(err, ERR_NOTFOUND, "no kubeconfig is there");
	return err_set(err, ERR_CONFIG,
		"%s%s sets no current-context: name a context, or set one by `kubectl config "
		"use-context`",
		k->files[0]->shown, k->n_files > 1 ? " and what is merged with it" : "");
}

static void keep_cluster_config(struct kube_exec *exec, const struct yaml_node *cluster)
{
	const struct yaml_node *list = yaml_get(cluster, "extensions");
	size_t i;

	for (i = 0; list && list->kind == YAML_LIST && i < list->n; i++) {
		const struct yaml_node *item = list->items[i];
		const struct yaml_node *value = yaml_get(item, "extension");

		if (value && str_eq(kube_text(item, "name"), "client.authentication.k8s.io/exec"))
			exec->cluster_config = kube_json_of(value);
	}
}

int kubeconfig_resolve(
	const struct kubeconfig *k, const char *context, struct kube_access *ret, struct err *err)
{
	struct kube_access a = { 0 };
	const struct entry *c, *cluster = NULL, *user = NULL;
	int rc = find_context(k, context, &c, err);

	if (rc)
		return rc;
	rc = kube_decode(kube_fields_context, c->node, c->file, &a, err);
	if (!rc && !a.cluster)
		rc = kube_fail(err, c->file, c->at, "this context names no cluster");
	if (!rc)
		rc = find(k, SECTION_CLUSTERS, a.cluster, c->file, yaml_get(c->node, "cluster"),
			&cluster, err);
	if (!rc && a.user)
		rc = find(k, SECTION_USERS, a.user, c->file, yaml_get(c->node, "user"), &user, err);
	if (!rc)
		rc = kube_decode(kube_fields_cluster, cluster->node, cluster->file, &a, err);
	if (!rc && user)
		rc = kube_decode(kube_fields_user, user->node, user->file, &a, err);
	if (!rc)
		rc = kube_check_cluster(&a, cluster->file, cluster->node, cluster->at, err);
	if (!rc && user)
		rc = kube_check_user(&a, user->file, user->node, err);
	if (rc) {
		kube_access_release(&a);
		return rc;
	}
	if (a.exec)
		keep_cluster_config(a.exec, cluster->node);
	a.context = xstrdup(c->name);
	a.file = xstrdup(c->file->path);
	if (!a.name_space)
		a.name_space = xstrdup("default");
	*ret = a;
	return 0;
}
