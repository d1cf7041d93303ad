#ifndef CLI_IDS_H
#define CLI_IDS_H

#include "cli/look.h"

enum {
	IDS_TEXT_MAX = 65536
};

/* A word from the command line as an id: raw bytes become what list prints. The caller frees. */
char *ids_escaped(const char *word);

/*
 * Finds a singleton by its id, as it is printed or raw. NULL when there is none.
 */
const struct row *ids_find(
	const struct board *board, const char *word, const struct snapshot **ret_snap);
/* A role by "role/NAME"; NULL. */
const struct role_view *ids_find_role(const struct board *board, const char *word);

/*
 * Says that there is no such id, and which ones are near (a name counts as well), on standard
 * error. Returns the exit code: EXIT_CODE_NO_ID, or what look_exit_code says when the id's
 * own source did not answer, so that nobody can know.
 */
int ids_complain(const struct board *board, const char *word);

#endif
