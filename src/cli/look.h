#ifndef CLI_LOOK_H
#define CLI_LOOK_H

#include "cli/command.h"
#include "control/drive.h"
#include "control/fleet.h"
#include "base/vclock.h"
#include "control/settings.h"
#include "source/replay.h"

/* The settings and the fleet of a command that looks at sources. */
struct look {
	struct settings *settings;
	struct fleet *fleet;
	struct scenario *scenario; /* --sim: whose settings they are; else NULL */
	struct drive *drive;       /* it moves the fleet, up to at_ms; NULL: threads do */
	int64_t at_ms;
	struct replay *replay; /* the record that is looked at; NULL: live */
	struct vclock clock;   /* its clock */
	int64_t started_ms;
	int64_t timeout_ms; /* the longest of the sources' */
	bool one_shot;
	bool quiet; /* nothing is said on standard error: the caller's output tells all */
	bool *left; /* see cli_main() */
};

/*
 * Reads the config, chooses the sources that --source names, and starts to poll them (unless start
 * is false). Returns 0, or an exit code after it said what is wrong: EXIT_CODE_CONFIG, also when
 * there is nothing to look at. With quiet the sentence is left in err.
 *
 * With --replay it is a record: its clock stands still, at --at or the end.
 */
int look_open(
	struct look *look, const struct cli *cli, bool one_shot, bool start, struct err *quiet);

/* Starts to poll, where look_open did not; a built-in fleet that nobody drives lives from now on.
 */
void look_start(struct look *look);

/* Opens the console on what was opened, armed when it is to be; returns the exit code, and closes.
 */
int look_console(struct look *look, const struct cli *cli, bool armed);

/* A descriptor that SIGINT, SIGTERM and SIGHUP make readable, from now on and for all threads that
 * begin after: there is nothing for a handler to do. The caller closes it. */
int look_signals(void);
/* Whether one of them came. */
bool look_signalled(int signals);

/* The clock of all that is shown. */
const struct clock_source *look_clock(const struct look *look);

/* Waits until every source has answered or its time is over, and returns the board: one reference.
 */
struct board *look_wait(struct look *look);

/* The deadline for each source, for messages, where a one-shot command gave up waiting; else 0. */
int64_t look_patience_ms(const struct look *look);

/*
 * Names the sources that did not answer, and what they said, on standard error; with findings also
 * what is wrong with sources that did.
 */
void look_complain(const struct look *look, const struct board *board, bool findings);

/* Whether any source answered. */
bool look_any_answered(const struct board *board);
/* EXIT_CODE_OK, EXIT_CODE_PARTIAL or EXIT_CODE_NO_SOURCE, by how many sources answered. */
int look_exit_code(const struct board *board);
/* The same for a command that goes on: a source that is still connecting did not fail yet. */
int look_exit_code_now(const struct board *board);

/*
 * Stops the threads, saves the memory, frees everything. A thread that hangs is left behind. A
 * memory that can't be read or written is named on standard error; nothing else depends on it.
 */
void look_close(struct look *look);

#endif
