#ifndef BASE_CIVIL_H
#define BASE_CIVIL_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The proleptic Gregorian calendar, without a time zone (zone.h adds it). "Local seconds" count
 * from 1970-01-01T00:00:00 on the clock on the wall, whatever its zone; leap seconds don't exist
 * (POSIX.1-2017, 4.16). Years beyond +-CIVIL_YEAR_MAX are taken as that year, so that no input
 * overflows.
 */
enum {
	CIVIL_YEAR_MAX = 1000000000
};

struct civil {
	int64_t year; /* astronomical: 0 is the year before 1 */
	int month;    /* 1 to 12 */
	int day;      /* 1 to 31 */
	int hour, minute, second;
	int weekday; /* 0 is Sunday; computed only, never read */
};

bool civil_is_leap(int64_t year);

/* Days of a month (1 to 12). */
int civil_month_days(int64_t year, int month);

/* Days from 1970-01-01 to a date. A month or a day out of its range carries over: 32 October is
 * 1 November, month 0 is the December before. */
int64_t civil_days(int64_t year, int month, int day);

/* Local seconds of a date and time; every field may be out of its range and carries over. */
int64_t civil_seconds(const struct civil *civil);

void civil_from_seconds(int64_t local_s, struct civil *ret);

#endif
