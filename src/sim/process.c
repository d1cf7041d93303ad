#include "config.h"

#include "sim/net.h"
#include "sim/work.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* One timer or one answer on its way to a process. */
struct process_timer {
	struct process *process;
	uint32_t life;
	process_fn *fn;
	void *who;
	size_t size; /* of who, to be given back; 0: it is somebody's */
	int64_t a;
	struct process_timer *next; /* of those that were due in a pause */
};

enum {
	PID_LEAST = 300,
	PID_MOST = 32768
};

static void process_free(struct thing *t)
{
	struct process *p = (struct process *)t;
	struct program *g, *next;

	for (g = p->programs; g; g = next) {
		next = g->next;
		if (g->ops->free)
			g->ops->free(g);
		else
			free(g);
	}
	free(p->identity);
	free(p->about);
	free(p->blocked);
	free(p);
}

const struct thing_ops process_ops = { .kind = "process", .free = process_free };

struct process *process_new(
	struct world *w, const char *name, struct machine *machine, const char *identity)
{
	struct process *p = xcalloc(1, sizeof(*p));

	p->machine = machine;
	p->identity = xstrdup(identity ? identity : name);
	p->restart_after_ms = -1;
	world_add(w, &p->thing, &process_ops, name);
	return p;
}

struct process *process_find(const struct world *w, const char *name)
{
	return (struct process *)world_find(w, &process_ops, name);
}

void process_program(struct process *p, struct program *g, const struct program_ops *ops)
{
	struct program **at = &p->programs;

	while (*at)
		at = &(*at)->next;
	g->ops = ops;
	g->process = p;
	g->next = NULL;
	*at = g;
}

bool process_lives(const struct process *p)
{
	return p->state == PROCESS_RUNNING || p->state == PROCESS_PAUSED;
}

int64_t process_clock_us(const struct world *w, const struct process *p)
{
	return machine_clock_us(w, p->machine);
}

int64_t process_clock_ms(const struct world *w, const struct process *p)
{
	int64_t gone = world_now_ms(w) - p->machine->drift_at_ms;

	/* What was gained before the drift last changed does not matter to a difference. */
	return world_now_ms(w) + gone * p->machine->drift_ppm / 1000000;
}

/* ---- timers ---- */

static void timer_free(struct world *w, struct process_timer *timer)
{
	timer->process->pins--;
	if (timer->size)
		world_put(w, timer->who, timer->size);
	world_put(w, timer, sizeof(*timer));
}

static void drop_held(struct world *w, struct process *p)
{
	struct process_timer *timer;

	while ((timer = p->held) != NULL) {
		p->held = timer->next;
		timer_free(w, timer);
	}
	p->held_last = NULL;
}

static void timer_run(struct world *w, struct process_timer *timer)
{
	struct process *p = timer->process;

	if (process_lives(p) && p->life == timer->life)
		timer->fn(w, p, timer->who, timer->a);
	timer_free(w, timer);
}

static void timer_due(struct world *w, void *who, int64_t a, int64_t b)
{
	struct process_timer *timer = who;
	struct process *p = timer->process;

	(void)a;
	(void)b;
	__builtin_prefetch(timer->who); /* both may be far away */
	if (p->state != PROCESS_PAUSED || p->life != timer->life) {
		timer_run(w, timer);
		return;
	}
	timer->next = NULL;
	if (p->held_last)
		p->held_last->next = timer;
	else
		p->held = timer;
	p->held_last = timer;
}

static struct process_timer *timer_new(
	struct world *w, struct process *p, uint32_t life, process_fn *fn, void *who)
{
	struct process_timer *timer = world_get(w, sizeof(*timer));

	*timer = (struct process_timer){ .process = p, .life = life, .fn = fn, .who = who };
	p->pins++;
	return timer;
}

void process_deliver(struct world *w, struct process *p, uint32_t life, int64_t delay_ms,
	process_fn *fn, void *who, size_t size)
{
	struct process_timer *timer = timer_new(w, p, life, fn, who);

	timer->size = size;
	world_after(w, delay_ms, timer_due, timer, 0, 0);
}

void process_after(
	struct world *w, struct process *p, int64_t delay_ms, process_fn *fn, void *who, int64_t a)
{
	struct process_timer *timer = timer_new(w, p, p->life, fn, who);

	timer->a = a;
	/* A clock that runs fast is early; never by so much that the time stands still. */
	if (p->machine->drift_ppm)
		delay_ms = (delay_ms * 1000000 + 1000000 + p->machine->drift_ppm - 1) /
			   (1000000 + p->machine->drift_ppm);
	world_after(w, delay_ms, timer_due, timer, 0, 0);
}

/* ---- a life ---- */

static int pid_new(struct world *w)
{
	return PID_LEAST + (int)sim_random_below(world_random(w), PID_MOST - PID_LEAST);
}

void process_start(struct world *w, struct process *p)
{
	struct program *g;
	uint32_t life;

	if (process_lives(p) || !p->machine->up)
		return;
	if (p->life)
		p->restarts++;
	life = ++p->life;
	p->state = PROCESS_RUNNING;
	p->pid = pid_new(w);
	p->began_ms = world_now_ms(w);
	thing_changed(&p->thing);
	world_tell(w, HAPPENING_STARTED, p->thing.name, NULL, 0, "%s starts on %s as process %d",
		p->thing.name, p->machine->thing.name, p->pid);
	for (g = p->programs; g && p->life == life && process_lives(p); g = g->next)
		g->ops->start(w, g);
}

static void restart_due(struct world *w, void *who, int64_t a, int64_t b)
{
	struct process *p = who;

	(void)b;
	p->pins--;
	if (p->state == PROCESS_CRASHED && p->life == (uint32_t)a)
		process_start(w, p);
}

static const char *end_words(enum process_end how)
{
	switch (how) {
	case PROCESS_END_STOPPED:
		return "was asked to stop, and ended";
	case PROCESS_END_KILLED:
		return "was killed";
	case PROCESS_END_VANISHED:
		break;
	}
	return "vanished with its machine";
}

void process_end(struct world *w, struct process *p, enum process_end how)
{
	process_end_as(w, p, how, NULL);
}

void process_end_as(struct world *w, struct process *p, enum process_end how, const char *words)
{
	struct program *g;
	bool stays = how == PROCESS_END_STOPPED || p->restart_after_ms < 0;

	if (!process_lives(p))
		return;
	/* What is paused can't tidy up. */
	if (p->state == PROCESS_PAUSED && how == PROCESS_END_STOPPED)
		how = PROCESS_END_KILLED;
	p->state = stays ? PROCESS_STOPPED : PROCESS_CRASHED;
	drop_held(w, p);
	thing_changed(&p->thing);
	world_tell(w, HAPPENING_ENDED, p->thing.name, NULL, 0, "%s %s", p->thing.name,
		words ? words : end_words(how));
	for (g = p->programs; g; g = g->next)
		if (g->ops->ended)
			g->ops->ended(w, g, how);
	duties_look(w, p);
	if (p->state == PROCESS_CRASHED && how == PROCESS_END_KILLED) {
		p->pins++;
		world_after(w, p->restart_after_ms, restart_due, p, p->life, 0);
	}
}

bool process_forget(struct world *w, struct process *p)
{
	if (process_lives(p) || p->pins || duties_remember(w, p))
		return false;
	world_remove(w, &p->thing);
	return true;
}

static void pause_over(struct world *w, void *who, int64_t a, int64_t b)
{
	struct process *p = who;

	p->pins--;
	if (p->state == PROCESS_PAUSED && p->life == (uint32_t)a && p->pause_until_ms == b)
		process_resume(w, p);
}

void process_pause(struct world *w, struct process *p, int64_t for_ms)
{
	if (!process_lives(p))
		return;
	p->pause_until_ms = for_ms == INT64_MAX ? INT64_MAX : world_now_ms(w) + for_ms;
	if (p->pause_until_ms != INT64_MAX) {
		p->pins++;
		world_at(w, p->pause_until_ms, pause_over, p, p->life, p->pause_until_ms);
	}
	if (p->state == PROCESS_PAUSED)
		return;
	p->state = PROCESS_PAUSED;
	thing_changed(&p->thing);
	world_tell(w, HAPPENING_PAUSED, p->thing.name, NULL, 0,
		"%s stands still: it runs no instruction, and does not know it", p->thing.name);
	duties_look(w, p);
}

void process_resume(struct world *w, struct process *p)
{
	struct process_timer *timer, *held = p->held;
	struct program *g;

	if (p->state != PROCESS_PAUSED)
		return;
	p->state = PROCESS_RUNNING;
	p->held = p->held_last = NULL;
	thing_changed(&p->thing);
	world_tell(w, HAPPENING_RESUMED, p->thing.name, NULL, 0, "%s runs on", p->thing.name);
	duties_look(w, p);
	for (g = p->programs; g && p->state == PROCESS_RUNNING; g = g->next)
		if (g->ops->resumed)
			g->ops->resumed(w, g);
	while ((timer = held) != NULL) {
		held = timer->next;
		timer_due(w, timer, 0, 0);
	}
}
