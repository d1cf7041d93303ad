#include "config.h"

#include "control/discovery.h"
#include "base/mem.h"
#include "base/str.h"
#include "io/yaml.h"

#include <stdlib.h>
#include <string.h>

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

size_t discovery_look(struct discovered found[DISCOVERY_MAX])
{
	const char *endpoints = discovery_env("ETCDCTL_ENDPOINTS");
	const struct source_ops *pg = source_kind("postgres"), *etcd = source_kind("etcd");
	size_t n = 0, i;

	for (i = 0; i < ARRAY_LEN(discovery_pg) && pg && !n; i++)
		if (discovery_env(discovery_pg[i]))
			found[n++] = (struct discovered){ .ops = pg, .name = "postgres" };
	if (endpoints && etcd)
		found[n++] = (struct discovered){ .ops = etcd,
			.name = "etcd",
			.options = discovery_etcd_options(etcd, endpoints) };
	return n;
}

void discovery_explain(const char *config_path, bool there, struct str *out)
{
	str_add(out, "No source to look at. Looked for:\n");
	str_addf(out, "  a config file     %s: %s\n",
		config_path ? config_path : "baton/config.yaml in XDG_CONFIG_HOME or HOME/.config",
		there ? "names no source" : "not there");
	str_add(out, "  PostgreSQL        PGHOST, PGHOSTADDR, PGSERVICE, PGDATABASE or PGPORT: "
		     "none is set\n"
		     "  etcd              ETCDCTL_ENDPOINTS: not set\n"
		     "To point it at something:\n"
		     "  PGHOST=db.example baton             everything that libpq reads from its "
		     "environment works\n"
		     "  ETCDCTL_ENDPOINTS=http://10.0.0.1:2379 baton\n"
		     "  baton init                          writes a commented config to fill in\n"
		     "  ./bootstrap lab                     in the source tree: a private "
		     "PostgreSQL and etcd to try\n");
}
