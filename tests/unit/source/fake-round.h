#ifndef TESTS_FAKE_ROUND_H
#define TESTS_FAKE_ROUND_H

#include "source/source.h"

#include <stdio.h>

/*
 * The round, as source.h has it, without a session behind: what a source tells is kept in lists,
 * for a test to look at. It stands in place of the control layer's, so that a test of a source
 * links only up to its own layer.
 */
struct round {
	struct draft *draft;
	int64_t deadline_ms;
	int wake_fd;
	bool cancelled, one_shot;
	struct singleton **rows;
	size_t n_rows, cap_rows;
	bool complete, partial;
	size_t hides; /* rows that went because they can't be seen */
	struct singleton *self;
	char *server, *degraded;
	struct hidden *hidden;
	size_t n_hidden, cap_hidden;
	uint64_t requests, bytes_in, bytes_out;
	int64_t round_trip_ms;
	FILE *events;              /* where events are written, a line each; NULL: nowhere */
	const char *const *wanted; /* ids on the screen, ended by NULL; NULL: none */
	size_t puts;               /* singletons told since fake_round_init */
};

void fake_round_init(struct round *r);
void fake_round_release(struct round *r);
/* Starts a poll: so many milliseconds from now. */
void fake_round_start(struct round *r, int64_t timeout_ms);
/* The row of a path, or NULL. */
const struct singleton *fake_round_row(const struct round *r, const char *path);
/* Prints everything on standard output, a line each. */
void fake_round_print(const struct round *r);

#endif
