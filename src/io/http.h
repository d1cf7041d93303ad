#ifndef IO_HTTP_H
#define IO_HTTP_H

#include <stdbool.h>
#include <stdint.h>
#include <curl/curl.h>

struct clock_source;
struct err;

/*
 * What everything on libcurl shares: options from a configuration, a loop that drives many
 * transfers and waits with one poll, and failures told in words. Redirects are never followed;
 * nothing secret gets into a text.
 */
struct http_data {
	const void *s;
	size_t len;
};

/* What the operator calls the options, for messages. */
struct http_words {
	const char *ca, *cert, *key, *server_name, *endpoint;
	const char
		*other_port; /* what else may ask for a client certificate there; NULL: nothing */
};

struct http_settings {
	const char *ca;          /* file of CA certificates; NULL: the system's */
	const char *cert;        /* file of the client's certificate; NULL: none */
	const char *key;         /* file of its key; NULL: in cert */
	const char *server_name; /* the name that the server's certificate must bear; NULL: the
				    URL's host */
	const char *proxy;       /* URL; NULL: none, whatever the environment says */
	/* PEM in memory, before the files; libcurl copies it. From libcurl 7.77 on
	 * (http_takes_data). */
	struct http_data ca_data, cert_data, key_data;
	bool insecure;                  /* the server's certificate is not looked at */
	const struct http_words *words; /* NULL: ca, cert, key, server_name, endpoint */
};

/* Where a server is: a checked URL of scheme, host and port alone. */
struct http_endpoint {
	char *text;       /* "https://10.0.0.1:2379": sanitised, for messages */
	char *url;        /* what libcurl is given: its host is the server name where one is set */
	char *connect_to; /* the real host and port where url has another; NULL */
	bool tls;
};

/*
 * Parses an endpoint as operators write it: with http:// or https://, or without, which is https
 * where tls_default says so, and then with default_port when it names none. Credentials, a path or
 * a query in it are refused (ERR_CONFIG).
 */
int http_endpoint_parse(struct http_endpoint *ret, const char *text, bool tls_default,
	int default_port, const char *server_name, struct err *err);
void http_endpoint_release(struct http_endpoint *e);

/* One transfer's owner: done is called from http_loop_step when its transfer ended, never from
 * within a callback of curl's. */
struct http_owner {
	bool stays; /* one that went well stays in the loop until it is removed */
	void (*done)(struct http_owner *owner, CURLcode rc);
};

/* Many transfers, one thread. */
struct http_loop;

/* The clock is borrowed. NULL when libcurl can't start (err). To be called before there are
 * threads: sources open in main's. */
struct http_loop *http_loop_new(const struct clock_source *clock, struct err *err);
/* All transfers must have been removed. Closes the connections that libcurl kept. NULL is ignored.
 */
void http_loop_free(struct http_loop *loop);
int64_t http_loop_now_ms(const struct http_loop *loop);

/* How many connections it may open to one host; 1 where nobody says. */
void http_loop_connections(struct http_loop *loop, long n);
/* Closes all connections. All transfers must have been removed. ERR_NOMEM leaves it as it was. */
int http_loop_reset(struct http_loop *loop, struct err *err);

/* Adds a transfer whose CURLOPT_PRIVATE is its owner; removes one that must not end by itself. */
int http_loop_add(struct http_loop *loop, CURL *easy, struct err *err);
void http_loop_remove(struct http_loop *loop, CURL *easy);
/*
 * A connection that libcurl made (CURLOPT_CONNECT_ONLY) and on which its owner speaks by itself.
 * Both callbacks come from http_loop_step; either may take lines away and add some.
 */
struct http_line {
	curl_socket_t fd; /* CURL_SOCKET_BAD: not there yet, and only its time counts */
	bool room;        /* waits for room to send in, as well as for what comes */
	int64_t due_ms;   /* our monotonic clock; INT64_MAX: never */
	void (*flush)(struct http_line *line); /* before each wait: send what there is, set room */
	void (*ready)(struct http_line *line); /* something came, there is room, or it is due */
	size_t at;                             /* the loop's */
};
/* ERR_LIMIT when there are too many. */
int http_loop_join(struct http_loop *loop, struct http_line *line, struct err *err);
void http_loop_leave(struct http_loop *loop, struct http_line *line);

/* What ended a wait. */
enum http_step {
	HTTP_STEP_TIME,
	HTTP_STEP_ACTIVE,
	HTTP_STEP_WOKEN
};

/*
 * Drives all transfers, tells the owners of those that ended, and when none did waits for the
 * network until until_ms (our monotonic clock) at most. wake_fd (-1: none) ends the wait when it is
 * readable.
 */
enum http_step http_loop_step(struct http_loop *loop, int wake_fd, int64_t until_ms);

/* Whether certificates and keys can be given as data. */
bool http_takes_data(void);

/* Sets what every transfer has: the endpoint's TLS and proxy, no redirects, no signals, no
 * environment. */
void http_setup(CURL *easy, const struct http_endpoint *e, const struct http_settings *settings);

/*
 * How far the newest connection came of one transfer, or of several that share connections. libcurl
 * 7.88 itself knows no more of a TLS handshake that does not end than of a host that is not there,
 * and nothing of a connection that another transfer waits for.
 */
struct http_reach {
	const struct http_loop *loop;
	bool looking;     /* its name is being looked up */
	bool reached;     /* it was there when its socket was closed */
	bool before;      /* so was the one before it */
	int64_t begun_ms; /* our monotonic clock, when it was begun */
	bool began;       /* a request was about to leave on it (from libcurl 7.80 on) */
	bool spoke;       /* the owner's to set: the server has answered on one of them */
	unsigned open;    /* sockets, of all of them */
	curl_socket_t v4; /* its socket; CURL_SOCKET_BAD: none */
	curl_socket_t v6; /* both are tried at once where a name has both (RFC 8305) */
};

void http_reach_init(struct http_reach *reach, const struct http_loop *loop);
/* Keeps book of a transfer's connections, to be said before it is added to a loop. They may outlive
 * it; reach must outlive them. */
void http_watch(CURL *easy, struct http_reach *reach);

/*
 * Fills err with why a transfer failed: what was tried, what answered, what to do. detail is
 * libcurl's error buffer.
 */
int http_error(struct err *err, CURL *easy, CURLcode rc, const struct http_endpoint *e,
	const struct http_settings *settings, const struct http_reach *reach, const char *detail);

/* The same for one that did not end in time, where we kept the time ourselves. easy may be NULL. */
int http_error_late(struct err *err, CURL *easy, const struct http_endpoint *e,
	const struct http_reach *reach, double seconds);
/* Whether a request may have left on the transfer's connection: this, and TLS in it, stand. */
bool http_began(CURL *easy, const struct http_endpoint *e);

/*
 * What listens at an endpoint that did not speak HTTP/2, found out by one plain request each in
 * HTTP/1.1 and in TLS (`GET /version`, no credentials): fills err with it and returns
 * its code. Takes at most limit_ms.
 */
int http_diagnose(struct err *err, const struct http_endpoint *e,
	const struct http_settings *settings, int64_t limit_ms);

#endif
