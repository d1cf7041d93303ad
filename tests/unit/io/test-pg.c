#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "io/pg-explain.h"
#include "io/pg-inside.h"
#include "io/pg.h"
#include "tests/unit/unit.h"

static void integers_of_every_width(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		int64_t value;
	} cases[] = {
		{ "\x00", 1, 0 },
		{ "\x01", 1, 1 },
		{ "\x7f\xff", 2, 32767 },
		{ "\x80\x00", 2, -32768 },
		{ "\xff\xff\xff\xff", 4, -1 },
		{ "\x80\x00\x00\x00", 4, INT32_MIN },
		{ "\x7f\xff\xff\xff\xff\xff\xff\xff", 8, INT64_MAX },
		{ "\x80\x00\x00\x00\x00\x00\x00\x00", 8, INT64_MIN },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int64_t value = 99;

		assert_true(pg_decode_int(cases[i].bytes, cases[i].len, &value));
		assert_int_equal(value, cases[i].value);
	}
}

static void a_field_of_another_width_is_absent(void **state)
{
	static const size_t lengths[] = { 0, 3, 5, 7, 9, 100 };
	char bytes[100] = { 0 };
	int64_t value = 7;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		assert_false(pg_decode_int(bytes, lengths[i], &value));
	assert_false(pg_decode_time(bytes, 4, &value));
	assert_int_equal(value, 7);
}

static void times_count_from_the_year_2000(void **state)
{
	int64_t us;

	(void)state;
	assert_true(pg_decode_time("\0\0\0\0\0\0\0\0", 8, &us));
	assert_int_equal(us, INT64_C(946684800000000));
	/* one microsecond before */
	assert_true(pg_decode_time("\xff\xff\xff\xff\xff\xff\xff\xff", 8, &us));
	assert_int_equal(us, INT64_C(946684799999999));
}

static void an_infinite_time_is_absent(void **state)
{
	int64_t us = 5;

	(void)state;
	assert_false(pg_decode_time("\x7f\xff\xff\xff\xff\xff\xff\xff", 8, &us));
	assert_false(pg_decode_time("\x80\x00\x00\x00\x00\x00\x00\x00", 8, &us));
	/* and one that would not fit into 64 bits since 1970 */
	assert_false(pg_decode_time("\x7f\xff\xff\xff\xff\xff\xff\xfe", 8, &us));
	assert_int_equal(us, 5);
}

static void arrays_are_quoted(void **state)
{
	struct str list;

	(void)state;
	str_init(&list, 1000);
	pg_array_begin(&list);
	pg_array_add(&list, "plain");
	pg_array_add(&list, "a\"b\\c,{d}");
	pg_array_add(&list, "");
	pg_array_end(&list);
	assert_string_equal(list.s, "{\"plain\",\"a\\\"b\\\\c,{d}\",\"\"}");
	str_release(&list);
}

static void arrays_of_bytes_are_hexadecimal(void **state)
{
	struct str list;

	(void)state;
	str_init(&list, 1000);
	pg_array_begin(&list);
	pg_array_add_bytes(&list, "hi");
	pg_array_add_bytes(&list, "");
	pg_array_add_bytes(&list, "\303\274");
	pg_array_end(&list);
	assert_string_equal(list.s, "{\"\\\\x6869\",\"\\\\x\",\"\\\\xc3bc\"}");
	str_release(&list);
}

static void md5_is_that_of_rfc_1321(void **state)
{
	char hex[33];

	(void)state;
	assert_true(pg_md5("abc", hex));
	assert_string_equal(hex, "900150983cd24fb0d6963f7d28e17f72");
	assert_true(pg_md5("", hex));
	assert_string_equal(hex, "d41d8cd98f00b204e9800998ecf8427e");
}

/* What libpq 15 says, and what must be made of it. */
static const struct {
	const char *raw;
	enum err_code code;
	const char *says;
} failures[] = {
	{ "connection to server at \"127.0.0.1\", port 5433 failed: Connection refused\n\tIs the "
	  "server "
	  "running on that host and accepting TCP/IP connections?\n",
		ERR_CONNECT, "nobody listens at h:1" },
	{ "connection to server on socket \"/run/.s.PGSQL.5432\" failed: No such file or "
	  "directory\n",
		ERR_CONNECT, "no such socket" },
	{ "connection to server at \"h\", port 1 failed: FATAL:  28P01: password authentication "
	  "failed "
	  "for user \"u\"\nLOCATION:  auth_failed, auth.c:338\n",
		ERR_AUTH, "refused the password of role \"u\"" },
	{ "connection to server at \"h\", port 1 failed: fe_sendauth: no password supplied\n",
		ERR_AUTH, "asks for a password" },
	{ "connection to server at \"h\", port 1 failed: FATAL:  28000: no pg_hba.conf entry for "
	  "host "
	  "\"127.0.0.1\", user \"u\", database \"d\", no encryption\nLOCATION:  x\n",
		ERR_AUTH, "pg_hba.conf needs a line" },
	{ "connection to server at \"h\", port 1 failed: FATAL:  28000: role \"u\" does not "
	  "exist\n",
		ERR_AUTH, "the role must exist" },
	{ "failed: FATAL:  3D000: database \"nix\" does not exist\n", ERR_NOTFOUND,
		"no such database" },
	{ "failed: FATAL:  53300: sorry, too many clients already\n", ERR_BUSY,
		"takes no more connections" },
	{ "failed: FATAL:  57P03: the database system is starting up\n", ERR_BUSY,
		"(it said: the database system is starting up)" },
	/* a server that speaks German: only the code counts */
	{ "failed: FATAL:  57P03: das Datenbanksystem f\303\244hrt herunter\n", ERR_BUSY,
		"doesn't accept connections now" },
	{ "failed: server does not support SSL, but SSL was required\n", ERR_TLS,
		"doesn't speak TLS" },
	{ "failed: server certificate for \"db1\" does not match host name \"db2\"\n", ERR_TLS,
		"is for another name" },
	{ "failed: SSL error: certificate verify failed\n", ERR_TLS, "not signed by an authority" },
	{ "root certificate file \"/x/root.crt\" does not exist\n", ERR_TLS, "can't be checked" },
	{ "failed: received invalid response to SSL negotiation: H\n", ERR_PROTO,
		"is no PostgreSQL server" },
	{ "failed: expected authentication request from server, but received H\n", ERR_PROTO,
		"is no PostgreSQL server" },
	{ "failed: server closed the connection unexpectedly\n\tThis probably means the server "
	  "terminated abnormally\n",
		ERR_IO, "closed the connection without a word" },
	{ "could not translate host name \"nix.invalid\" to address: Name or service not known\n",
		ERR_CONNECT, "can't be looked up" },
	{ "failed: session is read-only\n", ERR_NOTFOUND, "is read only" },
	{ "failed: Connection timed out\n\tIs the server running on that host\n", ERR_TIMEOUT,
		"no answer from h:1: the host is down" },
	{ "failed: could not read certificate file \"/x\": no start line\n", ERR_TLS,
		"check sslcert" },
	{ "failed: GSSAPI continuation error: No credentials were supplied\n", ERR_AUTH,
		"Kerberos log-in of role \"u\"" },
	{ "failed: GSSAPI encryption required but was impossible (possibly no credential cache)\n",
		ERR_TLS, "gssencmode demands" },
	{ "failed: authentication method 99 not supported\n", ERR_UNSUPPORTED,
		"a method that the libpq here doesn't know" },
	{ "failed: Kerberos 5 authentication not supported\n", ERR_UNSUPPORTED,
		"a method that the libpq here doesn't know" },
	{ "failed: channel binding is required, but server did not offer an authentication method "
	  "that supports channel binding\n",
		ERR_AUTH, "channel_binding demands what h:1 does not do" },
	{ "failed: authentication method requirement \"scram-sha-256\" failed: server requested a "
	  "cleartext password\n",
		ERR_AUTH, "that require_auth excludes" },
	{ "failed: could not open certificate file \"/x\": Permission denied\n", ERR_TLS,
		"check sslcert" },
	{ "failed: server doesn't support GSSAPI encryption, but it was required\n", ERR_TLS,
		"gssencmode demands" },
	{ "failed: FATAL:  08P01: no such database: nix\n", ERR_NOTFOUND, "the pooler at h:1" },
	{ "failed: something that nobody has seen yet\n", ERR_CONNECT,
		"something that nobody has seen yet" },
};

static void failures_are_told_in_words(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
		struct err err = { 0 };

		assert_int_equal(pg_explain(failures[i].raw, "h:1", "u", &err), failures[i].code);
		if (!strstr(err.text, failures[i].says))
			fail_msg("\"%s\" lacks \"%s\"", err.text, failures[i].says);
		assert_null(strchr(err.text, '\n'));
		assert_null(strstr(err.text, "{place}"));
		assert_null(strstr(err.text, "LOCATION"));
	}
}

/* Of a session that stood it is not the handshake that failed, nor the wrong port. */
static void lost_sessions_are_told_as_such(void **state)
{
	static const struct {
		const char *raw;
		enum err_code code;
		const char *says;
	} lost[] = {
		{ "server closed the connection unexpectedly\n", ERR_IO, "was cut off" },
		{ "SSL SYSCALL error: EOF detected\n", ERR_IO, "was cut off" },
		{ "SSL SYSCALL error: Connection timed out\n", ERR_TIMEOUT,
			"gets no answer any more" },
		{ "SSL SYSCALL error: No route to host\n", ERR_IO,
			"broke off (libpq: SSL SYSCALL error: No route" },
		{ "SSL connection has been closed unexpectedly\n", ERR_IO, "was cut off" },
		{ "could not receive data from server: Connection reset by peer\n", ERR_IO,
			"was cut off" },
		{ "could not send data to server: Broken pipe\n", ERR_IO, "was cut off" },
		{ "SSL error: decryption failed\n", ERR_IO, "broke within TLS (libpq: SSL error" },
		{ "could not receive data from server: Connection timed out\n", ERR_TIMEOUT,
			"gets no answer any more" },
		{ "FATAL:  57P01: terminating connection\n", ERR_IO, "ended the session" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(lost) / sizeof(lost[0]); i++) {
		struct err err = { 0 };

		assert_int_equal(pg_explain_lost(lost[i].raw, "h:1", "u", &err), lost[i].code);
		if (!strstr(err.text, lost[i].says) || !strstr(err.text, "h:1"))
			fail_msg("\"%s\" lacks \"%s\"", err.text, lost[i].says);
	}
}

static void what_a_server_says_is_sanitised(void **state)
{
	struct err err = { 0 };

	(void)state;
	pg_explain("failed: FATAL:  53300: \033[2J\342\200\256evil\n", "h\033:1", "u", &err);
	assert_null(strchr(err.text, '\033'));
	assert_null(strstr(err.text, "\342\200\256"));
	assert_non_null(strstr(err.text, "\\x1b[2J"));
}

static void statements_are_told_by_their_code(void **state)
{
	struct err err = { 0 };

	(void)state;
	assert_int_equal(pg_explain_statement("57014", "canceling", "h:1", "u", &err), ERR_TIMEOUT);
	assert_non_null(strstr(err.text, "statement_timeout"));
	assert_int_equal(
		pg_explain_statement("42883", "no function x", "h:1", "u", &err), ERR_UNSUPPORTED);
	assert_int_equal(
		pg_explain_statement("57P01", "terminating connection", "h:1", "u", &err), ERR_IO);
	assert_int_equal(
		pg_explain_statement("XX000", "cache lookup", "h:1", "u", &err), ERR_PROTO);
	assert_non_null(strstr(err.text, "XX000: cache lookup"));
}

static void good_connection_strings_pass(void **state)
{
	static const char *const good[] = { NULL, "", "app", "host=a,b dbname=app",
		"service=orders", "postgresql://u:p%40ss@h:5432/db?sslmode=require",
		"host=@abstract dbname=x", "password='with space' host=h" };
	struct err err = { 0 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_int_equal(pg_check_conninfo(good[i], &err), 0);
}

static void a_password_is_never_repeated(void **state)
{
	/* each is wrong in a way that makes libpq quote a piece of the password */
	static const char *const bad[] = { "host=h password=open sesame", "password=open sesame=1",
		"postgresql://u:open@sesame@h/db", "postgresql://u:p@h:sesame/db",
		"postgresql://u:p@h/db?sesame", "postgresql://u:p@h/db?sesame=1",
		"postgresql://u:%zzsesame@h/db", "host=h password='sesame" };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct err err = { 0 };

		pg_check_conninfo(bad[i], &err);
		if (i != 3) /* a port is looked at when connecting */
			assert_int_equal(err.code, ERR_CONFIG);
		assert_null(strstr(err.text, "sesame"));
	}
}

static void a_service_is_named(void **state)
{
	struct err err = { 0 };

	(void)state;
	assert_int_equal(pg_explain_settings("definition of service \"orders\" not found\n", &err),
		ERR_CONFIG);
	assert_non_null(strstr(err.text, "\"orders\""));
}

/* What a built-in server answers reads as what PostgreSQL sends. */
static void check_made(struct pg_rows *rows)
{
	size_t first = pg_made_row(rows), second, len = 99, i;
	int64_t value = 99;
	uint32_t oid = 99;

	pg_made_int(rows, first, 0, -2, 2);
	pg_made_text(rows, first, 1, "");
	second = pg_made_row(rows);
	pg_made_time(rows, second, 0, 946684800000001);
	pg_made_text(rows, second, 1, NULL);
	pg_made_time(rows, second, 2, INT64_MIN);
	for (i = 0; i < 1000; i++)
		pg_made_text(rows, pg_made_row(rows), 1, "a text that takes some room");
	pg_made_int(rows, first, 2, INT64_C(4000000000), 4);
	assert_int_equal(pg_rows(rows), 1002);
	assert_int_equal(pg_columns(rows), 3);
	assert_true(pg_int(rows, first, 0, &value));
	assert_int_equal(value, -2);
	assert_string_equal(pg_text(rows, first, 1, &len), "");
	assert_int_equal(len, 0);
	assert_true(pg_oid(rows, first, 2, &oid));
	assert_true(oid == 4000000000);
	assert_true(pg_time(rows, second, 0, &value));
	assert_true(value == 946684800000001);
	assert_null(pg_text(rows, second, 1, &len));
	assert_false(pg_time(rows, second, 2, &value));
	assert_string_equal(pg_text(rows, 1001, 1, NULL), "a text that takes some room");
	assert_null(pg_text(rows, 1002, 1, NULL));
	assert_null(pg_text(rows, 0, 3, NULL));
}

static void made_answers_read_like_any(void **state)
{
	struct pg_spare *spare = NULL;
	struct pg_rows *one, *other;

	(void)state;
	one = pg_made(3);
	check_made(one);
	pg_result_free(one);
	one = pg_made_over(3, &spare);
	check_made(one);
	pg_result_free(one);
	/* Over the blocks of the last one; of two at once, one has its own. */
	one = pg_made_over(3, &spare);
	other = pg_made_over(3, &spare);
	check_made(other);
	check_made(one);
	pg_result_free(other);
	pg_result_free(one);
	pg_spare_free(spare);
	assert_null(pg_rows_of(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(integers_of_every_width),
		cmocka_unit_test(a_field_of_another_width_is_absent),
		cmocka_unit_test(times_count_from_the_year_2000),
		cmocka_unit_test(an_infinite_time_is_absent),
		cmocka_unit_test(arrays_are_quoted),
		cmocka_unit_test(arrays_of_bytes_are_hexadecimal),
		cmocka_unit_test(md5_is_that_of_rfc_1321),
		cmocka_unit_test(failures_are_told_in_words),
		cmocka_unit_test(lost_sessions_are_told_as_such),
		cmocka_unit_test(what_a_server_says_is_sanitised),
		cmocka_unit_test(statements_are_told_by_their_code),
		cmocka_unit_test(good_connection_strings_pass),
		cmocka_unit_test(a_password_is_never_repeated),
		cmocka_unit_test(a_service_is_named),
		cmocka_unit_test(made_answers_read_like_any),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
