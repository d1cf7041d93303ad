#ifndef BASE_MOMENT_H
#define BASE_MOMENT_H

#include <stdbool.h>
#include <stdint.h>

struct err;

/* A stretch of time in which somebody names a moment; all in microseconds of the wall clock. */
struct moment_span {
	int64_t first_us, last_us;
	int64_t plus_us;  /* what "+90s" and "90s" count from */
	int64_t minus_us; /* what "-90s" counts from */
	bool newest;      /* a time without a date is the last such one, not the first */
};

/*
 * Reads a moment as an operator writes it: RFC 3339 ("2026-01-02T03:04:05.678Z", with an offset,
 * or without a date: "03:04", "03:04:05", in UTC, the first such time from first_us on, or the last
 * up to last_us);
 * a distance ("+90s", "5m", "-2h", "1d"; a bare number is seconds); "start", "end". What lies
 * outside the span is taken as its nearer end. Returns 0 or ERR_USAGE.
 */
int moment_parse(
	const char *text, const struct moment_span *span, int64_t *ret_us, struct err *err);
/* The same as it was meant: what lies outside the span stays there. */
int moment_parse_meant(
	const char *text, const struct moment_span *span, int64_t *ret_us, struct err *err);

/*
 * Reads a duration: "500ms", "10s", "5m", "2h", "1d"; a bare number is seconds. Returns
 * milliseconds, at most a thousand years; -1 for what is none.
 */
int64_t moment_duration_ms(const char *text);

#endif
