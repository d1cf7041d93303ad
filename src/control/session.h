#ifndef CONTROL_SESSION_H
#define CONTROL_SESSION_H

#include "base/err.h"
#include "control/memory-file.h"
#include "model/history.h"
#include "model/journal.h"
#include "model/judge.h"
#include "model/snapshot.h"
#include "source/source.h"

#include <pthread.h>

struct clock_source;

/*
 * Private to control: one source, its thread, and what they share with the fleet. Fields above the
 * line are the thread's own once it runs; those below are guarded by `mutex`.
 */

/* What one poll says besides the rows (source.h). */
struct round {
	struct session *session;
	int64_t deadline_ms;
	struct draft *draft;
	struct singleton *self;
	char *server;
	char *degraded;        /* NULL: nothing is wrong */
	struct hidden *hidden; /* its texts are owned */
	size_t n_hidden, cap_hidden;
	struct source_cost cost;
	const struct snapshot *head; /* what was, as a record has it; NULL: this poll tells */
	bool complete;               /* a full picture was told at least once */
	bool partial;                /* this poll's lacks rows that may be there */
	bool behind;                 /* round_behind */
};

struct session_shared; /* what sessions share: fleet.c */

/*
 * Work for a session's thread between its polls: the gate's. `run` may block within a deadline of
 * its own, as a poll does. It returns when it wants to run again, on our monotonic clock, or
 * INT64_MAX when it is over; the session touches it no more then. stopping: the thread ends, run
 * must end its work now. Owned by whoever posted it.
 */
struct session_task {
	struct session_task *next;
	int64_t due_ms;
	int64_t (*run)(struct session_task *task, struct session *s, bool stopping);
};

struct session {
	struct session_shared *shared;
	const struct source_config *config;
	void *state; /* the source's */
	struct err open_error;
	struct round round;
	struct picture picture;
	struct memory memory;
	struct memory_file file;
	struct history history; /* what happened in the last days; beside the memory */
	char *identity;    /* of the server that the memory belongs to; NULL until it answered */
	struct map ghosts; /* ids that nobody holds and that stay as rows; keys and values are owned
			      copies */
	struct verdict_draft verdict;
	struct snapshot *last; /* the newest that we published */
	struct row *self_row;
	bool all_stale;
	uint64_t context; /* what the rows were last judged with (judge_context) */
	size_t judged_to; /* of a first picture that is being told: slots that were looked at */
	bool forgetful;   /* one picture, of which nothing is kept: no row is remembered once judged
			   */
	bool settled;     /* free memory was given back since its first picture */
	bool seeded;      /* the rows that nobody holds any more stand in the picture */
	enum source_state state_word;
	struct err error;
	int64_t error_since_us;
	int64_t picture_ms;
	int64_t first_us; /* our wall clock when the first picture was whole; TIME_UNKNOWN */
	int64_t saved_ms;
	int64_t wall_us; /* our clock when it was last looked at, to see that it was set back */
	unsigned failures;
	unsigned seed;
	bool repoll;     /* a task changed something: poll at once */
	int64_t next_ms; /* of one without a thread: when it polls again */

	/* ---- guarded by mutex ---- */
	pthread_mutex_t mutex;
	pthread_t thread;
	bool started, finished, joined;
	bool stop, poke, paused, rewanted;
	struct snapshot *snapshot;
	char **wanted;
	size_t n_wanted;
	struct map want_index;
	struct err memory_error;
	struct session_task *tasks;
	int64_t polled_ms;      /* of a record: up to when it was told */
	int64_t armed_until_ms; /* our monotonic clock; INT64_MIN: read only; INT64_MAX: for good */
	int wake_read, wake_write; /* a pipe; readable: come back at once */
};

/* What all sessions of a fleet share. */
struct session_shared {
	const struct clock_source *clock;
	const struct role *roles;
	size_t n_roles;
	const struct thresholds *thresholds;
	const char *state_dir; /* NULL: no memory on disk */
	bool one_shot;
	void (*published)(void *arg); /* a snapshot or an event is new; from any thread */
	void (*event)(void *arg, struct event *event); /* takes it over */
	void *arg;
};

/* Opens the source. A failure is kept, and shown as the source's error. */
void session_init(
	struct session *s, struct session_shared *shared, const struct source_config *config);
/* Starts the thread; returns 0 or ERR_IO. */
int session_start(struct session *s, struct err *err);
/*
 * The same without a thread, for a clock that somebody moves by hand (drive.h): a step does all
 * that is due at this moment (a poll, when its time came, an act changed something, or there is
 * news of the source's own; posted work; what time alone has changed) and returns when the next is
 * due, on the session's clock. Not beside a thread.
 */
void session_step_begin(struct session *s);
int64_t session_step(struct session *s, bool news);
/* Ends all posted work; nothing can be posted afterwards. */
void session_step_end(struct session *s);
/* Makes the thread look up: sets the given flags under the mutex and wakes it. */
void session_signal(struct session *s, bool stop, bool poke);
void session_pause(struct session *s, bool paused);
/* Hands over work, to be run at once; false when the thread has ended, or never began. */
bool session_post(struct session *s, struct session_task *task);
/* Lifts read only until then (INT64_MIN: ends it). */
void session_arm(struct session *s, int64_t until_ms);
/* How long it is still lifted: 0: read only; INT64_MAX: for good. */
int64_t session_armed_ms(struct session *s);
void session_want(struct session *s, const char *const *ids, size_t n);
/* The newest snapshot; one reference, the caller's. Never NULL. */
struct snapshot *session_snapshot(struct session *s);
/* Frees all; the thread must have been joined, or never started. */
void session_release(struct session *s);

/* fleet.c, for the gate: the session of that source (len bytes), or NULL. */
struct fleet;
struct session *fleet_session(struct fleet *fleet, const char *source, size_t len);
struct session *fleet_session_at(struct fleet *fleet, size_t i); /* NULL beyond the last */
const struct settings *fleet_settings(const struct fleet *fleet);
struct audit *fleet_audit(struct fleet *fleet);
/* An act was confirmed; it is over. From any thread. */
void fleet_act_begins(struct fleet *fleet);
void fleet_act_ends(struct fleet *fleet);

/* For one poll outside a thread (`baton doctor`). */
void session_round_start(struct session *s, int64_t deadline_ms);

/*
 * One poll, by the session's own thread; for its tasks between two of them, also where polls are
 * paused. Returns whether it went well, which stands in state_word as well.
 */
bool session_poll(struct session *s);

/* round.c, for session.c */
void round_init(struct round *r, struct session *s);
void round_release(struct round *r);
void round_start(struct round *r, int64_t deadline_ms);

/* session.c, for round.c: rows that come and go. */
void session_row_gone(struct session *s, const char *id);
void session_row_hidden(struct session *s, const char *id);
void session_row_held(struct session *s, const char *id);
/* Packs what of the memory was opened, where no entry is held any more. */
void session_settle(struct session *s);
void session_keep_ghosts(struct session *s);
/* Judges some rows of the first picture before it is whole; returns whether there are more. */
bool session_judge_early(struct session *s, size_t most);

#endif
