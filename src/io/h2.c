#include "config.h"

#include "io/h2.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"

#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	READ_SIZE = 256 * 1024,
	READ_MOST = 1024 * 1024, /* in one go: others want to get on too */
	OUT_MAX = 64 * 1024 * 1024,
	OUT_MUCH = 256 * 1024,     /* so much is sent before more is framed */
	WINDOW = 32 * 1024 * 1024, /* of the connection */
	STREAM_WINDOW = 512 * 1024,
	WINDOW_PER_MS = 64 * 1024,
	DUE_NOW = 0, /* our monotonic clock begins there */
	DIAGNOSE_MS = 2000,
	GOODBYE_SHOWN = 100,
};

enum h2_state {
	H2_CLOSED,
	H2_CONNECTING,
	H2_OPEN,
};

struct h2 {
	struct http_owner owner; /* first: the loop knows the handle by it */
	struct http_line line;
	struct http_loop *loop;
	const struct http_endpoint *endpoint;
	const struct http_settings *settings;
	const struct h2_handler *handler;
	void *arg;
	const char *authority;
	struct curl_slist *connect_to;
	CURL *easy;
	nghttp2_session *session;
	enum h2_state state;
	struct http_reach reach; /* it spoke: its settings came */
	bool again;     /* there may be more to receive, also within TLS, where no socket says so */
	bool receiving; /* within nghttp2_session_mem_recv, and buf is in use */
	bool goodbye;   /* a GOAWAY came, with goodbye_code */
	CURLcode broken; /* what ends it as soon as the loop goes on */
	int64_t due_ms, until_ms;
	int64_t settled_ms; /* when our settings were sent; INT64_MAX once they were agreed to */
	struct str out;     /* framed, and sent up to `sent` */
	size_t sent;
	uint64_t bytes_in, bytes_out;
	uint32_t goodbye_code;
	char *buf;
	char detail[CURL_ERROR_SIZE];
};

static struct h2 *h2_of_line(struct http_line *line)
{
	return (struct h2 *)(void *)((char *)line - offsetof(struct h2, line));
}

/* ---- callbacks of libnghttp2 ---- */

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
	size_t name_len, const uint8_t *value, size_t len, uint8_t flags, void *arg)
{
	struct h2 *h2 = arg;
	void *stream = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);

	(void)flags;
	if (stream)
		h2->handler->header(stream, (const char *)name, name_len, (const char *)value, len);
	return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *bytes,
	size_t len, void *arg)
{
	struct h2 *h2 = arg;
	void *stream = nghttp2_session_get_stream_user_data(session, id);

	(void)flags;
	if (stream)
		h2->handler->data(stream, bytes, len);
	return 0;
}

static int on_closed(nghttp2_session *session, int32_t id, uint32_t code, void *arg)
{
	struct h2 *h2 = arg;
	void *stream = nghttp2_session_get_stream_user_data(session, id);

	if (!stream)
		return 0;
	h2->handler->ended(stream, code);
	/* It may end while something is sent. */
	h2->line.due_ms = DUE_NOW;
	return 0;
}

/*
 * A server that has said all need not wait for the rest of a request, nor reset its stream (RFC
 * 9113, 8.1): where our side is still open, libnghttp2 would keep the stream, and who waits for it
 * would wait for ever.
 */
static void stream_over(struct h2 *h2, int32_t id)
{
	void *stream = nghttp2_session_get_stream_user_data(h2->session, id);

	if (!stream || nghttp2_session_get_stream_local_close(h2->session, id))
		return;
	h2_cancel(h2, id);
	h2->handler->ended(stream, NGHTTP2_NO_ERROR);
}

/*
 * What one stream may send before we take it. Much of it would stand before all other answers on
 * the connection; but it must be what a round trip and 64 MB a second need. The first round trip is
 * that of our settings.
 */
static void window_fit(struct h2 *h2)
{
	int64_t trip_ms = http_loop_now_ms(h2->loop) - h2->settled_ms;
	nghttp2_settings_entry window = { NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW };

	h2->settled_ms = INT64_MAX;
	if (trip_ms <= STREAM_WINDOW / WINDOW_PER_MS)
		return;
	if (trip_ms < WINDOW / WINDOW_PER_MS)
		window.value = (uint32_t)trip_ms * WINDOW_PER_MS;
	if (nghttp2_submit_settings(h2->session, NGHTTP2_FLAG_NONE, &window, 1))
		h2->broken = CURLE_OUT_OF_MEMORY;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	struct h2 *h2 = arg;

	(void)session;
	if (frame->hd.type == NGHTTP2_SETTINGS) {
		h2->reach.spoke = true;
		if (frame->hd.flags & NGHTTP2_FLAG_ACK && h2->settled_ms != INT64_MAX)
			window_fit(h2);
	} else if (frame->hd.type == NGHTTP2_GOAWAY) {
		h2->goodbye = true;
		h2->goodbye_code = frame->goaway.error_code;
	} else if ((frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA) &&
		   frame->hd.flags & NGHTTP2_FLAG_END_STREAM) {
		stream_over(h2, frame->hd.stream_id);
	}
	return 0;
}

/* A request that waited for a free stream, and may not be begun any more: nothing of it left. */
static int on_not_sent(nghttp2_session *session, const nghttp2_frame *frame, int code, void *arg)
{
	struct h2 *h2 = arg;
	int32_t id = frame->hd.stream_id;
	void *stream = nghttp2_session_get_stream_user_data(session, id);

	(void)code;
	if (frame->hd.type != NGHTTP2_HEADERS || !stream)
		return 0;
	nghttp2_session_set_stream_user_data(session, id, NULL);
	h2->handler->ended(stream, NGHTTP2_REFUSED_STREAM);
	h2->line.due_ms = DUE_NOW;
	return 0;
}

static ssize_t on_body(nghttp2_session *session, int32_t id, uint8_t *buf, size_t size,
	uint32_t *flags, nghttp2_data_source *source, void *arg)
{
	struct h2 *h2 = arg;
	void *stream = nghttp2_session_get_stream_user_data(session, id);
	bool end = false;
	size_t n;

	(void)source;
	if (!stream)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	n = h2->handler->body(stream, buf, size, &end);
	if (end)
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	return n || end ? (ssize_t)n : NGHTTP2_ERR_DEFERRED;
}

static int session_make(struct h2 *h2)
{
	const nghttp2_settings_entry settings[] = {
		{ NGHTTP2_SETTINGS_ENABLE_PUSH, 0 },
		{ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW },
	};
	nghttp2_session_callbacks *callbacks;
	int rc;

	if (nghttp2_session_callbacks_new(&callbacks))
		return NGHTTP2_ERR_NOMEM;
	nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_closed);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
	nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, on_not_sent);
	rc = nghttp2_session_client_new(&h2->session, callbacks, h2);
	nghttp2_session_callbacks_del(callbacks);
	if (!rc)
		rc = nghttp2_submit_settings(
			h2->session, NGHTTP2_FLAG_NONE, settings, ARRAY_LEN(settings));
	if (!rc)
		rc = nghttp2_session_set_local_window_size(
			h2->session, NGHTTP2_FLAG_NONE, 0, WINDOW);
	h2->settled_ms = http_loop_now_ms(h2->loop);
	return rc;
}

/* ---- the end of a connection ---- */

static int lost_diagnose(struct h2 *h2, struct err *err)
{
	int64_t left = h2->until_ms - http_loop_now_ms(h2->loop);

	return http_diagnose(
		err, h2->endpoint, h2->settings, left < DIAGNOSE_MS ? left : DIAGNOSE_MS);
}

/*
 * Whether what listens there may be something else than it was taken for. A plain server that is
 * greeted in TLS hangs up; one that refuses us in TLS says so in an alert.
 */
static bool lost_is_odd(const struct h2 *h2)
{
	if (h2->reach.spoke || strstr(h2->detail, "alert") ||
		h2->until_ms - http_loop_now_ms(h2->loop) <= 100)
		return false;
	if (h2->broken == CURLE_SSL_CONNECT_ERROR)
		return strstr(h2->detail, "SYSCALL") || strstr(h2->detail, "unexpected eof");
	return h2->state == H2_OPEN;
}

static int lost_explain(struct h2 *h2, struct err *err)
{
	if (lost_is_odd(h2))
		return lost_diagnose(h2, err);
	if (h2->goodbye)
		return err_set(err, ERR_IO, "%s bade us go (HTTP/2 GOAWAY, %.*s)",
			h2->endpoint->text, GOODBYE_SHOWN,
			nghttp2_http2_strerror(h2->goodbye_code));
	return http_error(
		err, h2->easy, h2->broken, h2->endpoint, h2->settings, &h2->reach, h2->detail);
}

static void h2_lose(struct h2 *h2)
{
	struct err err = { 0 };
	bool spoke = h2->reach.spoke;

	lost_explain(h2, &err);
	h2_close(h2);
	h2->handler->lost(h2->arg, spoke, &err);
}

static void h2_break(struct h2 *h2, CURLcode rc, const char *detail)
{
	if (h2->broken)
		return;
	h2->broken = rc;
	if (!h2->detail[0])
		snprintf(h2->detail, sizeof(h2->detail), "%s", detail);
	h2->line.due_ms = DUE_NOW;
}

/* ---- sending and receiving ---- */

/* A password may have been in it. */
static void out_clear(struct h2 *h2)
{
	if (h2->out.len)
		explicit_bzero(h2->out.s, h2->out.len);
	str_clear(&h2->out);
	h2->sent = 0;
}

/* Sends what is framed; false when the socket takes no more now. */
static bool out_send(struct h2 *h2)
{
	while (h2->sent < h2->out.len) {
		size_t n = 0;
		CURLcode rc =
			curl_easy_send(h2->easy, h2->out.s + h2->sent, h2->out.len - h2->sent, &n);

		if (rc == CURLE_AGAIN)
			return false;
		if (rc != CURLE_OK) {
			h2_break(h2, CURLE_SEND_ERROR, "sending failed");
			return false;
		}
		h2->sent += n;
		h2->bytes_out += n;
	}
	out_clear(h2);
	return true;
}

/* Frames what waits to be said; returns whether anything did. */
static bool out_frame(struct h2 *h2)
{
	const uint8_t *bytes;
	ssize_t n;

	while (h2->out.len < OUT_MUCH) {
		n = nghttp2_session_mem_send(h2->session, &bytes);
		if (n < 0)
			h2_break(h2, CURLE_HTTP2, nghttp2_strerror((int)n));
		if (n <= 0)
			break;
		str_add_mem(&h2->out, bytes, (size_t)n);
	}
	return h2->out.len > 0;
}

static void h2_flush(struct http_line *line)
{
	struct h2 *h2 = h2_of_line(line);

	line->room = false;
	if (h2->state != H2_OPEN || h2->broken)
		return;
	do
		if (!out_send(h2)) {
			line->room = !h2->broken;
			return;
		}
	while (out_frame(h2));
	if (!h2->broken && !nghttp2_session_want_read(h2->session) &&
		!nghttp2_session_want_write(h2->session))
		h2_break(h2, CURLE_HTTP2, "it ended the connection");
}

static void h2_receive(struct h2 *h2)
{
	size_t total = 0;

	while (!h2->broken && total < READ_MOST) {
		size_t n = 0;
		CURLcode rc = curl_easy_recv(h2->easy, h2->buf, READ_SIZE, &n);
		ssize_t used;

		if (rc == CURLE_AGAIN)
			return;
		if (rc != CURLE_OK || !n) {
			h2_break(h2, CURLE_RECV_ERROR,
				rc == CURLE_OK ? "the server closed it" : "receiving failed");
			return;
		}
		total += n;
		h2->bytes_in += n;
		h2->receiving = true;
		used = nghttp2_session_mem_recv(h2->session, (const uint8_t *)h2->buf, n);
		h2->receiving = false;
		if (used < 0)
			h2_break(h2, CURLE_HTTP2, nghttp2_strerror((int)used));
	}
	h2->again = !h2->broken;
}

static void h2_ready(struct http_line *line)
{
	struct h2 *h2 = h2_of_line(line);

	h2->again = false;
	if (h2->state == H2_OPEN && !h2->broken)
		h2_receive(h2);
	h2->handler->settle(h2->arg);
	line->due_ms = h2->again ? DUE_NOW : h2->due_ms;
	if (h2->broken && h2->state != H2_CLOSED)
		h2_lose(h2);
	else if (h2->state == H2_OPEN)
		h2_flush(line);
}

/* ---- connecting ---- */

/* libcurl made the connection, or didn't. */
static void h2_connected(struct http_owner *owner, CURLcode rc)
{
	struct h2 *h2 = (struct h2 *)(void *)owner;

	if (rc == CURLE_OK)
		rc = curl_easy_getinfo(h2->easy, CURLINFO_ACTIVESOCKET, &h2->line.fd);
	if (rc == CURLE_OK && h2->line.fd == CURL_SOCKET_BAD)
		rc = CURLE_COULDNT_CONNECT;
	if (rc == CURLE_OK && session_make(h2))
		rc = CURLE_OUT_OF_MEMORY;
	if (rc != CURLE_OK) {
		h2->broken = rc;
		h2_lose(h2);
		return;
	}
	h2->state = H2_OPEN;
	h2->detail[0] = '\0';
	h2->handler->opened(h2->arg);
}

/*
 * Offers HTTP/2 by ALPN. libcurl would do so as well, but from 8.0 on it then speaks it by itself,
 * also on a connection that it was only asked to make.
 */
static CURLcode h2_offer(CURL *easy, void *ctx, void *arg)
{
	static const unsigned char names[] = "\2h2\10http/1.1";

	(void)easy;
	(void)arg;
	return SSL_CTX_set_alpn_protos(ctx, names, sizeof(names) - 1) ? CURLE_SSL_CONNECT_ERROR
								      : CURLE_OK;
}

/* Whether libcurl's context is one of the OpenSSL that we call ("OpenSSL/3.0.19" against "OpenSSL
 * 3.0.19 ..."): other libraries hand over theirs, of which we know nothing, by the same option. */
static bool ssl_is_ours(void)
{
	const char *theirs = curl_version_info(CURLVERSION_NOW)->ssl_version;
	const char *ours = OPENSSL_VERSION_TEXT;
	size_t name = strcspn(ours, " "), major = strcspn(ours, ".");

	return theirs && major > name && strncmp(theirs, ours, name) == 0 && theirs[name] == '/' &&
	       strncmp(theirs + name + 1, ours + name + 1, major - name) == 0;
}

static void setup_alpn(CURL *easy)
{
	if (ssl_is_ours() && curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, h2_offer) == CURLE_OK)
		curl_easy_setopt(easy, CURLOPT_SSL_ENABLE_ALPN, 0L);
	else /* not of OpenSSL */
		curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
}

static void h2_setup(struct h2 *h2, int64_t limit_ms)
{
	CURL *easy = h2->easy;

	http_setup(easy, h2->endpoint, h2->settings);
	curl_easy_setopt(easy, CURLOPT_URL, h2->endpoint->url);
	curl_easy_setopt(easy, CURLOPT_CONNECT_ONLY, 1L);
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
	/* libcurl receives no more than this at once. */
	curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, (long)READ_SIZE);
	curl_easy_setopt(easy, CURLOPT_PRIVATE, (char *)(void *)&h2->owner);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, h2->detail);
	http_watch(easy, &h2->reach);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)(limit_ms < 1 ? 1 : limit_ms));
	if (h2->connect_to)
		curl_easy_setopt(easy, CURLOPT_CONNECT_TO, h2->connect_to);
	if (h2->endpoint->tls)
		setup_alpn(easy);
}

int h2_open(struct h2 *h2, int64_t limit_ms, int64_t until_ms, struct err *err)
{
	int rc;

	h2->easy = curl_easy_init();
	if (!h2->easy)
		return err_set(err, ERR_NOMEM, "libcurl made no handle");
	h2->detail[0] = '\0';
	http_reach_init(&h2->reach, h2->loop);
	h2_setup(h2, limit_ms);
	rc = http_loop_join(h2->loop, &h2->line, err);
	if (!rc)
		rc = http_loop_add(h2->loop, h2->easy, err);
	if (rc) {
		http_loop_leave(h2->loop, &h2->line);
		curl_easy_cleanup(h2->easy);
		h2->easy = NULL;
		return rc;
	}
	h2->buf = xmalloc(READ_SIZE);
	h2->state = H2_CONNECTING;
	h2->until_ms = until_ms;
	return 0;
}

void h2_close(struct h2 *h2)
{
	if (h2->state == H2_CLOSED)
		return;
	http_loop_leave(h2->loop, &h2->line);
	nghttp2_session_del(h2->session);
	h2->session = NULL;
	/* What libcurl was only asked to make, it closes with the handle. */
	http_loop_remove(h2->loop, h2->easy);
	curl_easy_cleanup(h2->easy);
	h2->easy = NULL;
	free(h2->buf);
	h2->buf = NULL;
	out_clear(h2);
	str_release(&h2->out);
	h2->state = H2_CLOSED;
	h2->reach.spoke = false;
	h2->broken = CURLE_OK;
	h2->goodbye = h2->again = false;
	h2->line.fd = CURL_SOCKET_BAD;
	h2->line.room = false;
	h2->line.due_ms = h2->due_ms = INT64_MAX;
}

struct h2 *h2_new(struct http_loop *loop, const struct http_endpoint *endpoint,
	const struct http_settings *settings, const struct h2_handler *handler, void *arg)
{
	struct h2 *h2 = xcalloc(1, sizeof(*h2));
	const char *host = strstr(endpoint->url, "://");

	h2->owner = (struct http_owner){ .stays = true, .done = h2_connected };
	h2->line = (struct http_line){
		.fd = CURL_SOCKET_BAD, .due_ms = INT64_MAX, .flush = h2_flush, .ready = h2_ready
	};
	h2->due_ms = INT64_MAX;
	http_reach_init(&h2->reach, loop);
	h2->loop = loop;
	h2->endpoint = endpoint;
	h2->settings = settings;
	h2->handler = handler;
	h2->arg = arg;
	h2->authority = host ? host + 3 : endpoint->url;
	if (endpoint->connect_to)
		h2->connect_to = curl_slist_append(NULL, endpoint->connect_to);
	str_init(&h2->out, OUT_MAX);
	return h2;
}

void h2_free(struct h2 *h2)
{
	if (!h2)
		return;
	curl_slist_free_all(h2->connect_to);
	str_release(&h2->out);
	free(h2);
}

/* ---- what its owner asks ---- */

void h2_give_up(struct h2 *h2)
{
	h2_break(h2, CURLE_RECV_ERROR, "it was given up");
}

void h2_due(struct h2 *h2, int64_t at_ms)
{
	h2->due_ms = at_ms;
	if (h2->line.due_ms != DUE_NOW)
		h2->line.due_ms = at_ms;
}

bool h2_takes(const struct h2 *h2)
{
	return h2->state == H2_OPEN && !h2->broken && !h2->goodbye &&
	       nghttp2_session_check_request_allowed(h2->session);
}

bool h2_alive(struct h2 *h2)
{
	if (h2->state == H2_OPEN && !h2->broken && !h2->receiving)
		h2_receive(h2);
	if (h2->again)
		h2->line.due_ms = DUE_NOW;
	return h2_takes(h2);
}

bool h2_spoke(const struct h2 *h2)
{
	return h2->reach.spoke && !h2->broken;
}

int h2_late(const struct h2 *h2, double seconds, struct err *err)
{
	return http_error_late(err, h2->easy, h2->endpoint, &h2->reach, seconds);
}

nghttp2_nv h2_header(const char *name, const char *value, size_t len)
{
	return (nghttp2_nv){ .name = (uint8_t *)(uintptr_t)name,
		.value = (uint8_t *)(uintptr_t)value,
		.namelen = strlen(name),
		.valuelen = len,
		.flags = NGHTTP2_NV_FLAG_NO_COPY_NAME };
}

const char *h2_authority(const struct h2 *h2)
{
	return h2->authority;
}

int32_t h2_submit(struct h2 *h2, const nghttp2_nv *headers, size_t n, void *stream, struct err *err)
{
	const nghttp2_data_provider body = { .read_callback = on_body };
	int32_t id = nghttp2_submit_request(h2->session, NULL, headers, n, &body, stream);

	if (id < 0)
		return err_set(err, ERR_IO, "%s takes no request: %s", h2->endpoint->text,
			nghttp2_strerror(id));
	return id;
}

void h2_resume(struct h2 *h2, int32_t id)
{
	if (h2->session)
		nghttp2_session_resume_data(h2->session, id);
}

void h2_cancel(struct h2 *h2, int32_t id)
{
	if (!h2->session)
		return;
	nghttp2_session_set_stream_user_data(h2->session, id, NULL);
	nghttp2_submit_rst_stream(h2->session, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
}

void h2_take_bytes(struct h2 *h2, uint64_t *in, uint64_t *out)
{
	*in = h2->bytes_in;
	*out = h2->bytes_out;
	h2->bytes_in = h2->bytes_out = 0;
}
