#include "config.h"

#include "base/zone-rule.h"

#include <string.h>

enum {
	HOUR_S = 3600,
	DAY_S = 86400,
	RULE_HOURS_MAX = 167, /* RFC 9636, 3.3.1 */
};

/* The text that is left to read. */
struct input {
	const char *s;
	size_t len;
};

static bool take(struct input *in, char c)
{
	if (!in->len || *in->s != c)
		return false;
	in->s++;
	in->len--;
	return true;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static bool take_number(struct input *in, int min, int max, int *ret)
{
	int n = 0;

	if (!in->len || !is_digit(*in->s))
		return false;
	while (in->len && is_digit(*in->s)) {
		n = n * 10 + (*in->s - '0');
		if (n > max)
			return false;
		in->s++;
		in->len--;
	}
	*ret = n;
	return n >= min;
}

/* [+-]hh[:mm[:ss]], in seconds. */
static bool take_time(struct input *in, int32_t *ret)
{
	bool negative = take(in, '-');
	int hours, minutes = 0, seconds = 0;

	if (!negative)
		take(in, '+');
	if (!take_number(in, 0, RULE_HOURS_MAX, &hours))
		return false;
	if (take(in, ':')) {
		if (!take_number(in, 0, 59, &minutes))
			return false;
		if (take(in, ':') && !take_number(in, 0, 59, &seconds))
			return false;
	}
	*ret = hours * HOUR_S + minutes * 60 + seconds;
	if (negative)
		*ret = -*ret;
	return true;
}

/* "CET", or "<+0530>" where it is not letters only. */
static bool take_abbr(struct input *in, char *ret)
{
	bool quoted = take(in, '<');
	size_t n = 0;

	while (n < in->len &&
		(is_letter(in->s[n]) ||
			(quoted && (is_digit(in->s[n]) || in->s[n] == '+' || in->s[n] == '-'))))
		n++;
	if (n < 3 || n > ZONE_ABBR_MAX)
		return false;
	memcpy(ret, in->s, n);
	ret[n] = '\0';
	in->s += n;
	in->len -= n;
	return !quoted || take(in, '>');
}

/* The sign of POSIX is the other way round: what is added to local time to get UTC. */
static bool take_offset(struct input *in, int32_t *ret)
{
	if (!take_time(in, ret))
		return false;
	*ret = -*ret;
	return true;
}

static bool take_weekday(struct input *in, struct zone_rule_date *ret)
{
	ret->kind = ZONE_RULE_WEEKDAY;
	return take_number(in, 1, 12, &ret->month) && take(in, '.') &&
	       take_number(in, 1, 5, &ret->week) && take(in, '.') &&
	       take_number(in, 0, 6, &ret->day);
}

static bool take_date(struct input *in, struct zone_rule_date *ret)
{
	bool ok;

	memset(ret, 0, sizeof(*ret));
	ret->time_s = 2 * HOUR_S;
	if (take(in, 'M')) {
		ok = take_weekday(in, ret);
	} else if (take(in, 'J')) {
		ret->kind = ZONE_RULE_JULIAN;
		ok = take_number(in, 1, 365, &ret->day);
	} else {
		ret->kind = ZONE_RULE_DAY;
		ok = take_number(in, 0, 365, &ret->day);
	}
	if (ok && take(in, '/'))
		ok = take_time(in, &ret->time_s);
	return ok;
}

/* Summer time without dates changes as in the United States, as in tzcode and Go. */
static void set_default_dates(struct zone_rule *rule)
{
	struct input in = { "M3.2.0,M11.1.0", 14 };

	take_date(&in, &rule->start);
	take(&in, ',');
	take_date(&in, &rule->end);
}

static bool take_summer(struct input *in, struct zone_rule *rule)
{
	rule->has_dst = true;
	rule->offset_s[1] = rule->offset_s[0] + HOUR_S;
	if (!take_abbr(in, rule->abbr[1]))
		return false;
	if (in->len && *in->s != ',' && !take_offset(in, &rule->offset_s[1]))
		return false;
	if (!in->len) {
		set_default_dates(rule);
		return true;
	}
	return take(in, ',') && take_date(in, &rule->start) && take(in, ',') &&
	       take_date(in, &rule->end);
}

int zone_rule_parse(const char *text, size_t len, struct zone_rule *ret)
{
	struct input in = { text, len };

	memset(ret, 0, sizeof(*ret));
	if (!take_abbr(&in, ret->abbr[0]) || !take_offset(&in, &ret->offset_s[0]))
		return -1;
	if (in.len && !take_summer(&in, ret))
		return -1;
	return in.len ? -1 : 0;
}

/* Days from 1970-01-01 to the date that a rule means in a year. */
static int64_t rule_days(const struct zone_rule_date *date, int64_t year)
{
	int64_t first;
	int day;

	if (date->kind == ZONE_RULE_DAY)
		return civil_days(year, 1, 1) + date->day;
	if (date->kind == ZONE_RULE_JULIAN)
		return civil_days(year, 1, date->day) + (date->day >= 60 && civil_is_leap(year));
	first = civil_days(year, date->month, 1);
	/* 1970-01-01 was a Thursday, weekday 4. */
	day = date->day - (int)(((first + 4) % 7 + 7) % 7);
	if (day < 0)
		day += 7;
	day += 7 * (date->week - 1);
	if (day >= civil_month_days(year, date->month))
		day -= 7;
	return first + day;
}

/* The instant at which summer time starts (dst) or ends in a year. */
static int64_t rule_instant(const struct zone_rule *rule, int64_t year, bool dst)
{
	const struct zone_rule_date *date = dst ? &rule->start : &rule->end;

	return rule_days(date, year) * DAY_S + date->time_s - rule->offset_s[dst ? 0 : 1];
}

static void set_at(const struct zone_rule *rule, bool dst, struct zone_at *ret)
{
	ret->offset_s = rule->offset_s[dst];
	ret->abbr = rule->abbr[dst];
	ret->dst = dst;
}

/*
 * The changes of three years are enough: a rule's time is at most a week off its date. Of two at
 * the same instant the start counts: "summer time all year" is written so that the end of a year's
 * falls on the start of the next's (RFC 9636, 3.3.1).
 */
void zone_rule_at(const struct zone_rule *rule, int64_t unix_s, struct zone_at *ret)
{
	struct civil civil;
	bool dst = false;

	ret->since_s = INT64_MIN;
	ret->until_s = INT64_MAX;
	civil_from_seconds(unix_s, &civil);
	/* Beyond the calendar's end (civil.h) the year would no longer be the instant's. */
	if (!rule->has_dst || civil.year >= CIVIL_YEAR_MAX || civil.year <= -CIVIL_YEAR_MAX) {
		set_at(rule, false, ret);
		return;
	}
	for (int64_t year = civil.year - 1; year <= civil.year + 1; year++) {
		for (int start = 0; start < 2; start++) {
			int64_t when = rule_instant(rule, year, start);

			if (when > unix_s && when < ret->until_s)
				ret->until_s = when;
			if (when > unix_s || when < ret->since_s)
				continue;
			if (when > ret->since_s || start)
				dst = start;
			ret->since_s = when;
		}
	}
	set_at(rule, dst, ret);
}
