#include "config.h"

#include "io/http.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

enum {
	ENDPOINT_MAX = 2048,
	ENDPOINT_SHOWN = 200
};

/* The endpoint as it may be shown: sanitised, cut, and without what stands before an @. */
static char *endpoint_shown(const char *text)
{
	const char *scheme = strstr(text, "://");
	const char *host = scheme ? scheme + 3 : text, *at = strrchr(host, '@');
	struct str shown;

	str_init(&shown, ENDPOINT_MAX);
	if (scheme)
		text_escape_cut(&shown, text, (size_t)(host - text), ENDPOINT_SHOWN);
	if (at)
		str_add(&shown, "***@");
	host = at ? at + 1 : host;
	text_escape_cut(&shown, host, strlen(host), ENDPOINT_SHOWN);
	return str_take(&shown);
}

struct endpoint_parts {
	char *scheme, *host, *port, *user, *path, *query;
};

static void endpoint_parts_release(struct endpoint_parts *p)
{
	curl_free(p->scheme);
	curl_free(p->host);
	curl_free(p->port);
	curl_free(p->user);
	curl_free(p->path);
	curl_free(p->query);
}

static int endpoint_check(const struct endpoint_parts *p, const char *shown, struct err *err)
{
	if (strcmp(p->scheme, "http") != 0 && strcmp(p->scheme, "https") != 0)
		return err_set(err, ERR_CONFIG,
			"the endpoint %s begins with neither http:// nor https://", shown);
	if (p->user)
		return err_set(err, ERR_CONFIG,
			"the endpoint %s holds a user name: give user and password as options",
			shown);
	if ((p->path && strcmp(p->path, "/") != 0) || p->query)
		return err_set(err, ERR_CONFIG,
			"the endpoint %s has a path or a query: only scheme, host and port belong "
			"there",
			shown);
	return 0;
}

static int endpoint_fill(struct http_endpoint *ret, const struct endpoint_parts *p,
	int default_port, const char *server_name, struct err *err)
{
	struct str url, to;
	char port[16] = "";

	str_init(&url, ENDPOINT_MAX);
	str_init(&to, ENDPOINT_MAX);
	if (p->port)
		str_addf(&to, "%s", p->port);
	else
		str_addf(&to, "%d", default_port);
	if (to.len < sizeof(port))
		memcpy(port, to.s, to.len + 1);
	str_clear(&to);
	ret->tls = strcmp(p->scheme, "https") == 0;
	/* The certificate is checked against the URL's host: with a server name of its own, connect
	 * elsewhere. */
	if (ret->tls && server_name) {
		str_addf(&url, "https://%s:%s", server_name, port);
		str_addf(&to, "%s:%s:%s:%s", server_name, port, p->host, port);
		ret->connect_to = str_take(&to);
	} else {
		str_addf(&url, "%s://%s:%s", p->scheme, p->host, port);
	}
	str_release(&to);
	if (url.full) {
		str_release(&url);
		return err_set(err, ERR_CONFIG, "the endpoint's name is too long");
	}
	ret->url = str_take(&url);
	return 0;
}

/* Takes a URL apart; the scheme is guessed by the caller's word. Returns 0, or -1 when it is none.
 */
static int endpoint_split(struct endpoint_parts *p, const char *text, bool tls_default)
{
	CURLU *url = curl_url();
	struct str full;
	CURLUcode rc;

	if (!url)
		return -1;
	str_init(&full, ENDPOINT_MAX);
	if (!strstr(text, "://"))
		str_add(&full, tls_default ? "https://" : "http://");
	str_add(&full, text);
	rc = full.full ? CURLUE_MALFORMED_INPUT
		       : curl_url_set(url, CURLUPART_URL, full.s, CURLU_NON_SUPPORT_SCHEME);
	str_release(&full);
	if (!rc) {
		rc = curl_url_get(url, CURLUPART_SCHEME, &p->scheme, 0);
		if (!rc)
			rc = curl_url_get(url, CURLUPART_HOST, &p->host, 0);
		curl_url_get(url, CURLUPART_PORT, &p->port, 0);
		curl_url_get(url, CURLUPART_USER, &p->user, 0);
		curl_url_get(url, CURLUPART_PATH, &p->path, 0);
		curl_url_get(url, CURLUPART_QUERY, &p->query, 0);
	}
	curl_url_cleanup(url);
	return rc ? -1 : 0;
}

int http_endpoint_parse(struct http_endpoint *ret, const char *text, bool tls_default,
	int default_port, const char *server_name, struct err *err)
{
	struct http_endpoint e = { .text = endpoint_shown(text) };
	struct endpoint_parts parts = { 0 };
	int rc;

	if (endpoint_split(&parts, text, tls_default) < 0 || !parts.scheme || !parts.host)
		rc = err_set(err, ERR_CONFIG,
			"the endpoint \"%s\" is no URL: write it as https://HOST:PORT", e.text);
	else
		rc = endpoint_check(&parts, e.text, err);
	if (!rc)
		rc = endpoint_fill(&e, &parts, default_port, server_name, err);
	endpoint_parts_release(&parts);
	if (rc) {
		http_endpoint_release(&e);
		return rc;
	}
	if (!strstr(e.text, "://")) {
		struct str shown;

		str_init(&shown, ENDPOINT_MAX);
		str_addf(&shown, "%s://%s", e.tls ? "https" : "http", e.text);
		free(e.text);
		e.text = str_take(&shown);
	}
	*ret = e;
	return 0;
}

void http_endpoint_release(struct http_endpoint *e)
{
	free(e->text);
	free(e->url);
	free(e->connect_to);
	memset(e, 0, sizeof(*e));
}
