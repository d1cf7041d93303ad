#ifndef SHOW_JSON_H
#define SHOW_JSON_H

#include "base/clock.h"
#include "show/out.h"

/*
 * A streaming JSON writer (RFC 8259): commas are its own business, nesting is checked. Texts may be
 * any bytes: what is no UTF-8 becomes U+FFFD, so that the output always is. 64-bit numbers that a
 * reader could take for doubles are written as strings (json_big, json_hex).
 */
enum {
	JSON_DEPTH_MAX = 32
};

struct json {
	struct out *out;
	uint32_t filled; /* one bit for each level: something stands in it */
	int depth;
	bool after_key;
	bool newline;
	int time_digits; /* of the time that was written last, and its text */
	int64_t time_us;
	char time_text[CLOCK_TEXT_MAX];
};

void json_init(struct json *j, struct out *out);

void json_map(struct json *j);
void json_map_end(struct json *j);
void json_list(struct json *j);
void json_list_end(struct json *j);
/* Our own keys only: plain ASCII, nothing to escape. */
void json_key(struct json *j, const char *key);

void json_null(struct json *j);
void json_bool(struct json *j, bool value);
void json_int(struct json *j, int64_t value);
void json_text(struct json *j, const char *s); /* NULL is null */
void json_big(struct json *j, int64_t value);
void json_hex(struct json *j, uint64_t value);
/* RFC 3339 in UTC with that many decimals; TIME_UNKNOWN (INT64_MIN) is null. */
void json_time(struct json *j, int64_t wall_us, int digits);
/* As json_int; INT64_MIN is null. */
void json_ms(struct json *j, int64_t ms);

void json_key_text(struct json *j, const char *key, const char *s);
void json_key_int(struct json *j, const char *key, int64_t value);
void json_key_bool(struct json *j, const char *key, bool value);
void json_key_time(struct json *j, const char *key, int64_t wall_us, int digits);
void json_key_ms(struct json *j, const char *key, int64_t ms);

/* A line break before the next value, for those who read it. */
void json_newline(struct json *j);

#endif
