#include "config.h"

#include "base/mem.h"
#include "model/record-put.h"
#include "model/redact.h"
#include "model/schedule.h"

#include <string.h>

/* One row as JSON: facts and verdict, member by member, so that only what differs is written. */

bool record_is_moment(enum detail_id id)
{
	return id == DETAIL_TTL_DEADLINE || id == DETAIL_TTL_READ || id == DETAIL_RENEWED ||
	       id == DETAIL_TERM_CHANGED || id == DETAIL_LEASES_LOST_AT;
}

/* How many of n are written. */
static uint32_t most_of(struct record_writer *w, size_t n)
{
	if (n <= w->most)
		return (uint32_t)n;
	w->cut = true;
	return w->most;
}

static void put_value(struct record_writer *w, const struct detail *d)
{
	if (d->hidden) {
		put_null(w);
		return;
	}
	switch (detail_word(d->id)->type) {
	case DETAIL_TYPE_TEXT:
		put_text(w, w->redact ? redact_detail(w->redact, d->id, d->s) : d->s);
		break;
	case DETAIL_TYPE_HEX:
		put_hex(w, (uint64_t)d->i);
		break;
	case DETAIL_TYPE_BIG:
		put_big(w, d->i);
		break;
	case DETAIL_TYPE_TIME:
		put_time(w, d->i);
		break;
	case DETAIL_TYPE_BOOL:
		put_bool(w, d->i != 0);
		break;
	case DETAIL_TYPE_MS:
		if (record_is_moment(d->id))
			put_moment(w, d->i);
		else
			put_number(w, d->i);
		break;
	default:
		put_int(w, d->i);
		break;
	}
}

/* Those that stand several times are a list, at the first one's place. */
static void put_details(struct record_writer *w, const struct detail *details, size_t n_all)
{
	uint16_t count[DETAIL_COUNT] = { 0 };
	uint32_t n = most_of(w, n_all), i, k;

	for (i = 0; i < n; i++)
		count[details[i].id]++;
	put_open(w, '{');
	for (i = 0; i < n; i++) {
		const struct detail *d = &details[i];

		if (!count[d->id])
			continue;
		put_key(w, detail_word(d->id)->word);
		if (count[d->id] > 1)
			put_open(w, '[');
		for (k = i; k < n && count[d->id] > 1; k++)
			if (details[k].id == d->id)
				put_value(w, &details[k]);
		if (count[d->id] > 1)
			put_close(w, ']');
		else
			put_value(w, d);
		count[d->id] = 0;
	}
	put_close(w, '}');
}

/* ---- the members ---- */

static void put_what(struct record_writer *w, const struct row *row)
{
	const struct singleton *s = row->s;

	put_open(w, '{');
	put_key(w, "mechanism");
	put_text(w, mechanism_word(s->mechanism)->word);
	put_key(w, "name");
	put_name(w, s->name);
	put_key(w, "token_kind");
	put_text(w, token_kind_word(s->token_kind)->word);
	put_key(w, "token");
	if (s->has_token)
		put_big(w, s->token);
	else
		put_null(w);
	put_close(w, '}');
}

static void put_lease(struct record_writer *w, const struct row *row)
{
	const struct singleton *s = row->s;

	put_open(w, '{');
	put_key(w, "granted_ms");
	put_number(w, s->lease_granted_ms);
	put_key(w, "end");
	put_moment(w, s->lease_deadline_ms);
	put_key(w, "read");
	put_moment(w, s->lease_read_ms);
	put_key(w, "known");
	put_moment(w, s->lease_known_ms);
	put_close(w, '}');
}

static void put_own_details(struct record_writer *w, const struct row *row)
{
	put_details(w, singleton_details(row->s), row->s->n_details);
}

static void put_claims(struct record_writer *w, const struct row *row)
{
	static const char *const kinds[] = { [CLAIM_HOLDER] = "holder",
		[CLAIM_WAITER] = "waiter",
		[CLAIM_FORMER] = "former",
		[CLAIM_MEMBER] = "member" };
	const struct singleton *s = row->s;
	uint32_t n = most_of(w, s->n_claims), i;

	put_open(w, '[');
	for (i = 0; i < n; i++) {
		const struct claim *c = &s->claims[i];

		put_open(w, '{');
		put_key(w, "kind");
		put_text(w, kinds[c->kind]);
		put_key(w, "identity");
		put_name(w, c->identity);
		put_key(w, "key");
		put_path(w, c->key);
		if (c->position) {
			put_key(w, "position");
			put_int(w, c->position);
		}
		put_key(w, "detail");
		put_details(w, c->details, c->n_details);
		put_close(w, '}');
	}
	put_close(w, ']');
}

static void put_schedule(struct record_writer *w, const struct row *row)
{
	const struct schedule *s = row->s->schedule;

	if (!s) {
		put_null(w);
		return;
	}
	put_open(w, '{');
	put_key(w, "text");
	put_text(w, s->text);
	put_key(w, "zone");
	put_text(w, s->zone_name);
	put_key(w, "zone_in_text");
	put_bool(w, s->zone_in_text);
	put_close(w, '}');
}

/* A count; negative: it was not told. */
static void put_count(struct record_writer *w, const char *key, int32_t count)
{
	put_key(w, key);
	put_number(w, count < 0 ? TIME_UNKNOWN : count);
}

static void put_when(struct record_writer *w, const char *key, int64_t at_us)
{
	put_key(w, key);
	put_time(w, at_us);
}

/* Begins the object of a run or a pod. */
static void put_named(struct record_writer *w, const char *name, const char *key)
{
	put_open(w, '{');
	put_key(w, "name");
	put_name(w, name);
	put_key(w, "key");
	put_path(w, key);
}

static void put_span(struct record_writer *w, int64_t start_us, int64_t end_us, int64_t deleted_us)
{
	put_when(w, "start", start_us);
	put_when(w, "end", end_us);
	put_when(w, "deleted", deleted_us);
}

static void put_pod(struct record_writer *w, const struct pod *p)
{
	put_named(w, p->name, p->key);
	put_key(w, "node");
	put_name(w, p->node);
	put_key(w, "reason");
	put_text(w, p->reason);
	put_key(w, "phase");
	put_text(w, pod_phase_word(p->phase));
	put_tristate(w, "node_ready", p->node_ready);
	put_key(w, "node_gone");
	put_bool(w, p->node_gone);
	put_count(w, "containers_running", p->containers_running);
	put_count(w, "restarts", p->restarts);
	put_span(w, p->start_us, p->end_us, p->deleted_us);
	put_key(w, "detail");
	put_details(w, p->details, p->n_details);
	put_close(w, '}');
}

static void put_run(struct record_writer *w, const struct run *r)
{
	uint32_t n = most_of(w, r->n_pods), i;

	put_named(w, r->name, r->key);
	put_key(w, "state");
	put_text(w, run_state_word(r->state));
	put_tristate(w, "listed", r->listed);
	put_key(w, "manual");
	put_bool(w, r->manual);
	put_count(w, "attempts", r->attempts);
	put_when(w, "slot", r->slot_us);
	put_when(w, "created", r->created_us);
	put_span(w, r->start_us, r->end_us, r->deleted_us);
	put_key(w, "deadline_s");
	put_number(w, r->deadline_s);
	put_key(w, "parallelism");
	put_int(w, r->parallelism);
	put_key(w, "detail");
	put_details(w, r->details, r->n_details);
	put_key(w, "pods");
	put_open(w, '[');
	for (i = 0; i < n; i++)
		put_pod(w, &r->pods[i]);
	put_close(w, ']');
	put_close(w, '}');
}

static void put_runs(struct record_writer *w, const struct row *row)
{
	uint32_t n = most_of(w, row->s->n_runs), i;

	put_open(w, '[');
	for (i = 0; i < n; i++)
		put_run(w, &row->s->runs[i]);
	put_close(w, ']');
}

static void put_judged(struct record_writer *w, const struct row *row)
{
	const struct verdict *v = &row->v;

	put_open(w, '{');
	put_key(w, "state");
	put_text(w, state_word(v->state)->word);
	put_key(w, "needs_attention");
	put_bool(w, v->needs_attention);
	put_key(w, "highest_token");
	if (v->has_highest)
		put_big(w, v->highest_token);
	else
		put_null(w);
	put_when(w, "state_since", v->state_since_us);
	put_when(w, "first_seen", v->first_seen_us);
	put_when(w, "known_since", v->known_since_us);
	put_key(w, "role");
	put_name(w, v->role);
	put_key(w, "fit");
	put_text(w, v->fit);
	put_close(w, '}');
}

/* Sentences hold names: where those are replaced, a finding says what it means, and no more. */
static void put_findings(struct record_writer *w, const struct row *row)
{
	uint32_t n = most_of(w, row->v.n_findings), i;

	put_open(w, '[');
	for (i = 0; i < n; i++) {
		const struct finding *f = &row->v.findings[i];

		put_open(w, '{');
		put_key(w, "code");
		put_text(w, finding_word(f->code)->word);
		put_key(w, "severity");
		put_text(w, severity_word(f->severity)->word);
		put_when(w, "since", f->since_us);
		put_key(w, "text");
		put_text(w, w->redact ? finding_word(f->code)->help : f->text);
		put_key(w, "advice");
		put_text(w, w->redact ? NULL : f->advice);
		put_key(w, "evidence");
		put_details(w, f->evidence, f->n_evidence);
		put_close(w, '}');
	}
	put_close(w, ']');
}

static const struct {
	const char *key;
	void (*put)(struct record_writer *w, const struct row *row);
} members[] = {
	{ "what", put_what },
	{ "lease", put_lease },
	{ "detail", put_own_details },
	{ "claims", put_claims },
	{ "schedule", put_schedule },
	{ "runs", put_runs },
	{ "verdict", put_judged },
	{ "findings", put_findings },
};

/* Takes a member back, if it is as it was. */
static void put_member(
	struct record_writer *w, size_t i, const struct row *row, const struct row *before)
{
	size_t start = w->text.len, len;
	bool comma = w->comma;

	put_key(w, members[i].key);
	members[i].put(w, row);
	if (!before || w->text.full)
		return;
	len = w->text.len - start;
	str_clear(&w->was);
	str_add_mem(&w->was, w->text.s + start, len);
	str_truncate(&w->text, start);
	w->comma = comma;
	put_key(w, members[i].key);
	members[i].put(w, before);
	if (w->text.len - start == len && memcmp(w->text.s + start, w->was.s, len) == 0) {
		str_truncate(&w->text, start);
		w->comma = comma;
		return;
	}
	str_truncate(&w->text, start);
	str_add_mem(&w->text, w->was.s, len);
	w->comma = true;
}

void put_row(struct record_writer *w, const struct row *row, const struct row *before)
{
	size_t i;

	for (i = 0; i < ARRAY_LEN(members); i++)
		put_member(w, i, row, before);
}

void put_verdict(struct record_writer *w, const struct row *row)
{
	put_key(w, "verdict");
	put_judged(w, row);
	put_key(w, "findings");
	put_findings(w, row);
}
