#ifndef MODEL_VERDICT_H
#define MODEL_VERDICT_H

#include "base/str.h"
#include "model/singleton.h"

/* One judged fact. Texts are sanitised; `text` says what is, `advice` what to do (NULL when nothing
 * is to be done). */
struct finding {
	enum finding_code code;
	enum severity severity;
	int64_t since_us; /* wall clock when it was first true, as far as we know; TIME_UNKNOWN */
	const char *text;
	const char *advice;
	const struct detail *evidence;
	size_t n_evidence;
};

/*
 * What the judge says of one singleton. A hundred thousand rows have one each: it fits behind the
 * row's counter without padding, and its numbers of eight bytes are aligned there.
 */
struct verdict {
	enum state state : 8;
	bool needs_attention : 1; /* counted in "N need you": a warning, a critical finding, or such
				     a state */
	bool has_highest : 1;     /* highest_token is known */
	enum fitness fit : 2;     /* of its mechanism, for the role that it is a witness of */
	bool has_role : 1;        /* see row_role */
	uint16_t n_findings;      /* of more, those that matter least are left out */
	int64_t state_since_us;   /* wall clock since when it is in this state, as we saw it;
				     TIME_UNKNOWN */
	int64_t first_seen_us;    /* wall clock when we first saw the present holder hold it;
				     TIME_UNKNOWN */
	int64_t known_since_us; /* wall clock when we first saw this singleton at all; TIME_UNKNOWN
				 */
	int64_t highest_token;  /* ever seen */
	const struct finding *findings; /* the worst first */
} __attribute__((packed, aligned(4)));

/*
 * A verdict under construction, reusable. The judge adds findings; each finding's evidence is what
 * is added between it and the next.
 */
struct verdict_draft {
	struct verdict v;
	int64_t next_ms;  /* our monotonic clock when time alone may change this verdict; INT64_MAX:
			     never */
	const char *role; /* the role that it is a witness of: borrowed until row_new; NULL */
	struct str texts;
	struct draft_finding *findings;
	size_t n_findings, cap_findings;
	struct detail *evidence; /* texts as offsets in .i while drafted */
	bool *evidence_text;
	size_t n_evidence, cap_evidence, cap_evidence_text;
};

void verdict_draft_init(struct verdict_draft *d);
void verdict_draft_release(struct verdict_draft *d);
void verdict_draft_begin(struct verdict_draft *d);

/*
 * Adds a finding with a sentence; the severity is the caller's (finding_word(code)->severity is the
 * usual one). fmt is a literal: one without a conversion is not copied. The same holds for advice.
 */
void verdict_add(struct verdict_draft *d, enum finding_code code, enum severity severity,
	int64_t since_us, const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/*
 * Adds a finding that is the same wherever it applies: constant data without evidence, which rows
 * that have no other finding share.
 */
void verdict_add_constant(struct verdict_draft *d, const struct finding *finding);
/* Sets the advice of the last finding. */
void verdict_advise(struct verdict_draft *d, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Adds evidence to the last finding. Text is sanitised already. */
void verdict_evidence_int(struct verdict_draft *d, enum detail_id id, int64_t value);
void verdict_evidence_text(struct verdict_draft *d, enum detail_id id, const char *text);
bool verdict_has(const struct verdict_draft *d, enum finding_code code);
/* Whether a finding of at least that severity was added. */
bool verdict_has_severity(const struct verdict_draft *d, enum severity least);

/* The texts of a finding's evidence, joined by "and", in buf: "" when it was not added. */
const char *verdict_evidence_names(
	const struct verdict_draft *d, enum finding_code code, char *buf, size_t size);

/*
 * Whether a finding says how a thing of its kind usually is, so that a list of many is quieter
 * without it: nobody waits behind most holders. It stands where one singleton is looked at, and in
 * JSON.
 */
bool finding_is_usual(const struct finding *f);

/* Remembers the earliest moment at which time alone may change the verdict. */
void verdict_next(struct verdict_draft *d, int64_t mono_ms);

/*
 * One row: the facts and what was judged of them. Immutable, one block, counted by references from
 * any thread.
 */
struct row {
	int refs;
	struct verdict v;
	struct singleton *s;
};

/* Takes over the caller's reference to s. The findings are sorted: the worst severity first, then
 * by code. */
struct row *row_new(struct singleton *s, const struct verdict_draft *d);
struct row *row_ref(const struct row *row);
void row_unref(const struct row *row);
/* The role that it is a witness of; NULL. */
const char *row_role(const struct row *row);
/* Bytes that it and its facts take; rows that share facts both count them. */
size_t row_size(const struct row *row);

#endif
