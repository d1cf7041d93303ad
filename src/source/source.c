#include "config.h"

#include "source/source.h"

#include <string.h>

#define SOURCE(ops) extern const struct source_ops ops;
#include "source/sources.def"
#undef SOURCE

const struct source_ops *const source_kinds[] = {
#define SOURCE(ops) &ops,
#include "source/sources.def"
#undef SOURCE
	NULL
};

const struct source_ops *source_kind(const char *kind)
{
	size_t i;

	for (i = 0; source_kinds[i]; i++)
		if (strcmp(source_kinds[i]->kind, kind) == 0)
			return source_kinds[i];
	return NULL;
}
