#include "config.h"

#include "tests/unit/unit.h"

#include "base/str.h"
#include "model/draft.h"
#include "model/forecast.h"
#include "model/snapshot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One etcd election with a leader and one that waits, and a plan to take it from the leader. */
struct scene {
	struct draft *draft;
	struct singleton *s;
	struct order order;
	struct plan plan;
	struct role role;
	struct forecast_input in;
};

enum {
	NOW_S = 1790000000
};

static void scene_open(struct scene *c, enum verb verb, const char *key, const char *identity)
{
	memset(c, 0, sizeof(*c));
	c->draft = draft_new();
	draft_begin(c->draft, MECH_ETCD_ELECTION, "ctl", "elections/x", 11);
	draft_token(c->draft, TOKEN_CREATE_REVISION, 1482);
	draft_claim(c->draft, CLAIM_HOLDER, "node-b", 6, "rev:1482");
	draft_claim(c->draft, CLAIM_WAITER, "node-c", 6, "rev:1490");
	c->s = draft_finish(c->draft);
	c->order = (struct order){ .verb = verb, .s = c->s, .key = key, .identity = identity };
	plan_init(&c->plan);
	plan_text(&c->plan.request, "txn");
	c->plan.permission = TRI_YES;
	c->in = (struct forecast_input){
		.order = &c->order, .plan = &c->plan, .now_us = INT64_C(1000000) * NOW_S
	};
}

static void scene_close(struct scene *c)
{
	plan_release(&c->plan);
	singleton_unref(c->s);
	draft_free(c->draft);
}

static void add_line(void *arg, const char *label, const char *text)
{
	str_addf(arg, "%s: %s\n", label, text);
}

static void assert_tells(const struct scene *c, const char *want)
{
	struct forecast *f = forecast_new(&c->in);
	struct str text;

	str_init(&text, 1 << 16);
	forecast_tell(f, add_line, &text);
	assert_string_equal(text.s, want);
	str_release(&text);
	forecast_unref(f);
}

static void all_that_is_known_is_told(void **state)
{
	struct scene c;

	(void)state;
	scene_open(&c, VERB_STEP_DOWN, "rev:1482", "node-b");
	plan_text(&c.plan.guarded_by, "create_revision");
	plan_add(&c.plan.destroys, "the key", "elections/x/1");
	plan_add(&c.plan.keeps, "its lease", "1");
	plan_text(&c.plan.successor, "node-c");
	plan_text(&c.plan.gap_why, "one watch event");
	plan_text(&c.plan.alone, "its lease ends in 9 s");
	plan_warn(&c.plan, "it is not safe");
	c.plan.gap_min_ms = 0;
	c.plan.gap_max_ms = 15000;
	c.plan.last_sign_us = c.in.now_us - 24000000;
	plan_text(&c.plan.last_sign, "renewed");
	assert_tells(&c,
		"takes it from: node-b  token 1482  (rev:1482)\n"
		"destroys: the key elections/x/1\n"
		"keeps: its lease 1\n"
		"tells: nobody: node-b is not asked, and may still work\n"
		"next: node-c, after 0s to 15s: one watch event\n"
		"overlap: possible until node-b is seen to stop; last sign 24s before this "
		"forecast (renewed)\n"
		"permission: ok\n"
		"if left alone: its lease ends in 9 s\n"
		"!: it is not safe\n"
		"sends: txn\n"
		"guarded by: create_revision\n");
	scene_close(&c);
}

static void what_is_not_known_is_not_made_up(void **state)
{
	struct scene c;

	(void)state;
	scene_open(&c, VERB_STEP_DOWN, "rev:1482", "node-b");
	c.plan.permission = TRI_UNKNOWN;
	assert_tells(&c, "takes it from: node-b  token 1482  (rev:1482)\n"
			 "tells: nobody: node-b is not asked, and may still work\n"
			 "next: nobody is seen to wait\n"
			 "overlap: possible until node-b is seen to stop\n"
			 "permission: unknown\n"
			 "sends: txn\n"
			 "guarded by: nothing: the server compares nothing\n");
	scene_close(&c);
}

/* Who waits has no token, and takes no work with it. */
static void a_waiter_is_no_holder(void **state)
{
	struct scene c;

	(void)state;
	scene_open(&c, VERB_RELEASE, "rev:1490", "node-c");
	assert_tells(&c, "ends the wait: node-c  (rev:1490)\n"
			 "tells: nobody\n"
			 "overlap: none: it takes the work from nobody\n"
			 "permission: ok\n"
			 "sends: txn\n"
			 "guarded by: nothing: the server compares nothing\n");
	scene_close(&c);
}

static void fencing_and_repeating_are_said(void **state)
{
	struct scene c;
	struct forecast *f;

	(void)state;
	scene_open(&c, VERB_STEP_DOWN, "rev:1482", "node-b");
	c.in.role = &c.role;
	c.role.fenced = TRI_YES;
	f = forecast_new(&c.in);
	assert_non_null(strstr(f->overlap_text, "is refused by the fencing token"));
	forecast_unref(f);
	c.role.fenced = TRI_NO;
	c.role.idempotent = TRI_YES;
	f = forecast_new(&c.in);
	assert_non_null(strstr(f->overlap_text, "safe to repeat"));
	forecast_unref(f);
	c.role.idempotent = TRI_UNKNOWN;
	f = forecast_new(&c.in);
	assert_null(strstr(f->overlap_text, "safe"));
	forecast_unref(f);
	scene_close(&c);
}

static void what_speaks_against_it(void **state)
{
	struct scene c;
	struct forecast *f;

	(void)state;
	scene_open(&c, VERB_STEP_DOWN, "rev:1482", "node-b");
	f = forecast_new(&c.in);
	assert_true(f->allowed);
	forecast_refuse(f, "read only");
	assert_false(f->allowed);
	assert_int_equal(f->verdict, PLAN_REFUSED);
	forecast_unref(f);
	c.plan.permission = TRI_NO;
	plan_text(&c.plan.permission_why, "GRANT pg_signal_backend");
	f = forecast_new(&c.in);
	assert_false(f->allowed);
	assert_non_null(strstr(f->reasons.items[0].what, "GRANT pg_signal_backend"));
	forecast_unref(f);
	/* A plan that was refused for that says it too: it is one reason. */
	plan_refuse(&c.plan, "%s", c.plan.permission_why);
	f = forecast_new(&c.in);
	assert_int_equal(f->reasons.n, 1);
	assert_string_equal(
		f->reasons.items[0].what, "the server will not allow it: GRANT pg_signal_backend");
	forecast_unref(f);
	plan_changed(&c.plan, "another one");
	f = forecast_new(&c.in);
	assert_int_equal(f->verdict, PLAN_CHANGED);
	assert_int_equal(f->reasons.n, 2);
	forecast_unref(f);
	c.in.plan = NULL;
	f = forecast_new(&c.in);
	assert_false(f->allowed);
	assert_null(f->request);
	forecast_unref(f);
	scene_close(&c);
}

/* Equal when the operator was shown the same, else not. */
static void the_digest_is_of_what_was_shown(void **state)
{
	char first[FORECAST_DIGEST_MAX], again[FORECAST_DIGEST_MAX], other[FORECAST_DIGEST_MAX];
	struct forecast *f, *g;
	struct scene c;

	(void)state;
	scene_open(&c, VERB_STEP_DOWN, "rev:1482", "node-b");
	f = forecast_new(&c.in);
	g = forecast_new(&c.in);
	forecast_digest(f, first);
	assert_string_equal(first, forecast_digest(g, again));
	assert_int_equal(strlen(first), 16);
	forecast_unref(g);
	plan_add(&c.plan.destroys, "the key", "another");
	g = forecast_new(&c.in);
	assert_string_not_equal(first, forecast_digest(g, other));
	forecast_unref(g);
	forecast_unref(f);
	scene_close(&c);
}

static void long_lists_are_counted(void **state)
{
	struct forecast *f;
	struct str text;
	struct scene c;
	char id[24];
	int i;

	(void)state;
	scene_open(&c, VERB_REVOKE, "rev:1482", "node-b");
	for (i = 0; i < 1500; i++) {
		snprintf(id, sizeof(id), "k%d", i);
		plan_add(&c.plan.destroys, "key", id);
	}
	f = forecast_new(&c.in);
	assert_int_equal(f->destroys.n + f->destroys.cut, 1500);
	str_init(&text, 1 << 16);
	forecast_tell(f, add_line, &text);
	assert_non_null(strstr(text.s, "key k11; and 1488 more\n"));
	str_release(&text);
	forecast_unref(f);
	scene_close(&c);
}

/* Only of the kinds that were cut it is open what stood in the list. */
static void what_kinds_were_cut_is_known(void **state)
{
	struct plan_list list = { .n = 0 }, copy = { .n = 0 };
	int i;

	(void)state;
	plan_add(&list, "the session", "1");
	for (i = 0; i < 1200; i++)
		plan_add(&list, "lock", "x");
	plan_cut(&list, 0, "pod", NULL);
	plan_cut(&list, 3, "key", "candidacy");
	plan_list_copy(&copy, &list);
	plan_list_release(&list);
	assert_int_equal(copy.cut, 1201 + 3 - 1000);
	assert_true(plan_may_be_cut(&copy, "lock"));
	assert_true(plan_may_be_cut(&copy, "key"));
	assert_true(plan_may_be_cut(&copy, "candidacy"));
	assert_false(plan_may_be_cut(&copy, "the session"));
	assert_false(plan_may_be_cut(&copy, "pod"));
	plan_list_release(&copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_that_is_known_is_told),
		cmocka_unit_test(what_is_not_known_is_not_made_up),
		cmocka_unit_test(a_waiter_is_no_holder),
		cmocka_unit_test(fencing_and_repeating_are_said),
		cmocka_unit_test(what_speaks_against_it),
		cmocka_unit_test(the_digest_is_of_what_was_shown),
		cmocka_unit_test(long_lists_are_counted),
		cmocka_unit_test(what_kinds_were_cut_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
