#include "config.h"

#include "control/debrief.h"
#include "base/mem.h"
#include "sim/process.h"
#include "sim/work.h"

#include <stdlib.h>
#include <string.h>

enum {
	BEFORE_MS = 60 * 1000, /* so much of what came before is shown, or more: */
	RHYTHM = 12,
	CROWD = 8,
	CROWD_MS = 10 * 1000,   /* more than that many of a kind within so long are told as one */
	BEFORE_MOST_MS = 300000 /* back to the first fault, but no more than this */
};

const char *account_end_word(enum account_end end)
{
	static const char *const words[] = { [ACCOUNT_OPEN] = "open",
		[ACCOUNT_RESTORED] = "restored",
		[ACCOUNT_LIMIT] = "limit",
		[ACCOUNT_FINISHED] = "finished" };

	return words[end];
}

int64_t debrief_after_ms(const struct debrief *d)
{
	bool restored = d->end == ACCOUNT_RESTORED && d->restored_ms >= 0;

	return (restored ? d->restored_ms : d->end_ms) - d->begins_ms;
}

void debrief_causes(const struct lesson *lesson, uint64_t causes, struct str *out)
{
	size_t i;

	for (i = 0; i < lesson->n_causes; i++)
		if (causes >> i & 1)
			str_addf(out, "%s%s", out->len ? " " : "", lesson->causes[i].text);
}

/* ---- bands ---- */

/* Since when something is so, while the story is read from its beginning. */
struct open_span {
	int64_t since_ms; /* -1: it is not */
	enum band_kind kind;
};

static struct band *band_new(struct debrief *d, const char *head, const char *label)
{
	struct band *b;

	if (d->n_bands == BANDS_MOST)
		return NULL;
	b = &d->bands[d->n_bands++];
	*b = (struct band){ .head = head ? xstrdup(head) : NULL, .label = xstrdup(label) };
	return b;
}

/* Takes a span in, as far as it lies in the window. */
static void band_add(
	struct debrief *d, struct band *b, int64_t from_ms, int64_t to_ms, enum band_kind kind)
{
	if (from_ms < d->from_ms)
		from_ms = d->from_ms;
	if (to_ms > d->end_ms)
		to_ms = d->end_ms;
	if (b && to_ms > from_ms && b->n < BAND_SPANS_MOST)
		b->spans[b->n++] = (struct band_span){ from_ms, to_ms, kind };
}

static void span_close(struct debrief *d, struct band *b, struct open_span *s, int64_t at_ms)
{
	if (s->since_ms >= 0)
		band_add(d, b, s->since_ms, at_ms, s->kind);
	s->since_ms = -1;
}

static void span_open(
	struct debrief *d, struct band *b, struct open_span *s, int64_t at_ms, enum band_kind kind)
{
	span_close(d, b, s, at_ms);
	*s = (struct open_span){ at_ms, kind };
}

static const struct happening *told(const struct debrief *d, struct world *w, size_t i)
{
	const struct happening *h = i < world_told(w) ? world_happening(w, i) : NULL;

	return h && h->at_ms <= d->end_ms ? h : NULL;
}

/* When one process believed that a duty is its own, and when nothing came of it: it stood still, or
 * its machine was cut off. */
static void worker_spans(
	struct debrief *d, struct world *w, struct band *b, const char *duty, const char *process)
{
	struct open_span s = { -1, BAND_WORK };
	bool believes = false, paused = false, unheard = false;
	const struct happening *h;
	size_t i;

	for (i = 0; (h = told(d, w, i)) != NULL; i++) {
		if (strcmp(h->who, process) != 0)
			continue;
		if (h->kind == HAPPENING_LEADS && strcmp(h->what, duty) == 0)
			believes = true;
		else if ((h->kind == HAPPENING_YIELDS && strcmp(h->what, duty) == 0) ||
			 h->kind == HAPPENING_ENDED)
			believes = false;
		else if (h->kind == HAPPENING_PAUSED || h->kind == HAPPENING_RESUMED)
			paused = h->kind == HAPPENING_PAUSED;
		else if ((h->kind == HAPPENING_UNHEARD || h->kind == HAPPENING_HEARD) &&
			 strcmp(h->what, duty) == 0)
			unheard = h->kind == HAPPENING_UNHEARD;
		else
			continue;
		if (h->kind == HAPPENING_ENDED)
			paused = false;
		if (!believes)
			unheard = false;
		span_close(d, b, &s, h->at_ms);
		if (believes)
			span_open(d, b, &s, h->at_ms, paused || unheard ? BAND_IDLE : BAND_WORK);
	}
	span_close(d, b, &s, d->end_ms);
}

/* Between two kinds of happenings of a duty. What holds until somebody first works holds from the
 * world's begin on. */
static void between(struct debrief *d, struct world *w, struct band *b, const char *duty,
	enum happening_kind begins, enum happening_kind ends, enum band_kind kind)
{
	struct open_span s = { begins == HAPPENING_VACANT ? 0 : -1, kind };
	const struct happening *h;
	size_t i;

	for (i = 0; (h = told(d, w, i)) != NULL; i++) {
		if (strcmp(h->what, duty) != 0)
			continue;
		if (h->kind == begins && s.since_ms < 0)
			span_open(d, b, &s, h->at_ms, kind);
		else if (h->kind == ends ||
			 (ends == HAPPENING_ALONE && h->kind == HAPPENING_VACANT))
			span_close(d, b, &s, h->at_ms);
	}
	span_close(d, b, &s, d->end_ms);
}

/* Whether somebody did so to something before that line of the story. */
static bool seen_before(
	struct world *w, size_t i, enum happening_kind kind, const char *who, const char *what)
{
	size_t k;

	for (k = 0; k < i; k++) {
		const struct happening *h = world_happening(w, k);

		if (h->kind == kind && strcmp(h->who, who) == 0 && strcmp(h->what, what) == 0)
			return true;
	}
	return false;
}

static void duty_bands(struct debrief *d, struct world *w, const char *duty)
{
	const struct happening *h;
	struct str head;
	bool first = true;
	size_t i;

	str_init(&head, 200);
	str_addf(&head, "%s: who did the work", duty);
	for (i = 0; (h = told(d, w, i)) != NULL; i++) {
		if (h->kind != HAPPENING_LEADS || strcmp(h->what, duty) != 0 ||
			seen_before(w, i, HAPPENING_LEADS, h->who, duty))
			continue;
		worker_spans(d, w, band_new(d, first ? head.s : NULL, h->who), duty, h->who);
		first = false;
	}
	between(d, w, band_new(d, first ? head.s : NULL, "two at once"), duty, HAPPENING_OVERLAP,
		HAPPENING_ALONE, BAND_OVERLAP);
	between(d, w, band_new(d, NULL, "nobody"), duty, HAPPENING_VACANT, HAPPENING_SERVED,
		BAND_VACANT);
	str_release(&head);
}

/* When the record of a lock named that one. */
static void record_spans(
	struct debrief *d, struct world *w, struct band *b, const char *lock, const char *who)
{
	struct open_span s = { -1, BAND_RECORD };
	const struct happening *h;
	size_t i;

	for (i = 0; (h = told(d, w, i)) != NULL; i++) {
		if (strcmp(h->what, lock) != 0)
			continue;
		if (h->kind == HAPPENING_GRANTED && strcmp(h->who, who) == 0)
			span_open(d, b, &s, h->at_ms, BAND_RECORD);
		else if (h->kind == HAPPENING_GRANTED || h->kind == HAPPENING_FREED)
			span_close(d, b, &s, h->at_ms);
	}
	span_close(d, b, &s, d->end_ms);
}

static void lock_bands(struct debrief *d, struct world *w, const char *lock)
{
	const struct happening *h;
	struct str head;
	bool first = true;
	size_t i;

	str_init(&head, 200);
	str_addf(&head, "%s: whom the record named", lock);
	for (i = 0; (h = told(d, w, i)) != NULL; i++) {
		if (h->kind != HAPPENING_GRANTED || strcmp(h->what, lock) != 0 ||
			seen_before(w, i, HAPPENING_GRANTED, h->who, lock))
			continue;
		record_spans(d, w, band_new(d, first ? head.s : NULL, h->who), lock, h->who);
		first = false;
	}
	str_release(&head);
}

static void make_bands(struct debrief *d, struct world *w)
{
	const char *const *watch = d->lesson->watch;
	struct thing *t = NULL;

	if (!*watch)
		while ((t = world_each(w, &duty_ops, t)) != NULL)
			duty_bands(d, w, t->name);
	for (; *watch; watch++) {
		if (duty_find(w, *watch))
			duty_bands(d, w, *watch);
		else
			lock_bands(d, w, *watch);
	}
}

/* ---- what happened ---- */

static bool worth_telling(enum happening_kind kind)
{
	switch (kind) {
	case HAPPENING_STARTED:
	case HAPPENING_LEADS:
	case HAPPENING_YIELDS:
	case HAPPENING_ALREADY:
		return false;
	default:
		return true;
	}
}

/* So many changes of hands of one duty are its rhythm, and no story. */
static bool is_rhythm(struct world *w, const struct happening *h)
{
	size_t i, n = 0;

	if (h->kind != HAPPENING_VACANT && h->kind != HAPPENING_SERVED &&
		h->kind != HAPPENING_OVERLAP && h->kind != HAPPENING_ALONE &&
		h->kind != HAPPENING_ENDED && h->kind != HAPPENING_RUN)
		return false;
	for (i = 0; i < world_told(w) && n <= RHYTHM; i++) {
		const struct happening *other = world_happening(w, i);

		n += other->kind == h->kind && strcmp(other->what, h->what) == 0;
	}
	return n > RHYTHM;
}

/* Of these the first is told, and how many more there were. */
static bool comes_often(struct world *w, const struct happening *h)
{
	enum happening_kind kind = h->kind;

	return is_rhythm(w, h) || kind == HAPPENING_DOUBLE || kind == HAPPENING_STALE_WRITE ||
	       kind == HAPPENING_FENCED || kind == HAPPENING_NOTE || kind == HAPPENING_MISSED ||
	       kind == HAPPENING_EXPIRED || kind == HAPPENING_GRANTED || kind == HAPPENING_FREED;
}

/* Whether that line of the story begins a crowd, in which no single one matters: forty leaders that
 * lose their Leases in one second. What somebody did or broke is never one of many. */
static bool begins_crowd(struct world *w, size_t at)
{
	const struct happening *f = world_happening(w, at);
	size_t i, n = 0;

	if (f->kind != HAPPENING_GRANTED && f->kind != HAPPENING_FREED &&
		f->kind != HAPPENING_EXPIRED && f->kind != HAPPENING_NOTE)
		return false;
	for (i = at; i < world_told(w) && n <= CROWD; i++) {
		const struct happening *h = world_happening(w, i);

		if (h->at_ms - f->at_ms > CROWD_MS)
			break;
		n += h->kind == f->kind;
	}
	return n > CROWD;
}

/* The crowd that this one is another of; NULL. */
static struct debrief_event *crowd_of(
	struct debrief *d, struct world *w, const size_t *first, const struct happening *h)
{
	size_t i;

	for (i = d->n_events; i-- > 0;)
		if (d->events[i].kind == h->kind && h->at_ms - d->events[i].at_ms <= CROWD_MS &&
			begins_crowd(w, first[i]))
			return &d->events[i];
	return NULL;
}

/* The event among those told already that this one is another of; NULL. first[i] is the line of the
 * story that event i began with. */
static struct debrief_event *another_of(
	struct debrief *d, struct world *w, const size_t *first, const struct happening *h)
{
	size_t i;

	if (!comes_often(w, h))
		return crowd_of(d, w, first, h);
	for (i = 0; i < d->n_events; i++) {
		const struct happening *f = world_happening(w, first[i]);

		if (f->kind == h->kind && strcmp(f->what, h->what) == 0 &&
			(strcmp(f->who, h->who) == 0 || is_rhythm(w, h)))
			return &d->events[i];
	}
	return crowd_of(d, w, first, h);
}

static void make_events(struct debrief *d, struct world *w)
{
	size_t first[DEBRIEF_EVENTS_MOST], i;
	const struct happening *h;

	for (i = 0; (h = told(d, w, i)) != NULL; i++) {
		struct debrief_event *e;

		if (h->at_ms < d->from_ms || !worth_telling(h->kind))
			continue;
		e = another_of(d, w, first, h);
		if (e) {
			e->times++;
			e->last_ms = h->at_ms;
		} else if (d->n_events == DEBRIEF_EVENTS_MOST) {
			d->events_left_out++;
		} else {
			first[d->n_events] = i;
			d->events[d->n_events++] = (struct debrief_event){ h->at_ms, h->at_ms, 1,
				h->kind, xstrdup(h->text) };
		}
	}
}

/* ---- acts ---- */

/* "VERB ID" was done before act i. */
static bool done_before(const struct debrief *d, size_t i, const char *what)
{
	const char *id = strchr(what, ' ');
	size_t len = id ? (size_t)(id - what) : strlen(what), k;

	while (id && *id == ' ')
		id++;
	for (k = 0; k < i; k++)
		if (strlen(d->acts[k].verb) == len && strncmp(d->acts[k].verb, what, len) == 0 &&
			deed_means(id, d->acts[k].id))
			return true;
	return false;
}

static bool verdict_fits(const struct debrief *d, const struct lesson_verdict *v, size_t i)
{
	const struct debrief_act *act = &d->acts[i];

	if (strcmp(v->act, "any") == 0 ? act->asks : strcmp(v->act, act->verb) != 0)
		return false;
	if (v->on && !deed_means(v->on, act->id) && !deed_means(v->on, act->identity))
		return false;
	if (v->whom != LESSON_WHOM_ANY && act->to_waiter != (v->whom == LESSON_WHOM_WAITER))
		return false;
	return act->at_ms <= v->until_ms && (!v->after || done_before(d, i, v->after)) &&
	       !(v->unless && done_before(d, i, v->unless));
}

/* What the score took points for harmed, also where the debrief has no word of it. */
static void judge_by_score(struct debrief *d, struct debrief_act *act, const struct deed *deed)
{
	const struct score_rules *rules = &d->lesson->score;
	size_t i;

	for (i = 0; i < rules->n_costs; i++) {
		const struct score_cost *c = &rules->costs[i];

		if (c->costs <= 0 || d->values[i] <= c->free ||
			!measure_counts_deed(&c->measure, deed))
			continue;
		act->was = "harmed";
		act->text = c->text;
		return;
	}
}

static void judge_act(struct debrief *d, size_t i, const struct deed *deed)
{
	const struct lesson *l = d->lesson;
	size_t v;

	for (v = 0; v < l->n_verdicts; v++)
		if (verdict_fits(d, &l->verdicts[v], i)) {
			d->acts[i].was = l->verdicts[v].was;
			d->acts[i].text = l->verdicts[v].text;
			return;
		}
	judge_by_score(d, &d->acts[i], deed);
}

static void make_acts(struct debrief *d, struct world *w, size_t n)
{
	size_t i;

	d->acts = xcalloc(n + 1, sizeof(*d->acts));
	for (i = 0; i < n; i++) {
		const struct deed *deed = deed_at(w, i);

		if (deed->at_ms < d->begins_ms)
			continue;
		d->acts[d->n_acts] = (struct debrief_act){ .at_ms = deed->at_ms,
			.verb = xstrdup(deed->verb),
			.id = xstrdup(deed->id),
			.identity = xstrdup(deed->identity),
			.reason = xstrdup(deed->reason),
			.asks = deed->asks,
			.to_waiter = deed->to_waiter };
		judge_act(d, d->n_acts++, deed);
	}
}

/* ---- the whole ---- */

static void copy_said(struct debrief *d, const struct account *a)
{
	size_t i;

	for (i = 0; i < a->n_said; i++)
		d->said[i] = (struct debrief_said){ a->said[i].kind, a->said[i].at_ms,
			a->said[i].causes, a->said[i].hint,
			a->said[i].text ? xstrdup(a->said[i].text) : NULL };
	d->n_said = a->n_said;
}

/* Since when the record of that lock names whom it names at that moment; INT64_MAX: nobody. */
static int64_t recorded_since(struct world *w, const char *lock, int64_t at_ms)
{
	int64_t since_ms = INT64_MAX;
	size_t i;

	for (i = 0; i < world_told(w); i++) {
		const struct happening *h = world_happening(w, i);

		if (h->at_ms > at_ms)
			break;
		if (strcmp(h->what, lock) != 0)
			continue;
		if (h->kind == HAPPENING_GRANTED)
			since_ms = h->at_ms;
		else if (h->kind == HAPPENING_FREED)
			since_ms = INT64_MAX;
	}
	return since_ms;
}

/* The timeline begins some time before the trainee came, so that what broke is on it, and how who
 * stands in the records came there. */
static int64_t begin_of(const struct lesson *lesson, struct world *w, int64_t begins_ms)
{
	int64_t from_ms = begins_ms - BEFORE_MS;
	const char *const *watch;
	size_t i;

	for (i = 0; i < world_told(w); i++) {
		const struct happening *h = world_happening(w, i);

		if (h->kind != HAPPENING_FAULT && h->kind != HAPPENING_PAUSED)
			continue;
		if (h->at_ms - 10000 < from_ms)
			from_ms = h->at_ms - 10000;
		break;
	}
	for (watch = lesson->watch; *watch; watch++) {
		int64_t since_ms = recorded_since(w, *watch, begins_ms);

		if (since_ms < from_ms && since_ms >= begins_ms - BEFORE_MOST_MS)
			from_ms = since_ms;
	}
	if (from_ms < begins_ms - BEFORE_MOST_MS)
		from_ms = begins_ms - BEFORE_MOST_MS;
	return from_ms < 0 ? 0 : from_ms;
}

struct debrief *debrief_new(const struct lesson *lesson, uint64_t seed, struct world *w)
{
	const struct account *a = referee_account(referee_of(w));
	struct debrief *d = xcalloc(1, sizeof(*d));

	d->lesson = lesson;
	d->seed = seed;
	d->end = a->end;
	d->begins_ms = a->begins_ms;
	d->end_ms = a->end_ms;
	d->restored_ms = a->restored_ms;
	d->unfenced_doubles = a->unfenced_doubles;
	d->n_values = a->n_values;
	d->values = xcalloc(a->n_values + 1, sizeof(*d->values));
	memcpy(d->values, a->values, a->n_values * sizeof(*d->values));
	d->from_ms = begin_of(lesson, w, d->begins_ms);
	score_make(&d->score, &lesson->score, w, a);
	copy_said(d, a);
	make_acts(d, w, a->deeds);
	make_bands(d, w);
	make_events(d, w);
	return d;
}

void debrief_free(struct debrief *d)
{
	size_t i;

	if (!d)
		return;
	for (i = 0; i < d->n_said; i++)
		free(d->said[i].note);
	for (i = 0; i < d->n_acts; i++) {
		free(d->acts[i].verb);
		free(d->acts[i].id);
		free(d->acts[i].identity);
		free(d->acts[i].reason);
	}
	for (i = 0; i < d->n_bands; i++) {
		free(d->bands[i].head);
		free(d->bands[i].label);
	}
	for (i = 0; i < d->n_events; i++)
		free(d->events[i].text);
	free(d->acts);
	free(d->values);
	free(d);
}
