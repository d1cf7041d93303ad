#ifndef TUI_CONSOLE_H
#define TUI_CONSOLE_H

#include <stdbool.h>

struct err;
struct fleet;
struct settings;

struct console_options {
	const char *theme; /* NULL: the settings', else fitted to the terminal */
	bool ascii;        /* only ASCII, whatever the locale says */
	bool utf8;         /* the terminal's locale takes UTF-8 */
	bool no_color;
};

/*
 * Runs the console on a fleet that was started, until the user leaves. Returns the exit code: 0; or
 * a negative err_code with a sentence when the terminal can't be used (no terminal, TERM unknown).
 * The terminal is as it was, whatever happened.
 */
int console_run(struct fleet *fleet, const struct settings *settings,
	const struct console_options *options, struct err *err);

#endif
