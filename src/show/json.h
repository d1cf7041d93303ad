#ifndef SHOW_JSON_H
#define SHOW_JSON_H

#include "base/clock.h"
#include "show/out.h"

/*
 * A streaming JSON writer (RFC 8259; jw_, since libjansson owns json_): commas are its own
 * business, nesting is checked. Texts may be any bytes: what is no UTF-8 becomes U+FFFD, so that
 * the output always is. 64-bit numbers that a reader could take for doubles are written as strings
 * (jw_big, jw_hex).
 */
struct json_writer {
	struct out *out;
	int depth;
	bool comma; /* the next value stands behind another */
	bool newline;
	int time_digits; /* of the time that was written last, and its text */
	int64_t time_us;
	char time_text[CLOCK_TEXT_MAX];
};

void jw_init(struct json_writer *j, struct out *out);

void jw_map(struct json_writer *j);
void jw_map_end(struct json_writer *j);
void jw_list(struct json_writer *j);
void jw_list_end(struct json_writer *j);
/* Our own keys only: plain ASCII, nothing to escape. */
void jw_key(struct json_writer *j, const char *key);

void jw_null(struct json_writer *j);
void jw_bool(struct json_writer *j, bool value);
void jw_int(struct json_writer *j, int64_t value);
void jw_text(struct json_writer *j, const char *s); /* NULL is null */
void jw_big(struct json_writer *j, int64_t value);
void jw_hex(struct json_writer *j, uint64_t value);
/* RFC 3339 in UTC with that many decimals; TIME_UNKNOWN (INT64_MIN) is null. */
void jw_time(struct json_writer *j, int64_t wall_us, int digits);
/* As json_int; INT64_MIN is null. */
void jw_ms(struct json_writer *j, int64_t ms);

void jw_key_text(struct json_writer *j, const char *key, const char *s);
void jw_key_int(struct json_writer *j, const char *key, int64_t value);
void jw_key_bool(struct json_writer *j, const char *key, bool value);
void jw_key_time(struct json_writer *j, const char *key, int64_t wall_us, int digits);
void jw_key_ms(struct json_writer *j, const char *key, int64_t ms);

/* "sim": true of what is of a built-in fleet, "replay": true of what is from a record; absent
 * otherwise. */
void jw_marks(struct json_writer *j, bool sim, bool record);

/* A line break before the next value, for those who read it. */
void jw_newline(struct json_writer *j);

#endif
