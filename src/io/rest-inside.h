#ifndef IO_REST_INSIDE_H
#define IO_REST_INSIDE_H

#include "io/http.h"
#include "io/kube-creds.h"
#include "io/kubeconfig.h"
#include "io/rest.h"

/* What the files of the client share. Within src/io only. */

/* Where the server is, and how it is reached. */
struct rest_place {
	struct http_endpoint endpoint; /* its url has the prefix, without a slash at the end */
	char *host_header;             /* "Host: ..." where the URL has another name; NULL */
	char *proxy;                   /* URL; NULL: none */
};

int rest_place_make(struct rest_place *ret, const struct kube_access *a, struct err *err);
void rest_place_release(struct rest_place *p);

/* The proxy for a server: proxy_url (NULL: not said), else the environment's; NULL: none. host may
 * be in brackets. */
const char *rest_proxy_for(const char *proxy_url, bool tls, const char *host, const char *port);

/* A call as the errors see it. */
struct rest_ended {
	const struct rest_place *place;
	const struct http_settings *settings;
	const struct kube_creds *creds;
	const struct http_reach *reach;
	CURL *easy;
	CURLcode rc;
	const char *detail;
	int status;
	const struct str *body;              /* of an answer that is no 2xx */
	const char *content_type, *location; /* sanitised; "" */
	double seconds;  /* since it was sent, or began to wait for credentials */
	bool others;     /* something came of others since */
	double silent_s; /* since anything of its answer came */
};

/* Fills err and what of ret the Status says (reason, retry_after_ms, gone). */
int rest_error_transport(const struct rest_ended *e, struct err *err);
/* Of one that did not come in time: how far it came. */
int rest_error_late(const struct rest_ended *e, struct err *err);
int rest_error_status(const struct rest_ended *e, struct rest_answer *ret, struct err *err);

#endif
