#include "config.h"

#include "tests/unit/unit.h"
#include "tests/unit/show/boards.h"
#include "tests/unit/show/capture.h"

#include "base/mem.h"
#include "base/text.h"
#include "model/draft.h"
#include "show/show.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static const char *const witnesses[] = { "pg/app:-42", "etcd/e/x" };
static const struct role roles[] = { { .name = "close",
	.harm = HARM_HARMFUL,
	.idempotent = TRI_NO,
	.witnesses = witnesses,
	.n_witnesses = 2 } };

static void make_lock(struct board_maker *m)
{
	struct draft *d = board_maker_draft(m);
	struct verdict_draft *v = board_maker_verdict(m);

	board_maker_begin(m, MECH_PG_ADVISORY, "app:-42");
	draft_name(d, "billing-close");
	draft_claim(d, CLAIM_HOLDER, "worker-1", 8, "4711@1767323045000000");
	draft_int(d, DETAIL_PID, 4711);
	draft_int(d, DETAIL_BACKEND_START, INT64_C(1767323045000007));
	draft_hidden(d, DETAIL_CLIENT);
	draft_int(d, DETAIL_BLOCKED_BY, 1);
	draft_claim(d, CLAIM_WAITER, "worker-2", 8, "4712@1767323045000000");
	draft_position(d, 1);
	draft_int(d, DETAIL_BLOCKED_BY, 4711);
	draft_int(d, DETAIL_BLOCKED_BY, 4713);
	verdict_add(v, FINDING_IDLE_HOLDER, SEVERITY_WARN, BOARD_NOW_US - 60000000,
		"worker-1 is idle in a transaction.");
	verdict_advise(v, "Ask its owner.");
	verdict_evidence_int(v, DETAIL_PID, 4711);
	v->v.first_seen_us = BOARD_NOW_US - 41 * 60 * INT64_C(1000000);
	v->v.known_since_us = v->v.state_since_us = v->v.first_seen_us;
	v->v.needs_attention = true;
	board_maker_row(m, STATE_STUCK);
}

static void make_election(struct board_maker *m)
{
	struct draft *d = board_maker_draft(m);
	struct verdict_draft *v = board_maker_verdict(m);

	board_maker_begin(m, MECH_ETCD_ELECTION, "e/x");
	draft_token(d, TOKEN_CREATE_REVISION, INT64_MAX);
	draft_lease(d, 15000, BOARD_NOW_MS - 9000, BOARD_NOW_MS - 500);
	draft_claim(d, CLAIM_HOLDER, "node\x1b\xff", 6, "rev:9223372036854775807");
	draft_int(d, DETAIL_LEASE, (int64_t)0x8000000000000001u);
	draft_int(d, DETAIL_CREATE_REVISION, INT64_MAX);
	draft_int(d, DETAIL_TTL_DEADLINE, BOARD_NOW_MS - 9000);
	draft_int(d, DETAIL_TTL_READ, BOARD_NOW_MS - 500);
	draft_int(d, DETAIL_TTL_GRANTED, 15000);
	v->v.has_highest = true;
	v->v.highest_token = INT64_MAX;
	board_maker_row(m, STATE_STALE);
	board_maker_begin(m, MECH_ETCD_LOCK, "locks/b");
	board_maker_row(m, STATE_FREE);
	board_maker_begin(m, MECH_ETCD_LOCK, "locks/a");
	board_maker_row(m, STATE_FREE);
}

static struct board *make_board(void)
{
	struct board_maker *m = board_maker_new();

	board_maker_source(m, "pg", SOURCE_OK, NULL);
	make_lock(m);
	board_maker_source(m, "etcd", SOURCE_DEGRADED, NULL);
	make_election(m);
	board_maker_source(m, "dead", SOURCE_FAILING, "nobody listens");
	board_maker_begin(m, MECH_PG_ADVISORY, "app:1");
	board_maker_row(m, STATE_HELD);
	return board_maker_finish(m, roles, 1);
}

static char *list(const struct board *board, const struct show_ops *ops, uint32_t states)
{
	struct show show;
	struct out out;

	capture_begin(&out);
	show_init(&show, ops, &out, NULL, board);
	show_list(&show, board, states);
	return capture_end(&out);
}

static void test_text_list(void **state)
{
	struct board *board = make_board();
	char *text = list(board, &show_text, 0);

	(void)state;
	/* clang-format off */
	assert_string_equal(text,
		"S  STATE      SINGLETON     NAME           HOLDER        WAIT                TOKEN  LEASE  SINCE  FINDINGS\n"
		"D  DUPLICATE  role/close    -              worker-1 +1      -                    -      -      -  dup-holder\n"
		"S  STALE      etcd/e/x      -              node\\x1b\\xff     -  9223372036854775807    -9s      -  -\n"
		"T  STUCK      pg/app:-42    billing-close  worker-1         1                    -      -    41m  idle-holder\n"
		"F  FREE       etcd/locks/a  -              -                -                    -      -      -  -\n"
		"F  FREE       etcd/locks/b  -              -                -                    -      -      -  -\n"
		"?  UNKNOWN    dead/app:1    -              -                -                    -      -      -  -\n");
	/* clang-format on */
	free(text);
	text = list(board, &show_text, UINT32_C(1) << STATE_FREE);
	assert_string_equal(text, "S  STATE  SINGLETON     HOLDER  WAIT  SINCE\n"
				  "F  FREE   etcd/locks/a  -          -      -\n"
				  "F  FREE   etcd/locks/b  -          -      -\n");
	free(text);
	board_unref(board);
}

/* A role has its witness' state, and what is wrong with that is said with it. */
static void test_show_role(void **state)
{
	struct board *board = make_board();
	struct show show;
	struct out out;
	char *text;

	(void)state;
	capture_begin(&out);
	show_init(&show, &show_text, &out, NULL, board);
	show_role(&show, &board->roles[0]);
	text = capture_end(&out);
	assert_non_null(strstr(text, "  witness pg/app:-42 STUCK worker-1\n"
				     "  ! idle-holder worker-1 is idle in a transaction.\n"
				     "    > Ask its owner.\n"
				     "  witness etcd/e/x STALE "));
	free(text);
	board_unref(board);
}

static json_t *at(json_t *value, const char *path)
{
	char key[64];

	while (*path) {
		size_t len = strcspn(path, ".");

		snprintf(key, sizeof(key), "%.*s", (int)len, path);
		value = key[0] >= '0' && key[0] <= '9'
				? json_array_get(value, (size_t)strtoul(key, NULL, 10))
				: json_object_get(value, key);
		if (!value)
			fail_msg("nothing at %s", path);
		path += len + (path[len] == '.');
	}
	return value;
}

static void expect(json_t *root, const char *path, const char *wanted)
{
	char *text = json_dumps(at(root, path), JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS);

	if (strcmp(text, wanted) != 0)
		fail_msg("%s is %s, not %s", path, text, wanted);
	free(text);
}

static json_t *parse(char *text)
{
	json_error_t error;
	json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);

	if (!root)
		fail_msg("%s in line %d: %s", error.text, error.line, text);
	free(text);
	return root;
}

/* What most rows would say is left out of a list of many, and stays where one is looked at. */
static void test_usual_findings(void **state)
{
	struct board_maker *m = board_maker_new();
	struct verdict_draft *v = board_maker_verdict(m);
	struct board *board;
	struct show show;
	struct out out;
	char *text;

	(void)state;
	board_maker_source(m, "etcd", SOURCE_OK, NULL);
	board_maker_begin(m, MECH_ETCD_ELECTION, "e/calm");
	verdict_add(v, FINDING_NO_SUCCESSOR, SEVERITY_INFO, TIME_UNKNOWN, "Nobody waits.");
	board_maker_row(m, STATE_HELD);
	board_maker_begin(m, MECH_ETCD_ELECTION, "e/more");
	verdict_add(v, FINDING_NO_SUCCESSOR, SEVERITY_INFO, TIME_UNKNOWN, "Nobody waits.");
	verdict_add(v, FINDING_NO_LEASE, SEVERITY_WARN, TIME_UNKNOWN, "No lease.");
	board_maker_row(m, STATE_ORPHAN);
	board = board_maker_finish(m, NULL, 0);
	text = list(board, &show_text, 0);
	assert_non_null(strstr(text, "no-lease\n"));
	assert_null(strstr(text, "no-successor"));
	free(text);
	text = list(board, &show_json, 0);
	assert_non_null(strstr(text, "no-successor"));
	free(text);
	capture_begin(&out);
	show_init(&show, &show_text, &out, NULL, board);
	show_one(&show, board, board->snapshots[0], snapshot_row(board->snapshots[0], 0), NULL, 0);
	text = capture_end(&out);
	assert_non_null(strstr(text, "no-successor"));
	free(text);
	board_unref(board);
}

static void test_json_list(void **state)
{
	struct board *board = make_board();
	json_t *root = parse(list(board, &show_json, 0));

	(void)state;
	expect(root, "schema", "\"baton/1\"");
	expect(root, "at", "\"2026-01-02T03:04:05.678Z\"");
	expect(root, "sources.0.age_ms", "12");
	expect(root, "sources.0.error", "null");
	expect(root, "sources.0.environment", "\"lab\"");
	expect(root, "sources.1.state", "\"degraded\"");
	expect(root, "sources.2.state", "\"failing\"");
	expect(root, "sources.2.error", "\"nobody listens\"");
	expect(root, "sources.2.age_ms", "null");
	expect(root, "sources.2.needs_attention", "true");
	expect(root, "singletons.0.id", "\"etcd/e/x\"");
	expect(root, "singletons.0.token", "\"9223372036854775807\"");
	expect(root, "singletons.0.token_kind", "\"create_revision\"");
	expect(root, "singletons.0.lease_granted_ms", "15000");
	expect(root, "singletons.0.lease_remaining_ms", "-9000");
	expect(root, "singletons.0.first_seen", "null");
	expect(root, "singletons.0.holders.0.identity", "\"node\\\\x1b\\\\xff\"");
	expect(root, "singletons.0.holders.0.detail",
		"{\"create_revision\":\"9223372036854775807\",\"key\":null,"
		"\"lease\":\"8000000000000001\",\"lease_granted_ms\":15000,"
		"\"lease_read_age_ms\":500,\"lease_remaining_ms\":-9000,\"mod_revision\":null}");
	expect(root, "singletons.1.id", "\"pg/app:-42\"");
	expect(root, "singletons.1.name", "\"billing-close\"");
	expect(root, "singletons.1.token", "null");
	expect(root, "singletons.1.token_kind", "\"none\"");
	expect(root, "singletons.1.first_seen", "\"2026-01-02T02:23:05.678Z\"");
	expect(root, "singletons.1.needs_attention", "true");
	expect(root, "singletons.1.role", "null");
	expect(root, "singletons.1.runs", "[]");
	expect(root, "singletons.1.holders.0.key", "\"4711@1767323045000000\"");
	expect(root, "singletons.1.holders.0.detail",
		"{\"backend_start\":\"2026-01-02T03:04:05.000007Z\",\"blocked_by\":[1],\"client\":"
		"null,\"database\":null,\"mode\":null,\"pid\":4711,\"query_start\":null,"
		"\"state\":null,\"state_change\":null,\"user\":null,\"xact_start\":null}");
	expect(root, "singletons.1.holders.0.hidden", "[\"client\"]");
	expect(root, "singletons.1.waiters.0.position", "1");
	expect(root, "singletons.1.waiters.0.detail",
		"{\"backend_start\":null,\"blocked_by\":[4711,4713],\"client\":null,"
		"\"database\":null,\"mode\":null,\"pid\":null,\"query_start\":null,\"state\":null,"
		"\"state_change\":null,\"user\":null,\"xact_start\":null}");
	expect(root, "singletons.1.findings",
		"[{\"advice\":\"Ask its "
		"owner.\",\"code\":\"idle-holder\",\"evidence\":{\"pid\":4711},"
		"\"severity\":\"warn\",\"since\":\"2026-01-02T03:03:05.678Z\",\"text\":\"worker-1 "
		"is idle in a "
		"transaction.\"}]");
	expect(root, "singletons.4.state", "\"UNKNOWN\"");
	expect(root, "roles.0.name", "\"close\"");
	expect(root, "roles.0.idempotent", "false");
	expect(root, "roles.0.fenced", "null");
	expect(root, "roles.0.witnesses.0",
		"{\"holder\":\"worker-1\",\"id\":\"pg/"
		"app:-42\",\"sight\":\"there\",\"source\":\"pg\",\"state\":\"STUCK\"}");
	json_decref(root);
	root = parse(list(board, &show_json, UINT32_C(1) << STATE_FREE));
	assert_int_equal(json_array_size(at(root, "singletons")), 2);
	assert_int_equal(json_array_size(at(root, "sources")), 3);
	json_decref(root);
	board_unref(board);
}

static char *one(
	const struct board *board, const struct show_ops *ops, struct event **events, size_t n)
{
	const struct snapshot *snap;
	const struct row *row = board_find(board, "pg/app:-42", &snap);
	struct show show;
	struct out out;

	capture_begin(&out);
	show_init(&show, ops, &out, NULL, board);
	show_one(&show, board, snap, row, events, n);
	return capture_end(&out);
}

static void test_show_one(void **state)
{
	struct event *events[] = {
		event_held(TIME_UNKNOWN, 1482, "pg", "pg/app:-42", "took", "node-a took it.",
			EVENT_TOOK, "node-a", "rev:1482"),
		event_new(BOARD_NOW_US, 0, "pg", "pg/app:-42", "state", "It is STUCK."),
	};
	struct board *board = make_board();
	char *text = one(board, &show_text, events, 2);
	json_t *root;

	(void)state;
	assert_string_equal(text,
		"pg/app:-42  \"billing-close\"  STUCK\n"
		"  by      pg-advisory, a PostgreSQL advisory lock\n"
		"  since   holder first seen 2026-01-02T02:23:05.678Z, 41m ago; known since "
		"2026-01-02T02:23:05.678Z\n"
		/* clang-format off */
		"holder over the last hour (a column is 1m)\n"
		"  UTC               02:10     02:20     02:30     02:40     02:50         now\n"
		"  worker-1                       =========================================> holds it\n"
		"  worker-2                                                                | waits\n"
		"  not seen    ????????????????????                                        |\n"
		"  earlier hand-overs have no time: see the history\n"
		/* clang-format on */
		"  holder  worker-1 (4711@1767323045000000)\n"
		"            pid 4711, session began 2026-01-02T03:04:05.000Z, client hidden, "
		"blocked by 1\n"
		"  waiter  1. worker-2 (4712@1767323045000000)\n"
		"            blocked by 4711, blocked by 4713\n"
		"  ! idle-holder worker-1 is idle in a transaction.\n"
		"    > Ask its owner.\n"
		"  source  pg (test, lab), ok, picture 0s old, test 1.0\n"
		"history\n"
		"  time unknown              took      node-a took it.\n"
		"  2026-01-02T03:04:05.678Z  state     It is STUCK.\n");
	free(text);
	root = parse(one(board, &show_json, events, 2));
	expect(root, "source.name", "\"pg\"");
	expect(root, "singleton.id", "\"pg/app:-42\"");
	expect(root, "history",
		"[{\"at\":null,\"holder\":\"node-a\",\"key\":\"rev:1482\",\"text\":\"node-a took "
		"it.\",\"token\":\"1482\",\"what\":\"took\"},"
		"{\"at\":\"2026-01-02T03:04:05.678Z\",\"holder\":null,\"key\":null,"
		"\"text\":\"It is STUCK.\",\"token\":null,\"what\":\"state\"}]");
	json_decref(root);
	free(events[0]);
	free(events[1]);
	board_unref(board);
}

static void test_changes(void **state)
{
	struct board *board = make_board();
	const struct snapshot *snap;
	const struct row *row = board_find(board, "etcd/e/x", &snap);
	struct show show;
	struct out out;
	char *text, *line;

	(void)state;
	capture_begin(&out);
	show_init(&show, &show_text, &out, NULL, board);
	show_change(&show, board, "changed", snap, row);
	show_change(&show, board, "source", board->snapshots[2], NULL);
	text = capture_end(&out);
	assert_string_equal(text,
		"2026-01-02T03:04:05.678Z  changed   STALE      etcd/e/x  node\\x1b\\xff  token "
		"9223372036854775807\n"
		"2026-01-02T03:04:05.678Z  source    failing    dead  nobody listens\n");
	free(text);
	capture_begin(&out);
	show_init(&show, &show_json, &out, NULL, board);
	show_change(&show, board, "gone", snap, row);
	show_change(&show, board, "source", board->snapshots[2], NULL);
	text = capture_end(&out);
	line = strchr(text, '\n');
	/* A line each. */
	assert_non_null(line);
	assert_string_equal(strchr(line + 1, '\n'), "\n");
	*line = '\0';
	json_t *gone = parse(strdup(text)), *source = parse(strdup(line + 1));
	expect(gone, "event", "\"gone\"");
	expect(gone, "id", "\"etcd/e/x\"");
	expect(gone, "singleton.state", "\"STALE\"");
	expect(source, "id", "null");
	expect(source, "source.name", "\"dead\"");
	json_decref(gone);
	json_decref(source);
	free(text);
	board_unref(board);
}

static void test_waited_in_vain(void **state)
{
	struct snapshot snap = { .state = SOURCE_CONNECTING };
	struct show show = { .patience_ms = 0 };
	char buf[SHOW_VAIN_MAX];

	(void)state;
	assert_null(show_source_error(&show, &snap, buf, sizeof(buf)));
	show.patience_ms = 2500;
	assert_string_equal(show_source_error(&show, &snap, buf, sizeof(buf)),
		"no answer within 2.5 s: perhaps its name server is silent");
	snap.state = SOURCE_OK;
	assert_null(show_source_error(&show, &snap, buf, sizeof(buf)));
}

/* A CronJob with a run that two pods work at, one that is over, and one that nobody can see. */
static void make_job(struct board_maker *m)
{
	struct draft *d = board_maker_draft(m);
	const int64_t slot = INT64_C(1767322800000000); /* 03:00 */

	board_maker_begin(m, MECH_K8S_CRONJOB, "cronjob/billing/close");
	draft_run(d, &(struct run){ .name = "close-29455380",
			     .key = "uid:b",
			     .state = RUN_RUNNING,
			     .listed = TRI_YES,
			     .attempts = 2,
			     .slot_us = slot,
			     .created_us = slot + 1000000,
			     .start_us = slot + 1000000,
			     .end_us = TIME_UNKNOWN,
			     .deleted_us = TIME_UNKNOWN,
			     .deadline_s = TIME_UNKNOWN,
			     .parallelism = 1 });
	draft_int(d, DETAIL_JOB_ACTIVE, 2);
	draft_pod(d, &(struct pod){ .name = "close-29455380-x",
			     .key = "uid:x",
			     .node = "n3",
			     .phase = POD_RUNNING,
			     .node_ready = TRI_YES,
			     .containers_running = 1,
			     .restarts = -1,
			     .start_us = slot + 2000000,
			     .end_us = TIME_UNKNOWN,
			     .deleted_us = TIME_UNKNOWN });
	draft_pod(d, &(struct pod){ .name = "close-29455380-y",
			     .key = "uid:y",
			     .phase = POD_FAILED,
			     .reason = "NodeLost",
			     .node_gone = true,
			     .containers_running = -1,
			     .restarts = 3,
			     .start_us = TIME_UNKNOWN,
			     .end_us = TIME_UNKNOWN,
			     .deleted_us = TIME_UNKNOWN });
	draft_run(d, &(struct run){ .name = "by-hand",
			     .key = "uid:a",
			     .state = RUN_SUCCEEDED,
			     .manual = true,
			     .listed = TRI_NO,
			     .attempts = -1,
			     .slot_us = TIME_UNKNOWN,
			     .created_us = TIME_UNKNOWN,
			     .start_us = slot - 60000000,
			     .end_us = slot - 30000000,
			     .deleted_us = TIME_UNKNOWN,
			     .deadline_s = TIME_UNKNOWN,
			     .parallelism = 1 });
	draft_run_holders(d);
	board_maker_row(m, STATE_HELD);
}

/* The same chart as on the screen, and every run with its pods. */
static void test_show_job(void **state)
{
	struct board_maker *m = board_maker_new();
	struct board *board;
	struct show show;
	struct out out;
	char *text;

	(void)state;
	board_maker_source(m, "kube", SOURCE_OK, NULL);
	make_job(m);
	board = board_maker_finish(m, NULL, 0);
	capture_begin(&out);
	show_init(&show, &show_text, &out, NULL, board);
	show_one(&show, board, board->snapshots[0], snapshot_row(board->snapshots[0], 0), NULL, 0);
	text = capture_end(&out);
	/* clang-format off */
	assert_non_null(strstr(text,
		"runs (a column is 20s)\n"
		"  UTC                      02:50          02:55          03:00       now\n"
		"  02:59                                               == ok 30s, by hand\n"
		"  03:00                                                  ============> n3  running 4m, try 2\n"
		"  run     close-29455380, running, alive, slot 2026-01-02T03:00:00Z, started 2026-01-02T03:00:01Z\n"));
	assert_non_null(strstr(text,
		"            pod close-29455380-x on n3: Running, alive, since 2026-01-02T03:00:02Z\n"
		"            pod close-29455380-y on no node: Failed NodeLost, not known whether it is alive, its\n"
		"              node is gone, 3 restarts\n"));
	/* clang-format on */
	assert_null(strstr(text, "holder"));
	free(text);
	board_unref(board);
}

static void test_runs(void **state)
{
	struct board_maker *m = board_maker_new();
	struct board *board;
	char *text;

	(void)state;
	board_maker_source(m, "kube", SOURCE_OK, NULL);
	make_job(m);
	board_maker_begin(m, MECH_PG_ADVISORY, "app:1");
	board_maker_row(m, STATE_HELD);
	board = board_maker_finish(m, NULL, 0);
	assert_int_equal(board->n_jobs, 1);
	text = list(board, &show_json, 0);
	assert_non_null(strstr(text, "\"runs\":[{\"key\":\"uid:b\",\"name\":\"close-29455380\","
				     "\"slot\":\"2026-01-02T03:00:00.000Z\","
				     "\"manual\":false,\"state\":\"running\",\"alive\":true,"
				     "\"created\":\"2026-01-02T03:00:01.000Z\","
				     "\"start\":\"2026-01-02T03:00:01.000Z\",\"end\":null,"
				     "\"deleted\":null,\"attempts\":2,\"listed\":true,"
				     "\"detail\":{\"job_active\":2},\"pods\":[{\"name\":\"close-"
				     "29455380-x\",\"key\":\"uid:x\",\"node\":\"n3\","
				     "\"phase\":\"Running\",\"reason\":null,\"alive\":true,"));
	assert_non_null(
		strstr(text, "\"phase\":\"Failed\",\"reason\":\"NodeLost\",\"alive\":null,"));
	assert_non_null(strstr(text, "\"containers_running\":null,\"restarts\":3,"));
	assert_non_null(strstr(text, "\"name\":\"by-hand\",\"slot\":null,\"manual\":true,"));
	assert_non_null(strstr(text, "\"alive\":false,"));
	assert_non_null(strstr(text, "\"runs\":[],"));
	free(text);
	text = list(board, &show_text, 0);
	/* clang-format off */
	assert_string_equal(text,
		"S  STATE  SINGLETON                   HOLDER          RUNS  WAIT  SINCE\n"
		"H  HELD   kube/app:1                  -                  -     -      -\n"
		"H  HELD   kube/cronjob/billing/close  close-29455380   1/2     -      -\n");
	/* clang-format on */
	free(text);
	board_unref(board);
}

/* More rows than two threads tell at once, of changing widths. */
static struct board *make_many(size_t n)
{
	struct board_maker *m = board_maker_new();
	struct draft *d = board_maker_draft(m);
	char path[64], holder[96];
	size_t i;

	board_maker_source(m, "etcd", SOURCE_OK, NULL);
	for (i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "e/%05zu", i);
		snprintf(holder, sizeof(holder), "node-%0*zu", (int)(i * 7 % 71), i);
		board_maker_begin(m, MECH_ETCD_ELECTION, path);
		if (i % 3)
			draft_claim(d, CLAIM_HOLDER, holder, strlen(holder), "rev:1");
		board_maker_row(m, i % 3 ? STATE_HELD : STATE_FREE);
	}
	return board_maker_finish(m, NULL, 0);
}

static void test_two_threads_tell_the_same_as_one(void **state)
{
	/* The first size of a part, one less, and more than what is held at once. */
	static const size_t sizes[] = { 2047, 2048, 8193, 9001 };
	const struct show_ops *both[] = { &show_text, &show_json };
	size_t i;

	(void)state;
	for (i = 0; i < 2 * ARRAY_LEN(sizes); i++) {
		struct board *board = make_many(sizes[i / 2]);
		struct show_ops alone = *both[i % 2];
		char *by_two, *by_one;

		alone.part = NULL;
		by_two = list(board, both[i % 2], 0);
		by_one = list(board, &alone, 0);
		assert_true(strlen(by_one) > sizes[i / 2]);
		assert_true(strcmp(by_one, by_two) == 0);
		free(by_one);
		free(by_two);
		board_unref(board);
	}
}

/* What can't be written ends it, and says why. */
static void test_many_rows_that_nobody_takes(void **state)
{
	const struct show_ops *both[] = { &show_text, &show_json };
	struct board *board = make_many(9001);
	struct show show;
	struct out out;
	int ends[2], i;

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	for (i = 0; i < 2; i++) {
		assert_int_equal(pipe(ends), 0);
		close(ends[0]);
		out_init(&out, ends[1]);
		show_init(&show, both[i], &out, NULL, board);
		show_list(&show, board, 0);
		assert_int_equal(out_close(&out), EPIPE);
		close(ends[1]);
		ends[1] = open("/dev/full", O_WRONLY);
		out_init(&out, ends[1]);
		show_init(&show, both[i], &out, NULL, board);
		show_list(&show, board, 0);
		assert_int_equal(out_close(&out), ENOSPC);
		close(ends[1]);
	}
	board_unref(board);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text_list),
		cmocka_unit_test(test_runs),
		cmocka_unit_test(test_usual_findings),
		cmocka_unit_test(test_show_job),
		cmocka_unit_test(test_json_list),
		cmocka_unit_test(test_show_one),
		cmocka_unit_test(test_show_role),
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_waited_in_vain),
		cmocka_unit_test(test_two_threads_tell_the_same_as_one),
		cmocka_unit_test(test_many_rows_that_nobody_takes),
	};

	text_init_locale();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
