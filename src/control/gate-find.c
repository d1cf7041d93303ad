#include "config.h"

#include "control/gate-run.h"
#include "base/map.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* Where the rows of a set stand: a board has no index, and may have a hundred thousand rows. */

static bool is_of(const char *id, const char *source)
{
	size_t len = strlen(source);

	return strncmp(id, source, len) == 0 && id[len] == '/';
}

static void find_sources(const struct board *board, const struct gate_want *wants, size_t n,
	struct gate_place *places)
{
	size_t i, k;

	for (i = 0; i < n; i++) {
		places[i] = (struct gate_place){ .row = NULL, .past = board->past };
		for (k = 0; k < board->n_snapshots; k++) {
			if (!is_of(wants[i].id, board->snapshots[k]->source))
				continue;
			places[i].snap = board->snapshots[k];
			places[i].cross = board->cross ? board->cross[k] : NULL;
		}
	}
}

static void find_rows(const struct snapshot *snap, const struct map *index,
	const struct gate_want *wants, size_t n, struct gate_place *places)
{
	size_t i, k;

	for (i = 0; i < snap->n_rows; i++) {
		const struct row *row = snapshot_row(snap, i);

		if (!map_get(index, row->s->id, strlen(row->s->id)))
			continue;
		/* One singleton may be wanted several times, of each of its runs. */
		for (k = 0; k < n; k++)
			if (strcmp(wants[k].id, row->s->id) == 0)
				places[k].row = row;
	}
}

void gate_find(const struct board *board, const struct gate_want *wants, size_t n,
	struct gate_place *places)
{
	struct map index;
	size_t i;

	find_sources(board, wants, n, places);
	if (n == 1) {
		if (places[0].snap)
			places[0].row = snapshot_find(places[0].snap, wants[0].id);
		return;
	}
	map_init(&index);
	for (i = 0; i < n; i++)
		map_put(&index, wants[i].id, strlen(wants[i].id), &places[i]);
	for (i = 0; i < board->n_snapshots; i++)
		find_rows(board->snapshots[i], &index, wants, n, places);
	map_release(&index);
}
