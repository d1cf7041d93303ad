#include "config.h"

#include "base/fs.h"
#include "base/str.h"
#include "cli/command.h"
#include "control/sample.h"
#include "control/settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	INIT_TEXT_MAX = 1024 * 1024
};

static int init_print(const struct str *text)
{
	struct out out;

	out_init(&out, STDOUT_FILENO);
	out_mem(&out, text->s, text->len);
	return cli_close(&out, EXIT_CODE_OK);
}

/* The file that a later run would read. The caller frees; NULL when there is no place for it. */
static char *init_path(const struct cli *cli)
{
	const char *named = cli->config ? cli->config : getenv("BATON_CONFIG");
	struct str path;

	if (!named || !named[0])
		return settings_default_path();
	str_init(&path, 8192);
	str_add(&path, named);
	return str_take(&path);
}

static int init_make_folder(const char *path, struct err *err)
{
	const char *slash = strrchr(path, '/');
	char *folder;
	int rc;

	if (!slash || slash == path)
		return 0;
	folder = strndup(path, (size_t)(slash - path));
	rc = folder ? fs_make_dirs(folder, err) : err_set(err, ERR_NOMEM, "out of memory");
	free(folder);
	return rc;
}

static int init_write(const struct cli *cli, const char *path, const struct str *text)
{
	struct err err = { 0 };
	struct out out;

	if (!cli->force && (access(path, F_OK) == 0 || errno != ENOENT)) {
		cli_complain("%s is there already; --force replaces it, --print only prints", path);
		return EXIT_CODE_FAILED;
	}
	if (init_make_folder(path, &err) || fs_write_atomic(path, text->s, text->len, &err))
		return cli_fail(EXIT_CODE_FAILED, &err);
	out_init(&out, STDOUT_FILENO);
	out_text(&out, "wrote ");
	cli_put(&out, path);
	out_text(&out, "\n");
	return cli_close(&out, EXIT_CODE_OK);
}

static int init_run(struct cli *cli)
{
	struct str text;
	char *path;
	int code;

	str_init(&text, INIT_TEXT_MAX);
	sample_write(&text);
	if (cli->print) {
		code = init_print(&text);
	} else if ((path = init_path(cli))) {
		code = init_write(cli, path, &text);
		free(path);
	} else {
		cli_complain("neither XDG_CONFIG_HOME nor HOME is set: name the file by --config, "
			     "or use --print");
		code = EXIT_CODE_CONFIG;
	}
	str_release(&text);
	return code;
}

const struct command cli_command_init = {
	.name = "init",
	.summary = "Write a commented config.",
	.help = "What the environment speaks of is filled in; all other keys stand there as "
		"comments. The file is "
		"the one that --config or BATON_CONFIG names, else the default one. A file that is "
		"there is left "
		"alone unless --force is given. Nothing is contacted, and no password is written.",
	.takes = TAKES(PRINT) | TAKES(FORCE),
	.run = init_run,
};
