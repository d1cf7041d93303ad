#include "config.h"

#include "tests/unit/unit.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "control/lesson.h"
#include "control/lesson-inside.h"
#include "io/yaml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A lesson with nothing wrong; the tests replace one line of it. */
static const char whole[] = "number: S02\n"
			    "line: a line\n"
			    "story: a story\n"
			    "see: |\n"
			    "  one\n"
			    "\n"
			    "  two \\ three\n"
			    "task: a task\n"
			    "begins: 45s\n"
			    "par: 60s\n"
			    "limit: 5m\n"
			    "restored: {when: [{duty: settle, workers: 1}]}\n"
			    "causes:\n"
			    "  - {id: half-open, text: it is, right: true}\n"
			    "  - {id: other, text: it is not}\n"
			    "hints: [{text: look, costs: 7}]\n"
			    "measures:\n"
			    "  - {measure: overlap, of: settle, text: two, per: 500ms, costs: 2}\n"
			    "  - {measure: doubles, of: [a, b], text: twice, costs: 5, free: 1}\n"
			    "reason: {what: [stop], why: [hangs]}\n"
			    "ways:\n"
			    "  - {name: right, kind: right, text: r, steps: [\n"
			    "      {at: 50s, diagnose: half-open},\n"
			    "      {at: 60s, act: release, on: o/k, reason: because}]}\n"
			    "  - {name: wrong, kind: wrong, text: w}\n"
			    "  - {name: none, kind: nothing, text: n, least: 0, most: 20}\n"
			    "debrief: {principle: p, sign: s}\n";

static int read_text(
	const char *text, struct yaml_node **root, struct lesson **ret, struct err *err)
{
	struct options_check check = { .file = "x.yaml" };
	int rc = yaml_parse(text, strlen(text), "x.yaml", root, err);

	assert_int_equal(rc, 0);
	return lesson_read(&check, *root, "Title", ret, err);
}

static void test_what_is_written_is_read(void **state)
{
	struct yaml_node *root;
	struct lesson *l;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(read_text(whole, &root, &l, &err), 0);
	assert_string_equal(l->number, "S02");
	assert_string_equal(l->see, "one\n\ntwo \\\\ three");
	assert_int_equal(l->rules.begins_ms, 45000);
	assert_int_equal(l->rules.counted_ms, 45000);
	assert_int_equal(l->rules.for_ms, 20000);
	assert_int_equal(l->rules.n_measures, 2);
	assert_int_equal(l->score.costs[0].per, 500);
	assert_int_equal(l->score.costs[1].per, 1);
	assert_int_equal(l->score.costs[1].free, 1);
	assert_int_equal(l->score.right, 1);
	assert_int_equal(l->n_ways, 3);
	assert_int_equal(l->ways[0].least, 90);
	assert_int_equal(l->ways[1].most, 40);
	assert_int_equal(l->ways[0].steps[0].causes, 1);
	assert_string_equal(l->ways[0].steps[1].outcome, "done");
	assert_int_equal(lesson_way_find(l, "none"), 2);
	assert_int_equal(lesson_way_find(l, "no"), -1);
	lesson_free(l);
	yaml_node_free(root);
}

/* The text with one line of it replaced. */
static char *with(const char *line, const char *instead)
{
	const char *at = strstr(whole, line);
	struct str out;

	assert_non_null(at);
	str_init(&out, 100000);
	str_add_mem(&out, whole, (size_t)(at - whole));
	str_add(&out, instead);
	str_add(&out, at + strlen(line));
	return str_take(&out);
}

static void test_mistakes_are_named_with_their_place(void **state)
{
	static const struct {
		const char *line, *instead, *says;
	} rows[] = {
		{ "par: 60s", "pars: 60s",
			"x.yaml:10:1: unknown key 'pars' in the lesson; did you "
			"mean 'par'?" },
		{ "par: 60s\n", "", "x.yaml:1:1: the lesson has no 'par'" },
		{ "limit: 5m", "limit: 1m", "x.yaml:11:8: 'limit' must be more than 'par'" },
		{ "number: S02", "number: 2",
			"x.yaml:1:9: 'number' must be a letter and two digits" },
		{ "diagnose: half-open", "diagnose: half-opem",
			"x.yaml:23:27: no cause 'half-opem'; did you mean 'half-open'?" },
		{ "act: release", "act: relaese",
			": no verb 'relaese'; did you mean "
			"'release'?" },
		{ "{at: 60s, act: release", "{at: 40s, act: release",
			": a step is not before the one above it" },
		{ "{at: 50s, diagnose: half-open}", "{at: 50s}", ": a step is one of" },
		{ "{at: 50s, diagnose: half-open}", "{at: 50s, hint: 2}", ": there is no hint 2" },
		{ "{at: 50s, diagnose: half-open}", "{at: 50s, sees: o/k, state: STAEL}",
			": no state 'STAEL'; did you mean 'STALE'?" },
		{ ", on: o/k", "", ": 'act' needs 'on'" },
		{ "measure: overlap", "measure: overlaps", "'measure' must be one of overlap|" },
		{ "per: 500ms", "per: often", ": 'per' must be a duration such as 1s" },
		{ "free: 1", "free: 1s", "'free' must be a number, as this measure counts" },
		{ "of: [a, b], ", "", "'measure: doubles' has no 'of'" },
		{ "{duty: settle, workers: 1}", "{duty: settle}",
			"'duty' needs 'workers' or 'by', one of them" },
		{ "{duty: settle, workers: 1}", "{process: a}", "'process' needs 'state'" },
		{ "{duty: settle, workers: 1}", "{measure: doubles, of: a}",
			"'measure' needs 'least' or 'most' here" },
		{ ", right: true", "", "no cause is right" },
		{ "id: other", "id: half-open", "two causes are called 'half-open'" },
		{ "id: other", "id: Other", "must be 1 to 32 small letters" },
		{ "  - {name: wrong, kind: wrong, text: w}\n", "",
			"a lesson has a right way, a wrong one, and one of doing nothing" },
		{ "name: wrong", "name: right", "two ways are called 'right'" },
		{ ", least: 0, most: 20", "",
			"a way of doing nothing must say 'least' and 'most'" },
		{ ", sign: s", "", "'debrief' has no 'sign'" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_LEN(rows); i++) {
		char *text = with(rows[i].line, rows[i].instead);
		struct yaml_node *root;
		struct lesson *l;
		struct err err = { 0 };

		assert_int_equal(read_text(text, &root, &l, &err), ERR_CONFIG);
		if (!strstr(err.text, rows[i].says))
			fail_msg("%zu: \"%s\" does not say \"%s\"", i, err.text, rows[i].says);
		yaml_node_free(root);
		free(text);
	}
}

static void test_the_words_of_measures_are_those_of_the_table(void **state)
{
	struct str words;
	int i;

	(void)state;
	str_init(&words, 1000);
	for (i = 0; i < MEASURE_KIND_COUNT; i++)
		str_addf(&words, "%s%s", i ? "|" : "", measure_word((enum measure_kind)i)->word);
	assert_string_equal(words.s, LESSON_MEASURE_WORDS);
	str_release(&words);
}

static void test_the_order_of_causes_hangs_on_the_seed_alone(void **state)
{
	struct yaml_node *root;
	struct lesson *l;
	struct err err = { 0 };
	size_t a[LESSON_CAUSES_MOST], b[LESSON_CAUSES_MOST];
	bool turned = false;
	uint64_t seed;

	(void)state;
	assert_int_equal(read_text(whole, &root, &l, &err), 0);
	for (seed = 1; seed < 20; seed++) {
		lesson_shuffle(l, seed, a);
		lesson_shuffle(l, seed, b);
		assert_int_equal(a[0], b[0]);
		assert_int_equal(a[0] + a[1], 1);
		turned = turned || a[0] == 1;
	}
	assert_true(turned);
	lesson_free(l);
	yaml_node_free(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_written_is_read),
		cmocka_unit_test(test_mistakes_are_named_with_their_place),
		cmocka_unit_test(test_the_words_of_measures_are_those_of_the_table),
		cmocka_unit_test(test_the_order_of_causes_hangs_on_the_seed_alone),
	};

	text_init_locale();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
