#include "config.h"

#include "control/lesson-run.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/text.h"
#include "control/settings.h"
#include "io/yaml.h"
#include "source/sim-host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
	NUMBER_LEN = 3,
	ENTRIES_MOST = 64,
	VARY_PERCENT = 10 /* with another seed, so that nobody plays it by heart */
};

/* Scenarios called "S02" or "S02-..." are lessons. */
static bool is_lesson_name(const char *name)
{
	return name[0] >= 'A' && name[0] <= 'Z' && name[1] >= '0' && name[1] <= '9' &&
	       name[2] >= '0' && name[2] <= '9' && (!name[NUMBER_LEN] || name[NUMBER_LEN] == '-');
}

/* The lessons (S) first, then the studies, by number. */
static int compare_entries(const void *a, const void *b)
{
	const struct lesson_entry *x = a, *y = b;
	bool study_x = x->number[0] != 'S', study_y = y->number[0] != 'S';

	return study_x != study_y ? study_x - study_y : strcmp(x->number, y->number);
}

size_t lesson_entries(struct lesson_entry *ret, size_t max)
{
	const struct scenario_text *t;
	size_t n = 0;

	for (t = scenario_texts; t->name && n < max; t++) {
		if (!is_lesson_name(t->name))
			continue;
		ret[n].name = t->name;
		snprintf(ret[n].number, sizeof(ret[n].number), "%.*s", NUMBER_LEN, t->name);
		n++;
	}
	qsort(ret, n, sizeof(*ret), compare_entries);
	return n;
}

static bool is_file(const char *which)
{
	return strchr(which, '/') || str_ends(which, ".yaml");
}

static int no_such_lesson(
	const char *which, const struct lesson_entry *entries, size_t n, struct err *err)
{
	char shown[OPTIONS_SHOWN_MAX];
	struct nearest nearest;
	struct str help;
	size_t i;
	int rc;

	str_init(&help, 400);
	nearest_init(&nearest, which);
	for (i = 0; i < n; i++)
		nearest_offer(&nearest, entries[i].number);
	nearest_tell(&nearest, 2, &help);
	rc = err_set(err, ERR_NOTFOUND, "there is no lesson '%s'%s; `baton train` lists them",
		options_shown(shown, which), help.s);
	str_release(&help);
	return rc;
}

/* The scenario's name for a number in any case, or the name as it is. */
static int find_name(const char *which, const char **ret, struct err *err)
{
	struct lesson_entry entries[ENTRIES_MOST];
	size_t n = lesson_entries(entries, ENTRIES_MOST), i;

	for (i = 0; i < n; i++)
		if (strcasecmp(entries[i].number, which) == 0 ||
			strcmp(entries[i].name, which) == 0) {
			*ret = entries[i].name;
			return 0;
		}
	return no_such_lesson(which, entries, n, err);
}

static int load_lesson(struct lesson_run *run, const char *file, struct err *err)
{
	struct options_check check = { .file = file, .err = err };
	/* The tree is the scenario's, and its texts are only read. */
	struct yaml_node *map =
		(struct yaml_node *)(uintptr_t)yaml_get(run->scenario->root, "lesson");
	struct world *w;
	int rc;

	if (!map)
		return err_set(err, ERR_CONFIG, "%s is a scenario without a lesson", file);
	rc = lesson_read(
		&check, map, run->scenario->title ? run->scenario->title : "", &run->lesson, err);
	if (rc)
		return rc;
	w = sim_host_enter(run->scenario->host);
	rc = lesson_check(run->lesson, &check, map, w);
	if (!rc)
		referee_new(w, &run->lesson->rules);
	sim_host_leave(run->scenario->host);
	return rc;
}

/* As it is told: in the debrief, and among the results. */
static char *shown_fault(const char *inject)
{
	struct str out;

	str_init(&out, LESSON_INJECT_MAX - 1);
	text_escape(&out, inject, strlen(inject));
	return str_take(&out);
}

int lesson_run_load(const char *which, const struct lesson_options *options,
	struct lesson_run **ret, struct err *err)
{
	struct scenario_options scenario = { .has_seed = options->has_seed,
		.seed = options->seed,
		.vary = options->has_seed ? VARY_PERCENT : 0,
		.played = true };
	struct lesson_run *run;
	const char *name = which;
	int rc = is_file(which) ? 0 : find_name(which, &name, err);

	if (rc)
		return rc;
	run = xcalloc(1, sizeof(*run));
	rc = scenario_load(name, &scenario, &run->scenario, err);
	if (!rc)
		rc = load_lesson(run, name, err);
	if (!rc && options->inject)
		rc = scenario_inject(run->scenario, options->inject, err);
	if (rc) {
		lesson_run_free(run);
		return rc;
	}
	if (options->inject)
		run->inject = shown_fault(options->inject);
	run->seed = run->scenario->seed;
	lesson_shuffle(run->lesson, run->seed, run->order);
	*ret = run;
	return 0;
}

void lesson_run_free(struct lesson_run *run)
{
	if (!run)
		return;
	scenario_free(run->scenario);
	lesson_free(run->lesson);
	free(run->inject);
	free(run);
}

void lesson_run_begin(struct lesson_run *run)
{
	vclock_set(sim_host_vclock(run->scenario->host), run->lesson->rules.begins_ms);
	sim_host_enter(run->scenario->host);
	sim_host_leave(run->scenario->host);
}

/* ---- what the trainee says ---- */

static struct referee *enter(struct lesson_run *run)
{
	return referee_of(sim_host_enter(run->scenario->host));
}

static void leave(struct lesson_run *run)
{
	sim_host_leave(run->scenario->host);
}

static size_t hints_taken(const struct account *a)
{
	size_t i, n = 0;

	for (i = 0; i < a->n_said; i++)
		n += a->said[i].kind == SAID_HINT;
	return n;
}

void lesson_run_look(struct lesson_run *run, struct lesson_state *ret)
{
	const struct account *a = referee_account(enter(run));
	size_t i;

	*ret = (struct lesson_state){ .end = a->end,
		.now_ms = a->end_ms - a->begins_ms,
		.restored_ms = a->restored_ms < 0 ? -1 : a->restored_ms - a->begins_ms,
		.hints = hints_taken(a) };
	for (i = 0; i < a->n_said; i++)
		if (a->said[i].kind == SAID_DIAGNOSIS)
			ret->picked = a->said[i].causes;
	leave(run);
}

void lesson_run_diagnose(struct lesson_run *run, uint64_t causes)
{
	referee_diagnose(enter(run), causes);
	leave(run);
}

const struct lesson_hint *lesson_run_hint(struct lesson_run *run)
{
	struct referee *r = enter(run);
	size_t taken = hints_taken(referee_account(r));
	const struct lesson_hint *hint =
		taken < run->lesson->n_hints ? &run->lesson->hints[taken] : NULL;

	if (hint)
		referee_hint(r, taken);
	leave(run);
	return hint;
}

void lesson_run_note(struct lesson_run *run, const char *text)
{
	struct str clean;

	str_init(&clean, ACCOUNT_TEXT_MAX);
	text_escape_cut(&clean, text, strlen(text), ACCOUNT_TEXT_MAX / 4 - 8);
	referee_note(enter(run), clean.s);
	leave(run);
	str_release(&clean);
}

void lesson_run_finish(struct lesson_run *run)
{
	referee_finish(enter(run));
	leave(run);
}

struct debrief *lesson_run_debrief(struct lesson_run *run)
{
	struct world *w = sim_host_enter(run->scenario->host);
	struct debrief *d = debrief_new(run->lesson, run->seed, w);

	d->inject = run->inject;
	leave(run);
	return d;
}
