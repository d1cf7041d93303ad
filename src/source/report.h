#ifndef SOURCE_REPORT_H
#define SOURCE_REPORT_H

#include <stddef.h>

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

#endif
