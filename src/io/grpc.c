#include "config.h"

#include "io/grpc.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "io/h2.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
	UPLOAD_MAX = 4 * 1024 * 1024,
	HEADER_TEXT_MAX = 1024,
	IDLE_CALLS_MAX = 128,
	HEADERS_MOST = 12,
	CONNECT_MOST_MS = 300 * 1000,
	OPENING_GRACE_MS = 200,
};

enum channel_state {
	CHANNEL_DOWN,
	CHANNEL_OPENING,
	CHANNEL_UP
};

struct grpc_channel {
	struct http_loop *loop;
	const struct http_endpoint *endpoint;
	struct h2 *h2;
	enum channel_state state;
	unsigned generation;
	int64_t connect_limit_ms;
	char *token; /* NULL: none */
	struct grpc_call *active, *ended, *idle;
	size_t n_busy, n_idle;
	int64_t due_ms; /* no active call's deadline is before it */
	uint64_t requests, answers;
};

struct grpc_call {
	struct grpc_channel *ch;
	struct grpc_call *next, **link; /* in one of the channel's lists */
	const struct grpc_handler *handler;
	void *arg;
	char *method;
	char *metadata;    /* "name", NUL, its value; NULL: none */
	struct str upload; /* what is to be sent, from sent on */
	size_t sent, max_message;
	int64_t started_ms, deadline_ms;
	uint64_t answers; /* the channel's when it was started */
	int32_t id;       /* of its stream; 0: none (yet) */
	bool *left;       /* the request's `sent`; NULL */
	bool open, many, secret, paused;
	unsigned launched; /* how often its stream was begun */
	bool answered;     /* a response's headers came */
	long http_status;
	bool is_grpc;  /* content-type: application/grpc */
	uint32_t code; /* HTTP/2's, with which its stream ended */
	int status;    /* grpc-status; -1: none yet */
	struct str message;
	struct str redirect;
	struct grpc_frames frames;
	struct err failure; /* what we found wrong, or what became of its connection */
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

/* Its end is told when what came was taken in (channel_settle). */
static void call_end(struct grpc_call *call)
{
	call->id = 0;
	list_remove(call);
	list_push(&call->ch->ended, call);
}

/* Ends a call whose stream goes on, or that has none. */
static void call_stop(struct grpc_call *call)
{
	if (call->id)
		h2_cancel(call->ch->h2, call->id);
	call_end(call);
}

/* ---- an answer that is none of gRPC's ---- */

/* Says what it is instead. */
static int call_not_grpc(const struct grpc_call *call, struct err *err)
{
	const char *where = call->ch->endpoint->text;
	long status = call->http_status;

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

/* ---- what comes on a stream ---- */

static size_t call_body(void *stream, void *buf, size_t size, bool *end)
{
	struct grpc_call *call = stream;
	size_t take = call->upload.len - call->sent;

	if (take > size)
		take = size;
	if (take && call->left)
		*call->left = true;
	memcpy(buf, call->upload.s + call->sent, take);
	call->sent += take;
	*end = !call->open && call->sent == call->upload.len;
	call->paused = !take && call->open;
	if (call->open && call->sent == call->upload.len) {
		str_clear(&call->upload);
		call->sent = 0;
	}
	return take;
}

static void call_data(void *stream, const void *bytes, size_t len)
{
	struct grpc_call *call = stream;

	/* The page of a proxy or a web server: its status is told, its text is not needed. */
	if (!call->is_grpc) {
		call_not_grpc(call, &call->failure);
	} else if (grpc_frames_feed(&call->frames, call->max_message, bytes, len,
			   &call->handler->sink, call->arg, &call->failure)) {
		err_prefix(&call->failure, "%s sent what can't be used", call->ch->endpoint->text);
	} else {
		return;
	}
	call_stop(call);
}

static bool header_is(const char *name, size_t len, const char *wanted)
{
	return len == strlen(wanted) && memcmp(name, wanted, len) == 0;
}

/* Headers and trailers come here alike; an error may be told in the headers alone. */
static void call_header(
	void *stream, const char *name, size_t name_len, const char *value, size_t len)
{
	struct grpc_call *call = stream;

	if (header_is(name, name_len, ":status")) {
		call->answered = true;
		call->ch->answers++;
		call->is_grpc = false;
		call->http_status = strtol(value, NULL, 10);
	} else if (header_is(name, name_len, "content-type")) {
		call->is_grpc = len >= 16 && strncasecmp(value, "application/grpc", 16) == 0;
	} else if (header_is(name, name_len, "grpc-status")) {
		call->status = grpc_status_parse(value, len);
	} else if (header_is(name, name_len, "grpc-message")) {
		str_clear(&call->message);
		grpc_message_decode(&call->message, value, len, HEADER_TEXT_MAX / 4);
	} else if (header_is(name, name_len, "location")) {
		str_clear(&call->redirect);
		text_escape_cut(&call->redirect, value, len, HEADER_TEXT_MAX / 4);
	}
}

static void call_ended(void *stream, uint32_t code)
{
	struct grpc_call *call = stream;

	call->code = code;
	call_end(call);
}

/* ---- calls ---- */

static void call_free(struct grpc_call *call)
{
	free(call->method);
	free(call->metadata);
	str_release(&call->upload);
	str_release(&call->message);
	str_release(&call->redirect);
	free(call);
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
	call->ch = ch;
	str_init(&call->upload, UPLOAD_MAX);
	str_init(&call->message, HEADER_TEXT_MAX);
	str_init(&call->redirect, HEADER_TEXT_MAX);
	return call;
}

/* Gives a call back for the next one. */
static void call_retire(struct grpc_call *call)
{
	struct grpc_channel *ch = call->ch;

	if (call->id)
		h2_cancel(ch->h2, call->id);
	call->id = 0;
	list_remove(call);
	ch->n_busy--;
	if (call->secret)
		explicit_bzero(call->upload.s, call->upload.len);
	str_clear(&call->upload);
	if (ch->n_idle >= IDLE_CALLS_MAX || call->secret) {
		call_free(call);
		return;
	}
	list_push(&ch->idle, call);
	ch->n_idle++;
}

static void call_reset(struct grpc_call *call)
{
	call->paused = call->answered = call->is_grpc = false;
	call->http_status = 0;
	call->status = GRPC_NONE;
	call->code = NGHTTP2_NO_ERROR;
	call->sent = 0;
	str_clear(&call->message);
	str_clear(&call->redirect);
	err_clear(&call->failure);
	grpc_frames_init(&call->frames);
}

/* Begins its stream on a connection that takes it. */
static int call_launch(struct grpc_call *call, struct err *err)
{
	static const char agent[] = PACKAGE_NAME "/" PACKAGE_VERSION;
	struct grpc_channel *ch = call->ch;
	const char *scheme = ch->endpoint->tls ? "https" : "http";
	const char *where = h2_authority(ch->h2);
	nghttp2_nv headers[HEADERS_MOST];
	size_t n = 0;
	int32_t id;

	call_reset(call);
	headers[n++] = h2_header(":method", "POST", 4);
	headers[n++] = h2_header(":scheme", scheme, strlen(scheme));
	headers[n++] = h2_header(":path", call->method, strlen(call->method));
	headers[n++] = h2_header(":authority", where, strlen(where));
	headers[n++] = h2_header("content-type", "application/grpc", 16);
	headers[n++] = h2_header("te", "trailers", 8);
	headers[n++] = h2_header("user-agent", agent, sizeof(agent) - 1);
	if (ch->token)
		headers[n++] = h2_header("authorization", ch->token, strlen(ch->token));
	if (call->metadata) {
		const char *value = call->metadata + strlen(call->metadata) + 1;

		headers[n] = h2_header(call->metadata, value, strlen(value));
		headers[n++].flags = NGHTTP2_NV_FLAG_NONE;
	}
	id = h2_submit(ch->h2, headers, n, call, err);
	if (id < 0)
		return id;
	call->id = id;
	call->launched++;
	ch->requests++;
	return 0;
}

static int channel_open(struct grpc_channel *ch, const struct grpc_call *call, struct err *err)
{
	int64_t left_ms = ch->connect_limit_ms, now_ms = http_loop_now_ms(ch->loop);
	int rc;

	/* Without a limit of its own, libcurl's of five minutes would hold. */
	if (!left_ms || (call->deadline_ms != INT64_MAX && call->deadline_ms - now_ms < left_ms))
		left_ms = call->deadline_ms == INT64_MAX ? CONNECT_MOST_MS
							 : call->deadline_ms - now_ms;
	rc = h2_open(ch->h2, left_ms, call->deadline_ms, err);
	if (!rc)
		ch->state = CHANNEL_OPENING;
	return rc;
}

/* Starts a call, or lets it wait for the connection. Puts it into the channel's list. */
static int call_dispatch(struct grpc_call *call, struct err *err)
{
	struct grpc_channel *ch = call->ch;
	int rc = 0;

	if (ch->state == CHANNEL_DOWN) {
		rc = channel_open(ch, call, err);
	} else if (ch->state == CHANNEL_UP && (call->left ? h2_alive(ch->h2) : h2_takes(ch->h2))) {
		rc = call_launch(call, err);
	} else if (ch->state == CHANNEL_UP && call->left) {
		/* What changes something goes on the connection that is there, or nowhere. */
		rc = err_set(err, ERR_IO, "the connection to %s was lost before anything was sent",
			ch->endpoint->text);
	} else if (ch->state == CHANNEL_UP) {
		h2_give_up(ch->h2);
	}
	if (rc)
		return rc;
	list_push(&ch->active, call);
	if (call->deadline_ms < ch->due_ms) {
		ch->due_ms = call->deadline_ms;
		h2_due(ch->h2, ch->due_ms);
	}
	return 0;
}

/* Begins it once more, on a new connection; false when it can't be. */
static bool call_retry(struct grpc_call *call)
{
	struct err err = { 0 };

	if (call->launched > 1 || call->left || call->answered || call->open)
		return false;
	call->id = 0;
	list_remove(call);
	if (!call_dispatch(call, &err))
		return true;
	list_push(&call->ch->ended, call);
	call->failure = err;
	return true;
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

static int call_status_error(const struct grpc_call *call, struct err *err)
{
	const char *where = call->ch->endpoint->text;

	return err_set(err, code_of_status(call->status), "%s: %s", where,
		call->message.len ? call->message.s : "an error without a message");
}

/* A stream that the server ended in the middle. */
static int call_reset_error(const struct grpc_call *call, struct err *err)
{
	const char *where = call->ch->endpoint->text;

	if (call->answered && !grpc_frames_whole(&call->frames))
		return err_set(err, ERR_PROTO, "%s broke off in the middle of an answer", where);
	if (call->code == NGHTTP2_REFUSED_STREAM)
		return err_set(err, ERR_BUSY, "%s refused a request on its connection", where);
	return err_set(err, ERR_PROTO, "%s broke off an answer (HTTP/2 reset, %s)", where,
		nghttp2_http2_strerror(call->code));
}

static void call_judge(struct grpc_call *call, struct grpc_result *result)
{
	const char *where = call->ch->endpoint->text;

	result->code = GRPC_NONE;
	result->message = call->message.s;
	if (call->failure.code)
		result->err = call->failure;
	else if (call->status > 0)
		call_status_error(call, &result->err);
	else if (call->status < 0 && call->code != NGHTTP2_NO_ERROR)
		call_reset_error(call, &result->err);
	else if (!call->is_grpc)
		call_not_grpc(call, &result->err);
	else if (!grpc_frames_whole(&call->frames))
		err_set(&result->err, ERR_PROTO, "%s broke off in the middle of an answer", where);
	else if (call->status < 0)
		err_set(&result->err, ERR_PROTO, "%s ended an answer without a status", where);
	else if (!call->open && (call->many ? !call->frames.n : call->frames.n != 1))
		err_set(&result->err, ERR_PROTO, "%s answered with %s", where,
			call->frames.n ? "several messages where one belongs"
				       : "no message, and says that all is well");
	/* All may be well only where nothing was found wrong. */
	if (!call->failure.code && (call->status > 0 || !result->err.code))
		result->code = (enum grpc_code)call->status;
}

static void call_finish(struct grpc_call *call)
{
	const struct grpc_handler *handler = call->handler;
	struct grpc_result result = { 0 };
	struct str message;
	void *arg = call->arg;

	if (call->code == NGHTTP2_REFUSED_STREAM && !call->failure.code && call_retry(call))
		return;
	call_judge(call, &result);
	str_init(&message, HEADER_TEXT_MAX);
	str_add(&message, result.message);
	result.message = message.s;
	call_retire(call);
	handler->done(arg, &result);
	str_release(&message);
}

/* ---- the channel's life ---- */

static void call_late(struct grpc_call *call, int64_t now_ms)
{
	struct grpc_channel *ch = call->ch;
	double seconds = (double)(now_ms - call->started_ms) / 1000;

	if (ch->answers == call->answers || call->answered) {
		h2_late(ch->h2, seconds, &call->failure);
		return;
	}
	err_set(&call->failure, ERR_TIMEOUT,
		"%s answers other requests, and one not within %.1f s: it may have lost its "
		"quorum, or its disk hangs. Check etcdctl endpoint status, and the disk",
		ch->endpoint->text, seconds);
}

static void channel_expire(struct grpc_channel *ch)
{
	int64_t now_ms = http_loop_now_ms(ch->loop);
	struct grpc_call *call, *next;

	if (now_ms < ch->due_ms) {
		h2_due(ch->h2, ch->due_ms);
		return;
	}
	ch->due_ms = INT64_MAX;
	for (call = ch->active; call; call = next) {
		next = call->next;
		if (call->deadline_ms > now_ms) {
			if (call->deadline_ms < ch->due_ms)
				ch->due_ms = call->deadline_ms;
			continue;
		}
		/* libcurl keeps the time of who waits for its connection, and says what took it. */
		if (ch->state == CHANNEL_OPENING && now_ms < call->deadline_ms + OPENING_GRACE_MS) {
			ch->due_ms = call->deadline_ms + OPENING_GRACE_MS;
			continue;
		}
		call_late(call, now_ms);
		/* A deadline of one call says nothing of a connection on which others were
		 * answered. */
		if (!h2_spoke(ch->h2))
			h2_give_up(ch->h2);
		call_stop(call);
	}
	h2_due(ch->h2, ch->due_ms);
}

static void channel_settle(void *arg)
{
	struct grpc_channel *ch = arg;

	channel_expire(ch);
	while (ch->ended)
		call_finish(ch->ended);
}

static void channel_opened(void *arg)
{
	struct grpc_channel *ch = arg;
	struct grpc_call *call, *next;

	ch->state = CHANNEL_UP;
	for (call = ch->active; call; call = next) {
		next = call->next;
		if (call_launch(call, &call->failure))
			call_stop(call);
	}
	h2_due(ch->h2, ch->ended ? 0 : ch->due_ms);
}

/* What a call is told whose connection is gone. */
static void call_lost(struct grpc_call *call, bool spoke, const struct err *err)
{
	const char *where = call->ch->endpoint->text;

	call->id = 0;
	if (spoke && call_retry(call))
		return;
	if (call->answered && !grpc_frames_whole(&call->frames))
		err_set(&call->failure, ERR_PROTO, "%s broke off in the middle of an answer",
			where);
	else if (spoke && call->left && !*call->left)
		err_set(&call->failure, ERR_IO,
			"the connection to %s was lost before anything was sent", where);
	else
		call->failure = *err;
	call_end(call);
}

static void channel_lost(void *arg, bool spoke, const struct err *err)
{
	struct grpc_channel *ch = arg;
	struct grpc_call *lost = ch->active;

	ch->state = CHANNEL_DOWN;
	ch->generation++;
	ch->active = NULL;
	ch->due_ms = INT64_MAX;
	/* What is begun meanwhile is on a new connection. */
	if (lost)
		lost->link = &lost;
	while (lost)
		call_lost(lost, spoke, err);
	while (ch->ended)
		call_finish(ch->ended);
}

static const struct h2_handler channel_handler = {
	.opened = channel_opened,
	.lost = channel_lost,
	.settle = channel_settle,
	.header = call_header,
	.data = call_data,
	.body = call_body,
	.ended = call_ended,
};

/* ---- what callers use ---- */

struct grpc_channel *grpc_channel_new(struct http_loop *loop, const struct http_endpoint *endpoint,
	const struct http_settings *settings)
{
	struct grpc_channel *ch = xcalloc(1, sizeof(*ch));

	ch->loop = loop;
	ch->endpoint = endpoint;
	ch->due_ms = INT64_MAX;
	ch->h2 = h2_new(loop, endpoint, settings, &channel_handler, ch);
	return ch;
}

void grpc_channel_drop(struct grpc_channel *ch)
{
	h2_close(ch->h2);
	while (ch->active) {
		ch->active->id = 0;
		call_retire(ch->active);
	}
	while (ch->ended)
		call_retire(ch->ended);
	ch->due_ms = INT64_MAX;
	if (ch->state != CHANNEL_DOWN)
		ch->generation++;
	ch->state = CHANNEL_DOWN;
}

static void token_free(char *token)
{
	if (token)
		explicit_bzero(token, strlen(token));
	free(token);
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
	h2_free(ch->h2);
	token_free(ch->token);
	free(ch);
}

void grpc_channel_connect_limit(struct grpc_channel *ch, int64_t limit_ms)
{
	ch->connect_limit_ms = limit_ms;
}

void grpc_channel_authorize(struct grpc_channel *ch, const char *token)
{
	token_free(ch->token);
	ch->token = token ? xstrdup(token) : NULL;
}

bool grpc_channel_up(const struct grpc_channel *ch)
{
	return ch->state == CHANNEL_UP && h2_spoke(ch->h2);
}

int grpc_channel_late(const struct grpc_channel *ch, double seconds, struct err *err)
{
	return h2_late(ch->h2, seconds, err);
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
	struct grpc_cost cost = { .requests = ch->requests };

	h2_take_bytes(ch->h2, &cost.bytes_in, &cost.bytes_out);
	ch->requests = 0;
	return cost;
}

static void call_metadata(struct grpc_call *call, const char *line)
{
	char *colon;

	free(call->metadata);
	call->metadata = line ? xstrdup(line) : NULL;
	colon = line ? strstr(call->metadata, ": ") : NULL;
	if (!colon)
		return;
	*colon = '\0';
	memmove(colon + 1, colon + 2, strlen(colon + 2) + 1);
}

static void call_fill(struct grpc_call *call, const struct grpc_request *request)
{
	call->max_message = request->max_message;
	call->started_ms = http_loop_now_ms(call->ch->loop);
	call->answers = call->ch->answers;
	call->deadline_ms = request->deadline_ms;
	call->open = request->open;
	call->many = request->many;
	call->secret = request->secret;
	call->left = request->sent;
	call->launched = 0;
	if (!call->method || strcmp(call->method, request->method) != 0) {
		free(call->method);
		call->method = xstrdup(request->method);
	}
	call_metadata(call, request->metadata);
	str_clear(&call->upload);
	if (request->body || !request->open)
		grpc_frame_add(&call->upload, request->body, request->len);
	call_reset(call);
}

struct grpc_call *grpc_start(struct grpc_channel *ch, const struct grpc_request *request,
	const struct grpc_handler *handler, void *arg, struct err *err)
{
	struct grpc_call *call = call_new(ch);
	int rc = 0;

	call->handler = handler;
	call->arg = arg;
	ch->n_busy++;
	call_fill(call, request);
	if (call->upload.full)
		rc = err_set(err, ERR_LIMIT, "a request that is too long to be sent");
	if (!rc)
		rc = call_dispatch(call, err);
	if (!rc)
		return call;
	call_retire(call);
	return NULL;
}

void grpc_send(struct grpc_call *call, const void *body, size_t len)
{
	grpc_frame_add(&call->upload, body, len);
	call->ch->requests++;
	if (call->paused && call->id) {
		call->paused = false;
		h2_resume(call->ch->h2, call->id);
	}
}

void grpc_cancel(struct grpc_call *call)
{
	call_retire(call);
}
