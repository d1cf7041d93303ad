#include "config.h"

#include "tests/unit/unit.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "io/kube-exec.h"
#include "io/rest-inside.h"
#include "io/rest.h"

#include <stdlib.h>
#include <string.h>

/* The rest of the client is tested on a real API server: tests/live/test_rest.py. */

static void test_path(void **state)
{
	struct str path;

	(void)state;
	str_init(&path, 1000);
	str_add(&path, "/api/v1/");
	rest_path_add(&path, "aZ0-._~");
	rest_path_add(&path, "/a b?&=%\n\xc3\xbc");
	assert_string_equal(path.s, "/api/v1/aZ0-._~%2Fa%20b%3F%26%3D%25%0A%C3%BC");
	str_release(&path);
}

static void test_place(void **state)
{
	static const struct {
		const char *server, *name, *url, *text, *connect, *host;
	} cases[] = {
		{ "https://h", NULL, "https://h:443", "https://h:443", NULL, NULL },
		{ "https://h:6443/", NULL, "https://h:6443", "https://h:6443", NULL, NULL },
		{ "https://h:1/a/b/?q#f", NULL, "https://h:1/a/b", "https://h:1/a/b", NULL, NULL },
		{ "HTTPS://[::1]:1", NULL, "https://[::1]:1", "https://[::1]:1", NULL, NULL },
		{ "h:8080", NULL, "http://h:8080", "http://h:8080", NULL, NULL },
		{ "https://h:1/p", "n", "https://n:1/p", "https://h:1/p", "n:1:h:1", "Host: h:1" },
		{ "https://h:1", "h", "https://h:1", "https://h:1", NULL, NULL },
		{ "http://h:1", "n", "http://h:1", "http://h:1", NULL, NULL },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_LEN(cases); i++) {
		struct kube_access a = { .server = (char *)(uintptr_t)cases[i].server,
			.server_name = (char *)(uintptr_t)cases[i].name };
		struct rest_place p;
		struct err err = { 0 };

		if (rest_place_make(&p, &a, &err))
			fail_msg("%s: %s", cases[i].server, err.text);
		assert_string_equal(p.endpoint.url, cases[i].url);
		assert_string_equal(p.endpoint.text, cases[i].text);
		assert_true(str_eq(p.endpoint.connect_to, cases[i].connect));
		assert_true(str_eq(p.host_header, cases[i].host));
		rest_place_release(&p);
	}
}

static void test_proxy(void **state)
{
	static const struct {
		const char *none, *host, *port;
		bool used;
	} cases[] = {
		{ "", "a.example", "443", true },
		{ "*", "a.example", "443", false },
		{ "example", "a.example", "443", false },
		{ "ample", "a.example", "443", true },
		{ "a.example", "A.EXAMPLE", "443", false },
		{ ".example", "a.example", "443", false },
		{ ".a.example", "a.example", "443", true },
		{ "*.example", "a.example", "443", false },
		{ "x, a.example ,y", "a.example", "443", false },
		{ "a.example:443", "a.example", "443", false },
		{ "a.example:80", "a.example", "443", true },
		{ "10.0.0.1", "10.0.0.1", "443", false },
		{ "10.0.0.1:443", "10.0.0.1", "443", false },
		{ "10.0.0.0/8", "10.200.0.1", "443", false },
		{ "10.0.0.0/9", "10.200.0.1", "443", true },
		{ "10.0.0.0/33", "10.0.0.1", "443", true },
		{ "10.0.0.0/", "10.0.0.0", "443", true },
		{ "0.0.0.0/0", "10.0.0.1", "443", false },
		{ "fd00::/8", "[fd00::1]", "443", false },
		{ "fd00::1", "[fd00::1]", "443", false },
		{ "", "localhost", "443", false },
		{ "", "127.1.2.3", "443", false },
		{ "", "[::1]", "443", false },
		{ "", "127.example", "443", true },
	};
	size_t i;

	(void)state;
	setenv("HTTPS_PROXY", "http://p", 1);
	setenv("http_proxy", "http://q", 1);
	unsetenv("HTTP_PROXY");
	unsetenv("no_proxy");
	for (i = 0; i < ARRAY_LEN(cases); i++) {
		setenv("NO_PROXY", cases[i].none, 1);
		if ((rest_proxy_for(NULL, true, cases[i].host, cases[i].port) != NULL) !=
			cases[i].used)
			fail_msg("%s: %s", cases[i].none, cases[i].host);
	}
	setenv("NO_PROXY", "*", 1);
	assert_string_equal(rest_proxy_for("http://own", true, "localhost", "1"), "http://own");
	unsetenv("NO_PROXY");
	assert_string_equal(rest_proxy_for(NULL, false, "h", "80"), "http://q");
	unsetenv("HTTPS_PROXY");
	unsetenv("https_proxy");
	assert_null(rest_proxy_for(NULL, true, "h", "443"));
}

static int grant(const char *text, struct kube_grant *ret)
{
	static const struct kube_exec exec = { .version = KUBE_EXEC_V1,
		.command = (char *)(uintptr_t) "plugin" };

	memset(ret, 0, sizeof(*ret));
	return kube_grant_parse(ret, &exec, text, strlen(text), NULL);
}

#define CREDENTIAL \
	"{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\","

static void test_expiry(void **state)
{
	static const struct {
		const char *text;
		int64_t us; /* 0: refused */
	} cases[] = {
		{ "2026-01-02T03:04:05Z", INT64_C(1767323045000000) },
		{ "2026-01-02T03:04:05.123456789Z", INT64_C(1767323045000000) },
		{ "2026-01-02T05:04:05+02:00", INT64_C(1767323045000000) },
		{ "2026-01-01T22:34:05-04:30", INT64_C(1767323045000000) },
		{ "2026-01-02T03:04:05", 0 },
		{ "2026-01-02", 0 },
		{ "2026-01-02 03:04:05Z", 0 },
		{ "tomorrow", 0 },
	};
	struct kube_grant got;
	struct str text;
	size_t i;

	(void)state;
	str_init(&text, 1000);
	for (i = 0; i < ARRAY_LEN(cases); i++) {
		str_clear(&text);
		str_addf(&text,
			CREDENTIAL "\"status\":{\"token\":\"t\",\"expirationTimestamp\":\"%s\"}}",
			cases[i].text);
		assert_int_equal(grant(text.s, &got), cases[i].us ? 0 : ERR_AUTH);
		assert_int_equal(got.expires_us, cases[i].us);
		kube_grant_release(&got);
	}
	str_release(&text);
}

static void test_grants(void **state)
{
	struct kube_grant got;

	(void)state;
	assert_int_equal(grant(CREDENTIAL "\"status\":{\"token\":\"t\"}}", &got), 0);
	assert_string_equal(got.token, "t");
	assert_true(got.expires_us == INT64_MAX);
	kube_grant_release(&got);
	assert_int_equal(grant(CREDENTIAL "\"status\":{\"clientCertificateData\":\"c\","
					  "\"clientKeyData\":\"k\",\"token\":\"\"}}",
				 &got),
		0);
	assert_null(got.token);
	assert_string_equal(got.cert.s, "c");
	kube_grant_release(&got);
	assert_int_equal(grant("", &got), ERR_AUTH);
	assert_int_equal(grant("[]", &got), ERR_AUTH);
	assert_int_equal(grant(CREDENTIAL "\"status\":\"x\"}", &got), ERR_AUTH);
	assert_int_equal(grant(CREDENTIAL "\"status\":{\"token\":1}}", &got), ERR_AUTH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_path),
		cmocka_unit_test(test_place),
		cmocka_unit_test(test_proxy),
		cmocka_unit_test(test_expiry),
		cmocka_unit_test(test_grants),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
