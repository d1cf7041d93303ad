#ifndef CONTROL_AUDIT_H
#define CONTROL_AUDIT_H

#include "base/err.h"
#include "model/forecast.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The record of what was done: $XDG_STATE_HOME/baton/audit.jsonl, one JSON object a line: the
 * intent before a request is sent, its outcome after. Both lines of an act bear its number n, which
 * rises from act to act; an intent without an outcome is an act whose end is not known (the program
 * or the machine ended in between).
 *
 * The file has mode 0600, is only appended to, and is synced to the disk with each line. Several
 * programs may write at once: each line is written whole, under a lock on a file beside it. At
 * AUDIT_FILE_MAX it becomes audit.jsonl.1, that one .2, and so on; what is behind AUDIT_FILES goes.
 */
enum {
	AUDIT_FILE_MAX = 8 * 1024 * 1024,
	AUDIT_FILES = 16,            /* the current one and those before it */
	AUDIT_LINE_MAX = 60 * 1024,  /* fits whole into a pipe; longer texts are cut */
	AUDIT_COPY_TIMEOUT_MS = 3000 /* how long the second copy's program may take at the end */
};

/*
 * Where it goes. A second copy, where the config asks for one: a program gets each line on its
 * standard input, without a shell, and syslog gets it as auth.notice. The file is what counts: a
 * copy that fails is told, and stops nothing.
 */
struct audit {
	char *folder;               /* NULL: neither XDG_STATE_HOME nor HOME is set */
	const char *const *program; /* argv, ended by NULL; NULL: none. Borrowed */
	bool syslog;
	bool sim;         /* of the built-in fleet: each line says so */
	int64_t file_max; /* AUDIT_FILE_MAX; tests take less */
};

/* What is recorded of one act. All borrowed. */
struct audit_entry {
	const char *id;
	enum verb verb;
	const char *identity, *key; /* of the target; NULL: the singleton itself */
	bool has_token;
	int64_t token;
	const char *request;             /* NULL: none was made */
	const char *reason;              /* NULL */
	const struct forecast *forecast; /* what was confirmed: digest, warnings; NULL */
	/* of an outcome: */
	const char *outcome; /* its word */
	const char *answer;  /* what the server said, or why not; NULL */
	const char *overlap; /* its word; NULL */
};

/* A program that was given a line; begun by audit_write, awaited by audit_copy_wait. */
struct audit_copy {
	pid_t pid; /* 0: none */
	struct err err;
};

/* folder: NULL: the XDG state folder. */
void audit_init(struct audit *audit, const char *folder);
/* The same for built-in fleets: in a folder `sim` of that one, never beside what was done to real
 * systems. */
void audit_init_sim(struct audit *audit, const char *folder);
void audit_release(struct audit *audit);

/*
 * Writes the intent and gives it its number. Space for the outcome is set aside where the file
 * system can, so that a disk that fills meanwhile does not hide it. A negative code: nothing was
 * written, and nothing may be sent.
 */
int audit_intent(struct audit *audit, const struct audit_entry *entry, int64_t now_us,
	uint64_t *ret_n, struct audit_copy *copy, struct err *err);
/* Writes the outcome of n. */
int audit_outcome(struct audit *audit, const struct audit_entry *entry, int64_t now_us, uint64_t n,
	struct audit_copy *copy, struct err *err);
/* Waits for the copy's program, at most AUDIT_COPY_TIMEOUT_MS; one that takes longer is killed. 0,
 * or the code and sentence of what went wrong with the copy. */
int audit_copy_wait(struct audit_copy *copy, struct err *err);

/* One act, as it was recorded: the intent and, where there is one, the outcome. Borrowed texts. */
struct audit_act {
	uint64_t n;
	const char *at, *outcome_at; /* RFC 3339; outcome_at NULL: there is no outcome */
	const char *id, *verb, *identity, *key, *request, *reason, *user, *host, *tty;
	const char *outcome; /* NULL: not known */
	const char *answer, *overlap;
};

/*
 * Reads the newest acts, at most max, the newest first, and calls each. Lines that are cut or no
 * JSON are counted in *ret_broken (may be NULL), and passed over. 0 also when there is no audit
 * yet. Walks backwards over the older files as far as it must.
 */
int audit_acts(const struct audit *audit, size_t max,
	void (*each)(void *arg, const struct audit_act *act), void *arg, size_t *ret_broken,
	struct err *err);
/* The same of lines that were read from elsewhere (a record), oldest first, each with its line
 * break. */
void audit_acts_of(const char *lines, size_t len, size_t max,
	void (*each)(void *arg, const struct audit_act *act), void *arg);
/* Calls each with every whole line, oldest first (for `baton audit --json`). */
int audit_lines(const struct audit *audit, void (*each)(void *arg, const char *line), void *arg,
	size_t *ret_broken, struct err *err);

#endif
