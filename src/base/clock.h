#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

/*
 * Time is injected: whoever needs it is given a clock, or the time itself. Monotonic time orders
 * and measures; wall time is for showing and for what must survive a restart. The two are never
 * mixed.
 */
struct clock_source {
	int64_t (*mono_ms)(void *arg); /* milliseconds since some fixed moment; never goes back */
	int64_t (*wall_us)(void *arg); /* microseconds since 1970-01-01T00:00:00Z */
	/* How many of the machine's milliseconds pass until mono_ms shows until_ms: for poll(2).
	 * 0: it does already; -1: never, as it stands still. NULL: it runs as the machine's does.
	 */
	int64_t (*wait_ms)(void *arg, int64_t until_ms);
	void *arg;
};

/* The machine's own: CLOCK_MONOTONIC and CLOCK_REALTIME. */
extern const struct clock_source clock_system;

int64_t clock_mono_ms(const struct clock_source *clock);
int64_t clock_wall_us(const struct clock_source *clock);
/*
 * How long to wait in poll(2) for a moment of this clock, in the machine's milliseconds, at most an
 * hour; -1: it does not come by itself (INT64_MAX, or a clock that stands still). Whoever changes a
 * clock's speed must wake those that wait.
 */
int clock_wait_ms(const struct clock_source *clock, int64_t until_ms);

/*
 * a - b, kept within a quarter of 64 bits: times that a server chose may be anything, and what is
 * computed from the difference must not overflow.
 */
int64_t clock_minus(int64_t a, int64_t b);

enum {
	CLOCK_TEXT_MAX = 40
};

/*
 * Writes RFC 3339 in UTC, with `digits` (0, 3 or 6) decimals of a second: 2026-01-02T03:04:05.678Z.
 * Years outside 0 to 9999 are written as they are. buf holds at least CLOCK_TEXT_MAX bytes.
 */
void clock_format_utc(char *buf, int64_t wall_us, int digits);

/*
 * Writes a duration as an operator says it, at most two units of which the first counts: "0s",
 * "9s", "4m", "41m", "2h", "3d", "18h57m". buf holds at least CLOCK_TEXT_MAX bytes. Negative
 * durations get a minus.
 */
void clock_format_age(char *buf, int64_t ms);

#endif
