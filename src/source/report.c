#include "config.h"

#include "source/report.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "source/source.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	LINE_MAX_BYTES = 4096,
	SHOWN_MAX = 300
};

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
	char text[LINE_MAX_BYTES];
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

const char *report_shown(struct str *out, const char *raw)
{
	str_init(out, LINE_MAX_BYTES);
	text_escape_cut(out, raw, strlen(raw), SHOWN_MAX);
	return out->s;
}
