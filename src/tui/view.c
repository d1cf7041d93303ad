#include "config.h"

#include "tui/view.h"
#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const struct view_entry views[] = {
#define VIEW(n, k, o)       { .name = n, .key = k, .ops = &o },
#define VIEW_LATER(n, k, w) { .name = n, .key = k, .later = w },
#include "tui/views.def"
#undef VIEW
#undef VIEW_LATER
};

size_t view_count(void)
{
	return ARRAY_LEN(views);
}

const struct view_entry *view_at(size_t i)
{
	return &views[i];
}

int view_find(const char *name)
{
	size_t i, len = strlen(name);
	int found = -1;

	for (i = 0; i < ARRAY_LEN(views); i++) {
		if (strcasecmp(views[i].name, name) == 0)
			return (int)i;
		if (len && strncasecmp(views[i].name, name, len) == 0)
			found = found == -1 ? (int)i : -2;
	}
	return found < 0 ? -1 : found;
}

size_t view_ids(const struct model *m, const struct listing_row *row, const char **ids, size_t max)
{
	const struct role_view *role = listing_role(m->listing, row);
	size_t i, n = 0;

	if (row->kind == LISTING_SINGLETON && max)
		ids[n++] = row->row->s->id;
	for (i = 0; role && i < role->role->n_witnesses && n < max; i++)
		if (role->witnesses[i])
			ids[n++] = role->witnesses[i]->s->id;
	return n;
}

void view_reply_set(struct view_reply *reply, enum reply_kind kind, const char *fmt, ...)
{
	char text[4096];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	reply->kind = kind;
	str_clear(&reply->text);
	str_add(&reply->text, text);
}
