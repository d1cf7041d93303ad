#ifndef BASE_ZONE_RULE_H
#define BASE_ZONE_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/zone.h"

/*
 * The POSIX TZ string ("CET-1CEST,M3.5.0,M10.5.0/3"): the footer of a TZif file, which speaks for
 * all times after its table, and what the environment's TZ may hold instead of a name
 * (POSIX.1-2017, 8.3; with RFC 9636 3.3.1's hours of -167 to 167).
 */
enum zone_rule_kind {
	ZONE_RULE_JULIAN, /* Jn: day 1 to 365, 29 February never counts */
	ZONE_RULE_DAY,    /* n: day 0 to 365, 29 February counts */
	ZONE_RULE_WEEKDAY /* Mm.w.d: the w'th weekday d of month m; week 5 is the last */
};

struct zone_rule_date {
	enum zone_rule_kind kind;
	int month, week, day;
	int32_t time_s; /* after local midnight; may be negative or beyond a day */
};

struct zone_rule {
	int32_t offset_s[2]; /* east of UTC: standard time, summer time */
	char abbr[2][ZONE_ABBR_MAX + 1];
	bool has_dst;
	struct zone_rule_date start, end; /* of summer time; in the clock that is on before it */
};

/* Reads the whole text. Returns 0, or -1 when it is no such string (ret is garbage). */
int zone_rule_parse(const char *text, size_t len, struct zone_rule *ret);

/* What holds at an instant; since_s and until_s are the neighbouring changes. abbr points into
 * rule. */
void zone_rule_at(const struct zone_rule *rule, int64_t unix_s, struct zone_at *ret);

#endif
