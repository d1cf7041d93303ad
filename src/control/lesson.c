#include "config.h"

#include "control/lesson.h"
#include "base/err.h"
#include "base/nearest.h"
#include "io/yaml.h"
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

/* What a lesson is checked against, and where it stands. */
struct checking {
	const struct options_check *check;
	const struct yaml_node *map;
	struct world *w;
};

/* The node that a text was read from: it is its own. Without recursion, as the file may be
 * anybody's. */
static const struct yaml_node *node_of_text(const struct yaml_node *root, const char *text)
{
	const struct yaml_node *stack[YAML_DEPTH_MAX];
	size_t at[YAML_DEPTH_MAX], depth = 1;

	stack[0] = root;
	at[0] = 0;
	while (depth) {
		const struct yaml_node *node = stack[depth - 1], *item;

		if (at[depth - 1] == node->n) {
			depth--;
			continue;
		}
		item = node->items[at[depth - 1]++];
		if (item->kind == YAML_SCALAR) {
			if (item->text == text)
				return item;
		} else if (depth < YAML_DEPTH_MAX) {
			stack[depth] = item;
			at[depth++] = 0;
		}
	}
	return root;
}

/* ops: of the things among which it was looked for; NULL: they are no things. */
static int unknown(
	const struct checking *c, const char *what, const char *name, const struct thing_ops *ops)
{
	char shown[OPTIONS_SHOWN_MAX];
	struct nearest nearest;
	struct thing *t = NULL;
	struct str help;
	int rc;

	str_init(&help, 400);
	nearest_init(&nearest, name);
	while (ops && (t = world_each(c->w, ops, t)) != NULL)
		nearest_offer(&nearest, t->name);
	nearest_tell(&nearest, 2, &help);
	rc = options_fail(c->check, node_of_text(c->map, name),
		"the lesson speaks of %s '%s', which its world has not%s", what,
		options_shown(shown, name), help.s);
	str_release(&help);
	return rc;
}

static int check_measure(const struct checking *c, const struct measure *m)
{
	enum measure_of of = measure_word(m->kind)->of;
	const char *name;

	if (measure_known(c->w, m, &name))
		return 0;
	return unknown(c, measure_word(m->kind)->word, name,
		of == MEASURE_OF_DUTY       ? &duty_ops
		: of == MEASURE_OF_RESOURCE ? &resource_ops
					    : NULL);
}

static int check_goal(const struct checking *c, const struct goal *g)
{
	if (g->duty && !duty_find(c->w, g->duty))
		return unknown(c, "a duty", g->duty, &duty_ops);
	if (g->process && !process_find(c->w, g->process))
		return unknown(c, "a process", g->process, &process_ops);
	return g->kind == GOAL_MEASURE ? check_measure(c, &g->measure) : 0;
}

int lesson_check(const struct lesson *lesson, const struct options_check *check,
	const struct yaml_node *map, struct world *w)
{
	const struct referee_rules *rules = &lesson->rules;
	struct checking c = { check, map, w };
	size_t i;
	int rc = 0;

	for (i = 0; i < rules->n_goals && !rc; i++)
		rc = check_goal(&c, &rules->goals[i]);
	for (i = 0; i < rules->n_measures && !rc; i++)
		rc = check_measure(&c, &rules->measures[i]);
	return rc;
}
