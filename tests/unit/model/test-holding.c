#include "config.h"

#include "tests/unit/unit.h"

#include "base/mem.h"
#include "model/draft.h"
#include "model/holding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MINUTE_US INT64_C(60000000)
#define NOON_US   INT64_C(1767362400000000)

enum {
	EVENTS_MAX = 64
};

static int64_t at(double minutes)
{
	return NOON_US + (int64_t)(minutes * (double)MINUTE_US);
}

/* What happened, and what the picture shows; the chart is of the hour before noon. */
struct past {
	struct event *events[EVENTS_MAX];
	size_t n;
	struct draft *draft;
	struct verdict_draft verdict;
	int64_t lease_end_us, seen_us;
};

static void past_begin(struct past *p)
{
	*p = (struct past){ .draft = draft_new(), .lease_end_us = TIME_UNKNOWN, .seen_us = at(0) };
	draft_begin(p->draft, MECH_ETCD_ELECTION, "ctl", "a", 1);
	verdict_draft_init(&p->verdict);
	verdict_draft_begin(&p->verdict);
	p->verdict.v.state = STATE_HELD;
	p->verdict.v.first_seen_us = p->verdict.v.state_since_us = TIME_UNKNOWN;
}

static void event(struct past *p, double minutes, enum event_hold hold, const char *holder)
{
	p->events[p->n++] =
		event_held(at(minutes), 0, "ctl", "ctl/a", "hand-over", "", hold, holder, NULL);
}

static void holds(struct past *p, const char *identity, double first_seen)
{
	draft_claim(p->draft, CLAIM_HOLDER, identity, strlen(identity), identity);
	p->verdict.v.first_seen_us = at(first_seen);
}

static size_t spans(char *buf, size_t size, const struct holding_span *s, size_t n)
{
	size_t i, len = 0;

	for (i = 0; i < n; i++)
		len += (size_t)snprintf(buf + len, size - len, " %g:%g%s",
			(double)(s[i].from_us - NOON_US) / (double)MINUTE_US,
			(double)(s[i].to_us - NOON_US) / (double)MINUTE_US, s[i].doubt ? "?" : "");
	return len;
}

/* "a -60:-10, b* -10:0; dark -60:-50": who, a star on who holds it now, from when to when. */
static void expect(struct past *p, const char *wanted)
{
	struct row *row = row_new(draft_finish(p->draft), &p->verdict);
	char text[2048] = "";
	struct holding h;
	size_t i, len = 0;

	holding_make(&h, (const struct event *const *)p->events, p->n, row, at(-60), p->seen_us,
		at(0), p->lease_end_us);
	for (i = 0; i < h.n; i++) {
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s%s%s", i ? ", " : "",
			h.rows[i].identity, h.rows[i].holds ? "*" : "",
			h.rows[i].waits ? " waits" : "");
		len += spans(text + len, sizeof(text) - len, h.rows[i].spans, h.rows[i].n);
	}
	if (h.n_dark) {
		len += (size_t)snprintf(text + len, sizeof(text) - len, "; dark");
		spans(text + len, sizeof(text) - len, h.dark, h.n_dark);
	}
	assert_string_equal(text, wanted);
	row_unref(row);
	for (i = 0; i < p->n; i++)
		free(p->events[i]);
	draft_free(p->draft);
	verdict_draft_release(&p->verdict);
}

static void test_hand_over(void **state)
{
	struct past p;

	(void)state;
	past_begin(&p);
	event(&p, -90, EVENT_TOOK, "a");
	event(&p, -21, EVENT_TOOK, "b");
	holds(&p, "b", -21);
	draft_claim(p.draft, CLAIM_WAITER, "c", 1, "c");
	expect(&p, "a -90:-21, b* -21:0, c waits");
}

static void test_free_between(void **state)
{
	struct past p;

	(void)state;
	past_begin(&p);
	event(&p, -50, EVENT_TOOK, "a");
	event(&p, -40, EVENT_LET_GO, "a");
	event(&p, -30, EVENT_TOOK, "a");
	event(&p, -20, EVENT_LET_GO, "a");
	p.verdict.v.state_since_us = at(-20);
	/* While nobody held it, it was seen that nobody did. */
	expect(&p, "a -50:-40 -30:-20; dark -60:-50");
}

/* An earlier run of this program looked, and then nobody did. */
static void test_nobody_looked(void **state)
{
	struct past p;

	(void)state;
	past_begin(&p);
	event(&p, -55, EVENT_SEEN, "a");
	event(&p, -40, EVENT_LAST_SEEN, "a");
	event(&p, -10, EVENT_SEEN, "b");
	holds(&p, "b", -10);
	expect(&p, "a -55:-40, b* -10:0; dark -60:-55 -40:-10");
}

static void test_without_events(void **state)
{
	struct past p;

	(void)state;
	past_begin(&p);
	holds(&p, "a", -5);
	expect(&p, "a* -5:0; dark -60:-5");
	past_begin(&p);
	p.verdict.v.state_since_us = at(-7);
	expect(&p, "; dark -60:-7");
}

/* What says itself since when it runs is not first there when it was first seen. */
static void test_own_start(void **state)
{
	struct past p;

	(void)state;
	past_begin(&p);
	holds(&p, "a", -5);
	draft_int(p.draft, DETAIL_STARTED, at(-40));
	expect(&p, "a* -40:0; dark -60:-40");
	past_begin(&p);
	event(&p, -30, EVENT_SEEN, "a");
	holds(&p, "a", -30);
	draft_int(p.draft, DETAIL_STARTED, at(-2));
	expect(&p, "a* -30:0; dark -60:-30");
}

/* Past its lease, or when its source can't be read, nobody knows. */
static void test_doubt(void **state)
{
	struct past p;

	(void)state;
	past_begin(&p);
	event(&p, -90, EVENT_TOOK, "b");
	holds(&p, "b", -90);
	p.lease_end_us = at(-4);
	expect(&p, "b* -90:-4 -4:0?");
	past_begin(&p);
	event(&p, -90, EVENT_TOOK, "b");
	holds(&p, "b", -90);
	p.seen_us = at(-10);
	expect(&p, "b* -90:-10 -10:0?");
}

/* The same process with a new session goes on; one that the picture does not show ends. */
static void test_picture_decides(void **state)
{
	struct past p;

	(void)state;
	past_begin(&p);
	event(&p, -90, EVENT_TOOK, "a");
	event(&p, -30, EVENT_TOOK, "a");
	holds(&p, "a", -30);
	expect(&p, "a* -90:0");
	past_begin(&p);
	event(&p, -90, EVENT_TOOK, "a");
	p.verdict.v.state_since_us = at(-3);
	expect(&p, "a -90:-3");
}

static void test_bounded(void **state)
{
	char names[30][8];
	struct past p;
	int i;

	(void)state;
	past_begin(&p);
	for (i = 0; i < 30; i++) {
		snprintf(names[i], sizeof(names[i]), "n%02d", i);
		event(&p, i - 40, EVENT_TOOK, names[i]);
	}
	holds(&p, "n29", -11);
	/* The newest twelve. */
	expect(&p, "n18 -22:-21, n19 -21:-20, n20 -20:-19, n21 -19:-18, n22 -18:-17, n23 -17:-16, "
		   "n24 -16:-15, n25 -15:-14, n26 -14:-13, n27 -13:-12, n28 -12:-11, n29* -11:0; "
		   "dark -60:-40");
	past_begin(&p);
	for (i = 0; i < EVENTS_MAX; i++)
		event(&p, i - 64, i % 2 ? EVENT_LET_GO : EVENT_TOOK, "a");
	for (i = 0; i < 40; i++)
		draft_claim(p.draft, CLAIM_WAITER, names[i % 30], 3, "k");
	expect(&p, "a -64:-63 -62:-61 -60:-59 -58:-57 -56:-55 -54:-53 -52:-51 -50:-49 -48:-47 "
		   "-46:-45 -44:-43 -42:-41 -40:-39 -38:-37 -36:-35 -34:-33 -32:-31 -30:-29 "
		   "-28:-27 -26:-25 -24:-23 -22:-21 -20:-19 -18:-17 -16:-15 -14:-13 -12:-11 "
		   "-10:-9 -8:-7 -6:-5 -4:-3 -2:-1, n00 waits, n01 waits, n02 waits, n03 waits, "
		   "n04 waits, n05 waits, n06 waits, n07 waits, n08 waits, n09 waits, n10 waits");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hand_over),
		cmocka_unit_test(test_free_between),
		cmocka_unit_test(test_nobody_looked),
		cmocka_unit_test(test_without_events),
		cmocka_unit_test(test_own_start),
		cmocka_unit_test(test_doubt),
		cmocka_unit_test(test_picture_decides),
		cmocka_unit_test(test_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
