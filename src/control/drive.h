#ifndef CONTROL_DRIVE_H
#define CONTROL_DRIVE_H

#include "control/gate.h"
#include "control/scenario.h"

struct fleet;

/*
 * Runs a scenario without threads, on its virtual clock, which only the drive moves: for tests,
 * commands that make one picture, and scripts of lessons. Polls, judging, the gate's work and the
 * world's events come in an order that depends on nothing else: two drives of the same scenario
 * and seed, asked for the same at the same moments, give the same bytes.
 *
 * Sources are polled as a console would: when their interval is over, when what they show has
 * changed (at most every DRIVE_NEWS_MS), and after an act.
 */
struct drive;

enum {
	DRIVE_NEWS_MS = 100
};

struct drive_options {
	const char *state_dir; /* where the audit is (in a folder `sim`); NULL: the XDG one */
};

/* Stands at 0 ms; nothing was polled. The scenario lives as long. */
struct drive *drive_new(struct scenario *scenario, const struct drive_options *options);
void drive_free(struct drive *drive);

struct fleet *drive_fleet(struct drive *drive);
int64_t drive_now_ms(struct drive *drive);

/* Lets everything happen up to a moment of the world, which then is now. */
void drive_to(struct drive *drive, int64_t at_ms);
/* To the next moment at which something is due, or to at_ms when that is earlier; returns whether
 * it got there before at_ms. */
bool drive_step(struct drive *drive, int64_t at_ms);
/* The newest picture; one reference, the caller's. */
struct board *drive_board(struct drive *drive);

/*
 * An act through the real gate, bound to the newest picture, agreed to for this reason (NULL: only
 * its forecast), and driven until it is over. The view is the caller's (gate_view_free).
 */
struct gate_view *drive_act(struct drive *drive, const struct gate_want *want, const char *reason);
/* Drives on until the gate stands in that phase or beyond, at most an hour. */
struct gate_view *drive_gate(struct drive *drive, struct gate *gate, enum gate_phase phase);

#endif
