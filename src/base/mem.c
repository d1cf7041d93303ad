#include "config.h"

#include "base/mem.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *out_of_memory(void)
{
	static const char line[] = "baton: out of memory\n";

	if (write(STDERR_FILENO, line, sizeof(line) - 1) < 0)
		abort();
	abort();
}

void *xmalloc(size_t size)
{
	void *p = malloc(size ? size : 1);

	return p ? p : out_of_memory();
}

void *xcalloc(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size ? size : 1);

	return p ? p : out_of_memory();
}

void *xrealloc(void *p, size_t n, size_t size)
{
	void *q;

	if (size && n > SIZE_MAX / size)
		return out_of_memory();
	q = realloc(p, n && size ? n * size : 1);
	return q ? q : out_of_memory();
}

char *xstrndup(const char *s, size_t len)
{
	char *p = xmalloc(len + 1);

	memcpy(p, s, len);
	p[len] = '\0';
	return p;
}

char *xstrdup(const char *s)
{
	return xstrndup(s, strlen(s));
}

#ifdef __GLIBC__
/*
 * Where another allocator is in place (a sanitizer's, a preloaded one), glibc's own begins with the
 * first call to give back, and two threads that make it at once find half of it (ptmalloc_init).
 */
__attribute__((constructor)) static void mem_begin(void)
{
	malloc_trim(0);
}
#endif

void mem_give_back(void)
{
#ifdef __GLIBC__
	malloc_trim(0);
#endif
}

size_t mem_size(const void *p)
{
	/* It only reads the block's head. */
	return malloc_usable_size((void *)(uintptr_t)p);
}
