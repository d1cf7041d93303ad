#include "config.h"

#include "tests/unit/show/boards.h"

#include "base/mem.h"
#include "model/draft.h"
#include "model/thresholds.h"

#include <stdlib.h>
#include <string.h>

enum {
	SOURCES_MAX = 8
};

struct board_maker {
	struct draft *draft;
	struct verdict_draft verdict;
	struct picture pic;
	struct snapshot head;
	struct snapshot *snapshots[SOURCES_MAX];
	size_t n;
	bool open;
};

struct board_maker *board_maker_new(void)
{
	struct board_maker *m = xcalloc(1, sizeof(*m));

	m->draft = draft_new();
	verdict_draft_init(&m->verdict);
	return m;
}

static void board_maker_publish(struct board_maker *m)
{
	if (!m->open)
		return;
	m->snapshots[m->n++] = picture_publish(&m->pic, &m->head);
	picture_release(&m->pic);
	m->open = false;
}

void board_maker_source(
	struct board_maker *m, const char *name, enum source_state state, const char *error)
{
	board_maker_publish(m);
	picture_init(&m->pic);
	m->head = (struct snapshot){ .source = name,
		.kind = "test",
		.environment = "lab",
		.state = state,
		.error = error,
		.error_since_us = error ? BOARD_NOW_US : TIME_UNKNOWN,
		.server = "test 1.0",
		.picture_ms = error ? TIME_UNKNOWN : BOARD_NOW_MS - 12,
		.cost = { .round_trip_ms = TIME_UNKNOWN } };
	m->open = true;
}

struct draft *board_maker_draft(struct board_maker *m)
{
	return m->draft;
}

struct verdict_draft *board_maker_verdict(struct board_maker *m)
{
	return &m->verdict;
}

void board_maker_begin(struct board_maker *m, enum mechanism mechanism, const char *path)
{
	draft_begin(m->draft, mechanism, m->head.source, path, strlen(path));
	verdict_draft_begin(&m->verdict);
}

void board_maker_row(struct board_maker *m, enum state state)
{
	struct singleton *s = draft_finish(m->draft);

	m->verdict.v.state = state;
	picture_put(&m->pic, singleton_ref(s));
	/* Each id is put once: the new slot is the last. */
	picture_judged(&m->pic, m->pic.n - 1, row_new(s, &m->verdict), INT64_MAX);
}

struct board *board_maker_finish(struct board_maker *m, const struct role *roles, size_t n_roles)
{
	struct thresholds thresholds = thresholds_default();
	struct board *board;

	board_maker_publish(m);
	board = board_compose(m->snapshots, m->n, roles, n_roles, &thresholds, NULL, NULL,
		BOARD_NOW_MS, BOARD_NOW_US);
	draft_free(m->draft);
	verdict_draft_release(&m->verdict);
	free(m);
	return board;
}
