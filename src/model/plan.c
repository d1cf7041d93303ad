#include "config.h"

#include "base/mem.h"
#include "base/text.h"
#include "model/plan.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	PLAN_ITEMS_MAX = 1000, /* of one list; the rest is counted */
	PLAN_TEXT_MAX = 16 * 1024,
	ANSWER_MAX = 4096,
};

static const struct verb_word verbs[VERB_COUNT] = {
#define VERB(id, word, danger, about, where, help) \
	[VERB_##id] = { word, DANGER_##danger, ABOUT_##about, WHERE_##where, help },
#include "model/verbs.def"
#undef VERB
};

const struct verb_word *verb_word(enum verb verb)
{
	return &verbs[verb];
}

int verb_from_word(const char *word)
{
	int i;

	for (i = 0; i < VERB_COUNT; i++)
		if (strcmp(verbs[i].word, word) == 0)
			return i;
	return -1;
}

void plan_init(struct plan *p)
{
	*p = (struct plan){
		.gap_min_ms = TIME_UNKNOWN,
		.gap_max_ms = TIME_UNKNOWN,
		.last_sign_us = TIME_UNKNOWN,
		.permission = TRI_UNKNOWN,
	};
}

void plan_list_release(struct plan_list *list)
{
	size_t i;

	for (i = 0; i < list->n; i++) {
		free(list->items[i].what);
		free(list->items[i].id);
	}
	for (i = 0; i < PLAN_CUTS_MAX; i++)
		free(list->cuts[i]);
	free(list->items);
	*list = (struct plan_list){ .items = NULL };
}

void plan_release(struct plan *p)
{
	plan_list_release(&p->reasons);
	plan_list_release(&p->warnings);
	plan_list_release(&p->destroys);
	plan_list_release(&p->keeps);
	plan_list_release(&p->told);
	free(p->request);
	free(p->guard);
	free(p->guarded_by);
	free(p->successor);
	free(p->gap_why);
	free(p->alone);
	free(p->permission_why);
	free(p->last_sign);
	plan_init(p);
}

__attribute__((format(printf, 1, 0))) static char *plan_format(const char *fmt, va_list args)
{
	char *text = xmalloc(PLAN_TEXT_MAX), *kept;

	vsnprintf(text, PLAN_TEXT_MAX, fmt, args);
	text_trim(text);
	kept = xstrdup(text);
	free(text);
	return kept;
}

static void plan_cut_kind(struct plan_list *list, const char *what)
{
	size_t i;

	for (i = 0; i < PLAN_CUTS_MAX; i++) {
		if (!list->cuts[i])
			list->cuts[i] = xstrdup(what);
		if (strcmp(list->cuts[i], what) == 0)
			return;
	}
}

void plan_cut(struct plan_list *list, size_t n, const char *what, const char *or_what)
{
	list->cut += n;
	if (n)
		plan_cut_kind(list, what);
	if (n && or_what)
		plan_cut_kind(list, or_what);
}

bool plan_may_be_cut(const struct plan_list *list, const char *what)
{
	size_t i;

	for (i = 0; i < PLAN_CUTS_MAX && list->cuts[i]; i++)
		if (strcmp(list->cuts[i], what) == 0)
			return true;
	return false;
}

/* Takes what over. */
static void plan_list_add(struct plan_list *list, char *what, const char *id)
{
	if (list->n >= PLAN_ITEMS_MAX) {
		plan_cut(list, 1, what, NULL);
		free(what);
		return;
	}
	MEM_GROW(list->items, list->n, list->cap);
	list->items[list->n++] = (struct plan_item){ what, xstrdup(id ? id : "") };
}

void plan_refuse(struct plan *p, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	plan_list_add(&p->reasons, plan_format(fmt, args), NULL);
	va_end(args);
	if (p->verdict == PLAN_READY)
		p->verdict = PLAN_REFUSED;
}

void plan_changed(struct plan *p, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	plan_list_add(&p->reasons, plan_format(fmt, args), NULL);
	va_end(args);
	p->verdict = PLAN_CHANGED;
}

void plan_warn(struct plan *p, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	plan_list_add(&p->warnings, plan_format(fmt, args), NULL);
	va_end(args);
}

void plan_add(struct plan_list *list, const char *what, const char *id)
{
	plan_list_add(list, xstrdup(what), id);
}

void plan_list_copy(struct plan_list *to, const struct plan_list *from)
{
	size_t i;

	for (i = 0; i < from->n; i++)
		plan_add(to, from->items[i].what, from->items[i].id);
	to->cut += from->cut;
	for (i = 0; i < PLAN_CUTS_MAX && from->cuts[i]; i++)
		plan_cut_kind(to, from->cuts[i]);
}

void plan_text(char **text, const char *fmt, ...)
{
	va_list args;

	free(*text);
	va_start(args, fmt);
	*text = plan_format(fmt, args);
	va_end(args);
}

void effect_init(struct effect *e)
{
	e->kind = EFFECT_UNSENT;
	str_init(&e->answer, ANSWER_MAX);
	str_init(&e->find_out, ANSWER_MAX);
}

void effect_release(struct effect *e)
{
	str_release(&e->answer);
	str_release(&e->find_out);
}

void sight_init(struct sight *s)
{
	*s = (struct sight){ .overlap = OVERLAP_NONE };
	str_init(&s->text, ANSWER_MAX);
}

void sight_release(struct sight *s)
{
	str_release(&s->text);
}

const char *overlap_word(enum overlap overlap)
{
	static const char *const words[] = {
		[OVERLAP_NONE] = "none",
		[OVERLAP_OPEN] = "open",
		[OVERLAP_CLOSED] = "closed",
	};

	return words[overlap];
}
