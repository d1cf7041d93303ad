#ifndef CONTROL_AUDIT_TAIL_H
#define CONTROL_AUDIT_TAIL_H

#include <stdbool.h>
#include <stdint.h>

/* What is added to the audit from now on, by whatever program. */
struct audit_tail {
	char *path; /* NULL: there is no state folder */
	int fd;     /* of the file that is read; it stays the same one when that is put aside; -1 */
	int64_t at;
};

/* folder: NULL: the XDG state folder. sim: what is done to built-in fleets. */
void audit_tail_init(struct audit_tail *tail, const char *folder, bool sim);
void audit_tail_release(struct audit_tail *tail);
/* Calls each with every whole line that is new. What can't be read is no news. */
void audit_tail_next(struct audit_tail *tail, void (*each)(void *arg, const char *line), void *arg);

#endif
