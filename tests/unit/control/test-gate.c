#include "config.h"

#include "tests/unit/unit.h"
#include "tests/unit/control/acting.h"
#include "tests/unit/control/folder.h"

#include "control/audit.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* Waits have a limit that only a failure reaches. */
enum {
	LIMIT_MS = 20000
};

/* ---- one act on the scripted source ---- */

static struct gate_view *wait_for(struct acting_fleet *f, enum gate_phase phase)
{
	int64_t end = clock_mono_ms(&clock_system) + LIMIT_MS;

	for (;;) {
		struct gate_view *view = gate_look(f->gate);

		if (view->phase >= phase)
			return view;
		gate_view_free(view);
		if (clock_mono_ms(&clock_system) > end)
			fail_msg("the gate does not get on");
		poll(NULL, 0, 2);
	}
}

static void begin_set(struct acting_fleet *f, const struct gate_want *wants, size_t n)
{
	struct board *board = fleet_board(f->fleet);

	f->gate = gate_begin(f->fleet, board, wants, n, &f->options);
	board_unref(board);
}

static void begin(struct acting_fleet *f, enum verb verb, const char *expect)
{
	struct gate_want want = { .verb = verb, .id = "test/x", .expect = expect };

	begin_set(f, &want, 1);
}

/* Begins, confirms as it is asked, and waits for the end. */
static enum gate_outcome carry(struct acting_fleet *f, enum verb verb, const char *expect)
{
	struct gate_view *view;
	enum gate_outcome outcome;

	begin(f, verb, expect);
	view = wait_for(f, GATE_PHASE_ASKING);
	if (view->phase == GATE_PHASE_ASKING)
		assert_int_equal(gate_confirm(f->gate, view->to_type, "a reason", NULL), 0);
	gate_view_free(view);
	view = wait_for(f, GATE_PHASE_OVER);
	outcome = view->outcome;
	gate_view_free(view);
	return outcome;
}

/* What the audit holds, as one text: "n verb id outcome reason;", newest first. */
static void tell_act(void *arg, const struct audit_act *act)
{
	str_addf(arg, "%d %s %s %s;", (int)act->n, act->verb, act->id,
		act->outcome ? act->outcome : "-");
}

static void assert_audit(const char *folder, const char *want)
{
	struct audit audit;
	struct str text;
	size_t broken;

	audit_init(&audit, folder);
	str_init(&text, 100000);
	assert_int_equal(audit_acts(&audit, 1000, tell_act, &text, &broken, NULL), 0);
	assert_string_equal(text.s, want);
	assert_int_equal(broken, 0);
	str_release(&text);
	audit_release(&audit);
}

static void an_act_is_done_and_recorded(void **state)
{
	struct acting_fleet f;
	char path[256];
	struct stat st;

	acting_fleet_init(&f);
	acting_fleet_start(&f, *state);
	assert_int_equal(carry(&f, VERB_STEP_DOWN, "node-a"), GATE_DONE);
	assert_int_equal(f.first.sends, 1);
	assert_int_equal(f.first.plans, 2);
	assert_string_equal(f.first.sent_key, "rev:7");
	assert_audit(*state, "1 step-down test/x done;");
	snprintf(path, sizeof(path), "%s/audit.jsonl", (const char *)*state);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	acting_fleet_stop(&f);
}

static void the_next_act_has_the_next_number(void **state)
{
	struct acting_fleet f;

	acting_fleet_init(&f);
	acting_fleet_start(&f, *state);
	assert_int_equal(carry(&f, VERB_STEP_DOWN, "rev:7"), GATE_DONE);
	gate_close(f.gate);
	assert_int_equal(carry(&f, VERB_RELEASE, "rev:7"), GATE_DONE);
	assert_audit(*state, "2 release test/x done;1 step-down test/x done;");
	acting_fleet_stop(&f);
}

/* ---- it is not what it was ---- */

struct end {
	const char *what;
	unsigned changed_from, refused_from, unread_from, more_from;
	enum tristate permission;
	enum effect_kind effect;
	unsigned settled_from;
	bool seen, undone;
	enum gate_outcome outcome;
	unsigned sends;
	const char *audit;
};

static const struct end ends[] = {
	{ "changed when it was read", .changed_from = 1, .outcome = GATE_CHANGED, .audit = "" },
	{ "changed while the dialog was open", .changed_from = 2, .outcome = GATE_CHANGED,
		.audit = "1 step-down test/x changed;" },
	{ "would destroy more than was confirmed", .more_from = 2, .outcome = GATE_CHANGED,
		.audit = "1 step-down test/x changed;" },
	{ "the source refuses it", .refused_from = 1, .outcome = GATE_REFUSED, .audit = "" },
	{ "refused while the dialog was open", .refused_from = 2, .outcome = GATE_REFUSED,
		.audit = "1 step-down test/x refused;" },
	{ "can't be read", .unread_from = 1, .outcome = GATE_REFUSED, .audit = "" },
	{ "can't be read any more", .unread_from = 2, .outcome = GATE_REFUSED,
		.audit = "1 step-down test/x refused;" },
	{ "no permission", .permission = TRI_NO, .outcome = GATE_REFUSED, .audit = "" },
	{ "the guard failed", .effect = EFFECT_CHANGED, .outcome = GATE_CHANGED, .sends = 1,
		.audit = "1 step-down test/x changed;" },
	{ "the server refused", .effect = EFFECT_REFUSED, .outcome = GATE_REFUSED, .sends = 1,
		.audit = "1 step-down test/x refused;" },
	{ "no answer", .effect = EFFECT_UNKNOWN, .outcome = GATE_UNKNOWN, .sends = 1,
		.audit = "1 step-down test/x unknown;" },
	{ "not sent", .effect = EFFECT_UNSENT, .outcome = GATE_REFUSED, .sends = 1,
		.audit = "1 step-down test/x refused;" },
	{ "in part", .effect = EFFECT_PARTIAL, .outcome = GATE_PARTIAL, .sends = 1,
		.audit = "1 step-down test/x partial;" },
	{ "without effect", .undone = true, .outcome = GATE_PARTIAL, .sends = 1,
		.effect = EFFECT_DONE, .audit = "1 step-down test/x partial;" },
	{ "effect not seen in time", .effect = EFFECT_DONE, .outcome = GATE_UNKNOWN, .sends = 1,
		.audit = "1 step-down test/x unknown;" },
	{ "seen, and nobody undid it in time", .effect = EFFECT_DONE, .seen = true,
		.outcome = GATE_DONE, .sends = 1, .audit = "1 step-down test/x done;" },
	{ "seen, and undone", .effect = EFFECT_DONE, .seen = true, .undone = true,
		.outcome = GATE_PARTIAL, .sends = 1, .audit = "1 step-down test/x partial;" },
	{ "settled after some looks", .effect = EFFECT_DONE, .settled_from = 2,
		.outcome = GATE_DONE, .sends = 1, .audit = "1 step-down test/x done;" },
};

static void remove_audit(const char *folder)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/audit.jsonl", folder);
	unlink(path);
	snprintf(path, sizeof(path), "%s/audit.lock", folder);
	unlink(path);
}

static void the_outcome_never_lies(void **state)
{
	size_t i;

	for (i = 0; i < ARRAY_LEN(ends); i++) {
		const struct end *end = &ends[i];
		struct acting_fleet f;

		acting_fleet_init(&f);
		f.first.changed_from = end->changed_from;
		f.first.refused_from = end->refused_from;
		f.first.unread_from = end->unread_from;
		f.first.more_from = end->more_from;
		f.first.permission = end->permission ? end->permission : TRI_YES;
		f.first.effect = end->effect;
		f.first.settled_from = end->settled_from;
		f.first.seen = end->seen;
		f.first.undone = end->undone;
		acting_fleet_start(&f, *state);
		if (carry(&f, VERB_STEP_DOWN, "node-a") != end->outcome)
			fail_msg("%s: another outcome", end->what);
		if (f.first.sends != end->sends)
			fail_msg("%s: sent %u times", end->what, f.first.sends);
		assert_audit(*state, end->audit);
		acting_fleet_stop(&f);
		remove_audit(*state);
	}
}

static void what_is_unknown_says_how_to_find_out(void **state)
{
	struct acting_fleet f;
	struct gate_view *view;

	acting_fleet_init(&f);
	f.first.effect = EFFECT_UNKNOWN;
	acting_fleet_start(&f, *state);
	assert_int_equal(carry(&f, VERB_STEP_DOWN, "node-a"), GATE_UNKNOWN);
	view = gate_look(f.gate);
	assert_non_null(view->items[0].find_out);
	assert_non_null(strstr(view->text, "the connection broke"));
	gate_view_free(view);
	acting_fleet_stop(&f);
}

static void a_holder_who_is_gone_is_changed(void **state)
{
	struct acting_fleet f;

	acting_fleet_init(&f);
	acting_fleet_start(&f, *state);
	assert_int_equal(carry(&f, VERB_RELEASE, "node-z"), GATE_CHANGED);
	gate_close(f.gate);
	assert_int_equal(carry(&f, VERB_RELEASE, "rev:6"), GATE_CHANGED);
	assert_int_equal(f.first.plans + f.first.sends, 0);
	acting_fleet_stop(&f);
}

/* Whoever calls itself as the one before was keyed is not the one that was meant. */
/*
 * The dialog stands open, in a console that polls rarely, while the same holder comes or goes: one
 * that was STALE and has renewed is not taken for what it was; one that became STALE meanwhile, or
 * stayed so, is taken away all the more.
 */
static void a_holder_that_recovered_is_changed(void **state)
{
	static const struct {
		bool then, now;
		enum verb verb;
		enum gate_outcome outcome;
	} cases[] = {
		{ true, false, VERB_RELEASE, GATE_CHANGED },
		{ true, false, VERB_STEP_DOWN, GATE_CHANGED },
		{ true, false, VERB_SUSPEND, GATE_DONE },
		{ true, true, VERB_RELEASE, GATE_DONE },
		{ false, true, VERB_RELEASE, GATE_DONE },
		{ false, false, VERB_RELEASE, GATE_DONE },
	};
	size_t i;

	for (i = 0; i < ARRAY_LEN(cases); i++) {
		struct acting_fleet f;
		struct gate_view *view;

		acting_fleet_init(&f);
		f.configs[0].interval_ms = 3600 * 1000;
		f.first.script.lease_gone = cases[i].then;
		acting_fleet_start(&f, *state);
		begin(&f, cases[i].verb, cases[i].verb == VERB_SUSPEND ? NULL : "node-a");
		view = wait_for(&f, GATE_PHASE_ASKING);
		assert_int_equal(view->phase, GATE_PHASE_ASKING);
		pthread_mutex_lock(&f.first.script.mutex);
		f.first.script.lease_gone = cases[i].now;
		pthread_mutex_unlock(&f.first.script.mutex);
		assert_int_equal(gate_confirm(f.gate, view->to_type, "a reason", NULL), 0);
		gate_view_free(view);
		view = wait_for(&f, GATE_PHASE_OVER);
		if (view->outcome != cases[i].outcome)
			fail_msg("case %zu: %s: %s", i, gate_outcome_word(view->outcome),
				view->text);
		if (view->outcome == GATE_CHANGED)
			assert_string_equal(view->items[0].text,
				"it was STALE when the forecast was made, and is HELD now: look "
				"again");
		assert_int_equal(f.first.sends, view->outcome == GATE_DONE);
		gate_view_free(view);
		acting_fleet_stop(&f);
		remove_audit(*state);
	}
}

static void a_name_is_not_taken_for_a_key(void **state)
{
	struct acting_fleet f;

	acting_fleet_init(&f);
	f.first.script.holders[0] = "rev:6";
	acting_fleet_start(&f, *state);
	assert_int_equal(carry(&f, VERB_RELEASE, "rev:6"), GATE_CHANGED);
	assert_int_equal(f.first.plans + f.first.sends, 0);
	gate_close(f.gate);
	assert_int_equal(carry(&f, VERB_RELEASE, "rev:7"), GATE_DONE);
	acting_fleet_stop(&f);
}

/* A key of one server says nothing about another. */
static void another_server_is_changed(void **state)
{
	struct acting_fleet f;
	struct gate_view *view;
	unsigned polls;

	acting_fleet_init(&f);
	acting_fleet_start(&f, *state);
	begin(&f, VERB_STEP_DOWN, "node-a");
	gate_view_free(wait_for(&f, GATE_PHASE_ASKING));
	pthread_mutex_lock(&f.first.script.mutex);
	f.first.script.server_id++;
	polls = f.first.script.polls;
	while (f.first.script.polls < polls + 2)
		pthread_cond_wait(&f.first.script.polled, &f.first.script.mutex);
	pthread_mutex_unlock(&f.first.script.mutex);
	assert_int_equal(gate_confirm(f.gate, "node-a", "why", NULL), 0);
	view = wait_for(&f, GATE_PHASE_OVER);
	assert_int_equal(view->outcome, GATE_CHANGED);
	assert_non_null(strstr(view->text, "another server"));
	assert_int_equal(f.first.sends, 0);
	gate_view_free(view);
	acting_fleet_stop(&f);
}

static void exchange_server(struct acting *a)
{
	pthread_mutex_lock(&a->script.mutex);
	a->script.server_id++;
	pthread_mutex_unlock(&a->script.mutex);
}

/* That it is not there on another server is no effect. */
static void what_another_server_shows_proves_nothing(void **state)
{
	struct acting_fleet f;
	struct gate_view *view;
	bool answered;

	for (answered = true;; answered = false) {
		acting_fleet_init(&f);
		f.first.sending = exchange_server;
		f.first.effect = answered ? EFFECT_DONE : EFFECT_UNKNOWN;
		/* It is polled between two looks. */
		f.first.settled_from = 3;
		f.options.settle_ms = 900;
		acting_fleet_start(&f, *state);
		assert_int_equal(carry(&f, VERB_STEP_DOWN, "node-a"), GATE_UNKNOWN);
		view = gate_look(f.gate);
		assert_true(!answered || strstr(view->text, "another server"));
		gate_view_free(view);
		acting_fleet_stop(&f);
		if (!answered)
			break;
	}
}

static void the_token_is_compared(void **state)
{
	struct gate_want want = { .verb = VERB_RELEASE, .id = "test/x", .has_token = true };
	struct acting_fleet f;
	struct gate_view *view;

	acting_fleet_init(&f);
	f.options.agreed = "why";
	acting_fleet_start(&f, *state);
	want.token = 6;
	begin_set(&f, &want, 1);
	view = wait_for(&f, GATE_PHASE_OVER);
	assert_int_equal(view->outcome, GATE_CHANGED);
	gate_view_free(view);
	gate_close(f.gate);
	want.token = 7;
	begin_set(&f, &want, 1);
	view = wait_for(&f, GATE_PHASE_OVER);
	assert_int_equal(view->outcome, GATE_DONE);
	gate_view_free(view);
	/* What was agreed to beforehand is recorded even when it came to nothing. */
	assert_audit(*state, "2 release test/x done;1 release test/x changed;");
	acting_fleet_stop(&f);
}

static void an_unknown_id_is_absent(void **state)
{
	struct gate_want want = { .verb = VERB_RELEASE, .id = "test/never" };
	struct acting_fleet f;
	struct gate_view *view;

	acting_fleet_init(&f);
	acting_fleet_start(&f, *state);
	begin_set(&f, &want, 1);
	view = wait_for(&f, GATE_PHASE_OVER);
	assert_int_equal(view->outcome, GATE_REFUSED);
	assert_true(view->items[0].absent);
	gate_view_free(view);
	acting_fleet_stop(&f);
}

static void wait_until_gone(struct acting_fleet *f, const char *id)
{
	int64_t end = clock_mono_ms(&clock_system) + LIMIT_MS;
	bool there = true;

	while (there && clock_mono_ms(&clock_system) < end) {
		struct board *board = fleet_board(f->fleet);

		there = board_find(board, id, NULL) != NULL;
		board_unref(board);
		poll(NULL, 0, 2);
	}
	assert_false(there);
}

static void an_id_that_was_there_has_changed(void **state)
{
	struct gate_want want = { .verb = VERB_RELEASE, .id = "test/x", .expect = "node-a" };
	struct acting_fleet f;
	struct gate_view *view;

	acting_fleet_init(&f);
	f.first.script.mechanism = MECH_PG_ADVISORY; /* no row stays of it */
	acting_fleet_start(&f, *state);
	pthread_mutex_lock(&f.first.script.mutex);
	f.first.script.names[0] = NULL;
	pthread_mutex_unlock(&f.first.script.mutex);
	wait_until_gone(&f, "test/x");
	begin_set(&f, &want, 1);
	view = wait_for(&f, GATE_PHASE_OVER);
	assert_int_equal(view->outcome, GATE_CHANGED);
	assert_false(view->items[0].absent);
	assert_non_null(strstr(view->text, "was there until"));
	gate_view_free(view);
	acting_fleet_stop(&f);
}

/* ---- who may, and when ---- */

static const char *refusal(struct acting_fleet *f, char *buf, size_t size)
{
	struct gate_view *view;

	begin(f, VERB_STEP_DOWN, "node-a");
	view = wait_for(f, GATE_PHASE_ASKING);
	snprintf(buf, size, "%s", view->phase == GATE_PHASE_ASKING ? "" : view->text);
	gate_view_free(view);
	gate_close(f->gate);
	f->gate = NULL;
	return buf;
}

static void the_console_is_read_only_until_it_is_armed(void **state)
{
	struct acting_fleet f;
	char why[400];

	acting_fleet_init(&f);
	f.options.way = GATE_WAY_CONSOLE;
	acting_fleet_start(&f, *state);
	assert_non_null(strstr(refusal(&f, why, sizeof(why)), "read only"));
	assert_int_equal(gate_arm(f.fleet, "other", 60000, NULL), 0);
	assert_non_null(strstr(refusal(&f, why, sizeof(why)), "read only"));
	assert_int_equal(gate_armed_ms(f.fleet, "test"), 0);
	assert_true(gate_armed_ms(f.fleet, NULL) > 50000);
	assert_int_equal(gate_arm(f.fleet, "test", 60000, NULL), 0);
	assert_string_equal(refusal(&f, why, sizeof(why)), "");
	gate_disarm(f.fleet, NULL);
	assert_non_null(strstr(refusal(&f, why, sizeof(why)), "read only"));
	assert_int_equal(f.first.sends, 0);
	acting_fleet_stop(&f);
}

static void arming_that_ends_while_the_dialog_is_open_refuses(void **state)
{
	struct acting_fleet f;
	struct gate_view *view;

	acting_fleet_init(&f);
	f.options.way = GATE_WAY_CONSOLE;
	acting_fleet_start(&f, *state);
	assert_int_equal(gate_arm(f.fleet, NULL, 300, NULL), 0);
	begin(&f, VERB_STEP_DOWN, "node-a");
	gate_view_free(wait_for(&f, GATE_PHASE_ASKING));
	while (gate_armed_ms(f.fleet, NULL) > 0)
		poll(NULL, 0, 5);
	assert_int_equal(gate_confirm(f.gate, "node-a", NULL, NULL), 0);
	view = wait_for(&f, GATE_PHASE_OVER);
	assert_int_equal(view->outcome, GATE_REFUSED);
	assert_non_null(strstr(view->text, "read only"));
	assert_int_equal(f.first.sends, 0);
	gate_view_free(view);
	acting_fleet_stop(&f);
}

/* A long wait for the audit's lock is a wait in which the operator may think better of it. */
static void disarming_while_the_record_waits_refuses(void **state)
{
	struct acting_fleet f;
	struct gate_view *view;
	char path[256];
	int fd;

	acting_fleet_init(&f);
	f.options.way = GATE_WAY_CONSOLE;
	acting_fleet_start(&f, *state);
	assert_int_equal(gate_arm(f.fleet, NULL, INT64_MAX, NULL), 0);
	snprintf(path, sizeof(path), "%s/audit.lock", (const char *)*state);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	begin(&f, VERB_STEP_DOWN, "node-a");
	gate_view_free(wait_for(&f, GATE_PHASE_ASKING));
	assert_int_equal(gate_confirm(f.gate, "node-a", NULL, NULL), 0);
	/* "read again, directly before" was said: only the record is still to be written. */
	for (;;) {
		bool checked;

		view = gate_look(f.gate);
		checked = strstr(view->steps[view->n_steps - 1].text, "directly before") != NULL;
		gate_view_free(view);
		if (checked)
			break;
		poll(NULL, 0, 1);
	}
	gate_disarm(f.fleet, NULL);
	close(fd);
	view = wait_for(&f, GATE_PHASE_OVER);
	assert_int_equal(view->outcome, GATE_REFUSED);
	assert_non_null(strstr(view->text, "read only"));
	assert_false(view->items[0].sent);
	assert_int_equal(f.first.sends, 0);
	gate_view_free(view);
	assert_audit(*state, "1 step-down test/x refused;");
	acting_fleet_stop(&f);
}

static void what_the_config_forbids_is_refused(void **state)
{
	struct err err = { 0 };
	struct acting_fleet f;
	char why[400];

	acting_fleet_init(&f);
	f.configs[0].protect = true;
	acting_fleet_start(&f, *state);
	assert_non_null(strstr(refusal(&f, why, sizeof(why)), "protects"));
	assert_int_equal(gate_arm(f.fleet, "test", 1000, &err), ERR_DENIED);
	f.configs[0].protect = false;
	f.settings.read_only = true;
	assert_non_null(strstr(refusal(&f, why, sizeof(why)), "read_only"));
	assert_int_equal(gate_arm(f.fleet, NULL, 1000, &err), ERR_DENIED);
	assert_int_equal(f.first.sends, 0);
	acting_fleet_stop(&f);
}

static void a_source_that_fails_is_refused(void **state)
{
	int64_t end = clock_mono_ms(&clock_system) + LIMIT_MS;
	struct acting_fleet f;
	bool failing = false;
	char why[400];

	acting_fleet_init(&f);
	acting_fleet_start(&f, *state);
	pthread_mutex_lock(&f.first.script.mutex);
	err_set(&f.first.script.fail, ERR_CONNECT, "refused");
	pthread_mutex_unlock(&f.first.script.mutex);
	while (!failing && clock_mono_ms(&clock_system) < end) {
		struct board *board = fleet_board(f.fleet);

		failing = board->snapshots[0]->state == SOURCE_FAILING;
		board_unref(board);
		poll(NULL, 0, 2);
	}
	assert_non_null(strstr(refusal(&f, why, sizeof(why)), "can't be read now"));
	assert_int_equal(f.first.plans, 0);
	acting_fleet_stop(&f);
}

static void free_all(char *why[VERB_COUNT])
{
	int verb;

	for (verb = 0; verb < VERB_COUNT; verb++)
		free(why[verb]);
}

static void the_menu_says_why_not(void **state)
{
	const struct gate_want want = { .id = "test/x", .key = "rev:7" };
	struct acting_fleet f;
	struct board *board;
	char *why[VERB_COUNT];

	acting_fleet_init(&f);
	acting_fleet_start(&f, *state);
	board = fleet_board(f.fleet);
	gate_hinders(f.fleet, board, &want, 1, GATE_WAY_CONSOLE, why);
	assert_non_null(strstr(why[VERB_STEP_DOWN], "read only"));
	free_all(why);
	gate_hinders(f.fleet, board, &want, 1, GATE_WAY_COMMAND, why);
	assert_null(why[VERB_STEP_DOWN]);
	assert_string_equal(why[VERB_CANCEL], "cancel does not work on etcd-election");
	free_all(why);
	board_unref(board);
	acting_fleet_stop(&f);
}

/* What the row shows stands before what arming would lift; an act is not held to it. */
static void the_menu_says_what_the_row_shows(void **state)
{
	const struct gate_want want = { .id = "test/x" };
	struct acting_fleet f;
	struct board *board;
	char *why[VERB_COUNT];

	acting_fleet_init(&f);
	acting_fleet_start(&f, *state);
	board = fleet_board(f.fleet);
	gate_hinders(f.fleet, board, &want, 1, GATE_WAY_CONSOLE, why);
	assert_string_equal(why[VERB_RESUME], "it goes on already");
	assert_string_equal(why[VERB_TRIGGER], "trigger does not work on etcd-election");
	free_all(why);
	assert_true(gate_knows(f.fleet, board, "test/x", VERB_RESUME));
	assert_false(gate_knows(f.fleet, board, "test/x", VERB_TRIGGER));
	board_unref(board);
	assert_int_equal(carry(&f, VERB_RESUME, NULL), GATE_DONE);
	gate_close(f.gate);
	assert_int_equal(carry(&f, VERB_TRIGGER, NULL), GATE_REFUSED);
	assert_int_equal(f.first.sends, 1);
	acting_fleet_stop(&f);
}

static void the_menu_of_a_set_says_the_first_reason(void **state)
{
	const struct gate_want wants[] = { { .id = "test/x", .key = "rev:7" },
		{ .id = "other/x", .key = "rev:7" }, { .id = "test/x", .key = "rev:6" } };
	const struct gate_want role = { .id = "role/x" };
	char *why[VERB_COUNT];
	struct acting_fleet f;
	struct board *board;
	int verb;

	acting_fleet_init(&f);
	acting_fleet_start(&f, *state);
	board = fleet_board(f.fleet);
	gate_hinders(f.fleet, board, wants, 2, GATE_WAY_COMMAND, why);
	assert_null(why[VERB_RELEASE]);
	assert_string_equal(why[VERB_CANCEL], "cancel does not work on etcd-election");
	for (verb = 0; verb < VERB_COUNT; verb++)
		free(why[verb]);
	gate_hinders(f.fleet, board, wants, 3, GATE_WAY_COMMAND, why);
	assert_non_null(strstr(why[VERB_RELEASE], "rev:6 is not there any more"));
	for (verb = 0; verb < VERB_COUNT; verb++)
		free(why[verb]);
	gate_hinders(f.fleet, board, &role, 1, GATE_WAY_COMMAND, why);
	assert_non_null(strstr(why[VERB_RELEASE], "role/x is a role: act on one of its witnesses"));
	for (verb = 0; verb < VERB_COUNT; verb++)
		free(why[verb]);
	board_unref(board);
	acting_fleet_stop(&f);
}

/* ---- whom it means ---- */

static void an_identity_that_several_hold_is_refused_with_their_keys(void **state)
{
	struct gate_want want = { .verb = VERB_RELEASE, .id = "test/x", .expect = "node-a" };
	struct acting_fleet f;
	struct gate_view *view;

	acting_fleet_init(&f);
	f.first.script.also_waits = true;
	acting_fleet_start(&f, *state);
	begin_set(&f, &want, 1);
	view = wait_for(&f, GATE_PHASE_OVER);
	assert_int_equal(view->outcome, GATE_REFUSED);
	assert_non_null(strstr(view->text, "rev:7"));
	assert_non_null(strstr(view->text, "rev:8"));
	gate_view_free(view);
	gate_close(f.gate);
	assert_int_equal(carry(&f, VERB_RELEASE, "rev:8"), GATE_DONE);
	assert_string_equal(f.first.sent_key, "rev:8");
	gate_close(f.gate);
	/* Only a holder can step down. */
	assert_int_equal(carry(&f, VERB_STEP_DOWN, "node-a"), GATE_DONE);
	assert_string_equal(f.first.sent_key, "rev:7");
	acting_fleet_stop(&f);
}

static void an_identity_that_looks_like_a_key_does_not_hit_another(void **state)
{
	struct gate_want want = { .verb = VERB_RELEASE, .id = "test/x", .key = "rev:9" };
	struct acting_fleet f;
	struct gate_view *view;

	acting_fleet_init(&f);
	f.first.script.holders[0] = "rev:9";
	acting_fleet_start(&f, *state);
	begin_set(&f, &want, 1);
	view = wait_for(&f, GATE_PHASE_OVER);
	assert_int_equal(view->outcome, GATE_CHANGED);
	gate_view_free(view);
	acting_fleet_stop(&f);
}

/* ---- confirming ---- */

static void enter_alone_never_confirms(void **state)
{
	static const char *const wrong[] = { "", " ", "y", "yes", "node-", "node-a ", "Node-a" };
	struct acting_fleet f;
	struct gate_view *view;
	size_t i;

	acting_fleet_init(&f);
	acting_fleet_start(&f, *state);
	begin(&f, VERB_STEP_DOWN, "node-a");
	view = wait_for(&f, GATE_PHASE_ASKING);
	assert_int_equal(view->ask, GATE_ASK_HOLDER);
	assert_string_equal(view->to_type, "node-a");
	for (i = 0; i < ARRAY_LEN(wrong); i++)
		assert_int_equal(gate_confirm(f.gate, wrong[i], "why", NULL), ERR_USAGE);
	assert_int_equal(f.first.sends, 0);
	assert_true(gate_cancel(f.gate));
	gate_view_free(view);
	view = gate_look(f.gate);
	assert_int_equal(view->outcome, GATE_CANCELLED);
	gate_view_free(view);
	assert_int_equal(gate_confirm(f.gate, "node-a", "why", NULL), ERR_UNSUPPORTED);
	assert_audit(*state, "");
	acting_fleet_stop(&f);
}

static void production_wants_the_name_and_a_reason(void **state)
{
	static const char *const words[] = { NULL, "prod", "PROD-eu", "live" };
	size_t i;

	for (i = 0; i < ARRAY_LEN(words); i++) {
		struct acting_fleet f;
		struct gate_view *view;

		acting_fleet_init(&f);
		f.configs[0].environment = words[i];
		f.options.way = GATE_WAY_CONSOLE;
		acting_fleet_start(&f, *state);
		assert_int_equal(gate_arm(f.fleet, NULL, INT64_MAX, NULL), 0);
		begin(&f, VERB_SUSPEND, NULL);
		view = wait_for(&f, GATE_PHASE_ASKING);
		assert_int_equal(view->ask, GATE_ASK_NAME);
		assert_true(view->needs_reason);
		assert_string_equal(view->to_type, "test/x");
		assert_int_equal(gate_confirm(f.gate, "y", "why", NULL), ERR_USAGE);
		assert_int_equal(gate_confirm(f.gate, "test/x", "", NULL), ERR_USAGE);
		assert_int_equal(gate_confirm(f.gate, "test/x", "  ", NULL), ERR_USAGE);
		assert_int_equal(gate_confirm(f.gate, "test/x", "why", NULL), 0);
		gate_view_free(view);
		view = wait_for(&f, GATE_PHASE_OVER);
		assert_int_equal(view->outcome, GATE_DONE);
		gate_view_free(view);
		acting_fleet_stop(&f);
	}
}

static void a_reversible_verb_wants_y(void **state)
{
	struct acting_fleet f;
	struct gate_view *view;

	acting_fleet_init(&f);
	f.options.way = GATE_WAY_CONSOLE;
	acting_fleet_start(&f, *state);
	assert_int_equal(gate_arm(f.fleet, "test", INT64_MAX, NULL), 0);
	begin(&f, VERB_SUSPEND, NULL);
	view = wait_for(&f, GATE_PHASE_ASKING);
	assert_int_equal(view->ask, GATE_ASK_YES);
	assert_int_equal(gate_confirm(f.gate, "", NULL, NULL), ERR_USAGE);
	assert_int_equal(gate_confirm(f.gate, "y", NULL, NULL), 0);
	gate_view_free(view);
	view = wait_for(&f, GATE_PHASE_OVER);
	assert_int_equal(view->outcome, GATE_DONE);
	gate_view_free(view);
	acting_fleet_stop(&f);
}

static void hostile_names_are_typed_as_ascii(void **state)
{
	struct acting_fleet f;
	struct gate_view *view;

	acting_fleet_init(&f);
	f.first.script.holders[0] = "n\xc3\xb6"
				    "de\x1b[2J";
	acting_fleet_start(&f, *state);
	begin(&f, VERB_STEP_DOWN, NULL);
	view = wait_for(&f, GATE_PHASE_ASKING);
	assert_string_equal(view->to_type, "n\\xc3\\xb6"
					   "de\\x1b[2J");
	assert_int_equal(gate_confirm(f.gate, view->to_type, "why", NULL), 0);
	gate_view_free(view);
	view = wait_for(&f, GATE_PHASE_OVER);
	assert_int_equal(view->outcome, GATE_DONE);
	gate_view_free(view);
	acting_fleet_stop(&f);
}

/* ---- a set ---- */

static void a_set_stops_at_the_first_surprise(void **state)
{
	struct gate_want wants[] = {
		{ .verb = VERB_RELEASE, .id = "test/x", .key = "rev:7" },
		{ .verb = VERB_RELEASE, .id = "other/x", .key = "rev:7" },
		{ .verb = VERB_RELEASE, .id = "test/y", .key = "rev:9" },
	};
	struct acting_fleet f;
	struct gate_view *view;

	acting_fleet_init(&f);
	f.first.script.names[1] = "y";
	f.first.script.holders[1] = "node-y";
	f.first.script.tokens[1] = 9;
	f.second.effect = EFFECT_CHANGED;
	acting_fleet_start(&f, *state);
	begin_set(&f, wants, 3);
	view = wait_for(&f, GATE_PHASE_ASKING);
	assert_int_equal(view->n_items, 3);
	assert_non_null(view->items[2].forecast);
	assert_string_equal(view->to_type, "release 3");
	assert_int_equal(gate_confirm(f.gate, "release 3", "why", NULL), 0);
	gate_view_free(view);
	view = wait_for(&f, GATE_PHASE_OVER);
	assert_int_equal(view->outcome, GATE_PARTIAL);
	assert_int_equal(view->items[0].outcome, GATE_DONE);
	assert_int_equal(view->items[1].outcome, GATE_CHANGED);
	assert_int_equal(view->items[2].outcome, GATE_CANCELLED);
	assert_int_equal(f.first.sends, 1);
	assert_non_null(strstr(view->text, "1 of 3 done; stopped at other/x"));
	gate_view_free(view);
	acting_fleet_stop(&f);
}

static void a_set_with_one_that_can_not_be_done_does_nothing(void **state)
{
	struct gate_want wants[] = {
		{ .verb = VERB_RELEASE, .id = "test/x", .key = "rev:7" },
		{ .verb = VERB_RELEASE, .id = "other/x", .key = "rev:6" },
	};
	struct acting_fleet f;
	struct gate_view *view;

	acting_fleet_init(&f);
	acting_fleet_start(&f, *state);
	begin_set(&f, wants, 2);
	view = wait_for(&f, GATE_PHASE_OVER);
	assert_int_equal(view->outcome, GATE_CHANGED);
	assert_int_equal(view->items[0].outcome, GATE_CANCELLED);
	assert_int_equal(f.first.sends + f.second.sends, 0);
	gate_view_free(view);
	acting_fleet_stop(&f);
}

/* ---- faults ---- */

static void an_audit_that_can_not_be_written_stops_the_act(void **state)
{
	struct acting_fleet f;
	char path[256];

	acting_fleet_init(&f);
	acting_fleet_start(&f, *state);
	/* Also root can't write into a folder that is in the file's place. */
	snprintf(path, sizeof(path), "%s/audit.jsonl", (const char *)*state);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(carry(&f, VERB_STEP_DOWN, "node-a"), GATE_REFUSED);
	assert_int_equal(f.first.sends, 0);
	acting_fleet_stop(&f);
	rmdir(path);
}

static void a_full_disk_stops_the_act(void **state)
{
	struct rlimit old, small;
	struct acting_fleet f;

	acting_fleet_init(&f);
	acting_fleet_start(&f, *state);
	assert_int_equal(carry(&f, VERB_STEP_DOWN, "node-a"), GATE_DONE);
	gate_close(f.gate);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	small = (struct rlimit){ .rlim_cur = 1200, .rlim_max = old.rlim_max };
	setrlimit(RLIMIT_FSIZE, &small);
	assert_int_equal(carry(&f, VERB_STEP_DOWN, "node-a"), GATE_REFUSED);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_int_equal(f.first.sends, 1);
	assert_audit(*state, "1 step-down test/x done;");
	acting_fleet_stop(&f);
}

static void die(struct acting *a)
{
	(void)a;
	kill(getpid(), SIGKILL);
}

/* What the test below starts this program for: acts, and is killed while it sends. */
static int crash_in(const char *folder)
{
	struct acting_fleet f;

	acting_fleet_init(&f);
	f.first.sending = die;
	acting_fleet_start(&f, folder);
	carry(&f, VERB_STEP_DOWN, "node-a");
	return 0;
}

static void a_crash_leaves_an_intent_without_an_outcome(void **state)
{
	char name[] = "test-gate", *argv[] = { name, *state, NULL };
	struct acting_fleet f;
	int status;
	pid_t child;

	assert_int_equal(posix_spawn(&child, "/proc/self/exe", NULL, NULL, argv, environ), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_audit(*state, "1 step-down test/x -;");
	acting_fleet_init(&f);
	acting_fleet_start(&f, *state);
	assert_int_equal(carry(&f, VERB_STEP_DOWN, "node-a"), GATE_DONE);
	assert_audit(*state, "2 step-down test/x done;1 step-down test/x -;");
	acting_fleet_stop(&f);
}

static void ending_the_program_while_it_verifies_records_what_is_known(void **state)
{
	struct acting_fleet f;
	struct gate_view *view;

	acting_fleet_init(&f);
	f.first.settled_from = 0;
	f.options.settle_ms = 1000 * 1000;
	acting_fleet_start(&f, *state);
	begin(&f, VERB_STEP_DOWN, "node-a");
	gate_view_free(wait_for(&f, GATE_PHASE_ASKING));
	assert_int_equal(gate_confirm(f.gate, "node-a", "why", NULL), 0);
	for (;;) {
		unsigned looks;

		pthread_mutex_lock(&f.first.script.mutex);
		looks = f.first.looks;
		pthread_mutex_unlock(&f.first.script.mutex);
		if (looks)
			break;
		poll(NULL, 0, 2);
	}
	assert_true(fleet_stop(f.fleet, LIMIT_MS));
	view = gate_look(f.gate);
	assert_int_equal(view->phase, GATE_PHASE_OVER);
	assert_int_equal(view->outcome, GATE_UNKNOWN);
	gate_view_free(view);
	assert_audit(*state, "1 step-down test/x unknown;");
	acting_fleet_stop(&f);
}

static void take_a_while(struct acting *a)
{
	(void)a;
	poll(NULL, 0, 600);
}

/* However short the patience with threads that hang is. */
static void ending_the_program_waits_for_what_was_confirmed(void **state)
{
	struct acting_fleet f;
	struct gate_view *view;
	unsigned sends = 0;

	acting_fleet_init(&f);
	f.first.sending = take_a_while;
	acting_fleet_start(&f, *state);
	begin(&f, VERB_STEP_DOWN, "node-a");
	gate_view_free(wait_for(&f, GATE_PHASE_ASKING));
	assert_int_equal(fleet_acts(f.fleet), 0);
	assert_int_equal(gate_confirm(f.gate, "node-a", "why", NULL), 0);
	assert_int_equal(fleet_acts(f.fleet), 1);
	while (!sends) {
		poll(NULL, 0, 1);
		pthread_mutex_lock(&f.first.script.mutex);
		sends = f.first.sends;
		pthread_mutex_unlock(&f.first.script.mutex);
	}
	assert_true(fleet_stop(f.fleet, 100));
	assert_int_equal(fleet_acts(f.fleet), 0);
	view = gate_look(f.gate);
	assert_int_equal(view->outcome, GATE_DONE);
	gate_view_free(view);
	assert_audit(*state, "1 step-down test/x done;");
	acting_fleet_stop(&f);
}

static void nobody_else_waits_for_an_act(void **state)
{
	struct acting_fleet f;
	struct gate_view *view;
	unsigned polls, now;

	acting_fleet_init(&f);
	f.first.hang_plan = true;
	acting_fleet_start(&f, *state);
	begin(&f, VERB_STEP_DOWN, "node-a");
	view = gate_look(f.gate);
	assert_int_equal(view->phase, GATE_PHASE_READING);
	gate_view_free(view);
	pthread_mutex_lock(&f.second.script.mutex);
	polls = f.second.script.polls;
	do {
		pthread_cond_wait(&f.second.script.polled, &f.second.script.mutex);
		now = f.second.script.polls;
	} while (now < polls + 3);
	pthread_mutex_unlock(&f.second.script.mutex);
	assert_true(gate_cancel(f.gate));
	pthread_mutex_lock(&f.first.script.mutex);
	f.first.script.release = true;
	pthread_cond_broadcast(&f.first.script.polled);
	pthread_mutex_unlock(&f.first.script.mutex);
	gate_view_free(wait_for(&f, GATE_PHASE_OVER));
	assert_int_equal(f.first.sends, 0);
	acting_fleet_stop(&f);
}

static void a_paused_console_can_act(void **state)
{
	struct acting_fleet f;

	acting_fleet_init(&f);
	acting_fleet_start(&f, *state);
	fleet_pause(f.fleet, true);
	assert_int_equal(carry(&f, VERB_STEP_DOWN, "node-a"), GATE_DONE);
	acting_fleet_stop(&f);
}

static void a_forecast_sends_nothing(void **state)
{
	struct acting_fleet f;
	struct gate_view *view;

	acting_fleet_init(&f);
	f.settings.read_only = true;
	f.options.forecast_only = true;
	acting_fleet_start(&f, *state);
	begin(&f, VERB_STEP_DOWN, "node-a");
	view = wait_for(&f, GATE_PHASE_OVER);
	assert_non_null(view->items[0].forecast);
	assert_false(view->items[0].forecast->allowed);
	assert_string_equal(view->items[0].forecast->request, "delete rev:7");
	assert_int_equal(f.first.sends, 0);
	gate_view_free(view);
	assert_audit(*state, "");
	acting_fleet_stop(&f);
}

/* An act is bound to what is seen now: on a picture of the past none begins, nothing is read, and
 * nothing is recorded. */
static void nothing_is_begun_on_the_past(void **state)
{
	const struct gate_want want = { .id = "test/x", .key = "rev:7" };
	struct board *now, *then;
	struct acting_fleet f;
	struct gate_view *view;
	char *why[VERB_COUNT];
	int verb;

	acting_fleet_init(&f);
	acting_fleet_start(&f, *state);
	now = fleet_board(f.fleet);
	then = board_as_past(now);
	gate_hinders(f.fleet, then, &want, 1, GATE_WAY_COMMAND, why);
	for (verb = 0; verb < VERB_COUNT; verb++) {
		assert_non_null(why[verb]);
		assert_non_null(strstr(why[verb], "past"));
		free(why[verb]);
	}
	f.gate = gate_begin(f.fleet, then, &want, 1, &f.options);
	view = gate_look(f.gate);
	assert_int_equal(view->phase, GATE_PHASE_OVER);
	assert_int_equal(view->outcome, GATE_REFUSED);
	assert_non_null(strstr(view->items[0].text, "past"));
	assert_true(gate_confirm(f.gate, "test/x", "a reason", NULL) != 0);
	gate_view_free(view);
	gate_close(f.gate);
	f.options.agreed = "a reason";
	f.gate = gate_begin(f.fleet, then, &want, 1, &f.options);
	view = wait_for(&f, GATE_PHASE_OVER);
	assert_int_equal(view->outcome, GATE_REFUSED);
	gate_view_free(view);
	assert_int_equal(f.first.plans, 0);
	assert_int_equal(f.first.sends, 0);
	board_unref(then);
	board_unref(now);
	acting_fleet_stop(&f);
}

#define GATE_TEST(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		GATE_TEST(an_act_is_done_and_recorded),
		GATE_TEST(the_next_act_has_the_next_number),
		GATE_TEST(the_outcome_never_lies),
		GATE_TEST(what_is_unknown_says_how_to_find_out),
		GATE_TEST(a_holder_who_is_gone_is_changed),
		GATE_TEST(a_holder_that_recovered_is_changed),
		GATE_TEST(a_name_is_not_taken_for_a_key),
		GATE_TEST(another_server_is_changed),
		GATE_TEST(what_another_server_shows_proves_nothing),
		GATE_TEST(the_token_is_compared),
		GATE_TEST(an_unknown_id_is_absent),
		GATE_TEST(an_id_that_was_there_has_changed),
		GATE_TEST(nothing_is_begun_on_the_past),
		GATE_TEST(the_console_is_read_only_until_it_is_armed),
		GATE_TEST(arming_that_ends_while_the_dialog_is_open_refuses),
		GATE_TEST(disarming_while_the_record_waits_refuses),
		GATE_TEST(what_the_config_forbids_is_refused),
		GATE_TEST(a_source_that_fails_is_refused),
		GATE_TEST(the_menu_says_why_not),
		GATE_TEST(the_menu_says_what_the_row_shows),
		GATE_TEST(the_menu_of_a_set_says_the_first_reason),
		GATE_TEST(an_identity_that_several_hold_is_refused_with_their_keys),
		GATE_TEST(an_identity_that_looks_like_a_key_does_not_hit_another),
		GATE_TEST(enter_alone_never_confirms),
		GATE_TEST(production_wants_the_name_and_a_reason),
		GATE_TEST(a_reversible_verb_wants_y),
		GATE_TEST(hostile_names_are_typed_as_ascii),
		GATE_TEST(a_set_stops_at_the_first_surprise),
		GATE_TEST(a_set_with_one_that_can_not_be_done_does_nothing),
		GATE_TEST(an_audit_that_can_not_be_written_stops_the_act),
		GATE_TEST(a_full_disk_stops_the_act),
		GATE_TEST(a_crash_leaves_an_intent_without_an_outcome),
		GATE_TEST(ending_the_program_while_it_verifies_records_what_is_known),
		GATE_TEST(ending_the_program_waits_for_what_was_confirmed),
		GATE_TEST(nobody_else_waits_for_an_act),
		GATE_TEST(a_paused_console_can_act),
		GATE_TEST(a_forecast_sends_nothing),
	};

	if (argc > 1)
		return crash_in(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
