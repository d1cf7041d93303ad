#include "config.h"

#include "cli/ids.h"
#include "base/nearest.h"
#include "base/str.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

char *ids_escaped(const char *word)
{
	struct str id;

	str_init(&id, IDS_TEXT_MAX);
	text_escape(&id, word, strlen(word));
	return str_take(&id);
}

const struct row *ids_find(
	const struct board *board, const char *word, const struct snapshot **ret_snap)
{
	const struct row *row = board_find(board, word, ret_snap);
	char *escaped;

	if (row)
		return row;
	escaped = ids_escaped(word);
	row = board_find(board, escaped, ret_snap);
	free(escaped);
	return row;
}

const struct role_view *ids_find_role(const struct board *board, const char *word)
{
	size_t i;

	if (!str_starts(word, "role/"))
		return NULL;
	for (i = 0; i < board->n_roles; i++)
		if (strcmp(board->roles[i].role->name, word + 5) == 0)
			return &board->roles[i];
	return NULL;
}

static const struct snapshot *ids_source(const struct board *board, const char *word)
{
	size_t i;

	for (i = 0; i < board->n_snapshots; i++) {
		size_t len = strlen(board->snapshots[i]->source);

		if (strncmp(word, board->snapshots[i]->source, len) == 0 && word[len] == '/')
			return board->snapshots[i];
	}
	return NULL;
}

/* Ids near the word, of roles as well, and the ids of singletons that are called so. */
static void ids_offer(struct nearest *nearest, const struct board *board)
{
	size_t i, k;

	for (i = 0; i < board->n_snapshots; i++) {
		const struct snapshot *snap = board->snapshots[i];

		for (k = 0; k < snap->n_rows; k++) {
			const struct singleton *s = snapshot_row(snap, k)->s;
			const char *name = s->more->name;

			if (name && strcmp(name, nearest->wanted) == 0)
				nearest_put(nearest, s->id, 0);
			else
				nearest_offer(nearest, s->id);
		}
	}
	for (i = 0; i < board->n_roles; i++)
		nearest_offer(nearest, board->roles[i].self->s->id);
}

int ids_complain(const struct board *board, const char *word)
{
	const struct snapshot *snap = ids_source(board, word);
	char *escaped = ids_escaped(word);
	char shown[CLI_SHOWN_MAX];
	struct nearest nearest;
	struct str help;
	int code = EXIT_CODE_NO_ID;

	if (look_exit_code(board) == EXIT_CODE_NO_SOURCE ||
		(snap && snap->state != SOURCE_OK && snap->state != SOURCE_DEGRADED)) {
		cli_complain("whether there is '%s' is not known", cli_shown(shown, word));
		code = look_exit_code(board);
	} else {
		str_init(&help, IDS_TEXT_MAX);
		nearest_init(&nearest, escaped);
		ids_offer(&nearest, board);
		nearest_tell(&nearest, NEAREST_MAX, &help);
		cli_complain("there is no '%s'%s", cli_shown(shown, word),
			help.len ? help.s : "; `baton list` names all");
		str_release(&help);
	}
	free(escaped);
	return code;
}
