#include "config.h"

#include "model/filter.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum field_type {
	FIELD_TEXT,
	FIELD_WORD,
	FIELD_AGE,
	FIELD_NUMBER
};

enum field {
	FIELD_ANY,
	FIELD_STATE,
	FIELD_SOURCE,
	FIELD_ENV,
	FIELD_MECH,
	FIELD_FINDING,
	FIELD_HOLDER,
	FIELD_WAITER,
	FIELD_NAME,
	FIELD_ROLE,
	FIELD_ID,
	FIELD_IS,
	FIELD_AGE_OF,
	FIELD_WAIT,
	FIELD_LEASE,
	FIELD_TOKEN,
};

struct field_def {
	const char *name;
	enum field field;
	enum field_type type;
	const char *help;
};

static const struct field_def filter_fields[] = {
	{ "state", FIELD_STATE, FIELD_WORD, "the state, or its beginning: state:dup,stale" },
	{ "source", FIELD_SOURCE, FIELD_TEXT, "part of the source's name" },
	{ "env", FIELD_ENV, FIELD_TEXT, "part of the source's environment word" },
	{ "mech", FIELD_MECH, FIELD_TEXT, "part of the mechanism: mech:etcd" },
	{ "finding", FIELD_FINDING, FIELD_TEXT, "part of a finding's code: finding:idle" },
	{ "holder", FIELD_HOLDER, FIELD_TEXT, "part of a holder's identity" },
	{ "waiter", FIELD_WAITER, FIELD_TEXT, "part of a waiter's identity" },
	{ "name", FIELD_NAME, FIELD_TEXT, "part of the name" },
	{ "role", FIELD_ROLE, FIELD_TEXT, "part of the role's name" },
	{ "id", FIELD_ID, FIELD_TEXT, "part of the id" },
	{ "is", FIELD_IS, FIELD_WORD, "is:need (a person), is:waited (for), is:role, is:source" },
	{ "age", FIELD_AGE_OF, FIELD_AGE, "time in this state: age>5m" },
	{ "wait", FIELD_WAIT, FIELD_AGE, "how long the longest waiter waits: wait>30s" },
	{ "lease", FIELD_LEASE, FIELD_AGE, "what remains of the lease: lease<5s" },
	{ "token", FIELD_TOKEN, FIELD_NUMBER, "the fencing token: token>1000" },
};

enum is_word {
	IS_NEED,
	IS_WAITED,
	IS_ROLE,
	IS_SOURCE,
	IS_COUNT
};
static const char *const filter_is_words[] = { "need", "waited", "role", "source" };

enum compare {
	COMPARE_MORE,
	COMPARE_MORE_EQUAL,
	COMPARE_LESS,
	COMPARE_LESS_EQUAL,
	COMPARE_EQUAL
};

struct term {
	enum field field;
	bool inverse;
	enum compare compare;
	uint32_t mask;  /* states or is-words */
	int64_t number; /* ms, or the token */
	size_t text, n; /* alternatives: offset of the first in the texts, and how many; each ends
			   with NUL */
};

struct filter {
	struct term terms[FILTER_TERMS_MAX];
	size_t n;
	struct str texts; /* folded to lower case */
};

/* A word of the text: where it is, and whether it was quoted. */
struct token {
	char s[FILTER_TEXT_MAX];
	bool inverse;
	bool quoted;
};

static char fold(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

/* Whether folded needle is a part of hay, without regard to the case of ASCII letters. */
static bool holds(const char *hay, const char *needle)
{
	size_t i;

	if (!*needle)
		return true;
	for (; *hay; hay++) {
		if (fold(*hay) != *needle)
			continue;
		for (i = 1; needle[i] && fold(hay[i]) == needle[i]; i++)
			;
		if (!needle[i])
			return true;
	}
	return false;
}

/* Takes the next word off *at; returns false at the end. */
static bool filter_token(const char **at, struct token *token)
{
	const char *s = *at;
	size_t n = 0;
	bool quote = false;

	while (*s == ' ' || *s == '\t')
		s++;
	if (!*s)
		return false;
	*token = (struct token){ .inverse = *s == '!' };
	if (token->inverse)
		s++;
	for (; *s && (quote || (*s != ' ' && *s != '\t')); s++) {
		if (*s == '"') {
			token->quoted = token->quoted || n == 0;
			quote = !quote;
		} else if (n + 1 < sizeof(token->s)) {
			token->s[n++] = *s;
		}
	}
	token->s[n] = '\0';
	*at = s;
	return true;
}

static const struct field_def *filter_field(const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < ARRAY_LEN(filter_fields); i++)
		if (strlen(filter_fields[i].name) == len &&
			strncasecmp(filter_fields[i].name, name, len) == 0)
			return &filter_fields[i];
	return NULL;
}

/* A field that this word was probably meant to be, or NULL: ids hold colons too, so only a near
 * miss counts. */
static const char *filter_near_field(const char *name, size_t len)
{
	char word[16];
	size_t i;

	if (len < 3 || len >= sizeof(word))
		return NULL;
	for (i = 0; i < len; i++)
		word[i] = fold(name[i]);
	word[len] = '\0';
	for (i = 0; i < ARRAY_LEN(filter_fields); i++)
		if (strlen(filter_fields[i].name) >= 3 &&
			text_distance(word, filter_fields[i].name, 1) <= 1)
			return filter_fields[i].name;
	return NULL;
}

static bool filter_duration(const char *s, int64_t *ret_ms)
{
	static const struct {
		const char *unit;
		int64_t ms;
	} units[] = { { "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 },
		{ "d", 86400000 }, { "", 1000 } };
	char *end;
	double value;
	size_t i;

	if (!((*s >= '0' && *s <= '9') || *s == '.' || *s == '-'))
		return false;
	value = strtod(s, &end);
	for (i = 0; i < ARRAY_LEN(units); i++) {
		if (strcasecmp(end, units[i].unit) != 0)
			continue;
		value *= (double)units[i].ms;
		if (!(value > -9e15 && value < 9e15))
			return false;
		*ret_ms = (int64_t)value;
		return true;
	}
	return false;
}

static bool filter_number(const char *s, int64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoll(s, &end, 10);
	return end != s && !*end && !errno;
}

/* Copies a comma-separated list into the texts, folded; empty parts are left out. */
static void filter_add_texts(struct filter *f, struct term *t, const char *list, bool split)
{
	t->text = f->texts.len;
	while (*list) {
		size_t before = f->texts.len;

		for (; *list && !(split && *list == ','); list++)
			str_add_char(&f->texts, fold(*list));
		if (*list)
			list++;
		if (f->texts.len == before)
			continue;
		str_add_char(&f->texts, '\0');
		t->n++;
	}
}

static const char *next_text(const char *s)
{
	return s + strlen(s) + 1;
}

static int filter_state_mask(const char *word, uint32_t *mask, struct err *err)
{
	int state = state_from_word(word);

	if (state < 0)
		return err_set(err, ERR_USAGE,
			"state:%s is no state, or the beginning of several: write duplicate, "
			"stale, "
			"orphan, stuck, expiring, contended, held, suspended, free or unknown",
			word);
	*mask |= 1U << state;
	return 0;
}

static int filter_is_mask(const char *word, uint32_t *mask, struct err *err)
{
	int i;

	for (i = 0; i < IS_COUNT; i++) {
		if (strcmp(filter_is_words[i], word) != 0)
			continue;
		*mask |= 1U << i;
		return 0;
	}
	return err_set(err, ERR_USAGE,
		"is:%s is not known: write is:need, is:waited, is:role or is:source", word);
}

static int filter_words(struct filter *f, struct term *t, const struct field_def *def,
	const char *value, struct err *err)
{
	const char *s;
	size_t i;
	int rc;

	filter_add_texts(f, t, value, true);
	if (!t->n)
		return err_set(err, ERR_USAGE, "%s: needs a value: %s", def->name, def->help);
	s = f->texts.s + t->text;
	for (i = 0; def->type == FIELD_WORD && i < t->n; i++, s = next_text(s)) {
		rc = def->field == FIELD_STATE ? filter_state_mask(s, &t->mask, err)
					       : filter_is_mask(s, &t->mask, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int filter_compared(
	struct term *t, const struct field_def *def, const char *op, struct err *err)
{
	const char *value = op + 1;
	bool fine;

	t->compare = *op == '>' ? COMPARE_MORE : *op == '<' ? COMPARE_LESS : COMPARE_EQUAL;
	if (*value == '=') {
		t->compare = t->compare == COMPARE_MORE   ? COMPARE_MORE_EQUAL
			     : t->compare == COMPARE_LESS ? COMPARE_LESS_EQUAL
							  : COMPARE_EQUAL;
		value++;
	}
	if (def->type == FIELD_AGE)
		fine = filter_duration(value, &t->number);
	else
		fine = filter_number(value, &t->number);
	if (fine)
		return 0;
	return err_set(err, ERR_USAGE, "%s: %s", def->name,
		def->type == FIELD_AGE ? "needs a duration: 30s, 5m, 2h or 3d"
				       : "needs a whole number");
}

/* A field with its operator, or nothing: *ret_def stays NULL then and the word is plain text. */
static int filter_split(
	const char *s, const struct field_def **ret_def, const char **ret_op, struct err *err)
{
	const char *op = s + strcspn(s, ":<>=");
	const struct field_def *def = filter_field(s, (size_t)(op - s));
	const char *near;

	if (!*op)
		return 0;
	if (!def) {
		near = filter_near_field(s, (size_t)(op - s));
		return near ? err_set(err, ERR_USAGE,
				      "%.*s is no field: did you mean %s? (in quotes it is plain "
				      "text)",
				      (int)(op - s), s, near)
			    : 0;
	}
	if (def->type == FIELD_AGE || def->type == FIELD_NUMBER ? *op == ':'
								: *op == '<' || *op == '>')
		return err_set(err, ERR_USAGE, "%s%c does not fit: %s", def->name, *op, def->help);
	*ret_def = def;
	*ret_op = op;
	return 0;
}

static int filter_add(struct filter *f, const struct token *token, struct err *err)
{
	const struct field_def *def = NULL;
	const char *op = NULL;
	struct term *t;
	int rc = 0;

	if (!token->quoted)
		rc = filter_split(token->s, &def, &op, err);
	if (rc < 0)
		return rc;
	if (!def && !*token->s) /* "!" or an empty pair of quotes, half typed */
		return 0;
	if (f->n == FILTER_TERMS_MAX)
		return err_set(err, ERR_USAGE, "more than %d words in a filter", FILTER_TERMS_MAX);
	t = &f->terms[f->n];
	*t = (struct term){ .inverse = token->inverse };
	if (!def) {
		filter_add_texts(f, t, token->s, false);
	} else {
		t->field = def->field;
		rc = def->type == FIELD_AGE || def->type == FIELD_NUMBER
			     ? filter_compared(t, def, op, err)
			     : filter_words(f, t, def, op + 1, err);
	}
	if (rc == 0)
		f->n++;
	return rc;
}

int filter_parse(const char *text, struct filter **ret, struct err *err)
{
	struct filter *f;
	struct token token;
	int rc = 0;

	if (strlen(text) >= FILTER_TEXT_MAX)
		return err_set(err, ERR_USAGE, "a filter of more than %d bytes", FILTER_TEXT_MAX);
	f = xcalloc(1, sizeof(*f));
	str_init(&f->texts, (size_t)2 * FILTER_TEXT_MAX);
	while (rc == 0 && filter_token(&text, &token))
		rc = filter_add(f, &token, err);
	if (rc < 0) {
		filter_free(f);
		return rc;
	}
	*ret = f;
	return 0;
}

void filter_free(struct filter *f)
{
	if (!f)
		return;
	str_release(&f->texts);
	free(f);
}

bool filter_is_empty(const struct filter *f)
{
	return f->n == 0;
}

bool filter_ages(const struct filter *f)
{
	size_t i;

	for (i = 0; i < f->n; i++)
		if (f->terms[i].field == FIELD_AGE_OF || f->terms[i].field == FIELD_WAIT ||
			f->terms[i].field == FIELD_LEASE)
			return true;
	return false;
}

int64_t row_waiting_since_us(const struct row *row)
{
	int64_t since, oldest = TIME_UNKNOWN;
	const struct claim *c;
	uint32_t pos = 0;

	while ((c = singleton_claim(row->s, CLAIM_WAITER, &pos))) {
		since = claim_int(c, DETAIL_WAIT_START, TIME_UNKNOWN);
		if (since != TIME_UNKNOWN && (oldest == TIME_UNKNOWN || since < oldest))
			oldest = since;
	}
	return oldest;
}

static bool any_text(const struct filter *f, const struct term *t, const char *hay)
{
	const char *s = f->texts.s + t->text;
	size_t i;

	if (!hay)
		return false;
	for (i = 0; i < t->n; i++, s = next_text(s))
		if (holds(hay, s))
			return true;
	return false;
}

static bool any_claim(
	const struct filter *f, const struct term *t, const struct row *row, enum claim_kind kind)
{
	const struct claim *c;
	uint32_t pos = 0;

	while ((c = singleton_claim(row->s, kind, &pos)))
		if (any_text(f, t, claim_identity(c)))
			return true;
	return false;
}

static bool any_finding(const struct filter *f, const struct term *t, const struct row *row)
{
	size_t i;

	for (i = 0; i < row->v.n_findings; i++)
		if (any_text(f, t, finding_word(row->v.findings[i].code)->word))
			return true;
	return false;
}

static bool match_one_text(const struct filter *f, const struct term *t, const struct row *row)
{
	switch (t->field) {
	case FIELD_HOLDER:
		return any_claim(f, t, row, CLAIM_HOLDER);
	case FIELD_WAITER:
		return any_claim(f, t, row, CLAIM_WAITER);
	case FIELD_NAME:
		return any_text(f, t, row->s->more->name);
	case FIELD_ID:
		return any_text(f, t, row->s->id);
	case FIELD_FINDING:
		return any_finding(f, t, row);
	case FIELD_MECH:
		return any_text(f, t, mechanism_word(row->s->mechanism)->word);
	case FIELD_ROLE:
		return any_text(f, t, row_role(row));
	default:
		return any_text(f, t, row->s->id) || any_text(f, t, row->s->more->name) ||
		       any_text(f, t, row_role(row)) || any_claim(f, t, row, CLAIM_HOLDER) ||
		       any_claim(f, t, row, CLAIM_WAITER);
	}
}

/* A role matches by what is said of it, and by any of its witnesses. */
static bool match_text(const struct filter *f, const struct term *t, const struct filter_row *in)
{
	size_t i;

	if (match_one_text(f, t, in->row))
		return true;
	for (i = 0; in->role && i < in->role->role->n_witnesses; i++)
		if (in->role->witnesses[i] && match_one_text(f, t, in->role->witnesses[i]))
			return true;
	return false;
}

static bool match_source(const struct filter *f, const struct term *t, const struct filter_row *in)
{
	bool env = t->field == FIELD_ENV;
	size_t i;

	if (in->snap && any_text(f, t, env ? in->snap->environment : in->snap->source))
		return true;
	for (i = 0; in->role && i < in->role->role->n_witnesses; i++) {
		const struct snapshot *snap = in->role->sources[i];

		if (snap && any_text(f, t, env ? snap->environment : snap->source))
			return true;
	}
	return false;
}

static bool match_is(uint32_t mask, const struct filter_row *in)
{
	bool source = in->row->s->mechanism == MECH_SOURCE && !in->role;

	return (mask & 1U << IS_NEED && (in->row->v.needs_attention || source)) ||
	       (mask & 1U << IS_WAITED && singleton_count(in->row->s, CLAIM_WAITER)) ||
	       (mask & 1U << IS_ROLE && (in->role || row_role(in->row))) ||
	       (mask & 1U << IS_SOURCE && source);
}

/* The measured value in ms, or the token; false when it is not known. */
static bool match_value(const struct term *t, const struct filter_row *in, int64_t *ret)
{
	int64_t since = in->row->v.state_since_us;

	if (t->field == FIELD_TOKEN) {
		*ret = in->row->s->token;
		return in->row->s->has_token;
	}
	if (t->field == FIELD_LEASE) {
		*ret = clock_minus(in->row->s->lease_deadline_ms, in->now_ms);
		return in->row->s->lease_deadline_ms != TIME_UNKNOWN;
	}
	if (t->field == FIELD_WAIT)
		since = row_waiting_since_us(in->row);
	if (since == TIME_UNKNOWN)
		return false;
	*ret = clock_minus(in->now_us, since) / 1000;
	return true;
}

static bool match_compare(const struct term *t, const struct filter_row *in)
{
	int64_t value;

	if (!match_value(t, in, &value))
		return false;
	switch (t->compare) {
	case COMPARE_MORE:
		return value > t->number;
	case COMPARE_MORE_EQUAL:
		return value >= t->number;
	case COMPARE_LESS:
		return value < t->number;
	case COMPARE_LESS_EQUAL:
		return value <= t->number;
	default:
		/* A duration is equal to the second: nobody can write the milliseconds. */
		return t->field == FIELD_TOKEN ? value == t->number
					       : value / 1000 == t->number / 1000;
	}
}

static bool match_term(const struct filter *f, const struct term *t, const struct filter_row *in)
{
	switch (t->field) {
	case FIELD_STATE:
		return t->mask & 1U << in->state;
	case FIELD_IS:
		return match_is(t->mask, in);
	case FIELD_SOURCE:
	case FIELD_ENV:
		return match_source(f, t, in);
	case FIELD_AGE_OF:
	case FIELD_WAIT:
	case FIELD_LEASE:
	case FIELD_TOKEN:
		return match_compare(t, in);
	default:
		return match_text(f, t, in);
	}
}

bool filter_match(const struct filter *f, const struct filter_row *row)
{
	size_t i;

	for (i = 0; i < f->n; i++)
		if (match_term(f, &f->terms[i], row) == f->terms[i].inverse)
			return false;
	return true;
}

static void complete_values(
	const struct field_def *def, const char *part, const char *inverse, struct str *out)
{
	int count = def->field == FIELD_STATE     ? STATE_COUNT
		    : def->field == FIELD_IS      ? IS_COUNT
		    : def->field == FIELD_MECH    ? MECH_COUNT
		    : def->field == FIELD_FINDING ? FINDING_COUNT
						  : 0;
	int i;

	for (i = 0; i < count; i++) {
		const char *word = def->field == FIELD_STATE ? state_word((enum state)i)->word
				   : def->field == FIELD_IS  ? filter_is_words[i]
				   : def->field == FIELD_MECH
					   ? mechanism_word((enum mechanism)i)->word
					   : finding_word((enum finding_code)i)->word;
		const char *c;

		if (strncasecmp(word, part, strlen(part)) != 0)
			continue;
		str_addf(out, "%s%s:", inverse, def->name);
		for (c = word; *c; c++)
			str_add_char(out, fold(*c));
		str_add_char(out, '\n');
	}
}

void filter_complete(const char *word, struct str *out)
{
	const char *inverse = *word == '!' ? "!" : "";
	const char *colon;
	size_t i;

	word += *inverse != '\0';
	colon = strchr(word, ':');
	if (colon) {
		const struct field_def *def = filter_field(word, (size_t)(colon - word));

		if (def)
			complete_values(def, colon + 1, inverse, out);
		return;
	}
	for (i = 0; i < ARRAY_LEN(filter_fields); i++) {
		const struct field_def *def = &filter_fields[i];

		if (strncasecmp(def->name, word, strlen(word)) == 0)
			str_addf(out, "%s%s%s\n", inverse, def->name,
				def->type == FIELD_AGE || def->type == FIELD_NUMBER ? ">" : ":");
	}
}

bool filter_field_help(size_t i, const char **ret_name, const char **ret_help)
{
	if (i >= ARRAY_LEN(filter_fields))
		return false;
	*ret_name = filter_fields[i].name;
	*ret_help = filter_fields[i].help;
	return true;
}
