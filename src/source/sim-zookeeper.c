#include "config.h"

#include "source/sim-zookeeper.h"
#include "base/mem.h"

#include <string.h>

/* The built-in world's ZooKeeper: what a scenario may write of it. */

enum {
	TEXT_ROOM = 90
};

/* ---- the ensemble ---- */

static const struct option_def zk_options[] = {
	{ .name = "name", .type = OPTION_TEXT, .required = true, .help = "Its name." },
	{ .name = "servers",
		.type = OPTION_LIST,
		.help = "The machines that its servers run on; by default one of the ensemble's "
			"name. The last leads." },
	{ .name = "version",
		.type = OPTION_TEXT,
		.fallback = "3.8.4",
		.help = "The version that it tells." },
	{ .name = NULL },
};

static int make_zk(struct world *w, const struct option_values *v, struct err *err)
{
	const char *name = option_value_text(v, "name"), *machine;
	struct machine *machines[SIM_ZK_SERVERS_MOST];
	size_t n = 0;

	if (sim_check_new(w, &sim_zk_ops, v, err))
		return ERR_CONFIG;
	while ((machine = option_value_item(v, "servers", n)) != NULL) {
		if (n == SIM_ZK_SERVERS_MOST)
			return err_set(
				err, ERR_CONFIG, "more than %d servers", SIM_ZK_SERVERS_MOST);
		machines[n++] = machine_new(w, machine);
	}
	if (!n)
		machines[n++] = machine_new(w, name);
	sim_zk_new(w, name, machines, n, option_value_text(v, "version"));
	return 0;
}

static const struct sim_thing things[] = {
	{ .word = "zookeeper",
		.help = "A ZooKeeper: sessions, and ephemeral sequential znodes for elections.",
		.options = zk_options,
		.make = make_zk },
	{ .word = NULL },
};

/* ---- its clients ---- */

#define SERVER_OPTION                                                                             \
	{                                                                                         \
		.name = "server", .type = OPTION_TEXT, .required = true, .help = "The ZooKeeper." \
	}

static const struct option_def election_options[] = {
	SERVER_OPTION,
	{ .name = "path",
		.type = OPTION_TEXT,
		.required = true,
		.help = "The election's znode, such as /elections/job: candidates' znodes are "
			"below "
			"it." },
	{ .name = "data",
		.type = OPTION_TEXT,
		.help = "What its znode says; by default its identity." },
	{ .name = "duty",
		.type = OPTION_TEXT,
		.help = "What it does while it believes that it leads." },
	{ .name = "believes",
		.type = OPTION_WORD,
		.words = "connected|local|session|forever",
		.fallback = "connected",
		.help = "Until when: connected: it has lost its server, as Curator's LeaderLatch; "
			"local: its own clock says that the session's timeout is over; session: a "
			"server tells it that the session expired, which it learns only when it "
			"reaches one again; forever: it never looks." },
	{ .name = "timeout",
		.type = OPTION_DURATION,
		.fallback = "60s",
		.help = "The session's timeout that it asks for; the servers give 4s to 40s. 60s "
			"is "
			"Curator's." },
	{ .name = "again",
		.type = OPTION_DURATION,
		.fallback = "1s",
		.help = "How long after its session expired it begins another." },
	{ .name = "holds",
		.type = OPTION_DURATION,
		.fallback = "0s",
		.help = "After so long it gives it up by itself; 0s: never." },
	{ .name = "rests",
		.type = OPTION_DURATION,
		.fallback = "5s",
		.help = "How long it stays away then." },
	{ .name = "talks_to",
		.type = OPTION_TEXT,
		.help = "The server's machine that it tries first." },
	{ .name = NULL },
};

static enum sim_zk_believes believes_word(const char *word)
{
	if (str_eq(word, "local"))
		return SIM_ZK_BELIEVES_LOCAL;
	if (str_eq(word, "session"))
		return SIM_ZK_BELIEVES_SESSION;
	return str_eq(word, "forever") ? SIM_ZK_BELIEVES_FOREVER : SIM_ZK_BELIEVES_CONNECTED;
}

static int read_server(const struct sim_zk *z, const struct option_values *v, const char *option,
	int *ret, struct err *err)
{
	const char *machine = option_value_text(v, option);

	*ret = machine ? sim_zk_server(z, machine) : 0;
	if (*ret < 0)
		return err_set(err, ERR_CONFIG, "'%s': no server of %s runs on '%.100s'", option,
			z->thing.name, machine);
	return 0;
}

static int make_election(
	struct world *w, struct process *p, const struct option_values *v, struct err *err)
{
	struct sim_zk_campaign c = { .path = option_value_text(v, "path"),
		.data = option_value_text(v, "data"),
		.believes = believes_word(option_value_text(v, "believes")),
		.timeout_ms = option_value_int(v, "timeout"),
		.again_ms = option_value_int(v, "again"),
		.holds_ms = option_value_int(v, "holds"),
		.rests_ms = option_value_int(v, "rests") };
	size_t len = strlen(c.path);

	c.zk = (struct sim_zk *)sim_find(w, &sim_zk_ops, v, "server", err);
	if (!c.zk || read_server(c.zk, v, "talks_to", &c.server, err))
		return ERR_CONFIG;
	if (option_value_text(v, "duty")) {
		c.duty = (struct duty *)sim_find(w, &duty_ops, v, "duty", err);
		if (!c.duty)
			return ERR_CONFIG;
	}
	if (len < 2 || c.path[0] != '/' || c.path[len - 1] == '/')
		return err_set(
			err, ERR_CONFIG, "'path' must begin with a slash, and not end in one");
	if (len + 1 + strlen(c.data ? c.data : p->identity) > TEXT_ROOM)
		return err_set(err, ERR_CONFIG,
			"'path' and its data are too long for the built-in ZooKeeper");
	sim_zk_candidate_new(p, &c);
	return 0;
}

static const struct sim_program programs[] = {
	{ .word = "zk-election",
		.help = "A candidate of an election in ZooKeeper, by the recipe \"Leader "
			"Election\": it makes an ephemeral sequential znode, and leads when none "
			"has a lower number.",
		.options = election_options,
		.make = make_election },
	{ .word = NULL },
};

/* ---- what can break of it ---- */

static const struct option_def out_options[] = {
	SERVER_OPTION,
	{ .name = "member",
		.type = OPTION_TEXT,
		.required = true,
		.help = "The machine of one of its servers." },
	{ .name = "on", .type = OPTION_BOOL, .fallback = "true", .help = "false: it runs again." },
	{ .name = "for",
		.type = OPTION_DURATION,
		.help = "How long; by default until it is mended by another." },
	{ .name = NULL },
};

static const struct option_def put_options[] = {
	SERVER_OPTION,
	{ .name = "path", .type = OPTION_TEXT, .required = true, .help = "The election's znode." },
	{ .name = "data", .type = OPTION_TEXT, .fallback = "", .help = "What it says." },
	{ .name = NULL },
};

static const struct option_def expired_options[] = {
	SERVER_OPTION,
	{ .name = "process", .type = OPTION_TEXT, .required = true, .help = "Whose session." },
	{ .name = NULL },
};

static struct sim_zk *find_zk(const struct world *w, const struct option_values *v, struct err *err)
{
	return (struct sim_zk *)sim_find(w, &sim_zk_ops, v, "server", err);
}

static void out_ends(struct world *w, void *who, int64_t a, int64_t b)
{
	(void)b;
	sim_zk_out(w, who, (int)a, false);
}

static int apply_out(struct world *w, const struct option_values *v, bool check, struct err *err)
{
	struct sim_zk *z = find_zk(w, v, err);
	int server;

	if (!z || read_server(z, v, "member", &server, err))
		return ERR_CONFIG;
	if (check)
		return 0;
	sim_zk_out(w, z, server, option_value_int(v, "on") != 0);
	if (option_value_set(v, "for"))
		world_after(w, option_value_int(v, "for"), out_ends, z, server, 0);
	return 0;
}

static int apply_put(struct world *w, const struct option_values *v, bool check, struct err *err)
{
	struct sim_zk *z = find_zk(w, v, err);
	const char *path = option_value_text(v, "path");
	struct sim_zk_node *node;

	if (!z)
		return ERR_CONFIG;
	if (path[0] != '/' || !path[1])
		return err_set(err, ERR_CONFIG, "'path' must begin with a slash");
	if (check)
		return 0;
	node = sim_zk_create(
		w, z, sim_zk_parent(z, path), option_value_text(v, "data"), NULL, NULL);
	world_tell(w, HAPPENING_FAULT, NULL, path, node->czxid,
		"somebody made the znode %s/%s by hand, persistent", path, node->name);
	return 0;
}

static int apply_expired(
	struct world *w, const struct option_values *v, bool check, struct err *err)
{
	struct sim_zk *z = find_zk(w, v, err);
	struct thing *process = z ? sim_find(w, &process_ops, v, "process", err) : NULL;
	struct sim_zk_session *session, *next;

	if (!process)
		return ERR_CONFIG;
	for (session = check ? NULL : z->first_session; session; session = next) {
		next = session->next;
		if (session->owner == (struct process *)process)
			sim_zk_close(w, z, session, "its session was lost");
	}
	return 0;
}

static const struct sim_fault faults[] = {
	{ .word = "zk-out",
		.help = "One of a ZooKeeper's servers ends; its machine stays.",
		.options = out_options,
		.apply = apply_out },
	{ .word = "zk-put",
		.help = "Somebody makes a candidate's znode by hand, persistent: it belongs to no "
			"session.",
		.options = put_options,
		.apply = apply_put },
	{ .word = "zk-expired",
		.help = "The ensemble ends the sessions of a process, which learns of it when it "
			"asks next.",
		.options = expired_options,
		.apply = apply_expired },
	{ .word = NULL },
};

/* ---- how it is shown ---- */

static const struct sim_view views[] = {
	{ .source = { SIM_SOURCE("zookeeper", "a ZooKeeper of the built-in world"),
		  .acts = sim_zk_acts, .n_acts = SIM_ZK_ACTS },
		.ops = &sim_zk_ops,
		.tell = sim_zk_tell,
		.behind = sim_zk_behind },
	{ .ops = NULL },
};

const struct sim_part sim_part_zookeeper = {
	.word = "zookeeper",
	.things = things,
	.programs = programs,
	.faults = faults,
	.views = views,
};
