#ifndef IO_PG_EXPLAIN_H
#define IO_PG_EXPLAIN_H

struct err;

/*
 * What a server's error in a statement means, in a sentence; message is raw. Returns and sets the
 * code.
 */
int pg_explain_statement(const char *sqlstate, const char *message, const char *place,
	const char *user, struct err *err);

/* What libpq says of settings that it can't read: ERR_CONFIG, without repeating what may be a part
 * of a password. */
int pg_explain_settings(const char *raw, struct err *err);

#endif
