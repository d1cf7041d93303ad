#include "config.h"

#include "base/civil.h"

enum {
	DAY_S = 86400,
	DAYS_OF_400_YEARS = 146097,
	DAYS_TO_1970 = 719162, /* from 0001-01-01 */
	DAYS_TO_MARCH = 306,   /* from 0000-03-01 to there */
};

/* For b > 0: rounds towards the past, where / rounds towards 0. */
static int64_t floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

bool civil_is_leap(int64_t year)
{
	return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static const short days_before[13] = { 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365 };

static int month_start(int64_t year, int month)
{
	return days_before[month - 1] + (month > 2 && civil_is_leap(year));
}

int civil_month_days(int64_t year, int month)
{
	return days_before[month] - days_before[month - 1] + (month == 2 && civil_is_leap(year));
}

/* Days from 1970-01-01 to the first of January. */
static int64_t year_start(int64_t year)
{
	int64_t past = year - 1;

	return past * 365 + floor_div(past, 4) - floor_div(past, 100) + floor_div(past, 400) -
	       DAYS_TO_1970;
}

int64_t civil_days(int64_t year, int month, int day)
{
	int64_t months = (int64_t)month - 1;
	int64_t years = floor_div(months, 12);

	if (year > CIVIL_YEAR_MAX)
		year = CIVIL_YEAR_MAX;
	if (year < -CIVIL_YEAR_MAX)
		year = -CIVIL_YEAR_MAX;
	year += years;
	month = (int)(months - years * 12) + 1;
	return year_start(year) + month_start(year, month) + day - 1;
}

int64_t civil_seconds(const struct civil *civil)
{
	return civil_days(civil->year, civil->month, civil->day) * DAY_S +
	       (int64_t)civil->hour * 3600 + (int64_t)civil->minute * 60 + civil->second;
}

/*
 * In years that begin in March the leap day is the last one, and the days before a month follow
 * from its number alone (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms",
 * days_from_civil and civil_from_days).
 */
static void set_date(int64_t days, struct civil *ret)
{
	int64_t from_march = days + DAYS_TO_1970 + DAYS_TO_MARCH;
	int64_t cycles = floor_div(from_march, DAYS_OF_400_YEARS);
	uint32_t rest = (uint32_t)(from_march - cycles * DAYS_OF_400_YEARS);
	uint32_t year = (rest - rest / 1460 + rest / 36524 - rest / 146096) / 365;
	uint32_t yday = rest - (year * 365 + year / 4 - year / 100);
	uint32_t month = (yday * 5 + 2) / 153; /* 0 is March */

	ret->day = (int)(yday - (month * 153 + 2) / 5 + 1);
	ret->month = (int)(month < 10 ? month + 3 : month - 9);
	ret->year = cycles * 400 + year + (month >= 10);
	ret->weekday = (int)(days + 4 - floor_div(days + 4, 7) * 7);
}

void civil_from_seconds(int64_t local_s, struct civil *ret)
{
	const int64_t limit = (int64_t)CIVIL_YEAR_MAX * 366 * DAY_S;
	int64_t days;
	int rest;

	if (local_s > limit)
		local_s = limit;
	if (local_s < -limit)
		local_s = -limit;
	days = floor_div(local_s, DAY_S);
	rest = (int)(local_s - days * DAY_S);
	set_date(days, ret);
	ret->hour = rest / 3600;
	ret->minute = rest / 60 % 60;
	ret->second = rest % 60;
}
