#include "config.h"

#include "source/etcd-source.h"
#include "base/mem.h"
#include "base/text.h"
#include "source/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* `baton doctor`: what each endpoint answers, who we are to it, and which keys may be read. Only
 * reads, each of one key. */

enum {
	EXAMINE_SHARE_MS = 2000,
	SHOWN_MAX = 200
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

/* Reads one key of a scope, to learn whether it may be read. */
static int examine_scope(struct etcd *e, const struct etcd_scope *s, int64_t deadline_ms,
	struct report *report, struct err *err)
{
	struct etcd_range range;
	struct str shown, grant;
	int rc;

	str_init(&shown, SHOWN_MAX * 5);
	str_init(&grant, SHOWN_MAX * 6);
	text_escape_cut(&shown, s->key, s->key_len, SHOWN_MAX);
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
		report_add(report, "ok", "keys", NULL, "%s%s: may be read, %" PRId64 " there",
			shown.s, s->end ? "*" : "", range.count);
	} else if (range.result.code == GRPC_PERMISSION_DENIED) {
		str_addf(&grant, "etcdctl role grant-permission ROLE read %s%s",
			s->end ? "--prefix=true " : "", shown.s);
		report_add(report, "warn", "keys", grant.s, "%s%s: may not be read", shown.s,
			s->end ? "*" : "");
	} else {
		rc = etcd_failed(e, range.result.code, &range.result.err, err);
	}
	etcd_range_release(&range);
	str_release(&shown);
	str_release(&grant);
	return rc;
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
	for (i = 0; i < e->n_scopes && !rc; i++)
		rc = examine_scope(e, &e->scopes[i], deadline_ms, report, err);
	if (!rc && e->discover) {
		rc = etcd_discover(e, deadline_ms, err);
		if (!rc)
			report_add(report, "note", "keys",
				"configure prefixes, which is exact and costs less",
				"no prefixes configured: %zu elections and locks found by the "
				"leases",
				e->discovered.n);
	}
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
