#include "config.h"

#include "io/kubeconfig-decode.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
	PATHS_MAX = 256,
	PATH_TEXT_MAX = 65536,
	NAME_SPACE_MAX = 1024
};

static const char service_account[] = "/var/run/secrets/kubernetes.io/serviceaccount";

/* ---- what an access holds ---- */

static void wipe_text(char **text)
{
	if (*text)
		explicit_bzero(*text, strlen(*text));
	free(*text);
	*text = NULL;
}

static void wipe_data(struct kube_data *data)
{
	if (data->s)
		explicit_bzero(data->s, data->len);
	free(data->s);
}

void kube_access_release(struct kube_access *a)
{
	char *texts[] = { a->context, a->cluster, a->user, a->file, a->server, a->name_space,
		a->server_name, a->ca_file, a->proxy_url, a->token_file, a->cert_file, a->key_file,
		a->as, a->as_uid };
	size_t i;

	for (i = 0; i < ARRAY_LEN(texts); i++)
		free(texts[i]);
	wipe_text(&a->token);
	wipe_data(&a->ca);
	wipe_data(&a->cert);
	wipe_data(&a->key);
	kube_exec_free(a->exec);
	for (i = 0; i < a->as_groups.n; i++)
		free(a->as_groups.items[i]);
	free(a->as_groups.items);
	for (i = 0; i < a->as_extra.n; i++) {
		free(a->as_extra.items[i].name);
		free(a->as_extra.items[i].value);
	}
	free(a->as_extra.items);
	memset(a, 0, sizeof(*a));
}

static bool equal_data(const struct kube_data *a, const struct kube_data *b)
{
	return a->len == b->len && (!a->len || memcmp(a->s, b->s, a->len) == 0);
}

static bool equal_pairs(const struct kube_pairs *a, const struct kube_pairs *b)
{
	size_t i;

	for (i = 0; a->n == b->n && i < a->n; i++)
		if (strcmp(a->items[i].name, b->items[i].name) != 0 ||
			strcmp(a->items[i].value, b->items[i].value) != 0)
			return false;
	return a->n == b->n;
}

static bool equal_texts(const struct kube_texts *a, const struct kube_texts *b)
{
	size_t i;

	for (i = 0; a->n == b->n && i < a->n; i++)
		if (strcmp(a->items[i], b->items[i]) != 0)
			return false;
	return a->n == b->n;
}

static bool equal_exec(const struct kube_exec *a, const struct kube_exec *b)
{
	if (!a || !b)
		return a == b;
	return a->version == b->version && a->cluster_info == b->cluster_info &&
	       str_eq(a->command, b->command) && equal_texts(&a->args, &b->args) &&
	       equal_pairs(&a->env, &b->env) && str_eq(a->install_hint, b->install_hint) &&
	       str_eq(a->cluster_config, b->cluster_config);
}

bool kube_access_equal(const struct kube_access *a, const struct kube_access *b)
{
	const char *texts[][2] = { { a->context, b->context }, { a->cluster, b->cluster },
		{ a->user, b->user }, { a->file, b->file }, { a->server, b->server },
		{ a->name_space, b->name_space }, { a->server_name, b->server_name },
		{ a->ca_file, b->ca_file }, { a->proxy_url, b->proxy_url }, { a->token, b->token },
		{ a->token_file, b->token_file }, { a->cert_file, b->cert_file },
		{ a->key_file, b->key_file }, { a->as, b->as }, { a->as_uid, b->as_uid } };
	size_t i;

	for (i = 0; i < ARRAY_LEN(texts); i++)
		if (!str_eq(texts[i][0], texts[i][1]))
			return false;
	return a->insecure == b->insecure && a->no_compression == b->no_compression &&
	       equal_data(&a->ca, &b->ca) && equal_data(&a->cert, &b->cert) &&
	       equal_data(&a->key, &b->key) && equal_exec(a->exec, b->exec) &&
	       equal_texts(&a->as_groups, &b->as_groups) && equal_pairs(&a->as_extra, &b->as_extra);
}

const char *kube_access_method(const struct kube_access *a)
{
	if (!a->context && a->token_file)
		return "service account";
	if (a->token_file)
		return "token file";
	if (a->token)
		return "token";
	if (a->cert.s || a->cert_file)
		return "client certificate";
	if (a->exec)
		return "exec plugin";
	return "nobody (no credentials)";
}

/* ---- in a pod ---- */

static const char *env_text(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

static bool is_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && !S_ISDIR(st.st_mode);
}

/* Whether this is a pod: what the kubelet sets, and a token (client-go's inClusterClientConfig). */
static bool is_pod(const char *folder)
{
	char *token = kube_path_join(folder, "token");
	bool is = env_text("KUBERNETES_SERVICE_HOST") && env_text("KUBERNETES_SERVICE_PORT") &&
		  is_file(token);

	free(token);
	return is;
}

static char *pod_server(void)
{
	const char *host = env_text("KUBERNETES_SERVICE_HOST");
	bool bare6 = strchr(host, ':') && host[0] != '[';
	struct str server;

	str_init(&server, PATH_TEXT_MAX);
	str_addf(&server, bare6 ? "https://[%s]:%s" : "https://%s:%s", host,
		env_text("KUBERNETES_SERVICE_PORT"));
	return str_take(&server);
}

static char *pod_name_space(const char *folder)
{
	const char *said = env_text("POD_NAMESPACE");
	char *path, *text;
	struct str name;

	if (said)
		return xstrdup(said);
	path = kube_path_join(folder, "namespace");
	str_init(&name, NAME_SPACE_MAX);
	if (fs_read(path, &name, NULL))
		str_clear(&name);
	free(path);
	while (name.len && strchr(" \t\r\n", name.s[name.len - 1]))
		str_truncate(&name, name.len - 1);
	text = xstrdup(name.len ? name.s : "default");
	str_release(&name);
	return text;
}

int kube_access_in_cluster(const char *folder, struct kube_access *ret, struct err *err)
{
	struct kube_access a = { 0 };
	char *ca;

	folder = folder ? folder : service_account;
	if (!is_pod(folder))
		return err_set(err, ERR_NOTFOUND,
			"this is no pod with a service account: KUBERNETES_SERVICE_HOST, "
			"KUBERNETES_SERVICE_PORT or %s/token is missing",
			folder);
	a.server = pod_server();
	a.token_file = kube_path_join(folder, "token");
	a.name_space = pod_name_space(folder);
	ca = kube_path_join(folder, "ca.crt");
	if (is_file(ca))
		a.ca_file = ca;
	else
		free(ca);
	*ret = a;
	return 0;
}

/* ---- the files ---- */

struct paths {
	char *items[PATHS_MAX];
	size_t n;
};

static void paths_release(struct paths *paths)
{
	size_t i;

	for (i = 0; i < paths->n; i++)
		free(paths->items[i]);
}

/* KUBECONFIG's list, else HOME/.kube/config. */
static void paths_find(struct paths *paths)
{
	const char *list = env_text("KUBECONFIG"), *home = env_text("HOME");

	paths->n = 0;
	while (list && *list && paths->n < PATHS_MAX) {
		size_t len = strcspn(list, ":");

		if (len)
			paths->items[paths->n++] = xstrndup(list, len);
		list += len + (list[len] == ':');
	}
	if (!env_text("KUBECONFIG") && home)
		paths->items[paths->n++] = kube_path_join(home, ".kube/config");
}

static int load_paths(const struct paths *paths, struct kubeconfig **ret, struct err *err)
{
	return kubeconfig_load((const char *const *)paths->items, paths->n, ret, err);
}

/* Says nothing at all: no file, or files without a context. */
static bool is_silent(const struct kubeconfig *k)
{
	return !kubeconfig_context(k, 0) && !kubeconfig_current(k);
}

static int find_named(const struct kube_where *where, struct kube_access *ret, struct err *err)
{
	struct kubeconfig *k;
	int rc;

	if (!is_file(where->kubeconfig)) {
		struct str none;

		/* Its own words for why not. */
		str_init(&none, 1);
		rc = fs_read(where->kubeconfig, &none, err);
		str_release(&none);
		if (rc && rc != ERR_LIMIT)
			return rc;
	}
	rc = kubeconfig_load(&where->kubeconfig, 1, &k, err);
	if (rc)
		return rc;
	rc = kubeconfig_resolve(k, where->context, ret, err);
	kubeconfig_free(k);
	return rc;
}

static int fail_nothing(const struct paths *paths, struct err *err)
{
	if (env_text("KUBECONFIG"))
		return err_set(err, ERR_NOTFOUND,
			"no API server is known: none of the files of KUBECONFIG names one, and "
			"this is no pod with a service account");
	return err_set(err, ERR_NOTFOUND,
		"no API server is known: KUBECONFIG is not set, %s%s names none, and this is no "
		"pod with a service account",
		paths->n ? paths->items[0] : "HOME", paths->n ? "" : " (not set)");
}

int kube_access_find(const struct kube_where *where, struct kube_access *ret, struct err *err)
{
	struct kubeconfig *k = NULL;
	struct paths paths;
	int rc;

	if (where->in_cluster)
		return kube_access_in_cluster(where->service_account, ret, err);
	if (where->kubeconfig)
		return find_named(where, ret, err);
	paths_find(&paths);
	rc = load_paths(&paths, &k, err);
	if (!rc && is_silent(k) && !where->context) {
		rc = kube_access_in_cluster(where->service_account, ret, err);
		if (rc == ERR_NOTFOUND)
			rc = fail_nothing(&paths, err);
	} else if (!rc) {
		rc = kubeconfig_resolve(k, where->context, ret, err);
	}
	kubeconfig_free(k);
	paths_release(&paths);
	return rc;
}

static bool any_pipe(const struct paths *paths)
{
	struct stat st;
	size_t i;

	for (i = 0; i < paths->n; i++)
		if (stat(paths->items[i], &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
			return true;
	return false;
}

enum kube_found kube_access_look(const char *folder, char **ret_context)
{
	enum kube_found found = KUBE_FOUND_NOTHING;
	struct kubeconfig *k = NULL;
	struct paths paths;

	*ret_context = NULL;
	paths_find(&paths);
	if (any_pipe(&paths) || load_paths(&paths, &k, NULL)) {
		found = KUBE_FOUND_FILE;
	} else if (kubeconfig_current(k)) {
		found = KUBE_FOUND_CONTEXT;
		*ret_context = xstrdup(kubeconfig_current(k));
	} else if (!is_silent(k)) {
		found = KUBE_FOUND_FILE;
	} else if (is_pod(folder ? folder : service_account)) {
		found = KUBE_FOUND_POD;
	}
	kubeconfig_free(k);
	paths_release(&paths);
	return found;
}
