#include "config.h"

#include "base/mem.h"
#include "base/str.h"
#include "cli/command.h"
#include "control/options.h"
#include "show/json.h"

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
	jw_map_end(&j);
	out_char(&out, '\n');
	return out_close(&out) ? 1 : 0;
}
