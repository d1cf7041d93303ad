#ifndef CLI_CLI_H
#define CLI_CLI_H

/* Runs the command line and returns the exit code (contract: doc/baton.1). The locale is set. */
int cli_main(int argc, char **argv);

#endif
