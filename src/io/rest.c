#include "config.h"

#include "io/rest-inside.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
	BODY_MAX = 64 * 1024 * 1024,
	LINE_MAX_BYTES = 16 * 1024 * 1024,
	FAILURE_MAX = 64 * 1024, /* of a body that is no 2xx */
	URL_MAX = 64 * 1024,
	HEADER_SHOWN = 200,
	CONNECT_MS = 10000,
	CONNECTIONS = 8, /* where the server speaks HTTP/1.1 only: a watch takes one whole */
	SLICE_MS = 50,
	/* No smaller: see call_launch in grpc.c for libcurl 7.88.1 and pieces of HTTP/2. */
	BUFFER_BYTES = 128 * 1024,
	KEEPALIVE_S = 20,
	ERROR_LATER_MS = 2 * SLICE_MS
};

struct rest_client {
	struct http_loop *loop;
	const struct clock_source *clock;
	const struct kube_access *access;
	struct rest_place place;
	struct http_settings settings;
	struct curl_slist *connect_to;
	struct curl_slist *impersonation; /* copied into each call's headers */
	struct kube_creds *creds;
	struct rest_call *calls;
	size_t n_busy, n_waiting;
	struct http_reach reach; /* it spoke: since rest_drop */
	int64_t heard_ms;        /* when anything came, of any call */
	bool http1;              /* the server does not multiplex: more connections are needed */
	bool widened;
	struct rest_cost cost;
};

enum call_state {
	CALL_WAITING, /* for credentials */
	CALL_FLYING,
	CALL_DONE
};

struct rest_call {
	struct http_owner owner; /* first: the loop knows a call by it */
	struct rest_client *c;
	struct rest_call *next, **link;
	enum call_state state;
	CURL *easy;
	struct curl_slist *headers;
	struct rest_request request; /* its texts are not used after the start */
	struct str url, upload;
	bool has_upload, renewed, ok;
	unsigned generation;
	int64_t begun_ms, sent_ms, heard_ms;
	curl_off_t counted_in;
	struct str line;
	char content_type[HEADER_SHOWN], location[HEADER_SHOWN];
	int rc;
	struct err err; /* the failure; or what a callback of ours found wrong */
	struct rest_answer answer;
	char detail[CURL_ERROR_SIZE];
};

static void list_remove(struct rest_call *call)
{
	*call->link = call->next;
	if (call->next)
		call->next->link = call->link;
}

static void list_push(struct rest_call **head, struct rest_call *call)
{
	call->next = *head;
	call->link = head;
	if (call->next)
		call->next->link = &call->next;
	*head = call;
}

/* ---- what comes in ---- */

static size_t body_max(const struct rest_call *call)
{
	if (call->request.max)
		return call->request.max;
	return call->request.line ? LINE_MAX_BYTES : BODY_MAX;
}

static int fail_large(struct rest_call *call, const char *what)
{
	return err_set(&call->err, ERR_LIMIT, "%s sent %s of more than %zu bytes",
		call->c->place.endpoint.text, what, body_max(call));
}

static int feed_line(struct rest_call *call, const char *line, size_t len)
{
	while (len && (line[len - 1] == '\r' || line[len - 1] == ' '))
		len--;
	return len ? call->request.line(call->request.arg, line, len, &call->err) : 0;
}

/* Hands whole lines on; keeps what is left for the next piece. */
static int feed_lines(struct rest_call *call, const char *bytes, size_t len)
{
	const char *end;
	int rc = 0;

	while (len && (end = memchr(bytes, '\n', len)) && !rc) {
		size_t n = (size_t)(end - bytes);

		if (call->line.len) {
			str_add_mem(&call->line, bytes, n);
			if (call->line.full)
				return fail_large(call, "a line");
			rc = feed_line(call, call->line.s, call->line.len);
			str_clear(&call->line);
		} else {
			rc = feed_line(call, bytes, n);
		}
		bytes += n + 1;
		len -= n + 1;
	}
	if (rc)
		return rc;
	str_add_mem(&call->line, bytes, len);
	return call->line.full ? fail_large(call, "a line") : 0;
}

static int feed(struct rest_call *call, const char *bytes, size_t len)
{
	struct str *body = &call->answer.body;

	if (!call->ok) {
		if (body->len < FAILURE_MAX)
			str_add_mem(body, bytes,
				len < FAILURE_MAX - body->len ? len : FAILURE_MAX - body->len);
		return 0;
	}
	if (call->request.line)
		return feed_lines(call, bytes, len);
	if (call->request.piece)
		return call->request.piece(call->request.arg, bytes, len, &call->err);
	if (len > body_max(call) - body->len)
		return fail_large(call, "an answer");
	str_add_mem(body, bytes, len);
	return body->full ? fail_large(call, "an answer") : 0;
}

static size_t call_write(char *bytes, size_t size, size_t n, void *arg)
{
	struct rest_call *call = arg;
	int rc;

	(void)size;
	call->heard_ms = call->c->heard_ms = clock_mono_ms(call->c->clock);
	rc = feed(call, bytes, n);
	if (!rc)
		return n;
	if (!call->err.code)
		err_set(&call->err, (enum err_code)rc, "%s sent what can't be used",
			call->c->place.endpoint.text);
	return 0;
}

/* The value of a header line, when it is that header. */
static bool header_value(const char *line, size_t len, const char *name, char *value, size_t size)
{
	size_t at = strlen(name), n;

	if (len <= at || line[at] != ':' || strncasecmp(line, name, at) != 0)
		return false;
	for (at++; at < len && (line[at] == ' ' || line[at] == '\t'); at++)
		;
	while (len > at && isspace((unsigned char)line[len - 1]))
		len--;
	n = len - at < size - 1 ? len - at : size - 1;
	memcpy(value, line + at, n);
	value[n] = '\0';
	return true;
}

static void header_status(struct rest_call *call)
{
	long status = 0, version = 0;

	curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
	call->answer.status = (int)status;
	call->ok = status >= 200 && status < 300;
	call->content_type[0] = call->location[0] = '\0';
	curl_easy_getinfo(call->easy, CURLINFO_HTTP_VERSION, &version);
	if (version == CURL_HTTP_VERSION_1_0 || version == CURL_HTTP_VERSION_1_1)
		call->c->http1 = true;
	if (call->sent_ms != REST_UNKNOWN_TIME && status >= 200)
		call->answer.round_trip_ms = call->heard_ms - call->sent_ms;
}

static void header_retry(struct rest_call *call, const char *value)
{
	char *end;
	long seconds = strtol(value, &end, 10);
	int64_t date, now = clock_wall_us(call->c->clock) / 1000000;

	if (end != value && !*end) {
		if (seconds >= 0 && seconds < 86400)
			call->answer.retry_after_ms = seconds * 1000;
		return;
	}
	date = curl_getdate(value, NULL);
	if (date > now && date - now < 86400)
		call->answer.retry_after_ms = (date - now) * 1000;
}

static void shown_copy(char *to, const char *text)
{
	struct str shown;

	str_init(&shown, HEADER_SHOWN - 1);
	text_escape_cut(&shown, text, strlen(text), HEADER_SHOWN / 4);
	memcpy(to, shown.s, shown.len + 1);
	str_release(&shown);
}

static size_t call_header(char *line, size_t size, size_t n, void *arg)
{
	struct rest_call *call = arg;
	char value[1024];

	(void)size;
	call->heard_ms = call->c->heard_ms = clock_mono_ms(call->c->clock);
	call->c->reach.spoke = true;
	if (n >= 5 && memcmp(line, "HTTP/", 5) == 0)
		header_status(call);
	else if (header_value(line, n, "content-type", value, sizeof(value)))
		shown_copy(call->content_type, value);
	else if (header_value(line, n, "location", value, sizeof(value)))
		shown_copy(call->location, value);
	else if (header_value(line, n, "retry-after", value, sizeof(value)))
		header_retry(call, value);
	else if (header_value(line, n, "date", value, sizeof(value))) {
		int64_t date = curl_getdate(value, NULL);

		call->answer.date_us = date >= 0 ? date * 1000000 : REST_UNKNOWN_TIME;
	}
	/* A page with status 200 is no answer of an API server. */
	if (call->ok && strncasecmp(call->content_type, "text/html", 9) == 0)
		call->ok = false;
	return n;
}

/* ---- costs ---- */

static void count_in(struct rest_call *call)
{
	curl_off_t body = 0;
	long head = 0;

	if (call->state != CALL_FLYING)
		return;
	curl_easy_getinfo(call->easy, CURLINFO_SIZE_DOWNLOAD_T, &body);
	curl_easy_getinfo(call->easy, CURLINFO_HEADER_SIZE, &head);
	body += head;
	if (body > call->counted_in)
		call->c->cost.bytes_in += (uint64_t)(body - call->counted_in);
	call->counted_in = body;
}

struct rest_cost rest_take_cost(struct rest_client *c)
{
	struct rest_call *call;
	struct rest_cost cost;

	for (call = c->calls; call; call = call->next)
		count_in(call);
	cost = c->cost;
	memset(&c->cost, 0, sizeof(c->cost));
	return cost;
}

/* ---- a call's life ---- */

static void answer_init(struct rest_answer *a)
{
	memset(a, 0, sizeof(*a));
	str_init(&a->body, BODY_MAX);
	a->retry_after_ms = a->date_us = a->round_trip_ms = REST_UNKNOWN_TIME;
}

static void headers_free(struct curl_slist *headers)
{
	struct curl_slist *h;

	for (h = headers; h; h = h->next)
		explicit_bzero(h->data, strlen(h->data));
	curl_slist_free_all(headers);
}

static void call_leave(struct rest_call *call)
{
	struct rest_client *c = call->c;

	if (call->state == CALL_FLYING) {
		count_in(call);
		http_loop_remove(c->loop, call->easy);
	}
	if (call->state == CALL_WAITING)
		c->n_waiting--;
	if (call->state != CALL_DONE && !call->request.watch)
		c->n_busy--;
	call->state = CALL_DONE;
}

static void call_fail(struct rest_call *call, const struct err *why)
{
	call_leave(call);
	call->err = *why;
	call->rc = why->code ? (int)why->code : ERR_IO;
}

static const char *method_word(enum rest_method method)
{
	static const char *const words[] = {
		[REST_GET] = "GET",
		[REST_POST] = "POST",
		[REST_PUT] = "PUT",
		[REST_PATCH] = "PATCH",
		[REST_DELETE] = "DELETE",
	};

	return words[method];
}

static void setup_method(struct rest_call *call)
{
	CURL *easy = call->easy;

	if (call->has_upload) {
		curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->upload.len);
		curl_easy_setopt(easy, CURLOPT_POSTFIELDS, call->upload.s);
	}
	if (call->request.method != REST_GET)
		curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method_word(call->request.method));
}

static void setup(struct rest_call *call)
{
	struct rest_client *c = call->c;
	CURL *easy = call->easy;

	http_setup(easy, &c->place.endpoint, &c->settings);
	curl_easy_setopt(easy, CURLOPT_PRIVATE, (char *)(void *)&call->owner);
	curl_easy_setopt(easy, CURLOPT_URL, call->url.s);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, call->detail);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, call_write);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, call);
	curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, call_header);
	curl_easy_setopt(easy, CURLOPT_HEADERDATA, call);
	http_watch(easy, &c->reach);
	curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION,
		(long)(c->place.endpoint.tls ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1));
	curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
	curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, (long)BUFFER_BYTES);
	curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, (long)KEEPALIVE_S);
	curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, (long)KEEPALIVE_S / 2);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
	if (!c->access->no_compression && !call->request.watch)
		curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "gzip");
	if (c->connect_to)
		curl_easy_setopt(easy, CURLOPT_CONNECT_TO, c->connect_to);
	if (call->request.alone) {
		curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 0L);
		curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
		curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
	}
	setup_method(call);
}

static void add_header(struct rest_call *call, const char *name, const char *value)
{
	struct str line;

	str_init(&line, 2 * 1024 * 1024);
	str_addf(&line, "%s: %s", name, value);
	call->headers = curl_slist_append(call->headers, line.s);
	explicit_bzero(line.s, line.len);
	str_release(&line);
}

static void make_headers(struct rest_call *call, const char *accept, const char *content_type)
{
	struct rest_client *c = call->c;
	struct curl_slist *h;

	add_header(call, "Accept", accept ? accept : "application/json");
	add_header(call, "User-Agent", PACKAGE_NAME "/" PACKAGE_VERSION);
	if (call->has_upload)
		add_header(call, "Content-Type", content_type ? content_type : "application/json");
	call->headers = curl_slist_append(call->headers, "Expect:");
	if (c->place.host_header)
		call->headers = curl_slist_append(call->headers, c->place.host_header);
	for (h = c->impersonation; h; h = h->next)
		call->headers = curl_slist_append(call->headers, h->data);
}

/* Credentials as they are now: the token is the last header, so that it can be replaced. */
static void set_credentials(struct rest_call *call)
{
	struct rest_client *c = call->c;
	const char *token = kube_creds_token(c->creds);
	const struct kube_grant *grant = kube_creds_grant(c->creds);
	struct curl_slist **last = &call->headers;
	struct str bearer;

	while (*last && !str_starts((*last)->data, "Authorization:"))
		last = &(*last)->next;
	headers_free(*last);
	*last = NULL;
	call->generation = kube_creds_generation(c->creds);
	if (token) {
		str_init(&bearer, 2 * 1024 * 1024);
		str_addf(&bearer, "Bearer %s", token);
		add_header(call, "Authorization", bearer.s);
		explicit_bzero(bearer.s, bearer.len);
		str_release(&bearer);
	}
	curl_easy_setopt(call->easy, CURLOPT_HTTPHEADER, call->headers);
	if (grant->cert.s) {
		struct http_settings own = c->settings;

		own.cert_data = (struct http_data){ grant->cert.s, grant->cert.len };
		own.key_data = (struct http_data){ grant->key.s, grant->key.len };
		http_setup(call->easy, &c->place.endpoint, &own);
	}
}

static void set_deadline(struct rest_call *call)
{
	int64_t left = 0;

	if (call->request.deadline_ms && !call->request.watch) {
		left = call->request.deadline_ms - clock_mono_ms(call->c->clock);
		if (left < 1)
			left = 1;
		if (left > INT64_C(86400000))
			left = INT64_C(86400000);
	}
	curl_easy_setopt(call->easy, CURLOPT_TIMEOUT_MS, (long)left);
}

/* Sends it with the credentials that are ready. */
static int call_launch(struct rest_call *call)
{
	struct rest_client *c = call->c;
	int rc;

	str_release(&call->answer.body);
	answer_init(&call->answer);
	str_clear(&call->line);
	err_clear(&call->err);
	call->detail[0] = '\0';
	call->ok = false;
	call->counted_in = 0;
	call->sent_ms = call->heard_ms = clock_mono_ms(c->clock);
	set_credentials(call);
	set_deadline(call);
	/* Beside the one connection that all others share. */
	if (call->request.alone && !c->widened)
		http_loop_connections(c->loop, 2);
	rc = http_loop_add(c->loop, call->easy, &call->err);
	if (rc)
		return rc;
	if (call->state == CALL_WAITING)
		c->n_waiting--;
	call->state = CALL_FLYING;
	c->cost.requests++;
	c->cost.bytes_out += call->url.len + call->upload.len;
	return 0;
}

static void call_wait(struct rest_call *call)
{
	call->state = CALL_WAITING;
	call->c->n_waiting++;
}

/* ---- its end ---- */

static struct rest_ended call_as_ended(const struct rest_call *call, CURLcode rc)
{
	const struct rest_client *c = call->c;
	int64_t now_ms = clock_mono_ms(c->clock);
	int64_t since_ms = call->sent_ms == REST_UNKNOWN_TIME ? call->begun_ms : call->sent_ms;

	return (struct rest_ended){ .place = &c->place,
		.settings = &c->settings,
		.creds = c->creds,
		.reach = &c->reach,
		.easy = call->easy,
		.rc = rc,
		.detail = call->detail,
		.status = call->answer.status,
		.body = &call->answer.body,
		.content_type = call->content_type,
		.location = call->location,
		.seconds = (double)(now_ms - since_ms) / 1000,
		.others = call->sent_ms != REST_UNKNOWN_TIME && c->heard_ms > call->sent_ms,
		.silent_s = call->answer.status ? (double)(now_ms - call->heard_ms) / 1000 : 0 };
}

static bool is_refusal_cut(const struct rest_call *call, CURLcode rc)
{
	return call->answer.status >= 400 &&
	       (rc == CURLE_PARTIAL_FILE || rc == CURLE_HTTP2_STREAM || rc == CURLE_RECV_ERROR);
}

static int call_judge(struct rest_call *call, CURLcode rc)
{
	struct rest_ended ended = call_as_ended(call, rc);

	if (call->err.code)
		return call->err.code;
	/* A server that closes the connection of whom it refuses takes the answer's end with it. */
	if (rc != CURLE_OK && !is_refusal_cut(call, rc))
		return rest_error_transport(&ended, &call->err);
	if (!call->ok)
		return rest_error_status(&ended, &call->answer, &call->err);
	if (call->line.len)
		return err_set(&call->err, ERR_IO, "%s broke off in the middle of an object",
			call->c->place.endpoint.text);
	return 0;
}

static void call_done(struct http_owner *owner, CURLcode rc)
{
	struct rest_call *call = (struct rest_call *)(void *)owner;
	struct rest_client *c = call->c;

	count_in(call);
	if ((rc == CURLE_OK || is_refusal_cut(call, rc)) && call->answer.status == 401 &&
		!call->renewed && kube_creds_refused(c->creds, call->generation)) {
		call->renewed = true;
		call_wait(call);
		return;
	}
	call->rc = call_judge(call, rc);
	call->state = CALL_DONE;
	if (call->request.alone && !c->widened)
		http_loop_connections(c->loop, 1);
	if (!call->request.watch)
		c->n_busy--;
}

/* ---- what callers use: calls ---- */

static int call_start(struct rest_call *call)
{
	struct rest_client *c = call->c;
	int rc;

	if (c->n_waiting) {
		call_wait(call);
		return 0;
	}
	rc = kube_creds_step(c->creds, &call->err);
	if (rc < 0)
		return rc;
	if (rc == 0) {
		call_wait(call);
		return 0;
	}
	return call_launch(call);
}

static struct rest_call *call_new(struct rest_client *c, const struct rest_request *request)
{
	struct rest_call *call = xcalloc(1, sizeof(*call));

	call->c = c;
	call->state = CALL_DONE;
	call->easy = curl_easy_init();
	call->owner.done = call_done;
	call->request = *request;
	call->begun_ms = clock_mono_ms(c->clock);
	call->heard_ms = call->sent_ms = REST_UNKNOWN_TIME;
	answer_init(&call->answer);
	str_init(&call->line, body_max(call));
	str_init(&call->url, URL_MAX);
	str_init(&call->upload, BODY_MAX);
	str_addf(&call->url, "%s%s", c->place.endpoint.url, request->path);
	call->has_upload = request->body != NULL || request->method == REST_POST;
	if (request->body)
		str_add_mem(&call->upload, request->body, request->len);
	list_push(&c->calls, call);
	return call;
}

struct rest_call *rest_start(
	struct rest_client *c, const struct rest_request *request, struct err *err)
{
	struct rest_call *call = call_new(c, request);
	int rc = 0;

	if (!call->easy)
		rc = err_set(&call->err, ERR_NOMEM, "libcurl made no handle");
	else if (call->url.full || call->upload.full)
		rc = err_set(&call->err, ERR_LIMIT, "a request that is too long to be sent");
	if (!rc) {
		make_headers(call, request->accept, request->content_type);
		setup(call);
		rc = call_start(call);
	}
	if (rc) {
		if (err)
			*err = call->err;
		rest_end(call);
		return NULL;
	}
	if (!request->watch)
		c->n_busy++;
	return call;
}

bool rest_done(const struct rest_call *call)
{
	return call->state == CALL_DONE;
}

bool rest_answering(const struct rest_call *call)
{
	return call->ok;
}

bool rest_sent(const struct rest_call *call)
{
	curl_off_t begun_us = 0;
	long bytes = 0;

	if (call->state == CALL_WAITING)
		return call->renewed; /* the first time it was refused */
	/* The moment from which on it may have been written: the connection and TLS stand. */
	curl_easy_getinfo(call->easy, CURLINFO_PRETRANSFER_TIME_T, &begun_us);
	curl_easy_getinfo(call->easy, CURLINFO_REQUEST_SIZE, &bytes);
	return begun_us > 0 || bytes > 0 || call->answer.status;
}

int64_t rest_heard_ms(const struct rest_call *call)
{
	return call->answer.status ? call->heard_ms : REST_UNKNOWN_TIME;
}

int rest_result(struct rest_call *call, struct rest_answer *ret, struct err *err)
{
	if (ret) {
		*ret = call->answer;
		answer_init(&call->answer);
	}
	if (call->rc && err)
		*err = call->err;
	return call->rc;
}

void rest_end(struct rest_call *call)
{
	if (!call)
		return;
	if (call->request.alone && call->state == CALL_FLYING && !call->c->widened)
		http_loop_connections(call->c->loop, 1);
	call_leave(call);
	list_remove(call);
	if (call->easy)
		curl_easy_cleanup(call->easy);
	headers_free(call->headers);
	rest_answer_release(&call->answer);
	if (call->upload.len)
		explicit_bzero(call->upload.s, call->upload.len);
	str_release(&call->upload);
	str_release(&call->url);
	str_release(&call->line);
	free(call);
}

void rest_answer_release(struct rest_answer *a)
{
	str_release(&a->body);
	memset(a, 0, sizeof(*a));
}

/* ---- driving ---- */

static void launch_waiting(struct rest_client *c, int ready, const struct err *why)
{
	struct rest_call *call;

	for (call = c->calls; call; call = call->next) {
		if (call->state != CALL_WAITING)
			continue;
		if (ready > 0) {
			if (call_launch(call))
				call_fail(call, &(struct err){ call->err.code, "out of memory" });
		} else {
			call_fail(call, why);
		}
	}
}

static int step_woken(const struct rest_wait *wait, struct err *err)
{
	if (wait->cancelled && wait->cancelled(wait->arg))
		return err_set(err, ERR_CANCELLED, "asked to stop");
	return REST_STEP_WOKEN;
}

static bool any_flying(const struct rest_client *c)
{
	const struct rest_call *call;

	for (call = c->calls; call; call = call->next)
		if (call->state == CALL_FLYING)
			return true;
	return false;
}

/* While a plugin is at work: it is waited for, and streams are driven now and then. */
static int step_plugin(struct rest_client *c, const struct rest_wait *wait, struct err *err)
{
	int64_t now = clock_mono_ms(c->clock), until = wait->until_ms;
	bool flying = any_flying(c);
	enum kube_wait ended;

	if (flying && until > now + SLICE_MS)
		until = now + SLICE_MS;
	ended = kube_creds_wait(c->creds, wait->wake_fd, until);
	if (flying)
		http_loop_step(c->loop, -1, 0);
	if (ended == KUBE_WAIT_WOKEN)
		return step_woken(wait, err);
	return ended == KUBE_WAIT_ACTIVE || clock_mono_ms(c->clock) < wait->until_ms
		       ? REST_STEP_ACTIVE
		       : REST_STEP_TIME;
}

static int step_http(struct rest_client *c, const struct rest_wait *wait, struct err *err)
{
	int64_t until = wait->until_ms, slice = clock_mono_ms(c->clock) + SLICE_MS;

	/* With many on one connection libcurl 7.88.1 now and then takes in the end of one while it
	 * drives another, and waits for more: driven again, it finds it. */
	if (c->n_busy && until > slice)
		until = slice;
	switch (http_loop_step(c->loop, wait->wake_fd, until)) {
	case HTTP_STEP_WOKEN:
		return step_woken(wait, err);
	case HTTP_STEP_ACTIVE:
		return REST_STEP_ACTIVE;
	case HTTP_STEP_TIME:
		break;
	}
	return until < wait->until_ms ? REST_STEP_ACTIVE : REST_STEP_TIME;
}

/*
 * One connection is enough where calls share it. Where they do not, a watch would keep all others
 * waiting; libcurl looks again at those that wait for a connection only when they are added anew.
 */
static void widen(struct rest_client *c)
{
	struct rest_call *call;

	c->widened = true;
	http_loop_connections(c->loop, CONNECTIONS);
	for (call = c->calls; call; call = call->next) {
		/* What changes something is never sent again. */
		if (call->state != CALL_FLYING || call->answer.status || call->request.alone)
			continue;
		http_loop_remove(c->loop, call->easy);
		if (http_loop_add(c->loop, call->easy, &call->err))
			call->rc = ERR_NOMEM, call->state = CALL_DONE;
	}
}

int rest_step(struct rest_client *c, const struct rest_wait *wait, struct err *err)
{
	struct err why = { 0 };
	int rc;

	if (c->http1 && !c->widened)
		widen(c);
	if (c->n_waiting) {
		rc = kube_creds_step(c->creds, &why);
		if (rc == 0)
			return step_plugin(c, wait, err);
		launch_waiting(c, rc, &why);
		return REST_STEP_ACTIVE;
	}
	return step_http(c, wait, err);
}

static int call_late(const struct rest_call *call, struct err *err)
{
	struct rest_ended ended = call_as_ended(call, CURLE_OPERATION_TIMEDOUT);

	if (call->state == CALL_WAITING && !kube_creds_late(call->c->creds, ended.seconds, err))
		return ERR_TIMEOUT;
	return rest_error_late(&ended, err);
}

/* Whether something of it is still to come, and not just whenever something happens. */
static bool call_is_awaited(const struct rest_call *call)
{
	return call->state != CALL_DONE && !(call->request.watch && call->ok);
}

int rest_late(const struct rest_client *c, struct err *err)
{
	const struct rest_call *call, *longest = NULL;

	for (call = c->calls; call; call = call->next)
		/* Of those begun at once, the first: the others may wait for its connection. */
		if (call_is_awaited(call) && (!longest || call->begun_ms <= longest->begun_ms))
			longest = call;
	if (longest)
		return call_late(longest, err);
	return err_set(err, ERR_TIMEOUT,
		"%s answers, but not all that was to be asked was answered in time: set a longer "
		"timeout",
		c->place.endpoint.text);
}

int rest_run(struct rest_client *c, struct rest_call *call, const struct rest_wait *wait,
	struct err *err)
{
	struct rest_wait w = *wait;

	/* A call that has a deadline says itself, and better, what did not happen. */
	w.until_ms += ERROR_LATER_MS;
	while (!rest_done(call)) {
		int rc;

		if (clock_mono_ms(c->clock) >= w.until_ms)
			return call_late(call, err);
		rc = rest_step(c, &w, err);
		if (rc < 0)
			return rc;
		/* Woken for something else, which waits: its descriptor stays readable. */
		if (rc == REST_STEP_WOKEN && !rest_done(call)) {
			struct rest_wait blind = w;

			blind.wake_fd = -1;
			if (blind.until_ms > clock_mono_ms(c->clock) + SLICE_MS)
				blind.until_ms = clock_mono_ms(c->clock) + SLICE_MS;
			rest_step(c, &blind, err);
		}
	}
	return 0;
}

bool rest_shares(const struct rest_client *c)
{
	return !c->http1;
}

bool rest_busy(const struct rest_client *c)
{
	return c->n_busy > 0;
}

int rest_do(struct rest_client *c, const struct rest_request *request, const struct rest_wait *wait,
	struct rest_answer *ret, struct err *err)
{
	struct rest_request own = *request;
	struct rest_call *call;
	int rc;

	if (ret)
		answer_init(ret);
	if (!own.deadline_ms)
		own.deadline_ms = wait->until_ms;
	call = rest_start(c, &own, err);
	if (!call)
		return err && err->code ? (int)err->code : ERR_IO;
	rc = rest_run(c, call, wait, err);
	if (!rc)
		rc = rest_result(call, ret, err);
	rest_end(call);
	return rc;
}

int rest_get(struct rest_client *c, const char *path, const struct rest_wait *wait,
	struct rest_answer *ret, struct err *err)
{
	struct rest_request request = { .method = REST_GET, .path = path };

	return rest_do(c, &request, wait, ret, err);
}

/* ---- the client ---- */

static const struct http_words kube_words = { "certificate-authority", "client-certificate",
	"client-key", "tls-server-name", "cluster's server", NULL };

/* A token of the user's goes before a plugin's; a certificate and a token are used together. */
static void make_settings(struct rest_client *c)
{
	const struct kube_access *a = c->access;
	struct http_settings *s = &c->settings;

	s->words = &kube_words;
	s->proxy = c->place.proxy;
	s->server_name = a->server_name;
	s->insecure = a->insecure;
	s->ca = a->ca.s ? NULL : a->ca_file;
	s->ca_data = (struct http_data){ a->ca.s, a->ca.len };
	if ((!a->cert.s && !a->cert_file) || (!a->key.s && !a->key_file))
		return;
	s->cert = a->cert.s ? NULL : a->cert_file;
	s->cert_data = (struct http_data){ a->cert.s, a->cert.len };
	s->key = a->key.s ? NULL : a->key_file;
	s->key_data = (struct http_data){ a->key.s, a->key.len };
}

static bool is_header_char(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("!#$&'*+-.^_`|~", c));
}

static struct curl_slist *impersonate(
	struct curl_slist *list, const char *name, const char *extra, const char *value)
{
	struct str line;

	str_init(&line, URL_MAX);
	str_add(&line, name);
	/* What a header's name can't hold, as %XX (client-go's headerKeyEscape). */
	for (; extra && *extra; extra++) {
		if (is_header_char(*extra))
			str_add_char(&line, *extra);
		else
			str_addf(&line, "%%%02X", (unsigned char)*extra);
	}
	str_addf(&line, ": %s", value);
	list = curl_slist_append(list, line.s);
	str_release(&line);
	return list;
}

/* kubernetes.io, "Authenticating", user impersonation. */
static void make_impersonation(struct rest_client *c)
{
	const struct kube_access *a = c->access;
	struct curl_slist *list = NULL;
	size_t i;

	if (!a->as)
		return;
	list = impersonate(list, "Impersonate-User", NULL, a->as);
	if (a->as_uid)
		list = impersonate(list, "Impersonate-Uid", NULL, a->as_uid);
	for (i = 0; i < a->as_groups.n; i++)
		list = impersonate(list, "Impersonate-Group", NULL, a->as_groups.items[i]);
	for (i = 0; i < a->as_extra.n; i++)
		list = impersonate(list, "Impersonate-Extra-", a->as_extra.items[i].name,
			a->as_extra.items[i].value);
	c->impersonation = list;
}

struct rest_client *rest_client_new(
	const struct kube_access *access, const struct clock_source *clock, struct err *err)
{
	struct rest_client *c = xcalloc(1, sizeof(*c));
	int rc;

	c->access = access;
	c->clock = clock;
	rc = rest_place_make(&c->place, access, err);
	if (!rc && !http_takes_data() && (access->ca.s || access->cert.s || access->key.s))
		rc = err_set(err, ERR_CONFIG,
			"certificates as data need libcurl 7.77 or newer: give them as files");
	if (!rc) {
		c->loop = http_loop_new(clock, err);
		rc = c->loop ? 0 : ERR_NOMEM;
	}
	http_reach_init(&c->reach, c->loop);
	if (rc) {
		rest_client_free(c);
		return NULL;
	}
	c->http1 = !c->place.endpoint.tls;
	if (c->place.endpoint.connect_to)
		c->connect_to = curl_slist_append(NULL, c->place.endpoint.connect_to);
	make_settings(c);
	make_impersonation(c);
	c->creds = kube_creds_new(access, c->place.endpoint.tls, clock);
	return c;
}

void rest_client_free(struct rest_client *c)
{
	if (!c)
		return;
	while (c->calls)
		rest_end(c->calls);
	http_loop_free(c->loop);
	kube_creds_free(c->creds);
	curl_slist_free_all(c->connect_to);
	curl_slist_free_all(c->impersonation);
	rest_place_release(&c->place);
	free(c);
}

const char *rest_server(const struct rest_client *c)
{
	return c->place.endpoint.text;
}

void rest_drop(struct rest_client *c)
{
	struct err why = { 0 };
	struct rest_call *call;

	err_set(&why, ERR_IO, "the connection to %s was closed by us", c->place.endpoint.text);
	for (call = c->calls; call; call = call->next)
		if (call->state != CALL_DONE)
			call_fail(call, &why);
	if (!http_loop_reset(c->loop, NULL))
		http_reach_init(&c->reach, c->loop);
}

void rest_path_add(struct str *path, const char *text)
{
	for (; *text; text++) {
		if (isalnum((unsigned char)*text) || strchr("-._~", *text))
			str_add_char(path, *text);
		else
			str_addf(path, "%%%02X", (unsigned char)*text);
	}
}
