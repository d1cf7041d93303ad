#include "config.h"

#include "base/mem.h"
#include "control/scenario.h"
#include "source/sim.h"

#include <stdlib.h>
#include <string.h>

/* What a scenario may say, put together from the parts' tables: they check it, and document it. */

static const struct option_def top_options[] = {
	{ .name = "title", .type = OPTION_TEXT, .help = "What it is called." },
	{ .name = "about", .type = OPTION_TEXT, .help = "What it shows, in a sentence or two." },
	{ .name = "start",
		.type = OPTION_TEXT,
		.fallback = "2026-03-03T03:00:00Z",
		.help = "What the true wall clock shows when it begins, in UTC." },
	{ .name = "seed",
		.type = OPTION_INT,
		.fallback = "1",
		.help = "Where its dice begin: the same seed gives the same world, byte for byte. "
			"--seed overrides it." },
	{ .name = "opens",
		.type = OPTION_DURATION,
		.fallback = "0s",
		.help = "How long it has lived when a console opens on it." },
	{ .name = "world", .type = OPTION_MAP, .required = true, .help = "Of what it is made." },
	{ .name = "sources",
		.type = OPTION_MAPS,
		.required = true,
		.help = "What is looked at: the sources of the console." },
	{ .name = "roles",
		.type = OPTION_NAMED,
		.help = "Jobs that only one process should do, as in the config." },
	{ .name = "names",
		.type = OPTION_MAPS,
		.fields = options_name,
		.help = "Names for PostgreSQL keys, as in the config." },
	{ .name = "thresholds",
		.type = OPTION_MAP,
		.fields = options_threshold,
		.help = "What findings are measured against, as in the config." },
	{ .name = "faults", .type = OPTION_MAPS, .help = "What breaks, and when." },
	{ .name = "lesson",
		.type = OPTION_NAMED,
		.help = "What makes a lesson of it: the story, the goals, the score." },
	{ .name = NULL },
};

static const struct option_def source_options[] = {
	{ .name = "name",
		.type = OPTION_TEXT,
		.required = true,
		.help = "The source's name, as in ids." },
	{ .name = "shows",
		.type = OPTION_MAP,
		.required = true,
		.help = "What it shows: the kind of thing, and its name. {fleet: all} shows the "
			"processes and machines themselves." },
	{ .name = "environment",
		.type = OPTION_TEXT,
		.help = "A word such as prod, as in the config." },
	{ .name = "protect",
		.type = OPTION_BOOL,
		.fallback = "false",
		.help = "Forbids every act on this source." },
	{ .name = "interval",
		.type = OPTION_DURATION,
		.fallback = "1s",
		.help = "The time between polls; what changes is seen earlier." },
	{ .name = NULL },
};

static const struct option_def fault_options[] = {
	{ .name = "at", .type = OPTION_DURATION, .required = true, .help = "When." },
	{ .name = "every",
		.type = OPTION_DURATION,
		.help = "It happens again and again, so long after each time." },
	{ .name = "vary",
		.type = OPTION_INT,
		.fallback = "0",
		.help = "By so many percent `every` differs from time to time, by the seed." },
	{ .name = NULL },
};

struct scenario_tables_store {
	struct option_def *tables[6];
	size_t n;
};

static size_t table_len(const struct option_def *t)
{
	size_t n = 0;

	while (t[n].name)
		n++;
	return n;
}

/* A table that may grow: with room for `more` rows behind those of from (which may be NULL). */
static struct option_def *table_new(
	struct scenario_tables *t, const struct option_def *from, size_t more)
{
	size_t n = from ? table_len(from) : 0;
	struct option_def *table = xcalloc(n + more + 1, sizeof(*table));

	if (n)
		memcpy(table, from, n * sizeof(*table));
	t->store->tables[t->store->n++] = table;
	return table;
}

static void table_set(struct option_def *table, const char *name, const struct option_def *fields)
{
	for (; table->name; table++)
		if (strcmp(table->name, name) == 0)
			table->fields = fields;
}

static const struct option_def *table_of_programs(struct scenario_tables *t)
{
	const struct sim_program *g;
	struct option_def *table;
	size_t n = 0, i;

	for (i = 0; sim_parts[i]; i++)
		for (g = sim_parts[i]->programs; g && g->word; g++)
			n++;
	table = table_new(t, NULL, n);
	for (i = n = 0; sim_parts[i]; i++)
		for (g = sim_parts[i]->programs; g && g->word; g++)
			table[n++] = (struct option_def){ .name = g->word,
				.type = OPTION_MAP,
				.fields = g->options,
				.help = g->help };
	return table;
}

/* The processes' `runs` holds programs of all parts. */
static const struct option_def *table_of_process(
	struct scenario_tables *t, const struct option_def *options)
{
	struct option_def *table = table_new(t, options, 0);

	table_set(table, "runs", t->programs);
	return table;
}

static const struct option_def *table_of_world(struct scenario_tables *t)
{
	const struct sim_thing *thing;
	struct option_def *table;
	size_t n = 0, i;

	for (i = 0; sim_parts[i]; i++)
		for (thing = sim_parts[i]->things; thing && thing->word; thing++)
			n++;
	table = table_new(t, NULL, n);
	for (i = n = 0; sim_parts[i]; i++)
		for (thing = sim_parts[i]->things; thing && thing->word; thing++)
			table[n++] = (struct option_def){
				.name = thing->word,
				.type = OPTION_MAPS,
				.fields = strcmp(thing->word, "processes") == 0
						  ? table_of_process(t, thing->options)
						  : thing->options,
				.help = thing->help,
			};
	return table;
}

static const struct option_def *table_of_source(struct scenario_tables *t)
{
	struct option_def *table = table_new(t, source_options, 0), *shows;
	const struct sim_view *v;
	size_t n = 0, i;

	for (i = 0; sim_parts[i]; i++)
		for (v = sim_parts[i]->views; v && v->ops; v++)
			n++;
	shows = table_new(t, NULL, n);
	for (i = n = 0; sim_parts[i]; i++)
		for (v = sim_parts[i]->views; v && v->ops; v++)
			shows[n++] = (struct option_def){
				.name = v->ops->kind, .type = OPTION_TEXT, .help = v->source.summary
			};
	table_set(table, "shows", shows);
	return table;
}

static const struct option_def *table_of_fault(struct scenario_tables *t)
{
	size_t first = table_len(fault_options), n = 0, i;
	const struct sim_fault *f;
	struct option_def *table;

	for (i = 0; sim_parts[i]; i++)
		for (f = sim_parts[i]->faults; f && f->word; f++)
			n++;
	table = table_new(t, fault_options, n);
	for (i = 0, n = first; sim_parts[i]; i++)
		for (f = sim_parts[i]->faults; f && f->word; f++)
			table[n++] = (struct option_def){ .name = f->word,
				.type = OPTION_MAP,
				.fields = f->options,
				.help = f->help };
	return table;
}

struct scenario_tables *scenario_tables_new(void)
{
	struct scenario_tables *t = xcalloc(1, sizeof(*t));
	struct option_def *top;

	t->store = xcalloc(1, sizeof(*t->store));
	t->programs = table_of_programs(t);
	t->world = table_of_world(t);
	t->source = table_of_source(t);
	t->fault = table_of_fault(t);
	top = xcalloc(ARRAY_LEN(top_options), sizeof(*top));
	memcpy(top, top_options, sizeof(top_options));
	table_set(top, "world", t->world);
	table_set(top, "sources", t->source);
	table_set(top, "faults", t->fault);
	t->top = top;
	return t;
}

void scenario_tables_free(struct scenario_tables *t)
{
	if (!t)
		return;
	while (t->store->n)
		free(t->store->tables[--t->store->n]);
	free((void *)(uintptr_t)t->top);
	free(t->store);
	free(t);
}
