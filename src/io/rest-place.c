#include "config.h"

#include "io/rest-inside.h"
#include "base/err.h"
#include "base/str.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
	URL_MAX = 4096,
	SHOWN_MAX = 200
};

/* A URL taken apart. */
struct parts {
	char *scheme, *host, *port, *path, *user;
};

static void parts_release(struct parts *p)
{
	curl_free(p->scheme);
	curl_free(p->host);
	curl_free(p->port);
	curl_free(p->path);
	curl_free(p->user);
}

/* Without a scheme it is http, as for kubectl. */
static int parts_split(struct parts *p, const char *text)
{
	CURLU *url = curl_url();
	struct str full;
	CURLUcode rc;

	if (!url)
		return -1;
	str_init(&full, URL_MAX);
	if (!strstr(text, "://"))
		str_add(&full, "http://");
	str_add(&full, text);
	rc = full.full ? CURLUE_MALFORMED_INPUT
		       : curl_url_set(url, CURLUPART_URL, full.s, CURLU_NON_SUPPORT_SCHEME);
	str_release(&full);
	if (!rc) {
		rc = curl_url_get(url, CURLUPART_SCHEME, &p->scheme, 0);
		if (!rc)
			rc = curl_url_get(url, CURLUPART_HOST, &p->host, 0);
		curl_url_get(url, CURLUPART_PORT, &p->port, CURLU_DEFAULT_PORT);
		curl_url_get(url, CURLUPART_PATH, &p->path, 0);
		curl_url_get(url, CURLUPART_USER, &p->user, 0);
	}
	curl_url_cleanup(url);
	return rc || !p->port ? -1 : 0;
}

/* For messages: scheme, host, port and prefix, sanitised; no user, no query. */
static char *place_shown(const struct parts *p)
{
	struct str text, shown;

	str_init(&text, URL_MAX);
	str_init(&shown, URL_MAX);
	str_addf(&text, "%s://%s:%s%s", p->scheme, p->host, p->port,
		p->path && strcmp(p->path, "/") != 0 ? p->path : "");
	while (text.len && text.s[text.len - 1] == '/')
		str_truncate(&text, text.len - 1);
	text_escape_cut(&shown, text.s, text.len, SHOWN_MAX);
	str_release(&text);
	return str_take(&shown);
}

static int place_check(const struct parts *p, const char *server, struct err *err)
{
	if (strcasecmp(p->scheme, "http") != 0 && strcasecmp(p->scheme, "https") != 0)
		return err_set(err, ERR_CONFIG,
			"the cluster's server begins with neither http:// nor https://");
	if (p->user)
		return err_set(err, ERR_CONFIG,
			"the cluster's server holds a user name: credentials belong to the user");
	if (!strstr(server, "://") && p->path && strcmp(p->path, "/") != 0)
		return err_set(
			err, ERR_CONFIG, "the cluster's server must be a URL, or HOST:PORT alone");
	return 0;
}

static void place_fill(struct rest_place *place, const struct parts *p, const char *server_name)
{
	struct http_endpoint *e = &place->endpoint;
	const char *host = p->host;
	struct str text;

	e->tls = strcasecmp(p->scheme, "https") == 0;
	str_init(&text, URL_MAX);
	if (e->tls && server_name && strcmp(server_name, p->host) != 0) {
		str_addf(&text, "%s:%s:%s:%s", server_name, p->port, p->host, p->port);
		e->connect_to = str_take(&text);
		str_addf(&text, "Host: %s:%s", p->host, p->port);
		place->host_header = str_take(&text);
		host = server_name;
	}
	str_addf(&text, "%s://%s:%s%s", p->scheme, host, p->port, p->path ? p->path : "");
	while (text.len && text.s[text.len - 1] == '/')
		str_truncate(&text, text.len - 1);
	e->url = str_take(&text);
}

static void place_proxy(
	struct rest_place *place, const struct kube_access *a, const struct parts *p)
{
	const char *proxy = rest_proxy_for(a->proxy_url, place->endpoint.tls, p->host, p->port);
	struct str text;

	if (!proxy)
		return;
	str_init(&text, URL_MAX);
	/* Names are looked up by the proxy, as Go does it. */
	if (strncasecmp(proxy, "socks5://", 9) == 0)
		str_addf(&text, "socks5h://%s", proxy + 9);
	else
		str_add(&text, proxy);
	place->proxy = str_take(&text);
}

int rest_place_make(struct rest_place *ret, const struct kube_access *a, struct err *err)
{
	struct rest_place place = { 0 };
	struct parts parts = { 0 };
	int rc;

	if (parts_split(&parts, a->server) < 0)
		rc = err_set(err, ERR_CONFIG,
			"the cluster's server is no URL: write it as https://HOST:PORT");
	else
		rc = place_check(&parts, a->server, err);
	if (!rc) {
		place.endpoint.text = place_shown(&parts);
		place_fill(&place, &parts, a->server_name);
		place_proxy(&place, a, &parts);
		*ret = place;
	}
	parts_release(&parts);
	return rc;
}

void rest_place_release(struct rest_place *p)
{
	http_endpoint_release(&p->endpoint);
	free(p->host_header);
	free(p->proxy);
	memset(p, 0, sizeof(*p));
}
