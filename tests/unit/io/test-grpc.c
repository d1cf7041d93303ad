#include "config.h"

#include "tests/unit/unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "io/grpc.h"

/*
 * A server of a few lines on libnghttp2, which does to a call what the call's path says. Its
 * counters are shared with the tests and atomic.
 */
enum {
	BIG = 3 * 1024 * 1024,
	MANY = 500,
	WAIT_MS = 20000,
};

struct server {
	int listener;
	pthread_t thread;
	char url[64];
	int connections, calls, refused, cut, bye;
	/* How many bytes more are sent, or read, before it hangs up; below 0: all. */
	int allow_out, allow_in;
	int slow_ms; /* before the first bytes are read */
	int window;  /* what a stream may send, as the client said last */
};

struct peer {
	struct server *server;
	nghttp2_session *session;
	int fd;
	bool hang_up;
};

struct answer {
	char path[64];
	struct str body; /* what came, and goes back */
	size_t sent;
};

static int peer_begin(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	struct answer *a = xcalloc(1, sizeof(*a));

	(void)arg;
	str_init(&a->body, 2 * BIG);
	nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, a);
	return 0;
}

static int peer_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
	size_t name_len, const uint8_t *value, size_t len, uint8_t flags, void *arg)
{
	struct answer *a = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);

	(void)flags;
	(void)arg;
	if (a && name_len == 5 && memcmp(name, ":path", 5) == 0)
		snprintf(a->path, sizeof(a->path), "%.*s", (int)len, (const char *)value);
	return 0;
}

static int peer_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *bytes,
	size_t len, void *arg)
{
	struct answer *a = nghttp2_session_get_stream_user_data(session, id);

	(void)flags;
	(void)arg;
	str_add_mem(&a->body, bytes, len);
	return 0;
}

static int peer_close(nghttp2_session *session, int32_t id, uint32_t code, void *arg)
{
	struct answer *a = nghttp2_session_get_stream_user_data(session, id);

	(void)code;
	(void)arg;
	if (a)
		str_release(&a->body);
	free(a);
	return 0;
}

static nghttp2_nv pair(const char *name, const char *value)
{
	return (nghttp2_nv){ .name = (uint8_t *)(uintptr_t)name,
		.value = (uint8_t *)(uintptr_t)value,
		.namelen = strlen(name),
		.valuelen = strlen(value) };
}

static ssize_t peer_read(nghttp2_session *session, int32_t id, uint8_t *buf, size_t size,
	uint32_t *flags, nghttp2_data_source *source, void *arg)
{
	struct answer *a = source->ptr;
	size_t n = a->body.len - a->sent < size ? a->body.len - a->sent : size;
	nghttp2_nv trailer = pair("grpc-status", strcmp(a->path, "/t/denied") ? "0" : "7");

	(void)arg;
	memcpy(buf, a->body.s + a->sent, n);
	a->sent += n;
	if (a->sent == a->body.len) {
		*flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
		nghttp2_submit_trailer(session, id, &trailer, 1);
	}
	return (ssize_t)n;
}

static void peer_respond(struct peer *p, int32_t id, struct answer *a, bool grpc)
{
	nghttp2_nv head[] = { pair(":status", "200"),
		pair("content-type", grpc ? "application/grpc" : "text/html") };
	nghttp2_data_provider body = { .source.ptr = a, .read_callback = peer_read };

	if (strcmp(a->path, "/t/blank") == 0) {
		/* A page without a word, whose headers claim that all is well. */
		head[1] = pair("grpc-status", "0");
		nghttp2_submit_response(p->session, id, head, 2, NULL);
		return;
	}
	if (strcmp(a->path, "/t/big") == 0) {
		char *bytes = xcalloc(1, BIG);

		str_clear(&a->body);
		grpc_frame_add(&a->body, bytes, BIG);
		free(bytes);
	} else if (strcmp(a->path, "/t/empty") == 0) {
		str_clear(&a->body);
	} else if (strcmp(a->path, "/t/half") == 0) {
		a->body.len -= 2;
	} else if (strcmp(a->path, "/t/twice") == 0) {
		grpc_frame_add(&a->body, "again", 5);
	}
	nghttp2_submit_response(p->session, id, head, 2, &body);
}

/* Once in the server's life. */
static bool first(int *counter)
{
	return __atomic_fetch_add(counter, 1, __ATOMIC_SEQ_CST) == 0;
}

/* An error in headers alone, while the request still goes on. */
static void peer_over(struct peer *p, int32_t id)
{
	nghttp2_nv head[] = { pair(":status", "200"), pair("content-type", "application/grpc"),
		pair("grpc-status", "5"), pair("grpc-message", "gone") };

	nghttp2_submit_response(p->session, id, head, 4, NULL);
}

static int peer_frame(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	const nghttp2_settings_entry one = { NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 1 };
	struct peer *p = arg;
	int32_t id = frame->hd.stream_id;
	uint32_t window =
		nghttp2_session_get_remote_settings(session, NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE);
	struct answer *a = nghttp2_session_get_stream_user_data(session, id);

	__atomic_store_n(&p->server->window, (int)window, __ATOMIC_SEQ_CST);
	if (a && frame->hd.type == NGHTTP2_HEADERS && strcmp(a->path, "/t/over") == 0) {
		peer_over(p, id);
		return 0;
	}
	if (!a || !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
		return 0;
	__atomic_add_fetch(&p->server->calls, 1, __ATOMIC_SEQ_CST);
	if (strcmp(a->path, "/t/refuse") == 0 && first(&p->server->refused))
		nghttp2_submit_rst_stream(session, 0, id, NGHTTP2_REFUSED_STREAM);
	else if (strcmp(a->path, "/t/reset") == 0)
		nghttp2_submit_rst_stream(session, 0, id, NGHTTP2_INTERNAL_ERROR);
	else if (strcmp(a->path, "/t/cut") == 0 && first(&p->server->cut))
		p->hang_up = true;
	else if (strcmp(a->path, "/t/bye") == 0 && first(&p->server->bye))
		nghttp2_submit_goaway(session, 0, id - 2, NGHTTP2_NO_ERROR, NULL, 0);
	else if (strcmp(a->path, "/t/silent") != 0)
		peer_respond(p, id, a, strcmp(a->path, "/t/page") != 0);
	if (strcmp(a->path, "/t/one") == 0)
		nghttp2_submit_settings(session, 0, &one, 1);
	if (strcmp(a->path, "/t/goaway") == 0)
		nghttp2_submit_goaway(session, 0, id, NGHTTP2_NO_ERROR, NULL, 0);
	return 0;
}

/* Takes n of what is allowed; returns how many of them are. */
static ssize_t allowed(int *allow, ssize_t n)
{
	int left = __atomic_load_n(allow, __ATOMIC_SEQ_CST);

	if (left < 0)
		return n;
	if (left < n)
		n = left;
	__atomic_store_n(allow, left - (int)n, __ATOMIC_SEQ_CST);
	return n;
}

static bool peer_send(struct peer *p, int fd)
{
	const uint8_t *bytes;
	ssize_t n, some;

	while ((n = nghttp2_session_mem_send(p->session, &bytes)) > 0) {
		some = allowed(&p->server->allow_out, n);
		if (some && send(fd, bytes, (size_t)some, MSG_NOSIGNAL) != some)
			return false;
		if (some < n)
			return false;
	}
	return n == 0;
}

static nghttp2_session *peer_session(struct peer *p)
{
	nghttp2_session_callbacks *callbacks;
	nghttp2_session *session;

	nghttp2_session_callbacks_new(&callbacks);
	nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, peer_begin);
	nghttp2_session_callbacks_set_on_header_callback(callbacks, peer_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, peer_data);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, peer_frame);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, peer_close);
	nghttp2_session_server_new(&session, callbacks, p);
	nghttp2_session_callbacks_del(callbacks);
	nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, NULL, 0);
	return session;
}

/* Streams that are open at the end keep what was made for them. */
static void peer_end(struct peer *p)
{
	int32_t id, last = nghttp2_session_get_last_proc_stream_id(p->session);

	for (id = 1; id <= last; id += 2)
		peer_close(p->session, id, 0, p);
	nghttp2_session_del(p->session);
}

static void peer_serve(struct peer *p)
{
	int fd = p->fd;
	char buf[65536];
	ssize_t n;

	p->session = peer_session(p);
	poll(NULL, 0, __atomic_load_n(&p->server->slow_ms, __ATOMIC_SEQ_CST));
	while (peer_send(p, fd) && !p->hang_up && (n = recv(fd, buf, sizeof(buf), 0)) > 0) {
		ssize_t some = allowed(&p->server->allow_in, n);

		if (some && nghttp2_session_mem_recv(p->session, (uint8_t *)buf, (size_t)some) < 0)
			break;
		if (some < n)
			break;
	}
	close(fd);
	peer_end(p);
}

/* One connection after the other is enough for one client. */
static void *server_main(void *arg)
{
	struct server *server = arg;
	int fd;

	while ((fd = accept(server->listener, NULL, NULL)) >= 0) {
		struct peer p = { .server = server, .fd = fd };

		__atomic_add_fetch(&server->connections, 1, __ATOMIC_SEQ_CST);
		peer_serve(&p);
	}
	return NULL;
}

static void server_start(struct server *server)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);

	memset(server, 0, sizeof(*server));
	server->allow_out = server->allow_in = -1;
	server->listener = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(bind(server->listener, (struct sockaddr *)&at, len), 0);
	assert_int_equal(listen(server->listener, 16), 0);
	assert_int_equal(getsockname(server->listener, (struct sockaddr *)&at, &len), 0);
	snprintf(server->url, sizeof(server->url), "http://127.0.0.1:%d", ntohs(at.sin_port));
	pthread_create(&server->thread, NULL, server_main, server);
}

static void server_stop(struct server *server)
{
	shutdown(server->listener, SHUT_RDWR);
	pthread_join(server->thread, NULL);
	close(server->listener);
}

/* ---- the client ---- */

struct client {
	struct server server;
	struct http_loop *loop;
	struct http_endpoint endpoint;
	struct http_settings settings;
	struct grpc_channel *ch;
};

struct call {
	bool done;
	enum grpc_code code;
	struct err err;
	size_t bytes;
};

static int call_begin(void *arg, size_t len, struct err *err)
{
	(void)arg;
	(void)len;
	(void)err;
	return 0;
}

static int call_data(void *arg, const void *bytes, size_t len, struct err *err)
{
	(void)bytes;
	(void)err;
	((struct call *)arg)->bytes += len;
	return 0;
}

static int call_end(void *arg, struct err *err)
{
	(void)arg;
	(void)err;
	return 0;
}

static void call_done(void *arg, const struct grpc_result *result)
{
	struct call *call = arg;

	assert_false(call->done);
	call->done = true;
	call->code = result->code;
	call->err = result->err;
}

static const struct grpc_handler handler = {
	.sink = { .begin = call_begin, .data = call_data, .end = call_end }, .done = call_done
};

static int count(const int *counter)
{
	return __atomic_load_n(counter, __ATOMIC_SEQ_CST);
}

static void client_open(struct client *c)
{
	memset(c, 0, sizeof(*c));
	server_start(&c->server);
	c->loop = http_loop_new(&clock_system, NULL);
	assert_int_equal(
		http_endpoint_parse(&c->endpoint, c->server.url, false, 80, NULL, NULL), 0);
	c->ch = grpc_channel_new(c->loop, &c->endpoint, &c->settings);
}

static void client_close(struct client *c)
{
	grpc_channel_drop(c->ch);
	http_loop_free(c->loop);
	grpc_channel_free(c->ch);
	http_endpoint_release(&c->endpoint);
	server_stop(&c->server);
}

static bool client_start(
	struct client *c, struct call *call, const char *path, int64_t limit_ms, bool *sent)
{
	struct grpc_request request = { .method = path,
		.body = "hello",
		.len = 5,
		.max_message = 2 * BIG,
		.deadline_ms = http_loop_now_ms(c->loop) + limit_ms,
		.sent = sent };

	memset(call, 0, sizeof(*call));
	return grpc_start(c->ch, &request, &handler, call, &call->err) != NULL;
}

static void client_wait(struct client *c, const struct call *calls, size_t n)
{
	int64_t end_ms = http_loop_now_ms(c->loop) + WAIT_MS;
	size_t i = 0;

	while (i < n && http_loop_now_ms(c->loop) < end_ms) {
		if (calls[i].done)
			i++;
		else
			http_loop_step(c->loop, -1, end_ms);
	}
	assert_int_equal(i, n);
}

static void ask(struct client *c, struct call *call, const char *path)
{
	assert_true(client_start(c, call, path, WAIT_MS, NULL));
	client_wait(c, call, 1);
}

static void test_many_calls_beside_a_large_answer(void **state)
{
	static struct call calls[MANY];
	struct client c;
	size_t i;

	(void)state;
	client_open(&c);
	for (i = 0; i < MANY; i++)
		assert_true(client_start(
			&c, &calls[i], i == MANY / 2 ? "/t/big" : "/t/echo", WAIT_MS, NULL));
	client_wait(&c, calls, MANY);
	for (i = 0; i < MANY; i++) {
		assert_int_equal(calls[i].code, GRPC_OK);
		assert_int_equal(calls[i].bytes, i == MANY / 2 ? BIG : 5);
	}
	assert_int_equal(count(&c.server.connections), 1);
	assert_int_equal(grpc_channel_busy(c.ch), 0);
	client_close(&c);
}

/* A far server may send more before we take it: a round trip must not stop it. */
static void test_a_window_fits_the_way(void **state)
{
	struct client c;
	struct call call;
	int near;

	(void)state;
	client_open(&c);
	ask(&c, &call, "/t/echo");
	ask(&c, &call, "/t/echo");
	near = count(&c.server.window);
	assert_true(near >= 512 * 1024);
	grpc_channel_drop(c.ch);
	__atomic_store_n(&c.server.slow_ms, 200, __ATOMIC_SEQ_CST);
	ask(&c, &call, "/t/echo");
	ask(&c, &call, "/t/echo");
	assert_true(count(&c.server.window) >= 200 * 64 * 1024);
	assert_true(count(&c.server.window) > near);
	/* A day's trip has its end too. */
	assert_true(count(&c.server.window) <= 32 * 1024 * 1024);
	client_close(&c);
}

static void test_what_servers_refuse(void **state)
{
	struct client c;
	struct call call;

	(void)state;
	client_open(&c);
	ask(&c, &call, "/t/denied");
	assert_int_equal(call.code, GRPC_PERMISSION_DENIED);
	ask(&c, &call, "/t/page");
	assert_int_equal(call.code, GRPC_NONE);
	assert_non_null(strstr(call.err.text, "no etcd"));
	ask(&c, &call, "/t/reset");
	assert_int_equal(call.err.code, ERR_PROTO);
	assert_non_null(strstr(call.err.text, "INTERNAL_ERROR"));
	ask(&c, &call, "/t/echo");
	assert_int_equal(call.code, GRPC_OK);
	assert_int_equal(count(&c.server.connections), 1);
	client_close(&c);
}

static void test_a_read_is_begun_once_more(void **state)
{
	struct client c;
	struct call call;

	(void)state;
	client_open(&c);
	ask(&c, &call, "/t/refuse");
	assert_int_equal(call.code, GRPC_OK);
	assert_int_equal(count(&c.server.calls), 2);
	ask(&c, &call, "/t/cut");
	assert_int_equal(call.code, GRPC_OK);
	assert_int_equal(count(&c.server.calls), 4);
	assert_int_equal(count(&c.server.connections), 2);
	assert_int_equal(grpc_channel_generation(c.ch), 1);
	client_close(&c);
}

static void test_a_change_is_never_begun_again(void **state)
{
	static const char *const paths[] = { "/t/refuse", "/t/cut" };
	struct client c;
	struct call call;
	size_t i;

	(void)state;
	client_open(&c);
	ask(&c, &call, "/t/echo");
	for (i = 0; i < 2; i++) {
		bool sent = false;

		assert_true(client_start(&c, &call, paths[i], WAIT_MS, &sent));
		client_wait(&c, &call, 1);
		assert_int_equal(call.code, GRPC_NONE);
		assert_true(sent);
		assert_int_equal(count(&c.server.calls), 2 + i);
	}
	client_close(&c);
}

static void test_a_connection_that_ends_in_good_order(void **state)
{
	struct client c;
	struct call call;
	bool sent = false;

	(void)state;
	client_open(&c);
	ask(&c, &call, "/t/goaway");
	assert_int_equal(call.code, GRPC_OK);
	/* A change does not open one of its own. */
	if (client_start(&c, &call, "/t/echo", WAIT_MS, &sent))
		client_wait(&c, &call, 1);
	assert_false(sent && call.code != GRPC_OK);
	ask(&c, &call, "/t/echo");
	assert_int_equal(call.code, GRPC_OK);
	assert_int_equal(count(&c.server.connections), 2);
	client_close(&c);
}

static void test_deadlines(void **state)
{
	struct client c;
	struct call calls[2];

	(void)state;
	client_open(&c);
	ask(&c, &calls[0], "/t/echo");
	assert_true(client_start(&c, &calls[0], "/t/silent", 200, NULL));
	client_wait(&c, calls, 1);
	assert_int_equal(calls[0].err.code, ERR_TIMEOUT);
	assert_non_null(strstr(calls[0].err.text, "the connection is there, and it is silent"));
	/* One that answers others does not hang as a whole. */
	assert_true(client_start(&c, &calls[0], "/t/silent", 200, NULL));
	assert_true(client_start(&c, &calls[1], "/t/echo", WAIT_MS, NULL));
	client_wait(&c, calls, 2);
	assert_int_equal(calls[0].err.code, ERR_TIMEOUT);
	assert_non_null(strstr(calls[0].err.text, "answers other requests, and one not within"));
	assert_int_equal(calls[1].code, GRPC_OK);
	/* Cancelled and dropped calls tell nobody. */
	assert_true(client_start(&c, &calls[0], "/t/silent", WAIT_MS, NULL));
	client_close(&c);
	assert_false(calls[0].done);
}

/* What is no answer, though its status says that all is well. */
static void test_one_call_has_one_message(void **state)
{
	static const char *const paths[] = { "/t/empty", "/t/twice", "/t/half", "/t/blank" };
	static const char *const words[] = { "no message", "several messages", "in the middle",
		"no etcd" };
	struct client c;
	struct call call;
	bool sent;
	size_t i;

	(void)state;
	client_open(&c);
	for (i = 0; i < 8; i++) {
		sent = false;
		assert_true(client_start(&c, &call, paths[i % 4], WAIT_MS, i < 4 ? NULL : &sent));
		client_wait(&c, &call, 1);
		assert_int_equal(call.code, GRPC_NONE);
		assert_int_equal(call.err.code, ERR_PROTO);
		assert_non_null(strstr(call.err.text, words[i % 4]));
	}
	assert_int_equal(count(&c.server.calls), 8);
	client_close(&c);
}

/* A server that has said all need not wait for the rest of a request, nor reset its stream. */
static void test_a_stream_is_over_when_the_server_ends_it(void **state)
{
	struct grpc_request request = { .method = "/t/over", .open = true, .max_message = BIG };
	struct client c;
	struct call call = { 0 };

	(void)state;
	client_open(&c);
	request.deadline_ms = http_loop_now_ms(c.loop) + WAIT_MS / 4;
	assert_non_null(grpc_start(c.ch, &request, &handler, &call, NULL));
	client_wait(&c, &call, 1);
	assert_int_equal(call.code, GRPC_NOT_FOUND);
	ask(&c, &call, "/t/echo");
	assert_int_equal(call.code, GRPC_OK);
	assert_int_equal(count(&c.server.connections), 1);
	client_close(&c);
}

/* What a GOAWAY leaves out was not done, and what waits for a free stream was not even sent. */
static void test_reads_that_a_goodbye_leaves_out(void **state)
{
	struct client c;
	struct call calls[3];
	bool sent = false;

	(void)state;
	client_open(&c);
	ask(&c, &calls[0], "/t/echo");
	ask(&c, &calls[0], "/t/bye");
	assert_int_equal(calls[0].code, GRPC_OK);
	assert_int_equal(count(&c.server.connections), 2);
	ask(&c, &calls[0], "/t/one");
	assert_int_equal(calls[0].code, GRPC_OK);
	assert_true(client_start(&c, &calls[0], "/t/goaway", WAIT_MS, NULL));
	assert_true(client_start(&c, &calls[1], "/t/echo", WAIT_MS, NULL));
	assert_true(client_start(&c, &calls[2], "/t/echo", WAIT_MS, &sent));
	client_wait(&c, calls, 3);
	assert_int_equal(calls[0].code, GRPC_OK);
	assert_int_equal(calls[1].code, GRPC_OK);
	assert_int_equal(calls[2].code, GRPC_NONE);
	assert_false(sent);
	client_close(&c);
}

/* An act whose connection breaks at any byte is sent once, and is done only where etcd said so. */
static void cut_at(struct client *c, int at, int *allow, bool *whole)
{
	struct call call;
	bool sent = false;
	int calls, connections;

	ask(c, &call, "/t/echo");
	assert_int_equal(call.code, GRPC_OK);
	calls = count(&c->server.calls);
	connections = count(&c->server.connections);
	__atomic_store_n(allow, at, __ATOMIC_SEQ_CST);
	assert_true(client_start(c, &call, "/t/echo", WAIT_MS, &sent));
	client_wait(c, &call, 1);
	__atomic_store_n(allow, -1, __ATOMIC_SEQ_CST);
	assert_true(sent);
	assert_true(count(&c->server.calls) <= calls + 1);
	assert_int_equal(count(&c->server.connections), connections);
	*whole = call.code == GRPC_OK;
	if (*whole) {
		assert_int_equal(call.bytes, 5);
		assert_int_equal(count(&c->server.calls), calls + 1);
	} else {
		assert_int_equal(call.code, GRPC_NONE);
		assert_true(call.err.code != 0 && call.err.text[0]);
	}
}

static void test_a_connection_that_breaks_at_any_byte(void **state)
{
	struct client c;
	bool whole;
	int at;

	(void)state;
	client_open(&c);
	for (at = 0, whole = false; !whole; at++)
		cut_at(&c, at, &c.server.allow_out, &whole);
	assert_in_range(at, 40, 200);
	for (at = 0, whole = false; !whole; at++)
		cut_at(&c, at, &c.server.allow_in, &whole);
	assert_in_range(at, 40, 400);
	client_close(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many_calls_beside_a_large_answer),
		cmocka_unit_test(test_a_window_fits_the_way),
		cmocka_unit_test(test_what_servers_refuse),
		cmocka_unit_test(test_a_read_is_begun_once_more),
		cmocka_unit_test(test_a_change_is_never_begun_again),
		cmocka_unit_test(test_a_connection_that_ends_in_good_order),
		cmocka_unit_test(test_deadlines),
		cmocka_unit_test(test_one_call_has_one_message),
		cmocka_unit_test(test_a_stream_is_over_when_the_server_ends_it),
		cmocka_unit_test(test_reads_that_a_goodbye_leaves_out),
		cmocka_unit_test(test_a_connection_that_breaks_at_any_byte),
	};

	text_init_locale();
	return cmocka_run_group_tests_name("io/grpc", tests, NULL, NULL);
}
