#include "config.h"

#include "control/discovery.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "io/kubeconfig.h"
#include "io/yaml.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum {
	NAME_MAX_BYTES = 60 /* less than a config's name may have, for "-2" */
};

static const char *const discovery_pg[] = { "PGHOST", "PGHOSTADDR", "PGSERVICE", "PGDATABASE",
	"PGPORT" };

/* etcdctl's variables and the option of an etcd source that each one is. ETCDCTL_USER is taken
 * apart first. */
static const struct {
	const char *variable, *option;
} discovery_etcd[] = {
	{ "ETCDCTL_PASSWORD", "password" },
	{ "ETCDCTL_CACERT", "ca" },
	{ "ETCDCTL_CERT", "cert" },
	{ "ETCDCTL_KEY", "key" },
};

static const char *discovery_env(const char *name)
{
	const char *value = getenv(name);

	return value && value[0] ? value : NULL;
}

static bool discovery_has_option(const struct source_ops *ops, const char *name)
{
	const struct option_def *def;

	for (def = ops->options; def && def->name; def++)
		if (strcmp(def->name, name) == 0)
			return true;
	return false;
}

static void discovery_add(struct yaml_node *options, const struct source_ops *ops, const char *name,
	const char *value)
{
	if (discovery_has_option(ops, name) && !yaml_get(options, name))
		yaml_map_add(options, name, yaml_new(YAML_SCALAR, value));
}

static struct yaml_node *discovery_endpoints(const char *text)
{
	struct yaml_node *list = yaml_new(YAML_LIST, NULL);
	char *copy = xstrdup(text), *rest = copy, *item;

	while ((item = strsep(&rest, ",")))
		if (item[strspn(item, " ")])
			yaml_list_add(list, yaml_new(YAML_SCALAR, item + strspn(item, " ")));
	free(copy);
	return list;
}

/* ETCDCTL_USER is "name" or "name:password". */
static void discovery_user(struct yaml_node *options, const struct source_ops *ops)
{
	const char *user = discovery_env("ETCDCTL_USER");
	const char *colon = user ? strchr(user, ':') : NULL;
	char *name;

	if (!user)
		return;
	name = colon ? xstrndup(user, (size_t)(colon - user)) : xstrdup(user);
	discovery_add(options, ops, "user", name);
	if (colon)
		discovery_add(options, ops, "password", colon + 1);
	free(name);
}

static struct yaml_node *discovery_etcd_options(const struct source_ops *ops, const char *endpoints)
{
	struct yaml_node *options = yaml_new(YAML_MAP, NULL);
	size_t i;

	yaml_map_add(options, "endpoints", discovery_endpoints(endpoints));
	discovery_user(options, ops);
	for (i = 0; i < ARRAY_LEN(discovery_etcd); i++) {
		const char *value = discovery_env(discovery_etcd[i].variable);

		if (value)
			discovery_add(options, ops, discovery_etcd[i].option, value);
	}
	return options;
}

/* A context's name as a source's: one "-" for each character that can't stand in one. */
static char *discovery_name(const char *context)
{
	struct str name;

	str_init(&name, NAME_MAX_BYTES);
	while (*context && name.len < NAME_MAX_BYTES) {
		uint32_t cp;
		size_t len = text_decode(context, strlen(context), &cp);
		bool fits =
			len == 1 && (isalnum((unsigned char)*context) || strchr("._-", *context));

		str_add_char(&name, fits ? *context : '-');
		context += len ? len : 1;
	}
	return str_take(&name);
}

static bool discovery_kubernetes(struct discovered *ret, const struct source_ops *ops)
{
	struct yaml_node *options = yaml_new(YAML_MAP, NULL);
	char *context;

	switch (kube_access_look(NULL, &context)) {
	case KUBE_FOUND_CONTEXT:
		discovery_add(options, ops, "context", context);
		ret->name = discovery_name(context);
		break;
	case KUBE_FOUND_FILE:
		ret->name = xstrdup("kubernetes");
		break;
	case KUBE_FOUND_POD:
		discovery_add(options, ops, "in_cluster", "true");
		ret->name = xstrdup("in-cluster");
		break;
	case KUBE_FOUND_NOTHING:
		yaml_node_free(options);
		return false;
	}
	free(context);
	ret->ops = ops;
	ret->options = options;
	return true;
}

/* The others have fixed names, and "role" is none of a source's: "-2" tells it apart. */
static void discovery_make_unique(struct discovered *found, size_t n)
{
	struct discovered *last = &found[n - 1];
	bool taken = strcmp(last->name, "role") == 0;
	struct str name;
	size_t i;

	for (i = 0; i + 1 < n; i++)
		taken = taken || strcmp(found[i].name, last->name) == 0;
	if (!taken)
		return;
	str_init(&name, NAME_MAX_BYTES + 2);
	str_addf(&name, "%s-2", last->name);
	free(last->name);
	last->name = str_take(&name);
}

size_t discovery_look(struct discovered found[DISCOVERY_MAX])
{
	const char *endpoints = discovery_env("ETCDCTL_ENDPOINTS");
	const struct source_ops *pg = source_kind("postgres"), *etcd = source_kind("etcd");
	const struct source_ops *kubernetes = source_kind("kubernetes");
	size_t n = 0, i;

	memset(found, 0, DISCOVERY_MAX * sizeof(*found));
	for (i = 0; i < ARRAY_LEN(discovery_pg) && pg && !n; i++)
		if (discovery_env(discovery_pg[i]))
			found[n++] = (struct discovered){ .ops = pg, .name = xstrdup("postgres") };
	if (endpoints && etcd)
		found[n++] = (struct discovered){ .ops = etcd,
			.name = xstrdup("etcd"),
			.options = discovery_etcd_options(etcd, endpoints) };
	if (kubernetes && discovery_kubernetes(&found[n], kubernetes))
		discovery_make_unique(found, ++n);
	return n;
}

void discovery_explain(const char *config_path, bool there, struct str *out)
{
	bool kubernetes = source_kind("kubernetes");

	str_add(out, "No source to look at. Looked for:\n");
	str_add(out, "  a config file     ");
	text_escape_again(out,
		config_path ? config_path : "baton/config.yaml in XDG_CONFIG_HOME or HOME/.config",
		PATH_MAX);
	str_addf(out, ": %s\n", there ? "names no source" : "not there");
	str_add(out, "  PostgreSQL        PGHOST, PGHOSTADDR, PGSERVICE, PGDATABASE or PGPORT: "
		     "none is set\n"
		     "  etcd              ETCDCTL_ENDPOINTS: not set\n");
	if (kubernetes)
		str_add(out, "  Kubernetes        KUBECONFIG, HOME/.kube/config, a pod's service "
			     "account: none is there\n");
	str_add(out, "To point it at something:\n"
		     "  PGHOST=db.example baton             everything that libpq reads from its "
		     "environment works\n"
		     "  ETCDCTL_ENDPOINTS=http://10.0.0.1:2379 baton\n");
	if (kubernetes)
		str_add(out, "  KUBECONFIG=admin.conf baton         its current context, as for "
			     "kubectl\n");
	str_add(out, "  baton init                          writes a commented config to fill in\n"
		     "  ./bootstrap lab                     in the source tree: a private "
		     "PostgreSQL, etcd and Kubernetes to try\n");
}

/* As Go's strconv.ParseBool reads it, which etcdctl uses. */
static bool discovery_true(const char *value)
{
	static const char *const words[] = { "1", "t", "T", "TRUE", "true", "True" };
	size_t i;

	for (i = 0; value && i < ARRAY_LEN(words); i++)
		if (strcmp(value, words[i]) == 0)
			return true;
	return false;
}

char *discovery_note(void)
{
	if (!discovery_env("ETCDCTL_ENDPOINTS") ||
		!discovery_true(discovery_env("ETCDCTL_INSECURE_SKIP_TLS_VERIFY")))
		return NULL;
	return xstrdup("ETCDCTL_INSECURE_SKIP_TLS_VERIFY is not followed: certificates are always "
		       "checked; name the server's CA in ETCDCTL_CACERT");
}
