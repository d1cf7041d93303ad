#ifndef TUI_FORMAT_H
#define TUI_FORMAT_H

#include "base/clock.h"
#include "tui/canvas.h"
#include "model/listing.h"

struct event;
struct model;

/*
 * How values read on the screen. Each takes a place for the moment (our monotonic clock) when the
 * text will be another: the earliest is kept there, so that the console wakes up for what changes
 * and for nothing else.
 */

/* How long an age of ms reads the same. */
int64_t format_age_holds_ms(int64_t ms);
/* A duration since a wall-clock moment: "41m"; "-" when it is unknown. buf: CLOCK_TEXT_MAX. */
void format_since(char *buf, const struct model *m, int64_t since_us, int64_t *next_ms);
/* The same since a moment of our monotonic clock. */
void format_since_ms(char *buf, const struct model *m, int64_t since_ms, int64_t *next_ms);
/* The time of day in UTC where it is today's, else the date: "14:02:41", "Jan 02". */
void format_clock(char *buf, const struct model *m, int64_t at_us);

/* The same for sentences, which have room for the time of another day too: "Jan 02 23:50",
 * "2024-11-28". */
void format_when(char *buf, const struct model *m, int64_t at_us);

/* When an event was: "14:02:41", "Sun 02:10", "Nov 02"; where the system kept no time, its place in
 * the order: "rev 1377". */
void format_event_time(char *buf, const struct model *m, const struct event *e);

/*
 * The age of a source's picture, in steps, so that a healthy one doesn't change every second:
 * "<5s", "5s", "10s", ..., "1m".
 */
void format_picture_age(char *buf, const struct model *m, int64_t picture_ms, int64_t *next_ms);

/*
 * What remains of a lease: in steps of 5 s (rounded down) while more than half is left, then to the
 * second; past its end negative. Returns the remaining ms that the text stands for; TIME_UNKNOWN
 * and "-" when there is no lease.
 */
int64_t format_lease(char *buf, const struct model *m, const struct singleton *s, int64_t *next_ms);

/* The style of a state, of a severity, of an environment word. */
enum style style_of_state(enum state state);
enum style style_of_severity(enum severity severity);
enum style style_of_env(const char *environment);
/* "PROD", "STAGING"; "ENV NOT SET". buf: 32. */
void format_env(char *buf, const char *environment);

/* "812 B", "48 kB", "3.1 MB". */
void format_bytes(char *buf, size_t size, uint64_t bytes);

/* Who holds it, in few words: "worker-1 +2", "-". buf of size bytes. */
void format_holder(char *buf, size_t size, const struct row *row);

/* A job's schedule, zone, policy and next slot in one line; nothing when it has no schedule. */
void format_schedule(
	struct str *out, const struct model *m, const struct singleton *s, int64_t *next_ms);

/* How fast a clock goes, in thousandths of real time: "x1", "x10", "x0.25". */
enum {
	FORMAT_SPEED_MAX = 24
};
void format_speed(char *buf, int32_t thousandths);

/* One detail as text, without its name. */
void format_detail(
	struct str *out, const struct model *m, const struct detail *d, int64_t *next_ms);

#endif
