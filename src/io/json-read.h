#ifndef IO_JSON_READ_H
#define IO_JSON_READ_H

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Reading JSON (RFC 8259) without making a tree of it: for answers of which few fields are kept. A
 * cursor walks over a text that is there whole; a splitter takes a long answer in pieces and hands
 * out the items of its list one by one, so that the whole is never in memory. Nothing here calls
 * itself, and depth is bounded. Commas are not checked: what is read is right for any valid text,
 * and defined for any other.
 */
enum {
	JSON_DEPTH_MAX = 200
};

/* A string as it stands in the text, between its quotes. */
struct json_text {
	const char *s;
	size_t len;
	bool escaped; /* it holds a backslash */
};

struct json_read {
	const char *at, *end;
	bool bad; /* stays set: the text is cut, or no JSON; what is read then is empty */
};

void json_read_init(struct json_read *r, const char *text, size_t len);

/* The first byte of the next value: one of { [ " t f n, '0' for a number; 0 at the end or when bad.
 */
char json_peek(struct json_read *r);
/* Walks over the next value. */
void json_skip(struct json_read *r);
/* The same, and gives its text; empty when bad. */
struct json_text json_raw(struct json_read *r);

/* Goes into an object or an array. False when the next value is none: it is walked over. */
bool json_read_object(struct json_read *r);
bool json_read_array(struct json_read *r);
/*
 * The next member's name: its value must be read or skipped before the next call. False at the
 * object's end, which is walked over.
 */
bool json_read_member(struct json_read *r, struct json_text *ret);
/* Whether the array has another item, which must be read or skipped; its end is walked over. */
bool json_read_item(struct json_read *r);

/* The next value where it is a string, a whole number (of 64 bits), true or false; else it is
 * walked over, and false is returned and ret left alone. */
bool json_read_string(struct json_read *r, struct json_text *ret);
bool json_read_int(struct json_read *r, int64_t *ret);
bool json_read_bool(struct json_read *r, bool *ret);

/* Whether the text stands for just these bytes; escapes are not looked into. */
bool json_is(const struct json_text *text, const char *word);
/*
 * Writes what the text stands for, without an end; never longer than the text. Returns the length.
 * A lone surrogate becomes U+FFFD, an escape that is none a question mark.
 */
size_t json_decode(char *to, const struct json_text *text);
/* The value of four hexadecimal digits that stand there; -1: they are none, or fewer. */
int32_t json_hex4(const char *s, const char *end);

/* ---- a long list, in pieces ---- */

/* What a splitter finds. A negative return ends it with that error. */
struct json_list_ops {
	/* A member of the answer itself that is no list ("kind", "metadata"): the value's text.
	 * NULL: nobody looks at them. */
	int (*member)(void *arg, const struct json_text *name, const char *text, size_t len,
		struct err *err);
	/* One item of the list. */
	int (*item)(void *arg, const char *text, size_t len, struct err *err);
};

/* Where a walk over one value stands. */
struct json_scan {
	uint64_t open[JSON_DEPTH_MAX / 64 + 1]; /* which brackets are open: 1 for an array's */
	unsigned depth;
	bool in_string, escape, scalar;
};

/*
 * An answer that is one object with one array of many items (Kubernetes' lists: "items"; a Table's:
 * "rows"), taken apart as it comes.
 */
struct json_list {
	const struct json_list_ops *ops;
	void *arg;
	const char *list; /* the name of the array */
	size_t max;       /* the longest item or member */
	struct str hold;  /* the beginning of a value that has not come whole */
	struct str name;  /* of the member */
	struct json_scan scan;
	int state;
	size_t items; /* so far */
};

/* name and ops are borrowed. */
void json_list_init(struct json_list *l, const char *list, size_t max,
	const struct json_list_ops *ops, void *arg);
void json_list_release(struct json_list *l);
/* Takes the next piece. ERR_PROTO for what is no such answer, ERR_LIMIT for an item beyond max. */
int json_list_take(struct json_list *l, const char *bytes, size_t len, struct err *err);
/* After the last piece: 0 where the answer is whole, ERR_PROTO where it was cut. */
int json_list_end(const struct json_list *l, struct err *err);

#endif
