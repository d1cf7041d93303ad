#include "config.h"

#include "sim/deed.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

struct deeds {
	struct thing thing;
	struct deed *at;
	size_t n, cap;
};

static void forget(const char *text)
{
	free((char *)(uintptr_t)text);
}

static void deeds_free(struct thing *t)
{
	struct deeds *deeds = (struct deeds *)t;
	size_t i;

	for (i = 0; i < deeds->n; i++) {
		forget(deeds->at[i].verb);
		forget(deeds->at[i].id);
		forget(deeds->at[i].identity);
		forget(deeds->at[i].reason);
	}
	free(deeds->at);
	free(deeds);
}

static const struct thing_ops deeds_ops = { .kind = "deeds", .free = deeds_free };

static struct deeds *deeds_of(const struct world *w)
{
	return (struct deeds *)world_each(w, &deeds_ops, NULL);
}

static char *copy(const char *text)
{
	return xstrdup(text ? text : "");
}

/* Verbs that change nothing. */
static bool only_asks(const char *verb)
{
	static const char *const verbs[] = { "ask" };
	size_t i;

	for (i = 0; verb && i < ARRAY_LEN(verbs); i++)
		if (strcmp(verb, verbs[i]) == 0)
			return true;
	return false;
}

void deed_add(struct world *w, const struct deed *deed)
{
	struct deeds *deeds = deeds_of(w);

	if (!deeds) {
		deeds = xcalloc(1, sizeof(*deeds));
		world_add(w, &deeds->thing, &deeds_ops, "deeds");
	}
	if (deeds->n == DEEDS_MOST)
		return;
	MEM_GROW(deeds->at, deeds->n, deeds->cap);
	deeds->at[deeds->n++] = (struct deed){
		.at_ms = world_now_ms(w),
		.asks = only_asks(deed->verb),
		.to_waiter = deed->to_waiter,
		.verb = copy(deed->verb),
		.id = copy(deed->id),
		.identity = copy(deed->identity),
		/* What a script that has none says. */
		.reason = copy(deed->reason && strcmp(deed->reason, "-") == 0 ? "" : deed->reason),
	};
}

size_t deed_count(const struct world *w)
{
	const struct deeds *deeds = deeds_of(w);

	return deeds ? deeds->n : 0;
}

const struct deed *deed_at(const struct world *w, size_t i)
{
	return &deeds_of(w)->at[i];
}

bool deed_means(const char *pattern, const char *id)
{
	size_t len = pattern ? strlen(pattern) : 0;

	if (!pattern)
		return true;
	if (len && pattern[len - 1] == '*')
		return strncmp(pattern, id, len - 1) == 0;
	return strcmp(pattern, id) == 0;
}
