#include "config.h"

#include "io/rest-inside.h"
#include "base/err.h"
#include "base/str.h"
#include "base/text.h"

#include <jansson.h>
#include <string.h>
#include <strings.h>

enum {
	MESSAGE_SHOWN = 400,
	REASON_SHOWN = 60
};

/* ---- transport ---- */

static bool says(const struct rest_ended *e, const char *words)
{
	return e->detail && strstr(e->detail, words);
}

static int error_proxy(const struct rest_ended *e, struct err *err)
{
	const char *detail = e->detail && *e->detail ? e->detail : curl_easy_strerror(e->rc);
	struct str shown;
	int rc;

	str_init(&shown, MESSAGE_SHOWN * 4 + 8);
	text_escape_cut(&shown, detail, strlen(detail), MESSAGE_SHOWN / 2);
	rc = err_set(err, ERR_CONNECT,
		"the proxy before %s does not let us through (%s): check proxy-url, or "
		"HTTPS_PROXY and NO_PROXY",
		e->place->endpoint.text, shown.s);
	str_release(&shown);
	return rc;
}

static bool is_behind_proxy(const struct rest_ended *e)
{
	long status = 0;

	if (!e->place->proxy || e->reach->began || http_began(e->easy, &e->place->endpoint))
		return false;
	curl_easy_getinfo(e->easy, CURLINFO_HTTP_CONNECTCODE, &status);
	return status / 100 != 2;
}

/* All that are there carry something else, and it waits for one of them. */
static bool is_queued(const struct rest_ended *e)
{
	curl_off_t lookup = 0;

	curl_easy_getinfo(e->easy, CURLINFO_NAMELOOKUP_TIME_T, &lookup);
	return e->reach->spoke && e->reach->open && lookup <= 0 &&
	       !http_began(e->easy, &e->place->endpoint);
}

int rest_error_late(const struct rest_ended *e, struct err *err)
{
	const char *server = e->place->endpoint.text;

	if (e->status && 2 * e->silent_s < e->seconds)
		return err_set(err, ERR_TIMEOUT,
			"%s is still sending its answer after %.1f s: a longer timeout waits for "
			"all of it",
			server, e->seconds);
	if (e->status)
		return err_set(err, ERR_TIMEOUT,
			"%s began to answer, and then nothing came for %.1f s: it may hang, or "
			"the network between loses what is large. Check the process there, and the "
			"way to it",
			server, e->silent_s);
	if (is_behind_proxy(e))
		return err_set(err, ERR_TIMEOUT,
			"the proxy before %s did not let us through within %.1f s: check "
			"proxy-url, or HTTPS_PROXY and NO_PROXY, and the proxy",
			server, e->seconds);
	if (e->place->proxy && !e->place->endpoint.tls)
		return err_set(err, ERR_TIMEOUT,
			"no answer of %s came through the proxy before it within %.1f s: check "
			"whether either hangs",
			server, e->seconds);
	if (is_queued(e))
		return err_set(err, ERR_TIMEOUT,
			"%s was not asked within %.1f s: our connections to it, which it answers "
			"on, are all in use. Fewer namespaces need fewer",
			server, e->seconds);
	if (e->others && http_began(e->easy, &e->place->endpoint))
		return err_set(err, ERR_TIMEOUT,
			"%s answers other requests, and one not within %.1f s: what it needs for "
			"that one, mostly its etcd, may hang. Check /readyz?verbose there, and "
			"etcd",
			server, e->seconds);
	return http_error_late(err, e->easy, &e->place->endpoint, e->reach, e->seconds);
}

int rest_error_transport(const struct rest_ended *e, struct err *err)
{
	const char *server = e->place->endpoint.text;

	switch (e->rc) {
	case CURLE_COULDNT_RESOLVE_PROXY:
#if LIBCURL_VERSION_NUM >= 0x074900
	case CURLE_PROXY:
#endif
		return error_proxy(e, err);
	case CURLE_COULDNT_CONNECT:
		if (e->place->proxy)
			return error_proxy(e, err);
		break;
	case CURLE_OPERATION_TIMEDOUT:
		return rest_error_late(e, err);
	case CURLE_PARTIAL_FILE:
	case CURLE_HTTP2_STREAM:
	case CURLE_HTTP2:
		return err_set(err, ERR_IO,
			e->status ? "%s broke off in the middle of an answer"
				  : "the connection to %s broke off before an answer",
			server);
	case CURLE_BAD_CONTENT_ENCODING:
		return err_set(err, ERR_PROTO,
			"%s sent a packed answer that can't be unpacked: set disable-compression",
			server);
	default:
		break;
	}
	if (says(e, "Received HTTP code") || says(e, "CONNECT"))
		return error_proxy(e, err);
	return http_error(
		err, e->easy, e->rc, &e->place->endpoint, e->settings, e->reach, e->detail);
}

/* ---- statuses ---- */

/* Kubernetes' Status object (API reference, meta/v1), as far as it is told. */
struct status {
	struct str message;
	bool is; /* the answer is an API server's, as far as can be told */
};

static void status_read(
	struct status *s, const struct str *body, const char *content_type, struct rest_answer *ret)
{
	json_t *root = body->len ? json_loadb(body->s, body->len, 0, NULL) : NULL;
	const char *message = json_string_value(json_object_get(root, "message"));
	const char *reason = json_string_value(json_object_get(root, "reason"));
	json_t *retry = json_object_get(json_object_get(root, "details"), "retryAfterSeconds");
	struct str shown;

	str_init(&s->message, MESSAGE_SHOWN * 4 + 8);
	s->is = str_eq(json_string_value(json_object_get(root, "kind")), "Status") ||
		(!body->len && strncasecmp(content_type, "application/json", 16) == 0);
	if (s->is && message)
		text_escape_cut(&s->message, message, strlen(message), MESSAGE_SHOWN);
	if (s->is && reason) {
		str_init(&shown, sizeof(ret->reason) - 1);
		text_escape_cut(&shown, reason, strlen(reason), REASON_SHOWN);
		if (!shown.full)
			memcpy(ret->reason, shown.s, shown.len + 1);
		str_release(&shown);
	}
	if (json_is_integer(retry) && json_integer_value(retry) > 0 &&
		json_integer_value(retry) < 86400 && ret->retry_after_ms == REST_UNKNOWN_TIME)
		ret->retry_after_ms = json_integer_value(retry) * 1000;
	json_decref(root);
}

static bool is_page(const struct rest_ended *e)
{
	return strncasecmp(e->content_type, "text/html", 9) == 0;
}

static int error_page(const struct rest_ended *e, struct err *err)
{
	return err_set(err, ERR_PROTO,
		"%s answers with a web page (HTTP status %d): that is no API server, or a proxy "
		"before it. Check the cluster's server",
		e->place->endpoint.text, e->status);
}

static int error_redirect(const struct rest_ended *e, struct err *err)
{
	return err_set(err, ERR_PROTO,
		"%s redirects to \"%s\" (HTTP status %d), which is not followed: a log-in page, or "
		"a proxy before the API server. Check the cluster's server",
		e->place->endpoint.text, e->location, e->status);
}

/* What a server in Go says that speaks TLS and was asked without. */
static bool is_plain_to_tls(const struct rest_ended *e)
{
	return e->status == 400 && !e->place->endpoint.tls && e->body->len &&
	       strstr(e->body->s, "HTTP request to an HTTPS server");
}

static int error_busy(const struct rest_ended *e, const struct status *s, struct err *err)
{
	if (e->status == 429)
		return err_set(err, ERR_BUSY,
			"%s takes no more requests from us now (priority and fairness, HTTP status "
			"429): %s",
			e->place->endpoint.text, s->message.len ? s->message.s : "it says no more");
	return err_set(err, ERR_BUSY, "%s can't serve now (HTTP status %d): %s",
		e->place->endpoint.text, e->status,
		s->message.len ? s->message.s
			       : "the API server, or a proxy before it, is not ready");
}

static enum err_code code_of(int status)
{
	switch (status) {
	case 403:
		return ERR_DENIED;
	case 404:
		return ERR_NOTFOUND;
	case 405:
	case 406:
	case 415:
		return ERR_UNSUPPORTED;
	default:
		return ERR_PROTO;
	}
}

static int error_other(const struct rest_ended *e, const struct status *s, struct err *err)
{
	const char *server = e->place->endpoint.text;

	if (s->message.len)
		return err_set(err, code_of(e->status),
			e->status == 403 ? "%s refuses (HTTP status %d): %s"
					 : "%s answers with HTTP status %d: %s",
			server, e->status, s->message.s);
	if (s->is)
		return err_set(err, code_of(e->status),
			"%s answers with HTTP status %d, and closes before it says why", server,
			e->status);
	if (e->status == 404)
		return err_set(err, ERR_NOTFOUND,
			"%s knows no such API (HTTP status 404): an older or newer server, or no "
			"API server at all",
			server);
	return err_set(err, code_of(e->status),
		"%s answers with HTTP status %d, and not as an API server does: check the "
		"cluster's server",
		server, e->status);
}

int rest_error_status(const struct rest_ended *e, struct rest_answer *ret, struct err *err)
{
	struct status s;
	int rc;

	status_read(&s, e->body, e->content_type, ret);
	ret->gone = e->status == 410 || strcmp(ret->reason, "Expired") == 0 ||
		    strcmp(ret->reason, "Gone") == 0;
	if (is_plain_to_tls(e)) {
		rc = err_set(err, ERR_TLS,
			"%s speaks TLS: write the cluster's server with https://",
			e->place->endpoint.text);
	} else if (e->status >= 300 && e->status < 400) {
		rc = error_redirect(e, err);
	} else if (e->status == 403 && !s.message.len && !kube_creds_any(e->creds)) {
		/* Servers since 1.28 close on strangers, and their words may be lost. */
		kube_creds_explain(e->creds, e->place->endpoint.text, err);
		rc = ERR_AUTH;
	} else if (e->status == 401 && s.is) {
		kube_creds_explain(e->creds, e->place->endpoint.text, err);
		rc = ERR_AUTH;
	} else if (e->status == 401) {
		rc = err_set(err, ERR_AUTH,
			"something before the API server at %s asks who we are (HTTP status 401). "
			"Check the cluster's server",
			e->place->endpoint.text);
	} else if (e->status == 429 || (e->status >= 502 && e->status <= 504)) {
		rc = error_busy(e, &s, err);
	} else if (is_page(e)) {
		rc = error_page(e, err);
	} else {
		rc = error_other(e, &s, err);
	}
	str_release(&s.message);
	return rc;
}
