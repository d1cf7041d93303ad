#ifndef TUI_ACTIONS_H
#define TUI_ACTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One act of the audit, copied: whatever may be NULL in struct audit_act (control/audit.h) may
 * here. */
struct action_record {
	uint64_t n;
	char *at, *outcome_at;
	char *id, *verb, *identity, *key, *request, *reason, *user, *host, *tty;
	char *outcome, *answer, *overlap;
};

/* The newest acts of the audit, the newest first, as far as the file was read. */
struct actions {
	struct action_record *at;
	size_t n, cap;
	size_t broken;    /* lines that could not be read */
	char error[700];  /* why it could not be read; "" */
	int64_t stamp_ns; /* of the file when it was read */
	int64_t size;
	bool read; /* at least once */
};

struct fleet;

enum {
	ACTIONS_MOST = 500
};

void actions_release(struct actions *a);
/*
 * Reads the audit anew when its file is another than last time. folder: where it is; NULL: the XDG
 * state folder; sim: of the built-in fleet. Returns whether anything changed.
 */
bool actions_refresh(struct actions *a, const char *folder, bool sim);
/* The same for a record: what was done up to the moment that is shown. */
bool actions_refresh_past(struct actions *a, struct fleet *fleet);

#endif
