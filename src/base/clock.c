#include "config.h"

#include "base/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static int64_t system_mono_ms(void *arg)
{
	struct timespec ts;

	(void)arg;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static int64_t system_wall_us(void *arg)
{
	struct timespec ts;

	(void)arg;
	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

const struct clock_source clock_system = {
	.mono_ms = system_mono_ms,
	.wall_us = system_wall_us,
};

int64_t clock_mono_ms(const struct clock_source *clock)
{
	return clock->mono_ms(clock->arg);
}

int64_t clock_wall_us(const struct clock_source *clock)
{
	return clock->wall_us(clock->arg);
}

int clock_wait_ms(const struct clock_source *clock, int64_t until_ms)
{
	enum {
		MOST_MS = 3600 * 1000
	};
	int64_t left;

	if (until_ms == INT64_MAX)
		return -1;
	left = clock->wait_ms ? clock->wait_ms(clock->arg, until_ms)
			      : clock_minus(until_ms, clock_mono_ms(clock));
	if (!clock->wait_ms && left < 0)
		left = 0;
	return left > MOST_MS ? MOST_MS : (int)left;
}

int64_t clock_minus(int64_t a, int64_t b)
{
	int64_t most = INT64_MAX / 4, diff;

	if (__builtin_sub_overflow(a, b, &diff))
		return a < b ? -most : most;
	return diff > most ? most : diff < -most ? -most : diff;
}

void clock_format_utc(char *buf, int64_t wall_us, int digits)
{
	int64_t sec = wall_us / 1000000, frac = wall_us % 1000000;
	char tail[16] = "";
	struct tm tm;
	time_t t;

	if (frac < 0) {
		frac += 1000000;
		sec--;
	}
	t = (time_t)sec;
	memset(&tm, 0, sizeof(tm));
	gmtime_r(&t, &tm);
	if (digits == 3)
		snprintf(tail, sizeof(tail), ".%03d", (int)(frac / 1000));
	else if (digits == 6)
		snprintf(tail, sizeof(tail), ".%06d", (int)frac);
	snprintf(buf, CLOCK_TEXT_MAX, "%04d-%02d-%02dT%02d:%02d:%02d%sZ", tm.tm_year + 1900,
		tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, tail);
}

/* A number and its unit, without printf: a long list has two ages in each line. */
static char *format_part(char *to, uint64_t value, char unit)
{
	char digits[20];
	size_t n = 0;

	do {
		digits[n++] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	while (n)
		*to++ = digits[--n];
	*to++ = unit;
	return to;
}

void clock_format_age(char *buf, int64_t ms)
{
	uint64_t s = (ms < 0 ? 0 - (uint64_t)ms : (uint64_t)ms) / 1000;
	char *to = buf;

	if (ms < 0 && s)
		*to++ = '-';
	if (s < 60) {
		to = format_part(to, s, 's');
	} else if (s < 3600) {
		to = format_part(to, s / 60, 'm');
	} else if (s < 86400) {
		to = format_part(to, s / 3600, 'h');
		if (s / 60 % 60)
			to = format_part(to, s / 60 % 60, 'm');
	} else {
		to = format_part(to, s / 86400, 'd');
	}
	*to = '\0';
}
