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

static void print_options(struct json *j, const char *key, const struct option_def *table)
{
	struct str fallback;

	str_init(&fallback, 4096);
	json_key(j, key);
	json_list(j);
	for (; table && table->name; table++) {
		str_clear(&fallback);
		option_fallback_text(table, &fallback);
		json_newline(j);
		json_map(j);
		json_key_text(j, "name", table->name);
		json_key_text(j, "type", option_type_text(table));
		json_key_text(j, "words", table->words);
		json_key_text(j, "default", fallback.len ? fallback.s : NULL);
		json_key_bool(j, "required", table->required);
		json_key_text(j, "help", table->help);
		/* One level is all that there is. */
		json_key(j, "fields");
		json_list(j);
		for (const struct option_def *f = table->fields; f && f->name; f++) {
			str_clear(&fallback);
			option_fallback_text(f, &fallback);
			json_map(j);
			json_key_text(j, "name", f->name);
			json_key_text(j, "type", option_type_text(f));
			json_key_text(j, "words", f->words);
			json_key_text(j, "default", fallback.len ? fallback.s : NULL);
			json_key_bool(j, "required", f->required);
			json_key_text(j, "help", f->help);
			json_map_end(j);
		}
		json_list_end(j);
		json_map_end(j);
	}
	json_list_end(j);
	str_release(&fallback);
}

static void print_commands(struct json *j)
{
	size_t i;
	int k;

	json_key(j, "commands");
	json_list(j);
	for (i = 0; cli_commands[i]; i++) {
		const struct command *c = cli_commands[i];

		if (c->hidden)
			continue;
		json_newline(j);
		json_map(j);
		json_key_text(j, "name", c->name);
		json_key_text(j, "args", c->args);
		json_key_text(j, "completes", c->completes);
		json_key_text(j, "summary", c->summary);
		json_key_text(j, "help", c->help);
		json_key(j, "options");
		json_list(j);
		for (k = 0; k < OPT_COUNT; k++)
			if ((c->takes | TAKES_ALWAYS) & (UINT32_C(1) << k))
				json_text(j, cli_options[k].name);
		json_list_end(j);
		json_map_end(j);
	}
	json_list_end(j);
}

static void print_cli_options(struct json *j)
{
	int i;

	json_key(j, "options");
	json_list(j);
	for (i = 0; i < OPT_COUNT; i++) {
		const struct cli_option *o = &cli_options[i];
		char letter[2] = { o->letter, '\0' };

		json_newline(j);
		json_map(j);
		json_key_text(j, "name", o->name);
		json_key_text(j, "letter", o->letter ? letter : NULL);
		json_key_text(j, "value", o->value);
		json_key_text(j, "choices", o->choices);
		json_key_text(j, "completes", o->completes);
		json_key_text(j, "help", o->help);
		json_map_end(j);
	}
	json_list_end(j);
}

static void print_kinds(struct json *j)
{
	size_t i;

	json_key(j, "kinds");
	json_list(j);
	for (i = 0; source_kinds[i]; i++) {
		json_map(j);
		json_key_text(j, "kind", source_kinds[i]->kind);
		json_key_text(j, "summary", source_kinds[i]->summary);
		json_key_int(j, "interval_ms", source_kinds[i]->interval_ms);
		print_options(j, "options", source_kinds[i]->options);
		json_map_end(j);
	}
	json_list_end(j);
}

static void print_word(struct json *j, const struct word *word)
{
	json_newline(j);
	json_map(j);
	json_key_text(j, "word", word->word);
	json_key_text(j, "help", word->help);
}

static void print_words(struct json *j)
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

	json_key(j, "mechanisms");
	json_list(j);
	for (i = 0; i < MECH_COUNT; i++) {
		print_word(j, mechanism_word((enum mechanism)i));
		json_map_end(j);
	}
	json_list_end(j);
	json_key(j, "states");
	json_list(j);
	for (i = 0; i < STATE_COUNT; i++) {
		const char letter[2] = { state_word((enum state)i)->letter, '\0' };

		print_word(j, state_word((enum state)i));
		json_key_text(j, "letter", letter);
		json_map_end(j);
	}
	json_list_end(j);
	json_key(j, "findings");
	json_list(j);
	for (i = 0; i < FINDING_COUNT; i++) {
		const struct word *word = finding_word((enum finding_code)i);

		print_word(j, word);
		json_key_text(j, "severity", severity_word(word->severity)->word);
		json_map_end(j);
	}
	json_list_end(j);
	json_key(j, "details");
	json_list(j);
	for (i = 0; i < DETAIL_COUNT; i++) {
		print_word(j, detail_word((enum detail_id)i));
		json_key_text(j, "type", types[detail_word((enum detail_id)i)->type]);
		json_map_end(j);
	}
	json_list_end(j);
}

int main(void)
{
	struct json j;
	struct out out;

	out_init(&out, STDOUT_FILENO);
	json_init(&j, &out);
	json_map(&j);
	json_key_text(&j, "version", PACKAGE_VERSION);
	print_commands(&j);
	print_cli_options(&j);
	print_options(&j, "top", options_top);
	print_options(&j, "source", options_source);
	print_options(&j, "role", options_role);
	print_options(&j, "threshold", options_threshold);
	print_options(&j, "name", options_name);
	print_kinds(&j);
	print_words(&j);
	json_map_end(&j);
	out_char(&out, '\n');
	return out_close(&out) ? 1 : 0;
}
