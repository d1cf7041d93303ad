#ifndef CONTROL_OPTIONS_H
#define CONTROL_OPTIONS_H

#include "source/source.h"

struct str;
struct yaml_node;

/* The config's own keys: what stands at the top, in a source of any kind, in a role, under
 * thresholds, in a name. */
extern const struct option_def options_top[];
extern const struct option_def options_source[];
extern const struct option_def options_role[];
extern const struct option_def options_threshold[];
extern const struct option_def options_name[];
extern const struct option_def options_recipe[];

/* Limits on what the config may ask for, in milliseconds. */
enum {
	OPTIONS_TIMEOUT_DEFAULT_MS = 5000,
	OPTIONS_TIMEOUT_MIN_MS = 100,
	OPTIONS_TIMEOUT_MAX_MS = 3600000
};
enum {
	OPTIONS_INTERVAL_MIN_MS = 100,
	OPTIONS_INTERVAL_MAX_MS = 86400000
};

/* Where a check reports to, and what paths are relative to. */
struct options_check {
	const char *file;   /* for messages */
	const char *folder; /* NULL: the working folder */
	struct err *err;
};

/*
 * Checks a map against one or two tables (more may be NULL): unknown keys, wrong types, required
 * keys that are missing. what says what the map is, in messages: "source 'orders'". Keys left empty
 * count as not set. A PATH is made relative to the config's folder, in place. Errors: ERR_CONFIG
 * with file, line, column.
 */
int options_check_map(const struct options_check *check, struct yaml_node *map, const char *what,
	const struct option_def *table, const struct option_def *more);

/* ERR_CONFIG with the place of a node. The texts from the config in it must be escaped. */
int options_fail(const struct options_check *check, const struct yaml_node *node, const char *fmt,
	...) __attribute__((format(printf, 3, 4)));

/* A text from the config for a message: sanitised and cut. buf holds OPTIONS_SHOWN_MAX bytes;
 * returns it. */
enum {
	OPTIONS_SHOWN_MAX = 128
};
const char *options_shown(char *buf, const char *text);

/* How a value of that type is written, for messages and the manual: "a duration such as 10s". */
const char *option_type_text(const struct option_def *def);

/* The fallback as one would write it: durations in their largest whole unit. Adds nothing when
 * there is none. */
void option_fallback_text(const struct option_def *def, struct str *out);

#endif
