#include "config.h"

#include "tests/unit/unit.h"

#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "io/http.h"

static void assert_endpoint(const char *text, bool tls_default, const char *name, const char *url,
	const char *connect_to)
{
	struct http_endpoint e = { 0 };
	struct err err = { 0 };

	assert_int_equal(http_endpoint_parse(&e, text, tls_default, 2379, name, &err), 0);
	assert_string_equal(e.url, url);
	assert_int_equal(e.tls, strncmp(url, "https", 5) == 0);
	if (connect_to)
		assert_string_equal(e.connect_to, connect_to);
	else
		assert_null(e.connect_to);
	http_endpoint_release(&e);
}

static void test_endpoints(void **state)
{
	(void)state;
	assert_endpoint("http://10.0.0.1:2379", false, NULL, "http://10.0.0.1:2379", NULL);
	assert_endpoint("https://db", false, NULL, "https://db:2379", NULL);
	assert_endpoint("localhost:4001", false, NULL, "http://localhost:4001", NULL);
	assert_endpoint("localhost:4001", true, NULL, "https://localhost:4001", NULL);
	assert_endpoint(
		"http://localhost:4001", true, "etcd.example", "http://localhost:4001", NULL);
	assert_endpoint("https://10.0.0.1:2379/", true, "etcd.example", "https://etcd.example:2379",
		"etcd.example:2379:10.0.0.1:2379");
	assert_endpoint("http://[::1]:2379", false, NULL, "http://[::1]:2379", NULL);
}

static void assert_no_endpoint(const char *text, const char *words)
{
	struct http_endpoint e = { 0 };
	struct err err = { 0 };

	assert_int_equal(http_endpoint_parse(&e, text, false, 2379, NULL, &err), ERR_CONFIG);
	assert_non_null(strstr(err.text, words));
	assert_null(strstr(err.text, "hunter2"));
	assert_null(e.url);
}

static void test_what_is_no_endpoint(void **state)
{
	(void)state;
	assert_no_endpoint("ftp://host:1", "neither http");
	assert_no_endpoint("http://root:hunter2@host:2379", "user name");
	assert_no_endpoint("root:hunter2@host:2379", "user name");
	assert_no_endpoint("http://host:2379/v3/kv", "path");
	assert_no_endpoint("http://host:2379?x=1", "path");
	assert_no_endpoint("http://", "no URL");
	assert_no_endpoint("http://host:99999999", "no URL");
	assert_no_endpoint("", "no URL");
	assert_no_endpoint("http://ho\x1bst", "");
}

static int64_t fixed_ms(void *arg)
{
	(void)arg;
	return 10000;
}

/* How far a connection came, and the words for it; how it is told apart is tested on real ones. */
static void test_what_was_late(void **state)
{
	static const struct {
		const char *endpoint;
		bool looking, reached;
		int64_t before_ms; /* so long ago it followed one that was there; 0: it didn't */
		const char *words;
	} cases[] = {
		{ "https://db:1", true, false, 0,
			"its name was not found in time: check the name" },
		{ "https://db:1", false, false, 0, "no connection came about: check the host" },
		{ "https://db:1", false, true, 0, "the TLS handshake does not end" },
		{ "http://db:1", true, false, 0, "its name was not found in time" },
		{ "http://db:1", false, false, 0, "no connection came about" },
		{ "http://db:1", false, true, 0, "it took the request, and no answer came" },
		/* the time of 1.5 s went with the one before, or not */
		{ "https://db:1", false, false, 1, "the TLS handshake does not end" },
		{ "https://db:1", false, false, 1000, "no connection came about" },
	};
	struct clock_source clock = { .mono_ms = fixed_ms };
	struct http_loop *loop = http_loop_new(&clock, NULL);
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct http_endpoint e = { 0 };
		struct http_reach reach;
		struct err err = { 0 };

		assert_int_equal(
			http_endpoint_parse(&e, cases[i].endpoint, false, 2379, NULL, &err), 0);
		http_reach_init(&reach, loop);
		reach.looking = cases[i].looking;
		reach.reached = cases[i].reached;
		reach.before = cases[i].before_ms > 0;
		reach.begun_ms = fixed_ms(NULL) - cases[i].before_ms;
		assert_int_equal(http_error_late(&err, NULL, &e, &reach, 1.5), ERR_TIMEOUT);
		assert_non_null(strstr(err.text, "did not answer within 1.5 s: "));
		assert_non_null(strstr(err.text, cases[i].words));
		http_endpoint_release(&e);
	}
	http_loop_free(loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_endpoints),
		cmocka_unit_test(test_what_is_no_endpoint),
		cmocka_unit_test(test_what_was_late),
	};

	return cmocka_run_group_tests_name("io/http", tests, NULL, NULL);
}
