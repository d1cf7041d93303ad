#include "config.h"

#include "control/session-events.h"
#include "base/clock.h"
#include "control/session.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	RUNS_TOLD = 200, /* the newest: what becomes of the rest of a pile is told by its finding */
};

void session_event_send(struct session *s, struct event *e)
{
	if (s->file.path)
		history_add(&s->history, e);
	s->shared->event(s->shared->arg, e);
}

struct event *session_event_now(
	const struct session *s, const char *id, int64_t token, const char *what, const char *text)
{
	return event_new(clock_wall_us(s->shared->clock), token, s->config->name, id, what, text);
}

static void emit(
	struct session *s, const char *id, int64_t token, const char *what, const char *text)
{
	session_event_send(s, session_event_now(s, id, token, what, text));
}

void session_event_source(struct session *s, const char *what, const char *text)
{
	emit(s, NULL, 0, what, text);
}

void session_event_tokens(
	struct str *text, const struct singleton *s, const struct observed *observed)
{
	if (!s->has_token)
		return;
	if (observed->token_before && observed->token_before != observed->token_after)
		str_addf(text, "; token %" PRId64 " > %" PRId64, observed->token_before,
			observed->token_after);
	else
		str_addf(text, "; token %" PRId64, s->token);
}

/* A thing of the built-in fleet itself comes and goes: nobody takes it. */
static bool thing_text(struct str *text, const struct singleton *s, const struct observed *observed)
{
	const struct claim *holder = singleton_holder(s);

	if (observed->freed)
		str_addf(text, "%s is there no more", observed->before);
	else if (holder && (observed->changed_hands || observed->new_session))
		str_addf(text, "%s is there again, as another", claim_identity(holder));
	else if (holder && (observed->taken || observed->appeared))
		str_addf(text, "%s is there", claim_identity(holder));
	else if (observed->appeared)
		str_add(text, "seen for the first time");
	return text->len > 0;
}

/* A change of hands, in one sentence; false when the holder is the same. */
static bool hand_over_text(
	struct str *text, const struct singleton *s, const struct observed *observed)
{
	const struct claim *holder = singleton_holder(s);
	const char *identity = holder ? claim_identity(holder) : "";

	if (s->mechanism == MECH_PROCESS)
		return thing_text(text, s, observed);
	if (observed->freed)
		str_addf(text, "nobody holds it any more; it was %s", observed->before);
	else if (observed->changed_hands)
		str_addf(text, "%s took it from %s", identity, observed->before);
	else if (observed->new_session)
		str_addf(text, "%s holds it again, with a new session", identity);
	else if (observed->taken || observed->appeared)
		str_addf(text, holder ? "%s took it" : "seen for the first time%s", identity);
	else
		return false;
	if (!observed->freed)
		session_event_tokens(text, s, observed);
	return true;
}

static const char *hand_over_word(const struct observed *observed)
{
	if (observed->freed)
		return "released";
	return observed->changed_hands || observed->new_session ? "hand-over" : "took";
}

/* ---- runs ---- */

static const struct run *find_run(const struct singleton *s, const char *key)
{
	uint32_t i;

	for (i = 0; i < s->more->n_runs; i++)
		if (strcmp(s->more->runs[i].key, key) == 0)
			return &s->more->runs[i];
	return NULL;
}

static void run_began(struct session *s, const char *id, const struct run *run)
{
	char slot[CLOCK_TEXT_MAX];
	struct str text;

	str_init(&text, 16384);
	str_addf(&text, "%s began", run->name);
	if (run->manual)
		str_add(&text, ", started by hand");
	if (!run->manual && run->slot_us != TIME_UNKNOWN) {
		clock_format_utc(slot, run->slot_us, 0);
		str_addf(&text, ", for the slot %s", slot);
	}
	emit(s, id, 0, "began", text.s);
	str_release(&text);
}

static void run_ended(struct session *s, const char *id, const struct run *run)
{
	char age[CLOCK_TEXT_MAX];
	struct str text;

	str_init(&text, 16384);
	str_addf(&text, "%s %s", run->name, run_state_word(run->state));
	if (run->start_us != TIME_UNKNOWN && run->end_us != TIME_UNKNOWN) {
		clock_format_age(age, clock_minus(run->end_us, run->start_us) / 1000);
		str_addf(&text, " after %s", age);
	}
	emit(s, id, 0, "ended", text.s);
	str_release(&text);
}

static bool has_ended(const struct run *run)
{
	return run->state == RUN_SUCCEEDED || run->state == RUN_FAILED;
}

/* Its Jobs could not be read: that a run is not there says nothing. */
static bool runs_unseen(const struct singleton *s)
{
	return singleton_int(s, DETAIL_JOBS_HIDDEN, 0);
}

/* What became of the runs between two pictures of a CronJob; the first one tells no news. */
static void session_event_runs(
	struct session *s, const struct singleton *before, const struct singleton *after)
{
	uint32_t i;

	if (runs_unseen(before) || runs_unseen(after))
		return;
	for (i = after->more->n_runs < RUNS_TOLD ? after->more->n_runs : RUNS_TOLD; i-- > 0;) {
		const struct run *run = &after->more->runs[i], *was = find_run(before, run->key);

		if (!was)
			run_began(s, after->id, run);
		if (has_ended(run) && !(was && has_ended(was)))
			run_ended(s, after->id, run);
	}
	for (i = 0; i < before->more->n_runs && i < RUNS_TOLD; i++) {
		const struct run *run = &before->more->runs[i];
		struct str text;

		if (!run_is_open(run) || find_run(after, run->key))
			continue;
		str_init(&text, 16384);
		str_addf(&text, "%s was deleted before it was seen to end", run->name);
		emit(s, after->id, 0, "ended", text.s);
		str_release(&text);
	}
}

/* That a run begins and ends is told as such. */
static bool is_state_news(const struct singleton *s, enum state before, enum state after)
{
	bool calm = (before == STATE_HELD || before == STATE_FREE) &&
		    (after == STATE_HELD || after == STATE_FREE);

	return before != after && !(calm && singleton_is_job(s));
}

/* A state that needs a person, or ends to: that others wait, or no more, is no matter of days. */
static bool is_state_of_days(enum state before, enum state after)
{
	return before <= STATE_EXPIRING || after <= STATE_EXPIRING;
}

static void emit_state(struct session *s, const char *id, enum state before, enum state after)
{
	struct event *e;
	char text[64];

	snprintf(text, sizeof(text), "%s > %s", state_word(before)->word, state_word(after)->word);
	e = session_event_now(s, id, 0, "state", text);
	if (is_state_of_days(before, after))
		session_event_send(s, e);
	else
		s->shared->event(s->shared->arg, e);
}

/* Who held it from then on, or until then. */
static void emit_hold(struct session *s, const struct singleton *facts,
	const struct observed *observed, const char *text)
{
	const struct claim *holder = singleton_holder(facts);
	bool first = observed->appeared && !observed->taken;
	enum event_hold hold = observed->freed ? EVENT_LET_GO
			       : !holder       ? EVENT_NO_HOLD
			       : first         ? EVENT_SEEN
					       : EVENT_TOOK;
	const char *identity = observed->freed ? observed->before
			       : holder        ? claim_identity(holder)
					       : NULL;

	session_event_send(
		s, event_held(clock_wall_us(s->shared->clock), facts->has_token ? facts->token : 0,
			   s->config->name, facts->id, hand_over_word(observed), text, hold,
			   identity, holder && !observed->freed ? claim_key(holder) : NULL));
}

void session_event_row(struct session *s, const struct row *before, const struct row *after,
	const struct observed *observed)
{
	const struct singleton *facts = after->s;
	struct str text;

	str_init(&text, 16384);
	if (singleton_is_job(facts)) {
		if (before)
			session_event_runs(s, before->s, facts);
	} else if (hand_over_text(&text, facts, observed)) {
		session_event_before(s, facts->id, observed);
		emit_hold(s, facts, observed, text.s);
	}
	if (before && is_state_news(facts, before->v.state, after->v.state))
		emit_state(s, facts->id, before->v.state, after->v.state);
	str_release(&text);
	session_event_findings(s, facts->id, before ? &before->v : NULL, &after->v);
}

void session_event_gone(struct session *s, const char *id, const struct observed *observed)
{
	const struct remembered *r = memory_find(&s->memory, id);
	struct str text;

	if (!observed->freed)
		return;
	if (!r || r->mechanism != MECH_K8S_CRONJOB)
		session_event_before(s, id, observed);
	str_init(&text, 16384);
	/* A Lease and a CronJob stay when nobody holds them: who deletes them tells no holder. */
	if (r && r->mechanism == MECH_K8S_LEASE)
		str_addf(&text, "the Lease was deleted; %s held it, and was not told",
			observed->before);
	else if (r && r->mechanism == MECH_K8S_CRONJOB)
		str_addf(&text, "the CronJob was deleted; its run %s was not over",
			observed->before);
	else if (r && r->mechanism == MECH_PROCESS)
		str_addf(&text, "%s is there no more", observed->before);
	else
		str_addf(&text, "nobody holds it any more; it was %s", observed->before);
	session_event_send(s, event_held(clock_wall_us(s->shared->clock), 0, s->config->name, id,
				      "released", text.s, EVENT_LET_GO, observed->before, NULL));
	str_release(&text);
}

static bool has_code(const struct verdict *v, enum finding_code code)
{
	size_t i;

	for (i = 0; v && i < v->n_findings; i++)
		if (v->findings[i].code == code)
			return true;
	return false;
}

void session_event_findings(struct session *s, const char *id, const struct verdict *before,
	const struct verdict *after)
{
	struct str text;
	size_t i;

	str_init(&text, 16384);
	for (i = 0; i < after->n_findings; i++) {
		const struct finding *f = &after->findings[i];

		/* What is only worth knowing would drown what happened. */
		if (f->severity == SEVERITY_INFO || has_code(before, f->code))
			continue;
		str_clear(&text);
		str_addf(&text, "%s: %s", finding_word(f->code)->word, f->text);
		emit(s, id, 0, "finding", text.s);
	}
	for (i = 0; before && i < before->n_findings; i++) {
		const struct finding *f = &before->findings[i];

		if (f->severity == SEVERITY_INFO || has_code(after, f->code))
			continue;
		str_clear(&text);
		str_addf(&text, "%s is over", finding_word(f->code)->word);
		emit(s, id, 0, "cleared", text.s);
	}
	str_release(&text);
}
