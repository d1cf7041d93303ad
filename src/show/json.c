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

/* What must stand before a value: a comma, unless it is the first or belongs to a key. */
static void jw_before(struct json_writer *j)
{
	uint32_t bit = UINT32_C(1) << j->depth;

	if (j->after_key)
		j->after_key = false;
	else if (j->filled & bit)
		out_char(j->out, ',');
	j->filled |= bit;
	if (j->newline)
		out_char(j->out, '\n');
	j->newline = false;
}

static void jw_open(struct json_writer *j, char c)
{
	jw_before(j);
	out_char(j->out, c);
	if (++j->depth == JSON_DEPTH_MAX)
		abort();
	j->filled &= ~(UINT32_C(1) << j->depth);
}

static void jw_shut(struct json_writer *j, char c)
{
	if (j->depth-- == 0)
		abort();
	out_char(j->out, c);
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
	j->after_key = true;
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

static bool jw_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
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

		while (run < len && jw_plain((unsigned char)s[run]))
			run++;
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
			out_mem(j->out, s + i, n);
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

void jw_newline(struct json_writer *j)
{
	j->newline = true;
}
