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
		put_null(w, NULL);
		return;
	}
	switch (detail_word(d->id)->type) {
	case DETAIL_TYPE_TEXT:
		put_text(w, NULL, w->redact ? redact_detail(w->redact, d->id, d->s) : d->s);
		break;
	case DETAIL_TYPE_HEX:
		put_hex(w, NULL, (uint64_t)d->i);
		break;
	case DETAIL_TYPE_BIG:
		put_big(w, NULL, d->i);
		break;
	case DETAIL_TYPE_TIME:
		put_time(w, NULL, d->i);
		break;
	case DETAIL_TYPE_BOOL:
		put_bool(w, NULL, d->i != 0);
		break;
	case DETAIL_TYPE_MS:
		if (record_is_moment(d->id))
			put_moment(w, NULL, d->i);
		else
			put_number(w, NULL, d->i);
		break;
	default:
		put_int(w, NULL, d->i);
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
	put_open(w, NULL, '{');
	for (i = 0; i < n; i++) {
		const struct detail *d = &details[i];

		if (!count[d->id])
			continue;
		put_key(w, detail_word(d->id)->word);
		if (count[d->id] > 1)
			put_open(w, NULL, '[');
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

	put_open(w, NULL, '{');
	put_text(w, "mechanism", mechanism_word(s->mechanism)->word);
	put_name(w, "name", s->more->name);
	put_text(w, "token_kind", token_kind_word(s->token_kind)->word);
	put_key(w, "token");
	if (s->has_token)
		put_big(w, NULL, s->token);
	else
		put_null(w, NULL);
	put_close(w, '}');
}

static void put_lease(struct record_writer *w, const struct row *row)
{
	const struct singleton *s = row->s;

	put_open(w, NULL, '{');
	put_number(w, "granted_ms", s->lease_granted_ms);
	put_moment(w, "end", s->lease_deadline_ms);
	put_moment(w, "read", s->lease_read_ms);
	put_moment(w, "known", s->more->lease_known_ms);
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
	struct details details;

	details_init(&details);
	put_open(w, NULL, '[');
	for (i = 0; i < n; i++) {
		const struct claim *c = &s->claims[i];

		put_open(w, NULL, '{');
		put_text(w, "kind", kinds[c->kind]);
		put_name(w, "identity", claim_identity(c));
		put_path(w, "key", claim_key(c));
		if (c->position) {
			put_int(w, "position", c->position);
		}
		put_key(w, "detail");
		details_of_claim(&details, s, c);
		put_details(w, details.at, details.n);
		put_close(w, '}');
	}
	put_close(w, ']');
	details_release(&details);
}

static void put_schedule(struct record_writer *w, const struct row *row)
{
	const struct schedule *s = row->s->more->schedule;

	if (!s) {
		put_null(w, NULL);
		return;
	}
	put_open(w, NULL, '{');
	put_text(w, "text", s->text);
	put_text(w, "zone", s->zone_name);
	put_bool(w, "zone_in_text", s->zone_in_text);
	put_close(w, '}');
}

/* A count; negative: it was not told. */
static void put_count(struct record_writer *w, const char *key, int32_t count)
{
	put_number(w, key, count < 0 ? TIME_UNKNOWN : count);
}

/* Begins the object of a run or a pod. */
static void put_named(struct record_writer *w, const char *name, const char *key)
{
	put_open(w, NULL, '{');
	put_name(w, "name", name);
	put_path(w, "key", key);
}

static void put_span(struct record_writer *w, int64_t start_us, int64_t end_us, int64_t deleted_us)
{
	put_time(w, "start", start_us);
	put_time(w, "end", end_us);
	put_time(w, "deleted", deleted_us);
}

static void put_pod(struct record_writer *w, const struct pod *p)
{
	put_named(w, p->name, p->key);
	put_name(w, "node", p->node);
	put_word(w, "reason", p->reason);
	put_text(w, "phase", pod_phase_word(p->phase));
	put_tristate(w, "node_ready", p->node_ready);
	put_bool(w, "node_gone", p->node_gone);
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
	put_text(w, "state", run_state_word(r->state));
	put_tristate(w, "listed", r->listed);
	put_bool(w, "manual", r->manual);
	if (r->unseen)
		put_bool(w, "unseen", true);
	put_count(w, "attempts", r->attempts);
	put_time(w, "slot", r->slot_us);
	put_time(w, "created", r->created_us);
	put_span(w, r->start_us, r->end_us, r->deleted_us);
	put_number(w, "deadline_s", r->deadline_s);
	put_int(w, "parallelism", r->parallelism);
	put_key(w, "detail");
	put_details(w, r->details, r->n_details);
	put_open(w, "pods", '[');
	for (i = 0; i < n; i++)
		put_pod(w, &r->pods[i]);
	put_close(w, ']');
	put_close(w, '}');
}

static void put_runs(struct record_writer *w, const struct row *row)
{
	uint32_t n = most_of(w, row->s->more->n_runs), i;

	put_open(w, NULL, '[');
	for (i = 0; i < n; i++)
		put_run(w, &row->s->more->runs[i]);
	put_close(w, ']');
}

static void put_judged(struct record_writer *w, const struct row *row)
{
	const struct verdict *v = &row->v;

	put_open(w, NULL, '{');
	put_text(w, "state", state_word(v->state)->word);
	put_bool(w, "needs_attention", v->needs_attention);
	put_key(w, "highest_token");
	if (v->has_highest)
		put_big(w, NULL, v->highest_token);
	else
		put_null(w, NULL);
	put_time(w, "state_since", v->state_since_us);
	put_time(w, "first_seen", v->first_seen_us);
	put_time(w, "known_since", v->known_since_us);
	put_name(w, "role", row_role(row));
	put_text(w, "fit", fitness_word(v->fit));
	put_close(w, '}');
}

/* Sentences hold names: where those are replaced, a finding says what it means, and no more. */
static void put_findings(struct record_writer *w, const struct row *row)
{
	uint32_t n = most_of(w, row->v.n_findings), i;

	put_open(w, NULL, '[');
	for (i = 0; i < n; i++) {
		const struct finding *f = &row->v.findings[i];

		put_open(w, NULL, '{');
		put_text(w, "code", finding_word(f->code)->word);
		put_text(w, "severity", severity_word(f->severity)->word);
		put_time(w, "since", f->since_us);
		put_text(w, "text", w->redact ? finding_word(f->code)->help : f->text);
		put_text(w, "advice", w->redact ? NULL : f->advice);
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
