#include "config.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "base/vclock.h"
#include "base/zone.h"
#include "control/fleet.h"
#include "control/settings.h"
#include "model/draft.h"
#include "model/record.h"
#include "model/redact.h"
#include "model/schedule.h"
#include "model/thresholds.h"
#include "source/replay.h"
#include "tests/unit/unit.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Everything that a record can hold is written, read back, and written again: the same lines. */

enum {
	NOW_MS = 777000123,
};
#define NOW_US INT64_C(1796008340214431)

static void add_line(void *arg, const char *text, size_t len)
{
	str_add_mem(arg, text, len);
}

/* ---- a source with everything ---- */

static int64_t value_of(enum detail_id id)
{
	switch (detail_word(id)->type) {
	case DETAIL_TYPE_TIME:
		return NOW_US - id * 1000001;
	case DETAIL_TYPE_BOOL:
		return id % 2;
	case DETAIL_TYPE_BIG:
	case DETAIL_TYPE_HEX:
		return INT64_MAX - id;
	default:
		return NOW_MS + id * 7;
	}
}

static void every_detail(struct draft *d)
{
	char text[64];
	int i;

	for (i = 0; i < DETAIL_COUNT; i++) {
		if (i % 17 == 3) {
			draft_hidden(d, (enum detail_id)i);
		} else if (detail_word((enum detail_id)i)->type == DETAIL_TYPE_TEXT) {
			snprintf(text, sizeof(text), "\"%d\\ \x1b[31m\xc3\xa4\xf0\x9f\x98\x80\xff",
				i);
			draft_text(d, (enum detail_id)i, text);
			if (i % 3 == 0)
				draft_text(d, (enum detail_id)i, "");
		} else {
			draft_int(d, (enum detail_id)i, value_of((enum detail_id)i));
		}
	}
	/* Years beyond what RFC 3339 can write. */
	draft_int(d, DETAIL_CREATED, INT64_MAX - 1);
	draft_int(d, DETAIL_PID, INT64_MIN + 1);
}

static void every_run(struct draft *d, enum run_state state)
{
	struct run run = { .name = "close-2945",
		.key = "uid:1-2",
		.state = state,
		.listed = TRI_NO,
		.manual = state == RUN_FAILED,
		.unseen = state == RUN_FAILED,
		.attempts = 3,
		.slot_us = NOW_US - 60000000,
		.created_us = NOW_US - 59000000,
		.start_us = NOW_US - 58000000,
		.end_us = state == RUN_RUNNING ? TIME_UNKNOWN : NOW_US,
		.deleted_us = TIME_UNKNOWN,
		.deadline_s = 600,
		.parallelism = 2 };
	struct pod pod = { .name = "close-2945-x",
		.key = "uid:9",
		.node = "node-1",
		.reason = state == RUN_FAILED ? "NodeLost" : NULL,
		.phase = POD_RUNNING,
		.node_ready = TRI_YES,
		.containers_running = 1,
		.restarts = -1,
		.node_gone = state == RUN_FAILED,
		.start_us = NOW_US,
		.end_us = TIME_UNKNOWN,
		.deleted_us = NOW_US };

	draft_run(d, &run);
	every_detail(d);
	draft_pod(d, &pod);
	every_detail(d);
	pod.node = NULL;
	draft_pod(d, &pod);
}

static struct singleton *everything(struct draft *d, const struct schedule *schedule)
{
	draft_begin(d, MECH_K8S_CRONJOB, "orders", "app\\x/\x07:-42", 10);
	draft_name(d, "billing-close");
	draft_token(d, TOKEN_CREATE_REVISION, INT64_MAX);
	draft_lease(d, 10000, NOW_MS + 7001, NOW_MS - 3);
	draft_lease_known(d, NOW_MS - 1);
	every_detail(d);
	draft_schedule(d, schedule);
	every_run(d, RUN_RUNNING);
	every_run(d, RUN_FAILED);
	draft_run_holders(d);
	draft_claim(d, CLAIM_WAITER, "w\"1", 3, "4711@1767322923000000");
	draft_position(d, 7);
	every_detail(d);
	draft_claim(d, CLAIM_FORMER, "", 0, "");
	draft_claim(d, CLAIM_MEMBER, "m", 1, "member:1");
	return draft_finish(d);
}

static struct singleton *nothing(struct draft *d)
{
	draft_begin(d, MECH_PG_ADVISORY, "orders", "app:1", 5);
	return draft_finish(d);
}

static void every_finding(struct verdict_draft *v)
{
	int i;

	verdict_draft_begin(v);
	v->v.state = STATE_STUCK;
	v->v.needs_attention = true;
	v->v.has_highest = true;
	v->v.highest_token = INT64_MAX;
	v->v.state_since_us = NOW_US - 5;
	v->v.known_since_us = NOW_US - 6;
	v->role = "close-books";
	v->v.fit = FITNESS_WEAK;
	for (i = 0; i < FINDING_COUNT; i++) {
		verdict_add(v, (enum finding_code)i, (enum severity)(i % 3),
			i % 2 ? NOW_US : TIME_UNKNOWN, "what %d \\x41 says", i);
		if (i % 4)
			verdict_advise(v, "do %d", i);
		verdict_evidence_int(v, DETAIL_PID, i);
		verdict_evidence_text(v, DETAIL_RUN, "one");
		verdict_evidence_text(v, DETAIL_RUN, "two");
		verdict_evidence_int(v, DETAIL_RENEWED, NOW_MS - i);
	}
}

static struct board *make_board(void)
{
	static const char *const witnesses[] = { "orders/app:1" };
	static const struct role role = { .name = "close-books",
		.harm = HARM_HARMFUL,
		.fenced = TRI_NO,
		.witnesses = witnesses,
		.n_witnesses = 1 };
	struct thresholds thresholds = thresholds_default();
	static const char *const one[] = { "lease/a/", NULL };
	static const char *const two[] = { "cronjob/a/", "cronjob/b/", NULL };
	struct hidden hidden[] = { { .what = "queries of others",
					   .remedy = "GRANT x",
					   .rows = "lease/",
					   .except = one },
		{ .what = "that", .rows = "cronjob/", .except = two, .chosen = true } };
	struct schedule *schedule = schedule_new("CRON_TZ=Etc/UTC 0 3 * * *", NULL, zone_load);
	struct draft *d = draft_new();
	struct verdict_draft v;
	struct picture pic;
	struct snapshot head = { .source = "orders",
		.kind = "kubernetes",
		.environment = "lab",
		.protect = true,
		.live = true,
		.state = SOURCE_DEGRADED,
		.picture_ms = NOW_MS - 77,
		.error = "something is wrong",
		.error_since_us = NOW_US - 1,
		.server = "v1.34.2",
		.hidden = hidden,
		.n_hidden = 2,
		.cost = { 1, 2, 3, 4 } };
	struct snapshot *snap;
	struct board *board;

	verdict_draft_init(&v);
	picture_init(&pic);
	every_finding(&v);
	picture_put(&pic, everything(d, schedule));
	picture_judged(&pic, 0, row_new(singleton_ref(pic.slots[0].s), &v), INT64_MAX);
	draft_begin(d, MECH_SOURCE, "orders", "", 0);
	every_detail(d);
	head.self = row_new(draft_finish(d), &v);
	verdict_draft_begin(&v);
	picture_put(&pic, nothing(d));
	picture_judged(&pic, 1, row_new(singleton_ref(pic.slots[1].s), &v), INT64_MAX);
	snap = picture_publish(&pic, &head);
	board = board_compose(&snap, 1, &role, 1, &thresholds, NULL, NULL, NOW_MS, NOW_US);
	row_unref(head.self);
	picture_release(&pic);
	verdict_draft_release(&v);
	draft_free(d);
	schedule_unref(schedule);
	return board;
}

/* ---- writing and reading ---- */

static void write_lines(struct record_writer *w, const struct board *board)
{
	struct thresholds thresholds = thresholds_default();

	record_head(w, board, &thresholds, "baton test");
	record_snapshot(w, board, 0, NULL);
	record_verdicts(w, board, NULL);
}

static void save(char *path, const struct str *text)
{
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text->s, text->len), text->len);
	close(fd);
}

struct opened {
	struct replay *replay;
	struct settings *settings;
	struct vclock clock;
	struct fleet *fleet;
	struct board *board;
};

static void open_at(struct opened *o, const char *path, int64_t at_ms)
{
	struct fleet_options options = { .one_shot = true };
	struct err err = { 0 };

	if (replay_open(path, &o->replay, &err))
		fail_msg("%s", err.text);
	vclock_init(&o->clock, &clock_system, replay_epoch_us(o->replay), at_ms);
	o->settings = settings_of_replay(o->replay);
	options.clock = &o->clock.source;
	options.replay = o->replay;
	o->fleet = fleet_new(o->settings, &options);
	fleet_start(o->fleet);
	assert_true(fleet_wait_settled(o->fleet, clock_mono_ms(&clock_system) + 20000));
	o->board = fleet_board(o->fleet);
}

static void close_all(struct opened *o)
{
	board_unref(o->board);
	assert_true(fleet_stop(o->fleet, 5000));
	fleet_free(o->fleet);
	settings_free(o->settings);
	vclock_release(&o->clock);
	replay_close(o->replay);
}

static void everything_comes_back(void **state)
{
	char path[] = "/tmp/baton-record-XXXXXX";
	struct board *board = make_board();
	struct record_writer w;
	struct str first, second;
	struct opened o;

	(void)state;
	str_init(&first, 1024 * 1024 * 64);
	str_init(&second, 1024 * 1024 * 64);
	record_init(&w, board, add_line, &first, NULL);
	write_lines(&w, board);
	record_end(&w, "stopped");
	record_release(&w);
	save(path, &first);
	str_truncate(&first, (size_t)(strstr(first.s, "{\"t\":0,\"line\":\"end\"") - first.s));
	open_at(&o, path, REPLAY_START_MS);
	assert_null(replay_trouble(o.replay));
	record_init(&w, o.board, add_line, &second, NULL);
	write_lines(&w, o.board);
	record_release(&w);
	assert_string_equal(second.s, first.s);
	close_all(&o);
	unlink(path);
	str_release(&first);
	str_release(&second);
	board_unref(board);
}

static void redacted_holds_no_name(void **state)
{
	static const char *const names[] = { "orders", "billing", "close-2945", "node-1",
		"close-books", "queries of others", "GRANT", "something is wrong", "w\\\"1" };
	struct board *board = make_board();
	struct redact *redact = redact_new();
	struct record_writer w;
	struct str text;
	size_t i;

	(void)state;
	str_init(&text, 1024 * 1024 * 64);
	record_init(&w, board, add_line, &text, redact);
	write_lines(&w, board);
	record_release(&w);
	for (i = 0; i < ARRAY_LEN(names); i++)
		if (strstr(text.s, names[i]))
			fail_msg("\"%s\" is in the record", names[i]);
	assert_non_null(strstr(text.s, "name-1"));
	redact_free(redact);
	str_release(&text);
	board_unref(board);
}

/* A prefix of etcd may end within a name, which its stand-in then does not begin with: what is told
 * of a role's witnesses is so all the same. */
static void redacted_tells_what_of_a_role_is_seen(void **state)
{
	static const char *const witnesses[] = { "ctl/elections/leader", "ctl/elections/le/b",
		"ctl/elections/left", "ctl/elections/other", "ctl/locks/job-1", "ctl/locks/mail",
		"ctl/cron/a", "ctl/cron/b", "orders/elections/leader" };
	static const char *const within[] = { "elections/lef", NULL };
	static const char *const looked_at[] = { "elections/", "locks/jo", "cron/a/", NULL };
	static const enum witness_sight sights[] = { SIGHT_HIDDEN, SIGHT_HIDDEN, SIGHT_ABSENT,
		SIGHT_ABSENT, SIGHT_ABSENT, SIGHT_OUTSIDE, SIGHT_ABSENT, SIGHT_OUTSIDE,
		SIGHT_UNKNOWN_SOURCE };
	struct role role = {
		.name = "one", .witnesses = witnesses, .n_witnesses = ARRAY_LEN(witnesses)
	};
	struct hidden hidden[] = {
		{ .what = "some", .rows = "elections/le", .except = within },
		{ .what = "the rest", .rows = "", .except = looked_at, .chosen = true },
	};
	struct snapshot head = { .source = "ctl",
		.kind = "etcd",
		.state = SOURCE_OK,
		.picture_ms = NOW_MS,
		.hidden = hidden,
		.n_hidden = 2 };
	struct thresholds thresholds = thresholds_default();
	struct picture pic;
	struct snapshot *snap;
	struct board *board;
	bool bare;
	size_t i;

	(void)state;
	picture_init(&pic);
	snap = picture_publish(&pic, &head);
	board = board_compose(&snap, 1, &role, 1, &thresholds, NULL, NULL, NOW_MS, NOW_US);
	for (bare = false;; bare = true) {
		char path[] = "/tmp/baton-record-XXXXXX";
		struct redact *redact = bare ? redact_new() : NULL;
		struct record_writer w;
		struct opened o;
		struct str text;

		str_init(&text, 1024 * 1024);
		record_init(&w, board, add_line, &text, redact);
		write_lines(&w, board);
		record_release(&w);
		assert_true(!bare || !strstr(text.s, "leader"));
		save(path, &text);
		open_at(&o, path, REPLAY_START_MS);
		assert_int_equal(o.board->n_roles, 1);
		for (i = 0; i < ARRAY_LEN(sights); i++) {
			assert_int_equal(role_witness_sight(&board->roles[0], i), sights[i]);
			assert_int_equal(role_witness_sight(&o.board->roles[0], i), sights[i]);
		}
		close_all(&o);
		unlink(path);
		str_release(&text);
		redact_free(redact);
		if (bare)
			break;
	}
	board_unref(board);
	picture_release(&pic);
}

/* One row, of which a finding says that; as of that moment. */
static struct board *board_that_says(const char *sentence, int64_t now_ms)
{
	struct thresholds thresholds = thresholds_default();
	struct snapshot head = { .source = "orders",
		.kind = "postgres",
		.state = SOURCE_OK,
		.picture_ms = now_ms,
		.error_since_us = TIME_UNKNOWN };
	struct draft *d = draft_new();
	struct verdict_draft v;
	struct picture pic;
	struct snapshot *snap;
	struct board *board;

	verdict_draft_init(&v);
	verdict_draft_begin(&v);
	verdict_add(&v, FINDING_IDLE_HOLDER, SEVERITY_WARN, NOW_US, "%s", sentence);
	verdict_advise(&v, "ask about %s", sentence);
	picture_init(&pic);
	picture_put(&pic, nothing(d));
	picture_judged(&pic, 0, row_new(singleton_ref(pic.slots[0].s), &v), INT64_MAX);
	snap = picture_publish(&pic, &head);
	board = board_compose(&snap, 1, NULL, 0, &thresholds, NULL, NULL, now_ms, NOW_US);
	picture_release(&pic);
	verdict_draft_release(&v);
	draft_free(d);
	return board;
}

/* A controller may write what it wants as a reason. */
static void a_reason_is_one_word_or_a_name(void **state)
{
	static const struct {
		const char *what, *written;
	} cases[] = {
		{ "FailedCreate", "\"what\":\"FailedCreate\"" },
		{ "hand-over", "\"what\":\"hand-over\"" },
		{ "billing-close failed", "\"what\":\"name-" },
		{ "billing-close", "\"what\":\"name-" },
	};
	struct redact *redact = redact_new();
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_LEN(cases); i++) {
		struct board *board = board_that_says("", NOW_MS);
		struct event *e = event_new(NOW_US, 0, "orders", NULL, cases[i].what, "");
		struct record_writer w;
		struct str text;

		str_init(&text, 1024 * 1024);
		record_init(&w, board, add_line, &text, redact);
		record_event(&w, e);
		if (!strstr(text.s, cases[i].written))
			fail_msg("%s", text.s);
		record_release(&w);
		str_release(&text);
		free(e);
		board_unref(board);
	}
	redact_free(redact);
}

/* A sentence that is not written is no difference: a line that tells nothing is none. */
static void a_changed_sentence_is_told_where_sentences_are(void **state)
{
	struct board *before = board_that_says("idle for 5m", NOW_MS);
	struct board *after = board_that_says("idle for 6m", NOW_MS + 60000);
	struct redact *redact = redact_new();
	bool bare;

	(void)state;
	for (bare = false;; bare = true) {
		struct record_writer w;
		struct str text;

		str_init(&text, 1024 * 1024);
		record_init(&w, before, add_line, &text, bare ? redact : NULL);
		record_snapshot(&w, before, 0, NULL);
		str_clear(&text);
		record_snapshot(&w, after, 0, before->snapshots[0]);
		if (bare)
			assert_string_equal(text.s, "{\"t\":60000,\"line\":\"seen\",\"source\":"
						    "\"name-1\",\"seen\":60000}\n");
		else
			assert_non_null(strstr(text.s, "idle for 6m"));
		record_release(&w);
		str_release(&text);
		if (bare)
			break;
	}
	redact_free(redact);
	board_unref(before);
	board_unref(after);
}

/* ---- changes, and what is damaged ---- */

#define HEAD                                                                               \
	"{\"t\":0,\"line\":\"record\",\"at\":\"2026-01-02T03:04:05.000000Z\",\"format\":"  \
	"\"baton-record\",\"version\":1,\"new\":{\"a\":[1]},\"sources\":[{\"name\":\"a\"," \
	"\"kind\":\"postgres\"}],\"roles\":[]}\n"
#define FRAME(t, whole, rows, gone)                                                           \
	"{\"t\":" t ",\"line\":\"frame\",\"source\":\"a\",\"whole\":" whole ",\"rows\":" rows \
	",\"gone\":" gone ",\"seen\":" t ",\"head\":{\"state\":\"ok\"}}\n"
#define ROW(t, id, more) \
	"{\"t\":" t ",\"line\":\"row\",\"source\":\"a\",\"id\":\"" id "\"" more "}\n"
#define WHAT ",\"what\":{\"mechanism\":\"pg-advisory\"}"
#define END  "{\"t\":9000,\"line\":\"end\"}\n"

/* What is shown of a text that is a record, at a moment: "id=STATE:holder ...". */
static void shown_at(const char *text, int64_t t, char *out, size_t size, const char **ret_trouble)
{
	char path[] = "/tmp/baton-record-XXXXXX";
	struct str s;
	struct opened o;
	size_t i, len = 0;
	static char trouble[500];

	str_init(&s, 1024 * 1024);
	str_add(&s, text);
	save(path, &s);
	open_at(&o, path, REPLAY_START_MS + t);
	*out = '\0';
	for (i = 0; i < o.board->snapshots[0]->n_rows; i++) {
		const struct row *row = snapshot_row(o.board->snapshots[0], i);
		const struct claim *holder = singleton_holder(row->s);

		len += (size_t)snprintf(out + len, size - len, "%s=%s:%s ", singleton_path(row->s),
			state_word(row->v.state)->word, holder ? claim_identity(holder) : "-");
	}
	snprintf(trouble, sizeof(trouble), "%s",
		replay_trouble(o.replay) ? replay_trouble(o.replay) : "");
	*ret_trouble = trouble;
	close_all(&o);
	unlink(path);
	str_release(&s);
}

static void moments(void **state)
{
	static const char held[] =
		",\"verdict\":{\"state\":\"HELD\"},\"claims\":[{\"kind\":\"holder\","
		"\"identity\":\"w\\u001b\\\\\"}]";
	static const struct {
		const char *text;
		int64_t t;
		const char *shown, *trouble;
	} cases[] = {
		{ HEAD END, 0, "", "" },
		{ HEAD FRAME("10", "true", "1", "0") ROW("10", "a/x", WHAT) END, 9, "", "" },
		{ HEAD FRAME("10", "true", "1", "0") ROW("10", "a/x", WHAT) END, 10, "x=UNKNOWN:- ",
			"" },
		/* What a row does not say is as it was. */
		{ HEAD FRAME("10", "true", "1", "0")
				ROW("10", "a/x", WHAT ",\"verdict\":{\"state\":\"FREE\"}")
					FRAME("20", "false", "1", "0") ROW("20", "a/x", "%") END,
			20, "x=HELD:w\\x1b\\ ", "" },
		{ HEAD FRAME("10", "true", "1", "0") ROW("10", "a/x", WHAT "%") FRAME("20", "false",
			  "1", "0") ROW("20", "a/x", ",\"verdict\":{\"state\":\"STALE\"}") END,
			20, "x=STALE:w\\x1b\\ ", "" },
		{ HEAD FRAME("10", "true", "1", "0") ROW("10", "a/x", WHAT) FRAME("20", "false",
			  "0",
			  "1") "{\"t\":20,\"line\":\"gone\",\"source\":\"a\",\"id\":\"a/x\"}\n" END,
			20, "", "" },
		/* A whole picture leaves nothing of what was. */
		{ HEAD FRAME("10", "true", "1", "0") ROW("10", "a/x", WHAT)
				FRAME("20", "true", "1", "0") ROW("20", "a/y", WHAT) END,
			25, "y=UNKNOWN:- ", "" },
		/* A moment that is not whole is not shown. */
		{ HEAD FRAME("10", "true", "1", "0") ROW("10", "a/x", WHAT)
				FRAME("20", "false", "2", "0") ROW("20", "a/y", WHAT),
			25, "x=UNKNOWN:- ",
			"the record was cut short: it is shown up to its last whole moment" },
		{ HEAD FRAME("10", "true", "1", "0") ROW("10", "a/x", WHAT) "{\"t\":11,\"li", 25,
			"x=UNKNOWN:- ",
			"the record was cut short: it is shown up to its last whole moment" },
		{ HEAD FRAME("10", "true", "2", "0") ROW("10", "a/x", WHAT) "garbage\n" END, 25, "",
			"2 lines were passed over" },
		/* Rows of others, of no source, of what is not known here. */
		{ HEAD FRAME("10", "true", "1", "0") ROW("10", "b/x", WHAT) END, 25, "", "" },
		{ HEAD FRAME("10", "true", "1", "0")
				ROW("10", "a/x", ",\"what\":{\"mechanism\":\"new\"}") END,
			25, "", "" },
		{ HEAD FRAME("10", "true", "1", "0") ROW("10", "a/x", "") END, 25, "", "" },
		{ HEAD "{\"t\":5,\"line\":\"later\",\"x\":1}\n" END, 25, "", "" },
		/* Time never goes back. */
		{ HEAD FRAME("30", "true", "1", "0") ROW("30", "a/x", WHAT)
				FRAME("20", "true", "0", "0") END,
			29, "", "" },
		{ HEAD FRAME("30", "true", "1", "0") ROW("30", "a/x", WHAT)
				FRAME("20", "true", "0", "0") END,
			30, "", "" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_LEN(cases); i++) {
		const char *hole = strchr(cases[i].text, '%'), *trouble;
		char text[4096], out[1024];

		if (hole)
			snprintf(text, sizeof(text), "%.*s%s%s", (int)(hole - cases[i].text),
				cases[i].text, held, hole + 1);
		else
			snprintf(text, sizeof(text), "%s", cases[i].text);
		shown_at(text, cases[i].t, out, sizeof(out), &trouble);
		if (strcmp(out, cases[i].shown) != 0 || strcmp(trouble, cases[i].trouble) != 0)
			fail_msg("case %zu shows \"%s\", trouble \"%s\"", i, out, trouble);
	}
}

/* ---- lines that are odd ---- */

/* The line of the first row as it is written again, of a record with one row that has these members
 * too; "" where no row is shown. */
static void rewritten(const char *members, size_t len, struct str *out)
{
	static const char begin[] = HEAD FRAME("10", "true", "1",
		"0") "{\"t\":10,\"line\":\"row\",\"source\":\"a\",\"id\":\"a/x\"" WHAT;
	static const char end[] = "}\n" END;
	char path[] = "/tmp/baton-record-XXXXXX";
	struct record_writer w;
	struct opened o;
	struct str s, all;
	const char *row;

	str_init(&s, 1024 * 1024);
	str_init(&all, 1024 * 1024);
	str_add(&s, begin);
	str_add_mem(&s, members, len);
	str_add(&s, end);
	save(path, &s);
	open_at(&o, path, REPLAY_START_MS + 10);
	record_init(&w, o.board, add_line, &all, NULL);
	record_snapshot(&w, o.board, 0, NULL);
	record_release(&w);
	row = strstr(all.s, "\"line\":\"row\"");
	str_add_mem(out, row ? row : "", row ? strcspn(row, "\n") : 0);
	close_all(&o);
	unlink(path);
	str_release(&s);
	str_release(&all);
}

#define HOLDER "\"claims\":[{\"kind\":\"holder\",\"identity\":\"w\""

/* Members behind `what`, and what is read of them; none: the line is no JSON, and no row is shown.
 */
static const struct {
	const char *members, *read;
} odd[] = {
	/* Of a name that stands twice the last counts, in the place of the first. */
	{ ",\"verdict\":{\"state\":\"HELD\"},\"verdict\":{\"state\":\"FREE\"}",
		"\"verdict\":{\"state\":\"FREE\"" },
	{ ",\"detail\":{\"pid\":1,\"mode\":\"x\",\"pid\":2,\"pid\":3}",
		"\"detail\":{\"pid\":3,\"mode\":\"x\"}" },
	{ ",\"id\":\"a/y\"", "\"id\":\"a/y\"" },
	{ ",\"what\":{\"mechanism\":\"etcd-lock\"}", "\"mechanism\":\"etcd-lock\"" },
	{ ",\"wh\\u0061t\":{\"mechanism\":\"etcd-lock\"}", "\"mechanism\":\"etcd-lock\"" },
	/* Members of a type that is none of theirs, and unknown ones. */
	{ ",\"verdict\":5,\"claims\":{\"kind\":\"holder\"},\"lease\":\"x\",\"runs\":true",
		"\"claims\":[]" },
	{ "," HOLDER "},5,{\"kind\":7},{\"kind\":\"new\"},[1],null]",
		"," HOLDER ",\"key\":\"\",\"detail\":{}}],\"schedule\":null" },
	{ ",\"detail\":[{\"pid\":1}]", "\"detail\":{}" },
	{ ",\"detail\":{\"pid\":\"1\",\"mode\":2,\"new\":{\"pid\":3}}", "\"detail\":{}" },
	{ ",\"detail\":{\"pid\":[1,\"x\",2],\"mode\":[\"a\",null,3,\"b\"]}",
		"\"detail\":{\"pid\":[1,2],\"mode\":[\"a\",null,\"b\"]}" },
	{ ",\"lease\":{\"granted_ms\":1.5,\"end\":\"7\",\"read\":-3,\"new\":{}}",
		"\"lease\":{\"granted_ms\":null,\"end\":null,\"read\":-13,\"known\":null}" },
	{ ",\"findings\":[{\"code\":\"new\"},7,{\"code\":\"pile-up\",\"text\":\"t\"}]",
		"\"findings\":[{\"code\":\"pile-up\",\"severity\":" },
	/* Numbers. */
	{ ",\"detail\":{\"pid\":-0}", "\"detail\":{\"pid\":0}" },
	{ ",\"detail\":{\"pid\":9223372036854775807}", "{\"pid\":9223372036854775807}" },
	{ ",\"detail\":{\"pid\":1E2}", "\"detail\":{}" },
	{ ",\"new\":[1.5,-0.0e-0,1e+9,1e-999,0E0]", "\"id\":\"a/x\"" },
	{ ",\"new\":9223372036854775808", NULL },
	{ ",\"new\":-9223372036854775809", NULL },
	{ ",\"new\":1e999", NULL },
	{ ",\"new\":01", NULL },
	{ ",\"new\":-", NULL },
	{ ",\"new\":+1", NULL },
	{ ",\"new\":1.", NULL },
	{ ",\"new\":.5", NULL },
	{ ",\"new\":1e", NULL },
	/* Texts. */
	{ ",\"detail\":{\"mode\":\"\\u00e4\\ud83d\\ude00\\n\\/\\\"\"}",
		"\"mode\":\"\xc3\xa4\xf0\x9f\x98\x80\\\\x0a/\\\"\"" },
	{ ",\"detail\":{\"mode\":\"\\ud83d\"}", NULL },
	{ ",\"detail\":{\"mode\":\"\\ude00\"}", NULL },
	{ ",\"detail\":{\"mode\":\"a\\u0000b\"}", NULL },
	{ ",\"n\\u0000\":1", NULL },
	{ ",\"new\":\"\\x\"", NULL },
	{ ",\"new\":\"\\u12g4\"", NULL },
	{ ",\"new\":\"\t\"", NULL },
	{ ",\"new\":\"\x7f\"", "\"id\":\"a/x\"" },
	{ ",\"new\":\"\xff\"", NULL },
	{ ",\"new\":\"\xc0\x80\"", NULL },
	{ ",\"new\":\"\xed\xa0\x80\"", NULL },
	{ ",\"new\":\"\xf4\x90\x80\x80\"", NULL },
	{ ",\"new\":\"\xf4\x8f\xbf\xbf\"", "\"id\":\"a/x\"" },
	/* Commas, brackets, words. */
	{ " \t\r, \"detail\" : { \"pid\" : [ 1 , 2 ] } ", "\"detail\":{\"pid\":[1,2]}" },
	{ ",", NULL },
	{ ",\"new\":[1,]", NULL },
	{ ",\"new\":[1 2]", NULL },
	{ ",,\"new\":1", NULL },
	{ ",\"new\" 1", NULL },
	{ ",\"new\":", NULL },
	{ ",new:1", NULL },
	{ ",\"new\":[}", NULL },
	{ "}", NULL },
	{ ",\"new\":tru", NULL },
	{ ",\"new\":nulll", NULL },
	{ ",\"new\":True", NULL },
	{ ",\"new\":[true,false,null,[],{}]", "\"id\":\"a/x\"" },
	{ ",\"new\":/**/1", NULL },
};

static void odd_lines(void **state)
{
	struct str row;
	size_t i;

	(void)state;
	str_init(&row, 1024 * 1024);
	for (i = 0; i < ARRAY_LEN(odd); i++) {
		str_clear(&row);
		rewritten(odd[i].members, strlen(odd[i].members), &row);
		if (odd[i].read ? !strstr(row.s, odd[i].read) : row.len != 0)
			fail_msg("%s is read as %s", odd[i].members, row.s);
	}
	str_clear(&row);
	rewritten(",\"new\":\"\0\"", strlen(",\"new\":\" \""), &row);
	assert_string_equal(row.s, "");
	rewritten(",\"new\":1\0", strlen(",\"new\":1 "), &row);
	assert_string_equal(row.s, "");
	str_release(&row);
}

/* Every value is one level more than what it stands in, the line itself is the first, and what is
 * deeper than 2048 is no JSON. */
static void lines_of_many_levels(void **state)
{
	static const struct {
		int lists;
		const char *within;
		bool read;
	} cases[] = {
		{ 2046, "1", true },
		{ 2047, "", true },
		{ 2047, "1", false },
		{ 2048, "", false },
		{ 20000, "", false },
	};
	struct str members, row;
	size_t i;
	int k;

	(void)state;
	str_init(&members, 1024 * 1024);
	str_init(&row, 1024 * 1024);
	for (i = 0; i < ARRAY_LEN(cases); i++) {
		str_clear(&members);
		str_clear(&row);
		str_add(&members, ",\"new\":");
		for (k = 1; k < cases[i].lists; k++)
			str_add(&members, k % 2 ? "[" : "{\"a\":");
		str_addf(&members, "[%s]", cases[i].within);
		for (k = cases[i].lists - 1; k > 0; k--)
			str_add(&members, k % 2 ? "]" : "}");
		rewritten(members.s, members.len, &row);
		if ((row.len != 0) != cases[i].read)
			fail_msg("%d lists, \"%s\"", cases[i].lists, cases[i].within);
	}
	str_release(&members);
	str_release(&row);
}

/* Many names twice: still the last of each, and in no more time than it takes to read them. */
static void lines_of_many_members(void **state)
{
	enum {
		MEMBERS = 50 * 1000
	};
	struct str members, row;
	int i;

	(void)state;
	str_init(&members, 8 * 1024 * 1024);
	str_init(&row, 1024 * 1024);
	str_add(&members, ",\"detail\":{\"pid\":0");
	for (i = 0; i < MEMBERS; i++)
		str_addf(&members, ",\"new-%d\":%d", i % (MEMBERS / 2), i);
	str_add(&members, ",\"mode\":\"x\",\"pid\":7}");
	rewritten(members.s, members.len, &row);
	assert_non_null(strstr(row.s, "\"detail\":{\"pid\":7,\"mode\":\"x\"}"));
	str_release(&members);
	str_release(&row);
}

static void tell_act(void *arg, const char *line)
{
	str_add(arg, line);
	str_add(arg, "\n");
}

/* What is shown of events and acts: texts and numbers, sanitised; the last of a name. */
static void events_and_acts_that_are_odd(void **state)
{
	static const char text[] = HEAD
		"{\"t\":1,\"line\":\"event\",\"at\":\"2026-01-02T03:04:05.000001Z\",\"source\":"
		"\"a\",\"id\":\"a/x\",\"what\":\"took\",\"what\":\"saw\\u001b\",\"text\":\"t\","
		"\"token\":\"7\",\"hold\":\"seen\",\"holder\":\"w\",\"key\":5,\"late\":1}\n"
		"{\"t\":2,\"line\":\"event\",\"source\":\"a\",\"what\":5,\"text\":\"t\"}\n"
		"{\"t\":3,\"line\":\"event\",\"source\":\"a\",\"what\":\"w\",\"text\":\"\xff\"}\n"
		"{\"t\":4,\"line\":\"event\",\"at\":5,\"source\":\"a\",\"what\":\"w\",\"text\":"
		"\"\",\"hold\":7,\"token\":1.5,\"late\":true}\n"
		"{\"t\":5,\"line\":\"act\",\"audit\":{\"verb\":\"x\\u0007\",\"n\":5,\"verb\":\"y\","
		"\"r\":1.5,\"none\":null,\"list\":[1],\"yes\":true,\"\":\"\",\"who\":{\"user\":"
		"\"u\",\"deep\":{\"a\":1},\"host\":\"h\",\"user\":\"v\"},\"id\":\"a/x\",\"at\":"
		"\"2026-01-02T03:04:05.678Z\",\"reason\":\"because\"}}\n"
		"{\"t\":6,\"line\":\"act\",\"audit\":[1]}\n"
		"{\"t\":7,\"line\":\"act\",\"audit\":{\"verb\":5,\"outcome\":\"done\",\"id\":\"a/"
		"\",\"at\":3,\"answer\":\"\"},\"at\":\"4\"}\n"
		"{\"t\":8,\"line\":\"act\",\"audit\":{\"verb\":\"z\",}}\n" END;
	static const char shown[] =
		"1 1767323045000001 a a/x saw\\x1b 't' 7 2 w - 0\n"
		"4 5 a - w '' 0 0 - - 1\n"
		"5 1767323045678000 a a/x act 'y begun by v on h: because' 0 0 - - 0\n"
		"7 4 a a/ act '- done' 0 0 - - 0\n"
		"{\"verb\":\"y\",\"n\":5,\"\":\"\",\"who\":{\"user\":\"v\",\"host\":\"h\"},"
		"\"id\":\"a/x\",\"at\":\"2026-01-02T03:04:05.678Z\",\"reason\":\"because\"}\n"
		"{\"verb\":5,\"outcome\":\"done\",\"id\":\"a/\",\"at\":3,\"answer\":\"\"}\n";
	char path[] = "/tmp/baton-record-XXXXXX";
	struct event *events[16];
	struct str s, told;
	struct replay *replay;
	uint64_t seq = 0;
	size_t n, i;

	(void)state;
	str_init(&s, 1024 * 1024);
	str_init(&told, 1024 * 1024);
	str_add(&s, text);
	save(path, &s);
	assert_int_equal(replay_open(path, &replay, NULL), 0);
	n = replay_events(replay, replay_last_ms(replay), &seq, events, 16, 16);
	for (i = 0; i < n; i++) {
		const struct event *e = events[i];

		str_addf(&told, "%" PRIu64 " %" PRId64 " %s %s %s '%s' %" PRId64 " %d %s %s %d\n",
			e->seq, e->at_us, e->source, e->id ? e->id : "-", e->what, e->text,
			e->token, e->hold, e->holder ? e->holder : "-", e->key ? e->key : "-",
			e->late);
		free(events[i]);
	}
	replay_acts(replay, replay_last_ms(replay), 16, tell_act, &told);
	assert_string_equal(told.s, shown);
	replay_close(replay);
	unlink(path);
	str_release(&s);
	str_release(&told);
}

#define HEAD_OF(version, more)                                                            \
	"{\"line\":\"record\",\"at\":\"2026-01-02T03:04:05.000000Z\",\"format\":\"baton-" \
	"record\",\"version\":" version more "}\n" END

/* What is refused, and what is said; "": it is read. */
static void odd_heads(void **state)
{
	static const char none[] = "this is no record that baton record wrote";
	static const struct {
		const char *text, *refused;
	} cases[] = {
		{ "", none },
		{ "\n", none },
		{ END, none },
		{ "[" HEAD_OF("1", ""), none },
		{ "[1]\n", none },
		{ HEAD_OF("1", ""), "" },
		{ HEAD_OF("1", ",\"sources\":5,\"roles\":{},\"thresholds\":[]"), "" },
		{ HEAD_OF("1", ",\"version\":\"1\""), none },
		{ HEAD_OF("\"1\"", ",\"version\":1"), "" },
		{ HEAD_OF("1.0", ""), none },
		{ HEAD_OF("0", ""), none },
		{ HEAD_OF("1", ",\"format\":\"x\""), none },
		{ HEAD_OF("1", ",\"new\":\"\xff\""), none },
		{ HEAD_OF("1", ",\"new\":1e999"), none },
		{ HEAD_OF("1", ","), none },
		{ HEAD_OF("9223372036854775808", ""), none },
		{ HEAD_OF("2", ""), "the record has format version 2, and this baton reads up to "
				    "1: a newer one is needed" },
		{ HEAD_OF("1", ",\"at\":\"yesterday\""),
			"the record is damaged: its first line does not say when it began" },
		{ HEAD_OF("1", ",\"sources\":[{\"name\":\"a\"},{\"name\":\"a/b\"}]"),
			"the record is damaged: source 2 has no usable name" },
		{ HEAD_OF("1", ",\"sources\":[{\"name\":7}]"),
			"the record is damaged: source 1 has no usable name" },
		{ HEAD_OF("1", ",\"sources\":[null]"),
			"the record is damaged: source 1 has no usable name" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_LEN(cases); i++) {
		char path[] = "/tmp/baton-record-XXXXXX";
		struct err err = { 0 };
		struct replay *replay = NULL;
		struct str s;
		int rc;

		str_init(&s, 1024 * 1024);
		str_add(&s, cases[i].text);
		save(path, &s);
		rc = replay_open(path, &replay, &err);
		if (!rc != !*cases[i].refused || (rc && !strstr(err.text, cases[i].refused)))
			fail_msg("case %zu: %d, %s", i, rc, err.text);
		replay_close(replay);
		unlink(path);
		str_release(&s);
	}
}

/* ---- going to a moment ---- */

#define SOURCES_HEAD                                                                              \
	"{\"t\":0,\"line\":\"record\",\"at\":\"2026-01-02T03:04:05.000000Z\",\"format\":"         \
	"\"baton-record\",\"version\":1,\"sources\":[{\"name\":\"a\",\"kind\":\"x\"},{\"name\":"  \
	"\"b\",\"kind\":\"x\"},{\"name\":\"c\",\"kind\":\"x\"},{\"name\":\"d\",\"kind\":\"x\"}]}" \
	"\n"

/* Frames without rows of all four, which say when they were last seen: at their own time. */
static void add_frames(struct str *s, int t, bool whole)
{
	int i;

	for (i = 0; i < 4; i++)
		str_addf(s,
			"{\"t\":%d,\"line\":\"frame\",\"source\":\"%c\",\"whole\":%s,\"rows\":0,"
			"\"gone\":0,\"seen\":%d,\"head\":{\"state\":\"ok\"}}\n",
			t, 'a' + i, whole ? "true" : "false", t);
}

/* Waits until every source shows what it showed then; false: one of them does not. */
static bool all_show(struct opened *o, int64_t seen_ms)
{
	int64_t deadline = clock_mono_ms(&clock_system) + 20000;
	size_t i, n = 0;

	while (n < 4 && clock_mono_ms(&clock_system) < deadline) {
		struct pollfd fd = { .fd = fleet_fd(o->fleet), .events = POLLIN };

		poll(&fd, 1, 100);
		board_unref(o->board);
		o->board = fleet_board(o->fleet);
		for (i = n = 0; i < 4; i++)
			n += o->board->snapshots[i]->picture_ms == seen_ms;
	}
	return n == 4;
}

/* Whatever its thread does just then (reading, about to wait, waiting for a clock that stands still
 * or runs), a source gets to the moment that was asked for. */
static void every_source_follows_a_seek(void **state)
{
	static const int moments[] = { 0, 30000, 60000, 61000, 119999 },
			 seen[] = { 0, 30000, 60000, 60000, 119000 };
	char path[] = "/tmp/baton-record-XXXXXX";
	struct fleet_options options = { .one_shot = false };
	uint64_t seed = 5;
	struct opened o;
	struct str s;
	int t, i, k;

	(void)state;
	str_init(&s, 1024 * 1024);
	str_add(&s, SOURCES_HEAD);
	for (t = 0; t < 120000; t += 1000)
		if (t <= 60000 || t == 119000)
			add_frames(&s, t, t % 30000 == 0);
	str_add(&s, "{\"t\":119999,\"line\":\"end\"}\n");
	save(path, &s);
	assert_int_equal(replay_open(path, &o.replay, NULL), 0);
	vclock_init(&o.clock, &clock_system, replay_epoch_us(o.replay), REPLAY_START_MS);
	vclock_most(&o.clock, replay_last_ms(o.replay));
	o.settings = settings_of_replay(o.replay);
	options.clock = &o.clock.source;
	options.replay = o.replay;
	o.fleet = fleet_new(o.settings, &options);
	fleet_start(o.fleet);
	o.board = fleet_board(o.fleet);
	for (i = 0; i < 500; i++) {
		/* It ran, and goes on for a while, before it is set and stands still. */
		vclock_speed(&o.clock, 1000 * 1000);
		fleet_poll_now(o.fleet, NULL);
		if (unit_pick(&seed, 2))
			poll(NULL, 0, (int)unit_pick(&seed, 3));
		k = (int)unit_pick(&seed, ARRAY_LEN(moments));
		vclock_pause(&o.clock, true);
		fleet_poll_now(o.fleet, NULL);
		vclock_set(&o.clock, REPLAY_START_MS + moments[k]);
		fleet_poll_now(o.fleet, NULL);
		if (!all_show(&o, REPLAY_START_MS + seen[k]))
			fail_msg("round %d: a source is not at %d", i, moments[k]);
	}
	close_all(&o);
	unlink(path);
	str_release(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_comes_back),
		cmocka_unit_test(redacted_holds_no_name),
		cmocka_unit_test(redacted_tells_what_of_a_role_is_seen),
		cmocka_unit_test(a_reason_is_one_word_or_a_name),
		cmocka_unit_test(a_changed_sentence_is_told_where_sentences_are),
		cmocka_unit_test(moments),
		cmocka_unit_test(odd_lines),
		cmocka_unit_test(lines_of_many_levels),
		cmocka_unit_test(lines_of_many_members),
		cmocka_unit_test(events_and_acts_that_are_odd),
		cmocka_unit_test(odd_heads),
		cmocka_unit_test(every_source_follows_a_seek),
	};

	text_init_locale();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
