#ifndef SOURCE_REPORT_H
#define SOURCE_REPORT_H

#include <stddef.h>

struct str;

/* What `baton doctor` found about one source: lines of level ("ok", "note", "warn", "fail"), what,
 * text and advice. */
struct report_line {
	char *level, *what, *text;
	char *advice; /* NULL */
};

struct report {
	struct report_line *lines;
	size_t n, cap;
};

void report_init(struct report *report);
void report_release(struct report *report);

/* Remote text, raw, sanitised and cut for a line of the report. Initialises out, which the caller
 * releases; returns its text. */
const char *report_shown(struct str *out, const char *raw);

#endif
