#include "config.h"

#include "control/scenario.h"
#include "base/civil.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/str.h"
#include "control/settings.h"
#include "io/yaml.h"
#include "source/sim-break.h"
#include "source/sim-fleet.h"
#include "source/sim-host.h"
#include "source/sim.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	FILE_MOST = 1024 * 1024,
	INJECT_MOST = 4096,
	WORD_MAX = 96,
	SOURCE_TIMEOUT_MS = 5000,
};

/* A fault of the scenario, as long as its world. */
struct fault {
	const struct sim_fault *what;
	struct option_values values;
	int64_t every_ms; /* 0: once */
	int vary;
};

struct scenario_store {
	struct sim_view **views; /* at most one for each source */
	size_t n_views;
	struct scenario_tables *tables;
	struct fault *faults;       /* at most one for each item: it never grows */
	struct yaml_node *injected; /* a list of one fault */
	struct fault injected_fault;
};

/* What reading one takes along. */
struct loading {
	struct scenario *s;
	struct world *world;
	const struct options_check *check;
	int64_t begins_ms; /* of the lesson; 0: there is none */
	bool played;       /* as a lesson */
	int early, late;   /* by so many percent what comes before that is moved, and the rest */
};

/* ---- the file's parts ---- */

/* The options of a node; one that is left empty has none. */
static struct option_values values_of(const struct option_def *defs, const struct yaml_node *node)
{
	return (struct option_values){ defs, node->kind == YAML_MAP ? node : NULL };
}

/* The place, and what the part said. */
static int fail_at(const struct loading *l, const struct yaml_node *node, const char *what,
	const struct err *why)
{
	return options_fail(l->check, node, "%.80s: %.500s", what, why->text);
}

static const struct sim_program *find_program(const char *word)
{
	const struct sim_program *g;
	size_t i;

	for (i = 0; sim_parts[i]; i++)
		for (g = sim_parts[i]->programs; g && g->word; g++)
			if (strcmp(g->word, word) == 0)
				return g;
	return NULL;
}

static int load_program(const struct loading *l, struct process *p, const struct yaml_node *item)
{
	const struct sim_program *program;
	struct option_values v;
	struct err why = { 0 };

	if (item->kind != YAML_MAP || item->n != 1)
		return options_fail(l->check, item,
			"an item of 'runs' must be one program: {etcd-election: {...}}");
	program = find_program(item->keys[0]->text);
	v = values_of(program->options, item->items[0]);
	if (program->make(l->world, p, &v, &why))
		return fail_at(l, item->keys[0], program->word, &why);
	return 0;
}

static int load_programs(const struct loading *l, const struct yaml_node *item)
{
	const struct yaml_node *name = yaml_get(item, "name"), *runs = yaml_get(item, "runs");
	struct process *p = process_find(l->world, name->text);
	size_t i;
	int rc = 0;

	if (!runs || runs->kind != YAML_LIST)
		return 0;
	for (i = 0; i < runs->n && !rc; i++)
		rc = load_program(l, p, runs->items[i]);
	return rc;
}

static int load_thing(
	const struct loading *l, const struct sim_thing *thing, const struct yaml_node *item)
{
	struct option_values v = values_of(thing->options, item);
	const char *name = option_value_text(&v, "name");
	char what[WORD_MAX];
	struct err why = { 0 };

	snprintf(what, sizeof(what), "%.30s '%.40s'", thing->word, name ? name : "");
	return thing->make(l->world, &v, &why) ? fail_at(l, item, what, &why) : 0;
}

static int load_things_of(const struct loading *l, const struct sim_thing *thing)
{
	const struct yaml_node *list = yaml_get(yaml_get(l->s->root, "world"), thing->word);
	size_t i;
	int rc = 0;

	if (!list || list->kind != YAML_LIST)
		return 0;
	for (i = 0; i < list->n && !rc; i++)
		rc = load_thing(l, thing, list->items[i]);
	return rc;
}

static bool is_processes(const struct sim_thing *thing)
{
	return strcmp(thing->word, "processes") == 0;
}

/* Machines and resources before the servers, which need them, and these before the processes: the
 * order of the parts' tables, whatever the file's. */
static int load_world(const struct loading *l)
{
	const struct yaml_node *list = yaml_get(yaml_get(l->s->root, "world"), "processes");
	const struct sim_thing *thing, *processes = NULL;
	size_t i;
	int rc = 0;

	for (i = 0; sim_parts[i]; i++)
		for (thing = sim_parts[i]->things; thing && thing->word && !rc; thing++) {
			if (is_processes(thing))
				processes = thing;
			else
				rc = load_things_of(l, thing);
		}
	if (!rc && processes)
		rc = load_things_of(l, processes);
	for (i = 0; !rc && list && list->kind == YAML_LIST && i < list->n; i++)
		rc = load_programs(l, list->items[i]);
	return rc;
}

/* ---- faults ---- */

static void fault_due(struct world *w, void *who, int64_t a, int64_t b)
{
	struct fault *f = who;
	struct err why = { 0 };

	(void)a;
	(void)b;
	if (f->what->apply(w, &f->values, false, &why))
		world_tell(w, HAPPENING_NOTE, NULL, NULL, 0, "%s did not happen: %s", f->what->word,
			why.text);
	if (f->every_ms)
		world_after(w, sim_random_vary(world_random(w), f->every_ms, f->vary), fault_due, f,
			0, 0);
}

static const struct sim_fault *find_fault(const char *word)
{
	const struct sim_fault *f;
	size_t i;

	for (i = 0; sim_parts[i]; i++)
		for (f = sim_parts[i]->faults; f && f->word; f++)
			if (strcmp(f->word, word) == 0)
				return f;
	return NULL;
}

/* The one fault of an item that is checked already, and would work as the world is now. */
static int read_fault(const struct loading *l, const struct yaml_node *item, struct fault *ret)
{
	const struct yaml_node *key = NULL;
	struct err why = { 0 };
	size_t i;

	*ret = (struct fault){ .what = NULL };
	for (i = 0; item->kind == YAML_MAP && i < item->n; i++) {
		const struct sim_fault *what = find_fault(item->keys[i]->text);

		if (what && ret->what)
			return options_fail(l->check, item->keys[i],
				"a fault is one thing, and this one is '%s' and '%s': write two",
				ret->what->word, what->word);
		if (!what)
			continue;
		key = item->keys[i];
		ret->what = what;
		ret->values = values_of(what->options, item->items[i]);
	}
	if (!ret->what)
		return options_fail(l->check, item, "a fault must say what happens");
	if (ret->what->apply(l->world, &ret->values, true, &why))
		return fail_at(l, key, ret->what->word, &why);
	return 0;
}

/* How a lesson of another seed differs from the one that its scripts know. */
static void draw_variation(struct loading *l, int vary)
{
	const struct yaml_node *begins = yaml_get(yaml_get(l->s->root, "lesson"), "begins");
	struct sim_random dice = { .state = l->s->seed };

	if (begins && begins->kind == YAML_SCALAR)
		yaml_duration_ms(begins, &l->begins_ms);
	if (vary <= 0)
		return;
	l->early = -(int)sim_random_below(&dice, (uint64_t)vary + 1);
	l->late = (int)sim_random_below(&dice, 2 * (uint64_t)vary + 1) - vary;
}

static int64_t vary_ms(const struct loading *l, int64_t at_ms)
{
	if (at_ms <= l->begins_ms)
		return at_ms + at_ms / 100 * l->early;
	return at_ms + (at_ms - l->begins_ms) / 100 * l->late;
}

/* How long a fault lasts, where it says so: its text is the scenario's own, and is written anew. */
static void vary_length(const struct loading *l, const struct option_values *v)
{
	struct yaml_node *node = (struct yaml_node *)(uintptr_t)yaml_get(v->map, "for");
	struct str text;
	int64_t ms;

	if (!l->late || !node || node->kind != YAML_SCALAR || !yaml_duration_ms(node, &ms))
		return;
	str_init(&text, 64);
	str_addf(&text, "%" PRId64 "ms", ms + ms / 100 * l->late);
	free(node->text);
	node->text = str_take(&text);
}

/* Reads a fault into *f, which lives as long as the world, and lets it come. */
static int load_fault(const struct loading *l, const struct yaml_node *item, struct fault *f)
{
	struct option_values v = { l->s->store->tables->fault, item };
	int64_t at_ms = option_value_int(&v, "at");
	int rc = read_fault(l, item, f);

	if (rc)
		return rc;
	f->vary = (int)option_value_int(&v, "vary");
	if (f->vary < 0 || f->vary > 90)
		return options_fail(
			l->check, yaml_get(item, "vary"), "'vary' must be 0 to 90 percent");
	if (option_value_set(&v, "every"))
		f->every_ms = option_value_int(&v, "every");
	if (option_value_set(&v, "every") && f->every_ms < 100)
		return options_fail(
			l->check, yaml_get(item, "every"), "'every' must be at least 100ms");
	vary_length(l, &f->values);
	at_ms = vary_ms(l, at_ms);
	world_at(l->world, at_ms, fault_due, f, 0, 0);
	return 0;
}

static int load_faults(const struct loading *l)
{
	const struct yaml_node *list = yaml_get(l->s->root, "faults");
	size_t i;
	int rc = 0;

	if (!list || list->kind != YAML_LIST)
		return 0;
	l->s->store->faults = xcalloc(list->n + 1, sizeof(*l->s->store->faults));
	for (i = 0; i < list->n && !rc; i++)
		rc = load_fault(l, list->items[i], &l->s->store->faults[i]);
	return rc;
}

int scenario_inject(struct scenario *s, const char *text, struct err *err)
{
	struct options_check check = { .file = "--inject", .err = err };
	struct loading l = { .s = s, .check = &check };
	struct str braced;
	int rc;

	str_init(&braced, INJECT_MOST);
	str_addf(&braced, *text == '{' ? "%s" : "{%s}", text);
	rc = braced.full ? err_set(err, ERR_CONFIG, "--inject: more than %d bytes", INJECT_MOST)
			 : yaml_parse(braced.s, braced.len, check.file, &s->store->injected, err);
	str_release(&braced);
	if (!rc)
		rc = options_check_map(
			&check, s->store->injected, "the fault", s->store->tables->fault, NULL);
	if (rc)
		return rc;
	l.world = sim_host_enter(s->host);
	rc = load_fault(&l, s->store->injected, &s->store->injected_fault);
	sim_host_leave(s->host);
	return rc;
}

int scenario_fault(struct scenario *s, struct yaml_node *fault, const char *file, struct err *err)
{
	struct options_check check = { .file = file, .err = err };
	struct loading l = { .s = s, .check = &check };
	struct fault f;
	int rc;

	/* The rows of `at` and its kin come first: here it is now. */
	rc = options_check_map(&check, fault, "the fault", s->store->tables->fault + 3, NULL);
	if (rc)
		return rc;
	l.world = sim_host_enter(s->host);
	rc = read_fault(&l, fault, &f);
	if (!rc)
		f.what->apply(l.world, &f.values, false, err);
	sim_host_leave(s->host);
	return rc;
}

/* ---- sources ---- */

static const struct sim_view *find_view(const char *kind)
{
	const struct sim_view *v;
	size_t i;

	for (i = 0; sim_parts[i]; i++)
		for (v = sim_parts[i]->views; v && v->ops; v++)
			if (strcmp(v->ops->kind, kind) == 0)
				return v;
	return NULL;
}

/* The view with the verbs that break things. */
static const struct sim_view *breaking_view(
	struct scenario_store *store, const struct sim_view *shown)
{
	return store->views[store->n_views++] = sim_break_view(shown);
}

static int load_source(
	const struct loading *l, const struct yaml_node *item, struct source_config *config)
{
	struct option_values v = { l->s->store->tables->source, item };
	const struct yaml_node *shows = yaml_get(item, "shows");
	const struct sim_view *shown;
	struct err why = { 0 };

	if (shows->kind != YAML_MAP || shows->n != 1 || yaml_is_null(shows->items[0]))
		return options_fail(l->check, shows,
			"'shows' must say one thing by its kind and name: {etcd: ctl}");
	shown = find_view(shows->keys[0]->text);
	if (!world_find(l->world, shown->ops, shows->items[0]->text)) {
		sim_no_such(l->world, shown->ops, shows->items[0]->text, &why);
		return options_fail(l->check, shows->items[0], "%s", why.text);
	}
	*config = (struct source_config){
		.ops = l->played ? &shown->source : &breaking_view(l->s->store, shown)->source,
		.name = option_value_text(&v, "name"),
		.environment = option_value_text(&v, "environment"),
		.protect = option_value_int(&v, "protect") != 0,
		.interval_ms = option_value_int(&v, "interval"),
		.timeout_ms = SOURCE_TIMEOUT_MS,
		.sim = l->s->host,
		.shows = shows->items[0]->text,
	};
	if (config->interval_ms < OPTIONS_INTERVAL_MIN_MS)
		return options_fail(
			l->check, yaml_get(item, "interval"), "'interval' must be at least 100ms");
	return 0;
}

static int load_sources(const struct loading *l)
{
	const struct yaml_node *list = yaml_get(l->s->root, "sources");
	struct source_config *sources = xcalloc(list->n + 1, sizeof(*sources));
	size_t i, j;
	int rc = 0;

	l->s->store->views = xcalloc(list->n + 1, sizeof(*l->s->store->views));
	for (i = 0; i < list->n && !rc; i++) {
		const struct yaml_node *name = yaml_get(list->items[i], "name");

		rc = load_source(l, list->items[i], &sources[i]);
		if (!rc)
			rc = settings_check_name(l->check, name, "source");
		for (j = 0; j < i && !rc; j++)
			if (strcmp(sources[j].name, sources[i].name) == 0)
				rc = options_fail(l->check, name, "two sources are called '%s'",
					sources[i].name);
	}
	if (rc) {
		free(sources);
		return rc;
	}
	return settings_of_sources(l->check, l->s->root, sources, list->n, &l->s->settings);
}

/* ---- the whole ---- */

/* Microseconds since 1970 of "2026-03-03T03:12:00Z". */
static bool read_start(const char *text, int64_t *ret_us)
{
	struct civil c = { 0 };
	char zone, more;
	int year;

	if (sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d%c%c", &year, &c.month, &c.day, &c.hour, &c.minute,
		    &c.second, &zone, &more) != 7 ||
		zone != 'Z' || year < 1970 || c.month < 1 || c.month > 12 || c.day < 1 ||
		c.day > civil_month_days(year, c.month) || c.hour < 0 || c.hour > 23 ||
		c.minute < 0 || c.minute > 59 || c.second < 0 || c.second > 59)
		return false;
	c.year = year;
	*ret_us = civil_seconds(&c) * 1000000;
	return true;
}

static int load_begin(struct loading *l, const struct scenario_options *options)
{
	struct option_values v = { l->s->store->tables->top, l->s->root };
	const char *start = option_value_text(&v, "start");
	int64_t start_us;

	if (!read_start(start, &start_us))
		return options_fail(l->check, yaml_get(l->s->root, "start"),
			"'start' must be a time in UTC such as 2026-03-03T03:12:00Z");
	l->s->title = option_value_text(&v, "title");
	l->s->about = option_value_text(&v, "about");
	l->s->opens_ms = option_value_int(&v, "opens");
	l->s->seed = options->has_seed ? options->seed : (uint64_t)option_value_int(&v, "seed");
	l->world = world_new(l->s->seed, start_us);
	/* The true story is for a lesson's debrief; a fleet that lives for days would only collect
	 * it. */
	if (!l->played)
		world_keep_no_story(l->world);
	sim_fleet_make(l->world);
	l->s->host = sim_host_new(l->world, options->base ? options->base : &clock_system);
	return 0;
}

static int load(struct scenario *s, const struct options_check *check,
	const struct scenario_options *options)
{
	struct loading l = { .s = s, .check = check, .played = options->played };
	int rc;

	s->store->tables = scenario_tables_new();
	if (s->root->kind != YAML_MAP)
		return options_fail(check, s->root, "a scenario must be a map of keys and values");
	rc = options_check_map(check, s->root, "the scenario", s->store->tables->top, NULL);
	if (!rc)
		rc = load_begin(&l, options);
	if (!rc)
		rc = load_world(&l);
	if (!rc)
		rc = load_sources(&l);
	draw_variation(&l, options->vary);
	return rc ? rc : load_faults(&l);
}

static char *name_of(const char *file)
{
	const char *slash = strrchr(file, '/');
	const char *name = slash ? slash + 1 : file, *dot = strrchr(name, '.');

	return dot && dot > name ? xstrndup(name, (size_t)(dot - name)) : xstrdup(name);
}

int scenario_parse(const char *text, size_t len, const char *file,
	const struct scenario_options *options, struct scenario **ret, struct err *err)
{
	struct options_check check = { .file = file, .err = err };
	struct scenario *s = xcalloc(1, sizeof(*s));
	int rc;

	s->name = name_of(file);
	s->store = xcalloc(1, sizeof(*s->store));
	rc = yaml_parse(text, len, file, &s->root, err);
	if (!rc)
		rc = load(s, &check, options);
	if (rc)
		scenario_free(s);
	else
		*ret = s;
	return rc;
}

void scenario_free(struct scenario *s)
{
	if (!s)
		return;
	settings_free(s->settings);
	sim_host_free(s->host);
	if (s->store) {
		while (s->store->n_views)
			sim_break_free(s->store->views[--s->store->n_views]);
		free(s->store->views);
		free(s->store->faults);
		scenario_tables_free(s->store->tables);
		yaml_node_free(s->store->injected);
	}
	free(s->store);
	yaml_node_free(s->root);
	free(s->name);
	free(s);
}

/* ---- where it is ---- */

const struct scenario_text *scenario_text(const char *name)
{
	const struct scenario_text *t;

	for (t = scenario_texts; t->name; t++)
		if (strcmp(t->name, name) == 0)
			return t;
	return NULL;
}

static int no_such_scenario(const char *name, struct err *err)
{
	const struct scenario_text *t;
	char shown[OPTIONS_SHOWN_MAX];
	struct nearest nearest;
	struct str help;
	int rc;

	str_init(&help, 400);
	nearest_init(&nearest, name);
	for (t = scenario_texts; t->name; t++) {
		nearest_offer(&nearest, t->name);
		str_addf(&help, "%s%s", help.len ? ", " : "", t->name);
	}
	nearest_tell(&nearest, 1, &help);
	rc = err_set(err, ERR_NOTFOUND,
		"there is no scenario '%s'; there is %s. A file is named with its folder: "
		"./my.yaml",
		options_shown(shown, name), help.s);
	str_release(&help);
	return rc;
}

int scenario_load(const char *which, const struct scenario_options *options, struct scenario **ret,
	struct err *err)
{
	size_t len = strlen(which);
	const struct scenario_text *own;
	struct str text;
	int rc;

	if (!strchr(which, '/') && !(len > 5 && strcmp(which + len - 5, ".yaml") == 0)) {
		own = scenario_text(which);
		return own ? scenario_parse(
				     (const char *)own->text, own->len, which, options, ret, err)
			   : no_such_scenario(which, err);
	}
	str_init(&text, FILE_MOST);
	rc = fs_read(which, &text, err);
	if (rc == ERR_LIMIT)
		rc = err_set(err, ERR_LIMIT, "%s is larger than 1 MB: no scenario of ours", which);
	if (!rc)
		rc = scenario_parse(text.s, text.len, which, options, ret, err);
	str_release(&text);
	return rc;
}
