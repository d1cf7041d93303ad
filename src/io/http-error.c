#include "config.h"

#include "io/http.h"
#include "base/err.h"
#include "base/str.h"
#include "base/text.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	DETAIL_MAX = 400,
	PROBE_BODY_MAX = 255
};

/* libcurl's own words, which may quote a certificate's names: remote bytes. */
static void error_detail(struct str *out, const char *detail, CURLcode rc)
{
	const char *s = detail && *detail ? detail : curl_easy_strerror(rc);

	str_init(out, DETAIL_MAX * 4);
	text_escape_cut(out, s, strlen(s), DETAIL_MAX / 2);
}

static const struct http_words *words_of(const struct http_settings *settings)
{
	static const struct http_words plain = { "ca", "cert", "key", "server_name", "endpoint",
		NULL };

	return settings->words ? settings->words : &plain;
}

static bool error_has(const char *detail, const char *words)
{
	return detail && strstr(detail, words);
}

/* ---- how far it came ---- */

void http_reach_init(struct http_reach *reach, const struct http_loop *loop)
{
	*reach = (struct http_reach){ .loop = loop, .v4 = CURL_SOCKET_BAD, .v6 = CURL_SOCKET_BAD };
}

/* Not called for a name that libcurl still knows: then there is nothing to wait for. */
static int reach_lookup(void *resolver, void *reserved, void *arg)
{
	struct http_reach *reach = arg;

	(void)resolver;
	(void)reserved;
	reach->looking = true;
	return 0;
}

/* libcurl 7.88.1 does not set it itself, and a plugin must not inherit our connections. */
static curl_socket_t reach_open(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
	struct http_reach *reach = arg;
	curl_socket_t fd =
		socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);

	(void)purpose;
	reach->before = reach->reached;
	reach->begun_ms = http_loop_now_ms(reach->loop);
	reach->looking = reach->reached = reach->began = false;
	if (fd == CURL_SOCKET_BAD)
		return fd;
	reach->open++;
	*(address->family == AF_INET6 ? &reach->v6 : &reach->v4) = fd;
	return fd;
}

static bool is_connected(curl_socket_t fd)
{
	struct sockaddr_storage peer;
	socklen_t len = sizeof(peer);

	return fd != CURL_SOCKET_BAD && getpeername(fd, (struct sockaddr *)&peer, &len) == 0;
}

static bool reach_forget(curl_socket_t *of, curl_socket_t fd)
{
	bool was = *of == fd;

	if (was)
		*of = CURL_SOCKET_BAD;
	return was;
}

/* Where the socket of a connection that did not come about is seen for the last time. */
static int reach_close(void *arg, curl_socket_t fd)
{
	struct http_reach *reach = arg;

	if ((reach_forget(&reach->v4, fd) || reach_forget(&reach->v6, fd)) && is_connected(fd))
		reach->reached = true;
	if (reach->open)
		reach->open--;
	return close(fd);
}

#if LIBCURL_VERSION_NUM >= 0x075000
static int reach_begin(void *arg, char *to, char *from, int to_port, int from_port)
{
	struct http_reach *reach = arg;

	(void)to;
	(void)from;
	(void)to_port;
	(void)from_port;
	reach->began = true;
	return CURL_PREREQFUNC_OK;
}

static void watch_begin(CURL *easy, struct http_reach *reach)
{
	curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, reach_begin);
	curl_easy_setopt(easy, CURLOPT_PREREQDATA, reach);
}
#else
static void watch_begin(CURL *easy, struct http_reach *reach)
{
	(void)easy;
	(void)reach;
}
#endif

void http_watch(CURL *easy, struct http_reach *reach)
{
	watch_begin(easy, reach);
	curl_easy_setopt(easy, CURLOPT_RESOLVER_START_FUNCTION, reach_lookup);
	curl_easy_setopt(easy, CURLOPT_RESOLVER_START_DATA, reach);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, reach_open);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, reach);
	curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, reach_close);
	curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, reach);
}

/*
 * Where the time is up for many that waited for one connection, the first of them ends it and the
 * next begins another, of which nothing is known yet: the time went with the one before.
 */
static bool is_reached(const struct http_reach *reach, double seconds)
{
	int64_t since_ms = http_loop_now_ms(reach->loop) - reach->begun_ms;

	return reach->reached || is_connected(reach->v4) || is_connected(reach->v6) ||
	       (reach->before && (double)since_ms < seconds * 100);
}

bool http_began(CURL *easy, const struct http_endpoint *e)
{
	curl_off_t connect = 0, tls = 0, sending = 0;

	if (!easy)
		return false;
	curl_easy_getinfo(easy, CURLINFO_CONNECT_TIME_T, &connect);
	curl_easy_getinfo(easy, CURLINFO_APPCONNECT_TIME_T, &tls);
	/* All that is set on a connection that was there before. */
	curl_easy_getinfo(easy, CURLINFO_PRETRANSFER_TIME_T, &sending);
	return sending > 0 || (connect > 0 && (!e->tls || tls > 0));
}

/* ---- what did not come in time ---- */

int http_error_late(struct err *err, CURL *easy, const struct http_endpoint *e,
	const struct http_reach *reach, double seconds)
{
	const char *phase =
		"no connection came about: check the host, the port and firewalls between";
	/* Its own connection's, or of the one that it waits for. */
	bool began = http_began(easy, e) || reach->began;
	bool reached = is_reached(reach, seconds);

	if (began && reach->spoke)
		phase = "the connection is there, and it is silent: it may hang, or be "
			"overloaded, or the network between is cut. Check the process there, and "
			"the way to it";
	else if (began || (!e->tls && reached))
		phase = "it took the request, and no answer came: it may hang, or be overloaded. "
			"Check the process there, and its load";
	else if (reached)
		phase = "it took the connection, and the TLS handshake does not end: it may hang, "
			"or not speak TLS there. Check the process, and the port";
	else if (reach->looking)
		phase = "its name was not found in time: check the name server";
	return err_set(
		err, ERR_TIMEOUT, "%s did not answer within %.1f s: %s", e->text, seconds, phase);
}

static int error_timeout(
	struct err *err, CURL *easy, const struct http_endpoint *e, const struct http_reach *reach)
{
	double total = 0;

	curl_easy_getinfo(easy, CURLINFO_TOTAL_TIME, &total);
	return http_error_late(err, easy, e, reach, total);
}

static int error_certificate(struct err *err, const struct http_endpoint *e,
	const struct http_settings *settings, const char *detail, const char *shown)
{
	const struct http_words *words = words_of(settings);
	const char *accepted = "is not accepted";

	if (error_has(detail, "subject name") || error_has(detail, "does not match"))
		return err_set(err, ERR_TLS,
			settings->server_name
				? "the certificate of %s %s (%s): %s must be a name that stands in "
				  "the certificate"
				: "the certificate of %s %s (%s): use the name in the certificate, "
				  "or set %s to it",
			e->text, accepted, shown, words->server_name);
	if (error_has(detail, "expired"))
		return err_set(err, ERR_TLS,
			"the certificate of %s %s (%s): the server needs a new certificate",
			e->text, accepted, shown);
	if (error_has(detail, "issuer") || error_has(detail, "self") ||
		error_has(detail, "unable to get") || error_has(detail, "signature"))
		return err_set(err, ERR_TLS,
			settings->ca || settings->ca_data.s
				? "the certificate of %s %s (%s): %s names an authority that has "
				  "not issued it"
				: "the certificate of %s %s (%s): set %s to the file of the "
				  "authority that issued it",
			e->text, accepted, shown, words->ca);
	return err_set(err, ERR_TLS, "the certificate of %s %s (%s): check the certificate",
		e->text, accepted, shown);
}

/* What libcurl and OpenSSL say of a connection that ended. */
static bool is_cut(const char *detail)
{
	return error_has(detail, "SYSCALL") || error_has(detail, "unexpected eof") ||
	       error_has(detail, "Broken pipe") || error_has(detail, "reset by peer");
}

static bool has_certificate(const struct http_settings *settings)
{
	return settings->cert || settings->cert_data.s;
}

static int error_certificate_asked(struct err *err, const struct http_endpoint *e,
	const struct http_settings *settings, const char *shown)
{
	const struct http_words *words = words_of(settings);

	return err_set(err, ERR_TLS,
		"%s asks for a client certificate and %s (%s): set %s and %s to one that it "
		"accepts%s%s",
		e->text, has_certificate(settings) ? "does not accept ours" : "none is configured",
		shown, words->cert, words->key, words->other_port ? ". " : "",
		words->other_port ? words->other_port : "");
}

/*
 * "handshake failure" is what servers say by TLS 1.2 of a client certificate that is missing or not
 * to be had (OpenSSL's do), and of ciphers that don't meet: which of the two is not told.
 */
static bool is_handshake_failure(const char *detail)
{
	return error_has(detail, "handshake failure");
}

static int error_handshake_failure(struct err *err, const struct http_endpoint *e,
	const struct http_settings *settings, const char *shown)
{
	const struct http_words *words = words_of(settings);

	return err_set(err, ERR_TLS,
		"%s ends the TLS handshake (%s): it asks for a client certificate, and %s, or no "
		"cipher is among both its own and ours. Set %s and %s to one that it accepts, or "
		"see which ciphers it allows%s%s",
		e->text, shown,
		has_certificate(settings) ? "does not accept ours" : "none is configured",
		words->cert, words->key, words->other_port ? ". " : "",
		words->other_port ? words->other_port : "");
}

static int error_handshake(struct err *err, const struct http_endpoint *e,
	const struct http_settings *settings, const char *detail, const char *shown)
{
	const struct http_words *words = words_of(settings);

	if (error_has(detail, "wrong version number") || error_has(detail, "packet length") ||
		error_has(detail, "http request"))
		return err_set(err, ERR_TLS,
			"%s does not speak TLS: write the %s with http://, or switch TLS on there",
			e->text, words->endpoint);
	if (error_has(detail, "certificate required") || error_has(detail, "bad certificate") ||
		error_has(detail, "unknown ca"))
		return error_certificate_asked(err, e, settings, shown);
	if (is_handshake_failure(detail))
		return error_handshake_failure(err, e, settings, shown);
	if (is_cut(detail))
		return err_set(err, ERR_TLS,
			"%s took the connection and hung up on the TLS handshake: it speaks no "
			"TLS, or a proxy there has nothing behind it, or it stops. Check the %s, "
			"and what listens there",
			e->text, words->endpoint);
	return err_set(err, ERR_TLS, "the TLS handshake with %s failed: %s", e->text, shown);
}

static int error_refused(struct err *err, CURL *easy, const struct http_endpoint *e)
{
	long number = 0;

	curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &number);
	if (number == ECONNRESET || number == EPIPE)
		return err_set(err, ERR_CONNECT,
			"%s takes connections and cuts them off at once: a proxy with nothing "
			"behind it, or a server that stops. Check what listens there",
			e->text);
	return err_set(err, ERR_CONNECT,
		"can't connect to %s: %s. Check that the server runs, and host and port", e->text,
		number ? strerror((int)number) : "no connection");
}

static int error_broken(struct err *err, const struct http_endpoint *e,
	const struct http_settings *settings, const char *detail, const char *shown)
{
	if (e->tls && (error_has(detail, "alert") || error_has(detail, "certificate required")))
		return error_handshake(err, e, settings, detail, shown);
	return err_set(err, ERR_IO,
		"the connection to %s broke: the server stops, or something between cuts it (%s)",
		e->text, shown);
}

int http_error(struct err *err, CURL *easy, CURLcode rc, const struct http_endpoint *e,
	const struct http_settings *settings, const struct http_reach *reach, const char *detail)
{
	struct str shown;
	int code;

	error_detail(&shown, detail, rc);
	switch (rc) {
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_RESOLVE_PROXY:
		code = err_set(err, ERR_CONNECT,
			"the name in %s can't be found (%s): check the name, and the name server",
			e->text, shown.s);
		break;
	case CURLE_COULDNT_CONNECT:
		code = error_refused(err, easy, e);
		break;
	case CURLE_OPERATION_TIMEDOUT:
		code = error_timeout(err, easy, e, reach);
		break;
	case CURLE_PEER_FAILED_VERIFICATION:
		code = error_certificate(err, e, settings, detail, shown.s);
		break;
	case CURLE_SSL_CACERT_BADFILE:
		code = err_set(
			err, ERR_CONFIG, "%s can't be read: %s", words_of(settings)->ca, shown.s);
		break;
	case CURLE_SSL_CERTPROBLEM:
		code = err_set(err, ERR_CONFIG,
			"the client certificate can't be used: %s. Check %s and %s", shown.s,
			words_of(settings)->cert, words_of(settings)->key);
		break;
	case CURLE_SSL_CONNECT_ERROR:
		code = error_handshake(err, e, settings, detail, shown.s);
		break;
	case CURLE_GOT_NOTHING:
		code = err_set(err, ERR_IO,
			"%s took the request and closed the connection without a word: a server "
			"that stops, a proxy with nothing behind it, or something else listens "
			"there. Check the %s",
			e->text, words_of(settings)->endpoint);
		break;
	case CURLE_SEND_ERROR:
	case CURLE_RECV_ERROR:
	case CURLE_PARTIAL_FILE:
		code = error_broken(err, e, settings, detail, shown.s);
		break;
	case CURLE_HTTP2:
	case CURLE_HTTP2_STREAM:
		code = err_set(
			err, ERR_PROTO, "%s broke the rules of HTTP/2: %s", e->text, shown.s);
		break;
	case CURLE_WEIRD_SERVER_REPLY:
	case CURLE_UNSUPPORTED_PROTOCOL:
		code = err_set(err, ERR_PROTO,
			"what answers at %s does not speak HTTP (%s). Check the %s", e->text,
			shown.s, words_of(settings)->endpoint);
		break;
	case CURLE_OUT_OF_MEMORY:
		code = err_set(err, ERR_NOMEM, "out of memory");
		break;
	default:
		code = err_set(err, ERR_IO, "the request to %s failed: %s", e->text, shown.s);
		break;
	}
	str_release(&shown);
	return code;
}

enum probe_how {
	PROBE_PLAIN,
	PROBE_TLS,
	PROBE_TLS_1_2, /* at most: a client certificate is looked at within the handshake, and not
			  behind it */
};

/* One plain request of the diagnosis, and what came of it. */
struct probe {
	long status; /* of HTTP; 0: none */
	bool tls;    /* a TLS handshake was done */
	bool alert;  /* TLS told why it ends */
	bool etcd;   /* it says so itself */
	CURLcode rc;
	char body[PROBE_BODY_MAX + 1];
	size_t len;
	char detail[CURL_ERROR_SIZE];
};

/* The beginning is enough. */
static size_t probe_body(char *bytes, size_t size, size_t n, void *arg)
{
	struct probe *probe = arg;
	size_t take = PROBE_BODY_MAX - probe->len;

	(void)size;
	if (take > n)
		take = n;
	memcpy(probe->body + probe->len, bytes, take);
	probe->len += take;
	return n;
}

/*
 * One `GET /version` in HTTP/1.1, which every port of etcd answers, also those that are not for its
 * clients (etcd's server/etcdserver/api/etcdhttp). Nothing is told, so the server's certificate is
 * not looked at: only what is spoken there is asked.
 */
static void probe_get(struct probe *probe, const struct http_endpoint *e,
	const struct http_settings *settings, enum probe_how how, int64_t limit_ms)
{
	bool tls = how != PROBE_PLAIN;
	struct http_endpoint as = { .tls = tls };
	const char *rest = strstr(e->url, "://");
	CURL *easy = curl_easy_init();
	struct str url;
	double handshake = 0;

	memset(probe, 0, sizeof(*probe));
	if (!easy)
		return;
	str_init(&url, 4096);
	str_addf(&url, "%s%s/version", tls ? "https" : "http", rest ? rest : "");
	http_setup(easy, &as, settings);
	curl_easy_setopt(easy, CURLOPT_URL, url.s);
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	if (how == PROBE_TLS_1_2)
		curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_MAX_TLSv1_2);
	curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)limit_ms);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, probe->detail);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, probe_body);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, probe);
	probe->rc = curl_easy_perform(easy);
	if (probe->rc == CURLE_OK)
		curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &probe->status);
	curl_easy_getinfo(easy, CURLINFO_APPCONNECT_TIME, &handshake);
	probe->tls = handshake > 0;
	probe->alert = strstr(probe->detail, "alert") != NULL;
	probe->etcd = strstr(probe->body, "\"etcdserver\"") != NULL;
	curl_easy_cleanup(easy);
	str_release(&url);
}

static int diagnose_http1(struct err *err, const struct http_endpoint *e, const struct probe *probe)
{
	if (probe->etcd)
		return err_set(err, ERR_PROTO,
			"%s is a port of etcd, and not the one for its clients: it is for its "
			"peers, or for HTTP alone, or a proxy before it passes no HTTP/2 on. Name "
			"one of listen-client-urls, mostly 2379, or check the proxy",
			e->text);
	return err_set(err, ERR_PROTO,
		"%s speaks HTTP/1.1%s (status %ld) and no HTTP/2: that is no etcd, or a proxy "
		"before it. Check the endpoint",
		e->text, probe->tls ? " over TLS" : "", probe->status);
}

static int diagnose_alert(struct err *err, const struct http_endpoint *e,
	const struct http_settings *settings, const struct probe *probe)
{
	struct str shown;
	int code;

	error_detail(&shown, probe->detail, probe->rc);
	code = error_handshake(err, e, settings, probe->detail, shown.s);
	str_release(&shown);
	return code;
}

/*
 * It ends the connection behind a handshake. By TLS 1.3 that is when a client certificate is looked
 * at, and what the server says of it may be lost with the connection.
 */
static int diagnose_closed(struct err *err, const struct http_endpoint *e,
	const struct http_settings *settings, int64_t limit_ms)
{
	const struct http_words *words = words_of(settings);
	struct probe older;

	probe_get(&older, e, settings, PROBE_TLS_1_2, limit_ms / 2);
	/* By TLS 1.3 the ciphers did meet: that they don't by 1.2 would tell nothing. */
	if (older.alert && !strstr(older.detail, "protocol version") &&
		!is_handshake_failure(older.detail))
		return diagnose_alert(err, e, settings, &older);
	return err_set(err, ERR_TLS,
		"%s ends the TLS handshake well and then closes the connection: it may ask for a "
		"client certificate%s (%s, %s), or a proxy there has nothing behind it, or it is "
		"no etcd%s%s",
		e->text, has_certificate(settings) ? " and not accept ours" : "", words->cert,
		words->key, words->other_port ? ". " : "",
		words->other_port ? words->other_port : "");
}

static int diagnose_tls(struct err *err, const struct http_endpoint *e,
	const struct http_settings *settings, const struct probe *tls, int64_t limit_ms)
{
	struct probe plain;

	if (tls->alert)
		return diagnose_alert(err, e, settings, tls);
	if (tls->status)
		return diagnose_http1(err, e, tls);
	if (tls->tls)
		return diagnose_closed(err, e, settings, limit_ms);
	probe_get(&plain, e, settings, PROBE_PLAIN, limit_ms / 2);
	if (plain.status)
		return err_set(err, ERR_TLS,
			"%s does not speak TLS: write the endpoint with http://, or switch TLS on "
			"there",
			e->text);
	return err_set(err, ERR_TLS,
		"%s took the connection and hung up on the TLS handshake: it speaks no TLS, or a "
		"proxy there has nothing behind it, or it is no etcd. Check the endpoint",
		e->text);
}

static int diagnose_plain(struct err *err, const struct http_endpoint *e,
	const struct http_settings *settings, const struct probe *tls, int64_t limit_ms)
{
	struct probe plain;

	if (tls->tls)
		return err_set(
			err, ERR_TLS, "%s speaks TLS: write the endpoint with https://", e->text);
	probe_get(&plain, e, settings, PROBE_PLAIN, limit_ms / 2);
	if (plain.status)
		return diagnose_http1(err, e, &plain);
	if (plain.rc == CURLE_GOT_NOTHING || plain.rc == CURLE_RECV_ERROR ||
		plain.rc == CURLE_SEND_ERROR || plain.rc == CURLE_COULDNT_CONNECT)
		return err_set(err, ERR_CONNECT,
			"%s takes connections and closes them without a word: a proxy with nothing "
			"behind it, a server that stops, or no etcd. Check the endpoint",
			e->text);
	return err_set(err, ERR_PROTO,
		"%s took the connection and speaks no HTTP/2: that is no etcd. Check the endpoint",
		e->text);
}

int http_diagnose(struct err *err, const struct http_endpoint *e,
	const struct http_settings *settings, int64_t limit_ms)
{
	struct probe tls;

	if (limit_ms < 100)
		limit_ms = 100;
	probe_get(&tls, e, settings, PROBE_TLS, limit_ms / 2);
	if (e->tls)
		return diagnose_tls(err, e, settings, &tls, limit_ms);
	return diagnose_plain(err, e, settings, &tls, limit_ms);
}
