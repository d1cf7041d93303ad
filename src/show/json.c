#include "config.h"

#include "show/json.h"
#include "base/clock.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

void jw_init(struct json_writer *j, struct out *out)
{
	*j = (struct json_writer){ .out = out, .time_us = INT64_MIN };
}

/* What must stand before a value: a comma behind another, nothing behind a key or a bracket. */
static inline void jw_before(struct json_writer *j)
{
	if (j->comma)
		out_char(j->out, ',');
	j->comma = true;
	if (j->newline)
		out_char(j->out, '\n');
	j->newline = false;
}

static void jw_open(struct json_writer *j, char c)
{
	jw_before(j);
	out_char(j->out, c);
	j->comma = false;
	j->depth++;
}

static void jw_shut(struct json_writer *j, char c)
{
	if (j->depth-- == 0)
		abort();
	out_char(j->out, c);
	j->comma = true;
}

void jw_map(struct json_writer *j)
{
	jw_open(j, '{');
}

void jw_map_end(struct json_writer *j)
{
	jw_shut(j, '}');
}

void jw_list(struct json_writer *j)
{
	jw_open(j, '[');
}

void jw_list_end(struct json_writer *j)
{
	jw_shut(j, ']');
}

void jw_key(struct json_writer *j, const char *key)
{
	jw_before(j);
	out_char(j->out, '"');
	out_text(j->out, key);
	out_mem(j->out, "\":", 2);
	j->comma = false;
}

void jw_null(struct json_writer *j)
{
	jw_before(j);
	out_mem(j->out, "null", 4);
}

void jw_bool(struct json_writer *j, bool value)
{
	jw_before(j);
	out_text(j->out, value ? "true" : "false");
}

void jw_int(struct json_writer *j, int64_t value)
{
	jw_before(j);
	out_int(j->out, value);
}

static void jw_escape(struct json_writer *j, unsigned char c)
{
	static const char hex[] = "0123456789abcdef";
	char text[6] = { '\\', 'u', '0', '0', hex[c >> 4], hex[c & 15] };

	if (c == '"' || c == '\\') {
		text[1] = (char)c;
		out_mem(j->out, text, 2);
	} else if (c == '\n' || c == '\t') {
		text[1] = c == '\n' ? 'n' : 't';
		out_mem(j->out, text, 2);
	} else {
		out_mem(j->out, text, 6);
	}
}

/* A character of several bytes. */
static void jw_wide(struct json_writer *j, const char *s, size_t n, uint32_t cp)
{
	char escape[TEXT_JSON_MAX];
	size_t len = text_json_escape(escape, cp);

	out_mem(j->out, len ? escape : s, len ? len : n);
}

static bool jw_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* Whether any of eight bytes is zero (Alan Mycroft's test, 1987), in its highest bit. */
static uint64_t zero_byte(uint64_t word)
{
	return (word - 0x0101010101010101ULL) & ~word & 0x8080808080808080ULL;
}

/* How many bytes from s on can stand as they are; eight at a time, since nearly all of them can. */
static size_t jw_plain_run(const char *s, size_t len)
{
	const uint64_t ones = 0x0101010101010101ULL;
	size_t n = 0;

	for (; n + 8 <= len; n += 8) {
		uint64_t word;

		memcpy(&word, s + n, 8);
		if ((word & 0x8080808080808080ULL) |
			(~(word + 0x60 * ones) & 0x8080808080808080ULL) |
			zero_byte(word ^ 0x7f * ones) | zero_byte(word ^ '"' * ones) |
			zero_byte(word ^ '\\' * ones))
			break;
	}
	while (n < len && jw_plain((unsigned char)s[n]))
		n++;
	return n;
}

void jw_text(struct json_writer *j, const char *s)
{
	size_t len, i = 0;

	if (!s) {
		jw_null(j);
		return;
	}
	jw_before(j);
	out_char(j->out, '"');
	len = strlen(s);
	while (i < len) {
		size_t run = i, n;
		uint32_t cp;

		run += jw_plain_run(s + i, len - i);
		out_mem(j->out, s + i, run - i);
		i = run;
		if (i == len)
			break;
		n = text_decode(s + i, len - i, &cp);
		if (n == 0)
			out_mem(j->out, "\\ufffd", 6);
		else if (n == 1)
			jw_escape(j, (unsigned char)s[i]);
		else
			jw_wide(j, s + i, n, cp);
		i += n ? n : 1;
	}
	out_char(j->out, '"');
}

void jw_big(struct json_writer *j, int64_t value)
{
	jw_before(j);
	out_char(j->out, '"');
	out_int(j->out, value);
	out_char(j->out, '"');
}

void jw_hex(struct json_writer *j, uint64_t value)
{
	jw_before(j);
	out_char(j->out, '"');
	out_hex(j->out, value);
	out_char(j->out, '"');
}

void jw_time(struct json_writer *j, int64_t wall_us, int digits)
{
	if (wall_us == INT64_MIN) {
		jw_null(j);
		return;
	}
	/* Most rows of a large picture were first seen at one moment: its text is kept. */
	if (wall_us != j->time_us || digits != j->time_digits) {
		clock_format_utc(j->time_text, wall_us, digits);
		j->time_us = wall_us;
		j->time_digits = digits;
	}
	jw_before(j);
	out_char(j->out, '"');
	out_text(j->out, j->time_text);
	out_char(j->out, '"');
}

void jw_ms(struct json_writer *j, int64_t ms)
{
	if (ms == INT64_MIN)
		jw_null(j);
	else
		jw_int(j, ms);
}

void jw_key_text(struct json_writer *j, const char *key, const char *s)
{
	jw_key(j, key);
	jw_text(j, s);
}

void jw_key_int(struct json_writer *j, const char *key, int64_t value)
{
	jw_key(j, key);
	jw_int(j, value);
}

void jw_key_bool(struct json_writer *j, const char *key, bool value)
{
	jw_key(j, key);
	jw_bool(j, value);
}

void jw_key_time(struct json_writer *j, const char *key, int64_t wall_us, int digits)
{
	jw_key(j, key);
	jw_time(j, wall_us, digits);
}

void jw_key_ms(struct json_writer *j, const char *key, int64_t ms)
{
	jw_key(j, key);
	jw_ms(j, ms);
}

void jw_marks(struct json_writer *j, bool sim, bool record)
{
	if (sim)
		jw_key_bool(j, "sim", true);
	if (record)
		jw_key_bool(j, "replay", true);
}

void jw_newline(struct json_writer *j)
{
	j->newline = true;
}
