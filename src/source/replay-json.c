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

int64_t replay_number(const struct json_node *value)
{
	return json_node_is(value, JSON_KIND_NUMBER) ? value->number : TIME_UNKNOWN;
}

int64_t replay_moment(const struct json_node *value)
{
	int64_t ms = replay_number(value);

	return ms == TIME_UNKNOWN ? ms : clock_minus(ms, -(int64_t)REPLAY_START_MS);
}

bool replay_big(const struct json_node *value, int base, int64_t *ret)
{
	const char *text = json_node_text(value);
	char *end;

	if (json_node_is(value, JSON_KIND_NUMBER)) {
		*ret = value->number;
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

int64_t replay_time(const struct json_node *value)
{
	const char *text = json_node_text(value);
	int64_t us;

	if (text && parse_utc(text, &us))
		return us;
	return replay_big(value, 10, &us) ? us : TIME_UNKNOWN;
}

enum tristate replay_tristate(const struct json_node *value)
{
	if (json_node_is(value, JSON_KIND_TRUE))
		return TRI_YES;
	return json_node_is(value, JSON_KIND_FALSE) ? TRI_NO : TRI_UNKNOWN;
}

bool replay_true(const struct json_node *object, const char *name)
{
	return json_node_is(json_node_get(object, name), JSON_KIND_TRUE);
}

const char *replay_text(struct str *s, const struct json_node *value)
{
	const char *text = json_node_text(value);

	if (!text)
		return NULL;
	str_clear(s);
	text_escape_again(s, text, TEXT_BYTES_MAX);
	return s->s;
}

char *replay_text_copy(const struct json_node *value)
{
	struct str s;

	if (!json_node_text(value))
		return NULL;
	str_init(&s, TEXT_BYTES_MAX * 4 + 4);
	replay_text(&s, value);
	return str_take(&s);
}

const char *replay_word(const struct json_node *object, const char *name)
{
	const char *text = json_node_text(json_node_get(object, name));

	return text ? text : "";
}
