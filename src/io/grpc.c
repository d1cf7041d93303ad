#include "config.h"

#include "io/grpc.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	UPLOAD_MAX = 4 * 1024 * 1024,
	HEADER_TEXT_MAX = 1024,
	SOCKETS_MAX = 16,
	IDLE_CALLS_MAX = 128,
	BUFFER_SMALL = 16 * 1024,
	BUFFER_BULK = 128 * 1024,
	DIAGNOSE_MS = 2000,
};

enum channel_state {
	CHANNEL_DOWN,
	CHANNEL_OPENING,
	CHANNEL_UP
};

/*
 * The first call of a connection opens it; see call_version for why it must be alone until it has
 * got through.
 */
struct grpc_channel {
	struct http_loop *loop;
	const struct http_endpoint *endpoint;
	const struct http_settings *settings;
	enum channel_state state;
	unsigned generation;
	int64_t connect_limit_ms;
	struct curl_slist *headers,
		*retired; /* retired: lists that calls in flight may still use */
	struct curl_slist *connect_to;
	struct grpc_call *active, *queued, *idle;
	size_t n_busy, n_idle;
	curl_socket_t
		sockets[SOCKETS_MAX]; /* of this channel's connections; CURL_SOCKET_BAD: free */
	struct grpc_cost cost;
};

struct grpc_call {
	struct http_owner owner; /* first: the loop knows a call by it */
	struct grpc_channel *ch;
	struct grpc_call *next, **link; /* in one of the channel's lists */
	CURL *easy;
	const struct grpc_handler *handler;
	void *arg;
	struct curl_slist metadata; /* one line before the channel's, where the request has one */
	struct str url;
	struct str upload; /* what is to be sent, from sent on */
	size_t sent, max_message;
	int64_t deadline_ms;
	bool *left; /* the request's `sent`; NULL */
	bool opener, denied, open, bulk, secret, paused, added, again;
	bool answered; /* a response's headers came */
	long http_status;
	bool is_grpc; /* content-type: application/grpc */
	int status;   /* grpc-status; -1: none yet */
	struct str message;
	struct str redirect;
	struct grpc_frames frames;
	struct err failure; /* what a callback of ours found wrong */
	char detail[CURL_ERROR_SIZE];
};

static void list_remove(struct grpc_call *call)
{
	if (!call->link)
		return;
	*call->link = call->next;
	if (call->next)
		call->next->link = call->link;
	call->link = NULL;
	call->next = NULL;
}

static void list_push(struct grpc_call **head, struct grpc_call *call)
{
	call->next = *head;
	call->link = head;
	if (call->next)
		call->next->link = &call->next;
	*head = call;
}

static void list_append(struct grpc_call **head, struct grpc_call *call)
{
	while (*head)
		head = &(*head)->next;
	list_push(head, call);
}

/* ---- callbacks of libcurl ---- */

/*
 * Only an opener may connect: any other call on a new connection would try to upgrade from
 * HTTP/1.1, which a gRPC server refuses. Denied, it is started anew as an opener.
 */
static curl_socket_t call_open_socket(
	void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
	struct grpc_call *call = arg;
	curl_socket_t fd;
	size_t i;

	(void)purpose;
	if (!call->opener) {
		call->denied = true;
		return CURL_SOCKET_BAD;
	}
	fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
	for (i = 0; fd != CURL_SOCKET_BAD && i < SOCKETS_MAX; i++) {
		if (call->ch->sockets[i] == CURL_SOCKET_BAD) {
			call->ch->sockets[i] = fd;
			http_loop_bundle(call->ch->loop, fd);
			break;
		}
	}
	return fd;
}

static int channel_close_socket(void *arg, curl_socket_t fd)
{
	struct grpc_channel *ch = arg;
	size_t i;

	for (i = 0; i < SOCKETS_MAX; i++)
		if (ch->sockets[i] == fd)
			ch->sockets[i] = CURL_SOCKET_BAD;
	http_loop_forget(ch->loop, fd);
	return close(fd);
}

static size_t call_read(char *buf, size_t size, size_t n, void *arg)
{
	struct grpc_call *call = arg;
	size_t take = call->upload.len - call->sent;

	if (take > size * n)
		take = size * n;
	if (!take && call->open) {
		call->paused = true;
		return CURL_READFUNC_PAUSE;
	}
	if (take && call->left)
		*call->left = true;
	memcpy(buf, call->upload.s + call->sent, take);
	call->sent += take;
	if (call->open && call->sent == call->upload.len) {
		str_clear(&call->upload);
		call->sent = 0;
	}
	return take;
}

static size_t call_write(char *bytes, size_t size, size_t n, void *arg)
{
	struct grpc_call *call = arg;

	(void)size;
	call->ch->cost.bytes_in += n;
	/* The page of a proxy or a web server: its status is told, its text is not needed. */
	if (!call->is_grpc)
		return 0;
	if (grpc_frames_feed(&call->frames, call->max_message, bytes, n, &call->handler->sink,
		    call->arg, &call->failure))
		return 0;
	return n;
}

static bool header_is(const char *line, size_t len, const char *name, const char **value, size_t *n)
{
	size_t at = strlen(name);

	if (len <= at || line[at] != ':' || strncasecmp(line, name, at) != 0)
		return false;
	for (at++; at < len && line[at] == ' '; at++)
		;
	while (len > at && (line[len - 1] == '\n' || line[len - 1] == '\r'))
		len--;
	*value = line + at;
	*n = len - at;
	return true;
}

static void channel_start_queued(struct grpc_channel *ch);

static void call_status_line(struct grpc_call *call)
{
	call->answered = true;
	call->is_grpc = false;
	curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &call->http_status);
}

/* Headers and trailers come here alike; an error may be told in the headers alone. */
static size_t call_header(char *line, size_t size, size_t n, void *arg)
{
	struct grpc_call *call = arg;
	const char *value;
	size_t len;

	(void)size;
	call->ch->cost.bytes_in += n;
	if (n >= 5 && memcmp(line, "HTTP/", 5) == 0)
		call_status_line(call);
	else if (header_is(line, n, "content-type", &value, &len))
		call->is_grpc = len >= 16 && strncasecmp(value, "application/grpc", 16) == 0;
	else if (header_is(line, n, "grpc-status", &value, &len))
		call->status = grpc_status_parse(value, len);
	else if (header_is(line, n, "grpc-message", &value, &len)) {
		str_clear(&call->message);
		grpc_message_decode(&call->message, value, len, HEADER_TEXT_MAX / 4);
	} else if (header_is(line, n, "location", &value, &len)) {
		str_clear(&call->redirect);
		text_escape_cut(&call->redirect, value, len, HEADER_TEXT_MAX / 4);
	}
	return n;
}

/* ---- calls ---- */

static void call_free(struct grpc_call *call)
{
	curl_easy_cleanup(call->easy);
	free(call->metadata.data);
	str_release(&call->url);
	str_release(&call->upload);
	str_release(&call->message);
	str_release(&call->redirect);
	free(call);
}

static void call_done(struct http_owner *owner, CURLcode rc);

static void call_setup(struct grpc_call *call)
{
	CURL *easy = call->easy;

	http_setup(easy, call->ch->endpoint, call->ch->settings);
	curl_easy_setopt(easy, CURLOPT_POST, 1L);
	curl_easy_setopt(easy, CURLOPT_PRIVATE, (char *)(void *)&call->owner);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, call->detail);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, call_open_socket);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, call);
	curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, channel_close_socket);
	curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, call->ch);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, call_write);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, call);
	curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, call_header);
	curl_easy_setopt(easy, CURLOPT_HEADERDATA, call);
	curl_easy_setopt(easy, CURLOPT_READFUNCTION, call_read);
	curl_easy_setopt(easy, CURLOPT_READDATA, call);
	if (call->ch->connect_to)
		curl_easy_setopt(easy, CURLOPT_CONNECT_TO, call->ch->connect_to);
}

static struct grpc_call *call_new(struct grpc_channel *ch)
{
	struct grpc_call *call = ch->idle;

	if (call) {
		list_remove(call);
		ch->n_idle--;
		return call;
	}
	call = xcalloc(1, sizeof(*call));
	call->easy = curl_easy_init();
	if (!call->easy) {
		free(call);
		return NULL;
	}
	call->ch = ch;
	call->owner.done = call_done;
	str_init(&call->url, 4096);
	str_init(&call->upload, UPLOAD_MAX);
	str_init(&call->message, HEADER_TEXT_MAX);
	str_init(&call->redirect, HEADER_TEXT_MAX);
	call_setup(call);
	return call;
}

/* Gives a call's handle back for the next one. */
static void call_retire(struct grpc_call *call)
{
	struct grpc_channel *ch = call->ch;

	if (call->added)
		http_loop_remove(ch->loop, call->easy);
	call->added = false;
	if (call->link) {
		list_remove(call);
		ch->n_busy--;
	}
	if (call->secret)
		explicit_bzero(call->upload.s, call->upload.len);
	str_clear(&call->upload);
	if (!ch->n_busy && ch->retired) {
		curl_slist_free_all(ch->retired);
		ch->retired = NULL;
	}
	if (ch->n_idle >= IDLE_CALLS_MAX || call->secret) {
		call_free(call);
		return;
	}
	list_push(&ch->idle, call);
	ch->n_idle++;
}

/*
 * libcurl 7.88.1 (Debian 12; mended in 8.0.0) fails in the framing layer when a second transfer
 * asks for prior knowledge on a connection that was made so. A transfer that asks for plain HTTP/2
 * joins that connection, but on a new one it would begin with HTTP/1.1 and an upgrade. So: prior
 * knowledge for the opener alone. Over TLS, ALPN settles it.
 */
static long call_version(const struct grpc_call *call)
{
	if (call->ch->endpoint->tls)
		return CURL_HTTP_VERSION_2TLS;
	return call->opener ? CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE : CURL_HTTP_VERSION_2_0;
}

static long call_timeout_ms(const struct grpc_call *call)
{
	int64_t left;

	if (call->deadline_ms == INT64_MAX)
		return 0;
	left = call->deadline_ms - http_loop_now_ms(call->ch->loop);
	if (left < 1)
		left = 1;
	return left > 24L * 3600 * 1000 ? 24L * 3600 * 1000 : (long)left;
}

static void call_reset(struct grpc_call *call)
{
	call->denied = call->paused = call->answered = call->is_grpc = false;
	call->http_status = 0;
	call->status = GRPC_NONE;
	call->sent = 0;
	call->detail[0] = '\0';
	str_clear(&call->message);
	str_clear(&call->redirect);
	err_clear(&call->failure);
	grpc_frames_init(&call->frames);
}

static int call_launch(struct grpc_call *call, struct err *err)
{
	struct grpc_channel *ch = call->ch;
	CURL *easy = call->easy;
	long limit = (long)ch->connect_limit_ms;
	int rc;

	call_reset(call);
	curl_easy_setopt(easy, CURLOPT_URL, call->url.s);
	/* libcurl only walks the list: its head may be ours. */
	call->metadata.next = ch->headers;
	curl_easy_setopt(
		easy, CURLOPT_HTTPHEADER, call->metadata.data ? &call->metadata : ch->headers);
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, call_version(call));
	/*
	 * libcurl 7.88.1 reads HTTP/2 in pieces of 32 KiB, and forgets the rest of one that does
	 * not fit in the transfer's buffer until the socket says more: the end of a large answer
	 * then never comes. So no smaller buffer where much may come.
	 */
	curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, (long)(call->bulk ? BUFFER_BULK : BUFFER_SMALL));
	curl_easy_setopt(easy, CURLOPT_PIPEWAIT, call->opener ? 0L : 1L);
	curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, call->opener ? 1L : 0L);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, limit);
	curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, call_timeout_ms(call));
	if (call->open) {
		curl_easy_setopt(easy, CURLOPT_POSTFIELDS, NULL);
		curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)-1);
	} else if (call->left) {
		/*
		 * Through the read callback, which can't be rewound: so we know whether anything
		 * left, and libcurl can't send it twice (CURLOPT_SEEKFUNCTION's manual).
		 */
		curl_easy_setopt(easy, CURLOPT_POSTFIELDS, NULL);
		curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->upload.len);
	} else {
		curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->upload.len);
		curl_easy_setopt(easy, CURLOPT_POSTFIELDS, call->upload.s);
	}
	rc = http_loop_add(ch->loop, easy, err);
	if (rc)
		return rc;
	call->added = true;
	ch->cost.requests++;
	ch->cost.bytes_out += call->upload.len + call->url.len;
	return 0;
}

/* Starts a call, or lets it wait for the opener. */
static int call_dispatch(struct grpc_call *call, struct err *err)
{
	struct grpc_channel *ch = call->ch;
	int rc;

	if (ch->state == CHANNEL_OPENING) {
		list_append(&ch->queued, call);
		ch->n_busy++;
		return 0;
	}
	call->opener = ch->state == CHANNEL_DOWN;
	rc = call_launch(call, err);
	if (rc)
		return rc;
	if (call->opener)
		ch->state = CHANNEL_OPENING;
	list_push(&ch->active, call);
	ch->n_busy++;
	return 0;
}

static void call_finish(struct grpc_call *call, const struct grpc_result *result)
{
	const struct grpc_handler *handler = call->handler;
	void *arg = call->arg;

	call_retire(call);
	handler->done(arg, result);
}

static void call_fail(struct grpc_call *call, const struct err *err)
{
	struct grpc_result result = { .code = GRPC_NONE, .message = "", .err = *err };

	call_finish(call, &result);
}

/* ---- the channel's life ---- */

static void channel_start_queued(struct grpc_channel *ch)
{
	struct err err = { 0 };

	while (ch->queued && ch->state != CHANNEL_OPENING) {
		struct grpc_call *call = ch->queued;

		list_remove(call);
		ch->n_busy--;
		if (call_dispatch(call, &err)) {
			/* It is in no list now: count it once more, so that retiring is the same
			 * for all. */
			list_push(&ch->active, call);
			ch->n_busy++;
			call_fail(call, &err);
		}
	}
}

static void channel_fail_queued(struct grpc_channel *ch, const struct err *err)
{
	struct grpc_call *call, *stop = NULL;

	/* What a handler starts meanwhile comes behind the last one of now. */
	for (call = ch->queued; call; call = call->next)
		stop = call;
	while (ch->queued) {
		call = ch->queued;
		call_fail(call, err);
		if (call == stop)
			break;
	}
}

static void channel_shut_sockets(struct grpc_channel *ch)
{
	size_t i;

	/* libcurl keeps a connection that a cancelled stream was on; only the socket's end makes it
	 * let go. */
	for (i = 0; i < SOCKETS_MAX; i++)
		if (ch->sockets[i] != CURL_SOCKET_BAD)
			shutdown(ch->sockets[i], SHUT_RDWR);
}

static void channel_lost(struct grpc_channel *ch)
{
	if (ch->state == CHANNEL_DOWN)
		return;
	ch->state = CHANNEL_DOWN;
	ch->generation++;
	channel_shut_sockets(ch);
}

/* ---- the end of a call ---- */

static enum err_code code_of_status(int status)
{
	switch (status) {
	case GRPC_UNAUTHENTICATED:
		return ERR_AUTH;
	case GRPC_PERMISSION_DENIED:
		return ERR_DENIED;
	case GRPC_NOT_FOUND:
		return ERR_NOTFOUND;
	case GRPC_RESOURCE_EXHAUSTED:
	case GRPC_UNAVAILABLE:
		return ERR_BUSY;
	case GRPC_UNIMPLEMENTED:
		return ERR_UNSUPPORTED;
	case 4: /* DEADLINE_EXCEEDED */
		return ERR_TIMEOUT;
	default:
		return ERR_PROTO;
	}
}

/* An answer that is none of gRPC's: says what it is instead. */
static int call_not_grpc(const struct grpc_call *call, struct err *err)
{
	const char *where = call->ch->endpoint->text;
	long status = call->http_status, version = 0;

	curl_easy_getinfo(call->easy, CURLINFO_HTTP_VERSION, &version);
	if (version && version != CURL_HTTP_VERSION_2_0)
		return err_set(err, ERR_PROTO,
			"%s answers in HTTP/1.1 (status %ld), and gRPC needs HTTP/2: that is no "
			"etcd, or a "
			"proxy before it. Check the endpoint",
			where, status);
	if (status >= 300 && status < 400)
		return err_set(err, ERR_PROTO,
			"%s redirects to \"%s\" (status %ld), which is not followed: that is no "
			"etcd. "
			"Check the endpoint",
			where, call->redirect.s, status);
	if (status == 401 || status == 403)
		return err_set(err, ERR_AUTH,
			"something before etcd at %s refused us (HTTP status %ld). Check the proxy "
			"there",
			where, status);
	if (status == 429 || status == 502 || status == 503 || status == 504)
		return err_set(err, ERR_BUSY,
			"a proxy at %s can't reach etcd now (HTTP status %ld)", where, status);
	return err_set(err, ERR_PROTO,
		"%s answers with a page, not with gRPC (HTTP status %ld): that is no etcd, or a "
		"proxy "
		"before it. Check the endpoint",
		where, status);
}

static int call_status_error(const struct grpc_call *call, struct err *err)
{
	const char *where = call->ch->endpoint->text;

	return err_set(err, code_of_status(call->status), "%s: %s", where,
		call->message.len ? call->message.s : "an error without a message");
}

static bool call_never_spoke(const struct grpc_call *call, CURLcode rc)
{
	if (!call->opener || call->answered)
		return false;
	/* A plain server that is greeted in TLS hangs up; one that refuses us in TLS says so in an
	 * alert. */
	if (rc == CURLE_SSL_CONNECT_ERROR)
		return strstr(call->detail, "SYSCALL") || strstr(call->detail, "unexpected eof");
	switch (rc) {
	case CURLE_HTTP2:
	case CURLE_HTTP2_STREAM:
	case CURLE_RECV_ERROR:
	case CURLE_SEND_ERROR:
	case CURLE_GOT_NOTHING:
	case CURLE_PARTIAL_FILE:
	case CURLE_WEIRD_SERVER_REPLY:
	case CURLE_UNSUPPORTED_PROTOCOL:
		return true;
	default:
		return false;
	}
}

static double call_seconds(const struct grpc_call *call)
{
	double seconds = 0;

	curl_easy_getinfo(call->easy, CURLINFO_TOTAL_TIME, &seconds);
	return seconds;
}

/* Fills err with why the transfer failed; the result is its code. */
static int call_transport_error(struct grpc_call *call, CURLcode rc, struct err *err)
{
	const struct grpc_channel *ch = call->ch;
	const char *where = ch->endpoint->text;
	int64_t left = call->deadline_ms - http_loop_now_ms(ch->loop);

	if (call->failure.code) {
		*err = call->failure;
		return err_prefix(err, "%s sent what can't be used", where);
	}
	if (call->denied && call->left && !*call->left)
		return err_set(err, ERR_IO,
			"the connection to %s was lost before anything was sent", where);
	if (rc == CURLE_WRITE_ERROR && !call->is_grpc)
		return call_not_grpc(call, err);
	if (call_never_spoke(call, rc) && !strstr(call->detail, "alert") && left > 100)
		return http_diagnose(
			err, ch->endpoint, ch->settings, left < DIAGNOSE_MS ? left : DIAGNOSE_MS);
	if (call->answered && !grpc_frames_whole(&call->frames))
		return err_set(err, ERR_PROTO, "%s broke off in the middle of an answer", where);
	if (rc == CURLE_OPERATION_TIMEDOUT && !call->opener)
		return err_set(err, ERR_TIMEOUT,
			"%s did not answer within %.1f s: the connection is there, and it is "
			"silent: it may "
			"hang, or be overloaded",
			where, call_seconds(call));
	return http_error(err, call->easy, rc, ch->endpoint, ch->settings, call->detail);
}

static void call_judge(struct grpc_call *call, CURLcode rc, struct grpc_result *result)
{
	result->code = GRPC_NONE;
	result->message = call->message.s;
	if (call->failure.code || (rc != CURLE_OK && call->status < 0))
		call_transport_error(call, rc, &result->err);
	else if (call->status > 0)
		call_status_error(call, &result->err);
	else if (!call->is_grpc)
		call_not_grpc(call, &result->err);
	else if (!grpc_frames_whole(&call->frames))
		err_set(&result->err, ERR_PROTO, "%s broke off in the middle of an answer",
			call->ch->endpoint->text);
	else if (call->status < 0)
		err_set(&result->err, ERR_PROTO, "%s ended an answer without a status",
			call->ch->endpoint->text);
	if (!call->failure.code && call->status >= 0)
		result->code = (enum grpc_code)call->status;
}

/* A deadline of one call says nothing of the connection; most else means that it is gone. */
static bool call_broke_connection(const struct grpc_call *call, CURLcode rc)
{
	switch (rc) {
	case CURLE_OK:
	case CURLE_WRITE_ERROR:
	case CURLE_HTTP2_STREAM:
		return false;
	case CURLE_OPERATION_TIMEDOUT:
		return call->opener && !call->answered;
	default:
		return true;
	}
}

static bool call_retry(struct grpc_call *call)
{
	struct err err = { 0 };

	/* What changes something goes on the connection that is there, or nowhere. */
	if (!call->denied || call->again || call->left)
		return false;
	channel_lost(call->ch);
	call->again = true;
	call->ch->n_busy--;
	list_remove(call);
	if (!call_dispatch(call, &err))
		return true;
	list_push(&call->ch->active, call);
	call->ch->n_busy++;
	return false;
}

static void call_done(struct http_owner *owner, CURLcode rc)
{
	struct grpc_call *call = (struct grpc_call *)(void *)owner;
	struct grpc_channel *ch = call->ch;
	struct grpc_result result = { 0 };
	bool opener = call->opener && ch->state == CHANNEL_OPENING;
	struct str message;

	call->added = false;
	if (call_retry(call))
		return;
	call_judge(call, rc, &result);
	str_init(&message, HEADER_TEXT_MAX);
	str_add(&message, result.message);
	result.message = message.s;
	if (call_broke_connection(call, rc) || (opener && !call->answered))
		channel_lost(ch);
	else if (opener)
		ch->state = CHANNEL_UP;
	call_finish(call, &result);
	if (opener && ch->state == CHANNEL_DOWN)
		channel_fail_queued(ch, &result.err);
	channel_start_queued(ch);
	str_release(&message);
}

/* ---- what callers use ---- */

static void channel_headers(struct grpc_channel *ch, const char *token)
{
	struct curl_slist *list = NULL;
	struct str line;

	list = curl_slist_append(list, "content-type: application/grpc");
	list = curl_slist_append(list, "te: trailers");
	list = curl_slist_append(list, "user-agent: " PACKAGE_NAME "/" PACKAGE_VERSION);
	list = curl_slist_append(list, "accept:");
	list = curl_slist_append(list, "expect:");
	if (token) {
		str_init(&line, 65536);
		str_addf(&line, "authorization: %s", token);
		list = curl_slist_append(list, line.s);
		explicit_bzero(line.s, line.len);
		str_release(&line);
	}
	if (ch->headers) {
		struct curl_slist *last = ch->headers;

		while (last->next)
			last = last->next;
		last->next = ch->retired;
		ch->retired = ch->headers;
	}
	ch->headers = list;
}

struct grpc_channel *grpc_channel_new(struct http_loop *loop, const struct http_endpoint *endpoint,
	const struct http_settings *settings)
{
	struct grpc_channel *ch = xcalloc(1, sizeof(*ch));
	size_t i;

	ch->loop = loop;
	ch->endpoint = endpoint;
	ch->settings = settings;
	for (i = 0; i < SOCKETS_MAX; i++)
		ch->sockets[i] = CURL_SOCKET_BAD;
	if (endpoint->connect_to)
		ch->connect_to = curl_slist_append(NULL, endpoint->connect_to);
	channel_headers(ch, NULL);
	return ch;
}

void grpc_channel_drop(struct grpc_channel *ch)
{
	while (ch->active)
		call_retire(ch->active);
	while (ch->queued)
		call_retire(ch->queued);
	if (ch->state != CHANNEL_DOWN)
		channel_lost(ch);
	channel_shut_sockets(ch);
}

void grpc_channel_free(struct grpc_channel *ch)
{
	struct grpc_call *call;

	if (!ch)
		return;
	while ((call = ch->idle)) {
		list_remove(call);
		call_free(call);
	}
	curl_slist_free_all(ch->headers);
	curl_slist_free_all(ch->retired);
	curl_slist_free_all(ch->connect_to);
	free(ch);
}

void grpc_channel_connect_limit(struct grpc_channel *ch, int64_t limit_ms)
{
	ch->connect_limit_ms = limit_ms;
}

void grpc_channel_authorize(struct grpc_channel *ch, const char *token)
{
	channel_headers(ch, token);
}

bool grpc_channel_up(const struct grpc_channel *ch)
{
	return ch->state == CHANNEL_UP;
}

size_t grpc_channel_busy(const struct grpc_channel *ch)
{
	return ch->n_busy;
}

unsigned grpc_channel_generation(const struct grpc_channel *ch)
{
	return ch->generation;
}

struct grpc_cost grpc_channel_take_cost(struct grpc_channel *ch)
{
	struct grpc_cost cost = ch->cost;

	memset(&ch->cost, 0, sizeof(ch->cost));
	return cost;
}

struct grpc_call *grpc_start(struct grpc_channel *ch, const struct grpc_request *request,
	const struct grpc_handler *handler, void *arg, struct err *err)
{
	struct grpc_call *call = call_new(ch);

	if (!call) {
		err_set(err, ERR_NOMEM, "libcurl made no handle");
		return NULL;
	}
	call->handler = handler;
	call->arg = arg;
	call->max_message = request->max_message;
	call->deadline_ms = request->deadline_ms;
	call->open = request->open;
	call->bulk = request->bulk;
	call->secret = request->secret;
	call->left = request->sent;
	call->again = false;
	free(call->metadata.data);
	call->metadata.data = request->metadata ? xstrdup(request->metadata) : NULL;
	str_clear(&call->url);
	str_addf(&call->url, "%s%s", ch->endpoint->url, request->method);
	str_clear(&call->upload);
	if (request->body || !request->open)
		grpc_frame_add(&call->upload, request->body, request->len);
	if (call->upload.full || call->url.full) {
		call_retire(call);
		err_set(err, ERR_LIMIT, "a request that is too long to be sent");
		return NULL;
	}
	if (call_dispatch(call, err)) {
		call_retire(call);
		return NULL;
	}
	return call;
}

void grpc_send(struct grpc_call *call, const void *body, size_t len)
{
	grpc_frame_add(&call->upload, body, len);
	call->ch->cost.requests++;
	call->ch->cost.bytes_out += len + GRPC_HEAD;
	if (call->paused && call->added) {
		call->paused = false;
		curl_easy_pause(call->easy, CURLPAUSE_CONT);
	}
}

void grpc_cancel(struct grpc_call *call)
{
	struct grpc_channel *ch = call->ch;
	bool opener = call->opener && call->added && ch->state == CHANNEL_OPENING;

	call_retire(call);
	if (opener) {
		channel_lost(ch);
		channel_start_queued(ch);
	}
}
