#include "config.h"

#include "tests/unit/unit.h"

#include "base/err.h"
#include "base/str.h"
#include "base/text.h"
#include "control/lesson-run.h"
#include "source/sim-host.h"
#include "tests/unit/control/folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A lesson without any system: one process, which is paused and runs on by itself. */
static const char text[] =
	"title: Wait\n"
	"seed: 7\n"
	"world:\n"
	"  machines: [{name: node-1}]\n"
	"  processes: [{name: a, machine: node-1}]\n"
	"sources: []\n"
	"faults: [{at: 30s, pause: {process: a, for: 30s}}, {at: 100s, pause: {process: a, for: "
	"10s}}]\n"
	"lesson:\n"
	"  number: T01\n"
	"  line: l\n"
	"  story: s\n"
	"  see: s\n"
	"  task: t\n"
	"  begins: 40s\n"
	"  par: 30s\n"
	"  limit: 2m\n"
	"  restored: {for: 10s, waiting: true, when: [{process: a, state: running}]}\n"
	"  causes: [{id: one, text: o, right: true}, {id: two, text: t}]\n"
	"  hints: [{text: h, costs: 7}]\n"
	"  ways:\n"
	"    - {name: wait, kind: right, text: w, least: 83, most: 83, steps: [\n"
	"        {at: 41s, diagnose: one}, {at: 42s, hint: 1}, {at: 43s, note: we wait}]}\n"
	"    - {name: late, kind: wrong, text: w, steps: [{at: 75s, note: too late}]}\n"
	"    - {name: blind, kind: wrong, text: w, steps: [\n"
	"        {at: 41s, sees: fleet/nobody, state: STALE}, {at: 42s, finish: true}]}\n"
	"    - {name: nothing, kind: nothing, text: n, least: 0, most: 100}\n"
	"  debrief: {principle: p, sign: s}\n";

static struct lesson_run *load(const char *folder, const struct lesson_options *options)
{
	struct lesson_run *run = NULL;
	struct err err = { 0 };
	char path[200];
	FILE *file;

	snprintf(path, sizeof(path), "%s/t.yaml", folder);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	if (lesson_run_load(path, options, &run, &err))
		fail_msg("%s", err.text);
	return run;
}

/* Plays a way; faults is what it says and did not come about. */
static struct debrief *play(const char *folder, const struct lesson_options *options,
	const char *way, struct str *faults)
{
	struct lesson_run *run = load(folder, options);
	int at = lesson_way_find(run->lesson, way);
	struct debrief *d;

	assert_true(at >= 0);
	str_init(faults, 10000);
	lesson_run_play(run, &run->lesson->ways[at], folder, faults);
	d = lesson_run_debrief(run);
	lesson_run_free(run);
	return d;
}

static void test_a_way_is_played_to_its_end(void **state)
{
	struct lesson_options options = { 0 };
	struct str faults;
	struct debrief *d = play(*state, &options, "wait", &faults);

	assert_string_equal(faults.s, "");
	assert_int_equal(d->end, ACCOUNT_RESTORED);
	assert_int_equal(d->restored_ms, 60000);
	assert_int_equal(d->end_ms, 70000);
	/* 30 + 40 + 20 + 0 (two words) - 7 */
	assert_int_equal(d->score.total, 83);
	assert_int_equal(d->n_said, 3);
	debrief_free(d);
	str_release(&faults);
}

static void test_what_does_not_come_about_is_told(void **state)
{
	struct lesson_options options = { 0 };
	struct str faults;

	debrief_free(play(*state, &options, "late", &faults));
	assert_string_equal(faults.s, "t:23: the lesson is over before this step\n");
	str_release(&faults);
	debrief_free(play(*state, &options, "blind", &faults));
	assert_string_equal(faults.s, "t:25: there is no row fleet/nobody\n");
	str_release(&faults);
}

static void test_an_instructors_fault_comes(void **state)
{
	struct lesson_options options = { .inject = "at: 62s, pause: {process: a, for: 20s}" };
	struct str faults;
	struct debrief *d = play(*state, &options, "nothing", &faults);

	assert_int_equal(d->restored_ms, 82000);
	debrief_free(d);
	str_release(&faults);
}

/* When a process was paused, in a lesson of that seed. */
static int64_t paused_ms(const char *folder, uint64_t seed, size_t n, int64_t *ret_for)
{
	struct lesson_options options = { .has_seed = true, .seed = seed };
	struct lesson_run *run = load(folder, &options);
	struct world *w = sim_host_enter(run->scenario->host);
	int64_t at_ms = -1;
	size_t i;

	world_run(w, 200000);
	for (i = 0; i < world_told(w); i++) {
		const struct happening *h = world_happening(w, i);

		if (h->kind == HAPPENING_PAUSED && n-- == 0)
			at_ms = h->at_ms;
		if (h->kind == HAPPENING_RESUMED && at_ms >= 0) {
			*ret_for = h->at_ms - at_ms;
			break;
		}
	}
	sim_host_leave(run->scenario->host);
	lesson_run_free(run);
	return at_ms;
}

static void test_another_seed_moves_faults_a_little(void **state)
{
	bool moved = false;
	uint64_t seed;

	for (seed = 1; seed < 30; seed++) {
		int64_t length = 0, first = paused_ms(*state, seed, 0, &length), second;

		assert_in_range(first, 27000, 30000);
		assert_in_range(length, 27000, 33000);
		second = paused_ms(*state, seed, 1, &length);
		assert_in_range(second, 94000, 106000);
		assert_in_range(length, 9000, 11000);
		moved = moved || second != 100000;
	}
	assert_true(moved);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_a_way_is_played_to_its_end, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(
			test_what_does_not_come_about_is_told, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(
			test_an_instructors_fault_comes, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(
			test_another_seed_moves_faults_a_little, make_folder, remove_folder),
	};

	text_init_locale();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
