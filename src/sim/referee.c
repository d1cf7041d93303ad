#include "config.h"

#include "sim/referee.h"
#include "base/mem.h"
#include "base/str.h"
#include "sim/net.h"

#include <stdlib.h>
#include <string.h>

enum {
	LOOK_MS = 250 /* how often the goals are looked at */
};

struct referee {
	struct thing thing;
	struct world *world;
	const struct referee_rules *rules;
	bool counts;    /* counted_ms has passed */
	bool finished;  /* the trainee does nothing more */
	int64_t *base;  /* the measures at counted_ms */
	int64_t *goals; /* the goals' measures then */
	uint64_t base_doubles;
	struct account account;
};

static const struct measure_word words[MEASURE_KIND_COUNT] = {
#define MEASURE(id, text, is_of, is_ms, about)                                           \
	[MEASURE_##id] = {                                                               \
		.word = (text), .of = MEASURE_OF_##is_of, .ms = (is_ms), .help = (about) \
	},
#include "sim/measures.def"
#undef MEASURE
};

const struct measure_word *measure_word(enum measure_kind kind)
{
	return &words[kind];
}

int measure_from_word(const char *word)
{
	int i;

	for (i = 0; i < MEASURE_KIND_COUNT; i++)
		if (strcmp(words[i].word, word) == 0)
			return i;
	return -1;
}

/* ---- measures ---- */

static int64_t of_duty(struct world *w, enum measure_kind kind, const char *name)
{
	struct duty *d = duty_find(w, name);

	if (!d)
		return 0;
	duty_count(w, d);
	if (kind == MEASURE_OVERLAP)
		return d->overlap_ms;
	return kind == MEASURE_VACANT ? d->vacant_ms : (int64_t)d->takeovers;
}

static int64_t of_resource(const struct world *w, enum measure_kind kind, const char *name)
{
	const struct resource *r = resource_find(w, name);

	if (!r)
		return 0;
	switch (kind) {
	case MEASURE_WRITES:
		return (int64_t)r->writes;
	case MEASURE_DOUBLES:
		return (int64_t)r->doubles;
	case MEASURE_STALE_WRITES:
		return (int64_t)r->stale_let;
	case MEASURE_REFUSED:
		return (int64_t)r->stale_refused;
	default:
		return (int64_t)r->already;
	}
}

static int64_t of_happenings(const struct world *w, const char *word, const char *on)
{
	size_t i, n = world_told(w);
	int64_t found = 0;

	for (i = 0; i < n; i++) {
		const struct happening *h = world_happening(w, i);

		if (strcmp(happening_word(h->kind), word) == 0 &&
			(!on || deed_means(on, h->what) || deed_means(on, h->who)))
			found++;
	}
	return found;
}

static bool is_deed(const struct deed *deed, const char *verb, const char *on)
{
	bool any = strcmp(verb, "any") == 0;

	return (any ? !deed->asks : strcmp(deed->verb, verb) == 0) &&
	       (deed_means(on, deed->id) || deed_means(on, deed->identity));
}

static int64_t of_deeds(const struct world *w, const char *verb, const char *on)
{
	size_t i, n = deed_count(w);
	int64_t found = 0;

	for (i = 0; i < n; i++)
		found += is_deed(deed_at(w, i), verb, on);
	return found;
}

bool measure_counts_deed(const struct measure *m, const struct deed *deed)
{
	size_t i;

	for (i = 0; i < m->n_of; i++)
		if (m->kind == MEASURE_ACTS && is_deed(deed, m->of[i], m->on))
			return true;
	return false;
}

static int64_t of_name(struct world *w, const struct measure *m, const char *name)
{
	switch (words[m->kind].of) {
	case MEASURE_OF_DUTY:
		return of_duty(w, m->kind, name);
	case MEASURE_OF_RESOURCE:
		return of_resource(w, m->kind, name);
	case MEASURE_OF_COUNT:
		return world_counted(w, name);
	case MEASURE_OF_HAPPENING:
		return of_happenings(w, name, m->on);
	default:
		return of_deeds(w, name, m->on);
	}
}

int64_t measure_now(struct world *w, const struct measure *m)
{
	int64_t sum = 0;
	size_t i;

	for (i = 0; i < m->n_of; i++)
		sum += of_name(w, m, m->of[i]);
	return sum;
}

static bool happening_known(const char *word)
{
	int i;

	for (i = 0; i < HAPPENING_COUNT; i++)
		if (strcmp(happening_word((enum happening_kind)i), word) == 0)
			return true;
	return false;
}

static bool count_known(const char *name)
{
#define COUNT(word, whose, help)     \
	if (strcmp(name, word) == 0) \
		return true;
#include "sim/counts.def"
#undef COUNT
	return false;
}

bool measure_known(const struct world *w, const struct measure *m, const char **ret_unknown)
{
	size_t i;

	for (i = 0; i < m->n_of; i++) {
		const char *name = m->of[i];
		bool known = true;

		if (words[m->kind].of == MEASURE_OF_DUTY)
			known = duty_find(w, name) != NULL;
		else if (words[m->kind].of == MEASURE_OF_RESOURCE)
			known = resource_find(w, name) != NULL;
		else if (words[m->kind].of == MEASURE_OF_HAPPENING)
			known = happening_known(name);
		else if (words[m->kind].of == MEASURE_OF_COUNT)
			known = count_known(name);
		if (!known) {
			*ret_unknown = name;
			return false;
		}
	}
	return true;
}

static uint64_t unfenced_doubles(const struct world *w)
{
	const struct thing *t;
	uint64_t sum = 0;

	for (t = world_each(w, &resource_ops, NULL); t;
		t = world_each(w, &resource_ops, (struct thing *)(uintptr_t)t)) {
		const struct resource *r = (const struct resource *)t;

		if (r->kind == RESOURCE_UNFENCED)
			sum += r->doubles;
	}
	return sum;
}

/* ---- goals ---- */

static bool process_is(const struct process *p, enum goal_state state)
{
	if (!p)
		return false;
	switch (state) {
	case GOAL_STATE_LIVES:
		return process_lives(p);
	case GOAL_STATE_RUNNING:
		return p->state == PROCESS_RUNNING;
	case GOAL_STATE_PAUSED:
		return p->state == PROCESS_PAUSED;
	case GOAL_STATE_APART:
		return !process_lives(p) || p->machine->isolated;
	default:
		return !process_lives(p);
	}
}

bool goal_holds(struct world *w, const struct goal *g, int64_t base)
{
	const struct duty *d = g->duty ? duty_find(w, g->duty) : NULL;
	const struct process *p = g->process ? process_find(w, g->process) : NULL;
	int64_t value;

	switch (g->kind) {
	case GOAL_WORKERS:
		return d && (int64_t)d->at_work >= g->least && (int64_t)d->at_work <= g->most;
	case GOAL_BY:
		return d && p && duty_works(d, p) && p->state == PROCESS_RUNNING;
	case GOAL_PROCESS:
		return process_is(p, g->state);
	default:
		value = measure_now(w, &g->measure) - base;
		return value >= g->least && value <= g->most;
	}
}

static bool goals_hold(struct referee *r)
{
	const struct referee_rules *rules = r->rules;
	size_t i;

	for (i = 0; i < rules->n_goals; i++)
		if (!goal_holds(r->world, &rules->goals[i], r->goals[i]))
			return false;
	return rules->n_goals > 0;
}

/* ---- the run ---- */

static void begin_counting(struct referee *r)
{
	const struct referee_rules *rules = r->rules;
	size_t i;

	r->counts = true;
	for (i = 0; i < rules->n_measures; i++)
		r->base[i] = measure_now(r->world, &rules->measures[i]);
	for (i = 0; i < rules->n_goals; i++)
		if (rules->goals[i].kind == GOAL_MEASURE)
			r->goals[i] = measure_now(r->world, &rules->goals[i].measure);
	r->base_doubles = unfenced_doubles(r->world);
}

static void bring_up(struct referee *r)
{
	struct account *a = &r->account;
	size_t i;

	if (a->end != ACCOUNT_OPEN)
		return;
	a->end_ms = world_now_ms(r->world);
	if (!r->finished)
		a->deeds = deed_count(r->world);
	if (!r->counts)
		return;
	for (i = 0; i < a->n_values; i++)
		a->values[i] = measure_now(r->world, &r->rules->measures[i]) - r->base[i];
	a->unfenced_doubles = unfenced_doubles(r->world) - r->base_doubles;
}

static void end(struct referee *r, enum account_end how)
{
	bring_up(r);
	r->account.end = how;
}

static void look(struct world *w, void *who, int64_t a, int64_t b)
{
	struct referee *r = who;
	const struct referee_rules *rules = r->rules;
	int64_t now = world_now_ms(w), since = now - rules->begins_ms;

	(void)a;
	(void)b;
	if (r->account.end != ACCOUNT_OPEN)
		return;
	if (!r->counts && now >= rules->counted_ms)
		begin_counting(r);
	if (!r->counts || since < rules->not_before_ms || !goals_hold(r))
		r->account.restored_ms = -1;
	else if (r->account.restored_ms < 0)
		r->account.restored_ms = now;
	if (r->account.restored_ms >= 0 && now - r->account.restored_ms >= rules->for_ms)
		end(r, ACCOUNT_RESTORED);
	else if (since >= rules->limit_ms)
		end(r, r->finished ? ACCOUNT_FINISHED : ACCOUNT_LIMIT);
	else
		world_after(w, LOOK_MS, look, r, 0, 0);
}

static void referee_free(struct thing *t)
{
	struct referee *r = (struct referee *)t;
	size_t i;

	for (i = 0; i < r->account.n_said; i++)
		free(r->account.said[i].text);
	free(r->account.values);
	free(r->base);
	free(r->goals);
	free(r);
}

static const struct thing_ops referee_ops = { .kind = "referee", .free = referee_free };

struct referee *referee_new(struct world *w, const struct referee_rules *rules)
{
	struct referee *r = xcalloc(1, sizeof(*r));

	r->world = w;
	r->rules = rules;
	r->base = xcalloc(rules->n_measures + 1, sizeof(*r->base));
	r->goals = xcalloc(rules->n_goals + 1, sizeof(*r->goals));
	r->account.values = xcalloc(rules->n_measures + 1, sizeof(*r->account.values));
	r->account.n_values = rules->n_measures;
	r->account.begins_ms = rules->begins_ms;
	r->account.restored_ms = -1;
	world_add(w, &r->thing, &referee_ops, "referee");
	world_at(w, rules->begins_ms, look, r, 0, 0);
	return r;
}

struct referee *referee_of(const struct world *w)
{
	return (struct referee *)world_each(w, &referee_ops, NULL);
}

static size_t acts_so_far(const struct world *w)
{
	size_t i, n = deed_count(w), found = 0;

	for (i = 0; i < n; i++)
		found += !deed_at(w, i)->asks;
	return found;
}

static struct said *say(struct referee *r, enum said_kind kind)
{
	struct account *a = &r->account;
	struct said *said;

	if (a->end != ACCOUNT_OPEN || r->finished || a->n_said == ACCOUNT_SAID_MOST)
		return NULL;
	said = &a->said[a->n_said++];
	*said = (struct said){
		.kind = kind, .at_ms = world_now_ms(r->world), .deeds = acts_so_far(r->world)
	};
	return said;
}

void referee_diagnose(struct referee *r, uint64_t causes)
{
	struct said *said = say(r, SAID_DIAGNOSIS);

	if (said)
		said->causes = causes;
}

void referee_hint(struct referee *r, size_t hint)
{
	struct said *said = say(r, SAID_HINT);

	if (said)
		said->hint = hint;
}

void referee_note(struct referee *r, const char *text)
{
	struct said *said = say(r, SAID_NOTE);
	size_t len = strlen(text);

	if (said)
		said->text = xstrndup(text, len > ACCOUNT_TEXT_MAX ? ACCOUNT_TEXT_MAX : len);
}

void referee_finish(struct referee *r)
{
	bring_up(r);
	r->finished = true;
}

const struct account *referee_account(struct referee *r)
{
	bring_up(r);
	return &r->account;
}
