#ifndef SOURCE_SIM_HOST_H
#define SOURCE_SIM_HOST_H

#include "base/vclock.h"
#include "sim/world.h"
#include "source/source.h"

/*
 * Keeps a world for all sources that look into it: a clock, a mutex, and who is to be woken when
 * somebody did something. The world is brought up to the clock by whoever enters it; nothing moves
 * it otherwise. Safe from any thread.
 */
struct sim_host;

/* Takes the world over, whose clock stands still at its moment. base: the machine's clock, of
 * which the virtual one is a multiple; it lives as long. */
struct sim_host *sim_host_new(struct world *w, const struct clock_source *base);
/* Frees it with its world; every source that was opened on it must be closed. */
void sim_host_free(struct sim_host *host);

/* The clock, for its speed and pause. Whoever changes it wakes the sources that wait for it
 * (fleet_poll_now). */
struct vclock *sim_host_vclock(struct sim_host *host);
/*
 * The same as a clock, for the fleet. Between sim_host_enter and sim_host_leave it shows to that
 * thread the moment at which the world stands.
 */
const struct clock_source *sim_host_clock(struct sim_host *host);

/* Locks the world, brings it up to the clock, and gives it out until sim_host_leave. */
struct world *sim_host_enter(struct sim_host *host);
void sim_host_leave(struct sim_host *host);

/*
 * Lets the world go on, while the clock stands still, to the moment of the next line of its true
 * story, at most so far; returns that moment, to which the clock is then to be set.
 */
int64_t sim_host_story_ms(struct sim_host *host, int64_t most_ms);
/* When the next event is due, as the world stands now; INT64_MAX: never. */
int64_t sim_host_next_ms(struct sim_host *host);

/* Whether the thing that an open source (its state) shows is another than it told last. */
bool sim_changed(void *state);

#endif
