#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "model/role.h"
#include "model/snapshot.h"
#include "model/thresholds.h"
#include "tests/unit/model/facts.h"
#include "tests/unit/unit.h"

static struct draft *draft;
static struct verdict_draft verdict;
static struct row *judged;           /* the role itself, as it was judged last */
static enum witness_sight sights[2]; /* of its witnesses then */

static int make_draft(void **state)
{
	(void)state;
	text_init_locale();
	draft = draft_new();
	verdict_draft_init(&verdict);
	return 0;
}

static int free_draft(void **state)
{
	(void)state;
	row_unref(judged);
	draft_free(draft);
	verdict_draft_release(&verdict);
	return 0;
}

static void harm_has_words(void **state)
{
	(void)state;
	assert_null(harm_word(HARM_UNKNOWN));
	assert_string_equal(harm_word(HARM_HARMFUL), "harmful");
	assert_int_equal(harm_from_word("Harmless"), HARM_HARMLESS);
	assert_int_equal(harm_from_word("annoying"), HARM_ANNOYING);
	assert_int_equal(harm_from_word("bad"), -1);
	assert_int_equal(harm_from_word(""), -1);
}

static void the_role_of_a_witness(void **state)
{
	static const char *const one[] = { "orders/app:1", "ctl/e/a" };
	static const char *const two[] = { "ctl/e/b" };
	const struct role roles[] = { { .name = "x", .witnesses = one, .n_witnesses = 2 },
		{ .name = "y", .witnesses = two, .n_witnesses = 1 } };

	(void)state;
	assert_ptr_equal(role_of(roles, 2, "ctl/e/a"), &roles[0]);
	assert_ptr_equal(role_of(roles, 2, "ctl/e/b"), &roles[1]);
	assert_null(role_of(roles, 2, "ctl/e/c"));
	assert_null(role_of(roles, 0, "ctl/e/a"));
}

static void fit_says_only_what_the_config_says(void **state)
{
	static const struct {
		enum harm harm;
		enum tristate idempotent, fenced;
		enum mechanism mechanism;
		const char *fit;
	} cases[] = {
		{ HARM_HARMFUL, TRI_NO, TRI_NO, MECH_ETCD_ELECTION, "weak" },
		{ HARM_HARMFUL, TRI_NO, TRI_NO, MECH_PG_ADVISORY, "weak" },
		{ HARM_HARMFUL, TRI_NO, TRI_UNKNOWN, MECH_PG_ADVISORY, NULL },
		{ HARM_HARMFUL, TRI_UNKNOWN, TRI_NO, MECH_PG_ADVISORY, NULL },
		{ HARM_HARMFUL, TRI_YES, TRI_NO, MECH_PG_ADVISORY, "ok" },
		{ HARM_HARMFUL, TRI_NO, TRI_YES, MECH_ETCD_LOCK, "ok" },
		{ HARM_HARMLESS, TRI_NO, TRI_NO, MECH_ETCD_LOCK, "overkill" },
		{ HARM_HARMLESS, TRI_NO, TRI_NO, MECH_PG_ADVISORY, "ok" },
		{ HARM_ANNOYING, TRI_NO, TRI_NO, MECH_ETCD_LOCK, "ok" },
		{ HARM_UNKNOWN, TRI_NO, TRI_NO, MECH_ETCD_LOCK, NULL },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct role role = { .name = "r",
			.harm = cases[i].harm,
			.idempotent = cases[i].idempotent,
			.fenced = cases[i].fenced };

		assert_true(
			str_eq(fitness_word(role_fit(&role, cases[i].mechanism)), cases[i].fit));
		verdict_draft_begin(&verdict);
		role_fit_findings(&role, cases[i].mechanism, &verdict);
		assert_int_equal(verdict_has(&verdict, FINDING_UNFENCED_HARMFUL),
			cases[i].fit && strcmp(cases[i].fit, "weak") == 0);
		assert_int_equal(verdict_has(&verdict, FINDING_OVERKILL),
			cases[i].fit && strcmp(cases[i].fit, "overkill") == 0);
	}
}

/* ---- two witnesses ---- */

struct side {
	const char *identity, *key, *client; /* identity NULL: nobody holds it */
	enum state state;
	enum source_state source;
	bool absent;       /* there is no such row */
	bool prepared;     /* held by a prepared transaction */
	const char *hides; /* what its source hides: how paths begin */
	bool standby;      /* its source reads a standby */
};

static struct row *side_row(const struct side *side, const char *path)
{
	struct facts_claim holder = { side->identity, side->key, side->client };

	if (side->absent)
		return NULL;
	draft_begin(draft, MECH_PG_ADVISORY, "s", path, strlen(path));
	if (side->identity)
		facts_add(draft, CLAIM_HOLDER, &holder);
	if (side->prepared)
		draft_text(draft, DETAIL_PREPARED, "tx");
	verdict_draft_begin(&verdict);
	verdict.v.state = side->state;
	return row_new(draft_finish(draft), &verdict);
}

/* The source's own row. */
static struct row *self_row(const struct side *side)
{
	draft_begin(draft, MECH_SOURCE, "s", "", 0);
	if (side->standby)
		draft_int(draft, DETAIL_IN_RECOVERY, 1);
	verdict_draft_begin(&verdict);
	return row_new(draft_finish(draft), &verdict);
}

static enum state judge(const struct side *x, const struct side *y)
{
	static const char *const ids[] = { "s/1", "s/2" };
	static const struct thresholds thresholds;
	const struct role role = { .name = "r", .witnesses = ids, .n_witnesses = 2 };
	const struct hidden hidden[] = {
		{ .what = "Leases in ops", .remedy = "a Role", .rows = x->hides },
		{ .what = "Leases in ops", .remedy = "a Role", .rows = y->hides }
	};
	struct row *selves[] = { self_row(x), self_row(y) };
	struct snapshot one = { .source = "s",
		.state = x->source,
		.self = selves[0],
		.hidden = &hidden[0],
		.n_hidden = 1 };
	struct snapshot two = { .source = "s",
		.state = y->source,
		.self = selves[1],
		.hidden = &hidden[1],
		.n_hidden = 1 };
	struct row *rows[] = { side_row(x, "1"), side_row(y, "2") };
	const struct row *witnesses[] = { rows[0], rows[1] };
	const struct snapshot *sources[] = { &one, &two };
	const struct role_view view = { .role = &role, .witnesses = witnesses, .sources = sources };

	verdict_draft_begin(&verdict);
	role_judge(&view, NULL, &thresholds, 0, &verdict);
	sights[0] = role_witness_sight(&view, 0);
	sights[1] = role_witness_sight(&view, 1);
	row_unref(rows[0]);
	row_unref(rows[1]);
	row_unref(selves[0]);
	row_unref(selves[1]);
	row_unref(judged);
	draft_begin(draft, MECH_SOURCE, "role", "r", 1);
	judged = row_new(draft_finish(draft), &verdict);
	return judged->v.state;
}

static void two_holders_are_two_by_evidence_only(void **state)
{
	static const struct {
		struct side x, y;
		bool duplicate;
	} cases[] = {
		{ { "a", "1", "10.0.0.1", .state = STATE_HELD, .source = SOURCE_OK },
			{ "b", "2", "10.0.0.2", .state = STATE_HELD, .source = SOURCE_OK }, true },
		{ { "a", "1", NULL, .state = STATE_HELD, .source = SOURCE_OK },
			{ "b", "2", NULL, .state = STATE_HELD, .source = SOURCE_OK }, true },
		/* one name, and nothing against it */
		{ { "a", "1", "10.0.0.1", .state = STATE_HELD, .source = SOURCE_OK },
			{ "a.example.net", "2", NULL, .state = STATE_HELD, .source = SOURCE_OK },
			false },
		/* one name at two addresses */
		{ { "a", "1", "10.0.0.1", .state = STATE_HELD, .source = SOURCE_OK },
			{ "a", "2", "10.0.0.2", .state = STATE_HELD, .source = SOURCE_OK }, true },
		/* one session holds both */
		{ { "a", "4711@5", NULL, .state = STATE_HELD, .source = SOURCE_OK },
			{ "b", "4711@5", NULL, .state = STATE_HELD, .source = SOURCE_OK }, false },
		/* one system names the address, the other is at it */
		{ { "worker", "1", "10.0.0.1", .state = STATE_HELD, .source = SOURCE_OK },
			{ "10.0.0.1:8080", "2", NULL, .state = STATE_HELD, .source = SOURCE_OK },
			false },
		/* a socket is no address */
		{ { "a", "1", "local", .state = STATE_HELD, .source = SOURCE_OK },
			{ "local", "2", NULL, .state = STATE_HELD, .source = SOURCE_OK }, true },
		/* what can't be read now is no evidence of now */
		{ { "a", "1", NULL, .state = STATE_HELD, .source = SOURCE_FAILING },
			{ "b", "2", NULL, .state = STATE_HELD, .source = SOURCE_OK }, false },
		{ { "a", "1", NULL, .state = STATE_HELD, .source = SOURCE_OK },
			{ NULL, NULL, NULL, .state = STATE_FREE, .source = SOURCE_OK }, false },
		{ { "a", "1", NULL, .state = STATE_HELD, .source = SOURCE_OK },
			{ "prepared:tx", "2", NULL, .state = STATE_ORPHAN, .source = SOURCE_OK,
				.prepared = true },
			false },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool duplicate = judge(&cases[i].x, &cases[i].y) == STATE_DUPLICATE;

		if (duplicate != cases[i].duplicate ||
			verdict_has(&verdict, FINDING_DUP_HOLDER) != duplicate ||
			(duplicate && !verdict.v.needs_attention))
			fail_msg("case %zu: DUPLICATE is %d", i, duplicate);
		assert_int_equal(judge(&cases[i].y, &cases[i].x) == STATE_DUPLICATE, duplicate);
	}
}

static void the_worst_that_can_be_read(void **state)
{
	struct side held = { "a", "1", NULL, .state = STATE_HELD, .source = SOURCE_OK };
	struct side stale = { "a", "1", NULL, .state = STATE_STALE, .source = SOURCE_OK };
	struct side none = { .absent = true, .source = SOURCE_OK };

	(void)state;
	assert_int_equal(judge(&held, &stale), STATE_STALE);
	assert_int_equal(judge(&none, &held), STATE_HELD);
	stale.source = SOURCE_FAILING;
	assert_int_equal(judge(&held, &stale), STATE_HELD);
	held.source = SOURCE_CONNECTING;
	assert_int_equal(judge(&held, &stale), STATE_UNKNOWN);
	stale.source = SOURCE_DEGRADED;
	assert_int_equal(judge(&held, &stale), STATE_STALE);
}

static void no_mechanism_is_said_when_all_could_be_seen(void **state)
{
	struct side none = { .absent = true, .source = SOURCE_OK }, dark = none;

	(void)state;
	assert_int_equal(judge(&none, &none), STATE_FREE);
	assert_true(verdict_has(&verdict, FINDING_NO_MECHANISM));
	assert_false(verdict.v.needs_attention);
	dark.source = SOURCE_FAILING;
	assert_int_equal(judge(&none, &dark), STATE_UNKNOWN);
	assert_false(verdict_has(&verdict, FINDING_NO_MECHANISM));
}

/* What can't be seen may be held. */
static void a_role_is_not_free_by_what_is_hidden(void **state)
{
	struct side none = { .absent = true, .source = SOURCE_OK }, dark = none;
	struct side vacant = { .state = STATE_FREE, .source = SOURCE_OK };
	struct side held = { "a", "1", NULL, .state = STATE_HELD, .source = SOURCE_OK };

	(void)state;
	dark.hides = "2";
	assert_int_equal(judge(&none, &dark), STATE_UNKNOWN);
	assert_int_equal(judged->v.n_findings, 1);
	assert_int_equal(judged->v.findings[0].code, FINDING_HIDDEN);
	assert_int_equal(judged->v.findings[0].severity, SEVERITY_WARN);
	assert_string_equal(judged->v.findings[0].text,
		"Whether anybody holds s/2 can't be told. Hidden from us: Leases in ops.");
	assert_string_equal(judged->v.findings[0].advice, "To see it: a Role.");
	assert_true(judged->v.needs_attention);
	assert_int_equal(judge(&vacant, &dark), STATE_UNKNOWN);
	/* It is known to be held; that there is no second holder is not. */
	assert_int_equal(judge(&held, &dark), STATE_HELD);
	assert_int_equal(judged->v.findings[0].code, FINDING_HIDDEN);
	assert_int_equal(judged->v.findings[0].severity, SEVERITY_INFO);
	/* Other rows are hidden: this one would be seen. */
	dark.hides = "3";
	assert_int_equal(judge(&vacant, &dark), STATE_FREE);
	assert_int_equal(judge(&none, &dark), STATE_FREE);
	dark.source = SOURCE_FAILING;
	assert_int_equal(judge(&vacant, &dark), STATE_UNKNOWN);
}

/* A standby shows no lock of the primary. */
static void a_role_is_not_free_by_what_a_standby_shows(void **state)
{
	struct side away = { .absent = true, .source = SOURCE_OK, .standby = true };
	struct side vacant = { .state = STATE_FREE, .source = SOURCE_OK }, behind = vacant;
	struct side held = { "a", "1", NULL, .state = STATE_HELD, .source = SOURCE_OK };
	struct side misrouted = held;

	(void)state;
	behind.standby = misrouted.standby = true;
	assert_int_equal(judge(&vacant, &away), STATE_UNKNOWN);
	assert_int_equal(judged->v.n_findings, 1);
	assert_int_equal(judged->v.findings[0].code, FINDING_ON_STANDBY);
	assert_int_equal(judged->v.findings[0].severity, SEVERITY_WARN);
	assert_true(judged->v.needs_attention);
	assert_int_equal(sights[0], SIGHT_THERE);
	assert_int_equal(sights[1], SIGHT_STANDBY);
	assert_int_equal(judge(&away, &away), STATE_UNKNOWN);
	/* Also of a table's row, which comes late. */
	assert_int_equal(judge(&vacant, &behind), STATE_UNKNOWN);
	assert_int_equal(judge(&held, &away), STATE_HELD);
	assert_int_equal(judged->v.findings[0].severity, SEVERITY_INFO);
	assert_int_equal(judge(&vacant, &misrouted), STATE_HELD);
	assert_int_equal(judged->v.findings[0].code, FINDING_ON_STANDBY);
	assert_int_equal(sights[1], SIGHT_THERE);
}

/* That work is switched off is known only where all could be seen. */
static void a_role_is_not_suspended_by_what_is_hidden(void **state)
{
	struct side off = { .state = STATE_SUSPENDED, .source = SOURCE_OK };
	struct side dark = { .absent = true, .source = SOURCE_OK, .hides = "2" };

	(void)state;
	assert_int_equal(judge(&off, &dark), STATE_UNKNOWN);
	assert_int_equal(sights[1], SIGHT_HIDDEN);
	dark.hides = NULL;
	assert_int_equal(judge(&off, &dark), STATE_SUSPENDED);
	assert_int_equal(sights[1], SIGHT_ABSENT);
	dark.source = SOURCE_FAILING;
	assert_int_equal(judge(&off, &dark), STATE_UNKNOWN);
	assert_int_equal(sights[1], SIGHT_UNREAD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(harm_has_words),
		cmocka_unit_test(the_role_of_a_witness),
		cmocka_unit_test(fit_says_only_what_the_config_says),
		cmocka_unit_test(two_holders_are_two_by_evidence_only),
		cmocka_unit_test(the_worst_that_can_be_read),
		cmocka_unit_test(no_mechanism_is_said_when_all_could_be_seen),
		cmocka_unit_test(a_role_is_not_free_by_what_is_hidden),
		cmocka_unit_test(a_role_is_not_free_by_what_a_standby_shows),
		cmocka_unit_test(a_role_is_not_suspended_by_what_is_hidden),
	};

	return cmocka_run_group_tests(tests, make_draft, free_draft);
}
