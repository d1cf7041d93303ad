#include "config.h"

#include "base/vclock.h"

enum {
	SPEED_REAL = 1000,
	SPEED_MOST = 1000 * 1000,
};

/* The moment that it shows; the mutex is held. */
static int64_t vclock_at(const struct vclock *v)
{
	int64_t gone = clock_mono_ms(v->base) - v->base_ms;
	int64_t at = v->at_ms + gone * v->speed / SPEED_REAL;

	return at > v->most_ms ? v->most_ms : at;
}

/* From now on the moment is reckoned from here; the mutex is held. */
static void vclock_anchor(struct vclock *v, int64_t at_ms)
{
	v->at_ms = at_ms;
	v->base_ms = clock_mono_ms(v->base);
}

static int64_t vclock_mono(void *arg)
{
	return vclock_now_ms(arg);
}

static int64_t vclock_wall(void *arg)
{
	struct vclock *v = arg;

	return v->epoch_us + vclock_now_ms(v) * 1000;
}

/* How long the base takes until this clock shows a moment; -1: it does not come by itself. */
static int64_t vclock_wait(void *arg, int64_t until_ms)
{
	struct vclock *v = arg;
	int64_t left, wait = -1;

	pthread_mutex_lock(&v->mutex);
	left = until_ms - vclock_at(v);
	if (left <= 0)
		wait = 0;
	else if (v->speed > 0 && until_ms <= v->most_ms)
		wait = left > INT64_MAX / SPEED_REAL - SPEED_REAL
			       ? INT64_MAX / SPEED_REAL
			       : (left * SPEED_REAL + v->speed - 1) / v->speed;
	pthread_mutex_unlock(&v->mutex);
	return wait;
}

void vclock_init(struct vclock *v, const struct clock_source *base, int64_t epoch_us, int64_t at_ms)
{
	*v = (struct vclock){
		.base = base, .epoch_us = epoch_us, .most_ms = INT64_MAX, .resume_at = SPEED_REAL
	};
	v->source = (struct clock_source){
		.mono_ms = vclock_mono, .wall_us = vclock_wall, .wait_ms = vclock_wait, .arg = v
	};
	pthread_mutex_init(&v->mutex, NULL);
	vclock_anchor(v, at_ms);
}

void vclock_release(struct vclock *v)
{
	pthread_mutex_destroy(&v->mutex);
}

int64_t vclock_now_ms(struct vclock *v)
{
	int64_t at;

	pthread_mutex_lock(&v->mutex);
	at = vclock_at(v);
	pthread_mutex_unlock(&v->mutex);
	return at;
}

void vclock_set(struct vclock *v, int64_t at_ms)
{
	pthread_mutex_lock(&v->mutex);
	vclock_anchor(v, at_ms);
	pthread_mutex_unlock(&v->mutex);
}

void vclock_speed(struct vclock *v, int32_t thousandths)
{
	if (thousandths < 0)
		thousandths = 0;
	if (thousandths > SPEED_MOST)
		thousandths = SPEED_MOST;
	pthread_mutex_lock(&v->mutex);
	vclock_anchor(v, vclock_at(v));
	v->speed = thousandths;
	if (thousandths)
		v->resume_at = thousandths;
	pthread_mutex_unlock(&v->mutex);
}

void vclock_pause(struct vclock *v, bool paused)
{
	pthread_mutex_lock(&v->mutex);
	vclock_anchor(v, vclock_at(v));
	v->speed = paused ? 0 : v->resume_at;
	pthread_mutex_unlock(&v->mutex);
}

bool vclock_paused(struct vclock *v)
{
	bool paused;

	pthread_mutex_lock(&v->mutex);
	paused = v->speed == 0;
	pthread_mutex_unlock(&v->mutex);
	return paused;
}

int32_t vclock_speed_now(struct vclock *v)
{
	int32_t speed;

	pthread_mutex_lock(&v->mutex);
	speed = v->resume_at;
	pthread_mutex_unlock(&v->mutex);
	return speed;
}

void vclock_most(struct vclock *v, int64_t most_ms)
{
	pthread_mutex_lock(&v->mutex);
	vclock_anchor(v, vclock_at(v));
	v->most_ms = most_ms;
	pthread_mutex_unlock(&v->mutex);
}
