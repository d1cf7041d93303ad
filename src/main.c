#include "config.h"

#include "cli/cli.h"

#include <malloc.h>
#include <stdio.h>
#include <unistd.h>

/*
 * Sources' threads allocate much and seldom at once. An arena for each would grow by a system call
 * every few pages (glibc grows only the main one by M_TOP_PAD), and keep memory apart that another
 * could use.
 */
enum {
	GROW_BYTES = 1024 * 1024
};

int main(int argc, char **argv)
{
	bool left;
	int code;

	mallopt(M_ARENA_MAX, 1);
	mallopt(M_TOP_PAD, GROW_BYTES);
	code = cli_main(argc, argv, &left);
	if (!left)
		return code;
	fflush(stdout);
	_exit(code);
}
