#include "config.h"

#include "source/sim-break.h"
#include "base/mem.h"
#include "io/yaml.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	PAUSE_MS = 25 * 1000,
	PARTITION_MS = 30 * 1000,
	SKEW_MS = 90 * 1000,
	DRAIN_MS = 60 * 1000,
	TEXT_MOST = 400
};

/* ---- what they do ---- */

static void crash(struct world *w, struct process *p)
{
	process_end(w, p, PROCESS_END_KILLED);
}

static void hold(struct world *w, struct process *p)
{
	process_pause(w, p, PAUSE_MS);
}

static void join_due(struct world *w, void *who, int64_t a, int64_t b)
{
	(void)a;
	(void)b;
	machine_isolate(w, who, false);
}

static void partition(struct world *w, struct process *p)
{
	machine_isolate(w, p->machine, true);
	world_after(w, PARTITION_MS, join_due, p->machine, 0, 0);
}

static void skew(struct world *w, struct process *p)
{
	int64_t ahead_ms = (machine_clock_us(w, p->machine) - world_now_us(w)) / 1000;

	machine_skew(w, p->machine, ahead_ms + SKEW_MS);
}

/* The part's own way: the fault of that name. */
static const struct sim_fault *kill_fault(void)
{
	const struct sim_fault *f;
	size_t i;

	for (i = 0; sim_parts[i]; i++)
		for (f = sim_parts[i]->faults; f && f->word; f++)
			if (strcmp(f->word, "kill-connection") == 0)
				return f;
	return NULL;
}

static int kill_connections(struct world *w, const struct process *p, bool check)
{
	const struct sim_fault *f = kill_fault();
	struct yaml_node *map;
	struct option_values v;
	int rc;

	if (!f)
		return ERR_UNSUPPORTED;
	map = yaml_new(YAML_MAP, NULL);
	yaml_map_add(map, "process", yaml_new(YAML_SCALAR, p->thing.name));
	v = (struct option_values){ f->options, map };
	rc = f->apply(w, &v, check, NULL);
	yaml_node_free(map);
	return rc;
}

static void cut_connections(struct world *w, struct process *p)
{
	kill_connections(w, p, false);
}

static void start_due(struct world *w, void *who, int64_t a, int64_t b)
{
	struct process *p = who;

	(void)b;
	p->pins--;
	if (p->life == (uint32_t)a)
		process_start(w, p);
}

static void drain(struct world *w, struct process *p)
{
	const struct machine *m = p->machine;
	struct thing *t = NULL;

	while ((t = world_each(w, &process_ops, t)) != NULL) {
		struct process *each = (struct process *)t;

		if (each->machine != m || !process_lives(each))
			continue;
		process_end(w, each, PROCESS_END_STOPPED);
		/* In place of a pod its controller makes another, here or elsewhere. */
		if (each->brief)
			continue;
		each->pins++;
		world_after(w, DRAIN_MS, start_due, each, each->life, 0);
	}
}

static const struct breaking {
	enum verb verb;
	const char *does;    /* to the process, which is said behind it */
	const char *further; /* behind that; "" */
	void (*act)(struct world *w, struct process *p);
} breakings[] = {
	{ VERB_CRASH, "kill -9", "", crash },
	{ VERB_PAUSE, "kill -STOP", ", and -CONT after 25 s", hold },
	{ VERB_PARTITION, "cut off for 30 s the machine of", "", partition },
	{ VERB_SKEW_CLOCK, "set 90 s ahead the clock of the machine of", "", skew },
	{ VERB_KILL_CONNECTION, "cut the connections of", "", cut_connections },
	{ VERB_DRAIN_NODE, "ask to stop, for 60 s, all on the machine of", "", drain },
};

/* ---- the three functions of an act ---- */

static const struct breaking *breaking_of(enum verb verb)
{
	size_t i;

	for (i = 0; i < ARRAY_LEN(breakings) - 1 && breakings[i].verb != verb; i++)
		;
	return &breakings[i];
}

/* The process behind it, to which that can be done now. NULL: there is none, and why says what is
 * so; a sentence. */
static struct process *find_process(
	struct sim_source *s, const struct order *order, struct str *why)
{
	struct process *p = s->view->behind(s, order->s, order->key);

	if (!p)
		str_add(why, "no process of this fleet is behind it now");
	else if (!process_lives(p))
		str_addf(why, "%s, which is behind it, does not run", p->thing.name);
	else if (order->verb == VERB_KILL_CONNECTION && kill_connections(s->world, p, true))
		str_addf(why, "%s has no connection that could be cut", p->thing.name);
	else
		return p;
	return NULL;
}

static void plan_it(struct sim_source *s, const struct order *order, struct plan *plan)
{
	const struct breaking *b = breaking_of(order->verb);
	struct process *p;
	struct str why;

	str_init(&why, TEXT_MOST);
	p = find_process(s, order, &why);
	if (!p) {
		plan_refuse(plan, "%s", why.s);
	} else {
		plan_text(&plan->request, "%s %s (process %d on %s)%s", b->does, p->thing.name,
			p->pid, p->machine->thing.name, b->further);
		plan_text(&plan->guard, "%" PRIu32 " %s", p->life, p->thing.name);
		plan_text(&plan->guarded_by, "that this process was not started again since");
		plan->permission = TRI_YES;
	}
	str_release(&why);
}

static int break_plan(
	void *state, struct round *r, const struct order *order, struct plan *plan, struct err *err)
{
	struct sim_source *s = sim_enter(state);

	(void)r;
	(void)err;
	plan_it(s, order, plan);
	sim_leave(s);
	return 0;
}

/* Whether it is the process and the life that the plan was made for. */
static bool is_as_planned(const struct process *p, const struct plan *plan)
{
	char *name;
	uint32_t life = (uint32_t)strtoul(plan->guard, &name, 10);

	return p->life == life && str_eq(p->thing.name, name + 1);
}

static int break_send(void *state, struct round *r, const struct order *order,
	const struct plan *plan, struct effect *effect, struct err *err)
{
	struct sim_source *s = sim_enter(state);
	struct process *p = find_process(s, order, &effect->answer);

	(void)r;
	(void)err;
	effect->kind = EFFECT_CHANGED;
	if (p && !is_as_planned(p, plan))
		str_addf(&effect->answer, "behind it is another process now, %s (process %d)",
			p->thing.name, p->pid);
	if (effect->answer.len) {
		str_add(&effect->answer, ": nothing was done");
	} else {
		breaking_of(order->verb)->act(s->world, p);
		effect->kind = EFFECT_DONE;
		sim_acted(s, order, "%s", plan->request);
	}
	sim_leave(s);
	return 0;
}

/* What becomes of it is what there is to be watched: the act itself is done. */
static int break_look(void *state, struct round *r, const struct order *order,
	const struct plan *plan, struct sight *sight, struct err *err)
{
	(void)state;
	(void)r;
	(void)order;
	(void)err;
	sight->settled = true;
	str_addf(&sight->text, "%s. Now watch what comes of it", plan->request);
	return 0;
}

/* ---- the table ---- */

static const struct act_case *own_case(
	const struct sim_view *view, enum mechanism mechanism, enum verb verb)
{
	size_t i;

	for (i = 0; i < view->source.n_acts; i++)
		if (view->source.acts[i].mechanism == mechanism &&
			view->source.acts[i].verb == verb)
			return &view->source.acts[i];
	return NULL;
}

/* A client of etcd or Kubernetes makes another connection and notices nothing; a lock of a session
 * goes with it. */
static bool has_it(enum mechanism mechanism, enum verb verb)
{
	return verb != VERB_KILL_CONNECTION || mechanism == MECH_PG_ADVISORY;
}

static void add_cases(struct sim_view *to, struct act_case *cases, enum mechanism mechanism)
{
	size_t i;

	for (i = 0; i < ARRAY_LEN(breakings); i++)
		if (has_it(mechanism, breakings[i].verb) &&
			!own_case(to, mechanism, breakings[i].verb))
			cases[to->source.n_acts++] = (struct act_case){
				.mechanism = mechanism,
				.verb = breakings[i].verb,
				.request = "what breaks the process behind it",
				.guard = "that this process was not started again since",
				.needs = "nothing: it is a built-in fleet",
				.plan = break_plan,
				.send = break_send,
				.look = break_look,
			};
}

struct sim_view *sim_break_view(const struct sim_view *view)
{
	struct sim_view *to = xmalloc(sizeof(*to));
	size_t most = view->source.n_acts + ARRAY_LEN(breakings) * MECH_COUNT;
	struct act_case *cases = xcalloc(most, sizeof(*cases));
	int mechanism;

	memcpy(to, view, sizeof(*to));
	if (view->source.n_acts)
		memcpy(cases, view->source.acts, view->source.n_acts * sizeof(*cases));
	to->source.acts = cases;
	for (mechanism = 0; view->behind && mechanism < MECH_COUNT; mechanism++)
		add_cases(to, cases, (enum mechanism)mechanism);
	return to;
}

void sim_break_free(struct sim_view *view)
{
	if (!view)
		return;
	free((void *)(uintptr_t)view->source.acts);
	free(view);
}
