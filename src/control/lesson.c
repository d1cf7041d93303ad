#include "config.h"

#include "control/lesson.h"
#include "base/err.h"
#include "sim/random.h"

#include <string.h>

int lesson_way_find(const struct lesson *lesson, const char *name)
{
	size_t i;

	for (i = 0; i < lesson->n_ways; i++)
		if (strcmp(lesson->ways[i].name, name) == 0)
			return (int)i;
	return -1;
}

int lesson_no_way(const struct lesson *lesson, const char *name, struct err *err)
{
	char shown[OPTIONS_SHOWN_MAX];
	struct str names;
	size_t i;
	int rc;

	str_init(&names, 300);
	for (i = 0; i < lesson->n_ways; i++)
		str_addf(&names, "%s%s", i ? ", " : "", lesson->ways[i].name);
	rc = err_set(err, ERR_NOTFOUND,
		"%s has no way '%s'; there are %s. A file is named with its folder: ./my.yaml",
		lesson->number, options_shown(shown, name), names.s);
	str_release(&names);
	return rc;
}

int lesson_cause_find(const struct lesson *lesson, const char *id)
{
	size_t i;

	for (i = 0; i < lesson->n_causes; i++)
		if (strcmp(lesson->causes[i].id, id) == 0)
			return (int)i;
	return -1;
}

void lesson_shuffle(const struct lesson *lesson, uint64_t seed, size_t order[LESSON_CAUSES_MOST])
{
	struct sim_random dice = { .state = seed };
	size_t i, j, kept;

	for (i = 0; i < lesson->n_causes; i++)
		order[i] = i;
	for (i = lesson->n_causes; i > 1; i--) {
		j = (size_t)sim_random_below(&dice, i);
		kept = order[i - 1];
		order[i - 1] = order[j];
		order[j] = kept;
	}
}

static int unknown(const char *file, const char *what, const char *name, struct err *err)
{
	char shown[OPTIONS_SHOWN_MAX];

	return err_set(err, ERR_CONFIG, "%s: the lesson speaks of %s '%s', which its world has not",
		file, what, options_shown(shown, name));
}

static int check_measure(
	const struct measure *m, struct world *w, const char *file, struct err *err)
{
	const char *name;

	if (measure_known(w, m, &name))
		return 0;
	return unknown(file, measure_word(m->kind)->word, name, err);
}

static int check_goal(const struct goal *g, struct world *w, const char *file, struct err *err)
{
	if (g->duty && !duty_find(w, g->duty))
		return unknown(file, "a duty", g->duty, err);
	if (g->process && !process_find(w, g->process))
		return unknown(file, "a process", g->process, err);
	return g->kind == GOAL_MEASURE ? check_measure(&g->measure, w, file, err) : 0;
}

int lesson_check(const struct lesson *lesson, struct world *w, const char *file, struct err *err)
{
	const struct referee_rules *rules = &lesson->rules;
	size_t i;
	int rc = 0;

	for (i = 0; i < rules->n_goals && !rc; i++)
		rc = check_goal(&rules->goals[i], w, file, err);
	for (i = 0; i < rules->n_measures && !rc; i++)
		rc = check_measure(&rules->measures[i], w, file, err);
	return rc;
}
