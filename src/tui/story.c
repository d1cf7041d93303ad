#include "config.h"

#include "tui/story.h"
#include "base/mem.h"
#include "base/text.h"
#include "model/filter.h"
#include "tui/format.h"
#include "tui/story-job.h"
#include "tui/story-chart.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	HANG = 4,
	STORY_CLAIMS = 40,
	STORY_EVENTS = 200,
	NAMES_SHOWN = 4
};

/* "harmful, not fenced, not idempotent"; empty when the config says nothing. */
static void role_words(char *buf, size_t size, const struct role *role)
{
	const char *harm = harm_word(role->harm);
	int n = 0;

	*buf = '\0';
	if (harm)
		n += snprintf(buf, size, ", %s", harm);
	if (role->fenced != TRI_UNKNOWN)
		n += snprintf(buf + n, size - (size_t)n, ", %s",
			role->fenced == TRI_YES ? "fenced" : "not fenced");
	if (role->idempotent != TRI_UNKNOWN)
		snprintf(buf + n, size - (size_t)n, ", %s",
			role->idempotent == TRI_YES ? "idempotent" : "not idempotent");
}

static const struct role *find_role(const struct model *m, const char *name)
{
	size_t i;

	for (i = 0; name && m->board && i < m->board->n_roles; i++)
		if (strcmp(m->board->roles[i].role->name, name) == 0)
			return m->board->roles[i].role;
	return NULL;
}

/* What a state means; of UNKNOWN, which of the reasons it is. */
static const char *state_help(
	const struct model *m, const struct listing_row *row, enum state state)
{
	if (state != STATE_UNKNOWN)
		return state_word(state)->help;
	if (listing_role(m->listing, row))
		return "not all witnesses can be seen: whether anybody does this work is not known";
	return listing_is_unread(m->listing, row) ? "its source can't be read: what was last seen"
						  : "what would tell it is hidden from us";
}

/* The first line or two: what it is, its state, the role's words, the environment. */
static void tell_title(
	struct prose *p, const struct model *m, const struct listing_row *row, bool whole)
{
	const struct snapshot *snap = listing_snapshot(m->listing, row);
	const struct role_view *view = listing_role(m->listing, row);
	const struct role *role = view ? view->role : find_role(m, row_role(row->row));
	enum state state = listing_state(m->listing, row);
	char since[CLOCK_TEXT_MAX], words[128] = "", env[32] = "";
	const char *name = row->row->s->more->name;
	/* How long a source's rows are UNKNOWN is the source's to say. */
	bool is_thing = row->row->s->mechanism == MECH_PROCESS && state != STATE_UNKNOWN,
	     dated = row->row->v.state_since_us != TIME_UNKNOWN && state != STATE_UNKNOWN;

	if (role)
		role_words(words, sizeof(words), role);
	if (snap)
		format_env(env, snap->environment);
	format_since(since, m, row->row->v.state_since_us, &p->next_ms);
	prose_add(p, STYLE_TEXT, "", 1, STYLE_STRONG, name ? "%s \"%s\"" : "%s%s", row->row->s->id,
		name ? name : "");
	prose_tail(p, style_of_state(state), "%s%s%s%s%s%s%s%s", state_word(state)->word,
		dated ? " " : "", dated ? since : "", role && !view ? "   role " : "",
		role && !view ? role->name : "", words, *env ? "   " : "", env);
	if (!whole)
		return;
	if (is_thing)
		prose_add(p, STYLE_DIM, "", 1, STYLE_DIM, "%s", singleton_what(row->row->s));
	else
		prose_add(p, STYLE_DIM, "", 1, STYLE_DIM, "%s%s%s", state_help(m, row, state),
			view ? "" : "; ", view ? "" : singleton_what(row->row->s));
}

static void tell_unreadable(struct prose *p, const struct model *m, const struct snapshot *snap)
{
	char age[CLOCK_TEXT_MAX];

	if (snap->state != SOURCE_FAILING && snap->state != SOURCE_CONNECTING)
		return;
	format_since_ms(age, m, snap->picture_ms, &p->next_ms);
	if (snap->picture_ms == TIME_UNKNOWN)
		prose_add(p, STYLE_HEADER_FAILING, "!", HANG, STYLE_STALE, "%s was never read%s%s",
			snap->source, snap->error ? ": " : ".", snap->error ? snap->error : "");
	else
		prose_add(p, STYLE_HEADER_FAILING, "!", HANG, STYLE_STALE,
			"%s can't be read. This is what was seen %s ago; it may be otherwise "
			"now.%s%s",
			snap->source, age, snap->error ? " " : "", snap->error ? snap->error : "");
}

static void tell_evidence(struct prose *p, const struct model *m, const struct finding *f)
{
	char plain[DETAIL_PLAIN_MAX];
	struct str text;
	size_t i;

	if (!f->n_evidence)
		return;
	str_init(&text, 4096);
	for (i = 0; i < f->n_evidence; i++) {
		detail_plain(f->evidence[i].id, plain);
		str_addf(&text, "%s%s ", i ? ", " : "", plain);
		format_detail(&text, m, &f->evidence[i], &p->next_ms);
	}
	prose_add(p, STYLE_DIM, "", HANG, STYLE_DIM, "evidence: %s", text.s);
	str_release(&text);
}

static void tell_findings(struct prose *p, const struct model *m, const struct verdict *v,
	enum severity least, enum severity most, bool evidence)
{
	size_t i;

	for (i = 0; i < v->n_findings; i++) {
		const struct finding *f = &v->findings[i];
		const char *mark = f->severity == SEVERITY_CRIT   ? "!!"
				   : f->severity == SEVERITY_WARN ? "!"
								  : "i";

		if (f->severity < least || f->severity > most)
			continue;
		prose_add(p, style_of_severity(f->severity), mark, HANG, STYLE_FINDING, "%s  %s",
			finding_word(f->code)->word, f->text);
		if (f->advice)
			prose_add(p, STYLE_ADVICE, ">", HANG, STYLE_ADVICE, "%s", f->advice);
		if (evidence)
			tell_evidence(p, m, f);
	}
}

/* ", pod app-1 Running on n3"; ", and its namespace has no such pod" */
static void pod_words(
	struct str *out, const struct model *m, const struct claim *c, int64_t *next_ms)
{
	const char *pod = claim_text(c, DETAIL_POD, NULL),
		   *phase = claim_text(c, DETAIL_POD_PHASE, NULL),
		   *node = claim_text(c, DETAIL_POD_NODE, NULL);
	char age[CLOCK_TEXT_MAX];

	if (!phase)
		return;
	if (strcmp(phase, "Absent") == 0) {
		str_add(out, ", and its namespace has no such pod");
		return;
	}
	str_addf(out, ", pod %s %s%s%s", pod ? pod : claim_identity(c), phase, node ? " on " : "",
		node ? node : "");
	if (claim_int(c, DETAIL_POD_NODE_READY, 1) == 0)
		str_add(out, ", which does not answer");
	if (claim_detail(c, DETAIL_POD_DELETED)) {
		format_since(age, m, claim_int(c, DETAIL_POD_DELETED, TIME_UNKNOWN), next_ms);
		str_addf(out, ", Terminating since %s", age);
	}
}

/* What tells one session or key from another, in few words: "pid 4711, idle in transaction for 41m,
 * from 10.0.0.5". */
static void claim_words(
	struct str *out, const struct model *m, const struct claim *c, int64_t *next_ms)
{
	int64_t pid = claim_int(c, DETAIL_PID, TIME_UNKNOWN),
		since = claim_int(c, DETAIL_STATE_CHANGE, TIME_UNKNOWN);
	const char *state = claim_text(c, DETAIL_STATE, NULL),
		   *client = claim_text(c, DETAIL_CLIENT, NULL);
	const struct detail *lease = claim_detail(c, DETAIL_LEASE),
			    *hidden = claim_detail(c, DETAIL_STATE);
	char age[CLOCK_TEXT_MAX];

	if (pid != TIME_UNKNOWN)
		str_addf(out, ", pid %" PRId64, pid);
	if (state) {
		str_addf(out, ", %s", state);
		format_since(age, m, since, next_ms);
		if (since != TIME_UNKNOWN)
			str_addf(out, " for %s", age);
	} else if (hidden && hidden->hidden) {
		str_add(out, ", its state is hidden");
	}
	if (client)
		str_addf(out, ", %s%s", strcmp(client, "local") == 0 ? "" : "from ", client);
	if (lease && !lease->hidden)
		str_addf(out, ", lease %" PRIx64, (uint64_t)lease->i);
	if (claim_int(c, DETAIL_LEASE_GONE, 0))
		str_add(out, ", which etcd does not know");
	pod_words(out, m, c, next_ms);
}

/* Who held a Lease before, while its pod is there. */
static void tell_former(struct prose *p, const struct model *m, const struct singleton *s)
{
	const struct claim *c;
	uint32_t pos = 0;

	while ((c = singleton_claim(s, CLAIM_FORMER, &pos)) != NULL) {
		struct str words;

		str_init(&words, 4096);
		pod_words(&words, m, c, &p->next_ms);
		prose_add(p, STYLE_DIM, "", HANG, STYLE_TEXT, "%s held it before%s.",
			claim_identity(c), words.s);
		str_release(&words);
	}
}

static void tell_holder(struct prose *p, const struct model *m, const struct row *row)
{
	const struct claim *c = singleton_holder(row->s);
	uint32_t n = singleton_count(row->s, CLAIM_HOLDER), pos = 0, i;
	char age[CLOCK_TEXT_MAX];
	struct str words;

	if (!c) {
		prose_add(p, STYLE_DIM, "", HANG, STYLE_TEXT, "Nobody holds it.");
		return;
	}
	str_init(&words, 4096);
	if (n == 1) {
		claim_words(&words, m, c, &p->next_ms);
		format_since(age, m, row->v.first_seen_us, &p->next_ms);
		prose_add(p, STYLE_TEXT, "", HANG, STYLE_TEXT, "%s holds it%s%s%s%s.",
			claim_identity(c), words.s,
			strcmp(age, "-") == 0 ? "" : "; first seen to hold it ",
			strcmp(age, "-") == 0 ? "" : age, strcmp(age, "-") == 0 ? "" : " ago");
	} else {
		for (i = 0; i < NAMES_SHOWN && (c = singleton_claim(row->s, CLAIM_HOLDER, &pos));
			i++)
			str_addf(&words, "%s%s", i ? ", " : "", claim_identity(c));
		prose_add(p, STYLE_TEXT, "", HANG, STYLE_TEXT,
			"%" PRIu32 " hold it together: %s%s.", n, words.s,
			n > NAMES_SHOWN ? ", ..." : "");
	}
	str_release(&words);
}

static void tell_waiters(struct prose *p, const struct model *m, const struct row *row)
{
	uint32_t n = singleton_count(row->s, CLAIM_WAITER), pos = 0, i;
	const struct claim *c;
	char age[CLOCK_TEXT_MAX];
	struct str names;

	if (!n) {
		if (row->s->mechanism == MECH_PG_ADVISORY)
			prose_add(p, STYLE_DIM, "", HANG, STYLE_DIM,
				"No queue. Who only tries the lock now and then can't be seen.");
		return;
	}
	str_init(&names, 4096);
	for (i = 0; i < NAMES_SHOWN && (c = singleton_claim(row->s, CLAIM_WAITER, &pos)); i++)
		str_addf(&names, "%s%s", i ? ", " : "", claim_identity(c));
	format_since(age, m, row_waiting_since_us(row), &p->next_ms);
	prose_add(p, STYLE_TEXT, "", HANG, STYLE_TEXT, "%" PRIu32 " wait%s%s%s: %s%s.", n,
		n == 1 ? "s" : "",
		strcmp(age, "-") == 0 ? ""
		: n == 1              ? ", for "
				      : ", the longest for ",
		strcmp(age, "-") == 0 ? "" : age, names.s, n > NAMES_SHOWN ? ", ..." : "");
	str_release(&names);
}

static void tell_token(struct prose *p, const struct row *row)
{
	const struct singleton *s = row->s;
	char highest[64] = "";

	if (!s->has_token)
		return;
	if (row->v.has_highest)
		snprintf(highest, sizeof(highest), "; the highest ever seen is %" PRId64,
			row->v.highest_token);
	prose_add(p, STYLE_TEXT, "", HANG, STYLE_TEXT, "Token %" PRId64 " (%s)%s.", s->token,
		token_kind_plain(s->token_kind), highest);
}

static void tell_lease(struct prose *p, const struct model *m, const struct singleton *s)
{
	char left[CLOCK_TEXT_MAX], granted[CLOCK_TEXT_MAX] = "";
	int64_t ms = format_lease(left, m, s, &p->next_ms);

	if (ms == TIME_UNKNOWN)
		return;
	if (s->lease_granted_ms != TIME_UNKNOWN)
		clock_format_age(granted, s->lease_granted_ms);
	if (ms < 0)
		prose_add(p, STYLE_LEASE_PAST, "", HANG, STYLE_LEASE_PAST,
			"Its lease is %s past its end%s%s.", left + (*left == '-'),
			*granted ? ", of " : "", granted);
	else
		prose_add(p, STYLE_TEXT, "", HANG, STYLE_TEXT, "Its lease has %s left%s%s.", left,
			*granted ? " of " : "", granted);
}

static void tell_details(
	struct prose *p, const struct model *m, const struct detail *details, size_t n)
{
	char plain[DETAIL_PLAIN_MAX];
	struct str text;
	size_t i;

	str_init(&text, 16 * 1024);
	for (i = 0; i < n; i++) {
		str_clear(&text);
		format_detail(&text, m, &details[i], &p->next_ms);
		prose_add(p, STYLE_DIM, "", 24, STYLE_TEXT, "%s", text.s);
		detail_plain(details[i].id, plain);
		snprintf(p->at[p->n - 1].mark, sizeof(p->at[p->n - 1].mark), "  %s", plain);
		p->at[p->n - 1].hang = 30;
	}
	str_release(&text);
}

static void tell_claims(struct prose *p, const struct model *m, const struct row *row)
{
	uint32_t i, n = row->s->n_claims;
	struct details details;

	details_init(&details);
	/* A job's claims are its runs, which tell more. */
	if (singleton_is_job(row->s)) {
		story_job_runs(p, m, row->s);
		n = 0;
	}
	for (i = 0; i < n && i < STORY_CLAIMS; i++) {
		const struct claim *c = &row->s->claims[i];
		const char *kind = c->kind == CLAIM_HOLDER   ? "holder"
				   : c->kind == CLAIM_WAITER ? "waiter"
				   : c->kind == CLAIM_FORMER ? "former"
							     : "member";
		char place[24] = "";

		if (c->position)
			snprintf(place, sizeof(place), " %" PRIu32, c->position);
		prose_rule(p);
		prose_add(p, STYLE_STRONG, "", 1, STYLE_STRONG, "%s%s  %s   %s", kind, place,
			claim_identity(c), claim_key(c));
		details_of_claim(&details, row->s, c);
		tell_details(p, m, details.at, details.n);
	}
	details_release(&details);
	if (n > STORY_CLAIMS)
		prose_add(p, STYLE_DIM, "", 1, STYLE_DIM,
			"%" PRIu32 " more: baton show %s --json lists all.", n - STORY_CLAIMS,
			row->s->id);
	if (row->s->n_details) {
		prose_rule(p);
		prose_add(p, STYLE_STRONG, "", 1, STYLE_STRONG,
			row->s->mechanism == MECH_SOURCE        ? "the source itself"
			: row->s->mechanism == MECH_K8S_CRONJOB ? "the CronJob itself"
			: row->s->mechanism == MECH_K8S_LEASE   ? "the Lease itself"
			: row->s->mechanism == MECH_PROCESS     ? "what is known of it"
								: "the lock itself");
		tell_details(p, m, singleton_details(row->s), row->s->n_details);
	}
}

/* Whether an event is about this row; a role's are those of its witnesses too. */
static bool event_is_about(const struct event *e, const char *id, const struct role_view *view)
{
	size_t i;

	if (!e->id)
		return false;
	if (strcmp(e->id, id) == 0)
		return true;
	for (i = 0; view && i < view->role->n_witnesses; i++)
		if (strcmp(e->id, view->role->witnesses[i]) == 0)
			return true;
	return false;
}

static void tell_history(
	struct prose *p, const struct model *m, const char *id, const struct role_view *view)
{
	size_t i, all = m->journal ? m->journal->n : 0, n = 0, shown = 0;
	const struct event **events = xcalloc(all, sizeof(*events));
	char at[CLOCK_TEXT_MAX];

	for (i = 0; i < all; i++)
		if (event_is_about(journal_at(m->journal, i), id, view))
			events[n++] = journal_at(m->journal, i);
	events_order(events, n);
	prose_rule(p);
	prose_add(
		p, STYLE_STRONG, "", 1, STYLE_STRONG, "what happened (newest first, times in UTC)");
	for (i = n; i-- > 0 && shown < STORY_EVENTS;) {
		const struct event *e = events[i];

		format_event_time(at, m, e);
		prose_add(p, STYLE_DIM, at, 12, STYLE_TEXT, "%s%s%s%s", view ? e->id : "",
			view ? "  " : "", e->remembered ? "remembered: " : "", e->text);
		shown++;
	}
	free(events);
	if (!shown)
		prose_add(p, STYLE_DIM, "", HANG, STYLE_DIM, "Nothing since this console started.");
}

const char *story_missing(enum witness_sight sight, const struct snapshot *snap)
{
	switch (sight) {
	case SIGHT_UNKNOWN_SOURCE:
		return "is in no source of this console";
	case SIGHT_UNREAD:
		return snap->picture_ms == TIME_UNKNOWN
			       ? "is not known: its source was not read yet"
			       : "is not known: its source can't be read now";
	case SIGHT_STANDBY:
		return "is not known: its source reads a standby, not the primary";
	case SIGHT_OUTSIDE:
		return "is not known: by its config its source does not look there";
	case SIGHT_HIDDEN:
		return "is not known: it is hidden from us";
	default:
		return "is not there: nobody holds it, or it never was";
	}
}

/* Who holds what a witness shows, as far as that is told: of a source that can't be read, then. */
static void holder_words(char *buf, size_t size, const struct row *row, enum witness_sight sight)
{
	char holder[256];

	format_holder(holder, sizeof(holder), row);
	if (strcmp(holder, "-") == 0)
		snprintf(buf, size, "%s",
			sight == SIGHT_UNREAD      ? "then held by nobody"
			: singleton_is_job(row->s) ? "no run is at work"
						   : "held by nobody");
	else
		snprintf(buf, size, "%sheld by %s", sight == SIGHT_UNREAD ? "then " : "", holder);
}

/* Whether of a witness more can be told than why it is not seen. */
static bool is_told(const struct row *row, enum witness_sight sight)
{
	return row && sight != SIGHT_STANDBY && sight != SIGHT_HIDDEN;
}

/*
 * What the witnesses show, and what is wrong with them: a role has their state, and nobody should
 * have to look for the reason elsewhere.
 */
static void tell_witnesses(
	struct prose *p, const struct model *m, const struct role_view *view, bool whole)
{
	size_t i;

	for (i = 0; i < view->role->n_witnesses; i++) {
		const struct row *row = view->witnesses[i];
		const struct snapshot *snap = view->sources[i];
		enum witness_sight sight = role_witness_sight(view, i);
		enum state state = row && snap ? board_state(snap, row) : STATE_UNKNOWN;
		char holder[300];

		if (!is_told(row, sight)) {
			prose_add(p, STYLE_STATE_UNKNOWN, "?", HANG, STYLE_STALE, "%s  %s",
				view->role->witnesses[i],
				row && sight == SIGHT_HIDDEN
					? "is not known: its runs are hidden from us"
					: story_missing(sight, snap));
			continue;
		}
		holder_words(holder, sizeof(holder), row, sight);
		prose_add(p, style_of_state(state), (char[]){ state_word(state)->letter, '\0' },
			HANG, STYLE_TEXT, "%s  %s  %s", row->s->id, state_word(state)->word,
			holder);
		if (sight == SIGHT_THERE)
			tell_findings(p, m, &row->v, SEVERITY_WARN, SEVERITY_CRIT, whole);
	}
}

/* What was seen before the source failed: nothing of it is said to be so now. */
static void tell_then(struct prose *p, const struct row *row)
{
	const struct claim *c = singleton_holder(row->s);
	uint32_t n = singleton_count(row->s, CLAIM_HOLDER),
		 waiters = singleton_count(row->s, CLAIM_WAITER);
	char token[48] = "";

	if (row->s->has_token)
		snprintf(token, sizeof(token), ", token %" PRId64, row->s->token);
	if (singleton_is_job(row->s))
		prose_add(p, STYLE_TEXT, "", HANG, STYLE_STALE,
			"Then %" PRIu32 " of its runs %s not over%s%s.", n, n == 1 ? "was" : "were",
			c ? ": " : "", c ? claim_identity(c) : "");
	else if (!c)
		prose_add(p, STYLE_TEXT, "", HANG, STYLE_STALE, "Then nobody held it.");
	else if (n > 1)
		prose_add(p, STYLE_TEXT, "", HANG, STYLE_STALE,
			"Then %s and %" PRIu32 " more held it%s; %" PRIu32 " waited.",
			claim_identity(c), n - 1, token, waiters);
	else
		prose_add(p, STYLE_TEXT, "", HANG, STYLE_STALE,
			"Then %s held it%s; %" PRIu32 " waited.", claim_identity(c), token,
			waiters);
}

/* Nobody holds a process or a machine: how it is, where, and what it is for. */
static void tell_process(struct prose *p, const struct singleton *s)
{
	const struct detail *condition = singleton_detail(s, DETAIL_CONDITION);
	const struct detail *machine = singleton_detail(s, DETAIL_MACHINE);
	const struct detail *about = singleton_detail(s, DETAIL_ABOUT);
	bool on = machine && !machine->hidden;

	if (condition && !condition->hidden)
		prose_add(p, STYLE_TEXT, "", HANG, STYLE_TEXT, "As it looks from outside: %s%s%s.",
			condition->s, on ? "; on " : "", on ? machine->s : "");
	if (about && !about->hidden)
		prose_add(p, STYLE_TEXT, "", HANG, STYLE_TEXT, "What it is: %s.", about->s);
}

static void tell_singleton(struct prose *p, const struct model *m, const struct listing_row *row)
{
	const struct row *r = row->row;

	if (listing_is_unread(m->listing, row)) {
		tell_then(p, r);
		return;
	}
	if (singleton_is_job(r->s)) {
		story_job(p, m, r->s);
		return;
	}
	if (r->s->mechanism == MECH_PROCESS && r->s->n_details)
		tell_process(p, r->s);
	else
		tell_holder(p, m, r);
	tell_former(p, m, r->s);
	tell_waiters(p, m, r);
	tell_token(p, r);
	tell_lease(p, m, r->s);
}

void story_tell(struct prose *p, const struct model *m, const struct listing_row *row, bool whole)
{
	const struct snapshot *snap = listing_snapshot(m->listing, row);
	const struct role_view *view = listing_role(m->listing, row);

	if (row->kind == LISTING_SOURCE) {
		story_source(
			p, m, snap, m->board->cross ? m->board->cross[row->snap] : NULL, whole);
		return;
	}
	tell_title(p, m, row, whole);
	if (snap)
		tell_unreadable(p, m, snap);
	tell_findings(p, m, &row->row->v, SEVERITY_WARN, SEVERITY_CRIT, whole);
	if (view)
		tell_witnesses(p, m, view, whole);
	else
		tell_singleton(p, m, row);
	tell_findings(p, m, &row->row->v, SEVERITY_INFO, SEVERITY_INFO, whole);
	if (!whole)
		return;
	if (!view && singleton_is_job(row->row->s))
		story_job_chart(p, m, snap, row->row);
	else if (!view)
		story_holder_chart(p, m, snap, row->row);
	tell_history(p, m, row->row->s->id, view);
	if (!view)
		tell_claims(p, m, row->row);
}

static void source_state(struct prose *p, const struct model *m, const struct snapshot *snap)
{
	enum style style = snap->state == SOURCE_FAILING ? STYLE_HEADER_FAILING
			   : snap->state == SOURCE_OK    ? STYLE_HEADER_CALM
							 : STYLE_STATE_EXPIRING;
	char age[CLOCK_TEXT_MAX], env[32];
	const char *server = snap->server ? snap->server : "";

	format_env(env, snap->environment);
	/* "PostgreSQL 15.8 (Debian ...) on x86_64-...": name and version tell enough. */
	prose_add(p, STYLE_STRONG, "", 1, STYLE_STRONG, "source %s  %s  %s  %.*s", snap->source,
		snap->kind, env, (int)strcspn(server, "(,"), server);
	format_since(age, m, snap->error ? snap->error_since_us : TIME_UNKNOWN, &p->next_ms);
	prose_tail(p, style, "%s%s%s%s%s", source_state_word(snap->state),
		strcmp(age, "-") == 0 ? "" : " for ", strcmp(age, "-") == 0 ? "" : age,
		snap->error ? ": " : "", snap->error ? snap->error : "");
}

static void source_cost(struct prose *p, const struct model *m, const struct snapshot *snap)
{
	char age[CLOCK_TEXT_MAX], in[32], out[32], trip[64] = "";

	format_picture_age(age, m, snap->picture_ms, &p->next_ms);
	prose_add(p, STYLE_TEXT, "", HANG, STYLE_TEXT, "%zu row%s, picture %s%s%s.", snap->n_rows,
		snap->n_rows == 1 ? "" : "s", snap->picture_ms == TIME_UNKNOWN ? "never made" : age,
		snap->picture_ms == TIME_UNKNOWN ? "" : " old",
		snap->live ? ", kept up to date by a watch" : "");
	format_bytes(in, sizeof(in), snap->cost.bytes_in);
	format_bytes(out, sizeof(out), snap->cost.bytes_out);
	if (snap->cost.round_trip_ms != TIME_UNKNOWN)
		snprintf(trip, sizeof(trip), "; the last answer took %" PRId64 " ms",
			snap->cost.round_trip_ms);
	if (snap->cost.requests)
		prose_add(p, STYLE_TEXT, "", HANG, STYLE_TEXT,
			"Cost so far: %" PRIu64 " requests, %s in, %s out%s.", snap->cost.requests,
			in, out, trip);
}

void story_source(struct prose *p, const struct model *m, const struct snapshot *snap,
	const struct row *cross, bool whole)
{
	size_t i;

	source_state(p, m, snap);
	if (snap->state == SOURCE_FAILING && snap->picture_ms != TIME_UNKNOWN)
		prose_add(p, STYLE_STALE, "", HANG, STYLE_STALE,
			"Its rows are what was last seen; they may be otherwise now.");
	if (cross)
		tell_findings(p, m, &cross->v, SEVERITY_INFO, SEVERITY_CRIT, whole);
	if (snap->self)
		tell_findings(p, m, &snap->self->v, SEVERITY_INFO, SEVERITY_CRIT, whole);
	for (i = 0; i < snap->n_hidden; i++) {
		if (snap->hidden[i].chosen)
			continue;
		prose_add(p, STYLE_FINDING_WARN, "?", HANG, STYLE_TEXT, "can't be seen: %s",
			snap->hidden[i].what);
		if (snap->hidden[i].remedy)
			prose_add(p, STYLE_ADVICE, ">", HANG, STYLE_ADVICE, "%s",
				snap->hidden[i].remedy);
	}
	source_cost(p, m, snap);
	if (snap->protect)
		prose_add(p, STYLE_TEXT, "", HANG, STYLE_TEXT,
			"Protected by the config: no verb works on it.");
	if (whole && snap->self)
		tell_claims(p, m, snap->self);
}
