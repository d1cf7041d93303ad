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
	STEP_MAX_MS = 60000,
	LINES_MAX = 256,
};

struct http_loop {
	CURLM *multi;
	long connections;
	const struct clock_source *clock;
	struct http_line **lines; /* NULL: left while they were walked */
	size_t n_lines, cap_lines;
	struct curl_waitfd *fds; /* what a step waits for, kept for the next one */
	size_t cap_fds;
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
	free(loop->lines);
	free(loop->fds);
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

int http_loop_join(struct http_loop *loop, struct http_line *line, struct err *err)
{
	if (loop->n_lines == LINES_MAX)
		return err_set(err, ERR_LIMIT, "more than %d connections at once", LINES_MAX);
	MEM_GROW(loop->lines, loop->n_lines, loop->cap_lines);
	loop->lines[loop->n_lines++] = line;
	return 0;
}

void http_loop_leave(struct http_loop *loop, struct http_line *line)
{
	size_t i;

	for (i = 0; i < loop->n_lines; i++)
		if (loop->lines[i] == line)
			loop->lines[i] = NULL;
}

/* Tells the owners of the transfers that ended. */
static void http_loop_reap(struct http_loop *loop)
{
	CURLMsg *msg;
	int left;

	while ((msg = curl_multi_info_read(loop->multi, &left))) {
		CURL *easy = msg->easy_handle;
		CURLcode rc = msg->data.result;
		struct http_owner *owner;
		char *private = NULL;

		if (msg->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(easy, CURLINFO_PRIVATE, &private);
		owner = (struct http_owner *)(void *)private;
		/* msg is gone after this. */
		if (rc != CURLE_OK || !owner || !owner->stays)
			http_loop_remove(loop, easy);
		if (owner)
			owner->done(owner, rc);
	}
}

/* Has all lines send what they have to send, and lists what is to be waited for: wake_fd first. */
static unsigned http_loop_fds(struct http_loop *loop, int wake_fd, int64_t *until_ms)
{
	size_t i, n = 0, kept = 0;

	for (i = 0; i < loop->n_lines; i++)
		if (loop->lines[i])
			loop->lines[kept++] = loop->lines[i];
	loop->n_lines = kept;
	for (i = 0; i < kept; i++)
		if (loop->lines[i])
			loop->lines[i]->flush(loop->lines[i]);
	if (loop->cap_fds < kept + 1) {
		loop->cap_fds = 2 * kept + 1;
		loop->fds = xrealloc(loop->fds, loop->cap_fds, sizeof(*loop->fds));
	}
	if (wake_fd >= 0)
		loop->fds[n++] = (struct curl_waitfd){ .fd = wake_fd, .events = CURL_WAIT_POLLIN };
	for (i = 0; i < kept; i++) {
		struct http_line *line = loop->lines[i];

		if (!line)
			continue;
		if (line->due_ms < *until_ms)
			*until_ms = line->due_ms;
		line->at = n;
		if (line->fd != CURL_SOCKET_BAD)
			loop->fds[n++] = (struct curl_waitfd){ .fd = line->fd,
				.events = CURL_WAIT_POLLIN | (line->room ? CURL_WAIT_POLLOUT : 0) };
	}
	return (unsigned)n;
}

/* Tells the lines of their news, or that their time has come; n: of those that were looked at. */
static void http_loop_lines(struct http_loop *loop, size_t n)
{
	int64_t now_ms = http_loop_now_ms(loop);
	size_t i;

	for (i = 0; i < n; i++) {
		struct http_line *line = loop->lines[i];

		if (line && ((line->fd != CURL_SOCKET_BAD && loop->fds[line->at].revents) ||
				    line->due_ms <= now_ms))
			line->ready(line);
	}
}

enum http_step http_loop_step(struct http_loop *loop, int wake_fd, int64_t until_ms)
{
	int64_t due_ms = until_ms, now_ms, wait_ms;
	unsigned n_fds = http_loop_fds(loop, wake_fd, &due_ms);
	size_t n_lines = loop->n_lines;
	int ready = 0, running;
	bool waits;

	now_ms = http_loop_now_ms(loop);
	wait_ms = due_ms - now_ms;
	waits = wait_ms > 0;

	if (wait_ms > STEP_MAX_MS)
		wait_ms = STEP_MAX_MS;
	/*
	 * First the wait, which is none where libcurl has something to do at once (a transfer that
	 * was just added): then the caller sees what came before anybody waits again.
	 */
	if ((waits || n_fds) && curl_multi_poll(loop->multi, loop->fds, n_fds,
					waits ? (int)wait_ms : 0, &ready) != CURLM_OK)
		return HTTP_STEP_TIME;
	http_loop_lines(loop, n_lines);
	curl_multi_perform(loop->multi, &running);
	http_loop_reap(loop);
	if (wake_fd >= 0 && loop->fds[0].revents)
		return HTTP_STEP_WOKEN;
	/* A line that was due is no reason to take the caller's time for up. */
	return until_ms > now_ms ? HTTP_STEP_ACTIVE : HTTP_STEP_TIME;
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
