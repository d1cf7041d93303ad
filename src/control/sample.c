#include "config.h"

#include "control/sample.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "control/discovery.h"
#include "control/options.h"
#include "io/yaml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	SAMPLE_COLUMNS = 100
};

static void sample_indent(struct str *out, size_t n)
{
	while (n--)
		str_add_char(out, ' ');
}

/* A text as comment lines. */
static void sample_comment(struct str *out, size_t indent, const char *text)
{
	size_t used = 0;

	while (*text) {
		size_t len = strcspn(text, " ");

		if (used && used + 1 + len > SAMPLE_COLUMNS - indent) {
			str_add_char(out, '\n');
			used = 0;
		}
		if (!used) {
			sample_indent(out, indent);
			str_add_char(out, '#');
			used = 1;
		}
		str_add_char(out, ' ');
		str_add_mem(out, text, len);
		used += 1 + len;
		text += len;
		text += strspn(text, " ");
	}
	str_add_char(out, '\n');
}

/* A double-quoted YAML scalar: any byte of valid UTF-8 text. */
static void sample_quoted(struct str *out, const char *text)
{
	uint32_t cp;

	str_add_char(out, '"');
	while (*text) {
		size_t n = text_decode(text, strlen(text), &cp);

		if (*text == '"' || *text == '\\')
			str_addf(out, "\\%c", *text);
		else if (n && text_cp_width(cp) < 0)
			str_addf(out, "\\U%08x", (unsigned)cp);
		else
			str_add_mem(out, text, n ? n : 1);
		text += n ? n : 1;
	}
	str_add_char(out, '"');
}

/* What stands for a value in a comment. */
static void sample_placeholder(struct str *out, const struct option_def *def)
{
	const struct option_def *field;

	if (def->type == OPTION_MAPS) {
		str_add(out, "[{");
		for (field = def->fields; field->name; field++)
			str_addf(out, "%s%s: ...", field == def->fields ? "" : ", ", field->name);
		str_add(out, "}]");
	} else if (def->fallback && def->fallback[0]) {
		option_fallback_text(def, out);
	} else if (def->type == OPTION_BOOL) {
		str_add(out, "false");
	} else if (def->type == OPTION_LIST) {
		str_add(out, "[...]");
	} else if (def->words) {
		str_add_mem(out, def->words, strcspn(def->words, "|"));
	} else {
		str_add(out, "...");
	}
}

/* One key as a comment that need only be uncommented and filled in. */
static void sample_option(struct str *out, size_t indent, const struct option_def *def)
{
	sample_comment(out, indent, def->help);
	sample_indent(out, indent);
	str_addf(out, "#%s: ", def->name);
	sample_placeholder(out, def);
	str_add_char(out, '\n');
}

/* A value that was found. Never a secret. */
static void sample_value(
	struct str *out, size_t indent, const struct option_def *def, const struct yaml_node *node)
{
	size_t i;

	sample_indent(out, indent);
	str_addf(out, "%s: ", def->name);
	if (def->type == OPTION_BOOL) {
		str_add(out, node->text);
	} else if (node->kind == YAML_LIST) {
		str_add_char(out, '[');
		for (i = 0; i < node->n; i++) {
			str_add(out, i ? ", " : "");
			sample_quoted(out, node->items[i]->text);
		}
		str_add_char(out, ']');
	} else {
		sample_quoted(out, node->text);
	}
	str_add_char(out, '\n');
}

static const struct option_def *sample_find(const struct option_def *table, const char *name)
{
	for (; table && table->name; table++)
		if (strcmp(table->name, name) == 0)
			return table;
	return NULL;
}

/* A source of a kind; options NULL or without a key: the key stands there as a comment. */
static void sample_source(struct str *out, const struct source_ops *ops, const char *name,
	const struct yaml_node *options)
{
	const struct option_def *def;

	sample_comment(out, 2, ops->summary);
	str_addf(out, "  %s:\n    kind: %s\n", name, ops->kind);
	for (def = options_source; def->name; def++)
		if (strcmp(def->name, "kind") != 0)
			sample_option(out, 4, def);
	for (def = ops->options; def && def->name; def++) {
		const struct yaml_node *node = yaml_get(options, def->name);

		if (node && def->type != OPTION_SECRET)
			sample_value(out, 4, def, node);
		else
			sample_option(out, 4, def);
	}
}

/* libpq's environment as a connection string, without the password: that has its own places. */
static char *sample_conninfo(void)
{
	static const char *const keys[][2] = { { "PGSERVICE", "service" }, { "PGHOST", "host" },
		{ "PGHOSTADDR", "hostaddr" }, { "PGPORT", "port" }, { "PGDATABASE", "dbname" },
		{ "PGUSER", "user" }, { "PGSSLMODE", "sslmode" } };
	struct str text;
	size_t i;

	str_init(&text, 65536);
	for (i = 0; i < ARRAY_LEN(keys); i++) {
		const char *value = getenv(keys[i][0]);

		if (!value || !value[0])
			continue;
		str_addf(&text, "%s%s='", text.len ? " " : "", keys[i][1]);
		for (; *value; value++) {
			if (*value == '\'' || *value == '\\')
				str_add_char(&text, '\\');
			str_add_char(&text, *value);
		}
		str_add_char(&text, '\'');
	}
	return str_take(&text);
}

/* The one file of KUBECONFIG, so that the config does not hang on the environment; several are
 * merged, which a config can't say. */
static void sample_kubeconfig(const struct discovered *found, struct yaml_node *options)
{
	const char *file = getenv("KUBECONFIG");
	char *path;

	if (!sample_find(found->ops->options, "kubeconfig") || !file || strchr(file, ':'))
		return;
	path = realpath(file, NULL);
	if (path)
		yaml_map_add(options, "kubeconfig", yaml_new(YAML_SCALAR, path));
	free(path);
}

static void sample_found(struct str *out, struct discovered *found)
{
	struct yaml_node *options = found->options ? found->options : yaml_new(YAML_MAP, NULL);
	char *conninfo;

	if (strcmp(found->ops->kind, "postgres") == 0) {
		conninfo = sample_conninfo();
		yaml_map_add(options, "conninfo", yaml_new(YAML_SCALAR, conninfo));
		free(conninfo);
	}
	if (getenv("ETCDCTL_PASSWORD") && yaml_get(options, "password") &&
		sample_find(found->ops->options, "password_env"))
		yaml_map_add(options, "password_env", yaml_new(YAML_SCALAR, "ETCDCTL_PASSWORD"));
	sample_kubeconfig(found, options);
	sample_source(out, found->ops, found->name, options);
	free(found->name);
	yaml_node_free(options);
}

/* Each line as a comment of its own. */
static void sample_as_comment(struct str *out, const char *text)
{
	while (*text) {
		size_t len = strcspn(text, "\n");

		str_add_char(out, '#');
		str_add_mem(out, text, len);
		str_add_char(out, '\n');
		text += len + (text[len] == '\n');
	}
}

static void sample_sources(struct str *out)
{
	struct discovered found[DISCOVERY_MAX];
	size_t n = discovery_look(found), i;
	struct str example;

	sample_comment(out, 0, sample_find(options_top, "sources")->help);
	if (n) {
		str_add(out, "sources:\n");
		for (i = 0; i < n; i++)
			sample_found(out, &found[i]);
		return;
	}
	str_init(&example, 1024 * 1024);
	str_add(&example, "sources:\n");
	for (i = 0; source_kinds[i]; i++)
		sample_source(&example, source_kinds[i], source_kinds[i]->kind, NULL);
	sample_as_comment(out, example.s);
	str_release(&example);
}

static void sample_section(struct str *out, const char *name, const char *example)
{
	str_add_char(out, '\n');
	sample_comment(out, 0, sample_find(options_top, name)->help);
	sample_as_comment(out, example);
}

static void sample_thresholds(struct str *out)
{
	const struct option_def *def;

	str_add_char(out, '\n');
	sample_comment(out, 0, sample_find(options_top, "thresholds")->help);
	str_add(out, "#thresholds:\n");
	for (def = options_threshold; def->name; def++) {
		str_addf(out, "#  # %s\n#  %s: ", def->help, def->name);
		option_fallback_text(def, out);
		str_add_char(out, '\n');
	}
}

void sample_write(struct str *out)
{
	str_add(out, "# What baton looks at, and how. baton-config(5) explains every key.\n"
		     "# Lines that begin with # are comments: remove the # to set a key.\n\n");
	sample_sources(out);
	sample_section(out, "names",
		"names:\n"
		"  - {source: postgres, database: app, key: {hashtext: billing-close}, name: "
		"billing-close}\n"
		"  - {source: postgres, key: {pair: [7, -9]}, name: nightly}\n");
	sample_section(out, "roles",
		"roles:\n"
		"  close-books:\n"
		"    harm: harmful\n"
		"    idempotent: false\n"
		"    fenced: false\n"
		"    witnesses: [\"postgres/app:-42\", \"etcd/elections/billing\"]\n");
	sample_thresholds(out);
	sample_section(out, "read_only", "read_only: true\n");
	sample_section(out, "audit",
		"audit:\n"
		"  program: [/usr/local/bin/keep-audit]\n"
		"  syslog: true\n");
	sample_section(out, "theme", "theme: dark\n");
}
