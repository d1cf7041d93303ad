#include "config.h"

#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int err_set(struct err *err, enum err_code code, const char *fmt, ...)
{
	if (err) {
		va_list ap;

		va_start(ap, fmt);
		err->code = code;
		vsnprintf(err->text, sizeof(err->text), fmt, ap);
		va_end(ap);
	}
	return code;
}

int err_prefix(struct err *err, const char *fmt, ...)
{
	char head[ERR_TEXT_MAX / 2];
	char tail[ERR_TEXT_MAX];
	va_list ap;

	if (!err)
		return ERR_IO;
	va_start(ap, fmt);
	vsnprintf(head, sizeof(head), fmt, ap);
	va_end(ap);
	memcpy(tail, err->text, sizeof(tail));
	if (snprintf(err->text, sizeof(err->text), "%s: %s", head, tail) < 0)
		err->text[0] = '\0';
	return err->code;
}

void err_clear(struct err *err)
{
	if (err) {
		err->code = ERR_NONE;
		err->text[0] = '\0';
	}
}
