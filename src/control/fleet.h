#ifndef CONTROL_FLEET_H
#define CONTROL_FLEET_H

#include "model/board.h"
#include "model/journal.h"

struct clock_source;
struct err;
struct settings;
struct report;
struct replay;
struct audit_act;

/*
 * All sources at once: a thread for each, which polls, keeps the observation memory, judges, and
 * publishes immutable snapshots. Whoever shows something takes the latest board; nobody ever waits
 * for a source.
 */
struct fleet;

struct fleet_options {
	const struct clock_source *clock;
	bool one_shot; /* each source makes one picture and stops */
	bool memory;   /* read and write the observation memory */
	bool sim;      /* the built-in fleet: its audit is kept apart from the real one */
	const struct replay *replay; /* the record whose settings these are; NULL: live */
	const char *state_dir;       /* where the memory is; NULL: the XDG state folder */
};

/* settings lives as long as the fleet. Opens every source; one that can't be opened is there,
 * failing. No network yet. */
struct fleet *fleet_new(const struct settings *settings, const struct fleet_options *options);
/* The clock that it was made with: of all times in its pictures. */
const struct clock_source *fleet_clock(const struct fleet *fleet);
/* Starts the threads. */
void fleet_start(struct fleet *fleet);

/*
 * Asks all threads to stop, waits for them at most wait_ms, saves the memory of those that stopped.
 * An act that was confirmed is waited for longer: twelve seconds more.
 * Threads that hang (a name server that doesn't answer) are left behind: the process is about to
 * exit, and nothing that they use is freed then: not the fleet, and the caller keeps the settings.
 * Returns whether all have stopped.
 */
bool fleet_stop(struct fleet *fleet, int64_t wait_ms);
/* How many acts were confirmed and are not over; after fleet_stop: that it left behind. */
size_t fleet_acts(struct fleet *fleet);
/* Frees the fleet, unless that would only delay the end of the process; after fleet_stop. */
void fleet_free(struct fleet *fleet);

/* Readable when something was published since the last fleet_board: for poll(2). */
int fleet_fd(const struct fleet *fleet);
/* The newest picture of all sources, joined (roles, findings across sources). One reference, the
 * caller's. Never waits. */
struct board *fleet_board(struct fleet *fleet);
/* Whether every source has answered or failed once. */
bool fleet_settled(const struct fleet *fleet);
/* Waits for that, at most until the deadline; returns whether it came. */
bool fleet_wait_settled(struct fleet *fleet, int64_t deadline_ms);

/* The events since a number: copies at most max of them, oldest first, and returns how many; *seq
 * moves on. */
size_t fleet_events(struct fleet *fleet, uint64_t *seq, struct event **ret, size_t max);

/* Of a record: how many lines of the audit came up to what is shown. */
size_t fleet_recorded_acts(struct fleet *fleet);
/* Calls each with the newest of those acts, at most max, the newest first (audit.h). False: there
 * are none in this record, as names were replaced in it. */
bool fleet_each_recorded_act(struct fleet *fleet, size_t max,
	void (*each)(void *arg, const struct audit_act *act), void *arg);

/* Whether a recorded source has told what it was at that moment, or later, or will not any more. */
bool fleet_has_polled(struct fleet *fleet, size_t source, int64_t at_ms);
/* Polls at once: one source, or all (NULL). Pause keeps the picture as it is and polls no more
 * until it is lifted. */
void fleet_poll_now(struct fleet *fleet, const char *source);
void fleet_pause(struct fleet *fleet, bool paused);
/* The ids that are on the screen now: their sources spend their budgets on them first. Copied. */
void fleet_want(struct fleet *fleet, const char *const *ids, size_t n);

/*
 * Whether the observation memory could be read and written: 0, or a negative code and the sentence.
 * Nothing else depends on it.
 */
int fleet_memory_status(struct fleet *fleet, struct err *err);

/* For `baton doctor`, on a fleet that was not started: examines source i, within its timeout. */
int fleet_examine(struct fleet *fleet, size_t i, struct report *report, struct err *err);

#endif
