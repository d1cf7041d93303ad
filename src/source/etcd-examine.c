#include "config.h"

#include "source/etcd-source.h"
#include "base/mem.h"
#include "base/text.h"
#include "source/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* `baton doctor`: what each endpoint answers, who we are to it, and which keys may be read. Only
 * reads, each of one key. */

enum {
	EXAMINE_SHARE_MS = 2000,
	SHOWN_MAX = 200,
	FOUND_SHOWN = 8, /* names that may not be read, one by one */
};

/* What a scope lets us see. */
struct scope_sight {
	bool read, denied;
	int64_t n; /* keys there */
};

static void no_key(void *arg, const struct etcd_kv *kv)
{
	(void)arg;
	(void)kv;
}

void etcd_examine_member(const struct etcd *e, const struct etcd_member *m, struct report *report)
{
	struct str shown;

	if (m->error) {
		bool named = strstr(m->error, m->endpoint.text) != NULL;

		report_add(report, "fail", "endpoint", NULL, "%s%s%s",
			named ? "" : m->endpoint.text, named ? "" : ": ", m->error);
		return;
	}
	if (!m->answered) {
		report_add(report, "fail", "endpoint", "check the host, and what is between",
			"%s does not answer", m->endpoint.text);
		return;
	}
	report_add(report, "ok", "endpoint", NULL,
		"%s: etcd %s, member %" PRIx64 "%s, term %" PRIu64 ", revision %" PRId64
		", answers in %" PRId64 " ms",
		m->endpoint.text, report_shown(&shown, m->version ? m->version : "?"), m->member_id,
		m->leader_id == m->member_id ? " (leads)" : "", m->raft_term, m->revision,
		m->round_trip_ms);
	str_release(&shown);
	if (!m->leader_id)
		report_add(report, "fail", "leader",
			"look at the other members, and the network between",
			"%s knows no leader: it can't serve reads", m->endpoint.text);
	if (e->cluster_id && m->cluster_id != e->cluster_id)
		report_add(report, "fail", "cluster", "name members of one cluster only",
			"%s belongs to another cluster: %" PRIx64, m->endpoint.text, m->cluster_id);
	if (!m->errors)
		return;
	report_add(report, "warn", "endpoint", NULL, "%s says: %s", m->endpoint.text,
		report_shown(&shown, m->errors));
	str_release(&shown);
}

static void examine_identity(struct etcd *e, struct report *report)
{
	if (e->has_token)
		report_add(report, "ok", "user", NULL, "signed in as \"%s\"", e->user);
	else if (e->user)
		report_add(report, "note", "user", NULL,
			"etcd's authentication is off: the user \"%s\" was not needed", e->user);
	else
		report_add(report, "note", "user", NULL, "no user%s",
			e->tls.cert ? ": the client certificate's CN names us, where etcd asks"
				    : "");
}

/* What may be written etcd tells only through its raft log, as etcd-act-plan.c has it. */
static void examine_acts(struct etcd *e, struct report *report)
{
	const char *cert = source_option_text(e->config, "cert");

	if ((e->has_token && str_eq(e->user, "root")) || (!e->has_token && (e->user || !cert)))
		report_add(report, "ok", "acts", NULL, "may delete any key and revoke any lease");
	else
		report_add(report, "note", "acts",
			"etcdctl role grant-permission ROLE readwrite --prefix=true PREFIX",
			"step-down, release and revoke need write permission on the keys; etcd is "
			"not asked, "
			"since it would write that question into its raft log");
}

static void report_scope(const struct etcd_scope *s, bool denied, int64_t n, struct report *report)
{
	struct str shown, grant;

	str_init(&shown, SHOWN_MAX * 5);
	str_init(&grant, 4096);
	text_escape_cut(&shown, s->key, s->prefix_len, SHOWN_MAX);
	if (s->end)
		str_add_char(&shown, '*');
	etcd_scope_grant(s, &grant);
	if (denied)
		report_add(report, "warn", "keys", grant.s, "%s: may not be read", shown.s);
	else
		report_add(report, "ok", "keys", NULL, "%s: may be read, %" PRId64 " there",
			shown.s, n);
	str_release(&shown);
	str_release(&grant);
}

/* Reads one key of a scope, to learn whether it may be read, and how many there are. */
static int examine_scope(struct etcd *e, const struct etcd_scope *s, int64_t deadline_ms,
	struct scope_sight *sight, struct err *err)
{
	struct etcd_range range;
	int rc;

	etcd_range_init(&range, no_key, NULL);
	range.key = s->key;
	range.key_len = s->key_len;
	range.end = s->end;
	range.end_len = s->end_len;
	range.limit = 1;
	range.keys_only = true;
	rc = etcd_range_start(&range, etcd_channel(e), deadline_ms, err);
	if (!rc)
		rc = etcd_run(e, &range.done, deadline_ms, err);
	if (rc) {
		etcd_disconnect(e, false);
	} else if (range.result.code == GRPC_OK) {
		*sight = (struct scope_sight){ .read = true, .n = range.count };
	} else if (range.result.code == GRPC_PERMISSION_DENIED) {
		*sight = (struct scope_sight){ .denied = true };
	} else {
		rc = etcd_failed(e, range.result.code, &range.result.err, err);
	}
	etcd_range_release(&range);
	return rc;
}

/* Whether a wider scope covers it; read: one that may be read. */
static bool is_within(
	const struct etcd *e, const struct scope_sight *sights, size_t i, size_t n, bool read)
{
	size_t j;

	for (j = 0; j < n; j++)
		if (etcd_scope_covers(&e->scopes[j], &e->scopes[i]) && (!read || sights[j].read))
			return true;
	return false;
}

/* Of configured scopes each, but for those within one that may be read. */
static int examine_scopes(struct etcd *e, struct scope_sight *sights, size_t n, int64_t deadline_ms,
	struct report *report, struct err *err)
{
	size_t i;
	int within, rc = 0;

	for (within = 0; within < 2; within++)
		for (i = 0; i < n && !rc; i++) {
			if (is_within(e, sights, i, n, false) != within ||
				is_within(e, sights, i, n, true))
				continue;
			rc = examine_scope(e, &e->scopes[i], deadline_ms, &sights[i], err);
			if (!rc)
				report_scope(&e->scopes[i], sights[i].denied, sights[i].n, report);
		}
	return rc;
}

/* Of those that were found only what may not be read. */
static int examine_found(
	struct etcd *e, size_t first, int64_t deadline_ms, struct report *report, struct err *err)
{
	struct scope_sight sight = { false, false, 0 };
	size_t i, denied = 0;
	int rc = 0;

	for (i = first; i < e->n_scopes && !rc; i++) {
		rc = examine_scope(e, &e->scopes[i], deadline_ms, &sight, err);
		denied += !rc && sight.denied;
		if (!rc && sight.denied && denied <= FOUND_SHOWN)
			report_scope(&e->scopes[i], true, 0, report);
	}
	if (denied > FOUND_SHOWN)
		report_add(report, "warn", "keys", "grant a prefix that they have in common",
			"%zu more elections and locks may not be read", denied - FOUND_SHOWN);
	return rc;
}

static int examine_leases(
	struct etcd *e, int64_t deadline_ms, struct report *report, struct err *err)
{
	size_t first = e->n_scopes;
	int rc = etcd_discover(e, deadline_ms, err);

	if (rc)
		return rc;
	report_add(report, "note", "keys", "configure prefixes, which is exact and costs less",
		"no prefixes configured: %zu elections and locks found by the leases",
		e->discovered.n);
	if (e->leases_denied)
		report_add(report, "warn", "keys", etcd_grant_leases,
			"this user may not list leases, since some hold keys that it may not read: "
			"elections and locks on leases are not found");
	if (e->n_denied_leases)
		report_add(report, "warn", "keys", etcd_grant_leases,
			"%zu leases hold keys that this user may not read: elections and locks on "
			"them are not found",
			e->n_denied_leases);
	return examine_found(e, first, deadline_ms, report, err);
}

/* What ends an alarm (etcd's operations guide, "Maintenance" and "Data corruption"). */
static const char *alarm_advice(const char *alarm)
{
	if (strncmp(alarm, "CORRUPT", 7) == 0)
		return "replace the member whose data is corrupt, then etcdctl alarm disarm";
	return "compact, defragment, then etcdctl alarm disarm";
}

static void examine_alarms(struct etcd *e, struct report *report)
{
	size_t i;

	for (i = 0; i < e->n_alarms; i++)
		report_add(report, "fail", "alarm", alarm_advice(e->alarms[i]),
			"%s is on: the cluster refuses writes, and no hand-over can succeed",
			e->alarms[i]);
	if (!e->n_alarms)
		report_add(report, "ok", "alarm", NULL, "none that we may see");
}

static int examine_all(struct etcd *e, struct report *report, struct err *err)
{
	int64_t deadline_ms = round_deadline_ms(e->r), settle_ms;
	struct scope_sight *sights;
	size_t i;
	int rc;

	rc = etcd_connect(e, deadline_ms, err);
	if (rc)
		return rc;
	e->cluster_id = e->members[e->current].cluster_id;
	etcd_ask_members(e, true);
	settle_ms = (http_loop_now_ms(e->loop) + deadline_ms) / 2;
	if (settle_ms > http_loop_now_ms(e->loop) + EXAMINE_SHARE_MS)
		settle_ms = http_loop_now_ms(e->loop) + EXAMINE_SHARE_MS;
	while (!etcd_members_settled(e) && http_loop_now_ms(e->loop) < settle_ms && !rc)
		rc = etcd_step(e, settle_ms, err);
	for (i = 0; i < e->n_members && !rc; i++)
		etcd_examine_member(e, &e->members[i], report);
	examine_identity(e, report);
	examine_acts(e, report);
	if (!rc && e->n_scopes) {
		sights = xcalloc(e->n_scopes, sizeof(*sights));
		rc = examine_scopes(e, sights, e->n_scopes, deadline_ms, report, err);
		free(sights);
	}
	if (!rc && e->discover)
		rc = examine_leases(e, deadline_ms, report, err);
	if (!rc)
		rc = etcd_read_alarms(e, deadline_ms, err);
	if (!rc)
		examine_alarms(e, report);
	return rc;
}

int etcd_examine(void *state, struct round *r, struct report *report, struct err *err)
{
	struct etcd *e = state;
	size_t i;
	int rc;

	e->r = r;
	rc = examine_all(e, report, err);
	/* Without a connection, what each endpoint answered instead still helps. */
	for (i = 0; rc && i < e->n_members && e->n_members > 1; i++)
		if (e->members[i].error || e->members[i].answered)
			etcd_examine_member(e, &e->members[i], report);
	etcd_take_costs(e);
	e->r = NULL;
	return rc;
}
