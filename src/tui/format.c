#include "config.h"

#include "tui/format.h"
#include "base/str.h"
#include "control/policy.h"
#include "show/chart-row.h"
#include "tui/view.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

static void sooner(int64_t *next_ms, int64_t at_ms)
{
	if (next_ms && at_ms < *next_ms)
		*next_ms = at_ms;
}

/* Below zero it is what is past an end, and grows as well. */
int64_t format_age_holds_ms(int64_t ms)
{
	int64_t size = ms < 0 ? -ms : ms;
	int64_t unit = size < 60000 ? 1000 : size < 86400000 ? 60000 : 86400000;

	return unit - size % unit;
}

static void format_age(char *buf, const struct model *m, int64_t ms, int64_t *next_ms)
{
	clock_format_age(buf, ms);
	sooner(next_ms, m->now_ms + format_age_holds_ms(ms));
}

void format_since(char *buf, const struct model *m, int64_t since_us, int64_t *next_ms)
{
	int64_t ms;

	if (since_us == TIME_UNKNOWN) {
		snprintf(buf, CLOCK_TEXT_MAX, "-");
		return;
	}
	ms = clock_minus(m->now_us, since_us) / 1000;
	/* Another machine's clock may be a little ahead of ours: that is no negative age. */
	format_age(buf, m, ms < 0 ? 0 : ms, next_ms);
}

void format_since_ms(char *buf, const struct model *m, int64_t since_ms, int64_t *next_ms)
{
	if (since_ms == TIME_UNKNOWN)
		snprintf(buf, CLOCK_TEXT_MAX, "-");
	else
		format_age(buf, m, since_ms > m->now_ms ? 0 : clock_minus(m->now_ms, since_ms),
			next_ms);
}

/* How far away a day is: what of it has to be told. */
enum day_span {
	DAY_UNKNOWN,
	DAY_TODAY,
	DAY_OF_YEAR,
	DAY_OLDER
};

static enum day_span format_span(const struct model *m, int64_t at_us, struct tm *ret)
{
	time_t at = (time_t)(at_us / 1000000), now = (time_t)(m->now_us / 1000000);
	struct tm today;

	if (at_us == TIME_UNKNOWN || !gmtime_r(&at, ret) || !gmtime_r(&now, &today))
		return DAY_UNKNOWN;
	if (ret->tm_year == today.tm_year && ret->tm_yday == today.tm_yday)
		return DAY_TODAY;
	return clock_minus(m->now_us, at_us) < INT64_C(300) * 86400 * 1000000 ? DAY_OF_YEAR
									      : DAY_OLDER;
}

/* Of another day than today the date, or whole. */
static void format_moment(char *buf, const struct model *m, int64_t at_us, bool whole)
{
	static const char *const months[] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul",
		"Aug", "Sep", "Oct", "Nov", "Dec" };
	struct tm tm;
	int len;

	switch (format_span(m, at_us, &tm)) {
	case DAY_UNKNOWN:
		snprintf(buf, CLOCK_TEXT_MAX, "-");
		return;
	case DAY_TODAY:
		snprintf(buf, CLOCK_TEXT_MAX, "%02d:%02d:%02d", tm.tm_hour, tm.tm_min, tm.tm_sec);
		return;
	case DAY_OF_YEAR:
		len = snprintf(buf, CLOCK_TEXT_MAX, "%s %02d", months[tm.tm_mon % 12], tm.tm_mday);
		if (whole)
			snprintf(buf + len, CLOCK_TEXT_MAX - (size_t)len, " %02d:%02d", tm.tm_hour,
				tm.tm_min);
		return;
	case DAY_OLDER:
		len = snprintf(buf, CLOCK_TEXT_MAX, "%04d-%02d", tm.tm_year + 1900, tm.tm_mon + 1);
		if (whole)
			snprintf(buf + len, CLOCK_TEXT_MAX - (size_t)len, "-%02d", tm.tm_mday);
	}
}

void format_clock(char *buf, const struct model *m, int64_t at_us)
{
	format_moment(buf, m, at_us, false);
}

void format_when(char *buf, const struct model *m, int64_t at_us)
{
	format_moment(buf, m, at_us, true);
}

/* Of the last days the day of the week tells more than the date, and leaves room for the time. */
static bool format_weekday(char *buf, const struct model *m, int64_t at_us)
{
	static const char *const days[] = { "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat" };
	time_t at = (time_t)(at_us / 1000000), now = (time_t)(m->now_us / 1000000);
	int64_t age_us = clock_minus(m->now_us, at_us);
	struct tm tm, today;

	if (at_us == TIME_UNKNOWN || age_us < 0 || age_us > INT64_C(6) * 86400 * 1000000 ||
		!gmtime_r(&at, &tm) || !gmtime_r(&now, &today) || tm.tm_yday == today.tm_yday)
		return false;
	snprintf(buf, CLOCK_TEXT_MAX, "%s %02d:%02d", days[tm.tm_wday % 7], tm.tm_hour, tm.tm_min);
	return true;
}

void format_event_time(char *buf, const struct model *m, const struct event *e)
{
	if (format_weekday(buf, m, e->at_us))
		return;
	if (e->at_us == TIME_UNKNOWN && e->token)
		snprintf(buf, CLOCK_TEXT_MAX, "rev %" PRId64, e->token);
	else
		format_clock(buf, m, e->at_us);
}

void format_picture_age(char *buf, const struct model *m, int64_t picture_ms, int64_t *next_ms)
{
	int64_t age;

	if (picture_ms == TIME_UNKNOWN) {
		snprintf(buf, CLOCK_TEXT_MAX, "never");
		return;
	}
	age = m->now_ms - picture_ms;
	if (age < 5000) {
		snprintf(buf, CLOCK_TEXT_MAX, "<5s");
		sooner(next_ms, picture_ms + 5000);
	} else if (age < 60000) {
		age -= age % 5000;
		clock_format_age(buf, age);
		sooner(next_ms, picture_ms + age + 5000);
	} else {
		format_age(buf, m, age, next_ms);
	}
}

/*
 * How finely a remaining time is shown: in steps as long as what is shown is at least half of what
 * was granted. By what is shown, not by what is, so that the number never rises but by a renewal.
 */
static int64_t lease_step(int64_t left, int64_t granted)
{
	static const int64_t steps[] = { 60000, 5000 };
	size_t i;

	for (i = 0; granted != TIME_UNKNOWN && i < sizeof(steps) / sizeof(steps[0]); i++)
		if (left >= 2 * steps[i] && (left - left % steps[i]) * 2 >= granted)
			return steps[i];
	return 1000;
}

int64_t format_lease(char *buf, const struct model *m, const struct singleton *s, int64_t *next_ms)
{
	int64_t left, step;

	if (s->lease_deadline_ms == TIME_UNKNOWN) {
		snprintf(buf, CLOCK_TEXT_MAX, "-");
		return TIME_UNKNOWN;
	}
	left = clock_minus(s->lease_deadline_ms, m->now_ms);
	step = lease_step(left, s->lease_granted_ms);
	if (left >= 0) {
		/* Rounded down, and true until it falls below that. */
		sooner(next_ms, m->now_ms + left % step + 1);
		left -= left % step;
		clock_format_age(buf, left);
		return left;
	}
	format_age(buf, m, left, next_ms);
	if (left > -1000)
		snprintf(buf, CLOCK_TEXT_MAX, "-0s");
	return left;
}

enum style style_of_state(enum state state)
{
	static const enum style map[STATE_COUNT] = {
#define STATE(id, word, letter, help) [STATE_##id] = STYLE_STATE_##id,
#include "model/states.def"
#undef STATE
	};

	return map[state];
}

enum style style_of_severity(enum severity severity)
{
	return severity == SEVERITY_CRIT   ? STYLE_FINDING_CRIT
	       : severity == SEVERITY_WARN ? STYLE_FINDING_WARN
					   : STYLE_FINDING_INFO;
}

enum style style_of_env(const char *environment)
{
	if (policy_is_prod(environment))
		return STYLE_ENV_PROD;
	if (strncasecmp(environment, "stag", 4) == 0)
		return STYLE_ENV_STAGING;
	if (strcasecmp(environment, "lab") == 0)
		return STYLE_ENV_LAB;
	return STYLE_ENV;
}

void format_env(char *buf, const char *environment)
{
	bool said = environment && environment[strspn(environment, " ")];
	size_t i;

	snprintf(buf, 32, "%s", said ? environment : "ENV NOT SET");
	for (i = 0; buf[i]; i++)
		if (buf[i] >= 'a' && buf[i] <= 'z')
			buf[i] = (char)(buf[i] - 32);
}

void format_bytes(char *buf, size_t size, uint64_t bytes)
{
	if (bytes < 1000)
		snprintf(buf, size, "%" PRIu64 " B", bytes);
	else if (bytes < 1000000)
		snprintf(buf, size, "%" PRIu64 " kB", bytes / 1000);
	else
		snprintf(buf, size, "%.1f MB", (double)bytes / 1e6);
}

void format_holder(char *buf, size_t size, const struct row *row)
{
	singleton_holder_words(row->s, buf, size);
}

void format_schedule(
	struct str *out, const struct model *m, const struct singleton *s, int64_t *next_ms)
{
	int64_t next_us, in_ms;

	chart_schedule_words(out, s, m->local, m->now_us, &next_us);
	if (next_us == TIME_UNKNOWN)
		return;
	/* The countdown is rounded up: it reads otherwise when a unit of it is over. */
	in_ms = (next_us - m->now_us) / 1000;
	sooner(next_ms, m->now_ms + (in_ms < 60000 ? in_ms % 1000 : in_ms % 60000) + 1);
}

/* MS details that hold a moment of our monotonic clock, shown as an age. */
static bool detail_is_moment(enum detail_id id)
{
	return id == DETAIL_TTL_READ || id == DETAIL_RENEWED || id == DETAIL_TERM_CHANGED ||
	       id == DETAIL_LEASES_LOST_AT;
}

static void format_ms(
	struct str *out, const struct model *m, const struct detail *d, int64_t *next_ms)
{
	char buf[CLOCK_TEXT_MAX];

	if (detail_is_moment(d->id)) {
		format_since_ms(buf, m, d->i, next_ms);
		str_addf(out, "%s ago", buf);
	} else if (d->id == DETAIL_TTL_DEADLINE) {
		int64_t left = clock_minus(d->i, m->now_ms);

		if (left < 0) {
			format_age(buf, m, left, next_ms);
		} else {
			clock_format_age(buf, left);
			sooner(next_ms, m->now_ms + left % 1000 + 1);
		}
		str_addf(out, "%s%s", left < 0 ? buf + (*buf == '-') : buf,
			left < 0 ? " past its end" : " left");
	} else if (d->i > -1000 && d->i < 1000) {
		str_addf(out, "%" PRId64 " ms", d->i);
	} else {
		clock_format_age(buf, d->i);
		str_add(out, buf);
	}
}

void format_detail(struct str *out, const struct model *m, const struct detail *d, int64_t *next_ms)
{
	char buf[CLOCK_TEXT_MAX];

	if (d->hidden) {
		str_add(out, "hidden");
		return;
	}
	switch (detail_word(d->id)->type) {
	case DETAIL_TYPE_TEXT:
		str_add(out, d->s);
		break;
	case DETAIL_TYPE_BOOL:
		str_add(out, d->i ? "yes" : "no");
		break;
	case DETAIL_TYPE_HEX:
		str_addf(out, "%" PRIx64, (uint64_t)d->i);
		break;
	case DETAIL_TYPE_TIME:
		clock_format_utc(buf, d->i, 0);
		str_add(out, buf);
		format_since(buf, m, d->i, next_ms);
		str_addf(out, " (%s ago)", buf);
		break;
	case DETAIL_TYPE_MS:
		format_ms(out, m, d, next_ms);
		break;
	default:
		str_addf(out, "%" PRId64 "%s", d->i, detail_unit(d->id));
	}
}

void format_speed(char *buf, int32_t thousandths)
{
	int32_t part = thousandths % 1000, digits = 3;

	if (!part) {
		snprintf(buf, FORMAT_SPEED_MAX, "x%" PRId32, thousandths / 1000);
		return;
	}
	for (; part % 10 == 0; part /= 10)
		digits--;
	snprintf(buf, FORMAT_SPEED_MAX, "x%" PRId32 ".%0*" PRId32, thousandths / 1000, (int)digits,
		part);
}
