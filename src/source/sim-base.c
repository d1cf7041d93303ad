#include "config.h"

#include "base/mem.h"
#include "base/nearest.h"
#include "base/str.h"
#include "source/sim.h"

#include <string.h>

/*
 * What every scenario is made of, whatever the mechanism: machines, resources, duties, processes,
 * and what can break of them.
 */

enum {
	HELP_MAX = 300,
	NAME_SHOWN = 100,
};

/* ---- finding what is named ---- */

int sim_no_such(
	const struct world *w, const struct thing_ops *ops, const char *name, struct err *err)
{
	struct thing *t = NULL;
	struct nearest nearest;
	struct str help;
	int rc;

	str_init(&help, HELP_MAX);
	nearest_init(&nearest, name);
	while ((t = world_each(w, ops, t)) != NULL)
		nearest_offer(&nearest, t->name);
	nearest_tell(&nearest, 1, &help);
	rc = err_set(err, ERR_CONFIG, "there is no %s called '%.*s'%s", ops->kind, NAME_SHOWN, name,
		help.s);
	str_release(&help);
	return rc;
}

struct thing *sim_find(const struct world *w, const struct thing_ops *ops,
	const struct option_values *v, const char *option, struct err *err)
{
	const char *name = option_value_text(v, option);
	struct thing *t = name ? world_find(w, ops, name) : NULL;

	if (!name)
		err_set(err, ERR_CONFIG, "'%s' is not said", option);
	else if (!t)
		sim_no_such(w, ops, name, err);
	return t;
}

int sim_check_new(const struct world *w, const struct thing_ops *ops, const struct option_values *v,
	struct err *err)
{
	const char *name = option_value_text(v, "name");

	if (!name || !*name)
		return err_set(err, ERR_CONFIG, "its name is empty");
	if (world_find(w, ops, name))
		return err_set(err, ERR_CONFIG, "there are two of the name '%.*s' (%s)", NAME_SHOWN,
			name, ops->kind);
	return 0;
}

/* ---- things ---- */

static const struct option_def machine_options[] = {
	{ .name = "name", .type = OPTION_TEXT, .required = true, .help = "Its name." },
	{ .name = "ahead",
		.type = OPTION_DURATION,
		.fallback = "0s",
		.help = "So much is its wall clock ahead of the true time." },
	{ .name = "behind",
		.type = OPTION_DURATION,
		.fallback = "0s",
		.help = "So much is its wall clock behind the true time." },
	{ .name = "drift",
		.type = OPTION_INT,
		.fallback = "0",
		.help = "By so many millionths its clocks run fast; negative: slow." },
	{ .name = NULL },
};

static int machine_make(struct world *w, const struct option_values *v, struct err *err)
{
	struct machine *m;

	if (sim_check_new(w, &machine_ops, v, err))
		return ERR_CONFIG;
	m = machine_new(w, option_value_text(v, "name"));
	m->skew_ms = option_value_int(v, "ahead") - option_value_int(v, "behind");
	m->drift_ppm = option_value_int(v, "drift");
	if (m->drift_ppm < -500000 || m->drift_ppm > 500000)
		return err_set(err, ERR_CONFIG, "'drift' must be -500000 to 500000");
	return 0;
}

static const struct option_def resource_options[] = {
	{ .name = "name", .type = OPTION_TEXT, .required = true, .help = "Its name." },
	{ .name = "kind",
		.type = OPTION_WORD,
		.words = "unfenced|fenced|idempotent",
		.fallback = "unfenced",
		.help = "What it does with a write: unfenced takes every one; fenced refuses a "
			"token lower than the highest that it has seen; idempotent does each unit "
			"of work once." },
	{ .name = NULL },
};

static int resource_make(struct world *w, const struct option_values *v, struct err *err)
{
	if (sim_check_new(w, &resource_ops, v, err))
		return ERR_CONFIG;
	resource_new(w, option_value_text(v, "name"),
		(enum resource_kind)resource_kind_from_word(option_value_text(v, "kind")));
	return 0;
}

static const struct option_def duty_options[] = {
	{ .name = "name", .type = OPTION_TEXT, .required = true, .help = "Its name." },
	{ .name = "resource",
		.type = OPTION_TEXT,
		.help = "What its work writes to; by default nothing." },
	{ .name = "every",
		.type = OPTION_DURATION,
		.fallback = "5s",
		.help = "The time between two units of work." },
	{ .name = "yields",
		.type = OPTION_BOOL,
		.fallback = "true",
		.help = "Whether a worker stops whose token is refused." },
	{ .name = NULL },
};

static int duty_make(struct world *w, const struct option_values *v, struct err *err)
{
	struct resource *r = NULL;
	struct duty *d;

	if (sim_check_new(w, &duty_ops, v, err))
		return ERR_CONFIG;
	if (option_value_text(v, "resource")) {
		r = (struct resource *)sim_find(w, &resource_ops, v, "resource", err);
		if (!r)
			return ERR_CONFIG;
	}
	if (option_value_int(v, "every") < 1)
		return err_set(err, ERR_CONFIG, "'every' must be at least 1ms");
	d = duty_new(w, option_value_text(v, "name"), r, option_value_int(v, "every"));
	d->yields_when_refused = option_value_int(v, "yields") != 0;
	return 0;
}

static const struct option_def process_options[] = {
	{ .name = "name", .type = OPTION_TEXT, .required = true, .help = "Its name." },
	{ .name = "machine",
		.type = OPTION_TEXT,
		.required = true,
		.help = "The machine that it runs on." },
	{ .name = "identity",
		.type = OPTION_TEXT,
		.help = "What it calls itself where it holds something; by default its name." },
	{ .name = "start", .type = OPTION_DURATION, .fallback = "0s", .help = "When it starts." },
	{ .name = "started",
		.type = OPTION_BOOL,
		.fallback = "true",
		.help = "Whether it starts by itself at all." },
	{ .name = "restart",
		.type = OPTION_DURATION,
		.help = "So long after a crash its supervisor starts it again; by default it has "
			"none." },
	{ .name = "about",
		.type = OPTION_TEXT,
		.help = "What it does, in one sentence, for the fleet's rows." },
	{ .name = "blocked",
		.type = OPTION_TEXT,
		.help = "Why an operator can't restart it; by default nothing speaks against it." },
	{ .name = "hidden",
		.type = OPTION_BOOL,
		.fallback = "false",
		.help = "Whether the fleet has no row for it." },
	{ .name = "runs",
		.type = OPTION_MAPS,
		.help = "What it does: a list of programs, each under its word." },
	{ .name = NULL },
};

static void start_due(struct world *w, void *who, int64_t a, int64_t b)
{
	(void)a;
	(void)b;
	process_start(w, who);
}

static char *text_of(const struct option_values *v, const char *option)
{
	const char *text = option_value_text(v, option);

	return text ? xstrdup(text) : NULL;
}

/* Its programs are made by whoever reads the scenario: they are of all parts. */
static int process_make(struct world *w, const struct option_values *v, struct err *err)
{
	struct machine *m = (struct machine *)sim_find(w, &machine_ops, v, "machine", err);
	struct process *p;

	if (!m || sim_check_new(w, &process_ops, v, err))
		return ERR_CONFIG;
	p = process_new(w, option_value_text(v, "name"), m, option_value_text(v, "identity"));
	if (option_value_set(v, "restart"))
		p->restart_after_ms = option_value_int(v, "restart");
	p->hidden = option_value_int(v, "hidden") != 0;
	p->about = text_of(v, "about");
	p->blocked = text_of(v, "blocked");
	if (option_value_int(v, "started"))
		world_at(w, option_value_int(v, "start"), start_due, p, 0, 0);
	return 0;
}

static const struct sim_thing things[] = {
	{ "machines", "Machines, each with clocks of its own.", machine_options, machine_make },
	{ "resources", "What the work writes to.", resource_options, resource_make },
	{ "duties", "Work that only one process should do at a time.", duty_options, duty_make },
	{ "processes", "What runs on the machines.", process_options, process_make },
	{ .word = NULL },
};

/* ---- faults ---- */

/* Whether it should be mended again, and when. */
static int64_t for_of(const struct option_values *v)
{
	return option_value_set(v, "for") ? option_value_int(v, "for") : INT64_MAX;
}

#define FOR_OPTION                                                           \
	{                                                                    \
		.name = "for", .type = OPTION_DURATION,                      \
		.help = "How long; by default until something else ends it." \
	}
#define PROCESS_OPTION                                                                         \
	{                                                                                      \
		.name = "process", .type = OPTION_TEXT, .required = true, .help = "Which one." \
	}
#define MACHINE_OPTION                                                                         \
	{                                                                                      \
		.name = "machine", .type = OPTION_TEXT, .required = true, .help = "Which one." \
	}

static const struct option_def pause_options[] = { PROCESS_OPTION, FOR_OPTION, { .name = NULL } };
static const struct option_def one_process[] = { PROCESS_OPTION, { .name = NULL } };
static const struct option_def one_machine[] = { MACHINE_OPTION, { .name = NULL } };
static const struct option_def machine_for[] = { MACHINE_OPTION, FOR_OPTION, { .name = NULL } };

static struct process *process_of(struct world *w, const struct option_values *v, struct err *err)
{
	return (struct process *)sim_find(w, &process_ops, v, "process", err);
}

static struct machine *machine_of(struct world *w, const struct option_values *v, struct err *err)
{
	return (struct machine *)sim_find(w, &machine_ops, v, "machine", err);
}

static int fault_pause(struct world *w, const struct option_values *v, bool check, struct err *err)
{
	struct process *p = process_of(w, v, err);

	if (p && !check)
		process_pause(w, p, for_of(v));
	return p ? 0 : ERR_CONFIG;
}

static int fault_resume(struct world *w, const struct option_values *v, bool check, struct err *err)
{
	struct process *p = process_of(w, v, err);

	if (p && !check)
		process_resume(w, p);
	return p ? 0 : ERR_CONFIG;
}

static int fault_crash(struct world *w, const struct option_values *v, bool check, struct err *err)
{
	struct process *p = process_of(w, v, err);

	if (p && !check)
		process_end(w, p, PROCESS_END_KILLED);
	return p ? 0 : ERR_CONFIG;
}

static int fault_stop(struct world *w, const struct option_values *v, bool check, struct err *err)
{
	struct process *p = process_of(w, v, err);

	if (p && !check)
		process_end(w, p, PROCESS_END_STOPPED);
	return p ? 0 : ERR_CONFIG;
}

static int fault_start(struct world *w, const struct option_values *v, bool check, struct err *err)
{
	struct process *p = process_of(w, v, err);

	if (p && !check)
		process_start(w, p);
	return p ? 0 : ERR_CONFIG;
}

static void power_on_due(struct world *w, void *who, int64_t a, int64_t b)
{
	(void)a;
	(void)b;
	machine_up(w, who);
}

static int fault_power_off(
	struct world *w, const struct option_values *v, bool check, struct err *err)
{
	struct machine *m = machine_of(w, v, err);

	if (m && !check) {
		machine_down(w, m);
		if (for_of(v) != INT64_MAX)
			world_after(w, for_of(v), power_on_due, m, 0, 0);
	}
	return m ? 0 : ERR_CONFIG;
}

static int fault_power_on(
	struct world *w, const struct option_values *v, bool check, struct err *err)
{
	struct machine *m = machine_of(w, v, err);

	if (m && !check)
		machine_up(w, m);
	return m ? 0 : ERR_CONFIG;
}

static void join_machine_due(struct world *w, void *who, int64_t a, int64_t b)
{
	(void)a;
	(void)b;
	machine_isolate(w, who, false);
}

static int fault_isolate(
	struct world *w, const struct option_values *v, bool check, struct err *err)
{
	struct machine *m = machine_of(w, v, err);

	if (m && !check) {
		machine_isolate(w, m, true);
		if (for_of(v) != INT64_MAX)
			world_after(w, for_of(v), join_machine_due, m, 0, 0);
	}
	return m ? 0 : ERR_CONFIG;
}

static const struct option_def skew_options[] = {
	MACHINE_OPTION,
	{ .name = "ahead",
		.type = OPTION_DURATION,
		.fallback = "0s",
		.help = "Its wall clock is set so much ahead of the true time." },
	{ .name = "behind",
		.type = OPTION_DURATION,
		.fallback = "0s",
		.help = "Its wall clock is set so much behind the true time." },
	{ .name = NULL },
};

static int fault_skew(struct world *w, const struct option_values *v, bool check, struct err *err)
{
	struct machine *m = machine_of(w, v, err);

	if (m && !check)
		machine_skew(w, m, option_value_int(v, "ahead") - option_value_int(v, "behind"));
	return m ? 0 : ERR_CONFIG;
}

static const struct option_def drift_options[] = {
	MACHINE_OPTION,
	{ .name = "millionths",
		.type = OPTION_INT,
		.required = true,
		.help = "By so many millionths its clocks run fast from now on; negative: slow." },
	{ .name = NULL },
};

static int fault_drift(struct world *w, const struct option_values *v, bool check, struct err *err)
{
	struct machine *m = machine_of(w, v, err);
	int64_t ppm = option_value_int(v, "millionths");

	if (!m)
		return ERR_CONFIG;
	if (ppm < -500000 || ppm > 500000)
		return err_set(err, ERR_CONFIG, "'millionths' must be -500000 to 500000");
	if (!check) {
		/* What it gained until now stays. */
		m->skew_ms = (machine_clock_us(w, m) - world_now_us(w)) / 1000;
		m->drift_at_ms = world_now_ms(w);
		m->drift_ppm = ppm;
		thing_changed(&m->thing);
	}
	return 0;
}

#define BETWEEN_OPTION                                                                \
	{                                                                             \
		.name = "between", .type = OPTION_LIST, .required = true,             \
		.help = "Two machines; one alone stands for its links to all others." \
	}
static const struct option_def cut_options[] = { BETWEEN_OPTION, FOR_OPTION, { .name = NULL } };
static const struct option_def join_options[] = { BETWEEN_OPTION, { .name = NULL } };
static const struct option_def quality_options[] = {
	BETWEEN_OPTION,
	{ .name = "latency",
		.type = OPTION_DURATION,
		.fallback = "1ms",
		.help = "How long a packet takes, each way." },
	{ .name = "loss",
		.type = OPTION_INT,
		.fallback = "0",
		.help = "How many of a thousand packets are lost." },
	{ .name = NULL },
};

static int between(struct world *w, const struct option_values *v, struct machine **a,
	struct machine **b, struct err *err)
{
	const char *one = option_value_item(v, "between", 0);
	const char *two = option_value_item(v, "between", 1);

	if (!one || option_value_item(v, "between", 2))
		return err_set(err, ERR_CONFIG, "'between' must name one machine or two");
	*a = machine_find(w, one);
	*b = two ? machine_find(w, two) : NULL;
	if (!*a)
		return sim_no_such(w, &machine_ops, one, err);
	return two && !*b ? sim_no_such(w, &machine_ops, two, err) : 0;
}

/* a and b are the machines' places in the order in which they were made: an event has one thing. */
static struct machine *machine_at(struct world *w, int64_t place)
{
	struct thing *t = NULL;

	while (place-- >= 0 && (t = world_each(w, &machine_ops, t)))
		;
	return (struct machine *)t;
}

static int64_t machine_place(struct world *w, const struct machine *m)
{
	struct thing *t = NULL;
	int64_t place = 0;

	if (!m)
		return -1;
	while ((t = world_each(w, &machine_ops, t)) && t != &m->thing)
		place++;
	return place;
}

static void join_due(struct world *w, void *who, int64_t a, int64_t b)
{
	(void)who;
	net_join(w, machine_at(w, a), b < 0 ? NULL : machine_at(w, b));
}

static int fault_cut(struct world *w, const struct option_values *v, bool check, struct err *err)
{
	struct machine *a, *b;
	int rc = between(w, v, &a, &b, err);

	if (rc || check)
		return rc;
	net_cut(w, a, b);
	if (for_of(v) != INT64_MAX)
		world_after(w, for_of(v), join_due, NULL, machine_place(w, a), machine_place(w, b));
	return 0;
}

static int fault_join(struct world *w, const struct option_values *v, bool check, struct err *err)
{
	struct machine *a, *b;
	int rc = between(w, v, &a, &b, err);

	if (!rc && !check)
		net_join(w, a, b);
	return rc;
}

static int fault_quality(
	struct world *w, const struct option_values *v, bool check, struct err *err)
{
	int64_t loss = option_value_int(v, "loss");
	struct machine *a, *b;
	int rc = between(w, v, &a, &b, err);

	if (rc)
		return rc;
	if (loss < 0 || loss > 1000)
		return err_set(err, ERR_CONFIG, "'loss' must be 0 to 1000");
	if (!check)
		net_quality(w, a, b, option_value_int(v, "latency"), (int)loss);
	return 0;
}

#define RESOURCE_OPTION                                                                         \
	{                                                                                       \
		.name = "resource", .type = OPTION_TEXT, .required = true, .help = "Which one." \
	}
static const struct option_def resource_for[] = { RESOURCE_OPTION, FOR_OPTION, { .name = NULL } };
static const struct option_def one_resource[] = { RESOURCE_OPTION, { .name = NULL } };

static void resource_set_down(struct world *w, struct resource *r, bool down)
{
	if (r->down == down)
		return;
	r->down = down;
	thing_changed(&r->thing);
	world_tell(w, down ? HAPPENING_FAULT : HAPPENING_MENDED, NULL, r->thing.name, 0, "%s %s",
		r->thing.name, down ? "takes no writes" : "takes writes again");
}

static void resource_up_due(struct world *w, void *who, int64_t a, int64_t b)
{
	(void)a;
	(void)b;
	resource_set_down(w, who, false);
}

static int fault_resource_down(
	struct world *w, const struct option_values *v, bool check, struct err *err)
{
	struct resource *r = (struct resource *)sim_find(w, &resource_ops, v, "resource", err);

	if (r && !check) {
		resource_set_down(w, r, true);
		if (for_of(v) != INT64_MAX)
			world_after(w, for_of(v), resource_up_due, r, 0, 0);
	}
	return r ? 0 : ERR_CONFIG;
}

static int fault_resource_up(
	struct world *w, const struct option_values *v, bool check, struct err *err)
{
	struct resource *r = (struct resource *)sim_find(w, &resource_ops, v, "resource", err);

	if (r && !check)
		resource_set_down(w, r, false);
	return r ? 0 : ERR_CONFIG;
}

static const struct sim_fault faults[] = {
	{ "pause", "A process stands still: it is not scheduled, and does not know it.",
		pause_options, fault_pause },
	{ "resume", "A paused process runs on.", one_process, fault_resume },
	{ "crash", "A process is killed.", one_process, fault_crash },
	{ "stop", "A process is asked to stop, and gives back what it holds.", one_process,
		fault_stop },
	{ "start", "A process is started.", one_process, fault_start },
	{ "cut", "No packet passes between two machines.", cut_options, fault_cut },
	{ "join", "Ends a cut.", join_options, fault_join },
	{ "isolate", "A machine is cut off from all others.", machine_for, fault_isolate },
	{ "quality", "A link becomes slow, or loses packets.", quality_options, fault_quality },
	{ "power-off", "A machine goes down without a word.", machine_for, fault_power_off },
	{ "power-on", "A machine starts.", one_machine, fault_power_on },
	{ "skew", "A machine's wall clock is set wrong.", skew_options, fault_skew },
	{ "drift", "A machine's clocks run too fast or too slow.", drift_options, fault_drift },
	{ "resource-down", "A resource takes no writes.", resource_for, fault_resource_down },
	{ "resource-up", "A resource takes writes again.", one_resource, fault_resource_up },
	{ .word = NULL },
};

const struct sim_part sim_part_base = { .word = "base", .things = things, .faults = faults };
