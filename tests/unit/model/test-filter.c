#include "config.h"

#include "../unit.h"
#include "base/err.h"
#include "base/str.h"
#include "model/draft.h"
#include "model/filter.h"

#include <stdlib.h>
#include <string.h>

#define NOW_US INT64_C(1767362570000000)

static struct row *make_row(void)
{
	struct draft *d = draft_new();
	struct verdict_draft v;
	struct row *row;

	verdict_draft_init(&v);
	draft_begin(d, MECH_PG_ADVISORY, "orders", "app:-42", 7);
	draft_name(d, "billing-close");
	draft_token(d, TOKEN_CREATE_REVISION, 1482);
	draft_lease(d, 15000, 7000, 0);
	draft_claim(d, CLAIM_HOLDER, "Worker-1", 8, "1@1");
	draft_claim(d, CLAIM_WAITER, "worker-2", 8, "2@2");
	draft_int(d, DETAIL_WAIT_START, NOW_US - 90000000);
	v.v.state = STATE_STUCK;
	v.v.needs_attention = true;
	v.role = "close-books";
	v.v.state_since_us = NOW_US - 41 * 60000000LL;
	verdict_add(&v, FINDING_IDLE_HOLDER, SEVERITY_WARN, TIME_UNKNOWN, "idle");
	row = row_new(draft_finish(d), &v);
	verdict_draft_release(&v);
	draft_free(d);
	return row;
}

static bool matches(const char *text)
{
	struct snapshot snap = { .source = "orders", .environment = "prod", .state = SOURCE_OK };
	struct row *row = make_row();
	struct filter_row in = {
		.row = row, .snap = &snap, .state = STATE_STUCK, .now_us = NOW_US
	};
	struct err err = { 0 };
	struct filter *f;
	bool result;

	if (filter_parse(text, &f, &err) < 0)
		fail_msg("\"%s\" is refused: %s", text, err.text);
	result = filter_match(f, &in);
	filter_free(f);
	row_unref(row);
	return result;
}

static void matching(void **state)
{
	static const struct {
		const char *text;
		bool match;
	} cases[] = {
		{ "", true },
		{ "APP:-42", true },
		{ "app:-42 billing", true },
		{ "app:-42 nothing", false },
		{ "worker-1", true }, /* holder, whatever the case */
		{ "worker-2", true }, /* waiter */
		{ "close-books", true },
		{ "!app", false },
		{ "!nothing", true },
		{ "state:stuck", true },
		{ "state:STU", true },
		{ "state:dup,stuck", true },
		{ "state:dup", false },
		{ "!state:held", true },
		{ "source:ord", true },
		{ "source:ctl", false },
		{ "env:prod", true },
		{ "env:lab", false },
		{ "mech:pg", true },
		{ "mech:etcd", false },
		{ "finding:idle", true },
		{ "finding:stale", false },
		{ "holder:worker-1", true },
		{ "holder:worker-2", false },
		{ "waiter:worker-2", true },
		{ "name:billing", true },
		{ "role:books", true },
		{ "id:orders/app", true },
		{ "is:need", true },
		{ "is:waited", true },
		{ "is:role", true },
		{ "is:source", false },
		{ "age>5m", true },
		{ "age>1h", false },
		{ "age<1h", true },
		{ "age>=41m", true },
		{ "age=41m", true },
		{ "wait>30s", true },
		{ "wait>2m", false },
		{ "wait=90", true }, /* a bare number is seconds */
		{ "lease<10s", true },
		{ "lease<5s", false },
		{ "token>1000", true },
		{ "token=1482", true },
		{ "token<=1481", false },
		{ "\"billing-close\"", true },
		{ "\"state:held\"", false }, /* quoted: plain text */
		{ "state:stuck age>5m !env:lab worker", true },
		{ "!", true }, /* half typed */
		{ "\"\"", true },
		{ "   ", true },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (matches(cases[i].text) != cases[i].match)
			fail_msg("\"%s\" %s", cases[i].text,
				cases[i].match ? "does not match" : "matches");
}

static void unknown_matches_no_comparison(void **state)
{
	static const char *const texts[] = { "age>1s", "age<9d", "wait>0s", "wait<9d", "lease>-9d",
		"lease<9d", "token>0", "token<0", "token=0" };
	struct draft *d = draft_new();
	struct verdict_draft v;
	struct filter_row in = { .state = STATE_FREE, .now_us = NOW_US };
	struct row *row;
	size_t i;

	(void)state;
	verdict_draft_init(&v);
	draft_begin(d, MECH_ETCD_LOCK, "ctl", "x", 1);
	row = row_new(draft_finish(d), &v);
	in.row = row;
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct filter *f;

		assert_int_equal(filter_parse(texts[i], &f, NULL), 0);
		if (filter_match(f, &in))
			fail_msg("%s matches what is unknown", texts[i]);
		filter_free(f);
	}
	row_unref(row);
	verdict_draft_release(&v);
	draft_free(d);
}

static void errors_name_the_word(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "state:h,zzz", "zzz" },
		{ "state:", "needs a value" },
		{ "state:s", "state:s" }, /* STALE, STUCK, SUSPENDED */
		{ "stat:dup", "did you mean state" },
		{ "sorce:x", "did you mean source" },
		{ "age>5q", "duration" },
		{ "age>", "duration" },
		{ "age:5m", "age: does not fit" },
		{ "token>x", "whole number" },
		{ "token>99999999999999999999", "whole number" },
		{ "source>x", "does not fit" },
		{ "is:nothing", "is:need" },
	};
	struct err err;
	struct filter *f;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		memset(&err, 0, sizeof(err));
		if (filter_parse(cases[i].text, &f, &err) >= 0)
			fail_msg("\"%s\" is taken", cases[i].text);
		if (!strstr(err.text, cases[i].says))
			fail_msg("\"%s\": %s", cases[i].text, err.text);
	}
}

static void caps_hold(void **state)
{
	char text[FILTER_TEXT_MAX + 10];
	struct filter *f;
	size_t i;

	(void)state;
	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	assert_true(filter_parse(text, &f, NULL) < 0);
	for (i = 0; i < 80; i++)
		memcpy(text + i * 2, "a ", 2);
	text[160] = '\0';
	assert_true(filter_parse(text, &f, NULL) < 0);
}

/* Times at the ends of 64 bits, as a broken or a hostile server may tell them. */
static void times_at_the_ends(void **state)
{
	static const int64_t ends[] = { INT64_MIN + 1, -1, 0, INT64_MAX };
	struct draft *d = draft_new();
	struct verdict_draft v;
	struct filter *f;
	size_t i;

	(void)state;
	verdict_draft_init(&v);
	assert_int_equal(filter_parse("age>1s lease<1s", &f, NULL), 0);
	for (i = 0; i < 4; i++) {
		struct filter_row in = { .state = STATE_HELD, .now_us = NOW_US, .now_ms = 1000000 };
		struct row *row;

		draft_begin(d, MECH_ETCD_LOCK, "ctl", "x", 1);
		draft_lease(d, ends[i], ends[i], 0);
		v.v.state_since_us = ends[i];
		row = row_new(draft_finish(d), &v);
		in.row = row;
		assert_int_equal(filter_match(f, &in), ends[i] < INT64_MAX);
		row_unref(row);
	}
	filter_free(f);
	verdict_draft_release(&v);
	draft_free(d);
}

static void completions(void **state)
{
	struct str out;

	(void)state;
	str_init(&out, 4096);
	filter_complete("st", &out);
	assert_string_equal(out.s, "state:\n");
	str_clear(&out);
	filter_complete("!state:s", &out);
	assert_string_equal(out.s, "!state:stale\n!state:stuck\n!state:suspended\n");
	str_clear(&out);
	filter_complete("ag", &out);
	assert_string_equal(out.s, "age>\n");
	str_clear(&out);
	filter_complete("nothing:x", &out);
	assert_string_equal(out.s, "");
	str_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(matching),
		cmocka_unit_test(unknown_matches_no_comparison),
		cmocka_unit_test(errors_name_the_word),
		cmocka_unit_test(caps_hold),
		cmocka_unit_test(times_at_the_ends),
		cmocka_unit_test(completions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
