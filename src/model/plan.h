#ifndef MODEL_PLAN_H
#define MODEL_PLAN_H

#include "model/singleton.h"
#include "base/str.h"

/* The verbs of verbs.def. */
enum verb {
#define VERB(id, word, danger, about, where, help) VERB_##id,
#include "model/verbs.def"
#undef VERB
	VERB_COUNT
};

enum verb_danger {
	DANGER_REVERSIBLE,
	DANGER_DISRUPTIVE
};

enum verb_about {
	ABOUT_CLAIM,
	ABOUT_RUN,
	ABOUT_ROW
};

enum verb_where {
	WHERE_ANYWHERE,
	WHERE_BUILT_IN /* in the built-in fleet only */
};

struct verb_word {
	const char *word;
	enum verb_danger danger;
	enum verb_about about;
	enum verb_where where;
	const char *help;
};

/* Never NULL for a valid verb. */
const struct verb_word *verb_word(enum verb verb);
/* -1 when there is none of that word. */
int verb_from_word(const char *word);

/*
 * What is asked for, bound to what was on the screen when it was asked: the facts, and the key of
 * the claim or run that it is about. Nothing of it is looked up again by name.
 */
struct order {
	enum verb verb;
	const struct singleton *s; /* as it was on the screen; one reference, the order's */
	const char *key;           /* of the claim or run; NULL: the verb is about the row itself */
	const char *identity;      /* of the same, for words; NULL */
	const char *reason;        /* the operator's; NULL while it was not said */
};

/* What reading again, directly before, said. */
enum plan_verdict {
	PLAN_READY,
	PLAN_CHANGED, /* the identity is another, or nobody's: nothing may be sent */
	PLAN_REFUSED, /* it can't or may not be done: reasons say why */
};

/* Something that goes with the act, or stays in spite of it. */
struct plan_item {
	char *what; /* in words: "key", "lock of the same session", "pod" */
	char *id;   /* which */
};

enum {
	PLAN_CUTS_MAX = 8 /* kinds of items whose being cut is remembered */
};

/* A list of texts of the plan's own, with a cap: what is beyond is counted, and of what kinds it
 * was. */
struct plan_list {
	struct plan_item *items;
	size_t n, cap, cut;
	char *cuts[PLAN_CUTS_MAX]; /* the `what` of those that were cut, each once; NULL: no more */
};

/*
 * What a source would do for an order, and what it knows of the price: facts and the exact request.
 * All texts are sanitised copies, owned by the plan. The forecast (forecast.h) is made of it.
 */
struct plan {
	enum plan_verdict verdict;
	struct plan_list reasons;  /* why it is refused, or what is different now (in id: empty) */
	struct plan_list warnings; /* what is unsafe about it here */
	struct plan_list destroys;
	struct plan_list keeps;
	struct plan_list told; /* who is told, and how; empty: nobody */
	char *request;         /* exactly what would be sent, with its guard, as text */
	char *guard;           /* what the source needs to send it, opaque to all others; NULL */
	char *guarded_by;      /* what the server compares, in words; NULL: nothing does */
	char *successor;       /* identity of who is next; NULL: nobody, or not known */
	char *gap_why;
	char *alone;          /* what happens on its own if nothing is done; NULL: not known */
	char *permission_why; /* what is missing, or why it can't be told; NULL */
	int64_t gap_min_ms, gap_max_ms; /* TIME_UNKNOWN: can't be told */
	int64_t last_sign_us;     /* the holder's last sign of life, our wall clock; TIME_UNKNOWN */
	char *last_sign;          /* what it was: "renewed its lease", "ran a query"; NULL */
	enum tristate permission; /* whether the server will let us */
	bool stops_holder; /* the act itself ends the process' claim and its connection, so that
			      it learns of it; else it may work on unaware */
};

void plan_init(struct plan *p);
void plan_release(struct plan *p);
void plan_refuse(struct plan *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void plan_changed(struct plan *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void plan_warn(struct plan *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* id may be NULL. Texts are sanitised already, or our own. */
void plan_add(struct plan_list *list, const char *what, const char *id);
/* Counts n more that are there and not listed: of the one kind or the other (NULL: only of one). */
void plan_cut(struct plan_list *list, size_t n, const char *what, const char *or_what);
/* Whether an item of that kind may be among those that were cut. */
bool plan_may_be_cut(const struct plan_list *list, const char *what);
/* Appends copies of all of from, and what it had cut. */
void plan_list_copy(struct plan_list *to, const struct plan_list *from);
void plan_list_release(struct plan_list *list);
/* Replaces one of the plan's texts. */
void plan_text(char **text, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* What became of sending it. */
enum effect_kind {
	EFFECT_UNSENT,  /* it failed before anything could have reached the server */
	EFFECT_DONE,    /* the server says that the guard held and it was done */
	EFFECT_CHANGED, /* the server says that the guard failed: nothing was done */
	EFFECT_REFUSED, /* the server refused it: nothing was done */
	EFFECT_PARTIAL, /* of several, some were done: answer says which */
	EFFECT_UNKNOWN, /* sent, and no answer came */
};

struct effect {
	enum effect_kind kind;
	struct str answer;   /* what the server said, sanitised */
	struct str find_out; /* how to find out what is not known: of EFFECT_UNKNOWN, or of a
				part of EFFECT_PARTIAL; empty */
};

void effect_init(struct effect *e);
void effect_release(struct effect *e);

/* Whether the evicted holder was seen to stop. */
enum overlap {
	OVERLAP_NONE,  /* it can't work on, or there was none */
	OVERLAP_OPEN,  /* not seen to stop */
	OVERLAP_CLOSED /* seen to stop, or its token is superseded where tokens are checked */
};

/* One look afterwards. */
struct sight {
	bool settled; /* the act shows its whole effect: the record is gone, the spec is changed */
	bool seen; /* it shows it now, and it is waited for whether somebody undoes it: settled when
		      the time is over */
	bool undone; /* it does not, and will not: the same claim is there again, or still */
	enum overlap overlap;
	struct str text; /* what was seen, in words, sanitised */
};

void sight_init(struct sight *s);
void sight_release(struct sight *s);

/* "none", "open", "closed" */
const char *overlap_word(enum overlap overlap);

#endif
