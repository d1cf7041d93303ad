#include "config.h"

#include "control/lesson.h"
#include "control/lesson-inside.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/text.h"
#include "io/yaml.h"
#include "model/plan.h"
#include "model/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	TEXT_MOST = 8000,
	LIST_MOST = 64,
	STEPS_MOST = 200,
	WORD_MOST = 32
};

/* All that the lesson's const pointers point to. */
struct lesson_store {
	void **owned;
	size_t n, cap;
	struct yaml_node *script; /* of a way from a file of its own */
};

/* One reading. */
struct reading {
	const struct options_check *check;
	struct lesson *lesson;
	struct measure *measures; /* the safety's, then the table's */
	size_t n_measures;
};

static void *own(struct reading *r, void *p)
{
	struct lesson_store *store = r->lesson->store;

	MEM_GROW(store->owned, store->n, store->cap);
	store->owned[store->n++] = p;
	return p;
}

void lesson_free(struct lesson *lesson)
{
	size_t i;

	if (!lesson)
		return;
	for (i = 0; i < lesson->store->n; i++)
		free(lesson->store->owned[i]);
	free(lesson->store->owned);
	yaml_node_free(lesson->store->script);
	free(lesson->store);
	free(lesson);
}

/* ---- texts and lists ---- */

/* A text for the screen: each of its lines sanitised, blank lines kept as they part paragraphs. */
static const char *shown(struct reading *r, const char *text)
{
	struct str out;
	size_t len;

	if (!text)
		return NULL;
	str_init(&out, 4 * TEXT_MOST);
	for (; *text; text += len) {
		len = strcspn(text, "\n");
		text_escape(&out, text, len);
		if (text[len]) {
			str_add_char(&out, '\n');
			len++;
		}
	}
	while (out.len && out.s[out.len - 1] == '\n')
		str_truncate(&out, out.len - 1);
	return own(r, str_take(&out));
}

static const struct yaml_node *node_of(const struct option_values *v, const char *name)
{
	return yaml_get(v->map, name);
}

static const char *text_of(struct reading *r, const struct option_values *v, const char *name)
{
	return shown(r, option_value_text(v, name));
}

/* An id or a name, as it stands: compared, and shown only after it was found. */
static const char *raw(const struct option_values *v, const char *name)
{
	return option_value_text(v, name);
}

static int check_length(struct reading *r, const struct option_values *v)
{
	size_t i;

	for (i = 0; v->map && i < v->map->n; i++) {
		const struct yaml_node *node = v->map->items[i];

		if (node->kind == YAML_SCALAR && strlen(node->text) > TEXT_MOST)
			return options_fail(
				r->check, node, "a text of more than %d bytes", TEXT_MOST);
		if (node->kind == YAML_LIST && node->n > STEPS_MOST)
			return options_fail(
				r->check, node, "a list of more than %d items", STEPS_MOST);
	}
	return 0;
}

/* The items of a list of maps, one by one. */
static struct option_values map_at(
	const struct option_values *v, const char *name, const struct option_def *defs, size_t i)
{
	return (struct option_values){ defs, option_value_map(v, name, i) };
}

static int count_maps(struct reading *r, const struct option_values *v, const char *name,
	size_t most, size_t *ret)
{
	size_t n = 0;

	while (option_value_map(v, name, n))
		n++;
	*ret = n;
	if (n > most)
		return options_fail(
			r->check, node_of(v, name), "'%s' has more than %zu items", name, most);
	return 0;
}

/* The texts of a list, ended by NULL. */
static const char *const *texts_of(
	struct reading *r, const struct option_values *v, const char *name, size_t *ret_n)
{
	size_t n = 0, i;
	const char **list;

	while (option_value_item(v, name, n))
		n++;
	list = own(r, xcalloc(n + 1, sizeof(*list)));
	for (i = 0; i < n; i++)
		list[i] = option_value_item(v, name, i);
	if (ret_n)
		*ret_n = n;
	return list;
}

static int unknown_word(struct reading *r, const struct yaml_node *node, const char *what,
	const struct nearest *nearest)
{
	char word[OPTIONS_SHOWN_MAX];
	struct str help;
	int rc;

	str_init(&help, 256);
	nearest_tell(nearest, 1, &help);
	rc = options_fail(
		r->check, node, "no %s '%s'%s", what, options_shown(word, nearest->wanted), help.s);
	str_release(&help);
	return rc;
}

static int check_verb(struct reading *r, const struct option_values *v, const char *name,
	const char *word, bool or_any)
{
	struct nearest nearest;
	int i;

	if (verb_from_word(word) >= 0 || (or_any && strcmp(word, "any") == 0))
		return 0;
	nearest_init(&nearest, word);
	for (i = 0; i < VERB_COUNT; i++)
		nearest_offer(&nearest, verb_word((enum verb)i)->word);
	return unknown_word(r, node_of(v, name), "verb", &nearest);
}

static int check_range(struct reading *r, const struct option_values *v, const char *name,
	int64_t least, int64_t most)
{
	int64_t value = option_value_int(v, name);

	if (value == INT64_MIN || (value >= least && value <= most))
		return 0;
	return options_fail(r->check, node_of(v, name), "'%s' must be %" PRId64 " to %" PRId64,
		name, least, most);
}

/* ---- measures and goals ---- */

static int check_measure_names(
	struct reading *r, const struct option_values *v, const struct measure *m)
{
	size_t i;
	int rc = 0;

	if (!m->n_of)
		return options_fail(
			r->check, v->map, "'measure: %s' has no 'of'", measure_word(m->kind)->word);
	for (i = 0; i < m->n_of && !rc && m->kind == MEASURE_ACTS; i++)
		rc = check_verb(r, v, "of", m->of[i], true);
	return rc;
}

static int read_measure(struct reading *r, const struct option_values *v, struct measure *m)
{
	const char *word = raw(v, "measure");

	if (!word)
		return options_fail(r->check, v->map, "'measure' is missing");
	*m = (struct measure){ .kind = (enum measure_kind)measure_from_word(word) };
	m->of = texts_of(r, v, "of", &m->n_of);
	m->on = raw(v, "on");
	return check_measure_names(r, v, m);
}

/* A duration for a time, else a number. */
static int read_units(struct reading *r, const struct option_values *v, const char *name, bool ms,
	int64_t fallback, int64_t *ret)
{
	const struct yaml_node *node = node_of(v, name);
	bool right;

	*ret = fallback;
	if (!node || yaml_is_null(node))
		return 0;
	right = ms ? yaml_duration_ms(node, ret) : yaml_int(node, ret);
	if (right && *ret >= 0 && (*ret > 0 || fallback == 0))
		return 0;
	return options_fail(r->check, node, "'%s' must be %s", name,
		ms ? "a duration such as 1s" : "a number, as this measure counts");
}

static int read_cost(struct reading *r, const struct option_values *v, struct measure *m,
	struct score_cost *cost)
{
	bool ms;
	int rc = check_length(r, v);

	if (!rc)
		rc = read_measure(r, v, m);
	if (rc)
		return rc;
	ms = measure_word(m->kind)->ms;
	*cost = (struct score_cost){ .measure = *m,
		.text = text_of(r, v, "text"),
		.costs = option_value_int(v, "costs"),
		.most = option_value_int(v, "most") };
	rc = read_units(r, v, "per", ms, ms ? 1000 : 1, &cost->per);
	if (!rc)
		rc = read_units(r, v, "free", ms, 0, &cost->free);
	if (!rc)
		rc = check_range(r, v, "costs", 0, 100);
	return rc ? rc : check_range(r, v, "most", 0, 100);
}

static int read_cell(struct reading *r, const struct option_values *v, struct lesson_cell *cell)
{
	struct measure *m = &r->measures[r->n_measures];
	int rc = check_length(r, v);

	if (!rc)
		rc = read_measure(r, v, m);
	if (rc)
		return rc;
	*cell = (struct lesson_cell){ .row = text_of(r, v, "row"),
		.column = text_of(r, v, "column"),
		.value = r->n_measures++,
		.ms = measure_word(m->kind)->ms };
	return 0;
}

static int read_measures(struct reading *r, const struct option_values *v)
{
	struct lesson *l = r->lesson;
	struct score_cost *costs;
	struct lesson_cell *cells;
	size_t n_costs, n_cells = 0, i;
	int rc = count_maps(r, v, "measures", LIST_MOST, &n_costs);

	if (!rc)
		rc = count_maps(r, v, "compare", LIST_MOST, &n_cells);
	if (rc)
		return rc;
	r->measures = own(r, xcalloc(n_costs + n_cells + 1, sizeof(*r->measures)));
	costs = own(r, xcalloc(n_costs + 1, sizeof(*costs)));
	cells = own(r, xcalloc(n_cells + 1, sizeof(*cells)));
	for (i = 0; i < n_costs && !rc; i++) {
		struct option_values item = map_at(v, "measures", lesson_measure_options, i);

		rc = read_cost(r, &item, &r->measures[r->n_measures++], &costs[i]);
	}
	for (i = 0; i < n_cells && !rc; i++) {
		struct option_values item = map_at(v, "compare", lesson_compare_options, i);

		rc = read_cell(r, &item, &cells[i]);
	}
	l->rules.measures = r->measures;
	l->rules.n_measures = r->n_measures;
	l->score.costs = costs;
	l->score.n_costs = n_costs;
	l->cells = cells;
	l->n_cells = n_cells;
	return rc;
}

static enum goal_state goal_state(const char *word)
{
	static const char *const words[] = { "lives", "running", "paused", "ended", "apart" };
	size_t i;

	for (i = 0; i < ARRAY_LEN(words) - 1; i++)
		if (strcmp(words[i], word) == 0)
			break;
	return (enum goal_state)i;
}

static int read_goal_duty(struct reading *r, const struct option_values *v, struct goal *g)
{
	g->duty = raw(v, "duty");
	g->process = raw(v, "by");
	g->kind = g->process ? GOAL_BY : GOAL_WORKERS;
	g->least = g->most = option_value_int(v, "workers");
	if (!g->process == !option_value_set(v, "workers"))
		return options_fail(
			r->check, v->map, "'duty' needs 'workers' or 'by', one of them");
	return 0;
}

static int read_goal(struct reading *r, const struct option_values *v, struct goal *g)
{
	bool duty = option_value_set(v, "duty"), process = option_value_set(v, "process");

	*g = (struct goal){ .least = INT64_MIN, .most = INT64_MAX };
	if (duty + process + option_value_set(v, "measure") != 1)
		return options_fail(r->check, v->map,
			"what must hold is one of 'duty', 'process' and 'measure'");
	if (duty)
		return read_goal_duty(r, v, g);
	if (process) {
		g->kind = GOAL_PROCESS;
		g->process = raw(v, "process");
		if (!option_value_set(v, "state"))
			return options_fail(r->check, v->map, "'process' needs 'state'");
		g->state = goal_state(raw(v, "state"));
		return 0;
	}
	g->kind = GOAL_MEASURE;
	if (!option_value_set(v, "least") && !option_value_set(v, "most"))
		return options_fail(r->check, v->map, "'measure' needs 'least' or 'most' here");
	if (option_value_set(v, "least"))
		g->least = option_value_int(v, "least");
	if (option_value_set(v, "most"))
		g->most = option_value_int(v, "most");
	return read_measure(r, v, &g->measure);
}

static int read_restored(struct reading *r, const struct option_values *lesson)
{
	struct option_values v = map_at(lesson, "restored", lesson_restored_options, 0);
	struct referee_rules *rules = &r->lesson->rules;
	struct goal *goals;
	size_t i;
	int rc = count_maps(r, &v, "when", LIST_MOST, &rules->n_goals);

	if (rc)
		return rc;
	if (!rules->n_goals)
		return options_fail(r->check, node_of(&v, "when"), "'when' says nothing");
	goals = own(r, xcalloc(rules->n_goals, sizeof(*goals)));
	for (i = 0; i < rules->n_goals && !rc; i++) {
		struct option_values item = map_at(&v, "when", lesson_goal_options, i);

		rc = read_goal(r, &item, &goals[i]);
	}
	rules->goals = goals;
	rules->for_ms = option_value_int(&v, "for");
	rules->not_before_ms = option_value_int(&v, "not_before");
	r->lesson->score.waiting = option_value_int(&v, "waiting");
	return rc;
}

/* ---- causes and hints ---- */

static int check_word(struct reading *r, const struct option_values *v, const char *name)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
	const char *word = raw(v, name);
	char buf[OPTIONS_SHOWN_MAX];

	if (*word && !word[strspn(word, allowed)] && strlen(word) <= WORD_MOST)
		return 0;
	return options_fail(r->check, node_of(v, name),
		"'%s' must be 1 to %d small letters, digits or minuses, not '%s'", name, WORD_MOST,
		options_shown(buf, word));
}

static int read_cause(struct reading *r, const struct option_values *v, struct lesson_cause *c)
{
	char buf[OPTIONS_SHOWN_MAX];
	int rc = check_length(r, v);

	if (!rc)
		rc = check_word(r, v, "id");
	if (rc)
		return rc;
	*c = (struct lesson_cause){ .id = raw(v, "id"),
		.text = text_of(r, v, "text"),
		.why = text_of(r, v, "why"),
		.right = option_value_int(v, "right") == 1 };
	if (lesson_cause_find(r->lesson, c->id) >= 0)
		return options_fail(r->check, node_of(v, "id"), "two causes are called '%s'",
			options_shown(buf, c->id));
	return 0;
}

static int read_causes(struct reading *r, const struct option_values *v)
{
	struct lesson *l = r->lesson;
	struct lesson_cause *causes = own(r, xcalloc(LESSON_CAUSES_MOST, sizeof(*causes)));
	const char **texts = own(r, xcalloc(LESSON_CAUSES_MOST, sizeof(*texts)));
	size_t n, i;
	int rc = count_maps(r, v, "causes", LESSON_CAUSES_MOST, &n);

	l->causes = causes;
	for (i = 0; i < n && !rc; i++) {
		struct option_values item = map_at(v, "causes", lesson_cause_options, i);

		rc = read_cause(r, &item, &causes[i]);
		if (rc)
			return rc;
		texts[i] = causes[i].text;
		l->score.right |= causes[i].right ? UINT64_C(1) << i : 0;
		l->n_causes++;
	}
	l->score.causes = texts;
	l->score.n_causes = l->n_causes;
	if (!rc && !l->score.right)
		return options_fail(r->check, node_of(v, "causes"), "no cause is right");
	return rc;
}

static int read_hints(struct reading *r, const struct option_values *v)
{
	struct lesson *l = r->lesson;
	struct lesson_hint *hints = own(r, xcalloc(LESSON_HINTS_MOST, sizeof(*hints)));
	int *costs = own(r, xcalloc(LESSON_HINTS_MOST, sizeof(*costs)));
	size_t i;
	int rc = count_maps(r, v, "hints", LESSON_HINTS_MOST, &l->n_hints);

	for (i = 0; !rc && i < l->n_hints; i++) {
		struct option_values item = map_at(v, "hints", lesson_hint_options, i);

		rc = check_length(r, &item);
		if (!rc)
			rc = check_range(r, &item, "costs", 0, 100);
		if (rc)
			return rc;
		costs[i] = (int)option_value_int(&item, "costs");
		hints[i] = (struct lesson_hint){ text_of(r, &item, "text"), costs[i] };
	}
	l->hints = hints;
	l->score.hint_costs = costs;
	l->score.n_hints = l->n_hints;
	return rc;
}

/* ---- ways ---- */

static int step_kind(struct reading *r, const struct option_values *v, enum lesson_step_kind *ret)
{
	static const char *const keys[] = { "diagnose", "act", "hint", "note", "sees", "finish" };
	int found = -1, n = 0;
	size_t i;

	for (i = 0; i < ARRAY_LEN(keys); i++)
		if (option_value_set(v, keys[i])) {
			found = (int)i;
			n++;
		}
	if (n != 1)
		return options_fail(r->check, v->map,
			"a step is one of diagnose, act, hint, note, sees and finish");
	*ret = (enum lesson_step_kind)found;
	return 0;
}

static int read_diagnosis(
	struct reading *r, const struct option_values *v, struct lesson_step *step)
{
	const struct lesson *l = r->lesson;
	const char *id;
	size_t i, c;

	for (i = 0; (id = option_value_item(v, "diagnose", i)); i++) {
		int at = lesson_cause_find(l, id);
		struct nearest nearest;

		if (at >= 0) {
			step->causes |= UINT64_C(1) << at;
			continue;
		}
		nearest_init(&nearest, id);
		for (c = 0; c < l->n_causes; c++)
			nearest_offer(&nearest, l->causes[c].id);
		return unknown_word(r, node_of(v, "diagnose"), "cause", &nearest);
	}
	return 0;
}

static int read_act(struct reading *r, const struct option_values *v, struct lesson_step *step)
{
	step->act = raw(v, "act");
	step->on = raw(v, "on");
	step->expect = raw(v, "expect");
	step->reason = text_of(r, v, "reason");
	step->outcome = raw(v, "outcome");
	if (!step->on)
		return options_fail(r->check, v->map, "'act' needs 'on': the id of the row");
	return check_verb(r, v, "act", step->act, false);
}

static int read_sees(struct reading *r, const struct option_values *v, struct lesson_step *step)
{
	struct nearest nearest;
	int i;

	step->on = raw(v, "sees");
	step->state = raw(v, "state");
	step->finding = raw(v, "finding");
	step->holder = raw(v, "holder");
	if (step->state && state_from_word(step->state) < 0) {
		nearest_init(&nearest, step->state);
		for (i = 0; i < STATE_COUNT; i++)
			nearest_offer(&nearest, state_word((enum state)i)->word);
		return unknown_word(r, node_of(v, "state"), "state", &nearest);
	}
	if (step->finding && finding_from_word(step->finding) < 0) {
		nearest_init(&nearest, step->finding);
		for (i = 0; i < FINDING_COUNT; i++)
			nearest_offer(&nearest, finding_word((enum finding_code)i)->word);
		return unknown_word(r, node_of(v, "finding"), "finding", &nearest);
	}
	return 0;
}

static int read_hint_step(
	struct reading *r, const struct option_values *v, struct lesson_step *step)
{
	int64_t hint = option_value_int(v, "hint");

	if (hint < 1 || hint > (int64_t)r->lesson->n_hints)
		return options_fail(
			r->check, node_of(v, "hint"), "there is no hint %" PRId64, hint);
	step->hint = (size_t)hint - 1;
	return 0;
}

static int read_step(struct reading *r, const struct option_values *v, struct lesson_step *step)
{
	int rc = check_length(r, v);

	*step = (struct lesson_step){ .at_ms = option_value_int(v, "at"), .line = v->map->line };
	if (!rc)
		rc = step_kind(r, v, &step->kind);
	if (rc)
		return rc;
	switch (step->kind) {
	case LESSON_STEP_DIAGNOSE:
		return read_diagnosis(r, v, step);
	case LESSON_STEP_ACT:
		return read_act(r, v, step);
	case LESSON_STEP_HINT:
		return read_hint_step(r, v, step);
	case LESSON_STEP_NOTE:
		step->note = text_of(r, v, "note");
		return 0;
	case LESSON_STEP_SEES:
		return read_sees(r, v, step);
	default:
		return 0;
	}
}

static int read_steps(struct reading *r, const struct option_values *v, struct lesson_way *way)
{
	struct lesson_step *steps;
	int64_t before = r->lesson->rules.begins_ms;
	size_t i;
	int rc = count_maps(r, v, "steps", STEPS_MOST, &way->n_steps);

	if (rc)
		return rc;
	steps = own(r, xcalloc(way->n_steps + 1, sizeof(*steps)));
	for (i = 0; i < way->n_steps; i++) {
		struct option_values item = map_at(v, "steps", lesson_step_options, i);

		rc = read_step(r, &item, &steps[i]);
		if (rc)
			return rc;
		if (steps[i].at_ms < before)
			return options_fail(r->check, node_of(&item, "at"),
				"a step is not before the one above it, nor before 'begins'");
		before = steps[i].at_ms;
	}
	way->steps = steps;
	return 0;
}

static int read_way(struct reading *r, const struct option_values *v, struct lesson_way *way)
{
	const char *kind = raw(v, "kind");
	bool least = option_value_set(v, "least"), most = option_value_set(v, "most");
	int rc = check_length(r, v);

	if (!rc)
		rc = check_word(r, v, "name");
	if (rc)
		return rc;
	*way = (struct lesson_way){ .name = raw(v, "name"), .text = text_of(r, v, "text") };
	way->kind = strcmp(kind, "right") == 0   ? LESSON_WAY_RIGHT
		    : strcmp(kind, "wrong") == 0 ? LESSON_WAY_WRONG
						 : LESSON_WAY_NOTHING;
	way->least = least ? (int)option_value_int(v, "least")
			   : (way->kind == LESSON_WAY_RIGHT ? 90 : 0);
	way->most = most ? (int)option_value_int(v, "most")
			 : (way->kind == LESSON_WAY_WRONG ? 40 : 100);
	if (way->kind == LESSON_WAY_NOTHING && !(least && most))
		return options_fail(
			r->check, v->map, "a way of doing nothing must say 'least' and 'most'");
	rc = check_range(r, v, "least", 0, 100);
	if (!rc)
		rc = check_range(r, v, "most", 0, 100);
	return rc ? rc : read_steps(r, v, way);
}

static int check_ways(struct reading *r, const struct option_values *v)
{
	const struct lesson *l = r->lesson;
	bool seen[LESSON_WAY_NOTHING + 1] = { false };
	size_t i, j;

	for (i = 0; i < l->n_ways; i++) {
		seen[l->ways[i].kind] = true;
		for (j = 0; j < i; j++)
			if (strcmp(l->ways[i].name, l->ways[j].name) == 0)
				return options_fail(r->check, node_of(v, "ways"),
					"two ways are called '%s'", l->ways[i].name);
	}
	if (l->kind == LESSON_LESSON && !(seen[0] && seen[1] && seen[2]))
		return options_fail(r->check, node_of(v, "ways"),
			"a lesson has a right way, a wrong one, and one of doing nothing");
	return 0;
}

static int read_ways(struct reading *r, const struct option_values *v)
{
	struct lesson *l = r->lesson;
	struct lesson_way *ways;
	size_t i;
	int rc = count_maps(r, v, "ways", LIST_MOST, &l->n_ways);

	ways = own(r, xcalloc(l->n_ways + 1, sizeof(*ways)));
	for (i = 0; i < l->n_ways && !rc; i++) {
		struct option_values item = map_at(v, "ways", lesson_way_options, i);

		rc = read_way(r, &item, &ways[i]);
	}
	l->ways = ways;
	return rc ? rc : check_ways(r, v);
}

/* ---- the debrief ---- */

/* "VERB ID": what was, or was not, done before. */
static int check_before(
	struct reading *r, const struct option_values *v, const char *name, const char *what)
{
	const char *id = what ? strchr(what, ' ') : NULL;
	char *word;
	int rc;

	if (!what)
		return 0;
	if (!id || !id[strspn(id, " ")])
		return options_fail(
			r->check, node_of(v, name), "'%s' must be a verb and an id", name);
	word = xstrndup(what, (size_t)(id - what));
	rc = check_verb(r, v, name, word, false);
	free(word);
	return rc;
}

static enum lesson_whom whom_of(const char *word)
{
	if (!word)
		return LESSON_WHOM_ANY;
	return strcmp(word, "waiter") == 0 ? LESSON_WHOM_WAITER : LESSON_WHOM_HOLDER;
}

static int read_verdicts(struct reading *r, const struct option_values *v)
{
	struct lesson *l = r->lesson;
	struct lesson_verdict *verdicts;
	size_t i;
	int rc = count_maps(r, v, "acts", LIST_MOST, &l->n_verdicts);

	if (rc)
		return rc;
	verdicts = own(r, xcalloc(l->n_verdicts + 1, sizeof(*verdicts)));
	for (i = 0; i < l->n_verdicts && !rc; i++) {
		struct option_values item = map_at(v, "acts", lesson_verdict_options, i);

		verdicts[i] = (struct lesson_verdict){ .act = raw(&item, "act"),
			.on = raw(&item, "on"),
			.after = raw(&item, "after"),
			.unless = raw(&item, "unless"),
			.whom = whom_of(raw(&item, "whom")),
			.until_ms = option_value_set(&item, "until")
					    ? option_value_int(&item, "until")
					    : INT64_MAX,
			.was = raw(&item, "was"),
			.text = text_of(r, &item, "text") };
		rc = check_length(r, &item);
		if (!rc)
			rc = check_verb(r, &item, "act", verdicts[i].act, true);
		if (!rc)
			rc = check_before(r, &item, "after", verdicts[i].after);
		if (!rc)
			rc = check_before(r, &item, "unless", verdicts[i].unless);
	}
	l->verdicts = verdicts;
	return rc;
}

static int read_readings(struct reading *r, const struct option_values *v)
{
	struct lesson *l = r->lesson;
	struct lesson_reading *list;
	size_t i;
	int rc = count_maps(r, v, "read", LIST_MOST, &l->n_reading);

	if (rc)
		return rc;
	list = own(r, xcalloc(l->n_reading + 1, sizeof(*list)));
	for (i = 0; i < l->n_reading && !rc; i++) {
		struct option_values item = map_at(v, "read", lesson_reading_options, i);

		rc = check_length(r, &item);
		list[i] = (struct lesson_reading){ text_of(r, &item, "text"),
			text_of(r, &item, "at") };
	}
	l->reading = list;
	return rc;
}

static int read_debrief(struct reading *r, const struct option_values *lesson)
{
	struct option_values v = map_at(lesson, "debrief", lesson_debrief_options, 0);
	int rc = check_length(r, &v);

	r->lesson->principle = text_of(r, &v, "principle");
	r->lesson->sign = text_of(r, &v, "sign");
	if (!rc)
		rc = read_verdicts(r, &v);
	return rc ? rc : read_readings(r, &v);
}

/* ---- the whole ---- */

static int check_number(struct reading *r, const struct option_values *v)
{
	const char *n = raw(v, "number");

	if (strlen(n) == 3 && n[0] >= 'A' && n[0] <= 'Z' && n[1] >= '0' && n[1] <= '9' &&
		n[2] >= '0' && n[2] <= '9')
		return 0;
	return options_fail(
		r->check, node_of(v, "number"), "'number' must be a letter and two digits: S01");
}

static int read_facts(struct reading *r, const struct option_values *v)
{
	struct lesson *l = r->lesson;
	struct referee_rules *rules = &l->rules;

	l->number = raw(v, "number");
	l->kind = strcmp(raw(v, "kind"), "study") == 0 ? LESSON_STUDY : LESSON_LESSON;
	l->line = text_of(r, v, "line");
	l->story = text_of(r, v, "story");
	l->see = text_of(r, v, "see");
	l->task = text_of(r, v, "task");
	l->asks = text_of(r, v, "asks");
	l->question = text_of(r, v, "question");
	l->answer = text_of(r, v, "answer");
	l->watch = texts_of(r, v, "watch", NULL);
	rules->begins_ms = option_value_int(v, "begins");
	rules->counted_ms =
		option_value_set(v, "counted") ? option_value_int(v, "counted") : rules->begins_ms;
	l->par_ms = l->score.par_ms = option_value_int(v, "par");
	rules->limit_ms = l->score.limit_ms = option_value_int(v, "limit");
	l->score.spare_doubles = option_value_int(v, "spare_doubles");
	if (rules->limit_ms <= l->par_ms)
		return options_fail(
			r->check, node_of(v, "limit"), "'limit' must be more than 'par'");
	return check_number(r, v);
}

/* Words that are looked for in what was said, and told where none of them was. */
static const char *const *words_of(
	struct reading *r, const struct option_values *v, const char *name)
{
	size_t n, i;
	const char *const *raws = texts_of(r, v, name, &n);
	const char **list = own(r, xcalloc(n + 1, sizeof(*list)));

	for (i = 0; i < n; i++)
		list[i] = shown(r, raws[i]);
	return list;
}

static void read_reason(struct reading *r, const struct option_values *lesson)
{
	struct option_values v = map_at(lesson, "reason", lesson_reason_options, 0);

	r->lesson->score.what = words_of(r, &v, "what");
	r->lesson->score.why = words_of(r, &v, "why");
}

static int read_all(struct reading *r, const struct option_values *v)
{
	static int (*const parts[])(
		struct reading *, const struct option_values *) = { check_length, read_facts,
		read_restored, read_measures, read_causes, read_hints, read_ways, read_debrief };
	size_t i;
	int rc = 0;

	for (i = 0; i < ARRAY_LEN(parts) && !rc; i++)
		rc = parts[i](r, v);
	if (!rc)
		read_reason(r, v);
	return rc;
}

int lesson_read(const struct options_check *check, struct yaml_node *map, const char *title,
	struct lesson **ret, struct err *err)
{
	struct option_values v = { lesson_options, map };
	struct options_check own_check = *check;
	struct reading r = { .check = &own_check, .lesson = xcalloc(1, sizeof(struct lesson)) };
	int rc;

	own_check.err = err;
	r.lesson->store = xcalloc(1, sizeof(*r.lesson->store));
	rc = options_check_map(&own_check, map, "the lesson", lesson_options, NULL);
	if (!rc)
		rc = read_all(&r, &v);
	r.lesson->title = shown(&r, title);
	if (rc)
		lesson_free(r.lesson);
	else
		*ret = r.lesson;
	return rc;
}

/* ---- a way in a file of its own ---- */

/* A list of steps, or a map with `steps`. */
static struct yaml_node *script_map(struct yaml_node *root)
{
	struct yaml_node *map;

	if (root->kind != YAML_LIST)
		return root;
	map = yaml_new(YAML_MAP, NULL);
	yaml_map_add(map, "steps", root);
	return map;
}

int lesson_read_script(struct lesson *lesson, const char *text, size_t len, const char *file,
	const struct lesson_way **ret, struct err *err)
{
	static const struct option_def script_options[] = {
		{ .name = "steps",
			.type = OPTION_MAPS,
			.fields = lesson_step_options,
			.required = true,
			.help = "In order." },
		{ .name = NULL },
	};
	struct options_check check = { .file = file, .err = err };
	struct reading r = { .check = &check, .lesson = lesson };
	struct lesson_way *way = own(&r, xcalloc(1, sizeof(*way)));
	struct yaml_node *root;
	struct option_values v = { script_options, NULL };
	int rc = yaml_parse(text, len, file, &root, err);

	if (rc)
		return rc;
	yaml_node_free(lesson->store->script);
	lesson->store->script = script_map(root);
	v.map = lesson->store->script;
	rc = options_check_map(&check, lesson->store->script, "the script", script_options, NULL);
	*way = (struct lesson_way){ .name = "script", .text = "", .most = 100 };
	if (!rc)
		rc = read_steps(&r, &v, way);
	if (!rc)
		*ret = way;
	return rc;
}
