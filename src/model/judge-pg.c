#include "config.h"

#include "model/judge-rules.h"
#include "base/str.h"
#include "base/text.h"
#include "model/identity.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/*
 * PostgreSQL's advisory locks. Ages are reckoned by the server's own clock. What pg_stat_activity
 * hides from us is unknown: it never counts as idle.
 */

enum activity {
	ACTIVITY_UNKNOWN, /* hidden, or not tracked */
	ACTIVITY_ACTIVE,
	ACTIVITY_IDLE,
	ACTIVITY_IN_TRANSACTION, /* idle in it */
};

static enum activity activity_of(const struct claim *c)
{
	const char *state = claim_text(c, DETAIL_STATE, "");

	if (strcmp(state, "active") == 0 || strcmp(state, "fastpath function call") == 0)
		return ACTIVITY_ACTIVE;
	if (strcmp(state, "idle") == 0)
		return ACTIVITY_IDLE;
	if (strncmp(state, "idle in transaction", 19) == 0)
		return ACTIVITY_IN_TRANSACTION;
	return ACTIVITY_UNKNOWN;
}

static bool is_prepared(const struct claim *c)
{
	return claim_detail(c, DETAIL_PREPARED) != NULL;
}

static bool is_share(const struct claim *c)
{
	return strcmp(claim_text(c, DETAIL_MODE, ""), "share") == 0;
}

static int64_t state_age(const struct judging *j, const struct claim *c)
{
	return judging_server_age(j, claim_int(c, DETAIL_STATE_CHANGE, TIME_UNKNOWN));
}

/* The longest of the waits; TIME_UNKNOWN when no waiter tells. A waiter's query began when it asked
 * for the lock. */
static int64_t longest_wait(const struct judging *j)
{
	int64_t longest = TIME_UNKNOWN;
	const struct claim *c;
	uint32_t pos = 0;

	while ((c = singleton_claim(j->s, CLAIM_WAITER, &pos)) != NULL) {
		int64_t since = claim_int(c, DETAIL_WAIT_START, TIME_UNKNOWN), age;

		if (since == TIME_UNKNOWN && activity_of(c) == ACTIVITY_ACTIVE)
			since = claim_int(c, DETAIL_QUERY_START, TIME_UNKNOWN);
		age = judging_server_age(j, since);
		if (age > longest)
			longest = age;
	}
	return longest;
}

/* Of several that share the lock, the one whose session did nothing for longest: it is the one to
 * ask about. */
static const struct claim *laziest(const struct judging *j)
{
	const struct claim *found = j->holder, *c;
	int64_t longest = -1;
	uint32_t pos = 0;

	while ((c = singleton_claim(j->s, CLAIM_HOLDER, &pos)) != NULL) {
		enum activity activity = activity_of(c);
		int64_t age = state_age(j, c);

		if (activity != ACTIVITY_IDLE && activity != ACTIVITY_IN_TRANSACTION)
			continue;
		if (age > longest) {
			longest = age;
			found = c;
		}
	}
	return found;
}

enum {
	QUEUE_MAX = 96
};

/* "3 wait, the longest for 40m"; "nobody is queued" */
static const char *say_queue(struct judging *j, char *buf)
{
	int64_t wait = longest_wait(j);
	char age[CLOCK_TEXT_MAX];

	if (!j->n_waiters)
		return "nobody is queued";
	if (wait == TIME_UNKNOWN)
		snprintf(buf, QUEUE_MAX, "%" PRIu32 " %s", j->n_waiters,
			judging_wait_word(j->n_waiters));
	else
		snprintf(buf, QUEUE_MAX, "%" PRIu32 " %s%s for %s", j->n_waiters,
			judging_wait_word(j->n_waiters), j->n_waiters == 1 ? "" : ", the longest",
			judging_say(j, age, wait));
	return buf;
}

enum {
	PLACE_MAX = 128
};

/* " at 10.0.0.5"; empty for a socket or where it isn't known */
static const char *say_place(char *buf, const struct claim *c)
{
	const char *client = claim_text(c, DETAIL_CLIENT, "");

	if (!client[0] || strcmp(client, "local") == 0)
		return "";
	snprintf(buf, PLACE_MAX, " at %s", client);
	return buf;
}

/* ---- what holds it ---- */

static void judge_two_holders(struct judging *j)
{
	const struct claim *c, *first = NULL;
	char a[WHO_MAX], b[WHO_MAX];
	uint32_t pos = 0;

	while ((c = singleton_claim(j->s, CLAIM_HOLDER, &pos)) != NULL) {
		if (strcmp(claim_text(c, DETAIL_MODE, ""), "exclusive") != 0)
			continue;
		if (!first || strcmp(claim_key(first), claim_key(c)) == 0) {
			first = c;
			continue;
		}
		judging_state(j, STATE_DUPLICATE);
		verdict_add(j->out, FINDING_DUP_HOLDER, SEVERITY_CRIT, TIME_UNKNOWN,
			"%s and %s hold it exclusively at once. One server never grants that: more "
			"than one server answers under this name.",
			judging_who(a, first), judging_who(b, c));
		verdict_advise(j->out,
			"Find the servers behind this address, and fence all but one before "
			"anything else.");
		return;
	}
}

enum {
	GID_BYTES = 200,                     /* src/include/access/xact.h, GIDSIZE */
	GID_SHOWN_MAX = 4 * GID_BYTES,       /* each byte as \xNN */
	ENDING_MAX = 2 * GID_SHOWN_MAX + 80, /* each quote twice */
};

/* The statement about that one transaction; by its name where what is shown is not its bytes. */
static void advise_prepared(struct judging *j, const char *gid)
{
	struct str quoted;
	const char *at;

	str_init(&quoted, ENDING_MAX);
	for (at = gid; *at; at++) {
		if (*at == '\'')
			str_add_char(&quoted, '\'');
		str_add_char(&quoted, *at);
	}
	if (strchr(gid, '\\') || strcmp(gid, "?") == 0 || quoted.full)
		verdict_advise(j->out,
			"Ask whoever coordinates that transaction whether it is still to be "
			"committed; then COMMIT PREPARED or ROLLBACK PREPARED in its database, by "
			"its name in pg_prepared_xacts.");
	else
		verdict_advise(j->out,
			"Ask whoever coordinates that transaction whether it is still to be "
			"committed; then COMMIT PREPARED or ROLLBACK PREPARED '%s' in its "
			"database.",
			quoted.s);
	str_release(&quoted);
}

static void judge_prepared(struct judging *j)
{
	const struct claim *c;
	uint32_t pos = 0;

	while ((c = singleton_claim(j->s, CLAIM_HOLDER, &pos)) != NULL) {
		const char *gid = claim_text(c, DETAIL_PREPARED, "?");
		int64_t at = claim_int(c, DETAIL_PREPARED_AT, TIME_UNKNOWN);
		int64_t age = judging_server_age(j, at);
		char when[CLOCK_TEXT_MAX], queue[QUEUE_MAX], shown[GID_SHOWN_MAX];
		bool old;

		if (!is_prepared(c))
			continue;
		judging_state(j, STATE_ORPHAN);
		old = judging_reached(j, age, j->thresholds->prepared_ms);
		text_fit(shown, sizeof(shown), gid);
		verdict_add(j->out, FINDING_PREPARED_HOLDER, old ? SEVERITY_WARN : SEVERITY_INFO,
			at,
			"The prepared transaction \"%s\" holds it%s%s; %s. No process "
			"stands behind it, so it will not let go by itself.",
			shown, age == TIME_UNKNOWN ? "" : ", for ",
			age == TIME_UNKNOWN ? "" : judging_say(j, when, age), say_queue(j, queue));
		advise_prepared(j, gid);
		verdict_evidence_text(j->out, DETAIL_PREPARED, gid);
		if (at != TIME_UNKNOWN)
			verdict_evidence_int(j->out, DETAIL_PREPARED_AT, at);
		return;
	}
}

static void judge_standby(struct judging *j)
{
	if (!j->in->self || singleton_int(j->in->self, DETAIL_IN_RECOVERY, 0) != 1)
		return;
	verdict_add(j->out, FINDING_ON_STANDBY, SEVERITY_INFO, TIME_UNKNOWN,
		"It is held on a standby: that excludes nobody on the primary.");
	verdict_advise(j->out,
		"Take the work for unlocked, and send the sessions that lock to the primary.");
}

/* ---- what its session does ---- */

static void evidence_session(struct judging *j, const struct claim *c)
{
	static const enum detail_id kept[] = { DETAIL_PID, DETAIL_BACKEND_START, DETAIL_STATE,
		DETAIL_STATE_CHANGE, DETAIL_QUERY_START };
	size_t i;

	for (i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
		const struct detail *d = claim_detail(c, kept[i]);

		if (!d || d->hidden)
			continue;
		if (detail_word(d->id)->type == DETAIL_TYPE_TEXT)
			verdict_evidence_text(j->out, d->id, d->s);
		else
			verdict_evidence_int(j->out, d->id, d->i);
	}
}

/* A younger session of the same name, that waits: most often the restart of the one that holds. */
static const char *say_restart(const struct judging *j, const struct claim *holder)
{
	int64_t began = claim_int(holder, DETAIL_BACKEND_START, TIME_UNKNOWN);
	const struct claim *c;
	uint32_t pos = 0;

	while ((c = singleton_claim(j->s, CLAIM_WAITER, &pos)) != NULL)
		if (strcmp(claim_identity(c), claim_identity(holder)) == 0 &&
			began != TIME_UNKNOWN &&
			claim_int(c, DETAIL_BACKEND_START, TIME_UNKNOWN) > began)
			return " A younger session of the same name waits: perhaps its own "
			       "restart.";
	return "";
}

/* The reason to think that a pooler lends the session around; NULL: none. */
static const char *pooled_why(const struct judging *j, const struct claim *c)
{
	const struct remembered_past *p = j->memory ? j->memory->past : NULL;
	const char *why = claim_text(c, DETAIL_POOLED, NULL);

	if (why)
		return why;
	if (p && p->renamed_us != TIME_UNKNOWN && p->renamed_us >= j->memory->holder_since_us &&
		strcmp(remembered_key(j->memory), claim_key(c)) == 0)
		return "it changed its name while it held the lock";
	return NULL;
}

static void add_idle_holder(struct judging *j, const struct claim *c, int64_t age)
{
	bool failed = strstr(claim_text(c, DETAIL_STATE, ""), "aborted") != NULL;
	bool transaction = activity_of(c) == ACTIVITY_IN_TRANSACTION;
	int64_t horizon =
		j->in->self ? singleton_int(j->in->self, DETAIL_KEEPALIVE_HORIZON, TIME_UNKNOWN)
			    : TIME_UNKNOWN;
	char who[WHO_MAX], idle[CLOCK_TEXT_MAX], queue[QUEUE_MAX], place[PLACE_MAX];
	char drops[CLOCK_TEXT_MAX];

	verdict_add(j->out, FINDING_IDLE_HOLDER, SEVERITY_WARN,
		claim_int(c, DETAIL_STATE_CHANGE, TIME_UNKNOWN),
		"%s holds it, and its session has been idle%s%s%s; %s. It may still work.%s",
		judging_who(who, c),
		!transaction ? ""
		: failed     ? " in a failed transaction"
			     : " in transaction",
		age == TIME_UNKNOWN ? "" : " for ",
		age == TIME_UNKNOWN ? "" : judging_say(j, idle, age), say_queue(j, queue),
		say_restart(j, c));
	if (horizon != TIME_UNKNOWN && horizon > 0)
		clock_format_age(drops, horizon);
	verdict_advise(j->out,
		"Check its process%s first: from here, a client that is gone looks like one that "
		"is "
		"quiet%s%s%s. If it is gone, end the session: a cancel does nothing to an idle "
		"one, "
		"and how often it took the lock is not visible.",
		pooled_why(j, c) ? "" : say_place(place, c),
		horizon > 0 ? " (the server drops a dead one within " : "",
		horizon > 0 ? drops : "", horizon > 0 ? ")" : "");
	evidence_session(j, c);
}

static void judge_pooled(struct judging *j)
{
	const struct claim *c = laziest(j);
	const char *why = pooled_why(j, c);
	bool idle = activity_of(c) == ACTIVITY_IDLE;
	char who[WHO_MAX], queue[QUEUE_MAX];

	if (!why)
		return;
	if (j->n_waiters && idle && judging_reached(j, longest_wait(j), j->thresholds->stuck_ms))
		judging_state(j, STATE_STUCK);
	verdict_add(j->out, FINDING_POOLED_HOLDER, j->n_waiters ? SEVERITY_WARN : SEVERITY_INFO,
		TIME_UNKNOWN,
		"The session of %s seems to be a connection pooler's (%.*s): its present client "
		"and "
		"query need not be those that took the lock, and no live owner is proven; %s.",
		judging_who(who, c), text_most(why, 200), why, say_queue(j, queue));
	verdict_advise(j->out, "Make sure that nobody is still at the work, then end that one "
			       "session. Let sessions "
			       "that lock connect directly, or through a pool in session mode.");
	evidence_session(j, c);
}

static void judge_idle(struct judging *j)
{
	const struct claim *c = laziest(j);
	enum activity activity = activity_of(c);
	int64_t age = state_age(j, c), wait;
	bool said;

	if (is_prepared(c) || (activity != ACTIVITY_IDLE && activity != ACTIVITY_IN_TRANSACTION))
		return;
	wait = j->n_waiters ? longest_wait(j) : TIME_UNKNOWN;
	if (judging_reached(j, wait, j->thresholds->stuck_ms) &&
		judging_reached(j, age, j->thresholds->stuck_ms))
		judging_state(j, STATE_STUCK);
	said = activity == ACTIVITY_IN_TRANSACTION &&
	       judging_reached(j, age, j->thresholds->idle_holder_ms);
	if (said || judging_reached(j, wait, j->thresholds->idle_holder_ms))
		add_idle_holder(j, c, age);
}

static void judge_working(struct judging *j)
{
	const struct claim *c = j->holder;
	int64_t began = claim_int(c, DETAIL_QUERY_START, TIME_UNKNOWN);
	int64_t age = judging_server_age(j, began);
	const char *event = claim_text(c, DETAIL_WAIT_EVENT, NULL);
	bool waits = event && strncmp(event, "Lock/", 5) == 0;
	char who[WHO_MAX], ran[CLOCK_TEXT_MAX];

	if (activity_of(c) != ACTIVITY_ACTIVE || verdict_has(j->out, FINDING_LOCK_CYCLE) ||
		!judging_reached(j, age, j->thresholds->stuck_ms))
		return;
	verdict_add(j->out, FINDING_WORKING_HOLDER, SEVERITY_INFO, began,
		"%s is at work on the server: its session is active, and its query has run for "
		"%s%s%s%s.",
		judging_who(who, c), judging_say(j, ran, age),
		!event  ? ""
		: waits ? "; just now it waits itself ("
			: " (just now: ",
		event ? event : "", event ? ")" : "");
	verdict_advise(j->out,
		"Ending it undoes that work, which may take as long again; an index that was being "
		"built concurrently stays behind, invalid. A waiter may come and go meanwhile.");
	evidence_session(j, c);
}

/* Whether the state that we would have to know is hidden from us. */
static void judge_hidden(struct judging *j)
{
	const struct detail *state = claim_detail(j->holder, DETAIL_STATE);
	char who[WHO_MAX];

	if (!state || !state->hidden || !j->n_waiters)
		return;
	verdict_add(j->out, FINDING_HIDDEN, SEVERITY_WARN, TIME_UNKNOWN,
		"What the session of %s does is hidden from us: whether it is stuck can't be told.",
		judging_who(who, j->holder));
	verdict_advise(j->out, "GRANT pg_read_all_stats to the role that baton connects as.");
}

/* ---- who waits for whom ---- */

enum {
	BLOCKERS_MOST = 64, /* of one holder: more are not followed */
};

static const struct claim *waiter_of_pid(const struct judging *j, int64_t pid)
{
	const struct claim *c;
	uint32_t pos = 0;

	while ((c = singleton_claim(j->s, CLAIM_WAITER, &pos)) != NULL)
		if (claim_int(c, DETAIL_PID, -1) == pid)
			return c;
	return NULL;
}

/* A waiter of this lock that the holder waits for: since the waiter waits for the holder, neither
 * gets on. */
static const struct claim *blocked_by_waiter(const struct judging *j, const struct claim *holder)
{
	uint16_t i, looked = 0;

	for (i = 0; i < holder->n_details && looked < BLOCKERS_MOST; i++) {
		const struct detail *d = &claim_details(holder)[i];
		const struct claim *waiter;

		if (d->id != DETAIL_BLOCKED_BY || d->hidden)
			continue;
		looked++;
		waiter = waiter_of_pid(j, d->i);
		if (waiter)
			return waiter;
	}
	return NULL;
}

static void judge_cycle(struct judging *j)
{
	const struct claim *c, *waiter = NULL;
	char a[WHO_MAX], b[WHO_MAX];
	uint32_t pos = 0;

	while (!waiter && (c = singleton_claim(j->s, CLAIM_HOLDER, &pos)) != NULL)
		waiter = blocked_by_waiter(j, c);
	if (!waiter)
		return;
	judging_state(j, STATE_STUCK);
	verdict_add(j->out, FINDING_LOCK_CYCLE, SEVERITY_WARN, TIME_UNKNOWN,
		"%s holds it and waits for %s, which waits for this lock: neither gets on.",
		judging_who(a, c), judging_who(b, waiter));
	verdict_advise(j->out,
		"Cancel the waiter, not the holder: the holder can go on then, and loses no work.");
	verdict_evidence_int(j->out, DETAIL_PID, claim_int(c, DETAIL_PID, 0));
	verdict_evidence_int(j->out, DETAIL_BLOCKED_BY, claim_int(waiter, DETAIL_PID, 0));
}

static const char *application_of(const struct claim *c)
{
	return claim_text(c, DETAIL_APPLICATION, "");
}

static bool other_job(const struct claim *holder, const struct claim *waiter)
{
	const char *a = application_of(holder), *b = application_of(waiter);
	const char *x = claim_text(holder, DETAIL_USER, ""),
		   *y = claim_text(waiter, DETAIL_USER, "");

	if (a[0] && b[0])
		return !identity_same_application(a, b);
	return !a[0] && !b[0] && x[0] && y[0] && strcmp(x, y) != 0;
}

static void judge_collision(struct judging *j)
{
	char a[WHO_MAX], b[WHO_MAX];
	const struct claim *c;
	uint32_t pos = 0;

	if (singleton_detail(j->s, DETAIL_TOOL))
		return;
	while ((c = singleton_claim(j->s, CLAIM_WAITER, &pos)) != NULL) {
		if (is_prepared(j->holder) || !other_job(j->holder, c))
			continue;
		verdict_add(j->out, FINDING_KEY_COLLISION, SEVERITY_INFO, TIME_UNKNOWN,
			"%s holds it and %s waits for it: different applications%s. Perhaps one "
			"key "
			"stands for two jobs.",
			judging_who(a, j->holder), judging_who(b, c),
			application_of(c)[0] ? "" : ", by their users");
		verdict_advise(j->out,
			"Compare how both make the key, before you end the holder for the waiter's "
			"sake.");
		return;
	}
}

static void judge_no_successor(struct judging *j)
{
	if (j->n_waiters || is_share(j->holder))
		return;
	verdict_add(j->out, FINDING_NO_SUCCESSOR, SEVERITY_INFO, TIME_UNKNOWN,
		"Nobody is queued; sessions that poll with pg_try_advisory_lock can't be seen.");
}

const struct judge_rule judge_rules_pg[] = {
	{ RULE_PG, false, judge_two_holders },
	{ RULE_PG, false, judge_prepared },
	{ RULE_PG, false, judge_cycle },
	{ RULE_PG, false, judge_idle },
	{ RULE_PG, false, judge_pooled },
	{ RULE_PG, false, judge_working },
	{ RULE_PG, false, judge_hidden },
	{ RULE_PG, false, judge_standby },
	{ RULE_PG, false, judge_collision },
	{ RULE_PG, false, judge_no_successor },
	{ 0 },
};
