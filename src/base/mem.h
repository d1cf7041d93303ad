#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stddef.h>

/*
 * Allocation that can't be answered with an error by any caller in a useful way: these end the
 * program by abort(), after a line on standard error. Growth that a remote side can drive has a cap
 * of its own (str.h), so that memory runs out only when the machine's does.
 */
void *xmalloc(size_t size);
void *xcalloc(size_t n, size_t size);
void *xrealloc(void *p, size_t n, size_t size);
char *xstrdup(const char *s);
char *xstrndup(const char *s, size_t len);
/* What a block that these gave really takes, its rounding up included (malloc_usable_size(3)). */
size_t mem_size(const void *p);
/*
 * Gives free memory between what is used back to the system (malloc_trim(3) of glibc; elsewhere
 * nothing): after much was freed at once, and none of it will be needed soon. Takes a millisecond
 * or two.
 */
void mem_give_back(void);

/*
 * Makes room for one more element in a growing array: MEM_GROW(items, n, cap). Evaluates its
 * arguments more than once.
 */
#define MEM_GROW(items, n, cap)                                               \
	do {                                                                  \
		if ((n) == (cap)) {                                           \
			(cap) = (cap) ? (cap)*2 : 8;                          \
			(items) = xrealloc((items), (cap), sizeof(*(items))); \
		}                                                             \
	} while (0)

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#endif
