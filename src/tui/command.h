#ifndef TUI_COMMAND_H
#define TUI_COMMAND_H

#include <stdbool.h>

struct err;
struct str;
struct model;

/* The commands behind ":", one table (commands.def) for parser, completion, help and manual. */
enum command {
#define COMMAND(id, word, argument, complete, help) COMMAND_##id,
#include "tui/commands.def"
#undef COMMAND
	COMMAND_COUNT
};

const char *command_word(enum command command);
const char *command_argument(enum command command); /* "" when it takes none */
const char *command_describe(enum command command);

/*
 * Reads a command line without the colon: the command and where its argument begins (empty: none).
 * A word may be cut short as far as it is unique. ERR_USAGE names the word and the nearest right
 * one.
 */
int command_parse(const char *line, enum command *ret, const char **ret_argument, struct err *err);

/*
 * What may stand in place of the last word of a half-typed line, one a line; *ret_from is where
 * that word begins.
 */
void command_complete(const struct model *model, const char *line, struct str *out, int *ret_from);

#endif
