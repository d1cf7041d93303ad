#include "config.h"

#include "model/verdict.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	VERDICT_TEXT_MAX = 1024 * 1024,
	NO_TEXT = -1
};

struct draft_finding {
	enum finding_code code;
	enum severity severity;
	int64_t since_us;
	const struct finding *whole;            /* nothing needs making; else NULL */
	const char *constant, *constant_advice; /* a sentence that needs no making; else NULL */
	int64_t text, advice;                   /* offsets into the texts */
	size_t first, n;                        /* evidence */
};

void verdict_draft_init(struct verdict_draft *d)
{
	memset(d, 0, sizeof(*d));
	str_init(&d->texts, VERDICT_TEXT_MAX);
	verdict_draft_begin(d);
}

void verdict_draft_release(struct verdict_draft *d)
{
	str_release(&d->texts);
	free(d->findings);
	free(d->evidence);
	free(d->evidence_text);
	memset(d, 0, sizeof(*d));
}

void verdict_draft_begin(struct verdict_draft *d)
{
	str_clear(&d->texts);
	/* Offset 0 is the empty text, for whatever no longer fits. */
	str_add_char(&d->texts, '\0');
	d->n_findings = d->n_evidence = 0;
	d->role = NULL;
	d->v = (struct verdict){
		.state = STATE_UNKNOWN,
		.state_since_us = TIME_UNKNOWN,
		.first_seen_us = TIME_UNKNOWN,
		.known_since_us = TIME_UNKNOWN,
	};
	d->next_ms = INT64_MAX;
}

static int64_t verdict_text(struct verdict_draft *d, const char *text)
{
	size_t at = d->texts.len;
	struct str clean;

	/* What a source tells is plain; what a file remembers of it is anybody's. */
	text = text_make_plain(&clean, text, SIZE_MAX);
	str_add_mem(&d->texts, text, strlen(text) + 1);
	str_release(&clean);
	if (d->texts.full) {
		d->texts.full = false;
		return 0;
	}
	return (int64_t)at;
}

__attribute__((format(printf, 2, 0))) static int64_t verdict_format(
	struct verdict_draft *d, const char *fmt, va_list ap)
{
	char text[4096];

	/* Many findings are a constant sentence, of which a hundred thousand rows may each have
	 * one. */
	if (!strchr(fmt, '%'))
		return verdict_text(d, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	text_trim(text);
	return verdict_text(d, text);
}

/*
 * A format without a conversion is the sentence itself. It is a literal (the compiler asks for
 * one), and a hundred thousand rows may share it.
 */
static const char *verdict_constant(const char *fmt)
{
	return strchr(fmt, '%') ? NULL : fmt;
}

void verdict_add(struct verdict_draft *d, enum finding_code code, enum severity severity,
	int64_t since_us, const char *fmt, ...)
{
	struct draft_finding *f;
	va_list ap;

	MEM_GROW(d->findings, d->n_findings, d->cap_findings);
	f = &d->findings[d->n_findings++];
	*f = (struct draft_finding){
		.code = code,
		.severity = severity,
		.since_us = since_us,
		.advice = NO_TEXT,
		.first = d->n_evidence,
	};
	f->constant = verdict_constant(fmt);
	if (f->constant)
		return;
	va_start(ap, fmt);
	f->text = verdict_format(d, fmt, ap);
	va_end(ap);
}

void verdict_add_constant(struct verdict_draft *d, const struct finding *finding)
{
	MEM_GROW(d->findings, d->n_findings, d->cap_findings);
	d->findings[d->n_findings++] = (struct draft_finding){
		.code = finding->code,
		.severity = finding->severity,
		.since_us = finding->since_us,
		.whole = finding,
		.advice = NO_TEXT,
		.first = d->n_evidence,
	};
}

void verdict_advise(struct verdict_draft *d, const char *fmt, ...)
{
	struct draft_finding *f = &d->findings[d->n_findings - 1];
	va_list ap;

	f->constant_advice = verdict_constant(fmt);
	if (f->constant_advice)
		return;
	va_start(ap, fmt);
	f->advice = verdict_format(d, fmt, ap);
	va_end(ap);
}

static void verdict_evidence(struct verdict_draft *d, struct detail detail, bool text)
{
	MEM_GROW(d->evidence_text, d->n_evidence, d->cap_evidence_text);
	MEM_GROW(d->evidence, d->n_evidence, d->cap_evidence);
	d->evidence_text[d->n_evidence] = text;
	d->evidence[d->n_evidence++] = detail;
	d->findings[d->n_findings - 1].n++;
}

void verdict_evidence_int(struct verdict_draft *d, enum detail_id id, int64_t value)
{
	verdict_evidence(d, (struct detail){ .id = id, .i = value }, false);
}

void verdict_evidence_text(struct verdict_draft *d, enum detail_id id, const char *text)
{
	verdict_evidence(d, (struct detail){ .id = id, .i = verdict_text(d, text) }, true);
}

static const struct draft_finding *draft_find(const struct verdict_draft *d, enum finding_code code)
{
	size_t i;

	for (i = 0; i < d->n_findings; i++)
		if (d->findings[i].code == code)
			return &d->findings[i];
	return NULL;
}

const char *verdict_evidence_names(
	const struct verdict_draft *d, enum finding_code code, char *buf, size_t size)
{
	const struct draft_finding *f = draft_find(d, code);
	size_t i, len = 0;

	*buf = '\0';
	for (i = f ? f->first : 0; f && i < f->first + f->n && len < size; i++)
		if (d->evidence_text[i])
			len += (size_t)snprintf(buf + len, size - len, "%s%s", len ? " and " : "",
				d->texts.s + d->evidence[i].i);
	return buf;
}

bool verdict_has(const struct verdict_draft *d, enum finding_code code)
{
	size_t i;

	for (i = 0; i < d->n_findings; i++)
		if (d->findings[i].code == code)
			return true;
	return false;
}

bool verdict_has_severity(const struct verdict_draft *d, enum severity least)
{
	size_t i;

	for (i = 0; i < d->n_findings; i++)
		if (d->findings[i].severity >= least)
			return true;
	return false;
}

bool finding_is_usual(const struct finding *f)
{
	return f->code == FINDING_NO_SUCCESSOR && f->severity == SEVERITY_INFO;
}

void verdict_next(struct verdict_draft *d, int64_t mono_ms)
{
	if (mono_ms < d->next_ms)
		d->next_ms = mono_ms;
}

static int finding_compare(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;

	if (x->severity != y->severity)
		return x->severity > y->severity ? -1 : 1;
	return x->code == y->code ? 0 : x->code < y->code ? -1 : 1;
}

static void row_fill(struct row *row, const struct verdict_draft *d, struct finding *findings,
	struct detail *evidence, const char *texts)
{
	size_t i;

	for (i = 0; i < d->n_evidence; i++) {
		evidence[i] = d->evidence[i];
		if (d->evidence_text[i])
			evidence[i].s = texts + d->evidence[i].i;
	}
	for (i = 0; i < d->n_findings; i++) {
		const struct draft_finding *f = &d->findings[i];

		if (f->whole) {
			findings[i] = *f->whole;
			continue;
		}
		findings[i] = (struct finding){
			.code = f->code,
			.severity = f->severity,
			.since_us = f->since_us,
			.text = f->constant ? f->constant : texts + f->text,
			.advice = f->constant_advice     ? f->constant_advice
				  : f->advice == NO_TEXT ? NULL
							 : texts + f->advice,
			.evidence = evidence + f->first,
			.n_evidence = f->n,
		};
	}
	if (d->n_findings > 1)
		qsort(findings, d->n_findings, sizeof(*findings), finding_compare);
	row->v.findings = findings;
}

/* The one finding that stands in no row's own block; NULL: there are others, or none. */
static const struct finding *row_shared(const struct verdict_draft *d)
{
	return d->n_findings == 1 && !d->n_evidence ? d->findings[0].whole : NULL;
}

/* Where what holds pointers may stand behind the role's name. */
static size_t row_aligned(size_t at)
{
	return (at + 7) & ~(size_t)7;
}

struct row *row_new(struct singleton *s, const struct verdict_draft *d)
{
	const struct finding *shared = row_shared(d);
	size_t role_len = d->role ? strlen(d->role) + 1 : 0;
	size_t findings_at = row_aligned(sizeof(struct row) + role_len);
	size_t evidence_at = findings_at + (shared ? 0 : d->n_findings) * sizeof(struct finding);
	size_t texts_at = evidence_at + d->n_evidence * sizeof(struct detail);
	size_t texts_len = d->texts.len > 1 ? d->texts.len : 0;
	char *block = xmalloc(texts_at + texts_len), *texts = block + texts_at;
	struct row *row = (struct row *)(void *)block;

	if (texts_len)
		memcpy(texts, d->texts.s, texts_len);
	/* A copy: the row must not point into what the caller may free. */
	if (role_len)
		memcpy(block + sizeof(*row), d->role, role_len);
	row->refs = 1;
	row->s = s;
	row->v = d->v;
	row->v.has_role = d->role;
	row->v.n_findings = (uint16_t)(d->n_findings < UINT16_MAX ? d->n_findings : UINT16_MAX);
	row->v.findings = shared;
	if (!shared)
		row_fill(row, d, (struct finding *)(void *)(block + findings_at),
			(struct detail *)(void *)(block + evidence_at), texts);
	return row;
}

struct row *row_ref(const struct row *row)
{
	/* The counter is the one part of an immutable thing that changes. */
	struct row *own = (struct row *)(uintptr_t)row;

	if (own)
		__atomic_add_fetch(&own->refs, 1, __ATOMIC_RELAXED);
	return own;
}

void row_unref(const struct row *row)
{
	struct row *own = (struct row *)(uintptr_t)row;

	if (own && __atomic_sub_fetch(&own->refs, 1, __ATOMIC_ACQ_REL) == 0) {
		singleton_unref(own->s);
		free(own);
	}
}

const char *row_role(const struct row *row)
{
	return row->v.has_role ? (const char *)(row + 1) : NULL;
}

size_t row_size(const struct row *row)
{
	return mem_size(row) + mem_size(row->s);
}
