#include "config.h"

#include "base/mem.h"
#include "base/str.h"
#include "io/yaml.h"
#include "source/act.h"
#include "source/sim-postgres.h"

#include <stdlib.h>
#include <string.h>

/* A simulated PostgreSQL on the screen: polls and acts are those of the kind "postgres". */

static const struct option_def view_option_defs[] = {
	{ "databases", OPTION_LIST, NULL, "Only locks of these databases; all by default.", NULL,
		NULL, false },
	{ "poolers", OPTION_LIST, NULL, "Addresses of connection poolers, as the server sees them.",
		NULL, NULL, false },
	{ "rows", OPTION_INT, "20000", "The most lock rows that are read in one poll.", NULL, NULL,
		false },
	{ "query_text", OPTION_BOOL, "true", "Whether the sessions' queries are shown.", NULL, NULL,
		false },
	{ "step_down_channel", OPTION_TEXT, NULL,
		"The channel on which holders LISTEN to be asked to step down.", NULL, NULL,
		false },
	{ 0 },
};

/* What a config would say of the real kind: the channel, which is the server's. */
static int view_options(struct simpg_view *view, struct err *err)
{
	struct str text;
	int rc;

	str_init(&text, 256);
	if (*view->server->channel)
		str_addf(&text, "step_down_channel: \"%s\"\n", view->server->channel);
	rc = yaml_parse(text.len ? text.s : "", text.len, "options", &view->options, err);
	str_release(&text);
	view->config.options = view->options;
	return rc;
}

static void view_close(struct sim_source *s)
{
	struct simpg_view *view = s->own;

	if (view) {
		postgres_release(&view->postgres);
		yaml_node_free(view->options);
		pg_spare_free(view->spare);
	}
	free(view);
	s->own = NULL;
}

/* The view's own state, made when it is first needed. */
static int view_open(struct sim_source *s, struct simpg_view **ret_view, struct err *err)
{
	struct simpg_view *view = s->own;
	int rc = 0;

	if (!view) {
		view = xcalloc(1, sizeof(*view));
		s->own = view;
		view->server = (struct simpg_server *)s->thing;
		view->config = *s->config;
		rc = view_options(view, err);
		if (!rc)
			rc = postgres_init(&view->postgres, &view->config, err);
		view->postgres.connect = simpg_link_open;
		view->postgres.connect_arg = view;
	}
	if (rc) {
		view_close(s);
		return rc;
	}
	view->world = s->world;
	*ret_view = view;
	return rc;
}

static int view_tell(struct sim_source *s, struct round *r, struct err *err)
{
	struct simpg_view *view;
	int rc = view_open(s, &view, err);

	return rc ? rc : postgres_poll(&view->postgres, r, err);
}

/* What comes between two polls is seen at once where a lock is concerned; the rest with the next
 * poll, as of a real server. */
static uint64_t view_version(const struct world *w, const struct thing *t)
{
	(void)w;
	return ((const struct simpg_server *)t)->shape;
}

static struct process *view_behind(
	struct sim_source *s, const struct singleton *row, const char *key)
{
	const struct simpg_server *server = (const struct simpg_server *)s->thing;
	const struct simpg_session *session;
	char *end;
	long pid = strtol(key, &end, 10);

	(void)row;
	if (end == key || *end != '@')
		return NULL;
	session = simpg_session(server, (int)pid);
	if (!session || session->start_us != strtoll(end + 1, NULL, 10))
		return NULL;
	return session->process;
}

static int view_examine(void *state, struct round *r, struct report *report, struct err *err)
{
	struct sim_source *s = sim_enter(state);
	struct simpg_view *view;
	int rc = view_open(s, &view, err);

	if (!rc)
		rc = postgres_examine(&view->postgres, r, report, err);
	sim_leave(s);
	return rc;
}

/* ---- acts ---- */

static const struct act_case *case_of(const struct order *order)
{
	size_t i;

	for (i = 0; i + 1 < POSTGRES_ACTS; i++)
		if (postgres_acts[i].verb == order->verb)
			break;
	return &postgres_acts[i];
}

static int act_plan(
	void *state, struct round *r, const struct order *order, struct plan *plan, struct err *err)
{
	struct sim_source *s = sim_enter(state);
	struct simpg_view *view;
	int rc = view_open(s, &view, err);

	if (!rc)
		rc = case_of(order)->plan(&view->postgres, r, order, plan, err);
	sim_leave(s);
	return rc;
}

static int act_send(void *state, struct round *r, const struct order *order,
	const struct plan *plan, struct effect *effect, struct err *err)
{
	struct sim_source *s = sim_enter(state);
	struct simpg_view *view;
	int rc = view_open(s, &view, err);

	if (!rc)
		rc = case_of(order)->send(&view->postgres, r, order, plan, effect, err);
	if (!rc && effect->kind == EFFECT_DONE)
		sim_acted(s, order, "%s %s %s: %s", verb_word(order->verb)->word, order->s->id,
			order->key, effect->answer.s);
	sim_leave(s);
	return rc;
}

static int act_look(void *state, struct round *r, const struct order *order,
	const struct plan *plan, struct sight *sight, struct err *err)
{
	struct sim_source *s = sim_enter(state);
	struct simpg_view *view;
	int rc = view_open(s, &view, err);

	if (!rc)
		rc = case_of(order)->look(&view->postgres, r, order, plan, sight, err);
	sim_leave(s);
	return rc;
}

static const struct act_case view_acts[] = {
#define ACT(id, asks, compares, takes)                                                             \
	ACT_CASE(MECH_PG_ADVISORY, VERB_##id, asks, compares, takes, act_plan, act_send, act_look, \
		NULL),
#include "source/postgres-acts.def"
#undef ACT
};

const struct sim_view simpg_views[] = {
	{ .source = { SIM_SOURCE("postgres", "advisory locks of a simulated PostgreSQL"),
		  .options = view_option_defs, .examine = view_examine, .acts = view_acts,
		  .n_acts = ARRAY_LEN(view_acts) },
		.ops = &simpg_ops,
		.tell = view_tell,
		.version = view_version,
		.behind = view_behind,
		.close = view_close },
	{ .ops = NULL },
};
