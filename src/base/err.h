#ifndef BASE_ERR_H
#define BASE_ERR_H

/*
 * Errors return, with their text in the caller's buffer; only the top prints. A function that can
 * fail returns 0 or one of these negative codes, and leaves its results untouched on failure.
 */
enum err_code {
	ERR_NONE = 0,
	ERR_NOMEM = -1,        /* out of memory, or a cap of our own on a growth was reached */
	ERR_IO = -2,           /* a file or a socket failed */
	ERR_TIMEOUT = -3,      /* the deadline passed */
	ERR_CONNECT = -4,      /* nobody listens, no route, name not found */
	ERR_AUTH = -5,         /* credentials refused or expired */
	ERR_DENIED = -6,       /* authenticated, and not allowed */
	ERR_PROTO = -7,        /* the answer is not what the protocol says */
	ERR_LIMIT = -8,        /* the answer is larger than our cap */
	ERR_USAGE = -9,        /* wrong words on the command line */
	ERR_CONFIG = -10,      /* wrong configuration */
	ERR_CANCELLED = -11,   /* we were asked to stop */
	ERR_NOTFOUND = -12,    /* no such thing */
	ERR_UNSUPPORTED = -13, /* the server can't do it */
	ERR_TLS = -14,         /* the TLS handshake or the certificate's check failed */
	ERR_BUSY = -15,        /* the server is up and takes no more (full connection table, 429) */
};

enum {
	ERR_TEXT_MAX = 640
};

/* A code, and one sentence: what was tried, what answered, what to do. A zeroed struct is "no
 * error". */
struct err {
	enum err_code code;
	char text[ERR_TEXT_MAX];
};

/*
 * Fills err (which may be NULL) and returns the code, so that `return err_set(...)` reads well. The
 * text is cut at the buffer's end, and is plain text on one line whatever the words in it hold:
 * what is not printable becomes \xNN. Texts from a server are still to be sanitised by the caller
 * (text.h), which tells a backslash of theirs from one of ours.
 */
int err_set(struct err *err, enum err_code code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Puts "what: " before the text that is there; returns the code unchanged. */
int err_prefix(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

void err_clear(struct err *err);

#endif
