#ifndef TESTS_CONTRACT_CASE_H
#define TESTS_CONTRACT_CASE_H

#include <jansson.h>

#include "model/draft.h"
#include "model/role.h"
#include "model/thresholds.h"

/*
 * Fixtures: a picture, or several in a row, as JSON; tests/contract/cases/README.md describes the
 * form. These make the model's facts of it. What is wrong in a fixture ends the program with its
 * name.
 */
struct case_clock {
	int64_t start_us;  /* our wall clock at the start of the case */
	int64_t mono_ms;   /* ours */
	int64_t wall_us;   /* ours */
	int64_t server_us; /* the server's: ours plus the skew of the picture */
};

void case_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
/* The fixture that is being read, for case_fail. */
void case_name(const char *file);

/* "41m", "-90s", "2h" in milliseconds. */
int64_t case_duration(const char *text);
/* "2026-11-29T14:00:00Z" in microseconds since 1970. */
int64_t case_instant(const char *text);

/* A row, or the source itself (mechanism "source"); one reference, the caller's. */
struct singleton *case_singleton(
	struct draft *d, const json_t *row, const struct case_clock *clock);

void case_thresholds(const json_t *object, struct thresholds *to);
/* The roles; the texts stay the JSON's. Freed with case_roles_free. */
struct role *case_roles(const json_t *object, size_t *ret_n);
void case_roles_free(struct role *roles, size_t n);

#endif
