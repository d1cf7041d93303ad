#include "config.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "io/grpc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * What a hostile server may say in HTTP/2, to calls that read, a call that changes something and a
 * stream that stays open. The first byte says what the calls do when they end, and the second how
 * large the pieces are in which the rest comes; unless bit 7 of the first is set, valid settings
 * come before it, and then it counts as spoken. The connection is closed behind the last piece.
 */
enum {
	CALLS = 6,
	STARTS_MOST = 40, /* calls that begin calls when they end */
	STEPS_MOST = 3000,
	LIMIT_MS = 90, /* under what a diagnosis takes */
};

enum {
	DO_START = 1,
	DO_CANCEL = 2,
	DO_DROP = 4,
	DO_SEND = 8,
	DO_ACT = 16,
	SAY_NOTHING = 128,
};

static const uint8_t settings[] = { 0, 0, 0, 4, 0, 0, 0, 0, 0 };

struct target {
	int listener, peer;
	struct http_loop *loop;
	struct http_endpoint endpoint;
	struct http_settings settings;
	struct grpc_channel *ch;
	struct call {
		struct target *t;
		struct grpc_call *call; /* NULL: not there */
		bool sent, act, open;
		int started, ended;
		size_t bytes;
	} calls[CALLS];
	int starts;
	unsigned todo;
};

static void call_start(struct call *call);

static int sink_data(void *arg, const void *bytes, size_t len, struct err *err)
{
	struct call *call = arg;

	(void)err;
	call->bytes += len ? ((const uint8_t *)bytes)[len - 1] : 0;
	return 0;
}

static struct call *other(struct call *call)
{
	struct target *t = call->t;

	return &t->calls[(size_t)(call - t->calls + 1) % CALLS];
}

static void call_done(void *arg, const struct grpc_result *result)
{
	struct call *call = arg;
	struct target *t = call->t;

	if (!call->call || (result->code == GRPC_OK) != !result->err.code)
		abort();
	call->call = NULL;
	call->ended++;
	if (t->todo & DO_CANCEL && other(call)->call) {
		grpc_cancel(other(call)->call);
		other(call)->call = NULL;
	}
	if (t->todo & DO_DROP && t->starts == STARTS_MOST / 2) {
		size_t i;

		grpc_channel_drop(t->ch);
		for (i = 0; i < CALLS; i++)
			t->calls[i].call = NULL;
	}
	if (t->todo & DO_START && t->starts < STARTS_MOST)
		call_start(call);
}

static const struct grpc_handler handler = { .sink = { .data = sink_data }, .done = call_done };

static void call_start(struct call *call)
{
	struct target *t = call->t;
	struct grpc_request request = { .method = "/t/call",
		.body = "hello",
		.len = 5,
		.open = call->open,
		.secret = call == &t->calls[1],
		.max_message = 4096,
		.deadline_ms = http_loop_now_ms(t->loop) + LIMIT_MS,
		.sent = call->act ? &call->sent : NULL };

	t->starts++;
	call->started++;
	call->sent = false;
	call->call = grpc_start(t->ch, &request, &handler, call, NULL);
}

static void listen_once(struct target *t)
{
	static int listener = -1;
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);
	char url[64];

	if (listener < 0) {
		listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		if (bind(listener, (struct sockaddr *)&at, len) || listen(listener, 64))
			abort();
	}
	if (getsockname(listener, (struct sockaddr *)&at, &len))
		abort();
	snprintf(url, sizeof(url), "http://127.0.0.1:%d", ntohs(at.sin_port));
	t->listener = listener;
	http_endpoint_parse(&t->endpoint, url, false, 80, NULL, NULL);
}

/* The first connection is spoken to; those that follow are hung up on. */
static void target_accept(struct target *t)
{
	int fd = accept4(t->listener, NULL, NULL, SOCK_NONBLOCK);

	if (fd < 0)
		return;
	if (t->peer == -1)
		t->peer = fd;
	else
		close(fd);
}

static bool target_step(struct target *t)
{
	char scrap[4096];

	target_accept(t);
	if (t->peer >= 0)
		while (read(t->peer, scrap, sizeof(scrap)) > 0)
			;
	http_loop_step(t->loop, -1, http_loop_now_ms(t->loop) + (t->peer == -1 ? 1 : 0));
	return grpc_channel_busy(t->ch) != 0;
}

static void target_say(struct target *t, const uint8_t *bytes, size_t len)
{
	if (t->peer >= 0 && send(t->peer, bytes, len, MSG_NOSIGNAL) != (ssize_t)len) {
		close(t->peer);
		t->peer = -2;
	}
}

static void target_talk(struct target *t, const uint8_t *data, size_t size, size_t piece)
{
	size_t at, some;
	int i;

	for (i = 0; i < STEPS_MOST && t->peer == -1; i++)
		target_step(t);
	for (i = 0; i < 3; i++)
		target_step(t);
	if (!(t->todo & SAY_NOTHING)) {
		target_say(t, settings, sizeof(settings));
		target_step(t);
		target_step(t);
	}
	if (t->todo & DO_ACT && !t->calls[4].call)
		call_start(&t->calls[4]);
	for (at = 0; at < size; at += some) {
		some = size - at < piece ? size - at : piece;
		target_say(t, data + at, some);
		target_step(t);
		if (t->todo & DO_SEND && t->calls[5].call)
			grpc_send(t->calls[5].call, "more", 4);
	}
	target_step(t);
	if (t->peer >= 0)
		close(t->peer);
	t->peer = -2;
	for (i = 0; i < STEPS_MOST && target_step(t); i++)
		;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct target t = { .peer = -1 };
	size_t i;

	if (size < 2 || size > 20000)
		return 0;
	t.todo = data[0];
	listen_once(&t);
	t.loop = http_loop_new(&clock_system, NULL);
	t.ch = grpc_channel_new(t.loop, &t.endpoint, &t.settings);
	for (i = 0; i < CALLS; i++) {
		t.calls[i].t = &t;
		t.calls[i].act = i == 4;
		t.calls[i].open = i == 5;
		if (i != 4)
			call_start(&t.calls[i]);
	}
	target_talk(&t, data + 2, size - 2, data[1] ? (size_t)data[1] * 4 : size);
	/* What an act was told it was told once. */
	if (t.calls[4].ended > t.calls[4].started)
		abort();
	grpc_channel_drop(t.ch);
	http_loop_free(t.loop);
	grpc_channel_free(t.ch);
	http_endpoint_release(&t.endpoint);
	target_accept(&t);
	return 0;
}
