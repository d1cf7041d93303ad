#include "config.h"

#include "model/record-put.h"
#include "base/clock.h"
#include "base/text.h"
#include "model/redact.h"

#include <inttypes.h>
#include <string.h>

static void put_comma(struct record_writer *w)
{
	if (w->comma)
		str_add_char(&w->text, ',');
	w->comma = true;
}

void put_key(struct record_writer *w, const char *key)
{
	put_comma(w);
	str_add_char(&w->text, '"');
	str_add(&w->text, key);
	str_add_mem(&w->text, "\":", 2);
	w->comma = false;
}

/* What stands before a value. */
static void put_before(struct record_writer *w, const char *key)
{
	if (key)
		put_key(w, key);
	put_comma(w);
}

void put_open(struct record_writer *w, const char *key, char bracket)
{
	put_before(w, key);
	str_add_char(&w->text, bracket);
	w->comma = false;
}

void put_close(struct record_writer *w, char bracket)
{
	str_add_char(&w->text, bracket);
	w->comma = true;
}

void put_null(struct record_writer *w, const char *key)
{
	put_before(w, key);
	str_add(&w->text, "null");
}

void put_bool(struct record_writer *w, const char *key, bool value)
{
	put_before(w, key);
	str_add(&w->text, value ? "true" : "false");
}

void put_int(struct record_writer *w, const char *key, int64_t value)
{
	put_before(w, key);
	str_add_int(&w->text, value);
}

void put_big(struct record_writer *w, const char *key, int64_t value)
{
	put_before(w, key);
	str_add_char(&w->text, '"');
	str_add_int(&w->text, value);
	str_add_char(&w->text, '"');
}

void put_hex(struct record_writer *w, const char *key, uint64_t value)
{
	put_before(w, key);
	str_addf(&w->text, "\"%" PRIx64 "\"", value);
}

/* How many bytes at the beginning stand for themselves in a JSON string. */
static size_t plain_run(const char *s)
{
	size_t n = 0;

	while ((unsigned char)s[n] >= 0x20 && s[n] != 0x7f && s[n] != '"' && s[n] != '\\' &&
		!(s[n] & 0x80))
		n++;
	return n;
}

/* A character of several bytes. */
static void put_wide(struct record_writer *w, const char *s, size_t n, uint32_t cp)
{
	char escape[TEXT_JSON_MAX];
	size_t len = text_json_escape(escape, cp);

	str_add_mem(&w->text, len ? escape : s, len ? len : n);
}

void put_text(struct record_writer *w, const char *key, const char *s)
{
	uint32_t cp;
	size_t n;

	if (!s) {
		put_null(w, key);
		return;
	}
	put_before(w, key);
	str_add_char(&w->text, '"');
	while (*s) {
		n = plain_run(s);
		str_add_mem(&w->text, s, n);
		s += n;
		if (!*s)
			break;
		n = *s & 0x80 ? text_decode(s, strlen(s), &cp) : 0;
		if (n)
			put_wide(w, s, n, cp);
		else if (*s == '"' || *s == '\\')
			str_addf(&w->text, "\\%c", *s);
		else if (*s & 0x80)
			str_add(&w->text, "\xef\xbf\xbd");
		else
			str_addf(&w->text, "\\u%04x", (unsigned char)*s);
		s += n ? n : 1;
	}
	str_add_char(&w->text, '"');
}

void put_name(struct record_writer *w, const char *key, const char *s)
{
	put_text(w, key, s && w->redact ? redact_name(w->redact, s) : s);
}

void put_path(struct record_writer *w, const char *key, const char *s)
{
	put_text(w, key, s && w->redact ? redact_path(w->redact, s) : s);
}

void put_id(struct record_writer *w, const char *key, const char *s)
{
	put_text(w, key, s && w->redact ? redact_id(w->redact, s) : s);
}

void put_word(struct record_writer *w, const char *key, const char *s)
{
	put_text(w, key, s && w->redact ? redact_word(w->redact, s) : s);
}

void put_time(struct record_writer *w, const char *key, int64_t wall_us)
{
	/* 0000-01-01 and 10000-01-01. */
	const int64_t least_us = INT64_C(-62167219200) * 1000000;
	const int64_t most_us = INT64_C(253402300800) * 1000000;
	char text[CLOCK_TEXT_MAX];

	if (wall_us == TIME_UNKNOWN) {
		put_null(w, key);
	} else if (wall_us < least_us || wall_us >= most_us) {
		put_big(w, key, wall_us);
	} else {
		clock_format_utc(text, wall_us, 6);
		put_text(w, key, text);
	}
}

void put_moment(struct record_writer *w, const char *key, int64_t mono_ms)
{
	put_number(w, key, mono_ms == TIME_UNKNOWN ? mono_ms : clock_minus(mono_ms, w->start_ms));
}

void put_number(struct record_writer *w, const char *key, int64_t value)
{
	if (value == TIME_UNKNOWN)
		put_null(w, key);
	else
		put_int(w, key, value);
}

void put_tristate(struct record_writer *w, const char *key, enum tristate value)
{
	if (value == TRI_UNKNOWN)
		put_null(w, key);
	else
		put_bool(w, key, value == TRI_YES);
}

void put_line(struct record_writer *w, const char *kind)
{
	str_clear(&w->text);
	w->comma = false;
	w->cut = false;
	put_open(w, NULL, '{');
	put_int(w, "t", w->now_ms - w->start_ms);
	put_text(w, "line", kind);
}

bool put_line_end(struct record_writer *w)
{
	put_close(w, '}');
	str_add_char(&w->text, '\n');
	if (w->text.full)
		return false;
	w->line(w->arg, w->text.s, w->text.len);
	return true;
}
