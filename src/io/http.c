#include "config.h"

#include "io/http.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"

#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum {
	TEXT_MAX = 1024,
	SHOWN_MAX = 300,
	STEP_MAX_MS = 60000,
	BUNDLE_LEAST = 4, /* transfers, from which on it is worth the while */
	BUNDLES_MAX = 64, /* connections; what is beyond them is sent as it comes */
};

struct http_loop {
	CURLM *multi;
	long connections;
	const struct clock_source *clock;
	curl_socket_t bundles[BUNDLES_MAX];
	size_t n_bundles;
	size_t n_running; /* transfers */
};

static CURLM *multi_new(long connections)
{
	CURLM *multi = curl_multi_init();

	if (!multi)
		return NULL;
	curl_multi_setopt(multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
	/* A transfer that finds no free stream waits for one, and never opens one connection more.
	 */
	curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS, connections);
	return multi;
}

struct http_loop *http_loop_new(const struct clock_source *clock, struct err *err)
{
	struct http_loop *loop;
	CURLM *multi;

	/* It counts its calls. Before 7.84 it is not safe beside other threads: see http.h. */
	if (curl_global_init(CURL_GLOBAL_DEFAULT)) {
		err_set(err, ERR_NOMEM, "libcurl could not be started");
		return NULL;
	}
	multi = multi_new(1);
	if (!multi) {
		err_set(err, ERR_NOMEM, "libcurl could not be started");
		return NULL;
	}
	loop = xcalloc(1, sizeof(*loop));
	loop->multi = multi;
	loop->connections = 1;
	loop->clock = clock;
	return loop;
}

void http_loop_connections(struct http_loop *loop, long n)
{
	loop->connections = n;
	curl_multi_setopt(loop->multi, CURLMOPT_MAX_HOST_CONNECTIONS, n);
}

int http_loop_reset(struct http_loop *loop, struct err *err)
{
	CURLM *multi = multi_new(loop->connections);

	if (!multi)
		return err_set(err, ERR_NOMEM, "libcurl could not be started anew");
	curl_multi_cleanup(loop->multi);
	loop->multi = multi;
	return 0;
}

void http_loop_free(struct http_loop *loop)
{
	if (!loop)
		return;
	curl_multi_cleanup(loop->multi);
	free(loop);
}

int64_t http_loop_now_ms(const struct http_loop *loop)
{
	return clock_mono_ms(loop->clock);
}

int http_loop_add(struct http_loop *loop, CURL *easy, struct err *err)
{
	CURLMcode rc = curl_multi_add_handle(loop->multi, easy);

	if (rc == CURLM_OK) {
		loop->n_running++;
		return 0;
	}
	return err_set(err, ERR_NOMEM, "libcurl took no request: %s", curl_multi_strerror(rc));
}

void http_loop_remove(struct http_loop *loop, CURL *easy)
{
	if (curl_multi_remove_handle(loop->multi, easy) == CURLM_OK)
		loop->n_running--;
}

void http_loop_bundle(struct http_loop *loop, curl_socket_t fd)
{
	if (loop->n_bundles < BUNDLES_MAX)
		loop->bundles[loop->n_bundles++] = fd;
}

void http_loop_forget(struct http_loop *loop, curl_socket_t fd)
{
	size_t i;

	for (i = 0; i < loop->n_bundles; i++)
		if (loop->bundles[i] == fd)
			loop->bundles[i--] = loop->bundles[--loop->n_bundles];
}

/*
 * libcurl writes each frame by itself, three for a small call, and with TCP_NODELAY (without which
 * the last one would wait for an acknowledgement) each wakes the server. Linux holds them back
 * until it is told that there are no more (tcp(7), TCP_CORK).
 */
static void http_loop_cork(struct http_loop *loop, int on)
{
#ifdef TCP_CORK
	size_t i;

	for (i = 0; i < loop->n_bundles; i++)
		setsockopt(loop->bundles[i], IPPROTO_TCP, TCP_CORK, &on, sizeof(on));
#else
	(void)loop;
	(void)on;
#endif
}

/* Drives all transfers as far as they go without waiting. */
static void http_loop_perform(struct http_loop *loop)
{
	bool many = loop->n_running >= BUNDLE_LEAST;
	int running;

	if (many)
		http_loop_cork(loop, 1);
	curl_multi_perform(loop->multi, &running);
	if (many)
		http_loop_cork(loop, 0);
}

/* Tells the owners of the transfers that ended. */
static void http_loop_reap(struct http_loop *loop)
{
	CURLMsg *msg;
	int left;

	while ((msg = curl_multi_info_read(loop->multi, &left))) {
		CURL *easy = msg->easy_handle;
		CURLcode rc = msg->data.result;
		char *owner = NULL;

		if (msg->msg != CURLMSG_DONE)
			continue;
		/* msg is gone after this. */
		http_loop_remove(loop, easy);
		curl_easy_getinfo(easy, CURLINFO_PRIVATE, &owner);
		if (owner) {
			struct http_owner *o = (struct http_owner *)(void *)owner;

			o->done(o, rc);
		}
	}
}

enum http_step http_loop_step(struct http_loop *loop, int wake_fd, int64_t until_ms)
{
	struct curl_waitfd extra = { .fd = wake_fd, .events = CURL_WAIT_POLLIN };
	int64_t wait_ms = until_ms - http_loop_now_ms(loop);
	int ready = 0;

	if (wait_ms > STEP_MAX_MS)
		wait_ms = STEP_MAX_MS;
	/*
	 * First the wait, which is none where libcurl has something to do at once (a transfer that
	 * was just added): then the caller sees what came before anybody waits again.
	 */
	if (wait_ms > 0 && curl_multi_poll(loop->multi, &extra, wake_fd >= 0, (int)wait_ms,
				   &ready) != CURLM_OK)
		return HTTP_STEP_TIME;
	http_loop_perform(loop);
	http_loop_reap(loop);
	if (wake_fd >= 0 && extra.revents)
		return HTTP_STEP_WOKEN;
	return wait_ms > 0 ? HTTP_STEP_ACTIVE : HTTP_STEP_TIME;
}

static void http_setup_protocols(CURL *easy)
{
#if LIBCURL_VERSION_NUM >= 0x075500
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
#else
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
}

#if LIBCURL_VERSION_NUM >= 0x074d00
static void setup_data(CURL *easy, CURLoption option, const struct http_data *data)
{
	struct curl_blob blob = {
		.data = (void *)(uintptr_t)data->s, .len = data->len, .flags = CURL_BLOB_COPY
	};

	curl_easy_setopt(easy, option, &blob);
}

static void setup_blobs(CURL *easy, const struct http_settings *settings)
{
	if (settings->ca_data.s) {
		setup_data(easy, CURLOPT_CAINFO_BLOB, &settings->ca_data);
		curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
	}
	if (settings->cert_data.s)
		setup_data(easy, CURLOPT_SSLCERT_BLOB, &settings->cert_data);
	if (settings->key_data.s)
		setup_data(easy, CURLOPT_SSLKEY_BLOB, &settings->key_data);
}

bool http_takes_data(void)
{
	return true;
}
#else
static void setup_blobs(CURL *easy, const struct http_settings *settings)
{
	(void)easy;
	(void)settings;
}

bool http_takes_data(void)
{
	return false;
}
#endif

static void setup_tls(CURL *easy, const struct http_settings *settings)
{
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, settings->insecure ? 0L : 1L);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, settings->insecure ? 0L : 2L);
	if (settings->ca) {
		curl_easy_setopt(easy, CURLOPT_CAINFO, settings->ca);
		/* Only that file: a certificate of a public authority must not pass for the
		 * cluster's own. */
		curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
	}
	if (settings->cert)
		curl_easy_setopt(easy, CURLOPT_SSLCERT, settings->cert);
	if (settings->key || settings->cert)
		curl_easy_setopt(
			easy, CURLOPT_SSLKEY, settings->key ? settings->key : settings->cert);
	/* Without one OpenSSL asks for it at the terminal, which is in use. */
	curl_easy_setopt(easy, CURLOPT_KEYPASSWD, "");
	setup_blobs(easy, settings);
}

void http_setup(CURL *easy, const struct http_endpoint *e, const struct http_settings *settings)
{
	http_setup_protocols(easy);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L);
	curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
	/* An empty string, and not NULL, is what switches the environment's proxies off. */
	curl_easy_setopt(easy, CURLOPT_PROXY, settings->proxy ? settings->proxy : "");
	curl_easy_setopt(easy, CURLOPT_NOPROXY, "");
	if (e->tls)
		setup_tls(easy, settings);
}
