#include "config.h"

#include "tests/unit/unit.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "control/scenario.h"
#include "control/settings.h"
#include "io/yaml.h"
#include "source/sim-host.h"
#include "source/sim.h"

#include <string.h>

/* A world of two machines and a process, to which each case adds what it is about. */
#define WORLD                                                        \
	"world:\n"                                                   \
	"  machines: [{name: one}, {name: two, ahead: 90s}]\n"       \
	"  resources: [{name: orders, kind: fenced}]\n"              \
	"  duties: [{name: settle, resource: orders, every: 2s}]\n"  \
	"  processes: [{name: worker, machine: one, restart: 5s}]\n" \
	"sources: [{name: fleet, shows: {fleet: all}}]\n"

static struct scenario *good(const char *text)
{
	struct scenario_options options = { .has_seed = false };
	struct scenario *s = NULL;
	struct err err = { 0 };

	if (scenario_parse(text, strlen(text), "t.yaml", &options, &s, &err))
		fail_msg("%s", err.text);
	return s;
}

static void refuses(const char *text, const char *sentence)
{
	struct scenario_options options = { .has_seed = false };
	struct scenario *s = NULL;
	struct err err = { 0 };

	assert_int_equal(
		scenario_parse(text, strlen(text), "t.yaml", &options, &s, &err), ERR_CONFIG);
	if (!strstr(err.text, sentence))
		fail_msg("'%s' does not say '%s'", err.text, sentence);
}

static void what_it_says_is_what_there_is(void **state)
{
	struct scenario *s = good("title: T\nseed: 7\nopens: 3s\n" WORLD
				  "roles: {pay: {witnesses: [fleet/process/worker]}}\n"
				  "thresholds: {clock_skew: 9s}\n");
	struct world *w = sim_host_enter(s->host);

	(void)state;
	assert_string_equal(s->title, "T");
	assert_int_equal(s->seed, 7);
	assert_int_equal(s->opens_ms, 3000);
	assert_int_equal(machine_clock_us(w, machine_find(w, "two")) - world_now_us(w), 90000000);
	assert_int_equal(process_find(w, "worker")->restart_after_ms, 5000);
	assert_ptr_equal(duty_find(w, "settle")->resource, resource_find(w, "orders"));
	sim_host_leave(s->host);
	assert_true(s->settings->sim);
	assert_int_equal(s->settings->n_sources, 1);
	assert_string_equal(s->settings->sources[0].name, "fleet");
	assert_int_equal(s->settings->n_roles, 1);
	assert_int_equal(s->settings->thresholds.skew_ms, 9000);
	scenario_free(s);
}

static void an_error_has_its_place_and_the_nearest_word(void **state)
{
	(void)state;
	refuses("titel: T\n" WORLD,
		"t.yaml:1:1: unknown key 'titel' in the scenario; did you mean 'title'?");
	refuses("world: {machine: []}\nsources: []\n", "t.yaml:1:9: unknown key 'machine'");
	refuses("world: {machines: [{name: a, ahed: 3s}]}\nsources: []\n", "did you mean 'ahead'?");
	refuses("start: tomorrow\n" WORLD, "t.yaml:1:8: 'start' must be a time in UTC");
	refuses("start: 2026-02-30T00:00:00Z\n" WORLD, "'start' must be a time in UTC");
	refuses(WORLD "faults: [{at: 3s, pawse: {process: worker}}]\n", "did you mean 'pause'?");
	refuses(WORLD "faults: [{at: 3s, pause: {process: worke}}]\n",
		"pause: there is no process called 'worke'; did you mean 'worker'?");
	refuses(WORLD "faults: [{at: 3s, pause: {process: worker}, stop: {process: worker}}]\n",
		"a fault is one thing");
	refuses(WORLD "faults: [{at: 3s}]\n", "a fault must say what happens");
	refuses(WORLD "faults: [{at: 3s, crash: {process: worker}, every: 0s}]\n",
		"'every' must be at least 100ms");
	refuses("world: {machines: [{name: a}, {name: a}]}\nsources: []\n", "two of the name 'a'");
	refuses("world: {processes: [{name: p, machine: x}]}\nsources: []\n",
		"there is no machine called 'x'");
	refuses("world:\n  machines: [{name: m}]\n  processes:\n  - {name: p, machine: m, runs: "
		"[{nap: {}}]}\n"
		"sources: []\n",
		"t.yaml:4:35: unknown key 'nap'");
}

static void sources_are_checked_too(void **state)
{
	(void)state;
	refuses("world: {machines: [{name: m}]}\nsources: [{name: f, shows: {flet: all}}]\n",
		"did you mean 'fleet'?");
	refuses("world: {machines: [{name: m}]}\nsources: [{name: f, shows: {fleet: al}}]\n",
		"there is no fleet called 'al'; did you mean 'all'?");
	refuses("world: {machines: [{name: m}]}\nsources: [{name: f/g, shows: {fleet: all}}]\n",
		"the source name 'f/g' must be");
	refuses("world: {machines: [{name: m}]}\nsources: [{name: f, shows: {fleet: all}}, "
		"{name: f, shows: {fleet: all}}]\n",
		"two sources are called 'f'");
	refuses(WORLD "roles: {r: {witnesses: [nobody/x]}}\n", "no source is called 'nobody'");
}

static void faults_come_at_their_time_and_again(void **state)
{
	struct scenario *s =
		good(WORLD "faults:\n  - {at: 3s, crash: {process: worker}, every: 20s}\n"
			   "  - {at: 40s, cut: {between: [one, two], for: 5s}}\n");
	struct world *w = sim_host_enter(s->host);
	const struct process *p = process_find(w, "worker");
	const struct machine *one = machine_find(w, "one"), *two = machine_find(w, "two");

	(void)state;
	world_run(w, 2999);
	assert_int_equal(p->state, PROCESS_RUNNING);
	world_run(w, 3000);
	assert_int_equal(p->state, PROCESS_CRASHED);
	world_run(w, 8000);
	assert_int_equal(p->state, PROCESS_RUNNING);
	world_run(w, 23000);
	assert_int_equal(p->state, PROCESS_CRASHED);
	world_run(w, 41000);
	assert_false(net_reaches(w, one, two));
	world_run(w, 45001);
	assert_true(net_reaches(w, one, two));
	assert_int_equal(p->life, 3);
	sim_host_leave(s->host);
	scenario_free(s);
}

static void one_can_be_let_happen_now(void **state)
{
	static const char text[] = "{pause: {process: worker, for: 9s}}",
			  wrong[] = "{pause: {process: w}}";
	struct scenario *s = good(WORLD);
	struct yaml_node *node = NULL;
	struct err err = { 0 };
	struct world *w;

	(void)state;
	vclock_set(sim_host_vclock(s->host), 1000);
	assert_int_equal(yaml_parse(wrong, strlen(wrong), "now", &node, &err), 0);
	assert_int_equal(scenario_fault(s, node, "now", &err), ERR_CONFIG);
	yaml_node_free(node);
	assert_int_equal(yaml_parse(text, strlen(text), "now", &node, &err), 0);
	assert_int_equal(scenario_fault(s, node, "now", &err), 0);
	yaml_node_free(node);
	w = sim_host_enter(s->host);
	assert_int_equal(process_find(w, "worker")->state, PROCESS_PAUSED);
	assert_int_equal(process_find(w, "worker")->pause_until_ms, 10000);
	sim_host_leave(s->host);
	scenario_free(s);
}

static void each_that_is_carried_is_whole(void **state)
{
	const struct scenario_text *t;
	struct scenario_options options = { .has_seed = false };

	(void)state;
	assert_non_null(scenario_text("demo"));
	for (t = scenario_texts; t->name; t++) {
		struct scenario *s = NULL;
		struct err err = { 0 };

		if (scenario_load(t->name, &options, &s, &err))
			fail_msg("%s: %s", t->name, err.text);
		assert_string_equal(s->name, t->name);
		scenario_free(s);
	}
}

static void one_that_is_not_there_is_told_with_those_that_are(void **state)
{
	struct scenario_options options = { .has_seed = false };
	struct scenario *s = NULL;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(scenario_load("dmeo", &options, &s, &err), ERR_NOTFOUND);
	assert_non_null(strstr(err.text, "did you mean 'demo'?"));
	assert_int_equal(scenario_load("/nowhere/x.yaml", &options, &s, &err), ERR_NOTFOUND);
}

static void every_word_of_a_part_is_once(void **state)
{
	struct scenario_tables *t = scenario_tables_new();
	const struct option_def *const tables[] = { t->top, t->world, t->programs, t->source,
		t->fault };
	const struct option_def *a, *b;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_LEN(tables); i++)
		for (a = tables[i]; a->name; a++)
			for (b = a + 1; b->name; b++)
				if (strcmp(a->name, b->name) == 0)
					fail_msg("%s is there twice", a->name);
	scenario_tables_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_it_says_is_what_there_is),
		cmocka_unit_test(an_error_has_its_place_and_the_nearest_word),
		cmocka_unit_test(sources_are_checked_too),
		cmocka_unit_test(faults_come_at_their_time_and_again),
		cmocka_unit_test(one_can_be_let_happen_now),
		cmocka_unit_test(each_that_is_carried_is_whole),
		cmocka_unit_test(one_that_is_not_there_is_told_with_those_that_are),
		cmocka_unit_test(every_word_of_a_part_is_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
