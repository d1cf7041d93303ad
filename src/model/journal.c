#include "config.h"

#include "model/journal.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "model/singleton.h"

#include <stdlib.h>
#include <string.h>

/* Copies a text to *at, which moves behind it; NULL stays NULL. */
static const char *place(char **at, const char *text)
{
	char *to = *at;
	size_t size;

	if (!text)
		return NULL;
	size = strlen(text) + 1;
	memcpy(to, text, size);
	*at += size;
	return to;
}

static size_t room(const char *text)
{
	return text ? strlen(text) + 1 : 0;
}

static struct event *event_make(int64_t at_us, int64_t token, const char *source, const char *id,
	const char *what, const char *text, enum event_hold hold, const char *holder,
	const char *key)
{
	struct event *e = xmalloc(sizeof(*e) + room(source) + room(id) + room(what) + room(text) +
				  room(holder) + room(key));
	char *at = (char *)(e + 1);

	e->seq = 0;
	e->at_us = at_us;
	e->token = token;
	e->source = place(&at, source);
	e->id = place(&at, id);
	e->what = place(&at, what);
	e->text = place(&at, text);
	e->hold = hold;
	e->holder = place(&at, holder);
	e->key = place(&at, key);
	e->remembered = e->late = false;
	return e;
}

/* What a source tells is plain; what a file remembers of it is anybody's. */
struct event *event_held(int64_t at_us, int64_t token, const char *source, const char *id,
	const char *what, const char *text, enum event_hold hold, const char *holder,
	const char *key)
{
	struct str clean[3];
	struct event *e = event_make(at_us, token, source, id, what,
		text_make_plain(&clean[0], text, SIZE_MAX), hold,
		text_make_plain(&clean[1], holder, SIZE_MAX),
		text_make_plain(&clean[2], key, SIZE_MAX));
	size_t i;

	for (i = 0; i < ARRAY_LEN(clean); i++)
		str_release(&clean[i]);
	return e;
}

struct event *event_new(int64_t at_us, int64_t token, const char *source, const char *id,
	const char *what, const char *text)
{
	return event_held(at_us, token, source, id, what, text, EVENT_NO_HOLD, NULL, NULL);
}

struct event *event_copy(const struct event *e)
{
	struct event *copy = event_held(
		e->at_us, e->token, e->source, e->id, e->what, e->text, e->hold, e->holder, e->key);

	copy->seq = e->seq;
	copy->remembered = e->remembered;
	copy->late = e->late;
	return copy;
}

static bool happened_after(const struct event *a, const struct event *b)
{
	if (a->at_us != TIME_UNKNOWN && b->at_us != TIME_UNKNOWN)
		return a->at_us > b->at_us;
	return a->at_us == b->at_us && a->token && b->token && a->token > b->token &&
	       strcmp(a->source, b->source) == 0;
}

/* Whether one can tell which of the two came first. */
static bool is_comparable(const struct event *a, const struct event *b)
{
	return happened_after(a, b) || happened_after(b, a);
}

void events_order(const struct event **events, size_t n)
{
	size_t i, k, place;

	for (i = 1; i < n; i++) {
		const struct event *e = events[i];

		if (!e->late)
			continue;
		for (place = k = i; k > 0; k--) {
			if (happened_after(events[k - 1], e))
				place = k - 1;
			else if (is_comparable(events[k - 1], e))
				break;
		}
		memmove(events + place + 1, events + place, (i - place) * sizeof(*events));
		events[place] = e;
	}
}

void journal_init(struct journal *j, size_t cap)
{
	*j = (struct journal){ .cap = cap ? cap : 1 };
	j->events = xcalloc(j->cap, sizeof(*j->events));
}

void journal_release(struct journal *j)
{
	size_t i;

	for (i = 0; i < j->n; i++)
		free(j->events[(j->first + i) % j->cap]);
	free(j->events);
	*j = (struct journal){ 0 };
}

void journal_add(struct journal *j, struct event *event)
{
	size_t slot = (j->first + j->n) % j->cap;

	event->seq = ++j->seq;
	if (j->n == j->cap) {
		free(j->events[slot]);
		j->first = (j->first + 1) % j->cap;
	} else {
		j->n++;
	}
	j->events[slot] = event;
}

static struct event **journal_slot(struct journal *j, size_t i)
{
	return &j->events[(j->first + i) % j->cap];
}

void journal_add_remembered(struct journal *j, struct event *event)
{
	size_t m = 0, place = 0, i;

	for (; m < j->n && journal_at(j, m)->remembered; m++)
		if (journal_at(j, m)->at_us <= event->at_us)
			place = m + 1;
	if (j->n == j->cap || m == JOURNAL_REMEMBERED) {
		/* The oldest of them gives way, if there is one that is older. */
		if (!place) {
			free(event);
			return;
		}
		free(*journal_slot(j, 0));
		for (i = 1; i < place; i++)
			*journal_slot(j, i - 1) = *journal_slot(j, i);
		place--;
	} else {
		for (i = j->n++; i > place; i--)
			*journal_slot(j, i) = *journal_slot(j, i - 1);
		m++;
	}
	*journal_slot(j, place) = event;
	for (i = 0; i < m; i++)
		(*journal_slot(j, i))->seq = JOURNAL_REMEMBERED - m + 1 + i;
}

const struct event *journal_at(const struct journal *j, size_t i)
{
	return j->events[(j->first + i) % j->cap];
}

struct journal journal_until(const struct journal *j, uint64_t seq)
{
	struct journal part = *j;

	if (seq < j->seq) {
		part.n -= j->seq - seq < j->n ? (size_t)(j->seq - seq) : j->n;
		part.seq = seq;
	}
	return part;
}
