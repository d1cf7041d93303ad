#ifndef TESTS_UNIT_CONTROL_ACTING_H
#define TESTS_UNIT_CONTROL_ACTING_H

#include "control/gate.h"
#include "source/act.h"
#include "tests/unit/control/script.h"

/*
 * A scripted source that acts as a test tells it: for what the gate makes of a source's answers.
 * What real servers do is tested with real servers (tests/live).
 */
struct acting {
	struct script script; /* first: its state is both */
	/* what reading again says, from the plan of that number on (from 1); 0: never */
	unsigned changed_from, refused_from, unread_from, more_from;
	enum tristate permission;
	bool hang_plan; /* reading again takes until `release` of the script */
	enum effect_kind effect;
	void (*sending)(struct acting *a); /* called in send, before its answer; NULL */
	unsigned settled_from;             /* from the look of that number on; 0: never */
	bool seen, undone;
	enum overlap overlap;
	unsigned plans, sends, looks; /* how often it was asked */
	char sent_key[64];
};

static inline int acting_plan(
	void *state, struct round *r, const struct order *order, struct plan *plan, struct err *err)
{
	struct acting *a = state;
	unsigned n;

	(void)r;
	pthread_mutex_lock(&a->script.mutex);
	n = ++a->plans;
	while (a->hang_plan && !a->script.release)
		pthread_cond_wait(&a->script.polled, &a->script.mutex);
	pthread_mutex_unlock(&a->script.mutex);
	if (a->unread_from && n >= a->unread_from)
		return err_set(err, ERR_TIMEOUT, "no answer in time");
	plan->permission = a->permission;
	plan_text(&plan->request, "delete %s", order->key ? order->key : order->s->id);
	plan_text(&plan->guarded_by, "its key");
	plan_add(&plan->destroys, "key", "one");
	if (a->more_from && n >= a->more_from)
		plan_add(&plan->destroys, "key", "another");
	if (a->permission == TRI_NO)
		plan_text(&plan->permission_why, "GRANT it");
	if (a->changed_from && n >= a->changed_from)
		plan_changed(plan, "somebody else holds it");
	if (a->refused_from && n >= a->refused_from)
		plan_refuse(plan, "it can't be done");
	return 0;
}

static inline int acting_send(void *state, struct round *r, const struct order *order,
	const struct plan *plan, struct effect *effect, struct err *err)
{
	struct acting *a = state;

	(void)r;
	(void)plan;
	pthread_mutex_lock(&a->script.mutex);
	a->sends++;
	snprintf(a->sent_key, sizeof(a->sent_key), "%s", order->key ? order->key : "");
	pthread_mutex_unlock(&a->script.mutex);
	if (a->sending)
		a->sending(a);
	effect->kind = a->effect;
	if (a->effect == EFFECT_UNKNOWN || a->effect == EFFECT_UNSENT)
		return err_set(err, ERR_TIMEOUT, "the connection broke");
	return 0;
}

static inline int acting_look(void *state, struct round *r, const struct order *order,
	const struct plan *plan, struct sight *sight, struct err *err)
{
	struct acting *a = state;

	(void)r;
	(void)order;
	(void)plan;
	(void)err;
	pthread_mutex_lock(&a->script.mutex);
	a->looks++;
	sight->settled = a->settled_from && a->looks >= a->settled_from;
	sight->seen = a->seen;
	sight->undone = a->undone;
	sight->overlap = a->overlap;
	pthread_mutex_unlock(&a->script.mutex);
	str_add(&sight->text, sight->settled ? "it is gone" : "it is still there");
	return 0;
}

#define ACTING(verb_)                                                                             \
	{                                                                                         \
		.mechanism = MECH_ETCD_ELECTION, .verb = verb_, .request = "a request",           \
		.guard = "the key", .needs = "nothing", .plan = acting_plan, .send = acting_send, \
		.look = acting_look                                                               \
	}

static inline const char *acting_hinders(const struct singleton *s, enum verb verb)
{
	(void)s;
	return verb == VERB_RESUME ? "it goes on already" : NULL;
}

static inline bool acting_never_has(const struct singleton *s, enum verb verb)
{
	(void)s;
	(void)verb;
	return false;
}

static const struct act_case acting_acts[] = {
	ACTING(VERB_STEP_DOWN),
	ACTING(VERB_RELEASE),
	ACTING(VERB_SUSPEND),
	/* Rows of its mechanism may have them; these don't, or show that it is not the time. */
	{ .mechanism = MECH_ETCD_ELECTION, .verb = VERB_TRIGGER, .has = acting_never_has },
	{ .mechanism = MECH_ETCD_ELECTION,
		.verb = VERB_RESUME,
		.plan = acting_plan,
		.send = acting_send,
		.look = acting_look,
		.hinders = acting_hinders },
};

static const struct source_ops acting_source = {
	.kind = "acting",
	.summary = "acts as a test tells it",
	.interval_ms = 10,
	.open = script_open,
	.poll = script_poll,
	.close = script_close,
	.acts = acting_acts,
	.n_acts = ARRAY_LEN(acting_acts),
};

static inline void acting_init(struct acting *a, const char *source)
{
	memset(a, 0, sizeof(*a));
	script_init(&a->script);
	a->script.source = source;
	a->script.names[0] = "x";
	a->script.holders[0] = "node-a";
	a->script.tokens[0] = 7;
	a->permission = TRI_YES;
	a->effect = EFFECT_DONE;
	a->settled_from = 1;
}

/* Two acting sources, "test" and "other", of which the second is there as a bystander. */
struct acting_fleet {
	struct acting first, second;
	struct source_config configs[2];
	struct settings settings;
	struct fleet *fleet;
	struct gate *gate;
	struct gate_options options;
};

static inline void acting_fleet_init(struct acting_fleet *f)
{
	int i;

	memset(f, 0, sizeof(*f));
	acting_init(&f->first, "test");
	acting_init(&f->second, "other");
	script_configure(&f->configs[0], &f->first.script, "test");
	script_configure(&f->configs[1], &f->second.script, "other");
	for (i = 0; i < 2; i++) {
		f->configs[i].ops = &acting_source;
		f->configs[i].environment = "staging";
	}
	f->settings.sources = f->configs;
	f->settings.n_sources = 2;
	f->settings.thresholds = thresholds_default();
	f->options = (struct gate_options){ .way = GATE_WAY_COMMAND, .settle_ms = 400 };
}

static inline void acting_fleet_start(struct acting_fleet *f, const char *folder)
{
	struct fleet_options options = {
		.clock = &clock_system,
		.memory = true,
		.state_dir = folder,
	};

	f->fleet = fleet_new(&f->settings, &options);
	fleet_start(f->fleet);
	fleet_wait_settled(f->fleet, clock_mono_ms(&clock_system) + 20000);
}

static inline void acting_fleet_stop(struct acting_fleet *f)
{
	gate_close(f->gate);
	fleet_stop(f->fleet, 20000);
	fleet_free(f->fleet);
}

#endif
