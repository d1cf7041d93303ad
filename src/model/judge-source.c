#include "config.h"

#include "model/judge-rules.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* What is judged of a source itself: its server, its members, its clock. */

enum {
	LEASES_SAMPLED = 256, /* of a large picture: enough to tell "nearly all" */
	LEASES_LEAST = 3,     /* fewer stale ones speak for themselves */
	APPLIED_BEHIND =
		1000, /* raft entries: a member that is slower than its peers lags by a few */
	TERM_TOLD_MS = 60 * 1000,
};

struct source_judging {
	const struct judge_source_input *in;
	struct verdict_draft *out;
	const struct singleton *self;
	bool all_stale; /* nearly all leases are past their end: one cause, which is not a holder */
};

static bool source_within(struct source_judging *j, int64_t moment_ms, int64_t window_ms)
{
	int64_t end;

	if (moment_ms == TIME_UNKNOWN || __builtin_add_overflow(moment_ms, window_ms, &end) ||
		j->in->now_ms >= end)
		return false;
	verdict_next(j->out, end);
	return true;
}

/* ---- any server ---- */

/*
 * The server read its clock somewhere between our question and its answer: what differs by less
 * than that is no difference.
 */
static void source_skew(struct source_judging *j)
{
	int64_t server_us = singleton_int(j->self, DETAIL_SERVER_TIME, TIME_UNKNOWN);
	int64_t read_us = singleton_int(j->self, DETAIL_READ_AT, TIME_UNKNOWN);
	int64_t trip_ms = singleton_int(j->self, DETAIL_ROUND_TRIP, TIME_UNKNOWN);
	int64_t middle_us, ahead_us, least_us;
	char by[CLOCK_TEXT_MAX], within[CLOCK_TEXT_MAX];

	if (server_us == TIME_UNKNOWN || read_us == TIME_UNKNOWN || trip_ms < 0 ||
		trip_ms > INT64_C(86400) * 1000 ||
		__builtin_sub_overflow(read_us, trip_ms * 500, &middle_us) ||
		__builtin_sub_overflow(server_us, middle_us, &ahead_us) || ahead_us == INT64_MIN)
		return;
	least_us = (ahead_us < 0 ? -ahead_us : ahead_us) - trip_ms * 500;
	if (least_us / 1000 <= j->in->thresholds->skew_ms)
		return;
	clock_format_age(by, (ahead_us < 0 ? -ahead_us : ahead_us) / 1000);
	clock_format_age(within, trip_ms / 2);
	verdict_add(j->out, FINDING_CLOCK_SKEW, SEVERITY_INFO, TIME_UNKNOWN,
		"The server's clock is %s %s ours (told within %" PRId64
		" ms). Ages on this board are reckoned by the server's own clock.",
		by, ahead_us < 0 ? "behind" : "ahead of", trip_ms / 2);
	verdict_advise(j->out, "Look at the time synchronisation of both machines.");
	verdict_evidence_int(j->out, DETAIL_SERVER_TIME, server_us);
	verdict_evidence_int(j->out, DETAIL_READ_AT, read_us);
	verdict_evidence_int(j->out, DETAIL_ROUND_TRIP, trip_ms);
}

static void source_hidden(struct source_judging *j)
{
	const struct judge_source_input *in = j->in;
	struct str what, remedy;
	size_t i;

	str_init(&what, 2000);
	str_init(&remedy, 2000);
	for (i = 0; i < in->n_hidden; i++) {
		if (in->hidden[i].chosen)
			continue;
		str_addf(&what, "%s%s", what.len ? "; " : "", in->hidden[i].what);
		if (in->hidden[i].remedy && !strstr(remedy.s, in->hidden[i].remedy))
			str_addf(&remedy, "%s%s", remedy.len ? "; " : "", in->hidden[i].remedy);
	}
	if (what.len)
		verdict_add(j->out, FINDING_HIDDEN, SEVERITY_INFO, TIME_UNKNOWN,
			"Hidden from us: %s.", what.s);
	if (remedy.len)
		verdict_advise(j->out, "To see it: %s.", remedy.s);
	str_release(&what);
	str_release(&remedy);
}

/* Whether a row has a lease, and whether it is past its end. */
static bool source_lease(const struct source_judging *j, const struct singleton *s, bool *ret_past)
{
	const struct lease_clock clock = { j->in->now_ms, j->in->now_us, j->in->seen_ms };
	enum lease_phase phase = singleton_lease_phase(s);
	const struct remembered *r;
	int64_t silence, duration;

	if (s->mechanism != MECH_K8S_LEASE) {
		*ret_past = phase == LEASE_PAST;
		return phase != LEASE_NONE;
	}
	r = j->in->memory ? memory_find(j->in->memory, s->id) : NULL;
	silence = lease_silence_ms(s, r, &clock);
	duration = lease_duration_ms(s);
	*ret_past = silence != TIME_UNKNOWN && silence >= duration;
	return singleton_holder(s) && duration != TIME_UNKNOWN;
}

/*
 * When nearly all leases of a source are past their end at once, it is more likely that the source
 * tells wrong than that all holders died.
 */
static bool source_all_stale(struct source_judging *j)
{
	const struct picture *pic = j->in->pic;
	size_t step = pic ? pic->n / LEASES_SAMPLED + 1 : 1, i;
	unsigned leases = 0, past = 0;

	for (i = 0; pic && i < pic->n; i += step) {
		bool is_past;

		if (!source_lease(j, pic->slots[i].s, &is_past))
			continue;
		leases++;
		past += is_past;
	}
	if (past < LEASES_LEAST || past * 10 < leases * 9)
		return false;
	verdict_add(j->out, FINDING_ALL_STALE, SEVERITY_INFO, TIME_UNKNOWN,
		"%u of %u leases that were looked at are past their end: suspect the source, not "
		"the "
		"holders.",
		past, leases);
	verdict_advise(j->out, "Look at the server's own health and its clock. Take nothing from "
			       "anybody before it "
			       "is well.");
	return true;
}

/* ---- PostgreSQL ---- */

static void source_standby(struct source_judging *j)
{
	if (singleton_int(j->self, DETAIL_IN_RECOVERY, 0) != 1)
		return;
	verdict_add(j->out, FINDING_ON_STANDBY, SEVERITY_INFO, TIME_UNKNOWN,
		"This server is a standby: locks taken here exclude nobody on the primary, and the "
		"primary's are not seen here.");
	verdict_advise(
		j->out, "Point this source at the primary (target_session_attrs=read-write).");
}

static void source_unsupported(struct source_judging *j)
{
	const char *text = singleton_text(j->self, DETAIL_SERVER_TEXT, "");

	/* CockroachDB accepts pg_advisory_lock and its kin for compatibility, and locks nothing
	 * (its documentation, "Functions and operators"). */
	if (!strstr(text, "CockroachDB"))
		return;
	verdict_add(j->out, FINDING_UNSUPPORTED_SERVER, SEVERITY_WARN, TIME_UNKNOWN,
		"This server is CockroachDB, which doesn't implement session advisory locks: that "
		"no "
		"holder is seen here means nothing.");
	verdict_advise(j->out, "Guard the work by something else, and take it for unlocked.");
}

static void source_lock_table(struct source_judging *j)
{
	int64_t rows = singleton_int(j->self, DETAIL_LOCK_ROWS, TIME_UNKNOWN);
	int64_t capacity = singleton_int(j->self, DETAIL_LOCK_CAPACITY, TIME_UNKNOWN);
	int64_t cut = singleton_int(j->self, DETAIL_ROWS_CUT, 0);
	char more[64] = "";

	if (rows <= 0 || capacity <= 0 || rows > INT64_MAX / 100 ||
		rows * 100 / capacity < j->in->thresholds->lock_table_percent)
		return;
	if (cut > 0)
		snprintf(more, sizeof(more), " (%" PRId64 " more are not shown)", cut);
	verdict_add(j->out, FINDING_LOCK_TABLE, SEVERITY_WARN, TIME_UNKNOWN,
		"%" PRId64 " advisory locks stand in a lock table of about %" PRId64
		" entries (%" PRId64
		" %%)%s. When it is full, any statement may fail with SQLSTATE "
		"53200.",
		rows, capacity, rows * 100 / capacity, more);
	verdict_advise(j->out,
		"Find the sessions with the most locks (locks_held) and end those that leak them; "
		"raising max_locks_per_transaction needs a restart.");
	verdict_evidence_int(j->out, DETAIL_LOCK_ROWS, rows);
	verdict_evidence_int(j->out, DETAIL_LOCK_CAPACITY, capacity);
}

/* ---- etcd ---- */

static const char *source_alarm(const struct source_judging *j)
{
	const char *alarm = singleton_text(j->self, DETAIL_ALARM, NULL);
	const struct claim *c;
	uint32_t pos = 0;

	while (!alarm && (c = singleton_claim(j->self, CLAIM_MEMBER, &pos)) != NULL)
		alarm = claim_text(c, DETAIL_ALARM, NULL);
	return alarm;
}

static void source_read_only(struct source_judging *j)
{
	const char *alarm = source_alarm(j);

	if (!alarm)
		return;
	verdict_add(j->out, FINDING_READ_ONLY_CLUSTER, SEVERITY_INFO, TIME_UNKNOWN,
		"The alarm %s is on: etcd refuses writes, so no candidate can take over; the next "
		"hand-over will not succeed.",
		alarm);
	verdict_advise(j->out,
		strstr(alarm, "CORRUPT")
			? "Let no leader step down. Replace the member whose data is corrupt."
			: "Let no leader step down. Compact, defragment, then disarm the alarm: it "
			  "stays on after space is free.");
	verdict_evidence_text(j->out, DETAIL_ALARM, alarm);
}

/* What two members tell that can't both be true, or NULL. */
static const char *members_differ(const struct claim *a, const struct claim *b)
{
	static const struct {
		enum detail_id id;
		const char *text;
	} facts[] = {
		{ DETAIL_CLUSTER_ID, "belong to different clusters" },
		{ DETAIL_LEADER_ID, "name different raft leaders" },
		{ DETAIL_RAFT_TERM, "are in different raft terms" },
	};
	size_t i;

	for (i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
		const struct detail *x = claim_detail(a, facts[i].id);
		const struct detail *y = claim_detail(b, facts[i].id);

		if (x && y && !x->hidden && !y->hidden && x->i != y->i)
			return facts[i].text;
	}
	return NULL;
}

static bool member_behind(const struct claim *a, const struct claim *b)
{
	int64_t x = claim_int(a, DETAIL_RAFT_APPLIED, -1),
		y = claim_int(b, DETAIL_RAFT_APPLIED, -1);

	return x >= 0 && y >= 0 && y - x > APPLIED_BEHIND;
}

static void add_disagree(
	struct source_judging *j, const struct claim *a, const struct claim *b, const char *what)
{
	char x[WHO_MAX], y[WHO_MAX];
	const struct claim *leaderless = claim_int(a, DETAIL_LEADER_ID, -1) == 0        ? a
					 : b && claim_int(b, DETAIL_LEADER_ID, -1) == 0 ? b
											: NULL;

	if (leaderless)
		verdict_add(j->out, FINDING_ENDPOINTS_DISAGREE, SEVERITY_INFO, TIME_UNKNOWN,
			"%s knows no raft leader: it may be cut off, and what it tells may be old.",
			judging_name(x, claim_identity(leaderless)));
	else if (member_behind(a, b))
		verdict_add(j->out, FINDING_ENDPOINTS_DISAGREE, SEVERITY_INFO, TIME_UNKNOWN,
			"%s is %" PRId64
			" raft entries behind %s: what it tells is old, and a holder "
			"that works through it may not get on.",
			judging_name(x, claim_identity(a)),
			claim_int(b, DETAIL_RAFT_APPLIED, 0) - claim_int(a, DETAIL_RAFT_APPLIED, 0),
			judging_name(y, claim_identity(b)));
	else
		verdict_add(j->out, FINDING_ENDPOINTS_DISAGREE, SEVERITY_INFO, TIME_UNKNOWN,
			"%s and %s %s.", judging_name(x, claim_identity(a)),
			judging_name(y, claim_identity(b)), what);
	verdict_advise(j->out,
		"Trust only linearizable reads, and compare all endpoints, before you act on what "
		"one of them tells.");
}

static void source_members(struct source_judging *j)
{
	const struct claim *first, *c;
	uint32_t pos = 0;

	first = singleton_claim(j->self, CLAIM_MEMBER, &pos);
	if (!first)
		return;
	if (claim_int(first, DETAIL_LEADER_ID, -1) == 0) {
		add_disagree(j, first, NULL, NULL);
		return;
	}
	while ((c = singleton_claim(j->self, CLAIM_MEMBER, &pos)) != NULL) {
		const char *what = members_differ(first, c);

		if (member_behind(c, first))
			add_disagree(j, c, first, NULL);
		else if (what || member_behind(first, c))
			add_disagree(j, first, c, what);
		else
			continue;
		return;
	}
}

static void source_term(struct source_judging *j)
{
	int64_t changed = singleton_int(j->self, DETAIL_TERM_CHANGED, TIME_UNKNOWN);

	if (!source_within(j, changed, TERM_TOLD_MS))
		return;
	verdict_add(j->out, FINDING_TTL_EXTENDED, SEVERITY_INFO, TIME_UNKNOWN,
		"etcd has a new leader (raft term %" PRId64
		") since less than a minute: it started "
		"every lease anew, so what they have left is no sign of life of their holders.",
		singleton_int(j->self, DETAIL_RAFT_TERM, 0));
	verdict_advise(j->out, "Wait for renewals before you take a holder for alive.");
}

static void source_lost(struct source_judging *j)
{
	int64_t n = singleton_int(j->self, DETAIL_LEASES_LOST, 0);
	int64_t at = singleton_int(j->self, DETAIL_LEASES_LOST_AT, TIME_UNKNOWN);

	if (n <= 0 || !source_within(j, at, j->in->thresholds->lost_ms))
		return;
	verdict_add(j->out, FINDING_MASS_EXPIRY, SEVERITY_WARN, TIME_UNKNOWN,
		"%" PRId64
		" leases vanished at once before their time had run out: etcd revoked them "
		"early, and their holders may still believe that they lead.",
		n);
	verdict_advise(j->out, "Ask the holders whether they saw their session end; don't restart "
			       "all of them. Look "
			       "at etcd's disk latency and its leader changes.");
	verdict_evidence_int(j->out, DETAIL_LEASES_LOST, n);
}

/* ---- Kubernetes ---- */

/* A source's rows are all of one system. */
static bool source_is_kubernetes(const struct picture *pic)
{
	enum mechanism first = pic && pic->n ? pic->slots[0].s->mechanism : MECH_SOURCE;

	return first == MECH_K8S_LEASE || first == MECH_K8S_CRONJOB;
}

/*
 * Whoever leads the controllers starts the runs and counts those that are over. When nobody does,
 * each CronJob looks as if it were at fault itself.
 */
static void source_controllers(struct source_judging *j)
{
	const struct lease_clock clock = { j->in->now_ms, j->in->now_us, j->in->seen_ms };
	const struct picture_slot *slot;
	char id[160], ago[CLOCK_TEXT_MAX], who[WHO_MAX];
	int64_t silence, duration;

	/* Elsewhere the look alone would cost an index of all rows. */
	if (!source_is_kubernetes(j->in->pic))
		return;
	snprintf(id, sizeof(id), "%.64slease/kube-system/kube-controller-manager", j->self->id);
	/* Looking for a slot changes nothing of a picture. */
	slot = j->in->pic && j->in->memory
		       ? picture_find((struct picture *)(uintptr_t)j->in->pic, id)
		       : NULL;
	if (!slot || !singleton_holder(slot->s))
		return;
	silence = lease_silence_ms(slot->s, memory_find(j->in->memory, id), &clock);
	duration = lease_duration_ms(slot->s);
	if (silence == TIME_UNKNOWN || duration == TIME_UNKNOWN || silence < duration)
		return;
	clock_format_age(ago, silence);
	verdict_add(j->out, FINDING_CONTROLLERS_STOPPED,
		j->all_stale ? SEVERITY_INFO : SEVERITY_WARN, TIME_UNKNOWN,
		"Nobody leads the controllers: the Lease of %s was not seen to be renewed for %s. "
		"No "
		"slot is started, and no run is counted as over, while that is so.",
		judging_name(who, claim_identity(singleton_holder(slot->s))), ago);
	verdict_advise(j->out, "Look at kube-controller-manager, and whether it may write to the "
			       "API server, before any CronJob.");
	verdict_evidence_text(j->out, DETAIL_CONTROLLER, claim_identity(singleton_holder(slot->s)));
}

/*
 * Heartbeats of nodes and API servers are Leases by form only: nobody is elected, so one that is
 * old is no dead leader.
 */
static void source_heartbeats(struct source_judging *j)
{
	int64_t all = singleton_int(j->self, DETAIL_HEARTBEATS, 0);
	int64_t old = singleton_int(j->self, DETAIL_HEARTBEATS_OLD, 0);

	if (old <= 0)
		return;
	verdict_add(j->out, FINDING_OLD_HEARTBEATS, SEVERITY_INFO, TIME_UNKNOWN,
		"%" PRId64 " heartbeat Leases are renewed, and %" PRId64
		" are not: left over from nodes or API servers that are gone, or that don't "
		"answer. None of them is an election.",
		all > old ? all - old : 0, old);
	verdict_advise(j->out, "Compare them with the nodes that exist. Never clear one that is "
			       "renewed: its node would turn NotReady.");
	verdict_evidence_int(j->out, DETAIL_HEARTBEATS, all);
	verdict_evidence_int(j->out, DETAIL_HEARTBEATS_OLD, old);
}

/* Jobs whose CronJob is gone have no row of their own. */
static void source_orphans(struct source_judging *j)
{
	const char *first = singleton_text(j->self, DETAIL_ORPHAN_RUN, NULL);
	uint32_t n = 0, i;
	char name[WHO_MAX];

	for (i = 0; first && i < j->self->n_details; i++)
		n += singleton_details(j->self)[i].id == DETAIL_ORPHAN_RUN;
	if (!n)
		return;
	verdict_add(j->out, FINDING_ORPHAN_RUN, SEVERITY_WARN, TIME_UNKNOWN,
		"%" PRIu32 " Job%s not over, and the CronJob that made %s does not exist: %s%s.", n,
		n == 1 ? " is" : "s are", n == 1 ? "it" : "them", judging_name(name, first),
		n > 1 ? " and others" : "");
	verdict_advise(j->out, "See what each still does, then delete it; choose whether its pods "
			       "go with it.");
	verdict_evidence_text(j->out, DETAIL_ORPHAN_RUN, first);
}

/* ---- all of them ---- */

void judge_source(
	const struct judge_source_input *in, struct verdict_draft *out, bool *ret_all_stale)
{
	static void (*const rules[])(struct source_judging * j) = { source_skew, source_standby,
		source_unsupported, source_lock_table, source_read_only, source_members,
		source_term, source_lost, source_controllers, source_heartbeats, source_orphans };
	struct source_judging j = { .in = in, .out = out, .self = in->self };
	size_t i;

	/* First: what has one cause is not told as if it were many. */
	j.all_stale = source_all_stale(&j);
	for (i = 0; j.self && i < sizeof(rules) / sizeof(rules[0]); i++)
		rules[i](&j);
	source_hidden(&j);
	if (ret_all_stale)
		*ret_all_stale = j.all_stale;
	judge_attention(out);
	/* Only worth knowing, as severities go; but no hand-over can succeed, or nothing can be
	 * believed. */
	if (verdict_has(out, FINDING_READ_ONLY_CLUSTER) || j.all_stale)
		out->v.needs_attention = true;
}

/* ---- several sources ---- */

static const struct singleton *self_of(const struct snapshot *snap)
{
	if (!snap->self || snap->state == SOURCE_FAILING || snap->state == SOURCE_CONNECTING)
		return NULL;
	return snap->self->s;
}

static bool is_writable(const struct singleton *self)
{
	return singleton_int(self, DETAIL_IN_RECOVERY, 1) == 0;
}

/* Two servers of one origin, and both may be written to. */
static void judge_primaries(const struct snapshot *a, const struct snapshot *b,
	const struct singleton *x, const struct singleton *y, struct verdict_draft *out)
{
	int64_t t = singleton_int(x, DETAIL_TIMELINE, -1),
		u = singleton_int(y, DETAIL_TIMELINE, -1);
	const char *p = singleton_text(x, DETAIL_SERVER_ADDRESS, "");
	const char *q = singleton_text(y, DETAIL_SERVER_ADDRESS, "");

	if (t >= 0 && u >= 0 && t != u) {
		verdict_add(out, FINDING_TWO_PRIMARIES, SEVERITY_CRIT, TIME_UNKNOWN,
			"%s and %s are two writable servers with one system identifier, on the "
			"timelines "
			"%" PRId64 " and %" PRId64 ": a lock in one excludes nobody in the other.",
			a->source, b->source, t, u);
		verdict_advise(out,
			"Leave the locks alone. Fence the old primary first: the one on timeline "
			"%" PRId64 ".",
			t < u ? t : u);
		verdict_evidence_int(out, DETAIL_TIMELINE, t);
		verdict_evidence_int(out, DETAIL_TIMELINE, u);
	} else if (p[0] && q[0] && strcmp(p, q) != 0) {
		/* No promotion lies between them: one server under two addresses, or a copy. */
		verdict_add(out, FINDING_TWO_PRIMARIES, SEVERITY_INFO, TIME_UNKNOWN,
			"%s (%s) and %s (%s) are writable and have one system identifier and one "
			"timeline: one server under two addresses, or a copy of it.",
			a->source, p, b->source, q);
		verdict_advise(out, "If it is one server, configure it once.");
	}
}

void judge_cross(const struct snapshot *const *snapshots, size_t n, size_t which,
	const struct thresholds *thresholds, int64_t now_us, struct verdict_draft *out)
{
	const struct singleton *self = self_of(snapshots[which]);
	int64_t origin = self ? singleton_int(self, DETAIL_SYSTEM_IDENTIFIER, 0) : 0;
	size_t i;

	(void)thresholds;
	(void)now_us;
	for (i = 0; origin && is_writable(self) && i < n && !out->n_findings; i++) {
		const struct singleton *other = i == which ? NULL : self_of(snapshots[i]);

		if (other && is_writable(other) &&
			singleton_int(other, DETAIL_SYSTEM_IDENTIFIER, 0) == origin)
			judge_primaries(snapshots[which], snapshots[i], self, other, out);
	}
	judge_attention(out);
}
