#ifndef TESTS_SHOW_BOARDS_H
#define TESTS_SHOW_BOARDS_H

#include "model/board.h"

/* Boards made by hand, for what shows them. */
enum {
	BOARD_NOW_MS = 1000000
};
#define BOARD_NOW_US INT64_C(1767323045678901) /* 2026-01-02T03:04:05.678901Z */

struct board_maker;

struct board_maker *board_maker_new(void);
/* Adds a source; the rows that follow are its. error NULL: it is well. */
void board_maker_source(
	struct board_maker *m, const char *name, enum source_state state, const char *error);
/* The draft of the next row, and its verdict; board_maker_row takes them. */
struct draft *board_maker_draft(struct board_maker *m);
struct verdict_draft *board_maker_verdict(struct board_maker *m);
void board_maker_begin(struct board_maker *m, enum mechanism mechanism, const char *path);
void board_maker_row(struct board_maker *m, enum state state);
/* The board of all that, with roles (may be NULL); the maker is freed. */
struct board *board_maker_finish(struct board_maker *m, const struct role *roles, size_t n_roles);

#endif
