#include "config.h"

#include "control/settings.h"
#include "control/settings-inside.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/str.h"
#include "base/text.h"
#include "control/discovery.h"
#include "control/options.h"
#include "io/yaml.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	SETTINGS_FILE_MAX = 1024 * 1024,
	SETTINGS_NAME_MAX = 64,
	SETTINGS_SOURCES_MAX = 256,
	SETTINGS_PAST_MOST = 4096, /* megabytes */
};

/* Everything that was allocated and that the settings' const pointers point into. */
struct settings_store {
	struct yaml_node *root;
	bool borrowed;                          /* root is somebody else's */
	struct yaml_node *found[DISCOVERY_MAX]; /* options of discovered sources */
	void **owned;
	size_t n, cap;
};

void *settings_own(struct settings *s, void *p)
{
	struct settings_store *store = s->store;

	MEM_GROW(store->owned, store->n, store->cap);
	store->owned[store->n++] = p;
	return p;
}

void settings_free(struct settings *s)
{
	size_t i;

	if (!s)
		return;
	if (!s->store->borrowed)
		yaml_node_free(s->store->root);
	for (i = 0; i < DISCOVERY_MAX; i++)
		yaml_node_free(s->store->found[i]);
	for (i = 0; i < s->store->n; i++)
		free(s->store->owned[i]);
	free(s->store->owned);
	free(s->store);
	free(s->sources);
	free(s->roles);
	free(s->path);
	free(s->note);
	free(s->looked_for);
	free(s);
}

/* A text of the config, or NULL where the key is absent or left empty. */
static const char *node_text(const struct yaml_node *map, const char *key)
{
	const struct yaml_node *node = yaml_get(map, key);

	return node && node->kind == YAML_SCALAR && !yaml_is_null(node) ? node->text : NULL;
}

static bool node_bool(const struct yaml_node *map, const char *key)
{
	bool yes = false;

	yaml_bool(yaml_get(map, key), &yes);
	return yes;
}

static enum tristate node_tristate(const struct yaml_node *map, const char *key)
{
	bool yes;

	if (!yaml_bool(yaml_get(map, key), &yes))
		return TRI_UNKNOWN;
	return yes ? TRI_YES : TRI_NO;
}

static struct yaml_node *node_section(const struct yaml_node *root, const char *key)
{
	/* The tree is the settings' own: they may rewrite it. */
	struct yaml_node *node = (struct yaml_node *)(uintptr_t)yaml_get(root, key);

	return node && !yaml_is_null(node) ? node : NULL;
}

int settings_check_name(
	const struct options_check *check, const struct yaml_node *key, const char *what)
{
	static const char allowed[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
	char shown[OPTIONS_SHOWN_MAX];
	size_t len = strlen(key->text);

	if (!len || key->text[strspn(key->text, allowed)] || len > SETTINGS_NAME_MAX)
		return options_fail(check, key,
			"the %s name '%s' must be 1 to %d letters, digits, dots, underscores or "
			"minuses",
			what, options_shown(shown, key->text), SETTINGS_NAME_MAX);
	return 0;
}

static int check_range(const struct options_check *check, const struct yaml_node *map,
	const char *key, int64_t least_ms, int64_t most_ms, int64_t *ret_ms)
{
	const struct yaml_node *node = yaml_get(map, key);

	if (!node || yaml_is_null(node))
		return 0;
	yaml_duration_ms(node, ret_ms);
	if (*ret_ms >= least_ms && *ret_ms <= most_ms)
		return 0;
	return options_fail(check, node, "'%s' must be %" PRId64 "ms to %" PRId64 "s", key,
		least_ms, most_ms / 1000);
}

/* Names every kind that there is, or the nearest one. */
static int check_kind(const struct options_check *check, const struct yaml_node *source,
	const char *what, const struct source_ops **ret)
{
	const char *kind = node_text(source, "kind");
	char shown[OPTIONS_SHOWN_MAX];
	struct nearest nearest;
	struct str known;
	size_t i;
	int rc;

	*ret = kind ? source_kind(kind) : NULL;
	if (*ret)
		return 0;
	str_init(&known, 400);
	nearest_init(&nearest, kind ? kind : "");
	for (i = 0; source_kinds[i]; i++) {
		str_addf(&known, "%s%s", i ? ", " : "", source_kinds[i]->kind);
		nearest_offer(&nearest, source_kinds[i]->kind);
	}
	nearest_tell(&nearest, 1, &known);
	if (kind)
		rc = options_fail(check, yaml_get(source, "kind"),
			"unknown kind '%s' in %s; known kinds: %s", options_shown(shown, kind),
			what, known.s);
	else
		rc = options_fail(
			check, source, "%s has no 'kind'; known kinds: %s", what, known.s);
	str_release(&known);
	return rc;
}

/* A text that is shown as it is, as plain text; NULL stays. An id is one already. */
static const char *own_plain(struct settings *s, const char *text)
{
	struct str clean;
	const char *plain = text_make_plain(&clean, text, SIZE_MAX);

	return plain == text ? text : settings_own(s, str_take(&clean));
}

static int read_source(const struct options_check *check, struct settings *s,
	const struct yaml_node *key, struct yaml_node *node)
{
	struct source_config *config = &s->sources[s->n_sources];
	char what[SETTINGS_NAME_MAX + 16];
	int rc;

	rc = settings_check_name(check, key, "source");
	if (rc)
		return rc;
	if (strcmp(key->text, "role") == 0)
		return options_fail(check, key,
			"a source can't be called 'role': ids that begin so are the roles'");
	snprintf(what, sizeof(what), "source '%s'", key->text);
	if (node->kind != YAML_MAP)
		return options_fail(check, node, "%s must be a map of keys and values", what);
	*config = (struct source_config){ .name = key->text, .options = node };
	rc = check_kind(check, node, what, &config->ops);
	if (!rc)
		rc = options_check_map(check, node, what, options_source, config->ops->options);
	if (rc)
		return rc;
	config->environment = own_plain(s, node_text(node, "environment"));
	config->protect = node_bool(node, "protect");
	config->interval_ms = config->ops->interval_ms;
	config->timeout_ms = OPTIONS_TIMEOUT_DEFAULT_MS;
	rc = check_range(check, node, "interval", OPTIONS_INTERVAL_MIN_MS, OPTIONS_INTERVAL_MAX_MS,
		&config->interval_ms);
	if (!rc)
		rc = check_range(check, node, "timeout", OPTIONS_TIMEOUT_MIN_MS,
			OPTIONS_TIMEOUT_MAX_MS, &config->timeout_ms);
	if (!rc)
		s->n_sources++;
	return rc;
}

static int read_sources(const struct options_check *check, struct settings *s)
{
	struct yaml_node *sources = node_section(s->store->root, "sources");
	size_t i;
	int rc = 0;

	if (!sources)
		return 0;
	if (sources->n > SETTINGS_SOURCES_MAX)
		return options_fail(check, sources, "more than %d sources", SETTINGS_SOURCES_MAX);
	s->sources = xcalloc(sources->n + 1, sizeof(*s->sources));
	for (i = 0; i < sources->n && !rc; i++)
		rc = read_source(check, s, sources->keys[i], sources->items[i]);
	return rc;
}

static struct source_config *find_source(const struct settings *s, const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < s->n_sources; i++)
		if (strlen(s->sources[i].name) == len && memcmp(s->sources[i].name, name, len) == 0)
			return &s->sources[i];
	return NULL;
}

static int no_such_source(const struct options_check *check, const struct settings *s,
	const struct yaml_node *node, const char *name)
{
	char shown[OPTIONS_SHOWN_MAX];
	struct nearest nearest;
	struct str help;
	size_t i;
	int rc;

	str_init(&help, 512);
	nearest_init(&nearest, name);
	for (i = 0; i < s->n_sources; i++)
		nearest_offer(&nearest, s->sources[i].name);
	nearest_tell(&nearest, 1, &help);
	rc = options_fail(
		check, node, "no source is called '%s'%s", options_shown(shown, name), help.s);
	str_release(&help);
	return rc;
}

static int read_pair(const struct options_check *check, struct settings *s,
	const struct yaml_node *node, struct key_name *name)
{
	int64_t a, b;
	struct str text;

	if (node->kind != YAML_LIST || node->n != 2 || !yaml_int(node->items[0], &a) ||
		!yaml_int(node->items[1], &b) || a < INT32_MIN || a > INT32_MAX || b < INT32_MIN ||
		b > INT32_MAX)
		return options_fail(
			check, node, "'pair' must be two signed 32-bit numbers: [7, -9]");
	str_init(&text, 64);
	str_addf(&text, "%" PRId64 ",%" PRId64, a, b);
	name->value = settings_own(s, str_take(&text));
	return 0;
}

static int read_recipe(const struct options_check *check, struct settings *s,
	const struct yaml_node *node, struct key_name *name)
{
	const struct yaml_node *value;
	struct str text;
	int64_t number;

	name->recipe = "literal";
	name->value = node->text;
	if (node->kind == YAML_SCALAR)
		return 0;
	value = node->items[0];
	if (yaml_is_null(value))
		return options_fail(check, node->keys[0], "'%s' says nothing", node->keys[0]->text);
	name->recipe = node->keys[0]->text;
	name->value = value->text;
	if (strcmp(name->recipe, "pair") == 0)
		return read_pair(check, s, value, name);
	if (strcmp(name->recipe, "bigint") != 0)
		return 0;
	yaml_int(value, &number);
	str_init(&text, 64);
	str_addf(&text, "%" PRId64, number);
	name->value = settings_own(s, str_take(&text));
	return 0;
}

/* The names of one source, in an array of its own. */
static int read_names_of(const struct options_check *check, struct settings *s,
	const struct yaml_node *names, struct source_config *config)
{
	struct key_name *list = settings_own(s, xcalloc(names->n, sizeof(*list)));
	size_t i, n = 0;
	int rc = 0;

	for (i = 0; i < names->n && !rc; i++) {
		const struct yaml_node *item = names->items[i];
		struct str shown;

		if (strcmp(node_text(item, "source"), config->name) != 0)
			continue;
		list[n].database = node_text(item, "database");
		str_init(&shown, 4096);
		text_escape_cut(
			&shown, node_text(item, "name"), strlen(node_text(item, "name")), 256);
		list[n].name = settings_own(s, str_take(&shown));
		rc = read_recipe(check, s, yaml_get(item, "key"), &list[n]);
		n++;
	}
	config->names = list;
	config->n_names = n;
	return rc;
}

static int read_names(const struct options_check *check, struct settings *s)
{
	const struct yaml_node *names = node_section(s->store->root, "names");
	size_t i;
	int rc = 0;

	if (!names)
		return 0;
	for (i = 0; i < names->n; i++) {
		const char *source = node_text(names->items[i], "source");

		if (!find_source(s, source, strlen(source)))
			return no_such_source(
				check, s, yaml_get(names->items[i], "source"), source);
	}
	for (i = 0; i < s->n_sources && !rc; i++)
		rc = read_names_of(check, s, names, &s->sources[i]);
	return rc;
}

static int read_witness(const struct options_check *check, struct settings *s,
	const struct yaml_node *node, const char **ret)
{
	const char *slash = strchr(node->text, '/');
	char shown[OPTIONS_SHOWN_MAX];
	char *name;
	int rc;

	*ret = own_plain(s, node->text);
	if (!slash || slash == node->text || !slash[1])
		return options_fail(check, node,
			"the witness '%s' is no id: ids are SOURCE/PATH, as baton list shows them",
			options_shown(shown, node->text));
	if (find_source(s, node->text, (size_t)(slash - node->text)))
		return 0;
	name = xstrndup(node->text, (size_t)(slash - node->text));
	rc = no_such_source(check, s, node, name);
	free(name);
	return rc;
}

static int read_role(const struct options_check *check, struct settings *s,
	const struct yaml_node *key, struct yaml_node *node)
{
	struct role *role = &s->roles[s->n_roles];
	const struct yaml_node *witnesses;
	const char **ids;
	char what[SETTINGS_NAME_MAX + 16];
	size_t i;
	int rc;

	rc = settings_check_name(check, key, "role");
	if (rc)
		return rc;
	snprintf(what, sizeof(what), "role '%s'", key->text);
	rc = options_check_map(check, node, what, options_role, NULL);
	if (rc)
		return rc;
	witnesses = yaml_get(node, "witnesses");
	*role = (struct role){ .name = key->text,
		.idempotent = node_tristate(node, "idempotent"),
		.fenced = node_tristate(node, "fenced"),
		.n_witnesses = witnesses->kind == YAML_LIST ? witnesses->n : 1 };
	if (node_text(node, "harm"))
		role->harm = (enum harm)harm_from_word(node_text(node, "harm"));
	if (!role->n_witnesses)
		return options_fail(check, witnesses, "%s has no witness", what);
	ids = settings_own(s, xcalloc(role->n_witnesses, sizeof(*ids)));
	role->witnesses = ids;
	for (i = 0; i < role->n_witnesses && !rc; i++)
		rc = read_witness(check, s,
			witnesses->kind == YAML_LIST ? witnesses->items[i] : witnesses, &ids[i]);
	if (!rc)
		s->n_roles++;
	return rc;
}

static int read_roles(const struct options_check *check, struct settings *s)
{
	struct yaml_node *roles = node_section(s->store->root, "roles");
	size_t i;
	int rc = 0;

	if (!roles)
		return 0;
	s->roles = xcalloc(roles->n + 1, sizeof(*s->roles));
	for (i = 0; i < roles->n && !rc; i++)
		rc = read_role(check, s, roles->keys[i], roles->items[i]);
	return rc;
}

static int read_count(const struct options_check *check, const struct yaml_node *map,
	const char *key, int64_t *ret)
{
	const struct yaml_node *node = yaml_get(map, key);

	if (!yaml_int(node, ret) || *ret >= 1)
		return 0;
	return options_fail(check, node, "'%s' must be at least 1", key);
}

static int read_thresholds(const struct options_check *check, struct settings *s)
{
	const struct yaml_node *map = node_section(s->store->root, "thresholds");
	struct thresholds *t = &s->thresholds;
	int rc = 0;

#define THRESHOLD(field, word, value, help) yaml_duration_ms(yaml_get(map, word), &t->field);
#define THRESHOLD_COUNT(field, word, value, help) \
	if (!rc)                                  \
		rc = read_count(check, map, word, &t->field);
#include "model/thresholds.def"
#undef THRESHOLD
#undef THRESHOLD_COUNT
	return rc;
}

static int read_audit(const struct options_check *check, struct settings *s)
{
	const struct yaml_node *map = node_section(s->store->root, "audit");
	const struct yaml_node *program = map ? yaml_get(map, "program") : NULL;
	const char **argv;
	size_t n, i;

	s->audit_syslog = map && node_bool(map, "syslog");
	if (!program || yaml_is_null(program))
		return 0;
	n = program->kind == YAML_LIST ? program->n : 1;
	if (!n)
		return options_fail(check, program, "'program' names no program");
	argv = settings_own(s, xcalloc(n + 1, sizeof(*argv)));
	for (i = 0; i < n; i++)
		argv[i] = program->kind == YAML_LIST ? program->items[i]->text : program->text;
	s->audit_program = argv;
	return 0;
}

static int read_console(const struct options_check *check, struct settings *s)
{
	const struct yaml_node *map = node_section(s->store->root, "console");
	const struct yaml_node *node = map ? yaml_get(map, "past_mb") : NULL;

	if (!yaml_int(node, &s->past_mb))
		return 0;
	if (s->past_mb < 0 || s->past_mb > SETTINGS_PAST_MOST)
		return options_fail(check, node, "'past_mb' must be 0 to %d", SETTINGS_PAST_MOST);
	if (!s->past_mb)
		s->past_mb = PAST_NOTHING;
	return 0;
}

size_t settings_past_bytes(const struct settings *settings)
{
	if (settings->past_mb == PAST_NOTHING)
		return 0;
	return (size_t)(settings->past_mb ? settings->past_mb : SETTINGS_PAST_MB) * 1024 * 1024;
}

static void discover(struct settings *s)
{
	struct discovered found[DISCOVERY_MAX];
	size_t n = discovery_look(found), i;

	s->discovered = true;
	s->sources = xcalloc(DISCOVERY_MAX, sizeof(*s->sources));
	for (i = 0; i < n; i++) {
		s->store->found[i] = found[i].options;
		s->sources[i] = (struct source_config){ .ops = found[i].ops,
			.name = settings_own(s, found[i].name),
			.interval_ms = found[i].ops->interval_ms,
			.timeout_ms = OPTIONS_TIMEOUT_DEFAULT_MS,
			.options = found[i].options };
	}
	s->n_sources = n;
	s->note = discovery_note();
}

/* What may stand beside the sources, whoever names those. */
static int read_beside(const struct options_check *check, struct settings *s)
{
	int rc = read_names(check, s);

	if (!rc)
		rc = read_roles(check, s);
	return rc ? rc : read_thresholds(check, s);
}

int settings_of_sources(const struct options_check *check, struct yaml_node *root,
	struct source_config *sources, size_t n, struct settings **ret)
{
	struct settings *s = xcalloc(1, sizeof(*s));
	int rc;

	s->store = xcalloc(1, sizeof(*s->store));
	s->store->root = root;
	s->store->borrowed = true;
	s->thresholds = thresholds_default();
	s->sources = sources;
	s->n_sources = n;
	s->sim = true;
	rc = read_beside(check, s);
	if (rc)
		settings_free(s);
	else
		*ret = s;
	return rc;
}

/* Takes the tree apart, once it is checked from the top. */
static int read_tree(const struct options_check *check, struct settings *s)
{
	int rc = options_check_map(check, s->store->root, "the config", options_top, NULL);

	if (!rc)
		rc = read_sources(check, s);
	if (!rc && !node_section(s->store->root, "sources"))
		discover(s);
	if (!rc)
		rc = read_beside(check, s);
	if (!rc)
		rc = read_audit(check, s);
	if (!rc)
		rc = read_console(check, s);
	s->read_only = node_bool(s->store->root, "read_only");
	s->theme = node_text(s->store->root, "theme");
	return rc;
}

/* The text of the config. ERR_NOTFOUND passes through, for the default path; all else is
 * ERR_CONFIG. */
static int read_file(const char *path, struct str *text, struct err *err)
{
	int rc = fs_read(path, text, err);

	if (rc == 0 || rc == ERR_NOTFOUND)
		return rc;
	if (rc == ERR_LIMIT)
		return err_set(err, ERR_CONFIG, "%s is larger than 1 MB: no config of ours", path);
	if (err)
		err->code = ERR_CONFIG;
	return ERR_CONFIG;
}

static int read_config(struct settings *s, const char *path, struct err *err)
{
	const char *slash = strrchr(path, '/');
	char *folder = slash ? xstrndup(path, slash == path ? 1 : (size_t)(slash - path)) : NULL;
	struct options_check check = { .file = path, .folder = folder, .err = err };
	struct str text;
	int rc;

	str_init(&text, SETTINGS_FILE_MAX);
	rc = read_file(path, &text, err);
	if (!rc)
		rc = yaml_parse(text.s, text.len, path, &s->store->root, err);
	if (!rc)
		s->path = xstrdup(path);
	if (!rc && s->store->root->kind != YAML_MAP)
		rc = options_fail(
			&check, s->store->root, "the config must be a map of keys and values");
	if (!rc)
		rc = read_tree(&check, s);
	str_release(&text);
	free(folder);
	return rc;
}

char *settings_default_path(void)
{
	char *folder = NULL;
	struct str path;

	if (fs_config_dir(&folder, NULL))
		return NULL;
	str_init(&path, 8192);
	str_addf(&path, "%s/config.yaml", folder);
	free(folder);
	return str_take(&path);
}

/* Reads the file that was named, or the default one where it is there, or discovers. */
static int settings_fill(
	struct settings *s, const char *path, const char *standard, struct err *err)
{
	struct err why = { 0 };
	int rc;

	if (!path && getenv("BATON_CONFIG") && getenv("BATON_CONFIG")[0])
		path = getenv("BATON_CONFIG");
	if (!path && !standard) {
		discover(s);
		return 0;
	}
	rc = read_config(s, path ? path : standard, &why);
	if (rc == ERR_NOTFOUND && !path) {
		discover(s);
		return 0;
	}
	return rc ? err_set(err, ERR_CONFIG, "%s", why.text) : 0;
}

static void settings_explain(struct settings *s, const char *standard)
{
	struct str text;

	if (s->n_sources)
		return;
	str_init(&text, 8192);
	discovery_explain(s->path ? s->path : standard, s->path != NULL, &text);
	s->looked_for = str_take(&text);
}

struct settings *settings_new(void)
{
	struct settings *s = xcalloc(1, sizeof(*s));

	s->store = xcalloc(1, sizeof(*s->store));
	s->thresholds = thresholds_default();
	return s;
}

int settings_load(const char *path, int64_t timeout_ms, struct settings **ret, struct err *err)
{
	struct settings *s = settings_new();
	char *standard = settings_default_path();
	size_t i;
	int rc;

	rc = settings_fill(s, path, standard, err);
	for (i = 0; i < s->n_sources && timeout_ms > 0; i++)
		s->sources[i].timeout_ms = timeout_ms;
	if (rc) {
		settings_free(s);
	} else {
		settings_explain(s, standard);
		*ret = s;
	}
	free(standard);
	return rc;
}

static int choose_fail(const struct settings *s, const char *name, struct err *err)
{
	char shown[OPTIONS_SHOWN_MAX];
	struct str known;
	size_t i;
	int rc;

	str_init(&known, 400);
	for (i = 0; i < s->n_sources; i++)
		str_addf(&known, "%s%s", i ? ", " : "", s->sources[i].name);
	rc = err_set(err, ERR_USAGE, "no source is called '%s'; there is: %s",
		options_shown(shown, name), known.len ? known.s : "none");
	str_release(&known);
	return rc;
}

/* Roles none of whose witnesses is in a chosen source would only tell that nothing is seen of them.
 */
static void choose_roles(struct settings *s)
{
	size_t i, j, kept = 0;

	for (i = 0; i < s->n_roles; i++) {
		const struct role *role = &s->roles[i];

		for (j = 0; j < role->n_witnesses; j++)
			if (find_source(s, role->witnesses[j],
				    (size_t)(strchr(role->witnesses[j], '/') - role->witnesses[j])))
				break;
		if (j < role->n_witnesses)
			s->roles[kept++] = *role;
	}
	s->n_roles = kept;
}

int settings_choose(struct settings *s, const char *const *names, size_t n, struct err *err)
{
	size_t i, j, kept = 0;

	for (i = 0; i < n; i++)
		if (!find_source(s, names[i], strlen(names[i])))
			return choose_fail(s, names[i], err);
	for (i = 0; i < s->n_sources; i++) {
		for (j = 0; j < n && strcmp(names[j], s->sources[i].name) != 0; j++)
			;
		if (j < n)
			s->sources[kept++] = s->sources[i];
	}
	s->n_sources = kept;
	choose_roles(s);
	return 0;
}
