#include "config.h"

#include "source/report.h"
#include "base/mem.h"
#include "source/source.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void report_init(struct report *report)
{
	memset(report, 0, sizeof(*report));
}

void report_release(struct report *report)
{
	size_t i;

	for (i = 0; i < report->n; i++) {
		free(report->lines[i].level);
		free(report->lines[i].what);
		free(report->lines[i].text);
		free(report->lines[i].advice);
	}
	free(report->lines);
	report_init(report);
}

void report_add(struct report *report, const char *level, const char *what, const char *advice,
	const char *fmt, ...)
{
	char text[4096];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	MEM_GROW(report->lines, report->n, report->cap);
	report->lines[report->n++] = (struct report_line){
		.level = xstrdup(level),
		.what = xstrdup(what),
		.text = xstrdup(text),
		.advice = advice ? xstrdup(advice) : NULL,
	};
}
