#include "config.h"

#include "base/str.h"
#include "base/mem.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Never written: every change makes room first. */
static const char str_empty[1];

void str_init(struct str *str, size_t max)
{
	*str = (struct str){ .s = (char *)(uintptr_t)str_empty, .max = max };
}

void str_release(struct str *str)
{
	if (str->cap)
		free(str->s);
	str_init(str, str->max);
}

void str_clear(struct str *str)
{
	str->full = false;
	str_truncate(str, 0);
}

void str_truncate(struct str *str, size_t len)
{
	if (!str->cap || len > str->len)
		return;
	str->len = len;
	str->s[len] = '\0';
}

static bool str_room(struct str *str, size_t more)
{
	size_t need;

	if (str->full || more > str->max || str->len > str->max - more) {
		str->full = true;
		return false;
	}
	need = str->len + more + 1;
	if (need > str->cap) {
		size_t cap = str->cap ? str->cap * 2 : 64;

		if (cap < need)
			cap = need;
		str->s = xrealloc(str->cap ? str->s : NULL, cap, 1);
		str->cap = cap;
	}
	return true;
}

void str_add_mem(struct str *str, const void *mem, size_t len)
{
	if (!len || !str_room(str, len))
		return;
	memcpy(str->s + str->len, mem, len);
	str->len += len;
	str->s[str->len] = '\0';
}

void str_add(struct str *str, const char *s)
{
	str_add_mem(str, s, strlen(s));
}

void str_add_char(struct str *str, char c)
{
	if (!str_room(str, 1))
		return;
	str->s[str->len++] = c;
	str->s[str->len] = '\0';
}

const char *str_int(char buf[STR_INT_MAX], int64_t value)
{
	uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
	char *digit = buf + STR_INT_MAX - 1;

	*digit = '\0';
	do {
		*--digit = (char)('0' + left % 10);
		left /= 10;
	} while (left);
	if (value < 0)
		*--digit = '-';
	return digit;
}

void str_add_int(struct str *str, int64_t value)
{
	char digits[STR_INT_MAX];

	str_add(str, str_int(digits, value));
}

void str_addf(struct str *str, const char *fmt, ...)
{
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (len <= 0 || !str_room(str, (size_t)len))
		return;
	va_start(ap, fmt);
	vsnprintf(str->s + str->len, (size_t)len + 1, fmt, ap);
	va_end(ap);
	str->len += (size_t)len;
}

char *str_take(struct str *str)
{
	char *s = str->cap ? str->s : xstrdup("");

	str_init(str, str->max);
	return s;
}

bool str_eq(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

bool str_starts(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool str_ends(const char *s, const char *suffix)
{
	size_t len = strlen(s), tail = strlen(suffix);

	return len >= tail && memcmp(s + len - tail, suffix, tail) == 0;
}
