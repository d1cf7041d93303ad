#ifndef SIM_PROCESS_H
#define SIM_PROCESS_H

#include "sim/world.h"

struct machine;
struct process;
struct program;

enum process_state {
	PROCESS_STOPPED, /* by somebody: it does not come again by itself */
	PROCESS_RUNNING,
	PROCESS_PAUSED, /* not scheduled: SIGSTOP, a long garbage collection, a frozen machine */
	PROCESS_CRASHED /* ended; its supervisor starts it again, where it has one */
};

/* How a life ended, for its programs. */
enum process_end {
	PROCESS_END_STOPPED, /* asked to stop (SIGTERM): it gives back what it holds */
	PROCESS_END_KILLED,  /* at once; its machine's kernel closes its connections */
	PROCESS_END_VANISHED /* with its machine: nobody is told */
};

/*
 * What a process does: a client of some mechanism, or anything else. A process may run several. The
 * state is the program's own, and lives as long as the world: after an end and a new start it is
 * the same memory, which `start` sets up anew.
 */
struct program_ops {
	const char *word; /* as in a scenario: "etcd-election" */
	void (*start)(struct world *w, struct program *g);
	/* The process ended; timers and replies of that life no longer come. */
	void (*ended)(struct world *w, struct program *g, enum process_end how);
	/* It runs on after a pause, before the timers that were held back; NULL. */
	void (*resumed)(struct world *w, struct program *g);
	/* What an owner would answer who is asked how it is: one sentence into buf; NULL. */
	void (*asked)(const struct world *w, const struct program *g, char *buf, size_t size);
	void (*free)(struct program *g);
};

/* What every program's state begins with. */
struct program {
	const struct program_ops *ops;
	struct process *process;
	struct program *next;
};

struct process_timer;

struct process {
	struct thing thing;
	struct machine *machine;
	char *identity; /* what it calls itself where it holds something */
	int pid;
	enum process_state state;
	uint32_t life;            /* rises with each start */
	int64_t began_ms;         /* this life */
	int64_t pause_until_ms;   /* INT64_MAX: until somebody lets it run on */
	int64_t restart_after_ms; /* by its supervisor after a crash; -1: it has none */
	int restarts;
	bool hidden;   /* no row of the `fleet` source */
	bool brief;    /* made for one piece of work: once it ended, it has no row any more */
	uint32_t pins; /* timers, answers and events on their way that are about it, of any life:
			  who schedules one that is none of process_after counts it */
	char *about;   /* one sentence for that row; NULL */
	char *blocked; /* why it can't be restarted; NULL */
	struct program *programs;
	struct process_timer *held, *held_last; /* due while it was paused */
};

extern const struct thing_ops process_ops;

/* A process that is not started yet; identity NULL: its name. */
struct process *process_new(
	struct world *w, const char *name, struct machine *machine, const char *identity);
struct process *process_find(const struct world *w, const char *name);
/* Gives it a program; the process frees it. */
void process_program(struct process *p, struct program *g, const struct program_ops *ops);

/* Begins a new life: another pid, and its programs start. Nothing happens where it lives already,
 * or its machine is down. */
void process_start(struct world *w, struct process *p);
/* Ends its life; with END_KILLED its supervisor starts it again where it has one, with END_STOPPED
 * nobody does. */
void process_end(struct world *w, struct process *p, enum process_end how);
/* The same, of one that ends by itself: how says what becomes of what it holds, and the words tell
 * the story ("is done, and ended"), in which nobody stopped it. */
void process_end_as(struct world *w, struct process *p, enum process_end how, const char *words);
/* No timer and no reply comes until then; INT64_MAX: until process_resume. */
void process_pause(struct world *w, struct process *p, int64_t for_ms);
void process_resume(struct world *w, struct process *p);
bool process_lives(const struct process *p); /* running or paused */
/*
 * Frees one that has ended, if nothing that this module and the duties know of is about it any
 * more; false: not yet. For its maker, who has no pointer to it left; its programs ask no server
 * (net_call), which might keep one.
 */
bool process_forget(struct world *w, struct process *p);

/* A timer of this life by the process' own clock (its machine's drift counts): held back while it
 * is paused, gone with the life. */
typedef void process_fn(struct world *w, struct process *p, void *who, int64_t a);
void process_after(
	struct world *w, struct process *p, int64_t delay_ms, process_fn *fn, void *who, int64_t a);
/*
 * For net.c: the same by the true clock, for a life. who is memory of world_get of that size, which
 * is given back after fn, or when it is not called; size 0: it is not.
 */
void process_deliver(struct world *w, struct process *p, uint32_t life, int64_t delay_ms,
	process_fn *fn, void *who, size_t size);
/* What its wall clock shows. */
int64_t process_clock_us(const struct world *w, const struct process *p);
/* What its monotonic clock shows, milliseconds. */
int64_t process_clock_ms(const struct world *w, const struct process *p);

#endif
