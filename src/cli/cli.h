#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stdbool.h>

/*
 * Runs the command line and returns the exit code (contract: doc/baton.1). The locale is set.
 * ret_left: whether a thread was left behind that hangs in a library's call, as in looking up a
 * name. exit(3) would call what libraries do at their end beside it.
 */
int cli_main(int argc, char **argv, bool *ret_left);

#endif
