#include "config.h"

#include "base/civil.h"
#include "base/clock.h"
#include "base/text.h"
#include "source/replay-inside.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	TEXT_BYTES_MAX = 64 * 1024,
};

int64_t replay_number(const json_t *value)
{
	return json_is_integer(value) ? json_integer_value(value) : TIME_UNKNOWN;
}

int64_t replay_moment(const json_t *value)
{
	int64_t ms = replay_number(value);

	return ms == TIME_UNKNOWN ? ms : clock_minus(ms, -(int64_t)REPLAY_START_MS);
}

bool replay_big(const json_t *value, int base, int64_t *ret)
{
	const char *text = json_string_value(value);
	char *end;

	if (json_is_integer(value)) {
		*ret = json_integer_value(value);
		return true;
	}
	if (!text || !*text)
		return false;
	errno = 0;
	*ret = base == 16 ? (int64_t)strtoull(text, &end, base) : strtoll(text, &end, base);
	return !errno && !*end;
}

/* n digits of a text that is known to be long enough; -1: they are none. */
static int digits(const char *s, int n)
{
	int value = 0;

	for (; n > 0; n--, s++) {
		if (!isdigit((unsigned char)*s))
			return -1;
		value = value * 10 + (*s - '0');
	}
	return value;
}

/* "2026-01-02T03:04:05.678901Z", as it is written. */
static bool parse_utc(const char *s, int64_t *ret_us)
{
	struct civil c = { 0 };
	int us;

	if (strlen(s) != 27 || s[4] != '-' || s[7] != '-' || s[10] != 'T' || s[13] != ':' ||
		s[16] != ':' || s[19] != '.' || s[26] != 'Z')
		return false;
	c.year = digits(s, 4);
	c.month = digits(s + 5, 2);
	c.day = digits(s + 8, 2);
	c.hour = digits(s + 11, 2);
	c.minute = digits(s + 14, 2);
	c.second = digits(s + 17, 2);
	us = digits(s + 20, 6);
	if (c.year < 0 || c.month < 1 || c.day < 1 || c.hour < 0 || c.minute < 0 || c.second < 0 ||
		us < 0)
		return false;
	*ret_us = civil_seconds(&c) * 1000000 + us;
	return true;
}

int64_t replay_time(const json_t *value)
{
	const char *text = json_string_value(value);
	int64_t us;

	if (text && parse_utc(text, &us))
		return us;
	return replay_big(value, 10, &us) ? us : TIME_UNKNOWN;
}

enum tristate replay_tristate(const json_t *value)
{
	if (!json_is_boolean(value))
		return TRI_UNKNOWN;
	return json_is_true(value) ? TRI_YES : TRI_NO;
}

const char *replay_text(struct str *s, const json_t *value)
{
	const char *text = json_string_value(value);

	if (!text)
		return NULL;
	str_clear(s);
	text_escape_again(s, text, TEXT_BYTES_MAX);
	return s->s;
}

char *replay_text_copy(const json_t *value)
{
	struct str s;

	if (!json_is_string(value))
		return NULL;
	str_init(&s, TEXT_BYTES_MAX * 4 + 4);
	replay_text(&s, value);
	return str_take(&s);
}

const char *replay_word(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? text : "";
}
