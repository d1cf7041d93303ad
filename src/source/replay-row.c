#include "config.h"

#include "base/mem.h"
#include "base/text.h"
#include "base/zone.h"
#include "model/record.h"
#include "model/schedule.h"
#include "source/replay-inside.h"

#include <string.h>

enum {
	MAKER_TEXT_MAX = 1024 * 1024,
};

void replay_maker_init(struct replay_maker *m)
{
	m->draft = draft_new();
	verdict_draft_init(&m->verdict);
	str_init(&m->text, MAKER_TEXT_MAX);
	str_init(&m->other, MAKER_TEXT_MAX);
	m->schedule = NULL;
}

void replay_maker_release(struct replay_maker *m)
{
	draft_free(m->draft);
	verdict_draft_release(&m->verdict);
	str_release(&m->text);
	str_release(&m->other);
	schedule_unref(m->schedule);
}

/* The first of a list's items; NULL: there is none, or it is no list. */
static const struct json_node *first_item(const struct json_node *list)
{
	return json_node_count(list) ? json_node_first(list) : NULL;
}

/* ---- details ---- */

/* A detail's value as a number; false where it is none of that type. */
static bool detail_number(enum detail_id id, const struct json_node *value, int64_t *ret)
{
	switch (detail_word(id)->type) {
	case DETAIL_TYPE_HEX:
		return replay_big(value, 16, ret);
	case DETAIL_TYPE_BIG:
		return replay_big(value, 10, ret);
	case DETAIL_TYPE_TIME:
		*ret = replay_time(value);
		return *ret != TIME_UNKNOWN;
	case DETAIL_TYPE_BOOL:
		*ret = json_node_is(value, JSON_KIND_TRUE);
		return *ret || json_node_is(value, JSON_KIND_FALSE);
	case DETAIL_TYPE_MS:
		*ret = record_is_moment(id) ? replay_moment(value) : replay_number(value);
		return true;
	default:
		*ret = replay_number(value);
		return json_node_is(value, JSON_KIND_NUMBER);
	}
}

/* Details go to the draft of the facts, or to that of the verdict, as evidence. */
static void add_detail(
	struct replay_maker *m, bool evidence, enum detail_id id, const struct json_node *value)
{
	int64_t number;

	if (json_node_is(value, JSON_KIND_NULL)) {
		if (!evidence)
			draft_hidden(m->draft, id);
	} else if (detail_word(id)->type == DETAIL_TYPE_TEXT) {
		if (!json_node_text(value))
			return;
		if (evidence)
			verdict_evidence_text(&m->verdict, id, replay_text(&m->text, value));
		else
			draft_text(m->draft, id, json_node_text(value));
	} else if (detail_number(id, value, &number)) {
		if (evidence)
			verdict_evidence_int(&m->verdict, id, number);
		else
			draft_int(m->draft, id, number);
	}
}

static void add_details(struct replay_maker *m, bool evidence, const struct json_node *object)
{
	const struct json_node *value, *item;

	if (!json_node_is(object, JSON_KIND_OBJECT))
		return;
	for (value = json_node_first(object); value; value = json_node_next(value)) {
		int id = detail_from_word(value->name);

		if (id < 0)
			continue;
		if (!json_node_is(value, JSON_KIND_LIST))
			add_detail(m, evidence, (enum detail_id)id, value);
		for (item = first_item(value); item; item = json_node_next(item))
			add_detail(m, evidence, (enum detail_id)id, item);
	}
}

static void copy_details(struct replay_maker *m, const struct detail *details, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		const struct detail *d = &details[i];

		if (d->hidden)
			draft_hidden(m->draft, d->id);
		else if (detail_word(d->id)->type == DETAIL_TYPE_TEXT)
			draft_text(m->draft, d->id, d->s);
		else
			draft_int(m->draft, d->id, d->i);
	}
}

/* ---- claims ---- */

static bool claim_kind(const char *word, enum claim_kind *ret)
{
	static const char *const kinds[] = { [CLAIM_HOLDER] = "holder",
		[CLAIM_WAITER] = "waiter",
		[CLAIM_FORMER] = "former",
		[CLAIM_MEMBER] = "member" };
	size_t i;

	for (i = 0; i < ARRAY_LEN(kinds); i++) {
		if (strcmp(kinds[i], word) != 0)
			continue;
		*ret = (enum claim_kind)i;
		return true;
	}
	return false;
}

static void add_claims(struct replay_maker *m, const struct json_node *claims)
{
	const struct json_node *claim;

	for (claim = first_item(claims); claim; claim = json_node_next(claim)) {
		const char *identity = replay_word(claim, "identity");
		int64_t position = replay_number(json_node_get(claim, "position"));
		enum claim_kind kind;

		if (!claim_kind(replay_word(claim, "kind"), &kind))
			continue;
		draft_claim(m->draft, kind, identity, strlen(identity), replay_word(claim, "key"));
		if (position > 0 && position <= UINT32_MAX)
			draft_position(m->draft, (uint32_t)position);
		add_details(m, false, json_node_get(claim, "detail"));
	}
}

static void copy_claims(struct replay_maker *m, const struct singleton *s)
{
	struct details details;
	uint32_t i;

	details_init(&details);

	for (i = 0; i < s->n_claims; i++) {
		const struct claim *c = &s->claims[i];

		draft_claim(m->draft, c->kind, claim_identity(c), strlen(claim_identity(c)),
			claim_key(c));
		draft_position(m->draft, c->position);
		details_of_claim(&details, s, c);
		copy_details(m, details.at, details.n);
	}
	details_release(&details);
}

/* ---- runs ---- */

static int32_t count_of(const struct json_node *object, const char *name)
{
	int64_t n = replay_number(json_node_get(object, name));

	return n < 0 || n > INT32_MAX ? -1 : (int32_t)n;
}

static int64_t time_of(const struct json_node *object, const char *name)
{
	return replay_time(json_node_get(object, name));
}

static void add_pod(struct replay_maker *m, const struct json_node *pod)
{
	draft_pod(m->draft, &(struct pod){
				    .name = replay_word(pod, "name"),
				    .key = replay_word(pod, "key"),
				    .node = json_node_text(json_node_get(pod, "node")),
				    .reason = json_node_text(json_node_get(pod, "reason")),
				    .phase = pod_phase_from_word(replay_word(pod, "phase")),
				    .node_ready = replay_tristate(json_node_get(pod, "node_ready")),
				    .node_gone = replay_true(pod, "node_gone"),
				    .containers_running = count_of(pod, "containers_running"),
				    .restarts = count_of(pod, "restarts"),
				    .start_us = time_of(pod, "start"),
				    .end_us = time_of(pod, "end"),
				    .deleted_us = time_of(pod, "deleted"),
			    });
	add_details(m, false, json_node_get(pod, "detail"));
}

static void add_run(struct replay_maker *m, const struct json_node *run)
{
	int state = run_state_from_word(replay_word(run, "state"));
	const struct json_node *pod;
	int32_t parallelism = count_of(run, "parallelism");

	draft_run(m->draft, &(struct run){
				    .name = replay_word(run, "name"),
				    .key = replay_word(run, "key"),
				    .state = state < 0 ? RUN_UNKNOWN : (enum run_state)state,
				    .listed = replay_tristate(json_node_get(run, "listed")),
				    .manual = replay_true(run, "manual"),
				    .unseen = replay_true(run, "unseen"),
				    .attempts = count_of(run, "attempts"),
				    .slot_us = time_of(run, "slot"),
				    .created_us = time_of(run, "created"),
				    .start_us = time_of(run, "start"),
				    .end_us = time_of(run, "end"),
				    .deleted_us = time_of(run, "deleted"),
				    .deadline_s = replay_number(json_node_get(run, "deadline_s")),
				    .parallelism = parallelism < 0 ? 1 : parallelism,
			    });
	add_details(m, false, json_node_get(run, "detail"));
	pod = first_item(json_node_get(run, "pods"));
	for (; pod; pod = json_node_next(pod))
		add_pod(m, pod);
}

static void add_runs(struct replay_maker *m, const struct json_node *runs)
{
	const struct json_node *run;

	for (run = first_item(runs); run; run = json_node_next(run))
		add_run(m, run);
}

static void copy_runs(struct replay_maker *m, const struct singleton *s)
{
	uint32_t i, k;

	for (i = 0; i < s->more->n_runs; i++) {
		const struct run *run = &s->more->runs[i];

		draft_run(m->draft, run);
		copy_details(m, run->details, run->n_details);
		for (k = 0; k < run->n_pods; k++) {
			draft_pod(m->draft, &run->pods[k]);
			copy_details(m, run->pods[k].details, run->pods[k].n_details);
		}
	}
}

/* ---- the schedule ---- */

/* Its text as the server said it. */
static void unescape(struct str *out, const char *text)
{
	str_clear(out);
	if (text_unescape(out, text)) {
		str_clear(out);
		str_add(out, text);
	}
}

static void add_schedule(struct replay_maker *m, const struct json_node *object)
{
	const char *zone = json_node_text(json_node_get(object, "zone"));

	if (!json_node_is(object, JSON_KIND_OBJECT))
		return;
	/* A zone within the text is found there again. */
	if (replay_true(object, "zone_in_text"))
		zone = NULL;
	unescape(&m->text, replay_word(object, "text"));
	unescape(&m->other, zone ? zone : "");
	schedule_unref(m->schedule);
	m->schedule = schedule_new(m->text.s, zone ? m->other.s : NULL, zone_load);
	draft_schedule(m->draft, m->schedule);
}

/* ---- the facts ---- */

static bool begin_row(struct replay_maker *m, const char *source, const char *path,
	const struct json_node *what, const struct row *before)
{
	int mechanism, kind;
	int64_t token;

	if (!json_node_is(what, JSON_KIND_OBJECT)) {
		if (!before)
			return false;
		draft_begin_again(m->draft, before->s->mechanism, source, path);
		draft_name(m->draft, before->s->more->name);
		draft_token(m->draft, before->s->token_kind, before->s->token);
		return true;
	}
	mechanism = mechanism_from_word(replay_word(what, "mechanism"));
	if (mechanism < 0)
		return false;
	draft_begin_again(m->draft, (enum mechanism)mechanism, source, path);
	draft_name(m->draft, json_node_text(json_node_get(what, "name")));
	kind = token_kind_from_word(replay_word(what, "token_kind"));
	if (kind > 0 && replay_big(json_node_get(what, "token"), 10, &token))
		draft_token(m->draft, (enum token_kind)kind, token);
	return true;
}

static void add_lease(
	struct replay_maker *m, const struct json_node *lease, const struct row *before)
{
	if (json_node_is(lease, JSON_KIND_OBJECT)) {
		draft_lease(m->draft, replay_number(json_node_get(lease, "granted_ms")),
			replay_moment(json_node_get(lease, "end")),
			replay_moment(json_node_get(lease, "read")));
		draft_lease_known(m->draft, replay_moment(json_node_get(lease, "known")));
	} else if (before) {
		draft_lease(m->draft, before->s->lease_granted_ms, before->s->lease_deadline_ms,
			before->s->lease_read_ms);
		draft_lease_known(m->draft, before->s->more->lease_known_ms);
	}
}

static struct singleton *make_facts(struct replay_maker *m, const char *source, const char *path,
	const struct json_node *object, const struct row *before)
{
	const struct json_node *detail = json_node_get(object, "detail");
	const struct json_node *claims = json_node_get(object, "claims");
	const struct json_node *runs = json_node_get(object, "runs");
	const struct json_node *schedule = json_node_get(object, "schedule");

	if (!begin_row(m, source, path, json_node_get(object, "what"), before))
		return NULL;
	add_lease(m, json_node_get(object, "lease"), before);
	if (detail || !before)
		add_details(m, false, detail);
	else
		copy_details(m, singleton_details(before->s), before->s->n_details);
	if (claims || !before)
		add_claims(m, claims);
	else
		copy_claims(m, before->s);
	if (schedule || !before)
		add_schedule(m, schedule);
	else
		draft_schedule(m->draft, before->s->more->schedule);
	if (runs || !before)
		add_runs(m, runs);
	else
		copy_runs(m, before->s);
	return draft_finish(m->draft);
}

/* ---- the verdict ---- */

static void read_verdict(struct replay_maker *m, const struct json_node *verdict)
{
	int state = state_from_word(replay_word(verdict, "state"));
	struct verdict *v = &m->verdict.v;
	int64_t highest = 0;

	v->state = state < 0 ? STATE_UNKNOWN : (enum state)state;
	v->needs_attention = replay_true(verdict, "needs_attention");
	v->has_highest = replay_big(json_node_get(verdict, "highest_token"), 10, &highest);
	v->highest_token = highest;
	v->state_since_us = time_of(verdict, "state_since");
	v->first_seen_us = time_of(verdict, "first_seen");
	v->known_since_us = time_of(verdict, "known_since");
	v->fit = fitness_from_word(replay_word(verdict, "fit"));
	/* Kept until row_new has copied it: nothing else uses m->other until then. */
	m->verdict.role = replay_text(&m->other, json_node_get(verdict, "role"));
}

static void add_finding(struct replay_maker *m, const struct json_node *finding)
{
	int code = finding_from_word(replay_word(finding, "code"));
	int severity = severity_from_word(replay_word(finding, "severity"));
	const char *text = replay_text(&m->text, json_node_get(finding, "text"));

	/* One that a later version knows tells its sentence to no one here. */
	if (code < 0)
		return;
	verdict_add(&m->verdict, (enum finding_code)code,
		severity < 0 ? finding_word((enum finding_code)code)->severity
			     : (enum severity)severity,
		time_of(finding, "since"), "%s", text ? text : "");
	text = replay_text(&m->text, json_node_get(finding, "advice"));
	if (text)
		verdict_advise(&m->verdict, "%s", text);
	add_details(m, true, json_node_get(finding, "evidence"));
}

static void copy_finding(struct replay_maker *m, const struct finding *f)
{
	size_t i;

	verdict_add(&m->verdict, f->code, f->severity, f->since_us, "%s", f->text);
	if (f->advice)
		verdict_advise(&m->verdict, "%s", f->advice);
	for (i = 0; i < f->n_evidence; i++) {
		const struct detail *d = &f->evidence[i];

		if (detail_word(d->id)->type == DETAIL_TYPE_TEXT)
			verdict_evidence_text(&m->verdict, d->id, d->s);
		else
			verdict_evidence_int(&m->verdict, d->id, d->i);
	}
}

/* Only the record changes a verdict, never time alone. */
static void make_verdict(
	struct replay_maker *m, const struct json_node *object, const struct row *before)
{
	const struct json_node *verdict = json_node_get(object, "verdict");
	const struct json_node *findings = json_node_get(object, "findings"), *finding;
	size_t i;

	verdict_draft_begin(&m->verdict);
	if (verdict || !before) {
		read_verdict(m, verdict);
	} else {
		m->verdict.v = before->v;
		m->verdict.role = row_role(before);
	}
	for (finding = first_item(findings); finding; finding = json_node_next(finding))
		add_finding(m, finding);
	for (i = 0; !findings && before && i < before->v.n_findings; i++)
		copy_finding(m, &before->v.findings[i]);
}

struct row *replay_make_row(struct replay_maker *m, const char *source, const char *path,
	const struct json_node *object, const struct row *before)
{
	struct singleton *s = make_facts(m, source, path, object, before);

	if (!s)
		return NULL;
	make_verdict(m, object, before);
	return row_new(s, &m->verdict);
}

struct row *replay_make_judged(struct replay_maker *m, const char *source, const char *path,
	const struct json_node *object)
{
	draft_begin_again(m->draft, MECH_SOURCE, source, path);
	make_verdict(m, object, NULL);
	return row_new(draft_finish(m->draft), &m->verdict);
}
