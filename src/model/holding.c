#include "config.h"

#include "model/holding.h"
#include "base/clock.h"

#include <string.h>

/* The making of a holding: what was known last. */
struct telling {
	struct holding *h;
	struct holding_row *open; /* who holds it, as told so far; NULL: nobody, or not known */
	int64_t since_us;         /* since when */
	int64_t dark_us;          /* since when nobody knows; TIME_UNKNOWN: known */
};

static void add_span(struct holding_span *spans, size_t *n, struct holding_span span)
{
	if (span.from_us >= span.to_us)
		return;
	if (*n == HOLDING_SPANS) {
		memmove(spans, spans + 1, (HOLDING_SPANS - 1) * sizeof(*spans));
		--*n;
	}
	spans[(*n)++] = span;
}

/* The row of an identity; the first one goes where there are too many. */
static struct holding_row *row_of(struct telling *t, const char *identity)
{
	struct holding *h = t->h;
	size_t i;

	for (i = 0; i < h->n; i++)
		if (strcmp(h->rows[i].identity, identity) == 0)
			return &h->rows[i];
	if (h->n == HOLDING_ROWS) {
		memmove(h->rows, h->rows + 1, (HOLDING_ROWS - 1) * sizeof(*h->rows));
		h->n--;
		if (t->open)
			t->open = t->open == h->rows ? NULL : t->open - 1;
	}
	h->rows[h->n] = (struct holding_row){ .identity = identity, .waits_us = TIME_UNKNOWN };
	return &h->rows[h->n++];
}

static void dark_until(struct telling *t, int64_t at_us)
{
	if (t->dark_us != TIME_UNKNOWN)
		add_span(t->h->dark, &t->h->n_dark,
			(struct holding_span){ .from_us = t->dark_us, .to_us = at_us });
	t->dark_us = TIME_UNKNOWN;
}

static void let_go(struct telling *t, int64_t at_us)
{
	if (t->open)
		add_span(t->open->spans, &t->open->n,
			(struct holding_span){ .from_us = t->since_us, .to_us = at_us });
	t->open = NULL;
}

static void took(struct telling *t, const char *identity, int64_t at_us)
{
	struct holding_row *row;

	if (t->open && strcmp(t->open->identity, identity) == 0)
		return;
	let_go(t, at_us);
	dark_until(t, at_us);
	row = row_of(t, identity);
	t->open = row;
	t->since_us = at_us;
}

static void tell_event(struct telling *t, const struct event *e)
{
	switch (e->hold) {
	case EVENT_TOOK:
	case EVENT_SEEN:
		took(t, e->holder, e->at_us);
		break;
	case EVENT_LAST_SEEN:
		let_go(t, e->at_us);
		t->dark_us = e->at_us;
		break;
	case EVENT_LET_GO:
		let_go(t, e->at_us);
		dark_until(t, e->at_us);
		break;
	default:
		break;
	}
}

/* A holder of the picture has held it since it was first seen to, whatever the events say. */
static void tell_holder(struct telling *t, const struct claim *c, const struct row *row,
	int64_t seen_us, int64_t now_us, int64_t end_us)
{
	struct holding_row *to = row_of(t, claim_identity(c));
	int64_t since = t->open == to ? t->since_us : row->v.first_seen_us,
		started = claim_int(c, DETAIL_STARTED, TIME_UNKNOWN);
	int64_t known = end_us != TIME_UNKNOWN && end_us < seen_us ? end_us : seen_us;

	if (since == TIME_UNKNOWN || since > seen_us)
		since = seen_us;
	/* A process of the built-in fleet says itself since when it runs. */
	if (started != TIME_UNKNOWN && started < since)
		since = started;
	dark_until(t, since);
	to->holds = true;
	add_span(to->spans, &to->n, (struct holding_span){ .from_us = since, .to_us = known });
	add_span(to->spans, &to->n,
		(struct holding_span){
			.from_us = known > since ? known : since, .to_us = now_us, .doubt = true });
}

static void tell_waiters(struct telling *t, const struct row *row)
{
	const struct claim *c;
	uint32_t pos = 0;

	while ((c = singleton_claim(row->s, CLAIM_WAITER, &pos)) && t->h->n < HOLDING_ROWS) {
		struct holding_row *to = row_of(t, claim_identity(c));

		to->waits = true;
		to->waits_us = claim_int(c, DETAIL_WAIT_START, TIME_UNKNOWN);
	}
}

/* Ends what was told of one that the picture does not show as a holder. */
static void end_former(struct telling *t, const struct row *row, int64_t seen_us)
{
	const struct claim *c;
	uint32_t pos = 0;

	while (t->open && (c = singleton_claim(row->s, CLAIM_HOLDER, &pos)))
		if (strcmp(claim_identity(c), t->open->identity) == 0)
			return;
	let_go(t, row->v.state_since_us != TIME_UNKNOWN ? row->v.state_since_us : seen_us);
}

void holding_make(struct holding *h, const struct event *const *events, size_t n,
	const struct row *row, int64_t from_us, int64_t seen_us, int64_t now_us,
	int64_t lease_end_us)
{
	struct telling t = { .h = h, .dark_us = from_us };
	const struct claim *c;
	uint32_t pos = 0;
	size_t i;

	h->n = h->n_dark = 0;
	h->untimed = false;
	for (i = 0; i < n; i++) {
		if (events[i]->at_us == TIME_UNKNOWN)
			h->untimed = true;
		else if (events[i]->holder)
			tell_event(&t, events[i]);
	}
	end_former(&t, row, seen_us);
	while ((c = singleton_claim(row->s, CLAIM_HOLDER, &pos)) && pos <= HOLDING_ROWS)
		tell_holder(&t, c, row, seen_us, now_us, lease_end_us);
	if (!singleton_holder(row->s))
		dark_until(&t, row->v.state_since_us);
	tell_waiters(&t, row);
}

int64_t holding_lease_end_us(const struct row *row, int64_t now_ms, int64_t now_us)
{
	int64_t deadline = row->s->lease_deadline_ms;

	if (row->v.state != STATE_STALE || deadline == TIME_UNKNOWN || deadline > now_ms)
		return TIME_UNKNOWN;
	return now_us - clock_minus(now_ms, deadline) * 1000;
}
