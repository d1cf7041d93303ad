#include "config.h"

#include "sim/score.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
	SAID_MAX = 110 /* of the words that a reason should have held */
};

void score_clock(char *buf, int64_t ms)
{
	int64_t s = (ms < 0 ? -ms : ms) / 1000;
	const char *sign = ms < 0 ? "-" : "";

	if (s < 3600)
		snprintf(buf, SCORE_CLOCK_MAX, "%s%d:%02d", sign, (int)(s / 60), (int)(s % 60));
	else
		snprintf(buf, SCORE_CLOCK_MAX, "%s%" PRId64 ":%02d:%02d", sign, s / 3600,
			(int)(s / 60 % 60), (int)(s % 60));
}

void score_seconds(char *buf, int64_t ms)
{
	if (ms > 0 && ms < 100)
		snprintf(buf, SCORE_CLOCK_MAX, "<0.1 s");
	else if (ms % 1000)
		snprintf(buf, SCORE_CLOCK_MAX, "%" PRId64 ".%d s", ms / 1000,
			(int)(ms % 1000 / 100));
	else
		snprintf(buf, SCORE_CLOCK_MAX, "%" PRId64 " s", ms / 1000);
}

static struct score_line *line(struct score *s, const char *what, int points, int of,
	const char *fmt, ...) __attribute__((format(printf, 5, 6)));
static struct score_line *line(
	struct score *s, const char *what, int points, int of, const char *fmt, ...)
{
	struct score_line *l =
		&s->lines[s->n_lines < SCORE_LINES_MOST - 1 ? s->n_lines++ : s->n_lines];
	va_list ap;

	*l = (struct score_line){ .points = points, .of = of };
	snprintf(l->what, sizeof(l->what), "%s", what);
	va_start(ap, fmt);
	vsnprintf(l->text, sizeof(l->text), fmt, ap);
	va_end(ap);
	return l;
}

/* ---- diagnosis ---- */

static int picked_points(const struct score_rules *rules, uint64_t causes)
{
	int n_right = 0, points;
	size_t i, missing = 0, wrong = 0;

	for (i = 0; i < rules->n_causes; i++) {
		bool is = rules->right >> i & 1, has = causes >> i & 1;

		n_right += is;
		missing += is && !has;
		wrong += has && !is;
	}
	if (!causes || !n_right)
		return 0;
	points = SCORE_DIAGNOSIS - SCORE_DIAGNOSIS * (int)missing / n_right -
		 SCORE_DIAGNOSIS_WRONG * (int)wrong;
	return points > 0 ? points : 0;
}

static const struct said *last_diagnosis(const struct account *a, bool before_acting)
{
	const struct said *found = NULL;
	size_t i;

	for (i = 0; i < a->n_said; i++)
		if (a->said[i].kind == SAID_DIAGNOSIS && (!before_acting || !a->said[i].deeds))
			found = &a->said[i];
	return found;
}

static const char *how_right(const struct score_rules *rules, uint64_t causes, int points)
{
	if (points == SCORE_DIAGNOSIS)
		return "the right cause";
	if (points)
		return "right in part";
	return causes & rules->right ? "too many causes picked" : "not the cause";
}

static void score_diagnosis(
	struct score *s, const struct score_rules *rules, const struct account *a)
{
	const struct said *early = last_diagnosis(a, true), *late = last_diagnosis(a, false);
	int first = early ? picked_points(rules, early->causes) : 0;
	int second = late ? picked_points(rules, late->causes) : 0;
	char at[SCORE_CLOCK_MAX];
	const struct said *said;
	const char *when;

	second = second > SCORE_DIAGNOSIS_LATE ? SCORE_DIAGNOSIS_LATE : second;
	s->diagnosis = first > second ? first : second;
	if (!late) {
		line(s, "diagnosis", 0, SCORE_DIAGNOSIS, "no cause was picked");
		return;
	}
	said = first >= second && early ? early : late;
	score_clock(at, said->at_ms - a->begins_ms);
	when = said->deeds ? ", only after something was done" : ", before anything was done";
	line(s, "diagnosis", s->diagnosis, SCORE_DIAGNOSIS, "%s, picked at %s%s",
		how_right(rules, said->causes, picked_points(rules, said->causes)), at, when);
}

/* ---- safety ---- */

static int cost_of(const struct score_cost *cost, int64_t value)
{
	int64_t over = value - cost->free, lost;

	if (over <= 0)
		return 0;
	/* Far beyond what any world counts, and before it could overflow. */
	over = over > INT32_MAX ? INT32_MAX : over;
	lost = over * cost->costs / cost->per;
	return (int)(lost > cost->most ? cost->most : lost);
}

static void value_text(char *buf, size_t size, bool ms, int64_t value)
{
	if (ms)
		score_seconds(buf, value);
	else
		snprintf(buf, size, "%" PRId64, value);
}

/* "6 s (4 for each 1 s beyond 30 s)" */
static void cost_line(struct score *s, const struct score_cost *cost, int64_t value, int taken)
{
	bool ms = measure_word(cost->measure.kind)->ms, unit = ms || cost->per > 1;
	char counted[SCORE_CLOCK_MAX], per[SCORE_CLOCK_MAX], spare[SCORE_CLOCK_MAX];

	value_text(counted, sizeof(counted), ms, value);
	value_text(per, sizeof(per), ms, cost->per);
	value_text(spare, sizeof(spare), ms, cost->free);
	if (cost->costs)
		line(s, "", -taken, 0, "%s: %s (%" PRId64 " for each%s%s%s%s)", cost->text, counted,
			cost->costs, unit ? " " : "", unit ? per : "", cost->free ? " beyond " : "",
			cost->free ? spare : "");
	else
		line(s, "", 0, 0, "%s: %s", cost->text, counted);
}

static void score_safety(struct score *s, const struct score_rules *rules, const struct account *a)
{
	size_t head = s->n_lines, i;
	int lost = 0;

	line(s, "safety", 0, SCORE_SAFETY, "%s", "");
	for (i = 0; i < rules->n_costs; i++) {
		int taken = cost_of(&rules->costs[i], a->values[i]);

		lost += taken;
		cost_line(s, &rules->costs[i], a->values[i], taken);
	}
	s->safety = lost > SCORE_SAFETY ? 0 : SCORE_SAFETY - lost;
	s->lines[head].points = s->safety;
	snprintf(s->lines[head].text, sizeof(s->lines[head].text), "%s",
		lost ? "what was harmed:" : "nothing was harmed");
}

/* ---- time ---- */

/* Whether something was done before that moment: without it nothing was restored by anybody. */
static bool acted_before(const struct world *w, const struct account *a, int64_t at_ms)
{
	size_t i;

	for (i = 0; i < a->deeds; i++)
		if (!deed_at(w, i)->asks && deed_at(w, i)->at_ms <= at_ms)
			return true;
	return false;
}

static void score_time(struct score *s, const struct score_rules *rules, const struct world *w,
	const struct account *a)
{
	int64_t took = a->restored_ms - a->begins_ms, left = rules->limit_ms - took;
	char after[SCORE_CLOCK_MAX], par[SCORE_CLOCK_MAX];

	score_clock(par, rules->par_ms);
	if (a->restored_ms < 0) {
		line(s, "time", 0, SCORE_TIME, "it was not restored (par %s)", par);
		return;
	}
	score_clock(after, took);
	if (!rules->waiting && !acted_before(w, a, a->restored_ms)) {
		line(s, "time", 0, SCORE_TIME, "it came right by itself after %s: nothing was done",
			after);
		return;
	}
	if (took <= rules->par_ms)
		s->time = SCORE_TIME;
	else if (left > 0)
		s->time = (int)(SCORE_TIME * left / (rules->limit_ms - rules->par_ms));
	line(s, "time", s->time, SCORE_TIME, "restored after %s (par %s; faster earns nothing)",
		after, par);
}

/* ---- communication ---- */

static int words_in(const char *text)
{
	bool inside = false;
	int n = 0;

	for (; *text; text++) {
		bool blank = *text == ' ' || *text == '\t';

		n += inside == false && !blank;
		inside = !blank;
	}
	return n;
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Whether the word stands in the text, whatever its case. */
static bool holds(const char *text, const char *word)
{
	size_t i, len = strlen(word);

	for (; *text; text++) {
		for (i = 0; i < len && lower(text[i]) == lower(word[i]); i++)
			;
		if (i == len)
			return true;
	}
	return false;
}

static bool holds_one(const char *text, const char *const *wanted)
{
	if (!wanted || !*wanted)
		return words_in(text) >= SCORE_WORDS_LEAST;
	for (; *wanted; wanted++)
		if (holds(text, *wanted))
			return true;
	return false;
}

struct said_sum {
	size_t acts, told; /* acts, and those with a reason worth the name */
	size_t notes;
	bool what, why;
};

static void add_text(struct said_sum *sum, const struct score_rules *rules, const char *text)
{
	sum->what = sum->what || holds_one(text, rules->what);
	sum->why = sum->why || holds_one(text, rules->why);
}

static struct said_sum sum_said(
	const struct score_rules *rules, struct world *w, const struct account *a)
{
	struct said_sum sum = { 0 };
	size_t i;

	for (i = 0; i < a->deeds; i++) {
		const struct deed *deed = deed_at(w, i);

		if (deed->asks)
			continue;
		sum.acts++;
		sum.told += words_in(deed->reason) >= SCORE_WORDS_LEAST;
		add_text(&sum, rules, deed->reason);
	}
	for (i = 0; i < a->n_said; i++) {
		if (a->said[i].kind != SAID_NOTE)
			continue;
		sum.notes += words_in(a->said[i].text) >= SCORE_WORDS_LEAST;
		add_text(&sum, rules, a->said[i].text);
	}
	return sum;
}

/* "said", or words that would have said it: nobody can guess them. */
static void said_words(struct str *out, bool said, const char *const *words)
{
	size_t i;

	str_init(out, SAID_MAX);
	str_add(out, said ? "said" : "not said");
	for (i = 0; !said && words && words[i]; i++)
		str_addf(out, "%s%s", i ? ", " : ", as by: ", words[i]);
}

static void score_communication(
	struct score *s, const struct score_rules *rules, struct world *w, const struct account *a)
{
	struct said_sum sum = sum_said(rules, w, a);
	bool said = sum.acts ? sum.told == sum.acts : sum.notes > 0;
	struct str what, why;

	if (!sum.acts && !sum.notes) {
		line(s, "communication", 0, SCORE_COMMUNICATION, "nothing was said to anybody");
		return;
	}
	s->communication =
		(said ? SCORE_SAID : 0) + (sum.what ? SCORE_WHAT : 0) + (sum.why ? SCORE_WHY : 0);
	said_words(&what, sum.what, rules->what);
	said_words(&why, sum.why, rules->why);
	line(s, "communication", s->communication, SCORE_COMMUNICATION,
		"%zu of %zu acts have a reason of %d words or more, %zu note%s; what: %s; why: %s",
		sum.told, sum.acts, SCORE_WORDS_LEAST, sum.notes, sum.notes == 1 ? "" : "s", what.s,
		why.s);
	str_release(&what);
	str_release(&why);
}

/* ---- hints and the sum ---- */

static void score_hints(struct score *s, const struct score_rules *rules, const struct account *a)
{
	uint64_t seen = 0;
	int n = 0;
	size_t i;

	for (i = 0; i < a->n_said; i++) {
		const struct said *said = &a->said[i];

		if (said->kind != SAID_HINT || said->hint >= rules->n_hints || said->hint >= 64 ||
			seen >> said->hint & 1)
			continue;
		seen |= UINT64_C(1) << said->hint;
		s->hints += rules->hint_costs[said->hint];
		n++;
	}
	if (n)
		line(s, "hints", -s->hints, 0, "%d taken", n);
}

static void sum_up(struct score *s, const struct score_rules *rules, const struct account *a)
{
	s->total = s->diagnosis + s->safety + s->time + s->communication - s->hints;
	if (s->total < 0)
		s->total = 0;
	if ((int64_t)a->unfenced_doubles > rules->spare_doubles) {
		s->capped = true;
		if (s->total > SCORE_DOUBLES_CAP)
			s->total = SCORE_DOUBLES_CAP;
		line(s, "cap", SCORE_DOUBLES_CAP, 0,
			"%" PRIu64 " side effect%s happened twice on a resource that takes every "
			"write: at most %d in all",
			a->unfenced_doubles, a->unfenced_doubles == 1 ? "" : "s",
			SCORE_DOUBLES_CAP);
	}
	line(s, "total", s->total, 100, "%s", "");
}

void score_make(struct score *score, const struct score_rules *rules, struct world *w,
	const struct account *account)
{
	memset(score, 0, sizeof(*score));
	score_diagnosis(score, rules, account);
	score_safety(score, rules, account);
	score_time(score, rules, w, account);
	score_communication(score, rules, w, account);
	score_hints(score, rules, account);
	sum_up(score, rules, account);
}
