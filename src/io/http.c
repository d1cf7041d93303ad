#include "config.h"

#include "io/http.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum {
	TEXT_MAX = 1024,
	SHOWN_MAX = 300,
	STEP_MAX_MS = 60000
};

struct http_loop {
	CURLM *multi;
	const struct clock_source *clock;
};

struct http_loop *http_loop_new(const struct clock_source *clock, struct err *err)
{
	struct http_loop *loop;
	CURLM *multi;

	/* It counts its calls. Before 7.84 it is not safe beside other threads: see http.h. */
	if (curl_global_init(CURL_GLOBAL_DEFAULT)) {
		err_set(err, ERR_NOMEM, "libcurl could not be started");
		return NULL;
	}
	multi = curl_multi_init();
	if (!multi) {
		err_set(err, ERR_NOMEM, "libcurl could not be started");
		return NULL;
	}
	curl_multi_setopt(multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
	/* A transfer that finds no free stream waits for one, and never opens a second connection.
	 */
	curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS, 1L);
	loop = xcalloc(1, sizeof(*loop));
	loop->multi = multi;
	loop->clock = clock;
	return loop;
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

	if (rc == CURLM_OK)
		return 0;
	return err_set(err, ERR_NOMEM, "libcurl took no request: %s", curl_multi_strerror(rc));
}

void http_loop_remove(struct http_loop *loop, CURL *easy)
{
	curl_multi_remove_handle(loop->multi, easy);
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
		curl_multi_remove_handle(loop->multi, easy);
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
	int running, ready = 0;

	if (wait_ms > STEP_MAX_MS)
		wait_ms = STEP_MAX_MS;
	/*
	 * First the wait, which is none where libcurl has something to do at once (a transfer that
	 * was just added): then the caller sees what came before anybody waits again.
	 */
	if (wait_ms > 0 && curl_multi_poll(loop->multi, &extra, wake_fd >= 0, (int)wait_ms,
				   &ready) != CURLM_OK)
		return HTTP_STEP_TIME;
	curl_multi_perform(loop->multi, &running);
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

void http_setup(CURL *easy, const struct http_endpoint *e, const struct http_settings *settings)
{
	http_setup_protocols(easy);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L);
	curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
	/* An empty string, and not NULL, is what switches the environment's proxies off. */
	curl_easy_setopt(easy, CURLOPT_PROXY, settings->proxy ? settings->proxy : "");
	if (!e->tls)
		return;
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
	if (settings->ca) {
		curl_easy_setopt(easy, CURLOPT_CAINFO, settings->ca);
		/* Only that file: a certificate of a public authority must not pass for the
		 * cluster's own. */
		curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
	}
	if (settings->cert) {
		curl_easy_setopt(easy, CURLOPT_SSLCERT, settings->cert);
		curl_easy_setopt(
			easy, CURLOPT_SSLKEY, settings->key ? settings->key : settings->cert);
	}
}
