#include "config.h"

#include "source/sim-etcd.h"
#include "base/mem.h"
#include "io/yaml.h"
#include "sim/etcd-client.h"

#include <string.h>

/* The built-in world's etcd: what a scenario may write of it. */

enum {
	AGAIN_LEAST_MS = 10 /* who is refused at once must not ask for ever in one moment */
};

/* ---- the cluster ---- */

static const struct option_def prefix_options[] = {
	{ .name = "prefix",
		.type = OPTION_TEXT,
		.required = true,
		.help = "The beginning of the keys." },
	{ .name = "mechanism",
		.type = OPTION_WORD,
		.words = "auto|election|lock|key",
		.fallback = "auto",
		.help = "What the keys are, as in the config of an etcd source." },
	{ .name = NULL },
};

static const struct option_def etcd_options[] = {
	{ .name = "name", .type = OPTION_TEXT, .required = true, .help = "Its name." },
	{ .name = "members",
		.type = OPTION_LIST,
		.help = "The machines that its members run on; by default one of the cluster's "
			"name. The first leads." },
	{ .name = "version",
		.type = OPTION_TEXT,
		.fallback = "3.5.17",
		.help = "The version that it tells." },
	{ .name = "watch_delay",
		.type = OPTION_DURATION,
		.fallback = "0s",
		.help = "So much later than usual it tells who watches." },
	{ .name = "prefixes",
		.type = OPTION_MAPS,
		.fields = prefix_options,
		.help = "What a source shows of it besides the elections, locks and leader keys "
			"that its clients want." },
	{ .name = "keys",
		.type = OPTION_LIST,
		.help = "Single keys whose value names a holder, which a source shows also when "
			"they are not there." },
	{ .name = NULL },
};

static enum sim_etcd_layout layout_word(const char *word)
{
	if (str_eq(word, "election"))
		return SIM_ETCD_ELECTIONS;
	if (str_eq(word, "lock"))
		return SIM_ETCD_LOCKS;
	return str_eq(word, "key") ? SIM_ETCD_KEYS : SIM_ETCD_AUTO;
}

static void make_shown(struct sim_etcd *e, const struct option_values *v)
{
	const struct yaml_node *map;
	const char *key;
	size_t i;

	for (i = 0; (map = option_value_map(v, "prefixes", i)) != NULL; i++) {
		const struct option_values prefix = { .defs = prefix_options, .map = map };

		sim_etcd_show(e, option_value_text(&prefix, "prefix"),
			layout_word(option_value_text(&prefix, "mechanism")), false);
	}
	for (i = 0; (key = option_value_item(v, "keys", i)) != NULL; i++)
		sim_etcd_show(e, key, SIM_ETCD_KEYS, true);
}

static int make_etcd(struct world *w, const struct option_values *v, struct err *err)
{
	struct machine *machines[SIM_ETCD_MEMBERS_MOST];
	const char *name;
	struct sim_etcd *e;
	size_t n = 0;

	if (sim_check_new(w, &sim_etcd_ops, v, err))
		return ERR_CONFIG;
	while ((name = option_value_item(v, "members", n)) != NULL) {
		if (n == SIM_ETCD_MEMBERS_MOST)
			return err_set(
				err, ERR_CONFIG, "more than %d members", SIM_ETCD_MEMBERS_MOST);
		machines[n++] = machine_new(w, name);
	}
	if (!n)
		machines[n++] = machine_new(w, option_value_text(v, "name"));
	e = sim_etcd_new(
		w, option_value_text(v, "name"), machines, n, option_value_text(v, "version"));
	e->watch_delay_ms = option_value_int(v, "watch_delay");
	make_shown(e, v);
	return 0;
}

static const struct sim_thing things[] = {
	{ .word = "etcd",
		.help = "An etcd: keys with revisions, leases, watches, and members that vote for "
			"a "
			"leader. It counts keys-destroyed: those that went with a lease that the "
			"operator revoked, besides the one that it was about.",
		.options = etcd_options,
		.make = make_etcd },
	{ .word = NULL },
};

/* ---- its clients ---- */

#define SERVER_OPTION                                                                        \
	{                                                                                    \
		.name = "server", .type = OPTION_TEXT, .required = true, .help = "The etcd." \
	}
#define SESSION_OPTIONS                                                                        \
	{ .name = "ttl",                                                                       \
		.type = OPTION_DURATION,                                                       \
		.fallback = "60s",                                                             \
		.help = "The session's lease; 60s is that of etcd's Go client." },             \
		{ .name = "renews",                                                            \
			.type = OPTION_DURATION,                                               \
			.help = "How often the lease is renewed; by default every third of "   \
				"its time." },                                                 \
		{ .name = "session",                                                           \
			.type = OPTION_TEXT,                                                   \
			.fallback = "",                                                        \
			.help = "Programs of one process with the same word share one lease; " \
				"by default each has its own." },                              \
		{ .name = "talks_to",                                                          \
			.type = OPTION_TEXT,                                                   \
			.help = "The member's machine that it tries first." },                 \
		{ .name = "timeout",                                                           \
			.type = OPTION_DURATION,                                               \
			.fallback = "3s",                                                      \
			.help = "How long it waits for an answer before it tries another "     \
				"member." },                                                   \
	{                                                                                      \
		.name = "again", .type = OPTION_DURATION, .fallback = "1s",                    \
		.help = "How long it waits after its session ended until it makes another."    \
	}
#define BELIEF_OPTIONS                                                                          \
	{ .name = "duty",                                                                       \
		.type = OPTION_TEXT,                                                            \
		.help = "What it does while it believes that it leads." },                      \
		{ .name = "believes",                                                           \
			.type = OPTION_WORD,                                                    \
			.words = "session|local|forever",                                       \
			.fallback = "session",                                                  \
			.help = "Until when: session: its client says that the session is "     \
				"over, since etcd knows no such lease or no answer came for "   \
				"the lease's time, as concurrency.Session does; local: its "    \
				"own clock says that the time is over; forever: it never "      \
				"looks." },                                                     \
		{ .name = "checks_every",                                                       \
			.type = OPTION_DURATION,                                                \
			.fallback = "0s",                                                       \
			.help = "How long it may go on before it looks whether its session "    \
				"is over." },                                                   \
		{ .name = "watches",                                                            \
			.type = OPTION_BOOL,                                                    \
			.fallback = "false",                                                    \
			.help = "Whether it watches its own key, and stops when that is "       \
				"deleted. etcd's client does not." },                           \
		{ .name = "holds",                                                              \
			.type = OPTION_DURATION,                                                \
			.fallback = "0s",                                                       \
			.help = "After so long it gives it up by itself; 0s: never." },         \
		{ .name = "rests",                                                              \
			.type = OPTION_DURATION,                                                \
			.fallback = "5s",                                                       \
			.help = "How long it stays away then." },                               \
	{                                                                                       \
		.name = "works_through", .type = OPTION_TEXT,                                   \
		.help = "The member's machine that its work needs: it renews its lease by any " \
			"member, and works only while this one gets on."                        \
	}

static const struct option_def queue_options[] = {
	SERVER_OPTION,
	{ .name = "name",
		.type = OPTION_TEXT,
		.required = true,
		.help = "The election's or lock's name, without a slash at its end." },
	{ .name = "value",
		.type = OPTION_TEXT,
		.help = "What it proposes; by default its identity. A lock has none." },
	BELIEF_OPTIONS,
	{ .name = "looks_every",
		.type = OPTION_DURATION,
		.fallback = "0s",
		.help = "How often who leads looks whether its key is there; 0s: never, as etcd's "
			"client." },
	SESSION_OPTIONS,
	{ .name = NULL },
};

static const struct option_def key_options[] = {
	SERVER_OPTION,
	{ .name = "key", .type = OPTION_TEXT, .required = true, .help = "The key." },
	{ .name = "value",
		.type = OPTION_TEXT,
		.help = "What it writes; by default its identity." },
	{ .name = "contends",
		.type = OPTION_BOOL,
		.fallback = "true",
		.help = "Whether it wants the key for itself, as a leader; else the key is a mere "
			"note on its lease, such as a service's address." },
	BELIEF_OPTIONS,
	{ .name = "looks_every",
		.type = OPTION_DURATION,
		.fallback = "10s",
		.help = "How often who leads looks whether the key is its own; 0s: never. 10s is "
			"Patroni's loop_wait." },
	SESSION_OPTIONS,
	{ .name = NULL },
};

static enum sim_etcd_believes believes_word(const char *word)
{
	if (str_eq(word, "local"))
		return SIM_ETCD_BELIEVES_LOCAL;
	return str_eq(word, "forever") ? SIM_ETCD_BELIEVES_FOREVER : SIM_ETCD_BELIEVES_SESSION;
}

static int read_member(const struct sim_etcd *e, const struct option_values *v, const char *option,
	int absent, int *ret, struct err *err)
{
	const char *machine = option_value_text(v, option);

	*ret = machine ? sim_etcd_member(e, machine) : absent;
	if (machine && *ret < 0)
		return err_set(err, ERR_CONFIG, "'%s': no member of %s runs on '%.100s'", option,
			e->thing.name, machine);
	return 0;
}

static int read_session(struct sim_etcd_campaign *c, const struct option_values *v, struct err *err)
{
	int64_t ttl_ms = option_value_int(v, "ttl");

	if (ttl_ms < 1000 || ttl_ms % 1000)
		return err_set(err, ERR_CONFIG, "'ttl' must be whole seconds, 1s at least");
	c->ttl_s = ttl_ms / 1000;
	if (option_value_set(v, "renews"))
		c->every_ms = option_value_int(v, "renews");
	c->session = option_value_text(v, "session");
	c->timeout_ms = option_value_int(v, "timeout");
	c->again_ms = option_value_int(v, "again");
	if (c->again_ms < AGAIN_LEAST_MS || (option_value_set(v, "renews") && c->every_ms < 1))
		return err_set(err, ERR_CONFIG, "'again' must be %dms at least, 'renews' 1ms",
			AGAIN_LEAST_MS);
	return read_member(c->etcd, v, "talks_to", 0, &c->member, err);
}

static int read_belief(struct world *w, struct sim_etcd_campaign *c, const struct option_values *v,
	struct err *err)
{
	if (option_value_text(v, "duty")) {
		c->duty = (struct duty *)sim_find(w, &duty_ops, v, "duty", err);
		if (!c->duty)
			return ERR_CONFIG;
	}
	c->believes = believes_word(option_value_text(v, "believes"));
	c->checks_every_ms = option_value_int(v, "checks_every");
	c->looks_every_ms = option_value_int(v, "looks_every");
	c->watches = option_value_int(v, "watches") != 0;
	c->holds_ms = option_value_int(v, "holds");
	c->rests_ms = option_value_int(v, "rests");
	return read_member(c->etcd, v, "works_through", -1, &c->through, err);
}

static int make_candidate(struct world *w, struct process *p, const struct option_values *v,
	enum sim_etcd_claim claim, const char *name, struct err *err)
{
	struct sim_etcd_campaign c = { .claim = claim };
	size_t len;

	c.etcd = (struct sim_etcd *)sim_find(w, &sim_etcd_ops, v, "server", err);
	if (!c.etcd || read_session(&c, v, err) || read_belief(w, &c, v, err))
		return ERR_CONFIG;
	c.name = option_value_text(v, name);
	c.value = option_value_text(v, "value");
	len = strlen(c.name);
	if (!len ||
		(claim != SIM_ETCD_NOTE && claim != SIM_ETCD_LEADER_KEY && c.name[len - 1] == '/'))
		return err_set(err, ERR_CONFIG, "'%s' is empty, or ends in a slash", name);
	if (!sim_etcd_fits(c.name, c.value ? c.value : p->identity))
		return err_set(err, ERR_CONFIG,
			"'%s' and its value are too long for the built-in etcd", name);
	sim_etcd_candidate_new(p, &c);
	return 0;
}

static int make_election(
	struct world *w, struct process *p, const struct option_values *v, struct err *err)
{
	return make_candidate(w, p, v, SIM_ETCD_ELECTION, "name", err);
}

static int make_lock(
	struct world *w, struct process *p, const struct option_values *v, struct err *err)
{
	return make_candidate(w, p, v, SIM_ETCD_LOCK, "name", err);
}

static int make_key(
	struct world *w, struct process *p, const struct option_values *v, struct err *err)
{
	return make_candidate(w, p, v,
		option_value_int(v, "contends") ? SIM_ETCD_LEADER_KEY : SIM_ETCD_NOTE, "key", err);
}

static const struct sim_program programs[] = {
	{ .word = "etcd-election",
		.help = "A candidate of an election in etcd, by the recipe of etcd's Go client "
			"(concurrency.Election): it writes NAME/LEASE on its session's lease, and "
			"leads once no older key of that name is there.",
		.options = queue_options,
		.make = make_election },
	{ .word = "etcd-lock",
		.help = "The same with a lock (concurrency.Mutex): without a value, and it looks "
			"at last whether its own key is still there.",
		.options = queue_options,
		.make = make_lock },
	{ .word = "etcd-key",
		.help = "One key on a lease: a leader key, which whoever finds it missing makes, "
			"as Patroni's; or a mere note.",
		.options = key_options,
		.make = make_key },
	{ .word = NULL },
};

/* ---- what can break of it ---- */

#define FOR_OPTION                                                            \
	{                                                                     \
		.name = "for", .type = OPTION_DURATION,                       \
		.help = "How long; by default until it is mended by another." \
	}
#define ON_OPTION(text)                                                             \
	{                                                                           \
		.name = "on", .type = OPTION_BOOL, .fallback = "true", .help = text \
	}

static const struct option_def member_options[] = {
	SERVER_OPTION,
	{ .name = "member",
		.type = OPTION_TEXT,
		.required = true,
		.help = "The member's machine." },
	ON_OPTION("false: it is mended."),
	FOR_OPTION,
	{ .name = NULL },
};

static const struct option_def leader_options[] = {
	SERVER_OPTION,
	{ .name = "member",
		.type = OPTION_TEXT,
		.help = "The machine of who is to lead; by default any other." },
	{ .name = NULL },
};

static const struct option_def alarm_options[] = {
	SERVER_OPTION,
	{ .name = "alarm",
		.type = OPTION_WORD,
		.words = "nospace|corrupt",
		.fallback = "nospace",
		.help = "nospace: no new keys, no new leases; corrupt: no change at all, so that "
			"leases that run out stay." },
	ON_OPTION("false: it is disarmed."),
	FOR_OPTION,
	{ .name = NULL },
};

static const struct option_def delay_options[] = {
	SERVER_OPTION,
	{ .name = "by",
		.type = OPTION_DURATION,
		.required = true,
		.help = "So much later who watches is told; 0s: at once again." },
	FOR_OPTION,
	{ .name = NULL },
};

static const struct option_def put_options[] = {
	SERVER_OPTION,
	{ .name = "key", .type = OPTION_TEXT, .required = true, .help = "The key." },
	{ .name = "value", .type = OPTION_TEXT, .fallback = "", .help = "Its value." },
	{ .name = NULL },
};

static const struct option_def server_options[] = {
	SERVER_OPTION,
	{ .name = NULL },
};

static const struct option_def lost_options[] = {
	SERVER_OPTION,
	{ .name = "process", .type = OPTION_TEXT, .required = true, .help = "Whose leases." },
	{ .name = NULL },
};

static struct sim_etcd *find_etcd(
	const struct world *w, const struct option_values *v, struct err *err)
{
	return (struct sim_etcd *)sim_find(w, &sim_etcd_ops, v, "server", err);
}

static void end_later(
	struct world *w, const struct option_values *v, world_fn *fn, void *who, int64_t a)
{
	if (option_value_set(v, "for"))
		world_after(w, option_value_int(v, "for"), fn, who, a, 0);
}

static void stall_ends(struct world *w, void *who, int64_t a, int64_t b)
{
	(void)b;
	sim_etcd_stall(w, who, (int)a, false);
}

static void out_ends(struct world *w, void *who, int64_t a, int64_t b)
{
	(void)b;
	sim_etcd_out(w, who, (int)a, false);
}

static void alarm_ends(struct world *w, void *who, int64_t a, int64_t b)
{
	(void)b;
	sim_etcd_alarm(w, who, (enum sim_etcd_alarm)a, false);
}

static void delay_ends(struct world *w, void *who, int64_t a, int64_t b)
{
	struct sim_etcd *e = who;

	(void)w;
	(void)b;
	e->watch_delay_ms = a;
}

/* The etcd and the member (-1: none is named) that a fault is about; NULL, with a sentence, when
 * one of them is not there. */
static struct sim_etcd *find_member(
	const struct world *w, const struct option_values *v, int *ret_member, struct err *err)
{
	struct sim_etcd *e = find_etcd(w, v, err);

	return !e || read_member(e, v, "member", -1, ret_member, err) ? NULL : e;
}

/* What is the matter with a member, on or off, and its end where the fault says how long. */
static int apply_to_member(struct world *w, const struct option_values *v, bool check,
	struct err *err, void (*set)(struct world *w, struct sim_etcd *e, int member, bool on),
	world_fn *ends)
{
	int member;
	struct sim_etcd *e = find_member(w, v, &member, err);

	if (!e)
		return ERR_CONFIG;
	if (check)
		return 0;
	set(w, e, member, option_value_int(v, "on") != 0);
	end_later(w, v, ends, e, member);
	return 0;
}

static int apply_stall(struct world *w, const struct option_values *v, bool check, struct err *err)
{
	return apply_to_member(w, v, check, err, sim_etcd_stall, stall_ends);
}

static int apply_out(struct world *w, const struct option_values *v, bool check, struct err *err)
{
	return apply_to_member(w, v, check, err, sim_etcd_out, out_ends);
}

static int apply_leader(struct world *w, const struct option_values *v, bool check, struct err *err)
{
	int member;
	struct sim_etcd *e = find_member(w, v, &member, err);

	if (!e)
		return ERR_CONFIG;
	if (!check)
		sim_etcd_lead(w, e, member);
	return 0;
}

static int apply_alarm(struct world *w, const struct option_values *v, bool check, struct err *err)
{
	struct sim_etcd *e = find_etcd(w, v, err);
	enum sim_etcd_alarm alarm;

	if (!e)
		return ERR_CONFIG;
	if (check)
		return 0;
	alarm = str_eq(option_value_text(v, "alarm"), "corrupt") ? SIM_ETCD_ALARM_CORRUPT
								 : SIM_ETCD_ALARM_NO_SPACE;
	sim_etcd_alarm(w, e, alarm, option_value_int(v, "on") != 0);
	end_later(w, v, alarm_ends, e, alarm);
	return 0;
}

static int apply_delay(struct world *w, const struct option_values *v, bool check, struct err *err)
{
	struct sim_etcd *e = find_etcd(w, v, err);

	if (!e)
		return ERR_CONFIG;
	if (check)
		return 0;
	end_later(w, v, delay_ends, e, e->watch_delay_ms);
	e->watch_delay_ms = option_value_int(v, "by");
	world_tell(w, HAPPENING_FAULT, NULL, e->thing.name, 0,
		"%s tells who watches it %lld ms later than usual", e->thing.name,
		(long long)e->watch_delay_ms);
	return 0;
}

static int apply_put(struct world *w, const struct option_values *v, bool check, struct err *err)
{
	struct sim_etcd *e = find_etcd(w, v, err);
	const char *name = option_value_text(v, "key");
	struct sim_etcd_key *key;

	if (!e)
		return ERR_CONFIG;
	if (!*name)
		return err_set(err, ERR_CONFIG, "an empty key is none of etcd's");
	if (check)
		return 0;
	if (sim_etcd_put(w, e, name, option_value_text(v, "value"), 0, NULL, false, &key) ==
		SIM_ETCD_OK)
		world_tell(w, HAPPENING_FAULT, NULL, name, key->create_revision,
			"somebody wrote the key %s by hand, without a lease", name);
	return 0;
}

static int apply_compact(
	struct world *w, const struct option_values *v, bool check, struct err *err)
{
	struct sim_etcd *e = find_etcd(w, v, err);

	if (!e)
		return ERR_CONFIG;
	if (!check)
		sim_etcd_compact(w, e, e->revision);
	return 0;
}

static int apply_lost(struct world *w, const struct option_values *v, bool check, struct err *err)
{
	struct sim_etcd *e = find_etcd(w, v, err);
	struct thing *process = e ? sim_find(w, &process_ops, v, "process", err) : NULL;
	struct sim_etcd_lease *l, *next;

	if (!process)
		return ERR_CONFIG;
	for (l = check ? NULL : e->first_lease; l; l = next) {
		next = l->next;
		if (l->owner == (struct process *)process)
			sim_etcd_revoke(w, e, l, "its lease was lost");
	}
	return 0;
}

static const struct sim_fault faults[] = {
	{ .word = "etcd-stall",
		.help = "A member's disk takes nothing: it answers nothing that needs the log, and "
			"what it keeps is done when the disk goes on. Who led no longer does.",
		.options = member_options,
		.apply = apply_stall },
	{ .word = "etcd-out",
		.help = "A member's etcd ends; its machine stays.",
		.options = member_options,
		.apply = apply_out },
	{ .word = "etcd-leader",
		.help = "Another member leads, which begins every lease anew.",
		.options = leader_options,
		.apply = apply_leader },
	{ .word = "etcd-alarm",
		.help = "An alarm, which the whole cluster heeds.",
		.options = alarm_options,
		.apply = apply_alarm },
	{ .word = "etcd-slow-watch",
		.help = "Who watches is told late.",
		.options = delay_options,
		.apply = apply_delay },
	{ .word = "etcd-put",
		.help = "Somebody writes a key by hand, without a lease.",
		.options = put_options,
		.apply = apply_put },
	{ .word = "etcd-compact",
		.help = "The history up to now is forgotten.",
		.options = server_options,
		.apply = apply_compact },
	{ .word = "lease-lost",
		.help = "etcd revokes all leases of a process, which is not told.",
		.options = lost_options,
		.apply = apply_lost },
	{ .word = NULL },
};

/* ---- how it is shown ---- */

static const struct sim_view views[] = {
	{ .source = { SIM_SOURCE("etcd", "an etcd of the built-in world"), .acts = sim_etcd_acts,
		  .n_acts = SIM_ETCD_ACTS },
		.ops = &sim_etcd_ops,
		.tell = sim_etcd_tell,
		.behind = sim_etcd_behind,
		.close = sim_etcd_close },
	{ .ops = NULL },
};

const struct sim_part sim_part_etcd = {
	.word = "etcd",
	.things = things,
	.programs = programs,
	.faults = faults,
	.views = views,
};
