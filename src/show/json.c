#include "config.h"

#include "show/json.h"
#include "base/clock.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

void json_init(struct json *j, struct out *out)
{
	*j = (struct json){ .out = out, .time_us = INT64_MIN };
}

/* What must stand before a value: a comma, unless it is the first or belongs to a key. */
static void json_before(struct json *j)
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

static void json_open(struct json *j, char c)
{
	json_before(j);
	out_char(j->out, c);
	if (++j->depth == JSON_DEPTH_MAX)
		abort();
	j->filled &= ~(UINT32_C(1) << j->depth);
}

static void json_shut(struct json *j, char c)
{
	if (j->depth-- == 0)
		abort();
	out_char(j->out, c);
}

void json_map(struct json *j)
{
	json_open(j, '{');
}

void json_map_end(struct json *j)
{
	json_shut(j, '}');
}

void json_list(struct json *j)
{
	json_open(j, '[');
}

void json_list_end(struct json *j)
{
	json_shut(j, ']');
}

void json_key(struct json *j, const char *key)
{
	json_before(j);
	out_char(j->out, '"');
	out_text(j->out, key);
	out_mem(j->out, "\":", 2);
	j->after_key = true;
}

void json_null(struct json *j)
{
	json_before(j);
	out_mem(j->out, "null", 4);
}

void json_bool(struct json *j, bool value)
{
	json_before(j);
	out_text(j->out, value ? "true" : "false");
}

void json_int(struct json *j, int64_t value)
{
	json_before(j);
	out_int(j->out, value);
}

static void json_escape(struct json *j, unsigned char c)
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

static bool json_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

void json_text(struct json *j, const char *s)
{
	size_t len, i = 0;

	if (!s) {
		json_null(j);
		return;
	}
	json_before(j);
	out_char(j->out, '"');
	len = strlen(s);
	while (i < len) {
		size_t run = i, n;
		uint32_t cp;

		while (run < len && json_plain((unsigned char)s[run]))
			run++;
		out_mem(j->out, s + i, run - i);
		i = run;
		if (i == len)
			break;
		n = text_decode(s + i, len - i, &cp);
		if (n == 0)
			out_mem(j->out, "\\ufffd", 6);
		else if (n == 1)
			json_escape(j, (unsigned char)s[i]);
		else
			out_mem(j->out, s + i, n);
		i += n ? n : 1;
	}
	out_char(j->out, '"');
}

void json_big(struct json *j, int64_t value)
{
	json_before(j);
	out_char(j->out, '"');
	out_int(j->out, value);
	out_char(j->out, '"');
}

void json_hex(struct json *j, uint64_t value)
{
	json_before(j);
	out_char(j->out, '"');
	out_hex(j->out, value);
	out_char(j->out, '"');
}

void json_time(struct json *j, int64_t wall_us, int digits)
{
	if (wall_us == INT64_MIN) {
		json_null(j);
		return;
	}
	/* Most rows of a large picture were first seen at one moment: its text is kept. */
	if (wall_us != j->time_us || digits != j->time_digits) {
		clock_format_utc(j->time_text, wall_us, digits);
		j->time_us = wall_us;
		j->time_digits = digits;
	}
	json_before(j);
	out_char(j->out, '"');
	out_text(j->out, j->time_text);
	out_char(j->out, '"');
}

void json_ms(struct json *j, int64_t ms)
{
	if (ms == INT64_MIN)
		json_null(j);
	else
		json_int(j, ms);
}

void json_key_text(struct json *j, const char *key, const char *s)
{
	json_key(j, key);
	json_text(j, s);
}

void json_key_int(struct json *j, const char *key, int64_t value)
{
	json_key(j, key);
	json_int(j, value);
}

void json_key_bool(struct json *j, const char *key, bool value)
{
	json_key(j, key);
	json_bool(j, value);
}

void json_key_time(struct json *j, const char *key, int64_t wall_us, int digits)
{
	json_key(j, key);
	json_time(j, wall_us, digits);
}

void json_key_ms(struct json *j, const char *key, int64_t ms)
{
	json_key(j, key);
	json_ms(j, ms);
}

void json_newline(struct json *j)
{
	j->newline = true;
}
