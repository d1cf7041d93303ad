#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A growing string with a cap. s is always terminated by NUL once something was added, and may hold
 * NULs before. When the cap would be passed, the addition is dropped, `full` is set and stays set:
 * add freely, look once at the end.
 */
struct str {
	char *s; /* never NULL after str_init: an empty string until something is added */
	size_t len;
	size_t cap;
	size_t max;
	bool full;
};

enum {
	STR_INT_MAX = 24 /* a number in decimal, with its end */
};

/* max is the largest length in bytes that it may grow to. Allocates nothing. */
void str_init(struct str *str, size_t max);
void str_release(struct str *str);

/* Forgets the contents and the full flag, and keeps the memory. */
void str_clear(struct str *str);
void str_truncate(struct str *str, size_t len);

void str_add(struct str *str, const char *s);
void str_add_mem(struct str *str, const void *mem, size_t len);
void str_add_char(struct str *str, char c);
/* In decimal; without printf's cost, for what is written a hundred thousand times. */
void str_add_int(struct str *str, int64_t value);
/* The same alone: somewhere in buf, with an end. Much cheaper than snprintf. */
const char *str_int(char buf[STR_INT_MAX], int64_t value);
void str_addf(struct str *str, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Hands the memory to the caller, who frees it; the str is empty again. Never NULL. */
char *str_take(struct str *str);

/* Whether a is b; both may be NULL, and NULL equals NULL only. */
bool str_eq(const char *a, const char *b);
bool str_starts(const char *s, const char *prefix);
bool str_ends(const char *s, const char *suffix);

#endif
