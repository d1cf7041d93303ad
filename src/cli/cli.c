#include "config.h"

#include "cli/cli.h"
#include "base/str.h"
#include "base/text.h"
#include "cli/command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
	COMPLAINS_MS = 1000
};

/* Whatever words stand in it: plain text on one line. */
static void __attribute__((format(printf, 1, 0))) complain(const char *fmt, va_list ap)
{
	char *raw = NULL;
	struct str clean;

	if (vasprintf(&raw, fmt, ap) < 0)
		return;
	fprintf(stderr, "baton: %s\n", text_make_plain(&clean, raw, SIZE_MAX));
	str_release(&clean);
	free(raw);
}

void cli_complain(const char *fmt, ...)
{
	struct pollfd fd = { .fd = STDERR_FILENO, .events = POLLOUT };
	va_list ap;

	/* A terminal that stands still (^S) holds nobody who ends. */
	if (poll(&fd, 1, COMPLAINS_MS) == 0)
		return;
	va_start(ap, fmt);
	complain(fmt, ap);
	va_end(ap);
}

void cli_put(struct out *out, const char *text)
{
	struct str clean;

	out_text(out, text_make_plain(&clean, text, SIZE_MAX));
	str_release(&clean);
}

int cli_fail(int code, const struct err *err)
{
	cli_complain("%s", err->text);
	return code;
}

static bool cli_wants_color(const struct cli *cli, bool terminal)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	if (cli->color != CLI_COLOR_AUTO)
		return cli->color == CLI_COLOR_ALWAYS;
	return terminal && !(no_color && *no_color) && term && strcmp(term, "dumb") != 0;
}

struct show_style cli_style(const struct cli *cli)
{
	bool terminal = isatty(STDOUT_FILENO);
	struct show_style style = { .utf8 = cli->utf8 && !cli->ascii };
	struct winsize size;

	style.color = cli_wants_color(cli, terminal);
	if (terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20)
		style.columns = size.ws_col;
	return style;
}

const struct show_ops *cli_show_ops(const struct cli *cli)
{
	return cli->json ? &show_json : &show_text;
}

int cli_close(struct out *out, int code)
{
	int error = out_close(out);

	if (!error && close(out->fd) < 0 && errno != EBADF)
		error = errno;
	if (!error || error == EPIPE)
		return code;
	cli_complain("can't write the output: %s",
		error == ETIMEDOUT ? "its reader takes nothing more" : strerror(error));
	return EXIT_CODE_FAILED;
}

/*
 * A program that was started with a standard descriptor closed would write into the first file or
 * socket that it opens. Reading from such a placeholder, or writing to it, fails.
 */
static void cli_hold_descriptors(void)
{
	int fd;

	for (fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			if (open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd)
				return;
}

static int cli_run(struct cli *cli)
{
	struct out out;

	if (!cli->help)
		return (cli->version ? cli_command("version") : cli->command)->run(cli);
	out_init(&out, STDOUT_FILENO);
	cli_help(cli->command == cli_commands[0] ? NULL : cli->command, &out);
	return cli_close(&out, EXIT_CODE_OK);
}

int cli_main(int argc, char **argv, bool *ret_left)
{
	struct cli cli = { .left = ret_left };
	struct err err = { 0 };

	*ret_left = false;
	cli_hold_descriptors();
	signal(SIGPIPE, SIG_IGN);
	/* A file that may not grow (ulimit -f) is an error of the write that meets it. */
	signal(SIGXFSZ, SIG_IGN);
	cli.utf8 = text_init_locale();
	if (cli_parse(&cli, argc - 1, argv + 1, &err) == 0)
		return cli_run(&cli);
	if (cli.command && cli.command->own_errors) {
		printf("BATON UNKNOWN - %s\n", err.text);
		return 3;
	}
	cli_complain("%s", err.text);
	fputs("Try 'baton help'.\n", stderr);
	return EXIT_CODE_USAGE;
}
