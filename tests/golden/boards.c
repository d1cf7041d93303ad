#include "config.h"

#include "boards.h"
#include "maker.h"
#include "base/mem.h"
#include "model/draft.h"
#include "model/thresholds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void orders_stuck(struct maker *k)
{
	row_begin(k, MECH_PG_ADVISORY, "app:-42", STATE_STUCK, 41 * 60, true);
	draft_name(k->draft, "billing-close");
	claim(k, CLAIM_HOLDER, "worker-1", "4711@1767360110000000");
	draft_int(k->draft, DETAIL_PID, 4711);
	draft_text(k->draft, DETAIL_STATE, "idle in transaction");
	draft_int(k->draft, DETAIL_STATE_CHANGE, k->now_us - 41 * MINUTE_US);
	draft_text(k->draft, DETAIL_CLIENT, "10.0.0.5");
	draft_text(k->draft, DETAIL_QUERY, "SELECT pg_advisory_lock(-42)");
	claim(k, CLAIM_WAITER, "worker-2", "4712@1767360120000000");
	draft_position(k->draft, 1);
	draft_int(k->draft, DETAIL_PID, 4712);
	draft_int(k->draft, DETAIL_WAIT_START, k->now_us - 40 * MINUTE_US);
	claim(k, CLAIM_WAITER, "worker-3", "4713@1767360130000000");
	draft_position(k->draft, 2);
	draft_hidden(k->draft, DETAIL_STATE);
	draft_int(k->draft, DETAIL_WAIT_START, k->now_us - 2 * MINUTE_US);
	verdict_add(&k->verdict, FINDING_IDLE_HOLDER, SEVERITY_WARN, k->now_us - 41 * MINUTE_US,
		"worker-1 (pid 4711) holds it, and its session has been idle in transaction for "
		"41m; 2 wait, one for 40m. It may "
		"still work.");
	verdict_advise(
		&k->verdict, "Check the process on 10.0.0.5 first; then end that one session.");
	verdict_evidence_int(&k->verdict, DETAIL_PID, 4711);
	verdict_evidence_text(&k->verdict, DETAIL_STATE, "idle in transaction");
	verdict_add(&k->verdict, FINDING_UNFENCED_HARMFUL, SEVERITY_INFO, TIME_UNKNOWN,
		"The work is harmful, and nothing refuses a late writer.");
	row_put(k);
}

static struct snapshot *make_orders(int64_t now_ms, int64_t now_us)
{
	static const struct hidden hidden[] = { { .what = "the state of other users' sessions",
		.remedy = "GRANT pg_read_all_stats TO baton" } };
	struct maker k;

	maker_begin(&k, "orders", now_ms, now_us);
	orders_stuck(&k);
	row_begin(&k, MECH_PG_ADVISORY, "app:(7,-9)", STATE_ORPHAN, 3 * 86400, true);
	k.verdict.role = "close-books";
	claim(&k, CLAIM_HOLDER, "prepared:tx-9", "prepared:tx-9");
	draft_text(k.draft, DETAIL_PREPARED, "tx-9");
	verdict_add(&k.verdict, FINDING_PREPARED_HOLDER, SEVERITY_WARN, TIME_UNKNOWN,
		"The prepared transaction tx-9 holds it since 3 days; no process will ever let it "
		"go.");
	verdict_advise(
		&k.verdict, "Decide with its owner: COMMIT PREPARED or ROLLBACK PREPARED 'tx-9'.");
	row_put(&k);
	row_begin(&k, MECH_PG_ADVISORY, "app:72707369", STATE_HELD, 3, false);
	draft_name(k.draft, "prisma");
	claim(&k, CLAIM_HOLDER, "migrator", "4720@1767362567000000");
	draft_int(k.draft, DETAIL_PID, 4720);
	row_put(&k);
	row_begin(&k, MECH_PG_ADVISORY, "app\033[31m\xe2\x80\xae:9", STATE_HELD, 100, false);
	claim(&k, CLAIM_HOLDER, "evil\n\x1b]0;title\a", "4721@1767362567000000");
	row_put(&k);
	row_begin(&k, MECH_PG_ADVISORY,
		"warehouse_of_the_northern_region_production:1234567890123456789", STATE_HELD, 7200,
		false);
	claim(&k, CLAIM_HOLDER, "nightly-aggregation-worker-with-a-long-name@10.11.12.13",
		"4722@1767362567000000");
	row_put(&k);
	return maker_end(&k, &(struct snapshot){ .source = "orders",
				     .kind = "postgres",
				     .environment = "prod",
				     .state = SOURCE_OK,
				     .picture_ms = now_ms - 400,
				     .server = "PostgreSQL 15.8",
				     .hidden = hidden,
				     .n_hidden = 1,
				     .cost = { .requests = 120,
					     .bytes_in = 480000,
					     .bytes_out = 24000,
					     .round_trip_ms = 3 } });
}

static void ctl_rows(struct maker *k)
{
	row_begin(k, MECH_ETCD_ELECTION, "elections/billing", STATE_STALE, 2 * 3600, true);
	token(k, 1482);
	lease(k, 15, -9000);
	claim(k, CLAIM_HOLDER, "node-b", "rev:1482");
	draft_text(k->draft, DETAIL_KEY, "elections/billing/694d7f2a");
	draft_int(k->draft, DETAIL_LEASE, 0x694d7f2a);
	claim(k, CLAIM_WAITER, "node-c", "rev:1490");
	draft_position(k->draft, 1);
	claim(k, CLAIM_WAITER, "node-a", "rev:1495");
	draft_position(k->draft, 2);
	verdict_add(&k->verdict, FINDING_STALE_HOLDER, SEVERITY_WARN, k->now_us - 9000000,
		"The lease of node-b is 9 s past its end and was not revoked; nothing shows that "
		"node-b stopped.");
	verdict_advise(&k->verdict, "See whether node-b still works before anything is released.");
	row_put(k);
	row_begin(k, MECH_ETCD_LOCK, "locks/reindex", STATE_CONTENDED, 12, false);
	token(k, 1490);
	lease(k, 10, 7000);
	claim(k, CLAIM_HOLDER, "node-c", "rev:1490");
	claim(k, CLAIM_WAITER, "node-d", "rev:1493");
	row_put(k);
	row_begin(k, MECH_ETCD_ELECTION, "elections/scheduler", STATE_HELD, 5 * 86400, false);
	k->verdict.role = "close-books";
	token(k, 7);
	lease(k, 15, 11000);
	claim(k, CLAIM_HOLDER, "node-3", "rev:7");
	row_put(k);
	row_begin(k, MECH_ETCD_ELECTION, "elections/reports", STATE_EXPIRING, 2, false);
	token(k, 9223372036854775807);
	lease(k, 15, 3000);
	claim(k, CLAIM_HOLDER, "node-4", "rev:9223372036854775807");
	row_put(k);
	row_begin(k, MECH_ETCD_ELECTION, "elections/mailer", STATE_FREE, 6 * 60, false);
	row_put(k);
	row_begin(
		k, MECH_ETCD_ELECTION, "elections/決算/e\xcc\x81te\xcc\x81", STATE_HELD, 60, false);
	token(k, 1200);
	lease(k, 600, 590000);
	claim(k, CLAIM_HOLDER, "ノード七", "rev:1200");
	row_put(k);
}

static struct snapshot *make_ctl(int64_t now_ms, int64_t now_us)
{
	struct maker k;

	maker_begin(&k, "ctl", now_ms, now_us);
	ctl_rows(&k);
	return maker_end(&k, &(struct snapshot){ .source = "ctl",
				     .kind = "etcd",
				     .environment = "prod",
				     .state = SOURCE_OK,
				     .live = true,
				     .picture_ms = now_ms - 900,
				     .server = "etcd 3.4.23",
				     .cost = { .requests = 61,
					     .bytes_in = 9000,
					     .bytes_out = 3000,
					     .round_trip_ms = 1 } });
}

static struct snapshot *make_west(int64_t now_ms, int64_t now_us)
{
	struct maker k;

	maker_begin(&k, "west", now_ms, now_us);
	row_begin(&k, MECH_ETCD_ELECTION, "elections/router", STATE_HELD, 3600, false);
	token(&k, 12);
	claim(&k, CLAIM_HOLDER, "node-9", "rev:12");
	row_put(&k);
	return maker_end(&k, &(struct snapshot){ .source = "west",
				     .kind = "etcd",
				     .environment = "staging",
				     .state = SOURCE_FAILING,
				     .picture_ms = now_ms - 250000,
				     .error = "10.9.0.1:2379 was asked for its keys and did not "
					      "answer within 5 s; check the host and "
					      "the network between",
				     .error_since_us = now_us - 250000000,
				     .cost = { .requests = 10, .round_trip_ms = 40 } });
}

/* What a hostile or careless client may write: everything that a terminal could take for a command,
 * and too much of it. */
static struct snapshot *make_hostile(int64_t now_ms, int64_t now_us)
{
	static const char *const pieces[] = { "\0a", "\x1b]0;x\a", "\x1b[2J", "\xe2\x80\xae",
		"\xff\xfe", "決", "e\xcc\x81\xcc\x81\xcc\x81\xcc\x81", "\r\n", "\\x41", "%s%n",
		"\xf0\x9f\x98\x80" };
	char text[4097];
	struct maker k;
	size_t i, n;

	maker_begin(&k, "hostile", now_ms, now_us);
	for (i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		size_t len = i ? strlen(pieces[i]) : 2;

		for (n = 0; n + len < sizeof(text); n += len)
			memcpy(text + n, pieces[i], len);
		draft_begin(k.draft, MECH_ETCD_ELECTION, k.source, text, n);
		verdict_draft_begin(&k.verdict);
		k.verdict.v.state = STATE_CONTENDED;
		k.verdict.v.state_since_us = INT64_MAX;
		draft_token(k.draft, TOKEN_CREATE_REVISION, INT64_MIN);
		draft_lease(k.draft, INT64_MAX / 4, INT64_MAX / 4, now_ms);
		draft_claim(k.draft, CLAIM_HOLDER, text, n, "rev:0");
		draft_text_mem(k.draft, DETAIL_KEY, text, n);
		draft_int(k.draft, DETAIL_LEASE, -1);
		for (n = 0; n < 6; n++)
			draft_claim(k.draft, CLAIM_WAITER, text, 300, "rev:1");
		verdict_add(
			&k.verdict, FINDING_FLAPPING, SEVERITY_WARN, INT64_MIN, "%.3000s", text);
		row_put(&k);
	}
	hostile_job(&k, "\x1b]0;x\a\xe2\x80\xae\r\n%s%n e\xcc\x81\xff\xe6\xb1\xba");
	return maker_end(
		&k, &(struct snapshot){ .source = "hostile",
			    .kind = "etcd",
			    .environment =
				    "a-word-of-an-environment-that-is-far-too-long-for-any-header",
			    .state = SOURCE_OK,
			    .picture_ms = now_ms,
			    .error_since_us = TIME_UNKNOWN,
			    .cost = { .round_trip_ms = INT64_MAX } });
}

static void found_row(struct maker *k, const char *path, enum state state, enum finding_code code,
	enum severity severity, const char *text)
{
	row_begin(k, MECH_PG_ADVISORY, path, state, 60, severity != SEVERITY_INFO);
	if (state != STATE_FREE)
		claim(k, CLAIM_HOLDER, "worker-1", path);
	verdict_add(&k->verdict, code, severity, k->now_us - MINUTE_US, "%s", text);
	row_put(k);
}

static struct snapshot *make_found(int64_t now_ms, int64_t now_us)
{
	struct maker k;

	maker_begin(&k, "lab", now_ms, now_us);
	found_row(&k, "app:1", STATE_STUCK, FINDING_IDLE_HOLDER, SEVERITY_WARN,
		"worker-1 has been idle in transaction for 6m, and 2 wait.");
	found_row(&k, "app:2", STATE_CONTENDED, FINDING_POOLED_HOLDER, SEVERITY_WARN,
		"A session of a pooler holds it, and 2 wait.");
	found_row(&k, "app:3", STATE_HELD, FINDING_DUP_RUN, SEVERITY_CRIT,
		"Two were at work at once for 24s, until 1m ago.");
	found_row(&k, "app:4", STATE_HELD, FINDING_NO_SUCCESSOR, SEVERITY_INFO, "Nobody waits.");
	found_row(&k, "app:5", STATE_FREE, FINDING_TOKEN_REGRESS, SEVERITY_CRIT,
		"Its token fell from 7 to 3.");
	return maker_end(&k, &(struct snapshot){ .source = "lab",
				     .kind = "postgres",
				     .environment = "lab",
				     .state = SOURCE_OK,
				     .picture_ms = now_ms,
				     .cost = { .round_trip_ms = 2 } });
}

static struct snapshot *make_bare(const char *name, const char *kind, enum source_state state,
	const char *error, int64_t now_ms, int64_t now_us)
{
	struct maker k;

	maker_begin(&k, name, now_ms, now_us);
	return maker_end(&k, &(struct snapshot){ .source = name,
				     .kind = kind,
				     .environment = "lab",
				     .state = state,
				     .picture_ms = state == SOURCE_OK ? now_ms - 300 : TIME_UNKNOWN,
				     .error = error,
				     .error_since_us = error ? now_us - 30000000 : TIME_UNKNOWN,
				     .cost = { .round_trip_ms = TIME_UNKNOWN } });
}

/* Of which the config leaves other databases out: what it looks at can be seen all the same. */
static struct snapshot *make_narrow(int64_t now_ms, int64_t now_us)
{
	static const char *const looked_at[] = { "app:", NULL };
	static const struct hidden rest = {
		.what = "other databases", .rows = "", .except = looked_at, .chosen = true
	};
	struct maker k;

	maker_begin(&k, "orders", now_ms, now_us);
	return maker_end(&k, &(struct snapshot){ .source = "orders",
				     .kind = "postgres",
				     .environment = "lab",
				     .state = SOURCE_OK,
				     .picture_ms = now_ms - 300,
				     .error_since_us = TIME_UNKNOWN,
				     .hidden = &rest,
				     .n_hidden = 1,
				     .cost = { .round_trip_ms = TIME_UNKNOWN } });
}

static const char *const close_books_witnesses[] = { "orders/app:(7,-9)", "ctl/elections/scheduler",
	"kube/lease/close" };
static const struct role boards_roles[] = { { .name = "close-books",
	.harm = HARM_HARMFUL,
	.idempotent = TRI_NO,
	.fenced = TRI_NO,
	.witnesses = close_books_witnesses,
	.n_witnesses = 3 } };

/* A CronJob of which no run is seen, since they are hidden. */
static struct snapshot *make_unseen_job(int64_t now_ms, int64_t now_us)
{
	struct maker k;

	maker_begin(&k, "edge", now_ms, now_us);
	row_begin(&k, MECH_K8S_CRONJOB, "cronjob/billing/close", STATE_UNKNOWN, 600, true);
	draft_int(k.draft, DETAIL_RUNS_HIDDEN, 1);
	draft_int(k.draft, DETAIL_JOBS_HIDDEN, 1);
	row_put(&k);
	return maker_end(&k, &(struct snapshot){ .source = "edge",
				     .kind = "kubernetes",
				     .environment = "lab",
				     .state = SOURCE_OK,
				     .picture_ms = now_ms - 300,
				     .error_since_us = TIME_UNKNOWN,
				     .cost = { .round_trip_ms = TIME_UNKNOWN } });
}

static const char *const every_close_witnesses[] = { "kube/cronjob/billing/close",
	"kube/cronjob/ops/leap", "edge/cronjob/billing/close", "west/cronjob/billing/close" };
static const struct role jobs_role = { .name = "every-close",
	.harm = HARM_HARMFUL,
	.idempotent = TRI_UNKNOWN,
	.fenced = TRI_NO,
	.witnesses = every_close_witnesses,
	.n_witnesses = 4 };

static struct board *compose_roles(struct snapshot **snapshots, size_t n, const struct role *roles,
	size_t n_roles, int64_t now_ms, int64_t now_us)
{
	struct thresholds thresholds = thresholds_default();

	return board_compose(snapshots, n, roles, n_roles, &thresholds, NULL, NULL, now_ms, now_us);
}

static struct board *compose(
	struct snapshot **snapshots, size_t n, size_t n_roles, int64_t now_ms, int64_t now_us)
{
	return compose_roles(snapshots, n, boards_roles, n_roles, now_ms, now_us);
}

struct board *boards_make(const char *name, int64_t now_ms, int64_t now_us)
{
	struct snapshot *s[3] = { 0 };

	if (strcmp(name, "mixed") == 0) {
		s[0] = make_orders(now_ms, now_us);
		s[1] = make_ctl(now_ms, now_us);
		s[2] = make_west(now_ms, now_us);
		return compose(s, 3, 1, now_ms, now_us);
	}
	if (strcmp(name, "calm") == 0) {
		struct maker k;

		maker_begin(&k, "lab", now_ms, now_us);
		row_begin(&k, MECH_PG_ADVISORY, "app:1", STATE_HELD, 60, false);
		claim(&k, CLAIM_HOLDER, "worker-1", "1@1");
		row_put(&k);
		s[0] = maker_end(&k, &(struct snapshot){ .source = "lab",
					     .kind = "postgres",
					     .environment = "lab",
					     .state = SOURCE_OK,
					     .picture_ms = now_ms,
					     .cost = { .round_trip_ms = 2 } });
		return compose(s, 1, 0, now_ms, now_us);
	}
	if (strcmp(name, "found") == 0) {
		s[0] = make_found(now_ms, now_us);
		return compose(s, 1, 0, now_ms, now_us);
	}
	if (strcmp(name, "empty") == 0) {
		s[0] = make_bare("pg", "postgres", SOURCE_OK, NULL, now_ms, now_us);
		s[1] = make_bare("etcd", "etcd", SOURCE_OK, NULL, now_ms, now_us);
		return compose(s, 2, 0, now_ms, now_us);
	}
	if (strcmp(name, "connecting") == 0) {
		s[0] = make_bare("pg", "postgres", SOURCE_CONNECTING, NULL, now_ms, now_us);
		s[1] = make_bare("etcd", "etcd", SOURCE_CONNECTING, NULL, now_ms, now_us);
		return compose(s, 2, 0, now_ms, now_us);
	}
	/* Of one witness of the role nothing was read yet, another is not there. */
	if (strcmp(name, "role-unread") == 0) {
		s[0] = make_narrow(now_ms, now_us);
		s[1] = make_bare("ctl", "etcd", SOURCE_CONNECTING, NULL, now_ms, now_us);
		return compose(s, 2, 1, now_ms, now_us);
	}
	if (strcmp(name, "failing") == 0) {
		s[0] = make_bare("pg", "postgres", SOURCE_FAILING,
			"connecting to 127.0.0.1:5432 was refused: start the server, or correct "
			"PGHOST and PGPORT",
			now_ms, now_us);
		return compose(s, 1, 0, now_ms, now_us);
	}
	if (strcmp(name, "hostile") == 0) {
		s[0] = make_hostile(now_ms, now_us);
		return compose(s, 1, 0, now_ms, now_us);
	}
	if (strcmp(name, "jobs") == 0) {
		s[0] = make_jobs(now_ms, now_us);
		s[1] = make_far_jobs(now_ms, now_us);
		return compose(s, 2, 0, now_ms, now_us);
	}
	if (strcmp(name, "role-jobs") == 0) {
		s[0] = make_jobs(now_ms, now_us);
		s[1] = make_unseen_job(now_ms, now_us);
		s[2] = make_far_jobs(now_ms, now_us);
		return compose_roles(s, 3, &jobs_role, 1, now_ms, now_us);
	}
	if (strcmp(name, "jobs-500") == 0) {
		s[0] = make_many_jobs(500, now_ms, now_us);
		return compose(s, 1, 0, now_ms, now_us);
	}
	return strcmp(name, "none") == 0 ? compose(s, 0, 0, now_ms, now_us) : NULL;
}

void boards_events(struct journal *journal, int64_t now_us)
{
	const char *id = "ctl/elections/billing";

	journal_add(journal, event_new(TIME_UNKNOWN, 1377, "ctl", id, "took",
				     "node-a took it, token 1377 (read in etcd's history)"));
	journal_add(journal, event_held(now_us - 2 * HOUR_US, 1482, "ctl", id, "hand-over",
				     "node-b took it from node-a, token 1377 > 1482", EVENT_TOOK,
				     "node-b", "rev:1482"));
	journal_add(journal,
		event_new(now_us - 41 * MINUTE_US, 0, "orders", "orders/app:-42", "finding",
			"idle-holder: worker-1's session is idle in transaction"));
	journal_add(
		journal, event_new(now_us - 4 * MINUTE_US, 0, "west", NULL, "source",
				 "west can't be read: 10.9.0.1:2379 did not answer within 5 s"));
	journal_add(
		journal, event_new(now_us - 9000000, 0, "ctl", "ctl/elections/billing", "finding",
				 "stale-holder: the lease of node-b is past its end"));
}

struct big_source {
	struct maker k;
	size_t n, next;
	int64_t revision;
};

static void big_row(struct big_source *big, size_t i)
{
	static const enum state states[] = { STATE_HELD, STATE_HELD, STATE_HELD, STATE_CONTENDED,
		STATE_FREE };
	struct maker *k = &big->k;
	enum state state = i % 5000 == 17 ? STATE_STALE : states[i % 5];
	char path[64], holder[64], key[64];

	snprintf(path, sizeof(path), "elections/job-%06zu", i);
	snprintf(holder, sizeof(holder), "node-%02zu", (i + (size_t)big->revision) % 97);
	snprintf(key, sizeof(key), "rev:%lld", (long long)++big->revision);
	row_begin(k, MECH_ETCD_ELECTION, path, state, (int64_t)(i % 7000), state == STATE_STALE);
	if (state != STATE_FREE) {
		token(k, big->revision);
		lease(k, 60, state == STATE_STALE ? -5000 : 45000);
		claim(k, CLAIM_HOLDER, holder, key);
	}
	row_put(k);
}

struct big_source *big_source_new(size_t n, int64_t now_ms, int64_t now_us)
{
	struct big_source *big = xcalloc(1, sizeof(*big));
	size_t i;

	maker_begin(&big->k, "big", now_ms, now_us);
	big->n = n;
	for (i = 0; i < n; i++)
		big_row(big, i);
	return big;
}

void big_source_free(struct big_source *big)
{
	picture_release(&big->k.pic);
	draft_free(big->k.draft);
	verdict_draft_release(&big->k.verdict);
	free(big);
}

struct snapshot *big_source_publish(
	struct big_source *big, size_t rows, int64_t now_ms, int64_t now_us)
{
	const struct snapshot head = { .source = "big",
		.kind = "etcd",
		.environment = "lab",
		.state = SOURCE_OK,
		.live = true,
		.picture_ms = now_ms,
		.cost = { .requests = 100, .round_trip_ms = 2 } };
	size_t i;

	big->k.now_ms = now_ms;
	big->k.now_us = now_us;
	for (i = 0; i < rows && big->n; i++) {
		big->next = (big->next + 7919) % big->n;
		big_row(big, big->next);
	}
	return picture_publish(&big->k.pic, &head);
}
