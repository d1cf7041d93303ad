#include "config.h"

#include "model/role.h"
#include "model/identity.h"
#include "model/judge-rules.h"

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
	       mechanism == MECH_ETCD_KEY;
}

const char *role_fit(const struct role *role, enum mechanism mechanism)
{
	switch (role->harm) {
	case HARM_HARMFUL:
		if (role->fenced == TRI_YES || role->idempotent == TRI_YES)
			return "ok";
		/* What the config doesn't say is not known to be missing. */
		return role->fenced == TRI_NO && role->idempotent == TRI_NO ? "weak" : NULL;
	case HARM_HARMLESS:
		return is_consensus(mechanism) ? "overkill" : "ok";
	case HARM_ANNOYING:
		return "ok";
	default:
		return NULL;
	}
}

void role_fit_findings(const struct role *role, enum mechanism mechanism, struct verdict_draft *out)
{
	const char *fit = role_fit(role, mechanism);

	if (!fit)
		return;
	if (strcmp(fit, "weak") == 0) {
		verdict_add(out, FINDING_UNFENCED_HARMFUL, SEVERITY_INFO, TIME_UNKNOWN,
			"The work is harmful when done twice, and neither fenced nor safe to "
			"repeat: "
			"holding the record alone doesn't keep a paused holder from finishing "
			"late.");
		verdict_advise(out, "Let what is written to check the fencing token; until then, "
				    "have proof that "
				    "the old holder stopped before any forced hand-over.");
	} else if (strcmp(fit, "overkill") == 0) {
		verdict_add(out, FINDING_OVERKILL, SEVERITY_INFO, TIME_UNKNOWN,
			"The work is harmless when done twice: it needs no consensus to guard it.");
	}
}

/* ---- the witnesses together ---- */

static bool is_readable(const struct snapshot *snap)
{
	return snap && snap->state != SOURCE_FAILING && snap->state != SOURCE_CONNECTING;
}

/* A holder that a role's witness shows now; NULL: nobody, or it can't be told. */
static const struct claim *witness_holder(const struct role_view *view, size_t i)
{
	const struct row *row = view->witnesses[i];

	return row && is_readable(view->sources[i]) ? singleton_holder(row->s) : NULL;
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

	if (strcmp(a->key, b->key) == 0)
		return true;
	if (identity_same_process(a->identity, b->identity))
		return !x[0] || !y[0] || strcmp(x, y) == 0;
	return (x[0] && identity_same_process(x, b->identity)) ||
	       (y[0] && identity_same_process(y, a->identity));
}

/* A prepared transaction has no process that could be a second one. */
static bool has_process(const struct claim *c)
{
	return c && !claim_detail(c, DETAIL_PREPARED);
}

static void role_duplicate(const struct role_view *view, struct verdict_draft *out)
{
	size_t n = view->role->n_witnesses, i, k;
	char a[WHO_MAX], b[WHO_MAX];

	for (i = 0; i < n; i++) {
		const struct claim *x = witness_holder(view, i);

		for (k = i + 1; has_process(x) && k < n; k++) {
			const struct claim *y = witness_holder(view, k);

			if (!has_process(y) || same_holder(x, y))
				continue;
			out->v.state = STATE_DUPLICATE;
			verdict_add(out, FINDING_DUP_HOLDER, SEVERITY_CRIT, TIME_UNKNOWN,
				"Two at once: %s is held by %s%s%s, and %s by %s%s%s; by their "
				"names "
				"these are different processes.",
				view->role->witnesses[i], judging_who(a, x),
				client_of(x)[0] ? " at " : "", client_of(x),
				view->role->witnesses[k], judging_who(b, y),
				client_of(y)[0] ? " at " : "", client_of(y));
			verdict_advise(out, "Find out which of the two works, and stop the other's "
					    "process before "
					    "you release its record.");
			verdict_evidence_text(out, DETAIL_APPLICATION, x->identity);
			verdict_evidence_text(out, DETAIL_APPLICATION, y->identity);
			return;
		}
	}
}

/* Whether all witnesses could have been seen, and none is there. */
static bool none_exists(const struct role_view *view)
{
	size_t i;

	for (i = 0; i < view->role->n_witnesses; i++)
		if (view->witnesses[i] || (view->sources[i] && !is_readable(view->sources[i])))
			return false;
	return true;
}

static void role_missing(const struct role_view *view, struct verdict_draft *out)
{
	if (!none_exists(view))
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

void role_judge(const struct role_view *view, const struct thresholds *thresholds, int64_t now_us,
	struct verdict_draft *out)
{
	enum mechanism mechanism = role_mechanism(view);
	size_t i;

	(void)thresholds;
	(void)now_us;
	out->v.state = STATE_UNKNOWN;
	for (i = 0; i < view->role->n_witnesses; i++) {
		const struct row *row = view->witnesses[i];

		if (!row || !is_readable(view->sources[i]) || row->v.state >= out->v.state)
			continue;
		out->v.state = row->v.state;
		out->v.state_since_us = row->v.state_since_us;
	}
	role_missing(view, out);
	role_duplicate(view, out);
	if (mechanism != MECH_SOURCE)
		role_fit_findings(view->role, mechanism, out);
	out->v.role = view->role->name;
	out->v.fit = mechanism != MECH_SOURCE ? role_fit(view->role, mechanism) : NULL;
	judge_attention(out);
}
