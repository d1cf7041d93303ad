#include "config.h"

#include "base/mem.h"
#include "base/str.h"
#include "cli/command.h"
#include "control/gate-machine.h"
#include "control/lesson.h"
#include "control/lesson-inside.h"
#include "control/options.h"
#include "control/scenario.h"
#include "show/json.h"
#include "source/act.h"

#include <string.h>
#include <unistd.h>

/*
 * Prints the program's tables as JSON: what the manual, the schema and the completions are made of
 * (update.py).
 */

static void print_options(struct json_writer *j, const char *key, const struct option_def *table)
{
	struct str fallback;

	str_init(&fallback, 4096);
	jw_key(j, key);
	jw_list(j);
	for (; table && table->name; table++) {
		str_clear(&fallback);
		option_fallback_text(table, &fallback);
		jw_newline(j);
		jw_map(j);
		jw_key_text(j, "name", table->name);
		jw_key_text(j, "type", option_type_text(table));
		jw_key_text(j, "words", table->words);
		jw_key_text(j, "default", fallback.len ? fallback.s : NULL);
		jw_key_bool(j, "required", table->required);
		jw_key_text(j, "help", table->help);
		/* One level is all that there is. */
		jw_key(j, "fields");
		jw_list(j);
		for (const struct option_def *f = table->fields; f && f->name; f++) {
			str_clear(&fallback);
			option_fallback_text(f, &fallback);
			jw_map(j);
			jw_key_text(j, "name", f->name);
			jw_key_text(j, "type", option_type_text(f));
			jw_key_text(j, "words", f->words);
			jw_key_text(j, "default", fallback.len ? fallback.s : NULL);
			jw_key_bool(j, "required", f->required);
			jw_key_text(j, "help", f->help);
			jw_map_end(j);
		}
		jw_list_end(j);
		jw_map_end(j);
	}
	jw_list_end(j);
	str_release(&fallback);
}

static void print_commands(struct json_writer *j)
{
	size_t i;
	int k;

	jw_key(j, "commands");
	jw_list(j);
	for (i = 0; cli_commands[i]; i++) {
		const struct command *c = cli_commands[i];

		if (c->hidden)
			continue;
		jw_newline(j);
		jw_map(j);
		jw_key_text(j, "name", c->name);
		jw_key_text(j, "args", c->args);
		jw_key_text(j, "completes", c->completes);
		jw_key_text(j, "summary", c->summary);
		jw_key_text(j, "help", c->help);
		jw_key(j, "options");
		jw_list(j);
		for (k = 0; k < OPT_COUNT; k++)
			if ((c->takes | TAKES_ALWAYS) & (UINT32_C(1) << k))
				jw_text(j, cli_options[k].name);
		jw_list_end(j);
		jw_map_end(j);
	}
	jw_list_end(j);
}

static void print_cli_options(struct json_writer *j)
{
	int i;

	jw_key(j, "options");
	jw_list(j);
	for (i = 0; i < OPT_COUNT; i++) {
		const struct cli_option *o = &cli_options[i];
		char letter[2] = { o->letter, '\0' };

		jw_newline(j);
		jw_map(j);
		jw_key_text(j, "name", o->name);
		jw_key_text(j, "letter", o->letter ? letter : NULL);
		jw_key_text(j, "value", o->value);
		jw_key_text(j, "choices", o->choices);
		jw_key_text(j, "completes", o->completes);
		jw_key_text(j, "help", o->help);
		jw_map_end(j);
	}
	jw_list_end(j);
}

static void print_kinds(struct json_writer *j)
{
	size_t i;

	jw_key(j, "kinds");
	jw_list(j);
	for (i = 0; source_kinds[i]; i++) {
		jw_map(j);
		jw_key_text(j, "kind", source_kinds[i]->kind);
		jw_key_text(j, "summary", source_kinds[i]->summary);
		jw_key_int(j, "interval_ms", source_kinds[i]->interval_ms);
		print_options(j, "options", source_kinds[i]->options);
		jw_map_end(j);
	}
	jw_list_end(j);
}

static void print_word(struct json_writer *j, const struct word *word)
{
	jw_newline(j);
	jw_map(j);
	jw_key_text(j, "word", word->word);
	jw_key_text(j, "help", word->help);
}

static void print_words(struct json_writer *j)
{
	static const char *const types[] = {
		[DETAIL_TYPE_INT] = "int",
		[DETAIL_TYPE_BIG] = "big",
		[DETAIL_TYPE_HEX] = "hex",
		[DETAIL_TYPE_TIME] = "time",
		[DETAIL_TYPE_MS] = "ms",
		[DETAIL_TYPE_TEXT] = "text",
		[DETAIL_TYPE_BOOL] = "bool",
	};
	int i;

	jw_key(j, "mechanisms");
	jw_list(j);
	for (i = 0; i < MECH_COUNT; i++) {
		print_word(j, mechanism_word((enum mechanism)i));
		jw_map_end(j);
	}
	jw_list_end(j);
	jw_key(j, "states");
	jw_list(j);
	for (i = 0; i < STATE_COUNT; i++) {
		const char letter[2] = { state_word((enum state)i)->letter, '\0' };

		print_word(j, state_word((enum state)i));
		jw_key_text(j, "letter", letter);
		jw_map_end(j);
	}
	jw_list_end(j);
	jw_key(j, "findings");
	jw_list(j);
	for (i = 0; i < FINDING_COUNT; i++) {
		const struct word *word = finding_word((enum finding_code)i);

		print_word(j, word);
		jw_key_text(j, "severity", severity_word(word->severity)->word);
		jw_map_end(j);
	}
	jw_list_end(j);
	jw_key(j, "details");
	jw_list(j);
	for (i = 0; i < DETAIL_COUNT; i++) {
		print_word(j, detail_word((enum detail_id)i));
		jw_key_text(j, "type", types[detail_word((enum detail_id)i)->type]);
		jw_map_end(j);
	}
	jw_list_end(j);
}

static void print_verbs(struct json_writer *j)
{
	static const char *const about[] = {
		[ABOUT_CLAIM] = "a holder or waiter",
		[ABOUT_RUN] = "a run",
		[ABOUT_ROW] = "the singleton",
	};
	int i;

	jw_key(j, "verbs");
	jw_list(j);
	for (i = 0; i < VERB_COUNT; i++) {
		const struct verb_word *verb = verb_word((enum verb)i);

		jw_newline(j);
		jw_map(j);
		jw_key_text(j, "word", verb->word);
		jw_key_text(j, "help", verb->help);
		jw_key_text(j, "about", about[verb->about]);
		jw_key_bool(j, "disruptive", verb->danger == DANGER_DISRUPTIVE);
		jw_map_end(j);
	}
	jw_list_end(j);
}

/* What each kind of source can do, how, and under which guard. */
static void print_acts(struct json_writer *j)
{
	size_t i, k;

	jw_key(j, "acts");
	jw_list(j);
	for (i = 0; source_kinds[i]; i++)
		for (k = 0; k < source_kinds[i]->n_acts; k++) {
			const struct act_case *act = &source_kinds[i]->acts[k];

			jw_newline(j);
			jw_map(j);
			jw_key_text(j, "kind", source_kinds[i]->kind);
			jw_key_text(j, "mechanism", mechanism_word(act->mechanism)->word);
			jw_key_text(j, "verb", verb_word(act->verb)->word);
			jw_key_text(j, "request", act->request);
			jw_key_text(j, "guard", act->guard);
			jw_key_text(j, "needs", act->needs);
			jw_map_end(j);
		}
	jw_list_end(j);
}

static void print_gate_words(
	struct json_writer *j, const char *key, int n, const struct gate_word *(*word_of)(int i))
{
	int i;

	jw_key(j, key);
	jw_list(j);
	for (i = 0; i < n; i++) {
		jw_newline(j);
		jw_map(j);
		jw_key_text(j, "word", word_of(i)->word);
		jw_key_text(j, "help", word_of(i)->help);
		jw_map_end(j);
	}
	jw_list_end(j);
}

static const struct gate_word *state_of(int i)
{
	return gate_state_word((enum gate_state)i);
}

static const struct gate_word *event_of(int i)
{
	return gate_event_word((enum gate_event)i);
}

/* The gate's machine, as it moves. */
static void print_gate(struct json_writer *j)
{
	int state, event;

	print_gate_words(j, "gate_states", GATE_STATE_COUNT, state_of);
	print_gate_words(j, "gate_events", GATE_EVENT_COUNT, event_of);
	jw_key(j, "gate_moves");
	jw_list(j);
	for (state = 0; state < GATE_STATE_COUNT; state++)
		for (event = 0; event < GATE_EVENT_COUNT; event++) {
			enum gate_outcome outcome = GATE_NONE;
			int to = gate_machine_next(
				(enum gate_state)state, (enum gate_event)event, &outcome);

			if (to < 0)
				continue;
			jw_newline(j);
			jw_map(j);
			jw_key_text(j, "from", state_of(state)->word);
			jw_key_text(j, "event", event_of(event)->word);
			jw_key_text(j, "to", state_of(to)->word);
			jw_key_text(j, "outcome", gate_outcome_word(outcome));
			jw_map_end(j);
		}
	jw_list_end(j);
}

static void print_warnings(struct json_writer *j)
{
	jw_key(j, "warnings");
	jw_list(j);
#define WARNING(finding, severity, target, verbs, what)                   \
	jw_newline(j);                                                    \
	jw_map(j);                                                        \
	jw_key_text(j, "finding", finding_word(FINDING_##finding)->word); \
	jw_key_text(j, "verbs", #verbs);                                  \
	jw_key_text(j, "text", what);                                     \
	jw_map_end(j);
#include "model/warnings.def"
#undef WARNING
	jw_list_end(j);
}

/* What may stand in a scenario: the tables of all parts of the built-in world. */
static void print_scenario(struct json_writer *j)
{
	struct scenario_tables *t = scenario_tables_new();

	jw_key(j, "scenario");
	jw_map(j);
	print_options(j, "top", t->top);
	print_options(j, "world", t->world);
	print_options(j, "programs", t->programs);
	print_options(j, "source", t->source);
	print_options(j, "fault", t->fault);
	jw_map_end(j);
	scenario_tables_free(t);
}

/* What may stand under `lesson:`: each map's own table. */
static void print_lesson(struct json_writer *j)
{
	static const struct {
		const char *key;
		const struct option_def *table;
	} tables[] = {
		{ "lesson", lesson_options },
		{ "restored", lesson_restored_options },
		{ "when", lesson_goal_options },
		{ "causes", lesson_cause_options },
		{ "hints", lesson_hint_options },
		{ "measures", lesson_measure_options },
		{ "reason", lesson_reason_options },
		{ "ways", lesson_way_options },
		{ "steps", lesson_step_options },
		{ "debrief", lesson_debrief_options },
		{ "acts", lesson_verdict_options },
		{ "read", lesson_reading_options },
		{ "compare", lesson_compare_options },
	};
	size_t i;

	jw_key(j, "lesson");
	jw_map(j);
	for (i = 0; i < ARRAY_LEN(tables); i++)
		print_options(j, tables[i].key, tables[i].table);
	jw_map_end(j);
}

static void print_measures(struct json_writer *j)
{
	static const char *const of[] = {
		[MEASURE_OF_DUTY] = "duties",
		[MEASURE_OF_RESOURCE] = "resources",
		[MEASURE_OF_COUNT] = "counters",
		[MEASURE_OF_HAPPENING] = "kinds of happenings",
		[MEASURE_OF_VERB] = "verbs, or any",
	};
	int i;

	jw_key(j, "measures");
	jw_list(j);
	for (i = 0; i < MEASURE_KIND_COUNT; i++) {
		const struct measure_word *m = measure_word((enum measure_kind)i);

		jw_newline(j);
		jw_map(j);
		jw_key_text(j, "word", m->word);
		jw_key_text(j, "of", of[m->of]);
		jw_key_bool(j, "time", m->ms);
		jw_key_text(j, "help", m->help);
		jw_map_end(j);
	}
	jw_list_end(j);
	jw_key(j, "counts");
	jw_list(j);
#define COUNT(word, whose, what)        \
	jw_newline(j);                  \
	jw_map(j);                      \
	jw_key_text(j, "word", word);   \
	jw_key_text(j, "whose", whose); \
	jw_key_text(j, "help", what);   \
	jw_map_end(j);
#include "sim/counts.def"
#undef COUNT
	jw_list_end(j);
}

int main(void)
{
	struct json_writer j;
	struct out out;

	out_init(&out, STDOUT_FILENO);
	jw_init(&j, &out);
	jw_map(&j);
	jw_key_text(&j, "version", PACKAGE_VERSION);
	print_commands(&j);
	print_cli_options(&j);
	print_options(&j, "top", options_top);
	print_options(&j, "source", options_source);
	print_options(&j, "role", options_role);
	print_options(&j, "threshold", options_threshold);
	print_options(&j, "name", options_name);
	print_kinds(&j);
	print_words(&j);
	print_verbs(&j);
	print_acts(&j);
	print_gate(&j);
	print_warnings(&j);
	print_scenario(&j);
	print_lesson(&j);
	print_measures(&j);
	jw_map_end(&j);
	out_char(&out, '\n');
	return out_close(&out) ? 1 : 0;
}
