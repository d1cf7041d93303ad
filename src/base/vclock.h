#ifndef BASE_VCLOCK_H
#define BASE_VCLOCK_H

#include "base/clock.h"

#include <pthread.h>
#include <stdbool.h>

/*
 * A clock that is not the machine's: the built-in fleet and records that are replayed run on it. It
 * follows the machine's monotonic clock at a speed, or stands still, or is set. Safe from any
 * thread. Its monotonic and its wall clock show the same moment; it is set back only by a replay
 * that seeks.
 */
struct vclock {
	pthread_mutex_t mutex;
	struct clock_source source; /* for who needs a clock; its arg is this */
	const struct clock_source *base;
	int64_t epoch_us;  /* the wall clock at 0 ms of the monotonic one */
	int64_t at_ms;     /* what it showed when it was last set, or its speed changed */
	int64_t base_ms;   /* what the base showed then */
	int64_t most_ms;   /* it stops there of itself; INT64_MAX: nowhere */
	int32_t speed;     /* in thousandths: 1000 is real time, 0 stands still */
	int32_t resume_at; /* the speed before it was paused */
};

/* Starts at at_ms, standing still. base must live as long. */
void vclock_init(
	struct vclock *v, const struct clock_source *base, int64_t epoch_us, int64_t at_ms);
void vclock_release(struct vclock *v);

int64_t vclock_now_ms(struct vclock *v);
/* Sets the moment that it shows, and goes on at its speed. */
void vclock_set(struct vclock *v, int64_t at_ms);
/* thousandths of real time, 0 to 1,000,000. A speed > 0 ends a pause. */
void vclock_speed(struct vclock *v, int32_t thousandths);
void vclock_pause(struct vclock *v, bool paused);
bool vclock_paused(struct vclock *v);
/* What it runs at, or would without the pause. */
int32_t vclock_speed_now(struct vclock *v);
/* The moment at which it stops of itself. */
void vclock_most(struct vclock *v, int64_t most_ms);

#endif
