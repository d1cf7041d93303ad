#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "base/err.h"
#include "show/show.h"

struct cli;
struct json_writer;

/* The exit codes of every command; check has its own (see check.c). */
enum exit_code {
	EXIT_CODE_OK = 0,
	EXIT_CODE_FAILED = 1,     /* the output could not be written, the terminal not be used */
	EXIT_CODE_REFUSED = 10,   /* act: nothing was done */
	EXIT_CODE_CHANGED = 11,   /* act: it is not what it was; nothing was done */
	EXIT_CODE_UNKNOWN = 12,   /* act: whether it was done is not known */
	EXIT_CODE_PARTIAL = 13,   /* some sources answered and some did not; act: done in part */
	EXIT_CODE_USAGE = 64,     /* wrong words on the command line */
	EXIT_CODE_NO_ID = 66,     /* no such id */
	EXIT_CODE_NO_SOURCE = 69, /* no source answered */
	EXIT_CODE_CONFIG = 78     /* the config is wrong, or there is nothing to look at */
};

/*
 * The options, one row each: they make the parser, the help, the manual and the completions. flag
 * options take no value.
 */
enum option_id {
	OPT_CONFIG,
	OPT_SOURCE,
	OPT_TIMEOUT,
	OPT_JSON,
	OPT_STATE,
	OPT_IGNORE,
	OPT_NO_MEMORY,
	OPT_COLOR,
	OPT_ASCII,
	OPT_THEME,
	OPT_PRINT,
	OPT_EXPECT,
	OPT_EXPECT_TOKEN,
	OPT_REASON,
	OPT_YES,
	OPT_WRITE,
	OPT_FORCE,
	OPT_SIM,
	OPT_AT,
	OPT_SEED,
	OPT_SCRIPT,
	OPT_INJECT,
	OPT_RESULTS,
	OPT_REPLAY,
	OPT_FOR,
	OPT_MOST,
	OPT_REDACT,
	OPT_HELP,
	OPT_VERSION,
	OPT_COUNT
};

struct cli_option {
	const char *name;      /* without the minuses */
	char letter;           /* 0: none */
	const char *value;     /* what it takes, as in the manual; NULL: nothing */
	const char *choices;   /* the only words it takes, separated by |; NULL */
	const char *completes; /* what the shell should offer: "file", "source", "state", "finding",
				  "theme"; NULL */
	const char *help;
};

extern const struct cli_option cli_options[OPT_COUNT];

/*
 * A command: its facts and what runs it. `takes` has a bit for each option that it understands
 * beside those that all do.
 */
struct command {
	const char *name;
	const char *args;      /* as in the usage line; NULL: none */
	int least, most;       /* how many */
	const char *completes; /* of its arguments: "id", "command"; NULL */
	const char *summary;   /* one line */
	const char *help;      /* paragraphs, for `baton help NAME` and the manual */
	uint32_t takes;
	uint32_t plain;  /* of these: options that take no value here, though they do elsewhere */
	bool hidden;     /* neither in the help nor in the manual */
	bool own_errors; /* it says on its own what is wrong with the config (check) */
	int (*run)(struct cli *cli);
};

#define TAKES(id)     (UINT32_C(1) << OPT_##id)
#define TAKES_SOURCES (TAKES(CONFIG) | TAKES(SOURCE) | TAKES(TIMEOUT) | TAKES(NO_MEMORY))
#define TAKES_SIM     (TAKES(SIM) | TAKES(AT) | TAKES(SEED))
#define TAKES_ALWAYS  (TAKES(HELP) | TAKES(VERSION) | TAKES(COLOR) | TAKES(ASCII) | TAKES(CONFIG))

/* All commands, in the order of commands.def; NULL ends the list. The first is the default one. */
extern const struct command *const cli_commands[];
/* NULL when there is none of that name. */
const struct command *cli_command(const char *name);

enum {
	CLI_ARGS_MAX = 64
};

enum cli_color {
	CLI_COLOR_AUTO,
	CLI_COLOR_ALWAYS,
	CLI_COLOR_NEVER
};

/* The command line, taken apart. All texts are argv's. */
struct cli {
	const struct command *command;
	const char *config;
	const char *theme;
	const char *sim;             /* --sim: the scenario; NULL: real sources */
	int64_t at_ms;               /* --at; has_at */
	uint64_t seed;               /* --seed; has_seed */
	const char *script, *inject; /* of train; NULL: not said */
	const char *expect, *reason; /* of act and forecast; NULL: not said */
	int64_t token;               /* --expect-token; has_token */
	const char *sources[CLI_ARGS_MAX];
	size_t n_sources;
	uint64_t ignored;   /* findings that check passes over, one bit each */
	uint32_t states;    /* 0: all */
	int64_t timeout_ms; /* 0: not said */
	const char *replay; /* the record to look at; NULL: live */
	const char *at;     /* the moment of it; NULL: its end */
	int64_t for_ms;     /* of record; 0: not said */
	int64_t most;       /* of record, bytes; 0: no bound */
	enum cli_color color;
	bool json, no_memory, ascii, print, force, help, version, yes, write, has_token, has_at,
		has_seed, sim_audit, results, redact;
	bool utf8; /* the locale's */
	const char *args[CLI_ARGS_MAX];
	int n_args;
	bool *left; /* see cli_main() */
};

/*
 * Takes the words behind the program's name apart. Returns 0, or ERR_USAGE with a sentence; what
 * was understood until then is set, so that a wrong `check` is still known to be one.
 */
int cli_parse(struct cli *cli, int argc, char **argv, struct err *err);

/* Says "baton: ..." on standard error: plain text on one line, whatever words stand in it. */
void cli_complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Complains and returns the code. */
int cli_fail(int code, const struct err *err);
/* A word from the command line, for a message: sanitised and cut. buf holds CLI_SHOWN_MAX. */
enum {
	CLI_SHOWN_MAX = 256
};
const char *cli_shown(char *buf, const char *text);
/* The same of a whole text, a path mostly, to where the output goes. */
void cli_put(struct out *out, const char *text);

/* How text on standard output is dressed: --color, NO_COLOR, TERM, the width where it is a
 * terminal. */
struct show_style cli_style(const struct cli *cli);
/* The filling that was asked for. */
const struct show_ops *cli_show_ops(const struct cli *cli);
/*
 * Closes the output and turns the exit code into a failure, with a sentence, when it could not be
 * written. A reader that went away (`| head`) is no failure.
 */
int cli_close(struct out *out, int code);

/* The page that `baton help` and --help print. command NULL: the program's. */
void cli_help(const struct command *command, struct out *out);

#endif
