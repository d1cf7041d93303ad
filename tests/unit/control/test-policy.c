#include "config.h"

#include "tests/unit/unit.h"

#include "base/mem.h"
#include "control/gate-machine.h"
#include "control/policy.h"

#include <stdlib.h>
#include <string.h>

/* ---- the machine: what must hold of its table, whatever stands in it ---- */

#define STATE(id) GATE_STATE_##id
#define EVENT(id) GATE_EVENT_##id

/* Every way into a state, as "from by event". */
static size_t ways_into(enum gate_state to, enum gate_state *from, enum gate_event *by)
{
	enum gate_outcome outcome = GATE_NONE;
	size_t n = 0;
	int s, e;

	for (s = 0; s < GATE_STATE_COUNT; s++)
		for (e = 0; e < GATE_EVENT_COUNT; e++)
			if (gate_machine_next((enum gate_state)s, (enum gate_event)e, &outcome) ==
				(int)to) {
				from[n] = (enum gate_state)s;
				by[n++] = (enum gate_event)e;
			}
	return n;
}

static void there_is_one_way_to_send(void **state)
{
	enum gate_state from[GATE_STATE_COUNT * GATE_EVENT_COUNT];
	enum gate_event by[GATE_STATE_COUNT * GATE_EVENT_COUNT];

	(void)state;
	assert_int_equal(ways_into(STATE(SEND), from, by), 1);
	assert_int_equal(from[0], STATE(INTENT));
	assert_int_equal(by[0], EVENT(WRITTEN));
	assert_int_equal(ways_into(STATE(INTENT), from, by), 1);
	assert_int_equal(from[0], STATE(CHECK));
	assert_int_equal(by[0], EVENT(READY));
	assert_int_equal(ways_into(STATE(CHECK), from, by), 1);
	assert_int_equal(from[0], STATE(ASK));
	assert_int_equal(by[0], EVENT(CONFIRMED));
	assert_int_equal(ways_into(STATE(ASK), from, by), 1);
	assert_int_equal(from[0], STATE(READ));
}

/* Walks every path there is; the machine has no loop, so each ends. */
struct path {
	enum gate_outcome outcome;
	bool sent, answered, seen;
	int depth, ends;
};

static void walk(struct path p, enum gate_state s, int *ends)
{
	int e;

	assert_true(p.depth < GATE_STATE_COUNT + 1);
	if (s == STATE(OVER)) {
		assert_int_not_equal(p.outcome, GATE_NONE);
		/* done: the server said so, and the effect was seen */
		if (p.outcome == GATE_DONE)
			assert_true(p.answered && p.seen);
		/* unknown and partial only of what was sent */
		if (p.outcome == GATE_UNKNOWN || p.outcome == GATE_PARTIAL)
			assert_true(p.sent);
		if (p.outcome == GATE_CANCELLED)
			assert_false(p.sent);
		++*ends;
		return;
	}
	for (e = 0; e < GATE_EVENT_COUNT; e++) {
		struct path q = p;
		int next = gate_machine_next(s, (enum gate_event)e, &q.outcome);

		if (next < 0)
			continue;
		q.depth++;
		q.sent = p.sent || (s == STATE(SEND) && e != EVENT(UNSENT));
		q.answered = p.answered || e == EVENT(ANSWERED);
		q.seen = p.seen || e == EVENT(SETTLED);
		/* What was sent without an answer is never called anything but unknown. */
		if (p.outcome == GATE_UNKNOWN)
			assert_int_equal(q.outcome, GATE_UNKNOWN);
		walk(q, (enum gate_state)next, ends);
	}
}

static void every_path_ends_with_an_honest_outcome(void **state)
{
	int ends = 0;

	(void)state;
	walk((struct path){ .outcome = GATE_NONE }, STATE(READ), &ends);
	assert_true(ends > 20);
}

static void every_state_and_event_is_used(void **state)
{
	enum gate_state from[GATE_STATE_COUNT * GATE_EVENT_COUNT];
	enum gate_event by[GATE_STATE_COUNT * GATE_EVENT_COUNT];
	bool used[GATE_EVENT_COUNT] = { false };
	size_t i, n;
	int s;

	(void)state;
	for (s = 0; s < GATE_STATE_COUNT; s++) {
		n = ways_into((enum gate_state)s, from, by);
		assert_true(n > 0 || s == STATE(READ));
		for (i = 0; i < n; i++)
			used[by[i]] = true;
	}
	for (i = 0; i < GATE_EVENT_COUNT; i++)
		assert_true(used[i]);
}

static void nothing_leaves_the_end(void **state)
{
	enum gate_outcome outcome = GATE_DONE;
	int e;

	(void)state;
	for (e = 0; e < GATE_EVENT_COUNT; e++)
		assert_int_equal(gate_machine_next(STATE(OVER), (enum gate_event)e, &outcome), -1);
	assert_int_equal(outcome, GATE_DONE);
}

/* Once it is sent, no cancelling: what was sent can't be called back. */
static void what_is_sent_can_not_be_cancelled(void **state)
{
	static const enum gate_state late[] = { STATE(INTENT), STATE(SEND), STATE(VERIFY),
		STATE(SEEK), STATE(NOTE) };
	enum gate_outcome outcome = GATE_NONE;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_LEN(late); i++)
		assert_int_equal(gate_machine_next(late[i], EVENT(CANCELLED), &outcome), -1);
}

/* ---- the policy ---- */

static size_t refusals(struct policy_facts facts)
{
	struct plan_list reasons = { .n = 0 };
	size_t n;

	facts.source = "s";
	policy_check(&facts, &reasons);
	n = reasons.n;
	plan_list_release(&reasons);
	return n;
}

static void every_combination_of_facts(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < 256; i++) {
		struct policy_facts facts = {
			.read_only = i & 1,
			.protect = i & 2,
			.armed_ms = i & 4 ? 1 : 0,
			.way = i & 8 ? GATE_WAY_CONSOLE : GATE_WAY_COMMAND,
			.state = (enum source_state)(i >> 4 & 3),
			.past = i & 64,
			.verb = i & 128 ? VERB_ASK : VERB_START,
		};
		bool readable = facts.state == SOURCE_OK || facts.state == SOURCE_DEGRADED;
		bool may = !facts.past && !facts.read_only && !facts.protect && readable &&
			   (facts.way == GATE_WAY_COMMAND || facts.armed_ms > 0 ||
				   facts.verb == VERB_ASK);

		if ((refusals(facts) == 0) != may)
			fail_msg("combination %u", i);
	}
}

/* From a state that wants a person to a calm one, of verbs that take something from somebody. */
static void what_is_over(void **state)
{
	static const enum verb taking[] = { VERB_STEP_DOWN, VERB_CANCEL, VERB_RELEASE, VERB_REVOKE,
		VERB_KEEP_ONE };
	static const enum verb others[] = { VERB_SUSPEND, VERB_RESUME, VERB_TRIGGER, VERB_STOP,
		VERB_CRASH };
	int was, now;
	size_t i;

	(void)state;
	for (was = 0; was < STATE_COUNT; was++)
		for (now = 0; now < STATE_COUNT; now++) {
			bool over = was <= STATE_STUCK && now > STATE_STUCK && now != STATE_UNKNOWN;

			for (i = 0; i < ARRAY_LEN(taking); i++)
				assert_int_equal(
					policy_is_over(taking[i], (enum state)was, (enum state)now),
					over);
			for (i = 0; i < ARRAY_LEN(others); i++)
				assert_false(policy_is_over(
					others[i], (enum state)was, (enum state)now));
		}
	assert_true(policy_is_over(VERB_RELEASE, STATE_STALE, STATE_HELD));
	assert_true(policy_is_over(VERB_CANCEL, STATE_STUCK, STATE_CONTENDED));
	assert_false(policy_is_over(VERB_RELEASE, STATE_HELD, STATE_STALE));
	assert_false(policy_is_over(VERB_RELEASE, STATE_EXPIRING, STATE_HELD));
	assert_false(policy_is_over(VERB_RELEASE, STATE_STALE, STATE_STUCK));
}

static void what_is_production(void **state)
{
	static const char *const yes[] = { NULL, "prod", "Prod", "production", "eu-prod", "prd",
		"live", "preprod", "", " " };
	static const char *const no[] = { "staging", "lab", "sim", "dev" };
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_LEN(yes); i++)
		assert_true(policy_is_prod(yes[i]));
	for (i = 0; i < ARRAY_LEN(no); i++)
		assert_false(policy_is_prod(no[i]));
}

static void what_confirms(void **state)
{
	int v;

	(void)state;
	for (v = 0; v < VERB_COUNT; v++) {
		enum verb verb = (enum verb)v;
		bool reversible = verb_word(verb)->danger == DANGER_REVERSIBLE;

		assert_int_equal(policy_ask(verb, "prod", true),
			verb == VERB_ASK ? GATE_ASK_YES : GATE_ASK_NAME);
		assert_int_equal(policy_ask(verb, NULL, false),
			verb == VERB_ASK ? GATE_ASK_YES : GATE_ASK_NAME);
		assert_int_equal(
			policy_ask(verb, "lab", true), reversible ? GATE_ASK_YES : GATE_ASK_HOLDER);
		assert_int_equal(
			policy_ask(verb, "lab", false), reversible ? GATE_ASK_YES : GATE_ASK_NAME);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(there_is_one_way_to_send),
		cmocka_unit_test(every_path_ends_with_an_honest_outcome),
		cmocka_unit_test(every_state_and_event_is_used),
		cmocka_unit_test(nothing_leaves_the_end),
		cmocka_unit_test(what_is_sent_can_not_be_cancelled),
		cmocka_unit_test(every_combination_of_facts),
		cmocka_unit_test(what_is_over),
		cmocka_unit_test(what_is_production),
		cmocka_unit_test(what_confirms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
