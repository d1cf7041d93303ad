#include "config.h"

#include "tests/unit/unit.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "control/options.h"
#include "control/sample.h"
#include "control/settings.h"
#include "io/yaml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Each test has a folder of its own, and an environment without anything to discover. */
struct place {
	char folder[64];
	char config[96];
};

static const char *const variables[] = { "PGHOST", "PGHOSTADDR", "PGSERVICE", "PGDATABASE",
	"PGPORT", "PGUSER", "ETCDCTL_ENDPOINTS", "ETCDCTL_USER", "ETCDCTL_PASSWORD",
	"ETCDCTL_CACERT", "ETCDCTL_CERT", "ETCDCTL_KEY", "BATON_CONFIG", "HOME", "KUBECONFIG",
	"KUBERNETES_SERVICE_HOST" };

static int setup(void **state)
{
	struct place *place = xcalloc(1, sizeof(*place));
	size_t i;

	for (i = 0; i < ARRAY_LEN(variables); i++)
		unsetenv(variables[i]);
	snprintf(place->folder, sizeof(place->folder), "/tmp/baton-settings-XXXXXX");
	assert_non_null(mkdtemp(place->folder));
	setenv("XDG_CONFIG_HOME", place->folder, 1);
	snprintf(place->config, sizeof(place->config), "%s/c.yaml", place->folder);
	*state = place;
	return 0;
}

static int teardown(void **state)
{
	struct place *place = *state;
	char path[128];

	unlink(place->config);
	snprintf(path, sizeof(path), "%s/baton/config.yaml", place->folder);
	unlink(path);
	snprintf(path, sizeof(path), "%s/baton", place->folder);
	rmdir(path);
	assert_int_equal(rmdir(place->folder), 0);
	free(place);
	return 0;
}

static void write_file(const char *path, const char *text, size_t len)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, len, file), len);
	assert_int_equal(fclose(file), 0);
}

static struct settings *load(const struct place *place, const char *text)
{
	struct settings *s = NULL;
	struct err err = { 0 };

	write_file(place->config, text, strlen(text));
	if (settings_load(place->config, 0, &s, &err))
		fail_msg("%s", err.text);
	return s;
}

/* Loads a config that must be refused, and gives the message behind the file's name. */
static const char *refused(const struct place *place, const char *text, struct err *err)
{
	struct settings *s = NULL;
	size_t len = strlen(place->config);

	write_file(place->config, text, strlen(text));
	if (settings_load(place->config, 0, &s, err) != ERR_CONFIG)
		fail_msg("taken: %s", text);
	assert_null(s);
	assert_int_equal(err->code, ERR_CONFIG);
	assert_memory_equal(err->text, place->config, len);
	return err->text + len + 1;
}

static void refuse(const struct place *place, const char *text, const char *message)
{
	struct err err = { 0 };

	assert_string_equal(refused(place, text, &err), message);
}

/* For messages that list keys, of which more may come. */
static void refuse_start(const struct place *place, const char *text, const char *start)
{
	struct err err = { 0 };

	if (!str_starts(refused(place, text, &err), start))
		fail_msg("%s", err.text);
}

static void test_everything(void **state)
{
	struct settings *s = load(*state,
		"sources:\n"
		"  orders: {kind: postgres, environment: prod, conninfo: \"service=orders\", "
		"protect: yes, interval: 3s, timeout: 1.5s}\n"
		"  ctl:\n"
		"    kind: etcd\n"
		"    endpoints: [\"https://10.0.0.1:2379\", \"https://10.0.0.2:2379\"]\n"
		"    ca: ca.pem\n"
		"    cert: /etc/c.pem\n"
		"    prefixes: [{prefix: elections/, mechanism: election}, {prefix: locks/}]\n"
		"names:\n"
		"  - {source: orders, database: app, key: {hashtext: billing-close}, name: close}\n"
		"  - {source: orders, key: {pair: [7, -9]}, name: nightly}\n"
		"  - {source: orders, key: {bigint: 0x10}, name: hex}\n"
		"  - {source: orders, key: \"app:-42\", name: \"a\\eb\"}\n"
		"roles:\n"
		"  close-books: {harm: harmful, idempotent: false, witnesses: "
		"[\"orders/app:-42\"]}\n"
		"  other: {witnesses: ctl/elections/x}\n"
		"thresholds: {stuck: 7m, flapping_holders: 9}\n"
		"read_only: true\n"
		"theme: dark\n");
	const struct source_config *orders = &s->sources[0], *ctl = &s->sources[1];
	const struct place *place = *state;
	char ca[128];

	assert_false(s->discovered);
	assert_int_equal(s->n_sources, 2);
	assert_string_equal(orders->name, "orders");
	assert_string_equal(orders->ops->kind, "postgres");
	assert_string_equal(orders->environment, "prod");
	assert_true(orders->protect);
	assert_int_equal(orders->interval_ms, 3000);
	assert_int_equal(orders->timeout_ms, 1500);
	assert_string_equal(source_option_text(orders, "conninfo"), "service=orders");
	assert_true(source_option_set(orders, "conninfo"));
	assert_null(ctl->environment);
	assert_false(ctl->protect);
	assert_int_equal(ctl->interval_ms, ctl->ops->interval_ms);
	assert_int_equal(ctl->timeout_ms, 5000);
	assert_string_equal(source_option_item(ctl, "endpoints", 1), "https://10.0.0.2:2379");
	assert_null(source_option_item(ctl, "endpoints", 2));
	snprintf(ca, sizeof(ca), "%s/ca.pem", place->folder);
	assert_string_equal(source_option_text(ctl, "ca"), ca);
	assert_string_equal(source_option_text(ctl, "cert"), "/etc/c.pem");
	assert_string_equal(
		yaml_get(source_option_map(ctl, "prefixes", 1), "prefix")->text, "locks/");
	assert_null(source_option_map(ctl, "prefixes", 2));
	assert_false(source_option_set(ctl, "user"));

	assert_int_equal(orders->n_names, 4);
	assert_int_equal(ctl->n_names, 0);
	assert_string_equal(orders->names[0].database, "app");
	assert_string_equal(orders->names[0].recipe, "hashtext");
	assert_string_equal(orders->names[0].value, "billing-close");
	assert_null(orders->names[1].database);
	assert_string_equal(orders->names[1].value, "7,-9");
	assert_string_equal(orders->names[2].value, "16");
	assert_string_equal(orders->names[3].recipe, "literal");
	assert_string_equal(orders->names[3].value, "app:-42");
	assert_string_equal(orders->names[3].name, "a\\x1bb");

	assert_int_equal(s->n_roles, 2);
	assert_int_equal(s->roles[0].harm, HARM_HARMFUL);
	assert_int_equal(s->roles[0].idempotent, TRI_NO);
	assert_int_equal(s->roles[0].fenced, TRI_UNKNOWN);
	assert_int_equal(s->roles[1].harm, HARM_UNKNOWN);
	assert_string_equal(s->roles[1].witnesses[0], "ctl/elections/x");
	assert_int_equal(s->thresholds.stuck_ms, 420000);
	assert_int_equal(s->thresholds.flapping_holders, 9);
	assert_int_equal(s->thresholds.idle_holder_ms, thresholds_default().idle_holder_ms);
	assert_true(s->read_only);
	assert_string_equal(s->theme, "dark");
	settings_free(s);
}

static void test_wrong_keys(void **state)
{
	refuse(*state, "sorces: {}\n",
		"1:1: unknown key 'sorces' in the config; did you mean 'sources'?");
	refuse(*state, "x:\n",
		"1:1: unknown key 'x' in the config; known here: sources, names, roles, "
		"thresholds, read_only, audit, theme, console");
	refuse(*state, "sources:\n  a:\n    kind: postgres\n    conifo: x\n",
		"4:5: unknown key 'conifo' in source 'a'; did you mean 'conninfo'?");
	refuse_start(*state, "sources: {a: {kind: postgres, endpoints: x}}\n",
		"1:31: unknown key 'endpoints' in source 'a'; known here: kind, environment, "
		"protect, "
		"interval, timeout, conninfo, ");
	refuse(*state, "sources: {a: {kind: etcd, prefixes: [{prefx: x}]}}\n",
		"1:39: unknown key 'prefx' in item 1 of 'prefixes'; did you mean 'prefix'?");
	refuse(*state, "roles: {r: {ham: harmful}}\n",
		"1:13: unknown key 'ham' in role 'r'; did you mean 'harm'?");
	refuse(*state, "thresholds: {stuk: 5m}\n",
		"1:14: unknown key 'stuk' in 'thresholds'; did you mean 'stuck'?");
	refuse(*state,
		"sources: {p: {kind: postgres}}\nnames: [{source: p, key: {hashtxt: x}, name: "
		"n}]\n",
		"2:27: unknown key 'hashtxt' in a key; did you mean 'hashtext'?");
	refuse(*state, "\"bad\\ekey\": 1\n",
		"1:1: unknown key 'bad\\x1bkey' in the config; known here: sources, names, roles, "
		"thresholds, read_only, audit, theme, console");
}

static void test_the_past(void **state)
{
	struct settings *s = load(*state, "sources: {}\n");

	assert_int_equal(settings_past_bytes(s), 32 * 1024 * 1024);
	settings_free(s);
	s = load(*state, "sources: {}\nconsole: {past_mb: 0}\n");
	assert_int_equal(settings_past_bytes(s), 0);
	settings_free(s);
	refuse(*state, "console: {past_mb: -1}\n", "1:20: 'past_mb' must be 0 to 4096");
	refuse(*state, "console: {past_mb: 5000}\n", "1:20: 'past_mb' must be 0 to 4096");
	refuse(*state, "console: {past: 1}\n",
		"1:11: unknown key 'past' in 'console'; did you mean 'past_mb'?");
}

static void test_wrong_values(void **state)
{
	refuse(*state, "- a\n", "1:1: the config must be a map of keys and values");
	refuse(*state, "just a text\n", "1:1: the config must be a map of keys and values");
	refuse(*state, "sources: [a]\n", "1:10: 'sources' must be a map, not a list");
	refuse(*state, "sources: {a: postgres}\n",
		"1:14: source 'a' must be a map of keys and values");
	refuse(*state, "sources:\n  a:\n", "2:5: source 'a' must be a map of keys and values");
	refuse(*state, "sources: {a: {environment: prod}}\n",
		"1:14: source 'a' has no 'kind'; known kinds: postgres, etcd, kubernetes");
	refuse(*state, "sources: {a: {kind: postgre}}\n",
		"1:21: unknown kind 'postgre' in source 'a'; known kinds: postgres, etcd, "
		"kubernetes; did you "
		"mean "
		"'postgres'?");
	refuse(*state, "sources: {a: {kind: [x]}}\n",
		"1:14: source 'a' has no 'kind'; known kinds: postgres, etcd, kubernetes");
	refuse(*state, "sources: {a: {kind: etcd, protect: maybe}}\n",
		"1:36: 'protect' must be true or false, not 'maybe'");
	refuse(*state, "sources: {a: {kind: etcd, interval: soon}}\n",
		"1:37: 'interval' must be a duration such as 500ms, 10s or 5m, not 'soon'");
	refuse(*state, "sources: {a: {kind: etcd, interval: 10ms}}\n",
		"1:37: 'interval' must be 100ms to 86400s");
	refuse(*state, "sources: {a: {kind: etcd, timeout: 2h}}\n",
		"1:36: 'timeout' must be 100ms to 3600s");
	refuse(*state, "sources: {a: {kind: etcd, timeout: [1s]}}\n",
		"1:36: 'timeout' must be a duration such as 500ms, 10s or 5m, not a list");
	refuse(*state, "sources: {a: {kind: etcd, endpoints: {x: y}}}\n",
		"1:38: 'endpoints' must be a text or a list of texts, not a map");
	refuse(*state, "sources: {a: {kind: etcd, endpoints: [[x]]}}\n",
		"1:39: each item of 'endpoints' must be a text");
	refuse(*state, "sources: {a: {kind: etcd, prefixes: x}}\n",
		"1:37: 'prefixes' must be a list of maps, not 'x'");
	refuse(*state, "sources: {a: {kind: etcd, prefixes: [x]}}\n",
		"1:38: item 1 of 'prefixes' must be a map of keys and values");
	refuse(*state, "sources: {a: {kind: etcd, prefixes: [{prefix: x, mechanism: elction}]}}\n",
		"1:61: 'mechanism' must be one of auto|election|lock|key, not 'elction'; did you "
		"mean "
		"'election'?");
	refuse(*state, "sources: {\"a b\": {kind: etcd}}\n",
		"1:11: the source name 'a b' must be 1 to 64 letters, digits, dots, underscores or "
		"minuses");
	refuse(*state, "sources: {\"\": {kind: etcd}}\n",
		"1:11: the source name '' must be 1 to 64 letters, digits, dots, underscores or "
		"minuses");
	refuse(*state, "sources: {role: {kind: etcd}}\n",
		"1:11: a source can't be called 'role': ids that begin so are the roles'");
	refuse(*state, "thresholds: {stuck: -1}\n",
		"1:21: 'stuck' must be a duration such as 500ms, 10s or 5m, not '-1'");
	refuse(*state, "thresholds: {flapping_holders: 0}\n",
		"1:32: 'flapping_holders' must be at least 1");
	refuse(*state, "thresholds: {flapping_holders: \"5\"}\n",
		"1:32: 'flapping_holders' must be a whole number, not '5'");
	refuse(*state, "read_only: 1\n", "1:12: 'read_only' must be true or false, not '1'");
}

static void test_wrong_names_and_roles(void **state)
{
	refuse(*state, "sources: {ctl: {kind: etcd}}\nnames: [{source: ctrl, key: x, name: n}]\n",
		"2:18: no source is called 'ctrl'; did you mean 'ctl'?");
	refuse(*state, "sources: {p: {kind: postgres}}\nnames: [{source: p, key: x}]\n",
		"2:9: item 1 of 'names' has no 'name': The name to show.");
	refuse(*state,
		"sources: {p: {kind: postgres}}\nnames: [{source: p, key: {pair: [1]}, name: n}]\n",
		"2:33: 'pair' must be two signed 32-bit numbers: [7, -9]");
	refuse(*state,
		"sources: {p: {kind: postgres}}\nnames: [{source: p, key: {pair: [1, 2147483648]}, "
		"name: "
		"n}]\n",
		"2:33: 'pair' must be two signed 32-bit numbers: [7, -9]");
	refuse(*state,
		"sources: {p: {kind: postgres}}\nnames: [{source: p, key: {bigint: x}, name: n}]\n",
		"2:35: 'bigint' must be a whole number, not 'x'");
	refuse(*state,
		"sources: {p: {kind: postgres}}\nnames: [{source: p, key: {md5: a, crc32: b}, "
		"name: "
		"n}]\n",
		"2:26: 'key' must say one way to make it, not 2");
	refuse(*state,
		"sources: {p: {kind: postgres}}\nnames: [{source: p, key: {md5: }, name: n}]\n",
		"2:27: 'md5' says nothing");
	refuse(*state, "roles: {r: {harm: harmful}}\n",
		"1:12: role 'r' has no 'witnesses': The ids that tell of this role, in one or "
		"several "
		"sources.");
	refuse(*state, "roles: {r: {witnesses: []}}\n", "1:24: role 'r' has no witness");
	refuse(*state, "roles: {r: {witnesses: [billing]}}\n",
		"1:25: the witness 'billing' is no id: ids are SOURCE/PATH, as baton list shows "
		"them");
	refuse(*state, "sources: {p: {kind: postgres}}\nroles: {r: {witnesses: [q/app:1]}}\n",
		"2:25: no source is called 'q'");
	refuse(*state, "roles: {r: {harm: harmfull, witnesses: [p/x]}}\n",
		"1:19: 'harm' must be one of harmful|annoying|harmless, not 'harmfull'; did you "
		"mean "
		"'harmful'?");
}

static void test_files(void **state)
{
	const struct place *place = *state;
	struct settings *s = NULL;
	struct err err = { 0 };
	char message[256];
	char *big = xcalloc(1, 10 * 1024 * 1024);

	assert_int_equal(settings_load("/nowhere/c.yaml", 0, &s, &err), ERR_CONFIG);
	assert_string_equal(err.text, "can't open /nowhere/c.yaml: No such file or directory");
	assert_int_equal(settings_load(place->folder, 0, &s, &err), ERR_CONFIG);
	snprintf(message, sizeof(message), "%s is a directory, not a file", place->folder);
	assert_string_equal(err.text, message);

	memset(big, '#', 10 * 1024 * 1024);
	write_file(place->config, big, 10 * 1024 * 1024);
	assert_int_equal(settings_load(place->config, 0, &s, &err), ERR_CONFIG);
	snprintf(message, sizeof(message), "%s is larger than 1 MB: no config of ours",
		place->config);
	assert_string_equal(err.text, message);
	write_file(place->config, big, 1024 * 1024);
	assert_int_equal(settings_load(place->config, 0, &s, &err), 0);
	settings_free(s);
	free(big);

	refuse(place, "a: \xc3\x28\n", "1:5: not text in UTF-8: invalid trailing UTF-8 octet");
	if (geteuid() != 0) {
		chmod(place->config, 0);
		assert_int_equal(settings_load(place->config, 0, &s, &err), ERR_CONFIG);
		snprintf(message, sizeof(message), "can't open %s: Permission denied",
			place->config);
		assert_string_equal(err.text, message);
	}
}

static void test_empty(void **state)
{
	struct settings *s = load(*state, "");

	assert_true(s->discovered);
	assert_int_equal(s->n_sources, 0);
	assert_non_null(s->looked_for);
	assert_non_null(strstr(s->looked_for, "ETCDCTL_ENDPOINTS"));
	assert_non_null(strstr(s->looked_for, "PGSERVICE"));
	assert_non_null(strstr(s->looked_for, "./bootstrap lab"));
	settings_free(s);

	s = load(*state, "sources: {}\n");
	assert_false(s->discovered);
	assert_int_equal(s->n_sources, 0);
	assert_non_null(s->looked_for);
	settings_free(s);

	s = load(*state, "sources:\nnames:\nroles: ~\nthresholds:\nread_only:\ntheme:\n");
	assert_true(s->discovered);
	assert_false(s->read_only);
	assert_null(s->theme);
	settings_free(s);
}

/* Where the file comes from: the argument, then BATON_CONFIG, then the default place. */
static void test_places(void **state)
{
	const struct place *place = *state;
	char path[128];
	struct settings *s = NULL;
	struct err err = { 0 };

	assert_int_equal(settings_load(NULL, 0, &s, &err), 0);
	assert_null(s->path);
	settings_free(s);

	snprintf(path, sizeof(path), "%s/baton", place->folder);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/baton/config.yaml", place->folder);
	write_file(path, "theme: light\n", 13);
	assert_int_equal(settings_load(NULL, 0, &s, &err), 0);
	assert_string_equal(s->path, path);
	assert_string_equal(s->theme, "light");
	settings_free(s);

	write_file(place->config, "theme: mono\n", 12);
	setenv("BATON_CONFIG", place->config, 1);
	assert_int_equal(settings_load(NULL, 0, &s, &err), 0);
	assert_string_equal(s->theme, "mono");
	settings_free(s);
	assert_int_equal(settings_load(path, 0, &s, &err), 0);
	assert_string_equal(s->theme, "light");
	settings_free(s);

	setenv("BATON_CONFIG", "/nowhere/c.yaml", 1);
	assert_int_equal(settings_load(NULL, 0, &s, &err), ERR_CONFIG);
}

static void test_discovery(void **state)
{
	struct settings *s = NULL;
	struct err err = { 0 };

	(void)state;
	setenv("PGPORT", "", 1);
	assert_int_equal(settings_load(NULL, 0, &s, &err), 0);
	assert_int_equal(s->n_sources, 0);
	settings_free(s);

	setenv("PGPORT", "5433", 1);
	setenv("ETCDCTL_ENDPOINTS", "http://a:1, http://b:2,", 1);
	setenv("ETCDCTL_USER", "root:s:ecret", 1);
	setenv("ETCDCTL_PASSWORD", "not this one", 1);
	setenv("ETCDCTL_CACERT", "ca.pem", 1);
	assert_int_equal(settings_load(NULL, 700, &s, &err), 0);
	assert_true(s->discovered);
	assert_null(s->looked_for);
	assert_int_equal(s->n_sources, 2);
	assert_string_equal(s->sources[0].name, "postgres");
	assert_int_equal(s->sources[0].timeout_ms, 700);
	assert_string_equal(s->sources[1].name, "etcd");
	assert_null(s->sources[1].environment);
	assert_string_equal(source_option_item(&s->sources[1], "endpoints", 0), "http://a:1");
	assert_string_equal(source_option_item(&s->sources[1], "endpoints", 1), "http://b:2");
	assert_null(source_option_item(&s->sources[1], "endpoints", 2));
	assert_string_equal(source_option_text(&s->sources[1], "user"), "root");
	assert_string_equal(source_option_text(&s->sources[1], "password"), "s:ecret");
	assert_string_equal(source_option_text(&s->sources[1], "ca"), "ca.pem");
	assert_null(source_option_text(&s->sources[1], "cert"));
	settings_free(s);
}

/* The current context, under a name that a source may have. */
static void test_discovery_kubernetes(void **state)
{
	static const struct {
		const char *context, *name;
	} cases[] = { { "lab", "lab" }, { "Prod.EU_1-a", "Prod.EU_1-a" },
		{ "arn:aws:eks:eu-west-1:1:cluster/x", "arn-aws-eks-eu-west-1-1-cluster-x" },
		{ "k\xc3\xbc\xe2\x82\xac @x", "k----x" }, { "etcd", "etcd-2" },
		{ "role", "role-2" } };
	const struct place *place = *state;
	struct settings *s;
	struct err err = { 0 };
	struct str text;
	size_t i;

	if (!source_kind("kubernetes"))
		skip();
	setenv("KUBECONFIG", place->config, 1);
	setenv("ETCDCTL_ENDPOINTS", "http://a:1", 1);
	str_init(&text, 1000);
	for (i = 0; i < ARRAY_LEN(cases); i++) {
		str_clear(&text);
		str_addf(&text, "current-context: \"%s\"\n", cases[i].context);
		write_file(place->config, text.s, text.len);
		assert_int_equal(settings_load(NULL, 0, &s, &err), 0);
		assert_int_equal(s->n_sources, 2);
		assert_string_equal(s->sources[1].name, cases[i].name);
		assert_string_equal(s->sources[1].ops->kind, "kubernetes");
		assert_string_equal(
			source_option_text(&s->sources[1], "context"), cases[i].context);
		settings_free(s);
	}

	/* What init writes needs no environment any more. */
	str_release(&text);
	str_init(&text, 1024 * 1024);
	sample_write(&text);
	unsetenv("KUBECONFIG");
	s = load(*state, text.s);
	assert_string_equal(s->sources[1].name, "role-2");
	assert_string_equal(source_option_text(&s->sources[1], "context"), "role");
	assert_string_equal(source_option_text(&s->sources[1], "kubeconfig"), place->config);
	settings_free(s);
	setenv("KUBECONFIG", place->config, 1);
	str_release(&text);

	/* One that is wrong is a source all the same: it says why when it is used. */
	write_file(place->config, "- a", 3);
	assert_int_equal(settings_load(NULL, 0, &s, &err), 0);
	assert_int_equal(s->n_sources, 2);
	assert_string_equal(s->sources[1].name, "kubernetes");
	settings_free(s);

	setenv("KUBECONFIG", "/nowhere/config", 1);
	assert_int_equal(settings_load(NULL, 0, &s, &err), 0);
	assert_int_equal(s->n_sources, 1);
	settings_free(s);
}

static void test_choose(void **state)
{
	const char *const both[] = { "b", "a" }, *const one[] = { "b" }, *const none[] = { "x" };
	struct settings *s =
		load(*state, "sources: {a: {kind: etcd}, b: {kind: etcd}, c: {kind: etcd}}\n"
			     "roles: {r: {witnesses: [a/x, b/x]}, q: {witnesses: [c/x]}}\n");
	struct err err = { 0 };

	assert_int_equal(settings_choose(s, none, 1, &err), ERR_USAGE);
	assert_string_equal(err.text, "no source is called 'x'; there is: a, b, c");
	assert_int_equal(settings_choose(s, both, 2, &err), 0);
	assert_int_equal(s->n_sources, 2);
	assert_string_equal(s->sources[0].name, "a");
	assert_int_equal(s->n_roles, 1);
	assert_int_equal(settings_choose(s, one, 1, &err), 0);
	assert_int_equal(s->n_sources, 1);
	assert_string_equal(s->sources[0].name, "b");
	assert_int_equal(s->n_roles, 1);
	settings_free(s);
}

/* What init writes is a config that loads, whatever was found. */
static void test_sample(void **state)
{
	struct settings *s;
	struct str text;

	str_init(&text, 1024 * 1024);
	sample_write(&text);
	s = load(*state, text.s);
	assert_int_equal(s->n_sources, 0);
	settings_free(s);

	setenv("PGHOST", "it's \\ \"here\"", 1);
	setenv("PGDATABASE", "app", 1);
	setenv("ETCDCTL_ENDPOINTS", "http://a:1,http://b:2", 1);
	setenv("ETCDCTL_USER", "root", 1);
	setenv("ETCDCTL_PASSWORD", "hush", 1);
	str_clear(&text);
	sample_write(&text);
	assert_null(strstr(text.s, "hush"));
	s = load(*state, text.s);
	assert_int_equal(s->n_sources, 2);
	assert_string_equal(source_option_text(&s->sources[0], "conninfo"),
		"host='it\\'s \\\\ \"here\"' dbname='app'");
	assert_string_equal(source_option_item(&s->sources[1], "endpoints", 1), "http://b:2");
	assert_string_equal(source_option_text(&s->sources[1], "user"), "root");
	assert_string_equal(source_option_text(&s->sources[1], "password_env"), "ETCDCTL_PASSWORD");
	settings_free(s);
	str_release(&text);
}

/* Every comment of a key in the sample is a key that would be taken: with the #s gone, nothing is
 * unknown. */
static void test_sample_keys_are_known(void **state)
{
	const struct place *place = *state;
	struct settings *s = NULL;
	struct err err = { 0 };
	struct str text, bare;
	char *line, *rest, *copy;

	setenv("ETCDCTL_ENDPOINTS", "http://a:1", 1);
	str_init(&text, 1024 * 1024);
	str_init(&bare, 1024 * 1024);
	sample_write(&text);
	copy = rest = str_take(&text);
	while ((line = strsep(&rest, "\n"))) {
		char *hash = strchr(line, '#');

		/* "#key: value", not "# a sentence"; what has no value of its own is left a
		 * comment. */
		if (hash && hash[1] >= 'a' && hash[1] <= 'z' && !strstr(line, "...") &&
			strncmp(line, "    ", 4) == 0)
			memmove(hash, hash + 1, strlen(hash));
		str_addf(&bare, "%s\n", line);
	}
	write_file(place->config, bare.s, bare.len);
	if (settings_load(place->config, 0, &s, &err))
		fail_msg("%s", err.text);
	settings_free(s);
	free(copy);
	str_release(&bare);
}

static void test_fallbacks(void **state)
{
	static const struct option_def table[] = {
		{ .name = "n", .type = OPTION_INT, .fallback = "7" },
		{ .name = "none", .type = OPTION_INT },
		{ .name = "yes", .type = OPTION_BOOL, .fallback = "true" },
		{ .name = "long", .type = OPTION_DURATION, .fallback = "2m" },
		{ .name = "list", .type = OPTION_LIST, .fallback = "one" },
		{ .name = NULL },
	};
	static const struct source_ops ops = { .kind = "test", .options = table };
	struct source_config config = { .ops = &ops };
	struct yaml_node *options = yaml_new(YAML_MAP, NULL);

	(void)state;
	assert_true(source_option_int(&config, "n") == 7);
	assert_true(source_option_int(&config, "none") == INT64_MIN);
	assert_true(source_option_int(&config, "yes") == 1);
	assert_true(source_option_int(&config, "long") == 120000);
	assert_string_equal(source_option_item(&config, "list", 0), "one");
	assert_null(source_option_item(&config, "list", 1));
	yaml_map_add(options, "n", yaml_new(YAML_SCALAR, "8"));
	yaml_map_add(options, "yes", yaml_new(YAML_SCALAR, "off"));
	yaml_map_add(options, "long", yaml_new(YAML_SCALAR, "~"));
	yaml_map_add(options, "list", yaml_new(YAML_SCALAR, "two"));
	config.options = options;
	assert_true(source_option_int(&config, "n") == 8);
	assert_true(source_option_int(&config, "yes") == 0);
	assert_true(source_option_int(&config, "long") == 120000);
	assert_false(source_option_set(&config, "long"));
	assert_string_equal(source_option_item(&config, "list", 0), "two");
	yaml_node_free(options);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_everything),
		TEST(test_wrong_keys),
		TEST(test_the_past),
		TEST(test_wrong_values),
		TEST(test_wrong_names_and_roles),
		TEST(test_files),
		TEST(test_empty),
		TEST(test_places),
		TEST(test_discovery),
		TEST(test_discovery_kubernetes),
		TEST(test_choose),
		TEST(test_sample),
		TEST(test_sample_keys_are_known),
		TEST(test_fallbacks),
	};

	text_init_locale();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
