#ifndef MODEL_FORECAST_H
#define MODEL_FORECAST_H

#include "model/plan.h"
#include "model/role.h"

struct snapshot;

/*
 * What would happen if an order were carried out: made of the facts that were on the screen, of
 * what reading again said (struct plan), and of what is known to be unsafe in such a state. Pure,
 * immutable, counted by references from any thread. Every text is sanitised.
 */

/* What the forecast is made of. All borrowed. */
struct forecast_input {
	const struct order *order;
	const struct plan *plan;     /* NULL: it was not read again (the policy refused before) */
	const struct row *row;       /* as it was on the screen; its findings make warnings; NULL */
	const struct snapshot *snap; /* the source of the row; NULL */
	const struct row *cross;     /* findings of the source that need another source; NULL */
	const struct role *role;     /* the row's; NULL */
	int64_t now_us;              /* our wall clock */
};

struct forecast {
	int refs;
	enum verb verb;
	char *id;          /* of the singleton */
	char *identity;    /* of the claim or run that it is about; NULL: about the row itself */
	char *key;         /* of the same */
	char *environment; /* of the source; NULL */
	bool about_run;    /* the target is a run */
	bool about_holder; /* it is taken from its holder */
	bool about_waiter; /* the target only waits */
	bool has_token;    /* of the target: the leader's token where it is the leader */
	int64_t token;
	int64_t at_us; /* our wall clock when it was made */
	enum plan_verdict verdict;
	bool allowed;             /* nothing speaks against sending it: ready, and not for want of a
				     permission */
	struct plan_list reasons; /* why not; empty when allowed */
	struct plan_list
		warnings; /* what is unsafe about it here; what: the finding's word that says so, or
			     "source": the plan's own; id: one or two sentences */
	struct plan_list destroys; /* what goes with it */
	struct plan_list keeps;
	struct plan_list told; /* empty: nobody is told */
	char *request;         /* exactly what would be sent; NULL: it was not got so far */
	char *guarded_by;      /* what the server compares in the same request; NULL: nothing */
	char *successor;       /* NULL: nobody, or not known */
	int64_t gap_min_ms, gap_max_ms; /* how long nobody holds it; TIME_UNKNOWN: can't be told */
	char *gap_why;
	char *alone;           /* what happens on its own if nothing is done; NULL */
	enum tristate overlap; /* whether the one that is evicted may work on */
	int64_t last_sign_us;  /* its last sign of life, our wall clock; TIME_UNKNOWN */
	char *last_sign;       /* what that was; NULL */
	char *overlap_text;    /* one sentence */
	enum tristate permission;
	char *permission_why; /* what is missing, or why it can't be told; NULL */
};

/* One reference, the caller's. */
struct forecast *forecast_new(const struct forecast_input *in);
struct forecast *forecast_ref(const struct forecast *f);
void forecast_unref(const struct forecast *f);

/* Refuses what was forecast, for a reason that is not the source's (the policy's). Only before it
 * is shared. */
void forecast_refuse(struct forecast *f, const char *reason);

/* "ok", "missing", "unknown" */
const char *permission_word(enum tristate permission);
/* Who may work on unseen afterwards, in words: the target, or "the others" of keep-one. */
const char *forecast_evicted(const struct forecast *f);

/*
 * The forecast as sentences, a label and a text each, in the order of the dialog: reasons ("not
 * now"), takes it from, destroys, keeps, tells, next, overlap, permission, if left alone, warnings
 * ("!"), sends, guarded by. The command line prints the same. A text may be long; who shows it
 * wraps it. Ages are those of the moment when it was made: what was seen since then is not in it.
 */
typedef void (*forecast_line)(void *arg, const char *label, const char *text);
void forecast_tell(const struct forecast *f, forecast_line line, void *arg);

/*
 * What tells this forecast from another: 16 hexadecimal digits over all that an operator was shown
 * (FNV-1a, 64 bits; not a defence against forgery). buf holds FORECAST_DIGEST_MAX.
 */
enum {
	FORECAST_DIGEST_MAX = 17
};
const char *forecast_digest(const struct forecast *f, char *buf);

#endif
