#include "config.h"

#include "tests/unit/unit.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "io/kubeconfig-decode.h"
#include "io/kubeconfig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A folder with up to three files, which is where the test runs. */
struct place {
	char folder[64];
	char here[4096];
};

static int setup(void **state)
{
	struct place *place = xcalloc(1, sizeof(*place));

	snprintf(place->folder, sizeof(place->folder), "/tmp/baton-kubeconfig-XXXXXX");
	assert_non_null(mkdtemp(place->folder));
	assert_non_null(getcwd(place->here, sizeof(place->here)));
	assert_int_equal(chdir(place->folder), 0);
	assert_int_equal(mkdir("sub", 0700), 0);
	unsetenv("KUBECONFIG");
	unsetenv("HOME");
	unsetenv("POD_NAMESPACE");
	unsetenv("KUBERNETES_SERVICE_HOST");
	unsetenv("KUBERNETES_SERVICE_PORT");
	*state = place;
	return 0;
}

static int teardown(void **state)
{
	static const char *const names[] = { "a", "b", "c", "sub/a", "token", "namespace", "ca.crt",
		"pipe" };
	struct place *place = *state;
	size_t i;

	for (i = 0; i < ARRAY_LEN(names); i++)
		unlink(names[i]);
	assert_int_equal(rmdir("sub"), 0);
	assert_int_equal(chdir(place->here), 0);
	assert_int_equal(rmdir(place->folder), 0);
	free(place);
	return 0;
}

static void put(const char *name, const char *text)
{
	FILE *out = fopen(name, "w");

	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

static struct kubeconfig *load(const char *a, const char *b)
{
	const char *const files[] = { a, b };
	struct kubeconfig *k = NULL;
	struct err err = { 0 };

	if (kubeconfig_load(files, b ? 2 : 1, &k, &err))
		fail_msg("%s", err.text);
	assert_int_equal(err.code, 0);
	return k;
}

static const char one[] = "current-context: x\n"
			  "clusters: [{name: c, cluster: {server: \"https://one\"}}]\n"
			  "users: [{name: u, user: {token: t1, as: ada}}]\n"
			  "contexts: [{name: x, context: {cluster: c, user: u}}]\n";
static const char two[] =
	"current-context: w\n"
	"clusters: [{name: c, cluster: {server: \"https://two\", tls-server-name: nn}},\n"
	"  {name: d, cluster: {server: \"https://d\"}}]\n"
	"users: [{name: u, user: {tokenFile: a}}]\n"
	"contexts: [{name: w, context: {cluster: d, user: u, namespace: ns}},\n"
	"  {name: x, context: {cluster: d}}, {name: \"\", context: {}}]\n";

/* The first that has a name wins it whole. */
static void test_merge(void **state)
{
	struct kube_access a;
	struct kubeconfig *k;
	struct err err = { 0 };

	(void)state;
	put("a", one);
	put("b", two);
	k = load("a", "b");
	assert_int_equal(kubeconfig_files(k), 2);
	assert_string_equal(kubeconfig_current(k), "x");
	assert_string_equal(kubeconfig_context(k, 0), "");
	assert_string_equal(kubeconfig_context(k, 1), "w");
	assert_string_equal(kubeconfig_context(k, 2), "x");
	assert_null(kubeconfig_context(k, 3));
	assert_int_equal(kubeconfig_resolve(k, NULL, &a, &err), 0);
	assert_string_equal(a.server, "https://one");
	assert_null(a.server_name);
	assert_string_equal(a.name_space, "default");
	assert_string_equal(a.file, "a");
	assert_string_equal(kube_access_method(&a), "token");
	kube_access_release(&a);
	assert_int_equal(kubeconfig_resolve(k, "w", &a, &err), 0);
	assert_string_equal(a.server, "https://d");
	assert_string_equal(a.name_space, "ns");
	assert_string_equal(a.token, "t1");
	assert_null(a.token_file);
	kube_access_release(&a);
	assert_int_equal(kubeconfig_resolve(k, "z", &a, &err), ERR_CONFIG);
	assert_string_equal(err.text, "no context of the kubeconfig is called 'z'");
	kubeconfig_free(k);

	k = load("b", "a");
	assert_int_equal(kubeconfig_resolve(k, "x", &a, &err), 0);
	assert_string_equal(a.server, "https://d");
	assert_string_equal(kube_access_method(&a), "nobody (no credentials)");
	kube_access_release(&a);
	kubeconfig_free(k);
}

static void test_missing_and_empty(void **state)
{
	static const char *const texts[] = { "", "\n", "# nothing\n", "---\n", "null", "{}" };
	struct kube_access a;
	struct kubeconfig *k;
	struct err err = { 0 };
	size_t i;

	(void)state;
	put("a", one);
	k = load("gone", "a");
	assert_int_equal(kubeconfig_files(k), 1);
	kubeconfig_free(k);
	k = load("a", "a");
	assert_int_equal(kubeconfig_files(k), 1);
	kubeconfig_free(k);
	k = load("", "gone");
	assert_int_equal(kubeconfig_files(k), 0);
	assert_int_equal(kubeconfig_resolve(k, NULL, &a, &err), ERR_NOTFOUND);
	kubeconfig_free(k);
	for (i = 0; i < ARRAY_LEN(texts); i++) {
		put("b", texts[i]);
		k = load("b", NULL);
		assert_null(kubeconfig_current(k));
		assert_null(kubeconfig_context(k, 0));
		assert_int_equal(kubeconfig_resolve(k, NULL, &a, &err), ERR_CONFIG);
		assert_non_null(strstr(err.text, "b sets no current-context"));
		kubeconfig_free(k);
	}
}

static void refuse(const char *text, const char *message)
{
	static const char *const files[] = { "a" };
	struct kubeconfig *k = NULL;
	struct kube_access a;
	struct err err = { 0 };

	put("a", text);
	if (kubeconfig_load(files, 1, &k, &err) == 0)
		assert_int_equal(kubeconfig_resolve(k, NULL, &a, &err), ERR_CONFIG);
	kubeconfig_free(k);
	assert_int_equal(err.code, ERR_CONFIG);
	assert_string_equal(err.text, message);
}

/* Each names the place. (The whole table is in tests/live, beside kubectl.) */
static void test_places(void **state)
{
	(void)state;
	refuse("a: [", "a:2:1: not YAML: did not find expected node content (while parsing a flow "
		       "node that began in line 2)");
	refuse("kind: Pod", "a:1:7: kind is not Config: that is no kubeconfig that is known here");
	refuse("users:\n- name: u\n  user:\n    token: 123\n",
		"a:4:12: token must be text, and a number stands there: put it in quotes");
	refuse("users:\n- name: u\n- name: v\n- name: u\n",
		"a:4:3: the user 'u' stands here again; first in line 2");
	refuse("current-context: x\ncontexts:\n- name: x\n  context: {cluster: \"\\e[31m\"}\n",
		"a:4:22: no cluster is called '\\x1b[31m'");
	refuse("current-context: x\n", "a:1:18: no context is called 'x'");
	refuse("current-context: x\ncontexts:\n- name: x\n",
		"a:3:3: this context names no cluster");
	refuse("current-context: x\ncontexts: [{name: x, context: {cluster: c}}]\n"
	       "clusters:\n- {name: c, cluster: {insecure-skip-tls-verify: yes}}\n",
		"a:4:3: this cluster has no server");
}

static void test_paths(void **state)
{
	static const char *const cases[][3] = { { "/a/b", "c", "/a/b/c" },
		{ "/a/b", "./c", "/a/b/c" }, { "/a/b", "../c", "/a/c" },
		{ "/a/b", "../../../c", "/c" }, { "/a/b", "x/..//y/.", "/a/b/y" },
		{ "/a/b", "/x/../y", "/x/../y" }, { "/", "c", "/c" }, { "/a/./b/", "..", "/a" },
		{ "/", "..", "/" } };
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_LEN(cases); i++) {
		char *path = kube_path_join(cases[i][0], cases[i][1]);

		assert_string_equal(path, cases[i][2]);
		free(path);
	}
}

static void test_paths_belong_to_their_file(void **state)
{
	const struct place *place = *state;
	struct kube_access a;
	struct kubeconfig *k;
	struct err err = { 0 };
	char wanted[128];

	put("sub/a", "current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n"
		     "clusters: [{name: c, cluster: {server: s, certificate-authority: a}}]\n"
		     "users: [{name: u, user: {exec: {command: ../b, interactiveMode: Never,\n"
		     "  apiVersion: client.authentication.k8s.io/v1}}}]\n");
	k = load("sub/a", NULL);
	if (kubeconfig_resolve(k, NULL, &a, &err))
		fail_msg("%s", err.text);
	snprintf(wanted, sizeof(wanted), "%s/sub/a", place->folder);
	assert_string_equal(a.ca_file, wanted);
	snprintf(wanted, sizeof(wanted), "%s/b", place->folder);
	assert_string_equal(a.exec->command, wanted);
	assert_int_equal(a.exec->version, KUBE_EXEC_V1);
	assert_string_equal(kube_access_method(&a), "exec plugin");
	kube_access_release(&a);
	kubeconfig_free(k);
}

/* Each field counts. */
static void test_equal(void **state)
{
	static const char all[] =
		"current-context: x\n"
		"contexts: [{name: x, context: {cluster: c, user: u, namespace: ns}}]\n"
		"clusters: [{name: c, cluster: {server: s, tls-server-name: nn, proxy-url: "
		"\"http://p\",\n"
		"  insecure-skip-tls-verify: true, disable-compression: true}}]\n"
		"users: [{name: u, user: {client-certificate-data: QUFB, client-key-data: QkJC,\n"
		"  token: tt, as: aa, as-uid: ii, as-groups: [gg], as-user-extra: {kk: [vv]},\n"
		"  exec: {apiVersion: client.authentication.k8s.io/v1, command: cc, args: [rr],\n"
		"  env: [{name: ee, value: ff}], installHint: hh, interactiveMode: Never}}}]\n";
	static const char *const words[] = { "namespace: ns", "server: s", "name: nn", "http://p",
		"verify: true", "compression: true", "QUFB", "QkJC", "token: tt", "as: aa", "ii",
		"gg", "kk", "vv", "command: cc", "args: [rr", "ee", "ff", "hh" };
	struct kube_access a, b;
	struct kubeconfig *k, *l;
	struct err err = { 0 };
	char *text = xstrdup(all);
	size_t i;

	(void)state;
	put("a", all);
	k = load("a", NULL);
	if (kubeconfig_resolve(k, NULL, &a, &err))
		fail_msg("%s", err.text);
	assert_true(kube_access_equal(&a, &a));
	for (i = 0; i < ARRAY_LEN(words); i++) {
		char *last = strstr(text, words[i]) + strlen(words[i]) - 1;

		if (str_ends(words[i], "true"))
			memcpy(last - 3, "  no", 4);
		else
			*last = *last == 'C' ? 'B' : 'C';
		put("a", text);
		l = load("a", NULL);
		if (kubeconfig_resolve(l, NULL, &b, &err))
			fail_msg("%s: %s", words[i], err.text);
		if (kube_access_equal(&a, &b))
			fail_msg("%s makes no difference", words[i]);
		kube_access_release(&b);
		kubeconfig_free(l);
		memcpy(text, all, sizeof(all));
	}
	kube_access_release(&a);
	kubeconfig_free(k);
	free(text);
}

static void test_finding(void **state)
{
	const struct place *place = *state;
	struct kube_where where = { 0 };
	struct kube_access a = { 0 };
	struct err err = { 0 };
	char *context = NULL;

	assert_int_equal(kube_access_look(NULL, &context), KUBE_FOUND_NOTHING);
	assert_int_equal(kube_access_find(&where, &a, &err), ERR_NOTFOUND);
	assert_non_null(strstr(err.text, "KUBECONFIG is not set, HOME (not set) names none"));
	where.kubeconfig = "gone";
	assert_int_equal(kube_access_find(&where, &a, &err), ERR_NOTFOUND);
	where.kubeconfig = NULL;

	put("a", one);
	setenv("KUBECONFIG", "gone::a", 1);
	assert_int_equal(kube_access_look(NULL, &context), KUBE_FOUND_CONTEXT);
	assert_string_equal(context, "x");
	free(context);
	assert_int_equal(kube_access_find(&where, &a, &err), 0);
	assert_string_equal(a.context, "x");
	kube_access_release(&a);

	put("b", "contexts: [{name: x}]");
	setenv("KUBECONFIG", "b", 1);
	assert_int_equal(kube_access_look(NULL, &context), KUBE_FOUND_FILE);
	put("b", "- a");
	assert_int_equal(kube_access_look(NULL, &context), KUBE_FOUND_FILE);

	/* A pipe is left to whoever uses it. */
	assert_int_equal(mkfifo("pipe", 0600), 0);
	setenv("KUBECONFIG", "pipe", 1);
	assert_int_equal(kube_access_look(NULL, &context), KUBE_FOUND_FILE);

	unsetenv("KUBECONFIG");
	put("token", "t\n");
	setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1);
	setenv("KUBERNETES_SERVICE_PORT", "443", 1);
	assert_int_equal(kube_access_look(place->folder, &context), KUBE_FOUND_POD);
	assert_null(context);
	where.in_cluster = true;
	where.service_account = place->folder;
	assert_int_equal(kube_access_find(&where, &a, &err), 0);
	assert_string_equal(a.server, "https://10.0.0.1:443");
	assert_null(a.ca_file);
	assert_string_equal(kube_access_method(&a), "service account");
	kube_access_release(&a);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_merge),
		TEST(test_missing_and_empty),
		TEST(test_places),
		TEST(test_paths),
		TEST(test_paths_belong_to_their_file),
		TEST(test_equal),
		TEST(test_finding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
