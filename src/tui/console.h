#ifndef TUI_CONSOLE_H
#define TUI_CONSOLE_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct fleet;
struct lesson_run;
struct settings;
struct vclock;

/*
 * A clock of its own for what is shown, as the built-in fleet and a record that is replayed have:
 * pause, speed and step work on it. All moments are on its monotonic side.
 */
struct console_time {
	struct vclock *clock; /* the fleet's */
	const char *mark;     /* in the header: "SIM", "REPLAY" */
	/* The moment of the next thing that happens after another, for step; INT64_MAX: none. NULL:
	 * a step is a second. */
	int64_t (*next_ms)(void *arg, int64_t after_ms);
	/* For what can be gone back in: from where to where, and where a finding begins after a
	 * moment (back: before it); INT64_MAX: nowhere. NULL: it only goes on. */
	int64_t (*finding_ms)(void *arg, int64_t at_ms, bool back);
	int64_t first_ms, last_ms;
	void *arg;
};

struct console_options {
	const char *theme; /* NULL: the settings', else fitted to the terminal */
	bool ascii;        /* only ASCII, whatever the locale says */
	bool utf8;         /* the terminal's locale takes UTF-8 */
	bool no_color;
	const struct console_time *time; /* NULL: live */
	const char *hello;               /* said in the last line until the first key; NULL */
	struct lesson_run *lesson;       /* on that clock; NULL: none */
};

/*
 * Runs the console on a fleet that was started, until the user leaves. Returns the exit code: 0; or
 * a negative err_code with a sentence when the terminal can't be used (no terminal, TERM unknown).
 * The terminal is as it was, whatever happened. With any other code a sentence says that a record
 * which was being made could not be ended (err->code is 0 where there is none).
 */
int console_run(struct fleet *fleet, const struct settings *settings,
	const struct console_options *options, struct err *err);

#endif
