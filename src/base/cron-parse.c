#include "config.h"

#include "base/cron.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A piece of the schedule's text. */
struct piece {
	const char *s;
	size_t len;
};

enum field_id {
	FIELD_MINUTE,
	FIELD_HOUR,
	FIELD_DAY,
	FIELD_MONTH,
	FIELD_WEEKDAY,
	FIELD_N
};

struct field {
	const char *name;
	uint64_t min, max;
	const char *names; /* three letters each, the first is min */
	const char *allowed;
};

static const struct field fields[FIELD_N] = {
	[FIELD_MINUTE] = { "minute", 0, 59, "", "0 to 59" },
	[FIELD_HOUR] = { "hour", 0, 23, "", "0 to 23" },
	[FIELD_DAY] = { "day of month", 1, 31, "", "1 to 31" },
	[FIELD_MONTH] = { "month", 1, 12, "janfebmaraprmayjunjulaugsepoctnovdec",
		"1 to 12 or jan to dec" },
	[FIELD_WEEKDAY] = { "day of week", 0, 6, "sunmontuewedthufrisat",
		"0 (Sunday) to 6 (Saturday) or sun to sat" },
};

static const char *const five = "minute, hour, day of month, month, day of week";

enum {
	SHOWN_MAX = 40, /* bytes of foreign text in a message */
	PARTS_MAX = 3   /* a range or a step that has more is wrong anyway */
};

static int refuse(struct err *err, const char *before, struct piece piece, const char *after)
{
	struct str shown;

	str_init(&shown, 8 * SHOWN_MAX);
	text_escape_cut(&shown, piece.s, piece.len, SHOWN_MAX);
	err_set(err, ERR_USAGE, "%s \"%s\"%s%s", before, shown.s, *after == ':' ? "" : " ", after);
	str_release(&shown);
	return ERR_USAGE;
}

/* One part of a field's list: what is being read, for messages. */
struct part {
	const struct field *field;
	struct piece text;
	struct err *err;
};

/* `the hour "25" is above 23: allowed is 0 to 23, ...` */
static int refuse_part(const struct part *part, const char *wrong)
{
	char before[64], after[256];

	snprintf(before, sizeof(before), "the %s", part->field->name);
	snprintf(after, sizeof(after),
		"%s: allowed is %s, *, lists (1,2), ranges (1-3), steps (*/2)", wrong,
		part->field->allowed);
	return refuse(part->err, before, part->text, after);
}

static int refuse_bound(const struct part *part, const char *side, uint64_t bound)
{
	char wrong[64];

	snprintf(wrong, sizeof(wrong), "is %s %d", side, (int)bound);
	return refuse_part(part, wrong);
}

/* --- text --- */

/* Unicode's White_Space, which Go's strings.Fields splits at. */
static bool is_space(uint32_t cp)
{
	return (cp >= 9 && cp <= 13) || cp == ' ' || cp == 0x85 || cp == 0xa0 || cp == 0x1680 ||
	       (cp >= 0x2000 && cp <= 0x200a) || cp == 0x2028 || cp == 0x2029 || cp == 0x202f ||
	       cp == 0x205f || cp == 0x3000;
}

/* The bytes of the white-space character at s, 0 when it is none. */
static size_t space_len(const char *s)
{
	uint32_t cp;
	size_t len = text_decode(s, strnlen(s, 4), &cp);

	return len && is_space(cp) ? len : 0;
}

static size_t char_len(const char *s)
{
	uint32_t cp;
	size_t len = text_decode(s, strnlen(s, 4), &cp);

	return len ? len : 1;
}

/* The next word, which begins at or after *text; an empty one at the end. */
static struct piece take_word(const char **text)
{
	struct piece word;
	size_t len;

	while ((len = space_len(*text)) > 0)
		*text += len;
	word.s = *text;
	while (**text && !space_len(*text))
		*text += char_len(*text);
	word.len = (size_t)(*text - word.s);
	return word;
}

/* Cuts a piece at each sep; returns the number of parts, of which at most PARTS_MAX are stored. */
static size_t split(struct piece piece, char sep, struct piece *parts)
{
	size_t n = 1, start = 0;

	parts[0] = piece;
	for (size_t i = 0; i < piece.len; i++) {
		if (piece.s[i] != sep)
			continue;
		if (n <= PARTS_MAX)
			parts[n - 1].len = i - start;
		start = i + 1;
		if (n < PARTS_MAX)
			parts[n] = (struct piece){ piece.s + start, piece.len - start };
		n++;
	}
	return n;
}

/* --- numbers and names --- */

/* Go's strconv.Atoi: a sign, decimal digits, within 64 bits. */
static bool parse_int(struct piece piece, bool *ret_negative, uint64_t *ret)
{
	size_t i = 0;
	uint64_t n = 0;

	*ret_negative = piece.len && piece.s[0] == '-';
	if (piece.len && (piece.s[0] == '-' || piece.s[0] == '+'))
		i = 1;
	if (i == piece.len)
		return false;
	for (; i < piece.len; i++) {
		unsigned digit = (unsigned char)piece.s[i] - '0';

		if (digit > 9 || n > (uint64_t)INT64_MAX / 10)
			return false;
		n = n * 10 + digit;
		if (n > (uint64_t)INT64_MAX)
			return false;
	}
	*ret = n;
	return true;
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

/* A month's or a day's name in any case. */
static bool parse_name(const struct field *field, struct piece piece, uint64_t *ret)
{
	char name[4] = "";

	/* Go's ToLower makes an "i" of the dotted capital I, U+0130. */
	if (piece.len == 4 && memcmp(piece.s + 2, "\xc4\xb0", 2) == 0)
		name[2] = 'i';
	else if (piece.len == 3)
		name[2] = lower(piece.s[2]);
	name[0] = piece.len >= 3 ? lower(piece.s[0]) : '\0';
	name[1] = piece.len >= 3 ? lower(piece.s[1]) : '\0';
	if (!name[0] || !name[1] || !name[2])
		return false;
	for (size_t i = 0; field->names[i]; i += 3)
		if (strncmp(field->names + i, name, 3) == 0) {
			*ret = field->min + i / 3;
			return true;
		}
	return false;
}

static int parse_value(const struct part *part, struct piece value, uint64_t *ret)
{
	bool negative;

	if (parse_name(part->field, value, ret))
		return 0;
	/* A minus has made a range of it already. */
	if (parse_int(value, &negative, ret) && !negative)
		return 0;
	return refuse_part(part, *part->field->names
					 ? "holds something that is neither a number nor a name"
					 : "holds something that is not a number");
}

/* --- fields --- */

struct range {
	uint64_t start, end, step;
	bool star;
};

static int parse_ends(
	const struct part *part, struct piece text, struct range *ret, bool *ret_single)
{
	struct piece ends[PARTS_MAX];
	size_t n = split(text, '-', ends);

	*ret_single = n == 1;
	if (ends[0].len == 1 && (ends[0].s[0] == '*' || ends[0].s[0] == '?')) {
		ret->start = part->field->min;
		ret->end = part->field->max;
		ret->star = true;
		return 0;
	}
	if (parse_value(part, ends[0], &ret->start) != 0)
		return ERR_USAGE;
	if (n > 2)
		return refuse_part(part, "has more than one hyphen");
	ret->end = ret->start;
	return n == 2 ? parse_value(part, ends[1], &ret->end) : 0;
}

static int parse_step(const struct part *part, struct piece text, struct range *ret, bool single)
{
	bool negative;

	if (!parse_int(text, &negative, &ret->step))
		return refuse_part(part, "has a step that is not a number");
	if (negative)
		return refuse_part(part, "has a negative step");
	/* "5/15" means from 5 on. */
	if (single)
		ret->end = part->field->max;
	if (ret->step > 1)
		ret->star = false;
	return 0;
}

static int check_range(const struct part *part, const struct range *range)
{
	if (range->start < part->field->min)
		return refuse_bound(part, "below", part->field->min);
	if (range->end > part->field->max)
		return refuse_bound(part, "above", part->field->max);
	if (range->start > range->end)
		return refuse_part(part, "ends before it begins");
	if (range->step == 0)
		return refuse_part(part, "has a step of 0");
	return 0;
}

/* A value or a range, or either with a step. */
static int parse_part(const struct part *part, uint64_t *bits)
{
	struct range range = { .step = 1 };
	struct piece halves[PARTS_MAX];
	size_t n = split(part->text, '/', halves);
	bool single;
	int rc = parse_ends(part, halves[0], &range, &single);

	if (rc == 0 && n > 2)
		rc = refuse_part(part, "has more than one slash");
	if (rc == 0 && n == 2)
		rc = parse_step(part, halves[1], &range, single);
	if (rc == 0)
		rc = check_range(part, &range);
	if (rc != 0)
		return rc;
	for (uint64_t i = range.start; i <= range.end; i += range.step)
		*bits |= UINT64_C(1) << i;
	if (range.star)
		*bits |= CRON_STAR;
	return 0;
}

static int parse_field(const struct field *field, struct piece list, uint64_t *ret, struct err *err)
{
	*ret = 0;
	for (size_t i = 0; i < list.len;) {
		const char *comma = memchr(list.s + i, ',', list.len - i);
		size_t end = comma ? (size_t)(comma - list.s) : list.len;
		struct part part = { field, { list.s + i, end - i }, err };

		if (part.text.len && parse_part(&part, ret) != 0)
			return ERR_USAGE;
		i = end + 1;
	}
	return 0;
}

static int parse_fields(const char *text, struct cron *cron, struct err *err)
{
	uint64_t *bits[FIELD_N] = { &cron->minutes, &cron->hours, &cron->days, &cron->months,
		&cron->weekdays };
	struct piece words[FIELD_N];
	size_t n = 0;

	for (;;) {
		struct piece word = take_word(&text);

		if (!word.len)
			break;
		if (n < FIELD_N)
			words[n] = word;
		n++;
	}
	if (n != FIELD_N)
		return err_set(
			err, ERR_USAGE, "the schedule has %zu fields and needs five: %s", n, five);
	for (size_t i = 0; i < FIELD_N; i++)
		if (parse_field(&fields[i], words[i], bits[i], err) != 0)
			return ERR_USAGE;
	return 0;
}

/* --- words in place of the fields --- */

struct shorthand {
	const char *word, *fields;
};

static const struct shorthand shorthands[] = {
	{ "@yearly", "0 0 1 1 *" },
	{ "@annually", "0 0 1 1 *" },
	{ "@monthly", "0 0 1 * *" },
	{ "@weekly", "0 0 * * 0" },
	{ "@daily", "0 0 * * *" },
	{ "@midnight", "0 0 * * *" },
	{ "@hourly", "0 * * * *" },
};

struct unit {
	const char *name;
	uint64_t ns;
};

static const struct unit units[] = {
	{ "ns", 1 },
	{ "us", 1000 },
	{ "\xc2\xb5s", 1000 }, /* micro sign */
	{ "\xce\xbcs", 1000 }, /* Greek mu */
	{ "ms", 1000000 },
	{ "s", 1000000000 },
	{ "m", UINT64_C(60000000000) },
	{ "h", UINT64_C(3600000000000) },
};

#define DURATION_MAX (UINT64_C(1) << 63)

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool take_integer(const char **s, uint64_t *ret)
{
	for (*ret = 0; is_digit(**s); (*s)++) {
		if (*ret > DURATION_MAX / 10)
			return false;
		*ret = *ret * 10 + (uint64_t)(**s - '0');
		if (*ret > DURATION_MAX)
			return false;
	}
	return true;
}

/* Digits after a point; those that 63 bits don't hold are skipped. Returns the fraction. */
static double take_fraction(const char **s, uint64_t *ret_digits)
{
	double scale = 1;
	bool full = false;

	for (*ret_digits = 0; is_digit(**s); (*s)++) {
		uint64_t next;

		if (full || *ret_digits > (DURATION_MAX - 1) / 10) {
			full = true;
			continue;
		}
		next = *ret_digits * 10 + (uint64_t)(**s - '0');
		if (next > DURATION_MAX) {
			full = true;
			continue;
		}
		*ret_digits = next;
		scale *= 10;
	}
	return scale;
}

static const struct unit *take_unit(const char **s)
{
	size_t len = strcspn(*s, ".0123456789");

	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (strlen(units[i].name) == len && memcmp(units[i].name, *s, len) == 0) {
			*s += len;
			return &units[i];
		}
	return NULL;
}

/* One number with its unit, "1.5h", in nanoseconds. */
static bool take_term(const char **s, uint64_t *ret)
{
	const char *start = *s;
	const struct unit *unit;
	uint64_t whole, digits = 0;
	double scale = 1;
	bool some;

	if (!take_integer(s, &whole))
		return false;
	some = *s != start;
	if (**s == '.') {
		start = ++*s;
		scale = take_fraction(s, &digits);
		some |= *s != start;
	}
	unit = take_unit(s);
	if (!some || !unit || whole > DURATION_MAX / unit->ns)
		return false;
	*ret = whole * unit->ns;
	/* Doubles, as Go has them: the last nanosecond is theirs too. */
	if (digits)
		*ret += (uint64_t)((double)digits * ((double)unit->ns / scale));
	return *ret <= DURATION_MAX;
}

/* Go's time.ParseDuration, in whole seconds, at least one (the library's least delay). */
static bool parse_duration(const char *s, int64_t *ret_s)
{
	bool negative = *s == '-';
	uint64_t sum = 0, term;

	if (*s == '-' || *s == '+')
		s++;
	*ret_s = 1;
	if (strcmp(s, "0") == 0)
		return true;
	if (!*s)
		return false;
	while (*s) {
		if (!take_term(&s, &term))
			return false;
		sum += term;
		if (sum > DURATION_MAX)
			return false;
	}
	if (negative)
		return true;
	if (sum == DURATION_MAX)
		return false;
	if (sum >= UINT64_C(2000000000))
		*ret_s = (int64_t)(sum / UINT64_C(1000000000));
	return true;
}

static int parse_word(const char *text, struct cron *cron, struct err *err)
{
	struct piece piece = { text, strlen(text) };

	for (size_t i = 0; i < ARRAY_LEN(shorthands); i++)
		if (strcmp(text, shorthands[i].word) == 0)
			return parse_fields(shorthands[i].fields, cron, err);
	if (!str_starts(text, "@every "))
		return refuse(err, "the schedule", piece,
			"is none of @yearly, @annually, @monthly, @weekly, @daily, @midnight, "
			"@hourly, \"@every 1h30m\"");
	if (!parse_duration(text + strlen("@every "), &cron->every_s))
		return refuse(err, "the schedule", piece,
			"needs a duration like 90s, 15m or 1h30m: numbers, each with one of the "
			"units ns, us, ms, s, m, h");
	return 0;
}

/* --- the zone in front --- */

/* Takes "TZ=ZONE " away from *text. */
static int take_zone(const char **text, struct cron *cron, struct err *err)
{
	struct piece name;
	const char *end;

	if (!str_starts(*text, "TZ=") && !str_starts(*text, "CRON_TZ="))
		return 0;
	name.s = strchr(*text, '=') + 1;
	end = strchr(name.s, ' ');
	name.len = end ? (size_t)(end - name.s) : strlen(name.s);
	/* The library panics here. */
	if (!end)
		return refuse(
			err, "after the time zone", name, "a space and the schedule are missing");
	if (name.len > CRON_ZONE_MAX)
		return refuse(err, "the time zone", name, "has a name longer than any zone's");
	*text = end;
	/* No name is UTC to Go. "Local" is what the library calls having no zone of its own. */
	if (name.len == 0)
		name = (struct piece){ "UTC", 3 };
	else if (name.len == 5 && memcmp(name.s, "Local", 5) == 0)
		name.len = 0;
	memcpy(cron->zone, name.s, name.len);
	return 0;
}

/* A copy without the white space at both ends. */
static char *trim(const char *text)
{
	const char *end = text;

	while (space_len(text))
		text += space_len(text);
	for (const char *p = text; *p; p += char_len(p))
		if (!space_len(p))
			end = p + char_len(p);
	return xstrndup(text, end > text ? (size_t)(end - text) : 0);
}

int cron_parse(const char *text, struct cron *ret, struct err *err)
{
	struct cron cron = { 0 };
	const char *rest = text;
	char *trimmed;
	int rc;

	if (!*text)
		return err_set(err, ERR_USAGE,
			"the schedule is empty and needs five fields: %s; or a word like @hourly",
			five);
	rc = take_zone(&rest, &cron, err);
	if (rc != 0)
		return rc;
	/* Behind a zone only: " @daily" alone is no word to the library. */
	trimmed = rest == text ? xstrdup(text) : trim(rest);
	if (*trimmed == '@')
		rc = parse_word(trimmed, &cron, err);
	else
		rc = parse_fields(trimmed, &cron, err);
	free(trimmed);
	if (rc == 0)
		*ret = cron;
	return rc;
}
