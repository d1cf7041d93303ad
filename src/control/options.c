#include "config.h"

#include "control/options.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/str.h"
#include "base/text.h"
#include "io/yaml.h"
#include "model/thresholds.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct option_def options_source[] = {
	{ .name = "kind",
		.type = OPTION_TEXT,
		.required = true,
		.help = "What kind of system it is: postgres, etcd or kubernetes. It decides which "
			"of the other keys hold." },
	{ .name = "environment",
		.type = OPTION_TEXT,
		.help = "A word such as prod, staging or lab, shown beside everything from this "
			"source. Not said "
			"is treated as prod." },
	{ .name = "protect",
		.type = OPTION_BOOL,
		.fallback = "false",
		.help = "Forbids every act on this source." },
	{ .name = "interval",
		.type = OPTION_DURATION,
		.help = "The time between polls, at least 100ms. By default the kind's own." },
	{ .name = "timeout",
		.type = OPTION_DURATION,
		.fallback = "5s",
		.help = "The deadline of one poll, connecting included. --timeout overrides it." },
	{ .name = NULL },
};

const struct option_def options_recipe[] = {
	{ .name = "hashtext",
		.type = OPTION_TEXT,
		.help = "The text that hashtext turned into the key." },
	{ .name = "crc32", .type = OPTION_TEXT, .help = "The text whose CRC-32 is the key." },
	{ .name = "md5",
		.type = OPTION_TEXT,
		.help = "The text; the first 8 bytes of its MD5 are the key." },
	{ .name = "bigint", .type = OPTION_INT, .help = "The key as one signed 64-bit number." },
	{ .name = "pair",
		.type = OPTION_LIST,
		.help = "The key as two signed 32-bit numbers: [7, -9]." },
	{ .name = NULL },
};

const struct option_def options_name[] = {
	{ .name = "source",
		.type = OPTION_TEXT,
		.required = true,
		.help = "The source that the key is in." },
	{ .name = "database",
		.type = OPTION_TEXT,
		.help = "The database that the key is in. By default any database of that "
			"server." },
	{ .name = "key",
		.type = OPTION_RECIPE,
		.required = true,
		.fields = options_recipe,
		.help = "The key: a text as ids show it, or how the number is made." },
	{ .name = "name", .type = OPTION_TEXT, .required = true, .help = "The name to show." },
	{ .name = NULL },
};

const struct option_def options_role[] = {
	{ .name = "harm",
		.type = OPTION_WORD,
		.words = "harmful|annoying|harmless",
		.help = "What two at once would do." },
	{ .name = "idempotent",
		.type = OPTION_BOOL,
		.help = "Whether the work may safely be done twice. Not said is unknown." },
	{ .name = "fenced",
		.type = OPTION_BOOL,
		.help = "Whether the resource refuses an old fencing token. Not said is unknown." },
	{ .name = "witnesses",
		.type = OPTION_LIST,
		.required = true,
		.help = "The ids that tell of this role, in one or several sources." },
	{ .name = NULL },
};

const struct option_def options_threshold[] = {
#define THRESHOLD(field, word, value, text) \
	{ .name = (word), .type = OPTION_DURATION, .fallback = #value "ms", .help = (text) },
#define THRESHOLD_COUNT(field, word, value, text) \
	{ .name = (word), .type = OPTION_INT, .fallback = #value, .help = (text) },
#include "model/thresholds.def"
#undef THRESHOLD
#undef THRESHOLD_COUNT
	{ .name = NULL },
};

static const struct option_def options_audit[] = {
	{ .name = "program",
		.type = OPTION_LIST,
		.help = "A program and its arguments, run without a shell for each line of the "
			"audit, which it gets on "
			"its standard input. It has 3 seconds; that it fails is told, and stops "
			"nothing." },
	{ .name = "syslog",
		.type = OPTION_BOOL,
		.fallback = "false",
		.help = "Writes each line of the audit to syslog as well, as auth.notice." },
	{ .name = NULL },
};

static const struct option_def options_console[] = {
	{ .name = "past_mb",
		.type = OPTION_INT,
		.fallback = "32",
		.help = "How many megabytes the console keeps of what it showed before, to go back "
			"to with < and >. "
			"0 keeps nothing." },
	{ .name = NULL },
};

const struct option_def options_top[] = {
	{ .name = "sources",
		.type = OPTION_NAMED,
		.fields = options_source,
		.help = "The systems to look at, by a name of your choice made of letters, digits, "
			"dot, underscore "
			"and minus. Without this key they are discovered from the environment." },
	{ .name = "names",
		.type = OPTION_MAPS,
		.fields = options_name,
		.help = "Names for PostgreSQL keys." },
	{ .name = "roles",
		.type = OPTION_NAMED,
		.fields = options_role,
		.help = "Jobs that only one process should do, by name, and which ids witness "
			"them." },
	{ .name = "thresholds",
		.type = OPTION_MAP,
		.fields = options_threshold,
		.help = "What findings are measured against." },
	{ .name = "read_only",
		.type = OPTION_BOOL,
		.fallback = "false",
		.help = "Forbids every act, whatever the command line says." },
	{ .name = "audit",
		.type = OPTION_MAP,
		.fields = options_audit,
		.help = "A second copy of the audit, beside audit.jsonl in the state folder." },
	{ .name = "theme",
		.type = OPTION_TEXT,
		.help = "The console's theme. By default fitted to the terminal." },
	{ .name = "console",
		.type = OPTION_MAP,
		.fields = options_console,
		.help = "The console." },
	{ .name = NULL },
};

const char *options_shown(char *buf, const char *text)
{
	return text_shown(buf, OPTIONS_SHOWN_MAX, text);
}

int options_fail(
	const struct options_check *check, const struct yaml_node *node, const char *fmt, ...)
{
	char text[ERR_TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return err_set(check->err, ERR_CONFIG, "%s:%d:%d: %s", check->file, node->line,
		node->column, text);
}

const char *option_type_text(const struct option_def *def)
{
	static const char *const texts[] = {
		[OPTION_TEXT] = "a text",
		[OPTION_SECRET] = "a text",
		[OPTION_PATH] = "a path",
		[OPTION_INT] = "a whole number",
		[OPTION_BOOL] = "true or false",
		[OPTION_DURATION] = "a duration such as 500ms, 10s or 5m",
		[OPTION_WORD] = "a word",
		[OPTION_LIST] = "a text or a list of texts",
		[OPTION_MAPS] = "a list of maps",
		[OPTION_MAP] = "a map",
		[OPTION_NAMED] = "a map",
		[OPTION_RECIPE] = "a text, or a map such as {hashtext: a-text}",
	};

	return texts[def->type];
}

void option_fallback_text(const struct option_def *def, struct str *out)
{
	static const struct {
		const char *unit;
		int64_t ms;
	} units[] = { { "d", 86400000 }, { "h", 3600000 }, { "m", 60000 }, { "s", 1000 } };
	int64_t ms;
	size_t i;

	if (!def->fallback)
		return;
	if (def->type != OPTION_DURATION || !yaml_duration_text_ms(def->fallback, &ms)) {
		str_add(out, def->fallback);
		return;
	}
	for (i = 0; i < ARRAY_LEN(units); i++) {
		if (ms == 0 || ms % units[i].ms)
			continue;
		str_addf(out, "%lld%s", (long long)(ms / units[i].ms), units[i].unit);
		return;
	}
	str_addf(out, "%lldms", (long long)ms);
}

static const struct option_def *option_find(const struct option_def *table, const char *name)
{
	for (; table && table->name; table++)
		if (strcmp(table->name, name) == 0)
			return table;
	return NULL;
}

static void option_offer(struct nearest *nearest, const struct option_def *table)
{
	for (; table && table->name; table++)
		nearest_offer(nearest, table->name);
}

static void option_list_names(const struct option_def *table, struct str *out)
{
	for (; table && table->name; table++)
		str_addf(out, "%s%s", out->len ? ", " : "", table->name);
}

static int option_unknown(const struct options_check *check, const struct yaml_node *key,
	const char *what, const struct option_def *table, const struct option_def *more)
{
	char shown[OPTIONS_SHOWN_MAX];
	struct nearest nearest;
	struct str help;
	int rc;

	str_init(&help, 512);
	nearest_init(&nearest, key->text);
	option_offer(&nearest, table);
	option_offer(&nearest, more);
	nearest_tell(&nearest, 1, &help);
	if (!nearest.n) {
		struct str names;

		str_init(&names, 400);
		option_list_names(table, &names);
		option_list_names(more, &names);
		str_addf(&help, "; known here: %s", names.s);
		str_release(&names);
	}
	rc = options_fail(check, key, "unknown key '%s' in %s%s", options_shown(shown, key->text),
		what, help.s);
	str_release(&help);
	return rc;
}

static int option_wrong(const struct options_check *check, const struct option_def *def,
	const struct yaml_node *node)
{
	char shown[OPTIONS_SHOWN_MAX];

	if (node->kind != YAML_SCALAR)
		return options_fail(check, node, "'%s' must be %s, not a %s", def->name,
			option_type_text(def), node->kind == YAML_LIST ? "list" : "map");
	return options_fail(check, node, "'%s' must be %s, not '%s'", def->name,
		option_type_text(def), options_shown(shown, node->text));
}

static int option_check_word(const struct options_check *check, const struct option_def *def,
	const struct yaml_node *node)
{
	char shown[OPTIONS_SHOWN_MAX];
	char *words = xstrdup(def->words), *word, *rest = words;
	struct nearest nearest;
	struct str help;
	int rc = 0;

	str_init(&help, 256);
	nearest_init(&nearest, node->text);
	while ((word = strsep(&rest, "|")) && strcmp(word, node->text) != 0)
		nearest_offer(&nearest, word);
	if (!word) {
		nearest_tell(&nearest, 1, &help);
		rc = options_fail(check, node, "'%s' must be one of %s, not '%s'%s", def->name,
			def->words, options_shown(shown, node->text), help.s);
	}
	str_release(&help);
	free(words);
	return rc;
}

static void option_replace_text(struct yaml_node *node, char *text)
{
	free(node->text);
	node->text = text;
}

/* "~/x" and paths relative to the config's folder become absolute. */
static void option_resolve_path(const struct options_check *check, struct yaml_node *node)
{
	const char *home = getenv("HOME");
	struct str path;

	str_init(&path, 8192);
	if (str_starts(node->text, "~/") && home)
		str_addf(&path, "%s%s", home, node->text + 1);
	else if (node->text[0] && node->text[0] != '/' && check->folder)
		str_addf(&path, "%s/%s", check->folder, node->text);
	if (path.len && !path.full)
		option_replace_text(node, str_take(&path));
	str_release(&path);
}

static int option_check_list(const struct options_check *check, const struct option_def *def,
	const struct yaml_node *node)
{
	size_t i;

	if (node->kind == YAML_SCALAR)
		return 0;
	if (node->kind != YAML_LIST)
		return option_wrong(check, def, node);
	/* An empty list would mean the fallback, which is not what it says. */
	if (!node->n && def->fallback)
		return options_fail(check, node,
			"'%s' is an empty list: name at least one, or leave '%s' out for %s",
			def->name, def->name, def->fallback);
	for (i = 0; i < node->n; i++)
		if (node->items[i]->kind != YAML_SCALAR || yaml_is_null(node->items[i]))
			return options_fail(check, node->items[i],
				"each item of '%s' must be a text", def->name);
	return 0;
}

static int option_check_maps(
	const struct options_check *check, const struct option_def *def, struct yaml_node *node)
{
	char what[96];
	size_t i;
	int rc;

	if (node->kind != YAML_LIST)
		return option_wrong(check, def, node);
	for (i = 0; i < node->n; i++) {
		snprintf(what, sizeof(what), "item %zu of '%.60s'", i + 1, def->name);
		rc = options_check_map(check, node->items[i], what, def->fields, NULL);
		if (rc)
			return rc;
	}
	return 0;
}

static int option_check_recipe(
	const struct options_check *check, const struct option_def *def, struct yaml_node *node)
{
	if (node->kind == YAML_SCALAR)
		return 0;
	if (node->kind != YAML_MAP)
		return option_wrong(check, def, node);
	if (node->n != 1)
		return options_fail(check, node, "'%s' must say one way to make it, not %zu",
			def->name, node->n);
	return options_check_map(check, node, "a key", def->fields, NULL);
}

static int option_check_scalar(
	const struct options_check *check, const struct option_def *def, struct yaml_node *node)
{
	int64_t number;
	bool yes, fits = true;

	if (node->kind != YAML_SCALAR)
		return option_wrong(check, def, node);
	if (def->type == OPTION_INT)
		fits = yaml_int(node, &number);
	else if (def->type == OPTION_BOOL)
		fits = yaml_bool(node, &yes);
	else if (def->type == OPTION_DURATION)
		fits = yaml_duration_ms(node, &number);
	else if (def->type == OPTION_WORD)
		return option_check_word(check, def, node);
	else if (def->type == OPTION_PATH)
		option_resolve_path(check, node);
	return fits ? 0 : option_wrong(check, def, node);
}

static int option_check(
	const struct options_check *check, const struct option_def *def, struct yaml_node *node)
{
	char what[64];

	switch (def->type) {
	case OPTION_LIST:
		return option_check_list(check, def, node);
	case OPTION_MAPS:
		return option_check_maps(check, def, node);
	case OPTION_MAP:
		snprintf(what, sizeof(what), "'%.50s'", def->name);
		return options_check_map(check, node, what, def->fields, NULL);
	case OPTION_NAMED:
		/* The items are the settings' to check: what they may hold can depend on them. */
		return node->kind == YAML_MAP ? 0 : option_wrong(check, def, node);
	case OPTION_RECIPE:
		return option_check_recipe(check, def, node);
	default:
		return option_check_scalar(check, def, node);
	}
}

static int option_check_required(const struct options_check *check, const struct yaml_node *map,
	const char *what, const struct option_def *table)
{
	const struct yaml_node *node;

	for (; table && table->name; table++) {
		if (!table->required)
			continue;
		node = yaml_get(map, table->name);
		if (!node || yaml_is_null(node))
			return options_fail(
				check, map, "%s has no '%s': %s", what, table->name, table->help);
	}
	return 0;
}

int options_check_map(const struct options_check *check, struct yaml_node *map, const char *what,
	const struct option_def *table, const struct option_def *more)
{
	size_t i;
	int rc;

	if (yaml_is_null(map) && map->kind == YAML_SCALAR)
		return option_check_required(check, map, what, table);
	if (map->kind != YAML_MAP)
		return options_fail(check, map, "%s must be a map of keys and values", what);
	for (i = 0; i < map->n; i++) {
		const struct option_def *def = option_find(table, map->keys[i]->text);

		if (!def)
			def = option_find(more, map->keys[i]->text);
		if (!def)
			return option_unknown(check, map->keys[i], what, table, more);
		if (yaml_is_null(map->items[i]))
			continue;
		rc = option_check(check, def, map->items[i]);
		if (rc)
			return rc;
	}
	rc = option_check_required(check, map, what, table);
	return rc ? rc : option_check_required(check, map, what, more);
}
