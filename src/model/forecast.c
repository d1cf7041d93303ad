#include "config.h"

#include "base/clock.h"
#include "base/mem.h"
#include "model/forecast.h"
#include "model/snapshot.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	FORECAST_TEXT_MAX = 32 * 1024,
	LISTED_MOST = 12, /* of one list, as a sentence */
};

/* The groups of verbs of warnings.def; release counts as one or the other by what it is about. */
enum act_group {
	GROUP_TAKE = 1,
	GROUP_CANCEL = 2,
	GROUP_END = 4,
	GROUP_TRIGGER = 8,
	GROUP_RESUME = 16,
	GROUP_START = GROUP_TRIGGER | GROUP_RESUME,
	GROUP_OTHER = 32,
	GROUP_OUTSIDE = 64, /* of the built-in fleet: to a process or machine, not to a lock */
	GROUP_ALL = 63,
};

enum warning_target {
	TARGET_ANY,
	TARGET_HOLDER,
};

struct warning {
	enum finding_code code;
	enum severity least;
	enum warning_target target;
	unsigned verbs;
	const char *text;
};

#define TAKE    GROUP_TAKE
#define CANCEL  GROUP_CANCEL
#define END     GROUP_END
#define START   GROUP_START
#define TRIGGER GROUP_TRIGGER
#define RESUME  GROUP_RESUME
#define ALL     GROUP_ALL
static const struct warning warnings[] = {
#define WARNING(finding, severity, target, verbs, text) \
	{ FINDING_##finding, SEVERITY_##severity, TARGET_##target, verbs, text },
#include "model/warnings.def"
#undef WARNING
};
#undef TAKE
#undef CANCEL
#undef END
#undef START
#undef TRIGGER
#undef RESUME
#undef ALL

/* ---- whom it is about ---- */

static const struct claim *target_claim(const struct order *order)
{
	uint32_t i;

	for (i = 0; order->key && i < order->s->n_claims; i++)
		if (strcmp(claim_key(&order->s->claims[i]), order->key) == 0)
			return &order->s->claims[i];
	return NULL;
}

static bool target_is_run(const struct order *order)
{
	uint32_t i;

	for (i = 0; order->key && i < order->s->more->n_runs; i++)
		if (strcmp(order->s->more->runs[i].key, order->key) == 0)
			return true;
	return false;
}

/* The leader, or any holder of a lock that has no order. */
static bool target_holds(const struct order *order)
{
	const struct claim *claim = target_claim(order);

	return claim && claim->kind == CLAIM_HOLDER;
}

static bool target_waits(const struct order *order)
{
	const struct claim *claim = target_claim(order);

	return claim && claim->kind == CLAIM_WAITER;
}

static enum act_group group_of(const struct order *order)
{
	switch (order->verb) {
	case VERB_STEP_DOWN:
	case VERB_RELEASE:
	case VERB_REVOKE:
		return target_is_run(order) ? GROUP_END : GROUP_TAKE;
	case VERB_CANCEL:
		return GROUP_CANCEL;
	case VERB_KEEP_ONE:
		return GROUP_END;
	case VERB_RESUME:
		return GROUP_RESUME;
	case VERB_TRIGGER:
		return GROUP_TRIGGER;
	default:
		return verb_word(order->verb)->where == WHERE_BUILT_IN ? GROUP_OUTSIDE
								       : GROUP_OTHER;
	}
}

/* ---- warnings ---- */

static void warn_of(struct forecast *f, const struct forecast_input *in,
	const struct finding *finding, enum act_group group)
{
	struct str text;
	size_t i;

	for (i = 0; i < sizeof(warnings) / sizeof(warnings[0]); i++) {
		const struct warning *w = &warnings[i];

		if (w->code != finding->code || finding->severity < w->least ||
			!(w->verbs & group) ||
			(w->target == TARGET_HOLDER && !target_holds(in->order)))
			continue;
		str_init(&text, FORECAST_TEXT_MAX);
		str_addf(&text, "%s %s", finding->text, w->text);
		plan_add(&f->warnings, finding_word(finding->code)->word, text.s);
		str_release(&text);
	}
}

static void warn_of_row(struct forecast *f, const struct forecast_input *in, const struct row *row)
{
	enum act_group group = group_of(in->order);
	size_t i;

	for (i = 0; row && i < row->v.n_findings; i++)
		warn_of(f, in, &row->v.findings[i], group);
}

/* What a cancel does to a session that executes nothing, whatever the judge calls it. */
static void warn_idle_cancel(struct forecast *f, const struct order *order)
{
	const struct claim *claim = target_claim(order);
	const char *state = claim ? claim_text(claim, DETAIL_STATE, NULL) : NULL;
	size_t i;

	if (order->verb != VERB_CANCEL || !state || strcmp(state, "active") == 0)
		return;
	for (i = 0; i < f->warnings.n; i++)
		if (strcmp(f->warnings.items[i].what, finding_word(FINDING_IDLE_HOLDER)->word) == 0)
			return;
	plan_add(&f->warnings, finding_word(FINDING_IDLE_HOLDER)->word,
		"Its session executes nothing now. A cancel does nothing to an idle session: it "
		"keeps its locks.");
}

static void add_warnings(struct forecast *f, const struct forecast_input *in)
{
	size_t i;

	for (i = 0; in->plan && i < in->plan->warnings.n; i++)
		plan_add(&f->warnings, "source", in->plan->warnings.items[i].what);
	warn_of_row(f, in, in->row);
	warn_of_row(f, in, in->snap ? in->snap->self : NULL);
	warn_of_row(f, in, in->cross);
	warn_idle_cancel(f, in->order);
}

/* ---- overlap ---- */

/* A transaction that was prepared is at rest: nothing is done under its locks. */
static bool target_is_at_rest(const struct order *order)
{
	const struct claim *claim = target_claim(order);

	return claim && claim_text(claim, DETAIL_PREPARED, NULL);
}

/* What may go on working: the holder from whom it is taken, the run that is ended. */
static enum tristate overlap_possible(const struct forecast_input *in, enum act_group group)
{
	if (group == GROUP_TAKE)
		return target_holds(in->order) && !target_is_at_rest(in->order) ? TRI_YES : TRI_NO;
	if (group == GROUP_END)
		return TRI_YES;
	if (group == GROUP_OUTSIDE)
		return in->order->key ? TRI_UNKNOWN : TRI_NO;
	return group & GROUP_START ? TRI_UNKNOWN : TRI_NO;
}

const char *forecast_evicted(const struct forecast *f)
{
	if (f->verb == VERB_KEEP_ONE)
		return "the others";
	return f->identity ? f->identity : "the old one";
}

static void say_overlap(struct forecast *f, const struct forecast_input *in, struct str *out)
{
	enum act_group group = group_of(in->order);
	const char *who = forecast_evicted(f);

	if (f->overlap == TRI_NO) {
		str_add(out, group == GROUP_CANCEL    ? "none: the session keeps its locks"
			     : group == GROUP_OTHER   ? "none: runs that are at work go on"
			     : group == GROUP_OUTSIDE ? "none: no lock is touched"
			     : target_is_at_rest(in->order)
				     ? "none: no process stands behind it"
				     : "none: it takes the work from nobody");
		return;
	}
	if (f->overlap == TRI_UNKNOWN) {
		str_add(out,
			group == GROUP_OUTSIDE
				? "to be seen: who takes over, and whether the old one works on"
				: "a run that is at work already goes on beside it");
		return;
	}
	str_addf(out, "possible until %s %s seen to stop", who,
		f->verb == VERB_KEEP_ONE ? "are" : "is");
	if (in->plan && in->plan->stops_holder)
		str_add(out, ": it learns of it, and stops when it notices");
	if (in->role && in->role->fenced == TRI_YES)
		str_add(out, "; what it writes late is refused by the fencing token");
	else if (in->role && in->role->idempotent == TRI_YES)
		str_add(out, "; the work is safe to repeat");
}

static void add_overlap(struct forecast *f, const struct forecast_input *in)
{
	struct str text;

	f->overlap = overlap_possible(in, group_of(in->order));
	str_init(&text, FORECAST_TEXT_MAX);
	say_overlap(f, in, &text);
	f->overlap_text = str_take(&text);
}

/* ---- making it ---- */

static char *copied(const char *text)
{
	return text ? xstrdup(text) : NULL;
}

/* A missing permission is told by refuse_without_permission. */
static void take_reasons(struct forecast *f, const struct plan *p)
{
	bool missing = p->verdict == PLAN_REFUSED && p->permission == TRI_NO && p->permission_why;
	size_t i;

	for (i = 0; i < p->reasons.n; i++)
		if (!missing || strcmp(p->reasons.items[i].what, p->permission_why) != 0)
			plan_add(&f->reasons, p->reasons.items[i].what, NULL);
}

static void take_plan(struct forecast *f, const struct plan *p)
{
	f->verdict = p->verdict;
	take_reasons(f, p);
	plan_list_copy(&f->destroys, &p->destroys);
	plan_list_copy(&f->keeps, &p->keeps);
	plan_list_copy(&f->told, &p->told);
	f->request = copied(p->request);
	f->guarded_by = copied(p->guarded_by);
	f->successor = copied(p->successor);
	f->gap_min_ms = p->gap_min_ms;
	f->gap_max_ms = p->gap_max_ms;
	f->gap_why = copied(p->gap_why);
	f->alone = copied(p->alone);
	f->last_sign_us = p->last_sign_us;
	f->last_sign = copied(p->last_sign);
	f->permission = p->permission;
	f->permission_why = copied(p->permission_why);
	f->allowed = p->verdict == PLAN_READY;
}

/* The lease's state and the token, where it is the leader's. */
static void add_target(struct forecast *f, const struct order *order)
{
	const struct singleton *s = order->s;

	f->id = xstrdup(s->id);
	f->identity = copied(order->identity);
	f->key = copied(order->key);
	f->about_run = target_is_run(order);
	f->about_holder = !f->about_run && group_of(order) == GROUP_TAKE && target_holds(order);
	f->about_waiter = target_waits(order);
	/* The token is the leader's, or the row's where the verb is about that. */
	f->has_token =
		s->has_token && (target_holds(order) || verb_word(order->verb)->about == ABOUT_ROW);
	f->token = f->has_token ? s->token : 0;
}

static void refuse_without_permission(struct forecast *f)
{
	struct str text;

	if (f->permission != TRI_NO || f->verdict == PLAN_CHANGED)
		return;
	str_init(&text, FORECAST_TEXT_MAX);
	str_addf(&text, "the server will not allow it: %s",
		f->permission_why ? f->permission_why : "the permission is missing");
	forecast_refuse(f, text.s);
	str_release(&text);
}

struct forecast *forecast_new(const struct forecast_input *in)
{
	struct forecast *f = xcalloc(1, sizeof(*f));

	f->refs = 1;
	f->verb = in->order->verb;
	f->at_us = in->now_us;
	f->gap_min_ms = f->gap_max_ms = f->last_sign_us = TIME_UNKNOWN;
	f->verdict = PLAN_REFUSED;
	f->environment = copied(in->snap ? in->snap->environment : NULL);
	add_target(f, in->order);
	if (in->plan)
		take_plan(f, in->plan);
	refuse_without_permission(f);
	add_warnings(f, in);
	add_overlap(f, in);
	return f;
}

struct forecast *forecast_ref(const struct forecast *f)
{
	struct forecast *own = (struct forecast *)(uintptr_t)f;

	if (own)
		__atomic_add_fetch(&own->refs, 1, __ATOMIC_RELAXED);
	return own;
}

void forecast_unref(const struct forecast *f)
{
	struct forecast *own = (struct forecast *)(uintptr_t)f;

	if (!own || __atomic_sub_fetch(&own->refs, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	plan_list_release(&own->reasons);
	plan_list_release(&own->warnings);
	plan_list_release(&own->destroys);
	plan_list_release(&own->keeps);
	plan_list_release(&own->told);
	free(own->id);
	free(own->identity);
	free(own->key);
	free(own->environment);
	free(own->request);
	free(own->guarded_by);
	free(own->successor);
	free(own->gap_why);
	free(own->alone);
	free(own->last_sign);
	free(own->overlap_text);
	free(own->permission_why);
	free(own);
}

void forecast_refuse(struct forecast *f, const char *reason)
{
	plan_add(&f->reasons, reason, NULL);
	f->allowed = false;
	if (f->verdict == PLAN_READY)
		f->verdict = PLAN_REFUSED;
}

const char *permission_word(enum tristate permission)
{
	static const char *const words[] = {
		[TRI_UNKNOWN] = "unknown",
		[TRI_NO] = "missing",
		[TRI_YES] = "ok",
	};

	return words[permission];
}

/* ---- as sentences ---- */

struct telling {
	const struct forecast *f;
	struct str text;
	forecast_line line;
	void *arg;
};

/* Hands the text over, and begins the next. */
static void tell(struct telling *t, const char *label)
{
	if (t->text.len)
		t->line(t->arg, label, t->text.s);
	str_clear(&t->text);
}

static const char *about_label(const struct forecast *f)
{
	switch (f->verb) {
	case VERB_STEP_DOWN:
	case VERB_RELEASE:
	case VERB_REVOKE:
		return f->about_run      ? "ends the run"
		       : f->about_waiter ? "ends the wait"
					 : "takes it from";
	case VERB_CANCEL:
		return "cancels";
	case VERB_KEEP_ONE:
		return "keeps only";
	default:
		return "is about";
	}
}

static void tell_about(struct telling *t)
{
	const struct forecast *f = t->f;

	str_add(&t->text, f->identity ? f->identity : f->id);
	if (f->has_token)
		str_addf(&t->text, "  token %" PRId64, f->token);
	if (f->key)
		str_addf(&t->text, "  (%s)", f->key);
	tell(t, about_label(f));
}

static void add_list(struct str *out, const struct plan_list *list)
{
	size_t shown = list->n > LISTED_MOST ? LISTED_MOST : list->n, i;

	for (i = 0; i < shown; i++)
		str_addf(out, "%s%s%s%s", i ? "; " : "", list->items[i].what,
			list->items[i].id[0] ? " " : "", list->items[i].id);
	if (list->n + list->cut > shown)
		str_addf(out, "; and %zu more", list->n + list->cut - shown);
}

static void tell_price(struct telling *t)
{
	const struct forecast *f = t->f;

	add_list(&t->text, &f->destroys);
	tell(t, "destroys");
	add_list(&t->text, &f->keeps);
	tell(t, "keeps");
	if (!f->told.n && f->request && f->overlap == TRI_YES)
		str_addf(&t->text, "nobody: %s %s not asked, and may still work",
			forecast_evicted(f), f->verb == VERB_KEEP_ONE ? "are" : "is");
	else if (!f->told.n && f->request)
		str_add(&t->text, "nobody");
	add_list(&t->text, &f->told);
	tell(t, "tells");
}

static void add_gap(struct str *out, const struct forecast *f)
{
	char least[CLOCK_TEXT_MAX], most[CLOCK_TEXT_MAX];

	if (f->gap_max_ms != TIME_UNKNOWN) {
		clock_format_age(least, f->gap_min_ms == TIME_UNKNOWN ? 0 : f->gap_min_ms);
		clock_format_age(most, f->gap_max_ms);
		str_addf(out, ", after %s to %s", least, most);
	} else if (f->gap_min_ms != TIME_UNKNOWN && f->gap_min_ms > 0) {
		clock_format_age(least, f->gap_min_ms);
		str_addf(out, ", after %s or more", least);
	}
	if (f->gap_why)
		str_addf(out, ": %s", f->gap_why);
}

static void tell_next(struct telling *t)
{
	const struct forecast *f = t->f;

	if (!f->request || f->verb == VERB_CANCEL || f->verb == VERB_SUSPEND)
		return;
	if (f->successor || f->about_holder)
		str_add(&t->text, f->successor ? f->successor : "nobody is seen to wait");
	if (t->text.len)
		add_gap(&t->text, f);
	else if (f->gap_why)
		str_add(&t->text, f->gap_why);
	tell(t, "next");
}

static void tell_overlap(struct telling *t)
{
	const struct forecast *f = t->f;
	char age[CLOCK_TEXT_MAX];

	str_add(&t->text, f->overlap_text);
	if (f->overlap == TRI_YES && f->last_sign_us != TIME_UNKNOWN) {
		clock_format_age(age, clock_minus(f->at_us, f->last_sign_us) / 1000);
		str_addf(&t->text, "; last sign %s before this forecast%s%s%s", age,
			f->last_sign ? " (" : "", f->last_sign ? f->last_sign : "",
			f->last_sign ? ")" : "");
	}
	tell(t, "overlap");
}

static void tell_permission(struct telling *t)
{
	const struct forecast *f = t->f;

	if (!f->request && f->permission != TRI_NO)
		return;
	str_add(&t->text, permission_word(f->permission));
	if (f->permission_why)
		str_addf(&t->text, " (%s)", f->permission_why);
	tell(t, "permission");
}

/* Last, as a statement may fill a screen: what comes of it is read before. */
static void tell_request(struct telling *t)
{
	const struct forecast *f = t->f;

	if (!f->request)
		return;
	str_add(&t->text, f->request);
	tell(t, "sends");
	str_add(&t->text, f->guarded_by ? f->guarded_by : "nothing: the server compares nothing");
	tell(t, "guarded by");
}

static void tell_each(struct telling *t, const char *label, const struct plan_list *list, bool id)
{
	size_t i;

	for (i = 0; i < list->n; i++) {
		str_add(&t->text, id ? list->items[i].id : list->items[i].what);
		tell(t, label);
	}
}

void forecast_tell(const struct forecast *f, forecast_line line, void *arg)
{
	struct telling t = { .f = f, .line = line, .arg = arg };

	str_init(&t.text, FORECAST_TEXT_MAX);
	tell_each(&t, "not now", &f->reasons, false);
	tell_about(&t);
	tell_price(&t);
	tell_next(&t);
	tell_overlap(&t);
	tell_permission(&t);
	if (f->alone)
		str_add(&t.text, f->alone);
	tell(&t, "if left alone");
	tell_each(&t, "!", &f->warnings, true);
	tell_request(&t);
	str_release(&t.text);
}

/* ---- its digest ---- */

static void digest_line(void *arg, const char *label, const char *text)
{
	const char *const parts[] = { label, text };
	uint64_t *hash = arg;
	size_t i, k;

	for (i = 0; i < 2; i++)
		for (k = 0; k == 0 || parts[i][k - 1]; k++)
			*hash = (*hash ^ (unsigned char)parts[i][k]) * 0x100000001b3ULL;
}

const char *forecast_digest(const struct forecast *f, char *buf)
{
	uint64_t hash = 0xcbf29ce484222325ULL;

	forecast_tell(f, digest_line, &hash);
	snprintf(buf, FORECAST_DIGEST_MAX, "%016" PRIx64, hash);
	return buf;
}
