#ifndef SIM_REFEREE_H
#define SIM_REFEREE_H

#include "sim/deed.h"
#include "sim/work.h"

/*
 * Watches one run of a lesson: what a world counts from the moment the trainee sits down, when all
 * is well again, and what the trainee said meanwhile. It looks as an event of the world itself, so
 * that how often somebody draws or polls changes nothing. Pure, and part of its world.
 */

enum measure_kind {
#define MEASURE(id, word, of, ms, help) MEASURE_##id,
#include "sim/measures.def"
#undef MEASURE
	MEASURE_KIND_COUNT
};

/* What the names of a measure are of. */
enum measure_of {
	MEASURE_OF_DUTY,
	MEASURE_OF_RESOURCE,
	MEASURE_OF_COUNT,
	MEASURE_OF_HAPPENING,
	MEASURE_OF_VERB
};

struct measure_word {
	const char *word;
	enum measure_of of;
	bool ms;
	const char *help;
};

/* Never NULL for a valid kind. */
const struct measure_word *measure_word(enum measure_kind kind);
/* -1 when there is none of that word. */
int measure_from_word(const char *word);

/* One figure: the sum over its names. All texts are borrowed. */
struct measure {
	enum measure_kind kind;
	const char *const *of;
	size_t n_of;
	const char *on; /* HAPPENED and ACTS: what it is about, as deed_means takes it; NULL: all */
};

/* What it says at this moment, since the world began. */
int64_t measure_now(struct world *w, const struct measure *m);
/* Whether a measure of acts counts that one. */
bool measure_counts_deed(const struct measure *m, const struct deed *deed);
/* Whether all its names are known to the world, where they can be looked up; else the first that is
 * not in *ret_unknown. */
bool measure_known(const struct world *w, const struct measure *m, const char **ret_unknown);

/* One thing that must hold for a lesson to be restored. */
enum goal_kind {
	GOAL_WORKERS, /* so many do the work of a duty: least to most */
	GOAL_BY,      /* that process does it */
	GOAL_PROCESS, /* a process is in that state */
	GOAL_MEASURE  /* a measure is in a range: least to most */
};

enum goal_state {
	GOAL_STATE_LIVES, /* running or paused */
	GOAL_STATE_RUNNING,
	GOAL_STATE_PAUSED,
	GOAL_STATE_ENDED, /* stopped or crashed */
	GOAL_STATE_APART  /* the same, or on a machine that is cut off from all others */
};

struct goal {
	enum goal_kind kind;
	const char *duty;    /* WORKERS, BY */
	const char *process; /* BY, PROCESS */
	enum goal_state state;
	struct measure measure;
	int64_t least, most;
};

struct referee_rules {
	int64_t begins_ms;     /* the trainee sits down */
	int64_t counted_ms;    /* measures count from here on */
	int64_t limit_ms;      /* after begins_ms it is over */
	int64_t not_before_ms; /* after begins_ms: earlier than this it is not restored */
	int64_t for_ms;        /* so long all goals must hold */
	const struct goal *goals;
	size_t n_goals;
	const struct measure *measures; /* what is wanted in the account */
	size_t n_measures;
};

enum account_end {
	ACCOUNT_OPEN,     /* it goes on */
	ACCOUNT_RESTORED, /* the goals held for long enough */
	ACCOUNT_LIMIT,    /* the time is over */
	ACCOUNT_FINISHED  /* the same, after the trainee said that nothing more is to be done */
};

enum {
	ACCOUNT_SAID_MOST = 200,
	ACCOUNT_TEXT_MAX = 400
};

enum said_kind {
	SAID_DIAGNOSIS,
	SAID_HINT, /* asked for the next hint */
	SAID_NOTE
};

/* What the trainee said, in order. */
struct said {
	enum said_kind kind;
	int64_t at_ms;
	size_t deeds;    /* how many deeds that change something came before it */
	uint64_t causes; /* DIAGNOSIS: a bit for each picked, in the lesson's order */
	size_t hint;     /* HINT: from 0 */
	char *text;      /* NOTE */
};

/* What came of a run. */
struct account {
	enum account_end end;
	int64_t begins_ms;
	int64_t end_ms;      /* ACCOUNT_OPEN: now */
	int64_t restored_ms; /* from when on the goals held to the end; -1: they don't */
	int64_t *values;     /* one for each measure */
	size_t n_values;
	uint64_t unfenced_doubles; /* on all resources that take every write, from counted_ms on */
	struct said said[ACCOUNT_SAID_MOST];
	size_t n_said;
	size_t deeds; /* how many of the world's deeds belong to it */
};

struct referee;

/* rules live as long as the world, which frees it. Before begins_ms has passed. */
struct referee *referee_new(struct world *w, const struct referee_rules *rules);
/* The world's; NULL when it has none. */
struct referee *referee_of(const struct world *w);

/* What the trainee says, now; nothing counts once it is over. */
void referee_diagnose(struct referee *r, uint64_t causes);
void referee_hint(struct referee *r, size_t hint);
/* Cut at ACCOUNT_TEXT_MAX bytes. */
void referee_note(struct referee *r, const char *text);
/*
 * Nothing that comes later is the trainee's; but the world goes on to its end, and what is harmed
 * until then counts, so that nobody earns anything by leaving early.
 */
void referee_finish(struct referee *r);

/* Brought up to now, unless it is over. Lives as long as the world. */
const struct account *referee_account(struct referee *r);
/* The state of each goal at this moment, for whoever shows it. */
bool goal_holds(struct world *w, const struct goal *g, int64_t since_counted);

#endif
