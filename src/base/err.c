#include "config.h"

#include "base/err.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Longer than what is kept of it, so that the cut is made where a character ends. */
enum {
	RAW_MAX = ERR_TEXT_MAX + 8
};

int err_set(struct err *err, enum err_code code, const char *fmt, ...)
{
	if (err) {
		char raw[RAW_MAX];
		va_list ap;

		va_start(ap, fmt);
		if (vsnprintf(raw, sizeof(raw), fmt, ap) < 0)
			raw[0] = '\0';
		va_end(ap);
		err->code = code;
		text_fit(err->text, sizeof(err->text), raw);
	}
	return code;
}

int err_prefix(struct err *err, const char *fmt, ...)
{
	char head[ERR_TEXT_MAX / 2];
	char raw[ERR_TEXT_MAX * 2];
	va_list ap;

	if (!err)
		return ERR_IO;
	va_start(ap, fmt);
	vsnprintf(head, sizeof(head), fmt, ap);
	va_end(ap);
	snprintf(raw, sizeof(raw), "%s: %s", head, err->text);
	text_fit(err->text, sizeof(err->text), raw);
	return err->code;
}

void err_clear(struct err *err)
{
	if (err) {
		err->code = ERR_NONE;
		err->text[0] = '\0';
	}
}
