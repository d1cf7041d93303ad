#include "config.h"

#include "sim/net.h"
#include "sim/work.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum {
	UNITS_KEPT = 4096 /* the newest units of a resource that are remembered as done */
};

/* Which units are done: a ring by the unit's number, so that a unit that is repeated within the
 * last thousands is known. */
struct done {
	int64_t unit[UNITS_KEPT];
};

static const char *const resource_words[] = {
	[RESOURCE_UNFENCED] = "unfenced",
	[RESOURCE_FENCED] = "fenced",
	[RESOURCE_IDEMPOTENT] = "idempotent",
};

int resource_kind_from_word(const char *word)
{
	int i;

	for (i = 0; i < RESOURCE_KIND_COUNT; i++)
		if (strcmp(resource_words[i], word) == 0)
			return i;
	return -1;
}

/* ---- resources ---- */

static void resource_free(struct thing *t)
{
	struct resource *r = (struct resource *)t;

	free(r->done);
	free(r);
}

const struct thing_ops resource_ops = { .kind = "resource", .free = resource_free };

struct resource *resource_new(struct world *w, const char *name, enum resource_kind kind)
{
	struct resource *r = xcalloc(1, sizeof(*r));

	r->kind = kind;
	r->done = xcalloc(1, sizeof(struct done));
	world_add(w, &r->thing, &resource_ops, name);
	return r;
}

struct resource *resource_find(const struct world *w, const char *name)
{
	return (struct resource *)world_find(w, &resource_ops, name);
}

/* Marks a unit as done; returns whether it was already. */
static bool unit_done(struct resource *r, int64_t unit)
{
	struct done *done = r->done;
	int64_t *slot = &done->unit[unit % UNITS_KEPT];
	bool was = *slot == unit;

	if (unit > r->newest_unit)
		r->newest_unit = unit;
	*slot = unit;
	return was;
}

static bool unit_is_done(const struct resource *r, int64_t unit)
{
	const struct done *done = r->done;

	return done->unit[unit % UNITS_KEPT] == unit;
}

static void tell_double(
	struct world *w, struct resource *r, struct process *p, int64_t token, int64_t unit)
{
	r->doubles++;
	world_tell(w, HAPPENING_DOUBLE, p->thing.name, r->thing.name, token,
		"%s does piece %lld of %s, which was done before: its effect happens twice",
		p->thing.name, (long long)unit, r->thing.name);
}

static enum write_result write_let(
	struct world *w, struct resource *r, struct process *p, int64_t token, int64_t unit)
{
	if (token && token < r->highest) {
		r->stale_let++;
		world_tell(w, HAPPENING_STALE_WRITE, p->thing.name, r->thing.name, token,
			"%s writes to %s with token %lld, and %s lets it through although it has "
			"seen %lld",
			p->thing.name, r->thing.name, (long long)token, r->thing.name,
			(long long)r->highest);
	}
	if (token > r->highest)
		r->highest = token;
	r->writes++;
	if (unit > 0 && unit_done(r, unit))
		tell_double(w, r, p, token, unit);
	thing_changed(&r->thing);
	return WRITE_DONE;
}

enum write_result resource_write(
	struct world *w, struct resource *r, struct process *p, int64_t token, int64_t unit)
{
	if (r->down || p->machine->isolated)
		return WRITE_FAILED;
	if (r->kind == RESOURCE_FENCED && token < r->highest) {
		r->stale_refused++;
		thing_changed(&r->thing);
		world_tell(w, HAPPENING_FENCED, p->thing.name, r->thing.name, token,
			"%s refuses a write of %s: its token %lld is lower than %lld",
			r->thing.name, p->thing.name, (long long)token, (long long)r->highest);
		return WRITE_REFUSED;
	}
	if (r->kind == RESOURCE_IDEMPOTENT && unit > 0 && unit_is_done(r, unit)) {
		r->already++;
		thing_changed(&r->thing);
		return WRITE_ALREADY;
	}
	return write_let(w, r, p, token, unit);
}

/* ---- duties ---- */

static void duty_free(struct thing *t)
{
	free(t);
}

const struct thing_ops duty_ops = { .kind = "duty", .free = duty_free };

struct duty *duty_new(
	struct world *w, const char *name, struct resource *resource, int64_t every_ms)
{
	struct duty *d = xcalloc(1, sizeof(*d));

	d->resource = resource;
	d->every_ms = every_ms;
	d->yields_when_refused = true;
	d->counted_ms = world_now_ms(w);
	world_add(w, &d->thing, &duty_ops, name);
	return d;
}

struct duty *duty_find(const struct world *w, const char *name)
{
	return (struct duty *)world_find(w, &duty_ops, name);
}

static struct duty_worker *worker_of(const struct duty *d, const struct process *p)
{
	size_t i;

	for (i = 0; i < d->n_workers; i++)
		if (d->workers[i].process == p)
			return (struct duty_worker *)(uintptr_t)&d->workers[i];
	return NULL;
}

bool duty_works(const struct duty *d, const struct process *p)
{
	return worker_of(d, p) != NULL;
}

void duty_count(struct world *w, struct duty *d)
{
	int64_t gone = world_now_ms(w) - d->counted_ms;

	if (d->at_work == 0)
		d->vacant_ms += gone;
	else
		d->overlap_ms += gone * (int64_t)(d->at_work - 1);
	d->counted_ms = world_now_ms(w);
}

static const char *first_at_work(const struct duty *d)
{
	size_t i;

	for (i = 0; i < d->n_workers; i++)
		if (d->workers[i].at_work)
			return d->workers[i].process->thing.name;
	return "";
}

static void tell_at_work(struct world *w, struct duty *d, size_t before)
{
	const char *name = d->thing.name, *who = first_at_work(d);

	if (before < 2 && d->at_work > 1)
		world_tell(w, HAPPENING_OVERLAP, who, name, 0, "%zu work on %s at once", d->at_work,
			name);
	else if (before > 1 && d->at_work == 1)
		world_tell(w, HAPPENING_ALONE, who, name, 0, "%s works on %s alone", who, name);
	if (!d->at_work && before)
		world_tell(w, HAPPENING_VACANT, NULL, name, 0, "nobody works on %s", name);
	else if (d->at_work && !before)
		world_tell(w, HAPPENING_SERVED, who, name, 0, "%s works on %s", who, name);
}

/* From a machine that is cut off from all others nothing gets out. */
static void look_at_reach(struct world *w, struct duty *d, struct duty_worker *worker)
{
	const char *who = worker->process->thing.name;
	bool unheard = d->resource && worker->process->machine->isolated;

	if (unheard == worker->unheard)
		return;
	worker->unheard = unheard;
	if (unheard)
		world_tell(w, HAPPENING_UNHEARD, who, d->thing.name, 0,
			"what %s does for %s gets nowhere: its machine is cut off", who,
			d->thing.name);
	else
		world_tell(w, HAPPENING_HEARD, who, d->thing.name, 0,
			"what %s does for %s gets out again", who, d->thing.name);
}

/* Sees anew who is at work; counts come before. */
static void duty_look(struct world *w, struct duty *d)
{
	size_t i, before = d->at_work;

	d->at_work = 0;
	for (i = 0; i < d->n_workers; i++) {
		struct duty_worker *worker = &d->workers[i];

		look_at_reach(w, d, worker);
		worker->at_work = worker->process->state == PROCESS_RUNNING && !worker->unheard;
		d->at_work += worker->at_work;
	}
	if (before == d->at_work)
		return;
	thing_changed(&d->thing);
	tell_at_work(w, d, before);
}

static void duty_due(struct world *w, struct process *p, void *who, int64_t a)
{
	struct duty *d = who;
	struct duty_worker *worker = worker_of(d, p);
	enum write_result result = WRITE_DONE;
	int64_t unit;

	/* a: which beginning of its work this timer belongs to. */
	if (!worker || worker->life != p->life || worker->began != a)
		return;
	unit = world_now_ms(w) / d->every_ms + 1;
	if (d->resource && unit != worker->unit)
		result = resource_write(w, d->resource, p, worker->token, unit);
	worker->unit = unit;
	if (result == WRITE_REFUSED && d->yields_when_refused)
		duty_end(w, d, p);
	else
		process_after(w, p, d->every_ms - world_now_ms(w) % d->every_ms, duty_due, d, a);
}

static void duty_drop(struct world *w, struct duty *d, struct duty_worker *worker)
{
	size_t i = (size_t)(worker - d->workers);

	duty_count(w, d);
	memmove(worker, worker + 1, (d->n_workers - i - 1) * sizeof(*worker));
	d->n_workers--;
	duty_look(w, d);
}

void duty_begin(struct world *w, struct duty *d, struct process *p, int64_t token)
{
	struct duty_worker *worker = worker_of(d, p);

	if (worker) {
		worker->token = token;
		return;
	}
	if (d->n_workers == DUTY_WORKERS_MOST || !process_lives(p))
		return;
	duty_count(w, d);
	d->takeovers += d->last && d->last != p;
	d->last = p;
	d->workers[d->n_workers++] = (struct duty_worker){
		.process = p, .life = p->life, .token = token, .began = ++d->beginnings
	};
	world_tell(w, HAPPENING_LEADS, p->thing.name, d->thing.name, token,
		"%s believes that %s is its own", p->thing.name, d->thing.name);
	duty_look(w, d);
	if (d->every_ms > 0)
		process_after(w, p, d->every_ms - world_now_ms(w) % d->every_ms, duty_due, d,
			d->beginnings);
}

void duty_end(struct world *w, struct duty *d, struct process *p)
{
	struct duty_worker *worker = worker_of(d, p);

	if (!worker)
		return;
	world_tell(w, HAPPENING_YIELDS, p->thing.name, d->thing.name, worker->token,
		"%s works on %s no longer", p->thing.name, d->thing.name);
	duty_drop(w, d, worker);
}

void duties_look(struct world *w, struct process *p)
{
	struct thing *t = NULL;

	while ((t = world_each(w, &duty_ops, t)) != NULL) {
		struct duty *d = (struct duty *)t;
		struct duty_worker *worker = worker_of(d, p);

		if (!worker)
			continue;
		if (!process_lives(p)) {
			duty_drop(w, d, worker);
			continue;
		}
		duty_count(w, d);
		duty_look(w, d);
	}
}

bool duties_remember(const struct world *w, const struct process *p)
{
	struct thing *t = NULL;

	while ((t = world_each(w, &duty_ops, t)) != NULL)
		if (((struct duty *)t)->last == p || duty_works((struct duty *)t, p))
			return true;
	return false;
}
