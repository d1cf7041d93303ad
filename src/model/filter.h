#ifndef MODEL_FILTER_H
#define MODEL_FILTER_H

#include "model/board.h"

struct err;
struct str;

/*
 * The filter language of the board and of `list`: words that must all hold, separated by spaces.
 *
 *	text		part of the id, the name, the role, a holder or a waiter, without regard to
 *case "some text"	the same, with spaces, and never read as a field !word		the opposite
 *of any word state:dup,stale	one of several values; a state may be cut short as far as it is
 *unique source: env: mech: finding: holder: waiter: name: role: id:	(text fields match a part)
 *	is:need is:waited is:role is:source
 *	age>5m wait>=30s lease<5s token>1000	with > >= < <= =; what is unknown matches none of
 *them
 */
struct filter;

enum {
	FILTER_TEXT_MAX = 1024,
	FILTER_TERMS_MAX = 32
};

/* One row as the filter sees it. role and snap may be NULL. */
struct filter_row {
	const struct row *row;
	const struct snapshot *snap;
	const struct role_view *role;
	enum state state; /* as shown */
	int64_t now_us;
	int64_t now_ms;
};

/*
 * Parses; an empty text gives a filter that matches all. ERR_USAGE names the word that is wrong and
 * what would be right.
 */
int filter_parse(const char *text, struct filter **ret, struct err *err);
void filter_free(struct filter *f);
bool filter_is_empty(const struct filter *f);
/* Whether time alone may change what it matches. */
bool filter_ages(const struct filter *f);

bool filter_match(const struct filter *f, const struct filter_row *row);

/*
 * Writes the words that may stand at the end of a half-typed filter, one a line, each whole:
 * fields, and the words of a field that has a list of them.
 */
void filter_complete(const char *word, struct str *out);

/* The fields for help and manual: field i, or false beyond the last. */
bool filter_field_help(size_t i, const char **ret_name, const char **ret_help);

/* Since when the longest waiter waits, wall clock; TIME_UNKNOWN when nobody waits or the server
 * doesn't tell. */
int64_t row_waiting_since_us(const struct row *row);

#endif
