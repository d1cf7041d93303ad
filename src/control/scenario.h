#ifndef CONTROL_SCENARIO_H
#define CONTROL_SCENARIO_H

#include "control/options.h"
#include "source/source.h"

struct clock_source;
struct err;
struct settings;
struct sim_fault;
struct sim_host;
struct yaml_node;

/*
 * A scenario: a YAML file that says of what a built-in world is made, which sources show it, and
 * what breaks when (doc/scenario-format.md, made from the tables of the parts, source/sim.h). One
 * format for the demo, the lessons and the tests.
 */
struct scenario {
	char *name;        /* of the file, without folder and ending */
	const char *title; /* NULL: none was said */
	const char *about; /* NULL */
	uint64_t seed;
	int64_t opens_ms; /* how long it has lived when a console opens on it */
	struct sim_host *host;
	struct settings *settings; /* its sources, roles, names and thresholds */
	struct yaml_node *root;    /* checked; a lesson's own sections are read from it */
	struct scenario_store *store;
};

struct scenario_options {
	bool has_seed; /* another one than the scenario says */
	uint64_t seed;
	int vary; /* by so many percent at most, by the seed: when faults come and how long they
		     last. Their order stays, and what comes before a lesson begins still does. */
	const struct clock_source *base; /* the machine's clock; NULL: clock_system */
	bool played; /* as a lesson: what breaks is the lesson's, no verb of the trainee breaks
			anything on purpose (source/sim-break.h), and what happens is kept for the
			debrief */
};

/*
 * Loads the scenario of that name, one of those that the program carries, or a file where `which`
 * has a slash or ends in .yaml. Its world is at 0 ms, and its clock stands still. Errors:
 * ERR_CONFIG with file, line, column and the nearest right key; ERR_NOTFOUND, with the names that
 * there are.
 */
int scenario_load(const char *which, const struct scenario_options *options, struct scenario **ret,
	struct err *err);
/* The same from a text; file is for messages. */
int scenario_parse(const char *text, size_t len, const char *file,
	const struct scenario_options *options, struct scenario **ret, struct err *err);
/* After the fleet that shows it. */
void scenario_free(struct scenario *s);

/*
 * Lets a fault happen now: a map with one key, the fault's word, and in it what it takes. file is
 * for messages. Errors: ERR_CONFIG; nothing has happened then.
 */
int scenario_fault(struct scenario *s, struct yaml_node *fault, const char *file, struct err *err);

/*
 * Adds a fault to those that the scenario has, before its world has moved: a text such as "at: 40s,
 * pause: {process: worker-a, for: 20s}", in braces or not. One only. Errors: ERR_CONFIG.
 */
int scenario_inject(struct scenario *s, const char *text, struct err *err);

/* A scenario that the program carries in itself. */
struct scenario_text {
	const char *name; /* NULL ends the list */
	const unsigned char *text;
	size_t len;
};
extern const struct scenario_text scenario_texts[];
const struct scenario_text *scenario_text(const char *name);

/* What may stand in a scenario: made of the tables of all parts. */
struct scenario_tables {
	const struct option_def *top;
	const struct option_def *world;    /* a list of maps under each key */
	const struct option_def *programs; /* of a process' `runs` */
	const struct option_def *source;
	const struct option_def *fault; /* `at` and its kin, and a map under each word */
	struct scenario_tables_store *store;
};
struct scenario_tables *scenario_tables_new(void);
void scenario_tables_free(struct scenario_tables *t);

#endif
