#include "config.h"

#include "model/role.h"
#include "base/text.h"
#include "model/identity.h"
#include "model/judge-rules.h"
#include "model/memory.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char *const harm_words[] = {
	[HARM_HARMLESS] = "harmless",
	[HARM_ANNOYING] = "annoying",
	[HARM_HARMFUL] = "harmful",
};

const char *harm_word(enum harm harm)
{
	return harm_words[harm];
}

int harm_from_word(const char *word)
{
	int i;

	for (i = HARM_HARMLESS; i <= HARM_HARMFUL; i++)
		if (strcasecmp(harm_words[i], word) == 0)
			return i;
	return -1;
}

const struct role *role_of(const struct role *roles, size_t n, const char *id)
{
	size_t len = strlen(id), i, k;

	/* Asked for each row: ids of one source begin alike, and are told apart sooner by their
	 * lengths. */
	for (i = 0; i < n; i++)
		for (k = 0; k < roles[i].n_witnesses; k++) {
			const char *witness = roles[i].witnesses[k];

			if (strlen(witness) == len && memcmp(witness, id, len) == 0)
				return &roles[i];
		}
	return NULL;
}

/* ---- does the mechanism fit the harm ---- */

static bool is_consensus(enum mechanism mechanism)
{
	return mechanism == MECH_ETCD_ELECTION || mechanism == MECH_ETCD_LOCK ||
	       mechanism == MECH_ETCD_KEY || mechanism == MECH_ZK_ELECTION;
}

/*
 * What carries no token to the work by itself: a Lease's transitions are seldom looked at by
 * anybody, and of a CronJob there is none, while its Forbid is best effort (a controller that is
 * restarted, or a pod that is replaced, makes a second). Such work is fenced only where the config
 * says so.
 */
static bool is_unfenced(enum mechanism mechanism)
{
	return mechanism == MECH_K8S_LEASE || mechanism == MECH_K8S_CRONJOB;
}

enum fitness role_fit(const struct role *role, enum mechanism mechanism)
{
	switch (role->harm) {
	case HARM_HARMFUL:
		if (role->fenced == TRI_YES || role->idempotent == TRI_YES)
			return FITNESS_OK;
		if (is_unfenced(mechanism) && role->idempotent == TRI_NO)
			return FITNESS_WEAK;
		/* What the config doesn't say is not known to be missing. */
		return role->fenced == TRI_NO && role->idempotent == TRI_NO ? FITNESS_WEAK
									    : FITNESS_UNKNOWN;
	case HARM_HARMLESS:
		return is_consensus(mechanism) ? FITNESS_OVERKILL : FITNESS_OK;
	case HARM_ANNOYING:
		return FITNESS_OK;
	default:
		return FITNESS_UNKNOWN;
	}
}

void role_fit_findings(const struct role *role, enum mechanism mechanism, struct verdict_draft *out)
{
	enum fitness fit = role_fit(role, mechanism);

	if (fit == FITNESS_WEAK && mechanism == MECH_K8S_CRONJOB) {
		verdict_add(out, FINDING_UNFENCED_HARMFUL, SEVERITY_INFO, TIME_UNKNOWN,
			"The work is harmful when done twice, and neither fenced nor safe to "
			"repeat: a CronJob's policy is best effort, and a Job may start a second "
			"pod.");
		verdict_advise(out,
			"Let the work check its slot, written where the work itself is, "
			"before it does anything; backoffLimit 0 and "
			"podReplacementPolicy Failed make a second pod less likely.");
	} else if (fit == FITNESS_WEAK) {
		verdict_add(out, FINDING_UNFENCED_HARMFUL, SEVERITY_INFO, TIME_UNKNOWN,
			"The work is harmful when done twice, and neither fenced nor safe to "
			"repeat: "
			"holding the record alone doesn't keep a paused holder from finishing "
			"late.");
		verdict_advise(out, "Let what is written to check the fencing token; until then, "
				    "have proof that "
				    "the old holder stopped before any forced hand-over.");
	} else if (fit == FITNESS_OVERKILL) {
		verdict_add(out, FINDING_OVERKILL, SEVERITY_INFO, TIME_UNKNOWN,
			"The work is harmless when done twice: it needs no consensus to guard it.");
	}
}

/* ---- the witnesses together ---- */

static bool is_readable(const struct snapshot *snap)
{
	return snap && snap->state != SOURCE_FAILING && snap->state != SOURCE_CONNECTING;
}

/* The claim of a run that is alive: one that is only not over is no evidence. */
static const struct claim *alive_run(const struct singleton *s)
{
	const struct claim *c;
	uint32_t pos = 0, i;

	while ((c = singleton_claim(s, CLAIM_HOLDER, &pos)) != NULL)
		for (i = 0; i < s->more->n_runs; i++)
			if (s->more->runs[i].alive == TRI_YES &&
				strcmp(s->more->runs[i].key, claim_key(c)) == 0)
				return c;
	return NULL;
}

/* A holder that a role's witness shows now; NULL: nobody, or it can't be told. */
static const struct claim *witness_holder(const struct role_view *view, size_t i)
{
	const struct row *row = view->witnesses[i];

	if (!row || !is_readable(view->sources[i]))
		return NULL;
	return row->s->mechanism == MECH_K8S_CRONJOB ? alive_run(row->s) : singleton_holder(row->s);
}

static const char *client_of(const struct claim *c)
{
	const char *client = claim_text(c, DETAIL_CLIENT, "");

	return strcmp(client, "local") == 0 ? "" : client;
}

/*
 * Whether two claims can be of one process. One that can't be told apart counts as the same: an
 * alarm needs evidence. Names that agree are told apart by different client addresses; names that
 * differ are one process where one names the other's address, or where both are one session of one
 * server.
 */
static bool same_holder(const struct claim *a, const struct claim *b)
{
	const char *x = client_of(a), *y = client_of(b);

	if (strcmp(claim_key(a), claim_key(b)) == 0)
		return true;
	if (identity_same_process(claim_identity(a), claim_identity(b)))
		return !x[0] || !y[0] || strcmp(x, y) == 0;
	return (x[0] && identity_same_process(x, claim_identity(b))) ||
	       (y[0] && identity_same_process(y, claim_identity(a)));
}

/* A prepared transaction has no process that could be a second one. */
static bool has_process(const struct claim *c)
{
	return c && !claim_detail(c, DETAIL_PREPARED);
}

/* The first two witnesses that different processes hold now. */
struct role_pair {
	const struct claim *x, *y;
	size_t i, k; /* their numbers */
};

/*
 * Whether the two are different processes. Runs are known by their objects: those of two CronJobs
 * have equal names for equal slots, and are two. A run's name tells nothing of how its process
 * calls itself elsewhere: a run that takes an advisory lock is one, as far as can be told.
 */
static bool pair_differs(const struct role_view *view, const struct role_pair *pair)
{
	bool x = view->witnesses[pair->i]->s->mechanism == MECH_K8S_CRONJOB;
	bool y = view->witnesses[pair->k]->s->mechanism == MECH_K8S_CRONJOB;

	if (x && y)
		return strcmp(claim_key(pair->x), claim_key(pair->y)) != 0;
	return !x && !y && !same_holder(pair->x, pair->y);
}

static bool role_find_two(const struct role_view *view, struct role_pair *pair)
{
	size_t n = view->role->n_witnesses;

	for (pair->i = 0; pair->i < n; pair->i++) {
		pair->x = witness_holder(view, pair->i);
		for (pair->k = pair->i + 1; has_process(pair->x) && pair->k < n; pair->k++) {
			pair->y = witness_holder(view, pair->k);
			if (has_process(pair->y) && pair_differs(view, pair))
				return true;
		}
	}
	return false;
}

bool role_two_at_once(const struct role_view *view, char *text)
{
	char a[WHO_MAX], b[WHO_MAX];
	struct role_pair p;

	if (!role_find_two(view, &p))
		return false;
	snprintf(text, ROLE_TEXT_MAX, "%.*s by %s%s%.64s, and %.*s by %s%s%.64s",
		text_most(view->role->witnesses[p.i], 200), view->role->witnesses[p.i],
		judging_who(a, p.x), client_of(p.x)[0] ? " at " : "", client_of(p.x),
		text_most(view->role->witnesses[p.k], 200), view->role->witnesses[p.k],
		judging_who(b, p.y), client_of(p.y)[0] ? " at " : "", client_of(p.y));
	text_trim(text);
	return true;
}

const char *role_id(char *buf, const struct role *role)
{
	snprintf(buf, ROLE_ID_MAX, "role/%s", role->name);
	return buf;
}

static void role_duplicate(const struct role_view *view, struct verdict_draft *out)
{
	char a[WHO_MAX], b[WHO_MAX];
	struct role_pair p;

	if (!role_find_two(view, &p))
		return;
	out->v.state = STATE_DUPLICATE;
	verdict_add(out, FINDING_DUP_HOLDER, SEVERITY_CRIT, TIME_UNKNOWN,
		"Two at once: %s is held by %s%s%s, and %s by %s%s%s; %s these are different "
		"processes.",
		view->role->witnesses[p.i], judging_who(a, p.x), client_of(p.x)[0] ? " at " : "",
		client_of(p.x), view->role->witnesses[p.k], judging_who(b, p.y),
		client_of(p.y)[0] ? " at " : "", client_of(p.y),
		view->witnesses[p.i]->s->mechanism == MECH_K8S_CRONJOB ? "by their objects' uids"
								       : "by their names");
	verdict_advise(out, "Find out which of the two works, and stop the other's "
			    "process before "
			    "you release its record.");
	verdict_evidence_text(out, DETAIL_APPLICATION, claim_identity(p.x));
	verdict_evidence_text(out, DETAIL_APPLICATION, claim_identity(p.y));
}

/*
 * A duplicate that is over, or can't be seen now, did its harm: it is told on, critical while it is
 * fresh, then as a warning for a day of that.
 */
static void role_duplicate_past(const struct remembered *past, const struct thresholds *thresholds,
	int64_t now_us, struct verdict_draft *out)
{
	int64_t fresh_us = thresholds->duplicate_fresh_ms * 1000, age_us;
	char ago[CLOCK_TEXT_MAX];

	if (!past || !remembered_key(past) || verdict_has(out, FINDING_DUP_HOLDER) ||
		__builtin_sub_overflow(now_us, past->last_seen_us, &age_us) ||
		age_us / 24 >= fresh_us)
		return;
	clock_format_age(ago, age_us > 0 ? age_us / 1000 : 0);
	verdict_add(out, FINDING_DUP_HOLDER, age_us < fresh_us ? SEVERITY_CRIT : SEVERITY_WARN,
		past->holder_since_us, "Two at once, last seen so %s ago: %s.", ago,
		remembered_key(past));
	verdict_advise(
		out, "Compare what both did while it was so, before it is taken for mended.");
}

const struct hidden *role_witness_hidden(const struct role_view *view, size_t i)
{
	return view->witnesses[i] || !is_readable(view->sources[i])
		       ? NULL
		       : snapshot_hides(view->sources[i], view->role->witnesses[i]);
}

/* A CronJob whose Jobs or pods can't be read, and of which nothing is seen to work: a run may live.
 */
static bool hides_runs(const struct row *row)
{
	return singleton_int(row->s, DETAIL_RUNS_HIDDEN, 0) && row->v.state >= STATE_SUSPENDED;
}

static bool is_standby(const struct snapshot *snap)
{
	return snap->self && singleton_int(snap->self->s, DETAIL_IN_RECOVERY, 0) == 1;
}

enum witness_sight role_sight_of(const struct snapshot *snap, const struct row *row, const char *id)
{
	const struct hidden *h;

	if (!snap)
		return SIGHT_UNKNOWN_SOURCE;
	if (!is_readable(snap))
		return SIGHT_UNREAD;
	if (is_standby(snap) && !(row && singleton_holder(row->s)))
		return SIGHT_STANDBY;
	if (row)
		return hides_runs(row) ? SIGHT_HIDDEN : SIGHT_THERE;
	h = snapshot_hides(snap, id);
	if (!h)
		return SIGHT_ABSENT;
	return h->chosen ? SIGHT_OUTSIDE : SIGHT_HIDDEN;
}

enum witness_sight role_witness_sight(const struct role_view *view, size_t i)
{
	return role_sight_of(view->sources[i], view->witnesses[i], view->role->witnesses[i]);
}

const char *role_sight_word(enum witness_sight sight)
{
	static const char *const words[] = {
		[SIGHT_THERE] = "there",
		[SIGHT_ABSENT] = "absent",
		[SIGHT_HIDDEN] = "hidden",
		[SIGHT_OUTSIDE] = "outside",
		[SIGHT_STANDBY] = "standby",
		[SIGHT_UNREAD] = "unread",
		[SIGHT_UNKNOWN_SOURCE] = "no_source",
	};

	return words[sight];
}

/* Whether all witnesses could have been seen. */
static bool all_seen(const struct role_view *view)
{
	enum witness_sight sight;
	size_t i;

	for (i = 0; i < view->role->n_witnesses; i++) {
		sight = role_witness_sight(view, i);
		if (sight != SIGHT_THERE && sight != SIGHT_ABSENT)
			return false;
	}
	return true;
}

static bool none_exists(const struct role_view *view)
{
	size_t i;

	for (i = 0; i < view->role->n_witnesses; i++)
		if (view->witnesses[i])
			return false;
	return true;
}

/* Which witness can't be seen, and why. Where it leaves open whether anybody holds the role, that
 * needs a person. */
static void role_hidden(const struct role_view *view, struct verdict_draft *out)
{
	static const struct hidden runs = {
		.what = "its Jobs or their pods",
		.remedy = "let this user get, list and watch jobs (batch) and pods",
	};
	const struct hidden *h;
	size_t i;

	for (i = 0; i < view->role->n_witnesses; i++) {
		enum witness_sight sight = role_witness_sight(view, i);

		if (sight != SIGHT_HIDDEN && sight != SIGHT_OUTSIDE)
			continue;
		h = view->witnesses[i] ? &runs : role_witness_hidden(view, i);
		verdict_add(out, FINDING_HIDDEN,
			out->v.state == STATE_UNKNOWN ? SEVERITY_WARN : SEVERITY_INFO, TIME_UNKNOWN,
			"Whether anybody holds %s can't be told. %s: %s.", view->role->witnesses[i],
			h->chosen ? "Not looked at" : "Hidden from us", h->what);
		if (h->remedy)
			verdict_advise(out, "To see it: %s.", h->remedy);
	}
}

/* What a standby shows of locks is its own: the primary's are not among them. */
static void role_standby(const struct role_view *view, struct verdict_draft *out)
{
	size_t i;

	for (i = 0; i < view->role->n_witnesses; i++) {
		const char *id = view->role->witnesses[i];
		const struct snapshot *snap = view->sources[i];

		if (!is_readable(snap) || !is_standby(snap))
			continue;
		if (role_witness_sight(view, i) == SIGHT_STANDBY)
			verdict_add(out, FINDING_ON_STANDBY,
				out->v.state == STATE_UNKNOWN ? SEVERITY_WARN : SEVERITY_INFO,
				TIME_UNKNOWN,
				"Whether anybody holds %s can't be told: %s reads a standby, which "
				"does not show what is held on the primary.",
				id, snap->source);
		else
			verdict_add(out, FINDING_ON_STANDBY, SEVERITY_INFO, TIME_UNKNOWN,
				"%s is held on a standby: that excludes nobody on the primary.",
				id);
		verdict_advise(out,
			"Point %s at the primary (target_session_attrs=read-write), and see there "
			"who holds it.",
			snap->source);
	}
}

static void role_missing(const struct role_view *view, struct verdict_draft *out)
{
	if (!none_exists(view) || !all_seen(view))
		return;
	out->v.state = STATE_FREE;
	if (view->role->n_witnesses)
		verdict_add(out, FINDING_NO_MECHANISM, SEVERITY_INFO, TIME_UNKNOWN,
			"None of its %zu witnesses is there now: as far as the sources show, "
			"nothing "
			"guards this work.",
			view->role->n_witnesses);
	else
		verdict_add(out, FINDING_NO_MECHANISM, SEVERITY_INFO, TIME_UNKNOWN,
			"The config names no witness for it: nothing shows who does this work.");
	verdict_advise(out, "Compare the ids of the role with `baton list`; an advisory lock is "
			    "there only while "
			    "somebody holds it.");
}

/* The strongest mechanism that guards it says whether that is too much. */
static enum mechanism role_mechanism(const struct role_view *view)
{
	enum mechanism found = MECH_SOURCE;
	size_t i;

	for (i = 0; i < view->role->n_witnesses; i++)
		if (view->witnesses[i] && !is_consensus(found))
			found = view->witnesses[i]->s->mechanism;
	return found;
}

void role_judge(const struct role_view *view, const struct remembered *past,
	const struct thresholds *thresholds, int64_t now_us, struct verdict_draft *out)
{
	enum mechanism mechanism = role_mechanism(view);
	size_t i;

	out->v.state = STATE_UNKNOWN;
	for (i = 0; i < view->role->n_witnesses; i++) {
		const struct row *row = view->witnesses[i];

		if (!row || !is_readable(view->sources[i]) || row->v.state >= out->v.state)
			continue;
		out->v.state = row->v.state;
		out->v.state_since_us = row->v.state_since_us;
	}
	/* That one witness is free, or switched off, is no sign of the work when another can't be
	 * looked at. */
	if ((out->v.state == STATE_FREE || out->v.state == STATE_SUSPENDED) && !all_seen(view)) {
		out->v.state = STATE_UNKNOWN;
		out->v.state_since_us = TIME_UNKNOWN;
	}
	role_missing(view, out);
	role_hidden(view, out);
	role_standby(view, out);
	role_duplicate(view, out);
	role_duplicate_past(past, thresholds, now_us, out);
	if (mechanism != MECH_SOURCE)
		role_fit_findings(view->role, mechanism, out);
	out->role = view->role->name;
	if (mechanism != MECH_SOURCE)
		out->v.fit = role_fit(view->role, mechanism);
	judge_attention(out);
}
