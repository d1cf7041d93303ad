#include "config.h"

#include "base/moment.h"
#include "base/civil.h"
#include "base/err.h"
#include "base/mem.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const int64_t day_us = INT64_C(86400) * 1000000;
static const int64_t most_ms = INT64_C(1000) * 366 * 86400 * 1000;

int64_t moment_duration_ms(const char *text)
{
	static const struct {
		const char *unit;
		int64_t ms;
	} units[] = { { "", 1000 }, { "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 },
		{ "d", 86400000 } };
	char *end;
	int64_t n;
	size_t i;

	if (!isdigit((unsigned char)*text))
		return -1;
	n = strtoll(text, &end, 10);
	for (i = 0; i < ARRAY_LEN(units); i++)
		if (strcmp(end, units[i].unit) == 0)
			return n > most_ms / units[i].ms ? most_ms : n * units[i].ms;
	return -1;
}

/* Exactly n digits; moves on behind them. */
static bool take_digits(const char **at, int n, int *ret)
{
	int value = 0;

	for (; n > 0; n--, (*at)++) {
		if (!isdigit((unsigned char)**at))
			return false;
		value = value * 10 + (**at - '0');
	}
	*ret = value;
	return true;
}

static bool take_char(const char **at, char c)
{
	if (**at != c)
		return false;
	(*at)++;
	return true;
}

/* "2026-01-02T" */
static bool take_date(const char **at, struct civil *c)
{
	int year;

	if (!take_digits(at, 4, &year) || !take_char(at, '-') || !take_digits(at, 2, &c->month) ||
		!take_char(at, '-') || !take_digits(at, 2, &c->day) ||
		(!take_char(at, 'T') && !take_char(at, 't') && !take_char(at, ' ')))
		return false;
	c->year = year;
	return c->month >= 1 && c->month <= 12 && c->day >= 1 &&
	       c->day <= civil_month_days(c->year, c->month);
}

/* ".678" in microseconds; what is finer is dropped. */
static int64_t take_fraction(const char **at)
{
	int64_t us = 0, unit = 100000;

	if (**at != '.' || !isdigit((unsigned char)(*at)[1]))
		return 0;
	for ((*at)++; isdigit((unsigned char)**at); (*at)++, unit /= 10)
		us += (**at - '0') * unit;
	return us;
}

/* "03:04", "03:04:05.678" */
static bool take_time(const char **at, struct civil *c, int64_t *ret_us)
{
	*ret_us = 0;
	if (!take_digits(at, 2, &c->hour) || !take_char(at, ':') || !take_digits(at, 2, &c->minute))
		return false;
	if (take_char(at, ':')) {
		if (!take_digits(at, 2, &c->second))
			return false;
		*ret_us = take_fraction(at);
	}
	return c->hour < 24 && c->minute < 60 && c->second <= 60;
}

/* "Z", "+01:00", nothing: what the local time is ahead of UTC, in seconds. */
static bool take_offset(const char **at, int *ret_s)
{
	int sign = **at == '-' ? -1 : 1, hours, minutes;

	*ret_s = 0;
	if (!**at || take_char(at, 'Z') || take_char(at, 'z'))
		return true;
	if ((!take_char(at, '+') && !take_char(at, '-')) || !take_digits(at, 2, &hours) ||
		!take_char(at, ':') || !take_digits(at, 2, &minutes))
		return false;
	*ret_s = sign * (hours * 3600 + minutes * 60);
	return true;
}

/* Of the day, in 0 to a day: of a time before 1970, too. */
static int64_t time_of_day(int64_t at_us)
{
	return ((at_us % day_us) + day_us) % day_us;
}

/* The moment at which a time of the day is meant. */
static int64_t on_its_day(int64_t time_us, const struct moment_span *span)
{
	int64_t near_us = span->newest ? span->last_us : span->first_us;
	int64_t at_us = near_us - time_of_day(near_us) + time_of_day(time_us);

	if (span->newest)
		return at_us > near_us ? at_us - day_us : at_us;
	return at_us < near_us ? at_us + day_us : at_us;
}

static bool parse_instant(const char *text, const struct moment_span *span, int64_t *ret_us)
{
	struct civil c = { .year = 1970, .month = 1, .day = 1 };
	bool dated = strchr(text, '-') == text + 4;
	int64_t fraction, at_us;
	int offset_s;

	if ((dated && !take_date(&text, &c)) || !take_time(&text, &c, &fraction) ||
		!take_offset(&text, &offset_s) || *text)
		return false;
	at_us = (civil_seconds(&c) - offset_s) * 1000000 + fraction;
	*ret_us = dated ? at_us : on_its_day(at_us, span);
	return true;
}

static bool parse_distance(const char *text, const struct moment_span *span, int64_t *ret_us)
{
	bool back = *text == '-';
	int64_t ms = moment_duration_ms(text + (*text == '-' || *text == '+'));

	if (ms < 0)
		return false;
	*ret_us = back ? span->minus_us - ms * 1000 : span->plus_us + ms * 1000;
	return true;
}

int moment_parse_meant(
	const char *text, const struct moment_span *span, int64_t *ret_us, struct err *err)
{
	int64_t at_us;

	if (strcmp(text, "start") == 0)
		at_us = span->first_us;
	else if (strcmp(text, "end") == 0)
		at_us = span->last_us;
	else if (!parse_distance(text, span, &at_us) && !parse_instant(text, span, &at_us))
		return err_set(err, ERR_USAGE,
			"not a time: write 03:12, 2026-01-02T03:12:00Z, +90s, 5m, -5m, start or "
			"end");
	*ret_us = at_us;
	return 0;
}

int moment_parse(const char *text, const struct moment_span *span, int64_t *ret_us, struct err *err)
{
	int64_t at_us;
	int rc = moment_parse_meant(text, span, &at_us, err);

	if (rc)
		return rc;
	if (at_us < span->first_us)
		at_us = span->first_us;
	*ret_us = at_us > span->last_us ? span->last_us : at_us;
	return 0;
}
