#ifndef TESTS_UNIT_CONTROL_FOLDER_H
#define TESTS_UNIT_CONTROL_FOLDER_H

#include "base/mem.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* A folder of a test's own: its path is the test's state, and it is gone afterwards. */

static inline int folder_remove_one(
	const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(path);
}

static inline int make_folder(void **state)
{
	char *path = xstrdup("/tmp/baton-test-XXXXXX");

	*state = path;
	return mkdtemp(path) ? 0 : -1;
}

static inline int remove_folder(void **state)
{
	nftw(*state, folder_remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(*state);
	return 0;
}

#endif
