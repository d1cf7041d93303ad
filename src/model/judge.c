#include "config.h"

#include "model/judge.h"
#include "model/judge-rules.h"
#include "base/map.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	CLUSTER_NEAR_US = 2 * 1000 * 1000,
};

void judging_state(struct judging *j, enum state state)
{
	if (state < j->state)
		j->state = state;
}

bool judging_lease_past(struct judging *j)
{
	enum lease_phase phase = singleton_lease_phase(j->s);

	if (phase == LEASE_LOW)
		judging_state(j, STATE_EXPIRING);
	return phase == LEASE_PAST;
}

int64_t judging_server_age(const struct judging *j, int64_t moment_us)
{
	int64_t age_us;

	if (j->server_us == TIME_UNKNOWN || moment_us == TIME_UNKNOWN ||
		__builtin_sub_overflow(j->server_us, moment_us, &age_us))
		return TIME_UNKNOWN;
	return age_us > 0 ? age_us / 1000 : 0;
}

int64_t judging_cluster_age(const struct judging *j, int64_t moment_us)
{
	int64_t age_us;

	if (moment_us == TIME_UNKNOWN || __builtin_sub_overflow(j->cluster_us, moment_us, &age_us))
		return TIME_UNKNOWN;
	return age_us > 0 ? age_us / 1000 : 0;
}

int64_t judging_own_age(const struct judging *j, int64_t moment_us)
{
	int64_t age_us;

	if (moment_us == TIME_UNKNOWN || __builtin_sub_overflow(j->in->now_us, moment_us, &age_us))
		return TIME_UNKNOWN;
	return age_us > 0 ? age_us / 1000 : 0;
}

int64_t judging_mono_age(const struct judging *j, int64_t moment_ms)
{
	int64_t age_ms;

	if (moment_ms == TIME_UNKNOWN || __builtin_sub_overflow(j->in->now_ms, moment_ms, &age_ms))
		return TIME_UNKNOWN;
	return age_ms > 0 ? age_ms : 0;
}

/* Time may change the verdict in so many milliseconds. */
static void judging_later(struct judging *j, int64_t in_ms)
{
	int64_t at;

	if (!__builtin_add_overflow(j->in->now_ms, in_ms, &at))
		verdict_next(j->out, at);
}

void judging_until(struct judging *j, int64_t moment_us)
{
	int64_t left_us;

	if (!__builtin_sub_overflow(moment_us, j->cluster_us, &left_us) && left_us >= 0)
		judging_later(j, left_us / 1000 + 1);
}

bool judging_reached(struct judging *j, int64_t age_ms, int64_t limit_ms)
{
	if (age_ms == TIME_UNKNOWN)
		return false;
	if (age_ms >= limit_ms)
		return true;
	judging_later(j, limit_ms - age_ms);
	return false;
}

const char *judging_say(struct judging *j, char *buf, int64_t age_ms)
{
	/* As clock_format_age counts: seconds, from a minute on minutes, from a day on days. */
	int64_t unit;

	if (age_ms == TIME_UNKNOWN) {
		snprintf(buf, CLOCK_TEXT_MAX, "a time that is not known");
		return buf;
	}
	unit = age_ms < 60000 ? 1000 : age_ms < 86400000 ? 60000 : 86400000;

	clock_format_age(buf, age_ms);
	judging_later(j, unit - age_ms % unit);
	return buf;
}

const char *judging_name(char *buf, const char *identity)
{
	size_t len = strlen(identity), most = 80;

	if (len > most) {
		len = most;
		while (len && ((unsigned char)identity[len] & 0xc0) == 0x80)
			len--;
		snprintf(buf, WHO_MAX, "%.*s...", (int)len, identity);
	} else {
		snprintf(buf, WHO_MAX, "%s", identity);
	}
	return buf;
}

const char *judging_who(char *buf, const struct claim *c)
{
	const struct detail *pid = claim_detail(c, DETAIL_PID);
	size_t len;

	judging_name(buf, claim_identity(c));
	len = strlen(buf);
	if (pid && !pid->hidden)
		snprintf(buf + len, WHO_MAX - len, " (pid %" PRId64 ")", pid->i);
	return buf;
}

const char *judging_wait_word(uint32_t n)
{
	return n == 1 ? "waits" : "wait";
}

/*
 * The server's clock now: what it said, and the time that has passed since by ours. Both ends of
 * every age that is reckoned with it are of the same machine's clock.
 */
static void judging_clock(struct judging *j, int64_t server_us, int64_t read_us)
{
	int64_t elapsed_us;

	j->server_us = TIME_UNKNOWN;
	if (server_us == TIME_UNKNOWN)
		return;
	if (read_us == TIME_UNKNOWN || __builtin_sub_overflow(j->in->now_us, read_us, &elapsed_us))
		elapsed_us = INT64_C(1000) * SERVER_CLOCK_MOST_MS;
	if (elapsed_us < 0)
		elapsed_us = 0; /* our clock was set back */
	if (elapsed_us > INT64_C(1000) * SERVER_CLOCK_MOST_MS)
		elapsed_us = INT64_C(1000) * SERVER_CLOCK_MOST_MS;
	if (__builtin_add_overflow(server_us, elapsed_us, &j->server_us))
		j->server_us = TIME_UNKNOWN;
}

/*
 * Slots and the ages of objects are of the cluster's clocks. They are ours as well, unless the API
 * server's own time showed otherwise; it tells whole seconds, so that little is no difference. The
 * difference holds also when the answer that showed it is old: a watch is no new answer.
 *
 * While the source fails, that clock stands: which slots got their runs, and which runs ended, is
 * not seen, and time alone makes no missed slot of that.
 */
static void judging_cluster_clock(struct judging *j, int64_t server_us, int64_t read_us)
{
	int64_t ahead_us, unseen_ms = 0, now_us;

	if (j->in->seen_ms != TIME_UNKNOWN)
		unseen_ms = clock_minus(j->in->now_ms, j->in->seen_ms);
	now_us = clock_minus(j->in->now_us, unseen_ms > 0 ? unseen_ms * 1000 : 0);
	j->cluster_us = now_us;
	if (server_us == TIME_UNKNOWN || read_us == TIME_UNKNOWN ||
		__builtin_sub_overflow(server_us, read_us, &ahead_us) ||
		(ahead_us > -CLUSTER_NEAR_US && ahead_us < CLUSTER_NEAR_US) ||
		__builtin_add_overflow(now_us, ahead_us, &j->cluster_us))
		j->cluster_us = now_us;
}

/* server_us: what the server said that its clock showed; read_us: when, by ours. */
static void judging_clocks(struct judging *j)
{
	const struct singleton *self = j->in->self;
	int64_t server_us = TIME_UNKNOWN, read_us = TIME_UNKNOWN;

	if (self) {
		server_us = singleton_int(self, DETAIL_SERVER_TIME, TIME_UNKNOWN);
		read_us = singleton_int(self, DETAIL_READ_AT, TIME_UNKNOWN);
	}
	judging_clock(j, server_us, read_us);
	judging_cluster_clock(j, server_us, read_us);
}

static void judging_begin(
	struct judging *j, const struct judge_input *in, struct verdict_draft *out)
{
	uint32_t i;

	*j = (struct judging){
		.in = in,
		.out = out,
		.s = in->s,
		.memory = in->memory,
		.thresholds = in->thresholds,
	};
	for (i = 0; i < in->s->n_claims; i++) {
		const struct claim *c = &in->s->claims[i];

		if (c->kind == CLAIM_HOLDER && !j->n_holders++)
			j->holder = c;
		j->n_waiters += c->kind == CLAIM_WAITER;
	}
	j->state = !j->holder ? STATE_FREE : j->n_waiters ? STATE_CONTENDED : STATE_HELD;
	judging_clocks(j);
}

static void judging_run(struct judging *j, const struct judge_rule *rule)
{
	unsigned bit = 1u << j->s->mechanism;

	for (; rule->judge; rule++)
		if (rule->mechanisms & bit && (j->holder || rule->free_too))
			rule->judge(j);
}

static void judging_from_memory(struct judging *j)
{
	const struct remembered *r = j->memory;
	struct verdict *v = &j->out->v;

	v->state_since_us = j->in->now_us;
	if (!r)
		return;
	v->known_since_us = r->known_since_us;
	if (j->holder)
		v->first_seen_us = r->holder_since_us;
	if (r->state == (uint8_t)j->state)
		v->state_since_us = r->state_since_us;
	v->has_highest = r->has_highest;
	v->highest_token = r->highest_token;
}

void judge_attention(struct verdict_draft *d)
{
	d->v.needs_attention = d->v.state == STATE_DUPLICATE || d->v.state == STATE_STUCK ||
			       verdict_has_severity(d, SEVERITY_WARN);
}

void judge_singleton(const struct judge_input *in, struct verdict_draft *out)
{
	struct judging j;

	judging_begin(&j, in, out);
	switch (in->s->mechanism) {
	case MECH_PG_ADVISORY:
		judging_run(&j, judge_rules_pg);
		break;
	case MECH_ETCD_ELECTION:
	case MECH_ETCD_LOCK:
	case MECH_ETCD_KEY:
		judging_run(&j, judge_rules_etcd);
		break;
	case MECH_ZK_ELECTION:
		judging_run(&j, judge_rules_zk);
		break;
	case MECH_SQL_LEASE:
	case MECH_RUN_LEDGER:
	case MECH_AIRFLOW_DAG:
		judging_run(&j, judge_rules_table);
		break;
	case MECH_K8S_LEASE:
		judging_run(&j, judge_rules_lease);
		break;
	case MECH_K8S_CRONJOB:
		judging_run(&j, judge_rules_runs);
		judging_run(&j, judge_rules_cron);
		break;
	default:
		break;
	}
	judging_run(&j, judge_rules_past);
	out->v.state = j.state;
	judging_from_memory(&j);
	judge_attention(out);
	if (in->role) {
		out->role = in->role->name;
		out->v.fit = role_fit(in->role, in->s->mechanism);
	}
}

void judge_note(struct memory *m, struct remembered *r, const struct singleton *s,
	const struct verdict_draft *judged, int64_t now_us)
{
	enum finding_code code =
		verdict_has(judged, FINDING_DUP_RUN) ? FINDING_DUP_RUN : FINDING_DUP_POD;
	char names[1024];

	memory_note_state(m, r, judged->v.state, now_us);
	if (s->mechanism != MECH_K8S_CRONJOB || judged->v.state != STATE_DUPLICATE)
		return;
	if (*verdict_evidence_names(judged, code, names, sizeof(names)))
		memory_note_two(m, r, finding_word(code)->word, names, now_us);
}

uint64_t judge_context(const struct singleton *self, bool all_stale)
{
	/* The server's clock is not among them: it runs on, and verdict_next sees to that. */
	static const enum detail_id read[] = { DETAIL_IN_RECOVERY, DETAIL_KEEPALIVE_HORIZON,
		DETAIL_TERM_CHANGED, DETAIL_CONTROLLER_SINCE };
	static const uint64_t seed[2] = { 3, 4 };
	int64_t values[ARRAY_LEN(read) + 2] = { all_stale };
	const char *version = self ? singleton_text(self, DETAIL_VERSION, "") : "";
	size_t i;

	for (i = 0; i < ARRAY_LEN(read); i++)
		values[i + 1] = self ? singleton_int(self, read[i], TIME_UNKNOWN) : TIME_UNKNOWN;
	values[i + 1] = (int64_t)map_siphash(seed, version, strlen(version));
	return map_siphash(seed, values, sizeof(values));
}
