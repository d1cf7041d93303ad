#include "config.h"

#include "control/audit.h"
#include "cli/command.h"

#include <inttypes.h>
#include <unistd.h>

static void audit_json_line(void *arg, const char *line)
{
	struct out *out = arg;

	out_text(out, line);
	out_char(out, '\n');
}

static void audit_text_line(struct out *out, const char *label, const char *text)
{
	if (!text || !text[0])
		return;
	out_text(out, label);
	out_text(out, text);
	out_char(out, '\n');
}

static void audit_text_act(void *arg, const struct audit_act *act)
{
	struct out *out = arg;

	out_fmt(out, "%" PRIu64 "  %s  %s  ", act->n, act->at, act->verb);
	out_text(out, act->id);
	out_fmt(out, "  %s\n", act->outcome ? act->outcome : "no outcome recorded");
	audit_text_line(out, "    target   ", act->identity);
	audit_text_line(out, "    key      ", act->key);
	audit_text_line(out, "    by       ", act->user);
	audit_text_line(out, "    on       ", act->host);
	audit_text_line(out, "    from     ", act->tty);
	audit_text_line(out, "    reason   ", act->reason);
	audit_text_line(out, "    request  ", act->request);
	audit_text_line(out, "    answer   ", act->answer);
	audit_text_line(out, "    overlap  ", act->overlap);
	if (!act->outcome)
		out_text(out, "    ! it began and its end is not known: look at the singleton, "
			      "and at the server's own log\n");
}

static int audit_run(struct cli *cli)
{
	struct err err = { 0 };
	struct audit audit;
	size_t broken = 0;
	struct out out;
	int rc;

	if (cli->sim_audit)
		audit_init_sim(&audit, NULL);
	else
		audit_init(&audit, NULL);
	out_init(&out, STDOUT_FILENO);
	if (!audit.folder)
		rc = err_set(&err, ERR_NOTFOUND,
			"there is no audit: neither XDG_STATE_HOME nor HOME is set");
	else if (cli->json)
		rc = audit_lines(&audit, audit_json_line, &out, &broken, &err);
	else
		rc = audit_acts(&audit, SIZE_MAX, audit_text_act, &out, &broken, &err);
	if (rc)
		cli_complain("%s", err.text);
	if (broken)
		cli_complain("%zu lines of the audit are broken, and were passed over", broken);
	audit_release(&audit);
	return cli_close(&out, rc ? EXIT_CODE_FAILED : EXIT_CODE_OK);
}

const struct command cli_command_audit = {
	.name = "audit",
	.summary = "Print what was done: every act, the newest first.",
	.help = "With --json the lines of the audit file as they are, the oldest first: an intent "
		"before each "
		"request, an outcome after it, with one number. An intent without an outcome is an "
		"act whose end is not known. With --sim, which takes no value here, what was done "
		"to "
		"built-in fleets: it never stands beside what was done to real systems.",
	.takes = TAKES(JSON) | TAKES(SIM),
	.plain = TAKES(SIM),
	.run = audit_run,
};
