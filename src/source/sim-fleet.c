#include "config.h"

#include "source/sim-fleet.h"
#include "base/mem.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	KEY_MAX = 48,
	SILENT_MS = 5000, /* so long without a sign of life, and it is shown */
};

/* ---- a process ---- */

static bool process_shown(const struct thing *t)
{
	const struct process *p = (const struct process *)t;

	return !p->hidden && !(p->brief && p->life && !process_lives(p));
}

static const char *process_condition(const struct world *w, const struct process *p)
{
	switch (p->state) {
	case PROCESS_STOPPED:
		return p->life ? "stopped" : "not started";
	case PROCESS_CRASHED:
		return "ended; it is started again soon";
	case PROCESS_RUNNING:
		return "running";
	case PROCESS_PAUSED:
		break;
	}
	(void)w;
	return "it is there, and gives no sign of life";
}

static void process_tell(struct world *w, struct thing *t, struct draft *d)
{
	const struct process *p = (const struct process *)t;
	char key[KEY_MAX];

	draft_text(d, DETAIL_CONDITION, process_condition(w, p));
	draft_text(d, DETAIL_MACHINE, p->machine->thing.name);
	if (p->about)
		draft_text(d, DETAIL_ABOUT, p->about);
	if (p->blocked)
		draft_text(d, DETAIL_BLOCKED, p->blocked);
	draft_int(d, DETAIL_STARTS, p->life);
	if (!process_lives(p))
		return;
	snprintf(key, sizeof(key), "start:%" PRIu32, p->life);
	draft_claim(d, CLAIM_HOLDER, p->identity, strlen(p->identity), key);
	draft_int(d, DETAIL_PID, p->pid);
	draft_int(d, DETAIL_STARTED, world_now_us(w) - (world_now_ms(w) - p->began_ms) * 1000);
}

static int64_t process_life(const struct thing *t)
{
	return ((const struct process *)t)->life;
}

void sim_fleet_answer(const struct world *w, const struct process *p, char *buf, size_t size)
{
	const struct program *g;
	char one[SIM_FLEET_TEXT_MAX];
	struct str all;

	if (p->state == PROCESS_PAUSED) {
		snprintf(buf, size, "no answer: it gives no sign of life");
		return;
	}
	if (!process_lives(p)) {
		snprintf(buf, size, "its owner: it does not run");
		return;
	}
	str_init(&all, size - 1);
	for (g = p->programs; g; g = g->next) {
		if (!g->ops->asked)
			continue;
		one[0] = '\0';
		g->ops->asked(w, g, one, sizeof(one));
		if (one[0])
			str_addf(&all, "%s%s", all.len ? "; " : "its owner: ", one);
	}
	snprintf(buf, size, "%s", all.len ? all.s : "its owner: it runs, and all looks well to it");
	str_release(&all);
}

static void ask(struct world *w, struct thing *t, char *answer, size_t size)
{
	sim_fleet_answer(w, (const struct process *)t, answer, size);
}

static bool runs(struct world *w, struct thing *t, char *why, size_t size)
{
	(void)w;
	if (process_lives((struct process *)t))
		return true;
	snprintf(why, size, "%s does not run", t->name);
	return false;
}

static void stop(struct world *w, struct thing *t, char *answer, size_t size)
{
	bool paused = ((struct process *)t)->state == PROCESS_PAUSED;

	process_end(w, (struct process *)t, PROCESS_END_STOPPED);
	snprintf(answer, size, "%s %s", t->name,
		paused ? "did not answer, and was killed" : "has ended");
}

static bool is_stopped(struct world *w, struct thing *t)
{
	(void)w;
	return !process_lives((struct process *)t);
}

static bool can_start(struct world *w, struct thing *t, char *why, size_t size)
{
	const struct process *p = (const struct process *)t;

	(void)w;
	if (process_lives(p))
		snprintf(why, size, "%s runs already", t->name);
	else if (!p->machine->up)
		snprintf(why, size, "its machine %s is off", p->machine->thing.name);
	else if (p->blocked)
		snprintf(why, size, "%s", p->blocked);
	else
		return true;
	return false;
}

static void start(struct world *w, struct thing *t, char *answer, size_t size)
{
	process_start(w, (struct process *)t);
	snprintf(answer, size, "%s has started as process %d", t->name, ((struct process *)t)->pid);
}

static bool does_run(struct world *w, struct thing *t)
{
	(void)w;
	return process_lives((struct process *)t);
}

static bool can_restart(struct world *w, struct thing *t, char *why, size_t size)
{
	const struct process *p = (const struct process *)t;

	if (!runs(w, t, why, size))
		return false;
	if (p->blocked)
		snprintf(why, size, "%s", p->blocked);
	return !p->blocked;
}

static void restart(struct world *w, struct thing *t, char *answer, size_t size)
{
	process_end(w, (struct process *)t, PROCESS_END_STOPPED);
	start(w, t, answer, size);
}

static const char *seen_stopped(const struct singleton *s)
{
	return singleton_holder(s) ? NULL : "it does not run";
}

static const char *seen_blocked(const struct singleton *s)
{
	return singleton_text(s, DETAIL_BLOCKED, NULL);
}

static const char *hinders_start(const struct singleton *s)
{
	return singleton_holder(s) ? "it runs already" : seen_blocked(s);
}

static const char *hinders_restart(const struct singleton *s)
{
	const char *stopped = seen_stopped(s);

	return stopped ? stopped : seen_blocked(s);
}

static const struct sim_fleet_act process_acts[] = {
	{ VERB_ASK, "ask the owner of", " how it is", NULL, ask, NULL, NULL },
	{ VERB_STOP, "stop the process", ": SIGTERM, and SIGKILL when it does not answer", runs,
		stop, is_stopped, seen_stopped },
	{ VERB_START, "start the process", "", can_start, start, does_run, hinders_start },
	{ VERB_RESTART, "stop the process", ", and start it again", can_restart, restart, does_run,
		hinders_restart },
};

/* ---- a machine ---- */

static const char cut_off_text[] = "up, and cut off from the network";

static void machine_tell(struct world *w, struct thing *t, struct draft *d)
{
	const struct machine *m = (const struct machine *)t;

	(void)w;
	draft_text(d, DETAIL_CONDITION, !m->up ? "off" : m->isolated ? cut_off_text : "up");
	if (m->up)
		draft_claim(d, CLAIM_HOLDER, t->name, strlen(t->name), "power:on");
}

static bool is_up(struct world *w, struct thing *t, char *why, size_t size)
{
	(void)w;
	if (((struct machine *)t)->up)
		return true;
	snprintf(why, size, "%s is off", t->name);
	return false;
}

static bool can_isolate(struct world *w, struct thing *t, char *why, size_t size)
{
	if (!is_up(w, t, why, size))
		return false;
	if (!((struct machine *)t)->isolated)
		return true;
	snprintf(why, size, "%s is cut off already", t->name);
	return false;
}

static void isolate(struct world *w, struct thing *t, char *answer, size_t size)
{
	machine_isolate(w, (struct machine *)t, true);
	snprintf(answer, size, "no packet reaches or leaves %s now; what runs there runs on",
		t->name);
}

static bool is_isolated(struct world *w, struct thing *t)
{
	(void)w;
	return ((struct machine *)t)->isolated;
}

static bool can_rejoin(struct world *w, struct thing *t, char *why, size_t size)
{
	(void)w;
	if (((struct machine *)t)->isolated)
		return true;
	snprintf(why, size, "%s is not cut off", t->name);
	return false;
}

static void rejoin(struct world *w, struct thing *t, char *answer, size_t size)
{
	machine_isolate(w, (struct machine *)t, false);
	snprintf(answer, size, "%s is on the network again", t->name);
}

static bool is_joined(struct world *w, struct thing *t)
{
	return !is_isolated(w, t);
}

static void fence(struct world *w, struct thing *t, char *answer, size_t size)
{
	machine_down(w, (struct machine *)t);
	snprintf(answer, size, "%s is off, and so is all that ran there", t->name);
}

static bool is_off(struct world *w, struct thing *t)
{
	(void)w;
	return !((struct machine *)t)->up;
}

static bool can_power_on(struct world *w, struct thing *t, char *why, size_t size)
{
	(void)w;
	if (!((struct machine *)t)->up)
		return true;
	snprintf(why, size, "%s is up", t->name);
	return false;
}

static void power_on(struct world *w, struct thing *t, char *answer, size_t size)
{
	machine_up(w, (struct machine *)t);
	snprintf(answer, size, "%s starts", t->name);
}

static bool is_on(struct world *w, struct thing *t)
{
	return !is_off(w, t);
}

static const char *seen_off(const struct singleton *s)
{
	return singleton_holder(s) ? NULL : "it is off";
}

static const char *seen_up(const struct singleton *s)
{
	return singleton_holder(s) ? "it is up" : NULL;
}

static bool seen_cut_off(const struct singleton *s)
{
	return strcmp(singleton_text(s, DETAIL_CONDITION, ""), cut_off_text) == 0;
}

static const char *hinders_isolate(const struct singleton *s)
{
	return seen_cut_off(s) ? "it is cut off already" : seen_off(s);
}

/* Of one that is off nobody sees whether it would be cut off. */
static const char *hinders_rejoin(const struct singleton *s)
{
	return singleton_holder(s) && !seen_cut_off(s) ? "it is not cut off" : NULL;
}

static const struct sim_fleet_act machine_acts[] = {
	{ VERB_ISOLATE, "cut", " off from the network", can_isolate, isolate, is_isolated,
		hinders_isolate },
	{ VERB_REJOIN, "put", " back on the network", can_rejoin, rejoin, is_joined,
		hinders_rejoin },
	{ VERB_FENCE, "switch the machine", " off", is_up, fence, is_off, seen_off },
	{ VERB_START, "switch the machine", " on", can_power_on, power_on, is_on, seen_up },
};

static const struct sim_fleet_kind own_kinds[] = {
	{ &process_ops, "process", process_shown, process_tell, process_life, process_acts,
		ARRAY_LEN(process_acts) },
	{ &machine_ops, "machine", NULL, machine_tell, NULL, machine_acts,
		ARRAY_LEN(machine_acts) },
	{ .ops = NULL },
};

/* ---- the picture ---- */

struct fleet_thing {
	struct thing thing;
};

static void fleet_thing_free(struct thing *t)
{
	free(t);
}

static const struct thing_ops fleet_ops = { .kind = "fleet", .free = fleet_thing_free };

void sim_fleet_make(struct world *w)
{
	static const char *const names[] = { "all", "processes", "machines" };
	size_t i;

	for (i = 0; i < ARRAY_LEN(names); i++) {
		struct fleet_thing *f = xcalloc(1, sizeof(*f));

		world_add(w, &f->thing, &fleet_ops, names[i]);
	}
}

/* Whether this picture has the rows of a kind. */
static bool has_kind(const struct thing *fleet, const struct sim_fleet_kind *k)
{
	return str_eq(fleet->name, "all") ||
	       (str_eq(fleet->name, "processes") && k->ops == &process_ops) ||
	       (str_eq(fleet->name, "machines") && k->ops == &machine_ops);
}

/* The kinds of all parts, one after another: k moves on, and part from part. */
static const struct sim_fleet_kind *next_kind(size_t *part, const struct sim_fleet_kind *k)
{
	if (k && k[1].ops)
		return k + 1;
	for (; sim_parts[*part]; (*part)++)
		if (sim_parts[*part]->fleet && sim_parts[*part]->fleet->ops)
			return sim_parts[(*part)++]->fleet;
	return NULL;
}

static uint64_t fleet_version(const struct world *w, const struct thing *t)
{
	const struct sim_fleet_kind *k = NULL;
	uint64_t sum = 0;
	size_t part = 0;

	(void)t;
	while ((k = next_kind(&part, k)) != NULL)
		sum += world_versions(w, k->ops);
	return sum;
}

static void tell_one(
	struct sim_source *s, struct round *r, const struct sim_fleet_kind *k, struct thing *t)
{
	struct draft *d = round_draft(r);
	struct str path;

	if (!has_kind(s->thing, k) || (k->shown && !k->shown(t)))
		return;
	str_init(&path, 1024);
	str_addf(&path, "%s/%s", k->word, t->name);
	draft_begin(d, MECH_PROCESS, s->config->name, path.s, path.len);
	k->tell(s->world, t, d);
	round_put(r, draft_finish(d));
	str_release(&path);
}

static int fleet_tell(struct sim_source *s, struct round *r, struct err *err)
{
	const struct sim_fleet_kind *k = NULL;
	size_t part = 0;
	struct thing *t;

	(void)err;
	round_begin(r);
	while ((k = next_kind(&part, k)) != NULL)
		for (t = NULL; (t = world_each(s->world, k->ops, t)) != NULL;)
			tell_one(s, r, k, t);
	round_end(r);
	return 0;
}

/* ---- acts ---- */

/* What kind of thing a path is of; NULL: of none. *ret_name: its name, behind the word. */
static const struct sim_fleet_kind *kind_of(const char *path, const char **ret_name)
{
	const struct sim_fleet_kind *k = NULL;
	size_t part = 0;

	while ((k = next_kind(&part, k)) != NULL) {
		size_t len = strlen(k->word);

		if (strncmp(path, k->word, len) != 0 || path[len] != '/')
			continue;
		*ret_name = path + len + 1;
		return k;
	}
	return NULL;
}

/* What a row stands for now; *ret_kind says how. NULL: it is gone, or has no row any more. */
static struct thing *thing_of(const struct sim_source *s, const struct order *order,
	const struct sim_fleet_kind **ret_kind)
{
	struct thing *found = NULL;
	const char *name;
	struct str path;

	str_init(&path, 1024);
	*ret_kind = NULL;
	if (!text_unescape(&path, singleton_path(order->s)))
		*ret_kind = kind_of(path.s, &name);
	if (*ret_kind)
		found = world_find(s->world, (*ret_kind)->ops, name);
	if (found && (*ret_kind)->shown && !(*ret_kind)->shown(found))
		found = NULL;
	str_release(&path);
	return found;
}

static const struct sim_fleet_act *act_of(const struct sim_fleet_kind *k, enum verb verb)
{
	size_t i;

	for (i = 0; i < k->n_acts; i++)
		if (k->acts[i].verb == verb)
			return &k->acts[i];
	return NULL;
}

/* The same of a row alone: the words of kinds have nothing that is escaped. */
static const struct sim_fleet_act *act_of_row(const struct singleton *s, enum verb verb)
{
	const char *name;
	const struct sim_fleet_kind *k = kind_of(singleton_path(s), &name);

	return k ? act_of(k, verb) : NULL;
}

static bool fleet_has(const struct singleton *s, enum verb verb)
{
	return act_of_row(s, verb) != NULL;
}

static const char *fleet_hinders(const struct singleton *s, enum verb verb)
{
	const struct sim_fleet_act *act = act_of_row(s, verb);

	return act && act->hinders ? act->hinders(s) : NULL;
}

static int64_t life_of(const struct sim_fleet_kind *k, const struct thing *t)
{
	return k->life ? k->life(t) : 0;
}

/* Whether it is the same as on the screen: a process that was started again is another. */
static bool is_as_seen(
	const struct sim_fleet_kind *k, const struct thing *t, const struct order *order)
{
	return !k->life || singleton_int(order->s, DETAIL_STARTS, -1) == k->life(t);
}

static void plan_it(struct sim_source *s, const struct order *order, struct plan *plan)
{
	const struct sim_fleet_kind *k = NULL;
	struct thing *t = thing_of(s, order, &k);
	const struct sim_fleet_act *act = t ? act_of(k, order->verb) : NULL;
	char why[SIM_FLEET_TEXT_MAX];

	if (!t) {
		plan_changed(plan, "it is not there any more");
		return;
	}
	if (!act) {
		plan_refuse(
			plan, "%s does not work on a %s", verb_word(order->verb)->word, k->word);
		return;
	}
	if (!is_as_seen(k, t, order)) {
		plan_changed(plan, "%s was started again since: look at it first", t->name);
		return;
	}
	if (act->can && !act->can(s->world, t, why, sizeof(why))) {
		plan_refuse(plan, "%s", why);
		return;
	}
	plan_text(&plan->request, "%s %s%s", act->request, t->name, act->further);
	plan_text(&plan->guard, "%" PRId64, life_of(k, t));
	plan_text(&plan->guarded_by,
		k->life ? "that it was not started again since" : "that it is there still");
	if (order->verb == VERB_ASK)
		plan_add(&plan->told, "its owner, who is asked", NULL);
	plan->permission = TRI_YES;
	plan->stops_holder = order->verb == VERB_STOP || order->verb == VERB_FENCE;
}

static int fleet_plan(
	void *state, struct round *r, const struct order *order, struct plan *plan, struct err *err)
{
	struct sim_source *s = sim_enter(state);

	(void)r;
	(void)err;
	plan_it(s, order, plan);
	sim_leave(s);
	return 0;
}

/*
 * The world went on since it was planned. Whether it can be done still, to the same life of the
 * thing; else answer says what is so now.
 */
static bool still_can(struct sim_source *s, const struct sim_fleet_kind *k,
	const struct sim_fleet_act *act, struct thing *t, const struct plan *plan,
	struct str *answer)
{
	char why[SIM_FLEET_TEXT_MAX];

	if (!act)
		str_add(answer, "it is not there any more");
	else if (strtoll(plan->guard, NULL, 10) != life_of(k, t))
		str_addf(answer, "%s was started again since", t->name);
	else if (act->can && !act->can(s->world, t, why, sizeof(why)))
		str_add(answer, why);
	else
		return true;
	str_add(answer, ": nothing was done");
	return false;
}

static int fleet_send(void *state, struct round *r, const struct order *order,
	const struct plan *plan, struct effect *effect, struct err *err)
{
	struct sim_source *s = sim_enter(state);
	const struct sim_fleet_kind *k = NULL;
	struct thing *t = thing_of(s, order, &k);
	const struct sim_fleet_act *act = t ? act_of(k, order->verb) : NULL;
	char answer[SIM_FLEET_TEXT_MAX] = "";

	(void)r;
	(void)err;
	effect->kind = EFFECT_CHANGED;
	if (still_can(s, k, act, t, plan, &effect->answer)) {
		act->act(s->world, t, answer, sizeof(answer));
		effect->kind = EFFECT_DONE;
		str_add(&effect->answer, answer);
		sim_acted(s, order, "%s", plan->request);
	}
	sim_leave(s);
	return 0;
}

static int fleet_look(void *state, struct round *r, const struct order *order,
	const struct plan *plan, struct sight *sight, struct err *err)
{
	struct sim_source *s = sim_enter(state);
	const struct sim_fleet_kind *k = NULL;
	struct thing *t = thing_of(s, order, &k);
	const struct sim_fleet_act *act = t ? act_of(k, order->verb) : NULL;
	char answer[SIM_FLEET_TEXT_MAX] = "";

	(void)r;
	(void)plan;
	(void)err;
	sight->settled = !act || !act->done || act->done(s->world, t);
	/* What was answered is all that there is to see of a question. */
	if (act && order->verb == VERB_ASK) {
		act->act(s->world, t, answer, sizeof(answer));
		str_add(&sight->text, answer);
	}
	sim_leave(s);
	return 0;
}

#define FLEET_ACT(verb_id, text)                                                               \
	{                                                                                      \
		MECH_PROCESS, VERB_##verb_id, text, "that it was not started again since",     \
			"nothing: it is a built-in fleet", fleet_plan, fleet_send, fleet_look, \
			fleet_has, fleet_hinders                                               \
	}

static const struct act_case fleet_acts[] = {
	FLEET_ACT(ASK, "a question to who owns it"),
	FLEET_ACT(STOP, "SIGTERM, and SIGKILL when it does not answer"),
	FLEET_ACT(START, "its start"),
	FLEET_ACT(RESTART, "its end and a new start"),
	FLEET_ACT(ISOLATE, "cutting it off from the network"),
	FLEET_ACT(REJOIN, "putting it back on the network"),
	FLEET_ACT(FENCE, "switching it off"),
	FLEET_ACT(MEND, "a word to who owns it, who mends it"),
	FLEET_ACT(UNHOLD, "taking off its finalizers, and a deletion by force"),
	FLEET_ACT(APPLY, "the edit that was asked for"),
	FLEET_ACT(APPLY_GUARDED, "the same edit with a short starting deadline"),
};

static const struct sim_view views[] = {
	{ .source = { SIM_SOURCE("fleet", "the processes and machines themselves"),
		  .acts = fleet_acts, .n_acts = ARRAY_LEN(fleet_acts) },
		.ops = &fleet_ops,
		.tell = fleet_tell,
		.version = fleet_version },
	{ .ops = NULL },
};

const struct sim_part sim_part_fleet = { .word = "fleet", .views = views, .fleet = own_kinds };
