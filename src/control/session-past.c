#include "config.h"

#include "control/session-events.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "control/session.h"

#include <stdlib.h>
#include <string.h>

/* What is remembered of the last days, and what went on while nobody looked. */

#define SAME_US INT64_C(2000000) /* what the memory and the history tell of one moment */

enum {
	FIRST_MOST = 256, /* findings of a first picture that are remembered */
};

/* Until when the holder before is known to have held it, where another is seen in its place. */
static void note_last_seen(struct session *s, const char *id)
{
	const struct remembered *r = memory_find(&s->memory, id);
	const struct remembered_past *p = r ? r->past : NULL;
	struct event *e;
	struct str text;

	if (!p || !p->previous_identity || p->previous_seen_us == TIME_UNKNOWN)
		return;
	str_init(&text, 16384);
	str_addf(&text, "%s was last seen to hold it", p->previous_identity);
	e = event_held(p->previous_seen_us, 0, s->config->name, id, "seen", text.s, EVENT_LAST_SEEN,
		p->previous_identity, NULL);
	history_add(&s->history, e);
	free(e);
	str_release(&text);
}

void session_event_between(
	struct session *s, const struct row *row, const struct observed *observed)
{
	const struct singleton *facts = row->s;
	const struct claim *holder = singleton_holder(facts);
	struct event *e;
	struct str text;

	if (!observed->changed_hands || !holder || !s->file.path ||
		facts->mechanism == MECH_K8S_CRONJOB)
		return;
	note_last_seen(s, facts->id);
	str_init(&text, 16384);
	str_addf(&text, "%s holds it; %s held it when it was last looked at",
		claim_identity(holder), observed->before);
	session_event_tokens(&text, facts, observed);
	e = event_held(clock_wall_us(s->shared->clock), facts->has_token ? facts->token : 0,
		s->config->name, facts->id, "hand-over", text.s, EVENT_SEEN, claim_identity(holder),
		claim_key(holder));
	str_release(&text);
	history_add(&s->history, e);
	/* A command that looks once tells the past of what it was asked for. */
	if (s->shared->one_shot)
		free(e);
	else
		s->shared->event(s->shared->arg, e);
}

/* ---- what is remembered ---- */

static bool begins_hold(enum event_hold hold)
{
	return hold == EVENT_TOOK || hold == EVENT_SEEN;
}

/* Whether the history, which is in the order of time, tells that this holder began then. */
static bool history_begins(
	const struct history *h, const char *id, const char *identity, int64_t at_us)
{
	size_t i = 0, end = h->n;

	while (i < end) {
		size_t middle = i + (end - i) / 2;

		if (clock_minus(at_us, h->at[middle]->at_us) > SAME_US)
			i = middle + 1;
		else
			end = middle;
	}
	for (; i < h->n && clock_minus(h->at[i]->at_us, at_us) <= SAME_US; i++)
		if (begins_hold(h->at[i]->hold) && strcmp(h->at[i]->holder, identity) == 0 &&
			strcmp(h->at[i]->id, id) == 0)
			return true;
	return false;
}

void session_event_before(struct session *s, const char *id, const struct observed *observed)
{
	const struct remembered *r = memory_find(&s->memory, id);
	struct event *e;
	struct str text;

	/* Who took it after the first picture was told of then. */
	if (!(observed->freed || observed->changed_hands || observed->new_session) ||
		!observed->before[0] || observed->before_since_us > s->first_us ||
		history_begins(&s->history, id, observed->before, observed->before_since_us))
		return;
	str_init(&text, 16384);
	str_addf(&text, "%s was first seen %s", observed->before,
		r && r->mechanism == MECH_PROCESS ? "there" : "to hold it");
	e = event_held(observed->before_since_us, 0, s->config->name, id, "seen", text.s,
		EVENT_SEEN, observed->before, NULL);
	e->late = true;
	str_release(&text);
	session_event_send(s, e);
}

/* Nobody looked since: until when the holder was seen, so that no chart goes on with it. */
static void tell_until(struct session *s, const struct event *last)
{
	const struct remembered *r = memory_find(&s->memory, last->id);
	const char *identity = r ? remembered_identity(r) : NULL;
	struct event *e;
	struct str text;

	if (!begins_hold(last->hold) || !identity || !last->holder ||
		strcmp(identity, last->holder) != 0)
		return;
	str_init(&text, 16384);
	str_addf(&text, "%s was %s", identity,
		r->held ? "last seen to hold it" : "seen to hold it no more");
	e = event_held(r->held ? r->last_seen_us : r->last_change_us, 0, s->config->name, r->id,
		r->held ? "seen" : "released", text.s, r->held ? EVENT_LAST_SEEN : EVENT_LET_GO,
		identity, NULL);
	e->remembered = true;
	s->shared->event(s->shared->arg, e);
	str_release(&text);
}

void session_event_history(struct session *s)
{
	const struct history *h = &s->history;
	size_t i = h->n > JOURNAL_REMEMBERED ? h->n - JOURNAL_REMEMBERED : 0, pos = 0;
	struct map_entry *entry;
	struct map last;

	map_init(&last);
	for (; i < h->n; i++) {
		s->shared->event(s->shared->arg, event_copy(h->at[i]));
		if (h->at[i]->hold != EVENT_NO_HOLD)
			map_put(&last, h->at[i]->id, strlen(h->at[i]->id), h->at[i]);
	}
	while ((entry = map_next(&last, &pos)) != NULL)
		tell_until(s, entry->value);
	map_release(&last);
}

/* Of one singleton, collected to be told in the order of time. */
struct telling {
	struct session *s;
	const char *id;
	struct event *events[HISTORY_EACH * 2 + 8];
	size_t n;
};

static void tell_history(struct telling *t)
{
	const struct history *h = &t->s->history;
	size_t i;

	for (i = 0; i < h->n && t->n < HISTORY_EACH * 2; i++)
		if (strcmp(h->at[i]->id, t->id) == 0)
			t->events[t->n++] = event_copy(h->at[i]);
}

/* Whether the history tells that this holder began, or ended, then. */
static bool is_told(
	const struct telling *t, int64_t at_us, enum event_hold hold, const char *identity)
{
	size_t i;

	for (i = 0; i < t->n; i++) {
		const struct event *e = t->events[i];

		if (e->holder && begins_hold(e->hold) == begins_hold(hold) &&
			strcmp(e->holder, identity) == 0 &&
			llabs(clock_minus(e->at_us, at_us)) <= SAME_US)
			return true;
	}
	return false;
}

static void tell_past(struct telling *t, int64_t at_us, const char *what, enum event_hold hold,
	const char *identity, const char *did)
{
	struct str text;

	if (at_us != TIME_UNKNOWN && is_told(t, at_us, hold, identity))
		return;
	str_init(&text, 16384);
	str_addf(&text, "%s %s", identity, did);
	t->events[t->n++] =
		event_held(at_us, 0, t->s->config->name, t->id, what, text.s, hold, identity, NULL);
	str_release(&text);
}

static void tell_previous(struct telling *t, const struct remembered_past *p)
{
	tell_past(t, p->previous_since_us, "seen", EVENT_SEEN, p->previous_identity,
		"was first seen to hold it");
	if (p->previous_seen_us != TIME_UNKNOWN)
		tell_past(t, p->previous_seen_us, "seen", EVENT_LAST_SEEN, p->previous_identity,
			"was last seen to hold it");
	else
		tell_past(t, p->previous_until_us, "released", EVENT_LET_GO, p->previous_identity,
			"was seen to hold it no more");
}

static void tell_remembered(struct telling *t, const struct remembered *r)
{
	const struct remembered_past *p = r->past;
	const char *identity = remembered_identity(r);

	if (p && p->previous_identity)
		tell_previous(t, p);
	if (!identity)
		return;
	tell_past(t, r->holder_since_us, p && p->previous_identity ? "hand-over" : "seen",
		EVENT_SEEN, identity, "was first seen to hold it");
	if (!r->held)
		tell_past(t, r->last_change_us, "released", EVENT_LET_GO, identity,
			"was seen to hold it no more");
}

/* Few, and mostly in order; of one time they stay as they are. */
static void tell_in_order(struct telling *t)
{
	size_t i, k;

	for (i = 1; i < t->n; i++) {
		struct event *e = t->events[i];

		for (k = i; k > 0 && t->events[k - 1]->at_us > e->at_us; k--)
			t->events[k] = t->events[k - 1];
		t->events[k] = e;
	}
	for (i = 0; i < t->n; i++)
		t->s->shared->event(t->s->shared->arg, t->events[i]);
}

void session_event_past(struct session *s, const struct remembered *r)
{
	struct telling t = { .s = s, .id = r->id };

	tell_history(&t);
	/* Its runs tell their own times. */
	if (r->mechanism != MECH_K8S_CRONJOB)
		tell_remembered(&t, r);
	tell_in_order(&t);
}

/* ---- findings that began or ended while nobody looked ---- */

struct told_finding {
	char *key; /* id, tab, code */
	const struct event *event;
	bool open; /* begun, and not ended */
	bool found;
};

/* The findings that the history tells of, by their keys. */
struct told_findings {
	struct map map;
	struct told_finding *at;
	size_t n;
};

static char *finding_key(const char *id, const char *code)
{
	struct str key;

	str_init(&key, 16384);
	str_addf(&key, "%s\t%s", id, code);
	return str_take(&key);
}

static void told_findings_init(struct told_findings *told, const struct history *h)
{
	char code[HISTORY_CODE_MAX];
	size_t i;

	map_init(&told->map);
	told->at = xcalloc(h->n, sizeof(*told->at));
	for (told->n = i = 0; i < h->n; i++) {
		const struct event *e = h->at[i];
		struct told_finding *f;
		char *key;

		if (!history_code(e, code))
			continue;
		key = finding_key(e->id, code);
		f = map_get(&told->map, key, strlen(key));
		if (f) {
			free(key);
		} else {
			f = &told->at[told->n++];
			f->key = key;
			map_put(&told->map, key, strlen(key), f);
		}
		f->event = e;
		f->open = strcmp(e->what, "finding") == 0;
	}
}

static void told_findings_release(struct told_findings *told)
{
	map_release(&told->map);
	while (told->n)
		free(told->at[--told->n].key);
	free(told->at);
}

/* A finding that stands there now: what the history does not tell yet, it is told. Returns whether
 * it was new. */
static bool note_finding(struct session *s, struct told_findings *told, const char *id,
	const struct finding *finding)
{
	char *key = finding_key(id, finding_word(finding->code)->word);
	struct told_finding *f = map_get(&told->map, key, strlen(key));
	struct event *e;
	struct str text;

	free(key);
	if (f)
		f->found = true;
	if (f && f->open)
		return false;
	str_init(&text, 16384);
	str_addf(&text, "%s: %s", finding_word(finding->code)->word, finding->text);
	e = session_event_now(s, id, 0, "finding", text.s);
	history_add(&s->history, e);
	free(e);
	str_release(&text);
	return true;
}

static void note_over(struct session *s, const struct told_finding *f)
{
	char code[HISTORY_CODE_MAX];
	struct event *e;
	struct str text;

	if (!f->open || f->found || !history_code(f->event, code))
		return;
	str_init(&text, 16384);
	str_addf(&text, "%s is over: it was not found any more when it was looked at again", code);
	e = session_event_now(s, f->event->id, 0, "cleared", text.s);
	str_release(&text);
	history_add(&s->history, e);
	if (s->shared->one_shot)
		free(e);
	else
		s->shared->event(s->shared->arg, e);
}

void session_event_first(struct session *s, bool complete)
{
	struct told_findings told;
	size_t i, k, news = 0;

	if (!s->file.path)
		return;
	/* Nothing of it is forgotten while it is looked at. */
	history_trim(&s->history, clock_wall_us(s->shared->clock));
	told_findings_init(&told, &s->history);
	for (i = 0; i < s->picture.n; i++) {
		const struct row *row = s->picture.slots[i].row;

		for (k = 0; row && k < row->v.n_findings && news < FIRST_MOST; k++)
			if (row->v.findings[k].severity != SEVERITY_INFO)
				news += note_finding(s, &told, row->s->id, &row->v.findings[k]);
	}
	/* Of what is beyond the bound nobody knows whether it is over. */
	for (i = 0; complete && news < FIRST_MOST && i < told.n; i++)
		note_over(s, &told.at[i]);
	told_findings_release(&told);
}
