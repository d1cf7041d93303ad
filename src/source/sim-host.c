#include "config.h"

#include "source/sim-host.h"
#include "base/clock.h"
#include "base/mem.h"
#include "sim/deed.h"
#include "source/sim.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
	REST_LEAST_MS = 40, /* of the machine's: so often a source looks whether anything changed */
	DEED_MAX = 400,
};

#define PART(name) extern const struct sim_part sim_part_##name;
#include "source/sim-parts.def"
#undef PART

const struct sim_part *const sim_parts[] = {
#define PART(name) &sim_part_##name,
#include "source/sim-parts.def"
#undef PART
	NULL
};

/* An open source, and how it is woken. */
struct sim_open_source {
	struct sim_source source; /* first: it is the state */
	int64_t polled_ms;        /* the machine's clock */
	int wake_fd;
	struct sim_open_source *next;
};

struct sim_host {
	struct world *world;
	pthread_mutex_t mutex; /* guards the world and the list */
	struct vclock vclock;
	struct clock_source clock;
	struct sim_open_source *open;
	atomic_uintptr_t inside; /* the thread that has entered; 0: none */
};

static bool host_is_mine(struct sim_host *host)
{
	return atomic_load(&host->inside) == (uintptr_t)pthread_self();
}

/* ---- the clock ---- */

static int64_t host_mono(void *arg)
{
	struct sim_host *host = arg;

	return host_is_mine(host) ? world_now_ms(host->world) : vclock_now_ms(&host->vclock);
}

static int64_t host_wall(void *arg)
{
	struct sim_host *host = arg;

	return host_is_mine(host) ? world_now_us(host->world) : clock_wall_us(&host->vclock.source);
}

static int64_t host_wait(void *arg, int64_t until_ms)
{
	struct sim_host *host = arg;

	return host->vclock.source.wait_ms(&host->vclock, until_ms);
}

struct sim_host *sim_host_new(struct world *w, const struct clock_source *base)
{
	struct sim_host *host = xcalloc(1, sizeof(*host));
	int64_t now_ms = world_now_ms(w);

	host->world = w;
	pthread_mutex_init(&host->mutex, NULL);
	vclock_init(&host->vclock, base, world_now_us(w) - now_ms * 1000, now_ms);
	host->clock = (struct clock_source){
		.mono_ms = host_mono, .wall_us = host_wall, .wait_ms = host_wait, .arg = host
	};
	return host;
}

void sim_host_free(struct sim_host *host)
{
	if (!host)
		return;
	world_free(host->world);
	vclock_release(&host->vclock);
	pthread_mutex_destroy(&host->mutex);
	free(host);
}

struct vclock *sim_host_vclock(struct sim_host *host)
{
	return &host->vclock;
}

const struct clock_source *sim_host_clock(struct sim_host *host)
{
	return &host->clock;
}

/* ---- in and out ---- */

struct world *sim_host_enter(struct sim_host *host)
{
	int64_t now_ms;

	pthread_mutex_lock(&host->mutex);
	now_ms = vclock_now_ms(&host->vclock);
	/* A replay may set a clock back, a world never goes back. */
	if (now_ms > world_now_ms(host->world))
		world_run(host->world, now_ms);
	atomic_store(&host->inside, (uintptr_t)pthread_self());
	return host->world;
}

void sim_host_leave(struct sim_host *host)
{
	atomic_store(&host->inside, 0);
	pthread_mutex_unlock(&host->mutex);
}

int64_t sim_host_story_ms(struct sim_host *host, int64_t most_ms)
{
	struct world *w = sim_host_enter(host);
	uint64_t told = world_tellings(w);
	int64_t end_ms = world_now_ms(w) + most_ms, at_ms;

	while (world_tellings(w) == told && world_next_ms(w) < end_ms && world_step(w))
		;
	at_ms = world_now_ms(w);
	sim_host_leave(host);
	return at_ms;
}

int64_t sim_host_next_ms(struct sim_host *host)
{
	int64_t next_ms;

	pthread_mutex_lock(&host->mutex);
	next_ms = world_next_ms(host->world);
	pthread_mutex_unlock(&host->mutex);
	return next_ms;
}

/* ---- a source ---- */

struct sim_source *sim_enter(void *state)
{
	struct sim_source *s = state;

	s->world = sim_host_enter(s->host);
	return s;
}

void sim_leave(struct sim_source *s)
{
	s->world = NULL;
	sim_host_leave(s->host);
}

static void wake(const struct sim_open_source *o)
{
	uint64_t one = 1;

	if (write(o->wake_fd, &one, sizeof(one)) < 0)
		return; /* a counter that is full is readable as well */
}

static bool to_waiter(const struct order *order)
{
	const struct claim *claim =
		order->s && order->key ? singleton_claim_at(order->s, order->key) : NULL;

	return claim && claim->kind == CLAIM_WAITER;
}

void sim_acted(struct sim_source *s, const struct order *order, const char *fmt, ...)
{
	const struct sim_open_source *o;
	char text[DEED_MAX];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	deed_add(s->world, &(struct deed){ .verb = verb_word(order->verb)->word,
				   .id = order->s ? order->s->id : NULL,
				   .identity = order->identity,
				   .reason = order->reason,
				   .to_waiter = to_waiter(order) });
	world_tell(
		s->world, HAPPENING_ACT, "operator", order->s ? order->s->id : NULL, 0, "%s", text);
	/* The other sources show what it did without waiting for their time. */
	for (o = s->host->open; o; o = o->next)
		if (&o->source != s)
			wake(o);
}

static uint64_t version_of(const struct sim_source *s)
{
	return s->view->version ? s->view->version(s->world, s->thing) : s->thing->version;
}

int sim_open(const struct source_config *config, void **ret_state, struct err *err)
{
	const struct sim_view *view = (const struct sim_view *)(const void *)config->ops;
	struct sim_host *host = config->sim;
	struct sim_open_source *o;
	struct thing *thing;

	pthread_mutex_lock(&host->mutex);
	thing = world_find(host->world, view->ops, config->shows);
	pthread_mutex_unlock(&host->mutex);
	if (!thing)
		return err_set(err, ERR_CONFIG, "the built-in world has no %s called %s",
			view->ops->kind, config->shows);
	o = xcalloc(1, sizeof(*o));
	o->source = (struct sim_source){
		.host = host, .config = config, .view = view, .thing = thing, .told = UINT64_MAX
	};
	o->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (o->wake_fd < 0) {
		free(o);
		return err_set(err, ERR_IO, "can't make a descriptor: %s", strerror(errno));
	}
	pthread_mutex_lock(&host->mutex);
	o->next = host->open;
	host->open = o;
	pthread_mutex_unlock(&host->mutex);
	*ret_state = o;
	return 0;
}

int sim_poll(void *state, struct round *r, struct err *err)
{
	struct sim_source *s = sim_enter(state);
	int rc;

	((struct sim_open_source *)state)->polled_ms = clock_mono_ms(s->host->vclock.base);
	s->told = version_of(s);
	rc = s->view->tell(s, r, err);
	sim_leave(s);
	return rc;
}

bool sim_changed(void *state)
{
	struct sim_source *s = sim_enter(state);
	bool changed = version_of(s) != s->told;

	sim_leave(s);
	return changed;
}

/* Sleeps at most so long, in the machine's milliseconds; false when the session wants its thread
 * back. */
static bool rest(struct sim_open_source *o, struct round *r, int wait_ms)
{
	struct pollfd fds[] = { { .fd = round_wake_fd(r), .events = POLLIN },
		{ .fd = o->wake_fd, .events = POLLIN } };
	uint64_t count;

	if (poll(fds, 2, wait_ms) < 0)
		return true;
	if (fds[1].revents && read(o->wake_fd, &count, sizeof(count)) < 0)
		return true; /* it was read already */
	return !fds[0].revents;
}

/* Until the world's next event may have changed something, and never so short that a fast clock
 * keeps us busy. */
static int rest_ms(const struct sim_open_source *o, int64_t until_ms)
{
	struct sim_host *host = o->source.host;
	int64_t next_ms = sim_host_next_ms(host);
	int wait = clock_wait_ms(&host->clock, next_ms < until_ms ? next_ms : until_ms);

	return wait >= 0 && wait < REST_LEAST_MS ? REST_LEAST_MS : wait;
}

int sim_wait(void *state, struct round *r, struct err *err)
{
	struct sim_open_source *o = state;
	const struct clock_source *base = o->source.host->vclock.base;
	int64_t until_ms = round_deadline_ms(r), early_ms;

	(void)err;
	early_ms = o->polled_ms + REST_LEAST_MS - clock_mono_ms(base);
	if (early_ms > 0 && !rest(o, r, (int)early_ms))
		return 0;
	while (!sim_changed(state)) {
		if (clock_mono_ms(&o->source.host->clock) >= until_ms ||
			!rest(o, r, rest_ms(o, until_ms)))
			return 0;
	}
	return 1;
}

void sim_close(void *state)
{
	struct sim_open_source *o = state, **at;
	struct sim_host *host = o->source.host;

	o->source.world = host->world;
	pthread_mutex_lock(&host->mutex);
	for (at = &host->open; *at != o; at = &(*at)->next)
		;
	*at = o->next;
	if (o->source.view->close)
		o->source.view->close(&o->source);
	pthread_mutex_unlock(&host->mutex);
	close(o->wake_fd);
	free(o);
}
