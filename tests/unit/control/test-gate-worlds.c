#include "config.h"

#include "tests/unit/unit.h"
#include "tests/unit/control/acting.h"
#include "tests/unit/control/folder.h"

#include "control/audit.h"

/*
 * The gate against a server in which anything may happen between any two of its steps: every such
 * world is played, with the gate's own code. The holder is always called node-a; only its number
 * tells one from the next. Whoever came later must never be hit, and no outcome may lie.
 */
enum {
	LIMIT_MS = 20000,
	STEPS = 5, /* of the gate: read, (the dialog is open), read again, send, look */
	TARGET = 7 /* the number of whom it is meant for */
};

/* What happens before a step. */
enum change {
	NOTHING,
	LEAVES,   /* nobody holds it */
	REPLACED, /* another one of the same name holds it */
	CHANGES
};

/* What becomes of the request. */
enum wire {
	ARRIVES,
	LOST,        /* it never arrives */
	ANSWER_LOST, /* it is carried out, and nobody says so */
	WIRES
};

struct world {
	struct script script; /* first: its state is both */
	enum change changes[STEPS];
	enum wire wire;
	bool unguarded; /* the request names no identity */
	int holder;     /* 0: nobody */
	int hit;        /* who lost it by the request; 0: nobody */
	unsigned plans, sends;
};

static void change(struct world *w, int step)
{
	if (w->changes[step] == LEAVES)
		w->holder = 0;
	else if (w->changes[step] == REPLACED)
		w->holder = (w->holder > TARGET ? w->holder : TARGET) + 1;
}

static int world_plan(
	void *state, struct round *r, const struct order *order, struct plan *plan, struct err *err)
{
	struct world *w = state;
	char key[24];

	(void)r;
	(void)err;
	change(w, w->plans++ ? 2 : 0);
	snprintf(key, sizeof(key), "rev:%d", w->holder);
	plan->permission = TRI_YES;
	plan_text(&plan->request, "take it from %s", order->key);
	if (strcmp(order->key, key) != 0)
		plan_changed(plan, "somebody else holds it");
	return 0;
}

static int world_send(void *state, struct round *r, const struct order *order,
	const struct plan *plan, struct effect *effect, struct err *err)
{
	struct world *w = state;
	bool held;
	char key[24];

	(void)r;
	(void)plan;
	w->sends++;
	change(w, 3);
	snprintf(key, sizeof(key), "rev:%d", w->holder);
	held = w->unguarded || strcmp(order->key, key) == 0;
	if (w->wire != LOST && held) {
		w->hit = w->holder;
		w->holder = 0;
	}
	effect->kind = w->wire != ARRIVES ? EFFECT_UNKNOWN : held ? EFFECT_DONE : EFFECT_CHANGED;
	return w->wire != ARRIVES ? err_set(err, ERR_TIMEOUT, "no answer") : 0;
}

static int world_look(void *state, struct round *r, const struct order *order,
	const struct plan *plan, struct sight *sight, struct err *err)
{
	struct world *w = state;

	(void)r;
	(void)order;
	(void)plan;
	(void)err;
	change(w, 4);
	sight->settled = w->holder != TARGET;
	return 0;
}

static const struct act_case world_acts[] = {
	{ .mechanism = MECH_ETCD_ELECTION,
		.verb = VERB_RELEASE,
		.plan = world_plan,
		.send = world_send,
		.look = world_look },
};

static const struct source_ops world_source = {
	.kind = "world",
	.summary = "anything may happen in it",
	.interval_ms = 60000,
	.open = script_open,
	.poll = script_poll,
	.close = script_close,
	.acts = world_acts,
	.n_acts = ARRAY_LEN(world_acts),
};

struct stage {
	struct world world;
	struct source_config config;
	struct settings settings;
	struct fleet *fleet;
	struct board *board;
};

static void stage_open(struct stage *s, const char *folder)
{
	struct fleet_options options = {
		.clock = &clock_system, .memory = true, .state_dir = folder
	};

	memset(s, 0, sizeof(*s));
	script_init(&s->world.script);
	s->world.script.names[0] = "x";
	s->world.script.holders[0] = "node-a";
	s->world.script.tokens[0] = TARGET;
	script_configure(&s->config, &s->world.script, "test");
	s->config.ops = &world_source;
	s->config.environment = "lab";
	s->settings.sources = &s->config;
	s->settings.n_sources = 1;
	s->settings.thresholds = thresholds_default();
	s->fleet = fleet_new(&s->settings, &options);
	fleet_start(s->fleet);
	fleet_wait_settled(s->fleet, clock_mono_ms(&clock_system) + LIMIT_MS);
	s->board = fleet_board(s->fleet);
}

static void stage_close(struct stage *s)
{
	board_unref(s->board);
	fleet_stop(s->fleet, LIMIT_MS);
	fleet_free(s->fleet);
}

static struct gate_view *wait_for(struct gate *gate, enum gate_phase phase)
{
	int64_t end = clock_mono_ms(&clock_system) + LIMIT_MS;

	for (;;) {
		struct gate_view *view = gate_look(gate);

		if (view->phase >= phase)
			return view;
		gate_view_free(view);
		assert_true(clock_mono_ms(&clock_system) < end);
		poll(NULL, 0, 0);
	}
}

/* One act in the world that stands in s->world. */
static enum gate_outcome act(struct stage *s)
{
	const struct gate_want want = { .verb = VERB_RELEASE, .id = "test/x", .key = "rev:7" };
	const struct gate_options options = { .way = GATE_WAY_COMMAND, .settle_ms = 100 };
	struct gate *gate = gate_begin(s->fleet, s->board, &want, 1, &options);
	struct gate_view *view = wait_for(gate, GATE_PHASE_ASKING);
	enum gate_outcome outcome;

	if (view->phase == GATE_PHASE_ASKING) {
		change(&s->world, 1);
		assert_int_equal(gate_confirm(gate, "node-a", "why", NULL), 0);
	}
	gate_view_free(view);
	view = wait_for(gate, GATE_PHASE_OVER);
	outcome = view->outcome;
	gate_view_free(view);
	gate_close(gate);
	return outcome;
}

/* Sets up the world of that number. */
static void make_world(struct world *w, unsigned number)
{
	int i;

	for (i = 0; i < STEPS; i++) {
		w->changes[i] = (enum change)(number % CHANGES);
		number /= CHANGES;
	}
	w->wire = (enum wire)(number % WIRES);
	w->holder = TARGET;
	w->hit = 0;
	w->plans = w->sends = 0;
}

enum {
	WORLDS = CHANGES * CHANGES * CHANGES * CHANGES * CHANGES * WIRES
};

static void check_outcome(const struct world *w, enum gate_outcome outcome, unsigned number)
{
	bool lies = false;

	if (w->hit && w->hit != TARGET)
		fail_msg("world %u: a newcomer was hit", number);
	if (w->sends > 1)
		fail_msg("world %u: sent %u times", number, w->sends);
	switch (outcome) {
	case GATE_DONE:
		lies = w->hit != TARGET || w->wire != ARRIVES;
		break;
	case GATE_CHANGED:
	case GATE_REFUSED:
		lies = w->hit != 0 || (w->sends && w->wire != ARRIVES);
		break;
	case GATE_UNKNOWN:
		lies = w->sends != 1 || w->wire == ARRIVES;
		break;
	default:
		lies = true;
	}
	if (lies)
		fail_msg("world %u: the outcome is %s", number, gate_outcome_word(outcome));
}

static void count(void *arg, const struct audit_act *act_)
{
	unsigned *counts = arg;

	counts[act_->outcome ? 0 : 1]++;
}

static void no_newcomer_is_hit_and_no_outcome_lies(void **state)
{
	unsigned outcomes[GATE_CANCELLED + 1] = { 0 }, recorded[2] = { 0 }, confirmed = 0, i;
	struct audit audit;
	struct stage s;
	size_t broken;

	stage_open(&s, *state);
	for (i = 0; i < WORLDS; i++) {
		enum gate_outcome outcome;

		make_world(&s.world, i);
		outcome = act(&s);
		check_outcome(&s.world, outcome, i);
		outcomes[outcome]++;
		confirmed += s.world.plans > 1;
	}
	stage_close(&s);
	/* Each of the ends was seen, or the worlds were none. */
	assert_true(outcomes[GATE_DONE] > 0 && outcomes[GATE_CHANGED] > 0 &&
		    outcomes[GATE_UNKNOWN] > 0);
	audit_init(&audit, *state);
	assert_int_equal(audit_acts(&audit, WORLDS, count, recorded, &broken, NULL), 0);
	assert_int_equal(recorded[0], confirmed);
	assert_int_equal(recorded[1] + broken, 0);
	audit_release(&audit);
}

/* Without a guard there is a window, and the worlds find it: what is tested above can fail. */
static void without_a_guard_there_is_a_window(void **state)
{
	unsigned i, hit = 0;
	struct stage s;

	stage_open(&s, *state);
	s.world.unguarded = true;
	for (i = 0; i < WORLDS / WIRES; i++) {
		make_world(&s.world, i);
		act(&s);
		if (s.world.hit > TARGET) {
			hit++;
			/* Only what comes between the last reading and the request gets through. */
			assert_int_equal(s.world.changes[3], REPLACED);
		}
	}
	assert_true(hit > 0);
	stage_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			no_newcomer_is_hit_and_no_outcome_lies, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(
			without_a_guard_there_is_a_window, make_folder, remove_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
