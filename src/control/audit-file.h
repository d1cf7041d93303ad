#ifndef CONTROL_AUDIT_FILE_H
#define CONTROL_AUDIT_FILE_H

#include "base/str.h"
#include "control/audit.h"

/* Private to control: the audit's file, line by line. */

/* The path of file i: 0 the current one. The caller frees. */
char *audit_path(const struct audit *audit, int i);

/* What a line is made from once its number is known, under the lock. */
typedef void (*audit_make_line)(void *arg, uint64_t n, struct str *line);

/*
 * Appends one line, whole or not at all, and syncs it. n 0: the next number, told in *ret_n.
 * reserve: bytes to set aside behind it.
 */
int audit_append(struct audit *audit, uint64_t n, size_t reserve, audit_make_line make, void *arg,
	uint64_t *ret_n, struct str *ret_line, struct err *err);

/* Starts the program and hands it the bytes; what fails is kept in the copy, for audit_copy_wait.
 */
void audit_copy_start(
	struct audit_copy *copy, const char *const *program, const char *mem, size_t len);

#endif
